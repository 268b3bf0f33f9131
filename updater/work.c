/*
 * One VPA in a pass: groups, budgets, and which pods deserve a change.
 */
#include "work.h"

#include <stdlib.h>

#include "unknown.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/daemon/size_label.h"
#include "vpa/policy/boost.h"

/* How old the number of replicas of a custom resource may be when a disruption hangs on it. */
#define SCALE_AGE (10 * VPA_SECOND)
/* Works with more pods look at them only so often. */
#define LOOK_OFTEN 1000
#define LOOK_PAUSE (100 * VPA_MILLISECOND)

#define SKIPPED_REASON "InPlaceResizeSkipped"
#define SKIPPED_MESSAGE                                                                            \
    "Previously recorded in-place update was infeasible, current recommendation is not lower "     \
    "than previous, skipping resize"

void updater_work_init(struct work *w, struct pass *pass, const struct vpa_object *vpa,
                       const struct vpa_pod *const *pods, const bool *held, size_t count)
{
    *w = (struct work){
        .pass = pass,
        .vpa = vpa,
        .mode = vpa_update_mode_of(vpa),
        .labels = {.size = vpa_metric_size_log2((int64_t)count),
                   .mode = vpa_object_mode(vpa),
                   .name = vpa->meta.name,
                   .ns = vpa->meta.ns},
        .pods = pods,
        .held = held,
        .pod_count = count,
    };
}

void updater_work_clear(struct work *w)
{
    vpa_disruption_free(w->budget);
    w->budget = NULL;
    free(w->list);
    w->list = NULL;
    free(w->evict);
    w->evict = NULL;
    free(w->gone);
    w->gone = NULL;
    free(w->left);
    w->left = NULL;
    updater_work_drop_notes(w);
}

void updater_work_drop_notes(struct work *w)
{
    while (w->notes) {
        struct rest_note *n = w->notes;

        w->notes = n->next;
        free(n->why);
        free(n->inputs);
        free(n);
    }
}

/* Kinds whose replica count upstream knows: without it their groups may not be touched. */
static bool has_replica_count(const char *kind)
{
    return vpa_str_eq(kind, "ReplicaSet") || vpa_str_eq(kind, "StatefulSet") ||
           vpa_str_eq(kind, "ReplicationController") || vpa_str_eq(kind, "DaemonSet");
}

static enum vpa_replica_source owner_replicas(void *ctx, const char *ns, const char *kind,
                                              const char *api_version, const char *name,
                                              int64_t *count)
{
    const struct work *w = ctx;
    struct vpa_controller_key key = {
        .ns = ns, .kind = kind, .name = name, .api_version = api_version};
    int32_t replicas;

    if (vpa_owners_replicas(w->pass->env->owners, &key, &replicas)) {
        *count = replicas;
        return replicas > 0 ? VPA_REPLICAS_KNOWN : VPA_REPLICAS_MISSING;
    }
    /* A scale that has told a number and does not answer now is no reason to go by the living. */
    return has_replica_count(kind) || vpa_owners_has_said(w->pass->env->owners, &key)
               ? VPA_REPLICAS_MISSING
               : VPA_REPLICAS_UNKNOWN;
}

bool updater_work_is_held(const struct work *w, size_t pod)
{
    return w->held && w->held[pod];
}

static int64_t unknown_pods(void *ctx, const char *ns, const char *kind, const char *name)
{
    const struct work *w = ctx;

    return updater_unknown_pods(w->pass->unknown, ns, kind, name);
}

void updater_work_begin(struct work *w)
{
    struct pass_env *env = w->pass->env;
    struct vpa_disruption_options options = env->disruption;

    updater_meter_sums_add(&w->pass->gauges.controlled, w->mode, w->pod_count,
                           (double)w->pod_count);
    updater_meter_touch(&w->labels);
    w->gone = vpa_xcalloc(w->pod_count, sizeof(*w->gone));
    w->left = vpa_xcalloc(w->pod_count, sizeof(*w->left));
    w->looked = w->pass->pod_changes;
    w->looked_at = vpa_loop_monotonic(env->loop) - LOOK_PAUSE; /* the first look comes at once */
    options.unknown = unknown_pods;
    w->budget = vpa_disruption_new(w->vpa, w->pods, w->pod_count, owner_replicas, w, &options);
}

void updater_work_observe(struct work *w)
{
    for (size_t i = 0; i < w->pod_count; i++)
        vpa_update_memory_observe(w->pass->env->memory, w->pods[i],
                                  updater_env_steady(w->pass->env));
}

/* ---- what has changed since ---- */

static bool is_same(const struct vpa_pod *then, const struct vpa_pod *now)
{
    return now && vpa_str_eq(then->meta.uid, now->meta.uid) &&
           vpa_time_is_unset(now->meta.deletion);
}

