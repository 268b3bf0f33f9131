/* The thread of the controllers, what they look at and how they act: see controllers.h. */
#include "controllers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the queue ---- */

void enqueue(struct controllers *k, enum work_kind kind, const char *ns, const char *name,
             int delay_ms)
{
    static const int switches[WORK_KINDS] = {[WORK_DEPLOYMENT] = ON_DEPLOYMENT,
                                             [WORK_REPLICA_SET] = ON_REPLICA_SET,
                                             [WORK_STATEFUL_SET] = ON_STATEFUL_SET,
                                             [WORK_DAEMON_SET] = ON_DAEMON_SET,
                                             [WORK_JOB] = ON_JOB,
                                             [WORK_CRON_JOB] = ON_CRON_JOB,
                                             [WORK_REPLICATION_CONTROLLER] = ON_REPLICA_SET,
                                             [WORK_BUDGET] = ON_DISRUPTION,
                                             [WORK_POD] = ON_SCHEDULER,
                                             [WORK_NAMESPACE] = ON_NAMESPACE,
                                             [WORK_NODE] = ON_NODE};
    char key[600];

    if (!k->on[switches[kind]])
        return;
    snprintf(key, sizeof(key), "%d/%s/%s", (int)kind, ns, name);
    struct work *there = vpa_table_find(&k->queue, key);
    int64_t when = delay_ms ? real_millis() + delay_ms : 0;
    if (there) {
        if (when < there->not_before)
            there->not_before = when;
        return;
    }
    struct work *w = vpa_xmalloc(sizeof(*w) + strlen(key) + 1);
    *w = (struct work){
        .kind = kind, .ns = vpa_xstrdup(ns), .name = vpa_xstrdup(name), .not_before = when};
    memcpy(w->key, key, strlen(key) + 1);
    vpa_table_put(&k->queue, w->key, w);
}

static void free_work(struct work *w)
{
    free(w->ns);
    free(w->name);
    free(w);
}

/* ---- what changed ---- */

static void mark_owner(struct controllers *k, const struct version *v)
{
    static const struct {
        const char *group, *plural;
        enum work_kind kind;
    } owners[] = {{"apps", "replicasets", WORK_REPLICA_SET},
                  {"apps", "statefulsets", WORK_STATEFUL_SET},
                  {"apps", "daemonsets", WORK_DAEMON_SET},
                  {"batch", "jobs", WORK_JOB},
                  {"", "replicationcontrollers", WORK_REPLICATION_CONTROLLER},
                  {"apps", "deployments", WORK_DEPLOYMENT},
                  {"batch", "cronjobs", WORK_CRON_JOB}};

    if (!*v->owner)
        return;
    for (size_t i = 0; i < VPA_COUNT(owners); i++) {
        const struct restype *t =
            types_find(&k->sim->types, owners[i].group, "v1", owners[i].plural);
        const struct collection *c = t->store;
        for (size_t n = store_lower(c, v->ns, ""); n < c->count && !strcmp(c->items[n]->ns, v->ns);
             n++)
            if (!strcmp(c->items[n]->uid, v->owner))
                enqueue(k, owners[i].kind, v->ns, c->items[n]->name, 0);
    }
}

static void mark_all(struct controllers *k, const char *group, const char *plural, const char *ns,
                     enum work_kind kind)
{
    const struct collection *c = types_find(&k->sim->types, group, "v1", plural)->store;

    for (size_t i = store_lower(c, ns, ""); i < c->count && (!*ns || !strcmp(c->items[i]->ns, ns));
         i++)
        enqueue(k, kind, c->items[i]->ns, c->items[i]->name, 0);
}

static void mark_pending(struct controllers *k)
{
    const struct collection *c = types_find(&k->sim->types, "", "v1", "pods")->store;

    for (size_t i = 0; i < c->count; i++)
        if (!*c->items[i]->fields[POD_NODE])
            enqueue(k, WORK_POD, c->items[i]->ns, c->items[i]->name, 0);
}

static void on_pod(struct controllers *k, const struct event *e)
{
    const struct version *v = e->now;
    bool gone = e->type == EVENT_DELETED;

    bool freed = note_pod_place(k, v, gone);

    mark_owner(k, v);
    if (!gone && !*v->fields[POD_NODE] && !v->deleting)
        enqueue(k, WORK_POD, v->ns, v->name, 0);
    if (gone || freed)
        mark_pending(k);
    mark_all(k, "policy", "poddisruptionbudgets", v->ns, WORK_BUDGET);
    if (gone)
        enqueue(k, WORK_NAMESPACE, "", v->ns, 0);
}

