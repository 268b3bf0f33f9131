/*
 * The history that a restarted recommender finds: whose it is (U25), how it ages, and when it goes.
 */
#include "restart_fixture.h"

/* ---- whose history it is (U25) ---- */

#define DEPLOYMENT(name)                                                                           \
    APPLY("{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"" name     \
          "\",\"namespace\":\"shop\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"" name    \
          "\"}}}}")
#define VPA_OF(target, spec)                                                                       \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","          \
          "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"creationTimestamp\":"           \
          "\"2026-01-15T10:00:00Z\"},\"spec\":{" spec                                              \
          "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"" target   \
          "\"}}}")
#define OF_OTHERS "\"recommenders\":[{\"name\":\"other\"}],"
#define NOT_DECODABLE                                                                              \
    "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\",\"minAllowed\":{\"cpu\":" \
    "\"1e1.5\"}}]},"
#define DELETE(version, kind, name)                                                                \
    "{\"delete\":{\"apiVersion\":\"" version "\",\"kind\":\"" kind                                 \
    "\",\"namespace\":\"shop\",\"name\":\"" name "\"}}"

#define TWO_CORES 49
/* Until a minute before the start, or of when `last` says. */
static void put_history(const char *annotations, const char *last)
{
    put_checkpoint_named("web-app", annotations, last, TWO_CORES);
}
#define UNTIL_NOW "2026-01-15T11:59:00Z"

static int64_t stored_samples(void)
{
    int64_t count = 0;

    vpa_json_int64(vpa_json_at(stored("VerticalPodAutoscalerCheckpoint", "web-app"),
                               "status.totalSamplesCount"),
                   &count);
    return count;
}

START_TEST(history_goes_when_the_vpa_names_another_target)
{
    static const char *const changed[] = {VPA_OF("db", ""), VPA_OF("nobody", "")};

    put_history("", UNTIL_NOW);
    change(DEPLOYMENT("db"));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
    change(changed[_i]);
    if (_i == 0)
        change(
            APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"db-1\","
                  "\"namespace\":\"shop\",\"labels\":{\"app\":\"db\"}},\"spec\":{\"containers\":[{"
                  "\"name\":\"app\"}]},\"status\":{\"phase\":\"Running\"}}"));
    pass(USAGE("100m", "100Mi"));
    ck_assert_str_eq(annotation(VPA_HISTORY_TARGET_ANNOTATION),
                     _i == 0 ? "Deployment/db" : "Deployment/web");
    if (_i == 0)
        ck_assert_int_lt(target_cpu(), 100);
    else
        ck_assert_ptr_null(vpa_json_first(
            vpa_json_at(stored("VerticalPodAutoscaler", "web"), "status.recommendation")));
}
END_TEST

/* One worker after the other VPA: each checkpoint has its own. */
START_TEST(each_checkpoint_names_its_own_target)
{
    change(DEPLOYMENT("db"));
    change(APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","
                 "\"metadata\":{\"name\":\"db\",\"namespace\":\"shop\",\"creationTimestamp\":"
                 "\"2026-01-15T10:00:00Z\"},\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/v1\","
                 "\"kind\":\"Deployment\",\"name\":\"db\"}}}"));
    change(APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"db-1\","
                 "\"namespace\":\"shop\",\"labels\":{\"app\":\"db\"}},\"spec\":{\"containers\":[{"
                 "\"name\":\"app\"}]},\"status\":{\"phase\":\"Running\"}}"));
    start("--update-worker-count=1");
    pass(USAGE("100m", "100Mi"));
    ck_assert_str_eq(annotation(VPA_HISTORY_TARGET_ANNOTATION), "Deployment/web");
    ck_assert_str_eq(vpa_json_string(vpa_json_find(
                         vpa_json_at(stored("VerticalPodAutoscalerCheckpoint", "db-app"),
                                     "metadata.annotations"),
                         VPA_HISTORY_TARGET_ANNOTATION)),
                     "Deployment/db");
}
END_TEST

START_TEST(history_stays_while_the_target_is_away)
{
    put_history("", UNTIL_NOW);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    change(DELETE("apps/v1", "Deployment", "web"));
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
    change(DEPLOYMENT("web"));
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
}
END_TEST

