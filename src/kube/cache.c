/*
 * One watch cache.
 *
 * Three ways to let readers read while watches write were in use before: an inbox that the pass
 * empties, objects that are changed at once while pins and a list of the dead keep the old ones,
 * and maps whose pieces are copied before they change. Objects that never change and count their
 * references need none of it: whoever reads holds, the table swaps. An inbox holds each version
 * twice and every event of a pass; pins keep alive what nobody reads, and one forgotten birth mark
 * is a use after free. The price is a counter per object, 100,000 of them counted up and down in
 * two milliseconds a pass.
 *
 * An item is one piece of memory: this header, the object, its texts, its key. The key puts a byte
 * between namespace and name that sorts below every character of a name, so that sorted keys are
 * sorted by namespace and then by name.
 *
 * A LIST counts a round; what is put carries the round; at the end of the list what carries an
 * older one is gone. An unknown object is an item like any other, with a reason, so that it is
 * marked, swept, replaced and deleted by the same few lines.
 */
#include "vpa/kube/cache.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/base/table.h"

#define KEY_SEPARATOR "\x01"
/* So many objects freed at once leave holes that are worth giving back to the system. */
#define TRIM_AFTER 256

/* The object follows it, aligned as the arena aligns. */
struct item {
    _Alignas(16) struct vpa_shared_item shared; /* first, see item_of_shared */
    struct vpa_arena_chunk *chunk;              /* of the arena in which all of it lives */
    const char *key;
    const char *reason; /* NULL unless unknown */
    unsigned round;     /* loop: the list that saw it last */
};

struct unknown_ns {
    size_t count;
    char ns[];
};

struct vpa_cache {
    const struct vpa_cache_kind *kind;
    void *ctx;
    void (*changed)(void *ctx, const void *before, const void *after);
    struct vpa_reflector *reflector;
    struct vpa_loop *loop;
    struct vpa_table items; /* key -> struct item, with a reference each */
    bool shared;            /* there is a map */
    struct vpa_shared_map map;
    struct vpa_table unknown; /* namespace -> struct unknown_ns, those that have some */
    struct vpa_arena scratch; /* of read */
    struct vpa_arena trial;   /* of the first run of make */
    unsigned round;
};

/* ---- items ---- */

static void *object_of(struct item *item)
{
    return item + 1;
}

static const struct item *item_of(const void *object)
{
    return (const struct item *)object - 1;
}

static const struct item *item_of_shared(const struct vpa_shared_item *shared)
{
    return (const struct item *)(const void *)shared;
}

static void destroy(struct vpa_shared_item *shared)
{
    struct vpa_arena arena = {.chunk = item_of_shared(shared)->chunk};

    vpa_arena_release(&arena); /* the item itself lives there */
}

/* What an item is made of. */
struct source {
    const void *draft;                      /* for make; of a known object */
    const struct vpa_unusable_object *what; /* of an unknown one */
    const char *ns, *name;
};

/* Everything of an item, always in the same order. NULL with err. */
static struct item *fill(const struct vpa_cache *c, struct vpa_arena *arena,
                         const struct source *from, struct vpa_error *err)
{
    const struct vpa_cache_kind *kind = c->kind;
    struct item *item = vpa_arena_zalloc(arena, sizeof(*item) + kind->size);

    item->key = vpa_arena_printf(arena, "%s" KEY_SEPARATOR "%s", from->ns, from->name);
    if (from->what) {
        item->reason = vpa_arena_strdup(arena, from->what->reason);
        if (kind->salvage)
            kind->salvage(c->ctx, arena, from->what, object_of(item));
    } else if (kind->make && kind->make(c->ctx, arena, from->draft, object_of(item), err) < 0) {
        return NULL;
    }
    return item;
}

/* The first run tells how much room the second one needs. */
static struct item *item_new(struct vpa_cache *c, const struct source *from, struct vpa_error *err)
{
    struct vpa_arena arena;

    vpa_arena_clear(&c->trial);
    if (!fill(c, &c->trial, from, err))
        return NULL;
    vpa_arena_init(&arena, c->trial.used);
    struct item *item = fill(c, &arena, from, err);
    if (!item) {
        vpa_arena_release(&arena);
        return NULL;
    }
    item->chunk = arena.chunk;
    item->round = c->round;
    vpa_shared_item_init(&item->shared, c->shared ? c->kind->hash(object_of(item)) : 0, destroy);
    return item;
}

/* ---- unknown objects by namespace ---- */

static size_t ns_length(const struct item *item)
{
    return strcspn(item->key, KEY_SEPARATOR);
}

