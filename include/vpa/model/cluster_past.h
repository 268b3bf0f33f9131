/*
 * Samples of a time before those that the model has: a history that comes late, when containers are
 * counted already.
 *
 *     struct vpa_past past;
 *     vpa_cluster_begin_past(c, &name, &labels, now, &past);
 *     vpa_past_add(&past, VPA_KIND_CPU, t, millis);     // each kind in order of time
 *     vpa_cluster_end_past(&past);
 *
 * They go into the aggregate of these labels beside what was counted live, whether the pod is there
 * or not. Nobody else hears of them: no quality metric, for they were not measured against a
 * recommendation, and no other algorithm.
 */
#ifndef VPA_MODEL_CLUSTER_PAST_H
#define VPA_MODEL_CLUSTER_PAST_H

#include "vpa/model/cluster.h"

struct vpa_past { /* valid until any other change of the cluster */
    struct vpa_cluster *cluster;
    struct vpa_container_name name; /* borrowed */
    struct vpa_member *member;
    struct vpa_container_state state;
};
void vpa_cluster_begin_past(struct vpa_cluster *c, const struct vpa_container_name *name,
                            const struct vpa_labels *labels, vpa_time now, struct vpa_past *out);
/* False: refused, as vpa_cluster_add_sample does. */
bool vpa_past_add(struct vpa_past *past, enum vpa_kind kind, vpa_time t, vpa_amount usage);
/* The container goes on from there, if the pod is there with these labels. */
void vpa_cluster_end_past(struct vpa_past *past);

#endif
