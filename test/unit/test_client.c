/* Kubernetes client over the in-memory transport: paths, headers, results, repetition, rate limit.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/daemon/clock.h"
#include "vpa/kube/client.h"
#include "vpa/kube/reflector.h"

static struct vpa_clock *clk;
static struct vpa_loop *loop;
static struct vpa_random rnd;
static struct vpa_transport *transport;
static struct vpa_kube_client *client;

/* The server: answers by script, keeps what it saw. */
static struct {
    int status;
    int until; /* the script holds for so many requests, then this: */
    int then;  /* 0: 200 */
    int retry_after;
    enum vpa_transport_failure failure;
    const char *reason, *message, *text;
    size_t chunk;
    vpa_duration delay;
} script;
static int seen;
static int64_t seen_at[32];
static bool last_repeatable;
static char last_method[16], last_target[512], last_type[64], last_body[512], last_agent[64];

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    if (seen < 32)
        seen_at[seen] = vpa_loop_monotonic(loop);
    seen++;
    snprintf(last_method, sizeof(last_method), "%s", q->method);
    snprintf(last_target, sizeof(last_target), "%s", q->target);
    snprintf(last_type, sizeof(last_type), "%s", or_dash(vpa_memory_header(q, "content-type")));
    snprintf(last_agent, sizeof(last_agent), "%s", or_dash(vpa_memory_header(q, "User-Agent")));
    snprintf(last_body, sizeof(last_body), "%s", q->body);
    last_repeatable = q->repeatable;
    if (script.chunk)
        vpa_memory_reply_chunk(r, script.chunk);
    if (script.delay)
        vpa_memory_reply_delay(r, script.delay);
    if (seen > script.until && script.then) {
        vpa_memory_reply_status(r, script.then, NULL, "scripted");
        return;
    }
    if (seen > script.until) {
        vpa_memory_reply_json(r, 200, "{\"ok\":true,\"n\":[1,2,3]}");
        return;
    }
    if (script.text)
        vpa_memory_reply_bytes(r, script.status, "text/plain", script.text, strlen(script.text));
    else if (script.message)
        vpa_memory_reply_status(r, script.status, script.reason, script.message);
    if (script.retry_after >= 0)
        vpa_memory_reply_retry_after(r, script.retry_after);
    if (script.failure)
        vpa_memory_reply_fail(r, script.failure);
}

static struct vpa_kube_config *config;
static int answered, unanswered; /* attempts, as the client tells of them */

static void on_attempt(void *ctx, bool was_answered)
{
    (void)ctx;
    answered += was_answered;
    unanswered += !was_answered;
}

static void make_client(double qps, int64_t burst)
{
    const struct vpa_kube_client_options options = {.loop = loop,
                                                    .transport = transport,
                                                    .config = config,
                                                    .random = &rnd,
                                                    .user_agent = "vpa-test/1",
                                                    .qps = qps,
                                                    .burst = burst,
                                                    .on_attempt = on_attempt};
    struct vpa_error err;

    vpa_kube_client_free(client);
    client = vpa_kube_client_new(&options, &err);
    ck_assert_ptr_nonnull(client);
}

static void setup(void)
{
    clk = vpa_clock_new_manual(vpa_time_from_unix(1767225600, 0));
    loop = vpa_loop_new(clk);
    vpa_random_init(&rnd, 1);
    transport = vpa_memory_transport_new(loop, serve, NULL);
    client = NULL;
    config = vpa_kube_config_plain("http://sim:8001/prefix");
    vpa_metric_reset(&vpa_kube_requests);
    make_client(-1, 0);
    seen = answered = unanswered = 0;
    memset(&script, 0, sizeof(script));
    script.retry_after = -1;
}

static void teardown(void)
{
    vpa_kube_client_free(client);
    vpa_kube_config_free(config);
    vpa_metric_reset(&vpa_kube_requests);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clk);
}

static const struct {
    const char *group_version, *ns, *resource, *name, *sub, *want;
} paths[] = {
    {"v1", "web", "pods", "a", "resize", "/api/v1/namespaces/web/pods/a/resize"},
    {"v1", NULL, "pods", NULL, NULL, "/api/v1/pods"},
    {"v1", "", "namespaces", "x", NULL, "/api/v1/namespaces/x"},
    {"apps/v1", "web", "deployments", "api", "scale",
     "/apis/apps/v1/namespaces/web/deployments/api/scale"},
    {"autoscaling.k8s.io/v1", NULL, "verticalpodautoscalers", NULL, NULL,
     "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers"},
    {"v1", "a/../b", "pods", "..", NULL, "/api/v1/namespaces/a%2F..%2Fb/pods/%2E%2E"},
    {"v1", "n", "pods", "a b?c#d:e", NULL, "/api/v1/namespaces/n/pods/a%20b%3Fc%23d%3Ae"},
};

