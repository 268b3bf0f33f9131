/*
 * What concerns the cluster: scheduling by requests (first fit in the order of node names),
 * disruption budgets, garbage collection of dependents, namespaces, taints of new nodes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controllers.h"
#include "vpa/base/quantity.h"

/* ---- amounts ---- */

static int64_t amount(struct vpa_arena *a, const struct jv *v, bool milli)
{
    struct vpa_quantity q;

    if (!jv_text(v) || vpa_quantity_parse(a, v->text, &q, NULL) < 0)
        return 0;
    return milli ? vpa_quantity_milli_value(&q) : vpa_quantity_value(&q);
}

static void pod_requests(struct vpa_arena *a, const struct jv *pod, int64_t *cpu, int64_t *memory)
{
    *cpu = *memory = 0;
    jv_each (m, jv_at(pod, "spec.containers")) {
        const struct jv *r = jv_at(m->value, "resources.requests");
        *cpu += amount(a, jv_get(r, "cpu"), true);
        *memory += amount(a, jv_get(r, "memory"), false);
    }
}

/* ---- scheduler ---- */

static struct node_use *use_of(struct controllers *k, const char *node)
{
    struct node_use *u = vpa_table_find(&k->nodes, node);

    if (!u) {
        u = vpa_xcalloc(1, sizeof(*u) + strlen(node) + 1);
        memcpy(u->name, node, strlen(node) + 1);
        vpa_table_put(&k->nodes, u->name, u);
    }
    return u;
}

static void charge(struct controllers *k, const struct placed *p, int sign)
{
    struct node_use *u = use_of(k, p->node);

    u->cpu_millis += sign * p->cpu_millis;
    u->memory_bytes += sign * p->memory_bytes;
    u->pods += sign;
}

bool note_pod_place(struct controllers *k, const struct version *v, bool deleted)
{
    int64_t cpu = 0, memory = 0;
    char key[600];
    const char *node = v->fields[POD_NODE], *phase = v->fields[POD_PHASE];
    bool counts =
        !deleted && *node && strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0;

    if (!k->on[ON_SCHEDULER])
        return false;
    snprintf(key, sizeof(key), "%s/%s", v->ns, v->name);
    struct placed *p = vpa_table_find(&k->placed, key);
    bool was_placed = p != NULL;
    if (p) {
        vpa_table_remove(&k->placed, key);
        charge(k, p, -1);
        cpu = p->cpu_millis;
        memory = p->memory_bytes;
        free(p->node);
        free(p);
    }
    if (!counts)
        return was_placed;
    p = vpa_xmalloc(sizeof(*p) + strlen(key) + 1);
    p->node = vpa_xstrdup(node);
    memcpy(p->key, key, strlen(key) + 1);
    pod_requests(&k->a, version_parse(&k->a, v), &p->cpu_millis, &p->memory_bytes);
    vpa_table_put(&k->placed, p->key, p);
    charge(k, p, 1);
    return p->cpu_millis < cpu || p->memory_bytes < memory;
}

static bool tolerated(const struct jv *pod, const struct jv *node)
{
    if (jv_bool_at(node, "spec.unschedulable", false))
        return false;
    jv_each (t, jv_at(node, "spec.taints")) {
        const char *key = jv_text_at(t->value, "key"), *effect = jv_text_at(t->value, "effect");
        bool ok = !strcmp(effect, "PreferNoSchedule");
        jv_each (m, jv_at(pod, "spec.tolerations")) {
            const char *for_key = jv_text_at(m->value, "key"),
                       *for_effect = jv_text_at(m->value, "effect");
            ok = ok || ((!*for_key || !strcmp(for_key, key)) &&
                        (!*for_effect || !strcmp(for_effect, effect)));
        }
        if (!ok)
            return false;
    }
    jv_each (m, jv_at(pod, "spec.nodeSelector"))
        if (!jv_equal(m->value, jv_get(jv_at(node, "metadata.labels"), m->name)))
            return false;
    return true;
}

static bool fits(struct controllers *k, const struct jv *pod, const struct jv *node)
{
    const char *name = jv_text_at(node, "metadata.name");
    const struct jv *room = jv_at(node, "status.allocatable");
    const struct node_use *used = use_of(k, name);
    int64_t cpu, memory;

    if (!tolerated(pod, node))
        return false;
    pod_requests(&k->a, pod, &cpu, &memory);
    cpu += used->cpu_millis;
    memory += used->memory_bytes;
    int64_t most = jv_get(room, "pods") ? amount(&k->a, jv_get(room, "pods"), false) : 110;
    return cpu <= amount(&k->a, jv_get(room, "cpu"), true) &&
           memory <= amount(&k->a, jv_get(room, "memory"), false) && used->pods < most;
}

