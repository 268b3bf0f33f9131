/*
 * Disruption budget.
 *
 * Pods are grouped by their immediate owner (pods of a Deployment per ReplicaSet). A group with
 * `configured` replicas and a tolerance of t pods keeps configured - t of them alive; with a
 * tolerance of zero exactly one pod may go per pass, and only while every configured replica runs.
 * Evictions and resizes of a pass share one budget.
 *
 * The count that matters is that of requests sent, not of requests answered: whoever sends
 * reserves, a refusal gives back. So many requests may be in flight, and the budget holds at every
 * moment.
 */
#include "vpa/policy/disruption.h"

#include <math.h>
#include <stdlib.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/policy/boost_marker.h"
#include "vpa/policy/resize_state.h"
#include "vpa/policy/update_mode.h"

/* Counts beyond this are nonsense of flags (a tolerance of 1e300); keeps sums inside 64 bits. */
#define COUNT_MAX ((double)(INT64_C(1) << 52))

struct owned_group {
    struct vpa_replica_group group; /* first: handed out by pointer */
    int64_t actual;
    int64_t evicted; /* earlier, but they still look alive */
    int64_t starting;
    int64_t pending_starting; /* pending replacements: `pending` has them too */
    bool boosted;
    bool discarded;
    char *key;
};

struct vpa_disruption {
    struct owned_group **groups; /* in order of their first pod */
    size_t group_count;
    size_t group_capacity;
    struct owned_group **of_pod; /* NULL: no controlling owner */
    size_t pod_count;
    int64_t required; /* live pods of a group */
};

static struct owned_group *group_of_owner(struct vpa_disruption *d, struct vpa_table *by_key,
                                          const char *ns, const struct vpa_owner_reference *owner)
{
    vpa_auto_free char *key = vpa_xprintf("%s/%s/%s", ns, owner->kind, owner->name);
    struct owned_group *g = vpa_table_find(by_key, key);

    if (g)
        return g;
    g = vpa_xcalloc(1, sizeof(*g));
    g->group.ns = ns;
    g->group.kind = owner->kind;
    g->group.name = owner->name;
    g->group.api_version = owner->api_version;
    g->key = VPA_STEAL(key);
    VPA_GROW(d->groups, d->group_count, d->group_capacity);
    d->groups[d->group_count++] = g;
    vpa_table_put(by_key, g->key, g);
    return g;
}

static void count_pod(struct owned_group *g, const struct vpa_pod *pod,
                      const struct vpa_update_memory *memory)
{
    bool pending = vpa_pod_pending(pod);
    bool starting = memory && vpa_update_memory_is_starting(memory, pod->meta.uid);

    g->actual++;
    if (memory && vpa_update_memory_is_evicted(memory, pod->meta.uid)) {
        g->evicted++;
    } else {
        g->group.pending += pending;
        g->pending_starting += pending && starting;
        g->starting += !pending && starting;
    }
    if (vpa_boost_marked(&pod->meta.annotations))
        g->boosted = true;
    if (pod->meta.creation > g->group.newest)
        g->group.newest = pod->meta.creation;
}

static void assign_pods(struct vpa_disruption *d, const struct vpa_pod *const *pods, size_t count,
                        const struct vpa_update_memory *memory)
{
    struct vpa_table by_key = {0};

    d->pod_count = count;
    d->of_pod = vpa_xcalloc(count ? count : 1, sizeof(*d->of_pod));
    for (size_t i = 0; i < count; i++) {
        const struct vpa_owner_reference *owner = vpa_meta_controller_first(&pods[i]->meta);

        if (!owner)
            continue;

        struct owned_group *g = group_of_owner(d, &by_key, pods[i]->meta.ns, owner);

        count_pod(g, pods[i], memory);
        d->of_pod[i] = g;
    }
    vpa_table_release(&by_key);
}

/* Pods that were evicted, are not shown any more, and are to come back. */
static int64_t to_come_back(const struct owned_group *g,
                            const struct vpa_disruption_options *options)
{
    const struct vpa_replica_group *group = &g->group;
    const struct vpa_update_memory *memory = options->memory;
    int64_t awaited =
        memory ? vpa_update_memory_awaited(memory, group->ns, group->kind, group->name) : 0;

    return awaited > g->evicted ? awaited - g->evicted : 0;
}

/* The live pods, those that were evicted and are to come back, and those that are unknown. */
static void take_live_count(struct owned_group *g, void *ctx,
                            const struct vpa_disruption_options *options)
{
    const struct vpa_replica_group *group = &g->group;

    g->group.live_count = true;
    g->group.configured = g->actual + to_come_back(g, options);
    if (options->unknown)
        g->group.configured += options->unknown(ctx, group->ns, group->kind, group->name);
}

