/*
 * One pass over the cluster.
 *
 * Decisions are sequential by nature: whether a pod may be evicted depends on what happened to the
 * pods before it. Requests are slow. So each VPA is a small state machine (steps.c) that runs until
 * it needs an answer, and the scheduler below runs as many of them as there is room for requests. A
 * work that is refused by its disruption budget while requests of the same group are under way
 * waits for them, since a failure gives budget back: the order of requests within a VPA is
 * therefore the same as with one request at a time, and a pass with room for one request is a
 * strictly sequential one.
 *
 * A limiter that gives up ends the turn of the VPA that it refuses. Evictions and resizes have
 * limiters of their own, and what one of them has is not lost because the other has nothing: the
 * pass goes on with the other VPAs, until both have given up. The next one begins behind the VPA
 * that was cut off first, or with it when it got nothing, so that one whose requests fail for ever
 * starves no other (U40). Where nobody had got anything the next one begins as this one did: tokens
 * that come in every other pass would else be for every other VPA.
 */
#include "run.h"

#include <stdlib.h>

#include "answer.h"
#include "few.h"
#include "note.h"
#include "prove.h"
#include "select.h"
#include "steps.h"
#include "told.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/daemon/panic.h"
#include "vpa/daemon/status_lease.h"

/* The works of a pass, ordered by namespace, then name of the VPA. */
struct works {
    struct pass *pass;
    struct work *items;
    size_t count;
    size_t first; /* the one that begins */
    size_t begun;
    struct work **live; /* begun and not done, in their order */
    size_t live_count;
    bool cut; /* a limiter has given up: it is known where the next pass begins */
    bool aborted;
};

static void make_works(struct works *works, struct pass *pass, const struct selection *selection)
{
    struct pass_env *env = pass->env;

    *works = (struct works){.pass = pass};
    works->items = vpa_xcalloc(selection->count, sizeof(*works->items));
    works->live = vpa_xcalloc(selection->count, sizeof(*works->live));
    for (size_t i = 0; i < selection->count; i++) {
        const struct selected *s = &selection->items[i];

        if (s->pod_count == 0)
            continue;
        if (env->on_controlled)
            env->on_controlled(env->on_controlled_ctx, s->vpa, s->pods, s->pod_count);
        updater_work_init(&works->items[works->count++], pass, s->vpa, s->pods, s->held,
                          s->pod_count);
    }
    works->first = works->count > 0 ? env->works_from % works->count : 0;
    env->works_from = 0;
}

static void works_release(struct works *works)
{
    for (size_t i = 0; i < works->count; i++)
        updater_work_clear(&works->items[i]);
    free(works->items);
    free(works->live);
}

static bool is_anybody_served(const struct works *works)
{
    for (size_t i = 0; i < works->count; i++) {
        if (works->items[i].served)
            return true;
    }
    return false;
}

/* The work is not stepped any more in this pass. */
static void end_turn(struct works *works, const struct work *w)
{
    struct pass *pass = works->pass;

    if (!works->cut)
        pass->env->works_from =
            is_anybody_served(works) ? (size_t)(w - works->items) + w->served : works->first;
    works->cut = true;
    works->aborted = pass->all_spent || updater_env_is_stopped(pass->env);
}

/* Each work that has begun gets on as far as it can. */
static void step_live(struct works *works)
{
    size_t kept = 0;

    for (size_t i = 0; i < works->live_count && !works->aborted; i++) {
        struct work *w = works->live[i];

        if (updater_work_step(w) == WORK_STEP_ABORT)
            end_turn(works, w);
        else if (w->phase != WORK_DONE)
            works->live[kept++] = w;
    }
    works->live_count = kept;
}

/* Steps the works that have begun, begins new ones while there is room; true when all are done. */
static bool schedule(struct works *works)
{
    for (;;) {
        step_live(works);
        if (works->aborted || works->begun == works->count || !updater_pass_has_room(works->pass))
            return works->aborted || (works->begun == works->count && works->live_count == 0);
        works->live[works->live_count++] =
            &works->items[(works->first + works->begun++) % works->count];
    }
}

/* Runs all works to their end, or until nothing may be sent any more. */
static void run_works(struct works *works)
{
    while (!updater_env_is_stopped(works->pass->env) && !schedule(works))
        updater_pass_wait(works->pass);
    if (updater_env_is_stopped(works->pass->env))
        works->aborted = true;
    updater_pass_drain(works->pass);
}

/* Conditions about the VPAs that the pass has looked at, which are not all when a limiter ended it.
 * vpas: all, in the order of the works. */
