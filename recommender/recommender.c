/*
 * The passes, and why they lose nothing.
 *
 * What is learned is worth days, what a cache says may be minutes old or cut short. So a pass goes
 * on learning from whatever is certain, and takes away only what no old knowledge can make wrong:
 *
 *     what goes                   when                                 with an old cache
 *     --------------------------------------------------------------------------------------
 *     a pod                       DELETED, or a whole list without it  stays longer
 *     an aggregate with samples   its last sample has the age of a     the same: the clock decides,
 *                                 history (vpa_settings_window)        and new samples keep it
 *     an aggregate without any    no pod feeds it                      nothing was learned
 *     a VPA's loaded history      the VPA: DELETED, a whole list without  stays longer
 *                                 it, another recommender's; or a newer
 *                                 version that names another target (U25)
 *       of one container          as an aggregate, and no pod has it   stays longer
 *     a checkpoint of a VPA       no cache has the VPA, and the API    the API server has the last
 *       that is gone              server, asked now, does not either   word
 *       of one container          its last sample has the age of a     stays until the caches are
 *                                 history, the VPA is ours, known and  in step
 *                                 read, and knows no such container
 *     an unreadable copy          its VPA is gone, or the age of a     the clock decides
 *                                 history
 *     --------------------------------------------------------------------------------------
 *
 * The clock is not believed for a day after it was set, nor while it is ahead of the API server's
 * (set_clock.h).
 *
 * A whole list is one that came to its end; one that breaks off takes nothing away. An object that
 * does not decode is there (U21): an unknown pod keeps its aggregates, an unknown VPA its history
 * and its checkpoints, and gets no status until a version decodes. Every write is fenced by the
 * Lease where its bytes go out (client.h), so a process that stood still adds nothing either.
 *
 * A standby makes the same passes at the same times and writes nothing; when it leads, its next
 * pass is the one that the leader before would have made (standby.h says what that saves).
 */
#include "recommender.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoints.h"
#include "feeder.h"
#include "metrics.h"
#include "publish.h"
#include "query.h"
#include "refill.h"
#include "set_clock.h"
#include "standby.h"
#include "start_history.h"
#include "target.h"
#include "usage.h"

#include "vpa/base/log.h"
#include "vpa/daemon/status_lease.h"
#include "vpa/kube/events.h"

/* Between attempts to read the checkpoints. */
#define LOAD_BACKOFF_FIRST (800 * VPA_MILLISECOND)
#define LOAD_BACKOFF_MAX (30 * VPA_SECOND)

struct recommender {
    struct recommender_options options;
    const struct recommender_config *config;
    struct vpa_loop *loop;
    struct vpa_aggregation aggregation;
    struct vpa_cluster *cluster;
    struct algorithms *algorithms;
    struct measures *measures;
    struct recommender_quality quality;
    struct refill *refill;
    struct start_history *start_history;
    struct feeder *feeder;
    struct vpa_events *events;
    struct query *query;   /* NULL: not asked for */
    struct query_api *api; /* NULL: likewise */
    struct publisher *publisher;
    struct checkpoints *checkpoints;
    struct standby *standby; /* NULL: none, or no checkpoints that it could miss */
    struct set_clock clock;
    bool loaded;      /* the history */
    bool passed;      /* a pass was made since */
    bool was_standby; /* in the last pass */
    struct usage_memory usage_memory;
    struct usage_options usage;
};

static bool is_standby(const struct recommender *r)
{
    return r->options.standby && *r->options.standby;
}

void recommender_aggregation(const struct recommender_config *c, struct vpa_aggregation *a)
{
    vpa_aggregation_init(a);
    a->cpu_half_life = c->cpu_half_life;
    a->memory_half_life = c->memory_half_life;
    a->memory_interval = c->memory_interval;
    a->memory_interval_count = c->memory_interval_count;
    a->oom_bump_up_ratio = c->oom_bump_up_ratio;
    a->oom_min_bump_up = c->oom_min_bump_up_bytes;
    a->per_vpa_config = c->common.gates.per_vpa_config;
}

