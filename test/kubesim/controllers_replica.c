/* ReplicaSets (and ReplicationControllers) and the Deployments above them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controllers.h"

struct census {
    struct jv *active; /* pods that count */
    int64_t ready;
};

static struct census count_pods(struct controllers *k, const char *ns, const struct jv *owner)
{
    struct census c = {jv_arr(&k->a), 0};

    jv_each (m, load_owned(k, "", "pods", ns, jv_text_at(owner, "metadata.uid"))) {
        if (!pod_active(m->value))
            continue;
        jv_push(&k->a, c.active, m->value);
        c.ready += pod_ready(m->value);
    }
    return c;
}

/* Rank for scaling down: unscheduled first, then not ready, then the youngest. */
static int rank(const struct jv *pod)
{
    return !*jv_text_at(pod, "spec.nodeName") ? 0 : !pod_ready(pod) ? 1 : 2;
}

static int by_rank(const void *x, const void *y)
{
    const struct jv *p = ((const struct jv_member *)x)->value,
                    *q = ((const struct jv_member *)y)->value;

    if (rank(p) != rank(q))
        return rank(p) - rank(q);
    return strcmp(jv_text_at(q, "metadata.creationTimestamp"),
                  jv_text_at(p, "metadata.creationTimestamp"));
}

static int64_t replica_status(struct controllers *k, const struct jv *rs, const struct census *c,
                              struct jv *status)
{
    int64_t total = (int64_t)jv_len(c->active);

    jv_set_int(&k->a, status, "replicas", total);
    if (total)
        jv_set_int(&k->a, status, "fullyLabeledReplicas", total);
    if (c->ready) {
        jv_set_int(&k->a, status, "readyReplicas", c->ready);
        jv_set_int(&k->a, status, "availableReplicas", c->ready);
    }
    jv_set_int(&k->a, status, "observedGeneration", jv_int_at(rs, "metadata.generation", 1));
    return total;
}

void reconcile_replica_set(struct controllers *k, const char *ns, const char *name, bool rc)
{
    const char *plural = rc ? "replicationcontrollers" : "replicasets";
    struct jv *rs = load_object(k, rc ? "" : "apps", plural, ns, name), *status = jv_obj(&k->a);

    if (!rs || jv_at(rs, "metadata.deletionTimestamp"))
        return;
    struct census c = count_pods(k, ns, rs);
    int64_t wanted = jv_int_at(rs, "spec.replicas", 1), have = (int64_t)jv_len(c.active);
    for (; have < wanted; have++)
        if (create_pod(k, rc ? "v1" : "apps/v1", rc ? "ReplicationController" : "ReplicaSet", rs,
                       jv_at(rs, "spec.template"), NULL, NULL, NULL) != 201) {
            enqueue(k, rc ? WORK_REPLICATION_CONTROLLER : WORK_REPLICA_SET, ns, name, 500);
            break;
        }
    if (have > wanted) {
        qsort(c.active->items, c.active->count, sizeof(*c.active->items), by_rank);
        for (int64_t i = 0; i < have - wanted; i++)
            delete_pod(k, c.active->items[i].value);
    }
    c = count_pods(k, ns, rs);
    replica_status(k, rs, &c, status);
    put_status(k,
               vpa_arena_printf(
                   &k->a, rc ? "/api/v1/namespaces/%s/%s/%s" : "/apis/apps/v1/namespaces/%s/%s/%s",
                   ns, plural, name),
               jv_get(rs, "status"), status);
}

/* ---- Deployments ---- */

/* A count or a percentage of the replicas. */
static int64_t share(const struct jv *v, int64_t replicas, bool up)
{
    int64_t n;

    if (jv_is_int(v, &n))
        return n;
    const char *text = jv_text(v);
    long percent = text ? strtol(text, NULL, 10) : 25;
    return up ? (replicas * percent + 99) / 100 : replicas * percent / 100;
}

static void scale_set(struct controllers *k, const struct jv *rs, int64_t replicas)
{
    struct jv *patch = jv_obj(&k->a);

    if (jv_int_at(rs, "spec.replicas", 1) == replicas)
        return;
    jv_set_int(&k->a, jv_ensure(&k->a, patch, "spec"), "replicas", replicas);
    (void)call(k, "PATCH",
               vpa_arena_printf(&k->a, "/apis/apps/v1/namespaces/%s/replicasets/%s",
                                jv_text_at(rs, "metadata.namespace"),
                                jv_text_at(rs, "metadata.name")),
               "application/merge-patch+json", patch, NULL);
}

