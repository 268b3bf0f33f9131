/* Connection configuration: kubeconfig texts and their complaints, in-cluster, tokens, exec
 * plugins. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "captured_log.h"
#include "suite.h"
#include "vpa/base/buf.h"
#include "vpa/base/file.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/kube/config.h"
#include "vpa/net/tls.h"

static char dir[64];
static struct vpa_error err;

static void setup(void)
{
    snprintf(dir, sizeof(dir), "/tmp/plumb-config-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void put_file(const char *name, const char *text)
{
    vpa_auto_free char *path = vpa_xjoin(dir, '/', name);
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void teardown(void)
{
    static const char *const names[] = {"token", "ca.crt", "config", "plugin", "log"};

    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        vpa_auto_free char *path = vpa_xjoin(dir, '/', names[i]);
        unlink(path);
    }
    rmdir(dir);
}

#define CONTEXT                                                                                    \
    "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context:\n"         \
    "    cluster: k\n    user: u\n    namespace: ignored\n- name: c\n  context: {cluster: "        \
    "other}\n"
#define CLUSTER(body) "clusters:\n- name: k\n  cluster:\n    server: https://host:6443\n" body
#define USER(body) "users:\n- name: u\n  user:\n" body

static const struct {
    const char *text, *error;
} refused[] = {
    {"{", "kubeconfig"},
    {"- a\n", "kubeconfig: expected object, got array"},
    {"", "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER "
         "environment variable"},
    {"current-context: [1]\nclusters: [{}]\n",
     "invalid configuration: kubeconfig: current-context: expected string, got array"},
    {"clusters:\n- name: k\n", "invalid configuration: no configuration has been provided"},
    {"current-context: x\nclusters:\n- name: k\n",
     "invalid configuration: context was not found for specified context: x"},
    {CONTEXT USER("    token: t\n"),
     "invalid configuration: cluster \"k\" was not found for context \"c\""},
    {CONTEXT CLUSTER(""), "invalid configuration: user \"u\" was not found for context \"c\""},
    {CONTEXT "clusters:\n- name: k\n  cluster: {}\n" USER("    token: t\n"),
     "invalid configuration: no server found for cluster \"k\""},
    {CONTEXT "clusters:\n- name: k\n  cluster: {server: 'ftp://x'}\n" USER("    token: t\n"),
     "invalid configuration: host must be a URL or a host:port pair: \"ftp://x\""},
    {CONTEXT "clusters:\n- name: k\n  cluster: {server: 12}\n" USER("    token: t\n"),
     "invalid configuration: cluster \"k\": server: expected string, got number"},
    {CONTEXT CLUSTER("    insecure-skip-tls-verify: maybe\n") USER("    token: t\n"),
     "invalid configuration: cluster \"k\": insecure-skip-tls-verify: expected boolean, got "
     "string"},
    {CONTEXT CLUSTER("    certificate-authority: /nonexistent/ca\n") USER("    token: t\n"),
     "invalid configuration: unable to read certificate-authority /nonexistent/ca for k due to "
     "open "
     "/nonexistent/ca: No such file or directory"},
    {CONTEXT CLUSTER("    certificate-authority: /dev/null\n    certificate-authority-data: YQ==\n")
         USER("    token: t\n"),
     "invalid configuration: certificate-authority-data and certificate-authority are both "
     "specified "
     "for k. certificate-authority-data will override."},
    {CONTEXT CLUSTER("    certificate-authority-data: '***'\n") USER("    token: t\n"),
     "invalid configuration: cluster \"k\": certificate-authority-data: illegal base64 data"},
    {CONTEXT CLUSTER("    certificate-authority-data: YQBi\n") USER("    token: t\n"),
     "invalid configuration: cluster \"k\": certificate-authority-data: illegal base64 data"},
    {CONTEXT CLUSTER("    certificate-authority-data: YQ==\n    insecure-skip-tls-verify: true\n")
         USER("    token: t\n"),
     "invalid configuration: specifying a root certificates file with the insecure flag is not "
     "allowed"},
    {CONTEXT CLUSTER("    proxy-url: gopher://x\n") USER("    token: t\n"),
     "invalid configuration: invalid 'proxy-url' \"gopher://x\" for cluster \"k\""},
    {CONTEXT CLUSTER("") USER("    token: t\n    username: a\n    password: b\n"),
     "invalid configuration: more than one authentication method found for u; found [token "
     "basicAuth], "
     "only one is allowed"},
    {CONTEXT CLUSTER("") USER("    client-certificate-data: YQ==\n"),
     "invalid configuration: client-key-data or client-key must be specified for u to use the "
     "clientCert "
     "authentication method."},
    {CONTEXT CLUSTER("")
         USER("    client-certificate: /nonexistent/c\n    client-key: /nonexistent/k\n"),
     "invalid configuration: [unable to read client-cert /nonexistent/c for u due to open "
     "/nonexistent/c: "
     "No such file or directory, unable to read client-key /nonexistent/k for u due to open "
     "/nonexistent/k: No such file or directory]"},
    {CONTEXT CLUSTER("") USER("    client-certificate-data: YQ==\n    client-key-data: YQ==\n"
                              "    client-key: /dev/null\n    client-certificate: /dev/null\n"),
     "invalid configuration: [client-cert-data and client-cert are both specified for u. "
     "client-cert-data "
     "will override., client-key-data and client-key are both specified for u; client-key-data "
     "will "
     "override]"},
    {CONTEXT CLUSTER("") USER("    as-groups: [a]\n"),
     "invalid configuration: requesting uid, groups or user-extra for u without impersonating a "
     "user"},
    {CONTEXT CLUSTER("") USER("    as: \"a\\nb: c\"\n"),
     "invalid configuration: impersonation of u holds characters that a header cannot"},
    {CONTEXT CLUSTER("") USER("    token: \"a\\nb\"\n"),
     "invalid configuration: token of u holds a line end"},
    {CONTEXT CLUSTER("") USER("    auth-provider: {name: gcp}\n"),
     "invalid configuration: no Auth Provider found for name \"gcp\""},
    {CONTEXT CLUSTER("") USER("    exec: {apiVersion: client.authentication.k8s.io/v1}\n"),
     "invalid configuration: [command must be specified for u to use exec authentication plugin, "
     "interactiveMode must be specified for u to use exec authentication plugin]"},
    {CONTEXT CLUSTER("")
         USER("    exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}\n"),
     "invalid configuration: exec plugin: invalid apiVersion "
     "\"client.authentication.k8s.io/v1alpha1\""},
    {CONTEXT CLUSTER("") USER("    exec: {apiVersion: client.authentication.k8s.io/v1, command: x, "
                              "interactiveMode: Perhaps, env: [{value: a}]}\n"),
     "invalid configuration: [env variable name must be specified for u to use exec authentication "
     "plugin, invalid interactiveMode for u: \"Perhaps\"]"},
};

START_TEST(refuses)
{
    struct vpa_kube_config *config =
        vpa_kube_config_parse(refused[_i].text, strlen(refused[_i].text), dir, &err);

    ck_assert_ptr_null(config);
    ck_assert_msg(vpa_str_starts_with(err.text, refused[_i].error), "%s", err.text);
    ck_assert_int_eq(err.code, VPA_INVALID);
}
END_TEST

static const char *header(struct vpa_kube_config *config, int64_t now, const char *name)
{
    static char joined[1024];
    const struct vpa_header *headers;
    size_t count;

    joined[0] = '\0';
    ck_assert_msg(vpa_kube_config_headers(config, now, &headers, &count, &err) == 0, "%s",
                  err.text);
    for (size_t i = 0; i < count; i++)
        if (strcmp(headers[i].name, name) == 0) {
            strncat(joined, joined[0] ? "|" : "", 2);
            strncat(joined, headers[i].value, 500);
        }
    return joined;
}

static struct vpa_kube_config *load(const char *text)
{
    struct vpa_kube_config *config = vpa_kube_config_parse(text, strlen(text), dir, &err);

    ck_assert_msg(config != NULL, "%s", err.text);
    return config;
}

static const struct {
    const char *text, *server, *name, *value;
} accepted[] = {
    {CONTEXT CLUSTER("") USER("    token: abc\n"), "https://host:6443", "Authorization",
     "Bearer abc"},
    {CONTEXT CLUSTER("") USER("    username: me\n    password: pw\n"), "https://host:6443",
     "Authorization", "Basic bWU6cHc="},
    {CONTEXT
     "clusters: [{name: k, cluster: {server: 'https://h/prefix/?q#f'}}]\n" USER("    token: x\n"),
     "https://h/prefix", "Authorization", "Bearer x"},
    /* a bare host means plain http, where credentials do not go */
    {CONTEXT "clusters: [{name: k, cluster: {server: 'localhost:8080'}}]\n" USER(
         "    token: x\n    as: root\n"),
     "http://localhost:8080", "Authorization", ""},
    {CONTEXT "clusters: [{name: k, cluster: {server: 'http://h'}}]\n" USER("    as: root\n"),
     "http://h", "Impersonate-User", "root"},
    {CONTEXT CLUSTER("") USER("    as: root\n    as-groups: [a, b]\n"), "https://host:6443",
     "Impersonate-Group", "a|b"},
    {CONTEXT CLUSTER("") USER("    as: root\n    as-user-extra: {'a b': [x, z]}\n"),
     "https://host:6443", "Impersonate-Extra-a%20b", "x|z"},
    {"{\"current-context\":\"c\",\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"k\"}}],"
     "\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":\"https://json\"}}]}",
     "https://json", "Authorization", ""},
};

