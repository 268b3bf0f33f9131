/*
 * One table of rows: every flag of upstream's recommender and ours. After it the checks that need
 * more than one flag, and what is read from outside: the environment.
 */
#include "config.h"

#include "measures.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/daemon.h"

#define ROW(KIND, NAME, FIELD, ...)                                                                \
    VPA_FLAG_##KIND(NAME, struct recommender_config, FIELD, __VA_ARGS__)

static const struct vpa_flag rows[] = {
    VPA_COMMON_FLAGS(struct recommender_config, common, ":8942"),
    VPA_LEADER_FLAGS(struct recommender_config, leader, "vpa-recommender-lease"),

    ROW(STRING, "recommender-name", name, "default",
        "Name of this recommender; it serves the VPAs that name it, and as \"default\" those that "
        "name none"),
    ROW(STRING, "algorithms", algorithms.served, "all",
        "Algorithms that are served, separated by commas: vpa, crane and others "
        "(docs/algorithms.md); "
        "a VPA chooses one by its name in spec.recommenders, as NAME/crane when recommender-name "
        "is "
        "not \"default\" (not known upstream)"),
    ROW(DURATION, "recommender-interval", interval, VPA_MINUTE, "How often the recommender runs"),
    ROW(DURATION, "checkpoints-gc-interval", checkpoints_gc_interval, 10 * VPA_MINUTE,
        "How often checkpoints without a VPA are removed"),
    ROW(DURATION, "checkpoints-timeout", checkpoints_timeout, VPA_MINUTE,
        "Time for writing checkpoints in one pass, from the start of that step"),
    ROW(DURATION, "checkpoint-max-age", checkpoint_max_age, VPA_HOUR,
        "A checkpoint that did not change is written again after this time (not known upstream)"),
    ROW(BOOL, "shadow", shadow, false,
        "Run beside another installation: compute everything, write nothing, compare with its "
        "recommendations and print a table at the end (not known upstream)"),
    ROW(DURATION, "checkpoint-interval", checkpoint_interval, 10 * VPA_MINUTE,
        "While a standby is in step, a checkpoint that changed is written once in this time; "
        "without a standby in every pass (not known upstream)"),
    ROW(BOOL, "checkpoint-open-intervals", checkpoint_open_intervals, true,
        "Keep what upstream's format has no place for in annotations of the checkpoint, so that it "
        "outlives a restart: memory peaks of aggregation intervals that are not over, and the "
        "target whose history it is; false: a restart forgets them, as upstream's does (not known "
        "upstream)"),
    ROW(STRING, "storage", storage, "",
        "Where history comes from: prometheus, anything else means checkpoints"),
    ROW(BOOL, "memory-saver", memory_saver, false, "Track only pods that some VPA matches"),
    ROW(INT, "update-worker-count", update_workers, 10,
        "Status updates and checkpoint writes in flight at a time; below 1 nothing is written"),
    ROW(INT, "min-checkpoints", min_checkpoints, 10, "Deprecated",
        .note = "checkpoints are written until checkpoints-timeout has passed"),

    ROW(FLOAT, "recommendation-margin-fraction", estimator.margin, 0.15,
        "Part of usage added as the safety margin"),
    ROW(FLOAT, "pod-recommendation-min-cpu-millicores", estimator.min_cpu_millicores, 25,
        "Least CPU of a pod, shared evenly by its containers"),
    ROW(FLOAT, "pod-recommendation-min-memory-mb", estimator.min_memory_mb, 250,
        "Least memory of a pod in MiB, shared evenly by its containers"),
    ROW(FLOAT, "target-cpu-percentile", estimator.percentile[VPA_TARGET][VPA_KIND_CPU], 0.9,
        "CPU usage percentile of the target"),
    ROW(FLOAT, "recommendation-lower-bound-cpu-percentile",
        estimator.percentile[VPA_LOWER_BOUND][VPA_KIND_CPU], 0.5,
        "CPU usage percentile of the lower bound"),
    ROW(FLOAT, "recommendation-upper-bound-cpu-percentile",
        estimator.percentile[VPA_UPPER_BOUND][VPA_KIND_CPU], 0.95,
        "CPU usage percentile of the upper bound"),
    ROW(DURATION, "confidence-interval-cpu", estimator.confidence_interval[VPA_KIND_CPU],
        24 * VPA_HOUR, "Time scale of the confidence multiplier of CPU bounds"),
    ROW(FLOAT, "target-memory-percentile", estimator.percentile[VPA_TARGET][VPA_KIND_MEMORY], 0.9,
        "Memory peak percentile of the target"),
    ROW(FLOAT, "recommendation-lower-bound-memory-percentile",
        estimator.percentile[VPA_LOWER_BOUND][VPA_KIND_MEMORY], 0.5,
        "Memory peak percentile of the lower bound"),
    ROW(FLOAT, "recommendation-upper-bound-memory-percentile",
        estimator.percentile[VPA_UPPER_BOUND][VPA_KIND_MEMORY], 0.95,
        "Memory peak percentile of the upper bound"),
    ROW(DURATION, "confidence-interval-memory", estimator.confidence_interval[VPA_KIND_MEMORY],
        24 * VPA_HOUR, "Time scale of the confidence multiplier of memory bounds"),
    ROW(BOOL, "humanize-memory", rendering.humanize_memory, false,
        "Deprecated (use round-memory-bytes): memory with two decimals in Ki, Mi, Gi or Ti"),
    ROW(INT, "round-cpu-millicores", rendering.round_cpu_millicores, 1,
        "CPU is rounded up to a multiple of this"),
    ROW(INT, "round-memory-bytes", rendering.round_memory_bytes, 1,
        "Memory is rounded up to a multiple of this"),
    ROW(BOOL, "cpu-integer-post-processor-enabled", cpu_integer, false,
        "Round CPU up to whole cores for containers that an annotation of the VPA names"),
    ROW(QUANTITY, "container-recommendation-max-allowed-cpu", max_allowed_cpu,
        "Largest CPU recommendation of a container where the VPA sets no maximum"),
    ROW(QUANTITY, "container-recommendation-max-allowed-memory", max_allowed_memory,
        "Largest memory recommendation of a container where the VPA sets no maximum"),

    ROW(DURATION, "memory-aggregation-interval", memory_interval, 24 * VPA_HOUR,
        "Time in which only the peak of memory counts"),
    ROW(INT, "memory-aggregation-interval-count", memory_interval_count, 8,
        "Number of such intervals after which an idle aggregate expires"),
    ROW(DURATION, "memory-histogram-decay-half-life", memory_half_life, 24 * VPA_HOUR,
        "Time in which a memory sample loses half of its weight"),
    ROW(DURATION, "cpu-histogram-decay-half-life", cpu_half_life, 24 * VPA_HOUR,
        "Time in which a CPU sample loses half of its weight"),
    ROW(FLOAT, "oom-bump-up-ratio", oom_bump_up_ratio, 1.2, "Factor on memory after an OOM"),
    ROW(FLOAT, "oom-min-bump-up-bytes", oom_min_bump_up_bytes, 100 * 1024 * 1024,
        "Bytes added at least after an OOM"),

    ROW(STRING, "prometheus-address", prometheus.address, "http://prometheus.monitoring.svc",
        "URL of Prometheus"),
    ROW(BOOL, "prometheus-insecure", prometheus.insecure, false,
        "Do not verify the certificate of Prometheus"),
    ROW(STRING, "prometheus-cadvisor-job-name", prometheus.cadvisor_job, "kubernetes-cadvisor",
        "Value of the label job of container metrics; empty: not looked at"),
    ROW(STRING, "history-length", prometheus.history_length, "8d",
        "How far back history is asked for (Prometheus duration)"),
    ROW(STRING, "history-resolution", prometheus.history_resolution, "1h",
        "Resolution of that history (Prometheus duration)"),
    ROW(STRING, "history-cpu-metric", prometheus.cpu_metric, "container_cpu_usage_seconds_total",
        "Metric of CPU usage"),
    ROW(STRING, "history-memory-metric", prometheus.memory_metric,
        "container_memory_working_set_bytes", "Metric of memory usage"),
    ROW(STRING, "prometheus-query-timeout", prometheus.query_timeout, "5m",
        "Time limit of one query (Go duration)"),
    ROW(STRING, "pod-label-prefix", prometheus.pod_label_prefix, "pod_label_",
        "Prefix of the labels of pods in metric-for-pod-labels"),
    ROW(STRING, "metric-for-pod-labels", prometheus.pod_labels_metric,
        "up{job=\"kubernetes-pods\"}",
        "Query whose series carry the labels of pods; has to be a range selector"),
    ROW(STRING, "pod-namespace-label", prometheus.pod_namespace_label, "kubernetes_namespace",
        "Label with the namespace in metric-for-pod-labels"),
    ROW(STRING, "pod-name-label", prometheus.pod_name_label, "kubernetes_pod_name",
        "Label with the pod name in metric-for-pod-labels"),
    ROW(STRING, "container-namespace-label", prometheus.container_namespace_label, "namespace",
        "Label with the namespace in container metrics"),
    ROW(STRING, "container-pod-name-label", prometheus.container_pod_name_label, "pod_name",
        "Label with the pod name in container metrics"),
    ROW(STRING, "container-name-label", prometheus.container_name_label, "name",
        "Label with the container name in container metrics and external metrics"),
    ROW(STRING, "username", prometheus.username, "", "User of Prometheus (basic authentication)"),
    ROW(STRING, "password", prometheus.password, "", "Password of that user", .secret = true),
    ROW(STRING, "prometheus-bearer-token", prometheus.bearer_token, "",
        "Bearer token for Prometheus; wins over basic authentication", .secret = true),
    ROW(STRING, "prometheus-bearer-token-file", prometheus.bearer_token_file, "",
        "File with that token; read at the start, and anew for each fill of an algorithm's "
        "history"),

    ROW(BOOL, "recommendation-query", recommendation_query, false,
        "Answer POST /recommendedPodResources on --address: what the containers of a pod, existing "
        "or not, are recommended now (not known upstream)"),
    ROW(STRING, "measure-vpas", measure_vpas, "",
        "Also export how well the recommendations fit for each of these VPAs: NAMESPACE/NAME, "
        "NAMESPACE/* or */*, separated by commas; 1000 VPAs at most (not known upstream)"),

    ROW(STRING, "recommendation-api-address", recommendation_api.address, "",
        "Serve recommendation.autoscaling.k8s.io as an aggregated API (HTTPS) on this host:port; "
        "empty: not served (not known upstream)"),
    ROW(STRING, "recommendation-api-cert-file", recommendation_api.cert_file, "",
        "Certificate of that listener, PEM, leaf first; read again when it changes (not known "
        "upstream)"),
    ROW(STRING, "recommendation-api-key-file", recommendation_api.key_file, "",
        "Key of that certificate, PEM (not known upstream)"),
    ROW(BOOL, "recommendation-api-manage-certificates", recommendation_api.manage_certificates,
        false,
        "Make CA and certificate of that listener instead, keep them in a Secret and rotate them, "
        "and keep caBundle of the APIService (not known upstream)"),
    ROW(STRING, "recommendation-api-certificate-secret", recommendation_api.certificate_secret,
        "vpa-recommendation-certificates", "That Secret, in NAMESPACE (not known upstream)"),
    ROW(DURATION, "recommendation-api-certificate-lifetime",
        recommendation_api.certificate_lifetime, 90 * 24 * VPA_HOUR,
        "Life of that CA and certificate; they are changed when two thirds are over; at least ten "
        "minutes (not known upstream)"),
    ROW(STRING, "recommendation-api-service", recommendation_api.service, "vpa-recommendation",
        "Service of the listener, in NAMESPACE: the name in that certificate (not known "
        "upstream)"),

    VPA_LEDGER_FLAGS(struct recommender_config, ledger),

    ROW(BOOL, "use-external-metrics", use_external_metrics, false,
        "Read usage from external.metrics.k8s.io instead of metrics.k8s.io"),
    ROW(STRING, "external-metrics-cpu-metric", external_cpu_metric, "",
        "External metric of CPU usage; empty: CPU is not read"),
    ROW(STRING, "external-metrics-memory-metric", external_memory_metric, "",
        "External metric of memory usage; empty: memory is not read"),
};

