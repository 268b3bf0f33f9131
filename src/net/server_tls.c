/*
 * Go's cipher suite names to a GnuTLS priority text. GnuTLS chooses key exchange and cipher apart
 * from each other, so what is allowed is every named key exchange with every named cipher. TLS 1.3
 * shares the AEAD ciphers with TLS 1.2: a list without any of them keeps all three, else no client
 * of TLS 1.3 could connect.
 */
#include "server_tls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>

#include "server_push.h"
#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/net/tls.h"

struct server_tls {
    char *priorities;
    char *client_ca;
    bool asks;
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
    tls->asks = options->asks_for_certificate;
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

/* ---- certificates that the handler judges ---- */

static gnutls_session_t session_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    return info ? info->tls_session : NULL;
}

void server_tls_ask(const struct server_tls *tls, struct MHD_Connection *connection)
{
    if (tls->asks)
        gnutls_certificate_server_set_request(session_of(connection), GNUTLS_CERT_REQUEST);
}

static void put_pem(struct vpa_buf *out, const gnutls_datum_t *der)
{
    gnutls_datum_t pem = {NULL, 0};

    if (gnutls_pem_base64_encode2("CERTIFICATE", der, &pem) != GNUTLS_E_SUCCESS)
        return;
    vpa_buf_append(out, (const char *)pem.data, pem.size);
    gnutls_free(pem.data);
}

char *server_tls_client_chain(struct MHD_Connection *connection)
{
    gnutls_session_t session = session_of(connection);
    unsigned count = 0;
    const gnutls_datum_t *chain = session ? gnutls_certificate_get_peers(session, &count) : NULL;
    struct vpa_buf out;

    if (!chain || count == 0)
        return NULL;
    vpa_buf_init(&out, VPA_PEM_MAX);
    for (unsigned i = 0; i < count && i < VPA_SERVER_CLIENT_CHAIN_MAX; i++)
        put_pem(&out, &chain[i]);
    return vpa_buf_take(&out);
}

/* ---- failed handshakes ---- */

/*
 * When libmicrohttpd tells that a connection is closed, its TLS session is freed already, and what
 * the peer said last may lie unread in the socket. So what was read is taken while the session is
 * freed: GnuTLS ends the data of an extension then. The extension is one that nobody sends.
 */
#define LISTENER_EXTENSION 0xff77 /* of the range for private use, RFC 8446, section 11 */

struct server_tls_ear {
    gnutls_session_t session;
    gnutls_alert_description_t alert; /* the last that was read; CLOSE_NOTIFY: none */
    struct server_push *push;
};

static void on_session_end(gnutls_ext_priv_data_t data)
{
    struct server_tls_ear *ear = data;

    ear->alert = gnutls_alert_get(ear->session);
    ear->session = NULL;
}

struct server_tls_ear *server_tls_listen(struct MHD_Connection *connection, int fd)
{
    gnutls_session_t session =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;
    struct server_tls_ear *ear = vpa_xcalloc(1, sizeof(*ear));

    *ear = (struct server_tls_ear){session, GNUTLS_A_CLOSE_NOTIFY, server_push_new(fd)};
    gnutls_transport_set_ptr2(session, (gnutls_transport_ptr_t)(intptr_t)fd, ear->push);
    gnutls_transport_set_vec_push_function(session, server_push_send);
    if (gnutls_session_ext_register(session, "listener", LISTENER_EXTENSION, GNUTLS_EXT_TLS, NULL,
                                    NULL, on_session_end, NULL, NULL, 0) == 0)
        gnutls_ext_set_data(session, LISTENER_EXTENSION, ear);
    return ear;
}

void server_tls_join(struct MHD_Connection *connection)
{
    const struct server_tls_ear *ear =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;

    server_push_join(ear->push);
}

/* The alert that nobody has read, when it is not encrypted: record type, version, length; level,
 * description (RFC 8446, sections 5.1 and 6). */
static gnutls_alert_description_t unread_alert(int fd)
{
    unsigned char record[7];
    ssize_t n = recv(fd, record, sizeof(record), MSG_PEEK | MSG_DONTWAIT);

    if (n < (ssize_t)sizeof(record) || record[0] != 21 || record[3] != 0 || record[4] != 2)
        return GNUTLS_A_CLOSE_NOTIFY;
    return record[6];
}

static const struct {
    gnutls_alert_description_t alert;
    const char *name;
} alerts[] = {
    {GNUTLS_A_CLOSE_NOTIFY, "ended"}, /* also when there was none */
    {GNUTLS_A_BAD_CERTIFICATE, "bad_certificate"},
    {GNUTLS_A_UNSUPPORTED_CERTIFICATE, "unsupported_certificate"},
    {GNUTLS_A_CERTIFICATE_REVOKED, "certificate_revoked"},
    {GNUTLS_A_CERTIFICATE_EXPIRED, "certificate_expired"},
    {GNUTLS_A_CERTIFICATE_UNKNOWN, "certificate_unknown"},
    {GNUTLS_A_UNKNOWN_CA, "unknown_ca"},
    {GNUTLS_A_PROTOCOL_VERSION, "protocol_version"},
};
static const char other_alert[] = "other_alert";

const char *vpa_server_handshake_failure(size_t i)
{
    if (i < VPA_COUNT(alerts))
        return alerts[i].name;
    return i == VPA_COUNT(alerts) ? other_alert : NULL;
}

const char *server_tls_heard(struct server_tls_ear *ear, int fd)
{
    gnutls_alert_description_t alert = ear->alert;

    server_push_free(ear->push);
    free(ear);
    if (alert == GNUTLS_A_CLOSE_NOTIFY)
        alert = unread_alert(fd);
    for (size_t i = 0; i < VPA_COUNT(alerts); i++)
        if (alert == alerts[i].alert)
            return alerts[i].name;
    return other_alert;
}