static bool is_leading(void *ctx)
{
    return !is_standby(ctx);
}

static void start_query(struct recommender *r)
{
    bool by_path = r->config->recommendation_query, by_api = *r->config->recommendation_api.address;

    if (!by_path && !by_api)
        return;
    r->query = query_new(r->loop, feeder_owners(r->feeder));
    if (by_path && r->options.observe)
        vpa_observe_serve(r->options.observe, QUERY_PATH, query_answer, r->query);
    if (by_api)
        r->api = query_api_new(&(struct query_api_options){.loop = r->loop,
                                                           .config = &r->config->recommendation_api,
                                                           .client = r->options.client,
                                                           .query = r->query,
                                                           .ns = vpa_status_lease_namespace(""),
                                                           .leads = is_leading,
                                                           .ctx = r,
                                                           .events = r->events});
}

static void stop_query(struct recommender *r)
{
    query_api_free(r->api);
    if (r->query && r->options.observe)
        vpa_observe_serve(r->options.observe, QUERY_PATH, NULL, NULL);
    query_free(r->query);
}

static struct publisher *new_publisher(struct recommender *r)
{
    return publisher_new(&(struct publisher_options){.loop = r->loop,
                                                     .client = r->options.writer,
                                                     .config = r->config,
                                                     .cluster = r->cluster,
                                                     .feeder = r->feeder,
                                                     .standby = r->options.standby,
                                                     .measures = r->measures,
                                                     .shadow = r->options.shadow,
                                                     .ledger = r->options.ledger,
                                                     .query = r->query});
}

struct recommender *recommender_new(const struct recommender_options *options)
{
    struct recommender *r = vpa_xcalloc(1, sizeof *r);

    r->options = *options;
    r->config = options->config;
    r->loop = options->loop;
    recommender_aggregation(r->config, &r->aggregation);
    r->measures = measures_new(r->config->measure_vpas);
    r->quality = (struct recommender_quality){options->standby, r->measures};
    r->cluster = vpa_cluster_new(
        &(struct vpa_cluster_options){.aggregation = &r->aggregation,
                                      .memory_saver = r->config->memory_saver,
                                      .hooks = recommender_quality_hooks(&r->quality)});
    r->algorithms = algorithms_new(&r->config->algorithms, r->config->name);
    r->feeder = feeder_new(&(struct feeder_options){.loop = r->loop,
                                                    .client = options->client,
                                                    .config = r->config,
                                                    .cluster = r->cluster,
                                                    .algorithms = r->algorithms,
                                                    .standby = options->standby});
    r->events = vpa_events_new(
        &(struct vpa_events_options){.client = options->client, .component = "vpa-recommender"});
    start_query(r);
    r->publisher = new_publisher(r);
    if (options->standby_lease && !recommender_uses_prometheus(r->config))
        r->standby = standby_new(options->standby_lease, r->config->interval);
    r->checkpoints = checkpoints_new(&(struct checkpoints_options){.loop = r->loop,
                                                                   .reader = options->client,
                                                                   .writer = options->writer,
                                                                   .events = r->events,
                                                                   .config = r->config,
                                                                   .algorithms = r->algorithms,
                                                                   .cluster = r->cluster,
                                                                   .feeder = r->feeder});
    r->refill = refill_new(&(struct refill_options){.loop = r->loop,
                                                    .config = r->config,
                                                    .cluster = r->cluster,
                                                    .connect = options->connect_prometheus,
                                                    .connect_ctx = options->connect_ctx});
    r->start_history =
        start_history_new(&(struct start_history_options){.loop = r->loop,
                                                          .config = r->config,
                                                          .cluster = r->cluster,
                                                          .observe = options->observe,
                                                          .connect = options->connect_prometheus,
                                                          .connect_ctx = options->connect_ctx});
    r->usage = (struct usage_options){.client = options->metrics,
                                      .config = r->config,
                                      .cluster = r->cluster,
                                      .memory = &r->usage_memory};
    return r;
}