/* The rows above and those of the algorithms' parameters. */
struct vpa_flags recommender_flags(struct recommender_config *config)
{
    static struct vpa_flag all[VPA_COUNT(rows) + ALGORITHM_FLAGS_MAX];
    size_t more;
    const struct vpa_flag *parameters =
        algorithm_flag_rows(offsetof(struct recommender_config, algorithms.parameters), &more);

    memcpy(all, rows, sizeof(rows));
    memcpy(all + VPA_COUNT(rows), parameters, more * sizeof(*parameters));
    return (struct vpa_flags){.rows = all, .count = VPA_COUNT(rows) + more, .values = config};
}

bool recommender_uses_prometheus(const struct recommender_config *config)
{
    return strcmp(config->storage, "prometheus") == 0;
}

/* Intervals that the formulas divide by or step with. Upstream panics or computes garbage. */
static int check_durations(const struct recommender_config *c, struct vpa_error *err)
{
    const struct {
        const char *name;
        vpa_duration value;
        bool half_life;
    } positive[] = {
        {"recommender-interval", c->interval, false},
        {"memory-aggregation-interval", c->memory_interval, false},
        {"memory-histogram-decay-half-life", c->memory_half_life, true},
        {"cpu-histogram-decay-half-life", c->cpu_half_life, true},
        {"confidence-interval-cpu", c->estimator.confidence_interval[VPA_KIND_CPU], false},
        {"confidence-interval-memory", c->estimator.confidence_interval[VPA_KIND_MEMORY], false},
    };

    for (size_t i = 0; i < VPA_COUNT(positive); i++) {
        if (positive[i].value <= 0)
            return vpa_fail(err, VPA_INVALID, "--%s must be positive.", positive[i].name);
        /* A histogram multiplies its half-life by 100 in 64-bit nanoseconds. */
        if (positive[i].half_life && positive[i].value > INT64_MAX / 100)
            return vpa_fail(err, VPA_INVALID, "--%s must be less than 25620h.", positive[i].name);
    }
    return 0;
}

