#include "suite.h"

#include "meters.h"
#include "self_test.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/net/http_server.h"

#define INTERVAL (20 * VPA_SECOND)
#define PERIOD (5 * VPA_SECOND) /* between two tests */

#define ANSWER(RESPONSE)                                                                           \
    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":" RESPONSE  \
    "}"
#define RIGHT ANSWER("{\"uid\":\"plumb-self-test\",\"allowed\":true}")

/* A webhook that answers as it is told. */
struct bench {
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct self_test *test;
    int status; /* 0: the connection is refused */
    const char *body;
    size_t asked;
    enum vpa_code distrust; /* what is found before each test; 0: all is right */
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

static int trust(void *ctx, struct self_test_trust *out, enum self_test_step *step,
                 struct vpa_error *err)
{
    const struct bench *b = ctx;

    (void)out;
    *step = SELF_TEST_REGISTRATION;
    return b->distrust ? vpa_fail(err, b->distrust, "no registration") : 0;
}

static struct self_test *make(struct bench *b)
{
    return self_test_new_over(
        &(struct self_test_options){
            .loop = b->loop, .interval = INTERVAL, .trust = trust, .ctx = b},
        vpa_memory_transport_new(b->loop, serve, b));
}

static void begin(struct bench *b, int status, const char *body)
{
    *b = (struct bench){.status = status, .body = body};
    b->clock = vpa_clock_new_manual(vpa_time_from_unix(1780000000, 0));
    b->loop = vpa_loop_new(b->clock);
    b->test = make(b);
    self_test_start(b->test);
    vpa_loop_pump(b->loop, 0);
}

static void end(struct bench *b)
{
    self_test_free(b->test);
    vpa_loop_free(b->loop);
    vpa_clock_free(b->clock);
}

static double failures(const char *step)
{
    for (size_t i = 0; i < admission_metric_count; i++)
        if (strcmp(admission_metrics[i]->name,
                   "vpa_admission_controller_self_test_failures_total") == 0)
            return vpa_metric_value(admission_metrics[i], step);
    return -1;
}

static const struct {
    const char *name;
    int status;
    const char *body;
    bool counts;
} answers[] = {
    {"the right answer", 200, RIGHT, true},
    {"another uid", 200, ANSWER("{\"uid\":\"other\",\"allowed\":true}"), false},
    {"refused", 200, ANSWER("{\"uid\":\"plumb-self-test\",\"allowed\":false}"), false},
    {"no decision", 200, ANSWER("{\"uid\":\"plumb-self-test\"}"), false},
    {"another version", 200,
     "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1beta1\",\"response\":{"
     "\"uid\":\"plumb-self-test\",\"allowed\":true}}",
     false},
    {"nothing", 200, "", false},
    {"an error that carries the uid", 500, RIGHT, false},
    {"a redirection that carries the uid", 302, RIGHT, false},
    {"no connection", 0, "", false},
};

TEST_EACH(only_the_right_answer_counts, answers) {
    struct bench b;
    vpa_auto_buf why = VPA_BUF(1024);

    begin(&b, answers[_i].status, answers[_i].body);
    vpa_loop_pump(b.loop, VPA_SECOND);
    ck_assert_msg(self_test_is_healthy(b.test) == answers[_i].counts, "%s", answers[_i].name);
    ck_assert_msg(self_test_is_ready(b.test, &why) == answers[_i].counts, "%s", answers[_i].name);
    static const char reason[] = "the webhook has not proven itself in the last 20s: ";
    if (answers[_i].counts)
        ck_assert_str_eq(vpa_buf_text(&why), "");
    else
        ck_assert_msg(vpa_str_starts_with(vpa_buf_text(&why), reason), "%s", vpa_buf_text(&why));
    end(&b);
}

TEST(untested_is_not_healthy) {
    struct bench b = {0};

    b.clock = vpa_clock_new_manual(vpa_time_from_unix(1780000000, 0));
    b.loop = vpa_loop_new(b.clock);
    b.test = make(&b);
    ck_assert(!self_test_is_healthy(b.test));
    end(&b);
}

/* A success counts for the interval, not for ever. */
TEST(a_success_goes_by) {
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

TEST(asked_every_period) {
    struct bench b;

    begin(&b, 200, RIGHT);
    vpa_loop_pump(b.loop, VPA_SECOND);
    ck_assert_uint_eq(b.asked, 1);
    vpa_loop_pump(b.loop, 10 * PERIOD);
    ck_assert_uint_eq(b.asked, 11);
    end(&b);
}

/* So many failures in a row, and one success forgives them. */
TEST(alive_until_it_fails_in_a_row) {
    struct bench b;
    vpa_auto_buf why = VPA_BUF(1024);

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

/* What the registration says counts at once, but is nothing that a restart would repair. */
TEST(what_the_registration_says_counts) {
    const char *const step = "registration";
    struct bench b;
    vpa_auto_buf why = VPA_BUF(1024);

    begin(&b, 200, RIGHT);
    vpa_loop_pump(b.loop, VPA_SECOND);
    ck_assert(self_test_is_healthy(b.test));
    b.distrust = VPA_NOT_FOUND;
    self_test_now(b.test);
    vpa_loop_pump(b.loop, VPA_SECOND);
    ck_assert(!self_test_is_healthy(b.test));
    ck_assert(!self_test_is_ready(b.test, &why));
    ck_assert_str_eq(vpa_buf_text(&why),
                     "the webhook has not proven itself in the last 20s: no registration");
    vpa_loop_pump(b.loop, 10 * SELF_TEST_FAILURES_MAX * PERIOD);
    ck_assert(self_test_is_alive(b.test, &why));
    ck_assert(!self_test_is_healthy(b.test));
    ck_assert(failures(step) > SELF_TEST_FAILURES_MAX);
    b.distrust = 0;
    vpa_loop_pump(b.loop, PERIOD);
    ck_assert(self_test_is_healthy(b.test));
    end(&b);
}

/* Before the registration has been read nothing is known, and nothing has failed. */
TEST(too_early_is_no_failure) {
    struct bench b;

    begin(&b, 200, RIGHT);
    b.distrust = VPA_CANCELLED;
    double before = failures("registration");
    vpa_loop_pump(b.loop, 3 * PERIOD);
    ck_assert(!self_test_is_healthy(b.test));
    ck_assert(failures("registration") == before);
    end(&b);
}

static int trust_nonsense(void *ctx, struct self_test_trust *out, enum self_test_step *step,
                          struct vpa_error *err)
{
    (void)ctx;
    (void)step;
    (void)err;
    *out = (struct self_test_trust){.verify = true, .name = "x", .ca_pem = "no certificate"};
    return 0;
}

/* The registration carries something else than a CA: nobody can verify the webhook, nor does it. */
TEST(a_ca_that_is_none_is_a_failure) {
    struct bench b = {0};
    double before = failures("chain");
    vpa_auto_buf why = VPA_BUF(1024);

    b.clock = vpa_clock_new_manual(vpa_time_from_unix(1780000000, 0));
    b.loop = vpa_loop_new(b.clock);
    b.test = self_test_new(&(struct self_test_options){
        .loop = b.loop, .port = 1, .interval = INTERVAL, .trust = trust_nonsense});
    self_test_start(b.test);
    vpa_loop_pump(b.loop, 3 * PERIOD);
    ck_assert_double_ge(failures("chain"), before + 3);
    ck_assert(!self_test_is_healthy(b.test));
    ck_assert(!self_test_is_ready(b.test, &why));
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&why), "certificate"));
    end(&b);
}

