/*
 * A standby that gets no usage is not in step, and loads what it has missed.
 */
#include "standby_fixture.h"

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

static bool hang(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (leader_passes || !refuse_usage(q, r))
        return watch_lease(q, r);
    if (strstr(q->path, "/apis/metrics.k8s.io/"))
        vpa_memory_reply_delay(r, 2 * VPA_MINUTE - VPA_SECOND);
    return true;
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

int main(void)
{
    Suite *suite = suite_create("recommender_standby_usage");
    TCase *tcase = tcase_create("standby");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup_both, teardown_both);
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
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
