/* The state of a resize, from the conditions and the container statuses of the pod. */
#include "vpa/policy/resize_state.h"

#include "vpa/base/str.h"

#define PENDING_CONDITION "PodResizePending"
#define IN_PROGRESS_CONDITION "PodResizeInProgress"

bool vpa_pod_pending(const struct vpa_pod *pod)
{
    return vpa_str_eq(pod->phase, "Pending");
}

bool vpa_pod_is_ready(const struct vpa_pod *pod)
{
    const struct vpa_pod_condition *ready = vpa_pod_condition(pod, "Ready");

    return ready && vpa_str_eq(ready->status, "True");
}

vpa_time vpa_pod_ready_transition(const struct vpa_pod *pod)
{
    const struct vpa_pod_condition *ready = vpa_pod_condition(pod, "Ready");

    return ready ? ready->last_transition : VPA_TIME_UNSET;
}

bool vpa_pod_resizing(const struct vpa_pod *pod)
{
    for (size_t i = 0; i < pod->condition_count; i++) {
        const struct vpa_pod_condition *c = &pod->conditions[i];

        /* The first of the two decides, even when a later one says otherwise (as upstream). */
        if (vpa_str_eq(c->type, PENDING_CONDITION) || vpa_str_eq(c->type, IN_PROGRESS_CONDITION))
            return vpa_str_eq(c->status, "True");
    }
    return false;
}

static enum vpa_resize_status pending_status(const struct vpa_pod_condition *pending)
{
    if (vpa_str_eq(pending->reason, "Deferred"))
        return VPA_RESIZE_DEFERRED;
    if (vpa_str_eq(pending->reason, "Infeasible"))
        return VPA_RESIZE_INFEASIBLE;
    return VPA_RESIZE_UNKNOWN;
}

enum vpa_resize_status vpa_pod_resize_status(const struct vpa_pod *pod)
{
    if (!vpa_pod_resizing(pod))
        return VPA_RESIZE_NONE;

    const struct vpa_pod_condition *pending = vpa_pod_condition(pod, PENDING_CONDITION);

    if (pending)
        return pending_status(pending);

    const struct vpa_pod_condition *progress = vpa_pod_condition(pod, IN_PROGRESS_CONDITION);

    if (!*vpa_or_empty(progress->reason) && !*vpa_or_empty(progress->message))
        return VPA_RESIZE_IN_PROGRESS;
    if (vpa_str_eq(progress->reason, "Error"))
        return VPA_RESIZE_ERROR;
    return VPA_RESIZE_UNKNOWN;
}

vpa_time vpa_pod_resize_transition(const struct vpa_pod *pod)
{
    const struct vpa_pod_condition *condition = vpa_pod_condition(pod, PENDING_CONDITION);

    if (!vpa_pod_resizing(pod))
        return VPA_TIME_UNSET;
    if (!condition)
        condition = vpa_pod_condition(pod, IN_PROGRESS_CONDITION);
    return condition->last_transition;
}

const char *vpa_resize_status_name(enum vpa_resize_status status)
{
    switch (status) {
    case VPA_RESIZE_DEFERRED:
        return "Deferred";
    case VPA_RESIZE_INFEASIBLE:
        return "Infeasible";
    case VPA_RESIZE_UNKNOWN:
        return "Unknown";
    case VPA_RESIZE_IN_PROGRESS:
        return "InProgress";
    case VPA_RESIZE_ERROR:
        return "Error";
    case VPA_RESIZE_NONE:
        break;
    }
    return "None";
}

/* instead: of its spec, where it names the resource; NULL: nothing is. */
static const struct vpa_quantity *request_of(const struct vpa_container *c,
                                             const struct vpa_resource_list *instead,
                                             const char *resource)
{
    const struct vpa_quantity *named = instead ? vpa_resource_find(instead, resource) : NULL;

    return named ? named : vpa_resource_find(&c->resources.requests, resource);
}

/* Whether `wants` holds between what some container requests and what the kubelet says that it has,
 * as vpa_quantity_cmp gives it; unknown counts as no. instead: as vpa_pod_requests_less_cpu has it.
 */
static bool any_request(const struct vpa_pod *pod, const struct vpa_resource_list *instead,
                        const char *resource, bool (*wants)(int order))
{
    for (size_t i = 0; i < pod->container_count; i++) {
        const struct vpa_container *c = &pod->containers[i];
        const struct vpa_container_status *status = vpa_pod_status(pod, c->name);

        if (!status || !status->resources.present)
            continue;
        const struct vpa_quantity *wanted = request_of(c, instead ? &instead[i] : NULL, resource);
        const struct vpa_quantity *actual =
            vpa_resource_find(&status->resources.requests, resource);

        if (wanted && actual && wants(vpa_quantity_cmp(wanted, actual)))
            return true;
    }
    return false;
}

static bool is_different(int order)
{
    return order != 0;
}

static bool is_less(int order)
{
    return order < 0;
}

bool vpa_pod_requests_differ(const struct vpa_pod *pod)
{
    return any_request(pod, NULL, VPA_CPU, is_different) ||
           any_request(pod, NULL, VPA_MEMORY, is_different);
}

bool vpa_pod_requests_less_cpu(const struct vpa_pod *pod, const struct vpa_resource_list *instead)
{
    return any_request(pod, instead, VPA_CPU, is_less);
}
