/* A recursive-descent evaluator: every production answers a value at once. See cel.h. */
#include "cel.h"

#include <ctype.h>
#include <string.h>

struct cel {
    struct vpa_arena a;
    const char *start;
    const char *at;
    const struct jv *self;
    struct vpa_error *err;
    bool failed;
};

static const struct jv *expression(struct cel *c);

static const struct jv *oops(struct cel *c, const char *what)
{
    if (!c->failed)
        (void)vpa_fail(c->err, VPA_INVALID, "%s at offset %zu of %s", what,
                       (size_t)(c->at - c->start), c->start);
    c->failed = true;
    return NULL;
}

static void skip(struct cel *c)
{
    while (isspace((unsigned char)*c->at))
        c->at++;
}

static bool take(struct cel *c, const char *token)
{
    size_t len = strlen(token);

    skip(c);
    if (strncmp(c->at, token, len) != 0)
        return false;
    if (isalnum((unsigned char)token[len - 1]) &&
        (isalnum((unsigned char)c->at[len]) || c->at[len] == '_'))
        return false;
    c->at += len;
    return true;
}

static const char *identifier(struct cel *c)
{
    skip(c);
    const char *start = c->at;
    while (isalnum((unsigned char)*c->at) || *c->at == '_')
        c->at++;
    return vpa_arena_strndup(&c->a, start, (size_t)(c->at - start));
}

static bool truth(const struct jv *v)
{
    return v && v->type == JV_BOOL && v->boolean;
}

static const struct jv *members(struct cel *c, const struct jv *v, bool presence)
{
    while (take(c, ".")) {
        const char *name = identifier(c);
        if (!strcmp(name, "size") && take(c, "(") && take(c, ")")) {
            v = jv_int(&c->a,
                       v && v->type == JV_STR ? (int64_t)strlen(v->text) : (int64_t)jv_len(v));
            continue;
        }
        v = jv_get(v, name);
        if (!v && !presence && !c->failed && *c->at != '.')
            return v;
    }
    return v;
}

static const struct jv *list_literal(struct cel *c)
{
    struct jv *list = jv_arr(&c->a);

    while (!c->failed && !take(c, "]")) {
        const struct jv *v = expression(c);
        if (v)
            jv_push(&c->a, list, jv_clone(&c->a, v));
        (void)take(c, ",");
    }
    return list;
}

static const struct jv *primary(struct cel *c)
{
    skip(c);
    if (take(c, "(")) {
        const struct jv *v = expression(c);
        return take(c, ")") ? v : oops(c, "')' expected");
    }
    if (take(c, "[")) {
        return list_literal(c);
    }
    if (take(c, "has(")) {
        if (!take(c, "self"))
            return oops(c, "self expected");
        const struct jv *v = members(c, c->self, true);
        return take(c, ")") ? jv_bool(&c->a, v != NULL) : oops(c, "')' expected");
    }
    if (take(c, "size(")) {
        const struct jv *v = expression(c);
        if (!take(c, ")"))
            return oops(c, "')' expected");
        return jv_int(&c->a,
                      v && v->type == JV_STR ? (int64_t)strlen(v->text) : (int64_t)jv_len(v));
    }
    if (take(c, "true"))
        return jv_bool(&c->a, true);
    if (take(c, "false"))
        return jv_bool(&c->a, false);
    if (take(c, "null"))
        return jv_null(&c->a);
    if (take(c, "self"))
        return members(c, c->self, false);
    if (*c->at == '\'' || *c->at == '"') {
        char quote = *c->at++;
        const char *start = c->at;
        while (*c->at && *c->at != quote)
            c->at++;
        struct jv *v = jv_str(&c->a, vpa_arena_strndup(&c->a, start, (size_t)(c->at - start)));
        if (!*c->at)
            return oops(c, "string without end");
        c->at++;
        return v;
    }
    if (isdigit((unsigned char)*c->at) || *c->at == '-') {
        const char *start = c->at++;
        while (isdigit((unsigned char)*c->at) || *c->at == '.')
            c->at++;
        return jv_number(&c->a, vpa_arena_strndup(&c->a, start, (size_t)(c->at - start)));
    }
    return oops(c, "unexpected text");
}

static const struct jv *unary(struct cel *c)
{
    skip(c);
    if (*c->at == '!' && c->at[1] != '=') {
        c->at++;
        const struct jv *v = unary(c);
        return jv_bool(&c->a, !truth(v));
    }
    return primary(c);
}

static const struct jv *comparison(struct cel *c)
{
    const struct jv *x = unary(c);

    if (take(c, "=="))
        return jv_bool(&c->a, jv_equal(x, unary(c)));
    if (take(c, "!="))
        return jv_bool(&c->a, !jv_equal(x, unary(c)));
    if (take(c, "<="))
        return jv_bool(&c->a, jv_double(x) <= jv_double(unary(c)));
    if (take(c, ">="))
        return jv_bool(&c->a, jv_double(x) >= jv_double(unary(c)));
    if (take(c, "<"))
        return jv_bool(&c->a, jv_double(x) < jv_double(unary(c)));
    if (take(c, ">"))
        return jv_bool(&c->a, jv_double(x) > jv_double(unary(c)));
    if (take(c, "in")) {
        const struct jv *list = unary(c);
        bool found = false;
        jv_each (m, list)
            found = found || jv_equal(m->value, x);
        return jv_bool(&c->a, found);
    }
    return x;
}

static const struct jv *conjunction(struct cel *c)
{
    const struct jv *x = comparison(c);

    while (take(c, "&&")) {
        const struct jv *y = comparison(c);
        x = jv_bool(&c->a, truth(x) && truth(y));
    }
    return x;
}

static const struct jv *expression(struct cel *c)
{
    const struct jv *x = conjunction(c);

    while (take(c, "||")) {
        const struct jv *y = conjunction(c);
        x = jv_bool(&c->a, truth(x) || truth(y));
    }
    if (take(c, "?")) {
        const struct jv *yes = expression(c);
        if (!take(c, ":"))
            return oops(c, "':' expected");
        const struct jv *no = expression(c);
        return truth(x) ? yes : no;
    }
    return x;
}

int cel_eval(const char *rule, const struct jv *self, bool *out, struct vpa_error *err)
{
    struct cel c = {.start = rule, .at = rule, .self = self, .err = err};
    const struct jv *v = expression(&c);

    skip(&c);
    if (!c.failed && *c.at)
        (void)oops(&c, "unexpected text");
    if (!c.failed)
        *out = truth(v);
    vpa_arena_release(&c.a);
    return c.failed ? -1 : 0;
}
