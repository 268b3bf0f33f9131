/* VPAs with another algorithm than VPA's own in the model: what they learn, what a choice keeps and
 * loses, what is stored, and that nobody else pays for it. */
#include <check.h>

#include "model_fixture.h"
#include "vpa/model/cluster_learners.h"
#include "vpa/model/recommend.h"

static struct vpa_aggregation global;
static struct vpa_estimator estimator;
static struct vpa_cluster *cluster;
static struct vpa_arena arena;
static struct vpa_method *crane;
static struct vpa_error err;
static vpa_time now;

static struct vpa_method *make_method(const char *algorithm, const char *key, const char *text)
{
    struct vpa_parameters p;

    vpa_parameters_init(&p, vpa_algorithm_find(algorithm));
    if (key)
        ck_assert_msg(vpa_parameters_set(&p, key, text, &err) == 0, "%s", err.text);
    struct vpa_method *m = vpa_method_new(&p, &err);
    ck_assert_msg(m != NULL, "%s", err.text);
    vpa_parameters_release(&p);
    return m;
}

static void setup(void)
{
    now = at("2026-03-01T00:00:00Z");
    vpa_arena_init(&arena, 0);
    vpa_aggregation_init(&global);
    vpa_estimator_init(&estimator);
    cluster = vpa_cluster_new(&(struct vpa_cluster_options){.aggregation = &global});
    crane = make_method("crane", NULL, NULL);
}

static void teardown(void)
{
    vpa_cluster_free(cluster);
    vpa_method_unref(crane);
    vpa_aggregation_release(&global);
    vpa_arena_release(&arena);
}

static struct vpa_autoscaler *put(const char *name)
{
    return vpa_cluster_put_vpa(cluster, simple_vpa(&arena, name), selector_of(&arena, "app=web"),
                               NULL, now);
}

static void put_pod(const char *name)
{
    vpa_cluster_put_pod(cluster, simple_pod(&arena, name, "{\"app\":\"web\"}"), NULL, now);
}

static void live_minutes(int minutes, const char *pod, vpa_amount millis, vpa_amount bytes)
{
    for (int i = 0; i < minutes; i++, now += VPA_MINUTE) {
        ck_assert_int_eq(
            add_sample(cluster, CONTAINER("ns", pod, "app"), VPA_KIND_CPU, now, millis, now, &err),
            0);
        ck_assert_int_eq(add_sample(cluster, CONTAINER("ns", pod, "app"), VPA_KIND_MEMORY, now,
                                    bytes, now, &err),
                         0);
    }
}

static void live(const char *pod, vpa_amount millis, vpa_amount bytes)
{
    live_minutes(60, pod, millis, bytes);
}

static struct vpa_estimates estimate(struct vpa_autoscaler *v)
{
    struct vpa_estimates estimates;

    vpa_estimate(cluster, v, &estimator, now, &arena, &estimates);
    return estimates;
}

static vpa_amount target(struct vpa_autoscaler *v, enum vpa_kind kind)
{
    struct vpa_estimates estimates = estimate(v);

    ck_assert_uint_eq(estimates.count, 1);
    ck_assert_str_eq(estimates.items[0].container, "app");
    return estimates.items[0].estimate.bound[VPA_TARGET].value[kind];
}

TEST(the_chosen_algorithm_recommends) {
    struct vpa_autoscaler *own = put("own"), *other = put("other");

    vpa_autoscaler_set_method(other, crane, NULL, now);
    ck_assert_ptr_eq(vpa_autoscaler_method(other), crane);
    ck_assert_ptr_null(vpa_autoscaler_method(own));
    put_pod("web-1");
    ck_assert_uint_eq(estimate(other).count, 0);
    live("web-1", 150, 150 * MI);
    /* Examples C3 and C4 of the specification. */
    ck_assert_int_eq(target(other, VPA_KIND_CPU), 229);
    ck_assert_int_eq(target(other, VPA_KIND_MEMORY), 241172479);
    ck_assert_int_ne(target(own, VPA_KIND_CPU), 229);
}

