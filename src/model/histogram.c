/*
 * Histograms that remember a workload in a few hundred bytes.
 *
 * The problem: keep the distribution of weeks of samples, merge the distributions of replicas, and
 * ask for percentiles, for 100,000 containers at once. The answer is a histogram whose buckets grow
 * by 5 % each: 176 of them span 10 millicores to 1,000 cores, so a percentile is never more than 5
 * % too high, and two histograms are merged by adding weights.
 *
 * Representation. 176 doubles would be 1.4 KB for every resource of every container, while a real
 * workload touches 10 to 30 neighbouring buckets. So only the span base .. base + span - 1 that
 * ever held weight is stored, in one heap block that grows when a sample lands outside of it
 * (rarely: the span of a workload settles in its first day). Where that would store more gaps than
 * weights, the block begins with one bit for each bucket of the span, and only those whose bit is
 * set are stored, in their order: a job that did nothing in its first second and much in the next
 * has two weights twenty buckets apart. A single bucket needs no block: many jobs leave one sample.
 * Bucket borders are common to all histograms and live in the options.
 *
 * Invariants.
 *   - every bucket outside of the span weighs exactly 0
 *   - min .. max is the *visible* range: the reference implementation narrows it when an edge
 *     bucket falls below epsilon, but leaves the weight in the bucket and in the total. Such
 *     residues are neither scaled nor merged nor saved, yet they count in percentiles through the
 *     total, and they come back into view when the range grows over them. Results equal the
 *     reference's to the last bit, so this is kept exactly; the span therefore never shrinks with
 *     the range.
 *   - expressions are evaluated in the order of the specification, one rounding per operation
 *
 * Borders are those of the reference too: find_bucket(bucket_start(i)) is i - 1 for most i, because
 * the logarithm and the power round differently. Both are needed as they are.
 */
#include "vpa/model/histogram.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/math.h"
#include "vpa/base/mem.h"

/* ---- options ---- */

static int check_bucket_count(double count, struct vpa_error *err)
{
    if (!(count < VPA_HISTOGRAM_BUCKETS_MAX))
        return vpa_fail(err, VPA_LIMIT, "histogram options need more than %u buckets",
                        VPA_HISTOGRAM_BUCKETS_MAX);
    return 0;
}

/* How many times the first bucket's width must grow by ratio until the sum of widths reaches value.
 */
static double exponential_position(const struct vpa_histogram_options *o, double value)
{
    return vpa_log(value * (o->ratio - 1.0) / o->first + 1.0) / o->log_ratio;
}

int vpa_histogram_options_init_exponential(struct vpa_histogram_options *o, double max,
                                           double first, double ratio, double epsilon,
                                           struct vpa_error *err)
{
    struct vpa_histogram_options made = {.kind = VPA_HISTOGRAM_EXPONENTIAL,
                                         .epsilon = epsilon,
                                         .max = max,
                                         .first = first,
                                         .ratio = ratio};

    if (!(max > 0.0) || !(first > 0.0) || !(ratio > 1.0) || !(epsilon > 0.0))
        return vpa_fail(err, VPA_INVALID,
                        "maxValue, firstBucketSize and epsilon must be > 0.0, ratio must be > 1.0");
    made.log_ratio = vpa_log(ratio);
    double count = ceil(exponential_position(&made, max)) + 1.0;
    if (check_bucket_count(count, err) < 0)
        return -1;

    made.buckets = (uint32_t)count;
    made.starts = vpa_xmalloc(made.buckets * sizeof(*made.starts));
    made.starts[0] = 0.0;
    for (uint32_t i = 1; i < made.buckets; i++)
        made.starts[i] = first * (vpa_pow(ratio, i) - 1.0) / (ratio - 1.0);
    *o = made;
    return 0;
}

int vpa_histogram_options_init_linear(struct vpa_histogram_options *o, double max, double size,
                                      double epsilon, struct vpa_error *err)
{
    if (!(max > 0.0) || !(size > 0.0) || !(epsilon > 0.0))
        return vpa_fail(err, VPA_INVALID, "maxValue and bucketSize must both be positive");
    double count = ceil(max / size) + 1.0;
    if (check_bucket_count(count, err) < 0)
        return -1;

    *o = (struct vpa_histogram_options){.kind = VPA_HISTOGRAM_LINEAR,
                                        .buckets = (uint32_t)count,
                                        .epsilon = epsilon,
                                        .max = max,
                                        .first = size};
    return 0;
}

void vpa_histogram_options_release(struct vpa_histogram_options *o)
{
    vpa_free_indirect(&o->starts);
}

bool vpa_histogram_options_equal(const struct vpa_histogram_options *a,
                                 const struct vpa_histogram_options *b)
{
    return a == b || (a->kind == b->kind && a->buckets == b->buckets && a->epsilon == b->epsilon &&
                      a->max == b->max && a->first == b->first && a->ratio == b->ratio);
}

