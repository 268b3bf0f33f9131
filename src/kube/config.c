/* Credentials of each request, and the in-cluster configuration. Files are read by kubeconfig.c. */
#include "config_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vpa/base/file.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/base/url.h"
#include "vpa/net/monotonic.h"
#include "vpa/net/tls.h"

void vpa_kube_config_free(struct vpa_kube_config *config)
{
    if (!config)
        return;
    vpa_free_secret(config->token);
    vpa_free_secret(config->bearer);
    vpa_arena_release(&config->arena);
    free(config);
}

const char *vpa_kube_config_server(const struct vpa_kube_config *config)
{
    return config->http.base_url;
}

static int refuse_server(const char *text, struct vpa_error *err)
{
    vpa_auto_free char *shown = vpa_url_shown(text);

    return vpa_fail(err, VPA_INVALID, "host must be a URL or a host:port pair: \"%s\"", shown);
}

/* client-go takes what does not parse for a host, whose colon then has a path behind it. */
int normalize_server(struct vpa_arena *arena, const char *text, const char **out, bool *plain_http,
                     struct vpa_error *err)
{
    size_t len = strcspn(text, "?#");
    const char *scheme = strstr(text, "://");
    bool https = vpa_str_starts_with(text, "https://");

    if (scheme && !https && !vpa_str_starts_with(text, "http://"))
        return refuse_server(text, err);
    while (len > 0 && text[len - 1] == '/')
        len--;
    size_t skip = scheme ? (size_t)(scheme + 3 - text) : 0;
    if (len <= skip || text[skip] == '/' || strpbrk(text, " \t\r\n"))
        return refuse_server(text, err);

    const char *url = vpa_arena_printf(arena, "%s%.*s", scheme ? "" : "http://", (int)len, text);
    if (vpa_url_check(url, scheme ? NULL : err) < 0)
        return scheme ? refuse_server(text, err) : -1;
    *out = url;
    *plain_http = !https;
    return 0;
}

struct vpa_kube_config *vpa_kube_config_plain(const char *server)
{
    struct vpa_kube_config *config = vpa_xcalloc(1, sizeof(*config));
    const char **url = &config->http.base_url;

    if (normalize_server(&config->arena, server, url, &config->plain_http, NULL) < 0)
        *url = vpa_arena_strdup(&config->arena, server);
    return config;
}

void vpa_kube_config_use_terminal(struct vpa_kube_config *config)
{
    config->terminal = TERMINAL_USED;
}

void vpa_kube_config_leave_terminal(struct vpa_kube_config *config)
{
    config->terminal = TERMINAL_LEFT;
}

/* In-cluster */

static int read_token(const char *path, char **token, struct vpa_error *err)
{
    vpa_auto_free char *text = NULL;
    size_t len;

    if (vpa_read_file(path, TOKEN_MAX, &text, &len, err) < 0)
        return vpa_wrap(err, "failed to read token file \"%s\"", path);
    struct vpa_slice slice = vpa_slice_trim((struct vpa_slice){text, len});
    if (slice.len == 0)
        return vpa_fail(err, VPA_INVALID, "read empty token from file \"%s\"", path);
    for (size_t i = 0; i < slice.len; i++)
        if (!isgraph((unsigned char)slice.ptr[i])) {
            explicit_bzero(text, len);
            return vpa_fail(err, VPA_INVALID, "token file \"%s\" holds no token", path);
        }
    *token = vpa_xstrndup(slice.ptr, slice.len);
    explicit_bzero(text, len);
    return 0;
}

static void use_cluster_ca(struct vpa_kube_config *config, const char *path)
{
    vpa_auto_free char *pem = NULL;
    struct vpa_error err;
    size_t len;

    if (vpa_read_file(path, VPA_PEM_MAX, &pem, &len, &err) < 0 || vpa_tls_check_ca(pem, &err) < 0) {
        VPA_ERROR("Expected to load root CA config, the system's roots are used instead",
                  VPA_KV("file", path), VPA_KERR(&err));
        return;
    }
    config->http.ca_file = vpa_arena_strdup(&config->arena, path);
}

struct vpa_kube_config *vpa_kube_config_in_cluster(const char *host, const char *port,
                                                   const char *dir, struct vpa_error *err)
{
    if (!host || !*host || !port || !*port) {
        vpa_fail(err, VPA_INVALID,
                 "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
                 "KUBERNETES_SERVICE_PORT must be defined");
        return NULL;
    }
    struct vpa_kube_config *config = vpa_xcalloc(1, sizeof(*config));
    struct vpa_arena *arena = &config->arena;
    bool ipv6 = strchr(host, ':') != NULL;

    config->http.base_url =
        vpa_arena_printf(arena, "https://%s%s%s:%s", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
    config->token_file = vpa_arena_printf(arena, "%s/token", dir);
    if (read_token(config->token_file, &config->token, err) < 0) {
        vpa_kube_config_free(config);
        return NULL;
    }
    use_cluster_ca(config, vpa_arena_printf(arena, "%s/ca.crt", dir));
    return config;
}

const char *vpa_kube_config_namespace(const struct vpa_kube_config *config)
{
    return vpa_or_empty(config->ns);
}

const char *vpa_kube_config_context(const struct vpa_kube_config *config)
{
    return vpa_or_empty(config->context);
}

const char *vpa_kube_pod_namespace(struct vpa_arena *arena, const char *dir)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    const char *given = getenv("POD_NAMESPACE");
    vpa_auto_free char *text = NULL;
    struct vpa_slice name;
    size_t len;

    if (!host || !*host || !port || !*port ||
        access(vpa_arena_printf(arena, "%s/token", dir), F_OK) < 0)
        return "";
    if (given && *given)
        return vpa_arena_strdup(arena, given);
    if (vpa_read_file(vpa_arena_printf(arena, "%s/namespace", dir), NAMESPACE_MAX, &text, &len,
                      NULL) < 0)
        return "";
    name = vpa_slice_trim((struct vpa_slice){text, len});
    return vpa_arena_printf(arena, "%.*s", (int)name.len, name.ptr);
}

