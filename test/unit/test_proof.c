/* Proofs and breakers: what may be done after what was seen. */
#include <check.h>
#include <stdlib.h>

#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/proof.h"

static struct vpa_proof *proof;
static const vpa_time start = 1000 * VPA_HOUR;

static void setup(void)
{
    proof = vpa_proof_new();
}

static void teardown(void)
{
    vpa_proof_free(proof);
}

static struct vpa_proof_id id(const char *vpa, const char *group)
{
    return (struct vpa_proof_id){vpa, group, VPA_PROOF_EVICTION, vpa_proof_start(proof)};
}

static enum vpa_proof_permit ask(const char *vpa, const char *group, vpa_time now)
{
    struct vpa_proof_id i = id(vpa, group);

    return vpa_proof_ask(proof, &i, now);
}

static bool sent(const char *vpa, const char *group, vpa_time now)
{
    struct vpa_proof_id i = id(vpa, group);

    return vpa_proof_sent(proof, &i, now);
}

static enum vpa_breaker_change judge(const char *vpa, const char *group, enum vpa_verdict verdict,
                                     vpa_time now)
{
    struct vpa_proof_id i = id(vpa, group);

    return vpa_proof_judge(proof, &i, verdict, "what was seen", now);
}

START_TEST(the_first_of_a_group_waits_then_all_are_free)
{
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_FIRST);
    ck_assert(sent("n/v", "g", start));
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_WAITING);
    ck_assert_int_eq(ask("n/v", "h", start), VPA_PERMIT_FIRST); /* each group its own */
    ck_assert_int_eq(ask("n/v", "g", start + VPA_HOUR), VPA_PERMIT_WAITING);
    ck_assert_int_eq(judge("n/v", "g", VPA_VERDICT_GOOD, start), VPA_BREAKER_SAME);
    ck_assert_int_eq(ask("n/v", "g", start + VPA_PROOF_AGE - 1), VPA_PERMIT_FREE);
    ck_assert(!sent("n/v", "g", start));
    ck_assert_int_eq(ask("n/v", "g", start + VPA_PROOF_AGE), VPA_PERMIT_FIRST);
}
END_TEST

START_TEST(what_was_refused_or_cannot_be_known_counts_for_nothing)
{
    struct vpa_proof_id i = id("n/v", "g");

    sent("n/v", "g", start);
    vpa_proof_refused(proof, &i);
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_FIRST);
    sent("n/v", "g", start);
    ck_assert_int_eq(judge("n/v", "g", VPA_VERDICT_VOID, start), VPA_BREAKER_SAME);
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_FIRST);
    ck_assert_uint_eq(vpa_proof_open_count(proof), 0);
}
END_TEST

