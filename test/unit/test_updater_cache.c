/*
 * What the updater knows of the cluster, and what it does while it does not know: late pages,
 * objects that cannot be read.
 */
#include "updater_fixture.h"

#include "captured_log.h"

#include "../../updater/note.h"
#include "../../updater/pass.h"

/* ---- pods of others ---- */

/* A cluster that runs thousands of jobs of some engine, each a custom resource of its own without a
 * scale; or somebody who makes such pods, or calls the groups of their owners as he likes. To ask
 * for each would take the whole pass. */
START_TEST(owners_that_have_no_scale_are_not_asked_for_one_by_one)
{
    static const size_t documents[] = {0, 1, 5}; /* of a pass */

    server.strangers = 4000;
    server.stranger_ns = _i ? "n" : "other";
    server.own_groups = _i == 2;
    start(0);
    capture_log(0);
    for (size_t pass = 1; pass <= 3; pass++) {
        updater_pass(server.updater);
        ck_assert_uint_ge(server.call_count, 5);
        ck_assert_uint_eq(logged("Failed to find the controller"), _i == 2 ? pass : 0);
        ck_assert_uint_eq(server.flow_reads, _i == 1 ? pass : 0);
        ck_assert_uint_eq(server.discoveries, documents[_i] * pass);
    }
}
END_TEST

/* A VPA with a target goes by it, whatever else it selects. */
START_TEST(a_target_counts_before_a_selector)
{
    server.boost = "\"selector\":{\"matchLabels\":{\"app\":\"nobody\"}},";
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}
END_TEST

static bool shows(const char *vpa);

/* Each part of a pass has its own time: owners of others take 20 ms, answers 10. */
START_TEST(parts_of_a_pass_are_timed_each)
{
    server.strangers = 1;
    server.stranger_ns = "n";
    start(0);
    updater_pass(server.updater);
#define SUM(STEP, SECONDS)                                                                         \
    ck_assert(shows("vpa_updater_execution_latency_seconds_sum{step=\"" STEP "\"} " SECONDS "\n"))
    SUM("ListVPAs", "0");
    SUM("ListPods", "0");
    SUM("FilterPods", "0.02");
    SUM("AdmissionInit", "0");
    SUM("EvictPods", "0.01");
    SUM("total", "0.03");
#undef SUM
}
END_TEST

static bool shows(const char *vpa)
{
    struct vpa_metrics all = {.table = updater_metrics, .count = updater_metric_count};
    vpa_auto_buf page = VPA_BUF(TEXT_MAX);

    vpa_metrics_write(&all, VPA_EXPOSITION_TEXT, NULL, 0, &page);
    return strstr(vpa_buf_text(&page), vpa) != NULL;
}

START_TEST(vpas_that_were_deleted_are_counted_no_more)
{
    server.vpas = 2;
    start(0);
    for (int i = 0; i < METER_SERIES(2); i++) { /* each for a while */
        vpa_auto_free char *name = vpa_xprintf("gone%d", i);
        updater_meter_touch(
            &(struct meter_vpa){.size = "0", .mode = "Recreate", .name = name, .ns = "n"});
    }
    updater_pass(server.updater);
    ck_assert(shows("vpa_name=\"v00\""));
    ck_assert(shows("vpa_name=\"gone"));
    hide_vpa("v00");
    vpa_loop_pump(server.loop, VPA_SECOND);
    updater_pass(server.updater);
    ck_assert(!shows("vpa_name=\"v00\""));
    ck_assert(!shows("vpa_name=\"gone"));
    ck_assert(shows("vpa_name=\"v01\""));
}
END_TEST

/* ---- caches that fill slowly ---- */