/* Connecting */

void vpa_kube_config_client_options(const struct vpa_kube_config *config,
                                    struct vpa_http_client_options *out)
{
    const char *no_http2 = getenv("DISABLE_HTTP2");

    *out = config->http;
    if (config->plain_http)
        *out = (struct vpa_http_client_options){.base_url = config->http.base_url,
                                                .proxy = config->http.proxy,
                                                .no_compression = config->http.no_compression};
    out->no_http2 = no_http2 && *no_http2;
}

struct vpa_transport *vpa_kube_connect(struct vpa_loop *loop, struct vpa_kube_config *config,
                                       struct vpa_error *err)
{
    struct vpa_http_client_options options;

    vpa_kube_config_client_options(config, &options);
    struct vpa_transport *transport = vpa_http_client_new(loop, &options, err);
    config->transport = transport;
    return transport;
}

/* Headers of a request */

static void set_token(struct vpa_kube_config *config, char *token)
{
    vpa_free_secret(config->token);
    config->token = token;
}

/* A server that refuses every token would have the file read for each request. */
static bool token_is_good(const struct vpa_kube_config *config, int64_t now)
{
    bool recent = config->token_tried && now - config->token_tried < TOKEN_RETRY;

    if (config->token_known && now - config->token_read < TOKEN_REREAD)
        return !config->token_refused || recent;
    return config->token_failed && config->token && recent;
}

static int refresh_token_file(struct vpa_kube_config *config, int64_t now, struct vpa_error *err)
{
    struct vpa_error why;
    char *token;

    if (!config->token_known && config->token) { /* read when the configuration was loaded */
        config->token_known = true;
        config->token_read = now;
    }
    if (token_is_good(config, now))
        return 0;
    config->token_tried = now;
    if (read_token(config->token_file, &token, &why) == 0) {
        set_token(config, token);
        config->token_known = true;
        config->token_failed = false;
        config->token_refused = false;
        config->token_read = now;
        return 0;
    }
    if (!config->token) {
        if (err)
            *err = why;
        return -1;
    }
    if (!config->token_failed)
        VPA_ERROR("Unable to rotate token", VPA_KERR(&why));
    config->token_failed = true;
    return 0;
}

static vpa_time wall_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return vpa_time_from_unix(ts.tv_sec, ts.tv_nsec);
}

static int refresh_exec(struct vpa_kube_config *config, int64_t now, struct vpa_error *err)
{
    struct exec_credential credential = {0};
    int64_t started = vpa_monotonic_read();

    if (config->exec_valid && !(config->exec_expires && wall_now() >= config->exec_expiry))
        return 0;
    if (!config->exec_ran || now - config->exec_ran_at >= EXEC_PAUSE) {
        config->exec_failed = exec_plugin_run(config, &credential, &config->exec_error) < 0;
        config->exec_ran = true;
        config->exec_ran_at = now + vpa_monotonic_read() - started;
    } else if (!config->exec_failed) {
        return 0; /* refused, but too early to ask again */
    }
    if (config->exec_failed) {
        if (err)
            *err = config->exec_error;
        return vpa_wrap(err, "getting credentials");
    }
    set_token(config, VPA_STEAL(credential.token));
    if (credential.cert_pem && config->transport)
        vpa_http_client_set_certificate(config->transport, credential.cert_pem, credential.key_pem);
    config->exec_valid = true;
    config->exec_expires = credential.expires;
    config->exec_expiry = credential.expiry;
    exec_credential_release(&credential);
    return 0;
}

void vpa_kube_config_unauthorized(struct vpa_kube_config *config)
{
    config->exec_valid = false;
    config->token_refused = true;
}

int vpa_kube_config_headers(struct vpa_kube_config *config, int64_t monotonic,
                            const struct vpa_header **headers, size_t *count, struct vpa_error *err)
{
    size_t n = 0;

    for (; n < config->impersonation_count && n < VPA_KUBE_AUTH_HEADERS_MAX - 1; n++)
        config->headers[n] = config->impersonation[n];
    if (!config->plain_http) {
        if (config->token_file && refresh_token_file(config, monotonic, err) < 0)
            return -1;
        if (config->exec && refresh_exec(config, monotonic, err) < 0)
            return -1;
        if (config->token) {
            vpa_free_secret(config->bearer);
            config->bearer = vpa_xprintf("Bearer %s", config->token);
            config->headers[n++] = (struct vpa_header){"Authorization", config->bearer};
        } else if (config->basic) {
            config->headers[n++] = (struct vpa_header){"Authorization", config->basic};
        }
    }
    *headers = config->headers;
    *count = n;
    return 0;
}
