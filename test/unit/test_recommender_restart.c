/*
 * What outlives a restart of the recommender beside the histories: the memory peaks of intervals
 * that are not over, in an annotation of the checkpoint.
 */
#include "captured_log.h"
#include "recommender_fixture.h"

#include "vpa/api/checkpoint.h"

#define OFF "--checkpoint-open-intervals=false"

static int64_t target_memory(void)
{
    struct vpa_quantity q = target("memory");

    return vpa_quantity_value(&q);
}

/* On the stored checkpoint; NULL: none. */
static const char *annotation(const char *name)
{
    return vpa_json_string(vpa_json_find(
        vpa_json_at(stored("VerticalPodAutoscalerCheckpoint", "web-app"), "metadata.annotations"),
        name));
}

/* A checkpoint as it might be there before the start; annotations: the member with its comma, or
 * "". */
static void put_checkpoint(const char *annotations, const char *memory)
{
    change(vpa_arena_printf(
        &arena,
        APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
              "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"web-app\",%s"
              "\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":"
              "\"app\"},\"status\":{\"lastUpdateTime\":\"2026-01-15T11:00:00Z\","
              "\"version\":\"v3\",\"memoryHistogram\":%s,\"cpuHistogram\":{"
              "\"referenceTimestamp\":null}}}"),
        annotations, memory));
}

#define EMPTY "{\"referenceTimestamp\":null}"
#define EMPTY_HASH "510ea166"
#define ONE_PEAK                                                                                   \
    "{\"referenceTimestamp\":\"2026-01-16T00:00:00Z\",\"bucketWeights\":{\"30\":10000},"           \
    "\"totalWeight\":1}"

/* The peak is in the first pass; usage has dropped since. */
static void use_a_peak(const char *flag)
{
    start(flag);
    pass(USAGE("1", "4Gi"));
    for (int i = 0; i < 3; i++)
        pass(USAGE("1", "1Gi"));
}

START_TEST(peaks_of_open_intervals_outlive_a_restart)
{
    use_a_peak(NULL);
    ck_assert_uint_eq(count_writes("PATCH", "/web-app"), 1); /* in the same call as the status */
    int64_t before = target_memory();
    ck_assert_int_gt(before, (int64_t)4 << 30);
    for (int i = 0; i < 3; i++) {
        stop();
        start(NULL);
        pass(USAGE("1", "1Gi"));
        ck_assert_int_eq(target_memory(), before);
    }
}
END_TEST

/* An eviction at 12:02, and later more usage than it tells of. */
static void use_a_peak_after_an_eviction(const char *flag)
{
    start(flag);
    pass(USAGE("1", "300Mi"));
    pass(USAGE("1", "300Mi"));
    change(EVICTION("e", "\"uid\":\"1\",", "12:02", "1Gi"));
    pass(USAGE("1", "300Mi"));
    for (int i = 0; i < 2; i++)
        pass(USAGE("1", "2Gi"));
}

/* The API server tells a new process of it once more. */
START_TEST(an_eviction_counts_once_beside_a_resumed_interval)
{
    use_a_peak_after_an_eviction(NULL);
    int64_t before = target_memory();
    for (int i = 0; i < 2; i++) {
        stop();
        start(NULL);
        pass(USAGE("1", "1Gi"));
        ck_assert_int_eq(target_memory(), before);
    }
    stop();
    change(EVICTION("f", "\"uid\":\"2\",", "12:20", "1Gi")); /* nobody has counted that */
    start(NULL);
    pass(USAGE("1", "1Gi"));
    ck_assert_int_gt(target_memory(), before * 11 / 10);
}
END_TEST

#define APP_IS(restarts, state)                                                                    \
    APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-1\","              \
          "\"namespace\":\"shop\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{"       \
          "\"name\":\"app\"}]},\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{"         \
          "\"name\":\"app\",\"restartCount\":" restarts ",\"state\":" state "}]}}")

/* Nodes date them by clocks of their own, and nobody tells of them again. */
START_TEST(a_kill_counts_beside_a_resumed_interval)
{
    change(APP_IS("0", "{\"running\":{}}"));
    use_a_peak(NULL);
    int64_t before = target_memory();
    stop();
    start(NULL);
    change(APP_IS("0", "{\"terminated\":{\"reason\":\"OOMKilled\",\"finishedAt\":"
                       "\"2026-01-15T12:02:00Z\"}}"));
    pass(USAGE("1", "1Gi"));
    ck_assert_int_gt(target_memory(), before * 11 / 10);
}
END_TEST