/* Truncated and clamped to the buckets; NaN gives the first one. */
static uint32_t clamp_bucket(const struct vpa_histogram_options *o, double position)
{
    if (position >= (double)o->buckets)
        return o->buckets - 1;
    return position > 0.0 ? (uint32_t)position : 0;
}

uint32_t vpa_histogram_find_bucket(const struct vpa_histogram_options *o, double value)
{
    if (o->kind == VPA_HISTOGRAM_LINEAR)
        return clamp_bucket(o, value / o->first);
    if (value < o->first)
        return 0;
    return clamp_bucket(o, exponential_position(o, value));
}

double vpa_histogram_bucket_start(const struct vpa_histogram_options *o, uint32_t index)
{
    assert(index < o->buckets);
    return o->kind == VPA_HISTOGRAM_LINEAR ? (double)index * o->first : o->starts[index];
}

/* ---- storage ---- */

void vpa_histogram_init(struct vpa_histogram *h, const struct vpa_histogram_options *options)
{
    *h = (struct vpa_histogram){.options = options, .min = options->buckets - 1};
}

static bool has_block(const struct vpa_histogram *h)
{
    return h->span > 1;
}

/* Without gaps. */
static double *cells(struct vpa_histogram *h)
{
    return has_block(h) ? h->weights.many : &h->weights.one;
}

static const double *read_cells(const struct vpa_histogram *h)
{
    return has_block(h) ? h->weights.many : &h->weights.one;
}

/* ---- storage with gaps ---- */

#define WORD_BITS 64
#define GAPS_SPAN_MAX 256 /* wider ones have no gaps */

static uint32_t words_of(uint32_t span)
{
    return (span + WORD_BITS - 1) / WORD_BITS;
}

/* How many of the first places of the span are stored. */
static uint32_t stored_before(const uint64_t *bits, uint32_t place)
{
    uint32_t count = 0, word = 0;

    for (; word < place / WORD_BITS; word++)
        count += (uint32_t)__builtin_popcountll(bits[word]);
    if (place % WORD_BITS)
        count += (uint32_t)__builtin_popcountll(bits[word] << (WORD_BITS - place % WORD_BITS));
    return count;
}

static bool is_stored(const uint64_t *bits, uint32_t place)
{
    return bits[place / WORD_BITS] >> place % WORD_BITS & 1;
}

/* NULL: it never held weight. */
static const double *read_cell(const struct vpa_histogram *h, uint32_t bucket)
{
    uint32_t place = bucket - h->base; /* below base it wraps to a huge number */

    if (place >= h->span)
        return NULL;
    if (!h->gaps)
        return &read_cells(h)[place];
    const uint64_t *bits = h->weights.some;
    return is_stored(bits, place)
               ? (const double *)(bits + words_of(h->span)) + stored_before(bits, place)
               : NULL;
}

static double *cell(struct vpa_histogram *h, uint32_t bucket)
{
    return (double *)read_cell(h, bucket);
}

static uint32_t stored_count(const struct vpa_histogram *h)
{
    return h->gaps ? stored_before(h->weights.some, h->span) : h->span;
}

static void set_span(struct vpa_histogram *h, uint32_t base, uint32_t span)
{
    h->base = base;
    h->span = span & INT32_MAX; /* it has a bit less */
}

/* The stored weights and one of 0 more, for the bucket; the span becomes the given one. */
static void store_with_gaps(struct vpa_histogram *h, uint32_t base, uint32_t span, uint32_t bucket)
{
    const uint32_t words = words_of(span);
    uint64_t *bits = vpa_xcalloc(words + stored_count(h) + 1, sizeof(*bits));
    double *next = (double *)(bits + words);

    for (uint32_t place = 0; place < span; place++) {
        const double *weight = read_cell(h, base + place);

        if (!weight && base + place != bucket)
            continue;
        bits[place / WORD_BITS] |= (uint64_t)1 << place % WORD_BITS;
        *next++ = weight ? *weight : 0.0;
    }
    vpa_histogram_release(h);
    h->weights.some = bits;
    set_span(h, base, span);
    h->gaps = true;
}

static void fill_gaps(struct vpa_histogram *h)
{
    if (!h->gaps)
        return;
    double *weights = vpa_xcalloc(h->span, sizeof(*weights));

    for (uint32_t place = 0; place < h->span; place++)
        weights[place] = vpa_histogram_weight(h, h->base + place);
    free(h->weights.some);
    h->weights.many = weights;
    h->gaps = false;
}

/* ---- both ---- */

void vpa_histogram_release(struct vpa_histogram *h)
{
    if (has_block(h))
        free(h->gaps ? (void *)h->weights.some : h->weights.many);
    h->span = 0;
    h->gaps = false;
}