START_TEST(builds_paths)
{
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, VPA_KUBE_PATH_MAX);
    vpa_kube_path(&buf, paths[_i].group_version, paths[_i].ns, paths[_i].resource, paths[_i].name,
                  paths[_i].sub);
    ck_assert_str_eq(vpa_buf_text(&buf), paths[_i].want);
}
END_TEST

START_TEST(builds_queries)
{
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, VPA_KUBE_PATH_MAX);
    vpa_kube_path(&buf, "v1", NULL, "pods", NULL, NULL);
    vpa_kube_query(&buf, "fieldSelector", "status.phase!=Pending");
    vpa_kube_query(&buf, "limit", "500");
    ck_assert_str_eq(vpa_buf_text(&buf),
                     "/api/v1/pods?fieldSelector=status.phase%21%3DPending&limit=500");
}
END_TEST

static const struct {
    enum vpa_kube_verb verb;
    const char *method, *type, *body;
} verbs[] = {
    {VPA_KUBE_GET, "GET", "-", NULL},
    {VPA_KUBE_LIST, "GET", "-", NULL},
    {VPA_KUBE_CREATE, "POST", "application/json", "{}"},
    {VPA_KUBE_UPDATE, "PUT", "application/json", "{\"a\":1}"},
    {VPA_KUBE_PATCH_JSON, "PATCH", "application/json-patch+json", "[]"},
    {VPA_KUBE_PATCH_MERGE, "PATCH", "application/merge-patch+json", "{}"},
    {VPA_KUBE_PATCH_STRATEGIC, "PATCH", "application/strategic-merge-patch+json", "{}"},
    {VPA_KUBE_DELETE, "DELETE", "application/json", "{}"},
};

START_TEST(sends_verbs)
{
    const struct vpa_kube_call call = {.verb = verbs[_i].verb,
                                       .path = "/api/v1/x?a=b",
                                       .body = verbs[_i].body,
                                       .body_len = verbs[_i].body ? strlen(verbs[_i].body) : 0};
    vpa_auto_arena arena = {0};
    struct vpa_kube_result result;
    struct vpa_error err;

    ck_assert_int_eq(vpa_kube_do(client, &call, &arena, &result, &err), 0);
    ck_assert_str_eq(last_method, verbs[_i].method);
    ck_assert_str_eq(last_target, "/api/v1/x?a=b");
    ck_assert_str_eq(last_type, verbs[_i].type);
    ck_assert_str_eq(last_body, verbs[_i].body ? verbs[_i].body : "");
    ck_assert_str_eq(last_agent, "vpa-test/1");
    ck_assert_str_eq(result.body, "{\"ok\":true,\"n\":[1,2,3]}");
    ck_assert_uint_eq(vpa_kube_client_counters(client)->calls[verbs[_i].verb], 1);
    ck_assert(vpa_metric_value(&vpa_kube_requests, "200", verbs[_i].method, "sim:8001") == 1);
    ck_assert_uint_eq(vpa_kube_client_in_flight(client), 0);
}
END_TEST

static const struct {
    int status;
    const char *reason, *message; /* message NULL: bare text */
    const char *text;
    enum vpa_kube_verb verb;
    const char *path;
    enum vpa_code code;
    const char *want_text, *want_reason;
} failures[] = {
    {404, "NotFound", "pods \"x\" not found", NULL, VPA_KUBE_GET, "/api/v1/namespaces/n/pods/x",
     VPA_NOT_FOUND, "pods \"x\" not found", "NotFound"},
    {404, NULL, NULL, "404 page not found\n", VPA_KUBE_GET,
     "/apis/example.com/v1/namespaces/n/plains/noscale/scale", VPA_NOT_FOUND,
     "the server could not find the requested resource (get plains noscale)", "NotFound"},
    {404, NULL, NULL, "", VPA_KUBE_GET, "/api/v1/namespaces/n/pods/podkind/scale", VPA_NOT_FOUND,
     "the server could not find the requested resource (get pods podkind)", "NotFound"},
    {409, "AlreadyExists", "exists", NULL, VPA_KUBE_CREATE, "/x", VPA_CONFLICT, "exists",
     "AlreadyExists"},
    {409, NULL, NULL, "?", VPA_KUBE_CREATE, "/api/v1/namespaces/n/pods", VPA_CONFLICT,
     "the server reported a conflict (post pods)", "AlreadyExists"},
    {409, NULL, NULL, "?", VPA_KUBE_UPDATE, "/api/v1/namespaces/n/pods/p", VPA_CONFLICT,
     "the server reported a conflict (put pods p)", "Conflict"},
    {410, "Expired", "too old", NULL, VPA_KUBE_LIST, "/x", VPA_GONE, "too old", "Expired"},
    {401, "Unauthorized", "Unauthorized", NULL, VPA_KUBE_GET, "/x", VPA_DENIED, "Unauthorized",
     "Unauthorized"},
    {403, "Forbidden", "no", NULL, VPA_KUBE_GET, "/x", VPA_DENIED, "no", "Forbidden"},
    {422, "Invalid", "bad", NULL, VPA_KUBE_UPDATE, "/x", VPA_INVALID, "bad", "Invalid"},
    {429, "TooManyRequests", "slow down", NULL, VPA_KUBE_CREATE, "/x", VPA_RETRY, "slow down",
     "TooManyRequests"},
    {500, NULL, NULL, "oh \"no\"", VPA_KUBE_GET, "/api/v1/nodes/n", VPA_RETRY,
     "an error on the server (\"oh \\\"no\\\"\") has prevented the request from succeeding (get "
     "nodes n)",
     "InternalError"},
    {503, NULL, NULL, "{\"kind\":\"Status\",\"status\":\"Fai", VPA_KUBE_GET, "/healthz", VPA_RETRY,
     "the server is currently unable to handle the request", "ServiceUnavailable"},
    {302, NULL, NULL, "", VPA_KUBE_GET, "/healthz", VPA_INVALID,
     "the server responded with the status code 302 but did not return more information", ""},
};

