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

TEST(round_trips) {
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

TEST(empty_objects) {
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

TEST_EACH(reads_weights, weights) {
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

TEST(bounds_buckets) {
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

static const char *const bad[] = {
    "[]",
    "{\"spec\":{\"vpaObjectName\":1}}",
    "{\"status\":{\"cpuHistogram\":5}}",
    "{\"status\":{\"cpuHistogram\":{\"totalWeight\":1e309}}}",
    "{\"status\":{\"cpuHistogram\":{\"totalWeight\":\"1\"}}}",
    "{\"status\":{\"memoryHistogram\":{\"referenceTimestamp\":\"x\"}}}",
    "{\"status\":{\"totalSamplesCount\":1.5}}",
};

TEST_EACH(refuses, bad) {
    struct vpa_checkpoint checkpoint;
    struct vpa_error err;

    ck_assert_int_lt(vpa_checkpoint_decode(&arena, json_of(bad[_i]), &checkpoint, &err), 0);
    ck_assert_int_eq(err.code, VPA_INVALID);
}

/* ---- open intervals ---- */

#define INTERVALS                                                                                  \
    "{\"history\":\"0badcafe\",\"end\":\"2026-03-03T06:00:00Z\",\"peaks\":"                        \
    "[[7,0,1,209715200],[439041101,104857600],[439041101,104857601,86400]]}"
/* The same in the first form. */
#define FIRST_INTERVALS                                                                            \
    "{\"history\":\"0badcafe\",\"intervals\":[{\"pod\":\"web-0\",\"uid\":\"00000007\","            \
    "\"end\":\"2026-03-03T06:00:01Z\",\"usage\":0,\"oom\":209715200},"                             \
    "{\"pod\":\"web-1\",\"uid\":\"1a2b3c4d\",\"end\":\"2026-03-03T06:00:00Z\","                    \
    "\"usage\":104857600},"                                                                        \
    "{\"pod\":\"web-2\",\"uid\":\"1a2b3c4d\",\"end\":\"2026-03-04T06:00:00Z\","                    \
    "\"usage\":104857601}]}"

/* What is hashed before it is written has the same hash when it was read. */
TEST(the_hash_of_a_histogram_outlives_its_text) {
    static const struct vpa_bucket_weight buckets[] = {{0, 10000}, {3, 1}, {40, 0}, {175, 77}};
    struct vpa_histogram_checkpoint h = {.present = true,
                                         .reference = vpa_time_from_unix(1768478400, 0),
                                         .buckets = buckets,
                                         .bucket_count = VPA_COUNT(buckets),
                                         .total_weight = 0.1 + 0.2};
    struct vpa_histogram_checkpoint read, other;
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(4096);

    vpa_json_writer_init(&w, &text);
    vpa_histogram_checkpoint_encode(&w, &h);
    ck_assert_int_eq(
        vpa_histogram_checkpoint_decode(&arena, json_of(vpa_buf_text(&text)), &read, NULL), 0);
    ck_assert_uint_eq(vpa_histogram_checkpoint_hash(&read), vpa_histogram_checkpoint_hash(&h));
    other = h;
    other.total_weight = 0.3;
    ck_assert_uint_ne(vpa_histogram_checkpoint_hash(&other), vpa_histogram_checkpoint_hash(&h));
    other = h;
    other.bucket_count--;
    ck_assert_uint_ne(vpa_histogram_checkpoint_hash(&other), vpa_histogram_checkpoint_hash(&h));
    other = h;
    other.reference += VPA_SECOND;
    ck_assert_uint_ne(vpa_histogram_checkpoint_hash(&other), vpa_histogram_checkpoint_hash(&h));
}

static const char *const interval_forms[] = {INTERVALS, FIRST_INTERVALS};

TEST_EACH(open_intervals_round_trip, interval_forms) {
    const vpa_time end = vpa_time_from_unix(1772517600, 0);
    struct vpa_open_intervals open;
    vpa_auto_buf text = VPA_BUF(VPA_OPEN_INTERVALS_TEXT_MAX);
    struct vpa_error err;

    ck_assert_int_eq(vpa_open_intervals_decode(&arena, interval_forms[_i], &open, &err), 0);
    ck_assert_uint_eq(open.history, 0x0badcafe);
    ck_assert_uint_eq(open.count, 3);
    ck_assert_uint_eq(open.items[0].pod_uid, 7);
    ck_assert(open.items[0].end == end + VPA_SECOND);
    ck_assert_int_eq(open.items[0].usage, 0);
    ck_assert_int_eq(open.items[0].oom, 209715200);
    ck_assert_uint_eq(open.items[1].pod_uid, 0x1a2b3c4d);
    ck_assert(open.items[1].end == end);
    ck_assert_int_eq(open.items[1].usage, 104857600);
    ck_assert_int_eq(open.items[1].oom, 0);
    ck_assert(open.items[2].end == end + 24 * VPA_HOUR);
    ck_assert_uint_eq(vpa_open_intervals_encode(&text, &open), 3);
    ck_assert_str_eq(vpa_buf_text(&text), INTERVALS);
}

/* Fractions of a second are cut, as in a time of its own. */
TEST(open_intervals_end_at_whole_seconds) {
    const vpa_time end = vpa_time_from_unix(1772517600, 0);
    const struct vpa_open_interval items[] = {{.pod_uid = 1, .end = end + VPA_SECOND - 1},
                                              {.pod_uid = 2, .end = end + VPA_SECOND},
                                              {.pod_uid = 3, .end = end + 2 * VPA_SECOND - 1}};
    const struct vpa_open_intervals open = {.items = items, .count = VPA_COUNT(items)};
    vpa_auto_buf text = VPA_BUF(VPA_OPEN_INTERVALS_TEXT_MAX);

    ck_assert_uint_eq(vpa_open_intervals_encode(&text, &open), 3);
    ck_assert_str_eq(vpa_buf_text(&text),
                     "{\"history\":\"00000000\",\"end\":\"2026-03-03T06:00:00Z\",\"peaks\":"
                     "[[1],[2,0,1],[3,0,1]]}");
}

TEST(no_open_intervals) {
    struct vpa_open_intervals open = {.history = 7};
    vpa_auto_buf text = VPA_BUF(VPA_OPEN_INTERVALS_TEXT_MAX);
    struct vpa_error err;

    ck_assert_uint_eq(vpa_open_intervals_encode(&text, &open), 0);
    ck_assert_str_eq(vpa_buf_text(&text), "{\"history\":\"00000007\",\"end\":null,\"peaks\":[]}");
    ck_assert_int_eq(vpa_open_intervals_decode(&arena, vpa_buf_text(&text), &open, &err), 0);
    ck_assert_uint_eq(open.history, 7);
    ck_assert_uint_eq(open.count, 0);
}

TEST(open_intervals_beyond_the_room_are_left_out) {
    static struct vpa_open_interval items[10000];
    struct vpa_open_intervals open = {.items = items, .count = VPA_COUNT(items)}, again;
    vpa_auto_buf text = VPA_BUF(2 * VPA_OPEN_INTERVALS_TEXT_MAX);
    struct vpa_error err;

    for (size_t i = 0; i < VPA_COUNT(items); i++)
        items[i] = (struct vpa_open_interval){.pod_uid = UINT32_MAX,
                                              .end = vpa_time_from_unix(1768478400, 0),
                                              .usage = INT64_MAX,
                                              .oom = INT64_MAX};
    items[0].end = VPA_TIME_UNSET + VPA_SECOND; /* the others end two thousand years later */
    size_t written = vpa_open_intervals_encode(&text, &open);
    ck_assert_uint_gt(written, 2500);
    ck_assert_uint_lt(written, 3500);
    ck_assert_uint_le(text.len, VPA_OPEN_INTERVALS_TEXT_MAX);
    ck_assert_int_eq(vpa_open_intervals_decode(&arena, vpa_buf_text(&text), &again, &err), 0);
    ck_assert_uint_eq(again.count, written);
}

#define INTERVAL(members)                                                                          \
    "{\"history\":\"0badcafe\",\"intervals\":[{\"pod\":\"p\",\"uid\":\"1a2b3c4d\","                \
    "\"end\":\"2026-03-03T06:00:00Z\"" members "}]}"

#define PEAKS(rows) "{\"history\":\"0badcafe\",\"end\":\"2026-03-03T06:00:00Z\",\"peaks\":" rows "}"

static const struct {
    const char *text;
    const char *error;
} bad_intervals[] = {
    {"", "line 1 column 1: unexpected end of text"},
    {"[]", "object expected, got array"},
    {"{}", "history: eight hex digits expected"},
    {"{\"history\":\"0badcafe\",\"intervals\":{}}", "intervals: array expected, got object"},
    {"{\"history\":\"0badcafe\",\"intervals\":[{\"uid\":\"1a2b3c4d\"}]}",
     "intervals[0].end: required, but absent"},
    {INTERVAL(",\"uid\":\"1A2B3C4D\""), "intervals[0].uid: eight hex digits expected"},
    {INTERVAL(",\"uid\":\"1a2b3c4\""), "intervals[0].uid: eight hex digits expected"},
    {INTERVAL(",\"end\":\"0001-01-01T00:00:00Z\""), "intervals[0].end: not a time that can be"},
    {INTERVAL(",\"usage\":-1"), "intervals[0].usage: a number of bytes expected"},
    {INTERVAL(",\"oom\":\"1Gi\""), "intervals[0].oom: a number of bytes expected"},
    {PEAKS("7"), "peaks: array expected, got number"},
    {PEAKS("[7]"), "peaks[0]: one to four whole numbers expected"},
    {PEAKS("[[7],[]]"), "peaks[1]: one to four whole numbers expected"},
    {PEAKS("[[1,2,3,4,5]]"), "peaks[0]: one to four whole numbers expected"},
    {PEAKS("[[1,\"1Gi\"]]"), "peaks[0]: one to four whole numbers expected"},
    {PEAKS("[[1,-1]]"), "peaks[0]: one to four whole numbers expected"},
    {PEAKS("[[4294967296]]"), "peaks[0]: one to four whole numbers expected"},
    {PEAKS("[[1,1,316224000001]]"), "peaks[0]: one to four whole numbers expected"},
    {"{\"history\":\"0badcafe\",\"peaks\":[[1]]}", "peaks[0].end: not a time that can be"},
    {"{\"history\":\"0badcafe\",\"end\":\"noon\",\"peaks\":[]}",
     "end: parsing time \"noon\": not an RFC 3339 time"},
};

TEST_EACH(refuses_open_intervals, bad_intervals) {
    struct vpa_open_intervals open;
    struct vpa_error err;

    ck_assert_int_lt(vpa_open_intervals_decode(&arena, bad_intervals[_i].text, &open, &err), 0);
    ck_assert_str_eq(err.text, bad_intervals[_i].error);
}

int main(void)
{
    return run_tests("checkpoint", NULL, release_arena);
}
