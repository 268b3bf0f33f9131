/*
 * A list is a sorted array: cpu, memory, then the others by name. Lists have two to five members,
 * so places are found by walking. The encoder orders names bytewise instead, as Go does for maps.
 */
#include "vpa/api/resources.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/json/json_decode.h"

static int name_rank(const char *name)
{
    if (name[0] == 'c' && strcmp(name, VPA_CPU) == 0)
        return 0;
    return name[0] == 'm' && strcmp(name, VPA_MEMORY) == 0 ? 1 : 2;
}

int vpa_resource_name_cmp(const char *a, const char *b)
{
    int rank_a = name_rank(a), rank_b = name_rank(b);

    return rank_a != rank_b ? rank_a - rank_b : strcmp(a, b);
}

/* Place of the name, or where it would stand. */
static size_t place_of(const struct vpa_resource_list *list, const char *name, bool *found)
{
    size_t at =
        VPA_LOWER_BOUND(i, list->count, vpa_resource_name_cmp(list->items[i].name, name) < 0);

    *found = at < list->count && strcmp(list->items[at].name, name) == 0;
    return at;
}

const struct vpa_quantity *vpa_resource_find(const struct vpa_resource_list *list, const char *name)
{
    bool found;

    /* Nearly always it is one of the two names that are constants, in a list of two. */
    for (size_t i = 0; i < list->count && i < 2; i++)
        if (list->items[i].name == name)
            return &list->items[i].quantity;
    size_t at = place_of(list, name, &found);

    return found ? &list->items[at].quantity : NULL;
}

void vpa_resource_set(struct vpa_arena *arena, struct vpa_resource_list *list, const char *name,
                      struct vpa_quantity quantity)
{
    bool found;
    size_t at = place_of(list, name, &found);
    struct vpa_resource *items;

    if (found) {
        list->items[at].quantity = quantity;
        return;
    }
    items = vpa_arena_alloc(arena, (list->count + 1) * sizeof(*items));
    if (at)
        memcpy(items, list->items, at * sizeof(*items));
    if (at < list->count)
        memcpy(items + at + 1, list->items + at, (list->count - at) * sizeof(*items));
    items[at] = (struct vpa_resource){.name = name, .quantity = quantity};
    list->items = items;
    list->count++;
    list->present = true;
}

void vpa_resource_remove(struct vpa_resource_list *list, const char *name)
{
    bool found;
    size_t at = place_of(list, name, &found);

    if (!found)
        return;
    memmove(list->items + at, list->items + at + 1, (list->count - at - 1) * sizeof(*list->items));
    list->count--;
}

/* The two names that every list has are not copied. */
static const char *copy_name(struct vpa_arena *arena, const char *name)
{
    if (strcmp(name, VPA_CPU) == 0)
        return VPA_CPU;
    return strcmp(name, VPA_MEMORY) == 0 ? VPA_MEMORY : vpa_arena_strdup(arena, name);
}

struct vpa_resource_list vpa_resource_list_copy(struct vpa_arena *arena,
                                                const struct vpa_resource_list *list)
{
    struct vpa_resource_list copy = {.count = list->count, .present = list->present};

    if (list->count == 0)
        return copy;
    copy.items = vpa_arena_alloc(arena, list->count * sizeof(*copy.items));
    for (size_t i = 0; i < list->count; i++) {
        copy.items[i].name = copy_name(arena, list->items[i].name);
        copy.items[i].quantity = vpa_quantity_copy(arena, &list->items[i].quantity);
    }
    return copy;
}

bool vpa_resource_list_equal(const struct vpa_resource_list *a, const struct vpa_resource_list *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].name, b->items[i].name) != 0 ||
            vpa_quantity_cmp(&a->items[i].quantity, &b->items[i].quantity) != 0)
            return false;
    return true;
}

/* ---- decode ---- */

/* Blanks at both ends of a string are dropped before parsing, as upstream's decoder does. */
int vpa_quantity_decode(struct vpa_arena *arena, const struct vpa_json *node,
                        struct vpa_quantity *out, struct vpa_error *err)
{
    const char *text = vpa_json_string(node);
    size_t len;

