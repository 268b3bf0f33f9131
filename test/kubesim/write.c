/*
 * Create and update: the order of steps is the server's. Read and decode, prepare (what the client
 * may not set comes from the old object), defaults, built-in admission, mutating webhooks,
 * validation, validating webhooks, commit. Patches (patching.c) end here too.
 *
 * The lock is dropped while a webhook is asked. A write that finds the object changed afterwards
 * starts again (patches and unconditional replaces) or is a conflict (replaces that name a
 * version).
 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

/* ---- create ---- */

static int check_namespace(struct ctx *c)
{
    if (!(c->type->flags & T_NAMESPACED) || c->sim->opt.bare)
        return 0;
    const struct restype *t = types_find(&c->sim->types, "", "v1", "namespaces");
    const struct version *v = store_find(t->store, "", c->ns);
    if (!v)
        return fail_not_found(c, t, c->ns);
    const struct jv *object = version_parse(c->a, v);
    if (jv_at(object, "metadata.deletionTimestamp")) {
        struct jv *d = jv_obj(c->a);
        struct jv *cause = jv_obj(c->a), *causes = jv_arr(c->a);
        jv_set_str(c->a, d, "name", c->name);
        jv_set_str(c->a, d, "kind", c->type->plural);
        jv_set_str(c->a, cause, "reason", "NamespaceTerminating");
        jv_set_str(c->a, cause, "message",
                   vpa_arena_printf(c->a, "namespace %s is being terminated", c->ns));
        jv_set_str(c->a, cause, "field", "metadata.namespace");
        jv_push(c->a, causes, cause);
        jv_set(c->a, d, "causes", causes);
        return fail_details(c, 403, "Forbidden", d,
                            vpa_arena_printf(c->a,
                                             "%s \"%s\" is forbidden: unable to create new content "
                                             "in namespace %s because it is being terminated",
                                             type_qualified(c->a, c->type), c->name, c->ns));
    }
    return 0;
}

static void clear_system_fields(struct jv *meta)
{
    static const char *const names[] = {
        "uid",        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
        "generation", "selfLink",          "managedFields"};
    for (size_t i = 0; i < VPA_COUNT(names); i++)
        jv_del(meta, names[i]);
}

static void init_status(struct ctx *c, struct jv *object)
{
    const struct restype *t = c->type;

    if ((t->flags & T_STATUS) && !(t->flags & T_STATUS_ON_CREATE))
        jv_del(object, "status");
    if (!(t->flags & T_STATUS) || t->crd)
        return;
    if (!strcmp(t->kind, "Pod") && !*t->group) {
        jv_set(c->a, object, "status", jv_obj(c->a)); /* what webhooks see; the phase comes later */
    } else if (!strcmp(t->kind, "Namespace")) {
        jv_set(c->a, object, "status", jv_lit(c->a, "{\"phase\":\"Active\"}"));
        jv_set(c->a, object, "spec", jv_lit(c->a, "{\"finalizers\":[\"kubernetes\"]}"));
    } else if (!strcmp(t->kind, "PodDisruptionBudget")) {
        jv_set(c->a, object, "status",
               jv_lit(c->a, "{\"disruptionsAllowed\":0,\"currentHealthy\":0,\"desiredHealthy\":0,"
                            "\"expectedPods\":0}"));
    } else if (!strcmp(t->kind, "APIService")) {
        jv_set(c->a, object, "status",
               jv_lit(c->a, "{\"conditions\":[{\"type\":\"Available\",\"status\":\"True\","
                            "\"reason\":\"Passed\",\"message\":\"all checks passed\"}]}"));
    } else if (!strcmp(t->kind, "ReplicaSet") || !strcmp(t->kind, "ReplicationController")) {
        jv_set(c->a, object, "status", jv_lit(c->a, "{\"replicas\":0}"));
    } else if (!strcmp(t->kind, "StatefulSet")) {
        jv_set(c->a, object, "status", jv_lit(c->a, "{\"replicas\":0,\"availableReplicas\":0}"));
    } else if (!strcmp(t->kind, "DaemonSet")) {
        jv_set(c->a, object, "status",
               jv_lit(c->a, "{\"currentNumberScheduled\":0,\"numberMisscheduled\":0,"
                            "\"desiredNumberScheduled\":0,\"numberReady\":0}"));
    } else if (!jv_get(object, "status")) {
        jv_set(c->a, object, "status", jv_obj(c->a));
    }
}

