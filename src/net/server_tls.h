/* TLS settings of a server that outlive a certificate: GnuTLS priorities and the client CA. */
#ifndef VPA_NET_SERVER_TLS_H
#define VPA_NET_SERVER_TLS_H

#include "vpa/net/http_server.h"

struct MHD_Connection;
struct server_tls;

struct server_tls *server_tls_new(const struct vpa_server_tls *options, struct vpa_error *err);
void server_tls_free(struct server_tls *tls); /* NULL is allowed */
const char *server_tls_priorities(const struct server_tls *tls);
const char *server_tls_client_ca(const struct server_tls *tls); /* PEM, NULL: none */
/* True without a client CA, else when the peer's certificate is one of that CA and meant for
 * clients (extended key usage, if it has any). */
bool server_tls_client_allowed(const struct server_tls *tls, struct MHD_Connection *connection);

#endif
