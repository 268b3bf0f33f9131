/* The recommender's command line: every flag with its default, and the checks after parsing. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena_fixture.h"
#include "suite.h"
#include "captured_log.h"
#include "../../recommender/config.h"
#include "../../recommender/recommender.h"

#include "vpa/base/str.h"

static struct recommender_config config;

static const char *no_env(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return NULL;
}

static const char *prometheus_env(void *ctx, const char *name)
{
    (void)ctx;
    if (strcmp(name, "PROMETHEUS_USERNAME") == 0)
        return "user";
    return strcmp(name, "PROMETHEUS_PASSWORD") == 0 ? "secret" : NULL;
}

/* Up to four arguments. */
static int parse(const char *const *arguments, struct vpa_error *err)
{
    struct vpa_flags flags = recommender_flags(&config);
    char *argv[8] = {(char *)"vpa-recommender"};
    int argc = 1;

    for (size_t i = 0; i < 4 && arguments[i]; i++)
        argv[argc++] = (char *)arguments[i];
    return vpa_flags_parse(&flags, &arena, argc, argv, err);
}

/* ---- defaults (flags.md 1 and 2 of the specification) ---- */

static const struct {
    const char *name;
    const char *preset;
} defaults[] = {
    {"kubeconfig", ""},
    {"kube-api-qps", "50"},
    {"kube-api-burst", "100"},
    {"profiling", "false"},
    {"vpa-object-namespace", ""},
    {"ignored-vpa-object-namespaces", ""},
    {"address", ":8942"},
    {"leader-elect", "false"},
    {"leader-elect-lease-duration", "15s"},
    {"leader-elect-renew-deadline", "10s"},
    {"leader-elect-retry-period", "2s"},
    {"leader-elect-resource-lock", "leases"},
    {"leader-elect-resource-name", "vpa-recommender-lease"},
    {"leader-elect-resource-namespace", "kube-system"},
    {"v", "4"},
    {"recommender-name", "default"},
    {"recommender-interval", "1m0s"},
    {"checkpoints-gc-interval", "10m0s"},
    {"checkpoints-timeout", "1m0s"},
    {"checkpoint-max-age", "1h0m0s"},
    {"checkpoint-open-intervals", "true"},
    {"checkpoint-interval", "10m0s"},
    {"shadow", "false"},
    {"standby", "true"},
    {"storage", ""},
    {"memory-saver", "false"},
    {"update-worker-count", "10"},
    {"min-checkpoints", "10"},
    {"recommendation-margin-fraction", "0.15"},
    {"pod-recommendation-min-cpu-millicores", "25"},
    {"pod-recommendation-min-memory-mb", "250"},
    {"target-cpu-percentile", "0.9"},
    {"recommendation-lower-bound-cpu-percentile", "0.5"},
    {"recommendation-upper-bound-cpu-percentile", "0.95"},
    {"confidence-interval-cpu", "24h0m0s"},
    {"target-memory-percentile", "0.9"},
    {"recommendation-lower-bound-memory-percentile", "0.5"},
    {"recommendation-upper-bound-memory-percentile", "0.95"},
    {"confidence-interval-memory", "24h0m0s"},
    {"humanize-memory", "false"},
    {"round-cpu-millicores", "1"},
    {"round-memory-bytes", "1"},
    {"cpu-integer-post-processor-enabled", "false"},
    {"memory-aggregation-interval", "24h0m0s"},
    {"memory-aggregation-interval-count", "8"},
    {"memory-histogram-decay-half-life", "24h0m0s"},
    {"cpu-histogram-decay-half-life", "24h0m0s"},
    {"oom-bump-up-ratio", "1.2"},
    {"oom-min-bump-up-bytes", "1.048576e+08"},
    {"prometheus-address", "http://prometheus.monitoring.svc"},
    {"prometheus-insecure", "false"},
    {"prometheus-cadvisor-job-name", "kubernetes-cadvisor"},
    {"history-length", "8d"},
    {"history-resolution", "1h"},
    {"history-cpu-metric", "container_cpu_usage_seconds_total"},
    {"history-memory-metric", "container_memory_working_set_bytes"},
    {"prometheus-query-timeout", "5m"},
    {"pod-label-prefix", "pod_label_"},
    {"metric-for-pod-labels", "up{job=\"kubernetes-pods\"}"},
    {"pod-namespace-label", "kubernetes_namespace"},
    {"pod-name-label", "kubernetes_pod_name"},
    {"container-namespace-label", "namespace"},
    {"container-pod-name-label", "pod_name"},
    {"container-name-label", "name"},
    {"username", ""},
    {"password", ""},
    {"prometheus-bearer-token", ""},
    {"prometheus-bearer-token-file", ""},
    {"use-external-metrics", "false"},
    {"external-metrics-cpu-metric", ""},
    {"external-metrics-memory-metric", ""},
};

