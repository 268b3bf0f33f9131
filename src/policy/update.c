/*
 * The decision about one pod.
 *
 * A pod without a resize in progress is resized when its group can spare it. A pod with one is left
 * to the kubelet, and in mode InPlaceOrRecreate evicted once the kubelet gave up or took too long.
 * Mode InPlace never evicts: what a node cannot hold is remembered, and tried again when less is
 * wanted.
 *
 * Everything here only looks, so it may be asked as often as one likes; update_memory.h keeps the
 * timers.
 */
#include "vpa/policy/update.h"

#include "vpa/base/str.h"
#include "vpa/policy/boost.h"
#include "vpa/policy/boost_marker.h"
#include "vpa/policy/resize_state.h"

/* Any entry counts, whichever resource would change (as upstream). */
static bool resize_restarts(const struct vpa_pod *pod)
{
    for (size_t i = 0; i < pod->container_count; i++) {
        const struct vpa_container *c = &pod->containers[i];

        for (size_t k = 0; k < c->resize_policy_count; k++) {
            if (vpa_str_eq(c->resize_policy[k].restart_policy, "RestartContainer"))
                return true;
        }
    }
    return false;
}

static bool known_infeasible(const struct vpa_pod *pod, const struct vpa_object *vpa,
                             const struct vpa_update_memory *memory)
{
    const struct vpa_recommendation *record = vpa_update_memory_infeasible(memory, pod->meta.uid);

    return record && !vpa_recommendation_lower(&vpa->recommendation, record, false);
}

bool vpa_pod_disruptable(const struct vpa_pod *pod, const struct vpa_replica_group *group,
                         const struct vpa_update_memory *memory)
{
    struct vpa_replica_group own = *group;

    if (vpa_str_eq(own.in_doubt, pod->meta.uid))
        own.in_doubt = NULL;
    own.running += memory && vpa_update_memory_is_starting(memory, pod->meta.uid);
    return vpa_group_disruptable(&own);
}

static enum vpa_rest rest_of_budget(const struct vpa_pod *pod,
                                    const struct vpa_replica_group *group,
                                    const struct vpa_update_memory *memory)
{
    if (vpa_pod_disruptable(pod, group, memory))
        return VPA_REST_NONE;
    return group->closed ? VPA_REST_REPLICAS_UNKNOWN : VPA_REST_BUDGET;
}

/* Of a pod that costs no budget. */
static enum vpa_rest rest_of_unknown(const struct vpa_pod *pod,
                                     const struct vpa_replica_group *group)
{
    if (group->closed)
        return VPA_REST_REPLICAS_UNKNOWN;
    return group->in_doubt && !vpa_str_eq(group->in_doubt, pod->meta.uid) ? VPA_REST_BUDGET
                                                                          : VPA_REST_NONE;
}

static struct vpa_update_verdict deferred(enum vpa_rest rest)
{
    return (struct vpa_update_verdict){VPA_DECIDE_DEFERRED, rest};
}

/* Of a pod with a resize that the kubelet has not carried out. */
static struct vpa_update_verdict look_at_resize(bool in_place_only, enum vpa_resize_status status,
                                                bool stalled)
{
    if (in_place_only && status == VPA_RESIZE_INFEASIBLE)
        return (struct vpa_update_verdict){VPA_DECIDE_INFEASIBLE, VPA_REST_RESIZING};
    if (!in_place_only && stalled)
        return (struct vpa_update_verdict){VPA_DECIDE_EVICT, VPA_REST_NONE};
    return deferred(VPA_REST_RESIZING);
}

struct vpa_update_verdict vpa_update_look(const struct vpa_pod *pod, const struct vpa_object *vpa,
                                          const struct vpa_replica_group *group,
                                          const struct vpa_update_memory *memory,
                                          const struct vpa_update_options *options, vpa_time now)
{
    bool in_place_only = vpa_update_mode_of(vpa) == VPA_MODE_IN_PLACE;
    enum vpa_resize_status status = vpa_pod_resize_status(pod);
    enum vpa_rest rest;

    if (in_place_only && !options->in_place_gate)
        return deferred(VPA_REST_GATE);
    if (!group)
        return deferred(VPA_REST_MIN_REPLICAS);
    if (vpa_pod_pending(pod))
        return deferred(VPA_REST_PENDING);
    if (!vpa->recommendation.present)
        return deferred(VPA_REST_NO_RECOMMENDATION);
    if (in_place_only && known_infeasible(pod, vpa, memory))
        return (struct vpa_update_verdict){VPA_DECIDE_INFEASIBLE_CACHED, VPA_REST_INFEASIBLE};
    if (status != VPA_RESIZE_NONE && (in_place_only || !vpa_unboost_unfinished(pod, memory)))
        return look_at_resize(in_place_only, status,
                              !in_place_only && vpa_resize_stalled(pod, group, memory, now));
    if (options->in_place_skip_budget && !resize_restarts(pod))
        return (struct vpa_update_verdict){VPA_DECIDE_APPROVED, VPA_REST_NONE};
    rest = rest_of_budget(pod, group, memory);
    return (struct vpa_update_verdict){
        rest == VPA_REST_NONE ? VPA_DECIDE_APPROVED : VPA_DECIDE_DEFERRED, rest};
}