START_TEST(accepts)
{
    struct vpa_kube_config *config = load(accepted[_i].text);

    ck_assert_str_eq(vpa_kube_config_server(config), accepted[_i].server);
    ck_assert_str_eq(header(config, 0, accepted[_i].name), accepted[_i].value);
    vpa_kube_config_free(config);
}
END_TEST

/* A key of an extra field: letters, digits and some signs stay, all else is escaped. */
START_TEST(extra_keys_are_escaped)
{
    vpa_auto_buf text = {0}, name = {0};

    vpa_buf_init(&text, 10000);
    vpa_buf_init(&name, 10000);
    vpa_buf_puts(&text, CONTEXT CLUSTER("") USER("    as: root\n    as-user-extra: {\""));
    vpa_buf_puts(&name, "Impersonate-Extra-");
    for (int c = 0x20; c < 0x7f; c++) {
        bool stays = strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "!#$&'*+-.^_`|~",
                            c) != NULL;
        vpa_buf_printf(&text, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        vpa_buf_printf(&name, stays ? "%c" : "%%%02X", c);
    }
    vpa_buf_puts(&text, "\\u00e9\": [x]}\n");
    vpa_buf_puts(&name, "%C3%A9");
    struct vpa_kube_config *config = load(vpa_buf_text(&text));

    ck_assert_str_eq(header(config, 0, vpa_buf_text(&name)), "x");
    vpa_kube_config_free(config);
}
END_TEST

