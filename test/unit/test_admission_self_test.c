#include "suite.h"

#include "self_test.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/net/memory_transport.h"

#define INTERVAL (20 * VPA_SECOND)
#define PERIOD (5 * VPA_SECOND) /* between two tests */

#define RIGHT "{\"response\":{\"uid\":\"plumb-self-test\",\"allowed\":true}}"

/* A webhook that answers as it is told. */
struct bench {
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct self_test *test;
    int status; /* 0: the connection is refused */
    const char *body;
    size_t asked;
};

static void serve(void *ctx, const struct vpa_memory_request *request,
                  struct vpa_memory_reply *reply)
{
    struct bench *b = ctx;

    (void)request;
    b->asked++;
    if (b->status == 0)
        vpa_memory_reply_fail(reply, VPA_TRANSPORT_REFUSED);
    else
        vpa_memory_reply_bytes(reply, b->status, "application/json", b->body, strlen(b->body));
}

static void begin(struct bench *b, int status, const char *body)
{
    *b = (struct bench){.status = status, .body = body};
    b->clock = vpa_clock_new_manual(vpa_time_from_unix(1780000000, 0));
    b->loop = vpa_loop_new(b->clock);
    b->test = self_test_new_over(b->loop, vpa_memory_transport_new(b->loop, serve, b), INTERVAL);
    self_test_start(b->test);
    vpa_loop_pump(b->loop, 0);
}

static void end(struct bench *b)
{
    self_test_free(b->test);
    vpa_loop_free(b->loop);
    vpa_clock_free(b->clock);
}

static const struct {
    const char *name;
    int status;
    const char *body;
    bool counts;
} answers[] = {
    {"the right answer", 200, RIGHT, true},
    {"another uid", 200, "{\"response\":{\"uid\":\"other\",\"allowed\":true}}", false},
    {"nothing", 200, "", false},
    {"an error that carries the uid", 500, RIGHT, false},
    {"a redirection that carries the uid", 302, RIGHT, false},
    {"no connection", 0, "", false},
};

START_TEST(only_the_right_answer_counts)
{
    struct bench b;
    vpa_auto_buf why = {0};

    vpa_buf_init(&why, 1024);
    begin(&b, answers[_i].status, answers[_i].body);
    vpa_loop_pump(b.loop, VPA_SECOND);
    ck_assert_msg(self_test_is_healthy(b.test) == answers[_i].counts, "%s", answers[_i].name);
    ck_assert_msg(self_test_is_ready(b.test, &why) == answers[_i].counts, "%s", answers[_i].name);
    ck_assert_str_eq(
        vpa_buf_text(&why),
        answers[_i].counts ? "" : "the webhook has not answered its own test in the last 20s");
    end(&b);
}
END_TEST

START_TEST(untested_is_not_healthy)
{
    struct bench b = {0};

    b.clock = vpa_clock_new_manual(vpa_time_from_unix(1780000000, 0));
    b.loop = vpa_loop_new(b.clock);
    b.test = self_test_new_over(b.loop, vpa_memory_transport_new(b.loop, serve, &b), INTERVAL);
    ck_assert(!self_test_is_healthy(b.test));
    end(&b);
}
END_TEST

/* A success counts for the interval, not for ever. */
START_TEST(a_success_goes_by)
{
    struct bench b;

    begin(&b, 200, RIGHT);
    vpa_loop_pump(b.loop, VPA_SECOND);
    b.status = 500;
    vpa_loop_pump(b.loop, INTERVAL - 2 * VPA_SECOND);
    ck_assert(self_test_is_healthy(b.test));
    vpa_loop_pump(b.loop, 2 * VPA_SECOND);
    ck_assert(!self_test_is_healthy(b.test));
    b.status = 200;
    vpa_loop_pump(b.loop, PERIOD);
    ck_assert(self_test_is_healthy(b.test));
    end(&b);
}
END_TEST

START_TEST(asked_every_period)
{
    struct bench b;

    begin(&b, 200, RIGHT);
    vpa_loop_pump(b.loop, VPA_SECOND);
    ck_assert_uint_eq(b.asked, 1);
    vpa_loop_pump(b.loop, 10 * PERIOD);
    ck_assert_uint_eq(b.asked, 11);
    end(&b);
}
END_TEST

/* So many failures in a row, and one success forgives them. */
START_TEST(alive_until_it_fails_in_a_row)
{
    struct bench b;
    vpa_auto_buf why = {0};

    vpa_buf_init(&why, 1024);
    begin(&b, 0, RIGHT);
    vpa_loop_pump(b.loop, VPA_SECOND);
    vpa_loop_pump(b.loop, (SELF_TEST_FAILURES_MAX - 2) * PERIOD);
    ck_assert(self_test_is_alive(b.test, &why));
    b.status = 200;
    vpa_loop_pump(b.loop, PERIOD);
    b.status = 0;
    vpa_loop_pump(b.loop, (SELF_TEST_FAILURES_MAX - 1) * PERIOD);
    ck_assert(self_test_is_alive(b.test, &why));
    ck_assert_uint_eq(why.len, 0);
    vpa_loop_pump(b.loop, PERIOD);
    ck_assert(!self_test_is_alive(b.test, &why));
    ck_assert_str_eq(vpa_buf_text(&why),
                     "the webhook's own listener did not answer 6 tests in a row");
    end(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("self_test");
    TCase *tc = tcase_create("self_test");

    tcase_add_loop_test(tc, only_the_right_answer_counts, 0, (int)VPA_COUNT(answers));
    tcase_add_test(tc, untested_is_not_healthy);
    tcase_add_test(tc, a_success_goes_by);
    tcase_add_test(tc, asked_every_period);
    tcase_add_test(tc, alive_until_it_fails_in_a_row);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
