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
 *
 * Everything is matched and grouped once: pods find their topmost controller through the owner
 * caches (remembered per immediate owner), the controller finds its VPA through an index.
 */
#include "pass.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/kube/status_lease.h"
#include "vpa/policy/match.h"

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

const struct vpa_namespace_limits *updater_pass_limits(struct pass *pass, const char *ns)
{
    struct vpa_namespace_limits *limits = vpa_table_find(&pass->limits, ns);
    size_t count = 0;

    if (limits)
        return limits;
    for (size_t i = 0; i < pass->limit_range_count; i++)
        count += vpa_str_eq(pass->limit_ranges[i]->meta.ns, ns);

    const struct vpa_limit_range **ranges =
        vpa_arena_alloc(&pass->arena, (count + 1) * sizeof(struct vpa_limit_range *));

    count = 0;
    for (size_t i = 0; i < pass->limit_range_count; i++) {
        if (vpa_str_eq(pass->limit_ranges[i]->meta.ns, ns))
            ranges[count++] = pass->limit_ranges[i];
    }
    limits = vpa_arena_zalloc(&pass->arena, sizeof(*limits));
    vpa_namespace_limits_fold(&pass->arena, ranges, count, limits);
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

bool updater_pass_wait_limiter(struct pass *pass, struct vpa_rate *rate)
{
    int64_t now = vpa_loop_monotonic(pass->env->loop);
    vpa_duration wait;

    if (!vpa_rate_reserve(rate, now, pass->deadline - now, &wait))
        return false;

    int64_t until = now + wait;

    while (now < until) {
        struct vpa_error err;

        if (updater_pass_is_stopped(pass))
            return false;
        if (vpa_loop_wait(pass->env->loop, wants_attention, pass, until - now, &err) == 0)
            updater_pass_settle(pass);
        now = vpa_loop_monotonic(pass->env->loop);
    }
    return !updater_pass_is_stopped(pass);
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

/* ---- selection ---- */

/* A VPA that takes part, with the selector of its target and, later, its pods. */
struct selected {
    const struct vpa_object *vpa;
    struct vpa_selector selector;
    size_t pod_count;
    size_t filled;
    const struct vpa_pod **pods;
};

struct selection {
    struct selected *items;
    size_t count;
};

/* The topmost controller of one immediate owner, remembered for its other pods. */
struct walk {
    bool failed;
    bool found;
    struct vpa_controller_key top;
};

static bool takes_part(const struct pass *pass, const struct vpa_object *vpa)
{
    if (vpa_common_flags_ignore(&pass->env->config->common, vpa->meta.ns))
        return false;
    return vpa_update_mode_active(vpa_update_mode_of(vpa)) || vpa_object_has_startup_boost(vpa);
}

static int resolve_selector(struct pass *pass, const struct vpa_object *vpa,
                            struct vpa_selector *out, struct vpa_error *err)
{
    if (vpa->has_selector && !vpa->target_ref.present) {
        *out = vpa->selector;
        return 0;
    }
    if (!vpa->target_ref.present)
        return vpa_fail(err, VPA_INVALID, "targetRef not defined");
    return vpa_owners_selector(pass->env->owners, vpa->meta.ns, vpa->target_ref.api_version,
                               vpa->target_ref.kind, vpa->target_ref.name, &pass->arena, out, err);
}

static void select_vpas(struct pass *pass, const struct vpa_object *const *vpas, size_t count,
                        struct selection *out)
{
    out->items = vpa_arena_zalloc(&pass->arena, (count + 1) * sizeof(*out->items));
    for (size_t i = 0; i < count && !updater_pass_is_stopped(pass); i++) {
        const struct vpa_object *vpa = vpas[i];
        struct selected *s = &out->items[out->count];
        struct vpa_error err;

        if (!takes_part(pass, vpa)) {
            VPA_V(3, "Skipping VPA: nothing to do for it", VPA_KV("namespace", vpa->meta.ns),
                  VPA_KV("vpa", vpa->meta.name), VPA_KV("mode", vpa_object_mode(vpa)));
            continue;
        }
        if (resolve_selector(pass, vpa, &s->selector, &err) < 0) {
            VPA_V(3, "Skipping VPA: no selector of its target", VPA_KV("namespace", vpa->meta.ns),
                  VPA_KV("vpa", vpa->meta.name), VPA_KERR(&err));
            continue;
        }
        s->vpa = vpa;
        out->count++;
    }
}

static const struct walk *walk_of(struct pass *pass, struct vpa_table *walks,
                                  const struct vpa_pod *pod,
                                  const struct vpa_owner_reference *owner)
{
    char *id = vpa_arena_printf(&pass->scratch, "%s/%s/%s/%s", pod->meta.ns, owner->api_version,
                                owner->kind, owner->name);
    struct walk *walk = vpa_table_find(walks, id);
    struct vpa_error err;

    if (walk)
        return walk;

    struct vpa_controller_key key = {.ns = pod->meta.ns,
                                     .kind = owner->kind,
                                     .name = owner->name,
                                     .api_version = owner->api_version};

    walk = vpa_arena_zalloc(&pass->arena, sizeof(*walk));
    vpa_table_put(walks, vpa_arena_strdup(&pass->arena, id), walk);
    if (vpa_owners_topmost(pass->env->owners, &key, &pass->arena, &walk->found, &walk->top, &err) <
        0) {
        walk->failed = true;
        if (!vpa_owner_is_node_error(&err))
            VPA_ERROR("Failed to find the controller of a pod", VPA_KERR(&err),
                      VPA_KV("namespace", pod->meta.ns), VPA_KV("pod", pod->meta.name));
    }
    return walk;
}

static const struct vpa_candidate *controlling_vpa(struct pass *pass,
                                                   const struct vpa_match_index *index,
                                                   struct vpa_table *walks,
                                                   const struct vpa_pod *pod)
{
    const struct vpa_owner_reference *owner = vpa_meta_controller_last(&pod->meta);
    const struct walk *walk = owner ? walk_of(pass, walks, pod, owner) : NULL;

    if (walk && !walk->failed && walk->found)
        return vpa_match_find(index, VPA_MATCH_UPDATER, walk->top.ns, walk->top.kind,
                              walk->top.name, &pod->meta.labels);
    return vpa_match_find(index, VPA_MATCH_UPDATER, pod->meta.ns, "", "", &pod->meta.labels);
}

static int selected_cmp(const void *key, const void *element)
{
    const struct vpa_object *vpa = key;
    const struct selected *s = element;
    int order = strcmp(vpa->meta.ns, s->vpa->meta.ns);

    return order ? order : strcmp(vpa->meta.name, s->vpa->meta.name);
}

/* Which of the selected VPAs controls each pod; NULL entries for none. */
static struct selected **find_controlling(struct pass *pass, const struct selection *selection,
                                          const struct vpa_pod *const *pods, size_t count)
{
    struct vpa_candidate *candidates =
        vpa_arena_alloc(&pass->arena, selection->count * sizeof(*candidates));
    struct selected **of_pod = vpa_arena_zalloc(&pass->arena, (count + 1) * sizeof(*of_pod));
    struct vpa_table walks = {0};

    for (size_t i = 0; i < selection->count; i++)
        candidates[i] =
            (struct vpa_candidate){selection->items[i].vpa, &selection->items[i].selector};

    struct vpa_match_index *index = vpa_match_index_new(candidates, selection->count);

    for (size_t i = 0; i < count && !updater_pass_is_stopped(pass); i++) {
        vpa_arena_clear(&pass->scratch);

        const struct vpa_candidate *c = controlling_vpa(pass, index, &walks, pods[i]);

        if (!c)
            continue;
        of_pod[i] = bsearch(c->vpa, selection->items, selection->count, sizeof(*selection->items),
                            selected_cmp);
        if (of_pod[i])
            of_pod[i]->pod_count++;
    }
    vpa_match_index_free(index);
    vpa_table_release(&walks);
    return of_pod;
}

/* Hands out the pods in their order and makes a work for each VPA that controls some. */
static void group_pods(struct pass *pass, const struct selection *selection,
                       const struct vpa_pod *const *pods, size_t count)
{
    struct selected **of_pod = find_controlling(pass, selection, pods, count);

    for (size_t i = 0; i < selection->count; i++) {
        struct selected *s = &selection->items[i];

        s->pods = vpa_arena_alloc(&pass->arena, (s->pod_count + 1) * sizeof(struct vpa_pod *));
    }
    for (size_t i = 0; i < count; i++) {
        if (of_pod[i])
            of_pod[i]->pods[of_pod[i]->filled++] = pods[i];
    }
}

static void make_works(struct pass *pass, const struct selection *selection)
{
    struct pass_env *env = pass->env;

    for (size_t i = 0; i < selection->count; i++) {
        struct selected *s = &selection->items[i];

        if (s->pod_count == 0)
            continue;
        if (env->on_controlled)
            env->on_controlled(env->on_controlled_ctx, s->vpa, s->pods, s->pod_count);
        updater_pass_add(pass, s->vpa, s->pods, s->pod_count);
    }
}

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

/* ---- the pass ---- */

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

static void run_selected(struct pass *pass, const struct selection *selection,
                         struct stopwatch *watch)
{
    struct pass_env *env = pass->env;
    size_t count;
    vpa_auto_free const struct vpa_pod **pods = updater_store_pods(env->store, &count);

    lap(watch, "ListPods");
    count = keep_live(pods, count);
    group_pods(pass, selection, pods, count);
    sweep_memory(env, pods, count);
    lap(watch, "FilterPods");
    lap(watch, "AdmissionInit");
    make_works(pass, selection);
    updater_pass_run_works(pass);
    if (!pass->aborted)
        lap(watch, "EvictPods");
    updater_meter_pass_publish(&pass->gauges);
}

static void run_pass(struct pass *pass, struct stopwatch *watch)
{
    struct pass_env *env = pass->env;
    struct selection selection = {0};

    if (updater_store_panic(env->store)) {
        VPA_INFO("ConfigMap " STORE_PANIC_CONFIG_MAP " exists. Skipping update loop");
        return;
    }
    if (updater_pass_is_stopped(pass) || !webhook_is_alive(env))
        return;

    size_t count;
    vpa_auto_free const struct vpa_object **vpas = updater_store_vpas(env->store, &count);

    lap(watch, "ListVPAs");
    vpa_owners_begin_pass(env->owners);
    select_vpas(pass, vpas, count, &selection);
    if (selection.count > 0)
        run_selected(pass, &selection, watch);
    else
        VPA_INFO("No VPA objects to process");
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