TEST(all_replicas_and_revisions_are_one) {
    struct vpa_autoscaler *v = put("web");

    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    vpa_cluster_put_pod(
        cluster, simple_pod(&arena, "web-2", "{\"app\":\"web\",\"revision\":\"2\"}"), NULL, now);
    live("web-1", 150, 150 * MI);
    live("web-2", 1950, 950 * MI);
    ck_assert_int_eq(target(v, VPA_KIND_CPU), 2300);
    ck_assert_int_eq(target(v, VPA_KIND_MEMORY), 1205862400);
}

TEST(an_oom_counts) {
    struct vpa_autoscaler *v = put("web");

    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    ck_assert_int_eq(record_oom(cluster, CONTAINER("ns", "web-1", "app"), now, 500 * MI, now, &err),
                     0);
    ck_assert_int_eq(target(v, VPA_KIND_MEMORY), 600 * MI);
    now += 168 * VPA_HOUR + VPA_SECOND;
    ck_assert_uint_eq(estimate(v).count, 0); /* no sample of that week either */
}

/* Going back to an algorithm finds it as if it had never been left. */
TEST(a_former_algorithm_goes_on_learning) {
    struct vpa_autoscaler *v = put("web");

    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    vpa_autoscaler_set_method(v, NULL, NULL, now);
    ck_assert_ptr_null(vpa_autoscaler_method(v));
    vpa_amount own = target(v, VPA_KIND_CPU);
    live("web-1", 850, 150 * MI);
    ck_assert_int_gt(target(v, VPA_KIND_CPU), own);
    vpa_autoscaler_set_method(v, crane, NULL, now);
    ck_assert_int_eq(target(v, VPA_KIND_CPU), 1035);
}

TEST(what_was_left_long_ago_goes) {
    struct vpa_autoscaler *v = put("web");

    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    vpa_autoscaler_set_method(v, NULL, NULL, now);
    now += 167 * VPA_HOUR;
    live("web-1", 150, 150 * MI);
    vpa_cluster_collect_garbage(cluster, now, NULL, NULL);
    live("web-1", 150, 150 * MI);
    vpa_autoscaler_set_method(v, crane, NULL, now);
    ck_assert_uint_eq(estimate(v).count, 0);
}

/* As the histories do (U25). */
TEST(another_target_forgets) {
    static const char text[] =
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"web\"},\"spec\":{\"targetRef\":{"
        "\"kind\":\"Deployment\",\"name\":\"%s\"}}}";
    struct vpa_selector *selector = selector_of(&arena, "app=web");
    struct vpa_autoscaler *v = vpa_cluster_put_vpa(
        cluster, vpa_of(&arena, vpa_arena_printf(&arena, text, "a")), selector, NULL, now);

    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    ck_assert_uint_eq(estimate(v).count, 1);
    vpa_cluster_put_vpa(cluster, vpa_of(&arena, vpa_arena_printf(&arena, text, "b")), selector,
                        NULL, now);
    vpa_autoscaler_set_method(v, crane, NULL, now);
    ck_assert_uint_eq(estimate(v).count, 0);
}

TEST(other_parameters_keep_what_was_learned) {
    struct vpa_autoscaler *v = put("web");
    struct vpa_method *wide = make_method("crane", "cpu-request-margin-fraction", "1");

    vpa_autoscaler_set_method(v, crane, "annotation x: wrong", now);
    ck_assert_str_eq(vpa_autoscaler_method_note(v), "annotation x: wrong");
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    vpa_autoscaler_set_method(v, wide, NULL, now);
    ck_assert_ptr_null(vpa_autoscaler_method_note(v));
    ck_assert_int_eq(target(v, VPA_KIND_CPU), 400);
    vpa_method_unref(wide);
}

struct stored {
    char *container;
    char *text;
    bool former;
    int count;
};

static void on_known(void *ctx, const struct vpa_known *known)
{
    struct stored *stored = ctx;
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(VPA_KNOWLEDGE_TEXT_MAX);

    vpa_json_writer_init(&w, &text);
    vpa_knowledge_save(known->knowledge, now, &w);
    *stored = (struct stored){vpa_arena_strdup(&arena, known->container),
                              vpa_arena_strdup(&arena, vpa_buf_text(&text)), known->former,
                              stored->count + 1};
}