static void finish_new_meta(struct ctx *c, struct jv *object)
{
    struct jv *meta = jv_ensure(c->a, object, "metadata");

    if (!*jv_text_at(meta, "name") && *jv_text_at(meta, "generateName"))
        jv_set_str(c->a, meta, "name", generate_name(c->a, jv_text_at(meta, "generateName")));
    jv_set(c->a, meta, "uid",
           c->sim->opt.bare ? jv_strf(c->a, "uid-%llu", (unsigned long long)c->sim->store.rv + 1)
                            : jv_str(c->a, new_uid(c->a)));
    jv_set_str(c->a, meta, "creationTimestamp", sim_now_text(c->sim, c->a));
    if (c->type->flags & T_GENERATION)
        jv_set_int(c->a, meta, "generation", 1);
}

/* A Job selects its pods by its own uid. */
static void finish_job(struct ctx *c, struct jv *object)
{
    struct jv *spec = jv_ensure(c->a, object, "spec");
    struct jv *labels = jv_ensure(c->a, jv_ensure(c->a, spec, "template"), "metadata.labels");
    const char *uid = jv_text_at(object, "metadata.uid"),
               *name = jv_text_at(object, "metadata.name");

    const char *const given[][2] = {{"batch.kubernetes.io/controller-uid", uid},
                                    {"batch.kubernetes.io/job-name", name},
                                    {"controller-uid", uid},
                                    {"job-name", name}};

    if (jv_bool_at(spec, "manualSelector", false))
        return;
    for (size_t i = 0; i < VPA_COUNT(given); i++)
        if (!jv_get(labels, given[i][0]))
            jv_set_str(c->a, labels, given[i][0], given[i][1]);
    struct jv *match = jv_ensure(c->a, jv_ensure(c->a, spec, "selector"), "matchLabels");
    if (!jv_get(match, given[0][0]))
        jv_set_str(c->a, match, given[0][0], uid);
}

static bool is_kind(const struct ctx *c, const char *group, const char *kind)
{
    return !strcmp(c->type->kind, kind) && !strcmp(c->type->group, group);
}

static void set_template_count(struct ctx *c, struct jv *object, const char *count)
{
    jv_set_str(c->a, jv_ensure(c->a, object, "metadata.annotations"), TEMPLATE_GENERATION, count);
}

static void count_template(struct ctx *c, const struct jv *old, struct jv *object)
{
    const char *before = jv_text(jv_get(jv_at(old, "metadata.annotations"), TEMPLATE_GENERATION));
    bool same = jv_equal(jv_at(old, "spec.template"), jv_at(object, "spec.template"));
    unsigned long long count = before ? strtoull(before, NULL, 10) : 0;

    set_template_count(c, object, vpa_arena_printf(c->a, "%llu", count + !same));
}

static bool is_leaving(struct ctx *c, struct version *v)
{
    return jv_at(version_parse(c->a, v), "metadata.deletionTimestamp") != NULL;
}

/* What the server itself sets before it validates. */
static void finish_new_object(struct ctx *c, struct jv *object)
{
    if (is_kind(c, "", "Pod")) {
        struct jv *status = jv_ensure(c->a, object, "status");
        jv_set_str(c->a, status, "phase", "Pending");
        jv_set_str(c->a, status, "qosClass", pod_qos(jv_get(object, "spec")));
    }
    if (is_kind(c, "apps", "DaemonSet"))
        set_template_count(c, object, "1");
    defaults_status(c, c->type, object);
    finish_new_meta(c, object);
    if (is_kind(c, "batch", "Job"))
        finish_job(c, object);
}

