/*
 * PEM texts are handed to curl as memory, which refuses a CA text of which any part cannot be read:
 * then it gets the others. Files behind them are read again at most every five
 * minutes, on the next request; a file in the middle of a rotation (missing, empty, half written, a
 * key that does not belong to its certificate) changes nothing. A CA file that is the same five
 * minutes later is not being written: a block that nobody can read must not stop rotations.
 */
#include "client_tls.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/ssl.h>

#include "vpa/base/file.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/net/tls.h"

static void wipe(char *text, size_t len)
{
    if (text)
        explicit_bzero(text, len);
    free(text);
}

static void pem_file_release(struct pem_file *f)
{
    free(f->path);
    wipe(f->pem, f->len);
    *f = (struct pem_file){0};
}

static int pem_file_load(struct pem_file *f, const struct pem_source *source, struct vpa_error *err)
{
    if (source->data) {
        f->pem = vpa_xstrdup(source->data);
        f->len = strlen(source->data);
    } else if (source->path && *source->path) {
        if (vpa_read_file(source->path, VPA_PEM_MAX, &f->pem, &f->len, err) < 0)
            return -1;
        f->path = vpa_xstrdup(source->path);
    }
    return 0;
}

/* Reads the file again; true when it holds something else. */
static bool pem_file_reread(const struct pem_file *f, char **pem, size_t *len)
{
    if (!f->path || vpa_read_file(f->path, VPA_PEM_MAX, pem, len, NULL) < 0)
        return false;
    if (*len > 0 && (*len != f->len || memcmp(*pem, f->pem, *len) != 0))
        return true;
    wipe(*pem, *len);
    *pem = NULL;
    return false;
}

static void pem_file_replace(struct pem_file *f, char *pem, size_t len)
{
    wipe(f->pem, f->len);
    f->pem = pem;
    f->len = len;
}

static void use_readable(struct pem_file *ca, char *readable)
{
    VPA_INFO("A part of the CA file cannot be read, the others are used",
             VPA_KV("file", vpa_or_empty(ca->path)));
    pem_file_replace(ca, readable, strlen(readable));
}

static void forget_refused(struct client_tls *tls)
{
    free(tls->refused_ca);
    tls->refused_ca = NULL;
}

/* Takes the text. It may be in the middle of being written, unless it was so at the last look. */
static void reload_damaged_ca(struct client_tls *tls, char *pem)
{
    vpa_auto_free char *readable = vpa_tls_readable(pem);
    bool again = tls->refused_ca && strcmp(tls->refused_ca, pem) == 0;

    forget_refused(tls);
    if (strcmp(readable, tls->ca.pem) == 0) { /* what is in use came from it */
        free(pem);
        return;
    }
    if (again && *readable) {
        use_readable(&tls->ca, VPA_STEAL(readable));
        free(pem);
        return;
    }
    if (!again)
        VPA_WARN("CA file changed, but a part of it cannot be read: the last one is used on",
                 VPA_KV("file", tls->ca.path));
    tls->refused_ca = pem;
}

static void reload_ca(struct client_tls *tls)
{
    char *pem = NULL;
    size_t len = 0;

    if (!pem_file_reread(&tls->ca, &pem, &len)) {
        forget_refused(tls);
        return;
    }
    if (vpa_tls_check_ca(pem, NULL) < 0 || !vpa_tls_is_whole(pem)) {
        reload_damaged_ca(tls, pem);
        return;
    }
    forget_refused(tls);
    pem_file_replace(&tls->ca, pem, len);
    VPA_INFO("CA file changed, new connections use it", VPA_KV("file", tls->ca.path));
}

static void reload_certificate(struct client_tls *tls)
{
    char *cert = NULL, *key = NULL;
    size_t cert_len = 0, key_len = 0;
    bool new_cert = pem_file_reread(&tls->cert, &cert, &cert_len);
    bool new_key = pem_file_reread(&tls->key, &key, &key_len);

    if (!new_cert && !new_key)
        return;
    if (vpa_tls_check_pair(new_cert ? cert : tls->cert.pem, new_key ? key : tls->key.pem, NULL,
                           NULL) < 0) {
        wipe(cert, cert_len);
        wipe(key, key_len);
        return;
    }
    if (new_cert)
        pem_file_replace(&tls->cert, cert, cert_len);
    if (new_key)
        pem_file_replace(&tls->key, key, key_len);
    VPA_INFO("Client certificate changed, new connections use it", VPA_KV("file", tls->cert.path));
}

