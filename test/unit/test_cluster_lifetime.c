/* What the cluster keeps and what goes: waiting pods (memory saver), garbage. */
#include "suite.h"
#include "cluster_fixture.h"
#include "../../src/model/cluster_private.h"

/* ---- memory saver ---- */

TEST(unmatched_pods_wait) {
    struct vpa_oom_queue q;

    vpa_oom_queue_init(&q);
    put_pod("a", "{\"app\":\"web\"}");
    ck_assert_uint_eq(vpa_cluster_pod_count(c), 0);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 0);
    ck_assert_int_eq(sample("a", VPA_KIND_CPU, now, 1), -1);
    put_pod("a", "{\"app\":\"web\",\"x\":\"1\"}"); /* still waits, in another group */
    struct vpa_autoscaler *v = put_vpa("v", "app=web");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 1);
    ck_assert_uint_eq(vpa_cluster_pod_count(c), 1);
    ck_assert_int_eq(sample("a", VPA_KIND_CPU, now, 1), 0);
    put_pod("b", "{\"app\":\"web\"}");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 2);

    /* stops matching: stays as it was, beside its waiting record */
    put_pod("b", "{\"app\":\"other\"}");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 2);
    put_pod("b", "{\"app\":\"another\"}");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 2);
    struct vpa_autoscaler *w = put_vpa("w", "app=another");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 1);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(w), 1);

    /* matches again after waiting */
    put_pod("b", "{\"app\":\"other\"}");
    put_pod("b", "{\"app\":\"web\"}");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 2);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(w), 0);
    vpa_oom_queue_release(&q);
}

/* What a new VPA matches is looked for when somebody asks, once for all that are new. */
TEST(a_pod_that_waited_takes_a_sample_at_once) {
    put_pod("a", "{\"app\":\"web\"}");
    put_pod("b", "{\"app\":\"other\"}");
    put_vpa("v", "app=web");
    put_vpa("w", "app=other");
    ck_assert_uint_eq(vpa_cluster_pod_count(c), 0);
    ck_assert_int_eq(sample("a", VPA_KIND_CPU, now, 1), 0);
    ck_assert_uint_eq(vpa_cluster_pod_count(c), 2);
}

TEST(lookups_count_pods_that_have_waited) {
    put_pod("a", "{\"app\":\"web\"}");
    ck_assert_uint_eq(vpa_cluster_take_lookups(c).from_spec, 0);
    put_vpa("v", "app=web");
    ck_assert_uint_eq(vpa_cluster_take_lookups(c).from_spec, 1);
}

TEST(waiting_pods_are_deleted_too) {
    put_vpa("v", "app=web");
    put_pod("a", "{\"app\":\"web\"}");
    put_pod("a", "{\"app\":\"other\"}");
    put_pod("b", "{\"app\":\"other\"}");
    vpa_cluster_mark_all_pods_deleted(c);
    vpa_cluster_keep_pod(c, "ns", "b");
    ck_assert_uint_eq(vpa_cluster_remove_deleted_pods(c), 1);
    ck_assert_uint_eq(vpa_cluster_pod_count(c), 0);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(put_vpa("w", "app=other")), 1);
    put_pod("d", "{\"app\":\"more\"}");
    ck_assert(vpa_cluster_remove_pod(c, "ns", "d"));
    vpa_cluster_mark_pod_deleted(c, "ns", "b");
    put_pod("b", "{\"app\":\"none\"}"); /* seen again, and waiting */
    ck_assert_uint_eq(vpa_cluster_remove_deleted_pods(c), 0);
}

TEST(waiting_pods_remember_their_status) {
    struct vpa_oom_queue q;

    vpa_oom_queue_init(&q);
    vpa_cluster_put_pod(c, pod_with_status("u", "\"state\":{\"running\":{}}"), &q, now);
    put_vpa("v", "");
    vpa_cluster_put_pod(c, pod_with_status("u", KILLED), &q, now);
    ck_assert_uint_eq(q.count, 1);
    vpa_cluster_remove_vpa(c, "ns", "v");
    vpa_cluster_put_pod(c, pod_with_status("u", KILLED), &q, now);
    ck_assert_uint_eq(q.count, 1);
    vpa_oom_queue_release(&q);
}

