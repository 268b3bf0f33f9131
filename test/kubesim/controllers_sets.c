/* StatefulSets (ordered names), DaemonSets, Jobs and CronJobs. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controllers.h"

/* ---- StatefulSet ---- */

static struct jv *named(const struct jv *list, const char *name)
{
    jv_each (m, list)
        if (!strcmp(jv_text_at(m->value, "metadata.name"), name))
            return m->value;
    return NULL;
}

static const char *pod_revision(const struct jv *pod)
{
    const char *t = jv_text(jv_get(jv_at(pod, "metadata.labels"), "controller-revision-hash"));
    return t ? t : "";
}

static bool finished(const struct jv *pod)
{
    const char *phase = jv_text_at(pod, "status.phase");
    return !strcmp(phase, "Succeeded") || !strcmp(phase, "Failed");
}

/* Creates what is missing in order; true when nothing is under way. */
static bool fill_set(struct controllers *k, const struct jv *set, const struct jv *pods,
                     const char *revision, int64_t wanted)
{
    struct vpa_arena *a = &k->a;
    const char *name = jv_text_at(set, "metadata.name");
    bool ordered = strcmp(jv_text_at(set, "spec.podManagementPolicy"), "Parallel") != 0,
         settled = true;

    for (int64_t i = 0; i < wanted; i++) {
        const char *pod_name = vpa_arena_printf(a, "%s-%lld", name, (long long)i);
        struct jv *pod = named(pods, pod_name);
        if (pod && finished(pod) && !jv_at(pod, "metadata.deletionTimestamp")) {
            delete_pod(k, pod);
            settled = false;
        } else if (!pod) {
            struct jv *labels = jv_obj(a);
            jv_set_str(a, labels, "statefulset.kubernetes.io/pod-name", pod_name);
            jv_set(a, labels, "apps.kubernetes.io/pod-index", jv_strf(a, "%lld", (long long)i));
            jv_set_str(a, labels, "controller-revision-hash", revision);
            if (create_pod(k, "apps/v1", "StatefulSet", set, jv_at(set, "spec.template"), pod_name,
                           NULL, labels) != 201)
                enqueue(k, WORK_STATEFUL_SET, jv_text_at(set, "metadata.namespace"), name, 500);
            settled = false;
        } else if (jv_at(pod, "metadata.deletionTimestamp") || !pod_ready(pod)) {
            settled = false;
        }
        if (!settled && ordered)
            return false;
    }
    return settled;
}

static int64_t ordinal(const struct jv *pod)
{
    const char *dash = strrchr(jv_text_at(pod, "metadata.name"), '-');
    return dash ? strtoll(dash + 1, NULL, 10) : -1;
}

void reconcile_stateful_set(struct controllers *k, const char *ns, const char *name)
{
    struct vpa_arena *a = &k->a;
    struct jv *set = load_object(k, "apps", "statefulsets", ns, name), *status = jv_obj(a);
    int64_t replicas = 0, ready = 0, updated = 0;

    if (!set || jv_at(set, "metadata.deletionTimestamp"))
        return;
    struct jv *pods = load_owned(k, "", "pods", ns, jv_text_at(set, "metadata.uid"));
    const char *revision =
        vpa_arena_printf(a, "%s-%s", name, template_hash(k, jv_at(set, "spec.template")));
    int64_t wanted = jv_int_at(set, "spec.replicas", 1);
    bool settled = fill_set(k, set, pods, revision, wanted);
    struct jv *last = NULL;
    jv_each (m, pods) {
        bool surplus = ordinal(m->value) >= wanted;
        bool stale = strcmp(pod_revision(m->value), revision) != 0 &&
                     strcmp(jv_text_at(set, "spec.updateStrategy.type"), "OnDelete") != 0;
        if (!jv_at(m->value, "metadata.deletionTimestamp") && (surplus || stale) &&
            (!last || ordinal(m->value) > ordinal(last)))
            last = m->value;
        if (finished(m->value))
            continue;
        replicas++;
        ready += pod_ready(m->value);
        updated += !strcmp(pod_revision(m->value), revision);
    }
    if (last && (settled || ordinal(last) >= wanted || !pod_ready(last)))
        delete_pod(k, last);
    jv_set_int(a, status, "observedGeneration", jv_int_at(set, "metadata.generation", 1));
    jv_set_int(a, status, "replicas", replicas);
    if (ready)
        jv_set_int(a, status, "readyReplicas", ready);
    jv_set_int(a, status, "currentReplicas", updated);
    jv_set_int(a, status, "updatedReplicas", updated);
    jv_set_str(a, status, "currentRevision", revision);
    jv_set_str(a, status, "updateRevision", revision);
    jv_set_int(a, status, "collisionCount", 0);
    jv_set_int(a, status, "availableReplicas", ready);
    put_status(k, vpa_arena_printf(a, "/apis/apps/v1/namespaces/%s/statefulsets/%s", ns, name),
               jv_get(set, "status"), status);
}

