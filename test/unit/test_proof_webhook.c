/* Breakers and a webhook that was away, or was repaired: what that excuses, and what not. */
#include "breaker_fixture.h"

/* A pass: the Lease of the webhook, renewed n times, whose start is s. */
static size_t lease(int s, int n, vpa_time now)
{
    return vpa_proof_webhook(proof, start + s, n, now);
}

static enum vpa_breaker_change unpatched(const char *vpa, int s, vpa_time now)
{
    struct vpa_proof_id i = id(vpa, "g");

    i.start = start + s;
    return vpa_proof_judge(proof, &i, VPA_VERDICT_NOT_PATCHED, "what was seen", now);
}

TEST(another_start_excuses) {
    static const char *const vpas[] = {"n/a", "n/b", "n/c", "n/d"};

    lease(1, 1, start);
    for (size_t i = 0; i < VPA_COUNT(vpas); i++)
        ck_assert(sent(vpas[i], "g", start));
    for (size_t i = 0; i < VPA_COUNT(vpas); i++)
        ck_assert_int_eq(unpatched(vpas[i], 1, start), VPA_BREAKER_OPENED);
    lease(1, 1, start); /* not renewed: nothing is known, and nothing sent */
    ck_assert_ptr_null(vpa_proof_cluster(proof));
    ck_assert_int_eq(ask("n/a", "g", start), VPA_PERMIT_PAUSED);
    ck_assert_int_eq(ask("n/z", "g", start), VPA_PERMIT_WAITING);
    ck_assert_uint_eq(lease(2, 2, start), VPA_COUNT(vpas));
    ck_assert_ptr_null(vpa_proof_cluster(proof));
    ck_assert_uint_eq(vpa_proof_open_count(proof), 0);
    ck_assert(sent("n/a", "g", start)); /* one pod in the whole cluster */
    ck_assert_int_eq(ask("n/b", "g", start), VPA_PERMIT_WAITING);
    ck_assert_int_eq(judge("n/a", "g", VPA_VERDICT_GOOD, start), VPA_BREAKER_SAME);
    ck_assert_int_eq(ask("n/b", "g", start), VPA_PERMIT_FIRST);
    ck_assert_int_eq(ask("n/a", "g", start), VPA_PERMIT_FREE);
}

/* The Lease of another program, which never says that it began anew. */
TEST(a_lease_without_a_start_excuses_nothing) {
    static const char *const vpas[] = {"a/v", "b/v", "c/v"};

    for (size_t i = 0; i < VPA_COUNT(vpas); i++) {
        struct vpa_proof_id about = id(vpas[i], "g");

        about.start = VPA_TIME_UNSET;
        vpa_proof_webhook(proof, VPA_TIME_UNSET, 1, start); /* not even renewed */
        ck_assert_ptr_null(vpa_proof_cluster(proof));
        ck_assert(sent(vpas[i], "g", start));
        ck_assert_int_eq(
            vpa_proof_judge(proof, &about, VPA_VERDICT_NOT_PATCHED, "what was seen", start),
            VPA_BREAKER_OPENED);
        ck_assert_int_eq(ask("n/z", "g", start),
                         i < 2 ? VPA_PERMIT_FIRST : VPA_PERMIT_CLUSTER_PAUSED);
    }
    ck_assert_uint_eq(vpa_proof_webhook(proof, VPA_TIME_UNSET, 2, start), 0);
    ck_assert_ptr_nonnull(vpa_proof_cluster(proof));
}

/* It is back already when the pod is looked at: no breaker at all. */
TEST(a_start_since_the_eviction_excuses_at_once) {
    lease(1, 1, start);
    sent("n/a", "g", start);
    lease(2, 2, start);
    ck_assert_int_eq(unpatched("n/a", 1, start), VPA_BREAKER_EXCUSED);
    ck_assert_uint_eq(vpa_proof_open_count(proof), 0);
    ck_assert(sent("n/a", "g", start));
    ck_assert_int_eq(ask("n/b", "g", start), VPA_PERMIT_WAITING);
    ck_assert_int_eq(ask("n/b", "g", start + VPA_PAUSE_FIRST), VPA_PERMIT_FIRST); /* too long */
    vpa_proof_patched(proof); /* and is not ready yet */
    ck_assert_int_eq(ask("n/b", "g", start), VPA_PERMIT_FIRST);
}

