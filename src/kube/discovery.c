/*
 * One cached document per group: its versions, preferred first, and the resources of each. Read
 * when a kind of the group is asked for: GET /apis/GROUP, then GET /apis/GROUP/VERSION for each
 * (core: GET /api/v1). What is not there is asked again in the next pass, what is there after five
 * minutes.
 */
#include "vpa/kube/discovery.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

#define VERSIONS_MAX 32
#define MAPPINGS_MAX VERSIONS_MAX

struct resource {
    const char *version;
    const char *name; /* with subresource: "pods/resize" */
    const char *kind;
    bool namespaced;
};

struct group {
    char *name;
    struct vpa_arena arena;
    const char *versions[VERSIONS_MAX]; /* preferred first */
    size_t version_count;
    struct resource *resources; /* heap; by version in that order, as listed within */
    size_t resource_count, resource_capacity;
    int64_t fetched; /* monotonic */
    uint64_t pass;
};

struct vpa_discovery {
    struct vpa_kube_client *client;
    struct vpa_table groups; /* name -> struct group */
    uint64_t pass;
    struct vpa_rest_mapping found[MAPPINGS_MAX];
    char *found_group;
    char *found_guess;
};

struct vpa_discovery *vpa_discovery_new(struct vpa_kube_client *client)
{
    struct vpa_discovery *d = vpa_xcalloc(1, sizeof(*d));

    d->client = client;
    return d;
}

static void group_free(struct group *g)
{
    if (!g)
        return;
    vpa_arena_release(&g->arena);
    free(g->resources);
    free(g->name);
    free(g);
}

void vpa_discovery_free(struct vpa_discovery *d)
{
    const char *key;
    void *value;

    if (!d)
        return;
    for (size_t i = 0; vpa_table_next(&d->groups, &i, &key, &value);)
        group_free(value);
    vpa_table_release(&d->groups);
    free(d->found_group);
    free(d->found_guess);
    free(d);
}

void vpa_discovery_begin_pass(struct vpa_discovery *d)
{
    d->pass++;
}

/* Fetching */

static int get(struct vpa_discovery *d, const char *path, struct vpa_arena *arena,
               const struct vpa_json **root, struct vpa_error *err)
{
    const struct vpa_kube_call call = {
        .verb = VPA_KUBE_GET, .path = path, .timeout = VPA_DISCOVERY_TIMEOUT};
    struct vpa_kube_result result;
    vpa_auto_arena text = {0};

    if (vpa_kube_do(d->client, &call, &text, &result, err) < 0)
        return -1;
    if (vpa_json_parse(arena, result.body, result.body_len, root, err) < 0)
        return vpa_wrap(err, "GET %s", path);
    return 0;
}

static void add_version(struct group *g, const char *version)
{
    if (!version || !*version || g->version_count == VERSIONS_MAX)
        return;
    for (size_t i = 0; i < g->version_count; i++)
        if (strcmp(g->versions[i], version) == 0)
            return;
    g->versions[g->version_count++] = vpa_arena_strdup(&g->arena, version);
}

static int fetch_versions(struct vpa_discovery *d, struct group *g, struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    vpa_auto_buf path = {0};

    if (!*g->name) {
        add_version(g, "v1");
        return 0;
    }
    vpa_buf_init(&path, VPA_KUBE_PATH_MAX);
    vpa_buf_printf(&path, "/apis/%s", g->name);
    if (get(d, vpa_buf_text(&path), &arena, &root, err) < 0)
        return -1;
    add_version(g, vpa_json_string(vpa_json_at(root, "preferredVersion.version")));
    vpa_json_foreach (version, vpa_json_find(root, "versions"))
        add_version(g, vpa_json_string(vpa_json_find(version, "version")));
    return 0;
}

static void add_resource(struct group *g, const char *version, const struct vpa_json *item)
{
    const char *name = vpa_json_string(vpa_json_find(item, "name"));
    const char *kind = vpa_json_string(vpa_json_find(item, "kind"));
    bool namespaced = false;

    if (!name || !kind || g->resource_count >= VPA_DISCOVERY_RESOURCES_MAX)
        return;
    vpa_json_bool(vpa_json_find(item, "namespaced"), &namespaced);
    VPA_GROW(g->resources, g->resource_count, g->resource_capacity);
    g->resources[g->resource_count++] = (struct resource){
        version, vpa_arena_strdup(&g->arena, name), vpa_arena_strdup(&g->arena, kind), namespaced};
}

static int fetch_resources(struct vpa_discovery *d, struct group *g, const char *version,
                           struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    vpa_auto_buf path = {0};

    vpa_buf_init(&path, VPA_KUBE_PATH_MAX);
    if (*g->name)
        vpa_buf_printf(&path, "/apis/%s/%s", g->name, version);
    else
        vpa_buf_printf(&path, "/api/%s", version);
    if (get(d, vpa_buf_text(&path), &arena, &root, err) < 0)
        return -1;
    vpa_json_foreach (item, vpa_json_find(root, "resources"))
        add_resource(g, version, item);
    return 0;
}

/* A version that cannot be read (its aggregated server is down) is left out, as upstream does. */
static struct group *fetch_group(struct vpa_discovery *d, const char *name, struct vpa_error *err)
{
    struct group *g = vpa_xcalloc(1, sizeof(*g));
    struct vpa_error why;

