/*
 * Reading and collecting checkpoints.
 *
 * There is no cache of checkpoints: they are listed once at start, item by item, and again when
 * garbage is collected. A watch would bring every checkpoint back that this process writes, a few
 * kilobytes each, every pass, for nothing.
 */
#include "checkpoints.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint_identity.h"
#include "checkpoint_states.h"
#include "checkpoints_internal.h"
#include "failures.h"
#include "set_clock.h"
#include "usage_sample.h"

#include "vpa/api/checkpoint.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/kube/list.h"

#define LIST_TIMEOUT (5 * VPA_MINUTE)
/* From more namespaces than this one list of all is cheaper than one of each. */
#define LIST_NAMESPACES_MAX 8

void checkpoint_path(struct vpa_buf *out, const char *ns, const char *name)
{
    vpa_buf_init(out, VPA_KUBE_PATH_MAX);
    vpa_kube_path(out, VPA_GROUP_VERSION, ns, CHECKPOINT_RESOURCE, name, NULL);
}

/* Tables of names -> themselves. */

static void free_names(struct vpa_table *names)
{
    size_t i = 0;
    void *name;

    while (vpa_table_next(names, &i, NULL, &name))
        free(name);
    vpa_table_release(names);
}

static void add_name(struct vpa_table *names, const char *name)
{
    char *copy = vpa_xstrdup(name);

    free(vpa_table_put(names, copy, copy));
}

struct checkpoints *checkpoints_new(const struct checkpoints_options *options)
{
    struct checkpoints *c = vpa_xcalloc(1, sizeof *c);

    c->options = *options;
    c->last_collection = vpa_loop_now(options->loop);
    return c;
}

void checkpoints_free(struct checkpoints *c)
{
    if (!c)
        return;
    checkpoint_names_release(&c->names);
    free_names(&c->fresh);
    free(c);
}

/* ---- loading ---- */

struct loading {
    struct checkpoints *checkpoints;
    struct vpa_arena arena;
    vpa_time now;
    bool again; /* checkpoints_load_again */
    size_t loaded;
    size_t intervals; /* that go on */
};

/* Of an algorithm other than VPA's own. */
static int load_state(struct loading *l, const struct checkpoint_identity *id,
                      struct vpa_autoscaler *v, const char *version, struct vpa_error *err)
{
    struct checkpoint_state state = {
        .container = id->container,
        .version = version,
        .text = vpa_json_string(vpa_json_find(id->annotations, CHECKPOINT_STATE_ANNOTATION)),
    };
    int loaded = checkpoint_state_load(l->checkpoints->options.algorithms, v, &state, l->now, err);

    if (loaded < 0)
        return -1;
    l->loaded += (size_t)loaded;
    return 0;
}

static int load_item(struct loading *l, const struct checkpoint_identity *id,
                     const struct vpa_json *item, uint32_t *history, struct vpa_error *err)
{
    struct vpa_checkpoint checkpoint;

    if (vpa_checkpoint_decode(&l->arena, item, &checkpoint, err) < 0)
        return vpa_wrap(err, "cannot load checkpoint for VPA %s/%s. Reason", id->ns, id->vpa);
    *history = vpa_histogram_checkpoint_hash(&checkpoint.status.memory);
    return vpa_cluster_load_checkpoint(l->checkpoints->options.cluster, id->ns, id->vpa,
                                       id->container, &checkpoint.status, l->now, err);
}

static int resume_intervals(struct loading *l, const struct checkpoint_identity *id,
                            const char *text, uint32_t history, struct vpa_error *err)
{
    struct vpa_open_intervals open;

    if (vpa_open_intervals_decode(&l->arena, text, &open, err) < 0)
        return -1;
    if (open.history != history) /* another recommender has gone on with it */
        return 0;
    if (vpa_cluster_resume_intervals(l->checkpoints->options.cluster, id->ns, id->vpa,
                                     id->container, &open, l->now, err) < 0)
        return -1;
    l->intervals += open.count;
    return 0;
}

static void load_intervals(struct loading *l, const struct checkpoint_identity *id,
                           uint32_t history)
{
    const char *text =
        vpa_json_string(vpa_json_find(id->annotations, VPA_OPEN_INTERVALS_ANNOTATION));
    struct vpa_error err;

    if (text && l->checkpoints->options.config->checkpoint_open_intervals &&
        resume_intervals(l, id, text, history, &err) < 0)
        VPA_ERROR("Cannot read the open intervals of a checkpoint; their memory peaks are lost",
                  VPA_KV("namespace", id->ns), VPA_KV("checkpoint", id->name), VPA_KERR(&err));
}

