/*
 * What becomes of single trials of the updater (U24): which pod is the replacement, when nothing
 * came of one, and what is remembered of VPAs meanwhile.
 */
#include "proof_fixture.h"

#include "captured_log.h"

/* ---- refusals ---- */

#define FORBIDDEN                                                                                  \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"message\":\"no\","     \
    "\"code\":403}"

/* Nothing has happened that could be looked at: the next pod is tried. */
TEST_TIMES(a_refused_change_is_no_trial, 2) {
    static const char *const modes[] = {"InPlace", "Recreate"};

    server.mode = modes[_i];
    server.resize_refusal = server.eviction_refusal = FORBIDDEN;
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 10);
}

/* Of several that are under way the first is looked at, whatever becomes of the others. */
/* It may be refused in every pass: the others of the VPA are not behind it for ever. */
TEST(a_group_that_is_refused_lets_the_next_be_tried) {
    server.vpas = 2;
    server.pods_per_vpa = 2;
    server.selects = true;
    server.refused = "p00";
    learn();
    hide_vpa("v01");
    for (int p = 0; p < 2; p++) { /* the first VPA has them, too */
        vpa_auto_free char *pod = pod_text(1, p);

        memcpy(strstr(pod, "\"app\":\"a1\""), "\"app\":\"a0\"", strlen("\"app\":\"a0\""));
        show_object("v1", "Pod", pod);
    }
    settle();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 3);
    ck_assert_str_eq(server.calls[2], "p01-00/eviction");
}

TEST(a_refusal_of_another_pod_ends_no_trial) {
    server.reborn = "2";
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    server.reborn = NULL;
    server.refuse = 3; /* the second one of the next pass */
    for (int p = 1; p < server.pods_per_vpa; p++)
        *generation_of(0, p) = 5; /* what takes their place is newer than all that were there */
    updater_pass(server.updater);
    size_t calls = server.call_count;
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, calls);
    ck_assert_double_eq(failed_proofs("NotPatched"), 1);
    ck_assert_double_eq(paused("vpa"), 1);
}

/* ---- containers that the webhook leaves alone ---- */

#define C_IS_OFF                                                                                   \
    "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"c\",\"mode\":\"Off\"}]},"

static size_t evictions(void)
{
    size_t count = 0;

    for (size_t i = 0; i < server.call_count; i++)
        count += strstr(server.calls[i], "/eviction") != NULL;
    return count;
}

/* Each pod has another container beside it, which is recommended something as well. */
static void show_side(void)
{
    vpa_auto_free char *text = vpa_text(0);
    char *at = strstr(text, "{\"containerName\":\"c\",\"target\"");
    vpa_auto_free char *both =
        vpa_xprintf("%.*s{\"containerName\":\"side\",\"target\":{\"cpu\":\"2\"},"
                    "\"lowerBound\":{\"cpu\":\"1500m\"}},%s",
                    (int)(at - text), text, at);

    show_object(VPA_API, VPA_KIND, both);
    settle();
}

/* A resize would have changed it; the replacement of a pod that is evicted has it as it was. */
TEST(a_replacement_need_not_have_what_the_webhook_leaves_alone) {
    server.mode = "InPlaceOrRecreate";
    server.resize_refusal = FORBIDDEN;
    server.boost = C_IS_OFF;
    server.container =
        "\"resources\":{\"requests\":{\"cpu\":\"1\"}}},{\"name\":\"side\",\"image\":\"side\",";
    server.reborn = "2";
    learn();
    show_side();
    pass_for(4);
    ck_assert_str_eq(condition(), "");
    ck_assert_uint_eq(evictions(), (size_t)server.pods_per_vpa);
}

/* Nor is a pod evicted for it. */
TEST(no_pod_is_evicted_for_what_the_webhook_leaves_alone) {
    server.mode = "InPlaceOrRecreate";
    server.resize_refusal = FORBIDDEN;
    server.boost = C_IS_OFF;
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, (size_t)server.pods_per_vpa);
    ck_assert_uint_eq(evictions(), 0);
}

/* ---- pods that do not go ---- */

/* It looks as if nobody had asked: for two minutes that is waited for, and then another is tried.
 */
TEST(an_eviction_of_which_nothing_is_seen_is_dropped) {
    server.stuck = true;
    server.delay = 0;
    learn();
    pass_for(3);
    ck_assert_uint_eq(server.call_count, 1);
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_double_eq(paused("vpa"), 0);
}

