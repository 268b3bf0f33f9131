/* A VPA object over a history: what the updater would do, kills, errors, the picture. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab_story.h"
#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/json/yaml.h"

#define DAY 288 /* windows */
#define WINDOWS (3 * DAY)

static struct vpa_arena arena;
static struct vpa_error err;
static struct lab_trace trace;
static struct lab_story story;

/* A day of 0.2 cores and 300 MiB, then two of 1 core and `late` MiB. */
static void make(double late)
{
    trace = (struct lab_trace){.windows = WINDOWS, .interval_seconds = 300};
    trace.start = vpa_xcalloc(WINDOWS, sizeof(*trace.start));
    trace.cpu_from = vpa_xcalloc(WINDOWS + 1, sizeof(*trace.cpu_from));
    trace.cpu = vpa_xcalloc(WINDOWS, sizeof(*trace.cpu));
    trace.memory = vpa_xcalloc(WINDOWS, sizeof(*trace.memory));
    for (size_t i = 0; i < WINDOWS; i++) {
        trace.start[i] = 1700006400 + 300 * (int64_t)i;
        trace.cpu_from[i + 1] = i + 1;
        trace.cpu[i] = i < DAY ? 0.2 : 1.0;
        trace.memory[i] = (i < DAY ? 300.0 : late) * 1048576.0;
    }
}

static void setup(void)
{
    vpa_arena_init(&arena, 0);
    err = (struct vpa_error){0};
}

static void teardown(void)
{
    lab_trace_release(&trace);
    lab_story_release(&story);
    vpa_arena_release(&arena);
}

static int tell(const char *metadata, const char *spec)
{
    const struct vpa_json *root;
    struct vpa_object vpa;
    const char *text = vpa_arena_printf(
        &arena, "kind: VerticalPodAutoscaler\nmetadata: {%s}\nspec: {%s}\n", metadata, spec);

    ck_assert_msg(vpa_yaml_parse(&arena, text, strlen(text), &root, &err) == 0, "%s", err.text);
    ck_assert_msg(vpa_object_decode(&arena, root, &vpa, &err) == 0, "%s", err.text);
    return lab_story_tell(&vpa, NULL, &trace, &story, &err);
}

static const struct {
    const char *spec;
    size_t least[3], most[3]; /* OOMs, evictions, resizes */
    double cpu;               /* requested in the end */
} modes[] = {
    {"updatePolicy: {updateMode: 'Off'}", {0, 0, 0}, {0, 0, 0}, 0.2},
    {"updatePolicy: {updateMode: Initial}", {0, 0, 0}, {0, 0, 0}, 0.2},
    {"updatePolicy: {updateMode: Recreate}", {1, 1, 0}, {3, 20, 0}, 1.0},
    {"updatePolicy: {updateMode: InPlaceOrRecreate}", {1, 0, 1}, {3, 0, 20}, 1.0},
    {"recommenders: [{name: plumb}]", {1, 1, 0}, {3, 20, 0}, 1.0},
    {"recommenders: [{name: autopilot}]", {1, 1, 0}, {8, 20, 0}, 1.0},
    {"recommenders: [{name: crane}]", {1, 1, 0}, {6, 20, 0}, 1.0},
    {"recommenders: [{name: blue/plumb}]", {1, 1, 0}, {3, 20, 0}, 1.0},
};
TEST_EACH(each_mode_acts_as_it_does, modes) {
    make(900);
    ck_assert_msg(tell("name: web", modes[_i].spec) == 0, "%s", err.text);
    ck_assert_uint_eq(story.count, WINDOWS);
    ck_assert_str_eq(story.container, "app");
    for (int k = 0; k < 3; k++) {
        ck_assert_uint_ge(story.events[k], modes[_i].least[k]);
        ck_assert_uint_le(story.events[k], modes[_i].most[k]);
    }
    ck_assert(isnan(story.moments[0].request[0]));
    ck_assert(story.moments[1].events & LAB_STARTED);
    double cpu = story.moments[WINDOWS - 1].request[0];
    ck_assert_double_ge(cpu, modes[_i].cpu);
    ck_assert_double_le(cpu, 2.0 * modes[_i].cpu);
}

TEST(allowed_bounds_hold) {
    make(400);
    ck_assert_int_eq(tell("name: web", "resourcePolicy: {containerPolicies: [{containerName: main, "
                                       "maxAllowed: {cpu: 500m}}]}"),
                     0);
    ck_assert_str_eq(story.container, "main");
    for (size_t i = 1; i < WINDOWS; i++) {
        ck_assert_double_le(story.moments[i].request[0], 0.5);
        ck_assert_double_le(story.moments[i].bound[VPA_TARGET][0], 0.5);
    }
}

/* Wanting more than maxAllowed gives is killed for good, and the target stays at it. */
TEST(kills_do_not_pass_what_is_allowed) {
    make(900);
    ck_assert_int_eq(tell("name: web", "recommenders: [{name: plumb}], resourcePolicy: "
                                       "{containerPolicies: [{containerName: '*', maxAllowed: "
                                       "{memory: 500Mi}}]}"),
                     0);
    ck_assert_uint_ge(story.events[0], DAY);
    for (size_t i = 1; i < WINDOWS; i++)
        ck_assert_double_le(story.moments[i].request[VPA_KIND_MEMORY], 500 * 1048576.0);
}

#define POLICY(TEXT) "resourcePolicy: {containerPolicies: [{containerName: app, " TEXT "}]}"

