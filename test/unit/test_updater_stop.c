/*
 * What stops a pass of the updater, or keeps it from beginning: panic, lost leadership, shutdown, a
 * webhook that is not there, the limiter.
 */
#include "updater_fixture.h"

#include "../../updater/answer.h"
#include "captured_log.h"

/* ---- what stops a pass ---- */

TEST(panic_stops_everything_until_it_goes) {
    server.panic = true;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
    hide_panic();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}

TEST(panic_stops_a_pass_under_way) {
    server.panic_at = 2;
    start(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
}

/* What is under way and not answered then may be carried out: who goes is missing until he is back.
 */
TEST(a_panic_does_not_forget_what_was_under_way) {
    server.pods_per_vpa = 4;
    server.config.eviction_tolerance = 0.25;
    server.delay = 10 * VPA_SECOND;
    server.panic_at = 1;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    server.delay = 0;
    show_resized(0, NULL, "");
    hide_panic();
    for (int minute = 0; minute < 9; minute++) {
        updater_pass(server.updater);
        ck_assert_uint_eq(server.call_count, 1);
        vpa_loop_pump(server.loop, VPA_MINUTE);
    }
    show_resized(0, "2026-03-01T12:09:00Z", "");
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
}

static void on_panic_timer(void *ctx)
{
    (void)ctx;
    show_panic();
}

/* Rates that leave a pass waiting: for the limiter, and with its requests in the client's queue. */
static const struct {
    double evictions;
    double qps;
    size_t calls_max; /* before the panic */
} slow_rates[] = {{0.1, -1, 1}, {-1, 1, 2}};

TEST_EACH(panic_stops_what_waits, slow_rates) {
    struct vpa_timer *timer = vpa_timer_new(server.loop, on_panic_timer, NULL);
    int64_t begun;

    server.vpas = 2;
    server.config.eviction_rate_limit = slow_rates[_i].evictions;
    server.config.common.kube_api_qps = slow_rates[_i].qps;
    server.config.common.kube_api_burst = 1;
    start(0);
    vpa_loop_pump(server.loop, 20 * VPA_SECOND);
    begun = vpa_loop_monotonic(server.loop);
    vpa_timer_start(timer, 1500 * VPA_MILLISECOND);
    updater_pass(server.updater);
    ck_assert_int_le(vpa_loop_monotonic(server.loop) - begun, 5 * VPA_SECOND);
    vpa_loop_pump(server.loop, VPA_MINUTE);
    ck_assert_uint_ge(server.call_count, 1);
    ck_assert_uint_le(server.call_count, slow_rates[_i].calls_max);
    vpa_timer_free(timer);
}

/* Nothing is taken from the bucket while nothing may be changed. */
TEST(panic_takes_no_token) {
    struct pass pass;
    struct vpa_rate *rate;

    server.config.eviction_rate_limit = 0.001;
    server.panic = true;
    start(0);
    rate = &updater_env(server.updater)->eviction_rate;
    updater_pass_init(&pass, updater_env(server.updater));
    ck_assert_int_eq(updater_pass_take_token(&pass, rate), PASS_TOKEN_REFUSED);
    hide_panic();
    ck_assert_int_eq(updater_pass_take_token(&pass, rate), PASS_TOKEN_TAKEN);
    updater_pass_release(&pass);
}

/* ---- requests under way ---- */

static struct work works[3];

/* Its work has nothing else under way. */
static struct action *send(struct pass *pass, size_t i)
{
    struct action *a = vpa_xcalloc(1, sizeof(*a));

    works[i].pass = pass;
    a->work = &works[i];
    a->kind = ACTION_ANNOTATE;
    updater_action_sent(a);
    return a;
}

/* Whichever is answered first: each is dealt with once, and no other one with it. */
TEST_TIMES(answers_come_in_any_order, 6) {
    static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct action *actions[3];
    struct pass pass;

    start(0);
    updater_pass_init(&pass, updater_env(server.updater));
    for (size_t i = 0; i < 3; i++)
        actions[i] = send(&pass, i);
    ck_assert_uint_eq(pass.in_flight, 3);
    for (size_t i = 0; i < 3; i++) {
        updater_action_answered(actions[orders[_i][i]], ACT_STALE);
        updater_pass_settle(&pass);
        for (size_t k = 0; k < 3; k++)
            ck_assert_uint_eq(works[orders[_i][k]].in_flight, k > i);
        ck_assert_uint_eq(pass.in_flight, 2 - i);
        ck_assert_int_eq(pass.under_way == NULL, i == 2);
    }
    /* several at once, in the order of their answers */
    for (size_t i = 0; i < 3; i++)
        actions[i] = send(&pass, i);
    for (size_t i = 0; i < 3; i++)
        updater_action_answered(actions[orders[_i][i]], ACT_STALE);
    for (const struct action *a = pass.finished; a; a = a->next)
        ck_assert_ptr_eq(a, actions[orders[_i][3 - pass.in_flight--]]);
    ck_assert_uint_eq(pass.in_flight, 0);
    pass.in_flight = 3;
    updater_pass_settle(&pass);
    for (size_t k = 0; k < 3; k++)
        ck_assert_uint_eq(works[k].in_flight, 0);
    ck_assert_uint_eq(pass.in_flight, 0);
    updater_pass_release(&pass);
}

/* ---- caches that are behind (U23) ---- */

static const char *const watched[] = {"/pods", "/verticalpodautoscalers", "/limitranges",
                                      "/replicasets", "/configmaps"};

static bool ledger_says(struct vpa_ledger *ledger, const char *text)
{
    vpa_auto_buf page = VPA_BUF(2 * VPA_LEDGER_PAGE_MAX);
    struct vpa_error err;

    ck_assert_int_eq(vpa_ledger_read(ledger, &(struct vpa_ledger_query){.ns = NULL}, &page, &err),
                     0);
    return strstr(vpa_buf_text(&page), text) != NULL;
}

/* A watch that is frozen: what happened meanwhile, a panic say, would not be known. */
TEST_EACH(nothing_rests_on_an_old_cache, watched) {
    vpa_auto_free char *which = vpa_xprintf("cache=\"%s\"", watched[_i] + 1);

    struct vpa_ledger *ledger =
        vpa_ledger_new(&(struct vpa_ledger_flags){.memory = 1 << 20, .file = ""});

    capture_log(0);
    start(0);
    updater_env(server.updater)->ledger = ledger;
    server.frozen = watched[_i];
    vpa_loop_pump(server.loop, 3 * VPA_MINUTE);
    updater_pass(server.updater);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
    ck_assert(ledger_says(ledger, "\"rule\":\"stale-cache\""));
    ck_assert_uint_eq(logged("A cache is behind"), 1);
    ck_assert_uint_eq(logged(which), 1);

    server.frozen = NULL;
    vpa_loop_pump(server.loop, 12 * VPA_MINUTE); /* the request that hangs is given up */
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_uint_eq(logged("The caches are fresh again"), 1);
    updater_env(server.updater)->ledger = NULL;
    vpa_ledger_free(ledger);
}

/* For the probe: each cache, those of owners too, and which one it is. */
TEST_TIMES(ready_is_who_is_in_step, 4) {
    static const char *const caches[] = {"/pods", "/verticalpodautoscalers", "/limitranges",
                                         "/replicasets"};
    vpa_auto_free char *said = vpa_xprintf("the cache of %s was in step ", caches[_i] + 1);
    vpa_auto_buf why = VPA_BUF(1024);

    start(0);
    ck_assert(updater_is_ready(server.updater, &why));
    ck_assert_str_eq(vpa_buf_text(&why), "");
    server.frozen = caches[_i];
    vpa_loop_pump(server.loop, 3 * VPA_MINUTE);
    ck_assert(!updater_is_ready(server.updater, &why));
    ck_assert_msg(vpa_str_starts_with(vpa_buf_text(&why), said), "%s", vpa_buf_text(&why));
    server.frozen = NULL;
    vpa_loop_pump(server.loop, 12 * VPA_MINUTE);
    ck_assert(updater_is_ready(server.updater, &why));
}

TEST(a_silent_server_that_answers_is_no_reason_to_stop) {
    start(0);
    vpa_loop_pump(server.loop, VPA_HOUR);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}

/* In the middle of a pass as well. */
TEST(a_cache_that_falls_behind_stops_a_pass) {
    server.config.interval = 10 * VPA_MINUTE;
    server.config.eviction_rate_limit = 0.02; /* every 50 s */
    server.stuck = true;
    start(0);
    server.frozen = "/pods";
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2); /* at 0 s and 50 s */
}

