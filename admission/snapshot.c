/*
 * Snapshots by structure sharing.
 *
 * A status write of one VPA must not cost a rebuild of ten thousand. VPAs and LimitRanges are in
 * watch caches (vpa/kube/cache.h), whose maps are copied in a microsecond: VPAs by the hash of
 * (namespace, target kind, target name), LimitRanges by the hash of their namespace. A request
 * finds its VPA with one hash; where the pod's owner is not known it asks for the targets of the
 * namespace (targets.h). LimitRanges are folded, one item per namespace, before a snapshot
 * that differs is published: each namespace once, however many of its LimitRanges have changed.
 *
 * An unknown VPA (U21) stands in the map as the others do: under its target when that can be told,
 * otherwise among those that select by labels, which are looked at for every pod of the namespace.
 */
#include "snapshot.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "meters.h"
#include "targets.h"
#include "vpa/api/limit_range.h"
#include "vpa/base/shared_map.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/daemon/panic.h"
#include "vpa/net/monotonic.h"

struct snapshot {
    atomic_uint refs;
    bool panic;
    struct vpa_shared_map vpas;
    struct vpa_shared_map targets;
    struct vpa_shared_map limits;
    struct vpa_owner_view *owners;
};
struct snapshot_cell {
    pthread_mutex_t lock;
    pthread_cond_t published;
    struct snapshot *current;
};

/* The LimitRanges of one namespace folded. */
struct limits_item {
    struct vpa_shared_item shared;
    struct vpa_arena arena;
    const char *ns;
    struct vpa_namespace_limits limits;
};

struct snapshot_builder {
    struct snapshot_cell cell;
    struct vpa_cache *vpas;
    struct vpa_cache *limit_ranges;
    struct vpa_cache *panic;
    char *panic_ns;
    struct vpa_shared_map targets; /* of the VPAs, see targets.h */
    struct vpa_shared_map limits;
    struct vpa_table
        dirty; /* namespaces whose LimitRanges have changed; heap keys, also the values */
    struct vpa_arena scratch;
    void (*on_vpa)(void *ctx, const struct vpa_object *vpa);
    void *on_vpa_ctx;
    void (*on_change)(void *ctx);
    void *on_change_ctx;
};

/* ---- reading ---- */

struct snapshot *snapshot_acquire(struct snapshot_cell *cell)
{
    pthread_mutex_lock(&cell->lock);
    struct snapshot *s = cell->current;
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&cell->lock);
    return s;
}

struct snapshot *snapshot_wait(struct snapshot_cell *cell, struct snapshot *old,
                               vpa_duration timeout)
{
    const struct timespec until = vpa_monotonic_in(timeout);
    int result = 0;

    pthread_mutex_lock(&cell->lock);
    while (cell->current == old && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&cell->published, &cell->lock, &until);
    struct snapshot *s = cell->current;
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&cell->lock);
    snapshot_unref(old);
    return s;
}

void snapshot_unref(struct snapshot *snapshot)
{
    if (!snapshot || atomic_fetch_sub_explicit(&snapshot->refs, 1, memory_order_acq_rel) != 1)
        return;
    vpa_shared_map_release(&snapshot->vpas);
    vpa_shared_map_release(&snapshot->targets);
    vpa_shared_map_release(&snapshot->limits);
    vpa_owner_view_unref(snapshot->owners);
    free(snapshot);
}

bool snapshot_is_panic(const struct snapshot *snapshot)
{
    return snapshot->panic;
}

const struct vpa_owner_view *snapshot_owners(const struct snapshot *snapshot)
{
    return snapshot->owners;
}

static struct limits_item *find_limits(const struct vpa_shared_map *map, const char *ns)
{
    struct vpa_shared_item *item;
    uint64_t hash = vpa_cache_ns_hash(ns);
    size_t at = 0;

    while ((item = vpa_shared_map_next(map, hash, &at))) {
        struct limits_item *limits = (struct limits_item *)item;
        if (strcmp(limits->ns, ns) == 0)
            return limits;
    }
    return NULL;
}

