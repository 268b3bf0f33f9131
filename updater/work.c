/*
 * One VPA in a pass: first boosts are taken back, then the pods that deserve a change are listed by
 * priority, then they are resized, then evicted. Each phase walks its list and stops where an
 * answer is missing; the next step goes on there.
 *
 * Two rules make resuming safe. A refusal by the budget is final only when nothing of the group is
 * under way, since a failed request gives its share back. And a list is made only when nothing is
 * under way, so that it is made from settled budgets.
 */
#include <stdint.h>
#include <stdlib.h>

#include "pass.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/boost.h"

#define SKIPPED_REASON "InPlaceResizeSkipped"
#define SKIPPED_MESSAGE                                                                            \
    "Previously recorded in-place update was infeasible, current recommendation is not lower "     \
    "than previous, skipping resize"

void updater_work_init(struct work *w, struct pass *pass, const struct vpa_object *vpa,
                       const struct vpa_pod *const *pods, size_t count)
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
        .pod_count = count,
    };
}

static void work_clear(struct work *w)
{
    vpa_disruption_free(w->budget);
    w->budget = NULL;
    free(w->list);
    w->list = NULL;
    free(w->evict);
    w->evict = NULL;
}

void updater_work_release(struct work *w)
{
    work_clear(w);
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
        return replicas != 0 ? VPA_REPLICAS_KNOWN : VPA_REPLICAS_MISSING;
    }
    return has_replica_count(kind) ? VPA_REPLICAS_MISSING : VPA_REPLICAS_UNKNOWN;
}

static bool boosts_count(const struct work *w)
{
    return w->pass->env->update.boost_gate && vpa_object_has_startup_boost(w->vpa);
}

/* Boosts whose end an earlier process has sent and the kubelet not carried out: such pods must not
 * be evicted (S5), and only that process knew what it had sent. In doubt the pod stays. */
static void recover_unboosts(struct work *w)
{
    for (size_t i = 0; i < w->pod_count; i++) {
        if (vpa_unboost_presumed(w->pods[i]))
            vpa_update_memory_set_unboost(w->pass->env->memory, w->pods[i]->meta.uid, true);
    }
}

void updater_work_begin(struct work *w)
{
    struct pass_env *env = w->pass->env;

    if (!env->has_passed && boosts_count(w))
        recover_unboosts(w);
    updater_meter_sums_add(&w->pass->gauges.controlled, w->mode, w->pod_count,
                           (double)w->pod_count);
    updater_meter_touch(&w->labels);
    w->budget =
        vpa_disruption_new(w->vpa, w->pods, w->pod_count, owner_replicas, w, &env->disruption);
}

static vpa_time now_of(const struct work *w)
{
    return vpa_loop_now(w->pass->env->loop);
}

static bool group_in_flight(const struct vpa_replica_group *group)
{
    return group && group->in_flight > 0;
}

/* ---- boosts that are over ---- */

static enum work_step step_unboost(struct work *w)
{
    struct pass_env *env = w->pass->env;

    for (; boosts_count(w) && w->next < w->pod_count; w->next++) {
        const struct vpa_pod *pod = w->pods[w->next];
        struct vpa_replica_group *group = vpa_disruption_group(w->budget, w->next);

        if (!vpa_pod_boost_expired(pod, w->vpa, now_of(w)))
            continue;
        if (!vpa_can_unboost(pod, w->vpa, group, &env->update, now_of(w))) {
            if (group_in_flight(group))
                return WORK_STEP_BLOCKED;
            continue;
        }
        if (!updater_pass_has_room(w->pass))
            return WORK_STEP_BLOCKED;

        enum act_result result = updater_act_resize(w, w->next, SIZE_MAX);

        if (result == ACT_LIMITED)
            return WORK_STEP_ABORT;
        if (result != ACT_SENT && result != ACT_NOT_NEEDED)
            updater_meter_in_place_failed(&w->labels, "UnboostError");
    }
    w->phase = WORK_FILTER;
    w->next = 0;
    return WORK_STEP_FINISHED;
}

/* ---- the list ---- */

static void skip_infeasible(struct work *w, const struct vpa_pod *pod)
{
    struct vpa_object_ref ref = updater_pod_ref(pod);

    updater_meter_infeasible_skipped(&w->labels);
    vpa_events_record(w->pass->env->events, &ref, SKIPPED_REASON, SKIPPED_MESSAGE);
}