/* Dashboards find a series before its first event. */
static const char *const at_first[] = {
    "recommendation_queries_total{result=\"Recommendation\"} 0\n",
    "recommendation_queries_total{result=\"TooLong\"} 0\n",
    "registration_repairs_total{what=\"gone\"} 0\n",
    "registration_repairs_total{what=\"matchConditions\"} 0\n",
    "registration_repairs_total{what=\"admissionReviewVersions\"} 0\n",
    "registration_repairs_total{what=\"webhooks\"} 0\n",
    "self_test_failures_total{step=\"registration\"} 0\n",
    "self_test_failures_total{step=\"answer\"} 0\n",
};

TEST(families_are_there_at_first) {
    struct vpa_metrics metrics = {.table = admission_metrics, .count = admission_metric_count};
    vpa_auto_buf page = VPA_BUF(1 << 16);

    meters_start();
    vpa_metrics_write(&metrics, VPA_EXPOSITION_TEXT, NULL, 0, &page);
    for (size_t i = 0; i < VPA_COUNT(at_first); i++)
        ck_assert_msg(strstr(vpa_buf_text(&page), at_first[i]) != NULL, "%s", at_first[i]);
    for (size_t i = 0; vpa_server_handshake_failure(i); i++) { /* whichever comes first */
        vpa_auto_free char *line = vpa_xprintf("tls_handshake_failures_total{reason=\"%s\"} 0\n",
                                               vpa_server_handshake_failure(i));
        ck_assert_msg(strstr(vpa_buf_text(&page), line) != NULL, "%s", line);
    }
    vpa_metrics_release(&metrics);
}

int main(void)
{
    return run_tests("self_test", NULL, NULL);
}
