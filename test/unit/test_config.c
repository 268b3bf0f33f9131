/* Connection configuration: kubeconfig texts and their complaints. */
#include "config_fixture.h"

#include "vpa/base/buf.h"

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
    {CONTEXT "clusters:\n- name: k\n  cluster: {server: 'https://h:abc'}\n" USER("    token: t\n"),
     "invalid configuration: host must be a URL or a host:port pair: \"https://h:abc\""},
    {CONTEXT "clusters:\n- name: k\n  cluster: {server: 'h:abc'}\n" USER("    token: t\n"),
     "invalid configuration: parse \"http://h:abc\": invalid port \":abc\" after host"},
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
    {CONTEXT CLUSTER("    proxy-url: http://x:abc\n") USER("    token: t\n"),
     "invalid configuration: invalid 'proxy-url' \"http://x:abc\" for cluster \"k\": could not "
     "parse: http://x:abc"},
    {CONTEXT CLUSTER("    proxy-url: http://u:p@x:abc\n") USER("    token: t\n"),
     "invalid configuration: invalid 'proxy-url' \"(with credentials)\" for cluster \"k\": could "
     "not parse: (with credentials)"},
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
    {"clusters: {a: b}\n", "kubeconfig: clusters: expected array, got object"},
    {"users: [x]\n", "kubeconfig: users: expected object, got string"},
    {"current-context: x\n",
     "invalid configuration: context was not found for specified context: x"},
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

TEST_EACH(refuses, refused) {
    struct vpa_kube_config *config =
        vpa_kube_config_parse(refused[_i].text, strlen(refused[_i].text), temp_folder(), &err);

    ck_assert_ptr_null(config);
    ck_assert_msg(vpa_str_starts_with(err.text, refused[_i].error), "%s", err.text);
    ck_assert_int_eq(err.code, VPA_INVALID);
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

TEST_EACH(accepts, accepted) {
    struct vpa_kube_config *config = load(accepted[_i].text);

    ck_assert_str_eq(vpa_kube_config_server(config), accepted[_i].server);
    ck_assert_str_eq(header(config, 0, accepted[_i].name), accepted[_i].value);
    vpa_kube_config_free(config);
}

/* A key of an extra field: letters, digits and some signs stay, all else is escaped. */
TEST(extra_keys_are_escaped) {
    vpa_auto_buf text = VPA_BUF(10000), name = VPA_BUF(10000);

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

/* The name of a user and 30 groups fit beside its credentials, one more is told. */
TEST(impersonation_is_bounded) {
    for (int groups = 30; groups <= 31; groups++) {
        vpa_auto_buf text = VPA_BUF(10000);

        vpa_buf_puts(&text, CONTEXT CLUSTER("") USER("    as: root\n    as-groups: ["));
        for (int i = 0; i < groups; i++)
            vpa_buf_printf(&text, "%sg%d", i ? ", " : "", i);
        vpa_buf_puts(&text, "]\n");
        struct vpa_kube_config *config =
            vpa_kube_config_parse(vpa_buf_text(&text), text.len, temp_folder(), &err);
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

TEST(hands_tls_to_the_client) {
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

TEST(resolves_files_beside_the_config) {
    struct vpa_http_client_options o;
    const char *path = temp_path("config"), *ca = temp_path("ca.crt");
    const char *cert = temp_path("my.crt");
    const char *key = temp_path("my.key");

    temp_put("ca.crt", "x");
    temp_put("my.crt", "x");
    temp_put("my.key", "x");
    temp_put("token", " filetoken\n");
    temp_put("config", CONTEXT CLUSTER("    certificate-authority: ca.crt\n")
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

TEST(chooses_a_context) {
    const char *path = temp_path("config");
    struct vpa_kube_config *config;

    temp_put("config", "current-context: a\n"
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
    ck_assert_str_eq(err.text, "context \"c\" does not exist");
}

int main(void)
{
    return run_tests("config", temp_folder_make, temp_folder_remove);
}
