/*
 * What the kubelet says about an in-place resize of a pod (updater.md 13.1 of the specification).
 */
#ifndef VPA_POLICY_RESIZE_STATE_H
#define VPA_POLICY_RESIZE_STATE_H

#include <stdbool.h>

#include "vpa/api/pod.h"
#include "vpa/base/time.h"

enum vpa_resize_status {
    VPA_RESIZE_NONE,
    VPA_RESIZE_DEFERRED,
    VPA_RESIZE_INFEASIBLE,
    VPA_RESIZE_UNKNOWN,
    VPA_RESIZE_IN_PROGRESS,
    VPA_RESIZE_ERROR,
};
bool vpa_pod_resizing(const struct vpa_pod *pod);
enum vpa_resize_status vpa_pod_resize_status(const struct vpa_pod *pod);
const char *vpa_resize_status_name(enum vpa_resize_status status); /* "InProgress" */
/* When the kubelet says that the status began; VPA_TIME_UNSET when it does not, or there is none.
 */
vpa_time vpa_pod_resize_transition(const struct vpa_pod *pod);
bool vpa_pod_pending(const struct vpa_pod *pod);  /* phase Pending */
bool vpa_pod_is_ready(const struct vpa_pod *pod); /* condition Ready is True */
/* Since when Ready is what it is; VPA_TIME_UNSET without that condition. */
vpa_time vpa_pod_ready_transition(const struct vpa_pod *pod);

/* Whether some container requests something else than it has; what is not known counts as equal. */
bool vpa_pod_requests_differ(const struct vpa_pod *pod);
/* Whether some container requests less cpu than it has. instead: requests that take the place of
 * those of the spec, in the order of the pod, where they name cpu; NULL: as the pod is. */
bool vpa_pod_requests_less_cpu(const struct vpa_pod *pod, const struct vpa_resource_list *instead);

#endif