TEST(waiting_pods_hand_over_everything) {
    struct vpa_pod *pod = pod_of(
        &arena,
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\",\"labels\":{\"a\":\"1\"}},\"spec\":{"
        "\"containers\":[{\"name\":\"x\"},{\"name\":\"y\"}],\"initContainers\":[{\"name\":"
        "\"i\"}]}}");

    vpa_cluster_put_pod(c, pod, NULL, now);
    vpa_cluster_put_pod(c, pod, NULL, now);
    put_vpa("v", "a=1");
    ck_assert(is_init(c, CONTAINER("ns", "p", "i"), now));
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 2);
}

TEST(waiting_pods_hand_over_the_lack_of_init_containers) {
    struct vpa_pod *with =
        pod_of(&arena,
               "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\",\"labels\":{\"a\":\"1\"}},"
               "\"spec\":{\"containers\":[{\"name\":\"app\"}],\"initContainers\":[{\"name\":\"i\"},"
               "{\"name\":\"j\"}]}}");

    put_vpa("v", "a=1");
    vpa_cluster_put_pod(c, with, NULL, now);
    ck_assert(is_init(c, CONTAINER("ns", "p", "j"), now));
    ck_assert(!is_init(c, CONTAINER("ns", "p", "app"), now));
    put_pod("p", "{\"a\":\"2\"}"); /* waits, and is another pod of the name by now */
    put_pod("p", "{\"a\":\"1\"}");
    ck_assert(!is_init(c, CONTAINER("ns", "p", "i"), now));
}

/* ---- pods that were made anew under their name ---- */

static struct vpa_pod *revision(const char *uid, const char *containers)
{
    return pod_of(&arena, vpa_arena_printf(&arena,
                                           "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\","
                                           "\"uid\":\"%s\",\"labels\":{\"app\":\"web\",\"of\":"
                                           "\"%s\"}},\"spec\":{\"containers\":[%s],"
                                           "\"initContainers\":[{\"name\":\"i\"}]}}",
                                           uid, uid, containers));
}

/* As a StatefulSet does between two passes: a container that the new one has not is as gone as
 * those of a Deployment's old pods, and its history ages. */
TEST(a_pod_that_was_made_anew_has_its_own_containers) {
    struct vpa_autoscaler *v = put_vpa("v", "app=web");
    struct vpa_histories histories;
    struct vpa_error err;

    vpa_cluster_put_pod(c, revision("1", "{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"x\"}"),
                        NULL, now);
    ck_assert_int_eq(add_sample(c, CONTAINER("ns", "p", "a"), VPA_KIND_CPU, now, 100, now, &err),
                     0);
    vpa_cluster_put_pod(c, revision("1", "{\"name\":\"b\"}"), NULL, now); /* the same pod */
    ck_assert(vpa_autoscaler_has_pod_with(v, "a"));
    vpa_cluster_put_pod(c, revision("2", "{\"name\":\"x\"},{\"name\":\"y\"}"), NULL, now);
    ck_assert(!vpa_autoscaler_has_pod_with(v, "a"));
    ck_assert(!vpa_autoscaler_has_pod_with(v, "b"));
    ck_assert(is_init(c, CONTAINER("ns", "p", "i"), now));
    ck_assert_int_eq(add_sample(c, CONTAINER("ns", "p", "x"), VPA_KIND_CPU, now, 100, now, &err),
                     0);
    ck_assert_int_eq(add_sample(c, CONTAINER("ns", "p", "y"), VPA_KIND_CPU, now, 100, now, &err),
                     0);

    now = vpa_time_add(now, 8 * 24 * VPA_HOUR);
    ck_assert_int_eq(add_sample(c, CONTAINER("ns", "p", "x"), VPA_KIND_CPU, now, 100, now, &err),
                     0);
    ck_assert_int_eq(add_sample(c, CONTAINER("ns", "p", "y"), VPA_KIND_CPU, now, 100, now, &err),
                     0);
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    vpa_cluster_histories(c, v, now, &histories);
    ck_assert_uint_eq(histories.count, 2);
    ck_assert_str_eq(histories.items[0].container, "x");
    ck_assert_str_eq(histories.items[1].container, "y");
    vpa_histories_release(&histories);
}

