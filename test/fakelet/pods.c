/*
 * The pods of our nodes: kept in step with the API server by a reflector, moved by pods_step(). One
 * write per pod is under way at a time; a change meanwhile marks the pod dirty again, so the last
 * word wins.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakelet.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

const char *pod_annotation(const struct pod *pod, const char *name, const char *container)
{
    char key[256];

    if (container) {
        snprintf(key, sizeof(key), ANNOTATION "%s.%s", name, container);
        const char *value = vpa_labels_get(&pod->object.meta.annotations, key);
        if (value)
            return value;
    }
    snprintf(key, sizeof(key), ANNOTATION "%s", name);
    return vpa_labels_get(&pod->object.meta.annotations, key);
}

vpa_duration pod_duration(const struct pod *pod, const char *name, const char *container,
                          vpa_duration preset)
{
    const char *text = pod_annotation(pod, name, container);
    vpa_duration d;
    struct vpa_error err;

    if (!text)
        return preset;
    if (vpa_duration_parse(text, &d, &err) < 0 || d < 0) {
        VPA_WARN("Annotation is not a duration", VPA_KV("pod", pod->key),
                 VPA_KV("annotation", name), VPA_KV("value", text));
        return preset;
    }
    return d;
}

static void pod_free(struct pod *pod)
{
    if (pod->request)
        vpa_kube_cancel(pod->request);
    vpa_arena_release(&pod->arena);
    free(pod->key);
    free(pod);
}

/* Takes over what the API server says a container did before we saw the pod (a restart of this
 * program). */
static void adopt(const struct pod *pod, struct run *run)
{
    const struct vpa_container_status *status = vpa_pod_status(&pod->object, run->name);

    if (!status || !status->running)
        return;
    run->state = RUN_RUNNING;
    run->started = pod->object.start_time;
    run->ready = status->ready;
    run->restarts = status->restart_count;
    run->startup_done = status->ready ? run->usage.startup_cpu : 0;
}

/* A new arena for a new version of the object: what the runs hold in the old one moves over. */
static void carry_over(struct vpa_arena *arena, struct run *old)
{
    old->name = vpa_arena_strdup(arena, old->name);
    old->allocated = vpa_resource_list_copy(arena, &old->allocated);
    old->actual.requests = vpa_resource_list_copy(arena, &old->actual.requests);
    old->actual.limits = vpa_resource_list_copy(arena, &old->actual.limits);
}

static int decode(struct pod *pod, struct vpa_arena *arena, const struct vpa_json *json,
                  struct vpa_error *err)
{
    struct vpa_pod object;
    const char *policy = vpa_json_string(vpa_json_at(json, "spec.restartPolicy"));

    if (vpa_pod_decode(arena, json, &object, err) < 0)
        return -1;
    bool fresh = !pod->runs || pod->run_count != object.container_count;
    struct run *runs = vpa_arena_zalloc(arena, sizeof(*runs) * (object.container_count + 1));
    for (size_t i = 0; !fresh && i < pod->run_count; i++) {
        runs[i] = pod->runs[i];
        carry_over(arena, &runs[i]);
    }
    vpa_arena_release(&pod->arena);
    pod->arena = *arena;
    pod->object = object;
    pod->restart_policy = vpa_arena_strdup(&pod->arena, policy ? policy : "Always");
    pod->runs = runs;
    pod->run_count = object.container_count;
    for (size_t i = 0; fresh && i < pod->run_count; i++) {
        run_init(pod, &runs[i], &object.containers[i]);
        adopt(pod, &runs[i]);
    }
    size_t i = 0;
    vpa_json_foreach (container, vpa_json_at(json, "spec.containers")) {
        runs[i++].has_probe = !vpa_json_is_null(vpa_json_find(container, "readinessProbe"));
    }
    return 0;
}

static struct pod *pod_new(struct fakelet *f, const struct vpa_pod *object, struct node *node)
{
    struct pod *pod = vpa_xcalloc(1, sizeof(*pod));

