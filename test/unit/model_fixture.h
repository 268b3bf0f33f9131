/*
 * What the tests of the model share: objects from JSON, instants from text. Include after check.h.
 */
#ifndef MODEL_FIXTURE_H
#define MODEL_FIXTURE_H

#include <string.h>

#include "suite.h"
#include "vpa/model/cluster.h"

#define DAY (24 * VPA_HOUR)
#define MI (INT64_C(1) << 20)

vpa_time at(const char *text);
const struct vpa_json *json(struct vpa_arena *arena, const char *text);
struct vpa_object *vpa_of(struct vpa_arena *arena, const char *text);
struct vpa_pod *pod_of(struct vpa_arena *arena, const char *text);
/* A running pod with one container "app" in namespace "ns". */
struct vpa_pod *simple_pod(struct vpa_arena *arena, const char *name, const char *labels);
struct vpa_object *simple_vpa(struct vpa_arena *arena, const char *name);
struct vpa_selector *selector_of(struct vpa_arena *arena, const char *text);
const struct vpa_container_policy *policy_of(struct vpa_arena *arena, const char *text);
struct vpa_checkpoint_status *checkpoint_of(struct vpa_arena *arena, const char *text);
const char *checkpoint_text(struct vpa_arena *arena, const struct vpa_checkpoint_status *status);

/* The names of a container, for vpa_cluster_container. */
#define CONTAINER(ns, pod, container) (&(struct vpa_container_name){ns, pod, container})

int add_sample(struct vpa_cluster *cluster, const struct vpa_container_name *name,
               enum vpa_kind kind, vpa_time t, vpa_amount amount, vpa_time at_time,
               struct vpa_error *err);
int record_oom(struct vpa_cluster *cluster, const struct vpa_container_name *name, vpa_time t,
               vpa_amount memory, vpa_time at_time, struct vpa_error *err);
/* Whether an init container of the pod has that name. */
bool is_init(struct vpa_cluster *cluster, const struct vpa_container_name *name, vpa_time at_time);

#endif
