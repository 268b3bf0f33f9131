/*
 * Trials.
 *
 * What an action did shows in the watch caches: the old pod goes, one that is newer than all pods
 * that the owner had comes. So a trial is a note of what was wanted, and every pass begins with a
 * look at those that are open. Only a replacement without a node is not in the cache, which holds
 * scheduled pods: when nothing has come for a while the API server is asked once, for all trials of
 * the namespace.
 *
 * A trial that failed is kept until the next one of its group: a late replacement that carries the
 * values (a node came, the quota was raised, somebody deleted the bad pod) closes the breaker.
 *
 * A resize that waits for room on its node, or that the kubelet fails to carry out of a pod that it
 * had not resized before either, says nothing of the values: its trial is put aside, so that the
 * next pod of the group can be tried, and judged when the pod gets its size after all.
 */
#include "prove.h"

#include <stdlib.h>
#include <string.h>

#include "basis.h"
#include "dry_run.h"
#include "paused.h"
#include "told.h"
#include "trial.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/resize_state.h"

#define AWAY_LINE                                                                                  \
    "The webhook was away when a pod came back without its values: tried again with one pod"

struct prove {
    struct vpa_proof *proof;
    struct vpa_table trials; /* by way, VPA and owner; those put aside by UID of the pod, too */
    struct vpa_table bases;  /* by VPA */
    bool webhook_down;
    size_t namespaces_told; /* paused ones */
    bool cluster_told;
};

/* ---- life ---- */

struct prove *updater_prove_new(const struct updater_config *config)
{
    struct prove *prove = vpa_xcalloc(1, sizeof(*prove));

    prove->proof = vpa_proof_new(config->proof_patience);
    return prove;
}

void updater_prove_free(struct prove *prove)
{
    if (!prove)
        return;
    VPA_TABLE_RELEASE(&prove->trials, updater_trial_free);
    VPA_TABLE_RELEASE(&prove->bases, free);
    vpa_proof_free(prove->proof);
    free(prove);
}

static void drop_trial(struct prove *prove, const char *key)
{
    struct trial *t = vpa_table_remove(&prove->trials, key);

    if (t)
        updater_trial_free(t);
}

/* ---- asking and sending ---- */

struct id_texts {
    char *vpa, *group, *trial;
};

static struct vpa_proof_id make_id(const struct work *w, size_t pod, enum vpa_proof_way way,
                                   struct id_texts *texts)
{
    const struct vpa_replica_group *g = vpa_disruption_group(w->budget, pod);

    texts->vpa = vpa_xjoin(w->vpa->meta.ns, '/', w->vpa->meta.name);
    texts->group = vpa_xprintf("%s/%s/%s", g->ns, g->kind, g->name);
    texts->trial = vpa_xprintf("%d %s %s", (int)way, texts->vpa, texts->group);
    return (struct vpa_proof_id){texts->vpa, texts->group, way,
                                 vpa_proof_start(w->pass->env->prove->proof)};
}

static void id_texts_release(struct id_texts *texts)
{
    free(texts->vpa);
    free(texts->group);
    free(texts->trial);
}
#define auto_id_texts __attribute__((cleanup(id_texts_release))) struct id_texts

static bool is_off(const struct work *w, size_t pod)
{
    const struct pass_env *env = w->pass->env;

    return !env->prove || env->all_proven || !vpa_disruption_group(w->budget, pod);
}

/* The group has lost a pod that did not come back, which holds nothing up but the group. */
static bool is_alone(const struct prove *prove, const char *trial)
{
    const struct trial *t = vpa_table_find(&prove->trials, trial);

    return t && t->alone;
}

