/*
 * The feeder.
 *
 * VPAs are in a watch cache. A pass works on a list of them, which is held until the next pass has
 * put its own into the model, because the model borrows them. One that does not decode is
 * *unknown*: the model keeps the last version that did, and nothing is decided on what the VPA says
 * until a version decodes again (feeder_knows_vpa).
 *
 * Pods are taken out of theirs: the model holds what it needs of them. A pass sees the cluster as
 * it is when the pass begins, as upstream's does: a pod that was created and deleted in between was
 * never there, and labels that it had for a moment match nothing. Out-of-memory kills are the
 * exception: only two versions next to each other show one, so the versions whose container
 * statuses differ wait as well.
 */
#include "feeder.h"

#include <stdlib.h>
#include <string.h>

#include "failures.h"
#include "slim.h"
#include "target.h"
#include "usage_sample.h"

#include "vpa/api/event.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/kube/cache.h"

#define RESYNC VPA_HOUR
/* How old the selector of a target may be with which a standby learns. One that leads asks in each
 * pass; two of them would spend what both may ask on the same answers. */
#define STANDBY_TARGET_AGE (5 * VPA_MINUTE)

/* ---- types ---- */

struct feeder {
    struct feeder_options options;
    struct vpa_owners *owners;
    struct vpa_cache *vpas;     /* struct slim_vpa */
    struct vpa_cache_list held; /* of the newest pass: what the model borrows */
    struct slim_pool slim;
    struct vpa_cache *pods; /* struct vpa_pod, until a pass takes them */
    struct vpa_reflector *event_reflector;
    bool pods_started;
    bool passed;     /* a pass has seen the pods of the model */
    unsigned passes; /* nesting depth; 0: the model is at rest */

    vpa_time now; /* of the pass that takes the pods */
    struct vpa_oom_queue ooms;
};

/* ---- VPAs ---- */

/* What it said when it was last known, NULL: it never was. */
static const struct vpa_object *last_words(const void *item)
{
    const struct slim_vpa *vpa = vpa_cache_last(item);

    return vpa ? &vpa->object : NULL;
}

static bool is_ignored(const struct feeder *f, const struct vpa_object *vpa)
{
    return vpa_common_flags_ignore(&f->options.config->common, vpa->meta.ns);
}

static bool is_served(const struct feeder *f, const struct vpa_object *vpa)
{
    const struct vpa_algorithm *algorithm;

    return vpa && algorithms_serve(f->options.algorithms, vpa, &algorithm) && !is_ignored(f, vpa);
}

static void load_vpa(struct feeder *f, const struct vpa_object *object, struct vpa_arena *arena,
                     vpa_time now)
{
    bool is_new = !vpa_cluster_find_vpa(f->options.cluster, object->meta.ns, object->meta.name);
    struct target target;

    target_resolve(f->owners, object, arena, &target);
    struct vpa_autoscaler *v =
        vpa_cluster_put_vpa(f->options.cluster, object, target.resolved ? &target.selector : NULL,
                            target.unsupported, now);
    bool is_checkpointed = !recommender_uses_prometheus(f->options.config);
    bool has_nothing = object->recommendation.container_count == 0;
    if (is_new && (is_checkpointed || !has_nothing))
        vpa_autoscaler_set_awaits_history(v, true);
    else if (!is_checkpointed && has_nothing) /* made anew, or emptied: nothing is to be kept */
        vpa_autoscaler_set_awaits_history(v, false);
    algorithms_apply(f->options.algorithms, v, now);
}

/* Both are ordered by namespace and name, and the model has all that were loaded: what is not one
 * of them is gone. From the end, because a removal moves what follows. */
