/*
 * Defaulting and validation of VerticalPodAutoscaler objects at admission (specification api.md 8
 * and admission.md 14; DECISIONS S6, S8): every rule with its text, warnings, and what an old
 * object may keep.
 *
 *     struct vpa_validation result;
 *     vpa_validate_review(&arena, &request, &options, &result);
 *     -> result.allowed, result.patch, result.warnings, result.status
 */
#ifndef VPA_POLICY_VALIDATE_H
#define VPA_POLICY_VALIDATE_H

#include <stdbool.h>

#include "vpa/api/review.h"
#include "vpa/api/status.h"
#include "vpa/api/vpa.h"

/* The admission controller's feature gates. */
struct vpa_validate_options {
    bool in_place;
    bool cpu_startup_boost;
    bool per_vpa_config;
};

/* Everything lives in the arena given. */
struct vpa_validation {
    bool allowed;
    const char *patch; /* the default update policy, or NULL */
    const char *const *warnings;
    size_t warning_count;
    struct vpa_status status; /* of a denial */
};

/* The default patch of an object without spec.updatePolicy. */
#define VPA_DEFAULT_POLICY_PATCH                                                                   \
    "[{\"op\":\"add\",\"path\":\"/spec/updatePolicy\",\"value\":{\"updateMode\":\"Recreate\"}}]"

/* Answers a review of a VPA object; never fails: what cannot be read is a denial. */
void vpa_validate_review(struct vpa_arena *arena, const struct vpa_review_request *request,
                         const struct vpa_validate_options *options, struct vpa_validation *out);

/* Most causes that a denial names, and most warnings of an answer: a person reads them. Further
 * causes are counted: "and 39900 more" ends the message. */
#define VPA_CAUSES_MAX 100
#define VPA_WARNINGS_MAX 100

/* The rules alone. old: the stored object of an UPDATE, an empty one otherwise. Appends to causes
 * (whose messages are the texts behind the field) and warnings, both growing in the arena. */
struct vpa_findings {
    struct vpa_arena *arena;
    struct vpa_status_cause *causes;
    size_t cause_count;
    size_t cause_capacity;
    size_t causes_left_out;
    const char **warnings;
    size_t warning_count;
    size_t warning_capacity;
};
void vpa_validate(const struct vpa_object *vpa, const struct vpa_object *old,
                  const struct vpa_validate_options *options, struct vpa_findings *findings);

#endif