TEST_EACH(has_upstreams_default, defaults) {
    struct vpa_flags flags = recommender_flags(&config);
    vpa_auto_buf text = VPA_BUF(1024);

    for (size_t i = 0; i < flags.count; i++) {
        if (strcmp(flags.rows[i].name, defaults[_i].name) != 0)
            continue;
        vpa_flag_format(&flags, &flags.rows[i], true, &text);
        ck_assert_str_eq(vpa_buf_text(&text), defaults[_i].preset);
        return;
    }
    ck_abort_msg("no flag %s", defaults[_i].name);
}

/* ---- checks ---- */

static const struct {
    const char *name;
    const char *arguments[4];
    const char *want; /* NULL: accepted */
    int status;
} checks[] = {
    {"nothing", {NULL}, NULL, 0},
    {"both_namespace_flags",
     {"--vpa-object-namespace=a", "--ignored-vpa-object-namespaces=b"},
     "--vpa-object-namespace and --ignored-vpa-object-namespaces are mutually exclusive and can't "
     "be set "
     "together.",
     1},
    {"token_and_user", {"--prometheus-bearer-token=t", "--username=u"}, NULL, 0},
    {"token_file_and_user_and_token",
     {"--prometheus-bearer-token=t", "--prometheus-bearer-token-file=f", "--username=u"},
     "--bearer-token, --bearer-token-file and --username are mutually exclusive and can't be set "
     "together.",
     1},
    {"missing_token_file",
     {"--prometheus-bearer-token-file=/does/not/exist"},
     "Unable to read bearer token file",
     1},
    {"lease_shorter_than_deadline",
     {"--leader-elect", "--leader-elect-lease-duration=10s"},
     "leaseDuration must be greater than renewDeadline",
     2},
    {"lease_flags_without_election", {"--leader-elect-lease-duration=10s"}, NULL, 0},
    {"no_interval", {"--recommender-interval=0"}, "--recommender-interval must be positive.", 1},
    {"shadow_of_certificates",
     {"--shadow", "--recommendation-api-address=:1", "--recommendation-api-manage-certificates"},
     "--recommendation-api-manage-certificates and --shadow exclude each other: a shadow writes "
     "nothing.",
     1},
    {"negative_half_life",
     {"--cpu-histogram-decay-half-life=-1h"},
     "--cpu-histogram-decay-half-life must be positive.",
     1},
    {"half_life_that_overflows",
     {"--memory-histogram-decay-half-life=30000h"},
     "--memory-histogram-decay-half-life must be less than 25620h.",
     1},
    {"no_confidence",
     {"--confidence-interval-memory=0"},
     "--confidence-interval-memory must be positive.",
     1},
    {"no_external_metric",
     {"--use-external-metrics"},
     "--use-external-metrics needs --external-metrics-cpu-metric, "
     "--external-metrics-memory-metric, "
     "or both.",
     1},
    {"underscores", {"--recommender_interval=5s"}, NULL, 0},
    {"percentiles_are_taken_as_given", {"--target-cpu-percentile=7"}, NULL, 0},
};

