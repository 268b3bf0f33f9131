/* The webhook that the recorded scenarios talk of. */
#include <microhttpd.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "contract.h"
#include "vpa/net/tls.h"

struct seen {
    char *path;
    char *body;
};
struct hook {
    struct MHD_Daemon *daemon;
    struct vpa_tls_pair ca, pair;
    char *url, *ca64;
    pthread_mutex_t lock;
    char *reply;
    struct seen *seen;
    size_t count, capacity;
};
struct call {
    char *uri;
    struct vpa_buf body;
    bool begun;
};

static void *on_uri(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct call *c = vpa_xcalloc(1, sizeof(*c));

    (void)cls;
    (void)connection;
    c->uri = vpa_xstrdup(uri);
    vpa_buf_init(&c->body, 8u << 20);
    return c;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **con,
                         enum MHD_RequestTerminationCode how)
{
    struct call *c = *con;

    (void)cls;
    (void)connection;
    (void)how;
    if (!c)
        return;
    free(c->uri);
    vpa_buf_release(&c->body);
    free(c);
    *con = NULL;
}

static enum MHD_Result answer(struct MHD_Connection *connection, int status, const char *text)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
                                                             MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(r, "Content-Type", "application/json");
    enum MHD_Result ok = MHD_queue_response(connection, (unsigned)status, r);
    MHD_destroy_response(r);
    return ok;
}

static enum MHD_Result respond(struct hook *h, struct call *c, struct MHD_Connection *connection)
{
    vpa_auto_arena a = {0};
    struct jv *reply, *review;

    pthread_mutex_lock(&h->lock);
    VPA_GROW(h->seen, h->count, h->capacity);
    h->seen[h->count++] = (struct seen){vpa_xstrdup(c->uri), vpa_xstrdup(vpa_buf_text(&c->body))};
    reply = jv_lit(&a, h->reply ? h->reply : "{\"response\":{\"allowed\":true}}");
    pthread_mutex_unlock(&h->lock);
    int64_t delay = jv_int_at(reply, "delay_ms", 0);
    if (delay) {
        struct timespec t = {delay / 1000, delay % 1000 * 1000000};
        nanosleep(&t, NULL);
    }
    if (jv_get(reply, "raw"))
        return answer(connection, (int)jv_int_at(reply, "http_status", 200),
                      jv_text_at(reply, "raw"));
    if (jv_parse(&a, vpa_buf_text(&c->body), c->body.len, &review, NULL, NULL) < 0)
        return answer(connection, 400, "{}");
    struct jv *out = jv_obj(&a), *response = jv_get(reply, "response");
    response = response ? jv_clone(&a, response) : jv_obj(&a);
    if (!jv_get(response, "uid"))
        jv_set_str(&a, response, "uid", jv_text_at(review, "request.uid"));
    jv_set_str(&a, out, "kind", "AdmissionReview");
    jv_set_str(&a, out, "apiVersion",
               *jv_text_at(reply, "apiVersion") ? jv_text_at(reply, "apiVersion")
                                                : "admission.k8s.io/v1");
    jv_set(&a, out, "response", response);
    return answer(connection, (int)jv_int_at(reply, "http_status", 200), jv_dump(&a, out));
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *len, void **con)
{
    struct call *c = *con;

    (void)url;
    (void)method;
    (void)version;
    if (!c->begun) {
        c->begun = true;
        return MHD_YES;
    }
    if (*len) {
        vpa_buf_append(&c->body, upload, *len);
        *len = 0;
        return MHD_YES;
    }
    return respond(cls, c, connection);
}

static char *base64(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = strlen(text), n = 0;
    char *out = vpa_xmalloc(len * 4 / 3 + 8);

    for (size_t i = 0; i < len; i += 3) {
        unsigned v = (unsigned)(unsigned char)text[i] << 16 |
                     (i + 1 < len ? (unsigned)(unsigned char)text[i + 1] << 8 : 0) |
                     (i + 2 < len ? (unsigned char)text[i + 2] : 0u);
        out[n++] = digits[v >> 18 & 63];
        out[n++] = digits[v >> 12 & 63];
        out[n++] = i + 1 < len ? digits[v >> 6 & 63] : '=';
        out[n++] = i + 2 < len ? digits[v & 63] : '=';
    }
    out[n] = 0;
    return out;
}

struct hook *hook_start(void)
{
    struct hook *h = vpa_xcalloc(1, sizeof(*h));
    struct vpa_error err;
    const char *const names[] = {"127.0.0.1", "localhost"};
    vpa_time now = (vpa_time)time(NULL) * VPA_SECOND;
    struct sockaddr_in addr = {.sin_family = AF_INET};

    pthread_mutex_init(&h->lock, NULL);
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (vpa_tls_create_ca("contract", now, 24 * VPA_HOUR, &h->ca, &err) < 0 ||
        vpa_tls_create_certificate(&h->ca, names, 2, false, now, 24 * VPA_HOUR, &h->pair, &err) <
            0) {
        fprintf(stderr, "contract: %s\n", err.text);
        exit(2);
    }
    h->daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TLS, 0, NULL,
        NULL, on_request, h, MHD_OPTION_SOCK_ADDR, &addr, MHD_OPTION_HTTPS_MEM_CERT,
        h->pair.cert_pem, MHD_OPTION_HTTPS_MEM_KEY, h->pair.key_pem, MHD_OPTION_URI_LOG_CALLBACK,
        on_uri, h, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_END);
    if (!h->daemon) {
        fprintf(stderr, "contract: the webhook cannot be served\n");
        exit(2);
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT);
    h->url = vpa_xprintf("https://127.0.0.1:%u", info->port);
    h->ca64 = base64(h->ca.cert_pem);
    return h;
}

static void forget_seen(struct hook *h)
{
    for (size_t i = 0; i < h->count; i++) {
        free(h->seen[i].path);
        free(h->seen[i].body);
    }
    h->count = 0;
}

void hook_stop(struct hook *h)
{
    MHD_stop_daemon(h->daemon);
    forget_seen(h);
    free(h->seen);
    free(h->reply);
    free(h->url);
    free(h->ca64);
    vpa_tls_pair_release(&h->ca);
    vpa_tls_pair_release(&h->pair);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

const char *hook_url(const struct hook *h)
{
    return h->url;
}

const char *hook_ca(const struct hook *h)
{
    return h->ca64;
}

void hook_set_reply(struct hook *h, const struct jv *reply)
{
    vpa_auto_arena a = {0};

    pthread_mutex_lock(&h->lock);
    free(h->reply);
    h->reply = vpa_xstrdup(jv_dump(&a, reply));
    forget_seen(h);
    pthread_mutex_unlock(&h->lock);
}

struct jv *hook_take_seen(struct hook *h, struct vpa_arena *a)
{
    struct jv *list = jv_arr(a);

    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < h->count; i++) {
        struct jv *one = jv_obj(a), *review;
        if (jv_parse(a, h->seen[i].body, strlen(h->seen[i].body), &review, NULL, NULL) < 0)
            review = jv_null(a);
        jv_set_str(a, one, "path", h->seen[i].path);
        jv_set(a, one, "review", review);
        jv_push(a, list, one);
    }
    forget_seen(h);
    pthread_mutex_unlock(&h->lock);
    return list;
}