TEST(the_same_start_renewed_excuses_nothing) {
    lease(1, 1, start);
    unpatched("a/v", 1, start);
    unpatched("b/v", 1, start);
    unpatched("c/v", 1, start);
    ck_assert_uint_eq(lease(1, 2, start), 0);
    ck_assert_ptr_nonnull(vpa_proof_cluster(proof));
    ck_assert_uint_eq(vpa_proof_open_count(proof), 3);
    ck_assert_uint_eq(lease(2, 3, start), 0); /* too late */
}

/* The answer was that it does not patch there: whoever has it asked again keeps himself waiting. */
TEST(a_namespace_that_asks_again_holds_nobody_else) {
    lease(1, 1, start);
    unpatched("n/a", 1, start);
    ck_assert_int_eq(ask("m/z", "g", start), VPA_PERMIT_WAITING);
    lease(1, 2, start);
    ck_assert_int_eq(ask("m/z", "g", start), VPA_PERMIT_FIRST);
    unpatched("n/b", 1, start);
    ck_assert_int_eq(ask("n/z", "g", start), VPA_PERMIT_WAITING);
    ck_assert_int_eq(ask("m/z", "g", start), VPA_PERMIT_FIRST);
    unpatched("m/y", 1, start); /* one that was not asked for yet */
    ck_assert_int_eq(ask("l/z", "g", start), VPA_PERMIT_WAITING);
    lease(1, 3, start);
    ck_assert_int_eq(ask("l/z", "g", start), VPA_PERMIT_FIRST);
    ck_assert_int_eq(ask("n/z", "g", start), VPA_PERMIT_FIRST);
}

/* What is not the webhook's is a failure whatever its Lease says. */
TEST(a_crash_is_not_excused) {
    struct vpa_proof_id i = id("n/a", "g");

    lease(1, 1, start);
    i.start = start;
    ck_assert_int_eq(vpa_proof_judge(proof, &i, VPA_VERDICT_CRASHING, "", start),
                     VPA_BREAKER_OPENED);
    ck_assert_uint_eq(lease(2, 2, start), 0);
    ck_assert_int_eq(ask("n/a", "g", start), VPA_PERMIT_PAUSED);
    ck_assert_int_eq(ask("n/b", "g", start), VPA_PERMIT_FIRST);
}

/* However often it ends: each VPA three times, and three starts for all. */
TEST(excuses_are_few) {
    int useless = 0;
    vpa_time now = start;

    for (int s = 1; s <= 100; s++, now += VPA_MINUTE) {
        vpa_auto_free char *vpa = vpa_xprintf("%d/v", s % 10);

        lease(s, s, now);
        if (!sent(vpa, "g", now))
            continue;
        useless++;
        lease(s + 1, s + 1, now);
        unpatched(vpa, s, now);
    }
    ck_assert_ptr_nonnull(vpa_proof_cluster(proof));
    ck_assert_int_le(useless, VPA_PROOF_EXCUSES + VPA_PROOF_ROW + 3);
}

TEST(a_vpa_is_excused_thrice_a_day_though_others_are_patched) {
    int excused = 0;

    for (int s = 1; s <= 50; s++) {
        lease(s, s, start);
        excused += unpatched("n/a", s - 1, start) == VPA_BREAKER_EXCUSED;
        vpa_proof_sweep(proof, is_a, NULL, start);
        judge("n/b", "g", VPA_VERDICT_GOOD, start);
    }
    ck_assert_int_eq(excused, VPA_PROOF_EXCUSES);
    ck_assert_int_eq(ask("n/a", "g", start), VPA_PERMIT_PAUSED);
    vpa_proof_reset(proof, "n/a");
    vpa_proof_sweep(proof, is_a, NULL, start + VPA_PAUSE_LONGEST);
    ck_assert_int_eq(unpatched("n/a", 1, start + VPA_PAUSE_LONGEST), VPA_BREAKER_EXCUSED);
}

