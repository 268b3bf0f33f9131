/* The writer of the status Lease, call by call: what it asks for, how often, and when it stops. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"
#include "vpa/base/str.h"
#include "vpa/daemon/status_lease.h"

#define INTERVAL (10 * VPA_SECOND)

/* ---- the server ---- */

/* From now on requests by that method are answered so, or late. */
static void answer(const char *method, int code, vpa_duration delay)
{
    sim_cluster_answer(sim, &(struct sim_answer){.method = method,
                                                 .path = "/leases/l",
                                                 .code = code,
                                                 .message = "refused",
                                                 .delay = delay});
}

static const char *last_write(void)
{
    return sim_cluster_write(sim, "/leases", SIM_LAST)->body;
}

/* ---- the writer ---- */

static struct vpa_status_writer *writer;
static bool healthy;

static bool is_healthy(void *ctx)
{
    (void)ctx;
    return healthy;
}

static void setup(void)
{
    start_client(NULL, 1772366400, 3);
    healthy = true;
    writer = vpa_status_writer_new(&(struct vpa_status_writer_options){.client = client,
                                                                       .ns = "n",
                                                                       .name = "l",
                                                                       .holder = "me",
                                                                       .interval = INTERVAL,
                                                                       .healthy = is_healthy});
    vpa_status_writer_start(writer);
    vpa_loop_pump(loop, VPA_SECOND); /* so that no time below is that of a write */
}

static void teardown(void)
{
    vpa_status_writer_free(writer);
    vpa_status_writer_free(NULL);
    stop_client();
}

/* What came since the record began: gets, creates, updates. */
static void expect_asked(size_t gets, size_t creates, size_t updates)
{
    ck_assert_uint_eq(sim_cluster_asked(sim, "GET", "/leases/l"), gets);
    ck_assert_uint_eq(sim_cluster_asked(sim, "POST", "/leases"), creates);
    ck_assert_uint_eq(sim_cluster_asked(sim, "PUT", "/leases/l"), updates);
}

/* ... in so many intervals. */
static void expect(int intervals, size_t gets, size_t creates, size_t updates)
{
    sim_cluster_begin_record(sim);
    vpa_loop_pump(loop, intervals * INTERVAL);
    expect_asked(gets, creates, updates);
}

/* The webhook stops now, and that is asked for from then on. */
static void expect_farewell(size_t gets, size_t updates)
{
    sim_cluster_begin_record(sim);
    vpa_status_writer_farewell(writer);
    vpa_loop_pump(loop, 3 * INTERVAL);
    expect_asked(gets, 0, updates);
    if (updates)
        ck_assert_ptr_nonnull(
            strstr(last_write(), "\"renewTime\":\"1970-01-01T00:00:00.000000Z\""));
}

TEST(it_is_made_once_and_then_renewed) {
    vpa_loop_pump(loop, INTERVAL - VPA_SECOND - 1);
    ck_assert_uint_eq(sim_cluster_asked(sim, "GET", "/leases/l"), 0);
    vpa_loop_pump(loop, 1 + VPA_SECOND);
    ck_assert_uint_eq(sim_cluster_asked(sim, "GET", "/leases/l"), 1);
    ck_assert_uint_eq(sim_cluster_asked(sim, "POST", "/leases"), 1);
    ck_assert_str_eq(
        last_write(),
        "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"
        "\"name\":\"l\",\"namespace\":\"n\"},\"spec\":{\"holderIdentity\":\"me\","
        "\"leaseDurationSeconds\":10,\"acquireTime\":\"2026-03-01T12:00:10.000000Z\"}}");
    expect(1, 1, 0, 1);
    ck_assert_ptr_nonnull(strstr(last_write(), "\"renewTime\":\"2026-03-01T12:00:20.000000Z\""));
    ck_assert_ptr_nonnull(strstr(last_write(), "\"acquireTime\":\"2026-03-01T12:00:10.000000Z\""));
    expect(5, 5, 0, 5);
    ck_assert_ptr_nonnull(strstr(last_write(), "\"renewTime\":\"2026-03-01T12:01:10.000000Z\""));
}

/* It is taken back once, and let alone until the webhook works again. */
TEST(an_unhealthy_webhook_takes_it_back) {
    expect(3, 3, 1, 2);
    healthy = false;
    expect(1, 1, 0, 1);
    ck_assert_ptr_nonnull(strstr(last_write(), "\"renewTime\":\"1970-01-01T00:00:00.000000Z\""));
    expect(5, 0, 0, 0);
    healthy = true;
    expect(2, 2, 0, 2);
    ck_assert_ptr_nonnull(strstr(last_write(), "\"leaseTransitions\":1"));
}

/* The next write is overtaken: by that holder's, with a renewTime or one that was taken back. */
static const char *rival, *rivals_time;

static int overtake(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    if (strcmp(q->method, "PUT") != 0 || !rival)
        return 0;
    vpa_auto_free char *text =
        vpa_xprintf("{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
                    "\"namespace\":\"n\",\"name\":\"l\"},\"spec\":{\"holderIdentity\":\"%s\","
                    "\"renewTime\":\"%s\"}}",
                    VPA_STEAL(rival), rivals_time);
    sim_cluster_put_text(sim, text);
    vpa_memory_reply_status(r, 409, "Conflict", "overtaken");
    return 409;
}

#define FRESH "2026-03-01T12:00:35.000000Z"
#define TAKEN_BACK "1970-01-01T00:00:00.000000Z"

