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
 * VPA_SERVER_RATE_MIN bytes.
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

struct vpa_server_request { /* borrowed for the call */
    const char *method;
    const char *path;  /* without query */
    const char *query; /* raw text behind '?', "" when absent */
    const char *body;  /* NUL-terminated behind body_len */
    size_t body_len;
    bool body_too_large; /* longer than body_max, or no room left in bodies_max: body is empty, the
                            connection will be closed */
    int64_t received_ns; /* CLOCK_MONOTONIC when the headers were complete */
    void *headers_;      /* private */
};
/* Header value (name without case), NULL when absent; borrowed. */
const char *vpa_server_header(const struct vpa_server_request *request, const char *name);
/* Tells of each header as it came, in order, until fn says false; the texts are borrowed for the
 * call. */
typedef bool (*vpa_server_header_fn)(void *ctx, const char *name, const char *value);
void vpa_server_each_header(const struct vpa_server_request *request, vpa_server_header_fn fn,
                            void *ctx);
/* What the peer has shown (asks_for_certificate): PEM, leaf first, at most
 * VPA_SERVER_CLIENT_CHAIN_MAX certificates, heap. It has the key of the leaf; nothing else of it is
 * checked (vpa_tls_verify_client). NULL: no certificate. */
char *vpa_server_client_chain(const struct vpa_server_request *request);
#define VPA_SERVER_CLIENT_CHAIN_MAX 8
/* Whether the peer is on this machine, or in this pod: its address is a loopback one. */
bool vpa_server_is_local(const struct vpa_server_request *request);

/* Filled by the handler. status 0 becomes 500. */
struct vpa_server_response {
    int status;
    const char *content_type; /* static text; NULL: no such header */
    bool nosniff;             /* X-Content-Type-Options: nosniff */
    bool gzip;                /* the body is compressed; see vpa/net/negotiation.h */
    char *body;               /* heap, ownership moves to the server; NULL: empty */
    size_t body_len;
};
/* Status with a copy of a text as text/plain; charset=utf-8. */
void vpa_server_reply_text(struct vpa_server_response *response, int status, const char *text);

/* On the loop, or on one of the server's threads or workers when threads > 0: then it runs several
 * times at once and may only touch what is shared. */
typedef void (*vpa_server_fn)(void *ctx, const struct vpa_server_request *request,
                              struct vpa_server_response *response);

enum vpa_tls_version { VPA_TLS_1_2, VPA_TLS_1_3 };

struct vpa_server_tls {   /* texts are copied */
    const char *cert_pem; /* chain, leaf first */
    const char *key_pem;  /* PKCS#1, PKCS#8 or SEC1 */
    enum vpa_tls_version min_version;
    const char *ciphers; /* Go suite names split at , and :, unknown ones are ignored; NULL or
                            nothing left: the default set */
    const char
        *client_ca_pem; /* NULL: client certificates are not requested; else required and checked */
    /* Without client_ca_pem: they are requested, neither required nor checked, for handlers that
     * judge themselves by an authority that may change. */
    bool asks_for_certificate;
};

#define VPA_SERVER_BODY_MAX ((size_t)5 << 20) /* 5 MiB, as upstream's webhook */
/* What all bodies that are being read may hold beyond their first 64 KiB each: six of the largest.
 */
#define VPA_SERVER_BODIES_MAX ((size_t)32 << 20)
#define VPA_SERVER_CONNECTIONS_MAX 512
#define VPA_SERVER_HANDSHAKE_TIMEOUT (10 * VPA_SECOND)
#define VPA_SERVER_HEAD_TIMEOUT (30 * VPA_SECOND)  /* of the first one from the connection on */
#define VPA_SERVER_IDLE_TIMEOUT (120 * VPA_SECOND) /* an API server itself waits for 90 s */
#define VPA_SERVER_TRANSFER_TIMEOUT (10 * VPA_SECOND)
#define VPA_SERVER_RATE_MIN (256 << 10) /* bytes per second; 5 MiB take 30 s at most */

/* Why handshakes fail, one text after the other; NULL behind the last. */
const char *vpa_server_handshake_failure(size_t i);

struct vpa_http_server_options {
    const char *address; /* "host:port", ":port" (all interfaces, IPv6 and IPv4), "[::1]:0" */
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