enum vpa_rest updater_prove_rest(const struct work *w, size_t pod, enum vpa_proof_way way,
                                 bool *dry_run)
{
    const struct pass_env *env = w->pass->env;
    auto_id_texts texts = {0};

    if (is_off(w, pod))
        return VPA_REST_NONE;

    struct vpa_proof_id id = make_id(w, pod, way, &texts);
    enum vpa_proof_permit permit = vpa_proof_ask(env->prove->proof, &id, updater_env_now(env));

    switch (permit) {
    case VPA_PERMIT_WAITING:
        return VPA_REST_PROOF;
    case VPA_PERMIT_PAUSED:
        return VPA_REST_PAUSED;
    case VPA_PERMIT_NAMESPACE_PAUSED:
        return VPA_REST_NAMESPACE_PAUSED;
    case VPA_PERMIT_CLUSTER_PAUSED:
        return VPA_REST_CLUSTER_PAUSED;
    case VPA_PERMIT_FREE:
    case VPA_PERMIT_FIRST:
        break;
    }
    if (dry_run)
        *dry_run =
            permit == VPA_PERMIT_FIRST && vpa_str_eq(env->config->prove_evictions, "dry-run");
    return is_alone(env->prove, texts.trial) ? VPA_REST_PROOF : VPA_REST_NONE;
}

static uint64_t opening_of(const struct prove *prove, const struct vpa_proof_id *id)
{
    const struct vpa_breaker *b = vpa_proof_breaker(prove->proof, id->vpa, id->way);

    return b ? b->opening : 0;
}

void updater_prove_sent(struct work *w, size_t pod, enum vpa_proof_way way, bool restarts,
                        const struct vpa_recommendation *wanted)
{
    auto_id_texts texts = {0};

    if (is_off(w, pod))
        return;

    struct prove *prove = w->pass->env->prove;
    struct vpa_proof_id id = make_id(w, pod, way, &texts);

    bool first = vpa_proof_sent(prove->proof, &id, updater_env_now(w->pass->env));
    const struct trial *under_way = vpa_table_find(&prove->trials, texts.trial);

    if (!first && under_way && !under_way->judged)
        return; /* one at a time is looked at */
    drop_trial(prove, texts.trial);
    id.opening = opening_of(prove, &id);

    struct trial *t = updater_trial_new(w, pod, &id, texts.trial, wanted);

    t->vpa_uid = updater_basis_uid(w->vpa);
    t->first = first;
    t->waited = way == VPA_PROOF_RESIZE && vpa_pod_resizing(w->pods[pod]);
    t->expected.had_ended |= restarts;
    vpa_table_put(&prove->trials, t->key, t);
}

void updater_prove_refused(struct work *w, size_t pod, enum vpa_proof_way way)
{
    auto_id_texts texts = {0};

    if (is_off(w, pod))
        return;

    struct prove *prove = w->pass->env->prove;
    struct vpa_proof_id id = make_id(w, pod, way, &texts);
    const struct trial *t = vpa_table_find(&prove->trials, texts.trial);

    if (!t || !vpa_str_eq(t->uid, w->pods[pod]->meta.uid))
        return;
    vpa_proof_refused(prove->proof, &id);
    drop_trial(prove, texts.trial);
}

/* ---- verdicts ---- */

struct known_vpa {
    const struct vpa_object *vpa;
    const char *key;                 /* "namespace/name" */
    const struct selected *selected; /* NULL: it takes no part in the pass */
};
/* What a look at the trials needs. */
struct look {
    struct pass *pass;
    struct prove *prove;
    const struct selection *selection;
    struct known_vpa *known; /* all, by namespace, then name */
    size_t known_count;
    struct vpa_table vpas; /* the same by key */
};

/* Both are in the same order. */
static void index_vpas(struct look *look, const struct vpa_object *const *vpas, size_t count)
{
    const struct selection *selection = look->selection;
    struct known_vpa *known = vpa_arena_zalloc(&look->pass->arena, (count + 1) * sizeof(*known));
    size_t next = 0;

    look->known = known;
    look->known_count = count;
    for (size_t i = 0; i < count; i++) {
        known[i].vpa = vpas[i];
        known[i].key =
            vpa_arena_printf(&look->pass->arena, "%s/%s", vpas[i]->meta.ns, vpas[i]->meta.name);
        vpa_table_put(&look->vpas, known[i].key, &known[i]);
        if (next < selection->count && selection->items[next].vpa == vpas[i])
            known[i].selected = &selection->items[next++];
    }
}

