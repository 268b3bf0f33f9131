/*
 * maxLimitRequestRatio of LimitRanges: an API server refuses a pod in which a limit is more than so
 * many times the request, of a container or of the pod as a whole. Requests that are lowered while
 * limits stay (controlledValues RequestsOnly) pass it easily. And min and max of a pod.
 */
#ifndef VPA_POLICY_LIMIT_RATIO_H
#define VPA_POLICY_LIMIT_RATIO_H

#include "vpa/api/pod.h"

struct vpa_limit_ratios { /* of the LimitRanges of a namespace, the least of each resource */
    struct vpa_resource_list container;
    struct vpa_resource_list pod;
};
/* False for nearly all namespaces: then everything fits. */
bool vpa_limit_ratios_are_set(const struct vpa_limit_ratios *ratios);
/* Whether a pod that is within the ratios stays so with what each of its containers shall get, as
 * many as there are; what is not named stays. One that is not within them as it is fits: nothing
 * is made worse. Scratch memory comes from the arena. */
int vpa_limit_ratios_check(struct vpa_arena *arena, const struct vpa_pod *pod,
                           const struct vpa_limit_ratios *ratios,
                           const struct vpa_resources *wanted,
                           struct vpa_error *err) VPA_MUST_CHECK;
/* The same for the least and the most that a LimitRange wants all containers of a pod to have
 * together. What is capped for all of them is scaled to fit; so only a pod some of whose containers
 * are left as they are, as sidecars always are, is looked at. */
int vpa_limit_sums_check(struct vpa_arena *arena, const struct vpa_pod *pod,
                         const struct vpa_resource_list *min, const struct vpa_resource_list *max,
                         const struct vpa_resources *wanted, struct vpa_error *err) VPA_MUST_CHECK;

#endif
