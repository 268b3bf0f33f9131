/*
 * A map of shared, immutable items that can be copied in a microsecond: the loop keeps changing its
 * own copy while other threads read older ones.
 *
 * Items are spread over a fixed number of shards by their hash. A copy of the map refers to the
 * same shards; a shard that is shared is copied before it is changed. So a change costs one shard
 * of a few entries, and a published map costs one reference per shard, whatever the number of
 * items. Only the thread that owns a map changes or copies it; a copy may be read and released
 * anywhere.
 *
 * The map knows items by hash only; several items of one hash are fine. Whoever looks something up
 * walks the items of a hash and compares the real key.
 */
#ifndef VPA_BASE_SHARED_MAP_H
#define VPA_BASE_SHARED_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VPA_SHARED_MAP_SHARDS 512

/* First member of an item. */
struct vpa_shared_item {
    atomic_uint refs;
    uint64_t hash;
    void (*destroy)(struct vpa_shared_item *item); /* after the last reference */
};
/* A new item has one reference, that of its maker. */
void vpa_shared_item_init(struct vpa_shared_item *item, uint64_t hash,
                          void (*destroy)(struct vpa_shared_item *item));
void vpa_shared_item_ref(struct vpa_shared_item *item);
/* True when it was the last reference; NULL is ignored. */
bool vpa_shared_item_unref(struct vpa_shared_item *item);

struct vpa_shared_shard;
struct vpa_shared_map { /* zeroed means empty */
    struct vpa_shared_shard *shards[VPA_SHARED_MAP_SHARDS];
};

/* Adds a reference of the map's own. The same item must not be added twice. */
void vpa_shared_map_add(struct vpa_shared_map *map, struct vpa_shared_item *item);
/* Removes exactly this item; nothing happens when it is not there. */
void vpa_shared_map_remove(struct vpa_shared_map *map, struct vpa_shared_item *item);
/* Items of that hash, in the order of their addition: start with *at = 0; NULL behind the last.
 * Borrowed from the map. */
struct vpa_shared_item *vpa_shared_map_next(const struct vpa_shared_map *map, uint64_t hash,
                                            size_t *at);
void vpa_shared_map_copy(struct vpa_shared_map *to, const struct vpa_shared_map *from);
void vpa_shared_map_release(struct vpa_shared_map *map);

#endif
