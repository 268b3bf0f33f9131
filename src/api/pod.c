/*
 * Tables of fields for pod, container, status and condition; then the look-ups by name that every
 * daemon needs, and which resources of a container count: those of its status where the kubelet
 * reports them, else those of its spec.
 */
#include "vpa/api/pod.h"

#include <string.h>

#include "decoders.h"

/* ---- spec ---- */

static const struct vpa_json_field resize_fields[] = {
    VPA_JSON_STRING(struct vpa_resize_policy, resource_name, "resourceName", 0),
    VPA_JSON_STRING(struct vpa_resize_policy, restart_policy, "restartPolicy", 0),
};
static const struct vpa_json_shape resize_shape =
    VPA_JSON_SHAPE(struct vpa_resize_policy, resize_fields);

static const struct vpa_json_field container_fields[] = {
    VPA_JSON_STRING(struct vpa_container, name, "name", 0),
    VPA_JSON_RESOURCES(struct vpa_container, resources, "resources"),
    VPA_JSON_ARRAY_OF(struct vpa_container, resize_policy, resize_policy_count, "resizePolicy",
                      &resize_shape, 0),
    VPA_JSON_STRING(struct vpa_container, restart_policy, "restartPolicy", 0),
};
static const struct vpa_json_shape container_shape =
    VPA_JSON_SHAPE(struct vpa_container, container_fields);

/* ---- status ---- */

static const struct vpa_json_field termination_fields[] = {
    VPA_JSON_STRING(struct vpa_container_termination, reason, "reason", 0),
    VPA_JSON_TIME(struct vpa_container_termination, started_at, "startedAt", 0),
    VPA_JSON_TIME(struct vpa_container_termination, finished_at, "finishedAt", 0),
    VPA_JSON_INT32(struct vpa_container_termination, exit_code, "exitCode", 0),
};
static const struct vpa_json_shape termination_shape =
    VPA_JSON_SHAPE(struct vpa_container_termination, termination_fields);

static const struct vpa_json_field container_status_fields[] = {
    VPA_JSON_STRING(struct vpa_container_status, name, "name", 0),
    VPA_JSON_INT32(struct vpa_container_status, restart_count, "restartCount", 0),
    VPA_JSON_FLAG(struct vpa_container_status, ready, "ready", 0),
    VPA_JSON_PRESENT(struct vpa_container_status, running, "state.running"),
    VPA_JSON_PRESENT(struct vpa_container_status, waiting, "state.waiting"),
    VPA_JSON_NESTED(struct vpa_container_status, terminated, "state.terminated", &termination_shape,
                    0),
    VPA_JSON_PRESENT(struct vpa_container_status, terminated.present, "state.terminated"),
    VPA_JSON_NESTED(struct vpa_container_status, last_terminated, "lastState.terminated",
                    &termination_shape, 0),
    VPA_JSON_PRESENT(struct vpa_container_status, last_terminated.present, "lastState.terminated"),
    VPA_JSON_RESOURCES(struct vpa_container_status, resources, "resources"),
    VPA_JSON_RESOURCE_LIST(struct vpa_container_status, allocated, "allocatedResources"),
};
static const struct vpa_json_shape container_status_shape =
    VPA_JSON_SHAPE(struct vpa_container_status, container_status_fields);

static const struct vpa_json_field condition_fields[] = {
    VPA_JSON_STRING(struct vpa_pod_condition, type, "type", 0),
    VPA_JSON_STRING(struct vpa_pod_condition, status, "status", 0),
    VPA_JSON_STRING(struct vpa_pod_condition, reason, "reason", 0),
    VPA_JSON_STRING(struct vpa_pod_condition, message, "message", 0),
    VPA_JSON_TIME(struct vpa_pod_condition, last_transition, "lastTransitionTime", 0),
    VPA_JSON_INT64(struct vpa_pod_condition, observed_generation, "observedGeneration", 0),
};
static const struct vpa_json_shape condition_shape =
    VPA_JSON_SHAPE(struct vpa_pod_condition, condition_fields);

