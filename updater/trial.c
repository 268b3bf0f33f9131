/* One eviction or resize whose outcome is looked at. */
#include "trial.h"

#include <stdlib.h>
#include <string.h>

#include "unscheduled.h"
#include "vpa/api/controller.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/resize_state.h"

/* How long a pod that asked to be evicted may look as if nothing had happened. */
#define NOTHING_HAPPENS (2 * VPA_MINUTE)
/* How long a replacement may take to become ready. */
#define READY_PATIENCE (10 * VPA_MINUTE)
/* So long for all of them, where one takes the place of the other before it is ready. */
#define REPLACED_PATIENCE (3 * READY_PATIENCE)
/* How often a list looks for what has not come to one that is alone. */
#define ASKED_AGAIN (10 * VPA_MINUTE)
/* Where nobody says how many pods there are to be, one that does not come back was not wanted, or
 * is refused: another one is tried when it has been away for so long. */
#define ALONE_MOST (24 * VPA_HOUR)

/* ---- life ---- */

void updater_trial_free(struct trial *t)
{
    free((char *)(uintptr_t)t->id.vpa);
    free((char *)(uintptr_t)t->id.group);
    free(t->ns);
    free(t->kind);
    free(t->name);
    free(t->api_version);
    free(t->pod);
    free(t->uid);
    free(t->told);
    free(t->key);
    vpa_expected_release(&t->expected);
    free(t);
}

struct trial *updater_trial_new(struct work *w, size_t pod, const struct vpa_proof_id *id,
                                const char *key, const struct vpa_recommendation *wanted)
{
    const struct vpa_replica_group *g = vpa_disruption_group(w->budget, pod);
    const struct vpa_pod *p = w->pods[pod];
    struct trial *t = vpa_xcalloc(1, sizeof(*t));

    t->key = vpa_xstrdup(key);
    t->id = *id;
    t->id.vpa = vpa_xstrdup(id->vpa);
    t->id.group = vpa_xstrdup(id->group);
    t->ns = vpa_xstrdup(g->ns);
    t->kind = vpa_xstrdup(g->kind);
    t->name = vpa_xstrdup(g->name);
    t->api_version = vpa_xstrdup(g->api_version);
    t->pod = vpa_xstrdup(p->meta.name);
    t->uid = vpa_xstrdup(p->meta.uid);
    t->template = updater_template_of(p);
    t->newest = g->newest;
    t->sent = updater_env_steady(w->pass->env);
    t->gone = VPA_TIME_UNSET;
    t->came = VPA_TIME_UNSET;
    t->seen = VPA_TIME_UNSET;
    vpa_expected_init(&t->expected, p, wanted);
    return t;
}

/* A rollout makes another one of these. Jobs are another one in every run of a CronJob, and what
 * custom resources do is not known: of theirs all are alike. */
static bool owner_is_template(const struct vpa_owner_reference *owner)
{
    enum vpa_controller_kind kind = vpa_controller_kind_parse(owner->kind);

    return kind == VPA_KIND_REPLICA_SET || kind == VPA_KIND_REPLICATION_CONTROLLER;
}

uint64_t updater_template_of(const struct vpa_pod *pod)
{
    static const char *const labels[] = {"pod-template-hash", "controller-revision-hash"};
    const struct vpa_owner_reference *owner = vpa_meta_controller_first(&pod->meta);
    const char *text = owner && owner_is_template(owner) ? owner->name : "";

    for (size_t i = 0; i < VPA_COUNT(labels); i++) {
        const char *hash = vpa_labels_get(&pod->meta.labels, labels[i]);

        if (hash)
            return vpa_hash_bytes(hash, strlen(hash));
    }
    return vpa_hash_bytes(text, strlen(text));
}

/* ---- evictions ---- */

