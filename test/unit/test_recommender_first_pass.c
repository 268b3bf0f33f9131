/* Pods that only the history from Prometheus knows, in the first pass. */
#include "captured_log.h"
#include "recommender_fixture.h"

#define ANSWER(metric, time, value)                                                                \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":" metric  \
    ",\"values\":[[" time ",\"" value "\"]]}]}}"
#define CONTAINER "{\"namespace\":\"shop\",\"pod_name\":\"web-9\",\"name\":\"app\"}"
#define LABELS                                                                                     \
    "{\"kubernetes_namespace\":\"shop\",\"kubernetes_pod_name\":\"web-9\",\"pod_label_app\":"      \
    "\"web\"}"
#define AN_HOUR_AGO "1768474800" /* 2026-01-15T11:00:00Z */
#define USAGE_OF_GONE                                                                              \
    "{\"usage\":[{\"namespace\":\"shop\",\"pod\":\"web-1\",\"containers\":[{\"name\":\"app\","     \
    "\"cpu\":[\"50m\"],\"memory\":[\"100M\"]}]},{\"namespace\":\"shop\",\"pod\":\"web-9\","        \
    "\"containers\":[{\"name\":\"app\",\"cpu\":[\"50m\"],\"memory\":[\"4G\"]}]}]}"

static void prometheus(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    if (strstr(q->path, "query_range"))
        vpa_memory_reply_json(r, 200,
                              strstr(q->body, "query=rate")
                                  ? ANSWER(CONTAINER, AN_HOUR_AGO, "0.05")
                                  : ANSWER(CONTAINER, AN_HOUR_AGO, "100000000"));
    else
        vpa_memory_reply_json(r, 200, ANSWER(LABELS, AN_HOUR_AGO, "1"));
}

static struct vpa_transport *connect(void *ctx, const struct vpa_http_client_options *options,
                                     struct vpa_error *err)
{
    (void)ctx;
    (void)options;
    (void)err;
    return vpa_memory_transport_new(loop, prometheus, NULL);
}

static void start_with_prometheus(void)
{
    struct vpa_error err;

    construct("--storage=prometheus");
    recommender_free(recommender);
    recommender = recommender_new(&(struct recommender_options){.loop = loop,
                                                                .config = &config,
                                                                .client = client,
                                                                .writer = client,
                                                                .metrics = client,
                                                                .connect_prometheus = connect});
    ck_assert_int_eq(recommender_start(recommender, &err), 0);
    ck_assert_int_eq(recommender_load_history(recommender, &err), 0);
}

/* metrics-server shows a pod for a minute after it went; upstream removes it after its first loop.
 */
TEST(a_pod_of_the_history_has_its_last_usage) {
    start_with_prometheus();
    capture_log(0);
    pass(USAGE_OF_GONE);
    ck_assert_uint_eq(logged("Usage of containers that are not known"), 0);
    struct vpa_quantity memory = target("memory");
    ck_assert_int_ge(vpa_quantity_value(&memory), 4000000000);
    pass(USAGE_OF_GONE);
    ck_assert_uint_eq(logged("Usage of containers that are not known"), 1);
}

int main(void)
{
    return run_tests("recommender first pass", setup, teardown);
}
