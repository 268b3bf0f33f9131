/* Several kubeconfigs, merged as kubectl merges them, and what a pod has instead of them. */
#include "config_fixture.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEV                                                                                        \
    "contexts:\n- {name: dev, context: {cluster: dev}}\n"                                          \
    "clusters:\n- {name: dev, cluster: {server: 'http://dev:1'}}\n"
#define PROD                                                                                       \
    "current-context: prod\ncontexts:\n- {name: prod, context: {cluster: prod, user: admin}}\n"    \
    "clusters:\n- {name: prod, cluster: {server: 'https://prod:2'}}\n"                             \
    "users:\n- {name: admin, user: {token: good}}\n"

/* Of the files one, two and three of the folder, in this order. */
static struct vpa_kube_config *merged(const char *context)
{
    const char *paths[] = {temp_path("one"), temp_path("two"), temp_path("three")};

    return vpa_kube_config_load_merged(paths, 3, context, &err);
}

static const struct {
    const char *files[3]; /* NULL: missing */
    const char *context;  /* that is named; NULL: none */
    const char *server;   /* NULL: refused */
    const char *error;    /* ends the text */
} cases[] = {
    {{"current-context: dev\n" DEV, PROD}, NULL, "http://dev:1", NULL},
    {{"current-context: dev\n" DEV, PROD}, "prod", "https://prod:2", NULL},
    /* kubectl config use-context writes into the first file */
    {{"current-context: prod\n" DEV, "current-context: dev\n" PROD}, NULL, "https://prod:2", NULL},
    {{"current-context: prod\n", DEV, PROD}, NULL, "https://prod:2", NULL},
    {{"current-context: ''\n" DEV, PROD}, NULL, "https://prod:2", NULL},
    {{"current-context: nope\n" DEV, PROD},
     NULL,
     NULL,
     "invalid configuration: context was not found for specified context: nope"},
    {{DEV, PROD}, "nope", NULL, "context \"nope\" does not exist"},
    {{NULL, "", NULL}, "nope", NULL, "context \"nope\" does not exist"},
    {{NULL}, "nope", NULL, "context \"nope\" does not exist"},
    {{"current-context: nope\n"},
     NULL,
     NULL,
     "invalid configuration: context was not found for specified context: nope"},
    /* a context here, its cluster there */
    {{"contexts:\n- {name: c, context: {cluster: dev, user: admin}}\n", DEV, PROD},
     "c",
     "http://dev:1",
     NULL},
    /* the first that has the name, whole */
    {{"clusters:\n- {name: prod, cluster: {server: 'https://first:1'}}\n", PROD},
     NULL,
     "https://first:1",
     NULL},
    {{"clusters:\n- {name: prod}\n", PROD}, NULL, NULL, "no server found for cluster \"prod\""},
    {{"clusters:\n-\n- {}\n- {name: x}\n", PROD}, NULL, "https://prod:2", NULL},
    /* missing and empty files are passed over */
    {{NULL, PROD, NULL}, NULL, "https://prod:2", NULL},
    {{"", "{}\n", PROD}, NULL, "https://prod:2", NULL},
    {{NULL}, NULL, NULL, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"},
    {{DEV},
     NULL,
     NULL,
     "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER "
     "environment variable"},
    /* any other one is an error, wherever it is */
    {{"[", PROD}, NULL, NULL, "line 2: did not find expected node content"},
    {{PROD, "- x\n"}, NULL, NULL, "kubeconfig: expected object, got array"},
    {{"contexts: {}\n", PROD}, NULL, NULL, "kubeconfig: contexts: expected array, got object"},
    {{PROD, "users: [x]\n"}, NULL, NULL, "kubeconfig: users: expected object, got string"},
    {{"current-context: 5\n", PROD}, NULL, NULL, "current-context: expected string, got number"},
};

TEST_EACH(merges, cases) {
    static const char *const names[] = {"one", "two", "three"};
    struct vpa_kube_config *config;

    unsetenv("KUBERNETES_SERVICE_HOST");
    for (size_t i = 0; i < 3; i++)
        if (cases[_i].files[i])
            temp_put(names[i], cases[_i].files[i]);
    config = merged(cases[_i].context);
    if (cases[_i].server) {
        ck_assert_msg(config != NULL, "%s", err.text);
        ck_assert_str_eq(vpa_kube_config_server(config), cases[_i].server);
    } else {
        ck_assert_ptr_null(config);
        ck_assert_msg(vpa_str_ends_with(err.text, cases[_i].error), "%s", err.text);
    }
    vpa_kube_config_free(config);
}

TEST(names_the_file_that_nobody_has) {
    unsetenv("KUBERNETES_SERVICE_HOST");
    ck_assert_ptr_null(merged(NULL));
    ck_assert_msg(strstr(err.text, "one: No such file or directory: unable to load in-cluster"),
                  "%s", err.text);
}

TEST(says_which_context_it_took) {
    struct vpa_kube_config *config;

    temp_put("one", "current-context: prod\n" DEV);
    temp_put("two", PROD);
    config = merged(NULL);
    ck_assert_str_eq(vpa_kube_config_context(config), "prod");
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer good");
    vpa_kube_config_free(config);
    config = merged("dev");
    ck_assert_str_eq(vpa_kube_config_context(config), "dev");
    vpa_kube_config_free(config);
    config = vpa_kube_config_plain("http://host");
    ck_assert_str_eq(vpa_kube_config_context(config), "");
    vpa_kube_config_free(config);
}

/* File names count from the file that has the entry, not from the one that has the context. */
TEST(files_are_beside_their_entry) {
    const char *one = temp_path("one");
    vpa_auto_free char *folder = vpa_xprintf("%s/sub", temp_folder());
    vpa_auto_free char *two = vpa_xprintf("%s/users", folder);
    const char *paths[] = {one, two};
    struct vpa_kube_config *config;

    ck_assert_int_eq(mkdir(folder, 0700), 0);
    temp_put("one", "current-context: c\ncontexts:\n- {name: c, context: {cluster: k, user: u}}\n"
                    "clusters:\n- {name: k, cluster: {server: 'https://h'}}\n");
    temp_put("token", "beside the first");
    temp_put("sub/users", "users:\n- {name: u, user: {tokenFile: token}}\n");
    temp_put("sub/token", "good");
    config = vpa_kube_config_load_merged(paths, 2, NULL, &err);
    ck_assert_msg(config != NULL, "%s", err.text);
    ck_assert_str_eq(header(config, 0, "Authorization"), "Bearer good");
    vpa_kube_config_free(config);
    unlink(two);
    unlink(temp_path("sub/token"));
    ck_assert_int_eq(rmdir(folder), 0);
}

/* The error names the file that has the mistake. */
TEST(errors_name_their_file) {
    temp_put("one", "current-context: prod\n" DEV);
    temp_put("two", "clusters:\n- {name: prod, cluster: {server: 5}}\n");
    temp_put("three", PROD);
    ck_assert_ptr_null(merged(NULL));
    ck_assert_ptr_nonnull(strstr(err.text, temp_path("two")));
    ck_assert_ptr_nonnull(strstr(err.text, "cluster \"prod\": server: expected string"));
    temp_put("two", "]");
    ck_assert_ptr_null(merged(NULL));
    ck_assert_ptr_nonnull(strstr(err.text, temp_path("two")));
    ck_assert_ptr_null(strstr(err.text, temp_path("one")));
}

/* A folder, and a file where a folder is to be: there is something, but it is no kubeconfig. */
TEST(what_cannot_be_read_is_not_missing) {
    vpa_auto_free char *below = vpa_xprintf("%s/x", temp_path("one"));
    const char *folder[] = {temp_folder(), temp_path("one")}, *file[] = {below, temp_path("one")};

    temp_put("one", PROD);
    ck_assert_ptr_null(vpa_kube_config_load_merged(folder, 2, NULL, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "Is a directory"));
    ck_assert_ptr_null(vpa_kube_config_load_merged(file, 2, NULL, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "Not a directory"));
    ck_assert_ptr_null(vpa_kube_config_load_merged(file, 2, NULL, NULL));
}

TEST(no_file_has_no_context) {
    ck_assert_ptr_null(vpa_kube_config_load_context(NULL, "nope", &err));
    ck_assert_str_eq(err.text, "context \"nope\" does not exist");
    ck_assert_ptr_null(vpa_kube_config_load_context("/dev/null", "nope", &err));
    ck_assert_str_eq(err.text, "context \"nope\" does not exist");
}

/* As kubectl: what the pod is told, else the folder of its service account. */
TEST(a_pod_has_a_namespace) {
    vpa_auto_arena arena = {0};

    unsetenv("POD_NAMESPACE");
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    temp_put("namespace", "shop\n");
    ck_assert_str_eq(vpa_kube_pod_namespace(&arena, temp_folder()), ""); /* no token: no pod */
    temp_put("token", "x");
    ck_assert_str_eq(vpa_kube_pod_namespace(&arena, temp_folder()), "shop");
    setenv("POD_NAMESPACE", "told", 1);
    ck_assert_str_eq(vpa_kube_pod_namespace(&arena, temp_folder()), "told");
    setenv("POD_NAMESPACE", "", 1);
    temp_put("namespace", " \n");
    ck_assert_str_eq(vpa_kube_pod_namespace(&arena, temp_folder()), "");
    unsetenv("KUBERNETES_SERVICE_PORT");
    temp_put("namespace", "shop");
    ck_assert_str_eq(vpa_kube_pod_namespace(&arena, temp_folder()), "");
}

int main(void)
{
    return run_tests("config_merge", temp_folder_make, temp_folder_remove);
}
