/* Leader election where the golden vectors do not reach: races, cut-offs, release. */
#include "lease_fixture.h"

#include <stdio.h>

#include "captured_log.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/daemon/leader.h"
#include "vpa/kube/elector.h"

struct candidate {
    struct vpa_elector *elector;
    int started, lost;
    int64_t started_at, lost_at;
};

static void on_started(void *ctx)
{
    struct candidate *c = ctx;

    c->started++;
    c->started_at = vpa_loop_monotonic(loop);
}

static void on_lost(void *ctx)
{
    struct candidate *c = ctx;

    c->lost++;
    c->lost_at = vpa_loop_monotonic(loop);
}

static struct candidate candidate(struct candidate *c, const char *identity)
{
    const struct vpa_elector_options options = {.client = client,
                                                .ns = "n",
                                                .name = "l",
                                                .identity = identity,
                                                .lease_duration = 15 * VPA_SECOND,
                                                .renew_deadline = 10 * VPA_SECOND,
                                                .retry_period = 2 * VPA_SECOND,
                                                .ctx = c,
                                                .on_started = on_started,
                                                .on_lost = on_lost};

    *c = (struct candidate){.elector = vpa_elector_new(&options)};
    vpa_elector_start(c->elector);
    return *c;
}

TEST(one_of_three_leads) {
    struct candidate c[3];
    static const char *const names[] = {"a", "b", "c"};

    for (int i = 0; i < 3; i++)
        candidate(&c[i], names[i]);
    vpa_loop_pump(loop, 10 * VPA_MINUTE);
    int leaders = 0;
    for (int i = 0; i < 3; i++) {
        leaders += vpa_elector_is_leader(c[i].elector);
        ck_assert_int_eq(c[i].lost, 0);
    }
    ck_assert_int_eq(leaders, 1);
    ck_assert_int_eq(c[0].started + c[1].started + c[2].started, 1);
    for (int i = 0; i < 3; i++)
        vpa_elector_free(c[i].elector);
}

/* As long as another leads, or nobody answers, it asks once in two to four and a half seconds, at
 * random, so that the standbys of a failed leader do not come all at once. */
TEST_TIMES(a_standby_asks_at_its_pace, 2) {
    struct candidate c;

    if (_i == 0)
        put_lease("x", 36000);
    else
        cut = VPA_TRANSPORT_REFUSED;
    candidate(&c, "a");
    vpa_loop_pump(loop, 10 * VPA_MINUTE);
    ck_assert_int_eq(c.started, 0);
    ck_assert_uint_ge(requests, 600 * 10 / 45);
    ck_assert_uint_le(requests, 600 * 10 / 25); /* far from once in two seconds */
    vpa_elector_free(c.elector);
}

/* The leader is killed and comes back at once. It first sees the old record a moment before the
 * standby did, as chance may have it, and yet the standby leads. */
TEST(who_yields_leads_after_the_others) {
    struct candidate standby, newcomer;

    put_lease("x", 15);
    candidate(&newcomer, "newcomer");
    vpa_elector_yield(newcomer.elector, true);
    vpa_loop_pump(loop, 2 * VPA_SECOND);
    candidate(&standby, "standby");
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert(vpa_elector_is_leader(standby.elector));
    ck_assert_int_eq(newcomer.started, 0);
    vpa_elector_free(standby.elector); /* this one goes, too; the record is another one by now */
    int64_t gone = vpa_loop_monotonic(loop);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert(vpa_elector_is_leader(newcomer.elector));
    ck_assert_int_le(newcomer.started_at - gone, 20 * VPA_SECOND);
    vpa_elector_free(newcomer.elector);
}

/* (yields, until when it said so in seconds, leads after at least and at most so many) */
static const struct {
    bool yields;
    int seconds;
    int64_t at_least, at_most;
} yielding[] = {
    {false, 0, 15, 20},
    {true, 60, 30, 35},
    {true, 5, 15, 20},
    {true, 20, 20, 25},
};

TEST_EACH(yielding_ends, yielding) {
    struct candidate c;

    put_lease("x", 15);
    int64_t begin = vpa_loop_monotonic(loop);
    candidate(&c, "a");
    vpa_elector_yield(c.elector, yielding[_i].yields);
    vpa_loop_pump(loop, yielding[_i].seconds * VPA_SECOND);
    vpa_elector_yield(c.elector, false);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(c.started, 1);
    ck_assert_int_ge(c.started_at - begin, yielding[_i].at_least * VPA_SECOND);
    ck_assert_int_le(c.started_at - begin, yielding[_i].at_most * VPA_SECOND);
    vpa_elector_free(c.elector);
}

