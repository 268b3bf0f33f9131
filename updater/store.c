/*
 * The caches.
 *
 * Four collections with one mechanism: a table from "namespace, name" to an item that carries the
 * decoded object. A list marks everything unseen, puts what it gives and drops the rest at its end;
 * a watch puts and removes. Since a pass waits for answers and the watches flow meanwhile, an item
 * that leaves the table while the store is pinned goes to a list of the dead and is freed when the
 * pass lets go.
 */
#include "store.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "compact.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/daemon/panic.h"

#define VPA_RESYNC VPA_HOUR
/* So many objects freed at once leave holes that are worth giving back to the system. */
#define TRIM_AFTER 256
#define LIMIT_RANGE_RESYNC (10 * VPA_MINUTE)
/* Scheduled and not finished: all that can be updated. */
#define POD_FIELD_SELECTOR "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"

struct item {
    struct collection *home;
    struct item *next_dead;
    void *object;  /* a compact_pod, or an arena_object */
    unsigned born; /* how often the store had been read */
    bool seen;
    char key[];
};

/* Objects other than pods. */
struct arena_object {
    struct vpa_arena arena;
    void *object; /* in the arena */
};

struct collection {
    struct store *store;
    struct vpa_table items;
    struct vpa_reflector *reflector;
    /* The object to keep; the scratch arena is cleared by the caller. NULL with err. */
    void *(*decode)(struct vpa_arena *scratch, const struct vpa_json *json, struct vpa_error *err);
    void (*release)(void *object);
};

struct store {
    struct collection vpas;
    struct collection pods;
    struct collection limit_ranges;
    struct collection panic;
    char *panic_key;
    struct vpa_arena scratch;
    struct item *dead;
    unsigned reads; /* how often objects were lent */
    bool pinned;
};

static void item_free(struct item *item)
{
    item->home->release(item->object);
    free(item);
}

static void release_pod(void *object)
{
    updater_pod_free(object);
}

static void release_arena_object(void *object)
{
    struct arena_object *o = object;

    vpa_arena_release(&o->arena);
    free(o);
}

static void item_drop(struct item *item)
{
    struct store *store = item->home->store;

    /* What came after the last read is not borrowed by anybody. (What came after the pin may be: a
     * pass waits for the lease before it reads.) */
    if (!store->pinned || item->born == store->reads) {
        item_free(item);
        return;
    }
    item->next_dead = store->dead;
    store->dead = item;
}

static void free_dead(struct store *store)
{
    size_t count = 0;

    while (store->dead) {
        struct item *item = store->dead;

        store->dead = item->next_dead;
        item_free(item);
        count++;
    }
    if (count >= TRIM_AFTER)
        malloc_trim(0);
}

/* Sorts by namespace, then name: the separator is below every character of a name. */
static char *make_key(const char *ns, const char *name)
{
    return vpa_xprintf("%s\x01%s", vpa_or_empty(ns), vpa_or_empty(name));
}

static char *key_of(const struct vpa_json *json)
{
    const struct vpa_json *metadata = vpa_json_find(json, "metadata");

    return make_key(vpa_json_string(vpa_json_find(metadata, "namespace")),
                    vpa_json_string(vpa_json_find(metadata, "name")));
}

static void on_begin(void *ctx)
{
    struct collection *c = ctx;
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&c->items, &i, &key, &value);)
        ((struct item *)value)->seen = false;
}

static void on_end(void *ctx)
{
    struct collection *c = ctx;
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&c->items, &i, &key, &value);) {
        if (((struct item *)value)->seen)
            continue;
        vpa_table_remove(&c->items, key);
        item_drop(value);
    }
}

static int put(struct collection *c, const char *key, const struct vpa_json *json,
               struct vpa_error *err)
{
    void *object;

    vpa_arena_clear(&c->store->scratch);
    object = c->decode(&c->store->scratch, json, err);
    if (!object)
        return -1;

    size_t size = strlen(key) + 1;
    struct item *item = vpa_xcalloc(1, sizeof(*item) + size);

