/*
 * DELETE of one object and of collections: options, preconditions, finalizers, graceful deletion of
 * pods that a node has, background propagation left to the garbage collector.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/time.h"

static bool is_pod(const struct restype *t)
{
    return !strcmp(t->kind, "Pod") && !*t->group;
}

int read_delete_options(struct ctx *c, const struct jv *body, struct delete_options *o)
{
    const char *grace = query_get(c, "gracePeriodSeconds"),
               *policy = query_get(c, "propagationPolicy");
    struct field_errors e = {0};

    *o = (struct delete_options){
        .grace = -1, .propagation = "", .uid = "", .rv = "", .dry_run = c->dry_run};
    o->grace = jv_int_at(body, "gracePeriodSeconds", grace ? strtoll(grace, NULL, 10) : -1);
    if (jv_get(body, "gracePeriodSeconds") || grace)
        o->grace = o->grace < 0 ? 1 : o->grace; /* what a negative grace counts as */
    o->propagation = *jv_text_at(body, "propagationPolicy") ? jv_text_at(body, "propagationPolicy")
                     : policy                               ? policy
                                                            : "";
    if (jv_bool_at(body, "orphanDependents", false))
        o->propagation = "Orphan";
    o->uid = jv_text_at(body, "preconditions.uid");
    o->rv = jv_text_at(body, "preconditions.resourceVersion");
    if (jv_len(jv_get(body, "dryRun")))
        o->dry_run = true;
    if (*o->propagation && strcmp(o->propagation, "Foreground") != 0 &&
        strcmp(o->propagation, "Background") != 0 && strcmp(o->propagation, "Orphan") != 0) {
        field_error(c, &e, "FieldValueNotSupported", "propagationPolicy",
                    "Unsupported value: \"%s\": supported values: \"Foreground\", \"Background\", "
                    "\"Orphan\", \"nil\"",
                    o->propagation);
        return fail_invalid(c, "meta.k8s.io", "DeleteOptions", "", &e);
    }
    return 0;
}

static int precondition_conflict(struct ctx *c, const struct restype *t, const char *name,
                                 const char *text)
{
    struct jv *d = jv_obj(c->a);

    jv_set_str(c->a, d, "name", name);
    if (*t->group)
        jv_set_str(c->a, d, "group", t->group);
    jv_set_str(c->a, d, "kind", t->kind);
    return fail_details(c, 409, "Conflict", d,
                        vpa_arena_printf(c->a, "Operation cannot be fulfilled on %s \"%s\": %s",
                                         type_qualified_kind(c->a, t), name, text));
}

int delete_preconditions(struct ctx *c, const struct restype *t, const struct version *v,
                         const struct delete_options *o)
{
    if (*o->uid && strcmp(o->uid, v->uid) != 0)
        return precondition_conflict(
            c, t, v->name,
            vpa_arena_printf(c->a,
                             "the UID in the precondition (%s) does not match the UID in record "
                             "(%s). The object might have been deleted and then recreated",
                             o->uid, v->uid));
    if (*o->rv && strtoull(o->rv, NULL, 10) != v->rv)
        return precondition_conflict(
            c, t, v->name,
            vpa_arena_printf(
                c->a,
                "the ResourceVersion in the precondition (%s) does not match the ResourceVersion "
                "in record (%llu). The object might have been modified",
                o->rv, (unsigned long long)v->rv));
    return 0;
}

/* ---- the steps of the server's BeforeDelete and of its store ---- */

/* Grace of a pod: none when it never had a node or is finished. */
static int64_t pod_grace(const struct jv *object, int64_t wanted)
{
    const char *phase = jv_text_at(object, "status.phase");

    if (wanted < 0)
        wanted = jv_int_at(object, "spec.terminationGracePeriodSeconds", 0);
    if (!*jv_text_at(object, "spec.nodeName") || !strcmp(phase, "Succeeded") ||
        !strcmp(phase, "Failed"))
        wanted = 0;
    return wanted < 0 ? 1 : wanted;
}

