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

static char *lease;                  /* heap; NULL: there is none */
static int get_status, write_status; /* 0: as it should be */
static int gets, creates, updates;   /* that came */
static char last_write[2048];
static bool hangs;

static void answer_write(struct vpa_memory_reply *r, const struct vpa_memory_request *q,
                         bool create)
{
    creates += create;
    updates += !create;
    snprintf(last_write, sizeof(last_write), "%s", q->body);
    if (write_status) {
        vpa_memory_reply_status(r, write_status, create ? "AlreadyExists" : NULL, "refused");
        return;
    }
    free(lease);
    lease = vpa_xstrdup(q->body);
    vpa_memory_reply_json(r, create ? 201 : 200, lease);
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    if (strcmp(q->method, "GET") != 0) {
        answer_write(r, q, strcmp(q->method, "POST") == 0);
    } else {
        gets++;
        if (get_status)
            vpa_memory_reply_status(r, get_status, NULL, "refused");
        else if (lease)
            vpa_memory_reply_json(r, 200, lease);
        else
            vpa_memory_reply_status(r, 404, NULL, "leases \"l\" not found");
    }
    if (hangs)
        vpa_memory_reply_delay(r, VPA_HOUR);
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
    start_client(serve, 1772366400, 3);
    lease = NULL;
    get_status = write_status = gets = creates = updates = 0;
    hangs = false;
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
    free(lease);
    stop_client();
}

/* So many intervals, and what came in them: gets, creates, updates. */
static void expect(int intervals, int more_gets, int more_creates, int more_updates)
{
    gets = creates = updates = 0;
    vpa_loop_pump(loop, intervals * INTERVAL);
    ck_assert_int_eq(gets, more_gets);
    ck_assert_int_eq(creates, more_creates);
    ck_assert_int_eq(updates, more_updates);
}

START_TEST(it_is_made_once_and_then_renewed)
{
    vpa_loop_pump(loop, INTERVAL - VPA_SECOND - 1);
    ck_assert_int_eq(gets, 0);
    vpa_loop_pump(loop, 1 + VPA_SECOND);
    ck_assert_int_eq(gets, 1);
    ck_assert_int_eq(creates, 1);
    ck_assert_str_eq(
        last_write,
        "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"
        "\"name\":\"l\",\"namespace\":\"n\"},\"spec\":{\"holderIdentity\":\"me\","
        "\"leaseDurationSeconds\":10,\"acquireTime\":\"2026-03-01T12:00:10.000000Z\"}}");
    expect(1, 1, 0, 1);
    ck_assert_ptr_nonnull(strstr(last_write, "\"renewTime\":\"2026-03-01T12:00:20.000000Z\""));
    ck_assert_ptr_nonnull(strstr(last_write, "\"acquireTime\":\"2026-03-01T12:00:10.000000Z\""));
    expect(5, 5, 0, 5);
    ck_assert_ptr_nonnull(strstr(last_write, "\"renewTime\":\"2026-03-01T12:01:10.000000Z\""));
}
END_TEST

/* It is taken back once, and let alone until the webhook works again. */
START_TEST(an_unhealthy_webhook_takes_it_back)
{
    expect(3, 3, 1, 2);
    healthy = false;
    expect(1, 1, 0, 1);
    ck_assert_ptr_nonnull(strstr(last_write, "\"renewTime\":\"1970-01-01T00:00:00.000000Z\""));
    expect(5, 0, 0, 0);
    healthy = true;
    expect(2, 2, 0, 2);
    ck_assert_ptr_nonnull(strstr(last_write, "\"leaseTransitions\":1"));
}
END_TEST

/* Somebody else wrote at the same moment: what he wrote is his own. */
START_TEST(what_another_one_wrote_is_not_taken_back)
{
    expect(3, 3, 1, 2);
    healthy = false;
    write_status = 409;
    expect(1, 1, 0, 1);
    expect(5, 0, 0, 0);
}
END_TEST

/* One that was never there need not be taken back. */
START_TEST(there_is_nothing_to_take_back)
{
    healthy = false;
    expect(5, 0, 0, 0);
    healthy = true;
    expect(2, 2, 1, 1);
    healthy = false;
    free(lease);
    lease = NULL; /* somebody deletes it */
    expect(1, 1, 0, 0);
    expect(5, 0, 0, 0);
}
END_TEST

/* Of a fault that may pass three tries in an interval, of another one none. */
static const struct {
    int status, gets;
} faults[] = {{500, 3}, {503, 1}, {429, 3}, {403, 1}, {400, 1}};

START_TEST(faults_are_tried_again_thrice)
{
    expect(3, 3, 1, 2);
    get_status = faults[_i].status;
    expect(1, faults[_i].gets, 0, 0);
    expect(1, faults[_i].gets, 0, 0);
    get_status = 0;
    expect(1, 1, 0, 1);
}
END_TEST

/* As long as it is not renewed for more than two intervals it is the same webhook still. */
START_TEST(a_gap_makes_it_another_webhook)
{
    bool long_gap = _i == 1;

    expect(3, 3, 1, 2);
    get_status = 403;
    vpa_loop_pump(loop, (long_gap ? 2 : 1) * INTERVAL);
    get_status = 0;
    expect(1, 1, 0, 1);
    ck_assert_int_eq(strstr(last_write, "\"leaseTransitions\":1") != NULL, long_gap);
}
END_TEST

START_TEST(an_answer_that_does_not_come_is_waited_for_an_interval)
{
    expect(3, 3, 1, 2);
    hangs = true;
    expect(3, 3, 0, 0);
    hangs = false;
    expect(1, 1, 0, 1);
}
END_TEST

START_TEST(what_is_no_lease_is_left_alone)
{
    lease = vpa_xstrdup("{\"spec\":{\"renewTime\":7}}");
    expect(3, 3, 0, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("status_lease");
    TCase *c = tcase_create("writer");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, it_is_made_once_and_then_renewed);
    tcase_add_test(c, an_unhealthy_webhook_takes_it_back);
    tcase_add_test(c, what_another_one_wrote_is_not_taken_back);
    tcase_add_test(c, there_is_nothing_to_take_back);
    tcase_add_loop_test(c, faults_are_tried_again_thrice, 0, (int)VPA_COUNT(faults));
    tcase_add_loop_test(c, a_gap_makes_it_another_webhook, 0, 2);
    tcase_add_test(c, an_answer_that_does_not_come_is_waited_for_an_interval);
    tcase_add_test(c, what_is_no_lease_is_left_alone);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