/* Nobody is there to whom it could yield. */
TEST_TIMES(a_lease_that_was_given_back_is_taken_at_once, 2) {
    struct candidate c;

    if (_i == 1)
        put_lease("", 1);
    candidate(&c, "a");
    vpa_elector_yield(c.elector, true);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert(vpa_elector_is_leader(c.elector));
    vpa_elector_free(c.elector);
}

static void stop_loop(void *ctx)
{
    (void)ctx;
    vpa_loop_stop(loop);
}

/* As the daemons do it: settings by flags, then wait. The second one waits until it is stopped. */
TEST(campaigns_by_flags) {
    const struct vpa_leader_flags flags = {.lease_duration = 15 * VPA_SECOND,
                                           .renew_deadline = 10 * VPA_SECOND,
                                           .retry_period = 2 * VPA_SECOND,
                                           .resource_name = "l",
                                           .resource_namespace = "ns"};
    const struct vpa_elector_options options = {.client = client};
    struct vpa_error err;
    struct vpa_elector *first = vpa_leader_elector_new(&flags, &rnd, &options, &err);
    struct vpa_elector *second = vpa_leader_elector_new(&flags, &rnd, &options, &err);
    struct vpa_timer *stop = vpa_timer_new(loop, stop_loop, NULL);

    ck_assert_int_eq(vpa_elector_campaign(first), 0);
    ck_assert(vpa_elector_is_leader(first));
    vpa_timer_start(stop, VPA_MINUTE);
    ck_assert_int_eq(vpa_elector_campaign(second), -1);
    ck_assert(!vpa_elector_is_leader(second));
    vpa_loop_resume(loop);
    vpa_elector_release(first, VPA_SECOND);
    ck_assert_int_eq(vpa_elector_campaign(second), 0); /* the lease was given back */
    vpa_timer_free(stop);
    vpa_elector_free(first);
    vpa_elector_free(second);
}

/* The process stood still for longer than the lease lasts: nobody renewed it, no timer has run yet.
 */
TEST_TIMES(an_expired_lease_is_no_leadership, 2) {
    struct candidate a;

    candidate(&a, "a");
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert(vpa_elector_is_leader(a.elector));
    vpa_clock_advance(clk, 12 * VPA_SECOND);
    ck_assert(vpa_elector_is_leader(a.elector));
    vpa_clock_advance(clk, 4 * VPA_SECOND);
    ck_assert(!vpa_elector_is_leader(a.elector));
    if (_i == 0) { /* nobody took it: renewed, as the same leadership */
        vpa_loop_pump(loop, VPA_SECOND);
        ck_assert(vpa_elector_is_leader(a.elector));
        ck_assert_int_eq(a.started, 1);
        ck_assert_int_eq(a.lost, 0);
        ck_assert_ptr_nonnull(strstr(lease(), "\"leaseTransitions\":0"));
    } else { /* somebody did */
        ck_assert_ptr_nonnull(strstr(lease(), "\"holderIdentity\":\"a\""));
        put_lease("b", 15);
        vpa_loop_pump(loop, VPA_SECOND);
        ck_assert(!vpa_elector_is_leader(a.elector));
        vpa_loop_pump(loop, 12 * VPA_SECOND);
        ck_assert_int_eq(a.lost, 1);
    }
    vpa_elector_free(a.elector);
}

/* Others count from when they saw the renewal, which is before its answer is read: a process that
 * stood still while the answer waited in a socket must not take it for a fresh one. */
TEST(a_lease_lasts_from_when_its_renewal_was_sent) {
    struct candidate a;

    candidate(&a, "a");
    vpa_loop_pump(loop, VPA_MINUTE);
    const char *before = lease();
    latency = 9 * VPA_SECOND;
    while (strcmp(lease(), before) == 0)
        vpa_loop_pump(loop, 10 * VPA_MILLISECOND);
    int64_t sent = vpa_loop_monotonic(loop);
    vpa_loop_pump(loop, 9 * VPA_SECOND);
    silent = true;
    vpa_clock_advance(clk, sent + 14 * VPA_SECOND - vpa_loop_monotonic(loop));
    ck_assert(vpa_elector_is_leader(a.elector));
    vpa_clock_advance(clk, VPA_SECOND);
    ck_assert(!vpa_elector_is_leader(a.elector));
    vpa_elector_free(a.elector);
}

/* The Lease has room for whole seconds: others wait no longer than those. */
TEST(a_lease_lasts_for_whole_seconds) {
    const struct vpa_elector_options options = {.client = client,
                                                .ns = "n",
                                                .name = "l",
                                                .identity = "a",
                                                .lease_duration = 15900 * VPA_MILLISECOND,
                                                .renew_deadline = 15500 * VPA_MILLISECOND,
                                                .retry_period = 2 * VPA_SECOND};
    struct vpa_elector *e = vpa_elector_new(&options);

    vpa_elector_start(e);
    vpa_loop_pump(loop, VPA_SECOND / 2);
    ck_assert_ptr_nonnull(strstr(lease(), "\"leaseDurationSeconds\":15,"));
    silent = true;
    vpa_loop_pump(loop, 14 * VPA_SECOND);
    ck_assert(vpa_elector_is_leader(e));
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert(!vpa_elector_is_leader(e));
    vpa_elector_free(e);
}