START_TEST(classifies_failures)
{
    const struct vpa_kube_call call = {.verb = failures[_i].verb, .path = failures[_i].path};
    vpa_auto_arena arena = {0};
    struct vpa_kube_result result;
    struct vpa_error err;

    script.status = failures[_i].status;
    script.reason = failures[_i].reason;
    script.message = failures[_i].message;
    script.text = failures[_i].text;
    script.until = 100;
    ck_assert_int_eq(vpa_kube_do(client, &call, &arena, &result, &err), -1);
    ck_assert_str_eq(err.text, failures[_i].want_text);
    ck_assert_int_eq(err.code, failures[_i].code);
    ck_assert_str_eq(result.status.reason, failures[_i].want_reason);
    ck_assert_int_eq(result.status_code, failures[_i].status);
    ck_assert_int_eq(seen, 1);
}
END_TEST

static const struct {
    const char *name;
    enum vpa_kube_verb verb;
    int status, retry_after;
    enum vpa_transport_failure failure;
    int until;
    int want_requests; /* 0 with rc 0: just one more than until */
    int64_t want_seconds;
    int rc;
    int max_age; /* seconds */
} repeats[] = {
    {"429 with Retry-After", VPA_KUBE_CREATE, 429, 3, 0, 2, 3, 6, 0},
    {"503 with Retry-After", VPA_KUBE_GET, 503, 1, 0, 1, 2, 1, 0},
    {"500 with Retry-After 0", VPA_KUBE_UPDATE, 500, 0, 0, 1, 2, 0, 0},
    {"503 without", VPA_KUBE_GET, 503, -1, 0, 100, 1, 0, -1},
    {"a longer pause is cut to a minute", VPA_KUBE_GET, 503, 86400, 0, 1, 2, 60, 0},
    {"two minutes of pauses altogether", VPA_KUBE_GET, 503, 50, 0, 100, 3, 100, -1},
    {"no pause beyond the call's time", VPA_KUBE_CREATE, 429, 3, 0, 100, 1, 0, -1, 3},
    {"pauses within the call's time", VPA_KUBE_CREATE, 429, 3, 0, 100, 4, 9, -1, 10},
    {"404 with Retry-After is final", VPA_KUBE_GET, 404, 1, 0, 100, 1, 0, -1},
    {"ten repeats at most", VPA_KUBE_GET, 429, 2, 0, 100, 11, 20, -1},
    {"reset on a read", VPA_KUBE_GET, 0, -1, VPA_TRANSPORT_RESET, 2, 3, 2, 0},
    {"EOF on a list", VPA_KUBE_LIST, 0, -1, VPA_TRANSPORT_EOF, 1, 2, 1, 0},
    {"reset on a write", VPA_KUBE_CREATE, 0, -1, VPA_TRANSPORT_RESET, 100, 1, 0, -1},
    {"refused", VPA_KUBE_GET, 0, -1, VPA_TRANSPORT_REFUSED, 100, 1, 0, -1},
};

/* Which lost connections are tried again once, after a second: those of reads; a watch also after a
 * time-out. Nothing of a write that may have happened. */
