/*
 * Static metrics in one table, and two collectors: quality of recommendations, called by the model
 * for each sample, and counts of objects, added up during a pass and published at its end so that a
 * reader never sees half of them.
 */
#include "metrics.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/daemon/size_label.h"
#include "vpa/kube/reflector.h"

/* ---- tables ---- */

static const double execution_bounds[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,  2,
                                          5,    10,   20,   30,  40,  50,  60, 70,
                                          80,   90,   100,  120, 150, 240, 300};
static const double first_bounds[] = {1,  2,   5,   7.5, 10,  20,  30,  40,  50,  60,
                                      90, 120, 150, 180, 240, 300, 600, 900, 1800};
static const double prometheus_bounds[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8,
                                           0.9,  1,    2,    5,   10,  20,  30,  60,  120, 300};
/* Exponential with factor 2: doubling is exact. */
static const double cpu_bounds[] = {0.01, 0.02,  0.04,  0.08,  0.16,  0.32,   0.64,   1.28,  2.56,
                                    5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36};
static const double memory_bounds[] = {1e6,     2e6,     4e6,       8e6,       1.6e7,    3.2e7,
                                       6.4e7,   1.28e8,  2.56e8,    5.12e8,    1.024e9,  2.048e9,
                                       4.096e9, 8.192e9, 1.6384e10, 3.2768e10, 6.5536e10};
static const double relative_bounds[] = {
    -1,  -.75, -.5, -.25, -.1, -.05, -.025, -.01, -.005, -.0025, -.001, 0,  .001, .0025, .005,
    .01, .025, .05, .1,   .25, .5,   .75,   1,    2.5,   5,      10,    25, 50,   100};

static struct vpa_metric objects_count =
    VPA_GAUGE("vpa_recommender_vpa_objects_count", "VPA objects of the last pass", "update_mode",
              "has_recommendation", "api", "matches_pods", "unsupported_config");
struct vpa_metric metrics_first_recommendations =
    VPA_HISTOGRAM("vpa_recommender_recommendation_latency_seconds",
                  "Time from the creation of a VPA to its first recommendation", first_bounds);
struct vpa_metric metrics_steps =
    VPA_HISTOGRAM("vpa_recommender_execution_latency_seconds", "Time of the parts of a pass",
                  execution_bounds, "step");
struct vpa_metric metrics_aggregates =
    VPA_GAUGE("vpa_recommender_aggregate_container_states_count", "Aggregate container states");
struct vpa_metric metrics_usage_responses = VPA_COUNTER(
    "vpa_recommender_metric_server_responses", "Readings of the usage", "is_error", "client_name");
static struct vpa_metric prometheus_count =
    VPA_COUNTER("vpa_recommender_prometheus_client_api_requests_count",
                "Requests to Prometheus that were answered", "code", "method");
static struct vpa_metric prometheus_seconds =
    VPA_HISTOGRAM("vpa_recommender_prometheus_client_api_requests_duration_seconds",
                  "Time of requests to Prometheus", prometheus_bounds, "code", "method");
struct vpa_metric metrics_unreadable_checkpoints =
    VPA_COUNTER("vpa_recommender_unreadable_checkpoints_total",
                "Checkpoints that could not be read and were kept aside", "outcome");
struct vpa_metric metrics_failures =
    VPA_COUNTER("vpa_recommender_failures_total",
                "Writes and readings that failed, by the log line that tells of them.", "message");

static struct vpa_metric relative_diffs = VPA_HISTOGRAM(
    "vpa_quality_usage_recommendation_relative_diffs", "(usage - recommendation) / recommendation",
    relative_bounds, "update_mode", "resource", "is_oom");
static struct vpa_metric missing_count =
    VPA_COUNTER("vpa_quality_usage_sample_missing_recommendation_count",
                "Usage samples without a recommendation", "update_mode", "resource", "is_oom");
static struct vpa_metric cpu_over = VPA_HISTOGRAM(
    "vpa_quality_cpu_recommendation_over_usage_diffs_cores", "Recommendation above usage, CPU",
    cpu_bounds, "update_mode", "recommendation_missing");