void recommender_free(struct recommender *r)
{
    if (!r)
        return;
    stop_query(r);
    publisher_free(r->publisher);
    checkpoints_free(r->checkpoints);
    standby_free(r->standby);
    vpa_events_free(r->events);
    /* The model borrows VPAs from the feeder. */
    vpa_cluster_free(r->cluster);
    feeder_free(r->feeder);
    refill_free(r->refill);
    start_history_free(r->start_history);
    algorithms_free(r->algorithms);
    measures_free(r->measures);
    usage_memory_release(&r->usage_memory);
    vpa_aggregation_release(&r->aggregation);
    free(r);
}

/* ---- start ---- */

/* VPAs before pods: a label set that appears looks up the few selectors that can match it, a
 * selector that appears has to look at all label sets. A history from Prometheus, on the other
 * hand, comes before both, because it is fed with the global settings. */
int recommender_start(struct recommender *r, struct vpa_error *err)
{
    if (r->api && query_api_start(r->api, err) < 0)
        return -1;
    feeder_start(r->feeder);
    if (feeder_wait(r->feeder, err) < 0)
        return -1;
    if (recommender_uses_prometheus(r->config))
        return 0;
    feeder_begin_pass(r->feeder);
    feeder_load_vpas(r->feeder, vpa_loop_now(r->loop));
    feeder_end_pass(r->feeder);
    VPA_V(3, "VPAs and controllers are in step");
    feeder_start_pods(r->feeder);
    return 0;
}

static int load_prometheus(struct recommender *r, struct vpa_error *err)
{
    if (start_history_load(r->start_history, err) < 0)
        return -1;
    feeder_start_pods(r->feeder);
    return feeder_wait(r->feeder, err);
}

/* Pods that arrive meanwhile may go into the model: each checkpoint is loaded in one go.
 * Until it works: going on without would overwrite histories that were not read. */
static int load_checkpoints(struct recommender *r, struct vpa_error *err)
{
    vpa_duration wait = LOAD_BACKOFF_FIRST;

    while (checkpoints_load(r->checkpoints, err) < 0) {
        if (vpa_loop_is_stopping(r->loop))
            return vpa_fail(err, VPA_CANCELLED, "stopped");
        VPA_ERROR_UNLESS_TOLD(err, "Cannot list VPA checkpoints", VPA_KERR(err));
        vpa_loop_pump(r->loop, wait);
        wait = wait < LOAD_BACKOFF_MAX / 2 ? wait * 2 : LOAD_BACKOFF_MAX;
    }
    return 0;
}

/* For that long at most. -1 when the loop was stopped. */
static int wait_for_lead(struct recommender *r, vpa_duration patience, struct vpa_error *err)
{
    bool leads = vpa_loop_wait(r->loop, is_leading, r, patience, err) == 0;

    return !leads && vpa_loop_is_stopping(r->loop) ? -1 : 0;
}

/* Replicas make their passes at multiples of the interval. */
static int64_t turn_of(const struct recommender *r)
{
    return vpa_time_unix_nanos(vpa_loop_now(r->loop)) / r->config->interval;
}

/* When an interval begins the leader may still be storing what its pass has brought, if there is a
 * leader: for half of it, but no longer than the writing of checkpoints may take. -1 when the loop
 * was stopped. */
static int await_what_is_stored(struct recommender *r, struct vpa_error *err)
{
    vpa_duration interval = r->config->interval;
    vpa_duration gone = vpa_time_unix_nanos(vpa_loop_now(r->loop)) % interval;
    vpa_duration needed = interval / 2;

    if (needed > r->config->checkpoints_timeout)
        needed = r->config->checkpoints_timeout;
    return gone < needed ? wait_for_lead(r, needed - gone, err) : 0;
}

/* Of all checkpoints. Nothing was stored meanwhile when this process led as it began. */
static void note_load(struct recommender *r, bool stood_by, int64_t begin)
{
    if (r->standby && stood_by)
        standby_has_loaded(r->standby, begin);
    else if (r->standby)
        standby_has_taken_over(r->standby);
}

/* A sample that the leader counts while a standby loads may be missing in what it has loaded, and
 * is not to be had any more in its own first pass. So it loads between two passes of the leader,
 * when the one has surely been stored, and again when the other has begun meanwhile. */