static void unload_others(struct feeder *f, const struct vpa_object *const *loaded, size_t count)
{
    size_t total;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(f->options.cluster, &total);
    /* A copy: after each removal the model would sort all that are left. */
    vpa_auto_free struct vpa_autoscaler **before = vpa_xcalloc(total + 1, sizeof(vpas[0]));

    for (size_t i = 0; i < total; i++)
        before[i] = vpas[i];
    for (size_t i = total; i > count; i--) {
        const struct vpa_object *object = vpa_autoscaler_object(before[i - 1]);

        if (count > 0 && object == loaded[count - 1]) {
            count--;
            continue;
        }
        vpa_cluster_remove_vpa(f->options.cluster, object->meta.ns, object->meta.name);
    }
}

void feeder_load_vpas(struct feeder *f, vpa_time now)
{
    vpa_auto_arena arena = {0};
    vpa_auto_cache_list struct vpa_cache_list before = f->held;
    size_t count = 0;

    vpa_owners_begin_pass(f->owners);
    vpa_owners_remember_targets(f->owners,
                                f->options.standby && *f->options.standby ? STANDBY_TARGET_AGE : 0);
    vpa_cache_list(f->vpas, VPA_CACHE_ALL, &f->held);
    const struct vpa_cache_list used[] = {before, f->held};
    slim_pool_sweep(&f->slim, used, VPA_COUNT(used));
    vpa_auto_free const struct vpa_object **loaded =
        vpa_xcalloc(f->held.count + 1, sizeof(*loaded));
    for (size_t i = 0; i < f->held.count; i++) {
        const struct vpa_object *object = last_words(f->held.objects[i]);

        if (!is_served(f, object))
            continue;
        load_vpa(f, object, &arena, now);
        loaded[count++] = object;
        vpa_arena_clear(&arena);
    }
    unload_others(f, loaded, count);
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
    struct vpa_candidate *foreign = vpa_arena_alloc(arena, (f->held.count + 1) * sizeof(*foreign));

    *count = 0;
    for (size_t i = 0; i < f->held.count; i++) {
        const struct vpa_object *vpa = last_words(f->held.objects[i]);

        if (!vpa || is_served(f, vpa) || is_ignored(f, vpa))
            continue;
        foreign[(*count)++] = (struct vpa_candidate){vpa, known_selector(f, vpa, arena)};
    }
    return foreign;
}

bool feeder_has_vpa(const struct feeder *f, const char *ns, const char *name)
{
    return vpa_cache_has(f->vpas, ns, name);
}

bool feeder_knows_vpa(const struct feeder *f, const char *ns, const char *name)
{
    return !vpa_cache_is_unknown(f->vpas, ns, name);
}

static bool names_same_target(const struct vpa_object *a, const struct vpa_object *b)
{
    vpa_auto_buf one = VPA_BUF(VPA_OBJECT_TARGET_MAX), other = VPA_BUF(VPA_OBJECT_TARGET_MAX);

    vpa_object_target(a, &one);
    vpa_object_target(b, &other);
    return strcmp(vpa_buf_text(&one), vpa_buf_text(&other)) == 0;
}

const struct vpa_object *feeder_newest_vpa(const struct feeder *f, const struct vpa_object *object)
{
    const struct slim_vpa *vpa = vpa_cache_find(f->vpas, object->meta.ns, object->meta.name);

    if (!vpa || &vpa->object == object)
        return vpa ? object : NULL;
    bool same = strcmp(vpa->object.meta.uid, object->meta.uid) == 0 &&
                names_same_target(&vpa->object, object);
    return same ? &vpa->object : NULL;
}

bool feeder_is_in_step(const struct feeder *f)
{
    return vpa_reflector_is_watching(vpa_cache_reflector(f->vpas)) &&
           vpa_reflector_is_watching(vpa_cache_reflector(f->pods));
}

vpa_duration feeder_age(const struct feeder *f, const char **which)
{
    int64_t now = vpa_loop_monotonic(f->options.loop);
    vpa_duration oldest = vpa_owners_age(f->owners, now, which);
    vpa_duration vpas = vpa_cache_age(f->vpas, now);
    vpa_duration pods = vpa_cache_age(f->pods, now);

    if (vpas > oldest)
        *which = "verticalpodautoscalers", oldest = vpas;
    if (pods > oldest)
        *which = "pods", oldest = pods;
    return oldest;
}

