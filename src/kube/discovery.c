/*
 * One cached document per group: its versions, preferred first, and the resources of each. Read
 * when a kind of the group is asked for: GET /apis/GROUP, then GET /apis/GROUP/VERSION for each
 * (core: GET /api/v1). What is not there is asked again in the next pass, what is there after five
 * minutes.
 *
 * A reading is a small state machine, one GET at a time, one reading per group: whoever wants the
 * group meanwhile waits for the same one. Callbacks never pump the loop.
 *
 * Whoever makes pods names groups as he likes, a new one for each. So after a few that are not
 * there, GET /apis is asked once in a pass: it names all groups, also one whose server is down, and
 * what it does not name is not there. Where it cannot be had, groups are asked for one by one.
 */
#include "vpa/kube/discovery.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

#define VERSIONS_MAX 32
#define MAPPINGS_MAX VERSIONS_MAX
/* So many that are not there are asked for in a pass before all are. */
#define MISSING_MAX 4
#define ALL_GROUPS "/" /* instead of the name of a group: GET /apis */

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
    bool incomplete;        /* a version of it could not be read */
    struct vpa_table names; /* of ALL_GROUPS: those that there are */
};

/* A group that is being read. */
struct reading {
    struct vpa_discovery *discovery;
    LIST_ENTRY(reading) link;
    struct group *group;
    struct vpa_kube_request *request;
    bool has_versions;
    size_t version; /* whose resources are read */
    struct vpa_discovery_wait *waits;
    struct vpa_discovery_wait all; /* it waits itself, for ALL_GROUPS */
};

struct vpa_discovery {
    struct vpa_kube_client *client;
    struct vpa_table groups; /* name -> struct group */
    struct group *all;       /* ALL_GROUPS, as last read; without names where that was in vain */
    LIST_HEAD(, reading) readings;
    uint64_t pass;
    unsigned missing; /* groups that were asked for in this pass and are not there */
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
    vpa_table_release(&g->names);
    free(g->resources);
    free(g->name);
    free(g);
}

/* Those that wait for it are left without an answer. */
static void reading_free(struct reading *r)
{
    while (r->waits)
        vpa_discovery_unwait(r->waits);
    vpa_discovery_unwait(&r->all);
    LIST_REMOVE(r, link);
    group_free(r->group);
    free(r);
}

void vpa_discovery_free(struct vpa_discovery *d)
{
    if (!d)
        return;
    struct reading *r;

    while ((r = LIST_FIRST(&d->readings)) != NULL) {
        if (r->request)
            vpa_kube_cancel(r->request);
        reading_free(r);
    }
    VPA_TABLE_RELEASE(&d->groups, group_free);
    group_free(d->all);
    free(d->found_group);
    free(d->found_guess);
    free(d);
}

void vpa_discovery_begin_pass(struct vpa_discovery *d)
{
    d->pass++;
    d->missing = 0;
}

static bool is_fresh(const struct vpa_discovery *d, const struct group *g)
{
    return g &&
           vpa_loop_monotonic(vpa_kube_client_loop(d->client)) - g->fetched < VPA_DISCOVERY_AGE;
}

static bool is_of_pass(const struct vpa_discovery *d, const struct group *g)
{
    return is_fresh(d, g) && g->pass == d->pass;
}

static bool is_all(const struct group *g)
{
    return strcmp(g->name, ALL_GROUPS) == 0;
}

/* GET /apis of this pass does not name it. */
static bool is_missing(const struct vpa_discovery *d, const char *group)
{
    return *group && is_of_pass(d, d->all) && d->all->names.count > 0 &&
           d->all->names.count < VPA_DISCOVERY_RESOURCES_MAX &&
           !vpa_table_find(&d->all->names, group);
}

/* Answers */

static void take_groups(struct group *all, const struct vpa_json *root)
{
    vpa_json_foreach (group, vpa_json_find(root, "groups")) {
        const char *name = vpa_json_string(vpa_json_find(group, "name"));

        if (name && all->names.count < VPA_DISCOVERY_RESOURCES_MAX)
            vpa_table_put(&all->names, vpa_arena_strdup(&all->arena, name), all);
    }
}

static void add_version(struct group *g, const char *version)
{
    /* It goes into paths. */
    if (!version || !vpa_is_dns1123_label(version) || g->version_count == VERSIONS_MAX)
        return;
    for (size_t i = 0; i < g->version_count; i++)
        if (strcmp(g->versions[i], version) == 0)
            return;
    g->versions[g->version_count++] = vpa_arena_strdup(&g->arena, version);
}