static void mark_unschedulable(struct controllers *k, const struct jv *pod, const char *path,
                               size_t nodes)
{
    struct vpa_arena *a = &k->a;

    jv_each (m, jv_at(pod, "status.conditions"))
        if (!strcmp(jv_text_at(m->value, "type"), "PodScheduled") &&
            !strcmp(jv_text_at(m->value, "reason"), "Unschedulable"))
            return;
    struct jv *c = make_condition(
        k, NULL, "PodScheduled", false, "Unschedulable",
        vpa_arena_printf(a, "0/%zu nodes are available: insufficient resources.", nodes));
    struct jv *patch = jv_obj(a), *list = jv_arr(a);
    jv_del(c, "lastUpdateTime");
    jv_push(a, list, c);
    jv_set(a, jv_ensure(a, patch, "status"), "conditions", list);
    (void)call(k, "PATCH", vpa_arena_printf(a, "%s/status", path),
               "application/strategic-merge-patch+json", patch, NULL);
}

void schedule_pod(struct controllers *k, const char *ns, const char *name)
{
    struct vpa_arena *a = &k->a;
    struct jv *pod = load_object(k, "", "pods", ns, name), *nodes;

    if (!pod || *jv_text_at(pod, "spec.nodeName") || !pod_active(pod) ||
        strcmp(jv_text_at(pod, "spec.schedulerName"), "default-scheduler") != 0)
        return;
    const char *path = vpa_arena_printf(a, "/api/v1/namespaces/%s/pods/%s", ns, name);
    nodes = load_owned(k, "", "nodes", "", NULL);
    jv_each (m, nodes) {
        if (!fits(k, pod, m->value))
            continue;
        struct jv *binding = jv_obj(a), *target = jv_obj(a);
        jv_set_str(a, binding, "apiVersion", "v1");
        jv_set_str(a, binding, "kind", "Binding");
        jv_set_str(a, jv_ensure(a, binding, "metadata"), "name", name);
        jv_set_str(a, target, "kind", "Node");
        jv_set_str(a, target, "name", jv_text_at(m->value, "metadata.name"));
        jv_set(a, binding, "target", target);
        if (call(k, "POST", vpa_arena_printf(a, "%s/binding", path), NULL, binding, NULL) == 201) {
            pthread_mutex_lock(
                &k->sim->store.lock); /* count it at once, before its event is seen */
            const struct version *v =
                store_find(types_find(&k->sim->types, "", "v1", "pods")->store, ns, name);
            if (v)
                note_pod_place(k, v, false);
            pthread_mutex_unlock(&k->sim->store.lock);
        }
        return;
    }
    if (jv_len(nodes))
        mark_unschedulable(k, pod, path, jv_len(nodes));
}

/* ---- disruption budgets ---- */

static int64_t scaled(const struct jv *v, int64_t expected)
{
    int64_t n;

    if (jv_is_int(v, &n))
        return n;
    long percent = jv_text(v) ? strtol(v->text, NULL, 10) : 0;
    return (expected * percent + 99) / 100;
}

/* Replicas that the controllers of these pods want. */
static int64_t expected_count(struct controllers *k, const char *ns, const struct jv *pods)
{
    struct strings seen = {0};
    int64_t sum = 0;

    jv_each (m, pods) {
        const struct jv *owners = jv_at(m->value, "metadata.ownerReferences");
        const struct jv *owner = jv_len(owners) ? owners->items[0].value : NULL;
        const char *uid = jv_text_at(owner, "uid"), *kind = jv_text_at(owner, "kind");
        if (!*uid || strings_has(&seen, uid))
            continue;
        strings_add(&k->a, &seen, uid);
        const char *plural = !strcmp(kind, "ReplicaSet")    ? "replicasets"
                             : !strcmp(kind, "StatefulSet") ? "statefulsets"
                                                            : NULL;
        struct jv *set =
            plural ? load_object(k, "apps", plural, ns, jv_text_at(owner, "name")) : NULL;
        sum += set ? jv_int_at(set, "spec.replicas", 1) : 1;
    }
    return sum;
}

