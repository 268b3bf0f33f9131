#include "query_api.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "access.h"
#include "api_meters.h"
#include "front_proxy.h"
#include "metrics.h"
#include "query_certificate.h"
#include "query_documents.h"
#include "query_object.h"

#include "vpa/base/file.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/certificate_manager.h"
#include "vpa/net/tls.h"

/* As the webhook's: two share handshakes and ordinary requests, one takes large pods. */
#define THREADS 2
#define WORKERS 1
#define CONFIG_MAP_MAX ((size_t)2 << 20)
#define COLLECTION "/apis/" QUERY_API_VERSION "/namespaces/"
#define RESOURCE "/" QUERY_RESOURCE

struct query_api {
    struct query_api_options options;
    struct vpa_http_server *server; /* NULL: not started */
    struct access *access;
    struct vpa_tls_pair pair;              /* that is served */
    struct query_certificate *certificate; /* NULL: files */
    struct vpa_timer *files_timer;
    struct vpa_timer *settings_timer;
    struct vpa_kube_request *reading; /* the settings, under way */
    char *said;                       /* the failure that was logged last, of the settings */
    char *said_of_pair;
    pthread_mutex_t lock;
    struct front_proxy *front; /* guarded by lock; NULL: not known yet */
};

int query_api_check(const struct query_api_config *config, struct vpa_error *err)
{
    char host[256];
    int port;

    if (!*config->address)
        return 0;
    if (config->manage_certificates ? *config->cert_file || *config->key_file
                                    : !*config->cert_file || !*config->key_file)
        return vpa_fail(err, VPA_INVALID,
                        "--recommendation-api-address needs --recommendation-api-cert-file and "
                        "--recommendation-api-key-file, or "
                        "--recommendation-api-manage-certificates without them.");
    if (config->certificate_lifetime < VPA_CERTIFICATE_LIFETIME_MIN)
        return vpa_fail(err, VPA_INVALID,
                        "--recommendation-api-certificate-lifetime must be at least 10m0s.");
    if (vpa_address_parse(config->address, host, &port, err) < 0)
        return vpa_wrap(err, "--recommendation-api-address");
    return 0;
}

/* ---- the answer, on a thread of the listener ---- */

const char *query_api_namespace(struct vpa_arena *arena, const char *path)
{
    const char *slash, *ns;

    if (!vpa_str_starts_with(path, COLLECTION))
        return NULL;
    path += strlen(COLLECTION);
    slash = strchr(path, '/');
    if (!slash || strcmp(slash, RESOURCE) != 0)
        return NULL;
    ns = vpa_arena_strndup(arena, path, (size_t)(slash - path));
    return vpa_is_dns1123_label(ns) ? ns : NULL;
}

static struct front_proxy *acquire(struct query_api *api)
{
    pthread_mutex_lock(&api->lock);
    struct front_proxy *front = api->front ? front_proxy_ref(api->front) : NULL;
    pthread_mutex_unlock(&api->lock);
    return front;
}

/* Certificates are made and end by the real clock, whatever time the cluster plays. */
static vpa_time real_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return vpa_time_from_unix((int64_t)now.tv_sec, 0);
}

static const char *forbid(struct vpa_arena *arena, const struct caller *caller, const char *ns,
                          struct vpa_server_response *response)
{
    return query_refuse(response, 403, "Forbidden",
                        vpa_arena_printf(arena,
                                         QUERY_RESOURCE
                                         "." QUERY_GROUP
                                         " is forbidden: User \"%s\" cannot create resource "
                                         "\"" QUERY_RESOURCE "\" in API group \"" QUERY_GROUP
                                         "\" in the namespace \"%s\"",
                                         caller->user, ns));
}

/* The reason why not; NULL: the caller is known. */
static const char *identify(struct query_api *api, const struct vpa_server_request *request,
                            struct vpa_arena *arena, struct caller *caller,
                            struct vpa_server_response *response)
{
    struct front_proxy *front = acquire(api);
    struct vpa_error err;