static const char *revision_of(const struct jv *object)
{
    const char *t =
        jv_text(jv_get(jv_at(object, "metadata.annotations"), "deployment.kubernetes.io/revision"));
    return t ? t : "0";
}

static struct jv *create_set(struct controllers *k, const struct jv *d, const char *name,
                             const char *hash, const struct jv *sets, int64_t replicas,
                             int64_t surge)
{
    struct vpa_arena *a = &k->a;
    struct jv *rs = jv_obj(a), *meta = jv_obj(a), *spec = jv_obj(a),
              *template = jv_clone(a, jv_at(d, "spec.template")), *out;
    long revision = 0;

    jv_each (m, sets) {
        long n = strtol(revision_of(m->value), NULL, 10);
        revision = n > revision ? n : revision;
    }
    jv_set_str(a, rs, "apiVersion", "apps/v1");
    jv_set_str(a, rs, "kind", "ReplicaSet");
    jv_set_str(a, meta, "name", name);
    jv_set_str(a, jv_ensure(a, template, "metadata.labels"), "pod-template-hash", hash);
    jv_set(a, meta, "labels", jv_clone(a, jv_at(template, "metadata.labels")));
    struct jv *notes = jv_obj(a);
    jv_set(a, notes, "deployment.kubernetes.io/desired-replicas",
           jv_strf(a, "%lld", (long long)jv_int_at(d, "spec.replicas", 1)));
    jv_set(a, notes, "deployment.kubernetes.io/max-replicas",
           jv_strf(a, "%lld", (long long)(jv_int_at(d, "spec.replicas", 1) + surge)));
    jv_set(a, notes, "deployment.kubernetes.io/revision", jv_strf(a, "%ld", revision + 1));
    jv_set(a, meta, "annotations", notes);
    jv_set(a, meta, "ownerReferences", owner_reference(k, "apps/v1", "Deployment", d));
    struct jv *selector = jv_clone(a, jv_at(d, "spec.selector"));
    jv_set_str(a, jv_ensure(a, selector, "matchLabels"), "pod-template-hash", hash);
    jv_set_int(a, spec, "replicas", replicas);
    jv_set(a, spec, "selector", selector);
    jv_set(a, spec, "template", template);
    jv_set(a, rs, "metadata", meta);
    jv_set(a, rs, "spec", spec);
    const char *path = vpa_arena_printf(a, "/apis/apps/v1/namespaces/%s/replicasets",
                                        jv_text_at(d, "metadata.namespace"));
    return call(k, "POST", path, NULL, rs, &out) == 201 ? out : NULL;
}

struct rollout {
    struct jv *fresh;  /* the set of the present template */
    struct jv *others; /* older sets */
    int64_t wanted, surge, unavailable;
    int64_t old_spec, ready_total, total, fresh_ready, fresh_total;
};

static void survey(struct rollout *r)
{
    jv_each (m, r->others) {
        r->old_spec += jv_int_at(m->value, "spec.replicas", 0);
        r->total += jv_int_at(m->value, "status.replicas", 0);
        r->ready_total += jv_int_at(m->value, "status.readyReplicas", 0);
    }
    r->fresh_total = jv_int_at(r->fresh, "status.replicas", 0);
    r->fresh_ready = jv_int_at(r->fresh, "status.readyReplicas", 0);
    r->total += r->fresh_total;
    r->ready_total += r->fresh_ready;
}

static void scale_down_old(struct controllers *k, struct rollout *r)
{
    int64_t fresh_spec = jv_int_at(r->fresh, "spec.replicas", 0);
    int64_t most =
        r->old_spec + fresh_spec - (r->wanted - r->unavailable) - (fresh_spec - r->fresh_ready);

    jv_each (m, r->others) {
        int64_t n = jv_int_at(m->value, "spec.replicas", 0);
        int64_t idle = n - jv_int_at(m->value, "status.readyReplicas", 0);
        int64_t cut = most > n ? n : most;
        if (cut < idle && idle <= n)
            cut = idle; /* pods that do not serve go first */
        if (cut <= 0)
            continue;
        scale_set(k, m->value, n - cut);
        most -= cut;
    }
}

static void roll(struct controllers *k, const struct jv *d, struct rollout *r)
{
    int64_t fresh_spec = jv_int_at(r->fresh, "spec.replicas", 0);

    if (!strcmp(jv_text_at(d, "spec.strategy.type"), "Recreate")) {
        jv_each (m, r->others)
            scale_set(k, m->value, 0);
        if (r->total == r->fresh_total)
            scale_set(k, r->fresh, r->wanted);
        return;
    }
    if (!r->old_spec) {
        scale_set(k, r->fresh, r->wanted);
        return;
    }
    int64_t room = r->wanted + r->surge - r->old_spec - fresh_spec;
    if (fresh_spec > r->wanted)
        scale_set(k, r->fresh, r->wanted);
    else if (room > 0 && fresh_spec < r->wanted)
        scale_set(k, r->fresh, fresh_spec + room > r->wanted ? r->wanted : fresh_spec + room);
    scale_down_old(k, r);
}

