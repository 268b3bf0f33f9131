/* HTTP client and server over real loopback sockets, certificates, and a rude peer of our own. */
#include <check.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/net/http_client.h"
#include "vpa/net/http_server.h"
#include "vpa/net/tls.h"

static struct vpa_clock *clk;
static struct vpa_loop *loop;
static struct vpa_error err;

static void setup(void)
{
    clk = vpa_clock_new_real();
    loop = vpa_loop_new(clk);
}

static void teardown(void)
{
    vpa_loop_free(loop);
    vpa_clock_free(clk);
}

/* One request, answered into here */
static struct {
    int status;
    enum vpa_transport_failure failure;
    char error[256];
    char body[1024];
    size_t body_len;
    char type[64];
    int retry_after;
    bool done;
    int heads;
    size_t streamed;
    bool refuse;
} got;

static void on_head(void *ctx, int status)
{
    (void)ctx;
    got.heads += status >= 200;
}

static int on_data(void *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    (void)bytes;
    got.streamed += len;
    return got.refuse ? -1 : 0;
}

static void on_done(void *ctx, const struct vpa_http_result *result)
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

static void fetch_with(struct vpa_transport *t, const struct vpa_http_request *request, bool stream)
{
    struct vpa_http_handler handler = {
        .on_head = on_head, .on_data = stream ? on_data : NULL, .on_done = on_done};
    bool refuse = got.refuse;

    memset(&got, 0, sizeof(got));
    got.refuse = refuse;
    vpa_transport_start(t, request, &handler);
    ck_assert_int_eq(vpa_loop_wait(loop, is_done, NULL, 20 * VPA_SECOND, &err), 0);
}

static void fetch(struct vpa_transport *t, const char *method, const char *target, const char *body)
{
    const struct vpa_http_request request = {
        .method = method, .target = target, .body = body, .body_len = body ? strlen(body) : 0};

    fetch_with(t, &request, false);
}

/* The handler of our server: says what it saw. */

static void handle(void *ctx, const struct vpa_server_request *q, struct vpa_server_response *r)
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

static struct vpa_http_server *serve(unsigned threads, const struct vpa_server_tls *tls)
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

static struct vpa_transport *connect_to(int port, const struct vpa_http_client_options *base)
{
    vpa_auto_free char *url = vpa_xprintf("%s://127.0.0.1:%d", base ? "https" : "http", port);
    struct vpa_http_client_options options = base ? *base : (struct vpa_http_client_options){0};

    options.base_url = url;
    struct vpa_transport *t = vpa_http_client_new(loop, &options, &err);
    ck_assert_msg(t != NULL, "%s", err.text);
    return t;
}

static void exchange_some(struct vpa_transport *t)
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

START_TEST(plain_http)
{
    struct vpa_http_server *server = serve((unsigned)_i, NULL);
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), NULL);

    exchange_some(t);
    vpa_transport_free(t);
    vpa_http_server_free(server);
}
END_TEST

/* Peers that do nothing */

static void connect_raw(int fd, int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
}

static int64_t read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * VPA_SECOND + t.tv_nsec;
}

/* The share of a processor that this process uses while nobody sends anything. */
static double share_of_processor(void)
{
    int64_t cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID), real = read_clock(CLOCK_MONOTONIC);

    vpa_loop_pump(loop, 300 * VPA_MILLISECOND);
    cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    return (double)cpu / (double)(read_clock(CLOCK_MONOTONIC) - real);
}

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

START_TEST(waits_for_descriptors)
{
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
END_TEST

/* TLS */

static struct vpa_tls_pair ca, pair, other_ca, other_pair;
static const char *const names[] = {"localhost", "127.0.0.1"};

static void make_certificates(void)
{
    vpa_time now = vpa_clock_now(clk);

    ck_assert_int_eq(vpa_tls_create_ca("test ca", now, VPA_HOUR, &ca, &err), 0);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, names, 2, true, now, VPA_HOUR, &pair, &err),
                     0);
    ck_assert_int_eq(vpa_tls_create_ca("other ca", now, VPA_HOUR, &other_ca, &err), 0);
    ck_assert_int_eq(
        vpa_tls_create_certificate(&other_ca, names, 2, true, now, VPA_HOUR, &other_pair, &err), 0);
}

static void tls_setup(void)
{
    setup();
    make_certificates();
}

static void tls_teardown(void)
{
    vpa_tls_pair_release(&ca);
    vpa_tls_pair_release(&pair);
    vpa_tls_pair_release(&other_ca);
    vpa_tls_pair_release(&other_pair);
    teardown();
}

