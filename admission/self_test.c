/*
 * A client of our own port: one review in flight at a time, each on a new connection, so that
 * accepting, the handshake, parsing and answering are proven together. Time is that of the last
 * success; the three questions (healthy, ready, alive) compare it with bounds of their own.
 *
 * The client is made anew when the registration names another host or other CAs; for an unchanged
 * one it stays.
 */
#include "self_test.h"

#include <stdlib.h>

#include "meters.h"
#include "server.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"
#include "vpa/net/http_client.h"

#define TIMEOUT (5 * VPA_SECOND)
#define PERIOD_MAX (5 * VPA_SECOND)
#define UID "plumb-self-test"

struct self_test {
    struct self_test_options options;
    struct vpa_loop *loop;
    struct vpa_timer *timer;
    struct vpa_transport *transport;
    bool given;                    /* the transport, by new_over */
    char *name, *ca_pem;           /* of the transport; NULL: verifies nothing */
    struct vpa_exchange *exchange; /* under way, or NULL */
    bool trusted;                  /* what was asked before the last test was all right */
    bool succeeded;                /* ever */
    unsigned failures;             /* of the listener in a row */
    int64_t last_success;
    char *said; /* the failure that was logged last; NULL: none since the last success */
};

static const char review[] =
    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
    "v1\",\"request\":{\"uid\":\"" UID
    "\",\"kind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"requestKind\":{\"group\":"
    "\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"resource\":{\"group\":\"\",\"version\":\"v1\","
    "\"resource\":\"pods\"},\"namespace\":\"" UID "\",\"operation\":\"CREATE\",\"object\":{"
    "\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" UID "\",\"namespace\":\"" UID
    "\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"none\","
    "\"resources\":{\"requests\":{\"cpu\":\"10m\",\"memory\":\"16Mi\"}}}]}}}}";

static const char *step_name(enum self_test_step step)
{
    static const char *const names[] = {
        [SELF_TEST_REGISTRATION] = "registration",
        [SELF_TEST_CHAIN] = "chain",
        [SELF_TEST_VALIDITY] = "validity",
        [SELF_TEST_HANDSHAKE] = "handshake",
        [SELF_TEST_ANSWER] = "answer",
    };

    return names[step];
}

/* Each reason is said once, until a test succeeds again. */
static void fail(struct self_test *test, enum self_test_step step, const struct vpa_error *err)
{
    bool was_said = vpa_error_says(err, test->said);

    if (err->code == VPA_CANCELLED)
        return;
    vpa_metric_inc(&meter_self_tests, step_name(step));
    if (was_said)
        return;
    vpa_replace_text(&test->said, err->text);
    VPA_ERROR("The API server cannot use the webhook, its status lease is not renewed",
              VPA_KV("step", step_name(step)), VPA_KERR(err));
}

/* Allowed, with the uid of the question, in the form that an API server accepts. */
static int check_answer(const struct vpa_http_result *result, struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root = NULL;
    bool allowed = false;

    if (result->status != 200)
        return vpa_fail(err, VPA_INVALID, "HTTP status %d", result->status);
    if (vpa_json_parse(&arena, result->body, result->body_len, &root, err) < 0)
        return vpa_wrap(err, "answer");
    if (!vpa_str_eq(vpa_json_string(vpa_json_find(root, "kind")), "AdmissionReview") ||
        !vpa_str_eq(vpa_json_string(vpa_json_find(root, "apiVersion")), "admission.k8s.io/v1"))
        return vpa_fail(err, VPA_INVALID, "the answer is no AdmissionReview");
    if (!vpa_str_eq(vpa_json_string(vpa_json_at(root, "response.uid")), UID))
        return vpa_fail(err, VPA_INVALID, "the answer is to another question");
    if (!vpa_json_bool(vpa_json_at(root, "response.allowed"), &allowed) || !allowed)
        return vpa_fail(err, VPA_INVALID, "the sample pod was refused");
    return 0;
}

static int check_result(const struct vpa_http_result *result, enum self_test_step *step,
                        struct vpa_error *err)
{
    *step = SELF_TEST_HANDSHAKE;
    if (result->failure != VPA_TRANSPORT_OK)
        return vpa_fail(err, VPA_RETRY, "%s", result->error);
    *step = SELF_TEST_ANSWER;
    return check_answer(result, err);
}

static void on_done(void *ctx, const struct vpa_http_result *result)
{
    struct self_test *test = ctx;
    enum self_test_step step;
    struct vpa_error err;

    test->exchange = NULL;
    if (check_result(result, &step, &err) < 0) {
        test->failures++;
        fail(test, step, &err);
        return;
    }
    test->failures = 0;
    if (!test->trusted)
        return;
    if (test->said)
        VPA_INFO("The API server can use the webhook again");
    vpa_replace_text(&test->said, NULL);
    test->succeeded = true;
    test->last_success = vpa_loop_monotonic(test->loop);
}

