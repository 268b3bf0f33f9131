/*
 * The listener: libmicrohttpd with a thread per connection, so that a handler may simply wait (for
 * a webhook, for the next event of a watch). TLS when a certificate is given; client certificates
 * give the user (CN) and groups (O).
 */
#include "sim.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BODY_MAX (8u << 20)
#define CONNECTIONS_MAX 1000

struct http {
    struct sim *sim;
    struct MHD_Daemon *daemon;
    char *cert, *key, *ca;
};

/* One request on a connection. */
struct exchange {
    struct sim *sim;
    struct vpa_arena arena;
    char *uri; /* raw request target */
    struct vpa_buf body;
    bool begun;
    bool too_large;
    struct response res;
    struct fault_plan fault;
    struct MHD_Connection *connection;
    size_t sent;
    int fd;
};

static void *on_uri(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct http *h = cls;
    struct exchange *x = vpa_xcalloc(1, sizeof(*x));

    x->sim = h->sim;
    x->connection = connection;
    x->uri = vpa_xstrdup(uri);
    vpa_buf_init(&x->body, BODY_MAX);
    response_init(&x->res);
    return x;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
                         enum MHD_RequestTerminationCode how)
{
    struct exchange *x = *con_cls;

    (void)cls;
    (void)connection;
    (void)how;
    if (!x)
        return;
    response_release(&x->res);
    vpa_buf_release(&x->body);
    vpa_arena_release(&x->arena);
    free(x->uri);
    free(x);
    *con_cls = NULL;
}

static const char *decode_path(struct vpa_arena *a, const char *uri)
{
    size_t len = strcspn(uri, "?"), n = 0;
    char *out = vpa_arena_alloc(a, len + 1);

    for (size_t i = 0; i < len; i++) {
        if (uri[i] == '%' && i + 2 < len + 0 && isxdigit((unsigned char)uri[i + 1]) &&
            isxdigit((unsigned char)uri[i + 2])) {
            char hex[3] = {uri[i + 1], uri[i + 2], 0};
            out[n++] = (char)strtol(hex, NULL, 16);
            i += 2;
        } else {
            out[n++] = uri[i];
        }
    }
    out[n] = 0;
    return out;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* ---- client certificates ---- */

static const char *subject_parts(struct vpa_arena *a, gnutls_x509_crt_t cert, const char *oid)
{
    const char *out = NULL;

    for (unsigned i = 0; i < USER_GROUPS_MAX; i++) {
        char text[256];
        size_t len = sizeof(text);
        if (gnutls_x509_crt_get_dn_by_oid(cert, oid, i, 0, text, &len) < 0)
            break;
        out = out ? vpa_arena_printf(a, "%s,%s", out, text) : vpa_arena_strdup(a, text);
    }
    return out;
}

static void read_client_cert(struct exchange *x, struct request *req)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned count = 0, problems = 0;
    gnutls_x509_crt_t cert;

    if (!info || !info->tls_session)
        return;
    gnutls_session_t session = info->tls_session;
    const gnutls_datum_t *list = gnutls_certificate_get_peers(session, &count);
    if (!list || !count || gnutls_certificate_verify_peers2(session, &problems) < 0 || problems)
        return;
    if (gnutls_x509_crt_init(&cert) < 0)
        return;
    if (gnutls_x509_crt_import(cert, &list[0], GNUTLS_X509_FMT_DER) >= 0) {
        req->client_cert_user = subject_parts(&x->arena, cert, GNUTLS_OID_X520_COMMON_NAME);
        req->client_cert_groups = subject_parts(&x->arena, cert, GNUTLS_OID_X520_ORGANIZATION_NAME);
    }
    gnutls_x509_crt_deinit(cert);
}

/* ---- answering ---- */

static void reset_connection(int fd)
{
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
}