/* Nothing is the fault of the eviction where a rollout has put another pod there. */
static enum vpa_verdict blame(const struct trial *t, const struct vpa_pod *replacement,
                              enum vpa_verdict verdict)
{
    bool overtaken = updater_template_of(replacement) != t->template;

    return overtaken && vpa_verdict_failed(verdict) ? VPA_VERDICT_VOID : verdict;
}

static enum vpa_verdict judge_replacement(struct pass *pass, struct trial *t,
                                          const struct vpa_object *vpa,
                                          const struct vpa_pod *replacement, struct vpa_buf *seen)
{
    struct vpa_recommendation wanted =
        updater_pass_wanted(pass, vpa, replacement, t->id.way == VPA_PROOF_EVICTION);

    return blame(t, replacement, vpa_expected_judge(&t->expected, replacement, &wanted, seen));
}

/* Notes since when there is a replacement, and since when it is this one. */
static void see_oldest(struct trial *t, const struct vpa_pod *oldest, vpa_time now)
{
    const char *text = vpa_or_empty(oldest->meta.uid);
    uint64_t uid = vpa_hash_bytes(text, strlen(text));

    if (vpa_time_is_unset(t->came))
        t->came = now;
    if (vpa_time_is_unset(t->seen) || t->seen_uid != uid)
        t->seen = now;
    t->seen_uid = uid;
}

/* Whether the oldest replacement has had its time to become ready, or all that came have. */
static bool is_slow(const struct trial *t, vpa_time now)
{
    return vpa_time_sub(now, t->seen) > READY_PATIENCE ||
           vpa_time_sub(now, t->came) > REPLACED_PATIENCE;
}

static void put_slow(const struct trial *t, const struct vpa_pod *oldest, vpa_time now,
                     struct vpa_buf *seen)
{
    if (vpa_time_sub(now, t->seen) > READY_PATIENCE)
        vpa_buf_printf(seen, "pod %s has the values and is not ready after %d minutes",
                       oldest->meta.name, (int)(READY_PATIENCE / VPA_MINUTE));
    else
        vpa_buf_printf(seen,
                       "pod %s has the values and is not ready, and none of those that came before "
                       "it was within %d minutes",
                       oldest->meta.name, (int)(REPLACED_PATIENCE / VPA_MINUTE));
}

static bool has_helped(struct pass *pass, struct trial *t, const struct vpa_object *vpa,
                       const struct vpa_pod *pod)
{
    vpa_auto_buf unsaid = VPA_BUF(2 * VPA_SEEN_MAX);

    return judge_replacement(pass, t, vpa, pod, &unsaid) == VPA_VERDICT_GOOD;
}

/* The newest of the pods that came may take its time to become ready. Others may be ready before:
 * pods come behind the one that took the place of the evicted one in a rollout, or when there are
 * to be more of them. None is said to be slow but the one that has been there for so long, or the
 * last of several of which none became ready in three times as long. */
static enum vpa_verdict judge_present(struct pass *pass, struct trial *t,
                                      const struct vpa_object *vpa, const struct vpa_pod *newest,
                                      const struct vpa_pod *oldest, struct vpa_buf *seen)
{
    vpa_time now = updater_env_steady(pass->env);
    enum vpa_verdict verdict = judge_replacement(pass, t, vpa, newest, seen);

    see_oldest(t, oldest, now);
    if (verdict == VPA_VERDICT_WAIT && t->helped)
        return VPA_VERDICT_GOOD;
    if (verdict != VPA_VERDICT_WAIT || !is_slow(t, now))
        return verdict;
    verdict = judge_replacement(pass, t, vpa, oldest, seen);
    if (verdict != VPA_VERDICT_WAIT)
        return verdict;
    put_slow(t, oldest, now, seen);
    return blame(t, oldest, VPA_VERDICT_NOT_READY);
}

