/*
 * What a VPA's groups and pods have under one container name.
 *
 * Whoever may store checkpoints can give a VPA as many container names as it has pods, and to look
 * through all pods for each of them costs the product of both. So one pass over groups and pods
 * lists all names of a VPA, and that serves until something changes. In the same order as the walk:
 * sums of weights depend on it.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster_private.h"

struct vpa_name_index {
    const struct vpa_autoscaler *v;
    struct vpa_table names; /* name -> struct vpa_named, both of the index */
};

static void free_named(struct vpa_named *named)
{
    free(named->members);
    free(named->containers);
    free(named);
}

void vpa_cluster_forget_names(struct vpa_cluster *c)
{
    void *named;

    if (!c->name_index)
        return;
    for (size_t i = 0; vpa_table_next(&c->name_index->names, &i, NULL, &named);)
        free_named(named);
    vpa_table_release(&c->name_index->names);
    free(VPA_STEAL(c->name_index));
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
}

static void list_group(struct vpa_name_index *index, const struct vpa_group *group)
{
    for (struct vpa_member *m = group->members; m; m = m->next) {
        struct vpa_named *named = get(index, m->name);

        VPA_GROW(named->members, named->member_count, named->member_capacity);
        named->members[named->member_count++] = m;
    }
    for (struct vpa_tracked_pod *pod = group->pods; pod; pod = pod->next)
        list_pod(index, pod);
}

const struct vpa_named *vpa_autoscaler_named(const struct vpa_autoscaler *v, const char *container)
{
    static const struct vpa_named nothing = {0};
    struct vpa_cluster *c = v->cluster;

    if (!c->name_index || c->name_index->v != v) {
        vpa_cluster_forget_names(c);
        c->name_index = vpa_xcalloc(1, sizeof(*c->name_index));
        c->name_index->v = v;
        for (size_t i = 0; i < v->group_count; i++)
            list_group(c->name_index, v->groups[i]);
    }
    const struct vpa_named *named = vpa_table_find(&c->name_index->names, container);
    return named ? named : &nothing;
}
