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
#include <stdlib.h>
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

/* x without the leaves of y; nodes that become empty go too, and with `dots` those that only stand
 * for themselves. */
static void subtract_set(struct jv *x, const struct jv *y, bool dots)
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
            subtract_set(m->value, other, dots);
        bool only_dot = jv_len(m->value) == 1 && !strcmp(m->value->items[0].name, ".");
        bool element = *m->name == 'k' || *m->name == 'v'; /* in the set by itself */
        if (was_leaf || jv_len(m->value) == 0 || (only_dot && !element && dots))
            jv_remove_at(x, i);
        else
            i++;
    }
}

static void subtract(struct jv *x, const struct jv *y)
{
    subtract_set(x, y, true);
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

/* {"name":"app","port":1} as messages show it: name="app",port=1 */
static const char *key_text(struct vpa_arena *a, const char *json)
{
    struct jv *key;
    const char *text = "";

    if (jv_parse(a, json, strlen(json), &key, NULL, NULL) < 0)
        return json;
    jv_each (m, key)
        text =
            vpa_arena_printf(a, "%s%s%s=%s", text, *text ? "," : "", m->name, jv_dump(a, m->value));
    return text;
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
                         : *m->name == 'k'
                             ? vpa_arena_printf(w->a, "%s[%s]", dotted, key_text(w->a, m->name + 2))
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

/* Of two entries of one manager the server, which keeps them in a map, reads the last. */
static void drop_doubles(struct jv *list)
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
    if (!jv_len(list))
        return; /* what nobody owns stays so until somebody applies it */
    list = jv_clone(c->a, list);
    drop_doubles(list);
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
    bool moved = false;

    add_path(c->a, only, path);
    drop_doubles(list);
    jv_each (m, list) {
        struct jv *rest = jv_clone(c->a, jv_get(m->value, "fieldsV1"));
        bool owned = owns(rest, path) && (changed || !is_apply(m->value));
        if (owned)
            subtract(rest, only);
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
        put_entry(c, out, "Update", "scale", only);
    }
    if (moved)
        jv_set(c->a, meta, "managedFields", out);
    return moved;
}

/* ---- apply ---- */

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

    if (k->count == k->capacity) {
        size_t capacity = k->capacity ? 2 * k->capacity : 8;
        struct conflict *items = vpa_arena_alloc(c->a, capacity * sizeof(*items));
        if (k->count)
            memcpy(items, k->items, k->count * sizeof(*items));
        k->items = items;
        k->capacity = capacity;
    }
    const char *key = vpa_arena_printf(
        c->a, "%s\"%s%s%s%s", jv_text_at(entry, "manager"), jv_text_at(entry, "operation"),
        update ? jv_text_at(entry, "apiVersion") : "", *sub ? "," : "}", sub);
    k->items[k->count++] = (struct conflict){who, key, field};
}

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
        add_conflict(k, m->value, dotted);
        add_path(c->a, k->taken, w->path);
    }
}

static struct jv *merge(struct vpa_arena *a, const struct schema *s, struct jv *live,
                        const struct jv *config);

static const char *key_of_element(struct vpa_arena *a, const struct schema *s, const struct jv *v)
{
    return s->set ? value_key(a, v) : element_key(a, s, v);
}

static size_t place_of(struct vpa_arena *a, const struct schema *s, const struct jv *list,
                       const char *key)
{
    size_t i = 0;

    while (i < list->count && strcmp(key_of_element(a, s, list->items[i].value), key) != 0)
        i++;
    return i;
}

/* The two lists of a merge, walked side by side. */
struct pair {
    struct vpa_arena *a;
    const struct schema *s;
    const struct jv *live, *config;
    struct jv *out;
    size_t l, c;   /* next of live and of config */
    size_t shared; /* the next element of config that live has too; config->count: none */
};

static bool in_config(const struct pair *p, size_t l)
{
    return place_of(p->a, p->s, p->config, key_of_element(p->a, p->s, p->live->items[l].value)) <
           p->config->count;
}

static size_t place_in_live(const struct pair *p, size_t c)
{
    return place_of(p->a, p->s, p->live, key_of_element(p->a, p->s, p->config->items[c].value));
}

static void next_shared(struct pair *p, size_t from)
{
    for (p->shared = from; p->shared < p->config->count; p->shared++)
        if (place_in_live(p, p->shared) < p->live->count)
            return;
}

static void take_config(struct pair *p)
{
    const struct jv *value = p->config->items[p->c].value;
    size_t at = place_in_live(p, p->c);

    jv_push(p->a, p->out,
            at < p->live->count ? merge(p->a, p->s->items, p->live->items[at].value, value)
                                : jv_clone(p->a, value));
    if (p->c == p->shared)
        next_shared(p, p->c + 1);
    p->c++;
}

/*
 * The order of structured-merge-diff: elements of both stand as the new list has them; what only
 * the live list has comes as early as its place there allows.
 */
