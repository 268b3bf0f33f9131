/*
 * Autopilot's recommender of recommenders (Rzadca et al., EuroSys 2020, section 3.2.2, equations 4
 * to 9) for one resource: many simple models, each a decay and a margin, of which the one is
 * followed that would have cost least.
 *
 * Within a decay the limit is the bucket of least cost on the decayed past,
 *
 *     w_over * over(L) + w_under * under(L) + w_change * (L is not the last one)
 *
 * and each margin puts it some buckets higher. A model's cost is that of its own limits, smoothed
 * over time; the ensemble follows the cheapest, where another model than the last costs w_model
 * more and another limit w_change. over and under come in two forms:
 *
 *     counting    the share of samples above L, and of those in buckets below that of L
 *     distances   by how much they are above and below L, relative to the mean
 *
 * The paper prints the first and publishes no weights. Of the limits of the last while the largest
 * holds.
 *
 *     struct vpa_argmin_rule rule;
 *     vpa_argmin_preset(&rule, &buckets, VPA_KIND_CPU, false);
 *     struct vpa_argmin a;
 *     vpa_argmin_init(&a, &rule);
 *     vpa_argmin_add(&a, 0.2);                 samples of a window
 *     vpa_argmin_close(&a, window);            once per window; without samples all is as before
 *     double limit = vpa_argmin_limit(&a);     a bucket's end
 *     vpa_argmin_release(&a);
 *
 * Memory: 48 bytes for each bucket that ever held a sample, the limits of the hold and half a
 * kibibyte.
 */
#ifndef VPA_MODEL_ARGMIN_H
#define VPA_MODEL_ARGMIN_H

#include "vpa/model/aggregate.h"
#include "vpa/model/load_histogram.h"
#include "vpa/model/recent_max.h"

#define VPA_ARGMIN_DECAYS 4 /* half-lives of 1 h, 6 h, 24 h, 72 h */
#define VPA_ARGMIN_MARGINS_MAX 8

struct vpa_argmin_rule {
    const struct vpa_buckets *buckets;
    double w_over;
    double w_under;
    double w_change;
    double w_model;
    vpa_duration smooth; /* half-life of a model's cost */
    bool distances;
    size_t margin_count;                      /* 1 .. VPA_ARGMIN_MARGINS_MAX */
    uint32_t margins[VPA_ARGMIN_MARGINS_MAX]; /* in buckets, that is in steps of 5 % */
    int64_t hold_seconds;
};
/* The weights and models of docs/algorithms.md, with an hour's hold. */
void vpa_argmin_preset(struct vpa_argmin_rule *rule, const struct vpa_buckets *buckets,
                       enum vpa_kind kind, bool distances);

struct vpa_argmin_model {
    double cost;
    uint32_t limit; /* its last one; a bucket */
};
/* What is known of one bucket. */
struct vpa_argmin_column {
    uint32_t bucket;
    double open;                    /* samples of the open window */
    double past[VPA_ARGMIN_DECAYS]; /* share of the time */
};
struct vpa_argmin {
    struct vpa_argmin_rule rule;
    struct vpa_argmin_column *columns; /* by bucket; the others hold nothing; owned */
    uint32_t column_count;
    uint32_t column_capacity;
    uint32_t open_count;
    uint32_t first, last; /* buckets that ever held something */
    bool known;           /* a window with samples has closed */
    int64_t closed;       /* how many of them */
    int64_t last_window;  /* the newest of them */
    uint32_t picks[VPA_ARGMIN_DECAYS];
    struct vpa_argmin_model models[VPA_ARGMIN_DECAYS][VPA_ARGMIN_MARGINS_MAX];
    size_t best; /* decay * margin_count + margin */
    uint32_t limit;
    struct vpa_recent_max held;
};
void vpa_argmin_init(struct vpa_argmin *a, const struct vpa_argmin_rule *rule);
void vpa_argmin_release(struct vpa_argmin *a);
/* Not negative, not NaN. */
void vpa_argmin_add(struct vpa_argmin *a, double value);
/* Windows close in order. The limit from this one alone; 0 while nothing is known. */
double vpa_argmin_close(struct vpa_argmin *a, int64_t window);
/* What other knows of other replicas or times; of equal rules but for the weights. Pasts and costs
 * become means, weighed by how much of each memory its windows fill; the newer one's limits stand.
 */
void vpa_argmin_merge(struct vpa_argmin *a, const struct vpa_argmin *other);
/* The column of a bucket, made if there is none; valid until the next one is made. */
struct vpa_argmin_column *vpa_argmin_column(struct vpa_argmin *a, uint32_t bucket);
/* The past of a decay: the share of each of the rule's buckets. */
void vpa_argmin_past(const struct vpa_argmin *a, size_t decay, double *shares);
/* In force after the last closed window; 0 while nothing is known. */
double vpa_argmin_limit(const struct vpa_argmin *a);

#endif