/* ---- decisions that wait (U23) ---- */

/* A server that asks for pauses does not hold the pass: ten times a minute once. */
TEST(a_decision_that_waits_too_long_is_dropped) {
    int64_t begun;

    server.pods_per_vpa = 2;
    server.retry_after = 20;
    server.refuse = 1;
    start(0);
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_int_le(vpa_loop_monotonic(server.loop) - begun, 61 * VPA_SECOND); /* one by one */
    ck_assert_uint_eq(server.call_count, 4); /* each at once and after 20 s */
}

/* ---- passes that cannot get on ---- */

TEST(a_pass_that_hangs_says_so_within_an_interval) {
    int64_t begun;

    capture_log(0);
    server.config.use_admission_status = true;
    server.slow = "/vpa-admission-controller"; /* the status lease */
    start(0);
    begun = vpa_loop_monotonic(server.loop);
    updater_run(server.updater);
    vpa_loop_pump(server.loop, 2 * VPA_MINUTE + VPA_SECOND);
    ck_assert_int_ge(vpa_loop_monotonic(server.loop) - begun, 2 * VPA_MINUTE);
    ck_assert_uint_ge(logged("cannot get on"), 1);
    ck_assert_uint_ge(logged("reading the status lease"), 1);
    ck_assert_uint_eq(server.call_count, 0);
}

