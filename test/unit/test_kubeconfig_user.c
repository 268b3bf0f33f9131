/* Users of a kubeconfig: plugins and impersonation, what is taken and what is complained of. */
#include <check.h>
#include <string.h>

#include "../../src/kube/config_internal.h"
#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define V1 "client.authentication.k8s.io/v1"
#define V1BETA1 "client.authentication.k8s.io/v1beta1"

static struct vpa_error err;

static struct vpa_kube_config *parse(const char *user)
{
    vpa_auto_free char *text =
        vpa_xprintf("{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],"
                    " clusters: [{name: k, cluster: {server: 'https://host:6443'}}],"
                    " users: [{name: u, user: {%s}}]}",
                    user);

    return vpa_kube_config_parse(text, strlen(text), "/dir", &err);
}

static const struct {
    const char *user, *problem; /* NULL: taken */
} users[] = {
    {"exec: {apiVersion: " V1 ", command: x, interactiveMode: Never}", NULL},
    {"exec: {apiVersion: " V1 ", command: x, interactiveMode: IfAvailable}", NULL},
    {"exec: {apiVersion: " V1 ", command: x, interactiveMode: Always}", NULL},
    {"exec: {apiVersion: " V1 ", command: x, interactiveMode: never}",
     "invalid interactiveMode for u: \"never\""},
    {"exec: {apiVersion: " V1 ", command: x}",
     "interactiveMode must be specified for u to use exec authentication plugin"},
    {"exec: {apiVersion: " V1BETA1 ", command: x}", NULL},
    {"exec: {apiVersion: " V1BETA1 ", command: x, interactiveMode: Perhaps}",
     "invalid interactiveMode for u: \"Perhaps\""},
    {"exec: {apiVersion: " V1BETA1 "}",
     "command must be specified for u to use exec authentication plugin"},
    {"exec: {command: x}", "apiVersion must be specified for u to use exec authentication plugin"},
    {"exec: {apiVersion: client.authentication.k8s.io/v2, command: x, interactiveMode: Never}",
     "exec plugin: invalid apiVersion \"client.authentication.k8s.io/v2\""},
    {"exec: {apiVersion: " V1BETA1 ", command: 7}",
     "user \"u\": command: expected string, got number"},
    {"exec: {apiVersion: " V1BETA1 ", command: x, args: a}",
     "user \"u\": exec.args: expected a short list, got string"},
    {"exec: {apiVersion: " V1BETA1 ", command: x, args: [a, 7]}",
     "user \"u\": exec.args: expected string, got number"},
    {"exec: {apiVersion: " V1BETA1 ", command: x, args: null}", NULL},
    {"exec: {apiVersion: " V1BETA1 ", command: x, args: []}", NULL},
    {"exec: {apiVersion: " V1BETA1 ", command: x, env: [{value: v}]}",
     "env variable name must be specified for u to use exec authentication plugin"},
    {"exec: {apiVersion: " V1BETA1 ", command: x, env: [{name: other}]}", NULL},
    {"as: a", NULL},
    {"as-uid: a", "requesting uid, groups or user-extra for u without impersonating a user"},
    {"as-groups: [a]", "requesting uid, groups or user-extra for u without impersonating a user"},
    {"as-groups: []", NULL},
    {"as-user-extra: {a: [b]}",
     "requesting uid, groups or user-extra for u without impersonating a user"},
    {"as-user-extra: {}", NULL},
    {"as: a, as-groups: a", "user \"u\": as-groups: expected a short list, got string"},
    {"as: a, as-user-extra: {b: c}", "user \"u\": as-user-extra: expected a short list"},
    {"as: \"a\\rb\"", "impersonation of u holds characters that a header cannot"},
    {"as: a, as-groups: [\"b\\nc\"]", "impersonation of u holds characters that a header cannot"},
};

TEST_EACH(users_are_taken_or_complained_of, users) {
    struct vpa_kube_config *config = parse(users[_i].user);

    if (users[_i].problem) {
        ck_assert_ptr_null(config);
        ck_assert_msg(strstr(err.text, users[_i].problem) != NULL, "%s", err.text);
        return;
    }
    ck_assert_msg(config != NULL, "%s", err.text);
    vpa_kube_config_free(config);
}

/* A path that is not absolute is beside the file, a bare name is looked for. */
static const struct {
    const char *command, *found;
} commands[] = {
    {"x", "x"}, {"./x", "/dir/./x"}, {"a/x", "/dir/a/x"}, {"/x", "/x"}, {"/a/x", "/a/x"},
};

TEST_EACH(commands_are_beside_the_file, commands) {
    vpa_auto_free char *user =
        vpa_xprintf("exec: {apiVersion: " V1BETA1 ", command: %s}", commands[_i].command);
    struct vpa_kube_config *config = parse(user);

    ck_assert_msg(config != NULL, "%s", err.text);
    ck_assert_str_eq(config->exec->command, commands[_i].found);
    vpa_kube_config_free(config);
}

