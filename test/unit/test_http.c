/* HTTP client and server, and a rude peer of our own. */
#include <sys/resource.h>

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>

#include "http_fixture.h"
#include "vpa/base/file.h"
#include "vpa/net/tls.h"

TEST_TIMES(plain_http, 3) {
    struct vpa_http_server *server = serve((unsigned)_i, NULL);
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), NULL);

    exchange_some(t);
    vpa_transport_free(t);
    vpa_http_server_free(server);
}

/* Peers that do nothing */

/* Pumps until something can be read, and reads it. */
static void read_some(int fd, char *out, size_t size)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    for (int i = 0; i < 2000 && poll(&p, 1, 0) == 0; i++)
        vpa_loop_pump(loop, 10 * VPA_MILLISECOND);
    ssize_t n = read(fd, out, size - 1);
    ck_assert_int_gt(n, 0);
    out[n] = '\0';
}

TEST_TIMES(waits_for_descriptors, 2) {
    struct vpa_http_server *server = serve((unsigned)_i, NULL);
    struct rlimit before, none;
    char answer[64] = "";

    getrlimit(RLIMIT_NOFILE, &before);
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* the last one to be had */
    none = before;
    none.rlim_cur = (rlim_t)fd + 1;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    connect_raw(fd, vpa_http_server_port(server));
    double share = share_of_processor();
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_msg(share < 0.2, "%.0f %% of a processor", 100 * share);
    dprintf(fd, "GET / HTTP/1.0\r\n\r\n");
    read_some(fd, answer, sizeof(answer));
    ck_assert_ptr_nonnull(strstr(answer, "200 OK"));
    close(fd);
    vpa_http_server_free(server);
}

/* One answer of a connection that is kept, into a text of that size. */
static void ask_on(int fd, char *answer, size_t size)
{
    dprintf(fd, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    read_some(fd, answer, size);
    ck_assert_ptr_nonnull(strstr(answer, "200 OK"));
}

TEST_TIMES(says_farewell, 3) {
    struct vpa_http_server *server = serve((unsigned)_i, NULL);
    int kept = socket(AF_INET, SOCK_STREAM, 0), fresh = socket(AF_INET, SOCK_STREAM, 0);
    char answer[1024] = "";

    connect_raw(kept, vpa_http_server_port(server));
    ask_on(kept, answer, sizeof(answer));
    ck_assert_ptr_null(strstr(answer, "Connection: close"));
    vpa_http_server_farewell(server);
    ask_on(kept, answer, sizeof(answer));
    ck_assert_ptr_nonnull(strstr(answer, "Connection: close"));
    connect_raw(fresh, vpa_http_server_port(server));
    ask_on(fresh, answer, sizeof(answer));
    ck_assert_ptr_nonnull(strstr(answer, "Connection: close"));
    close(kept);
    close(fresh);
    vpa_http_server_free(server);
}

/* Many large bodies at once: those that fit are taken, small ones always. */
TEST_TIMES(bounds_all_bodies_together, 2) {
    const struct vpa_http_server_options options = {.address = "127.0.0.1:0",
                                                    .handler = handle,
                                                    .threads = (unsigned)_i,
                                                    .body_max = 200000,
                                                    .bodies_max = 150000};
    struct vpa_http_server *server = vpa_http_server_new(loop, &options, &err);
    vpa_auto_free char *body = vpa_xmalloc(160000);
    char answer[512];
    int fds[3];

    memset(body, 'x', 160000);
    for (int i = 0; i < 3; i++) {
        size_t size = i < 2 ? 160000 : 60000;
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        connect_raw(fds[i], vpa_http_server_port(server));
        dprintf(fds[i], "POST /%d HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", i, size);
        for (size_t sent = 0; sent < size - 1;) { /* all but the last byte */
            ssize_t n = write(fds[i], body, size - 1 - sent);
            ck_assert_int_gt(n, 0);
            sent += (size_t)n;
            vpa_loop_pump(loop, 10 * VPA_MILLISECOND);
        }
    }
    vpa_loop_pump(loop, 300 * VPA_MILLISECOND);
    for (int i = 2; i >= 0; i--) {
        ck_assert_int_eq(write(fds[i], "x", 1), 1);
        read_some(fds[i], answer, sizeof(answer));
        ck_assert_msg(strstr(answer, i == 1 ? " 413 " : " 200 ") != NULL, "%d: %s", i, answer);
        close(fds[i]);
    }
    /* What they held is free again. */
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), NULL);
    const struct vpa_http_request large = {
        .method = "POST", .target = "/", .body = body, .body_len = 160000};
    fetch_with(t, &large, false);
    ck_assert_int_eq(got.status, 200);
    vpa_transport_free(t);
    vpa_http_server_free(server);
}

