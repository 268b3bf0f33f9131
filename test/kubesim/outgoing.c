/*
 * Requests that the API server itself sends: to webhooks and to aggregated APIs. Services are found
 * through --service-map, an ExternalName, or Endpoints. Handles are kept, so connections are
 * reused.
 */
#include "outgoing.h"

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX (512u << 20)
#define IDLE_MAX 16

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static CURL *idle[IDLE_MAX];
static size_t idle_count;

static CURL *take_handle(void)
{
    CURL *h = NULL;

    pthread_mutex_lock(&idle_lock);
    if (idle_count)
        h = idle[--idle_count];
    pthread_mutex_unlock(&idle_lock);
    return h ? h : curl_easy_init();
}

static void give_back(CURL *h)
{
    curl_easy_reset(h);
    pthread_mutex_lock(&idle_lock);
    if (idle_count < IDLE_MAX) {
        idle[idle_count++] = h;
        h = NULL;
    }
    pthread_mutex_unlock(&idle_lock);
    if (h)
        curl_easy_cleanup(h);
}

void outgoing_release(void)
{
    while (idle_count)
        curl_easy_cleanup(idle[--idle_count]);
}

/* NS/NAME:PORT=HOST:PORT,... */
static const char *mapped(struct ctx *c, const char *ns, const char *name, int64_t port)
{
    const char *at = c->sim->opt.service_map;
    const char *wanted = vpa_arena_printf(c->a, "%s/%s:%lld=", ns, name, (long long)port);

    while (at && *at) {
        size_t len = strcspn(at, ",");
        if (!strncmp(at, wanted, strlen(wanted)))
            return vpa_arena_strndup(c->a, at + strlen(wanted), len - strlen(wanted));
        at += len + (at[len] == ',');
    }
    return NULL;
}

/* Lock held. "host:port" or NULL. */
const char *service_address(struct ctx *c, const char *ns, const char *name, int64_t port)
{
    const char *hit = mapped(c, ns, name, port);
    const struct version *v =
        store_find(types_find(&c->sim->types, "", "v1", "services")->store, ns, name);

    if (hit || !v)
        return hit;
    const struct jv *service = version_parse(c->a, v);
    if (!strcmp(jv_text_at(service, "spec.type"), "ExternalName"))
        return vpa_arena_printf(c->a, "%s:%lld", jv_text_at(service, "spec.externalName"),
                                (long long)port);
    v = store_find(types_find(&c->sim->types, "", "v1", "endpoints")->store, ns, name);
    if (!v)
        return NULL;
    const struct jv *subset = jv_at(version_parse(c->a, v), "subsets");
    if (!jv_len(subset))
        return NULL;
    subset = subset->items[0].value;
    const struct jv *addresses = jv_get(subset, "addresses"), *ports = jv_get(subset, "ports");
    if (!jv_len(addresses))
        return NULL;
    return vpa_arena_printf(
        c->a, "%s:%lld", jv_text_at(addresses->items[0].value, "ip"),
        (long long)(jv_len(ports) ? jv_int_at(ports->items[0].value, "port", port) : port));
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
    vpa_buf_append(ctx, data, size * count);
    return vpa_buf_failed(ctx) ? 0 : size * count;
}

static const char *error_text(struct ctx *c, CURLcode rc, const struct outgoing *o,
                              const char *detail)
{
    switch (rc) {
    case CURLE_OPERATION_TIMEDOUT:
        return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
    case CURLE_COULDNT_CONNECT:
        return vpa_arena_printf(c->a, "dial tcp %s: connect: connection refused",
                                o->address ? o->address : "");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return vpa_arena_printf(c->a, "tls: failed to verify certificate: x509: %s", detail);
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
        return "EOF";
    default:
        return *detail ? vpa_arena_strdup(c->a, detail) : curl_easy_strerror(rc);
    }
}

/* Certificates are judged by the cluster's clock. */
static CURLcode set_time(CURL *h, void *ssl_ctx, void *ctx)
{
    const struct sim *sim = ctx;

    (void)h;
    X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(ssl_ctx), (time_t)(sim_now(sim) / VPA_SECOND));
    return CURLE_OK;
}

/* Called without the lock. */
int outgoing_call(struct ctx *c, const struct outgoing *o, struct outgoing_answer *out)
{
    CURL *h = take_handle();
    struct curl_slist *headers = NULL, *route = NULL;
    char detail[CURL_ERROR_SIZE] = "";
    long status = 0;

    vpa_buf_init(&out->body, ANSWER_MAX);
    for (size_t i = 0; i < o->headers.count; i++)
        headers = curl_slist_append(headers, o->headers.items[i]);
    curl_easy_setopt(h, CURLOPT_URL, o->url);
    curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, o->method);
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(h, CURLOPT_ERRORBUFFER, detail);
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, o->timeout_ms);
    curl_easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, &out->body);
    curl_easy_setopt(h, CURLOPT_PROXY, "");
    curl_easy_setopt(h, CURLOPT_SSL_CTX_FUNCTION, set_time);
    curl_easy_setopt(h, CURLOPT_SSL_CTX_DATA, c->sim);
    if (o->body_len) {
        curl_easy_setopt(h, CURLOPT_POSTFIELDS, o->body);
        curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)o->body_len);
    }
    if (o->route) {
        route = curl_slist_append(NULL, o->route);
        curl_easy_setopt(h, CURLOPT_CONNECT_TO, route);
    }
    if (o->ca_len) {
        struct curl_blob blob = {(void *)(uintptr_t)o->ca, o->ca_len, CURL_BLOB_COPY};
        curl_easy_setopt(h, CURLOPT_CAINFO_BLOB, &blob);
        curl_easy_setopt(h, CURLOPT_CAPATH, NULL);
    }
    if (o->cert_file && o->key_file) {
        curl_easy_setopt(h, CURLOPT_SSLCERT, o->cert_file);
        curl_easy_setopt(h, CURLOPT_SSLKEY, o->key_file);
    }
    if (o->insecure) {
        curl_easy_setopt(h, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(h, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    CURLcode rc = curl_easy_perform(h);
    out->no_tls = rc == CURLE_SSL_CONNECT_ERROR;
    if (rc == CURLE_OK) {
        const char *type = NULL;
        curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(h, CURLINFO_CONTENT_TYPE, &type);
        out->status = (int)status;
        out->content_type = type ? vpa_arena_strdup(c->a, type) : "";
    } else {
        out->error = error_text(c, rc, o, detail);
    }
    give_back(h);
    curl_slist_free_all(headers);
    curl_slist_free_all(route);
    return rc == CURLE_OK ? 0 : -1;
}

size_t decode_base64(const char *text, unsigned char *out)
{
    size_t n = 0;
    unsigned bits = 0, held = 0;

    for (; *text && *text != '='; text++) {
        int v = *text >= 'A' && *text <= 'Z'   ? *text - 'A'
                : *text >= 'a' && *text <= 'z' ? *text - 'a' + 26
                : *text >= '0' && *text <= '9' ? *text - '0' + 52
                : *text == '+' || *text == '-' ? 62
                : *text == '/' || *text == '_' ? 63
                                               : -1;
        if (v < 0)
            continue;
        bits = bits << 6 | (unsigned)v;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[n++] = (unsigned char)(bits >> held);
        }
    }
    return n;
}