START_TEST(repeats_after_lost_connections)
{
    static const enum vpa_kube_verb verbs_tried[] = {VPA_KUBE_GET, VPA_KUBE_LIST, VPA_KUBE_WATCH,
                                                     VPA_KUBE_CREATE, VPA_KUBE_DELETE};
    enum vpa_transport_failure failure = (enum vpa_transport_failure)_i;

    for (size_t i = 0; i < VPA_COUNT(verbs_tried); i++) {
        enum vpa_kube_verb verb = verbs_tried[i];
        const struct vpa_kube_call call = {.verb = verb, .path = "/api/v1/x"};
        bool lost = failure == VPA_TRANSPORT_RESET || failure == VPA_TRANSPORT_EOF;
        bool again =
            i < 3 && (lost || (verb == VPA_KUBE_WATCH && failure == VPA_TRANSPORT_TIMEOUT));
        int64_t begin = vpa_loop_monotonic(loop);
        struct vpa_error err;

        seen = 0;
        script.failure = failure;
        script.until = 1;
        ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), again ? 0 : -1);
        ck_assert_int_eq(seen, again ? 2 : 1);
        ck_assert(vpa_loop_monotonic(loop) - begin == (again ? VPA_SECOND : 0));
    }
}
END_TEST

/* Which answers with Retry-After are: 429 and all from 500 on. */
static const struct {
    int status;
    bool again;
} asking[] = {{400, false}, {428, false}, {429, true}, {430, false}, {499, false},
              {500, true},  {501, true},  {503, true}, {599, true}};
START_TEST(repeats_when_asked_to)
{
    const struct vpa_kube_call call = {.verb = VPA_KUBE_CREATE, .path = "/api/v1/x"};
    struct vpa_error err;

    script.status = asking[_i].status;
    script.message = "scripted";
    script.retry_after = 7;
    script.until = 1;
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), asking[_i].again ? 0 : -1);
    ck_assert_int_eq(seen, asking[_i].again ? 2 : 1);
    ck_assert(vpa_loop_monotonic(loop) == (asking[_i].again ? 7 * VPA_SECOND : 0));
    ck_assert_uint_eq(vpa_kube_client_in_flight(client), 0);
}
END_TEST

START_TEST(repeats_requests)
{
    const struct vpa_kube_call call = {
        .verb = repeats[_i].verb, .path = "/api/v1/x", .max_age = repeats[_i].max_age * VPA_SECOND};
    struct vpa_error err;

    script.status = repeats[_i].status;
    script.message = repeats[_i].status ? "scripted" : NULL;
    script.retry_after = repeats[_i].retry_after;
    script.failure = repeats[_i].failure;
    script.until = repeats[_i].until;
    ck_assert_msg(vpa_kube_do(client, &call, NULL, NULL, &err) == repeats[_i].rc, "%s",
                  repeats[_i].name);
    ck_assert_msg(seen == repeats[_i].want_requests, "%s: %d requests", repeats[_i].name, seen);
    ck_assert_msg(vpa_loop_monotonic(loop) == repeats[_i].want_seconds * VPA_SECOND, "%s: %f s",
                  repeats[_i].name, (double)vpa_loop_monotonic(loop) / 1e9);
    if (repeats[_i].rc < 0 && (repeats[_i].failure || repeats[_i].max_age))
        ck_assert_int_eq(err.code, VPA_RETRY);
    ck_assert_int_eq(answered + unanswered, seen);
    if (repeats[_i].failure)
        ck_assert_int_eq(unanswered, repeats[_i].rc < 0 ? seen : seen - 1);
    else
        ck_assert_int_eq(unanswered, 0);
}
END_TEST

static bool is_first(void *ctx)
{
    (void)ctx;
    return seen == 0;
}

/* What the last answer says of a change holds for the last try alone. */
static const struct {
    enum vpa_kube_verb verb;
    int status;
    const char *reason;
    int then;
    bool one_try, only_asks;
    bool unanswered;
} tries[] = {
    {VPA_KUBE_CREATE, 504, "Timeout", 404, false, false, true},
    {VPA_KUBE_PATCH_JSON, 502, "", 422, false, false, true},
    {VPA_KUBE_CREATE, 500, "", 409, false, false, true},
    {VPA_KUBE_CREATE, 504, "Timeout", 0, true, false, true},
    {VPA_KUBE_CREATE, 504, "Timeout", 504, false, false, true},
    {VPA_KUBE_CREATE, 500, "InternalError", 409, false, false, false},
    {VPA_KUBE_CREATE, 503, "ServiceUnavailable", 404, false, false, false},
    {VPA_KUBE_CREATE, 429, "TooManyRequests", 404, false, false, false},
    {VPA_KUBE_CREATE, 504, "Timeout", 404, false, true, false},
    {VPA_KUBE_GET, 504, "Timeout", 404, false, false, false},
    {VPA_KUBE_CREATE, 504, "Timeout", 0, false, false, false}, /* it is done in the end */
};

