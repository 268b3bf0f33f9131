/*
 * curl calls back inside curl_multi_socket_action, where neither another request may be started nor
 * this one ended. So the curl callbacks only collect: status, headers, bytes. deliver(), posted to
 * the loop, hands them on, in order: head, data, done. A peer that sends faster than the consumer
 * takes is paused.
 *
 * Which requests share a connection, and when one is given up, stands in client_connections.c. This
 * is what happens to the requests of a connection that was lost: by GOAWAY, a refused stream, a
 * reset, or because it was given up. One of whose answer nothing was handed on (a collected answer
 * may have begun: libcurl drops what it has read when it cannot write) is sent again at once, at
 * most four times, when that can do no harm: a read; a write that never went out; a write that its
 * caller calls repeatable. libcurl does not tell whether a GOAWAY or a refused stream said that
 * nothing was done, so all other writes end with VPA_TRANSPORT_RESET and their callers decide anew.
 *
 * libcurl repeats by itself what it lost on a connection that was used before, without regard to
 * the method. before_send(), asked each time that a request is about to be written, stops that.
 */
#include "vpa/net/http_client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include "client_connections.h"
#include "client_failure.h"
#include "client_head.h"
#include "client_proxy.h"
#include "client_redirect.h"
#include "client_tls.h"
#include "loop_internal.h"
#include "vpa/base/buf.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/url.h"
#include "vpa/net/monotonic.h"

/* Undelivered bytes of one exchange before the peer is paused. */
#define PENDING_PAUSE ((size_t)128 << 10)
#define PENDING_MAX ((size_t)64 << 20)
#define STARTS_MAX 5 /* of one exchange: at first, and on other connections */

struct http_client {
    struct vpa_transport base;
    struct vpa_loop *loop;
    char *url;        /* base URL that curl gets */
    char *host;       /* Host header when server_name stands in the URL, else NULL */
    char *connect_to; /* "name:port:host:port", else NULL */
    char *proxy;      /* "" for none */
    struct client_tls tls;
    bool insecure, no_http2, no_compression;
    long connect_timeout_ms;
    vpa_duration frozen_after;
    struct client_connections *connections;
    LIST_HEAD(, vpa_exchange) exchanges;
    bool freed; /* by a callback of an exchange, the last of which takes it along */
};

struct vpa_exchange {
    struct vpa_loop_transfer transfer; /* first: what the loop finds in CURLOPT_PRIVATE */
    struct http_client *client;
    LIST_ENTRY(vpa_exchange) link;
    struct vpa_http_handler handler;
    CURL *easy;
    struct curl_slist *headers, *connect_to;
    char *request_body;
    char error[CURL_ERROR_SIZE];

    int status;
    bool head_ready, head_given;
    bool done, in_callback, dead, paused;
    bool too_long;
    bool posted;
    CURLcode code;
    bool stopped; /* on_data refused */

    struct client_connection *connection; /* that its bytes went out on */
    vpa_duration timeout, idle_timeout;
    size_t rate_min;
    bool too_slow;
    int64_t started, sent_at; /* real monotonic */
    int starts, redirects;
    bool harmless;                          /* may be sent again, whatever became of it */
    bool turned_away;                       /* a redirect that is not followed: error says why */
    bool sent;                              /* its bytes went out, at least once, to this place */
    bool unsent;                            /* may_send refused */
    bool lost;                              /* not sent again */
    enum client_connection_fit refused_fit; /* why before_send asked for another connection */
    size_t bytes_in;
    struct vpa_buf pending; /* for on_data */
    struct vpa_buf body;
    struct client_head head;
};

/* Requests and answers */

static void client_release(struct http_client *c)
{
    client_connections_free(c->connections);
    free(c->url);
    free(c->host);
    free(c->connect_to);
    free(c->proxy);
    client_tls_release(&c->tls);
    free(c);
}

