/*
 * Aggregate container states: two decaying histograms, three numbers that tell how much is known,
 * and the settings of the VPA that uses them.
 *
 * Sample times and the count are those of CPU samples only; confidence, expiry and emptiness of the
 * reference implementation rest on them. Memory peaks carry the end of their interval as time, so
 * they cannot serve for that.
 */
#include "vpa/model/aggregate.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "vpa/base/math.h"
#include "vpa/base/str.h"

/* Origin of the numbers: upstream's aggregations_config.go and flag defaults. */
#define MAX_CPU_CORES 1000.0
#define FIRST_CPU_BUCKET 0.01
#define MAX_MEMORY_BYTES 1e12
#define FIRST_MEMORY_BUCKET 1e7
#define BUCKET_GROWTH (1.0 + 0.05)
#define EPSILON 0.0001
#define CPU_SAMPLE_WEIGHT 0.1
#define MEMORY_PEAK_WEIGHT 1.0

const char *vpa_kind_name(enum vpa_kind kind)
{
    return kind == VPA_KIND_CPU ? VPA_CPU : VPA_MEMORY;
}

void vpa_aggregation_init(struct vpa_aggregation *a)
{
    struct vpa_error err;

    *a = (struct vpa_aggregation){
        .cpu_half_life = 24 * VPA_HOUR,
        .memory_half_life = 24 * VPA_HOUR,
        .memory_interval = 24 * VPA_HOUR,
        .memory_interval_count = 8,
        .oom_bump_up_ratio = 1.2,
        .oom_min_bump_up = 100.0 * 1024.0 * 1024.0,
        .per_vpa_config = true,
    };
    int cpu = vpa_histogram_options_init_exponential(
        &a->cpu_options, MAX_CPU_CORES, FIRST_CPU_BUCKET, BUCKET_GROWTH, EPSILON, &err);
    int memory = vpa_histogram_options_init_exponential(
        &a->memory_options, MAX_MEMORY_BYTES, FIRST_MEMORY_BUCKET, BUCKET_GROWTH, EPSILON, &err);
    assert(cpu == 0 && memory == 0); /* constants */
    (void)cpu;
    (void)memory;
}

void vpa_aggregation_release(struct vpa_aggregation *a)
{
    vpa_histogram_options_release(&a->cpu_options);
    vpa_histogram_options_release(&a->memory_options);
}

/* ---- settings ---- */

void vpa_settings_use_global(struct vpa_settings *s, const struct vpa_aggregation *global)
{
    s->oom_bump_up_ratio = global->oom_bump_up_ratio;
    s->oom_min_bump_up = global->oom_min_bump_up;
    s->memory_interval = global->memory_interval;
    s->memory_interval_count = global->memory_interval_count;
}

void vpa_settings_init(struct vpa_settings *s, const struct vpa_aggregation *global)
{
    *s = (struct vpa_settings){0};
    vpa_settings_use_global(s, global);
}

static void apply_controlled(struct vpa_settings *s, const struct vpa_container_policy *policy)
{
    s->controlled_count = 0;
    if (!policy || !policy->has_controlled_resources) {
        s->controlled[s->controlled_count++] = VPA_KIND_CPU;
        s->controlled[s->controlled_count++] = VPA_KIND_MEMORY;
        return;
    }
    for (size_t i = 0; i < policy->controlled_resource_count; i++) {
        const char *name = policy->controlled_resources[i];
        bool cpu = vpa_str_eq(name, VPA_CPU);

        if ((cpu || vpa_str_eq(name, VPA_MEMORY)) && s->controlled_count < VPA_COUNT(s->controlled))
            s->controlled[s->controlled_count++] = cpu ? VPA_KIND_CPU : VPA_KIND_MEMORY;
    }
}

static double thousandths(const struct vpa_quantity *q)
{
    return (double)vpa_quantity_milli_value(q) / 1000.0;
}

/* A minimum whose thousandths do not fit in 64 bits counts as none, as upstream has it. */
static double min_bump_up(const struct vpa_quantity *q)
{
    int64_t millis = vpa_quantity_milli_value(q);

    return millis == INT64_MAX || millis == INT64_MIN ? 0.0 : thousandths(q);
}

/* Seconds win over the duration text; validation refuses both with different values (decision S6).
 * A text that came in while the webhook was away and is not a duration of a second or more says
 * nothing. */
static vpa_duration policy_interval(const struct vpa_container_policy *policy,
                                    vpa_duration otherwise)
{
    vpa_duration interval = otherwise;

    if (policy->memory_interval_seconds.present)
        return policy->memory_interval_seconds.value * VPA_SECOND;
    if (policy->memory_interval &&
        (vpa_duration_parse(policy->memory_interval, &interval, NULL) < 0 || interval < VPA_SECOND))
        return otherwise;
    return interval;
}

