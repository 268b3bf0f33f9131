/*
 * The life of a container on the node: it starts, works itself ready, uses what its recording says,
 * is throttled at its cpu limit, is killed when its memory passes the limit, and is started again
 * with the kubelet's back-off (at once, then 10 s doubling to 5 min).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fakelet.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"

#define BACKOFF_FIRST (10 * VPA_SECOND)
#define BACKOFF_MAX (5 * VPA_MINUTE)

static double annotation_number(const struct pod *pod, const char *name, const char *container,
                                double preset)
{
    const char *text = pod_annotation(pod, name, container);
    char *end;

    if (!text)
        return preset;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < 0) {
        VPA_WARN("Annotation is not a number", VPA_KV("pod", pod->key), VPA_KV("annotation", name),
                 VPA_KV("value", text));
        return preset;
    }
    return value;
}

static double annotation_quantity(struct pod *pod, const char *name, const char *container,
                                  bool millis)
{
    const char *text = pod_annotation(pod, name, container);
    struct vpa_quantity q;
    struct vpa_error err;

    if (!text)
        return 0;
    if (vpa_quantity_parse(&pod->arena, text, &q, &err) < 0) {
        VPA_WARN("Annotation is not a quantity", VPA_KV("pod", pod->key),
                 VPA_KV("annotation", name), VPA_KERR(&err));
        return 0;
    }
    return (double)(millis ? vpa_quantity_milli_value(&q) : vpa_quantity_value(&q));
}

/* The factor of this replica: the ordinal is the number behind the last '-' of the pod's name. */
static double replica_scale(const struct pod *pod, const char *container)
{
    const char *text = pod_annotation(pod, "replica-scales", container);
    const char *dash = strrchr(pod->object.meta.name, '-');
    int64_t ordinal = 0;
    struct vpa_slice piece;

    if (!text || !dash || vpa_parse_int64(dash + 1, &ordinal, NULL) < 0)
        return 1;
    for (int64_t i = 0; vpa_str_split(&text, ',', &piece); i++)
        if (i == ordinal)
            return strtod(piece.ptr, NULL);
    return 1;
}

void run_init(struct pod *pod, struct run *run, const struct vpa_container *container)
{
    const char *name = container->name;
    const char *trace = pod_annotation(pod, "trace", name);
    const char *clock = pod_annotation(pod, "clock", name);
    double scale = replica_scale(pod, name);
    struct vpa_error err;

    *run =
        (struct run){.name = vpa_arena_strdup(&pod->arena, name), .reason = "", .last_reason = ""};
    run->started = run->finished = run->last_started = run->last_finished = VPA_TIME_UNSET;
    run->not_before = VPA_TIME_UNSET;
    run->usage = (struct usage){
        .stretch = fmax(annotation_number(pod, "stretch", name, 1), 1e-6),
        .from_start = clock && strcmp(clock, "start") == 0,
        .cpu_scale = scale * annotation_number(pod, "cpu-scale", name, 1),
        .memory_scale = scale * annotation_number(pod, "memory-scale", name, 1),
        .memory_base = scale * annotation_quantity(pod, "memory-base", name, false),
        .cpu_millis = scale * annotation_quantity(pod, "cpu", name, true),
        .memory_bytes = scale * annotation_quantity(pod, "memory", name, false),
        .after = pod_duration(pod, "after", name, 0),
        .startup_cpu = annotation_number(pod, "startup-cpu", name, 0),
        .startup_cores = fmax(annotation_number(pod, "startup-cores", name, 4), 0.001),
    };
    if (trace && traces_get(pod->fakelet->traces, trace, &run->usage.trace, &err) < 0)
        VPA_WARN("Cannot use the recording, the container uses nothing", VPA_KV("pod", pod->key),
                 VPA_KERR(&err));
    run->allocated = vpa_resource_list_copy(&pod->arena, &container->resources.requests);
    run->actual.present = true;
    run->actual.requests = vpa_resource_list_copy(&pod->arena, &container->resources.requests);
    run->actual.limits = vpa_resource_list_copy(&pod->arena, &container->resources.limits);
}

/* Cores that the limit allows; without a limit as many as the work can use. */
static double core_limit(const struct run *run)
{
    const struct vpa_quantity *limit = vpa_resource_find(&run->actual.limits, VPA_CPU);

    return limit ? (double)vpa_quantity_milli_value(limit) / 1000 : INFINITY;
}