START_TEST(an_earlier_try_may_have_been_carried_out)
{
    const struct vpa_kube_call call = {.verb = tries[_i].verb,
                                       .path = "/api/v1/x",
                                       .only_asks = tries[_i].only_asks,
                                       .wanted = tries[_i].one_try ? is_first : NULL};
    vpa_auto_arena arena = {0};
    struct vpa_kube_result result;
    struct vpa_error err;
    bool good = !tries[_i].then && !tries[_i].one_try;

    script.status = tries[_i].status;
    script.reason = tries[_i].reason;
    script.message = "scripted";
    script.retry_after = 1;
    script.until = 1;
    script.then = tries[_i].then;
    ck_assert_int_eq(vpa_kube_do(client, &call, &arena, &result, &err), good ? 0 : -1);
    ck_assert_int_eq(seen, tries[_i].one_try ? 1 : 2);
    ck_assert_int_eq(result.unanswered, tries[_i].unanswered);
}
END_TEST

START_TEST(times_out)
{
    const struct vpa_kube_call call = {
        .verb = VPA_KUBE_UPDATE, .path = "/x", .timeout = 10 * VPA_SECOND};
    vpa_auto_arena arena = {0};
    struct vpa_kube_result result;
    struct vpa_error err;

    script.delay = 12 * VPA_SECOND;
    ck_assert_int_eq(vpa_kube_do(client, &call, &arena, &result, &err), -1);
    ck_assert_int_eq(err.code, VPA_RETRY);
    ck_assert_int_eq(result.failure, VPA_TRANSPORT_TIMEOUT);
    ck_assert(vpa_kube_is_retryable(&result));
    ck_assert_ptr_nonnull(strstr(err.text, "PUT /x: timeout"));
    ck_assert(vpa_loop_monotonic(loop) == 10 * VPA_SECOND);
}
END_TEST

START_TEST(an_attempt_ends_with_the_calls_time)
{
    const struct vpa_kube_call call = {
        .verb = VPA_KUBE_UPDATE, .path = "/x", .max_age = 5 * VPA_SECOND};
    struct vpa_error err;

    script.delay = 12 * VPA_SECOND;
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "PUT /x: timeout"));
    ck_assert(vpa_loop_monotonic(loop) == 5 * VPA_SECOND);
}
END_TEST

static struct vpa_error last_err;

static void keep_err(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    (void)result;
    last_err = err ? *err : (struct vpa_error){0};
    ++*(int *)ctx;
}

START_TEST(a_call_that_would_wait_too_long_takes_no_token)
{
    const struct vpa_kube_call call = {
        .verb = VPA_KUBE_CREATE, .path = "/x?y", .max_age = 1500 * VPA_MILLISECOND};
    int done = 0;

    make_client(1, 1);
    for (int i = 0; i < 10; i++)
        vpa_kube_start(client, &call, keep_err, &done);
    vpa_loop_poll(loop);
    ck_assert_int_eq(done, 9); /* one was sent, one waits */
    ck_assert_int_eq(last_err.code, VPA_CANCELLED);
    ck_assert_str_eq(last_err.text,
                     "POST /x: not sent: the rate limit would hold it longer than it may wait");
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(done, 10);
    ck_assert_int_eq(seen, 2);
    vpa_loop_pump(loop, VPA_SECOND); /* the tokens of those that were dropped are there */
    vpa_kube_start(client, &call, keep_err, &done);
    ck_assert_int_eq(seen, 3);
}
END_TEST

/* The process stands still and wakes: timers run late. */
static void stand_still(void *ctx)
{
    (void)ctx;
    vpa_clock_advance(clk, 40 * VPA_SECOND);
}

START_TEST(an_old_decision_is_never_sent)
{
    const struct vpa_kube_call call = {
        .verb = _i ? VPA_KUBE_CREATE : VPA_KUBE_GET, .path = "/x?y", .max_age = 30 * VPA_SECOND};
    int done = 0;

    make_client(1, 1);
    vpa_kube_start(client, &call, keep_err, &done);
    vpa_kube_start(client, &call, keep_err, &done);
    vpa_loop_post(loop, stand_still, NULL);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(done, 2);
    ck_assert_int_eq(seen, 1);
    ck_assert_int_eq(last_err.code, VPA_CANCELLED);
    ck_assert_str_eq(last_err.text, _i ? "POST /x: not sent: what it rests on is older than 30s"
                                       : "GET /x: not sent: what it rests on is older than 30s");
}
END_TEST

START_TEST(says_what_may_be_sent_again)
{
    const struct vpa_kube_call call = {
        .verb = VPA_KUBE_PATCH_JSON, .path = "/x", .repeatable = _i == 1};

    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, NULL), 0);
    ck_assert_int_eq(last_repeatable, _i == 1);
}
END_TEST

static bool leading;
static int asked;

static bool leads(void *ctx)
{
    ck_assert_ptr_eq(ctx, &leading);
    asked++;
    return leading;
}

static void lose_the_lease(void *ctx)
{
    (void)ctx;
    leading = false;
}

