/*
 * What passes of the recommender leave behind, whole: the writes and readings of each pass, what
 * the ledger says, lines of the log, and every series of the metrics that is not zero.
 */
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recommender_fixture.h"

static struct vpa_buf told;
static int log_fd;

static void begin_story(void)
{
    struct vpa_error err;

    setup();
    log_fd = memfd_create("log", 0);
    ck_assert_int_eq(vpa_log_configure(&(struct vpa_log_options){.fd = log_fd}, &err), 0);
    ledger = vpa_ledger_new(&(struct vpa_ledger_flags){.memory = VPA_LEDGER_MEMORY});
    vpa_buf_init(&told, (size_t)4 << 20);
}

static void end_story(void)
{
    teardown();
    vpa_ledger_free(ledger);
    ledger = NULL;
    vpa_buf_release(&told);
    close(log_fd);
}

#define COMMON "/apis/autoscaling.k8s.io/v1/namespaces/"

static void tell_traffic(bool bodies)
{
    size_t count;
    const struct fake_write *writes = fake_cluster_writes(server, &count);
    const struct fake_list *reads = fake_cluster_reads(server);

    for (size_t i = 0; i < reads->count; i++)
        vpa_buf_printf(&told, "%s\n", reads->items[i]);
    for (size_t i = 0; i < count; i++)
        vpa_buf_printf(&told, "%d %s %s %s\n", writes[i].code, writes[i].method,
                       vpa_str_starts_with(writes[i].path, COMMON) ? writes[i].path + strlen(COMMON)
                                                                   : writes[i].path,
                       bodies || strstr(writes[i].path, "/status") ? vpa_or_empty(writes[i].body)
                                                                   : "");
}

static void tell_ledger(void)
{
    vpa_auto_buf out = {0};
    struct vpa_error err;

    vpa_buf_init(&out, 2 * VPA_LEDGER_PAGE_MAX);
    ck_assert_int_eq(vpa_ledger_read(ledger, &(struct vpa_ledger_query){0}, &out, &err), 0);
    vpa_json_foreach (e, vpa_json_find(json(vpa_arena_strdup(&arena, out.data)), "decisions"))
        vpa_buf_printf(&told, "> %s/%s %s, %s: %s\n", fake_text_at(e, "namespace"),
                       fake_text_at(e, "vpa"), fake_text_at(e, "decision"), fake_text_at(e, "rule"),
                       fake_text_at(e, "why"));
}

/* Each line from its message on. */
static void tell_log(void)
{
    static char all[1 << 18];
    ssize_t len = pread(log_fd, all, sizeof(all) - 1, 0);
    char *rest = all;

    ck_assert_int_ge(len, 0);
    all[len] = '\0';
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        const char *message = strstr(line, "] ");

        vpa_buf_printf(&told, "%c %s\n", line[0], message ? message + 2 : line);
    }
}

/* The times of the parts of a pass come last, in one line. */
static void tell_metrics(bool quality)
{
    static const char times[] = "vpa_recommender_execution_latency_seconds_";
    struct vpa_metrics metrics = {0};
    vpa_auto_buf page = {0}, parts = {0};
    char *rest;

    metrics.table = recommender_metrics_table(&metrics.count);
    vpa_buf_init(&page, (size_t)4 << 20);
    vpa_buf_init(&parts, (size_t)1 << 16);
    vpa_metrics_write(&metrics, VPA_EXPOSITION_TEXT, NULL, 0, &page);
    rest = page.data;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        if (line[0] == '#' || vpa_str_ends_with(line, " 0") || strstr(line, "_bucket{") ||
            !vpa_str_starts_with(line, "vpa_"))
            continue;
        if (vpa_str_starts_with(line, times))
            vpa_buf_printf(&parts, "%s ", line + strlen(times));
        else if (quality || !vpa_str_starts_with(line, "vpa_quality_"))
            vpa_buf_printf(&told, "%s\n", line + strlen("vpa_"));
    }
    vpa_buf_printf(&told, "%s\n", vpa_buf_text(&parts));
}

/* The first line that differs. */
static void compare(const char *name, const char *got, const char *want)
{
    const char *line = got;

    for (size_t i = 0; got[i] && got[i] == want[i]; i++)
        if (got[i] == '\n')
            line = got + i + 1;
    ck_assert_msg(strcmp(got, want) == 0, "%s: %.*s\nis not %.*s", name, (int)strcspn(line, "\n"),
                  line, (int)strcspn(want + (line - got), "\n"), want + (line - got));
}

#define NOTHING "{\"usage\":[]}"
#define DELETE(version, kind, name)                                                                \
    "{\"delete\":{\"apiVersion\":\"" version "\",\"kind\":\"" kind                                 \
    "\",\"namespace\":\"shop\",\"name\":\"" name "\"}}"
#define DELETE_VPA DELETE("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "web")
#define RUNNING(name, restarts, state)                                                             \
    APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                 \
          "\",\"namespace\":\"shop\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{"    \
          "\"name\":\"app\",\"resources\":{\"requests\":{\"memory\":\"1Gi\"}}}]},\"status\":{"     \
          "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"app\","                        \
          "\"restartCount\":" restarts ",\"state\":" state "}]}}")
#define UP "{\"running\":{}}"
#define KILLED "{\"terminated\":{\"reason\":\"OOMKilled\",\"finishedAt\":\"2026-01-15T12:01:30Z\"}}"
#define UNREADABLE                                                                                 \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","          \
          "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"},\"spec\":{"                      \
          "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\","                   \
          "\"minAllowed\":{\"cpu\":\"1e1.5\"}}]},\"targetRef\":{\"apiVersion\":\"apps/v1\","       \
          "\"kind\":\"Deployment\",\"name\":\"web\"}}}")
#define STRANGERS                                                                                  \
    "{\"usage\":[{\"namespace\":\"shop\",\"pod\":\"stranger\",\"containers\":[{\"name\":\"app\","  \
    "\"cpu\":[\"1\"],\"memory\":[\"1Gi\"]}]},{\"namespace\":\"shop\",\"pod\":\"web-1\","           \
    "\"containers\":[{\"name\":\"other\",\"cpu\":[\"1\"],\"memory\":[\"1Gi\"]}]}]}"