static void exchange_free(struct vpa_exchange *x)
{
    struct http_client *c = x->client;

    LIST_REMOVE(x, link);
    curl_multi_remove_handle(vpa_loop_multi(c->loop), x->easy);
    client_connections_leave(x->connection);
    curl_easy_cleanup(x->easy);
    curl_slist_free_all(x->headers);
    curl_slist_free_all(x->connect_to);
    free(x->request_body);
    vpa_buf_release(&x->pending);
    vpa_buf_release(&x->body);
    free(x);
    if (c->freed && LIST_EMPTY(&c->exchanges))
        client_release(c);
}

static enum vpa_transport_failure failure_of(const struct vpa_exchange *x)
{
    enum vpa_transport_failure failure;
    long os_errno = 0;

    if (x->turned_away)
        return VPA_TRANSPORT_OTHER;
    if (x->unsent)
        return VPA_TRANSPORT_UNSENT;
    if (x->lost)
        return VPA_TRANSPORT_RESET;
    if (x->too_slow)
        return VPA_TRANSPORT_TIMEOUT;
    if (x->stopped)
        return VPA_TRANSPORT_STOPPED;
    if (x->too_long)
        return VPA_TRANSPORT_LIMIT;
    curl_easy_getinfo(x->easy, CURLINFO_OS_ERRNO, &os_errno);
    failure = client_failure_of(x->code, os_errno);
    return x->sent && !x->harmless ? client_failure_in_doubt(failure) : failure;
}

static void give_done(struct vpa_exchange *x)
{
    struct vpa_http_result result = {
        .status = x->status,
        .failure = failure_of(x),
        .content_type = x->head.content_type,
        .warning = x->head.warning,
        .retry_after = x->head.retry_after,
        .body = vpa_buf_text(&x->body),
        .body_len = x->body.len,
    };

    if (result.failure == VPA_TRANSPORT_OK)
        result.error = "";
    else if (x->error[0] && !x->stopped && !x->too_long && !x->unsent && !x->lost && !x->too_slow)
        result.error = x->error;
    else
        result.error = x->unsent     ? "not sent"
                       : x->lost     ? "the connection was lost, the request is not sent again"
                       : x->stopped  ? "stopped by the reader"
                       : x->too_slow ? "the answer comes in drips"
                       : x->too_long ? "answer too long"
                                     : curl_easy_strerror(x->code);
    x->handler.on_done(x->handler.ctx, &result);
}

static void give_data(struct vpa_exchange *x)
{
    struct vpa_buf taken = x->pending;

    vpa_buf_init(&x->pending, PENDING_MAX);
    if (x->handler.on_data(x->handler.ctx, vpa_buf_text(&taken), taken.len) < 0)
        x->stopped = x->done = true;
    vpa_buf_release(&taken);
    if (x->paused && !x->dead && !x->done) {
        x->paused = false;
        curl_easy_pause(x->easy, CURLPAUSE_CONT);
    }
}

static void deliver(void *ctx)
{
    struct vpa_exchange *x = ctx;

    x->posted = false;
    if (x->in_callback) /* its reader turns the loop: it hears of the rest when it has returned */
        return;
    x->in_callback = true;
    if (x->head_ready && !x->head_given) {
        x->head_given = true;
        if (x->handler.on_head)
            x->handler.on_head(x->handler.ctx, x->status);
    }
    while (!x->dead && !x->stopped && x->pending.len > 0)
        give_data(x);
    if (!x->dead && x->done) {
        give_done(x);
        x->dead = true;
    }
    x->in_callback = false;
    if (x->dead) {
        vpa_loop_unpost(x->client->loop, deliver, x);
        exchange_free(x);
    }
}

static void post_delivery(struct vpa_exchange *x)
{
    if (x->posted)
        return;
    x->posted = true;
    vpa_loop_post(x->client->loop, deliver, x);
}

/* Another start */

static long milliseconds(vpa_duration d)
{
    return (long)((d + VPA_MILLISECOND - 1) / VPA_MILLISECOND);
}

static bool wants_start(const struct vpa_exchange *x, CURLcode code)
{
    bool handed_on = x->handler.on_data && (x->status != 0 || x->bytes_in > 0);

    if (x->starts >= STARTS_MAX || handed_on || x->unsent || x->lost)
        return false;
    if (x->refused_fit != CONNECTION_FITS)
        return true;
    return client_failure_is_lost(code) && (x->harmless || !x->sent);
}