void vpa_settings_apply_policy(struct vpa_settings *s, const struct vpa_container_policy *policy,
                               bool per_vpa_config)
{
    s->scaling_mode = policy && policy->mode ? policy->mode : "Auto";
    apply_controlled(s, policy);
    if (!policy || !per_vpa_config)
        return;
    if (policy->oom_bump_up_ratio.present)
        s->oom_bump_up_ratio = thousandths(&policy->oom_bump_up_ratio.value);
    if (policy->oom_min_bump_up.present)
        s->oom_min_bump_up = min_bump_up(&policy->oom_min_bump_up.value);
    s->memory_interval = policy_interval(policy, s->memory_interval);
    if (policy->memory_interval_count.present)
        s->memory_interval_count = policy->memory_interval_count.value;
}

void vpa_settings_mark_not_autoscaled(struct vpa_settings *s)
{
    s->under_vpa = false;
    s->update_mode = NULL;
    s->scaling_mode = NULL;
    s->controlled_count = 0;
}

bool vpa_settings_needs_recommendation(const struct vpa_settings *s)
{
    return s->under_vpa && s->scaling_mode && strcmp(s->scaling_mode, "Off") != 0;
}

vpa_duration vpa_settings_window(const struct vpa_settings *s)
{
    return (vpa_duration)((uint64_t)s->memory_interval * (uint64_t)s->memory_interval_count);
}

/* What wraps in 64 bits is meant to last for ever (decision U15). */
static bool has_expired(const struct vpa_settings *s, vpa_time since, vpa_time now)
{
    vpa_duration window;

    if (__builtin_mul_overflow(s->memory_interval, s->memory_interval_count, &window) &&
        s->memory_interval > 0 && s->memory_interval_count > 0)
        return false;
    return vpa_time_sub(now, since) >= vpa_settings_window(s);
}

/* ---- the state ---- */

void vpa_aggregate_init(struct vpa_aggregate *a, const struct vpa_aggregation *global, vpa_time now)
{
    *a = (struct vpa_aggregate){.first_sample = VPA_TIME_UNSET,
                                .last_sample = VPA_TIME_UNSET,
                                .last_peak = VPA_TIME_UNSET,
                                .created = now};
    vpa_decay_init(&a->cpu, &global->cpu_options, global->cpu_half_life);
    vpa_decay_init(&a->memory, &global->memory_options, global->memory_half_life);
    vpa_settings_init(&a->settings, global);
}

void vpa_aggregate_release(struct vpa_aggregate *a)
{
    vpa_decay_release(&a->cpu);
    vpa_decay_release(&a->memory);
}