static vpa_duration period(const struct self_test *test)
{
    vpa_duration half = test->options.interval / 2;

    return half < PERIOD_MAX ? half : PERIOD_MAX;
}

/* ---- the client ---- */

static int make_transport(struct self_test *test, const struct self_test_trust *trust,
                          struct vpa_error *err)
{
    vpa_auto_free char *url = vpa_xprintf("https://127.0.0.1:%d", test->options.port);
    const struct vpa_http_client_options options = {
        .base_url = url,
        .proxy = "",
        .insecure = !trust->verify,
        .ca_data = trust->verify && *trust->ca_pem ? trust->ca_pem : NULL,
        .server_name = trust->verify ? trust->name : NULL,
        .no_http2 = true,
        .no_compression = true,
        .connect_timeout = TIMEOUT,
    };
    struct vpa_transport *transport = vpa_http_client_new(test->loop, &options, err);

    if (!transport)
        return -1;
    if (test->transport)
        vpa_transport_free(test->transport);
    test->transport = transport;
    vpa_replace_text(&test->name, trust->verify ? trust->name : NULL);
    vpa_replace_text(&test->ca_pem, trust->verify ? trust->ca_pem : NULL);
    return 0;
}

static int prepare(struct self_test *test, const struct self_test_trust *trust,
                   struct vpa_error *err)
{
    bool same = test->transport && vpa_str_eq(test->name, trust->verify ? trust->name : NULL) &&
                vpa_str_eq(test->ca_pem, trust->verify ? trust->ca_pem : NULL);

    return test->given || same ? 0 : make_transport(test, trust, err);
}

/* ---- a test ---- */

static void send(struct self_test *test)
{
    static const struct vpa_header headers[] = {
        {"Content-Type", "application/json"},
        {"Connection", "close"},
    };
    const struct vpa_http_request request = {
        .method = "POST",
        .target = SERVER_SELF_TEST_PATH,
        .headers = headers,
        .header_count = VPA_COUNT(headers),
        .body = review,
        .body_len = sizeof(review) - 1,
        .response_max = 64 * 1024,
        .timeout = TIMEOUT,
    };
    const struct vpa_http_handler handler = {.ctx = test, .on_done = on_done};

    test->exchange = vpa_transport_start(test->transport, &request, &handler);
}

static void on_timer(void *ctx)
{
    struct self_test *test = ctx;
    struct self_test_trust trust = {0};
    enum self_test_step step = SELF_TEST_HANDSHAKE;
    struct vpa_error err;

    vpa_timer_start(test->timer, period(test));
    if (test->exchange)
        return;
    test->trusted = true;
    if (test->options.trust && test->options.trust(test->options.ctx, &trust, &step, &err) < 0) {
        test->trusted = false;
        trust = (struct self_test_trust){0};
        fail(test, step, &err);
    }
    if (prepare(test, &trust, &err) == 0)
        send(test);
    else
        fail(test, SELF_TEST_CHAIN, &err);
}

struct self_test *self_test_new(const struct self_test_options *options)
{
    struct self_test *test = vpa_xcalloc(1, sizeof(*test));

    test->options = *options;
    test->loop = options->loop;
    test->timer = vpa_timer_new(options->loop, on_timer, test);
    return test;
}

struct self_test *self_test_new_over(const struct self_test_options *options,
                                     struct vpa_transport *transport)
{
    struct self_test *test = self_test_new(options);

    test->transport = transport;
    test->given = true;
    return test;
}

void self_test_start(struct self_test *test)
{
    vpa_timer_start(test->timer, 0);
}

void self_test_now(struct self_test *test)
{
    if (vpa_timer_is_running(test->timer))
        vpa_timer_start(test->timer, 0);
}

void self_test_free(struct self_test *test)
{
    if (!test)
        return;
    if (test->exchange)
        vpa_transport_cancel(test->transport, test->exchange);
    vpa_timer_free(test->timer);
    if (test->transport)
        vpa_transport_free(test->transport);
    free(test->name);
    free(test->ca_pem);
    free(test->said);
    free(test);
}

/* ---- questions ---- */

bool self_test_is_healthy(void *ctx)
{
    const struct self_test *test = ctx;

    return test->succeeded && test->trusted &&
           vpa_loop_monotonic(test->loop) - test->last_success <= test->options.interval;
}

bool self_test_is_ready(void *ctx, struct vpa_buf *why)
{
    const struct self_test *test = ctx;
    char text[VPA_DURATION_TEXT_MAX];

    if (self_test_is_healthy(ctx))
        return true;
    vpa_duration_format(test->options.interval, text);
    vpa_buf_printf(why, "the webhook has not proven itself in the last %s", text);
    if (test->said)
        vpa_buf_printf(why, ": %s", test->said);
    return false;
}

bool self_test_is_alive(void *ctx, struct vpa_buf *why)
{
    const struct self_test *test = ctx;

    if (test->failures < SELF_TEST_FAILURES_MAX)
        return true;
    vpa_buf_printf(why, "the webhook's own listener did not answer %u tests in a row",
                   test->failures);
    return false;
}
