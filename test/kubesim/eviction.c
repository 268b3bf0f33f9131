/*
 * pods/eviction (with disruption budgets), pods/binding, pods/log. The eviction handler itself
 * counts disruptionsAllowed down and remembers the pod before it tries to delete it.
 */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#include "vpa/base/time.h"

static int read_eviction(struct ctx *c, struct jv **out)
{
    struct jv *body;
    struct vpa_error err;

    if (jv_parse(c->a, c->req->body, c->req->body_len, &body, NULL, &err) < 0)
        return fail(c, 400, "BadRequest",
                    "the object provided is unrecognized (must be of type Eviction): couldn't get "
                    "version/kind; json "
                    "parse error: %s",
                    err.text);
    const char *api = jv_text_at(body, "apiVersion"), *kind = jv_text_at(body, "kind");
    if ((*kind && strcmp(kind, "Eviction") != 0) || (*api && strncmp(api, "policy/", 7) != 0))
        return fail(c, 400, "BadRequest",
                    "%s in version \"v1\" cannot be handled as a Eviction: unknown conversion",
                    kind);
    jv_set_str(c->a, jv_ensure(c->a, body, "metadata"), "namespace", c->ns);
    *out = body;
    return 0;
}

static int read_options(struct ctx *c, const struct jv *eviction, struct delete_options *o)
{
    if (strcmp(jv_text_at(eviction, "metadata.name"), c->name) != 0)
        return fail(c, 400, "BadRequest", "name in URL does not match name in Eviction object");
    if (read_delete_options(c, jv_get(eviction, "deleteOptions"), o) < 0)
        return -1;
    o->dry_run = o->dry_run || c->dry_run;
    return 0;
}

static bool ready(const struct jv *pod)
{
    jv_each (m, jv_at(pod, "status.conditions"))
        if (!strcmp(jv_text_at(m->value, "type"), "Ready"))
            return !strcmp(jv_text_at(m->value, "status"), "True");
    return false;
}

static bool ignores_budgets(const struct jv *pod)
{
    const char *phase = jv_text_at(pod, "status.phase");
    return !strcmp(phase, "Succeeded") || !strcmp(phase, "Failed") || !strcmp(phase, "Pending") ||
           jv_at(pod, "metadata.deletionTimestamp");
}

static int refuse(struct ctx *c, const char *cause, int retry)
{
    struct jv *details = jv_obj(c->a), *causes = jv_arr(c->a), *one = jv_obj(c->a);

    jv_set_str(c->a, one, "reason", "DisruptionBudget");
    jv_set_str(c->a, one, "message", cause);
    jv_push(c->a, causes, one);
    jv_set(c->a, details, "causes", causes);
    if (retry)
        jv_set_int(c->a, details, "retryAfterSeconds", retry);
    c->res->retry_after = retry;
    return fail_details(c, 429, "TooManyRequests", details,
                        "Cannot evict pod as it would violate the pod's disruption budget.");
}

static int find_budget(struct ctx *c, const struct version *pod, struct version **out)
{
    const struct collection *s =
        types_find(&c->sim->types, "policy", "v1", "poddisruptionbudgets")->store;
    size_t found = 0;

    *out = NULL;
    for (size_t i = store_lower(s, c->ns, ""); i < s->count && !strcmp(s->items[i]->ns, c->ns);
         i++) {
        const struct jv *budget = version_parse(c->a, s->items[i]);
        const struct jv *selector = jv_at(budget, "spec.selector");
        if (label_selector_matches_version(selector, pod)) {
            *out = s->items[i];
            found++;
        }
    }
    if (found > 1)
        return fail(c, 500, NULL,
                    "This pod has more than one PodDisruptionBudget, which the eviction "
                    "subresource does not support.");
    return 0;
}

/* A pod that is not ready does not count as healthy: it goes without a share of the budget when the
 * policy is AlwaysAllow, or while as many pods are healthy as have to be. */
static bool goes_unhealthy(const struct jv *pod, const struct jv *budget)
{
    int64_t wanted = jv_int_at(budget, "status.desiredHealthy", 0);

    if (ready(pod))
        return false;
    return !strcmp(jv_text_at(budget, "spec.unhealthyPodEvictionPolicy"), "AlwaysAllow") ||
           (wanted > 0 && jv_int_at(budget, "status.currentHealthy", 0) >= wanted);
}

