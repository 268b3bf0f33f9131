#include "standby_fixture.h"

unsigned lease_writes, lease_requests;
bool lease_denied, lease_broken;

bool first_stands_by, second_stands_by;
struct recommender *second;
int lists_of_checkpoints;
struct vpa_timer *leader_tick;
bool leader_passes;
vpa_duration slowness;

bool watch_lease(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!strstr(q->path, "/leases"))
        return false;
    lease_requests++;
    if (lease_broken)
        vpa_memory_reply_status(r, 400, "BadRequest", "not now");
    else if (lease_denied)
        vpa_memory_reply_status(r, 403, "Forbidden", "leases is forbidden");
    else
        lease_writes += strcmp(q->method, "GET") != 0;
    return lease_broken || lease_denied;
}

void store(const char *lease)
{
    if (*lease)
        sim_cluster_put_text(server->sim, lease);
    else
        (void)sim_cluster_delete(server->sim, LEASES, "Lease", "kube-system", "l-standby");
}

const char *lease_member(const char *name)
{
    const struct vpa_json *lease =
        sim_cluster_find(server->sim, &arena, LEASES, "Lease", "kube-system", "l-standby");

    return vpa_or_empty(vpa_json_string(vpa_json_find(vpa_json_find(lease, "spec"), name)));
}

void setup_lease(void)
{
    setup();
    hook = watch_lease;
}

/* ---- two replicas ---- */

void setup_both(void)
{
    setup_lease();
    vpa_loop_pump(loop, VPA_MINUTE / 2);
}

struct recommender *replica(const char *identity, const bool *standby)
{
    return recommender_new(&(struct recommender_options){
        .loop = loop,
        .config = &config,
        .client = client,
        .writer = client,
        .metrics = client,
        .standby = standby,
        .standby_lease = &(struct standby_options){
            .client = client, .ns = "kube-system", .leader = "l", .identity = identity}});
}

void load(struct recommender *r)
{
    struct vpa_error err;

    ck_assert_int_eq(recommender_start(r, &err), 0);
    ck_assert_int_eq(recommender_load_history(r, &err), 0);
}

void start_leader(const char *flag)
{
    construct(flag);
    recommender_free(recommender);
    first_stands_by = false;
    recommender = replica("first", &first_stands_by);
    load(recommender);
}

void start_second(void)
{
    second_stands_by = true;
    second = replica("second", &second_stands_by);
    load(second);
}

void teardown_both(void)
{
    recommender_free(second);
    second = NULL;
    teardown();
}

const char *usage_of(int minute)
{
    return vpa_arena_printf(&arena, USAGE("%dm", "%dMi"), 100 + 37 * (minute % 11),
                            200 + 53 * (minute % 7));
}

void make_passes(int minute)
{
    fake_cluster_set_step(server, json(usage_of(minute)));
    fake_cluster_begin_record(server);
    if (recommender)
        recommender_pass(recommender);
    if (second)
        recommender_pass(second);
}

void both_pass(int minute)
{
    vpa_loop_pump(loop, VPA_MINUTE);
    make_passes(minute);
}

/* ---- what is stored and asked ---- */

int64_t samples_of(const char *checkpoint)
{
    const struct vpa_json *object = stored("VerticalPodAutoscalerCheckpoint", checkpoint);
    int64_t count;

    ck_assert(vpa_json_int64(vpa_json_at(object, "status.totalSamplesCount"), &count));
    return count;
}

bool refuse_usage(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!strstr(q->path, "/apis/metrics.k8s.io/"))
        return watch_lease(q, r);
    vpa_memory_reply_status(r, 503, "ServiceUnavailable", "no backend");
    return true;
}

bool is_list_of_checkpoints(const struct vpa_memory_request *q)
{
    return strcmp(q->method, "GET") == 0 && strstr(q->path, "/verticalpodautoscalercheck");
}

/* ---- a leader that passes by a timer ---- */

void lead(void *ctx)
{
    (void)ctx;
    fake_cluster_set_step(server, json(usage_of(1)));
    fake_cluster_begin_record(server);
    recommender_pass(recommender);
}

void lead_each_interval(void *ctx)
{
    leader_passes = true;
    lead(ctx);
    leader_passes = false;
    vpa_timer_start(leader_tick, config.interval);
}

static int64_t next_pass; /* of the standby, monotonic */

void start_ticking_leader(const char *flag)
{
    start_leader(flag);
    start_second();
    leader_tick = vpa_timer_new(loop, lead_each_interval, NULL);
    vpa_timer_start(leader_tick, config.interval);
    next_pass = vpa_loop_monotonic(loop) + config.interval + VPA_SECOND;
}

void let_both_pass(int standby_passes)
{
    for (int i = 0; i < standby_passes; i++) {
        int64_t now = vpa_loop_monotonic(loop);

        if (now < next_pass)
            vpa_loop_pump(loop, next_pass - now);
        while (next_pass <= vpa_loop_monotonic(loop))
            next_pass += config.interval;
        recommender_pass(second);
    }
}
