/*
 * The server callback runs inside start, so requests are seen in the order they are made. What it
 * answers is kept as a script of deliveries (head, pieces, end) that the loop plays: at once
 * through posted calls, or after the delay through a timer. Streams append to the same script
 * later.
 */
#include "memory_transport.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/json/json_writer.h"

#define STREAM_MAX ((size_t)256 << 20)
#define QUERY_VALUES 16
#define QUERY_VALUE_MAX 4096

struct memory_transport {
    struct vpa_transport base;
    struct vpa_loop *loop;
    vpa_memory_serve_fn serve;
    void *ctx;
    struct vpa_exchange *exchanges;
    size_t open;
    bool freed; /* by a callback of an exchange, the last of which takes it along */
};

struct vpa_memory_stream {
    struct vpa_exchange *exchange;
    void (*on_closed)(void *ctx);
    void *ctx;
};

struct vpa_exchange {
    struct memory_transport *transport;
    struct vpa_exchange *next, **link;
    struct vpa_http_handler handler;
    struct vpa_timer *delay;   /* until the answer may go out */
    struct vpa_timer *timeout; /* of the whole exchange */
    struct vpa_timer *idle;    /* between bytes */
    struct vpa_timer *slow;    /* for the bytes so far */
    vpa_duration idle_timeout;
    size_t rate_min;
    int64_t started;
    bool held; /* the delay has not passed */
    bool posted, in_callback, dead;
    bool head_given;
    bool ended; /* the server has said all */
    bool done;  /* on_done is due, whatever is undelivered */
    int status;
    int retry_after;
    char *content_type;
    enum vpa_transport_failure failure;
    struct vpa_buf out;  /* sent by the server, not delivered */
    struct vpa_buf body; /* collected for on_done */
    size_t chunk;
    size_t bytes_in;
    struct vpa_memory_stream *stream;
    void (*on_abandoned)(void *ctx);
    void *abandoned_ctx;
    void (*make)(void *ctx, struct vpa_buf *body); /* the body, once the delay is over */
    void *make_ctx;
};

struct vpa_memory_reply {
    struct vpa_exchange *exchange;
    vpa_duration delay;
};

static void exchange_free(struct vpa_exchange *x)
{
    struct memory_transport *t = x->transport;

    *x->link = x->next;
    if (x->next)
        x->next->link = x->link;
    t->open--;
    vpa_timer_free(x->delay);
    vpa_timer_free(x->timeout);
    vpa_timer_free(x->idle);
    vpa_timer_free(x->slow);
    vpa_buf_release(&x->out);
    vpa_buf_release(&x->body);
    free(x->content_type);
    free(x);
    if (t->freed && !t->exchanges)
        free(t);
}

/* The client is gone: the server hears of it, its handle is no longer valid. */
static void close_stream(struct vpa_exchange *x, bool tell)
{
    struct vpa_memory_stream *stream = x->stream;

    if (!stream)
        return;
    x->stream = NULL;
    if (tell && stream->on_closed)
        stream->on_closed(stream->ctx);
    free(stream);
}

static void abandon(struct vpa_exchange *x)
{
    void (*fn)(void *ctx) = x->on_abandoned;

    x->on_abandoned = NULL;
    if (fn)
        fn(x->abandoned_ctx);
}

static void give_done(struct vpa_exchange *x)
{
    struct vpa_http_result result = {
        .status = x->status,
        .failure = x->failure,
        .error = x->failure ? vpa_transport_failure_name(x->failure) : "",
        .content_type = x->content_type ? x->content_type : "",
        .warning = "",
        .retry_after = x->retry_after,
        .body = vpa_buf_text(&x->body),
        .body_len = x->body.len,
    };

    close_stream(x, x->failure == VPA_TRANSPORT_TIMEOUT || x->failure == VPA_TRANSPORT_STOPPED ||
                        x->failure == VPA_TRANSPORT_LIMIT);
    x->handler.on_done(x->handler.ctx, &result);
}

static void fail_exchange(struct vpa_exchange *x, enum vpa_transport_failure failure)
{
    x->failure = failure;
    x->done = true;
}

