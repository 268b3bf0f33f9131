/*
 * From the recommendation stored in a VPA to the one that a given pod may get: LimitRanges,
 * container policies, container limits (specification updater.md 16, admission.md 11). The updater
 * decides by it, the webhook patches by it, the recommender uses the part that needs no pod.
 *
 *     struct vpa_capped capped;
 *     if (vpa_capping_process(&arena, vpa, pod, &limits, &capped, &err) < 0) ...
 *     if (capped.recommendation.present) ...
 *
 * Inputs are never modified; results live in the arena and borrow texts of the inputs.
 */
#ifndef VPA_POLICY_CAPPING_H
#define VPA_POLICY_CAPPING_H

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/policy/limit_ratio.h"

struct vpa_limit_range; /* vpa/api/limit_range.h */

/* The effective LimitRange item of one type: all items of the namespace folded together. */
struct vpa_limit_item {
    bool present;
    struct vpa_resource_list max;
    struct vpa_resource_list min;
    struct vpa_resource_list defaults;
};
/* What the LimitRanges of one namespace ask for. A zeroed struct: there are no LimitRanges. */
struct vpa_namespace_limits {
    const char *error; /* NULL, or why the LimitRanges are not known: the calculation then fails */
    struct vpa_limit_item container;
    struct vpa_limit_item pod;
    struct vpa_limit_ratios ratios;
};

/* Folds the LimitRanges of one namespace, in any order (they count in the order of their names).
 * The result borrows the quantities of the ranges; one with an error makes it an error, in the
 * arena. */
void vpa_namespace_limits_fold(struct vpa_arena *arena, const struct vpa_limit_range *const *ranges,
                               size_t count, struct vpa_namespace_limits *out);

/* Phrases about one container for the vpaUpdates annotation, in order. */
struct vpa_notes {
    const char *container;
    const char **items;
    size_t count;
    size_t capacity;
};

struct vpa_capped {
    struct vpa_recommendation recommendation; /* .present false: absent */
    struct vpa_notes *notes;                  /* only containers with phrases, each name once */
    size_t note_count;
};

/* target, lowerBound and upperBound capped for this pod (16.2 to 16.4); uncappedTarget as it is.
 * Entries of containers that the pod lacks are dropped. limits may be NULL for none. Fails only
 * when limits->error is set and matters. */
int vpa_capping_process(struct vpa_arena *arena, const struct vpa_object *vpa,
                        const struct vpa_pod *pod, const struct vpa_namespace_limits *limits,
                        struct vpa_capped *out, struct vpa_error *err) VPA_MUST_CHECK;

/* What one container of the pod shall get; lists that are not .present are not to be touched. */
struct vpa_container_plan {
    struct vpa_resource_list requests;
    struct vpa_resource_list limits;
    struct vpa_notes notes; /* of capping and of limit scaling, in that order */
};
/* Final resources for each of pod->containers, in their order (16.6): capped targets as requests,
 * proportional limits unless the policy says RequestsOnly. *plans has pod->container_count
 * elements. */
int vpa_capping_plan(struct vpa_arena *arena, const struct vpa_object *vpa,
                     const struct vpa_pod *pod, const struct vpa_namespace_limits *limits,
                     struct vpa_container_plan **plans, struct vpa_error *err) VPA_MUST_CHECK;

/* The same lists without phrases. */
struct vpa_resources *vpa_plans_resources(struct vpa_arena *arena,
                                          const struct vpa_container_plan *plans, size_t count);

/* Whether the pod or its namespace binds what its containers have together (U31, U33, U41); false
 * for nearly all pods. limits may be NULL for none. */
bool vpa_capping_is_bounded(const struct vpa_pod *pod, const struct vpa_namespace_limits *limits);
/* Whether what each container shall get, as many as there are, stays within these bounds; what is
 * not named stays as it is. Scratch memory comes from the arena. */
int vpa_capping_fits(struct vpa_arena *arena, const struct vpa_pod *pod,
                     const struct vpa_namespace_limits *limits, const struct vpa_resources *wanted,
                     struct vpa_error *err) VPA_MUST_CHECK;

/* The recommender's part: minAllowed, maxAllowed (resources missing there come from global_max,
 * which may be NULL) on target, lowerBound and upperBound, for every entry; no pod, no LimitRange,
 * no phrases. */
struct vpa_recommendation vpa_capping_policy(struct vpa_arena *arena,
                                             const struct vpa_recommendation *recommendation,
                                             const struct vpa_resource_policy *policy,
                                             const struct vpa_resource_list *global_max);

/* "RequestsAndLimits" unless the policy of the container says otherwise; never NULL. policy may be
 * NULL. */
const char *vpa_controlled_values(const struct vpa_resource_policy *policy, const char *container);

#endif
