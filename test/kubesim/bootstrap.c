/* What a fresh server holds: namespaces, and the files of --load. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(const char *path, size_t *len)
{
    FILE *f = fopen(path, "r");
    struct vpa_buf buf;
    char chunk[65536];
    size_t n;

    if (!f)
        return NULL;
    vpa_buf_init(&buf, 256u << 20);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        vpa_buf_append(&buf, chunk, n);
    fclose(f);
    *len = buf.len;
    vpa_buf_putc(&buf, 0);
    return vpa_buf_take(&buf);
}

static int create_one(struct sim *sim, struct vpa_arena *a, const struct jv *object,
                      struct vpa_error *err)
{
    const char *api = jv_text_at(object, "apiVersion"), *kind = jv_text_at(object, "kind"),
               *ns = jv_text_at(object, "metadata.namespace");
    const char *slash = strchr(api, '/');
    const char *group = slash ? vpa_arena_strndup(a, api, (size_t)(slash - api)) : "";
    struct jv *answer;

    if (!strcmp(kind, "List")) {
        jv_each (m, jv_get(object, "items"))
            if (create_one(sim, a, m->value, err) < 0)
                return -1;
        return 0;
    }
    const struct restype *t = types_by_kind(&sim->types, group, kind);
    if (!t)
        return vpa_fail(err, VPA_INVALID, "%s %s is not served", api, kind);
    if (!*ns)
        ns = "default";
    const char *base =
        *group ? vpa_arena_printf(a, "/apis/%s", api) : vpa_arena_printf(a, "/api/%s", api);
    const char *path = t->flags & T_NAMESPACED
                           ? vpa_arena_printf(a, "%s/namespaces/%s/%s", base, ns, t->plural)
                           : vpa_arena_printf(a, "%s/%s", base, t->plural);
    int status = api_call(sim, a, "admin", "POST", path, NULL, object, &answer);
    if (status != 201 && status != 409)
        return vpa_fail(err, VPA_INVALID, "%s %s: %d %s", kind, jv_text_at(object, "metadata.name"),
                        status, jv_text_at(answer, "message"));
    return 0;
}

static int load_file(struct sim *sim, const char *path, struct vpa_error *err)
{
    vpa_auto_arena a = {0};
    size_t len = 0, count;
    vpa_auto_free char *text = read_all(path, &len);
    struct jv **documents;

    if (!text)
        return vpa_fail(err, VPA_INVALID, "%s cannot be read", path);
    if (jv_parse_yaml(&a, text, len, &documents, &count, err) < 0)
        return vpa_wrap(err, "%s", path);
    for (size_t i = 0; i < count; i++)
        if (create_one(sim, &a, documents[i], err) < 0)
            return vpa_wrap(err, "%s", path);
    return 0;
}

/* What servers behind the aggregator go by, and the right to read it. */
static int tell_proxy(struct sim *sim, struct vpa_arena *a, struct vpa_error *err)
{
    struct jv *map =
        jv_lit(a, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                  "\"name\":\"extension-apiserver-authentication\","
                  "\"namespace\":\"kube-system\"},\"data\":{"
                  "\"requestheader-allowed-names\":\"[\\\"front-proxy-client\\\"]\","
                  "\"requestheader-extra-headers-prefix\":\"[\\\"X-Remote-Extra-\\\"]\","
                  "\"requestheader-group-headers\":\"[\\\"X-Remote-Group\\\"]\","
                  "\"requestheader-username-headers\":\"[\\\"X-Remote-User\\\"]\"}}");
    size_t len = 0;
    vpa_auto_free char *ca = read_all(sim->opt.requestheader_ca, &len);

    if (!ca)
        return vpa_fail(err, VPA_INVALID, "%s cannot be read", sim->opt.requestheader_ca);
    jv_set_str(a, jv_get(map, "data"), "requestheader-client-ca-file", ca);
    if (create_one(sim, a, map, err) < 0)
        return -1;
    return create_one(sim, a,
                      jv_lit(a,
                             "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"Role\","
                             "\"metadata\":{\"name\":\"extension-apiserver-authentication-reader\","
                             "\"namespace\":\"kube-system\"},\"rules\":[{\"apiGroups\":[\"\"],"
                             "\"resources\":[\"configmaps\"],\"resourceNames\":["
                             "\"extension-apiserver-authentication\"],\"verbs\":[\"get\",\"list\","
                             "\"watch\"]}]}"),
                      err);
}

int bootstrap(struct sim *sim, struct vpa_error *err)
{
    static const char *const namespaces[] = {"default", "kube-system", "kube-public",
                                             "kube-node-lease"};
    vpa_auto_arena a = {0};

    for (size_t i = 0; i < VPA_COUNT(namespaces); i++) {
        struct jv *ns =
            jv_lit(&a, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{}}");
        jv_set_str(&a, jv_get(ns, "metadata"), "name", namespaces[i]);
        if (api_call(sim, &a, "admin", "POST", "/api/v1/namespaces", NULL, ns, NULL) != 201)
            return vpa_fail(err, VPA_INVALID, "namespace %s was not made", namespaces[i]);
    }
    if (sim->opt.requestheader_ca && tell_proxy(sim, &a, err) < 0)
        return -1;
    for (size_t i = 0; i < sim->opt.load_count; i++)
        if (load_file(sim, sim->opt.load[i], err) < 0)
            return -1;
    return sim->opt.generate ? generate(sim, sim->opt.generate, err) : 0;
}