/* So it is with a resize. */
TEST(a_resize_of_which_nothing_is_seen_is_waited_for_as_long) {
    server.mode = "InPlace";
    server.delay = 0;
    learn();
    pass_for(3);
    ck_assert_uint_eq(server.call_count, 1);
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 2);
}

/* From when its predecessor was seen to be gone, two minutes here, whoever owns it. */
static const struct {
    const char *version, *kind;
} owners[] = {{"apps/v1", "ReplicaSet"}, {"x.io/v1", "Clone"}};

TEST_EACH(a_replacement_has_its_time_to_come, owners) {
    server.owner_version = owners[_i].version;
    server.owner_kind = owners[_i].kind;
    server.replicas = 10;
    server.lost = true;
    server.delay = 0;
    server.config.proof_patience = 2 * VPA_MINUTE;
    learn();
    pass_for(3);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(failed_proofs("NoReplacement"), 0);
    pass_for(1);
    ck_assert_double_eq(failed_proofs("NoReplacement"), 1);
    ck_assert_uint_eq(server.call_count, 1);
}

/* A DaemonSet counts those that are ready, which the pod that is missing is not: what counts is how
 * many it is to have. */
static void show_daemon_set(int ready, int desired)
{
    vpa_auto_free char *text =
        vpa_xprintf("{\"metadata\":{\"name\":\"rs00\",\"namespace\":\"n\"},\"spec\":{\"selector\":{"
                    "\"matchLabels\":{\"app\":\"a0\"}}},\"status\":{\"numberReady\":%d,"
                    "\"desiredNumberScheduled\":%d}}",
                    ready, desired);

    show_object("apps/v1", "DaemonSet", text);
    settle();
}

TEST_TIMES(a_daemon_set_is_not_taken_down_pod_by_pod, 2) {
    server.owner_kind = "DaemonSet";
    server.lost = true;
    learn();
    show_daemon_set(10, 10);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    show_daemon_set(9, 10 - _i); /* or a node has gone */
    pass_for(3);
    ck_assert_double_eq(failed_proofs("NoReplacement"), _i == 0);
    ck_assert_uint_eq(server.call_count, (size_t)_i + 1);
}

/* Others may take hours to end. */
TEST(an_eviction_that_is_under_way_is_waited_for) {
    server.stuck = true;
    learn();
    updater_pass(server.updater);
    server.first_pod = "\"deletionTimestamp\":\"2026-03-01T12:00:00Z\",";
    show_pod(0, 0);
    pass_for(30);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(paused("vpa"), 0);
}

/* The pod that was resized is another one by now. */
TEST(a_resized_pod_that_went_ends_its_trial) {
    server.mode = "InPlace";
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    replace_pod("p00-00");
    settle();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
}

/* ---- both ways ---- */

static void refuse_first_resize(void)
{
    vpa_auto_free char *text = pod_text(0, 0);
    const char *end = strstr(text, "\"conditions\":[") + strlen("\"conditions\":[");
    vpa_auto_free char *pod =
        vpa_xprintf("%.*s{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":"
                    "\"Infeasible\"},%s",
                    (int)(end - text), text, end);

    show_object("v1", "Pod", pod);
    settle();
}

/* The node cannot hold the pod, which is evicted instead: where that helps, resizes are tried
 * again; where nothing comes in its place, that is a failure of its own. */
TEST_TIMES(an_eviction_instead_of_a_resize, 2) {
    server.mode = "InPlaceOrRecreate";
    server.reborn = "2";
    server.lost = _i;
    learn();
    updater_pass(server.updater);
    refuse_first_resize();
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
    ck_assert_str_eq(server.calls[1], "p00-00/eviction");
    ck_assert_double_eq(failed_proofs("NotResized"), 1);
    ck_assert_double_eq(paused("vpa"), 1);
    ck_assert_ptr_nonnull(strstr(server.conditions, "the resize of pod p00-00 is Infeasible; "));
    pass_for(4);
    ck_assert_double_eq(failed_proofs("NoReplacement"), _i);
    ck_assert_double_eq(paused("vpa"), _i ? 2 : 0);
    if (_i == 0)
        ck_assert_str_eq(server.calls[2], "p00-01/resize");
    else
        ck_assert_uint_eq(server.call_count, 2);
}

/* ---- replacements ---- */