static struct jv *budget_condition(struct controllers *k, const struct jv *budget, int64_t allowed)
{
    struct jv *c =
        make_condition(k, jv_at(budget, "status.conditions"), "DisruptionAllowed", allowed > 0,
                       allowed > 0 ? "SufficientPods" : "InsufficientPods", "");
    jv_del(c, "lastUpdateTime");
    jv_set_int(&k->a, c, "observedGeneration", jv_int_at(budget, "metadata.generation", 1));
    return c;
}

void reconcile_budget(struct controllers *k, const char *ns, const char *name)
{
    struct vpa_arena *a = &k->a;
    struct jv *budget = load_object(k, "policy", "poddisruptionbudgets", ns, name),
              *matched = jv_arr(a);

    if (!budget)
        return;
    struct jv *status = jv_obj(a), *disrupted = jv_obj(a), *conditions = jv_arr(a);
    jv_each (m, load_owned(k, "", "pods", ns, NULL)) {
        const char *phase = jv_text_at(m->value, "status.phase");
        if (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0 &&
            label_selector_matches(jv_at(budget, "spec.selector"),
                                   jv_at(m->value, "metadata.labels")))
            jv_push(a, matched, m->value);
    }
    const struct jv *least = jv_at(budget, "spec.minAvailable"),
                    *most = jv_at(budget, "spec.maxUnavailable");
    int64_t expected = (int64_t)jv_len(matched), wanted = 0, healthy = 0;
    if (most) {
        expected = expected_count(k, ns, matched);
        wanted = expected - scaled(most, expected);
    } else if (least) {
        if (jv_text(least))
            expected = expected_count(k, ns, matched);
        wanted = scaled(least, expected);
    }
    if (wanted < 0)
        wanted = 0;
    jv_each (m, matched) {
        const char *pod = jv_text_at(m->value, "metadata.name");
        const struct jv *since = jv_get(jv_at(budget, "status.disruptedPods"), pod);
        bool leaving = jv_at(m->value, "metadata.deletionTimestamp") != NULL;
        if (since && !leaving) {
            vpa_time t = VPA_TIME_UNSET;
            if (jv_text(since) && vpa_time_parse(since->text, &t, NULL) == 0 &&
                vpa_time_sub(sim_now(k->sim), t) < 2 * VPA_MINUTE) {
                jv_set(a, disrupted, pod, jv_clone(a, since));
                enqueue(k, WORK_BUDGET, ns, name, 1000);
                continue;
            }
        }
        healthy += !leaving && pod_ready(m->value);
    }
    int64_t allowed = expected > 0 && healthy > wanted ? healthy - wanted : 0;
    jv_set_int(a, status, "observedGeneration", jv_int_at(budget, "metadata.generation", 1));
    if (jv_len(disrupted))
        jv_set(a, status, "disruptedPods", disrupted);
    jv_set_int(a, status, "disruptionsAllowed", allowed);
    jv_set_int(a, status, "currentHealthy", healthy);
    jv_set_int(a, status, "desiredHealthy", wanted);
    jv_set_int(a, status, "expectedPods", expected);
    jv_push(a, conditions, budget_condition(k, budget, allowed));
    jv_set(a, status, "conditions", conditions);
    if (jv_equal(status, jv_get(budget, "status")))
        return;
    /* With the version it was read at: an eviction may have taken from the budget meanwhile. */
    jv_set(a, budget, "status", status);
    jv_set_str(a, budget, "kind", "PodDisruptionBudget");
    jv_set_str(a, budget, "apiVersion", "policy/v1");
    if (call(k, "PUT",
             vpa_arena_printf(a, "/apis/policy/v1/namespaces/%s/poddisruptionbudgets/%s/status", ns,
                              name),
             NULL, budget, NULL) != 200)
        enqueue(k, WORK_BUDGET, ns, name, 20);
}

/* ---- garbage ---- */

struct dependent {
    const char *path;
    struct jv *object;
};

/* Objects that name uid among their owners; the lock is not held by the caller. */
static size_t find_dependents(struct controllers *k, const char *uid, const char *ns,
                              struct dependent **out)
{
    struct vpa_arena *a = &k->a;
    struct dependent *list = NULL;
    size_t count = 0, capacity = 0;

