/*
 * Bringing a body into stored form: unknown members are noted and dropped, nulls dropped,
 * quantities and times made canonical as Go's types do when they are read and written again.
 */
#include "schema.h"

#include <stdio.h>
#include <string.h>

#include "vpa/base/quantity.h"
#include "vpa/base/time.h"

const struct schema *schema_field(const struct schema *s, const char *name)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->field_count; i++)
        if (!strcmp(s->fields[i].name, name))
            return s->fields[i].schema;
    return s->values;
}

bool schema_field_is_named(const struct schema *s, const char *segment)
{
    for (size_t i = 0; s && !strncmp(segment, "f:", 2) && i < s->field_count; i++)
        if (!strcmp(s->fields[i].name, segment + 2))
            return true;
    return false;
}

struct walk {
    struct vpa_arena *a;
    struct decode_notes *notes;
    bool crd;
    struct vpa_buf path;
    const char *owner; /* Go name of the enclosing struct, for error texts */
};

static const char *json_kind(const struct jv *v)
{
    static const char *const names[] = {"null", "bool", "number", "string", "array", "object"};
    return names[v->type];
}

/* A value that Go's type does not take. */
static void unreadable(struct walk *w, const struct jv *v, const char *go)
{
    if (w->notes->type_error)
        return;
    w->notes->type_error = vpa_arena_printf(
        w->a, "json: cannot unmarshal %s%s%s into Go struct field %s.%s of type %s", json_kind(v),
        v->type == JV_NUM && !strcmp(go, "int32") ? " " : "",
        v->type == JV_NUM && !strcmp(go, "int32") ? v->text : "", w->owner ? w->owner : "Object",
        vpa_buf_text(&w->path), go);
}

/* One that the schema does not take either. */
static void wrong_type(struct walk *w, const struct jv *v, const char *go)
{
    unreadable(w, v, go);
    if (!w->notes->mistyped)
        w->notes->mistyped = w->notes->type_error;
}

/* The schema takes any scalar for what Go reads from a text of its own. */
static void wrong_scalar(struct walk *w, const struct jv *v, const char *go)
{
    if (v->type >= JV_ARR)
        wrong_type(w, v, go);
    else
        unreadable(w, v, go);
}

static void decode_quantity(struct walk *w, const struct schema *owner, struct jv *v)
{
    struct vpa_quantity q;
    struct vpa_error err;

    if (v->type != JV_STR && v->type != JV_NUM) {
        wrong_scalar(w, v, "resource.Quantity");
        return;
    }
    if (vpa_quantity_parse(w->a, v->text, &q, &err) < 0) {
        if (!w->notes->type_error)
            w->notes->type_error = "quantities must match the regular expression "
                                   "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        return;
    }
    if (owner && owner->resource_list)
        vpa_quantity_round_up(w->a, &q, -3);
    vpa_auto_buf text = VPA_BUF(VPA_QUANTITY_INPUT_MAX);
    vpa_quantity_canonical(&q, &text);
    v->type = JV_STR;
    v->text = vpa_arena_strdup(w->a, vpa_buf_text(&text));
}

static void decode_time(struct walk *w, struct jv *v, bool micro)
{
    vpa_time t;
    struct vpa_error err;
    char text[VPA_TIME_TEXT_MAX];

    if (v->type != JV_STR) {
        wrong_scalar(w, v, "string");
        return;
    }
    if ((micro ? vpa_time_parse_micro(v->text, &t, &err) : vpa_time_parse(v->text, &t, &err)) < 0) {
        if (!w->notes->type_error)
            w->notes->type_error = vpa_arena_strdup(w->a, err.text);
        return;
    }
    if (micro)
        vpa_time_format_micro(t, text);
    else
        vpa_time_format(t, text);
    v->text = vpa_arena_strdup(w->a, text);
}