/* Takes one disruption from the budget, or refuses. */
static int use_budget(struct ctx *c, struct version *v, const char *pod, bool dry_run)
{
    struct collection *s =
        types_find(&c->sim->types, "policy", "v1", "poddisruptionbudgets")->store;
    struct jv *budget = version_parse(c->a, v);
    struct jv *status = jv_ensure(c->a, budget, "status");
    int64_t allowed = jv_int_at(status, "disruptionsAllowed", 0),
            healthy = jv_int_at(status, "currentHealthy", 0),
            wanted = jv_int_at(status, "desiredHealthy", 0);

    if (jv_int_at(status, "observedGeneration", 0) < jv_int_at(budget, "metadata.generation", 0))
        return refuse(
            c,
            vpa_arena_printf(
                c->a, "The disruption budget %s is still being processed by the server.", v->name),
            10);
    if (allowed <= 0) {
        if (healthy > wanted && c->sim->opt.minor >= 35)
            return refuse(
                c,
                vpa_arena_printf(c->a,
                                 "The disruption budget %s does not allow evicting pods currently",
                                 v->name),
                0);
        return refuse(c,
                      vpa_arena_printf(
                          c->a,
                          "The disruption budget %s needs %lld healthy pods and has %lld currently",
                          v->name, (long long)wanted, (long long)healthy),
                      0);
    }
    if (dry_run)
        return 0;
    jv_set_int(c->a, status, "disruptionsAllowed", allowed - 1);
    jv_set_str(c->a, jv_ensure(c->a, status, "disruptedPods"), pod, sim_now_text(c->sim, c->a));
    store_put(&c->sim->store, s, c->a, budget);
    return 0;
}

/* False when the pod has the condition already. */
static bool mark_disrupted(struct ctx *c, struct jv *pod)
{
    struct jv *status = jv_ensure(c->a, pod, "status"), *conditions = jv_get(status, "conditions");
    struct jv *one = jv_obj(c->a);

    if (!conditions) {
        conditions = jv_arr(c->a);
        jv_set(c->a, status, "conditions", conditions);
    }
    jv_each (m, conditions)
        if (!strcmp(jv_text_at(m->value, "type"), "DisruptionTarget"))
            return false;
    jv_set_str(c->a, one, "type", "DisruptionTarget");
    jv_set_str(c->a, one, "status", "True");
    jv_set(c->a, one, "lastProbeTime", jv_null(c->a));
    jv_set_str(c->a, one, "lastTransitionTime", sim_now_text(c->sim, c->a));
    jv_set_str(c->a, one, "reason", "EvictionByEvictionAPI");
    jv_set_str(c->a, one, "message", "Eviction API: evicting");
    jv_push(c->a, conditions, one);
    return true;
}

int handle_eviction(struct ctx *c)
{
    struct jv *body, *deleted;
    struct delete_options o;
    struct version *budget;
    bool gone;

    if (read_eviction(c, &body) < 0 ||
        admit_mutating(c, "CREATE", NULL, &body, "CreateOptions") < 0 ||
        read_options(c, body, &o) < 0 ||
        admit_validating(c, "CREATE", NULL, body, "CreateOptions") < 0)
        return -1;
    struct version *v = store_find(c->type->store, c->ns, c->name);
    if (!v)
        return fail_not_found(c, c->type, c->name);
    struct jv *pod = version_parse(c->a, v);
    if (!ignores_budgets(pod)) {
        if (find_budget(c, v, &budget) < 0)
            return -1;
        if (budget && !goes_unhealthy(pod, version_parse(c->a, budget)) &&
            use_budget(c, budget, c->name, o.dry_run) < 0)
            return -1;
    }
    if (!o.dry_run && delete_preconditions(c, c->type, v, &o) < 0)
        return -1;
    if (!o.dry_run && mark_disrupted(c, pod)) {
        v = store_put(&c->sim->store, c->type->store, c->a, pod);
        if (*o.rv) /* what this handler wrote itself is no conflict */
            o.rv = vpa_arena_printf(c->a, "%llu", (unsigned long long)v->rv);
    }
    if (delete_version(c, c->type, v, &o, &gone, &deleted) < 0)
        return -1;
    answer_success(c, 201, NULL, NULL);
    return 0;
}

/* ---- binding ---- */

static int binding_conflict(struct ctx *c, const char *why)
{
    struct jv *d = jv_obj(c->a);

    jv_set_str(c->a, d, "name", c->name);
    jv_set_str(c->a, d, "kind", "pods/binding");
    return fail_details(c, 409, "Conflict", d,
                        vpa_arena_printf(c->a,
                                         "Operation cannot be fulfilled on pods/binding \"%s\": "
                                         "pod %s %s",
                                         c->name, c->name, why));
}