void vpa_histogram_clear(struct vpa_histogram *h)
{
    vpa_histogram_release(h);
    vpa_histogram_init(h, h->options);
}

double vpa_histogram_weight(const struct vpa_histogram *h, uint32_t bucket)
{
    const double *weight = read_cell(h, bucket);

    return weight ? *weight : 0.0;
}

/* Room for so many buckets, more than there were; those that there were come first. */
static double *grow(struct vpa_histogram *h, uint32_t span)
{
    if (span == 1)
        return &h->weights.one;
    double *weights =
        vpa_xreallocarray(has_block(h) ? h->weights.many : NULL, span, sizeof(*weights));
    if (h->span == 1)
        weights[0] = h->weights.one;
    h->weights.many = weights;
    return weights;
}

/*
 * Makes first .. last part of the span, which has no gaps then. The span is kept odd where
 * possible: blocks of the C library come in 24, 40, 56, ... bytes, so that an even number of
 * doubles wastes one.
 */
static void cover(struct vpa_histogram *h, uint32_t first, uint32_t last)
{
    uint32_t base = h->span && h->base < first ? h->base : first;
    uint32_t end = h->span && h->base + h->span > last + 1 ? h->base + h->span : last + 1;

    fill_gaps(h);
    if (h->span && base == h->base && end == h->base + h->span)
        return;
    if ((end - base) % 2 == 0) {
        if (end < h->options->buckets)
            end++;
        else if (base > 0)
            base--;
    }
    uint32_t span = end - base;
    double *weights = grow(h, span);
    uint32_t shift = h->span ? h->base - base : 0;
    if (shift)
        memmove(weights + shift, weights, h->span * sizeof(*weights));
    for (uint32_t i = 0; i < shift; i++)
        weights[i] = 0.0;
    for (uint32_t i = shift + h->span; i < span; i++)
        weights[i] = 0.0;
    set_span(h, base, span);
}

/* Stored, however little it weighs. */
static double *weight_at(struct vpa_histogram *h, uint32_t bucket)
{
    if (!read_cell(h, bucket)) {
        uint32_t base = h->span && h->base < bucket ? h->base : bucket;
        uint32_t end = h->span && h->base + h->span > bucket ? h->base + h->span : bucket + 1;
        uint32_t span = end - base;

        /* Only where it saves half of the block. */
        if (span <= GAPS_SPAN_MAX && words_of(span) + stored_count(h) + 1 <= span / 2)
            store_with_gaps(h, base, span, bucket);
        else
            cover(h, bucket, bucket);
    }
    return cell(h, bucket);
}

/* Narrows the visible range past buckets lighter than epsilon. */
static void trim(struct vpa_histogram *h)
{
    double epsilon = h->options->epsilon;
    uint32_t last = h->options->buckets - 1;

    while (h->min < last && vpa_histogram_weight(h, h->min) < epsilon)
        h->min++;
    while (h->max > 0 && vpa_histogram_weight(h, h->max) < epsilon)
        h->max--;
}

/* Anything below epsilon, negative differences included, becomes exactly 0. */
static double safe_subtract(const struct vpa_histogram *h, double a, double b)
{
    double difference = a - b;

    return difference < h->options->epsilon ? 0.0 : difference;
}

/* ---- operations ---- */

void vpa_histogram_add(struct vpa_histogram *h, double value, double weight)
{
    uint32_t bucket = vpa_histogram_find_bucket(h->options, value);
    double *w = weight_at(h, bucket);

    assert(!(weight < 0.0));
    *w += weight;
    h->total += weight;
    if (*w >= h->options->epsilon) {
        if (bucket < h->min)
            h->min = bucket;
        if (bucket > h->max)
            h->max = bucket;
    }
}

void vpa_histogram_subtract(struct vpa_histogram *h, double value, double weight)
{
    uint32_t bucket = vpa_histogram_find_bucket(h->options, value);

    assert(!(weight < 0.0));
    h->total = safe_subtract(h, h->total, weight);
    double *w = cell(h, bucket);
    if (w) /* elsewhere 0 minus something stays 0 */
        *w = safe_subtract(h, *w, weight);
    trim(h);
}

/* Buckets of the visible range that are stored; false when there is none. */
static bool visible(const struct vpa_histogram *h, uint32_t *first, uint32_t *last)
{
    *first = h->min > h->base ? h->min : h->base;
    *last = h->max < h->base + h->span - 1 ? h->max : h->base + h->span - 1;
    return h->span && *first <= *last;
}