enum vpa_update_decision vpa_update_decide(const struct vpa_pod *pod, const struct vpa_object *vpa,
                                           const struct vpa_replica_group *group,
                                           const struct vpa_update_memory *memory,
                                           const struct vpa_update_options *options, vpa_time now)
{
    return vpa_update_look(pod, vpa, group, memory, options, now).decision;
}

bool vpa_update_kept_by_filter(enum vpa_update_mode mode, enum vpa_update_decision decision)
{
    switch (decision) {
    case VPA_DECIDE_APPROVED:
        return true;
    case VPA_DECIDE_EVICT:
        return mode == VPA_MODE_IN_PLACE_OR_RECREATE;
    case VPA_DECIDE_INFEASIBLE:
    case VPA_DECIDE_DEFERRED:
        return mode == VPA_MODE_IN_PLACE;
    case VPA_DECIDE_INFEASIBLE_CACHED:
        break;
    }
    return false;
}

bool vpa_resize_stalled(const struct vpa_pod *pod, const struct vpa_replica_group *group,
                        const struct vpa_update_memory *memory, vpa_time now)
{
    vpa_time since = now;

    if (!vpa_pod_resizing(pod) || !vpa_pod_disruptable(pod, group, memory))
        return false;
    (void)vpa_update_memory_resize_since(memory, pod->meta.uid, &since);

    vpa_duration waited = vpa_time_sub(now, since);

    switch (vpa_pod_resize_status(pod)) {
    case VPA_RESIZE_DEFERRED:
        return waited > VPA_RESIZE_DEFERRED_TIMEOUT;
    case VPA_RESIZE_IN_PROGRESS:
        return waited > VPA_RESIZE_IN_PROGRESS_TIMEOUT;
    case VPA_RESIZE_INFEASIBLE:
    case VPA_RESIZE_ERROR:
    case VPA_RESIZE_UNKNOWN:
        return true;
    case VPA_RESIZE_NONE:
        break;
    }
    return false;
}

enum vpa_rest vpa_eviction_rest(const struct vpa_pod *pod, const struct vpa_replica_group *group,
                                const struct vpa_update_memory *memory, vpa_time now)
{
    if (!group || group->below_min)
        return VPA_REST_MIN_REPLICAS;
    if (vpa_update_memory_is_evicted(memory, pod->meta.uid))
        return VPA_REST_EVICTED;
    if (vpa_pod_pending(pod))
        return rest_of_unknown(pod, group);
    if (vpa_unboost_unfinished(pod, memory))
        return VPA_REST_BOOST_ENDING;
    if (vpa_pod_resizing(pod))
        return vpa_resize_stalled(pod, group, memory, now) ? VPA_REST_NONE : VPA_REST_RESIZING;
    return rest_of_budget(pod, group, memory);
}

bool vpa_pod_boost_expired(const struct vpa_pod *pod, const struct vpa_object *vpa, vpa_time now)
{
    for (size_t i = 0; i < pod->meta.annotations.count; i++) {
        const char *container = vpa_boost_marker_container(pod->meta.annotations.items[i].key);

        if (container && vpa_boost_expired(pod, vpa, container, now))
            return true;
    }
    return false;
}

/* A boost may be what keeps a missing pod from starting: its end waits for nobody (U46). What of it
 * restarts a container asks for the budget nevertheless, when that is known. */
static bool spares_an_end(const struct vpa_pod *pod, const struct vpa_replica_group *group)
{
    return vpa_group_is_short(group) ? rest_of_unknown(pod, group) == VPA_REST_NONE
                                     : vpa_group_disruptable(group);
}

bool vpa_can_unboost(const struct vpa_pod *pod, const struct vpa_object *vpa,
                     const struct vpa_replica_group *group,
                     const struct vpa_update_options *options, vpa_time now)
{
    return options->boost_gate && !vpa_pod_pending(pod) && group &&
           vpa_pod_boost_expired(pod, vpa, now) && !vpa_pod_resizing(pod) &&
           spares_an_end(pod, group);
}
