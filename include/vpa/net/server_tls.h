/* TLS of an HTTP server (http_server.h). */
#ifndef VPA_NET_SERVER_TLS_H
#define VPA_NET_SERVER_TLS_H

#include <stdbool.h>
#include <stddef.h>

#define VPA_SERVER_CLIENT_CHAIN_MAX 8 /* certificates of a client that are kept */

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

/* Why handshakes fail, one text after the other; NULL behind the last. */
const char *vpa_server_handshake_failure(size_t i);

#endif
