/*
 * Pods that are patched with what the recommender says now (--recommendation-query-url): whose
 * recommendation counts, and when nobody is asked. The recommender is in memory; the answer is
 * given on a thread of its own while the loop turns here.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "policy_fixtures.h"

#include "admit.h"
#include "meters.h"
#include "manual_clock.h"
#include "memory_transport.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"

#define VPA(name, year, mode)                                                                      \
    "{'metadata':{'name':'" name "','namespace':'ns','creationTimestamp':'" year                   \
    "-01-01T00:00:00Z'},'spec':{'selector':{'matchLabels':{'app':'web'}},'updatePolicy':{"         \
    "'updateMode':'" mode "'}},'status':{'recommendation':{'containerRecommendations':[{"          \
    "'containerName':'c','target':{'cpu':'2'}}]}}}"
#define REVIEW                                                                                     \
    "{'request':{'uid':'u','namespace':'ns','resource':{'group':'','version':'v1','resource':"     \
    "'pods'},'requestKind':{'kind':'Pod'},'operation':'CREATE','object':{'metadata':{"             \
    "'generateName':'web-','labels':{'app':'web'}},'spec':{'containers':[{'name':'c'}]}}}}"
#define ADVICE                                                                                     \
    "{\"status\":{\"recommendation\":{\"containerRecommendations\":[{\"name\":\"c\",\"target\":{"  \
    "\"requests\":{\"cpu\":\"587m\"}}}]}}}"
#define NONE "{\"status\":{\"error\":\"no VerticalPodAutoscaler matches\"}}"

static struct vpa_arena arena;
static struct vpa_clock *clock_;
static struct vpa_loop *loop;
static struct snapshot_builder *builder;
static struct adviser *adviser;
static const char *advice;
static int asked;
static char *question; /* heap */

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    asked++;
    free(question);
    question = vpa_xstrdup(q->body);
    vpa_memory_reply_json(r, 200, advice);
}

static void setup(void)
{
    clock_ = vpa_clock_new_manual(vpa_time_from_unix(1772366400, 0));
    loop = vpa_loop_new(clock_);
    builder = snapshot_builder_new(&(struct snapshot_options){.ns = "", .panic_ns = "kube-system"});
    adviser = adviser_new(
        &(struct adviser_options){.loop = loop,
                                  .transport = vpa_memory_transport_new(loop, serve, NULL),
                                  .timeout = VPA_HOUR});
    asked = 0;
}

static void teardown(void)
{
    adviser_free(adviser);
    snapshot_builder_free(builder);
    vpa_loop_free(loop);
    vpa_clock_free(clock_);
    free(question);
    question = NULL;
    vpa_arena_release(&arena);
    for (size_t i = 0; i < admission_metric_count; i++)
        vpa_metric_reset(admission_metrics[i]);
}

static void give(const char *vpa)
{
    struct vpa_reflector_handler handler = vpa_cache_handler(snapshot_builder_vpas(builder));
    struct vpa_error err;

    ck_assert_int_eq(
        handler.object(handler.ctx, VPA_REFLECTOR_ADDED, fixture_parse(&arena, vpa), &err), 0);
}

struct review {
    struct admit_options options;
    struct snapshot *snapshot;
    struct vpa_arena arena;
    struct vpa_buf out;
    struct admit_result result;
    const char *body;
    atomic_bool over;
};

static void *run(void *ctx)
{
    struct review *r = ctx;

    admit(r->snapshot, &r->options, &r->arena, r->body, strlen(r->body), &r->out, &r->result);
    atomic_store(&r->over, true);
    return NULL;
}

static void review(struct review *r, bool explain)
{
    pthread_t thread;

    *r = (struct review){.options = {.adviser = adviser, .explain = explain}};
    r->body = fixture_json(&arena, REVIEW);
    snapshot_builder_publish(builder, NULL);
    r->snapshot = snapshot_acquire(snapshot_builder_cell(builder));
    vpa_buf_init(&r->out, ADMIT_ANSWER_MAX);
    ck_assert_int_eq(pthread_create(&thread, NULL, run, r), 0);
    while (!atomic_load(&r->over))
        vpa_loop_poll(loop);
    pthread_join(thread, NULL);
}

static void review_release(struct review *r)
{
    snapshot_unref(r->snapshot);
    vpa_buf_release(&r->out);
    vpa_arena_release(&r->arena);
}

static const struct {
    const char *vpas[2];
    const char *advice;
    int asked;
    const char *rule, *vpa, *why;
} cases[] = {
    {{VPA("a", "2021", "Recreate")},
     ADVICE,
     1,
     "recommended on request",
     "a",
     "cpu request none -> 587m"},
    {{VPA("a", "2021", "Recreate")}, NONE, 1, "recommended", "a", "cpu request none -> 2"},
    /* The recommender would answer for the older one, which is another one's than ours. */
    {{VPA("a", "2021", "Recreate"), VPA("b", "2020", "Off")},
     ADVICE,
     0,
     "recommended",
     "a",
     "cpu request none -> 2"},
    {{VPA("a", "2020", "Recreate"), VPA("b", "2021", "Off")},
     ADVICE,
     1,
     "recommended on request",
     "a",
     "cpu request none -> 587m"},
};

TEST_EACH(what_the_recommender_says_counts, cases) {
    struct review r;

    for (int i = 0; i < 2 && cases[_i].vpas[i]; i++)
        give(cases[_i].vpas[i]);
    advice = cases[_i].advice;
    review(&r, true);
    ck_assert_int_eq(asked, cases[_i].asked);
    ck_assert_int_eq(r.result.status, ADMIT_APPLIED);
    ck_assert_str_eq(r.result.entry.decision, "patch");
    ck_assert_str_eq(r.result.entry.rule, cases[_i].rule);
    ck_assert_str_eq(r.result.entry.vpa, cases[_i].vpa);
    ck_assert_msg(vpa_str_starts_with(r.result.entry.why, cases[_i].why), "%s", r.result.entry.why);
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&r.out), "\"patch\":\""));
    if (asked) { /* the pod as it came, in the namespace of the request */
        ck_assert_ptr_nonnull(strstr(question, "\"metadata\":{\"namespace\":\"ns\"}"));
        ck_assert_ptr_nonnull(strstr(question, "\"generateName\":\"web-\""));
    }
    review_release(&r);
}

/* Without a ledger nobody asks why. */
TEST(nothing_is_explained_to_nobody) {
    struct review r;

    give(cases[0].vpas[0]);
    advice = ADVICE;
    review(&r, false);
    ck_assert_int_eq(r.result.status, ADMIT_APPLIED);
    ck_assert_ptr_null(r.result.entry.decision);
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&r.out), "\"patch\":\""));
    review_release(&r);
}

int main(void)
{
    return run_tests("admission_advised", setup, teardown);
}