static int load_between_passes(struct recommender *r, struct vpa_error *err)
{
    for (int tries = 1;; tries++) {
        if (is_standby(r) && await_what_is_stored(r, err) < 0)
            return -1;

        int64_t turn = turn_of(r), begin = vpa_loop_monotonic(r->loop);
        bool stands_by = is_standby(r);

        if (load_checkpoints(r, err) < 0)
            return -1;
        note_load(r, stands_by, begin);
        if (!is_standby(r) || turn_of(r) == turn || tries == STANDBY_LOADS)
            return 0;
        VPA_V(2, "Loading the checkpoints again: the leader has made a pass meanwhile");
    }
}

/* A leader that wrote by turns has something to write first. -1 when the loop was stopped. */
static int await_checkpoints(struct recommender *r, struct vpa_error *err)
{
    if (!is_standby(r) || !r->standby || !standby_claim(r->standby) || is_leading(r))
        return 0;
    VPA_INFO("Waiting until the leader has written all checkpoints");
    return wait_for_lead(r, STANDBY_SILENCE * r->config->interval, err);
}

static int load_stored(struct recommender *r, struct vpa_error *err)
{
    if (await_checkpoints(r, err) < 0)
        return -1;
    feeder_begin_pass(r->feeder);
    feeder_load_vpas(r->feeder, vpa_loop_now(r->loop));
    feeder_end_pass(r->feeder);
    /* The pods go on with the intervals that the checkpoints name. */
    if (feeder_wait(r->feeder, err) < 0)
        return -1;
    feeder_load_pods(r->feeder, vpa_loop_now(r->loop));
    return load_between_passes(r, err);
}

int recommender_load_history(struct recommender *r, struct vpa_error *err)
{
    int result =
        recommender_uses_prometheus(r->config) ? load_prometheus(r, err) : load_stored(r, err);

    malloc_trim(0); /* what the lists needed for a moment */
    r->loaded = result == 0;
    return result;
}

/* ---- pass ---- */

struct stopwatch {
    const struct vpa_loop *loop;
    int64_t begin;
    int64_t last;
};

static void lap(struct stopwatch *watch, const char *step)
{
    int64_t now = vpa_loop_monotonic(watch->loop);

    vpa_metric_observe(&metrics_steps, (double)(now - watch->last) / (double)VPA_SECOND, step);
    watch->last = now;
}

static bool controller_exists(void *ctx, const struct vpa_autoscaler *v)
{
    struct recommender *r = ctx;

    return target_has_controller(feeder_owners(r->feeder), vpa_autoscaler_object(v));
}

static bool is_to_load_again(const struct recommender *r)
{
    return r->standby && standby_is_to_load(r->standby, !is_standby(r));
}

/* After the pods: those with an open interval go on with it. */
static void load_new_histories(struct recommender *r)
{
    int64_t begin = vpa_loop_monotonic(r->loop);
    bool stands_by = is_standby(r);

    if (recommender_uses_prometheus(r->config)) {
        start_history_pass(r->start_history);
        return;
    }
    bool again = is_to_load_again(r);
    if (again)
        checkpoints_expect_all(r->checkpoints);
    if (checkpoints_load_new(r->checkpoints) && again) {
        note_load(r, stands_by, begin);
        VPA_INFO("Loaded all checkpoints again, because this replica had missed usage");
    }
}

/* After the usage. */
static void load_new_histories_twice(struct recommender *r)
{
    int64_t begin = vpa_loop_monotonic(r->loop);

    checkpoints_load_again(r->checkpoints);
    if (r->standby)
        standby_has_loaded_twice(r->standby, begin);
}

/* What is stored is worth more than the model while that has to be loaded again. */
static bool may_write_checkpoints(const struct recommender *r)
{
    return !is_standby(r) && !is_to_load_again(r);
}

static bool has_standby_in_step(struct recommender *r)
{
    return r->standby && r->config->checkpoint_interval > r->config->interval &&
           standby_is_in_step(r->standby);
}

