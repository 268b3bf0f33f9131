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
#include <string.h>

#include "act.h"
#include "answer.h"
#include "few.h"
#include "prove.h"
#include "told.h"
#include "words.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/policy/resize_state.h"

static bool group_in_flight(const struct vpa_replica_group *group)
{
    return group && group->in_flight > 0;
}

/* Not worth counting as a failure: sent, not needed, not sent once more, or decided anew in the
 * next pass. */
static bool is_harmless(enum act_result result)
{
    return result == ACT_SENT || result == ACT_NOT_NEEDED || result == ACT_STALE ||
           result == ACT_REFUSED;
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

    for (; updater_env_boosts(env, w->vpa) && w->next < w->pod_count; w->next++) {
        const struct vpa_pod *pod = w->pods[w->next];
        struct vpa_replica_group *group = vpa_disruption_group(w->budget, w->next);

        if (updater_work_is_held(w, w->next) ||
            !vpa_pod_boost_expired(pod, w->vpa, updater_env_now(w->pass->env)))
            continue;
        updater_work_confirm(w, group);
        updater_work_look(w);
        if (!updater_work_is_there(w, w->next))
            continue;
        if (!vpa_can_unboost(pod, w->vpa, group, &env->update, updater_env_now(w->pass->env))) {
            if (group_in_flight(group))
                return WORK_STEP_BLOCKED;
            continue;
        }
        if (!updater_pass_has_room(w->pass))
            return WORK_STEP_BLOCKED;

        enum act_result result = updater_act_resize(w, w->next, SIZE_MAX);

        if (result == ACT_LIMITED)
            return WORK_STEP_ABORT;
        if (result == ACT_BUDGET && group_in_flight(group))
            return WORK_STEP_BLOCKED;
        if (!is_harmless(result) && result != ACT_BUDGET)
            updater_meter_in_place_failed(&w->labels, "UnboostError");
    }
    enter_phase(w, WORK_FILTER);
    return WORK_STEP_FINISHED;
}

/* ---- the list ---- */

/* Whether the change is worth it, and in a direction that the VPA wants: NONE fills the candidate,
 * else the rule that says no. */
static enum vpa_rest look_at_worth(struct work *w, size_t i, struct vpa_update_candidate *out)
{
    struct pass *pass = w->pass;
    const struct vpa_pod *pod = w->pods[i];
    const struct vpa_decision_facts facts = updater_work_facts(w, pod);
    struct vpa_decision decision;
    struct vpa_error err;

    vpa_arena_clear(&pass->scratch);
    if (vpa_decision_make(&pass->scratch, &facts, &decision, &err) < 0) {
        VPA_V(2, "Cannot process the recommendation for a pod", VPA_KV("namespace", pod->meta.ns),
              VPA_KV("pod", pod->meta.name), VPA_KERR(&err));
        return VPA_REST_LIMITS_UNKNOWN;
    }
    if (decision.admission != VPA_ADMIT_ACCEPTED) {
        VPA_V(4, "Not updating pod", VPA_KV("namespace", pod->meta.ns),
              VPA_KV("pod", pod->meta.name),
              VPA_KV("reason", vpa_admission_name(decision.admission)));
        return vpa_rest_of_decision(&decision);
    }
    VPA_V(2, "Pod accepted for update", VPA_KV("namespace", pod->meta.ns),
          VPA_KV("pod", pod->meta.name), VPA_KV("updatePriority", decision.priority.diff));
    *out = (struct vpa_update_candidate){.pod = pod, .priority = decision.priority, .index = i};
    return vpa_rest_of_decision(&decision);
}

/* Those that wait for their kubelet: what is sent to them may wait, too, and show nothing. */
static void put_waiting_last(struct work *w)
{
    vpa_auto_free struct vpa_update_candidate *waiting =
        vpa_xcalloc(w->list_count + 1, sizeof(*waiting));
    size_t count = 0, kept = 0;

    for (size_t k = 0; k < w->list_count; k++) {
        if (vpa_pod_resizing(w->list[k].pod))
            waiting[count++] = w->list[k];
        else
            w->list[kept++] = w->list[k];
    }
    memcpy(w->list + kept, waiting, count * sizeof(*waiting));
}

