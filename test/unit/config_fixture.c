#include "config_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char dir[64];
struct vpa_error err;

void setup(void)
{
    snprintf(dir, sizeof(dir), "/tmp/plumb-config-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

void put_file(const char *name, const char *text)
{
    vpa_auto_free char *path = vpa_xjoin(dir, '/', name);
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

void teardown(void)
{
    static const char *const names[] = {"token", "ca.crt", "config", "plugin", "log"};

    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        vpa_auto_free char *path = vpa_xjoin(dir, '/', names[i]);
        unlink(path);
    }
    rmdir(dir);
}

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
    struct vpa_kube_config *config = vpa_kube_config_parse(text, strlen(text), dir, &err);

    ck_assert_msg(config != NULL, "%s", err.text);
    return config;
}