    g->name = vpa_xstrdup(name);
    if (fetch_versions(d, g, &why) < 0 && why.code != VPA_NOT_FOUND) {
        if (err)
            *err = why;
        group_free(g);
        return NULL;
    }
    for (size_t i = 0; i < g->version_count; i++)
        if (fetch_resources(d, g, g->versions[i], &why) < 0) {
            if (why.code == VPA_CANCELLED) {
                if (err)
                    *err = why;
                group_free(g);
                return NULL;
            }
            VPA_V(2, "Failed to discover resources", VPA_KV("group", name),
                  VPA_KV("version", g->versions[i]), VPA_KERR(&why));
        }
    g->fetched = vpa_loop_monotonic(vpa_kube_client_loop(d->client));
    g->pass = d->pass;
    return g;
}

/* Names that go into a path: what is no DNS name cannot be a group. */
static bool usable_group(const char *name)
{
    return !*name || vpa_is_dns1123_subdomain(name);
}

static struct group *refresh(struct vpa_discovery *d, const char *name, struct vpa_error *err)
{
    struct group *g = fetch_group(d, name, err);

    if (!g)
        return NULL;
    if (d->groups.count >= VPA_DISCOVERY_GROUPS_MAX && !vpa_table_find(&d->groups, name)) {
        const char *key;
        void *old;
        for (size_t i = 0; vpa_table_next(&d->groups, &i, &key, &old);) {
            vpa_table_remove(&d->groups, key);
            group_free(old);
        }
    }
    group_free(vpa_table_put(&d->groups, g->name, g));
    return g;
}

static struct group *fresh_group(struct vpa_discovery *d, const char *name, struct vpa_error *err)
{
    struct group *g = vpa_table_find(&d->groups, name);
    int64_t now = vpa_loop_monotonic(vpa_kube_client_loop(d->client));

    if (g && now - g->fetched < VPA_DISCOVERY_AGE)
        return g;
    return refresh(d, name, err);
}

/* Asking */

static bool kind_matches(const char *listed, const char *asked)
{
    if (strcmp(listed, asked) == 0)
        return true;
    for (; *listed && *asked; listed++, asked++)
        if ((char)tolower((unsigned char)*listed) != *asked)
            return false;
    return *listed == *asked;
}

static size_t collect(struct vpa_discovery *d, const struct group *g, const char *kind)
{
    size_t count = 0;

    for (size_t v = 0; v < g->version_count; v++) {
        const struct resource *last = NULL;

        for (size_t i = 0; i < g->resource_count; i++) {
            const struct resource *r = &g->resources[i];
            if (r->version == g->versions[v] && !strchr(r->name, '/') &&
                kind_matches(r->kind, kind))
                last = r;
        }
        for (size_t i = 0; i < count && last; i++)
            if (strcmp(d->found[i].resource, last->name) == 0)
                last = NULL;
        if (last)
            d->found[count++] = (struct vpa_rest_mapping){d->found_group, last->version, last->name,
                                                          last->kind, last->namespaced};
    }
    return count;
}

/* The plural that upstream guesses for a kind. */
static char *guess_plural(const char *kind)
{
    vpa_auto_free char *lower = vpa_xstrdup(kind);
    size_t len = strlen(lower);

    for (char *p = lower; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    if (len && lower[len - 1] == 's')
        return vpa_xprintf("%ses", lower);
    if (len && lower[len - 1] == 'y')
        return vpa_xprintf("%.*sies", (int)len - 1, lower);
    return vpa_xprintf("%ss", lower);
}

/* Upstream's mapper also knows "<Kind>List" of each kind, under a guessed plural that no server
 * has: such a kind is asked for and not found, which is another answer than an unknown kind. */
static size_t collect_list_kind(struct vpa_discovery *d, const struct group *g, const char *kind)
{
    size_t len = strlen(kind);

    if (!vpa_str_ends_with(kind, "List"))
        return 0;
    for (size_t i = 0; i < g->resource_count; i++) {
        const struct resource *r = &g->resources[i];
        if (strchr(r->name, '/') || strlen(r->kind) != len - 4 ||
            strncmp(r->kind, kind, len - 4) != 0)
            continue;
        free(d->found_guess);
        d->found_guess = guess_plural(kind);
        d->found[0] = (struct vpa_rest_mapping){d->found_group, r->version, d->found_guess, r->kind,
                                                r->namespaced};
        return 1;
    }
    return 0;
}

int vpa_discovery_find(struct vpa_discovery *d, const char *group, const char *kind,
                       const struct vpa_rest_mapping **mappings, size_t *count,
                       struct vpa_error *err)
{
    struct group *g = NULL;
    size_t n = 0;

    if (usable_group(group)) {
        g = fresh_group(d, group, err);
        if (!g)
            return -1;
        free(d->found_group);
        d->found_group = vpa_xstrdup(group);
        n = collect(d, g, kind);
        if (n == 0 && g->pass != d->pass) {
            g = refresh(d, group, err);
            if (!g)
                return -1;
            n = collect(d, g, kind);
        }
    }
    if (n == 0 && g)
        n = collect_list_kind(d, g, kind);
    if (n == 0)
        return vpa_fail(err, VPA_NOT_FOUND, "no matches for kind \"%s\" in group \"%s\"", kind,
                        group);
    *mappings = d->found;
    *count = n;
    return 0;
}

bool vpa_discovery_has_subresource(struct vpa_discovery *d, const char *group_version,
                                   const char *resource_and_sub)
{
    const char *slash = strchr(group_version, '/');
    vpa_auto_free char *group =
        slash ? vpa_xstrndup(group_version, (size_t)(slash - group_version)) : vpa_xstrdup("");
    const char *version = slash ? slash + 1 : group_version;
    const struct group *g = usable_group(group) ? fresh_group(d, group, NULL) : NULL;

    for (size_t i = 0; g && i < g->resource_count; i++)
        if (strcmp(g->resources[i].version, version) == 0 &&
            strcmp(g->resources[i].name, resource_and_sub) == 0)
            return true;
    return false;
}