/* ---- DaemonSet ---- */

static bool node_fits(const struct jv *set, const struct jv *node)
{
    jv_each (m, jv_at(set, "spec.template.spec.nodeSelector"))
        if (!jv_equal(m->value, jv_get(jv_at(node, "metadata.labels"), m->name)))
            return false;
    return true;
}

void reconcile_daemon_set(struct controllers *k, const char *ns, const char *name)
{
    struct vpa_arena *a = &k->a;
    struct jv *set = load_object(k, "apps", "daemonsets", ns, name), *status = jv_obj(a);
    int64_t wanted = 0, ready = 0, current = 0, updated = 0;

    if (!set || jv_at(set, "metadata.deletionTimestamp"))
        return;
    struct jv *pods = load_owned(k, "", "pods", ns, jv_text_at(set, "metadata.uid"));
    const char *revision = template_hash(k, jv_at(set, "spec.template"));
    struct jv *labels = jv_obj(a), *stale = NULL;
    jv_set_str(a, labels, "controller-revision-hash", revision);
    jv_each (n, load_owned(k, "", "nodes", "", NULL)) {
        const char *node = jv_text_at(n->value, "metadata.name");
        bool there = false;
        if (!node_fits(set, n->value))
            continue;
        wanted++;
        jv_each (p, pods) {
            if (strcmp(jv_text_at(p->value, "spec.nodeName"), node) != 0)
                continue;
            there = true;
            if (finished(p->value) && !jv_at(p->value, "metadata.deletionTimestamp"))
                delete_pod(k, p->value);
            if (!pod_active(p->value))
                continue;
            current++;
            ready += pod_ready(p->value);
            if (!strcmp(pod_revision(p->value), revision))
                updated++;
            else
                stale = p->value;
        }
        if (!there && create_pod(k, "apps/v1", "DaemonSet", set, jv_at(set, "spec.template"), NULL,
                                 node, labels) != 201)
            enqueue(k, WORK_DAEMON_SET, ns, name, 500);
    }
    if (stale && ready == wanted &&
        strcmp(jv_text_at(set, "spec.updateStrategy.type"), "OnDelete") != 0)
        delete_pod(k, stale);
    jv_set_int(a, status, "currentNumberScheduled", current);
    jv_set_int(a, status, "numberMisscheduled", 0);
    jv_set_int(a, status, "desiredNumberScheduled", wanted);
    jv_set_int(a, status, "numberReady", ready);
    jv_set_int(a, status, "observedGeneration", jv_int_at(set, "metadata.generation", 1));
    jv_set_int(a, status, "updatedNumberScheduled", updated);
    if (ready)
        jv_set_int(a, status, "numberAvailable", ready);
    put_status(k, vpa_arena_printf(a, "/apis/apps/v1/namespaces/%s/daemonsets/%s", ns, name),
               jv_get(set, "status"), status);
}

/* ---- Job ---- */

static bool has_condition(const struct jv *object, const char *type)
{
    jv_each (m, jv_at(object, "status.conditions"))
        if (!strcmp(jv_text_at(m->value, "type"), type) &&
            !strcmp(jv_text_at(m->value, "status"), "True"))
            return true;
    return false;
}

