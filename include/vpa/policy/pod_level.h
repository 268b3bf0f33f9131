/*
 * Resources of the pod as a whole (spec.resources, Kubernetes 1.34). An API server refuses a pod
 * whose containers ask for more together than the pod does, or one of which may use more.
 */
#ifndef VPA_POLICY_POD_LEVEL_H
#define VPA_POLICY_POD_LEVEL_H

#include "vpa/api/pod.h"

/* False for nearly all pods: then everything fits. */
bool vpa_pod_level_has_bounds(const struct vpa_pod *pod);
/* Whether the containers fit into the pod with what each of them shall get, as many as there are;
 * what is not named stays. Scratch memory comes from the arena. */
int vpa_pod_level_check(struct vpa_arena *arena, const struct vpa_pod *pod,
                        const struct vpa_resources *wanted, struct vpa_error *err) VPA_MUST_CHECK;

#endif
