/*
 * Resizes in place, as the kubelet of 1.35 does them. Three values per container: desired (the
 * spec), promised (allocatedResources, requests only) and actual (resources of the status).
 *
 *   desired differs from promised   it must fit: alone on the node, else Infeasible and not tried
 *                                   again; beside the promises to other pods, else Deferred and
 *                                   tried at each step
 *   promised differs from actual    PodResizeInProgress until the node has acted; a changed
 *                                   resource whose resizePolicy says RestartContainer restarts the
 *                                   container
 */
#include <stdio.h>
#include <string.h>

#include "fakelet.h"

static const struct vpa_container *spec_of(const struct pod *pod, size_t i)
{
    return &pod->object.containers[i];
}

static bool resources_equal(const struct vpa_resources *a, const struct vpa_resources *b)
{
    return vpa_resource_list_equal(&a->requests, &b->requests) &&
           vpa_resource_list_equal(&a->limits, &b->limits);
}

static bool wants_resize(const struct pod *pod)
{
    for (size_t i = 0; i < pod->run_count; i++)
        if (!resources_equal(&spec_of(pod, i)->resources, &pod->runs[i].actual))
            return true;
    return false;
}

static bool is_promised(const struct pod *pod)
{
    for (size_t i = 0; i < pod->run_count; i++)
        if (!vpa_resource_list_equal(&spec_of(pod, i)->resources.requests, &pod->runs[i].allocated))
            return false;
    return true;
}

static int64_t desired(const struct pod *pod, const char *resource, bool millis)
{
    int64_t sum = 0;

    for (size_t i = 0; i < pod->run_count; i++) {
        const struct vpa_quantity *q =
            vpa_resource_find(&spec_of(pod, i)->resources.requests, resource);
        if (q)
            sum += millis ? vpa_quantity_milli_value(q) : vpa_quantity_value(q);
    }
    return sum;
}

static bool set_phase(struct pod *pod, enum resize_phase phase, vpa_time now, const char *message)
{
    bool changed = pod->resize != phase || strcmp(pod->resize_message, message) != 0;

    if (pod->resize != phase)
        pod->resize_since = now;
    pod->resize = phase;
    snprintf(pod->resize_message, sizeof(pod->resize_message), "%s", message);
    return changed;
}

/* Does the desired size fit the node? Sets the phase when it does not. */
static bool admit(struct pod *pod, vpa_time now, bool *changed)
{
    int64_t cpu = desired(pod, VPA_CPU, true), memory = desired(pod, VPA_MEMORY, false);
    int64_t other_cpu, other_memory;
    const char *speed = pod_annotation(pod, "resize", NULL);
    char message[200];

    if (speed && strcmp(speed, "infeasible") == 0) {
        *changed = set_phase(pod, RESIZE_INFEASIBLE, now,
                             "In-place resize of containers is not supported on this node");
        return false;
    }
    if (cpu > pod->node->cpu_millis || memory > pod->node->memory_bytes) {
        bool is_cpu = cpu > pod->node->cpu_millis;
        snprintf(message, sizeof(message),
                 "Node didn't have enough capacity: %s, requested: %lld, capacity: %lld",
                 is_cpu ? "cpu" : "memory", (long long)(is_cpu ? cpu : memory),
                 (long long)(is_cpu ? pod->node->cpu_millis : pod->node->memory_bytes));
        *changed = set_phase(pod, RESIZE_INFEASIBLE, now, message);
        return false;
    }
    node_promised(pod->fakelet, pod->node, pod, &other_cpu, &other_memory);
    bool cpu_fits = other_cpu + cpu <= pod->node->cpu_millis;
    if (cpu_fits && other_memory + memory <= pod->node->memory_bytes)
        return true;
    snprintf(message, sizeof(message),
             "Node didn't have enough resource: %s, requested: %lld, used: %lld, capacity: %lld",
             cpu_fits ? "memory" : "cpu", (long long)(cpu_fits ? memory : cpu),
             (long long)(cpu_fits ? other_memory : other_cpu),
             (long long)(cpu_fits ? pod->node->memory_bytes : pod->node->cpu_millis));
    *changed = set_phase(pod, RESIZE_DEFERRED, now, message);
    return false;
}