/* Most urgent first; why each other pod is left alone is noted (told.h). */
static void make_list(struct work *w)
{
    w->list = vpa_xcalloc(w->pod_count, sizeof(*w->list));
    w->evict = vpa_xcalloc(w->pod_count, sizeof(*w->evict));
    for (size_t i = 0; i < w->pod_count; i++) {
        const struct vpa_rest_facts state = updater_work_state(w, i);
        enum vpa_rest rest = vpa_rest_of_state(&state);

        if (rest == VPA_REST_INFEASIBLE)
            updater_work_skip_infeasible(w, i);
        if (rest == VPA_REST_NONE)
            rest = look_at_worth(w, i, &w->list[w->list_count]);
        if (rest == VPA_REST_NONE)
            w->list_count++;
        else
            updater_rest_note(w, i, rest);
    }
    vpa_priority_sort(w->list, w->list_count);
    if (w->mode == VPA_MODE_IN_PLACE && w->pass->env->prove && !w->pass->env->all_proven)
        put_waiting_last(w);
}

static enum work_step step_filter(struct work *w)
{
    struct pass *pass = w->pass;
    enum vpa_rest rest = vpa_rest_of_vpa(w->vpa, &pass->env->update);

    if (w->in_flight > 0)
        return WORK_STEP_BLOCKED;
    if (pass->env->on_work)
        pass->env->on_work(pass->env->on_work_ctx, w);
    if (rest != VPA_REST_NONE) {
        /* Only boosts were to be taken back. Mode and gate decide, so no gauge is touched. */
        updater_tell_of_vpa(pass->env, w->vpa, rest,
                            updater_words_of_rest(&pass->arena, w, 0, rest));
        enter_phase(w, WORK_DONE);
        return WORK_STEP_FINISHED;
    }
    make_list(w);
    if (vpa_update_mode_in_place(w->mode)) {
        updater_meter_sums_add(&pass->gauges.updatable, 0, w->pod_count, (double)w->list_count);
        w->updatable = w->list_count > 0;
        if (!w->updatable)
            updater_prove_settled(w);
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

/* The pod stays as it is by that rule, unless an answer that is under way may change that. */
static enum work_step leave_alone(struct work *w, size_t pod, enum vpa_rest rest)
{
    bool awaited = rest == VPA_REST_PROOF && w->in_flight > 0; /* of another group, maybe */

    if (awaited || group_in_flight(vpa_disruption_group(w->budget, pod)))
        return WORK_STEP_BLOCKED;
    updater_rest_note_turn(w, pod, rest);
    return WORK_STEP_FINISHED;
}

/* Why no request came of an attempt to resize; of one that its own state kept from it that. */
static enum vpa_rest rest_of_result(enum act_result result, enum vpa_rest state)
{
    switch (result) {
    case ACT_BUDGET:
        return VPA_REST_BUDGET;
    case ACT_NO_GROUP:
        return VPA_REST_MIN_REPLICAS;
    case ACT_NOT_NEEDED:
    case ACT_NOTHING_TO_PATCH:
        return state != VPA_REST_NONE ? state : VPA_REST_NOTHING_TO_CHANGE;
    case ACT_COMPUTATION:
        return VPA_REST_LIMITS_UNKNOWN;
    case ACT_REFUSED:
        return VPA_REST_REFUSED;
    case ACT_API:
        return VPA_REST_NO_RESIZES;
    default:
        return VPA_REST_NONE;
    }
}

static enum work_step after_resize(struct work *w, size_t k, enum act_result result,
                                   enum vpa_rest state)
{
    size_t i = w->list[k].index;
    enum vpa_rest rest = rest_of_result(result, state);

    if (result == ACT_LIMITED) {
        updater_meter_in_place_failed(&w->labels, "InPlaceUpdateRateLimiterWaitFailed");
        updater_rest_note_turn(w, i, VPA_REST_RATE);
        return WORK_STEP_ABORT;
    }
    if (result == ACT_BUDGET)
        return leave_alone(w, i, rest);
    if (!is_harmless(result)) {
        updater_meter_in_place_failed(&w->labels, "InPlaceUpdateError");
        w->evict[k] = w->mode == VPA_MODE_IN_PLACE_OR_RECREATE;
    }
    if (rest != VPA_REST_NONE && !w->evict[k])
        updater_rest_note_turn(w, i, rest);
    return WORK_STEP_FINISHED;
}

static enum work_step resize_candidate(struct work *w, size_t k)
{
    struct pass_env *env = w->pass->env;
    size_t i = w->list[k].index;
    const struct vpa_pod *pod = w->pods[i];
    struct vpa_replica_group *group = vpa_disruption_group(w->budget, i);
    struct vpa_update_verdict verdict;
    enum act_result result;
    enum work_step step;
    enum vpa_rest rest;

    updater_work_confirm(w, group);
    updater_work_look(w);
    if (!updater_work_is_there(w, i))
        return WORK_STEP_FINISHED;
    verdict = vpa_update_look(pod, w->vpa, group, env->memory, &env->update,
                              updater_env_steady(w->pass->env));
    if (verdict.decision == VPA_DECIDE_DEFERRED && w->mode == VPA_MODE_IN_PLACE_OR_RECREATE)
        return leave_alone(w, i, verdict.rest);
    if (verdict.decision == VPA_DECIDE_EVICT) {
        w->evict[k] = true;
        return WORK_STEP_FINISHED;
    }
    rest = updater_prove_rest(w, i, VPA_PROOF_RESIZE, NULL);
    if (rest != VPA_REST_NONE)
        return leave_alone(w, i, rest);
    if (!updater_pass_has_room(w->pass))
        return WORK_STEP_BLOCKED;
    result = updater_act_resize(w, i, k);
    step = after_resize(w, k, result, verdict.rest);
    /* Afterwards: what is written down of this attempt rests on what was known before it. What did
     * not fit any more was not sent, and says nothing of the node. */
    if (verdict.decision == VPA_DECIDE_INFEASIBLE && result != ACT_STALE)
        vpa_update_memory_record_infeasible(env->memory, pod->meta.uid, &w->vpa->recommendation);
    return step;
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

/* The rule that says no by what is known now, not by what was known when the list was made; the pod
 * has to be there still. pumped: since the pod was looked at, so that its turn is over if there is
 * one. */
static enum vpa_rest eviction_rest(struct work *w, size_t i, bool pumped)
{
    struct vpa_replica_group *group = vpa_disruption_group(w->budget, i);
    const struct pass_env *env = w->pass->env;
    enum vpa_rest rest;

    updater_work_confirm(w, group);
    updater_work_look(w);
    if (!updater_work_is_there(w, i))
        return VPA_REST_EVICTED;
    rest = vpa_eviction_rest(w->pods[i], group, env->memory, updater_env_steady(env));
    if (pumped && rest != VPA_REST_NONE)
        updater_rest_note_turn(w, i, rest);
    return rest;
}

static enum work_step evict_candidate(struct work *w, size_t k)
{
    size_t i = w->list[k].index;
    struct vpa_rate *rate = &w->pass->env->eviction_rate;
    enum vpa_rest rest = eviction_rest(w, i, false);
    struct vpa_update_candidate ignored;
    enum pass_token token;
    bool dry_run = false;

    if (!updater_work_is_there(w, i))
        return WORK_STEP_FINISHED;
    /* A resize may have been wanted for a container that the webhook leaves alone (U44). */
    if (rest == VPA_REST_NONE && vpa_update_mode_in_place(w->mode))
        rest = look_at_worth(w, i, &ignored);
    if (rest == VPA_REST_NONE)
        rest = updater_prove_rest(w, i, VPA_PROOF_EVICTION, &dry_run);
    if (rest != VPA_REST_NONE)
        return leave_alone(w, i, rest);
    if (!updater_pass_has_room(w->pass))
        return WORK_STEP_BLOCKED;
    /* What is to get no token is not tried. */
    if (dry_run && w->pass->spent != rate &&
        (!updater_prove_dry_run(w, i) || eviction_rest(w, i, true) != VPA_REST_NONE))
        return WORK_STEP_FINISHED;
    token = updater_pass_take_token(w->pass, rate);
    if (token == PASS_TOKEN_REFUSED) {
        updater_meter_eviction_failed(&w->labels, "EvictionRateLimiterWaitFailed");
        updater_rest_note_turn(w, i, VPA_REST_RATE);
        return WORK_STEP_ABORT;
    }
    w->served = true;
    if (token == PASS_TOKEN_TAKEN || eviction_rest(w, i, true) == VPA_REST_NONE)
        updater_act_evict(w, i);
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
    updater_few_note(w);
    enter_phase(w, WORK_DONE);
    return WORK_STEP_FINISHED;
}

enum work_step updater_work_step(struct work *w)
{
    enum work_step step = WORK_STEP_FINISHED;

    while (step == WORK_STEP_FINISHED && w->phase != WORK_DONE) {
        if (updater_env_is_stopped(w->pass->env))
            return WORK_STEP_ABORT;
        switch (w->phase) {
        case WORK_BEGIN:
            updater_work_observe(w);
            updater_work_begin(w);
            w->told = updater_told_of(w->pass->env, w->vpa);
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
    if (w->phase == WORK_DONE || step == WORK_STEP_ABORT)
        updater_rest_publish(w);
    if (w->phase == WORK_DONE)
        updater_work_clear(w);
    return step;
}
