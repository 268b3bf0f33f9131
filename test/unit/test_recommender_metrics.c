/* The recommender's metrics: what a sample says of the quality of recommendations. */
#include <check.h>
#include <stdbool.h>
#include <string.h>

#include "suite.h"
#include "../../recommender/api_meters.h"
#include "../../recommender/metrics.h"

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/net/http_server.h"

static struct vpa_buf page;

static void setup(void)
{
    recommender_metrics_reset();
}

static void teardown(void)
{
    recommender_metrics_reset();
    vpa_buf_release(&page);
}

/* Whether the page has that line. */
static bool shows(const char *line)
{
    struct vpa_metrics all = {0};
    const char *text, *found;

    all.table = recommender_metrics_table(&all.count);
    vpa_buf_release(&page);
    vpa_buf_init(&page, (size_t)1 << 20);
    vpa_metrics_write(&all, VPA_EXPOSITION_TEXT, NULL, 0, &page);
    text = vpa_buf_text(&page);
    found = strstr(text, line);
    return found && (found == text || found[-1] == '\n') && found[strlen(line)] == '\n';
}

static void sample(enum vpa_kind kind, bool is_oom, vpa_amount usage, vpa_amount recommendation)
{
    struct vpa_model_hooks hooks =
        recommender_quality_hooks(&(struct recommender_quality){NULL, NULL});

    hooks.usage(hooks.ctx, "Recreate", kind, is_oom, usage, recommendation);
}

/* Of an alert's increase() the first event is one only where 0 was shown before it. */
static const char *const at_first[] = {
    "vpa_recommender_certificate_steps_total{step=\"created\"} 0",
    "vpa_recommender_certificate_steps_total{step=\"announced\"} 0",
    "vpa_recommender_certificate_steps_total{step=\"promoted\"} 0",
    "vpa_recommender_certificate_steps_total{step=\"renewed\"} 0",
    "vpa_recommender_certificate_steps_total{step=\"retired\"} 0",
    "vpa_recommender_registration_repairs_total{what=\"caBundle\"} 0",
    "vpa_recommender_self_test_failures_total{step=\"secret\"} 0",
    "vpa_recommender_self_test_failures_total{step=\"registration\"} 0",
    "vpa_recommender_self_test_failures_total{step=\"chain\"} 0",
    "vpa_recommender_self_test_failures_total{step=\"listener\"} 0",
};

TEST(those_of_the_api_are_there_from_the_start) {
    metrics_start();
    for (size_t i = 0; i < VPA_COUNT(at_first); i++)
        ck_assert_msg(shows(at_first[i]), "%s", at_first[i]);
    for (size_t i = 0; vpa_server_handshake_failure(i); i++) { /* whichever comes first */
        vpa_auto_free char *line =
            vpa_xprintf("vpa_recommender_tls_handshake_failures_total{reason=\"%s\"} 0",
                        vpa_server_handshake_failure(i));
        ck_assert_msg(shows(line), "%s", line);
    }
}

TEST(our_counters_are_there_from_the_start) {
    static const char saved[] =
        "vpa_recommender_failures_total{message=\"Cannot save checkpoint for VPA\"} ";

    metrics_start();
    ck_assert(shows("vpa_recommender_unreadable_checkpoints_total{outcome=\"kept\"} 0"));
    ck_assert(shows("vpa_recommender_recommendation_queries_total{result=\"NoVPA\"} 0"));
    ck_assert(strstr(vpa_buf_text(&page), saved));
    ck_assert(shows("vpa_recommender_shadow_relative_difference_count{bound=\"upperBound\","
                    "resource=\"memory\"} 0"));
    ck_assert(shows("vpa_recommender_measure_slack{algorithm=\"crane\",resource=\"cpu\"} 0"));
    ck_assert(shows("vpa_recommender_vpa_measure_used_total{namespace=\"\",resource=\"cpu\","
                    "vpa=\"\"} 0"));
    vpa_metric_add(&metrics_failures, 2, "Cannot save checkpoint for VPA");
    metrics_start(); /* takes nothing back */
    ck_assert(
        shows("vpa_recommender_failures_total{message=\"Cannot save checkpoint for VPA\"} 2"));
}

#define RELATIVE "vpa_quality_usage_recommendation_relative_diffs"

/* A core used of two that were recommended. */
/* Counters of every table, for tests and golden cases that come one after the other. */
TEST(all_begin_anew) {
    sample(VPA_KIND_CPU, false, 100, 0);
    vpa_metric_add(&metrics_failures, 3, "A test failed");
    vpa_metric_inc(&api_meter_repairs, "caBundle");
    ck_assert(shows("vpa_recommender_registration_repairs_total{what=\"caBundle\"} 1"));
    recommender_metrics_reset();
    ck_assert(!shows("vpa_recommender_registration_repairs_total{what=\"caBundle\"} 1"));
    ck_assert_ptr_null(strstr(vpa_buf_text(&page), "A test failed"));
}

TEST(usage_below_the_recommendation) {
    sample(VPA_KIND_CPU, false, 1000, 2000);
    ck_assert(
        shows(RELATIVE "_sum{is_oom=\"false\",resource=\"cpu\",update_mode=\"Recreate\"} -0.5"));
    ck_assert(
        shows(RELATIVE "_count{is_oom=\"false\",resource=\"cpu\",update_mode=\"Recreate\"} 1"));
    ck_assert(shows("vpa_quality_cpu_recommendations_cores_sum{update_mode=\"Recreate\"} 2"));
    ck_assert(shows("vpa_quality_cpu_recommendation_over_usage_diffs_cores_sum{"
                    "recommendation_missing=\"false\",update_mode=\"Recreate\"} 1"));
}

