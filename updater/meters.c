/* The updater's metrics: names, labels and buckets are upstream's. */
#include "meters.h"

#include "vpa/base/mem.h"
#include "vpa/daemon/size_label.h"
#include "vpa/kube/reflector.h"
#include "vpa/policy/proof.h"

static struct vpa_metric controlled = VPA_GAUGE(
    "vpa_updater_controlled_pods_total", "Live pods under a VPA", "vpa_size_log2", "update_mode");
static struct vpa_metric evictable =
    VPA_GAUGE("vpa_updater_evictable_pods_total", "Pods that may be evicted and should be",
              "vpa_size_log2", "update_mode");
static struct vpa_metric evicted =
    VPA_COUNTER("vpa_updater_evicted_pods_total", "Pods evicted", "vpa_size_log2", "update_mode",
                "vpa_name", "vpa_namespace");
static struct vpa_metric vpas_with_evictable =
    VPA_GAUGE("vpa_updater_vpas_with_evictable_pods_total", "VPAs with a pod to evict",
              "vpa_size_log2", "update_mode");
static struct vpa_metric vpas_with_evicted =
    VPA_GAUGE("vpa_updater_vpas_with_evicted_pods_total", "VPAs with a pod evicted",
              "vpa_size_log2", "update_mode");
static struct vpa_metric eviction_failures =
    VPA_COUNTER("vpa_updater_failed_eviction_attempts_total", "Evictions that failed",
                "vpa_size_log2", "update_mode", "reason", "vpa_name", "vpa_namespace");
static struct vpa_metric updatable = VPA_GAUGE("vpa_updater_in_place_updatable_pods_total",
                                               "Pods to resize in place", "vpa_size_log2");
static struct vpa_metric updated = VPA_COUNTER("vpa_updater_in_place_updated_pods_total",
                                               "Pods resized in place, ends of CPU boosts included",
                                               "vpa_size_log2", "vpa_name", "vpa_namespace");
static struct vpa_metric vpas_with_updatable =
    VPA_GAUGE("vpa_updater_vpas_with_in_place_updatable_pods_total",
              "VPAs with a pod to resize in place", "vpa_size_log2");
static struct vpa_metric vpas_with_updated =
    VPA_GAUGE("vpa_updater_vpas_with_in_place_updated_pods_total",
              "VPAs with a pod resized in place", "vpa_size_log2");
static struct vpa_metric in_place_failures =
    VPA_COUNTER("vpa_updater_failed_in_place_update_attempts_total", "Resizes that failed",
                "vpa_size_log2", "reason", "vpa_name", "vpa_namespace");
static struct vpa_metric infeasible_skipped =
    VPA_COUNTER("vpa_updater_in_place_infeasible_skip_pods_total",
                "Pods passed over because the node cannot hold what is recommended",
                "vpa_size_log2", "vpa_name", "vpa_namespace");

static struct vpa_metric held = VPA_GAUGE(
    "vpa_updater_held_pods",
    "Pods left as they are because an object that governs them, or may, cannot be read", "reason");

static struct vpa_metric failed_proofs = VPA_COUNTER(
    "vpa_updater_failed_proofs_total", "Evictions and resizes that did not help, by what was seen",
    "reason", "vpa_name", "vpa_namespace");
static struct vpa_metric breakers =
    VPA_GAUGE("vpa_updater_paused",
              "VPAs whose updates are paused because they did not help; scope namespace: "
              "namespaces in which nothing is evicted; scope cluster: 1 while nothing is evicted "
              "anywhere",
              "scope");

static const double step_seconds[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,   2,   5,   10,  20, 30,
                                      40,   50,   60,   70,  80,  90,  100, 120, 150, 240, 300};
static struct vpa_metric latency = VPA_HISTOGRAM(
    "vpa_updater_execution_latency_seconds", "Time of each part of a pass", step_seconds, "step");

struct vpa_metric *const updater_metrics[] = {
    &controlled,        &evictable,          &evicted, &vpas_with_evictable, &vpas_with_evicted,
    &eviction_failures, &updatable,          &updated, &vpas_with_updatable, &vpas_with_updated,
    &in_place_failures, &infeasible_skipped, &held,    &failed_proofs,       &breakers,
    &latency,
};
const size_t updater_metric_count = VPA_COUNT(updater_metrics);

static size_t size_index(size_t pods)
{
    size_t log2 = 0;

    while (pods > 1 && log2 < METER_SIZES - 1) {
        pods /= 2;
        log2++;
    }
    return log2;
}

void updater_meter_sums_add(struct meter_sums *sums, enum vpa_update_mode mode, size_t pods,
                            double value)
{
    size_t size = size_index(pods);

    sums->value[mode][size] += value;
    sums->touched[mode][size] = true;
}

static const char *size_name(size_t size)
{
    return vpa_metric_size_log2((int64_t)1 << size);
}

