/*
 * Algorithms other than VPA's own, in the cluster.
 *
 * What VPA's own algorithm learns belongs to a label set and is shared by the VPAs that select it.
 * The others are the exception, so they stand in a side table by VPA: whoever does not use them
 * pays one comparison with an empty table per sample, and not a byte. Per VPA and algorithm there
 * is one knowledge for each container name, fed with the samples of all its replicas, of all the
 * label sets that the VPA selects (the revisions of a Deployment), so nothing needs to be merged
 * before an estimate.
 *
 * A VPA that chooses another algorithm leaves a *former* learner behind, which goes on learning, so
 * that going back finds it as if nothing had happened. It is dropped when it was left for as long
 * as its samples count, and when there are too many of them in all, the one that was left first of
 * the namespace that has most.
 */
#include "vpa/model/cluster_learners.h"

#include <stdlib.h>
#include <string.h>

#include "cluster_private.h"

/* What is learned of one container name. */
struct learned {
    const char *container; /* interned */
    struct vpa_knowledge *knowledge;
};

/* What one method has learned for one VPA. */
struct learner {
    struct vpa_method *method;
    struct learned *items; /* by container */
    size_t count;
    size_t capacity;
    vpa_time left; /* when the VPA chose another algorithm; unset: it is in use */
    struct learner *next;
    struct vpa_side *side;
    struct learner *older, *newer; /* former ones of the same namespace */
};

/* The former learners of a namespace that has some, in the order in which they were left. */
struct formers {
    struct learner *oldest, *newest;
    size_t count;
    char ns[];
};

/* The side of a VPA. */
struct vpa_side {
    struct vpa_autoscaler *vpa;
    struct learner *learners; /* the one in use first, if there is one */
    char *note;
};

static struct vpa_side *find_side(const struct vpa_autoscaler *v)
{
    return v->learns ? vpa_table_find(&v->cluster->sides, v->key) : NULL;
}

static struct vpa_side *get_side(struct vpa_autoscaler *v)
{
    struct vpa_side *side = find_side(v);

    if (side)
        return side;
    side = vpa_xcalloc(1, sizeof(*side));
    side->vpa = v;
    vpa_table_put(&v->cluster->sides, v->key, side);
    v->learns = true;
    return side;
}

static void add_former(struct learner *l, vpa_time now)
{
    struct vpa_cluster *c = l->side->vpa->cluster;
    const char *ns = l->side->vpa->ns;
    struct formers *f = VPA_TABLE_MAKE(&c->formers, ns, struct formers, ns);

    l->left = now;
    l->older = f->newest;
    l->newer = NULL;
    *(l->older ? &l->older->newer : &f->oldest) = l;
    f->newest = l;
    f->count++;
    c->former_count++;
}

static void remove_former(struct learner *l)
{
    struct vpa_cluster *c = l->side->vpa->cluster;
    struct formers *f = vpa_table_find(&c->formers, l->side->vpa->ns);

    l->left = VPA_TIME_UNSET;
    *(l->older ? &l->older->newer : &f->oldest) = l->newer;
    *(l->newer ? &l->newer->older : &f->newest) = l->older;
    c->former_count--;
    if (--f->count)
        return;
    vpa_table_remove(&c->formers, f->ns);
    free(f);
}

static void free_learner(struct vpa_cluster *c, struct learner *l)
{
    if (!vpa_time_is_unset(l->left))
        remove_former(l);
    for (size_t i = 0; i < l->count; i++) {
        vpa_unintern(c->names, l->items[i].container);
        vpa_knowledge_free(l->items[i].knowledge);
    }
    free(l->items);
    vpa_method_unref(l->method);
    free(l);
}

void vpa_side_free(struct vpa_autoscaler *v)
{
    struct vpa_side *side = find_side(v);
    struct learner *next;

    if (!side)
        return;
    for (struct learner *l = side->learners; l; l = next) {
        next = l->next;
        free_learner(v->cluster, l);
    }
    vpa_table_remove(&v->cluster->sides, v->key);
    v->learns = false;
    free(side->note);
    free(side);
}

/* The one in use, or NULL. */
static struct learner *active_of(const struct vpa_side *side)
{
    struct learner *first = side ? side->learners : NULL;

    return first && vpa_time_is_unset(first->left) ? first : NULL;
}

static struct learner **find_learner(struct vpa_side *side, const struct vpa_algorithm *algorithm)
{
    struct learner **link = &side->learners;

    while (*link && vpa_method_algorithm((*link)->method) != algorithm)
        link = &(*link)->next;
    return link;
}

/* ---- choice ---- */

/* When there are more former ones than allowed whoever has most of them makes room: nobody can
 * have those of others dropped by switching to and fro. */
