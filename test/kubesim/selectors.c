/*
 * Selectors of lists and watches: labelSelector and fieldSelector of the query, and
 * metav1.LabelSelector of objects. The simulator has its own reader of the text form: its error
 * texts are the server's.
 */
#include "sim.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum op { OP_IN, OP_NOT_IN, OP_EXISTS, OP_NOT_EXISTS, OP_GT, OP_LT };
struct requirement {
    const char *key;
    enum op op;
    struct strings values;
};
struct field_requirement {
    size_t field; /* index in collection->fields */
    const char *value;
    bool negated;
};
struct selector {
    struct requirement *labels;
    size_t label_count;
    struct field_requirement *fields;
    size_t field_count;
};

static const char *find_label(const struct version *v, const char *key)
{
    for (size_t i = 0; i < v->label_count; i++)
        if (!strcmp(v->labels[i].key, key))
            return v->labels[i].value;
    return NULL;
}

static bool requirement_matches(const struct requirement *r, const char *value)
{
    switch (r->op) {
    case OP_IN:
        return value && strings_has(&r->values, value);
    case OP_NOT_IN:
        return !value || !strings_has(&r->values, value);
    case OP_EXISTS:
        return value;
    case OP_NOT_EXISTS:
        return !value;
    case OP_GT:
    case OP_LT: {
        char *end;
        if (!value || !*value)
            return false;
        long long n = strtoll(value, &end, 10);
        if (*end)
            return false;
        long long limit = strtoll(r->values.items[0], NULL, 10);
        return r->op == OP_GT ? n > limit : n < limit;
    }
    }
    return false;
}

bool selector_matches(const struct selector *s, const struct version *v)
{
    for (size_t i = 0; i < s->label_count; i++)
        if (!requirement_matches(&s->labels[i], find_label(v, s->labels[i].key)))
            return false;
    for (size_t i = 0; i < s->field_count; i++)
        if (!strcmp(v->fields[s->fields[i].field], s->fields[i].value) == s->fields[i].negated)
            return false;
    return true;
}

bool selector_is_empty(const struct selector *s)
{
    return !s->label_count && !s->field_count;
}

const char *selector_exact_name(const struct selector *s)
{
    for (size_t i = 0; i < s->field_count; i++)
        if (s->fields[i].field == 0 && !s->fields[i].negated)
            return s->fields[i].value;
    return NULL;
}

/* ---- text form of label selectors ---- */

struct lexer {
    struct ctx *c;
    const char *at;
};

static const char *next_token(struct lexer *l)
{
    static const char special[] = "(),!=<>";

    l->at += strspn(l->at, " \t\r\n");
    const char *start = l->at;
    if (!*start)
        return "";
    if (strchr(special, *start)) {
        size_t len = 1;
        if ((*start == '=' || *start == '!') && start[1] == '=')
            len = 2;
        l->at += len;
        return vpa_arena_strndup(l->c->a, start, len);
    }
    while (*l->at && !strchr(special, *l->at) && !isspace((unsigned char)*l->at))
        l->at++;
    return vpa_arena_strndup(l->c->a, start, (size_t)(l->at - start));
}

static int parse_error(struct ctx *c, const char *what)
{
    return fail(c, 400, "BadRequest", "unable to parse requirement: %s", what);
}

static int parse_values(struct lexer *l, struct requirement *r)
{
    struct ctx *c = l->c;

    const char *open = next_token(l);
    if (strcmp(open, "(") != 0)
        return parse_error(c, vpa_arena_printf(c->a, "found '%s' expected: '('", open));
    for (;;) {
        const char *token = next_token(l);
        if (!strcmp(token, ")")) {
            strings_add(c->a, &r->values, "");
            return 0;
        }
        if (!strcmp(token, ",")) {
            strings_add(c->a, &r->values, "");
            continue;
        }
        if (!*token)
            return parse_error(c, "found '', expected: ',' or ')'");
        strings_add(c->a, &r->values, token);
        token = next_token(l);
        if (!strcmp(token, ")"))
            return 0;
        if (strcmp(token, ",") != 0)
            return parse_error(c,
                               vpa_arena_printf(c->a, "found '%s', expected: ',' or ')'", token));
    }
}