START_TEST(https)
{
    const struct vpa_server_tls tls = {.cert_pem = pair.cert_pem, .key_pem = pair.key_pem};
    struct vpa_http_server *server = serve((unsigned)_i, &tls);
    const struct vpa_http_client_options good = {.ca_data = ca.cert_pem};
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), &good);

    exchange_some(t);
    vpa_transport_free(t);
    vpa_http_server_free(server);
}
END_TEST

START_TEST(needs_threads_for_tls)
{
    const struct vpa_server_tls tls = {.cert_pem = pair.cert_pem, .key_pem = pair.key_pem};
    const struct vpa_http_server_options options = {
        .address = "127.0.0.1:0", .handler = handle, .tls = &tls};

    ck_assert_ptr_null(vpa_http_server_new(loop, &options, &err));
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_str_eq(err.text, "a server that speaks TLS needs a thread of its own");
}
END_TEST

/* The first flight of a client of TLS 1.2: what any server of ours can answer. */
static const unsigned char client_hello[] = {
    0x16, 0x03, 0x01, 0x00, 0x49,       /* record: handshake, 73 bytes */
    0x01, 0x00, 0x00, 0x45, 0x03, 0x03, /* ClientHello, 69 bytes, version 1.2 */
    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11, 12, 13, 14, 15, 16,
    17,   18,   19,   20,   21,   22,   23,   24,   25,   26,   27, 28, 29, 30, 31, 32, /* random */
    0x00,                                           /* no session */
    0x00, 0x04, 0xc0, 0x2b, 0xc0, 0x2f,             /* ECDHE with ECDSA or RSA, AES 128 GCM */
    0x01, 0x00,                                     /* no compression */
    0x00, 0x18,                                     /* extensions, 24 bytes */
    0x00, 0x0a, 0x00, 0x04, 0x00, 0x02, 0x00, 0x17, /* group: secp256r1 */
    0x00, 0x0d, 0x00, 0x06, 0x00, 0x04, 0x04, 0x03, 0x04, 0x01, /* ECDSA or RSA with SHA-256 */
    0x00, 0x0b, 0x00, 0x02, 0x01, 0x00,                         /* points uncompressed */
};

START_TEST(stalled_handshakes_cost_nothing)
{
    const struct vpa_server_tls tls = {.cert_pem = pair.cert_pem, .key_pem = pair.key_pem};
    struct vpa_http_server *server = serve((unsigned)_i, &tls);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    unsigned char answer[4096];

    connect_raw(fd, vpa_http_server_port(server));
    ck_assert_int_eq(write(fd, client_hello, sizeof(client_hello)), sizeof(client_hello));
    ck_assert_int_gt(read(fd, answer, sizeof(answer)), 5);
    ck_assert_int_eq(answer[0], 0x16); /* the server's half of the handshake: it waits for ours */
    double share = share_of_processor();
    ck_assert_msg(share < 0.2, "%.0f %% of a processor", 100 * share);
    close(fd);
    vpa_http_server_free(server);
}
END_TEST

START_TEST(refuses_wrong_peers)
{
    const struct vpa_server_tls tls = {.cert_pem = pair.cert_pem, .key_pem = pair.key_pem};
    struct vpa_http_server *server = serve(1, &tls);
    const struct {
        struct vpa_http_client_options options;
        enum vpa_transport_failure failure;
    } cases[] = {
        {{.ca_data = other_ca.cert_pem}, VPA_TRANSPORT_TLS},
        {{.ca_data = ca.cert_pem, .server_name = "elsewhere"}, VPA_TRANSPORT_TLS},
        {{.ca_data = ca.cert_pem, .server_name = "localhost"}, VPA_TRANSPORT_OK},
        {{.ca_data = ca.cert_pem, .no_http2 = true}, VPA_TRANSPORT_OK},
        {{.ca_data = other_ca.cert_pem, .insecure = true}, VPA_TRANSPORT_OK},
        {{.ca_data = NULL}, VPA_TRANSPORT_TLS}, /* the system's roots */
    };

    for (size_t i = 0; i < VPA_COUNT(cases); i++) {
        struct vpa_transport *t = connect_to(vpa_http_server_port(server), &cases[i].options);
        fetch(t, "GET", "/", NULL);
        ck_assert_msg(got.failure == cases[i].failure, "case %zu: %s", i, got.error);
        vpa_transport_free(t);
    }
    vpa_http_server_free(server);
}
END_TEST

