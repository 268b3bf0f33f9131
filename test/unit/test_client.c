/* Kubernetes client over the in-memory transport: paths, headers, results, fences, ends. */
#include "scripted_client.h"
#include "vpa/kube/reflector.h"

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

TEST_EACH(builds_paths, paths) {
    vpa_auto_buf buf = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&buf, paths[_i].group_version, paths[_i].ns, paths[_i].resource, paths[_i].name,
                  paths[_i].sub);
    ck_assert_str_eq(vpa_buf_text(&buf), paths[_i].want);
}

TEST(builds_queries) {
    vpa_auto_buf buf = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&buf, "v1", NULL, "pods", NULL, NULL);
    vpa_kube_query(&buf, "fieldSelector", "status.phase!=Pending");
    vpa_kube_query(&buf, "limit", "500");
    ck_assert_str_eq(vpa_buf_text(&buf),
                     "/api/v1/pods?fieldSelector=status.phase%21%3DPending&limit=500");
}

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

TEST_EACH(sends_verbs, verbs) {
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
    ck_assert(vpa_metric_value(&vpa_kube_requests, "200", verbs[_i].method, "sim:8001") == 1);
    ck_assert_uint_eq(vpa_kube_client_in_flight(client), 0);
}

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

TEST_EACH(classifies_failures, failures) {
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

TEST_EACH(writes_are_fenced, verbs) {
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

/* A standby may ask, and so may a shadow. */
TEST(questions_are_not_fenced) {
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

TEST_EACH(tells_of_unusable_objects, collections) {
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

TEST_EACH(a_dry_run_stores_nothing, verbs) {
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

TEST_EACH(lists_that_drip_end, drips) {
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

static void fail_done(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    (void)ctx;
    (void)result;
    (void)err;
    ck_abort_msg("called after cancel");
}

TEST(cancels) {
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

static void stop_loop(void *ctx)
{
    (void)ctx;
    vpa_loop_stop(loop);
}

TEST(a_stopped_loop_ends_waiting) {
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .path = "/api/v1/x?y=z"};
    struct vpa_error err;

    script.delay = VPA_MINUTE / 2;
    vpa_loop_post(loop, stop_loop, NULL);
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), -1);
    ck_assert_int_eq(err.code, VPA_CANCELLED);
    ck_assert_str_eq(err.text, "GET /api/v1/x: stopping");
    ck_assert_uint_eq(vpa_kube_client_in_flight(client), 0);
}

TEST(parses_json_answers) {
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

/* What the answer said is there after the call that was waited for. */
TEST(keeps_what_was_answered) {
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

int main(void)
{
    return run_tests("client", setup, teardown);
}