/* What a peer sends before it falls silent, or goes when `leaves`: costs no time and no memory. */
static const struct {
    const char *bytes;
    bool leaves;
} silences[] = {
    {"", false},
    {"GET / HT", false},
    {"GET / HTTP/1.1\r\nHost: h\r\nX-A: b", false},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc", false},
    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", false},
    {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", false},    /* and stays for another */
    {"GET /big HTTP/1.1\r\nHost: h\r\n\r\n", false}, /* and does not read */
    {"", true},
    {"GET /?a=b HTTP/1.1\r\n", true},
    {"POST /?a=b HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc", true},
    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\nab", true},
    {"\x16\x03\x01 no TLS here", true},
};

TEST_TIMES(silent_peers_cost_nothing, 2 * VPA_COUNT(silences)) {
    struct vpa_http_server *server = serve(_i % 2 ? 1 : 0, NULL);
    size_t row = (size_t)_i / 2;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    connect_raw(fd, vpa_http_server_port(server));
    dprintf(fd, "%s", silences[row].bytes);
    vpa_loop_pump(loop, 50 * VPA_MILLISECOND);
    if (silences[row].leaves)
        close(fd);
    double share = share_of_processor();
    ck_assert_msg(share < 0.2, "%.0f %% of a processor", 100 * share);
    if (!silences[row].leaves)
        close(fd);
    vpa_http_server_free(server);
}

/* Addresses and ports */

static const struct {
    const char *text;
    int rc;
    const char *host;
    int port;
} addresses[] = {
    {":8942", 0, "", 8942},
    {"0.0.0.0:1", 0, "0.0.0.0", 1},
    {"[::1]:80", 0, "::1", 80},
    {"localhost:0", 0, "localhost", 0},
    {"8942", -1, "", 0},
    {":x", -1, "", 0},
    {":65536", -1, "", 0},
    {"::1:80", -1, "", 0},
    {"", -1, "", 0},
    {":-1", -1, "", 0},
};

TEST_EACH(parses_addresses, addresses) {
    char host[256] = "";
    int port = 0;

    ck_assert_int_eq(vpa_address_parse(addresses[_i].text, host, &port, &err), addresses[_i].rc);
    ck_assert_str_eq(host, addresses[_i].host);
    ck_assert_int_eq(port, addresses[_i].port);
}

TEST(ports_that_cannot_be_had) {
    struct vpa_http_server_options options = {.address = "127.0.0.1:0", .handler = handle};
    struct vpa_http_server *server = vpa_http_server_new(loop, &options, &err);
    vpa_auto_free char *same = vpa_xprintf("127.0.0.1:%d", vpa_http_server_port(server));

    options.address = same;
    ck_assert_ptr_null(vpa_http_server_new(loop, &options, &err));
    ck_assert_int_eq(err.code, VPA_RETRY);
    ck_assert_ptr_nonnull(strstr(err.text, "Address already in use"));
    options.address = "nonsense";
    ck_assert_ptr_null(vpa_http_server_new(loop, &options, &err));
    options.address = ":0";
    struct vpa_http_server *all = vpa_http_server_new(loop, &options, &err);
    ck_assert_ptr_nonnull(all);
    vpa_http_server_free(all);
    vpa_http_server_free(server);
}

/* A peer that sends fixed bytes to whoever connects, then closes (or resets, or stays silent). */
enum rude_end { CLOSE, RESET, SILENT };
struct rude {
    int fd, port;
    const char *bytes;
    enum rude_end then;
    pthread_t thread;
};

static void *be_rude(void *ctx)
{
    struct rude *r = ctx;
    char buf[4096];
    struct linger linger = {1, 0};
    int c;

    while ((c = accept(r->fd, NULL, NULL)) >= 0) {
        bool ok = read(c, buf, sizeof(buf)) > 0 && write(c, r->bytes, strlen(r->bytes)) >= 0;
        if (ok && r->then == SILENT)
            while (read(c, buf, sizeof(buf)) > 0)
                ;
        if (r->then == RESET) {
            usleep(50000);
            setsockopt(c, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
        }
        close(c);
    }
    return NULL;
}

static void rude_start(struct rude *r)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);

    r->fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(r->fd, (struct sockaddr *)&a, len), 0);
    ck_assert_int_eq(listen(r->fd, 5), 0);
    getsockname(r->fd, (struct sockaddr *)&a, &len);
    r->port = ntohs(a.sin_port);
    pthread_create(&r->thread, NULL, be_rude, r);
}

