/*
 * Buckets are a JSON object of index to weight, encoded in order of the index as text, as Go's
 * encoder orders the keys of a map. Whatever a stored object may hold (an index out of range, a
 * negative weight, a time that does not exist) is an error that names the place, never a silent
 * repair.
 */
#include "vpa/api/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoders.h"
#include "vpa/api/vpa.h"
#include "vpa/base/table.h"

/* ---- histogram ---- */

/* Optional sign and digits in the int64 range: "07" and "+7" are 7. *canonical: the text is the
 * only one for that number. */
static bool read_bucket(const char *text, int64_t *out, bool *canonical)
{
    const char *digits = text + (*text == '-' || *text == '+');

    *canonical = *text != '+' && (*digits != '0' || strcmp(text, "0") == 0);

    if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits))
        return false;
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == 0;
}

/* A plain integer text: no sign, point or exponent; null is 0. */
static bool read_weight(const struct vpa_json *node, uint32_t *out)
{
    const char *text = vpa_json_number_text(node);
    int64_t n = 0;

    if (!vpa_json_is_null(node) && (!vpa_json_int64(node, &n) || *text == '-' || n > UINT32_MAX))
        return false;
    *out = (uint32_t)n;
    return true;
}

static int compare_buckets(const void *a, const void *b)
{
    const struct vpa_bucket_weight *x = a, *y = b;

    return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

/* Enters the weight; an earlier one of the same bucket ("1" before "01") gives way. */
static void enter(struct vpa_bucket_weight *items, size_t *count, struct vpa_bucket_weight entry)
{
    for (size_t i = 0; i < *count; i++) {
        if (items[i].bucket == entry.bucket) {
            items[i] = entry;
            return;
        }
    }
    items[(*count)++] = entry;
}

static int decode_weights(struct vpa_arena *arena, const struct vpa_json *node,
                          struct vpa_histogram_checkpoint *out, struct vpa_error *err)
{
    size_t members = vpa_json_count(node), count = 0;
    struct vpa_bucket_weight *items = NULL;
    bool canonical, search = false;

    if (!vpa_json_is_null(node) && !vpa_json_is_object(node))
        return vpa_json_wrong_type(node, "object", err);
    if (members > VPA_CHECKPOINT_BUCKETS_MAX)
        return vpa_fail(err, VPA_INVALID, "more than %d buckets", VPA_CHECKPOINT_BUCKETS_MAX);
    if (members)
        items = vpa_arena_alloc(arena, members * sizeof(*items));
    vpa_json_foreach (member, node) {
        struct vpa_bucket_weight entry;

        if (!read_bucket(vpa_json_name(member), &entry.bucket, &canonical))
            return vpa_fail(err, VPA_INVALID, "bucket \"%.100s\" is no integer",
                            vpa_json_name(member));
        if (!read_weight(member, &entry.weight))
            return vpa_fail(err, VPA_INVALID, "bucket %" PRId64 ": weight is no 32-bit integer",
                            entry.bucket);
        search |= !canonical; /* members with canonical names alone are all different */
        if (search)
            enter(items, &count, entry);
        else
            items[count++] = entry;
    }
    if (count > 1)
        qsort(items, count, sizeof(*items), compare_buckets);
    out->buckets = items;
    out->bucket_count = count;
    return 0;
}

static const struct vpa_json_field histogram_fields[] = {
    VPA_JSON_TIME(struct vpa_histogram_checkpoint, reference, "referenceTimestamp", 0),
    VPA_JSON_DOUBLE(struct vpa_histogram_checkpoint, total_weight, "totalWeight", 0),
};
static const struct vpa_json_shape histogram_shape =
    VPA_JSON_SHAPE(struct vpa_histogram_checkpoint, histogram_fields);

int vpa_histogram_checkpoint_decode(struct vpa_arena *arena, const struct vpa_json *node,
                                    struct vpa_histogram_checkpoint *out, struct vpa_error *err)
{
    struct vpa_histogram_checkpoint histogram = {.present = !vpa_json_is_null(node)};

    if (vpa_json_decode(arena, node, &histogram_shape, &histogram, err) < 0)
        return -1;
    if (decode_weights(arena, vpa_json_find(node, "bucketWeights"), &histogram, err) < 0)
        return vpa_wrap(err, "bucketWeights");
    *out = histogram;
    return 0;
}

struct keyed_weight {
    char key[24];
    uint32_t weight;
};

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct keyed_weight *)a)->key, ((const struct keyed_weight *)b)->key);
}

