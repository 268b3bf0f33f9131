/*
 * Groups: pods of one namespace with equal labels.
 *
 * Whether a VPA selects a pod depends on namespace and labels alone, so everything about matching
 * is done once per distinct label set: finding the VPAs, counting the pods, owning the aggregates.
 * Replicas of a Deployment share one group; pods with a label of their own (StatefulSets) have one
 * each.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster_private.h"

struct group_key {
    const char *ns;
    const struct vpa_labels *labels;
};

static uint32_t group_hash(const struct group_key *key)
{
    uint64_t hash = vpa_hash_bytes(key->ns, strlen(key->ns));

    for (size_t i = 0; i < key->labels->count; i++) {
        const struct vpa_label *label = &key->labels->items[i];
        hash = hash * 31 + vpa_hash_bytes(label->key, strlen(label->key));
        hash = hash * 31 + vpa_hash_bytes(label->value, strlen(label->value));
    }
    return (uint32_t)(hash ^ hash >> 32);
}

static bool group_is(const struct vpa_hashed *object, const void *wanted)
{
    const struct vpa_group *group = (const struct vpa_group *)object;
    const struct group_key *key = wanted;

    if (group->label_count != key->labels->count || strcmp(group->ns, key->ns) != 0)
        return false;
    for (size_t i = 0; i < group->label_count; i++) {
        if (strcmp(group->labels[i].key, key->labels->items[i].key) != 0 ||
            strcmp(group->labels[i].value, key->labels->items[i].value) != 0)
            return false;
    }
    return true;
}

bool vpa_group_matches(const struct vpa_group *group, const struct vpa_autoscaler *v)
{
    struct vpa_labels labels = {group->labels, group->label_count, true};

    return v->has_selector && v->ns == group->ns && vpa_selector_matches(&v->selector, &labels);
}

static void link_if_matching(struct vpa_group *group, struct vpa_autoscaler *v)
{
    if (vpa_group_matches(group, v))
        vpa_group_link(group, v);
}

static struct vpa_group *make_group(struct vpa_cluster *c, const struct group_key *key,
                                    uint32_t hash)
{
    size_t count = key->labels->count;
    struct vpa_group *group = vpa_xcalloc(1, sizeof(*group) + count * sizeof(group->labels[0]));

    group->hashed.hash = hash;
    group->ns = vpa_intern(c->names, key->ns);
    group->label_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        group->labels[i].key = vpa_intern(c->names, key->labels->items[i].key);
        group->labels[i].value = vpa_intern(c->names, key->labels->items[i].value);
    }
    vpa_pointer_set_add(&c->groups, &group->hashed);
    vpa_selectors_candidates(c, group, link_if_matching);
    vpa_group_sort_vpas(group);
    return group;
}

struct vpa_group *vpa_group_get(struct vpa_cluster *c, const char *ns,
                                const struct vpa_labels *labels)
{
    struct group_key key = {ns, labels};
    uint32_t hash = group_hash(&key);
    struct vpa_hashed *found = vpa_pointer_set_find(&c->groups, hash, group_is, &key);

    return found ? (struct vpa_group *)found : make_group(c, &key, hash);
}

static void forget_places(struct vpa_group *group)
{
    if (group->places)
        vpa_table_release(group->places);
    free(VPA_STEAL(group->places));
}

void vpa_group_drop_if_unused(struct vpa_cluster *c, struct vpa_group *group)
{
    if (group->pods || group->idle || group->members)
        return;
    while (group->vpa_count)
        vpa_group_unlink(group, group->vpas[group->vpa_count - 1]);
    vpa_pointer_set_remove(&c->groups, &group->hashed);
    vpa_unintern(c->names, group->ns);
    for (size_t i = 0; i < group->label_count; i++) {
        vpa_unintern(c->names, group->labels[i].key);
        vpa_unintern(c->names, group->labels[i].value);
    }
    if (group->vpas != &group->one)
        free(group->vpas);
    forget_places(group);
    free(group);
}

/* ---- links to VPAs ---- */

/* For one VPA more. Nearly all groups have one. */
static void make_room(struct vpa_group *group)
{
    uint32_t count = group->vpa_count;
    bool inside = group->vpas == &group->one;

    if (!group->vpas) {
        group->vpas = &group->one;
    } else if (count > 0 && (count & (count - 1)) == 0) { /* all the room there is, maybe */
        group->vpas = vpa_xreallocarray(inside ? NULL : group->vpas, 2 * count,
                                        sizeof(struct vpa_autoscaler *));
        if (inside)
            group->vpas[0] = group->one;
    }
}

void vpa_group_link(struct vpa_group *group, struct vpa_autoscaler *v)
{
    vpa_cluster_forget_names(v->cluster);
    make_room(group);
    group->vpas[group->vpa_count++] = v;

    VPA_GROW_FROM(1, v->groups, v->group_count, v->group_capacity); /* usually the only one */
    v->groups[v->group_count++] = group;
    v->groups_sorted = v->group_count == 1;
}

static int compare_vpas(const void *a, const void *b)
{
    return strcmp((*(struct vpa_autoscaler *const *)a)->name,
                  (*(struct vpa_autoscaler *const *)b)->name);
}

void vpa_group_sort_vpas(struct vpa_group *group)
{
    if (group->vpa_count > 1)
        qsort(group->vpas, group->vpa_count, sizeof(struct vpa_autoscaler *), compare_vpas);
}

static void mark_not_autoscaled(struct vpa_member *m)
{
    vpa_settings_mark_not_autoscaled(&m->state.settings);
    m->state.last_recommendation[VPA_KIND_CPU] = 0;
    m->state.last_recommendation[VPA_KIND_MEMORY] = 0;
}