/* A webhook that ends once takes one excuse of a VPA, be it of ever so many groups. */
TEST(one_start_excuses_all_groups_of_a_vpa) {
    static const char *const groups[] = {"a", "b", "c", "d", "e"};
    struct vpa_proof_id ids[VPA_COUNT(groups)];

    for (int s = 1; s <= VPA_PROOF_EXCUSES + 1; s++) {
        bool few = s <= VPA_PROOF_EXCUSES;

        lease(s, s, start);
        for (size_t i = 0; i < VPA_COUNT(groups); i++)
            ids[i] = id("n/a", groups[i]);
        lease(s + 1, s + 1, start);
        for (size_t i = 0; i < VPA_COUNT(groups); i++)
            ck_assert_int_eq(vpa_proof_judge(proof, &ids[i], VPA_VERDICT_NOT_PATCHED, "", start),
                             few      ? VPA_BREAKER_EXCUSED
                             : i == 0 ? VPA_BREAKER_OPENED
                                      : VPA_BREAKER_NOTED);
    }
}

/* After an excuse its next trial decides, and what went out before the excused one does not. */
TEST(a_trial_after_an_excused_one_decides) {
    vpa_time later = start + VPA_PAUSE_FIRST;
    struct vpa_proof_id before;

    lease(1, 1, start);
    judge("n/a", "g", VPA_VERDICT_CRASHING, start);
    before = id("n/a", "h"); /* put aside while it was open */
    ck_assert(sent("n/a", "g", later));
    unpatched("n/a", 1, later);
    ck_assert_uint_eq(lease(2, 2, later), 1);
    ck_assert_int_eq(vpa_proof_judge(proof, &before, VPA_VERDICT_CRASHING, "", later),
                     VPA_BREAKER_NOTED);
    ck_assert(sent("n/a", "i", later));
    ck_assert_int_eq(judge("n/a", "i", VPA_VERDICT_CRASHING, later), VPA_BREAKER_OPENED);
}

/* A breaker that was open before is as it was, and not a pause longer. */
TEST(an_excused_trial_leaves_the_pause) {
    vpa_time later = start + VPA_PAUSE_FIRST;

    lease(1, 1, start);
    judge("n/a", "g", VPA_VERDICT_CRASHING, start);
    ck_assert(sent("n/a", "g", later));
    unpatched("n/a", 1, later);
    ck_assert_int_eq(vpa_proof_breaker(proof, "n/a", VPA_PROOF_EVICTION)->pause,
                     2 * VPA_PAUSE_FIRST);
    ck_assert_uint_eq(lease(2, 2, later), 1);
    ck_assert_int_eq(vpa_proof_breaker(proof, "n/a", VPA_PROOF_EVICTION)->pause, VPA_PAUSE_FIRST);
    ck_assert_int_eq(ask("n/a", "g", later), VPA_PERMIT_FIRST);
    ck_assert_int_eq(ask("n/b", "g", later), VPA_PERMIT_FIRST);
}

/* Nor does what went out before it opened shorten it. */
TEST(an_excused_failure_of_before_leaves_the_pause) {
    struct vpa_proof_id before = id("n/a", "h");

    lease(1, 1, start);
    before.start = start + 1;
    judge("n/a", "g", VPA_VERDICT_CRASHING, start);
    vpa_proof_judge(proof, &before, VPA_VERDICT_NOT_PATCHED, "late", start + 1);
    ck_assert_uint_eq(lease(2, 2, start + 2), 1);
    ck_assert_int_eq(ask("n/a", "g", start + VPA_PAUSE_FIRST - 1), VPA_PERMIT_PAUSED);
    ck_assert_int_eq(ask("n/a", "g", start + VPA_PAUSE_FIRST), VPA_PERMIT_FIRST);
}

TEST(repairs_are_few_too) {
    size_t closed = 0;

    for (int i = 0; i < 20; i++) {
        lease(i, i, start);
        judge("n/a", "g", VPA_VERDICT_NOT_PATCHED, start);
        closed += vpa_proof_repaired(proof);
    }
    ck_assert_uint_eq(closed, VPA_PROOF_EXCUSES);
    ck_assert_int_eq(ask("n/a", "g", start), VPA_PERMIT_PAUSED);
}