static void encode_weights(struct vpa_json_writer *w,
                           const struct vpa_histogram_checkpoint *histogram)
{
    size_t count = histogram->bucket_count;
    vpa_auto_free struct keyed_weight *sorted = vpa_xreallocarray(NULL, count, sizeof(*sorted));

    for (size_t i = 0; i < count; i++) {
        snprintf(sorted[i].key, sizeof(sorted[i].key), "%" PRId64, histogram->buckets[i].bucket);
        sorted[i].weight = histogram->buckets[i].weight;
    }
    qsort(sorted, count, sizeof(*sorted), compare_keys);
    vpa_json_member_object(w, "bucketWeights");
    for (size_t i = 0; i < count; i++) {
        vpa_json_key(w, sorted[i].key);
        vpa_json_put_uint(w, sorted[i].weight);
    }
    vpa_json_close_object(w);
}

void vpa_histogram_checkpoint_encode(struct vpa_json_writer *w,
                                     const struct vpa_histogram_checkpoint *histogram)
{
    vpa_json_open_object(w);
    vpa_json_member_time(w, "referenceTimestamp", histogram->reference);
    if (histogram->bucket_count)
        encode_weights(w, histogram);
    if (histogram->total_weight != 0) {
        vpa_json_member_double(w, "totalWeight", histogram->total_weight);
    }
    vpa_json_close_object(w);
}

uint32_t vpa_histogram_checkpoint_hash(const struct vpa_histogram_checkpoint *histogram)
{
    double total = histogram->total_weight + 0.0; /* no negative zero */
    uint32_t hash = vpa_hash_stable("");
    uint64_t bits;

    memcpy(&bits, &total, sizeof(bits));
    hash = vpa_hash_stable_add(hash, bits);
    hash = vpa_hash_stable_add(hash, (uint64_t)(histogram->reference / VPA_SECOND));
    for (size_t i = 0; i < histogram->bucket_count; i++) {
        hash = vpa_hash_stable_add(hash, (uint64_t)histogram->buckets[i].bucket);
        hash = vpa_hash_stable_add(hash, histogram->buckets[i].weight);
    }
    return hash;
}

/* ---- object ---- */

VPA_JSON_DECODER(decode_histogram, vpa_histogram_checkpoint_decode)

static const struct vpa_json_field status_fields[] = {
    VPA_JSON_TIME(struct vpa_checkpoint_status, last_update, "lastUpdateTime", 0),
    VPA_JSON_STRING(struct vpa_checkpoint_status, version, "version", 0),
    VPA_JSON_CUSTOM(struct vpa_checkpoint_status, cpu, "cpuHistogram", decode_histogram),
    VPA_JSON_CUSTOM(struct vpa_checkpoint_status, memory, "memoryHistogram", decode_histogram),
    VPA_JSON_TIME(struct vpa_checkpoint_status, first_sample_start, "firstSampleStart", 0),
    VPA_JSON_TIME(struct vpa_checkpoint_status, last_sample_start, "lastSampleStart", 0),
    VPA_JSON_INT64(struct vpa_checkpoint_status, total_samples_count, "totalSamplesCount", 0),
};
static const struct vpa_json_shape status_shape =
    VPA_JSON_SHAPE(struct vpa_checkpoint_status, status_fields);

static const struct vpa_json_field checkpoint_fields[] = {
    VPA_JSON_META(struct vpa_checkpoint, meta),
    VPA_JSON_STRING(struct vpa_checkpoint, vpa_object_name, "spec.vpaObjectName", 0),
    VPA_JSON_STRING(struct vpa_checkpoint, container_name, "spec.containerName", 0),
    VPA_JSON_PRESENT(struct vpa_checkpoint, has_status, "status"),
    VPA_JSON_NESTED(struct vpa_checkpoint, status, "status", &status_shape, 0),
};
static const struct vpa_json_shape checkpoint_shape =
    VPA_JSON_SHAPE(struct vpa_checkpoint, checkpoint_fields);

int vpa_checkpoint_decode(struct vpa_arena *arena, const struct vpa_json *object,
                          struct vpa_checkpoint *out, struct vpa_error *err)
{
    return vpa_json_decode_object(arena, object, &checkpoint_shape, out, err);
}