    pod->fakelet = f;
    pod->key = vpa_xjoin(object->meta.ns, '/', object->meta.name);
    pod->node = node;
    pod->phase = "Pending";
    pod->started_at = pod->ready_since = pod->deleting_since = pod->resize_since = VPA_TIME_UNSET;
    pod->ip = ++f->next_ip;
    vpa_table_put(&f->pods, pod->key, pod);
    return pod;
}

static void forget(struct fakelet *f, const char *key)
{
    struct pod *pod = vpa_table_remove(&f->pods, key);

    if (pod)
        pod_free(pod);
}

static int on_object(void *ctx, enum vpa_reflector_event event, const struct vpa_json *json,
                     struct vpa_error *err)
{
    struct fakelet *f = ctx;
    struct vpa_arena arena = {0};
    struct vpa_pod probe;

    if (vpa_pod_decode(&arena, json, &probe, err) < 0) {
        vpa_arena_release(&arena);
        return -1;
    }
    vpa_auto_free char *key = vpa_xjoin(probe.meta.ns, '/', probe.meta.name);
    struct node *node = node_find(f, probe.node_name);
    struct pod *pod = vpa_table_find(&f->pods, key);
    bool other = pod && pod->runs && strcmp(pod->object.meta.uid, probe.meta.uid) != 0;
    if (event == VPA_REFLECTOR_DELETED || !node || other) {
        forget(f, key);
        pod = NULL;
    }
    int rc = 0;
    if (event != VPA_REFLECTOR_DELETED && node) {
        bool created = !pod;
        if (!pod)
            pod = pod_new(f, &probe, node);
        pod->seen = true;
        struct vpa_arena own = {0};
        rc = decode(pod, &own, json, err);
        if (rc < 0) {
            vpa_arena_release(&own);
        } else if (!vpa_time_is_unset(pod->object.meta.deletion) &&
                   vpa_time_is_unset(pod->deleting_since)) {
            pod->deleting_since = vpa_loop_now(f->loop);
        }
        if (rc == 0 && created && pod->object.phase[0] &&
            strcmp(pod->object.phase, "Pending") != 0) {
            pod->phase = strcmp(pod->object.phase, "Running") == 0     ? "Running"
                         : strcmp(pod->object.phase, "Succeeded") == 0 ? "Succeeded"
                                                                       : "Failed";
            pod->started = true;
            pod->started_at = pod->object.start_time;
            pod->ready_since = pod->object.start_time;
        }
    }
    vpa_arena_release(&arena);
    return rc;
}

static void on_begin(void *ctx)
{
    struct fakelet *f = ctx;
    void *value;

    for (size_t i = 0; vpa_table_next(&f->pods, &i, NULL, &value);)
        ((struct pod *)value)->seen = false;
}

static void on_end(void *ctx)
{
    struct fakelet *f = ctx;
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&f->pods, &i, &key, &value);)
        if (!((struct pod *)value)->seen)
            forget(f, key);
}

int pods_start(struct fakelet *f, struct vpa_error *err)
{
    const struct vpa_reflector_options options = {
        .client = f->client,
        .name = "pods",
        .path = "/api/v1/pods",
        .field_selector = "spec.nodeName!=",
        .handler = {f, on_begin, on_object, on_end, NULL},
    };

    f->reflector = vpa_reflector_new(&options);
    vpa_reflector_start(f->reflector);
    return vpa_reflector_wait(&f->reflector, 1, f->loop, 0, err);
}

void pods_release(struct fakelet *f)
{
    void *value;

    vpa_reflector_free(f->reflector);
    f->reflector = NULL;
    for (size_t i = 0; vpa_table_next(&f->pods, &i, NULL, &value);)
        pod_free(value);
    vpa_table_release(&f->pods);
}

/* ---- writes ---- */

static void on_written(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct pod *pod = ctx;

    pod->request = NULL;
    pod->writing = false;
    if (!err || err->code == VPA_NOT_FOUND)
        return;
    VPA_WARN("Cannot write a pod", VPA_KV("pod", pod->key), VPA_KV("code", result->status_code),
             VPA_KERR(err));
    pod->gone = false;
    pod->dirty = true; /* tried again at the next step */
}