static void give_piece(struct vpa_exchange *x)
{
    size_t len = x->chunk && x->chunk < x->out.len ? x->chunk : x->out.len;
    bool stream = x->handler.on_data && x->status >= 200 && x->status < 300;

    x->bytes_in += len;
    if (stream) {
        vpa_auto_free char *piece = vpa_xmalloc(len);
        memcpy(piece, x->out.data, len);
        vpa_buf_consume(&x->out, len);
        if (x->handler.on_data(x->handler.ctx, piece, len) < 0)
            fail_exchange(x, VPA_TRANSPORT_STOPPED);
        return;
    }
    vpa_buf_append(&x->body, x->out.data, len);
    vpa_buf_consume(&x->out, len);
    if (vpa_buf_failed(&x->body))
        fail_exchange(x, VPA_TRANSPORT_LIMIT);
}

static void start_idle(struct vpa_exchange *x)
{
    if (x->idle_timeout <= 0)
        return;
    vpa_timer_start(x->idle, x->idle_timeout);
    if (x->rate_min > 0)
        vpa_timer_start_at(x->slow, x->started + x->idle_timeout +
                                        (vpa_duration)(x->bytes_in / x->rate_min) * VPA_SECOND);
}

static void deliver(void *ctx)
{
    struct vpa_exchange *x = ctx;

    x->posted = false;
    if (x->in_callback ||
        (x->held && !x->done)) /* as in http_client.c: its reader turns the loop */
        return;
    x->in_callback = true;
    if (!x->done && !x->head_given && x->status) {
        x->head_given = true;
        if (x->handler.on_head)
            x->handler.on_head(x->handler.ctx, x->status);
    }
    while (!x->dead && !x->done && x->out.len > 0)
        give_piece(x);
    if (!x->dead && !x->done && x->ended)
        x->done = true;
    if (!x->dead && x->done) {
        give_done(x);
        x->dead = true;
    }
    x->in_callback = false;
    if (x->dead) {
        vpa_loop_unpost(x->transport->loop, deliver, x);
        exchange_free(x);
    } else {
        start_idle(x);
    }
}

static void post_delivery(struct vpa_exchange *x)
{
    if (x->posted)
        return;
    x->posted = true;
    vpa_loop_post(x->transport->loop, deliver, x);
}

static void release(struct vpa_exchange *x)
{
    x->held = false;
    if (x->make)
        x->make(x->make_ctx, &x->out);
    post_delivery(x);
}

static void on_delay(void *ctx)
{
    release(ctx);
}

static void on_timeout(void *ctx)
{
    struct vpa_exchange *x = ctx;

    if (!x->done) {
        fail_exchange(x, VPA_TRANSPORT_TIMEOUT);
        abandon(x);
    }
    if (!x->head_given)
        x->status = 0;
    post_delivery(x);
}

static void decode_percent(struct vpa_buf *out, const char *text, size_t len, bool plus)
{
    for (size_t i = 0; i < len; i++) {
        unsigned value;
        char digits[3] = {0};

        if (text[i] == '%' && len - i > 2) {
            memcpy(digits, text + i + 1, 2);
            char *end;
            value = (unsigned)strtoul(digits, &end, 16);
            if (*end == '\0') {
                vpa_buf_putc(out, (char)value);
                i += 2;
                continue;
            }
        }
        vpa_buf_putc(out, plus && text[i] == '+' ? ' ' : text[i]);
    }
}

static struct vpa_exchange *exchange_new(struct memory_transport *t,
                                         const struct vpa_http_request *request,
                                         const struct vpa_http_handler *handler)
{
    struct vpa_exchange *x = vpa_xcalloc(1, sizeof(*x));

    x->transport = t;
    x->handler = *handler;
    x->retry_after = -1;
    x->idle_timeout = request->idle_timeout;
    x->rate_min = request->rate_min;
    x->started = vpa_loop_monotonic(t->loop);
    vpa_buf_init(&x->out, STREAM_MAX);
    vpa_buf_init(&x->body, handler->on_data        ? VPA_HTTP_ERROR_MAX
                           : request->response_max ? request->response_max
                                                   : VPA_HTTP_RESPONSE_MAX);
    x->delay = vpa_timer_new(t->loop, on_delay, x);
    x->timeout = vpa_timer_new(t->loop, on_timeout, x);
    x->idle = vpa_timer_new(t->loop, on_timeout, x);
    x->slow = vpa_timer_new(t->loop, on_timeout, x);
    x->next = t->exchanges;
    x->link = &t->exchanges;
    if (x->next)
        x->next->link = &x->next;
    t->exchanges = x;
    t->open++;
    return x;
}