    if (!front)
        return query_refuse(response, 503, "ServiceUnavailable",
                            "how the cluster authenticates its proxies is not known yet");
    int rc = front_proxy_identify(front, request, real_now(), arena, caller, &err);
    front_proxy_unref(front);
    if (rc == 0)
        return NULL;
    VPA_V(4, "A recommendation query of a stranger", VPA_KERR(&err));
    return err.code == VPA_LIMIT ? query_refuse(response, 400, "BadRequest", err.text)
                                 : query_refuse(response, 401, "Unauthorized", "Unauthorized");
}

/* The reason why not; NULL: the query may be answered. */
static const char *refuse(struct query_api *api, const struct vpa_server_request *request,
                          struct vpa_arena *arena, const char *ns,
                          struct vpa_server_response *response)
{
    struct caller caller = {.user = ""};
    const char *reason = identify(api, request, arena, &caller, response);

    if (reason)
        return reason;
    if (!vpa_str_eq(request->method, "POST"))
        return query_refuse(response, 405, "MethodNotAllowed",
                            "the server does not allow this method on the requested resource");
    switch (access_ask(api->access, &caller, ns)) {
    case ACCESS_ALLOWED:
        return NULL;
    case ACCESS_DENIED:
        return forbid(arena, &caller, ns, response);
    case ACCESS_UNKNOWN:
        break;
    }
    return query_refuse(response, 503, "ServiceUnavailable",
                        "the API server does not say whether this is allowed");
}

static void answer_document(const struct vpa_server_request *request,
                            struct vpa_server_response *response)
{
    char *text = query_document(request->path);

    if (!text) {
        query_refuse(response, 404, "NotFound", "the server could not find the requested resource");
        return;
    }
    *response = (struct vpa_server_response){.status = 200,
                                             .content_type = "application/json",
                                             .nosniff = true,
                                             .body = text,
                                             .body_len = strlen(text)};
}

static bool asks_for_health(const char *path)
{
    return strcmp(path, "/healthz") == 0 || strcmp(path, "/livez") == 0 ||
           strcmp(path, "/readyz") == 0;
}

static void answer(void *ctx, const struct vpa_server_request *request,
                   struct vpa_server_response *response)
{
    struct query_api *api = ctx;
    vpa_auto_arena arena = {0};
    const char *ns = query_api_namespace(&arena, request->path);

    if (ns) {
        const char *reason = refuse(api, request, &arena, ns, response);
        if (reason)
            vpa_metric_inc(&metrics_queries, reason);
        else
            query_answer_in(api->options.query, ns, request, response);
    } else if (!vpa_str_eq(request->method, "GET") && !vpa_str_eq(request->method, "HEAD")) {
        query_refuse(response, 405, "MethodNotAllowed",
                     "the server does not allow this method on the requested resource");
    } else if (asks_for_health(request->path)) {
        vpa_server_reply_text(response, 200, "ok");
    } else {
        answer_document(request, response);
    }
}

/* ---- the cluster's settings, on the loop ---- */

static void take_front(struct query_api *api, struct front_proxy *front)
{
    pthread_mutex_lock(&api->lock);
    struct front_proxy *old = api->front;
    api->front = front;
    pthread_mutex_unlock(&api->lock);
    front_proxy_unref(old);
    vpa_replace_text(&api->said, NULL);
}

static int read_settings(struct query_api *api, const struct vpa_kube_result *result,
                         const struct vpa_error *failure, struct vpa_error *err)
{
    const struct vpa_json *config_map = NULL;
    vpa_auto_arena arena = {0};

    if (failure && failure->code != VPA_NOT_FOUND) {
        *err = *failure;
        return -1;
    }
    if (!failure && vpa_json_parse(&arena, result->body, result->body_len, &config_map, err) < 0)
        return -1;
    struct front_proxy *front = front_proxy_new(config_map, err);
    if (!front)
        return -1;
    take_front(api, front);
    return 0;
}

