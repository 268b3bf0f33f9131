/*
 * Aggregate container state: the history of all containers of one name in pods with equal labels,
 * the settings that the VPA gives to it, and its stored form (checkpoint).
 */
#ifndef VPA_MODEL_AGGREGATE_H
#define VPA_MODEL_AGGREGATE_H

#include "vpa/api/checkpoint.h"
#include "vpa/api/vpa.h"
#include "vpa/base/mem.h"
#include "vpa/model/amount.h"
#include "vpa/model/decay.h"

enum vpa_kind { VPA_KIND_CPU, VPA_KIND_MEMORY, VPA_KINDS }; /* index of per-resource arrays */
const char *vpa_kind_name(enum vpa_kind kind);              /* "cpu", "memory" */

/* The global aggregation configuration (flags); set once, outlives everything made with it. */
struct vpa_aggregation {
    struct vpa_histogram_options cpu_options;
    struct vpa_histogram_options memory_options;
    vpa_duration cpu_half_life;
    vpa_duration memory_half_life;
    vpa_duration memory_interval;
    int64_t memory_interval_count;
    double oom_bump_up_ratio;
    double oom_min_bump_up; /* bytes */
    bool per_vpa_config;    /* feature gate PerVPAConfig */
};
/* Upstream's defaults, gate on; the caller may then change the fields other than the options. */
void vpa_aggregation_init(struct vpa_aggregation *a);
void vpa_aggregation_release(struct vpa_aggregation *a);

/* What a VPA says about one container. Texts are borrowed from the VPA object, known modes are
 * static. */
struct vpa_settings {
    double oom_bump_up_ratio;
    double oom_min_bump_up;
    vpa_duration memory_interval;
    int64_t memory_interval_count;
    const char *update_mode;  /* NULL: none */
    const char *scaling_mode; /* NULL: none; "Auto", "Off" */
    bool under_vpa;
    uint8_t controlled_count;
    uint8_t controlled[5]; /* enum vpa_kind in the order of the policy; more entries are dropped */
};
/* No VPA: everything global. */
void vpa_settings_init(struct vpa_settings *s, const struct vpa_aggregation *global);
/* Applies a container policy (NULL: none): modes and controlled resources; with the feature gate
 * also the fields that the policy has. The others keep their value; under_vpa and update_mode stay.
 */
void vpa_settings_apply_policy(struct vpa_settings *s, const struct vpa_container_policy *policy,
                               bool per_vpa_config);
/* Forgets what policies said about OOM and memory interval: comes before apply_policy where a
 * policy takes the place of another one, so that a field that was removed is global again (decision
 * S7). */
void vpa_settings_use_global(struct vpa_settings *s, const struct vpa_aggregation *global);
/* The VPA left: modes and controlled resources are cleared; the other settings stay until another
 * VPA applies its own. */
void vpa_settings_mark_not_autoscaled(struct vpa_settings *s);
bool vpa_settings_needs_recommendation(const struct vpa_settings *s);
/* Interval times count: idle histories older than this expire. Absurd counts wrap around in 64
 * bits, as upstream's do; then nothing expires. */
vpa_duration vpa_settings_window(const struct vpa_settings *s);

struct vpa_aggregate {
    struct vpa_decay cpu;
    struct vpa_decay memory;
    vpa_time first_sample; /* of CPU samples, as is last_sample and sample_count */
    vpa_time last_sample;
    vpa_time last_peak; /* end of the newest interval with a memory peak; unset: none */
    vpa_time created;
    int64_t sample_count;
    struct vpa_settings settings;
    vpa_amount last_recommendation[VPA_KINDS]; /* uncapped target; 0: none */
};

void vpa_aggregate_init(struct vpa_aggregate *a, const struct vpa_aggregation *global,
                        vpa_time now);
void vpa_aggregate_release(struct vpa_aggregate *a);
void vpa_aggregate_add_cpu(struct vpa_aggregate *a, vpa_time t, vpa_amount millis);
void vpa_aggregate_add_memory(struct vpa_aggregate *a, vpa_time t, vpa_amount bytes);
void vpa_aggregate_subtract_memory(struct vpa_aggregate *a, vpa_time t, vpa_amount bytes);
/* Histograms, times and count; other's histograms may be shifted (decay.h). */
void vpa_aggregate_merge(struct vpa_aggregate *a, struct vpa_aggregate *other);
/* Takes out of a what other holds as well, if the two overlap in time: merged with other, it then
 * has what either of them knew, and nothing twice. Times stay. Where other has as many samples or
 * more but began later, what is left counts as one sample. False when nothing of a is left. */
bool vpa_aggregate_take_out(struct vpa_aggregate *a, struct vpa_aggregate *other);
/* No CPU sample; memory peaks do not count, as upstream has it. */
bool vpa_aggregate_is_empty(const struct vpa_aggregate *a);
/* Idle for the whole window of its settings since its last CPU sample, or since `created` without
 * one. */
bool vpa_aggregate_is_expired(const struct vpa_aggregate *a, vpa_time now);
/* Whether the garbage collection may take it: expired, or without a sample of any kind and not fed
 * by a living pod. Memory peaks keep an aggregate without CPU samples alive for the window
 * (decision U3). */
bool vpa_aggregate_is_garbage(const struct vpa_aggregate *a, bool fed, vpa_time now);

/* The stored form; its buckets live in the arena. */
void vpa_aggregate_save(const struct vpa_aggregate *a, vpa_time now, struct vpa_arena *arena,
                        struct vpa_checkpoint_status *out);
/* Largest total weight of a stored histogram that is believed. A true one stays far below: a sample
 * weighs up to 2^100 (decay.h), about 1e30. */
#define VPA_AGGREGATE_WEIGHT_MAX 1e100
/* Whether the stored form can be loaded without spoiling what comes after: a total weight that is
 * not finite or above the maximum would make sums infinite and percentiles NaN, and a reference
 * time more than 100 half-lives ahead of now would make every new sample weigh nothing, for good.
 * Memory peaks are stamped with the end of their interval, so its reference may be as far ahead as
 * that, and a half-life: global->memory_interval is that of the container, where its policy has
 * one. The formats themselves are checked by loading. now unset: the time is not checked.
 * VPA_INVALID. */
int vpa_aggregate_check_stored(const struct vpa_aggregation *global,
                               const struct vpa_checkpoint_status *status, vpa_time now,
                               struct vpa_error *err) VPA_MUST_CHECK;
/* The same of an interval stored with it: its end is what its peak is stamped with. */
int vpa_aggregate_check_interval(const struct vpa_aggregation *global,
                                 const struct vpa_open_interval *interval, vpa_time now,
                                 struct vpa_error *err) VPA_MUST_CHECK;
/* Loads into a fresh aggregate: version, count and times, memory, then CPU. What came before the
 * error stays loaded, so a failed aggregate is to be thrown away. VPA_INVALID with upstream's text.
 */
int vpa_aggregate_load(struct vpa_aggregate *a, const struct vpa_checkpoint_status *status,
                       struct vpa_error *err) VPA_MUST_CHECK;

#endif
