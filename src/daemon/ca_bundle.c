#include "vpa/daemon/ca_bundle.h"

#include <string.h>

#include "vpa/api/review.h"
#include "vpa/base/buf.h"
#include "vpa/base/str.h"

static const char *const injectors[] = {"cert-manager.io/inject-ca-from",
                                        "cert-manager.io/inject-ca-from-secret",
                                        "cert-manager.io/inject-apiserver-ca"};

const char *vpa_ca_bundle_injector(const struct vpa_json *object)
{
    const struct vpa_json *annotations = vpa_json_at(object, "metadata.annotations");

    for (size_t i = 0; i < VPA_COUNT(injectors); i++)
        if (vpa_json_find(annotations, injectors[i]))
            return injectors[i];
    return "";
}

const char *vpa_ca_bundle_decode(struct vpa_arena *arena, const char *base64)
{
    vpa_auto_buf pem = VPA_BUF(VPA_CA_BUNDLE_MAX);

    if (vpa_base64_decode(&pem, base64, strlen(base64), NULL) < 0)
        return "unreadable";
    return *base64 && pem.len == 0 ? "unreadable" : vpa_arena_strdup(arena, vpa_buf_text(&pem));
}
