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
#include "cache_internal.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"

/* So many objects freed at once leave holes that are worth giving back to the system. */
#define TRIM_AFTER 256

/* ---- items ---- */

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
    const struct item *item = item_of_shared(shared);
    struct vpa_arena arena = {.chunk = item->chunk};

    if (item->before)
        vpa_shared_item_unref(&item->before->shared);
    vpa_arena_release(&arena); /* the item itself lives there */
}

/* Everything of an item, always in the same order. NULL with err. */
static struct item *fill(const struct vpa_cache *c, struct vpa_arena *arena,
                         const struct source *from, struct vpa_error *err)
{
    const struct vpa_cache_kind *kind = c->kind;
    struct item *item = vpa_arena_zalloc(arena, sizeof(*item) + kind->size);

    item->key = vpa_arena_printf(arena, "%s" KEY_SEPARATOR "%s", from->ns, from->name);
    item->gone = item->bare = from->gone;
    if (from->gone)
        return item;
    if (from->what) {
        item->reason = vpa_arena_strdup(arena, from->what->reason);
        if (kind->salvage)
            kind->salvage(c->ctx, arena, from->what, cache_object_of(item));
    } else if (kind->make &&
               kind->make(c->ctx, arena, from->draft, cache_object_of(item), err) < 0) {
        return NULL;
    }
    return item;
}

static uint64_t hash_of(const struct vpa_cache *c, struct item *item)
{
    return c->kind->hash ? c->kind->hash(cache_object_of(item))
                         : vpa_hash_bytes(item->key, strlen(item->key));
}

/* How much room the item needs, by making it once. What is taken soon may have room to spare: there
 * it is what reading took. What cannot be made needs some, too. */
static size_t room_for(struct vpa_cache *c, const struct source *from, struct vpa_error *err)
{
    if (c->taker)
        return sizeof(struct item) + c->kind->size + strlen(from->ns) + strlen(from->name) + 2 +
               (from->draft ? c->scratch.used : 0);
    vpa_arena_clear(&c->trial);
    (void)fill(c, &c->trial, from, err);
    return c->trial.used;
}

/* NULL with err. */
static struct item *new_item(struct vpa_cache *c, const struct source *from, struct vpa_error *err)
{
    struct vpa_arena arena;

    vpa_arena_init(&arena, room_for(c, from, err));
    struct item *item = fill(c, &arena, from, err);
    if (!item) {
        vpa_arena_release(&arena);
        return NULL;
    }
    item->chunk = arena.chunk;
    item->round = c->round;
    vpa_shared_item_init(&item->shared, from->gone ? 0 : hash_of(c, item), destroy);
    return item;
}

/* ---- changes ---- */

/* The item has come into the table or has left it. */
static void note_added(struct vpa_cache *c, struct item *item)
{
    if (c->shared)
        vpa_shared_map_add(&c->map, &item->shared);
    c->unknown += item->reason != NULL;
}

static void note_removed(struct vpa_cache *c, struct item *item)
{
    if (c->shared)
        vpa_shared_map_remove(&c->map, &item->shared);
    c->unknown -= item->reason != NULL;
}

static void swap(struct vpa_cache *c, struct item *before, struct item *after)
{
    if (before)
        note_removed(c, before);
    if (after)
        note_added(c, after);
    if (c->changed)
        c->changed(c->ctx, before ? cache_object_of(before) : NULL,
                   after ? cache_object_of(after) : NULL);
    if (before)
        vpa_shared_item_unref(&before->shared);
}

static bool is_same(const struct vpa_cache *c, struct item *before, struct item *after)
{
    return before && c->kind->same && !before->reason && !after->reason &&
           c->kind->same(cache_object_of(before), cache_object_of(after));
}

static void put(struct vpa_cache *c, struct item *item)
{
    if (c->taker) {
        taken_put(c, item);
        return;
    }
    struct item *before = vpa_table_find(&c->items, item->key);

    if (is_same(c, before, item)) {
        before->round = c->round;
        vpa_shared_item_unref(&item->shared);
        return;
    }
    vpa_table_put(&c->items, item->key, item);
    swap(c, before, item);
}

static struct item *find_item(const struct vpa_cache *c, const char *ns, const char *name)
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

static void drop_named(struct vpa_cache *c, const char *ns, const char *name)
{
    const struct source gone = {.gone = true, .ns = ns, .name = name};

    if (c->taker)
        taken_put(c, new_item(c, &gone, NULL));
    else
        drop(c, find_item(c, ns, name));
}

/* ---- the reflector's handler ---- */

static void on_begin(void *ctx)
{
    struct vpa_cache *c = ctx;

    c->round++;
    if (c->taker)
        taken_begin_list(c);
}

static void on_end(void *ctx)
{
    struct vpa_cache *c = ctx;
    void *value;

    if (c->taker) {
        taken_end_list(c);
        return;
    }
    for (size_t i = 0; vpa_table_next(&c->items, &i, NULL, &value);)
        if (((struct item *)value)->round != c->round)
            drop(c, value);
}

/* The taker needs nothing of it that it does not have. */
static bool is_had(const struct vpa_cache *c, enum vpa_reflector_event event,
                   const struct source *from)
{
    return c->taker && event == VPA_REFLECTOR_LISTED && !find_item(c, from->ns, from->name) &&
           c->taker->has(c->ctx, from->draft);
}

