/*
 * Small HTTP(S) server on libmicrohttpd, on the loop or on threads of its own: /metrics, probes,
 * the admission webhook.
 *
 *     struct vpa_http_server_options options = {
 *         .address = ":8942", .handler = on_request, .ctx = me};
 *     struct vpa_http_server *s = vpa_http_server_new(loop, &options, &err);
 *
 * TLS is for servers with threads: a handshake costs milliseconds that the loop has not, and a
 * client that stalls in one would keep libmicrohttpd's epoll, which the loop uses, turning.
 *
 * Anybody may connect. A server holds at most connections_max connections, and when there is no
 * room those that are half-open or idle make way, so that a client with a request is answered (the
 * order: src/net/connections.c). Peers that dawdle are dropped: a handshake, a head, a connection
 * kept idle have a time each; a body or an answer has transfer_timeout and a second for every
 * VPA_SERVER_RATE_MIN bytes. An answer above 64 KiB has less where others need its room: it is
 * given up after a second, or at once where its address holds most of all. Who finds no room still
 * is answered 503.
 *
 * Certificates: a pair belongs to a server generation. vpa_http_server_reload() checks a new pair
 * and starts a new generation for new connections; the old one answers what is on its connections
 * with "Connection: close" and is stopped when they are gone. A bad pair changes nothing.
 */
#ifndef VPA_NET_HTTP_SERVER_H
#define VPA_NET_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/error.h"
#include "vpa/net/loop.h"
#include "vpa/net/http_exchange.h"
#include "vpa/net/server_tls.h"

#define VPA_SERVER_BODY_MAX ((size_t)5 << 20) /* 5 MiB, as upstream's webhook */
/* What all bodies that are being read may hold beyond their first 64 KiB each: six of the largest.
 */
#define VPA_SERVER_BODIES_MAX ((size_t)32 << 20)
/* What all answers that wait for their readers may hold beyond their first 64 KiB each; for a
 * moment twice as much, while those that made way are closed. */
#define VPA_SERVER_ANSWERS_MAX ((size_t)16 << 20)
#define VPA_SERVER_CONNECTIONS_MAX 512
#define VPA_SERVER_HANDSHAKE_TIMEOUT (10 * VPA_SECOND)
#define VPA_SERVER_HEAD_TIMEOUT (30 * VPA_SECOND)  /* of the first one from the connection on */
#define VPA_SERVER_IDLE_TIMEOUT (120 * VPA_SECOND) /* an API server itself waits for 90 s */
#define VPA_SERVER_TRANSFER_TIMEOUT (10 * VPA_SECOND)
#define VPA_SERVER_RATE_MIN (256 << 10) /* bytes per second; 5 MiB take 30 s at most */

struct vpa_http_server_options {
    /* ":port" (all interfaces, IPv6 and IPv4), "[::1]:0", "host:port" (its first IPv4 address, or
     * an IPv6 one where it has no other) */
    const char *address;
    vpa_server_fn handler;
    void *ctx;
    unsigned threads; /* 0: on the loop; else own threads, each with its connections */
    /* Threads of their own for requests with bodies above 64 KiB, so that those keep no other
     * request waiting; 0: none. Needs threads > 0. */
    unsigned workers;
    const struct vpa_server_tls *tls; /* NULL: plain HTTP; needs threads > 0 */
    /* Told about each TLS handshake that did not come to its end, on one of the server's threads:
     * the alert that the peer sent ("unknown_ca", "bad_certificate", "certificate_expired", ...),
     * "ended" without one. One of vpa_server_handshake_failure(). NULL: nobody. */
    void (*on_failed_handshake)(void *ctx, const char *reason);
    size_t body_max;          /* 0: VPA_SERVER_BODY_MAX */
    size_t bodies_max;        /* 0: VPA_SERVER_BODIES_MAX */
    size_t answers_max;       /* 0: VPA_SERVER_ANSWERS_MAX */
    unsigned connections_max; /* 0: VPA_SERVER_CONNECTIONS_MAX */
    /* Real time; 0: the constants above. */
    vpa_duration handshake_timeout, head_timeout, idle_timeout, transfer_timeout;
};

struct vpa_http_server;
/* Binds, listens and serves. VPA_INVALID: address or certificate, or TLS without threads;
 * VPA_RETRY: the port cannot be bound. */
struct vpa_http_server *vpa_http_server_new(struct vpa_loop *loop,
                                            const struct vpa_http_server_options *options,
                                            struct vpa_error *err);
/* The server will soon be freed: each answer says "Connection: close" from now on, so that clients
 * with connections of their own go elsewhere. Those that come anew are answered all the same. */
void vpa_http_server_farewell(struct vpa_http_server *server);
/* Stops accepting, lets requests in hand finish (at most 2 s real time), frees. NULL is allowed. */
void vpa_http_server_free(struct vpa_http_server *server);
/* The port in use, also when the address said 0. */
int vpa_http_server_port(const struct vpa_http_server *server);
/* A new pair for new connections; on failure the old one stays. Loop thread only. */
int vpa_http_server_reload(struct vpa_http_server *server, const char *cert_pem,
                           const char *key_pem, struct vpa_error *err) VPA_MUST_CHECK;

/* "host:port" into its parts; VPA_INVALID with the text quoted. */
int vpa_address_parse(const char *address, char host[256], int *port,
                      struct vpa_error *err) VPA_MUST_CHECK;

#endif