const struct vpa_namespace_limits *snapshot_limits(const struct snapshot *snapshot, const char *ns)
{
    const struct limits_item *item = find_limits(&snapshot->limits, ns);

    return item ? &item->limits : NULL;
}

static bool has_target(const struct vpa_object *vpa, const char *ns, const char *kind,
                       const char *name)
{
    const struct vpa_target_ref *target = &vpa->target_ref;

    return strcmp(vpa->meta.ns, ns) == 0 &&
           strcmp(target->present ? target->kind : "", kind) == 0 &&
           strcmp(target->present ? target->name : "", name) == 0;
}

/* The next VPA of that target, known or not, NULL behind the last. */
static const struct vpa_object *next_vpa(const struct snapshot *snapshot, const char *ns,
                                         const char *kind, const char *name, size_t *at)
{
    uint64_t hash = vpa_cache_target_hash(ns, kind, name);
    const struct vpa_shared_item *item;

    while ((item = vpa_shared_map_next(&snapshot->vpas, hash, at)))
        if (has_target(vpa_cache_object(item), ns, kind, name))
            return vpa_cache_object(item);
    return NULL;
}

void snapshot_vpas(const struct snapshot *snapshot, const char *ns, const char *kind,
                   const char *name, void (*visit)(void *ctx, const struct vpa_object *vpa),
                   void *ctx)
{
    const struct vpa_object *vpa;

    for (size_t at = 0; (vpa = next_vpa(snapshot, ns, kind, name, &at));)
        if (!vpa_cache_reason(vpa))
            visit(ctx, vpa);
}

struct targeting {
    void (*visit)(void *ctx, const struct vpa_object *vpa);
    void *ctx;
};

static void visit_known(void *ctx, const struct vpa_object *vpa)
{
    const struct targeting *t = ctx;

    if (!vpa_cache_reason(vpa))
        t->visit(t->ctx, vpa);
}

void snapshot_targeting_vpas(const struct snapshot *snapshot, const char *ns,
                             void (*visit)(void *ctx, const struct vpa_object *vpa), void *ctx)
{
    struct targeting targeting = {visit, ctx};

    targets_visit(&snapshot->targets, &snapshot->vpas, ns, visit_known, &targeting);
}

bool snapshot_has_vpas(const struct snapshot *snapshot, const char *ns)
{
    size_t at = 0;

    return next_vpa(snapshot, ns, "", "", &at) ||
           targets_exist(&snapshot->targets, &snapshot->vpas, ns);
}

const struct vpa_object *snapshot_unknown_vpa(const struct snapshot *snapshot, const char *ns,
                                              const char *kind, const char *name)
{
    const struct vpa_object *vpa;

    for (size_t at = 0; (vpa = next_vpa(snapshot, ns, kind, name, &at));)
        if (vpa_cache_reason(vpa))
            return vpa;
    return NULL;
}

/* ---- building ---- */

static void cell_init(struct snapshot_cell *cell)
{
    pthread_mutex_init(&cell->lock, NULL);
    vpa_monotonic_cond_init(&cell->published);
}

static void changed(struct snapshot_builder *b)
{
    if (b->on_change)
        b->on_change(b->on_change_ctx);
}

static void on_vpa(void *ctx, const void *before, const void *after)
{
    struct snapshot_builder *b = ctx;

    targets_note(&b->targets, vpa_cache_map(b->vpas), before, after);
    if (after && !vpa_cache_reason(after) && b->on_vpa)
        b->on_vpa(b->on_vpa_ctx, after);
    changed(b);
}

static void on_limit_range(void *ctx, const void *before, const void *after)
{
    struct snapshot_builder *b = ctx;
    const struct vpa_limit_range *range = after ? after : before;

    if (!vpa_table_find(&b->dirty, range->meta.ns)) {
        char *ns = vpa_xstrdup(range->meta.ns);
        vpa_table_put(&b->dirty, ns, ns);
    }
    changed(b);
}

