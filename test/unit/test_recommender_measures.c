/* How well recommendations fit, live: what samples, kills and targets add to the metrics. */
#include "suite.h"
#include "cluster_fixture.h"
#include "../../recommender/metrics.h"

#include "vpa/model/cluster_learners.h"

static struct measures *measures;
static struct recommender_quality quality;

static void begin(const char *vpas)
{
    measures_free(measures);
    measures = measures_new(vpas);
    quality = (struct recommender_quality){NULL, measures};
    recommender_metrics_reset();
}

static void setup_measures(void)
{
    struct vpa_cluster_options options = {.aggregation = &global,
                                          .hooks = recommender_quality_hooks(&quality)};

    setup();
    vpa_cluster_free(c);
    c = vpa_cluster_new(&options);
    begin("");
}

static void teardown_measures(void)
{
    teardown();
    measures_free(measures);
    measures = NULL;
    recommender_metrics_reset();
}

/* The value of a series of the n-th family in the order of measures_metrics. */
enum family { RECOMMENDED, USED, SERVED, OOMS, CHANGES, SINGLE, SLACK = 10, UNSERVED };
#define total(family, algorithm, resource)                                                         \
    vpa_metric_value(measures_metrics[family], algorithm, resource)
#define single(family, vpa, resource)                                                              \
    vpa_metric_value(measures_metrics[SINGLE + (family)], "ns", vpa, resource)

static struct vpa_recommendation targets(const char *cpu)
{
    const char *text = vpa_arena_printf(
        &arena,
        "{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{\"cpu\":\"%s\","
        "\"memory\":\"200M\"},\"uncappedTarget\":{\"cpu\":\"%s\",\"memory\":\"200M\"}}]}",
        cpu, cpu);
    struct vpa_recommendation rec;
    struct vpa_error err;

    ck_assert_int_eq(vpa_recommendation_decode(&arena, json(&arena, text), &rec, &err), 0);
    return rec;
}

static void recommend(struct vpa_autoscaler *v)
{
    struct vpa_recommendation rec = targets("500m");
    struct vpa_error err;

    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &rec, now, &err), 0);
}

static void use_cpu(const char *pod, vpa_amount millis)
{
    now += VPA_MINUTE;
    ck_assert_int_eq(sample(pod, VPA_KIND_CPU, now, millis), 0);
}

/* 300m and 600m of 500m: 0.8 of a core served of 1.0 recommended and 0.9 used. */
TEST(slack_and_unserved_of_an_algorithm) {
    struct vpa_autoscaler *v = put_vpa("v", "app=web");

    put_pod("p", "{\"app\":\"web\"}");
    use_cpu("p", 700); /* nothing is recommended yet */
    recommend(v);
    measures_begin_pass(measures, c);
    use_cpu("p", 300);
    use_cpu("p", 600);
    ck_assert_int_eq(sample("p", VPA_KIND_MEMORY, now, 100000000), 0);
    ck_assert(total(USED, "vpa", "cpu") == 0); /* the pass is not over */
    measures_end_pass(measures);
    ck_assert_double_eq_tol(total(RECOMMENDED, "vpa", "cpu"), 1.0, 1e-12);
    ck_assert_double_eq_tol(total(USED, "vpa", "cpu"), 0.9, 1e-12);
    ck_assert_double_eq_tol(total(SERVED, "vpa", "cpu"), 0.8, 1e-12);
    ck_assert_double_eq_tol(total(SLACK, "vpa", "cpu"), 0.2, 1e-12);
    ck_assert_double_eq_tol(total(UNSERVED, "vpa", "cpu"), 0.1 / 0.9, 1e-12);
    ck_assert_double_eq_tol(total(SLACK, "vpa", "memory"), 0.5, 1e-12);
    ck_assert_double_eq_tol(total(UNSERVED, "vpa", "memory"), 0, 1e-12);
    measures_begin_pass(measures, c);
    use_cpu("p", 500);
    measures_end_pass(measures);
    ck_assert_double_eq_tol(total(RECOMMENDED, "vpa", "cpu"), 1.5, 1e-12);
    ck_assert_double_eq_tol(total(SLACK, "vpa", "cpu"), 0, 1e-12); /* of this pass */
    ck_assert_uint_eq(measures_metrics[SINGLE]->series.count, 0);
}

