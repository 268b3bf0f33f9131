/* Proofs and breakers: what may be done after what was seen. */
#include "breaker_fixture.h"

/* So long other groups wait for the first one, when a replacement is to come at once. */
#define HELD (15 * VPA_MINUTE)

TEST(the_first_of_a_group_waits_then_all_are_free) {
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_FIRST);
    ck_assert(sent("n/v", "g", start));
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_WAITING);
    ck_assert_int_eq(ask("n/w", "g", start), VPA_PERMIT_FIRST); /* each VPA its own */
    ck_assert_int_eq(ask("n/v", "g", start + VPA_HOUR), VPA_PERMIT_WAITING);
    ck_assert_int_eq(judge("n/v", "g", VPA_VERDICT_GOOD, start), VPA_BREAKER_SAME);
    ck_assert_int_eq(ask("n/v", "g", start + VPA_PROOF_AGE - 1), VPA_PERMIT_FREE);
    ck_assert(!sent("n/v", "g", start));
    ck_assert_int_eq(ask("n/v", "g", start + VPA_PROOF_AGE), VPA_PERMIT_FIRST);
}

/* A selector VPA over fifty workloads loses one pod, not fifty; where it helps they wait once. */
TEST(one_group_shows_whether_evictions_help_the_vpa) {
    vpa_time later = start + HELD;

    ck_assert(sent("n/v", "g", start));
    ck_assert_int_eq(ask("n/v", "h", start), VPA_PERMIT_WAITING);
    judge("n/v", "g", VPA_VERDICT_GOOD, start);
    ck_assert(sent("n/v", "h", start)); /* then each shows it for itself, side by side */
    ck_assert(sent("n/v", "i", start));
    ck_assert_int_eq(ask("n/v", "h", start), VPA_PERMIT_WAITING);
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_FREE);
    judge("n/v", "h", VPA_VERDICT_VOID, later);
    ck_assert_int_eq(ask("n/v", "h", later), VPA_PERMIT_FIRST); /* i has taken too long */
    ck_assert(sent("n/v", "h", later)); /* the proof is over: one at a time again */
    ck_assert_int_eq(ask("n/v", "j", later), VPA_PERMIT_WAITING);
    ck_assert_int_eq(ask("n/v", "j", later + HELD - 1), VPA_PERMIT_WAITING);
    ck_assert_int_eq(ask("n/v", "j", later + HELD), VPA_PERMIT_FIRST);
}

/* Where nodes are made on demand a verdict takes its time: no second pod goes out just before. */
TEST(the_others_wait_for_a_patient_verdict) {
    vpa_time known = start + HELD + VPA_MINUTE;

    vpa_proof_free(proof);
    proof = vpa_proof_new(HELD);
    ck_assert(sent("n/v", "g", start));
    ck_assert_int_eq(ask("n/v", "h", known), VPA_PERMIT_WAITING);
    ck_assert_int_eq(judge("n/v", "g", VPA_VERDICT_NO_REPLACEMENT, known), VPA_BREAKER_OPENED);
    ck_assert_int_eq(ask("n/v", "h", known), VPA_PERMIT_PAUSED);
}

/* What ends the wait of the others, other than a proof. */
TEST_TIMES(a_group_that_shows_nothing_lets_the_next_try, 3) {
    struct vpa_proof_id i = id("n/v", "g");

    ck_assert(sent("n/v", "g", start));
    if (_i == 0)
        vpa_proof_refused(proof, &i);
    else if (_i == 1)
        judge("n/v", "g", VPA_VERDICT_VOID, start);
    else
        vpa_proof_reset(proof, "n/v");
    ck_assert(sent("n/v", "h", start));
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_WAITING);
}

