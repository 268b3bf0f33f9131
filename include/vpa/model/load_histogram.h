/*
 * Load histograms: how the usage of a container spreads over geometric buckets, the old weighing
 * less, read by load.
 *
 * By load a sample weighs what it uses: the percentile p is the level below which the share p of
 * all that was used lies, not of the time. A spike of 2 cores counts a hundred times as much as the
 * idling at 0.02 before it (Rzadca et al., Autopilot, EuroSys 2020, section 3.2.1). As all samples
 * of a bucket have the same load, a histogram of times is enough for it.
 *
 *     struct vpa_buckets cpu;
 *     vpa_buckets_init(&cpu, 0.001, 1000.0);
 *     struct vpa_load_histogram h;
 *     vpa_load_histogram_init(&h, &cpu, 12 * VPA_HOUR);
 *     vpa_load_histogram_add(&h, 0.25, 1.0, t);
 *     double level = vpa_load_histogram_percentile(&h, 0.9);
 *     vpa_load_histogram_release(&h);
 *
 * Memory: 8 bytes for each bucket between the smallest and the largest ever seen, at most 8 *
 * VPA_BUCKETS_MAX.
 */
#ifndef VPA_MODEL_LOAD_HISTOGRAM_H
#define VPA_MODEL_LOAD_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/time.h"

/* Geometric buckets: bucket k holds (end(k-1), end(k)], where end(k) = low * 1.05^k; all of the
 * same relative width. What is below low is in the first, what is above the last in the last. */
#define VPA_BUCKETS_MAX 400
#define VPA_BUCKETS_RATIO 1.05
struct vpa_buckets {
    double low;
    double log_ratio;
    uint32_t count;
    double ends[VPA_BUCKETS_MAX];
};
/* Up to at least `high`; high / low at most 1e8. Immutable then, outlives every histogram. */
void vpa_buckets_init(struct vpa_buckets *b, double low, double high);
uint32_t vpa_buckets_find(const struct vpa_buckets *b, double value);
/* The end of the value's bucket: the value rounded up by at most 5 %. */
double vpa_buckets_round_up(const struct vpa_buckets *b, double value);

struct vpa_load_histogram {
    const struct vpa_buckets *buckets;
    double *weights; /* of base .. base + span - 1, as of ref; owned */
    uint32_t base;
    uint32_t span;
    vpa_duration half_life;
    vpa_time ref; /* a sample at t weighs 2^((t - ref) / half_life) */
};
/* Allocates nothing. */
void vpa_load_histogram_init(struct vpa_load_histogram *h, const struct vpa_buckets *buckets,
                             vpa_duration half_life);
void vpa_load_histogram_release(struct vpa_load_histogram *h);
bool vpa_load_histogram_is_empty(const struct vpa_load_histogram *h);
/* value and weight not negative, not NaN. */
void vpa_load_histogram_add(struct vpa_load_histogram *h, double value, double weight, vpa_time t);
/* Of the same buckets and half-life. */
void vpa_load_histogram_merge(struct vpa_load_histogram *h, const struct vpa_load_histogram *other);
/* End of the bucket in which the share p of the load is reached; 0 when empty. */
double vpa_load_histogram_percentile(const struct vpa_load_histogram *h, double p);

#endif
