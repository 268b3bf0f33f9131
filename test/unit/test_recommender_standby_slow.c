/*
 * Passes that a standby has not made, or not in time: it loads what it has missed.
 */
#include "standby_fixture.h"
#include "captured_log.h"

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

int main(void)
{
    Suite *suite = suite_create("recommender_standby_slow");
    TCase *tcase = tcase_create("standby");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup_both, teardown_both);
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
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