static int parse_requirement(struct lexer *l, struct requirement *r, const char **next)
{
    struct ctx *c = l->c;
    const char *token = next_token(l);

    r->op = OP_EXISTS;
    if (!strcmp(token, "!")) {
        r->op = OP_NOT_EXISTS;
        token = next_token(l);
    }
    r->key = token;
    const char *why;
    if (!is_label_key(token, &why))
        return parse_error(c,
                           vpa_arena_printf(c->a, "<nil>: Invalid value: \"%s\": %s", token, why));
    token = next_token(l);
    if (!*token || !strcmp(token, ",")) {
        *next = token;
        return 0;
    }
    if (!strcmp(token, "in") || !strcmp(token, "notin")) {
        r->op = !strcmp(token, "in") ? OP_IN : OP_NOT_IN;
        if (parse_values(l, r) < 0)
            return -1;
        *next = next_token(l);
        return 0;
    }
    bool number =
        !strcmp(token, ">") || !strcmp(token, "<") || !strcmp(token, "gt") || !strcmp(token, "lt");
    if (!number && strcmp(token, "=") != 0 && strcmp(token, "==") != 0 && strcmp(token, "!=") != 0)
        return parse_error(
            c, vpa_arena_printf(c->a, "found '%s', expected: in, notin, =, ==, !=, gt, lt", token));
    r->op = !strcmp(token, "!=")                          ? OP_NOT_IN
            : !strcmp(token, ">") || !strcmp(token, "gt") ? OP_GT
            : !strcmp(token, "<") || !strcmp(token, "lt") ? OP_LT
                                                          : OP_IN;
    const char *before = l->at;
    token = next_token(l);
    if (!*token || !strcmp(token, ",")) {
        l->at = before;
        token = "";
    }
    if (!is_label_value(token))
        return parse_error(c, vpa_arena_printf(c->a, "<nil>: Invalid value: \"%s\"", token));
    strings_add(c->a, &r->values, token);
    *next = next_token(l);
    return 0;
}

static int parse_labels(struct ctx *c, const char *text, struct selector *s)
{
    struct lexer l = {c, text};
    size_t capacity = 4;

    s->labels = vpa_arena_alloc(c->a, capacity * sizeof(*s->labels));
    for (;;) {
        const char *next = "";
        if (s->label_count == capacity) {
            struct requirement *more = vpa_arena_alloc(c->a, 2 * capacity * sizeof(*more));
            memcpy(more, s->labels, capacity * sizeof(*more));
            s->labels = more;
            capacity *= 2;
        }
        struct requirement *r = &s->labels[s->label_count];
        *r = (struct requirement){0};
        if (parse_requirement(&l, r, &next) < 0)
            return -1;
        s->label_count++;
        if (!*next)
            return 0;
        if (strcmp(next, ",") != 0)
            return parse_error(
                c, vpa_arena_printf(c->a, "found '%s', expected: ',' or 'end of string'", next));
    }
}

/* ---- field selectors ---- */

