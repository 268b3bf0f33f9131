/* The recommender serves several algorithms: names in spec.recommenders, flags, annotations, what
 * the status and the checkpoints say, switching and restarting. */
#include "recommender_fixture.h"

#include "../../recommender/checkpoint_states.h"

#include "vpa/model/object_status.h"

#define NAMED(recommender, annotations)                                                            \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","          \
          "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"generation\":1,"                \
          "\"annotations\":{" annotations                                                          \
          "},\"creationTimestamp\":\"2026-01-15T10:00:00Z\"},\"spec\":{"                           \
          "\"recommenders\":[{\"name\":\"" recommender "\"}],\"targetRef\":{\"apiVersion\":"       \
          "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}}}")
#define CRANE_ANNOTATION "crane.vpa.autoscaling.k8s.io/cpu-request-margin-fraction"

static void passes(int count, const char *usage)
{
    for (int i = 0; i < count; i++)
        pass(usage);
}

static const struct vpa_json *status(void)
{
    return vpa_json_find(stored("VerticalPodAutoscaler", "web"), "status");
}

static const struct vpa_json *condition(const char *type)
{
    vpa_json_foreach (c, vpa_json_find(status(), "conditions")) {
        if (vpa_str_eq(vpa_json_string(vpa_json_find(c, "type")), type))
            return c;
    }
    return NULL;
}

static const char *of_condition(const char *type, const char *member)
{
    return vpa_json_string(vpa_json_find(condition(type), member));
}

static const struct vpa_json *checkpoint(const char *name)
{
    return stored("VerticalPodAutoscalerCheckpoint", name);
}

static const char *text_of(const struct vpa_json *node)
{
    vpa_auto_buf text = VPA_BUF(1 << 20);
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, node);
    return vpa_arena_strdup(&arena, vpa_buf_text(&text));
}

/* Example C3 of the specification: 150 millicores are 229. */
TEST(the_name_chooses_crane) {
    change(NAMED("crane", ""));
    start(NULL);
    passes(6, USAGE("150m", "150Mi"));
    ck_assert_int_eq(target_cpu(), 229);
    struct vpa_quantity memory = target("memory");
    ck_assert_int_eq(vpa_quantity_value(&memory), 241172479);
    ck_assert_str_eq(of_condition("RecommendationProvided", "status"), "True");
    ck_assert_str_eq(of_condition("Algorithm", "status"), "True");
    ck_assert_str_eq(of_condition("Algorithm", "reason"), "crane");
    ck_assert_str_eq(of_condition("Algorithm", "message"), "Recommended by algorithm crane");
}

static const char *const each_algorithm[] = {
    NAMED("default", ""),      NAMED("crane", ""), NAMED("autopilot", ""),
    NAMED("autopilot-ml", ""), NAMED("plumb", ""),
};

/* A node whose clock is a year ahead for some minutes: what was learned is not old, so it is
 * recommended as before. */
TEST_EACH(a_clock_that_was_set_takes_no_recommendation_away, each_algorithm) {
    change(each_algorithm[_i]);
    start(NULL);
    passes(12, USAGE("150m", "150Mi"));
    int64_t before = target_cpu();
    ck_assert_int_gt(before, 0);
    vpa_clock_set(virtual_clock, 365 * 24 * VPA_HOUR);
    passes(3, "{\"usage\":[]}");
    ck_assert_int_eq(target_cpu(), before);
    ck_assert_str_eq(of_condition("RecommendationProvided", "status"), "True");
    vpa_clock_set(virtual_clock, -365 * 24 * VPA_HOUR);
    passes(3, "{\"usage\":[]}");
    ck_assert_int_eq(target_cpu(), before);
}

static const struct {
    const char *flag, *name;
    int64_t cpu; /* 0: no status */
} names[] = {
    {NULL, "crane", 229},
    {NULL, "default", 25},
    {NULL, "nobody", 0},
    {NULL, "default/crane", 0},
    {"--recommender-name=blue", "blue/crane", 229},
    {"--recommender-name=blue", "crane", 0},
    {"--recommender-name=blue", "blue", 25},
    {"--recommender-name=crane", "crane", 25},
    {"--recommender-name=crane", "crane/crane", 229},
    {"--algorithms=vpa", "crane", 0},
    {"--algorithms=vpa", "default", 25},
    {"--algorithms=crane", "crane", 229},
    {"--algorithms=crane", "default", 0},
    {"--algorithms=vpa, crane", "crane", 229},
};

