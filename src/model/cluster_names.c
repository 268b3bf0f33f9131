/*
 * What a VPA's groups and pods have under one container name.
 *
 * Whoever may store checkpoints can give a VPA as many container names as it has pods, and to look
 * through all pods for each of them costs the product of both. So one pass over groups and pods
 * lists all names of a VPA, and that serves until something changes. In the same order as the walk:
 * sums of weights depend on it.
 *
 * Checkpoints come by their names, those of several VPAs in turns. What took long to list is kept
 * for all of them; of the others one, since most VPAs have ten pods and there may be thousands.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster_private.h"

/* Containers and aggregates of a VPA whose list is kept, and of all that are kept: 16 bytes each,
 * and a little for each name. */
#define KEPT_MIN 64
#define KEPT_MAX ((size_t)1000 * 1000)

struct vpa_name_index {
    const struct vpa_autoscaler *v;
    size_t listed;          /* containers and aggregates */
    struct vpa_table names; /* name -> struct vpa_named, both of the index */
};

static void free_named(struct vpa_named *named)
{
    free(named->members);
    free(named->containers);
    free(named);
}

static void free_index(struct vpa_name_index *index)
{
    VPA_TABLE_RELEASE(&index->names, free_named);
    free(index);
}

static bool is_kept(const struct vpa_name_index *index)
{
    return index->listed >= KEPT_MIN;
}

static void forget_last(struct vpa_cluster *c)
{
    if (c->last_names && !is_kept(c->last_names))
        free_index(c->last_names);
    c->last_names = NULL;
}

void vpa_cluster_forget_names(struct vpa_cluster *c)
{
    forget_last(c);
    if (c->named_count == 0)
        return;
    VPA_TABLE_RELEASE(&c->name_indexes, free_index);
    c->named_count = 0;
}

static struct vpa_named *get(struct vpa_name_index *index, const char *name)
{
    struct vpa_named *named = vpa_table_find(&index->names, name);

    if (!named) {
        named = vpa_xcalloc(1, sizeof(*named));
        vpa_table_put(&index->names, name, named);
    }
    return named;
}

static void list_pod(struct vpa_name_index *index, struct vpa_tracked_pod *pod)
{
    for (size_t i = 0; i < pod->container_count; i++) {
        struct vpa_tracked_container *container = &pod->containers[i];
        struct vpa_named *named = get(index, container->name);

        VPA_GROW(named->containers, named->container_count, named->container_capacity);
        named->containers[named->container_count++] = (struct vpa_named_container){pod, container};
    }
    index->listed += pod->container_count;
}

static void list_group(struct vpa_name_index *index, const struct vpa_group *group)
{
    for (struct vpa_member *m = group->members; m; m = m->next) {
        struct vpa_named *named = get(index, m->name);

        VPA_GROW(named->members, named->member_count, named->member_capacity);
        named->members[named->member_count++] = m;
        index->listed++;
    }
    for (struct vpa_tracked_pod *pod = group->pods; pod; pod = pod->next)
        list_pod(index, pod);
}

static struct vpa_name_index *list_names(const struct vpa_autoscaler *v)
{
    struct vpa_name_index *index = vpa_xcalloc(1, sizeof(*index));

    index->v = v;
    for (size_t i = 0; i < v->group_count; i++)
        list_group(index, v->groups[i]);
    return index;
}

/* The VPA's key stays: it has groups, and whoever takes those from it forgets all names first. */
static void keep(struct vpa_cluster *c, struct vpa_name_index *index)
{
    if (c->named_count + index->listed > KEPT_MAX)
        vpa_cluster_forget_names(c);
    vpa_table_put(&c->name_indexes, index->v->key, index);
    c->named_count += index->listed;
}

const struct vpa_named *vpa_autoscaler_named(const struct vpa_autoscaler *v, const char *container)
{
    static const struct vpa_named nothing = {0};
    struct vpa_cluster *c = v->cluster;

    if (!c->last_names || c->last_names->v != v) {
        struct vpa_name_index *index = vpa_table_find(&c->name_indexes, v->key);

        forget_last(c);
        if (!index) {
            index = list_names(v);
            if (is_kept(index))
                keep(c, index);
        }
        c->last_names = index;
    }
    const struct vpa_named *named = vpa_table_find(&c->last_names->names, container);
    return named ? named : &nothing;
}