/* Nobody knows what an eviction did to an interval that was lost. */
START_TEST(an_eviction_counts_again_in_a_new_interval)
{
    use_a_peak_after_an_eviction(OFF);
    stop();
    start(OFF);
    pass(USAGE("1", "300Mi"));
    ck_assert_int_gt(target_memory(), (int64_t)1200 << 20);
}
END_TEST

/* Of the last pass. */
static bool wrote_intervals(void)
{
    size_t count;
    const struct sim_asked *writes = fake_cluster_writes(server, &count);

    for (size_t i = 0; i < count; i++)
        if (strstr(writes[i].path, "checkpoints") &&
            strstr(writes[i].body, "open-memory-intervals"))
            return true;
    return false;
}

START_TEST(intervals_are_written_when_they_change)
{
    start("--checkpoint-max-age=10m");
    pass(USAGE("1", "1Gi"));
    ck_assert(wrote_intervals());
    pass(USAGE("2", "1Gi"));
    ck_assert_uint_eq(count_writes("PATCH", "/web-app"), 1);
    ck_assert(!wrote_intervals());
    pass(USAGE("1", "2Gi")); /* a new peak */
    ck_assert(wrote_intervals());
    stop();
    start("--checkpoint-max-age=10m");
    pass(USAGE("1", "1Gi")); /* a new process does not know what is there */
    ck_assert(wrote_intervals());
    int written = 0;
    for (int i = 0; i < 30; i++) { /* and again with everything else */
        pass(USAGE("1", "1Gi"));
        written += wrote_intervals();
    }
    ck_assert_int_ge(written, 2);
    ck_assert_int_le(written, 4);
    change("{\"delete\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"shop\","
           "\"name\":\"web-1\"}}");
    pass(USAGE("1", "1Gi"));
    pass(USAGE("1", "1Gi"));
    ck_assert_ptr_nonnull(strstr(annotation(VPA_OPEN_INTERVALS_ANNOTATION), "\"peaks\":[]"));
}
END_TEST

START_TEST(without_the_flag_a_restart_forgets_them)
{
    use_a_peak(OFF);
    ck_assert_ptr_null(annotation(VPA_OPEN_INTERVALS_ANNOTATION));
    stop();
    start(NULL);
    pass(USAGE("1", "1Gi"));
    ck_assert_int_lt(target_memory(), (int64_t)2 << 30);
    ck_assert_ptr_nonnull(annotation(VPA_OPEN_INTERVALS_ANNOTATION));

    /* Nor are they read. */
    pass(USAGE("1", "4Gi"));
    pass(USAGE("1", "1Gi"));
    stop();
    start(OFF);
    pass(USAGE("1", "1Gi"));
    ck_assert_int_lt(target_memory(), (int64_t)2 << 30);
}
END_TEST

static const char *const other_annotations[] = {"", "\"annotations\":{},",
                                                "\"annotations\":{\"team\":\"a\"},"};

START_TEST(the_annotations_of_others_stay)
{
    put_checkpoint(other_annotations[_i], EMPTY);
    use_a_peak(NULL);
    ck_assert_uint_eq(count_writes("POST", "checkpoints"), 0);
    ck_assert_ptr_nonnull(annotation(VPA_OPEN_INTERVALS_ANNOTATION));
    if (_i == 2)
        ck_assert_str_eq(annotation("team"), "a");
}
END_TEST

START_TEST(annotations_that_were_taken_away_come_back)
{
    use_a_peak(NULL);
    put_checkpoint("", EMPTY);
    pass(USAGE("1", "5Gi")); /* a new peak, to be written */
    ck_assert_uint_eq(count_writes("PATCH", "/web-app"), 2);
    ck_assert_ptr_nonnull(annotation(VPA_OPEN_INTERVALS_ANNOTATION));
    pass(USAGE("1", "1Gi"));
    ck_assert_uint_eq(count_writes("PATCH", "/web-app"), 1);
}
END_TEST