TEST(each_algorithm_has_its_own) {
    struct vpa_autoscaler *v = put_vpa("v", "app=web");
    struct vpa_parameters p;
    struct vpa_error err;

    vpa_parameters_init(&p, vpa_algorithm_find("crane"));
    struct vpa_method *m = vpa_method_new(&p, &err);
    vpa_parameters_release(&p);
    vpa_autoscaler_set_method(v, m, NULL, now);
    vpa_method_unref(m);
    put_pod("p", "{\"app\":\"web\"}");
    recommend(v);
    use_cpu("p", 250);
    measures_end_pass(measures);
    ck_assert_double_eq_tol(total(SLACK, "crane", "cpu"), 0.5, 1e-12);
    ck_assert(total(RECOMMENDED, "vpa", "cpu") == 0);
}

/* A kill is one, and what it asks for is not usage. */
TEST(kills_are_counted) {
    struct vpa_autoscaler *v = put_vpa("v", "app=web");
    struct vpa_error err;

    put_pod("p", "{\"app\":\"web\"}");
    recommend(v);
    ck_assert_int_eq(record_oom(c, CONTAINER("ns", "p", "app"), now, 100000000, now, &err), 0);
    measures_end_pass(measures);
    ck_assert(total(OOMS, "vpa", "memory") == 1);
    ck_assert(total(USED, "vpa", "memory") == 0);
    ck_assert_uint_eq(measures_metrics[SLACK]->series.count, 0);
}

TEST(a_target_that_is_not_the_stored_one_is_a_change) {
    struct vpa_object *object = simple_vpa(&arena, "v");
    struct vpa_autoscaler *v =
        vpa_cluster_put_vpa(c, object, selector_of(&arena, "app=web"), NULL, now);
    struct vpa_recommendation first = targets("500m"), other = targets("501m");

    measures_target(measures, v, &first); /* none is stored */
    object->recommendation = first;
    measures_target(measures, v, &first);
    measures_end_pass(measures);
    ck_assert(total(CHANGES, "vpa", "cpu") == 0);
    measures_target(measures, v, &other);
    measures_end_pass(measures);
    ck_assert(total(CHANGES, "vpa", "cpu") == 1);
    ck_assert(total(CHANGES, "vpa", "memory") == 0);
}

TEST(a_vpa_is_measured_where_asked) {
    static const char *const names[] = {"v", "w"};

    begin("other/*, ns/v");
    for (size_t i = 0; i < 2; i++) {
        const char *selector = vpa_arena_printf(&arena, "app=%s", names[i]);
        struct vpa_autoscaler *v = put_vpa(names[i], selector);

        put_pod(names[i], vpa_arena_printf(&arena, "{\"app\":\"%s\"}", names[i]));
        recommend(v);
    }
    measures_begin_pass(measures, c);
    use_cpu("v", 300);
    use_cpu("w", 400);
    measures_end_pass(measures);
    ck_assert_double_eq_tol(total(USED, "vpa", "cpu"), 0.7, 1e-12);
    ck_assert_double_eq_tol(single(USED, "v", "cpu"), 0.3, 1e-12);
    ck_assert_double_eq_tol(single(RECOMMENDED, "v", "cpu"), 0.5, 1e-12);
    ck_assert_uint_eq(measures_metrics[SINGLE + USED]->series.count, 1);

    ck_assert(vpa_cluster_remove_vpa(c, "ns", "v")); /* its series go with it */
    measures_begin_pass(measures, c);
    measures_end_pass(measures);
    ck_assert_uint_eq(measures_metrics[SINGLE + USED]->series.count, 0);
    ck_assert_double_eq_tol(total(USED, "vpa", "cpu"), 0.7, 1e-12);
}

/* What a VPA that is measured by itself has of its own: kills, changes of either resource, and that
 * the passes add up while it stays. */