/* Nothing has come: is there to be one? Then it is asked for, with those of others. */
static enum vpa_verdict judge_absent(struct pass *pass, struct trial *t,
                                     const struct vpa_object *vpa)
{
    const struct vpa_controller_key owner = {
        .ns = t->ns, .kind = t->kind, .name = t->name, .api_version = t->api_version};
    enum vpa_controller_kind kind = vpa_controller_kind_parse(t->kind);
    bool said = vpa_owners_wanted(pass->env->owners, &owner, &t->wanted);

    t->may_be_fewer = kind == VPA_KIND_JOB || (kind == VPA_KIND_OTHER && !said);
    if (said ? t->live >= t->wanted : !t->may_be_fewer)
        return VPA_VERDICT_VOID; /* scaled down, or gone */
    if (t->alone && t->live > 0 &&
        vpa_time_sub(updater_env_steady(pass->env), t->asked) < ASKED_AGAIN)
        return VPA_VERDICT_WAIT;
    t->asks = vpa;
    return VPA_VERDICT_WAIT;
}

static enum vpa_verdict judge_eviction(struct pass *pass, struct trial *t,
                                       const struct vpa_object *vpa, struct vpa_buf *seen)
{
    const struct pass_env *env = pass->env;
    vpa_time now = updater_env_steady(env);
    const struct vpa_pod *old = updater_store_find_pod(env->store, t->ns, t->pod);

    if (t->newest_pod)
        return judge_present(pass, t, vpa, t->newest_pod, t->oldest_pod, seen);
    if (t->judged)
        return VPA_VERDICT_WAIT;
    if (old && vpa_str_eq(old->meta.uid, t->uid))
        return vpa_time_is_unset(old->meta.deletion) && vpa_time_sub(now, t->sent) > NOTHING_HAPPENS
                   ? VPA_VERDICT_VOID
                   : VPA_VERDICT_WAIT;
    if (vpa_time_is_unset(t->gone))
        t->gone = now;
    if (vpa_time_sub(now, t->gone) < env->config->proof_patience)
        return VPA_VERDICT_WAIT;
    return judge_absent(pass, t, vpa);
}

/* What is wanted by now of what was asked for. */
static struct vpa_recommendation wanted_of_asked(struct pass *pass, const struct trial *t,
                                                 const struct vpa_object *vpa,
                                                 const struct vpa_pod *pod)
{
    struct vpa_recommendation wanted = updater_pass_wanted(pass, vpa, pod, false);
    struct vpa_recommendation kept = vpa_recommendation_copy(&pass->scratch, &wanted);

    for (size_t i = 0; kept.present && i < kept.container_count; i++) {
        struct vpa_container_recommendation *rec = &kept.containers[i];
        const struct vpa_container_recommendation *asked =
            vpa_recommendation_find(&t->expected.wanted, rec->container_name);

        for (size_t k = rec->target.count; k-- > 0;) {
            const char *resource = rec->target.items[k].name;

            if (!asked || !vpa_resource_find(&asked->target, resource))
                vpa_resource_remove(&rec->target, resource);
        }
    }
    return kept;
}

/* What was asked for may be of hours ago: nothing that comes of a size which is not wanted any more
 * says anything. */
static bool is_wanted(struct pass *pass, const struct trial *t, const struct vpa_object *vpa,
                      const struct vpa_pod *pod)
{
    struct vpa_recommendation wanted = wanted_of_asked(pass, t, vpa, pod);
    struct vpa_priority priority = vpa_priority_of(pod, &wanted);

    return wanted.present && !priority.outside_range &&
           (priority.diff <= 0 || priority.diff < pass->env->priority.update_threshold);
}

/* The kubelet has nothing to do: it has not begun, or the pod is as it was to be, and has to bear
 * it. */
static enum vpa_verdict judge_resized(struct pass *pass, struct trial *t,
                                      const struct vpa_object *vpa, const struct vpa_pod *pod,
                                      struct vpa_buf *seen)
{
    enum vpa_verdict verdict = judge_present(pass, t, vpa, pod, pod, seen);