static int read_binding(struct ctx *c, struct jv **out)
{
    struct vpa_error err;

    if (jv_parse(c->a, c->req->body, c->req->body_len, out, NULL, &err) < 0)
        return fail(c, 400, "BadRequest",
                    "the object provided is unrecognized (must be of type Binding): %s", err.text);
    jv_set_str(c->a, jv_ensure(c->a, *out, "metadata"), "namespace", c->ns);
    return 0;
}

static int check_binding(struct ctx *c, const struct jv *binding)
{
    const char *kind = jv_text_at(binding, "target.kind");

    if (strcmp(jv_text_at(binding, "metadata.name"), c->name) != 0)
        return fail(c, 400, "BadRequest", "name in URL does not match name in Binding object");
    if (*kind && strcmp(kind, "Node") != 0)
        return fail(
            c, 500, NULL,
            "target.kind: Unsupported value: \"%s\": supported values: \"Node\", \"<empty>\"",
            kind);
    if (!*jv_text_at(binding, "target.name"))
        return fail(c, 500, NULL, "target.name: Required value");
    return 0;
}

static void mark_scheduled(struct ctx *c, struct jv *pod)
{
    struct jv *status = jv_ensure(c->a, pod, "status"), *conditions = jv_get(status, "conditions"),
              *one = jv_obj(c->a);

    if (!conditions) {
        conditions = jv_arr(c->a);
        jv_set(c->a, status, "conditions", conditions);
    }
    for (size_t i = 0; i < conditions->count; i++)
        if (!strcmp(jv_text_at(conditions->items[i].value, "type"), "PodScheduled"))
            jv_remove_at(conditions, i--);
    jv_set_str(c->a, one, "type", "PodScheduled");
    jv_set_str(c->a, one, "status", "True");
    jv_set(c->a, one, "lastProbeTime", jv_null(c->a));
    jv_set_str(c->a, one, "lastTransitionTime", sim_now_text(c->sim, c->a));
    jv_push(c->a, conditions, one);
}

int handle_binding(struct ctx *c)
{
    struct jv *body;

    if (read_binding(c, &body) < 0 ||
        admit_mutating(c, "CREATE", NULL, &body, "CreateOptions") < 0 ||
        check_binding(c, body) < 0 ||
        admit_validating(c, "CREATE", NULL, body, "CreateOptions") < 0)
        return -1;
    struct version *v = store_find(c->type->store, c->ns, c->name);
    if (!v)
        return fail_not_found(c, c->type, c->name);
    struct jv *pod = version_parse(c->a, v);
    if (jv_at(pod, "metadata.deletionTimestamp"))
        return binding_conflict(c, "is being deleted, cannot be assigned to a host");
    if (*jv_text_at(pod, "spec.nodeName"))
        return binding_conflict(c, vpa_arena_printf(c->a, "is already assigned to node \"%s\"",
                                                    jv_text_at(pod, "spec.nodeName")));
    jv_set_str(c->a, jv_ensure(c->a, pod, "spec"), "nodeName", jv_text_at(body, "target.name"));
    jv_each (m, jv_at(body, "metadata.annotations"))
        jv_set(c->a, jv_ensure(c->a, pod, "metadata.annotations"), m->name, m->value);
    mark_scheduled(c, pod);
    if (!c->dry_run)
        store_put(&c->sim->store, c->type->store, c->a, pod);
    answer_success(c, 201, NULL, NULL);
    return 0;
}

/* ---- log ---- */

/* The simulator has no container output: the text is the annotation kubesim.plumb/log of the pod.
 */
int handle_log(struct ctx *c)
{
    struct version *v = store_find(c->type->store, c->ns, c->name);

    if (!v)
        return fail_not_found(c, c->type, c->name);
    struct jv *pod = version_parse(c->a, v);
    const char *wanted = query_get(c, "container");
    bool known = !wanted || !*wanted;
    jv_each (m, jv_at(pod, "spec.containers"))
        known = known || !strcmp(jv_text_at(m->value, "name"), wanted);
    if (!known)
        return fail(c, 400, "BadRequest", "container %s is not valid for pod %s", wanted, c->name);
    answer_text(c, 200,
                jv_text(jv_get(jv_at(pod, "metadata.annotations"), "kubesim.plumb/log"))
                    ? jv_text(jv_get(jv_at(pod, "metadata.annotations"), "kubesim.plumb/log"))
                    : "");
    c->res->content_type = "text/plain";
    return 0;
}
