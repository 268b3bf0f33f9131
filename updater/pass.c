/*
 * One pass over the cluster.
 *
 * Decisions are sequential by nature: whether a pod may be evicted depends on what happened to the
 * pods before it. Requests are slow. So each VPA is a small state machine (work.c) that runs until
 * it needs an answer, and the scheduler below runs as many of them as there is room for requests. A
 * work that is refused by its disruption budget while requests of the same group are under way
 * waits for them, since a failure gives budget back: the order of requests within a VPA is
 * therefore the same as with one request at a time, and a pass with room for one request is a
 * strictly sequential one.
 */
#include "pass.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/kube/panic.h"
#include "vpa/kube/status_lease.h"

/* How long requests under way may go on when nothing may be changed any more: shutdown, panic, lost
 * leadership. */
#define STOP_PATIENCE (2 * VPA_SECOND)

void updater_env_configure(struct pass_env *env, const struct updater_config *config)
{
    const struct vpa_gates *gates = &config->common.gates;

    env->config = config;
    env->update = (struct vpa_update_options){
        .in_place_gate = gates->in_place,
        .boost_gate = gates->cpu_startup_boost,
        .in_place_skip_budget = config->in_place_skip_budget,
    };
    env->priority = (struct vpa_priority_options){
        .update_threshold = config->pod_update_threshold,
        .lifetime_threshold = config->lifetime_threshold,
        .oom_threshold = config->oom_threshold,
        .per_vpa_config = gates->per_vpa_config,
    };
    env->disruption = (struct vpa_disruption_options){
        .min_replicas = config->min_replicas,
        .tolerance = config->eviction_tolerance,
        .in_place_skip_budget = config->in_place_skip_budget,
    };
    vpa_rate_init(&env->eviction_rate, config->eviction_rate_limit, config->eviction_rate_burst);
    vpa_rate_init(&env->in_place_rate, config->eviction_rate_limit, config->eviction_rate_burst);
    if (env->requests_max == 0)
        env->requests_max = PASS_REQUESTS_MAX;
}

void updater_pass_init(struct pass *pass, struct pass_env *env)
{
    *pass = (struct pass){
        .env = env,
        .deadline = vpa_loop_monotonic(env->loop) + env->config->interval,
    };
    pass->finished_tail = &pass->finished;
    updater_store_pin(env->store);
    pass->limit_ranges = updater_store_limit_ranges(env->store, &pass->limit_range_count);
}

void updater_pass_release(struct pass *pass)
{
    for (size_t i = 0; i < pass->work_count; i++)
        updater_work_release(pass->works[i]);
    free(pass->works);
    free(pass->limit_ranges);
    vpa_table_release(&pass->limits);
    vpa_arena_release(&pass->scratch);
    vpa_arena_release(&pass->arena);
    updater_store_unpin(pass->env->store);
}

struct work *updater_pass_add(struct pass *pass, const struct vpa_object *vpa,
                              const struct vpa_pod *const *pods, size_t count)
{
    struct work *w = vpa_arena_zalloc(&pass->arena, sizeof(*w));

    pass->works = vpa_xreallocarray(pass->works, pass->work_count + 1, sizeof(struct work *));
    pass->works[pass->work_count++] = w;
    updater_work_init(w, pass, vpa, pods, count);
    return w;
}

/* The first LimitRange of the namespace or of one behind it; they are in the order of namespaces.
 */
static size_t first_limit_range(const struct pass *pass, const char *ns)
{
    size_t low = 0, high = pass->limit_range_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(pass->limit_ranges[middle]->meta.ns, ns) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct vpa_namespace_limits *updater_pass_limits(struct pass *pass, const char *ns)
{
    struct vpa_namespace_limits *limits = vpa_table_find(&pass->limits, ns);
    size_t first, end;

    if (limits)
        return limits;
    first = end = first_limit_range(pass, ns);
    while (end < pass->limit_range_count && vpa_str_eq(pass->limit_ranges[end]->meta.ns, ns))
        end++;
    limits = vpa_arena_zalloc(&pass->arena, sizeof(*limits));
    vpa_namespace_limits_fold(&pass->arena, pass->limit_ranges + first, end - first, limits);
    vpa_table_put(&pass->limits, vpa_arena_strdup(&pass->arena, ns), limits);
    return limits;
}

bool updater_pass_has_room(const struct pass *pass)
{
    return pass->in_flight < pass->env->requests_max;
}

bool updater_pass_is_stopped(const struct pass *pass)
{
    const struct pass_env *env = pass->env;

    return vpa_loop_is_stopping(env->loop) || updater_store_panic(env->store) ||
           (env->may_act && !env->may_act(env->may_act_ctx));
}

/* An answer came in, or nothing may be changed any more. */
static bool wants_attention(void *ctx)
{
    const struct pass *pass = ctx;

    return pass->finished != NULL || updater_pass_is_stopped(pass);
}

void updater_pass_settle(struct pass *pass)
{
    while (pass->finished) {
        struct action *action = pass->finished;

        pass->finished = updater_act_next(action);
        if (!pass->finished)
            pass->finished_tail = &pass->finished;
        updater_act_finish(action);
    }
}

enum pass_token updater_pass_take_token(struct pass *pass, struct vpa_rate *rate)
{
    int64_t now = vpa_loop_monotonic(pass->env->loop);
    enum pass_token token = PASS_TOKEN_TAKEN;
    vpa_duration wait;

    if (!vpa_rate_reserve(rate, now, pass->deadline - now, &wait))
        return PASS_TOKEN_REFUSED;

    int64_t until = now + wait;

    while (now < until) {
        struct vpa_error err;

        if (updater_pass_is_stopped(pass))
            return PASS_TOKEN_REFUSED;
        token = PASS_TOKEN_TAKEN_LATE;
        if (vpa_loop_wait(pass->env->loop, wants_attention, pass, until - now, &err) == 0)
            updater_pass_settle(pass);
        now = vpa_loop_monotonic(pass->env->loop);
    }
    return updater_pass_is_stopped(pass) ? PASS_TOKEN_REFUSED : token;
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

        if (!until && updater_pass_is_stopped(pass))
            until = now + STOP_PATIENCE;
        if (vpa_loop_is_stopping(loop)) {
            stopping = true;
            vpa_loop_resume(loop);
        }
        if (until && now >= until) { /* some of it may not even have been sent */
            updater_act_cancel_all(pass);
            break;
        }
        (void)vpa_loop_wait(loop, until ? has_finished : wants_attention, pass,
                            until ? until - now : VPA_HOUR, &err);
        updater_pass_settle(pass);
    }
    if (stopping)
        vpa_loop_stop(loop);
}

