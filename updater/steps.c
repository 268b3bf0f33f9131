/*
 * One VPA in a pass: first boosts are taken back, then the pods that deserve a change are listed by
 * priority, then they are resized, then evicted. Each phase walks its list and stops where an
 * answer is missing; the next step goes on there.
 *
 * Two rules make resuming safe. A refusal by the budget is final only when nothing of the group is
 * under way, since a failed request gives its share back. And a list is made only when nothing is
 * under way, so that it is made from settled budgets.
 */
#include "steps.h"

#include <stdint.h>

#include "act.h"
#include "flight.h"
#include "prove.h"

static bool group_in_flight(const struct vpa_replica_group *group)
{
    return group && group->in_flight > 0;
}

/* Not worth counting as a failure: sent, not needed, or decided anew in the next pass. */
static bool is_harmless(enum act_result result)
{
    return result == ACT_SENT || result == ACT_NOT_NEEDED || result == ACT_STALE;
}

static void enter_phase(struct work *w, enum work_phase phase)
{
    w->phase = phase;
    w->next = 0;
}

/* ---- boosts that are over ---- */

static enum work_step step_unboost(struct work *w)
{
    struct pass_env *env = w->pass->env;

    for (; updater_work_boosts(w) && w->next < w->pod_count; w->next++) {
        const struct vpa_pod *pod = w->pods[w->next];
        struct vpa_replica_group *group = vpa_disruption_group(w->budget, w->next);

        updater_work_look(w);
        if (updater_work_is_held(w, w->next) || !updater_work_is_there(w, w->next) ||
            !vpa_pod_boost_expired(pod, w->vpa, updater_work_now(w)))
            continue;
        if (!vpa_can_unboost(pod, w->vpa, group, &env->update, updater_work_now(w))) {
            if (group_in_flight(group))
                return WORK_STEP_BLOCKED;
            continue;
        }
        if (!updater_pass_has_room(w->pass))
            return WORK_STEP_BLOCKED;

        enum act_result result = updater_act_resize(w, w->next, SIZE_MAX);

        if (result == ACT_LIMITED)
            return WORK_STEP_ABORT;
        if (!is_harmless(result))
            updater_meter_in_place_failed(&w->labels, "UnboostError");
    }
    enter_phase(w, WORK_FILTER);
    return WORK_STEP_FINISHED;
}

/* ---- the list ---- */

static enum work_step step_filter(struct work *w)
{
    struct pass *pass = w->pass;

    if (w->in_flight > 0)
        return WORK_STEP_BLOCKED;
    if (pass->env->on_work)
        pass->env->on_work(pass->env->on_work_ctx, w);
    if (!vpa_update_mode_active(w->mode) ||
        (w->mode == VPA_MODE_IN_PLACE && !pass->env->update.in_place_gate)) {
        /* Only boosts were to be taken back. Mode and gate decide, so no gauge is touched. */
        enter_phase(w, WORK_DONE);
        return WORK_STEP_FINISHED;
    }
    updater_work_make_list(w);
    if (vpa_update_mode_in_place(w->mode)) {
        updater_meter_sums_add(&pass->gauges.updatable, 0, w->pod_count, (double)w->list_count);
        w->updatable = w->list_count > 0;
        enter_phase(w, WORK_IN_PLACE);
        return WORK_STEP_FINISHED;
    }
    updater_meter_sums_add(&pass->gauges.evictable, w->mode, w->pod_count, (double)w->list_count);
    w->evictable = w->list_count > 0;
    for (size_t k = 0; k < w->list_count; k++)
        w->evict[k] = true;
    enter_phase(w, WORK_EVICT);
    return WORK_STEP_FINISHED;
}

/* ---- resizes ---- */

static enum work_step resize_candidate(struct work *w, size_t k)
{
    struct pass_env *env = w->pass->env;
    size_t i = w->list[k].index;
    const struct vpa_pod *pod = w->pods[i];
    struct vpa_replica_group *group = vpa_disruption_group(w->budget, i);
    enum vpa_update_decision decision;

