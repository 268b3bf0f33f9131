/*
 * Field ownership: server-side apply and the bookkeeping of plain writes in metadata.managedFields.
 *
 * A set of fields is kept as the object that fieldsV1 is: "f:name" members, "k:{...}" for elements
 * of keyed lists, "v:..." for members of sets, "." for the element or map itself. Sets are built
 * from an object along its schema, united, subtracted and walked as ordinary JSON values.
 *
 * Apply: what the manager owned before and no longer applies is removed unless somebody else owns
 * it; what it applies with another value than a different owner's is a conflict (or taken over by
 * force). Updates: a manager owns what it changed; fields changed or removed leave the others'
 * sets.
 */
#include "sim.h"

#include <stdio.h>
#include <string.h>

/* ---- sets ---- */

static bool leaf(const struct schema *s, const struct jv *v)
{
    if (v->type == JV_OBJ)
        return (s && s->atomic) || v->count == 0;
    if (v->type == JV_ARR)
        return !s || (!s->keys[0] && !s->set) || v->count == 0;
    return true;
}

static const char *element_key(struct vpa_arena *a, const struct schema *s,
                               const struct jv *element)
{
    struct jv *k = jv_obj(a);
    vpa_auto_buf b = {0};

    for (size_t i = 0; i < SCHEMA_KEYS_MAX && s->keys[i]; i++) {
        struct jv *v = jv_get(element, s->keys[i]);
        if (v)
            jv_set(a, k, s->keys[i], v);
    }
    vpa_buf_init(&b, 64 * 1024);
    vpa_buf_puts(&b, "k:");
    jv_write_sorted(&b, k);
    return vpa_arena_strdup(a, vpa_buf_text(&b));
}

static const char *value_key(struct vpa_arena *a, const struct jv *v)
{
    return vpa_arena_printf(a, "v:%s", jv_dump(a, v));
}

static struct jv *fields_of(struct vpa_arena *a, const struct schema *s, const struct jv *v,
                            bool dots)
{
    struct jv *set = jv_obj(a);

    if (leaf(s, v))
        return set;
    if (v->type == JV_OBJ) {
        jv_each (m, v)
            jv_set(a, set, vpa_arena_printf(a, "f:%s", m->name),
                   fields_of(a, schema_field(s, m->name), m->value, dots));
        if (dots)
            jv_put_first(a, set, ".", jv_obj(a));
        return set;
    }
    jv_each (m, v) {
        if (s->set) {
            jv_set(a, set, value_key(a, m->value), jv_obj(a));
            continue;
        }
        struct jv *element = fields_of(a, s->items, m->value, dots);
        if (!jv_get(element, "."))
            jv_put_first(a, element, ".", jv_obj(a));
        jv_set(a, set, element_key(a, s, m->value), element);
    }
    if (dots)
        jv_put_first(a, set, ".", jv_obj(a));
    return set;
}

/* Members of metadata that nobody owns. */
static const char *const system_fields[] = {"name",
                                            "namespace",
                                            "uid",
                                            "resourceVersion",
                                            "generation",
                                            "creationTimestamp",
                                            "deletionTimestamp",
                                            "deletionGracePeriodSeconds",
                                            "selfLink",
                                            "managedFields"};

static struct jv *object_fields(struct vpa_arena *a, const struct restype *t,
                                const struct jv *object, bool dots)
{
    struct jv *copy = jv_clone(a, object), *meta = jv_get(copy, "metadata"), *set = jv_obj(a);

    jv_del(copy, "kind");
    jv_del(copy, "apiVersion");
    for (size_t i = 0; meta && i < VPA_COUNT(system_fields); i++)
        jv_del(meta, system_fields[i]);
    if (jv_is(meta, JV_OBJ) && !meta->count)
        jv_del(copy, "metadata");
    const struct schema *meta_schema = schema_builtin("ObjectMeta");
    jv_each (m, copy) {
        bool is_meta = !strcmp(m->name, "metadata");
        struct jv *sub =
            fields_of(a, is_meta ? meta_schema : schema_field(t->schema, m->name), m->value, dots);
        if (is_meta || (!strcmp(m->name, "spec") && !t->crd) ||
            (!strcmp(m->name, "status") && !t->crd))
            jv_del(sub, "."); /* structures are no maps: they are not owned themselves */
        jv_set(a, set, vpa_arena_printf(a, "f:%s", m->name), sub);
    }
    return set;
}

static struct jv *unite(struct vpa_arena *a, struct jv *x, const struct jv *y)
{
    jv_each (m, y) {
        struct jv *there = jv_get(x, m->name);
        if (there)
            unite(a, there, m->value);
        else
            jv_set(a, x, m->name, jv_clone(a, m->value));
    }
    return x;
}