static void take_versions(struct group *g, const struct vpa_json *root)
{
    add_version(g, vpa_json_string(vpa_json_at(root, "preferredVersion.version")));
    vpa_json_foreach (version, vpa_json_find(root, "versions"))
        add_version(g, vpa_json_string(vpa_json_find(version, "version")));
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

static void take_resources(struct group *g, const char *version, const struct vpa_json *root)
{
    vpa_json_foreach (item, vpa_json_find(root, "resources"))
        add_resource(g, version, item);
}

/* Reading */

static void ask(struct reading *r);

static void put_path(const struct reading *r, struct vpa_buf *path)
{
    const struct group *g = r->group;

    if (is_all(g))
        vpa_buf_puts(path, "/apis");
    else if (!*g->name)
        vpa_buf_printf(path, "/api/%s", g->versions[r->version]);
    else if (!r->has_versions)
        vpa_buf_printf(path, "/apis/%s", g->name);
    else
        vpa_buf_printf(path, "/apis/%s/%s", g->name, g->versions[r->version]);
}

static void keep(struct vpa_discovery *d, struct group *g)
{
    struct group *old;

    g->fetched = vpa_loop_monotonic(vpa_kube_client_loop(d->client));
    g->pass = d->pass;
    if (is_all(g)) {
        old = d->all;
        d->all = g;
    } else {
        if (d->groups.count >= VPA_DISCOVERY_GROUPS_MAX && !vpa_table_find(&d->groups, g->name))
            VPA_TABLE_RELEASE(&d->groups, group_free);
        old = vpa_table_put(&d->groups, g->name, g);
    }
    group_free(old);
}

/* err NULL: what was read becomes the group. */
static void finish(struct reading *r, const struct vpa_error *err)
{
    struct vpa_discovery_wait *waits = NULL;

    if (!err)
        keep(r->discovery, VPA_STEAL(r->group));
    /* Their callbacks may wait for another reading, or stop others from waiting. */
    if (r->waits) {
        waits = VPA_STEAL(r->waits);
        waits->link = &waits;
    }
    reading_free(r);
    while (waits) {
        struct vpa_discovery_wait *first = waits;

        vpa_discovery_unwait(first);
        first->fn(first->ctx, err);
    }
}

/* A version that cannot be read (its aggregated server is down) is left out, as upstream does; a
 * list of all groups that cannot be read has no names. */
static void on_answer(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct reading *r = ctx;
    struct group *g = r->group;
    vpa_auto_arena arena = {0};
    const struct vpa_json *root = NULL;
    struct vpa_error why;

    r->request = NULL;
    if (!err && vpa_json_parse(&arena, result->body, result->body_len, &root, &why) < 0) {
        vpa_wrap(&why, "discovery of group %s", g->name);
        err = &why;
    }
    if (!r->has_versions) {
        if (err && err->code != VPA_NOT_FOUND && !is_all(g)) {
            finish(r, err);
            return;
        }
        r->discovery->missing += err != NULL;
        if (is_all(g))
            take_groups(g, root);
        else
            take_versions(g, root);
        r->has_versions = true;
    } else {
        g->incomplete |= err && err->code != VPA_NOT_FOUND;
        if (err)
            VPA_V(2, "Failed to discover resources", VPA_KV("group", g->name),
                  VPA_KV("version", g->versions[r->version]), VPA_KERR(err));
        take_resources(g, g->versions[r->version], root);
        r->version++;
    }
    ask(r);
}

/* The next GET, or the end. */
static void ask(struct reading *r)
{
    struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .timeout = VPA_DISCOVERY_TIMEOUT};
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    if (r->has_versions && r->version == r->group->version_count) {
        finish(r, NULL);
        return;
    }
    put_path(r, &path);
    call.path = vpa_buf_text(&path);
    r->request = vpa_kube_start(r->discovery->client, &call, on_answer, r);
}

/* It is known whether the group is there, or that this cannot be known. */
static void on_all(void *ctx, const struct vpa_error *err)
{
    struct reading *r = ctx;

    (void)err;
    r->has_versions = is_missing(r->discovery, r->group->name); /* it has none */
    ask(r);
}

static bool asks_for_all_first(const struct vpa_discovery *d, const struct group *g)
{
    return *g->name && !is_all(g) && d->missing >= MISSING_MAX && !is_of_pass(d, d->all);
}

static struct reading *start_reading(struct vpa_discovery *d, const char *name)
{
    struct reading *r = vpa_xcalloc(1, sizeof(*r));

    r->discovery = d;
    r->group = vpa_xcalloc(1, sizeof(*r->group));
    r->group->name = vpa_xstrdup(name);
    LIST_INSERT_HEAD(&d->readings, r, link);
    if (!*name) { /* core has no list of versions */
        add_version(r->group, "v1");
        r->has_versions = true;
    }
    r->all = (struct vpa_discovery_wait){.fn = on_all, .ctx = r};
    if (asks_for_all_first(d, r->group))
        vpa_discovery_read(d, ALL_GROUPS, &r->all);
    else
        ask(r);
    return r;
}

void vpa_discovery_read(struct vpa_discovery *d, const char *group, struct vpa_discovery_wait *wait)
{
    struct reading *r;

    LIST_FOREACH (r, &d->readings, link)
        if (strcmp(r->group->name, group) == 0)
            break;
    if (!r)
        r = start_reading(d, group);
    wait->next = r->waits;
    wait->link = &r->waits;
    if (wait->next)
        wait->next->link = &wait->next;
    r->waits = wait;
}

