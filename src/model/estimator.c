/*
 * How much to recommend.
 *
 * A percentile of the past is not yet a recommendation: a safety margin is added, and the bounds
 * within which nobody need act are the wider the less is known. "How much is known" is the
 * confidence: the number of days (intervals) of history, or of days' worth of samples, whichever is
 * less. The upper bound is multiplied with (1 + 1/confidence), the lower with (1 +
 * 0.001/confidence)^-2: after a day 2 and 0.998.
 *
 * Amounts are whole millicores and bytes between all stages, and every stage truncates. The sum
 * with the margin is the only step without a clamp.
 */
#include "vpa/model/estimator.h"

#include "vpa/base/math.h"

/* (1 + multiplier / confidence) ^ exponent; upstream's constants, without flags. */
static const struct {
    double multiplier;
    int exponent;
} confidence_rules[VPA_BOUNDS] = {
    [VPA_TARGET] = {0.0, 0}, /* 1, whatever the confidence */
    [VPA_LOWER_BOUND] = {0.001, -2},
    [VPA_UPPER_BOUND] = {1.0, 1},
};

void vpa_estimator_init(struct vpa_estimator *e)
{
    *e = (struct vpa_estimator){
        .percentile =
            {
                [VPA_TARGET] = {0.9, 0.9},
                [VPA_LOWER_BOUND] = {0.5, 0.5},
                [VPA_UPPER_BOUND] = {0.95, 0.95},
            },
        .margin = 0.15,
        .min_cpu_millicores = 25.0,
        .min_memory_mb = 250.0,
        .confidence_interval = {24 * VPA_HOUR, 24 * VPA_HOUR},
    };
}

static double aggregate_percentile(const void *ctx, enum vpa_kind kind, double p)
{
    const struct vpa_aggregate *a = ctx;

    return vpa_decay_percentile(kind == VPA_KIND_CPU ? &a->cpu : &a->memory, p);
}

struct vpa_history vpa_aggregate_history(const struct vpa_aggregate *a)
{
    return (struct vpa_history){
        .ctx = a,
        .percentile = aggregate_percentile,
        .first_sample = a->first_sample,
        .last_sample = a->last_sample,
        .sample_count = a->sample_count,
    };
}

struct vpa_amounts vpa_estimator_minimum(const struct vpa_estimator *e, size_t containers)
{
    double fraction = 1.0 / (double)containers;
    struct vpa_amounts minimum;

    /* The order of the products matters: 4007 * 0.001 * 1000 is below 4007. */
    minimum.value[VPA_KIND_CPU] =
        vpa_amount_scale(vpa_amount_from_cores(e->min_cpu_millicores * 0.001), fraction);
    minimum.value[VPA_KIND_MEMORY] =
        vpa_amount_scale(vpa_amount_from_bytes(e->min_memory_mb * 1024.0 * 1024.0), fraction);
    return minimum;
}

static double whole_and_fraction_minutes(vpa_duration d)
{
    int64_t whole = d / VPA_MINUTE;

    return (double)whole + (double)(d % VPA_MINUTE) / (60.0 * 1e9);
}

double vpa_estimator_confidence(const struct vpa_estimator *e, const struct vpa_history *history,
                                enum vpa_kind kind)
{
    vpa_duration interval = e->confidence_interval[kind];
    double lifespan =
        (double)vpa_time_sub(history->last_sample, history->first_sample) / (double)interval;
    double samples = (double)history->sample_count / whole_and_fraction_minutes(interval);

    return samples < lifespan ? samples : lifespan;
}

double vpa_estimator_confidence_factor(enum vpa_bound bound, double confidence)
{
    return vpa_pow(1.0 + confidence_rules[bound].multiplier / confidence,
                   confidence_rules[bound].exponent);
}

static vpa_amount estimate(const struct vpa_estimator *e, const struct vpa_history *history,
                           enum vpa_kind kind, enum vpa_bound bound)
{
    double value = history->percentile(history->ctx, kind, e->percentile[bound][kind]);
    vpa_amount base =
        kind == VPA_KIND_CPU ? vpa_amount_from_cores(value) : vpa_amount_from_bytes(value);

    base += vpa_amount_scale(base, e->margin);
    if (bound == VPA_TARGET)
        return base;
    double confidence = vpa_estimator_confidence(e, history, kind);
    return vpa_amount_scale(base, vpa_estimator_confidence_factor(bound, confidence));
}

void vpa_estimator_estimate(const struct vpa_estimator *e, const struct vpa_history *history,
                            const struct vpa_amounts *minimum, struct vpa_estimate *out)
{
    for (enum vpa_bound bound = VPA_TARGET; bound < VPA_BOUNDS; bound++) {
        for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++)
            out->bound[bound].value[kind] =
                vpa_amount_max(estimate(e, history, kind, bound), minimum->value[kind]);
    }
}