/* The name of a user and 30 groups fit beside its credentials, one more is told. */
START_TEST(impersonation_is_bounded)
{
    for (int groups = 30; groups <= 31; groups++) {
        vpa_auto_buf text = {0};

        vpa_buf_init(&text, 10000);
        vpa_buf_puts(&text, CONTEXT CLUSTER("") USER("    as: root\n    as-groups: ["));
        for (int i = 0; i < groups; i++)
            vpa_buf_printf(&text, "%sg%d", i ? ", " : "", i);
        vpa_buf_puts(&text, "]\n");
        struct vpa_kube_config *config =
            vpa_kube_config_parse(vpa_buf_text(&text), text.len, dir, &err);
        if (groups == 30) {
            const char *found = header(config, 0, "Impersonate-Group");
            ck_assert_str_eq(found + strlen(found) - 4, "|g29");
        } else {
            ck_assert_ptr_null(config);
            ck_assert_ptr_nonnull(strstr(err.text, "more than 31 impersonation headers for u"));
        }
        vpa_kube_config_free(config);
    }
}
END_TEST

START_TEST(hands_tls_to_the_client)
{
    struct vpa_http_client_options o;
    struct vpa_kube_config *config =
        load(CONTEXT CLUSTER("    certificate-authority-data: cGVt\n    tls-server-name: other\n"
                             "    proxy-url: socks5://p:1\n    disable-compression: true\n")
                 USER("    client-certificate-data: Y2VydA==\n    client-key-data: a2V5\n"));

    vpa_kube_config_client_options(config, &o);
    ck_assert_str_eq(o.ca_data, "pem");
    ck_assert_str_eq(o.server_name, "other");
    ck_assert_str_eq(o.proxy, "socks5://p:1");
    ck_assert(o.no_compression);
    ck_assert_str_eq(o.cert_data, "cert");
    ck_assert_str_eq(o.key_data, "key");
    vpa_kube_config_free(config);
}
END_TEST

