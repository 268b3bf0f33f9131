#include "lru.h"

#include <stdlib.h>

#include "vpa/base/mem.h"

void lru_init(struct lru *lru, size_t limit, int64_t idle,
              void (*free_value)(struct lru_node *node))
{
    *lru = (struct lru){.limit = limit, .idle = idle, .free_value = free_value};
}

static void cut(struct lru *lru, struct lru_node *node)
{
    *(node->newer ? &node->newer->older : &lru->newest) = node->older;
    *(node->older ? &node->older->newer : &lru->oldest) = node->newer;
    node->newer = node->older = NULL;
}

static void put_first(struct lru *lru, struct lru_node *node)
{
    node->used = lru->now;
    node->older = lru->newest;
    *(lru->newest ? &lru->newest->newer : &lru->oldest) = node;
    lru->newest = node;
}

static void drop_oldest(struct lru *lru)
{
    struct lru_node *node = lru->oldest;

    vpa_table_remove(&lru->table, node->key);
    cut(lru, node);
    free(node->key);
    lru->free_value(node);
}

void lru_advance(struct lru *lru, int64_t now)
{
    lru->now = now;
    while (lru->oldest && now - lru->oldest->used > lru->idle)
        drop_oldest(lru);
}

void lru_release(struct lru *lru)
{
    while (lru->oldest)
        drop_oldest(lru);
    vpa_table_release(&lru->table);
}

void *lru_find(struct lru *lru, const char *key)
{
    struct lru_node *node = vpa_table_find(&lru->table, key);

    if (!node)
        return NULL;
    cut(lru, node);
    put_first(lru, node);
    return node;
}

void *lru_add(struct lru *lru, const char *key, size_t size)
{
    struct lru_node *node = vpa_xcalloc(1, size);

    if (lru->table.count >= lru->limit)
        drop_oldest(lru);
    node->key = vpa_xstrdup(key);
    vpa_table_put(&lru->table, node->key, node);
    put_first(lru, node);
    return node;
}
