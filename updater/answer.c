/*
 * Requests under way, and what their answers change.
 *
 * The budget was reserved when the request was sent; it is given back when it fails.
 */
#include "answer.h"

#include <stdlib.h>

#include "prove.h"
#include "told.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/resize_state.h"

/* How long requests under way may go on when nothing may be changed any more: shutdown, panic, lost
 * leadership. */
#define STOP_PATIENCE (2 * VPA_SECOND)

/* ---- what the cluster hears ---- */

/* Upstream's text, then ours. */
static void record(const struct work *w, const struct vpa_object_ref *object, const char *reason,
                   const char *text, const char *why)
{
    vpa_auto_free char *message = *why ? vpa_xprintf("%s: %s", text, why) : vpa_xstrdup(text);

    vpa_events_record(w->pass->env->events, object, reason, message);
}

static void announce_eviction(const struct work *w, const struct vpa_pod *pod, const char *why)
{
    struct vpa_object_ref ref = updater_pod_ref(pod), vpa = updater_vpa_ref(w->vpa);
    vpa_auto_free char *text =
        vpa_xprintf("VPA Updater evicted Pod %s to apply resource recommendation.", pod->meta.name);

    VPA_INFO("Evicted pod", VPA_KV("namespace", pod->meta.ns), VPA_KV("pod", pod->meta.name),
             VPA_KV("vpa", vpa.name), VPA_KV("change", why));
    record(w, &ref, "EvictedByVPA",
           "Pod was evicted by VPA Updater to apply resource recommendation.", why);
    record(w, &vpa, "EvictedPod", text, why);
}

static void announce_resize(const struct work *w, const struct vpa_pod *pod, const char *why)
{
    struct vpa_object_ref ref = updater_pod_ref(pod), vpa = updater_vpa_ref(w->vpa);
    vpa_auto_free char *text = vpa_xprintf("VPA Updater resized Pod %s in place", pod->meta.name);

    VPA_INFO("Resized pod in place", VPA_KV("namespace", pod->meta.ns),
             VPA_KV("pod", pod->meta.name), VPA_KV("vpa", vpa.name), VPA_KV("change", why));
    record(w, &ref, "InPlaceResizedByVPA", "Pod was resized in place by VPA Updater.", why);
    record(w, &vpa, "InPlaceResizedPod", text, why);
}

/* ---- the ledger ---- */

/* Not by a server that is not reached, does not know us, has too much to do or is going down
 * (U35). */
static bool is_refused(const struct action *a)
{
    return a->status_code >= 400 && a->status_code <= 500 && a->status_code != 401 &&
           a->status_code != 408 && a->status_code != 429;
}

static enum vpa_rest rest_of(const struct action *a)
{
    if (a->refused_by_budget)
        return VPA_REST_REFUSED_PDB;
    return is_refused(a) ? VPA_REST_REFUSED : VPA_REST_NOT_NOW;
}

/* Of a resize that was accepted only its annotations may be in doubt. */
static bool is_in_doubt(const struct action *a)
{
    return a->unanswered && a->result != ACT_OK;
}

static const char *rule_of(const struct action *a)
{
    static const char *const rules[VPA_REST_COUNT] = {
        [VPA_REST_REFUSED_PDB] = "refused by a PodDisruptionBudget",
        [VPA_REST_REFUSED] = "refused by the API server",
        [VPA_REST_NOT_NOW] = "not now: tried again in the next pass",
    };

    if (is_in_doubt(a))
        return "not answered: it may have been carried out";
    switch (a->result) {
    case ACT_OK:
        return "accepted";
    case ACT_STALE:
        return "dropped: it does not fit any more";
    case ACT_API_INFEASIBLE:
        return "refused: the node cannot hold it";
    default:
        return rules[rest_of(a)];
    }
}

/* What is refused in every pass is entered when that begins. */
static bool is_news(const struct action *a)
{
    if (is_in_doubt(a))
        return true;
    switch (a->result) {
    case ACT_API:
    case ACT_API_INFEASIBLE:
        return updater_told_news(a->work->pass->env, a->work->told, rest_of(a));
    default:
        return true;
    }
}