bool updater_work_keeps(struct work *w, size_t i)
{
    struct pass_env *env = w->pass->env;
    const struct vpa_pod *pod = w->pods[i];
    struct vpa_replica_group *group = vpa_disruption_group(w->budget, i);

    if (boosts_count(w) && vpa_boost_marked(&pod->meta.annotations))
        return false;
    if (!vpa_update_mode_in_place(w->mode))
        return vpa_can_evict(pod, group, env->memory, now_of(w));

    enum vpa_update_decision decision =
        vpa_update_decide(pod, w->vpa, group, env->memory, &env->update, now_of(w));

    if (decision == VPA_DECIDE_INFEASIBLE_CACHED)
        skip_infeasible(w, pod);
    return vpa_update_kept_by_filter(w->mode, decision);
}

/* Whether the change is worth it; fills the candidate. *allowed: in a direction that the VPA wants.
 */
static bool deserves_change(struct work *w, size_t i, struct vpa_update_candidate *out,
                            bool *allowed)
{
    struct pass *pass = w->pass;
    struct pass_env *env = pass->env;
    const struct vpa_pod *pod = w->pods[i];
    struct vpa_capped capped;
    struct vpa_error err;

    vpa_arena_clear(&pass->scratch);
    if (vpa_capping_process(&pass->scratch, w->vpa, pod, updater_pass_limits(pass, pod->meta.ns),
                            &capped, &err) < 0) {
        VPA_V(2, "Cannot process the recommendation for a pod", VPA_KV("namespace", pod->meta.ns),
              VPA_KV("pod", pod->meta.name), VPA_KERR(&err));
        return false;
    }

    struct vpa_update_candidate candidate = {.pod = pod, .index = i};
    enum vpa_admission admission =
        vpa_priority_admit(pod, w->vpa, &capped.recommendation,
                           vpa_update_memory_infeasible(env->memory, pod->meta.uid), &env->priority,
                           now_of(w), &candidate.priority);

    if (admission != VPA_ADMIT_ACCEPTED) {
        VPA_V(4, "Not updating pod", VPA_KV("namespace", pod->meta.ns),
              VPA_KV("pod", pod->meta.name), VPA_KV("reason", vpa_admission_name(admission)));
        return false;
    }
    VPA_V(2, "Pod accepted for update", VPA_KV("namespace", pod->meta.ns),
          VPA_KV("pod", pod->meta.name), VPA_KV("updatePriority", candidate.priority.diff));
    *allowed = vpa_eviction_requirements_hold(pod, w->vpa, &capped.recommendation);
    *out = candidate;
    return true;
}

/* The pods to change, most urgent first. */
static void make_list(struct work *w)
{
    vpa_auto_free bool *allowed = vpa_xcalloc(w->pod_count, sizeof(*allowed));
    size_t kept = 0;

    w->list = vpa_xcalloc(w->pod_count, sizeof(*w->list));
    w->evict = vpa_xcalloc(w->pod_count, sizeof(*w->evict));
    for (size_t i = 0; i < w->pod_count; i++) {
        if (updater_work_keeps(w, i) && deserves_change(w, i, &w->list[w->list_count], &allowed[i]))
            w->list_count++;
    }
    vpa_priority_sort(w->list, w->list_count);
    for (size_t k = 0; k < w->list_count; k++) {
        if (allowed[w->list[k].index])
            w->list[kept++] = w->list[k];
    }
    w->list_count = kept;
}

static void finish_phase(struct work *w, enum work_phase phase)
{
    w->phase = phase;
    w->next = 0;
}

static enum work_step step_filter(struct work *w)
{
    struct pass *pass = w->pass;

    if (w->in_flight > 0)
        return WORK_STEP_BLOCKED;
    if (!vpa_update_mode_active(w->mode) ||
        (w->mode == VPA_MODE_IN_PLACE && !pass->env->update.in_place_gate)) {
        /* Only boosts were to be taken back. Mode and gate decide, so no gauge is touched. */
        finish_phase(w, WORK_DONE);
        return WORK_STEP_FINISHED;
    }
    make_list(w);
    if (vpa_update_mode_in_place(w->mode)) {
        updater_meter_sums_add(&pass->gauges.updatable, 0, w->pod_count, (double)w->list_count);
        w->updatable = w->list_count > 0;
        finish_phase(w, WORK_IN_PLACE);
        return WORK_STEP_FINISHED;
    }
    updater_meter_sums_add(&pass->gauges.evictable, w->mode, w->pod_count, (double)w->list_count);
    w->evictable = w->list_count > 0;
    for (size_t k = 0; k < w->list_count; k++)
        w->evict[k] = true;
    finish_phase(w, WORK_EVICT);
    return WORK_STEP_FINISHED;
}

/* ---- resizes ---- */

static enum work_step resize_candidate(struct work *w, size_t k)
{
    struct pass_env *env = w->pass->env;
    size_t i = w->list[k].index;
    const struct vpa_pod *pod = w->pods[i];
    struct vpa_replica_group *group = vpa_disruption_group(w->budget, i);
    enum vpa_update_decision decision =
        vpa_update_decide(pod, w->vpa, group, env->memory, &env->update, now_of(w));

