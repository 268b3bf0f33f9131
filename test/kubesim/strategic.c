/*
 * Strategic merge patch: a merge patch that knows which lists are maps (merged by a key) or sets,
 * with the directives $patch (delete, replace, merge), $retainKeys, $setElementOrder/X and
 * $deleteFromPrimitiveList/X. The order of a merged list is the patch's where it says something
 * (sort_merged), unless an element order is given.
 */
#include "sim.h"

#include <stdint.h>
#include <string.h>

struct merge {
    struct vpa_arena *a;
    struct vpa_error *err;
};

static int merge_object(struct merge *g, const struct schema *s, struct jv *target,
                        const struct jv *patch);

static struct jv *find_element(const struct jv *list, const char *key, const struct jv *value,
                               size_t *at)
{
    for (size_t i = 0; i < jv_len(list); i++) {
        if (jv_equal(jv_get(list->items[i].value, key), value)) {
            if (at)
                *at = i;
            return list->items[i].value;
        }
    }
    return NULL;
}

static struct jv *strip_directives(struct vpa_arena *a, const struct jv *v)
{
    struct jv *copy = jv_clone(a, v);

    if (copy->type == JV_OBJ) {
        for (size_t i = 0; i < copy->count;) {
            const char *name = copy->items[i].name;
            if (!strncmp(name, "$patch", 6) || !strncmp(name, "$retainKeys", 11) ||
                !strncmp(name, "$setElementOrder/", 17) ||
                !strncmp(name, "$deleteFromPrimitiveList/", 25) ||
                copy->items[i].value->type == JV_NULL) {
                jv_remove_at(copy, i);
                continue;
            }
            copy->items[i].value = strip_directives(a, copy->items[i].value);
            i++;
        }
    } else if (copy->type == JV_ARR) {
        for (size_t i = 0; i < copy->count; i++)
            copy->items[i].value = strip_directives(a, copy->items[i].value);
    }
    return copy;
}

static int missing_key(struct merge *g, const char *key, const struct jv *element)
{
    return vpa_fail(g->err, VPA_INVALID, "map: %s does not contain declared merge key: %s",
                    jv_dump(g->a, element), key);
}

/* Without a key elements are compared as they are. */
static size_t place_in(const struct jv *list, const char *key, const struct jv *element)
{
    size_t at = SIZE_MAX;

    if (key && jv_get(element, key))
        find_element(list, key, jv_get(element, key), &at);
    for (size_t i = 0; !key && at == SIZE_MAX && i < jv_len(list); i++)
        if (jv_equal(list->items[i].value, element))
            at = i;
    return at;
}

/*
 * The order of a merged list: what the patch names stands in the patch's order, what only the
 * server has keeps its own; of the first of both the server's comes first only where the old list
 * had both, in that order.
 */
static void sort_merged(struct merge *g, const char *key, struct jv *list, const struct jv *patch,
                        const struct jv *before)
{
    struct jv *named = jv_arr(g->a), *others = jv_arr(g->a), *sorted = jv_arr(g->a);
    size_t i = 0, k = 0;

    jv_each (p, patch) {
        size_t at = place_in(list, key, p->value);
        if (at != SIZE_MAX)
            jv_push(g->a, named, list->items[at].value);
    }
    jv_each (e, list)
        if (place_in(patch, key, e->value) == SIZE_MAX)
            jv_push(g->a, others, e->value);
    while (i < others->count || k < named->count) {
        bool both = i < others->count && k < named->count;
        size_t x = both ? place_in(before, key, others->items[i].value) : 0,
               y = both ? place_in(before, key, named->items[k].value) : 0;
        bool server = both ? y != SIZE_MAX && x < y : k >= named->count;
        jv_push(g->a, sorted, server ? others->items[i++].value : named->items[k++].value);
    }
    *list = *sorted;
}

static int merge_keyed_list(struct merge *g, const struct schema *s, struct jv *target,
                            const struct jv *patch)
{
    const char *key = s->keys[0];
    const struct jv *before = jv_clone(g->a, target);

    jv_each (m, patch) {
        const char *directive = jv_text(jv_get(m->value, "$patch"));
        if (directive && !strcmp(directive, "replace") && m->value->count == 1) {
            struct jv *whole = jv_arr(g->a);
            jv_each (e, patch)
                if (e != m)
                    jv_push(g->a, whole, strip_directives(g->a, e->value));
            *target = *whole;
            return 0;
        }
    }
    jv_each (m, patch) {
        const struct jv *value = jv_get(m->value, key);
        const char *directive = jv_text(jv_get(m->value, "$patch"));
        size_t at = 0;

        if (!value)
            return missing_key(g, key, m->value);
        struct jv *there = find_element(target, key, value, &at);
        if (directive && !strcmp(directive, "delete")) {
            while ((there = find_element(target, key, value, &at)))
                jv_remove_at(target, at);
            continue;
        }
        if (!there) {
            jv_push(g->a, target, strip_directives(g->a, m->value));
        } else if (directive && !strcmp(directive, "replace")) {
            target->items[at].value = strip_directives(g->a, m->value);
        } else if (merge_object(g, s->items, there, m->value) < 0) {
            return -1;
        }
    }
    sort_merged(g, key, target, patch, before);
    return 0;
}