/* Another recommender has gone on with it: what we had said beside it is of what there was before.
 */
static bool is_gone_on_with(struct loading *l, const struct checkpoint_identity *id,
                            const struct vpa_json *item)
{
    const char *text =
        vpa_json_string(vpa_json_find(id->annotations, VPA_OPEN_INTERVALS_ANNOTATION));
    struct vpa_checkpoint checkpoint;
    struct vpa_open_intervals open;
    struct vpa_error err;

    return text && vpa_open_intervals_decode(&l->arena, text, &open, &err) == 0 &&
           vpa_checkpoint_decode(&l->arena, item, &checkpoint, &err) == 0 &&
           open.history != vpa_histogram_checkpoint_hash(&checkpoint.status.memory);
}

/* Whether the history is of what the VPA names today (decision U25). */
static bool is_of_target(struct loading *l, const struct checkpoint_identity *id,
                         const struct vpa_json *item, const struct vpa_autoscaler *v)
{
    const char *target =
        vpa_json_string(vpa_json_find(id->annotations, VPA_HISTORY_TARGET_ANNOTATION));
    vpa_auto_buf named = {0};

    if (!target || !l->checkpoints->options.config->checkpoint_open_intervals)
        return true;
    vpa_buf_init(&named, VPA_OBJECT_TARGET_MAX);
    vpa_object_target(vpa_autoscaler_object(v), &named);
    if (strcmp(vpa_buf_text(&named), target) == 0 || is_gone_on_with(l, id, item))
        return true;
    VPA_INFO("The VPA names another target than its checkpoint, which is not loaded",
             VPA_KV("namespace", id->ns), VPA_KV("checkpoint", id->name), VPA_KV("target", target),
             VPA_KV("named", vpa_buf_text(&named)));
    return false;
}

static void keep_unreadable(struct checkpoints *c, const struct checkpoint_identity *id,
                            const struct vpa_error *err)
{
    struct checkpoint_entry *entry =
        checkpoint_names_entry(&c->names, id->ns, id->vpa, id->container);

    VPA_ERROR("Error while loading checkpoint; it will be kept aside", VPA_KV("namespace", id->ns),
              VPA_KV("checkpoint", id->name), VPA_KERR(err));
    free(entry->unreadable);
    entry->unreadable = vpa_xstrdup(id->name);
}

static bool is_fresh(const struct checkpoints *c, const struct vpa_autoscaler *v)
{
    vpa_auto_free char *key = vpa_xjoin(vpa_autoscaler_ns(v), '/', vpa_autoscaler_name(v));

    return vpa_table_find(&c->fresh, key) != NULL;
}

/* Samples that the standby counted in this pass are in it. */
static bool holds_what_is_counted(const struct loading *l, const struct checkpoint_identity *id,
                                  const struct vpa_json *item, const struct vpa_autoscaler *v)
{
    const char *text = vpa_json_string(vpa_json_at(item, "status.lastSampleStart"));
    vpa_time last;

    return is_fresh(l->checkpoints, v) && text && vpa_time_parse(text, &last, NULL) == 0 &&
           last >= vpa_autoscaler_history_age(v, id->container).counted_until;
}

/* Than another object of the same container. */
static bool is_older(const struct checkpoint_identity *id, const struct vpa_json *item,
                     const struct vpa_autoscaler *v)
{
    const char *text = vpa_json_string(vpa_json_at(item, "status.lastUpdateTime"));
    vpa_time stored;

    return text && vpa_time_parse(text, &stored, NULL) == 0 &&
           stored < vpa_autoscaler_history_age(v, id->container).loaded_from;
}

static bool is_to_be_loaded(struct loading *l, const struct checkpoint_identity *id,
                            const struct vpa_json *item, const struct vpa_autoscaler *v)
{
    if (l->again ? !holds_what_is_counted(l, id, item, v) : !vpa_autoscaler_awaits_history(v))
        return false;
    return !is_older(id, item, v) && is_of_target(l, id, item, v);
}

/* item NULL: it cannot be read at all. */
static int load_stored(struct loading *l, const struct checkpoint_identity *id,
                       const struct vpa_json *item, struct vpa_slice text, struct vpa_autoscaler *v,
                       struct vpa_error *err)
{
    const char *version = vpa_json_string(vpa_json_at(item, "status.version"));
    const struct vpa_json *unused;
    uint32_t history;

