/*
 * OpenSSL's objects live in locals that free themselves. Keys are ECDSA on P-256, serial numbers
 * 128 random bits, validity begins five minutes before now for clocks that lag. Errors carry
 * OpenSSL's newest reason, and its queue is emptied, so that no later call finds it.
 */
#include "vpa/net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define SERIAL_BYTES 16

static void free_x509(X509 **p)
{
    X509_free(*p);
}
static void free_key(EVP_PKEY **p)
{
    EVP_PKEY_free(*p);
}
static void free_bio(BIO **p)
{
    BIO_free_all(*p);
}
static void free_chain(STACK_OF(X509) * *p)
{
    sk_X509_pop_free(*p, X509_free);
}
static void free_store(X509_STORE **p)
{
    X509_STORE_free(*p);
}
static void free_store_ctx(X509_STORE_CTX **p)
{
    X509_STORE_CTX_free(*p);
}
#define auto_x509 __attribute__((cleanup(free_x509))) X509
#define auto_key __attribute__((cleanup(free_key))) EVP_PKEY
#define auto_bio __attribute__((cleanup(free_bio))) BIO
#define auto_chain __attribute__((cleanup(free_chain))) STACK_OF(X509)
#define auto_store __attribute__((cleanup(free_store))) X509_STORE
#define auto_store_ctx __attribute__((cleanup(free_store_ctx))) X509_STORE_CTX

/* The newest OpenSSL reason, and the queue emptied. */
static int fail_ssl(struct vpa_error *err, const char *what)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;

    ERR_clear_error();
    return vpa_fail(err, VPA_INVALID, "%s: %s", what, reason ? reason : "unusable");
}

void vpa_tls_pair_release(struct vpa_tls_pair *pair)
{
    vpa_free_secret(pair->key_pem);
    free(pair->cert_pem);
    *pair = (struct vpa_tls_pair){0};
}

/* PEM */

static char *bio_text(BIO *bio)
{
    char *data = NULL;
    long len = BIO_get_mem_data(bio, &data);

    return vpa_xstrndup(vpa_or_empty(data), (size_t)len); /* NULL when nothing was written */
}

static X509 *read_certificate(const char *pem)
{
    auto_bio *bio = BIO_new_mem_buf(pem, -1);

    return PEM_read_bio_X509(bio, NULL, NULL, NULL);
}

/* Without this an encrypted key would ask for its password on the terminal. */
static int no_password(char *buf, int size, int writing, void *ctx)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)ctx;
    return -1;
}

static EVP_PKEY *read_key(const char *pem)
{
    auto_bio *bio = BIO_new_mem_buf(pem, -1);

    return PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
}

static int write_pair(X509 *cert, EVP_PKEY *key, struct vpa_tls_pair *out, struct vpa_error *err)
{
    auto_bio *cert_bio = BIO_new(BIO_s_mem());
    auto_bio *key_bio = BIO_new(BIO_s_secmem());

    if (!PEM_write_bio_X509(cert_bio, cert) ||
        !PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL))
        return fail_ssl(err, "certificate");
    out->cert_pem = bio_text(cert_bio);
    out->key_pem = bio_text(key_bio);
    return 0;
}

/* Creating */

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    if (!extension)
        return false;
    bool ok = X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return ok;
}

static bool set_validity(X509 *cert, vpa_time now, vpa_duration lifetime)
{
    time_t from = (time_t)((now - VPA_TLS_CLOCK_SLACK) / VPA_SECOND);
    time_t to = (time_t)((now + lifetime) / VPA_SECOND);

    return ASN1_TIME_set(X509_getm_notBefore(cert), from) &&
           ASN1_TIME_set(X509_getm_notAfter(cert), to);
}

static bool set_basics(X509 *cert, EVP_PKEY *key, const char *common_name)
{
    unsigned char serial[SERIAL_BYTES];
    X509_NAME *name = X509_get_subject_name(cert);

    if (RAND_bytes(serial, sizeof(serial)) != 1)
        return false;
    serial[0] &= 0x7f; /* positive */
    BIGNUM *number = BN_bin2bn(serial, sizeof(serial), NULL);
    bool ok = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    return ok && X509_set_version(cert, X509_VERSION_3) && X509_set_pubkey(cert, key) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common_name,
                                      -1, -1, 0);
}

int vpa_tls_create_ca(const char *common_name, vpa_time now, vpa_duration lifetime,
                      struct vpa_tls_pair *out, struct vpa_error *err)
{
    auto_key *key = EVP_EC_gen("P-256");
    auto_x509 *cert = X509_new();

    if (!key || !cert || !set_basics(cert, key, common_name) ||
        !set_validity(cert, now, lifetime) ||
        !X509_set_issuer_name(cert, X509_get_subject_name(cert)) ||
        !add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE") ||
        !add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") ||
        !add_extension(cert, cert, NID_subject_key_identifier, "hash") ||
        !X509_sign(cert, key, EVP_sha256()))
        return fail_ssl(err, "creating a CA");
    return write_pair(cert, key, out, err);
}