static void on_event(struct controllers *k, struct collection *c, const struct event *e)
{
    static const struct {
        const char *plural;
        enum work_kind kind;
    } own[] = {{"deployments", WORK_DEPLOYMENT},
               {"replicasets", WORK_REPLICA_SET},
               {"statefulsets", WORK_STATEFUL_SET},
               {"daemonsets", WORK_DAEMON_SET},
               {"jobs", WORK_JOB},
               {"cronjobs", WORK_CRON_JOB},
               {"replicationcontrollers", WORK_REPLICATION_CONTROLLER},
               {"poddisruptionbudgets", WORK_BUDGET}};
    const struct version *v = e->now;

    if (!strcmp(c->plural, "pods") && !*c->group)
        on_pod(k, e);
    for (size_t i = 0; i < VPA_COUNT(own); i++)
        if (!strcmp(own[i].plural, c->plural))
            enqueue(k, own[i].kind, v->ns, v->name, 0);
    if (!strcmp(c->plural, "replicasets") || !strcmp(c->plural, "jobs"))
        mark_owner(k, v);
    if (!strcmp(c->plural, "namespaces") && e->type != EVENT_DELETED)
        enqueue(k, WORK_NAMESPACE, "", v->name, 0);
    if (!strcmp(c->plural, "nodes") && !*c->group) {
        if (e->type != EVENT_DELETED)
            enqueue(k, WORK_NODE, "", v->name, 0);
        if (e->type == EVENT_ADDED || e->type == EVENT_MODIFIED)
            mark_pending(k);
        mark_all(k, "apps", "daemonsets", "", WORK_DAEMON_SET);
    }
}

/* Acts, so the lock must not be held. */
static void on_garbage(struct controllers *k, struct collection *c, const struct event *e)
{
    if (!k->on[ON_GARBAGE] || !strcmp(c->plural, "pods"))
        return;
    if (e->type == EVENT_DELETED)
        collect_dependents(k, e->now->uid, e->now->ns);
    else if (e->now->deleting)
        collect_foreground(k, c, e->now);
}

/* Copies the events of one collection out of the lock's reach and handles them. */
static bool drain(struct controllers *k, size_t index)
{
    struct collection *c = k->cursors[index].c;
    struct event events[256];
    size_t n = 0;

    pthread_mutex_lock(&k->sim->store.lock);
    for (size_t i = store_event_after(c, k->cursors[index].seen);
         i < c->log_count && n < VPA_COUNT(events); i++) {
        events[n] = *store_event(c, i);
        version_ref(events[n].now);
        n++;
    }
    if (n)
        k->cursors[index].seen = events[n - 1].rv;
    pthread_mutex_unlock(&k->sim->store.lock);
    for (size_t i = 0; i < n; i++) {
        pthread_mutex_lock(&k->sim->store.lock);
        on_event(k, c, &events[i]);
        pthread_mutex_unlock(&k->sim->store.lock);
        on_garbage(k, c, &events[i]);
        version_unref(events[i].now);
        vpa_arena_clear(&k->a);
    }
    return n > 0;
}

static void find_collections(struct controllers *k)
{
    pthread_mutex_lock(&k->sim->store.lock);
    for (struct collection *c = k->sim->store.collections; c; c = c->next) {
        bool known = !strcmp(c->plural, "events") || !strcmp(c->plural, "leases");
        for (size_t i = 0; i < k->cursor_count; i++)
            known = known || k->cursors[i].c == c;
        if (!known && k->cursor_count < VPA_COUNT(k->cursors)) {
            k->cursors[k->cursor_count].c = c;
            k->cursors[k->cursor_count++].seen = 0;
        }
    }
    pthread_mutex_unlock(&k->sim->store.lock);
}

/* ---- the loop ---- */