void vpa_checkpoint_status_encode(struct vpa_json_writer *w,
                                  const struct vpa_checkpoint_status *status)
{
    vpa_json_open_object(w);
    vpa_json_member_time(w, "lastUpdateTime", status->last_update);
    vpa_json_member_string_opt(w, "version", status->version);
    vpa_json_key(w, "cpuHistogram");
    vpa_histogram_checkpoint_encode(w, &status->cpu);
    vpa_json_key(w, "memoryHistogram");
    vpa_histogram_checkpoint_encode(w, &status->memory);
    vpa_json_member_time(w, "firstSampleStart", status->first_sample_start);
    vpa_json_member_time(w, "lastSampleStart", status->last_sample_start);
    vpa_json_member_int_opt(w, "totalSamplesCount", status->total_samples_count);
    vpa_json_close_object(w);
}

void vpa_checkpoint_encode(struct vpa_json_writer *w, const struct vpa_checkpoint *checkpoint)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "kind", "VerticalPodAutoscalerCheckpoint");
    vpa_json_member_string(w, "apiVersion", VPA_GROUP_VERSION);
    vpa_json_member_object(w, "metadata");
    vpa_json_member_string_opt(w, "name", checkpoint->meta.name);
    vpa_json_close_object(w);
    vpa_json_member_object(w, "spec");
    vpa_json_member_string_opt(w, "vpaObjectName", checkpoint->vpa_object_name);
    vpa_json_member_string_opt(w, "containerName", checkpoint->container_name);
    vpa_json_close_object(w);
    vpa_json_key(w, "status");
    vpa_checkpoint_status_encode(w, &checkpoint->status);
    vpa_json_close_object(w);
}

/* ---- open intervals ---- */

/* Longest row, with its comma and what closes the text. */
#define OPEN_INTERVAL_TEXT_MAX 96
/* Between two ends, in seconds: ten thousand years. */
#define OPEN_INTERVAL_LATER_MAX ((int64_t)10000 * 366 * 86400)

static void put_hash(struct vpa_json_writer *w, const char *name, uint32_t hash)
{
    char text[9];

    snprintf(text, sizeof(text), "%08" PRIx32, hash);
    vpa_json_member_string(w, name, text);
}

/* Rows say how much later each interval ends. */
static vpa_time earliest_end(const struct vpa_open_intervals *intervals)
{
    vpa_time end = VPA_TIME_UNSET;

    for (size_t i = 0; i < intervals->count; i++)
        if (i == 0 || intervals->items[i].end < end)
            end = intervals->items[i].end;
    return end - end % VPA_SECOND;
}

static void put_peak(struct vpa_json_writer *w, const struct vpa_open_interval *item, vpa_time end)
{
    int64_t row[] = {item->pod_uid, item->usage, (int64_t)((item->end - end) / VPA_SECOND),
                     item->oom};
    size_t count = VPA_COUNT(row);

    while (row[count - 1] == 0 && count > 1)
        count--;
    vpa_json_open_array(w);
    for (size_t i = 0; i < count; i++)
        vpa_json_put_int(w, row[i]);
    vpa_json_close_array(w);
}

size_t vpa_open_intervals_encode(struct vpa_buf *out, const struct vpa_open_intervals *intervals)
{
    vpa_time end = earliest_end(intervals);
    struct vpa_json_writer w;
    size_t before = out->len, i = 0;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    put_hash(&w, "history", intervals->history);
    vpa_json_member_time(&w, "end", end);
    vpa_json_member_array(&w, "peaks");
    for (; i < intervals->count; i++) {
        if (out->len - before + OPEN_INTERVAL_TEXT_MAX > VPA_OPEN_INTERVALS_TEXT_MAX)
            break;
        put_peak(&w, &intervals->items[i], end);
    }
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
    return i;
}

static int decode_hash(struct vpa_arena *arena, const struct vpa_json *node, void *out,
                       struct vpa_error *err)
{
    const char *text = vpa_json_string(node);

    (void)arena;
    if (!text || strlen(text) != 8 || strspn(text, "0123456789abcdef") != 8)
        return vpa_fail(err, VPA_INVALID, "eight hex digits expected");
    *(uint32_t *)out = (uint32_t)strtoul(text, NULL, 16);
    return 0;
}

