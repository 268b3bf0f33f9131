/* PATCH: the four kinds, applied to the stored object until nobody was faster. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

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
            return fail(
                c, 415, "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json-patch+json, application/merge-patch+json, "
                "application/apply-patch+yaml");
        *kind = kinds[i].kind;
        return 0;
    }
    return fail_details(c, 415, "UnsupportedMediaType", jv_obj(c->a),
                        "415: Unsupported Media Type");
}

static int read_patch(struct ctx *c, enum patch_kind kind, struct jv **out,
                      struct strings *duplicates)
{
    struct vpa_error err;
    struct jv **documents;
    size_t count = 0;

    if (kind == PATCH_APPLY) {
        if (jv_parse_yaml(c->a, c->req->body, c->req->body_len, &documents, &count, &err) < 0 ||
            count != 1)
            return fail(c, 400, "BadRequest", "error decoding YAML: %s",
                        count ? "more than one document" : err.text);
        *out = documents[0];
        return 0;
    }
    if (jv_parse(c->a, c->req->body, c->req->body_len, out, duplicates, &err) < 0)
        return fail(c, 400, "BadRequest", "error decoding patch: %s", err.text);
    if (kind == PATCH_JSON && (*out)->type != JV_ARR)
        return fail(c, 400, "BadRequest",
                    "error decoding patch: json: cannot unmarshal object into Go value of type "
                    "[]handlers.jsonPatchOp");
    if (kind != PATCH_JSON && (*out)->type != JV_OBJ)
        return fail(c, 400, "BadRequest",
                    "error decoding patch: json: cannot unmarshal array into Go value of type "
                    "map[string]interface {}");
    return 0;
}

static int apply_to(struct ctx *c, enum patch_kind kind, struct jv *base, const struct jv *patch,
                    struct jv **out)
{
    struct vpa_error err;

    switch (kind) {
    case PATCH_JSON:
        *out = base;
        if (json_patch(c->a, out, patch, &err) < 0)
            return fail_details(c, 422, "Invalid", jv_obj(c->a),
                                "the server rejected our request due to an error in our request");
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

int fail_typed(struct ctx *c, const char *what, const char *name, const char *why)
{
    return fail(c, 500, NULL, "failed to %s object (/%s; %s, Kind=%s)%s: %s", what, name,
                *c->type->group ? type_api_version(c->a, c->type) : "/v1", c->type->kind,
                strstr(what, "convert") ? " to proper version" : "", why);
}

/* Whether apply takes the value itself for a custom resource: of a text with a format it knows only
 * that it is no map or list, of what may be a number or a text nothing. */
static bool fits(const struct schema *s, const struct jv *v)
{
    switch (s->type) {
    case S_OBJECT:
        return v->type == JV_OBJ;
    case S_ARRAY:
        return v->type == JV_ARR;
    case S_STRING:
        return *jv_text_at(s->raw, "format") ? v->type < JV_ARR : v->type == JV_STR;
    case S_INT32:
    case S_INT64:
    case S_NUMBER:
        return v->type == JV_NUM;
    case S_BOOL:
        return v->type == JV_BOOL;
    default:
        return true;
    }
}

/* The first value of a custom resource that is not of the type that its schema says. */
static const char *wrong_type_in(const struct schema *s, const struct jv *v, const char *name)
{
    if (v->type == JV_NULL)
        return NULL;
    if (!fits(s, v))
        return name;
    jv_each (m, v) {
        const struct schema *sub = v->type == JV_ARR ? s->items : schema_field(s, m->name);
        const char *wrong = sub ? wrong_type_in(sub, m->value, m->name ? m->name : name) : NULL;
        if (wrong)
            return wrong;
    }
    return NULL;
}