START_TEST(reloads_certificates)
{
    const struct vpa_server_tls tls = {.cert_pem = pair.cert_pem, .key_pem = pair.key_pem};
    struct vpa_http_server *server = serve((unsigned)_i, &tls);
    const struct vpa_http_client_options first = {.ca_data = ca.cert_pem},
                                         second = {.ca_data = other_ca.cert_pem};
    struct vpa_transport *kept = connect_to(vpa_http_server_port(server), &first);

    fetch(kept, "GET", "/", NULL);
    ck_assert_int_eq(got.status, 200);
    /* A bad pair changes nothing. */
    ck_assert_int_eq(vpa_http_server_reload(server, other_pair.cert_pem, pair.key_pem, &err), -1);
    ck_assert_str_eq(err.text, "the key does not belong to the certificate");
    ck_assert_int_eq(vpa_http_server_reload(server, "junk", pair.key_pem, &err), -1);
    ck_assert_int_eq(vpa_http_server_reload(server, "", "", &err), -1);
    ck_assert_int_eq(vpa_http_server_reload(server, other_pair.cert_pem, other_pair.key_pem, &err),
                     0);
    fetch(kept, "GET", "/old", NULL); /* its connection lives on */
    ck_assert_int_eq(got.status, 200);
    fetch(kept, "GET", "/gone", NULL); /* closed after that answer: a new one meets the new pair */
    ck_assert_int_eq(got.failure, VPA_TRANSPORT_TLS);
    struct vpa_transport *fresh = connect_to(vpa_http_server_port(server), &second);
    fetch(fresh, "GET", "/new", NULL);
    ck_assert_int_eq(got.status, 200);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(
            vpa_http_server_reload(server, other_pair.cert_pem, other_pair.key_pem, &err), 0);
        fetch(fresh, "GET", "/again", NULL);
        ck_assert_int_eq(got.status, 200);
    }
    vpa_loop_pump(loop, 1200 * VPA_MILLISECOND); /* the retired ones go */
    vpa_transport_free(kept);
    vpa_transport_free(fresh);
    vpa_http_server_free(server);
}
END_TEST

START_TEST(asks_for_client_certificates)
{
    const struct vpa_server_tls tls = {
        .cert_pem = pair.cert_pem, .key_pem = pair.key_pem, .client_ca_pem = ca.cert_pem};
    struct vpa_http_server *server = serve(1, &tls);
    const struct {
        struct vpa_http_client_options options;
        int status;
    } cases[] = {
        {{.ca_data = ca.cert_pem}, 401},
        {{.ca_data = ca.cert_pem, .cert_data = pair.cert_pem, .key_data = pair.key_pem}, 200},
        {{.ca_data = ca.cert_pem, .cert_data = other_pair.cert_pem, .key_data = other_pair.key_pem},
         401},
    };

    for (size_t i = 0; i < VPA_COUNT(cases); i++) {
        struct vpa_transport *t = connect_to(vpa_http_server_port(server), &cases[i].options);
        fetch(t, "GET", "/", NULL);
        ck_assert_msg(got.status == cases[i].status, "case %zu: %d %s", i, got.status, got.error);
        vpa_transport_free(t);
    }
    /* A certificate set later is used. */
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), &cases[0].options);
    vpa_http_client_set_certificate(t, pair.cert_pem, pair.key_pem);
    fetch(t, "GET", "/", NULL);
    ck_assert_int_eq(got.status, 200);
    vpa_transport_free(t);
    vpa_http_server_free(server);
}
END_TEST

static const struct {
    const char *ciphers;
    enum vpa_tls_version min;
} settings[] = {
    {NULL, VPA_TLS_1_2},
    {NULL, VPA_TLS_1_3},
    {"", VPA_TLS_1_2},
    {"nonsense,tls_aes", VPA_TLS_1_2},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384:TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", VPA_TLS_1_2},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,TLS_AES_128_GCM_SHA256", VPA_TLS_1_2},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", VPA_TLS_1_3},
};

START_TEST(takes_tls_settings)
{
    const struct vpa_server_tls tls = {.cert_pem = pair.cert_pem,
                                       .key_pem = pair.key_pem,
                                       .ciphers = settings[_i].ciphers,
                                       .min_version = settings[_i].min};
    struct vpa_http_server *server = serve(1, &tls);
    const struct vpa_http_client_options good = {.ca_data = ca.cert_pem};
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), &good);

    fetch(t, "GET", "/", NULL);
    ck_assert_msg(got.status == 200, "%s", got.error);
    vpa_transport_free(t);
    vpa_http_server_free(server);
}
END_TEST