static void rude_stop(struct rude *r)
{
    shutdown(r->fd, SHUT_RDWR);
    close(r->fd);
    pthread_join(r->thread, NULL);
}

static const struct {
    const char *bytes;
    enum rude_end then;
    enum vpa_transport_failure failure;
    int status;
    int retry_after;
} rudeness[] = {
    {"", CLOSE, VPA_TRANSPORT_EOF, 0, -1},
    {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":", CLOSE, VPA_TRANSPORT_EOF, 200, -1},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n", CLOSE,
     VPA_TRANSPORT_EOF, 200, -1},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n", RESET,
     VPA_TRANSPORT_RESET, 200, -1},
    {"nonsense\r\n\r\n", CLOSE, VPA_TRANSPORT_OTHER, 0, -1},
    {"HTTP/1.1 429 Slow\r\nRetry-After: 17\r\nContent-Length: 2\r\n\r\nno", CLOSE, VPA_TRANSPORT_OK,
     429, 17},
    {"HTTP/1.1 503 Slow\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n",
     CLOSE, VPA_TRANSPORT_OK, 503, -1},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", CLOSE,
     VPA_TRANSPORT_OK, 200, -1},
    {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", CLOSE,
     VPA_TRANSPORT_OTHER, 302, -1},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", SILENT, VPA_TRANSPORT_TIMEOUT, 200, -1},
    {"", SILENT, VPA_TRANSPORT_TIMEOUT, 0, -1},
};

TEST_EACH(survives_rude_servers, rudeness) {
    struct rude r = {.bytes = rudeness[_i].bytes};
    vpa_duration timeout = (rudeness[_i].then == SILENT ? 2 : 30) * VPA_SECOND;
    const struct vpa_http_request request = {.method = "GET", .target = "/", .timeout = timeout};

    r.then = rudeness[_i].then;
    rude_start(&r);
    struct vpa_transport *t = connect_to(r.port, NULL);
    fetch_with(t, &request, false);
    ck_assert_msg(got.failure == rudeness[_i].failure ||
                      rudeness[_i].failure == VPA_TRANSPORT_OTHER,
                  "failure %d: %s", got.failure, got.error);
    ck_assert(got.failure != VPA_TRANSPORT_OK || rudeness[_i].failure == VPA_TRANSPORT_OK);
    if (rudeness[_i].status)
        ck_assert_int_eq(got.status, rudeness[_i].status);
    ck_assert_int_eq(got.retry_after, rudeness[_i].retry_after);
    vpa_transport_free(t);
    rude_stop(&r);
}