static void reconcile(struct controllers *k, const struct work *w)
{
    switch (w->kind) {
    case WORK_DEPLOYMENT:
        reconcile_deployment(k, w->ns, w->name);
        break;
    case WORK_REPLICA_SET:
        reconcile_replica_set(k, w->ns, w->name, false);
        break;
    case WORK_REPLICATION_CONTROLLER:
        reconcile_replica_set(k, w->ns, w->name, true);
        break;
    case WORK_STATEFUL_SET:
        reconcile_stateful_set(k, w->ns, w->name);
        break;
    case WORK_DAEMON_SET:
        reconcile_daemon_set(k, w->ns, w->name);
        break;
    case WORK_JOB:
        reconcile_job(k, w->ns, w->name);
        break;
    case WORK_CRON_JOB:
        reconcile_cron_job(k, w->ns, w->name);
        break;
    case WORK_BUDGET:
        reconcile_budget(k, w->ns, w->name);
        break;
    case WORK_POD:
        schedule_pod(k, w->ns, w->name);
        break;
    case WORK_NAMESPACE:
        reconcile_namespace(k, w->name);
        break;
    case WORK_NODE:
        reconcile_node(k, w->name);
        break;
    case WORK_KINDS:
        break;
    }
}

static bool work_some(struct controllers *k)
{
    size_t count = k->queue.count, done = 0;
    void **items = vpa_table_sorted(&k->queue);
    int64_t now = real_millis();

    for (size_t i = 0; i < count && !atomic_load(&k->sim->stopping); i++) {
        struct work *w = items[i];
        if (w->not_before > now)
            continue;
        vpa_table_remove(&k->queue, w->key);
        reconcile(k, w);
        free_work(w);
        vpa_arena_clear(&k->a);
        if (++done == 64)
            break; /* look at what changed meanwhile */
    }
    free(items);
    return done > 0;
}

/* Owners under foreground deletion are looked at again until their dependents are gone. */
static void wait_for_dependents(struct controllers *k)
{
    for (size_t i = 0; k->on[ON_GARBAGE] && i < k->cursor_count; i++) {
        struct collection *c = k->cursors[i].c;
        struct version *found[16];
        size_t n = 0;
        if (!strcmp(c->plural, "pods"))
            continue;
        pthread_mutex_lock(&k->sim->store.lock);
        for (size_t j = 0; j < c->count && n < VPA_COUNT(found); j++)
            if (c->items[j]->deleting)
                found[n++] = version_ref(c->items[j]);
        pthread_mutex_unlock(&k->sim->store.lock);
        for (size_t j = 0; j < n; j++) {
            collect_foreground(k, c, found[j]);
            version_unref(found[j]);
        }
        vpa_arena_clear(&k->a);
    }
}

static void tick(struct controllers *k)
{
    int64_t now = real_millis();

    pthread_mutex_lock(&k->sim->store.lock);
    if (now < k->next_tick && k->jumps == k->sim->jumps) {
        pthread_mutex_unlock(&k->sim->store.lock);
        return;
    }
    k->next_tick = now + 200;
    k->jumps = k->sim->jumps;
    mark_all(k, "batch", "cronjobs", "", WORK_CRON_JOB);
    pthread_mutex_unlock(&k->sim->store.lock);
    wait_for_dependents(k);
}

static bool has_news(const struct controllers *k)
{
    if (k->jumps != k->sim->jumps)
        return true;
    for (size_t i = 0; i < k->cursor_count; i++)
        if (store_event_after(k->cursors[i].c, k->cursors[i].seen) < k->cursors[i].c->log_count)
            return true;
    return false;
}

static void wait_some(struct controllers *k)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 50 * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&k->sim->store.lock);
    if (!has_news(k)) {
        k->waiting = true;
        pthread_cond_timedwait(&k->sim->store.any, &k->sim->store.lock, &until);
        k->waiting = false;
    }
    pthread_mutex_unlock(&k->sim->store.lock);
}

bool controllers_are_quiet(const struct sim *sim)
{
    const struct controllers *k = sim->controllers;

    return !k->running || (k->waiting && !has_news(k));
}

static void *loop(void *ctx)
{
    struct controllers *k = ctx;

    while (!atomic_load(&k->sim->stopping)) {
        bool busy = false;
        find_collections(k);
        for (size_t i = 0; i < k->cursor_count; i++)
            busy = drain(k, i) || busy;
        tick(k);
        busy = work_some(k) || busy;
        if (!busy)
            wait_some(k);
    }
    return NULL;
}

