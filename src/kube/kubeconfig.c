/*
 * Reading kubeconfigs: YAML to the JSON reader, the current context with its cluster and user, and
 * the checks of clientcmd with its messages. A field of a wrong type is named with its place; all
 * complaints of the checks are collected, as upstream does: one stands alone, several in brackets.
 * Of several files each entry comes whole from the first one that has its name.
 */
#include "config_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vpa/api/review.h"
#include "vpa/base/buf.h"
#include "vpa/base/file.h"
#include "vpa/base/str.h"
#include "vpa/base/url.h"
#include "vpa/json/yaml.h"
#include "vpa/net/tls.h"

#define COMPLAINTS_MAX ((size_t)8192)
#define LIST_MAX 256

struct source {
    const char *path; /* NULL: a text that is no file */
    const char *dir;  /* of relative file names */
    const struct vpa_json *root;
};

struct reader {
    struct vpa_kube_config *config;
    struct vpa_arena *arena; /* the config's: texts that stay */
    const struct source *sources;
    size_t source_count;
    const struct source *source;          /* of the entry that is read */
    const char *context, *cluster, *user; /* names */
    struct vpa_buf complaints;
    size_t complaint_count;
    struct vpa_error *err;
    bool failed; /* err is set: wrong type or undecodable data */
};

static void complain(struct reader *r, const char *fmt, ...) VPA_PRINTF(2, 3);
static void complain(struct reader *r, const char *fmt, ...)
{
    va_list args;

    if (r->complaint_count++)
        vpa_buf_puts(&r->complaints, ", ");
    va_start(args, fmt);
    vpa_buf_vprintf(&r->complaints, fmt, args);
    va_end(args);
}

/* Behind an error of that source, NULL: of no single one. */
static int name_source(struct reader *r, const struct source *source)
{
    if (source && source->path)
        return vpa_wrap(r->err, "error loading config file \"%s\"", source->path);
    return -1;
}

static void wrong_type(struct reader *r, const char *entry, const char *field,
                       const struct vpa_json *node, const char *wanted)
{
    if (!r->failed) {
        vpa_fail(r->err, VPA_INVALID, "invalid configuration: %s: %s: expected %s, got %s", entry,
                 field, wanted, vpa_json_type_name(node));
        name_source(r, r->source);
    }
    r->failed = true;
}

/* A text member, NULL when absent, null or empty. */
static const char *text(struct reader *r, const struct vpa_json *object, const char *entry,
                        const char *field)
{
    const struct vpa_json *node = vpa_json_find(object, field);
    const char *value = vpa_json_string(node);

    if (vpa_json_is_null(node) || (value && !*value))
        return NULL;
    if (!value) {
        wrong_type(r, entry, field, node, "string");
        return NULL;
    }
    return vpa_arena_strdup(r->arena, value);
}

static bool flag(struct reader *r, const struct vpa_json *object, const char *entry,
                 const char *field)
{
    const struct vpa_json *node = vpa_json_find(object, field);
    bool value = false;

    if (!vpa_json_is_null(node) && !vpa_json_bool(node, &value))
        wrong_type(r, entry, field, node, "boolean");
    return value;
}

/* A file name, relative ones against the directory of the kubeconfig. */
static const char *file(struct reader *r, const struct vpa_json *object, const char *entry,
                        const char *field)
{
    const char *name = text(r, object, entry, field);

    if (!name || name[0] == '/')
        return name;
    return vpa_arena_printf(r->arena, "%s/%s", r->source->dir, name);
}

static const char *data(struct reader *r, const struct vpa_json *object, const char *entry,
                        const char *field, const char **base64)
{
    const char *encoded = text(r, object, entry, field);
    const char *kept = NULL;
    struct vpa_buf decoded;

    if (!encoded)
        return NULL;
    vpa_buf_init(&decoded, VPA_PEM_MAX);
    if (vpa_base64_decode(&decoded, encoded, strlen(encoded), NULL) < 0 ||
        vpa_buf_failed(&decoded) || strlen(vpa_buf_text(&decoded)) != decoded.len) {
        if (!r->failed) {
            vpa_fail(r->err, VPA_INVALID, "invalid configuration: %s: %s: illegal base64 data",
                     entry, field);
            name_source(r, r->source);
        }
        r->failed = true;
    } else {
        kept = vpa_arena_strdup(r->arena, vpa_buf_text(&decoded));
        if (base64)
            *base64 = encoded;
    }
    if (decoded.data)
        explicit_bzero(decoded.data, decoded.len);
    vpa_buf_release(&decoded);
    return kept;
}

