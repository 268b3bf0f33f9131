/* Checkpoint objects: what is read, what is refused, the bytes written. */
#include "json_helper.h"

#include "vpa/api/checkpoint.h"

static const char full[] =
    "{\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"apiVersion\":\"autoscaling.k8s.io/v1\","
    "\"metadata\":{\"name\":\"v-c\"},\"spec\":{\"vpaObjectName\":\"v\",\"containerName\":\"c\"},"
    "\"status\":{\"lastUpdateTime\":\"2026-08-20T10:05:00Z\",\"version\":\"v3\",\"cpuHistogram\":{"
    "\"referenceTimestamp\":\"2026-08-20T00:00:00Z\",\"bucketWeights\":{\"0\":10000,\"10\":3,"
    "\"100\":2,\"2\":1},\"totalWeight\":4.00012},\"memoryHistogram\":{\"referenceTimestamp\":null},"
    "\"firstSampleStart\":\"2026-08-20T09:01:00Z\",\"lastSampleStart\":null,"
    "\"totalSamplesCount\":64}}";

START_TEST(round_trips)
{
    struct vpa_checkpoint checkpoint;
    struct vpa_error err;
    struct vpa_json_writer w;
    struct vpa_buf buf;

    if (vpa_checkpoint_decode(&arena, json_of(full), &checkpoint, &err) < 0)
        ck_abort_msg("%s", err.text);
    ck_assert(checkpoint.has_status && checkpoint.status.cpu.bucket_count == 4);
    ck_assert(checkpoint.status.cpu.buckets[1].bucket == 2 &&
              checkpoint.status.cpu.buckets[2].bucket == 10 &&
              checkpoint.status.cpu.buckets[2].weight == 3);
    ck_assert(checkpoint.status.cpu.total_weight == 4.00012);
    ck_assert(checkpoint.status.memory.present && checkpoint.status.memory.buckets == NULL);
    ck_assert_str_eq(checkpoint.vpa_object_name, "v");
    vpa_buf_init(&buf, 1 << 16);
    vpa_json_writer_init(&w, &buf);
    vpa_checkpoint_encode(&w, &checkpoint);
    ck_assert_str_eq(vpa_buf_text(&buf), full);
    vpa_buf_release(&buf);
}
END_TEST

START_TEST(empty_objects)
{
    struct vpa_checkpoint checkpoint;
    struct vpa_error err;
    struct vpa_json_writer w;
    struct vpa_buf buf;

    ck_assert_int_eq(vpa_checkpoint_decode(&arena, json_of("{}"), &checkpoint, &err), 0);
    ck_assert(!checkpoint.has_status && !checkpoint.status.cpu.present);
    ck_assert_str_eq(checkpoint.status.version, "");
    vpa_buf_init(&buf, 1 << 16);
    vpa_json_writer_init(&w, &buf);
    vpa_checkpoint_status_encode(&w, &checkpoint.status);
    ck_assert_str_eq(vpa_buf_text(&buf),
                     "{\"lastUpdateTime\":null,\"cpuHistogram\":{\"referenceTimestamp\":null},"
                     "\"memoryHistogram\":{\"referenceTimestamp\":null},\"firstSampleStart\":null,"
                     "\"lastSampleStart\":null}");
    vpa_buf_release(&buf);
}
END_TEST