/* The saver's record beside it does the same. */
TEST(a_waiting_pod_that_was_made_anew_has_its_own_containers) {
    vpa_cluster_put_pod(c, revision("1", "{\"name\":\"a\"},{\"name\":\"x\"}"), NULL, now);
    vpa_cluster_put_pod(c, revision("2", "{\"name\":\"x\"}"), NULL, now);
    struct vpa_autoscaler *v = put_vpa("v", "app=web");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 1);
    ck_assert(vpa_autoscaler_has_pod_with(v, "x"));
    ck_assert(!vpa_autoscaler_has_pod_with(v, "a"));
}

/* ---- pods that were deleted ---- */

TEST_CASE(garbage, setup, teardown);

TEST_AGAIN(a_pod_that_was_made_anew_has_its_own_containers);

/* What a pod alone has brought goes with it, unless it has samples; what another one of the same
 * labels feeds stays. */
TEST(deleted_pods_take_empty_aggregates_along) {
    put_pod("a", "{\"app\":\"web\"}");
    put_pod("b", "{\"app\":\"web\"}");
    put_pod("d", "{\"app\":\"db\"}");
    put_pod("e", "{\"app\":\"more\"}");
    ck_assert_int_eq(sample("d", VPA_KIND_CPU, now, 1), 0);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 3);
    vpa_cluster_mark_pod_deleted(c, "ns", "a");
    vpa_cluster_mark_pod_deleted(c, "ns", "d");
    vpa_cluster_forget_deleted_pods(c, now);
    ck_assert_uint_eq(vpa_cluster_pod_count(c), 2);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 3);
    vpa_cluster_mark_pod_deleted(c, "ns", "b");
    vpa_cluster_forget_deleted_pods(c, now);
    ck_assert_uint_eq(vpa_cluster_pod_count(c), 1);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 2);
}

/* A name is there for as long as a container or an aggregate has it. */
TEST(names_go_with_those_that_have_them) {
    put_pod("a", "{\"app\":\"web\"}");
    put_pod("b", "{\"app\":\"db\"}");
    ck_assert_ptr_nonnull(vpa_intern_find(c->names, "app"));
    vpa_cluster_mark_pod_deleted(c, "ns", "a");
    vpa_cluster_forget_deleted_pods(c, now);
    ck_assert_ptr_nonnull(vpa_intern_find(c->names, "app"));
    vpa_cluster_mark_pod_deleted(c, "ns", "b");
    vpa_cluster_forget_deleted_pods(c, now);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 0);
    ck_assert_ptr_null(vpa_intern_find(c->names, "app"));
}

/* ---- garbage ---- */

static bool answer;
static int asked;
static const char *asked_for; /* the VPA */

static bool controller_exists(void *ctx, const struct vpa_autoscaler *v)
{
    (void)ctx;
    ck_assert_ptr_nonnull(v);
    asked_for = vpa_autoscaler_name(v);
    asked++;
    return answer;
}

static size_t collect(void)
{
    now += 2 * (vpa_time)VPA_HOUR;
    return vpa_cluster_collect_garbage(c, now, controller_exists, NULL);
}

static void put_phase(const char *name, const char *labels, const char *phase)
{
    struct vpa_pod *pod = simple_pod(&arena, name, labels);

    pod->phase = phase;
    vpa_cluster_put_pod(c, pod, NULL, now);
}

