/*
 * Create, update and patch: the order of steps is the server's. Read and decode, prepare (what the client
 * may not set comes from the old object), defaults, built-in admission, mutating webhooks, validation,
 * validating webhooks, commit.
 *
 * The lock is dropped while a webhook is asked. A write that finds the object changed afterwards starts
 * again (patches and unconditional replaces) or is a conflict (replaces that name a version).
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"

#define RETRIES 5
#define AGAIN 1 /* somebody was faster */

/* ---- bodies ---- */

static bool media_is(const struct ctx *c, const char *type)
{
    const char *t = c->req->content_type ? c->req->content_type : "application/json";
    size_t len = strlen(type);
    return !strncmp(t, type, len) && (!t[len] || t[len] == ';' || t[len] == ' ');
}

int read_body(struct ctx *c, struct jv **out, struct strings *duplicates)
{
    struct vpa_error err;
    struct jv **documents;
    size_t count;

    if (media_is(c, "application/vnd.kubernetes.protobuf") && protobuf_read(c->a, c->req->body, c->req->body_len, out))
        return 0;
    if (media_is(c, "application/yaml") || media_is(c, "application/x-yaml")) {
        if (jv_parse_yaml(c->a, c->req->body, c->req->body_len, &documents, &count, &err) < 0 || !count)
            return fail(c, 400, "BadRequest", "error converting YAML to JSON: %s", count ? err.text : "no document");
        *out = documents[0];
        return 0;
    }
    if (!media_is(c, "application/json") && !media_is(c, ""))
        return fail(c, 415, "UnsupportedMediaType",
                    "the body of the request was in an unknown format - accepted media types include: "
                    "application/json, application/yaml, application/vnd.kubernetes.protobuf");
    if (jv_parse(c->a, c->req->body, c->req->body_len, out, duplicates, &err) < 0)
        return fail(c, 400, "BadRequest",
                    "the object provided is unrecognized (must be of type %s): couldn't get version/kind; "
                    "json parse error: %s (%.64s)",
                    c->type->kind, err.text, c->req->body);
    return 0;
}

void quote_warning(struct ctx *c, const char *text)
{
    vpa_auto_buf quoted = {0};

    vpa_buf_init(&quoted, 16 * 1024);
    vpa_buf_puts(&quoted, "299 - ");
    vpa_quote_go(&quoted, text);
    strings_add(c->a, &c->res->warnings, vpa_arena_strdup(c->a, vpa_buf_text(&quoted)));
}

static int cannot_handle(struct ctx *c, const char *kind, const char *version, const char *why, bool patched)
{
    if (patched) {
        struct field_errors e = {0};
        vpa_auto_buf value = {0};
        vpa_buf_init(&value, 1 << 20);
        vpa_quote_go(&value, c->req->body);
        field_error(c, &e, "FieldValueInvalid", "patch", "Invalid value: %.4000s: %s", vpa_buf_text(&value), why);
        return fail_invalid(c, "", "", "", &e);
    }
    return fail(c, 400, "BadRequest", "%s in version \"%s\" cannot be handled as a %s: %s", kind, version, kind, why);
}

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

int decode_object(struct ctx *c, const struct schema *schema, const char *kind, struct jv *object,
                  const struct strings *duplicates, bool patched)
{
    struct decode_notes notes = {0};
    struct strings wrong = {0};
    bool custom = c->type->crd && schema == c->type->schema;

    schema_decode(c->a, schema, object, custom, &notes);
    if (notes.type_error)
        return cannot_handle(c, kind, c->type->version, notes.type_error, patched);
    if (duplicates)
        for (size_t i = 0; i < duplicates->count; i++)
            strings_addf(c->a, &wrong, "duplicate field \"%s\"", duplicates->items[i]);
    if (custom && notes.unknown.count)
        qsort(notes.unknown.items, notes.unknown.count, sizeof(*notes.unknown.items), by_text);
    for (size_t i = 0; i < notes.unknown.count; i++)
        strings_add(c->a, &wrong, notes.unknown.items[i]);
    if (!strcmp(c->field_validation, "Strict") && wrong.count) {
        const char *text = "strict decoding error: ";
        for (size_t i = 0; i < wrong.count; i++)
            text = vpa_arena_printf(c->a, "%s%s%s", text, i ? ", " : "", wrong.items[i]);
        return cannot_handle(c, kind, c->type->version, text, patched);
    }
    if (!strcmp(c->field_validation, "Warn"))
        for (size_t i = 0; i < wrong.count; i++)
            quote_warning(c, wrong.items[i]);
    return 0;
}

