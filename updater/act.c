/*
 * One change to one pod.
 *
 * Eviction is one request. A resize is two: resources to the subresource, then the annotations,
 * whose failure is only logged. What a boosted pod needs may be the second request alone: its
 * resources are back already, because an earlier process died, or was refused, between the two.
 *
 * The budget is reserved when the request is sent. What its answer changes is in answer.c.
 */
#include "act.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "prove.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/daemon/ledger.h"
#include "vpa/json/json.h"
#include "vpa/json/json_writer.h"
#include "vpa/policy/decision.h"
#include "vpa/policy/reason.h"
#include "vpa/policy/resize_patch.h"
#include "vpa/policy/resize_state.h"

/* How old a decision may grow until its request goes out, pauses of Retry-After included, and how
 * long an answer is waited for. */
#define DECISION_AGE (30 * VPA_SECOND)
#define EVICTION_BODY_MAX 2048
/* How long the answer "there is no pods/resize" is believed. */
#define RESIZE_SUPPORT_AGE (10 * VPA_MINUTE)

static struct action *action_new(struct work *w, size_t pod)
{
    struct action *a = vpa_xcalloc(1, sizeof(*a));

    a->work = w;
    a->index = pod;
    a->pod = w->pods[pod];
    a->group = vpa_disruption_group(w->budget, pod);
    a->candidate = SIZE_MAX;
    return a;
}

static char *inputs_of(const struct pass_env *env, const struct vpa_decision_facts *facts,
                       const struct vpa_decision *decision)
{
    struct vpa_json_writer writer;
    vpa_auto_buf inputs = VPA_BUF(VPA_LEDGER_LINE_MAX);

    if (!env->ledger)
        return NULL;
    vpa_json_writer_init(&writer, &inputs);
    vpa_decision_encode(&writer, facts, decision);
    return vpa_buf_failed(&inputs) ? NULL : vpa_buf_take(&inputs);
}

/* Decides about the pod as it is now: notes why it is changed and what that rests on, and returns
 * what it is to have, absent when that cannot be told. In the scratch memory, which is cleared
 * first. */
static struct vpa_recommendation decide(struct action *a)
{
    struct work *w = a->work;
    const struct pass_env *env = w->pass->env;
    const struct vpa_decision_facts facts = updater_work_facts(w, a->pod);
    struct vpa_decision decision = {.wanted = {.present = false}};
    struct vpa_error err;
    vpa_auto_buf why = VPA_BUF(VPA_REASON_MAX);

    vpa_arena_clear(&w->pass->scratch);
    if (vpa_decision_make(&w->pass->scratch, &facts, &decision, &err) == 0)
        a->inputs = inputs_of(env, &facts, &decision);
    if (decision.wanted.present)
        vpa_reason_of_update(a->pod, w->vpa, &decision.wanted, &env->priority, &why);
    a->why = vpa_buf_take(&why);
    return decision.wanted;
}

/* The pod as it is now; NULL: it is gone. */
static const struct vpa_pod *pod_now(const struct action *a)
{
    const struct vpa_meta *meta = &a->pod->meta;
    const struct vpa_pod *now =
        updater_store_find_pod(a->work->pass->env->store, meta->ns, meta->name);

    return now && vpa_str_eq(now->meta.uid, meta->uid) ? now : NULL;
}

/* Asked when the bytes of the request could go out, after every wait. */
static bool is_wanted(void *ctx)
{
    const struct action *a = ctx;

    return !updater_env_is_stopped(a->work->pass->env) &&
           (a->resized || updater_work_is_current(a->work)) && pod_now(a);
}

