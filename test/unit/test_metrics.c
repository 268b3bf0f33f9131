/* Metrics: series, exposition text, process families, updates from two threads. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/metrics.h"
#include "vpa/daemon/size_label.h"

static struct vpa_metric plain = VPA_GAUGE("vpa_plain", "Plain \"help\"\nwith \\ line");
static struct vpa_metric pods = VPA_COUNTER("vpa_pods_total", "Pods", "size", "mode");
static const double bounds[] = {0.5, 1, 1e6};
static struct vpa_metric latency = VPA_HISTOGRAM("vpa_latency", "Latency", bounds, "step");
static struct vpa_metric single = VPA_HISTOGRAM("vpa_single", "Single", bounds);

static struct vpa_metric odd = VPA_COUNTER("vpa_usual_count", "Odd");
static struct vpa_metric *const table[] = {&pods, &plain, &latency, &single, &odd};
static struct vpa_metrics metrics = {.table = table, .count = VPA_COUNT(table)};

static void release(void)
{
    vpa_metrics_release(&metrics);
}

static char *page_as(enum vpa_exposition format, const char *const *names, size_t count)
{
    struct vpa_buf out;

    vpa_buf_init(&out, 1 << 20);
    vpa_metrics_write(&metrics, format, names, count, &out);
    return vpa_buf_take(&out);
}

static char *page(const char *const *names, size_t count)
{
    return page_as(VPA_EXPOSITION_TEXT, names, count);
}

#define SINGLE                                                                                     \
    "# HELP vpa_single Single\n# TYPE vpa_single histogram\n"                                      \
    "vpa_single_bucket{le=\"0.5\"} 0\nvpa_single_bucket{le=\"1\"} 0\n"                             \
    "vpa_single_bucket{le=\"1e+06\"} 0\nvpa_single_bucket{le=\"+Inf\"} 0\n"                        \
    "vpa_single_sum 0\nvpa_single_count 0\n"
#define PLAIN "# HELP vpa_plain Plain \"help\"\\nwith \\\\ line\n# TYPE vpa_plain gauge\n"

TEST(shows_scalars_from_the_start_and_empty_vectors_not) {
    static const char *const names[] = {"vpa_single", "vpa_plain", "vpa_pods_total", "vpa_none"};
    vpa_auto_free char *text = page(names, VPA_COUNT(names));

    ck_assert_str_eq(text, PLAIN "vpa_plain 0\n" SINGLE);
}

/* OpenMetrics 1.0.0: a counter's family has no _total, bounds are written as floats, quotes in help
 * texts are escaped, the end is marked. */
TEST(speaks_openmetrics) {
    static const char *const names[] = {"vpa_single", "vpa_plain", "vpa_pods_total",
                                        "vpa_usual_count"};

    vpa_metric_inc(&pods, "3", "Auto");
    vpa_metric_inc(&odd);
    vpa_auto_free char *text = page_as(VPA_EXPOSITION_OPENMETRICS, names, VPA_COUNT(names));
    vpa_metric_reset(&odd);

    ck_assert_str_eq(text, "# HELP vpa_plain Plain \\\"help\\\"\\nwith \\\\ line\n"
                           "# TYPE vpa_plain gauge\nvpa_plain 0\n"
                           "# HELP vpa_pods Pods\n# TYPE vpa_pods counter\n"
                           "vpa_pods_total{mode=\"Auto\",size=\"3\"} 1\n"
                           "# HELP vpa_single Single\n# TYPE vpa_single histogram\n"
                           "vpa_single_bucket{le=\"0.5\"} 0\nvpa_single_bucket{le=\"1.0\"} 0\n"
                           "vpa_single_bucket{le=\"1e+06\"} 0\nvpa_single_bucket{le=\"+Inf\"} 0\n"
                           "vpa_single_sum 0\nvpa_single_count 0\n"
                           "# HELP vpa_usual_count Odd\n# TYPE vpa_usual_count unknown\n"
                           "vpa_usual_count 1\n# EOF\n");
}