/* Saturated: a loaded checkpoint may say anything. */
static int64_t add_counts(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

void vpa_aggregate_add_cpu(struct vpa_aggregate *a, vpa_time t, vpa_amount millis)
{
    vpa_decay_add(&a->cpu, vpa_amount_to_cores(millis), CPU_SAMPLE_WEIGHT, t);
    if (t > a->last_sample)
        a->last_sample = t;
    if (vpa_time_is_unset(a->first_sample) || t < a->first_sample)
        a->first_sample = t;
    a->sample_count = add_counts(a->sample_count, 1);
}

void vpa_aggregate_add_memory(struct vpa_aggregate *a, vpa_time t, vpa_amount bytes)
{
    vpa_decay_add(&a->memory, vpa_amount_to_bytes(bytes), MEMORY_PEAK_WEIGHT, t);
    if (t > a->last_peak)
        a->last_peak = t;
}

void vpa_aggregate_subtract_memory(struct vpa_aggregate *a, vpa_time t, vpa_amount bytes)
{
    vpa_decay_subtract(&a->memory, vpa_amount_to_bytes(bytes), MEMORY_PEAK_WEIGHT, t);
}

void vpa_aggregate_merge(struct vpa_aggregate *a, struct vpa_aggregate *other)
{
    vpa_decay_merge(&a->cpu, &other->cpu);
    vpa_decay_merge(&a->memory, &other->memory);
    if (vpa_time_is_unset(a->first_sample) ||
        (!vpa_time_is_unset(other->first_sample) && other->first_sample < a->first_sample))
        a->first_sample = other->first_sample;
    if (other->last_sample > a->last_sample)
        a->last_sample = other->last_sample;
    a->sample_count = add_counts(a->sample_count, other->sample_count);
}

/* Counts alone do not tell which knows more: a recommender that reads usage every five minutes has
 * counted fewer samples in eight days than another one in three. */
bool vpa_aggregate_take_out(struct vpa_aggregate *a, struct vpa_aggregate *other)
{
    bool fewer = a->sample_count <= other->sample_count;

    if (vpa_time_is_unset(other->first_sample) || other->first_sample > a->last_sample)
        return true;
    if (fewer && other->first_sample <= a->first_sample)
        return false;
    vpa_decay_take_out(&a->cpu, &other->cpu);
    vpa_decay_take_out(&a->memory, &other->memory);
    a->sample_count = fewer ? 1 : a->sample_count - other->sample_count;
    return !fewer || !vpa_decay_is_empty(&a->cpu) || !vpa_decay_is_empty(&a->memory);
}

bool vpa_aggregate_is_empty(const struct vpa_aggregate *a)
{
    return a->sample_count == 0;
}

bool vpa_aggregate_is_expired(const struct vpa_aggregate *a, vpa_time now)
{
    vpa_time since = vpa_aggregate_is_empty(a) ? a->created : a->last_sample;

    return has_expired(&a->settings, since, now);
}

bool vpa_aggregate_is_garbage(const struct vpa_aggregate *a, bool fed, vpa_time now)
{
    if (vpa_aggregate_is_empty(a) && !vpa_time_is_unset(a->last_peak))
        return has_expired(&a->settings, a->last_peak, now);
    return (vpa_aggregate_is_empty(a) && !fed) || vpa_aggregate_is_expired(a, now);
}

/* ---- stored form ---- */

void vpa_aggregate_save(const struct vpa_aggregate *a, vpa_time now, struct vpa_arena *arena,
                        struct vpa_checkpoint_status *out)
{
    *out = (struct vpa_checkpoint_status){
        .last_update = now,
        .version = VPA_CHECKPOINT_VERSION,
        .first_sample_start = a->first_sample,
        .last_sample_start = a->last_sample,
        .total_samples_count = a->sample_count,
    };
    vpa_decay_save(&a->cpu, arena, &out->cpu);
    vpa_decay_save(&a->memory, arena, &out->memory);
}

/* Far enough ahead that a sample of now would weigh nothing beside one of t, and none is stamped
 * with. stamped: how far ahead samples are. */
static bool is_too_late(vpa_time t, vpa_duration half_life, vpa_duration stamped, vpa_time now)
{
    vpa_duration ahead, later;

    if (__builtin_mul_overflow(half_life, VPA_DECAY_MAX_EXPONENT, &ahead) ||
        __builtin_add_overflow(half_life, stamped, &later))
        return false;
    return vpa_time_sub(t, now) > (ahead > later ? ahead : later);
}

static int check_histogram(const struct vpa_histogram_checkpoint *h, const char *resource,
                           vpa_duration half_life, vpa_duration stamped, vpa_time now,
                           struct vpa_error *err)
{
    char weight[VPA_DOUBLE_TEXT_MAX], reference[VPA_TIME_TEXT_MAX];

    if (!isfinite(h->total_weight) || h->total_weight > VPA_AGGREGATE_WEIGHT_MAX) {
        vpa_double_format_go(h->total_weight, weight);
        return vpa_fail(err, VPA_INVALID, "%s histogram has an impossible total weight %s",
                        resource, weight);
    }
    if (!vpa_time_is_unset(now) && is_too_late(h->reference, half_life, stamped, now)) {
        vpa_time_format(h->reference, reference);
        return vpa_fail(err, VPA_INVALID, "%s histogram has an impossible reference time %s",
                        resource, reference);
    }
    return 0;
}

int vpa_aggregate_check_stored(const struct vpa_aggregation *global,
                               const struct vpa_checkpoint_status *status, vpa_time now,
                               struct vpa_error *err)
{
    if (check_histogram(&status->memory, vpa_kind_name(VPA_KIND_MEMORY), global->memory_half_life,
                        global->memory_interval, now, err) < 0)
        return -1;
    return check_histogram(&status->cpu, vpa_kind_name(VPA_KIND_CPU), global->cpu_half_life, 0, now,
                           err);
}

int vpa_aggregate_check_interval(const struct vpa_aggregation *global,
                                 const struct vpa_open_interval *interval, vpa_time now,
                                 struct vpa_error *err)
{
    char end[VPA_TIME_TEXT_MAX];

    if (!is_too_late(interval->end, global->memory_half_life, global->memory_interval, now))
        return 0;
    vpa_time_format(interval->end, end);
    return vpa_fail(err, VPA_INVALID, "an open interval has an impossible end %s", end);
}

int vpa_aggregate_load(struct vpa_aggregate *a, const struct vpa_checkpoint_status *status,
                       struct vpa_error *err)
{
    if (strcmp(vpa_or_empty(status->version), VPA_CHECKPOINT_VERSION) != 0)
        return vpa_fail(err, VPA_INVALID, "unsupported checkpoint version %s",
                        vpa_or_empty(status->version));
    a->sample_count = status->total_samples_count;
    a->first_sample = status->first_sample_start;
    a->last_sample = status->last_sample_start;
    if (vpa_decay_load(&a->memory, &status->memory, err) < 0)
        return -1;
    return vpa_decay_load(&a->cpu, &status->cpu, err);
}