/* Only what the pass has touched. */
static void publish_by_mode(struct vpa_metric *metric, const struct meter_sums *sums)
{
    vpa_metric_reset(metric);
    for (size_t mode = 0; mode < METER_MODES; mode++) {
        for (size_t size = 0; size < METER_SIZES; size++) {
            if (sums->touched[mode][size])
                vpa_metric_set(metric, sums->value[mode][size], size_name(size),
                               vpa_update_mode_name((enum vpa_update_mode)mode));
        }
    }
}

/* All sizes that upstream has, and the last one when it was hit. */
static void publish_by_size(struct vpa_metric *metric, const struct meter_sums *sums)
{
    vpa_metric_reset(metric);
    for (size_t size = 0; size < METER_SIZES; size++) {
        if (size < METER_SIZES - 1 || sums->touched[0][size])
            vpa_metric_set(metric, sums->value[0][size], size_name(size));
    }
}

static void publish_held(const double *pods)
{
    static const char *const reasons[METER_HOLDS] = {NULL, "UnknownVPA", "UnknownLimitRange"};

    for (size_t i = 1; i < METER_HOLDS; i++)
        vpa_metric_set(&held, pods[i], reasons[i]);
}

void updater_meters_start(void)
{
    static const double none[METER_HOLDS];

    publish_held(none);
    for (enum vpa_verdict v = 0; v < VPA_VERDICTS; v++)
        if (vpa_verdict_failed(v))
            vpa_metric_add(&failed_proofs, 0, vpa_verdict_name(v), "", "");
    updater_meter_breakers(0, 0, false);
}

void updater_meter_pass_publish(const struct meter_pass *gauges)
{
    publish_by_mode(&controlled, &gauges->controlled);
    publish_by_mode(&evictable, &gauges->evictable);
    publish_by_mode(&vpas_with_evictable, &gauges->vpas_with_evictable);
    publish_by_mode(&vpas_with_evicted, &gauges->vpas_with_evicted);
    publish_by_size(&updatable, &gauges->updatable);
    publish_by_size(&vpas_with_updatable, &gauges->vpas_with_updatable);
    publish_by_size(&vpas_with_updated, &gauges->vpas_with_updated);
    publish_held(gauges->held);
}

void updater_meter_touch(const struct meter_vpa *vpa)
{
    vpa_metric_add(&evicted, 0, vpa->size, vpa->mode, vpa->name, vpa->ns);
    vpa_metric_add(&updated, 0, vpa->size, vpa->name, vpa->ns);
}

void updater_meter_evicted(const struct meter_vpa *vpa)
{
    vpa_metric_inc(&evicted, vpa->size, vpa->mode, vpa->name, vpa->ns);
}

void updater_meter_eviction_failed(const struct meter_vpa *vpa, const char *reason)
{
    vpa_metric_inc(&eviction_failures, vpa->size, vpa->mode, reason, vpa->name, vpa->ns);
}

void updater_meter_updated_in_place(const struct meter_vpa *vpa)
{
    vpa_metric_inc(&updated, vpa->size, vpa->name, vpa->ns);
}

void updater_meter_in_place_failed(const struct meter_vpa *vpa, const char *reason)
{
    vpa_metric_inc(&in_place_failures, vpa->size, reason, vpa->name, vpa->ns);
}

void updater_meter_infeasible_skipped(const struct meter_vpa *vpa)
{
    vpa_metric_inc(&infeasible_skipped, vpa->size, vpa->name, vpa->ns);
}

void updater_meter_failed_proof(const char *reason, const char *name, const char *ns)
{
    vpa_metric_inc(&failed_proofs, reason, name, ns);
}

void updater_meter_breakers(size_t vpas, size_t namespaces, bool cluster)
{
    vpa_metric_set(&breakers, (double)vpas, "vpa");
    vpa_metric_set(&breakers, (double)namespaces, "namespace");
    vpa_metric_set(&breakers, cluster ? 1 : 0, "cluster");
}

struct live_vpas {
    bool (*is_live)(void *ctx, const char *ns, const char *name);
    void *ctx;
};

/* Of metrics whose last two labels are name and namespace; without them a series is of no VPA. */
static bool is_of_live(void *ctx, const char *const *values, size_t count)
{
    const struct live_vpas *live = ctx;
    const char *name = values[count - 2], *ns = values[count - 1];

    return !*name || live->is_live(live->ctx, ns, name);
}

void updater_meters_sweep(bool (*is_live)(void *ctx, const char *ns, const char *name), void *ctx,
                          size_t vpas)
{
    static struct vpa_metric *const of_vpas[] = {
        &evicted,           &eviction_failures,  &updated,
        &in_place_failures, &infeasible_skipped, &failed_proofs};
    struct live_vpas live = {is_live, ctx};

    for (size_t i = 0; i < VPA_COUNT(of_vpas); i++)
        if (vpa_metric_series(of_vpas[i]) > METER_SERIES(vpas))
            vpa_metric_sweep(of_vpas[i], is_of_live, &live);
}

void updater_meter_step(const char *step, double seconds)
{
    vpa_metric_observe(&latency, seconds, step);
}