/* A standby that looks on recommends the same: that is counted where it is written. */
TEST_TIMES(a_standby_counts_no_change, 2) {
    bool standby = _i == 1;
    const struct recommender_quality quality = {&standby, NULL};
    struct vpa_model_hooks hooks = recommender_quality_hooks(&quality);

    hooks.change(hooks.ctx, "Recreate", VPA_KIND_CPU, 1000, 1500, 3);
    ck_assert(shows("vpa_quality_relative_recommendation_changes_sum{resource=\"cpu\",update_mode="
                    "\"Recreate\",vpa_size_log2=\"1\"} 0.5") == !standby);
}

/* Three megabytes used of two that were recommended. */
TEST(usage_above_the_recommendation) {
    sample(VPA_KIND_MEMORY, true, 3000000, 2000000);
    ck_assert(
        shows(RELATIVE "_sum{is_oom=\"true\",resource=\"memory\",update_mode=\"Recreate\"} 0.5"));
    ck_assert(shows("vpa_quality_mem_recommendations_bytes_sum{is_oom=\"true\",update_mode="
                    "\"Recreate\"} 2e+06"));
    ck_assert(shows("vpa_quality_mem_recommendation_lower_equal_usage_diffs_bytes_sum{is_oom="
                    "\"true\",recommendation_missing=\"false\",update_mode=\"Recreate\"} 1e+06"));
}

/* The share that nobody used, of memory. */
TEST(memory_below_the_recommendation) {
    sample(VPA_KIND_MEMORY, false, 2000000, 3000000);
    ck_assert(shows("vpa_quality_mem_recommendation_over_usage_diffs_bytes_sum{is_oom=\"false\","
                    "recommendation_missing=\"false\",update_mode=\"Recreate\"} 1e+06"));
    ck_assert(!strstr(vpa_buf_text(&page), "vpa_quality_mem_recommendation_lower_equal_usage_"
                                           "diffs_bytes_sum"));
}

/* Without a recommendation there is nothing to compare with, and that is counted. */
TEST(usage_without_a_recommendation) {
    sample(VPA_KIND_CPU, false, 1000, 0);
    ck_assert(shows("vpa_quality_usage_sample_missing_recommendation_count{is_oom=\"false\","
                    "resource=\"cpu\",update_mode=\"Recreate\"} 1"));
    ck_assert(shows("vpa_quality_cpu_recommendation_lower_equal_usage_diffs_cores_sum{"
                    "recommendation_missing=\"true\",update_mode=\"Recreate\"} 1"));
    ck_assert(!strstr(vpa_buf_text(&page), RELATIVE "_sum"));
    ck_assert(!strstr(vpa_buf_text(&page), "vpa_quality_cpu_recommendations_cores_sum"));
}

/* Counts of lookups that did not happen are no series. */
TEST(lookups_are_counted_by_source) {
    metrics_resource_lookups(&(struct vpa_lookups){.from_spec = 2});
    ck_assert(shows("vpa_resources_get_resources_count{source=\"Pod.Spec.Containers\"} 2"));
    ck_assert(!strstr(vpa_buf_text(&page), "Pod.Status.ContainerStatuses"));
    metrics_resource_lookups(&(struct vpa_lookups){.from_status = 3, .from_spec = 1});
    ck_assert(shows("vpa_resources_get_resources_count{source=\"Pod.Spec.Containers\"} 3"));
    ck_assert(
        shows("vpa_resources_get_resources_count{source=\"Pod.Status.ContainerStatuses\"} 3"));
}

#define OBJECTS(mode, api, recommended, matches)                                                   \
    "vpa_recommender_vpa_objects_count{api=\"" api "\",has_recommendation=\"" recommended          \
    "\",matches_pods=\"" matches "\",unsupported_config=\"false\",update_mode=\"" mode "\"}"

/* What the last whole pass counted, in the version that is read; the older ones show 0. A mode that
 * the CRD does not know shows only what it has. */
TEST(objects_are_counted_by_what_they_have) {
    struct metrics_objects *objects = metrics_objects_begin();

    metrics_objects_add(objects, "Off", true, true, false);
    metrics_objects_add(objects, "Off", true, true, false);
    metrics_objects_add(objects, "Odd", false, true, false);
    metrics_objects_end(objects);
    ck_assert(shows(OBJECTS("Off", "v1", "true", "true") " 2"));
    ck_assert(shows(OBJECTS("Off", "v1", "false", "true") " 0"));
    ck_assert(shows(OBJECTS("Off", "v1beta2", "true", "true") " 0"));
    ck_assert(shows(OBJECTS("Auto", "v1", "true", "true") " 0"));
    ck_assert(shows(OBJECTS("Odd", "v1", "false", "true") " 1"));
    ck_assert(!strstr(vpa_buf_text(&page), OBJECTS("Odd", "v1", "true", "true")));
    ck_assert(!strstr(vpa_buf_text(&page), OBJECTS("Odd", "v1beta2", "false", "true")));

    objects = metrics_objects_begin();
    metrics_objects_add(objects, "Auto", true, true, false);
    metrics_objects_drop(objects); /* a pass that broke off */
    ck_assert(shows(OBJECTS("Auto", "v1", "true", "true") " 0"));
    ck_assert(shows(OBJECTS("Off", "v1", "true", "true") " 2"));
}

int main(void)
{
    return run_tests("recommender_metrics", setup, teardown);
}