START_TEST(no_pass_before_the_last_page_of_pods)
{
    struct vpa_error err;

    server.page_delay = 20 * VPA_SECOND;
    begin(0);
    vpa_loop_pump(server.loop, VPA_SECOND);
    ck_assert_int_eq(updater_wait(server.updater, VPA_SECOND, &err), -1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
    ck_assert_int_eq(updater_wait(server.updater, 2 * VPA_MINUTE, &err), 0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}
END_TEST

static const char *const slow_lists[] = {
    "/verticalpodautoscalers", "/pods", "/limitranges", "/deployments", "/replicasets", "/jobs"};

/* Not even the lease is read while some cache is not filled. */
START_TEST(no_pass_before_every_cache_is_filled)
{
    server.slow = slow_lists[_i];
    server.config.use_admission_status = true;
    server.renewed = "2026-03-01T12:00:00.000000Z";
    begin(0);
    vpa_loop_pump(server.loop, VPA_SECOND);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.lease_reads, 0);
    ck_assert_uint_eq(server.call_count, 0);
}
END_TEST

START_TEST(the_ticker_begins_when_all_is_known)
{
    struct vpa_error err;

    server.page_delay = 20 * VPA_SECOND;
    begin(0);
    ck_assert_int_eq(updater_wait(server.updater, 0, &err), 0);
    updater_run(server.updater);
    vpa_loop_pump(server.loop, 61 * VPA_SECOND);
    ck_assert_uint_eq(server.call_count, 5);
}
END_TEST

START_TEST(a_panic_is_known_before_the_first_pass)
{
    server.panic = true;
    server.panic_delay = 2 * VPA_SECOND;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
}
END_TEST

/* Upstream's roles do not let the updater read it. */
START_TEST(a_panic_that_cannot_be_read_does_not_stop_the_start)
{
    server.panic_delay = VPA_HOUR;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}
END_TEST

/* ---- LimitRanges ---- */

#define LIMIT_RANGE(ns, name, min)                                                                 \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"" ns "\"},\"spec\":{\"limits\":[{"       \
    "\"type\":\"Container\",\"min\":{\"cpu\":\"" min "\"}}]}}"

static const struct {
    const char *mode;
    const char *limits;
    size_t calls;
} limit_ranges[] = {
    {"Recreate", LIMIT_RANGE("n", "l", "1m"), 5},
    {"Recreate", LIMIT_RANGE("n", "l", "1Zz"), 0},
    {"InPlaceOrRecreate", LIMIT_RANGE("n", "l", "1Zz"), 0}, /* and no eviction instead */
    {"Recreate", LIMIT_RANGE("n", "a", "1m") "," LIMIT_RANGE("n", "l", "1Zz"), 0},
    {"Recreate", LIMIT_RANGE("m", "l", "1Zz") "," LIMIT_RANGE("o", "l", "1Zz"), 5},
};

START_TEST(nothing_is_done_without_the_limits_of_a_namespace)
{
    server.mode = limit_ranges[_i].mode;
    server.limits = limit_ranges[_i].limits;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, limit_ranges[_i].calls);
}
END_TEST

START_TEST(limits_of_many_namespaces_are_found)
{
    struct pass_env *env;
    struct pass pass;

    server.limits = LIMIT_RANGE("a", "l", "1") "," LIMIT_RANGE("c", "k", "2") "," LIMIT_RANGE(
        "c", "l", "3") "," LIMIT_RANGE("d", "l", "4");
    start(0);
    env = updater_env(server.updater);
    updater_pass_init(&pass, env);
    ck_assert(updater_pass_limits(&pass, "a")->container.present);
    ck_assert(!updater_pass_limits(&pass, "b")->container.present);
    ck_assert(updater_pass_limits(&pass, "c")->container.present);
    ck_assert_str_eq(updater_pass_limits(&pass, "c")->container.min.items[0].quantity.text, "3");
    ck_assert(updater_pass_limits(&pass, "d")->container.present);
    ck_assert(!updater_pass_limits(&pass, "e")->container.present);
    updater_pass_release(&pass);
}
END_TEST

/* ---- mode Auto ---- */

static size_t told(void)
{
    size_t count = 0;
    void *note;

    for (size_t i = 0; vpa_table_next(&updater_env(server.updater)->notes, &i, NULL, &note);)
        count += ((const struct vpa_note *)note)->told_of_auto;
    return count;
}

START_TEST(the_log_tells_of_mode_auto_once)
{
    server.mode = "Auto";
    server.vpas = 3;
    server.request = "2"; /* nothing to do */
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(told(), 3);
    updater_pass(server.updater);
    ck_assert_uint_eq(told(), 3);
    hide_vpa("v01");
    settle();
    updater_pass(server.updater);
    ck_assert_uint_eq(told(), 2); /* would be told of again when it comes back */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("updater_cache");
    TCase *tc = tcase_create("pass");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, parts_of_a_pass_are_timed_each);
    tcase_add_test(tc, a_target_counts_before_a_selector);
    tcase_add_loop_test(tc, owners_that_have_no_scale_are_not_asked_for_one_by_one, 0, 3);
    tcase_add_test(tc, vpas_that_were_deleted_are_counted_no_more);
    tcase_add_test(tc, no_pass_before_the_last_page_of_pods);
    tcase_add_loop_test(tc, no_pass_before_every_cache_is_filled, 0, VPA_COUNT(slow_lists));
    tcase_add_test(tc, the_ticker_begins_when_all_is_known);
    tcase_add_test(tc, a_panic_is_known_before_the_first_pass);
    tcase_add_test(tc, a_panic_that_cannot_be_read_does_not_stop_the_start);
    tcase_add_loop_test(tc, nothing_is_done_without_the_limits_of_a_namespace, 0,
                        VPA_COUNT(limit_ranges));
    tcase_add_test(tc, limits_of_many_namespaces_are_found);
    tcase_add_test(tc, the_log_tells_of_mode_auto_once);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