/* What the VPA named when the checkpoint was written; without a word it belongs to what it names.
 */
static const struct {
    const char *annotations;
    bool loaded;
} owners_of_history[] = {
    {"", true},
    {"\"annotations\":{\"team\":\"a\"},", true},
    {"\"annotations\":{\"" VPA_HISTORY_TARGET_ANNOTATION "\":\"Deployment/web\"},", true},
    {"\"annotations\":{\"" VPA_HISTORY_TARGET_ANNOTATION "\":\"Deployment/db\"},", false},
    /* Upstream has gone on with it for a while, and the VPA names the other one since. */
    {"\"annotations\":{\"" VPA_HISTORY_TARGET_ANNOTATION
     "\":\"Deployment/db\",\"" VPA_OPEN_INTERVALS_ANNOTATION "\":\"{\\\"history\\\":\\\"" EMPTY_HASH
     "\\\",\\\"peaks\\\":[]}\"},",
     true},
};

START_TEST(a_checkpoint_tells_whose_history_it_is)
{
    put_history(owners_of_history[_i].annotations, UNTIL_NOW);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_eq(target_cpu() > 1000, owners_of_history[_i].loaded);
    ck_assert_str_eq(annotation(VPA_HISTORY_TARGET_ANNOTATION), "Deployment/web");
    if (_i == 1)
        ck_assert_str_eq(annotation("team"), "a");
}
END_TEST

START_TEST(a_target_changed_while_nobody_looked_is_noticed)
{
    put_history("", UNTIL_NOW);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    stop();
    change(DEPLOYMENT("db"));
    change(VPA_OF("db", ""));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_null(vpa_json_first(
        vpa_json_at(stored("VerticalPodAutoscaler", "web"), "status.recommendation")));
    change(VPA_OF("web", "")); /* its live samples are still here */
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_lt(target_cpu(), 1000);
}
END_TEST

/* The second process has no open interval to tell of: the pod is gone, and its peak is history. */
START_TEST(a_target_changed_after_the_pods_went_is_noticed)
{
    use_a_peak(NULL);
    stop();
    change(DELETE("v1", "Pod", "web-1"));
    start(NULL);
    pass("{\"usage\":[]}");
    ck_assert_uint_eq(count_writes("PATCH", "/web-app"), 1);
    stop();
    change(DEPLOYMENT("db"));
    change(VPA_OF("db", ""));
    start(NULL);
    pass("{\"usage\":[]}");
    ck_assert_ptr_null(vpa_json_first(
        vpa_json_at(stored("VerticalPodAutoscaler", "web"), "status.recommendation")));
}
END_TEST