void vpa_discovery_unwait(struct vpa_discovery_wait *wait)
{
    if (!wait->link)
        return;
    *wait->link = wait->next;
    if (wait->next)
        wait->next->link = wait->link;
    wait->next = NULL;
    wait->link = NULL;
}

struct pause {
    struct vpa_error *err;
    bool done;
    int rc;
};

static void on_read(void *ctx, const struct vpa_error *err)
{
    struct pause *p = ctx;

    if (err)
        *p->err = *err;
    p->rc = err ? -1 : 0;
    p->done = true;
}

static bool is_read(void *ctx)
{
    return ((struct pause *)ctx)->done;
}

/* Reads the group, pumping the loop. */
static int read_now(struct vpa_discovery *d, const char *group, struct vpa_error *err)
{
    struct pause p = {.err = err};
    struct vpa_discovery_wait wait = {.fn = on_read, .ctx = &p};

    vpa_discovery_read(d, group, &wait);
    if (vpa_loop_wait(vpa_kube_client_loop(d->client), is_read, &p, INT64_MAX, err) < 0) {
        vpa_discovery_unwait(&wait);
        return vpa_wrap(err, "discovery of group %s", group);
    }
    return p.rc;
}

/* Names that go into a path: what is not a DNS name cannot be a group. */
static bool usable_group(const char *name)
{
    return !*name || vpa_is_dns1123_subdomain(name);
}

static struct group *fresh_group(const struct vpa_discovery *d, const char *name)
{
    struct group *g = vpa_table_find(&d->groups, name);

    return is_fresh(d, g) ? g : NULL;
}

bool vpa_discovery_is_of_pass(const struct vpa_discovery *d, const char *group)
{
    return is_of_pass(d, vpa_table_find(&d->groups, group)) || is_missing(d, group);
}

bool vpa_discovery_is_incomplete(const struct vpa_discovery *d, const char *group)
{
    const struct group *g = fresh_group(d, group);

    return g && g->incomplete;
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

static bool has_resource(const struct group *g, const char *version, const char *name)
{
    for (size_t i = 0; i < g->resource_count; i++)
        if (strcmp(g->resources[i].version, version) == 0 &&
            strcmp(g->resources[i].name, name) == 0)
            return true;
    return false;
}

static bool has_scale(const struct group *g, const struct resource *r)
{
    vpa_auto_free char *scale = vpa_xjoin(r->name, '/', "scale");

    return g->resource_count >= VPA_DISCOVERY_RESOURCES_MAX || has_resource(g, r->version, scale);
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
            d->found[count++] =
                (struct vpa_rest_mapping){d->found_group, last->version,    last->name,
                                          last->kind,     last->namespaced, has_scale(g, last)};
    }
    return count;
}

/* The plural that upstream guesses for a kind that ends in "List". */
static char *guess_plural(const char *kind)
{
    char *plural = vpa_xprintf("%ss", kind);

    for (char *p = plural; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return plural;
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
        d->found[0] = (struct vpa_rest_mapping){d->found_group, r->version,    d->found_guess,
                                                r->kind,        r->namespaced, true};
        return 1;
    }
    return 0;
}

int vpa_discovery_peek(struct vpa_discovery *d, const char *group, const char *kind,
                       const struct vpa_rest_mapping **mappings, size_t *count,
                       struct vpa_error *err)
{
    struct group *g = NULL;
    size_t n = 0;

    if (usable_group(group)) {
        g = fresh_group(d, group);
        if (!g && !is_missing(d, group))
            return vpa_fail(err, VPA_RETRY, "group \"%s\" is not known yet", group);
        free(d->found_group);
        d->found_group = vpa_xstrdup(group);
        n = g ? collect(d, g, kind) : 0;
        if (n == 0 && !vpa_discovery_is_of_pass(d, group))
            return vpa_fail(err, VPA_RETRY, "group \"%s\" is not known in this pass", group);
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

int vpa_discovery_find(struct vpa_discovery *d, const char *group, const char *kind,
                       const struct vpa_rest_mapping **mappings, size_t *count,
                       struct vpa_error *err)
{
    struct vpa_error why;

    while (vpa_discovery_peek(d, group, kind, mappings, count, &why) < 0)
        if (why.code != VPA_RETRY || read_now(d, group, &why) < 0) {
            if (err)
                *err = why;
            return -1;
        }
    return 0;
}

bool vpa_discovery_has_subresource(struct vpa_discovery *d, const char *group_version,
                                   const char *resource_and_sub)
{
    const char *slash = strchr(group_version, '/');
    vpa_auto_free char *group =
        slash ? vpa_xstrndup(group_version, (size_t)(slash - group_version)) : vpa_xstrdup("");
    const char *version = slash ? slash + 1 : group_version;
    const struct group *g = NULL;
    struct vpa_error why;

    if (usable_group(group) && (fresh_group(d, group) || read_now(d, group, &why) == 0))
        g = fresh_group(d, group);
    return g && has_resource(g, version, resource_and_sub);
}