static void start_call(struct pod *pod, enum vpa_kube_verb verb, const char *subresource,
                       const char *body)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);
    struct vpa_kube_call call = {
        .verb = verb, .body = body, .body_len = strlen(body), .unlimited = true};

    vpa_kube_path(&path, "v1", pod->object.meta.ns, "pods", pod->object.meta.name, subresource);
    call.path = vpa_buf_text(&path);
    pod->writing = true;
    pod->request = vpa_kube_start(pod->fakelet->client, &call, on_written, pod);
}

static void write_status(struct pod *pod)
{
    vpa_auto_buf body = VPA_BUF(1 << 20);

    status_encode(pod, &body);
    pod->dirty = false;
    start_call(pod, VPA_KUBE_PATCH_MERGE, "status", vpa_buf_text(&body));
}

static void delete_pod(struct pod *pod)
{
    vpa_auto_buf body = VPA_BUF(4096);

    vpa_buf_puts(&body,
                 "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"gracePeriodSeconds\":0,"
                 "\"preconditions\":{\"uid\":");
    vpa_json_escape(&body, pod->object.meta.uid);
    vpa_buf_puts(&body, "}}");
    pod->gone = true;
    start_call(pod, VPA_KUBE_DELETE, NULL, vpa_buf_text(&body));
}

/* ---- one step ---- */

static bool is_done(const struct pod *pod)
{
    return strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0;
}

/* Phase and readiness that follow from the containers; true when one changed. */
static bool summarise(struct pod *pod, vpa_time now)
{
    bool ready = true, ended = true, failed = false;
    vpa_time ready_at = VPA_TIME_UNSET;

    for (size_t i = 0; i < pod->run_count; i++) {
        const struct run *run = &pod->runs[i];
        bool over = run->state == RUN_TERMINATED &&
                    (strcmp(pod->restart_policy, "Never") == 0 ||
                     (strcmp(pod->restart_policy, "OnFailure") == 0 && run->exit_code == 0));
        ready &= run->ready;
        if (vpa_time_is_unset(ready_at) || run->ready_at > ready_at)
            ready_at = run->ready_at;
        ended &= over;
        failed |= over && run->exit_code != 0;
    }
    const char *phase = !ended ? "Running" : failed ? "Failed" : "Succeeded";
    bool changed = strcmp(phase, pod->phase) != 0 || ready != pod->ready || !pod->started;
    if (ready != pod->ready || !pod->started)
        pod->ready_since = ready && !vpa_time_is_unset(ready_at) ? ready_at : now;
    pod->phase = phase;
    pod->ready = ready;
    pod->started = true;
    return changed;
}

static void step_pod(struct pod *pod, vpa_time now, vpa_duration step)
{
    bool changed = false;

    if (!pod->runs || pod->gone)
        return;
    if (!vpa_time_is_unset(pod->deleting_since)) {
        if (!pod->writing &&
            now - pod->deleting_since >= pod_duration(pod, "stop", NULL, VPA_SECOND))
            delete_pod(pod);
        return;
    }
    const char *fault = pod_annotation(pod, "fault", NULL);
    if (fault && strcmp(fault, "no-start") == 0)
        return; /* its image never arrives: it stays Pending */
    if (!is_done(pod)) {
        if (!pod->started)
            pod->started_at = now;
        for (size_t i = 0; i < pod->run_count; i++)
            changed |= run_step(pod, &pod->runs[i], now, step);
        changed |= resize_step(pod, now);
        changed |= summarise(pod, now);
    }
    pod->dirty |= changed;
    if (pod->dirty && !pod->writing)
        write_status(pod);
}

void pods_step(struct fakelet *f, vpa_time now)
{
    static vpa_time last = VPA_TIME_UNSET;
    vpa_duration step = vpa_time_is_unset(last) ? 0 : vpa_time_sub(now, last);
    void *value;

    last = now;
    for (size_t i = 0; vpa_table_next(&f->pods, &i, NULL, &value);)
        step_pod(value, now, step);
}