static void decode_int(struct walk *w, struct jv *v, const char *go)
{
    int64_t n;

    if (v->type != JV_NUM)
        wrong_type(w, v, go);
    else if (!jv_is_int(v, &n) || v->text[strspn(v->text, "-0123456789")] ||
             (!strcmp(go, "int32") && (n > INT32_MAX || n < INT32_MIN)))
        unreadable(w, v, go); /* any number for the schema */
}

static void decode(struct walk *w, const struct schema *s, const struct schema *owner,
                   struct jv *v);

static bool known_everywhere(const char *name)
{
    return !strcmp(name, "apiVersion") || !strcmp(name, "kind") || !strcmp(name, "metadata");
}

/* Go leaves empty maps and lists of built-in types out; these are the members where it does not. */
static bool keeps_empty(const struct schema *s, const char *name)
{
    static const char *const kept[][2] = {{"LimitRangeSpec", "limits"}, {"PodSpec", "containers"},
                                          {"PodSpec", "overhead"},      {"Role", "rules"},
                                          {"ClusterRole", "rules"},     {"PolicyRule", "verbs"}};

    for (size_t i = 0; s->name && i < VPA_COUNT(kept); i++)
        if (!strcmp(s->name, kept[i][0]) && !strcmp(name, kept[i][1]))
            return true;
    return false;
}

static bool left_out(const struct walk *w, const struct schema *s, const struct jv_member *m,
                     const struct schema *field)
{
    bool collection = field && ((m->value->type == JV_OBJ && field->values) ||
                                (m->value->type == JV_ARR && field->type == S_ARRAY));

    if (w->crd || !s->field_count)
        return false;
    if (field && field->type == S_INT64 && !strcmp(m->name, "observedGeneration"))
        return m->value->type == JV_NUM && !strcmp(m->value->text, "0");
    return collection && !m->value->count && !keeps_empty(s, m->name);
}

static void decode_object(struct walk *w, const struct schema *s, struct jv *v)
{
    const char *owner = w->owner;
    bool top = w->path.len == 0;

    w->owner = s->name ? s->name : owner;
    for (size_t i = 0; i < v->count;) {
        struct jv_member *m = &v->items[i];
        const struct schema *field = schema_field(s, m->name);
        size_t len = w->path.len;

        /* A CRD says of metadata at most "type: object"; it is ObjectMeta all the same. */
        if ((!field || !strcmp(m->name, "metadata")) && (top || s->embedded) &&
            known_everywhere(m->name))
            field =
                !strcmp(m->name, "metadata") ? schema_builtin("ObjectMeta") : schema_builtin("");
        vpa_buf_printf(&w->path, "%s%s", len ? "." : "", m->name);
        bool known = field || ((top || s->embedded) && known_everywhere(m->name));
        if (!known && !s->preserve) {
            strings_addf(w->a, &w->notes->unknown, "unknown field \"%s\"", vpa_buf_text(&w->path));
            jv_remove_at(v, i);
        } else if (m->value->type == JV_NULL &&
                   !(field && (field->nullable || field->type == S_ANY))) {
            jv_remove_at(v, i);
        } else {
            if (field)
                decode(w, field, s, m->value);
            if (left_out(w, s, m, field))
                jv_remove_at(v, i);
            else
                i++;
        }
        vpa_buf_truncate(&w->path, len);
    }
    w->owner = owner;
}

