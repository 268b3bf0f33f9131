/*
 * What to do with one pod: the decision between resize, eviction and waiting. All functions only
 * look. Source: specification updater.md 12.1, 13, 15.4; docs/compatibility.md S5, U20, U26, U46.
 */
#ifndef VPA_POLICY_UPDATE_H
#define VPA_POLICY_UPDATE_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/base/time.h"
#include "vpa/policy/disruption.h"
#include "vpa/policy/rest.h"
#include "vpa/policy/update_memory.h"
#include "vpa/policy/update_mode.h"

/* Patience with a resize that the kubelet keeps waiting (constants upstream, updater.md 13.5). */
#define VPA_RESIZE_DEFERRED_TIMEOUT (5 * VPA_MINUTE)
#define VPA_RESIZE_IN_PROGRESS_TIMEOUT VPA_HOUR

struct vpa_update_options {
    bool in_place_gate;        /* gate InPlace */
    bool boost_gate;           /* gate CPUStartupBoost */
    bool in_place_skip_budget; /* --in-place-skip-disruption-budget */
};

enum vpa_update_decision {
    VPA_DECIDE_APPROVED,          /* send the resize */
    VPA_DECIDE_DEFERRED,          /* not now */
    VPA_DECIDE_EVICT,             /* the resize failed or stalled */
    VPA_DECIDE_INFEASIBLE,        /* the node cannot hold it: record it */
    VPA_DECIDE_INFEASIBLE_CACHED, /* recorded already, nothing got lower */
};

/* Whether the group can spare the pod. One that is missing already, or may be, costs it nothing. */
bool vpa_pod_disruptable(const struct vpa_pod *pod, const struct vpa_replica_group *group,
                         const struct vpa_update_memory *memory);

/* In-place decision (updater.md 13.2). group: NULL when the pod has none. now: by the clock of the
 * memory, here and for evictions. */
enum vpa_update_decision vpa_update_decide(const struct vpa_pod *pod, const struct vpa_object *vpa,
                                           const struct vpa_replica_group *group,
                                           const struct vpa_update_memory *memory,
                                           const struct vpa_update_options *options, vpa_time now);
/* The same with the rule behind it; NONE: it is approved, or there is a change to be made. A pod
 * without a group is one with too few replicas here. */
struct vpa_update_verdict {
    enum vpa_update_decision decision;
    enum vpa_rest rest;
};
struct vpa_update_verdict vpa_update_look(const struct vpa_pod *pod, const struct vpa_object *vpa,
                                          const struct vpa_replica_group *group,
                                          const struct vpa_update_memory *memory,
                                          const struct vpa_update_options *options, vpa_time now);
/* Whether the candidate stays in the list at filter time (updater.md 13.4). */
bool vpa_update_kept_by_filter(enum vpa_update_mode mode, enum vpa_update_decision decision);

/* Whether a resize has failed or waited too long (updater.md 13.5), by the timer
 * that vpa_update_memory_observe keeps. */
bool vpa_resize_stalled(const struct vpa_pod *pod, const struct vpa_replica_group *group,
                        const struct vpa_update_memory *memory, vpa_time now);
/* The rule that keeps the pod from being evicted; NONE: it may be. A pod without a group is one
 * with too few replicas here. */
enum vpa_rest vpa_eviction_rest(const struct vpa_pod *pod, const struct vpa_replica_group *group,
                                const struct vpa_update_memory *memory, vpa_time now);
/* Whether some startup boost of the pod is over (policy/boost.h): it carries an expired marker. */
bool vpa_pod_boost_expired(const struct vpa_pod *pod, const struct vpa_object *vpa, vpa_time now);
/* Whether it may be taken back now. A group that is short of pods needs no room in its budget
 * (U46), but for an end that restarts a container, which is not known here. */
bool vpa_can_unboost(const struct vpa_pod *pod, const struct vpa_object *vpa,
                     const struct vpa_replica_group *group,
                     const struct vpa_update_options *options, vpa_time now);

#endif
