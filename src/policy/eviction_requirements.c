/*
 * Eviction requirements: one container for which every requirement holds is enough.
 *
 * A requirement names resources, one of which has to be wanted higher, or lower, than it is. Both
 * the VPA and the pod are as long as their owners like, so no container may ask each requirement
 * again. Each resource that some container has knows the requirements that name it, as bits; what
 * moves in a container meets them, and all of them have to be met.
 */
#include "vpa/policy/priority.h"

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

#define WORD_BITS 64

struct named { /* a resource: the requirements that name it, a bit each; NULL: none */
    uint64_t *higher, *lower;
};
struct index {
    struct vpa_arena arena;
    struct vpa_table names; /* of resources that containers have */
    size_t count;           /* of requirements */
    size_t words;
    uint64_t *met; /* by the container that is looked at */
};

static void index_release(struct index *index)
{
    vpa_table_release(&index->names);
    vpa_arena_release(&index->arena);
}
#define auto_index __attribute__((cleanup(index_release))) struct index

static void note_names(struct index *index, const struct vpa_resource_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->items[i].name;

        if (!vpa_table_find(&index->names, name))
            vpa_table_put(&index->names, name,
                          vpa_arena_zalloc(&index->arena, sizeof(struct named)));
    }
}

/* The bits of the direction, NULL for one that is not known: such a requirement never holds. */
static uint64_t **bits_of(struct named *named, const char *direction)
{
    if (vpa_str_eq(direction, "TargetHigherThanRequests"))
        return &named->higher;
    return vpa_str_eq(direction, "TargetLowerThanRequests") ? &named->lower : NULL;
}

static void note_requirement(struct index *index, const struct vpa_eviction_requirement *r,
                             size_t number)
{
    for (size_t i = 0; i < r->resource_count; i++) {
        struct named *named = vpa_table_find(&index->names, r->resources[i]);
        uint64_t **bits = named ? bits_of(named, r->change_requirement) : NULL;

        if (!bits)
            continue;
        if (!*bits)
            *bits = vpa_arena_zalloc(&index->arena, index->words * sizeof(**bits));
        (*bits)[number / WORD_BITS] |= UINT64_C(1) << number % WORD_BITS;
    }
}

/* What some container wants to change of the resource meets the requirements that ask for it. */
static void meet(struct index *index, const char *name, const struct vpa_quantity *request,
                 const struct vpa_quantity *wanted)
{
    const struct named *named = vpa_table_find(&index->names, name);
    int64_t request_millis = request ? vpa_quantity_milli_value(request) : 0;
    int64_t wanted_millis = wanted ? vpa_quantity_milli_value(wanted) : 0;
    const uint64_t *bits = NULL;

    if (named && wanted_millis > request_millis)
        bits = named->higher;
    if (named && wanted_millis < request_millis)
        bits = named->lower;
    for (size_t i = 0; bits && i < index->words; i++)
        index->met[i] |= bits[i];
}

static bool all_met(const struct index *index)
{
    size_t left = index->count;

    for (size_t i = 0; i < index->words; i++, left -= WORD_BITS) {
        uint64_t all = left >= WORD_BITS ? UINT64_MAX : (UINT64_C(1) << left) - 1;

        if (index->met[i] != all)
            return false;
    }
    return true;
}

static bool all_hold(struct index *index, const struct vpa_resource_list *requests,
                     const struct vpa_resource_list *target)
{
    for (size_t i = 0; i < index->words; i++)
        index->met[i] = 0;
    for (size_t i = 0; i < target->count; i++) {
        const char *name = target->items[i].name;

        meet(index, name, vpa_resource_find(requests, name), &target->items[i].quantity);
    }
    for (size_t i = 0; i < requests->count; i++) {
        const char *name = requests->items[i].name;

        meet(index, name, &requests->items[i].quantity, vpa_resource_find(target, name));
    }
    return all_met(index);
}

/* A container that counts: with a recommendation, and both requests. */
struct counted {
    struct vpa_resource_list requests;
    const struct vpa_resource_list *target;
};

static bool any_holds(const struct vpa_object *vpa, const struct counted *containers, size_t count)
{
    auto_index index = {.count = vpa->eviction_requirement_count};

    index.words = (index.count + WORD_BITS - 1) / WORD_BITS;
    index.met = vpa_arena_zalloc(&index.arena, (index.words + 1) * sizeof(*index.met));
    for (size_t i = 0; i < count; i++) {
        note_names(&index, &containers[i].requests);
        note_names(&index, containers[i].target);
    }
    for (size_t r = 0; r < index.count; r++)
        note_requirement(&index, &vpa->eviction_requirements[r], r);
    for (size_t i = 0; i < count; i++) {
        if (all_hold(&index, &containers[i].requests, containers[i].target))
            return true;
    }
    return false;
}

bool vpa_eviction_requirements_hold(const struct vpa_pod *pod, const struct vpa_object *vpa,
                                    const struct vpa_recommendation *processed)
{
    vpa_auto_free struct counted *counted = NULL;
    size_t count = 0;

    if (!vpa->has_update_policy)
        return true;
    if (!processed)
        return false;
    counted = vpa_xcalloc(pod->container_count + 1, sizeof(*counted));
    for (size_t i = 0; i < pod->container_count; i++) {
        const char *container = pod->containers[i].name;
        const struct vpa_container_recommendation *rec =
            vpa_recommendation_find(processed, container);

        if (!rec)
            continue;

        struct vpa_resources in_force = vpa_pod_effective_resources(pod, container);

        if (!vpa_resource_find(&in_force.requests, VPA_CPU) ||
            !vpa_resource_find(&in_force.requests, VPA_MEMORY))
            return true;
        counted[count++] = (struct counted){in_force.requests, &rec->target};
    }
    return any_holds(vpa, counted, count);
}