START_TEST(writes_are_fenced)
{
    const struct vpa_kube_call call = {.verb = verbs[_i].verb, .path = "/x"};
    bool write = verbs[_i].verb > VPA_KUBE_WATCH;
    struct vpa_kube_client_options options = {.loop = loop,
                                              .transport = transport,
                                              .random = &rnd,
                                              .qps = 1,
                                              .burst = 1,
                                              .may_write = leads,
                                              .may_write_ctx = &leading};
    int done = 0;

    vpa_kube_client_free(client);
    client = vpa_kube_client_new(&options, NULL);
    leading = true;
    asked = 0;
    vpa_kube_start(client, &call, keep_err, &done);
    vpa_kube_start(client, &call, keep_err, &done);
    ck_assert_int_eq(asked, write);
    vpa_loop_post(loop, lose_the_lease, NULL);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(done, 2);
    ck_assert_int_eq(asked, 2 * write); /* after the wait for the limiter */
    ck_assert_int_eq(seen, write ? 1 : 2);
    ck_assert_int_eq(last_err.code, write ? VPA_CANCELLED : VPA_OK);
    if (write)
        ck_assert_ptr_nonnull(strstr(last_err.text, " /x: not sent: no longer the leader"));
}
END_TEST

/* A standby may ask, and so may a shadow. */
START_TEST(questions_are_not_fenced)
{
    const struct vpa_kube_call call = {.verb = VPA_KUBE_CREATE, .path = "/x", .only_asks = true};
    struct vpa_kube_client_options options = {.loop = loop,
                                              .transport = transport,
                                              .random = &rnd,
                                              .qps = -1,
                                              .dry_run = true,
                                              .may_write = leads,
                                              .may_write_ctx = &leading};

    vpa_kube_client_free(client);
    client = vpa_kube_client_new(&options, NULL);
    leading = false;
    asked = 0;
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &last_err), 0);
    ck_assert_int_eq(asked, 0);
    ck_assert_str_eq(last_target, "/x");
}
END_TEST

static char told[256];

static void on_unusable(void *ctx, const char *api_version, const char *resource,
                        const struct vpa_unusable_object *what)
{
    snprintf(told, sizeof(told), "%s %s %s %s", (const char *)ctx, api_version, resource,
             what->name);
}

static const struct {
    const char *path, *told;
} collections[] = {
    {"/api/v1/pods", "ctx v1 things x"},
    {"/api/v1/namespaces/shop/pods", "ctx v1 things x"},
    {"/apis/apps/v1/deployments", "ctx apps/v1 things x"},
    {"/apis/autoscaling.k8s.io/v1/namespaces/a/verticalpodautoscalers",
     "ctx autoscaling.k8s.io/v1 things x"},
    {"/apis/odd", "ctx odd things x"},
};

START_TEST(tells_of_unusable_objects)
{
    const struct vpa_unusable_object what = {.name = "x"};
    struct vpa_kube_client_options options = {.loop = loop,
                                              .transport = transport,
                                              .random = &rnd,
                                              .qps = -1,
                                              .on_unusable = on_unusable,
                                              .unusable_ctx = (char[]){"ctx"}};

    vpa_kube_client_tell_unusable(client, collections[_i].path, "things", &what); /* nobody asks */
    vpa_kube_client_free(client);
    client = vpa_kube_client_new(&options, NULL);
    vpa_kube_client_tell_unusable(client, collections[_i].path, "things", &what);
    ck_assert_str_eq(told, collections[_i].told);
}
END_TEST

START_TEST(a_dry_run_stores_nothing)
{
    static const char *const targets[][2] = {{"/x", "/x?dryRun=All"},
                                             {"/x?fieldManager=a", "/x?fieldManager=a&dryRun=All"}};
    struct vpa_kube_client_options options = {
        .loop = loop, .transport = transport, .random = &rnd, .qps = -1, .dry_run = true};
    bool write = verbs[_i].verb > VPA_KUBE_WATCH;

    vpa_kube_client_free(client);
    client = vpa_kube_client_new(&options, NULL);
    for (size_t i = 0; i < VPA_COUNT(targets); i++) {
        const struct vpa_kube_call call = {.verb = verbs[_i].verb, .path = targets[i][0]};
        int done = 0;

        seen = 0;
        vpa_kube_start(client, &call, keep_err, &done);
        vpa_loop_pump(loop, VPA_SECOND);
        ck_assert_int_eq(done, 1);
        ck_assert_int_eq(seen, verbs[_i].verb != VPA_KUBE_DELETE);
        if (seen)
            ck_assert_str_eq(last_target, targets[i][write]);
    }
}
END_TEST

/* An answer that never ends, so many bytes a second. */
static struct {
    struct vpa_memory_stream *stream;
    struct vpa_timer *timer;
    size_t rate, taken;
} drip;

static void next_drip(void *ctx)
{
    (void)ctx;
    vpa_auto_free char *bytes = vpa_xcalloc(1, drip.rate);
    vpa_memory_stream_push(drip.stream, bytes, drip.rate);
    vpa_timer_start(drip.timer, VPA_SECOND);
}

