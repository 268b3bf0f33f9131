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

#include "checkpoints_internal.h"
#include "list.h"

#include "vpa/api/checkpoint.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"

#define LIST_TIMEOUT (5 * VPA_MINUTE)

void checkpoint_path(struct vpa_buf *out, const char *ns, const char *name)
{
    vpa_buf_init(out, VPA_KUBE_PATH_MAX);
    vpa_kube_path(out, VPA_GROUP_VERSION, ns, CHECKPOINT_RESOURCE, name, NULL);
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
    free(c);
}

/* What an item says about itself, also when the rest cannot be read. Borrowed from the item. */
struct identity {
    const char *ns;
    const char *name;
    const char *vpa;
    const char *container;
    const struct vpa_json *annotations;
    const char *unreadable_since; /* NULL on ordinary checkpoints */
};

static struct identity identity_of(const struct vpa_json *item)
{
    const struct vpa_json *metadata = vpa_json_find(item, "metadata");
    const struct vpa_json *annotations = vpa_json_find(metadata, "annotations");

    return (struct identity){
        .ns = vpa_or_empty(vpa_json_string(vpa_json_find(metadata, "namespace"))),
        .name = vpa_or_empty(vpa_json_string(vpa_json_find(metadata, "name"))),
        .vpa = vpa_or_empty(vpa_json_string(vpa_json_at(item, "spec.vpaObjectName"))),
        .container = vpa_or_empty(vpa_json_string(vpa_json_at(item, "spec.containerName"))),
        .annotations = annotations,
        .unreadable_since =
            vpa_json_string(vpa_json_find(annotations, CHECKPOINT_UNREADABLE_ANNOTATION)),
    };
}

/* ---- loading ---- */

struct loading {
    struct checkpoints *checkpoints;
    struct vpa_arena arena;
    vpa_time now;
    size_t loaded;
    size_t intervals; /* that go on */
};

static int load_item(struct loading *l, const struct identity *id, const struct vpa_json *item,
                     uint32_t *history, struct vpa_error *err)
{
    struct vpa_checkpoint checkpoint;

    if (vpa_checkpoint_decode(&l->arena, item, &checkpoint, err) < 0)
        return vpa_wrap(err, "cannot load checkpoint for VPA %s/%s. Reason", id->ns, id->vpa);
    *history = vpa_histogram_checkpoint_hash(&checkpoint.status.memory);
    return vpa_cluster_load_checkpoint(l->checkpoints->options.cluster, id->ns, id->vpa,
                                       id->container, &checkpoint.status, l->now, err);
}

static int resume_intervals(struct loading *l, const struct identity *id, const char *text,
                            uint32_t history, struct vpa_error *err)
{
    struct vpa_open_intervals open;

    if (vpa_open_intervals_decode(&l->arena, text, &open, err) < 0)
        return -1;
    if (open.history != history) /* another recommender has gone on with it */
        return 0;
    for (size_t i = 0; i < open.count; i++)
        if (vpa_cluster_resume_interval(l->checkpoints->options.cluster, id->ns, id->vpa,
                                        id->container, &open.items[i], l->now, err) < 0)
            return -1;
    l->intervals += open.count;
    return 0;
}

static void load_intervals(struct loading *l, const struct identity *id, uint32_t history)
{
    const char *text =
        vpa_json_string(vpa_json_find(id->annotations, VPA_OPEN_INTERVALS_ANNOTATION));
    struct vpa_error err;

    if (text && l->checkpoints->options.config->checkpoint_open_intervals &&
        resume_intervals(l, id, text, history, &err) < 0)
        VPA_ERROR("Cannot read the open intervals of a checkpoint; their memory peaks are lost",
                  VPA_KV("namespace", id->ns), VPA_KV("checkpoint", id->name), VPA_KERR(&err));
}

