/*
 * Open addressing with linear probing. A slot keeps the whole hash, so that growing and most misses
 * never touch the keys. Removed slots become tombstones (value NULL, key not NULL) until the next
 * growth; the table grows or cleans itself at 3/4 use.
 */
#include "vpa/base/table.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"

struct vpa_table_slot {
    uint64_t hash;
    const char *key;
    void *value;
};

static const char tombstone[] = "";
static uint64_t hash_seed;

void vpa_hash_seed(uint64_t seed)
{
    hash_seed = seed;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint32_t vpa_hash_stable(const char *text)
{
    uint32_t h = 2166136261u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

uint32_t vpa_hash_stable_add(uint32_t hash, uint64_t number)
{
    for (int i = 0; i < 8; i++, number >>= 8)
        hash = (hash ^ (uint32_t)(number & 0xff)) * 16777619u;
    return hash;
}

/* The multiply-and-fold construction of wyhash: 8 bytes a step, seeded. */
uint64_t vpa_hash_bytes(const void *bytes, size_t len)
{
    const uint64_t k0 = 0xa0761d6478bd642fULL, k1 = 0xe7037ed1a0b428dbULL;
    const unsigned char *p = bytes;
    uint64_t h = hash_seed ^ k0, word = 0;

    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&word, p, 8);
        h = mix(h ^ word, k1);
    }
    word = 0;
    if (len)
        memcpy(&word, p, len);
    return mix(h ^ word, k1 ^ (uint64_t)len);
}

void vpa_table_release(struct vpa_table *table)
{
    free(table->slots);
    *table = (struct vpa_table){0};
}

static struct vpa_table_slot *find_slot(const struct vpa_table *table, const char *key,
                                        uint64_t hash)
{
    size_t mask = table->capacity - 1;

    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct vpa_table_slot *slot = &table->slots[i];
        if (!slot->key)
            return NULL;
        if (slot->value && slot->hash == hash && strcmp(slot->key, key) == 0)
            return slot;
    }
}

void *vpa_table_find(const struct vpa_table *table, const char *key)
{
    if (!table->count)
        return NULL;
    struct vpa_table_slot *slot = find_slot(table, key, vpa_hash_bytes(key, strlen(key)));
    return slot ? slot->value : NULL;
}

static void place(struct vpa_table *table, struct vpa_table_slot item)
{
    size_t mask = table->capacity - 1, i = item.hash & mask;

    while (table->slots[i].key)
        i = (i + 1) & mask;
    table->slots[i] = item;
    table->used++;
}

static void rebuild(struct vpa_table *table)
{
    struct vpa_table old = *table;
    size_t capacity = 8;

    while (capacity < 2 * (old.count + 1))
        capacity *= 2;
    table->slots = vpa_xcalloc(capacity, sizeof(*table->slots));
    table->capacity = capacity;
    table->used = 0;
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].value)
            place(table, old.slots[i]);
    free(old.slots);
}

void *vpa_table_put(struct vpa_table *table, const char *key, void *value)
{
    uint64_t hash = vpa_hash_bytes(key, strlen(key));

    if (table->count) {
        struct vpa_table_slot *slot = find_slot(table, key, hash);
        if (slot) {
            void *old = slot->value;
            slot->key = key;
            slot->value = value;
            return old;
        }
    }
    if (table->used + 1 > table->capacity / 4 * 3)
        rebuild(table);
    place(table, (struct vpa_table_slot){hash, key, value});
    table->count++;
    return NULL;
}

void *vpa_table_make(struct vpa_table *table, const char *key, size_t size, size_t key_at)
{
    char *value = vpa_table_find(table, key);
    size_t len = strlen(key) + 1;

    if (value)
        return value;
    value = vpa_xcalloc(1, key_at + len > size ? key_at + len : size);
    memcpy(value + key_at, key, len);
    vpa_table_put(table, value + key_at, value);
    return value;
}

void *vpa_table_remove(struct vpa_table *table, const char *key)
{
    if (!table->count)
        return NULL;
    struct vpa_table_slot *slot = find_slot(table, key, vpa_hash_bytes(key, strlen(key)));
    if (!slot)
        return NULL;
    void *old = slot->value;
    slot->key = tombstone;
    slot->value = NULL;
    table->count--;
    return old;
}

bool vpa_table_next(const struct vpa_table *table, size_t *i, const char **key, void **value)
{
    for (; *i < table->capacity; (*i)++) {
        const struct vpa_table_slot *slot = &table->slots[*i];
        if (!slot->value)
            continue;
        if (key)
            *key = slot->key;
        if (value)
            *value = slot->value;
        (*i)++;
        return true;
    }
    return false;
}

void *vpa_table_most(const struct vpa_table *table, size_t member_at)
{
    size_t most = 0, number;
    char *found = NULL;
    void *value;

    for (size_t i = 0; vpa_table_next(table, &i, NULL, &value);) {
        memcpy(&number, (char *)value + member_at, sizeof(number));
        if (found && number <= most)
            continue;
        found = value;
        most = number;
    }
    return found;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct vpa_table_slot *)a)->key, ((const struct vpa_table_slot *)b)->key);
}

void **vpa_table_sorted(const struct vpa_table *table)
{
    vpa_auto_free struct vpa_table_slot *slots =
        vpa_xreallocarray(NULL, table->count, sizeof(*slots));
    void **values = vpa_xreallocarray(NULL, table->count, sizeof(*values));
    size_t n = 0;

    for (size_t i = 0; i < table->capacity; i++)
        if (table->slots[i].value)
            slots[n++] = table->slots[i];
    qsort(slots, n, sizeof(*slots), by_key);
    for (size_t i = 0; i < n; i++)
        values[i] = slots[i].value;
    return values;
}