static void drip_closed(void *ctx)
{
    (void)ctx;
    vpa_timer_stop(drip.timer);
}

static void serve_drips(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    (void)q;
    drip.stream = vpa_memory_reply_stream(r, 200, drip_closed, NULL);
    vpa_timer_start(drip.timer, VPA_SECOND);
}

static int take_drip(void *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    (void)bytes;
    drip.taken += len;
    return 0;
}

static const struct {
    size_t rate;
    int64_t ends_after; /* seconds; 0: not within an hour */
} drips[] = {{1, 60}, {15 << 10, 960}, {16 << 10, 0}, {20 << 10, 0}};

START_TEST(lists_that_drip_end)
{
    const struct vpa_kube_call call = {
        .verb = VPA_KUBE_LIST, .path = "/api/v1/x", .on_data = take_drip};
    struct vpa_transport *plain = transport;
    int done = 0;

    transport = vpa_memory_transport_new(loop, serve_drips, NULL);
    make_client(-1, 0);
    drip.timer = vpa_timer_new(loop, next_drip, NULL);
    drip.rate = drips[_i].rate;
    vpa_kube_start(client, &call, keep_err, &done);
    vpa_loop_pump(loop, VPA_HOUR);
    ck_assert_int_eq(done, drips[_i].ends_after > 0);
    if (done) {
        ck_assert_int_eq(last_err.code, VPA_RETRY);
        ck_assert_ptr_nonnull(strstr(last_err.text, "GET /api/v1/x: timeout"));
        ck_assert_uint_le(drip.taken, (size_t)drips[_i].ends_after * drip.rate);
        ck_assert_uint_ge(drip.taken, (size_t)(drips[_i].ends_after - 60) * drip.rate);
    }
    vpa_kube_client_free(client);
    client = NULL;
    vpa_timer_free(drip.timer);
    vpa_transport_free(transport);
    transport = plain;
}
END_TEST

static int done_count;

static void on_done(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    (void)ctx;
    (void)result;
    ck_assert_ptr_null(err);
    done_count++;
}

static bool all_done(void *ctx)
{
    return done_count == *(int *)ctx;
}

START_TEST(limits_the_rate)
{
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .path = "/x"};
    const struct vpa_kube_call free_call = {.verb = VPA_KUBE_GET, .path = "/x", .unlimited = true};
    int want = 21;

    make_client(10, 5);
    done_count = 0;
    for (int i = 0; i < 20; i++)
        vpa_kube_start(client, &call, on_done, NULL);
    vpa_kube_start(client, &free_call, on_done, NULL);
    ck_assert_int_eq(seen, 6);
    ck_assert_int_eq(vpa_loop_wait(loop, all_done, &want, VPA_HOUR, NULL), 0);
    ck_assert(vpa_loop_monotonic(loop) == 1500 * VPA_MILLISECOND);
    ck_assert(seen_at[20] - seen_at[19] == 100 * VPA_MILLISECOND);
}
END_TEST

/* A repetition takes its token once, when its pause is over: one comes every two seconds. */
START_TEST(a_repetition_takes_one_token)
{
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .path = "/x"};
    struct vpa_error err;

    make_client(0.5, 1);
    script.status = 503;
    script.message = "scripted";
    script.retry_after = 1;
    script.until = 2;
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), 0);
    ck_assert_int_eq(seen, 3);
    ck_assert(seen_at[1] == 2 * VPA_SECOND);
    ck_assert(seen_at[2] == 4 * VPA_SECOND);
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), 0);
    ck_assert(seen_at[3] == 6 * VPA_SECOND);
}
END_TEST

static void fail_done(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    (void)ctx;
    (void)result;
    (void)err;
    ck_abort_msg("called after cancel");
}

START_TEST(cancels)
{
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .path = "/x"};

    make_client(1, 1);
    struct vpa_kube_request *running = vpa_kube_start(client, &call, fail_done, NULL);
    struct vpa_kube_request *waiting = vpa_kube_start(client, &call, fail_done, NULL);
    vpa_kube_start(client, &call, fail_done, NULL); /* dies with the client */
    vpa_kube_cancel(waiting);
    vpa_kube_cancel(running);
    make_client(-1, 0);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_uint_eq(vpa_memory_transport_open(transport), 0);
}
END_TEST

static void stop_loop(void *ctx)
{
    (void)ctx;
    vpa_loop_stop(loop);
}

START_TEST(a_stopped_loop_ends_waiting)
{
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .path = "/api/v1/x?y=z"};
    struct vpa_error err;

    script.delay = VPA_MINUTE / 2;
    vpa_loop_post(loop, stop_loop, NULL);
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), -1);
    ck_assert_int_eq(err.code, VPA_CANCELLED);
    ck_assert_str_eq(err.text, "GET /api/v1/x: stopping");
    ck_assert_uint_eq(vpa_kube_client_in_flight(client), 0);
}
END_TEST

