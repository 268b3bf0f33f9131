#include "certificate_objects.h"

#include <check.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/daemon/ca_bundle.h"

void put_secret(struct sim_cluster *sim, const char *data)
{
    vpa_auto_free char *object =
        vpa_xprintf("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"namespace\":"
                    "\"ns\",\"name\":\"certificates\"},\"data\":%s}",
                    data);

    sim_cluster_put_text(sim, object);
}

static const char *stored_bundle(const struct sim_cluster *sim, struct vpa_arena *arena)
{
    const struct vpa_json *service = sim_cluster_find(sim, arena, "apiregistration.k8s.io/v1",
                                                      "APIService", "", API_SERVICE_NAME);

    return vpa_or_empty(vpa_json_string(vpa_json_at(service, "spec.caBundle")));
}

void put_service(struct sim_cluster *sim, const char *annotations, const char *bundle)
{
    vpa_auto_arena arena = {0};

    sim_cluster_put_text(
        sim, vpa_arena_printf(
                 &arena,
                 "{\"apiVersion\":\"apiregistration.k8s.io/v1\",\"kind\":\"APIService\","
                 "\"metadata\":{\"name\":\"" API_SERVICE_NAME "\",\"annotations\":{%s}},\"spec\":{"
                 "\"group\":\"" QUERY_GROUP "\",\"version\":\"v1alpha1\",\"service\":{"
                 "\"namespace\":\"ns\",\"name\":\"recommendation\"},\"groupPriorityMinimum\":1000,"
                 "\"versionPriority\":15,\"caBundle\":\"%s\"}}",
                 annotations, bundle ? bundle : stored_bundle(sim, &arena)));
}

char *live_bundle(const struct sim_cluster *sim)
{
    vpa_auto_arena arena = {0};

    return vpa_xstrdup(vpa_ca_bundle_decode(&arena, stored_bundle(sim, &arena)));
}

int written(const struct sim_cluster *sim, const char *path, int code)
{
    size_t count;
    const struct sim_asked *writes = sim_cluster_writes(sim, &count);
    int found = 0;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(writes[i].path, path) != 0)
            continue;
        ck_assert_ptr_nonnull(strstr(writes[i].body, strcmp(writes[i].method, "POST") == 0
                                                         ? "\"metadata\":{\"name\":\""
                                                         : "\"metadata\":{\"resourceVersion\":\""));
        found += writes[i].code == code;
    }
    return found;
}
