/*
 * Decay by inflation, as in decay.c: old weights stay, new samples weigh 2^((t - ref) / half-life),
 * and the reference moves when that grows large. Here nothing has to equal upstream's digits, so
 * the reference is simply the first sample's time, and weights that became nothing are nothing.
 *
 * Geometric buckets have the same relative width everywhere: a percentile is at most 5 % above the
 * value, be it a millicore or a hundred cores. (Upstream's buckets begin with a width of 10
 * millicores, which is a thousand per cent of the smallest containers.)
 */
#include "vpa/model/load_histogram.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/math.h"
#include "vpa/base/mem.h"

/* A value that is a bucket's end but for rounding belongs to that bucket. */
#define EDGE 1e-9
#define EXPONENT_MAX 100.0
/* Further spans are allocated in steps, so that a slowly growing container does not copy its
 * histogram for each new bucket. */
#define SPAN_STEP 8

void vpa_buckets_init(struct vpa_buckets *b, double low, double high)
{
    b->low = low;
    b->log_ratio = vpa_log(VPA_BUCKETS_RATIO);
    b->count = (uint32_t)ceil(vpa_log(high / low) / b->log_ratio) + 2;
    assert(b->count <= VPA_BUCKETS_MAX);
    for (uint32_t k = 0; k < b->count; k++)
        b->ends[k] = low * vpa_pow(VPA_BUCKETS_RATIO, k);
}

uint32_t vpa_buckets_find(const struct vpa_buckets *b, double value)
{
    if (!(value > b->low))
        return 0;
    if (value >= b->ends[b->count - 1])
        return b->count - 1;
    return (uint32_t)ceil(vpa_log(value / b->low) / b->log_ratio - EDGE);
}

double vpa_buckets_round_up(const struct vpa_buckets *b, double value)
{
    return b->ends[vpa_buckets_find(b, value)];
}

void vpa_load_histogram_init(struct vpa_load_histogram *h, const struct vpa_buckets *buckets,
                             vpa_duration half_life)
{
    *h = (struct vpa_load_histogram){
        .buckets = buckets,
        .half_life = half_life,
        .ref = VPA_TIME_UNSET,
    };
}

void vpa_load_histogram_release(struct vpa_load_histogram *h)
{
    free(h->weights);
    vpa_load_histogram_init(h, h->buckets, h->half_life);
}

bool vpa_load_histogram_is_empty(const struct vpa_load_histogram *h)
{
    return h->span == 0;
}

/* Makes room for the buckets first .. last. */
static void cover(struct vpa_load_histogram *h, uint32_t first, uint32_t last)
{
    uint32_t end = h->base + h->span;

    if (h->span && first >= h->base && last < end)
        return;
    if (h->span && h->base < first)
        first = h->base;
    if (h->span && end > last + 1)
        last = end - 1;
    first -= first % SPAN_STEP;
    last += SPAN_STEP - 1 - last % SPAN_STEP;
    if (last >= h->buckets->count)
        last = h->buckets->count - 1;
    double *weights = vpa_xcalloc(last - first + 1, sizeof(*weights));
    if (h->span)
        memcpy(weights + (h->base - first), h->weights, h->span * sizeof(*weights));
    free(h->weights);
    h->weights = weights;
    h->base = first;
    h->span = last - first + 1;
}

static double exponent(const struct vpa_load_histogram *h, vpa_time t)
{
    return (double)vpa_time_sub(t, h->ref) / (double)h->half_life;
}

/* Moves the reference to a later time, by whole half-lives, so that scaling is exact. */
static void move_reference(struct vpa_load_histogram *h, vpa_time t)
{
    int64_t halves = vpa_trunc_int64(exponent(h, t));

    for (uint32_t i = 0; i < h->span; i++)
        h->weights[i] = vpa_ldexp(h->weights[i], -halves);
    h->ref += (vpa_time)h->half_life * halves;
}

void vpa_load_histogram_add(struct vpa_load_histogram *h, double value, double weight, vpa_time t)
{
    uint32_t bucket = vpa_buckets_find(h->buckets, value);

    if (vpa_time_is_unset(h->ref))
        h->ref = t;
    if (exponent(h, t) > EXPONENT_MAX)
        move_reference(h, t);
    cover(h, bucket, bucket);
    h->weights[bucket - h->base] += weight * vpa_exp2(exponent(h, t));
}

void vpa_load_histogram_merge(struct vpa_load_histogram *h, const struct vpa_load_histogram *other)
{
    assert(h->half_life == other->half_life);
    if (!other->span)
        return;
    if (vpa_time_is_unset(h->ref))
        h->ref = other->ref;
    if (other->ref > h->ref)
        move_reference(h, other->ref);
    double factor = vpa_exp2(exponent(h, other->ref));
    cover(h, other->base, other->base + other->span - 1);
    for (uint32_t i = 0; i < other->span; i++)
        h->weights[other->base - h->base + i] += other->weights[i] * factor;
}

double vpa_load_histogram_percentile(const struct vpa_load_histogram *h, double p)
{
    const double *ends = h->buckets->ends + h->base;
    uint32_t last = 0;
    double total = 0.0;
    double sum = 0.0;

    for (uint32_t i = 0; i < h->span; i++) {
        total += h->weights[i] * ends[i];
        last = h->weights[i] > 0.0 ? i : last;
    }
    for (uint32_t i = 0; i <= last && h->span; i++) {
        sum += h->weights[i] * ends[i];
        if (i == last || (sum > 0.0 && sum >= p * total))
            return ends[i];
    }
    return 0.0;
}
