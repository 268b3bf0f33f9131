/*
 * The replica that does not lead: it knows what the leader knows, writes nothing, and goes on where
 * the leader ends.
 */
#include "captured_log.h"
#include <ctype.h>

#include "standby_fixture.h"

#include "vpa/json/json_writer.h"

#define WARM_PASSES 7
#define PASSES 12

/* Another standby renews it. */
static void renew_as_another(void)
{
    char now[VPA_TIME_TEXT_MAX];

    vpa_time_format(vpa_loop_now(loop), now);
    now[strlen(now) - 1] = '\0'; /* Z */
    store(vpa_arena_printf(&arena, LEASE_OF("other", ",\"renewTime\":\"%s.000000Z\""), now));
}

/* Between two passes, where a standby loads at once. */
static void setup_both(void)
{
    setup_lease();
    vpa_loop_pump(loop, VPA_MINUTE / 2);
}

/* ---- replicas ---- */

static bool first_stands_by;
static bool second_stands_by;
static struct recommender *second;

static struct recommender *replica(const char *identity, const bool *standby)
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

static void load(struct recommender *r)
{
    struct vpa_error err;

    ck_assert_int_eq(recommender_start(r, &err), 0);
    ck_assert_int_eq(recommender_load_history(r, &err), 0);
}

/* The first one leads; flag as of start(). */
static void start_leader(const char *flag)
{
    construct(flag);
    recommender_free(recommender);
    first_stands_by = false;
    recommender = replica("first", &first_stands_by);
    load(recommender);
}

static void start_second(void)
{
    second_stands_by = true;
    second = replica("second", &second_stands_by);
    load(second);
}

static void teardown_both(void)
{
    recommender_free(second);
    second = NULL;
    teardown();
}

/* Usage that is never the same. */
static const char *usage_of(int minute)
{
    return vpa_arena_printf(&arena, USAGE("%dm", "%dMi"), 100 + 37 * (minute % 11),
                            200 + 53 * (minute % 7));
}

/* The first one, if it is there, makes its pass, then the second one. */
static void make_passes(int minute)
{
    fake_cluster_set_step(server, json(usage_of(minute)));
    fake_cluster_begin_record(server);
    if (recommender)
        recommender_pass(recommender);
    if (second)
        recommender_pass(second);
}

/* One minute later. */
static void both_pass(int minute)
{
    vpa_loop_pump(loop, VPA_MINUTE);
    make_passes(minute);
}

/* ---- what is stored ---- */

static void put_member(struct vpa_buf *out, const char *kind, const char *name, const char *member)
{
    struct vpa_json_writer w;
    const struct vpa_json *object = stored(kind, name);

    ck_assert_ptr_nonnull(object);
    vpa_json_writer_init(&w, out);
    vpa_json_put_node(&w, vpa_json_at(object, member));
}

/* Status and checkpoint, with annotations. */
static void put_stored(struct vpa_buf *out)
{
    vpa_buf_init(out, (size_t)1 << 20);
    put_member(out, "VerticalPodAutoscaler", "web", "status");
    put_member(out, "VerticalPodAutoscalerCheckpoint", "web-app", "status");
    put_member(out, "VerticalPodAutoscalerCheckpoint", "web-app", "metadata.annotations");
    ck_assert(!vpa_buf_failed(out));
}

/* ---- tests ---- */

START_TEST(after_a_takeover_all_is_as_if_nothing_had_happened)
{
    vpa_auto_buf alone = {0}, taken_over = {0};

    start_leader(NULL);
    for (int i = 0; i < PASSES; i++)
        both_pass(i);
    put_stored(&alone);
    teardown();

    setup_both();
    start_leader(NULL);
    start_second();
    for (int i = 0; i < WARM_PASSES; i++)
        both_pass(i);
    recommender_free(VPA_STEAL(recommender)); /* killed: nothing is flushed */
    second_stands_by = false;
    for (int i = WARM_PASSES; i < PASSES; i++)
        both_pass(i);
    put_stored(&taken_over);
    ck_assert_str_eq(vpa_buf_text(&taken_over), vpa_buf_text(&alone));
}
END_TEST

static int64_t samples_of(const char *checkpoint)
{
    const struct vpa_json *object = stored("VerticalPodAutoscalerCheckpoint", checkpoint);
    int64_t count;

    ck_assert(vpa_json_int64(vpa_json_at(object, "status.totalSamplesCount"), &count));
    return count;
}

/* Its stored history holds the sample that the standby is about to read: the leader was first. */
START_TEST(the_first_sample_of_a_new_vpa_counts_once)
{
    start_leader(NULL);
    start_second();
    both_pass(0);
    change(VPA("late", "2026-01-15T12:00:30Z"));
    both_pass(1);
    recommender_free(VPA_STEAL(recommender)); /* killed */
    second_stands_by = false;
    both_pass(2);
    ck_assert_int_eq(samples_of("late-app"), 3);
}
END_TEST

#define STORED(VPA)                                                                                \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"                                    \
          "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"" VPA                      \
          "-app\",\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"" VPA                      \
          "\",\"containerName\":\"app\"},\"status\":{"                                             \
          "\"lastUpdateTime\":\"%s\",\"version\":\"v3\",\"cpuHistogram\":{"                        \
          "\"referenceTimestamp\":\"2026-01-15T00:00:00Z\",\"bucketWeights\":{\"9\":10000},"       \
          "\"totalWeight\":8.6},\"memoryHistogram\":{\"referenceTimestamp\":null},"                \
          "\"firstSampleStart\":\"2026-01-10T11:00:00Z\",\"lastSampleStart\":\"%s\","              \
          "\"totalSamplesCount\":62}}")

