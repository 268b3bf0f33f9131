#include "vpa/base/shared_map.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"

struct entry {
    uint64_t hash;
    struct vpa_shared_item *item;
};
struct vpa_shared_shard {
    atomic_uint refs;
    size_t count;
    size_t capacity;
    struct entry entries[];
};

void vpa_shared_item_init(struct vpa_shared_item *item, uint64_t hash,
                          void (*destroy)(struct vpa_shared_item *item))
{
    atomic_init(&item->refs, 1);
    item->hash = hash;
    item->destroy = destroy;
}

void vpa_shared_item_ref(struct vpa_shared_item *item)
{
    atomic_fetch_add_explicit(&item->refs, 1, memory_order_relaxed);
}

bool vpa_shared_item_unref(struct vpa_shared_item *item)
{
    if (!item || atomic_fetch_sub_explicit(&item->refs, 1, memory_order_acq_rel) != 1)
        return false;
    item->destroy(item);
    return true;
}

static void shard_unref(struct vpa_shared_shard *shard)
{
    if (!shard || atomic_fetch_sub_explicit(&shard->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < shard->count; i++)
        vpa_shared_item_unref(shard->entries[i].item);
    free(shard);
}

static size_t shard_index(uint64_t hash)
{
    return (size_t)(hash >> 32) % VPA_SHARED_MAP_SHARDS;
}

/* Nobody else has it: references are made by the owner of the map only. */
static bool is_ours(const struct vpa_shared_shard *shard)
{
    return atomic_load_explicit(&shard->refs, memory_order_acquire) == 1;
}

static struct vpa_shared_shard *new_shard(size_t capacity)
{
    struct vpa_shared_shard *shard =
        vpa_xmalloc(sizeof(*shard) + capacity * sizeof(shard->entries[0]));

    atomic_init(&shard->refs, 1);
    shard->count = 0;
    shard->capacity = capacity;
    return shard;
}

/* The shard itself when nobody else has it and the room is there, otherwise a copy in its place. */
static struct vpa_shared_shard *writable(struct vpa_shared_shard *old, size_t room)
{
    size_t count = old ? old->count : 0;

    if (old && is_ours(old) && count + room <= old->capacity)
        return old;
    struct vpa_shared_shard *shard = new_shard(count + room + (room ? count / 4 : 0));
    for (size_t i = 0; i < count; i++) {
        vpa_shared_item_ref(old->entries[i].item);
        shard->entries[shard->count++] = old->entries[i];
    }
    shard_unref(old);
    return shard;
}

void vpa_shared_map_add(struct vpa_shared_map *map, struct vpa_shared_item *item)
{
    struct vpa_shared_shard **place = &map->shards[shard_index(item->hash)];
    struct vpa_shared_shard *shard = writable(*place, 1);

    vpa_shared_item_ref(item);
    shard->entries[shard->count++] = (struct entry){item->hash, item};
    *place = shard;
}

void vpa_shared_map_remove(struct vpa_shared_map *map, struct vpa_shared_item *item)
{
    struct vpa_shared_shard **place = &map->shards[shard_index(item->hash)];
    size_t at = 0;

    while (*place && at < (*place)->count && (*place)->entries[at].item != item)
        at++;
    if (!*place || at == (*place)->count)
        return;
    struct vpa_shared_shard *shard = *place = writable(*place, 0);
    shard->count--;
    memmove(&shard->entries[at], &shard->entries[at + 1],
            (shard->count - at) * sizeof(shard->entries[0]));
    vpa_shared_item_unref(item);
}

struct vpa_shared_item *vpa_shared_map_next(const struct vpa_shared_map *map, uint64_t hash,
                                            size_t *at)
{
    const struct vpa_shared_shard *shard = map->shards[shard_index(hash)];

    if (!shard)
        return NULL;
    for (; *at < shard->count; (*at)++)
        if (shard->entries[*at].hash == hash)
            return shard->entries[(*at)++].item;
    return NULL;
}

void vpa_shared_map_copy(struct vpa_shared_map *to, const struct vpa_shared_map *from)
{
    *to = *from;
    for (size_t i = 0; i < VPA_SHARED_MAP_SHARDS; i++)
        if (to->shards[i])
            atomic_fetch_add_explicit(&to->shards[i]->refs, 1, memory_order_relaxed);
}

void vpa_shared_map_release(struct vpa_shared_map *map)
{
    for (size_t i = 0; i < VPA_SHARED_MAP_SHARDS; i++)
        shard_unref(map->shards[i]);
    *map = (struct vpa_shared_map){0};
}
