/*
 * Hash table from byte strings to pointers: open addressing, 16 bytes and a hash per slot, seeded
 * (hostile keys do not degrade it). Keys are borrowed: usually they live inside the value.
 *
 *     struct vpa_table pods = {0};
 *     vpa_table_put(&pods, pod->key, pod);
 *     struct pod *p = vpa_table_find(&pods, "default/web-0");
 *     for (size_t i = 0; vpa_table_next(&pods, &i, &key, &value);) ...
 *
 * Iteration order is that of the slots: callers that promise an order sort (vpa_table_sorted).
 */
#ifndef VPA_BASE_TABLE_H
#define VPA_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vpa_table_slot;
struct vpa_table { /* zeroed means empty */
    struct vpa_table_slot *slots;
    size_t count;
    size_t used; /* with tombstones */
    size_t capacity;
};

void vpa_table_release(struct vpa_table *table); /* the slots; neither keys nor values */
/* Of a table that owns its values: calls free_value(value) for each, and releases the slots. */
#define VPA_TABLE_RELEASE(table, free_value)                                                       \
    do {                                                                                           \
        void *value_of_table;                                                                      \
        for (size_t at = 0; vpa_table_next((table), &at, NULL, &value_of_table);)                  \
            free_value(value_of_table);                                                            \
        vpa_table_release(table);                                                                  \
    } while (0)
void *vpa_table_find(const struct vpa_table *table, const char *key); /* NULL when absent */
/* Stores value (not NULL) under key; returns the value replaced or NULL. Replacing also takes the
 * new key. */
void *vpa_table_put(struct vpa_table *table, const char *key, void *value);
/* The value under key, or a new one that is kept under a copy of the key: zeroed, with the key in
 * its last member. Never NULL.
 *
 *     struct pod { int count; char key[]; };
 *     struct pod *p = VPA_TABLE_MAKE(&pods, "default/web-0", struct pod, key);
 */
#define VPA_TABLE_MAKE(table, key, type, member)                                                   \
    ((type *)vpa_table_make(table, key, sizeof(type), offsetof(type, member)))
void *vpa_table_make(struct vpa_table *table, const char *key, size_t size, size_t key_at);
void *vpa_table_remove(struct vpa_table *table, const char *key); /* the removed value or NULL */
/* Start with *i = 0. Removing the entry just given is allowed while iterating, adding is not. */
bool vpa_table_next(const struct vpa_table *table, size_t *i, const char **key, void **value);
/* The value whose member, a size_t, is greatest: whoever has most makes room. NULL: it is empty. */
#define VPA_TABLE_MOST(table, type, member) ((type *)vpa_table_most(table, offsetof(type, member)))
void *vpa_table_most(const struct vpa_table *table, size_t member_at);
/* Values ordered bytewise by key, in a heap array of table->count that the caller frees. */
void **vpa_table_sorted(const struct vpa_table *table);

/* FNV-1a, the same in every process: for what is stored. Not for tables, because anybody can make
 * texts that collide. */
uint32_t vpa_hash_stable(const char *text);
/* That hash continued with the eight bytes of a number, the lowest first. */
uint32_t vpa_hash_stable_add(uint32_t hash, uint64_t number);
/* 64-bit hash of bytes with the process seed (set once from vpa_hash_seed; default 0). */
uint64_t vpa_hash_bytes(const void *bytes, size_t len);
void vpa_hash_seed(uint64_t seed);

#endif