    if (!item && vpa_json_parse(&l->arena, text.ptr, text.len, &unused, err) < 0)
        return -1;
    if (checkpoint_state_is(version))
        return load_state(l, id, v, version, err);
    if (load_item(l, id, item, &history, err) < 0)
        return -1;
    load_intervals(l, id, history);
    l->loaded++;
    return 0;
}

static void on_stored(void *ctx, const struct vpa_json *item, struct vpa_slice text)
{
    struct loading *l = ctx;
    struct checkpoints *c = l->checkpoints;
    struct checkpoint_identity id = checkpoint_identity(&l->arena, item, text);
    struct vpa_error err;

    if (vpa_common_flags_ignore(&c->options.config->common, id.ns))
        return;
    if (id.unreadable_since) {
        checkpoint_names_found_copy(&c->names, id.ns, id.name);
        return;
    }
    checkpoint_names_found(&c->names, id.ns, id.name, id.vpa, id.container,
                           vpa_json_first(id.annotations));
    struct vpa_autoscaler *v = vpa_cluster_find_vpa(c->options.cluster, id.ns, id.vpa);
    if (!v)
        VPA_V(3, "Checkpoint without VPA", VPA_KV("checkpoint", id.name));
    /* One that a backup has left without a status has nothing to load, and nothing to keep. */
    bool is_empty = item && vpa_json_is_null(vpa_json_find(item, "status"));
    if (v && !is_empty && is_to_be_loaded(l, &id, item, v) &&
        load_stored(l, &id, item, text, v, &err) < 0)
        keep_unreadable(c, &id, &err);
    vpa_arena_clear(&l->arena);
}

/* Of one namespace, or of all (NULL). */
static int load_from(struct checkpoints *c, const char *ns, bool again, struct vpa_error *err)
{
    struct loading loading = {
        .checkpoints = c,
        .now = set_clock_of_server(c->options.loop, vpa_kube_client_ahead(c->options.reader)),
        .again = again};
    vpa_auto_buf path = {0};
    size_t count;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(c->options.cluster, &count);

    checkpoint_path(&path, ns, NULL);
    struct vpa_list_request request = {.path = vpa_buf_text(&path),
                                       .paged = true,
                                       .timeout = LIST_TIMEOUT,
                                       .with_unreadable = true};
    int result = vpa_list_each(c->options.reader, &request, on_stored, &loading, err);
    vpa_arena_release(&loading.arena);
    if (result < 0)
        return -1;
    for (size_t i = 0; i < count && !again; i++)
        if (!ns || !*ns || strcmp(vpa_autoscaler_ns(vpas[i]), ns) == 0)
            vpa_autoscaler_set_awaits_history(vpas[i], false);
    VPA_V(3, "Loaded checkpoints", VPA_KV("count", (int64_t)loading.loaded),
          VPA_KV("openIntervals", (int64_t)loading.intervals));
    return 0;
}

int checkpoints_load(struct checkpoints *c, struct vpa_error *err)
{
    size_t count;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(c->options.cluster, &count);

    for (size_t i = 0; i < count; i++)
        vpa_autoscaler_set_awaits_history(vpas[i], true);
    return load_from(c, c->options.config->common.vpa_object_namespace, false, err);
}

static bool is_awaiting(const struct checkpoints *c, const struct vpa_autoscaler *v)
{
    (void)c;
    return vpa_autoscaler_awaits_history(v);
}

typedef bool (*vpa_filter)(const struct checkpoints *c, const struct vpa_autoscaler *v);

/* Those of such VPAs, each once; heap array of borrowed names. */
static const char **namespaces_of(const struct checkpoints *c, vpa_filter is_one, size_t *count)
{
    size_t vpa_count;
    size_t capacity = 0;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(c->options.cluster, &vpa_count);
    const char **names = NULL;

    *count = 0;
    for (size_t i = 0; i < vpa_count; i++) { /* by namespace and name */
        const char *ns = vpa_autoscaler_ns(vpas[i]);

        if (!is_one(c, vpas[i]) || (*count > 0 && strcmp(names[*count - 1], ns) == 0))
            continue;
        VPA_GROW(names, *count, capacity);
        names[(*count)++] = ns;
    }
    return names;
}

static int load_of(struct checkpoints *c, vpa_filter is_one, bool again, struct vpa_error *err)
{
    size_t count;
    vpa_auto_free const char **names = namespaces_of(c, is_one, &count);

    if (count > LIST_NAMESPACES_MAX)
        return load_from(c, c->options.config->common.vpa_object_namespace, again, err);
    for (size_t i = 0; i < count; i++) {
        if (load_from(c, names[i], again, err) < 0)
            return -1;
    }
    return 0;
}

