#include "shared_map.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"

struct entry {
    uint64_t hash;
    struct shared_item *item;
};
struct shared_shard {
    atomic_uint refs;
    size_t count;
    struct entry entries[];
};

void shared_item_init(struct shared_item *item, uint64_t hash,
                      void (*destroy)(struct shared_item *item))
{
    atomic_init(&item->refs, 1);
    item->hash = hash;
    item->destroy = destroy;
}

void shared_item_ref(struct shared_item *item)
{
    atomic_fetch_add_explicit(&item->refs, 1, memory_order_relaxed);
}

void shared_item_unref(struct shared_item *item)
{
    if (item && atomic_fetch_sub_explicit(&item->refs, 1, memory_order_acq_rel) == 1)
        item->destroy(item);
}

static void shard_unref(struct shared_shard *shard)
{
    if (!shard || atomic_fetch_sub_explicit(&shard->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < shard->count; i++)
        shared_item_unref(shard->entries[i].item);
    free(shard);
}

static size_t shard_index(uint64_t hash)
{
    return (size_t)(hash >> 32) % SHARED_MAP_SHARDS;
}

/* A shard with the entries of the old one, but for `without`, and room for `extra` more. Takes over
 * the map's reference of the old one. */
static struct shared_shard *rebuild(struct shared_shard *old, const struct shared_item *without,
                                    size_t extra)
{
    size_t room = (old ? old->count : 0) + extra;
    struct shared_shard *shard = vpa_xmalloc(sizeof(*shard) + room * sizeof(shard->entries[0]));

    atomic_init(&shard->refs, 1);
    shard->count = 0;
    for (size_t i = 0; old && i < old->count; i++) {
        if (old->entries[i].item == without)
            continue;
        shared_item_ref(old->entries[i].item);
        shard->entries[shard->count++] = old->entries[i];
    }
    shard_unref(old);
    return shard;
}

void shared_map_add(struct shared_map *map, struct shared_item *item)
{
    struct shared_shard **place = &map->shards[shard_index(item->hash)];
    struct shared_shard *shard = rebuild(*place, NULL, 1);

    shared_item_ref(item);
    shard->entries[shard->count++] = (struct entry){item->hash, item};
    *place = shard;
}

void shared_map_remove(struct shared_map *map, struct shared_item *item)
{
    struct shared_shard **place = &map->shards[shard_index(item->hash)];

    if (*place)
        *place = rebuild(*place, item, 0);
}

struct shared_item *shared_map_next(const struct shared_map *map, uint64_t hash, size_t *at)
{
    const struct shared_shard *shard = map->shards[shard_index(hash)];

    if (!shard)
        return NULL;
    for (; *at < shard->count; (*at)++)
        if (shard->entries[*at].hash == hash)
            return shard->entries[(*at)++].item;
    return NULL;
}

void shared_map_copy(struct shared_map *to, const struct shared_map *from)
{
    *to = *from;
    for (size_t i = 0; i < SHARED_MAP_SHARDS; i++)
        if (to->shards[i])
            atomic_fetch_add_explicit(&to->shards[i]->refs, 1, memory_order_relaxed);
}

void shared_map_release(struct shared_map *map)
{
    for (size_t i = 0; i < SHARED_MAP_SHARDS; i++)
        shard_unref(map->shards[i]);
    *map = (struct shared_map){0};
}
