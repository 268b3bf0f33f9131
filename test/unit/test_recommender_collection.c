/* Checkpoints that nobody needs any more, and those that only look so. */
#include "recommender_fixture.h"
#include "captured_log.h"

#define ORPHAN(ns)                                                                                 \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"                                                  \
          "v1\",\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"gone-app\"," \
          "\"namespace\":"                                                                         \
          "\"" ns "\"},\"spec\":{\"vpaObjectName\":\"gone\",\"containerName\":\"app\"},"           \
          "\"status\":{\"version\":\"v3\"}}")
#define NAMESPACE(name)                                                                            \
    APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" name "\"}}")

/* In a namespace that is another's business nothing is an orphan: its VPAs are not known here. */
TEST(collects_nothing_in_ignored_namespaces) {
    change(NAMESPACE("ours"));
    change(NAMESPACE("theirs"));
    change(ORPHAN("ours"));
    change(ORPHAN("theirs"));
    start("--ignored-vpa-object-namespaces=theirs");
    for (int i = 0; i < 25; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_null(sim_cluster_find(server->sim, &arena, "autoscaling.k8s.io/v1",
                                        "VerticalPodAutoscalerCheckpoint", "ours", "gone-app"));
    ck_assert_ptr_nonnull(sim_cluster_find(server->sim, &arena, "autoscaling.k8s.io/v1",
                                           "VerticalPodAutoscalerCheckpoint", "theirs",
                                           "gone-app"));
}

static bool refuse_vpas(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!vpa_str_ends_with(q->path, "/namespaces/ours/verticalpodautoscalers"))
        return false;
    hook_calls++;
    vpa_memory_reply_status(r, 403, NULL, "forbidden: no right");
    return true;
}

/* The cache alone is no reason to delete what cannot be had again. */
TEST(deletes_nothing_when_vpas_cannot_be_asked_for) {
    change(NAMESPACE("ours"));
    change(ORPHAN("ours"));
    start("--checkpoints-gc-interval=90s");
    capture_log(0);
    hook = refuse_vpas;
    for (int i = 0; i < 4; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(hook_calls, 2);
    ck_assert_uint_eq(logged("cannot list VPAs, nothing is deleted"), 2);
    ck_assert_uint_eq(logged("first=\"ours/verticalpodautoscalers\""), 2);
    ck_assert_ptr_nonnull(sim_cluster_find(server->sim, &arena, "autoscaling.k8s.io/v1",
                                           "VerticalPodAutoscalerCheckpoint", "ours", "gone-app"));
    hook = NULL;
    for (int i = 0; i < 2; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_null(sim_cluster_find(server->sim, &arena, "autoscaling.k8s.io/v1",
                                        "VerticalPodAutoscalerCheckpoint", "ours", "gone-app"));
}

#define ORPHAN_OF(vpa)                                                                             \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\","                                             \
          "\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"" vpa             \
          "-app\",\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"" vpa                      \
          "\",\"containerName\":\"app\"},\"status\":{\"version\":\"v3\"}}")

static bool bring_back(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)r;
    if (strcmp(q->method, "DELETE") == 0 && vpa_str_ends_with(q->path, "/gone-app"))
        change(VPA("late", "2026-03-01T12:10:00Z"));
    hook_calls += strcmp(q->method, "DELETE") == 0 && vpa_str_ends_with(q->path, "/late-app");
    return false;
}

/* Deleting a namespace full of them takes a while, and somebody makes a VPA anew meanwhile. */
TEST(a_vpa_that_comes_back_keeps_its_checkpoints) {
    change(NAMESPACE("shop"));
    change(ORPHAN("shop"));
    change(ORPHAN_OF("late"));
    change(ORPHAN_OF("never"));
    start("--checkpoints-gc-interval=90s");
    hook = bring_back;
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "gone-app"));
    ck_assert_uint_eq(hook_calls, 0); /* not even to be written anew */
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "never-app"));
}

/* For as long as a history is of use; one of more than 292 years is of use for ever. */
TEST_TIMES(collects_old_copies, 2) {
    bool endless = _i == 1;

    change(APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"
                 "v1\",\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":"
                 "{\"name\":\"web-app-unreadable\",\"namespace\":\"shop\",\"annotations\":{"
                 "\"vpa.autoscaling.k8s.io/"
                 "unreadable-since\":\"2026-01-07T11:00:00Z\"}},\"spec\":{\"vpaObjectName\":"
                 "\"web\",\"containerName\":\"app\"},\"status\":{\"version\":\"v8\"}}"));
    start("--checkpoints-gc-interval=90s");
    if (endless)
        config.memory_interval_count = INT64_MAX;
    pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app-unreadable"));
    pass(USAGE("100m", "100Mi"));
    ck_assert((stored("VerticalPodAutoscalerCheckpoint", "web-app-unreadable") != NULL) == endless);
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
}

/* The VPA with a spec that nobody can read. */
#define UNREADABLE_VPA                                                                             \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"                                                  \
          "v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":\"web\",\"namespace\":"  \
          "\"shop\",\"creationTimestamp\":\"2026-01-15T10:00:00Z\"},\"spec\":{\"targetRef\":"      \
          "\"web\"}}")