static void set_deletion(struct ctx *c, struct jv *meta, vpa_time when, int64_t grace)
{
    char text[VPA_TIME_TEXT_MAX];
    int64_t generation = jv_int_at(meta, "generation", 0);

    vpa_time_format(when, text);
    if (!jv_get(meta, "deletionTimestamp") && generation > 0)
        jv_set_int(c->a, meta, "generation", generation + 1);
    jv_set_str(c->a, meta, "deletionTimestamp", text);
    jv_set_int(c->a, meta, "deletionGracePeriodSeconds", grace);
}

enum grace { GRACE_NONE, GRACE_SET, GRACE_PENDING };

/* A pod whose grace runs already: it can only be shortened. */
static enum grace shorten_grace(struct ctx *c, struct jv *meta, const struct delete_options *o)
{
    int64_t given = jv_int_at(meta, "deletionGracePeriodSeconds", 0);
    vpa_time when;

    if (o->grace < 0 || o->grace >= given ||
        vpa_time_parse(jv_text_at(meta, "deletionTimestamp"), &when, NULL) < 0)
        return GRACE_PENDING;
    set_deletion(c, meta, vpa_time_add(when, (o->grace - given) * VPA_SECOND), o->grace);
    return GRACE_SET;
}

static enum grace set_grace(struct ctx *c, const struct restype *t, struct jv *object,
                            const struct delete_options *o)
{
    struct jv *meta = jv_get(object, "metadata");

    if (!is_pod(t))
        return GRACE_NONE;
    if (jv_get(meta, "deletionTimestamp"))
        return jv_int_at(meta, "deletionGracePeriodSeconds", 0) ? shorten_grace(c, meta, o)
                                                                : GRACE_NONE;
    int64_t grace = pod_grace(object, o->grace);
    set_deletion(c, meta, vpa_time_add(sim_now(c->sim), grace * VPA_SECOND), grace);
    return GRACE_SET;
}

static bool listed_finalizer(const struct jv *list, const char *name)
{
    jv_each (m, list)
        if (jv_text(m->value) && !strcmp(m->value->text, name))
            return true;
    return false;
}

/* What becomes of dependents when nothing is said: those of two old kinds are left. */
static bool leaves_dependents(const struct restype *t)
{
    return !strcmp(t->kind, "ReplicationController") || !strcmp(t->kind, "Job");
}

/* The finalizers that stand for the policy: whether they changed. */
static bool set_policy_finalizers(struct ctx *c, const struct restype *t, struct jv *meta,
                                  const struct delete_options *o)
{
    struct jv *before = jv_get(meta, "finalizers"), *list = jv_arr(c->a);
    bool had_orphan = listed_finalizer(before, "orphan"),
         had_foreground = listed_finalizer(before, "foregroundDeletion");
    bool said = *o->propagation != 0, kept = !said && (had_orphan || had_foreground);
    bool orphan = said   ? !strcmp(o->propagation, "Orphan")
                  : kept ? had_orphan
                         : leaves_dependents(t);
    bool foreground = said ? !strcmp(o->propagation, "Foreground") : kept && !had_orphan;

    if (!strcmp(t->kind, "Event") || (orphan == had_orphan && foreground == had_foreground))
        return false;
    jv_each (m, before)
        if (strcmp(jv_text(m->value), "orphan") != 0 &&
            strcmp(jv_text(m->value), "foregroundDeletion") != 0)
            jv_push(c->a, list, m->value);
    if (orphan)
        jv_push(c->a, list, jv_str(c->a, "orphan"));
    if (foreground)
        jv_push(c->a, list, jv_str(c->a, "foregroundDeletion"));
    if (list->count)
        jv_set(c->a, meta, "finalizers", list);
    else
        jv_del(meta, "finalizers");
    return true;
}