static void merge_set(struct merge *g, struct jv *target, const struct jv *patch)
{
    const struct jv *before = jv_clone(g->a, target);

    jv_each (m, patch)
        if (place_in(target, NULL, m->value) == SIZE_MAX)
            jv_push(g->a, target, jv_clone(g->a, m->value));
    sort_merged(g, NULL, target, patch, before);
}

/* $setElementOrder/X: listed elements in that order; the others keep their place in front of what
 * followed them. */
static void set_order(struct merge *g, const struct schema *s, struct jv *list,
                      const struct jv *order)
{
    struct jv *sorted = jv_arr(g->a);
    const char *key = s->keys[0];

    jv_each (o, order) {
        for (size_t i = 0; i < list->count; i++) {
            struct jv *e = list->items[i].value;
            bool same =
                key ? jv_equal(jv_get(e, key), jv_get(o->value, key)) : jv_equal(e, o->value);
            if (same) {
                jv_push(g->a, sorted, e);
                jv_remove_at(list, i);
                break;
            }
        }
    }
    jv_each (e, list)
        jv_push(g->a, sorted, e->value);
    *list = *sorted;
}

static void retain_keys(struct jv *target, const struct jv *keys)
{
    for (size_t i = 0; i < target->count;) {
        bool keep = false;
        jv_each (k, keys)
            keep = keep || (jv_text(k->value) && !strcmp(k->value->text, target->items[i].name));
        if (keep)
            i++;
        else
            jv_remove_at(target, i);
    }
}

static void delete_from_set(struct jv *target, const char *name, const struct jv *values)
{
    struct jv *list = jv_get(target, name);

    jv_each (v, values)
        for (size_t i = 0; i < jv_len(list); i++)
            if (jv_equal(list->items[i].value, v->value)) {
                jv_remove_at(list, i);
                break;
            }
}

static int merge_member(struct merge *g, const struct schema *field, struct jv *target,
                        const char *name, const struct jv *patch)
{
    struct jv *there = jv_get(target, name);

    if (patch->type == JV_NULL) {
        jv_del(target, name);
        return 0;
    }
    if (!there || there->type != patch->type) {
        if (patch->type == JV_ARR && field && field->keys[0]) {
            there = jv_arr(g->a); /* $patch: delete of what is not there */
            jv_set(g->a, target, name, there);
            return merge_keyed_list(g, field, there, patch);
        }
        jv_set(g->a, target, name, strip_directives(g->a, patch));
        return 0;
    }
    if (patch->type == JV_OBJ && !(field && field->replaced))
        return merge_object(g, field, there, patch);
    if (patch->type == JV_ARR && field && field->keys[0])
        return merge_keyed_list(g, field, there, patch);
    if (patch->type == JV_ARR && field && field->set) {
        merge_set(g, there, patch);
        return 0;
    }
    jv_set(g->a, target, name, strip_directives(g->a, patch));
    return 0;
}

static int merge_object(struct merge *g, const struct schema *s, struct jv *target,
                        const struct jv *patch)
{
    const char *directive = jv_text(jv_get(patch, "$patch"));

    if (directive && !strcmp(directive, "delete")) {
        target->count = 0;
        return 0;
    }
    if (directive && !strcmp(directive, "replace")) {
        *target = *strip_directives(g->a, patch);
        return 0;
    }
    if (directive && strcmp(directive, "merge") != 0)
        return vpa_fail(g->err, VPA_INVALID, "unknown patch type: %s", directive);
    jv_each (m, patch) {
        if (!strcmp(m->name, "$patch") || !strncmp(m->name, "$setElementOrder/", 17))
            continue;
        if (!strcmp(m->name, "$retainKeys")) {
            retain_keys(target, m->value);
            continue;
        }
        if (!strncmp(m->name, "$deleteFromPrimitiveList/", 25)) {
            delete_from_set(target, m->name + 25, m->value);
            continue;
        }
        if (merge_member(g, schema_field(s, m->name), target, m->name, m->value) < 0)
            return -1;
    }
    jv_each (m, patch) {
        if (strncmp(m->name, "$setElementOrder/", 17) != 0)
            continue;
        struct jv *list = jv_get(target, m->name + 17);
        const struct schema *field = schema_field(s, m->name + 17);
        if (jv_is(list, JV_ARR) && field)
            set_order(g, field, list, m->value);
    }
    return 0;
}

int strategic_patch(struct vpa_arena *a, const struct schema *s, struct jv *target,
                    const struct jv *patch, struct vpa_error *err)
{
    struct merge g = {a, err};
    return merge_object(&g, s, target, patch);
}