/* Steps the works that have begun, begins new ones while there is room; true when all are done. */
static bool schedule(struct pass *pass, size_t *first, size_t *begun)
{
    while (*first < pass->work_count && !pass->aborted) {
        size_t i = *first;

        for (; i < *begun && !pass->aborted; i++) {
            struct work *w = pass->works[i];

            if (w->phase != WORK_DONE && updater_work_step(w) == WORK_STEP_ABORT)
                pass->aborted = true;
        }
        while (*first < *begun && pass->works[*first]->phase == WORK_DONE)
            (*first)++;
        if (*begun == pass->work_count || !updater_pass_has_room(pass))
            return pass->aborted || *first == pass->work_count;
        (*begun)++;
    }
    return true;
}

void updater_pass_run_works(struct pass *pass)
{
    size_t first = 0, begun = 0;
    struct vpa_error err;

    while (!updater_pass_is_stopped(pass) && !schedule(pass, &first, &begun)) {
        if (vpa_loop_wait(pass->env->loop, wants_attention, pass, VPA_HOUR, &err) == 0)
            updater_pass_settle(pass);
    }
    if (updater_pass_is_stopped(pass))
        pass->aborted = true;
    updater_pass_drain(pass);
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

    vpa_update_memory_sweep(env->memory, uid_is_live, &live);
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

/* Whether the webhook is there to give evicted pods their new resources. */
static bool webhook_is_alive(struct pass_env *env)
{
    const struct updater_config *config = env->config;
    struct vpa_error err;
    bool valid;

    if (!config->use_admission_status)
        return true;
    if (vpa_status_lease_check(
            env->client, vpa_status_lease_namespace(config->status_lease_namespace),
            config->status_lease_name, config->status_lease_timeout, &valid, &err) < 0) {
        VPA_ERROR("Error getting Admission Controller status. Skipping update loop",
                  VPA_KERR(&err));
        return false;
    }
    if (!valid)
        VPA_INFO("Admission Controller status is not valid. Skipping update loop");
    return valid;
}

static void run_selected(struct pass *pass, struct selection *selection, struct stopwatch *watch)
{
    struct pass_env *env = pass->env;
    size_t count;
    vpa_auto_free const struct vpa_pod **pods = updater_store_pods(env->store, &count);

    lap(watch, "ListPods");
    count = keep_live(pods, count);
    updater_select_pods(pass, selection, pods, count);
    sweep_memory(env, pods, count);
    lap(watch, "FilterPods");
    lap(watch, "AdmissionInit");
    updater_select_works(pass, selection);
    updater_pass_run_works(pass);
    if (!pass->aborted) {
        env->has_passed = true;
        lap(watch, "EvictPods");
    }
    updater_meter_pass_publish(&pass->gauges);
}

/* A pass over half of the pods would take healthy groups for small ones, and decide by that. */
static bool caches_are_filled(const struct pass_env *env)
{
    return updater_store_is_synced(env->store) && vpa_owners_is_synced(env->owners);
}

static void run_pass(struct pass *pass, struct stopwatch *watch)
{
    struct pass_env *env = pass->env;
    struct selection *selection;

    if (!caches_are_filled(env)) {
        VPA_INFO("Caches are not in step yet. Skipping update loop");
        return;
    }
    if (updater_store_panic(env->store)) {
        VPA_INFO("ConfigMap " VPA_PANIC_CONFIG_MAP " exists. Skipping update loop");
        return;
    }
    if (updater_pass_is_stopped(pass) || !webhook_is_alive(env))
        return;

    size_t count;
    vpa_auto_free const struct vpa_object **vpas = updater_store_vpas(env->store, &count);

    lap(watch, "ListVPAs");
    vpa_owners_begin_pass(env->owners);
    selection = updater_select_vpas(pass, vpas, count);
    if (updater_select_any(selection))
        run_selected(pass, selection, watch);
    else
        VPA_INFO("No VPA objects to process");
    updater_select_release(selection);
}

void updater_pass_run(struct pass_env *env)
{
    struct stopwatch watch = {.loop = env->loop, .start = vpa_loop_monotonic(env->loop)};
    struct pass pass;

    watch.last = watch.start;
    updater_pass_init(&pass, env);
    run_pass(&pass, &watch);
    updater_pass_release(&pass);
    updater_meter_step("total", seconds_between(watch.start, vpa_loop_monotonic(env->loop)));
}