    pthread_mutex_lock(&k->sim->store.lock);
    for (const struct restype *t = k->sim->types.first; t; t = t->next) {
        if (t->withdrawn || !t->store || t->as || (*ns && !(t->flags & T_NAMESPACED)))
            continue;
        const struct collection *c = t->store;
        for (size_t i = *ns ? store_lower(c, ns, "") : 0;
             i < c->count && (!*ns || !strcmp(c->items[i]->ns, ns)); i++) {
            const struct version *v = c->items[i];
            if (!strstr(v->json, uid))
                continue;
            struct jv *object = version_parse(a, v);
            bool mine = false;
            jv_each (m, jv_at(object, "metadata.ownerReferences"))
                mine = mine || !strcmp(jv_text_at(m->value, "uid"), uid);
            if (!mine)
                continue;
            const char *base =
                *t->group ? vpa_arena_printf(a, "/apis/%s/%s", t->group, t->version) : "/api/v1";
            VPA_GROW(list, count, capacity);
            list[count++] = (struct dependent){
                *v->ns
                    ? vpa_arena_printf(a, "%s/namespaces/%s/%s/%s", base, v->ns, t->plural, v->name)
                    : vpa_arena_printf(a, "%s/%s/%s", base, t->plural, v->name),
                object};
        }
    }
    pthread_mutex_unlock(&k->sim->store.lock);
    *out = list;
    return count;
}

void collect_dependents(struct controllers *k, const char *uid, const char *ns)
{
    struct dependent *list;
    size_t count = find_dependents(k, uid, ns, &list);

    for (size_t i = 0; i < count; i++)
        if (!jv_at(list[i].object, "metadata.deletionTimestamp"))
            (void)call(k, "DELETE",
                       vpa_arena_printf(&k->a, "%s?propagationPolicy=Background", list[i].path),
                       NULL, NULL, NULL);
    free(list);
}

static bool has_finalizer(const struct jv *object, const char *name)
{
    jv_each (m, jv_at(object, "metadata.finalizers"))
        if (jv_text(m->value) && !strcmp(m->value->text, name))
            return true;
    return false;
}

static void drop_finalizer(struct controllers *k, const char *path, const struct jv *object,
                           const char *name)
{
    struct vpa_arena *a = &k->a;
    struct jv *patch = jv_obj(a), *list = jv_arr(a);

    jv_each (m, jv_at(object, "metadata.finalizers"))
        if (!jv_text(m->value) || strcmp(m->value->text, name) != 0)
            jv_push(a, list, m->value);
    jv_set(a, jv_ensure(a, patch, "metadata"), "finalizers", jv_len(list) ? list : jv_null(a));
    (void)call(k, "PATCH", path, "application/merge-patch+json", patch, NULL);
}

/* An owner that waits for its dependents (foreground), or wants to leave them behind (orphan). */
void collect_foreground(struct controllers *k, struct collection *c, const struct version *v)
{
    struct vpa_arena *a = &k->a;
    struct jv *object = version_parse(a, v);
    bool foreground = has_finalizer(object, "foregroundDeletion"),
         orphan = has_finalizer(object, "orphan");
    struct dependent *list;

    if (!foreground && !orphan)
        return;
    const char *version = "v1";
    pthread_mutex_lock(&k->sim->store.lock);
    const struct restype *t = types_find(&k->sim->types, c->group, NULL, c->plural);
    if (t)
        version = t->version;
    pthread_mutex_unlock(&k->sim->store.lock);
    const char *base =
        *c->group ? vpa_arena_printf(a, "/apis/%s/%s", c->group, version) : "/api/v1";
    const char *path =
        *v->ns ? vpa_arena_printf(a, "%s/namespaces/%s/%s/%s", base, v->ns, c->plural, v->name)
               : vpa_arena_printf(a, "%s/%s/%s", base, c->plural, v->name);
    size_t count = find_dependents(k, v->uid, v->ns, &list);
    for (size_t i = 0; i < count; i++) {
        struct jv *patch = jv_obj(a), *owners = jv_arr(a);
        if (foreground) {
            if (!jv_at(list[i].object, "metadata.deletionTimestamp"))
                (void)call(k, "DELETE", list[i].path, NULL, NULL, NULL);
            continue;
        }
        jv_each (m, jv_at(list[i].object, "metadata.ownerReferences"))
            if (strcmp(jv_text_at(m->value, "uid"), v->uid) != 0)
                jv_push(a, owners, m->value);
        jv_set(a, jv_ensure(a, patch, "metadata"), "ownerReferences",
               jv_len(owners) ? owners : jv_null(a));
        (void)call(k, "PATCH", list[i].path, "application/merge-patch+json", patch, NULL);
    }
    free(list);
    count = find_dependents(k, v->uid, v->ns, &list);
    free(list);
    if (orphan || !count)
        drop_finalizer(k, path, object, orphan ? "orphan" : "foregroundDeletion");
}

