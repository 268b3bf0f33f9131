/*
 * Structural schemas of custom resources: reading openAPIV3Schema and checking objects against it,
 * with the texts of the validator that the server uses. Ratcheting: what an update leaves as it was
 * is not checked again; lists without a key are compared as a whole.
 */
#include "sim.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cel.h"
#include "vpa/base/str.h"
#include "vpa/base/time.h"

/* ---- reading ---- */

static enum schema_type crd_type(const struct jv *node)
{
    static const struct {
        const char *name;
        enum schema_type type;
    } names[] = {{"object", S_OBJECT}, {"array", S_ARRAY},   {"string", S_STRING},
                 {"integer", S_INT64}, {"number", S_NUMBER}, {"boolean", S_BOOL}};
    const char *text = jv_text_at(node, "type");

    if (jv_bool_at(node, "x-kubernetes-int-or-string", false))
        return S_INT_OR_STRING;
    for (size_t i = 0; i < VPA_COUNT(names); i++)
        if (!strcmp(names[i].name, text))
            return names[i].type;
    return S_ANY;
}

const struct schema *schema_from_crd(struct vpa_arena *a, const struct jv *node)
{
    struct schema *s = vpa_arena_zalloc(a, sizeof(*s));
    const struct jv *properties = jv_get(node, "properties"), *items = jv_get(node, "items"),
                    *values = jv_get(node, "additionalProperties");
    const char *list = jv_text_at(node, "x-kubernetes-list-type");

    s->type = crd_type(node);
    s->raw = node;
    s->preserve =
        jv_bool_at(node, "x-kubernetes-preserve-unknown-fields", false) || s->type == S_ANY;
    s->nullable = jv_bool_at(node, "nullable", false);
    s->embedded = jv_bool_at(node, "x-kubernetes-embedded-resource", false);
    s->preset = jv_get(node, "default");
    s->atomic = !strcmp(jv_text_at(node, "x-kubernetes-map-type"), "atomic");
    s->fields = vpa_arena_zalloc(a, (jv_len(properties) + 1) * sizeof(*s->fields));
    jv_each (m, properties)
        s->fields[s->field_count++] =
            (struct schema_field){vpa_arena_strdup(a, m->name), schema_from_crd(a, m->value)};
    if (items)
        s->items = schema_from_crd(a, items);
    else if (s->type == S_ARRAY)
        s->items = schema_from_crd(a, jv_obj(a));
    if (jv_is(values, JV_OBJ))
        s->values = schema_from_crd(a, values);
    s->set = !strcmp(list, "set");
    if (!strcmp(list, "map")) {
        size_t n = 0;
        jv_each (m, jv_get(node, "x-kubernetes-list-map-keys"))
            if (n < SCHEMA_KEYS_MAX && jv_text(m->value))
                s->keys[n++] = m->value->text;
    }
    return s;
}

/* ---- checking ---- */

struct check {
    struct ctx *c;
    struct field_errors *errors;
    struct vpa_buf path; /* for the field of an error */
    size_t text_from;    /* where the path inside the message begins (status writes check the status
                            alone) */
    bool cel_anywhere;
    bool blocking;
    struct cel_site { /* rules to be asked when nothing is in their way */
        const struct schema *schema;
        const struct jv *value;
        const char *path;
        bool unchanged; /* a broken rule is a warning only */
        struct cel_site *next;
    } * sites, **sites_end;
};

#define INVALID "FieldValueInvalid"

static const char *path_text(const struct check *k)
{
    const char *text = vpa_buf_text(&k->path);
    return strlen(text) >= k->text_from ? text + k->text_from : "";
}

static void report(struct check *k, bool blocking, const char *reason, const char *field,
                   const char *message)
{
    k->blocking = k->blocking || blocking;
    field_error(k->c, k->errors, reason, field, "%s", message);
}

static const char *json_type(const struct jv *v)
{
    int64_t n;
    switch (v->type) {
    case JV_NULL:
        return "null";
    case JV_BOOL:
        return "boolean";
    case JV_NUM:
        return jv_is_int(v, &n) || (jv_double(v) == (double)(int64_t)jv_double(v)) ? "integer"
                                                                                   : "number";
    case JV_STR:
        return "string";
    case JV_ARR:
        return "array";
    case JV_OBJ:
        return "object";
    }
    return "";
}

static void wrong_type(struct check *k, const char *wanted, const char *got)
{
    report(k, true, "FieldValueTypeInvalid", vpa_buf_text(&k->path),
           vpa_arena_printf(k->c->a, "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"",
                            got, path_text(k), wanted, got));
}