static const struct {
    const char *date;
    int64_t seconds; /* since 1970, 0: none */
} dates[] = {
    {"Date: Thu, 26 Nov 2026 05:46:20 GMT\r\n", 1795671980},
    {"date:Thu, 26 Nov 2026 05:46:20 GMT\r\n", 1795671980},
    {"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n", 0},
    {"Date: Thu, 01 Jan 9999 00:00:00 GMT\r\n", 0},
    {"Date: soon\r\n", 0},
    {"Date:\r\n", 0},
    {"", 0},
};

/* Not where our own time is nobody else's. */
TEST(notes_no_time_of_a_server_that_lives_by_another) {
    struct rude r = {.bytes = "HTTP/1.1 200 OK\r\nDate: Sun, 01 Mar 2026 12:00:00 GMT\r\n"
                              "Content-Length: 0\r\n\r\n"};

    clk->alone = true;
    rude_start(&r);
    struct vpa_transport *t = connect_to(r.port, NULL);
    fetch(t, "GET", "/", NULL);
    ck_assert_int_eq(got.status, 200);
    ck_assert(!t->dated);
    vpa_transport_free(t);
    rude_stop(&r);
}

TEST_EACH(notes_what_time_it_is_at_the_server, dates) {
    vpa_auto_free char *bytes =
        vpa_xprintf("HTTP/1.1 200 OK\r\n%sContent-Length: 0\r\n\r\n", dates[_i].date);
    struct rude r = {.bytes = bytes};

    rude_start(&r);
    struct vpa_transport *t = connect_to(r.port, NULL);
    fetch(t, "GET", "/", NULL);
    ck_assert_int_eq(got.status, 200);
    ck_assert(t->dated == (dates[_i].seconds != 0));
    if (t->dated)
        ck_assert_int_le(
            llabs(t->peer_offset + vpa_loop_monotonic(loop) - dates[_i].seconds * VPA_SECOND),
            VPA_MINUTE);
    vpa_transport_free(t);
    rude_stop(&r);
}

TEST(bounds_and_streams) {
    struct vpa_http_server *server = serve(1, NULL);
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), NULL);
    const struct vpa_http_request big = {
        .method = "GET", .target = "/big", .response_max = 1 << 20};
    const struct vpa_http_request watch = {.method = "GET", .target = "/big", .watch = true};

    got.refuse = false;
    fetch_with(t, &big, false);
    ck_assert_int_eq(got.failure, VPA_TRANSPORT_LIMIT);
    fetch_with(t, &watch, true);
    ck_assert_int_eq(got.failure, VPA_TRANSPORT_OK);
    ck_assert_uint_eq(got.streamed, 3 << 20);
    ck_assert_uint_eq(got.body_len, 0);
    got.refuse = true;
    fetch_with(t, &watch, true);
    got.refuse = false;
    ck_assert_int_eq(got.failure, VPA_TRANSPORT_STOPPED);
    vpa_http_server_free(server);
    fetch(t, "GET", "/", NULL);
    ck_assert_int_eq(got.failure, VPA_TRANSPORT_REFUSED);
    vpa_transport_free(t);
}

TEST(dead_peers_of_streams) {
    struct rude r = {.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
                     .then = SILENT};
    const struct vpa_http_request request = {
        .method = "GET", .target = "/", .watch = true, .idle_timeout = VPA_SECOND};

    rude_start(&r);
    struct vpa_transport *t = connect_to(r.port, NULL);
    fetch_with(t, &request, true);
    ck_assert_int_eq(got.failure, VPA_TRANSPORT_TIMEOUT);
    ck_assert_uint_eq(got.streamed, 2);
    vpa_transport_free(t);
    rude_stop(&r);
}

static struct vpa_transport *cancelling;
static struct vpa_exchange *to_cancel;

static int cancel_in_data(void *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    (void)bytes;
    (void)len;
    vpa_transport_cancel(cancelling, to_cancel);
    vpa_loop_stop(loop);
    return 0;
}