    if (vpa_json_is_null(node)) {
        *out = vpa_quantity_units(0, VPA_DECIMAL_SI);
        return 0;
    }
    if (!text)
        text = vpa_json_number_text(node);
    if (!text || vpa_json_string_escaped(node))
        text = vpa_json_is_object(node) ? "{}" : "[]"; /* refused with upstream's text */
    text += strspn(text, " ");
    len = strlen(text);
    if (len == 0 || text[len - 1] != ' ')
        return vpa_quantity_parse(arena, text, out, err);
    while (len && text[len - 1] == ' ')
        len--;
    return vpa_quantity_parse(arena, vpa_arena_strndup(arena, text, len), out, err);
}

static int compare_names(const void *a, const void *b)
{
    return vpa_resource_name_cmp(((const struct vpa_resource *)a)->name,
                                 ((const struct vpa_resource *)b)->name);
}

int vpa_resource_list_decode(struct vpa_arena *arena, const struct vpa_json *node,
                             struct vpa_resource_list *out, struct vpa_error *err)
{
    struct vpa_resource_list list = {.present = !vpa_json_is_null(node)};
    size_t count = vpa_json_count(node);

    if (list.present && !vpa_json_is_object(node))
        return vpa_json_wrong_type(node, "object", err);
    if (vpa_json_check_length(node, err) < 0)
        return -1;
    if (count)
        list.items = vpa_arena_alloc(arena, count * sizeof(*list.items));
    vpa_json_foreach (member, node) {
        const char *name = vpa_json_name(member);
        struct vpa_resource *item = &list.items[list.count];

        if (vpa_quantity_decode(arena, member, &item->quantity, err) < 0)
            return -1; /* upstream's text has no path */
        item->name = vpa_arena_keep(arena, name);
        list.count++;
    }
    if (list.count > 1)
        qsort(list.items, list.count, sizeof(*list.items), compare_names);
    *out = list;
    return 0;
}

/* Something in it that a list of amounts is not: an empty one says nothing. */
static bool says_more(const struct vpa_json *resources)
{
    vpa_json_foreach (member, resources) {
        const char *name = vpa_json_name(member);

        if (vpa_json_first(member) && strcmp(name, "requests") != 0 && strcmp(name, "limits") != 0)
            return true;
    }
    return false;
}

int vpa_resources_decode(struct vpa_arena *arena, const struct vpa_json *node,
                         struct vpa_resources *out, struct vpa_error *err)
{
    struct vpa_resources resources = {.present = !vpa_json_is_null(node)};

    if (resources.present && !vpa_json_is_object(node))
        return vpa_json_wrong_type(node, "object", err);
    if (vpa_resource_list_decode(arena, vpa_json_find(node, "requests"), &resources.requests, err) <
        0)
        return vpa_wrap(err, "requests");
    if (vpa_resource_list_decode(arena, vpa_json_find(node, "limits"), &resources.limits, err) < 0)
        return vpa_wrap(err, "limits");
    resources.others = says_more(node);
    *out = resources;
    return 0;
}

/* ---- encode ---- */

static void encode_item(struct vpa_json_writer *w, const struct vpa_resource *item)
{
    vpa_json_member_quantity(w, item->name, &item->quantity);
}

/* Bytewise: cpu and memory stand first in the list, the others are in order behind them. */
void vpa_resource_list_encode(struct vpa_json_writer *w, const struct vpa_resource_list *list)
{
    size_t waiting = 0, ranked = 0;

    while (ranked < list->count && name_rank(list->items[ranked].name) < 2)
        ranked++;
    vpa_json_open_object(w);
    for (size_t i = ranked; i < list->count; i++) {
        while (waiting < ranked && strcmp(list->items[waiting].name, list->items[i].name) < 0)
            encode_item(w, &list->items[waiting++]);
        encode_item(w, &list->items[i]);
    }
    while (waiting < ranked)
        encode_item(w, &list->items[waiting++]);
    vpa_json_close_object(w);
}