/* The aggregates lose their modes even when another VPA uses them too; as upstream, only the
 * quality metrics notice, and only until the other VPA's object changes. */
void vpa_group_unlink(struct vpa_group *group, struct vpa_autoscaler *v)
{
    uint32_t at = group->vpa_count - 1; /* the last by name goes first, where many go */
    size_t n = v->group_count;

    vpa_cluster_forget_names(v->cluster);
    while (group->vpas[at] != v)
        at--;
    group->vpa_count--;
    for (; at < group->vpa_count; at++)
        group->vpas[at] = group->vpas[at + 1];

    /* From the end: a VPA that goes gives up its groups in that order. */
    while (v->groups[n - 1] != group)
        n--;
    v->group_count--;
    memmove(&v->groups[n - 1], &v->groups[n], (v->group_count - (n - 1)) * sizeof(v->groups[0]));
    for (struct vpa_member *m = group->members; m; m = m->next)
        mark_not_autoscaled(m);
}

/* ---- aggregates ---- */

/* Most groups have one or two; pods with equal labels can make it a hundred thousand. */
#define MEMBERS_FEW 16

static struct vpa_member *find_member(const struct vpa_group *group, const char *name)
{
    if (group->places)
        return vpa_table_find(group->places, name);
    for (struct vpa_member *m = group->members; m; m = m->next) {
        if (m->name == name || strcmp(m->name, name) == 0)
            return m;
    }
    return NULL;
}

static bool are_many(const struct vpa_group *group)
{
    const struct vpa_member *m = group->members;

    for (size_t i = 0; m && i < MEMBERS_FEW; i++)
        m = m->next;
    return m != NULL;
}

/* The first of the list is new. */
static void note_place(struct vpa_group *group)
{
    struct vpa_member *m = group->members;

    if (group->places) {
        vpa_table_put(group->places, m->name, m);
    } else if (are_many(group)) {
        group->places = vpa_xcalloc(1, sizeof(*group->places));
        for (; m; m = m->next)
            vpa_table_put(group->places, m->name, m);
    }
}

struct vpa_member *vpa_group_get_member(struct vpa_cluster *c, struct vpa_group *group,
                                        const char *name, vpa_time now)
{
    struct vpa_member *m = find_member(group, name);

    if (m)
        return m;
    vpa_cluster_forget_names(c);
    m = vpa_xcalloc(1, sizeof(*m));
    vpa_aggregate_init(&m->state, c->aggregation, now);
    m->group = group;
    m->name = vpa_intern(c->names, name);
    m->next = group->members;
    group->members = m;
    note_place(group);
    c->member_count++;
    for (uint32_t i = 0; i < group->vpa_count; i++)
        vpa_autoscaler_apply(group->vpas[i], m);
    return m;
}

static void free_member(struct vpa_cluster *c, struct vpa_group *group, struct vpa_member *member)
{
    vpa_cluster_forget_names(c);
    if (group->places)
        vpa_table_remove(group->places, member->name);
    vpa_aggregate_release(&member->state);
    vpa_unintern(c->names, member->name);
    free(member);
    c->member_count--;
}

size_t vpa_group_doubt_empty(struct vpa_group *group)
{
    size_t doubted = 0;

    for (struct vpa_member *m = group->members; m; m = m->next) {
        if (vpa_aggregate_is_empty(&m->state)) {
            m->group = NULL;
            doubted++;
        }
    }
    return doubted;
}

void vpa_group_doubt_pod(const struct vpa_tracked_pod *pod)
{
    for (size_t i = 0; i < pod->container_count; i++) {
        struct vpa_member *m = pod->containers[i].member;
        if (m && vpa_aggregate_is_empty(&m->state))
            m->group = NULL;
    }
}

size_t vpa_group_feed(struct vpa_group *group, const struct vpa_tracked_pod *pod)
{
    size_t fed = 0;

    for (size_t i = 0; i < pod->container_count; i++) {
        const struct vpa_tracked_container *container = &pod->containers[i];
        struct vpa_member *m =
            container->member ? container->member : find_member(group, container->name);
        if (m && !m->group) {
            m->group = group;
            fed++;
        }
    }
    return fed;
}

/* Those that stay get their group back. */
static size_t mark_garbage(struct vpa_group *group, bool all, vpa_time now)
{
    size_t marked = 0;

    for (struct vpa_member *m = group->members; m; m = m->next) {
        bool fed = m->group != NULL;
        bool garbage = (all || !fed) && vpa_aggregate_is_garbage(&m->state, fed, now);
        m->group = garbage ? NULL : group;
        marked += garbage;
    }
    return marked;
}

static void unlink_marked(struct vpa_group *group)
{
    for (struct vpa_tracked_pod *pod = group->pods; pod; pod = pod->next) {
        for (size_t i = 0; i < pod->container_count; i++) {
            struct vpa_tracked_container *container = &pod->containers[i];
            if (container->member && !container->member->group)
                container->member = NULL;
        }
    }
}

size_t vpa_group_collect(struct vpa_cluster *c, struct vpa_group *group, bool all, vpa_time now)
{
    size_t marked = mark_garbage(group, all, now);

    if (marked == 0)
        return 0;
    unlink_marked(group);
    for (struct vpa_member **link = &group->members; *link;) {
        struct vpa_member *m = *link;
        if (m->group) {
            link = &m->next;
        } else {
            *link = m->next;
            free_member(c, group, m);
        }
    }
    return marked;
}

void vpa_group_free_members(struct vpa_cluster *c, struct vpa_group *group)
{
    while (group->members) {
        struct vpa_member *m = group->members;
        group->members = m->next;
        free_member(c, group, m);
    }
}