/* By which things are old. */
static vpa_time time_of_age(struct recommender *r)
{
    return set_clock_now(&r->clock, r->loop, vpa_kube_client_ahead(r->options.client));
}

/* By which what nodes have dated is of the past. */
static vpa_time time_of_samples(const struct recommender *r)
{
    return set_clock_of_server(r->loop, vpa_kube_client_ahead(r->options.client));
}

/* By which what was learned counts. */
static vpa_time time_of_estimates(struct recommender *r)
{
    vpa_time now = time_of_samples(r);

    return now > vpa_loop_now(r->loop) ? now : time_of_age(r);
}

/* A server that hangs holds up a standby for minutes, in which it may get the Lease. */
static void collect_usage(struct recommender *r, int64_t begin)
{
    bool stood_by = is_standby(r);
    bool has_usage = usage_collect(&r->usage, time_of_samples(r));

    if (r->options.observe) /* a slow server of metrics took that time, and it has an end */
        vpa_observe_activity(r->options.observe);
    if (stood_by && r->standby)
        standby_note_usage(r->standby, begin, has_usage);
}

static void maintain_checkpoints(struct recommender *r)
{
    if (recommender_uses_prometheus(r->config))
        return;
    if (!may_write_checkpoints(r)) {
        checkpoints_collect_garbage(r->checkpoints, time_of_age(r), true);
        return;
    }
    if (r->was_standby) { /* which objects there are by now */
        checkpoints_look_again(r->checkpoints);
        checkpoints_collect_garbage(r->checkpoints, time_of_age(r), true);
    }
    if (r->standby)
        standby_has_taken_over(r->standby);
    bool by_turns = has_standby_in_step(r);
    checkpoints_write(r->checkpoints,
                      vpa_time_add(vpa_loop_now(r->loop), r->config->checkpoints_timeout),
                      by_turns);
    checkpoints_collect_garbage(r->checkpoints, time_of_age(r), false);
}

/* Of the pods that are still there; upstream counts when it lists them. */
static void count_lookups(struct recommender *r)
{
    struct vpa_lookups lookups = vpa_cluster_take_lookups(r->cluster);

    metrics_resource_lookups(&lookups);
}

static void publish(struct recommender *r)
{
    vpa_auto_arena arena = {0};
    size_t count;
    const struct vpa_candidate *foreign = feeder_foreign_vpas(r->feeder, &arena, &count);

    publish_all(r->publisher, foreign, count,
                vpa_time_sub(vpa_loop_now(r->loop), time_of_estimates(r)));
}

static void run_steps(struct recommender *r)
{
    int64_t begin = vpa_loop_monotonic(r->loop);
    struct stopwatch watch = {.loop = r->loop, .begin = begin, .last = begin};

    feeder_load_vpas(r->feeder, vpa_loop_now(r->loop));
    lap(&watch, "LoadVPAs");
    feeder_load_pods(r->feeder, vpa_loop_now(r->loop));
    load_new_histories(r);
    lap(&watch, "LoadPods");
    measures_begin_pass(r->measures, r->cluster);
    collect_usage(r, begin);
    feeder_record_ooms(r->feeder, time_of_samples(r));
    if (is_standby(r))
        load_new_histories_twice(r);
    else if (is_to_load_again(r))
        load_new_histories(r);
    refill_pass(r->refill);
    vpa_metric_set(&metrics_aggregates, (double)vpa_cluster_aggregate_count(r->cluster));
    lap(&watch, "LoadMetrics");
    feeder_remove_deleted_pods(r->feeder);
    count_lookups(r);
    lap(&watch, "DeleteRemovedPods");
    publish(r);
    measures_end_pass(r->measures);
    lap(&watch, "UpdateVPAs");
    maintain_checkpoints(r);
    lap(&watch, "MaintainCheckpoints");
    vpa_cluster_collect_garbage(r->cluster, time_of_age(r), controller_exists, r);
    lap(&watch, "GarbageCollect");
    watch.last = watch.begin;
    lap(&watch, "total");
}

