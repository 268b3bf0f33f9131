/*
 * As Kubernetes' own extension servers read it: the first user header that has a value names the
 * user; each header of groups is one group; behind the prefix of extras stands a key, escaped as in
 * a URL because headers hold no more. An empty list of allowed names allows every certificate of
 * the authority.
 */
#include "front_proxy.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vpa/base/str.h"
#include "vpa/net/tls.h"

struct list {
    const char **items;
    size_t count;
};

struct front_proxy {
    atomic_uint refs;
    struct vpa_arena arena;
    const char *ca; /* "": nobody */
    struct list names, users, uids, groups, extras;
};

/* ---- the cluster's settings ---- */

/* A JSON array of texts inside a text; absent is empty. */
static int read_list(struct vpa_arena *arena, const struct vpa_json *data, const char *key,
                     struct list *out, struct vpa_error *err)
{
    const char *text = vpa_json_string(vpa_json_find(data, key));
    const struct vpa_json *array;

    *out = (struct list){NULL, 0};
    if (!text)
        return 0;
    if (vpa_json_parse(arena, text, strlen(text), &array, err) < 0)
        return vpa_wrap(err, "%s", key);
    out->items = vpa_arena_alloc(arena, (vpa_json_count(array) + 1) * sizeof(*out->items));
    vpa_json_foreach (item, array) {
        if (!vpa_json_string(item))
            return vpa_fail(err, VPA_INVALID, "%s: not an array of texts", key);
        out->items[out->count++] = vpa_json_string(item);
    }
    return 0;
}

static int read_all(struct front_proxy *f, const struct vpa_json *data, struct vpa_error *err)
{
    const struct {
        const char *key;
        struct list *list;
    } lists[] = {
        {"requestheader-allowed-names", &f->names},
        {"requestheader-username-headers", &f->users},
        {"requestheader-uid-headers", &f->uids},
        {"requestheader-group-headers", &f->groups},
        {"requestheader-extra-headers-prefix", &f->extras},
    };
    const char *ca = vpa_json_string(vpa_json_find(data, "requestheader-client-ca-file"));

    f->ca = vpa_arena_strdup(&f->arena, vpa_or_empty(ca));
    if (*f->ca && vpa_tls_check_ca(f->ca, err) < 0)
        return vpa_wrap(err, "requestheader-client-ca-file");
    for (size_t i = 0; i < VPA_COUNT(lists); i++)
        if (read_list(&f->arena, data, lists[i].key, lists[i].list, err) < 0)
            return -1;
    return 0;
}

struct front_proxy *front_proxy_new(const struct vpa_json *config_map, struct vpa_error *err)
{
    struct front_proxy *f = vpa_xcalloc(1, sizeof(*f));

    atomic_init(&f->refs, 1);
    if (read_all(f, vpa_json_find(config_map, "data"), err) == 0)
        return f;
    front_proxy_unref(f);
    return NULL;
}

struct front_proxy *front_proxy_ref(struct front_proxy *f)
{
    atomic_fetch_add(&f->refs, 1);
    return f;
}

void front_proxy_unref(struct front_proxy *f)
{
    if (!f || atomic_fetch_sub(&f->refs, 1) != 1)
        return;
    vpa_arena_release(&f->arena);
    free(f);
}

/* ---- certificate ---- */

int front_proxy_check(const struct front_proxy *f, const char *chain_pem, vpa_time at,
                      struct vpa_error *err)
{
    struct vpa_tls_info info;

    if (!*f->ca)
        return vpa_fail(err, VPA_DENIED, "the cluster names no authority of proxies");
    if (!chain_pem)
        return vpa_fail(err, VPA_DENIED, "no client certificate");
    if (vpa_tls_verify_client(chain_pem, f->ca, at, err) < 0 ||
        vpa_tls_describe(chain_pem, &info, err) < 0) {
        if (err)
            err->code = VPA_DENIED;
        return -1;
    }
    if (f->names.count > 0 && !vpa_str_is_in(info.common_name, f->names.items, f->names.count))
        return vpa_fail(err, VPA_DENIED, "certificate of %s: not one of the proxies allowed",
                        info.common_name);
    return 0;
}

/* ---- headers ---- */

void caller_init(struct vpa_arena *arena, struct caller *caller)
{
    *caller = (struct caller){.user = "", .uid = ""};
    caller->groups = vpa_arena_alloc(arena, CALLER_VALUES_MAX * sizeof(*caller->groups));
    caller->extras = vpa_arena_alloc(arena, CALLER_VALUES_MAX * sizeof(*caller->extras));
}

static bool names_header(const struct list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcasecmp(list->items[i], name) == 0)
            return true;
    return false;
}

static const char *key_behind(const struct list *prefixes, struct vpa_arena *arena,
                              const char *name)
{
    for (size_t i = 0; i < prefixes->count; i++) {
        size_t len = strlen(prefixes->items[i]);

        if (len == 0 || strncasecmp(name, prefixes->items[i], len) != 0)
            continue;
        vpa_auto_free char *key = vpa_url_decode(name + len, strlen(name + len), false);
        for (char *c = key; *c; c++)
            *c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c;
        return vpa_arena_strdup(arena, key);
    }
    return NULL;
}

static bool has_room(const struct caller *caller)
{
    return caller->group_count + caller->extra_count < CALLER_VALUES_MAX;
}

bool caller_take(const struct front_proxy *f, struct vpa_arena *arena, struct caller *caller,
                 const char *name, const char *value)
{
    const char *key;

    if (!*caller->user && names_header(&f->users, name)) {
        caller->user = vpa_arena_strdup(arena, value);
    } else if (!*caller->uid && names_header(&f->uids, name)) {
        caller->uid = vpa_arena_strdup(arena, value);
    } else if (names_header(&f->groups, name)) {
        if (!has_room(caller))
            return false;
        caller->groups[caller->group_count++] = vpa_arena_strdup(arena, value);
    } else if ((key = key_behind(&f->extras, arena, name))) {
        if (!has_room(caller))
            return false;
        caller->extras[caller->extra_count++] =
            (struct caller_extra){key, vpa_arena_strdup(arena, value)};
    }
    return true;
}

struct gathering {
    const struct front_proxy *front;
    struct vpa_arena *arena;
    struct caller *caller;
    bool full;
};

static bool on_header(void *ctx, const char *name, const char *value)
{
    struct gathering *g = ctx;

    g->full = !caller_take(g->front, g->arena, g->caller, name, value);
    return !g->full;
}

int front_proxy_identify(const struct front_proxy *f, const struct vpa_server_request *request,
                         vpa_time at, struct vpa_arena *arena, struct caller *out,
                         struct vpa_error *err)
{
    vpa_auto_free char *chain = vpa_server_client_chain(request);
    struct gathering gathering = {f, arena, out, false};

    if (front_proxy_check(f, chain, at, err) < 0)
        return -1;
    caller_init(arena, out);
    vpa_server_each_header(request, on_header, &gathering);
    if (gathering.full)
        return vpa_fail(err, VPA_LIMIT, "more than %d groups and extra values", CALLER_VALUES_MAX);
    if (!*out->user)
        return vpa_fail(err, VPA_DENIED, "the proxy names no user");
    return 0;
}