    if (decision == VPA_DECIDE_DEFERRED && w->mode == VPA_MODE_IN_PLACE_OR_RECREATE)
        return group_in_flight(group) ? WORK_STEP_BLOCKED : WORK_STEP_FINISHED;
    if (decision == VPA_DECIDE_INFEASIBLE_CACHED)
        return WORK_STEP_FINISHED;
    if (decision == VPA_DECIDE_EVICT) {
        w->evict[k] = true;
        return WORK_STEP_FINISHED;
    }
    if (!updater_pass_has_room(w->pass))
        return WORK_STEP_BLOCKED;
    if (decision == VPA_DECIDE_INFEASIBLE)
        vpa_update_memory_record_infeasible(env->memory, pod->meta.uid, &w->vpa->recommendation);

    enum act_result result = updater_act_resize(w, i, k);

    if (result == ACT_LIMITED) {
        updater_meter_in_place_failed(&w->labels, "InPlaceUpdateRateLimiterWaitFailed");
        return WORK_STEP_ABORT;
    }
    if (result != ACT_SENT && result != ACT_NOT_NEEDED) {
        updater_meter_in_place_failed(&w->labels, "InPlaceUpdateError");
        w->evict[k] = w->mode == VPA_MODE_IN_PLACE_OR_RECREATE;
    }
    return WORK_STEP_FINISHED;
}

static enum work_step step_in_place(struct work *w)
{
    for (; w->next < w->list_count; w->next++) {
        enum work_step step = resize_candidate(w, w->next);

        if (step != WORK_STEP_FINISHED)
            return step;
    }
    finish_phase(w, WORK_EVICT);
    return WORK_STEP_FINISHED;
}

/* ---- evictions ---- */

static enum work_step step_evict(struct work *w)
{
    struct pass_env *env = w->pass->env;

    /* Which resizes fail, and so which pods are to be evicted, is known at the end. */
    if (w->next == 0 && w->in_flight > 0)
        return WORK_STEP_BLOCKED;
    for (; w->next < w->list_count; w->next++) {
        if (!w->evict[w->next])
            continue;

        size_t i = w->list[w->next].index;
        struct vpa_replica_group *group = vpa_disruption_group(w->budget, i);

        if (!vpa_can_evict(w->pods[i], group, env->memory, now_of(w))) {
            if (group_in_flight(group))
                return WORK_STEP_BLOCKED;
            continue;
        }
        if (!updater_pass_has_room(w->pass))
            return WORK_STEP_BLOCKED;
        if (updater_pass_take_token(w->pass, &env->eviction_rate) == PASS_TOKEN_REFUSED) {
            updater_meter_eviction_failed(&w->labels, "EvictionRateLimiterWaitFailed");
            return WORK_STEP_ABORT;
        }
        if (updater_act_evict(w, i) != ACT_SENT)
            updater_meter_eviction_failed(&w->labels, "EvictionError");
    }
    finish_phase(w, WORK_DRAIN);
    return WORK_STEP_FINISHED;
}

static enum work_step step_drain(struct work *w)
{
    struct meter_pass *gauges = &w->pass->gauges;

    if (w->in_flight > 0)
        return WORK_STEP_BLOCKED;
    if (w->evictable)
        updater_meter_sums_add(&gauges->vpas_with_evictable, w->mode, w->pod_count, 1);
    if (w->evicted)
        updater_meter_sums_add(&gauges->vpas_with_evicted, w->mode, w->pod_count, 1);
    if (w->updatable)
        updater_meter_sums_add(&gauges->vpas_with_updatable, 0, w->pod_count, 1);
    if (w->updated)
        updater_meter_sums_add(&gauges->vpas_with_updated, 0, w->pod_count, 1);
    finish_phase(w, WORK_DONE);
    return WORK_STEP_FINISHED;
}

enum work_step updater_work_step(struct work *w)
{
    enum work_step step = WORK_STEP_FINISHED;

    while (step == WORK_STEP_FINISHED && w->phase != WORK_DONE) {
        if (updater_pass_is_stopped(w->pass))
            return WORK_STEP_ABORT;
        switch (w->phase) {
        case WORK_BEGIN:
            updater_work_begin(w);
            finish_phase(w, WORK_UNBOOST);
            break;
        case WORK_UNBOOST:
            step = step_unboost(w);
            break;
        case WORK_FILTER:
            step = step_filter(w);
            break;
        case WORK_IN_PLACE:
            step = step_in_place(w);
            break;
        case WORK_EVICT:
            step = step_evict(w);
            break;
        case WORK_DRAIN:
            step = step_drain(w);
            break;
        case WORK_DONE:
            break;
        }
    }
    if (w->phase == WORK_DONE)
        work_clear(w);
    return step;
}
