/* When the webhook renews its status Lease, and what the updater makes of it. */
#include "lease_fixture.h"

#include <stdio.h>

#include "captured_log.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/daemon/status_lease.h"

static int healthy_asked;
static bool healthy;

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

TEST(an_unhealthy_webhook_does_not_renew) {
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

/* What could not be taken back is taken back as soon as it can be. */
TEST(a_renewal_is_taken_back_when_the_server_is_there_again) {
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

/* A process that was stopped for a minute does not make up for what it slept through: it goes on at
 * its pace from when it woke. */
TEST(ticks_that_were_slept_through_are_left_out) {
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

/* One that is late moves none of the others; one that is late by a whole interval is two. */
TEST(late_ticks_keep_the_pace) {
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

static void mend(void *ctx)
{
    (void)ctx;
    broken = false;
}

/* Three tries of a tick, 100 and 300 ms apart; the first that is answered is the last. */
TEST(a_renewal_is_tried_three_times) {
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

static int32_t transitions(void)
{
    const char *at = strstr(lease(), "\"leaseTransitions\":");

    return at ? atoi(at + strlen("\"leaseTransitions\":")) : 0;
}

/* It is taken anew by a process that starts, and by one that could not renew for a while. */
TEST(the_lease_tells_when_the_webhook_was_away) {
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
TEST(another_replica_is_as_good) {
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

TEST(resets_cost_thirty_three_reads) {
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

TEST(another_clock_is_no_sign_of_death) {
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

/* Left by a webhook whose clock was ahead: nobody was seen to renew it. Where no server has told
 * the time it counts at first, as upstream has it, and no longer than any other. */
TEST(a_lease_that_lies_ahead_counts_for_its_timeout) {
    struct vpa_status_view view = {.ns = "n", .name = "l", .timeout = VPA_MINUTE};
    struct vpa_error err;
    bool valid = false;

    latency = 0;
    garbage = "{\"metadata\":{\"creationTimestamp\":\"2020-01-01T00:00:00Z\"},"
              "\"spec\":{\"renewTime\":\"2026-03-01T12:10:00.000000Z\"}}";
    for (int second = 0; second < 60; second += 20) {
        ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
        ck_assert_msg(valid, "second %d", second);
        vpa_loop_pump(loop, 20 * VPA_SECOND);
    }
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
    ck_assert(!valid);
    garbage = NULL;
}

/* Our time of day is 12:00, and the server has told his: what is known of the Lease at first. */
static const struct {
    vpa_duration ahead; /* of us, of the server's clock */
    const char *renewed;
    bool valid;
} first_looks[] = {
    {VPA_SECOND, "12:00:50", true},
    {VPA_SECOND, "12:01:30", false}, /* nobody can have renewed it then */
    {VPA_SECOND, "13:00:00", false},
    {VPA_MINUTE, "11:59:01", true}, /* clocks differ a little: ours is as good */
    {VPA_HOUR, "10:59:30", true},   /* it is 11:00 */
    {VPA_HOUR, "10:58:30", false},
    {VPA_HOUR, "12:00:00", false},
    {-VPA_HOUR, "12:30:00", false}, /* it is 13:00 */
    {-VPA_HOUR, "12:59:30", true},
};

TEST_EACH(the_servers_clock_says_how_old_a_lease_is, first_looks) {
    struct vpa_status_view view = {.ns = "n", .name = "l", .timeout = VPA_MINUTE};
    vpa_auto_free char *text =
        vpa_xprintf("{\"metadata\":{\"creationTimestamp\":\"2020-01-01T00:00:00Z\"},"
                    "\"spec\":{\"renewTime\":\"2026-03-01T%s.000000Z\"}}",
                    first_looks[_i].renewed);
    struct vpa_error err;
    bool valid = !first_looks[_i].valid;

    latency = 0;
    vpa_memory_transport_set_ahead(transport, first_looks[_i].ahead);
    garbage = text;
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
    ck_assert_int_eq(valid, first_looks[_i].valid);
    garbage = NULL;
}

/* A webhook that lives and has another clock is waited for until it renews again. */
TEST(what_lies_ahead_counts_once_it_is_renewed) {
    struct vpa_status_view view = {.ns = "n", .name = "l", .timeout = VPA_MINUTE};
    struct vpa_error err;
    bool valid = true;

    latency = 0;
    vpa_memory_transport_set_ahead(transport, VPA_SECOND);
    garbage = "{\"spec\":{\"renewTime\":\"2026-03-01T13:00:00.000000Z\"}}";
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
    ck_assert(!valid);
    vpa_loop_pump(loop, VPA_MINUTE);
    garbage = "{\"spec\":{\"renewTime\":\"2026-03-01T13:01:00.000000Z\"}}";
    ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
    ck_assert(valid);
    garbage = NULL;
}

/* Nobody looks for an hour (the panic button, a server that is away): by how much it was renewed
 * meanwhile. */
static const struct {
    int minutes, pause; /* by which renewTime has grown; for which nobody looked */
    bool valid;
} gaps[] = {
    {60, 60, true},  {59, 59, true},
    {10, 60, false}, /* it was renewed for ten minutes more, and then no longer */
    {59, 60, false}, {5, 5, true},
};

TEST_EACH(what_grew_while_nobody_looked_may_be_old, gaps) {
    struct vpa_status_view view = {.ns = "n", .name = "l", .timeout = VPA_MINUTE};
    struct vpa_error err;
    bool valid = false;

    latency = 0;
    for (int minutes = 0;; minutes = gaps[_i].minutes) { /* by a clock that is hours behind */
        vpa_auto_free char *text =
            vpa_xprintf("{\"spec\":{\"renewTime\":\"2026-03-01T%02d:%02d:30.000000Z\"}}",
                        5 + (1 + minutes) / 60, (1 + minutes) % 60);

        garbage = text;
        ck_assert_int_eq(vpa_status_lease_check(client, &view, &valid, &err), 0);
        garbage = NULL;
        if (minutes > 0)
            break;
        vpa_loop_pump(loop, gaps[_i].pause * VPA_MINUTE);
    }
    ck_assert_int_eq(valid, gaps[_i].valid);
}

/* Upstream believes a young Lease whatever its renewTime. */
TEST_TIMES(a_young_lease_may_be_taken_back, 2) {
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

TEST(the_namespace_of_the_status_lease) {
    unsetenv("NAMESPACE");
    ck_assert_str_eq(vpa_status_lease_namespace(""), "kube-system");
    ck_assert_str_eq(vpa_status_lease_namespace(NULL), "kube-system");
    setenv("NAMESPACE", "mine", 1);
    ck_assert_str_eq(vpa_status_lease_namespace(""), "mine");
    ck_assert_str_eq(vpa_status_lease_namespace("flag"), "flag");
}

TEST(unreadable_status_leases) {
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

int main(void)
{
    return run_tests("status_renewal", setup, teardown);
}