/* x without the leaves of y; nodes that become empty go too. */
static void subtract(struct jv *x, const struct jv *y)
{
    for (size_t i = 0; i < jv_len(x);) {
        struct jv_member *m = &x->items[i];
        const struct jv *other = jv_get(y, m->name);
        if (!other) {
            i++;
            continue;
        }
        bool was_leaf = jv_len(m->value) == 0;
        if (!was_leaf)
            subtract(m->value, other);
        bool only_dot = jv_len(m->value) == 1 && !strcmp(m->value->items[0].name, ".");
        if (was_leaf || jv_len(m->value) == 0 || only_dot)
            jv_remove_at(x, i);
        else
            i++;
    }
}

static bool owns(const struct jv *set, const struct jv *path) /* path: list of segments */
{
    const struct jv *at = set;
    jv_each (m, path) {
        at = jv_get(at, m->value->text);
        if (!at)
            return false;
    }
    return true;
}

/* ---- values at paths ---- */

static struct jv *find_child(struct vpa_arena *a, const struct schema *s, const struct jv *v,
                             const char *segment)
{
    if (!strncmp(segment, "f:", 2))
        return jv_get(v, segment + 2);
    jv_each (m, jv_is(v, JV_ARR) ? v : NULL) {
        const char *key = *segment == 'k' ? element_key(a, s, m->value) : value_key(a, m->value);
        if (!strcmp(key, segment))
            return m->value;
    }
    return NULL;
}

static const struct schema *child_schema(const struct schema *s, const char *segment)
{
    if (!s)
        return NULL;
    return !strncmp(segment, "f:", 2) ? schema_field(s, segment + 2) : s->items;
}

/* Walks the leaves of a set. */
struct visit {
    struct vpa_arena *a;
    struct jv *path;
    void (*leaf)(struct visit *w, const struct schema *s, const char *dotted);
    void *ctx;
};

static void walk(struct visit *w, const struct schema *s, const struct jv *set, const char *dotted)
{
    jv_each (m, set) {
        if (!strcmp(m->name, "."))
            continue;
        const char *at = !strncmp(m->name, "f:", 2)
                             ? vpa_arena_printf(w->a, "%s.%s", dotted, m->name + 2)
                         : *m->name == 'k' ? vpa_arena_printf(w->a, "%s[%s]", dotted, m->name + 2)
                                           : vpa_arena_printf(w->a, "%s[=%s]", dotted, m->name + 2);
        const struct schema *sub = *dotted                          ? child_schema(s, m->name)
                                   : !strcmp(m->name, "f:metadata") ? schema_builtin("ObjectMeta")
                                                                    : child_schema(s, m->name);
        jv_push(w->a, w->path, jv_str(w->a, m->name));
        bool end = jv_len(m->value) == 0 ||
                   (jv_len(m->value) == 1 && !strcmp(m->value->items[0].name, "."));
        if (end)
            w->leaf(w, sub, at);
        else
            walk(w, sub, m->value, at);
        w->path->count--;
    }
}

static const struct jv *value_at(struct vpa_arena *a, const struct restype *t,
                                 const struct jv *object, const struct jv *path)
{
    const struct jv *v = object;
    const struct schema *s = t->schema;
    bool first = true;

    jv_each (m, path) {
        const char *segment = m->value->text;
        v = v ? find_child(a, s, v, segment) : NULL;
        s = first && !strcmp(segment, "f:metadata") ? schema_builtin("ObjectMeta")
                                                    : child_schema(s, segment);
        first = false;
    }
    return v;
}

/* ---- managers ---- */

static struct jv *entry_of(const struct jv *list, const char *manager, const char *operation,
                           const char *sub)
{
    jv_each (m, list)
        if (!strcmp(jv_text_at(m->value, "manager"), manager) &&
            !strcmp(jv_text_at(m->value, "operation"), operation) &&
            !strcmp(jv_text_at(m->value, "subresource"), sub))
            return m->value;
    return NULL;
}

static void put_entry(struct ctx *c, struct jv *list, const char *operation, const char *sub,
                      struct jv *set)
{
    struct jv *e = jv_obj(c->a);
    struct jv *old = entry_of(list, c->field_manager, operation, sub);

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

static void drop_empty(struct jv *list)
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

static void add_path(struct vpa_arena *a, struct jv *set, const struct jv *path)
{
    jv_each (m, path) {
        struct jv *next = jv_get(set, m->value->text);
        if (!next) {
            next = jv_obj(a);
            jv_set(a, set, m->value->text, next);
        }
        set = next;
    }
}

static void compare_leaf(struct visit *w, const struct schema *s, const char *dotted)
{
    struct compare *k = w->ctx;

    (void)s;
    (void)dotted;
    if (!jv_equal(value_at(w->a, k->c->type, k->old, w->path),
                  value_at(w->a, k->c->type, k->now, w->path)))
        add_path(w->a, k->out, w->path);
}

/* Leaves of `now` whose value differs from `old`. */
static struct jv *changed_fields(struct ctx *c, const struct jv *old, const struct jv *now)
{
    struct compare k = {c, old, now, jv_obj(c->a)};
    struct visit w = {.a = c->a, .path = jv_arr(c->a), .leaf = compare_leaf, .ctx = &k};