static void decode(struct walk *w, const struct schema *s, const struct schema *owner, struct jv *v)
{
    switch (s->type) {
    case S_ANY:
        return;
    case S_OBJECT:
        if (v->type == JV_OBJ)
            decode_object(w, s, v);
        else if (!w->crd)
            wrong_type(w, v, s->values ? "map[string]string" : s->name ? s->name : "object");
        return;
    case S_ARRAY:
        if (v->type != JV_ARR) {
            if (!w->crd)
                wrong_type(w, v, "[]string");
            return;
        }
        for (size_t i = 0; i < v->count; i++) {
            size_t len = w->path.len;
            vpa_buf_printf(&w->path, "[%zu]", i);
            decode(w, s->items, s, v->items[i].value);
            vpa_buf_truncate(&w->path, len);
        }
        return;
    default:
        break;
    }
    if (w->crd) {
        if (v->type == JV_OBJ && !s->preserve)
            decode_object(w, &(struct schema){.type = S_OBJECT}, v); /* nothing is known inside */
        return;
    }
    switch (s->type) {
    case S_STRING:
        if (v->type != JV_STR)
            wrong_type(w, v, "string");
        break;
    case S_INT32:
        decode_int(w, v, "int32");
        break;
    case S_INT64:
        decode_int(w, v, "int64");
        break;
    case S_BOOL:
        if (v->type != JV_BOOL)
            wrong_type(w, v, "bool");
        break;
    case S_INT_OR_STRING:
        if (v->type == JV_NUM)
            decode_int(w, v, "int32");
        else if (v->type != JV_STR)
            unreadable(w, v, "intstr.IntOrString"); /* anything for the schema */
        break;
    case S_QUANTITY:
        decode_quantity(w, owner, v);
        break;
    case S_TIME:
        decode_time(w, v, false);
        break;
    case S_MICRO_TIME:
        decode_time(w, v, true);
        break;
    default:
        break;
    }
}

void schema_decode(struct vpa_arena *a, const struct schema *s, struct jv *v, bool crd,
                   struct decode_notes *notes)
{
    struct walk w = {.a = a, .notes = notes, .crd = crd};

    vpa_buf_init(&w.path, 64 * 1024);
    if (v->type == JV_OBJ)
        decode_object(&w, s, v);
    if (crd) { /* metadata is typed for custom resources too */
        struct jv *meta = jv_get(v, "metadata");
        struct walk m = {.a = a, .notes = notes, .owner = "ObjectMeta"};
        vpa_buf_init(&m.path, 64 * 1024);
        vpa_buf_puts(&m.path, "metadata");
        struct strings unknown = notes->unknown; /* noted already */
        if (meta && meta->type == JV_OBJ)
            decode_object(&m, schema_builtin("ObjectMeta"), meta);
        else if (!jv_missing(meta))
            wrong_type(&m, meta, "metav1.ObjectMeta");
        notes->unknown = unknown;
        vpa_buf_release(&m.path);
        schema_apply_defaults(a, s, v);
    }
    vpa_buf_release(&w.path);
}

void schema_drop_empty(const struct schema *s, struct jv *v)
{
    for (size_t i = 0; i < jv_len(v);) {
        const struct jv_member *m = &v->items[i];
        const struct schema *sub = v->type == JV_ARR ? s->items : schema_field(s, m->name);
        if (s->field_count && sub && sub->omitted && m->value->type == JV_STR && !*m->value->text) {
            jv_remove_at(v, i);
            continue;
        }
        if (sub)
            schema_drop_empty(sub, m->value);
        i++;
    }
}

void schema_apply_defaults(struct vpa_arena *a, const struct schema *s, struct jv *v)
{
    if (v->type == JV_OBJ) {
        for (size_t i = 0; i < s->field_count; i++) {
            const struct schema_field *f = &s->fields[i];
            if (f->schema->preset && !jv_get(v, f->name))
                jv_set(a, v, f->name, jv_clone(a, f->schema->preset));
        }
        jv_each (m, v) {
            const struct schema *field = schema_field(s, m->name);
            if (field)
                schema_apply_defaults(a, field, m->value);
        }
    } else if (v->type == JV_ARR && s->items) {
        jv_each (m, v)
            schema_apply_defaults(a, s->items, m->value);
    }
}

static bool equal_quantities(struct vpa_arena *a, const struct jv *x, const struct jv *y)
{
    struct vpa_quantity p, q;

    return jv_text(x) && jv_text(y) && vpa_quantity_parse(a, x->text, &p, NULL) == 0 &&
           vpa_quantity_parse(a, y->text, &q, NULL) == 0 && vpa_quantity_cmp(&p, &q) == 0;
}