/* It is not in the history that was stored before it, by a leader that is gone. */
START_TEST(the_first_sample_of_a_new_vpa_is_not_lost)
{
    char now[VPA_TIME_TEXT_MAX];

    start_leader(NULL);
    start_second();
    both_pass(0);
    recommender_free(VPA_STEAL(recommender)); /* killed */
    vpa_time_format(vpa_loop_now(loop), now);
    change(VPA("late", "2026-01-15T12:00:30Z"));
    change(vpa_arena_printf(&arena, STORED("late"), now, now));
    both_pass(1);
    second_stands_by = false;
    both_pass(2);
    ck_assert_int_eq(samples_of("late-app"), 62 + 2);
}
END_TEST

/* ---- a standby that gets no usage ---- */

static bool refuse_usage(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!strstr(q->path, "/apis/metrics.k8s.io/"))
        return watch_lease(q, r);
    vpa_memory_reply_status(r, 503, "ServiceUnavailable", "no backend");
    return true;
}

/* One minute later; only the standby gets none. */
static void pass_without_usage(int minute)
{
    struct recommender *standby = VPA_STEAL(second);

    both_pass(minute);
    second = standby;
    hook = refuse_usage;
    recommender_pass(second);
    hook = watch_lease;
}

/* `missed` passes after three that both made, and then `seen`. */
static void miss_usage(int missed, int seen)
{
    int minute = 0;

    start_leader(NULL);
    start_second();
    while (minute < 3)
        both_pass(minute++);
    while (minute < 3 + missed)
        pass_without_usage(minute++);
    while (minute < 3 + missed + seen)
        both_pass(minute++);
}

/* The leader is killed; samples after the next pass. */
static int64_t samples_after_takeover(void)
{
    recommender_free(VPA_STEAL(recommender));
    second_stands_by = false;
    both_pass(5);
    return samples_of("web-app");
}

START_TEST(a_standby_without_usage_is_not_in_step)
{
    miss_usage(0, 0);
    vpa_auto_free char *renewed = vpa_xstrdup(lease_member("renewTime"));

    for (int i = 3; i < 8; i++) {
        pass_without_usage(i);
        ck_assert_str_eq(lease_member("renewTime"), renewed);
    }
    ck_assert_int_eq(samples_after_takeover(), 9);
    both_pass(6);
    ck_assert_int_eq(samples_of("web-app"), 10); /* loaded once */
}
END_TEST

static int lists_of_checkpoints;

static bool is_list_of_checkpoints(const struct vpa_memory_request *q)
{
    return strcmp(q->method, "GET") == 0 && strstr(q->path, "/verticalpodautoscalercheck");
}

static bool count_lists(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    lists_of_checkpoints += is_list_of_checkpoints(q);
    return watch_lease(q, r);
}

/* The leader stores by turns for as long as it takes the standby for one in step: what the standby
 * knows then is newer than what is stored, but for the samples of these passes. */
static const struct {
    int missed, counted;
} short_outages[] = {{1, 4}, {2, 4}, {3, 7}};

START_TEST(what_was_stored_by_turns_is_not_loaded_again)
{
    miss_usage(short_outages[_i].missed, 0);
    ck_assert_int_eq(samples_after_takeover(), short_outages[_i].counted);
    hook = count_lists;
    lists_of_checkpoints = 0;
    for (int i = 1; i <= 5; i++)
        both_pass(5 + i);
    ck_assert_int_eq(samples_of("web-app"), short_outages[_i].counted + 5);
    ck_assert_int_eq(lists_of_checkpoints, 0); /* what it has stored itself neither */
}
END_TEST

static bool end_leader(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strstr(q->path, "/apis/metrics.k8s.io/"))
        second_stands_by = false;
    return refuse_usage(q, r);
}

/* The pass began as a standby's and waits for the server: it writes nothing that is poorer. */
START_TEST(a_standby_that_leads_in_the_middle_of_a_pass_loads_first)
{
    miss_usage(5, 0);
    recommender_free(VPA_STEAL(recommender));
    hook = end_leader;
    recommender_pass(second);
    hook = watch_lease;
    ck_assert(!second_stands_by);
    both_pass(8);
    ck_assert_int_eq(samples_of("web-app"), 9);
}
END_TEST

/* It leads, and is ended before it has made a pass. */
START_TEST(a_standby_that_is_ended_keeps_what_the_leader_has_stored)
{
    miss_usage(5, 0);
    recommender_free(VPA_STEAL(recommender));
    second_stands_by = false;
    recommender_flush(second, VPA_SECOND);
    ck_assert_int_eq(samples_of("web-app"), 8);
}
END_TEST

static struct vpa_timer *leader_tick;
static bool leader_passes;

static void lead(void *ctx)
{
    (void)ctx;
    fake_cluster_set_step(server, json(usage_of(1)));
    fake_cluster_begin_record(server);
    recommender_pass(recommender);
}

static bool hang(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (leader_passes || !refuse_usage(q, r))
        return watch_lease(q, r);
    if (strstr(q->path, "/apis/metrics.k8s.io/"))
        vpa_memory_reply_delay(r, 2 * VPA_MINUTE - VPA_SECOND);
    return true;
}

static void lead_each_interval(void *ctx)
{
    leader_passes = true;
    lead(ctx);
    leader_passes = false;
    vpa_timer_start(leader_tick, config.interval);
}

/* Two passes of the standby that hang are five of the leader's. */
START_TEST(passes_that_hang_are_as_long_as_they_take)
{
    miss_usage(0, 0);
    leader_tick = vpa_timer_new(loop, lead_each_interval, NULL);
    vpa_timer_start(leader_tick, VPA_MINUTE);
    vpa_loop_pump(loop, VPA_MINUTE);
    hook = hang;
    for (int i = 0; i < 2; i++) {
        recommender_pass(second);
        vpa_loop_pump(loop, VPA_SECOND);
    }
    hook = watch_lease;
    vpa_timer_free(leader_tick);
    ck_assert_int_eq(samples_after_takeover(), 3 + 5 + 1);
}
END_TEST

