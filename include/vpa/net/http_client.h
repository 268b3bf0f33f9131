/*
 * HTTP(S) client on the loop: a transport over curl_multi. Connections are reused; HTTP/2 where the
 * server offers it, HTTP/1.1 for watches. Nothing is retried here.
 *
 * Redirects of reads are followed, up to ten, within scheme, host and port of the base URL: another
 * server would get the headers, and with them the token. One that is not followed is a
 * VPA_TRANSPORT_OTHER, whose error says why and where it leads.
 *
 *     struct vpa_http_client_options options = {.base_url = "https://10.0.0.1:443", .ca_file = ca};
 *     struct vpa_transport *t = vpa_http_client_new(loop, &options, &err);
 *
 * Trust and client certificate given as files are read again every 5 minutes on the next request;
 * content that is missing, empty or unusable leaves the old one in force, changed content is used
 * for new connections and old idle ones are closed.
 */
#ifndef VPA_NET_HTTP_CLIENT_H
#define VPA_NET_HTTP_CLIENT_H

#include <stdbool.h>

#include "vpa/net/loop.h"
#include "vpa/net/transport.h"

#define VPA_HTTP_CONNECT_TIMEOUT (30 * VPA_SECOND) /* dial and TLS handshake together */
#define VPA_HTTP_FROZEN_AFTER (4 * VPA_SECOND)
#define VPA_HTTP_CONNECTIONS_MAX 64

/* All texts are copied. NULL means absent. Data members are PEM and win over files. */
struct vpa_http_client_options {
    const char *base_url; /* scheme://host[:port][/prefix], without a final slash */
    /* Alone vouches for the server, and for a proxy that is reached over TLS. None: the system's */
    const char *ca_file;
    const char *ca_data;
    const char *cert_file;
    const char *cert_data;
    const char *key_file;
    const char *key_data;
    const char *server_name; /* for SNI and verification instead of the host of the URL */
    /* http, https or socks5 URL, whatever NO_PROXY says; "": none; NULL: what the environment says,
     * as Go reads it (HTTPS_PROXY, HTTP_PROXY, NO_PROXY, or in lower case). Each of them gets the
     * name of the server and looks it up itself. */
    const char *proxy;
    bool insecure; /* no verification of the server */
    bool no_http2;
    bool no_compression;
    vpa_duration connect_timeout; /* 0: VPA_HTTP_CONNECT_TIMEOUT */
    /* A request that waited for less says nothing about its connection, which others share. 0:
     * VPA_HTTP_FROZEN_AFTER */
    vpa_duration frozen_after;
};

/* VPA_INVALID with the file name when a file cannot be read or holds no usable PEM. */
struct vpa_transport *vpa_http_client_new(struct vpa_loop *loop,
                                          const struct vpa_http_client_options *options,
                                          struct vpa_error *err);
/* A new client certificate (PEM, copied): new requests use it on new connections. */
void vpa_http_client_set_certificate(struct vpa_transport *transport, const char *cert_pem,
                                     const char *key_pem);

#endif