static void check_readable(struct reader *r, const char *what, const char *path, const char *entry)
{
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

    if (!path)
        return;
    if (fd < 0)
        complain(r, "unable to read %s %s for %s due to open %s: %s", what, path, entry, path,
                 strerror(errno));
    else
        close(fd);
}

/* The member of the first entry of that name; what is read next is read from its source. */
static const struct vpa_json *find(struct reader *r, const char *list, const char *name,
                                   const char *member, bool *found)
{
    *found = true;
    for (size_t i = 0; i < r->source_count; i++) {
        vpa_json_foreach (item, vpa_json_find(r->sources[i].root, list)) {
            if (vpa_str_eq(vpa_json_string(vpa_json_find(item, "name")), name)) {
                r->source = &r->sources[i];
                return vpa_json_find(item, member);
            }
        }
    }
    *found = false;
    return NULL;
}

/* Cluster */

static void check_proxy(struct reader *r)
{
    const char *proxy = r->config->http.proxy;
    const char *shown = proxy && strchr(proxy, '@') ? "(with credentials)" : proxy;

    if (!proxy)
        return;
    if (vpa_url_check(proxy, NULL) < 0)
        complain(r, "invalid 'proxy-url' \"%s\" for cluster \"%s\": could not parse: %s", shown,
                 r->cluster, shown);
    else if (!vpa_str_starts_with(proxy, "http://") && !vpa_str_starts_with(proxy, "https://") &&
             !vpa_str_starts_with(proxy, "socks5://"))
        complain(r,
                 "invalid 'proxy-url' \"%s\" for cluster \"%s\": unsupported scheme, must be http, "
                 "https, or socks5",
                 shown, r->cluster);
}

static void read_cluster(struct reader *r, const struct vpa_json *cluster)
{
    struct vpa_http_client_options *c = &r->config->http;
    const char *entry = vpa_arena_printf(r->arena, "cluster \"%s\"", r->cluster);
    const char *server = text(r, cluster, entry, "server");
    struct vpa_error why;

    c->ca_file = file(r, cluster, entry, "certificate-authority");
    c->ca_data = data(r, cluster, entry, "certificate-authority-data", &r->config->ca_base64);
    c->insecure = flag(r, cluster, entry, "insecure-skip-tls-verify");
    c->server_name = text(r, cluster, entry, "tls-server-name");
    c->proxy = text(r, cluster, entry, "proxy-url");
    c->no_compression = flag(r, cluster, entry, "disable-compression");
    if (!server)
        complain(r, "no server found for cluster \"%s\"", r->cluster);
    else if (normalize_server(r->arena, server, &c->base_url, &r->config->plain_http, &why) < 0)
        complain(r, "%s", why.text);
    check_proxy(r);
    if (c->ca_file && c->ca_data)
        complain(r,
                 "certificate-authority-data and certificate-authority are both specified for %s. "
                 "certificate-authority-data will override.",
                 r->cluster);
    check_readable(r, "certificate-authority", c->ca_file, r->cluster);
    if (c->insecure && (c->ca_file || c->ca_data))
        complain(r, "specifying a root certificates file with the insecure flag is not allowed");
}

/* User */

static const char *const *text_list(struct reader *r, const struct vpa_json *list,
                                    const char *entry, const char *field, size_t *count)
{
    size_t n = vpa_json_count(list), i = 0;

    *count = 0;
    if (vpa_json_is_null(list))
        return NULL;
    if (!vpa_json_is_array(list) || n > LIST_MAX) {
        wrong_type(r, entry, field, list, "a short list");
        return NULL;
    }
    const char **out = vpa_arena_zalloc(r->arena, (n + 1) * sizeof(*out));
    vpa_json_foreach (item, list) {
        if (!vpa_json_string(item)) {
            wrong_type(r, entry, field, item, "string");
            return NULL;
        }
        out[i++] = vpa_arena_strdup(r->arena, vpa_json_string(item));
    }
    *count = n;
    return out;
}

