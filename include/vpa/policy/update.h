/*
 * What to do with one pod: modes, the state of an in-place resize as the kubelet reports it, the
 * decision between resize, eviction and waiting, and the little that must be remembered for it
 * between passes. Source: specification updater.md 4, 12.1, 13, 15.4; DECISIONS S5, U6.
 */
#ifndef VPA_POLICY_UPDATE_H
#define VPA_POLICY_UPDATE_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/base/time.h"
#include "vpa/policy/disruption.h"

enum vpa_update_mode {
    VPA_MODE_OFF,
    VPA_MODE_INITIAL,
    VPA_MODE_RECREATE,
    VPA_MODE_AUTO,
    VPA_MODE_IN_PLACE_OR_RECREATE,
    VPA_MODE_IN_PLACE,
    VPA_MODE_OTHER, /* a text that is none of the above: nothing is done */
};
enum vpa_update_mode vpa_update_mode_of(const struct vpa_object *vpa);
/* As VPAs write it; "Unknown" for any other. */
const char *vpa_update_mode_name(enum vpa_update_mode mode);
/* Modes in which the updater changes running pods by recommendation. */
static inline bool vpa_update_mode_active(enum vpa_update_mode mode)
{
    return mode == VPA_MODE_RECREATE || mode == VPA_MODE_AUTO ||
           mode == VPA_MODE_IN_PLACE_OR_RECREATE || mode == VPA_MODE_IN_PLACE;
}
static inline bool vpa_update_mode_in_place(enum vpa_update_mode mode)
{
    return mode == VPA_MODE_IN_PLACE_OR_RECREATE || mode == VPA_MODE_IN_PLACE;
}

/* Resize status from the pod's conditions (updater.md 13.1). */
enum vpa_resize_status {
    VPA_RESIZE_NONE,
    VPA_RESIZE_DEFERRED,
    VPA_RESIZE_INFEASIBLE,
    VPA_RESIZE_UNKNOWN,
    VPA_RESIZE_IN_PROGRESS,
    VPA_RESIZE_ERROR,
};
bool vpa_pod_resizing(const struct vpa_pod *pod);
enum vpa_resize_status vpa_pod_resize_status(const struct vpa_pod *pod);
const char *vpa_resize_status_name(enum vpa_resize_status status); /* "InProgress" */
bool vpa_pod_pending(const struct vpa_pod *pod);                   /* phase Pending */

/* Patience with a resize that the kubelet keeps waiting (constants upstream, updater.md 13.5). */
#define VPA_RESIZE_DEFERRED_TIMEOUT (5 * VPA_MINUTE)
#define VPA_RESIZE_IN_PROGRESS_TIMEOUT VPA_HOUR

/*
 * Memory between passes, by pod UID: when a resize was first seen, and which recommendation the
 * node cannot hold. At most two entries per live pod; vpa_update_memory_sweep drops pods that are
 * gone.
 */
struct vpa_update_memory;
struct vpa_update_memory *vpa_update_memory_new(void);
void vpa_update_memory_free(struct vpa_update_memory *memory);
/* First-seen time of the pod's resize: remembered now when it was not. */
vpa_time vpa_update_memory_first_seen(struct vpa_update_memory *memory, const char *uid,
                                      vpa_time now);
/* False when nothing is remembered. */
bool vpa_update_memory_find_first_seen(const struct vpa_update_memory *memory, const char *uid,
                                       vpa_time *out);
void vpa_update_memory_set_first_seen(struct vpa_update_memory *memory, const char *uid,
                                      vpa_time t);
/* Records (replacing) a copy of the recommendation / finds the record, borrowed until the next
 * change. */
void vpa_update_memory_record_infeasible(struct vpa_update_memory *memory, const char *uid,
                                         const struct vpa_recommendation *recommendation);
const struct vpa_recommendation *
vpa_update_memory_infeasible(const struct vpa_update_memory *memory, const char *uid);
/* Notes what the last resize sent to the pod was: the end of a boost, or an ordinary one. */
void vpa_update_memory_set_unboost(struct vpa_update_memory *memory, const char *uid, bool unboost);
/* Whether the pod is still to become what the end of its boost made of it: the kubelet waits,
 * refuses, fails, or has not acted. Such a pod is never evicted (DECISIONS S5); resizes go on. */
bool vpa_unboost_unfinished(const struct vpa_pod *pod, const struct vpa_update_memory *memory);
/* Whether the pod looks as the end of a boost leaves it while the kubelet has not acted: no marker,
 * and less cpu is asked for than a container has. An ordinary resize may look the same, so this is
 * for a process that has just begun and remembers nothing. */
bool vpa_unboost_presumed(const struct vpa_pod *pod);
/* Heap array of the UIDs with an infeasible record, bytewise order; the caller frees the array. */
const char **vpa_update_memory_infeasible_uids(const struct vpa_update_memory *memory,
                                               size_t *count);
/* Drops what belongs to no live pod: live(ctx, uid) tells. */
void vpa_update_memory_sweep(struct vpa_update_memory *memory,
                             bool (*live)(void *ctx, const char *uid), void *ctx);

/* Whether some container has in both lists a resource whose target in `now_wanted` is below the one
 * in `recorded` (updater.md 13.6). last_only: of several records with one name only the last
 * counts. */
bool vpa_recommendation_lower(const struct vpa_recommendation *now_wanted,
                              const struct vpa_recommendation *recorded, bool last_only);

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
const char *vpa_update_decision_name(enum vpa_update_decision decision);

/* In-place decision (updater.md 13.2). group: NULL when the pod has none. */
enum vpa_update_decision vpa_update_decide(const struct vpa_pod *pod, const struct vpa_object *vpa,
                                           const struct vpa_replica_group *group,
                                           struct vpa_update_memory *memory,
                                           const struct vpa_update_options *options, vpa_time now);
/* Whether the candidate stays in the list at filter time (updater.md 13.4). */
bool vpa_update_kept_by_filter(enum vpa_update_mode mode, enum vpa_update_decision decision);

/* Whether a resize has failed or waited too long (updater.md 13.5); starts the timer. */
bool vpa_resize_stalled(const struct vpa_pod *pod, const struct vpa_replica_group *group,
                        struct vpa_update_memory *memory, vpa_time now);
bool vpa_can_evict(const struct vpa_pod *pod, const struct vpa_replica_group *group,
                   struct vpa_update_memory *memory, vpa_time now);
/* Whether some startup boost of the pod is over (policy/boost.h): it carries an expired marker. */
bool vpa_pod_boost_expired(const struct vpa_pod *pod, const struct vpa_object *vpa, vpa_time now);
bool vpa_can_unboost(const struct vpa_pod *pod, const struct vpa_object *vpa,
                     const struct vpa_replica_group *group,
                     const struct vpa_update_options *options, vpa_time now);

#endif
