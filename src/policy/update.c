/*
 * The decision about one pod.
 *
 * A pod without a resize in progress is resized when its group can spare it. A pod with one is left
 * to the kubelet, and in mode InPlaceOrRecreate evicted once the kubelet gave up or took too long.
 * Mode InPlace never evicts: what a node cannot hold is remembered, and tried again when less is
 * wanted.
 *
 * Two things outlive a pass, and both belong to a pod, not to its name: a StatefulSet's next pod
 * has the same name but starts with a clean slate. So the memory is keyed by UID and swept with the
 * pods.
 */
#include "vpa/policy/update.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/policy/boost.h"

#define PENDING_CONDITION "PodResizePending"
#define IN_PROGRESS_CONDITION "PodResizeInProgress"

static const char *const mode_names[] = {
    [VPA_MODE_OFF] = "Off",
    [VPA_MODE_INITIAL] = "Initial",
    [VPA_MODE_RECREATE] = "Recreate",
    [VPA_MODE_AUTO] = "Auto",
    [VPA_MODE_IN_PLACE_OR_RECREATE] = "InPlaceOrRecreate",
    [VPA_MODE_IN_PLACE] = "InPlace",
};

enum vpa_update_mode vpa_update_mode_of(const struct vpa_object *vpa)
{
    const char *mode = vpa_object_mode(vpa);

    for (size_t i = 0; i < VPA_COUNT(mode_names); i++) {
        if (vpa_str_eq(mode, mode_names[i]))
            return (enum vpa_update_mode)i;
    }
    return VPA_MODE_OTHER;
}

const char *vpa_update_mode_name(enum vpa_update_mode mode)
{
    return (size_t)mode < VPA_COUNT(mode_names) ? mode_names[mode] : "Unknown";
}

bool vpa_pod_pending(const struct vpa_pod *pod)
{
    return vpa_str_eq(pod->phase, "Pending");
}

bool vpa_pod_resizing(const struct vpa_pod *pod)
{
    for (size_t i = 0; i < pod->condition_count; i++) {
        const struct vpa_pod_condition *c = &pod->conditions[i];

        /* The first of the two decides, even when a later one says otherwise (as upstream). */
        if (vpa_str_eq(c->type, PENDING_CONDITION) || vpa_str_eq(c->type, IN_PROGRESS_CONDITION))
            return vpa_str_eq(c->status, "True");
    }
    return false;
}

static enum vpa_resize_status pending_status(const struct vpa_pod_condition *pending)
{
    if (vpa_str_eq(pending->reason, "Deferred"))
        return VPA_RESIZE_DEFERRED;
    if (vpa_str_eq(pending->reason, "Infeasible"))
        return VPA_RESIZE_INFEASIBLE;
    return VPA_RESIZE_UNKNOWN;
}

enum vpa_resize_status vpa_pod_resize_status(const struct vpa_pod *pod)
{
    if (!vpa_pod_resizing(pod))
        return VPA_RESIZE_NONE;

    const struct vpa_pod_condition *pending = vpa_pod_condition(pod, PENDING_CONDITION);

    if (pending)
        return pending_status(pending);

    const struct vpa_pod_condition *progress = vpa_pod_condition(pod, IN_PROGRESS_CONDITION);

    if (!*vpa_or_empty(progress->reason) && !*vpa_or_empty(progress->message))
        return VPA_RESIZE_IN_PROGRESS;
    if (vpa_str_eq(progress->reason, "Error"))
        return VPA_RESIZE_ERROR;
    return VPA_RESIZE_UNKNOWN;
}

const char *vpa_resize_status_name(enum vpa_resize_status status)
{
    switch (status) {
    case VPA_RESIZE_DEFERRED:
        return "Deferred";
    case VPA_RESIZE_INFEASIBLE:
        return "Infeasible";
    case VPA_RESIZE_UNKNOWN:
        return "Unknown";
    case VPA_RESIZE_IN_PROGRESS:
        return "InProgress";
    case VPA_RESIZE_ERROR:
        return "Error";
    case VPA_RESIZE_NONE:
        break;
    }
    return "None";
}

struct entry {
    bool unboost; /* the last resize sent took a boost back */
    bool has_first_seen;
    vpa_time first_seen;
    struct vpa_recommendation infeasible; /* in the arena; .present false: none */
    struct vpa_arena arena;
    char uid[];
};

struct vpa_update_memory {
    struct vpa_table entries; /* by UID */
};

struct vpa_update_memory *vpa_update_memory_new(void)
{
    return vpa_xcalloc(1, sizeof(struct vpa_update_memory));
}

static void entry_free(struct entry *e)
{
    vpa_arena_release(&e->arena);
    free(e);
}