TEST_EACH(names_are_served_or_not, names) {
    change(vpa_arena_printf(&arena, NAMED("%s", ""), names[_i].name));
    start(names[_i].flag);
    passes(6, USAGE("150m", "150Mi"));
    if (names[_i].cpu == 0)
        ck_assert_ptr_null(status());
    else if (names[_i].cpu == 25)
        ck_assert_int_ne(target_cpu(), 229);
    else
        ck_assert_int_eq(target_cpu(), names[_i].cpu);
}

TEST(flags_and_annotations_are_parameters) {
    change(NAMED("crane", ""));
    start("--crane-cpu-request-margin-fraction=0.5");
    passes(6, USAGE("150m", "150Mi"));
    ck_assert_int_eq(target_cpu(), 300);
    change(NAMED("crane", "\"" CRANE_ANNOTATION "\":\"1\""));
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(target_cpu(), 400);
    change(NAMED("crane", ""));
    pass(USAGE("150m", "150Mi"));
    ck_assert_int_eq(target_cpu(), 300);
}

/* A value that is none, and one that does not fit the others. */
static const struct {
    const char *vpa, *message;
} wrong_annotations[] = {
    {NAMED("crane", "\"" CRANE_ANNOTATION "\":\"much\""),
     "annotation " CRANE_ANNOTATION
     ": \"much\" is not a number; the setting of the recommender is used"},
    {NAMED("crane", "\"crane.vpa.autoscaling.k8s.io/mem-histogram-max-value\":\"1e15\""),
     "algorithm crane: mem-histogram-max-value is more than 1000 times the bucket size; the "
     "setting "
     "of the recommender is used"},
};

TEST_EACH(a_wrong_annotation_is_told_and_not_used, wrong_annotations) {
    change(wrong_annotations[_i].vpa);
    start(NULL);
    passes(6, USAGE("150m", "150Mi"));
    ck_assert_int_eq(target_cpu(), 229);
    ck_assert_str_eq(of_condition("Algorithm", "status"), "False");
    ck_assert_str_eq(of_condition("Algorithm", "message"), wrong_annotations[_i].message);
    change(NAMED("crane", ""));
    pass(USAGE("150m", "150Mi"));
    ck_assert_str_eq(of_condition("Algorithm", "status"), "True");
}

static const struct {
    const char *flag, *error;
} wrong_flags[] = {
    {"--algorithms=vpa,cran",
     "--algorithms: there is no algorithm \"cran\"; give names separated by commas, or all"},
    {"--crane-cpu-request-percentile=2", "--crane-cpu-request-percentile: 2 is not within 0 to 1"},
    {"--crane-specification-config=1c", "--crane-specification-config: specification 1c format "
                                        "error"},
    {"--crane-mem-histogram-max-value=1e15",
     "algorithm crane: mem-histogram-max-value is more than 1000 times the bucket size"},
};

TEST_EACH(wrong_flags_end_the_start, wrong_flags) {
    struct vpa_flags flags = recommender_flags(&config);
    char *argv[] = {(char *)"recommender", (char *)wrong_flags[_i].flag, NULL};
    struct vpa_error err;
    int exit_status;

    ck_assert_int_eq(vpa_flags_parse(&flags, &arena, 2, argv, &err), VPA_FLAGS_RUN);
    ck_assert_int_eq(recommender_config_check(&config, no_env, NULL, &arena, &exit_status, &err),
                     -1);
    ck_assert_str_eq(err.text, wrong_flags[_i].error);
}

/* VPA's own checkpoint stays as it is; the other stands beside it. */
TEST(states_are_stored_beside_vpa_s_own) {
    change(NAMED("crane", ""));
    start(NULL);
    passes(6, USAGE("150m", "150Mi"));
    const struct vpa_json *own = checkpoint("web-app"), *state = checkpoint("web-app.crane");
    ck_assert_str_eq(vpa_json_string(vpa_json_at(own, "status.version")), "v3");
    ck_assert_ptr_null(strstr(text_of(own), "crane"));
    ck_assert_str_eq(vpa_json_string(vpa_json_at(state, "status.version")), "plumb-crane");
    ck_assert_str_eq(vpa_json_string(vpa_json_at(state, "spec.vpaObjectName")), "web");
    ck_assert_str_eq(vpa_json_string(vpa_json_at(state, "spec.containerName")), "app.crane");
}

