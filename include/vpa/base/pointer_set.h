/*
 * A hash set of pointers to objects that carry their own hash and key.
 *
 * 8 bytes per slot, at most 3/4 used: an object costs 11 to 21 bytes of index, where a general
 * table (table.h), with key and hash in the slot, takes three times that.
 */
#ifndef VPA_BASE_POINTER_SET_H
#define VPA_BASE_POINTER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of every object in a set. */
struct vpa_hashed {
    uint32_t hash;
};
/* Whether the object has the key that is looked for. */
typedef bool (*vpa_pointer_match_fn)(const struct vpa_hashed *object, const void *key);

struct vpa_pointer_set { /* zeroed means empty */
    struct vpa_hashed **slots;
    size_t count;
    size_t used; /* with tombstones */
    size_t capacity;
};
void vpa_pointer_set_release(struct vpa_pointer_set *set); /* the slots, not the objects */
struct vpa_hashed *vpa_pointer_set_find(const struct vpa_pointer_set *set, uint32_t hash,
                                        vpa_pointer_match_fn match, const void *key);
/* The object must not be there yet. */
void vpa_pointer_set_add(struct vpa_pointer_set *set, struct vpa_hashed *object);
void vpa_pointer_set_remove(struct vpa_pointer_set *set, const struct vpa_hashed *object);
/* The object moved to another address (its contents may be gone already). */
void vpa_pointer_set_replace(struct vpa_pointer_set *set, uint32_t hash,
                             const struct vpa_hashed *old, struct vpa_hashed *moved);
/* Start with *i = 0; NULL at the end. Removing the object just given is allowed. */
struct vpa_hashed *vpa_pointer_set_next(const struct vpa_pointer_set *set, size_t *i);

#endif