void vpa_update_memory_free(struct vpa_update_memory *memory)
{
    const char *uid;
    void *value;

    if (!memory)
        return;
    for (size_t i = 0; vpa_table_next(&memory->entries, &i, &uid, &value);)
        entry_free(value);
    vpa_table_release(&memory->entries);
    free(memory);
}

static struct entry *entry_of(struct vpa_update_memory *memory, const char *uid)
{
    struct entry *e = vpa_table_find(&memory->entries, uid);

    if (!e) {
        size_t size = strlen(uid) + 1;

        e = vpa_xcalloc(1, sizeof(*e) + size);
        memcpy(e->uid, uid, size);
        vpa_table_put(&memory->entries, e->uid, e);
    }
    return e;
}

vpa_time vpa_update_memory_first_seen(struct vpa_update_memory *memory, const char *uid,
                                      vpa_time now)
{
    struct entry *e = entry_of(memory, uid);

    if (!e->has_first_seen) {
        e->has_first_seen = true;
        e->first_seen = now;
    }
    return e->first_seen;
}

bool vpa_update_memory_find_first_seen(const struct vpa_update_memory *memory, const char *uid,
                                       vpa_time *out)
{
    const struct entry *e = vpa_table_find(&memory->entries, uid);

    if (!e || !e->has_first_seen)
        return false;
    *out = e->first_seen;
    return true;
}

void vpa_update_memory_set_first_seen(struct vpa_update_memory *memory, const char *uid, vpa_time t)
{
    struct entry *e = entry_of(memory, uid);

    e->has_first_seen = true;
    e->first_seen = t;
}

void vpa_update_memory_record_infeasible(struct vpa_update_memory *memory, const char *uid,
                                         const struct vpa_recommendation *recommendation)
{
    struct entry *e = entry_of(memory, uid);
    struct vpa_arena old = e->arena;

    e->arena = (struct vpa_arena){0};
    e->infeasible = vpa_recommendation_copy(&e->arena, recommendation);
    e->infeasible.present = true;
    vpa_arena_release(&old); /* last: the recommendation may be the old record itself */
}

const struct vpa_recommendation *
vpa_update_memory_infeasible(const struct vpa_update_memory *memory, const char *uid)
{
    const struct entry *e = vpa_table_find(&memory->entries, uid);

    return e && e->infeasible.present ? &e->infeasible : NULL;
}

void vpa_update_memory_set_unboost(struct vpa_update_memory *memory, const char *uid, bool unboost)
{
    if (unboost || vpa_table_find(&memory->entries, uid))
        entry_of(memory, uid)->unboost = unboost;
}

/* Whether `wants` holds between what the spec of some container requests and what the kubelet says
 * that it has, as vpa_quantity_cmp gives it; unknown counts as no. */
static bool any_request(const struct vpa_pod *pod, const char *resource, bool (*wants)(int order))
{
    for (size_t i = 0; i < pod->container_count; i++) {
        const struct vpa_container *c = &pod->containers[i];
        const struct vpa_container_status *status = vpa_pod_status(pod, c->name);

        if (!status || !status->resources.present)
            continue;
        const struct vpa_quantity *wanted = vpa_resource_find(&c->resources.requests, resource);
        const struct vpa_quantity *actual =
            vpa_resource_find(&status->resources.requests, resource);

        if (wanted && actual && wants(vpa_quantity_cmp(wanted, actual)))
            return true;
    }
    return false;
}

static bool is_different(int order)
{
    return order != 0;
}

static bool is_less(int order)
{
    return order < 0;
}

bool vpa_unboost_unfinished(const struct vpa_pod *pod, const struct vpa_update_memory *memory)
{
    const struct entry *e = vpa_table_find(&memory->entries, pod->meta.uid);

    return e && e->unboost &&
           (vpa_pod_resizing(pod) || any_request(pod, VPA_CPU, is_different) ||
            any_request(pod, VPA_MEMORY, is_different));
}

bool vpa_unboost_presumed(const struct vpa_pod *pod)
{
    return !vpa_boost_marked(&pod->meta.annotations) && any_request(pod, VPA_CPU, is_less);
}

const char **vpa_update_memory_infeasible_uids(const struct vpa_update_memory *memory,
                                               size_t *count)
{
    vpa_auto_free void **sorted = vpa_table_sorted(&memory->entries);
    const char **uids = vpa_xcalloc(memory->entries.count + 1, sizeof(*uids));
    size_t n = 0;

    for (size_t i = 0; i < memory->entries.count; i++) {
        const struct entry *e = sorted[i];

        if (e->infeasible.present)
            uids[n++] = e->uid;
    }
    *count = n;
    return uids;
}

void vpa_update_memory_sweep(struct vpa_update_memory *memory,
                             bool (*live)(void *ctx, const char *uid), void *ctx)
{
    const char *uid;
    void *value;

    for (size_t i = 0; vpa_table_next(&memory->entries, &i, &uid, &value);) {
        if (live(ctx, uid))
            continue;
        vpa_table_remove(&memory->entries, uid);
        entry_free(value);
    }
}

