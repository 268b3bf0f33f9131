/*
 * A history that comes late. The samples have a container state of their own, since that of the pod
 * takes none that is older than its last; at the end the two are joined, so that an interval of
 * both has one memory peak.
 */
#include "vpa/model/cluster_past.h"

#include "cluster_private.h"

void vpa_cluster_begin_past(struct vpa_cluster *c, const struct vpa_container_name *name,
                            const struct vpa_labels *labels, vpa_time now, struct vpa_past *out)
{
    vpa_cluster_settle(c);

    struct vpa_group *group = vpa_group_get(c, name->ns, labels);

    *out = (struct vpa_past){
        .cluster = c,
        .name = *name,
        .member = vpa_group_get_member(c, group, name->container, now),
    };
    vpa_container_state_init(&out->state);
    vpa_cluster_settle(c); /* the settings of its VPAs count at once */
}

bool vpa_past_add(struct vpa_past *past, enum vpa_kind kind, vpa_time t, vpa_amount usage)
{
    struct vpa_aggregate *aggregate = &past->member->state;

    return kind == VPA_KIND_CPU ? vpa_container_add_cpu(&past->state, aggregate, t, usage, NULL)
                                : vpa_container_add_memory(&past->state, aggregate, t, usage, NULL);
}

void vpa_cluster_end_past(struct vpa_past *past)
{
    struct vpa_cluster *c = past->cluster;
    struct vpa_tracked_pod *pod = vpa_pods_find(c, past->name.ns, past->name.pod);
    struct vpa_tracked_container *container =
        pod ? vpa_pod_find_container(c, pod, past->name.container) : NULL;

    if (container && container->member == past->member)
        vpa_container_join(&container->state, &past->member->state, &past->state);
}
