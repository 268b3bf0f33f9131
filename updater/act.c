/*
 * One change to one pod.
 *
 * Eviction is one request. A resize is two: resources to the subresource, then the annotations,
 * whose failure is only logged. What a boosted pod needs may be the second request alone: its
 * resources are back already, because an earlier process died, or was refused, between the two.
 *
 * The budget is reserved when the request is sent and given back when it fails. Answers arrive on
 * the loop; there they are only noted, and dealt with by the pass: budget, metrics, events, and the
 * decision between "evict instead" and "leave it".
 */
#include "act.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "announce.h"
#include "flight.h"
#include "prove.h"
#include "rest.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"
#include "vpa/json/json_writer.h"
#include "vpa/policy/decision.h"
#include "vpa/policy/resize_patch.h"
#include "vpa/policy/resize_state.h"

/* How old a decision may grow until its request goes out, pauses of Retry-After included, and how
 * long an answer is waited for. */
#define DECISION_AGE (30 * VPA_SECOND)
#define EVICTION_BODY_MAX 2048
/* How long the answer "there is no pods/resize" is believed. */
#define RESIZE_SUPPORT_AGE (10 * VPA_MINUTE)

struct action {
    struct flight flight; /* first: the list of the pass gives it back */
    struct work *work;
    const struct vpa_pod *pod;
    struct vpa_replica_group *group;
    enum { ACTION_EVICT, ACTION_RESIZE, ACTION_UNBOOST, ACTION_ANNOTATE } kind;
    size_t index;      /* of the pod in work->pods */
    size_t candidate;  /* in work->list, SIZE_MAX without */
    bool takes_back;   /* a boost ends with it */
    bool changes;      /* the spec changes; false for a repetition */
    bool restarts;     /* the kubelet restarts a container for it */
    char *why;         /* old and new values and the reason; heap, "" when nothing is known */
    char *inputs;      /* of the decision, for the ledger; heap or NULL */
    char *annotations; /* second request of a resize, heap */
    size_t annotations_len;
    enum act_result result;
    int status_code;
    bool resized;    /* only the annotations are missing, whatever the VPA says by now */
    bool unanswered; /* it may have been carried out all the same */
};

static void action_free(struct flight *flight)
{
    struct action *a = (struct action *)flight;

    a->work->in_flight--;
    free(a->annotations);
    free(a->why);
    free(a->inputs);
    free(a);
}

static void finish(struct flight *flight);
static void drop(struct flight *flight);

static struct action *action_new(struct work *w, size_t pod)
{
    struct action *a = vpa_xcalloc(1, sizeof(*a));

    a->flight.finish = finish;
    a->flight.drop = drop;
    a->work = w;
    a->index = pod;
    a->pod = w->pods[pod];
    a->group = vpa_disruption_group(w->budget, pod);
    a->candidate = SIZE_MAX;
    return a;
}

static void action_started(struct action *a)
{
    a->work->in_flight++;
    updater_flight_begin(a->work->pass, &a->flight);
}

static void action_answered(struct action *a, enum act_result result)
{
    a->result = result;
    updater_flight_answered(a->work->pass, &a->flight);
}

/* Asked when the bytes of the request could go out, after every wait. */
static bool is_wanted(void *ctx)
{
    const struct action *a = ctx;
    const struct pass_env *env = a->work->pass->env;
    const struct vpa_pod *now =
        updater_store_find_pod(env->store, a->pod->meta.ns, a->pod->meta.name);

    return !updater_pass_is_stopped(a->work->pass) &&
           (a->resized || updater_work_is_current(a->work)) && now &&
           vpa_str_eq(now->meta.uid, a->pod->meta.uid);
}

static void send_request(struct action *a, enum vpa_kube_verb verb, const char *subresource,
                         const char *body, size_t len, vpa_kube_done_fn done)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&path, "v1", a->pod->meta.ns, "pods", a->pod->meta.name, subresource);
    a->flight.request = vpa_kube_start(a->work->pass->env->client,
                                       &(struct vpa_kube_call){.verb = verb,
                                                               .path = vpa_buf_text(&path),
                                                               .body = body,
                                                               .body_len = len,
                                                               .wanted = is_wanted,
                                                               .timeout = DECISION_AGE,
                                                               .max_age = DECISION_AGE},
                                       done, a);
}

static void log_failure(const struct action *a, const char *message, const struct vpa_error *err)
{
    VPA_ERROR_UNLESS_TOLD(err, message, VPA_KERR(err), VPA_KV("namespace", a->pod->meta.ns),
                          VPA_KV("pod", a->pod->meta.name));
}