/* It claims the Lease, waits for the leader, and loads before it says so. */
START_TEST(a_standby_that_has_usage_again_loads_what_it_has_missed)
{
    miss_usage(1, 1);
    ck_assert_str_eq(lease_member("renewTime"), "");
    both_pass(5);
    ck_assert_str_eq(lease_member("renewTime"), "");
    both_pass(6);
    ck_assert_str_ne(lease_member("renewTime"), "");
    ck_assert_int_eq(samples_after_takeover(), 8);
}
END_TEST

/* Usage that comes and goes: each time it waits anew. */
START_TEST(usage_that_fails_again_begins_the_wait_anew)
{
    miss_usage(1, 2);
    pass_without_usage(6);
    both_pass(7);
    both_pass(8);
    ck_assert_str_eq(lease_member("renewTime"), "");
    both_pass(9);
    ck_assert_str_ne(lease_member("renewTime"), "");
}
END_TEST

static bool lists_broken;

static bool refuse_lists(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!lists_broken || !is_list_of_checkpoints(q))
        return watch_lease(q, r);
    vpa_memory_reply_status(r, 400, "BadRequest", "not now");
    return true;
}

START_TEST(checkpoints_that_cannot_be_loaded_are_waited_for)
{
    miss_usage(1, 2);
    hook = refuse_lists;
    lists_broken = true;
    both_pass(6);
    ck_assert_str_eq(lease_member("renewTime"), "");
    lists_broken = false;
    both_pass(7);
    ck_assert_str_ne(lease_member("renewTime"), "");
    ck_assert_int_eq(samples_after_takeover(), 9);
}
END_TEST

static bool refuse_patches(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "PATCH") != 0 || !strstr(q->path, "/verticalpodautoscalercheck"))
        return watch_lease(q, r);
    vpa_memory_reply_status(r, 403, "Forbidden", "a webhook says no");
    return true;
}

/* The leader was refused its writes: what the standby has is newer than what is stored. */
START_TEST(what_lacks_samples_is_not_loaded_again)
{
    char now[VPA_TIME_TEXT_MAX];

    construct(NULL);
    vpa_time_format(vpa_loop_now(loop), now);
    change(vpa_arena_printf(&arena, STORED("web"), now, now));
    recommender_free(recommender);
    first_stands_by = false;
    recommender = replica("first", &first_stands_by);
    load(recommender);
    start_second();
    both_pass(0);
    ck_assert_int_eq(samples_of("web-app"), 62 + 1);
    hook = refuse_patches;
    pass_without_usage(1);
    hook = refuse_patches;
    for (int i = 2; i < 5; i++)
        both_pass(i);
    hook = watch_lease;
    ck_assert_str_ne(lease_member("renewTime"), "");
    ck_assert_int_eq(samples_of("web-app"), 62 + 1);
    ck_assert_int_eq(samples_after_takeover(), 62 + 1 + 3 + 1);
}
END_TEST

/* ---- passes that a standby has not made ---- */

/* Only the leader: the other process is stopped, or its machine is. */
static void pass_without_standby(int minute)
{
    struct recommender *standby = VPA_STEAL(second);

    both_pass(minute);
    second = standby;
}

#define SLEPT 30 /* passes */

/* The leader ends after so many passes that both made after that. */
START_TEST(a_standby_that_slept_loads_what_it_has_missed)
{
    int minute = 0, ended = 3 + SLEPT + _i;

    start_leader(NULL);
    start_second();
    while (minute < 3)
        both_pass(minute++);
    vpa_auto_free char *renewed = vpa_xstrdup(lease_member("renewTime"));
    while (minute < 3 + SLEPT)
        pass_without_standby(minute++);
    ck_assert_int_eq(samples_of("web-app"), minute);
    while (minute < ended)
        both_pass(minute++);
    ck_assert_int_eq(vpa_str_eq(lease_member("renewTime"), renewed), _i == 0);
    ck_assert_int_eq(*lease_member("renewTime") != '\0', _i == 0 || _i > 2);
    recommender_free(VPA_STEAL(recommender));
    second_stands_by = false;
    both_pass(minute++);
    ck_assert_int_eq(samples_of("web-app"), minute);
}
END_TEST

/* It slept for so many passes. From the third one on the leader has stored all: it writes in each
 * pass. */
START_TEST(what_is_missed_begins_an_interval_after_the_last_pass)
{
    int minute = 0, slept = 2 + _i;

    capture_log(0);
    start_leader(NULL);
    start_second();
    while (minute < 3)
        both_pass(minute++);
    while (minute < 3 + slept)
        pass_without_standby(minute++);
    recommender_free(VPA_STEAL(recommender));
    second_stands_by = false;
    both_pass(minute);
    ck_assert_int_eq((int)logged("Loaded all checkpoints again"), _i);
}
END_TEST

/* There are no checkpoints that it could have missed. */
START_TEST(with_a_history_of_prometheus_nothing_is_said_of_checkpoints)
{
    struct vpa_error err;

    construct(NULL);
    config.storage = "prometheus";
    second_stands_by = true;
    second = replica("second", &second_stands_by);
    recommender_free(VPA_STEAL(recommender));
    ck_assert_int_eq(recommender_start(second, &err), 0);
    capture_log(0);
    hook = refuse_usage;
    for (int i = 0; i < 3; i++) {
        vpa_loop_pump(loop, 5 * VPA_MINUTE);
        recommender_pass(second);
    }
    ck_assert_uint_eq(logged("not in step"), 0);
    ck_assert_uint_eq(lease_writes, 0);
}
END_TEST