/* Whatever else became of the pod: values that it has were patched into it. */
TEST_RANGE(a_pod_with_our_values_shows_that_the_webhook_works, VPA_VERDICT_GOOD, VPA_VERDICTS) {
    enum vpa_verdict verdict = (enum vpa_verdict)_i;
    bool shows = verdict == VPA_VERDICT_GOOD || verdict == VPA_VERDICT_UNSCHEDULABLE ||
                 verdict == VPA_VERDICT_CRASHING || verdict == VPA_VERDICT_NOT_READY;

    lease(2, 2, start);
    judge("n/good", "g", VPA_VERDICT_GOOD, start);
    ck_assert_int_eq(unpatched("n/a", 1, start), VPA_BREAKER_EXCUSED);
    ck_assert_int_eq(ask("n/good", "g", start), VPA_PERMIT_FIRST); /* careful from here on */
    judge("n/b", "g", verdict, start);
    lease(2, 3, start); /* answers the question of what was not patched */
    ck_assert_int_eq(ask("n/good", "g", start), shows ? VPA_PERMIT_FREE : VPA_PERMIT_FIRST);
}

/* Nor does a resize, which the webhook has no part in. */
TEST(a_resize_shows_nothing_of_the_webhook) {
    struct vpa_proof_id resize = {"n/b", "g", VPA_PROOF_RESIZE, start + 2};

    lease(2, 2, start);
    judge("n/good", "g", VPA_VERDICT_GOOD, start);
    ck_assert_int_eq(unpatched("n/a", 1, start), VPA_BREAKER_EXCUSED);
    vpa_proof_judge(proof, &resize, VPA_VERDICT_GOOD, "", start);
    ck_assert_int_eq(ask("n/good", "g", start), VPA_PERMIT_FIRST);
}

/* It went out before the cluster's breaker opened: neither is it the one pod that may go after the
 * pause, nor does the pause become longer by it. */
TEST(what_went_out_before_is_no_trial_of_the_cluster) {
    vpa_time later = start + VPA_PAUSE_FIRST;

    ck_assert(sent("z/v", "g", start));
    judge("a/v", "g", VPA_VERDICT_CRASHING, start);
    judge("b/v", "g", VPA_VERDICT_CRASHING, start);
    judge("c/v", "g", VPA_VERDICT_CRASHING, start);
    ck_assert_int_eq(vpa_proof_cluster(proof)->pause, VPA_PAUSE_FIRST);
    judge("z/v", "g", VPA_VERDICT_CRASHING, start);
    ck_assert_int_eq(vpa_proof_cluster(proof)->pause, VPA_PAUSE_FIRST);
    ck_assert(sent("y/v", "g", later));
    ck_assert(vpa_proof_cluster(proof)->trial);
    judge("x/v", "g", VPA_VERDICT_VOID, later); /* another one's end frees nothing */
    ck_assert(vpa_proof_cluster(proof)->trial);
    judge("y/v", "g", VPA_VERDICT_CRASHING, later);
    ck_assert_int_eq(vpa_proof_cluster(proof)->pause, 2 * VPA_PAUSE_FIRST);
}

/* Of another VPA each time: one VPA has bounds of its own. */
static enum vpa_breaker_change other_unpatched(int number, int s)
{
    vpa_auto_free char *vpa = vpa_xprintf("n/other%d", number);

    return unpatched(vpa, s, start);
}

TEST(one_start_excuses_all_that_it_has_to) {
    for (int s = 1; s <= VPA_PROOF_EXCUSES; s++) {
        lease(s, s, start);
        ck_assert_int_eq(other_unpatched(s, s - 1), VPA_BREAKER_EXCUSED);
    }
    ck_assert_int_eq(other_unpatched(10, 0), VPA_BREAKER_EXCUSED); /* by the third start as well */
    ck_assert_int_eq(other_unpatched(11, 0), VPA_BREAKER_EXCUSED);
    lease(VPA_PROOF_EXCUSES + 1, 10, start);
    ck_assert_int_eq(other_unpatched(12, 0), VPA_BREAKER_OPENED);
}

