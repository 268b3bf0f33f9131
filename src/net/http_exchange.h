/*
 * Requests of an HTTP server between libmicrohttpd and the server's handler, on whatever thread
 * libmicrohttpd calls.
 */
#ifndef NET_HTTP_EXCHANGE_H
#define NET_HTTP_EXCHANGE_H

#include <stdatomic.h>

#include <gnutls/gnutls.h>
#include <microhttpd.h>

#include "connections.h"
#include "server_tls.h"
#include "vpa/net/http_exchange.h"
#include "workers.h"

/* Where requests come in; outlives them. */
struct exchange_place {
    vpa_server_fn handler;
    void *ctx;
    size_t body_max, bodies_max;
    const struct server_tls *tls;    /* NULL: plain */
    struct connections *connections; /* told what each waits for */
    struct workers *workers;         /* answer requests with large bodies; NULL: as all others */
    atomic_int handed_over;     /* requests that are with them: their connections are suspended */
    atomic_size_t *large_bytes; /* what bodies hold beyond 64 KiB each; of all places of a server */
    atomic_int requests;        /* from their headers to the end of their answers */
    atomic_bool retired;        /* answers close their connections */
};

/* The descriptor of a connection. */
int exchange_socket(struct MHD_Connection *connection);

/* MHD_OPTION_URI_LOG_CALLBACK with the place: the one point where libmicrohttpd shows the raw
 * query; what it returns is the exchange, which comes back as *con_cls. */
void *exchange_begin(void *place, const char *uri, struct MHD_Connection *connection);
/* The access handler; cls is not used. */
enum MHD_Result exchange_go_on(void *cls, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_size, void **con_cls);
/* MHD_OPTION_NOTIFY_COMPLETED; cls is not used. */
void exchange_end(void *cls, struct MHD_Connection *connection, void **con_cls,
                  enum MHD_RequestTerminationCode code);

#endif