/* ---- pods ---- */

struct pod_draft {
    struct vpa_pod pod;
    const struct vpa_json *json;
};

static int read_pod(void *ctx, struct vpa_arena *scratch, const struct vpa_json *json,
                    const void **out, struct vpa_error *err)
{
    struct pod_draft *draft = vpa_arena_alloc(scratch, sizeof(*draft));

    (void)ctx;
    draft->json = json;
    *out = draft;
    return vpa_pod_decode(scratch, json, &draft->pod, err);
}

static int make_pod(void *ctx, struct vpa_arena *arena, const void *draft, void *object,
                    struct vpa_error *err)
{
    (void)ctx;
    return vpa_pod_decode(arena, ((const struct pod_draft *)draft)->json, object, err);
}

static const struct vpa_cache_kind pod_kind = {
    .size = sizeof(struct vpa_pod), .read = read_pod, .make = make_pod, .left_out = vpa_pod_unread};

/* The list that the model begins with goes straight into it, so that listing 100,000 pods does not
 * hold 100,000 decoded pods; later lists bring little that is new. */
static bool has_pod(void *ctx, const void *from)
{
    struct feeder *f = ctx;
    const struct vpa_pod *pod = &((const struct pod_draft *)from)->pod;

    if (vpa_cluster_has_version(f->options.cluster, &pod->meta))
        return true;
    if (f->passed || f->passes > 0)
        return false;
    vpa_cluster_put_pod(f->options.cluster, pod, &f->ooms, vpa_loop_now(f->options.loop));
    return true;
}

static bool pods_differ(const void *older, const void *newer)
{
    return vpa_oom_may_differ(older, newer);
}

static void on_pod_list(void *ctx)
{
    vpa_cluster_mark_all_pods_deleted(((struct feeder *)ctx)->options.cluster);
}

static void on_listed_pod(void *ctx, const char *ns, const char *name)
{
    vpa_cluster_keep_pod(((struct feeder *)ctx)->options.cluster, ns, name);
}

static void on_pod_change(void *ctx, const struct vpa_cache_change *change)
{
    struct feeder *f = ctx;

    if (change->gone)
        vpa_cluster_mark_pod_deleted(f->options.cluster, change->ns, change->name);
    else if (change->count == 0)
        vpa_cluster_keep_pod(f->options.cluster, change->ns, change->name);
    else
        vpa_cluster_place_pod(f->options.cluster, change->versions[change->count - 1], f->now);
    for (size_t i = 0; i < change->count; i++)
        vpa_cluster_observe_pod(f->options.cluster, change->versions[i], &f->ooms);
}

static const struct vpa_cache_taker pod_taker = {.has = has_pod,
                                                 .differs = pods_differ,
                                                 .list = on_pod_list,
                                                 .listed = on_listed_pod,
                                                 .change = on_pod_change};

void feeder_load_pods(struct feeder *f, vpa_time now)
{
    f->now = now;
    vpa_cache_take(f->pods);
    /* Those of Prometheus stay until the usage is read: it may still have them. */
    if (!f->passed && !recommender_uses_prometheus(f->options.config))
        vpa_cluster_forget_deleted_pods(f->options.cluster, now);
}