static int decode_peak(struct vpa_arena *arena, const struct vpa_json *node, void *out,
                       struct vpa_error *err)
{
    int64_t *peak = out;

    (void)arena;
    *peak = 0;
    if (vpa_json_is_null(node) || (vpa_json_int64(node, peak) && *peak >= 0))
        return 0;
    return vpa_fail(err, VPA_INVALID, "a number of bytes expected");
}

/* [UID hash, usage, seconds after the end, OOM peak], see the header. */
static bool read_row(const struct vpa_json *row, vpa_time end, struct vpa_open_interval *out)
{
    int64_t numbers[4] = {0};
    size_t count = 0;

    if (!vpa_json_is_array(row) || vpa_json_count(row) > VPA_COUNT(numbers))
        return false;
    vpa_json_foreach (number, row)
        if (!vpa_json_int64(number, &numbers[count]) || numbers[count++] < 0)
            return false;
    if (count == 0 || numbers[0] > UINT32_MAX || numbers[2] > OPEN_INTERVAL_LATER_MAX)
        return false;
    *out = (struct vpa_open_interval){.pod_uid = (uint32_t)numbers[0],
                                      .end = end + (vpa_time)numbers[2] * VPA_SECOND,
                                      .usage = numbers[1],
                                      .oom = numbers[3]};
    return true;
}

static int decode_peaks(struct vpa_arena *arena, const struct vpa_json *rows, vpa_time end,
                        struct vpa_open_intervals *out, struct vpa_error *err)
{
    struct vpa_open_interval *items = vpa_arena_alloc(arena, vpa_json_count(rows) * sizeof(*items));
    size_t count = 0;

    if (!vpa_json_is_array(rows)) {
        vpa_json_wrong_type(rows, "array", err);
        return vpa_wrap(err, "peaks");
    }
    vpa_json_foreach (row, rows) {
        if (!read_row(row, end, &items[count]))
            return vpa_fail(err, VPA_INVALID, "peaks[%zu]: one to four whole numbers expected",
                            count);
        count++;
    }
    out->items = items;
    out->count = count;
    return 0;
}

/* The first form. */
static const struct vpa_json_field interval_fields[] = {
    VPA_JSON_CUSTOM(struct vpa_open_interval, pod_uid, "uid", decode_hash),
    VPA_JSON_TIME(struct vpa_open_interval, end, "end", VPA_JSON_REQUIRED),
    VPA_JSON_CUSTOM(struct vpa_open_interval, usage, "usage", decode_peak),
    VPA_JSON_CUSTOM(struct vpa_open_interval, oom, "oom", decode_peak),
};
static const struct vpa_json_shape interval_shape =
    VPA_JSON_SHAPE(struct vpa_open_interval, interval_fields);

struct open_intervals_text {
    struct vpa_open_intervals open;
    vpa_time end;
};
static const struct vpa_json_field intervals_fields[] = {
    VPA_JSON_CUSTOM(struct open_intervals_text, open.history, "history", decode_hash),
    VPA_JSON_TIME(struct open_intervals_text, end, "end", 0),
    VPA_JSON_ARRAY_OF(struct open_intervals_text, open.items, open.count, "intervals",
                      &interval_shape, VPA_JSON_LONG),
};
static const struct vpa_json_shape intervals_shape =
    VPA_JSON_SHAPE(struct open_intervals_text, intervals_fields);

int vpa_open_intervals_decode(struct vpa_arena *arena, const char *text,
                              struct vpa_open_intervals *out, struct vpa_error *err)
{
    struct open_intervals_text read;
    const struct vpa_json *root, *peaks;

    if (vpa_json_parse(arena, text, strlen(text), &root, err) < 0)
        return -1;
    if (vpa_json_decode_object(arena, root, &intervals_shape, &read, err) < 0)
        return -1;
    peaks = vpa_json_find(root, "peaks");
    if (peaks && decode_peaks(arena, peaks, read.end, &read.open, err) < 0)
        return -1;
    for (size_t i = 0; i < read.open.count; i++)
        if (read.open.items[i].end <= VPA_TIME_UNSET)
            return vpa_fail(err, VPA_INVALID, "%s[%zu].end: not a time that can be",
                            peaks ? "peaks" : "intervals", i);
    *out = read.open;
    return 0;
}