/* Names of pods, and of what names its pods, become host names. */
static void warn_name(struct ctx *c, const char *name)
{
    static const char *const makers[][2] = {{"apps", "Deployment"},
                                            {"apps", "ReplicaSet"},
                                            {"", "ReplicationController"},
                                            {"batch", "Job"},
                                            {"batch", "CronJob"}};
    const char *fault = dns_label_fault(name);
    bool maker = false, too_long = strlen(name) > 63;

    for (size_t i = 0; i < VPA_COUNT(makers); i++)
        maker = maker || is_kind(c, makers[i][0], makers[i][1]);
    if ((!fault && !too_long) || (!maker && !is_kind(c, "", "Pod")))
        return;
    quote_warning(c, vpa_arena_printf(c->a,
                                      "metadata.name: this is used in %s, which can result in "
                                      "surprising behavior; a DNS label is recommended: [%s%s%s]",
                                      maker ? "Pod names and hostnames" : "the Pod's hostname",
                                      too_long ? "must be no more than 63 characters" : "",
                                      too_long && fault ? " " : "", fault ? fault : ""));
}

static bool is_apply(const struct ctx *c)
{
    return strstr(c->req->content_type ? c->req->content_type : "", "apply-patch");
}

/* The steps from a decoded object to a stored one; also creation by PUT and by apply. */
int create_object(struct ctx *c, struct jv *object, int code)
{
    struct jv *meta = jv_ensure(c->a, object, "metadata");
    struct field_errors errors = {0};

    if (is_kind(c, "", "LimitRange") && !*jv_text_at(meta, "name"))
        jv_set_str(c->a, meta, "name", new_uid(c->a)); /* the only kind that needs none */
    if (!*c->name)
        c->name = jv_text_at(meta, "name");
    struct jv *managed = jv_get(meta, "managedFields");
    const char *given = jv_text_at(meta, "resourceVersion"); /* a dry run shows it again */
    bool by_put = !strcmp(c->verb, "update");
    clear_system_fields(meta);
    if (managed && strstr(c->req->content_type ? c->req->content_type : "", "apply-patch"))
        jv_set(c->a, meta, "managedFields", managed);
    if (check_namespace(c) < 0)
        return -1;
    init_status(c, object);
    defaults_apply(c, c->type, object);
    if (is_kind(c, "apps", "DaemonSet"))
        set_template_count(c, object, "0");
    track_fields(c, NULL, object, ""); /* nobody owns what admission adds */
    if (admit_mutating(c, "CREATE", NULL, &object, "CreateOptions") < 0)
        return -1;
    drop_own_policies(c, object);
    finish_new_object(c, object);
    if (is_kind(c, "apiextensions.k8s.io", "CustomResourceDefinition"))
        crd_prepare(c, object, &errors);
    validate_create(c, c->type, object, &errors);
    if (errors.count)
        return fail_type_invalid(c, jv_text_at(object, "metadata.name"), &errors);
    if (is_kind(c, "", "Pod") && (admit_limits(c, object) < 0 || admit_overhead(c, object) < 0))
        return -1;
    warn_name(c, jv_text_at(object, "metadata.name"));
    warn_pods(c, c->type, object);
    warn_finalizers(c, NULL, object);
    if (admit_validating(c, "CREATE", NULL, object, "CreateOptions") < 0)
        return -1;
    meta = jv_get(object, "metadata");
    bool labelled = jv_get(meta, "labels");
    defaults_apply(c, c->type, object); /* what is stored is read with defaults */
    if (is_kind(c, "batch", "Job") && !labelled && jv_get(meta, "labels"))
        c->leaves_trace = true; /* labels that are not stored */
    c->name = jv_text_at(meta, "name");
    if (*given && !by_put && !c->dry_run) /* seen where the object is stored */
        return fail(c, 500, NULL, "resourceVersion should not be set on objects to be created");
    struct version *there = store_find(c->type->store, c->ns, c->name);
    if (!*c->name || there)
        return fail_object(c, 409, "AlreadyExists", "%s%s \"%s\" already exists",
                           there && is_leaving(c, there) ? "object is being deleted: " : "",
                           type_qualified(c->a, c->type), c->name);
    if (c->dry_run) {
        answer_object(c, code, object);
        return 0;
    }
    jv_del(meta, "resourceVersion");
    struct version *stored = store_put(&c->sim->store, c->type->store, c->a, object);
    stored->unsettled = c->leaves_trace;
    answer_version(c, code, stored);
    crd_changed(c, object);
    return 0;
}