static struct vpa_metric cpu_lower =
    VPA_HISTOGRAM("vpa_quality_cpu_recommendation_lower_equal_usage_diffs_cores",
                  "Usage above or at the recommendation, CPU", cpu_bounds, "update_mode",
                  "recommendation_missing");
static struct vpa_metric memory_over = VPA_HISTOGRAM(
    "vpa_quality_mem_recommendation_over_usage_diffs_bytes", "Recommendation above usage, memory",
    memory_bounds, "update_mode", "recommendation_missing", "is_oom");
static struct vpa_metric memory_lower =
    VPA_HISTOGRAM("vpa_quality_mem_recommendation_lower_equal_usage_diffs_bytes",
                  "Usage above or at the recommendation, memory", memory_bounds, "update_mode",
                  "recommendation_missing", "is_oom");
static struct vpa_metric cpu_recommendations =
    VPA_HISTOGRAM("vpa_quality_cpu_recommendations_cores",
                  "CPU recommendation at the time of a usage sample", cpu_bounds, "update_mode");
static struct vpa_metric memory_recommendations = VPA_HISTOGRAM(
    "vpa_quality_mem_recommendations_bytes", "Memory recommendation at the time of a usage sample",
    memory_bounds, "update_mode", "is_oom");
static struct vpa_metric relative_changes = VPA_HISTOGRAM(
    "vpa_quality_relative_recommendation_changes", "new / old - 1 of consecutive recommendations",
    relative_bounds, "update_mode", "resource", "vpa_size_log2");
struct vpa_metric metrics_shadow_differences =
    VPA_HISTOGRAM("vpa_recommender_shadow_relative_difference",
                  "(ours - theirs) / theirs of a recommended value, in a shadow", relative_bounds,
                  "bound", "resource");
struct vpa_metric metrics_queries =
    VPA_COUNTER("vpa_recommender_recommendation_queries_total",
                "Queries for the recommendation of a pod, by what was answered", "result");
static struct vpa_metric resource_lookups = VPA_COUNTER(
    "vpa_resources_get_resources_count", "Where container requests were found", "source");

static struct vpa_metric *const table[] = {
    &objects_count,
    &metrics_first_recommendations,
    &metrics_steps,
    &metrics_aggregates,
    &metrics_usage_responses,
    &prometheus_count,
    &prometheus_seconds,
    &metrics_unreadable_checkpoints,
    &metrics_failures,
    &metrics_shadow_differences,
    &metrics_queries,
    &relative_diffs,
    &missing_count,
    &cpu_over,
    &cpu_lower,
    &memory_over,
    &memory_lower,
    &cpu_recommendations,
    &memory_recommendations,
    &relative_changes,
    &resource_lookups,
};

struct vpa_metric *const *recommender_metrics_table(size_t *count)
{
    static struct vpa_metric *all[VPA_COUNT(table) + MEASURES_METRICS + API_METERS];

    memcpy(all, table, sizeof(table));
    memcpy(all + VPA_COUNT(table), measures_metrics, sizeof(measures_metrics));
    memcpy(all + VPA_COUNT(table) + MEASURES_METRICS, api_meters, sizeof(api_meters));
    *count = VPA_COUNT(all);
    return all;
}

void recommender_metrics_reset(void)
{
    size_t count;
    struct vpa_metric *const *all = recommender_metrics_table(&count);

    for (size_t i = 0; i < count; i++)
        vpa_metric_reset(all[i]);
}

/* ---- quality ---- */

static const char *bool_text(bool b)
{
    return b ? "true" : "false";
}

static void cpu_difference(const char *mode, double usage, double recommendation, bool missing)
{
    if (recommendation > usage)
        vpa_metric_observe(&cpu_over, recommendation - usage, mode, bool_text(missing));
    else
        vpa_metric_observe(&cpu_lower, usage - recommendation, mode, bool_text(missing));
}