/* Pods of nobody are in the same list. */
static void show_stray(void)
{
    show_object("v1", "Pod",
                "{\"metadata\":{\"name\":\"stray\",\"namespace\":\"n\",\"uid\":\"stray\","
                "\"creationTimestamp\":\"2026-03-01T12:00:00Z\"},\"spec\":{\"nodeName\":\"node\","
                "\"containers\":[{\"name\":\"c\"}]},\"status\":{\"phase\":\"Running\"}}");
}

/* A pod that came later than the replacement is looked at, and one that came before is not. */
TEST(the_newest_pod_is_the_replacement) {
    learn();
    updater_pass(server.updater);
    *generation_of(0, 5) = 3; /* dated behind the one that took its place */
    server.reborn = "2";
    hide_object("v1", "Pod", "n", "p00-05");
    show_pod(0, 5);
    show_stray();
    settle();
    updater_pass(server.updater);
    ck_assert_double_eq(failed_proofs("NotPatched"), 0);
    ck_assert_uint_gt(server.call_count, 1);
}

/* ---- what is remembered of VPAs ---- */

static const char *const hashes[] = {"pod-template-hash", "controller-revision-hash"};

static void show_pod_of_template(int p, int template)
{
    vpa_auto_free char *labels = vpa_xprintf(",\"pod-template-hash\":\"%d\"", template);

    server.labels = labels;
    show_pod(0, p);
    server.labels = "";
}

/* As controllers of either kind name it. */
TEST_EACH(a_template_is_known_by_its_hash, hashes) {
    vpa_auto_free char *one = vpa_xprintf(",\"%s\":\"1\"", hashes[_i]);
    vpa_auto_free char *two = vpa_xprintf(",\"%s\":\"2\"", hashes[_i]);

    server.labels = one;
    learn();
    pass_for(4);
    ck_assert_uint_eq(server.call_count, 1);
    server.labels = two;
    replace_pod("p00-03");
    pass_for(2);
    ck_assert_uint_eq(server.call_count, 2);
}

/* Where nothing says what pods are made of, the name of their owner does only where a rollout makes
 * another one: each run of a CronJob is a Job of its own. */
static const struct {
    const char *version, *kind;
    bool is_news;
} runs[] = {{"batch/v1", "Job", false},
            {"x.io/v1", "Clone", false},
            {"apps/v1", "ReplicaSet", true},
            {"v1", "ReplicationController", true}};

static void show_pod_of_run(int p, const char *run)
{
    vpa_auto_free char *text = pod_text(0, p);
    char *at = strstr(text, "\"name\":\"rs00\"");

    ck_assert_ptr_nonnull(at);
    memcpy(at + strlen("\"name\":\""), run, strlen(run));
    show_object("v1", "Pod", text);
}

static void hide_pods(void)
{
    for (int p = 0; p < server.pods_per_vpa; p++) {
        vpa_auto_free char *name = vpa_xprintf("p00-%02d", p);

        hide_object("v1", "Pod", "n", name);
    }
    settle();
}

static void pause_runs(int i)
{
    server.selects = true;
    server.owner_version = runs[i].version;
    server.owner_kind = runs[i].kind;
    server.replicas = server.pods_per_vpa;
    learn();
    show_object(runs[i].version, runs[i].kind,
                "{\"metadata\":{\"name\":\"rs00\",\"namespace\":\"n\"},\"spec\":{\"replicas\":10,"
                "\"parallelism\":10}}");
    settle();
    pass_for(4);
    ck_assert_double_eq(paused("vpa"), 1);
    ck_assert_uint_eq(server.call_count, 1);
}

static void show_run(const char *run)
{
    for (int p = 0; p < server.pods_per_vpa; p++)
        show_pod_of_run(p, run);
    settle();
}

TEST_EACH(another_run_is_no_other_template, runs) {
    pause_runs(_i);
    show_run("rs01");
    updater_pass(server.updater);
    ck_assert_double_eq(paused("vpa"), !runs[_i].is_news);
}

/* Between two runs there are no pods. A process that begins then does not know what they were made
 * of, and takes those that come first for what was there. */
TEST_EACH(a_restart_between_runs_closes_no_breaker, runs) {
    pause_runs(_i);
    restart();
    hide_pods(); /* before its first pass */
    pass_for(1);
    ck_assert_double_eq(paused("vpa"), 1);
    show_run("rs01");
    updater_pass(server.updater);
    ck_assert_double_eq(paused("vpa"), 1);
    updater_pass(server.updater);
    ck_assert_double_eq(paused("vpa"), 1);
    ck_assert_uint_eq(server.call_count, 1);
    show_run("rs02");
    updater_pass(server.updater);
    ck_assert_double_eq(paused("vpa"), !runs[_i].is_news);
}

