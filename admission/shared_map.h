/*
 * A map of shared, immutable items that can be copied in a microsecond: the loop keeps changing its
 * own copy while other threads read older ones.
 *
 * Items are spread over a fixed number of shards by their hash. A copy of the map refers to the
 * same shards; a shard that is shared is copied before it is changed. So a change costs one shard
 * of a few entries, and a published map costs one reference per shard, whatever the number of
 * items.
 *
 * The map knows items by hash only; several items of one hash are fine. Whoever looks something up
 * walks the items of a hash and compares the real key.
 */
#ifndef ADMISSION_SHARED_MAP_H
#define ADMISSION_SHARED_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARED_MAP_SHARDS 512

/* First member of an item. */
struct shared_item {
    atomic_uint refs;
    uint64_t hash;
    void (*destroy)(struct shared_item *item); /* after the last reference */
};
/* A new item has one reference, that of its maker. */
void shared_item_init(struct shared_item *item, uint64_t hash,
                      void (*destroy)(struct shared_item *item));
void shared_item_ref(struct shared_item *item);
void shared_item_unref(struct shared_item *item); /* NULL is ignored */

struct shared_shard;
struct shared_map { /* zeroed means empty */
    struct shared_shard *shards[SHARED_MAP_SHARDS];
};

/* Adds a reference of the map's own. The same item must not be added twice. */
void shared_map_add(struct shared_map *map, struct shared_item *item);
/* Removes exactly this item; nothing happens when it is not there. */
void shared_map_remove(struct shared_map *map, struct shared_item *item);
/* Items of that hash, in the order of their addition: start with *at = 0; NULL behind the last.
 * Borrowed from the map. */
struct shared_item *shared_map_next(const struct shared_map *map, uint64_t hash, size_t *at);
void shared_map_copy(struct shared_map *to, const struct shared_map *from);
void shared_map_release(struct shared_map *map);

#endif