/* kind and apiVersion of the body fit the path (both may be left out for built-in kinds). */
static int check_kind(struct ctx *c, const struct jv *object)
{
    const char *kind = jv_text_at(object, "kind"), *api = jv_text_at(object, "apiVersion");
    const char *wanted = type_api_version(c->a, c->type);

    if (!jv_is(object, JV_OBJ))
        return fail(c, 400, "BadRequest",
                    "%s in version \"%s\" cannot be handled as a %s: json: cannot unmarshal value into Go value "
                    "of type %s", c->type->kind, c->type->version, c->type->kind, c->type->kind);
    if (c->type->crd && !*kind)
        return fail(c, 400, "BadRequest",
                    "the object provided is unrecognized (must be of type %s): Object 'Kind' is missing in '%.200s'",
                    c->type->kind, c->req->body);
    if (c->type->crd && strcmp(api, wanted) != 0)
        return fail(c, 400, "BadRequest",
                    "the API version in the data (%s) does not match the expected API version (%s)", api, wanted);
    if (c->type->crd && strcmp(kind, c->type->kind) != 0) {
        struct field_errors e = {0};
        field_error(c, &e, "FieldValueInvalid", "kind", "Invalid value: \"%s\": must be %s", kind, c->type->kind);
        return fail_invalid(c, c->type->group, kind, jv_text_at(object, "metadata.name"), &e);
    }
    if (*api && strcmp(api, wanted) != 0)
        return fail(c, 400, "BadRequest",
                    "%s in version \"%s\" cannot be handled as a %s: no kind \"%s\" is registered for version "
                    "\"%s\" in scheme \"pkg/runtime/scheme.go:110\"",
                    c->type->kind, c->type->version, c->type->kind, *kind ? kind : c->type->kind, api);
    if (*kind && strcmp(kind, c->type->kind) != 0)
        return fail(c, 400, "BadRequest",
                    "%s in version \"%s\" cannot be handled as a %s: converting (%s.%s) to (core.%s): unknown "
                    "conversion", kind, c->type->version, c->type->kind, c->type->version, kind, c->type->kind);
    return 0;
}

static int check_place(struct ctx *c, struct jv *object)
{
    struct jv *meta = jv_ensure(c->a, object, "metadata");
    const char *name = jv_text_at(meta, "name"), *ns = jv_text_at(meta, "namespace");

    if (*c->name && strcmp(name, c->name) != 0)
        return *name ? fail(c, 400, "BadRequest",
                            "the name of the object (%s) does not match the name on the URL (%s)", name, c->name)
                     : fail(c, 400, "BadRequest", "name must be provided");
    if (*ns && strcmp(ns, c->ns) != 0)
        return fail(c, 400, "BadRequest",
                    "the namespace of the provided object does not match the namespace sent on the request");
    if (c->type->flags & T_NAMESPACED)
        jv_set_str(c->a, meta, "namespace", c->ns);
    else
        jv_del(meta, "namespace");
    return 0;
}

/* ---- create ---- */

static int check_namespace(struct ctx *c)
{
    if (!(c->type->flags & T_NAMESPACED))
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
        jv_set_str(c->a, cause, "message", vpa_arena_printf(c->a, "namespace %s is being terminated", c->ns));
        jv_set_str(c->a, cause, "field", "metadata.namespace");
        jv_push(c->a, causes, cause);
        jv_set(c->a, d, "causes", causes);
        return fail_details(c, 403, "Forbidden", d,
                            vpa_arena_printf(c->a, "%s \"%s\" is forbidden: unable to create new content in namespace %s because it is being terminated",
                                             type_qualified(c->a, c->type), c->name, c->ns));
    }
    return 0;
}