static int unknown_field(struct ctx *c, const char *path)
{
    if (!strcmp(c->type->kind, "Job"))
        return fail(c, 400, "BadRequest", "field label \"%s\" not supported for Job", path);
    if (c->type->store->field_count > 3 || c->type->crd ||
        !strcmp(c->type->kind, "ReplicationController"))
        return fail(c, 400, "BadRequest", "field label not supported: %s", path);
    return fail(
        c, 400, "BadRequest",
        "\"%s\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        path);
}

static int parse_fields(struct ctx *c, const char *text, struct selector *s)
{
    size_t max = 1;

    for (const char *p = text; *p; p++)
        max += *p == ',';
    s->fields = vpa_arena_zalloc(c->a, max * sizeof(*s->fields));
    while (*text) {
        size_t len = strcspn(text, ",");
        char *part = vpa_arena_strndup(c->a, text, len);
        char *eq = strchr(part, '=');
        text += len + (text[len] == ',');
        if (!len)
            continue;
        if (!eq)
            return fail(c, 400, "BadRequest", "invalid selector: '%s'; can't understand '%s'", part,
                        part);
        struct field_requirement *r = &s->fields[s->field_count];
        const char *value = eq[1] == '=' ? eq + 2 : eq + 1;
        r->negated = eq > part && eq[-1] == '!';
        eq[r->negated ? -1 : 0] = 0;
        for (r->field = 0; r->field < c->type->store->field_count; r->field++) {
            const char *known = c->type->store->fields[r->field];
            if (!strcmp(known, part) || (c->type->as && !strcmp(part, "regarding.name") &&
                                         !strcmp(known, "involvedObject.name")))
                break;
        }
        if (r->field == c->type->store->field_count)
            return unknown_field(c, part);
        r->value = value;
        s->field_count++;
    }
    return 0;
}

int selector_read(struct ctx *c, struct selector **out)
{
    struct selector *s = vpa_arena_zalloc(c->a, sizeof(*s));
    const char *labels = query_get(c, "labelSelector");
    const char *fields = query_get(c, "fieldSelector");

    if (labels && *labels && parse_labels(c, labels, s) < 0)
        return -1;
    if (fields && *fields && parse_fields(c, fields, s) < 0)
        return -1;
    *out = s;
    return 0;
}

/* ---- metav1.LabelSelector ---- */

typedef const char *(*lookup_fn)(const void *from, const char *key);

static const char *lookup_json(const void *from, const char *key)
{
    return jv_text(jv_get(from, key));
}

static const char *lookup_version(const void *from, const char *key)
{
    return find_label(from, key);
}

static bool expression_matches(const struct jv *e, const char *value)
{
    const char *op = jv_text_at(e, "operator");
    bool listed = false;

    jv_each (m, jv_get(e, "values"))
        if (value && jv_text(m->value) && !strcmp(m->value->text, value))
            listed = true;
    if (!strcmp(op, "In"))
        return listed;
    if (!strcmp(op, "NotIn"))
        return !listed;
    if (!strcmp(op, "Exists"))
        return value;
    return !value;
}

static bool selector_object_matches(const struct jv *selector, lookup_fn lookup, const void *from)
{
    if (jv_missing(selector))
        return false;
    jv_each (m, jv_get(selector, "matchLabels")) {
        const char *value = lookup(from, m->name);
        if (!value || !jv_text(m->value) || strcmp(value, m->value->text) != 0)
            return false;
    }
    jv_each (m, jv_get(selector, "matchExpressions"))
        if (!expression_matches(m->value, lookup(from, jv_text_at(m->value, "key"))))
            return false;
    return true;
}

bool label_selector_matches(const struct jv *selector, const struct jv *labels)
{
    return selector_object_matches(selector, lookup_json, labels);
}

bool label_selector_matches_version(const struct jv *selector, const struct version *v)
{
    return selector_object_matches(selector, lookup_version, v);
}

const char *label_selector_text(struct vpa_arena *a, const struct jv *selector)
{
    struct strings parts = {0};

    jv_each (m, jv_get(selector, "matchLabels"))
        strings_addf(a, &parts, "%s=%s", m->name, jv_text(m->value) ? m->value->text : "");
    jv_each (m, jv_get(selector, "matchExpressions")) {
        const char *key = jv_text_at(m->value, "key"), *op = jv_text_at(m->value, "operator");
        const char *values = "";
        jv_each (v, jv_get(m->value, "values"))
            values = vpa_arena_printf(a, "%s%s%s", values, *values ? "," : "",
                                      jv_text(v->value) ? v->value->text : "");
        if (!strcmp(op, "In") || !strcmp(op, "NotIn"))
            strings_addf(a, &parts, "%s %s (%s)", key, !strcmp(op, "In") ? "in" : "notin", values);
        else
            strings_addf(a, &parts, "%s%s", !strcmp(op, "Exists") ? "" : "!", key);
    }
    for (size_t i = 1; i < parts.count; i++) /* sorted: the server's order */
        for (size_t j = i; j > 0 && strcmp(parts.items[j - 1], parts.items[j]) > 0; j--) {
            const char *t = parts.items[j];
            parts.items[j] = parts.items[j - 1];
            parts.items[j - 1] = t;
        }
    const char *out = "";
    for (size_t i = 0; i < parts.count; i++)
        out = vpa_arena_printf(a, "%s%s%s", out, i ? "," : "", parts.items[i]);
    return out;
}
