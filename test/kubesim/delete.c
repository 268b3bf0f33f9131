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

static int check_preconditions(struct ctx *c, const struct restype *t, const struct version *v,
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

/* Grace of a pod: none when it never had a node or is finished. */
static int64_t pod_grace(const struct jv *object, int64_t wanted)
{
    const char *phase = jv_text_at(object, "status.phase");

    if (wanted < 0)
        wanted = jv_int_at(object, "spec.terminationGracePeriodSeconds", 30);
    if (!*jv_text_at(object, "spec.nodeName") || !strcmp(phase, "Succeeded") ||
        !strcmp(phase, "Failed"))
        wanted = 0;
    return wanted;
}

static void mark_deleted(struct ctx *c, struct jv *object, int64_t grace)
{
    struct jv *meta = jv_get(object, "metadata");
    char text[VPA_TIME_TEXT_MAX];
    int64_t generation = jv_int_at(meta, "generation", 0);

    vpa_time_format(vpa_time_add(sim_now(c->sim), grace * VPA_SECOND), text);
    if (!jv_get(meta, "deletionTimestamp") && generation > 0)
        jv_set_int(c->a, meta, "generation", generation + 1);
    jv_set_str(c->a, meta, "deletionTimestamp", text);
    jv_set_int(c->a, meta, "deletionGracePeriodSeconds", grace);
}

static bool add_finalizer(struct ctx *c, struct jv *meta, const char *name)
{
    struct jv *list = jv_get(meta, "finalizers");

    jv_each (m, list)
        if (jv_text(m->value) && !strcmp(m->value->text, name))
            return false;
    if (!list) {
        list = jv_arr(c->a);
        jv_set(c->a, meta, "finalizers", list);
    }
    jv_push(c->a, list, jv_str(c->a, name));
    return true;
}

/* A pod that its node has to end first: 0 when it was marked (again), 1 when it may go. */
static int delete_gracefully(struct ctx *c, struct restype *t, struct jv *object,
                             const struct delete_options *o, struct jv **out)
{
    struct jv *meta = jv_get(object, "metadata");
    int64_t grace = pod_grace(object, o->grace);

    if (grace == 0) {
        jv_set_int(c->a, meta, "deletionGracePeriodSeconds", 0);
        return 1;
    }
    if (jv_get(meta, "deletionTimestamp")) {
        int64_t given = jv_int_at(meta, "deletionGracePeriodSeconds", 30);
        *out = object;
        if (grace >= given || o->grace < 0)
            return 0; /* it can only be shortened */
    }
    mark_deleted(c, object, grace);
    *out = object;
    if (!o->dry_run)
        store_put(&c->sim->store, t->store, c->a, object);
    return 0;
}

int delete_version(struct ctx *c, struct restype *t, struct version *v,
                   const struct delete_options *o, bool *gone, struct jv **out)
{
    struct jv *object = version_parse(c->a, v);
    struct jv *meta = jv_get(object, "metadata");
    bool was_deleted = jv_get(meta, "deletionTimestamp") != NULL, changed = false;

    *gone = false;
    *out = object;
    if (check_preconditions(c, t, v, o) < 0)
        return -1;
    if (is_pod(t)) {
        if (delete_gracefully(c, t, object, o, out) == 0)
            return 0;
    }
    if (!strcmp(o->propagation, "Foreground") && !was_deleted)
        changed = add_finalizer(c, meta, "foregroundDeletion");
    if (!strcmp(o->propagation, "Orphan") && !was_deleted)
        changed = add_finalizer(c, meta, "orphan");
    bool namespace = !strcmp(t->kind, "Namespace") && !*t->group;
    bool held = jv_len(jv_get(meta, "finalizers")) ||
                (namespace && jv_len(jv_at(object, "spec.finalizers")));
    if (held) {
        if (!was_deleted || changed) {
            mark_deleted(c, object, 0);
            if (namespace) {
                jv_del(meta, "deletionGracePeriodSeconds");
                jv_set_str(c->a, jv_ensure(c->a, object, "status"), "phase", "Terminating");
            }
            if (!o->dry_run)
                store_put(&c->sim->store, t->store, c->a, object);
        }
        return 0;
    }
    *gone = true;
    if (!o->dry_run) {
        if (is_pod(t) && !was_deleted)
            mark_deleted(c, object, 0);
        store_delete(&c->sim->store, t->store, c->a, v, object);
    }
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
    return read_delete_options(c, body, o);
}

static bool has_kind(const struct restype *t, const char *kind)
{
    return !strcmp(t->kind, kind);
}

int handle_delete(struct ctx *c)
{
    struct delete_options o;
    struct jv *object;
    bool gone;

    if (read_options_body(c, &o) < 0)
        return -1;
    struct version *v = store_find(c->type->store, c->ns, c->name);
    if (!v)
        return fail_not_found(c, c->type, c->name);
    struct jv *old = version_parse(c->a, v);
    version_ref(v);
    int rc = admit_webhooks(c, true, "DELETE", old, &(struct jv *){NULL}, "DeleteOptions");
    if (rc == 0)
        rc = admit_webhooks(c, false, "DELETE", old, &(struct jv *){NULL}, "DeleteOptions");
    if (rc == 0 && store_find(c->type->store, c->ns, c->name) != v) {
        version_unref(v);
        return handle_delete(c); /* changed while a webhook was asked */
    }
    const char *uid = vpa_arena_strdup(c->a, v->uid);
    if (rc == 0)
        rc = delete_version(c, c->type, v, &o, &gone, &object);
    version_unref(v);
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
    for (size_t i = 0; i < count; i++) {
        struct jv *object;
        bool gone;
        if (selector_matches(selector, items[i]) &&
            delete_version(c, c->type, items[i], &o, &gone, &object) == 0)
            jv_push(c->a, array, view_of(c->a, c->type, object));
        version_unref(items[i]);
    }
    free(items);
    jv_set_str(c->a, list, "kind", c->type->list_kind);
    jv_set_str(c->a, list, "apiVersion", type_api_version(c->a, c->type));
    struct jv *meta = jv_obj(c->a);
    jv_set(c->a, meta, "resourceVersion",
           jv_strf(c->a, "%llu", (unsigned long long)c->sim->store.rv));
    jv_set(c->a, list, "metadata", meta);
    jv_set(c->a, list, "items", array);
    answer_json(c, 200, list);
    return 0;
}
