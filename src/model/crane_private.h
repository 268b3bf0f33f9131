/*
 * The parts of Crane's algorithm as one of algorithm.h:
 *   algorithm_crane.c   what is known of a container, and the estimate
 *   crane_method.c      parameters, and what is made of them
 *   crane_stored.c      the stored form
 */
#ifndef VPA_MODEL_CRANE_PRIVATE_H
#define VPA_MODEL_CRANE_PRIVATE_H

#include "algorithm_private.h"
#include "vpa/model/crane.h"

#define CRANE_PARAMETERS 26
#define CRANE_SLOTS 7
#define CRANE_HISTORY_MAX_S (60 * 24.0 * 3600)
#define CRANE_KILLS_MAX 32
/* The last bucket of a histogram: fourteen of these have to fit in an annotation. */
#define CRANE_BUCKETS_MAX 1000

struct crane_resource {
    struct vpa_crane_predictor predictor;
    double bound[VPA_BOUNDS]; /* percentiles */
    vpa_duration slot;
};
struct crane_method {
    struct crane_resource resources[VPA_KINDS];
    struct vpa_crane_sizes sizes;
    bool use_sizes;
    bool oom_protection;
    double oom_ratio;
    vpa_duration oom_history;
    vpa_duration cooldown;
};

struct crane_slot {
    int64_t number; /* of slots since the Unix epoch; meaningless while the histogram is fresh */
    struct vpa_histogram h;
};
struct crane_kill {
    vpa_time t;
    vpa_amount bytes;
};
struct crane_state {
    struct crane_slot slots[VPA_KINDS][CRANE_SLOTS]; /* at number modulo CRANE_SLOTS */
    struct crane_kill kills[CRANE_KILLS_MAX];        /* times rise, bytes fall */
    size_t kill_count;
    vpa_time first_sample; /* of CPU, for the confidence */
    vpa_time last_sample;
    int64_t sample_count;
};

/* crane_method.c */
extern const struct vpa_parameter crane_parameters[CRANE_PARAMETERS];
void *crane_prepare(const struct vpa_parameter_value *v, struct vpa_error *err);
void crane_discard(void *prepared);
vpa_duration crane_memory(const void *prepared);

/* algorithm_crane.c */
int64_t crane_slot_number(const struct crane_resource *r, vpa_time t);
bool crane_is_used(const struct crane_slot *slot);
struct crane_slot *crane_get_slot(struct crane_state *s, enum vpa_kind kind, int64_t number);
void crane_note_kill(struct crane_state *s, struct crane_kill kill);

/* crane_stored.c */
void crane_save(const void *state, const void *prepared, vpa_time now, struct vpa_json_writer *w);
int crane_load(void *state, const void *prepared, const struct vpa_json *stored, vpa_time now,
               struct vpa_error *err);

#endif
