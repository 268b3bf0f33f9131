/*
 * The feeder.
 *
 * VPAs. Every VPA on the API server is known by its key, with at most two versions, decoded: the
 * one that the pass works on, which the model borrows, and a newer one, if any came since. One that
 * does not decode is *unknown*: the model keeps the last version that did, and nothing is decided
 * on what the VPA says until a version decodes again (feeder_knows_vpa).
 *
 * Pods are not kept here but for those that changed since the last pass (pod_inbox.h); the model
 * holds what it needs of the others. A LIST must be able to say which pods are gone, so the names
 * that it brought are collected and compared when it has come to its end; a list that breaks off
 * changes nothing.
 *
 * Keys put a byte between namespace and name that sorts below every character of a name, so that
 * sorted keys are sorted by namespace and then by name.
 */
#include "feeder.h"

#include <stdlib.h>
#include <string.h>

#include "failures.h"
#include "pod_inbox.h"
#include "slim.h"
#include "target.h"

#include "vpa/api/event.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/kube/reflector.h"

#define RESYNC VPA_HOUR

/* ---- types ---- */

struct known_vpa {
    char *key;
    struct slim_vpa *current; /* of this pass, borrowed by the model; NULL: none was decoded yet */
    struct slim_vpa *next;    /* came since; NULL: nothing */
    uint64_t list;            /* number of the list that saw it last */
    bool in_model;
    bool gone;    /* deleted on the API server */
    bool unknown; /* its newest version does not decode */
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
    bool passed;     /* a pass has seen the pods of the model */
    unsigned passes; /* nesting depth; 0: the model is at rest */

    uint64_t vpa_list;
    struct vpa_table vpas; /* key -> struct known_vpa */
    struct pod_inbox pods;
    struct vpa_oom_queue ooms;
    struct slim_pool slim;
    struct vpa_arena scratch; /* of one event */
};

/* ---- VPA events ---- */

static void version_free(struct feeder *f, struct slim_vpa *version)
{
    if (!version)
        return;
    slim_vpa_release(&f->slim, version);
    free(version);
}

static void known_free(struct feeder *f, struct known_vpa *k)
{
    version_free(f, k->current);
    version_free(f, k->next);
    free(k->key);
    free(k);
}

static struct known_vpa *find_vpa(const struct feeder *f, const char *ns, const char *name)
{
    vpa_auto_free char *key = vpa_xjoin(ns, SLIM_KEY_SEPARATOR, name);

    return vpa_table_find(&f->vpas, key);
}

/* The VPA of that name, which was seen just now in the version that may be NULL: unknown. */
static void put_version(struct feeder *f, const char *ns, const char *name,
                        struct slim_vpa *version)
{
    struct known_vpa *k = find_vpa(f, ns, name);

    if (!k) {
        k = vpa_xcalloc(1, sizeof *k);
        k->key = vpa_xjoin(ns, SLIM_KEY_SEPARATOR, name);
        vpa_table_put(&f->vpas, k->key, k);
    }
    if (version) {
        version_free(f, k->next);
        k->next = version;
    }
    k->list = f->vpa_list;
    k->gone = false;
    k->unknown = version == NULL;
}

static void on_vpa_begin(void *ctx)
{
    struct feeder *f = ctx;

    f->vpa_list++;
}

static const char *name_in(const struct vpa_json *json, const char *member)
{
    return vpa_json_string(vpa_json_find(vpa_json_find(json, "metadata"), member));
}

static int on_vpa(void *ctx, enum vpa_reflector_event event, const struct vpa_json *json,
                  struct vpa_error *err)
{
    struct feeder *f = ctx;
    const char *ns = name_in(json, "namespace");
    const char *name = name_in(json, "name");
    struct slim_vpa *version;

    if (!ns || !name)
        return vpa_fail(err, VPA_INVALID, "metadata: name and namespace expected");
    if (event == VPA_REFLECTOR_DELETED) {
        struct known_vpa *k = find_vpa(f, ns, name);

        if (k)
            k->gone = true;
        return 0;
    }
    version = vpa_xcalloc(1, sizeof *version);
    if (slim_vpa_decode(&f->slim, &f->scratch, json, version, err) < 0) {
        free(version);
        put_version(f, ns, name, NULL);
        return -1;
    }
    put_version(f, ns, name, version);
    return 0;
}