static int check_apply_body(struct ctx *c, struct jv *config)
{
    const char *kind = jv_text_at(config, "kind"), *api = jv_text_at(config, "apiVersion");

    if (!*kind || !*api)
        return fail(c, 400, "BadRequest", "invalid object type: %s, Kind=%s", *api ? api : "/",
                    kind);
    if (check_kind(c, config) < 0)
        return -1;
    const struct jv *given = jv_get(config, "metadata"), *name = jv_get(given, "name");
    if ((given && !jv_is(given, JV_OBJ)) || (name && !jv_missing(name) && !jv_text(name)))
        return fail_typed(c, "create typed patch", "", ".metadata: of another type");
    if (!jv_missing(jv_get(given, "managedFields")))
        return fail(c, 400, "BadRequest", "metadata.managedFields must be nil");
    return 0;
}

/* An empty map or list that was applied to a custom resource and has nothing in it is stored as it
 * is, which no reader sees: the next write is one, even when it changes nothing. */
static bool stores_empty(const struct jv *config, const struct jv *merged)
{
    static const char *const members[] = {"labels", "annotations", "finalizers", "ownerReferences"};
    const struct jv *given = jv_get(config, "metadata"), *meta = jv_get(merged, "metadata");

    for (size_t i = 0; i < VPA_COUNT(members); i++) {
        const struct jv *v = jv_get(given, members[i]);
        if (v && v->type >= JV_ARR && !v->count && !jv_len(jv_get(meta, members[i])))
            return true;
    }
    return false;
}

static int apply_once(struct ctx *c, struct version *v, struct jv *config)
{
    struct jv *live = v ? view_of(c->a, c->type, version_parse(c->a, v)) : NULL, *merged;
    struct decode_notes notes = {0};

    if (!v && *jv_text_at(config, "metadata.uid"))
        return fail_object(c, 409, "Conflict",
                           "Operation cannot be fulfilled on %s \"%s\": uid mismatch: the provided "
                           "object specified "
                           "uid %s, and no existing object was found",
                           type_qualified(c->a, c->type), c->name,
                           jv_text_at(config, "metadata.uid"));
    struct jv *typed = jv_clone(c->a, config);
    schema_decode(c->a, c->type->schema, typed, c->type->crd != NULL, &notes);
    if (notes.unknown.count) {
        const char *field = notes.unknown.items[0] + strlen("unknown field \"");
        return fail_typed(c, "create typed patch", c->name,
                          vpa_arena_printf(c->a, ".%.*s: field not declared in schema",
                                           (int)strlen(field) - 1, field));
    }
    if (!notes.mistyped && c->type->crd)
        notes.mistyped = wrong_type_in(c->type->schema, typed, "");
    if (notes.mistyped)
        return fail_typed(c, "create typed patch", c->name, notes.mistyped);
    if (v && *jv_text_at(config, "metadata.resourceVersion") &&
        strtoull(jv_text_at(config, "metadata.resourceVersion"), NULL, 10) != v->rv)
        return fail_conflict(c);
    if (!v && check_place(c, typed) < 0)
        return -1;
    jv_del(jv_get(typed, "metadata"), "resourceVersion");
    jv_del(jv_get(typed, "metadata"), "uid");
    const struct apply_config applied = {typed, config, notes.type_error, query_flag(c, "force")};
    if (apply_patch(c, live, &applied, &merged) < 0)
        return -1;
    c->leaves_trace |= c->type->crd && !*c->sub && stores_empty(config, merged);
    if (!v)
        return create_object(c, stored_of(c->a, c->type, merged), 201);
    if (check_place(c, merged) < 0)
        return -1;
    return update_object(c, v, stored_of(c->a, c->type, merged));
}

int handle_patch(struct ctx *c)
{
    enum patch_kind kind = PATCH_JSON;
    struct jv *patch;
    struct strings duplicates = {0};

    if (patch_type(c, &kind) < 0 || read_patch(c, kind, &patch, &duplicates) < 0)
        return -1;
    if (kind == PATCH_APPLY && check_apply_body(c, patch) < 0)
        return -1;
    for (int i = 0; i < WRITE_TRIES; i++) {
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
            rc = update_object(c, v, object);
        }
        if (rc != WRITE_AGAIN)
            return rc;
    }
    return fail_conflict(c);
}