int handle_create(struct ctx *c)
{
    struct jv *object;
    struct strings duplicates = {0};

    if (read_body(c, &object, &duplicates) < 0 || check_kind(c, object) < 0 ||
        decode_object(c, c->type->schema, c->type->kind, object, &duplicates, false) < 0)
        return -1;
    object = stored_of(c->a, c->type, object);
    if (check_place(c, object) < 0)
        return -1;
    return create_object(c, object, 201);
}

/* ---- update ---- */

static void keep_from_old(struct ctx *c, const struct jv *old, struct jv *object)
{
    static const char *const names[] = {
        "uid",        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
        "generation", "selfLink"};
    struct jv *to = jv_ensure(c->a, object, "metadata");
    const struct jv *from = jv_get(old, "metadata");

    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        struct jv *v = jv_get(from, names[i]);
        if (v)
            jv_set(c->a, to, names[i], v);
        else
            jv_del(to, names[i]);
    }
    if (!jv_get(to, "managedFields") && jv_get(from, "managedFields"))
        jv_set(c->a, to, "managedFields", jv_get(from, "managedFields"));
    jv_set(c->a, to, "resourceVersion", jv_get(from, "resourceVersion"));
}

static void take_member(struct ctx *c, struct jv *to, const struct jv *from, const char *name)
{
    struct jv *v = jv_get(from, name);

    if (v)
        jv_set(c->a, to, name, v);
    else
        jv_del(to, name);
}

/* What a write of the status may change of metadata: of a custom resource nothing. */
static void keep_status_meta(struct ctx *c, struct jv *to, const struct jv *from)
{
    static const char *const maps[] = {"labels", "annotations", "finalizers", "ownerReferences"};

    take_member(c, to, from, "managedFields");
    for (size_t i = 0; !c->type->crd && i < VPA_COUNT(maps); i++)
        if (!apply_resets(c, "metadata", maps[i]))
            take_member(c, to, from, maps[i]);
}

/* What each endpoint may change. */
static int prepare_update(struct ctx *c, const struct jv *old, struct jv **object,
                          struct field_errors *errors)
{
    struct jv *fresh = *object;

    if (!strcmp(c->sub, "status")) {
        struct jv *kept = jv_clone(c->a, old);
        take_member(c, kept, fresh, "status");
        keep_status_meta(c, jv_get(kept, "metadata"), jv_get(fresh, "metadata"));
        *object = kept;
        return 0;
    }
    if (!strcmp(c->sub, "resize")) {
        struct jv *kept = jv_clone(c->a, old);
        jv_set(c->a, kept, "spec", jv_get(fresh, "spec") ? jv_get(fresh, "spec") : jv_obj(c->a));
        *object = kept;
        return resize_prepare(c, old, kept, errors);
    }
    if (c->type->flags & T_STATUS &&
        !(is_kind(c, "", "Namespace") && !strcmp(c->sub, "finalize"))) {
        struct jv *status = jv_get(old, "status");
        if (status)
            jv_set(c->a, fresh, "status", jv_clone(c->a, status));
        else
            jv_del(fresh, "status");
    }
    return 0;
}

static bool differs(struct ctx *c, const struct jv *old, const struct jv *now, const char *member)
{
    const struct jv *x = jv_at(old, member), *y = jv_at(now, member);
    if ((!x || !jv_len(x)) && (!y || !jv_len(y)) && (!x || x->type >= JV_ARR) &&
        (!y || y->type >= JV_ARR))
        return false; /* absent and empty are one */
    return !schema_equal(c->a, schema_field(c->type->schema, member), x, y);
}