    item->home = c;
    item->born = c->store->reads;
    item->object = object;
    item->seen = true;
    memcpy(item->key, key, size);

    struct item *old = vpa_table_put(&c->items, item->key, item);

    if (old)
        item_drop(old);
    return 0;
}

static int on_object(void *ctx, enum vpa_reflector_event event, const struct vpa_json *json,
                     struct vpa_error *err)
{
    struct collection *c = ctx;
    vpa_auto_free char *key = key_of(json);

    if (event != VPA_REFLECTOR_DELETED)
        return put(c, key, json, err);

    struct item *item = vpa_table_remove(&c->items, key);

    if (item)
        item_drop(item);
    return 0;
}

static void *decode_pod(struct vpa_arena *scratch, const struct vpa_json *json,
                        struct vpa_error *err)
{
    struct vpa_pod pod;

    if (vpa_pod_decode(scratch, json, &pod, err) < 0)
        return NULL;
    return updater_pod_new(&pod);
}

static void *decode_vpa(struct vpa_arena *scratch, const struct vpa_json *json,
                        struct vpa_error *err)
{
    struct vpa_object probe;

    /* Twice: the first time tells how much room the object needs. */
    if (vpa_object_decode(scratch, json, &probe, err) < 0)
        return NULL;

    struct arena_object *o = vpa_xcalloc(1, sizeof(*o));

    vpa_arena_init(&o->arena, sizeof(probe) + scratch->used + scratch->used / 8);
    o->object = vpa_arena_zalloc(&o->arena, sizeof(probe));
    if (vpa_object_decode(&o->arena, json, o->object, err) == 0)
        return o;
    release_arena_object(o);
    return NULL;
}

static void *decode_limit_range(struct vpa_arena *scratch, const struct vpa_json *json,
                                struct vpa_error *err)
{
    struct arena_object *o = vpa_xcalloc(1, sizeof(*o));
    struct vpa_limit_range *range = vpa_arena_zalloc(&o->arena, sizeof(*range));

    (void)scratch;
    if (vpa_limit_range_decode_any(&o->arena, json, range, err) < 0)
        VPA_ERROR("A LimitRange cannot be read: pods of its namespace are left as they are",
                  VPA_KV("namespace", range->meta.ns), VPA_KV("limitRange", range->meta.name),
                  VPA_KERR(err));
    o->object = range;
    return o;
}

/* Of the panic ConfigMap only its being there counts. */
static void *decode_nothing(struct vpa_arena *scratch, const struct vpa_json *json,
                            struct vpa_error *err)
{
    (void)scratch;
    (void)json;
    (void)err;
    return vpa_xcalloc(1, sizeof(struct arena_object));
}

static void collection_init(struct store *store, struct collection *c,
                            struct vpa_kube_client *client, const char *name, const char *path,
                            const char *field_selector, vpa_duration resync)
{
    c->store = store;
    c->reflector = vpa_reflector_new(&(struct vpa_reflector_options){
        .client = client,
        .name = name,
        .path = path,
        .field_selector = field_selector,
        .resync = resync,
        .handler = {.ctx = c, .begin = on_begin, .object = on_object, .end = on_end},
    });
}

static void collection_release(struct collection *c)
{
    const char *key;
    void *value;

    vpa_reflector_free(c->reflector);
    for (size_t i = 0; vpa_table_next(&c->items, &i, &key, &value);)
        item_free(value);
    vpa_table_release(&c->items);
}