static bool is_empty(const struct schema *s, const struct jv *v)
{
    bool collection = s && (s->type == S_ARRAY || (s->type == S_OBJECT && s->values));

    return !v || (collection && (v->type == JV_NULL || (v->type >= JV_ARR && !v->count)));
}

static bool equal_members(struct vpa_arena *a, const struct schema *s, const struct jv *x,
                          const struct jv *y)
{
    jv_each (m, x)
        if (!schema_equal(a, schema_field(s, m->name), m->value, jv_get(y, m->name)))
            return false;
    jv_each (m, y)
        if (!jv_get(x, m->name) && !is_empty(schema_field(s, m->name), m->value))
            return false;
    return true;
}

bool schema_equal(struct vpa_arena *a, const struct schema *s, const struct jv *x,
                  const struct jv *y)
{
    if (is_empty(s, x) && is_empty(s, y))
        return true;
    if (!s || !x || !y || x->type != y->type)
        return jv_equal(x, y);
    if (s->type == S_QUANTITY)
        return equal_quantities(a, x, y) || jv_equal(x, y);
    if (x->type == JV_OBJ)
        return equal_members(a, s, x, y);
    if (x->type != JV_ARR || s->type != S_ARRAY)
        return jv_equal(x, y);
    if (x->count != y->count)
        return false;
    for (size_t i = 0; i < x->count; i++)
        if (!schema_equal(a, s->items, x->items[i].value, y->items[i].value))
            return false;
    return true;
}

static void write_scalar(struct vpa_buf *buf, const char *type, const char *format)
{
    vpa_buf_printf(buf, "{\"type\":\"%s\"", type);
    if (format)
        vpa_buf_printf(buf, ",\"format\":\"%s\"", format);
    vpa_buf_putc(buf, '}');
}

void schema_write_openapi(struct vpa_buf *buf, const struct schema *s, bool top)
{
    if (s->name && !top) {
        vpa_buf_printf(buf, "{\"$ref\":\"#/components/schemas/io.k8s.kubesim.%s\"}", s->name);
        return;
    }
    switch (s->type) {
    case S_ANY:
        vpa_buf_puts(buf, "{\"x-kubernetes-preserve-unknown-fields\":true}");
        return;
    case S_STRING:
        write_scalar(buf, "string", NULL);
        return;
    case S_INT32:
        write_scalar(buf, "integer", "int32");
        return;
    case S_INT64:
        write_scalar(buf, "integer", "int64");
        return;
    case S_NUMBER:
        write_scalar(buf, "number", NULL);
        return;
    case S_BOOL:
        write_scalar(buf, "boolean", NULL);
        return;
    case S_INT_OR_STRING:
        write_scalar(buf, "string", "int-or-string");
        return;
    case S_QUANTITY:
        vpa_buf_puts(buf, "{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}");
        return;
    case S_TIME:
    case S_MICRO_TIME:
        write_scalar(buf, "string", "date-time");
        return;
    case S_ARRAY:
        vpa_buf_puts(buf, "{\"type\":\"array\",\"items\":");
        schema_write_openapi(buf, s->items, false);
        if (s->keys[0])
            vpa_buf_printf(buf,
                           ",\"x-kubernetes-patch-merge-key\":\"%s\",\"x-kubernetes-patch-"
                           "strategy\":\"merge\"",
                           s->keys[0]);
        vpa_buf_putc(buf, '}');
        return;
    case S_OBJECT:
        break;
    }
    vpa_buf_puts(buf, "{\"type\":\"object\"");
    if (s->field_count)
        vpa_buf_puts(buf, ",\"properties\":{");
    for (size_t i = 0; i < s->field_count; i++) {
        vpa_buf_printf(buf, "%s\"%s\":", i ? "," : "", s->fields[i].name);
        schema_write_openapi(buf, s->fields[i].schema, false);
    }
    if (s->field_count)
        vpa_buf_putc(buf, '}');
    if (s->values) {
        vpa_buf_puts(buf, ",\"additionalProperties\":");
        schema_write_openapi(buf, s->values, false);
    }
    vpa_buf_putc(buf, '}');
}
