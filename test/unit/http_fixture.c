#include "http_fixture.h"

struct vpa_clock *clk;
struct vpa_loop *loop;
struct vpa_error err;

void setup(void)
{
    clk = vpa_clock_new_real();
    loop = vpa_loop_new(clk);
}

void teardown(void)
{
    vpa_loop_free(loop);
    vpa_clock_free(clk);
}

struct got_state got;

void on_head(void *ctx, int status)
{
    (void)ctx;
    got.heads += status >= 200;
}

int on_data(void *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    (void)bytes;
    got.streamed += len;
    return got.refuse ? -1 : 0;
}

void on_done(void *ctx, const struct vpa_http_result *result)
{
    (void)ctx;
    got.status = result->status;
    got.failure = result->failure;
    got.body_len = result->body_len;
    got.retry_after = result->retry_after;
    snprintf(got.error, sizeof(got.error), "%s", result->error);
    snprintf(got.body, sizeof(got.body), "%s", result->body);
    snprintf(got.type, sizeof(got.type), "%s", result->content_type);
    got.done = true;
}

static bool is_done(void *ctx)
{
    (void)ctx;
    return got.done;
}

void fetch_with(struct vpa_transport *t, const struct vpa_http_request *request, bool stream)
{
    struct vpa_http_handler handler = {
        .on_head = on_head, .on_data = stream ? on_data : NULL, .on_done = on_done};
    bool refuse = got.refuse;

    memset(&got, 0, sizeof(got));
    got.refuse = refuse;
    vpa_transport_start(t, request, &handler);
    ck_assert_int_eq(vpa_loop_wait(loop, is_done, NULL, 20 * VPA_SECOND, &err), 0);
}

void fetch(struct vpa_transport *t, const char *method, const char *target, const char *body)
{
    const struct vpa_http_request request = {
        .method = method, .target = target, .body = body, .body_len = body ? strlen(body) : 0};

    fetch_with(t, &request, false);
}

/* The handler of our server: says what it saw. */

void handle(void *ctx, const struct vpa_server_request *q, struct vpa_server_response *r)
{
    (void)ctx;
    if (q->body_too_large) {
        vpa_server_reply_text(r, 413, "request payload too large\n");
        r->nosniff = true;
        return;
    }
    if (strcmp(q->path, "/big") == 0) {
        r->status = 200;
        r->body_len = 3 << 20;
        r->body = vpa_xmalloc(r->body_len);
        memset(r->body, 'z', r->body_len);
        return;
    }
    if (strcmp(q->path, "/empty") == 0) {
        r->status = 200;
        return;
    }
    if (strcmp(q->path, "/nothing") == 0)
        return;
    vpa_auto_free char *text =
        vpa_xprintf("%s %s [%s] %zu %s", q->method, q->path, q->query, q->body_len,
                    vpa_or_empty(vpa_server_header(q, "content-type")));
    vpa_server_reply_text(r, 200, text);
}

struct vpa_http_server *serve(unsigned threads, const struct vpa_server_tls *tls)
{
    const struct vpa_http_server_options options = {.address = "127.0.0.1:0",
                                                    .handler = handle,
                                                    .threads = threads,
                                                    .tls = tls,
                                                    .body_max = 100000};
    struct vpa_http_server *server = vpa_http_server_new(loop, &options, &err);

    ck_assert_msg(server != NULL, "%s", err.text);
    return server;
}

struct vpa_transport *connect_to(int port, const struct vpa_http_client_options *base)
{
    vpa_auto_free char *url = vpa_xprintf("%s://127.0.0.1:%d", base ? "https" : "http", port);
    struct vpa_http_client_options options = base ? *base : (struct vpa_http_client_options){0};

    options.base_url = url;
    struct vpa_transport *t = vpa_http_client_new(loop, &options, &err);
    ck_assert_msg(t != NULL, "%s", err.text);
    return t;
}

void exchange_some(struct vpa_transport *t)
{
    vpa_auto_free char *large = vpa_xmalloc(100002);

    fetch(t, "GET", "/a%20b?x=1&y=%2F", NULL);
    ck_assert_msg(got.failure == VPA_TRANSPORT_OK, "%s", got.error);
    ck_assert_str_eq(got.body, "GET /a b [x=1&y=%2F] 0 ");
    ck_assert_str_eq(got.type, "text/plain; charset=utf-8");
    ck_assert_int_eq(got.heads, 1);
    fetch(t, "POST", "/post", "{\"a\":1}");
    ck_assert_str_eq(got.body, "POST /post [] 7 application/x-www-form-urlencoded");
    fetch(t, "PUT", "/put", "");
    ck_assert_int_eq(got.status, 200);
    memset(large, 'x', 100000);
    large[100000] = '\0';
    fetch(t, "POST", "/limit", large);
    ck_assert_ptr_nonnull(strstr(got.body, "100000"));
    memcpy(large + 100000, "y", 2);
    fetch(t, "POST", "/above", large);
    ck_assert_int_eq(got.status, 413);
    ck_assert_str_eq(got.body, "request payload too large\n");
    fetch(t, "GET", "/big", NULL);
    ck_assert_uint_eq(got.body_len, 3 << 20);
    fetch(t, "GET", "/empty", NULL);
    ck_assert_int_eq(got.status, 200);
    ck_assert_uint_eq(got.body_len, 0);
    ck_assert_str_eq(got.type, "");
    fetch(t, "DELETE", "/nothing", NULL);
    ck_assert_int_eq(got.status, 500);
}

/* Peers that do nothing */

void connect_raw(int fd, int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
}

int64_t read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * VPA_SECOND + t.tv_nsec;
}

double share_of_processor(void)
{
    int64_t cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID), real = read_clock(CLOCK_MONOTONIC);

    vpa_loop_pump(loop, 300 * VPA_MILLISECOND);
    cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    return (double)cpu / (double)(read_clock(CLOCK_MONOTONIC) - real);
}