TEST(a_vpa_has_kills_and_changes_of_its_own) {
    struct vpa_object *object = simple_vpa(&arena, "v");
    struct vpa_recommendation first = targets("500m"), other = targets("2");
    struct vpa_error err;

    begin("ns/*");
    object->recommendation = first;
    struct vpa_autoscaler *v =
        vpa_cluster_put_vpa(c, object, selector_of(&arena, "app=web"), NULL, now);
    put_pod("p", "{\"app\":\"web\"}");
    recommend(v);
    for (int pass = 1; pass <= 2; pass++) {
        measures_begin_pass(measures, c);
        now += VPA_HOUR;
        use_cpu("p", 400);
        ck_assert_int_eq(record_oom(c, CONTAINER("ns", "p", "app"), now, 100000000, now, &err), 0);
        measures_target(measures, v, &other);
        measures_end_pass(measures);
        ck_assert(single(OOMS, "v", "memory") == pass);
        ck_assert(single(CHANGES, "v", "cpu") == pass);
        ck_assert(single(CHANGES, "v", "memory") == 0);
        ck_assert_double_eq_tol(single(SERVED, "v", "cpu"), 0.4 * pass, 1e-12);
        ck_assert_double_eq_tol(total(SERVED, "vpa", "cpu"), 0.4 * pass, 1e-12);
        ck_assert(total(OOMS, "vpa", "memory") == pass);
    }
    ck_assert_uint_eq(measures_metrics[SINGLE + OOMS]->series.count, 1); /* of memory alone */
    measures_begin_pass(measures, c);
    measures_target(measures, v, &other); /* nothing but a change, and it counts */
    measures_end_pass(measures);
    ck_assert(single(CHANGES, "v", "cpu") == 3);
}

/* A target of memory that is another byte. */
TEST(memory_changes_are_counted) {
    struct vpa_object *object = simple_vpa(&arena, "v");
    struct vpa_recommendation first = targets("500m"), other = targets("500m");

    object->recommendation = first;
    struct vpa_autoscaler *v =
        vpa_cluster_put_vpa(c, object, selector_of(&arena, "app=web"), NULL, now);
    for (size_t i = 0; i < other.containers[0].target.count; i++)
        if (strcmp(other.containers[0].target.items[i].name, VPA_MEMORY) == 0)
            ck_assert_int_eq(vpa_quantity_parse(&arena, "300M",
                                                &other.containers[0].target.items[i].quantity,
                                                NULL),
                             0);
    measures_target(measures, v, &other);
    measures_end_pass(measures);
    ck_assert(total(CHANGES, "vpa", "memory") == 1);
    ck_assert(total(CHANGES, "vpa", "cpu") == 0);
}

TEST(no_more_than_a_thousand_vpas) {
    begin("*/*");
    for (int i = 0; i <= MEASURES_VPAS_MAX; i++) {
        const char *name = vpa_arena_printf(&arena, "v%04d", i);
        struct vpa_autoscaler *v = put_vpa(name, vpa_arena_printf(&arena, "app=%s", name));

        put_pod(name, vpa_arena_printf(&arena, "{\"app\":\"%s\"}", name));
        recommend(v);
    }
    measures_begin_pass(measures, c);
    use_cpu("v0999", 300);
    use_cpu("v1000", 300);
    measures_end_pass(measures);
    ck_assert_double_eq_tol(single(USED, "v0999", "cpu"), 0.3, 1e-12);
    ck_assert(single(USED, "v1000", "cpu") == 0);
    ck_assert_double_eq_tol(total(USED, "vpa", "cpu"), 0.6, 1e-12);
}

TEST(the_leader_counts) {
    bool standby = true;
    struct vpa_autoscaler *v = put_vpa("v", "app=web");

    quality.standby = &standby;
    put_pod("p", "{\"app\":\"web\"}");
    recommend(v);
    use_cpu("p", 300);
    measures_end_pass(measures);
    ck_assert_uint_eq(measures_metrics[USED]->series.count, 0);
}

static const struct {
    const char *list;
    const char *wrong; /* NULL: right */
} lists[] = {
    {"", NULL},           {"ns/v", NULL},     {"a/b,c/*, d/e", NULL},
    {"*/*", NULL},        {"v", "\"v\""},     {"/v", "\"/v\""},
    {"ns/", "\"ns/\""},   {"a/b,", "\"\""},   {"a/b/c", "\"a/b/c\""},
    {"a/b/", "\"a/b/\""}, {"*/v", "\"*/v\""}, {"a/b,c", "\"c\""},
};

TEST_EACH(lists_are_checked, lists) {
    struct vpa_error err = {.text = ""};
    int result = measures_check(lists[_i].list, &err);

    ck_assert_int_eq(result, lists[_i].wrong ? -1 : 0);
    if (lists[_i].wrong)
        ck_assert_ptr_nonnull(strstr(err.text, lists[_i].wrong));
}

int main(void)
{
    return run_tests("recommender_measures", setup_measures, teardown_measures);
}
