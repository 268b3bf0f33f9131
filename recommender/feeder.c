/*
 * The feeder.
 *
 * VPAs. The newest version of every VPA is kept, decoded, in an arena of its own; the model borrows
 * the ones that this recommender serves. A watch event puts a new version into `inbox`; the pass
 * moves it into `vpas`, and the version before it lives on in `retired` until the model has been
 * given the new one.
 *
 * Pods are not kept: the model holds what it needs of them. A LIST must be able to say which pods
 * are gone, so the names that it brought are collected and compared when it has come to its end; a
 * list that breaks off changes nothing.
 *
 * Keys put a byte between namespace and name that sorts below every character of a name, so that
 * sorted keys are sorted by namespace and then by name.
 */
#include "feeder.h"

#include <stdlib.h>
#include <string.h>

#include "slim.h"
#include "target.h"

#include "vpa/api/event.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/kube/reflector.h"

#define RESYNC VPA_HOUR

/* ---- types ---- */

struct observed {        /* one version of a VPA */
    struct slim_vpa vpa; /* of an unusable one there is only the key */
    uint64_t list;       /* number of the list that saw it last */
    bool in_model;       /* the model borrows this version or an older one */
    bool gone;           /* deleted on the API server */
    bool unusable;       /* could not be decoded */
};
enum op_kind { OP_PUT, OP_DELETE, OP_LISTED };
struct vpa_op {
    enum op_kind kind;
    struct observed *observed; /* OP_PUT; moves out */
    char *key;                 /* OP_DELETE */
    uint64_t list;             /* OP_PUT, OP_LISTED */
};
struct pod_op {
    enum op_kind kind;
    struct vpa_arena arena;
    struct vpa_pod pod;   /* OP_PUT, OP_DELETE: namespace and name */
    struct vpa_buf names; /* OP_LISTED: "ns\0name\0"... */
};

struct feeder {
    struct vpa_loop *loop;
    const struct recommender_config *config;
    struct vpa_cluster *cluster;
    struct vpa_owners *owners;
    struct vpa_reflector *vpa_reflector;
    struct vpa_reflector *pod_reflector;
    struct vpa_reflector *event_reflector;
    bool pods_started;
    unsigned passes; /* nesting depth; 0: the model is at rest */

    struct vpa_op *vpa_ops;
    size_t vpa_op_count;
    size_t vpa_op_capacity;
    uint64_t vpa_list;
    struct vpa_table vpas; /* key -> struct observed */
    struct observed **retired;
    size_t retired_count;
    size_t retired_capacity;

    struct pod_op *pod_ops;
    size_t pod_op_count;
    size_t pod_op_capacity;
    struct vpa_buf pod_names; /* of the list under way */
    struct vpa_oom_queue ooms;
    struct slim_pool slim;
    struct vpa_arena scratch; /* of one event */
};

/* Names of one list: 64 MiB are a million pods. */
#define POD_NAMES_MAX ((size_t)64 << 20)

static char *key_of(const char *ns, const char *name)
{
    return vpa_xprintf("%s" SLIM_KEY_SEPARATOR "%s", ns, name);
}

static void observed_free(struct feeder *f, struct observed *o)
{
    if (!o)
        return;
    slim_vpa_release(&f->slim, &o->vpa);
    free(o);
}

/* ---- VPA events (enqueue only) ---- */

static struct vpa_op *vpa_op_push(struct feeder *f, enum op_kind kind)
{
    VPA_GROW(f->vpa_ops, f->vpa_op_count, f->vpa_op_capacity);
    struct vpa_op *op = &f->vpa_ops[f->vpa_op_count++];

    *op = (struct vpa_op){.kind = kind, .list = f->vpa_list};
    return op;
}

static void on_vpa_begin(void *ctx)
{
    struct feeder *f = ctx;

    f->vpa_list++;
}

/* A VPA that cannot be decoded exists all the same: its checkpoints stay (U2), and so does the last
 * version that could be decoded. */