/* What became of a request that failed; the log has it. */
static enum act_result failed(struct action *a, const char *message,
                              const struct vpa_kube_result *result, const struct vpa_error *err)
{
    a->unanswered = result->unanswered;
    if (err->code != VPA_CANCELLED && !vpa_kube_is_stale(result)) {
        log_failure(a, message, err);
        return ACT_API;
    }
    VPA_V(1, "A decision is dropped: it waited too long, or does not fit any more", VPA_KERR(err),
          VPA_KV("namespace", a->pod->meta.ns), VPA_KV("pod", a->pod->meta.name));
    return ACT_STALE;
}

/* ---- eviction ---- */

static void on_evicted(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct action *a = ctx;

    a->status_code = result->status_code;
    action_answered(a, err ? failed(a, "Failed to evict pod", result, err) : ACT_OK);
}

/* Not the next pod of the same name. */
static void put_precondition(struct vpa_json_writer *w, const char *uid)
{
    if (!*vpa_or_empty(uid))
        return;
    vpa_json_member_object(w, "deleteOptions");
    vpa_json_member_object(w, "preconditions");
    vpa_json_member_string(w, "uid", uid);
    vpa_json_close_object(w);
    vpa_json_close_object(w);
}

void updater_act_evict(struct work *w, size_t pod)
{
    struct vpa_replica_group *group = vpa_disruption_group(w->budget, pod);
    const struct vpa_meta *meta = &w->pods[pod]->meta;
    struct vpa_json_writer writer;
    vpa_auto_buf body = VPA_BUF(EVICTION_BODY_MAX);

    vpa_json_writer_init(&writer, &body);
    vpa_json_open_object(&writer);
    vpa_json_member_string(&writer, "kind", "Eviction");
    vpa_json_member_string(&writer, "apiVersion", "policy/v1");
    vpa_json_member_object(&writer, "metadata");
    vpa_json_member_string(&writer, "name", meta->name);
    vpa_json_member_string(&writer, "namespace", meta->ns);
    vpa_json_close_object(&writer);
    put_precondition(&writer, meta->uid);
    vpa_json_close_object(&writer);

    struct action *a = action_new(w, pod);

    a->kind = ACTION_EVICT;
    a->why = updater_explain_update(w, a->pod);
    a->inputs = updater_decision_inputs(w, a->pod);
    vpa_group_reserve_eviction(group, vpa_pod_pending(a->pod));
    w->left[pod] = true;
    updater_prove_sent(w, pod, VPA_PROOF_EVICTION, false);
    action_started(a);
    send_request(a, VPA_KUBE_CREATE, "eviction", body.data, body.len, on_evicted);
}

/* ---- resize ---- */

/* Whether the API server is known to be too old for resizes; asks again from time to time. */
static bool resize_is_missing(struct pass_env *env)
{
    if (!env->resize.missing)
        return false;
    return vpa_loop_monotonic(env->loop) - env->resize.checked_at < RESIZE_SUPPORT_AGE;
}

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

static void on_annotated(void *ctx, const struct vpa_kube_result *result,
                         const struct vpa_error *err)
{
    struct action *a = ctx;
    enum act_result outcome = ACT_OK;

    if (err)
        outcome = failed(a, "Failed to patch the annotations of a resized pod", result, err);
    /* A resize has succeeded whatever became of its annotations. */
    action_answered(a, a->kind == ACTION_ANNOTATE ? outcome : ACT_OK);
}

/* Whether the pod has annotations, by what the API server answered to its resize. */
static bool says_annotations(const struct vpa_kube_result *resized)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *pod;

    return vpa_json_parse(&arena, vpa_or_empty(resized->body), resized->body_len, &pod, NULL) ==
               0 &&
           vpa_json_count(vpa_json_at(pod, "metadata.annotations")) > 0;
}

/* Somebody may have given the pod its first annotations while it was resized, or before, and the
 * cache has not heard of it. resized: the answer; NULL: it was not resized. */
static bool has_got_annotations(const struct action *a, const struct vpa_kube_result *resized)
{
    const struct vpa_meta *meta = &a->pod->meta;
    const struct vpa_pod *now =
        updater_store_find_pod(a->work->pass->env->store, meta->ns, meta->name);

    if (meta->annotations.present)
        return false;
    return (now && now->meta.annotations.present) || (resized && says_annotations(resized));
}

static void send_annotations(struct action *a, const struct vpa_kube_result *resized)
{
    vpa_auto_buf mark = VPA_BUF(VPA_RESIZE_PATCH_MAX);

    if (has_got_annotations(a, resized)) {
        vpa_resize_patch_mark(a->pod, &mark);
        send_request(a, VPA_KUBE_PATCH_JSON, NULL, mark.data, mark.len, on_annotated);
        return;
    }
    send_request(a, VPA_KUBE_PATCH_JSON, NULL, a->annotations, a->annotations_len, on_annotated);
}

static bool is_node_capacity(const struct vpa_kube_result *result)
{
    return vpa_str_eq(result->status.reason, "Forbidden") &&
           vpa_kube_has_cause(&result->status, "NodeCapacity");
}

