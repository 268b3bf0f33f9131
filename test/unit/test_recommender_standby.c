/*
 * The replica that does not lead: it knows what the leader knows, writes nothing, and goes on where
 * the leader ends.
 */
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

/* ---- replicas ---- */

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