static const struct vpa_object *find_vpa(const struct look *look, const char *key)
{
    const struct known_vpa *known = vpa_table_find(&look->vpas, key);

    return known ? known->vpa : NULL;
}

static const struct selected *find_selected(const struct look *look, const char *key)
{
    const struct known_vpa *known = vpa_table_find(&look->vpas, key);

    return known ? known->selected : NULL;
}

/* ---- what follows ---- */

static const char *event_reason(enum vpa_proof_way way)
{
    return way == VPA_PROOF_EVICTION ? "EvictionsPaused" : "ResizesPaused";
}

static void tell_namespaces(struct prove *prove)
{
    const struct vpa_breaker *newest;
    size_t count = vpa_proof_namespaces(prove->proof, &newest);

    if (count > prove->namespaces_told)
        VPA_WARN("Evictions did not help for several VPAs of a namespace in a row: nothing is "
                 "evicted there, but one pod after each pause",
                 VPA_KV("reason", vpa_verdict_name(newest->verdict)), VPA_KV("last", newest->seen),
                 VPA_KV("pause_s", newest->pause / VPA_SECOND),
                 VPA_KV("namespaces", (int64_t)count));
    prove->namespaces_told = count;
}

static void tell_scopes(struct prove *prove)
{
    const struct vpa_breaker *cluster = vpa_proof_cluster(prove->proof);

    tell_namespaces(prove);
    if (cluster && !prove->cluster_told)
        VPA_ERROR("Evictions did not help in several namespaces in a row: nothing is evicted in "
                  "the whole cluster, but one pod after each pause",
                  VPA_KV("reason", vpa_verdict_name(cluster->verdict)),
                  VPA_KV("last", cluster->seen), VPA_KV("pause_s", cluster->pause / VPA_SECOND));
    if (!cluster && prove->cluster_told)
        VPA_INFO("An eviction has helped: evictions go on in the whole cluster");
    prove->cluster_told = cluster != NULL;
    updater_meter_breakers(vpa_proof_open_count(prove->proof), prove->namespaces_told,
                           cluster != NULL);
}

static void tell_failure(struct pass_env *env, const struct vpa_proof_id *id,
                         const struct vpa_object *vpa, const char *pod)
{
    const struct vpa_breaker *b = vpa_proof_breaker(env->prove->proof, id->vpa, id->way);
    const char *reason = vpa_verdict_name(b->verdict);
    bool eviction = id->way == VPA_PROOF_EVICTION;
    struct vpa_object_ref ref = updater_vpa_ref(vpa);
    vpa_auto_free char *message = updater_paused_message(b);

    VPA_WARN("An update did not help: there is none for this VPA until the pause is over",
             VPA_KV("namespace", vpa->meta.ns), VPA_KV("vpa", vpa->meta.name),
             VPA_KV("way", eviction ? "eviction" : "resize"), VPA_KV("reason", reason),
             VPA_KV("seen", b->seen), VPA_KV("pause_s", b->pause / VPA_SECOND));
    vpa_events_record_warning(env->events, &ref, event_reason(id->way), message);
    updater_write_down(
        env, vpa, pod,
        &(struct vpa_ledger_entry){.decision = eviction ? "pause evictions" : "pause resizes",
                                   .rule = reason,
                                   .why = message});
    updater_meter_failed_proof(reason, vpa->meta.name, vpa->meta.ns);
}

static void conclude(const struct look *look, struct trial *t, const struct vpa_object *vpa,
                     enum vpa_verdict verdict, const char *seen)
{
    struct prove *prove = look->prove;
    vpa_time now = updater_env_now(look->pass->env);
    enum vpa_breaker_change change = vpa_proof_judge(prove->proof, &t->id, verdict, seen, now);