static void on_stored(void *ctx, const struct vpa_json *item, const char *text, size_t len)
{
    struct loading *l = ctx;
    struct checkpoints *c = l->checkpoints;
    struct identity id = identity_of(item);
    uint32_t history;
    struct vpa_error err;

    if (vpa_common_flags_ignore(&c->options.config->common, id.ns) || id.unreadable_since)
        return;
    checkpoint_names_found(&c->names, id.ns, id.name, id.vpa, id.container,
                           vpa_json_first(id.annotations));
    if (load_item(l, &id, item, &history, &err) == 0) {
        load_intervals(l, &id, history);
        l->loaded++;
    } else if (!vpa_cluster_find_vpa(c->options.cluster, id.ns, id.vpa)) {
        VPA_V(3, "Checkpoint without VPA", VPA_KV("checkpoint", id.name), VPA_KERR(&err));
    } else {
        struct checkpoint_entry *entry =
            checkpoint_names_entry(&c->names, id.ns, id.vpa, id.container);

        VPA_ERROR("Error while loading checkpoint; it will be kept aside",
                  VPA_KV("namespace", id.ns), VPA_KV("checkpoint", id.name), VPA_KERR(&err));
        free(entry->unreadable);
        entry->unreadable = vpa_xstrndup(text, len);
    }
    vpa_arena_clear(&l->arena);
}

int checkpoints_load(struct checkpoints *c, struct vpa_error *err)
{
    struct loading loading = {.checkpoints = c, .now = vpa_loop_now(c->options.loop)};
    vpa_auto_buf path = {0};

    checkpoint_path(&path, c->options.config->common.vpa_object_namespace, NULL);
    struct list_request request = {
        .path = vpa_buf_text(&path), .paged = true, .timeout = LIST_TIMEOUT};
    int result = list_each(c->options.reader, &request, on_stored, &loading, err);
    vpa_arena_release(&loading.arena);
    if (result == 0)
        VPA_V(3, "Loaded checkpoints", VPA_KV("count", (int64_t)loading.loaded),
              VPA_KV("openIntervals", (int64_t)loading.intervals));
    return result;
}

/* ---- garbage ---- */

struct orphan {
    char *ns;
    char *name;
};
struct collection {
    struct checkpoints *checkpoints;
    struct vpa_table namespaces;    /* name -> itself */
    struct checkpoint_names stored; /* which objects the list brings */
    struct orphan *orphans;
    size_t orphan_count;
    size_t orphan_capacity;
    vpa_time now;
};

static void on_namespace(void *ctx, const struct vpa_json *item, const char *text, size_t len)
{
    struct collection *g = ctx;
    const char *name = vpa_json_string(vpa_json_at(item, "metadata.name"));

    (void)text;
    (void)len;
    if (!name || vpa_common_flags_ignore(&g->checkpoints->options.config->common, name))
        return;
    char *copy = vpa_xstrdup(name);
    free(vpa_table_put(&g->namespaces, copy, copy));
}

/* How long a checkpoint that was kept aside is of use to anybody: as long as a history. */
static bool is_outdated(const struct collection *g, const char *since)
{
    const struct recommender_config *config = g->checkpoints->options.config;
    vpa_duration window;
    vpa_time kept;

    if (vpa_time_parse(since, &kept, NULL) < 0)
        return true;
    if (__builtin_mul_overflow(config->memory_interval, config->memory_interval_count, &window))
        return false;
    return vpa_time_sub(g->now, kept) >= window;
}

static void on_collected(void *ctx, const struct vpa_json *item, const char *text, size_t len)
{
    struct collection *g = ctx;
    struct checkpoints *c = g->checkpoints;
    struct identity id = identity_of(item);

    (void)text;
    (void)len;
    if (!id.unreadable_since)
        checkpoint_names_found(&g->stored, id.ns, id.name, id.vpa, id.container,
                               vpa_json_first(id.annotations));
    if (!vpa_table_find(&g->namespaces, id.ns))
        return;
    if (feeder_has_vpa(c->options.feeder, id.ns, id.vpa) &&
        !(id.unreadable_since && is_outdated(g, id.unreadable_since)))
        return;
    VPA_GROW(g->orphans, g->orphan_count, g->orphan_capacity);
    g->orphans[g->orphan_count++] = (struct orphan){vpa_xstrdup(id.ns), vpa_xstrdup(id.name)};
}

