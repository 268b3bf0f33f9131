/*
 * Snapshots by structure sharing.
 *
 * A status write of one VPA must not cost a rebuild of ten thousand. The builder holds two shared
 * maps (shared_map.h): VPAs by the hash of (namespace, target kind, target name), folded
 * LimitRanges by the hash of their namespace. Publishing copies the maps' shard pointers and takes
 * references; a request finds its VPA with one hash.
 *
 * Decoded objects live in arenas of their exact size: an object is decoded into a scratch arena
 * first, which tells how much it needs, and then again into its own.
 */
#include "snapshot.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vpa/base/shared_map.h"
#include "vpa/api/limit_range.h"
#include "vpa/base/table.h"
#include "vpa/daemon/panic.h"

struct snapshot {
    atomic_uint refs;
    bool panic;
    struct vpa_shared_map vpas;
    struct vpa_shared_map limits;
    struct vpa_owner_view *owners;
};
struct snapshot_cell {
    pthread_mutex_t lock;
    pthread_cond_t published;
    struct snapshot *current;
};

/* One VPA. Everything but `seen` is immutable; `seen` belongs to the loop. */
struct vpa_item {
    struct vpa_shared_item shared;
    struct vpa_arena arena;
    struct vpa_object vpa;
    const char *id; /* namespace/name */
    unsigned seen;
};
/* The LimitRanges of one namespace folded. */
struct limits_item {
    struct vpa_shared_item shared;
    struct vpa_arena arena;
    const char *ns;
    struct vpa_namespace_limits limits;
};
/* One LimitRange, and the namespaces that have some; only the loop knows them. One that cannot be
 * decoded is there with its error. */
struct range_item {
    struct vpa_arena arena;
    struct vpa_limit_range range;
    const char *id;
    struct range_item *next; /* of the same namespace */
    unsigned seen;
};
struct range_group {
    char *ns;
    struct range_item *ranges;
    size_t count;
    struct limits_item *folded; /* holds the maker's reference; NULL for none yet */
};

struct snapshot_builder {
    struct snapshot_cell cell;
    struct vpa_shared_map vpas;
    struct vpa_shared_map limits;
    struct vpa_table vpas_by_id;   /* vpa_item; holds the maker's reference */
    struct vpa_table ranges_by_id; /* range_item */
    struct vpa_table groups_by_ns; /* range_group */
    struct vpa_arena scratch;
    unsigned vpa_round; /* counts lists: what is older at the end of a list is gone */
    unsigned range_round;
    bool panic;
    bool panic_seen;
    void (*on_vpa)(void *ctx, const struct vpa_object *vpa);
    void *on_vpa_ctx;
    void (*on_change)(void *ctx);
    void *on_change_ctx;
};

/* ---- reading ---- */

static uint64_t target_hash(const char *ns, const char *kind, const char *name)
{
    uint64_t parts[3] = {
        vpa_hash_bytes(ns, strlen(ns)),
        vpa_hash_bytes(kind, strlen(kind)),
        vpa_hash_bytes(name, strlen(name)),
    };

    return vpa_hash_bytes(parts, sizeof(parts));
}

static uint64_t ns_hash(const char *ns)
{
    return vpa_hash_bytes(ns, strlen(ns));
}

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
    struct timespec until;
    int result = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)((until.tv_nsec + timeout) / VPA_SECOND);
    until.tv_nsec = (long)((until.tv_nsec + timeout) % VPA_SECOND);
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

const struct vpa_namespace_limits *snapshot_limits(const struct snapshot *snapshot, const char *ns)
{
    struct vpa_shared_item *item;
    uint64_t hash = ns_hash(ns);
    size_t at = 0;

    while ((item = vpa_shared_map_next(&snapshot->limits, hash, &at))) {
        const struct limits_item *limits = (const struct limits_item *)item;
        if (strcmp(limits->ns, ns) == 0)
            return &limits->limits;
    }
    return NULL;
}

static const char *target_kind(const struct vpa_object *vpa)
{
    return vpa->target_ref.present ? vpa->target_ref.kind : "";
}

static const char *target_name(const struct vpa_object *vpa)
{
    return vpa->target_ref.present ? vpa->target_ref.name : "";
}

