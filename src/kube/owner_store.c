/*
 * Each kind has a feed (reflector, table by namespace/name, mark and sweep after a list) on the
 * loop. For readers on other threads the entries are spread over shards by hash: a shard is an
 * immutable, sorted array of counted entries. Publishing builds anew only the shards in which
 * something changed; views keep the old ones as long as they need them.
 */
#include <stdlib.h>
#include <string.h>

#include "owner_internal.h"
#include "vpa/base/str.h"

#define RESYNC (10 * VPA_MINUTE)

void owner_entry_unref(struct owner_entry *entry)
{
    if (!entry || atomic_fetch_sub(&entry->refs, 1) != 1)
        return;
    struct vpa_arena arena = entry->arena; /* the entry itself lives there */
    vpa_arena_release(&arena);
}

/* Entries */

static void fill(struct vpa_arena *arena, const struct vpa_controller *c, struct owner_entry *out)
{
    const struct vpa_owner_reference *parent = vpa_meta_controller_first(&c->meta);

    out->key = vpa_arena_printf(arena, "%s/%s", c->meta.ns, c->meta.name);
    out->kind = c->kind;
    if (parent)
        out->parent = (struct parent){vpa_arena_strdup(arena, parent->kind),
                                      vpa_arena_strdup(arena, parent->name),
                                      vpa_arena_strdup(arena, parent->api_version)};
    out->selector = vpa_selector_copy(arena, &c->selector);
    out->selector_error = c->selector_error ? vpa_arena_strdup(arena, c->selector_error) : NULL;
    out->has_replicas = c->has_replicas;
    out->replicas = c->replicas;
    if (c->kind == VPA_KIND_DAEMON_SET) {
        out->has_replicas = true;
        out->replicas = c->number_ready; /* what upstream's disruption budget counts with */
    }
}

/* Filled twice: the first time to learn the size, so that the entry wastes nothing. */
static struct owner_entry *entry_new(const struct vpa_controller *c)
{
    struct owner_entry trial = {.key = NULL};
    vpa_auto_arena scratch = {0};
    struct vpa_arena arena;

    vpa_arena_zalloc(&scratch, sizeof(trial));
    fill(&scratch, c, &trial);
    vpa_arena_init(&arena, scratch.used);
    struct owner_entry *entry = vpa_arena_zalloc(&arena, sizeof(*entry));
    fill(&arena, c, entry);
    entry->arena = arena;
    atomic_init(&entry->refs, 1);
    return entry;
}

/* Feeds */

static void note(struct owner_feed *feed, const char *key)
{
    feed->store->dirty[owner_shard_index(feed->kind, key)] = true;
    feed->store->changed(feed->store->ctx);
}

static void drop(struct owner_feed *feed, const char *key)
{
    struct owner_entry *old = vpa_table_remove(&feed->entries, key);

    if (!old)
        return;
    note(feed, old->key);
    owner_entry_unref(old);
}

static void on_begin(void *ctx)
{
    struct owner_feed *feed = ctx;

    feed->generation++;
}

static bool same_parent(const struct parent *a, const struct parent *b)
{
    return vpa_str_eq(a->kind, b->kind) && vpa_str_eq(a->name, b->name) &&
           vpa_str_eq(a->api_version, b->api_version);
}

/* Status updates of a Deployment are frequent and change nothing that is kept. */
static bool same_entry(const struct owner_entry *a, const struct owner_entry *b)
{
    vpa_auto_buf x = {0}, y = {0};

    vpa_buf_init(&x, 1 << 20);
    vpa_buf_init(&y, 1 << 20);
    vpa_selector_format(&a->selector, &x);
    vpa_selector_format(&b->selector, &y);
    return same_parent(&a->parent, &b->parent) && a->has_replicas == b->has_replicas &&
           a->replicas == b->replicas && vpa_str_eq(a->selector_error, b->selector_error) &&
           a->selector.nothing == b->selector.nothing &&
           strcmp(vpa_buf_text(&x), vpa_buf_text(&y)) == 0;
}

static int on_object(void *ctx, enum vpa_reflector_event event, const struct vpa_json *object,
                     struct vpa_error *err)
{
    struct owner_feed *feed = ctx;
    vpa_auto_arena arena = {0};
    struct vpa_controller controller;

    if (vpa_controller_decode(&arena, object, feed->kind, &controller, err) < 0)
        return -1;
    if (event == VPA_REFLECTOR_DELETED) {
        const char *key =
            vpa_arena_printf(&arena, "%s/%s", controller.meta.ns, controller.meta.name);
        drop(feed, key);
        return 0;
    }
    struct owner_entry *entry = entry_new(&controller);
    struct owner_entry *old = vpa_table_find(&feed->entries, entry->key);
    if (old && same_entry(old, entry)) {
        old->generation = feed->generation;
        owner_entry_unref(entry);
        return 0;
    }
    entry->generation = feed->generation;
    owner_entry_unref(vpa_table_put(&feed->entries, entry->key, entry));
    note(feed, entry->key);
    return 0;
}

static void on_end(void *ctx)
{
    struct owner_feed *feed = ctx;
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&feed->entries, &i, &key, &value);) {
        struct owner_entry *entry = value;
        if (entry->generation != feed->generation)
            drop(feed, key);
    }
}

