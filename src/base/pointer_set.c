/* Open addressing with linear probing; removed slots are tombstones until the set grows or is
 * cleaned. */
#include "vpa/base/pointer_set.h"

#include <assert.h>
#include <stdlib.h>

#include "vpa/base/mem.h"

#define FIRST_CAPACITY 16

static struct vpa_hashed tombstone;

void vpa_pointer_set_release(struct vpa_pointer_set *set)
{
    free(set->slots);
    *set = (struct vpa_pointer_set){0};
}

struct vpa_hashed *vpa_pointer_set_find(const struct vpa_pointer_set *set, uint32_t hash,
                                        vpa_pointer_match_fn match, const void *key)
{
    if (!set->capacity)
        return NULL;
    for (size_t i = hash & (set->capacity - 1); set->slots[i]; i = (i + 1) & (set->capacity - 1)) {
        struct vpa_hashed *object = set->slots[i];
        if (object != &tombstone && object->hash == hash && match(object, key))
            return object;
    }
    return NULL;
}

static void place(struct vpa_pointer_set *set, struct vpa_hashed *object)
{
    size_t i = object->hash & (set->capacity - 1);

    while (set->slots[i])
        i = (i + 1) & (set->capacity - 1);
    set->slots[i] = object;
    set->used++;
}

/* Doubles, or only drops the tombstones when these are what fills the set: a twelfth of it or more,
 * so that as many objects pay for the work. Where objects come and go, the set stays small. */
static void rebuild(struct vpa_pointer_set *set)
{
    struct vpa_pointer_set old = *set;
    size_t capacity = old.capacity ? old.capacity : FIRST_CAPACITY;

    if (old.count * 3 >= capacity * 2)
        capacity *= 2;
    set->slots = vpa_xcalloc(capacity, sizeof(struct vpa_hashed *));
    set->capacity = capacity;
    set->used = 0;
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slots[i] && old.slots[i] != &tombstone)
            place(set, old.slots[i]);
    }
    free(old.slots);
}

void vpa_pointer_set_add(struct vpa_pointer_set *set, struct vpa_hashed *object)
{
    if ((set->used + 1) * 4 > set->capacity * 3)
        rebuild(set);
    place(set, object);
    set->count++;
}

static size_t slot_of(const struct vpa_pointer_set *set, uint32_t hash,
                      const struct vpa_hashed *object)
{
    size_t i = hash & (set->capacity - 1);

    while (set->slots[i] != object) {
        assert(set->slots[i]);
        i = (i + 1) & (set->capacity - 1);
    }
    return i;
}

void vpa_pointer_set_remove(struct vpa_pointer_set *set, const struct vpa_hashed *object)
{
    set->slots[slot_of(set, object->hash, object)] = &tombstone;
    set->count--;
}

void vpa_pointer_set_replace(struct vpa_pointer_set *set, uint32_t hash,
                             const struct vpa_hashed *old, struct vpa_hashed *moved)
{
    set->slots[slot_of(set, hash, old)] = moved;
}

struct vpa_hashed *vpa_pointer_set_next(const struct vpa_pointer_set *set, size_t *i)
{
    while (*i < set->capacity) {
        struct vpa_hashed *object = set->slots[(*i)++];
        if (object && object != &tombstone)
            return object;
    }
    return NULL;
}
