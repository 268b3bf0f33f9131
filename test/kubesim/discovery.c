/*
 * Discovery: version and health, the legacy lists (/api, /apis, /apis/G, /apis/G/V) and the
 * aggregated form v2. Groups of aggregated APIs (APIService) are listed with what their servers
 * say.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outgoing.h"

static const char builtin_verbs[] =
    "[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]";
static const char custom_verbs[] =
    "[\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"create\",\"update\",\"watch\"]";
static const char change_verbs[] = "[\"get\",\"patch\",\"update\"]";

static const char *verbs_of(const struct restype *t)
{
    return t->flags & T_CREATE_ONLY ? "[\"create\"]" : t->crd ? custom_verbs : builtin_verbs;
}

struct subresource {
    const char *name, *group, *version, *kind, *verbs;
};

static size_t subresources(struct ctx *c, const struct restype *t, struct subresource *out)
{
    size_t n = 0;
    bool pod = !strcmp(t->kind, "Pod") && !*t->group;

    if (pod) {
        out[n++] = (struct subresource){"binding", "", "", "Binding", "[\"create\"]"};
        out[n++] = (struct subresource){"eviction", "policy", "v1", "Eviction", "[\"create\"]"};
        out[n++] = (struct subresource){"log", "", "", "Pod", "[\"get\"]"};
        if (c->sim->opt.resize)
            out[n++] = (struct subresource){"resize", "", "", "Pod", change_verbs};
    }
    if (!strcmp(t->kind, "ServiceAccount"))
        out[n++] = (struct subresource){"token", "authentication.k8s.io", "v1", "TokenRequest",
                                        "[\"create\"]"};
    if (!strcmp(t->kind, "Namespace"))
        out[n++] = (struct subresource){"finalize", "", "", "Namespace", "[\"update\"]"};
    if (t->flags & T_SCALE)
        out[n++] = (struct subresource){"scale", "autoscaling", "v1", "Scale", change_verbs};
    if (t->flags & T_STATUS)
        out[n++] = (struct subresource){"status", t->crd ? t->group : "", t->crd ? t->version : "",
                                        t->kind, change_verbs};
    return n;
}

static struct jv *short_names(struct vpa_arena *a, const struct restype *t)
{
    struct jv *list = jv_arr(a);
    char *rest = vpa_arena_strdup(a, t->short_names), *part;

    while ((part = strsep(&rest, ",")))
        if (*part)
            jv_push(a, list, jv_str(a, part));
    return list;
}

/* ---- legacy ---- */

static void legacy_resource(struct ctx *c, struct jv *list, const struct restype *t)
{
    struct vpa_arena *a = c->a;
    struct jv *r = jv_obj(a);
    struct subresource subs[8];
    size_t n = subresources(c, t, subs);

    jv_set_str(a, r, "name", t->plural);
    jv_set_str(a, r, "singularName", t->singular);
    jv_set_bool(a, r, "namespaced", t->flags & T_NAMESPACED);
    jv_set_str(a, r, "kind", t->kind);
    jv_set(a, r, "verbs", jv_lit(a, verbs_of(t)));
    if (*t->short_names)
        jv_set(a, r, "shortNames", short_names(a, t));
    if (t->category_all)
        jv_set(a, r, "categories", jv_lit(a, "[\"all\"]"));
    jv_push(a, list, r);
    for (size_t i = 0; i < n; i++) {
        r = jv_obj(a);
        jv_set(a, r, "name", jv_strf(a, "%s/%s", t->plural, subs[i].name));
        jv_set_str(a, r, "singularName", "");
        jv_set_bool(a, r, "namespaced", t->flags & T_NAMESPACED);
        if (*subs[i].group && strcmp(subs[i].group, t->group) != 0) {
            jv_set_str(a, r, "group", subs[i].group);
            jv_set_str(a, r, "version", subs[i].version);
        }
        jv_set_str(a, r, "kind", subs[i].kind);
        jv_set(a, r, "verbs", jv_lit(a, subs[i].verbs));
        jv_push(a, list, r);
    }
}

static int legacy_version(struct ctx *c, const char *group, const char *version)
{
    struct vpa_arena *a = c->a;
    struct jv *out = jv_obj(a), *list = jv_arr(a);

    jv_set_str(a, out, "kind", "APIResourceList");
    if (*group)
        jv_set_str(a, out, "apiVersion", "v1");
    jv_set(a, out, "groupVersion",
           *group ? jv_strf(a, "%s/%s", group, version) : jv_str(a, version));
    for (const struct restype *t = c->sim->types.first; t; t = t->next)
        if (!t->withdrawn && !strcmp(t->group, group) && !strcmp(t->version, version))
            legacy_resource(c, list, t);
    if (!jv_len(list))
        return answer_404_text(c);
    jv_set(a, out, "resources", list);
    answer_json(c, 200, out);
    return 0;
}

