/*
 * What a leader counts while a standby loads, and how long a standby waits to load.
 */
#include "standby_fixture.h"
#include "captured_log.h"

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

int main(void)
{
    Suite *suite = suite_create("recommender_standby_load");
    TCase *tcase = tcase_create("standby");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup_both, teardown_both);
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
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
