/*
 * A watch cache for each of the seven well-known kinds. What is kept of an object changes seldom,
 * while its status changes all the time, so versions are compared before anybody is told.
 */
#include <string.h>

#include "owner_internal.h"
#include "vpa/base/str.h"

#define RESYNC (10 * VPA_MINUTE)
#define SELECTOR_TEXT_MAX ((size_t)1 << 20)

/* ---- the kind of the caches ---- */

static int read_controller(void *ctx, struct vpa_arena *scratch, const struct vpa_json *json,
                           const void **draft, struct vpa_error *err)
{
    const struct owner_feed *feed = ctx;
    struct vpa_controller *controller = vpa_arena_alloc(scratch, sizeof(*controller));

    *draft = controller;
    return vpa_controller_decode(scratch, json, feed->kind, controller, err);
}

struct parent owner_parent_copy(struct vpa_arena *arena, const struct vpa_meta *meta)
{
    const struct vpa_owner_reference *parent = vpa_meta_controller_first(meta);

    if (!parent)
        return (struct parent){0};
    return (struct parent){vpa_arena_strdup(arena, parent->kind),
                           vpa_arena_strdup(arena, parent->name),
                           vpa_arena_strdup(arena, parent->api_version)};
}

static int make_entry(void *ctx, struct vpa_arena *arena, const void *draft, void *object,
                      struct vpa_error *err)
{
    const struct vpa_controller *c = draft;
    struct owner_entry *entry = object;

    (void)ctx;
    (void)err;
    entry->parent = owner_parent_copy(arena, &c->meta);
    entry->selector = vpa_selector_copy(arena, &c->selector);
    entry->selector_error = c->selector_error ? vpa_arena_strdup(arena, c->selector_error) : NULL;
    entry->has_replicas = c->has_replicas;
    entry->replicas = entry->wanted = c->replicas;
    if (c->kind == VPA_KIND_DAEMON_SET) {
        entry->has_replicas = true;
        entry->replicas = c->number_ready; /* what upstream's disruption budget counts with */
        entry->wanted = c->desired;
    }
    return 0;
}

bool owner_parent_same(const struct parent *a, const struct parent *b)
{
    return vpa_str_eq(a->kind, b->kind) && vpa_str_eq(a->name, b->name) &&
           vpa_str_eq(a->api_version, b->api_version);
}

bool owner_selector_same(const struct vpa_selector *a, const struct vpa_selector *b)
{
    vpa_auto_buf x = VPA_BUF(SELECTOR_TEXT_MAX), y = VPA_BUF(SELECTOR_TEXT_MAX);

    vpa_selector_format(a, &x);
    vpa_selector_format(b, &y);
    return a->nothing == b->nothing && strcmp(vpa_buf_text(&x), vpa_buf_text(&y)) == 0;
}

static bool same_entry(const void *before, const void *after)
{
    const struct owner_entry *a = before, *b = after;

    return owner_parent_same(&a->parent, &b->parent) && a->has_replicas == b->has_replicas &&
           a->replicas == b->replicas && a->wanted == b->wanted &&
           vpa_str_eq(a->selector_error, b->selector_error) &&
           owner_selector_same(&a->selector, &b->selector);
}

static const struct vpa_cache_kind entry_kind = {.size = sizeof(struct owner_entry),
                                                 .read = read_controller,
                                                 .make = make_entry,
                                                 .same = same_entry,
                                                 .left_out = vpa_pod_unread};

static void on_changed(void *ctx, const void *before, const void *after)
{
    struct owner_feed *feed = ctx;

    (void)before;
    (void)after;
    feed->store->changed(feed->store->ctx);
}

/* ---- the store ---- */

static struct vpa_cache *new_cache(struct owner_feed *feed, const struct vpa_owners_options *of)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);
    const char *plural = vpa_controller_plural(feed->kind);

    vpa_kube_path(&path, vpa_controller_api_version(feed->kind), of->ns, plural, NULL, NULL);
    return vpa_cache_new(&(struct vpa_cache_options){.kind = &entry_kind,
                                                     .ctx = feed,
                                                     .client = of->client,
                                                     .name = plural,
                                                     .path = vpa_buf_text(&path),
                                                     .resync = RESYNC,
                                                     .changed = on_changed});
}

void owner_store_init(struct owner_store *store, const struct vpa_owners_options *options,
                      void (*changed)(void *ctx), void *ctx)
{
    store->changed = changed;
    store->ctx = ctx;
    for (int kind = 0; kind < VPA_KIND_COUNT; kind++) {
        struct owner_feed *feed = &store->feeds[kind];

        feed->store = store;
        feed->kind = (enum vpa_controller_kind)kind;
        feed->cache = new_cache(feed, options);
    }
}

void owner_store_release(struct owner_store *store)
{
    for (int kind = 0; kind < VPA_KIND_COUNT; kind++)
        vpa_cache_free(store->feeds[kind].cache);
}

const struct owner_entry *owner_store_find(const struct owner_store *store,
                                           enum vpa_controller_kind kind, const char *ns,
                                           const char *name)
{
    return vpa_cache_find(store->feeds[kind].cache, ns, name);
}