    walk(&w, c->type->schema, object_fields(c->a, c->type, now, false), "");
    return k.out;
}

/* Fields of old that now lacks. */
static struct jv *removed_fields(struct ctx *c, const struct jv *old, const struct jv *now)
{
    struct jv *set = object_fields(c->a, c->type, old, false);
    subtract(set, object_fields(c->a, c->type, now, false));
    return set;
}

void track_fields(struct ctx *c, const struct jv *old, struct jv *now, const char *sub)
{
    struct jv *meta = jv_get(now, "metadata"), *list;

    if (!c->sim->opt.managed_fields) {
        jv_del(meta, "managedFields");
        return;
    }
    if (!c->field_manager || !*c->field_manager)
        c->field_manager = "unknown";
    list = jv_get(meta, "managedFields");
    if (!old) {
        if (list && jv_len(list))
            return; /* made by apply */
        list = jv_arr(c->a);
        jv_set(c->a, meta, "managedFields", list);
        struct jv *all = object_fields(c->a, c->type, now, true);
        if (c->type->flags & T_STATUS)
            jv_del(all, "f:status");
        if (jv_len(all))
            put_entry(c, list, "Update", "", all);
        return;
    }
    list = list ? jv_clone(c->a, list) : jv_arr(c->a);
    struct jv *changed = changed_fields(c, old, now), *removed = removed_fields(c, old, now);
    jv_each (m, list) {
        struct jv *set = jv_get(m->value, "fieldsV1");
        bool mine = !strcmp(jv_text_at(m->value, "manager"), c->field_manager) &&
                    !strcmp(jv_text_at(m->value, "operation"), "Update") &&
                    !strcmp(jv_text_at(m->value, "subresource"), sub);
        if (!mine)
            subtract(set, changed);
        subtract(set, removed);
    }
    if (jv_len(changed)) {
        struct jv *mine = entry_of(list, c->field_manager, "Update", sub);
        struct jv *set = mine ? jv_clone(c->a, jv_get(mine, "fieldsV1")) : jv_obj(c->a);
        put_entry(c, list, "Update", sub, unite(c->a, set, changed));
    }
    drop_empty(list);
    if (jv_len(list))
        jv_set(c->a, meta, "managedFields", list);
    else
        jv_del(meta, "managedFields");
}

/* ---- apply ---- */

struct conflicts {
    struct ctx *c;
    const struct jv *live, *merged, *list;
    struct jv *causes;
    const char *message;
    struct jv *taken; /* what force takes from the others */
};

static void conflict_leaf(struct visit *w, const struct schema *s, const char *dotted)
{
    struct conflicts *k = w->ctx;
    struct ctx *c = k->c;

    (void)s;
    const struct jv *live = value_at(c->a, c->type, k->live, w->path);
    if (jv_equal(live, value_at(c->a, c->type, k->merged, w->path)))
        return;
    jv_each (m, k->list) {
        const char *manager = jv_text_at(m->value, "manager"),
                   *operation = jv_text_at(m->value, "operation");
        if ((!strcmp(manager, c->field_manager) && !strcmp(operation, "Apply")) ||
            !owns(jv_get(m->value, "fieldsV1"), w->path))
            continue;
        bool update = !strcmp(operation, "Update");
        const char *who =
            vpa_arena_printf(c->a, "conflict with \"%s\"%s%s", manager, update ? " using " : "",
                             update ? jv_text_at(m->value, "apiVersion") : "");
        struct jv *cause = jv_obj(c->a);
        jv_set_str(c->a, cause, "reason", "FieldManagerConflict");
        jv_set_str(c->a, cause, "message", who);
        jv_set_str(c->a, cause, "field", dotted);
        jv_push(c->a, k->causes, cause);
        k->message = *k->message ? vpa_arena_printf(c->a, "%s\n- %s: %s", k->message, who, dotted)
                                 : vpa_arena_printf(c->a, "%s: %s", who, dotted);
        add_path(c->a, k->taken, w->path);
    }
}

/* Merges config over live along the schema. */
static struct jv *merge(struct vpa_arena *a, const struct schema *s, struct jv *live,
                        const struct jv *config)
{
    if (!live || live->type != config->type || leaf(s, config)) {
        if (live && config->type == JV_OBJ && !config->count && live->type == JV_OBJ &&
            !(s && s->atomic))
            return live; /* {} adds nothing */
        return jv_clone(a, config);
    }
    if (config->type == JV_OBJ) {
        jv_each (m, config)
            jv_set(a, live, m->name,
                   merge(a, schema_field(s, m->name), jv_get(live, m->name), m->value));
        return live;
    }
    jv_each (m, config) {
        const char *key = s->set ? value_key(a, m->value) : element_key(a, s, m->value);
        bool found = false;
        for (size_t i = 0; i < live->count && !found; i++) {
            const char *other = s->set ? value_key(a, live->items[i].value)
                                       : element_key(a, s, live->items[i].value);
            if (strcmp(key, other) != 0)
                continue;
            found = true;
            live->items[i].value = merge(a, s->items, live->items[i].value, m->value);
        }
        if (!found)
            jv_push(a, live, jv_clone(a, m->value));
    }
    return live;
}

/* Takes the leaves of the set out of the object, and what becomes empty by it. */
static void remove_fields(struct vpa_arena *a, const struct schema *s, struct jv *v,
                          const struct jv *set, bool top)
{
    jv_each (m, set) {
        if (!strcmp(m->name, "."))
            continue;
        const struct schema *sub = top && !strcmp(m->name, "f:metadata")
                                       ? schema_builtin("ObjectMeta")
                                       : child_schema(s, m->name);
        struct jv *child = find_child(a, s, v, m->name);
        bool end = jv_len(m->value) == 0 || jv_get(m->value, ".");
        if (!child)
            continue;
        if (!end || (jv_len(m->value) > 1 && child->type >= JV_ARR))
            remove_fields(a, sub, child, m->value, false);
        bool empty = child->type < JV_ARR || leaf(sub, child) || jv_len(child) == 0;
        if (!end && jv_len(child))
            continue;
        if (!empty && jv_len(m->value) > 1 && jv_len(child))
            continue;
        if (v->type == JV_OBJ)
            jv_del(v, m->name + 2);
        else
            for (size_t i = 0; i < v->count; i++)
                if (v->items[i].value == child)
                    jv_remove_at(v, i--);
    }
}

static int report_conflicts(struct ctx *c, const struct conflicts *k)
{
    struct jv *details = jv_obj(c->a);
    size_t n = jv_len(k->causes);

    jv_set(c->a, details, "causes", k->causes);
    return fail_details(
        c, 409, "Conflict", details,
        n == 1 ? vpa_arena_printf(c->a, "Apply failed with 1 conflict: %s", k->message)
               : vpa_arena_printf(c->a, "Apply failed with %zu conflicts: %s", n, k->message));
}

static struct jv *merge_config(struct ctx *c, struct jv *object, const struct jv *config)
{
    const struct jv *meta = jv_get(config, "metadata");
    struct jv *was = jv_get(object, "metadata");

