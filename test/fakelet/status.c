/* What the node tells the API server of a pod: the whole status, as a merge patch of the status
 * subresource. */
#include <stdio.h>
#include <string.h>

#include "fakelet.h"
#include "vpa/json/json_writer.h"

static const char *const own_conditions[] = {"PodReadyToStartContainers", "Initialized",
                                             "ContainersReady",           "Ready",
                                             "PodResizePending",          "PodResizeInProgress"};

static bool is_own(const char *type)
{
    for (size_t i = 0; i < VPA_COUNT(own_conditions); i++)
        if (strcmp(type, own_conditions[i]) == 0)
            return true;
    return false;
}

static void put_time(struct vpa_json_writer *w, const char *name, vpa_time t)
{
    vpa_json_member_time(w, name, t);
}

static void put_condition(struct vpa_json_writer *w, const struct pod *pod, const char *type,
                          const char *status, const char *reason, const char *message,
                          vpa_time since, bool with_generation)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "type", type);
    vpa_json_member_string(w, "status", status);
    put_time(w, "lastTransitionTime", since);
    vpa_json_member_string_opt(w, "reason", reason);
    vpa_json_member_string_opt(w, "message", message);
    if (with_generation)
        vpa_json_member_int_opt(w, "observedGeneration", pod->observed_generation);
    vpa_json_close_object(w);
}

static void put_resize_conditions(struct vpa_json_writer *w, const struct pod *pod)
{
    switch (pod->resize) {
    case RESIZE_NONE:
        return;
    case RESIZE_DEFERRED:
    case RESIZE_INFEASIBLE:
        put_condition(w, pod, "PodResizePending", "True",
                      pod->resize == RESIZE_DEFERRED ? "Deferred" : "Infeasible",
                      pod->resize_message, pod->resize_since, true);
        return;
    case RESIZE_IN_PROGRESS:
    case RESIZE_ERROR:
        put_condition(w, pod, "PodResizeInProgress", "True",
                      pod->resize == RESIZE_ERROR ? "Error" : NULL, pod->resize_message,
                      pod->resize_since, true);
        return;
    }
}

static void put_conditions(struct vpa_json_writer *w, const struct pod *pod)
{
    const char *ready = pod->ready ? "True" : "False";
    const char *started = pod->started ? "True" : "False";
    bool done = strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0;
    const char *reason = pod->ready ? NULL : done ? "PodCompleted" : "ContainersNotReady";

    vpa_json_member_array(w, "conditions");
    for (size_t i = 0; i < pod->object.condition_count; i++) {
        const struct vpa_pod_condition *c = &pod->object.conditions[i];
        if (!is_own(c->type))
            put_condition(w, pod, c->type, c->status, c->reason, c->message, c->last_transition,
                          false);
    }
    put_condition(w, pod, "PodReadyToStartContainers", started, NULL, NULL, pod->started_at, false);
    put_condition(w, pod, "Initialized", "True", NULL, NULL, pod->started_at, false);
    put_condition(w, pod, "ContainersReady", ready, reason, NULL, pod->ready_since, false);
    put_condition(w, pod, "Ready", ready, reason, NULL, pod->ready_since, false);
    put_resize_conditions(w, pod);
    vpa_json_close_array(w);
}

static void put_terminated(struct vpa_json_writer *w, const char *reason, int32_t code,
                           vpa_time started, vpa_time finished)
{
    vpa_json_open_object(w);
    vpa_json_member_object(w, "terminated");
    vpa_json_member_int(w, "exitCode", code);
    vpa_json_member_string(w, "reason", reason);
    put_time(w, "startedAt", started);
    put_time(w, "finishedAt", finished);
    vpa_json_close_object(w);
    vpa_json_close_object(w);
}

static void put_state(struct vpa_json_writer *w, const struct run *run)
{
    vpa_json_key(w, "state");
    if (run->state == RUN_TERMINATED) {
        put_terminated(w, run->reason, run->exit_code, run->started, run->finished);
    } else {
        vpa_json_open_object(w);
        vpa_json_member_object(w, run->state == RUN_RUNNING ? "running" : "waiting");
        if (run->state == RUN_RUNNING)
            put_time(w, "startedAt", run->started);
        else
            vpa_json_member_string(w, "reason", "ContainerCreating");
        vpa_json_close_object(w);
        vpa_json_close_object(w);
    }
    vpa_json_key(w, "lastState");
    if (run->had_instance) {
        put_terminated(w, run->last_reason, run->last_exit_code, run->last_started,
                       run->last_finished);
    } else {
        vpa_json_open_object(w);
        vpa_json_close_object(w);
    }
}

static void put_run(struct vpa_json_writer *w, const struct run *run)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "name", run->name);
    put_state(w, run);
    vpa_json_member_bool(w, "ready", run->ready);
    vpa_json_member_bool(w, "started", run->state == RUN_RUNNING);
    vpa_json_member_int(w, "restartCount", run->restarts);
    vpa_json_member_string(w, "image", "fakelet");
    vpa_json_member_string(w, "imageID", "fakelet");
    vpa_json_key(w, "allocatedResources");
    vpa_resource_list_encode(w, &run->allocated);
    vpa_json_member_object(w, "resources");
    if (run->actual.limits.count) {
        vpa_json_key(w, "limits");
        vpa_resource_list_encode(w, &run->actual.limits);
    }
    if (run->actual.requests.count) {
        vpa_json_key(w, "requests");
        vpa_resource_list_encode(w, &run->actual.requests);
    }
    vpa_json_close_object(w);
    vpa_json_close_object(w);
}

void status_encode(const struct pod *pod, struct vpa_buf *out)
{
    struct vpa_json_writer w;
    char ip[32];

    snprintf(ip, sizeof(ip), "10.%d.%d.%d", 64 + (pod->ip >> 16) % 64, pod->ip >> 8 & 255,
             pod->ip & 255);
    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    vpa_json_member_object(&w, "status");
    vpa_json_member_string(&w, "phase", pod->phase);
    vpa_json_member_int_opt(&w, "observedGeneration", pod->observed_generation);
    put_time(&w, "startTime", pod->started_at);
    vpa_json_member_string(&w, "hostIP", "10.0.0.1");
    vpa_json_member_string(&w, "podIP", ip);
    put_conditions(&w, pod);
    vpa_json_member_array(&w, "containerStatuses");
    for (size_t i = 0; i < pod->run_count; i++)
        put_run(&w, &pod->runs[i]);
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
}