static void on_panic(void *ctx, const void *before, const void *after)
{
    (void)before;
    (void)after;
    changed(ctx);
}

static struct vpa_cache *new_cache(const struct snapshot_options *o, const char *group_version,
                                   const char *ns, struct vpa_cache_options options)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&path, group_version, ns, options.name, NULL, NULL);
    options.client = o->client;
    options.path = vpa_buf_text(&path);
    return vpa_cache_new(&options);
}

struct snapshot_builder *snapshot_builder_new(const struct snapshot_options *options)
{
    struct snapshot_builder *b = vpa_xcalloc(1, sizeof(*b));

    b->vpas = new_cache(options, VPA_GROUP_VERSION, options->ns,
                        (struct vpa_cache_options){.kind = &vpa_cache_vpas,
                                                   .ctx = b,
                                                   .name = "verticalpodautoscalers",
                                                   .shared = true,
                                                   .changed = on_vpa});
    b->limit_ranges = new_cache(options, "v1", options->ns,
                                (struct vpa_cache_options){.kind = &vpa_cache_limit_ranges,
                                                           .ctx = b,
                                                           .name = "limitranges",
                                                           .shared = true,
                                                           .changed = on_limit_range});
    b->panic = new_cache(options, "v1", options->panic_ns,
                         (struct vpa_cache_options){.kind = &vpa_cache_presence,
                                                    .ctx = b,
                                                    .name = "configmaps",
                                                    .field_selector = VPA_PANIC_FIELD_SELECTOR,
                                                    .changed = on_panic});
    b->panic_ns = vpa_xstrdup(options->panic_ns);
    cell_init(&b->cell);
    snapshot_builder_publish(b, NULL);
    return b;
}

void snapshot_builder_free(struct snapshot_builder *b)
{
    if (!b)
        return;
    vpa_cache_free(b->vpas);
    vpa_cache_free(b->limit_ranges);
    vpa_cache_free(b->panic);
    vpa_shared_map_release(&b->targets);
    vpa_shared_map_release(&b->limits);
    VPA_TABLE_RELEASE(&b->dirty, free);
    vpa_arena_release(&b->scratch);
    snapshot_unref(b->cell.current);
    pthread_cond_destroy(&b->cell.published);
    pthread_mutex_destroy(&b->cell.lock);
    free(b->panic_ns);
    free(b);
}

void snapshot_builder_start(struct snapshot_builder *builder)
{
    vpa_cache_start(builder->vpas);
    vpa_cache_start(builder->limit_ranges);
    vpa_cache_start(builder->panic);
}

struct vpa_cache *snapshot_builder_vpas(struct snapshot_builder *builder)
{
    return builder->vpas;
}

struct vpa_cache *snapshot_builder_limit_ranges(struct snapshot_builder *builder)
{
    return builder->limit_ranges;
}

struct vpa_cache *snapshot_builder_panic(struct snapshot_builder *builder)
{
    return builder->panic;
}

struct snapshot_cell *snapshot_builder_cell(struct snapshot_builder *builder)
{
    return &builder->cell;
}

void snapshot_builder_on_vpa(struct snapshot_builder *builder,
                             void (*fn)(void *ctx, const struct vpa_object *vpa), void *ctx)
{
    builder->on_vpa = fn;
    builder->on_vpa_ctx = ctx;
}

void snapshot_builder_on_change(struct snapshot_builder *builder, void (*fn)(void *ctx), void *ctx)
{
    builder->on_change = fn;
    builder->on_change_ctx = ctx;
}

/* ---- LimitRanges ---- */

static void destroy_limits(struct vpa_shared_item *shared)
{
    struct limits_item *item = (struct limits_item *)shared;

    vpa_arena_release(&item->arena);
    free(item);
}

/* Copies of the texts, so that what is folded outlives the ranges. */
static void own_list(struct vpa_arena *arena, struct vpa_resource_list *list)
{
    *list = vpa_resource_list_copy(arena, list);
}