void reconcile_job(struct controllers *k, const char *ns, const char *name)
{
    struct vpa_arena *a = &k->a;
    struct jv *job = load_object(k, "batch", "jobs", ns, name), *status;
    int64_t active = 0, succeeded = 0, failed = 0, ready = 0;

    if (!job || jv_at(job, "metadata.deletionTimestamp") || has_condition(job, "Complete") ||
        has_condition(job, "Failed"))
        return;
    status = jv_clone(a, jv_get(job, "status") ? jv_get(job, "status") : jv_obj(a));
    jv_each (m, load_owned(k, "", "pods", ns, jv_text_at(job, "metadata.uid"))) {
        const char *phase = jv_text_at(m->value, "status.phase");
        succeeded += !strcmp(phase, "Succeeded");
        failed += !strcmp(phase, "Failed") || (jv_at(m->value, "metadata.deletionTimestamp") &&
                                               strcmp(phase, "Succeeded") != 0);
        active += pod_active(m->value);
        ready += pod_active(m->value) && pod_ready(m->value);
    }
    int64_t parallel = jv_int_at(job, "spec.parallelism", 1),
            completions = jv_int_at(job, "spec.completions", parallel),
            backoff = jv_int_at(job, "spec.backoffLimit", 6);
    bool suspended = jv_bool_at(job, "spec.suspend", false), done = succeeded >= completions,
         lost = failed > backoff;
    int64_t wanted = completions - succeeded < parallel ? completions - succeeded : parallel;
    for (; !done && !lost && !suspended && active < wanted; active++)
        if (create_pod(k, "batch/v1", "Job", job, jv_at(job, "spec.template"), NULL, NULL, NULL) !=
            201) {
            enqueue(k, WORK_JOB, ns, name, 500);
            break;
        }
    jv_default(a, status, "startTime", vpa_arena_printf(a, "\"%s\"", sim_now_text(k->sim, a)));
    jv_set_int(a, status, "active", active);
    jv_set_int(a, status, "ready", ready);
    jv_set_int(a, status, "succeeded", succeeded);
    jv_set_int(a, status, "failed", failed);
    if (done || lost) {
        struct jv *list = jv_arr(a);
        jv_push(a, list,
                make_condition(k, NULL, done ? "Complete" : "Failed", true,
                               done ? "CompletionsReached" : "BackoffLimitExceeded", ""));
        jv_set(a, status, "conditions", list);
        if (done)
            jv_set_str(a, status, "completionTime", sim_now_text(k->sim, a));
    }
    put_status(k, vpa_arena_printf(a, "/apis/batch/v1/namespaces/%s/jobs/%s", ns, name),
               jv_get(job, "status"), status);
}

/* ---- CronJob ---- */

/* One field: *, a, a-b, with /step, comma separated. */
static bool field_has(const char *field, int value, int low, int high)
{
    while (*field) {
        int from = low, to = high, step = 1;
        if (*field == '*') {
            field++;
        } else {
            from = (int)strtol(field, (char **)(uintptr_t)&field, 10);
            to = from;
            if (*field == '-')
                to = (int)strtol(field + 1, (char **)(uintptr_t)&field, 10);
            else if (*field == '/')
                to = high;
        }
        if (*field == '/')
            step = (int)strtol(field + 1, (char **)(uintptr_t)&field, 10);
        if (step > 0 && value >= from && value <= to && (value - from) % step == 0)
            return true;
        if (*field != ',')
            return false;
        field++;
    }
    return false;
}

static bool due(const char *schedule, time_t t)
{
    char fields[5][64] = {"", "", "", "", ""};
    struct tm when;

    if (sscanf(schedule, "%63s %63s %63s %63s %63s", fields[0], fields[1], fields[2], fields[3],
               fields[4]) != 5)
        return false;
    if (!gmtime_r(&t, &when))
        return false;
    return field_has(fields[0], when.tm_min, 0, 59) && field_has(fields[1], when.tm_hour, 0, 23) &&
           field_has(fields[2], when.tm_mday, 1, 31) &&
           field_has(fields[3], when.tm_mon + 1, 1, 12) && field_has(fields[4], when.tm_wday, 0, 6);
}

/* The latest due minute behind `after`, not later than `now`; 0 when there is none. */
static time_t latest_due(const char *schedule, time_t after, time_t now)
{
    time_t t = now - now % 60;

    for (int i = 0; i < 60 * 24 * 7 && t > after; i++, t -= 60)
        if (due(schedule, t))
            return t;
    return 0;
}

static time_t seconds_of(const char *text)
{
    vpa_time t;
    return *text && vpa_time_parse(text, &t, NULL) == 0
               ? (time_t)(vpa_time_unix_nanos(t) / VPA_SECOND)
               : 0;
}