static void write_down(const struct action *a, const char *decision)
{
    if (!is_news(a))
        return;
    updater_write_down(
        a->work->pass->env, a->work->vpa, a->pod->meta.name,
        &(struct vpa_ledger_entry){
            .decision = decision, .rule = rule_of(a), .why = a->why, .inputs = a->inputs});
}

/* ---- evictions ---- */

/* The pod may have been evicted. */
static void note_doubt(const struct action *a)
{
    const struct pass_env *env = a->work->pass->env;

    if (!env->all_proven)
        vpa_update_memory_note_doubt(env->memory, a->pod, a->group->newest,
                                     updater_env_steady(a->work->pass->env));
}

/* What nobody has answered is still looked at: it is a trial, and whoever goes was evicted. */
static void eviction_refused(struct action *a)
{
    struct work *w = a->work;

    vpa_group_give_back_eviction(a->group, vpa_pod_pending(a->pod));
    updater_work_take_back(w, a->index);
    if (a->unanswered) {
        vpa_group_doubt(a->group, a->pod);
        note_doubt(a);
    } else {
        updater_prove_refused(w, a->index, VPA_PROOF_EVICTION);
    }
    if (a->result != ACT_STALE)
        updater_meter_eviction_failed(&w->labels, "EvictionError");
}

static void finish_eviction(struct action *a)
{
    struct work *w = a->work;

    if (a->result != ACT_OK) {
        eviction_refused(a);
        return;
    }
    vpa_group_settle(a->group);
    if (!w->pass->env->all_proven)
        vpa_update_memory_note_eviction(w->pass->env->memory, a->pod, a->group->newest,
                                        updater_env_steady(w->pass->env));
    w->evicted = true;
    updater_meter_evicted(&w->labels);
    announce_eviction(w, a->pod, a->why);
}

/* ---- resizes ---- */

/* After a 404: the pod may be gone, or the subresource was never there. */
static void check_resize_support(struct pass_env *env)
{
    struct vpa_discovery *discovery = vpa_owners_discovery(env->owners);

    env->resize.checked_at = vpa_loop_monotonic(env->loop);
    env->resize.missing = discovery && vpa_discovery_has_subresource(discovery, "v1", "pods") &&
                          !vpa_discovery_has_subresource(discovery, "v1", "pods/resize");
    if (!env->resize.missing || env->resize.said)
        return;
    env->resize.said = true;
    VPA_WARN("The API server has no pods/resize (Kubernetes before 1.33): pods of mode "
             "InPlaceOrRecreate are evicted, those of mode InPlace and boosted ones stay as they "
             "are");
}

/* The pod is missing until it is ready again. */
static void note_restart(const struct action *a)
{
    const struct pass_env *env = a->work->pass->env;

    if (a->restarts && !env->all_proven && vpa_pod_is_ready(a->pod))
        vpa_update_memory_note_restart(env->memory, a->pod, updater_env_steady(a->work->pass->env));
}

/* The API server does not take what was asked for: not because of who asks, because the pod is
 * another one, or for the moment. Mode InPlace remembers otherwise what a node cannot hold. */
static bool is_unacceptable(const struct action *a)
{
    if (a->result == ACT_API_INFEASIBLE)
        return a->kind == ACTION_UNBOOST;
    switch (a->status_code) {
    case 401:
    case 403:
    case 404:
    case 408:
    case 409:
    case 429:
        return false;
    default:
        return a->status_code >= 400 && a->status_code < 500;
    }
}

/* Mode InPlace has no other way: whoever wrote the VPA is told (U48). */
static void announce_refusal(const struct action *a)
{
    struct vpa_object_ref vpa = updater_vpa_ref(a->work->vpa);
    vpa_auto_free char *text =
        vpa_xprintf("VPA Updater cannot resize Pod %s in place, the API server refuses it: %.300s",
                    a->pod->meta.name, vpa_or_empty(a->refusal));

    vpa_events_record_warning(a->work->pass->env->events, &vpa, "InPlaceResizeRefused", text);
}

static void note_refusal(const struct action *a)
{
    const struct pass_env *env = a->work->pass->env;
    bool news = vpa_update_memory_note_refusal(env->memory, a->pod->meta.uid, a->patch,
                                               updater_env_steady(env));

    if (news && a->work->mode == VPA_MODE_IN_PLACE)
        announce_refusal(a);
}