static void bound_formers(struct vpa_cluster *c)
{
    if (c->former_count <= VPA_FORMER_MAX)
        return;
    struct learner *gone = VPA_TABLE_MOST(&c->formers, struct formers, count)->oldest;
    *find_learner(gone->side, vpa_method_algorithm(gone->method)) = gone->next;
    free_learner(c, gone);
}

static void leave(struct vpa_cluster *c, struct vpa_side *side, vpa_time now)
{
    struct learner *active = active_of(side);

    if (!active)
        return;
    add_former(active, now);
    bound_formers(c);
}

static void convert(struct learner *l, struct vpa_method *m, vpa_time now)
{
    if (vpa_parameters_equal(vpa_method_parameters(l->method), vpa_method_parameters(m)))
        return;
    for (size_t i = 0; i < l->count; i++) {
        struct vpa_knowledge *converted = vpa_knowledge_convert(l->items[i].knowledge, m, now);
        vpa_knowledge_free(l->items[i].knowledge);
        l->items[i].knowledge = converted;
    }
    vpa_method_unref(l->method);
    l->method = vpa_method_ref(m);
}

/* The learner of that method's algorithm, made if there is none; it is former when made. */
static struct learner **get_learner(struct vpa_side *side, struct vpa_method *m, vpa_time now)
{
    struct learner **link = find_learner(side, vpa_method_algorithm(m));

    if (!*link) {
        *link = vpa_xcalloc(1, sizeof(**link));
        (*link)->method = vpa_method_ref(m);
        (*link)->side = side;
        add_former(*link, now);
    }
    return link;
}

static void use(struct vpa_cluster *c, struct vpa_side *side, struct vpa_method *m, vpa_time now)
{
    struct learner *active = active_of(side);

    if (!active || vpa_method_algorithm(active->method) != vpa_method_algorithm(m)) {
        struct learner **link = get_learner(side, m, now);
        active = *link;
        /* Taken out first: it may be the one that goes to make room for the one that is left. */
        *link = active->next;
        remove_former(active);
        leave(c, side, now);
        active->next = side->learners;
        side->learners = active;
    }
    convert(active, m, now);
}

void vpa_autoscaler_set_method(struct vpa_autoscaler *v, struct vpa_method *m, const char *note,
                               vpa_time now)
{
    struct vpa_side *side = m ? get_side(v) : find_side(v);

    if (!side)
        return;
    vpa_replace_text(&side->note, note);
    if (m)
        use(v->cluster, side, m, now);
    else
        leave(v->cluster, side, now);
}

const struct vpa_method *vpa_autoscaler_method(const struct vpa_autoscaler *v)
{
    const struct learner *active = active_of(find_side(v));

    return active ? active->method : NULL;
}

const char *vpa_autoscaler_method_note(const struct vpa_autoscaler *v)
{
    const struct vpa_side *side = find_side(v);

    return side ? side->note : NULL;
}

/* ---- learning ---- */

static size_t place_of(const struct learner *l, const char *container)
{
    return VPA_LOWER_BOUND(i, l->count, strcmp(l->items[i].container, container) < 0);
}

static struct learned *find_learned(const struct learner *l, const char *container)
{
    size_t at = place_of(l, container);

    return at < l->count && strcmp(l->items[at].container, container) == 0 ? &l->items[at] : NULL;
}

static void put_learned(struct vpa_cluster *c, struct learner *l, const char *container,
                        struct vpa_knowledge *k)
{
    size_t at = place_of(l, container);

    VPA_GROW(l->items, l->count, l->capacity);
    memmove(&l->items[at + 1], &l->items[at], (l->count - at) * sizeof(*l->items));
    l->items[at] = (struct learned){vpa_intern(c->names, container), k};
    l->count++;
}

void vpa_group_learn(struct vpa_cluster *c, const struct vpa_group *group, const char *container,
                     const struct vpa_usage *usage, vpa_time now)
{
    for (uint32_t i = 0; i < group->vpa_count; i++) {
        struct vpa_side *side = find_side(group->vpas[i]);

        for (struct learner *l = side ? side->learners : NULL; l; l = l->next) {
            struct learned *item = find_learned(l, container);
            if (!item) {
                put_learned(c, l, container, vpa_knowledge_new(l->method, now));
                item = find_learned(l, container);
            }
            vpa_knowledge_add(item->knowledge, usage);
        }
    }
}

/* ---- estimates ---- */

size_t vpa_autoscaler_knowledge(const struct vpa_autoscaler *v, struct vpa_arena *arena,
                                struct vpa_known **out)
{
    const struct learner *l = active_of(find_side(v));
    size_t count = l ? l->count : 0;