static void count_unknown(struct vpa_cache *c, const struct item *item)
{
    size_t len = ns_length(item);
    vpa_auto_free char *ns = vpa_xstrndup(item->key, len);
    struct unknown_ns *entry = vpa_table_find(&c->unknown, ns);

    if (!entry) {
        entry = vpa_xcalloc(1, sizeof(*entry) + len + 1);
        memcpy(entry->ns, ns, len + 1);
        vpa_table_put(&c->unknown, entry->ns, entry);
    }
    entry->count++;
}

static void uncount_unknown(struct vpa_cache *c, const struct item *item)
{
    vpa_auto_free char *ns = vpa_xstrndup(item->key, ns_length(item));
    struct unknown_ns *entry = vpa_table_find(&c->unknown, ns);

    if (--entry->count == 0) {
        vpa_table_remove(&c->unknown, ns);
        free(entry);
    }
}

/* ---- changes ---- */

/* The item has come into the table or has left it. */
static void note_added(struct vpa_cache *c, struct item *item)
{
    if (c->shared)
        vpa_shared_map_add(&c->map, &item->shared);
    if (item->reason)
        count_unknown(c, item);
}

static void note_removed(struct vpa_cache *c, struct item *item)
{
    if (c->shared)
        vpa_shared_map_remove(&c->map, &item->shared);
    if (item->reason)
        uncount_unknown(c, item);
}

static void swap(struct vpa_cache *c, struct item *before, struct item *after)
{
    if (before)
        note_removed(c, before);
    if (after)
        note_added(c, after);
    if (c->changed)
        c->changed(c->ctx, before ? object_of(before) : NULL, after ? object_of(after) : NULL);
    if (before)
        vpa_shared_item_unref(&before->shared);
}

static bool is_same(const struct vpa_cache *c, struct item *before, struct item *after)
{
    return before && c->kind->same && !before->reason && !after->reason &&
           c->kind->same(object_of(before), object_of(after));
}

static void put(struct vpa_cache *c, struct item *item)
{
    struct item *before = vpa_table_find(&c->items, item->key);

    if (is_same(c, before, item)) {
        before->round = c->round;
        vpa_shared_item_unref(&item->shared);
        return;
    }
    vpa_table_put(&c->items, item->key, item);
    swap(c, before, item);
}

static struct item *find(const struct vpa_cache *c, const char *ns, const char *name)
{
    vpa_auto_free char *key = vpa_xjoin(vpa_or_empty(ns), KEY_SEPARATOR[0], vpa_or_empty(name));

    return vpa_table_find(&c->items, key);
}

static void drop(struct vpa_cache *c, struct item *item)
{
    if (!item)
        return;
    vpa_table_remove(&c->items, item->key);
    swap(c, item, NULL);
}

/* ---- the reflector's handler ---- */

static void on_begin(void *ctx)
{
    ((struct vpa_cache *)ctx)->round++;
}

static void on_end(void *ctx)
{
    struct vpa_cache *c = ctx;
    void *value;

    for (size_t i = 0; vpa_table_next(&c->items, &i, NULL, &value);)
        if (((struct item *)value)->round != c->round)
            drop(c, value);
}

static int put_json(struct vpa_cache *c, const struct vpa_json *json, const char *ns,
                    const char *name, struct vpa_error *err)
{
    struct source from = {.draft = json, .ns = ns, .name = name};

    vpa_arena_clear(&c->scratch);
    if (c->kind->read && c->kind->read(c->ctx, &c->scratch, json, &from.draft, err) < 0)
        return -1;
    struct item *item = item_new(c, &from, err);
    if (!item)
        return -1;
    put(c, item);
    return 0;
}

static int on_object(void *ctx, enum vpa_reflector_event event, const struct vpa_json *json,
                     struct vpa_error *err)
{
    struct vpa_cache *c = ctx;
    const struct vpa_json *meta = vpa_json_find(json, "metadata");
    const char *ns = vpa_or_empty(vpa_json_string(vpa_json_find(meta, "namespace")));
    const char *name = vpa_or_empty(vpa_json_string(vpa_json_find(meta, "name")));

    if (event != VPA_REFLECTOR_DELETED)
        return put_json(c, json, ns, name, err);
    drop(c, find(c, ns, name));
    return 0;
}

static void on_unusable(void *ctx, enum vpa_reflector_event event,
                        const struct vpa_unusable_object *what)
{
    struct vpa_cache *c = ctx;
    const struct source from = {.what = what, .ns = what->ns, .name = what->name};

    if (event == VPA_REFLECTOR_DELETED)
        drop(c, find(c, what->ns, what->name));
    else
        put(c, item_new(c, &from, NULL));
}

/* ---- life ---- */

