/*
 * Reading checkpoints.
 *
 * There is no cache of checkpoints: they are listed once at start, item by item, and again when
 * garbage is collected (checkpoint_collection.c). A watch would bring every checkpoint back that
 * this process writes, a few kilobytes each, every pass, for nothing.
 */
#include "checkpoints.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint_identity.h"
#include "checkpoint_states.h"
#include "checkpoints_internal.h"
#include "set_clock.h"

#include "vpa/api/checkpoint.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/kube/list.h"

/* From more namespaces than this one list of all is cheaper than one of each. */
#define LIST_NAMESPACES_MAX 8

void checkpoint_path(struct vpa_buf *out, const char *ns, const char *name)
{
    vpa_buf_init(out, VPA_KUBE_PATH_MAX);
    vpa_kube_path(out, VPA_GROUP_VERSION, ns, CHECKPOINT_RESOURCE, name, NULL);
}

void checkpoint_set_release(struct vpa_table *names)
{
    VPA_TABLE_RELEASE(names, free);
}

void checkpoint_set_add(struct vpa_table *names, const char *name)
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
    checkpoint_set_release(&c->fresh);
    free(c->collected_until);
    free(c);
}

/* ---- loading ---- */

struct loading {
    struct checkpoints *checkpoints;
    struct vpa_arena arena;
    vpa_time now;
    bool again; /* checkpoints_load_again */
    size_t loaded;
    size_t intervals;        /* that go on */
    struct vpa_table others; /* pair to struct others */
    size_t surplus;
    char *first_surplus; /* its name */
};

/* Objects of a container that are not called as its checkpoint is. */
struct others {
    unsigned count;
    char pair[];
};

/* To load a history costs as much as the VPA has pods, and somebody can store any number of objects
 * that tell of one container. There is a second one where a name was taken, or a backup was
 * restored under another name. */
#define OTHERS_MAX 16

static bool is_surplus(struct loading *l, const struct checkpoint_identity *id)
{
    vpa_auto_free char *plain = vpa_xjoin(id->vpa, '-', id->container);

    if (strcmp(id->name, plain) == 0)
        return false;
    vpa_auto_free char *pair = vpa_xprintf("%s/%s/%s", id->ns, id->vpa, id->container);
    struct others *others = VPA_TABLE_MAKE(&l->others, pair, struct others, pair);

    if (others->count < OTHERS_MAX) {
        others->count++;
        return false;
    }
    if (l->surplus++ == 0)
        l->first_surplus = vpa_xjoin(id->ns, '/', id->name);
    return true;
}

static void loading_end(struct loading *l)
{
    if (l->surplus > 0)
        VPA_ERROR("Not loaded: checkpoints of containers that have many under other names",
                  VPA_KV("most", (int64_t)OTHERS_MAX), VPA_KV("count", (int64_t)l->surplus),
                  VPA_KV("first", l->first_surplus));
    free(l->first_surplus);
    VPA_TABLE_RELEASE(&l->others, free);
    vpa_arena_release(&l->arena);
}

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
    vpa_auto_buf named = VPA_BUF(VPA_OBJECT_TARGET_MAX);

    if (!target || !l->checkpoints->options.config->checkpoint_open_intervals)
        return true;
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
    vpa_replace_text(&entry->unreadable, id->name);
}

static bool is_fresh(const struct checkpoints *c, const struct vpa_autoscaler *v)
{
    vpa_auto_free char *key = vpa_xjoin(vpa_autoscaler_ns(v), '/', vpa_autoscaler_name(v));

    return vpa_table_find(&c->fresh, key) != NULL;
}

/* unset: it is not there. */
static vpa_time time_in(const struct vpa_json *item, const char *member)
{
    const char *text = vpa_json_string(vpa_json_at(item, member));
    vpa_time t;

    return text && vpa_time_parse(text, &t, NULL) == 0 ? t : VPA_TIME_UNSET;
}