    t->alone = false;
    t->judged |= change == VPA_BREAKER_OPENED || change == VPA_BREAKER_NOTED;
    if (change == VPA_BREAKER_NOTED) {
        VPA_V(2, "An update from before the pause did not help either", VPA_KV("vpa", t->id.vpa),
              VPA_KV("reason", vpa_verdict_name(verdict)), VPA_KV("seen", seen));
        return;
    }
    if (change == VPA_BREAKER_EXCUSED) {
        VPA_INFO(AWAY_LINE, VPA_KV("vpa", t->id.vpa), VPA_KV("seen", seen));
        updater_write_down(look->pass->env, vpa, t->pod,
                           &(struct vpa_ledger_entry){
                               .decision = "try again", .rule = "WebhookAway", .why = seen});
    }
    if (change == VPA_BREAKER_OPENED) {
        const struct selected *s = find_selected(look, t->id.vpa);

        struct basis *b = updater_basis_note(&prove->bases, vpa, t->id.vpa, s ? s->pods : NULL,
                                             s ? s->pod_count : 0);
        if (!b->knows_pods) /* the last pod has gone: that is what it was made of */
            updater_basis_add(b, t->template);
        tell_failure(look->pass->env, &t->id, vpa, t->pod);
        return;
    }
    if (change == VPA_BREAKER_CLOSED)
        VPA_INFO("An update has helped: updates of this VPA go on", VPA_KV("vpa", t->id.vpa));
    if (verdict == VPA_VERDICT_GOOD)
        updater_write_down(
            look->pass->env, vpa, t->pod,
            &(struct vpa_ledger_entry){.decision = "go on", .rule = vpa_verdict_name(verdict)});
    /* A pod that could be replaced is the way out of resizes that cannot be carried out. */
    if (verdict == VPA_VERDICT_GOOD && t->id.way == VPA_PROOF_EVICTION)
        vpa_proof_forgive(prove->proof, t->id.vpa, VPA_PROOF_RESIZE);
    drop_trial(prove, t->key);
}

static void put_aside(const struct look *look, struct trial *t)
{
    struct prove *prove = look->prove;

    if (t->first)
        vpa_proof_deferred(prove->proof, &t->id, updater_env_now(look->pass->env));
    vpa_table_remove(&prove->trials, t->key);

    char *key = vpa_xjoin(t->key, ' ', t->uid);

    free(t->key);
    t->key = key;
    t->aside = true;
    vpa_table_put(&prove->trials, t->key, t);
}

/* A resize that nobody waits for, and of which nothing can come any more. */
static bool is_left(const struct trial *t)
{
    return t->aside || (t->judged && t->id.way == VPA_PROOF_RESIZE);
}

/* True: the API server has to be asked about it. */
static bool look_at(const struct look *look, struct trial *t)
{
    const struct vpa_object *vpa = find_vpa(look, t->id.vpa);
    enum vpa_verdict verdict = VPA_VERDICT_VOID;
    vpa_auto_buf seen = VPA_BUF(2 * VPA_SEEN_MAX);

    if (t->judged && !vpa_proof_breaker(look->prove->proof, t->id.vpa, t->id.way)) {
        drop_trial(look->prove, t->key);
        return false;
    }
    if (vpa && updater_basis_uid(vpa) == t->vpa_uid &&
        vpa_update_mode_active(vpa_update_mode_of(vpa)))
        verdict = updater_trial_judge(look->pass, t, vpa, &seen);
    if (verdict == VPA_VERDICT_WAIT && t->newest_pod && !t->judged)
        vpa_proof_patched(look->prove->proof);
    if (verdict == VPA_VERDICT_WAIT && t->waits && !t->aside)
        put_aside(look, t);
    if (verdict == VPA_VERDICT_WAIT)
        return t->asks != NULL;
    if (verdict == VPA_VERDICT_VOID && is_left(t))
        drop_trial(look->prove, t->key);
    else if (!t->judged || verdict == VPA_VERDICT_GOOD || !vpa)
        conclude(look, t, vpa, verdict, vpa_buf_text(&seen));
    return false;
}

