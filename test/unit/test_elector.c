/* Leader election and the status lease where the golden vectors do not reach: races, cut-offs,
 * release. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"
#include "manual_clock.h"
#include "captured_log.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/daemon/leader.h"
#include "vpa/json/json_writer.h"
#include "vpa/kube/elector.h"
#include "vpa/daemon/status_lease.h"

#define LEASES "coordination.k8s.io/v1"

/* One Lease that several candidates share. */
static struct vpa_arena arena;
static size_t requests;
static enum vpa_transport_failure cut; /* every request fails so */
static bool silent;                    /* requests are not answered, and nothing comes of them */
static bool broken;                    /* they are answered by 500 */
static vpa_duration latency;           /* of answers */
static const char *garbage;            /* answers to GET */
static int healthy_asked;
static bool healthy;

static int serve_first(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    requests++;
    vpa_memory_reply_delay(r, silent ? 1000 * VPA_HOUR : latency);
    if (cut)
        vpa_memory_reply_fail(r, cut);
    else if (broken)
        vpa_memory_reply_status(r, 500, "InternalError", "broken");
    else if (garbage && strcmp(q->method, "GET") == 0)
        vpa_memory_reply_json(r, 200, garbage);
    else if (!silent)
        return 0;
    return 500;
}

/* Somebody's record. */
static void put_lease(const char *holder, int seconds)
{
    vpa_auto_free char *text = vpa_xprintf(
        "{\"apiVersion\":\"" LEASES "\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\","
        "\"namespace\":\"n\"},\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%d,"
        "\"renewTime\":\"2026-03-01T12:00:00.000000Z\"}}",
        holder, seconds);

    sim_cluster_put_text(sim, text);
}

/* The text of the Lease, "null" without one. */
static const char *lease(void)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = {0};

    vpa_buf_init(&text, 4096);
    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, sim_cluster_find(sim, &arena, LEASES, "Lease", "n", "l"));
    return vpa_arena_strdup(&arena, vpa_buf_text(&text));
}

static void setup(void)
{
    start_client(NULL, 1772366400, 3);
    sim_cluster_hook(sim, serve_first, NULL);
    latency = VPA_MILLISECOND;
}

static void teardown(void)
{
    stop_client();
    vpa_arena_release(&arena);
}

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