/* One pass: what changes before it, its usage, and what is refused. */
struct step {
    const char *change;
    const char *usage;
    const char *refused; /* the end of the path of writes; NULL: none */
    int code;
};

struct story {
    const char *name, *flag;
    bool changed_first; /* what the first step changes is there at the start */
    bool whole;         /* bodies of checkpoints, and the quality of recommendations */
    struct step steps[6];
    const char *left; /* behind */
};

static const struct story stories[] = {
    {.name = "a first recommendation",
     .flag = NULL,
     .changed_first = false,
     .whole = true,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0}, {NULL, USAGE("1", "1Gi"), NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"97656250000Ki\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app "
         "[{\"op\":\"replace\",\"path\":\"/"
         "status\",\"value\":{\"lastUpdateTime\":\"2026-01-15T12:01:00Z\",\"version\":\"v3\","
         "\"cpuHistogram\":{\"referenceTimestamp\":\"2026-01-16T00:00:00Z\",\"bucketWeights\":{"
         "\"36\":10000},\"totalWeight\":0.07074472305289221},\"memoryHistogram\":{"
         "\"referenceTimestamp\":\"2026-01-17T00:00:00Z\"},\"firstSampleStart\":\"2026-01-15T12:01:"
         "00Z\",\"lastSampleStart\":\"2026-01-15T12:01:00Z\",\"totalSamplesCount\":1}},{\"op\":"
         "\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"vpa.autoscaling.k8s.io/"
         "open-memory-intervals\":\"{\\\"history\\\":\\\"2ebbf1fb\\\",\\\"intervals\\\":[{"
         "\\\"pod\\\":\\\"web-1\\\",\\\"uid\\\":\\\"068d971d\\\",\\\"end\\\":\\\"2026-01-16T12:01:"
         "00Z\\\",\\\"usage\\\":1073741824}]}\",\"vpa.autoscaling.k8s.io/"
         "history-target\":\"Deployment/web\"}}]\n"
         "201 POST shop/verticalpodautoscalercheckpoints "
         "{\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"apiVersion\":\"autoscaling.k8s.io/"
         "v1\",\"metadata\":{\"name\":\"web-app\",\"annotations\":{\"vpa.autoscaling.k8s.io/"
         "open-memory-intervals\":\"{\\\"history\\\":\\\"2ebbf1fb\\\",\\\"intervals\\\":[{"
         "\\\"pod\\\":\\\"web-1\\\",\\\"uid\\\":\\\"068d971d\\\",\\\"end\\\":\\\"2026-01-16T12:01:"
         "00Z\\\",\\\"usage\\\":1073741824}]}\",\"vpa.autoscaling.k8s.io/"
         "history-target\":\"Deployment/"
         "web\"}},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":\"app\"},\"status\":{"
         "\"lastUpdateTime\":\"2026-01-15T12:01:00Z\",\"version\":\"v3\",\"cpuHistogram\":{"
         "\"referenceTimestamp\":\"2026-01-16T00:00:00Z\",\"bucketWeights\":{\"36\":10000},"
         "\"totalWeight\":0.07074472305289221},\"memoryHistogram\":{\"referenceTimestamp\":\"2026-"
         "01-17T00:00:00Z\"},\"firstSampleStart\":\"2026-01-15T12:01:00Z\",\"lastSampleStart\":"
         "\"2026-01-15T12:01:00Z\",\"totalSamplesCount\":1}}\n"
         "--\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"196m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"1683088m\",\"memory\":"
         "\"1784908735775\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "200 PATCH shop/verticalpodautoscalercheckpoints/web-app "
         "[{\"op\":\"replace\",\"path\":\"/"
         "status\",\"value\":{\"lastUpdateTime\":\"2026-01-15T12:02:00Z\",\"version\":\"v3\","
         "\"cpuHistogram\":{\"referenceTimestamp\":\"2026-01-16T00:00:00Z\",\"bucketWeights\":{"
         "\"36\":10000},\"totalWeight\":0.14152350743157088},\"memoryHistogram\":{"
         "\"referenceTimestamp\":\"2026-01-17T00:00:00Z\"},\"firstSampleStart\":\"2026-01-15T12:01:"
         "00Z\",\"lastSampleStart\":\"2026-01-15T12:02:00Z\",\"totalSamplesCount\":2}}]\n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; "
         "RecommendationProvided is True\n"
         "quality_cpu_recommendation_lower_equal_usage_diffs_cores_sum{recommendation_missing="
         "\"true\",update_mode=\"\"} 1\n"
         "quality_cpu_recommendation_lower_equal_usage_diffs_cores_count{recommendation_missing="
         "\"true\",update_mode=\"\"} 1\n"
         "quality_cpu_recommendation_over_usage_diffs_cores_sum{recommendation_missing=\"false\","
         "update_mode=\"\"} 0.16799999999999993\n"
         "quality_cpu_recommendation_over_usage_diffs_cores_count{recommendation_missing=\"false\","
         "update_mode=\"\"} 1\n"
         "quality_cpu_recommendations_cores_sum{update_mode=\"\"} 1.168\n"
         "quality_cpu_recommendations_cores_count{update_mode=\"\"} 1\n"
         "quality_mem_recommendation_lower_equal_usage_diffs_bytes_sum{is_oom=\"false\","
         "recommendation_missing=\"true\",update_mode=\"\"} 1.073741824e+09\n"
         "quality_mem_recommendation_lower_equal_usage_diffs_bytes_count{is_oom=\"false\","
         "recommendation_missing=\"true\",update_mode=\"\"} 1\n"
         "quality_mem_recommendation_over_usage_diffs_bytes_sum{is_oom=\"false\",recommendation_"
         "missing=\"false\",update_mode=\"\"} 1.64917951e+08\n"
         "quality_mem_recommendation_over_usage_diffs_bytes_count{is_oom=\"false\",recommendation_"
         "missing=\"false\",update_mode=\"\"} 1\n"
         "quality_mem_recommendations_bytes_sum{is_oom=\"false\",update_mode=\"\"} "
         "1.238659775e+09\n"
         "quality_mem_recommendations_bytes_count{is_oom=\"false\",update_mode=\"\"} 1\n"
         "quality_relative_recommendation_changes_count{resource=\"cpu\",update_mode=\"\",vpa_size_"
         "log2=\"0\"} 1\n"
         "quality_relative_recommendation_changes_count{resource=\"memory\",update_mode=\"\",vpa_"
         "size_log2=\"0\"} 1\n"
         "quality_usage_recommendation_relative_diffs_sum{is_oom=\"false\",resource=\"cpu\",update_"
         "mode=\"\"} -0.1438356164383561\n"
         "quality_usage_recommendation_relative_diffs_count{is_oom=\"false\",resource=\"cpu\","
         "update_mode=\"\"} 1\n"
         "quality_usage_recommendation_relative_diffs_sum{is_oom=\"false\",resource=\"memory\","
         "update_mode=\"\"} -0.13314225126911866\n"
         "quality_usage_recommendation_relative_diffs_count{is_oom=\"false\",resource=\"memory\","
         "update_mode=\"\"} 1\n"
         "quality_usage_sample_missing_recommendation_count{is_oom=\"false\",resource=\"cpu\","
         "update_mode=\"\"} 1\n"
         "quality_usage_sample_missing_recommendation_count{is_oom=\"false\",resource=\"memory\","
         "update_mode=\"\"} 1\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"cpu\"} 1.168\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"memory\"} "
         "1.238659775e+09\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"cpu\"} 1\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"memory\"} 1.073741824e+09\n"
         "recommender_measure_slack{algorithm=\"vpa\",resource=\"cpu\"} 0.1438356164383561\n"
         "recommender_measure_slack{algorithm=\"vpa\",resource=\"memory\"} 0.13314225126911866\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"cpu\"} 1\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"memory\"} 1.073741824e+09\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 2\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 2\n"
         "count{step=\"DeleteRemovedPods\"} 2 count{step=\"GarbageCollect\"} 2 "
         "count{step=\"LoadMetrics\"} 2 count{step=\"LoadPods\"} 2 count{step=\"LoadVPAs\"} 2 "
         "count{step=\"MaintainCheckpoints\"} 2 count{step=\"UpdateVPAs\"} 2 count{step=\"total\"} "
         "2 \n"},
    {.name = "nothing is used",
     .flag = NULL,
     .changed_first = false,
     .whole = true,
     .steps = {{NULL, NOTHING, NULL, 0}, {NULL, NOTHING, NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"25m\",\"memory\":\"250Mi\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"25m\",\"memory\":\"250Mi\"},"
         "\"uncappedTarget\":{\"cpu\":\"25m\",\"memory\":\"250Mi\"}}]},\"conditions\":[{\"type\":"
         "\"RecommendationProvided\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-15T12:01:"
         "00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app "
         "[{\"op\":\"replace\",\"path\":\"/"
         "status\",\"value\":{\"lastUpdateTime\":\"2026-01-15T12:01:00Z\",\"version\":\"v3\","
         "\"cpuHistogram\":{\"referenceTimestamp\":null},\"memoryHistogram\":{"
         "\"referenceTimestamp\":null},\"firstSampleStart\":null,\"lastSampleStart\":null}},{"
         "\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"vpa.autoscaling.k8s.io/"
         "history-target\":\"Deployment/web\"}}]\n"
         "201 POST shop/verticalpodautoscalercheckpoints "
         "{\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"apiVersion\":\"autoscaling.k8s.io/"
         "v1\",\"metadata\":{\"name\":\"web-app\",\"annotations\":{\"vpa.autoscaling.k8s.io/"
         "history-target\":\"Deployment/"
         "web\"}},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":\"app\"},\"status\":{"
         "\"lastUpdateTime\":\"2026-01-15T12:01:00Z\",\"version\":\"v3\",\"cpuHistogram\":{"
         "\"referenceTimestamp\":null},\"memoryHistogram\":{\"referenceTimestamp\":null},"
         "\"firstSampleStart\":null,\"lastSampleStart\":null}}\n"
         "--\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 25m; memory target none -> 250Mi; "
         "RecommendationProvided is True\n"
         "quality_relative_recommendation_changes_count{resource=\"cpu\",update_mode=\"\",vpa_size_"
         "log2=\"0\"} 1\n"
         "quality_relative_recommendation_changes_count{resource=\"memory\",update_mode=\"\",vpa_"
         "size_log2=\"0\"} 1\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 2\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 2\n"
         "count{step=\"DeleteRemovedPods\"} 2 count{step=\"GarbageCollect\"} 2 "
         "count{step=\"LoadMetrics\"} 2 count{step=\"LoadPods\"} 2 count{step=\"LoadVPAs\"} 2 "
         "count{step=\"MaintainCheckpoints\"} 2 count{step=\"UpdateVPAs\"} 2 count{step=\"total\"} "
         "2 \n"},
    {.name = "usage that moves",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("100m", "100Mi"), NULL, 0}, {NULL, USAGE("2", "3Gi"), NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"126m\",\"memory\":\"250Mi\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"97656250000Ki\"},\"uncappedTarget\":{\"cpu\":\"126m\",\"memory\":\"250Mi\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "--\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"2406m\",\"memory\":\"3861631195\"},\"lowerBound\":{\"cpu\":"
         "\"404m\",\"memory\":\"648621203\"},\"upperBound\":{\"cpu\":\"3467046m\",\"memory\":"
         "\"5564610551995\"},\"uncappedTarget\":{\"cpu\":\"2406m\",\"memory\":\"3861631195\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "200 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 126m; memory target none -> 250Mi; "
         "RecommendationProvided is True\n"
         "> shop/web recommend, a target moved by a tenth or more: cpu target 126m -> 2406m; "
         "memory target 250Mi -> 3861631195\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_measure_changes_total{algorithm=\"vpa\",resource=\"cpu\"} 1\n"
         "recommender_measure_changes_total{algorithm=\"vpa\",resource=\"memory\"} 1\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"cpu\"} 0.126\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"memory\"} "
         "2.62144e+08\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"cpu\"} 0.126\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"memory\"} 2.62144e+08\n"
         "recommender_measure_unserved{algorithm=\"vpa\",resource=\"cpu\"} 0.937\n"
         "recommender_measure_unserved{algorithm=\"vpa\",resource=\"memory\"} 0.9186197916666666\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"cpu\"} 2\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"memory\"} 3.221225472e+09\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 2\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 2\n"
         "count{step=\"DeleteRemovedPods\"} 2 count{step=\"GarbageCollect\"} 2 "
         "count{step=\"LoadMetrics\"} 2 count{step=\"LoadPods\"} 2 count{step=\"LoadVPAs\"} 2 "
         "count{step=\"MaintainCheckpoints\"} 2 count{step=\"UpdateVPAs\"} 2 count{step=\"total\"} "
         "2 \n"},
    {.name = "a status that cannot be written",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), "/status", 500}, {NULL, USAGE("1", "1Gi"), NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "--\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"196m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"1683088m\",\"memory\":"
         "\"1784908735775\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:02:00Z\"}],\"observedGeneration\":1}}]\n"
         "200 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; "
         "RecommendationProvided is True\n"
         "E \"Cannot update VPA\" err=\"refused\" failures=1 first=\"shop/web\"\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_failures_total{message=\"Cannot update VPA\"} 1\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"cpu\"} 1.168\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"memory\"} "
         "1.238659775e+09\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"cpu\"} 1\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"memory\"} 1.073741824e+09\n"
         "recommender_measure_slack{algorithm=\"vpa\",resource=\"cpu\"} 0.1438356164383561\n"
         "recommender_measure_slack{algorithm=\"vpa\",resource=\"memory\"} 0.13314225126911866\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"cpu\"} 1\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"memory\"} 1.073741824e+09\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 2\n"
         "recommender_recommendation_latency_seconds_sum 14580\n"
         "recommender_recommendation_latency_seconds_count 2\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 2\n"
         "count{step=\"DeleteRemovedPods\"} 2 count{step=\"GarbageCollect\"} 2 "
         "count{step=\"LoadMetrics\"} 2 count{step=\"LoadPods\"} 2 count{step=\"LoadVPAs\"} 2 "
         "count{step=\"MaintainCheckpoints\"} 2 count{step=\"UpdateVPAs\"} 2 count{step=\"total\"} "
         "2 \n"},
    {.name = "a status that may not be written",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), "/status", 403}},
     .left = "200 /apis/metrics.k8s.io/v1beta1/pods\n"
             "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
             "201 POST shop/verticalpodautoscalercheckpoints \n"
             "--\n"
             "> shop/web recommend, first: cpu target none -> 1168m; memory target none -> "
             "1238659775; RecommendationProvided is True\n"
             "E \"Cannot update VPA\" err=\"refused\" failures=1 first=\"shop/web\"\n"
             "recommender_aggregate_container_states_count 1\n"
             "recommender_failures_total{message=\"Cannot update VPA\"} 1\n"
             "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
             "\"false\"} 1\n"
             "recommender_recommendation_latency_seconds_sum 7260\n"
             "recommender_recommendation_latency_seconds_count 1\n"
             "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
             "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
             "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 1\n"
             "count{step=\"DeleteRemovedPods\"} 1 count{step=\"GarbageCollect\"} 1 "
             "count{step=\"LoadMetrics\"} 1 count{step=\"LoadPods\"} 1 count{step=\"LoadVPAs\"} 1 "
             "count{step=\"MaintainCheckpoints\"} 1 count{step=\"UpdateVPAs\"} 1 "
             "count{step=\"total\"} 1 \n"},
    {.name = "a checkpoint that cannot be written",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), "checkpoints", 403}, {NULL, USAGE("1", "1Gi"), NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"97656250000Ki\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "--\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"196m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"1683088m\",\"memory\":"
         "\"1784908735775\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; "
         "RecommendationProvided is True\n"
         "E \"Cannot save checkpoint for VPA\" err=\"refused\" failures=1 first=\"shop/web-app\"\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_failures_total{message=\"Cannot save checkpoint for VPA\"} 1\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"cpu\"} 1.168\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"memory\"} "
         "1.238659775e+09\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"cpu\"} 1\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"memory\"} 1.073741824e+09\n"
         "recommender_measure_slack{algorithm=\"vpa\",resource=\"cpu\"} 0.1438356164383561\n"
         "recommender_measure_slack{algorithm=\"vpa\",resource=\"memory\"} 0.13314225126911866\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"cpu\"} 1\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"memory\"} 1.073741824e+09\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 2\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 2\n"
         "count{step=\"DeleteRemovedPods\"} 2 count{step=\"GarbageCollect\"} 2 "
         "count{step=\"LoadMetrics\"} 2 count{step=\"LoadPods\"} 2 count{step=\"LoadVPAs\"} 2 "
         "count{step=\"MaintainCheckpoints\"} 2 count{step=\"UpdateVPAs\"} 2 count{step=\"total\"} "
         "2 \n"},
    {.name = "a kill for memory",
     .flag = NULL,
     .changed_first = true,
     .whole = true,
     .steps = {{RUNNING("web-1", "0", UP), USAGE("1", "300Mi"), NULL, 0},
               {RUNNING("web-1", "0", KILLED), USAGE("1", "300Mi"), NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"380258472\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"97656250000Ki\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"380258472\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app "
         "[{\"op\":\"replace\",\"path\":\"/"
         "status\",\"value\":{\"lastUpdateTime\":\"2026-01-15T12:01:00Z\",\"version\":\"v3\","
         "\"cpuHistogram\":{\"referenceTimestamp\":\"2026-01-16T00:00:00Z\",\"bucketWeights\":{"
         "\"36\":10000},\"totalWeight\":0.07074472305289221},\"memoryHistogram\":{"
         "\"referenceTimestamp\":\"2026-01-17T00:00:00Z\"},\"firstSampleStart\":\"2026-01-15T12:01:"
         "00Z\",\"lastSampleStart\":\"2026-01-15T12:01:00Z\",\"totalSamplesCount\":1}},{\"op\":"
         "\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"vpa.autoscaling.k8s.io/"
         "open-memory-intervals\":\"{\\\"history\\\":\\\"2ebbf1fb\\\",\\\"intervals\\\":[{"
         "\\\"pod\\\":\\\"web-1\\\",\\\"uid\\\":\\\"068d971d\\\",\\\"end\\\":\\\"2026-01-16T12:01:"
         "00Z\\\",\\\"usage\\\":314572800}]}\",\"vpa.autoscaling.k8s.io/"
         "history-target\":\"Deployment/web\"}}]\n"
         "201 POST shop/verticalpodautoscalercheckpoints "
         "{\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"apiVersion\":\"autoscaling.k8s.io/"
         "v1\",\"metadata\":{\"name\":\"web-app\",\"annotations\":{\"vpa.autoscaling.k8s.io/"
         "open-memory-intervals\":\"{\\\"history\\\":\\\"2ebbf1fb\\\",\\\"intervals\\\":[{"
         "\\\"pod\\\":\\\"web-1\\\",\\\"uid\\\":\\\"068d971d\\\",\\\"end\\\":\\\"2026-01-16T12:01:"
         "00Z\\\",\\\"usage\\\":314572800}]}\",\"vpa.autoscaling.k8s.io/"
         "history-target\":\"Deployment/"
         "web\"}},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":\"app\"},\"status\":{"
         "\"lastUpdateTime\":\"2026-01-15T12:01:00Z\",\"version\":\"v3\",\"cpuHistogram\":{"
         "\"referenceTimestamp\":\"2026-01-16T00:00:00Z\",\"bucketWeights\":{\"36\":10000},"
         "\"totalWeight\":0.07074472305289221},\"memoryHistogram\":{\"referenceTimestamp\":\"2026-"
         "01-17T00:00:00Z\"},\"firstSampleStart\":\"2026-01-15T12:01:00Z\",\"lastSampleStart\":"
         "\"2026-01-15T12:01:00Z\",\"totalSamplesCount\":1}}\n"
         "--\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1555165137\"},\"lowerBound\":{\"cpu\":"
         "\"196m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"1683088m\",\"memory\":"
         "\"2240992962417\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1555165137\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "200 PATCH shop/verticalpodautoscalercheckpoints/web-app "
         "[{\"op\":\"replace\",\"path\":\"/"
         "status\",\"value\":{\"lastUpdateTime\":\"2026-01-15T12:02:00Z\",\"version\":\"v3\","
         "\"cpuHistogram\":{\"referenceTimestamp\":\"2026-01-16T00:00:00Z\",\"bucketWeights\":{"
         "\"36\":10000},\"totalWeight\":0.14152350743157088},\"memoryHistogram\":{"
         "\"referenceTimestamp\":\"2026-01-17T00:00:00Z\"},\"firstSampleStart\":\"2026-01-15T12:01:"
         "00Z\",\"lastSampleStart\":\"2026-01-15T12:02:00Z\",\"totalSamplesCount\":2}},{\"op\":"
         "\"add\",\"path\":\"/metadata/annotations/"
         "vpa.autoscaling.k8s.io~1open-memory-intervals\",\"value\":\"{\\\"history\\\":"
         "\\\"2ebbf1fb\\\",\\\"intervals\\\":[{\\\"pod\\\":\\\"web-1\\\",\\\"uid\\\":"
         "\\\"068d971d\\\",\\\"end\\\":\\\"2026-01-16T12:01:00Z\\\",\\\"usage\\\":314572800,"
         "\\\"oom\\\":1288490188}]}\"}]\n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 380258472; "
         "RecommendationProvided is True\n"
         "> shop/web recommend, a target moved by a tenth or more: memory target 380258472 -> "
         "1555165137\n"
         "quality_cpu_recommendation_lower_equal_usage_diffs_cores_sum{recommendation_missing="
         "\"true\",update_mode=\"\"} 1\n"
         "quality_cpu_recommendation_lower_equal_usage_diffs_cores_count{recommendation_missing="
         "\"true\",update_mode=\"\"} 1\n"
         "quality_cpu_recommendation_over_usage_diffs_cores_sum{recommendation_missing=\"false\","
         "update_mode=\"\"} 0.16799999999999993\n"
         "quality_cpu_recommendation_over_usage_diffs_cores_count{recommendation_missing=\"false\","
         "update_mode=\"\"} 1\n"
         "quality_cpu_recommendations_cores_sum{update_mode=\"\"} 1.168\n"
         "quality_cpu_recommendations_cores_count{update_mode=\"\"} 1\n"
         "quality_mem_recommendation_lower_equal_usage_diffs_bytes_sum{is_oom=\"false\","
         "recommendation_missing=\"true\",update_mode=\"\"} 3.145728e+08\n"
         "quality_mem_recommendation_lower_equal_usage_diffs_bytes_count{is_oom=\"false\","
         "recommendation_missing=\"true\",update_mode=\"\"} 1\n"
         "quality_mem_recommendation_lower_equal_usage_diffs_bytes_sum{is_oom=\"true\","
         "recommendation_missing=\"false\",update_mode=\"\"} 9.08231716e+08\n"
         "quality_mem_recommendation_lower_equal_usage_diffs_bytes_count{is_oom=\"true\","
         "recommendation_missing=\"false\",update_mode=\"\"} 1\n"
         "quality_mem_recommendation_over_usage_diffs_bytes_sum{is_oom=\"false\",recommendation_"
         "missing=\"false\",update_mode=\"\"} 6.5685672e+07\n"
         "quality_mem_recommendation_over_usage_diffs_bytes_count{is_oom=\"false\",recommendation_"
         "missing=\"false\",update_mode=\"\"} 1\n"
         "quality_mem_recommendations_bytes_sum{is_oom=\"false\",update_mode=\"\"} 3.80258472e+08\n"
         "quality_mem_recommendations_bytes_count{is_oom=\"false\",update_mode=\"\"} 1\n"
         "quality_mem_recommendations_bytes_sum{is_oom=\"true\",update_mode=\"\"} 3.80258472e+08\n"
         "quality_mem_recommendations_bytes_count{is_oom=\"true\",update_mode=\"\"} 1\n"
         "quality_relative_recommendation_changes_count{resource=\"cpu\",update_mode=\"\",vpa_size_"
         "log2=\"0\"} 1\n"
         "quality_relative_recommendation_changes_sum{resource=\"memory\",update_mode=\"\",vpa_"
         "size_log2=\"0\"} 3.089758023852786\n"
         "quality_relative_recommendation_changes_count{resource=\"memory\",update_mode=\"\",vpa_"
         "size_log2=\"0\"} 1\n"
         "quality_usage_recommendation_relative_diffs_sum{is_oom=\"false\",resource=\"cpu\",update_"
         "mode=\"\"} -0.1438356164383561\n"
         "quality_usage_recommendation_relative_diffs_count{is_oom=\"false\",resource=\"cpu\","
         "update_mode=\"\"} 1\n"
         "quality_usage_recommendation_relative_diffs_sum{is_oom=\"false\",resource=\"memory\","
         "update_mode=\"\"} -0.17273953596489494\n"
         "quality_usage_recommendation_relative_diffs_count{is_oom=\"false\",resource=\"memory\","
         "update_mode=\"\"} 1\n"
         "quality_usage_recommendation_relative_diffs_sum{is_oom=\"true\",resource=\"memory\","
         "update_mode=\"\"} 2.388458858583958\n"
         "quality_usage_recommendation_relative_diffs_count{is_oom=\"true\",resource=\"memory\","
         "update_mode=\"\"} 1\n"
         "quality_usage_sample_missing_recommendation_count{is_oom=\"false\",resource=\"cpu\","
         "update_mode=\"\"} 1\n"
         "quality_usage_sample_missing_recommendation_count{is_oom=\"false\",resource=\"memory\","
         "update_mode=\"\"} 1\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_measure_changes_total{algorithm=\"vpa\",resource=\"memory\"} 1\n"
         "recommender_measure_ooms_total{algorithm=\"vpa\",resource=\"memory\"} 1\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"cpu\"} 1.168\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"memory\"} "
         "3.80258472e+08\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"cpu\"} 1\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"memory\"} 3.145728e+08\n"
         "recommender_measure_slack{algorithm=\"vpa\",resource=\"cpu\"} 0.1438356164383561\n"
         "recommender_measure_slack{algorithm=\"vpa\",resource=\"memory\"} 0.17273953596489494\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"cpu\"} 1\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"memory\"} 3.145728e+08\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 2\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 3\n"
         "count{step=\"DeleteRemovedPods\"} 2 count{step=\"GarbageCollect\"} 2 "
         "count{step=\"LoadMetrics\"} 2 count{step=\"LoadPods\"} 2 count{step=\"LoadVPAs\"} 2 "
         "count{step=\"MaintainCheckpoints\"} 2 count{step=\"UpdateVPAs\"} 2 count{step=\"total\"} "
         "2 \n"},
    {.name = "the loser of a conflict",
     .flag = NULL,
     .changed_first = true,
     .whole = false,
     .steps = {{VPA("younger", "2026-01-15T11:00:00Z"), USAGE("1", "1Gi"), NULL, 0},
               {DELETE_VPA, USAGE("1", "1Gi"), NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"97656250000Ki\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "200 PATCH shop/verticalpodautoscalers/younger/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"97656250000Ki\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"},{\"type\":\"TargetConflict\",\"status\":"
         "\"True\",\"lastTransitionTime\":\"2026-01-15T12:01:00Z\",\"message\":\"Pods of this VPA "
         "are controlled by the older VPA web\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/younger-app \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "--\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/younger/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"196m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"1683088m\",\"memory\":"
         "\"1784908735775\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "200 PATCH shop/verticalpodautoscalercheckpoints/younger-app \n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; "
         "RecommendationProvided is True\n"
         "> shop/younger recommend, first: cpu target none -> 1168m; memory target none -> "
         "1238659775; RecommendationProvided is True; TargetConflict is True (Pods of this VPA are "
         "controlled by the older VPA web)\n"
         "> shop/younger recommend, its conditions changed: RecommendationProvided is True\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 2\n"
         "recommender_recommendation_latency_seconds_sum 10920\n"
         "recommender_recommendation_latency_seconds_count 2\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 2\n"
         "count{step=\"DeleteRemovedPods\"} 2 count{step=\"GarbageCollect\"} 2 "
         "count{step=\"LoadMetrics\"} 2 count{step=\"LoadPods\"} 2 count{step=\"LoadVPAs\"} 2 "
         "count{step=\"MaintainCheckpoints\"} 2 count{step=\"UpdateVPAs\"} 2 count{step=\"total\"} "
         "2 \n"},
    {.name = "a VPA that cannot be read",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0}, {UNREADABLE, USAGE("2", "2Gi"), NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"97656250000Ki\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "--\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; "
         "RecommendationProvided is True\n"
         "E \"Skipping an object that cannot be used\" err=\"spec.resourcePolicy: "
         "containerPolicies[0].minAllowed: quantities must match the regular expression "
         "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'\" resource=\"verticalpodautoscalers\" "
         "kind=\"VerticalPodAutoscaler\" namespace=\"shop\" name=\"web\"\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"cpu\"} 1.168\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"memory\"} "
         "1.238659775e+09\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"cpu\"} 1.168\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"memory\"} 1.238659775e+09\n"
         "recommender_measure_unserved{algorithm=\"vpa\",resource=\"cpu\"} 0.41600000000000004\n"
         "recommender_measure_unserved{algorithm=\"vpa\",resource=\"memory\"} 0.42320409463718534\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"cpu\"} 2\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"memory\"} 2.147483648e+09\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 2\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 2\n"
         "count{step=\"DeleteRemovedPods\"} 2 count{step=\"GarbageCollect\"} 2 "
         "count{step=\"LoadMetrics\"} 2 count{step=\"LoadPods\"} 2 count{step=\"LoadVPAs\"} 2 "
         "count{step=\"MaintainCheckpoints\"} 2 count{step=\"UpdateVPAs\"} 2 count{step=\"total\"} "
         "2 \n"},
    {.name = "a VPA that is gone and its checkpoint",
     .flag = "--checkpoints-gc-interval=1s",
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0},
               {DELETE_VPA, USAGE("1", "1Gi"), NULL, 0},
               {NULL, USAGE("1", "1Gi"), NULL, 0}},
     .left =
         "200 /api/v1/namespaces\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"97656250000Ki\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "--\n"
         "200 /api/v1/namespaces\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 DELETE shop/verticalpodautoscalercheckpoints/web-app \n"
         "--\n"
         "200 /api/v1/namespaces\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; "
         "RecommendationProvided is True\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 3\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 3\n"
         "count{step=\"DeleteRemovedPods\"} 3 count{step=\"GarbageCollect\"} 3 "
         "count{step=\"LoadMetrics\"} 3 count{step=\"LoadPods\"} 3 count{step=\"LoadVPAs\"} 3 "
         "count{step=\"MaintainCheckpoints\"} 3 count{step=\"UpdateVPAs\"} 3 count{step=\"total\"} "
         "3 \n"},
    {.name = "usage of strangers",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, STRANGERS, NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"25m\",\"memory\":\"250Mi\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"25m\",\"memory\":\"250Mi\"},"
         "\"uncappedTarget\":{\"cpu\":\"25m\",\"memory\":\"250Mi\"}}]},\"conditions\":[{\"type\":"
         "\"RecommendationProvided\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-15T12:01:"
         "00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 25m; memory target none -> 250Mi; "
         "RecommendationProvided is True\n"
         "E \"Usage of containers that are not known\" err=\"KeyError: {shop stranger}\" "
         "failures=2 first=\"shop/stranger\"\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_failures_total{message=\"Usage of containers that are not known\"} 2\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 1\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 1\n"
         "count{step=\"DeleteRemovedPods\"} 1 count{step=\"GarbageCollect\"} 1 "
         "count{step=\"LoadMetrics\"} 1 count{step=\"LoadPods\"} 1 count{step=\"LoadVPAs\"} 1 "
         "count{step=\"MaintainCheckpoints\"} 1 count{step=\"UpdateVPAs\"} 1 count{step=\"total\"} "
         "1 \n"},
    {.name = "usage of strangers that are not tracked",
     .flag = "--memory-saver",
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, STRANGERS, NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"25m\",\"memory\":\"250Mi\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"25m\",\"memory\":\"250Mi\"},"
         "\"uncappedTarget\":{\"cpu\":\"25m\",\"memory\":\"250Mi\"}}]},\"conditions\":[{\"type\":"
         "\"RecommendationProvided\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-15T12:01:"
         "00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 25m; memory target none -> 250Mi; "
         "RecommendationProvided is True\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 1\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 1\n"
         "count{step=\"DeleteRemovedPods\"} 1 count{step=\"GarbageCollect\"} 1 "
         "count{step=\"LoadMetrics\"} 1 count{step=\"LoadPods\"} 1 count{step=\"LoadVPAs\"} 1 "
         "count{step=\"MaintainCheckpoints\"} 1 count{step=\"UpdateVPAs\"} 1 count{step=\"total\"} "
         "1 \n"},
    {.name = "VPAs that are measured",
     .flag = "--measure-vpas=shop/*",
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0},
               {NULL, USAGE("1", "1Gi"), NULL, 0},
               {NULL, USAGE("2", "2Gi"), NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"97656250000Ki\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "--\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"196m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"1683088m\",\"memory\":"
         "\"1784908735775\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "200 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "--\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"2406m\",\"memory\":\"2539377048\"},\"lowerBound\":{\"cpu\":"
         "\"394m\",\"memory\":\"858361630\"},\"upperBound\":{\"cpu\":\"1734726m\",\"memory\":"
         "\"1830890851608\"},\"uncappedTarget\":{\"cpu\":\"2406m\",\"memory\":\"2539377048\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "200 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; "
         "RecommendationProvided is True\n"
         "> shop/web recommend, a target moved by a tenth or more: cpu target 1168m -> 2406m; "
         "memory target 1238659775 -> 2539377048\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_measure_changes_total{algorithm=\"vpa\",resource=\"cpu\"} 1\n"
         "recommender_measure_changes_total{algorithm=\"vpa\",resource=\"memory\"} 1\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"cpu\"} 2.336\n"
         "recommender_measure_recommended_total{algorithm=\"vpa\",resource=\"memory\"} "
         "2.47731955e+09\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"cpu\"} 2.168\n"
         "recommender_measure_served_total{algorithm=\"vpa\",resource=\"memory\"} 2.312401599e+09\n"
         "recommender_measure_unserved{algorithm=\"vpa\",resource=\"cpu\"} 0.41600000000000004\n"
         "recommender_measure_unserved{algorithm=\"vpa\",resource=\"memory\"} 0.42320409463718534\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"cpu\"} 3\n"
         "recommender_measure_used_total{algorithm=\"vpa\",resource=\"memory\"} 3.221225472e+09\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 3\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "recommender_vpa_measure_changes_total{namespace=\"shop\",resource=\"cpu\",vpa=\"web\"} "
         "1\n"
         "recommender_vpa_measure_changes_total{namespace=\"shop\",resource=\"memory\",vpa=\"web\"}"
         " 1\n"
         "recommender_vpa_measure_recommended_total{namespace=\"shop\",resource=\"cpu\",vpa="
         "\"web\"} 2.336\n"
         "recommender_vpa_measure_recommended_total{namespace=\"shop\",resource=\"memory\",vpa="
         "\"web\"} 2.47731955e+09\n"
         "recommender_vpa_measure_served_total{namespace=\"shop\",resource=\"cpu\",vpa=\"web\"} "
         "2.168\n"
         "recommender_vpa_measure_served_total{namespace=\"shop\",resource=\"memory\",vpa=\"web\"} "
         "2.312401599e+09\n"
         "recommender_vpa_measure_used_total{namespace=\"shop\",resource=\"cpu\",vpa=\"web\"} 3\n"
         "recommender_vpa_measure_used_total{namespace=\"shop\",resource=\"memory\",vpa=\"web\"} "
         "3.221225472e+09\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 3\n"
         "count{step=\"DeleteRemovedPods\"} 3 count{step=\"GarbageCollect\"} 3 "
         "count{step=\"LoadMetrics\"} 3 count{step=\"LoadPods\"} 3 count{step=\"LoadVPAs\"} 3 "
         "count{step=\"MaintainCheckpoints\"} 3 count{step=\"UpdateVPAs\"} 3 count{step=\"total\"} "
         "3 \n"},
    {.name = "a shadow",
     .flag = "--shadow",
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"97656250000Ki\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; "
         "RecommendationProvided is True\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 1\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 1\n"
         "count{step=\"DeleteRemovedPods\"} 1 count{step=\"GarbageCollect\"} 1 "
         "count{step=\"LoadMetrics\"} 1 count{step=\"LoadPods\"} 1 count{step=\"LoadVPAs\"} 1 "
         "count{step=\"MaintainCheckpoints\"} 1 count{step=\"UpdateVPAs\"} 1 count{step=\"total\"} "
         "1 \n"},
    {.name = "recommendations for people",
     .flag = "--humanize-memory",
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1000Mi"), NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1234803097600m\"},\"lowerBound\":{"
         "\"cpu\":\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"100000582546227200m\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":"
         "\"1234803097600m\"}}]},\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":"
         "\"True\",\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 1168m; memory target none -> "
         "1234803097600m; RecommendationProvided is True\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 1\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"true\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 1\n"
         "count{step=\"DeleteRemovedPods\"} 1 count{step=\"GarbageCollect\"} 1 "
         "count{step=\"LoadMetrics\"} 1 count{step=\"LoadPods\"} 1 count{step=\"LoadVPAs\"} 1 "
         "count{step=\"MaintainCheckpoints\"} 1 count{step=\"UpdateVPAs\"} 1 count{step=\"total\"} "
         "1 \n"},
    {.name = "a pod that is gone",
     .flag = NULL,
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0},
               {DELETE("v1", "Pod", "web-1"), NOTHING, NULL, 0},
               {NULL, NOTHING, NULL, 0}},
     .left =
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"97656250000Ki\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "404 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "201 POST shop/verticalpodautoscalercheckpoints \n"
         "--\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "200 PATCH shop/verticalpodautoscalers/web/status "
         "[{\"op\":\"add\",\"path\":\"/"
         "status\",\"value\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
         "\"app\",\"target\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"},\"lowerBound\":{\"cpu\":"
         "\"25m\",\"memory\":\"250Mi\"},\"upperBound\":{\"cpu\":\"100G\",\"memory\":"
         "\"97656250000Ki\"},\"uncappedTarget\":{\"cpu\":\"1168m\",\"memory\":\"1238659775\"}}]},"
         "\"conditions\":[{\"type\":\"NoPodsMatched\",\"status\":\"True\",\"lastTransitionTime\":"
         "\"2026-01-15T12:02:00Z\",\"reason\":\"NoPodsMatched\",\"message\":\"No pods match this "
         "VPA "
         "object\"},{\"type\":\"RecommendationProvided\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-01-15T12:01:00Z\"}],\"observedGeneration\":1}}]\n"
         "200 PATCH shop/verticalpodautoscalercheckpoints/web-app \n"
         "--\n"
         "200 /apis/metrics.k8s.io/v1beta1/pods\n"
         "--\n"
         "> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; "
         "RecommendationProvided is True\n"
         "> shop/web recommend, its conditions changed: NoPodsMatched is True (No pods match this "
         "VPA object); RecommendationProvided is True\n"
         "recommender_aggregate_container_states_count 1\n"
         "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
         "\"false\"} 3\n"
         "recommender_recommendation_latency_seconds_sum 7260\n"
         "recommender_recommendation_latency_seconds_count 1\n"
         "recommender_vpa_objects_count{api=\"v1\",has_recommendation=\"true\",matches_pods="
         "\"false\",unsupported_config=\"false\",update_mode=\"Recreate\"} 1\n"
         "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 1\n"
         "count{step=\"DeleteRemovedPods\"} 3 count{step=\"GarbageCollect\"} 3 "
         "count{step=\"LoadMetrics\"} 3 count{step=\"LoadPods\"} 3 count{step=\"LoadVPAs\"} 3 "
         "count{step=\"MaintainCheckpoints\"} 3 count{step=\"UpdateVPAs\"} 3 count{step=\"total\"} "
         "3 \n"},
    {.name = "no workers",
     .flag = "--update-worker-count=0",
     .changed_first = false,
     .whole = false,
     .steps = {{NULL, USAGE("1", "1Gi"), NULL, 0}},
     .left = "200 /apis/metrics.k8s.io/v1beta1/pods\n"
             "--\n"
             "recommender_aggregate_container_states_count 1\n"
             "recommender_metric_server_responses{client_name=\"default-metrics-client\",is_error="
             "\"false\"} 1\n"
             "resources_get_resources_count{source=\"Pod.Spec.Containers\"} 1\n"
             "count{step=\"DeleteRemovedPods\"} 1 count{step=\"GarbageCollect\"} 1 "
             "count{step=\"LoadMetrics\"} 1 count{step=\"LoadPods\"} 1 count{step=\"LoadVPAs\"} 1 "
             "count{step=\"MaintainCheckpoints\"} 1 count{step=\"UpdateVPAs\"} 1 "
             "count{step=\"total\"} 1 \n"},
};

static const struct step *now;

static bool refuse_writes(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "GET") == 0 || !strstr(q->path, now->refused))
        return false;
    vpa_memory_reply_status(r, now->code, NULL, "refused");
    return true;
}

static void make_step(const struct step *step, bool change_it, bool bodies)
{
    now = step;
    hook = step->refused ? refuse_writes : NULL;
    if (step->change && change_it)
        change(step->change);
    pass(step->usage);
    hook = NULL;
    tell_traffic(bodies);
    vpa_buf_puts(&told, "--\n");
}

START_TEST(is_left_behind_whole)
{
    const struct story *s = &stories[_i];

    if (s->changed_first)
        change(s->steps[0].change);
    start(s->flag);
    for (size_t i = 0; i < VPA_COUNT(s->steps) && s->steps[i].usage; i++)
        make_step(&s->steps[i], i > 0 || !s->changed_first, s->whole);
    tell_ledger();
    tell_log();
    tell_metrics(s->whole);
    compare(s->name, vpa_buf_text(&told), s->left);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommender_story");
    TCase *tc = tcase_create("story");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, begin_story, end_story);
    tcase_add_loop_test(tc, is_left_behind_whole, 0, VPA_COUNT(stories));
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