static void clear_system_fields(struct jv *meta)
{
    static const char *const names[] = {"uid", "creationTimestamp", "deletionTimestamp",
                                        "deletionGracePeriodSeconds", "generation", "selfLink",
                                        "resourceVersion", "managedFields"};
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
               jv_lit(c->a, "{\"disruptionsAllowed\":0,\"currentHealthy\":0,\"desiredHealthy\":0,\"expectedPods\":0}"));
    } else if (!strcmp(t->kind, "APIService")) {
        jv_set(c->a, object, "status",
               jv_lit(c->a, "{\"conditions\":[{\"type\":\"Available\",\"status\":\"True\",\"reason\":\"Passed\",\"message\":\"all checks passed\"}]}"));
    } else if (!strcmp(t->kind, "ReplicaSet") || !strcmp(t->kind, "StatefulSet")) {
        jv_set(c->a, object, "status", jv_lit(c->a, "{\"replicas\":0}"));
    } else if (!jv_get(object, "status")) {
        jv_set(c->a, object, "status", jv_obj(c->a));
    }
}

static void finish_new_meta(struct ctx *c, struct jv *object)
{
    struct jv *meta = jv_ensure(c->a, object, "metadata");

    if (!*jv_text_at(meta, "name") && *jv_text_at(meta, "generateName"))
        jv_set_str(c->a, meta, "name", generate_name(c->a, jv_text_at(meta, "generateName")));
    jv_set_str(c->a, meta, "uid", new_uid(c->a));
    jv_set_str(c->a, meta, "creationTimestamp", sim_now_text(c->sim, c->a));
    if (c->type->flags & T_GENERATION)
        jv_set_int(c->a, meta, "generation", 1);
}

/* A Job selects its pods by its own uid. */
static void finish_job(struct ctx *c, struct jv *object)
{
    struct jv *spec = jv_ensure(c->a, object, "spec");
    struct jv *labels = jv_ensure(c->a, jv_ensure(c->a, spec, "template"), "metadata.labels");
    const char *uid = jv_text_at(object, "metadata.uid"), *name = jv_text_at(object, "metadata.name");

    if (jv_bool_at(spec, "manualSelector", false))
        return;
    jv_set_str(c->a, labels, "batch.kubernetes.io/controller-uid", uid);
    jv_set_str(c->a, labels, "batch.kubernetes.io/job-name", name);
    jv_set_str(c->a, labels, "controller-uid", uid);
    jv_set_str(c->a, labels, "job-name", name);
    struct jv *match = jv_ensure(c->a, jv_ensure(c->a, spec, "selector"), "matchLabels");
    jv_set_str(c->a, match, "batch.kubernetes.io/controller-uid", uid);
}

static bool is_kind(const struct ctx *c, const char *group, const char *kind)
{
    return !strcmp(c->type->kind, kind) && !strcmp(c->type->group, group);
}