static void mark_held(struct ctx *c, const struct restype *t, struct jv *object)
{
    struct jv *meta = jv_get(object, "metadata");
    vpa_time now = sim_now(c->sim), when;

    if (vpa_time_parse(jv_text_at(meta, "deletionTimestamp"), &when, NULL) < 0 ||
        vpa_time_sub(when, now) > 0)
        set_deletion(c, meta, now, 0);
    jv_set_int(c->a, meta, "deletionGracePeriodSeconds", 0);
    if (!strcmp(t->kind, "Namespace") && !*t->group) {
        jv_del(meta, "deletionGracePeriodSeconds");
        jv_set_str(c->a, jv_ensure(c->a, object, "status"), "phase", "Terminating");
    }
}

static bool is_held(const struct restype *t, const struct jv *object)
{
    return jv_len(jv_at(object, "metadata.finalizers")) ||
           (!strcmp(t->kind, "Namespace") && !*t->group &&
            jv_len(jv_at(object, "spec.finalizers")));
}

/* The options that webhooks see: of a single pod with the grace that came of them, but as they are
 * of one whose grace is over. */
static void complete_options(struct ctx *c, const struct jv *object, enum grace found,
                             const struct delete_options *o)
{
    int64_t grace = o->grace;

    if (found != GRACE_NONE && *c->name)
        grace = jv_int_at(object, "metadata.deletionGracePeriodSeconds", grace);
    if (grace >= 0)
        jv_set_int(c->a, c->deletion, "gracePeriodSeconds", grace);
    if (*o->propagation)
        jv_set_str(c->a, c->deletion, "propagationPolicy", o->propagation);
}

static int admit_deletion(struct ctx *c, const struct restype *t, struct version *v)
{
    struct jv *old = version_parse(c->a, v), *none = NULL;

    version_ref(v);
    int rc = admit_mutating(c, "DELETE", old, &none, "DeleteOptions");
    if (rc == 0)
        rc = admit_validating(c, "DELETE", old, NULL, "DeleteOptions");
    if (rc == 0 && store_find(t->store, v->ns, v->name) != v)
        rc = WRITE_AGAIN;
    version_unref(v);
    return rc;
}

int delete_version(struct ctx *c, struct restype *t, struct version *v,
                   const struct delete_options *o, bool *gone, struct jv **out)
{
    struct jv *before = version_parse(c->a, v), *object = jv_clone(c->a, before);
    struct jv *meta = jv_get(object, "metadata");

    *gone = false;
    *out = object;
    if (delete_preconditions(c, t, v, o) < 0)
        return -1;
    enum grace grace = set_grace(c, t, object, o);
    if (grace == GRACE_PENDING)
        return 0;
    if (o->reviewed) {
        complete_options(c, object, grace, o);
        int rc = admit_deletion(c, t, v);
        if (rc != 0)
            return rc;
    }
    set_policy_finalizers(c, t, meta, o);
    bool held = is_held(t, object);
    if (grace == GRACE_NONE && held)
        mark_held(c, t, object);
    bool changed = v->unsettled || !jv_equal(before, object);
    *gone = !held && (grace == GRACE_NONE || jv_int_at(meta, "deletionGracePeriodSeconds", 0) == 0);
    if (o->dry_run)
        return 0;
    if (*gone && grace == GRACE_NONE)
        object = *out = before; /* it goes as it was */
    else if (changed)
        v = store_put(&c->sim->store, t->store, c->a, object);
    if (*gone)
        store_delete(&c->sim->store, t->store, c->a, v, object);
    return 0;
}

static int read_options_body(struct ctx *c, struct delete_options *o)
{
    struct jv *body = jv_obj(c->a);
    struct vpa_error err;

    if (c->req->body_len && jv_parse(c->a, c->req->body, c->req->body_len, &body, NULL, &err) < 0)
        return fail(c, 400, "BadRequest",
                    "the object provided is unrecognized (must be of type DeleteOptions): %s",
                    err.text);
    c->deletion = body;
    if (read_delete_options(c, body, o) < 0)
        return -1;
    o->reviewed = true;
    return 0;
}