/* The only pod was lost: what it was made of is known all the same. */
TEST_RANGE(a_template_is_mended_while_no_pod_is_there, 1, 3) {
    server.pods_per_vpa = 1;
    server.config.min_replicas = 1;
    server.labels = ",\"pod-template-hash\":\"1\"";
    server.lost = true;
    learn();
    pass_for(4);
    ck_assert_double_eq(failed_proofs("NoReplacement"), 1);
    ck_assert_double_eq(paused("vpa"), 1);
    show_pod_of_template(0, _i);
    settle();
    updater_pass(server.updater);
    ck_assert_double_eq(paused("vpa"), _i == 1);
}

/* What its pods are like now, whatever they were like when it failed before. */
TEST(an_older_template_is_another_one) {
    learn();
    pass_for(4);
    ck_assert_uint_eq(server.call_count, 1);
    for (int p = 0; p < server.pods_per_vpa; p++)
        show_pod_of_template(p, 2);
    server.labels = ",\"pod-template-hash\":\"2\"";
    settle();
    pass_for(4);
    ck_assert_uint_eq(server.call_count, 2);
    show_pod(0, 3);
    pass_for(2);
    ck_assert_uint_eq(server.call_count, 2);
    server.labels = "";
    show_pod(0, 3);
    pass_for(2);
    ck_assert_uint_eq(server.call_count, 3);
}

/* Whoever changes a VPA is believed once. */
TEST(a_vpa_that_was_changed_is_tried_once) {
    capture_log(0);
    learn();
    pass_for(4);
    ck_assert_uint_eq(server.call_count, 1);
    server.generation_of_vpas++;
    show_vpas();
    settle();
    pass_for(9);
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_double_eq(paused("vpa"), 1);
    ck_assert_uint_eq(logged("Updates of this VPA go on"), 1);
    ck_assert_uint_eq(logged("The webhook was away"), 0);
}

/* Also while the outcome is awaited. */
TEST(a_vpa_that_was_changed_is_tried_with_one_pod) {
    learn();
    pass_for(4);
    server.lost = true;
    server.generation_of_vpas++;
    show_vpas();
    settle();
    pass_for(3);
    ck_assert_uint_eq(server.call_count, 2);
}

/* VPAs before it in the order take no part in the pass. */
TEST(pods_are_those_of_their_own_vpa) {
    server.vpas = 3;
    server.labels = ",\"pod-template-hash\":\"1\"";
    learn();
    server.mode = "Off";
    server.vpas = 2;
    show_vpas();
    server.vpas = 3;
    server.mode = "Recreate";
    settle();
    pass_for(4);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_str_eq(server.calls[0], "p02-00/eviction");
    server.labels = ",\"pod-template-hash\":\"2\"";
    replace_pod("p00-03");
    replace_pod("p01-03");
    pass_for(2);
    ck_assert_uint_eq(server.call_count, 1);
    replace_pod("p02-03");
    pass_for(2);
    ck_assert_uint_eq(server.call_count, 2);
}

/* One that was there when it failed, and comes back, is no other. */
TEST(a_template_that_comes_back_is_no_news) {
    learn();
    for (int p = 0; p < server.pods_per_vpa; p++)
        show_pod_of_template(p, p == 9);
    settle();
    server.labels = ",\"pod-template-hash\":\"0\"";
    pass_for(3);
    ck_assert_uint_eq(server.call_count, 1);
    for (int i = 0; i < 2; i++) {
        show_pod_of_template(9, 0);
        pass_for(1);
        show_pod_of_template(9, 1);
        pass_for(1);
    }
    ck_assert_uint_eq(server.call_count, 1);
}

/* Eight templates at once are remembered; of more it is not known which of them is new. */
static const struct {
    int templates; /* 0: one of the first pod alone, and one */
    size_t calls;
} counts[] = {{0, 2}, {7, 2}, {8, 1}, {10, 1}};

TEST_EACH(so_many_templates_are_known, counts) {
    learn();
    for (int p = 0; p < server.pods_per_vpa; p++)
        show_pod_of_template(p, counts[_i].templates ? p % counts[_i].templates : p > 0);
    settle();
    updater_pass(server.updater);
    show_pod_of_template(0, 0);
    settle();
    pass_for(3);
    ck_assert_uint_eq(server.call_count, 1);
    show_pod_of_template(9, 99);
    pass_for(2);
    ck_assert_uint_eq(server.call_count, counts[_i].calls);
}