static void choose(struct controllers *k, const char *list)
{
    static const char *const names[ON_COUNT] = {
        "deployment", "replicaset", "statefulset", "daemonset",      "job", "cronjob", "scheduler",
        "disruption", "garbage",    "namespace",   "serviceaccount", "node"};
    vpa_auto_free char *copy = vpa_xstrdup(list);
    char *rest = copy, *part;

    while ((part = strsep(&rest, ",")))
        for (size_t i = 0; i < ON_COUNT; i++) {
            if (!strcmp(part, "*") || !strcmp(part, names[i]))
                k->on[i] = true;
            if (*part == '-' && !strcmp(part + 1, names[i]))
                k->on[i] = false;
        }
}

void controllers_start(struct sim *sim)
{
    struct controllers *k = vpa_xcalloc(1, sizeof(*k));

    k->sim = sim;
    sim->controllers = k;
    choose(k, sim->opt.controllers);
    for (size_t i = 0; i < ON_COUNT; i++)
        k->running = k->running || k->on[i];
    if (k->running)
        pthread_create(&k->thread, NULL, loop, k);
}

void controllers_stop(struct sim *sim)
{
    struct controllers *k = sim->controllers;
    size_t i = 0;
    void *value;

    if (k->running)
        pthread_join(k->thread, NULL);
    while (vpa_table_next(&k->queue, &i, NULL, &value))
        free_work(value);
    vpa_table_release(&k->queue);
    for (i = 0; vpa_table_next(&k->placed, &i, NULL, &value);) {
        struct placed *p = value;
        free(p->node);
        free(p);
    }
    vpa_table_release(&k->placed);
    for (i = 0; vpa_table_next(&k->nodes, &i, NULL, &value);)
        free(value);
    vpa_table_release(&k->nodes);
    vpa_arena_release(&k->a);
    free(k);
}

/* ---- looking and acting ---- */

struct jv *load_object(struct controllers *k, const char *group, const char *plural, const char *ns,
                       const char *name)
{
    struct jv *out = NULL;

    pthread_mutex_lock(&k->sim->store.lock);
    const struct restype *t = types_find(&k->sim->types, group, NULL, plural);
    const struct version *v = t ? store_find(t->store, ns, name) : NULL;
    if (v)
        out = version_parse(&k->a, v);
    pthread_mutex_unlock(&k->sim->store.lock);
    return out;
}

struct jv *load_owned(struct controllers *k, const char *group, const char *plural, const char *ns,
                      const char *uid)
{
    struct jv *list = jv_arr(&k->a);

    pthread_mutex_lock(&k->sim->store.lock);
    const struct collection *c = types_find(&k->sim->types, group, NULL, plural)->store;
    for (size_t i = *ns ? store_lower(c, ns, "") : 0;
         i < c->count && (!*ns || !strcmp(c->items[i]->ns, ns)); i++)
        if (!uid || !strcmp(c->items[i]->owner, uid))
            jv_push(&k->a, list, version_parse(&k->a, c->items[i]));
    pthread_mutex_unlock(&k->sim->store.lock);
    return list;
}

int call(struct controllers *k, const char *method, const char *path, const char *type,
         const struct jv *body, struct jv **out)
{
    return api_call(k->sim, &k->a, "system:kube-controller-manager", method, path, type, body, out);
}

struct jv *owner_reference(struct controllers *k, const char *api, const char *kind,
                           const struct jv *owner)
{
    struct jv *list = jv_arr(&k->a), *ref = jv_obj(&k->a);

    jv_set_str(&k->a, ref, "apiVersion", api);
    jv_set_str(&k->a, ref, "kind", kind);
    jv_set_str(&k->a, ref, "name", jv_text_at(owner, "metadata.name"));
    jv_set_str(&k->a, ref, "uid", jv_text_at(owner, "metadata.uid"));
    jv_set_bool(&k->a, ref, "controller", true);
    jv_set_bool(&k->a, ref, "blockOwnerDeletion", true);
    jv_push(&k->a, list, ref);
    return list;
}