static void never_done(void *ctx, const struct vpa_http_result *result)
{
    (void)ctx;
    (void)result;
    ck_abort_msg("called after cancel");
}

TEST(cancels_in_callbacks) {
    struct vpa_http_server *server = serve(1, NULL);
    const struct vpa_http_request big = {.method = "GET", .target = "/big"};
    const struct vpa_http_handler handler = {.on_data = cancel_in_data, .on_done = never_done};

    cancelling = connect_to(vpa_http_server_port(server), NULL);
    to_cancel = vpa_transport_start(cancelling, &big, &handler);
    vpa_loop_run(loop);
    vpa_loop_resume(loop);
    to_cancel =
        vpa_transport_start(cancelling, &big, &handler); /* under way when the client is freed */
    vpa_loop_poll(loop);
    vpa_transport_free(cancelling);
    /* The server looks at the connection meanwhile: one that it has not looked at when it stops is
     * closed by libmicrohttpd without a lock that ThreadSanitizer could see. */
    vpa_loop_pump(loop, 300 * VPA_MILLISECOND);
    vpa_http_server_free(server);
}

/* Where the transport is freed by its own exchange: in on_head, on_data, on_done. */
static struct {
    struct vpa_transport *t;
    int where;
    bool over;
} freeing;

static void free_here(int where)
{
    if (freeing.where != where)
        return;
    vpa_transport_free(freeing.t);
    freeing.over = true;
}

static void free_in_head(void *ctx, int status)
{
    (void)ctx;
    (void)status;
    ck_assert(!freeing.over);
    free_here(0);
}

static int free_in_data(void *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    (void)bytes;
    (void)len;
    ck_assert(!freeing.over);
    free_here(1);
    return 0;
}

static void free_in_done(void *ctx, const struct vpa_http_result *result)
{
    (void)ctx;
    (void)result;
    ck_assert(!freeing.over);
    free_here(2);
}

static bool is_over(void *ctx)
{
    (void)ctx;
    return freeing.over;
}

TEST_TIMES(callbacks_may_free_the_transport, 3) {
    static const struct vpa_http_request request = {.method = "GET", .target = "/big"};
    const struct vpa_http_handler freer = {
        .on_head = free_in_head, .on_data = free_in_data, .on_done = free_in_done};
    struct vpa_http_server *server = serve(1, NULL);

    freeing.t = connect_to(vpa_http_server_port(server), NULL);
    freeing.where = _i;
    for (int i = 0; i < 3; i++) /* one of them frees it; nothing more is heard of the others */
        vpa_transport_start(freeing.t, &request, &freer);
    ck_assert_int_eq(vpa_loop_wait(loop, is_over, NULL, 20 * VPA_SECOND, &err), 0);
    vpa_loop_pump(loop, 300 * VPA_MILLISECOND); /* for the server, as above */
    vpa_http_server_free(server);
}

/* A reader that asks for something else for each part, and waits for it. */
static struct curious {
    struct vpa_transport *t;
    bool inside, answered, ended;
    size_t asked, bytes;
} curious;

static void on_answer(void *ctx, const struct vpa_http_result *result)
{
    (void)ctx;
    ck_assert_int_eq(result->status, 200);
    curious.answered = true;
}

static bool has_answer(void *ctx)
{
    (void)ctx;
    return curious.answered;
}

static int ask_for_more(void *ctx, const char *bytes, size_t len)
{
    static const struct vpa_http_request request = {.method = "GET", .target = "/more"};
    static const struct vpa_http_handler handler = {.on_done = on_answer};

    (void)ctx;
    (void)bytes;
    ck_assert_msg(!curious.inside, "the next part came while this one was read");
    curious.inside = true;
    for (int i = 0; i < 5; i++, curious.asked++) {
        curious.answered = false;
        vpa_transport_start(curious.t, &request, &handler);
        ck_assert_int_eq(vpa_loop_wait(loop, has_answer, NULL, 20 * VPA_SECOND, &err), 0);
        ck_assert_msg(!curious.ended, "ended while a part was read");
    }
    curious.inside = false;
    curious.bytes += len;
    return 0;
}

