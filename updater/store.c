/*
 * Four watch caches, and the lists that a pass holds: the objects that it borrows live until it
 * lets go, whatever the watches bring meanwhile.
 */
#include "store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "compact.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/panic.h"

#define VPA_RESYNC VPA_HOUR
#define LIMIT_RANGE_RESYNC (10 * VPA_MINUTE)
/* Scheduled and not finished: all that can be updated. */
#define POD_FIELD_SELECTOR "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
/* ---- kinds ---- */

static int read_pod(void *ctx, struct vpa_arena *scratch, const struct vpa_json *json,
                    const void **draft, struct vpa_error *err)
{
    struct vpa_pod *pod = vpa_arena_alloc(scratch, sizeof(*pod));

    (void)ctx;
    *draft = pod;
    return vpa_pod_decode(scratch, json, pod, err);
}

static int make_pod(void *ctx, struct vpa_arena *arena, const void *draft, void *object,
                    struct vpa_error *err)
{
    (void)ctx;
    (void)err;
    updater_pod_pack(arena, draft, object);
    return 0;
}

static void salvage_pod(void *ctx, struct vpa_arena *arena, const struct vpa_unusable_object *what,
                        void *object)
{
    const struct vpa_json *metadata = vpa_json_find(what->object, "metadata");
    struct vpa_pod *pod = object;

    (void)ctx;
    if (metadata && vpa_meta_decode(arena, metadata, &pod->meta, NULL) == 0)
        return;
    pod->meta = (struct vpa_meta){.ns = vpa_arena_strdup(arena, what->ns),
                                  .name = vpa_arena_strdup(arena, what->name)};
}

static const struct vpa_cache_kind pod_kind = {.size = sizeof(struct vpa_pod),
                                               .read = read_pod,
                                               .make = make_pod,
                                               .salvage = salvage_pod,
                                               .left_out = vpa_pod_unread};

/* It has become unknown just now: relists bring what is unknown already again. */
static bool became_unknown(const void *before, const void *after)
{
    return after && vpa_cache_reason(after) && !(before && vpa_cache_reason(before));
}

static void on_vpa(void *ctx, const void *before, const void *after)
{
    struct store *store = ctx;
    const struct vpa_object *vpa = after;

    store->vpas_gone += after == NULL;
    if (!became_unknown(before, after))
        return;
    VPA_ERROR("A VPA cannot be read: pods that it may govern are left as they are",
              VPA_KV("namespace", vpa->meta.ns), VPA_KV("vpa", vpa->meta.name),
              VPA_KV("target", vpa->target_ref.present ? vpa->target_ref.name : "any"),
              VPA_KV("err", vpa_cache_reason(after)));
}

static void on_limit_range(void *ctx, const void *before, const void *after)
{
    const struct vpa_limit_range *was = before, *range = after;

    (void)ctx;
    if (range && range->error && !(was && was->error))
        VPA_ERROR("A LimitRange cannot be read: pods of its namespace are left as they are",
                  VPA_KV("namespace", range->meta.ns), VPA_KV("limitRange", range->meta.name),
                  VPA_KV("err", range->error));
}

/* A pod that is replaced or goes. */
static void on_pod(void *ctx, const void *before, const void *after)
{
    struct store *store = ctx;

    (void)after;
    store->pod_changes += before != NULL;
}

/* ---- life ---- */

static struct vpa_cache *new_cache(const char *group_version, const char *ns,
                                   struct vpa_cache_options options)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&path, group_version, ns, options.name, NULL, NULL);
    options.path = vpa_buf_text(&path);
    return vpa_cache_new(&options);
}

struct store *updater_store_new(struct vpa_kube_client *client, const char *ns,
                                const char *panic_ns)
{
    struct store *store = vpa_xcalloc(1, sizeof(*store));

    store->vpas = new_cache(VPA_GROUP_VERSION, ns,
                            (struct vpa_cache_options){.kind = &vpa_cache_vpas,
                                                       .client = client,
                                                       .name = "verticalpodautoscalers",
                                                       .resync = VPA_RESYNC,
                                                       .changed = on_vpa,
                                                       .ctx = store});
    store->pods = new_cache("v1", ns,
                            (struct vpa_cache_options){.kind = &pod_kind,
                                                       .client = client,
                                                       .name = "pods",
                                                       .field_selector = POD_FIELD_SELECTOR,
                                                       .resync = VPA_RESYNC,
                                                       .changed = on_pod,
                                                       .ctx = store});
    store->limit_ranges = new_cache("v1", ns,
                                    (struct vpa_cache_options){.kind = &vpa_cache_limit_ranges,
                                                               .client = client,
                                                               .name = "limitranges",
                                                               .resync = LIMIT_RANGE_RESYNC,
                                                               .changed = on_limit_range});
    store->panic =
        new_cache("v1", panic_ns,
                  (struct vpa_cache_options){.kind = &vpa_cache_presence,
                                             .client = client,
                                             .name = "configmaps",
                                             .field_selector = VPA_PANIC_FIELD_SELECTOR});
    store->panic_ns = vpa_xstrdup(panic_ns);
    return store;
}