START_TEST(each_time_that_a_standby_slept_is_told_once)
{
    int minute = 0;

    capture_log(0);
    start_leader(NULL);
    start_second();
    for (unsigned times = 0; times < 3; times++) {
        for (int i = 0; i < 5; i++)
            both_pass(minute++);
        ck_assert_str_ne(lease_member("renewTime"), "");
        ck_assert_uint_eq(logged("A standby that missed passes is not in step"), times);
        for (int i = 0; i < 5; i++)
            pass_without_standby(minute++);
    }
}
END_TEST

/* It slept before its first pass, or ends before it makes one. */
START_TEST(a_standby_that_slept_overwrites_nothing)
{
    int minute = 0;

    start_leader(NULL);
    start_second();
    while (minute < SLEPT)
        pass_without_standby(minute++);
    recommender_free(VPA_STEAL(recommender));
    second_stands_by = false;
    recommender_flush(second, VPA_SECOND);
    ck_assert_int_eq(samples_of("web-app"), minute);
    both_pass(minute++);
    ck_assert_int_eq(samples_of("web-app"), minute);
}
END_TEST

static vpa_duration slowness;

/* One step of the standby, which reads the usage in time. */
static bool answer_namespaces_late(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!leader_passes && strcmp(q->path, "/api/v1/namespaces") == 0)
        vpa_memory_reply_delay(r, slowness);
    return watch_lease(q, r);
}

/* The usage; so each of its passes is slow. */
static bool answer_usage_late(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!leader_passes && strstr(q->path, "/apis/metrics.k8s.io/"))
        vpa_memory_reply_delay(r, slowness);
    return watch_lease(q, r);
}

static int64_t next_pass; /* of the standby, monotonic */

/* A second after the passes of the leader. */
static void start_ticking_leader(const char *flag)
{
    start_leader(flag);
    start_second();
    leader_tick = vpa_timer_new(loop, lead_each_interval, NULL);
    vpa_timer_start(leader_tick, config.interval);
    next_pass = vpa_loop_monotonic(loop) + config.interval + VPA_SECOND;
}

/* As soon as an interval has begun since its last one. */
static void let_both_pass(int standby_passes)
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

/* All that the leader has stored is there after a takeover, and one sample more. */
static void expect_nothing_lost(void)
{
    hook = watch_lease;
    vpa_timer_free(leader_tick);
    int64_t samples = samples_of("web-app");
    recommender_free(VPA_STEAL(recommender));
    second_stands_by = false;
    both_pass(5);
    ck_assert_int_eq(samples_of("web-app"), samples + 1);
}

/* Within the pass: so many passes of the leader. */
START_TEST(a_slow_step_that_succeeds_is_missed_usage)
{
    start_ticking_leader(NULL);
    let_both_pass(9);
    ck_assert_str_ne(lease_member("renewTime"), "");
    hook = answer_namespaces_late;
    slowness = 4 * VPA_MINUTE + 30 * VPA_SECOND;
    for (int i = 0; i < 20 && *lease_member("renewTime"); i++)
        let_both_pass(1);
    ck_assert_str_eq(lease_member("renewTime"), ""); /* claimed as soon as it is over */
    hook = watch_lease;
    if (_i > 0)
        let_both_pass(_i);
    ck_assert_int_eq(*lease_member("renewTime") != '\0', _i > 3);
    expect_nothing_lost();
}
END_TEST

/* Slow in each pass: it comes in step never, but loads again and again, and says so once. */
START_TEST(a_standby_that_is_always_slow_loads_and_is_not_in_step)
{
    capture_log(0);
    start_ticking_leader(NULL);
    hook = answer_usage_late;
    slowness = VPA_MINUTE + 45 * VPA_SECOND;
    for (int i = 0; i < 20; i++) {
        let_both_pass(1);
        ck_assert_str_eq(lease_member("renewTime"), "");
    }
    ck_assert_uint_eq(logged("A standby that missed passes is not in step"), 1);
    ck_assert_uint_ge(logged("Loaded all checkpoints again"), 3);
    expect_nothing_lost();
}
END_TEST

static void kill_leader(void *ctx)
{
    (void)ctx;
    vpa_timer_stop(leader_tick);
    second_stands_by = false;
}

/* Its usage is of before five passes of the leader, and comes when that one has ended. */
START_TEST(usage_that_came_late_overwrites_nothing)
{
    start_ticking_leader("--recommender-interval=20s");
    let_both_pass(3);
    struct vpa_timer *end = vpa_timer_new(loop, kill_leader, NULL);
    vpa_timer_start(end, 2 * VPA_MINUTE);
    hook = answer_usage_late;
    slowness = VPA_MINUTE + 55 * VPA_SECOND;
    let_both_pass(1);
    vpa_timer_free(end);
    ck_assert(!second_stands_by);
    expect_nothing_lost();
}
END_TEST

static bool count_lists_and_answer_usage_late(const struct vpa_memory_request *q,
                                              struct vpa_memory_reply *r)
{
    lists_of_checkpoints += is_list_of_checkpoints(q);
    return answer_usage_late(q, r);
}

/* However long its pass takes: nobody else has learned meanwhile. */
START_TEST(a_leader_that_is_slow_has_missed_nothing)
{
    start_ticking_leader("--recommender-interval=20s");
    let_both_pass(3);
    vpa_timer_free(leader_tick);
    recommender_free(VPA_STEAL(recommender));
    second_stands_by = false;
    hook = count_lists_and_answer_usage_late;
    slowness = VPA_MINUTE + 55 * VPA_SECOND;
    for (int i = 0; i < 3; i++) {
        lists_of_checkpoints = 0;
        let_both_pass(1);
        ck_assert_int_eq(lists_of_checkpoints, i == 0); /* which objects there are */
    }
}
END_TEST