static void note_unusable(struct feeder *f, const struct vpa_json *json)
{
    const char *ns = vpa_json_string(vpa_json_at(json, "metadata.namespace"));
    const char *name = vpa_json_string(vpa_json_at(json, "metadata.name"));

    if (!ns || !name)
        return;
    struct observed *o = vpa_xcalloc(1, sizeof(*o));
    vpa_arena_init(&o->vpa.arena, strlen(ns) + strlen(name) + 2);
    o->vpa.key = vpa_arena_printf(&o->vpa.arena, "%s" SLIM_KEY_SEPARATOR "%s", ns, name);
    o->unusable = true;
    vpa_op_push(f, OP_PUT)->observed = o;
}

static int on_vpa(void *ctx, enum vpa_reflector_event event, const struct vpa_json *json,
                  struct vpa_error *err)
{
    struct feeder *f = ctx;

    if (event == VPA_REFLECTOR_DELETED) {
        vpa_auto_arena arena = {0};
        struct vpa_meta meta;

        if (vpa_meta_decode(&arena, vpa_json_find(json, "metadata"), &meta, err) < 0)
            return -1;
        vpa_op_push(f, OP_DELETE)->key = key_of(meta.ns, meta.name);
        return 0;
    }

    struct observed *o = vpa_xcalloc(1, sizeof(*o));
    if (slim_vpa_decode(&f->slim, &f->scratch, json, &o->vpa, err) < 0) {
        free(o);
        note_unusable(f, json);
        return -1;
    }
    vpa_op_push(f, OP_PUT)->observed = o;
    return 0;
}

static void on_vpa_end(void *ctx)
{
    vpa_op_push(ctx, OP_LISTED);
}

/* ---- VPA events applied ---- */

static void retire(struct feeder *f, struct observed *o)
{
    VPA_GROW(f->retired, f->retired_count, f->retired_capacity);
    f->retired[f->retired_count++] = o;
}

static void put_observed(struct feeder *f, struct observed *o, uint64_t list)
{
    struct observed *before = vpa_table_find(&f->vpas, o->vpa.key);

    if (before && o->unusable) {
        before->list = list;
        before->gone = false;
        observed_free(f, o);
        return;
    }
    vpa_table_put(&f->vpas, o->vpa.key, o);
    o->list = list;
    if (before) {
        o->in_model = before->in_model;
        retire(f, before);
    }
}

static void mark_unlisted_gone(struct feeder *f, uint64_t list)
{
    size_t i = 0;
    const char *key;
    void *value;

    while (vpa_table_next(&f->vpas, &i, &key, &value)) {
        struct observed *o = value;

        if (o->list < list)
            o->gone = true;
    }
}

static void apply_vpa_ops(struct feeder *f)
{
    for (size_t i = 0; i < f->vpa_op_count; i++) {
        struct vpa_op *op = &f->vpa_ops[i];

        if (op->kind == OP_PUT) {
            put_observed(f, op->observed, op->list);
        } else if (op->kind == OP_DELETE) {
            struct observed *o = vpa_table_find(&f->vpas, op->key);

            if (o)
                o->gone = true;
            free(op->key);
        } else {
            mark_unlisted_gone(f, op->list);
        }
    }
    /* After a list of everything the room is not needed any more. */
    free(f->vpa_ops);
    f->vpa_ops = NULL;
    f->vpa_op_count = 0;
    f->vpa_op_capacity = 0;
}

/* ---- VPAs into the model ---- */

static bool is_served(const struct feeder *f, const struct observed *o)
{
    const struct vpa_object *vpa = &o->vpa.object;
    const char *name = f->config->name;

    if (o->unusable)
        return false;
    bool named = vpa->recommender_count == 0 && strcmp(name, "default") == 0;

    for (size_t i = 0; i < vpa->recommender_count; i++)
        if (strcmp(vpa->recommenders[i], name) == 0)
            named = true;
    return named && !o->gone && !vpa_common_flags_ignore(&f->config->common, vpa->meta.ns);
}

static void load_vpa(struct feeder *f, struct observed *o, struct vpa_arena *arena, vpa_time now)
{
    struct target target;

    target_resolve(f->owners, &o->vpa.object, arena, &target);
    vpa_cluster_put_vpa(f->cluster, &o->vpa.object, target.resolved ? &target.selector : NULL,
                        target.unsupported, now);
    o->in_model = true;
}

