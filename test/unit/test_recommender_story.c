/*
 * What passes of the recommender leave behind, whole: the writes and readings of each pass, what
 * the ledger says, lines of the log, and every series of the metrics that is not zero.
 */
#include <stdio.h>

#include "recommender_fixture.h"
#include "story.h"

#define STORIES "unit/data/recommender.story"

static void begin_story(void)
{
    setup();
    story_begin();
    ledger = vpa_ledger_new(&(struct vpa_ledger_flags){.memory = VPA_LEDGER_MEMORY});
}

static void end_story(void)
{
    teardown();
    vpa_ledger_free(ledger);
    ledger = NULL;
    story_end();
}

#define COMMON "/apis/autoscaling.k8s.io/v1/namespaces/"

static void tell_traffic(bool bodies)
{
    size_t count;
    const struct sim_asked *writes = fake_cluster_writes(server, &count);
    const struct fake_list reads = fake_cluster_reads(server, &arena);

    for (size_t i = 0; i < reads.count; i++)
        vpa_buf_printf(&told, "%s\n", reads.items[i]);
    for (size_t i = 0; i < count; i++)
        vpa_buf_printf(&told, "%d %s %s %s\n", writes[i].code, writes[i].method,
                       vpa_str_starts_with(writes[i].path, COMMON) ? writes[i].path + strlen(COMMON)
                                                                   : writes[i].path,
                       bodies || strstr(writes[i].path, "/status") ? vpa_or_empty(writes[i].body)
                                                                   : "");
}

#define NOTHING "{\"usage\":[]}"
#define DELETE(version, kind, name)                                                                \
    "{\"delete\":{\"apiVersion\":\"" version "\",\"kind\":\"" kind                                 \
    "\",\"namespace\":\"shop\",\"name\":\"" name "\"}}"
#define DELETE_VPA DELETE("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "web")
#define RUNNING(name, restarts, state)                                                             \
    APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                 \
          "\",\"namespace\":\"shop\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{"    \
          "\"name\":\"app\",\"resources\":{\"requests\":{\"memory\":\"1Gi\"}}}]},\"status\":{"     \
          "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"app\","                        \
          "\"restartCount\":" restarts ",\"state\":" state "}]}}")
#define UP "{\"running\":{}}"
#define KILLED "{\"terminated\":{\"reason\":\"OOMKilled\",\"finishedAt\":\"2026-01-15T12:01:30Z\"}}"
#define UNREADABLE                                                                                 \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","          \
          "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"},\"spec\":{"                      \
          "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\","                   \
          "\"minAllowed\":{\"cpu\":\"1e1.5\"}}]},\"targetRef\":{\"apiVersion\":\"apps/v1\","       \
          "\"kind\":\"Deployment\",\"name\":\"web\"}}}")
#define STRANGERS                                                                                  \
    "{\"usage\":[{\"namespace\":\"shop\",\"pod\":\"stranger\",\"containers\":[{\"name\":\"app\","  \
    "\"cpu\":[\"1\"],\"memory\":[\"1Gi\"]}]},{\"namespace\":\"shop\",\"pod\":\"web-1\","           \
    "\"containers\":[{\"name\":\"other\",\"cpu\":[\"1\"],\"memory\":[\"1Gi\"]}]}]}"

/* One pass: what changes before it, its usage, and what is refused. */
struct step {
    const char *change;
    const char *usage;
    const char *refused; /* the end of the path of writes; NULL: none */
    int code;
};

struct story {
    const char *name, *flag;
    bool changed_first; /* what the first step changes is there at the start */
    bool whole;         /* bodies of checkpoints, and the quality of recommendations */
    struct step steps[6];
};