static void note_fresh(struct checkpoints *c)
{
    size_t count;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(c->options.cluster, &count);

    free_names(&c->fresh);
    for (size_t i = 0; i < count; i++) {
        if (!vpa_autoscaler_awaits_history(vpas[i]))
            continue;

        vpa_auto_free char *key =
            vpa_xjoin(vpa_autoscaler_ns(vpas[i]), '/', vpa_autoscaler_name(vpas[i]));

        add_name(&c->fresh, key);
    }
}

void checkpoints_load_new(struct checkpoints *c)
{
    struct vpa_error err;

    note_fresh(c);
    if (c->fresh.count == 0)
        return;
    checkpoint_names_prune(&c->names, c->options.cluster, vpa_loop_now(c->options.loop));
    if (load_of(c, is_awaiting, false, &err) == 0)
        return;
    free_names(&c->fresh);
    if (!vpa_loop_is_stopping(c->options.loop))
        VPA_ERROR("Cannot list VPA checkpoints; VPAs that are new here get no status until then",
                  VPA_KERR(&err));
}

void checkpoints_load_again(struct checkpoints *c)
{
    struct vpa_error err;

    if (c->fresh.count == 0)
        return;
    if (load_of(c, is_fresh, true, &err) < 0 && !vpa_loop_is_stopping(c->options.loop))
        VPA_ERROR("Cannot list VPA checkpoints; the last samples of VPAs that are new here may "
                  "count twice",
                  VPA_KERR(&err));
    free_names(&c->fresh);
}

/* ---- garbage ---- */

struct orphan {
    char *ns;
    char *name;
    char *vpa; /* that no cache has; NULL: it is there, the history has aged */
};
struct collection {
    struct checkpoints *checkpoints;
    struct vpa_table namespaces;    /* name -> itself */
    struct checkpoint_names stored; /* which objects the list brings */
    struct orphan *orphans;
    size_t orphan_count;
    size_t orphan_capacity;
    vpa_time now;
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
    add_name(&g->namespaces, name);
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

    return by_ns != 0 ? by_ns : strcmp(x->name, y->name);
}

static void on_present(void *ctx, const struct vpa_json *item, struct vpa_slice text)
{
    struct collection *g = ctx;

    add_name(&g->present, checkpoint_identity(&g->arena, item, text).name);
    vpa_arena_clear(&g->arena);
}

static void ask_for_vpas(struct collection *g, const char *ns)
{
    const struct checkpoints_options *o = &g->checkpoints->options;
    vpa_auto_buf path = {0};
    struct vpa_error err;

    vpa_buf_init(&path, VPA_KUBE_PATH_MAX);
    vpa_kube_path(&path, VPA_GROUP_VERSION, ns, "verticalpodautoscalers", NULL, NULL);
    struct vpa_list_request request = {.path = vpa_buf_text(&path),
                                       .paged = true,
                                       .timeout = LIST_TIMEOUT,
                                       .with_unreadable = true};
    free_names(&g->present);
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

static void delete_orphans(struct collection *g)
{
    const struct checkpoints_options *o = &g->checkpoints->options;
    struct failures undeleted = {.message = "Orphaned VPA checkpoint cleanup - error deleting"};

    if (g->orphans)
        qsort(g->orphans, g->orphan_count, sizeof g->orphans[0], orphan_cmp);
    for (size_t i = 0; i < g->orphan_count; i++) {
        /* A very large heap of garbage is taken away in several rounds. */
        if (vpa_loop_is_stopping(o->loop) ||
            vpa_time_sub(vpa_loop_now(o->loop), g->now) > o->config->checkpoints_timeout)
            break;
        if (is_certain(g, &g->orphans[i]))
            delete_checkpoint(o, &g->orphans[i], &undeleted);
    }
    failures_report(&undeleted);
    failures_report(&g->unasked);
}

static void collection_release(struct collection *g)
{
    free_names(&g->namespaces);
    free_names(&g->present);
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
    struct vpa_list_request namespaces = {.path = "/api/v1/namespaces", .timeout = LIST_TIMEOUT};
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
                                      .timeout = LIST_TIMEOUT,
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
        .now = now,
        .by = by,
        .unasked = {.message =
                        "Orphaned VPA checkpoint cleanup - cannot list VPAs, nothing is deleted"}};
    collect(&g, only_look);
    collection_release(&g);
}
