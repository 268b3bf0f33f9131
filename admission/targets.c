/*
 * One item per target that a VPA of the namespace has: the hash under which the VPAs of that target
 * stand in their map. 48 bytes each.
 *
 * Items of a namespace are spread over a few buckets: a shard of the map is copied when a target
 * comes or goes, and would otherwise hold all of a large namespace.
 */
#include "targets.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/table.h"
#include "vpa/kube/cache.h"

#define BUCKETS 16

struct target_item {
    struct vpa_shared_item shared;
    uint64_t target;
};

static void destroy(struct vpa_shared_item *shared)
{
    free(shared);
}

static uint64_t bucket_hash(const char *ns, uint64_t target)
{
    const uint64_t parts[2] = {vpa_cache_ns_hash(ns), target % BUCKETS};

    return vpa_hash_bytes(parts, sizeof(parts));
}

static uint64_t hash_of_target(const struct vpa_object *vpa)
{
    return vpa_cache_target_hash(vpa->meta.ns, vpa->target_ref.kind, vpa->target_ref.name);
}

static bool has_target(const struct vpa_object *vpa)
{
    return vpa && vpa->target_ref.present;
}

/* The next VPA of the namespace whose target has that hash; NULL behind the last. */
static const struct vpa_object *next_vpa(const struct vpa_shared_map *vpas, const char *ns,
                                         uint64_t target, size_t *at)
{
    const struct vpa_shared_item *item;

    while ((item = vpa_shared_map_next(vpas, target, at))) {
        const struct vpa_object *vpa = vpa_cache_object(item);

        if (has_target(vpa) && strcmp(vpa->meta.ns, ns) == 0)
            return vpa;
    }
    return NULL;
}

static void add(struct vpa_shared_map *targets, const char *ns, uint64_t target)
{
    struct target_item *item = vpa_xcalloc(1, sizeof(*item));

    item->target = target;
    vpa_shared_item_init(&item->shared, bucket_hash(ns, target), destroy);
    vpa_shared_map_add(targets, &item->shared);
    vpa_shared_item_unref(&item->shared);
}

static void drop(struct vpa_shared_map *targets, const char *ns, uint64_t target)
{
    struct vpa_shared_item *item;

    for (size_t at = 0; (item = vpa_shared_map_next(targets, bucket_hash(ns, target), &at));) {
        if (((struct target_item *)item)->target != target)
            continue;
        vpa_shared_map_remove(targets, item);
        return;
    }
}

static bool is_same_target(const struct vpa_object *before, const struct vpa_object *after)
{
    return has_target(before) && has_target(after) &&
           hash_of_target(before) == hash_of_target(after);
}

void targets_note(struct vpa_shared_map *targets, const struct vpa_shared_map *vpas,
                  const struct vpa_object *before, const struct vpa_object *after)
{
    size_t at = 0;

    if (is_same_target(before, after))
        return;
    if (has_target(before) && !next_vpa(vpas, before->meta.ns, hash_of_target(before), &at))
        drop(targets, before->meta.ns, hash_of_target(before));
    if (!has_target(after))
        return;
    const char *ns = after->meta.ns;
    uint64_t target = hash_of_target(after);
    at = 0;
    (void)next_vpa(vpas, ns, target, &at); /* after itself, or one that had the target before */
    if (!next_vpa(vpas, ns, target, &at))
        add(targets, ns, target);
}

void targets_visit(const struct vpa_shared_map *targets, const struct vpa_shared_map *vpas,
                   const char *ns, void (*visit)(void *ctx, const struct vpa_object *vpa),
                   void *ctx)
{
    const struct vpa_shared_item *item;
    const struct vpa_object *vpa;

    for (uint64_t bucket = 0; bucket < BUCKETS; bucket++)
        for (size_t at = 0; (item = vpa_shared_map_next(targets, bucket_hash(ns, bucket), &at));)
            for (size_t i = 0;
                 (vpa = next_vpa(vpas, ns, ((const struct target_item *)item)->target, &i));)
                visit(ctx, vpa);
}

bool targets_exist(const struct vpa_shared_map *targets, const struct vpa_shared_map *vpas,
                   const char *ns)
{
    const struct vpa_shared_item *item;

    for (uint64_t bucket = 0; bucket < BUCKETS; bucket++)
        for (size_t at = 0; (item = vpa_shared_map_next(targets, bucket_hash(ns, bucket), &at));) {
            size_t i = 0;

            if (next_vpa(vpas, ns, ((const struct target_item *)item)->target, &i))
                return true;
        }
    return false;
}