TEST(empty_aggregates_live_with_their_pods) {
    put_pod("p", "{\"app\":\"web\"}");
    ck_assert_uint_eq(collect(), 0);
    vpa_cluster_remove_pod(c, "ns", "p");
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 1);
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now + VPA_HOUR - 1, NULL, NULL), 0);
    ck_assert_uint_eq(collect(), 1);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 0);
}

/* To the nanosecond. */
TEST(collections_are_an_hour_apart) {
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now, NULL, NULL), 0);
    put_pod("a", "{}");
    ck_assert(vpa_cluster_remove_pod(c, "ns", "a"));
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 1);
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now, NULL, NULL), 0);
    now += VPA_HOUR;
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now - 1, NULL, NULL), 0);
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now, NULL, NULL), 1);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 0);
}

TEST(a_clock_that_is_set_back_delays_no_collection) {
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now + 365 * (vpa_time)DAY, NULL, NULL), 0);
    put_pod("p", "{\"app\":\"web\"}");
    vpa_cluster_remove_pod(c, "ns", "p");
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now, NULL, NULL), 1);
}

TEST(finished_pods_are_gone_where_nobody_can_tell) {
    put_vpa("v", "app=job");
    put_phase("done", "{\"app\":\"job\"}", "Failed");
    now += 2 * (vpa_time)VPA_HOUR;
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now, NULL, NULL), 1);
}

/* A pod of a history has the phase it is given, whatever was known of it before. */
static const struct {
    const char *before;
    enum vpa_phase phase;
    bool finished;
} bare_phases[] = {
    {"Failed", VPA_PHASE_UNKNOWN, false},    {"Succeeded", VPA_PHASE_PENDING, false},
    {"Succeeded", VPA_PHASE_RUNNING, false}, {"Running", VPA_PHASE_SUCCEEDED, true},
    {"Pending", VPA_PHASE_FAILED, true},
};

TEST_EACH(bare_pods_have_a_phase, bare_phases) {
    struct vpa_labels labels;
    struct vpa_error err;

    ck_assert_int_eq(vpa_labels_decode(&arena, json(&arena, "{\"app\":\"job\"}"), &labels, &err),
                     0);
    put_phase("p", "{\"app\":\"job\"}", bare_phases[_i].before);
    vpa_cluster_put_bare_pod(c, "ns", "p", &labels, bare_phases[_i].phase, now);
    ck_assert_uint_eq(collect(), bare_phases[_i].finished);
}

TEST(finished_pods_need_a_controller) {
    put_phase("done", "{\"app\":\"job\"}", "Succeeded");
    ck_assert_uint_eq(collect(), 1); /* no VPA */
    put_vpa("u", "other=1");
    vpa_cluster_put_vpa(c, simple_vpa(&arena, "t"), selector_of(&arena, "app=job"), NULL, now);
    vpa_cluster_put_vpa(c, simple_vpa(&arena, "t"), NULL, NULL, now); /* unresolved: not asked */
    vpa_cluster_remove_pod(c, "ns", "done");
    put_phase("done", "{\"app\":\"job\"}", "Failed");
    ck_assert_uint_eq(collect(), 1);
    ck_assert_int_eq(asked, 0);
    vpa_cluster_remove_pod(c, "ns", "done");
    put_vpa("v", "app=job");
    put_phase("done", "{\"app\":\"job\"}", "Failed");
    answer = true;
    ck_assert_uint_eq(collect(), 0);
    ck_assert_int_eq(asked, 1);
    ck_assert_str_eq(asked_for, "v");
    answer = false;
    ck_assert_uint_eq(collect(), 1);
    put_vpa("s", "app=job"); /* the first of them by name, and alone */
    vpa_cluster_remove_vpa(c, "ns", "v");
    vpa_cluster_remove_pod(c, "ns", "done");
    put_phase("done", "{\"app\":\"job\"}", "Failed");
    answer = true;
    ck_assert_uint_eq(collect(), 0);
    ck_assert_str_eq(asked_for, "s");
}

