/* TLS settings of a server that outlive a certificate: GnuTLS priorities and the client CA. */
#ifndef NET_SERVER_TLS_H
#define NET_SERVER_TLS_H

#include "vpa/base/error.h"
#include "vpa/net/server_tls.h"

struct MHD_Connection;
struct server_tls;

struct server_tls *server_tls_new(const struct vpa_server_tls *options, struct vpa_error *err);
void server_tls_free(struct server_tls *tls); /* NULL is allowed */
const char *server_tls_priorities(const struct server_tls *tls);
const char *server_tls_client_ca(const struct server_tls *tls); /* PEM, NULL: none */
/* True without a client CA, else when the peer's certificate is one of that CA and meant for
 * clients (extended key usage, if it has any). */
bool server_tls_client_allowed(const struct server_tls *tls, struct MHD_Connection *connection);
/* At the start of a connection, for asks_for_certificate. */
void server_tls_ask(const struct server_tls *tls, struct MHD_Connection *connection);
/* What vpa_server_client_chain() says. */
char *server_tls_client_chain(struct MHD_Connection *connection);
/*
 * Why a handshake did not come to its end. server_tls_listen() at the start of a connection; at its
 * end, when the session is gone, server_tls_heard() frees the ear and says what the peer said: the
 * name of its alert ("unknown_ca", "bad_certificate", "certificate_expired", ...,
 * "other_alert"), or "ended" when it just went away, spoke no TLS, took too long, or said it
 * encrypted and nobody read it any more. One of a few static texts.
 */
struct server_tls_ear;
struct server_tls_ear *server_tls_listen(struct MHD_Connection *connection, int fd);
const char *server_tls_heard(struct server_tls_ear *ear, int fd);
/* The answer that is given to libmicrohttpd next has a body: its head leaves with that. */
void server_tls_join(struct MHD_Connection *connection);

#endif
