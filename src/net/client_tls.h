/* Trust and certificate of an HTTP client: PEM texts in memory, from data or from files that
 * rotate. */
#ifndef VPA_NET_CLIENT_TLS_H
#define VPA_NET_CLIENT_TLS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/error.h"
#include "vpa/base/time.h"
#include "vpa/net/loop.h"

#define CLIENT_TLS_RELOAD (5 * VPA_MINUTE)

struct pem_file { /* one PEM text */
    char *path;   /* NULL: given as data */
    char *pem;    /* NULL: absent */
    size_t len;
};
struct client_tls {
    struct pem_file ca, cert, key;
    char *refused_ca; /* the file's text at the last look, where that was not taken; else NULL */
    int64_t checked;  /* real monotonic time of the last look at the files */
};

struct pem_source { /* borrowed; data wins, and neither means absent */
    const char *data, *path;
};
struct client_tls_sources {
    struct pem_source ca, cert, key;
};

/* now: CLOCK_MONOTONIC in nanoseconds. VPA_INVALID with the file's name when something cannot be
 * used. */
int client_tls_load(struct client_tls *tls, const struct client_tls_sources *sources, int64_t now,
                    struct vpa_error *err);
void client_tls_release(struct client_tls *tls);
/* Reads the files again when they were last looked at CLIENT_TLS_RELOAD ago. Where a part of the CA
 * file cannot be read the others are taken, once the file is found again unchanged. */
void client_tls_refresh(struct client_tls *tls, int64_t now);
void client_tls_set_certificate(struct client_tls *tls, const char *cert_pem, const char *key_pem);
/* A new handle gets what is there now; the loop outlives it. Of the server, and of a proxy that is
 * reached over TLS, this CA alone vouches; without one those of the system. insecure: nobody has
 * to. */
void client_tls_set_up(const struct client_tls *tls, CURL *easy, bool insecure,
                       struct vpa_loop *loop);

#endif