/* False: the number of replicas is not known well enough to touch the group. */
static bool configured_replicas(struct owned_group *g, vpa_replicas_fn replicas, void *ctx,
                                const struct vpa_disruption_options *options)
{
    if (vpa_str_eq(g->group.kind, "Job")) {
        take_live_count(g, ctx, options);
        return true;
    }
    switch (replicas(ctx, g->group.ns, g->group.kind, g->group.api_version, g->group.name,
                     &g->group.configured)) {
    case VPA_REPLICAS_KNOWN:
        /* It counts pods that are ready. Those of which we know why they are not are still wanted:
         * with each that is missing the next one could go. */
        if (vpa_str_eq(g->group.kind, "DaemonSet"))
            g->group.configured += g->starting + g->pending_starting + to_come_back(g, options);
        return true;
    case VPA_REPLICAS_UNKNOWN:
        take_live_count(g, ctx, options);
        return true;
    case VPA_REPLICAS_MISSING:
        break;
    }
    return false;
}

static int64_t tolerated(int64_t configured, double tolerance)
{
    double pods = trunc((double)configured * tolerance);

    if (isnan(pods))
        return 0;
    return (int64_t)fmax(-COUNT_MAX, fmin(pods, COUNT_MAX));
}

static void size_group(struct owned_group *g, int64_t required, bool skip_check,
                       vpa_replicas_fn replicas, void *ctx,
                       const struct vpa_disruption_options *options)
{
    if (g->actual - g->evicted < required) {
        /* A boosted pod keeps its group, since single replicas must get their boost taken back;
         * nobody is evicted from it (U26). */
        g->discarded = !g->boosted && !skip_check;
        g->group.below_min = true;
    }
    if (!g->discarded && !configured_replicas(g, replicas, ctx, options))
        g->discarded = true;
    g->group.running = g->actual - g->group.pending - g->evicted - g->starting;
    g->group.tolerance = tolerated(g->group.configured, options->tolerance);
}

struct vpa_disruption *vpa_disruption_new(const struct vpa_object *vpa,
                                          const struct vpa_pod *const *pods, size_t count,
                                          vpa_replicas_fn replicas, void *ctx,
                                          const struct vpa_disruption_options *options)
{
    struct vpa_disruption *d = vpa_xcalloc(1, sizeof(*d));
    int64_t required = vpa->min_replicas.present ? vpa->min_replicas.value : options->min_replicas;
    bool skip_check =
        options->in_place_skip_budget && vpa_update_mode_in_place(vpa_update_mode_of(vpa));

    d->required = required;
    assign_pods(d, pods, count, options->memory);
    for (size_t g = 0; g < d->group_count; g++)
        size_group(d->groups[g], required, skip_check, replicas, ctx, options);
    return d;
}

void vpa_disruption_free(struct vpa_disruption *d)
{
    if (!d)
        return;
    for (size_t g = 0; g < d->group_count; g++) {
        free(d->groups[g]->key);
        free(d->groups[g]);
    }
    free(d->groups);
    free(d->of_pod);
    free(d);
}

struct vpa_replica_group *vpa_disruption_group(struct vpa_disruption *d, size_t i)
{
    struct owned_group *g = i < d->pod_count ? d->of_pod[i] : NULL;

    return g && !g->discarded ? &g->group : NULL;
}

int64_t vpa_disruption_live(const struct vpa_disruption *d, size_t i)
{
    const struct owned_group *g = i < d->pod_count ? d->of_pod[i] : NULL;

    return g ? g->actual - g->evicted : -1;
}

int64_t vpa_disruption_required(const struct vpa_disruption *d)
{
    return d->required;
}

void vpa_group_lost(struct vpa_replica_group *group, const struct vpa_pod *pod,
                    const struct vpa_update_memory *memory)
{
    if (memory && vpa_update_memory_is_evicted(memory, pod->meta.uid))
        return;
    if (vpa_pod_pending(pod))
        group->pending--;
    else if (!memory || !vpa_update_memory_is_starting(memory, pod->meta.uid))
        group->running--;
}

void vpa_group_confirm(struct vpa_replica_group *group, bool known, int64_t configured,
                       double tolerance)
{
    group->closed = !known;
    if (!known)
        return;
    group->configured = configured;
    group->tolerance = tolerated(configured, tolerance);
}

bool vpa_group_disruptable(const struct vpa_replica_group *group)
{
    int64_t must_live = group->configured - group->tolerance;
    int64_t disturbed = group->evicted + group->in_place_started;

    if (group->closed || group->in_doubt)
        return false;
    if (group->running - disturbed > must_live)
        return true;
    return group->configured == group->running && group->tolerance == 0 && disturbed == 0;
}

bool vpa_group_is_short(const struct vpa_replica_group *group)
{
    return group->running < group->configured;
}

void vpa_group_reserve_eviction(struct vpa_replica_group *group, bool pod_pending)
{
    group->in_flight++;
    if (!pod_pending)
        group->evicted++;
}

void vpa_group_reserve_resize(struct vpa_replica_group *group)
{
    group->in_flight++;
    group->in_place_started++;
}

void vpa_group_settle(struct vpa_replica_group *group)
{
    group->in_flight--;
}

void vpa_group_give_back_eviction(struct vpa_replica_group *group, bool pod_pending)
{
    group->in_flight--;
    if (!pod_pending)
        group->evicted--;
}

void vpa_group_give_back_resize(struct vpa_replica_group *group)
{
    group->in_flight--;
    group->in_place_started--;
}

void vpa_group_doubt(struct vpa_replica_group *group, const struct vpa_pod *pod)
{
    group->in_doubt = pod->meta.uid;
}
