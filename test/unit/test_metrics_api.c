/* Usage of pods and external metrics. */
#include "json_helper.h"

#include "vpa/api/metrics_api.h"

TEST(decodes_pod_metrics) {
    const char *text =
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"},\"timestamp\":\"1970-01-01T00:00:10Z\","
        "\"window\":\"15.5s\",\"containers\":[{\"name\":\"a\",\"usage\":{\"cpu\":\"123456789n\","
        "\"memory\":\"1Ki\",\"gpu\":1}},{\"name\":\"b\",\"usage\":{}},{},null]}";
    struct vpa_pod_metrics metrics;
    struct vpa_error err;

    if (vpa_pod_metrics_decode(&arena, json_of(text), &metrics, &err) < 0)
        ck_abort_msg("%s", err.text);
    ck_assert_str_eq(metrics.ns, "n");
    ck_assert_str_eq(metrics.name, "p");
    ck_assert(metrics.timestamp == vpa_time_from_unix(10, 0));
    ck_assert_int_eq(metrics.window, 15500 * VPA_MILLISECOND);
    ck_assert_uint_eq(metrics.container_count, 4);
    ck_assert_int_eq(metrics.containers[0].cpu_millis, 124);
    ck_assert_int_eq(metrics.containers[0].memory_bytes, 1024);
    ck_assert_str_eq(metrics.containers[1].name, "b");
    ck_assert_int_eq(metrics.containers[1].cpu_millis, 0);
    ck_assert_str_eq(metrics.containers[2].name, "");
    ck_assert_int_eq(vpa_pod_metrics_decode(&arena, json_of("{}"), &metrics, &err), 0);
    ck_assert(metrics.container_count == 0 && metrics.window == 0 &&
              vpa_time_is_unset(metrics.timestamp));
}

static const struct {
    const char *text, *error;
} bad[] = {
    {"5", "object expected, got number"},
    {"{\"metadata\":{\"name\":5}}", "metadata.name: string expected, got number"},
    {"{\"window\":null}", "window: duration expected, got null"},
    {"{\"window\":\"x\"}", "window: time: invalid duration \"x\""},
    {"{\"containers\":{}}", "containers: array expected, got object"},
    {"{\"containers\":[5]}", "containers[0]: object expected, got number"},
    {"{\"containers\":[{\"name\":5}]}", "containers[0]: string expected, got number"},
    {"{\"containers\":[{\"usage\":[]}]}", "containers[0]: object expected, got array"},
    {"{\"containers\":[{},{\"usage\":{\"gpu\":\"1K\"}}]}",
     "containers[1]: gpu: unable to parse quantity's suffix"},
};

TEST_EACH(refuses_pod_metrics, bad) {
    struct vpa_pod_metrics metrics;
    struct vpa_error err;

    ck_assert_int_lt(vpa_pod_metrics_decode(&arena, json_of(bad[_i].text), &metrics, &err), 0);
    ck_assert_str_eq(err.text, bad[_i].error);
}

TEST(decodes_external_metrics) {
    const struct vpa_external_metric *items;
    struct vpa_error err;
    size_t count;

    ck_assert_int_eq(
        vpa_external_metrics_decode(
            &arena,
            json_of("{\"items\":[{\"metricName\":\"m\",\"metricLabels\":{\"container\":\"c\"},"
                    "\"timestamp\":\"1970-01-01T00:00:10Z\",\"window\":60,\"value\":\"1500m\"},"
                    "{\"window\":9223372036854775807},{\"window\":-9223372036854775807}]}"),
            &items, &count, &err),
        0);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(items[0].metric_name, "m");
    ck_assert_str_eq(vpa_json_string(vpa_json_find(items[0].labels, "container")), "c");
    ck_assert(items[0].has_window && items[0].window == 60 * VPA_SECOND);
    ck_assert_int_eq(vpa_quantity_milli_value(&items[0].value), 1500);
    ck_assert(items[1].window == INT64_MAX && items[2].window == INT64_MIN);
    ck_assert(items[1].labels == NULL && vpa_quantity_is_zero(&items[1].value));
    ck_assert_int_eq(vpa_external_metrics_decode(&arena, json_of("{}"), &items, &count, &err), 0);
    ck_assert_uint_eq(count, 0);
}

static const char *const bad_external[] = {
    "[]",
    "{\"items\":{}}",
    "{\"items\":[{\"metricLabels\":[]}]}",
    "{\"items\":[{\"window\":\"60s\"}]}",
    "{\"items\":[{\"value\":\"x\"}]}",
};

TEST_EACH(refuses_external_metrics, bad_external) {
    const struct vpa_external_metric *items;
    struct vpa_error err;
    size_t count;

    ck_assert_int_lt(
        vpa_external_metrics_decode(&arena, json_of(bad_external[_i]), &items, &count, &err), 0);
}

int main(void)
{
    return run_tests("metrics_api", NULL, release_arena);
}