/* What is there then is looked at: what another one wrote is his own, but for a renewal taken back
 * while we go on; what is ours, a renewal that was given up, is taken back. */
static const struct {
    bool leaves, fails; /* we */
    const char *by, *renewed;
    size_t updates;
    const char *last; /* what stands in the end, or NULL: the rival's */
} overtakings[] = {
    {true, false, "me", FRESH, 2, TAKEN_BACK},
    {true, false, "other", FRESH, 1, NULL},
    {false, true, "me", FRESH, 2, TAKEN_BACK},
    {false, true, "other", FRESH, 1, NULL},
    {false, false, "other", FRESH, 1, NULL},
    {false, false, "other", TAKEN_BACK, 2, "2026-03-01T12:00:40.000000Z"},
};

TEST_EACH(who_was_overtaken_looks_again, overtakings) {
    expect(3, 3, 1, 2);
    rival = overtakings[_i].by;
    rivals_time = overtakings[_i].renewed;
    sim_cluster_hook(sim, overtake, NULL);
    healthy = !overtakings[_i].fails;
    sim_cluster_begin_record(sim);
    if (overtakings[_i].leaves)
        vpa_status_writer_farewell(writer);
    vpa_loop_pump(loop, INTERVAL);
    expect_asked(2, 0, overtakings[_i].updates);
    if (overtakings[_i].last)
        ck_assert_ptr_nonnull(strstr(last_write(), overtakings[_i].last));
    if (!healthy)
        expect(5, 0, 0, 0);
}

/* Each time: it is left until the next interval. */
TEST(who_is_overtaken_each_time_gives_up) {
    expect(3, 3, 1, 2);
    healthy = false;
    answer("PUT", 409, 0);
    expect(1, VPA_STATUS_LEASE_TRIES, 0, VPA_STATUS_LEASE_TRIES);
    sim_cluster_unscript(sim);
    expect(1, 1, 0, 1);
    expect(5, 0, 0, 0);
}

/* One that was never there need not be taken back. */
TEST(there_is_nothing_to_take_back) {
    healthy = false;
    expect(5, 0, 0, 0);
    healthy = true;
    expect(2, 2, 1, 1);
    healthy = false;
    ck_assert(sim_cluster_delete(sim, "coordination.k8s.io/v1", "Lease", "n", "l"));
    expect(1, 1, 0, 0);
    expect(5, 0, 0, 0);
}

/* Who stops takes back what he wrote last; what another one renewed since, and what was taken back
 * already, stays. */
static const struct {
    bool others, healthy;
    size_t gets, updates;
} farewells[] = {{false, true, 1, 1}, {true, true, 1, 0}, {false, false, 0, 0}};

TEST_EACH(who_stops_takes_it_back, farewells) {
    expect(3, 3, 1, 2);
    healthy = farewells[_i].healthy;
    if (!healthy)
        expect(1, 1, 0, 1);
    if (farewells[_i].others)
        sim_cluster_put_text(sim, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                                  "\"metadata\":{\"namespace\":\"n\",\"name\":\"l\"},\"spec\":{"
                                  "\"holderIdentity\":\"other\"}}");
    vpa_loop_pump(loop, INTERVAL - 2 * VPA_SECOND); /* the next renewal is near */
    expect_farewell(farewells[_i].gets, farewells[_i].updates);
}

/* A renewal that is under way is given up, and not made up for. */
TEST(who_stops_renews_no_more) {
    expect(3, 3, 1, 2);
    answer("GET", 0, VPA_HOUR);
    vpa_loop_pump(loop, INTERVAL);
    sim_cluster_unscript(sim);
    expect_farewell(1, 1);
}

/* Of a fault that may pass three tries in an interval, of another one none. */
static const struct {
    int status;
    size_t gets;
} faults[] = {{500, 3}, {503, 1}, {429, 3}, {403, 1}, {400, 1}};

TEST_EACH(faults_are_tried_again_thrice, faults) {
    expect(3, 3, 1, 2);
    answer("GET", faults[_i].status, 0);
    expect(1, faults[_i].gets, 0, 0);
    expect(1, faults[_i].gets, 0, 0);
    sim_cluster_unscript(sim);
    expect(1, 1, 0, 1);
}

/* As long as it is not renewed for more than two intervals it is the same webhook still. */
TEST_TIMES(a_gap_makes_it_another_webhook, 2) {
    bool long_gap = _i == 1;

    expect(3, 3, 1, 2);
    answer("GET", 403, 0);
    vpa_loop_pump(loop, (long_gap ? 2 : 1) * INTERVAL);
    sim_cluster_unscript(sim);
    expect(1, 1, 0, 1);
    ck_assert_int_eq(strstr(last_write(), "\"leaseTransitions\":1") != NULL, long_gap);
}

TEST(an_answer_that_does_not_come_is_waited_for_an_interval) {
    expect(3, 3, 1, 2);
    answer("GET", 0, VPA_HOUR);
    expect(3, 3, 0, 0);
    sim_cluster_unscript(sim);
    expect(1, 1, 0, 1);
}

TEST(what_is_no_lease_is_left_alone) {
    sim_cluster_put_text(sim, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                              "\"metadata\":{\"namespace\":\"n\",\"name\":\"l\"},\"spec\":{"
                              "\"renewTime\":7}}");
    expect(3, 3, 0, 0);
}

int main(void)
{
    return run_tests("status_lease", setup, teardown);
}