static bool answer_status_late(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "PATCH") != 0 || !strstr(q->path, "/verticalpodautoscalers/"))
        return watch_lease(q, r);
    vpa_memory_reply_status(r, 403, "Forbidden", "a webhook says no");
    vpa_memory_reply_delay(r, slowness);
    return true;
}

/* It loads what it has missed, once, and writes from then on, however long its passes take. */
START_TEST(a_leader_that_is_slow_loads_once)
{
    start_ticking_leader("--recommender-interval=5s");
    let_both_pass(3);
    vpa_timer_free(leader_tick);
    vpa_loop_pump(loop, VPA_MINUTE);
    recommender_free(VPA_STEAL(recommender));
    second_stands_by = false;
    capture_log(0);
    hook = answer_status_late;
    slowness = 19 * VPA_SECOND;
    both_pass(0);
    int64_t samples = samples_of("web-app");
    for (int i = 1; i < 6; i++) {
        both_pass(i);
        ck_assert_int_eq(samples_of("web-app"), samples + i);
        ck_assert_uint_eq(logged("Loaded all checkpoints again"), 1);
    }
}
END_TEST

/* ---- a pass of the leader while the standby loads ---- */

static int late_lists;
static vpa_time listed[4]; /* when they were asked for */

static bool answer_list_late(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    bool is_list = is_list_of_checkpoints(q) && !strstr(q->path, "/namespaces/");

    if (is_list) {
        listed[lists_of_checkpoints] = vpa_loop_now(loop);
        if (lists_of_checkpoints++ < late_lists)
            vpa_memory_reply_delay(r, VPA_MINUTE);
    }
    return watch_lease(q, r);
}

/* The leader is killed after its second sample; the third one is the standby's own. */
static void take_over_and_count(void)
{
    recommender_free(VPA_STEAL(recommender));
    second_stands_by = false;
    vpa_loop_pump(loop, VPA_MINUTE / 2);
    make_passes(2);
    ck_assert_int_eq(samples_of("web-app"), 3);
}

/* The list of before comes when the leader has stored another sample. */
START_TEST(what_is_counted_while_a_standby_loads_is_not_lost)
{
    start_leader(NULL);
    both_pass(0);
    hook = answer_list_late;
    late_lists = 1;
    leader_tick = vpa_timer_new(loop, lead, NULL);
    vpa_timer_start(leader_tick, VPA_MINUTE);
    start_second();
    vpa_timer_free(leader_tick);
    ck_assert_int_eq(lists_of_checkpoints, 2);
    take_over_and_count();
}
END_TEST

static void end_of_leader(void *ctx)
{
    (void)ctx;
    second_stands_by = false;
}

/* However long a list of checkpoints takes. */
static bool answer_lists_slowly(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!leader_passes && is_list_of_checkpoints(q)) {
        lists_of_checkpoints++;
        vpa_memory_reply_delay(r, slowness);
    }
    return watch_lease(q, r);
}

/* Nobody has learned meanwhile. */
START_TEST(what_a_leader_loads_slowly_counts)
{
    construct("--recommender-interval=5s");
    recommender_free(recommender);
    recommender = replica("first", &first_stands_by);
    first_stands_by = false;
    capture_log(0);
    hook = answer_lists_slowly;
    slowness = VPA_MINUTE;
    load(recommender);
    both_pass(1);
    ck_assert_uint_eq(logged("A standby that missed passes is not in step"), 0);
    ck_assert_uint_eq(logged("Loaded all checkpoints again"), 0);
    ck_assert_int_eq(samples_of("web-app"), 1);
}
END_TEST

/* It was killed and is back: a leader that may have been there is gone before the load is. What
 * that one may have stored is loaded, once. */
START_TEST(a_standby_that_leads_while_it_loads_comes_to_write)
{
    start_leader("--recommender-interval=5s");
    both_pass(0);
    recommender_free(VPA_STEAL(recommender));
    struct vpa_timer *end = vpa_timer_new(loop, end_of_leader, NULL);
    vpa_timer_start(end, 15 * VPA_SECOND);
    capture_log(0);
    hook = answer_lists_slowly;
    slowness = VPA_MINUTE;
    start_second();
    vpa_timer_free(end);
    ck_assert(!second_stands_by);
    for (int i = 1; i < 4; i++) {
        both_pass(i);
        ck_assert_int_eq(samples_of("web-app"), 1 + i);
        ck_assert_uint_eq(logged("Loaded all checkpoints again"), 1);
    }
}
END_TEST

/* Those of the garbage collection and at the start are not of one namespace. */
static bool answer_lists_of_passes_slowly(const struct vpa_memory_request *q,
                                          struct vpa_memory_reply *r)
{
    return strstr(q->path, "/namespaces/") ? answer_lists_slowly(q, r) : watch_lease(q, r);
}

/* A pass that loads is longer than an interval and a half: by each of its two lists, or by both
 * together. All others are short. */
static const vpa_duration slow_lists[] = {VPA_MINUTE + 45 * VPA_SECOND,
                                          VPA_MINUTE + 12 * VPA_SECOND};

START_TEST(a_standby_that_loads_slowly_comes_in_step)
{
    capture_log(0);
    start_ticking_leader("--checkpoints-gc-interval=24h");
    let_both_pass(3);
    hook = answer_lists_of_passes_slowly;
    slowness = slow_lists[_i];
    for (unsigned times = 1; times < 3; times++) {
        vpa_loop_pump(loop, 5 * VPA_MINUTE); /* it sleeps */
        let_both_pass(1);
        ck_assert_str_eq(lease_member("renewTime"), "");
        for (int i = 0; i < 20 && !*lease_member("renewTime"); i++)
            let_both_pass(1);
        ck_assert_uint_eq(logged("Loaded all checkpoints again"), times * STANDBY_LOADS);
        ck_assert_uint_eq(logged("A standby that missed passes is not in step"), times);
        for (int i = 0; i < 5; i++) {
            let_both_pass(1);
            ck_assert_str_ne(lease_member("renewTime"), "");
        }
    }
    hook = watch_lease;
    vpa_timer_free(leader_tick);
}
END_TEST

