/*
 * What an algorithm implements (include/vpa/model/algorithm.h is what others see of it).
 *
 * One file per algorithm defines one `const struct vpa_algorithm vpa_algorithm_<name>`, declares it
 * here and adds it to the table in algorithm.c. Negative amounts, the newest sample and the count
 * are looked after by algorithm.c.
 */
#ifndef VPA_MODEL_ALGORITHM_PRIVATE_H
#define VPA_MODEL_ALGORITHM_PRIVATE_H

#include "vpa/model/algorithm.h"

/* The value of one parameter; which member counts follows from its type. */
struct vpa_parameter_value {
    char *text;
    double number; /* durations: seconds; bool: 0 or 1 */
    vpa_duration duration;
};

struct vpa_algorithm {
    const char *name;
    int version; /* of the stored state; others are refused when they are greater */
    const struct vpa_parameter *parameters;
    size_t parameter_count;
    /* What is made of the parameters once for all knowledge of a method: shared, read only. NULL
     * and err when the values do not fit each other. Values are by place in `parameters`. */
    void *(*prepare)(const struct vpa_parameter_value *values, struct vpa_error *err);
    void (*discard)(void *prepared);
    vpa_duration (*memory)(const void *prepared);

    /* The state: one per knowledge. */
    void *(*make)(const void *prepared, vpa_time now);
    void (*drop)(void *state);
    /* False: refused. */
    bool (*add)(void *state, const void *prepared, const struct vpa_usage *usage);
    void (*merge)(void *state, const void *prepared, void *other);
    /* Takes over what no history of usage tells: OOM kills. NULL: there is nothing of that kind. */
    void (*take_kills)(void *state, const void *other);
    void (*age)(void *state, const void *prepared, vpa_time now); /* NULL: it decays by itself */
    bool (*is_empty)(const void *state);
    bool (*estimate)(const void *state, const void *prepared, const struct vpa_question *question,
                     struct vpa_estimate *out);
    /* One JSON value. */
    void (*save)(const void *state, const void *prepared, vpa_time now, struct vpa_json_writer *w);
    /* Into a fresh state; a failed one is thrown away. */
    int (*load)(void *state, const void *prepared, const struct vpa_json *stored, vpa_time now,
                struct vpa_error *err);
};

/* The amount as the target, and bounds around it: the updater acts at once when a request is more
 * than a tenth too small, and when it is a quarter too large once enough is known. seconds: from
 * the first window that was seen to the open one. */
void vpa_band_set(struct vpa_estimate *out, int64_t seconds, enum vpa_kind kind, double amount);

/* Reading a stored state: the member as a finite number, 0 when absent. VPA_INVALID names it. */
int vpa_stored_number(const struct vpa_json *object, const char *name, double *out,
                      struct vpa_error *err) VPA_MUST_CHECK;
/* As above for times (RFC 3339 texts); unset when null or absent. */
int vpa_stored_time(const struct vpa_json *object, const char *name, vpa_time *out,
                    struct vpa_error *err) VPA_MUST_CHECK;

extern const struct vpa_algorithm vpa_algorithm_vpa;
extern const struct vpa_algorithm vpa_algorithm_crane;
extern const struct vpa_algorithm vpa_algorithm_autopilot;
extern const struct vpa_algorithm vpa_algorithm_autopilot_ml;
extern const struct vpa_algorithm vpa_algorithm_plumb;

#endif
