/*
 * The cluster: life cycle, samples, garbage. What connects pods and VPAs is in cluster_groups.c,
 * the two ends are in cluster_pods.c and cluster_vpas.c, what a VPA knows in cluster_history.c.
 */
#include "vpa/model/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "cluster_private.h"
#include "init_names.h"
#include "vpa/model/algorithm.h"

/* Aggregates are collected at most this often. */
#define COLLECTION_INTERVAL VPA_HOUR

static void observe_usage(void *ctx, const struct vpa_aggregate *a, enum vpa_kind kind,
                          vpa_amount usage, bool is_oom)
{
    const struct vpa_cluster *c = ctx;
    vpa_amount last = a->last_recommendation[kind] > 0 ? a->last_recommendation[kind] : 0;
    /* Whatever is observed is the state of a member, which begins with it. */
    const struct vpa_group *group = ((const struct vpa_member *)a)->group;

    c->hooks.usage(c->hooks.ctx, a->settings.update_mode, kind, is_oom, usage, last);
    if (c->hooks.sample && group->vpa_count > 0)
        c->hooks.sample(c->hooks.ctx, group->vpas[group->vpa_count - 1], kind, is_oom, usage, last);
}

struct vpa_cluster *vpa_cluster_new(const struct vpa_cluster_options *options)
{
    struct vpa_cluster *c = vpa_xcalloc(1, sizeof(*c));

    c->aggregation = options->aggregation;
    c->memory_saver = options->memory_saver;
    c->hooks = options->hooks;
    c->observer = (struct vpa_usage_observer){c, observe_usage};
    c->names = vpa_intern_pool_new();
    c->last_collection = 0; /* the Unix epoch: the first pass collects */
    return c;
}

void vpa_cluster_free(struct vpa_cluster *c)
{
    void *value;
    struct vpa_hashed *object;

    if (!c)
        return;
    vpa_cluster_forget_names(c);
    for (size_t i = 0; vpa_table_next(&c->vpas, &i, NULL, &value);)
        vpa_autoscaler_free(c, value);
    vpa_pods_free_all(c);
    for (size_t i = 0; (object = vpa_pointer_set_next(&c->groups, &i));) {
        struct vpa_group *group = (struct vpa_group *)object;
        vpa_group_free_members(c, group);
        vpa_group_drop_if_unused(c, group);
    }
    vpa_pointer_set_release(&c->pods);
    vpa_pointer_set_release(&c->idle);
    vpa_pointer_set_release(&c->groups);
    vpa_table_release(&c->vpas);
    vpa_table_release(&c->selectors);
    vpa_table_release(&c->sides);
    vpa_table_release(&c->formers);
    vpa_intern_pool_free(c->names);
    free(c->sorted);
    free(c);
}

size_t vpa_cluster_pod_count(const struct vpa_cluster *c)
{
    return c->pods.count;
}

size_t vpa_cluster_aggregate_count(const struct vpa_cluster *c)
{
    return c->member_count;
}

/* ---- samples ---- */

int vpa_cluster_container(struct vpa_cluster *c, const struct vpa_container_name *name,
                          vpa_time now, struct vpa_sample_target *out, struct vpa_error *err)
{
    vpa_cluster_settle(c); /* settings of a new VPA count at once */

    struct vpa_tracked_pod *pod = vpa_pods_find(c, name->ns, name->pod);

    if (!pod)
        return vpa_fail(err, VPA_NOT_FOUND, "KeyError: {%s %s}", name->ns, name->pod);
    struct vpa_tracked_container *container = vpa_pod_find_container(c, pod, name->container);
    bool init = init_names_have(vpa_tracked_pod_init_names(pod), name->container);
    if (!container)
        return vpa_fail(err, init ? VPA_NOT_OURS : VPA_NOT_FOUND, "KeyError: {{%s %s} %s}",
                        name->ns, name->pod, name->container);
    if (!container->member) /* collected since */
        container->member = vpa_group_get_member(c, pod->group, container->name, now);
    *out = (struct vpa_sample_target){c, pod, container, init, false};
    return 0;
}

/* What other algorithms learn of an accepted sample; the replica is filled in. Times are those of
 * nodes: one whose clock is ahead would close the windows that all replicas share until it has
 * come, and make a state that is refused when it is read again. */
static void learn(const struct vpa_sample_target *to, struct vpa_usage *usage, vpa_time now)
{
    if (to->cluster->sides.count == 0)
        return;
    usage->t = usage->t > now ? now : usage->t;
    usage->replica = (uint64_t)to->pod->hashed.hash << 32 | to->pod->uid_hash;
    vpa_group_learn(to->cluster, to->pod->group, to->container->name, usage, now);
}

static const struct vpa_usage_observer *observer_of(const struct vpa_cluster *c)
{
    return c->hooks.usage ? &c->observer : NULL;
}