/* What helped before says nothing behind a failure, or of another template. */
TEST_TIMES(a_failure_or_a_change_ends_the_proof_of_the_vpa, 2) {
    judge("n/v", "g", VPA_VERDICT_GOOD, start);
    if (_i)
        judge("n/v", "h", VPA_VERDICT_NOT_PATCHED, start);
    vpa_proof_reset(proof, "n/v");
    ck_assert(sent("n/v", "h", start));
    ck_assert_int_eq(ask("n/v", "i", start), VPA_PERMIT_WAITING);
}

/* A resize that does not help takes no pod away. */
TEST(groups_are_resized_side_by_side) {
    struct vpa_proof_id g = {"n/v", "g", VPA_PROOF_RESIZE}, h = {"n/v", "h", VPA_PROOF_RESIZE};

    ck_assert(vpa_proof_sent(proof, &g, start));
    ck_assert_int_eq(vpa_proof_ask(proof, &h, start), VPA_PERMIT_FIRST);
}

TEST(what_was_refused_or_cannot_be_known_counts_for_nothing) {
    struct vpa_proof_id i = id("n/v", "g");

    sent("n/v", "g", start);
    vpa_proof_refused(proof, &i);
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_FIRST);
    sent("n/v", "g", start);
    ck_assert_int_eq(judge("n/v", "g", VPA_VERDICT_VOID, start), VPA_BREAKER_SAME);
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_FIRST);
    ck_assert_uint_eq(vpa_proof_open_count(proof), 0);
}

TEST(a_failure_opens_and_the_pause_doubles_to_a_day) {
    vpa_time now = start;
    vpa_duration pause = 10 * VPA_MINUTE;

    for (int i = 0; i < 12; i++) {
        ck_assert_int_eq(ask("n/v", "g", now), VPA_PERMIT_FIRST);
        ck_assert(sent("n/v", "g", now));
        ck_assert_int_eq(ask("n/v", "h", now), VPA_PERMIT_WAITING);
        ck_assert_int_eq(judge("n/v", "g", VPA_VERDICT_NOT_PATCHED, now), VPA_BREAKER_OPENED);
        ck_assert_int_eq(ask("n/v", "g", now + pause - 1), VPA_PERMIT_PAUSED);
        ck_assert_int_eq(ask("n/v", "h", now + pause - 1), VPA_PERMIT_PAUSED);
        ck_assert(vpa_proof_breaker(proof, "n/v", VPA_PROOF_EVICTION)->opened == start);
        now += pause;
        pause = pause * 2 < VPA_PAUSE_LONGEST ? pause * 2 : VPA_PAUSE_LONGEST;
    }
    ck_assert_int_eq(pause, 24 * VPA_HOUR);
    ck_assert(sent("n/v", "g", now));
    ck_assert_int_eq(judge("n/v", "g", VPA_VERDICT_GOOD, now), VPA_BREAKER_CLOSED);
    ck_assert_ptr_null(vpa_proof_breaker(proof, "n/v", VPA_PROOF_EVICTION));
    ck_assert_int_eq(ask("n/v", "g", now), VPA_PERMIT_FREE);
    judge("n/v", "g", VPA_VERDICT_CRASHING, now); /* and begins at ten minutes again */
    ck_assert_int_eq(vpa_proof_breaker(proof, "n/v", VPA_PROOF_EVICTION)->pause, VPA_PAUSE_FIRST);
}

static const struct vpa_breaker *breaker(void)
{
    return vpa_proof_breaker(proof, "n/v", VPA_PROOF_EVICTION);
}