static void own_item(struct vpa_arena *arena, struct vpa_limit_item *item)
{
    own_list(arena, &item->max);
    own_list(arena, &item->min);
    own_list(arena, &item->defaults);
}

/* The LimitRanges of a namespace, known or not, in the scratch arena. */
static const struct vpa_limit_range **ranges_of(struct snapshot_builder *b, const char *ns,
                                                size_t *count)
{
    const struct vpa_limit_range **ranges = NULL;
    const struct vpa_shared_item *item;
    uint64_t hash = vpa_cache_ns_hash(ns);

    for (int run = 0; run < 2; run++) { /* counted, then noted */
        *count = 0;
        for (size_t at = 0;
             (item = vpa_shared_map_next(vpa_cache_map(b->limit_ranges), hash, &at));) {
            const struct vpa_limit_range *range = vpa_cache_object(item);

            if (strcmp(range->meta.ns, ns) != 0)
                continue;
            if (ranges)
                ranges[*count] = range;
            ++*count;
        }
        if (!ranges)
            ranges = vpa_arena_alloc(&b->scratch, (*count + 1) * sizeof(*ranges));
    }
    return ranges;
}

static struct limits_item *fold(struct snapshot_builder *b, const char *ns,
                                const struct vpa_limit_range **ranges, size_t count)
{
    struct limits_item *item = vpa_xcalloc(1, sizeof(*item));

    item->ns = vpa_arena_strdup(&item->arena, ns);
    vpa_namespace_limits_fold(&b->scratch, ranges, count, &item->limits);
    own_item(&item->arena, &item->limits.container);
    own_item(&item->arena, &item->limits.pod);
    own_list(&item->arena, &item->limits.ratios.container);
    own_list(&item->arena, &item->limits.ratios.pod);
    if (item->limits.error)
        item->limits.error = vpa_arena_strdup(&item->arena, item->limits.error);
    vpa_shared_item_init(&item->shared, vpa_cache_ns_hash(ns), destroy_limits);
    return item;
}

static void refold(struct snapshot_builder *b, const char *ns)
{
    struct limits_item *old = find_limits(&b->limits, ns);
    size_t count;

    vpa_arena_clear(&b->scratch);
    const struct vpa_limit_range **ranges = ranges_of(b, ns, &count);
    if (old)
        vpa_shared_map_remove(&b->limits, &old->shared);
    if (count == 0)
        return;
    struct limits_item *item = fold(b, ns, ranges, count);
    vpa_shared_map_add(&b->limits, &item->shared);
    vpa_shared_item_unref(&item->shared);
}

static void refold_dirty(struct snapshot_builder *b)
{
    void *ns;

    for (size_t i = 0; vpa_table_next(&b->dirty, &i, NULL, &ns);) {
        refold(b, ns);
        vpa_table_remove(&b->dirty, ns);
        free(ns);
    }
}

/* ---- publishing ---- */

void snapshot_builder_publish(struct snapshot_builder *builder, struct vpa_owner_view *owners)
{
    struct snapshot *s = vpa_xcalloc(1, sizeof(*s));

    refold_dirty(builder);
    atomic_init(&s->refs, 1);
    /* That it is there is enough: also one that cannot be read was meant. */
    s->panic = vpa_cache_has(builder->panic, builder->panic_ns, VPA_PANIC_CONFIG_MAP);
    vpa_metric_set(&meter_panic, s->panic);
    s->owners = owners;
    vpa_shared_map_copy(&s->vpas, vpa_cache_map(builder->vpas));
    vpa_shared_map_copy(&s->targets, &builder->targets);
    vpa_shared_map_copy(&s->limits, &builder->limits);

    pthread_mutex_lock(&builder->cell.lock);
    struct snapshot *old = builder->cell.current;
    builder->cell.current = s;
    pthread_cond_broadcast(&builder->cell.published);
    pthread_mutex_unlock(&builder->cell.lock);
    snapshot_unref(old);
}