START_TEST(resolves_files_beside_the_config)
{
    struct vpa_http_client_options o;
    vpa_auto_free char *path = vpa_xprintf("%s/config", dir), *ca = vpa_xprintf("%s/ca.crt", dir);
    vpa_auto_free char *cert = vpa_xprintf("%s/my.crt", dir);
    vpa_auto_free char *key = vpa_xprintf("%s/my.key", dir);

    put_file("ca.crt", "x");
    put_file("my.crt", "x");
    put_file("my.key", "x");
    put_file("token", " filetoken\n");
    put_file("config", CONTEXT CLUSTER("    certificate-authority: ca.crt\n")
                           USER("    tokenFile: token\n    client-certificate: my.crt\n"
                                "    client-key: my.key\n"));
    struct vpa_kube_config *config = vpa_kube_config_load(path, &err);
    ck_assert_msg(config != NULL, "%s", err.text);
    vpa_kube_config_client_options(config, &o);
    ck_assert_str_eq(o.ca_file, ca);
    ck_assert_str_eq(o.cert_file, cert);
    ck_assert_str_eq(o.key_file, key);
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer filetoken");
    vpa_kube_config_free(config);
    ck_assert_ptr_null(vpa_kube_config_load("/nonexistent", &err));
    ck_assert_str_eq(err.text, "open /nonexistent: No such file or directory");
}
END_TEST

START_TEST(chooses_a_context)
{
    vpa_auto_free char *path = vpa_xprintf("%s/config", dir);
    struct vpa_kube_config *config;

    put_file("config", "current-context: a\n"
                       "contexts:\n- {name: a, context: {cluster: one}}\n"
                       "- {name: b, context: {cluster: two, namespace: shop}}\n"
                       "clusters:\n- {name: one, cluster: {server: 'http://one:1'}}\n"
                       "- {name: two, cluster: {server: 'http://two:2'}}\n");
    config = vpa_kube_config_load_context(path, "", &err);
    ck_assert_msg(config != NULL, "%s", err.text);
    ck_assert_str_eq(vpa_kube_config_server(config), "http://one:1");
    ck_assert_str_eq(vpa_kube_config_namespace(config), "");
    vpa_kube_config_free(config);
    config = vpa_kube_config_load_context(path, "b", &err);
    ck_assert_msg(config != NULL, "%s", err.text);
    ck_assert_str_eq(vpa_kube_config_server(config), "http://two:2");
    ck_assert_str_eq(vpa_kube_config_namespace(config), "shop");
    vpa_kube_config_free(config);
    ck_assert_ptr_null(vpa_kube_config_load_context(path, "c", &err));
    ck_assert_ptr_nonnull(strstr(err.text, "context was not found for specified context: c"));
}
END_TEST

/* In-cluster */

START_TEST(in_cluster)
{
    ck_assert_ptr_null(vpa_kube_config_in_cluster("", "443", dir, &err));
    ck_assert_str_eq(err.text,
                     "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
                     "KUBERNETES_SERVICE_PORT must be defined");
    ck_assert_ptr_null(vpa_kube_config_in_cluster("h", NULL, dir, &err));
    ck_assert_ptr_null(vpa_kube_config_in_cluster("h", "1", dir, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "token"));
    put_file("token", " \n");
    ck_assert_ptr_null(vpa_kube_config_in_cluster("h", "1", dir, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "read empty token from file"));
    put_file("token", "tok\n");
    struct vpa_kube_config *config = vpa_kube_config_in_cluster("::1", "6443", dir, &err);
    ck_assert_str_eq(vpa_kube_config_server(config), "https://[::1]:6443");
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer tok");
    vpa_kube_config_free(config);
}
END_TEST

START_TEST(tokens_are_read_again)
{
    const int64_t s = VPA_SECOND;

    put_file("token", "one");
    struct vpa_kube_config *config = vpa_kube_config_in_cluster("h", "1", dir, &err);
    put_file("token", "two");
    ck_assert_str_eq(header(config, 100 * s, "Authorization"), "Bearer one");
    ck_assert_str_eq(header(config, 149 * s, "Authorization"), "Bearer one");
    ck_assert_str_eq(header(config, 150 * s, "Authorization"), "Bearer two");
    put_file("token", "three");
    ck_assert_str_eq(header(config, 199 * s, "Authorization"), "Bearer two");
    ck_assert_str_eq(header(config, 200 * s, "Authorization"), "Bearer three");
    put_file("token", "");
    ck_assert_str_eq(header(config, 300 * s, "Authorization"), "Bearer three"); /* kept */
    put_file("token", "four");
    ck_assert_str_eq(header(config, 301 * s, "Authorization"), "Bearer four");
    vpa_kube_config_free(config);
    /* inline and file: inline until the first re-read */
    put_file("token", "fromfile");
    config = load(CONTEXT CLUSTER("") USER("    token: inline\n    tokenFile: token\n"));
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer inline");
    ck_assert_str_eq(header(config, 60 * s, "Authorization"), "Bearer fromfile");
    vpa_kube_config_free(config);
    /* never readable: the request fails */
    const struct vpa_header *headers;
    size_t count;
    config = load(CONTEXT CLUSTER("") USER("    tokenFile: missing\n"));
    ck_assert_int_eq(vpa_kube_config_headers(config, 0, &headers, &count, &err), -1);
    vpa_kube_config_free(config);
}
END_TEST