static void leave_connection(struct vpa_exchange *x)
{
    client_connections_leave(x->connection);
    x->connection = NULL;
}

/* For the byte that did not come. */
static vpa_duration waited(const struct vpa_exchange *x)
{
    vpa_duration since = vpa_monotonic_read() - x->sent_at;

    return x->idle_timeout > 0 && x->idle_timeout < since ? x->idle_timeout : since;
}

/* False when there is no time left. */
static bool start_again(struct vpa_exchange *x)
{
    CURLM *multi = vpa_loop_multi(x->client->loop);
    vpa_duration left = x->timeout - (vpa_monotonic_read() - x->started);

    if (x->timeout > 0 && left <= 0)
        return false;
    curl_multi_remove_handle(multi, x->easy);
    if (x->timeout > 0)
        curl_easy_setopt(x->easy, CURLOPT_TIMEOUT_MS, milliseconds(left));
    if (x->refused_fit == CONNECTION_BUSY)
        curl_easy_setopt(x->easy, CURLOPT_FRESH_CONNECT, 1L);
    x->refused_fit = CONNECTION_FITS;
    x->error[0] = '\0';
    x->status = 0;
    x->head_ready = false;
    x->bytes_in = 0;
    vpa_buf_clear(&x->body);
    x->starts++;
    curl_multi_add_handle(multi, x->easy);
    return true;
}

/* Whether the request goes on at the place that the answer points to. */
static bool follow(struct vpa_exchange *x)
{
    char *to = NULL, *method = NULL;

    curl_easy_getinfo(x->easy, CURLINFO_REDIRECT_URL, &to);
    curl_easy_getinfo(x->easy, CURLINFO_EFFECTIVE_METHOD, &method);
    x->head_ready = to == NULL;
    if (!to)
        return false;
    vpa_auto_free char *url = client_redirect_within(x->client->url, x->client->host, to);
    vpa_auto_free char *shown = client_redirect_shown(to);
    vpa_auto_free char *why = client_redirect_refused(url, method, x->redirects);
    if (!why) {
        curl_easy_setopt(x->easy, CURLOPT_URL, url);
        x->redirects++;
        x->starts = 0; /* this and the next: of this place */
        x->sent = false;
        VPA_V(2, "Redirect followed", VPA_KV("to", shown));
        if (start_again(x))
            return true;
        why = vpa_xstrdup("without time left");
    }
    x->turned_away = true;
    snprintf(x->error, sizeof(x->error), "a redirect %s is not followed: %s", why, shown);
    return false;
}

static bool is_frozen(const struct vpa_exchange *x)
{
    vpa_duration without_answer = waited(x);

    return without_answer >= x->client->frozen_after &&
           client_connections_judge(x->connection, without_answer);
}

static void transfer_done(struct vpa_loop_transfer *transfer, CURLcode code)
{
    struct vpa_exchange *x = (struct vpa_exchange *)transfer;

    if (x->done)
        return;
    if (code == CURLE_OPERATION_TIMEDOUT && is_frozen(x)) {
        vpa_auto_free char *shown = vpa_url_shown(x->client->url);

        VPA_V(2, "Connection gave no sign of life, closed", VPA_KV("server", shown));
    }
    leave_connection(x);
    if (wants_start(x, code) && start_again(x))
        return;
    if (code == CURLE_OK && client_redirect_is(x->status) && follow(x))
        return;
    x->code = code;
    x->done = true;
    post_delivery(x);
}

static size_t on_body(char *bytes, size_t size, size_t count, void *ctx)
{
    struct vpa_exchange *x = ctx;
    size_t len = size * count;
    bool stream = x->handler.on_data && x->status >= 200 && x->status < 300;

    if (x->done)
        return 0;
    if (stream && x->pending.len > PENDING_PAUSE) {
        x->paused = true;
        post_delivery(x);
        return CURL_WRITEFUNC_PAUSE;
    }
    x->bytes_in += len;
    if (client_redirect_is(x->status) && len > x->body.limit - x->body.len)
        return len; /* where it leads is in the head */
    vpa_buf_append(stream ? &x->pending : &x->body, bytes, len);
    if (vpa_buf_failed(stream ? &x->pending : &x->body)) {
        x->too_long = true;
        return 0;
    }
    if (stream)
        post_delivery(x);
    return len;
}