static void publish_conditions(const struct works *works, const struct vpa_object *const *vpas,
                               size_t count)
{
    struct pass *pass = works->pass;
    vpa_auto_free bool *unknown = vpa_xcalloc(count, sizeof(*unknown));
    size_t next = 0;

    if (pass->env->all_proven || updater_env_is_stopped(pass->env))
        return;
    for (size_t i = 0; i < count && next < works->count; i++) {
        if (works->items[next].vpa == vpas[i])
            unknown[i] = works->items[next++].phase != WORK_DONE;
    }
    updater_few_publish(pass, vpas, count, unknown);
}

/* ---- the pass ---- */

/* Drops terminating pods; the order stays. */
static size_t keep_live(const struct vpa_pod **pods, size_t count)
{
    size_t live = 0;

    for (size_t i = 0; i < count; i++) {
        if (vpa_time_is_unset(pods[i]->meta.deletion))
            pods[live++] = pods[i];
    }
    return live;
}

struct live_uids {
    const struct vpa_pod *const *pods;
    size_t count;
    struct vpa_table table;
};

static bool uid_is_live(void *ctx, const char *uid)
{
    struct live_uids *live = ctx;

    if (live->table.count == 0) { /* built for the first question: mostly there is none */
        for (size_t i = 0; i < live->count; i++)
            vpa_table_put(&live->table, live->pods[i]->meta.uid, (void *)live->pods[i]);
    }
    return vpa_table_find(&live->table, uid) != NULL;
}

static void sweep_memory(struct pass_env *env, const struct vpa_pod *const *pods, size_t count)
{
    struct live_uids live = {.pods = pods, .count = count};

    vpa_update_memory_sweep(env->memory, uid_is_live, &live, updater_env_steady(env));
    vpa_table_release(&live.table);
}

struct stopwatch {
    struct vpa_loop *loop;
    int64_t start;
    int64_t last;
};

static double seconds_between(int64_t from, int64_t to)
{
    return (double)(to - from) / (double)VPA_SECOND;
}

static void lap(struct stopwatch *watch, const char *step)
{
    int64_t now = vpa_loop_monotonic(watch->loop);

    updater_meter_step(step, seconds_between(watch->last, now));
    watch->last = now;
}

/* Whether the webhook is there to give evicted pods their new resources. A Lease that cannot be
 * read says nothing about it: pods are left alone, and nothing counts as repaired when it can be
 * read again. */
enum webhook { WEBHOOK_WORKS, WEBHOOK_AWAY, WEBHOOK_UNKNOWN };

static enum webhook look_at_webhook(struct pass_env *env)
{
    const struct updater_config *config = env->config;
    struct vpa_error err;
    bool valid;

    if (!config->use_admission_status)
        return WEBHOOK_WORKS;
    env->webhook.ns = vpa_status_lease_namespace(config->status_lease_namespace);
    env->webhook.name = config->status_lease_name;
    env->webhook.timeout = config->status_lease_timeout;
    if (vpa_status_lease_check(env->client, &env->webhook, &valid, &err) < 0) {
        VPA_ERROR_UNLESS_TOLD(&err,
                              "Error getting Admission Controller status. Skipping update loop",
                              VPA_KERR(&err));
        return err.code == VPA_NOT_FOUND ? WEBHOOK_AWAY : WEBHOOK_UNKNOWN;
    }
    if (!valid)
        VPA_INFO("Admission Controller status is not valid. Skipping update loop");
    return valid ? WEBHOOK_WORKS : WEBHOOK_AWAY;
}

static void run_selected(struct pass *pass, struct selection *selection,
                         const struct vpa_object *const *vpas, size_t vpa_count,
                         struct stopwatch *watch)
{
    struct pass_env *env = pass->env;
    struct works works;
    size_t count;
    vpa_auto_free const struct vpa_pod **pods = updater_store_pods(env->store, &count);

    pass->pod_changes = env->store->pod_changes;
    lap(watch, "ListPods");
    count = keep_live(pods, count);
    updater_select_pods(pass, selection, pods, count);
    if (updater_pass_is_late(pass) || updater_env_is_stopped(pass->env))
        return; /* half of a selection gives pods to the wrong VPA */
    sweep_memory(env, pods, count);
    updater_recover(env, selection);
    pass->doing = "looking at what earlier changes did";
    updater_prove_observe(pass, vpas, vpa_count, selection, pods, count);
    lap(watch, "FilterPods");
    lap(watch, "AdmissionInit");
    pass->doing = "changing pods";
    make_works(&works, pass, selection);
    run_works(&works);
    publish_conditions(&works, vpas, vpa_count);
    if (!works.aborted && !works.cut)
        lap(watch, "EvictPods");
    works_release(&works);
    updater_meter_pass_publish(&pass->gauges);
}

