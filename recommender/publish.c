/*
 * Publishing.
 *
 * The order of a pass is upstream's with its workers: VPAs are evaluated in order of their names,
 * each at the time when a worker is free for it, so the transition times in a slow cluster are the
 * same. A VPA without a change costs a worker no time.
 */
#include "publish.h"

#include <stdlib.h>

#include "account.h"
#include "conflict.h"
#include "failures.h"
#include "metrics.h"

#include "vpa/base/log.h"
#include "vpa/model/cluster_learners.h"
#include "vpa/model/cluster_notes.h"
#include "vpa/model/object_status.h"

/* A status of 5,000 containers. */
#define PATCH_MAX ((size_t)4 << 20)

struct patch;
struct publisher {
    struct publisher_options options;
    struct vpa_resource global_max_items[2];
    struct vpa_resource_list global_max;
    struct conflicts conflicts; /* of the pass */
    struct vpa_buf body;
    struct patch *patches; /* under way */
    struct failures unpatched;
    struct failures missing; /* recommendations */
    size_t in_flight;
    size_t limit;       /* go on when fewer are in flight */
    vpa_duration ahead; /* of the pass: the clock */
};

struct patch {
    struct publisher *publisher;
    struct vpa_kube_request *request;
    struct patch *next;
    struct patch **link; /* what points to this one */
    const char *ns;      /* of the VPA, for the log; the model keeps it for the pass */
    const char *name;
};

static void init_global_max(struct publisher *p)
{
    p->global_max.items = p->global_max_items;
    if (!vpa_quantity_is_zero(&p->options.config->max_allowed_cpu))
        p->global_max.items[p->global_max.count++] =
            (struct vpa_resource){VPA_CPU, p->options.config->max_allowed_cpu};
    if (!vpa_quantity_is_zero(&p->options.config->max_allowed_memory))
        p->global_max.items[p->global_max.count++] =
            (struct vpa_resource){VPA_MEMORY, p->options.config->max_allowed_memory};
}

struct publisher *publisher_new(const struct publisher_options *options)
{
    struct publisher *p = vpa_xcalloc(1, sizeof *p);

    p->options = *options;
    init_global_max(p);
    vpa_buf_init(&p->body, PATCH_MAX);
    p->unpatched.message = "Cannot update VPA";
    p->missing.message = "VPA without recommendation";
    return p;
}

void publisher_free(struct publisher *p)
{
    if (!p)
        return;
    vpa_buf_release(&p->body);
    free(p);
}

/* ---- the patch ---- */

static void patch_free(struct patch *patch)
{
    *patch->link = patch->next;
    if (patch->next)
        patch->next->link = patch->link;
    patch->publisher->in_flight--;
    free(patch);
}

static void cancel_patches(struct publisher *p)
{
    while (p->patches) {
        vpa_kube_cancel(p->patches->request);
        patch_free(p->patches);
    }
}

static void on_patched(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct patch *patch = ctx;

    (void)result;
    if (err)
        failures_add(&patch->publisher->unpatched, patch->ns, patch->name, err);
    patch_free(patch);
}

static void start_patch(struct publisher *p, const struct vpa_autoscaler *v,
                        const struct vpa_object_status *status)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);
    struct vpa_json_writer w;

    vpa_kube_path(&path, VPA_GROUP_VERSION, vpa_autoscaler_ns(v), "verticalpodautoscalers",
                  vpa_autoscaler_name(v), "status");
    vpa_buf_clear(&p->body);
    vpa_json_writer_init(&w, &p->body);
    vpa_object_status_encode_patch(&w, status);
    if (vpa_buf_failed(&p->body)) {
        struct vpa_error err;

        vpa_fail(&err, VPA_LIMIT, "the status is too long");
        failures_add(&p->unpatched, vpa_autoscaler_ns(v), vpa_autoscaler_name(v), &err);
        return;
    }

    struct patch *patch = vpa_xcalloc(1, sizeof *patch);
    patch->publisher = p;
    patch->ns = vpa_autoscaler_ns(v);
    patch->name = vpa_autoscaler_name(v);
    patch->next = p->patches;
    patch->link = &p->patches;
    if (patch->next)
        patch->next->link = &patch->next;
    p->patches = patch;
    p->in_flight++;
    patch->request = vpa_kube_start(p->options.client,
                                    &(struct vpa_kube_call){.verb = VPA_KUBE_PATCH_JSON,
                                                            .path = vpa_buf_text(&path),
                                                            .body = vpa_buf_text(&p->body),
                                                            .body_len = p->body.len,
                                                            .timeout = PUBLISH_TIMEOUT,
                                                            .repeatable = true},
                                    on_patched, patch);
}

/* ---- one VPA ---- */

static bool is_standby(const struct publisher *p)
{
    return p->options.standby && *p->options.standby;
}

/* What the VPA asks for and what was learned for it must both be known. */
static bool is_known(const struct publisher *p, const struct vpa_autoscaler *v)
{
    return !vpa_autoscaler_awaits_history(v) &&
           feeder_knows_vpa(p->options.feeder, vpa_autoscaler_ns(v), vpa_autoscaler_name(v));
}

static void tell_query(struct publisher *p, const struct vpa_autoscaler *v,
                       const struct vpa_recommendation *rec)
{
    if (p->options.query)
        query_add(p->options.query, vpa_autoscaler_object(v),
                  vpa_autoscaler_resolved(v) ? vpa_autoscaler_selector(v) : NULL,
                  is_known(p, v) ? rec : NULL);
}