/* What was known before stays when the new cannot be read. */
static void on_settings(void *ctx, const struct vpa_kube_result *result,
                        const struct vpa_error *failure)
{
    struct query_api *api = ctx;
    struct vpa_error err;

    api->reading = NULL;
    if (read_settings(api, result, failure, &err) < 0 && !vpa_error_says(&err, api->said)) {
        vpa_replace_text(&api->said, err.text);
        VPA_ERROR_UNLESS_TOLD(&err, "Cannot read how the cluster authenticates its proxies",
                              VPA_KERR(&err));
    }
    vpa_timer_start(api->settings_timer, api->front ? QUERY_API_LOOK : QUERY_API_LOOK_FIRST);
}

static void look_at_settings(void *ctx)
{
    struct query_api *api = ctx;
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET,
                                       .path = FRONT_PROXY_PATH,
                                       .response_max = CONFIG_MAP_MAX,
                                       .unlimited = true};

    api->reading = vpa_kube_start(api->options.client, &call, on_settings, api);
}

/* ---- the certificate ---- */

static int read_files(const struct query_api_config *config, struct vpa_tls_pair *out,
                      struct vpa_error *err)
{
    struct vpa_tls_pair pair = {0};
    size_t len;

    if (vpa_read_file(config->cert_file, VPA_PEM_MAX, &pair.cert_pem, &len, err) == 0 &&
        vpa_read_file(config->key_file, VPA_PEM_MAX, &pair.key_pem, &len, err) == 0) {
        *out = pair;
        return 0;
    }
    vpa_tls_pair_release(&pair);
    return -1;
}

static bool is_same(const struct vpa_tls_pair *a, const struct vpa_tls_pair *b)
{
    return vpa_str_eq(a->cert_pem, b->cert_pem) && vpa_str_eq(a->key_pem, b->key_pem);
}

static void on_failed_handshake(void *ctx, const char *reason)
{
    (void)ctx;
    vpa_metric_inc(&api_meter_handshakes, reason);
}

static int listen(struct query_api *api, const struct vpa_tls_pair *pair, struct vpa_error *err)
{
    const struct vpa_server_tls tls = {
        .cert_pem = pair->cert_pem, .key_pem = pair->key_pem, .asks_for_certificate = true};
    const struct vpa_http_server_options server = {.address = api->options.config->address,
                                                   .handler = answer,
                                                   .ctx = api,
                                                   .threads = THREADS,
                                                   .workers = WORKERS,
                                                   .on_failed_handshake = on_failed_handshake,
                                                   .tls = &tls};

    api->server = vpa_http_server_new(api->options.loop, &server, err);
    return api->server ? 0 : -1;
}

/* Takes the pair when it can be served; a bad one never replaces a good one. */
static int serve(struct query_api *api, struct vpa_tls_pair *pair, struct vpa_error *err)
{
    bool first = !api->server;

    if ((first ? listen(api, pair, err)
               : vpa_http_server_reload(api->server, pair->cert_pem, pair->key_pem, err)) < 0)
        return -1;
    if (!first)
        VPA_INFO("The recommendation API serves a new certificate");
    api_meter_serves(pair->cert_pem);
    vpa_tls_pair_release(&api->pair);
    api->pair = *pair;
    *pair = (struct vpa_tls_pair){0};
    return 0;
}

/* A pair that is half written is no pair: the next look sees the other half. */
static int reload(struct query_api *api, struct vpa_error *err)
{
    struct vpa_tls_pair pair = {0};
    int result = 0;

    if (read_files(api->options.config, &pair, err) < 0)
        return -1;
    if (!is_same(&pair, &api->pair))
        result = serve(api, &pair, err);
    vpa_tls_pair_release(&pair);
    return result;
}