TEST(release_lets_the_next_one_lead_soon) {
    struct candidate a, b;

    candidate(&a, "a");
    vpa_loop_pump(loop, VPA_MINUTE);
    candidate(&b, "b");
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert(vpa_elector_is_leader(a.elector));
    ck_assert_int_eq(b.started, 0);
    int64_t released = vpa_loop_monotonic(loop);
    vpa_loop_stop(loop); /* as after SIGTERM */
    vpa_elector_release(a.elector, 3 * VPA_SECOND);
    ck_assert(vpa_loop_is_stopping(loop));
    ck_assert_int_lt(vpa_loop_monotonic(loop) - released, VPA_SECOND);
    ck_assert_ptr_nonnull(strstr(lease(), "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,"));
    ck_assert_int_eq(a.lost, 0);
    ck_assert(!vpa_elector_is_leader(a.elector));
    vpa_loop_resume(loop);
    vpa_elector_free(a.elector);
    vpa_loop_pump(loop, 6 * VPA_SECOND);
    ck_assert_int_eq(b.started, 1);
    ck_assert_ptr_nonnull(strstr(lease(), "\"leaseTransitions\":1"));
    vpa_elector_free(b.elector);
}

/* The server has made or renewed the lease when the answer is still on its way. */
TEST(release_waits_for_what_was_asked) {
    static const struct {
        bool first_answered; /* the release meets a renewal, else the creation */
        bool answers;
    } cases[] = {{false, true}, {true, true}, {true, false}};
    struct candidate a;

    for (size_t i = 0; i < VPA_COUNT(cases); i++) {
        (void)sim_cluster_delete(sim, LEASES, "Lease", "n", "l");
        candidate(&a, "a");
        if (cases[i].first_answered)
            vpa_loop_pump(loop, VPA_SECOND);
        latency = cases[i].answers ? 500 * VPA_MILLISECOND : VPA_HOUR;
        size_t before = requests;
        while (requests == before || !strstr(lease(), "\"holderIdentity\":\"a\""))
            vpa_loop_pump(loop, VPA_MILLISECOND);
        int64_t released = vpa_loop_monotonic(loop);
        vpa_elector_release(a.elector, 3 * VPA_SECOND);
        int64_t took = vpa_loop_monotonic(loop) - released;
        ck_assert_int_le(took, 3 * VPA_SECOND);
        ck_assert_int_eq(cases[i].answers, took < 3 * VPA_SECOND);
        ck_assert_int_eq(cases[i].answers, strstr(lease(), "\"holderIdentity\":\"\"") != NULL);
        ck_assert_int_eq(a.lost, 0);
        ck_assert_int_eq(a.started, cases[i].first_answered);
        ck_assert(!vpa_elector_is_leader(a.elector));
        vpa_elector_free(a.elector);
        latency = VPA_MILLISECOND;
    }
}

/* Somebody has written to the lease since its last renewal: what is still ours is given back all
 * the same, what is another one's stays his, and what cannot be read is left. */
static const struct {
    const char *holder, *garbage;
    const char *left;
    size_t told;
} meanwhile[] = {
    {"a", NULL, "\"holderIdentity\":\"\"", 0},
    {"b", NULL, "\"holderIdentity\":\"b\"", 0},
    {"a", "{\"spec\":", "\"holderIdentity\":\"a\"", 1},
};

TEST_EACH(release_meets_a_change, meanwhile) {
    struct candidate a;

    capture_log(0);
    candidate(&a, "a");
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert(vpa_elector_is_leader(a.elector));
    put_lease(meanwhile[_i].holder, 15);
    garbage = meanwhile[_i].garbage;
    int64_t released = vpa_loop_monotonic(loop);
    vpa_elector_release(a.elector, 3 * VPA_SECOND);
    ck_assert_int_lt(vpa_loop_monotonic(loop) - released, VPA_SECOND);
    garbage = NULL;
    ck_assert_msg(strstr(lease(), meanwhile[_i].left) != NULL, "%s", lease());
    ck_assert_uint_eq(logged("Failed to release lease"), meanwhile[_i].told);
    ck_assert(!vpa_elector_is_leader(a.elector));
    vpa_elector_free(a.elector);
}

TEST(a_standby_releases_nothing) {
    struct candidate a, b;

    candidate(&a, "a");
    vpa_loop_pump(loop, VPA_SECOND);
    candidate(&b, "b");
    vpa_loop_pump(loop, VPA_SECOND);
    size_t before = requests;
    vpa_elector_release(b.elector, VPA_SECOND);
    ck_assert_uint_eq(requests, before);
    vpa_elector_free(b.elector);
    vpa_elector_free(a.elector);
}

