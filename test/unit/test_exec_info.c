/* What a plugin is told of the cluster, to the letter. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "suite.h"
#include "temp_folder.h"
#include "vpa/base/file.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/kube/config.h"

#define V1 "client.authentication.k8s.io/v1"

static struct vpa_error err;

static void setup(void)
{
    static const char script[] =
        "#!/bin/sh\nprintf %s \"$KUBERNETES_EXEC_INFO\" > $(dirname $0)/log\n"
        "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
        "\",\"status\":{\"token\":\"t\"}}'\n";

    temp_folder_make();
    chmod(temp_put("plugin", script), 0755);
}

#define CLUSTER "{\"server\":\"https://host:6443\""
static const struct {
    const char *cluster; /* more of it in the kubeconfig */
    bool provide;
    const char *spec; /* of what the plugin is given */
} infos[] = {
    {"", false, "{\"interactive\":false}"},
    {"", true, "{\"cluster\":" CLUSTER "},\"interactive\":false}"},
    {", insecure-skip-tls-verify: true", true,
     "{\"cluster\":" CLUSTER ",\"insecure-skip-tls-verify\":true},\"interactive\":false}"},
    {", insecure-skip-tls-verify: false", true, "{\"cluster\":" CLUSTER "},\"interactive\":false}"},
    {", tls-server-name: other, proxy-url: 'http://proxy:1'", true,
     "{\"cluster\":" CLUSTER ",\"tls-server-name\":\"other\",\"proxy-url\":\"http://proxy:1\"},"
     "\"interactive\":false}"},
    {", proxy-url: 'socks5://proxy:1'", true,
     "{\"cluster\":" CLUSTER ",\"proxy-url\":\"socks5://proxy:1\"},\"interactive\":false}"},
    {", certificate-authority-data: YQ==", true,
     "{\"cluster\":" CLUSTER ",\"certificate-authority-data\":\"YQ==\"},\"interactive\":false}"},
};

TEST_EACH(what_a_plugin_is_told, infos) {
    vpa_auto_free char *text =
        vpa_xprintf("{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],"
                    " clusters: [{name: k, cluster: {server: 'https://host:6443'%s}}],"
                    " users: [{name: u, user: {exec: {apiVersion: " V1 ", command: ./plugin,"
                    " interactiveMode: Never, provideClusterInfo: %s}}}]}",
                    infos[_i].cluster, infos[_i].provide ? "true" : "false");
    vpa_auto_free char *want = vpa_xprintf(
        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"spec\":%s}", infos[_i].spec);
    const char *log = temp_path("log");
    vpa_auto_free char *told = NULL;
    const struct vpa_header *headers;
    size_t count, len;
    struct vpa_kube_config *config = vpa_kube_config_parse(text, strlen(text), temp_folder(), &err);

    ck_assert_msg(config != NULL, "%s", err.text);
    ck_assert_msg(vpa_kube_config_headers(config, 0, &headers, &count, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(headers[0].value, "Bearer t");
    ck_assert_int_eq(vpa_read_file(log, 10000, &told, &len, &err), 0);
    ck_assert_str_eq(told, want);
    vpa_kube_config_free(config);
}

int main(void)
{
    return run_tests_within(60, "exec_info", setup, temp_folder_remove);
}