static void memory_difference(const char *mode, double usage, double recommendation, bool missing,
                              bool is_oom)
{
    if (recommendation > usage)
        vpa_metric_observe(&memory_over, recommendation - usage, mode, bool_text(missing),
                           bool_text(is_oom));
    else
        vpa_metric_observe(&memory_lower, usage - recommendation, mode, bool_text(missing),
                           bool_text(is_oom));
}

static bool is_standby(const void *ctx)
{
    const struct recommender_quality *quality = ctx;

    return quality->standby && *quality->standby;
}

static void on_usage(void *ctx, const char *update_mode, enum vpa_kind kind, bool is_oom,
                     vpa_amount usage_amount, vpa_amount recommendation_amount)
{
    const char *mode = vpa_or_empty(update_mode);
    bool cpu = kind == VPA_KIND_CPU;
    double usage = cpu ? vpa_amount_to_cores(usage_amount) : vpa_amount_to_bytes(usage_amount);
    double recommendation = cpu ? vpa_amount_to_cores(recommendation_amount)
                                : vpa_amount_to_bytes(recommendation_amount);
    bool missing = recommendation_amount == 0;

    if (is_standby(ctx))
        return;
    if (missing)
        vpa_metric_inc(&missing_count, mode, vpa_kind_name(kind), bool_text(is_oom));
    else if (cpu)
        vpa_metric_observe(&cpu_recommendations, recommendation, mode);
    else
        vpa_metric_observe(&memory_recommendations, recommendation, mode, bool_text(is_oom));

    if (cpu)
        cpu_difference(mode, usage, recommendation, missing);
    else
        memory_difference(mode, usage, recommendation, missing, is_oom);
    if (recommendation > 0)
        vpa_metric_observe(&relative_diffs, (usage - recommendation) / recommendation, mode,
                           vpa_kind_name(kind), bool_text(is_oom));
}

static void on_change(void *ctx, const char *update_mode, enum vpa_kind kind, vpa_amount before,
                      vpa_amount after, size_t pod_count)
{
    if (is_standby(ctx))
        return;
    vpa_metric_observe(&relative_changes, (double)after / (double)before - 1,
                       vpa_or_empty(update_mode), vpa_kind_name(kind),
                       vpa_metric_size_log2((int64_t)pod_count));
}

static void on_sample(void *ctx, const struct vpa_autoscaler *v, enum vpa_kind kind, bool is_oom,
                      vpa_amount usage, vpa_amount recommendation)
{
    const struct recommender_quality *quality = ctx;

    if (quality->measures && !is_standby(ctx))
        measures_sample(quality->measures, v, kind, is_oom, usage, recommendation);
}

struct vpa_model_hooks recommender_quality_hooks(const struct recommender_quality *quality)
{
    return (struct vpa_model_hooks){.ctx = (void *)(uintptr_t)quality,
                                    .usage = on_usage,
                                    .change = on_change,
                                    .sample = on_sample};
}

/* ---- the rest ---- */

static double seconds(vpa_duration d)
{
    return (double)d / (double)VPA_SECOND;
}

void metrics_prometheus_response(int code, const char *method, vpa_duration took)
{
    char code_text[16];
    char lower[16];
    size_t n = 0;

    snprintf(code_text, sizeof code_text, "%d", code);
    for (; method[n] && n < sizeof lower - 1; n++)
        lower[n] = (char)tolower((unsigned char)method[n]);
    lower[n] = '\0';
    vpa_metric_inc(&prometheus_count, code_text, lower);
    vpa_metric_observe(&prometheus_seconds, seconds(took), code_text, lower);
}

const char *const metrics_bounds[METRICS_BOUNDS] = {"target", "lowerBound", "upperBound"};

static void start_differences(void)
{
    for (size_t b = 0; b < METRICS_BOUNDS; b++)
        for (enum vpa_kind k = 0; k < VPA_KINDS; k++)
            vpa_metric_add(&metrics_shadow_differences, 0, metrics_bounds[b], vpa_kind_name(k));
}