START_TEST(one_of_three_leads)
{
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
END_TEST

/* As long as another leads, or nobody answers, it asks once in two to four and a half seconds, at
 * random, so that the standbys of a failed leader do not come all at once. */
START_TEST(a_standby_asks_at_its_pace)
{
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
END_TEST

/* The leader is killed and comes back at once. It first sees the old record a moment before the
 * standby did, as chance may have it, and yet the standby leads. */
START_TEST(who_yields_leads_after_the_others)
{
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
END_TEST

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

START_TEST(yielding_ends)
{
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
END_TEST

/* Nobody is there to whom it could yield. */
START_TEST(a_lease_that_was_given_back_is_taken_at_once)
{
    struct candidate c;

    if (_i == 1)
        put_lease("", 1);
    candidate(&c, "a");
    vpa_elector_yield(c.elector, true);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert(vpa_elector_is_leader(c.elector));
    vpa_elector_free(c.elector);
}
END_TEST

static void stop_loop(void *ctx)
{
    (void)ctx;
    vpa_loop_stop(loop);
}

/* As the daemons do it: settings by flags, then wait. The second one waits until it is stopped. */
START_TEST(campaigns_by_flags)
{
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
END_TEST

/* The process stood still for longer than the lease lasts: nobody renewed it, no timer has run yet.
 */
START_TEST(an_expired_lease_is_no_leadership)
{
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
END_TEST

/* Others count from when they saw the renewal, which is before its answer is read: a process that
 * stood still while the answer waited in a socket must not take it for a fresh one. */
START_TEST(a_lease_lasts_from_when_its_renewal_was_sent)
{
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
END_TEST

/* The Lease has room for whole seconds: others wait no longer than those. */
START_TEST(a_lease_lasts_for_whole_seconds)
{
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
END_TEST

START_TEST(release_lets_the_next_one_lead_soon)
{
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
END_TEST

/* The server has made or renewed the lease when the answer is still on its way. */
START_TEST(release_waits_for_what_was_asked)
{
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
END_TEST

START_TEST(a_standby_releases_nothing)
{
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
END_TEST

static const struct {
    const char *name;
    enum vpa_transport_failure failure;
    bool silent;
} cuts[] = {{"refused", VPA_TRANSPORT_REFUSED, false},
            {"reset", VPA_TRANSPORT_RESET, false},
            {"silent", VPA_TRANSPORT_OK, true}};

START_TEST(a_cut_off_leader_gives_up_in_time)
{
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
END_TEST

START_TEST(garbage_is_no_lease)
{
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
END_TEST

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

START_TEST(checks_durations)
{
    const struct vpa_elector_options o = {.lease_duration = durations[_i].lease * VPA_SECOND,
                                          .renew_deadline = durations[_i].renew * VPA_SECOND,
                                          .retry_period = durations[_i].retry * VPA_SECOND};
    struct vpa_error err = {0};

    ck_assert_int_eq(vpa_elector_check(&o, &err), durations[_i].text ? -1 : 0);
    ck_assert_str_eq(err.text, vpa_or_empty(durations[_i].text));
}
END_TEST

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

START_TEST(checks_the_least_durations)
{
    const struct vpa_elector_options o = {.lease_duration = least_durations[_i].lease,
                                          .renew_deadline = least_durations[_i].renew,
                                          .retry_period = least_durations[_i].retry};
    struct vpa_error err = {0};

    ck_assert_int_eq(vpa_elector_check(&o, &err), least_durations[_i].text ? -1 : 0);
    ck_assert_str_eq(err.text, vpa_or_empty(least_durations[_i].text));
}
END_TEST

START_TEST(checks_lock_types)
{
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
END_TEST

/* Status lease */

static bool is_healthy(void *ctx)
{
    (void)ctx;
    healthy_asked++;
    return healthy;
}

static struct vpa_status_writer *new_status_writer(void)
{
    const struct vpa_status_writer_options options = {.client = client,
                                                      .ns = "n",
                                                      .name = "l",
                                                      .holder = "h",
                                                      .interval = 10 * VPA_SECOND,
                                                      .healthy = is_healthy};

    return vpa_status_writer_new(&options);
}

START_TEST(an_unhealthy_webhook_does_not_renew)
{
    struct vpa_status_writer *w = new_status_writer();

    capture_log(0);
    healthy = false;
    vpa_status_writer_start(w);
    vpa_loop_pump(loop, 35 * VPA_SECOND);
    ck_assert_int_eq(healthy_asked, 3);
    ck_assert_uint_eq(requests, 0);
    healthy = true;
    vpa_loop_pump(loop, 10 * VPA_SECOND);
    ck_assert_uint_eq(requests, 2);
    ck_assert_uint_eq(logged("failed its self-test"), 1); /* not at every tick */
    healthy = false;
    vpa_loop_pump(loop, 20 * VPA_SECOND);
    ck_assert_uint_eq(logged("failed its self-test"), 2);
    ck_assert_uint_eq(requests, 4); /* the renewal was taken back, once */
    ck_assert_msg(strstr(lease(), "\"renewTime\":\"1970-01-01T00:00:00.000000Z\"") != NULL, "%s",
                  lease());
    vpa_status_writer_free(w);
}
END_TEST

/* What could not be taken back is taken back as soon as it can be. */
START_TEST(a_renewal_is_taken_back_when_the_server_is_there_again)
{
    struct vpa_status_writer *w = new_status_writer();

    capture_log(0);
    healthy = true;
    vpa_status_writer_start(w);
    vpa_loop_pump(loop, 25 * VPA_SECOND);
    healthy = false;
    cut = VPA_TRANSPORT_REFUSED;
    vpa_loop_pump(loop, 10 * VPA_SECOND);
    cut = VPA_TRANSPORT_OK;
    requests = 0;
    vpa_loop_pump(loop, 20 * VPA_SECOND);
    ck_assert_msg(strstr(lease(), "\"renewTime\":\"1970-01-01T00:00:00.000000Z\"") != NULL, "%s",
                  lease());
    ck_assert_uint_eq(requests, 2); /* once */
    ck_assert_uint_eq(logged("failed its self-test"), 1);
    vpa_status_writer_free(w);
}
END_TEST

/* A process that was stopped for a minute does not make up for what it slept through: it goes on at
 * its pace from when it woke. */
START_TEST(ticks_that_were_slept_through_are_left_out)
{
    struct vpa_status_writer *w = new_status_writer();

    healthy = true;
    vpa_status_writer_start(w);
    vpa_loop_pump(loop, 10 * VPA_SECOND + VPA_SECOND);
    ck_assert_int_eq(healthy_asked, 1);
    vpa_clock_advance(clk, VPA_MINUTE + 4 * VPA_SECOND); /* at 75 seconds */
    vpa_loop_pump(loop, 9 * VPA_SECOND);
    ck_assert_int_eq(healthy_asked, 2);
    vpa_loop_pump(loop, 2 * VPA_SECOND);
    ck_assert_int_eq(healthy_asked, 3);
    vpa_loop_pump(loop, 10 * VPA_SECOND);
    ck_assert_int_eq(healthy_asked, 4);
    vpa_status_writer_free(w);
}
END_TEST

/* One that is late moves none of the others; one that is late by a whole interval is two. */
START_TEST(late_ticks_keep_the_pace)
{
    struct vpa_status_writer *w = new_status_writer();

    healthy = false;
    vpa_status_writer_start(w);
    vpa_loop_pump(loop, 11 * VPA_SECOND);
    vpa_clock_advance(clk, 12 * VPA_SECOND); /* the second one comes at 23 seconds */
    vpa_loop_pump(loop, 6 * VPA_SECOND);
    ck_assert_int_eq(healthy_asked, 2);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(healthy_asked, 3); /* at 30 */
    vpa_clock_advance(clk, 20 * VPA_SECOND);
    vpa_loop_pump(loop, 9 * VPA_SECOND);
    ck_assert_int_eq(healthy_asked, 4); /* at 50, which is that of 40 as well */
    vpa_loop_pump(loop, 2 * VPA_SECOND);
    ck_assert_int_eq(healthy_asked, 5); /* at 60 */
    vpa_status_writer_free(w);
}
END_TEST

static void mend(void *ctx)
{
    (void)ctx;
    broken = false;
}

/* Three tries of a tick, 100 and 300 ms apart; the first that is answered is the last. */
START_TEST(a_renewal_is_tried_three_times)
{
    struct vpa_status_writer *w = new_status_writer();
    struct vpa_timer *timer = vpa_timer_new(loop, mend, NULL);

    capture_log(0);
    healthy = true;
    broken = true;
    vpa_status_writer_start(w);
    vpa_loop_pump(loop, 10 * VPA_SECOND + 50 * VPA_MILLISECOND);
    ck_assert_uint_eq(requests, 1);
    vpa_loop_pump(loop, 100 * VPA_MILLISECOND);
    ck_assert_uint_eq(requests, 2);
    vpa_loop_pump(loop, 200 * VPA_MILLISECOND);
    ck_assert_uint_eq(requests, 2);
    vpa_loop_pump(loop, 9 * VPA_SECOND);
    ck_assert_uint_eq(requests, 3);
    /* between the first and the second of the next tick */
    vpa_timer_start_at(timer, 20 * VPA_SECOND + 50 * VPA_MILLISECOND);
    vpa_loop_pump(loop, 2 * VPA_SECOND);
    ck_assert_uint_eq(requests, 3 + 1 + 2);
    ck_assert_str_ne(lease(), "null");
    ck_assert_int_eq(healthy_asked, 2);
    vpa_timer_free(timer);
    vpa_status_writer_free(w);
}
END_TEST

static int32_t transitions(void)
{
    const char *at = strstr(lease(), "\"leaseTransitions\":");

    return at ? atoi(at + strlen("\"leaseTransitions\":")) : 0;
}

/* It is taken anew by a process that starts, and by one that could not renew for a while. */
START_TEST(the_lease_tells_when_the_webhook_was_away)
{
    const struct vpa_status_writer_options options = {.client = client,
                                                      .ns = "n",
                                                      .name = "l",
                                                      .holder = "h",
                                                      .interval = 10 * VPA_SECOND,
                                                      .healthy = is_healthy};
    struct vpa_status_view view = {.ns = "n", .name = "l", .timeout = VPA_MINUTE};
    struct vpa_status_writer *w = vpa_status_writer_new(&options);
    struct vpa_error err;
    vpa_time first;
    bool valid;

    capture_log(0);
    healthy = true;
    vpa_status_writer_start(w);
    vpa_loop_pump(loop, 35 * VPA_SECOND);
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
    ck_assert(!vpa_time_is_unset(view.start));
    first = view.start;
    vpa_loop_pump(loop, 30 * VPA_SECOND);
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
    ck_assert(view.start == first);
    int32_t before = transitions();

    healthy = false; /* for one tick: what was taken back is taken anew */
    vpa_loop_pump(loop, 10 * VPA_SECOND);
    healthy = true;
    vpa_loop_pump(loop, 20 * VPA_SECOND);
    ck_assert_int_eq(transitions(), before + 1);
    silent = true; /* nobody answers for 40 seconds */
    vpa_loop_pump(loop, 40 * VPA_SECOND);
    silent = false;
    vpa_loop_pump(loop, 30 * VPA_SECOND);
    ck_assert_int_eq(transitions(), before + 2);
    vpa_status_writer_free(w);
    w = vpa_status_writer_new(&options);
    vpa_status_writer_start(w);
    vpa_loop_pump(loop, 35 * VPA_SECOND);
    ck_assert_int_eq(transitions(), before + 3);
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
    ck_assert(view.start > first);
    vpa_status_writer_free(w);
}
END_TEST

static size_t writes_taken(void)
{
    const struct sim_asked *w;
    size_t taken = 0;

    for (size_t i = 0; (w = sim_cluster_write(sim, "/leases", i)); i++)
        taken += w->code < 300;
    return taken;
}

/* Two replicas that write at the same moment, a Lease that is not there yet and one that is: the
 * slower one leaves it at that. */
START_TEST(another_replica_is_as_good)
{
    struct vpa_status_writer_options options = {
        .client = client, .ns = "n", .name = "l", .holder = "a", .interval = 10 * VPA_SECOND};
    struct vpa_status_writer *a = vpa_status_writer_new(&options), *b;

    capture_log(0);
    options.holder = "b";
    b = vpa_status_writer_new(&options);
    vpa_status_writer_start(a);
    vpa_status_writer_start(b);
    for (size_t tick = 1; tick <= 2; tick++) {
        vpa_loop_pump(loop, 10 * VPA_SECOND + VPA_SECOND);
        ck_assert_uint_eq(requests, 4 * tick);   /* both read, both write */
        ck_assert_uint_eq(writes_taken(), tick); /* one of them did */
    }
    ck_assert_uint_eq(logged("Status update failed"), 0);
    vpa_status_writer_free(a);
    vpa_status_writer_free(b);
}
END_TEST

START_TEST(resets_cost_thirty_three_reads)
{
    struct vpa_status_view view = {.ns = "n", .name = "l", .timeout = VPA_MINUTE};
    struct vpa_error err;
    bool valid = true;

    cut = VPA_TRANSPORT_RESET;
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), -1);
    ck_assert_str_eq(err.text, "timed out waiting for the condition");
    ck_assert_uint_eq(requests, 33);
    ck_assert_int_eq(vpa_loop_monotonic(loop) / VPA_MILLISECOND, 30400 + 33);
    ck_assert(valid); /* untouched */
}
END_TEST

/* The cluster's time is 12:00 at the start, and a Lease lasts for a minute. */
static const struct {
    const char *renewed; /* minute and second of the Lease */
    int pause;           /* seconds since the look before */
    bool valid;
} looks[] = {
    {"58:00", 0, false}, /* by the clock too old, and nothing else is known */
    {"58:10", 10, true}, /* it is renewed: only that clock is another one */
    {"58:10", 50, true}, {"58:10", 10, false},
    {"58:20", 0, true},  {"58:15", 1, false}, /* taken back, or that clock was set */
    {"58:25", 10, true}, {"70:00", 10, true},
    {"70:00", 59, true}, {"70:00", 1, false}, /* that it lies ahead does not keep it alive */
};

START_TEST(another_clock_is_no_sign_of_death)
{
    struct vpa_status_view view = {.ns = "n", .name = "l", .timeout = VPA_MINUTE};
    struct vpa_error err;

    latency = 0;
    for (size_t i = 0; i < VPA_COUNT(looks); i++) {
        int minute = atoi(looks[i].renewed);
        vpa_auto_free char *text =
            vpa_xprintf("{\"metadata\":{\"creationTimestamp\":\"2020-01-01T00:00:00Z\"},"
                        "\"spec\":{\"renewTime\":\"2026-03-01T%d:%02d%s.000000Z\"}}",
                        minute < 60 ? 11 : 12, minute % 60, strchr(looks[i].renewed, ':'));
        bool valid = !looks[i].valid;

        garbage = text;
        vpa_loop_pump(loop, looks[i].pause * VPA_SECOND);
        ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
        ck_assert_msg(valid == looks[i].valid, "look %zu", i);
        garbage = NULL;
    }
}
END_TEST

/* Nobody was seen to renew it, so nobody was seen to stop: upstream's rule alone. */
START_TEST(a_lease_that_lies_ahead_counts_until_its_time)
{
    struct vpa_status_view view = {.ns = "n", .name = "l", .timeout = VPA_MINUTE};
    struct vpa_error err;
    bool valid = false;

    latency = 0;
    garbage = "{\"metadata\":{\"creationTimestamp\":\"2020-01-01T00:00:00Z\"},"
              "\"spec\":{\"renewTime\":\"2026-03-01T12:10:00.000000Z\"}}";
    for (int minute = 0; minute < 11; minute++) {
        ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
        ck_assert_msg(valid, "minute %d", minute);
        vpa_loop_pump(loop, VPA_MINUTE);
    }
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
    ck_assert(!valid);
    garbage = NULL;
}
END_TEST

/* Upstream believes a young Lease whatever its renewTime. */
START_TEST(a_young_lease_may_be_taken_back)
{
    static const char *const renewed[] = {"2026-03-01T11:00:00.000000Z",
                                          "1970-01-01T00:00:00.000000Z"};
    vpa_auto_free char *text =
        vpa_xprintf("{\"metadata\":{\"creationTimestamp\":\"2026-03-01T11:59:50Z\"},"
                    "\"spec\":{\"renewTime\":\"%s\"}}",
                    renewed[_i]);
    struct vpa_status_view view = {.ns = "n", .name = "l", .timeout = VPA_MINUTE};
    struct vpa_error err;
    bool valid = false;

    garbage = text;
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
    ck_assert_int_eq(valid, _i == 0);
    garbage = NULL;
}
END_TEST

START_TEST(the_namespace_of_the_status_lease)
{
    unsetenv("NAMESPACE");
    ck_assert_str_eq(vpa_status_lease_namespace(""), "kube-system");
    ck_assert_str_eq(vpa_status_lease_namespace(NULL), "kube-system");
    setenv("NAMESPACE", "mine", 1);
    ck_assert_str_eq(vpa_status_lease_namespace(""), "mine");
    ck_assert_str_eq(vpa_status_lease_namespace("flag"), "flag");
}
END_TEST

START_TEST(unreadable_status_leases)
{
    struct vpa_status_view view = {.ns = "n", .name = "l", .timeout = VPA_MINUTE};
    struct vpa_error err;
    bool valid;

    garbage = "{\"spec\":{\"renewTime\":\"soon\"}}";
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), -1);
    ck_assert(vpa_str_starts_with(err.text, "lease: "));
    garbage = "{";
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), -1);
    garbage = NULL;
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elector");
    TCase *c = tcase_create("elector");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, one_of_three_leads);
    tcase_add_loop_test(c, a_standby_asks_at_its_pace, 0, 2);
    tcase_add_test(c, who_yields_leads_after_the_others);
    tcase_add_loop_test(c, yielding_ends, 0, VPA_COUNT(yielding));
    tcase_add_loop_test(c, a_lease_that_was_given_back_is_taken_at_once, 0, 2);
    tcase_add_test(c, campaigns_by_flags);
    tcase_add_loop_test(c, an_expired_lease_is_no_leadership, 0, 2);
    tcase_add_test(c, a_lease_lasts_from_when_its_renewal_was_sent);
    tcase_add_test(c, a_lease_lasts_for_whole_seconds);
    tcase_add_test(c, release_lets_the_next_one_lead_soon);
    tcase_add_test(c, release_waits_for_what_was_asked);
    tcase_add_test(c, a_standby_releases_nothing);
    tcase_add_loop_test(c, a_cut_off_leader_gives_up_in_time, 0, VPA_COUNT(cuts));
    tcase_add_test(c, garbage_is_no_lease);
    tcase_add_loop_test(c, checks_durations, 0, VPA_COUNT(durations));
    tcase_add_loop_test(c, checks_the_least_durations, 0, VPA_COUNT(least_durations));
    tcase_add_test(c, checks_lock_types);
    tcase_add_test(c, an_unhealthy_webhook_does_not_renew);
    tcase_add_test(c, a_renewal_is_taken_back_when_the_server_is_there_again);
    tcase_add_test(c, ticks_that_were_slept_through_are_left_out);
    tcase_add_test(c, late_ticks_keep_the_pace);
    tcase_add_test(c, a_renewal_is_tried_three_times);
    tcase_add_test(c, another_replica_is_as_good);
    tcase_add_test(c, the_lease_tells_when_the_webhook_was_away);
    tcase_add_test(c, resets_cost_thirty_three_reads);
    tcase_add_test(c, another_clock_is_no_sign_of_death);
    tcase_add_test(c, a_lease_that_lies_ahead_counts_until_its_time);
    tcase_add_loop_test(c, a_young_lease_may_be_taken_back, 0, 2);
    tcase_add_test(c, the_namespace_of_the_status_lease);
    tcase_add_test(c, unreadable_status_leases);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