static void on_resized(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct action *a = ctx;

    if (!err) {
        a->resized = true;
        send_annotations(a, result);
        return;
    }
    a->status_code = result->status_code;

    enum act_result why = failed(a, "Failed to resize pod in place", result, err);

    action_answered(a, is_node_capacity(result) ? ACT_API_INFEASIBLE : why);
}

/* The two patches for a pod as it is now. */
static enum act_result build_patch(struct work *w, size_t pod, struct vpa_resize_patch *patch)
{
    struct pass *pass = w->pass;
    const struct vpa_pod *p = w->pods[pod];
    const struct vpa_namespace_limits *limits = updater_pass_limits(pass, p->meta.ns);
    struct vpa_container_plan *plans;
    struct vpa_error err;

    vpa_arena_clear(&pass->scratch);
    int planned = vpa_capping_plan(&pass->scratch, w->vpa, p, limits, &plans, &err);
    if (planned == 0 && pass->env->priority.startup_boost)
        vpa_decision_leave_off(p, w->vpa, plans);
    if (planned == 0 && vpa_resize_patch_build(p, w->vpa, limits, plans, updater_env_now(pass->env),
                                               &pass->scratch, patch, &err) == 0)
        return ACT_OK;
    VPA_V(2, "No resize patch for pod", VPA_KERR(&err), VPA_KV("namespace", p->meta.ns),
          VPA_KV("pod", p->meta.name));
    return err.code == VPA_NOT_FOUND ? ACT_NOTHING_TO_PATCH : ACT_COMPUTATION;
}

/* A resize that changes nothing is not worth a request, unless the kubelet failed to carry it out.
 */
static bool worth_sending(const struct vpa_resize_patch *patch, const struct vpa_pod *pod)
{
    return patch->changes || vpa_pod_resize_status(pod) == VPA_RESIZE_ERROR;
}

/* What is to be done about a pod: patches, and whether the resources are part of it. */
struct resize {
    enum act_result result; /* ACT_SENT when something is to be sent */
    bool resources;
    struct vpa_resize_patch patch;
};

/* A restart of a container is a disruption in every mode (U20). The end of a boost was asked for
 * before (vpa_can_unboost). */
static bool exceeds_budget(struct work *w, size_t pod, const struct resize *r)
{
    return r->patch.restarts && !vpa_pod_pending(w->pods[pod]) &&
           !vpa_pod_disruptable(w->pods[pod], vpa_disruption_group(w->budget, pod),
                                w->pass->env->memory);
}

static void resize_prepare(struct work *w, size_t pod, size_t candidate, struct resize *r)
{
    r->resources = true;
    if (!vpa_disruption_group(w->budget, pod)) {
        r->result = ACT_NO_GROUP;
        return;
    }
    if (resize_is_missing(w->pass->env)) {
        r->result = ACT_API;
        return;
    }
    r->result = build_patch(w, pod, &r->patch);
    if (r->result != ACT_OK)
        return;
    r->resources = worth_sending(&r->patch, w->pods[pod]);
    r->result = r->resources || r->patch.takes_back ? ACT_SENT : ACT_NOT_NEEDED;
    if (r->resources && candidate != SIZE_MAX && exceeds_budget(w, pod, r))
        r->result = ACT_BUDGET;
}

/* Whether what was decided before the limiter held us up is so still. */
static bool still_wanted(struct work *w, size_t pod, size_t candidate)
{
    const struct pass_env *env = w->pass->env;
    const struct vpa_pod *p = w->pods[pod];
    const struct vpa_replica_group *group = vpa_disruption_group(w->budget, pod);

    if (!updater_work_is_there(w, pod))
        return false;
    if (candidate == SIZE_MAX)
        return vpa_can_unboost(p, w->vpa, group, &env->update, updater_work_now(w));
    return w->mode == VPA_MODE_IN_PLACE ||
           vpa_update_decide(p, w->vpa, group, env->memory, &env->update, updater_work_steady(w)) ==
               VPA_DECIDE_APPROVED;
}

/* Attempts that must fail take their token too, as upstream's do; not where a rule forbids one. */
static bool take_token(struct work *w, size_t pod, size_t candidate, struct resize *r)
{
    enum pass_token token;

    if (!r->resources || r->result == ACT_BUDGET || r->result == ACT_NO_GROUP)
        return true;
    token = updater_pass_take_token(w->pass, &w->pass->env->in_place_rate);
    if (token == PASS_TOKEN_TAKEN_LATE) {
        updater_work_look(w);
        if (still_wanted(w, pod, candidate))
            resize_prepare(w, pod, candidate, r); /* boosts may have expired meanwhile */
        else
            r->result = ACT_STALE;
    }
    w->served |= token != PASS_TOKEN_REFUSED;
    return token != PASS_TOKEN_REFUSED;
}

