/*
 * Labels and selectors. Upstream has three ways to a selector: the structured form, a plain map,
 * and text. All end in the same list of requirements, checked by the same rules (requirement.c) and
 * sorted by key; equal keys keep the order they came in, and nothing is merged. The text grammar is
 * in selector_text.c.
 */
#include "vpa/api/labels.h"

#include <stdlib.h>
#include <string.h>

#include "labels_private.h"
#include "vpa/base/str.h"
#include "vpa/json/json_decode.h"
#include "vpa/json/json_writer.h"

/* ---- labels ---- */

/* Of the texts "k=". A key can be the beginning of another ("a", "a-b"), so '=' takes part. */
static int compare_keys(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    unsigned char c = *a ? (unsigned char)*a : '=', d = *b ? (unsigned char)*b : '=';
    if (c != d)
        return c < d ? -1 : 1;
    return (*a != '\0') - (*b != '\0'); /* 0, but for an '=' in a key, which no valid one has */
}

const char *vpa_labels_get(const struct vpa_labels *labels, const char *key)
{
    size_t low = 0, high = labels->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_keys(labels->items[middle].key, key);
        if (order == 0)
            return labels->items[middle].value;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int compare_labels(const void *a, const void *b)
{
    return compare_keys(((const struct vpa_label *)a)->key, ((const struct vpa_label *)b)->key);
}

int vpa_labels_decode(struct vpa_arena *arena, const struct vpa_json *node, struct vpa_labels *out,
                      struct vpa_error *err)
{
    struct vpa_label *items = NULL;
    size_t count = vpa_json_count(node), n = 0;

    if (!vpa_json_is_null(node) && !vpa_json_is_object(node))
        return vpa_json_wrong_type(node, "object", err);
    if (vpa_json_check_length(node, err) < 0)
        return -1;
    if (count)
        items = vpa_arena_alloc(arena, count * sizeof(*items));
    vpa_json_foreach (member, node) {
        const char *key = vpa_json_name(member), *value = vpa_json_string(member);

        if (!value && !vpa_json_is_null(member)) {
            vpa_json_wrong_type(member, "string", err);
            return vpa_wrap(err, "%s", key);
        }
        items[n].key = vpa_arena_keep(arena, key);
        items[n].value = vpa_arena_keep(arena, vpa_or_empty(value));
        n++;
    }
    if (n > 1)
        qsort(items, n, sizeof(*items), compare_labels);
    *out = (struct vpa_labels){.items = items, .count = n, .present = !vpa_json_is_null(node)};
    return 0;
}

void vpa_labels_key(const struct vpa_labels *labels, struct vpa_buf *out)
{
    for (size_t i = 0; i < labels->count; i++) {
        if (i)
            vpa_buf_putc(out, ',');
        vpa_buf_puts(out, labels->items[i].key);
        vpa_buf_putc(out, '=');
        vpa_buf_puts(out, labels->items[i].value);
    }
}

/* Reads the text of a label set, byte by byte. */
struct key_reader {
    const struct vpa_label *label, *end;
    const char *next;
    bool in_value;
};

static unsigned char next_byte(struct key_reader *r)
{
    if (*r->next)
        return (unsigned char)*r->next++;
    if (!r->in_value) {
        r->in_value = true;
        r->next = r->label->value;
        return '=';
    }
    if (r->label + 1 == r->end)
        return '\0';
    r->label++;
    r->in_value = false;
    r->next = r->label->key;
    return ',';
}

int vpa_labels_compare(const struct vpa_labels *a, const struct vpa_labels *b)
{
    size_t i = 0;

    /* Interned texts: most of two label sets of one workload is equal. */
    while (i < a->count && i < b->count && a->items[i].key == b->items[i].key &&
           a->items[i].value == b->items[i].value)
        i++;
    if (i == a->count || i == b->count)
        return (a->count > i) - (b->count > i);

    struct key_reader p = {&a->items[i], a->items + a->count, a->items[i].key, false};
    struct key_reader q = {&b->items[i], b->items + b->count, b->items[i].key, false};
    unsigned char c, d;
    do {
        c = next_byte(&p);
        d = next_byte(&q);
    } while (c && c == d);
    return (c > d) - (c < d);
}

/* ---- building ---- */

/* By key, and by place where keys are equal: the array positions break ties. */
static int compare_requirements(const void *a, const void *b)
{
    const struct vpa_requirement *x = *(const struct vpa_requirement *const *)a;
    const struct vpa_requirement *y = *(const struct vpa_requirement *const *)b;
    int order = strcmp(x->key, y->key);

    return order ? order : (x < y ? -1 : x > y);
}

const struct vpa_requirement *
vpa_sort_requirements(struct vpa_arena *arena, const struct vpa_requirement *items, size_t count)
{
    const struct vpa_requirement **order;
    struct vpa_requirement *sorted;

    if (count < 2)
        return items;
    order = vpa_arena_alloc(arena, count * sizeof(*order));
    sorted = vpa_arena_alloc(arena, count * sizeof(*sorted));
    for (size_t i = 0; i < count; i++)
        order[i] = &items[i];
    qsort(order, count, sizeof(*order), compare_requirements);
    for (size_t i = 0; i < count; i++)
        sorted[i] = *order[i];
    return sorted;
}

static void equals(struct vpa_arena *arena, const struct vpa_label *label,
                   struct vpa_requirement *out)
{
    const char **value = vpa_arena_alloc(arena, sizeof(*value));

    *value = vpa_arena_strdup(arena, label->value);
    *out = (struct vpa_requirement){.key = vpa_arena_strdup(arena, label->key),
                                    .op = VPA_SELECT_EQUALS,
                                    .values = value,
                                    .value_count = 1};
}

static int decode_operator(const char *text, enum vpa_selector_op *out, struct vpa_error *err)
{
    static const struct {
        const char *text;
        enum vpa_selector_op op;
    } operators[] = {{"In", VPA_SELECT_IN},
                     {"NotIn", VPA_SELECT_NOT_IN},
                     {"Exists", VPA_SELECT_EXISTS},
                     {"DoesNotExist", VPA_SELECT_DOES_NOT_EXIST}};
    vpa_auto_buf quoted = VPA_BUF(REQUIREMENT_TEXT_MAX);

    for (size_t i = 0; i < VPA_COUNT(operators); i++) {
        if (strcmp(text, operators[i].text) == 0) {
            *out = operators[i].op;
            return 0;
        }
    }
    vpa_quote_go(&quoted, text);
    return vpa_fail(err, VPA_INVALID, "%s is not a valid label selector operator",
                    vpa_buf_text(&quoted));
}

struct expression {
    const char *key;
    const char *op;
    const char *const *values;
    size_t value_count;
};

static const struct vpa_json_field expression_fields[] = {
    VPA_JSON_STRING(struct expression, key, "key", 0),
    VPA_JSON_STRING(struct expression, op, "operator", 0),
    VPA_JSON_STRINGS(struct expression, values, value_count, "values", 0),
};
static const struct vpa_json_shape expression_shape =
    VPA_JSON_SHAPE(struct expression, expression_fields);

struct structured {
    const struct expression *expressions;
    size_t expression_count;
};

static const struct vpa_json_field structured_fields[] = {
    VPA_JSON_ARRAY_OF(struct structured, expressions, expression_count, "matchExpressions",
                      &expression_shape, 0),
};
static const struct vpa_json_shape structured_shape =
    VPA_JSON_SHAPE(struct structured, structured_fields);

static int from_expression(struct vpa_arena *arena, const struct expression *e,
                           struct vpa_requirement *out, struct vpa_error *err)
{
    struct vpa_requirement r = {.key = e->key, .value_count = e->value_count};
    const char **values = NULL;

    if (decode_operator(e->op, &r.op, err) < 0)
        return -1;
    if (e->value_count) {
        values = vpa_arena_alloc(arena, e->value_count * sizeof(*values));
        memcpy(values, e->values, e->value_count * sizeof(*values));
    }
    r.values = values;
    if (vpa_check_requirement(&r, err) < 0)
        return -1; /* indexes count the values as they were given */
    if (e->value_count > 1)
        qsort(values, e->value_count, sizeof(*values), vpa_str_compare);
    *out = r;
    return 0;
}

static int build(struct vpa_arena *arena, const struct vpa_labels *labels,
                 const struct structured *more, struct vpa_selector *out, struct vpa_error *err)
{
    size_t count = labels->count + more->expression_count, n = 0;
    struct vpa_requirement *items = NULL;

    if (count)
        items = vpa_arena_alloc(arena, count * sizeof(*items));
    for (size_t i = 0; i < labels->count; i++, n++) {
        equals(arena, &labels->items[i], &items[n]);
        if (vpa_check_requirement(&items[n], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < more->expression_count; i++, n++)
        if (from_expression(arena, &more->expressions[i], &items[n], err) < 0)
            return -1;
    *out =
        (struct vpa_selector){.items = vpa_sort_requirements(arena, items, count), .count = count};
    return 0;
}

int vpa_selector_decode(struct vpa_arena *arena, const struct vpa_json *node,
                        struct vpa_selector *out, struct vpa_error *err)
{
    struct vpa_labels labels;
    struct structured more;

    if (vpa_json_is_null(node)) {
        *out = (struct vpa_selector){.nothing = true};
        return 0;
    }
    if (vpa_json_decode(arena, node, &structured_shape, &more, err) < 0)
        return -1;
    if (vpa_labels_decode(arena, vpa_json_find(node, "matchLabels"), &labels, err) < 0)
        return vpa_wrap(err, "matchLabels");
    return build(arena, &labels, &more, out, err);
}

int vpa_selector_from_labels(struct vpa_arena *arena, const struct vpa_labels *labels,
                             struct vpa_selector *out, struct vpa_error *err)
{
    const struct structured none = {0};

    if (!labels->present) {
        *out = (struct vpa_selector){.nothing = true};
        return 0;
    }
    return build(arena, labels, &none, out, err);
}

struct vpa_selector vpa_selector_copy(struct vpa_arena *arena, const struct vpa_selector *selector)
{
    struct vpa_selector copy = {.count = selector->count, .nothing = selector->nothing};
    struct vpa_requirement *items;

    if (selector->count == 0)
        return copy;
    items = vpa_arena_alloc(arena, selector->count * sizeof(*items));
    for (size_t i = 0; i < selector->count; i++) {
        const struct vpa_requirement *from = &selector->items[i];
        const char **values = NULL;

        if (from->value_count)
            values = vpa_arena_alloc(arena, from->value_count * sizeof(*values));
        for (size_t k = 0; k < from->value_count; k++)
            values[k] = vpa_arena_strdup(arena, from->values[k]);
        items[i] = (struct vpa_requirement){.key = vpa_arena_strdup(arena, from->key),
                                            .op = from->op,
                                            .values = values,
                                            .value_count = from->value_count};
    }
    copy.items = items;
    return copy;
}

/* ---- matching ---- */

/* They are sorted: a pod asks the selectors of its whole namespace, however long these are. */
static bool has_value(const struct vpa_requirement *r, const char *value)
{
    return r->value_count > 0 &&
           bsearch(&value, r->values, r->value_count, sizeof(*r->values), vpa_str_compare) != NULL;
}

static bool within_bound(const struct vpa_requirement *r, const char *value)
{
    int64_t n, bound;

    if (!value || !vpa_label_integer(value, &n) || !vpa_label_integer(r->values[0], &bound))
        return false;
    return r->op == VPA_SELECT_GREATER ? n > bound : n < bound;
}

static bool requirement_holds(const struct vpa_requirement *r, const char *value)
{
    switch (r->op) {
    case VPA_SELECT_EQUALS:
    case VPA_SELECT_DOUBLE_EQUALS:
    case VPA_SELECT_IN:
        return value && has_value(r, value);
    case VPA_SELECT_NOT_EQUALS:
    case VPA_SELECT_NOT_IN:
        return !value || !has_value(r, value);
    case VPA_SELECT_EXISTS:
        return value != NULL;
    case VPA_SELECT_DOES_NOT_EXIST:
        return value == NULL;
    default:
        return within_bound(r, value);
    }
}

bool vpa_selector_matches(const struct vpa_selector *selector, const struct vpa_labels *labels)
{
    if (selector->nothing)
        return false;
    for (size_t i = 0; i < selector->count; i++)
        if (!requirement_holds(&selector->items[i], vpa_labels_get(labels, selector->items[i].key)))
            return false;
    return true;
}

/* ---- format ---- */

static void format_requirement(const struct vpa_requirement *r, struct vpa_buf *out)
{
    static const char *const infix[] = {
        [VPA_SELECT_EQUALS] = "=",        [VPA_SELECT_DOUBLE_EQUALS] = "==",
        [VPA_SELECT_NOT_EQUALS] = "!=",   [VPA_SELECT_IN] = " in ",
        [VPA_SELECT_NOT_IN] = " notin ",  [VPA_SELECT_EXISTS] = "",
        [VPA_SELECT_DOES_NOT_EXIST] = "", [VPA_SELECT_GREATER] = ">",
        [VPA_SELECT_LESS] = "<",
    };
    bool list = r->op == VPA_SELECT_IN || r->op == VPA_SELECT_NOT_IN;

    if (r->op == VPA_SELECT_DOES_NOT_EXIST)
        vpa_buf_putc(out, '!');
    vpa_buf_puts(out, r->key);
    vpa_buf_puts(out, infix[r->op]);
    if (list)
        vpa_buf_putc(out, '(');
    for (size_t i = 0; i < r->value_count; i++) {
        if (i)
            vpa_buf_putc(out, ',');
        vpa_buf_puts(out, r->values[i]);
    }
    if (list)
        vpa_buf_putc(out, ')');
}

void vpa_selector_format(const struct vpa_selector *selector, struct vpa_buf *out)
{
    for (size_t i = 0; i < selector->count; i++) {
        if (i)
            vpa_buf_putc(out, ',');
        format_requirement(&selector->items[i], out);
    }
}

const char *vpa_requirement_value(const struct vpa_requirement *r)
{
    bool demands = r->op == VPA_SELECT_EQUALS || r->op == VPA_SELECT_DOUBLE_EQUALS ||
                   (r->op == VPA_SELECT_IN && r->value_count == 1);

    return demands ? r->values[0] : NULL;
}