static bool specification_changed(struct ctx *c, const struct jv *old, const struct jv *now)
{
    if (c->type->crd) {
        jv_each (m, now)
            if (strcmp(m->name, "metadata") != 0 && strcmp(m->name, "kind") != 0 &&
                strcmp(m->name, "apiVersion") != 0 &&
                !((c->type->flags & T_STATUS) && !strcmp(m->name, "status")) &&
                !jv_equal(m->value, jv_get(old, m->name)))
                return true;
        jv_each (m, old)
            if (strcmp(m->name, "metadata") != 0 &&
                !((c->type->flags & T_STATUS) && !strcmp(m->name, "status")) &&
                !jv_get(now, m->name))
                return true;
        return false;
    }
    if (is_kind(c, "apps", "Deployment") && differs(c, old, now, "metadata.annotations"))
        return true;
    return differs(c, old, now, "spec") || differs(c, old, now, "webhooks");
}

/* Equal but for managedFields and the version. */
static bool same_content(struct ctx *c, const struct jv *old, const struct jv *now)
{
    struct jv *x = jv_clone(c->a, old), *y = jv_clone(c->a, now);
    struct jv *const both[] = {x, y};

    for (int i = 0; i < 2; i++) {
        jv_del(both[i], "kind");
        jv_del(both[i], "apiVersion");
        jv_del(jv_get(both[i], "metadata"), "managedFields");
        jv_del(jv_get(both[i], "metadata"), "resourceVersion");
        static const char *const maps[] = {"labels", "annotations", "finalizers",
                                           "ownerReferences"};
        for (size_t k = 0; k < VPA_COUNT(maps); k++) {
            struct jv *meta = jv_get(both[i], "metadata"), *v = jv_get(meta, maps[k]);
            if (v && !jv_len(v))
                jv_del(meta, maps[k]);
        }
    }
    return jv_equal(x, y);
}

static bool same_owners(struct ctx *c, const struct jv *old, const struct jv *now)
{
    struct jv *x = jv_at(old, "metadata.managedFields"), *y = jv_at(now, "metadata.managedFields");

    if (!x || !y)
        return x == y;
    x = jv_clone(c->a, x);
    y = jv_clone(c->a, y);
    jv_each (m, x)
        jv_del(m->value, "time");
    jv_each (m, y)
        jv_del(m->value, "time");
    return jv_equal(x, y);
}

/* Counts a change of the specification, and warns of what it brings. */
static void count_change(struct ctx *c, const struct jv *old, struct jv *object)
{
    if (!(c->type->flags & T_GENERATION) || !strcmp(c->sub, "status") ||
        !specification_changed(c, old, object))
        return;
    jv_set_int(c->a, jv_get(object, "metadata"), "generation",
               jv_int_at(old, "metadata.generation", 0) + 1);
    bool same_daemons = is_kind(c, "apps", "DaemonSet") &&
                        jv_equal(jv_at(old, "spec.template"), jv_at(object, "spec.template"));
    if (!is_kind(c, "", "Pod") && !same_daemons)
        warn_changed_pods(c, old, object);
}