/* What the VPA is before it becomes ours, half an hour after the start. */
static const char *const before_ours[] = {
    VPA_OF("web", NOT_DECODABLE),
    VPA_OF("web", OF_OTHERS),
    DELETE("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "web"),
};

START_TEST(history_is_loaded_when_a_vpa_becomes_ours)
{
    put_history("", UNTIL_NOW);
    change(before_ours[_i]);
    start(NULL);
    for (int i = 0; i < 5; i++)
        pass(USAGE("100m", "100Mi"));
    change(VPA_OF("web", ""));
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
    ck_assert_int_eq(stored_samples(), 62 + 6); /* nothing overlaps */
}
END_TEST

/* The other recommender went on with the history that this one had begun. */
START_TEST(what_two_recommenders_saw_counts_once)
{
    start(NULL);
    for (int i = 0; i < 10; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_int_eq(stored_samples(), 10);
    change(VPA_OF("web", OF_OTHERS));
    for (int i = 0; i < 10; i++)
        pass(USAGE("100m", "100Mi"));
    put_history("", "2026-01-15T12:20:00Z");
    change(VPA_OF("web", ""));
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_eq(stored_samples(), 62 + 1);
    ck_assert_int_gt(target_cpu(), 1000);

    /* Nothing was added meanwhile. */
    change(VPA_OF("web", OF_OTHERS));
    pass(USAGE("100m", "100Mi"));
    change(VPA_OF("web", ""));
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_ge(stored_samples(), 62 + 2);
    ck_assert_int_le(stored_samples(), 62 + 3);
}
END_TEST

/* The other one did nothing, while the live samples went on. */
START_TEST(live_samples_that_nobody_stored_count)
{
    start(NULL);
    for (int i = 0; i < 10; i++)
        pass(USAGE("100m", "100Mi"));
    change(VPA_OF("web", OF_OTHERS));
    for (int i = 0; i < 10; i++)
        pass(USAGE("100m", "100Mi"));
    change(VPA_OF("web", ""));
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_eq(stored_samples(), 21);

    /* Somebody emptied the checkpoint: it is written again though nothing is new here. */
    change(VPA_OF("web", OF_OTHERS));
    pass("{\"usage\":[]}");
    put_checkpoint("", EMPTY);
    ck_assert_int_eq(stored_samples(), 0);
    change(VPA_OF("web", ""));
    pass("{\"usage\":[]}");
    ck_assert_int_eq(stored_samples(), 21);
}
END_TEST

/* Only what was loaded belonged to the old target; the samples of the same pods are live. */
START_TEST(another_target_with_the_same_pods_keeps_what_is_live)
{
    put_history("", UNTIL_NOW);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    change(APPLY("{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
                 "\"web2\",\"namespace\":\"shop\"},\"spec\":{\"selector\":{\"matchLabels\":{"
                 "\"app\":\"web\"}}}}"));
    change(VPA_OF("web2", ""));
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_lt(target_cpu(), 1000);
    ck_assert_int_eq(stored_samples(), 2);
}
END_TEST

static bool refuse_checkpoint_lists(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "GET") != 0 || !strstr(q->path, "verticalpodautoscalercheckpoints"))
        return false;
    hook_calls++;
    vpa_memory_reply_status(r, 503, NULL, "later");
    return true;
}

START_TEST(nothing_is_written_before_the_history_was_read)
{
    put_history("", UNTIL_NOW);
    change(VPA_OF("web", OF_OTHERS));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    change(VPA_OF("web", ""));
    hook = refuse_checkpoint_lists;
    for (int i = 0; i < 3; i++) {
        pass(USAGE("100m", "100Mi"));
        ck_assert_uint_eq(count_writes("PATCH", ""), 0);
    }
    ck_assert_uint_ge(hook_calls, 3);
    hook = NULL;
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
    ck_assert_int_eq(stored_samples(), 62 + 5);
}
END_TEST

/* ---- age ---- */

/* A sidecar that left the template; its last sample is `_i` days old when the process starts. */
static void put_sidecar(const char *last)
{
    change(vpa_arena_printf(
        &arena,
        APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
              "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"web-old\","
              "\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":"
              "\"old\"},\"status\":{\"lastUpdateTime\":\"2026-01-15T11:00:00Z\",\"version\":\"v3\","
              "\"cpuHistogram\":{\"referenceTimestamp\":\"2026-01-15T00:00:00Z\","
              "\"bucketWeights\":{\"49\":10000},\"totalWeight\":8.6},\"memoryHistogram\":{"
              "\"referenceTimestamp\":\"2026-01-16T00:00:00Z\",\"bucketWeights\":{\"30\":10000},"
              "\"totalWeight\":1},\"firstSampleStart\":\"2026-01-01T11:00:00Z\","
              "\"lastSampleStart\":\"%s\",\"totalSamplesCount\":62}}"),
        last));
}

static size_t recommended(void)
{
    return vpa_json_count(vpa_json_at(stored("VerticalPodAutoscaler", "web"),
                                      "status.recommendation.containerRecommendations"));
}

START_TEST(a_container_that_left_goes_by_the_age_of_its_last_sample)
{
    put_sidecar("2026-01-07T14:00:00Z"); /* eight days are over two hours after the start */
    start("--checkpoints-gc-interval=10m");
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(recommended(), 2);
    int rewritten = 0;
    for (int i = 0; i < 110; i++) {
        pass(USAGE("100m", "100Mi"));
        rewritten += (int)count_writes("PATCH", "/web-old");
    }
    ck_assert_int_le(rewritten, 1); /* with its target, not to look young */
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-old"));
    ck_assert_uint_eq(recommended(), 2);
    for (int i = 0; i < 90; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(recommended(), 1);
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-old"));
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
}
END_TEST

START_TEST(a_container_of_the_pods_keeps_a_history_of_any_age)
{
    put_history("", "2026-01-01T12:00:00Z");
    start("--checkpoints-gc-interval=10m");
    for (int i = 0; i < 30; i++)
        pass("{\"usage\":[]}");
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
    ck_assert_int_gt(target_cpu(), 1000);
    ck_assert_int_eq(stored_samples(), 62);
}
END_TEST

static bool refuse_pod_lists(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!vpa_str_starts_with(q->path, "/api/v1/pods"))
        return false;
    hook_calls++;
    vpa_memory_reply_status(r, 503, NULL, "later");
    return true;
}