static void on_vpa_end(void *ctx)
{
    struct feeder *f = ctx;
    size_t i = 0;
    void *value;

    while (vpa_table_next(&f->vpas, &i, NULL, &value)) {
        struct known_vpa *k = value;

        if (k->list < f->vpa_list)
            k->gone = true;
    }
}

/* ---- VPAs into the model ---- */

static const struct slim_vpa *newest(const struct known_vpa *k)
{
    return k->next ? k->next : k->current;
}

static bool is_served(const struct feeder *f, const struct known_vpa *k)
{
    const char *name = f->config->name;

    if (k->gone || !newest(k))
        return false;
    const struct vpa_object *vpa = &newest(k)->object;
    bool named = vpa->recommender_count == 0 && strcmp(name, "default") == 0;

    for (size_t i = 0; i < vpa->recommender_count; i++)
        if (strcmp(vpa->recommenders[i], name) == 0)
            named = true;
    return named && !vpa_common_flags_ignore(&f->config->common, vpa->meta.ns);
}

/* The newer version becomes the current one; what the model borrowed is given back. */
static struct slim_vpa *adopt(struct known_vpa *k)
{
    struct slim_vpa *before = NULL;

    if (k->next) {
        before = k->current;
        k->current = VPA_STEAL(k->next);
    }
    return before;
}

static void load_vpa(struct feeder *f, struct known_vpa *k, struct vpa_arena *arena, vpa_time now)
{
    struct slim_vpa *before = adopt(k);
    const struct vpa_object *object = &k->current->object;
    struct target target;

    target_resolve(f->owners, object, arena, &target);
    struct vpa_autoscaler *v = vpa_cluster_put_vpa(
        f->cluster, object, target.resolved ? &target.selector : NULL, target.unsupported, now);
    if (!k->in_model && !recommender_uses_prometheus(f->config))
        vpa_autoscaler_set_awaits_history(v, true);
    k->in_model = true;
    version_free(f, before);
}

static void unload_vpa(struct feeder *f, struct known_vpa *k)
{
    if (k->in_model)
        vpa_cluster_remove_vpa(f->cluster, k->current->object.meta.ns,
                               k->current->object.meta.name);
    k->in_model = false;
    version_free(f, adopt(k));
    if (k->gone) {
        vpa_table_remove(&f->vpas, k->key);
        known_free(f, k);
    }
}

void feeder_load_vpas(struct feeder *f, vpa_time now)
{
    vpa_auto_arena arena = {0};

    vpa_owners_begin_pass(f->owners);
    size_t count = f->vpas.count;
    vpa_auto_free struct known_vpa **sorted = (struct known_vpa **)vpa_table_sorted(&f->vpas);
    vpa_auto_free bool *served = vpa_xcalloc(count + 1, sizeof *served);
    for (size_t i = 0; i < count; i++) {
        served[i] = is_served(f, sorted[i]);
        if (served[i])
            load_vpa(f, sorted[i], &arena, now);
        vpa_arena_clear(&arena);
    }
    for (size_t i = 0; i < count; i++)
        if (!served[i])
            unload_vpa(f, sorted[i]);
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
    vpa_auto_free struct known_vpa **sorted = (struct known_vpa **)vpa_table_sorted(&f->vpas);

    *count = 0;
    for (size_t i = 0; i < f->vpas.count; i++) {
        const struct known_vpa *k = sorted[i];

        if (!k->current || k->in_model || k->gone ||
            vpa_common_flags_ignore(&f->config->common, k->current->object.meta.ns))
            continue;
        const struct vpa_object *vpa = &k->current->object;
        foreign[(*count)++] = (struct vpa_candidate){vpa, known_selector(f, vpa, arena)};
    }
    return foreign;
}

bool feeder_has_vpa(const struct feeder *f, const char *ns, const char *name)
{
    return find_vpa(f, ns, name) != NULL;
}