int vpa_cluster_add_sample(const struct vpa_sample_target *to, enum vpa_kind kind, vpa_time t,
                           vpa_amount usage, vpa_time now, struct vpa_error *err)
{
    struct vpa_container_state *state = &to->container->state;
    struct vpa_aggregate *aggregate = &to->container->member->state;
    const struct vpa_usage_observer *observer = observer_of(to->cluster);

    bool taken = kind == VPA_KIND_CPU
                     ? vpa_container_add_cpu(state, aggregate, t, usage, observer)
                     : vpa_container_add_memory(state, aggregate, t, usage, observer);
    if (!taken)
        return vpa_fail(err, VPA_INVALID, "sample discarded (invalid or out of order)");
    learn(to,
          &(struct vpa_usage){.type = kind == VPA_KIND_CPU ? VPA_USAGE_CPU : VPA_USAGE_MEMORY,
                              .t = t,
                              .amount = usage},
          now);
    return 0;
}

/* The former process was told of it, as far as it was told of events at all. */
static bool is_known_eviction(const struct vpa_sample_target *to, vpa_time t)
{
    uint32_t resumed_from = to->container->state.resumed_from;

    return to->is_eviction && resumed_from > 0 && t <= vpa_time_from_unix(resumed_from, 0);
}

int vpa_cluster_record_oom(const struct vpa_sample_target *to, vpa_time t, vpa_amount memory,
                           vpa_time now, struct vpa_error *err)
{
    if (!is_known_eviction(to, t) &&
        vpa_container_record_oom(&to->container->state, &to->container->member->state, t, memory,
                                 observer_of(to->cluster), err) < 0) {
        struct vpa_error reason = err ? *err : (struct vpa_error){0};
        return vpa_fail(err, VPA_INVALID, "error while recording OOM for {{%s %s} %s}, Reason: %s",
                        to->pod->group->ns, vpa_tracked_pod_name(to->pod), to->container->name,
                        reason.text);
    }
    learn(to, &(struct vpa_usage){.type = VPA_USAGE_OOM, .t = t, .amount = memory}, now);
    return 0;
}

/* ---- garbage ---- */

struct collection {
    struct vpa_cluster *cluster;
    vpa_time now;
    vpa_controller_exists_fn controller_exists;
    void *ctx;
};

/* The VPA that stands for the pods of a group; upstream takes any, we the first by name. */
static const struct vpa_autoscaler *controlling_vpa(const struct vpa_group *group)
{
    for (uint32_t i = 0; i < group->vpa_count; i++) {
        if (group->vpas[i]->resolved)
            return group->vpas[i];
    }
    return NULL;
}

static bool has_finished(const struct vpa_tracked_pod *pod)
{
    return pod->phase == VPA_PHASE_SUCCEEDED || pod->phase == VPA_PHASE_FAILED;
}

/* The pods that run feed, and those that have finished if their controller exists, so that another
 * one may follow. */
static void feed(const struct collection *g, struct vpa_group *group)
{
    size_t doubted = vpa_group_doubt_empty(group);
    const struct vpa_tracked_pod *finished = NULL;

    for (const struct vpa_tracked_pod *pod = group->pods; doubted > 0 && pod; pod = pod->next) {
        if (has_finished(pod))
            finished = finished ? finished : pod;
        else
            doubted -= vpa_group_feed(group, pod);
    }
    const struct vpa_autoscaler *v = doubted > 0 && finished ? controlling_vpa(group) : NULL;
    if (!v || !g->controller_exists || !g->controller_exists(g->ctx, v))
        return;
    for (; doubted > 0 && finished; finished = finished->next) {
        if (has_finished(finished))
            doubted -= vpa_group_feed(group, finished);
    }
}

static size_t collect_group(const struct collection *g, struct vpa_group *group)
{
    feed(g, group);
    return vpa_group_collect(g->cluster, group, true, g->now);
}

size_t vpa_cluster_collect_garbage(struct vpa_cluster *c, vpa_time now,
                                   vpa_controller_exists_fn controller_exists, void *ctx)
{
    struct collection g = {c, now, controller_exists, ctx};
    struct vpa_hashed *object;
    void *value;
    size_t removed = 0;
    vpa_duration since = vpa_time_sub(now, c->last_collection);

    if (since >= 0 && since < COLLECTION_INTERVAL) /* below 0 the clock was set back */
        return 0;
    c->last_collection = now;
    vpa_cluster_settle(c);
    for (size_t i = 0; (object = vpa_pointer_set_next(&c->groups, &i));) {
        struct vpa_group *group = (struct vpa_group *)object;
        removed += collect_group(&g, group);
        vpa_group_drop_if_unused(c, group);
    }
    for (size_t i = 0; vpa_table_next(&c->vpas, &i, NULL, &value);)
        vpa_autoscaler_collect_initial(c, value, now);
    vpa_sides_collect(c, now);
    return removed;
}