START_TEST(parses_json_answers)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_error err;

    script.chunk = 3;
    ck_assert_int_eq(vpa_kube_get_json(client, "/x", &arena, &root, &err), 0);
    ck_assert_uint_eq(vpa_json_count(vpa_json_find(root, "n")), 3);
    script.status = 200;
    script.text = "{\"cut\":";
    script.until = 100;
    ck_assert_int_eq(vpa_kube_get_json(client, "/x", &arena, &root, &err), -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
}
END_TEST

/* What the answer said is there after the call that was waited for. */
START_TEST(keeps_what_was_answered)
{
    static const char body[] =
        "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no\",\"reason\":\"Forbidden\","
        "\"code\":403,\"details\":{\"name\":\"p\",\"group\":\"g\",\"kind\":\"pods\",\"uid\":\"u\","
        "\"causes\":[{\"reason\":\"NodeCapacity\",\"message\":\"full\",\"field\":\"spec\"}],"
        "\"retryAfterSeconds\":7}}";
    const struct vpa_kube_call call = {.verb = VPA_KUBE_PATCH_JSON, .path = "/x"};
    vpa_auto_arena arena = {0};
    struct vpa_kube_result result;
    struct vpa_error err;

    script.status = 403;
    script.text = body;
    script.until = 100;
    ck_assert_int_eq(vpa_kube_do(client, &call, &arena, &result, &err), -1);
    ck_assert(vpa_kube_has_cause(&result.status, "NodeCapacity"));
    ck_assert(!vpa_kube_has_cause(&result.status, "Other"));
    ck_assert_str_eq(result.status.causes[0].reason, "NodeCapacity");
    ck_assert_str_eq(result.status.causes[0].message, "full");
    ck_assert_str_eq(result.status.causes[0].field, "spec");
    ck_assert_str_eq(result.status.reason, "Forbidden");
    ck_assert_str_eq(result.status.message, "no");
    ck_assert_str_eq(result.status.name, "p");
    ck_assert_str_eq(result.status.group, "g");
    ck_assert_str_eq(result.status.kind, "pods");
    ck_assert_str_eq(result.status.uid, "u");
    ck_assert_int_eq(result.status.retry_after_seconds, 7);
    ck_assert(vpa_kube_is_retryable(&result));
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, &result, &err), -1);
    ck_assert_str_eq(result.status.message, ""); /* nowhere to keep it */
    ck_assert_uint_eq(result.status.cause_count, 0);
    ck_assert_str_eq(err.text, "no");
    script.until = 0;
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, &result, &err), 0);
    ck_assert_str_eq(result.body, "");
    ck_assert_uint_eq(result.body_len, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("client");
    TCase *c = tcase_create("client");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, builds_paths, 0, VPA_COUNT(paths));
    tcase_add_test(c, builds_queries);
    tcase_add_loop_test(c, sends_verbs, 0, VPA_COUNT(verbs));
    tcase_add_loop_test(c, classifies_failures, 0, VPA_COUNT(failures));
    tcase_add_loop_test(c, repeats_after_lost_connections, VPA_TRANSPORT_REFUSED,
                        VPA_TRANSPORT_STOPPED);
    tcase_add_loop_test(c, repeats_when_asked_to, 0, VPA_COUNT(asking));
    tcase_add_loop_test(c, repeats_requests, 0, VPA_COUNT(repeats));
    tcase_add_loop_test(c, an_earlier_try_may_have_been_carried_out, 0, VPA_COUNT(tries));
    tcase_add_test(c, times_out);
    tcase_add_test(c, an_attempt_ends_with_the_calls_time);
    tcase_add_test(c, a_call_that_would_wait_too_long_takes_no_token);
    tcase_add_loop_test(c, an_old_decision_is_never_sent, 0, 2);
    tcase_add_loop_test(c, writes_are_fenced, 0, VPA_COUNT(verbs));
    tcase_add_test(c, questions_are_not_fenced);
    tcase_add_loop_test(c, a_dry_run_stores_nothing, 0, VPA_COUNT(verbs));
    tcase_add_loop_test(c, tells_of_unusable_objects, 0, VPA_COUNT(collections));
    tcase_add_loop_test(c, lists_that_drip_end, 0, VPA_COUNT(drips));
    tcase_add_loop_test(c, says_what_may_be_sent_again, 0, 2);
    tcase_add_test(c, limits_the_rate);
    tcase_add_test(c, a_repetition_takes_one_token);
    tcase_add_test(c, cancels);
    tcase_add_test(c, a_stopped_loop_ends_waiting);
    tcase_add_test(c, parses_json_answers);
    tcase_add_test(c, keeps_what_was_answered);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