/* The target is told anew when the checkpoint is due, within an hour. */
START_TEST(a_target_that_was_taken_away_comes_back_when_due)
{
    start(NULL);
    pass(USAGE("1", "1Gi"));
    put_checkpoint(other_annotations[2], EMPTY);
    pass(USAGE("1", "1Gi"));
    ck_assert_ptr_null(annotation(VPA_HISTORY_TARGET_ANNOTATION));
    for (int minute = 2; minute <= 61; minute++)
        pass(USAGE("1", "1Gi"));
    ck_assert_str_eq(annotation(VPA_HISTORY_TARGET_ANNOTATION), "Deployment/web");
    ck_assert_str_eq(annotation("team"), "a");
}
END_TEST

static bool refuse_patches(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "PATCH") != 0 || !vpa_str_ends_with(q->path, "/web-app"))
        return false;
    hook_calls++;
    vpa_memory_reply_status(r, 422, "Invalid", "no");
    return true;
}

START_TEST(a_patch_that_is_refused_is_tried_once_more)
{
    put_checkpoint(other_annotations[2], EMPTY);
    use_a_peak(NULL);
    hook = refuse_patches;
    pass(USAGE("1", "5Gi"));
    ck_assert_uint_eq(hook_calls, 2);
    hook = NULL;
    pass(USAGE("1", "1Gi"));
    ck_assert(wrote_intervals());
    ck_assert_str_eq(annotation("team"), "a");
}
END_TEST

/* As a policy of the cluster may. What the patch tests, and whether members can be added, the API
 * server sees first. */
static bool refuse_what_fits(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    bool adds_all = strstr(vpa_or_empty(q->body), "\"test\"") != NULL;

    if (strcmp(q->method, "PATCH") != 0 || !vpa_str_ends_with(q->path, "/web-app") ||
        adds_all != (annotation("team") == NULL))
        return false;
    hook_calls++;
    vpa_memory_reply_status(r, 422, "Invalid", "peaks are not wanted here");
    return true;
}

/* Annotations that came, or that went, while nobody looked. */
START_TEST(the_reason_of_a_refusal_is_told)
{
    put_checkpoint(_i ? "" : other_annotations[2], EMPTY);
    use_a_peak(NULL);
    put_checkpoint(_i ? other_annotations[2] : "", EMPTY);
    hook = refuse_what_fits;
    capture_log(0);
    pass(USAGE("1", "5Gi"));
    ck_assert_uint_eq(hook_calls, 1);
    ck_assert_msg(logged("peaks are not wanted here") == 1, "%s", logged_text());
}
END_TEST

static bool have_a_conflict(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "PATCH") != 0 || !vpa_str_ends_with(q->path, "/web-app"))
        return false;
    if (hook_calls++ == 0)
        vpa_memory_reply_status(r, 409, "Conflict", "the object has been modified");
    return hook_calls == 1;
}

/* It says nothing about the annotations. */
START_TEST(a_patch_in_conflict_waits_for_the_next_pass)
{
    put_checkpoint(other_annotations[2], EMPTY);
    use_a_peak(NULL);
    hook = have_a_conflict;
    capture_log(0);
    pass(USAGE("1", "5Gi"));
    ck_assert_uint_eq(hook_calls, 1);
    ck_assert_uint_eq(logged("the object has been modified"), 1);
    pass(USAGE("1", "1Gi"));
    ck_assert_uint_eq(hook_calls, 2);
    ck_assert(wrote_intervals());
}
END_TEST

/* Upstream has closed an interval in between: its peak is in the history by now. */
static bool refuse_first_patch(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    return hook_calls == 0 && refuse_patches(q, r);
}

/* What is tried again as if they were gone replaces none that are there. */
START_TEST(a_patch_that_is_refused_once_takes_no_annotations)
{
    put_checkpoint(other_annotations[2], EMPTY);
    use_a_peak(NULL);
    hook = refuse_first_patch;
    pass(USAGE("1", "5Gi"));
    ck_assert_uint_eq(hook_calls, 1);
    ck_assert_str_eq(annotation("team"), "a");
    pass(USAGE("1", "1Gi"));
    ck_assert(wrote_intervals());
    ck_assert_str_eq(annotation("team"), "a");
}
END_TEST