    if (verdict != VPA_VERDICT_WAIT && t->aside && !is_wanted(pass, t, vpa, pod))
        return VPA_VERDICT_VOID;
    if (verdict != VPA_VERDICT_NOT_PATCHED && verdict != VPA_VERDICT_PATCHED_BACK)
        return verdict;
    t->came = t->seen = VPA_TIME_UNSET;
    return vpa_time_sub(updater_env_steady(pass->env), t->sent) > NOTHING_HAPPENS
               ? VPA_VERDICT_VOID
               : VPA_VERDICT_WAIT;
}

static bool is_never_done(const struct pass_env *env, const struct vpa_pod *pod, vpa_time now)
{
    vpa_time since = now;

    (void)vpa_update_memory_resize_since(env->memory, pod->meta.uid, &since);
    return vpa_time_sub(now, since) > VPA_RESIZE_IN_PROGRESS_TIMEOUT;
}

/* A pod that waits for room on its node says nothing of what others are to have, nor does one that
 * the kubelet had not resized before either: its containers may use too much. */
static enum vpa_verdict judge_resize(struct pass *pass, struct trial *t,
                                     const struct vpa_object *vpa, struct vpa_buf *seen)
{
    const struct pass_env *env = pass->env;
    const struct vpa_pod *pod = updater_store_find_pod(env->store, t->ns, t->pod);
    vpa_time now = updater_env_steady(env);

    if (!pod || !vpa_str_eq(pod->meta.uid, t->uid))
        return VPA_VERDICT_VOID;

    enum vpa_resize_status status = vpa_pod_resize_status(pod);

    /* What it is waiting for may be another thing than in the last pass. */
    vpa_update_memory_observe(env->memory, pod, now);
    if (status == VPA_RESIZE_NONE)
        return judge_resized(pass, t, vpa, pod, seen);
    if (t->judged || (status == VPA_RESIZE_IN_PROGRESS && !is_never_done(env, pod, now)))
        return VPA_VERDICT_WAIT;
    t->waits = t->waited || status == VPA_RESIZE_DEFERRED;
    if (t->waits)
        return VPA_VERDICT_WAIT;
    vpa_buf_printf(seen, "the resize of pod %s is %s", t->pod, vpa_resize_status_name(status));
    return VPA_VERDICT_NOT_RESIZED;
}

/* ---- a pass ---- */

void updater_trial_begin_pass(struct trial *t)
{
    t->newest_pod = t->oldest_pod = NULL;
    t->helped = false;
    t->live = 0;
}

void updater_trial_see(struct pass *pass, struct trial *t, const struct vpa_object *vpa,
                       const struct vpa_pod *pod)
{
    t->live++;
    if (pod->meta.creation <= t->newest)
        return;
    if (!t->newest_pod || pod->meta.creation >= t->newest_pod->meta.creation)
        t->newest_pod = pod;
    if (!t->oldest_pod || pod->meta.creation < t->oldest_pod->meta.creation)
        t->oldest_pod = pod;
    t->helped = t->helped || (vpa && vpa_pod_is_ready(pod) && has_helped(pass, t, vpa, pod));
}

enum vpa_verdict updater_trial_judge(struct pass *pass, struct trial *t,
                                     const struct vpa_object *vpa, struct vpa_buf *seen)
{
    t->asks = NULL;
    return t->id.way == VPA_PROOF_EVICTION ? judge_eviction(pass, t, vpa, seen)
                                           : judge_resize(pass, t, vpa, seen);
}

/* ---- replacements without a node ---- */

struct asking {
    struct pass *pass;
    struct vpa_table trials; /* by kind and name of the owner, of which there is one in a pass */
};

static void conclude(struct trial *t, enum vpa_verdict verdict, const struct vpa_buf *seen)
{
    t->verdict = verdict;
    free(t->told);
    t->told = vpa_xstrdup(vpa_buf_text(seen));
}

