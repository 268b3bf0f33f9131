/*
 * What outlives a restart of the recommender beside the histories: the memory peaks of intervals
 * that are not over, in an annotation of the checkpoint.
 */
#include "captured_log.h"
#include "restart_fixture.h"

#define OFF "--checkpoint-open-intervals=false"

static int64_t target_memory(void)
{
    struct vpa_quantity q = target("memory");

    return vpa_quantity_value(&q);
}

#define ONE_PEAK                                                                                   \
    "{\"referenceTimestamp\":\"2026-01-16T00:00:00Z\",\"bucketWeights\":{\"30\":10000},"           \
    "\"totalWeight\":1}"

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

int main(void)
{
    Suite *suite = suite_create("recommender_open_intervals");
    TCase *tcase = tcase_create("open_intervals");

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
    tcase_add_loop_test(tcase, goes_on_without_intervals_that_cannot_be_read, 0,
                        VPA_COUNT(unreadable));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