START_TEST(annotations_that_came_since_the_list_stay)
{
    put_checkpoint("", EMPTY);
    start(NULL);
    put_checkpoint(other_annotations[2], EMPTY);
    pass(USAGE("1", "5Gi"));
    ck_assert_ptr_nonnull(annotation(VPA_OPEN_INTERVALS_ANNOTATION));
    ck_assert_str_eq(annotation("team"), "a");
}
END_TEST

START_TEST(intervals_of_another_history_are_ignored)
{
    use_a_peak(NULL);
    stop();
    put_checkpoint(vpa_arena_printf(&arena,
                                    "\"annotations\":{\"" VPA_OPEN_INTERVALS_ANNOTATION
                                    "\":\"{\\\"history\\\":\\\"" EMPTY_HASH "\\\","
                                    "\\\"intervals\\\":[{\\\"pod\\\":\\\"web-1\\\","
                                    "\\\"uid\\\":\\\"00000000\\\",\\\"end\\\":"
                                    "\\\"2026-01-16T12:00:00Z\\\",\\\"usage\\\":4294967296}]}\"},"),
                   _i == 0 ? ONE_PEAK : EMPTY);
    start(NULL);
    pass(USAGE("1", "1Gi"));
    if (_i == 0)
        ck_assert_int_lt(target_memory(), (int64_t)2 << 30);
    else /* the same text counts beside its own history */
        ck_assert_int_gt(target_memory(), (int64_t)4 << 30);
}
END_TEST

static const char *const unreadable[] = {
    "",
    "null",
    "[]",
    "{\\\"intervals\\\":[]}",
    "{\\\"history\\\":\\\"" EMPTY_HASH "\\\",\\\"intervals\\\":[{\\\"pod\\\":\\\"web-1\\\"}]}",
    "{\\\"history\\\":\\\"" EMPTY_HASH "\\\",\\\"intervals\\\":[{\\\"pod\\\":\\\"web-1\\\","
    "\\\"uid\\\":\\\"00000000\\\",\\\"end\\\":\\\"2027-01-16T12:00:00Z\\\",\\\"usage\\\":1}]}"};

START_TEST(goes_on_without_intervals_that_cannot_be_read)
{
    put_checkpoint(
        vpa_arena_printf(&arena, "\"annotations\":{\"" VPA_OPEN_INTERVALS_ANNOTATION "\":\"%s\"},",
                         unreadable[_i]),
        EMPTY);
    use_a_peak(NULL);
    ck_assert_int_gt(target_memory(), (int64_t)4 << 30);
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-app-unreadable"));
    ck_assert_ptr_nonnull(strstr(annotation(VPA_OPEN_INTERVALS_ANNOTATION), "\"peaks\":[["));
}
END_TEST

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
    tcase_add_test(tcase, peaks_of_open_intervals_outlive_a_restart);
    tcase_add_test(tcase, an_eviction_counts_once_beside_a_resumed_interval);
    tcase_add_test(tcase, a_kill_counts_beside_a_resumed_interval);
    tcase_add_test(tcase, an_eviction_counts_again_in_a_new_interval);
    tcase_add_test(tcase, intervals_are_written_when_they_change);
    tcase_add_test(tcase, without_the_flag_a_restart_forgets_them);
    tcase_add_loop_test(tcase, the_annotations_of_others_stay, 0, VPA_COUNT(other_annotations));
    tcase_add_test(tcase, annotations_that_were_taken_away_come_back);
    tcase_add_test(tcase, a_target_that_was_taken_away_comes_back_when_due);
    tcase_add_test(tcase, a_patch_that_is_refused_is_tried_once_more);
    tcase_add_test(tcase, a_patch_that_is_refused_once_takes_no_annotations);
    tcase_add_loop_test(tcase, the_reason_of_a_refusal_is_told, 0, 2);
    tcase_add_test(tcase, a_patch_in_conflict_waits_for_the_next_pass);
    tcase_add_test(tcase, annotations_that_came_since_the_list_stay);
    tcase_add_loop_test(tcase, intervals_of_another_history_are_ignored, 0, 2);
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
    tcase_add_loop_test(tcase, goes_on_without_intervals_that_cannot_be_read, 0,
                        VPA_COUNT(unreadable));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