static const struct {
    const char *weights, *again; /* again NULL: refused */
} weights[] = {
    {"{}", ""},
    {"null", ""},
    {"{\"1\":0}", "{\"1\":0}"},
    {"{\"01\":5}", "{\"1\":5}"},
    {"{\"+7\":5}", "{\"7\":5}"},
    {"{\"-7\":5}", "{\"-7\":5}"},
    {"{\"1\":4294967295}", "{\"1\":4294967295}"},
    {"{\"1\":null}", "{\"1\":0}"},
    {"{\"1\":5,\"01\":6}", "{\"1\":6}"},
    {"{\"9223372036854775807\":1}", "{\"9223372036854775807\":1}"},
    {"[]", NULL},
    {"{\"9223372036854775808\":1}", NULL},
    {"{\"\":1}", NULL},
    {"{\"-\":1}", NULL},
    {"{\" 1\":1}", NULL},
    {"{\"1.5\":1}", NULL},
    {"{\"x\":1}", NULL},
    {"{\"1\":-1}", NULL},
    {"{\"1\":-0}", NULL},
    {"{\"1\":1.0}", NULL},
    {"{\"1\":1e2}", NULL},
    {"{\"1\":\"1\"}", NULL},
    {"{\"1\":4294967296}", NULL},
    {"{\"1\":true}", NULL},
};

START_TEST(reads_weights)
{
    const char *text = vpa_arena_printf(&arena, "{\"bucketWeights\":%s}", weights[_i].weights);
    struct vpa_histogram_checkpoint histogram;
    struct vpa_error err;
    struct vpa_json_writer w;
    struct vpa_buf buf;
    int result = vpa_histogram_checkpoint_decode(&arena, json_of(text), &histogram, &err);

    if (!weights[_i].again) {
        ck_assert_int_lt(result, 0);
        ck_assert_int_eq(strncmp(err.text, "bucketWeights: ", 15), 0);
        return;
    }
    ck_assert_int_eq(result, 0);
    vpa_buf_init(&buf, 4096);
    vpa_json_writer_init(&w, &buf);
    vpa_histogram_checkpoint_encode(&w, &histogram);
    ck_assert_str_eq(vpa_buf_text(&buf),
                     *weights[_i].again
                         ? vpa_arena_printf(&arena,
                                            "{\"referenceTimestamp\":null,\"bucketWeights\":%s}",
                                            weights[_i].again)
                         : "{\"referenceTimestamp\":null}");
    vpa_buf_release(&buf);
}
END_TEST

START_TEST(bounds_buckets)
{
    struct vpa_histogram_checkpoint histogram;
    struct vpa_error err;
    struct vpa_buf buf;

    vpa_buf_init(&buf, 1 << 20);
    vpa_buf_puts(&buf, "{\"bucketWeights\":{\"0\":1");
    for (int i = 1; i <= VPA_CHECKPOINT_BUCKETS_MAX; i++)
        vpa_buf_printf(&buf, ",\"%d\":1", i);
    vpa_buf_puts(&buf, "}}");
    ck_assert_int_lt(
        vpa_histogram_checkpoint_decode(&arena, json_of(vpa_buf_text(&buf)), &histogram, &err), 0);
    ck_assert_str_eq(err.text, "bucketWeights: more than 4096 buckets");
    vpa_buf_release(&buf);
}
END_TEST

static const char *const bad[] = {
    "[]",
    "{\"spec\":{\"vpaObjectName\":1}}",
    "{\"status\":{\"cpuHistogram\":5}}",
    "{\"status\":{\"cpuHistogram\":{\"totalWeight\":1e309}}}",
    "{\"status\":{\"cpuHistogram\":{\"totalWeight\":\"1\"}}}",
    "{\"status\":{\"memoryHistogram\":{\"referenceTimestamp\":\"x\"}}}",
    "{\"status\":{\"totalSamplesCount\":1.5}}",
};

START_TEST(refuses)
{
    struct vpa_checkpoint checkpoint;
    struct vpa_error err;

    ck_assert_int_lt(vpa_checkpoint_decode(&arena, json_of(bad[_i]), &checkpoint, &err), 0);
    ck_assert_int_eq(err.code, VPA_INVALID);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, round_trips);
    tcase_add_test(tc, empty_objects);
    tcase_add_loop_test(tc, reads_weights, 0, VPA_COUNT(weights));
    tcase_add_test(tc, bounds_buckets);
    tcase_add_loop_test(tc, refuses, 0, VPA_COUNT(bad));
}

int main(void)
{
    return run_case("checkpoint", add);
}
