/* Bounded memory of the event stages: values by key, the least recently used one goes first; those
 * that were not used for long go too. Times are monotonic. */
#ifndef VPA_KUBE_LRU_H
#define VPA_KUBE_LRU_H

#include <stddef.h>
#include <stdint.h>

#include "vpa/base/table.h"

struct lru_node { /* first member of a value */
    struct lru_node *newer, *older;
    char *key;
    int64_t used;
};
struct lru {
    struct vpa_table table;
    struct lru_node *newest, *oldest;
    size_t limit;
    int64_t idle, now;
    void (*free_value)(struct lru_node *node);
};

void lru_init(struct lru *lru, size_t limit, int64_t idle,
              void (*free_value)(struct lru_node *node));
/* It is that time from here on: what was last used more than `idle` before is dropped. */
void lru_advance(struct lru *lru, int64_t now);
void lru_release(struct lru *lru);
/* The value, now the most recently used one, or NULL. */
void *lru_find(struct lru *lru, const char *key);
/* A zeroed value of that size (with its node) under a key that is not there; may drop the oldest.
 */
void *lru_add(struct lru *lru, const char *key, size_t size);

#endif
