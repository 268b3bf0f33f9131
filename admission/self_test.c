/*
 * A client of our own port: one review in flight at a time, each on a new connection, so that
 * accepting, the handshake, parsing and answering are proven together. Time is that of the last
 * success; the three questions (healthy, ready, alive) compare it with bounds of their own.
 */
#include "self_test.h"

#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "vpa/base/log.h"
#include "vpa/net/http_client.h"

#define TIMEOUT (5 * VPA_SECOND)
#define PERIOD_MAX (5 * VPA_SECOND)
#define UID "plumb-self-test"

struct self_test {
    struct vpa_loop *loop;
    struct vpa_timer *timer;
    struct vpa_transport *transport;
    struct vpa_exchange *exchange; /* under way, or NULL */
    vpa_duration interval;
    bool succeeded;
    unsigned failures; /* in a row; the first is said */
    int64_t last_success;
};

static const char review[] =
    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
    "v1\",\"request\":{\"uid\":\"" UID
    "\",\"requestKind\":{\"kind\":\"Pod\"},\"resource\":{\"group\":\"\",\"version\":\"v1\","
    "\"resource\":\"pods\"},\"operation\":\"CREATE\",\"object\":{\"metadata\":{\"name\":\"" UID
    "\"},\"spec\":{\"containers\":[]}}}}";

static void on_done(void *ctx, const struct vpa_http_result *result)
{
    struct self_test *test = ctx;
    bool good = result->failure == VPA_TRANSPORT_OK && result->status == 200 &&
                strstr(result->body, "\"uid\":\"" UID "\"") != NULL;

    test->exchange = NULL;
    if (!good) {
        if (test->failures++ == 0)
            VPA_ERROR("The webhook does not answer its own test, its status lease is not renewed",
                      VPA_KV("err", result->error), VPA_KV("status", result->status));
        return;
    }
    if (test->failures > 0)
        VPA_INFO("The webhook answers its own test again");
    test->failures = 0;
    test->succeeded = true;
    test->last_success = vpa_loop_monotonic(test->loop);
}

static vpa_duration period(const struct self_test *test)
{
    return test->interval / 2 < PERIOD_MAX ? test->interval / 2 : PERIOD_MAX;
}

static void on_timer(void *ctx)
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
    struct self_test *test = ctx;
    const struct vpa_http_handler handler = {.ctx = test, .on_done = on_done};

    if (!test->exchange)
        test->exchange = vpa_transport_start(test->transport, &request, &handler);
    vpa_timer_start(test->timer, period(test));
}

struct self_test *self_test_new_over(struct vpa_loop *loop, struct vpa_transport *transport,
                                     vpa_duration interval)
{
    struct self_test *test = vpa_xcalloc(1, sizeof(*test));

    test->loop = loop;
    test->transport = transport;
    test->interval = interval;
    test->timer = vpa_timer_new(loop, on_timer, test);
    return test;
}

struct self_test *self_test_new(struct vpa_loop *loop, int port, vpa_duration interval,
                                struct vpa_error *err)
{
    vpa_auto_free char *url = vpa_xprintf("https://127.0.0.1:%d", port);
    /* Whether the certificate is right for its name is the API server's business. */
    const struct vpa_http_client_options options = {
        .base_url = url,
        .proxy = "",
        .insecure = true,
        .no_http2 = true,
        .no_compression = true,
        .connect_timeout = TIMEOUT,
    };
    struct vpa_transport *transport = vpa_http_client_new(loop, &options, err);

    return transport ? self_test_new_over(loop, transport, interval) : NULL;
}

void self_test_start(struct self_test *test)
{
    vpa_timer_start(test->timer, 0);
}

void self_test_free(struct self_test *test)
{
    if (!test)
        return;
    if (test->exchange)
        vpa_transport_cancel(test->transport, test->exchange);
    vpa_transport_free(test->transport);
    vpa_timer_free(test->timer);
    free(test);
}

bool self_test_is_healthy(void *ctx)
{
    const struct self_test *test = ctx;

    return test->succeeded && vpa_loop_monotonic(test->loop) - test->last_success <= test->interval;
}

bool self_test_is_ready(void *ctx, struct vpa_buf *why)
{
    const struct self_test *test = ctx;
    char text[VPA_DURATION_TEXT_MAX];

    if (self_test_is_healthy(ctx))
        return true;
    vpa_duration_format(test->interval, text);
    vpa_buf_printf(why, "the webhook has not answered its own test in the last %s", text);
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