/* One list for each namespace, as long as the pass may go on: the others are asked about in the
 * next one. trials: in the order of namespaces. */
static void ask(const struct look *look, struct trial *const *trials, size_t count)
{
    struct pass *pass = look->pass;

    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && vpa_str_eq(trials[end]->ns, trials[i]->ns);)
            end++;
        if (updater_env_is_stopped(pass->env) || updater_pass_is_late(pass))
            return;
        updater_trials_ask(pass, trials + i, end - i);
        for (size_t k = i; k < end; k++) {
            if (trials[k]->verdict != VPA_VERDICT_WAIT)
                conclude(look, trials[k], trials[k]->asks, trials[k]->verdict, trials[k]->told);
            else if (trials[k]->alone) /* for what may never come: an open breaker tries others */
                vpa_proof_refused(look->prove->proof, &trials[k]->id);
        }
    }
}

/* A pod whose trial was put aside was sent another size since, and that was not refused. */
static bool is_outdone(const struct prove *prove, const struct trial *aside)
{
    size_t length = strlen(aside->key) - strlen(aside->uid) - 1;
    vpa_auto_free char *key = vpa_xstrndup(aside->key, length);
    const struct trial *t = vpa_table_find(&prove->trials, key);

    return t && vpa_str_eq(t->uid, aside->uid);
}

static void drop_outdone(struct prove *prove)
{
    vpa_auto_free void **sorted = vpa_table_sorted(&prove->trials);
    size_t count = prove->trials.count;

    for (size_t i = 0; i < count; i++) {
        const struct trial *t = sorted[i];

        if (t->aside && is_outdone(prove, t))
            drop_trial(prove, t->key);
    }
}

/* Keys begin with way and namespace, so that trials of one namespace that ask are neighbours. */
static void look_at_all(const struct look *look)
{
    drop_outdone(look->prove);

    vpa_auto_free void **sorted = vpa_table_sorted(&look->prove->trials);
    size_t count = look->prove->trials.count, asking = 0;
    vpa_auto_free struct trial **ask_about = vpa_xcalloc(count + 1, sizeof(struct trial *));

    for (size_t i = 0; i < count; i++) {
        struct trial *t = sorted[i];

        if (look_at(look, t))
            ask_about[asking++] = t;
    }
    ask(look, ask_about, asking);
}

/* ---- a pass ---- */

/* The pods that the owner of each trial has got since. */
static void find_replacements(const struct look *look, const struct vpa_pod *const *pods,
                              size_t count)
{
    const struct prove *prove = look->prove;
    struct vpa_table owners = {0};
    void *value;

    for (size_t i = 0; vpa_table_next(&prove->trials, &i, NULL, &value);) {
        struct trial *t = value;

        updater_trial_begin_pass(t);
        if (t->id.way != VPA_PROOF_EVICTION)
            continue;

        struct trial *other = vpa_table_put(&owners, t->id.group, t);

        if (other) /* another VPA has the group by now */
            other->live = INT64_MAX;
    }
    for (size_t i = 0; owners.count > 0 && i < count; i++) {
        const struct vpa_owner_reference *owner = vpa_meta_controller_first(&pods[i]->meta);
        struct trial *t;

        if (!owner)
            continue;

        vpa_auto_free char *key =
            vpa_xprintf("%s/%s/%s", pods[i]->meta.ns, owner->kind, owner->name);

        t = vpa_table_find(&owners, key);
        if (t && !vpa_str_eq(pods[i]->meta.uid, t->uid))
            updater_trial_see(look->pass, t, find_vpa(look, t->id.vpa), pods[i]);
    }
    vpa_table_release(&owners);
}