/* A header that a line end in a value would break into two. */
static void add_header(struct reader *r, struct vpa_header *headers, size_t *count,
                       const char *name, const char *value)
{
    if (strpbrk(name, "\r\n: ") || strpbrk(value, "\r\n")) {
        complain(r, "impersonation of %s holds characters that a header cannot", r->user);
        return;
    }
    if (*count < VPA_KUBE_AUTH_HEADERS_MAX - 1)
        headers[(*count)++] = (struct vpa_header){name, value};
    else if (*count == VPA_KUBE_AUTH_HEADERS_MAX - 1)
        complain(r, "more than %d impersonation headers for %s", VPA_KUBE_AUTH_HEADERS_MAX - 1,
                 r->user);
}

/* Keys of extra fields travel in header names: what is not a token character is percent-escaped. */
static const char *extra_header(struct reader *r, const char *key)
{
    vpa_auto_buf name = VPA_BUF(1024);

    vpa_buf_puts(&name, "Impersonate-Extra-");
    for (const unsigned char *p = (const unsigned char *)key; *p; p++)
        if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
            strchr("!#$&'*+-.^_`|~", *p))
            vpa_buf_putc(&name, (char)*p);
        else
            vpa_buf_printf(&name, "%%%02X", *p);
    return vpa_arena_strdup(r->arena, vpa_buf_text(&name));
}

static void read_impersonation(struct reader *r, const struct vpa_json *user, const char *entry)
{
    struct vpa_header *headers =
        vpa_arena_zalloc(r->arena, VPA_KUBE_AUTH_HEADERS_MAX * sizeof(*headers));
    const char *as = text(r, user, entry, "as"), *uid = text(r, user, entry, "as-uid");
    const struct vpa_json *extra = vpa_json_find(user, "as-user-extra");
    size_t count = 0, group_count, value_count;
    const char *const *groups =
        text_list(r, vpa_json_find(user, "as-groups"), entry, "as-groups", &group_count);

    if (!as) {
        if (uid || group_count > 0 || vpa_json_count(extra) > 0)
            complain(r, "requesting uid, groups or user-extra for %s without impersonating a user",
                     r->user);
        return;
    }
    add_header(r, headers, &count, "Impersonate-User", as);
    if (uid)
        add_header(r, headers, &count, "Impersonate-Uid", uid);
    for (size_t i = 0; i < group_count; i++)
        add_header(r, headers, &count, "Impersonate-Group", groups[i]);
    vpa_json_foreach (member, extra) {
        const char *const *values = text_list(r, member, entry, "as-user-extra", &value_count);
        for (size_t i = 0; i < value_count; i++)
            add_header(r, headers, &count, extra_header(r, vpa_json_name(member)), values[i]);
    }
    r->config->impersonation = headers;
    r->config->impersonation_count = count;
}

static void read_exec_env(struct reader *r, const struct vpa_json *list, struct exec_plugin *plugin,
                          const char *entry)
{
    size_t n = vpa_json_count(list);

    if (n > LIST_MAX) {
        wrong_type(r, entry, "exec.env", list, "a short list");
        return;
    }
    struct vpa_header *env = vpa_arena_zalloc(r->arena, (n + 1) * sizeof(*env));
    vpa_json_foreach (item, list) {
        const char *name = text(r, item, entry, "name"), *value = text(r, item, entry, "value");

        if (!name)
            complain(r,
                     "env variable name must be specified for %s to use exec authentication plugin",
                     r->user);
        else
            env[plugin->env_count++] = (struct vpa_header){name, value ? value : ""};
    }
    plugin->env = env;
}