static void feed_init(struct owner_feed *feed, const struct vpa_owners_options *of)
{
    vpa_auto_buf path = {0};

    vpa_buf_init(&path, VPA_KUBE_PATH_MAX);
    vpa_kube_path(&path, vpa_controller_api_version(feed->kind), of->ns,
                  vpa_controller_plural(feed->kind), NULL, NULL);
    const struct vpa_reflector_options options = {
        .client = of->client,
        .name = vpa_controller_plural(feed->kind),
        .path = vpa_buf_text(&path),
        .resync = RESYNC,
        .handler = {.ctx = feed, .begin = on_begin, .object = on_object, .end = on_end},
    };
    feed->reflector = vpa_reflector_new(&options);
}

/* Store */

void owner_store_init(struct owner_store *store, const struct vpa_owners_options *options,
                      void (*changed)(void *ctx), void *ctx)
{
    store->changed = changed;
    store->ctx = ctx;
    for (int kind = 0; kind < VPA_KIND_COUNT; kind++) {
        struct owner_feed *feed = &store->feeds[kind];
        feed->store = store;
        feed->kind = (enum vpa_controller_kind)kind;
        feed_init(feed, options);
    }
}

void owner_store_release(struct owner_store *store)
{
    for (int kind = 0; kind < VPA_KIND_COUNT; kind++) {
        struct owner_feed *feed = &store->feeds[kind];
        const char *key;
        void *value;

        vpa_reflector_free(feed->reflector);
        for (size_t i = 0; vpa_table_next(&feed->entries, &i, &key, &value);)
            owner_entry_unref(value);
        vpa_table_release(&feed->entries);
    }
    for (size_t i = 0; i < OWNER_SHARDS; i++)
        owner_shard_unref(store->shards[i]);
}

const struct owner_entry *owner_store_find(const struct owner_store *store,
                                           enum vpa_controller_kind kind, const char *key)
{
    return vpa_table_find(&store->feeds[kind].entries, key);
}

/* Shards */

unsigned owner_shard_index(enum vpa_controller_kind kind, const char *key)
{
    return (unsigned)((vpa_hash_bytes(key, strlen(key)) + (unsigned)kind) % OWNER_SHARDS);
}

struct owner_shard *owner_shard_ref(struct owner_shard *shard)
{
    if (shard)
        atomic_fetch_add(&shard->refs, 1);
    return shard;
}

void owner_shard_unref(struct owner_shard *shard)
{
    if (!shard || atomic_fetch_sub(&shard->refs, 1) != 1)
        return;
    for (size_t i = 0; i < shard->count; i++)
        owner_entry_unref(shard->entries[i]);
    free(shard);
}

static int compare_key(const struct owner_entry *entry, enum vpa_controller_kind kind,
                       const char *key)
{
    if (entry->kind != kind)
        return entry->kind < kind ? -1 : 1;
    return strcmp(entry->key, key);
}

static int compare_entries(const void *a, const void *b)
{
    const struct owner_entry *const *x = a, *const *y = b;

    return compare_key(*x, (*y)->kind, (*y)->key);
}

const struct owner_entry *owner_shard_find(const struct owner_shard *shard,
                                           enum vpa_controller_kind kind, const char *key)
{
    size_t low = 0, high = shard ? shard->count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_key(shard->entries[middle], kind, key);

        if (order == 0)
            return shard->entries[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* All dirty shards in one sweep over the entries: a first publication costs no more than a later
 * one. */
void owner_store_publish(struct owner_store *store)
{
    struct owner_shard *fresh[OWNER_SHARDS] = {0};
    size_t counts[OWNER_SHARDS] = {0};
    bool any = false;
    const char *key;
    void *value;

    for (size_t i = 0; i < OWNER_SHARDS; i++)
        any = any || store->dirty[i];
    for (int kind = 0; any && kind < VPA_KIND_COUNT; kind++)
        for (size_t i = 0; vpa_table_next(&store->feeds[kind].entries, &i, &key, &value);)
            counts[owner_shard_index((enum vpa_controller_kind)kind, key)]++;
    for (int kind = 0; any && kind < VPA_KIND_COUNT; kind++)
        for (size_t i = 0; vpa_table_next(&store->feeds[kind].entries, &i, &key, &value);) {
            unsigned at = owner_shard_index((enum vpa_controller_kind)kind, key);
            struct owner_entry *entry = value;

            if (!store->dirty[at])
                continue;
            if (!fresh[at])
                fresh[at] = vpa_xcalloc(1, sizeof(*fresh[at]) + counts[at] * sizeof(entry));
            atomic_fetch_add(&entry->refs, 1);
            fresh[at]->entries[fresh[at]->count++] = entry;
        }
    for (size_t i = 0; any && i < OWNER_SHARDS; i++) {
        if (!store->dirty[i])
            continue;
        store->dirty[i] = false;
        if (fresh[i]) {
            atomic_init(&fresh[i]->refs, 1);
            qsort(fresh[i]->entries, fresh[i]->count, sizeof(fresh[i]->entries[0]),
                  compare_entries);
        }
        owner_shard_unref(store->shards[i]);
        store->shards[i] = fresh[i];
    }
}