START_TEST(a_failure_opens_and_the_pause_doubles_to_a_day)
{
    vpa_time now = start;
    vpa_duration pause = 10 * VPA_MINUTE;

    for (int i = 0; i < 12; i++) {
        ck_assert_int_eq(ask("n/v", "g", now), VPA_PERMIT_FIRST);
        ck_assert(sent("n/v", "g", now));
        ck_assert_int_eq(ask("n/v", "h", now), i ? VPA_PERMIT_WAITING : VPA_PERMIT_FIRST);
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
END_TEST

START_TEST(a_trial_without_outcome_is_followed_by_another)
{
    vpa_time later = start + VPA_PAUSE_FIRST;

    judge("n/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    sent("n/v", "g", later);
    ck_assert_int_eq(ask("n/v", "h", later), VPA_PERMIT_WAITING);
    judge("n/v", "g", VPA_VERDICT_VOID, later);
    ck_assert_int_eq(ask("n/v", "h", later), VPA_PERMIT_FIRST);
    ck_assert_uint_eq(vpa_proof_open_count(proof), 1);
}
END_TEST

START_TEST(a_late_success_closes)
{
    sent("n/v", "g", start);
    judge("n/v", "g", VPA_VERDICT_UNSCHEDULABLE, start);
    ck_assert_int_eq(judge("n/v", "g", VPA_VERDICT_GOOD, start + 1), VPA_BREAKER_CLOSED);
    ck_assert_int_eq(ask("n/v", "g", start + 1), VPA_PERMIT_FREE);
}
END_TEST

static size_t paused_namespaces(void)
{
    const struct vpa_breaker *newest;

    return vpa_proof_namespaces(proof, &newest);
}

/* Whoever owns a namespace has as many VPAs that cannot be helped as he likes. */
START_TEST(a_namespace_alone_stops_itself)
{
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
END_TEST

static bool none(void *ctx, const char *vpa)
{
    (void)ctx;
    (void)vpa;
    return false;
}

START_TEST(a_namespace_counts_once_whatever_becomes_of_its_vpas)
{
    for (int i = 0; i < 10; i++) {
        judge("n/a", "a", VPA_VERDICT_CRASHING, start);
        vpa_proof_sweep(proof, none, NULL, start);
    }
    ck_assert_ptr_null(vpa_proof_cluster(proof));
    judge("m/a", "a", VPA_VERDICT_GOOD, start); /* the row is over */
    vpa_proof_sweep(proof, none, NULL, start);
    ck_assert_uint_eq(paused_namespaces(), 0);
}
END_TEST

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

START_TEST(several_namespaces_in_a_row_open_the_clusters)
{
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
END_TEST

/* Else the same one, first by name, would fail for all of them each time. */
START_TEST(who_has_failed_lets_others_be_tried_first)
{
    vpa_time later = start + VPA_PAUSE_FIRST;

    stop_the_cluster();
    ck_assert_int_eq(ask("a/v", "g", later), VPA_PERMIT_CLUSTER_PAUSED);
    ck_assert_int_eq(ask("a/w", "g", later), VPA_PERMIT_CLUSTER_PAUSED);
    ck_assert_int_eq(ask("d/v", "g", later), VPA_PERMIT_FIRST);
    ck_assert_int_eq(ask("a/w", "g", later + VPA_PAUSE_FIRST), VPA_PERMIT_FIRST); /* nobody else */
}
END_TEST

/* A pod may take as long to end as it likes. */
static bool all_live(void *ctx, const char *vpa)
{
    (void)ctx;
    (void)vpa;
    return true;
}

/* Whoever may make namespaces could fail one trial after the other with fresh ones. */
START_TEST(where_evictions_have_helped_is_tried_first)
{
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
END_TEST

START_TEST(a_trial_that_does_not_end_is_followed_by_another)
{
    vpa_time later = start + VPA_PAUSE_FIRST;

    stop_the_cluster();
    ck_assert(sent("d/v", "g", later));
    ck_assert_int_eq(ask("e/v", "g", later + VPA_PAUSE_FIRST - 1), VPA_PERMIT_WAITING);
    ck_assert(sent("e/v", "g", later + VPA_PAUSE_FIRST));
    ck_assert_int_eq(ask("f/v", "g", later + VPA_PAUSE_FIRST), VPA_PERMIT_WAITING);
}
END_TEST

START_TEST(a_clock_that_was_ahead_makes_no_longer_pause)
{
    judge("n/v", "g", VPA_VERDICT_NOT_PATCHED, start + 10000 * VPA_HOUR);
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_FIRST);
    judge("m/v", "g", VPA_VERDICT_GOOD, start + 10000 * VPA_HOUR);
    ck_assert_int_eq(ask("m/v", "g", start), VPA_PERMIT_FIRST); /* proven, but when? */
}
END_TEST

START_TEST(a_good_proof_ends_a_row)
{
    judge("a/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    judge("b/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    judge("c/v", "g", VPA_VERDICT_GOOD, start);
    judge("d/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    judge("a/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    ck_assert_ptr_null(vpa_proof_cluster(proof));
    judge("b/v", "g", VPA_VERDICT_NOT_PATCHED, start);
    ck_assert_ptr_nonnull(vpa_proof_cluster(proof));
}
END_TEST

START_TEST(a_reason_that_is_gone_closes_at_once)
{
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
END_TEST

START_TEST(resizes_have_breakers_of_their_own)
{
    struct vpa_proof_id resize = {"n/v", "g", VPA_PROOF_RESIZE};

    vpa_proof_judge(proof, &resize, VPA_VERDICT_NOT_RESIZED, "Infeasible", start);
    ck_assert_int_eq(vpa_proof_ask(proof, &resize, start), VPA_PERMIT_PAUSED);
    ck_assert_int_eq(ask("n/v", "g", start), VPA_PERMIT_FIRST);
}
END_TEST

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

START_TEST(a_restored_breaker_is_tried_when_it_was_to_be)
{
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
END_TEST

static bool is_a(void *ctx, const char *vpa)
{
    (void)ctx;
    return vpa_str_eq(vpa, "n/a");
}

START_TEST(what_is_gone_is_forgotten)
{
    judge("n/a", "a", VPA_VERDICT_NOT_PATCHED, start);
    judge("n/b", "b", VPA_VERDICT_NOT_PATCHED, start);
    sent("n/c", "c", start);
    vpa_proof_sweep(proof, is_a, NULL, start);
    ck_assert_int_eq(ask("n/a", "a", start), VPA_PERMIT_PAUSED);
    ck_assert_int_eq(ask("n/b", "b", start), VPA_PERMIT_FIRST);
    ck_assert_int_eq(ask("n/c", "c", start), VPA_PERMIT_FIRST);
    ck_assert_uint_eq(vpa_proof_open_count(proof), 1);
}
END_TEST

/* ---- a webhook that was away ---- */

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

START_TEST(another_start_excuses)
{
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
END_TEST

/* The Lease of another program, which never says that it began anew. */
START_TEST(a_lease_without_a_start_excuses_nothing)
{
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
END_TEST

/* It is back already when the pod is looked at: no breaker at all. */
START_TEST(a_start_since_the_eviction_excuses_at_once)
{
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
END_TEST

START_TEST(the_same_start_renewed_excuses_nothing)
{
    lease(1, 1, start);
    unpatched("a/v", 1, start);
    unpatched("b/v", 1, start);
    unpatched("c/v", 1, start);
    ck_assert_uint_eq(lease(1, 2, start), 0);
    ck_assert_ptr_nonnull(vpa_proof_cluster(proof));
    ck_assert_uint_eq(vpa_proof_open_count(proof), 3);
    ck_assert_uint_eq(lease(2, 3, start), 0); /* too late */
}
END_TEST

/* The answer was that it does not patch there: whoever has it asked again keeps himself waiting. */
START_TEST(a_namespace_that_asks_again_holds_nobody_else)
{
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
END_TEST

/* What is not the webhook's is a failure whatever its Lease says. */
START_TEST(a_crash_is_not_excused)
{
    struct vpa_proof_id i = id("n/a", "g");

    lease(1, 1, start);
    i.start = start;
    ck_assert_int_eq(vpa_proof_judge(proof, &i, VPA_VERDICT_CRASHING, "", start),
                     VPA_BREAKER_OPENED);
    ck_assert_uint_eq(lease(2, 2, start), 0);
    ck_assert_int_eq(ask("n/a", "g", start), VPA_PERMIT_PAUSED);
    ck_assert_int_eq(ask("n/b", "g", start), VPA_PERMIT_FIRST);
}
END_TEST

/* However often it ends: each VPA three times, and three starts for all. */
START_TEST(excuses_are_few)
{
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
END_TEST

START_TEST(a_vpa_is_excused_thrice_a_day_though_others_are_patched)
{
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
END_TEST

/* A breaker that was open before is as it was, and not a pause longer. */
START_TEST(an_excused_trial_leaves_the_pause)
{
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
END_TEST

START_TEST(repairs_are_few_too)
{
    size_t closed = 0;

    for (int i = 0; i < 20; i++) {
        lease(i, i, start);
        judge("n/a", "g", VPA_VERDICT_NOT_PATCHED, start);
        closed += vpa_proof_repaired(proof);
    }
    ck_assert_uint_eq(closed, VPA_PROOF_EXCUSES);
    ck_assert_int_eq(ask("n/a", "g", start), VPA_PERMIT_PAUSED);
}
END_TEST

/* Whatever else became of the pod: values that it has were patched into it. */
START_TEST(a_pod_with_our_values_shows_that_the_webhook_works)
{
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
END_TEST

/* Nor does a resize, which the webhook has no part in. */
START_TEST(a_resize_shows_nothing_of_the_webhook)
{
    struct vpa_proof_id resize = {"n/b", "g", VPA_PROOF_RESIZE, start + 2};

    lease(2, 2, start);
    judge("n/good", "g", VPA_VERDICT_GOOD, start);
    ck_assert_int_eq(unpatched("n/a", 1, start), VPA_BREAKER_EXCUSED);
    vpa_proof_judge(proof, &resize, VPA_VERDICT_GOOD, "", start);
    ck_assert_int_eq(ask("n/good", "g", start), VPA_PERMIT_FIRST);
}
END_TEST

/* It went out before the cluster's breaker opened: neither is it the one pod that may go after the
 * pause, nor does the pause become longer by it. */
START_TEST(what_went_out_before_is_no_trial_of_the_cluster)
{
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
END_TEST

/* Of another VPA each time: one VPA has bounds of its own. */
static enum vpa_breaker_change other_unpatched(int number, int s)
{
    vpa_auto_free char *vpa = vpa_xprintf("n/other%d", number);

    return unpatched(vpa, s, start);
}

START_TEST(one_start_excuses_all_that_it_has_to)
{
    for (int s = 1; s <= VPA_PROOF_EXCUSES; s++) {
        lease(s, s, start);
        ck_assert_int_eq(other_unpatched(s, s - 1), VPA_BREAKER_EXCUSED);
    }
    ck_assert_int_eq(other_unpatched(10, 0), VPA_BREAKER_EXCUSED); /* by the third start as well */
    ck_assert_int_eq(other_unpatched(11, 0), VPA_BREAKER_EXCUSED);
    lease(VPA_PROOF_EXCUSES + 1, 10, start);
    ck_assert_int_eq(other_unpatched(12, 0), VPA_BREAKER_OPENED);
}
END_TEST

/* Also when the start is the one that had excused before the good proof. */
START_TEST(a_good_proof_begins_the_count_of_excuses_anew)
{
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
END_TEST

static void failed(const char *vpa, enum vpa_verdict verdict)
{
    judge(vpa, "g", verdict, start);
}

START_TEST(repairs_without_a_lease_are_few_too)
{
    for (int i = 0; i < VPA_PROOF_EXCUSES; i++) {
        failed("n/a", VPA_VERDICT_NOT_PATCHED);
        ck_assert_uint_eq(vpa_proof_repaired(proof), 1);
    }
    failed("n/a", VPA_VERDICT_NOT_PATCHED);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 0);
    ck_assert_int_eq(ask("n/a", "g", start), VPA_PERMIT_PAUSED);
}
END_TEST

/* All that it excused was under one start of the webhook. */
START_TEST(repairs_under_one_start_count_once)
{
    lease(1, 1, start);
    for (int i = 0; i < 3 * VPA_PROOF_EXCUSES; i++) {
        failed("n/a", VPA_VERDICT_NOT_PATCHED);
        ck_assert_uint_eq(vpa_proof_repaired(proof), 1);
    }
    lease(2, 2, start);
    failed("n/a", VPA_VERDICT_NOT_PATCHED);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 1);
}
END_TEST

START_TEST(a_repair_that_had_nothing_to_close_costs_nothing)
{
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
END_TEST

START_TEST(a_repair_closes_no_pause_that_is_not_the_webhooks)
{
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
END_TEST

START_TEST(a_repair_closes_the_pause_of_a_namespace_that_lacked_values)
{
    const struct vpa_breaker *newest;

    failed("a/v", VPA_VERDICT_NOT_PATCHED);
    failed("a/w", VPA_VERDICT_NOT_PATCHED);
    failed("a/x", VPA_VERDICT_PATCHED_BACK);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 1);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 4);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 0);
    ck_assert_int_eq(ask("a/z", "g", start), VPA_PERMIT_FIRST);
}
END_TEST

START_TEST(a_repair_closes_what_lacked_values_and_ends_the_row)
{
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
END_TEST

static void tried_dry(const char *vpa, vpa_time now)
{
    struct vpa_proof_id i = id(vpa, "g");

    i.dry_run = true;
    vpa_proof_judge(proof, &i, VPA_VERDICT_NOT_PATCHED, "what was seen", now);
}

/* After a pause a dry run decides as an eviction does, and those beside it decide nothing. */
START_TEST(a_dry_run_that_fails_begins_the_next_pause)
{
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
END_TEST

/* While a pod is on trial dry runs decide nothing. */
START_TEST(a_dry_run_decides_nothing_for_a_pod_on_trial)
{
    vpa_time later = start + VPA_PAUSE_FIRST;

    failed("a/v", VPA_VERDICT_NOT_PATCHED);
    failed("a/w", VPA_VERDICT_NOT_PATCHED);
    failed("a/x", VPA_VERDICT_NOT_PATCHED);
    ck_assert(sent("a/z", "g", later));
    tried_dry("a/y", later);
    ck_assert_int_eq(ask("a/u", "g", later), VPA_PERMIT_WAITING);
}
END_TEST

/* What was the webhook's is no part of a row any more, what was not stays in it. */
START_TEST(a_repair_takes_what_was_the_webhooks_out_of_the_rows)
{
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
END_TEST

/* Also of VPAs whose breaker was closed since, because they were edited or are gone. */
START_TEST(a_repair_takes_out_those_whose_breaker_is_closed)
{
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
END_TEST

/* What has failed for a reason of its own stays, whatever was asked of it since. */
START_TEST(a_repair_leaves_a_crash_in_the_row)
{
    const struct vpa_breaker *newest;

    vpa_proof_webhook(proof, start, 1, start);
    failed("a/v", VPA_VERDICT_CRASHING);
    failed("a/v", VPA_VERDICT_NOT_PATCHED); /* a question */
    vpa_proof_repaired(proof);
    failed("a/w", VPA_VERDICT_CRASHING);
    failed("a/x", VPA_VERDICT_CRASHING);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 1);
}
END_TEST

/* A namespace that is no part of the row any more is tried first again if evictions helped in it.
 */
START_TEST(a_repair_lets_those_go_first_that_were_helped)
{
    judge("a/v", "g", VPA_VERDICT_GOOD, start);
    failed("a/w", VPA_VERDICT_NOT_PATCHED);
    ck_assert_uint_eq(vpa_proof_repaired(proof), 1);
    failed("b/v", VPA_VERDICT_CRASHING);
    failed("c/v", VPA_VERDICT_CRASHING);
    failed("d/v", VPA_VERDICT_CRASHING);
    ck_assert_int_eq(ask("a/v", "h", start + VPA_PAUSE_FIRST), VPA_PERMIT_FIRST);
    ck_assert_int_eq(ask("e/v", "h", start + VPA_PAUSE_FIRST), VPA_PERMIT_CLUSTER_PAUSED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("proof");
    TCase *tc = tcase_create("proof");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_first_of_a_group_waits_then_all_are_free);
    tcase_add_test(tc, what_was_refused_or_cannot_be_known_counts_for_nothing);
    tcase_add_test(tc, a_failure_opens_and_the_pause_doubles_to_a_day);
    tcase_add_test(tc, a_trial_without_outcome_is_followed_by_another);
    tcase_add_test(tc, a_late_success_closes);
    tcase_add_test(tc, a_namespace_alone_stops_itself);
    tcase_add_test(tc, a_namespace_counts_once_whatever_becomes_of_its_vpas);
    tcase_add_test(tc, several_namespaces_in_a_row_open_the_clusters);
    tcase_add_test(tc, who_has_failed_lets_others_be_tried_first);
    tcase_add_loop_test(tc, where_evictions_have_helped_is_tried_first, 0, 3);
    tcase_add_test(tc, a_trial_that_does_not_end_is_followed_by_another);
    tcase_add_test(tc, a_clock_that_was_ahead_makes_no_longer_pause);
    tcase_add_test(tc, a_good_proof_ends_a_row);
    tcase_add_test(tc, a_reason_that_is_gone_closes_at_once);
    tcase_add_test(tc, resizes_have_breakers_of_their_own);
    tcase_add_loop_test(tc, a_restored_breaker_is_tried_when_it_was_to_be, 0, VPA_COUNT(restored));
    tcase_add_test(tc, what_is_gone_is_forgotten);
    tcase_add_test(tc, another_start_excuses);
    tcase_add_test(tc, a_lease_without_a_start_excuses_nothing);
    tcase_add_test(tc, a_start_since_the_eviction_excuses_at_once);
    tcase_add_test(tc, the_same_start_renewed_excuses_nothing);
    tcase_add_test(tc, a_namespace_that_asks_again_holds_nobody_else);
    tcase_add_test(tc, a_crash_is_not_excused);
    tcase_add_test(tc, excuses_are_few);
    tcase_add_test(tc, a_vpa_is_excused_thrice_a_day_though_others_are_patched);
    tcase_add_test(tc, an_excused_trial_leaves_the_pause);
    tcase_add_test(tc, repairs_are_few_too);
    tcase_add_loop_test(tc, a_pod_with_our_values_shows_that_the_webhook_works, VPA_VERDICT_GOOD,
                        VPA_VERDICTS);
    tcase_add_test(tc, a_resize_shows_nothing_of_the_webhook);
    tcase_add_test(tc, what_went_out_before_is_no_trial_of_the_cluster);
    tcase_add_test(tc, one_start_excuses_all_that_it_has_to);
    tcase_add_test(tc, a_good_proof_begins_the_count_of_excuses_anew);
    tcase_add_test(tc, repairs_without_a_lease_are_few_too);
    tcase_add_test(tc, repairs_under_one_start_count_once);
    tcase_add_test(tc, a_repair_that_had_nothing_to_close_costs_nothing);
    tcase_add_test(tc, a_repair_closes_no_pause_that_is_not_the_webhooks);
    tcase_add_test(tc, a_repair_closes_the_pause_of_a_namespace_that_lacked_values);
    tcase_add_test(tc, a_repair_closes_what_lacked_values_and_ends_the_row);
    tcase_add_test(tc, a_repair_takes_what_was_the_webhooks_out_of_the_rows);
    tcase_add_loop_test(tc, a_repair_takes_out_those_whose_breaker_is_closed, 0, 3);
    tcase_add_test(tc, a_repair_leaves_a_crash_in_the_row);
    tcase_add_loop_test(tc, a_dry_run_that_fails_begins_the_next_pause, 0, 2);
    tcase_add_test(tc, a_dry_run_decides_nothing_for_a_pod_on_trial);
    tcase_add_test(tc, a_repair_lets_those_go_first_that_were_helped);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
