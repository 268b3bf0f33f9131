/* Comparing an answer with what was recorded. */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract.h"

const char *substitute_text(struct runner *r, const char *text)
{
    vpa_auto_buf out = VPA_BUF(1 << 20);
    const char *at = text, *open;

    if (!strstr(text, "${"))
        return text;
    while ((open = strstr(at, "${"))) {
        const char *close = strchr(open, '}');
        if (!close)
            break;
        const char *name = vpa_arena_strndup(&r->a, open + 2, (size_t)(close - open - 2));
        const struct jv *v = jv_get(r->vars, name);
        vpa_buf_append(&out, at, (size_t)(open - at));
        if (!strcmp(name, "hook"))
            vpa_buf_puts(&out, hook_url(r->hook));
        else if (!strcmp(name, "hookca"))
            vpa_buf_puts(&out, hook_ca(r->hook));
        else if (v && v->text)
            vpa_buf_puts(&out, v->text);
        at = close + 1;
    }
    vpa_buf_puts(&out, at);
    return vpa_arena_strdup(&r->a, vpa_buf_text(&out));
}

struct jv *substitute(struct runner *r, const struct jv *v)
{
    struct jv *copy = jv_clone(&r->a, v);

    if (copy->type == JV_STR)
        copy->text = substitute_text(r, copy->text);
    jv_each (m, copy)
        m->value = substitute(r, m->value);
    return copy;
}

static bool regex_matches(const char *pattern, const char *text)
{
    regex_t re;

    if (!strncmp(pattern, "(?s)", 4))
        pattern += 4;
    if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    bool hit = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    return hit;
}

bool matches(struct runner *r, const struct jv *expected, const struct jv *got)
{
    const struct jv *re = expected && expected->type == JV_OBJ && expected->count == 1
                              ? jv_get(expected, "$re")
                              : NULL;

    if (re)
        return jv_text(got) && regex_matches(re->text, got->text);
    if (!expected || !got)
        return expected == got;
    if (expected->type != got->type)
        return false;
    if (expected->type == JV_STR)
        return !strcmp(substitute_text(r, expected->text), got->text);
    if (expected->type == JV_ARR || expected->type == JV_OBJ) {
        if (expected->count != got->count)
            return false;
        for (uint32_t i = 0; i < expected->count; i++) {
            const struct jv *other = expected->type == JV_ARR
                                         ? got->items[i].value
                                         : jv_get(got, expected->items[i].name);
            if (!matches(r, expected->items[i].value, other))
                return false;
        }
        return true;
    }
    return jv_equal(expected, got);
}

static const char *shown(struct runner *r, const struct jv *v)
{
    const char *text = v ? jv_dump(&r->a, v) : "(absent)";
    return strlen(text) > 700 ? vpa_arena_printf(&r->a, "%.700s...", text) : text;
}

static void differ(struct runner *r, struct strings *out, const char *where,
                   const struct jv *wanted, const struct jv *got)
{
    strings_add(
        &r->a, out,
        vpa_arena_printf(&r->a, "%s: wanted %s, got %s", where, shown(r, wanted), shown(r, got)));
}

static bool same_set(struct runner *r, const struct jv *x, const struct jv *y)
{
    bool used[64] = {false};

    if (jv_len(x) != jv_len(y) || jv_len(x) > 64)
        return false;
    jv_each (m, x) {
        bool found = false;
        for (size_t i = 0; i < jv_len(y) && !found; i++) {
            if (used[i] || !matches(r, m->value, y->items[i].value))
                continue;
            used[i] = found = true;
        }
        if (!found)
            return false;
    }
    return true;
}

/* A whole error body. */
static void compare_whole(struct runner *r, const struct jv *wanted, const struct jv *got,
                          bool loose, bool unordered, struct strings *out)
{
    struct jv *x = jv_clone(&r->a, wanted), *y = jv_clone(&r->a, got);

    if (loose || unordered) {
        const char *m0 = jv_text_at(x, "message"), *m1 = jv_text_at(y, "message");
        if (!loose && (strlen(m0) != strlen(m1) || strncmp(m0, m1, strcspn(m0, "["))))
            differ(r, out, "/message", jv_get(x, "message"), jv_get(y, "message"));
        jv_del(x, "message");
        jv_del(y, "message");
    }
    struct jv *d0 = jv_get(x, "details"), *d1 = jv_get(y, "details");
    if (loose) { /* the texts of causes come from the same place */
        jv_each (m, jv_get(d0, "causes"))
            jv_del(m->value, "message");
        jv_each (m, jv_get(d1, "causes"))
            jv_del(m->value, "message");
    }
    if (unordered && jv_get(d0, "causes") && jv_get(d1, "causes")) {
        if (!same_set(r, jv_get(d0, "causes"), jv_get(d1, "causes")))
            differ(r, out, "/details/causes", jv_get(d0, "causes"), jv_get(d1, "causes"));
        jv_del(d0, "causes");
        jv_del(d1, "causes");
    }
    if (!matches(r, x, y))
        differ(r, out, "body", x, y);
}