void snapshot_vpas(const struct snapshot *snapshot, const char *ns, const char *kind,
                   const char *name, void (*visit)(void *ctx, const struct vpa_object *vpa),
                   void *ctx)
{
    struct vpa_shared_item *item;
    uint64_t hash = target_hash(ns, kind, name);
    size_t at = 0;

    while ((item = vpa_shared_map_next(&snapshot->vpas, hash, &at))) {
        const struct vpa_object *vpa = &((const struct vpa_item *)item)->vpa;
        if (strcmp(vpa->meta.ns, ns) == 0 && strcmp(target_kind(vpa), kind) == 0 &&
            strcmp(target_name(vpa), name) == 0)
            visit(ctx, vpa);
    }
}

/* ---- building ---- */

static void cell_init(struct snapshot_cell *cell)
{
    pthread_condattr_t attributes;

    pthread_mutex_init(&cell->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&cell->published, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct snapshot_builder *snapshot_builder_new(void)
{
    struct snapshot_builder *b = vpa_xcalloc(1, sizeof(*b));

    cell_init(&b->cell);
    snapshot_builder_publish(b, NULL);
    return b;
}

static void range_item_free(struct range_item *item)
{
    vpa_arena_release(&item->arena);
    free(item);
}

/* The folded form goes from the map and from the group. */
static void unfold(struct snapshot_builder *b, struct range_group *group)
{
    if (!group->folded)
        return;
    vpa_shared_map_remove(&b->limits, &group->folded->shared);
    vpa_shared_item_unref(&group->folded->shared);
    group->folded = NULL;
}

static void group_free(struct snapshot_builder *b, struct range_group *group)
{
    unfold(b, group);
    free(group->ns);
    free(group);
}

void snapshot_builder_free(struct snapshot_builder *b)
{
    const char *key;
    void *value;

    if (!b)
        return;
    for (size_t i = 0; vpa_table_next(&b->vpas_by_id, &i, &key, &value);)
        vpa_shared_item_unref(value);
    for (size_t i = 0; vpa_table_next(&b->groups_by_ns, &i, &key, &value);)
        group_free(b, value);
    for (size_t i = 0; vpa_table_next(&b->ranges_by_id, &i, &key, &value);)
        range_item_free(value);
    vpa_table_release(&b->vpas_by_id);
    vpa_table_release(&b->groups_by_ns);
    vpa_table_release(&b->ranges_by_id);
    vpa_shared_map_release(&b->vpas);
    vpa_shared_map_release(&b->limits);
    vpa_arena_release(&b->scratch);
    snapshot_unref(b->cell.current);
    pthread_cond_destroy(&b->cell.published);
    pthread_mutex_destroy(&b->cell.lock);
    free(b);
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

void snapshot_builder_each_vpa(const struct snapshot_builder *builder,
                               void (*fn)(void *ctx, const struct vpa_object *vpa), void *ctx)
{
    void *value;

    for (size_t i = 0; vpa_table_next(&builder->vpas_by_id, &i, NULL, &value);)
        fn(ctx, &((const struct vpa_item *)value)->vpa);
}

void snapshot_builder_on_change(struct snapshot_builder *builder, void (*fn)(void *ctx), void *ctx)
{
    builder->on_change = fn;
    builder->on_change_ctx = ctx;
}

static void changed(struct snapshot_builder *b)
{
    if (b->on_change)
        b->on_change(b->on_change_ctx);
}

void snapshot_builder_publish(struct snapshot_builder *builder, struct vpa_owner_view *owners)
{
    struct snapshot *s = vpa_xcalloc(1, sizeof(*s));

    atomic_init(&s->refs, 1);
    s->panic = builder->panic;
    s->owners = owners;
    vpa_shared_map_copy(&s->vpas, &builder->vpas);
    vpa_shared_map_copy(&s->limits, &builder->limits);

    pthread_mutex_lock(&builder->cell.lock);
    struct snapshot *old = builder->cell.current;
    builder->cell.current = s;
    pthread_cond_broadcast(&builder->cell.published);
    pthread_mutex_unlock(&builder->cell.lock);
    snapshot_unref(old);
}

size_t snapshot_builder_vpa_count(const struct snapshot_builder *builder)
{
    return builder->vpas_by_id.count;
}

/* ---- VPAs ---- */

static void destroy_vpa(struct vpa_shared_item *shared)
{
    struct vpa_item *item = (struct vpa_item *)shared;

    vpa_arena_release(&item->arena);
    free(item);
}

static const char *object_id(struct vpa_arena *arena, const struct vpa_meta *meta)
{
    return vpa_arena_printf(arena, "%s/%s", meta->ns, meta->name);
}

/* The id of an object that may be undecodable otherwise. */
static const char *json_id(struct vpa_arena *arena, const struct vpa_json *object)
{
    const char *ns = vpa_json_string(vpa_json_at(object, "metadata.namespace"));
    const char *name = vpa_json_string(vpa_json_at(object, "metadata.name"));

    return vpa_arena_printf(arena, "%s/%s", ns ? ns : "", name ? name : "");
}

static void drop_vpa(struct snapshot_builder *b, const char *id)
{
    struct vpa_item *item = vpa_table_remove(&b->vpas_by_id, id);

    if (!item)
        return;
    vpa_shared_map_remove(&b->vpas, &item->shared);
    vpa_shared_item_unref(&item->shared);
    changed(b);
}

static int put_vpa(struct snapshot_builder *b, const struct vpa_json *object, struct vpa_error *err)
{
    struct vpa_object probe;

    if (vpa_object_decode(&b->scratch, object, &probe, err) < 0)
        return -1;
    (void)object_id(&b->scratch, &probe.meta);

    struct vpa_item *item = vpa_xcalloc(1, sizeof(*item));
    vpa_arena_init(&item->arena, b->scratch.used);
    if (vpa_object_decode(&item->arena, object, &item->vpa, err) < 0) {
        vpa_arena_release(&item->arena);
        free(item);
        return -1;
    }
    item->id = object_id(&item->arena, &item->vpa.meta);
    item->seen = b->vpa_round;
    vpa_shared_item_init(
        &item->shared,
        target_hash(item->vpa.meta.ns, target_kind(&item->vpa), target_name(&item->vpa)),
        destroy_vpa);
    drop_vpa(b, item->id);
    vpa_table_put(&b->vpas_by_id, item->id, item);
    vpa_shared_map_add(&b->vpas, &item->shared);
    if (b->on_vpa)
        b->on_vpa(b->on_vpa_ctx, &item->vpa);
    changed(b);
    return 0;
}

void snapshot_builder_begin_vpas(void *builder)
{
    ((struct snapshot_builder *)builder)->vpa_round++;
}

int snapshot_builder_vpa(void *builder, enum vpa_reflector_event event,
                         const struct vpa_json *object, struct vpa_error *err)
{
    struct snapshot_builder *b = builder;
    int result = 0;

    vpa_arena_clear(&b->scratch);
    if (event == VPA_REFLECTOR_DELETED) {
        drop_vpa(b, json_id(&b->scratch, object));
        return 0;
    }
    if (put_vpa(b, object, err) < 0) {
        vpa_arena_clear(&b->scratch);
        drop_vpa(b, json_id(&b->scratch, object));
        result = -1;
    }
    return result;
}

void snapshot_builder_end_vpas(void *builder)
{
    struct snapshot_builder *b = builder;
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&b->vpas_by_id, &i, &key, &value);)
        if (((struct vpa_item *)value)->seen != b->vpa_round)
            drop_vpa(b, key);
}

/* ---- LimitRanges ---- */

static void destroy_limits(struct vpa_shared_item *shared)
{
    struct limits_item *item = (struct limits_item *)shared;

    vpa_arena_release(&item->arena);
    free(item);
}

/* Copies of the texts, so that the folded item outlives the ranges. */
static void own_item(struct vpa_arena *arena, struct vpa_limit_item *item)
{
    item->max = vpa_resource_list_copy(arena, &item->max);
    item->min = vpa_resource_list_copy(arena, &item->min);
    item->defaults = vpa_resource_list_copy(arena, &item->defaults);
}

static void fold(struct snapshot_builder *b, struct range_group *group)
{
    const struct vpa_limit_range **ranges =
        vpa_arena_alloc(&b->scratch, (group->count + 1) * sizeof(*ranges));
    size_t count = 0;

    for (struct range_item *r = group->ranges; r; r = r->next)
        ranges[count++] = &r->range;
    unfold(b, group);

    struct limits_item *item = vpa_xcalloc(1, sizeof(*item));
    item->ns = vpa_arena_strdup(&item->arena, group->ns);
    vpa_namespace_limits_fold(&b->scratch, ranges, count, &item->limits);
    own_item(&item->arena, &item->limits.container);
    own_item(&item->arena, &item->limits.pod);
    if (item->limits.error)
        item->limits.error = vpa_arena_strdup(&item->arena, item->limits.error);
    vpa_shared_item_init(&item->shared, ns_hash(group->ns), destroy_limits);
    vpa_shared_map_add(&b->limits, &item->shared);
    group->folded = item;
}

static struct range_group *group_of(struct snapshot_builder *b, const char *ns)
{
    struct range_group *group = vpa_table_find(&b->groups_by_ns, ns);

    if (group)
        return group;
    group = vpa_xcalloc(1, sizeof(*group));
    group->ns = vpa_xstrdup(ns);
    vpa_table_put(&b->groups_by_ns, group->ns, group);
    return group;
}

static void unlink_range(struct range_group *group, const struct range_item *item)
{
    for (struct range_item **place = &group->ranges; *place; place = &(*place)->next) {
        if (*place != item)
            continue;
        *place = item->next;
        group->count--;
        return;
    }
}

static void drop_range(struct snapshot_builder *b, const char *id)
{
    struct range_item *item = vpa_table_remove(&b->ranges_by_id, id);

    if (!item)
        return;
    struct range_group *group = group_of(b, item->range.meta.ns);
    unlink_range(group, item);
    range_item_free(item);
    if (group->count) {
        fold(b, group);
    } else {
        vpa_table_remove(&b->groups_by_ns, group->ns);
        group_free(b, group);
    }
    changed(b);
}

static int put_range(struct snapshot_builder *b, const struct vpa_json *object,
                     struct vpa_error *err)
{
    struct range_item *item = vpa_xcalloc(1, sizeof(*item));
    int result = vpa_limit_range_decode_any(&item->arena, object, &item->range, err);

    item->id = object_id(&item->arena, &item->range.meta);
    item->seen = b->range_round;

    struct range_group *group = group_of(b, item->range.meta.ns);
    struct range_item *old = vpa_table_put(&b->ranges_by_id, item->id, item);
    if (old) {
        unlink_range(group, old);
        range_item_free(old);
    }
    item->next = group->ranges;
    group->ranges = item;
    group->count++;
    fold(b, group);
    changed(b);
    return result;
}

void snapshot_builder_begin_limit_ranges(void *builder)
{
    ((struct snapshot_builder *)builder)->range_round++;
}

int snapshot_builder_limit_range(void *builder, enum vpa_reflector_event event,
                                 const struct vpa_json *object, struct vpa_error *err)
{
    struct snapshot_builder *b = builder;

    vpa_arena_clear(&b->scratch);
    if (event != VPA_REFLECTOR_DELETED)
        return put_range(b, object, err);
    drop_range(b, json_id(&b->scratch, object));
    return 0;
}

void snapshot_builder_end_limit_ranges(void *builder)
{
    struct snapshot_builder *b = builder;
    const char *key;
    void *value;

    vpa_arena_clear(&b->scratch);
    for (size_t i = 0; vpa_table_next(&b->ranges_by_id, &i, &key, &value);)
        if (((struct range_item *)value)->seen != b->range_round)
            drop_range(b, key);
}

/* ---- the panic switch ---- */

static void set_panic(struct snapshot_builder *b, bool on)
{
    if (b->panic == on)
        return;
    b->panic = on;
    changed(b);
}

void snapshot_builder_begin_panic(void *builder)
{
    ((struct snapshot_builder *)builder)->panic_seen = false;
}

int snapshot_builder_panic(void *builder, enum vpa_reflector_event event,
                           const struct vpa_json *object, struct vpa_error *err)
{
    struct snapshot_builder *b = builder;
    const char *name = vpa_json_string(vpa_json_at(object, "metadata.name"));

    (void)err;
    if (!name || strcmp(name, VPA_PANIC_CONFIG_MAP) != 0)
        return 0;
    b->panic_seen = event != VPA_REFLECTOR_DELETED;
    set_panic(b, b->panic_seen);
    return 0;
}

void snapshot_builder_end_panic(void *builder)
{
    struct snapshot_builder *b = builder;

    set_panic(b, b->panic_seen);
}