void updater_work_look(struct work *w)
{
    const struct pass_env *env = w->pass->env;
    uint64_t changes = env->store->pod_changes;
    int64_t now = vpa_loop_monotonic(env->loop);

    if (changes == w->looked || (w->pod_count > LOOK_OFTEN && now - w->looked_at < LOOK_PAUSE))
        return;
    w->looked = changes;
    w->looked_at = now;
    for (size_t i = 0; i < w->pod_count; i++) {
        const struct vpa_pod *pod = w->pods[i];
        struct vpa_replica_group *group = vpa_disruption_group(w->budget, i);

        if (w->gone[i] ||
            is_same(pod, updater_store_find_pod(env->store, pod->meta.ns, pod->meta.name)))
            continue;
        w->gone[i] = true;
        if (group && !w->left[i])
            vpa_group_lost(group, pod, env->memory);
    }
}

void updater_work_take_back(struct work *w, size_t pod)
{
    struct vpa_replica_group *group = vpa_disruption_group(w->budget, pod);

    w->left[pod] = false;
    if (w->gone[pod] && group)
        vpa_group_lost(group, w->pods[pod], w->pass->env->memory);
}

bool updater_work_is_current(const struct work *w)
{
    const struct vpa_meta *then = &w->vpa->meta;
    const struct vpa_object *now = vpa_cache_find(w->pass->env->store->vpas, then->ns, then->name);

    return now == w->vpa || (now && vpa_str_eq(now->meta.uid, then->uid) &&
                             now->meta.generation == then->generation);
}

bool updater_work_is_there(const struct work *w, size_t pod)
{
    return !w->gone[pod] && updater_work_is_current(w);
}

void updater_work_confirm(struct work *w, struct vpa_replica_group *group)
{
    struct pass_env *env = w->pass->env;
    int32_t replicas = 0;
    bool known;

    if (!group || group->live_count || vpa_is_well_known_kind(group->kind))
        return;
    known =
        vpa_owners_replicas_within(env->owners,
                                   &(struct vpa_controller_key){.ns = group->ns,
                                                                .kind = group->kind,
                                                                .name = group->name,
                                                                .api_version = group->api_version},
                                   SCALE_AGE, &replicas);
    vpa_group_confirm(group, known && replicas > 0, replicas, env->disruption.tolerance);
}

/* ---- the list ---- */

struct vpa_object_ref updater_pod_ref(const struct vpa_pod *pod)
{
    return (struct vpa_object_ref){
        .api_version = "v1",
        .kind = "Pod",
        .ns = pod->meta.ns,
        .name = pod->meta.name,
        .uid = pod->meta.uid,
        .resource_version = pod->meta.resource_version,
    };
}

struct vpa_object_ref updater_vpa_ref(const struct vpa_object *vpa)
{
    return (struct vpa_object_ref){
        .api_version = VPA_GROUP_VERSION,
        .kind = "VerticalPodAutoscaler",
        .ns = vpa->meta.ns,
        .name = vpa->meta.name,
        .uid = vpa->meta.uid,
        .resource_version = vpa->meta.resource_version,
    };
}

void updater_work_skip_infeasible(struct work *w, size_t pod)
{
    struct vpa_object_ref ref = updater_pod_ref(w->pods[pod]);

    updater_meter_infeasible_skipped(&w->labels);
    vpa_events_record(w->pass->env->events, &ref, SKIPPED_REASON, SKIPPED_MESSAGE);
}

/* Pods are not to be resized: by the mode, or because that failed. */
static bool evicts(const struct work *w)
{
    return !vpa_update_mode_in_place(w->mode) || w->phase == WORK_EVICT;
}

struct vpa_decision_facts updater_work_facts(const struct work *w, const struct vpa_pod *pod)
{
    const struct pass_env *env = w->pass->env;

    return (struct vpa_decision_facts){
        .pod = pod,
        .vpa = w->vpa,
        .limits = updater_pass_limits(w->pass, pod->meta.ns),
        .infeasible = vpa_update_memory_infeasible(env->memory, pod->meta.uid),
        .options = &env->priority,
        .now = updater_env_now(env),
        .evicts = evicts(w),
    };
}

struct vpa_rest_facts updater_work_state(const struct work *w, size_t i)
{
    const struct pass_env *env = w->pass->env;
    int64_t live = vpa_disruption_live(w->budget, i);

    return (struct vpa_rest_facts){
        .of = updater_work_facts(w, w->pods[i]),
        .update = &env->update,
        .memory = env->memory,
        .steady = updater_env_steady(env),
        .group = vpa_disruption_group(w->budget, i),
        .held = updater_work_is_held(w, i),
        .controlled = live >= 0,
        .live = live,
        .required = vpa_disruption_required(w->budget),
    };
}
