/* The kinds of objects that several daemons keep in caches. */
#include <string.h>

#include "vpa/api/limit_range.h"
#include "vpa/api/vpa.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/kube/cache.h"

uint64_t vpa_cache_ns_hash(const char *ns)
{
    return vpa_hash_bytes(ns, strlen(ns));
}

uint64_t vpa_cache_target_hash(const char *ns, const char *kind, const char *name)
{
    uint64_t parts[3] = {
        vpa_hash_bytes(ns, strlen(ns)),
        vpa_hash_bytes(kind, strlen(kind)),
        vpa_hash_bytes(name, strlen(name)),
    };

    return vpa_hash_bytes(parts, sizeof(parts));
}

/* ---- VPAs ---- */

static int make_vpa(void *ctx, struct vpa_arena *arena, const void *draft, void *object,
                    struct vpa_error *err)
{
    (void)ctx;
    return vpa_object_decode(arena, draft, object, err);
}

/* Whom it governs, so that the others are not stopped as well. */
static void salvage_vpa(void *ctx, struct vpa_arena *arena, const struct vpa_unusable_object *what,
                        void *object)
{
    const struct vpa_json *target = vpa_json_at(what->object, "spec.targetRef");
    const char *kind = vpa_json_string(vpa_json_find(target, "kind"));
    const char *name = vpa_json_string(vpa_json_find(target, "name"));
    const char *api_version = vpa_json_string(vpa_json_find(target, "apiVersion"));
    struct vpa_object *vpa = object;

    (void)ctx;
    vpa->meta.ns = vpa_arena_strdup(arena, what->ns);
    vpa->meta.name = vpa_arena_strdup(arena, what->name);
    if (!kind || !*kind || !name || !*name)
        return;
    vpa->target_ref = (struct vpa_target_ref){
        .present = true,
        .api_version = vpa_arena_strdup(arena, vpa_or_empty(api_version)),
        .kind = vpa_arena_strdup(arena, kind),
        .name = vpa_arena_strdup(arena, name),
    };
}

static uint64_t hash_vpa(const void *object)
{
    const struct vpa_object *vpa = object;
    const struct vpa_target_ref *target = &vpa->target_ref;

    return vpa_cache_target_hash(vpa->meta.ns, target->present ? target->kind : "",
                                 target->present ? target->name : "");
}

const struct vpa_cache_kind vpa_cache_vpas = {
    .size = sizeof(struct vpa_object),
    .make = make_vpa,
    .salvage = salvage_vpa,
    .hash = hash_vpa,
};

/* ---- LimitRanges ---- */

static int make_limit_range(void *ctx, struct vpa_arena *arena, const void *draft, void *object,
                            struct vpa_error *err)
{
    (void)ctx;
    return vpa_limit_range_decode(arena, draft, object, err);
}

static void salvage_limit_range(void *ctx, struct vpa_arena *arena,
                                const struct vpa_unusable_object *what, void *object)
{
    struct vpa_limit_range *range = object;

    (void)ctx;
    range->meta.ns = vpa_arena_strdup(arena, what->ns);
    range->meta.name = vpa_arena_strdup(arena, what->name);
    range->error = vpa_arena_strdup(arena, what->reason);
}

static uint64_t hash_limit_range(const void *object)
{
    return vpa_cache_ns_hash(((const struct vpa_limit_range *)object)->meta.ns);
}

const struct vpa_cache_kind vpa_cache_limit_ranges = {
    .size = sizeof(struct vpa_limit_range),
    .make = make_limit_range,
    .salvage = salvage_limit_range,
    .hash = hash_limit_range,
};

const struct vpa_cache_kind vpa_cache_presence = {.size = 0};