static void unload_vpa(struct feeder *f, struct observed *o)
{
    if (o->in_model)
        vpa_cluster_remove_vpa(f->cluster, o->vpa.object.meta.ns, o->vpa.object.meta.name);
    o->in_model = false;
}

void feeder_load_vpas(struct feeder *f, vpa_time now)
{
    vpa_auto_arena arena = {0};

    apply_vpa_ops(f);
    vpa_owners_begin_pass(f->owners);
    size_t count = f->vpas.count;
    vpa_auto_free struct observed **sorted = (struct observed **)vpa_table_sorted(&f->vpas);
    for (size_t i = 0; i < count; i++) {
        if (!is_served(f, sorted[i]))
            continue;
        load_vpa(f, sorted[i], &arena, now);
        vpa_arena_clear(&arena);
    }
    for (size_t i = 0; i < count; i++) {
        struct observed *o = sorted[i];

        if (!is_served(f, o))
            unload_vpa(f, o);
        if (o->gone) {
            vpa_table_remove(&f->vpas, o->vpa.key);
            observed_free(f, o);
        }
    }
    for (size_t i = 0; i < f->retired_count; i++)
        observed_free(f, f->retired[i]);
    f->retired_count = 0;
}

static const struct vpa_selector *known_selector(struct feeder *f, const struct vpa_object *vpa,
                                                 struct vpa_arena *arena)
{
    struct target *target;

    if (vpa->target_ref.present && !vpa_is_well_known_kind(vpa->target_ref.kind))
        return NULL;
    target = vpa_arena_zalloc(arena, sizeof(*target));
    target_resolve(f->owners, vpa, arena, target);
    return target->resolved ? &target->selector : NULL;
}

const struct vpa_candidate *feeder_foreign_vpas(struct feeder *f, struct vpa_arena *arena,
                                                size_t *count)
{
    struct vpa_candidate *foreign = vpa_arena_alloc(arena, (f->vpas.count + 1) * sizeof(*foreign));
    vpa_auto_free struct observed **sorted = (struct observed **)vpa_table_sorted(&f->vpas);

    *count = 0;
    for (size_t i = 0; i < f->vpas.count; i++) {
        const struct observed *o = sorted[i];
        const struct vpa_object *vpa = &o->vpa.object;

        if (o->unusable || o->gone || is_served(f, o) ||
            vpa_common_flags_ignore(&f->config->common, vpa->meta.ns))
            continue;
        foreign[(*count)++] = (struct vpa_candidate){vpa, known_selector(f, vpa, arena)};
    }
    return foreign;
}

bool feeder_has_vpa(const struct feeder *f, const char *ns, const char *name)
{
    vpa_auto_free char *key = key_of(ns, name);

    if (vpa_table_find(&f->vpas, key))
        return true;
    for (size_t i = 0; i < f->vpa_op_count; i++) /* seen since the pass began */
        if (f->vpa_ops[i].kind == OP_PUT && strcmp(f->vpa_ops[i].observed->vpa.key, key) == 0)
            return true;
    return false;
}

/* ---- pods ---- */

static void apply_pod_list(struct feeder *f, const struct vpa_buf *names)
{
    const char *end = names->data + names->len;

    vpa_cluster_mark_all_pods_deleted(f->cluster);
    for (const char *ns = names->data; ns && ns < end;) {
        const char *name = ns + strlen(ns) + 1;

        vpa_cluster_keep_pod(f->cluster, ns, name);
        ns = name + strlen(name) + 1;
    }
}

static void apply_pod_ops(struct feeder *f, vpa_time now)
{
    for (size_t i = 0; i < f->pod_op_count; i++) {
        struct pod_op *op = &f->pod_ops[i];

        if (op->kind == OP_PUT)
            vpa_cluster_put_pod(f->cluster, &op->pod, &f->ooms, now);
        else if (op->kind == OP_DELETE)
            vpa_cluster_mark_pod_deleted(f->cluster, op->pod.meta.ns, op->pod.meta.name);
        else
            apply_pod_list(f, &op->names);
        vpa_arena_release(&op->arena);
        vpa_buf_release(&op->names);
    }
    free(f->pod_ops);
    f->pod_ops = NULL;
    f->pod_op_count = 0;
    f->pod_op_capacity = 0;
}