static int check_api(const struct recommender_config *c, struct vpa_error *err)
{
    if (c->shadow && c->recommendation_api.manage_certificates)
        return vpa_fail(err, VPA_INVALID,
                        "--recommendation-api-manage-certificates and --shadow exclude each "
                        "other: a shadow writes nothing.");
    return query_api_check(&c->recommendation_api, err);
}

/* A reading of nothing takes no error and no sample, a resource that is not read counts as 0. */
static int check_external(const struct recommender_config *c, struct vpa_error *err)
{
    bool cpu = *c->external_cpu_metric, memory = *c->external_memory_metric;

    if (!c->use_external_metrics || (cpu && memory))
        return 0;
    if (!cpu && !memory)
        return vpa_fail(err, VPA_INVALID,
                        "--use-external-metrics needs --external-metrics-cpu-metric, "
                        "--external-metrics-memory-metric, or both.");
    VPA_WARN(
        "Usage of one resource is not read and counts as 0: its recommendations are the least "
        "there can be. Name its metric, or leave it out of controlledResources",
        VPA_KV("resource", cpu ? "memory" : "cpu"),
        VPA_KV("flag", cpu ? "--external-metrics-memory-metric" : "--external-metrics-cpu-metric"));
    return 0;
}

int recommender_config_check(struct recommender_config *config, recommender_getenv_fn read_env,
                             void *ctx, struct vpa_arena *arena, int *exit_status,
                             struct vpa_error *err)
{
    struct prom_options *prometheus = &config->prometheus;

