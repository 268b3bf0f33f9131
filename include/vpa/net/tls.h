/*
 * Certificates: creating a private CA and server certificates (ECDSA P-256), and checking pairs.
 */
#ifndef VPA_NET_TLS_H
#define VPA_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/error.h"
#include "vpa/base/time.h"

#define VPA_PEM_MAX ((size_t)1 << 20) /* longest PEM text read from a file */
/* What is created is valid from so long before its time, for clocks that lag. */
#define VPA_TLS_CLOCK_SLACK (5 * VPA_MINUTE)

struct vpa_tls_pair { /* heap PEM texts; zeroed is empty */
    char *cert_pem;
    char *key_pem;
};
void vpa_tls_pair_release(struct vpa_tls_pair *pair); /* wipes the key */

/* A self-signed CA. Valid from 5 minutes before now. */
int vpa_tls_create_ca(const char *common_name, vpa_time now, vpa_duration lifetime,
                      struct vpa_tls_pair *out, struct vpa_error *err) VPA_MUST_CHECK;
/* A certificate signed by the CA for these names: DNS names and IP addresses; names[0] is the CN
 * too. With client, it is good for client authentication as well. */
int vpa_tls_create_certificate(const struct vpa_tls_pair *ca, const char *const *names,
                               size_t name_count, bool client, vpa_time now, vpa_duration lifetime,
                               struct vpa_tls_pair *out, struct vpa_error *err) VPA_MUST_CHECK;

struct vpa_tls_info {
    vpa_time not_before;
    vpa_time not_after;
    char common_name[256]; /* of the subject, "" when absent */
    char fingerprint[65];  /* SHA-256 of the leaf in lower-case hex */
};
/* The pair is usable: both PEM texts parse, the chain to its end, and the key belongs to the first
 * certificate. Expiry is reported in info (may be NULL), not judged. */
int vpa_tls_check_pair(const char *cert_pem, const char *key_pem, struct vpa_tls_info *info,
                       struct vpa_error *err) VPA_MUST_CHECK;
/* The same of a certificate alone. */
int vpa_tls_describe(const char *cert_pem, struct vpa_tls_info *info,
                     struct vpa_error *err) VPA_MUST_CHECK;
/* Whether the first certificate is valid for that DNS name or IP address. */
bool vpa_tls_matches_name(const char *cert_pem, const char *name);
/* At least one certificate in the PEM text can be read. */
int vpa_tls_check_ca(const char *ca_pem, struct vpa_error *err) VPA_MUST_CHECK;
/* Whether nothing that begins in the PEM text is cut off or damaged. */
bool vpa_tls_is_whole(const char *pem);
/* The certificates of a PEM text that can be read, which are those that Go's clients take, as one:
 * the libraries refuse a text as a whole. Heap. */
char *vpa_tls_readable(const char *pem);
/* Whether a client that trusts the certificates of ca_pem, and no other, accepts the chain (leaf
 * first) of a server that it calls by that DNS name or IP address, at that time. The common name
 * counts for nothing, each certificate of ca_pem is an anchor of its own: both as in Go's clients,
 * which API servers are. ca_pem NULL or "": the anchors of this system. VPA_INVALID with
 * the reason. */
int vpa_tls_verify(const char *chain_pem, const char *ca_pem, const char *name, vpa_time at,
                   struct vpa_error *err) VPA_MUST_CHECK;
/* The same of a client's chain, which has no name to be called by: whether a server that trusts the
 * certificates of ca_pem accepts it at that time, and whether it is meant for clients (extended key
 * usage, if it has any). Nobody is trusted without a ca_pem. */
int vpa_tls_verify_client(const char *chain_pem, const char *ca_pem, vpa_time at,
                          struct vpa_error *err) VPA_MUST_CHECK;

#endif
