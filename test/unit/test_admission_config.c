/* Settings of the webhook: what is refused, from both sides of each bound. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "arena_fixture.h"
#include "daemon.h"
#include "suite.h"
#include "vpa/base/str.h"

#define ARGUMENTS_MAX 3

static struct admission_config config;

static void parse(const char *const *arguments)
{
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &config};
    char *argv[1 + ARGUMENTS_MAX] = {(char *)(uintptr_t) "vpa-admission-controller"};
    vpa_auto_buf text = VPA_BUF(1 << 20);
    int argc = 1;

    for (; argc <= ARGUMENTS_MAX && arguments[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)arguments[argc - 1];
    ck_assert_msg(vpa_flags_start(&flags, &arena, argc, argv, &text) < 0, "%s",
                  vpa_buf_text(&text));
}

static const struct {
    const char *arguments[ARGUMENTS_MAX];
    const char *problem; /* how the line begins; NULL: fine */
    int status;
} checks[] = {
    {{NULL}, NULL, 0},
    {{"--kube-api-burst=0"}, "burst is required to be greater than 0", 2},
    {{"--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b"},
     "--vpa-object-namespace and --ignored-vpa-object-namespaces",
     1},
    {{"--status-lease-update-interval=1ns"}, NULL, 0},
    {{"--status-lease-update-interval=0"}, "--status-lease-update-interval must be positive.", 1},
    {{"--status-lease-update-interval=-1ns"},
     "--status-lease-update-interval must be positive.",
     1},
    {{"--certificate-lifetime=10m"}, NULL, 0},
    {{"--certificate-lifetime=599s"}, "--certificate-lifetime must be at least 10m0s.", 1},
    {{"--shadow"}, NULL, 0},
    {{"--manage-certificates"}, NULL, 0},
    {{"--shadow", "--manage-certificates"}, "--manage-certificates keeps certificates", 1},
    {{"--recommendation-query-url=http://r:8942/query"}, NULL, 0},
    {{"--recommendation-query-url=10.96.0.5:8942"}, NULL, 0},
    {{"--recommendation-query-url=r:abc"},
     "--recommendation-query-url: parse \"http://r:abc\": invalid port \":abc\" after host",
     1},
    {{"--recommendation-query-url=http://r:abc"},
     "--recommendation-query-url: parse \"http://r:abc\": invalid port \":abc\" after host",
     1},
    {{"--recommendation-query-timeout=1ns"}, NULL, 0},
    {{"--recommendation-query-timeout=0"}, "--recommendation-query-timeout must be positive.", 1},
    {{"--recommendation-query-timeout=-1s"}, "--recommendation-query-timeout must be positive.", 1},
    {{"--port=0"}, NULL, 0},
    {{"--port=65535"}, NULL, 0},
    {{"--port=-1"}, "--port must be between 0 and 65535.", 1},
    {{"--port=65536"}, "--port must be between 0 and 65535.", 1},
};

TEST_EACH(checks_settings, checks) {
    struct vpa_error err;
    int status = 0;

    parse(checks[_i].arguments);
    int result = admission_config_check(&config, &status, &err);

    ck_assert_int_eq(result, checks[_i].problem ? -1 : 0);
    if (!checks[_i].problem)
        return;
    ck_assert_msg(vpa_str_starts_with(err.text, checks[_i].problem), "%s", err.text);
    ck_assert_int_eq(status, checks[_i].status);
}

/* The default's text is a name as any other, once it is given. */
static const struct {
    const char *arguments[ARGUMENTS_MAX];
    bool known;
} names[] = {
    {{NULL}, true},
    {{"--webhook-config-name=mine"}, true},
    {{"--register-webhook=false"}, false},
    {{"--register-webhook=false", "--webhook-config-name=mine"}, true},
    {{"--register-webhook=false", "--webhook-config-name=vpa-webhook-config"}, true},
};

TEST_EACH(the_name_of_the_registration_is_known, names) {
    parse(names[_i].arguments);
    ck_assert_int_eq(admission_config_knows_registration(&config), names[_i].known);
}

/* The Secret of the certificates has to be somewhere. */
static const struct {
    const char *argument;
    const char *ns; /* NULL: not set */
    int result;
} namespaces[] = {
    {"--manage-certificates", NULL, -1},
    {"--manage-certificates", "", -1},
    {"--manage-certificates", "vpa", 0},
    {NULL, NULL, 0},
};

TEST_EACH(a_secret_needs_a_namespace, namespaces) {
    const struct vpa_daemon daemon = admission_daemon(&config);
    struct vpa_error err;
    int status = 0;

    if (namespaces[_i].ns)
        setenv("NAMESPACE", namespaces[_i].ns, 1);
    else
        unsetenv("NAMESPACE");
    parse((const char *const[ARGUMENTS_MAX]){namespaces[_i].argument});
    ck_assert_int_eq(daemon.check(&config, &arena, &status, &err), namespaces[_i].result);
    if (namespaces[_i].result == 0)
        return;
    ck_assert_msg(vpa_str_starts_with(err.text, "--manage-certificates needs NAMESPACE"), "%s",
                  err.text);
    ck_assert_int_eq(status, 1);
}

static const struct {
    const char *argument;
    int version; /* -1: refused */
} versions[] = {
    {NULL, VPA_TLS_1_2},
    {"--min-tls-version=", VPA_TLS_1_2},
    {"--min-tls-version=tls1_2", VPA_TLS_1_2},
    {"--min-tls-version=tls1_3", VPA_TLS_1_3},
    {"--min-tls-version=tls1_1", -1},
    {"--min-tls-version=tls1_4", -1},
    {"--min-tls-version=TLS1_3", -1},
};

TEST_EACH(knows_two_versions_of_tls, versions) {
    enum vpa_tls_version version;
    struct vpa_error err;

    parse((const char *const[ARGUMENTS_MAX]){versions[_i].argument});
    int result = admission_config_tls_version(&config, &version, &err);

    ck_assert_int_eq(result, versions[_i].version < 0 ? -1 : 0);
    if (result == 0)
        ck_assert_int_eq((int)version, versions[_i].version);
    else
        ck_assert_msg(vpa_str_starts_with(err.text, "unable to determine value for "
                                                    "--min-tls-version ("),
                      "%s", err.text);
}

int main(void)
{
    return run_tests("admission_config", setup, teardown);
}