TEST(what_is_stored_can_be_loaded) {
    struct vpa_autoscaler *v = put("web");
    struct stored stored = {0};

    vpa_autoscaler_visit_knowledge(v, on_known, &stored);
    ck_assert_int_eq(stored.count, 0);
    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    vpa_autoscaler_visit_knowledge(v, on_known, &stored);
    ck_assert_int_eq(stored.count, 1);
    ck_assert_str_eq(stored.container, "app");
    ck_assert(!stored.former);

    struct vpa_autoscaler *again = put("again");
    live("web-1", 150, 150 * MI);
    ck_assert_int_eq(
        vpa_autoscaler_load_knowledge(again, crane, "app", json(&arena, stored.text), now, &err),
        0);
    ck_assert_ptr_null(vpa_autoscaler_method(again)); /* loaded, not chosen */
    vpa_autoscaler_set_method(again, crane, NULL, now);
    ck_assert_int_eq(target(again, VPA_KIND_CPU), 229);
}

/* Samples that came before the load stay. */
TEST(loading_adds_to_what_is_there) {
    struct vpa_autoscaler *v = put("web"), *again = put("again");
    struct stored stored = {0};

    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    vpa_autoscaler_visit_knowledge(v, on_known, &stored);
    vpa_autoscaler_set_method(again, crane, NULL, now);
    live("web-1", 1550, 150 * MI);
    ck_assert_int_eq(
        vpa_autoscaler_load_knowledge(again, crane, "app", json(&arena, stored.text), now, &err),
        0);
    struct vpa_known *known;
    ck_assert_uint_eq(vpa_autoscaler_knowledge(again, &arena, &known), 1);
    ck_assert_int_eq(vpa_knowledge_sample_count(known[0].knowledge), 120);
    ck_assert_int_eq(target(again, VPA_KIND_CPU), 1839);
}

/* A standby has seen the samples that the leader stored: they count once. */
TEST(what_both_know_counts_once) {
    struct vpa_autoscaler *leader = put("web"), *standby = put("again");
    struct stored stored = {0};
    struct vpa_known *known;

    vpa_autoscaler_set_method(leader, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    vpa_autoscaler_set_method(standby, crane, NULL, now);
    live("web-1", 1550, 150 * MI);
    vpa_autoscaler_visit_knowledge(leader, on_known, &stored);
    live("web-1", 150, 150 * MI);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(vpa_autoscaler_load_knowledge(standby, crane, "app",
                                                       json(&arena, stored.text), now, &err),
                         0);
        ck_assert_uint_eq(vpa_autoscaler_knowledge(standby, &arena, &known), 1);
        ck_assert_int_eq(vpa_knowledge_sample_count(known[0].knowledge), 120);
    }
}

/* What a history has taught takes the place of what is known but for kills, which no history has,
 * for a container that learns by the same method; for others it stays the caller's. */
TEST(only_what_is_being_learned_is_replaced) {
    struct vpa_autoscaler *v = put("web");
    struct vpa_method *other = make_method("crane", NULL, NULL);
    struct vpa_knowledge *same_method = vpa_knowledge_new(crane, now);
    struct vpa_knowledge *other_method = vpa_knowledge_new(other, now);
    struct vpa_known *known;

    ck_assert(!vpa_autoscaler_replace_knowledge(v, "app", same_method)); /* learns nothing */
    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    ck_assert(!vpa_autoscaler_replace_knowledge(v, "other", same_method));
    ck_assert(!vpa_autoscaler_replace_knowledge(v, "app", other_method));
    ck_assert_uint_eq(vpa_autoscaler_knowledge(v, &arena, &known), 1);
    ck_assert_int_eq(vpa_knowledge_sample_count(known[0].knowledge), 60);
    ck_assert_int_eq(record_oom(cluster, CONTAINER("ns", "web-1", "app"), now, 300 * MI, now, &err),
                     0);
    ck_assert(vpa_autoscaler_replace_knowledge(v, "app", same_method));
    ck_assert_uint_eq(vpa_autoscaler_knowledge(v, &arena, &known), 1);
    ck_assert_ptr_eq(known[0].knowledge, same_method);
    ck_assert_int_eq(vpa_knowledge_sample_count(same_method), 0);
    ck_assert(!vpa_knowledge_is_empty(same_method));
    vpa_knowledge_free(other_method);
    vpa_method_unref(other);
}