static bool any_lower(const struct vpa_resource_list *wanted,
                      const struct vpa_resource_list *recorded)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const struct vpa_quantity *old = vpa_resource_find(recorded, wanted->items[i].name);

        if (old && vpa_quantity_cmp(&wanted->items[i].quantity, old) < 0)
            return true;
    }
    return false;
}

static bool lower_than_record(const struct vpa_container_recommendation *wanted,
                              const struct vpa_recommendation *recorded, bool last_only)
{
    const struct vpa_container_recommendation *last = NULL;

    for (size_t i = 0; i < recorded->container_count; i++) {
        const struct vpa_container_recommendation *old = &recorded->containers[i];

        if (!vpa_str_eq(old->container_name, wanted->container_name))
            continue;
        if (!last_only && any_lower(&wanted->target, &old->target))
            return true;
        last = old;
    }
    return last_only && last && any_lower(&wanted->target, &last->target);
}

bool vpa_recommendation_lower(const struct vpa_recommendation *now_wanted,
                              const struct vpa_recommendation *recorded, bool last_only)
{
    if (!now_wanted || !recorded)
        return false;
    for (size_t i = 0; i < now_wanted->container_count; i++) {
        if (lower_than_record(&now_wanted->containers[i], recorded, last_only))
            return true;
    }
    return false;
}

const char *vpa_update_decision_name(enum vpa_update_decision decision)
{
    switch (decision) {
    case VPA_DECIDE_DEFERRED:
        return "Deferred";
    case VPA_DECIDE_EVICT:
        return "Evict";
    case VPA_DECIDE_INFEASIBLE:
        return "Infeasible";
    case VPA_DECIDE_INFEASIBLE_CACHED:
        return "InfeasibleCached";
    case VPA_DECIDE_APPROVED:
        break;
    }
    return "Approved";
}

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

enum vpa_update_decision vpa_update_decide(const struct vpa_pod *pod, const struct vpa_object *vpa,
                                           const struct vpa_replica_group *group,
                                           struct vpa_update_memory *memory,
                                           const struct vpa_update_options *options, vpa_time now)
{
    bool in_place_only = vpa_update_mode_of(vpa) == VPA_MODE_IN_PLACE;
    enum vpa_resize_status status = vpa_pod_resize_status(pod);

    if (in_place_only && !options->in_place_gate)
        return VPA_DECIDE_DEFERRED;
    if (!group || vpa_pod_pending(pod) || !vpa->recommendation.present)
        return VPA_DECIDE_DEFERRED;
    if (in_place_only && known_infeasible(pod, vpa, memory))
        return VPA_DECIDE_INFEASIBLE_CACHED;
    if (status != VPA_RESIZE_NONE && (in_place_only || !vpa_unboost_unfinished(pod, memory))) {
        if (in_place_only)
            return status == VPA_RESIZE_INFEASIBLE ? VPA_DECIDE_INFEASIBLE : VPA_DECIDE_DEFERRED;
        return vpa_resize_stalled(pod, group, memory, now) ? VPA_DECIDE_EVICT : VPA_DECIDE_DEFERRED;
    }
    if (options->in_place_skip_budget && !resize_restarts(pod))
        return VPA_DECIDE_APPROVED;
    return vpa_group_disruptable(group) ? VPA_DECIDE_APPROVED : VPA_DECIDE_DEFERRED;
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
                        struct vpa_update_memory *memory, vpa_time now)
{
    if (!vpa_pod_resizing(pod))
        return false;

    vpa_duration waited =
        vpa_time_sub(now, vpa_update_memory_first_seen(memory, pod->meta.uid, now));

    if (!vpa_group_disruptable(group))
        return false;
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

bool vpa_can_evict(const struct vpa_pod *pod, const struct vpa_replica_group *group,
                   struct vpa_update_memory *memory, vpa_time now)
{
    if (!group)
        return false;
    if (vpa_pod_pending(pod))
        return true;
    if (group->below_min || vpa_unboost_unfinished(pod, memory))
        return false;
    if (vpa_pod_resizing(pod))
        return vpa_resize_stalled(pod, group, memory, now);
    return vpa_group_disruptable(group);
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

bool vpa_can_unboost(const struct vpa_pod *pod, const struct vpa_object *vpa,
                     const struct vpa_replica_group *group,
                     const struct vpa_update_options *options, vpa_time now)
{
    return options->boost_gate && !vpa_pod_pending(pod) && group &&
           vpa_pod_boost_expired(pod, vpa, now) && !vpa_pod_resizing(pod) &&
           vpa_group_disruptable(group);
}