    *out = vpa_arena_alloc(arena, (count + 1) * sizeof(**out));
    for (size_t i = 0; i < count; i++)
        (*out)[i] = (struct vpa_known){l->items[i].container, l->items[i].knowledge, false};
    return count;
}

bool vpa_autoscaler_replace_knowledge(struct vpa_autoscaler *v, const char *container,
                                      struct vpa_knowledge *k)
{
    const struct learner *l = active_of(find_side(v));
    struct learned *item = l ? find_learned(l, container) : NULL;

    if (!item || vpa_knowledge_method(k) != l->method)
        return false;
    vpa_knowledge_take_kills(k, item->knowledge);
    vpa_knowledge_free(item->knowledge);
    item->knowledge = k;
    return true;
}

/* ---- stored forms ---- */

void vpa_autoscaler_visit_knowledge(const struct vpa_autoscaler *v, vpa_known_fn visit, void *ctx)
{
    const struct vpa_side *side = find_side(v);

    for (const struct learner *l = side ? side->learners : NULL; l; l = l->next) {
        for (size_t i = 0; i < l->count; i++) {
            if (!vpa_knowledge_is_empty(l->items[i].knowledge))
                visit(ctx, &(struct vpa_known){l->items[i].container, l->items[i].knowledge,
                                               !vpa_time_is_unset(l->left)});
        }
    }
}

bool vpa_autoscaler_has_learned(const struct vpa_autoscaler *v, const char *container,
                                const char *algorithm)
{
    const struct vpa_algorithm *a = vpa_algorithm_find(algorithm);
    struct vpa_side *side = find_side(v);
    const struct learner *l = a && side ? *find_learner(side, a) : NULL;
    const struct learned *item = l ? find_learned(l, container) : NULL;

    return item && !vpa_knowledge_is_empty(item->knowledge);
}

/* What was stored and what this process has learned become one. Where the two overlap in time, as
 * those of a leader and its standby do, they are the same samples: the one that has more of them
 * stands for both. */
static void take_stored(struct learned *item, struct vpa_knowledge *stored)
{
    struct vpa_knowledge *live = item->knowledge;
    bool overlap = vpa_knowledge_last_sample(stored) >= vpa_knowledge_first_sample(live);

    if (!overlap || vpa_knowledge_is_empty(live)) {
        vpa_knowledge_merge(stored, live);
    } else if (vpa_knowledge_sample_count(live) >= vpa_knowledge_sample_count(stored)) {
        vpa_knowledge_free(stored);
        return;
    }
    vpa_knowledge_free(live);
    item->knowledge = stored;
}

int vpa_autoscaler_load_knowledge(struct vpa_autoscaler *v, struct vpa_method *m,
                                  const char *container, const struct vpa_json *stored,
                                  vpa_time now, struct vpa_error *err)
{
    struct vpa_side *known = find_side(v);
    struct learner *l = known ? *find_learner(known, vpa_method_algorithm(m)) : NULL;
    struct vpa_knowledge *k = vpa_knowledge_load(l ? l->method : m, stored, now, err);

    if (!k)
        return vpa_wrap(err, "VPA %s/%s, container %s", v->ns, v->name, container);
    if (!l)
        l = *get_learner(get_side(v), m, now);
    struct learned *item = find_learned(l, container);
    if (item)
        take_stored(item, k);
    else
        put_learned(v->cluster, l, container, k);
    bound_formers(v->cluster);
    return 0;
}

/* ---- age ---- */

static void collect_learner(struct vpa_autoscaler *v, struct learner *l, vpa_time now)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->count; i++) {
        struct learned *item = &l->items[i];
        vpa_time last = vpa_knowledge_last_sample(item->knowledge);
        bool old = vpa_knowledge_is_empty(item->knowledge) ||
                   vpa_time_sub(now, last) >= vpa_method_memory(l->method);

        vpa_knowledge_age(item->knowledge, now);
        if (old && !vpa_autoscaler_has_pod_with(v, item->container)) {
            vpa_unintern(v->cluster->names, item->container);
            vpa_knowledge_free(item->knowledge);
        } else {
            l->items[kept++] = *item;
        }
    }
    l->count = kept;
}

void vpa_sides_collect(struct vpa_cluster *c, vpa_time now)
{
    void *value;

    for (size_t i = 0; vpa_table_next(&c->sides, &i, NULL, &value);) {
        struct vpa_side *side = value;

        for (struct learner **link = &side->learners; *link;) {
            struct learner *l = *link;
            collect_learner(side->vpa, l, now);
            if (vpa_time_is_unset(l->left) ||
                vpa_time_sub(now, l->left) < vpa_method_memory(l->method)) {
                link = &l->next;
                continue;
            }
            *link = l->next;
            free_learner(c, l);
        }
        if (!side->learners)
            vpa_side_free(side->vpa);
    }
}