struct store *updater_store_new(struct vpa_kube_client *client, const char *ns,
                                const char *panic_ns)
{
    struct store *store = vpa_xcalloc(1, sizeof(*store));
    vpa_auto_buf path = {0};

    vpa_buf_init(&path, VPA_KUBE_PATH_MAX);
    store->vpas.decode = decode_vpa;
    store->vpas.release = release_arena_object;
    vpa_kube_path(&path, VPA_GROUP_VERSION, ns, "verticalpodautoscalers", NULL, NULL);
    collection_init(store, &store->vpas, client, "verticalpodautoscalers", vpa_buf_text(&path),
                    NULL, VPA_RESYNC);

    store->pods.decode = decode_pod;
    store->pods.release = release_pod;
    vpa_buf_clear(&path);
    vpa_kube_path(&path, "v1", ns, "pods", NULL, NULL);
    collection_init(store, &store->pods, client, "pods", vpa_buf_text(&path), POD_FIELD_SELECTOR,
                    VPA_RESYNC);

    store->limit_ranges.decode = decode_limit_range;
    store->limit_ranges.release = release_arena_object;
    vpa_buf_clear(&path);
    vpa_kube_path(&path, "v1", ns, "limitranges", NULL, NULL);
    collection_init(store, &store->limit_ranges, client, "limitranges", vpa_buf_text(&path), NULL,
                    LIMIT_RANGE_RESYNC);

    store->panic.decode = decode_nothing;
    store->panic.release = release_arena_object;
    vpa_buf_clear(&path);
    vpa_kube_path(&path, "v1", panic_ns, "configmaps", NULL, NULL);
    collection_init(store, &store->panic, client, "configmaps", vpa_buf_text(&path),
                    VPA_PANIC_FIELD_SELECTOR, 0);
    store->panic_key = make_key(panic_ns, VPA_PANIC_CONFIG_MAP);
    return store;
}

void updater_store_free(struct store *store)
{
    if (!store)
        return;
    updater_store_unpin(store);
    collection_release(&store->vpas);
    collection_release(&store->pods);
    collection_release(&store->limit_ranges);
    collection_release(&store->panic);
    vpa_arena_release(&store->scratch);
    free(store->panic_key);
    free(store);
}

void updater_store_start(struct store *store)
{
    vpa_reflector_start(store->vpas.reflector);
    vpa_reflector_start(store->pods.reflector);
    vpa_reflector_start(store->limit_ranges.reflector);
    vpa_reflector_start(store->panic.reflector);
}

int updater_store_wait(struct store *store, struct vpa_loop *loop, vpa_duration timeout,
                       struct vpa_error *err)
{
    struct vpa_reflector *const needed[] = {store->vpas.reflector, store->limit_ranges.reflector,
                                            store->pods.reflector};

    if (vpa_reflector_wait(needed, VPA_COUNT(needed), loop, timeout, err) < 0)
        return -1;
    return vpa_panic_wait(store->panic.reflector, loop, err);
}

bool updater_store_is_synced(const struct store *store)
{
    return vpa_reflector_is_synced(store->vpas.reflector) &&
           vpa_reflector_is_synced(store->pods.reflector) &&
           vpa_reflector_is_synced(store->limit_ranges.reflector);
}

bool updater_store_panic(const struct store *store)
{
    return vpa_table_find(&store->panic.items, store->panic_key) != NULL;
}

void updater_store_pin(struct store *store)
{
    store->pinned = true;
}

void updater_store_unpin(struct store *store)
{
    store->pinned = false;
    free_dead(store);
}

/* The items of a collection, replaced in place by their objects. */
static void **arena_objects(struct collection *c, size_t *count)
{
    c->store->reads++;
    void **sorted = vpa_table_sorted(&c->items);

    *count = c->items.count;
    for (size_t i = 0; i < *count; i++)
        sorted[i] = ((struct arena_object *)((struct item *)sorted[i])->object)->object;
    return sorted;
}

const struct vpa_object **updater_store_vpas(struct store *store, size_t *count)
{
    return (const struct vpa_object **)(void *)arena_objects(&store->vpas, count);
}

const struct vpa_pod **updater_store_pods(struct store *store, size_t *count)
{
    void **sorted = vpa_table_sorted(&store->pods.items);

    store->reads++;
    *count = store->pods.items.count;
    for (size_t i = 0; i < *count; i++)
        sorted[i] = (void *)updater_pod_get(((struct item *)sorted[i])->object);
    return (const struct vpa_pod **)(void *)sorted;
}

const struct vpa_limit_range **updater_store_limit_ranges(struct store *store, size_t *count)
{
    return (const struct vpa_limit_range **)(void *)arena_objects(&store->limit_ranges, count);
}