/* The leader may count on what this one knows. */
static void finish_pass(struct recommender *r)
{
    r->passed = true;
    r->was_standby = !may_write_checkpoints(r);
    if (is_standby(r) && r->standby)
        standby_end_pass(r->standby);
}

void recommender_pass(struct recommender *r)
{
    VPA_V(3, "Recommender Run");
    if (r->standby)
        standby_begin_pass(r->standby, !is_standby(r));
    feeder_begin_pass(r->feeder);
    run_steps(r);
    feeder_end_pass(r->feeder);
    finish_pass(r);
    malloc_trim(0);
    if (r->options.observe)
        vpa_observe_activity(r->options.observe);
    VPA_V(3, "Recommender Run finished");
}

void recommender_flush(struct recommender *r, vpa_duration timeout)
{
    if (!r->loaded || !may_write_checkpoints(r) || recommender_uses_prometheus(r->config))
        return;
    vpa_loop_resume(r->loop);
    feeder_begin_pass(r->feeder);
    checkpoints_flush(r->checkpoints, vpa_time_add(vpa_loop_now(r->loop), timeout));
    feeder_end_pass(r->feeder);
}

bool recommender_is_ready(void *ctx, struct vpa_buf *why)
{
    const struct recommender *r = ctx;
    const char *which = "";
    vpa_duration age = feeder_age(r->feeder, &which);

    if (!vpa_observe_is_fresh(which, age, why) || start_history_is_awaited(r->start_history, why))
        return false;
    if (r->loaded && (r->passed || !is_standby(r)))
        return true;
    vpa_buf_puts(why, r->loaded ? "the standby has not made a pass yet"
                                : "the history is not loaded yet");
    return false;
}

/* ---- ticker ---- */

struct ticker {
    const struct vpa_loop *loop;
    int64_t next; /* monotonic time of the next tick that has not come yet */
    vpa_duration interval;
    bool pending;
};

/* Takes in the ticks that have come; any number of them counts once. */
static bool has_ticked(void *ctx)
{
    struct ticker *t = ctx;
    int64_t now = vpa_loop_monotonic(t->loop);

    if (now >= t->next) {
        t->pending = true;
        t->next += ((now - t->next) / t->interval + 1) * t->interval;
    }
    return t->pending;
}

static vpa_duration until_first_tick(const struct recommender *r)
{
    vpa_duration interval = r->config->interval;

    if (!r->options.standby)
        return interval;
    return interval - vpa_time_unix_nanos(vpa_loop_now(r->loop)) % interval;
}

static bool api_is_due(const struct recommender *r)
{
    return r->api && query_api_is_due(r->api);
}

/* A server that hangs holds up what the API has to do. So it begins when there is time for that
 * before the next pass; or right after one, however late that was. */
struct gap {
    const struct recommender *r;
    const struct ticker *ticker;
};

static bool api_has_time(void *ctx)
{
    const struct gap *gap = ctx;
    int64_t left = gap->ticker->next - vpa_loop_monotonic(gap->r->loop);

    return left > QUERY_API_PATIENCE && api_is_due(gap->r);
}

/* Until the next tick, or until the API has something to do. */
static void wait_for_tick(struct recommender *r, const struct ticker *ticker)
{
    struct gap gap = {.r = r, .ticker = ticker};

    if (vpa_loop_wait(r->loop, api_has_time, &gap, ticker->next - vpa_loop_monotonic(r->loop),
                      NULL) == 0)
        query_api_work(r->api);
}

void recommender_run(struct recommender *r, void (*on_pass)(void *ctx), void *ctx)
{
    vpa_duration interval = r->config->interval;
    struct ticker ticker = {.loop = r->loop, .interval = interval};

    ticker.next = vpa_loop_monotonic(r->loop) + until_first_tick(r);
    if (r->options.observe)
        vpa_observe_arm(r->options.observe);
    while (!vpa_loop_is_stopping(r->loop)) {
        if (!has_ticked(&ticker)) {
            wait_for_tick(r, &ticker);
            continue;
        }
        ticker.pending = false;
        if (on_pass)
            on_pass(ctx);
        recommender_pass(r);
        if (api_is_due(r))
            query_api_work(r->api);
    }
}