/* As above at the start. */
START_TEST(a_standby_that_starts_slowly_comes_in_step)
{
    capture_log(0);
    start_leader(NULL);
    both_pass(0);
    hook = answer_lists_slowly;
    slowness = VPA_MINUTE + 45 * VPA_SECOND;
    lists_of_checkpoints = 0;
    start_second();
    ck_assert_int_eq(lists_of_checkpoints, STANDBY_LOADS);
    both_pass(1);
    ck_assert_str_ne(lease_member("renewTime"), "");
    ck_assert_uint_eq(logged("A standby that missed passes is not in step"), 0);
}
END_TEST

/* Each of them begins four tenths of an interval late. */
START_TEST(passes_less_than_an_interval_and_a_half_apart_are_in_step)
{
    vpa_duration apart = VPA_MINUTE + 24 * VPA_SECOND;

    capture_log(0);
    start_leader(NULL);
    start_second();
    for (int i = 0; i < 10; i++) {
        vpa_auto_free char *renewed = vpa_xstrdup(lease_member("renewTime"));

        vpa_loop_pump(loop, apart);
        make_passes(i);
        ck_assert_str_ne(lease_member("renewTime"), "");
        ck_assert_str_ne(lease_member("renewTime"), renewed);
    }
    ck_assert_uint_eq(logged("A standby that missed passes is not in step"), 0);
}
END_TEST

/* To where the next interval begins. */
static void pump_to_turn(vpa_duration interval)
{
    vpa_loop_pump(loop, interval - vpa_time_unix_nanos(vpa_loop_now(loop)) % interval);
}

/* It waits for what the leader is storing, for as long as there is a leader. */
START_TEST(a_standby_that_waits_to_load_leads_at_once)
{
    start_leader(NULL);
    pump_to_turn(VPA_MINUTE);

    vpa_time begin = vpa_loop_now(loop);
    struct vpa_timer *end = vpa_timer_new(loop, end_of_leader, NULL);

    vpa_timer_start(end, VPA_SECOND);
    start_second();
    vpa_timer_free(end);
    ck_assert_int_eq(vpa_time_sub(vpa_loop_now(loop), begin), VPA_SECOND);
}
END_TEST

/* However long the interval is: what is not stored by then, a pass gives up. */
START_TEST(a_standby_waits_no_longer_than_checkpoints_are_written)
{
    start_leader("--recommender-interval=1h");
    pump_to_turn(VPA_HOUR);

    vpa_time begin = vpa_loop_now(loop);

    start_second();
    ck_assert_int_eq(vpa_time_sub(vpa_loop_now(loop), begin), config.checkpoints_timeout);
}
END_TEST

/* It begins when the leader has begun its pass and not stored anything of it. */
START_TEST(what_the_leader_is_about_to_store_is_waited_for)
{
    start_leader(NULL);
    both_pass(0);
    vpa_loop_pump(loop, VPA_MINUTE / 2 + 5 * VPA_SECOND);
    leader_tick = vpa_timer_new(loop, lead, NULL);
    vpa_timer_start(leader_tick, 10 * VPA_SECOND);
    start_second();
    vpa_timer_free(leader_tick);
    take_over_and_count();
}
END_TEST

/* Again after each list that came too late, three times at most. A list takes a whole interval
 * here, so that it comes in the second half of the next one. */
static const struct {
    int late, lists;
} loads[] = {{0, 1}, {1, 2}, {2, 3}, {3, 3}};

START_TEST(a_standby_loads_between_passes)
{
    start_leader(NULL);
    both_pass(0);
    hook = answer_list_late;
    late_lists = loads[_i].late;
    start_second();
    ck_assert_int_eq(lists_of_checkpoints, loads[_i].lists);
    for (int i = 1; i < lists_of_checkpoints; i++)
        ck_assert_int_eq(vpa_time_sub(listed[i], listed[i - 1]), VPA_MINUTE);
    second_stands_by = false;
}
END_TEST

/* Than of the Lease, in the last pass. */
static size_t other_writes(void)
{
    size_t count, others = 0;
    const struct sim_asked *writes = fake_cluster_writes(server, &count);

    for (size_t i = 0; i < count; i++)
        others += strstr(writes[i].path, "/leases") == NULL;
    return others;
}

START_TEST(a_standby_writes_nothing_but_its_lease)
{
    start_leader(NULL);
    both_pass(0);
    start_second();
    recommender_free(VPA_STEAL(recommender));
    for (int i = 1; i < 4; i++) {
        both_pass(i);
        ck_assert_uint_eq(other_writes(), 0);
    }
    ck_assert_uint_eq(lease_writes, 4); /* claimed, and renewed after each pass */
    recommender_flush(second, VPA_SECOND);
    ck_assert_uint_eq(other_writes(), 0);
}
END_TEST

/* Patches of the checkpoint in so many passes, the other standby renewing or not. */
static size_t patches_in(int passes, bool renewing)
{
    size_t patches = 0;

    for (int i = 0; i < passes; i++) {
        if (renewing)
            renew_as_another();
        both_pass(i);
        patches += count_writes("PATCH", "/web-app");
    }
    return patches;
}

/* In a pass without usage. */
static size_t quiet_patches(void)
{
    renew_as_another();
    pass("{\"usage\":[]}");
    return count_writes("PATCH", "/web-app");
}

