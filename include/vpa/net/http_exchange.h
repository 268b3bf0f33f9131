/*
 * What a handler of an HTTP server (http_server.h) is given and what it gives.
 *
 *     static void on_request(void *ctx, const struct vpa_server_request *request,
 *                            struct vpa_server_response *response)
 *     {
 *         vpa_server_reply_text(response, 404, "there is no such page\n");
 *     }
 */
#ifndef VPA_NET_HTTP_EXCHANGE_H
#define VPA_NET_HTTP_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vpa_server_response;
struct vpa_server_request { /* borrowed for the call */
    const char *method;
    const char *path;  /* without query */
    const char *query; /* raw text behind '?', "" when absent */
    const char *body;  /* NUL-terminated behind body_len */
    size_t body_len;
    bool body_too_large; /* longer than body_max, or no room left in bodies_max: body is empty, the
                            connection will be closed */
    int64_t received_ns; /* CLOCK_MONOTONIC when the headers were complete */
    void *headers_;      /* private, as what follows */
    bool (*take_room_)(void *exchange, size_t answer_len); /* NULL: there is room */
    void *exchange_;
};
/* Takes the room that an answer of that length needs until it is read. False: there is none, and
 * the answer would be replaced by one that says 503. Who counts or records what it answers asks
 * before; for all others the server asks behind them. */
bool vpa_server_take_room(const struct vpa_server_request *request, size_t answer_len);
/* The answer that says so. */
void vpa_server_reply_no_room(struct vpa_server_response *response);
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

#endif