TEST(a_pass_in_time_says_nothing) {
    capture_log(0);
    start(0);
    updater_pass(server.updater);
    vpa_loop_pump(server.loop, 2 * VPA_MINUTE);
    ck_assert_uint_eq(logged("cannot get on"), 0);
}

static bool leads(void *ctx)
{
    const struct server *s = ctx;

    return s->call_count < 3;
}

TEST(lost_leadership_stops_a_pass) {
    server.may_act = leads;
    start(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 3);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 3);
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

/* Who may do nothing asks for nothing. */
TEST(who_does_not_lead_reads_no_lease) {
    server.config.use_admission_status = true;
    server.renewed = "2026-03-01T12:00:00.000000Z";
    server.may_act = never;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
    ck_assert_uint_eq(server.lease_reads, 0);
}

/* Of the caches of objects and those of owners each one counts. */
static const char *const filling[] = {"/pods", "/verticalpodautoscalers", "/limitranges",
                                      "/replicasets"};

TEST_EACH(a_pass_waits_for_every_cache, filling) {
    struct vpa_ledger *ledger =
        vpa_ledger_new(&(struct vpa_ledger_flags){.memory = 1 << 20, .file = ""});

    capture_log(0);
    server.slow = filling[_i];
    begin(0);
    updater_env(server.updater)->ledger = ledger;
    vpa_loop_pump(server.loop, VPA_MINUTE);
    updater_pass(server.updater);
    ck_assert_uint_eq(logged("Caches are not in step yet"), 1);
    ck_assert(ledger_says(ledger, "\"rule\":\"caches-not-filled\""));
    ck_assert_uint_eq(server.call_count, 0);
    updater_env(server.updater)->ledger = NULL;
    vpa_ledger_free(ledger);
}