    if (vpa_daemon_check(&config->common, &config->leader, exit_status, err) < 0)
        return -1;
    *exit_status = 1;
    if (*prometheus->bearer_token && *prometheus->bearer_token_file && *prometheus->username)
        return vpa_fail(
            err, VPA_INVALID,
            "--bearer-token, --bearer-token-file and --username are mutually exclusive and "
            "can't be set together.");
    vpa_auto_free char *token = NULL;
    if (prom_read_token(prometheus, &token, err) < 0 || check_durations(config, err) < 0)
        return -1;
    prometheus->bearer_token = vpa_arena_strdup(arena, token);
    if (algorithm_flags_check(&config->algorithms, err) < 0 || check_api(config, err) < 0 ||
        measures_check(config->measure_vpas, err) < 0 || check_external(config, err) < 0)
        return -1;

    prometheus->ns = config->common.vpa_object_namespace;
    prometheus->env_username =
        vpa_arena_strdup(arena, vpa_or_empty(read_env(ctx, "PROMETHEUS_USERNAME")));
    prometheus->env_password =
        vpa_arena_strdup(arena, vpa_or_empty(read_env(ctx, "PROMETHEUS_PASSWORD")));
    if (config->min_checkpoints != 10)
        VPA_INFO(
            "DEPRECATION WARNING: The 'min-checkpoints' flag is deprecated and has no effect. It "
            "will be removed in a future release.");
    return 0;
}