/* Also when the start is the one that had excused before the good proof. */
TEST(a_good_proof_begins_the_count_of_excuses_anew) {
    lease(1, 1, start);
    ck_assert_int_eq(other_unpatched(0, 0), VPA_BREAKER_EXCUSED);
    judge("n/good", "g", VPA_VERDICT_GOOD, start);
    for (int s = 1; s <= VPA_PROOF_EXCUSES; s++) {
        lease(s, s, start);
        ck_assert_int_eq(other_unpatched(s, s - 1), VPA_BREAKER_EXCUSED);
    }
    lease(VPA_PROOF_EXCUSES + 1, 10, start);
    ck_assert_int_eq(other_unpatched(10, 0), VPA_BREAKER_OPENED);
}

TEST(repairs_without_a_lease_are_few_too) {
    for (int i = 0; i < VPA_PROOF_EXCUSES; i++) {
        failed("n/a", VPA_VERDICT_NOT_PATCHED);
        ck_assert_uint_eq(vpa_proof_repaired(proof), 1);
    }
    failed("n/a", VPA_VERDICT_NOT_PATCHED);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 0);
    ck_assert_int_eq(ask("n/a", "g", start), VPA_PERMIT_PAUSED);
}

/* All that it excused was under one start of the webhook. */
TEST(repairs_under_one_start_count_once) {
    lease(1, 1, start);
    for (int i = 0; i < 3 * VPA_PROOF_EXCUSES; i++) {
        failed("n/a", VPA_VERDICT_NOT_PATCHED);
        ck_assert_uint_eq(vpa_proof_repaired(proof), 1);
    }
    lease(2, 2, start);
    failed("n/a", VPA_VERDICT_NOT_PATCHED);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 1);
}

TEST(a_repair_that_had_nothing_to_close_costs_nothing) {
    judge("n/a", "g", VPA_VERDICT_GOOD, start);
    for (int i = 0; i < 2 * VPA_PROOF_EXCUSES; i++) {
        lease(i, i, start);
        ck_assert_uint_eq(vpa_proof_repaired(proof), 0);
    }
    ck_assert_int_eq(ask("n/a", "g", start), VPA_PERMIT_FREE); /* and nobody need be careful */
    failed("n/b", VPA_VERDICT_NOT_PATCHED);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 1);
    ck_assert_int_eq(ask("n/a", "g", start), VPA_PERMIT_FIRST);
}

TEST(a_repair_closes_no_pause_that_is_not_the_webhooks) {
    const struct vpa_breaker *newest;

    failed("a/v", VPA_VERDICT_CRASHING);
    failed("a/w", VPA_VERDICT_CRASHING);
    failed("a/x", VPA_VERDICT_UNSCHEDULABLE);
    failed("b/v", VPA_VERDICT_NOT_PATCHED);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 1);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 1);
    ck_assert_int_eq(ask("a/z", "g", start), VPA_PERMIT_NAMESPACE_PAUSED);
    failed("c/v", VPA_VERDICT_NOT_READY);
    failed("d/v", VPA_VERDICT_NOT_READY);
    ck_assert_ptr_nonnull(vpa_proof_cluster(proof));
    ck_assert_uint_eq(vpa_proof_repaired(proof), 0);
    ck_assert_ptr_nonnull(vpa_proof_cluster(proof));
    ck_assert_uint_eq(vpa_proof_open_count(proof), 5);
    ck_assert_int_eq(ask("z/v", "g", start), VPA_PERMIT_CLUSTER_PAUSED);
}

TEST(a_repair_closes_the_pause_of_a_namespace_that_lacked_values) {
    const struct vpa_breaker *newest;

    failed("a/v", VPA_VERDICT_NOT_PATCHED);
    failed("a/w", VPA_VERDICT_NOT_PATCHED);
    failed("a/x", VPA_VERDICT_PATCHED_BACK);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 1);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 4);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 0);
    ck_assert_int_eq(ask("a/z", "g", start), VPA_PERMIT_FIRST);
}