/* Shows in what the cache has, or may soon. */
static bool is_told(const struct look *look, const struct basis *b, const struct vpa_object *vpa)
{
    int64_t now = vpa_loop_monotonic(look->pass->env->loop);

    return updater_paused_is_told(vpa) || (b->sent_at && now - b->sent_at <= UPDATER_CACHE_AGE_MAX);
}

static bool is_paused(const struct prove *prove, const char *vpa)
{
    return vpa_proof_breaker(prove->proof, vpa, VPA_PROOF_EVICTION) ||
           vpa_proof_breaker(prove->proof, vpa, VPA_PROOF_RESIZE);
}

/* Closes breakers whose reason is gone. False: nothing is to be remembered of the VPA any more. */
static bool renew_basis(const struct look *look, struct basis *b)
{
    struct prove *prove = look->prove;
    const struct known_vpa *k = vpa_table_find(&look->vpas, b->key);
    const struct selected *s = k ? k->selected : NULL;
    const char *changed = k ? updater_basis_change(b, k->vpa, s) : NULL;

    if (!k)
        return false;
    if (changed && vpa_proof_reset(prove->proof, b->key))
        VPA_INFO("Updates of this VPA go on", VPA_KV("vpa", b->key), VPA_KV("because", changed));
    if (changed || (s && !b->knows_pods))
        updater_basis_note(&prove->bases, k->vpa, b->key, s ? s->pods : NULL, s ? s->pod_count : 0);
    return is_paused(prove, b->key) || is_told(look, b, k->vpa);
}

static void renew_bases(const struct look *look)
{
    struct prove *prove = look->prove;
    vpa_auto_free void **bases = vpa_table_sorted(&prove->bases);
    size_t count = prove->bases.count;

    for (size_t i = 0; i < count; i++) {
        struct basis *b = bases[i];

        if (renew_basis(look, b))
            continue;
        vpa_table_remove(&prove->bases, b->key);
        free(b);
    }
}

static bool vpa_is_known(void *ctx, const char *key)
{
    return find_vpa(ctx, key) != NULL;
}

/* What an earlier process had paused, in its first pass or whenever a VPA is seen that had not been
 * there. A mode that leaves pods alone needs no pause. */
static void restore(const struct look *look, const struct vpa_object *vpa)
{
    struct prove *prove = look->prove;
    vpa_auto_free char *key = vpa_xjoin(vpa->meta.ns, '/', vpa->meta.name);

    if (vpa_table_find(&prove->bases, key))
        return;
    updater_basis_note(&prove->bases, vpa, key, NULL, 0);
    if (vpa_update_mode_active(vpa_update_mode_of(vpa)))
        updater_paused_restore(prove->proof, vpa, key, updater_env_now(look->pass->env));
}

static void restore_all(const struct look *look, const struct vpa_object *const *vpas, size_t count)
{
    const struct updater_config *config = look->pass->env->config;

    for (size_t i = 0; i < count; i++) {
        if (updater_paused_is_told(vpas[i]) &&
            !vpa_common_flags_ignore(&config->common, vpas[i]->meta.ns))
            restore(look, vpas[i]);
    }
}

/* Conditions as the breakers are: also of VPAs that take no part any more. Before pods are changed,
 * which may take all of the pass: a process that ends meanwhile has told its successor. */
static void publish(const struct look *look)
{
    struct pass_env *env = look->pass->env;
    struct prove *prove = look->prove;
    struct condition_round round = updater_round(look->pass, &env->paused_from, look->known_count);

    if (prove->bases.count == 0)
        return;
    for (size_t i = 0; i < look->known_count && updater_round_may_put(&round); i++) {
        const struct known_vpa *k = &look->known[updater_round_at(&round, i)];
        struct basis *b = vpa_table_find(&prove->bases, k->key);

        if (b && updater_paused_put_right(&round, prove->proof, k->vpa, k->key))
            b->sent_at = vpa_loop_monotonic(env->loop);
    }
}

