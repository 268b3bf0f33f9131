#include "managers.h"

#include "fields.h"

#include <string.h>

struct jv *managers_find(const struct jv *list, const char *manager, const char *operation,
                         const char *sub)
{
    jv_each (m, list)
        if (!strcmp(jv_text_at(m->value, "manager"), manager) &&
            !strcmp(jv_text_at(m->value, "operation"), operation) &&
            !strcmp(jv_text_at(m->value, "subresource"), sub))
            return m->value;
    return NULL;
}

void managers_put(struct ctx *c, struct jv *list, const char *operation, const char *sub,
                  struct jv *set)
{
    struct jv *e = jv_obj(c->a);
    struct jv *old = managers_find(list, c->field_manager, operation, sub);

    jv_set_str(c->a, e, "manager", c->field_manager);
    jv_set_str(c->a, e, "operation", operation);
    jv_set_str(c->a, e, "apiVersion", type_api_version(c->a, c->type));
    jv_set_str(c->a, e, "time", sim_now_text(c->sim, c->a));
    jv_set_str(c->a, e, "fieldsType", "FieldsV1");
    jv_set(c->a, e, "fieldsV1", set);
    if (*sub)
        jv_set_str(c->a, e, "subresource", sub);
    if (old)
        *old = *e;
    else
        jv_push(c->a, list, e);
}

void managers_drop_doubles(struct jv *list)
{
    static const char *const names[] = {"manager", "operation", "apiVersion", "subresource"};

    for (size_t i = 0; i < jv_len(list);) {
        bool double_of_later = false;
        for (size_t k = i + 1; k < list->count && !double_of_later; k++) {
            double_of_later = true;
            for (size_t n = 0; n < VPA_COUNT(names); n++)
                double_of_later =
                    double_of_later && !strcmp(jv_text_at(list->items[i].value, names[n]),
                                               jv_text_at(list->items[k].value, names[n]));
        }
        if (double_of_later)
            jv_remove_at(list, i);
        else
            i++;
    }
}

void managers_drop_empty(struct jv *list)
{
    for (size_t i = 0; i < jv_len(list);) {
        if (jv_len(jv_get(list->items[i].value, "fieldsV1")))
            i++;
        else
            jv_remove_at(list, i);
    }
}

struct compare {
    struct ctx *c;
    const struct jv *old, *now;
    struct jv *out;
};

static void compare_leaf(struct fields_visit *w, const struct schema *s, const char *dotted)
{
    struct compare *k = w->ctx;

    (void)s;
    (void)dotted;
    if (!jv_equal(fields_value_at(w->a, k->c->type, k->old, w->path),
                  fields_value_at(w->a, k->c->type, k->now, w->path)))
        fields_add_path(w->a, k->out, w->path);
}

/* An element that is new stands for itself. */
static void compare_inner(struct fields_visit *w, const char *dotted)
{
    struct compare *k = w->ctx;
    bool element = *w->path->items[w->path->count - 1].value->text == 'k';

    (void)dotted;
    if (!element || fields_value_at(w->a, k->c->type, k->old, w->path))
        return;
    jv_push(w->a, w->path, jv_str(w->a, "."));
    fields_add_path(w->a, k->out, w->path);
    w->path->count--;
}

/* Leaves of `now` whose value differs from `old`. */
static struct jv *changed_fields(struct ctx *c, const struct jv *old, const struct jv *now)
{
    struct compare k = {c, old, now, jv_obj(c->a)};
    struct fields_visit w = {
        .a = c->a, .path = jv_arr(c->a), .leaf = compare_leaf, .inner = compare_inner, .ctx = &k};

    fields_walk(&w, c->type->schema, fields_of_object(c->a, c->type, now, false), "");
    return k.out;
}

/* Fields of old that now lacks; maps stand for themselves where they are gone. */
static struct jv *removed_fields(struct ctx *c, const struct jv *old, const struct jv *now)
{
    struct jv *set = fields_of_object(c->a, c->type, old, true);
    fields_take(set, fields_of_object(c->a, c->type, now, true), false);
    return set;
}

/* A structure that holds nothing else goes with its nulls. */
static void drop_nulls(struct jv *object, const char *member)
{
    struct jv *v = jv_get(object, member);
    size_t before = jv_len(v);

    for (size_t i = 0; i < jv_len(v);) {
        if (v->items[i].value->type == JV_NULL)
            jv_remove_at(v, i);
        else
            i++;
    }
    if (before && !jv_len(v))
        jv_del(object, member);
}

struct jv *managers_all(struct ctx *c, const struct jv *now)
{
    struct jv *object = jv_clone(c->a, now);