static void promise(struct pod *pod, vpa_time now)
{
    const char *speed = pod_annotation(pod, "resize", NULL);

    for (size_t i = 0; i < pod->run_count; i++)
        pod->runs[i].allocated =
            vpa_resource_list_copy(&pod->arena, &spec_of(pod, i)->resources.requests);
    pod->resize_done_at =
        now + (speed && (strcmp(speed, "never") == 0 || strcmp(speed, "error") == 0)
                   ? 0
                   : pod_duration(pod, "resize", NULL, VPA_SECOND));
}

/* A memory limit below what is in use cannot be set: the kubelet reports it and tries again. */
static bool limit_below_usage(const struct pod *pod, vpa_time now, char *message, size_t size)
{
    for (size_t i = 0; i < pod->run_count; i++) {
        const struct vpa_quantity *limit =
            vpa_resource_find(&spec_of(pod, i)->resources.limits, VPA_MEMORY);
        double cpu, memory;
        run_usage(&pod->runs[i], now, &cpu, &memory);
        if (limit && pod->runs[i].state == RUN_RUNNING &&
            memory > (double)vpa_quantity_value(limit)) {
            snprintf(message, size,
                     "cannot decrease memory limits: attempting to set container %s memory limit "
                     "(%lld) below current usage (%.0f)",
                     pod->runs[i].name, (long long)vpa_quantity_value(limit), memory);
            return true;
        }
    }
    return false;
}

static bool needs_restart(const struct vpa_container *spec, const struct run *run)
{
    for (size_t i = 0; i < spec->resize_policy_count; i++) {
        const struct vpa_resize_policy *policy = &spec->resize_policy[i];
        if (strcmp(policy->restart_policy, "RestartContainer") != 0)
            continue;
        const struct vpa_quantity *pairs[2][2] = {
            {vpa_resource_find(&spec->resources.requests, policy->resource_name),
             vpa_resource_find(&run->actual.requests, policy->resource_name)},
            {vpa_resource_find(&spec->resources.limits, policy->resource_name),
             vpa_resource_find(&run->actual.limits, policy->resource_name)}};
        for (size_t k = 0; k < 2; k++)
            if (!pairs[k][0] != !pairs[k][1] ||
                (pairs[k][0] && vpa_quantity_cmp(pairs[k][0], pairs[k][1]) != 0))
                return true;
    }
    return false;
}

static void actuate(struct pod *pod, vpa_time now)
{
    for (size_t i = 0; i < pod->run_count; i++) {
        const struct vpa_container *spec = spec_of(pod, i);
        struct run *run = &pod->runs[i];
        bool restart = run->state == RUN_RUNNING && needs_restart(spec, run);
        run->actual.requests = vpa_resource_list_copy(&pod->arena, &spec->resources.requests);
        run->actual.limits = vpa_resource_list_copy(&pod->arena, &spec->resources.limits);
        if (restart)
            run_restart(run, now);
    }
}

bool resize_step(struct pod *pod, vpa_time now)
{
    const char *speed = pod_annotation(pod, "resize", NULL);
    char message[200] = "";
    bool changed = false;

    if (!wants_resize(pod)) {
        pod->observed_generation = pod->object.meta.generation;
        return set_phase(pod, RESIZE_NONE, now, "");
    }
    bool new_spec = pod->observed_generation != pod->object.meta.generation;
    if (speed && strcmp(speed, "never") == 0)
        return false; /* a node that does not answer */
    if (!is_promised(pod)) {
        if (pod->resize == RESIZE_INFEASIBLE && !new_spec)
            return false;
        pod->observed_generation = pod->object.meta.generation;
        if (!admit(pod, now, &changed))
            return changed || new_spec;
        promise(pod, now);
        return set_phase(pod, RESIZE_IN_PROGRESS, now, "") || new_spec;
    }
    pod->observed_generation = pod->object.meta.generation;
    if (pod->resize != RESIZE_IN_PROGRESS && pod->resize != RESIZE_ERROR) {
        promise(pod, now); /* only limits changed */
        return set_phase(pod, RESIZE_IN_PROGRESS, now, "") || new_spec;
    }
    if (speed && strcmp(speed, "error") == 0)
        return set_phase(pod, RESIZE_ERROR, now, "the container runtime refused the new size") ||
               new_spec;
    if (limit_below_usage(pod, now, message, sizeof(message)))
        return set_phase(pod, RESIZE_ERROR, now, message) || new_spec;
    if (now < pod->resize_done_at)
        return new_spec;
    actuate(pod, now);
    set_phase(pod, RESIZE_NONE, now, "");
    return true;
}