void vpa_histogram_scale(struct vpa_histogram *h, double factor)
{
    uint32_t first;
    uint32_t last;

    assert(!(factor < 0.0));
    if (visible(h, &first, &last)) {
        for (uint32_t b = first; b <= last; b++) {
            double *weight = cell(h, b);
            if (weight)
                *weight *= factor;
        }
    }
    h->total *= factor;
    trim(h);
}

void vpa_histogram_merge(struct vpa_histogram *h, const struct vpa_histogram *other)
{
    uint32_t first;
    uint32_t last;

    assert(vpa_histogram_options_equal(h->options, other->options));
    if (visible(other, &first, &last)) {
        cover(h, first, last);
        double *weights = cells(h);
        if (other->gaps) {
            for (uint32_t b = first; b <= last; b++)
                weights[b - h->base] += vpa_histogram_weight(other, b);
        } else {
            const double *added = read_cells(other);
            for (uint32_t b = first; b <= last; b++)
                weights[b - h->base] += added[b - other->base];
        }
    }
    h->total += other->total;
    if (other->min < h->min)
        h->min = other->min;
    if (other->max > h->max)
        h->max = other->max;
}

void vpa_histogram_take_out(struct vpa_histogram *h, const struct vpa_histogram *other)
{
    uint32_t first;
    uint32_t last;

    assert(vpa_histogram_options_equal(h->options, other->options));
    if (!visible(h, &first, &last))
        return;
    for (uint32_t b = first; b <= last; b++) {
        double *weight = cell(h, b);
        if (!weight)
            continue;
        double left = safe_subtract(h, *weight, vpa_histogram_weight(other, b));
        h->total -= *weight - left;
        *weight = left;
    }
    trim(h);
}

double vpa_histogram_percentile(const struct vpa_histogram *h, double p)
{
    if (vpa_histogram_is_empty(h))
        return 0.0;

    double threshold = p * h->total;
    double sum = 0.0;
    uint32_t b = h->min;
    for (; b < h->max; b++) {
        sum += vpa_histogram_weight(h, b);
        if (sum >= threshold)
            break;
    }
    return vpa_histogram_bucket_start(h->options, b < h->options->buckets - 1 ? b + 1 : b);
}

bool vpa_histogram_is_empty(const struct vpa_histogram *h)
{
    return vpa_histogram_weight(h, h->min) < h->options->epsilon;
}

/* ---- stored form ---- */

size_t vpa_histogram_save_max(const struct vpa_histogram *h)
{
    uint32_t first;
    uint32_t last;

    return visible(h, &first, &last) ? last - first + 1 : 0;
}

size_t vpa_histogram_save(const struct vpa_histogram *h, struct vpa_bucket_weight *entries)
{
    uint32_t first;
    uint32_t last;
    double heaviest = 0.0;
    size_t count = 0;

    if (!visible(h, &first, &last))
        return 0;
    for (uint32_t b = first; b <= last; b++) {
        double w = vpa_histogram_weight(h, b);
        if (w > heaviest)
            heaviest = w;
    }
    double ratio = (double)VPA_HISTOGRAM_CHECKPOINT_WEIGHT / heaviest;
    for (uint32_t b = first; b <= last; b++) {
        int64_t weight = vpa_hround(vpa_histogram_weight(h, b) * ratio);
        if (weight > 0)
            entries[count++] = (struct vpa_bucket_weight){b, (uint32_t)weight};
    }
    return count;
}

int vpa_histogram_load(struct vpa_histogram *h, const struct vpa_bucket_weight *entries,
                       size_t count, double total_weight, struct vpa_error *err)
{
    int64_t sum = 0;

    if (!(total_weight >= 0.0)) { /* NaN too */
        char text[VPA_DOUBLE_TEXT_MAX];
        vpa_double_format_go(total_weight, text);
        return vpa_fail(err, VPA_INVALID, "cannot load checkpoint with negative weight %s", text);
    }
    for (size_t i = 0; i < count; i++) {
        if (entries[i].bucket >= (int64_t)h->options->buckets)
            return vpa_fail(err, VPA_INVALID,
                            "checkpoint has bucket %lld that is exceeding histogram buckets %u",
                            (long long)entries[i].bucket, h->options->buckets);
        if (entries[i].bucket < 0)
            return vpa_fail(err, VPA_INVALID, "checkpoint has a negative bucket %lld",
                            (long long)entries[i].bucket);
        sum += entries[i].weight;
    }
    if (sum == 0)
        return 0;

    double ratio = total_weight / (double)sum;
    for (size_t i = 0; i < count; i++) {
        uint32_t b = (uint32_t)entries[i].bucket;
        if (b < h->min)
            h->min = b;
        if (b > h->max)
            h->max = b;
        *weight_at(h, b) += (double)entries[i].weight * ratio;
    }
    h->total += total_weight;
    trim(h); /* rounding may have taken an edge below epsilon, which would look like an empty
                histogram */
    return 0;
}