static struct jv *group_entry(struct ctx *c, const char *group, const struct strings *names)
{
    struct vpa_arena *a = c->a;
    struct jv *g = jv_obj(a), *versions = jv_arr(a);

    for (size_t i = 0; i < names->count; i++) {
        struct jv *v = jv_obj(a);
        jv_set(a, v, "groupVersion", jv_strf(a, "%s/%s", group, names->items[i]));
        jv_set_str(a, v, "version", names->items[i]);
        jv_push(a, versions, v);
    }
    jv_set_str(a, g, "name", group);
    jv_set(a, g, "versions", versions);
    jv_set(a, g, "preferredVersion", jv_clone(a, versions->items[0].value));
    return g;
}

/* v2 before v1 before v1beta2 before v1alpha1; what has another form comes last, by its name. */
static unsigned rank_of(const char *version)
{
    unsigned major, minor = 0;
    int end = 0;

    if (sscanf(version, "v%u%n", &major, &end) != 1)
        return 0;
    unsigned stability = !version[end]                                   ? 3
                         : sscanf(version + end, "beta%u", &minor) == 1  ? 2
                         : sscanf(version + end, "alpha%u", &minor) == 1 ? 1
                                                                         : 0;
    return stability ? stability * 1000000 + major * 1000 + minor : 0;
}

static int by_priority(const void *left, const void *right)
{
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;

    return rank_of(a) != rank_of(b) ? (rank_of(a) < rank_of(b) ? 1 : -1) : strcmp(a, b);
}

/* The versions in which a group is served here, the preferred one first. */
static void versions_of(struct ctx *c, const char *group, struct strings *out)
{
    for (const struct restype *t = c->sim->types.first; t; t = t->next)
        if (!t->withdrawn && !strcmp(t->group, group) && !strings_has(out, t->version))
            strings_add(c->a, out, t->version);
    qsort(out->items, out->count, sizeof(*out->items), by_priority);
}

typedef void (*group_fn)(struct ctx *c, const char *group, const struct strings *versions,
                         const struct jv *service, void *out);

/* Each group once, own ones first, then those of other servers. */
static void each_group(struct ctx *c, group_fn visit, void *out)
{
    struct strings seen = {0};

    for (const struct restype *t = c->sim->types.first; t; t = t->next) {
        if (t->withdrawn || !*t->group || strings_has(&seen, t->group))
            continue;
        struct strings versions = {0};
        strings_add(c->a, &seen, t->group);
        versions_of(c, t->group, &versions);
        visit(c, t->group, &versions, NULL, out);
    }
    const struct collection *s =
        types_find(&c->sim->types, "apiregistration.k8s.io", "v1", "apiservices")->store;
    for (size_t i = 0; i < s->count; i++) {
        const struct jv *o = version_parse(c->a, s->items[i]);
        const char *group = jv_text_at(o, "spec.group");
        if (jv_missing(jv_at(o, "spec.service")) || strings_has(&seen, group))
            continue;
        struct strings versions = {0};
        strings_add(c->a, &seen, group);
        strings_add(c->a, &versions, jv_text_at(o, "spec.version"));
        visit(c, group, &versions, o, out);
    }
}

static void add_group(struct ctx *c, const char *group, const struct strings *versions,
                      const struct jv *service, void *out)
{
    (void)service;
    jv_push(c->a, out, group_entry(c, group, versions));
}

static int legacy_groups(struct ctx *c)
{
    struct jv *out = jv_obj(c->a), *list = jv_arr(c->a);

    jv_set_str(c->a, out, "kind", "APIGroupList");
    jv_set_str(c->a, out, "apiVersion", "v1");
    each_group(c, add_group, list);
    jv_set(c->a, out, "groups", list);
    answer_json(c, 200, out);
    return 0;
}

static int legacy_group(struct ctx *c, const char *group)
{
    struct jv *list = jv_arr(c->a);

    each_group(c, add_group, list);
    jv_each (m, list) {
        if (strcmp(jv_text_at(m->value, "name"), group) != 0)
            continue;
        jv_put_first(c->a, m->value, "apiVersion", jv_str(c->a, "v1"));
        jv_put_first(c->a, m->value, "kind", jv_str(c->a, "APIGroup"));
        answer_json(c, 200, m->value);
        return 0;
    }
    return answer_404_text(c);
}

/* ---- aggregated ---- */

static struct jv *response_kind(struct vpa_arena *a, const char *group, const char *version,
                                const char *kind)
{
    struct jv *k = jv_obj(a);

    jv_set_str(a, k, "group", group);
    jv_set_str(a, k, "version", version);
    jv_set_str(a, k, "kind", kind);
    return k;
}

