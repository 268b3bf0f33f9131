/*
 * HTTP exchanges behind a small interface, so that everything above runs the same over the network
 * (http_client.h) and in tests against an API server in memory.
 *
 *     struct vpa_http_handler handler = {.ctx = me, .on_done = on_done};
 *     struct vpa_exchange *x = vpa_transport_start(transport, &request, &handler);
 *     vpa_transport_cancel(transport, x);   // before on_done; no callback comes afterwards
 *
 * Callbacks run on the loop, never inside start. on_done comes exactly once unless cancelled; the
 * exchange is gone when it returns. A callback may free the transport: nothing else of it is called
 * back, and it goes when the callback has returned.
 */
#ifndef VPA_NET_TRANSPORT_H
#define VPA_NET_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/error.h"
#include "vpa/base/time.h"

/* Longest answer kept when the handler takes no data itself. */
#define VPA_HTTP_RESPONSE_MAX ((size_t)64 << 20)
/* Longest answer that is not a success, where the handler takes the data of successes itself. */
#define VPA_HTTP_ERROR_MAX ((size_t)1 << 20)

struct vpa_header {
    const char *name;
    const char *value;
};

/* Everything is copied by start. */
struct vpa_http_request {
    const char *method; /* "GET" */
    const char *target; /* path and query, escaped: "/api/v1/pods?limit=500" */
    const struct vpa_header *headers;
    size_t header_count;
    const char *body; /* NULL: none */
    size_t body_len;
    size_t response_max;       /* of a collected body, decoded; 0: VPA_HTTP_RESPONSE_MAX */
    vpa_duration timeout;      /* of the whole exchange, 0: none */
    vpa_duration idle_timeout; /* no byte for that long means a dead peer, 0: none */
    /* With idle_timeout: bytes of body per second on average, once that time has passed; an answer
     * that comes in drips is as good as none. 0: none */
    size_t rate_min;
    bool watch; /* long-lived: HTTP/1.1 on a connection of its own */
    /* May be sent again after a connection was lost, though the server may have carried it out: it
     * says what it rests on, or does the same however often. Reads always may. */
    bool repeatable;
};

/* Why there is no (complete) answer. */
enum vpa_transport_failure {
    VPA_TRANSPORT_OK,
    VPA_TRANSPORT_REFUSED, /* nobody listens */
    VPA_TRANSPORT_RESET,   /* connection reset, HTTP/2 connection lost */
    VPA_TRANSPORT_EOF,     /* the answer ended too early */
    VPA_TRANSPORT_TIMEOUT, /* none in time, or in drips */
    VPA_TRANSPORT_TLS,     /* handshake or certificate */
    VPA_TRANSPORT_LIMIT,   /* longer than response_max */
    VPA_TRANSPORT_STOPPED, /* on_data returned -1 */
    VPA_TRANSPORT_UNSENT,  /* may_send refused: nothing of the request went out */
    VPA_TRANSPORT_OTHER,   /* name resolution and the rest */
};

struct vpa_http_result {
    int status; /* 0 when no status line came */
    enum vpa_transport_failure failure;
    const char *error;        /* text of the failure, "" without */
    const char *content_type; /* "" when absent */
    const char *warning;      /* first Warning header, "" when absent */
    int retry_after;          /* Retry-After in whole seconds, -1 when absent or not a number */
    const char *body;         /* NUL-terminated behind body_len; empty when on_data took it */
    size_t body_len;
};

struct vpa_http_handler {
    void *ctx;
    /* Asked on a connection that is ready, right before the bytes go out, and again when a request
     * goes out a second time; false ends the exchange with VPA_TRANSPORT_UNSENT. NULL: always. It
     * runs inside the transport: it only looks, and starts, cancels and waits for nothing. */
    bool (*may_send)(void *ctx);
    /* The status line and headers are there (the last ones, after redirects); may be NULL. */
    void (*on_head)(void *ctx, int status);
    /* A piece of the body of a 2xx answer; -1 ends the exchange with VPA_TRANSPORT_STOPPED. NULL:
     * the body is collected. Bodies of other answers are always collected. It may turn the loop:
     * what comes meanwhile is given when it has returned. */
    int (*on_data)(void *ctx, const char *bytes, size_t len);
    void (*on_done)(void *ctx, const struct vpa_http_result *result);
};

struct vpa_exchange; /* one request under way; private to the transport */

struct vpa_transport;
struct vpa_transport_ops {
    struct vpa_exchange *(*start)(struct vpa_transport *transport,
                                  const struct vpa_http_request *request,
                                  const struct vpa_http_handler *handler);
    void (*cancel)(struct vpa_transport *transport, struct vpa_exchange *exchange);
    void (*free)(struct vpa_transport *transport);
};
struct vpa_reach { /* whether the server answers; kept by all clients of a transport together */
    uint64_t answers;
    bool away;
    uint64_t failures; /* since it is away */
    int64_t since;
};
struct vpa_transport { /* first member of an implementation */
    const struct vpa_transport_ops *ops;
    struct vpa_reach reach;
    bool dated;          /* answers of the peer say what time it is there: */
    int64_t peer_offset; /* Unix time in nanoseconds less our monotonic time */
    int64_t peer_at;     /* monotonic: when that was told */
};

static inline struct vpa_exchange *vpa_transport_start(struct vpa_transport *transport,
                                                       const struct vpa_http_request *request,
                                                       const struct vpa_http_handler *handler)
{
    return transport->ops->start(transport, request, handler);
}
static inline void vpa_transport_cancel(struct vpa_transport *transport,
                                        struct vpa_exchange *exchange)
{
    transport->ops->cancel(transport, exchange);
}
/* Cancels what is under way. NULL is allowed. */
static inline void vpa_transport_free(struct vpa_transport *transport)
{
    if (transport)
        transport->ops->free(transport);
}

/* "connection refused", "timeout", ... for messages and tests. */
const char *vpa_transport_failure_name(enum vpa_transport_failure failure);

#endif