static int commit_update(struct ctx *c, struct version *v, const struct jv *old, struct jv *object)
{
    if (store_find(c->type->store, c->ns, c->name) != v)
        return WRITE_AGAIN;
    if (!c->ignored_change && !c->leaves_trace && same_content(c, old, object) &&
        same_owners(c, old, object)) {
        if (!v->unsettled) {
            answer_version(c, 200, v);
            return 0;
        }
        if (!c->looked_again && !c->dry_run) {
            c->looked_again = true;
            return WRITE_AGAIN;
        }
    }
    if (c->dry_run) {
        answer_object(c, 200, object);
        return 0;
    }
    const struct jv *meta = jv_get(object, "metadata");
    bool leaving = jv_get(meta, "deletionTimestamp") && !jv_len(jv_get(meta, "finalizers")) &&
                   jv_int_at(meta, "deletionGracePeriodSeconds", 0) == 0;
    bool namespace = is_kind(c, "", "Namespace");
    if (leaving &&
        (jv_len(jv_at(old, "metadata.finalizers")) || (namespace && !strcmp(c->sub, "finalize"))) &&
        !(namespace && jv_len(jv_at(object, "spec.finalizers")))) {
        struct jv *answer = jv_clone(c->a, object); /* with the version that it had */
        if (c->limits_emptied)
            jv_set(c->a, jv_get(answer, "spec"), "limits", jv_arr(c->a));
        /* Watchers see the stored object go, with the finalizers that the request took out. */
        store_delete(&c->sim->store, c->type->store, c->a, v, NULL);
        answer_object(c, 200, answer);
        if (is_kind(c, "apiextensions.k8s.io", "CustomResourceDefinition"))
            crd_deleted(c, c->name);
        return 0;
    }
    struct version *stored = store_put(&c->sim->store, c->type->store, c->a, object);
    stored->unsettled = c->leaves_trace;
    answer_version(c, 200, stored);
    crd_changed(c, object);
    return 0;
}

static int check_uid(struct ctx *c, const struct version *v, const struct jv *object)
{
    const char *uid = jv_text_at(object, "metadata.uid");

    if (!*uid || !strcmp(uid, v->uid))
        return 0;
    return fail_object(c, 409, "Conflict",
                       "Operation cannot be fulfilled on %s \"%s\": StorageError: invalid "
                       "object, Code: 4, Key: "
                       "/registry/%s/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: "
                       "Precondition failed: UID in "
                       "precondition: %s, UID in object meta: %s",
                       type_qualified(c->a, c->type), c->name, c->type->plural, c->ns, c->name, uid,
                       v->uid);
}

static int check_version(struct ctx *c, const struct version *v, const struct jv *object)
{
    const char *rv = jv_text_at(object, "metadata.resourceVersion");

    if (!*rv && (c->type->flags & T_NEEDS_VERSION)) {
        struct field_errors e = {0};
        field_error(c, &e, "FieldValueInvalid", "metadata.resourceVersion",
                    "Invalid value: 0: must be specified for an update");
        return fail_invalid(c, c->type->group, c->type->plural, c->name, &e);
    }
    return *rv && strtoull(rv, NULL, 10) != v->rv ? fail_conflict(c) : 0;
}

/* Of a resize the managers own all that they asked for, also what is put back without a word. */
static const struct jv *resize_owners(struct ctx *c, const struct jv *old, const struct jv *object)
{
    if (strcmp(c->sub, "resize") != 0 || is_apply(c))
        return NULL;
    struct jv *asked = jv_clone(c->a, object);
    defaults_apply(c, c->type, asked);
    defaults_status(c, c->type, asked);
    track_fields(c, old, asked, c->sub);
    return jv_at(asked, "metadata.managedFields");
}

static void fill_in(struct ctx *c, struct jv *object)
{
    if (strcmp(c->sub, "status") != 0)
        defaults_apply(c, c->type, object);
    else
        defaults_status(c, c->type, object);
    if (is_kind(c, "apps", "DaemonSet")) /* decoding counts from 0 what has no counter */
        jv_default(c->a, jv_ensure(c->a, object, "metadata.annotations"), TEMPLATE_GENERATION,
                   "\"0\"");
}

/* The object as it will be stored, out of the old one and what came. */
static int prepare_object(struct ctx *c, const struct jv *old, struct jv **object,
                          struct field_errors *errors)
{
    keep_from_old(c, old, *object);
    /* 1.34 writes custom resources anew even when all that a request changes is ignored, but not
     * where webhooks may change objects. */
    c->ignored_change = c->type->crd && c->sim->opt.minor < 35 && !admit_has_webhooks(c) &&
                        !same_content(c, old, *object);
    const struct jv *asked = resize_owners(c, old, *object);
    if (prepare_update(c, old, object, errors) < 0)
        return -1;
    fill_in(c, *object);
    drop_own_policies(c, *object);
    if (asked)
        jv_set(c->a, jv_get(*object, "metadata"), "managedFields", jv_clone(c->a, asked));
    else if (!is_apply(c))
        track_fields(c, old, *object, c->sub);
    if (is_kind(c, "apps", "DaemonSet"))
        count_template(c, old, *object);
    return 0;
}

