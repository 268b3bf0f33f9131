/*
 * Collecting checkpoints that nobody needs any more.
 *
 * All are listed, and judged by what the caches know; what looks like an orphan is deleted when the
 * API server has no such VPA either. Deleting takes one round after another when there is much of
 * it: each goes on behind the namespace in which the one before has ended, so that a namespace full
 * of orphans keeps no other one waiting for more than a round.
 */
#include <stdlib.h>
#include <string.h>

#include "checkpoint_identity.h"
#include "checkpoint_states.h"
#include "checkpoints_internal.h"
#include "failures.h"
#include "usage_sample.h"

#include "vpa/api/checkpoint.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/kube/list.h"

struct orphan {
    char *ns;
    char *name;
    char *vpa;  /* that no cache has; NULL: it is there, the history has aged */
    bool later; /* its namespace had its turn in the last round */
};
struct collection {
    struct checkpoints *checkpoints;
    struct vpa_table namespaces;    /* name -> itself */
    struct checkpoint_names stored; /* which objects the list brings */
    struct orphan *orphans;
    size_t orphan_count;
    size_t orphan_capacity;
    vpa_time by;            /* the time that tells what is old */
    struct vpa_arena arena; /* of the item in hand */
    const char *asked;      /* namespace whose VPAs were listed last; an orphan's */
    bool answered;
    struct failures unasked;
    struct vpa_table present; /* names of its VPAs -> themselves */
};

static void on_namespace(void *ctx, const struct vpa_json *item, struct vpa_slice text)
{
    struct collection *g = ctx;
    const char *name = vpa_json_string(vpa_json_at(item, "metadata.name"));

    (void)text;
    if (!name || vpa_common_flags_ignore(&g->checkpoints->options.config->common, name))
        return;
    checkpoint_set_add(&g->namespaces, name);
}

/* A time that is not ahead of the clock by more than clocks may differ: what lies in the future is
 * never old. False: it says no such time. */
static bool says_time(const struct collection *g, const char *text, vpa_time *out)
{
    vpa_time t;

    if (!text || vpa_time_parse(text, &t, NULL) < 0 || vpa_time_sub(t, g->by) > USAGE_AHEAD)
        return false;
    *out = t;
    return true;
}

/* The first of them that says a time. */
static bool first_time_of(const struct collection *g, const struct vpa_json *item,
                          const char *const *paths, vpa_time *out)
{
    for (; *paths; paths++)
        if (says_time(g, vpa_json_string(vpa_json_at(item, *paths)), out))
            return true;
    return false;
}

/* How long a checkpoint that was kept aside is of use to anybody: as long as a history. */
static bool is_outdated(const struct collection *g, const char *since, const struct vpa_json *item)
{
    static const char *const made[] = {"metadata.creationTimestamp", NULL};
    const struct recommender_config *config = g->checkpoints->options.config;
    vpa_duration window;
    vpa_time kept;

    if (vpa_time_parse(since, &kept, NULL) < 0)
        return true;
    if (__builtin_mul_overflow(config->memory_interval, config->memory_interval_count, &window))
        return false;
    if (!says_time(g, since, &kept) && !first_time_of(g, item, made, &kept))
        return false;
    return vpa_time_sub(g->by, kept) >= window;
}

/* How old the history of an item is: that of its last sample, else of its last change, else of the
 * object, if it is of ours: what others store has times that we do not know. */
static bool last_sample_of(const struct collection *g, const struct vpa_json *item, vpa_time *out)
{
    static const char *const paths[] = {"status.lastSampleStart", "status.lastUpdateTime",
                                        "metadata.creationTimestamp", NULL};
    static const char *const foreign[] = {"status.lastSampleStart", "status.lastUpdateTime", NULL};
    const char *version = vpa_json_string(vpa_json_at(item, "status.version"));
    bool ours = !version || strcmp(version, VPA_CHECKPOINT_VERSION) == 0;

    return first_time_of(g, item, ours ? paths : foreign, out);
}

/* The state of an algorithm lasts as long as that remembers; of one that is not served nobody knows
 * how long that is. */
static bool is_of_use(const struct collection *g, const struct checkpoint_identity *id,
                      const char *version, const struct vpa_autoscaler *v)
{
    return !checkpoint_state_method(g->checkpoints->options.algorithms, version) ||
           checkpoint_state_is_learned(v, id->container);
}

/* Whether the VPA, which exists, has no use for the item any more. Nothing is certain about the
 * VPAs of other recommenders and those that are unknown. */
