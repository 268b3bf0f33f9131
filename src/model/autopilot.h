/*
 * What Autopilot's two recommenders have in common as algorithms: samples folded into windows of
 * 300 s, the floor after a kill, bounds, forgetting, and the stored form around them. Each brings a
 * signal of one resource, which makes a limit of windows: algorithm_autopilot.c the moving windows,
 * algorithm_autopilot_ml.c the arg-min over models.
 *
 * All replicas of a container share one history. Windows close when a sample of a later one comes,
 * or a pass. The paper has no bounds: they are a band around the limit, as plumb's.
 *
 * What a method prepares begins with a struct vpa_autopilot, and most functions below are those of
 * struct vpa_algorithm under their names.
 */
#ifndef VPA_MODEL_AUTOPILOT_H
#define VPA_MODEL_AUTOPILOT_H

#include "algorithm_private.h"
#include "vpa/model/load_histogram.h"

struct vpa_autopilot;
struct vpa_autopilot_signal {
    size_t size;
    void (*init)(void *signal, const struct vpa_autopilot *prepared, enum vpa_kind kind);
    void (*release)(void *signal);
    void (*add)(void *signal, int64_t window, double value);
    void (*close)(void *signal, int64_t window);
    void (*merge)(void *signal, const void *other);
    double (*limit)(const void *signal); /* 0: nothing is known */
    /* Members of an object that is open, and back; VPA_INVALID names the member. */
    void (*save)(const void *signal, struct vpa_json_writer *w);
    int (*load)(void *signal, const struct vpa_json *stored, vpa_time now, struct vpa_error *err);
    /* After a kill the demand that is learned is what is granted from now on, not what was hit. */
    bool learns_floor;
};
extern const struct vpa_autopilot_signal vpa_autopilot_windows;  /* of struct vpa_window_signal */
extern const struct vpa_autopilot_signal vpa_autopilot_ensemble; /* of struct vpa_argmin */
struct vpa_autopilot {
    const struct vpa_autopilot_signal *signal;
    struct vpa_buckets buckets[VPA_KINDS];
};

void vpa_autopilot_init(struct vpa_autopilot *p, const struct vpa_autopilot_signal *signal);
/* After eight days of silence all is forgotten, and not before, however long a maximum counts. */
vpa_duration vpa_autopilot_memory(const void *prepared);
void *vpa_autopilot_make(const void *prepared, vpa_time now);
void vpa_autopilot_drop(void *state);
bool vpa_autopilot_add(void *state, const void *prepared, const struct vpa_usage *usage);
void vpa_autopilot_merge(void *state, const void *prepared, void *other);
void vpa_autopilot_age(void *state, const void *prepared, vpa_time now);
bool vpa_autopilot_is_empty(const void *state);
bool vpa_autopilot_estimate(const void *state, const void *prepared,
                            const struct vpa_question *question, struct vpa_estimate *out);
void vpa_autopilot_save(const void *state, const void *prepared, vpa_time now,
                        struct vpa_json_writer *w);
int vpa_autopilot_load(void *state, const void *prepared, const struct vpa_json *stored,
                       vpa_time now, struct vpa_error *err) VPA_MUST_CHECK;

/* Of a struct vpa_algorithm all but name, parameters and prepare. */
#define VPA_AUTOPILOT_FUNCTIONS                                                                    \
    .version = 1, .discard = free, .memory = vpa_autopilot_memory, .make = vpa_autopilot_make,     \
    .drop = vpa_autopilot_drop, .add = vpa_autopilot_add, .merge = vpa_autopilot_merge,            \
    .age = vpa_autopilot_age, .is_empty = vpa_autopilot_is_empty,                                  \
    .estimate = vpa_autopilot_estimate, .save = vpa_autopilot_save, .load = vpa_autopilot_load

#endif
