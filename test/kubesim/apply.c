/*
 * Server-side apply: what the manager owned before and no longer applies is removed unless somebody
 * else owns it; what it applies with another value than a different owner's is a conflict (or taken
 * over by force).
 */
#include "apply_merge.h"
#include "fields.h"
#include "managers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conflict {
    const char *who; /* "one" using v1 */
    const char *key; /* the order of managers in the server */
    const char *field;
};
struct conflicts {
    struct ctx *c;
    const struct jv *live, *merged, *list;
    struct conflict *items;
    size_t count, capacity;
    struct jv *taken; /* what force takes from the others */
};

static void add_conflict(struct conflicts *k, const struct jv *entry, const char *field)
{
    struct ctx *c = k->c;
    const char *sub = jv_text_at(entry, "subresource");
    bool update = !strcmp(jv_text_at(entry, "operation"), "Update");
    const char *who =
        vpa_arena_printf(c->a, "\"%s\"%s%s%s%s%s", jv_text_at(entry, "manager"),
                         *sub ? " with subresource \"" : "", sub, *sub ? "\"" : "",
                         update ? " using " : "", update ? jv_text_at(entry, "apiVersion") : "");

    VPA_ARENA_GROW(c->a, k->items, k->count, k->capacity);
    const char *key = vpa_arena_printf(
        c->a, "%s\"%s%s%s%s", jv_text_at(entry, "manager"), jv_text_at(entry, "operation"),
        update ? jv_text_at(entry, "apiVersion") : "", *sub ? "," : "}", sub);
    k->items[k->count++] = (struct conflict){who, key, field};
}

static bool is_own(const struct ctx *c, const struct jv *entry)
{
    return !strcmp(jv_text_at(entry, "manager"), c->field_manager) &&
           !strcmp(jv_text_at(entry, "operation"), "Apply");
}

static void conflict_leaf(struct fields_visit *w, const struct schema *s, const char *dotted)
{
    struct conflicts *k = w->ctx;
    struct ctx *c = k->c;

    (void)s;
    const struct jv *live = fields_value_at(c->a, c->type, k->live, w->path);
    if (jv_equal(live, fields_value_at(c->a, c->type, k->merged, w->path)))
        return;
    jv_each (m, k->list) {
        if (is_own(c, m->value) || !fields_have(jv_get(m->value, "fieldsV1"), w->path))
            continue;
        add_conflict(k, m->value, dotted);
        fields_add_path(c->a, k->taken, w->path);
    }
}

/* A map or list that is not there any more, but somebody's: they applied an empty one. */
static void conflict_inner(struct fields_visit *w, const char *dotted)
{
    struct conflicts *k = w->ctx;
    struct ctx *c = k->c;

    if (fields_value_at(c->a, c->type, k->live, w->path))
        return;
    jv_each (m, k->list) {
        if (is_own(c, m->value) || !fields_have_whole(jv_get(m->value, "fieldsV1"), w->path))
            continue;
        add_conflict(k, m->value, dotted);
        fields_add_path(c->a, k->taken, w->path);
    }
}

/* By manager, then members before what lies deeper, each in the order of their names. */
static int by_manager_and_field(const void *x, const void *y)
{
    const struct conflict *a = x, *b = y;
    int order = strcmp(a->key, b->key);
    const char *p = a->field, *q = b->field;

    while (!order) {
        size_t n = 1 + strcspn(p + 1, ".["), m = 1 + strcspn(q + 1, ".[");
        bool last = !p[n], other_last = !q[m];
        bool same = n == m && !strncmp(p, q, n);
        if (same && (last || other_last))
            return last && other_last ? 0 : last ? -1 : 1;
        if (last != other_last)
            return last ? -1 : 1;
        if (!same)
            return strncmp(p, q, n < m ? m : n);
        p += n;
        q += m;
    }
    return order;
}

/* One conflict stands in a line, several stand in a list for each manager. */
static const char *conflict_text(struct ctx *c, const struct conflicts *k)
{
    if (k->count == 1)
        return vpa_arena_printf(c->a, "Apply failed with 1 conflict: conflict with %s: %s",
                                k->items[0].who, k->items[0].field);
    const char *text = vpa_arena_printf(c->a, "Apply failed with %zu conflicts: ", k->count);
    for (size_t i = 0; i < k->count; i++) {
        bool next = i == 0 || strcmp(k->items[i - 1].who, k->items[i].who) != 0;
        if (next)
            text = vpa_arena_printf(c->a, "%s%sconflicts with %s:", text, i ? "\n" : "",
                                    k->items[i].who);
        text = vpa_arena_printf(c->a, "%s\n- %s", text, k->items[i].field);
    }
    return text;
}

static int report_conflicts(struct ctx *c, const struct conflicts *k)
{
    struct jv *details = jv_obj(c->a), *causes = jv_arr(c->a);

    qsort(k->items, k->count, sizeof(*k->items), by_manager_and_field);
    for (size_t i = 0; i < k->count; i++) {
        struct jv *cause = jv_obj(c->a);
        jv_set_str(c->a, cause, "reason", "FieldManagerConflict");
        jv_set_str(c->a, cause, "message",
                   vpa_arena_printf(c->a, "conflict with %s", k->items[i].who));
        jv_set_str(c->a, cause, "field", k->items[i].field);
        jv_push(c->a, causes, cause);
    }
    jv_set(c->a, details, "causes", causes);
    return fail_details(c, 409, "Conflict", details, conflict_text(c, k));
}

