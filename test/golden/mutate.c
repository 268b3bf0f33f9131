#include "mutate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vpa/base/buf.h"
#include "vpa/json/json_writer.h"

#define EXACT_MAX (INT64_C(1) << 53)
#define TEXT_MAX ((size_t)64 << 20)

/* ---- dice: splitmix64 ---- */

uint64_t golden_roll(struct golden_dice *dice)
{
    uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

size_t golden_roll_below(struct golden_dice *dice, size_t count)
{
    return (size_t)(golden_roll(dice) % count);
}

/* ---- choice ---- */

static bool is_leaf(const struct vpa_json *node)
{
    return vpa_json_count(node) == 0;
}

static size_t count_leaves(const struct vpa_json *node)
{
    size_t count = 0;

    vpa_json_foreach (child, node)
        count += is_leaf(child) ? 1 : count_leaves(child);
    return count;
}

/* The leaf with that number, counted down in *rest; its path grows from the inside out. */
static const struct vpa_json *find_leaf(struct vpa_arena *arena, const struct vpa_json *node,
                                        size_t *rest, const char **path)
{
    size_t i = 0;

    vpa_json_foreach (child, node) {
        const char *below = "";
        const struct vpa_json *found = NULL;

        if (!is_leaf(child))
            found = find_leaf(arena, child, rest, &below);
        else if ((*rest)-- == 0)
            found = child;
        if (found) {
            const char *separator = *below && *below != '[' ? "." : "";

            *path = vpa_json_name(child)
                        ? vpa_arena_printf(arena, "%s%s%s", vpa_json_name(child), separator, below)
                        : vpa_arena_printf(arena, "[%zu]%s%s", i, separator, below);
            return found;
        }
        i++;
    }
    return NULL;
}

const char *golden_mutation_name(const struct golden_mutation *m)
{
    static const char *const names[] = {"changed", "removed", "added"};

    return names[m->kind];
}

struct golden_mutation golden_mutation_choose(struct vpa_arena *arena, const struct vpa_json *node,
                                              struct golden_dice *dice)
{
    struct golden_mutation m = {0};
    size_t count = count_leaves(node), kind = golden_roll_below(dice, 5);

    m.draw = golden_roll(dice);
    m.kind = kind < 3 ? GOLDEN_CHANGED : kind == 3 ? GOLDEN_REMOVED : GOLDEN_ADDED;
    if (count > 0) {
        size_t rest = golden_roll_below(dice, count);

        m.leaf = find_leaf(arena, node, &rest, &m.path);
    }
    if (m.kind == GOLDEN_REMOVED && vpa_json_is_null(m.leaf))
        m.kind = GOLDEN_CHANGED; /* null and absent say the same */
    return m;
}

/* ---- the mutated document ---- */

struct copy {
    struct vpa_arena *arena;
    struct vpa_json_writer w;
    const struct golden_mutation *m;
};

/* One character other than it was: a digit where there is one and the draw wants it. */
static const char *other_text(struct copy *c, const char *text)
{
    size_t len = strlen(text), at = len > 0 ? (size_t)(c->m->draw >> 8) % len : 0;
    char *out = vpa_arena_strdup(c->arena, text);

    if (len == 0)
        return "x";
    if (c->m->draw % 2 == 0 && strpbrk(text, "0123456789"))
        while (text[at] < '0' || text[at] > '9')
            at = (at + 1) % len;
    if (text[at] >= '0' && text[at] <= '9')
        out[at] = (char)('0' + (text[at] - '0' + 1) % 10);
    else if ((unsigned char)text[at] < 0x80)
        out[at] = text[at] == 'q' ? 'z' : 'q';
    else
        return vpa_arena_printf(c->arena, "%s+", text);
    return out;
}

static void put_other_number(struct copy *c, const struct vpa_json *leaf)
{
    int64_t n;
    double x = 0;

    if (vpa_json_int64(leaf, &n)) {
        if (n > EXACT_MAX || n < -EXACT_MAX) { /* as a double, its neighbours may be the same */
            vpa_json_put_int(&c->w, n / 2);
            return;
        }
        bool thousandfold = c->m->draw % 2 == 0 && n != 0;

        vpa_json_put_int(&c->w, thousandfold ? n * 1000 : n + 1);
        return;
    }
    vpa_json_double(leaf, &x);
    const char *text = vpa_arena_printf(c->arena, "%.17g", x * 2 + 1);
    vpa_json_put_raw(&c->w, text, strlen(text));
}

static void put_other(struct copy *c, const struct vpa_json *leaf)
{
    bool truth = false;

    switch (vpa_json_type(leaf)) {
    case VPA_JSON_ABSENT:
    case VPA_JSON_NULL:
        vpa_json_put_string(&c->w, "x");
        break;
    case VPA_JSON_BOOL:
        vpa_json_bool(leaf, &truth);
        vpa_json_put_bool(&c->w, !truth);
        break;
    case VPA_JSON_NUMBER:
        put_other_number(c, leaf);
        break;
    case VPA_JSON_STRING:
        vpa_json_put_string(&c->w, other_text(c, vpa_json_string(leaf)));
        break;
    case VPA_JSON_ARRAY:
        vpa_json_put_raw(&c->w, "[\"x\"]", 5);
        break;
    case VPA_JSON_OBJECT:
        vpa_json_put_raw(&c->w, "{\"x\":1}", 7);
        break;
    }
}

static void copy_node(struct copy *c, const struct vpa_json *node);

static void copy_child(struct copy *c, const struct vpa_json *child)
{
    bool here = child == c->m->leaf;
    const char *name = vpa_json_name(child);

    if (here && c->m->kind == GOLDEN_REMOVED)
        return;
    if (name)
        vpa_json_key(&c->w, name);
    if (here && c->m->kind == GOLDEN_CHANGED)
        put_other(c, child);
    else
        copy_node(c, child);
    if (here && c->m->kind == GOLDEN_ADDED) {
        if (name)
            vpa_json_key(&c->w, vpa_arena_printf(c->arena, "%s+", name));
        put_other(c, child);
    }
}

static void copy_node(struct copy *c, const struct vpa_json *node)
{
    if (is_leaf(node)) {
        vpa_json_put_node(&c->w, node);
        return;
    }
    bool array = vpa_json_is_array(node);
    if (array)
        vpa_json_open_array(&c->w);
    else
        vpa_json_open_object(&c->w);
    vpa_json_foreach (child, node)
        copy_child(c, child);
    if (array)
        vpa_json_close_array(&c->w);
    else
        vpa_json_close_object(&c->w);
}

char *golden_mutation_apply(struct vpa_arena *arena, const struct vpa_json *document,
                            const struct golden_mutation *m)
{
    struct copy c = {.arena = arena, .m = m};
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);

    vpa_json_writer_init(&c.w, &text);
    copy_node(&c, document);
    return vpa_json_writer_done(&c.w) ? vpa_arena_strdup(arena, vpa_buf_text(&text)) : NULL;
}
