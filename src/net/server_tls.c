/*
 * Go's cipher suite names to a GnuTLS priority text. GnuTLS chooses key exchange and cipher apart
 * from each other, so what is allowed is every named key exchange with every named cipher. TLS 1.3
 * shares the AEAD ciphers with TLS 1.2: a list without any of them keeps all three, else no client
 * of TLS 1.3 could connect.
 */
#include "server_tls.h"

#include <stdlib.h>
#include <string.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

struct server_tls {
    char *priorities;
    char *client_ca;
};

enum { AES128_GCM = 1, AES256_GCM = 2, CHACHA20 = 4, AES128_CBC = 8, AES256_CBC = 16 };
#define AEAD (AES128_GCM | AES256_GCM | CHACHA20)

static const struct suite {
    const char *name;
    unsigned cipher;
    const char *exchange; /* NULL: TLS 1.3 */
} suites[] = {
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", AES128_GCM, "ECDHE-ECDSA"},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", AES128_GCM, "ECDHE-RSA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", AES256_GCM, "ECDHE-ECDSA"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", AES256_GCM, "ECDHE-RSA"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", CHACHA20, "ECDHE-ECDSA"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", CHACHA20, "ECDHE-RSA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", AES128_CBC, "ECDHE-ECDSA"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", AES128_CBC, "ECDHE-RSA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", AES256_CBC, "ECDHE-ECDSA"},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", AES256_CBC, "ECDHE-RSA"},
    {"TLS_AES_128_GCM_SHA256", AES128_GCM, NULL},
    {"TLS_AES_256_GCM_SHA384", AES256_GCM, NULL},
    {"TLS_CHACHA20_POLY1305_SHA256", CHACHA20, NULL},
};

static const struct suite *find_suite(struct vpa_slice name)
{
    for (size_t i = 0; i < VPA_COUNT(suites); i++)
        if (vpa_slice_eq(name, suites[i].name))
            return &suites[i];
    return NULL;
}

/* The suites named; an empty effective list is the default set. */
static void read_list(const char *list, unsigned *ciphers, bool *ecdsa, bool *rsa)
{
    const char *rest = list;
    struct vpa_slice outer, inner;
    unsigned old = 0;

    *ciphers = 0;
    *ecdsa = *rsa = false;
    while (list && vpa_str_split(&rest, ',', &outer)) {
        vpa_auto_free char *part = vpa_xstrndup(outer.ptr, outer.len);
        const char *inner_rest = part;
        while (vpa_str_split(&inner_rest, ':', &inner)) {
            const struct suite *s = find_suite(inner);
            if (s && s->exchange) {
                old |= s->cipher;
                *ecdsa = *ecdsa || strcmp(s->exchange, "ECDHE-ECDSA") == 0;
                *rsa = *rsa || strcmp(s->exchange, "ECDHE-RSA") == 0;
            }
        }
    }
    *ciphers = old & AEAD || old == 0 ? old : old | AEAD;
}

static char *make_priorities(const struct vpa_server_tls *o)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{AES128_GCM, "AES-128-GCM"},
                 {AES256_GCM, "AES-256-GCM"},
                 {CHACHA20, "CHACHA20-POLY1305"},
                 {AES128_CBC, "AES-128-CBC"},
                 {AES256_CBC, "AES-256-CBC"}};
    struct vpa_buf buf;
    unsigned ciphers;
    bool ecdsa, rsa;

    read_list(o->ciphers, &ciphers, &ecdsa, &rsa);
    if (ciphers == 0) {
        ciphers = AEAD | AES128_CBC | AES256_CBC;
        ecdsa = rsa = true;
    }
    vpa_buf_init(&buf, 4096);
    vpa_buf_puts(&buf, "NORMAL:-VERS-ALL:+VERS-TLS1.3");
    if (o->min_version == VPA_TLS_1_2)
        vpa_buf_puts(&buf, ":+VERS-TLS1.2");
    vpa_buf_puts(&buf, ":-CIPHER-ALL");
    for (size_t i = 0; i < VPA_COUNT(names); i++)
        if (ciphers & names[i].bit)
            vpa_buf_printf(&buf, ":+%s", names[i].name);
    vpa_buf_printf(&buf, ":-KX-ALL%s%s", ecdsa ? ":+ECDHE-ECDSA" : "", rsa ? ":+ECDHE-RSA" : "");
    vpa_buf_puts(&buf,
                 ":-MAC-ALL:+AEAD:+SHA1:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1"
                 ":+GROUP-SECP384R1:+GROUP-SECP521R1:%SERVER_PRECEDENCE:%NO_TICKETS:%NO_TICKETS");
    return vpa_buf_take(&buf);
}

struct server_tls *server_tls_new(const struct vpa_server_tls *options, struct vpa_error *err)
{
    struct server_tls *tls = vpa_xcalloc(1, sizeof(*tls));
    gnutls_priority_t parsed;
    const char *where = "";

    tls->priorities = make_priorities(options);
    tls->client_ca = options->client_ca_pem ? vpa_xstrdup(options->client_ca_pem) : NULL;
    int rc = gnutls_priority_init(&parsed, tls->priorities, &where);
    if (rc != GNUTLS_E_SUCCESS) {
        vpa_fail(err, VPA_INVALID, "TLS settings: %s at \"%s\"", gnutls_strerror(rc), where);
        server_tls_free(tls);
        return NULL;
    }
    gnutls_priority_deinit(parsed);
    return tls;
}

void server_tls_free(struct server_tls *tls)
{
    if (!tls)
        return;
    free(tls->priorities);
    free(tls->client_ca);
    free(tls);
}

const char *server_tls_priorities(const struct server_tls *tls)
{
    return tls->priorities;
}

const char *server_tls_client_ca(const struct server_tls *tls)
{
    return tls->client_ca;
}

bool server_tls_client_allowed(const struct server_tls *tls, struct MHD_Connection *connection)
{
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
    const union MHD_ConnectionInfo *info;
    unsigned status = 0;

    if (!tls->client_ca)
        return true;
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info && info->tls_session &&
           gnutls_certificate_verify_peers(info->tls_session, &purpose, 1, &status) ==
               GNUTLS_E_SUCCESS &&
           status == 0;
}