/* The steps from a decoded object to a stored one; also creation by PUT and by apply. */
static int create_object(struct ctx *c, struct jv *object, int code)
{
    struct jv *meta = jv_ensure(c->a, object, "metadata");
    struct field_errors errors = {0};

    if (*jv_text_at(meta, "resourceVersion"))
        return fail(c, 500, NULL, "resourceVersion should not be set on objects to be created");
    if (!*c->name)
        c->name = jv_text_at(meta, "name");
    struct jv *managed = jv_get(meta, "managedFields");
    clear_system_fields(meta);
    if (managed && strstr(c->req->content_type ? c->req->content_type : "", "apply-patch"))
        jv_set(c->a, meta, "managedFields", managed);
    if (check_namespace(c) < 0)
        return -1;
    init_status(c, object);
    defaults_apply(c, c->type, object);
    if (admit_builtin(c, "CREATE", NULL, object) < 0 ||
        admit_webhooks(c, true, "CREATE", NULL, &object, "CreateOptions") < 0)
        return -1;
    if (is_kind(c, "", "Pod")) {
        struct jv *status = jv_ensure(c->a, object, "status");
        jv_set_str(c->a, status, "phase", "Pending");
        jv_set_str(c->a, status, "qosClass", pod_qos(jv_get(object, "spec")));
    }
    if (is_kind(c, "apiextensions.k8s.io", "CustomResourceDefinition"))
        crd_prepare(c, object, &errors);
    if (is_kind(c, "", "Pod") && admit_limits(c, object) < 0)
        return -1;
    validate_create(c, c->type, object, &errors);
    if (errors.count)
        return fail_type_invalid(c, jv_text_at(object, "metadata.name"), &errors);
    if (admit_webhooks(c, false, "CREATE", NULL, &object, "CreateOptions") < 0)
        return -1;
    finish_new_meta(c, object);
    if (is_kind(c, "batch", "Job"))
        finish_job(c, object);
    meta = jv_get(object, "metadata");
    c->name = jv_text_at(meta, "name");
    if (!*c->name || store_find(c->type->store, c->ns, c->name))
        return fail_object(c, 409, "AlreadyExists", "%s \"%s\" already exists", type_qualified(c->a, c->type), c->name);
    track_fields(c, NULL, object, "");
    if (c->dry_run) {
        answer_object(c, code, object);
        return 0;
    }
    const struct version *v = store_put(&c->sim->store, c->type->store, c->a, object);
    answer_version(c, code, v);
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
    static const char *const names[] = {"uid", "creationTimestamp", "deletionTimestamp",
                                        "deletionGracePeriodSeconds", "generation", "selfLink"};
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

/* What each endpoint may change. */
static int prepare_update(struct ctx *c, const struct jv *old, struct jv **object, struct field_errors *errors)
{
    struct jv *fresh = *object;

    if (!strcmp(c->sub, "status")) {
        struct jv *kept = jv_clone(c->a, old);
        struct jv *status = jv_get(fresh, "status");
        if (status)
            jv_set(c->a, kept, "status", status);
        else
            jv_del(kept, "status");
        if (is_kind(c, "apps", "Deployment") || is_kind(c, "", "Pod") || is_kind(c, "", "Node")) {
            struct jv *annotations = jv_at(fresh, "metadata.annotations");
            if (annotations)
                jv_set(c->a, jv_get(kept, "metadata"), "annotations", annotations);
        }
        *object = kept;
        return 0;
    }
    if (!strcmp(c->sub, "resize")) {
        struct jv *kept = jv_clone(c->a, old);
        jv_set(c->a, kept, "spec", jv_get(fresh, "spec") ? jv_get(fresh, "spec") : jv_obj(c->a));
        *object = kept;
        return resize_prepare(c, old, kept, errors);
    }
    if (c->type->flags & T_STATUS && !(is_kind(c, "", "Namespace") && !strcmp(c->sub, "finalize"))) {
        struct jv *status = jv_get(old, "status");
        if (status)
            jv_set(c->a, fresh, "status", jv_clone(c->a, status));
        else
            jv_del(fresh, "status");
    }
    return 0;
}

static bool differs(const struct jv *old, const struct jv *now, const char *member)
{
    const struct jv *x = jv_at(old, member), *y = jv_at(now, member);
    if ((!x || !jv_len(x)) && (!y || !jv_len(y)) && (!x || x->type >= JV_ARR) && (!y || y->type >= JV_ARR))
        return false; /* absent and empty are one */
    return !jv_equal(x, y);
}

static bool specification_changed(struct ctx *c, const struct jv *old, const struct jv *now)
{
    if (c->type->crd) {
        jv_each(m, now) if (strcmp(m->name, "metadata") != 0 && strcmp(m->name, "kind") != 0 &&
                            strcmp(m->name, "apiVersion") != 0 &&
                            !((c->type->flags & T_STATUS) && !strcmp(m->name, "status")) &&
                            !jv_equal(m->value, jv_get(old, m->name))) return true;
        jv_each(m, old) if (strcmp(m->name, "metadata") != 0 &&
                            !((c->type->flags & T_STATUS) && !strcmp(m->name, "status")) && !jv_get(now, m->name))
            return true;
        return false;
    }
    if (is_kind(c, "apps", "Deployment") && differs(old, now, "metadata.annotations"))
        return true;
    return differs(old, now, "spec") || differs(old, now, "webhooks");
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
        static const char *const maps[] = {"labels", "annotations", "finalizers", "ownerReferences"};
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
    jv_each(m, x) jv_del(m->value, "time");
    jv_each(m, y) jv_del(m->value, "time");
    return jv_equal(x, y);
}

static int commit_update(struct ctx *c, struct version *v, const struct jv *old, struct jv *object)
{
    bool apply = strstr(c->req->content_type ? c->req->content_type : "", "apply-patch");

    if (store_find(c->type->store, c->ns, c->name) != v)
        return AGAIN;
    if ((c->type->flags & T_GENERATION) && strcmp(c->sub, "status") != 0 && specification_changed(c, old, object))
        jv_set_int(c->a, jv_get(object, "metadata"), "generation", jv_int_at(old, "metadata.generation", 0) + 1);
    if (!apply)
        track_fields(c, old, object, c->sub);
    if (!c->ignored_change && same_content(c, old, object) && (!apply || same_owners(c, old, object))) {
        answer_version(c, 200, v);
        return 0;
    }
    if (c->dry_run) {
        answer_object(c, 200, object);
        return 0;
    }
    const struct jv *meta = jv_get(object, "metadata");
    bool leaving = jv_get(meta, "deletionTimestamp") && !jv_len(jv_get(meta, "finalizers")) &&
                   jv_int_at(meta, "deletionGracePeriodSeconds", 0) == 0;
    bool namespace = is_kind(c, "", "Namespace");
    if (leaving && (jv_len(jv_at(old, "metadata.finalizers")) || (namespace && !strcmp(c->sub, "finalize"))) &&
        !(namespace && jv_len(jv_at(object, "spec.finalizers")))) {
        store_delete(&c->sim->store, c->type->store, c->a, v, object);
        answer_object(c, 200, object);
        if (is_kind(c, "apiextensions.k8s.io", "CustomResourceDefinition"))
            crd_deleted(c, c->name);
        return 0;
    }
    const struct version *stored = store_put(&c->sim->store, c->type->store, c->a, object);
    answer_version(c, 200, stored);
    crd_changed(c, object);
    return 0;
}

static int check_preconditions(struct ctx *c, const struct version *v, const struct jv *object, bool patched)
{
    const char *rv = jv_text_at(object, "metadata.resourceVersion"), *uid = jv_text_at(object, "metadata.uid");

    if (!*rv && (c->type->flags & T_NEEDS_VERSION) && !patched) {
        struct field_errors e = {0};
        field_error(c, &e, "FieldValueInvalid", "metadata.resourceVersion",
                    "Invalid value: 0: must be specified for an update");
        return fail_invalid(c, c->type->group, c->type->plural, c->name, &e);
    }
    if (*uid && strcmp(uid, v->uid) != 0)
        return fail_object(c, 409, "Conflict",
                           "Operation cannot be fulfilled on %s \"%s\": StorageError: invalid object, Code: 4, Key: "
                           "/registry/%s/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                           "precondition: %s, UID in object meta: %s",
                           type_qualified(c->a, c->type), c->name, c->type->plural, c->ns, c->name, uid, v->uid);
    if (*rv && strtoull(rv, NULL, 10) != v->rv)
        return fail_conflict(c);
    return 0;
}

/* From the decoded new object to the answer; AGAIN when the object changed meanwhile. */
static int update_object(struct ctx *c, struct version *v, struct jv *object, bool patched)
{
    struct jv *old = version_parse(c->a, v);
    struct field_errors errors = {0};

    if (check_preconditions(c, v, object, patched) < 0)
        return -1;
    version_ref(v);
    keep_from_old(c, old, object);
    /* 1.34 writes custom resources anew even when all that a request changes is ignored. */
    c->ignored_change = c->type->crd && c->sim->opt.minor < 35 && !same_content(c, old, object);
    int rc = prepare_update(c, old, &object, &errors);
    if (rc == 0) {
        if (strcmp(c->sub, "status") != 0)
            defaults_apply(c, c->type, object);
        rc = admit_builtin(c, "UPDATE", old, object);
    }
    if (rc == 0)
        rc = admit_webhooks(c, true, "UPDATE", old, &object, patched ? "PatchOptions" : "UpdateOptions");
    if (rc == 0) {
        if (is_kind(c, "apiextensions.k8s.io", "CustomResourceDefinition") && !*c->sub)
            crd_prepare(c, object, &errors);
        validate_update(c, c->type, old, object, c->sub, &errors);
        if (errors.count)
            rc = fail_type_invalid(c, c->name, &errors);
    }
    if (rc == 0 && !strcmp(c->sub, "resize"))
        rc = resize_admit(c, old, object);
    if (rc == 0)
        rc = admit_webhooks(c, false, "UPDATE", old, &object, patched ? "PatchOptions" : "UpdateOptions");
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
    for (int i = 0; i < RETRIES; i++) {
        struct version *v = store_find(c->type->store, c->ns, c->name);
        struct jv *object = jv_clone(c->a, body);
        if (!v && !(c->type->flags & T_CREATE_BY_PUT))
            return fail_not_found(c, c->type, c->name);
        if (!v) {
            jv_del(jv_get(object, "metadata"), "resourceVersion");
            return create_object(c, object, 201);
        }
        int rc = update_object(c, v, object, false);
        if (rc != AGAIN)
            return rc;
        if (*jv_text_at(body, "metadata.resourceVersion"))
            return fail_conflict(c);
    }
    return fail_conflict(c);
}

/* ---- patch ---- */

enum patch_kind { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC, PATCH_APPLY };

static int patch_type(struct ctx *c, enum patch_kind *kind)
{
    static const struct {
        const char *type;
        enum patch_kind kind;
    } kinds[] = {{"application/json-patch+json", PATCH_JSON},
                 {"application/merge-patch+json", PATCH_MERGE},
                 {"application/strategic-merge-patch+json", PATCH_STRATEGIC},
                 {"application/apply-patch+yaml", PATCH_APPLY}};

    for (size_t i = 0; i < VPA_COUNT(kinds); i++) {
        if (!media_is(c, kinds[i].type))
            continue;
        if (kinds[i].kind == PATCH_STRATEGIC && c->type->crd)
            return fail(c, 415, "UnsupportedMediaType",
                        "the body of the request was in an unknown format - accepted media types include: "
                        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml");
        *kind = kinds[i].kind;
        return 0;
    }
    return fail_details(c, 415, "UnsupportedMediaType", jv_obj(c->a), "415: Unsupported Media Type");
}

static int read_patch(struct ctx *c, enum patch_kind kind, struct jv **out, struct strings *duplicates)
{
    struct vpa_error err;
    struct jv **documents;
    size_t count = 0;

    if (kind == PATCH_APPLY) {
        if (jv_parse_yaml(c->a, c->req->body, c->req->body_len, &documents, &count, &err) < 0 || count != 1)
            return fail(c, 400, "BadRequest", "error decoding YAML: %s", count ? "more than one document" : err.text);
        *out = documents[0];
        return 0;
    }
    if (jv_parse(c->a, c->req->body, c->req->body_len, out, duplicates, &err) < 0)
        return fail(c, 400, "BadRequest", "error decoding patch: %s", err.text);
    if (kind == PATCH_JSON && (*out)->type != JV_ARR)
        return fail(c, 400, "BadRequest",
                    "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp");
    if (kind != PATCH_JSON && (*out)->type != JV_OBJ)
        return fail(c, 400, "BadRequest",
                    "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}");
    return 0;
}

static int apply_to(struct ctx *c, enum patch_kind kind, struct jv *base, const struct jv *patch, struct jv **out)
{
    struct vpa_error err;

    switch (kind) {
    case PATCH_JSON:
        *out = base;
        if (json_patch(c->a, out, patch, &err) < 0)
            return fail_details(c, 422, "Invalid", jv_obj(c->a), "the server rejected our request due to an error in our request");
        return 0;
    case PATCH_MERGE:
        *out = merge_patch(c->a, base, patch);
        return 0;
    case PATCH_STRATEGIC:
        *out = base;
        if (strategic_patch(c->a, c->type->schema, base, patch, &err) < 0)
            return fail(c, 500, NULL, "%s", err.text);
        return 0;
    case PATCH_APPLY:
        break;
    }
    return -1;
}

static int check_apply_body(struct ctx *c, struct jv *config)
{
    const char *kind = jv_text_at(config, "kind"), *api = jv_text_at(config, "apiVersion");

    if (!*kind || !*api)
        return fail(c, 400, "BadRequest", "invalid object type: %s, Kind=%s", *api ? api : "/", kind);
    if (check_kind(c, config) < 0)
        return -1;
    struct jv *meta = jv_ensure(c->a, config, "metadata");
    if (!jv_missing(jv_get(meta, "managedFields")))
        return fail(c, 400, "BadRequest", "metadata.managedFields must be nil");
    if (!*jv_text_at(meta, "name"))
        jv_set_str(c->a, meta, "name", c->name);
    return check_place(c, config);
}

static int apply_once(struct ctx *c, struct version *v, struct jv *config)
{
    struct jv *live = v ? view_of(c->a, c->type, version_parse(c->a, v)) : NULL, *merged;
    struct decode_notes notes = {0};

    if (!v && *jv_text_at(config, "metadata.uid"))
        return fail_object(c, 409, "Conflict",
                           "Operation cannot be fulfilled on %s \"%s\": uid mismatch: the provided object specified "
                           "uid %s, and no existing object was found",
                           type_qualified(c->a, c->type), c->name, jv_text_at(config, "metadata.uid"));
    struct jv *typed = jv_clone(c->a, config);
    schema_decode(c->a, c->type->schema, typed, c->type->crd != NULL, &notes);
    if (notes.unknown.count) {
        const char *field = notes.unknown.items[0] + strlen("unknown field \"");
        return fail(c, 500, NULL, "failed to create typed patch object (%s/%s; %s, Kind=%s): .%.*s: field not declared in schema",
                    c->ns && false ? c->ns : "", c->name, *c->type->group ? type_api_version(c->a, c->type) : "/v1", c->type->kind,
                    (int)strlen(field) - 1, field);
    }
    if (notes.type_error)
        return fail(c, 500, NULL, "failed to create typed patch object (/%s; %s, Kind=%s): %s", c->name,
                    *c->type->group ? type_api_version(c->a, c->type) : "/v1", c->type->kind, notes.type_error);
    if (v && *jv_text_at(config, "metadata.resourceVersion") &&
        strtoull(jv_text_at(config, "metadata.resourceVersion"), NULL, 10) != v->rv)
        return fail_conflict(c);
    jv_del(jv_get(typed, "metadata"), "resourceVersion");
    jv_del(jv_get(typed, "metadata"), "uid");
    if (apply_patch(c, live, typed, query_flag(c, "force"), &merged) < 0)
        return -1;
    if (!v)
        return create_object(c, stored_of(c->a, c->type, merged), 201);
    return update_object(c, v, stored_of(c->a, c->type, merged), true);
}

int handle_patch(struct ctx *c)
{
    enum patch_kind kind;
    struct jv *patch;
    struct strings duplicates = {0};

    if (patch_type(c, &kind) < 0 || read_patch(c, kind, &patch, &duplicates) < 0)
        return -1;
    if (kind == PATCH_APPLY && check_apply_body(c, patch) < 0)
        return -1;
    for (int i = 0; i < RETRIES; i++) {
        struct version *v = store_find(c->type->store, c->ns, c->name);
        struct jv *object;
        int rc;
        if (!v && (kind != PATCH_APPLY || *c->sub))
            return fail_not_found(c, c->type, c->name);
        if (kind == PATCH_APPLY) {
            rc = apply_once(c, v, patch);
        } else {
            struct jv *base = view_of(c->a, c->type, version_parse(c->a, v));
            jv_set_str(c->a, base, "kind", c->type->kind);
            jv_set_str(c->a, base, "apiVersion", type_api_version(c->a, c->type));
            c->res->warnings.count = 0;
            if (apply_to(c, kind, base, patch, &object) < 0)
                return -1;
            if (!jv_is(object, JV_OBJ))
                return fail(c, 400, "BadRequest", "the patch does not give an object");
            if (decode_object(c, c->type->schema, c->type->kind, object, &duplicates, true) < 0)
                return -1;
            object = stored_of(c->a, c->type, object);
            if (check_place(c, object) < 0)
                return -1;
            rc = update_object(c, v, object, true);
        }
        if (rc != AGAIN)
            return rc;
    }
    return fail_conflict(c);
}