    updater_work_confirm(w, group);
    updater_work_look(w);
    if (!updater_work_is_there(w, i))
        return WORK_STEP_FINISHED;
    decision =
        vpa_update_decide(pod, w->vpa, group, env->memory, &env->update, updater_work_now(w));
    if (decision == VPA_DECIDE_DEFERRED && w->mode == VPA_MODE_IN_PLACE_OR_RECREATE)
        return group_in_flight(group) ? WORK_STEP_BLOCKED : WORK_STEP_FINISHED;
    if (decision == VPA_DECIDE_INFEASIBLE_CACHED)
        return WORK_STEP_FINISHED;
    if (decision == VPA_DECIDE_EVICT) {
        w->evict[k] = true;
        return WORK_STEP_FINISHED;
    }
    if (!updater_prove_permits(w, i, VPA_PROOF_RESIZE))
        return group_in_flight(group) ? WORK_STEP_BLOCKED : WORK_STEP_FINISHED;
    if (!updater_pass_has_room(w->pass))
        return WORK_STEP_BLOCKED;
    if (decision == VPA_DECIDE_INFEASIBLE)
        vpa_update_memory_record_infeasible(env->memory, pod->meta.uid, &w->vpa->recommendation);

    enum act_result result = updater_act_resize(w, i, k);

    if (result == ACT_LIMITED) {
        updater_meter_in_place_failed(&w->labels, "InPlaceUpdateRateLimiterWaitFailed");
        return WORK_STEP_ABORT;
    }
    if (result == ACT_BUDGET)
        return group_in_flight(group) ? WORK_STEP_BLOCKED : WORK_STEP_FINISHED;
    if (!is_harmless(result)) {
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
    enter_phase(w, WORK_EVICT);
    return WORK_STEP_FINISHED;
}

/* ---- evictions ---- */

/* By what is known now, not by what was known when the list was made. */
static bool may_evict(struct work *w, size_t i)
{
    struct vpa_replica_group *group = vpa_disruption_group(w->budget, i);

    updater_work_confirm(w, group);
    updater_work_look(w);
    return updater_work_is_there(w, i) &&
           vpa_can_evict(w->pods[i], group, w->pass->env->memory, updater_work_now(w));
}

static enum work_step evict_candidate(struct work *w, size_t k)
{
    size_t i = w->list[k].index;
    enum pass_token token;
    bool pumped = false;

    if (!may_evict(w, i))
        return updater_work_is_there(w, i) && group_in_flight(vpa_disruption_group(w->budget, i))
                   ? WORK_STEP_BLOCKED
                   : WORK_STEP_FINISHED;
    if (!updater_prove_permits(w, i, VPA_PROOF_EVICTION))
        return group_in_flight(vpa_disruption_group(w->budget, i)) ? WORK_STEP_BLOCKED
                                                                   : WORK_STEP_FINISHED;
    if (!updater_pass_has_room(w->pass))
        return WORK_STEP_BLOCKED;
    if (!updater_prove_dry_run(w, i, &pumped) || (pumped && !may_evict(w, i)))
        return WORK_STEP_FINISHED;
    token = updater_pass_take_token(w->pass, &w->pass->env->eviction_rate);
    if (token == PASS_TOKEN_REFUSED) {
        updater_meter_eviction_failed(&w->labels, "EvictionRateLimiterWaitFailed");
        return WORK_STEP_ABORT;
    }
    if (token == PASS_TOKEN_TAKEN_LATE && !may_evict(w, i))
        return WORK_STEP_FINISHED;
    if (updater_act_evict(w, i) != ACT_SENT)
        updater_meter_eviction_failed(&w->labels, "EvictionError");
    return WORK_STEP_FINISHED;
}

static enum work_step step_evict(struct work *w)
{
    /* Which resizes fail, and so which pods are to be evicted, is known at the end. */
    if (w->next == 0 && w->in_flight > 0)
        return WORK_STEP_BLOCKED;
    for (; w->next < w->list_count; w->next++) {
        enum work_step step = w->evict[w->next] ? evict_candidate(w, w->next) : WORK_STEP_FINISHED;

        if (step != WORK_STEP_FINISHED)
            return step;
    }
    enter_phase(w, WORK_DRAIN);
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
    enter_phase(w, WORK_DONE);
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
            updater_work_observe(w);
            updater_work_begin(w);
            enter_phase(w, WORK_UNBOOST);
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
        updater_work_clear(w);
    return step;
}
