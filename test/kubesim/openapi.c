/*
 * OpenAPI v3: the index and one document per group and version. kubectl needs from it: for every
 * resource a POST and a PATCH with kind and options, and component schemas that name the kind
 * (explain, diff).
 */
#include "sim.h"

#include <string.h>

static uint32_t fingerprint(const struct ctx *c, const char *group, const char *version)
{
    uint32_t h = 2166136261u;

    for (const struct restype *t = c->sim->types.first; t; t = t->next) {
        if (t->withdrawn || strcmp(t->group, group) != 0 || strcmp(t->version, version) != 0)
            continue;
        for (const char *p = t->plural; *p; p++)
            h = (h ^ (unsigned char)*p) * 16777619u;
        h ^= (uint32_t)(uintptr_t)t;
    }
    return h;
}

/* Their servers may change what they say at any time: no fingerprint. */
static void add_aggregated(struct ctx *c, struct jv *paths)
{
    const struct collection *services =
        types_find(&c->sim->types, "apiregistration.k8s.io", "v1", "apiservices")->store;

    for (size_t i = 0; i < services->count; i++) {
        const struct jv *o = version_parse(c->a, services->items[i]);
        const char *path = vpa_arena_printf(c->a, "apis/%s/%s", jv_text_at(o, "spec.group"),
                                            jv_text_at(o, "spec.version"));
        struct jv *entry = jv_obj(c->a);

        if (jv_missing(jv_at(o, "spec.service")) || jv_get(paths, path))
            continue;
        jv_set(c->a, entry, "serverRelativeURL", jv_strf(c->a, "/openapi/v3/%s", path));
        jv_set(c->a, paths, path, entry);
    }
}

static int answer_index(struct ctx *c)
{
    struct jv *out = jv_obj(c->a), *paths = jv_obj(c->a);

    for (const struct restype *t = c->sim->types.first; t; t = t->next) {
        if (t->withdrawn)
            continue;
        const char *path = *t->group ? vpa_arena_printf(c->a, "apis/%s/%s", t->group, t->version)
                                     : vpa_arena_printf(c->a, "api/%s", t->version);
        struct jv *entry = jv_obj(c->a);
        jv_set(
            c->a, entry, "serverRelativeURL",
            jv_strf(c->a, "/openapi/v3/%s?hash=%08X", path, fingerprint(c, t->group, t->version)));
        jv_set(c->a, paths, path, entry);
    }
    add_aggregated(c, paths);
    jv_set(c->a, out, "paths", paths);
    answer_json(c, 200, out);
    c->res->content_type = "text/plain; charset=utf-8";
    return 0;
}

/* io.k8s.autoscaling.v1.VerticalPodAutoscaler of autoscaling.k8s.io */
static const char *component_name(struct ctx *c, const struct restype *t)
{
    const char *group = *t->group ? t->group : "core";
    char *rest = vpa_arena_strdup(c->a, group), *part;
    const char *out = "";

    if (!t->crd)
        return vpa_arena_printf(c->a, "io.k8s.kubesim.%s", t->as ? "NewEvent" : t->kind);
    while ((part = strsep(&rest, ".")))
        out = *out ? vpa_arena_printf(c->a, "%s.%s", part, out) : part;
    return vpa_arena_printf(c->a, "%s.%s.%s", out, t->version, t->kind);
}

static struct jv *gvk(struct ctx *c, const struct restype *t)
{
    struct jv *k = jv_obj(c->a);

    jv_set_str(c->a, k, "group", t->group);
    jv_set_str(c->a, k, "kind", t->kind);
    jv_set_str(c->a, k, "version", t->version);
    return k;
}

static struct jv *operation(struct ctx *c, const struct restype *t, const char *action)
{
    struct vpa_arena *a = c->a;
    struct jv *op = jv_obj(a), *parameters = jv_arr(a);
    static const char *const names[] = {"dryRun", "fieldManager", "fieldValidation"};

    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        struct jv *p = jv_obj(a);
        jv_set_str(a, p, "name", names[i]);
        jv_set_str(a, p, "in", "query");
        jv_set(a, p, "schema", jv_lit(a, "{\"type\":\"string\"}"));
        jv_push(a, parameters, p);
    }
    jv_set(a, op, "parameters", parameters);
    jv_set(a, op, "responses", jv_lit(a, "{\"200\":{\"description\":\"OK\"}}"));
    jv_set_str(a, op, "x-kubernetes-action", action);
    jv_set(a, op, "x-kubernetes-group-version-kind", gvk(c, t));
    return op;
}