/* What one pass did counts once, be its pods of ever so many groups, and whenever it shows. */
TEST_TIMES(what_went_out_before_it_opened_makes_no_longer_pause, 2) {
    static const char *const groups[] = {"a", "b", "c", "d", "e"};
    vpa_time later = start + VPA_PAUSE_FIRST, late = _i ? later + VPA_MINUTE : start + 1;
    struct vpa_proof_id ids[VPA_COUNT(groups)];

    for (size_t i = 0; i < VPA_COUNT(groups); i++)
        ids[i] = id("n/v", groups[i]);
    vpa_proof_judge(proof, &ids[0], VPA_VERDICT_NOT_PATCHED, "first", start);
    for (size_t i = 1; i < VPA_COUNT(groups); i++)
        ck_assert_int_eq(vpa_proof_judge(proof, &ids[i], VPA_VERDICT_CRASHING, "then", late),
                         VPA_BREAKER_NOTED);
    ck_assert_int_eq(breaker()->pause, VPA_PAUSE_FIRST);
    ck_assert(breaker()->retry_at == later);
    ck_assert_int_eq(breaker()->verdict, VPA_VERDICT_CRASHING);
    ck_assert_str_eq(breaker()->seen, "then");
    ck_assert(sent("n/v", "b", later)); /* nobody waits for what has failed */
    judge("n/v", "b", VPA_VERDICT_CRASHING, later);
    ck_assert_int_eq(breaker()->pause, 2 * VPA_PAUSE_FIRST);
}

