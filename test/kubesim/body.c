/* Reading the body of a write: media types, kind and place, decoding along the schema, warnings. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"

bool media_is(const struct ctx *c, const char *type)
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

    if (media_is(c, "application/vnd.kubernetes.protobuf") &&
        protobuf_read(c->a, c->req->body, c->req->body_len, out))
        return 0;
    if (media_is(c, "application/yaml") || media_is(c, "application/x-yaml")) {
        if (jv_parse_yaml(c->a, c->req->body, c->req->body_len, &documents, &count, &err) < 0 ||
            !count)
            return fail(c, 400, "BadRequest", "error converting YAML to JSON: %s",
                        count ? err.text : "no document");
        *out = documents[0];
        return 0;
    }
    if (!media_is(c, "application/json") && !media_is(c, ""))
        return fail(
            c, 415, "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf");
    if (jv_parse(c->a, c->req->body, c->req->body_len, out, duplicates, &err) < 0)
        return fail(
            c, 400, "BadRequest",
            "the object provided is unrecognized (must be of type %s): couldn't get version/kind; "
            "json parse error: %s (%.64s)",
            c->type->kind, err.text, c->req->body);
    return 0;
}

void quote_warning(struct ctx *c, const char *text)
{
    vpa_auto_buf quoted = VPA_BUF(16 * 1024);

    vpa_buf_puts(&quoted, "299 - ");
    vpa_quote_go(&quoted, text);
    if (!strings_has(&c->res->warnings, vpa_buf_text(&quoted))) /* each once */
        strings_add(c->a, &c->res->warnings, vpa_arena_strdup(c->a, vpa_buf_text(&quoted)));
}

static int cannot_handle(struct ctx *c, const char *kind, const char *version, const char *why,
                         bool patched)
{
    if (patched) {
        struct field_errors e = {0};
        vpa_auto_buf value = VPA_BUF(1 << 20);
        vpa_quote_go(&value, c->req->body);
        field_error(c, &e, "FieldValueInvalid", "patch", "Invalid value: %.4000s: %s",
                    vpa_buf_text(&value), why);
        return fail_invalid(c, "", "", "", &e);
    }
    return fail(c, 400, "BadRequest", "%s in version \"%s\" cannot be handled as a %s: %s", kind,
                version, kind, why);
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
int check_kind(struct ctx *c, const struct jv *object)
{
    const char *kind = jv_text_at(object, "kind"), *api = jv_text_at(object, "apiVersion");
    const char *wanted = type_api_version(c->a, c->type);

    if (!jv_is(object, JV_OBJ))
        return fail(c, 400, "BadRequest",
                    "%s in version \"%s\" cannot be handled as a %s: json: cannot unmarshal value "
                    "into Go value "
                    "of type %s",
                    c->type->kind, c->type->version, c->type->kind, c->type->kind);
    if (c->type->crd && !*kind)
        return fail(c, 400, "BadRequest",
                    "the object provided is unrecognized (must be of type %s): Object 'Kind' is "
                    "missing in '%.200s'",
                    c->type->kind, c->req->body);
    if (c->type->crd && strcmp(api, wanted) != 0)
        return fail(c, 400, "BadRequest",
                    "the API version in the data (%s) does not match the expected API version (%s)",
                    api, wanted);
    if (c->type->crd && strcmp(kind, c->type->kind) != 0) {
        struct field_errors e = {0};
        field_error(c, &e, "FieldValueInvalid", "kind", "Invalid value: \"%s\": must be %s", kind,
                    c->type->kind);
        return fail_invalid(c, c->type->group, kind, jv_text_at(object, "metadata.name"), &e);
    }
    if (*api && strcmp(api, wanted) != 0)
        return fail(c, 400, "BadRequest",
                    "%s in version \"%s\" cannot be handled as a %s: no kind \"%s\" is registered "
                    "for version "
                    "\"%s\" in scheme \"pkg/runtime/scheme.go:110\"",
                    c->type->kind, c->type->version, c->type->kind, *kind ? kind : c->type->kind,
                    api);
    if (*kind && strcmp(kind, c->type->kind) != 0)
        return fail(c, 400, "BadRequest",
                    "%s in version \"%s\" cannot be handled as a %s: converting (%s.%s) to "
                    "(core.%s): unknown "
                    "conversion",
                    kind, c->type->version, c->type->kind, c->type->version, kind, c->type->kind);
    return 0;
}

int check_place(struct ctx *c, struct jv *object)
{
    struct jv *meta = jv_ensure(c->a, object, "metadata");
    const char *name = jv_text_at(meta, "name"), *ns = jv_text_at(meta, "namespace");

    if (*c->name && strcmp(name, c->name) != 0)
        return *name
                   ? fail(c, 400, "BadRequest",
                          "the name of the object (%s) does not match the name on the URL (%s)",
                          name, c->name)
                   : fail(c, 400, "BadRequest",
                          "the name of the object (%s based on URL) was undeterminable: name must "
                          "be provided",
                          c->name);
    if (*ns && strcmp(ns, c->ns) != 0)
        return fail(c, 400, "BadRequest",
                    "the namespace of the provided object does not match the namespace sent on the "
                    "request");
    if (c->type->flags & T_NAMESPACED)
        jv_set_str(c->a, meta, "namespace", c->ns);
    else
        jv_del(meta, "namespace");
    return 0;
}
