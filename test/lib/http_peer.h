/*
 * The server's end of one connection, for servers of tests and benchmarks: TLS, and within it
 * HTTP/2 or HTTP/1.1 as ALPN has it. Whole requests come to a function; what it answers, when, and
 * how badly, is the server's own business, and so are sockets, threads and waiting.
 *
 *     SSL_CTX *tls = http_peer_tls_new(&pair);
 *     struct http_peer *peer = http_peer_new(tls, fd, true, &calls, ctx);
 *     while (wait_for_input(fd, http_peer_has_more(peer)) && http_peer_read(peer) &&
 *            http_peer_send(peer))
 *         ;
 *     http_peer_free(peer);
 *
 * A client is trusted: requests have no size limit but memory.
 */
#ifndef TEST_HTTP_PEER_H
#define TEST_HTTP_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/net/tls.h"

struct ssl_ctx_st;
struct http_peer;

/* What all connections of a server share; freed with SSL_CTX_free. */
struct ssl_ctx_st *http_peer_tls_new(const struct vpa_tls_pair *pair);

struct http_peer_request { /* valid during the call */
    int32_t stream;        /* HTTP/1.1: counted from 1 */
    const char *method;
    const char *target; /* with its query */
    const char *body;   /* a string; "" without */
    size_t body_len;
    bool accepts_gzip;
};

struct http_peer_calls {
    void (*on_request)(void *ctx, struct http_peer *peer, const struct http_peer_request *request);
    /* A stream of HTTP/2 is over, answered or not. May be NULL. */
    void (*on_close)(void *ctx, struct http_peer *peer, int32_t stream);
};

/* Takes the socket, which must not block. The handshake is part of reading. calls is borrowed.
 * Without http2 it offers HTTP/1.1 alone. */
struct http_peer *http_peer_new(struct ssl_ctx_st *tls, int fd, bool http2,
                                const struct http_peer_calls *calls, void *ctx);
/* Says good-bye in TLS. */
void http_peer_end(struct http_peer *peer);
/* Closes the socket. */
void http_peer_free(struct http_peer *peer);

/* Reads all that is there and calls on_request; false: the connection is over. */
bool http_peer_read(struct http_peer *peer);
/* Sends what was said; false: the connection is over. */
bool http_peer_send(struct http_peer *peer);
/* The socket took not all of it: send again when there is room. */
bool http_peer_has_more(const struct http_peer *peer);
bool http_peer_speaks_http2(const struct http_peer *peer);
/* Bytes that came over the socket, TLS included. */
uint64_t http_peer_received(const struct http_peer *peer);

struct http_peer_answer {
    int status;
    const char *body; /* borrowed until the stream is closed, unless owned */
    size_t len;
    bool owned; /* body is heap, freed here */
    bool gzip;  /* body is compressed */
    bool open;  /* more comes with http_peer_append, without end */
};
void http_peer_answer(struct http_peer *peer, int32_t stream,
                      const struct http_peer_answer *answer);
/* More of an open answer; nothing when the stream is gone. */
void http_peer_append(struct http_peer *peer, int32_t stream, const char *text, size_t len);

/* Of HTTP/2: RST_STREAM with a code of RFC 9113, section 7; GOAWAY with the last stream that is
 * answered, after whose end the connection is over. */
#define HTTP_PEER_INTERNAL_ERROR 2u
#define HTTP_PEER_REFUSED_STREAM 7u
void http_peer_reset(struct http_peer *peer, int32_t stream, uint32_t code);
void http_peer_go_away(struct http_peer *peer, int32_t last_stream);

#endif