static const struct {
    const char *arguments[4];
    const char *told; /* NULL: nothing is said */
} external[] = {
    {{"--use-external-metrics", "--external-metrics-cpu-metric=c"},
     "resource=\"memory\" flag=\"--external-metrics-memory-metric\""},
    {{"--use-external-metrics", "--external-metrics-memory-metric=m"},
     "resource=\"cpu\" flag=\"--external-metrics-cpu-metric\""},
    {{"--use-external-metrics", "--external-metrics-cpu-metric=c",
      "--external-metrics-memory-metric=m"},
     NULL},
    {{"--external-metrics-cpu-metric=c"}, NULL},
};

TEST_EACH(a_resource_that_is_not_read_is_told, external) {
    struct vpa_error err = {0};
    int status = 0;

    ck_assert_int_eq(parse(external[_i].arguments, &err), VPA_FLAGS_RUN);
    capture_log(0);
    ck_assert_int_eq(recommender_config_check(&config, no_env, NULL, &arena, &status, &err), 0);
    const char *text = logged_text();
    if (external[_i].told)
        ck_assert_ptr_nonnull(strstr(text, external[_i].told));
    else
        ck_assert_str_eq(text, "");
}

TEST_EACH(checks_settings, checks) {
    struct vpa_error err = {0};
    int status = 0;

    ck_assert_int_eq(parse(checks[_i].arguments, &err), VPA_FLAGS_RUN);
    int result = recommender_config_check(&config, no_env, NULL, &arena, &status, &err);
    if (!checks[_i].want) {
        ck_assert_msg(result == 0, "%s: %s", checks[_i].name, err.text);
        return;
    }
    ck_assert_msg(result < 0, "%s", checks[_i].name);
    ck_assert_msg(vpa_str_starts_with(err.text, checks[_i].want), "%s: %s", checks[_i].name,
                  err.text);
    ck_assert_int_eq(status, checks[_i].status);
}

TEST(trims_the_token_file) {
    char path[] = "/tmp/plumb-token-XXXXXX";
    int fd = mkstemp(path);
    struct vpa_error err;
    int status;

    ck_assert(fd >= 0);
    ck_assert(write(fd, "\n  from file\t\n", 14) == 14);
    close(fd);
    ck_assert_int_eq(parse((const char *const[4]){vpa_arena_printf(
                               &arena, "--prometheus-bearer-token-file=%s", path)},
                           &err),
                     VPA_FLAGS_RUN);
    int result = recommender_config_check(&config, no_env, NULL, &arena, &status, &err);
    ck_assert_msg(result == 0, "%s", err.text);
    unlink(path);
    ck_assert_str_eq(config.prometheus.bearer_token, "from file");
}

TEST(reads_the_environment) {
    struct vpa_error err;
    int status;

    ck_assert_int_eq(parse((const char *const[4]){"--vpa-object-namespace=x"}, &err),
                     VPA_FLAGS_RUN);
    ck_assert_int_eq(recommender_config_check(&config, prometheus_env, NULL, &arena, &status, &err),
                     0);
    ck_assert_str_eq(config.prometheus.env_username, "user");
    ck_assert_str_eq(config.prometheus.env_password, "secret");
    ck_assert_str_eq(config.prometheus.ns, "x");
}

TEST(knows_where_history_comes_from) {
    struct vpa_error err;

    ck_assert_int_eq(parse((const char *const[4]){"--storage=prometheus"}, &err), VPA_FLAGS_RUN);
    ck_assert(recommender_uses_prometheus(&config));
    ck_assert_int_eq(parse((const char *const[4]){"--storage=Prometheus"}, &err), VPA_FLAGS_RUN);
    ck_assert(!recommender_uses_prometheus(&config));
}

