/*
 * The text form of label selectors, as the scale subresource carries it (specification
 * api.md 11.4).
 *
 *     selector    = requirement ("," requirement)*
 *     requirement = ["!"] key
 *                 | key ("=" | "==" | "!=" | ">" | "<") value
 *                 | key ("in" | "notin") "(" values ")"
 *
 * A recursive-descent parser over tokens with one token of lookahead. `in` and `notin` are
 * operators only where an operator is expected; the empty string is a possible value, which is why
 * lists are read in the particular way that upstream reads them.
 */
#include <stdlib.h>
#include <string.h>

#include "labels_private.h"
#include "vpa/base/str.h"

enum token { END, WORD, NOT, EQUALS, DOUBLE_EQUALS, NOT_EQUALS, GREATER, LESS, OPEN, CLOSE, COMMA };

struct parser {
    struct vpa_arena *arena;
    const char *p; /* behind the current token */
    enum token token;
    const char *word; /* text of the current token, "" at the end */
    struct vpa_error *err;
};

static bool is_symbol(char c)
{
    return c != '\0' && strchr("=!(),<>", c) != NULL;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void advance(struct parser *ps)
{
    static const enum token kinds[] = {EQUALS, NOT, OPEN, CLOSE, COMMA, LESS, GREATER};
    const char *start;

    while (is_space(*ps->p))
        ps->p++;
    start = ps->p;
    if (*start == '\0') {
        ps->token = END;
    } else if (is_symbol(*start)) {
        ps->token = kinds[strchr("=!(),<>", *start) - "=!(),<>"];
        ps->p++;
        if ((*start == '=' || *start == '!') && *ps->p == '=') {
            ps->token = *start == '=' ? DOUBLE_EQUALS : NOT_EQUALS;
            ps->p++;
        }
    } else {
        ps->token = WORD;
        while (*ps->p && !is_symbol(*ps->p) && !is_space(*ps->p))
            ps->p++;
    }
    ps->word = vpa_arena_strndup(ps->arena, start, (size_t)(ps->p - start));
}

static int unexpected(const struct parser *ps, const char *expected)
{
    return vpa_fail(ps->err, VPA_INVALID, "found '%s'%s", ps->word, expected);
}

/* Strings in the order of the text, grown in the arena; settle() makes a sorted set of them. */
struct values {
    const char **items;
    size_t count;
    size_t capacity;
};

static void insert(struct vpa_arena *arena, struct values *values, const char *text)
{
    VPA_ARENA_GROW(arena, values->items, values->count, values->capacity);
    values->items[values->count++] = text;
}

static void settle(struct values *values)
{
    size_t n = 0;

    if (values->count < 2)
        return;
    qsort(values->items, values->count, sizeof(*values->items), vpa_str_compare);
    for (size_t i = 0; i < values->count; i++)
        if (n == 0 || strcmp(values->items[n - 1], values->items[i]) != 0)
            values->items[n++] = values->items[i];
    values->count = n;
}

/* Words and commas up to, not including, the ')'. */
static int parse_words(struct parser *ps, struct values *values)
{
    for (;;) {
        if (ps->token == WORD) {
            insert(ps->arena, values, ps->word);
            advance(ps);
            if (ps->token == CLOSE)
                return 0;
            if (ps->token != COMMA)
                return unexpected(ps, ", expected: ',' or ')'");
        } else if (ps->token == COMMA) {
            advance(ps);
            if (values->count == 0)
                insert(ps->arena, values, ""); /* "(," */
            if (ps->token == CLOSE) {
                insert(ps->arena, values, ""); /* ",)" */
                return 0;
            }
            if (ps->token == COMMA) {
                insert(ps->arena, values, ""); /* ",," */
                advance(ps);
            }
        } else {
            return unexpected(ps, ", expected: ',', or identifier");
        }
    }
}

static int parse_list(struct parser *ps, struct values *values)
{
    if (ps->token != OPEN)
        return unexpected(ps, " expected: '('");
    advance(ps);
    if (ps->token == CLOSE)
        insert(ps->arena, values, "");
    else if (ps->token != WORD && ps->token != COMMA)
        return unexpected(ps, ", expected: ',', ')' or identifier");
    else if (parse_words(ps, values) < 0)
        return -1;
    advance(ps);
    return 0;
}

static int parse_value(struct parser *ps, struct values *values)
{
    if (ps->token == END || ps->token == COMMA) {
        insert(ps->arena, values, "");
        return 0;
    }
    if (ps->token != WORD)
        return unexpected(ps, ", expected: identifier");
    insert(ps->arena, values, ps->word);
    advance(ps);
    return 0;
}

static int parse_operator(struct parser *ps, enum vpa_selector_op *op)
{
    switch (ps->token) {
    case EQUALS:
        *op = VPA_SELECT_EQUALS;
        break;
    case DOUBLE_EQUALS:
        *op = VPA_SELECT_DOUBLE_EQUALS;
        break;
    case NOT_EQUALS:
        *op = VPA_SELECT_NOT_EQUALS;
        break;
    case GREATER:
        *op = VPA_SELECT_GREATER;
        break;
    case LESS:
        *op = VPA_SELECT_LESS;
        break;
    default:
        if (strcmp(ps->word, "in") == 0)
            *op = VPA_SELECT_IN;
        else if (strcmp(ps->word, "notin") == 0)
            *op = VPA_SELECT_NOT_IN;
        else
            return unexpected(ps, ", expected: in, notin, =, ==, !=, gt, lt");
    }
    advance(ps);
    return 0;
}

static int parse_requirement(struct parser *ps, struct vpa_requirement *out)
{
    struct vpa_requirement r = {.op = VPA_SELECT_EXISTS};
    struct values values = {0};

    if (ps->token == NOT) {
        r.op = VPA_SELECT_DOES_NOT_EXIST;
        advance(ps);
    }
    if (ps->token != WORD)
        return unexpected(ps, ", expected: identifier");
    r.key = ps->word;
    if (vpa_check_label_key("<nil>", r.key, ps->err) < 0)
        return -1;
    advance(ps);
    if (r.op == VPA_SELECT_EXISTS && ps->token != END && ps->token != COMMA) {
        if (parse_operator(ps, &r.op) < 0)
            return -1;
        bool list = r.op == VPA_SELECT_IN || r.op == VPA_SELECT_NOT_IN;
        if ((list ? parse_list(ps, &values) : parse_value(ps, &values)) < 0)
            return -1;
    }
    settle(&values);
    r.values = values.items;
    r.value_count = values.count;
    if (vpa_check_requirement(&r, ps->err) < 0)
        return -1;
    *out = r;
    return 0;
}

/* Requirements in the order of the text. */
static int parse_all(struct parser *ps, struct vpa_requirement **items, size_t *count)
{
    size_t capacity = 0;

    *items = NULL;
    *count = 0;
    advance(ps);
    if (ps->token == END)
        return 0;
    if (ps->token != WORD && ps->token != NOT)
        return unexpected(ps, ", expected: !, identifier, or 'end of string'");
    for (;;) {
        VPA_GROW(*items, *count, capacity);
        if (parse_requirement(ps, &(*items)[*count]) < 0)
            return vpa_wrap(ps->err, "unable to parse requirement");
        ++*count;
        if (ps->token == END)
            return 0;
        if (ps->token != COMMA)
            return unexpected(ps, ", expected: ',' or 'end of string'");
        advance(ps);
        if (ps->token != WORD && ps->token != NOT)
            return unexpected(ps, ", expected: identifier after ','");
    }
}

int vpa_selector_parse(struct vpa_arena *arena, const char *text, struct vpa_selector *out,
                       struct vpa_error *err)
{
    struct parser ps = {.arena = arena, .p = text, .err = err};
    vpa_auto_free struct vpa_requirement *items = NULL;
    struct vpa_requirement *copy;
    size_t count;

    if (parse_all(&ps, &items, &count) < 0)
        return -1;
    if (count == 0) {
        *out = (struct vpa_selector){0};
        return 0;
    }
    copy = vpa_arena_alloc(arena, count * sizeof(*copy));
    memcpy(copy, items, count * sizeof(*copy));
    *out =
        (struct vpa_selector){.items = vpa_sort_requirements(arena, copy, count), .count = count};
    return 0;
}

/* ---- Scale ---- */

#define NOT_CONVERTIBLE                                                                            \
    "received an object from a /scale endpoint which was not convertible to autoscaling Scale: "   \
    "failed to parse target selector: "

/* Equalities become a map (the last one of a key stays) and come before the other requirements. */
static int restructure(struct vpa_arena *arena, const struct vpa_selector *in,
                       struct vpa_selector *out, struct vpa_error *err)
{
    struct vpa_requirement *items = NULL;
    size_t n = 0;

    for (size_t i = 0; i < in->count; i++) {
        switch (in->items[i].op) {
        case VPA_SELECT_NOT_EQUALS:
            return vpa_fail(err, VPA_INVALID,
                            NOT_CONVERTIBLE "\"!=\" is not a valid label selector operator");
        case VPA_SELECT_GREATER:
        case VPA_SELECT_LESS:
            return vpa_fail(err, VPA_INVALID,
                            NOT_CONVERTIBLE "\"%s\" isn't supported in label selectors",
                            in->items[i].op == VPA_SELECT_GREATER ? "gt" : "lt");
        default:
            break;
        }
    }
    if (in->count)
        items = vpa_arena_alloc(arena, in->count * sizeof(*items));
    for (size_t i = 0; i < in->count; i++) {
        if (in->items[i].op != VPA_SELECT_EQUALS && in->items[i].op != VPA_SELECT_DOUBLE_EQUALS)
            continue;
        if (n && strcmp(items[n - 1].key, in->items[i].key) == 0)
            n--;
        items[n] = in->items[i];
        items[n++].op = VPA_SELECT_EQUALS;
    }
    for (size_t i = 0; i < in->count; i++)
        if (in->items[i].op != VPA_SELECT_EQUALS && in->items[i].op != VPA_SELECT_DOUBLE_EQUALS)
            items[n++] = in->items[i];
    *out = (struct vpa_selector){.items = vpa_sort_requirements(arena, items, n), .count = n};
    return 0;
}

int vpa_selector_parse_scale(struct vpa_arena *arena, const char *text, struct vpa_selector *out,
                             struct vpa_error *err)
{
    struct vpa_selector parsed;

    if (vpa_selector_parse(arena, text, &parsed, err) < 0)
        return vpa_wrap(err, NOT_CONVERTIBLE "couldn't parse the selector string \"%s\"", text);
    return restructure(arena, &parsed, out, err);
}