static void on_end(void *ctx, const struct vpa_http_result *result)
{
    (void)ctx;
    ck_assert_msg(result->failure == VPA_TRANSPORT_OK, "%s", result->error);
    curious.ended = true;
}

static bool has_ended(void *ctx)
{
    (void)ctx;
    return curious.ended;
}

TEST(readers_may_turn_the_loop) {
    static const struct vpa_http_handler handler = {.on_data = ask_for_more, .on_done = on_end};
    static const struct vpa_http_request big = {.method = "GET", .target = "/big"};
    static const struct vpa_http_request small = {.method = "GET", .target = "/small"};
    struct vpa_http_server *server = serve(1, NULL);

    curious = (struct curious){.t = connect_to(vpa_http_server_port(server), NULL)};
    vpa_transport_start(curious.t, &small, &handler);
    ck_assert_int_eq(vpa_loop_wait(loop, has_ended, NULL, 20 * VPA_SECOND, &err), 0);
    ck_assert_uint_gt(curious.asked, 0);
    curious.ended = false;
    curious.bytes = 0;
    vpa_transport_start(curious.t, &big, &handler);
    ck_assert_int_eq(vpa_loop_wait(loop, has_ended, NULL, 20 * VPA_SECOND, &err), 0);
    ck_assert_uint_eq(curious.bytes, 3 << 20);
    vpa_transport_free(curious.t);
    vpa_http_server_free(server);
}

static int finished;

static void count_done(void *ctx, const struct vpa_http_result *result)
{
    (void)ctx;
    ck_assert_msg(result->status == 200, "%s", result->error);
    finished++;
}

static bool all_finished(void *ctx)
{
    return finished == *(int *)ctx;
}

TEST_TIMES(many_at_once, 3) {
    struct vpa_http_server *server = serve((unsigned)_i, NULL);
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), NULL);
    const struct vpa_http_request request = {.method = "GET", .target = "/x"};
    const struct vpa_http_handler handler = {.on_done = count_done};
    int want = 500;

    finished = 0;
    for (int i = 0; i < want; i++)
        vpa_transport_start(t, &request, &handler);
    ck_assert_int_eq(vpa_loop_wait(loop, all_finished, &want, 20 * VPA_SECOND, &err), 0);
    vpa_transport_free(t);
    vpa_http_server_free(server);
}

TEST(refuses_unusable_files) {
    const struct {
        struct vpa_http_client_options options;
        const char *text;
    } cases[] = {
        {{.ca_file = "/nonexistent/ca"}, "open /nonexistent/ca: No such file or directory"},
        {{.ca_data = "junk"}, "CA data: no usable certificate"},
        {{.cert_data = "junk", .key_data = "junk"}, "client certificate data: certificate"},
    };

    for (size_t i = 0; i < VPA_COUNT(cases); i++) {
        struct vpa_http_client_options o = cases[i].options;
        o.base_url = "https://127.0.0.1:1";
        ck_assert_ptr_null(vpa_http_client_new(loop, &o, &err));
        ck_assert_msg(vpa_str_starts_with(err.text, cases[i].text), "%s", err.text);
    }
}