/* The file has a new one, for instance of a service account that was made again. */
START_TEST(a_token_that_was_refused_is_read_again)
{
    const int64_t s = VPA_SECOND;

    put_file("token", "one");
    struct vpa_kube_config *config = vpa_kube_config_in_cluster("h", "1", dir, &err);
    ck_assert_str_eq(header(config, 100 * s, "Authorization"), "Bearer one");
    put_file("token", "two");
    ck_assert_str_eq(header(config, 101 * s, "Authorization"), "Bearer one");
    vpa_kube_config_unauthorized(config);
    ck_assert_str_eq(header(config, 102 * s, "Authorization"), "Bearer two");
    put_file("token", "three"); /* not for every request that is refused */
    vpa_kube_config_unauthorized(config);
    ck_assert_str_eq(header(config, 103 * s - 1, "Authorization"), "Bearer two");
    ck_assert_str_eq(header(config, 103 * s, "Authorization"), "Bearer three");
    put_file("token", ""); /* it is being written */
    vpa_kube_config_unauthorized(config);
    ck_assert_str_eq(header(config, 105 * s, "Authorization"), "Bearer three");
    put_file("token", "four");
    ck_assert_str_eq(header(config, 106 * s, "Authorization"), "Bearer four");
    put_file("token", "five");
    ck_assert_str_eq(header(config, 155 * s, "Authorization"), "Bearer four");
    ck_assert_str_eq(header(config, 156 * s, "Authorization"), "Bearer five");
    vpa_kube_config_free(config);
}
END_TEST

/* Every request asks for its headers. */
START_TEST(a_token_that_cannot_be_read_is_told_once)
{
    const int64_t s = VPA_SECOND;

    put_file("token", "one");
    struct vpa_kube_config *config = vpa_kube_config_in_cluster("h", "1", dir, &err);
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer one");
    put_file("token", "");
    capture_log(0);
    for (int i = 0; i < 1000; i++)
        ck_assert_str_eq(header(config, 100 * s + i * s / 10, "Authorization"), "Bearer one");
    ck_assert_uint_eq(logged("Unable to rotate token"), 1);
    put_file("token", "two");
    ck_assert_str_eq(header(config, 201 * s, "Authorization"), "Bearer two");
    put_file("token", "");
    for (int i = 0; i < 1000; i++)
        ck_assert_str_eq(header(config, 300 * s + i * s / 10, "Authorization"), "Bearer two");
    ck_assert_uint_eq(logged("Unable to rotate token"), 2);
    vpa_kube_config_free(config);
}
END_TEST

/* Plugins */

#define EXEC_USER                                                                                  \
    USER("    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: ./plugin\n" \
         "      interactiveMode: IfAvailable\n      provideClusterInfo: true\n      args: [a, 'b " \
         "c']\n"                                                                                   \
         "      env: [{name: GREETING, value: hi}]\n      installHint: install it\n")
#define ANSWER(status)                                                                             \
    "echo "                                                                                        \
    "'{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/"                 \
    "v1\",\"status\":" status "}'\n"

static struct vpa_kube_config *with_plugin(const char *script)
{
    vpa_auto_free char *path = vpa_xprintf("%s/plugin", dir);
    vpa_auto_free char *text = vpa_xprintf("#!/bin/sh\n%s", script);

    put_file("plugin", text);
    chmod(path, 0755);
    return load(CONTEXT CLUSTER("") EXEC_USER);
}