/* There is no older one to stay with, so what cannot be read is passed over. */
static void keep_readable(struct pem_file *ca)
{
    if (vpa_tls_is_whole(ca->pem))
        return;
    use_readable(ca, vpa_tls_readable(ca->pem));
}

void client_tls_refresh(struct client_tls *tls, int64_t now)
{
    if (now - tls->checked < CLIENT_TLS_RELOAD)
        return;
    tls->checked = now;
    reload_ca(tls);
    reload_certificate(tls);
}

int client_tls_load(struct client_tls *tls, const struct client_tls_sources *sources, int64_t now,
                    struct vpa_error *err)
{
    if (pem_file_load(&tls->ca, &sources->ca, err) < 0 ||
        pem_file_load(&tls->cert, &sources->cert, err) < 0 ||
        pem_file_load(&tls->key, &sources->key, err) < 0)
        return -1;
    if (tls->ca.pem && vpa_tls_check_ca(tls->ca.pem, err) < 0)
        return vpa_wrap(err, "CA %s", tls->ca.path ? tls->ca.path : "data");
    if (tls->ca.pem)
        keep_readable(&tls->ca);
    if (tls->cert.pem && tls->key.pem &&
        vpa_tls_check_pair(tls->cert.pem, tls->key.pem, NULL, err) < 0)
        return vpa_wrap(err, "client certificate %s", tls->cert.path ? tls->cert.path : "data");
    tls->checked = now;
    return 0;
}

void client_tls_release(struct client_tls *tls)
{
    pem_file_release(&tls->ca);
    pem_file_release(&tls->cert);
    pem_file_release(&tls->key);
    forget_refused(tls);
}

void client_tls_set_certificate(struct client_tls *tls, const char *cert_pem, const char *key_pem)
{
    pem_file_release(&tls->cert);
    pem_file_release(&tls->key);
    pem_file_replace(&tls->cert, vpa_xstrdup(cert_pem), strlen(cert_pem));
    pem_file_replace(&tls->key, vpa_xstrdup(key_pem), strlen(key_pem));
}

static struct curl_blob blob(const struct pem_file *f)
{
    return (struct curl_blob){.data = f->pem, .len = f->len, .flags = CURL_BLOB_COPY};
}

/* Certificates are judged by the loop's clock, which is the cluster's. */
static CURLcode set_time(CURL *easy, void *ssl_ctx, void *ctx)
{
    (void)easy;
    X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(ssl_ctx),
                               (time_t)(vpa_loop_now(ctx) / VPA_SECOND));
    return CURLE_OK;
}

/* The folder that libcurl was compiled with, /etc/ssl/certs, would vouch beside the CA. */
static void trust_alone(const struct pem_file *ca, CURL *easy)
{
    struct curl_blob trusted = blob(ca);

    curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &trusted);
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO_BLOB, &trusted);
    curl_easy_setopt(easy, CURLOPT_PROXY_CAPATH, NULL);
}

void client_tls_set_up(const struct client_tls *tls, CURL *easy, bool insecure,
                       struct vpa_loop *loop)
{
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, set_time);
    curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, loop);
    if (insecure) {
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
        curl_easy_setopt(easy, CURLOPT_PROXY_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_PROXY_SSL_VERIFYHOST, 0L);
    } else if (tls->ca.pem) {
        trust_alone(&tls->ca, easy);
    }
    if (tls->cert.pem && tls->key.pem) {
        struct curl_blob cert = blob(&tls->cert), key = blob(&tls->key);
        curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &cert);
        curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &key);
        curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, (long)(CLIENT_TLS_RELOAD / VPA_SECOND));
    }
}