/* Webhooks may change an object as it came, before anything of the old one is put back into it.
 * Nobody owns what they change: *owners are those of what came, NULL: nothing was changed. */
static int mutate_update(struct ctx *c, const struct jv *old, struct jv **object,
                         struct jv **owners)
{
    struct field_errors errors = {0};
    struct jv *came;

    *owners = NULL;
    if (!admit_has_webhooks(c))
        return admit_builtin(c, "UPDATE", old, *object);
    if (!jv_get(*object, "status"))
        init_status(c, *object);
    fill_in(c, *object);
    came = jv_clone(c->a, *object);
    if (admit_mutating(c, "UPDATE", old, object, "UpdateOptions") < 0)
        return -1;
    if (jv_equal(came, *object) || is_apply(c))
        return 0;
    if (prepare_object(c, old, &came, &errors) < 0)
        return -1;
    *owners = jv_at(came, "metadata.managedFields");
    return 0;
}

static int review_update(struct ctx *c, const struct jv *old, struct jv *object,
                         struct field_errors *errors)
{
    if (is_kind(c, "apiextensions.k8s.io", "CustomResourceDefinition") && !*c->sub)
        crd_prepare(c, object, errors);
    validate_update(c, c->type, old, object, c->sub, errors);
    if (errors->count)
        return fail_type_invalid(c, c->name, errors);
    count_change(c, old, object);
    warn_finalizers(c, old, object);
    if (!strcmp(c->sub, "resize") && resize_admit(c, old, object) < 0)
        return -1;
    return admit_validating(c, "UPDATE", old, object, "UpdateOptions");
}

/* From the decoded new object to the answer; WRITE_AGAIN when the object changed meanwhile. */
int update_object(struct ctx *c, struct version *v, struct jv *object)
{
    struct jv *old = version_parse(c->a, v), *owners;
    struct field_errors errors = {0};

    if (check_uid(c, v, object) < 0)
        return -1;
    version_ref(v);
    int rc = mutate_update(c, old, &object, &owners);
    if (rc == 0)
        rc = check_version(c, v, object);
    if (rc == 0)
        rc = prepare_object(c, old, &object, &errors);
    if (rc == 0 && owners)
        jv_set(c->a, jv_get(object, "metadata"), "managedFields", owners);
    if (rc == 0)
        rc = review_update(c, old, object, &errors);
    if (rc == 0)
        rc = commit_update(c, v, old, object);
    version_unref(v);
    return rc;
}

int handle_update(struct ctx *c)
{
    struct jv *body;
    struct strings duplicates = {0};

    if (read_body(c, &body, &duplicates) < 0 || check_kind(c, body) < 0 ||
        decode_object(c, c->type->schema, c->type->kind, body, &duplicates, false) < 0)
        return -1;
    body = stored_of(c->a, c->type, body);
    if (check_place(c, body) < 0)
        return -1;
    for (int i = 0; i < WRITE_TRIES; i++) {
        struct version *v = store_find(c->type->store, c->ns, c->name);
        struct jv *object = jv_clone(c->a, body);
        if (!v && !(c->type->flags & T_CREATE_BY_PUT))
            return fail_not_found(c, c->type, c->name);
        if (!v)
            return create_object(c, object, 201);
        uint64_t rv = v->rv;
        int rc = update_object(c, v, object);
        if (rc != WRITE_AGAIN)
            return rc;
        v = store_find(c->type->store, c->ns, c->name);
        if (*jv_text_at(body, "metadata.resourceVersion") && (!v || v->rv != rv))
            return fail_conflict(c);
    }
    return fail_conflict(c);
}