static void read_exec(struct reader *r, const struct vpa_json *exec, const char *entry)
{
    struct exec_plugin *plugin = vpa_arena_zalloc(r->arena, sizeof(*plugin));
    const char *mode = text(r, exec, entry, "interactiveMode");

    plugin->command = text(r, exec, entry, "command");
    plugin->api_version = text(r, exec, entry, "apiVersion");
    plugin->install_hint = text(r, exec, entry, "installHint");
    plugin->provide_cluster_info = flag(r, exec, entry, "provideClusterInfo");
    plugin->args =
        text_list(r, vpa_json_find(exec, "args"), entry, "exec.args", &plugin->arg_count);
    read_exec_env(r, vpa_json_find(exec, "env"), plugin, entry);
    if (!plugin->command)
        complain(r, "command must be specified for %s to use exec authentication plugin", r->user);
    if (!plugin->api_version)
        complain(r, "apiVersion must be specified for %s to use exec authentication plugin",
                 r->user);
    else if (strcmp(plugin->api_version, "client.authentication.k8s.io/v1") != 0 &&
             strcmp(plugin->api_version, "client.authentication.k8s.io/v1beta1") != 0)
        complain(r, "exec plugin: invalid apiVersion \"%s\"", plugin->api_version);
    if (!mode && plugin->api_version && vpa_str_ends_with(plugin->api_version, "/v1"))
        complain(r, "interactiveMode must be specified for %s to use exec authentication plugin",
                 r->user);
    else if (mode && strcmp(mode, "Never") != 0 && strcmp(mode, "IfAvailable") != 0 &&
             strcmp(mode, "Always") != 0)
        complain(r, "invalid interactiveMode for %s: \"%s\"", r->user, mode);
    plugin->interactive = vpa_str_eq(mode, "Always")  ? EXEC_ALWAYS
                          : vpa_str_eq(mode, "Never") ? EXEC_NEVER
                                                      : EXEC_IF_AVAILABLE;
    if (plugin->command && plugin->command[0] != '/' && strchr(plugin->command, '/'))
        plugin->command = vpa_arena_printf(r->arena, "%s/%s", r->source->dir, plugin->command);
    r->config->exec = plugin;
}

static void read_client_certificate(struct reader *r, const struct vpa_json *user,
                                    const char *entry)
{
    struct vpa_http_client_options *c = &r->config->http;

    c->cert_file = file(r, user, entry, "client-certificate");
    c->cert_data = data(r, user, entry, "client-certificate-data", NULL);
    c->key_file = file(r, user, entry, "client-key");
    c->key_data = data(r, user, entry, "client-key-data", NULL);
    if (!c->cert_file && !c->cert_data)
        return;
    if (c->cert_file && c->cert_data)
        complain(r,
                 "client-cert-data and client-cert are both specified for %s. client-cert-data "
                 "will override.",
                 r->user);
    if (c->key_file && c->key_data)
        complain(r,
                 "client-key-data and client-key are both specified for %s; client-key-data will "
                 "override",
                 r->user);
    if (!c->key_file && !c->key_data)
        complain(r,
                 "client-key-data or client-key must be specified for %s to use the clientCert "
                 "authentication method.",
                 r->user);
    check_readable(r, "client-cert", c->cert_file, r->user);
    check_readable(r, "client-key", c->key_file, r->user);
}

static void read_user(struct reader *r, const struct vpa_json *user)
{
    struct vpa_kube_config *c = r->config;
    const char *entry = vpa_arena_printf(r->arena, "user \"%s\"", r->user);
    const char *token = text(r, user, entry, "token");
    const char *name = text(r, user, entry, "username");
    const char *password = text(r, user, entry, "password");

    c->token_file = file(r, user, entry, "tokenFile");
    if (token && strpbrk(token, "\r\n"))
        complain(r, "token of %s holds a line end", r->user);
    else if (token)
        c->token = vpa_xstrdup(token);
    if (name || password) {
        vpa_auto_free char *pair = vpa_xprintf("%s:%s", vpa_or_empty(name), vpa_or_empty(password));
        vpa_auto_buf encoded = VPA_BUF(VPA_KUBECONFIG_MAX);
        vpa_base64_encode(&encoded, pair, strlen(pair));
        c->basic = vpa_arena_printf(r->arena, "Basic %s", vpa_buf_text(&encoded));
        explicit_bzero(pair, strlen(pair));
    }
    if (token && c->basic)
        complain(r,
                 "more than one authentication method found for %s; found [token basicAuth], only "
                 "one is allowed",
                 r->user);
    read_client_certificate(r, user, entry);
    if (!vpa_json_is_null(vpa_json_find(user, "auth-provider")))
        complain(r, "no Auth Provider found for name \"%s\"",
                 vpa_json_text(user, "auth-provider.name"));
    if (!vpa_json_is_null(vpa_json_find(user, "exec")))
        read_exec(r, vpa_json_find(user, "exec"), entry);
    if (token || c->token_file || c->basic || c->http.cert_file || c->http.cert_data)
        c->exec = NULL; /* not used beside other credentials (3.5) */
    read_impersonation(r, user, entry);
}