/* Each flag of the estimator decides about its own number and about no other. */
TEST(flags_reach_the_estimator) {
    struct vpa_estimator e, plain;
    const struct row {
        const char *flag;
        double *value;
    } rows[] = {
        {"--target-cpu-percentile=7", &e.percentile[VPA_TARGET][VPA_KIND_CPU]},
        {"--recommendation-lower-bound-cpu-percentile=7",
         &e.percentile[VPA_LOWER_BOUND][VPA_KIND_CPU]},
        {"--recommendation-upper-bound-cpu-percentile=7",
         &e.percentile[VPA_UPPER_BOUND][VPA_KIND_CPU]},
        {"--target-memory-percentile=7", &e.percentile[VPA_TARGET][VPA_KIND_MEMORY]},
        {"--recommendation-lower-bound-memory-percentile=7",
         &e.percentile[VPA_LOWER_BOUND][VPA_KIND_MEMORY]},
        {"--recommendation-upper-bound-memory-percentile=7",
         &e.percentile[VPA_UPPER_BOUND][VPA_KIND_MEMORY]},
        {"--recommendation-margin-fraction=7", &e.margin},
        {"--pod-recommendation-min-cpu-millicores=7", &e.min_cpu_millicores},
        {"--pod-recommendation-min-memory-mb=7", &e.min_memory_mb},
    };
    struct vpa_error err;

    parse((const char *const[4]){NULL}, &err);
    plain = config.estimator;
    for (size_t i = 0; i < VPA_COUNT(rows); i++) {
        size_t offset = (size_t)((char *)rows[i].value - (char *)&e);

        ck_assert_int_eq(parse((const char *const[4]){rows[i].flag}, &err), VPA_FLAGS_RUN);
        e = config.estimator;
        ck_assert_msg(*rows[i].value == 7, "%s: %g", rows[i].flag, *rows[i].value);
        *rows[i].value = *(const double *)((const char *)&plain + offset);
        ck_assert_msg(memcmp(&e, &plain, sizeof(e)) == 0, "%s changes something else",
                      rows[i].flag);
    }
    parse((const char *const[4]){"--confidence-interval-cpu=7h"}, &err);
    e = config.estimator;
    ck_assert_int_eq(e.confidence_interval[VPA_KIND_CPU], 7 * VPA_HOUR);
    ck_assert_int_eq(e.confidence_interval[VPA_KIND_MEMORY], 24 * VPA_HOUR);
    parse((const char *const[4]){"--confidence-interval-memory=7h"}, &err);
    e = config.estimator;
    ck_assert_int_eq(e.confidence_interval[VPA_KIND_CPU], 24 * VPA_HOUR);
    ck_assert_int_eq(e.confidence_interval[VPA_KIND_MEMORY], 7 * VPA_HOUR);
}

/* And each of the model's memory decides about its own. */
TEST(flags_reach_the_model) {
    static const char *const flags[] = {"--cpu-histogram-decay-half-life=7h",
                                        "--memory-histogram-decay-half-life=7h",
                                        "--memory-aggregation-interval=7h",
                                        "--memory-aggregation-interval-count=7",
                                        "--oom-bump-up-ratio=7",
                                        "--oom-min-bump-up-bytes=7",
                                        "--feature-gates=PerVPAConfig=false"};
    struct vpa_error err;

    for (size_t i = 0; i <= VPA_COUNT(flags); i++) {
        struct vpa_aggregation a, plain;
        const char *flag = i < VPA_COUNT(flags) ? flags[i] : NULL;

        ck_assert_int_eq(parse((const char *const[4]){flag}, &err), VPA_FLAGS_RUN);
        recommender_aggregation(&config, &a);
        vpa_aggregation_init(&plain);
        ck_assert_int_eq(a.cpu_half_life, i == 0 ? 7 * VPA_HOUR : plain.cpu_half_life);
        ck_assert_int_eq(a.memory_half_life, i == 1 ? 7 * VPA_HOUR : plain.memory_half_life);
        ck_assert_int_eq(a.memory_interval, i == 2 ? 7 * VPA_HOUR : plain.memory_interval);
        ck_assert_int_eq(a.memory_interval_count, i == 3 ? 7 : plain.memory_interval_count);
        ck_assert_double_eq(a.oom_bump_up_ratio, i == 4 ? 7 : plain.oom_bump_up_ratio);
        ck_assert_double_eq(a.oom_min_bump_up, i == 5 ? 7 : plain.oom_min_bump_up);
        ck_assert_int_eq(a.per_vpa_config, i != 6);
        vpa_aggregation_release(&a);
        vpa_aggregation_release(&plain);
    }
}

int main(void)
{
    return run_tests("recommender_config", setup, teardown);
}
