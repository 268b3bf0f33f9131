/*
 * One request: libmicrohttpd tells of its URI, then of its headers, then of its body piece by
 * piece, and takes an answer at any of these points but the first.
 *
 * What a body may hold is bounded twice: each by body_max, and all together by bodies_max beyond
 * the first 64 KiB of each. A refused body is still read, up to a few times the limit, since a peer
 * that is writing does not look for an answer.
 *
 * An answer lives until its reader has taken it, so what all answers hold is bounded as well, from
 * the moment that they are made: a worker may make some before libmicrohttpd asks for the first.
 *
 * Whoever sends much makes much work. A request with a body above 64 KiB is handed over to the
 * workers, its connection suspended, so that the thread goes on with its other connections;
 * libmicrohttpd asks again when it is resumed. Smaller ones are answered on the spot: handing over
 * costs more than most of them do.
 *
 * Over TLS libmicrohttpd writes the head of an answer and its body one after the other. Each piece
 * would wake the peer, and waking it costs more than most answers do. A small answer is two records
 * that leave together (server_push.h); for others the socket is corked until they are complete.
 */
#include "http_exchange.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/net/monotonic.h"

#define DRAIN_FACTOR 4
/* Bodies and answers up to here always have room: with all connections 32 MiB. */
#define SMALL ((size_t)64 << 10)
/* A body up to here is one record. */
#define RECORD ((size_t)16 << 10)

struct exchange {
    struct work work; /* first: the workers give it back */
    struct exchange_place *place;
    struct MHD_Connection *connection;
    int fd;                   /* of the connection */
    const char *method, *url; /* libmicrohttpd's, as long as the request */
    char *query;
    struct vpa_buf body;
    size_t received; /* bytes of the body, dropped ones included */
    size_t charged;  /* of place->large_bytes */
    bool begun, too_large;
    size_t room;   /* taken for the answer, beyond SMALL */
    bool answered; /* by a worker */
    bool corked;
    struct vpa_server_response response;
    int64_t received_ns;
};

const char *vpa_server_header(const struct vpa_server_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->headers_, MHD_HEADER_KIND, name);
}

struct telling {
    vpa_server_header_fn fn;
    void *ctx;
};

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    const struct telling *telling = cls;

    (void)kind;
    return telling->fn(telling->ctx, name, vpa_or_empty(value)) ? MHD_YES : MHD_NO;
}

void vpa_server_each_header(const struct vpa_server_request *request, vpa_server_header_fn fn,
                            void *ctx)
{
    struct telling telling = {fn, ctx};

    if (request->headers_)
        MHD_get_connection_values(request->headers_, MHD_HEADER_KIND, on_header, &telling);
}

char *vpa_server_client_chain(const struct vpa_server_request *request)
{
    return request->headers_ ? server_tls_client_chain(request->headers_) : NULL;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

    if (address->ss_family == AF_INET)
        return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    if (address->ss_family != AF_INET6)
        return false;
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        return v6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

bool vpa_server_is_local(const struct vpa_server_request *request)
{
    const union MHD_ConnectionInfo *info =
        request->headers_
            ? MHD_get_connection_info(request->headers_, MHD_CONNECTION_INFO_CONNECTION_FD)
            : NULL;
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);

    return info && getpeername(info->connect_fd, (struct sockaddr *)&address, &size) == 0 &&
           is_loopback(&address);
}

void vpa_server_reply_text(struct vpa_server_response *response, int status, const char *text)
{
    *response = (struct vpa_server_response){.status = status,
                                             .content_type = "text/plain; charset=utf-8",
                                             .body = vpa_xstrdup(text),
                                             .body_len = strlen(text)};
}

bool vpa_server_take_room(const struct vpa_server_request *request, size_t answer_len)
{
    return !request->take_room_ || request->take_room_(request->exchange_, answer_len);
}

void vpa_server_reply_no_room(struct vpa_server_response *response)
{
    vpa_server_reply_text(response, 503, "too many answers wait to be read\n");
}