/* The pod that is on trial is another one of the same group. */
TEST(a_failure_of_before_ends_no_trial) {
    vpa_time later = start + VPA_PAUSE_FIRST;
    struct vpa_proof_id before = id("n/v", "g");

    judge("n/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    ck_assert(sent("n/v", "g", later));
    vpa_proof_judge(proof, &before, VPA_VERDICT_CRASHING, "late", later);
    ck_assert_int_eq(ask("n/v", "h", later), VPA_PERMIT_WAITING);
    judge("n/v", "g", VPA_VERDICT_CRASHING, later);
    ck_assert_int_eq(breaker()->pause, 2 * VPA_PAUSE_FIRST);
}

/* A trial of before the VPA was changed says nothing of the pause that came after. */
TEST(a_trial_of_an_earlier_opening_makes_no_longer_pause) {
    vpa_time later = start + VPA_PAUSE_FIRST;
    struct vpa_proof_id before;

    judge("n/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    ck_assert(sent("n/v", "h", later));
    before = id("n/v", "h");
    vpa_proof_reset(proof, "n/v");
    judge("n/v", "i", VPA_VERDICT_NOT_PATCHED, later); /* ten minutes, as the first time */
    ck_assert_int_eq(vpa_proof_judge(proof, &before, VPA_VERDICT_CRASHING, "late", later),
                     VPA_BREAKER_NOTED);
    ck_assert_int_eq(breaker()->pause, VPA_PAUSE_FIRST);
}

/* Every pause is a day by then. */
TEST(at_the_longest_pause_what_went_out_before_changes_no_time) {
    vpa_time now = start;
    struct vpa_proof_id before;

    for (int i = 0; i < 12; i++, now += VPA_PAUSE_LONGEST)
        judge("n/v", "g", VPA_VERDICT_NOT_PATCHED, now);
    before = id("n/v", "h");
    judge("n/v", "g", VPA_VERDICT_NOT_PATCHED, now);
    ck_assert_int_eq(vpa_proof_judge(proof, &before, VPA_VERDICT_CRASHING, "late", now + VPA_HOUR),
                     VPA_BREAKER_NOTED);
    ck_assert(breaker()->retry_at == now + VPA_PAUSE_LONGEST);
}

/* The trial of an earlier opening: another pod is out. */
TEST(what_comes_to_nothing_ends_no_later_trial) {
    vpa_time later = start + VPA_PAUSE_FIRST, last = later + HELD;
    struct vpa_proof_id before;

    judge("n/v", "g", VPA_VERDICT_NOT_READY, start);
    ck_assert(sent("n/v", "h", later));
    before = id("n/v", "h");
    judge("n/v", "g", VPA_VERDICT_GOOD, later);
    judge("n/v", "g", VPA_VERDICT_NOT_READY, later);
    ck_assert(sent("n/v", "i", last));
    vpa_proof_judge(proof, &before, VPA_VERDICT_VOID, "", last);
    ck_assert_int_eq(ask("n/v", "j", last + HELD), VPA_PERMIT_WAITING);
}

/* A pod that never ends holds its VPA no longer than a verdict may take, or than the pause. */
TEST_TIMES(a_trial_that_is_never_judged_lapses, 4) {
    const char *group = _i % 2 ? "g" : "h"; /* also where there is but one */
    int failures = _i < 2 ? 1 : 5;          /* 10 minutes, 160 minutes */
    vpa_duration longest = (_i < 2 ? 91 : 160) * VPA_MINUTE;
    vpa_time now = start, lapsed;
    struct vpa_proof_id before;

    for (int i = 0; i < failures; i++)
        judge("n/v", "g", VPA_VERDICT_NOT_READY, now);
    now = breaker()->retry_at;
    lapsed = now + longest;
    ck_assert(sent("n/v", "g", now));
    before = id("n/v", "g");
    ck_assert_int_eq(ask("n/v", group, lapsed - 1), VPA_PERMIT_WAITING);
    ck_assert(sent("n/v", group, lapsed));
    ck_assert_int_eq(ask("n/v", "i", lapsed), VPA_PERMIT_WAITING);
    /* It ends after all. */
    vpa_proof_judge(proof, &before, VPA_VERDICT_VOID, "", lapsed);
    ck_assert_int_eq(ask("n/v", "i", lapsed), VPA_PERMIT_WAITING);
    ck_assert_int_eq(vpa_proof_judge(proof, &before, VPA_VERDICT_CRASHING, "", lapsed),
                     VPA_BREAKER_NOTED);
    ck_assert_int_eq(judge("n/v", group, VPA_VERDICT_CRASHING, lapsed), VPA_BREAKER_OPENED);
}

/* Nor does it hold its own group, whatever becomes of the trials of others. */
TEST(a_group_whose_pod_never_ends_is_tried_again) {
    vpa_time now = start + VPA_PAUSE_FIRST, lapsed = now + 91 * VPA_MINUTE;
    struct vpa_proof_id other;

    judge("n/v", "g", VPA_VERDICT_NOT_READY, start);
    ck_assert(sent("n/v", "g", now));
    ck_assert(sent("n/v", "h", lapsed));
    other = id("n/v", "h");
    vpa_proof_refused(proof, &other);
    lapsed += HELD;
    ck_assert(sent("n/v", "g", lapsed));
    ck_assert_int_eq(ask("n/v", "g", lapsed - VPA_HOUR), VPA_PERMIT_WAITING); /* a clock set back */
    ck_assert_int_eq(ask("n/v", "g", lapsed + 91 * VPA_MINUTE - 1), VPA_PERMIT_WAITING);
}

/* What is put aside makes only its own trial's pause begin anew, and fails for no later one. */
TEST(what_was_put_aside_decides_nothing_later) {
    vpa_time later = start + VPA_PAUSE_FIRST, last = later + VPA_PAUSE_FIRST;
    struct vpa_proof_id before = id("n/v", "a"), aside;

    judge("n/v", "b", VPA_VERDICT_NOT_READY, start);
    vpa_proof_deferred(proof, &before, start + VPA_MINUTE);
    ck_assert(breaker()->retry_at == later);
    ck_assert(sent("n/v", "a", later));
    aside = id("n/v", "a");
    vpa_proof_deferred(proof, &aside, later);
    ck_assert(breaker()->retry_at == last);
    ck_assert(sent("n/v", "b", last));
    ck_assert_int_eq(vpa_proof_judge(proof, &aside, VPA_VERDICT_CRASHING, "", last),
                     VPA_BREAKER_NOTED);
    ck_assert_int_eq(ask("n/v", "c", last), VPA_PERMIT_WAITING);
    judge("n/v", "b", VPA_VERDICT_CRASHING, last);
    ck_assert_int_eq(breaker()->pause, 2 * VPA_PAUSE_FIRST);
}

TEST(a_trial_without_outcome_is_followed_by_another) {
    vpa_time later = start + VPA_PAUSE_FIRST;

    judge("n/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    sent("n/v", "g", later);
    ck_assert_int_eq(ask("n/v", "h", later), VPA_PERMIT_WAITING);
    judge("n/v", "g", VPA_VERDICT_VOID, later);
    ck_assert_int_eq(ask("n/v", "h", later), VPA_PERMIT_FIRST);
    ck_assert_uint_eq(vpa_proof_open_count(proof), 1);
}

TEST(a_late_success_closes) {
    sent("n/v", "g", start);
    judge("n/v", "g", VPA_VERDICT_UNSCHEDULABLE, start);
    ck_assert_int_eq(judge("n/v", "g", VPA_VERDICT_GOOD, start + 1), VPA_BREAKER_CLOSED);
    ck_assert_int_eq(ask("n/v", "g", start + 1), VPA_PERMIT_FREE);
}

static size_t paused_namespaces(void)
{
    const struct vpa_breaker *newest;

    return vpa_proof_namespaces(proof, &newest);
}

/* Whoever owns a namespace has as many VPAs that cannot be helped as he likes. */
TEST(a_namespace_alone_stops_itself) {
    vpa_time later = start + VPA_PAUSE_FIRST;

    judge("n/a", "a", VPA_VERDICT_CRASHING, start);
    judge("n/a", "a", VPA_VERDICT_CRASHING, start);
    judge("n/b", "b", VPA_VERDICT_NO_REPLACEMENT, start);
    ck_assert_int_eq(ask("n/z", "z", start), VPA_PERMIT_FIRST);
    for (int i = 0; i < 100; i++) {
        vpa_auto_free char *vpa = vpa_xprintf("n/%d", i);
        judge(vpa, "g", VPA_VERDICT_NOT_PATCHED, start);
    }
    ck_assert_ptr_null(vpa_proof_cluster(proof));
    ck_assert_uint_eq(paused_namespaces(), 1);
    ck_assert_int_eq(ask("n/z", "z", start), VPA_PERMIT_NAMESPACE_PAUSED);
    ck_assert_int_eq(ask("m/z", "z", start), VPA_PERMIT_FIRST);
    ck_assert(sent("n/z", "z", later)); /* one pod for all */
    ck_assert_int_eq(ask("n/y", "y", later), VPA_PERMIT_WAITING);
    judge("n/z", "z", VPA_VERDICT_GOOD, later);
    ck_assert_int_eq(ask("n/y", "y", later), VPA_PERMIT_FIRST);
    ck_assert_uint_eq(paused_namespaces(), 0);
}

TEST(a_namespace_counts_once_whatever_becomes_of_its_vpas) {
    for (int i = 0; i < 10; i++) {
        judge("n/a", "a", VPA_VERDICT_CRASHING, start);
        vpa_proof_sweep(proof, none, NULL, start);
    }
    ck_assert_ptr_null(vpa_proof_cluster(proof));
    judge("m/a", "a", VPA_VERDICT_GOOD, start); /* the row is over */
    vpa_proof_sweep(proof, none, NULL, start);
    ck_assert_uint_eq(paused_namespaces(), 0);
}

static void stop_the_cluster(void)
{
    judge("a/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    judge("b/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    ck_assert_ptr_null(vpa_proof_cluster(proof));
    ck_assert_int_eq(ask("z/v", "z", start), VPA_PERMIT_FIRST);
    judge("c/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    ck_assert_ptr_nonnull(vpa_proof_cluster(proof));
    ck_assert_int_eq(ask("z/v", "z", start), VPA_PERMIT_CLUSTER_PAUSED);
}

TEST(several_namespaces_in_a_row_open_the_clusters) {
    vpa_time later = start + VPA_PAUSE_FIRST;

    stop_the_cluster();
    ck_assert_int_eq(ask("z/v", "z", later), VPA_PERMIT_FIRST);
    ck_assert(sent("z/v", "z", later)); /* one pod for all */
    ck_assert_int_eq(ask("y/v", "y", later), VPA_PERMIT_WAITING);
    judge("z/v", "z", VPA_VERDICT_NOT_PATCHED, later);
    ck_assert_int_eq(vpa_proof_cluster(proof)->pause, 2 * VPA_PAUSE_FIRST);
    later += 2 * VPA_PAUSE_FIRST;
    sent("y/v", "y", later);
    judge("y/v", "y", VPA_VERDICT_GOOD, later);
    ck_assert_ptr_null(vpa_proof_cluster(proof));
    ck_assert_int_eq(ask("x/v", "x", later), VPA_PERMIT_FIRST);
}

/* Else the same one, first by name, would fail for all of them each time. */
TEST(who_has_failed_lets_others_be_tried_first) {
    vpa_time later = start + VPA_PAUSE_FIRST;

    stop_the_cluster();
    ck_assert_int_eq(ask("a/v", "g", later), VPA_PERMIT_CLUSTER_PAUSED);
    ck_assert_int_eq(ask("a/w", "g", later), VPA_PERMIT_CLUSTER_PAUSED);
    ck_assert_int_eq(ask("d/v", "g", later), VPA_PERMIT_FIRST);
    ck_assert_int_eq(ask("a/w", "g", later + VPA_PAUSE_FIRST), VPA_PERMIT_FIRST); /* nobody else */
}

/* Whoever may make namespaces could fail one trial after the other with fresh ones. */
TEST_TIMES(where_evictions_have_helped_is_tried_first, 3) {
    static const char *const failing[] = {"a/v", "b/v", "c/v"};
    vpa_time end = start + VPA_PAUSE_FIRST, then = end + VPA_PAUSE_FIRST;

    sent("h/v", "g", start);
    judge("h/v", "g", VPA_VERDICT_GOOD, start);
    vpa_proof_sweep(proof, all_live, NULL, start);
    for (size_t i = 0; i < VPA_COUNT(failing); i++) {
        sent(failing[i], "g", start);
        judge(failing[i], "g", VPA_VERDICT_CRASHING, start);
    }
    ck_assert_ptr_nonnull(vpa_proof_cluster(proof));
    ck_assert_int_eq(ask("fresh/v", "g", end), VPA_PERMIT_CLUSTER_PAUSED);
    ck_assert_int_eq(ask("h/v", "g", end), VPA_PERMIT_FIRST);
    ck_assert_int_eq(ask("fresh/v", "g", then), VPA_PERMIT_FIRST); /* it had nothing to change */
    ck_assert_int_eq(ask("a/w", "g", then), VPA_PERMIT_CLUSTER_PAUSED);
    ck_assert_int_eq(ask("a/w", "g", then + VPA_PAUSE_FIRST), VPA_PERMIT_FIRST);
    if (_i == 0) { /* its eviction helps: the others were to blame */
        sent("h/v", "g", end);
        judge("h/v", "g", VPA_VERDICT_GOOD, end);
        ck_assert_ptr_null(vpa_proof_cluster(proof));
    } else if (_i == 1) { /* nor does it there: it is one of those that failed */
        sent("h/v", "g", end);
        judge("h/v", "g", VPA_VERDICT_CRASHING, end);
        end += 2 * VPA_PAUSE_FIRST;
        ck_assert_int_eq(ask("fresh/v", "g", end), VPA_PERMIT_FIRST);
        ck_assert_int_eq(ask("h/w", "g", end), VPA_PERMIT_CLUSTER_PAUSED);
    } else { /* that was long ago */
        vpa_proof_sweep(proof, all_live, NULL, start + VPA_PAUSE_LONGEST);
        ck_assert_int_eq(ask("fresh/v", "g", end), VPA_PERMIT_FIRST);
    }
}

TEST(a_trial_that_does_not_end_is_followed_by_another) {
    vpa_time later = start + VPA_PAUSE_FIRST;

    stop_the_cluster();
    ck_assert(sent("d/v", "g", later));
    ck_assert_int_eq(ask("e/v", "g", later + VPA_PAUSE_FIRST - 1), VPA_PERMIT_WAITING);
    ck_assert(sent("e/v", "g", later + VPA_PAUSE_FIRST));
    ck_assert_int_eq(ask("f/v", "g", later + VPA_PAUSE_FIRST), VPA_PERMIT_WAITING);
}

TEST(a_clock_that_was_ahead_makes_no_longer_pause) {
    judge("n/v", "g", VPA_VERDICT_NOT_PATCHED, start + 10000 * VPA_HOUR);
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_FIRST);
    judge("m/v", "g", VPA_VERDICT_GOOD, start + 10000 * VPA_HOUR);
    ck_assert_int_eq(ask("m/v", "g", start), VPA_PERMIT_FIRST); /* proven, but when? */
}

TEST(a_good_proof_ends_a_row) {
    judge("a/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    judge("b/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    judge("c/v", "g", VPA_VERDICT_GOOD, start);
    judge("d/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    judge("a/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    ck_assert_ptr_null(vpa_proof_cluster(proof));
    judge("b/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    ck_assert_ptr_nonnull(vpa_proof_cluster(proof));
}

TEST(a_reason_that_is_gone_closes_at_once) {
    judge("n/a", "a", VPA_VERDICT_NO_REPLACEMENT, start);
    judge("n/b", "b", VPA_VERDICT_NOT_PATCHED, start);
    ck_assert(vpa_proof_reset(proof, "n/a"));
    ck_assert(!vpa_proof_reset(proof, "n/a"));
    ck_assert_int_eq(ask("n/a", "a", start), VPA_PERMIT_FIRST);
    judge("n/a", "a", VPA_VERDICT_NO_REPLACEMENT, start);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 1); /* a quota is not the webhook's */
    ck_assert_int_eq(ask("n/a", "a", start), VPA_PERMIT_PAUSED);
    ck_assert_int_eq(ask("n/b", "b", start), VPA_PERMIT_FIRST);
}

TEST(resizes_have_breakers_of_their_own) {
    struct vpa_proof_id resize = {"n/v", "g", VPA_PROOF_RESIZE};

    vpa_proof_judge(proof, &resize, VPA_VERDICT_NOT_RESIZED, "Infeasible", start);
    ck_assert_int_eq(vpa_proof_ask(proof, &resize, start), VPA_PERMIT_PAUSED);
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_FIRST);
}

/* Beside the start: when it was to be tried again, and what is made of it. */
static const struct {
    vpa_time retry;
    vpa_duration until, next; /* the pause after one more failure */
} restored[] = {
    {VPA_TIME_UNSET - 1000 * VPA_HOUR, VPA_PAUSE_FIRST, 2 * VPA_PAUSE_FIRST},
    {-VPA_HOUR, VPA_PAUSE_FIRST, 2 * VPA_PAUSE_FIRST}, /* no storm from restart to restart */
    {0, VPA_PAUSE_FIRST, 2 * VPA_PAUSE_FIRST},
    {3 * VPA_MINUTE, 3 * VPA_MINUTE, 2 * VPA_PAUSE_FIRST},
    {VPA_HOUR, VPA_HOUR, 16 * VPA_PAUSE_FIRST},
    {VPA_PAUSE_LONGEST, VPA_PAUSE_LONGEST, VPA_PAUSE_LONGEST},
    {VPA_PAUSE_LONGEST + VPA_MINUTE, VPA_PAUSE_FIRST, 2 * VPA_PAUSE_FIRST}, /* a clock was wrong */
};

TEST_EACH(a_restored_breaker_is_tried_when_it_was_to_be, restored) {
    const struct vpa_pause pause = {.verdict = VPA_VERDICT_CRASHING,
                                    .seen = "seen",
                                    .opened = start - VPA_HOUR,
                                    .retry = start + restored[_i].retry};
    vpa_time until = start + restored[_i].until;
    const struct vpa_breaker *b;

    vpa_proof_restore(proof, "n/v", VPA_PROOF_EVICTION, &pause, start);
    ck_assert_int_eq(ask("n/v", "g", until - 1), VPA_PERMIT_PAUSED);
    ck_assert_int_eq(ask("n/v", "g", until), VPA_PERMIT_FIRST);
    b = vpa_proof_breaker(proof, "n/v", VPA_PROOF_EVICTION);
    ck_assert(b->opened == start - VPA_HOUR);
    ck_assert_str_eq(b->seen, "seen");
    judge("n/v", "g", VPA_VERDICT_CRASHING, until);
    ck_assert_int_eq(b->pause, restored[_i].next);
}

TEST(what_is_gone_is_forgotten) {
    judge("n/a", "a", VPA_VERDICT_NOT_PATCHED, start);
    judge("n/b", "b", VPA_VERDICT_NOT_PATCHED, start);
    sent("n/c", "c", start);
    vpa_proof_sweep(proof, is_a, NULL, start);
    ck_assert_int_eq(ask("n/a", "a", start), VPA_PERMIT_PAUSED);
    ck_assert_int_eq(ask("n/b", "b", start), VPA_PERMIT_FIRST);
    ck_assert_int_eq(ask("n/c", "c", start), VPA_PERMIT_FIRST);
    ck_assert_uint_eq(vpa_proof_open_count(proof), 1);
}
static void tried_dry(const char *vpa, vpa_time now)
{
    struct vpa_proof_id i = id(vpa, "g");

    i.dry_run = true;
    vpa_proof_judge(proof, &i, VPA_VERDICT_NOT_PATCHED, "what was seen", now);
}

/* After a pause a dry run decides as an eviction does, and those beside it decide nothing. */
TEST_TIMES(a_dry_run_that_fails_begins_the_next_pause, 2) {
    vpa_time later = start + VPA_PAUSE_FIRST;
    enum vpa_proof_permit paused = _i ? VPA_PERMIT_CLUSTER_PAUSED : VPA_PERMIT_NAMESPACE_PAUSED;
    const char *z = _i ? "z/v" : "a/z";

    failed("a/v", VPA_VERDICT_NOT_PATCHED);
    failed(_i ? "b/v" : "a/w", VPA_VERDICT_NOT_PATCHED);
    failed(_i ? "c/v" : "a/x", VPA_VERDICT_NOT_PATCHED);
    tried_dry(_i ? "d/v" : "a/y", start); /* begun before the pause */
    ck_assert_int_eq(ask(z, "g", later), VPA_PERMIT_FIRST);
    tried_dry(_i ? "e/v" : "a/1", later);
    tried_dry(_i ? "f/v" : "a/2", later);
    ck_assert_int_eq(ask(z, "g", later), paused);
    ck_assert_int_eq(ask(z, "g", later + 2 * VPA_PAUSE_FIRST - 1), paused);
    ck_assert_int_eq(ask(z, "g", later + 2 * VPA_PAUSE_FIRST), VPA_PERMIT_FIRST);
}

/* While a pod is on trial dry runs decide nothing. */
TEST(a_dry_run_decides_nothing_for_a_pod_on_trial) {
    vpa_time later = start + VPA_PAUSE_FIRST;

    failed("a/v", VPA_VERDICT_NOT_PATCHED);
    failed("a/w", VPA_VERDICT_NOT_PATCHED);
    failed("a/x", VPA_VERDICT_NOT_PATCHED);
    ck_assert(sent("a/z", "g", later));
    tried_dry("a/y", later);
    ck_assert_int_eq(ask("a/u", "g", later), VPA_PERMIT_WAITING);
}

int main(void)
{
    return run_tests("proof", setup, teardown);
}