/* Everybody who counts, compares or answers hears of what was computed. */
static void tell_recommendation(struct publisher *p, const struct vpa_autoscaler *v,
                                const struct vpa_recommendation *rec, vpa_time now,
                                struct metrics_objects *objects)
{
    const struct vpa_object *object = vpa_autoscaler_object(v);
    bool has_recommendation = rec->container_count > 0;

    if (has_recommendation && !vpa_object_has_recommendation(object) && !is_standby(p))
        vpa_metric_observe(&metrics_first_recommendations,
                           (double)vpa_time_sub(now, object->meta.creation) / (double)VPA_SECOND);
    metrics_objects_add(objects, vpa_object_mode(object), has_recommendation,
                        vpa_autoscaler_pod_count(v) > 0, vpa_autoscaler_unsupported(v) != NULL);
    if (p->options.shadow)
        shadow_compare(p->options.shadow, object, rec);
    if (p->options.measures && !is_standby(p) && is_known(p, v))
        measures_target(p->options.measures, v, rec);
    tell_query(p, v, rec);
}

static void publish_vpa(struct publisher *p, struct vpa_autoscaler *v, vpa_time now,
                        struct metrics_objects *objects)
{
    const struct vpa_object *object = vpa_autoscaler_object(v);
    vpa_auto_arena arena = {0};
    struct vpa_estimates estimates;
    vpa_estimate(p->options.cluster, v, &p->options.config->estimator, vpa_time_add(now, -p->ahead),
                 &arena, &estimates);
    const struct vpa_recommendation_facts made = {.vpa = object,
                                                  .estimates = &estimates,
                                                  .rendering = &p->options.config->rendering,
                                                  .integer_cpu = p->options.config->cpu_integer,
                                                  .global_max = &p->global_max};
    struct vpa_recommendation rec = vpa_recommendation_make(&arena, &made);
    struct vpa_error err;

    tell_recommendation(p, v, &rec, now, objects);
    if (vpa_cluster_set_recommendation(p->options.cluster, v, &rec, now, &err) < 0)
        failures_add(&p->missing, vpa_autoscaler_ns(v), vpa_autoscaler_name(v), &err);

    const struct vpa_method *method = vpa_autoscaler_method(v);
    const struct vpa_object *newest = feeder_newest_vpa(p->options.feeder, object);
    struct vpa_object_status_facts facts = {
        .object = object,
        .newest = newest,
        .algorithm = method ? vpa_algorithm_name(vpa_method_algorithm(method)) : NULL,
        .algorithm_note = vpa_autoscaler_method_note(v),
        .unsupported = vpa_autoscaler_unsupported(v),
        .conflict = conflicts_message(&p->conflicts, v, &arena),
        .pods_matched = vpa_autoscaler_pod_count(v) > 0,
        .no_samples = estimates.count == 0 && estimates.left_out == 0,
        .recommendation = &rec,
        .now = now};
    struct vpa_object_status status;
    vpa_object_status_build(&facts, &arena, &status);
    if (!is_standby(p) && is_known(p, v)) {
        account_tell(p->options.ledger, vpa_autoscaler_note(v), &made, &rec, &status, now);
        if (newest && !vpa_object_status_equal_stored(&status, newest))
            start_patch(p, v, &status);
    }
}

static bool has_room(void *ctx)
{
    const struct publisher *p = ctx;

    return p->in_flight < p->limit;
}

static int wait_for_room(struct publisher *p, size_t limit)
{
    p->limit = limit;
    while (!has_room(p))
        if (vpa_loop_wait(p->options.loop, has_room, p, VPA_HOUR, NULL) < 0 &&
            vpa_loop_is_stopping(p->options.loop))
            return -1;
    return 0;
}

/* Queries are answered from this pass before the last patch is. */
static void end_query(struct publisher *p, bool is_whole, const struct vpa_candidate *foreign,
                      size_t foreign_count)
{
    if (!p->options.query)
        return;
    if (!is_whole) {
        query_drop(p->options.query);
        return;
    }
    for (size_t i = 0; i < foreign_count; i++)
        query_add_foreign(p->options.query, foreign[i].vpa, foreign[i].selector);
    query_end(p->options.query);
}

void publish_all(struct publisher *p, const struct vpa_candidate *foreign, size_t foreign_count,
                 vpa_duration ahead)
{
    size_t count, evaluated = 0;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(p->options.cluster, &count);
    struct metrics_objects *objects = metrics_objects_begin();

    p->ahead = ahead;
    conflicts_find(&p->conflicts, p->options.cluster, foreign, foreign_count);
    if (p->options.shadow)
        shadow_begin(p->options.shadow);
    if (p->options.query)
        query_begin(p->options.query, count + foreign_count);
    for (size_t i = 0; i < count && p->options.config->update_workers > 0; i++) {
        if (wait_for_room(p, (size_t)p->options.config->update_workers) < 0)
            break;
        publish_vpa(p, vpas[i], vpa_loop_now(p->options.loop), objects);
        evaluated++;
    }
    end_query(p, evaluated == count, foreign, foreign_count);
    if (wait_for_room(p, 1) < 0)
        cancel_patches(p);
    else if (p->options.shadow)
        shadow_end(p->options.shadow);
    failures_report(&p->unpatched);
    failures_report(&p->missing);
    conflicts_release(&p->conflicts);
    if (is_standby(p)) /* the leader counts them */
        metrics_objects_drop(objects);
    else
        metrics_objects_end(objects);
}