START_TEST(with_a_standby_in_step_a_checkpoint_waits_for_its_turn)
{
    start_leader(NULL);
    ck_assert_uint_eq(patches_in(5, false), 5);
    patches_in(2, true); /* it is noticed */
    size_t patches = patches_in(40, true);
    ck_assert_uint_ge(patches, 4);
    ck_assert_uint_le(patches, 5);
    patches_in(2, false); /* and that it is gone */
    ck_assert_uint_eq(patches_in(5, false), 5);
}
END_TEST

/* What was written while the clock was fast has its next turn hours ahead. */
START_TEST(a_clock_that_is_set_back_delays_no_checkpoint)
{
    start_leader(NULL);
    patches_in(5, true);
    vpa_clock_set(virtual_clock, 3 * VPA_HOUR);
    ck_assert_uint_eq(quiet_patches(), 1); /* the age of one that has not changed */
    vpa_clock_set(virtual_clock, -3 * VPA_HOUR);
    ck_assert_uint_ge(patches_in(12, true), 1);
}
END_TEST

START_TEST(what_waits_is_written_before_the_end)
{
    vpa_auto_buf alone = {0}, flushed = {0};

    start_leader("--checkpoint-interval=0");
    patches_in(9, true);
    put_stored(&alone);
    teardown();
    setup_both();
    start_leader(NULL);
    patches_in(9, true);
    vpa_loop_stop(loop);
    recommender_flush(recommender, VPA_SECOND);
    put_stored(&flushed);
    ck_assert_str_eq(vpa_buf_text(&flushed), vpa_buf_text(&alone));
}
END_TEST

#define STORED_VPAS 6

/* The VPA of a write to its checkpoint: 1 and on; 0: it is another write. */
static int vpa_of(const struct sim_asked *write)
{
    const char *name = strstr(write->path, "checkpoints/web-");

    return name && isdigit((unsigned char)name[strlen("checkpoints/web-")])
               ? atoi(name + strlen("checkpoints/web-"))
               : 0;
}

static bool stops;
static int refusal; /* the answer to writes of web-1 */

/* Nothing of web-1 is stored; the process may be told to end while a write is under way. */
static bool refuse_one_vpa(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!strstr(q->path, "checkpoints/web-1-") && !strstr(vpa_or_empty(q->body), "\"web-1-"))
        return watch_lease(q, r);
    if (stops)
        vpa_loop_stop(loop);
    vpa_memory_reply_status(r, refusal, NULL, "no");
    return true;
}

enum { ALL_STORED, ONE_FAILS, ONE_UNDER_WAY, ONE_REFUSED, STORED_CASES };

/* Each pass looks at all of them; what was not stored is older than what was, but for what the API
 * server refuses, which would only take the place of others. */
START_TEST(what_was_written_longest_ago_is_written_first_at_the_end)
{
    int pass_of[STORED_VPAS + 1] = {0}, last = 0;
    size_t count;
    const struct sim_asked *writes;

    for (int i = 1; i <= STORED_VPAS; i++)
        change(vpa_arena_printf(&arena, VPA("web-%d", "2026-01-15T10:00:00Z"), i));
    start_leader(NULL);
    config.update_workers = 1;
    hook = _i == ALL_STORED ? watch_lease : refuse_one_vpa;
    refusal = _i == ONE_REFUSED ? 422 : 500;
    for (int i = 1; i < 30; i++) {
        stops = _i == ONE_UNDER_WAY && i == 29;
        renew_as_another();
        both_pass(i);
        writes = fake_cluster_writes(server, &count);
        for (size_t k = 0; k < count; k++)
            if (writes[k].code < 300)
                pass_of[vpa_of(&writes[k])] = i;
    }
    ck_assert_int_eq(pass_of[1] == 0, _i != ALL_STORED);
    if (_i == ONE_REFUSED)
        pass_of[1] = 30;
    hook = watch_lease;
    fake_cluster_begin_record(server);
    vpa_loop_stop(loop);
    recommender_flush(recommender, VPA_SECOND);
    writes = fake_cluster_writes(server, &count);
    ck_assert_uint_ge(count, STORED_VPAS / 2);
    for (size_t k = 0; k < count; k++) {
        if (vpa_of(&writes[k]) == 0)
            continue;
        ck_assert_int_ge(pass_of[vpa_of(&writes[k])], last);
        last = pass_of[vpa_of(&writes[k])];
    }
    ck_assert_int_gt(last, 0);
}
END_TEST

START_TEST(a_second_standby_waits_for_whole_checkpoints)
{
    start_leader(NULL);
    both_pass(0);
    renew_as_another();
    vpa_time before = vpa_loop_now(loop);
    start_second();
    ck_assert_int_eq(vpa_time_sub(vpa_loop_now(loop), before), STANDBY_SILENCE * VPA_MINUTE);
    ck_assert_str_eq(lease_member("holderIdentity"), "second");
    ck_assert_str_eq(lease_member("renewTime"), "");
    both_pass(1);
    ck_assert_str_ne(lease_member("renewTime"), "");
    renew_as_another(); /* a third one: the Lease is its own from now on */
    both_pass(2);
    ck_assert_str_eq(lease_member("holderIdentity"), "other");
}
END_TEST

START_TEST(without_the_right_to_the_lease_there_is_no_standby)
{
    lease_denied = true;
    start_leader(NULL);
    both_pass(0);
    ck_assert_uint_eq(patches_in(5, false), 5);
    vpa_time before = vpa_loop_now(loop);
    start_second();
    ck_assert_int_eq(vpa_time_sub(vpa_loop_now(loop), before), 0);
}
END_TEST

static void expect_ready(struct recommender *r, const char *reason)
{
    vpa_auto_buf why = VPA_BUF(1024);

    bool ready = recommender_is_ready(r, &why);
    ck_assert_str_eq(vpa_buf_text(&why), reason);
    ck_assert_int_eq(ready, !*reason);
}