/* The whole */

static void read_context(struct reader *r)
{
    bool found;
    const struct vpa_json *context = find(r, "contexts", r->context, "context", &found);

    if (!found) {
        complain(r, "context was not found for specified context: %s", r->context);
        return;
    }
    r->config->context = vpa_arena_strdup(r->arena, r->context);
    r->cluster = vpa_or_empty(text(r, context, "context", "cluster"));
    r->config->ns = text(r, context, "context", "namespace");
    r->user = vpa_or_empty(text(r, context, "context", "user"));
    const struct vpa_json *cluster = find(r, "clusters", r->cluster, "cluster", &found);
    if (found)
        read_cluster(r, cluster);
    else
        complain(r, "cluster \"%s\" was not found for context \"%s\"", r->cluster, r->context);
    if (!*r->user)
        return;
    const struct vpa_json *user = find(r, "users", r->user, "user", &found);
    if (found)
        read_user(r, user);
    else
        complain(r, "user \"%s\" was not found for context \"%s\"", r->user, r->context);
}

/* The first that is not empty. */
static const char *current_context(struct reader *r)
{
    const char *name = NULL;

    for (size_t i = 0; !name && i < r->source_count; i++) {
        r->source = &r->sources[i];
        name = text(r, r->source->root, "kubeconfig", "current-context");
    }
    return vpa_or_empty(name);
}

static int read_all(struct reader *r)
{
    bool found, given = *r->context;

    if (!given)
        r->context = current_context(r);
    if (r->failed)
        return -1;
    find(r, "contexts", r->context, "context", &found);
    if (given && !found)
        return vpa_fail(r->err, VPA_INVALID, "context \"%s\" does not exist", r->context);
    if (*r->context)
        read_context(r);
    else
        complain(r, "no configuration has been provided, try setting KUBERNETES_MASTER "
                    "environment variable");
    if (r->failed)
        return -1;
    if (r->complaint_count == 0)
        return 0;
    vpa_fail(r->err, VPA_INVALID, "invalid configuration: %s%s%s",
             r->complaint_count > 1 ? "[" : "", vpa_buf_text(&r->complaints),
             r->complaint_count > 1 ? "]" : "");
    return name_source(r, r->source_count == 1 ? r->sources : NULL);
}

static const char *const lists[] = {"clusters", "contexts", "users"};

static bool is_empty(const struct reader *r)
{
    for (size_t i = 0; i < r->source_count; i++)
        for (size_t k = 0; k < VPA_COUNT(lists); k++)
            if (vpa_json_count(vpa_json_find(r->sources[i].root, lists[k])) > 0)
                return false;
    return true;
}

static struct vpa_kube_config *in_cluster(struct vpa_error *err)
{
    return vpa_kube_config_in_cluster(getenv("KUBERNETES_SERVICE_HOST"),
                                      getenv("KUBERNETES_SERVICE_PORT"), VPA_SERVICE_ACCOUNT_DIR,
                                      err);
}

/* context NULL or "": the current one. In-cluster where neither names one and there is no entry. */
static struct vpa_kube_config *config_of(const struct source *sources, size_t count,
                                         const char *context, struct vpa_error *err)
{
    struct vpa_kube_config *config = vpa_xcalloc(1, sizeof(*config));
    struct vpa_error why;
    struct reader r = {.config = config,
                       .arena = &config->arena,
                       .sources = sources,
                       .source_count = count,
                       .context = vpa_or_empty(context),
                       .cluster = "",
                       .user = "",
                       .err = &why};

    vpa_buf_init(&r.complaints, COMPLAINTS_MAX);
    if (read_all(&r) < 0) {
        bool empty = !r.failed && !*r.context && is_empty(&r);
        vpa_kube_config_free(config);
        config = empty ? in_cluster(count == 0 ? &why : NULL) : NULL;
        if (!config && err)
            *err = why;
    }
    vpa_buf_release(&r.complaints);
    return config;
}

