/* TLS of client and server: certificates, their change, settings, peers that stall. */
#include <curl/curl.h>
#include <linux/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "http_fixture.h"
#include "vpa/net/tls.h"

static struct vpa_tls_pair ca, pair, other_ca, other_pair, server_only;
static const char *const names[] = {"localhost", "127.0.0.1"};

static void make_certificates(void)
{
    vpa_time now = vpa_clock_now(clk);

    ck_assert_int_eq(vpa_tls_create_ca("test ca", now, VPA_HOUR, &ca, &err), 0);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, names, 2, true, now, VPA_HOUR, &pair, &err),
                     0);
    ck_assert_int_eq(
        vpa_tls_create_certificate(&ca, names, 2, false, now, VPA_HOUR, &server_only, &err), 0);
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
    vpa_tls_pair_release(&server_only);
    teardown();
}

TEST_RANGE(https, 1, 3) {
    const struct vpa_server_tls tls = {.cert_pem = pair.cert_pem, .key_pem = pair.key_pem};
    struct vpa_http_server *server = serve((unsigned)_i, &tls);
    const struct vpa_http_client_options good = {.ca_data = ca.cert_pem};
    struct vpa_transport *t = connect_to(vpa_http_server_port(server), &good);

    exchange_some(t);
    vpa_transport_free(t);
    vpa_http_server_free(server);
}

TEST(needs_threads_for_tls) {
    const struct vpa_server_tls tls = {.cert_pem = pair.cert_pem, .key_pem = pair.key_pem};
    const struct vpa_http_server_options options = {
        .address = "127.0.0.1:0", .handler = handle, .tls = &tls};

    ck_assert_ptr_null(vpa_http_server_new(loop, &options, &err));
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_str_eq(err.text, "a server that speaks TLS needs a thread of its own");
}

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

TEST_RANGE(stalled_handshakes_cost_nothing, 1, 3) {
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

/* What our server sends over TLS it sends with this. */
static atomic_uint sends;

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    atomic_fetch_add(&sends, 1);
    return syscall(SYS_sendmsg, fd, message, flags);
}

/* Segments with data that have arrived at a socket. */
static unsigned segments_at(int fd)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);

    ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
    return info.tcpi_data_segs_in;
}

static void ask_on(SSL *tls)
{
    static const char ask[] = "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char answer[4096] = "";
    int len = 0, n;

    ck_assert_int_eq(SSL_write(tls, ask, sizeof(ask) - 1), sizeof(ask) - 1);
    do {
        n = SSL_read(tls, answer + len, (int)sizeof(answer) - 1 - len);
        ck_assert_int_gt(n, 0);
        len += n;
    } while (!strstr(answer, "\r\n\r\nok"));
}

static void say_ok(void *ctx, const struct vpa_server_request *request,
                   struct vpa_server_response *response)
{
    (void)ctx;
    (void)request;
    vpa_server_reply_text(response, 200, "ok");
}

/* Head and body are two records, but wake the peer once, and cost one system call. */
TEST_RANGE(an_answer_arrives_in_one_piece, 1, 3) {
    const struct vpa_server_tls settings = {.cert_pem = pair.cert_pem, .key_pem = pair.key_pem};
    const struct vpa_http_server_options options = {
        .address = "127.0.0.1:0", .handler = say_ok, .threads = (unsigned)_i, .tls = &settings};
    struct vpa_http_server *server = vpa_http_server_new(loop, &options, &err);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *tls = SSL_new(context);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    connect_raw(fd, vpa_http_server_port(server));
    SSL_set_fd(tls, fd);
    ck_assert_int_eq(SSL_connect(tls), 1);
    ask_on(tls); /* and tickets */
    for (int i = 0; i < 3; i++) {
        unsigned before = segments_at(fd), sent = atomic_load(&sends);

        ask_on(tls);
        ck_assert_uint_eq(segments_at(fd) - before, 1);
        ck_assert_uint_eq(atomic_load(&sends) - sent, 1);
    }
    SSL_free(tls);
    SSL_CTX_free(context);
    close(fd);
    vpa_http_server_free(server);
}

static void say_no_content(void *ctx, const struct vpa_server_request *request,
                           struct vpa_server_response *response)
{
    say_ok(ctx, request, response);
    response->status = strcmp(request->path, "/small") == 0 ? 200 : 204;
}