static bool has_kind(const struct restype *t, const char *kind)
{
    return !strcmp(t->kind, kind);
}

/* Whether there is such a job or not. */
static void warn_of_children(struct ctx *c, const struct delete_options *o)
{
    if (!strcmp(c->type->kind, "Job") && !*o->propagation)
        quote_warning(c, "child pods are preserved by default when jobs are deleted; set "
                         "propagationPolicy=Background to remove them or set "
                         "propagationPolicy=Orphan to suppress this warning");
}

int handle_delete(struct ctx *c)
{
    struct delete_options o;
    struct jv *object;
    const char *uid = "";
    bool gone;
    int rc;

    if (read_options_body(c, &o) < 0)
        return -1;
    warn_of_children(c, &o);
    do {
        struct version *v = store_find(c->type->store, c->ns, c->name);
        if (!v)
            return fail_not_found(c, c->type, c->name);
        uid = vpa_arena_strdup(c->a, v->uid);
        rc = delete_version(c, c->type, v, &o, &gone, &object);
    } while (rc == WRITE_AGAIN);
    if (rc < 0)
        return -1;
    if (!o.dry_run && has_kind(c->type, "CustomResourceDefinition") && gone)
        crd_deleted(c, c->name);
    if (gone && !(c->type->flags & T_DELETE_RETURNS_OBJECT)) {
        answer_success(c, 200, c->name, uid);
        return 0;
    }
    answer_object(c, 200, object);
    return 0;
}

static struct jv *listed(struct ctx *c, struct version *v)
{
    struct jv *object = view_of(c->a, c->type, version_parse(c->a, v));

    if (c->type->crd) {
        jv_put_first(c->a, object, "kind", jv_str(c->a, c->type->kind));
        jv_put_first(c->a, object, "apiVersion", jv_str(c->a, type_api_version(c->a, c->type)));
    }
    return object;
}

/* One of a collection; what has gone meanwhile is no failure. */
static int delete_listed(struct ctx *c, const struct version *one, const struct delete_options *o)
{
    struct jv *object;
    bool gone;
    int rc;

    do {
        struct version *v = store_find(c->type->store, one->ns, one->name);
        if (!v)
            return 0;
        rc = delete_version(c, c->type, v, o, &gone, &object);
    } while (rc == WRITE_AGAIN);
    return rc;
}

int handle_delete_collection(struct ctx *c)
{
    struct delete_options o;
    struct selector *selector;
    struct version **items;
    size_t count;
    struct jv *list = jv_obj(c->a), *array = jv_arr(c->a);

    if (read_options_body(c, &o) < 0 || selector_read(c, &selector) < 0)
        return -1;
    if (store_snapshot(c->type->store, c->ns, 0, &items, &count) < 0)
        return fail(c, 500, "InternalError", "no snapshot");
    int rc = 0;
    for (size_t i = 0; i < count; i++) {
        if (rc == 0 && selector_matches(selector, items[i])) {
            jv_push(c->a, array, listed(c, items[i])); /* as it was before */
            rc = delete_listed(c, items[i], &o);
        }
        version_unref(items[i]);
    }
    free(items);
    if (rc < 0)
        return -1;
    warn_of_children(c, &o);
    jv_set_str(c->a, list, "kind", c->type->list_kind);
    jv_set_str(c->a, list, "apiVersion", type_api_version(c->a, c->type));
    struct jv *meta = jv_obj(c->a);
    if (c->type->crd)
        jv_set_str(c->a, meta, "continue", "");
    jv_set(c->a, meta, "resourceVersion",
           jv_strf(c->a, "%llu", (unsigned long long)c->sim->store.rv));
    jv_set(c->a, list, "metadata", meta);
    jv_set(c->a, list, "items", array);
    answer_json(c, 200, list);
    return 0;
}