void metrics_start(void)
{
    static const char *const messages[] = {
        "Cannot update VPA",
        "VPA without recommendation",
        "Failed to record OOM",
        "Usage of containers that are not known",
        "Cannot save checkpoint for VPA",
        "Cannot keep an unreadable checkpoint aside; it is not overwritten",
        "Cannot read the history of a VPA from Prometheus",
        "Orphaned VPA checkpoint cleanup - error deleting",
        "Orphaned VPA checkpoint cleanup - cannot list VPAs, nothing is deleted"};
    static const char *const answers[] = {"Recommendation", "NoRecommendation", "NoVPA",
                                          "UnknownController"};

    vpa_metric_start(&metrics_failures, messages, VPA_COUNT(messages));
    vpa_metric_start(&metrics_queries, answers, VPA_COUNT(answers));
    vpa_metric_add(&metrics_unreadable_checkpoints, 0, "kept");
    start_differences();
    measures_start();
    api_meters_start();
}

static void count_lookups(const char *source, size_t count)
{
    if (count > 0)
        vpa_metric_add(&resource_lookups, (double)count, source);
}

void metrics_resource_lookups(const struct vpa_lookups *lookups)
{
    count_lookups("Pod.Status.ContainerStatuses", lookups->from_status);
    count_lookups("Pod.Spec.Containers", lookups->from_spec);
}

/* ---- object counts ---- */

static const char *const modes[] = {"Off",  "Initial",           "Recreate",
                                    "Auto", "InPlaceOrRecreate", "InPlace"};
static const char *const apis[] = {"v1beta1", "v1beta2", "v1"};

/* Modes that the CRD does not know get counters of their own when they appear. */
struct metrics_objects {
    struct vpa_arena arena;
    struct vpa_table by_mode; /* of size_t[8] */
};

static size_t slot(bool has_recommendation, bool matches_pods, bool unsupported)
{
    return (has_recommendation ? 4u : 0u) + (matches_pods ? 2u : 0u) + (unsupported ? 1u : 0u);
}

static size_t *counters_of(struct metrics_objects *objects, const char *mode)
{
    size_t *counters = vpa_table_find(&objects->by_mode, mode);

    if (!counters) {
        counters = vpa_arena_zalloc(&objects->arena, 8 * sizeof *counters);
        vpa_table_put(&objects->by_mode, vpa_arena_strdup(&objects->arena, mode), counters);
    }
    return counters;
}

struct metrics_objects *metrics_objects_begin(void)
{
    struct metrics_objects *objects = vpa_xcalloc(1, sizeof *objects);

    for (size_t i = 0; i < VPA_COUNT(modes); i++)
        counters_of(objects, modes[i]);
    return objects;
}

void metrics_objects_add(struct metrics_objects *objects, const char *mode, bool has_recommendation,
                         bool matches_pods, bool unsupported)
{
    counters_of(objects, mode)[slot(has_recommendation, matches_pods, unsupported)]++;
}

static void publish_mode(const char *mode, const char *api, const size_t *counters)
{
    for (size_t i = 0; i < 8; i++) {
        /* A foreign mode shows only the combinations that it has. */
        if (vpa_str_is_in(mode, modes, VPA_COUNT(modes)) || (counters && counters[i] > 0))
            vpa_metric_set(&objects_count, counters ? (double)counters[i] : 0, mode,
                           bool_text(i & 4), api, bool_text(i & 2), bool_text(i & 1));
    }
}

void metrics_objects_end(struct metrics_objects *objects)
{
    size_t i = 0;
    const char *mode;
    void *counters;

    while (vpa_table_next(&objects->by_mode, &i, &mode, &counters))
        for (size_t a = 0; a < VPA_COUNT(apis); a++)
            /* Objects are read as v1; the older versions are always 0. */
            publish_mode(mode, apis[a], strcmp(apis[a], "v1") == 0 ? counters : NULL);
    metrics_objects_drop(objects);
}

void metrics_objects_drop(struct metrics_objects *objects)
{
    vpa_table_release(&objects->by_mode);
    vpa_arena_release(&objects->arena);
    free(objects);
}