    object = merge(c->a, c->type->schema, object, config);
    if (meta)
        jv_set(c->a, object, "metadata", merge(c->a, schema_builtin("ObjectMeta"), was, meta));
    return object;
}

int apply_patch(struct ctx *c, struct jv *live, struct jv *config, bool force, struct jv **out)
{
    struct vpa_arena *a = c->a;
    struct jv *set = object_fields(a, c->type, config, false);
    struct jv *object = live ? live : jv_obj(a);
    struct jv *list = jv_at(object, "metadata.managedFields");
    struct conflicts k = {
        .c = c, .live = object, .causes = jv_arr(a), .message = "", .taken = jv_obj(a)};

    list = list ? jv_clone(a, list) : jv_arr(a);
    k.list = list;
    k.merged = merge_config(c, jv_clone(a, object), config);
    struct visit w = {.a = a, .path = jv_arr(a), .leaf = conflict_leaf, .ctx = &k};
    walk(&w, c->type->schema, set, "");
    if (jv_len(k.causes) && !force)
        return report_conflicts(c, &k);
    struct jv *mine = entry_of(list, c->field_manager, "Apply", c->sub),
              *gone = mine ? jv_clone(a, jv_get(mine, "fieldsV1")) : jv_obj(a);
    subtract(gone, set);
    jv_each (m, list) {
        if (m->value == mine)
            continue;
        if (force)
            subtract(jv_get(m->value, "fieldsV1"), k.taken);
        subtract(gone, jv_get(m->value, "fieldsV1"));
    }
    remove_fields(a, c->type->schema, object, gone, true);
    object = merge_config(c, object, config);
    put_entry(c, list, "Apply", c->sub, set);
    drop_empty(list);
    jv_set(a, jv_ensure(a, object, "metadata"), "managedFields", list);
    if (!c->sim->opt.managed_fields)
        jv_del(jv_get(object, "metadata"), "managedFields");
    *out = object;
    return 0;
}