static struct jv *aggregated_resource(struct ctx *c, const struct restype *t)
{
    struct vpa_arena *a = c->a;
    struct jv *r = jv_obj(a), *list = jv_arr(a);
    struct subresource subs[8];
    size_t n = subresources(c, t, subs);

    jv_set_str(a, r, "resource", t->plural);
    jv_set(a, r, "responseKind",
           response_kind(a, t->crd ? t->group : "", t->crd ? t->version : "", t->kind));
    jv_set_str(a, r, "scope", t->flags & T_NAMESPACED ? "Namespaced" : "Cluster");
    jv_set_str(a, r, "singularResource", t->singular);
    jv_set(a, r, "verbs", jv_lit(a, verbs_of(t)));
    if (*t->short_names)
        jv_set(a, r, "shortNames", short_names(a, t));
    if (t->category_all)
        jv_set(a, r, "categories", jv_lit(a, "[\"all\"]"));
    for (size_t i = 0; i < n; i++) {
        struct jv *s = jv_obj(a);
        jv_set_str(a, s, "subresource", subs[i].name);
        jv_set(a, s, "responseKind",
               response_kind(a, subs[i].group, subs[i].version, subs[i].kind));
        jv_set(a, s, "verbs", jv_lit(a, subs[i].verbs));
        jv_push(a, list, s);
    }
    if (n)
        jv_set(a, r, "subresources", list);
    return r;
}

/* What another server lists, in the aggregated form. */
static struct jv *foreign_resources(struct ctx *c, const char *group, const char *version,
                                    const struct jv *service)
{
    struct jv *list = jv_arr(c->a), *body;
    struct request req = *c->req;
    struct response res;

    req.method = "GET";
    req.path = vpa_arena_printf(c->a, "/apis/%s/%s", group, version);
    req.query = "";
    req.accept = "application/json";
    response_init(&res);
    struct ctx inner = {.sim = c->sim, .req = &req, .res = &res, .a = c->a, .user = c->user};
    (void)service;
    sim_unlock(c);
    (void)!handle_proxy(&inner);
    sim_lock(c);
    if (res.status != 200 ||
        jv_parse(c->a, vpa_buf_text(&res.body), res.body.len, &body, NULL, NULL) < 0)
        body = NULL;
    response_release(&res);
    if (!body)
        return NULL;
    jv_each (m, jv_get(body, "resources")) {
        struct jv *r = jv_obj(c->a);
        jv_set_str(c->a, r, "resource", jv_text_at(m->value, "name"));
        jv_set(c->a, r, "responseKind",
               response_kind(c->a, group, version, jv_text_at(m->value, "kind")));
        jv_set_str(c->a, r, "scope",
                   jv_bool_at(m->value, "namespaced", false) ? "Namespaced" : "Cluster");
        jv_set_str(c->a, r, "singularResource", jv_text_at(m->value, "singularName"));
        jv_set(c->a, r, "verbs",
               jv_get(m->value, "verbs") ? jv_get(m->value, "verbs") : jv_arr(c->a));
        jv_push(c->a, list, r);
    }
    return list;
}

static struct jv *aggregated_version(struct ctx *c, const char *group, const char *version,
                                     const struct jv *service)
{
    struct vpa_arena *a = c->a;
    struct jv *v = jv_obj(a), *list = jv_arr(a);

    if (service)
        list = foreign_resources(c, group, version, service);
    else
        for (const struct restype *t = c->sim->types.first; t; t = t->next)
            if (!t->withdrawn && !strcmp(t->group, group) && !strcmp(t->version, version))
                jv_push(a, list, aggregated_resource(c, t));
    jv_set_str(a, v, "version", version);
    jv_set(a, v, "resources", list ? list : jv_arr(a));
    jv_set_str(a, v, "freshness", list ? "Current" : "Stale");
    return v;
}

static void add_aggregated(struct ctx *c, const char *group, const struct strings *names,
                           const struct jv *service, void *out)
{
    struct vpa_arena *a = c->a;
    struct jv *g = jv_obj(a), *versions = jv_arr(a), *meta = jv_obj(a);

    for (size_t i = 0; i < names->count; i++)
        jv_push(a, versions, aggregated_version(c, group, names->items[i], service));
    if (*group)
        jv_set_str(a, meta, "name", group);
    jv_set(a, g, "metadata", meta);
    jv_set(a, g, "versions", versions);
    jv_push(a, out, g);
}