/* What is there without an owner before anybody applies something: nobody in particular owns it. */
static void own_what_was_before(struct ctx *c, const struct jv *live, struct jv *list)
{
    struct jv *set = managers_all(c, live);
    const char *manager = c->field_manager;

    c->field_manager = "before-first-apply";
    if (jv_len(set))
        managers_put(c, list, "Update", "", set);
    c->field_manager = manager;
}

bool apply_resets(const struct ctx *c, const char *member, const char *of_meta)
{
    bool meta = !strcmp(member, "metadata");

    if (!(c->type->flags & T_STATUS))
        return false;
    if (strcmp(c->sub, "status") != 0)
        return !*c->sub && !strcmp(member, "status");
    if (c->type->crd)
        return strcmp(member, "status") != 0;
    if (!meta)
        return !strcmp(member, "spec");
    return (!strcmp(c->type->kind, "Deployment") && !strcmp(of_meta, "labels")) ||
           (!strcmp(c->type->kind, "Pod") && !strcmp(of_meta, "ownerReferences"));
}

/* Nobody owns what the endpoint puts back. */
static struct jv *without_resets(const struct ctx *c, struct jv *set)
{
    static const char *const maps[] = {"labels", "ownerReferences"};
    struct jv *meta = jv_get(set, "f:metadata");
    size_t before = jv_len(meta);

    for (size_t i = 0; i < VPA_COUNT(maps); i++)
        if (apply_resets(c, "metadata", maps[i]))
            jv_del(meta, i ? "f:ownerReferences" : "f:labels");
    if (before && !jv_len(meta))
        jv_del(set, "f:metadata");
    for (size_t i = 0; i < jv_len(set);) {
        const char *member = set->items[i].name + strlen("f:");
        if (apply_resets(c, member, ""))
            jv_remove_at(set, i);
        else
            i++;
    }
    return set;
}

/* Go's types read the whole of what is merged: {} and "" of the text replace what was there. */
static struct jv *as_written(struct vpa_arena *a, const struct apply_config *config)
{
    struct jv *text = jv_clone(a, config->text), *meta = jv_get(text, "metadata");

    jv_del(meta, "resourceVersion");
    jv_del(meta, "uid");
    return text;
}

/* Conflicts are looked for in the text of the configuration, before quantities get their usual
 * form ("0.1" is another value than "100m"), and before anybody sees that one is none. */
int apply_patch(struct ctx *c, struct jv *live, const struct apply_config *config, struct jv **out)
{
    struct vpa_arena *a = c->a;
    struct jv *set = without_resets(
        c, fields_of_object(a, c->type, config->text, false)); /* empty maps are applied too */
    struct jv *object = live ? live : jv_obj(a);
    struct jv *list = jv_at(object, "metadata.managedFields");
    struct conflicts k = {.c = c, .live = object, .taken = jv_obj(a)};

    list = list ? jv_clone(a, list) : jv_arr(a);
    managers_drop_doubles(list);
    if (live && !jv_len(list))
        own_what_was_before(c, live, list);
    k.list = list;
    k.merged = apply_merge(c, jv_clone(a, object), config->text);
    struct fields_visit w = {
        .a = a, .path = jv_arr(a), .leaf = conflict_leaf, .inner = conflict_inner, .ctx = &k};
    fields_walk(&w, c->type->schema, set, "");
    if (k.count && !config->force)
        return report_conflicts(c, &k);
    if (config->fault)
        return fail_typed(
            c, "convert new", c->name,
            vpa_arena_printf(a, "unable to convert unstructured object to %s, Kind=%s: %s",
                             *c->type->group ? type_api_version(a, c->type) : "/v1", c->type->kind,
                             config->fault));
    struct jv *mine = managers_find(list, c->field_manager, "Apply", c->sub);
    if (config->force)
        jv_each (m, list)
            if (m->value != mine)
                fields_take(jv_get(m->value, "fieldsV1"), k.taken, false);
    struct jv *last = mine ? jv_clone(a, jv_get(mine, "fieldsV1")) : jv_obj(a),
              *kept = jv_clone(a, set);
    jv_each (m, list)
        if (m->value != mine)
            fields_unite(a, kept, jv_get(m->value, "fieldsV1"));
    bool read_again = live && !c->type->crd;
    object = apply_merge(c, object, read_again ? as_written(a, config) : config->object);
    const struct apply_removal r = {a, c->type->crd != NULL,
                                    c->type->crd ? &c->leaves_trace : NULL};
    if (jv_get(config->text, "metadata"))
        jv_ensure(a, kept, "f:metadata"); /* it holds the name at least, which no set holds */
    apply_remove(&r, c->type->schema, object, last, kept, true);
    if (read_again)
        schema_decode(a, c->type->schema, object, false, &(struct decode_notes){0});
    managers_put(c, list, "Apply", c->sub, set);
    managers_drop_empty(list);
    if (jv_len(list))
        jv_set(a, jv_ensure(a, object, "metadata"), "managedFields", list);
    else
        jv_del(jv_get(object, "metadata"), "managedFields");
    *out = object;
    return 0;
}