START_TEST(exec_plugin)
{
    struct vpa_kube_config *config =
        with_plugin("echo \"$1|$2|$GREETING|$KUBERNETES_EXEC_INFO\" >> $(dirname $0)/log\n" ANSWER(
            "{\"token\":\"plugged\"}"));
    vpa_auto_free char *log = vpa_xprintf("%s/log", dir);
    vpa_auto_free char *text = NULL;
    size_t len;

    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer plugged");
    ck_assert_str_eq(header(config, VPA_HOUR, "Authorization"),
                     "Bearer plugged"); /* cached for ever */
    ck_assert_int_eq(vpa_read_file(log, 10000, &text, &len, &err), 0);
    ck_assert_str_eq(text, "a|b c|hi|{\"kind\":\"ExecCredential\",\"apiVersion\":"
                           "\"client.authentication.k8s.io/v1\",\"spec\":{\"cluster\":{\"server\":"
                           "\"https://host:6443\"},\"interactive\":false}}\n");
    vpa_kube_config_unauthorized(config); /* asked anew after a 401, but not for every request */
    ck_assert_str_eq(header(config, 9 * VPA_SECOND, "Authorization"), "Bearer plugged");
    free(VPA_STEAL(text));
    ck_assert_int_eq(vpa_read_file(log, 10000, &text, &len, &err), 0);
    ck_assert_int_eq(strchr(text, '\n') == strrchr(text, '\n'), 1);
    ck_assert_str_eq(header(config, 10 * VPA_SECOND, "Authorization"), "Bearer plugged");
    free(VPA_STEAL(text));
    ck_assert_int_eq(vpa_read_file(log, 10000, &text, &len, &err), 0);
    ck_assert_int_eq(strchr(text, '\n') == strrchr(text, '\n'), 0);
    vpa_kube_config_free(config);
}
END_TEST

/* There is nobody to type anything. */
START_TEST(plugins_that_need_a_terminal_are_refused)
{
    const struct vpa_header *headers;
    size_t count;

    put_file("plugin", "#!/bin/sh\n" ANSWER("{\"token\":\"plugged\"}"));
    vpa_auto_free char *path = vpa_xprintf("%s/plugin", dir);
    chmod(path, 0755);
    struct vpa_kube_config *config = load(
        CONTEXT CLUSTER("") USER("    exec:\n      apiVersion: client.authentication.k8s.io/v1\n"
                                 "      command: ./plugin\n      interactiveMode: Always\n"));
    ck_assert_int_eq(vpa_kube_config_headers(config, 0, &headers, &count, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "standard input"));
    vpa_kube_config_free(config);
}
END_TEST

/* The plugin's variables stand in place of ours of the same name; all others it has as they are,
 * each once. */
START_TEST(plugins_have_our_environment_and_their_own)
{
    vpa_auto_free char *path = vpa_xprintf("PATH=%s", getenv("PATH"));
    const char *const ours[] = {"FAREWELL=bye", /* as long as the plugin's */
                                "GREETING=ours",
                                "GREETINGS=longer",
                                "GREET=shorter",
                                path,
                                "KUBERNETES_EXEC_INFO=stale",
                                NULL};
    char **before = environ;

    environ = (char **)(uintptr_t)ours;
    struct vpa_kube_config *config =
        with_plugin("for name in GREETING FAREWELL GREETINGS GREET KUBERNETES_EXEC_INFO; do\n"
                    "  tr '\\0' '\\n' < /proc/$$/environ | grep \"^$name=\" | cut -c1-25\n"
                    "done > $(dirname $0)/log\n" ANSWER("{\"token\":\"plugged\"}"));
    vpa_auto_free char *log = vpa_xprintf("%s/log", dir);
    vpa_auto_free char *text = NULL;
    size_t len;

    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer plugged");
    environ = before;
    ck_assert_int_eq(vpa_read_file(log, 10000, &text, &len, &err), 0);
    ck_assert_str_eq(text, "GREETING=hi\nFAREWELL=bye\nGREETINGS=longer\nGREET=shorter\n"
                           "KUBERNETES_EXEC_INFO={\"ki\n");
    vpa_kube_config_free(config);
}
END_TEST

/* A daemon blocks signals that it reads elsewhere and ignores some; a plugin must be able to end by
 * them. */
START_TEST(plugins_get_every_signal)
{
    sigset_t all, before;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    struct vpa_kube_config *config = with_plugin(
        "blocked=$(sed -n 's/^SigBlk:[^0-9a-f]*//p' /proc/self/status)\n"
        "ignored=$(sed -n 's/^SigIgn:.*\\(.......\\)$/\\1/p' /proc/self/status)\n"
        "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
        "\"status\":{\"token\":\"'$blocked-$ignored'\"}}'\n");
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer 0000000000000000-0000000");
    vpa_kube_config_free(config);
    sigprocmask(SIG_SETMASK, &before, NULL);
}
END_TEST