bool feeder_knows_vpa(const struct feeder *f, const char *ns, const char *name)
{
    const struct known_vpa *k = find_vpa(f, ns, name);

    return k && !k->unknown;
}

bool feeder_is_in_step(const struct feeder *f)
{
    return vpa_reflector_is_watching(f->vpa_reflector) &&
           vpa_reflector_is_watching(f->pod_reflector);
}

/* ---- pods ---- */

static void on_pod_begin(void *ctx)
{
    struct feeder *f = ctx;

    pod_inbox_begin_list(&f->pods);
}

/* Unusable, but it exists. */
static int keep_unusable(struct feeder *f, const char *ns, const char *name)
{
    pod_inbox_keep(&f->pods, ns, name);
    return -1;
}

/* The list that the model begins with goes straight into it; later ones bring little that is new.
 */
static int on_listed_pod(struct feeder *f, const struct vpa_json *json, struct vpa_pod *pod,
                         struct vpa_error *err)
{
    const struct vpa_meta *meta = &pod->meta;

    if (pod_inbox_has(&f->pods, meta->ns, meta->name))
        return pod_inbox_put(&f->pods, json, f->scratch.used, err);
    if (vpa_cluster_has_version(f->cluster, meta))
        return 0;
    if (f->passed || f->passes > 0)
        return pod_inbox_put(&f->pods, json, f->scratch.used, err);
    vpa_cluster_put_pod(f->cluster, pod, &f->ooms, vpa_loop_now(f->loop));
    return 0;
}

static int on_pod(void *ctx, enum vpa_reflector_event event, const struct vpa_json *json,
                  struct vpa_error *err)
{
    struct feeder *f = ctx;
    const char *ns = name_in(json, "namespace");
    const char *name = name_in(json, "name");
    struct vpa_pod pod;

    if (!ns || !name)
        return vpa_fail(err, VPA_INVALID, "metadata: name and namespace expected");
    if (event == VPA_REFLECTOR_DELETED) {
        pod_inbox_delete(&f->pods, ns, name);
        return 0;
    }
    if (event == VPA_REFLECTOR_LISTED)
        pod_inbox_listed(&f->pods, ns, name);
    vpa_arena_clear(&f->scratch);
    if (vpa_pod_decode(&f->scratch, json, &pod, err) < 0)
        return keep_unusable(f, ns, name);
    if (event == VPA_REFLECTOR_LISTED)
        return on_listed_pod(f, json, &pod, err);
    return pod_inbox_put(&f->pods, json, f->scratch.used, err);
}

static void on_pod_end(void *ctx)
{
    struct feeder *f = ctx;

    pod_inbox_end_list(&f->pods);
}

void feeder_load_pods(struct feeder *f, vpa_time now)
{
    pod_inbox_apply(&f->pods, f->cluster, &f->ooms, now);
    if (!f->passed)
        vpa_cluster_forget_deleted_pods(f->cluster, now);
}

void feeder_remove_deleted_pods(struct feeder *f)
{
    vpa_cluster_remove_deleted_pods(f->cluster);
    f->passed = true;
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
    struct failures unknown = {.message = "Failed to record OOM"};

    for (size_t i = 0; i < f->ooms.count; i++) {
        const struct vpa_oom *oom = &f->ooms.items[i];
        struct vpa_error err;

        if (vpa_cluster_record_oom(f->cluster, oom->ns, oom->pod, oom->container, oom->time,
                                   oom->memory, now, &err) < 0)
            failures_add(&unknown, oom->ns, oom->pod, &err);
    }
    failures_report(&unknown);
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
    pod_inbox_init(&f->pods);
    vpa_oom_queue_init(&f->ooms);
    return f;
}

void feeder_free(struct feeder *f)
{
    size_t i = 0;
    void *value;

    if (!f)
        return;
    vpa_reflector_free(f->vpa_reflector);
    vpa_reflector_free(f->pod_reflector);
    vpa_reflector_free(f->event_reflector);
    vpa_owners_free(f->owners);
    while (vpa_table_next(&f->vpas, &i, NULL, &value))
        known_free(f, value);
    vpa_table_release(&f->vpas);
    pod_inbox_release(&f->pods);
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