static void turn(const struct exchange *x, enum connection_phase phase, size_t bytes)
{
    connections_turn(x->place->connections, x->fd, phase, bytes, vpa_monotonic_read());
}

static void set_cork(struct exchange *x, bool corked)
{
    int on = corked;

    if (setsockopt(x->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)) == 0)
        x->corked = corked;
}

/* Certain to be sent as a head and a body, each of one record. */
static bool is_two_records(const struct exchange *x, int status)
{
    bool has_body = strcmp(x->method, "POST") == 0 || strcmp(x->method, "GET") == 0;

    return has_body && status >= 200 && status != 204 && status != 304 &&
           x->response.body_len > 0 && x->response.body_len <= RECORD;
}

static void send_at_once(struct exchange *x, int status)
{
    if (is_two_records(x, status))
        server_tls_join(x->connection);
    else
        set_cork(x, true);
}

static enum MHD_Result send_response(struct exchange *x)
{
    struct vpa_server_response *response = &x->response;
    int status = response->status ? response->status : 500;
    struct MHD_Response *mhd = MHD_create_response_from_buffer(
        response->body_len, response->body ? response->body : (void *)(uintptr_t) "",
        response->body ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);

    if (!mhd)
        return MHD_NO;
    response->body = NULL; /* is in mhd's hands */
    if (response->content_type)
        MHD_add_response_header(mhd, "Content-Type", response->content_type);
    if (response->nosniff)
        MHD_add_response_header(mhd, "X-Content-Type-Options", "nosniff");
    if (response->gzip)
        MHD_add_response_header(mhd, "Content-Encoding", "gzip");
    if (x->too_large || atomic_load(&x->place->retired))
        MHD_add_response_header(mhd, "Connection", "close");
    turn(x, CONNECTION_ANSWER, response->body_len);
    if (x->place->tls)
        send_at_once(x, status);
    enum MHD_Result rc = MHD_queue_response(x->connection, (unsigned)status, mhd);
    MHD_destroy_response(mhd);
    return rc;
}

static void release_body(struct exchange *x)
{
    vpa_buf_release(&x->body);
    atomic_fetch_sub(x->place->large_bytes, x->charged);
    x->charged = 0;
}

static bool take_room(void *exchange, size_t answer_len)
{
    struct exchange *x = exchange;

    if (answer_len <= SMALL + x->room)
        return true;
    if (!connections_take_room(x->place->connections, x->fd, answer_len - SMALL,
                               vpa_monotonic_read()))
        return false;
    x->room = answer_len - SMALL;
    return true;
}

/* The answer is another one where there is no room for it. */
static void hold_answer(struct exchange *x)
{
    struct vpa_server_response *response = &x->response;

    if (take_room(x, response->body_len))
        return;
    free(response->body);
    vpa_server_reply_no_room(response);
}

static void handle(struct exchange *x)
{
    const struct exchange_place *place = x->place;
    const struct vpa_server_request request = {
        .method = x->method,
        .path = x->url,
        .query = x->query,
        .body = x->too_large ? "" : vpa_buf_text(&x->body),
        .body_len = x->too_large ? 0 : x->body.len,
        .body_too_large = x->too_large,
        .received_ns = x->received_ns,
        .headers_ = x->connection,
        .take_room_ = take_room,
        .exchange_ = x,
    };

    place->handler(place->ctx, &request, &x->response);
    release_body(x); /* the peer may take its time with the answer */
    hold_answer(x);
}

/* On a worker. Behind the resumption the exchange is libmicrohttpd's, and may have ended; its place
 * stays until nothing is handed over. */
static void on_work(struct work *work, bool cancelled)
{
    struct exchange *x = (struct exchange *)work;
    struct exchange_place *place = x->place;

    if (cancelled)
        vpa_server_reply_text(&x->response, 503, "stopping\n");
    else
        handle(x);
    x->answered = true;
    MHD_resume_connection(x->connection);
    atomic_fetch_sub(&place->handed_over, 1);
}

