#include "config_fixture.h"

struct vpa_error err;

const char *header(struct vpa_kube_config *config, int64_t now, const char *name)
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

struct vpa_kube_config *load(const char *text)
{
    struct vpa_kube_config *config = vpa_kube_config_parse(text, strlen(text), temp_folder(), &err);

    ck_assert_msg(config != NULL, "%s", err.text);
    return config;
}
