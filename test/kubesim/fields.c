#include "fields.h"

#include <string.h>

/* ---- sets ---- */

bool fields_leaf(const struct schema *s, const struct jv *v)
{
    if (v->type == JV_OBJ)
        return (s && s->atomic) || v->count == 0;
    if (v->type == JV_ARR)
        return !s || (!s->keys[0] && !s->set) || v->count == 0;
    return true;
}

const char *fields_element_key(struct vpa_arena *a, const struct schema *s,
                               const struct jv *element)
{
    struct jv *k = jv_obj(a);
    vpa_auto_buf b = VPA_BUF(64 * 1024);

    for (size_t i = 0; i < SCHEMA_KEYS_MAX && s->keys[i]; i++) {
        struct jv *v = jv_get(element, s->keys[i]);
        if (v)
            jv_set(a, k, s->keys[i], v);
    }
    vpa_buf_puts(&b, "k:");
    jv_write_sorted(&b, k);
    return vpa_arena_strdup(a, vpa_buf_text(&b));
}

const char *fields_value_key(struct vpa_arena *a, const struct jv *v)
{
    return vpa_arena_printf(a, "v:%s", jv_dump(a, v));
}

static struct jv *fields_of(struct vpa_arena *a, const struct schema *s, const struct jv *v,
                            bool dots)
{
    struct jv *set = jv_obj(a);

    if (fields_leaf(s, v))
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
            jv_set(a, set, fields_value_key(a, m->value), jv_obj(a));
            continue;
        }
        struct jv *element = fields_of(a, s->items, m->value, dots);
        if (!jv_get(element, "."))
            jv_put_first(a, element, ".", jv_obj(a));
        jv_set(a, set, fields_element_key(a, s, m->value), element);
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

struct jv *fields_of_object(struct vpa_arena *a, const struct restype *t, const struct jv *object,
                            bool dots)
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

struct jv *fields_unite(struct vpa_arena *a, struct jv *x, const struct jv *y)
{
    jv_each (m, y) {
        struct jv *there = jv_get(x, m->name);
        if (there)
            fields_unite(a, there, m->value);
        else
            jv_set(a, x, m->name, jv_clone(a, m->value));
    }
    return x;
}

void fields_take(struct jv *x, const struct jv *y, bool dots)
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
            fields_take(m->value, other, dots);
        bool only_dot = jv_len(m->value) == 1 && !strcmp(m->value->items[0].name, ".");
        bool element = *m->name == 'k' || *m->name == 'v';     /* in the set by itself */
        bool whole = jv_len(other) == 0 || jv_get(other, "."); /* not only something below it */
        if ((was_leaf && whole) || (!was_leaf && jv_len(m->value) == 0) ||
            (only_dot && !element && dots))
            jv_remove_at(x, i);
        else
            i++;
    }
}

void fields_subtract(struct jv *x, const struct jv *y)
{
    fields_take(x, y, true);
}

static const struct jv *node_at(const struct jv *set, const struct jv *path)
{
    jv_each (m, path)
        set = set ? jv_get(set, m->value->text) : NULL;
    return set;
}

bool fields_have(const struct jv *set, const struct jv *path)
{
    return node_at(set, path) != NULL;
}

bool fields_have_whole(const struct jv *set, const struct jv *path)
{
    const struct jv *node = node_at(set, path);

    return node && (!jv_len(node) || jv_get(node, "."));
}

/* ---- values at paths ---- */

struct jv *fields_child(struct vpa_arena *a, const struct schema *s, const struct jv *v,
                        const char *segment)
{
    if (!strncmp(segment, "f:", 2))
        return jv_get(v, segment + 2);
    jv_each (m, jv_is(v, JV_ARR) ? v : NULL) {
        const char *key =
            *segment == 'k' ? fields_element_key(a, s, m->value) : fields_value_key(a, m->value);
        if (!strcmp(key, segment))
            return m->value;
    }
    return NULL;
}

const struct schema *fields_child_schema(const struct schema *s, const char *segment)
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

void fields_walk(struct fields_visit *w, const struct schema *s, const struct jv *set,
                 const char *dotted)
{
    jv_each (m, set) {
        if (!strcmp(m->name, "."))
            continue;
        const char *at = !strncmp(m->name, "f:", 2)
                             ? vpa_arena_printf(w->a, "%s.%s", dotted, m->name + 2)
                         : *m->name == 'k'
                             ? vpa_arena_printf(w->a, "%s[%s]", dotted, key_text(w->a, m->name + 2))
                             : vpa_arena_printf(w->a, "%s[=%s]", dotted, m->name + 2);
        const struct schema *sub = *dotted ? fields_child_schema(s, m->name)
                                   : !strcmp(m->name, "f:metadata")
                                       ? schema_builtin("ObjectMeta")
                                       : fields_child_schema(s, m->name);
        jv_push(w->a, w->path, jv_str(w->a, m->name));
        bool end = jv_len(m->value) == 0 ||
                   (jv_len(m->value) == 1 && !strcmp(m->value->items[0].name, "."));
        if (!end && w->inner)
            w->inner(w, at);
        if (end)
            w->leaf(w, sub, at);
        else
            fields_walk(w, sub, m->value, at);
        w->path->count--;
    }
}

const struct jv *fields_value_at(struct vpa_arena *a, const struct restype *t,
                                 const struct jv *object, const struct jv *path)
{
    const struct jv *v = object;
    const struct schema *s = t->schema;
    bool first = true;

    jv_each (m, path) {
        const char *segment = m->value->text;
        v = v ? fields_child(a, s, v, segment) : NULL;
        s = first && !strcmp(segment, "f:metadata") ? schema_builtin("ObjectMeta")
                                                    : fields_child_schema(s, segment);
        first = false;
    }
    return v;
}

void fields_add_path(struct vpa_arena *a, struct jv *set, const struct jv *path)
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