TEST(a_repair_closes_what_lacked_values_and_ends_the_row) {
    failed("a/v", VPA_VERDICT_NOT_PATCHED);
    failed("b/v", VPA_VERDICT_PATCHED_BACK);
    failed("c/v", VPA_VERDICT_NOT_PATCHED);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 4); /* and the cluster's */
    ck_assert_uint_eq(vpa_proof_open_count(proof), 0);
    failed("a/v", VPA_VERDICT_NOT_PATCHED);
    failed("b/v", VPA_VERDICT_NOT_PATCHED);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 2);
    failed("a/v", VPA_VERDICT_NOT_PATCHED); /* a row begins with these */
    failed("b/v", VPA_VERDICT_NOT_PATCHED);
    ck_assert_ptr_null(vpa_proof_cluster(proof));
    failed("c/v", VPA_VERDICT_NOT_PATCHED);
    ck_assert_ptr_nonnull(vpa_proof_cluster(proof));
}

/* What was the webhook's is no part of a row any more, what was not stays in it. */
TEST(a_repair_takes_what_was_the_webhooks_out_of_the_rows) {
    const struct vpa_breaker *newest;

    failed("a/v", VPA_VERDICT_NOT_PATCHED);
    failed("a/w", VPA_VERDICT_NOT_PATCHED);
    failed("b/v", VPA_VERDICT_NOT_PATCHED);
    failed("b/w", VPA_VERDICT_CRASHING);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 3);
    failed("a/x", VPA_VERDICT_CRASHING);
    failed("b/x", VPA_VERDICT_CRASHING);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 0);
    ck_assert_ptr_null(vpa_proof_cluster(proof));
    failed("b/y", VPA_VERDICT_CRASHING);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 1);
    failed("c/v", VPA_VERDICT_CRASHING);
    ck_assert_ptr_nonnull(vpa_proof_cluster(proof));
}

/* Also of VPAs whose breaker was closed since, because they were edited or are gone. */
TEST_TIMES(a_repair_takes_out_those_whose_breaker_is_closed, 3) {
    const struct vpa_breaker *newest;

    failed("a/v", VPA_VERDICT_NOT_PATCHED);
    failed("a/w", VPA_VERDICT_PATCHED_BACK);
    failed("b/v", VPA_VERDICT_NOT_PATCHED);
    vpa_proof_reset(proof, "a/v");
    vpa_proof_reset(proof, "a/w");
    if (_i)
        vpa_proof_sweep(proof, _i == 1 ? all_live : none, NULL, start);
    vpa_proof_repaired(proof);
    failed("a/x", VPA_VERDICT_CRASHING);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 0);
    failed("c/v", VPA_VERDICT_CRASHING);
    ck_assert_ptr_null(vpa_proof_cluster(proof));
    failed("a/y", VPA_VERDICT_CRASHING);
    failed("a/z", VPA_VERDICT_CRASHING);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 1);
}

/* What has failed for a reason of its own stays, whatever was asked of it since. */
TEST(a_repair_leaves_a_crash_in_the_row) {
    const struct vpa_breaker *newest;

    vpa_proof_webhook(proof, start, 1, start);
    failed("a/v", VPA_VERDICT_CRASHING);
    failed("a/v", VPA_VERDICT_NOT_PATCHED); /* a question */
    vpa_proof_repaired(proof);
    failed("a/w", VPA_VERDICT_CRASHING);
    failed("a/x", VPA_VERDICT_CRASHING);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 1);
}

/* A namespace that is no part of the row any more is tried first again if evictions helped in it.
 */
TEST(a_repair_lets_those_go_first_that_were_helped) {
    judge("a/v", "g", VPA_VERDICT_GOOD, start);
    failed("a/w", VPA_VERDICT_NOT_PATCHED);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 1);
    failed("b/v", VPA_VERDICT_CRASHING);
    failed("c/v", VPA_VERDICT_CRASHING);
    failed("d/v", VPA_VERDICT_CRASHING);
    ck_assert_int_eq(ask("a/v", "h", start + VPA_PAUSE_FIRST), VPA_PERMIT_FIRST);
    ck_assert_int_eq(ask("e/v", "h", start + VPA_PAUSE_FIRST), VPA_PERMIT_CLUSTER_PAUSED);
}

int main(void)
{
    return run_tests("proof_webhook", setup, teardown);
}