static const struct {
    const char *name;
    enum vpa_transport_failure failure;
    bool silent;
} cuts[] = {{"refused", VPA_TRANSPORT_REFUSED, false},
            {"reset", VPA_TRANSPORT_RESET, false},
            {"silent", VPA_TRANSPORT_OK, true}};

TEST_EACH(a_cut_off_leader_gives_up_in_time, cuts) {
    struct candidate a, b;

    candidate(&a, "a");
    vpa_loop_pump(loop, VPA_MINUTE);
    cut = cuts[_i].failure;
    silent = cuts[_i].silent;
    int64_t cut_at = vpa_loop_monotonic(loop);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_msg(a.lost == 1, "%s", cuts[_i].name);
    ck_assert(!vpa_elector_is_leader(a.elector));
    /* a round is 10 s, its start at most 2 s away, the release another 10 s */
    ck_assert_int_le(a.lost_at - cut_at, 22 * VPA_SECOND + VPA_SECOND);
    vpa_elector_free(a.elector);
    cut = VPA_TRANSPORT_OK;
    silent = false;
    candidate(&b, "b");
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(b.started, 1);
    vpa_elector_free(b.elector);
}

TEST(garbage_is_no_lease) {
    struct candidate a;

    garbage = "{\"spec\":";
    candidate(&a, "a");
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(a.started, 0);
    garbage = "[]";
    vpa_loop_pump(loop, VPA_MINUTE);
    garbage = NULL;
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(a.started, 1);
    vpa_elector_free(a.elector);
}

static const struct {
    vpa_duration lease, renew, retry;
    const char *text;
} durations[] = {
    {15, 10, 2, NULL},
    {10, 10, 2, "leaseDuration must be greater than renewDeadline"},
    {15, 12, 10, "renewDeadline must be greater than retryPeriod*JitterFactor"},
    {15, 10, 0, "retryPeriod must be greater than zero"},
    {0, -1, -5, "leaseDuration must be greater than zero"},
    {15, 0, -5, "renewDeadline must be greater than zero"},
};

TEST_EACH(checks_durations, durations) {
    const struct vpa_elector_options o = {.lease_duration = durations[_i].lease * VPA_SECOND,
                                          .renew_deadline = durations[_i].renew * VPA_SECOND,
                                          .retry_period = durations[_i].retry * VPA_SECOND};
    struct vpa_error err = {0};

    ck_assert_int_eq(vpa_elector_check(&o, &err), durations[_i].text ? -1 : 0);
    ck_assert_str_eq(err.text, vpa_or_empty(durations[_i].text));
}

/* To the nanosecond. */
static const struct {
    vpa_duration lease, renew, retry;
    const char *text;
} least_durations[] = {
    {3, 2, 1, NULL},
    {2, 2, 1, "leaseDuration must be greater than renewDeadline"},
    {3, 1, 1, "renewDeadline must be greater than retryPeriod*JitterFactor"},
    {2, 1, 0, "retryPeriod must be greater than zero"},
    {1, 0, -5, "renewDeadline must be greater than zero"},
    {0, -1, -5, "leaseDuration must be greater than zero"},
};

TEST_EACH(checks_the_least_durations, least_durations) {
    const struct vpa_elector_options o = {.lease_duration = least_durations[_i].lease,
                                          .renew_deadline = least_durations[_i].renew,
                                          .retry_period = least_durations[_i].retry};
    struct vpa_error err = {0};

    ck_assert_int_eq(vpa_elector_check(&o, &err), least_durations[_i].text ? -1 : 0);
    ck_assert_str_eq(err.text, vpa_or_empty(least_durations[_i].text));
}

TEST(checks_lock_types) {
    struct vpa_error err;

    ck_assert_int_eq(vpa_elector_check_lock_type("leases", &err), 0);
    ck_assert_int_eq(vpa_elector_check_lock_type("configmaps", &err), -1);
    ck_assert_str_eq(err.text, "configmaps lock is removed, migrate to leases");
    ck_assert_int_eq(vpa_elector_check_lock_type("endpointsleases", &err), -1);
    ck_assert_str_eq(err.text, "endpointsleases lock is removed, migrate to leases");
    ck_assert_int_eq(vpa_elector_check_lock_type("x", &err), -1);
    ck_assert_str_eq(err.text, "Invalid lock-type x");
    vpa_auto_free char *identity = vpa_elector_identity(&rnd, &err);
    ck_assert_ptr_nonnull(strchr(identity, '_'));
    ck_assert_uint_eq(strlen(strrchr(identity, '_')), 37);
}

int main(void)
{
    return run_tests("elector", setup, teardown);
}
