/*
 * CPU startup boost: which boost a container gets, the boosted values, and when it is over
 * (specification admission.md 13, updater.md 15.1 and 15.2; docs/compatibility.md, S1 to S4, U15).
 * boost_marker.h has the mark that a boosted pod carries.
 */
#ifndef VPA_POLICY_BOOST_H
#define VPA_POLICY_BOOST_H

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"

/* The boost in force for a container: that of its policy, else that of the VPA; NULL when neither
 * has one. In a policy of mode Off only its own boost counts (S1). May be unusable (S2). */
const struct vpa_startup_boost *vpa_boost_find(const struct vpa_object *vpa, const char *container);

/*
 * Boosts requests and limits, which hold what the container would get without a boost (absent:
 * nothing recommended). Returns false, outputs untouched, when the boost is unusable (S2): *reason
 * then says why.
 *
 * container is that of the pod's spec: its own resources are the base where nothing is recommended.
 * controlled is its vpa_controlled_values(). cap is --max-allowed-cpu-boost, NULL or zero for none.
 */
bool vpa_boost_apply(struct vpa_arena *arena, const struct vpa_startup_boost *boost,
                     const struct vpa_container *container, const char *controlled,
                     const struct vpa_quantity *cap, struct vpa_resource_list *requests,
                     struct vpa_resource_list *limits, const char **reason);

/* Seconds that the boost of a container shall last after the pod became Ready: the policy's, else
 * the VPA's, else 0. */
int32_t vpa_boost_duration_seconds(const struct vpa_object *vpa, const char *container);
/* Whether the boost of the container is over: the pod is Ready, and has been for longer than that.
 */
bool vpa_boost_expired(const struct vpa_pod *pod, const struct vpa_object *vpa,
                       const char *container, vpa_time now);

#endif
