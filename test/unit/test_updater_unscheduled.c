/* What becomes of trials of the updater (U24) whose replacements no node has taken. */
#include "proof_fixture.h"

#include "captured_log.h"

#define WAITING(KIND, NAME, MORE, CONDITION)                                                       \
    "{\"metadata\":{\"name\":\"p-new\",\"namespace\":\"n\",\"uid\":\"new\",\"ownerReferences\":[{" \
    "\"apiVersion\":\"apps/v1\",\"kind\":\"" KIND "\",\"name\":\"" NAME "\",\"controller\":true}]" \
    "," MORE "},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":"   \
    "\"2\"}}}]},\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"" CONDITION "\","    \
    "\"status\":\"False\",\"message\":\"3 Insufficient cpu.\"}]}}"
#define CREATED(TIME) "\"creationTimestamp\":\"2026-03-01T" TIME "Z\""
#define NEW CREATED("12:00:00")

static const struct {
    const char *pod;
    const char *reason, *seen;
} waiting[] = {
    {WAITING("ReplicaSet", "rs00", NEW, "PodScheduled"), "Unschedulable",
     "pod p-new has the values and no node takes it: 3 Insufficient cpu.; tried"},
    {WAITING("ReplicaSet", "rs00", NEW, "Initialized"), "Unschedulable",
     "pod p-new has the values and no node takes it: ; tried"},
    {WAITING("ReplicaSet", "rs01", NEW, "PodScheduled"), "NoReplacement", "9 of 10"},
    {WAITING("StatefulSet", "rs00", NEW, "PodScheduled"), "NoReplacement", "9 of 10"},
    {WAITING("ReplicaSet", "rs00", CREATED("11:00:00"), "PodScheduled"), "NoReplacement",
     "9 of 10"},
};

/* Only a pod of the same owner that is newer than all that it had. */
TEST_EACH(a_pod_without_a_node_is_the_replacement_of_its_own_kind, waiting) {
    server.lost = true;
    server.unscheduled = waiting[_i].pod;
    learn();
    pass_for(9);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(failed_proofs(waiting[_i].reason), 1);
    ck_assert_ptr_nonnull(strstr(server.conditions, waiting[_i].seen));
}

/* We may not list pods there: what is not seen is not there. */
TEST(a_list_that_is_denied_shows_no_replacement) {
    server.lost = true;
    server.unscheduled = waiting[0].pod;
    server.unscheduled_code = 403;
    learn();
    pass_for(9);
    ck_assert_double_eq(failed_proofs("NoReplacement"), 1);
}

/* However many of a namespace wait: its unscheduled pods are read once in a pass, and each finds
 * its own. */
TEST(a_namespace_is_asked_once_in_a_pass) {
    server.vpas = 20;
    server.pods_per_vpa = 2;
    server.lost = true;
    server.unscheduled = WAITING("ReplicaSet", "rs07", NEW, "PodScheduled");
    learn();
    pass_for(3);
    ck_assert_uint_eq(server.call_count, 20);
    ck_assert_uint_eq(server.unscheduled_lists, 1);
    for (int v = 0; v < server.vpas; v++) {
        vpa_auto_free char *name = vpa_xprintf("v%02d", v);
        const char *const of[] = {v == 7 ? "Unschedulable" : "NoReplacement", name, "n"};

        ck_assert_double_eq(metric("vpa_updater_failed_proofs_total", of), 1);
    }
}

static bool until_three_lists(void *ctx)
{
    const struct server *s = ctx;

    return s->unscheduled_lists < 3;
}

/* What is not found out in this pass is so in another one. */
TEST(lost_leadership_ends_the_lists) {
    server.vpas = 6;
    server.pods_per_vpa = 2;
    server.spread = true;
    server.lost = true;
    server.may_act = until_three_lists;
    learn();
    pass_for(3);
    ck_assert_uint_eq(server.unscheduled_lists, 3);
    server.unscheduled_lists = 0;
    pass_for(1);
    ck_assert_uint_eq(server.unscheduled_lists, 3);
    server.unscheduled_lists = 0;
    pass_for(1);
    ck_assert_uint_eq(server.unscheduled_lists, 0);
}

/* So it is with a custom resource without a scale: nobody says how many pods it is to have. */
TEST(pods_stay_where_nobody_says_how_many) {
    server.selects = true;
    server.owner_version = "x.io/v1";
    server.owner_kind = "Clone";
    server.replicas = 10;
    server.scale_fails = true;
    server.lost = true;
    learn();
    pass_for(24 * 60);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(paused("vpa"), 0);
    pass_for(20); /* it may have fewer pods now */
    ck_assert_uint_eq(server.call_count, 2);
}

