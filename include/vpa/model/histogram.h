/*
 * Histograms with exponentially or linearly growing buckets: the memory of the recommender.
 *
 * Bucket borders come from shared, immutable options; a histogram stores only buckets that ever
 * held weight, and few between them, in one heap block, and a single bucket in itself. Numbers
 * equal upstream's to the last bit, its accidents included: weights that fell below epsilon at the
 * edges leave the visible range but keep their weight, and the total keeps them too (recommender.md
 * 2 of the specification).
 *
 *     struct vpa_histogram_options o;
 *     vpa_histogram_options_init_exponential(&o, 1000.0, 0.01, 1.0 + 0.05, 0.0001, err);
 *     struct vpa_histogram h;
 *     vpa_histogram_init(&h, &o);
 *     vpa_histogram_add(&h, 0.25, 0.1);
 *     double end_of_bucket = vpa_histogram_percentile(&h, 0.9);
 *     vpa_histogram_release(&h);
 *     vpa_histogram_options_release(&o);
 */
#ifndef VPA_MODEL_HISTOGRAM_H
#define VPA_MODEL_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/api/checkpoint.h"
#include "vpa/base/error.h"

/* More buckets than this are refused as VPA_LIMIT. */
#define VPA_HISTOGRAM_BUCKETS_MAX (1u << 20)

enum vpa_histogram_kind { VPA_HISTOGRAM_EXPONENTIAL, VPA_HISTOGRAM_LINEAR };

/* Immutable once initialised; must outlive every histogram made with it. */
struct vpa_histogram_options {
    enum vpa_histogram_kind kind;
    uint32_t buckets;
    double epsilon;   /* a bucket lighter than this counts as empty */
    double max;       /* start of the last bucket is at or above it */
    double first;     /* width of the first bucket (linear: of every bucket) */
    double ratio;     /* growth from bucket to bucket; exponential only */
    double log_ratio; /* vpa_log(ratio) */
    double *starts;   /* exponential: start of each bucket; owned */
};

/* VPA_INVALID with upstream's text when a parameter is out of range. */
int vpa_histogram_options_init_exponential(struct vpa_histogram_options *o, double max,
                                           double first, double ratio, double epsilon,
                                           struct vpa_error *err) VPA_MUST_CHECK;
int vpa_histogram_options_init_linear(struct vpa_histogram_options *o, double max, double size,
                                      double epsilon, struct vpa_error *err) VPA_MUST_CHECK;
void vpa_histogram_options_release(struct vpa_histogram_options *o);
bool vpa_histogram_options_equal(const struct vpa_histogram_options *a,
                                 const struct vpa_histogram_options *b);
/* Bucket of a value: below the range the first, above it the last. */
uint32_t vpa_histogram_find_bucket(const struct vpa_histogram_options *o, double value);
/* index < buckets. */
double vpa_histogram_bucket_start(const struct vpa_histogram_options *o, uint32_t index);

struct vpa_histogram {
    const struct vpa_histogram_options *options;
    union {
        double one;   /* span 1: of the bucket base; what a job of a minute leaves */
        double *many; /* else: of the buckets base .. base + span - 1; owned */
        /* With gaps: one bit for each bucket of the span, the lowest of a word first, and behind
         * the words the weights of those whose bit is set; owned. */
        uint64_t *some;
    } weights;
    double total;
    uint32_t base;
    uint32_t span : 31;
    uint32_t gaps : 1;
    uint32_t min; /* first and last bucket of the visible range; min > max while fresh */
    uint32_t max;
};

/* Allocates nothing. */
void vpa_histogram_init(struct vpa_histogram *h, const struct vpa_histogram_options *options);
void vpa_histogram_release(struct vpa_histogram *h);
void vpa_histogram_clear(struct vpa_histogram *h); /* as after init */
/* Weight of any bucket, 0 outside of the stored span. */
double vpa_histogram_weight(const struct vpa_histogram *h, uint32_t bucket);

/* weight >= 0 and value not NaN are the caller's duty. */
void vpa_histogram_add(struct vpa_histogram *h, double value, double weight);
void vpa_histogram_subtract(struct vpa_histogram *h, double value, double weight);
/* factor >= 0; only the visible range is scaled. */
void vpa_histogram_scale(struct vpa_histogram *h, double factor);
/* Adds the visible range of other; both must have equal options. */
void vpa_histogram_merge(struct vpa_histogram *h, const struct vpa_histogram *other);
/* Takes the visible range of other out, each bucket down to 0 at most: merged with other again, h
 * has the larger weight of the two in each bucket. */
void vpa_histogram_take_out(struct vpa_histogram *h, const struct vpa_histogram *other);

/* End of the bucket in which the share p of the total weight is reached; 0 when empty. */
double vpa_histogram_percentile(const struct vpa_histogram *h, double p);
bool vpa_histogram_is_empty(const struct vpa_histogram *h);

/*
 * The stored form: integer weights relative to the heaviest bucket (10000), see recommender.md 4.
 */
#define VPA_HISTOGRAM_CHECKPOINT_WEIGHT 10000
/* Entries that a save writes at most: the visible range. */
size_t vpa_histogram_save_max(const struct vpa_histogram *h);
/* Writes the buckets with a weight above 0, ascending, at most save_max; returns their number. The
 * total weight of the checkpoint is h->total. */
size_t vpa_histogram_save(const struct vpa_histogram *h, struct vpa_bucket_weight *entries);
/* Adds the saved weights; VPA_INVALID (nothing changed) for a negative total or a bucket that does
 * not exist; the texts are upstream's. */
int vpa_histogram_load(struct vpa_histogram *h, const struct vpa_bucket_weight *entries,
                       size_t count, double total_weight, struct vpa_error *err) VPA_MUST_CHECK;

#endif
