/*
 * What outlives a restart of the recommender beside the histories: the memory peaks of intervals
 * that are not over, in an annotation of the checkpoint.
 */
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
        vpa_json_at(stored("verticalpodautoscalercheckpoints", "web-app"), "metadata.annotations"),
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

/* Of the last pass. */
static bool wrote_intervals(void)
{
    size_t count;
    const struct fake_write *writes = fake_cluster_writes(server, &count);

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
    ck_assert_ptr_nonnull(strstr(annotation(VPA_OPEN_INTERVALS_ANNOTATION), "\"intervals\":[]"));
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

/* Upstream has closed an interval in between: its peak is in the history by now. */
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
    ck_assert_ptr_null(stored("verticalpodautoscalercheckpoints", "web-app-unreadable"));
    ck_assert_ptr_nonnull(strstr(annotation(VPA_OPEN_INTERVALS_ANNOTATION), "\"web-1\""));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommender_restart");
    TCase *tcase = tcase_create("restart");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, peaks_of_open_intervals_outlive_a_restart);
    tcase_add_test(tcase, intervals_are_written_when_they_change);
    tcase_add_test(tcase, without_the_flag_a_restart_forgets_them);
    tcase_add_loop_test(tcase, the_annotations_of_others_stay, 0, VPA_COUNT(other_annotations));
    tcase_add_test(tcase, annotations_that_were_taken_away_come_back);
    tcase_add_test(tcase, a_patch_that_is_refused_is_tried_once_more);
    tcase_add_loop_test(tcase, intervals_of_another_history_are_ignored, 0, 2);
    tcase_add_loop_test(tcase, goes_on_without_intervals_that_cannot_be_read, 0,
                        VPA_COUNT(unreadable));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