START_TEST(readiness_says_what_is_missing)
{
    struct vpa_error err;

    start_leader(NULL);
    expect_ready(recommender, "");
    second_stands_by = true;
    second = replica("second", &second_stands_by);
    expect_ready(second, "the cache of daemonsets is not filled yet");
    ck_assert_int_eq(recommender_start(second, &err), 0);
    while (vpa_loop_poll(loop))
        ;
    expect_ready(second, "the history is not loaded yet");
    ck_assert_int_eq(recommender_load_history(second, &err), 0);
    expect_ready(second, "the standby has not made a pass yet");
    both_pass(0);
    expect_ready(second, "");
}
END_TEST

static vpa_time begun[2];
static size_t begun_count;

static void on_pass(void *ctx)
{
    (void)ctx;
    begun[begun_count++] = vpa_loop_now(loop);
    if (begun_count == VPA_COUNT(begun))
        vpa_loop_stop(loop);
}

START_TEST(passes_come_at_multiples_of_the_interval)
{
    bool aligned = _i == 0;

    construct(NULL);
    if (aligned) {
        recommender_free(recommender);
        recommender = replica("first", &first_stands_by);
    }
    load(recommender);
    vpa_loop_pump(loop, 55 * VPA_SECOND);
    vpa_time start = vpa_loop_now(loop);
    fake_cluster_set_step(server, json(usage_of(0)));
    begun_count = 0;
    recommender_run(recommender, on_pass, NULL);
    ck_assert_uint_eq(begun_count, VPA_COUNT(begun));
    ck_assert_int_eq(vpa_time_sub(begun[0], start), (aligned ? 35 : 60) * VPA_SECOND);
    ck_assert_int_eq(vpa_time_sub(begun[1], begun[0]), VPA_MINUTE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommender_standby");
    TCase *tcase = tcase_create("standby");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup_both, teardown_both);
    tcase_add_test(tcase, after_a_takeover_all_is_as_if_nothing_had_happened);
    tcase_add_test(tcase, the_first_sample_of_a_new_vpa_counts_once);
    tcase_add_test(tcase, the_first_sample_of_a_new_vpa_is_not_lost);
    tcase_add_test(tcase, a_standby_without_usage_is_not_in_step);
    tcase_add_loop_test(tcase, what_was_stored_by_turns_is_not_loaded_again, 0,
                        (int)VPA_COUNT(short_outages));
    tcase_add_test(tcase, a_standby_that_leads_in_the_middle_of_a_pass_loads_first);
    tcase_add_test(tcase, a_standby_that_is_ended_keeps_what_the_leader_has_stored);
    tcase_add_test(tcase, passes_that_hang_are_as_long_as_they_take);
    tcase_add_test(tcase, a_standby_that_has_usage_again_loads_what_it_has_missed);
    tcase_add_test(tcase, usage_that_fails_again_begins_the_wait_anew);
    tcase_add_test(tcase, checkpoints_that_cannot_be_loaded_are_waited_for);
    tcase_add_test(tcase, what_lacks_samples_is_not_loaded_again);
    tcase_add_loop_test(tcase, a_standby_that_slept_loads_what_it_has_missed, 0, 4);
    tcase_add_loop_test(tcase, what_is_missed_begins_an_interval_after_the_last_pass, 0, 2);
    tcase_add_test(tcase, with_a_history_of_prometheus_nothing_is_said_of_checkpoints);
    tcase_add_test(tcase, each_time_that_a_standby_slept_is_told_once);
    tcase_add_test(tcase, a_standby_that_slept_overwrites_nothing);
    tcase_add_loop_test(tcase, a_slow_step_that_succeeds_is_missed_usage, 0, 5);
    tcase_add_test(tcase, a_standby_that_is_always_slow_loads_and_is_not_in_step);
    tcase_add_test(tcase, usage_that_came_late_overwrites_nothing);
    tcase_add_test(tcase, a_leader_that_is_slow_has_missed_nothing);
    tcase_add_test(tcase, a_leader_that_is_slow_loads_once);
    tcase_add_test(tcase, what_a_leader_loads_slowly_counts);
    tcase_add_test(tcase, a_standby_that_leads_while_it_loads_comes_to_write);
    tcase_add_loop_test(tcase, a_standby_that_loads_slowly_comes_in_step, 0,
                        (int)VPA_COUNT(slow_lists));
    tcase_add_test(tcase, a_standby_that_starts_slowly_comes_in_step);
    tcase_add_test(tcase, passes_less_than_an_interval_and_a_half_apart_are_in_step);
    tcase_add_test(tcase, what_is_counted_while_a_standby_loads_is_not_lost);
    tcase_add_test(tcase, a_standby_that_waits_to_load_leads_at_once);
    tcase_add_test(tcase, a_standby_waits_no_longer_than_checkpoints_are_written);
    tcase_add_test(tcase, what_the_leader_is_about_to_store_is_waited_for);
    tcase_add_loop_test(tcase, a_standby_loads_between_passes, 0, (int)VPA_COUNT(loads));
    tcase_add_test(tcase, a_standby_writes_nothing_but_its_lease);
    tcase_add_test(tcase, with_a_standby_in_step_a_checkpoint_waits_for_its_turn);
    tcase_add_test(tcase, a_clock_that_is_set_back_delays_no_checkpoint);
    tcase_add_test(tcase, what_waits_is_written_before_the_end);
    tcase_add_loop_test(tcase, what_was_written_longest_ago_is_written_first_at_the_end, 0,
                        STORED_CASES);
    tcase_add_test(tcase, a_second_standby_waits_for_whole_checkpoints);
    tcase_add_test(tcase, without_the_right_to_the_lease_there_is_no_standby);
    tcase_add_loop_test(tcase, passes_come_at_multiples_of_the_interval, 0, 2);
    tcase_add_test(tcase, readiness_says_what_is_missing);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