static struct jv *merge_lists(struct vpa_arena *a, const struct schema *s, struct jv *live,
                              const struct jv *config)
{
    struct pair p = {.a = a, .s = s, .live = live, .config = config, .out = jv_arr(a)};

    next_shared(&p, 0);
    while (p.l < live->count || p.c < config->count) {
        if (p.l < live->count && p.c < config->count) {
            size_t at = place_in_live(&p, p.c);
            if (at == p.l) {
                take_config(&p);
                p.l++;
                continue;
            }
            if (in_config(&p, p.l) && p.shared < config->count &&
                place_in_live(&p, p.shared) != p.l) {
                p.l++; /* of both, but its turn comes with the new list's */
                continue;
            }
        }
        if (p.l < live->count && !in_config(&p, p.l)) {
            jv_push(a, p.out, live->items[p.l++].value);
            continue;
        }
        if (p.l < live->count &&
            place_of(a, s, config, key_of_element(a, s, live->items[p.l].value)) < p.c)
            p.l++; /* merged already */
        if (p.c < config->count)
            take_config(&p);
    }
    return p.out;
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
    return merge_lists(a, s, live, config);
}

/* What a manager applied before and does not apply now. */
struct removal {
    struct vpa_arena *a;
    bool nulls; /* of what is empty now null is left: objects without types in the server */
};

static void take_out(struct jv *v, const struct jv *child, const char *segment)
{
    if (v->type == JV_OBJ) {
        jv_del(v, segment + 2);
        return;
    }
    for (size_t i = 0; i < v->count; i++)
        if (v->items[i].value == child)
            jv_remove_at(v, i--);
}

/*
 * Takes out of `v` what stands in `last` and nowhere in `kept`, the sets of all managers now. A
 * field that nobody owns any part of goes with all that it holds, also what nobody owned; one that
 * somebody owns stays, if only as null.
 */
static void remove_fields(const struct removal *r, const struct schema *s, struct jv *v,
                          const struct jv *last, const struct jv *kept, bool top)
{
    jv_each (m, last) {
        const struct schema *sub = top && !strcmp(m->name, "f:metadata")
                                       ? schema_builtin("ObjectMeta")
                                       : child_schema(s, m->name);
        struct jv *child = strcmp(m->name, ".") ? find_child(r->a, s, v, m->name) : NULL;
        const struct jv *others = jv_get(kept, m->name);
        /* A key of a map is in the set only where it stands for itself. */
        bool named = schema_field_is_named(s, m->name) || top;
        bool member = !jv_len(m->value) || jv_get(m->value, ".") || named;

        if (!child)
            continue;
        if (member && !others) {
            take_out(v, child, m->name);
            continue;
        }
        if (!jv_len(m->value) || child->type < JV_ARR || !jv_len(child))
            continue;
        remove_fields(r, sub, child, m->value, others, false);
        if (jv_len(child))
            continue;
        if (r->nulls)
            *child = *jv_null(r->a);
        else
            take_out(v, child, m->name);
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

static struct jv *merge_config(struct ctx *c, struct jv *object, const struct jv *config)
{
    const struct jv *meta = jv_get(config, "metadata");
    struct jv *was = jv_get(object, "metadata");

    object = merge(c->a, c->type->schema, object, config);
    if (meta)
        jv_set(c->a, object, "metadata", merge(c->a, schema_builtin("ObjectMeta"), was, meta));
    return object;
}

/* What is there without an owner before anybody applies something: nobody in particular owns it. */
static void own_what_was_before(struct ctx *c, const struct jv *live, struct jv *list)
{
    struct jv *set = object_fields(c->a, c->type, live, true);
    const char *manager = c->field_manager;

    c->field_manager = "before-first-apply";
    if (jv_len(set))
        put_entry(c, list, "Update", "", set);
    c->field_manager = manager;
}

/* Conflicts are looked for in the text of the configuration, before quantities get their usual
 * form: "0.1" is another value than "100m". */
int apply_patch(struct ctx *c, struct jv *live, struct jv *config, const struct jv *text,
                bool force, struct jv **out)
{
    struct vpa_arena *a = c->a;
    struct jv *set = object_fields(a, c->type, text, false); /* empty maps are applied too */
    struct jv *object = live ? live : jv_obj(a);
    struct jv *list = jv_at(object, "metadata.managedFields");
    struct conflicts k = {.c = c, .live = object, .taken = jv_obj(a)};

    list = list ? jv_clone(a, list) : jv_arr(a);
    drop_doubles(list);
    if (live && !jv_len(list))
        own_what_was_before(c, live, list);
    k.list = list;
    k.merged = merge_config(c, jv_clone(a, object), text);
    struct visit w = {.a = a, .path = jv_arr(a), .leaf = conflict_leaf, .ctx = &k};
    walk(&w, c->type->schema, set, "");
    if (k.count && !force)
        return report_conflicts(c, &k);
    struct jv *mine = entry_of(list, c->field_manager, "Apply", c->sub);
    if (force)
        jv_each (m, list)
            if (m->value != mine)
                subtract_set(jv_get(m->value, "fieldsV1"), k.taken, false);
    struct jv *last = mine ? jv_clone(a, jv_get(mine, "fieldsV1")) : jv_obj(a),
              *kept = jv_clone(a, set);
    jv_each (m, list)
        if (m->value != mine)
            unite(a, kept, jv_get(m->value, "fieldsV1"));
    object = merge_config(c, object, config);
    const struct removal r = {a, c->type->crd != NULL};
    jv_ensure(a, kept, "f:metadata"); /* the name is applied always */
    remove_fields(&r, c->type->schema, object, last, kept, true);
    put_entry(c, list, "Apply", c->sub, set);
    drop_empty(list);
    jv_set(a, jv_ensure(a, object, "metadata"), "managedFields", list);
    *out = object;
    return 0;
}