static int aggregated(struct ctx *c, bool core)
{
    struct jv *out = jv_obj(c->a), *items = jv_arr(c->a);

    jv_set_str(c->a, out, "kind", "APIGroupDiscoveryList");
    jv_set_str(c->a, out, "apiVersion", "apidiscovery.k8s.io/v2");
    jv_set(c->a, out, "metadata", jv_obj(c->a));
    if (core) {
        struct strings versions = {0};
        versions_of(c, "", &versions);
        add_aggregated(c, "", &versions, NULL, items);
    } else {
        each_group(c, add_aggregated, items);
    }
    jv_set(c->a, out, "items", items);
    answer_json(c, 200, out);
    c->res->content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    c->res->vary_accept = true;
    return 0;
}

/* 1 aggregated, 0 plain, -1 refused */
static int wants_aggregated(struct ctx *c)
{
    const char *accept = c->req->accept;
    char *rest, *range;
    bool had_as = false;

    if (!accept || !*accept)
        return 0;
    rest = vpa_arena_strdup(c->a, accept);
    while ((range = strsep(&rest, ","))) {
        range += strspn(range, " ");
        if (strstr(range, "as=APIGroupDiscoveryList")) {
            had_as = true;
            if (strstr(range, "v=v2;") || !strcmp(range + strlen(range) - 4, "v=v2"))
                return 1;
            continue;
        }
        if (!strncmp(range, "application/json", 16) || !strncmp(range, "*/*", 3))
            return 0;
    }
    if (!had_as)
        return 0;
    return fail(c, 406, "NotAcceptable",
                "only the following media types are accepted: application/json, application/yaml, "
                "application/vnd.kubernetes.protobuf");
}

int handle_discovery(struct ctx *c)
{
    const char *path = c->req->path;
    char *rest = vpa_arena_strdup(c->a, path + 1);
    const char *part[4] = {"", "", "", ""};
    size_t n = 0;

    for (char *p; n < 4 && (p = strsep(&rest, "/"));)
        if (*p)
            part[n++] = p;
    if (n == 1) {
        int form = wants_aggregated(c);
        bool core = !strcmp(part[0], "api");
        if (form < 0)
            return -1;
        if (form)
            return aggregated(c, core);
        if (!core)
            return legacy_groups(c);
        answer_json(
            c, 200,
            jv_lit(c->a,
                   "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":"
                   "[{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"127.0.0.1\"}]}"));
        return 0;
    }
    if (!strcmp(part[0], "api"))
        return n == 2 ? legacy_version(c, "", part[1]) : answer_404_text(c);
    return n == 2   ? legacy_group(c, part[1])
           : n == 3 ? legacy_version(c, part[1], part[2])
                    : answer_404_text(c);
}

/* ---- health, version ---- */

static int handle_health(struct ctx *c, const char *path)
{
    static const char *const checks[] = {"ping", "log", "etcd",
                                         "poststarthook/start-apiextensions-controllers"};
    const char *slash = strchr(path + 1, '/');

    if (slash) {
        for (size_t i = 0; i < VPA_COUNT(checks); i++)
            if (!strcmp(slash + 1, checks[i])) {
                answer_text(c, 200, "ok");
                return 0;
            }
        return answer_404_text(c);
    }
    if (!query_get(c, "verbose")) {
        answer_text(c, 200, "ok");
        return 0;
    }
    answer_text(c, 200, "");
    for (size_t i = 0; i < VPA_COUNT(checks); i++)
        vpa_buf_printf(&c->res->body, "[+]%s ok\n", checks[i]);
    vpa_buf_printf(&c->res->body, "%s check passed\n", path + 1);
    return 0;
}

int handle_nonresource(struct ctx *c)
{
    const char *p = c->req->path;
    unsigned minor = c->sim->opt.minor;

    if (!strncmp(p, "/healthz", 8) || !strncmp(p, "/livez", 6) || !strncmp(p, "/readyz", 7))
        return handle_health(c, p);
    if (!strcmp(p, "/version")) {
        answer_json(
            c, 200,
            jv_lit(
                c->a,
                vpa_arena_printf(
                    c->a,
                    "{\"major\":\"1\",\"minor\":\"%u\",\"gitVersion\":\"v1.%u.0-kubesim\","
                    "\"gitCommit\":\"\",\"gitTreeState\":\"clean\",\"buildDate\":\"1970-01-01T00:"
                    "00:00Z\",\"goVersion\":\"\",\"compiler\":\"gc\",\"platform\":\"linux/amd64\"}",
                    minor, minor)));
        return 0;
    }
    sim_lock(c);
    if (!strncmp(p, "/openapi/", 9))
        return handle_openapi(c);
    if (!strcmp(p, "/api") || !strcmp(p, "/apis") || !strncmp(p, "/api/", 5) ||
        !strncmp(p, "/apis/", 6))
        return handle_discovery(c);
    return answer_404_text(c);
}