/* One that asks for something gets its end instead of an answer, wherever our input comes from. */
START_TEST(plugins_read_nothing)
{
    struct vpa_kube_config *config =
        with_plugin("read -r line && echo '{}' && exit\n" ANSWER("{\"token\":\"plugged\"}"));
    int ends[2], before = dup(0);

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], "secret\n", 7), 7);
    dup2(ends[0], 0);
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer plugged");
    dup2(before, 0);
    close(before);
    close(ends[0]);
    close(ends[1]);
    vpa_kube_config_free(config);
}
END_TEST

static const struct {
    const char *script, *error;
} failing[] = {
    {"exit 3\n", "getting credentials: exec: %s/./plugin: failed with exit code 3"},
    {"kill -9 $$\n", "getting credentials: exec: %s/./plugin: ended by signal 9"},
    {"echo junk\n", "getting credentials: exec: %s/./plugin: "},
    {"echo '{}'\n",
     "getting credentials: exec: %s/./plugin: the plugin did not answer with an ExecCredential"},
    {ANSWER("{}"),
     "getting credentials: exec: %s/./plugin: the plugin did not return a token or cert/key pair"},
    {ANSWER("{\"clientKeyData\":\"x\"}"),
     "getting credentials: exec: %s/./plugin: the plugin returned only one"},
    {ANSWER("{\"token\":\"x\",\"expirationTimestamp\":\"soon\"}"),
     "getting credentials: exec: %s/./plugin: expirationTimestamp"},
    {ANSWER("{\"token\":\"a\\\\nb\"}"),
     "getting credentials: exec: %s/./plugin: the plugin returned a token with a line end"},
    {ANSWER("{\"clientCertificateData\":\"C\",\"clientKeyData\":\"K\"}"),
     "getting credentials: exec: %s/./plugin: the plugin's certificate: "},
    {"yes | head -c 2000000\n", "getting credentials: exec: %s/./plugin: output longer than"},
};

START_TEST(failing_plugins)
{
    struct vpa_kube_config *config = with_plugin(failing[_i].script);
    const struct vpa_header *headers;
    size_t count;
    char want[256];

    snprintf(want, sizeof(want), "%.*s%s%s", (int)strcspn(failing[_i].error, "%"),
             failing[_i].error, dir, strstr(failing[_i].error, "%s") + 2);
    ck_assert_int_eq(vpa_kube_config_headers(config, 0, &headers, &count, &err), -1);
    ck_assert_msg(vpa_str_starts_with(err.text, want), "%s", err.text);
    vpa_kube_config_free(config);
}
END_TEST

/* Whoever started us may have SIGCHLD ignored: then nobody hears how a plugin has ended. */
START_TEST(plugins_run_where_nobody_waits_for_children)
{
    struct vpa_kube_config *config = with_plugin(ANSWER("{\"token\":\"plugged\"}"));

    signal(SIGCHLD, SIG_IGN);
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer plugged");
    vpa_kube_config_free(config);
}
END_TEST

START_TEST(missing_plugin_gives_its_hint)
{
    struct vpa_kube_config *config = load(CONTEXT CLUSTER("") EXEC_USER);
    const struct vpa_header *headers;
    size_t count;

    ck_assert_int_eq(vpa_kube_config_headers(config, 0, &headers, &count, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "No such file or directory. install it"));
    vpa_kube_config_free(config);
}
END_TEST

START_TEST(credentials_are_kept_until_they_expire)
{
    struct vpa_kube_config *config = with_plugin(
        ANSWER("{\"token\":\"t'$$'\",\"expirationTimestamp\":\"2999-01-01T00:00:00Z\"}"));
    char first[64];

    snprintf(first, sizeof(first), "%s", header(config, 0, "Authorization"));
    ck_assert_str_eq(first, header(config, VPA_HOUR, "Authorization"));
    vpa_kube_config_free(config);
}
END_TEST