/* A collection of a moment when the clock was fast delays none. */
TEST(collects_after_the_clock_was_set_back) {
    start(NULL);
    vpa_clock_set(virtual_clock, 365 * 24 * VPA_HOUR);
    pass("{\"usage\":[]}");
    vpa_clock_set(virtual_clock, -365 * 24 * VPA_HOUR);
    change(UNREADABLE_CHECKPOINT);
    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
           "\"VerticalPodAutoscaler\",\"namespace\":\"shop\",\"name\":\"web\"}}");
    pass("{\"usage\":[]}");
    ck_assert_uint_eq(count_writes("DELETE", "/web-app"), 1);
}

TEST_TIMES(keeps_checkpoints_of_a_vpa_that_cannot_be_read, 2) {
    bool restarted = _i == 1;

    start("--checkpoints-gc-interval=90s");
    pass(USAGE("100m", "100Mi"));
    change(UNREADABLE_VPA);
    if (restarted) {
        stop();
        start("--checkpoints-gc-interval=90s");
    }
    for (int i = 0; i < 5; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
           "\"VerticalPodAutoscaler\",\"namespace\":\"shop\",\"name\":\"web\"}}");
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
}

static size_t orphans_left(const char *ns, int count)
{
    size_t left = 0;

    for (int i = 0; i < count; i++)
        left += sim_cluster_find(server->sim, &arena, "autoscaling.k8s.io/v1",
                                 "VerticalPodAutoscalerCheckpoint", ns,
                                 vpa_arena_printf(&arena, "gone-%d", i)) != NULL;
    return left;
}

static void put_orphans(const char *ns, int count)
{
    static const char form[] = APPLY(
        "{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
        "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"gone-%d\","
        "\"namespace\":\"%s\"},\"spec\":{\"vpaObjectName\":\"gone\",\"containerName\":\"c%d\"},"
        "\"status\":{\"version\":\"v3\"}}");

    for (int i = 0; i < count; i++)
        change(vpa_arena_printf(&arena, form, i, ns, i));
}

#define SLOW_DELETES                                                                               \
    "{\"latency\":[{\"method\":\"DELETE\",\"path\":\"checkpoints/gone\",\"ms\":10000}]}"

/* A namespace whose orphans take many rounds has every second one to itself, not all. */
TEST(a_namespace_full_of_orphans_keeps_none_waiting) {
    change(NAMESPACE("aaa"));
    change(NAMESPACE("bbb"));
    change(NAMESPACE("zzz"));
    start("--checkpoints-gc-interval=30s");
    put_orphans("aaa", 30);
    put_orphans("bbb", 2);
    put_orphans("zzz", 2);
    for (int i = 0; i < 3 && orphans_left("aaa", 30) == 30; i++)
        pass(SLOW_DELETES);
    size_t left = orphans_left("aaa", 30);
    ck_assert_uint_gt(left, 15);
    ck_assert_uint_lt(left, 30);
    ck_assert_uint_eq(orphans_left("bbb", 2) + orphans_left("zzz", 2), 4);
    pass(SLOW_DELETES);
    ck_assert_uint_eq(orphans_left("bbb", 2) + orphans_left("zzz", 2), 0);
    ck_assert_uint_gt(orphans_left("aaa", 30), 0);
    for (int i = 0; i < 6; i++) /* and has its turn again */
        pass(SLOW_DELETES);
    ck_assert_uint_eq(orphans_left("aaa", 30), 0);
}

/* Reading all checkpoints of a large cluster may take longer than a round of deleting. */
TEST(a_slow_list_leaves_time_to_delete) {
    change(NAMESPACE("aaa"));
    start("--checkpoints-gc-interval=30s");
    put_orphans("aaa", 3);
    for (int i = 0; i < 2; i++)
        pass("{\"latency\":[{\"method\":\"GET\",\"path\":\"verticalpodautoscalercheckpoints\","
             "\"ms\":70000}]}");
    ck_assert_uint_eq(orphans_left("aaa", 3), 0);
}

#define OF_WEB(annotations, status)                                                                \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"                                    \
          "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"web-old\",\"namespace\":"  \
          "\"shop\",\"creationTimestamp\":\"2026-01-01T10:00:00Z\"" annotations "},\"spec\":{"     \
          "\"vpaObjectName\":\"web\",\"containerName\":\"old\"}" status "}")

static const struct {
    const char *object;
    bool kept;
} undated[] = {
    {OF_WEB("", ""), false}, /* as a backup leaves it */
    {OF_WEB("", ",\"status\":{\"lastUpdateTime\":\"2026-01-15T10:00:00Z\"}"), true},
    {OF_WEB("", ",\"status\":{\"version\":\"v3\",\"lastUpdateTime\":\"2026-01-02T10:00:00Z\","
                "\"lastSampleStart\":\"2126-01-15T10:00:00Z\"}"),
     false},
    {OF_WEB("", ",\"status\":{\"version\":\"v9\"}"), true}, /* nobody knows its times */
    {OF_WEB(",\"annotations\":{\"vpa.autoscaling.k8s.io/unreadable-since\":"
            "\"2126-01-01T10:00:00Z\"}",
            ",\"status\":{\"version\":\"v9\"}"),
     false},
};

/* A time that lies ahead says nothing, and an object that says none is as old as it is. */
TEST_EACH(no_checkpoint_is_kept_for_ever, undated) {
    change(undated[_i].object);
    start("--checkpoints-gc-interval=30s");
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_int_eq(stored("VerticalPodAutoscalerCheckpoint", "web-old") != NULL,
                     undated[_i].kept);
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
}

int main(void)
{
    return run_tests_within(60, "recommender_collection", setup, teardown);
}