/* curl asks with every piece and about every second. */
static int on_progress(void *ctx, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up_now)
{
    struct vpa_exchange *x = ctx;

    (void)total;
    (void)now;
    (void)up_total;
    (void)up_now;
    vpa_duration given = (vpa_duration)(x->bytes_in / x->rate_min) * VPA_SECOND;
    x->too_slow = !x->done && vpa_monotonic_read() - x->started > x->idle_timeout + given;
    return x->too_slow;
}

static size_t on_header(char *line, size_t size, size_t count, void *ctx)
{
    struct vpa_exchange *x = ctx;
    size_t len = size * count;
    long status = 0;

    if (len > 2) {
        client_head_read(&x->head, line, len);
        return len;
    }
    curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    x->status = (int)status;
    if (status >= 200 && !client_redirect_is(x->status)) { /* follow() decides on these */
        const struct vpa_loop *loop = x->client->loop;
        int64_t monotonic = vpa_loop_monotonic(loop);

        if (!vpa_loop_is_out_of_time(loop))
            client_head_tell_time(&x->head, &x->client->base, monotonic,
                                  vpa_time_unix_nanos(vpa_loop_now(loop)) - monotonic);
        x->head_ready = true;
        post_delivery(x);
    }
    return len;
}

/* curl asks when the connection is ready, before each time that it writes the request. */
static int before_send(void *ctx, char *peer, char *local, int peer_port, int local_port)
{
    struct vpa_exchange *x = ctx;

    (void)peer;
    (void)local;
    (void)peer_port;
    leave_connection(x); /* of a try that libcurl repeats by itself */
    x->lost = x->sent && !x->harmless;
    if (x->lost)
        return CURL_PREREQFUNC_ABORT;
    x->refused_fit =
        client_connections_take(x->client->connections, x->easy, local_port, &x->connection);
    if (x->refused_fit != CONNECTION_FITS)
        return CURL_PREREQFUNC_ABORT;
    if (x->handler.may_send && !x->handler.may_send(x->handler.ctx)) {
        x->unsent = !x->sent;
        x->lost = x->sent;
        return CURL_PREREQFUNC_ABORT;
    }
    if (x->request_body && x->connection)
        vpa_loop_hold(x->client->loop, client_connections_socket(x->connection));
    x->sent = true;
    x->sent_at = vpa_monotonic_read();
    return CURL_PREREQFUNC_OK;
}

/* Starting */

static void set_connection(const struct http_client *c, CURL *easy, bool watch)
{
    if (watch || c->no_http2) {
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    } else {
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        if (strncmp(c->url, "https:", 6) == 0)
            curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    }
    client_connections_set_up(c->connections, easy, watch);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, c->connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_PROXY, c->proxy);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, ""); /* not what libcurl makes of the environment */
}

static void set_method(struct vpa_exchange *x, const struct vpa_http_request *request)
{
    CURL *easy = x->easy;

    if (request->body) {
        x->request_body = vpa_xmalloc(request->body_len + 1);
        memcpy(x->request_body, request->body, request->body_len);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, x->request_body);
    } else if (strcmp(request->method, "POST") == 0) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
    }
    if (strcmp(request->method, "HEAD") == 0)
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    else if (strcmp(request->method, "GET") != 0)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static void add_header(struct vpa_exchange *x, const char *name, const char *value)
{
    /* "Name;" is curl's way to say a header without a value; "Name:" would remove it. */
    vpa_auto_free char *line =
        *value ? vpa_xprintf("%s: %s", name, value) : vpa_xprintf("%s;", name);

    x->headers = curl_slist_append(x->headers, line);
}