/* Nothing is paused without proofs, whatever an earlier process has said. */
static void take_back_all(struct pass *pass, const struct vpa_object *const *vpas, size_t count)
{
    struct pass_env *env = pass->env;
    struct condition_round round = updater_round(pass, &env->paused_from, count);

    for (size_t i = 0; i < count && updater_round_may_put(&round); i++) {
        const struct vpa_object *vpa = vpas[updater_round_at(&round, i)];

        if (!vpa_common_flags_ignore(&env->config->common, vpa->meta.ns))
            (void)updater_paused_put_right(&round, NULL, vpa, "");
    }
}

void updater_prove_observe(struct pass *pass, const struct vpa_object *const *vpas,
                           size_t vpa_count, const struct selection *selection,
                           const struct vpa_pod *const *pods, size_t pod_count)
{
    struct look look = {.pass = pass, .prove = pass->env->prove, .selection = selection};
    struct prove *prove = pass->env->prove;

    if (pass->env->all_proven)
        return;
    if (!prove) {
        take_back_all(pass, vpas, vpa_count);
        return;
    }
    restore_all(&look, vpas, vpa_count);
    if (prove->trials.count == 0 && prove->bases.count == 0)
        return;
    index_vpas(&look, vpas, vpa_count);
    find_replacements(&look, pods, pod_count);
    look_at_all(&look);
    renew_bases(&look);
    vpa_proof_sweep(prove->proof, vpa_is_known, &look, updater_env_now(pass->env));
    tell_scopes(prove);
    publish(&look);
    vpa_table_release(&look.vpas);
}

void updater_prove_settled(struct work *w)
{
    struct prove *prove = w->pass->env->prove;
    vpa_auto_free char *vpa = vpa_xjoin(w->vpa->meta.ns, '/', w->vpa->meta.name);
    const struct vpa_breaker *b =
        prove ? vpa_proof_breaker(prove->proof, vpa, VPA_PROOF_RESIZE) : NULL;

    if (!b || b->verdict != VPA_VERDICT_NOT_RESIZED)
        return;
    for (size_t i = 0; i < w->pod_count; i++) {
        if (!vpa_pod_is_ready(w->pods[i]) || vpa_pod_resizing(w->pods[i]))
            return;
    }
    vpa_proof_forgive(prove->proof, vpa, VPA_PROOF_RESIZE);
    VPA_INFO("No pod is to be resized any more: resizes of this VPA go on", VPA_KV("vpa", vpa));
}

void updater_prove_webhook(struct pass_env *env, bool works)
{
    struct prove *prove = env->prove;
    size_t excused = 0;

    if (!prove)
        return;
    if (works && env->config->use_admission_status)
        excused = vpa_proof_webhook(prove->proof, env->webhook.start, env->webhook.since,
                                    updater_env_now(env));
    if (excused > 0)
        VPA_INFO(AWAY_LINE, VPA_KV("vpas", (int64_t)excused));
    if (works && prove->webhook_down && vpa_proof_repaired(prove->proof) > 0)
        VPA_INFO("The webhook works again: updates that it had stopped go on");
    prove->webhook_down = !works;
}

/* ---- before ---- */

bool updater_prove_dry_run(struct work *w, size_t pod)
{
    struct pass_env *env = w->pass->env;
    auto_id_texts texts = {0};
    vpa_auto_buf seen = VPA_BUF(2 * VPA_SEEN_MAX);
    enum vpa_verdict verdict = updater_dry_run(w, pod, &seen);

    if (!vpa_verdict_failed(verdict))
        return true;

    struct vpa_proof_id id = make_id(w, pod, VPA_PROOF_EVICTION, &texts);

    id.opening = opening_of(env->prove, &id);
    id.dry_run = true;
    (void)vpa_proof_judge(env->prove->proof, &id, verdict, vpa_buf_text(&seen),
                          updater_env_now(env));
    updater_basis_note(&env->prove->bases, w->vpa, id.vpa, w->pods, w->pod_count);
    tell_failure(env, &id, w->vpa, w->pods[pod]->meta.name);
    return false;
}