struct vpa_cache *vpa_cache_new(const struct vpa_cache_options *options)
{
    struct vpa_cache *c = vpa_xcalloc(1, sizeof(*c));

    c->kind = options->kind;
    c->ctx = options->ctx;
    c->changed = options->changed;
    c->shared = options->shared && options->kind->hash;
    if (!options->client)
        return c;
    c->loop = vpa_kube_client_loop(options->client);
    c->reflector = vpa_reflector_new(&(struct vpa_reflector_options){
        .client = options->client,
        .name = options->name,
        .path = options->path,
        .field_selector = options->field_selector,
        .resync = options->resync,
        .handler = vpa_cache_handler(c),
    });
    return c;
}

void vpa_cache_start(struct vpa_cache *cache)
{
    vpa_reflector_start(cache->reflector);
}

void vpa_cache_free(struct vpa_cache *cache)
{
    void *value;

    if (!cache)
        return;
    vpa_reflector_free(cache->reflector);
    for (size_t i = 0; vpa_table_next(&cache->items, &i, NULL, &value);)
        vpa_shared_item_unref(&((struct item *)value)->shared);
    for (size_t i = 0; vpa_table_next(&cache->unknown, &i, NULL, &value);)
        free(value);
    vpa_table_release(&cache->items);
    vpa_table_release(&cache->unknown);
    vpa_shared_map_release(&cache->map);
    vpa_arena_release(&cache->scratch);
    vpa_arena_release(&cache->trial);
    free(cache);
}

struct vpa_reflector_handler vpa_cache_handler(struct vpa_cache *cache)
{
    return (struct vpa_reflector_handler){.ctx = cache,
                                          .begin = on_begin,
                                          .object = on_object,
                                          .end = on_end,
                                          .unusable = on_unusable};
}

struct vpa_reflector *vpa_cache_reflector(const struct vpa_cache *cache)
{
    return cache->reflector;
}

bool vpa_cache_is_synced(const struct vpa_cache *cache)
{
    return vpa_reflector_is_synced(cache->reflector);
}

vpa_duration vpa_cache_age(const struct vpa_cache *cache)
{
    return vpa_reflector_age(cache->reflector, vpa_loop_monotonic(cache->loop));
}

/* ---- reading ---- */

const char *vpa_cache_reason(const void *object)
{
    return item_of(object)->reason;
}

const void *vpa_cache_object(const struct vpa_shared_item *item)
{
    return item_of_shared(item) + 1;
}

const struct vpa_shared_map *vpa_cache_map(const struct vpa_cache *cache)
{
    return &cache->map;
}

size_t vpa_cache_count(const struct vpa_cache *cache)
{
    return cache->items.count;
}

const void *vpa_cache_find(const struct vpa_cache *cache, const char *ns, const char *name)
{
    struct item *item = find(cache, ns, name);

    return item && !item->reason ? object_of(item) : NULL;
}

bool vpa_cache_has(const struct vpa_cache *cache, const char *ns, const char *name)
{
    return find(cache, ns, name) != NULL;
}

bool vpa_cache_is_unknown(const struct vpa_cache *cache, const char *ns, const char *name)
{
    const struct item *item = find(cache, ns, name);

    return item && item->reason;
}

bool vpa_cache_any_unknown(const struct vpa_cache *cache, const char *ns)
{
    return vpa_table_find(&cache->unknown, vpa_or_empty(ns)) != NULL;
}

static bool is_in_part(const struct item *item, enum vpa_cache_part part)
{
    return part == VPA_CACHE_ALL || (part == VPA_CACHE_UNKNOWN) == (item->reason != NULL);
}

void vpa_cache_list(const struct vpa_cache *cache, enum vpa_cache_part part,
                    struct vpa_cache_list *out)
{
    bool none = part == VPA_CACHE_UNKNOWN && cache->unknown.count == 0;
    void **sorted = none ? NULL : vpa_table_sorted(&cache->items);
    size_t count = 0;

    for (size_t i = 0; sorted && i < cache->items.count; i++) {
        struct item *item = sorted[i];

        if (!is_in_part(item, part))
            continue;
        vpa_shared_item_ref(&item->shared);
        sorted[count++] = object_of(item);
    }
    *out = (struct vpa_cache_list){.objects = (const void **)sorted, .count = count};
}

void vpa_cache_list_release(struct vpa_cache_list *list)
{
    size_t freed = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct item *item = (struct item *)(uintptr_t)item_of(list->objects[i]);

        freed += vpa_shared_item_unref(&item->shared);
    }
    free(list->objects);
    *list = (struct vpa_cache_list){0};
    if (freed >= TRIM_AFTER)
        malloc_trim(0);
}