TEST(what_cannot_be_loaded_changes_nothing) {
    struct vpa_autoscaler *v = put("web");

    ck_assert_int_eq(vpa_autoscaler_load_knowledge(v, crane, "app", json(&arena, "{}"), now, &err),
                     -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
    struct stored stored = {0};
    vpa_autoscaler_visit_knowledge(v, on_known, &stored);
    ck_assert_int_eq(stored.count, 0);
}

/* Containers that no pod has and whose samples are all too old. */
TEST(gone_containers_are_forgotten) {
    struct vpa_autoscaler *v = put("web");
    struct stored stored = {0};

    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    vpa_cluster_remove_pod(cluster, "ns", "web-1");
    now += 100 * VPA_HOUR;
    vpa_cluster_collect_garbage(cluster, now, NULL, NULL);
    vpa_autoscaler_visit_knowledge(v, on_known, &stored);
    ck_assert_int_eq(stored.count, 1);
    now += 69 * VPA_HOUR;
    vpa_cluster_collect_garbage(cluster, now, NULL, NULL);
    struct vpa_known *known;
    ck_assert_uint_eq(vpa_autoscaler_knowledge(v, &arena, &known), 0);
}

static int64_t samples_of(struct vpa_autoscaler *v)
{
    struct vpa_known *known;

    ck_assert_uint_eq(vpa_autoscaler_knowledge(v, &arena, &known), 1);
    return vpa_knowledge_sample_count(known[0].knowledge);
}

/* The last sample that the leader has stored is the first one of the standby. */
TEST(one_sample_that_both_know_counts_once) {
    struct vpa_autoscaler *leader = put("web"), *standby = put("again");
    struct stored stored = {0};

    vpa_autoscaler_set_method(leader, crane, NULL, now);
    put_pod("web-1");
    live_minutes(59, "web-1", 150, 150 * MI);
    vpa_autoscaler_set_method(standby, crane, NULL, now);
    live_minutes(1, "web-1", 150, 150 * MI);
    vpa_autoscaler_visit_knowledge(leader, on_known, &stored);
    ck_assert_int_eq(samples_of(standby), 1);
    ck_assert_int_eq(
        vpa_autoscaler_load_knowledge(standby, crane, "app", json(&arena, stored.text), now, &err),
        0);
    ck_assert_int_eq(samples_of(standby), 60);
}

/* As many samples, one of them newer: what this process has learned stays. */
TEST(of_as_many_samples_those_of_this_process_stay) {
    struct vpa_autoscaler *leader = put("web"), *standby = put("again");
    struct stored stored = {0};

    vpa_autoscaler_set_method(leader, crane, NULL, now);
    put_pod("web-1");
    live_minutes(1, "web-1", 150, 150 * MI);
    vpa_autoscaler_set_method(standby, crane, NULL, now);
    live_minutes(59, "web-1", 150, 150 * MI);
    vpa_autoscaler_visit_knowledge(leader, on_known, &stored);
    live_minutes(1, "web-1", 150, 900 * MI);
    ck_assert_int_eq(samples_of(standby), 60);
    vpa_amount memory = target(standby, VPA_KIND_MEMORY);
    ck_assert_int_ge(memory, 900 * MI);
    ck_assert_int_eq(
        vpa_autoscaler_load_knowledge(standby, crane, "app", json(&arena, stored.text), now, &err),
        0);
    ck_assert_int_eq(target(standby, VPA_KIND_MEMORY), memory);
}

/* The last sample is that of a minute before `now`, and counts for a week. */
TEST_TIMES(a_gone_container_is_forgotten_after_a_week, 2) {
    bool over = _i == 1;
    struct vpa_autoscaler *v = put("web");
    struct vpa_known *known;

    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    vpa_cluster_remove_pod(cluster, "ns", "web-1");
    now += vpa_method_memory(crane) - VPA_MINUTE;
    vpa_cluster_collect_garbage(cluster, over ? now : now - 1, NULL, NULL);
    ck_assert_uint_eq(vpa_autoscaler_knowledge(v, &arena, &known), over ? 0 : 1);
}

static const struct {
    const char *algorithm, *key, *text;
} eight_days[] = {
    {"autopilot", NULL, NULL},    {"autopilot", "max-span", "1h"}, {"autopilot", "max-span", "30d"},
    {"autopilot-ml", NULL, NULL}, {"plumb", NULL, NULL},
};

/* A job that comes seldom finds what was learned of it, whatever else its parameters say. */
TEST_EACH(a_gone_container_is_forgotten_after_eight_days, eight_days) {
    struct vpa_autoscaler *v = put("web");
    struct vpa_known *known;
    struct vpa_method *m =
        make_method(eight_days[_i].algorithm, eight_days[_i].key, eight_days[_i].text);

    vpa_autoscaler_set_method(v, m, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    vpa_cluster_remove_pod(cluster, "ns", "web-1");
    now += 8 * 24 * VPA_HOUR - VPA_HOUR;
    vpa_cluster_collect_garbage(cluster, now, NULL, NULL);
    ck_assert_int_gt(target(v, VPA_KIND_CPU), 0);
    ck_assert_int_ge(target(v, VPA_KIND_MEMORY), 100 * MI);
    for (int i = 0; i < 2; i++) {
        now += 2 * VPA_HOUR;
        vpa_cluster_collect_garbage(cluster, now, NULL, NULL);
    }
    ck_assert_uint_eq(vpa_autoscaler_knowledge(v, &arena, &known), 0);
    vpa_method_unref(m);
}

/* A container that has a pod is kept, however old its samples are. */
TEST(a_container_without_samples_is_kept_while_a_pod_has_it) {
    struct vpa_autoscaler *v = put("web");
    struct vpa_known *known;

    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    now += 2 * vpa_method_memory(crane);
    vpa_cluster_collect_garbage(cluster, now, NULL, NULL);
    ck_assert_uint_eq(vpa_autoscaler_knowledge(v, &arena, &known), 1);
    vpa_cluster_remove_pod(cluster, "ns", "web-1");
    vpa_cluster_collect_garbage(cluster, now + VPA_HOUR, NULL, NULL);
    ck_assert_uint_eq(vpa_autoscaler_knowledge(v, &arena, &known), 0);
}

/* Of many VPAs those of every one, wherever they stand. */
TEST(all_former_algorithms_go) {
    enum { COUNT = 40 };
    struct vpa_autoscaler *all[COUNT];
    struct stored stored = {0};

    put_pod("web-1");
    for (int i = 0; i < COUNT; i++) {
        all[i] = put(vpa_arena_printf(&arena, "v%d", i));
        vpa_autoscaler_set_method(all[i], crane, NULL, now);
    }
    live_minutes(2, "web-1", 150, 150 * MI);
    for (int i = 0; i < COUNT; i++) {
        vpa_autoscaler_set_method(all[i], NULL, NULL, now);
        vpa_autoscaler_visit_knowledge(all[i], on_known, &stored);
    }
    ck_assert_int_eq(stored.count, COUNT);
    vpa_cluster_collect_garbage(cluster, now + vpa_method_memory(crane), NULL, NULL);
    for (int i = 0; i < COUNT; i++)
        vpa_autoscaler_visit_knowledge(all[i], on_known, &stored);
    ck_assert_int_eq(stored.count, COUNT);
}

/* It goes on learning meanwhile. */
TEST_TIMES(a_former_algorithm_goes_after_a_week, 2) {
    bool over = _i == 1;
    struct vpa_autoscaler *v = put("web");
    struct stored stored = {0};

    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    vpa_autoscaler_set_method(v, NULL, NULL, now);
    vpa_time gone = now + vpa_method_memory(crane);
    now = gone - VPA_HOUR;
    live("web-1", 150, 150 * MI);
    vpa_cluster_collect_garbage(cluster, over ? gone : gone - 1, NULL, NULL);
    vpa_autoscaler_visit_knowledge(v, on_known, &stored);
    ck_assert_int_eq(stored.count, !over);
}

static const char *const others[] = {"crane", "autopilot", "autopilot-ml", "plumb"};

/* Times of samples are those of the nodes, and one of them may be ahead: what all replicas have
 * learned must neither stand still until then nor be refused after a restart. */
TEST_EACH(a_node_whose_clock_is_ahead_harms_nobody, others) {
    struct vpa_autoscaler *v = put("web"), *again = put("again");
    struct vpa_method *m = make_method(others[_i], NULL, NULL);
    struct stored stored = {0};

    vpa_autoscaler_set_method(v, m, NULL, now);
    vpa_autoscaler_set_method(again, m, NULL, now);
    put_pod("web-1");
    put_pod("web-2");
    live("web-1", 150, 150 * MI);
    for (int day = 1; day <= 8; day++) {
        vpa_time ahead = now + 30 * 24 * VPA_HOUR + day * 24 * VPA_HOUR;
        const struct vpa_container_name name = *CONTAINER("ns", "web-2", "app");
        ck_assert_int_eq(add_sample(cluster, &name, VPA_KIND_CPU, ahead, 150, now, &err), 0);
        ck_assert_int_eq(add_sample(cluster, &name, VPA_KIND_MEMORY, ahead, 150 * MI, now, &err),
                         0);
    }
    ck_assert_int_eq(record_oom(cluster, CONTAINER("ns", "web-2", "app"), now + 60 * 24 * VPA_HOUR,
                                160 * MI, now, &err),
                     0);
    for (int hour = 0; hour < 12; hour++)
        live("web-1", 1950, 950 * MI);
    ck_assert_int_ge(target(v, VPA_KIND_CPU), 1950);
    ck_assert_int_ge(target(v, VPA_KIND_MEMORY), 950 * MI);
    vpa_autoscaler_visit_knowledge(v, on_known, &stored);
    ck_assert_msg(
        vpa_autoscaler_load_knowledge(again, m, "app", json(&arena, stored.text), now, &err) == 0,
        "%s", err.text);
    vpa_method_unref(m);
}

TEST(says_what_was_learned) {
    struct vpa_autoscaler *v = put("web");
    struct vpa_method *plumb = make_method("plumb", NULL, NULL);

    put_pod("web-1");
    ck_assert(!vpa_autoscaler_has_learned(v, "app", "crane"));
    vpa_autoscaler_set_method(v, crane, NULL, now);
    ck_assert(!vpa_autoscaler_has_learned(v, "app", "crane"));
    live("web-1", 150, 150 * MI);
    ck_assert(vpa_autoscaler_has_learned(v, "app", "crane"));
    ck_assert(!vpa_autoscaler_has_learned(v, "app", "plumb"));
    ck_assert(!vpa_autoscaler_has_learned(v, "app", "none"));
    ck_assert(!vpa_autoscaler_has_learned(v, "other", "crane"));
    vpa_autoscaler_set_method(v, plumb, NULL, now);
    ck_assert(vpa_autoscaler_has_learned(v, "app", "crane")); /* a former one too */
    vpa_method_unref(plumb);
}

/* They are found by name, in whatever order they came. */
TEST(many_containers_are_learned) {
    static const char *const names[] = {"e", "a", "d", "g", "b", "f", "c"};
    struct vpa_autoscaler *v = put("web"), *again = put("again");
    struct stored stored = {0};

    vpa_autoscaler_set_method(v, crane, NULL, now);
    vpa_autoscaler_set_method(again, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    vpa_autoscaler_visit_knowledge(v, on_known, &stored);
    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        ck_assert(!vpa_autoscaler_has_learned(again, names[i], "crane"));
        ck_assert_int_eq(vpa_autoscaler_load_knowledge(again, crane, names[i],
                                                       json(&arena, stored.text), now, &err),
                         0);
        for (size_t k = 0; k < VPA_COUNT(names); k++)
            ck_assert_int_eq(vpa_autoscaler_has_learned(again, names[k], "crane"), k <= i);
    }
}

TEST(former_learners_are_bounded) {
    struct vpa_autoscaler *first = NULL;
    struct stored stored = {0};

    put_pod("web-1");
    for (int i = 0; i <= VPA_FORMER_MAX; i++) {
        struct vpa_autoscaler *v = put(vpa_arena_printf(&arena, "v%d", i));
        vpa_autoscaler_set_method(v, crane, NULL, now);
        if (i == 0) {
            first = v;
            live("web-1", 150, 150 * MI);
        }
        vpa_autoscaler_set_method(v, NULL, NULL, now + i);
    }
    vpa_autoscaler_visit_knowledge(first, on_known, &stored);
    ck_assert_int_eq(stored.count, 0); /* left first */
}

/* Whoever has hundreds of VPAs that switch displaces his own, be they ever so new. */
TEST(former_learners_of_others_stay) {
    struct vpa_autoscaler *mine = put("web");
    struct stored stored = {0};

    put_pod("web-1");
    vpa_autoscaler_set_method(mine, crane, NULL, now);
    live("web-1", 150, 150 * MI);
    vpa_autoscaler_set_method(mine, NULL, NULL, now);
    for (int i = 1; i <= VPA_FORMER_MAX + 10; i++) {
        struct vpa_object *vpa = simple_vpa(&arena, vpa_arena_printf(&arena, "v%d", i));
        vpa->meta.ns = "greedy";
        struct vpa_autoscaler *v =
            vpa_cluster_put_vpa(cluster, vpa, selector_of(&arena, "app=web"), NULL, now);
        vpa_autoscaler_set_method(v, crane, NULL, now);
        vpa_autoscaler_set_method(v, NULL, NULL, now + i);
    }
    vpa_autoscaler_visit_knowledge(mine, on_known, &stored);
    ck_assert_int_eq(stored.count, 1);
    vpa_autoscaler_set_method(mine, crane, NULL, now + VPA_HOUR);
    ck_assert_int_eq(target(mine, VPA_KIND_CPU), 229);
}

/* Also when as many are kept as may be, and this one was left first. */
TEST(going_back_makes_no_room_by_what_is_wanted) {
    struct vpa_method *plumb = make_method("plumb", NULL, NULL);
    struct vpa_autoscaler *v = put("web");

    put_pod("web-1");
    vpa_autoscaler_set_method(v, crane, NULL, now);
    live("web-1", 150, 150 * MI);
    vpa_autoscaler_set_method(v, plumb, NULL, now);
    for (int i = 1; i < VPA_FORMER_MAX; i++) {
        struct vpa_autoscaler *other = put(vpa_arena_printf(&arena, "v%d", i));
        vpa_autoscaler_set_method(other, crane, NULL, now);
        vpa_autoscaler_set_method(other, NULL, NULL, now + i);
    }
    vpa_autoscaler_set_method(v, crane, NULL, now + VPA_HOUR);
    ck_assert_int_eq(target(v, VPA_KIND_CPU), 229);
    vpa_method_unref(plumb);
}

TEST(containers_in_mode_off_are_left_out) {
    struct vpa_autoscaler *v = vpa_cluster_put_vpa(
        cluster,
        vpa_of(&arena, "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"web\"},\"spec\":{"
                       "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"app\","
                       "\"mode\":\"Off\"}]}}}"),
        selector_of(&arena, "app=web"), NULL, now);

    vpa_autoscaler_set_method(v, crane, NULL, now);
    put_pod("web-1");
    live("web-1", 150, 150 * MI);
    ck_assert_uint_eq(estimate(v).count, 0);
}

int main(void)
{
    return run_tests("cluster algorithms", setup, teardown);
}