static double startup_cores(const struct run *run)
{
    return fmin(run->usage.startup_cores, core_limit(run));
}

void run_demand(const struct run *run, vpa_time now, double *cpu_millis, double *memory_bytes)
{
    *cpu_millis = *memory_bytes = 0;
    if (run->state != RUN_RUNNING)
        return;
    usage_at(&run->usage, run->started, now, cpu_millis, memory_bytes);
    if (run->startup_done < run->usage.startup_cpu)
        *cpu_millis = 1000 * startup_cores(run);
    *cpu_millis = fmin(*cpu_millis, 1000 * core_limit(run));
}

void run_usage(const struct run *run, vpa_time now, double *cpu_millis, double *memory_bytes)
{
    const struct vpa_quantity *limit = vpa_resource_find(&run->actual.limits, VPA_MEMORY);

    run_demand(run, now, cpu_millis, memory_bytes);
    if (limit)
        *memory_bytes = fmin(*memory_bytes, (double)vpa_quantity_value(limit));
}

static void run_start(struct run *run, vpa_time now)
{
    run->state = RUN_RUNNING;
    run->started = now;
    run->startup_done = 0;
    run->ready = false;
}

static void run_end(struct run *run, vpa_time now, const char *reason, int32_t exit_code)
{
    vpa_duration wait = 0;

    run->state = RUN_TERMINATED;
    run->ready = false;
    run->finished = now;
    run->reason = reason;
    run->exit_code = exit_code;
    if (run->restarts > 0) {
        wait = BACKOFF_FIRST;
        for (int32_t i = 1; i < run->restarts && wait < BACKOFF_MAX; i++)
            wait *= 2;
        wait = wait < BACKOFF_MAX ? wait : BACKOFF_MAX;
    }
    run->not_before = now + wait;
}

void run_restart(struct run *run, vpa_time now)
{
    run->had_instance = true;
    run->last_started = run->started;
    run->last_finished = run->state == RUN_TERMINATED ? run->finished : now;
    run->last_reason = run->state == RUN_TERMINATED ? run->reason : "Completed";
    run->last_exit_code = run->state == RUN_TERMINATED ? run->exit_code : 0;
    run->restarts++;
    run_start(run, now);
}

static bool may_restart(const struct pod *pod, const struct run *run)
{
    if (strcmp(pod->restart_policy, "Never") == 0)
        return false;
    return strcmp(pod->restart_policy, "OnFailure") != 0 || run->exit_code != 0;
}

static bool step_running(struct pod *pod, struct run *run, vpa_time now, vpa_duration step)
{
    const char *fault = pod_annotation(pod, "fault", run->name);
    vpa_duration life = pod_duration(pod, "run", run->name, 0);
    vpa_duration oom = pod_duration(pod, "oom-after", run->name, 0);
    const struct vpa_quantity *limit = vpa_resource_find(&run->actual.limits, VPA_MEMORY);
    double cpu, memory;

    run_demand(run, now, &cpu, &memory);
    if ((limit && memory > (double)vpa_quantity_value(limit)) ||
        (oom > 0 && now - run->started >= oom)) {
        run_end(run, now, "OOMKilled", 137);
        return true;
    }
    if (fault && strcmp(fault, "crash") == 0) {
        run_end(run, now, "Error", 1);
        return true;
    }
    if (life > 0 && now - run->started >= life) {
        run_end(run, now, "Completed", 0);
        return true;
    }
    double work = startup_cores(run) * (double)step / 1e9;
    double left = run->usage.startup_cpu - run->startup_done;
    run->startup_done += work;
    /* Steps can be long: ready at the moment when the work was done. */
    run->ready_at =
        work > 0 && left > 0 ? now - (vpa_duration)((double)step * (1 - left / work)) : now;
    bool ready = (!run->has_probe || run->startup_done >= run->usage.startup_cpu) &&
                 !(fault && strcmp(fault, "never-ready") == 0);
    bool changed = ready != run->ready;
    run->ready = ready;
    return changed;
}

bool run_step(struct pod *pod, struct run *run, vpa_time now, vpa_duration step)
{
    switch (run->state) {
    case RUN_WAITING:
        run_start(run, now);
        step_running(pod, run, now, 0); /* without work to do it is ready at once */
        return true;
    case RUN_RUNNING:
        return step_running(pod, run, now, step);
    case RUN_TERMINATED:
        if (!may_restart(pod, run) || now < run->not_before)
            return false;
        run_restart(run, now);
        return true;
    }
    return false;
}