static void set_headers(struct vpa_exchange *x, const struct vpa_http_request *request)
{
    for (size_t i = 0; i < request->header_count; i++)
        add_header(x, request->headers[i].name, request->headers[i].value);
    x->headers = curl_slist_append(x->headers, "Expect:");
    if (x->client->host)
        add_header(x, "Host", x->client->host);
    curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers);
}

static void set_timeouts(struct vpa_exchange *x, const struct vpa_http_request *request)
{
    if (request->rate_min > 0) {
        curl_easy_setopt(x->easy, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(x->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(x->easy, CURLOPT_XFERINFODATA, x);
    }
    if (request->timeout > 0)
        curl_easy_setopt(x->easy, CURLOPT_TIMEOUT_MS, milliseconds(request->timeout));
    if (request->idle_timeout > 0) {
        long s = (long)((request->idle_timeout + VPA_SECOND - 1) / VPA_SECOND);
        curl_easy_setopt(x->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(x->easy, CURLOPT_LOW_SPEED_TIME, s);
    }
}

static void set_url(struct vpa_exchange *x, const char *target)
{
    vpa_auto_free char *url = vpa_xprintf("%s%s", x->client->url, target);

    curl_easy_setopt(x->easy, CURLOPT_URL, url);
    curl_easy_setopt(x->easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(x->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(x->easy, CURLOPT_NOSIGNAL, 1L);
    /* Threads look names up: the end of a request, and the loop, would wait for a silent server. */
    curl_easy_setopt(x->easy, CURLOPT_QUICK_EXIT, 1L);
}

static void set_callbacks(struct vpa_exchange *x)
{
    curl_easy_setopt(x->easy, CURLOPT_PRIVATE, &x->transfer);
    curl_easy_setopt(x->easy, CURLOPT_ERRORBUFFER, x->error);
    curl_easy_setopt(x->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(x->easy, CURLOPT_WRITEDATA, x);
    curl_easy_setopt(x->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(x->easy, CURLOPT_HEADERDATA, x);
    curl_easy_setopt(x->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(x->easy, CURLOPT_PREREQFUNCTION, before_send);
    curl_easy_setopt(x->easy, CURLOPT_PREREQDATA, x);
}

static struct vpa_exchange *client_start(struct vpa_transport *transport,
                                         const struct vpa_http_request *request,
                                         const struct vpa_http_handler *handler)
{
    struct http_client *c = (struct http_client *)transport;
    struct vpa_exchange *x = vpa_xcalloc(1, sizeof(*x));

    assert(!c->freed);
    client_tls_refresh(&c->tls, vpa_monotonic_read());
    x->transfer.done = transfer_done;
    x->client = c;
    x->handler = *handler;
    client_head_init(&x->head);
    x->timeout = request->timeout;
    x->idle_timeout = request->idle_timeout;
    x->rate_min = request->rate_min;
    x->started = vpa_monotonic_read();
    x->starts = 1;
    x->harmless = request->repeatable || strcmp(request->method, "GET") == 0 ||
                  strcmp(request->method, "HEAD") == 0;
    vpa_buf_init(&x->pending, PENDING_MAX);
    vpa_buf_init(&x->body, handler->on_data        ? VPA_HTTP_ERROR_MAX
                           : request->response_max ? request->response_max
                                                   : VPA_HTTP_RESPONSE_MAX);
    x->easy = curl_easy_init();
    set_url(x, request->target);
    set_callbacks(x);
    if (!c->no_compression && !request->watch)
        curl_easy_setopt(x->easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    client_tls_set_up(&c->tls, x->easy, c->insecure, c->loop);
    set_connection(c, x->easy, request->watch);
    set_method(x, request);
    set_headers(x, request);
    set_timeouts(x, request);
    if (c->connect_to) {
        x->connect_to = curl_slist_append(NULL, c->connect_to);
        curl_easy_setopt(x->easy, CURLOPT_CONNECT_TO, x->connect_to);
    }
    LIST_INSERT_HEAD(&c->exchanges, x, link);
    curl_multi_add_handle(vpa_loop_multi(c->loop), x->easy);
    return x;
}

static void client_cancel(struct vpa_transport *transport, struct vpa_exchange *x)
{
    (void)transport;
    x->dead = true;
    if (x->in_callback)
        return; /* deliver() frees it */
    vpa_loop_unpost(x->client->loop, deliver, x);
    exchange_free(x);
}

static void client_free(struct vpa_transport *transport)
{
    struct http_client *c = (struct http_client *)transport;

    for (struct vpa_exchange *x = LIST_FIRST(&c->exchanges), *next; x; x = next) {
        next = LIST_NEXT(x, link);
        client_cancel(transport, x);
    }
    c->freed = true;
    if (LIST_EMPTY(&c->exchanges))
        client_release(c);
}

static const struct vpa_transport_ops client_ops = {client_start, client_cancel, client_free};

/*
 * Another name for SNI and verification than the host that is dialled: curl takes the name from the
 * URL, so the URL gets it, CONNECT_TO leads it back to the real host, and the Host header stays the
 * real one.
 */
static int use_server_name(struct http_client *c, const char *name, struct vpa_error *err)
{
    CURLU *url = curl_url();
    vpa_auto_free char *named = vpa_xprintf(strchr(name, ':') ? "[%s]" : "%s", name);
    char *host = NULL, *port = NULL, *text = NULL;
    int rc = -1;

    if (curl_url_set(url, CURLUPART_URL, c->url, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        curl_url_set(url, CURLUPART_HOST, named, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_URL, &text, CURLU_NO_DEFAULT_PORT) == CURLUE_OK) {
        size_t len = strlen(text);
        while (len > 0 && text[len - 1] == '/')
            text[--len] = '\0';
        c->connect_to = vpa_xprintf("%s:%s:%s:%s", named, port, host, port);
        c->host = vpa_xprintf("%s:%s", host, port);
        free(c->url);
        c->url = vpa_xstrdup(text);
        rc = 0;
    } else {
        vpa_auto_free char *shown = vpa_url_shown(c->url);

        vpa_fail(err, VPA_INVALID, "server name \"%s\" for %s", name, shown);
    }
    curl_free(host);
    curl_free(port);
    curl_free(text);
    curl_url_cleanup(url);
    return rc;
}

struct vpa_transport *vpa_http_client_new(struct vpa_loop *loop,
                                          const struct vpa_http_client_options *o,
                                          struct vpa_error *err)
{
    struct http_client *c = vpa_xcalloc(1, sizeof(*c));
    vpa_duration connect = o->connect_timeout > 0 ? o->connect_timeout : VPA_HTTP_CONNECT_TIMEOUT;
    const struct client_tls_sources sources = {.ca = {o->ca_data, o->ca_file},
                                               .cert = {o->cert_data, o->cert_file},
                                               .key = {o->key_data, o->key_file}};

    c->base.ops = &client_ops;
    c->loop = loop;
    c->connections = client_connections_new();
    c->url = vpa_xstrdup(o->base_url);
    c->proxy = client_proxy_to_use(o->proxy, o->base_url);
    c->insecure = o->insecure;
    c->no_http2 = o->no_http2;
    c->no_compression = o->no_compression;
    c->connect_timeout_ms = (long)(connect / VPA_MILLISECOND);
    c->frozen_after = o->frozen_after > 0 ? o->frozen_after : VPA_HTTP_FROZEN_AFTER;
    if (client_tls_load(&c->tls, &sources, vpa_monotonic_read(), err) < 0 ||
        (o->server_name && *o->server_name && use_server_name(c, o->server_name, err) < 0)) {
        client_free(&c->base);
        return NULL;
    }
    curl_multi_setopt(vpa_loop_multi(loop), CURLMOPT_MAXCONNECTS, (long)VPA_HTTP_CONNECTIONS_MAX);
    curl_multi_setopt(vpa_loop_multi(loop), CURLMOPT_MAX_HOST_CONNECTIONS,
                      (long)VPA_HTTP_CONNECTIONS_MAX);
    return &c->base;
}

void vpa_http_client_set_certificate(struct vpa_transport *transport, const char *cert_pem,
                                     const char *key_pem)
{
    struct http_client *c = (struct http_client *)transport;

    client_tls_set_certificate(&c->tls, cert_pem, key_pem);
}