static ssize_t on_watch_read(void *cls, uint64_t pos, char *out, size_t max)
{
    struct exchange *x = cls;
    ssize_t n = watch_read(x->res.watch, out, max, x->fd);

    (void)pos;
    if (n < 0) {
        if (n == -2)
            reset_connection(x->fd);
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    return n ? n : MHD_CONTENT_READER_END_OF_STREAM;
}

/* A body that breaks off: fault injection. */
static ssize_t on_cut_read(void *cls, uint64_t pos, char *out, size_t max)
{
    struct exchange *x = cls;
    size_t left = (size_t)x->fault.cut_after > pos ? (size_t)x->fault.cut_after - (size_t)pos : 0;

    if (left > x->res.body.len - (size_t)pos)
        left = x->res.body.len - (size_t)pos;
    if (!left) {
        if (x->fault.reset)
            reset_connection(x->fd);
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (left > max)
        left = max;
    memcpy(out, x->res.body.data + pos, left);
    return (ssize_t)left;
}

static struct MHD_Response *make_response(struct exchange *x)
{
    if (x->res.watch)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 64 * 1024, on_watch_read, x,
                                                 NULL);
    if (x->fault.cut_after >= 0)
        return MHD_create_response_from_callback(x->res.body.len, 16 * 1024, on_cut_read, x, NULL);
    vpa_buf_reserve(&x->res.body, 1); /* so that there is an address */
    return MHD_create_response_from_buffer(x->res.body.len, x->res.body.data,
                                           MHD_RESPMEM_PERSISTENT);
}

/* In virtual time, in which everything else of the cluster is. */
static void add_date(struct exchange *x, struct MHD_Response *r)
{
    char text[64];
    time_t now = (time_t)(vpa_time_unix_nanos(sim_now(x->sim)) / VPA_SECOND);
    struct tm parts;

    if (gmtime_r(&now, &parts) && strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts))
        MHD_add_response_header(r, "Date", text);
}

static enum MHD_Result answer(struct exchange *x)
{
    struct MHD_Response *r = make_response(x);
    char number[16];

    if (*x->res.content_type)
        MHD_add_response_header(r, "Content-Type", x->res.content_type);
    for (size_t i = 0; i < x->res.warnings.count; i++)
        MHD_add_response_header(r, "Warning", x->res.warnings.items[i]);
    if (x->res.retry_after) {
        snprintf(number, sizeof(number), "%d", x->res.retry_after);
        MHD_add_response_header(r, "Retry-After", number);
    }
    if (x->res.vary_accept)
        MHD_add_response_header(r, "Vary", "Accept");
    MHD_add_response_header(r, "Cache-Control", "no-cache, private");
    add_date(x, r);
    enum MHD_Result ok = MHD_queue_response(x->connection, (unsigned)x->res.status, r);
    MHD_destroy_response(r);
    return ok;
}

static void pause_ms(struct sim *sim, int ms)
{
    while (ms > 0 && !atomic_load(&sim->stopping)) {
        int step = ms > 50 ? 50 : ms;
        struct timespec t = {0, step * 1000000L};
        nanosleep(&t, NULL);
        ms -= step;
    }
}

static enum MHD_Result serve(struct exchange *x, const char *method)
{
    const char *query = strchr(x->uri, '?');
    struct request req = {.method = method,
                          .path = decode_path(&x->arena, x->uri),
                          .query = query ? query + 1 : "",
                          .accept = header(x->connection, "Accept"),
                          .content_type = header(x->connection, "Content-Type"),
                          .user_agent = header(x->connection, "User-Agent"),
                          .authorization = header(x->connection, "Authorization"),
                          .body = vpa_buf_text(&x->body),
                          .body_len = x->body.len};
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    x->fd = info ? info->connect_fd : -1;
    x->fault.cut_after = -1;
    read_client_cert(x, &req);
    if (strncmp(req.path, "/kubesim/", 9) != 0)
        faults_plan(x->sim, &req, false, &x->fault);
    req.stale = x->fault.stale;
    pause_ms(x->sim, x->fault.delay_ms);
    if (x->fault.reset && x->fault.cut_after <= 0) {
        reset_connection(x->fd);
        return MHD_NO;
    }
    if (x->fault.status) {
        struct ctx c = {.sim = x->sim, .req = &req, .res = &x->res, .a = &x->arena};
        (void)fail_injected(&c, &x->fault);
    } else {
        api_handle(x->sim, &req, &x->res, &x->arena);
    }
    return answer(x);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_len, void **con_cls)
{
    struct exchange *x = *con_cls;

    (void)cls;
    (void)connection;
    (void)url;
    (void)version;
    if (!x->begun) {
        x->begun = true;
        return MHD_YES;
    }
    if (*upload_len) {
        vpa_buf_append(&x->body, upload, *upload_len);
        *upload_len = 0;
        return MHD_YES;
    }
    if (vpa_buf_failed(&x->body)) {
        vpa_buf_clear(&x->body);
        x->res.status = 413;
        return answer(x);
    }
    return serve(x, method);
}