START_TEST(nothing_ages_while_the_caches_are_out_of_step)
{
    put_sidecar("2026-01-01T14:00:00Z");
    start("--checkpoints-gc-interval=1s");
    hook = refuse_pod_lists;
    end_watches("pods");
    for (int i = 0; i < 5; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_uint_ge(hook_calls, 1);
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-old"));
    hook = NULL;
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-old"));
}
END_TEST

/* ---- garbage ---- */

static bool refuse_vpa_lists(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "GET") != 0 || !strstr(q->path, "namespaces/shop/verticalpodautoscalers"))
        return false;
    hook_calls++;
    vpa_memory_reply_status(r, 503, NULL, "later");
    return true;
}

/* The last word before a history is deleted has the API server, not a cache. */
START_TEST(a_checkpoint_goes_only_when_the_server_says_that_its_vpa_is_gone)
{
    put_history("", UNTIL_NOW);
    start("--checkpoints-gc-interval=1m");
    pass(USAGE("100m", "100Mi"));
    change(DELETE("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "web"));
    hook = refuse_vpa_lists;
    for (int i = 0; i < 5; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_uint_ge(hook_calls, 1);
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
    hook = NULL;
    pass(USAGE("100m", "100Mi"));
    pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
}
END_TEST

/* It is created while the checkpoints are listed: no cache had it when the pass began. */
static bool create_meanwhile(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)r;
    ck_assert(!strstr(q->path, "namespaces/shop/verticalpodautoscalers")); /* no need to ask */
    if (strcmp(q->method, "GET") == 0 && strstr(q->path, "/api/v1/namespaces") && hook_calls++ == 0)
        fake_cluster_change(server, json(VPA_OF("web", "")));
    return false;
}

START_TEST(a_checkpoint_of_a_vpa_that_came_during_the_pass_stays)
{
    put_history("", UNTIL_NOW);
    change(DELETE("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "web"));
    start("--checkpoints-gc-interval=1s");
    hook = create_meanwhile;
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_ge(hook_calls, 1);
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
    hook = NULL;
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommender_restart");
    TCase *tcase = tcase_create("restart");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, history_goes_when_the_vpa_names_another_target, 0, 2);
    tcase_add_test(tcase, each_checkpoint_names_its_own_target);
    tcase_add_test(tcase, history_stays_while_the_target_is_away);
    tcase_add_loop_test(tcase, a_checkpoint_tells_whose_history_it_is, 0,
                        VPA_COUNT(owners_of_history));
    tcase_add_test(tcase, a_target_changed_while_nobody_looked_is_noticed);
    tcase_add_test(tcase, a_target_changed_after_the_pods_went_is_noticed);
    tcase_add_loop_test(tcase, history_is_loaded_when_a_vpa_becomes_ours, 0,
                        VPA_COUNT(before_ours));
    tcase_add_test(tcase, what_two_recommenders_saw_counts_once);
    tcase_add_test(tcase, live_samples_that_nobody_stored_count);
    tcase_add_test(tcase, another_target_with_the_same_pods_keeps_what_is_live);
    tcase_add_test(tcase, nothing_is_written_before_the_history_was_read);
    tcase_add_test(tcase, a_container_that_left_goes_by_the_age_of_its_last_sample);
    tcase_add_test(tcase, nothing_ages_while_the_caches_are_out_of_step);
    tcase_add_test(tcase, a_container_of_the_pods_keeps_a_history_of_any_age);
    tcase_add_test(tcase, a_checkpoint_goes_only_when_the_server_says_that_its_vpa_is_gone);
    tcase_add_test(tcase, a_checkpoint_of_a_vpa_that_came_during_the_pass_stays);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