static bool has_aged(const struct collection *g, const struct checkpoint_identity *id,
                     const struct vpa_json *item)
{
    const struct checkpoints_options *o = &g->checkpoints->options;
    const struct vpa_autoscaler *v = vpa_cluster_find_vpa(o->cluster, id->ns, id->vpa);
    const char *version = vpa_json_string(vpa_json_at(item, "status.version"));
    bool is_state = checkpoint_state_is(version);
    vpa_auto_free char *plain = checkpoint_state_plain(id->container);
    vpa_time last;

    if (id->unreadable_since)
        return is_outdated(g, id->unreadable_since, item);
    if (v && is_state && is_of_use(g, id, version, v))
        return false;
    return v && feeder_is_in_step(o->feeder) && !vpa_autoscaler_awaits_history(v) &&
           feeder_knows_vpa(o->feeder, id->ns, id->vpa) && last_sample_of(g, item, &last) &&
           vpa_autoscaler_has_outlived(v, is_state ? plain : id->container, last, g->by);
}

static void judge(struct collection *g, const struct checkpoint_identity *id,
                  const struct vpa_json *item)
{
    /* Of an item of which there is only the beginning nobody knows whose it is. */
    if (!vpa_table_find(&g->namespaces, id->ns) || (!item && !*id->vpa))
        return;
    bool exists = feeder_has_vpa(g->checkpoints->options.feeder, id->ns, id->vpa);
    if (exists && !has_aged(g, id, item))
        return;
    VPA_GROW(g->orphans, g->orphan_count, g->orphan_capacity);
    g->orphans[g->orphan_count++] = (struct orphan){.ns = vpa_xstrdup(id->ns),
                                                    .name = vpa_xstrdup(id->name),
                                                    .vpa = exists ? NULL : vpa_xstrdup(id->vpa)};
}

static void on_collected(void *ctx, const struct vpa_json *item, struct vpa_slice text)
{
    struct collection *g = ctx;
    struct checkpoint_identity id = checkpoint_identity(&g->arena, item, text);

    if (id.unreadable_since)
        checkpoint_names_found_copy(&g->stored, id.ns, id.name);
    else
        checkpoint_names_found(&g->stored, id.ns, id.name, id.vpa, id.container,
                               vpa_json_first(id.annotations));
    judge(g, &id, item);
    vpa_arena_clear(&g->arena);
}

static int orphan_cmp(const void *a, const void *b)
{
    const struct orphan *x = a;
    const struct orphan *y = b;
    int by_ns = strcmp(x->ns, y->ns);

    if (x->later != y->later)
        return x->later ? 1 : -1;
    return by_ns != 0 ? by_ns : strcmp(x->name, y->name);
}

static void on_present(void *ctx, const struct vpa_json *item, struct vpa_slice text)
{
    struct collection *g = ctx;

    checkpoint_set_add(&g->present, checkpoint_identity(&g->arena, item, text).name);
    vpa_arena_clear(&g->arena);
}

static void ask_for_vpas(struct collection *g, const char *ns)
{
    const struct checkpoints_options *o = &g->checkpoints->options;
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);
    struct vpa_error err;

    vpa_kube_path(&path, VPA_GROUP_VERSION, ns, "verticalpodautoscalers", NULL, NULL);
    struct vpa_list_request request = {.path = vpa_buf_text(&path),
                                       .paged = true,
                                       .timeout = CHECKPOINT_LIST_TIMEOUT,
                                       .with_unreadable = true};
    checkpoint_set_release(&g->present);
    g->asked = ns;
    g->answered = vpa_list_each(o->reader, &request, on_present, g, &err) == 0;
    if (!g->answered && !vpa_loop_is_stopping(o->loop))
        failures_add(&g->unasked, ns, "verticalpodautoscalers", &err);
}

/* A cache may be old, and what is deleted is gone for good: the API server has the last word. It is
 * asked once about a namespace, and deleting takes a while: what the cache has heard of since then
 * counts too. */
static bool is_certain(struct collection *g, const struct orphan *orphan)
{
    const struct feeder *feeder = g->checkpoints->options.feeder;

    if (!orphan->vpa)
        return true;
    if (!g->asked || strcmp(g->asked, orphan->ns) != 0)
        ask_for_vpas(g, orphan->ns);
    return g->answered && !vpa_table_find(&g->present, orphan->vpa) &&
           !feeder_has_vpa(feeder, orphan->ns, orphan->vpa);
}

static void delete_checkpoint(const struct checkpoints_options *o, const struct orphan *orphan,
                              struct failures *failures)
{
    static const char body[] =
        "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"" VPA_GROUP_VERSION "\"}";
    struct vpa_error err;
    vpa_auto_buf path = {0};