static void unchecked(struct check *k, const char *what)
{
    field_error(k->c, k->errors, INVALID, "<nil>",
                "Invalid value: \"\": Checked value must be of type integer %s in %s", what,
                path_text(k));
}

static const char *quoted(struct vpa_arena *a, const struct jv *v)
{
    vpa_auto_buf b = VPA_BUF(1 << 20);

    if (v->type == JV_STR)
        vpa_quote_go(&b, v->text);
    else
        jv_write(&b, v);
    return vpa_arena_strdup(a, vpa_buf_text(&b));
}

static void check_enum(struct check *k, const struct schema *s, const struct jv *v)
{
    const struct jv *allowed = jv_get(s->raw, "enum");
    const char *list = "";

    if (!allowed)
        return;
    jv_each (m, allowed) {
        if (jv_equal(m->value, v))
            return;
        list =
            vpa_arena_printf(k->c->a, "%s%s%s", list, *list ? ", " : "", quoted(k->c->a, m->value));
    }
    report(k, true, "FieldValueNotSupported", vpa_buf_text(&k->path),
           vpa_arena_printf(k->c->a, "Unsupported value: %s: supported values: %s",
                            quoted(k->c->a, v), list));
}

static void check_number(struct check *k, const struct schema *s, const struct jv *v)
{
    const struct jv *low = jv_get(s->raw, "minimum"), *high = jv_get(s->raw, "maximum");

    if (low && jv_double(v) < jv_double(low))
        report(k, false, INVALID, vpa_buf_text(&k->path),
               vpa_arena_printf(
                   k->c->a, "Invalid value: %s: %s in body should be greater than or equal to %s",
                   v->text, path_text(k), low->text));
    if (high && jv_double(v) > jv_double(high))
        report(k, false, INVALID, vpa_buf_text(&k->path),
               vpa_arena_printf(k->c->a,
                                "Invalid value: %s: %s in body should be less than or equal to %s",
                                v->text, path_text(k), high->text));
}

static void check_string(struct check *k, const struct schema *s, const struct jv *v)
{
    const char *pattern = jv_text(jv_get(s->raw, "pattern"));
    const char *format = jv_text_at(s->raw, "format");
    vpa_time t;
    regex_t re;

    if (pattern && regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) == 0) {
        if (regexec(&re, v->text, 0, NULL, 0) != 0)
            report(k, false, INVALID, vpa_buf_text(&k->path),
                   vpa_arena_printf(k->c->a, "Invalid value: %s: %s in body should match '%s'",
                                    quoted(k->c->a, v), path_text(k), pattern));
        regfree(&re);
    }
    if (!strcmp(format, "date-time") && vpa_time_parse(v->text, &t, NULL) < 0)
        report(k, true, "FieldValueTypeInvalid", vpa_buf_text(&k->path),
               vpa_arena_printf(k->c->a,
                                "Invalid value: %s: %s in body must be of type date-time: %s",
                                quoted(k->c->a, v), path_text(k), quoted(k->c->a, v)));
}

/* A string; with a format the validator names the format and Go's kind of the value. */
static void check_text(struct check *k, const struct schema *s, const struct jv *v)
{
    const char *format = jv_text_at(s->raw, "format");

    if (v->type == JV_STR)
        check_string(k, s, v);
    else if (*format && v->type == JV_NUM)
        wrong_type(k, format, !strcmp(json_type(v), "integer") ? "int64" : "float64");
    else if (*format && v->type == JV_ARR)
        return; /* the validator takes any list for a text with a format */
    else if (*format)
        wrong_type(k, format, "");
    else
        wrong_type(k, "string", json_type(v));
}

static void check_integer(struct check *k, const struct schema *s, const struct jv *v)
{
    const char *format = jv_text_at(s->raw, "format");
    bool newer = k->c->sim->opt.minor >= 35;
    const char *type = json_type(v);
    double d = jv_double(v);

    if (v->type == JV_NUM && !strcmp(type, "integer")) {
        if (newer && !strcmp(format, "int32") && (d > 2147483647.0 || d < -2147483648.0))
            unchecked(k, "with format int32");
        check_number(k, s, v);
        return;
    }
    if (v->type == JV_NUM && newer && *format) {
        wrong_type(k, format, "float64");
        unchecked(k, vpa_arena_printf(k->c->a, "with format %s", format));
        return;
    }
    if (v->type == JV_BOOL && newer && *format) {
        wrong_type(k, format, "");
        return;
    }
    wrong_type(k, "integer", type);
    if (v->type == JV_NUM && newer)
        unchecked(k, "(default format)");
}