START_TEST(expired_credentials_are_fetched_again)
{
    struct vpa_kube_config *config = with_plugin(
        ANSWER("{\"token\":\"t'$$'\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"}"));
    char first[64];

    snprintf(first, sizeof(first), "%s", header(config, 0, "Authorization"));
    ck_assert_str_eq(first, header(config, 9 * VPA_SECOND, "Authorization"));
    ck_assert_str_ne(first, header(config, 10 * VPA_SECOND, "Authorization"));
    vpa_kube_config_free(config);
}
END_TEST

/* PEM in a text of JSON that the shell's echo prints; heap. */
static char *echoed(const char *pem)
{
    struct vpa_buf out;

    vpa_buf_init(&out, 1 << 16);
    for (; *pem; pem++)
        vpa_buf_printf(&out, *pem == '\n' ? "\\\\n" : "%c", *pem);
    return vpa_buf_take(&out);
}

/* A plugin that answers with a certificate; heap. */
static char *certificate_script(void)
{
    const char *name = "client";
    struct vpa_tls_pair ca = {0}, pair = {0};
    vpa_time now = vpa_time_from_unix(1772366400, 0);

    ck_assert_int_eq(vpa_tls_create_ca("ca", now, VPA_HOUR, &ca, &err), 0);
    ck_assert_int_eq(vpa_tls_create_certificate(&ca, &name, 1, true, now, VPA_HOUR, &pair, &err),
                     0);
    vpa_auto_free char *cert = echoed(pair.cert_pem), *key = echoed(pair.key_pem);
    char *script = vpa_xprintf(
        ANSWER("{\"clientCertificateData\":\"%s\",\"clientKeyData\":\"%s\"}"), cert, key);
    vpa_tls_pair_release(&ca);
    vpa_tls_pair_release(&pair);
    return script;
}

/* A certificate goes to the client that there is, a token to none. */
START_TEST(a_plugin_may_stand_before_a_client_or_not)
{
    const char *wanted = _i == 0 ? "" : "Bearer t";
    struct vpa_clock *clock = vpa_clock_new_real();
    struct vpa_loop *loop = vpa_loop_new(clock);
    vpa_auto_free char *script =
        _i == 0 ? certificate_script() : vpa_xstrdup(ANSWER("{\"token\":\"t\"}"));
    struct vpa_kube_config *config = with_plugin(script);

    ck_assert_str_eq(header(config, 0, "Authorization"), wanted);
    struct vpa_transport *transport = vpa_kube_connect(loop, config, &err);
    ck_assert_msg(transport != NULL, "%s", err.text);
    vpa_kube_config_unauthorized(config);
    ck_assert_str_eq(header(config, 10 * VPA_SECOND, "Authorization"), wanted);
    vpa_transport_free(transport);
    vpa_kube_config_free(config);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
}
END_TEST

START_TEST(other_credentials_win_over_plugins)
{
    struct vpa_kube_config *config = load(
        CONTEXT CLUSTER("") USER("    token: t\n    exec: {apiVersion: "
                                 "client.authentication.k8s.io/v1beta1, command: /bin/false}\n"));

    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer t");
    vpa_kube_config_free(config);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *c = tcase_create("config");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, refuses, 0, VPA_COUNT(refused));
    tcase_add_loop_test(c, accepts, 0, VPA_COUNT(accepted));
    tcase_add_test(c, extra_keys_are_escaped);
    tcase_add_test(c, impersonation_is_bounded);
    tcase_add_test(c, hands_tls_to_the_client);
    tcase_add_test(c, resolves_files_beside_the_config);
    tcase_add_test(c, chooses_a_context);
    tcase_add_test(c, in_cluster);
    tcase_add_test(c, tokens_are_read_again);
    tcase_add_test(c, a_token_that_was_refused_is_read_again);
    tcase_add_test(c, a_token_that_cannot_be_read_is_told_once);
    tcase_add_test(c, exec_plugin);
    tcase_add_test(c, plugins_have_our_environment_and_their_own);
    tcase_add_test(c, plugins_get_every_signal);
    tcase_add_test(c, plugins_read_nothing);
    tcase_add_test(c, plugins_that_need_a_terminal_are_refused);
    tcase_add_loop_test(c, failing_plugins, 0, VPA_COUNT(failing));
    tcase_add_test(c, plugins_run_where_nobody_waits_for_children);
    tcase_add_test(c, missing_plugin_gives_its_hint);
    tcase_add_test(c, credentials_are_kept_until_they_expire);
    tcase_add_test(c, expired_credentials_are_fetched_again);
    tcase_add_loop_test(c, a_plugin_may_stand_before_a_client_or_not, 0, 2);
    tcase_add_test(c, other_credentials_win_over_plugins);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