static enum MHD_Result hand_over(struct exchange *x)
{
    x->work.run = on_work;
    atomic_fetch_add(&x->place->handed_over, 1);
    MHD_suspend_connection(x->connection);
    workers_give(x->place->workers, &x->work);
    return MHD_YES;
}

static enum MHD_Result answer(struct exchange *x)
{
    const struct exchange_place *place = x->place;

    turn(x, CONNECTION_WORK, 0);
    if (place->tls && !server_tls_client_allowed(place->tls, x->connection))
        vpa_server_reply_text(&x->response, 401, "client certificate required\n");
    else if (place->workers && x->body.len > SMALL)
        return hand_over(x);
    else
        handle(x);
    return send_response(x);
}

/* Whether all bodies together may grow by what this one has grown. */
static bool charge(struct exchange *x)
{
    size_t large = x->received > SMALL ? x->received - SMALL : 0;
    size_t more = large - x->charged;

    x->charged = large;
    return atomic_fetch_add(x->place->large_bytes, more) + more <= x->place->bodies_max;
}

static enum MHD_Result take_body(struct exchange *x, const char *bytes, size_t *size)
{
    size_t limit = x->place->body_max;

    x->received += *size;
    connections_count(x->place->connections, x->fd, *size);
    if (!x->too_large && x->received <= limit && charge(x)) {
        vpa_buf_append(&x->body, bytes, *size);
    } else {
        x->too_large = true;
        release_body(x);
    }
    *size = 0;
    return x->received / DRAIN_FACTOR > limit ? MHD_NO : MHD_YES;
}

static enum MHD_Result begin_body(struct exchange *x)
{
    const char *length =
        MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "Content-Length");
    size_t limit = x->place->body_max;
    uint64_t announced = 0;

    x->begun = true;
    x->received_ns = vpa_monotonic_read();
    atomic_fetch_add(&x->place->requests, 1);
    turn(x, CONNECTION_BODY, 0);
    if (length && vpa_parse_uint64(length, &announced, NULL) < 0)
        announced = UINT64_MAX;
    if (announced / DRAIN_FACTOR > limit) { /* not worth reading: answered at once */
        x->too_large = true;
        return answer(x);
    }
    if (announced > 0 && announced <= limit) /* room that is charged comes with the bytes */
        vpa_buf_reserve(&x->body, announced < SMALL ? (size_t)announced : SMALL);
    return MHD_YES;
}

enum MHD_Result exchange_go_on(void *cls, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_size, void **con_cls)
{
    struct exchange *x = *con_cls;

    (void)cls;
    (void)connection;
    (void)version;
    x->url = url;
    x->method = method;
    if (!x->begun)
        return begin_body(x);
    if (x->answered)
        return send_response(x);
    if (*upload_size > 0)
        return take_body(x, upload, upload_size);
    return answer(x);
}

int exchange_socket(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

void *exchange_begin(void *place, const char *uri, struct MHD_Connection *connection)
{
    struct exchange *x = vpa_xcalloc(1, sizeof(*x));
    const char *mark = strchr(uri, '?');

    x->place = place;
    x->connection = connection;
    x->fd = exchange_socket(connection);
    turn(x, CONNECTION_HEAD, 0);
    x->query = vpa_xstrdup(mark ? mark + 1 : "");
    vpa_buf_init(&x->body, x->place->body_max);
    return x;
}

void exchange_end(void *cls, struct MHD_Connection *connection, void **con_cls,
                  enum MHD_RequestTerminationCode code)
{
    struct exchange *x = *con_cls;

    (void)cls;
    (void)connection;
    (void)code;
    if (!x)
        return;
    if (x->corked)
        set_cork(x, false);
    turn(x, CONNECTION_IDLE, 0);
    if (x->begun)
        atomic_fetch_sub(&x->place->requests, 1);
    free(x->query);
    free(x->response.body);
    release_body(x);
    free(x);
    *con_cls = NULL;
}
