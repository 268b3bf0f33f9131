/*
 * What passes of the updater leave behind, whole: the requests in their order, events, what the
 * ledger says, lines of the log, and every series of the metrics that is not zero.
 */
#include "story.h"
#include "updater_fixture.h"

static struct vpa_ledger *ledger;

#define STORIES "unit/data/updater.story"

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
    story_end();
}

static void tell_calls(void)
{
    for (size_t i = 0; i < server.call_count; i++)
        vpa_buf_printf(&told, "%s ", server.calls[i]);
    vpa_buf_printf(&told, "annotated %zu\n", server.annotated);
}

/* Bodies follow each other without a separator. */
static void tell_events(struct vpa_arena *arena)
{
    const char *p = vpa_buf_text(&server.event_bodies);
    struct story_lines lines = {.count = 0};

    while (p && *p) {
        const char *next = strstr(p + 1, "{\"kind\":\"Event\"");
        const struct vpa_json *e;
        struct vpa_error err;

        ck_assert_int_eq(vpa_json_parse(arena, p, next ? (size_t)(next - p) : strlen(p), &e, &err),
                         0);
        story_line(&lines, "%s %s %s, %s: %s", story_text(e, "type"),
                   story_text(e, "involvedObject.kind"), story_text(e, "involvedObject.name"),
                   story_text(e, "reason"), story_text(e, "message"));
        p = next;
    }
    story_tell_lines(&lines);
}

static void start_with_ledger(void)
{
    start(0);
    updater_env(server.updater)->ledger = ledger;
}

static void tell_all(void)
{
    const struct vpa_metrics metrics = {.table = updater_metrics, .count = updater_metric_count};
    vpa_auto_arena arena = {0};

    updater_flush(server.updater, VPA_MINUTE);
    tell_calls();
    tell_events(&arena);
    story_tell_ledger(ledger);
    story_tell_log();
    story_tell_metrics(&metrics, true);
}

#define BOOST "\"startupBoost\":{\"cpu\":{\"durationSeconds\":60}},"
#define MARKER(cpu)                                                                                \
    "\"annotations\":{\"vpaCpuStartupBoost/c\":\"{\\\"requests\\\":{\\\"cpu\\\":\\\"" cpu          \
    "\\\"}}\"},"

struct story {
    const char *name;
    const char *mode, *request, *boost, *pod, *policy;
    int pods, refuse, passes;
    bool old, stale;
    double rate; /* 0: none */
    int panic_at;
};

static const struct story stories[] = {
    {.name = "evictions", .mode = "Recreate", .pods = 10},
    {.name = "evictions, every second refused", .mode = "Recreate", .pods = 4, .refuse = 2},
    {.name = "evictions of pods that are others by now",
     .mode = "Recreate",
     .pods = 3,
     .stale = true},
    {.name = "resizes", .mode = "InPlaceOrRecreate", .pods = 5},
    {.name = "refused resizes and evictions", .mode = "InPlaceOrRecreate", .pods = 2, .refuse = 1},
    {.name = "refused resizes", .mode = "InPlace", .pods = 3, .refuse = 1, .passes = 2},
    {.name = "resizes of pods that are others by now",
     .mode = "InPlaceOrRecreate",
     .pods = 2,
     .stale = true},
    {.name = "an old server", .mode = "InPlaceOrRecreate", .pods = 3, .old = true},
    {.name = "an old server without evictions",
     .mode = "InPlace",
     .pods = 3,
     .old = true,
     .passes = 2},
    {.name = "nothing to resize", .mode = "InPlace", .pods = 2, .request = "2"},
    {.name = "nothing to evict", .mode = "Recreate", .pods = 2, .request = "2"},
    {.name = "the deprecated mode", .mode = "Auto", .pods = 2, .request = "2", .passes = 3},
    {.name = "boosts that are over",
     .mode = "Off",
     .pods = 4,
     .boost = BOOST,
     .pod = MARKER("500m")},
    {.name = "boosts that are over and refused",
     .mode = "Initial",
     .pods = 2,
     .boost = BOOST,
     .pod = MARKER("500m"),
     .refuse = 1},
    {.name = "boosts of which only the marker is left",
     .mode = "Off",
     .pods = 2,
     .boost = BOOST,
     .pod = MARKER("1"),
     .passes = 2},
    {.name = "boosts of which only the marker is left in a mode that evicts",
     .mode = "Recreate",
     .pods = 2,
     .boost = BOOST,
     .pod = MARKER("2"),
     .request = "2",
     .passes = 2},
    {.name = "boosts that are over in a mode that evicts",
     .mode = "Recreate",
     .pods = 4,
     .boost = BOOST,
     .pod = MARKER("500m")},
    {.name = "too few replicas", .mode = "Recreate", .pods = 2, .policy = ",\"minReplicas\":3"},
    {.name = "no token for another eviction", .mode = "Recreate", .pods = 4, .rate = 0.01},
    {.name = "no token for another resize", .mode = "InPlaceOrRecreate", .pods = 4, .rate = 0.01},
    {.name = "no token for another end of a boost",
     .mode = "Off",
     .pods = 4,
     .boost = BOOST,
     .pod = MARKER("500m"),
     .rate = 0.01},
    {.name = "panic in the middle", .mode = "Recreate", .pods = 8, .panic_at = 2, .passes = 2},
    {.name = "the mode Off", .mode = "Off", .pods = 2},
};

TEST_EACH(is_left_behind_whole, stories) {
    const struct story *s = &stories[_i];

    server.mode = s->mode;
    server.request = s->request ? s->request : "1";
    server.boost = s->boost ? s->boost : "";
    server.pod = s->pod ? s->pod : "";
    server.policy = s->policy ? s->policy : "";
    server.pods_per_vpa = s->pods;
    server.refuse = s->refuse;
    server.old = s->old;
    server.stale = s->stale;
    server.panic_at = s->panic_at;
    if (s->rate != 0)
        server.config.eviction_rate_limit = s->rate;
    start_with_ledger();
    for (int i = 0; i < (s->passes ? s->passes : 1); i++) {
        updater_pass(server.updater);
        vpa_loop_pump(server.loop, VPA_MINUTE);
    }
    tell_all();
    story_expect(STORIES, s->name);
}

TEST(each_section_has_its_story) {
    story_expect_sections(STORIES, VPA_COUNT(stories));
}

int main(void)
{
    return run_tests("updater_story", begin_story, end_story);
}