/* ---- namespaces ---- */

static void make_namespace_objects(struct controllers *k, const char *ns)
{
    struct vpa_arena *a = &k->a;

    if (!k->on[ON_SERVICE_ACCOUNT])
        return;
    if (!load_object(k, "", "serviceaccounts", ns, "default"))
        (void)call(k, "POST", vpa_arena_printf(a, "/api/v1/namespaces/%s/serviceaccounts", ns),
                   NULL, jv_lit(a, "{\"metadata\":{\"name\":\"default\"}}"), NULL);
    if (!load_object(k, "", "configmaps", ns, "kube-root-ca.crt"))
        (void)call(
            k, "POST", vpa_arena_printf(a, "/api/v1/namespaces/%s/configmaps", ns), NULL,
            jv_lit(a, "{\"metadata\":{\"name\":\"kube-root-ca.crt\"},\"data\":{\"ca.crt\":\"\"}}"),
            NULL);
}

void reconcile_namespace(struct controllers *k, const char *name)
{
    struct vpa_arena *a = &k->a;
    struct jv *ns = load_object(k, "", "namespaces", "", name);
    struct strings paths = {0};
    bool left = false;

    if (!ns)
        return;
    if (!jv_at(ns, "metadata.deletionTimestamp")) {
        make_namespace_objects(k, name);
        return;
    }
    pthread_mutex_lock(&k->sim->store.lock);
    for (const struct restype *t = k->sim->types.first; t; t = t->next) {
        if (t->withdrawn || !t->store || t->as || !(t->flags & T_NAMESPACED))
            continue;
        size_t i = store_lower(t->store, name, "");
        bool any = i < t->store->count && !strcmp(t->store->items[i]->ns, name);
        left = left || any;
        if (any)
            strings_add(a, &paths,
                        *t->group
                            ? vpa_arena_printf(a, "/apis/%s/%s/namespaces/%s/%s", t->group,
                                               t->version, name, t->plural)
                            : vpa_arena_printf(a, "/api/v1/namespaces/%s/%s", name, t->plural));
    }
    pthread_mutex_unlock(&k->sim->store.lock);
    for (size_t i = 0; i < paths.count; i++)
        (void)call(k, "DELETE", paths.items[i], NULL, NULL, NULL);
    if (left) {
        enqueue(k, WORK_NAMESPACE, "", name, 50);
        return;
    }
    struct jv *body = jv_clone(a, ns);
    jv_set(a, jv_ensure(a, body, "spec"), "finalizers", jv_arr(a));
    jv_set_str(a, body, "kind", "Namespace");
    jv_set_str(a, body, "apiVersion", "v1");
    (void)call(k, "PUT", vpa_arena_printf(a, "/api/v1/namespaces/%s/finalize", name), NULL, body,
               NULL);
}

/* ---- nodes ---- */

/* The node life cycle's part: the taint of a new node goes when the node is Ready. */
void reconcile_node(struct controllers *k, const char *name)
{
    struct vpa_arena *a = &k->a;
    struct jv *node = load_object(k, "", "nodes", "", name), *kept = jv_arr(a), *patch = jv_obj(a);
    bool ready = false, tainted = false;

    if (!node)
        return;
    jv_each (m, jv_at(node, "status.conditions"))
        ready = ready || (!strcmp(jv_text_at(m->value, "type"), "Ready") &&
                          !strcmp(jv_text_at(m->value, "status"), "True"));
    jv_each (m, jv_at(node, "spec.taints")) {
        if (!strcmp(jv_text_at(m->value, "key"), "node.kubernetes.io/not-ready"))
            tainted = true;
        else
            jv_push(a, kept, m->value);
    }
    if (!ready || !tainted)
        return;
    jv_set(a, jv_ensure(a, patch, "spec"), "taints", jv_len(kept) ? kept : jv_null(a));
    (void)call(k, "PATCH", vpa_arena_printf(a, "/api/v1/nodes/%s", name),
               "application/merge-patch+json", patch, NULL);
}
