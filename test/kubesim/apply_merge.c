#include "apply_merge.h"

#include "fields.h"

#include <string.h>

static struct jv *merge(struct vpa_arena *a, const struct schema *s, struct jv *live,
                        const struct jv *config);

static const char *key_of_element(struct vpa_arena *a, const struct schema *s, const struct jv *v)
{
    return s->set ? fields_value_key(a, v) : fields_element_key(a, s, v);
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
    if (!live || live->type != config->type || fields_leaf(s, config)) {
        if (live && config->type == JV_OBJ && !config->count && live->type == JV_OBJ &&
            !(s && s->atomic))
            return live; /* {} adds nothing */
        if (live && jv_is(config, JV_ARR) && jv_is(live, JV_ARR) && s && (s->keys[0] || s->set))
            return live; /* nor does [] to elements that are owned one by one */
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

void apply_remove(const struct apply_removal *r, const struct schema *s, struct jv *v,
                  const struct jv *last, const struct jv *kept, bool top)
{
    jv_each (m, last) {
        bool meta = top && !strcmp(m->name, "f:metadata"); /* has types everywhere */
        const struct apply_removal within = {r->a, r->nulls && !meta, meta ? r->lost : NULL};
        const struct schema *sub =
            meta ? schema_builtin("ObjectMeta") : fields_child_schema(s, m->name);
        struct jv *child = strcmp(m->name, ".") ? fields_child(r->a, s, v, m->name) : NULL;
        const struct jv *others = jv_get(kept, m->name);
        /* A key of a map is in the set only where it stands for itself. */
        bool named = schema_field_is_named(s, m->name) || top;
        bool member = !jv_len(m->value) || jv_get(m->value, ".") || named;

        if (!child)
            continue;
        bool owned = others && (named || !jv_len(others) || jv_get(others, "."));
        if (member && !owned) {
            take_out(v, child, m->name);
            continue;
        }
        if (!jv_len(m->value) || child->type < JV_ARR || !jv_len(child))
            continue;
        apply_remove(&within, sub, child, m->value, others, false);
        if (jv_len(child))
            continue;
        if (r->nulls)
            *child = *jv_null(r->a);
        else
            take_out(v, child, m->name);
        if (r->lost && !top)
            *r->lost = true;
    }
}

struct jv *apply_merge(struct ctx *c, struct jv *object, const struct jv *config)
{
    const struct jv *meta = jv_get(config, "metadata");
    struct jv *was = jv_get(object, "metadata");

    /* Of a custom resource the schema says nothing of metadata: this merge would take it whole. */
    was = was ? jv_clone(c->a, was) : NULL;
    object = merge(c->a, c->type->schema, object, config);
    if (meta)
        jv_set(c->a, object, "metadata", merge(c->a, schema_builtin("ObjectMeta"), was, meta));
    return object;
}