void updater_store_free(struct store *store)
{
    if (!store)
        return;
    updater_store_unpin(store);
    vpa_cache_free(store->vpas);
    vpa_cache_free(store->pods);
    vpa_cache_free(store->limit_ranges);
    vpa_cache_free(store->panic);
    free(store->panic_ns);
    free(store);
}

void updater_store_start(struct store *store)
{
    vpa_cache_start(store->vpas);
    vpa_cache_start(store->pods);
    vpa_cache_start(store->limit_ranges);
    vpa_cache_start(store->panic);
}

int updater_store_wait(struct store *store, struct vpa_loop *loop, vpa_duration timeout,
                       struct vpa_error *err)
{
    struct vpa_reflector *const needed[] = {vpa_cache_reflector(store->vpas),
                                            vpa_cache_reflector(store->limit_ranges),
                                            vpa_cache_reflector(store->pods)};

    if (vpa_reflector_wait(needed, VPA_COUNT(needed), loop, timeout, err) < 0)
        return -1;
    return vpa_panic_wait(vpa_cache_reflector(store->panic), loop, err);
}

bool updater_store_is_synced(const struct store *store)
{
    return vpa_cache_is_synced(store->vpas) && vpa_cache_is_synced(store->pods) &&
           vpa_cache_is_synced(store->limit_ranges);
}

vpa_duration updater_store_age(const struct store *store, int64_t now, const char **what)
{
    const struct {
        const struct vpa_cache *cache;
        const char *name;
    } caches[] = {{store->vpas, "verticalpodautoscalers"},
                  {store->pods, "pods"},
                  {store->limit_ranges, "limitranges"},
                  {store->panic, "configmaps"}};
    vpa_duration oldest = -1;

    for (size_t i = 0; i < VPA_COUNT(caches); i++) {
        vpa_duration age = vpa_cache_age(caches[i].cache, now);

        /* We may not be allowed to read ConfigMaps. */
        if (age <= oldest || (caches[i].cache == store->panic && age == INT64_MAX))
            continue;
        oldest = age;
        *what = caches[i].name;
    }
    return oldest;
}

/* That it is there is enough: also one that cannot be read was meant. */
bool updater_store_panic(const struct store *store)
{
    return vpa_cache_has(store->panic, store->panic_ns, VPA_PANIC_CONFIG_MAP);
}

/* ---- reading ---- */

const struct vpa_pod *updater_store_find_pod(const struct store *store, const char *ns,
                                             const char *name)
{
    return vpa_cache_find(store->pods, ns, name);
}

void updater_store_pin(struct store *store)
{
    updater_store_unpin(store);
}

void updater_store_unpin(struct store *store)
{
    for (size_t i = 0; i < store->held_count; i++)
        vpa_cache_list_release(&store->held[i]);
    store->held_count = 0;
}

/* The objects are held until the store is let go, the array is the caller's. */
static const void **read_objects(struct store *store, const struct vpa_cache *cache,
                                 enum vpa_cache_part part, size_t *count)
{
    assert(store->held_count < STORE_HELD_MAX);
    struct vpa_cache_list *list = &store->held[store->held_count++];

    vpa_cache_list(cache, part, list);
    size_t size = list->count * sizeof(*list->objects);
    const void **copy = vpa_xmalloc(size);

    if (size)
        memcpy(copy, list->objects, size);
    *count = list->count;
    return copy;
}

const struct vpa_object **updater_store_vpas(struct store *store, size_t *count)
{
    return (const struct vpa_object **)read_objects(store, store->vpas, VPA_CACHE_KNOWN, count);
}

const struct vpa_pod **updater_store_pods(struct store *store, size_t *count)
{
    return (const struct vpa_pod **)read_objects(store, store->pods, VPA_CACHE_KNOWN, count);
}

const struct vpa_limit_range **updater_store_limit_ranges(struct store *store, size_t *count)
{
    return (const struct vpa_limit_range **)read_objects(store, store->limit_ranges, VPA_CACHE_ALL,
                                                         count);
}

const struct vpa_object **updater_store_unknown_vpas(struct store *store, size_t *count)
{
    return (const struct vpa_object **)read_objects(store, store->vpas, VPA_CACHE_UNKNOWN, count);
}

const struct vpa_pod **updater_store_unknown_pods(struct store *store, size_t *count)
{
    return (const struct vpa_pod **)read_objects(store, store->pods, VPA_CACHE_UNKNOWN, count);
}
