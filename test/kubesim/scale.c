/* The scale subresource of workloads and custom resources: a view of replicas and selector. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

static const char *spec_path(const struct restype *t)
{
    return t->crd ? t->crd->spec_replicas : "spec.replicas";
}

static struct jv *scale_of(struct ctx *c, const struct jv *object)
{
    struct vpa_arena *a = c->a;
    struct jv *s = jv_obj(a), *meta = jv_obj(a), *spec = jv_obj(a), *status = jv_obj(a);
    static const char *const kept[] = {"name", "namespace", "uid", "resourceVersion",
                                       "creationTimestamp"};
    const struct restype *t = c->type;
    int64_t replicas = jv_int_at(object, spec_path(t), 0);

    jv_set_str(a, s, "kind", "Scale");
    jv_set_str(a, s, "apiVersion", "autoscaling/v1");
    for (size_t i = 0; i < VPA_COUNT(kept); i++)
        if (jv_get(jv_get(object, "metadata"), kept[i]))
            jv_set(a, meta, kept[i], jv_get(jv_get(object, "metadata"), kept[i]));
    jv_set(a, s, "metadata", meta);
    if (replicas)
        jv_set_int(a, spec, "replicas", replicas);
    jv_set(a, s, "spec", spec);
    jv_set_int(a, status, "replicas",
               jv_int_at(object, t->crd ? t->crd->status_replicas : "status.replicas", 0));
    const char *selector = "";
    if (t->crd)
        selector = t->crd->selector ? jv_text_at(object, t->crd->selector) : "";
    else if (!strcmp(t->kind, "ReplicationController"))
        jv_each (m, jv_at(object, "spec.selector"))
            selector = vpa_arena_printf(a, "%s%s%s=%s", selector, *selector ? "," : "", m->name,
                                        jv_text(m->value) ? m->value->text : "");
    else
        selector = label_selector_text(a, jv_at(object, "spec.selector"));
    if (*selector)
        jv_set_str(a, status, "selector", selector);
    jv_set(a, s, "status", status);
    return s;
}

static int read_new_scale(struct ctx *c, struct jv *current, struct jv **out)
{
    struct vpa_error err;
    struct jv *body;
    const char *type = c->req->content_type ? c->req->content_type : "";
    struct decode_notes notes = {0};

    if (jv_parse(c->a, c->req->body, c->req->body_len, &body, NULL, &err) < 0)
        return fail(c, 400, "BadRequest",
                    "the object provided is unrecognized (must be of type Scale): %s", err.text);
    if (!strcmp(c->verb, "update")) {
        const char *kind = jv_text_at(body, "kind");
        if (*kind && strcmp(kind, "Scale") != 0)
            return fail(c, 400, "BadRequest",
                        "%s in version \"v1\" cannot be handled as a Scale: converting (v1.%s) to "
                        "(autoscaling.Scale): "
                        "unknown conversion",
                        kind, kind);
        *out = body;
    } else if (strstr(type, "json-patch")) {
        *out = current;
        if (json_patch(c->a, out, body, &err) < 0)
            return fail_details(c, 422, "Invalid", jv_obj(c->a),
                                "the server rejected our request due to an error in our request");
    } else if (strstr(type, "merge-patch") || strstr(type, "strategic")) {
        *out = merge_patch(c->a, current, body);
    } else {
        return fail_details(c, 415, "UnsupportedMediaType", jv_obj(c->a),
                            "415: Unsupported Media Type");
    }
    schema_decode(c->a, schema_builtin("Scale"), *out, false, &notes);
    if (notes.type_error)
        return fail(c, 400, "BadRequest",
                    "Scale in version \"v1\" cannot be handled as a Scale: %s", notes.type_error);
    jv_default(c->a, jv_ensure(c->a, *out, "status"), "replicas", "0");
    if (!jv_int_at(*out, "spec.replicas", 0)) /* Go leaves it out */
        jv_del(jv_ensure(c->a, *out, "spec"), "replicas");
    const char *name = jv_text_at(*out, "metadata.name");
    if (strcmp(name, c->name) != 0)
        return fail(c, 400, "BadRequest",
                    "the name of the object (%s) does not match the name on the URL (%s)", name,
                    c->name);
    return 0;
}