static struct pod_op *pod_op_push(struct feeder *f, enum op_kind kind)
{
    if (f->pod_op_count >= FEEDER_PODS_MAX && f->passes == 0)
        apply_pod_ops(f, vpa_loop_now(f->loop));
    VPA_GROW(f->pod_ops, f->pod_op_count, f->pod_op_capacity);
    struct pod_op *op = &f->pod_ops[f->pod_op_count++];

    *op = (struct pod_op){.kind = kind};
    return op;
}

static void on_pod_begin(void *ctx)
{
    struct feeder *f = ctx;

    vpa_buf_clear(&f->pod_names);
}

static int on_pod(void *ctx, enum vpa_reflector_event event, const struct vpa_json *json,
                  struct vpa_error *err)
{
    struct feeder *f = ctx;
    struct vpa_arena arena = {0};
    struct vpa_pod pod = {0};
    int failed = event == VPA_REFLECTOR_DELETED
                     ? vpa_meta_decode(&arena, vpa_json_find(json, "metadata"), &pod.meta, err)
                     : vpa_pod_decode(&arena, json, &pod, err);

    /* Unusable, but it exists: the end of the list must not take it for gone. */
    if (failed < 0) {
        const char *ns = vpa_json_string(vpa_json_at(json, "metadata.namespace"));
        const char *name = vpa_json_string(vpa_json_at(json, "metadata.name"));

        if (event == VPA_REFLECTOR_LISTED && ns && name) {
            vpa_buf_append(&f->pod_names, ns, strlen(ns) + 1);
            vpa_buf_append(&f->pod_names, name, strlen(name) + 1);
        }
        vpa_arena_release(&arena);
        return -1;
    }
    if (event == VPA_REFLECTOR_LISTED) {
        vpa_buf_append(&f->pod_names, pod.meta.ns, strlen(pod.meta.ns) + 1);
        vpa_buf_append(&f->pod_names, pod.meta.name, strlen(pod.meta.name) + 1);
    }
    struct pod_op *op = pod_op_push(f, event == VPA_REFLECTOR_DELETED ? OP_DELETE : OP_PUT);
    op->arena = arena;
    op->pod = pod;
    return 0;
}

static void on_pod_end(void *ctx)
{
    struct feeder *f = ctx;

    if (vpa_buf_failed(&f->pod_names)) {
        VPA_ERROR(
            "Too many pods to compare with the list; pods that are gone stay until the next one");
        return;
    }
    struct pod_op *op = pod_op_push(f, OP_LISTED);
    op->names = f->pod_names;
    vpa_buf_init(&f->pod_names, POD_NAMES_MAX);
}

void feeder_load_pods(struct feeder *f, vpa_time now)
{
    apply_pod_ops(f, now);
}

void feeder_remove_deleted_pods(struct feeder *f)
{
    vpa_cluster_remove_deleted_pods(f->cluster);
}

/* ---- out-of-memory kills ---- */

static int on_event(void *ctx, enum vpa_reflector_event event, const struct vpa_json *json,
                    struct vpa_error *err)
{
    struct feeder *f = ctx;
    vpa_auto_arena arena = {0};
    struct vpa_event eviction;

    if (event != VPA_REFLECTOR_ADDED)
        return 0;
    if (vpa_event_decode(&arena, json, &eviction, err) < 0)
        return -1;
    err->code = VPA_OK;
    vpa_oom_observe_event(&f->ooms, &eviction, err);
    return err->code == VPA_OK ? 0 : -1;
}

void feeder_record_ooms(struct feeder *f, vpa_time now)
{
    for (size_t i = 0; i < f->ooms.count; i++) {
        const struct vpa_oom *oom = &f->ooms.items[i];
        struct vpa_error err;

        if (vpa_cluster_record_oom(f->cluster, oom->ns, oom->pod, oom->container, oom->time,
                                   oom->memory, now, &err) < 0)
            VPA_WARN("Failed to record OOM", VPA_KV("namespace", oom->ns), VPA_KV("pod", oom->pod),
                     VPA_KV("container", oom->container), VPA_KERR(&err));
    }
    if (f->ooms.dropped > 0)
        VPA_WARN("Too many OOMs for one pass, some were dropped",
                 VPA_KV("dropped", (int64_t)f->ooms.dropped));
    vpa_oom_queue_clear(&f->ooms);
}