void expect_object(struct runner *r, const struct jv *expect, struct jv *body, bool loose,
                   bool unordered, const char *where, struct strings *out)
{
    const struct jv *whole = jv_get(expect, "object");

    if (whole && body)
        compare_whole(r, whole, body, loose, unordered, out);
    else if (whole)
        differ(r, out, where, whole, body);
    jv_each (m, jv_get(expect, "select")) {
        const struct jv *got = body ? jv_pointer(&r->a, body, m->name) : NULL;
        if (!matches(r, m->value, got))
            differ(r, out, vpa_arena_printf(&r->a, "%s%s", where, m->name), m->value, got);
    }
    jv_each (m, jv_get(expect, "absent")) {
        const struct jv *got =
            body && jv_text(m->value) ? jv_pointer(&r->a, body, m->value->text) : NULL;
        if (got)
            differ(r, out, vpa_arena_printf(&r->a, "%s%s", where, m->value->text), NULL, got);
    }
}

static void compare_relations(struct runner *r, const struct jv *list, const struct jv *body,
                              struct strings *out)
{
    jv_each (m, list) {
        if (jv_len(m->value) != 3)
            continue;
        const char *pointer = m->value->items[0].value->text, *op = m->value->items[1].value->text,
                   *name = m->value->items[2].value->text;
        const struct jv *got = body ? jv_pointer(&r->a, body, pointer) : NULL,
                        *saved = jv_get(r->vars, name);
        const char *x = got && got->text ? got->text : "",
                   *y = saved && saved->text ? saved->text : "";
        bool ok = !strcmp(op, "eq")   ? !strcmp(x, y)
                  : !strcmp(op, "ne") ? strcmp(x, y) != 0
                                      : strtoll(x, NULL, 10) > strtoll(y, NULL, 10);
        if (!ok)
            strings_add(
                &r->a, out,
                vpa_arena_printf(&r->a, "%s: %s is not %s %s (%s)", pointer, x, op, name, y));
    }
}

static bool same_type(const char *wanted, const char *got)
{
    size_t n = strcspn(wanted, ";");

    if (!strcmp(wanted, got))
        return true;
    return !strstr(wanted, "as=") && !strstr(got, "as=") && strcspn(got, ";") == n &&
           !strncmp(wanted, got, n);
}

static void compare_item(struct runner *r, const struct jv *rule, struct jv *body,
                         struct strings *out)
{
    const struct jv *list = body ? jv_pointer(&r->a, body, jv_text_at(rule, "list")) : NULL;

    jv_each (m, list) {
        bool all = true;
        jv_each (w, jv_get(rule, "where"))
            all = all && matches(r, w->value, jv_pointer(&r->a, m->value, w->name));
        if (!all)
            continue;
        expect_object(r, rule, m->value, false, false, "item", out);
        return;
    }
    strings_add(&r->a, out, "no item fits select_item");
}

static void compare_events(struct runner *r, const struct jv *line, const struct jv *wanted,
                           const struct jv *got, struct strings *out)
{
    if (jv_len(wanted) != jv_len(got)) {
        strings_add(&r->a, out,
                    vpa_arena_printf(&r->a, "%zu events instead of %zu: %s", jv_len(got),
                                     jv_len(wanted), shown(r, got)));
        return;
    }
    for (size_t i = 0; i < jv_len(wanted); i++) {
        const struct jv *w = wanted->items[i].value;
        struct jv *g = got->items[i].value;
        const char *where = vpa_arena_printf(&r->a, "event %zu", i);
        if (!matches(r, jv_get(w, "type"), jv_get(g, "type")))
            differ(r, out, where, jv_get(w, "type"), jv_get(g, "type"));
        expect_object(r, w, jv_get(g, "object"), jv_bool_at(line, "loose_message", false), false,
                      where, out);
    }
}

void expect_answer(struct runner *r, const struct jv *line, const struct jv *want,
                   const struct answer *got, struct strings *out)
{
    bool loose = jv_bool_at(line, "loose_message", false),
         unordered = jv_bool_at(line, "unordered_causes", false);
    const char *type = jv_text(jv_get(want, "content_type"));
    const struct jv *text = jv_get(want, "body_text"), *warnings = jv_get(want, "warnings");

    if (jv_int_at(want, "status", 0) != got->status)
        strings_add(&r->a, out,
                    vpa_arena_printf(&r->a, "status: wanted %lld, got %d: %.600s",
                                     (long long)jv_int_at(want, "status", 0), got->status,
                                     got->text));
    if (type && !same_type(type, got->content_type))
        strings_add(
            &r->a, out,
            vpa_arena_printf(&r->a, "content type: wanted %s, got %s", type, got->content_type));
    jv_each (m, jv_get(want, "headers"))
        if (!matches(r, m->value, jv_get(got->headers, m->name)))
            differ(r, out, m->name, m->value, jv_get(got->headers, m->name));
    if (!matches(r, warnings ? warnings : jv_arr(&r->a), got->warnings))
        differ(r, out, "warnings", warnings, got->warnings);
    if (text && !matches(r, text, jv_str(&r->a, got->text)))
        differ(r, out, "body", text, jv_str(&r->a, got->text));
    if (jv_get(want, "events")) {
        compare_events(r, line, jv_get(want, "events"), got->events, out);
        return;
    }
    expect_object(r, want, got->body, loose, unordered, "", out);
    compare_relations(r, jv_get(want, "rel"), got->body, out);
    if (jv_get(want, "select_item"))
        compare_item(r, jv_get(want, "select_item"), got->body, out);
}