TEST(sorts_labels_series_and_families) {
    static const char *const names[] = {"vpa_pods_total"};

    vpa_metric_inc(&pods, "3", "Recreate");
    vpa_metric_add(&pods, 2.5, "10", "Recreate");
    vpa_metric_add(&pods, 0, "10", "Auto");
    vpa_metric_inc(&pods, "3", "Re\"\\\ncreate");
    vpa_metric_inc(&pods, "3", "Recreate");
    ck_assert(vpa_metric_value(&pods, "3", "Recreate") == 2);
    ck_assert(vpa_metric_value(&pods, "4", "Recreate") == 0);
    vpa_auto_free char *text = page(names, 1);
    ck_assert_str_eq(text, "# HELP vpa_pods_total Pods\n# TYPE vpa_pods_total counter\n"
                           "vpa_pods_total{mode=\"Auto\",size=\"10\"} 0\n"
                           "vpa_pods_total{mode=\"Re\\\"\\\\\\ncreate\",size=\"3\"} 1\n"
                           "vpa_pods_total{mode=\"Recreate\",size=\"10\"} 2.5\n"
                           "vpa_pods_total{mode=\"Recreate\",size=\"3\"} 2\n");
    vpa_metric_reset(&pods);
    ck_assert(vpa_metric_value(&pods, "3", "Recreate") == 0);
    vpa_auto_free char *empty = page(names, 1);
    ck_assert_str_eq(empty, "");
}

TEST(counts_observations) {
    static const char *const names[] = {"vpa_latency"};

    vpa_metric_observe(&latency, 0.5, "a");
    vpa_metric_observe(&latency, 0.75, "a");
    vpa_metric_observe(&latency, 2e6, "a");
    vpa_metric_observe(&latency, -1, "a");
    ck_assert(vpa_metric_value(&latency, "a") == 4);
    ck_assert(vpa_metric_sum_of(&latency, (const char *const[]){"a", NULL}) == 2000000.25);
    ck_assert(vpa_metric_sum_of(&latency, (const char *const[]){"b", NULL}) == 0);
    vpa_auto_free char *text = page(names, 1);
    ck_assert_str_eq(text, "# HELP vpa_latency Latency\n# TYPE vpa_latency histogram\n"
                           "vpa_latency_bucket{step=\"a\",le=\"0.5\"} 2\n"
                           "vpa_latency_bucket{step=\"a\",le=\"1\"} 3\n"
                           "vpa_latency_bucket{step=\"a\",le=\"1e+06\"} 3\n"
                           "vpa_latency_bucket{step=\"a\",le=\"+Inf\"} 4\n"
                           "vpa_latency_sum{step=\"a\"} 2.00000025e+06\n"
                           "vpa_latency_count{step=\"a\"} 4\n");
}

TEST(sets_gauges) {
    static const char *const names[] = {"vpa_plain"};

    vpa_metric_set(&plain, 0.25);
    vpa_metric_set(&plain, -3);
    vpa_auto_free char *text = page(names, 1);
    ck_assert_str_eq(text, PLAIN "vpa_plain -3\n");
}

static void process(struct vpa_process_stats *stats)
{
    *stats = (struct vpa_process_stats){.cpu_seconds = 1.5,
                                        .open_fds = 7,
                                        .max_fds = 1024,
                                        .virtual_bytes = 1e7,
                                        .virtual_max_bytes = 18446744073709551615.0,
                                        .resident_bytes = 5242880,
                                        .start_seconds = 1787220300.25,
                                        .network_receive_bytes = -1,
                                        .network_transmit_bytes = -1};
}

TEST(shows_the_process) {
    metrics.process = process;
    atomic_store(&metrics.requests_ok, 3);
    vpa_auto_free char *text = page(NULL, 0);
    ck_assert(strstr(text, "\n# TYPE process_cpu_seconds_total counter\n"
                           "process_cpu_seconds_total 1.5\n"));
    ck_assert(strstr(text, "\nprocess_start_time_seconds 1.78722030025e+09\n"));
    ck_assert(strstr(text, "\nprocess_virtual_memory_max_bytes 1.8446744073709552e+19\n"));
    ck_assert(strstr(text, "\npromhttp_metric_handler_requests_in_flight 0\n"));
    ck_assert(strstr(text, "\npromhttp_metric_handler_requests_total{code=\"200\"} 3\n"
                           "promhttp_metric_handler_requests_total{code=\"500\"} 0\n"
                           "promhttp_metric_handler_requests_total{code=\"503\"} 0\n"
                           "# HELP vpa_plain "));
    ck_assert(!strstr(text, "process_network"));
    metrics.process = NULL;
}

