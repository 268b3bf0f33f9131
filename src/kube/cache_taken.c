/*
 * A cache that is emptied by its reader, who has a store of its own.
 *
 * The table holds one item per object that changed: the newest version, and behind it, by `before`,
 * the older ones that differ in what the reader looks for. An object that is gone or unknown is an
 * item too, in front of the versions that came before it.
 *
 * What stays on the API server unchanged is not here, so a LIST cannot sweep it. Its names are
 * collected instead, and given to the reader when the list has come to its end; a list that breaks
 * off changes nothing.
 */
#include "cache_internal.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"

/* ---- versions ---- */

static bool is_version(const struct item *item)
{
    return !item->bare && !item->reason;
}

/* Takes the newest off the chain. */
static void drop_newest(struct item **chain)
{
    struct item *newest = *chain;

    *chain = VPA_STEAL(newest->before);
    vpa_shared_item_unref(&newest->shared);
}

static size_t length_of(const struct item *chain)
{
    size_t n = 0;

    for (; chain; chain = chain->before)
        n++;
    return n;
}

void taken_put(struct vpa_cache *c, struct item *item)
{
    struct item *chain = vpa_table_put(&c->items, item->key, item);

    if (chain && !is_version(chain))
        drop_newest(&chain);
    if (chain && is_version(item) &&
        (length_of(chain) == VPA_CACHE_VERSIONS_MAX ||
         !c->taker->differs(cache_object_of(chain), cache_object_of(item))))
        drop_newest(&chain);
    item->before = chain;
}

/* ---- lists ---- */

void taken_begin_list(struct vpa_cache *c)
{
    vpa_buf_release(&c->names);
    vpa_buf_init(&c->names, VPA_CACHE_NAMES_MAX);
}

void taken_listed(struct vpa_cache *c, const char *ns, const char *name)
{
    vpa_buf_append(&c->names, ns, strlen(ns) + 1);
    vpa_buf_append(&c->names, name, strlen(name) + 1);
}

void taken_end_list(struct vpa_cache *c)
{
    void *value;

    if (vpa_buf_failed(&c->names)) {
        VPA_ERROR(
            "Too many objects to compare with the list; those that are gone stay until the next");
        return;
    }
    for (size_t i = 0; vpa_table_next(&c->items, &i, NULL, &value);) {
        struct item *item = value;

        if (item->round != c->round)
            item->gone = true;
    }
    vpa_buf_release(&c->listed);
    c->listed = c->names;
    c->has_list = true;
    c->names = (struct vpa_buf){0};
}

static void give_list(struct vpa_cache *c)
{
    const char *end = c->listed.data ? c->listed.data + c->listed.len : NULL;

    if (!c->has_list)
        return;
    c->taker->list(c->ctx);
    for (const char *ns = c->listed.data; ns && ns < end;) {
        const char *name = ns + strlen(ns) + 1;

        c->taker->listed(c->ctx, ns, name);
        ns = name + strlen(name) + 1;
    }
    c->has_list = false;
    vpa_buf_release(&c->listed);
}

/* ---- taking ---- */

static void give_change(struct vpa_cache *c, struct item *newest)
{
    const void *versions[VPA_CACHE_VERSIONS_MAX];
    const char *separator = strchr(newest->key, KEY_SEPARATOR[0]);
    vpa_auto_free char *ns = vpa_xstrndup(newest->key, (size_t)(separator - newest->key));
    struct item *chain = is_version(newest) ? newest : newest->before;
    size_t at = VPA_CACHE_VERSIONS_MAX;

    for (; chain; chain = chain->before)
        versions[--at] = cache_object_of(chain);
    c->taker->change(c->ctx, &(struct vpa_cache_change){.ns = ns,
                                                        .name = separator + 1,
                                                        .gone = newest->gone,
                                                        .versions = versions + at,
                                                        .count = VPA_CACHE_VERSIONS_MAX - at});
}

static void forget_all(struct vpa_cache *c)
{
    void *value;

    for (size_t i = 0; vpa_table_next(&c->items, &i, NULL, &value);)
        vpa_shared_item_unref(&((struct item *)value)->shared);
    vpa_table_release(&c->items);
}

void vpa_cache_take(struct vpa_cache *cache)
{
    size_t count = cache->items.count;
    vpa_auto_free struct item **sorted = (struct item **)vpa_table_sorted(&cache->items);

    give_list(cache);
    for (size_t i = 0; i < count; i++)
        give_change(cache, sorted[i]);
    forget_all(cache);
}

void taken_release(struct vpa_cache *c)
{
    vpa_buf_release(&c->names);
    vpa_buf_release(&c->listed);
}