static void set_path(struct vpa_arena *a, struct jv *object, const char *path, int64_t n)
{
    const char *dot = strrchr(path, '.');
    struct jv *parent =
        dot ? jv_ensure(a, object, vpa_arena_strndup(a, path, (size_t)(dot - path))) : object;
    jv_set_int(a, parent, dot ? dot + 1 : path, n);
}

/* "spec.replicas" as the segments of a set of fields. */
static struct jv *path_segments(struct vpa_arena *a, const char *path)
{
    struct jv *out = jv_arr(a);

    for (;;) {
        size_t len = strcspn(path, ".");
        if (len)
            jv_push(a, out, jv_str(a, vpa_arena_printf(a, "f:%.*s", (int)len, path)));
        if (!path[len])
            return out;
        path += len + 1;
    }
}

/* What the scale asks for, checked; the object with it in *out. */
static int rescale(struct ctx *c, const struct version *v, const struct jv *old,
                   const struct jv *scale, struct jv **out)
{
    struct field_errors errors = {0};
    const char *rv = jv_text_at(scale, "metadata.resourceVersion");
    int64_t replicas = jv_int_at(scale, "spec.replicas", 0);

    if (replicas < 0) {
        field_error(c, &errors, "FieldValueInvalid", "spec.replicas",
                    "Invalid value: %lld: must be greater than or equal to 0", (long long)replicas);
        return fail_invalid(c, "autoscaling", "Scale", c->name, &errors);
    }
    if (*rv && strtoull(rv, NULL, 10) != v->rv)
        return fail_conflict(c);
    *out = jv_clone(c->a, old);
    set_path(c->a, *out, spec_path(c->type), replicas);
    if (c->type->crd) {
        c->sub = "";
        validate_custom(c, c->type, old, *out, &errors);
        c->sub = "scale";
    }
    if (errors.count)
        return fail_type_invalid(c, c->name, &errors);
    if (!jv_equal(old, *out))
        warn_changed_pods(c, old, *out);
    return 0;
}

static void commit_scale(struct ctx *c, const struct jv *old, struct jv *object)
{
    bool changed = !jv_equal(object, old), zero = !jv_int_at(object, spec_path(c->type), 0);

    if (changed && (c->type->flags & T_GENERATION))
        jv_set_int(c->a, jv_get(object, "metadata"), "generation",
                   jv_int_at(old, "metadata.generation", 0) + 1);
    changed =
        track_scale(c, object, path_segments(c->a, spec_path(c->type)), changed, zero) || changed;
    if (changed && !c->dry_run)
        store_put(&c->sim->store, c->type->store, c->a, object);
    answer_json(c, 200, scale_of(c, object));
}

static int change_scale(struct ctx *c, struct version *v)
{
    struct jv *old = version_parse(c->a, v), *before = scale_of(c, old), *scale, *object = old;

    if (read_new_scale(c, scale_of(c, old), &scale) < 0 ||
        admit_mutating(c, "UPDATE", before, &scale, "UpdateOptions") < 0 ||
        rescale(c, v, old, scale, &object) < 0 ||
        admit_validating(c, "UPDATE", before, scale_of(c, object), "UpdateOptions") < 0)
        return -1;
    if (store_find(c->type->store, c->ns, c->name) != v)
        return WRITE_AGAIN;
    commit_scale(c, old, object);
    return 0;
}

int handle_scale(struct ctx *c)
{
    for (int i = 0; i < WRITE_TRIES; i++) {
        struct version *v = store_find(c->type->store, c->ns, c->name);
        if (!v)
            return fail_not_found(c, c->type, c->name);
        if (!strcmp(c->verb, "get")) {
            answer_json(c, 200, scale_of(c, version_parse(c->a, v)));
            return 0;
        }
        version_ref(v);
        int rc = change_scale(c, v);
        version_unref(v);
        if (rc != WRITE_AGAIN)
            return rc;
    }
    return fail_conflict(c);
}