/* What was learned of large usage is there after the restart, in the first pass. */
TEST(a_restart_keeps_what_was_learned) {
    change(NAMED("crane", ""));
    start(NULL);
    passes(6, USAGE("1950m", "950Mi"));
    ck_assert_int_eq(target_cpu(), 2300);
    stop();
    start(NULL);
    passes(2, USAGE("150m", "150Mi"));
    ck_assert_int_eq(target_cpu(), 2300);
}

static const char *const unreadable[] = {
    "web-app-unreadable",           "web-app.crane-unreadable",
    "web-app.autopilot-unreadable", "web-app.autopilot-ml-unreadable",
    "web-app.plumb-unreadable",
};

/* One that goes on where the clock is behind, by hours or by half a year: what was learned is not
 * of the future, for the API server's clock says so. */
TEST_TIMES(a_restart_where_the_clock_is_behind_keeps_what_was_learned,
           2 * VPA_COUNT(each_algorithm)) {
    vpa_duration behind = _i % 2 ? 200 * 24 * VPA_HOUR : 2 * VPA_HOUR;
    struct vpa_error err;

    change(each_algorithm[_i / 2]);
    start(NULL);
    passes(12, USAGE("1950m", "950Mi"));
    int64_t before = target_cpu();
    stop();
    vpa_clock_set(virtual_clock, -behind);
    construct(NULL);
    vpa_memory_transport_set_ahead(transport, -behind);
    ck_assert_int_eq(recommender_start(recommender, &err), 0);
    ck_assert_int_eq(recommender_load_history(recommender, &err), 0);
    passes(1, "{\"usage\":[]}");
    ck_assert_int_eq(target_cpu(), before);
    ck_assert_ptr_null(checkpoint(unreadable[_i / 2]));
}

static const struct {
    const char *before, *after;
} margins[] = {
    {NAMED("crane", ""), NAMED("crane", "\"" CRANE_ANNOTATION "\":\"0.2\"")},
    {NAMED("autopilot", ""),
     NAMED("autopilot", "\"autopilot.vpa.autoscaling.k8s.io/margin-fraction\":\"0.2\"")},
};

/* The same where a parameter is changed meanwhile. */
TEST_TIMES(a_changed_parameter_where_the_clock_is_behind_keeps_what_was_learned,
           2 * VPA_COUNT(margins)) {
    vpa_duration behind = _i % 2 ? 200 * 24 * VPA_HOUR : 2 * VPA_HOUR;

    change(margins[_i / 2].before);
    start(NULL);
    passes(12, USAGE("1950m", "950Mi"));
    int64_t before = target_cpu();
    vpa_clock_set(virtual_clock, -behind);
    vpa_memory_transport_set_ahead(transport, -behind);
    passes(1, "{\"usage\":[]}");
    change(margins[_i / 2].after);
    passes(1, "{\"usage\":[]}");
    ck_assert_int_ge(target_cpu(), before);
    passes(1, "{\"usage\":[]}");
    ck_assert_int_ge(target_cpu(), before);
}

/* There and back, with a restart on the way: both know what they knew, and what came meanwhile. */
TEST(switching_back_and_forth_loses_nothing) {
    start(NULL);
    passes(4, USAGE("150m", "150Mi"));
    ck_assert_ptr_null(condition("Algorithm"));
    ck_assert_ptr_null(checkpoint("web-app.crane"));
    change(NAMED("crane", ""));
    passes(6, USAGE("1950m", "150Mi"));
    ck_assert_int_eq(target_cpu(), 2300);
    change(VPA("web", "2026-01-15T10:00:00Z"));
    passes(2, USAGE("150m", "950Mi"));
    int64_t own = target_cpu();
    ck_assert_int_gt(own, 1500); /* it learned while the other one recommended */
    ck_assert_ptr_null(condition("Algorithm"));
    stop();
    start(NULL);
    passes(1, USAGE("150m", "150Mi"));
    ck_assert_int_ge(target_cpu(), own * 9 / 10);
    change(NAMED("crane", ""));
    passes(1, USAGE("150m", "150Mi"));
    ck_assert_int_eq(target_cpu(), 2300);
    struct vpa_quantity memory = target("memory");
    ck_assert_int_eq(vpa_quantity_value(&memory), 1205862400); /* of the time in between */
}

#define STORED(version, annotations)                                                               \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"                                    \
          "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"web-app.crane\","          \
          "\"namespace\":\"shop\",\"annotations\":{" annotations "}},\"spec\":{\"vpaObjectName\":" \
          "\"web\",\"containerName\":\"app.crane\"},\"status\":{\"version\":\"" version            \
          "\",\"lastSampleStart\":\"2026-01-15T11:00:00Z\"}}")