static void resize_refused(struct action *a)
{
    struct work *w = a->work;
    struct pass_env *env = w->pass->env;

    vpa_group_give_back_resize(a->group);
    if (a->unanswered && a->restarts)
        vpa_group_doubt(a->group, a->pod);
    if (a->unanswered)
        note_restart(a);
    if (a->kind == ACTION_RESIZE && !a->unanswered)
        updater_prove_refused(w, a->index, VPA_PROOF_RESIZE);
    if (a->result == ACT_STALE)
        return;
    if (a->status_code == 404)
        check_resize_support(env);
    if (is_unacceptable(a))
        note_refusal(a);
    if (a->kind == ACTION_UNBOOST) {
        updater_meter_in_place_failed(&w->labels, "UnboostError");
    } else if (w->mode == VPA_MODE_IN_PLACE && a->result == ACT_API_INFEASIBLE) {
        updater_meter_in_place_failed(&w->labels, "InPlaceUpdateInfeasible");
        vpa_update_memory_record_infeasible(env->memory, a->pod->meta.uid, &w->vpa->recommendation);
    } else {
        updater_meter_in_place_failed(&w->labels, "InPlaceUpdateError");
        if (w->mode == VPA_MODE_IN_PLACE_OR_RECREATE && !a->unanswered)
            w->evict[a->candidate] = is_refused(a);
    }
}

/* A patch without effect leaves what was noted, so does one that the end of a boost outlasts. */
static void note_boost(const struct action *a)
{
    if (a->takes_back || (a->changes && !a->behind_end))
        vpa_update_memory_set_unboost(a->work->pass->env->memory, a->pod->meta.uid, a->takes_back);
}

/* Once: there is no marker any more that would bring it up again. */
static void announce_keeping(const struct action *a)
{
    vpa_auto_free char *text = NULL;

    if (!a->keeping || !a->unmarked)
        return;
    struct vpa_object_ref pod = updater_pod_ref(a->pod);
    text = vpa_xprintf(
        "The startup boost is over, but its cpu request stays: there was none before it, "
        "and no cpu is recommended to go down to. Containers: %.300s",
        a->keeping);
    vpa_events_record_warning(a->work->pass->env->events, &pod, "StartupBoostStays", text);
}

static void finish_resize(struct action *a)
{
    struct work *w = a->work;

    if (a->result != ACT_OK) {
        resize_refused(a);
        return;
    }
    vpa_group_settle(a->group);
    note_boost(a);
    note_restart(a);
    if (a->kind == ACTION_RESIZE)
        vpa_update_memory_note_resize(w->pass->env->memory, a->pod->meta.uid);
    w->updated = true;
    updater_meter_updated_in_place(&w->labels);
    announce_resize(w, a->pod, a->why);
}

/* ---- the end of an action ---- */

static void action_free(struct action *a)
{
    a->work->in_flight--;
    free(a->annotations);
    free(a->keeping);
    free(a->why);
    free(a->inputs);
    free(a->refusal);
    free(a);
}

static void finish(struct action *a)
{
    switch (a->kind) {
    case ACTION_EVICT:
        write_down(a, "evict");
        finish_eviction(a);
        break;
    case ACTION_RESIZE:
    case ACTION_UNBOOST:
        write_down(a, a->kind == ACTION_UNBOOST ? "unboost" : "resize");
        finish_resize(a);
        break;
    case ACTION_ANNOTATE: /* no event, no count: nothing was resized */
        if (a->result == ACT_OK || a->unanswered)
            note_boost(a);
        break;
    }
    announce_keeping(a);
    a->work->last = a->result;
    action_free(a);
}

/* Its answer is not waited for any more. */
static void drop(struct action *a)
{
    if (a->kind == ACTION_EVICT)
        note_doubt(a);
    else
        note_restart(a);
    /* The marker may be gone, and with it all that tells that a boost ends. */
    if (a->resized || a->kind == ACTION_ANNOTATE)
        note_boost(a);
    action_free(a);
}

/* ---- under way ---- */