static bool is_ip(const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

static int alternative_names(const char *const *names, size_t count, struct vpa_buf *out,
                             struct vpa_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (strpbrk(names[i], ",:\n") && !is_ip(names[i]))
            return vpa_fail(err, VPA_INVALID, "certificate name \"%s\"", names[i]);
        vpa_buf_printf(out, "%s%s:%s", i ? "," : "", is_ip(names[i]) ? "IP" : "DNS", names[i]);
    }
    return vpa_buf_failed(out) ? vpa_fail(err, VPA_LIMIT, "too many certificate names") : 0;
}

int vpa_tls_create_certificate(const struct vpa_tls_pair *ca, const char *const *names,
                               size_t name_count, bool client, vpa_time now, vpa_duration lifetime,
                               struct vpa_tls_pair *out, struct vpa_error *err)
{
    auto_x509 *issuer = read_certificate(ca->cert_pem);
    auto_key *issuer_key = read_key(ca->key_pem);
    auto_key *key = EVP_EC_gen("P-256");
    auto_x509 *cert = X509_new();
    vpa_auto_buf san = VPA_BUF(16 << 10);

    if (name_count == 0)
        return vpa_fail(err, VPA_INVALID, "a certificate needs a name");
    if (alternative_names(names, name_count, &san, err) < 0)
        return -1;
    if (!issuer || !issuer_key)
        return fail_ssl(err, "CA");
    vpa_auto_free char *common_name = vpa_xstrndup(names[0], 64); /* X.520's limit */
    if (!key || !cert || !set_basics(cert, key, common_name) ||
        !set_validity(cert, now, lifetime) ||
        !X509_set_issuer_name(cert, X509_get_subject_name(issuer)) ||
        !add_extension(cert, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
        !add_extension(cert, issuer, NID_key_usage, "critical,digitalSignature") ||
        !add_extension(cert, issuer, NID_ext_key_usage,
                       client ? "serverAuth,clientAuth" : "serverAuth") ||
        !add_extension(cert, issuer, NID_authority_key_identifier, "keyid") ||
        !add_extension(cert, issuer, NID_subject_alt_name, vpa_buf_text(&san)) ||
        !X509_sign(cert, issuer_key, EVP_sha256()))
        return fail_ssl(err, "creating a certificate");
    return write_pair(cert, key, out, err);
}

/* Checking */

static vpa_time time_of(const ASN1_TIME *t)
{
    struct tm tm = {0};

    if (!ASN1_TIME_to_tm(t, &tm))
        return VPA_TIME_UNSET;
    return vpa_time_from_unix((int64_t)timegm(&tm), 0);
}

static void describe(X509 *cert, struct vpa_tls_info *info)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    *info = (struct vpa_tls_info){.not_before = time_of(X509_get0_notBefore(cert)),
                                  .not_after = time_of(X509_get0_notAfter(cert))};
    X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, info->common_name,
                              sizeof(info->common_name));
    if (X509_digest(cert, EVP_sha256(), digest, &len))
        for (unsigned i = 0; i < len && i < 32; i++) {
            info->fingerprint[2 * i] = "0123456789abcdef"[digest[i] >> 4];
            info->fingerprint[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
        }
}

/* Adds the certificate of a block, if it is one; false: the block cannot be read. */
static bool read_block(const char *text, size_t len, STACK_OF(X509) * chain)
{
    auto_bio *bio = BIO_new_mem_buf(text, (int)len);
    auto_bio *again = BIO_new_mem_buf(text, (int)len);
    char *name = NULL, *header = NULL;
    unsigned char *bytes = NULL;
    long size;

    if (!PEM_read_bio(bio, &name, &header, &bytes, &size))
        return false;
    X509 *cert = PEM_read_bio_X509(again, NULL, NULL, NULL);
    bool other = !vpa_str_ends_with(name, PEM_STRING_X509);
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_clear_free(bytes, (size_t)size); /* may be a key */
    if (cert)
        sk_X509_push(chain, cert);
    return cert || other;
}

/* Where the next block begins, NULL: nowhere. PEM begins lines: what stands behind something else,
 * such as the sign of a comment, is prose. */
static const char *find_begin(const char *pem, const char *from)
{
    const char *at = strstr(from, "-----BEGIN");

    while (at && at > pem && at[-1] != '\n')
        at = strstr(at + 1, "-----BEGIN");
    return at;
}

/* The certificates of a PEM text that can be read, none is an empty stack. whole: all can. */
static STACK_OF(X509) * read_chain(const char *pem, bool *whole)
{
    STACK_OF(X509) *chain = sk_X509_new_null();

    *whole = true;
    for (const char *at = find_begin(pem, pem), *next; at; at = next) {
        next = find_begin(pem, at + 1);
        if (!read_block(at, next ? (size_t)(next - at) : strlen(at), chain))
            *whole = false;
    }
    ERR_clear_error();
    return chain;
}

