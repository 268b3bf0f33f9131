/* kubeconfig texts: refused with a text, or giving a server URL, headers without line ends and
 * options. */
#include "fuzz.h"
#include "vpa/kube/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_http_client_options options;
    const struct vpa_header *headers;
    struct vpa_error err = {0};
    size_t count = 0;
    struct vpa_kube_config *config =
        vpa_kube_config_parse((const char *)data, size, "/nonexistent", &err);

    if (!config) {
        FUZZ_CHECK(err.code != VPA_OK && err.text[0]);
        return 0;
    }
    const char *server = vpa_kube_config_server(config);
    FUZZ_CHECK(strncmp(server, "http://", 7) == 0 || strncmp(server, "https://", 8) == 0);
    vpa_kube_config_client_options(config, &options);
    FUZZ_CHECK(options.base_url == server);
    /* Plugins are not run: the input would choose the program. */
    if (!memmem(data, size, "exec", 4) &&
        vpa_kube_config_headers(config, 0, &headers, &count, &err) == 0)
        for (size_t i = 0; i < count; i++)
            FUZZ_CHECK(!strpbrk(headers[i].name, "\r\n: ") && !strpbrk(headers[i].value, "\r\n"));
    vpa_kube_config_free(config);
    return 0;
}