/* A VPA that is gone takes its pause along: whoever makes another one of its name begins anew. */
TEST(a_pause_goes_with_its_vpa) {
    learn();
    pass_for(3);
    ck_assert_double_eq(paused("vpa"), 1);
    hide_vpa("v00");
    settle();
    pass_for(1);
    ck_assert_double_eq(paused("vpa"), 0);
    free(server.conditions);
    server.conditions = NULL;
    show_vpas();
    settle();
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 2);
}

/* One that was taken from a backup says itself that it is paused. */
TEST(a_vpa_that_came_back_is_paused_as_it_says) {
    learn();
    pass_for(3);
    hide_vpa("v00");
    settle();
    pass_for(1);
    ck_assert_double_eq(paused("vpa"), 0);
    show_vpas();
    settle();
    pass_for(2);
    ck_assert_double_eq(paused("vpa"), 1);
    ck_assert_uint_eq(server.call_count, 1);
}

/* ---- a webhook that was away ---- */

static void show_unready(const char *name)
{
    static const char ready[] = "\"type\":\"Ready\",\"status\":\"True\"";
    vpa_auto_free char *pod = pod_text(atoi(name + 1), atoi(name + 4)); /* pVV-PP */
    char *at = strstr(pod, ready);

    ck_assert_ptr_nonnull(at);
    memcpy(at + sizeof(ready) - sizeof("True\""), "None", strlen("None"));
    show_object("v1", "Pod", pod);
    settle();
}

/* One pod is to show that it patches again. It has the values, and takes its time to get ready:
 * nobody waits for that. */
TEST(values_show_that_the_webhook_is_back) {
    server.config.use_admission_status = true;
    server.vpas = 3;
    server.acquired = ",\"acquireTime\":\"2026-03-01T12:00:00.000000Z\"";
    server.renewed = "2026-03-01T13:00:00.000000Z";
    learn();
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 3);
    server.acquired = ",\"acquireTime\":\"2026-03-01T13:00:30.000000Z\"";
    server.renewed = "2026-03-01T13:01:00.000000Z";
    server.reborn = "2";
    server.lost = true;
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 4);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 4);
    show_unready(server.calls[3]); /* it came late */
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 6);
}

/* ---- dry runs ---- */

/* Nobody can say what would become of a replacement: that is looked at behind the eviction, and
 * said once for all. */
static const struct {
    const char *answer, *refusal;
    int pod_code, review_code;
    size_t dry_runs;
} undecided[] = {
    {.pod_code = 500},
    {.pod_code = 404},
    {.answer = "[]", .dry_runs = 2},
    {.answer = "{", .dry_runs = 2},
    {.refusal = "exceeded quota", .review_code = 500, .dry_runs = 2},
    {.refusal = "exceeded quota", .review_code = 403, .dry_runs = 2},
};

TEST_EACH(what_cannot_be_tried_is_looked_at_afterwards, undecided) {
    capture_log(0);
    server.config.prove_evictions = "dry-run";
    server.vpas = 2;
    server.pods_per_vpa = 2;
    server.reborn = "2";
    server.dry_answer = undecided[_i].answer;
    server.dry_refusal = undecided[_i].refusal;
    server.pod_code = undecided[_i].pod_code;
    server.review_code = undecided[_i].review_code;
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_uint_eq(server.dry_runs, undecided[_i].dry_runs);
    ck_assert_uint_eq(logged("Replacements cannot be tried before evictions"), 1);
    ck_assert_double_eq(paused("vpa"), 0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 4);
    ck_assert_double_eq(paused("vpa"), 0);
}

/* ---- larger pauses ---- */

/* Three namespaces in a row stopped the cluster; the one pod that is tried then lets all go on. */
TEST(one_that_helps_opens_the_cluster_again) {
    capture_log(0);
    server.vpas = 3;
    server.spread = true;
    learn();
    pass_for(3);
    ck_assert_double_eq(paused("cluster"), 1);
    ck_assert_uint_eq(server.call_count, 3);
    server.reborn = "2";
    pass_for(30);
    ck_assert_double_eq(paused("cluster"), 0);
    ck_assert_double_eq(paused("vpa"), 0);
    ck_assert_uint_eq(logged("An eviction has helped: evictions go on in the whole cluster"), 1);
    ck_assert_uint_gt(server.call_count, 3 + 3);
}

int main(void)
{
    return run_tests("updater_trials", setup, teardown);
}