static void on_unscheduled(void *ctx, const struct vpa_pod *pod, const char *reason)
{
    const struct asking *a = ctx;
    const struct vpa_owner_reference *owner = vpa_meta_controller_first(&pod->meta);
    vpa_auto_free char *key = owner ? vpa_xjoin(owner->kind, '/', owner->name) : NULL;
    struct trial *t = key ? vpa_table_find(&a->trials, key) : NULL;
    enum vpa_verdict verdict;
    vpa_auto_buf seen = VPA_BUF(2 * VPA_SEEN_MAX);

    if (!t || t->verdict != VPA_VERDICT_WAIT || pod->meta.creation <= t->newest ||
        !vpa_time_is_unset(pod->meta.deletion))
        return;
    verdict = judge_replacement(a->pass, t, t->asks, pod, &seen);
    if (!vpa_verdict_failed(verdict)) {
        vpa_buf_printf(&seen, "pod %s has the values and no node takes it: %.400s", pod->meta.name,
                       reason);
        verdict = blame(t, pod, VPA_VERDICT_UNSCHEDULABLE);
    }
    conclude(t, verdict, &seen);
}

/* A Job may be suspended, have no more to do, or wait before it tries again: its parallelism says
 * how many pods it may have, so that nothing has failed. Of other kinds without a scale nobody says
 * how many. A quota may refuse them as well: then each further eviction would lose one more pod. */
static void leave_alone(const struct pass_env *env, struct trial *t)
{
    const struct vpa_buf nothing = {0};
    bool is_job = vpa_controller_kind_parse(t->kind) == VPA_KIND_JOB;
    vpa_duration away = vpa_time_sub(updater_env_steady(env), t->gone);

    if (t->live == 0 || (!is_job && away > ALONE_MOST)) {
        conclude(t, VPA_VERDICT_VOID, &nothing);
        return;
    }
    if (!t->alone)
        VPA_INFO(
            "No replacement came for a pod; a quota or a webhook refuses it, or there is to be "
            "none, as of a Job that is suspended or ends: the others of its owner are left "
            "alone until one comes",
            VPA_KV("namespace", t->ns), VPA_KV("kind", t->kind), VPA_KV("owner", t->name),
            VPA_KV("pod", t->pod), VPA_KV("vpa", t->id.vpa));
    t->alone = true;
    t->asked = updater_env_steady(env);
}

/* Nothing has come and nothing waits. */
static void conclude_absent(const struct pass_env *env, struct trial *t)
{
    vpa_auto_buf seen = VPA_BUF(2 * VPA_SEEN_MAX);

    if (t->may_be_fewer) {
        leave_alone(env, t);
        return;
    }
    vpa_buf_printf(&seen,
                   "no replacement was created for pod %s, %lld of %d pods are there: a quota, "
                   "an admission webhook or the controller refuses it",
                   t->pod, (long long)t->live, (int)t->wanted);
    conclude(t, VPA_VERDICT_NO_REPLACEMENT, &seen);
}

void updater_trials_ask(struct pass *pass, struct trial *const *trials, size_t count)
{
    struct asking a = {.pass = pass};
    vpa_auto_arena keys = {0};
    bool listed;

    for (size_t i = 0; i < count; i++) {
        trials[i]->verdict = VPA_VERDICT_WAIT;
        vpa_table_put(&a.trials, vpa_arena_printf(&keys, "%s/%s", trials[i]->kind, trials[i]->name),
                      trials[i]);
    }
    listed = updater_unscheduled_each(pass->env->client, trials[0]->ns, on_unscheduled, &a);
    for (size_t i = 0; listed && i < count; i++) {
        if (trials[i]->verdict == VPA_VERDICT_WAIT) /* else in the next pass */
            conclude_absent(pass->env, trials[i]);
    }
    vpa_table_release(&a.trials);
}
