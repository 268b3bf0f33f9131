/*
 * The row of a pod in a Table. What it says of the status is the server's printer over again: init
 * containers first; once they are through, the containers from the last to the first, each of which
 * may have its word; the deletion last.
 */
#include "table.h"

#include <stdio.h>
#include <string.h>

struct summary {
    struct row *r;
    const char *reason;
    size_t ready, total;
    int64_t restarts, sidecar_restarts;
    const char *last, *sidecar_last; /* when a container ended before */
    bool initializing;
};

static const struct jv *init_container(const struct jv *pod, const char *name)
{
    jv_each (m, jv_at(pod, "spec.initContainers"))
        if (!strcmp(jv_text_at(m->value, "name"), name))
            return m->value;
    return NULL;
}

static bool is_sidecar(const struct jv *container)
{
    return !strcmp(jv_text_at(container, "restartPolicy"), "Always");
}

static bool has_condition(const struct jv *pod, const char *type)
{
    jv_each (m, jv_at(pod, "status.conditions"))
        if (!strcmp(jv_text_at(m->value, "type"), type))
            return !strcmp(jv_text_at(m->value, "status"), "True");
    return false;
}

static void count_restarts(const struct jv *status, int64_t *restarts, const char **last)
{
    const char *t = jv_text_at(status, "lastState.terminated.finishedAt");

    *restarts += jv_int_at(status, "restartCount", 0);
    if (strcmp(t, *last) > 0)
        *last = t;
}

/* Why a container ended, in a word. */
static const char *ended(struct summary *s, const struct jv *terminated)
{
    const char *reason = jv_text_at(terminated, "reason");
    int64_t signal = jv_int_at(terminated, "signal", 0);

    if (*reason)
        return reason;
    if (signal)
        return vpa_arena_printf(s->r->a, "Signal:%lld", (long long)signal);
    return vpa_arena_printf(s->r->a, "ExitCode:%lld",
                            (long long)jv_int_at(terminated, "exitCode", 0));
}

/* True when the next init container has its turn. */
static bool look_at_init(struct summary *s, const struct jv *status, size_t index)
{
    const struct jv *terminated = jv_at(status, "state.terminated");
    const char *waiting = jv_text_at(status, "state.waiting.reason");
    bool sidecar = is_sidecar(init_container(s->r->o, jv_text_at(status, "name")));

    count_restarts(status, &s->restarts, &s->last);
    if (sidecar)
        count_restarts(status, &s->sidecar_restarts, &s->sidecar_last);
    if (terminated && jv_int_at(terminated, "exitCode", 0) == 0)
        return true;
    if (sidecar && jv_bool_at(status, "started", false)) {
        s->ready += jv_bool_at(status, "ready", false);
        return true;
    }
    s->initializing = true;
    s->reason = terminated ? vpa_arena_printf(s->r->a, "Init:%s", ended(s, terminated))
                : *waiting && strcmp(waiting, "PodInitializing") != 0
                    ? vpa_arena_printf(s->r->a, "Init:%s", waiting)
                    : vpa_arena_printf(s->r->a, "Init:%zu/%zu", index,
                                       jv_len(jv_at(s->r->o, "spec.initContainers")));
    return false;
}

static void look_at_containers(struct summary *s)
{
    const struct jv *list = jv_at(s->r->o, "status.containerStatuses");
    const char *error = "";
    bool running = false;

    for (size_t i = jv_len(list); i-- > 0;) {
        const struct jv *status = list->items[i].value;
        const struct jv *terminated = jv_at(status, "state.terminated");
        count_restarts(status, &s->restarts, &s->last);
        if (*jv_text_at(status, "state.waiting.reason")) {
            s->reason = jv_text_at(status, "state.waiting.reason");
        } else if (terminated) {
            s->reason = ended(s, terminated);
            if (jv_int_at(terminated, "exitCode", 0))
                error = s->reason;
        } else if (jv_bool_at(status, "ready", false) && jv_at(status, "state.running")) {
            running = true;
            s->ready++;
        }
    }
    if (strcmp(s->reason, "Completed") != 0)
        return;
    if (running && has_condition(s->r->o, "Ready"))
        s->reason = "Running";
    else if (*error)
        s->reason = error;
    else if (running)
        s->reason = "NotReady";
}

static void begin(struct summary *s)
{
    const struct jv *o = s->r->o;

    s->reason = *jv_text_at(o, "status.reason") ? jv_text_at(o, "status.reason")
                                                : jv_text_at(o, "status.phase");
    s->total = jv_len(jv_at(o, "spec.containers"));
    jv_each (m, jv_at(o, "status.conditions"))
        if (!strcmp(jv_text_at(m->value, "type"), "PodScheduled") &&
            !strcmp(jv_text_at(m->value, "reason"), "SchedulingGated"))
            s->reason = "SchedulingGated";
    jv_each (m, jv_at(o, "spec.initContainers"))
        s->total += is_sidecar(m->value);
}

static bool has_ended(const struct jv *pod)
{
    const char *phase = jv_text_at(pod, "status.phase");

    return !strcmp(phase, "Succeeded") || !strcmp(phase, "Failed");
}

static void summarize(struct summary *s)
{
    const struct jv *o = s->r->o;
    size_t i = 0;

    begin(s);
    jv_each (m, jv_at(o, "status.initContainerStatuses"))
        if (!look_at_init(s, m->value, i++))
            break;
    if (!s->initializing || has_condition(o, "Initialized")) {
        s->restarts = s->sidecar_restarts;
        s->last = s->sidecar_last;
        look_at_containers(s);
    }
    if (jv_at(o, "metadata.deletionTimestamp")) {
        if (!strcmp(jv_text_at(o, "status.reason"), "NodeLost"))
            s->reason = "Unknown";
        else if (!has_ended(o))
            s->reason = "Terminating";
    }
}

static const char *gates_text(struct row *r)
{
    const struct jv *gates = jv_at(r->o, "spec.readinessGates");
    size_t open = 0;

    jv_each (m, gates)
        open += has_condition(r->o, jv_text_at(m->value, "conditionType"));
    return jv_len(gates) ? vpa_arena_printf(r->a, "%zu/%zu", open, jv_len(gates)) : "<none>";
}

void pod_row(struct row *r)
{
    struct summary s = {.r = r, .last = "", .sidecar_last = ""};

    summarize(&s);
    cell_path(r, "metadata.name", "");
    cell_text(r, vpa_arena_printf(r->a, "%zu/%zu", s.ready, s.total));
    cell_text(r, s.reason);
    cell_text(r, s.restarts && *s.last
                     ? vpa_arena_printf(r->a, "%lld (%s ago)", (long long)s.restarts,
                                        age_text(r->a, r->now, s.last))
                     : vpa_arena_printf(r->a, "%lld", (long long)s.restarts));
    cell_text(r, age_of(r->a, r->now, r->o));
    cell_path(r, "status.podIP", "<none>");
    cell_path(r, "spec.nodeName", "<none>");
    cell_path(r, "status.nominatedNodeName", "<none>");
    cell_text(r, gates_text(r));
}

const char *pod_row_conditions(const struct jv *pod)
{
    if (!has_ended(pod))
        return NULL;
    return !strcmp(jv_text_at(pod, "status.phase"), "Succeeded")
               ? "[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"Succeeded\","
                 "\"message\":\"The pod has completed successfully.\"}]"
               : "[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"Failed\","
                 "\"message\":\"The pod failed.\"}]";
}