TEST(cuts_long_values) {
    static const char *const names[] = {"vpa_pods_total"};
    char value[2000];

    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    vpa_metric_inc(&pods, value, value);
    ck_assert(vpa_metric_value(&pods, value, value) == 1);
    vpa_auto_free char *text = page(names, 1);
    ck_assert_uint_lt(strlen(text), 1200);
}

TEST(removes_a_series) {
    static struct vpa_metric gone = VPA_COUNTER("gone_total", "x", "a", "b");

    vpa_metric_inc(&gone, "1", "2");
    vpa_metric_inc(&gone, "1", "3");
    ck_assert(vpa_metric_remove(&gone, "1", "2"));
    ck_assert(!vpa_metric_remove(&gone, "1", "2"));
    ck_assert(vpa_metric_value(&gone, "1", "2") == 0);
    ck_assert(vpa_metric_value(&gone, "1", "3") == 1);
    vpa_metric_reset(&gone);
}

TEST(bounds_the_series) {
    char name[16];

    for (int i = 0; i <= VPA_METRIC_SERIES_MAX; i++) {
        snprintf(name, sizeof(name), "%d", i);
        vpa_metric_inc(&pods, name, "Auto");
    }
    ck_assert_uint_eq(pods.series.count, VPA_METRIC_SERIES_MAX);
    ck_assert(vpa_metric_value(&pods, name, "Auto") == 0);
    vpa_metric_set(&pods, 1, name, "Auto"); /* dropped as well */
    vpa_metric_inc(&pods, "0", "Auto");
    ck_assert(vpa_metric_value(&pods, "0", "Auto") == 2);
}

static const struct {
    int64_t pods;
    const char *label;
} sizes[] = {
    {-1, "0"},       {0, "0"},          {1, "0"},
    {2, "1"},        {3, "1"},          {4, "2"},
    {1023, "9"},     {1024, "10"},      {(1 << 21) - 1, "20"},
    {1 << 21, "20"}, {INT64_MAX, "20"},
};

TEST_EACH(names_sizes, sizes) {
    ck_assert_str_eq(vpa_metric_size_log2(sizes[_i].pods), sizes[_i].label);
}

static bool is_not_auto(void *ctx, const char *const *values, size_t count)
{
    ck_assert_uint_eq(count, 2);
    ++*(int *)ctx;
    return strcmp(values[1], "Auto") != 0;
}

/* Values as they were given, in whatever order they are shown. */
TEST(drops_what_is_not_kept) {
    int asked = 0;

    vpa_metric_inc(&pods, "0", "Auto");
    vpa_metric_inc(&pods, "1", "Auto");
    vpa_metric_add(&pods, 7, "1", "Off");
    vpa_metric_add(&pods, 9, "", "");
    vpa_metric_sweep(&pods, is_not_auto, &asked);
    ck_assert_int_eq(asked, 4);
    ck_assert(vpa_metric_value(&pods, "0", "Auto") == 0);
    ck_assert(vpa_metric_value(&pods, "1", "Off") == 7);
    ck_assert(vpa_metric_value(&pods, "", "") == 9);
    ck_assert_uint_eq(pods.series.count, 2);
}

static void *count_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        vpa_metric_inc(&pods, i % 2 ? "0" : "1", "Auto");
        vpa_metric_observe(&latency, 0.1, "x");
    }
    return NULL;
}

TEST(counts_from_two_threads) {
    pthread_t other;

    ck_assert_int_eq(pthread_create(&other, NULL, count_many, NULL), 0);
    count_many(NULL);
    vpa_auto_free char *text = page(NULL, 0);
    ck_assert_ptr_nonnull(text);
    pthread_join(other, NULL);
    ck_assert(vpa_metric_value(&pods, "0", "Auto") == 20000);
    ck_assert(vpa_metric_value(&latency, "x") == 40000);
}

int main(void)
{
    return run_tests("metrics", NULL, release);
}