START_TEST(checks_certificates)
{
    struct vpa_tls_info info;
    static const char *const bad_names[] = {"a,b"};
    struct vpa_tls_pair none = {0};

    ck_assert_int_eq(vpa_tls_check_pair(pair.cert_pem, pair.key_pem, &info, &err), 0);
    ck_assert_str_eq(info.common_name, "localhost");
    ck_assert_uint_eq(strlen(info.fingerprint), 64);
    ck_assert(info.not_after - info.not_before == VPA_HOUR + 5 * VPA_MINUTE);
    ck_assert(vpa_tls_matches_name(pair.cert_pem, "localhost"));
    ck_assert(vpa_tls_matches_name(pair.cert_pem, "127.0.0.1"));
    ck_assert(!vpa_tls_matches_name(pair.cert_pem, "example.com"));
    ck_assert(!vpa_tls_matches_name("junk", "example.com"));
    ck_assert_int_eq(vpa_tls_check_pair(pair.cert_pem, other_pair.key_pem, NULL, &err), -1);
    ck_assert_int_eq(vpa_tls_check_pair(NULL, pair.key_pem, NULL, &err), -1);
    ck_assert_int_eq(vpa_tls_check_pair(pair.cert_pem, NULL, NULL, &err), -1);
    ck_assert_int_eq(vpa_tls_check_pair(pair.key_pem, pair.key_pem, NULL, &err), -1);
    ck_assert_int_eq(vpa_tls_check_pair(pair.cert_pem, pair.cert_pem, NULL, &err), -1);
    ck_assert_int_eq(vpa_tls_check_ca(ca.cert_pem, &err), 0);
    ck_assert_int_eq(vpa_tls_check_ca("", &err), -1);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, bad_names, 1, false, 0, VPA_HOUR, &none, &err),
                     -1);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, names, 0, false, 0, VPA_HOUR, &none, &err),
                     -1);
    ck_assert_int_eq(vpa_tls_create_certificate(&none, names, 2, false, 0, VPA_HOUR, &none, &err),
                     -1);
}
END_TEST

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

START_TEST(parses_addresses)
{
    char host[256] = "";
    int port = 0;

    ck_assert_int_eq(vpa_address_parse(addresses[_i].text, host, &port, &err), addresses[_i].rc);
    ck_assert_str_eq(host, addresses[_i].host);
    ck_assert_int_eq(port, addresses[_i].port);
}
END_TEST

START_TEST(ports_that_cannot_be_had)
{
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
END_TEST

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
     VPA_TRANSPORT_OK, 302, -1},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", SILENT, VPA_TRANSPORT_TIMEOUT, 200, -1},
    {"", SILENT, VPA_TRANSPORT_TIMEOUT, 0, -1},
};

START_TEST(survives_rude_servers)
{
    struct rude r = {.bytes = rudeness[_i].bytes};
    const struct vpa_http_request request = {.method = "GET", .target = "/", .timeout = VPA_SECOND};

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
END_TEST

START_TEST(bounds_and_streams)
{
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
END_TEST

START_TEST(dead_peers_of_streams)
{
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
END_TEST

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

START_TEST(cancels_in_callbacks)
{
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
    vpa_loop_pump(loop, 10 * VPA_MILLISECOND);
    vpa_http_server_free(server);
}
END_TEST

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

START_TEST(many_at_once)
{
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
END_TEST

START_TEST(refuses_unusable_files)
{
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
END_TEST

START_TEST(reads_files_bounded)
{
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("http");
    TCase *c = tcase_create("http"), *tls = tcase_create("tls");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 30);
    tcase_add_loop_test(c, plain_http, 0, 3);
    tcase_add_loop_test(c, parses_addresses, 0, VPA_COUNT(addresses));
    tcase_add_test(c, ports_that_cannot_be_had);
    tcase_add_loop_test(c, survives_rude_servers, 0, VPA_COUNT(rudeness));
    tcase_add_test(c, bounds_and_streams);
    tcase_add_test(c, dead_peers_of_streams);
    tcase_add_test(c, cancels_in_callbacks);
    tcase_add_loop_test(c, many_at_once, 0, 3);
    tcase_add_loop_test(c, waits_for_descriptors, 0, 2);
    tcase_add_test(c, refuses_unusable_files);
    tcase_add_test(c, reads_files_bounded);
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(tls, tls_setup, tls_teardown);
    tcase_set_timeout(tls, 30);
    tcase_add_loop_test(tls, https, 1, 3);
    tcase_add_test(tls, needs_threads_for_tls);
    tcase_add_loop_test(tls, stalled_handshakes_cost_nothing, 1, 3);
    tcase_add_test(tls, refuses_wrong_peers);
    tcase_add_loop_test(tls, reloads_certificates, 1, 3);
    tcase_add_test(tls, asks_for_client_certificates);
    tcase_add_loop_test(tls, takes_tls_settings, 0, VPA_COUNT(settings));
    tcase_add_test(tls, checks_certificates);
    suite_add_tcase(suite, tls);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