static void start_resize(struct work *w, size_t pod, size_t candidate,
                         struct vpa_resize_patch *patch, bool resources)
{
    struct action *a = action_new(w, pod);

    a->candidate = candidate;
    a->takes_back = patch->takes_back;
    a->changes = patch->changes;
    a->restarts = patch->restarts;
    a->annotations_len = patch->annotations.len;
    a->annotations = vpa_buf_take(&patch->annotations);
    if (!resources) {
        a->kind = ACTION_ANNOTATE;
        action_started(a);
        send_annotations(a, NULL);
        return;
    }
    a->kind = candidate == SIZE_MAX ? ACTION_UNBOOST : ACTION_RESIZE;
    a->why = a->kind == ACTION_UNBOOST ? updater_explain_unboost(a->pod, patch->requests)
                                       : updater_explain_update(w, a->pod);
    if (a->kind == ACTION_RESIZE)
        a->inputs = updater_decision_inputs(w, a->pod);
    vpa_group_reserve_resize(a->group);
    if (a->kind == ACTION_RESIZE)
        updater_prove_sent(w, pod, VPA_PROOF_RESIZE, patch->restarts);
    action_started(a);
    send_request(a, VPA_KUBE_PATCH_JSON, "resize", patch->resize.data, patch->resize.len,
                 on_resized);
}

enum act_result updater_act_resize(struct work *w, size_t pod, size_t candidate)
{
    struct resize r;

    vpa_resize_patch_init(&r.patch);
    resize_prepare(w, pod, candidate, &r);
    if (!take_token(w, pod, candidate, &r))
        r.result = ACT_LIMITED;
    else if (r.result == ACT_SENT)
        start_resize(w, pod, candidate, &r.patch, r.resources);
    vpa_resize_patch_release(&r.patch);
    return r.result;
}

/* ---- answers ---- */

static bool is_refused_by_budget(const struct action *a)
{
    return a->kind == ACTION_EVICT && a->status_code == 429;
}

/* Not by a server that is not reached, has too much to do or is going down (U35). */
static bool is_refused(const struct action *a)
{
    return a->status_code >= 400 && a->status_code <= 500 && a->status_code != 429;
}

static enum vpa_rest rest_of(const struct action *a)
{
    if (is_refused_by_budget(a))
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
        return updater_rest_is_news(a->work, rest_of(a));
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

/* The pod may have been evicted. */
static void note_doubt(const struct action *a)
{
    const struct pass_env *env = a->work->pass->env;

    if (!env->all_proven)
        vpa_update_memory_note_doubt(env->memory, a->pod, a->group->newest,
                                     updater_work_steady(a->work));
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
                                        updater_work_steady(w));
    w->evicted = true;
    updater_meter_evicted(&w->labels);
    updater_announce_eviction(w, a->pod, a->why);
}

/* The pod is missing until it is ready again. */
static void note_restart(const struct action *a)
{
    const struct pass_env *env = a->work->pass->env;

    if (a->restarts && !env->all_proven && vpa_pod_is_ready(a->pod))
        vpa_update_memory_note_restart(env->memory, a->pod, updater_work_steady(a->work));
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

/* A patch without effect leaves what was noted, so does one for a pod whose boost still ends. */
static void note_boost(const struct action *a)
{
    struct vpa_update_memory *memory = a->work->pass->env->memory;

    if (a->takes_back || (a->changes && !vpa_unboost_unfinished(a->pod, memory)))
        vpa_update_memory_set_unboost(memory, a->pod->meta.uid, a->takes_back);
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
    w->updated = true;
    updater_meter_updated_in_place(&w->labels);
    updater_announce_resize(w, a->pod, a->why);
}

static void finish(struct flight *flight)
{
    struct action *action = (struct action *)flight;
    struct work *w = action->work;

    switch (action->kind) {
    case ACTION_EVICT:
        write_down(action, "evict");
        finish_eviction(action);
        break;
    case ACTION_RESIZE:
    case ACTION_UNBOOST:
        write_down(action, action->kind == ACTION_UNBOOST ? "unboost" : "resize");
        finish_resize(action);
        break;
    case ACTION_ANNOTATE: /* no event, no count: nothing was resized */
        if (action->result == ACT_OK || action->unanswered)
            note_boost(action);
        break;
    }
    w->last = action->result;
    action_free(flight);
}

/* Its answer is not waited for any more. */
static void drop(struct flight *flight)
{
    const struct action *a = (const struct action *)flight;

    if (a->kind == ACTION_EVICT)
        note_doubt(a);
    else
        note_restart(a);
    /* The marker may be gone, and with it all that tells that a boost ends. */
    if (a->resized || a->kind == ACTION_ANNOTATE)
        note_boost(a);
    action_free(flight);
}