static const struct {
    const char *spec;
    double ratio; /* of what is wanted after a kill, to the request that was too little */
} bumps[] = {
    {POLICY("oomMinBumpUp: 0, oomBumpUpRatio: '4'"), 4.0},
    {POLICY("oomMinBumpUp: 0, oomBumpUpRatio: '1.5'"), 1.5},
    {POLICY("oomMinBumpUp: 0, oomBumpUpRatio: '1500', memoryAggregationIntervalCount: 2000"), 1500},
};
TEST_EACH(a_kill_is_answered_by_the_policy, bumps) {
    make(900);
    ck_assert_msg(tell("name: web", bumps[_i].spec) == 0, "%s", err.text);
    ck_assert(story.moments[DAY].events & LAB_OOM);
    double wanted = bumps[_i].ratio * story.moments[DAY].request[VPA_KIND_MEMORY];
    double target = story.moments[DAY + 1].bound[VPA_TARGET][VPA_KIND_MEMORY];
    /* With the margin, and the end of a bucket of 5 %. */
    ck_assert_double_ge(target, 1.15 * wanted);
    ck_assert_double_le(target, 1.15 * 1.1 * wanted);
}

/* One peak of 900 MiB is the peak of the day, and of one hour in a day. */
TEST_TIMES(the_interval_is_that_of_the_policy, 3) {
    static const char *const specs[] = {
        POLICY("memoryAggregationIntervalSeconds: 86400") ", updatePolicy: {updateMode: 'Off'}",
        POLICY("memoryAggregationInterval: 20000h") ", updatePolicy: {updateMode: 'Off'}",
        POLICY("memoryAggregationIntervalSeconds: 3600") ", updatePolicy: {updateMode: 'Off'}"};

    make(300);
    trace.memory[10] = 900 * 1048576.0;
    ck_assert_msg(tell("name: web", specs[_i]) == 0, "%s", err.text);
    double target = story.moments[DAY - 1].bound[VPA_TARGET][VPA_KIND_MEMORY];
    ck_assert((target > 900 * 1048576.0) == (_i < 2));
}

/* Memory that is not controlled is neither recommended nor requested: nothing is killed. */
TEST(what_is_not_controlled_is_left_alone) {
    make(900);
    ck_assert_int_eq(tell("name: web", POLICY("controlledResources: [cpu]")), 0);
    ck_assert(isnan(story.moments[WINDOWS - 1].bound[VPA_TARGET][VPA_KIND_MEMORY]));
    ck_assert(isnan(story.moments[WINDOWS - 1].request[VPA_KIND_MEMORY]));
    ck_assert_double_ge(story.moments[WINDOWS - 1].request[VPA_KIND_CPU], 1.0);
    ck_assert_uint_eq(story.events[0], 0);
    ck_assert_uint_ge(story.events[1], 1);
}

TEST(what_cannot_be_replayed_is_named) {
    vpa_auto_buf names = VPA_BUF(256);
    const struct vpa_json *root;
    struct vpa_object vpa;
    static const char text[] =
        "spec: {updatePolicy: {minReplicas: 1}, resourcePolicy: {containerPolicies: [{"
        "containerName: '*', controlledValues: RequestsOnly}]}}\n";

    ck_assert_int_eq(vpa_yaml_parse(&arena, text, strlen(text), &root, &err), 0);
    ck_assert_int_eq(vpa_object_decode(&arena, root, &vpa, &err), 0);
    lab_story_left_out(&vpa, NULL, &names);
    ck_assert_str_eq(vpa_buf_text(&names), "minReplicas, controlledValues RequestsOnly");
}

static const struct {
    const char *metadata, *spec, *says;
} wrong[] = {
    {"name: a", "recommenders: [{name: mine}]", "no algorithm \"mine\""},
    {"name: a, annotations: {plumb.vpa.autoscaling.k8s.io/risk: high}",
     "recommenders: [{name: plumb}]", "\"high\" is not one of lean|middle|safe"},
    {"name: a", "resourcePolicy: {containerPolicies: [{containerName: '*', mode: 'Off'}]}",
     "the policy of container app has mode Off"},
};
TEST_EACH(wrong_objects_are_told, wrong) {
    make(400);
    ck_assert_int_eq(tell(wrong[_i].metadata, wrong[_i].spec), -1);
    ck_assert_msg(strstr(err.text, wrong[_i].says) != NULL, "%s", err.text);
    ck_assert_ptr_null(story.moments);
}

TEST(the_picture_is_of_it) {
    vpa_auto_buf svg = VPA_BUF(1 << 22);

    make(900);
    ck_assert_int_eq(tell("name: '<b>&x'", "updatePolicy: {updateMode: Recreate}"), 0);
    lab_story_draw(&story, &svg);
    const char *text = vpa_buf_text(&svg);
    ck_assert(strncmp(text, "<svg ", 5) == 0);
    ck_assert_ptr_nonnull(strstr(text, "&#60;b&#62;&#38;x / app: algorithm vpa, mode Recreate"));
    ck_assert_ptr_nonnull(strstr(text, "class=\"oom\" cx"));
    ck_assert_ptr_nonnull(strstr(text, "class=\"change\" d"));
    ck_assert_ptr_null(strstr(text, "nan"));
    ck_assert_ptr_null(strstr(text, "inf"));
    ck_assert_ptr_null(strstr(text, "<b>"));
}

int main(void)
{
    return run_tests("cli_lab_story", setup, teardown);
}