static void add_paths(struct ctx *c, struct jv *paths, const struct restype *t)
{
    struct vpa_arena *a = c->a;
    const char *base = *t->group ? vpa_arena_printf(a, "/apis/%s/%s", t->group, t->version)
                                 : vpa_arena_printf(a, "/api/%s", t->version);
    const char *collection =
        t->flags & T_NAMESPACED
            ? vpa_arena_printf(a, "%s/namespaces/{namespace}/%s", base, t->plural)
            : vpa_arena_printf(a, "%s/%s", base, t->plural);
    struct jv *list = jv_obj(a), *item = jv_obj(a);

    jv_set(a, list, "get", operation(c, t, "list"));
    jv_set(a, list, "post", operation(c, t, "post"));
    jv_set(a, item, "get", operation(c, t, "get"));
    jv_set(a, item, "put", operation(c, t, "put"));
    jv_set(a, item, "patch", operation(c, t, "patch"));
    jv_set(a, item, "delete", operation(c, t, "delete"));
    jv_set(a, paths, collection, list);
    if (!(t->flags & T_CREATE_ONLY))
        jv_set(a, paths, vpa_arena_printf(a, "%s/{name}", collection), item);
}

static void write_builtin(void *ctx, const struct schema *s)
{
    struct ctx *c = ctx;
    struct vpa_buf *b = &c->res->body;

    if (!s->name)
        return;
    vpa_buf_printf(b, "%s\"io.k8s.kubesim.%s\":", vpa_buf_text(b)[b->len - 1] == '{' ? "" : ",",
                   s->name);
    size_t start = b->len;
    schema_write_openapi(b, s, true);
    struct jv *kinds = jv_arr(c->a);
    for (const struct restype *t = c->sim->types.first; t; t = t->next)
        if (!t->withdrawn && !t->crd && t->schema == s && !strcmp(t->group, c->group) &&
            !strcmp(t->version, c->version))
            jv_push(c->a, kinds, gvk(c, t));
    if (jv_len(kinds) && b->len > start) {
        vpa_buf_truncate(b, b->len - 1);
        vpa_buf_puts(b, ",\"x-kubernetes-group-version-kind\":");
        jv_write(b, kinds);
        vpa_buf_putc(b, '}');
    }
}

static void write_custom(struct ctx *c, const struct restype *t)
{
    struct vpa_buf *b = &c->res->body;
    struct jv *s = jv_clone(c->a, t->schema->raw), *kinds = jv_arr(c->a),
              *properties = jv_ensure(c->a, s, "properties");

    jv_push(c->a, kinds, gvk(c, t));
    jv_set(c->a, s, "x-kubernetes-group-version-kind", kinds);
    jv_set(c->a, properties, "metadata",
           jv_lit(c->a, "{\"$ref\":\"#/components/schemas/io.k8s.kubesim.ObjectMeta\"}"));
    vpa_buf_printf(b, "%s\"%s\":", vpa_buf_text(b)[b->len - 1] == '{' ? "" : ",",
                   component_name(c, t));
    jv_write(b, s);
}

static int answer_group(struct ctx *c, const char *group, const char *version)
{
    struct jv *paths = jv_obj(c->a);
    struct vpa_buf *b = &c->res->body;

    c->group = group;
    c->version = version;
    for (const struct restype *t = c->sim->types.first; t; t = t->next)
        if (!t->withdrawn && !strcmp(t->group, group) && !strcmp(t->version, version))
            add_paths(c, paths, t);
    if (!jv_len(paths)) {
        sim_unlock(c); /* which another server is not asked under */
        if (proxy_group(c, group, version))
            return 0;
        answer_text(c, 404, "");
        c->res->content_type = "";
        return -1;
    }
    c->res->content_type = "application/json";
    vpa_buf_puts(b, "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":"
                    "\"unversioned\"},\"paths\":");
    jv_write(b, paths);
    vpa_buf_puts(b, ",\"components\":{\"schemas\":{");
    schema_each_builtin(write_builtin, c);
    for (const struct restype *t = c->sim->types.first; t; t = t->next)
        if (!t->withdrawn && t->crd && !strcmp(t->group, group) && !strcmp(t->version, version))
            write_custom(c, t);
    vpa_buf_puts(b, "}}}\n");
    return 0;
}

int handle_openapi(struct ctx *c)
{
    const char *path = c->req->path + strlen("/openapi/");
    char *rest;
    const char *part[5] = {"", "", "", "", ""};
    size_t n = 0;

    if (!strcmp(path, "v3"))
        return answer_index(c);
    rest = vpa_arena_strdup(c->a, path);
    for (char *p; n < 5 && (p = strsep(&rest, "/"));)
        part[n++] = p;
    if (n == 3 && !strcmp(part[0], "v3") && !strcmp(part[1], "api"))
        return answer_group(c, "", part[2]);
    if (n == 4 && !strcmp(part[0], "v3") && !strcmp(part[1], "apis"))
        return answer_group(c, part[2], part[3]);
    return answer_404_text(c);
}