/* "For ever", in days. */
TEST(a_history_without_end_stays) {
    global.memory_interval_count = 1000000;
    put_vpa("v", "app=web");
    put_pod("a", "{\"app\":\"web\"}");
    ck_assert_int_eq(sample("a", VPA_KIND_CPU, now, 1), 0);
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 1);
    vpa_cluster_collect_garbage(c, vpa_time_add(now, 1000 * 24 * VPA_HOUR), NULL, NULL);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 1);
}

TEST(any_sample_keeps_an_aggregate) {
    put_pod("cpu", "{\"app\":\"a\"}");
    put_pod("memory", "{\"app\":\"b\"}");
    ck_assert_int_eq(sample("cpu", VPA_KIND_CPU, now, 100), 0);
    ck_assert_int_eq(sample("memory", VPA_KIND_MEMORY, now, 100), 0);
    vpa_cluster_remove_pod(c, "ns", "cpu");
    vpa_cluster_remove_pod(c, "ns", "memory");
    ck_assert_uint_eq(collect(), 0);
    now += 10 * (vpa_time)DAY;
    ck_assert_uint_eq(collect(), 2);
}

#define OWN 30 /* containers of a pod, of names that no other pod has */

static void put_own(const char *name, const char *phase)
{
    struct vpa_pod *pod = simple_pod(&arena, name, "{\"app\":\"web\"}");
    struct vpa_container *containers = vpa_arena_alloc(&arena, OWN * sizeof(*containers));

    for (int i = 0; i < OWN; i++) {
        containers[i] = pod->containers[0];
        containers[i].name = vpa_arena_printf(&arena, "%s-%d", name, i);
    }
    pod->containers = containers;
    pod->container_count = OWN;
    pod->phase = phase;
    vpa_cluster_put_pod(c, pod, NULL, now);
}

static int sample_own(const char *pod, int i)
{
    struct vpa_error err;

    return add_sample(c, CONTAINER("ns", pod, vpa_arena_printf(&arena, "%s-%d", pod, i)),
                      VPA_KIND_CPU, now, 100, now, &err);
}

/* However many aggregates pods of the same labels have, each is found, kept and collected alone. */
TEST(many_names_of_the_same_labels_are_collected_one_by_one) {
    put_vpa("v", "app=web");
    put_own("runs", "Running");
    put_own("done", "Failed");
    put_own("gone", "Running");
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), (size_t)3 * OWN);
    put_own("runs", "Running");
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), (size_t)3 * OWN);
    ck_assert_int_eq(sample_own("done", 7), 0);
    vpa_cluster_mark_pod_deleted(c, "ns", "gone");
    vpa_cluster_forget_deleted_pods(c, now);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), (size_t)2 * OWN);
    answer = true;
    ck_assert_uint_eq(collect(), 0);
    answer = false;
    ck_assert_uint_eq(collect(), OWN - 1);
    ck_assert_int_eq(sample_own("done", 7), 0);
    ck_assert_int_eq(sample_own("done", 8), 0);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), OWN + 2);
    vpa_cluster_remove_pod(c, "ns", "runs");
    vpa_cluster_remove_pod(c, "ns", "done");
    ck_assert_uint_eq(collect(), OWN);
    now += 10 * (vpa_time)DAY;
    ck_assert_uint_eq(collect(), 2);
}

TEST(expired_under_a_living_pod_starts_anew) {
    struct vpa_autoscaler *v = put_vpa("v", "app=a");

    put_pod("p", "{\"app\":\"a\"}");
    put_pod("q", "{\"app\":\"a\"}");
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now, 100), 0);
    now += 8 * (vpa_time)DAY;
    ck_assert_uint_eq(collect(), 1);
    ck_assert_uint_eq(vpa_autoscaler_aggregate_count(v), 0);
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now, 100), 0);
    ck_assert_int_eq(sample("q", VPA_KIND_CPU, now, 100), 0);
    ck_assert_uint_eq(vpa_autoscaler_aggregate_count(v), 1);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 2);
}

int main(void)
{
    return run_tests("cluster_lifetime", setup_saver, teardown);
}