/* Nothing of an answer waits for a body that does not come. */
TEST(answers_without_a_body) {
    static const char *const asks[] = {"HEAD /small HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                       "GET /204 HTTP/1.1\r\nHost: localhost\r\n\r\n"};
    const struct vpa_server_tls settings = {.cert_pem = pair.cert_pem, .key_pem = pair.key_pem};
    const struct vpa_http_server_options options = {
        .address = "127.0.0.1:0", .handler = say_no_content, .threads = 1, .tls = &settings};
    struct vpa_http_server *server = vpa_http_server_new(loop, &options, &err);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *tls = SSL_new(context);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    connect_raw(fd, vpa_http_server_port(server));
    SSL_set_fd(tls, fd);
    ck_assert_int_eq(SSL_connect(tls), 1);
    for (size_t i = 0; i < 3 * VPA_COUNT(asks); i++) {
        const char *ask = asks[i % VPA_COUNT(asks)];
        char answer[4096] = "";

        ck_assert_int_gt(SSL_write(tls, ask, (int)strlen(ask)), 0);
        ck_assert_int_gt(SSL_read(tls, answer, sizeof(answer) - 1), 0);
        ck_assert_str_eq(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
        ask_on(tls);
    }
    SSL_free(tls);
    SSL_CTX_free(context);
    close(fd);
    vpa_http_server_free(server);
}

TEST(refuses_wrong_peers) {
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

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

/* The folder that libcurl trusts by default gets another content, for this process alone: this CA,
 * and for the file that it trusts beside it another one. False where that is not allowed. */
static bool make_system_trust(const char *folder_pem, const char *file_pem)
{
    const curl_version_info_data *compiled = curl_version_info(CURLVERSION_NOW);
    const char *folder = compiled->capath, *file = compiled->cainfo;
    BIO *bio = BIO_new_mem_buf(folder_pem, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    unsigned long hash = X509_NAME_hash(X509_get_subject_name(cert));

    X509_free(cert);
    BIO_free(bio);
    if ((unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) || !folder ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", folder, "tmpfs", 0, NULL) < 0)
        return false;
    vpa_auto_free char *path = vpa_xprintf("%s/%08lx.0", folder, hash);
    write_file(path, folder_pem);
    if (file && strncmp(file, folder, strlen(folder)) == 0)
        write_file(file, file_pem);
    return true;
}

static const struct trust_row {
    bool given, right, insecure; /* a CA is; it is that of the server, which the system trusts */
    enum vpa_transport_failure failure;
} trusts[] = {
    {.given = true, .right = false, .failure = VPA_TRANSPORT_TLS},
    {.given = true, .right = true, .failure = VPA_TRANSPORT_OK},
    {.given = true, .right = false, .insecure = true, .failure = VPA_TRANSPORT_OK},
    {.given = false, .failure = VPA_TRANSPORT_OK},
};

/* Of a server, and of a proxy that is reached over TLS. */
TEST_EACH(a_given_ca_vouches_alone, trusts) {
    const struct trust_row *row = &trusts[_i];
    const struct vpa_server_tls tls = {.cert_pem = pair.cert_pem, .key_pem = pair.key_pem};

    if (!make_system_trust(ca.cert_pem, other_ca.cert_pem)) {
        fprintf(stderr, "SKIPPED a_given_ca_vouches_alone: no private mounts allowed here\n");
        return;
    }
    struct vpa_http_server *server = serve(1, &tls);
    vpa_auto_free char *url = vpa_xprintf("https://127.0.0.1:%d", vpa_http_server_port(server));
    for (int proxied = 0; proxied < 2; proxied++) {
        const struct vpa_http_client_options options = {.base_url =
                                                            proxied ? "http://api.invalid" : url,
                                                        .proxy = proxied ? url : "",
                                                        .ca_data = !row->given  ? NULL
                                                                   : row->right ? ca.cert_pem
                                                                                : other_ca.cert_pem,
                                                        .insecure = row->insecure};
        struct vpa_transport *t = vpa_http_client_new(loop, &options, &err);
        fetch(t, "GET", "/", NULL);
        ck_assert_msg(got.failure == row->failure, "%d: %s", proxied, got.error);
        vpa_transport_free(t);
    }
    vpa_http_server_free(server);
}

/* A webhook that is registered by URL may be called by its address. */
static const char *const addresses[] = {"10.1.2.3", "fd00::7"};

TEST_EACH(the_name_of_a_server_may_be_an_address, addresses) {
    struct vpa_tls_pair by_address = {0};

    ck_assert_int_eq(vpa_tls_create_certificate(&ca, &addresses[_i], 1, false, vpa_clock_now(clk),
                                                VPA_HOUR, &by_address, &err),
                     0);
    const struct vpa_server_tls tls = {.cert_pem = by_address.cert_pem,
                                       .key_pem = by_address.key_pem};
    struct vpa_http_server *server = serve(1, &tls);
    for (int other = 0; other < 2; other++) {
        const struct vpa_http_client_options options = {.ca_data = ca.cert_pem,
                                                        .server_name = addresses[_i ^ other]};
        struct vpa_transport *t = connect_to(vpa_http_server_port(server), &options);
        fetch(t, "GET", "/", NULL);
        ck_assert_msg(got.failure == (other ? VPA_TRANSPORT_TLS : VPA_TRANSPORT_OK), "%s",
                      got.error);
        vpa_transport_free(t);
    }
    vpa_http_server_free(server);
    vpa_tls_pair_release(&by_address);
}

/* What peers object to, by the names of their alerts. */
static atomic_int unknown_cas, others, ended;

static void on_failed(void *ctx, const char *reason)
{
    (void)ctx;
    atomic_fetch_add(strcmp(reason, "unknown_ca") == 0 ? &unknown_cas
                     : strcmp(reason, "ended") == 0    ? &ended
                                                       : &others,
                     1);
}

static bool all_told(void *ctx)
{
    (void)ctx;
    return atomic_load(&unknown_cas) + atomic_load(&others) + atomic_load(&ended) >= 2;
}

/* A client of TLS 1.2 that trusts another CA; of 1.3, OpenSSL's says so before it encrypts, which
 * GnuTLS does not read. Go's, which API servers use, is read in both. */
static void *ask_distrusting(void *ctx)
{
    char path[] = "/tmp/plumb-ca-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_eq(write(fd, other_ca.cert_pem, strlen(other_ca.cert_pem)),
                     (ssize_t)strlen(other_ca.cert_pem));
    vpa_auto_free char *command =
        vpa_xprintf("openssl s_client -tls1_2 -verify_return_error -CAfile %s -connect "
                    "127.0.0.1:%d </dev/null >/dev/null 2>&1",
                    path, *(int *)ctx);
    ck_assert_int_ne(system(command), 0);
    close(fd);
    unlink(path);
    return NULL;
}

TEST_RANGE(tells_of_failed_handshakes, 1, 3) {
    const struct vpa_server_tls tls = {.cert_pem = pair.cert_pem, .key_pem = pair.key_pem};
    const struct vpa_http_server_options options = {.address = "127.0.0.1:0",
                                                    .handler = handle,
                                                    .threads = (unsigned)_i,
                                                    .tls = &tls,
                                                    .on_failed_handshake = on_failed};
    struct vpa_http_server *server = vpa_http_server_new(loop, &options, &err);
    const struct vpa_http_client_options good = {.ca_data = ca.cert_pem};
    int port = vpa_http_server_port(server), fd = socket(AF_INET, SOCK_STREAM, 0);
    struct vpa_transport *t = connect_to(port, &good);
    pthread_t thread;

    fetch(t, "GET", "/", NULL);
    connect_raw(fd, port);
    ck_assert_int_eq(write(fd, "GET / HTTP/1.0\r\n\r\n", 18), 18);
    close(fd);
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_distrusting, &port), 0);
    ck_assert_int_eq(vpa_loop_wait(loop, all_told, NULL, 20 * VPA_SECOND, &err), 0);
    pthread_join(thread, NULL);
    vpa_transport_free(t);
    vpa_http_server_free(server);
    ck_assert_int_eq(atomic_load(&unknown_cas), 1);
    ck_assert_int_eq(atomic_load(&ended), 1);
    ck_assert_int_eq(atomic_load(&others), 0);
}

TEST_RANGE(reloads_certificates, 1, 3) {
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

TEST(asks_for_client_certificates) {
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
        {{.ca_data = ca.cert_pem,
          .cert_data = server_only.cert_pem,
          .key_data = server_only.key_pem},
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

/* The handler writes it on a thread of the server, and the test reads it behind the answer. */
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;
static char *seen_chain;
static char seen_headers[256];

static bool on_header(void *ctx, const char *name, const char *value)
{
    size_t len = strlen(seen_headers);

    (void)ctx;
    if (strncasecmp(name, "X-", 2) == 0)
        snprintf(seen_headers + len, sizeof(seen_headers) - len, "%s=%s;", name, value);
    return true;
}

static void judge(void *ctx, const struct vpa_server_request *request,
                  struct vpa_server_response *response)
{
    (void)ctx;
    pthread_mutex_lock(&seen_lock);
    seen_headers[0] = '\0';
    vpa_server_each_header(request, on_header, NULL);
    seen_chain = vpa_server_client_chain(request);
    pthread_mutex_unlock(&seen_lock);
    vpa_server_reply_text(response, 200, "ok");
}

/* Whoever shows no certificate, or one of anybody, is served; the handler sees which. */
TEST(shows_certificates_to_the_handler) {
    const struct vpa_server_tls tls = {
        .cert_pem = pair.cert_pem, .key_pem = pair.key_pem, .asks_for_certificate = true};
    const struct vpa_http_server_options options = {
        .address = "127.0.0.1:0", .handler = judge, .threads = 1, .tls = &tls};
    struct vpa_http_server *server = vpa_http_server_new(loop, &options, &err);
    struct vpa_tls_pair *const shown[] = {NULL, &pair, &other_pair, &server_only};
    static const struct vpa_header headers[] = {{"X-One", "a"}, {"X-Two", "b"}, {"X-One", "c"}};
    const struct vpa_http_request ask = {
        .method = "GET", .target = "/", .headers = headers, .header_count = VPA_COUNT(headers)};

    for (size_t i = 0; i < VPA_COUNT(shown); i++) {
        const struct vpa_http_client_options client = {
            .ca_data = ca.cert_pem,
            .cert_data = shown[i] ? shown[i]->cert_pem : NULL,
            .key_data = shown[i] ? shown[i]->key_pem : NULL};
        struct vpa_transport *t = connect_to(vpa_http_server_port(server), &client);
        struct vpa_tls_info theirs, ours;

        fetch_with(t, &ask, false);
        ck_assert_msg(got.status == 200, "case %zu: %s", i, got.error);
        pthread_mutex_lock(&seen_lock);
        ck_assert_int_eq(seen_chain != NULL, shown[i] != NULL);
        if (shown[i]) {
            ck_assert_int_eq(vpa_tls_describe(seen_chain, &theirs, &err), 0);
            ck_assert_int_eq(vpa_tls_describe(shown[i]->cert_pem, &ours, &err), 0);
            ck_assert_str_eq(theirs.fingerprint, ours.fingerprint);
        }
        ck_assert_str_eq(seen_headers, "X-One=a;X-Two=b;X-One=c;");
        free(seen_chain);
        pthread_mutex_unlock(&seen_lock);
        vpa_transport_free(t);
    }
    vpa_http_server_free(server);
}

/* As a server that trusts an authority would judge a client at a time. */
TEST(verifies_clients) {
    struct vpa_tls_info info;

    ck_assert_int_eq(vpa_tls_describe(pair.cert_pem, &info, &err), 0);
    vpa_time now = vpa_time_add(info.not_before, VPA_TLS_CLOCK_SLACK);
    vpa_auto_free char *both = vpa_xprintf("%s%s", other_ca.cert_pem, ca.cert_pem);
    const struct {
        const char *chain, *trusted;
        vpa_duration later;
        const char *problem; /* NULL: accepted */
    } rows[] = {
        {pair.cert_pem, ca.cert_pem, 0, NULL},
        {pair.cert_pem, both, 0, NULL},
        {pair.cert_pem, other_ca.cert_pem, 0, "unable to get local issuer certificate"},
        {server_only.cert_pem, ca.cert_pem, 0, "unsuitable certificate purpose"},
        {pair.cert_pem, ca.cert_pem, VPA_HOUR + VPA_SECOND, "certificate has expired"},
        {pair.cert_pem, ca.cert_pem, -6 * VPA_MINUTE, "certificate is not yet valid"},
        {"junk", ca.cert_pem, 0, "no certificate"},
        {pair.cert_pem, "junk", 0, "the authority of clients"},
        {pair.cert_pem, "", 0, "the authority of clients"},
        {pair.cert_pem, NULL, 0, "the authority of clients"},
    };

    for (size_t i = 0; i < VPA_COUNT(rows); i++) {
        int rc = vpa_tls_verify_client(rows[i].chain, rows[i].trusted,
                                       vpa_time_add(now, rows[i].later), &err);
        if (rows[i].problem)
            ck_assert_msg(rc < 0 && strstr(err.text, rows[i].problem), "%zu: %s", i, err.text);
        else
            ck_assert_msg(rc == 0, "%zu: %s", i, err.text);
    }
}

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

TEST_EACH(takes_tls_settings, settings) {
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

TEST(checks_certificates) {
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
    vpa_auto_free char *cut = vpa_xprintf("%s%.100s\n", pair.cert_pem, ca.cert_pem);
    ck_assert_int_eq(vpa_tls_check_pair(cut, pair.key_pem, NULL, &err), -1);
    vpa_auto_free char *more = vpa_xprintf("%s%s", pair.cert_pem, ca.cert_pem);
    ck_assert_int_eq(vpa_tls_check_pair(more, pair.key_pem, NULL, &err), 0);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, bad_names, 1, false, 0, VPA_HOUR, &none, &err),
                     -1);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, names, 0, false, 0, VPA_HOUR, &none, &err),
                     -1);
    ck_assert_int_eq(vpa_tls_create_certificate(&none, names, 2, false, 0, VPA_HOUR, &none, &err),
                     -1);
}

/* As a client of that trust would judge the pair at a time. */
static const struct verify_row {
    const char *name; /* of the server */
    int trust;        /* 0: its CA, 1: another one, 2: both, 3: its own certificate */
    vpa_duration later;
    const char *problem; /* NULL: accepted */
} verifications[] = {
    {"localhost", 0, 0, NULL},
    {"127.0.0.1", 0, 0, NULL},
    {"localhost", 2, 0, NULL},
    {"localhost", 3, 0, NULL},
    {"localhost", 0, VPA_HOUR - VPA_SECOND, NULL},
    {"localhost", 1, 0, "unable to get local issuer certificate"},
    {"example.com", 0, 0, "hostname mismatch"},
    {"127.0.0.2", 0, 0, "IP address mismatch"},
    {"localhost", 0, VPA_HOUR + VPA_SECOND, "certificate has expired"},
    {"localhost", 0, -6 * VPA_MINUTE, "certificate is not yet valid"},
};

TEST_EACH(verifies_as_a_client_would, verifications) {
    const struct verify_row *row = &verifications[_i];
    struct vpa_tls_pair other;
    struct vpa_tls_info info;

    ck_assert_int_eq(vpa_tls_describe(pair.cert_pem, &info, &err), 0);
    vpa_time now = vpa_time_add(info.not_before, VPA_TLS_CLOCK_SLACK);
    ck_assert_int_eq(vpa_tls_create_ca("other", now, 24 * VPA_HOUR, &other, &err), 0);
    vpa_auto_free char *both = vpa_xprintf("%s%s", other.cert_pem, ca.cert_pem);
    const char *const anchors[] = {ca.cert_pem, other.cert_pem, both, pair.cert_pem};
    int rc = vpa_tls_verify(pair.cert_pem, anchors[row->trust], row->name,
                            vpa_time_add(now, row->later), &err);
    if (row->problem)
        ck_assert_msg(rc < 0 && strstr(err.text, row->problem), "%s", err.text);
    else
        ck_assert_msg(rc == 0, "%s", err.text);
    vpa_tls_pair_release(&other);
    ck_assert_int_eq(vpa_tls_verify("junk", ca.cert_pem, "localhost", now, &err), -1);
    ck_assert_int_eq(vpa_tls_verify(pair.cert_pem, "junk", "localhost", now, &err), -1);
    ck_assert_int_eq(vpa_tls_verify(pair.cert_pem, NULL, "localhost", now, &err), -1);
}

int main(void)
{
    return run_tests_within(30, "http_tls", tls_setup, tls_teardown);
}