static void check_int_or_string(struct check *k, const struct schema *s, const struct jv *v)
{
    const char *type = json_type(v);

    if (v->type == JV_STR) {
        check_string(k, s, v);
        return;
    }
    if (!strcmp(type, "integer")) {
        check_number(k, s, v);
        return;
    }
    wrong_type(k, "integer,string", type);
    report(k, true, INVALID, "<nil>",
           vpa_arena_printf(k->c->a,
                            "Invalid value: \"\": \"%s\" must validate at least one schema (anyOf)",
                            path_text(k)));
    wrong_type(k, "integer", type);
    if (v->type == JV_NUM && k->c->sim->opt.minor >= 35)
        unchecked(k, "(default format)");
}

static void check_value(struct check *k, const struct schema *s, const struct jv *v,
                        const struct jv *old);

static void check_object(struct check *k, const struct schema *s, const struct jv *v,
                         const struct jv *old)
{
    size_t len = k->path.len;

    jv_each (r, jv_get(s->raw, "required")) {
        if (jv_get(v, jv_text(r->value) ? r->value->text : ""))
            continue;
        vpa_buf_printf(&k->path, "%s%s", len ? "." : "", r->value->text);
        report(k, true, "FieldValueRequired", vpa_buf_text(&k->path), "Required value");
        vpa_buf_truncate(&k->path, len);
    }
    jv_each (m, v) {
        const struct schema *field = schema_field(s, m->name);
        if (!field)
            continue;
        vpa_buf_printf(&k->path, "%s%s", len ? "." : "", m->name);
        check_value(k, field, m->value, old ? jv_get(old, m->name) : NULL);
        vpa_buf_truncate(&k->path, len);
    }
}

static void note_rules(struct check *k, const struct schema *s, const struct jv *v, bool unchanged)
{
    if (!jv_len(jv_get(s->raw, "x-kubernetes-validations")))
        return;
    struct cel_site *site = vpa_arena_zalloc(k->c->a, sizeof(*site));
    site->schema = s;
    site->value = v;
    site->unchanged = unchanged;
    site->path = vpa_arena_strdup(k->c->a, vpa_buf_text(&k->path));
    *k->sites_end = site;
    k->sites_end = &site->next;
}

/* The rules in what an update leaves alone. */
static void note_unchanged(struct check *k, const struct schema *s, const struct jv *v)
{
    size_t len = k->path.len, i = 0;

    if (v->type == JV_OBJ) {
        jv_each (m, v) {
            const struct schema *field = schema_field(s, m->name);
            vpa_buf_printf(&k->path, "%s%s", len ? "." : "", m->name);
            if (field)
                note_unchanged(k, field, m->value);
            vpa_buf_truncate(&k->path, len);
        }
        note_rules(k, s, v, true);
    } else if (v->type == JV_ARR && s->items) {
        jv_each (m, v) {
            vpa_buf_printf(&k->path, "[%zu]", i++);
            note_unchanged(k, s->items, m->value);
            vpa_buf_truncate(&k->path, len);
        }
    }
}

static void check_value(struct check *k, const struct schema *s, const struct jv *v,
                        const struct jv *old)
{
    size_t len = k->path.len;

    if (old && jv_equal(v, old)) {
        note_unchanged(k, s, v);
        return;
    }
    if (v->type == JV_NULL && s->nullable)
        return;
    switch (s->type) {
    case S_ANY:
        break;
    case S_OBJECT:
        if (v->type != JV_OBJ) {
            wrong_type(k, "object", json_type(v));
            break;
        }
        check_object(k, s, v, old);
        note_rules(k, s, v, false);
        break;
    case S_ARRAY:
        if (v->type != JV_ARR) {
            wrong_type(k, "array", json_type(v));
            break;
        }
        for (size_t i = 0; i < v->count; i++) {
            vpa_buf_printf(&k->path, "[%zu]", i);
            check_value(k, s->items, v->items[i].value, NULL);
            vpa_buf_truncate(&k->path, len);
        }
        break;
    case S_INT_OR_STRING:
        check_int_or_string(k, s, v);
        break;
    case S_INT64:
    case S_INT32:
        check_integer(k, s, v);
        break;
    case S_NUMBER:
        if (v->type == JV_NUM)
            check_number(k, s, v);
        else
            wrong_type(k, "number", json_type(v));
        break;
    case S_BOOL:
        if (v->type != JV_BOOL)
            wrong_type(k, "boolean", json_type(v));
        break;
    default:
        check_text(k, s, v);
    }
    check_enum(k, s, v);
}