TEST(plugins_have_all_that_is_said) {
    struct vpa_kube_config *config = parse(
        "exec: {apiVersion: " V1 ", command: x, interactiveMode: Always, args: [a, b c],"
        " installHint: hint, provideClusterInfo: true, env: [{name: m, value: v}, {name: other}]}");

    ck_assert_msg(config != NULL, "%s", err.text);
    const struct exec_plugin *plugin = config->exec;
    ck_assert_str_eq(plugin->api_version, V1);
    ck_assert_str_eq(plugin->install_hint, "hint");
    ck_assert(plugin->provide_cluster_info && plugin->interactive == EXEC_ALWAYS);
    ck_assert_uint_eq(plugin->arg_count, 2);
    ck_assert_str_eq(plugin->args[0], "a");
    ck_assert_str_eq(plugin->args[1], "b c");
    ck_assert_uint_eq(plugin->env_count, 2);
    ck_assert_str_eq(plugin->env[0].name, "m");
    ck_assert_str_eq(plugin->env[0].value, "v");
    ck_assert_str_eq(plugin->env[1].name, "other");
    ck_assert_str_eq(plugin->env[1].value, "");
    vpa_kube_config_free(config);
    config = parse("exec: {apiVersion: " V1 ", command: x, interactiveMode: Never}");
    ck_assert(!config->exec->provide_cluster_info && config->exec->interactive == EXEC_NEVER);
    ck_assert_ptr_null(config->exec->install_hint);
    vpa_kube_config_free(config);
    config = parse("exec: {apiVersion: " V1BETA1 ", command: x}");
    ck_assert_int_eq(config->exec->interactive, EXEC_IF_AVAILABLE);
    vpa_kube_config_free(config);
}

TEST(impersonation_is_in_headers) {
    static const struct vpa_header want[] = {
        {"Impersonate-User", "a"},        {"Impersonate-Uid", "7"},
        {"Impersonate-Group", "g"},       {"Impersonate-Group", "h i"},
        {"Impersonate-Extra-k%2Fx", "v"}, {"Impersonate-Extra-k%2Fx", "w"},
        {"Impersonate-Extra-Zz9~", "1"},
    };
    struct vpa_kube_config *config =
        parse("token: t, as: a, as-uid: '7', as-groups: [g, h i],"
              " as-user-extra: {'k/x': [v, w], 'Zz9~': ['1'], none: []}");

    ck_assert_msg(config != NULL, "%s", err.text);
    ck_assert_uint_eq(config->impersonation_count, VPA_COUNT(want));
    for (size_t i = 0; i < VPA_COUNT(want); i++) {
        ck_assert_str_eq(config->impersonation[i].name, want[i].name);
        ck_assert_str_eq(config->impersonation[i].value, want[i].value);
    }
    vpa_kube_config_free(config);
}

/* ---- what a plugin answers ---- */

#define STATUS(status)                                                                             \
    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":" status "}"

static const struct {
    const char *text;
    const char *token;   /* when it is taken */
    const char *problem; /* NULL: it is taken */
} answers[] = {
    {STATUS("{\"token\":\"t\"}"), "t", NULL},
    {STATUS("{\"token\":\"t\",\"expirationTimestamp\":null}"), "t", NULL},
    {STATUS("{\"token\":\"t\",\"clientCertificateData\":\"\",\"clientKeyData\":\"\"}"), "t", NULL},
    {STATUS("{\"token\":\"t\",\"clientCertificateData\":\"c\"}"), NULL, "only one of"},
    {STATUS("{\"token\":\"t\",\"clientKeyData\":\"k\"}"), NULL, "only one of"},
    {STATUS("{\"clientCertificateData\":\"c\"}"), NULL, "only one of"},
    {STATUS("{\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\"}"), NULL, "certificate"},
    {STATUS("{\"token\":\"\"}"), NULL, "did not return a token"},
    {STATUS("{\"token\":7}"), NULL, "did not return a token"},
    {STATUS("null"), NULL, "did not return a token"},
    {STATUS("{\"token\":\"a\\rb\"}"), NULL, "line end"},
    {STATUS("{\"token\":\"a\\n\"}"), NULL, "line end"},
    {STATUS("{\"token\":\"t\",\"expirationTimestamp\":\"\"}"), NULL, "expirationTimestamp"},
    {"{\"kind\":\"Other\",\"apiVersion\":\"" V1 "\",\"status\":{\"token\":\"t\"}}", NULL,
     "did not answer with an ExecCredential"},
    {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1BETA1 "\",\"status\":{\"token\":\"t\"}}",
     NULL, "did not answer with an ExecCredential of " V1},
    {"{\"status\":{\"token\":\"t\"}}", NULL, "did not answer with an ExecCredential"},
    {"{", NULL, ""},
    {"", NULL, ""},
};

TEST_EACH(answers_of_plugins, answers) {
    struct exec_credential out = {0};
    int rc = exec_credential_parse(answers[_i].text, strlen(answers[_i].text), V1, &out, &err);

    if (answers[_i].problem) {
        ck_assert_int_eq(rc, -1);
        ck_assert_msg(strstr(err.text, answers[_i].problem) != NULL, "%s", err.text);
        ck_assert_ptr_null(out.token);
        return;
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_str_eq(out.token, answers[_i].token);
    ck_assert(!out.expires && !out.cert_pem && !out.key_pem);
    exec_credential_release(&out);
}

TEST(answers_that_expire) {
    static const char text[] =
        STATUS("{\"token\":\"t\",\"expirationTimestamp\":\"2026-03-01T12:00:00Z\"}");
    struct exec_credential out = {0};

    ck_assert_int_eq(exec_credential_parse(text, strlen(text), V1, &out, &err), 0);
    ck_assert(out.expires);
    ck_assert(out.expiry == vpa_time_from_unix(1772366400, 0));
    exec_credential_release(&out);
}

int main(void)
{
    return run_tests("kubeconfig_user", NULL, NULL);
}