static int orphan_cmp(const void *a, const void *b)
{
    const struct orphan *x = a;
    const struct orphan *y = b;
    int by_ns = strcmp(x->ns, y->ns);

    return by_ns != 0 ? by_ns : strcmp(x->name, y->name);
}

static void delete_orphans(struct collection *g)
{
    static const char body[] =
        "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"" VPA_GROUP_VERSION "\"}";
    const struct checkpoints_options *o = &g->checkpoints->options;

    if (g->orphan_count > 0)
        qsort(g->orphans, g->orphan_count, sizeof g->orphans[0], orphan_cmp);
    for (size_t i = 0; i < g->orphan_count; i++) {
        struct vpa_error err;
        vpa_auto_buf path = {0};

        /* A very large heap of garbage is taken away in several rounds. */
        if (vpa_loop_is_stopping(o->loop) ||
            vpa_time_sub(vpa_loop_now(o->loop), g->now) > o->config->checkpoints_timeout)
            return;
        checkpoint_path(&path, g->orphans[i].ns, g->orphans[i].name);
        struct vpa_kube_call call = {.verb = VPA_KUBE_DELETE,
                                     .path = vpa_buf_text(&path),
                                     .body = body,
                                     .body_len = sizeof body - 1,
                                     .timeout = CHECKPOINT_TIMEOUT};
        if (vpa_kube_do(o->writer, &call, NULL, NULL, &err) < 0 && err.code != VPA_NOT_FOUND)
            VPA_ERROR("Orphaned VPA checkpoint cleanup - error deleting",
                      VPA_KV("namespace", g->orphans[i].ns),
                      VPA_KV("checkpoint", g->orphans[i].name), VPA_KERR(&err));
        else
            VPA_V(3, "Orphaned VPA checkpoint cleanup - deleting",
                  VPA_KV("namespace", g->orphans[i].ns), VPA_KV("checkpoint", g->orphans[i].name));
    }
}

static void collection_release(struct collection *g)
{
    size_t i = 0;
    const char *key;
    void *value;

    while (vpa_table_next(&g->namespaces, &i, &key, &value))
        free(value);
    vpa_table_release(&g->namespaces);
    checkpoint_names_release(&g->stored);
    for (size_t k = 0; k < g->orphan_count; k++) {
        free(g->orphans[k].ns);
        free(g->orphans[k].name);
    }
    free(g->orphans);
}

static void collect(struct collection *g)
{
    struct checkpoints *c = g->checkpoints;
    struct list_request namespaces = {.path = "/api/v1/namespaces", .timeout = LIST_TIMEOUT};
    struct vpa_error err;
    vpa_auto_buf path = {0};

    if (list_each(c->options.reader, &namespaces, on_namespace, g, &err) < 0) {
        if (!vpa_loop_is_stopping(c->options.loop))
            VPA_ERROR_UNLESS_TOLD(&err, "Cannot list namespaces", VPA_KERR(&err));
        return;
    }
    checkpoint_path(&path, c->options.config->common.vpa_object_namespace, NULL);
    struct list_request stored = {
        .path = vpa_buf_text(&path), .paged = true, .timeout = LIST_TIMEOUT};
    if (list_each(c->options.reader, &stored, on_collected, g, &err) < 0) {
        if (!vpa_loop_is_stopping(c->options.loop))
            VPA_ERROR_UNLESS_TOLD(&err, "Cannot list VPA checkpoints", VPA_KERR(&err));
        return;
    }
    checkpoint_names_take_objects(&c->names, &g->stored);
    delete_orphans(g);
}

void checkpoints_collect_garbage(struct checkpoints *c)
{
    vpa_time now = vpa_loop_now(c->options.loop);

    if (vpa_time_sub(now, c->last_collection) <= c->options.config->checkpoints_gc_interval)
        return;
    c->last_collection = now;
    checkpoint_names_prune(&c->names, c->options.cluster);
    struct collection g = {.checkpoints = c, .now = now};
    collect(&g);
    collection_release(&g);
}