/* The owner of another pod was asked for, and that has taken a whole interval: what was found out
 * by then gives pods to the wrong VPA. */
TEST_TIMES(half_a_selection_is_none, 2) {
    if (_i == 1) { /* the end of a boost of which the marker is left: no limiter holds that up */
        server.mode = "Off";
        server.boost = "\"startupBoost\":{\"cpu\":{\"durationSeconds\":60}},";
        server.pod = "\"annotations\":{\"vpaCpuStartupBoost/c\":\"{\\\"requests\\\":{\\\"cpu\\\":"
                     "\\\"1\\\"}}\"},";
    }
    server.stranger_ns = "n";
    server.strangers = 1;
    server.config.interval = 10 * VPA_MILLISECOND;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.flow_reads, 1);
    ck_assert_uint_eq(server.call_count + server.annotated, 0);
    server.config.interval = VPA_HOUR;
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, _i == 1 ? 0 : 5);
    ck_assert_uint_eq(server.annotated, _i == 1 ? 10 : 0);
}

TEST(shutdown_waits_for_what_is_under_way) {
    server.stop_at = 2;
    start(2);
    updater_pass(server.updater);
    ck_assert(vpa_loop_is_stopping(server.loop));
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_double_eq(metric("vpa_updater_evicted_pods_total",
                               (const char *const[]){"3", "Recreate", "v00", "n", NULL}),
                        2);
}

TEST(shutdown_does_not_wait_for_ever) {
    int64_t begun;

    server.stop_at = 2;
    server.delay = VPA_MINUTE;
    start(2);
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_int_le(vpa_loop_monotonic(server.loop) - begun, 5 * VPA_SECOND);
}

static const struct {
    const char *renewed;
    size_t evictions;
} leases[] = {
    {"2026-03-01T11:59:30.000000Z", 5},
    {"2026-03-01T11:58:59.000000Z", 0},
    {NULL, 0},
};

TEST_EACH(the_webhook_must_be_alive, leases) {
    server.config.use_admission_status = true;
    server.renewed = leases[_i].renewed;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, leases[_i].evictions);
    ck_assert_uint_ge(server.lease_reads, 1);
}

/* The object that the pass works with came while it waited for the lease, and is replaced while it
 * waits for answers. */
TEST(a_vpa_may_change_at_any_time) {
    server.config.use_admission_status = true;
    server.renewed = "2026-03-01T12:00:00.000000Z";
    server.touch = true;
    start(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}

TEST(a_pass_that_finds_nothing_reads_only_the_lease) {
    server.config.use_admission_status = true;
    server.renewed = "2026-03-01T12:00:00.000000Z";
    server.request = "2";
    start(0);
    size_t streams = server.streams;

    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count + server.events + server.annotated, 0);
    ck_assert_uint_eq(server.lease_reads, 1);
    ck_assert_uint_eq(server.streams, streams);
}

TEST(the_limiter_ends_the_pass) {
    server.vpas = 2;
    server.config.eviction_rate_limit = 0.01;
    start(0);
    updater_env_configure(updater_env(server.updater), &server.config);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(
        metric("vpa_updater_failed_eviction_attempts_total",
               (const char *const[]){"3", "Recreate", "EvictionRateLimiterWaitFailed", "v00", "n",
                                     NULL}),
        1);
}

TEST(the_limiter_spaces_requests) {
    int64_t begun;

    server.config.eviction_rate_limit = 10;
    server.delay = 0;
    start(0);
    updater_env_configure(updater_env(server.updater), &server.config);
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_int_eq(vpa_loop_monotonic(server.loop) - begun, 400 * VPA_MILLISECOND);
}

int main(void)
{
    return run_tests("updater_stop", setup, teardown);
}