int vpa_tls_check_pair(const char *cert_pem, const char *key_pem, struct vpa_tls_info *info,
                       struct vpa_error *err)
{
    if (!cert_pem || !*cert_pem)
        return vpa_fail(err, VPA_INVALID, "certificate: empty");
    if (!key_pem || !*key_pem)
        return vpa_fail(err, VPA_INVALID, "key: empty");
    auto_x509 *cert = read_certificate(cert_pem);
    if (!cert)
        return fail_ssl(err, "certificate");
    if (!vpa_tls_is_whole(cert_pem))
        return vpa_fail(err, VPA_INVALID, "certificate: a part of the chain cannot be read");
    auto_key *key = read_key(key_pem);
    if (!key)
        return fail_ssl(err, "key");
    if (!X509_check_private_key(cert, key)) {
        ERR_clear_error();
        return vpa_fail(err, VPA_INVALID, "the key does not belong to the certificate");
    }
    if (info)
        describe(cert, info);
    return 0;
}

int vpa_tls_describe(const char *cert_pem, struct vpa_tls_info *info, struct vpa_error *err)
{
    auto_x509 *cert = read_certificate(cert_pem);

    if (!cert)
        return fail_ssl(err, "certificate");
    describe(cert, info);
    return 0;
}

bool vpa_tls_matches_name(const char *cert_pem, const char *name)
{
    auto_x509 *cert = read_certificate(cert_pem);

    if (!cert) {
        ERR_clear_error();
        return false;
    }
    if (is_ip(name))
        return X509_check_ip_asc(cert, name, 0) == 1;
    return X509_check_host(cert, name, 0, 0, NULL) == 1;
}

int vpa_tls_check_ca(const char *ca_pem, struct vpa_error *err)
{
    bool whole;
    auto_chain *chain = read_chain(ca_pem, &whole);

    if (sk_X509_num(chain) > 0)
        return 0;
    auto_x509 *first = read_certificate(ca_pem); /* for its reason */
    return first ? 0 : fail_ssl(err, "no usable certificate");
}

bool vpa_tls_is_whole(const char *pem)
{
    bool whole;
    auto_chain *chain = read_chain(pem, &whole);

    return chain && whole;
}

char *vpa_tls_readable(const char *pem)
{
    bool whole;
    auto_chain *chain = read_chain(pem, &whole);
    auto_bio *bio = BIO_new(BIO_s_mem());

    for (int i = 0; i < sk_X509_num(chain); i++)
        PEM_write_bio_X509(bio, sk_X509_value(chain, i));
    return bio_text(bio);
}

static X509_STORE *trust(const char *ca_pem)
{
    X509_STORE *store = X509_STORE_new();

    if (!ca_pem || !*ca_pem) {
        X509_STORE_set_default_paths(store);
        return store;
    }
    bool whole;
    auto_chain *anchors = read_chain(ca_pem, &whole);
    for (int i = 0; i < sk_X509_num(anchors); i++)
        X509_STORE_add_cert(store, sk_X509_value(anchors, i));
    return store;
}

static void ask_for(X509_VERIFY_PARAM *param, int purpose, vpa_time at)
{
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
    X509_VERIFY_PARAM_set_purpose(param, purpose);
    X509_VERIFY_PARAM_set_time(param, (time_t)(at / VPA_SECOND));
}

static void ask_for_name(X509_VERIFY_PARAM *param, const char *name)
{
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (is_ip(name))
        X509_VERIFY_PARAM_set1_ip_asc(param, name);
    else
        X509_VERIFY_PARAM_set1_host(param, name, 0);
}

/* name: of a server, NULL: the chain is a client's. */
static int verify(const char *chain_pem, const char *ca_pem, const char *name, vpa_time at,
                  struct vpa_error *err)
{
    bool whole;
    auto_chain *chain = read_chain(chain_pem, &whole);
    auto_store *store = trust(ca_pem);
    auto_store_ctx *ctx = X509_STORE_CTX_new();

    if (sk_X509_num(chain) == 0)
        return vpa_fail(err, VPA_INVALID, "no certificate");
    if (!X509_STORE_CTX_init(ctx, store, sk_X509_value(chain, 0), chain))
        return fail_ssl(err, "certificate");
    ask_for(X509_STORE_CTX_get0_param(ctx),
            name ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT, at);
    if (name)
        ask_for_name(X509_STORE_CTX_get0_param(ctx), name);
    if (X509_verify_cert(ctx) == 1)
        return 0;
    int why = X509_STORE_CTX_get_error(ctx);
    ERR_clear_error();
    return vpa_fail(err, VPA_INVALID, "certificate%s%s: %s", name ? " for " : "",
                    vpa_or_empty(name), X509_verify_cert_error_string(why));
}

int vpa_tls_verify(const char *chain_pem, const char *ca_pem, const char *name, vpa_time at,
                   struct vpa_error *err)
{
    return verify(chain_pem, ca_pem, name, at, err);
}

int vpa_tls_verify_client(const char *chain_pem, const char *ca_pem, vpa_time at,
                          struct vpa_error *err)
{
    if (vpa_tls_check_ca(vpa_or_empty(ca_pem), err) < 0) /* else the system's anchors would do */
        return vpa_wrap(err, "the authority of clients");
    return verify(chain_pem, ca_pem, NULL, at, err);
}