/* As other checkpoints (U16). */
TEST(an_unreadable_state_is_kept_aside) {
    change(STORED("plumb-crane", "\"vpa.autoscaling.k8s.io/algorithm-state\":\"{{\""));
    change(NAMED("crane", ""));
    start(NULL);
    passes(6, USAGE("150m", "150Mi"));
    const struct vpa_json *kept = checkpoint("web-app.crane-unreadable");
    ck_assert_ptr_nonnull(kept);
    ck_assert_ptr_nonnull(strstr(text_of(kept), "\"{{\""));
    ck_assert_ptr_null(strstr(text_of(checkpoint("web-app.crane")), "\"{{\""));
    ck_assert_int_eq(target_cpu(), 229);
}

static void days(int count)
{
    for (int i = 0; i < 4 * count; i++) {
        vpa_clock_advance(virtual_clock, 6 * VPA_HOUR - 2 * VPA_MINUTE); /* not for watches */
        vpa_loop_pump(loop, VPA_MINUTE);
        pass("{\"usage\":[]}");
    }
}

/* Usage does not come for longer than VPA's own histories last, or all pods are gone for so long,
 * and the algorithm remembers longer: its state is there for the next process. */
static const char *const silent[] = {
    NULL,
    "{\"delete\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"shop\",\"name\":"
    "\"web-1\"}}",
};

TEST_EACH(a_state_lasts_as_long_as_what_was_learned, silent) {
    change(NAMED("crane", "\"crane.vpa.autoscaling.k8s.io/cpu-model-history-length\":\"30d\","
                          "\"crane.vpa.autoscaling.k8s.io/mem-model-history-length\":\"30d\""));
    start(NULL);
    passes(6, USAGE("1950m", "950Mi"));
    if (silent[_i])
        change(silent[_i]);
    days(10);
    ck_assert_ptr_nonnull(checkpoint("web-app.crane"));
    change(POD("web-1"));
    stop();
    start(NULL);
    passes(2, USAGE("150m", "150Mi"));
    ck_assert_int_eq(target_cpu(), 2300);
}

/* And no longer, when no pod has the container. */
TEST(a_state_goes_with_what_was_learned) {
    change(NAMED("crane", ""));
    start(NULL);
    passes(6, USAGE("1950m", "950Mi"));
    change(silent[1]);
    days(10);
    ck_assert_ptr_null(checkpoint("web-app.crane"));
}

TEST(a_state_can_be_read_or_not) {
    vpa_auto_buf text = VPA_BUF(VPA_KNOWLEDGE_TEXT_MAX);
    struct vpa_json_writer w;

    start("--algorithms=crane");
    struct algorithms *algorithms = algorithms_new(&config.algorithms, "default");
    struct vpa_knowledge *k =
        vpa_knowledge_new(algorithms_method(algorithms, "crane"), vpa_loop_now(loop));
    struct checkpoint_state state = {.version = "plumb-crane"};

    vpa_json_writer_init(&w, &text);
    vpa_knowledge_save(k, vpa_loop_now(loop), &w);
    state.text = vpa_buf_text(&text);
    ck_assert(checkpoint_state_is_readable(algorithms, &state, vpa_loop_now(loop)));
    state.version = "plumb-other";
    ck_assert(!checkpoint_state_is_readable(algorithms, &state, vpa_loop_now(loop)));
    state.version = "plumb-crane";
    state.text = "{";
    ck_assert(!checkpoint_state_is_readable(algorithms, &state, vpa_loop_now(loop)));
    state.text = NULL;
    ck_assert(!checkpoint_state_is_readable(algorithms, &state, vpa_loop_now(loop)));
    vpa_knowledge_free(k);
    algorithms_free(algorithms);
}

/* Of an algorithm that this version does not have, or does not serve. */
TEST(foreign_states_are_left_alone) {
    change(STORED("plumb-other", "\"vpa.autoscaling.k8s.io/algorithm-state\":\"{}\""));
    start(NULL);
    passes(6, USAGE("150m", "150Mi"));
    ck_assert_ptr_null(checkpoint("web-app.crane-unreadable"));
    days(10);
    ck_assert_str_eq(vpa_json_string(vpa_json_at(checkpoint("web-app.crane"), "status.version")),
                     "plumb-other");
}

int main(void)
{
    return run_tests("recommender algorithms", setup, teardown);
}