static void ask_server(struct memory_transport *t, const struct vpa_http_request *request,
                       struct vpa_memory_reply *reply)
{
    const char *mark = strchr(request->target, '?');
    size_t path_len = mark ? (size_t)(mark - request->target) : strlen(request->target);
    vpa_auto_free char *body = vpa_xmalloc(request->body_len + 1);
    vpa_auto_buf path = VPA_BUF(64 << 10);

    if (request->body)
        memcpy(body, request->body, request->body_len);
    body[request->body ? request->body_len : 0] = '\0';
    decode_percent(&path, request->target, path_len, false);
    const struct vpa_memory_request seen = {
        .method = request->method,
        .path = vpa_buf_text(&path),
        .query = mark ? mark + 1 : "",
        .target = request->target,
        .headers = request->headers,
        .header_count = request->header_count,
        .body = body,
        .body_len = request->body ? request->body_len : 0,
        .watch = request->watch,
        .repeatable = request->repeatable,
    };
    t->serve(t->ctx, &seen, reply);
}

static struct vpa_exchange *memory_start(struct vpa_transport *transport,
                                         const struct vpa_http_request *request,
                                         const struct vpa_http_handler *handler)
{
    struct memory_transport *t = (struct memory_transport *)transport;
    struct vpa_exchange *x = exchange_new(t, request, handler);
    struct vpa_memory_reply reply = {.exchange = x};

    if (handler->may_send && !handler->may_send(handler->ctx))
        fail_exchange(x, VPA_TRANSPORT_UNSENT);
    else
        ask_server(t, request, &reply);
    if (!x->status && !x->failure && !x->stream)
        x->status = 404;
    if (!x->stream)
        x->ended = true;
    /* The limit first: of a limit and an answer at the same instant, the limit wins as in
     * client-go. */
    if (request->timeout > 0)
        vpa_timer_start(x->timeout, request->timeout);
    start_idle(x);
    if (reply.delay > 0) {
        x->held = true;
        vpa_timer_start(x->delay, reply.delay);
    } else {
        release(x);
    }
    return x;
}

static void memory_cancel(struct vpa_transport *transport, struct vpa_exchange *x)
{
    (void)transport;
    close_stream(x, true);
    x->dead = true;
    if (x->in_callback)
        return;
    abandon(x);
    vpa_loop_unpost(x->transport->loop, deliver, x);
    exchange_free(x);
}

static void memory_free(struct vpa_transport *transport)
{
    struct memory_transport *t = (struct memory_transport *)transport;

    for (struct vpa_exchange *x = t->exchanges, *next; x; x = next) {
        next = x->next;
        memory_cancel(transport, x);
    }
    t->freed = true;
    if (!t->exchanges)
        free(t);
}

static const struct vpa_transport_ops memory_ops = {memory_start, memory_cancel, memory_free};

struct vpa_transport *vpa_memory_transport_new(struct vpa_loop *loop, vpa_memory_serve_fn serve,
                                               void *ctx)
{
    struct memory_transport *t = vpa_xcalloc(1, sizeof(*t));

    t->base.ops = &memory_ops;
    t->loop = loop;
    t->serve = serve;
    t->ctx = ctx;
    return &t->base;
}

void vpa_memory_transport_set_ahead(struct vpa_transport *transport, vpa_duration ahead)
{
    const struct vpa_loop *loop = ((const struct memory_transport *)transport)->loop;

    transport->dated = ahead != 0;
    transport->peer_offset =
        vpa_time_unix_nanos(vpa_loop_now(loop)) - ahead - vpa_loop_monotonic(loop);
}

size_t vpa_memory_transport_open(const struct vpa_transport *transport)
{
    return ((const struct memory_transport *)transport)->open;
}

/* What the server asks about the request */

const char *vpa_memory_query(const struct vpa_memory_request *request, const char *name)
{
    static _Thread_local char values[QUERY_VALUES][QUERY_VALUE_MAX];
    static _Thread_local unsigned next;
    const char *p = request->query;

    while (p && *p) {
        size_t len = strcspn(p, "&");
        size_t key = strcspn(p, "=&");
        vpa_auto_buf buf = VPA_BUF(QUERY_VALUE_MAX - 1);

        decode_percent(&buf, p, key, true);
        if (strcmp(vpa_buf_text(&buf), name) == 0) {
            char *slot = values[next++ % QUERY_VALUES];
            vpa_buf_clear(&buf);
            if (key < len)
                decode_percent(&buf, p + key + 1, len - key - 1, true);
            memcpy(slot, vpa_buf_text(&buf), strlen(vpa_buf_text(&buf)) + 1);
            return slot;
        }
        p += len;
        if (*p == '&')
            p++;
    }
    return NULL;
}

