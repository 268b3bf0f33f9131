/*
 * A server in memory behind struct vpa_transport, for tests: a callback sees each request and
 * answers at once, after a (virtual) delay, with a failure, or with a stream that stays open and
 * gets watch events later. Deterministic: the callback runs inside start, answers arrive through
 * the loop in order. With a manual clock whole daemons run against it in virtual time.
 *
 *     static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
 *     {
 *         if (strcmp(q->path, "/api/v1/pods") == 0 && vpa_memory_query(q, "watch"))
 *             server->watch = vpa_memory_reply_stream(r, 200);
 *         else
 *             vpa_memory_reply_json(r, 200, "{\"items\":[]}");
 *     }
 *     struct vpa_transport *t = vpa_memory_transport_new(loop, serve, server);
 */
#ifndef TEST_MEMORY_TRANSPORT_H
#define TEST_MEMORY_TRANSPORT_H

#include <stddef.h>

#include "vpa/base/buf.h"
#include "vpa/net/loop.h"
#include "vpa/net/transport.h"

struct vpa_memory_request { /* borrowed for the call */
    const char *method;
    const char *path;   /* without query, percent-decoded */
    const char *query;  /* raw, without '?', "" when absent */
    const char *target; /* path?query as sent */
    const struct vpa_header *headers;
    size_t header_count;
    const char *body; /* NUL-terminated; "" when none */
    size_t body_len;
    bool watch;      /* the request was marked as long-lived */
    bool repeatable; /* and as one that may be sent again */
};
/* Decoded value of a query parameter, NULL when absent; valid for the call of the server callback.
 */
const char *vpa_memory_query(const struct vpa_memory_request *request, const char *name);
/* Header value, name compared without case, or NULL. */
const char *vpa_memory_header(const struct vpa_memory_request *request, const char *name);

struct vpa_memory_reply;  /* valid for the call */
struct vpa_memory_stream; /* an answer left open */

typedef void (*vpa_memory_serve_fn)(void *ctx, const struct vpa_memory_request *request,
                                    struct vpa_memory_reply *reply);

/* Without any of these the answer is a bare 404. The body is copied. */
void vpa_memory_reply_json(struct vpa_memory_reply *reply, int status, const char *json);
void vpa_memory_reply_bytes(struct vpa_memory_reply *reply, int status, const char *content_type,
                            const void *bytes, size_t len);
/* A metav1.Status of Failure with that code, reason and message; reason NULL: the usual one of the
 * code. */
void vpa_memory_reply_status(struct vpa_memory_reply *reply, int code, const char *reason,
                             const char *message);
void vpa_memory_reply_retry_after(struct vpa_memory_reply *reply, int seconds);
/* The whole answer arrives that much later. */
void vpa_memory_reply_delay(struct vpa_memory_reply *reply, vpa_duration delay);
/* The body is made when the delay is over, not when the request comes. */
void vpa_memory_reply_made(struct vpa_memory_reply *reply,
                           void (*make)(void *ctx, struct vpa_buf *body), void *ctx);
/* After what was given so far (nothing, or the bytes) the connection fails like this. */
void vpa_memory_reply_fail(struct vpa_memory_reply *reply, enum vpa_transport_failure failure);
/* Told when the client gave up (cancelled, timed out) before the answer had arrived. */
void vpa_memory_reply_on_abandoned(struct vpa_memory_reply *reply, void (*fn)(void *ctx),
                                   void *ctx);
/* The body is delivered in pieces of that size (default: at once). */
void vpa_memory_reply_chunk(struct vpa_memory_reply *reply, size_t size);

/* Leaves the answer open. The stream lives until it is ended or the client cancels; on_closed (may
 * be NULL) tells about the latter, the stream is gone then. */
struct vpa_memory_stream *vpa_memory_reply_stream(struct vpa_memory_reply *reply, int status,
                                                  void (*on_closed)(void *ctx), void *ctx);
void vpa_memory_stream_push(struct vpa_memory_stream *stream, const char *bytes, size_t len);
/* {"type":TYPE,"object":JSON}\n */
void vpa_memory_stream_event(struct vpa_memory_stream *stream, const char *type, const char *json);
/* VPA_TRANSPORT_OK ends it orderly. */
void vpa_memory_stream_end(struct vpa_memory_stream *stream, enum vpa_transport_failure failure);

struct vpa_transport *vpa_memory_transport_new(struct vpa_loop *loop, vpa_memory_serve_fn serve,
                                               void *ctx);
/* As if an answer had told that our clock is ahead of the server's by that; 0: as if none had told
 * its time. */
void vpa_memory_transport_set_ahead(struct vpa_transport *transport, vpa_duration ahead);
/* Requests whose answer is still to come, streams included. */
size_t vpa_memory_transport_open(const struct vpa_transport *transport);

#endif