static void send_request(struct action *a, enum vpa_kube_verb verb, const char *subresource,
                         const char *body, size_t len, vpa_kube_done_fn done)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&path, "v1", a->pod->meta.ns, "pods", a->pod->meta.name, subresource);
    a->request = vpa_kube_start(a->work->pass->env->client,
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

/* Else it has too much to do. Every server that knows policy/v1 names the cause. */
static bool is_by_budget(const struct vpa_kube_result *result)
{
    return result->status_code == 429 && vpa_kube_has_cause(&result->status, "DisruptionBudget");
}

static void on_evicted(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct action *a = ctx;

    a->status_code = result->status_code;
    a->refused_by_budget = err && is_by_budget(result);
    updater_action_answered(a, err ? failed(a, "Failed to evict pod", result, err) : ACT_OK);
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
    struct vpa_recommendation wanted = decide(a);

    a->kind = ACTION_EVICT;
    vpa_group_reserve_eviction(group, vpa_pod_pending(a->pod));
    w->left[pod] = true;
    updater_prove_sent(w, pod, VPA_PROOF_EVICTION, false, &wanted);
    updater_action_sent(a);
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

static void on_annotated(void *ctx, const struct vpa_kube_result *result,
                         const struct vpa_error *err)
{
    struct action *a = ctx;
    enum act_result outcome = ACT_OK;

    if (err)
        outcome = failed(a, "Failed to patch the annotations of a resized pod", result, err);
    a->unmarked = !err || result->unanswered;
    /* A resize has succeeded whatever became of its annotations. */
    updater_action_answered(a, a->kind == ACTION_ANNOTATE ? outcome : ACT_OK);
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
    const struct vpa_pod *now = pod_now(a);

    if (a->pod->meta.annotations.present)
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
    a->refusal = vpa_xstrdup(result->status.message);

    enum act_result why = failed(a, "Failed to resize pod in place", result, err);

    updater_action_answered(a, is_node_capacity(result) ? ACT_API_INFEASIBLE : why);
}

/* Where nothing but a resize is to come, what can be done of it is (U47). */
static bool is_cautious(const struct work *w, size_t pod, size_t candidate)
{
    const struct pass_env *env = w->pass->env;

    return (candidate == SIZE_MAX || w->mode == VPA_MODE_IN_PLACE) &&
           vpa_update_memory_is_refused(env->memory, w->pods[pod]->meta.uid,
                                        updater_env_steady(env));
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

/* A resize that changes nothing is not worth a request, but for one when the kubelet has failed to
 * carry it out. */
static bool worth_sending(const struct work *w, const struct vpa_resize_patch *patch,
                          const struct vpa_pod *pod)
{
    return patch->changes || (vpa_pod_resize_status(pod) == VPA_RESIZE_ERROR &&
                              !vpa_update_memory_is_repeated(w->pass->env->memory, pod->meta.uid));
}

static uint64_t hash_of(const struct vpa_resize_patch *patch)
{
    return vpa_hash_bytes(patch->resize.data, patch->resize.len);
}

/* The same once more would be refused once more, in every pass (U48). */
static bool was_refused(const struct work *w, size_t pod, const struct vpa_resize_patch *patch)
{
    const struct pass_env *env = w->pass->env;

    return w->mode == VPA_MODE_IN_PLACE &&
           vpa_update_memory_was_refused(env->memory, w->pods[pod]->meta.uid, hash_of(patch),
                                         updater_env_steady(env));
}

/* What is to be done about a pod: patches, and whether the resources are part of it. */
struct resize {
    enum act_result result; /* ACT_SENT when something is to be sent */
    bool resources;
    struct vpa_resize_patch patch;
};

/* A restart of a container is a disruption in every mode (U20). The end of a boost was asked for
 * before (vpa_can_unboost), but where the group is short of pods (U46). */
static bool exceeds_budget(struct work *w, size_t pod, size_t candidate, const struct resize *r)
{
    const struct vpa_replica_group *group = vpa_disruption_group(w->budget, pod);

    return r->patch.restarts && !vpa_pod_pending(w->pods[pod]) &&
           (candidate != SIZE_MAX || vpa_group_is_short(group)) &&
           !vpa_pod_disruptable(w->pods[pod], group, w->pass->env->memory);
}

/* A boost ends that no resource can be taken back of (U52). */
static bool is_marker_alone(const struct resize *r)
{
    return r->result == ACT_NOTHING_TO_PATCH && r->patch.takes_back;
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
    r->patch.cautious = is_cautious(w, pod, candidate);
    r->result = build_patch(w, pod, &r->patch);
    if (r->result != ACT_OK && !is_marker_alone(r))
        return;
    r->resources = r->result == ACT_OK && worth_sending(w, &r->patch, w->pods[pod]);
    r->result = r->resources || r->patch.takes_back ? ACT_SENT : ACT_NOT_NEEDED;
    if (!r->resources)
        return;
    if (was_refused(w, pod, &r->patch))
        r->result = ACT_REFUSED;
    else if (exceeds_budget(w, pod, candidate, r))
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
        return vpa_can_unboost(p, w->vpa, group, &env->update, updater_env_now(w->pass->env));
    return w->mode == VPA_MODE_IN_PLACE ||
           vpa_update_decide(p, w->vpa, group, env->memory, &env->update,
                             updater_env_steady(w->pass->env)) == VPA_DECIDE_APPROVED;
}

/* Attempts that must fail take their token too, as upstream's do; not where a rule forbids one. */
static bool take_token(struct work *w, size_t pod, size_t candidate, struct resize *r)
{
    enum pass_token token;

    if (!r->resources || r->result == ACT_BUDGET || r->result == ACT_NO_GROUP ||
        r->result == ACT_REFUSED)
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

/* The kubelet may have carried it out while the pass went on. */
static bool is_behind_end(const struct action *a, const struct vpa_resource_list *requests)
{
    const struct vpa_pod *now = pod_now(a);

    return now && vpa_unboost_outlasts(now, a->work->pass->env->memory, requests);
}

static void send_resources(struct action *a, const struct vpa_resize_patch *patch)
{
    send_request(a, VPA_KUBE_PATCH_JSON, "resize", patch->resize.data, patch->resize.len,
                 on_resized);
}

/* What a cautious patch asks for, beside the containers of the pod; NULL: all that is wanted. It
 * outlives the scratch memory. */
static const struct vpa_resource_list *copy_asked(const struct action *a,
                                                  const struct vpa_resize_patch *patch)
{
    struct vpa_arena *arena = &a->work->pass->arena;
    size_t count = a->pod->container_count;
    struct vpa_resource_list *asked;

    if (!patch->cautious)
        return NULL;
    asked = vpa_arena_zalloc(arena, (count + 1) * sizeof(*asked));
    for (size_t i = 0; i < count; i++)
        asked[i] = vpa_resource_list_copy(arena, &patch->requests[i]);
    return asked;
}

/* No proof can be had of what is not asked for. */
static struct vpa_recommendation keep_asked(const struct action *a,
                                            const struct vpa_recommendation *wanted,
                                            const struct vpa_resource_list *asked)
{
    struct vpa_recommendation kept = vpa_recommendation_copy(&a->work->pass->scratch, wanted);

    for (size_t i = 0; kept.present && i < a->pod->container_count; i++) {
        const struct vpa_container_recommendation *rec =
            vpa_recommendation_find(&kept, a->pod->containers[i].name);

        if (rec && !vpa_resource_find(&asked[i], VPA_MEMORY))
            vpa_resource_remove(&kept.containers[rec - kept.containers].target, VPA_MEMORY);
    }
    return kept;
}

static void begin_proof(struct action *a, const struct vpa_resize_patch *patch)
{
    const struct vpa_resource_list *asked = copy_asked(a, patch);
    struct vpa_recommendation wanted = decide(a);

    if (asked)
        wanted = keep_asked(a, &wanted, asked);
    updater_prove_sent(a->work, a->index, VPA_PROOF_RESIZE, patch->restarts, &wanted);
}

static void start_resize(struct work *w, size_t pod, size_t candidate,
                         struct vpa_resize_patch *patch, bool resources)
{
    struct action *a = action_new(w, pod);

    a->candidate = candidate;
    a->takes_back = patch->takes_back;
    a->keeping = patch->keeping ? vpa_xstrdup(patch->keeping) : NULL;
    a->behind_end = is_behind_end(a, patch->requests);
    a->changes = patch->changes;
    a->restarts = patch->restarts;
    a->patch = hash_of(patch);
    a->annotations_len = patch->annotations.len;
    a->annotations = vpa_buf_take(&patch->annotations);
    if (!patch->changes) {
        a->kind = ACTION_ANNOTATE;
        updater_action_sent(a);
        if (resources) {
            vpa_update_memory_note_repetition(w->pass->env->memory, a->pod->meta.uid);
            send_resources(a, patch);
        } else {
            send_annotations(a, NULL);
        }
        return;
    }
    vpa_group_reserve_resize(a->group);
    if (candidate == SIZE_MAX) {
        vpa_auto_buf why = VPA_BUF(VPA_REASON_MAX);

        a->kind = ACTION_UNBOOST;
        vpa_reason_of_unboost(a->pod, patch->requests, &why);
        a->why = vpa_buf_take(&why);
    } else {
        a->kind = ACTION_RESIZE;
        begin_proof(a, patch);
    }
    updater_action_sent(a);
    send_resources(a, patch);
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