/* ---- pod ---- */

static const struct vpa_json_field spec_fields[] = {
    VPA_JSON_ARRAY_OF(struct vpa_pod, containers, container_count, "containers", &container_shape,
                      0),
    VPA_JSON_ARRAY_OF(struct vpa_pod, init_containers, init_container_count, "initContainers",
                      &container_shape, 0),
    VPA_JSON_RESOURCES(struct vpa_pod, resources, "resources"),
    VPA_JSON_STRING(struct vpa_pod, node_name, "nodeName", 0),
};
static const struct vpa_json_shape spec_shape = VPA_JSON_SHAPE(struct vpa_pod, spec_fields);

static const struct vpa_json_field status_fields[] = {
    VPA_JSON_STRING(struct vpa_pod, phase, "phase", 0),
    VPA_JSON_STRING(struct vpa_pod, qos_class, "qosClass", 0),
    VPA_JSON_TIME(struct vpa_pod, start_time, "startTime", 0),
    VPA_JSON_INT64(struct vpa_pod, observed_generation, "observedGeneration", 0),
    VPA_JSON_STRING(struct vpa_pod, resize_status, "resize", 0),
    VPA_JSON_ARRAY_OF(struct vpa_pod, statuses, status_count, "containerStatuses",
                      &container_status_shape, 0),
    VPA_JSON_ARRAY_OF(struct vpa_pod, conditions, condition_count, "conditions", &condition_shape,
                      0),
};
static const struct vpa_json_shape status_shape = VPA_JSON_SHAPE(struct vpa_pod, status_fields);

static const struct vpa_json_field pod_fields[] = {
    VPA_JSON_META(struct vpa_pod, meta),
    VPA_JSON_INSIDE("spec", &spec_shape),
    VPA_JSON_INSIDE("status", &status_shape),
};
static const struct vpa_json_shape pod_shape = VPA_JSON_SHAPE(struct vpa_pod, pod_fields);

int vpa_pod_decode(struct vpa_arena *arena, const struct vpa_json *object, struct vpa_pod *out,
                   struct vpa_error *err)
{
    struct vpa_pod pod;

    if (vpa_json_decode_object(arena, object, &pod_shape, &pod, err) < 0)
        return -1;
    pod.containers_by_name =
        vpa_names_index(arena, pod.containers, pod.container_count, sizeof(*pod.containers));
    pod.statuses_by_name =
        vpa_names_index(arena, pod.statuses, pod.status_count, sizeof(*pod.statuses));
    *out = pod;
    return 0;
}

const struct vpa_container *vpa_pod_container(const struct vpa_pod *pod, const char *name)
{
    size_t at = vpa_names_first(pod->containers_by_name, pod->containers, pod->container_count,
                                sizeof(*pod->containers), name);

    return at < pod->container_count ? &pod->containers[at] : NULL;
}

const struct vpa_container_status *vpa_pod_status(const struct vpa_pod *pod, const char *name)
{
    size_t at = vpa_names_first(pod->statuses_by_name, pod->statuses, pod->status_count,
                                sizeof(*pod->statuses), name);

    return at < pod->status_count ? &pod->statuses[at] : NULL;
}

const struct vpa_pod_condition *vpa_pod_condition(const struct vpa_pod *pod, const char *type)
{
    for (size_t i = 0; i < pod->condition_count; i++)
        if (strcmp(pod->conditions[i].type, type) == 0)
            return &pod->conditions[i];
    return NULL;
}

struct vpa_resources vpa_pod_effective_resources(const struct vpa_pod *pod, const char *container)
{
    const struct vpa_container_status *status = vpa_pod_status(pod, container);
    const struct vpa_container *spec = vpa_pod_container(pod, container);

    if (status && status->resources.present)
        return status->resources;
    return spec ? spec->resources : (struct vpa_resources){.present = false};
}