static void deployment_status(struct controllers *k, const struct jv *d, const struct rollout *r,
                              const char *path)
{
    struct vpa_arena *a = &k->a;
    struct jv *s = jv_obj(a), *conditions = jv_arr(a), *body = jv_clone(a, d);
    const struct jv *old = jv_at(d, "status.conditions");
    bool available = r->ready_total >= r->wanted - r->unavailable;
    bool complete =
        r->fresh_total == r->wanted && r->fresh_ready >= r->wanted && r->total == r->wanted;
    const char *name = jv_text_at(r->fresh, "metadata.name");
    int64_t missing = r->total - r->ready_total;

    jv_set_int(a, s, "observedGeneration", jv_int_at(d, "metadata.generation", 1));
    if (r->total)
        jv_set_int(a, s, "replicas", r->total);
    if (r->fresh_total)
        jv_set_int(a, s, "updatedReplicas", r->fresh_total);
    if (r->ready_total) {
        jv_set_int(a, s, "readyReplicas", r->ready_total);
        jv_set_int(a, s, "availableReplicas", r->ready_total);
    }
    if (missing > 0)
        jv_set_int(a, s, "unavailableReplicas", missing);
    jv_push(a, conditions,
            make_condition(k, old, "Available", available,
                           available ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                           available ? "Deployment has minimum availability."
                                     : "Deployment does not have minimum availability."));
    jv_push(
        a, conditions,
        make_condition(k, old, "Progressing", true,
                       complete ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
                       vpa_arena_printf(a,
                                        complete ? "ReplicaSet \"%s\" has successfully progressed."
                                                 : "ReplicaSet \"%s\" is progressing.",
                                        name)));
    jv_set(a, s, "conditions", conditions);
    const char *revision = revision_of(r->fresh);
    if (jv_equal(s, jv_get(d, "status")) && !strcmp(revision, revision_of(d)))
        return;
    jv_set(a, body, "status", s);
    jv_set_str(a, jv_ensure(a, body, "metadata.annotations"), "deployment.kubernetes.io/revision",
               revision);
    jv_set_str(a, body, "kind", "Deployment");
    jv_set_str(a, body, "apiVersion", "apps/v1");
    jv_del(jv_get(body, "metadata"), "resourceVersion");
    (void)call(k, "PUT", vpa_arena_printf(a, "%s/status", path), NULL, body, NULL);
}

void reconcile_deployment(struct controllers *k, const char *ns, const char *name)
{
    struct vpa_arena *a = &k->a;
    struct jv *d = load_object(k, "apps", "deployments", ns, name);
    struct rollout r = {0};

    if (!d || jv_at(d, "metadata.deletionTimestamp"))
        return;
    const char *path = vpa_arena_printf(a, "/apis/apps/v1/namespaces/%s/deployments/%s", ns, name);
    const char *hash = template_hash(k, jv_at(d, "spec.template"));
    const char *set_name = vpa_arena_printf(a, "%s-%s", name, hash);
    struct jv *sets = load_owned(k, "apps", "replicasets", ns, jv_text_at(d, "metadata.uid"));
    r.others = jv_arr(a);
    r.wanted = jv_int_at(d, "spec.replicas", 1);
    r.surge = share(jv_at(d, "spec.strategy.rollingUpdate.maxSurge"), r.wanted, true);
    r.unavailable = share(jv_at(d, "spec.strategy.rollingUpdate.maxUnavailable"), r.wanted, false);
    if (!r.surge && !r.unavailable)
        r.unavailable = 1;
    jv_each (m, sets) {
        if (!strcmp(jv_text_at(m->value, "metadata.name"), set_name))
            r.fresh = m->value;
        else
            jv_push(a, r.others, m->value);
    }
    survey(&r);
    if (!r.fresh) {
        bool first = jv_len(r.others) == 0;
        r.fresh = create_set(k, d, set_name, hash, sets, first ? r.wanted : 0, r.surge);
        if (!r.fresh) {
            enqueue(k, WORK_DEPLOYMENT, ns, name, 500);
            return;
        }
    }
    if (!jv_bool_at(d, "spec.paused", false))
        roll(k, d, &r);
    deployment_status(k, d, &r, path);
}