static int create_job(struct controllers *k, const struct jv *cron, time_t when)
{
    struct vpa_arena *a = &k->a;
    struct jv *job = jv_clone(a, jv_at(cron, "spec.jobTemplate")), *meta;

    if (!job)
        return 0;
    meta = jv_ensure(a, job, "metadata");
    jv_set(a, meta, "name",
           jv_strf(a, "%s-%lld", jv_text_at(cron, "metadata.name"), (long long)(when / 60)));
    jv_set(a, meta, "ownerReferences", owner_reference(k, "batch/v1", "CronJob", cron));
    jv_set_str(a, job, "apiVersion", "batch/v1");
    jv_set_str(a, job, "kind", "Job");
    return call(k, "POST",
                vpa_arena_printf(a, "/apis/batch/v1/namespaces/%s/jobs",
                                 jv_text_at(cron, "metadata.namespace")),
                NULL, job, NULL);
}

static void trim_history(struct controllers *k, const struct jv *cron, const struct jv *jobs,
                         const char *type, int64_t keep)
{
    int64_t seen = 0;

    for (size_t i = jv_len(jobs); i-- > 0;) { /* names grow with time */
        const struct jv *job = jobs->items[i].value;
        if (!has_condition(job, type) || ++seen <= keep)
            continue;
        (void)call(k, "DELETE",
                   vpa_arena_printf(&k->a,
                                    "/apis/batch/v1/namespaces/%s/jobs/%s"
                                    "?propagationPolicy=Background",
                                    jv_text_at(cron, "metadata.namespace"),
                                    jv_text_at(job, "metadata.name")),
                   NULL, NULL, NULL);
    }
}

void reconcile_cron_job(struct controllers *k, const char *ns, const char *name)
{
    struct vpa_arena *a = &k->a;
    struct jv *cron = load_object(k, "batch", "cronjobs", ns, name), *status = jv_obj(a),
              *active = jv_arr(a);

    if (!cron || jv_at(cron, "metadata.deletionTimestamp"))
        return;
    struct jv *jobs = load_owned(k, "batch", "jobs", ns, jv_text_at(cron, "metadata.uid"));
    const char *last = jv_text_at(cron, "status.lastScheduleTime");
    time_t now = (time_t)(vpa_time_unix_nanos(sim_now(k->sim)) / VPA_SECOND);
    time_t when =
        latest_due(jv_text_at(cron, "spec.schedule"),
                   seconds_of(*last ? last : jv_text_at(cron, "metadata.creationTimestamp")), now);
    jv_each (m, jobs) {
        if (has_condition(m->value, "Complete") || has_condition(m->value, "Failed"))
            continue;
        struct jv *ref = jv_obj(a);
        jv_set_str(a, ref, "apiVersion", "batch/v1");
        jv_set_str(a, ref, "kind", "Job");
        jv_set_str(a, ref, "name", jv_text_at(m->value, "metadata.name"));
        jv_set_str(a, ref, "namespace", ns);
        jv_set_str(a, ref, "uid", jv_text_at(m->value, "metadata.uid"));
        jv_push(a, active, ref);
    }
    bool blocked =
        jv_len(active) && strcmp(jv_text_at(cron, "spec.concurrencyPolicy"), "Allow") != 0;
    if (when && !blocked && !jv_bool_at(cron, "spec.suspend", false)) {
        char text[VPA_TIME_TEXT_MAX];
        int code = create_job(k, cron, when);
        vpa_time_format(vpa_time_from_unix(when, 0), text);
        if (code == 201 || code == 409)
            last = vpa_arena_strdup(a, text);
    }
    trim_history(k, cron, jobs, "Complete", jv_int_at(cron, "spec.successfulJobsHistoryLimit", 3));
    trim_history(k, cron, jobs, "Failed", jv_int_at(cron, "spec.failedJobsHistoryLimit", 1));
    if (jv_len(active))
        jv_set(a, status, "active", active);
    if (*last)
        jv_set_str(a, status, "lastScheduleTime", last);
    put_status(k, vpa_arena_printf(a, "/apis/batch/v1/namespaces/%s/cronjobs/%s", ns, name),
               jv_get(cron, "status"), status);
}