const char *vpa_memory_header(const struct vpa_memory_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    return NULL;
}

/* What it answers */

void vpa_memory_reply_bytes(struct vpa_memory_reply *reply, int status, const char *content_type,
                            const void *bytes, size_t len)
{
    struct vpa_exchange *x = reply->exchange;

    x->status = status;
    free(x->content_type);
    x->content_type = content_type ? vpa_xstrdup(content_type) : NULL;
    vpa_buf_clear(&x->out);
    vpa_buf_append(&x->out, bytes, len);
}

void vpa_memory_reply_json(struct vpa_memory_reply *reply, int status, const char *json)
{
    vpa_memory_reply_bytes(reply, status, "application/json", json, strlen(json));
}

static const char *usual_reason(int code)
{
    switch (code) {
    case 400:
        return "BadRequest";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "NotFound";
    case 405:
        return "MethodNotAllowed";
    case 409:
        return "Conflict";
    case 410:
        return "Expired";
    case 422:
        return "Invalid";
    case 429:
        return "TooManyRequests";
    case 500:
        return "InternalError";
    case 503:
        return "ServiceUnavailable";
    case 504:
        return "Timeout";
    default:
        return "";
    }
}

void vpa_memory_reply_status(struct vpa_memory_reply *reply, int code, const char *reason,
                             const char *message)
{
    vpa_auto_buf buf = VPA_BUF(64 << 10);
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "Status");
    vpa_json_member_string(&w, "apiVersion", "v1");
    vpa_json_member_object(&w, "metadata");
    vpa_json_close_object(&w);
    vpa_json_member_string(&w, "status", "Failure");
    vpa_json_member_string(&w, "message", message);
    vpa_json_member_string_opt(&w, "reason", reason ? reason : usual_reason(code));
    vpa_json_member_int(&w, "code", code);
    vpa_json_close_object(&w);
    vpa_memory_reply_json(reply, code, vpa_buf_text(&buf));
}

void vpa_memory_reply_retry_after(struct vpa_memory_reply *reply, int seconds)
{
    reply->exchange->retry_after = seconds;
}

void vpa_memory_reply_delay(struct vpa_memory_reply *reply, vpa_duration delay)
{
    reply->delay = delay;
}

void vpa_memory_reply_made(struct vpa_memory_reply *reply,
                           void (*make)(void *ctx, struct vpa_buf *body), void *ctx)
{
    reply->exchange->make = make;
    reply->exchange->make_ctx = ctx;
}

void vpa_memory_reply_fail(struct vpa_memory_reply *reply, enum vpa_transport_failure failure)
{
    reply->exchange->failure = failure;
}

void vpa_memory_reply_on_abandoned(struct vpa_memory_reply *reply, void (*fn)(void *ctx), void *ctx)
{
    reply->exchange->on_abandoned = fn;
    reply->exchange->abandoned_ctx = ctx;
}

void vpa_memory_reply_chunk(struct vpa_memory_reply *reply, size_t size)
{
    reply->exchange->chunk = size;
}

struct vpa_memory_stream *vpa_memory_reply_stream(struct vpa_memory_reply *reply, int status,
                                                  void (*on_closed)(void *ctx), void *ctx)
{
    struct vpa_exchange *x = reply->exchange;
    struct vpa_memory_stream *stream = vpa_xcalloc(1, sizeof(*stream));

    assert(!x->stream);
    *stream = (struct vpa_memory_stream){x, on_closed, ctx};
    x->status = status;
    x->stream = stream;
    return stream;
}

void vpa_memory_stream_push(struct vpa_memory_stream *stream, const char *bytes, size_t len)
{
    vpa_buf_append(&stream->exchange->out, bytes, len);
    post_delivery(stream->exchange);
}

void vpa_memory_stream_event(struct vpa_memory_stream *stream, const char *type, const char *json)
{
    vpa_auto_free char *frame = vpa_xprintf("{\"type\":\"%s\",\"object\":%s}\n", type, json);

    vpa_memory_stream_push(stream, frame, strlen(frame));
}

void vpa_memory_stream_end(struct vpa_memory_stream *stream, enum vpa_transport_failure failure)
{
    struct vpa_exchange *x = stream->exchange;

    x->failure = failure;
    x->ended = true;
    x->stream = NULL;
    free(stream);
    post_delivery(x);
}