/* Lists of another type, which would be passed over as if they were not there. */
static int check_lists(const struct vpa_json *root, struct vpa_error *err)
{
    for (size_t k = 0; k < VPA_COUNT(lists); k++) {
        const struct vpa_json *list = vpa_json_find(root, lists[k]);

        if (!vpa_json_is_null(list) && !vpa_json_is_array(list))
            return vpa_fail(err, VPA_INVALID, "%s: expected array, got %s", lists[k],
                            vpa_json_type_name(list));
        vpa_json_foreach (item, list)
            if (!vpa_json_is_null(item) && !vpa_json_is_object(item))
                return vpa_fail(err, VPA_INVALID, "%s: expected object, got %s", lists[k],
                                vpa_json_type_name(item));
    }
    return 0;
}

static int parse(struct vpa_arena *arena, const char *yaml, size_t len,
                 const struct vpa_json **root, struct vpa_error *err)
{
    if (vpa_yaml_parse(arena, yaml, len, root, err) < 0)
        return vpa_wrap(err, "kubeconfig");
    if (!vpa_json_is_null(*root) && !vpa_json_is_object(*root))
        return vpa_fail(err, VPA_INVALID, "kubeconfig: expected object, got %s",
                        vpa_json_type_name(*root));
    return check_lists(*root, err) < 0 ? vpa_wrap(err, "kubeconfig") : 0;
}

static int read_source(struct vpa_arena *arena, const char *path, struct source *out,
                       struct vpa_error *err)
{
    vpa_auto_free char *text = NULL;
    const char *slash = strrchr(path, '/');
    size_t len;
    int result;

    if (vpa_read_file(path, VPA_KUBECONFIG_MAX, &text, &len, err) < 0)
        return -1;
    result = parse(arena, text, len, &out->root, err);
    explicit_bzero(text, len);
    if (result < 0)
        return vpa_wrap(err, "error loading config file \"%s\"", path);
    out->path = path;
    if (!slash)
        out->dir = ".";
    else
        out->dir = slash == path ? "/" : vpa_arena_printf(arena, "%.*s", (int)(slash - path), path);
    return 0;
}

struct vpa_kube_config *vpa_kube_config_parse(const char *yaml, size_t len, const char *dir,
                                              struct vpa_error *err)
{
    vpa_auto_arena document = {0};
    struct source source = {.dir = dir};

    if (parse(&document, yaml, len, &source.root, err) < 0)
        return NULL;
    return config_of(&source, 1, NULL, err);
}

struct vpa_kube_config *vpa_kube_config_load(const char *path, struct vpa_error *err)
{
    return vpa_kube_config_load_context(path, NULL, err);
}

struct vpa_kube_config *vpa_kube_config_load_context(const char *path, const char *context,
                                                     struct vpa_error *err)
{
    vpa_auto_arena document = {0};
    struct source source;

    if (!path || !*path)
        return config_of(NULL, 0, context, err);
    if (read_source(&document, path, &source, err) < 0)
        return NULL;
    return config_of(&source, 1, context, err);
}

struct vpa_kube_config *vpa_kube_config_load_merged(const char *const *paths, size_t count,
                                                    const char *context, struct vpa_error *err)
{
    vpa_auto_arena document = {0};
    struct source *sources = vpa_arena_zalloc(&document, (count + 1) * sizeof(*sources));
    struct vpa_error why, missing;
    size_t n = 0, missing_count = 0;

    for (size_t i = 0; i < count; i++) {
        if (read_source(&document, paths[i], &sources[n], &why) == 0) {
            n++;
        } else if (why.code != VPA_NOT_FOUND) {
            if (err)
                *err = why;
            return NULL;
        } else if (missing_count++ == 0) {
            missing = why;
        }
    }
    struct vpa_kube_config *config = config_of(sources, n, context, err);
    if (!config && n == 0 && missing_count > 0 && !*vpa_or_empty(context))
        vpa_error_wrap(err, "%s", missing.text); /* more likely a slip than somebody in no pod */
    return config;
}