/* Samples that the standby counted in this pass are in it. */
static bool holds_what_is_counted(const struct loading *l, const struct checkpoint_identity *id,
                                  const struct vpa_json *item, const struct vpa_autoscaler *v)
{
    vpa_time last = time_in(item, "status.lastSampleStart");

    return is_fresh(l->checkpoints, v) && !vpa_time_is_unset(last) &&
           last >= vpa_autoscaler_history_age(v, id->container).counted_until;
}

/* Of that history the last samples could not be stored: what was loaded of it before, and was
 * counted since, are no fewer and newer. */
static bool lacks_what_is_known(const struct loading *l, const struct checkpoint_identity *id,
                                const struct vpa_json *item, const struct vpa_autoscaler *v)
{
    struct vpa_history_age known = vpa_autoscaler_history_age(v, id->container);
    int64_t samples;

    return !l->again && !vpa_time_is_unset(known.loaded_first) &&
           time_in(item, "status.firstSampleStart") == known.loaded_first &&
           time_in(item, "status.lastSampleStart") < known.counted_until &&
           vpa_json_int64(vpa_json_at(item, "status.totalSamplesCount"), &samples) &&
           samples <= known.samples;
}

/* Than another object of the same container. */
static bool is_older(const struct checkpoint_identity *id, const struct vpa_json *item,
                     const struct vpa_autoscaler *v)
{
    vpa_time stored = time_in(item, "status.lastUpdateTime");

    return !vpa_time_is_unset(stored) &&
           stored < vpa_autoscaler_history_age(v, id->container).loaded_from;
}

static bool is_to_be_loaded(struct loading *l, const struct checkpoint_identity *id,
                            const struct vpa_json *item, const struct vpa_autoscaler *v)
{
    if (l->again ? !holds_what_is_counted(l, id, item, v) : !vpa_autoscaler_awaits_history(v))
        return false;
    return !is_older(id, item, v) && !lacks_what_is_known(l, id, item, v) &&
           is_of_target(l, id, item, v);
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
    if (v && !is_empty && !is_surplus(l, &id) && is_to_be_loaded(l, &id, item, v) &&
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
                                       .timeout = CHECKPOINT_LIST_TIMEOUT,
                                       .with_unreadable = true};
    int result = vpa_list_each(c->options.reader, &request, on_stored, &loading, err);
    loading_end(&loading);
    if (result < 0)
        return -1;
    for (size_t i = 0; i < count && !again; i++)
        if (!ns || !*ns || strcmp(vpa_autoscaler_ns(vpas[i]), ns) == 0)
            vpa_autoscaler_set_awaits_history(vpas[i], false);
    VPA_V(3, "Loaded checkpoints", VPA_KV("count", (int64_t)loading.loaded),
          VPA_KV("openIntervals", (int64_t)loading.intervals));
    return 0;
}

void checkpoints_expect_all(struct checkpoints *c)
{
    size_t count;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(c->options.cluster, &count);

    for (size_t i = 0; i < count; i++)
        vpa_autoscaler_set_awaits_history(vpas[i], true);
}

int checkpoints_load(struct checkpoints *c, struct vpa_error *err)
{
    checkpoints_expect_all(c);
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

    checkpoint_set_release(&c->fresh);
    for (size_t i = 0; i < count; i++) {
        if (!vpa_autoscaler_awaits_history(vpas[i]))
            continue;

        vpa_auto_free char *key =
            vpa_xjoin(vpa_autoscaler_ns(vpas[i]), '/', vpa_autoscaler_name(vpas[i]));

        checkpoint_set_add(&c->fresh, key);
    }
}

bool checkpoints_load_new(struct checkpoints *c)
{
    struct vpa_error err;

    note_fresh(c);
    if (c->fresh.count == 0)
        return true;
    checkpoint_names_prune(&c->names, c->options.cluster, vpa_loop_now(c->options.loop));
    if (load_of(c, is_awaiting, false, &err) == 0)
        return true;
    checkpoint_set_release(&c->fresh);
    if (!vpa_loop_is_stopping(c->options.loop))
        VPA_ERROR("Cannot list VPA checkpoints; VPAs that are new here get no status until then",
                  VPA_KERR(&err));
    return false;
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
    checkpoint_set_release(&c->fresh);
}
