/*
 * From a history to amounts: percentile, safety margin, confidence, minimum, in that order, every
 * stage in whole millicores or bytes (recommender.md 10 of the specification).
 */
#ifndef VPA_MODEL_ESTIMATOR_H
#define VPA_MODEL_ESTIMATOR_H

#include "vpa/model/aggregate.h"

enum vpa_bound { VPA_TARGET, VPA_LOWER_BOUND, VPA_UPPER_BOUND, VPA_BOUNDS };

/* Flags of the recommender; taken as given, also outside of 0..1. */
struct vpa_estimator {
    double percentile[VPA_BOUNDS][VPA_KINDS];
    double margin;                               /* fraction added */
    double min_cpu_millicores;                   /* for the whole pod */
    double min_memory_mb;                        /* for the whole pod, MiB */
    vpa_duration confidence_interval[VPA_KINDS]; /* > 0 */
};
void vpa_estimator_init(struct vpa_estimator *e); /* upstream's defaults */

/* What an estimator asks of a history, whatever algorithm keeps it. */
struct vpa_history {
    const void *ctx;
    /* Cores or bytes. */
    double (*percentile)(const void *ctx, enum vpa_kind kind, double p);
    vpa_time first_sample;
    vpa_time last_sample;
    int64_t sample_count;
};
struct vpa_history vpa_aggregate_history(const struct vpa_aggregate *a);

struct vpa_amounts {
    vpa_amount value[VPA_KINDS];
};
struct vpa_estimate {
    struct vpa_amounts bound[VPA_BOUNDS];
};
/* Share of the pod's minimum for one of `containers` (>= 1) containers. */
struct vpa_amounts vpa_estimator_minimum(const struct vpa_estimator *e, size_t containers);
double vpa_estimator_confidence(const struct vpa_estimator *e, const struct vpa_history *history,
                                enum vpa_kind kind);
/* What a bound is multiplied with at that confidence; 1 for the target. */
double vpa_estimator_confidence_factor(enum vpa_bound bound, double confidence);
void vpa_estimator_estimate(const struct vpa_estimator *e, const struct vpa_history *history,
                            const struct vpa_amounts *minimum, struct vpa_estimate *out);

#endif