/* ---- starting and stopping ---- */

static char *read_file(const char *path, struct vpa_error *err)
{
    FILE *f = fopen(path, "r");
    vpa_auto_buf buf = VPA_BUF(1 << 20);
    char chunk[4096];
    size_t n;

    if (!f) {
        (void)vpa_fail(err, VPA_INVALID, "%s cannot be read", path);
        return NULL;
    }
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        vpa_buf_append(&buf, chunk, n);
    fclose(f);
    vpa_buf_putc(&buf, 0);
    return vpa_buf_take(&buf);
}

static int listen_socket(struct sim *sim, struct vpa_error *err)
{
    struct sockaddr_in addr = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)sim->opt.port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    if (fd < 0)
        return vpa_fail(err, VPA_INVALID, "no socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, 511) < 0 ||
        getsockname(fd, (struct sockaddr *)&addr, &len) < 0) {
        close(fd);
        return vpa_fail(err, VPA_INVALID, "cannot listen on port %u", sim->opt.port);
    }
    sim->port = ntohs(addr.sin_port);
    return fd;
}

static void on_panic(void *cls, const char *file, unsigned line, const char *reason)
{
    (void)cls;
    fprintf(stderr, "kubesim: libmicrohttpd %s:%u: %s\n", file, line, reason ? reason : "");
    abort();
}

struct http *http_start(struct sim *sim, struct vpa_error *err)
{
    struct http *h = vpa_xcalloc(1, sizeof(*h));
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
                     MHD_USE_POLL | MHD_USE_SUPPRESS_DATE_NO_CLOCK;
    struct MHD_OptionItem tls[4] = {{MHD_OPTION_END, 0, NULL}};
    int fd = listen_socket(sim, err);

    h->sim = sim;
    MHD_set_panic_func(on_panic, NULL);
    if (fd < 0)
        goto failed;
    if (sim->opt.tls_cert) {
        size_t n = 0;
        h->cert = read_file(sim->opt.tls_cert, err);
        h->key = sim->opt.tls_key ? read_file(sim->opt.tls_key, err) : NULL;
        if (!h->cert || !h->key)
            goto failed;
        flags |= MHD_USE_TLS;
        tls[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, h->cert};
        tls[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, h->key};
        if (sim->opt.client_ca) {
            h->ca = read_file(sim->opt.client_ca, err);
            if (!h->ca)
                goto failed;
            tls[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, h->ca};
        }
        tls[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    }
    h->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, h, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_THREAD_STACK_SIZE,
        (size_t)2 << 20, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)256 << 10, MHD_OPTION_ARRAY,
        tls, MHD_OPTION_END);
    if (h->daemon)
        return h;
    (void)vpa_fail(err, VPA_INVALID, "the listener did not start (certificate or key?)");
failed:
    http_stop(h);
    return NULL;
}

void http_stop(struct http *h)
{
    if (h->daemon)
        MHD_stop_daemon(h->daemon);
    free(h->cert);
    free(h->key);
    free(h->ca);
    free(h);
}