/* What was said of VPAs that take no part any more is put right. */
static void skip_all(struct pass *pass, const struct selection *selection,
                     const struct vpa_object *const *vpas, size_t count)
{
    VPA_INFO("No VPA objects to process");
    if (pass->env->all_proven || updater_pass_is_late(pass))
        return;

    size_t pod_count;
    vpa_auto_free const struct vpa_pod **pods = updater_store_pods(pass->env->store, &pod_count);

    pod_count = keep_live(pods, pod_count);
    updater_prove_observe(pass, vpas, count, selection, pods, pod_count);
    updater_few_publish(pass, vpas, count, NULL);
}

/* A pass over half of the pods would take healthy groups for small ones, and decide by that. */
static bool caches_are_filled(const struct pass_env *env)
{
    return updater_store_is_synced(env->store) && vpa_owners_is_synced(env->owners);
}

static bool is_live(void *ctx, const char *ns, const char *name)
{
    const struct store *store = ctx;

    return vpa_cache_has(store->vpas, ns, name);
}

/* Series and notes of VPAs that have gone since. */
static void sweep_vpas(struct pass_env *env)
{
    struct store *store = env->store;

    if (store->vpas_gone == env->vpas_gone)
        return;
    env->vpas_gone = store->vpas_gone;
    updater_meters_sweep(is_live, store, vpa_cache_count(store->vpas));
    updater_notes_sweep(env);
}

/* Told when it begins and when it is over. */
static bool caches_are_fresh(struct pass_env *env)
{
    vpa_duration age;
    const char *cache = updater_env_stale_cache(env, &age);

    if (cache && !env->told_of_stale)
        VPA_WARN("A cache is behind: nothing is changed until the API server answers its watch",
                 VPA_KV("cache", cache), VPA_KV("age_s", age / VPA_SECOND));
    if (!cache && env->told_of_stale)
        VPA_INFO("The caches are fresh again");
    env->told_of_stale = cache != NULL;
    return !cache;
}

static void run_pass(struct pass *pass, struct stopwatch *watch)
{
    struct pass_env *env = pass->env;
    struct selection *selection;

    if (!caches_are_filled(env)) {
        VPA_INFO("Caches are not in step yet. Skipping update loop");
        updater_tell_of_pass(env, "caches-not-filled", "the caches are not in step yet");
        return;
    }
    sweep_vpas(env);
    if (!caches_are_fresh(env)) {
        updater_tell_of_pass(env, "stale-cache",
                             "a cache is behind: the API server does not answer its watch");
        return;
    }
    if (updater_store_panic(env->store)) {
        updater_tell_of_pass(env, "panic", "ConfigMap " VPA_PANIC_CONFIG_MAP " exists");
        VPA_INFO("ConfigMap " VPA_PANIC_CONFIG_MAP " exists. Skipping update loop");
        return;
    }
    if (updater_env_is_stopped(pass->env))
        return;
    pass->doing = "reading the status lease";

    enum webhook webhook = look_at_webhook(env);

    if (webhook != WEBHOOK_UNKNOWN)
        updater_prove_webhook(env, webhook == WEBHOOK_WORKS);
    if (webhook != WEBHOOK_WORKS) {
        updater_tell_of_pass(env, "webhook",
                             "the status Lease says nothing of a webhook that works");
        return;
    }
    updater_tell_of_pass(env, NULL, NULL);
    pass->doing = "asking for targets and controllers";

    size_t count;
    vpa_auto_free const struct vpa_object **vpas = updater_store_vpas(env->store, &count);

    lap(watch, "ListVPAs");
    vpa_owners_begin_pass(env->owners);
    env->rest_room = UPDATER_TOLD_MAX;
    selection = updater_select_vpas(pass, vpas, count);
    if (selection->count > 0)
        run_selected(pass, selection, vpas, count, watch);
    else
        skip_all(pass, selection, vpas, count);
    updater_select_release(selection);
}

/* Whatever it waits for, the loop is pumped meanwhile. */
static void on_late(void *ctx)
{
    const struct pass *pass = ctx;

    VPA_WARN("The pass has taken a whole interval and cannot get on", VPA_KV("doing", pass->doing),
             VPA_KV("requests", (int64_t)pass->in_flight));
}

void updater_pass_run(struct pass_env *env)
{
    struct stopwatch watch = {.loop = env->loop, .start = vpa_loop_monotonic(env->loop)};
    struct pass pass;
    struct vpa_timer *late = vpa_timer_new(env->loop, on_late, &pass);

    watch.last = watch.start;
    updater_pass_init(&pass, env);
    vpa_timer_start(late, env->config->interval);
    run_pass(&pass, &watch);
    vpa_timer_free(late);
    updater_pass_release(&pass);
    updater_meter_step("total", seconds_between(watch.start, vpa_loop_monotonic(env->loop)));
}