/* err NULL: it worked. */
static void tell_of_pair(struct query_api *api, const struct vpa_error *err)
{
    if (err)
        vpa_metric_inc(&api_meter_failures, "listener");
    if (err && vpa_error_says(err, api->said_of_pair))
        return;
    vpa_replace_text(&api->said_of_pair, err ? err->text : NULL);
    if (!err)
        return;
    query_certificate_warn(api->options.events, "CertificateNotServed", err);
    if (api->certificate)
        VPA_ERROR("The recommendation API cannot serve its managed certificate", VPA_KERR(err));
    else
        VPA_ERROR("The recommendation API keeps its certificate, the files cannot be used",
                  VPA_KERR(err));
}

void query_api_look_at_files(struct query_api *api)
{
    struct vpa_error err;

    tell_of_pair(api, reload(api, &err) < 0 ? &err : NULL);
    vpa_timer_start(api->files_timer, QUERY_API_FILES_LOOK);
}

static void on_files_timer(void *ctx)
{
    query_api_look_at_files(ctx);
}

bool query_api_is_due(const struct query_api *api)
{
    return api->certificate && query_certificate_is_due(api->certificate);
}

static void serve_copy(struct query_api *api, const struct vpa_tls_pair *of)
{
    struct vpa_tls_pair pair = {.cert_pem = vpa_xstrdup(of->cert_pem),
                                .key_pem = vpa_xstrdup(of->key_pem)};
    struct vpa_error err;

    tell_of_pair(api, serve(api, &pair, &err) < 0 ? &err : NULL);
    vpa_tls_pair_release(&pair);
}

void query_api_work(struct query_api *api)
{
    const struct vpa_tls_pair *next;

    query_certificate_work(api->certificate);
    next = query_certificate_next(api->certificate, api->pair.cert_pem);
    if (next)
        serve_copy(api, next);
    if (api->pair.cert_pem && !query_certificate_is_taken(api->certificate, api->pair.cert_pem))
        vpa_metric_inc(&api_meter_failures, "chain");
}

/* ---- life ---- */

struct query_api *query_api_new(const struct query_api_options *options)
{
    struct query_api *api = vpa_xcalloc(1, sizeof(*api));

    api->options = *options;
    api->access = access_new(options->loop, options->client);
    if (options->config->manage_certificates)
        api->certificate = query_certificate_new(
            &(struct query_certificate_options){.client = options->client,
                                                .ns = options->ns,
                                                .secret = options->config->certificate_secret,
                                                .service = options->config->service,
                                                .lifetime = options->config->certificate_lifetime,
                                                .may_write = options->leads,
                                                .ctx = options->ctx,
                                                .events = options->events});
    api->files_timer = vpa_timer_new(options->loop, on_files_timer, api);
    api->settings_timer = vpa_timer_new(options->loop, look_at_settings, api);
    pthread_mutex_init(&api->lock, NULL);
    return api;
}

static int start_with_files(struct query_api *api, struct vpa_error *err)
{
    struct vpa_tls_pair pair = {0};

    if (read_files(api->options.config, &pair, err) < 0)
        return -1;
    int result = serve(api, &pair, err);
    vpa_tls_pair_release(&pair);
    if (result == 0)
        vpa_timer_start(api->files_timer, QUERY_API_FILES_LOOK);
    return result;
}

int query_api_start(struct query_api *api, struct vpa_error *err)
{
    if (!api->certificate && start_with_files(api, err) < 0)
        return vpa_wrap(err, "recommendation API");
    look_at_settings(api);
    return 0;
}

int query_api_port(const struct query_api *api)
{
    return api->server ? vpa_http_server_port(api->server) : 0;
}

void query_api_free(struct query_api *api)
{
    if (!api)
        return;
    access_stop(api->access);
    vpa_http_server_free(api->server);
    access_free(api->access);
    if (api->reading)
        vpa_kube_cancel(api->reading);
    vpa_timer_free(api->files_timer);
    vpa_timer_free(api->settings_timer);
    query_certificate_free(api->certificate);
    vpa_tls_pair_release(&api->pair);
    front_proxy_unref(api->front);
    pthread_mutex_destroy(&api->lock);
    free(api->said);
    free(api->said_of_pair);
    free(api);
}