static void show_parallelism(int pods)
{
    vpa_auto_free char *job = vpa_xprintf(
        "{\"metadata\":{\"name\":\"rs00\",\"namespace\":\"n\"},\"spec\":{\"parallelism\":%d}}",
        pods);

    show_object("batch/v1", "Job", job);
    settle();
}

/* Ten pods of a Job go one after the other, if they may. */
static void begin_job(void)
{
    server.selects = true;
    server.owner_version = "batch/v1";
    server.owner_kind = "Job";
    server.lost = true;
    learn();
    show_parallelism(10);
}

/* A Job that is suspended, has its last pods, or waits before it tries again, makes no further one:
 * its parallelism is a limit, no number that it is to have. So nothing has failed. Where a quota
 * refuses its pods, the others stay. What waits for a node is seen. */
TEST_TIMES(a_job_need_not_replace_its_pods, 2) {
    capture_log(0);
    server.unscheduled = _i ? WAITING("Job", "rs00", NEW, "PodScheduled") : NULL;
    begin_job();
    pass_for(9);
    ck_assert_double_eq(failed_proofs("NoReplacement"), 0);
    ck_assert_double_eq(failed_proofs("Unschedulable"), _i);
    ck_assert_double_eq(paused("vpa"), _i);
    if (_i)
        return;
    pass_for(31);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(paused("vpa"), 0);
    ck_assert_uint_eq(logged("the others of its owner are left alone"), 1);
    ck_assert_uint_ge(server.unscheduled_lists, 2);
    ck_assert_uint_le(server.unscheduled_lists, 5); /* every ten minutes */
}

/* The quota was raised, the Job is to have fewer pods, or it has none any more. */
TEST_TIMES(what_is_left_of_a_job_waits_so_long, 3) {
    size_t lists;

    begin_job();
    pass_for(20);
    ck_assert_uint_eq(server.call_count, 1);
    server.lost = false;
    if (_i == 0) {
        server.reborn = "2";
        show_pod(0, 0);
        settle();
    } else if (_i == 1) {
        show_parallelism(9);
    } else {
        for (int p = 1; p < 10; p++) {
            vpa_auto_free char *name = vpa_xprintf("p00-%02d", p);

            hide_object("v1", "Pod", "n", name);
        }
        settle();
    }
    pass_for(11);
    lists = server.unscheduled_lists;
    for (int p = 0; _i == 2 && p < 10; p++)
        show_pod(0, p);
    settle();
    pass_for(2);
    ck_assert_uint_gt(server.call_count, 1);
    ck_assert_uint_eq(server.unscheduled_lists, lists);
}

#define PAUSED "[{\"type\":\"EvictionsPaused\",\"status\":\"True\",\"reason\":\"NotPatched\"}]"
#define OTHER                                                                                      \
    "{\"metadata\":{\"name\":\"z00-00\",\"namespace\":\"n\",\"uid\":\"z\",\"creationTimestamp\":"  \
    "\"2026-03-01T11:00:00Z\",\"labels\":{\"app\":\"a0\"},\"ownerReferences\":[{\"apiVersion\":"   \
    "\"batch/v1\",\"kind\":\"Job\",\"name\":\"other\",\"controller\":true}]},\"spec\":{"           \
    "\"nodeName\":\"node\",\"restartPolicy\":\"Always\",\"containers\":[{\"name\":\"c\","          \
    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\","           \
    "\"startTime\":\"2026-03-01T11:00:00Z\",\"conditions\":[{\"type\":\"Ready\",\"status\":"       \
    "\"True\",\"lastTransitionTime\":\"2026-03-01T11:00:00Z\"}]}}"

/* Also where the one pod of an open breaker was the Job's: others are tried. */
TEST(a_job_that_waits_holds_nobody_up) {
    server.conditions = vpa_xstrdup(PAUSED);
    server.config.min_replicas = 1;
    begin_job();
    show_object("v1", "Pod", OTHER);
    settle();
    pass_for(30);
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_str_eq(server.calls[0], "p00-00/eviction");
    ck_assert_str_eq(server.calls[1], "z00-00/eviction");
}

int main(void)
{
    return run_tests_within(60, "updater_unscheduled", setup, teardown);
}