int create_pod(struct controllers *k, const char *api, const char *kind, const struct jv *owner,
               const struct jv *template, const char *name, const char *node,
               const struct jv *extra_labels)
{
    struct vpa_arena *a = &k->a;
    struct jv *pod = jv_obj(a), *meta = jv_obj(a), *spec = jv_clone(a, jv_get(template, "spec"));
    static const char *const kept[] = {"labels", "annotations", "finalizers"};
    const char *ns = jv_text_at(owner, "metadata.namespace");

    for (size_t i = 0; i < VPA_COUNT(kept); i++) {
        struct jv *v = jv_get(jv_get(template, "metadata"), kept[i]);
        if (v)
            jv_set(a, meta, kept[i], jv_clone(a, v));
    }
    jv_each (m, extra_labels)
        jv_set(a, jv_ensure(a, meta, "labels"), m->name, m->value);
    if (name)
        jv_set_str(a, meta, "name", name);
    else
        jv_set(a, meta, "generateName", jv_strf(a, "%s-", jv_text_at(owner, "metadata.name")));
    jv_set(a, meta, "ownerReferences", owner_reference(k, api, kind, owner));
    if (node)
        jv_set_str(a, spec, "nodeName", node);
    jv_set_str(a, pod, "apiVersion", "v1");
    jv_set_str(a, pod, "kind", "Pod");
    jv_set(a, pod, "metadata", meta);
    jv_set(a, pod, "spec", spec);
    return call(k, "POST", vpa_arena_printf(a, "/api/v1/namespaces/%s/pods", ns), NULL, pod, NULL);
}

void delete_pod(struct controllers *k, const struct jv *pod)
{
    const char *path =
        vpa_arena_printf(&k->a, "/api/v1/namespaces/%s/pods/%s",
                         jv_text_at(pod, "metadata.namespace"), jv_text_at(pod, "metadata.name"));
    (void)call(k, "DELETE", path, NULL, NULL, NULL);
}

void put_status(struct controllers *k, const char *path, const struct jv *old, struct jv *status)
{
    struct jv *patch = jv_obj(&k->a), *now = jv_clone(&k->a, status);

    jv_each (m, old)
        if (!jv_get(now, m->name))
            jv_set(&k->a, now, m->name, jv_null(&k->a)); /* what is gone */
    struct jv *plain = jv_clone(&k->a, status);
    if (old && jv_equal(old, plain))
        return;
    jv_set(&k->a, patch, "status", now);
    (void)call(k, "PATCH", vpa_arena_printf(&k->a, "%s/status", path),
               "application/merge-patch+json", patch, NULL);
}

bool pod_ready(const struct jv *pod)
{
    jv_each (m, jv_at(pod, "status.conditions"))
        if (!strcmp(jv_text_at(m->value, "type"), "Ready"))
            return !strcmp(jv_text_at(m->value, "status"), "True");
    return false;
}

bool pod_active(const struct jv *pod)
{
    const char *phase = jv_text_at(pod, "status.phase");
    return !jv_at(pod, "metadata.deletionTimestamp") && strcmp(phase, "Succeeded") != 0 &&
           strcmp(phase, "Failed") != 0;
}

struct jv *make_condition(struct controllers *k, const struct jv *old_list, const char *type,
                          bool yes, const char *reason, const char *message)
{
    struct jv *c = jv_obj(&k->a);
    const char *status = yes ? "True" : "False", *since = sim_now_text(k->sim, &k->a),
               *updated = since;

    jv_each (m, old_list) {
        if (strcmp(jv_text_at(m->value, "type"), type) != 0)
            continue;
        if (!strcmp(jv_text_at(m->value, "status"), status))
            since = jv_text_at(m->value, "lastTransitionTime");
        if (!strcmp(jv_text_at(m->value, "reason"), reason) &&
            !strcmp(jv_text_at(m->value, "status"), status))
            updated = *jv_text_at(m->value, "lastUpdateTime")
                          ? jv_text_at(m->value, "lastUpdateTime")
                          : since;
    }
    jv_set_str(&k->a, c, "type", type);
    jv_set_str(&k->a, c, "status", status);
    jv_set_str(&k->a, c, "lastUpdateTime", updated);
    jv_set_str(&k->a, c, "lastTransitionTime", since);
    jv_set_str(&k->a, c, "reason", reason);
    jv_set_str(&k->a, c, "message", message);
    return c;
}

/* FNV-1a over the sorted text, in the alphabet of safe names. */
const char *template_hash(struct controllers *k, const struct jv *template)
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    vpa_auto_buf text = VPA_BUF(8u << 20);
    uint32_t hash = 2166136261u;
    char out[11];
    size_t n = 0;

    jv_write_sorted(&text, template);
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * 16777619u;
    for (const char *p = vpa_arena_printf(&k->a, "%u", hash); *p; p++)
        out[n++] = alphabet[(size_t)*p % (sizeof(alphabet) - 1)];
    out[n] = 0;
    return vpa_arena_strdup(&k->a, out);
}
