/*
 * What the recommender lists of checkpoints when VPAs come, and what it makes of refusals when it
 * deletes those of nobody.
 */
#include "captured_log.h"
#include "recommender_fixture.h"

#define NAMESPACE(name)                                                                            \
    APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" name "\"}}")
#define KIND "VerticalPodAutoscalerCheckpoint"

/* ---- lists ---- */

static int of_one, of_all;

static bool count_lists(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)r;
    if (strcmp(q->method, "GET") != 0 ||
        !vpa_str_ends_with(q->path, "/verticalpodautoscalercheckpoints"))
        return false;
    if (strstr(q->path, "/namespaces/"))
        of_one++;
    else
        of_all++;
    return false;
}

static void make_vpas(int namespaces)
{
    for (int i = 0; i < namespaces; i++) {
        for (int k = 0; k < 2; k++) { /* of one namespace there is one list */
            vpa_auto_free char *vpa = vpa_xprintf(
                APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
                      "\"VerticalPodAutoscaler\",\"metadata\":{\"name\":\"v%d\",\"namespace\":"
                      "\"n%d\",\"creationTimestamp\":\"2026-01-15T10:00:00Z\"},\"spec\":{"
                      "\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}}"),
                k, i);

            change(vpa);
        }
    }
}

static const struct {
    int namespaces, of_one, of_all;
} lists[] = {{1, 1, 0}, {2, 2, 0}, {8, 8, 0}, {9, 0, 1}, {20, 0, 1}};

/* From nine namespaces on one list of all is cheaper; what is there is listed again in the pass in
 * which it was new, and then no more. */
TEST_EACH(new_vpas_are_looked_for_by_namespace, lists) {
    start("--checkpoints-gc-interval=100h");
    pass(USAGE("100m", "100Mi"));
    make_vpas(lists[_i].namespaces);
    hook = count_lists;
    of_one = of_all = 0;
    pass(USAGE("100m", "100Mi"));
    int first_of_one = of_one, first_of_all = of_all;
    ck_assert_int_eq(of_one % lists[_i].namespaces, 0);
    ck_assert_int_eq(of_one > 0, lists[_i].of_one > 0);
    ck_assert_int_eq(of_all > 0, lists[_i].of_all > 0);
    ck_assert_int_le(of_one, 2 * lists[_i].of_one);
    ck_assert_int_le(of_all, 2 * lists[_i].of_all);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_eq(of_one, first_of_one);
    ck_assert_int_eq(of_all, first_of_all);
}

/* ---- garbage ---- */

#define ORPHAN                                                                                     \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"" KIND                             \
          "\",\"metadata\":{\"name\":"                                                             \
          "\"gone-app\",\"namespace\":\"ours\"},\"spec\":{\"vpaObjectName\":\"gone\","             \
          "\"containerName\":\"app\"},\"status\":{\"version\":\"v3\"}}")

static const struct {
    int code; /* of the answer to its deletion; 0: it is deleted */
    size_t told;
} refusals[] = {{0, 0}, {404, 0}, {403, 1}, {500, 1}};
static int refusal;

static bool refuse_delete(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "DELETE") != 0)
        return false;
    hook_calls++;
    if (refusals[refusal].code == 0)
        return false;
    vpa_memory_reply_status(r, refusals[refusal].code, NULL, "no");
    return true;
}

/* Somebody else may have deleted it; all else is told, and tried again in the next round. */
TEST_EACH(refused_deletions_are_told, refusals) {
    refusal = _i;
    change(NAMESPACE("ours"));
    change(ORPHAN);
    start("--checkpoints-gc-interval=30s");
    capture_log(0);
    hook = refuse_delete;
    pass(USAGE("100m", "100Mi"));
    unsigned first = hook_calls;
    ck_assert_uint_ge(first, 1);
    ck_assert_uint_eq(logged("Orphaned VPA checkpoint cleanup - error deleting"),
                      refusals[_i].told);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_eq(hook_calls > first, refusals[_i].code != 0);
    ck_assert_int_eq(sim_cluster_find(server->sim, &arena, "autoscaling.k8s.io/v1", KIND, "ours",
                                      "gone-app") == NULL,
                     refusals[_i].code == 0);
}

static const struct {
    const char *since;
    bool kept;
} copies[] = {{"2026-01-15T11:00:00Z", true}, {"long ago", false}, {"", false}};

/* A copy that was kept aside at a time that nobody can read is of no use. */
TEST_EACH(copies_without_a_time_are_collected, copies) {
    vpa_auto_free char *copy = vpa_xprintf(
        APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"" KIND
              "\",\"metadata\":{\"name\":\"web-app-unreadable\",\"namespace\":\"shop\","
              "\"annotations\":{\"vpa.autoscaling.k8s.io/unreadable-since\":\"%s\"}},\"spec\":{"
              "\"vpaObjectName\":\"web\",\"containerName\":\"app\"},\"status\":{\"version\":"
              "\"v8\"}}"),
        copies[_i].since);

    change(copy);
    start("--checkpoints-gc-interval=30s");
    pass(USAGE("100m", "100Mi"));
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_eq(stored(KIND, "web-app-unreadable") != NULL, copies[_i].kept);
    ck_assert_ptr_nonnull(stored(KIND, "web-app"));
}

int main(void)
{
    return run_tests_within(60, "recommender_collect", setup, teardown);
}