TEST(reads_files_bounded) {
    char path[] = "/tmp/plumb-file-XXXXXX";
    int fd = mkstemp(path);
    char *text;
    size_t len;

    ck_assert_int_eq(write(fd, "0123456789", 10), 10);
    ck_assert_int_eq(vpa_read_file(path, 10, &text, &len, &err), 0);
    ck_assert_str_eq(text, "0123456789");
    ck_assert_uint_eq(len, 10);
    free(text);
    ck_assert_int_eq(vpa_read_file(path, 9, &text, &len, &err), -1);
    ck_assert_int_eq(err.code, VPA_LIMIT);
    ck_assert_int_eq(vpa_read_file("/tmp", 9, &text, &len, &err), -1);
    ck_assert_int_eq(vpa_read_file("/nonexistent", 9, &text, &len, &err), -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
    close(fd);
    unlink(path);
}

/* A name server that does not answer: libcurl asks it in a thread, by this function of ours. And a
 * name with an address of either family, as "localhost" has on most machines. */
#define SILENT_NAME "silent.invalid"
#define BOTH_NAME "both.invalid"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pid_t asking[8]; /* threads */
    size_t count;
    bool answers;
} name_server = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **result)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

    if (name && strcmp(name, SILENT_NAME) == 0) {
        pthread_mutex_lock(&name_server.lock);
        name_server.asking[name_server.count++ % VPA_COUNT(name_server.asking)] = gettid();
        while (!name_server.answers)
            pthread_cond_wait(&name_server.changed, &name_server.lock);
        pthread_mutex_unlock(&name_server.lock);
        return EAI_AGAIN;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!name || strcmp(name, BOTH_NAME) != 0)
        return real(name, service, hints, result);
    int rc = real("::1", service, hints, result);
    return rc ? rc : real("127.0.0.1", service, hints, &(*result)->ai_next);
}

/* Go takes the first IPv4 address of a name; so do the probes of a manifest that names it. */
TEST(a_name_is_listened_on_by_its_ipv4_address) {
    const struct vpa_http_server_options options = {.address = BOTH_NAME ":0", .handler = handle};
    struct vpa_http_server *server = vpa_http_server_new(loop, &options, &err);
    struct vpa_transport *t;

    ck_assert_msg(server != NULL, "%s", err.text);
    t = connect_to(vpa_http_server_port(server), NULL);
    fetch(t, "GET", "/x", NULL);
    ck_assert_int_eq(got.status, 200);
    vpa_transport_free(t);
    vpa_http_server_free(server);
}

static bool is_asked(void *ctx)
{
    (void)ctx;
    pthread_mutex_lock(&name_server.lock);
    bool asked = name_server.count > 0;
    pthread_mutex_unlock(&name_server.lock);
    return asked;
}

/* The threads that asked free what they hold when they end. */
static void wait_for_their_end(void)
{
    for (size_t i = 0; i < VPA_COUNT(name_server.asking); i++) {
        vpa_auto_free char *task = vpa_xprintf("/proc/self/task/%d", (int)name_server.asking[i]);

        while (name_server.asking[i] > 0 && access(task, F_OK) == 0)
            sched_yield();
    }
}

/* Whoever waited for the name server would wait for ever. */
TEST_TIMES(a_name_that_is_looked_up_for_long_keeps_nobody_waiting, 2) {
    const struct vpa_http_client_options options = {.base_url = "http://" SILENT_NAME};
    const struct vpa_http_request request = {
        .method = "GET", .target = "/", .timeout = _i == 0 ? 100 * VPA_MILLISECOND : VPA_HOUR};
    const struct vpa_http_handler handler = {.on_done = on_done};
    struct vpa_transport *t = vpa_http_client_new(loop, &options, &err);

    if (_i == 0) { /* the request ends by its time, which may be over before anybody has asked */
        while (!is_asked(NULL)) {
            fetch_with(t, &request, false);
            ck_assert_int_eq(got.failure, VPA_TRANSPORT_TIMEOUT);
        }
    } else { /* it is given up, as at the end of a daemon */
        vpa_transport_start(t, &request, &handler);
        ck_assert_int_eq(vpa_loop_wait(loop, is_asked, NULL, VPA_HOUR, &err), 0);
    }
    vpa_transport_free(t);
    pthread_mutex_lock(&name_server.lock);
    name_server.answers = true;
    pthread_cond_broadcast(&name_server.changed);
    pthread_mutex_unlock(&name_server.lock);
    wait_for_their_end();
}

int main(void)
{
    return run_tests_within(30, "http", setup, teardown);
}