static void leave_under_way(struct pass *pass, struct action *a)
{
    if (a->next)
        a->next->previous = a->previous;
    if (a->previous)
        a->previous->next = a->next;
    else
        pass->under_way = a->next;
    a->next = NULL;
    a->previous = NULL;
}

void updater_action_sent(struct action *a)
{
    struct pass *pass = a->work->pass;

    a->work->in_flight++;
    pass->in_flight++;
    a->next = pass->under_way;
    if (a->next)
        a->next->previous = a;
    pass->under_way = a;
}

void updater_action_answered(struct action *a, enum act_result result)
{
    struct pass *pass = a->work->pass;

    a->result = result;
    leave_under_way(pass, a);
    *pass->finished_tail = a;
    pass->finished_tail = &a->next;
}

static void cancel_all(struct pass *pass)
{
    while (pass->under_way) {
        struct action *a = pass->under_way;

        leave_under_way(pass, a);
        vpa_kube_cancel(a->request);
        pass->in_flight--;
        drop(a);
    }
}

/* An answer came in, or nothing may be changed any more. */
static bool wants_attention(void *ctx)
{
    const struct pass *pass = ctx;

    return pass->finished != NULL || updater_env_is_stopped(pass->env);
}

void updater_pass_settle(struct pass *pass)
{
    while (pass->finished) {
        struct action *a = pass->finished;

        pass->finished = a->next;
        if (!pass->finished)
            pass->finished_tail = &pass->finished;
        pass->in_flight--;
        finish(a);
    }
}

/* ---- waiting ---- */

static enum pass_token give_up(struct pass *pass, const struct vpa_rate *rate, int64_t now)
{
    pass->all_spent = now > pass->deadline || (pass->spent && pass->spent != rate);
    pass->spent = rate;
    return PASS_TOKEN_REFUSED;
}

enum pass_token updater_pass_take_token(struct pass *pass, struct vpa_rate *rate)
{
    int64_t now = vpa_loop_monotonic(pass->env->loop);
    enum pass_token token = PASS_TOKEN_TAKEN;
    vpa_duration wait;

    if (updater_env_is_stopped(pass->env))
        return PASS_TOKEN_REFUSED;
    if (!vpa_rate_reserve(rate, now, pass->deadline - now, &wait))
        return give_up(pass, rate, now);

    int64_t until = now + wait;

    while (now < until) {
        struct vpa_error err;

        if (updater_env_is_stopped(pass->env))
            return PASS_TOKEN_REFUSED;
        token = PASS_TOKEN_TAKEN_LATE;
        if (vpa_loop_wait(pass->env->loop, wants_attention, pass, until - now, &err) == 0)
            updater_pass_settle(pass);
        now = vpa_loop_monotonic(pass->env->loop);
    }
    return updater_env_is_stopped(pass->env) ? PASS_TOKEN_REFUSED : token;
}

void updater_pass_wait(struct pass *pass)
{
    struct vpa_error err;

    if (vpa_loop_wait(pass->env->loop, wants_attention, pass, VPA_HOUR, &err) == 0)
        updater_pass_settle(pass);
}

static bool has_finished(void *ctx)
{
    const struct pass *pass = ctx;

    return pass->finished != NULL;
}

void updater_pass_drain(struct pass *pass)
{
    struct vpa_loop *loop = pass->env->loop;
    bool stopping = false;
    int64_t until = 0; /* monotonic; 0: there is no hurry */
    struct vpa_error err;

    updater_pass_settle(pass);
    while (pass->in_flight > 0) {
        int64_t now = vpa_loop_monotonic(loop);

        if (!until && updater_env_is_stopped(pass->env))
            until = now + STOP_PATIENCE;
        if (vpa_loop_is_stopping(loop)) {
            stopping = true;
            vpa_loop_resume(loop);
        }
        if (until && now >= until) { /* some of it may not even have been sent */
            cancel_all(pass);
            break;
        }
        (void)vpa_loop_wait(loop, until ? has_finished : wants_attention, pass,
                            until ? until - now : VPA_HOUR, &err);
        updater_pass_settle(pass);
    }
    if (stopping)
        vpa_loop_stop(loop);
}