    if (!c->type->crd)
        drop_nulls(object, "spec");

    for (size_t i = 0; !c->type->crd && i < object->count;) {
        const struct jv *v = object->items[i].value;
        if (v->type == JV_NULL || (v->type == JV_STR && !*v->text))
            jv_remove_at(object, i);
        else
            i++;
    }
    return fields_of_object(c->a, c->type, object, true);
}

void track_fields(struct ctx *c, const struct jv *old, struct jv *now, const char *sub)
{
    struct jv *meta = jv_get(now, "metadata"), *list;

    if (c->sim->opt.bare)
        return;
    if (!c->field_manager || !*c->field_manager)
        c->field_manager = "unknown";
    list = jv_get(meta, "managedFields");
    if (!old) {
        if (list && jv_len(list))
            return; /* made by apply */
        list = jv_arr(c->a);
        jv_set(c->a, meta, "managedFields", list);
        struct jv *all = managers_all(c, now);
        if (c->type->flags & T_STATUS)
            jv_del(all, "f:status");
        if (jv_len(all))
            managers_put(c, list, "Update", "", all);
        return;
    }
    if (!jv_len(list))
        return; /* what nobody owns stays so until somebody applies it */
    list = jv_clone(c->a, list);
    managers_drop_doubles(list);
    struct jv *changed = changed_fields(c, old, now), *removed = removed_fields(c, old, now);
    jv_each (m, list) {
        struct jv *set = jv_get(m->value, "fieldsV1");
        bool mine = !strcmp(jv_text_at(m->value, "manager"), c->field_manager) &&
                    !strcmp(jv_text_at(m->value, "operation"), "Update") &&
                    !strcmp(jv_text_at(m->value, "subresource"), sub);
        if (!mine)
            fields_subtract(set, changed);
        fields_subtract(set, removed);
    }
    if (jv_len(changed)) {
        struct jv *mine = managers_find(list, c->field_manager, "Update", sub);
        struct jv *set = mine ? jv_clone(c->a, jv_get(mine, "fieldsV1")) : jv_obj(c->a);
        managers_put(c, list, "Update", sub, fields_unite(c->a, set, changed));
    }
    managers_drop_empty(list);
    if (jv_len(list))
        jv_set(c->a, meta, "managedFields", list);
    else
        jv_del(meta, "managedFields");
}

static bool is_apply(const struct jv *entry)
{
    return !strcmp(jv_text_at(entry, "operation"), "Apply");
}

/*
 * A write through the scale subresource takes the member at `path` (segments "f:spec", ...) from
 * its owners. The server looks at the managers of the scale alone, a scale leaves out 0, and a set
 * of managers that is empty stays so:
 *
 *     changed     the writer owns it, through the subresource, where somebody did before; nobody
 *                 owns 0
 *     unchanged   who applied it keeps it; of others it stands in an entry of its own from then on,
 *                 which goes with the next write of any kind where the manager has another entry,
 *                 and with the next one where the value is 0
 *
 * True when the bookkeeping changed.
 */
bool track_scale(struct ctx *c, struct jv *object, const struct jv *path, bool changed, bool zero)
{
    struct jv *meta = jv_get(object, "metadata"), *list = jv_get(meta, "managedFields");
    struct jv *out = jv_arr(c->a), *only = jv_obj(c->a);
    size_t entries = jv_len(list);

    fields_add_path(c->a, only, path);
    managers_drop_doubles(list);
    bool moved = jv_len(list) != entries;
    jv_each (m, list) {
        struct jv *rest = jv_clone(c->a, jv_get(m->value, "fieldsV1"));
        bool owned = fields_have(rest, path) && (changed || !is_apply(m->value));
        if (owned)
            fields_subtract(rest, only);
        if (!owned || (!changed && !jv_len(rest) && !zero)) {
            jv_push(c->a, out, m->value);
            continue;
        }
        moved = true;
        if (!changed && jv_len(rest)) {
            struct jv *split = jv_clone(c->a, m->value);
            jv_set(c->a, split, "fieldsV1", jv_clone(c->a, only));
            jv_push(c->a, out, split);
        }
        jv_set(c->a, m->value, "fieldsV1", rest);
        if (jv_len(rest))
            jv_push(c->a, out, m->value);
    }
    if (moved && changed && !zero) {
        if (!c->field_manager || !*c->field_manager)
            c->field_manager = "unknown";
        managers_put(c, out, "Update", "scale", only);
    }
    if (moved)
        jv_set(c->a, meta, "managedFields", out);
    return moved;
}