static bool has_rules(const struct schema *s, int depth)
{
    if (!s || depth > 40)
        return false;
    if (s->raw && jv_len(jv_get(s->raw, "x-kubernetes-validations")))
        return true;
    for (size_t i = 0; i < s->field_count; i++)
        if (has_rules(s->fields[i].schema, depth + 1))
            return true;
    return has_rules(s->items, depth + 1) || has_rules(s->values, depth + 1);
}

static void ask_rule(struct check *k, const struct cel_site *site, const struct jv *rule)
{
    const char *message = jv_text_at(rule, "message"), *reason = jv_text_at(rule, "reason"),
               *at = jv_text_at(rule, "fieldPath");
    bool holds = true;
    struct vpa_error err;

    if (cel_eval(jv_text_at(rule, "rule"), site->value, &holds, &err) < 0) {
        field_error(k->c, k->errors, INVALID, site->path, "Invalid value: rule not understood: %s",
                    err.text);
        return;
    }
    if (holds)
        return;
    if (!*message)
        message = vpa_arena_printf(k->c->a, "failed rule: %s", jv_text_at(rule, "rule"));
    const char *field = vpa_arena_printf(k->c->a, "%s%s", site->path, at),
               *value = k->c->sim->opt.minor >= 35
                            ? ""
                            : "\"object\": "; /* told by older servers only */
    if (site->unchanged)
        quote_warning(k->c,
                      vpa_arena_printf(k->c->a, "%s: Invalid value: %s%s", field, value, message));
    else if (!strcmp(reason, "FieldValueRequired"))
        field_error(k->c, k->errors, reason, field, "Required value: %s", message);
    else if (!strcmp(reason, "FieldValueForbidden"))
        field_error(k->c, k->errors, reason, field, "Forbidden: %s", message);
    else
        field_error(k->c, k->errors, INVALID, field, "Invalid value: %s%s", value, message);
}

static void check_scale_path(struct check *k, const struct restype *t, const struct jv *object)
{
    int64_t n;

    if (!t->crd->spec_replicas)
        return;
    const struct jv *v = jv_at(object, t->crd->spec_replicas);
    const char *field = vpa_arena_printf(k->c->a, ".%s", t->crd->spec_replicas);
    if (jv_is_int(v, &n) && n < 0)
        field_error(k->c, k->errors, INVALID, field,
                    "Invalid value: %lld: should be a non-negative integer", (long long)n);
    else if (jv_text(v))
        field_error(k->c, k->errors, INVALID, field,
                    "Invalid value: 0: %s accessor error: %s is of the type string, expected int64",
                    field, v->text);
}

void validate_custom(struct ctx *c, const struct restype *t, const struct jv *old,
                     const struct jv *object, struct field_errors *errors)
{
    struct check k = {.c = c, .errors = errors};
    bool status = !strcmp(c->sub, "status");

    k.sites_end = &k.sites;
    vpa_buf_init(&k.path, 64 * 1024);
    for (size_t i = 0; i < errors->count; i++)
        k.blocking = k.blocking || !strcmp(errors->items[i].reason, "FieldValueRequired");
    if (status) {
        const struct jv *v = jv_get(object, "status");
        const struct schema *s = schema_field(t->schema, "status");
        vpa_buf_puts(&k.path, "status");
        k.text_from = strlen("status.");
        if (v && s)
            check_value(&k, s, v, old ? jv_get(old, "status") : NULL);
    } else {
        check_object(&k, t->schema, object, old);
        note_rules(&k, t->schema, object, false);
        if (t->flags & T_SCALE)
            check_scale_path(&k, t, object);
    }
    if (k.blocking) {
        if (has_rules(t->schema, 0))
            field_error(c, errors, INVALID, "<nil>",
                        "Invalid value: null: some validation rules were not checked because the "
                        "object was invalid; "
                        "correct the existing errors to complete validation");
    } else {
        for (const struct cel_site *site = k.sites; site; site = site->next)
            jv_each (r, jv_get(site->schema->raw, "x-kubernetes-validations"))
                ask_rule(&k, site, r->value);
    }
    vpa_buf_release(&k.path);
}
