/*
 * Pods: the fields that any of the daemons reads.
 */
#ifndef VPA_API_POD_H
#define VPA_API_POD_H

#include "vpa/api/meta.h"
#include "vpa/api/names.h"
#include "vpa/api/resources.h"

struct vpa_resize_policy {
    const char *resource_name;
    const char *restart_policy; /* NotRequired, RestartContainer */
};
struct vpa_container {
    const char *name;
    struct vpa_resources resources;
    const struct vpa_resize_policy *resize_policy;
    size_t resize_policy_count;
    const char *restart_policy; /* init containers: "Always" marks a sidecar */
};
struct vpa_container_termination {
    bool present;
    const char *reason;
    vpa_time started_at; /* unset when absent */
    vpa_time finished_at;
    int32_t exit_code;
};
struct vpa_container_status {
    const char *name;
    int32_t restart_count;
    bool ready;
    bool running;                                     /* state.running is present */
    bool waiting;                                     /* state.waiting is present */
    struct vpa_container_termination terminated;      /* state.terminated */
    struct vpa_container_termination last_terminated; /* lastState.terminated */
    struct vpa_resources resources;     /* .present tells whether the member is there */
    struct vpa_resource_list allocated; /* allocatedResources */
};
struct vpa_pod_condition {
    const char *type;
    const char *status;
    const char *reason;
    const char *message;
    vpa_time last_transition;
    int64_t observed_generation;
};
struct vpa_pod {
    struct vpa_meta meta;
    const struct vpa_container *containers;
    size_t container_count;
    const uint32_t *containers_by_name; /* vpa_names_index, or NULL */
    const struct vpa_container *init_containers;
    size_t init_container_count;
    struct vpa_resources resources; /* spec.resources (pod level) */
    const char *node_name;
    const char *phase;
    const char *qos_class;
    vpa_time start_time; /* unset when absent */
    int64_t observed_generation;
    const char *resize_status; /* status.resize, before 1.33 */
    const struct vpa_container_status *statuses;
    size_t status_count;
    const uint32_t *statuses_by_name; /* vpa_names_index, or NULL */
    const struct vpa_pod_condition *conditions;
    size_t condition_count;
};

/* The pod and all its texts live in the arena. */
int vpa_pod_decode(struct vpa_arena *arena, const struct vpa_json *object, struct vpa_pod *out,
                   struct vpa_error *err) VPA_MUST_CHECK;
/* First entry with that name, or NULL. */
const struct vpa_container *vpa_pod_container(const struct vpa_pod *pod, const char *name);
const struct vpa_container_status *vpa_pod_status(const struct vpa_pod *pod, const char *name);
const struct vpa_pod_condition *vpa_pod_condition(const struct vpa_pod *pod, const char *type);
/* Requests and limits in force: those of the container's status when it has a resources member,
 * else those of the spec; both empty for an unknown name (updater.md 9 of the specification). */
struct vpa_resources vpa_pod_effective_resources(const struct vpa_pod *pod, const char *container);

#endif