static int put_json(struct vpa_cache *c, enum vpa_reflector_event event,
                    const struct vpa_json *json, struct source *from, struct vpa_error *err)
{
    from->draft = json;
    vpa_arena_clear(&c->scratch);
    if (c->kind->read && c->kind->read(c->ctx, &c->scratch, json, &from->draft, err) < 0)
        return -1;
    if (is_had(c, event, from))
        return 0;
    struct item *item = new_item(c, from, err);
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
    struct source from = {
        .ns = vpa_json_text(meta, "namespace"),
        .name = vpa_json_text(meta, "name"),
    };

    if (event == VPA_REFLECTOR_DELETED) {
        drop_named(c, from.ns, from.name);
        return 0;
    }
    if (put_json(c, event, json, &from, err) < 0)
        return -1;
    if (c->taker && event == VPA_REFLECTOR_LISTED)
        taken_listed(c, from.ns, from.name);
    return 0;
}

/* What was known before the item became unknown, with a reference for it. */
static struct item *last_known(const struct vpa_cache *c, const char *ns, const char *name)
{
    struct item *before = c->keeps_last ? find_item(c, ns, name) : NULL;
    struct item *last = before && before->reason ? before->before : before;

    if (last)
        vpa_shared_item_ref(&last->shared);
    return last;
}

static void put_unknown(struct vpa_cache *c, const struct vpa_unusable_object *what)
{
    const struct source from = {.what = what, .ns = what->ns, .name = what->name};
    struct item *item = new_item(c, &from, NULL);

    if (!c->taker)
        item->before = last_known(c, what->ns, what->name);
    put(c, item);
}

static void on_unusable(void *ctx, enum vpa_reflector_event event,
                        const struct vpa_unusable_object *what)
{
    struct vpa_cache *c = ctx;

    if (event == VPA_REFLECTOR_DELETED) {
        drop_named(c, what->ns, what->name);
        return;
    }
    put_unknown(c, what);
    if (c->taker && event == VPA_REFLECTOR_LISTED)
        taken_listed(c, what->ns, what->name);
}

/* ---- life ---- */

struct vpa_cache *vpa_cache_new(const struct vpa_cache_options *options)
{
    struct vpa_cache *c = vpa_xcalloc(1, sizeof(*c));

    c->kind = options->kind;
    c->ctx = options->ctx;
    c->changed = options->changed;
    c->taker = options->taker;
    c->shared = options->shared;
    c->keeps_last = options->keeps_last;
    if (!options->client)
        return c;
    c->loop = vpa_kube_client_loop(options->client);
    c->reflector = vpa_reflector_new(&(struct vpa_reflector_options){
        .client = options->client,
        .name = options->name,
        .path = options->path,
        .field_selector = options->field_selector,
        .resync = options->resync,
        .left_out = c->kind->left_out,
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
    vpa_table_release(&cache->items);
    vpa_shared_map_release(&cache->map);
    taken_release(cache);
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

vpa_duration vpa_cache_age(const struct vpa_cache *cache, int64_t now)
{
    return vpa_reflector_age(cache->reflector, now);
}

/* ---- reading ---- */

const char *vpa_cache_reason(const void *object)
{
    return item_of(object)->reason;
}

const void *vpa_cache_last(const void *object)
{
    const struct item *item = item_of(object);

    if (!item->reason)
        return object;
    return item->before ? cache_object_of(item->before) : NULL;
}

const void *vpa_cache_object(const struct vpa_shared_item *item)
{
    return item_of_shared(item) + 1;
}

const struct vpa_shared_map *vpa_cache_map(const struct vpa_cache *cache)
{
    return &cache->map;
}

void vpa_cache_share(struct vpa_cache *cache)
{
    void *item;

    if (cache->shared)
        return;
    cache->shared = true;
    for (size_t i = 0; vpa_table_next(&cache->items, &i, NULL, &item);)
        vpa_shared_map_add(&cache->map, &((struct item *)item)->shared);
}

const void *vpa_cache_map_find(const struct vpa_shared_map *map, const char *ns, const char *name)
{
    vpa_auto_free char *key = vpa_xjoin(vpa_or_empty(ns), KEY_SEPARATOR[0], vpa_or_empty(name));
    uint64_t hash = vpa_hash_bytes(key, strlen(key));
    const struct vpa_shared_item *found;

    for (size_t at = 0; (found = vpa_shared_map_next(map, hash, &at)) != NULL;)
        if (strcmp(item_of_shared(found)->key, key) == 0)
            return vpa_cache_object(found);
    return NULL;
}

size_t vpa_cache_count(const struct vpa_cache *cache)
{
    return cache->items.count;
}

const void *vpa_cache_find(const struct vpa_cache *cache, const char *ns, const char *name)
{
    struct item *item = find_item(cache, ns, name);

    return item && !item->reason ? cache_object_of(item) : NULL;
}

bool vpa_cache_has(const struct vpa_cache *cache, const char *ns, const char *name)
{
    return find_item(cache, ns, name) != NULL;
}

bool vpa_cache_is_unknown(const struct vpa_cache *cache, const char *ns, const char *name)
{
    const struct item *item = find_item(cache, ns, name);

    return item && item->reason;
}

static bool is_in_part(const struct item *item, enum vpa_cache_part part)
{
    return part == VPA_CACHE_ALL || (part == VPA_CACHE_UNKNOWN) == (item->reason != NULL);
}

void vpa_cache_list(const struct vpa_cache *cache, enum vpa_cache_part part,
                    struct vpa_cache_list *out)
{
    bool none = part == VPA_CACHE_UNKNOWN && cache->unknown == 0;
    void **sorted = none ? NULL : vpa_table_sorted(&cache->items);
    size_t count = 0;

    for (size_t i = 0; sorted && i < cache->items.count; i++) {
        struct item *item = sorted[i];

        if (!is_in_part(item, part))
            continue;
        vpa_shared_item_ref(&item->shared);
        sorted[count++] = cache_object_of(item);
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