    checkpoint_path(&path, orphan->ns, orphan->name);
    struct vpa_kube_call call = {.verb = VPA_KUBE_DELETE,
                                 .path = vpa_buf_text(&path),
                                 .body = body,
                                 .body_len = sizeof body - 1,
                                 .timeout = CHECKPOINT_TIMEOUT};
    if (vpa_kube_do(o->writer, &call, NULL, NULL, &err) < 0 && err.code != VPA_NOT_FOUND)
        failures_add(failures, orphan->ns, orphan->name, &err);
    else
        VPA_V(3, "Orphaned VPA checkpoint cleanup - deleting", VPA_KV("namespace", orphan->ns),
              VPA_KV("checkpoint", orphan->name));
}

static void sort_by_turns(struct collection *g)
{
    const char *until = g->checkpoints->collected_until;

    for (size_t i = 0; i < g->orphan_count; i++)
        g->orphans[i].later = until && strcmp(g->orphans[i].ns, until) <= 0;
    if (g->orphans)
        qsort(g->orphans, g->orphan_count, sizeof g->orphans[0], orphan_cmp);
    free(VPA_STEAL(g->checkpoints->collected_until));
}

static void delete_orphans(struct collection *g)
{
    const struct checkpoints_options *o = &g->checkpoints->options;
    struct failures undeleted = {.message = "Orphaned VPA checkpoint cleanup - error deleting"};
    int64_t begin = vpa_loop_monotonic(o->loop);

    sort_by_turns(g);
    for (size_t i = 0; i < g->orphan_count; i++) {
        /* A very large heap of garbage is taken away in several rounds. */
        if (vpa_loop_is_stopping(o->loop) ||
            vpa_loop_monotonic(o->loop) - begin > o->config->checkpoints_timeout) {
            g->checkpoints->collected_until = vpa_xstrdup(g->orphans[i ? i - 1 : 0].ns);
            break;
        }
        if (is_certain(g, &g->orphans[i]))
            delete_checkpoint(o, &g->orphans[i], &undeleted);
    }
    failures_report(&undeleted);
    failures_report(&g->unasked);
}

static void collection_release(struct collection *g)
{
    checkpoint_set_release(&g->namespaces);
    checkpoint_set_release(&g->present);
    checkpoint_names_release(&g->stored);
    vpa_arena_release(&g->arena);
    for (size_t k = 0; k < g->orphan_count; k++) {
        free(g->orphans[k].ns);
        free(g->orphans[k].name);
        free(g->orphans[k].vpa);
    }
    free(g->orphans);
}

static void collect(struct collection *g, bool only_look)
{
    struct checkpoints *c = g->checkpoints;
    struct vpa_list_request namespaces = {.path = "/api/v1/namespaces",
                                          .timeout = CHECKPOINT_LIST_TIMEOUT};
    struct vpa_error err;
    vpa_auto_buf path = {0};

    if (vpa_list_each(c->options.reader, &namespaces, on_namespace, g, &err) < 0) {
        if (!vpa_loop_is_stopping(c->options.loop))
            VPA_ERROR_UNLESS_TOLD(&err, "Cannot list namespaces", VPA_KERR(&err));
        return;
    }
    checkpoint_path(&path, c->options.config->common.vpa_object_namespace, NULL);
    struct vpa_list_request stored = {.path = vpa_buf_text(&path),
                                      .paged = true,
                                      .timeout = CHECKPOINT_LIST_TIMEOUT,
                                      .with_unreadable = true};
    if (vpa_list_each(c->options.reader, &stored, on_collected, g, &err) < 0) {
        if (!vpa_loop_is_stopping(c->options.loop))
            VPA_ERROR_UNLESS_TOLD(&err, "Cannot list VPA checkpoints", VPA_KERR(&err));
        return;
    }
    checkpoint_names_take_objects(&c->names, &g->stored);
    if (!only_look)
        delete_orphans(g);
}

void checkpoints_look_again(struct checkpoints *c)
{
    c->last_collection = VPA_TIME_UNSET;
}

void checkpoints_collect_garbage(struct checkpoints *c, vpa_time by, bool only_look)
{
    vpa_time now = vpa_loop_now(c->options.loop);

    vpa_duration since = vpa_time_sub(now, c->last_collection);

    /* Below 0 the clock was set back. */
    if (since >= 0 && since <= c->options.config->checkpoints_gc_interval)
        return;
    c->last_collection = now;
    checkpoint_names_prune(&c->names, c->options.cluster, now);
    struct collection g = {
        .checkpoints = c,
        .by = by,
        .unasked = {.message =
                        "Orphaned VPA checkpoint cleanup - cannot list VPAs, nothing is deleted"}};
    collect(&g, only_look);
    collection_release(&g);
}