/* ---- life ---- */

static struct vpa_reflector *new_reflector(struct feeder *f, const struct feeder_options *o,
                                           const char *group_version, const char *resource,
                                           struct vpa_reflector_options options)
{
    vpa_auto_buf path = {0};

    vpa_buf_init(&path, VPA_KUBE_PATH_MAX);
    vpa_kube_path(&path, group_version, f->config->common.vpa_object_namespace, resource, NULL,
                  NULL);
    options.client = o->client;
    options.name = resource;
    options.path = vpa_buf_text(&path);
    options.handler.ctx = f;
    return vpa_reflector_new(&options);
}

struct feeder *feeder_new(const struct feeder_options *options)
{
    struct feeder *f = vpa_xcalloc(1, sizeof *f);

    f->loop = options->loop;
    f->config = options->config;
    f->cluster = options->cluster;
    f->owners = vpa_owners_new(&(struct vpa_owners_options){
        .client = options->client, .ns = f->config->common.vpa_object_namespace});
    f->vpa_reflector =
        new_reflector(f, options, VPA_GROUP_VERSION, "verticalpodautoscalers",
                      (struct vpa_reflector_options){
                          .resync = RESYNC,
                          .handler = {.begin = on_vpa_begin, .object = on_vpa, .end = on_vpa_end}});
    f->pod_reflector =
        new_reflector(f, options, "v1", "pods",
                      (struct vpa_reflector_options){
                          .resync = RESYNC,
                          .field_selector = "status.phase!=Pending",
                          .handler = {.begin = on_pod_begin, .object = on_pod, .end = on_pod_end}});
    f->event_reflector =
        new_reflector(f, options, "v1", "events",
                      (struct vpa_reflector_options){.field_selector = "reason=Evicted",
                                                     .watch_only = true,
                                                     .handler = {.object = on_event}});
    vpa_buf_init(&f->pod_names, POD_NAMES_MAX);
    vpa_oom_queue_init(&f->ooms);
    return f;
}

void feeder_free(struct feeder *f)
{
    size_t i = 0;
    const char *key;
    void *value;

    if (!f)
        return;
    vpa_reflector_free(f->vpa_reflector);
    vpa_reflector_free(f->pod_reflector);
    vpa_reflector_free(f->event_reflector);
    vpa_owners_free(f->owners);
    for (size_t k = 0; k < f->vpa_op_count; k++) {
        observed_free(f, f->vpa_ops[k].observed);
        free(f->vpa_ops[k].key);
    }
    free(f->vpa_ops);
    while (vpa_table_next(&f->vpas, &i, &key, &value))
        observed_free(f, value);
    vpa_table_release(&f->vpas);
    free(f->retired);
    for (size_t k = 0; k < f->pod_op_count; k++) {
        vpa_arena_release(&f->pod_ops[k].arena);
        vpa_buf_release(&f->pod_ops[k].names);
    }
    free(f->pod_ops);
    vpa_buf_release(&f->pod_names);
    vpa_oom_queue_release(&f->ooms);
    slim_pool_release(&f->slim);
    vpa_arena_release(&f->scratch);
    free(f);
}

void feeder_start(struct feeder *f)
{
    vpa_owners_start(f->owners);
    vpa_reflector_start(f->vpa_reflector);
    vpa_reflector_start(f->event_reflector);
}

void feeder_start_pods(struct feeder *f)
{
    vpa_reflector_start(f->pod_reflector);
    f->pods_started = true;
}

int feeder_wait(struct feeder *f, struct vpa_error *err)
{
    struct vpa_reflector *needed[] = {f->vpa_reflector, f->pod_reflector};

    if (vpa_reflector_wait(needed, f->pods_started ? 2 : 1, f->loop, 0, err) < 0)
        return -1;
    return vpa_owners_wait(f->owners, 0, err);
}

void feeder_begin_pass(struct feeder *f)
{
    f->passes++;
}

void feeder_end_pass(struct feeder *f)
{
    f->passes--;
}

struct vpa_owners *feeder_owners(struct feeder *f)
{
    return f->owners;
}