void feeder_remove_deleted_pods(struct feeder *f)
{
    vpa_cluster_remove_deleted_pods(f->options.cluster);
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

static int record_oom(struct feeder *f, const struct vpa_oom *oom, vpa_time now,
                      struct vpa_error *err)
{
    const struct vpa_container_name name = {oom->ns, oom->pod, oom->container};
    struct vpa_sample_target to;

    if (vpa_cluster_container(f->options.cluster, &name, now, &to, err) < 0)
        return -1;
    to.is_eviction = oom->is_eviction;
    return vpa_cluster_record_oom(&to, usage_time(oom->time, now), oom->memory, now, err);
}

void feeder_record_ooms(struct feeder *f, vpa_time now)
{
    struct failures unknown = {.message = "Failed to record OOM"};

    for (size_t i = 0; i < f->ooms.count; i++) {
        const struct vpa_oom *oom = &f->ooms.items[i];
        struct vpa_error err;

        if (record_oom(f, oom, now, &err) < 0)
            failures_add(&unknown, oom->ns, oom->pod, &err);
    }
    failures_report(&unknown);
    if (f->ooms.dropped > 0)
        VPA_WARN("Too many OOMs for one pass, some were dropped",
                 VPA_KV("dropped", (int64_t)f->ooms.dropped));
    vpa_oom_queue_clear(&f->ooms);
}

/* ---- life ---- */

static void collection_path(const struct feeder *f, const char *group_version, const char *resource,
                            struct vpa_buf *path)
{
    vpa_buf_init(path, VPA_KUBE_PATH_MAX);
    vpa_kube_path(path, group_version, f->options.config->common.vpa_object_namespace, resource,
                  NULL, NULL);
}

static struct vpa_cache *new_cache(struct feeder *f, const char *group_version,
                                   struct vpa_cache_options options)
{
    vpa_auto_buf path = {0};

    collection_path(f, group_version, options.name, &path);
    options.path = vpa_buf_text(&path);
    options.resync = RESYNC;
    return vpa_cache_new(&options);
}

static struct vpa_reflector *new_event_reflector(struct feeder *f)
{
    vpa_auto_buf path = {0};

    collection_path(f, "v1", "events", &path);
    return vpa_reflector_new(
        &(struct vpa_reflector_options){.client = f->options.client,
                                        .name = "events",
                                        .path = vpa_buf_text(&path),
                                        .field_selector = "reason=Evicted",
                                        .watch_only = true,
                                        .handler = {.ctx = f, .object = on_event}});
}

struct feeder *feeder_new(const struct feeder_options *options)
{
    struct feeder *f = vpa_xcalloc(1, sizeof *f);

    f->options = *options;
    f->owners = vpa_owners_new(&(struct vpa_owners_options){
        .client = options->client, .ns = f->options.config->common.vpa_object_namespace});
    f->vpas = new_cache(f, VPA_GROUP_VERSION,
                        (struct vpa_cache_options){.kind = &slim_vpas,
                                                   .ctx = &f->slim,
                                                   .client = options->client,
                                                   .name = "verticalpodautoscalers",
                                                   .keeps_last = true});
    f->pods = new_cache(f, "v1",
                        (struct vpa_cache_options){.kind = &pod_kind,
                                                   .ctx = f,
                                                   .client = options->client,
                                                   .name = "pods",
                                                   .field_selector = "status.phase!=Pending",
                                                   .taker = &pod_taker});
    f->event_reflector = new_event_reflector(f);
    vpa_oom_queue_init(&f->ooms);
    return f;
}

void feeder_free(struct feeder *f)
{
    if (!f)
        return;
    vpa_cache_list_release(&f->held);
    vpa_cache_free(f->vpas);
    vpa_cache_free(f->pods);
    vpa_reflector_free(f->event_reflector);
    vpa_owners_free(f->owners);
    vpa_oom_queue_release(&f->ooms);
    slim_pool_release(&f->slim);
    free(f);
}

void feeder_start(struct feeder *f)
{
    vpa_owners_start(f->owners);
    vpa_cache_start(f->vpas);
    vpa_reflector_start(f->event_reflector);
}

void feeder_start_pods(struct feeder *f)
{
    vpa_cache_start(f->pods);
    f->pods_started = true;
}

int feeder_wait(struct feeder *f, struct vpa_error *err)
{
    struct vpa_reflector *needed[] = {vpa_cache_reflector(f->vpas), vpa_cache_reflector(f->pods)};

    if (vpa_reflector_wait(needed, f->pods_started ? 2 : 1, f->options.loop, 0, err) < 0)
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