static const struct story stories[] = {
    {.name = "a first recommendation",
     .flag = NULL,
     .changed_first = false,
     .whole = true,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0}, {NULL, USAGE("1", "1Gi"), NULL, 0}}},
    {.name = "nothing is used",
     .flag = NULL,
     .changed_first = false,
     .whole = true,
     .steps = {{NULL, NOTHING, NULL, 0}, {NULL, NOTHING, NULL, 0}}},
    {.name = "usage that moves",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("100m", "100Mi"), NULL, 0}, {NULL, USAGE("2", "3Gi"), NULL, 0}}},
    {.name = "a status that cannot be written",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), "/status", 500}, {NULL, USAGE("1", "1Gi"), NULL, 0}}},
    {.name = "a status that may not be written",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), "/status", 403}}},
    {.name = "a checkpoint that cannot be written",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), "checkpoints", 403}, {NULL, USAGE("1", "1Gi"), NULL, 0}}},
    {.name = "a kill for memory",
     .flag = NULL,
     .changed_first = true,
     .whole = true,
     .steps = {{RUNNING("web-1", "0", UP), USAGE("1", "300Mi"), NULL, 0},
               {RUNNING("web-1", "0", KILLED), USAGE("1", "300Mi"), NULL, 0}}},
    {.name = "the loser of a conflict",
     .flag = NULL,
     .changed_first = true,
     .whole = false,
     .steps = {{VPA("younger", "2026-01-15T11:00:00Z"), USAGE("1", "1Gi"), NULL, 0},
               {DELETE_VPA, USAGE("1", "1Gi"), NULL, 0}}},
    {.name = "a VPA that cannot be read",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0}, {UNREADABLE, USAGE("2", "2Gi"), NULL, 0}}},
    {.name = "a VPA that is gone and its checkpoint",
     .flag = "--checkpoints-gc-interval=1s",
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0},
               {DELETE_VPA, USAGE("1", "1Gi"), NULL, 0},
               {NULL, USAGE("1", "1Gi"), NULL, 0}}},
    {.name = "usage of strangers",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, STRANGERS, NULL, 0}}},
    {.name = "usage of strangers that are not tracked",
     .flag = "--memory-saver",
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, STRANGERS, NULL, 0}}},
    {.name = "VPAs that are measured",
     .flag = "--measure-vpas=shop/*",
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0},
               {NULL, USAGE("1", "1Gi"), NULL, 0},
               {NULL, USAGE("2", "2Gi"), NULL, 0}}},
    {.name = "a shadow",
     .flag = "--shadow",
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0}}},
    {.name = "recommendations for people",
     .flag = "--humanize-memory",
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1000Mi"), NULL, 0}}},
    {.name = "a pod that is gone",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0},
               {DELETE("v1", "Pod", "web-1"), NOTHING, NULL, 0},
               {NULL, NOTHING, NULL, 0}}},
    {.name = "no workers",
     .flag = "--update-worker-count=0",
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0}}},
};

static const struct step *now;

static bool refuse_writes(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "GET") == 0 || !strstr(q->path, now->refused))
        return false;
    vpa_memory_reply_status(r, now->code, NULL, "refused");
    return true;
}

static void make_step(const struct step *step, bool change_it, bool bodies)
{
    now = step;
    hook = step->refused ? refuse_writes : NULL;
    if (step->change && change_it)
        change(step->change);
    pass(step->usage);
    hook = NULL;
    tell_traffic(bodies);
    vpa_buf_puts(&told, "--\n");
}

TEST_EACH(is_left_behind_whole, stories) {
    const struct story *s = &stories[_i];
    struct vpa_metrics metrics = {0};

    if (s->changed_first)
        change(s->steps[0].change);
    start(s->flag);
    for (size_t i = 0; i < VPA_COUNT(s->steps) && s->steps[i].usage; i++)
        make_step(&s->steps[i], i > 0 || !s->changed_first, s->whole);
    story_tell_ledger(ledger);
    story_tell_log();
    metrics.table = recommender_metrics_table(&metrics.count);
    story_tell_metrics(&metrics, s->whole);
    story_expect(STORIES, s->name);
}

TEST(each_section_has_its_story) {
    story_expect_sections(STORIES, VPA_COUNT(stories));
}

int main(void)
{
    return run_tests_within(60, "recommender_story", begin_story, end_story);
}
