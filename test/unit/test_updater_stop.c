/*
 * What stops a pass of the updater, or keeps it from beginning: panic, lost leadership, shutdown, a
 * webhook that is not there, the limiter.
 */
#include "updater_fixture.h"

/* ---- what stops a pass ---- */

START_TEST(panic_stops_everything_until_it_goes)
{
    server.panic = true;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
    vpa_memory_stream_event(
        server.config_maps, "DELETED",
        "{\"metadata\":{\"name\":\"vpa-panic\",\"namespace\":\"kube-system\"}}");
    while (vpa_loop_poll(server.loop))
        ;
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}
END_TEST

START_TEST(panic_stops_a_pass_under_way)
{
    server.panic_at = 2;
    start(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
}
END_TEST

static void on_panic_timer(void *ctx)
{
    (void)ctx;
    show_panic();
}

/* Rates that leave a pass waiting: for the limiter, and with its requests in the client's queue. */
static const struct {
    double evictions;
    double qps;
    size_t calls_max; /* before the panic, and within the time it has to take effect */
} slow_rates[] = {{0.1, -1, 1}, {-1, 1, 4}};

START_TEST(panic_stops_what_waits)
{
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
END_TEST

static bool leads(void *ctx)
{
    (void)ctx;
    return server.call_count < 3;
}

START_TEST(lost_leadership_stops_a_pass)
{
    start(1);
    updater_env(server.updater)->may_act = leads;
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 3);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 3);
}
END_TEST

START_TEST(shutdown_waits_for_what_is_under_way)
{
    server.stop_at = 2;
    start(2);
    updater_pass(server.updater);
    ck_assert(vpa_loop_is_stopping(server.loop));
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_double_eq(metric("vpa_updater_evicted_pods_total",
                               (const char *const[]){"3", "Recreate", "v00", "n", NULL}),
                        2);
}
END_TEST

START_TEST(shutdown_does_not_wait_for_ever)
{
    int64_t begun;

    server.stop_at = 2;
    server.delay = VPA_MINUTE;
    start(2);
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_int_le(vpa_loop_monotonic(server.loop) - begun, 5 * VPA_SECOND);
}
END_TEST

static const struct {
    const char *renewed;
    size_t evictions;
} leases[] = {
    {"2026-03-01T11:59:30.000000Z", 5},
    {"2026-03-01T11:58:59.000000Z", 0},
    {NULL, 0},
};

START_TEST(the_webhook_must_be_alive)
{
    server.config.use_admission_status = true;
    server.renewed = leases[_i].renewed;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, leases[_i].evictions);
    ck_assert_uint_ge(server.lease_reads, 1);
}
END_TEST

/* The object that the pass works with came while it waited for the lease, and is replaced while it
 * waits for answers. */
START_TEST(a_vpa_may_change_at_any_time)
{
    server.config.use_admission_status = true;
    server.renewed = "2026-03-01T12:00:00.000000Z";
    server.touch = true;
    start(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}
END_TEST

START_TEST(a_pass_that_finds_nothing_reads_only_the_lease)
{
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
END_TEST

START_TEST(the_limiter_ends_the_pass)
{
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
END_TEST

START_TEST(the_limiter_spaces_requests)
{
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("updater_stop");
    TCase *tc = tcase_create("pass");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, panic_stops_everything_until_it_goes);
    tcase_add_test(tc, panic_stops_a_pass_under_way);
    tcase_add_loop_test(tc, panic_stops_what_waits, 0, VPA_COUNT(slow_rates));
    tcase_add_test(tc, lost_leadership_stops_a_pass);
    tcase_add_test(tc, shutdown_waits_for_what_is_under_way);
    tcase_add_test(tc, shutdown_does_not_wait_for_ever);
    tcase_add_loop_test(tc, the_webhook_must_be_alive, 0, VPA_COUNT(leases));
    tcase_add_test(tc, a_vpa_may_change_at_any_time);
    tcase_add_test(tc, a_pass_that_finds_nothing_reads_only_the_lease);
    tcase_add_test(tc, the_limiter_ends_the_pass);
    tcase_add_test(tc, the_limiter_spaces_requests);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
