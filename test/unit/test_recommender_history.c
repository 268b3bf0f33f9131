/* Prometheus: settings, questions, answers, and the history made of them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "allocated.h"
#include "suite.h"
#include "../../recommender/history.h"
#include "../../recommender/metrics.h"
#include "../../recommender/prom_client.h"
#include "../../src/model/cluster_private.h"

#include "vpa/base/str.h"

#include "manual_clock.h"
#include "memory_transport.h"

#define T0 INT64_C(1768435200)

static struct prom_options options;

static void setup(void)
{
    options = (struct prom_options){.address = "http://prom:9090",
                                    .cadvisor_job = "",
                                    .history_length = "8d",
                                    .history_resolution = "1h",
                                    .query_timeout = "5m",
                                    .cpu_metric = "cpu",
                                    .memory_metric = "mem",
                                    .pod_labels_metric = "labels[8d]",
                                    .pod_label_prefix = "label_",
                                    .pod_namespace_label = "ns",
                                    .pod_name_label = "pod",
                                    .container_namespace_label = "ns",
                                    .container_pod_name_label = "pod",
                                    .container_name_label = "ctr",
                                    .ns = "",
                                    .username = "",
                                    .password = "",
                                    .bearer_token = "",
                                    .bearer_token_file = "",
                                    .env_username = "",
                                    .env_password = ""};
}

/* ---- settings ---- */

static const struct {
    const char *name;
    const char *address;
    const char *url;    /* of the CPU query */
    const char *header; /* Authorization */
    const char *error;
} addresses[] = {
    {"plain", "http://prom", "http://prom/api/v1/query_range", NULL, NULL},
    {"path", "http://prom/base/", "http://prom/base/api/v1/query_range", NULL, NULL},
    {"several_slashes", "http://prom/a//", "http://prom/a/api/v1/query_range", NULL, NULL},
    {"query", "http://prom/p?x=1", "http://prom/p/api/v1/query_range?x=1", NULL, NULL},
    {"fragment", "http://prom/p#f", "http://prom/p/api/v1/query_range", NULL, NULL},
    {"user", "https://u:p%40@prom:1", "https://prom:1/api/v1/query_range", "Basic dTpwQA==", NULL},
    {"user_without_password", "http://u@prom", "http://prom/api/v1/query_range",
     "Basic dTo=", NULL},
    {"bad_escape", "http://u%zz:p@prom", NULL, NULL,
     "parse \"http://xxxxx@prom\": invalid URL escape \"%zz\""},
    {"bad_port", "http://prom:abc", NULL, NULL,
     "parse \"http://prom:abc\": invalid port \":abc\" after host"},
    {"path_with_a_colon", "prom/a:9", "prom/a:9/api/v1/query_range", NULL, NULL},
    {"query_with_a_colon", "prom?a=b:9", "prom/api/v1/query_range?a=b:9", NULL, NULL},
    {"fragment_with_a_colon", "prom#b:9", "prom/api/v1/query_range", NULL, NULL},
    {"letters_digits_and_signs", "a1+-.:9", "a1+-.:9/api/v1/query_range", NULL, NULL},
    {"no_scheme", ":bad:", NULL, NULL, "parse \":bad:\": missing protocol scheme"},
    {"colon_in_path", "1prom:9090", NULL, NULL,
     "parse \"1prom:9090\": first path segment in URL cannot contain colon"},
    {"sign_in_front", "+prom:9090", NULL, NULL,
     "parse \"+prom:9090\": first path segment in URL cannot contain colon"},
    {"underscore", "my_prom:9090", NULL, NULL,
     "parse \"my_prom:9090\": first path segment in URL cannot contain colon"},
    {"delete_character", "http://a\x7f", NULL, NULL,
     "parse \"http://a\\x7f\": net/url: invalid control character in URL"},
    {"control_character", "http://a\nb", NULL, NULL,
     "parse \"http://a\\nb\": net/url: invalid control character in URL"},
};

TEST_EACH(splits_addresses, addresses) {
    struct prom_plan plan;
    struct vpa_error err;
    vpa_auto_buf url = VPA_BUF(4096);

    options.address = addresses[_i].address;
    int result = prom_plan_init(&plan, &options, &err);
    if (addresses[_i].error) {
        ck_assert_int_eq(result, -1);
        ck_assert_str_eq(err.text, addresses[_i].error);
        return;
    }
    ck_assert_msg(result == 0, "%s: %s", addresses[_i].name, err.text);
    prom_post_url(&plan, PROM_CPU, &url);
    ck_assert_str_eq(vpa_buf_text(&url), addresses[_i].url);
    ck_assert_pstr_eq(plan.authorization, addresses[_i].header);
    prom_plan_release(&plan);
}

/* The token first, then the flags, the environment, and what the address says. */
static const struct {
    const char *token, *username, *password, *env_username, *env_password;
    const char *header;
} credentials[] = {
    {"t", "u", "p", "eu", "ep", "Bearer t"},     {"", "u", "p", "eu", "ep", "Basic dTpw"},
    {"", "u", "", "eu", "ep", "Basic ZXU6ZXA="}, {"", "", "p", "eu", "ep", "Basic ZXU6ZXA="},
    {"", "", "", "eu", "", "Basic YTpi"},        {"", "", "", "", "ep", "Basic YTpi"},
    {"", "", "", "", "", "Basic YTpi"},
};

TEST_EACH(credentials_have_an_order, credentials) {
    struct prom_plan plan;
    struct vpa_error err;

    options.address = "http://a:b@prom";
    options.bearer_token = credentials[_i].token;
    options.username = credentials[_i].username;
    options.password = credentials[_i].password;
    options.env_username = credentials[_i].env_username;
    options.env_password = credentials[_i].env_password;
    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    ck_assert_str_eq(plan.authorization, credentials[_i].header);
    prom_plan_release(&plan);
}

TEST(refuses_bad_durations) {
    struct prom_plan plan;
    struct vpa_error err;

    options.query_timeout = "5";
    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), -1);
    ck_assert_str_eq(err.text, "time: missing unit in duration \"5\"");
    options.query_timeout = "5m";
    options.history_length = "8 days";
    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), -1);
    ck_assert(vpa_str_starts_with(err.text,
                                  "history length 8 days is not a valid Prometheus duration: "));
    options.history_length = "8d";
    options.history_resolution = "";
    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), -1);
    ck_assert(
        vpa_str_starts_with(err.text, "history resolution  is not a valid Prometheus duration: "));
}

TEST(asks_in_order_of_names) {
    struct prom_plan plan;
    struct vpa_error err;
    vpa_auto_buf text = VPA_BUF(4096);

    options.address = "http://prom?dedup=true&a;b&query=mine&c=x+y&&d+e";
    options.ns = "team-a";
    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    prom_arguments(&plan, PROM_MEMORY, vpa_time_from_unix(T0, 500000000), &text);
    ck_assert_str_eq(
        vpa_buf_text(&text),
        "c=x+y&d+e=&dedup=true&end=1768435200.5&query=mem%7Bpod%3D~%22.%2B%22%2C+ctr%21%3D%22POD%"
        "22%2C+ctr%21%3D"
        "%22%22%2C+ns%3D%22team-a%22%7D&start=1767744000.5&step=3600");
    vpa_buf_clear(&text);
    prom_get_url(&plan, PROM_LABELS, vpa_time_from_unix(T0, 0), &text);
    ck_assert_str_eq(
        vpa_buf_text(&text),
        "http://prom/api/v1/query?c=x+y&d+e=&dedup=true&query=labels%5B8d%5D&time=1768435200");
    prom_plan_release(&plan);
}

/* A range of one's own, by GET. */
TEST(asks_for_ranges) {
    const struct prom_range range = {.query = "up{a=\"b\"}",
                                     .start = vpa_time_from_unix(T0 - 60, 0),
                                     .end = vpa_time_from_unix(T0, 0),
                                     .step = 15 * VPA_SECOND};
    struct prom_plan plan;
    struct vpa_error err;
    vpa_auto_buf text = VPA_BUF(4096);

    options.address = "http://prom/base?a=1";
    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    prom_range_url(&plan, &range, &text);
    ck_assert_str_eq(vpa_buf_text(&text),
                     "http://prom/base/api/v1/query_range?a=1&end=1768435200&query="
                     "up%7Ba%3D%22b%22%7D&start=1768435140&step=15");
    prom_plan_release(&plan);
}

TEST(prints_metrics) {
    const struct vpa_label both[] = {{"__name__", "up"}, {"job", "a\"b"}};
    vpa_auto_buf text = VPA_BUF(256);

    prom_format_metric(&(struct vpa_labels){.items = both, .count = 2}, &text);
    ck_assert_str_eq(vpa_buf_text(&text), "up{job=\"a\\\"b\"}");
    vpa_buf_clear(&text);
    prom_format_metric(&(struct vpa_labels){.items = both, .count = 1}, &text);
    ck_assert_str_eq(vpa_buf_text(&text), "up");
    vpa_buf_clear(&text);
    prom_format_metric(&(struct vpa_labels){.count = 0}, &text);
    ck_assert_str_eq(vpa_buf_text(&text), "{}");
}

/* ---- answers ---- */

#define MATRIX(series)                                                                             \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[" series "]}}"
#define SERIES(values)                                                                             \
    "{\"metric\":{\"ns\":\"n\",\"pod\":\"p\",\"ctr\":\"c\"},\"values\":[" values "]}"

static const struct {
    const char *name;
    int status;
    const char *body;
    const char *error; /* beginning */
} bad_answers[] = {
    {"not_found", 404, "nope",
     "cannot get usage history: cannot get timeseries for cpu: client_error: client error: 404"},
    {"server_error", 503, "x",
     "cannot get usage history: cannot get timeseries for cpu: server_error: server error: 503"},
    {"redirect", 302, "",
     "cannot get usage history: cannot get timeseries for cpu: bad_response: bad response code "
     "302"},
    {"no_content", 204, "", "cannot get usage history: cannot get timeseries for cpu: "},
    {"error_body", 200, "{\"status\":\"error\",\"errorType\":\"t\",\"error\":\"e\"}",
     "cannot get usage history: cannot get timeseries for cpu: t: e"},
    {"inconsistent", 422, MATRIX(""),
     "cannot get usage history: cannot get timeseries for cpu: bad_response: inconsistent body for "
     "response code"},
    {"not_an_object", 200, "[]",
     "cannot get usage history: cannot get timeseries for cpu: bad_response: "},
    {"truncated", 200,
     "{\"status\":", "cannot get usage history: cannot get timeseries for cpu: bad_response: "},
    {"no_data", 200, "{\"status\":\"success\"}",
     "cannot get usage history: cannot get timeseries for cpu: "},
    {"vector", 200, "{\"data\":{\"resultType\":\"vector\",\"result\":[]}}",
     "cannot get usage history: expected query to return a matrix; got result type model.Vector"},
    {"scalar", 200, "{\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"1\"]}}",
     "cannot get usage history: expected query to return a matrix; got result type *model.Scalar"},
    {"unknown_type", 200, "{\"data\":{\"resultType\":\"x\",\"result\":[]}}",
     "cannot get usage history: cannot get timeseries for cpu: unexpected value type \"x\""},
    {"result_is_no_list", 200, "{\"data\":{\"resultType\":\"matrix\",\"result\":{}}}",
     "cannot get usage history: cannot get timeseries for cpu: result is object, not an array"},
    {"null_series", 200, MATRIX("null"),
     "cannot get usage history: cannot get timeseries for cpu: "},
    {"label_is_no_text", 200, MATRIX("{\"metric\":{\"ns\":1}}"),
     "cannot get usage history: cannot get timeseries for cpu: metric"},
    {"values_is_no_list", 200, MATRIX("{\"metric\":{},\"values\":1}"),
     "cannot get usage history: cannot get timeseries for cpu: values"},
    {"two_values_where_one_belongs", 200,
     "{\"data\":{\"resultType\":\"matrix\",\"x\":1 2,\"result\":[]}}",
     "cannot get usage history: cannot get timeseries for cpu: "},
    {"short_sample", 200, MATRIX(SERIES("[1]")),
     "cannot get usage history: cannot get timeseries for cpu: "},
    {"exponent_in_time", 200, MATRIX(SERIES("[1e9,\"1\"]")),
     "cannot get usage history: cannot get timeseries for cpu: invalid sample time"},
    {"time_overflows", 200, MATRIX(SERIES("[9223372036854775807,\"1\"]")),
     "cannot get usage history: cannot get timeseries for cpu: invalid sample time"},
    {"value_is_a_number", 200, MATRIX(SERIES("[1,1]")),
     "cannot get usage history: cannot get timeseries for cpu: sample value is number"},
    {"value_overflows", 200, MATRIX(SERIES("[1,\"1e999\"]")),
     "cannot get usage history: cannot get timeseries for cpu: sample value"},
    {"no_container_label", 200, MATRIX("{\"metric\":{\"ns\":\"n\",\"pod\":\"p\"},\"values\":[]}"),
     "cannot get usage history: cannot get container ID from labels: {ns=\"n\", pod=\"p\"}"},
};

static int serve_status;
static const char *serve_body;
static size_t serve_chunk; /* 0: whole */

static void serve_as_told(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    (void)q;
    vpa_memory_reply_json(r, serve_status, serve_body);
    if (serve_chunk)
        vpa_memory_reply_chunk(r, serve_chunk);
}

/* What is fetched of a server, into a history that is to be released. */
static int fetch_usage(vpa_memory_serve_fn serve, const struct prom_plan *plan,
                       struct history *history, struct vpa_error *err)
{
    struct vpa_clock *clock = vpa_clock_new_manual(vpa_time_from_unix(T0, 0));
    struct vpa_loop *loop = vpa_loop_new(clock);
    struct vpa_transport *transport = vpa_memory_transport_new(loop, serve, NULL);

    history_init(history, plan);
    int result = prom_fetch_usage(loop, transport, plan, history, err);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
    return result;
}

TEST_EACH(refuses_bad_answers, bad_answers) {
    struct prom_plan plan;
    struct history history;
    struct vpa_error err = {0};

    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    serve_status = bad_answers[_i].status;
    serve_body = bad_answers[_i].body;
    for (serve_chunk = 0; serve_chunk < 8; serve_chunk++) {
        ck_assert_int_eq(fetch_usage(serve_as_told, &plan, &history, &err), -1);
        ck_assert_msg(vpa_str_starts_with(err.text, bad_answers[_i].error), "%s: %s",
                      bad_answers[_i].name, err.text);
        history_release(&history);
    }
    prom_plan_release(&plan);
}

static int take(struct history *h, enum prom_kind kind, const char *body, struct vpa_error *err)
{
    return prom_parse_answer(kind, 200, body, strlen(body), history_add,
                             &(struct history_adding){h, kind}, err);
}

static void add(struct history *h, enum prom_kind kind, const char *body)
{
    struct vpa_error err = {0};

    ck_assert_msg(take(h, kind, body, &err) == 0, "%s", err.text);
}

TEST(puts_series_together_in_order_of_time) {
    static const int64_t want_millis[] = {-1500, 0, 1000, 2000, 2000, 3000};
    static const int64_t want_amounts[] = {7000, 6000, 1000, 4000, 5000, 3000};
    struct prom_plan plan;
    struct history history;
    struct vpa_error err;

    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    history_init(&history, &plan);
    add(&history, PROM_CPU,
        MATRIX(SERIES("[3,\"3\"],[2,\"4\"],[1,\"1\"]") "," SERIES(
            "[2.0009,\"5\"],[0,\"6\"],[-1.5,\"7\"]")));
    add(&history, PROM_MEMORY, MATRIX(SERIES("[1,\"NaN\"],[2,\"+Inf\"],[3,\"-1\"]")));
    history_finish(&history);

    vpa_auto_free struct history_pod **pods = history_pods(&history);
    ck_assert_uint_eq(history.pods.count, 1);
    vpa_auto_free struct history_container **containers = history_containers(pods[0]);
    ck_assert_uint_eq(containers[0]->cpu.count, VPA_COUNT(want_millis));
    for (size_t i = 0; i < VPA_COUNT(want_millis); i++) {
        ck_assert_int_eq(containers[0]->cpu.items[i].millis, want_millis[i]);
        ck_assert_int_eq(containers[0]->cpu.items[i].amount, want_amounts[i]);
    }
    ck_assert_int_eq(containers[0]->memory.items[0].amount, INT64_MIN);
    ck_assert_int_eq(containers[0]->memory.items[1].amount, VPA_AMOUNT_MAX);
    ck_assert_int_eq(containers[0]->memory.items[2].amount, 0);
    history_release(&history);
    prom_plan_release(&plan);
}

/* Each the other way round, with nothing that is in order already. */
TEST(turns_series_round) {
    struct prom_plan plan;
    struct history history;
    struct vpa_error err;

    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    history_init(&history, &plan);
    add(&history, PROM_CPU, MATRIX(SERIES("[3,\"3\"],[2,\"2\"]") "," SERIES("[1,\"1\"]")));
    history_finish(&history);

    vpa_auto_free struct history_pod **pods = history_pods(&history);
    vpa_auto_free struct history_container **containers = history_containers(pods[0]);
    ck_assert_uint_eq(containers[0]->cpu.count, 3);
    for (int64_t i = 0; i < 3; i++)
        ck_assert_int_eq(containers[0]->cpu.items[i].millis, 1000 * (i + 1));
    history_release(&history);
    prom_plan_release(&plan);
}

TEST(takes_the_labels_seen_last) {
    struct prom_plan plan;
    struct history history;
    struct vpa_error err;

    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    history_init(&history, &plan);
    add(&history, PROM_LABELS,
        MATRIX(
            "{\"metric\":{\"ns\":\"n\",\"pod\":\"p\",\"label_a\":\"old\"},\"values\":[[9,\"1\"],[5,"
            "\"1\"]]},"
            "{\"metric\":{\"ns\":\"n\",\"pod\":\"p\",\"label_a\":\"new\",\"x\":\"y\"},\"values\":[["
            "7,\"1\"]]},"
            "{\"metric\":{\"ns\":\"n\",\"pod\":\"p\",\"label_a\":\"tie\"},\"values\":[[7,\"1\"]]},"
            "{\"metric\":{\"ns\":\"n\",\"pod\":\"empty\"},\"values\":[]}"));
    vpa_auto_free struct history_pod **pods = history_pods(&history);
    ck_assert_uint_eq(history.pods.count, 1);
    ck_assert_uint_eq(pods[0]->labels.count, 1);
    ck_assert_str_eq(vpa_labels_get(&pods[0]->labels, "a"), "new");
    ck_assert(pods[0]->last_seen == vpa_time_from_unix(7, 0));

    const char *missing = MATRIX("{\"metric\":{\"ns\":\"n\"},\"values\":[[1,\"1\"]]}");
    ck_assert_int_eq(take(&history, PROM_LABELS, missing, &err), -1);
    ck_assert_str_eq(err.text, "cannot get container ID from labels {ns=\"n\"}: no pod label");
    history_release(&history);
    prom_plan_release(&plan);
}

TEST(feeds_the_model) {
    struct vpa_aggregation aggregation;
    struct prom_plan plan;
    struct history history;
    struct vpa_error err;

    vpa_aggregation_init(&aggregation);
    struct vpa_cluster *cluster = vpa_cluster_new(
        &(struct vpa_cluster_options){.aggregation = &aggregation, .memory_saver = true});
    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    history_init(&history, &plan);
    add(&history, PROM_CPU, MATRIX(SERIES("[1,\"1\"],[2,\"2\"],[2,\"3\"]")));
    history_finish(&history);
    history_feed(&history, cluster, vpa_time_from_unix(T0, 0));
    ck_assert(vpa_pods_find(cluster, "n", "p"));
    ck_assert_uint_eq(vpa_cluster_aggregate_count(cluster), 1);
    /* The pod is gone unless the list of live pods brings it. */
    ck_assert_uint_eq(vpa_cluster_remove_deleted_pods(cluster), 1);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(cluster), 1);
    history_release(&history);
    prom_plan_release(&plan);
    vpa_cluster_free(cluster);
    vpa_aggregation_release(&aggregation);
}

static struct vpa_cluster *cluster_of(const struct vpa_aggregation *aggregation)
{
    struct vpa_cluster *cluster =
        vpa_cluster_new(&(struct vpa_cluster_options){.aggregation = aggregation});

    vpa_cluster_put_bare_pod(cluster, "n", "p", &(struct vpa_labels){.present = true},
                             VPA_PHASE_RUNNING, 0);
    ck_assert_int_eq(vpa_cluster_put_container(cluster, "n", "p", "c", 0, NULL), 0);
    return cluster;
}

/* Three hours from `first` on. */
static void sample_live(struct vpa_cluster *cluster, int64_t first)
{
    struct vpa_sample_target to;
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_cluster_container(cluster, &(struct vpa_container_name){"n", "p", "c"}, 0, &to, &err),
        0);
    for (int64_t t = first; t < first + 3 * 3600; t += 60) {
        vpa_time at = vpa_time_from_unix(t, 0);

        ck_assert_int_eq(vpa_cluster_add_sample(&to, VPA_KIND_CPU, at, 100 + t % 7, at, &err), 0);
        ck_assert_int_eq(
            vpa_cluster_add_sample(&to, VPA_KIND_MEMORY, at, 3000000 + t % 7, at, &err), 0);
    }
}

/* Weights are relative to the time of the first sample. */
static void assert_same_shares(const struct vpa_histogram *a, const struct vpa_histogram *b)
{
    for (uint32_t i = 0; i < 170; i++)
        ck_assert_double_eq_tol(vpa_histogram_weight(a, i) / a->total,
                                vpa_histogram_weight(b, i) / b->total, 1e-9);
}

static void assert_same(struct vpa_cluster *a, struct vpa_cluster *b)
{
    const struct vpa_aggregate *x = &vpa_pods_find(a, "n", "p")->containers[0].member->state;
    const struct vpa_aggregate *y = &vpa_pods_find(b, "n", "p")->containers[0].member->state;

    ck_assert_int_eq(x->sample_count, y->sample_count);
    ck_assert(x->first_sample == y->first_sample);
    ck_assert(x->last_sample == y->last_sample);
    assert_same_shares(&x->cpu.h, &y->cpu.h);
    assert_same_shares(&x->memory.h, &y->memory.h);
}

static const char *const pasts[] = {"9e7", "1000"}; /* above and below what is sampled */

/* Fed before the samples or after them, it comes to the same: all count, and once. */
TEST_EACH(a_late_history_is_as_good, pasts) {
    struct vpa_aggregation aggregation;
    struct prom_plan plan;
    struct history history;
    struct vpa_error err;
    vpa_auto_buf memory = VPA_BUF(4096);

    vpa_aggregation_init(&aggregation);
    struct vpa_cluster *early = cluster_of(&aggregation), *late = cluster_of(&aggregation);
    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    history_init(&history, &plan);
    vpa_buf_printf(&memory, MATRIX(SERIES("[1768305600,\"5e7\"],[1768431600,\"%s\"]")), pasts[_i]);
    add(&history, PROM_CPU, MATRIX(SERIES("[1768305600,\"1\"],[1768431600,\"2\"]")));
    add(&history, PROM_MEMORY, vpa_buf_text(&memory));
    history_finish(&history);
    history_feed(&history, early, vpa_time_from_unix(T0, 0));
    sample_live(early, T0);
    sample_live(late, T0);
    history_feed_late(&history, late, vpa_time_from_unix(T0 + 3 * 3600, 0));
    assert_same(early, late);
    sample_live(early, T0 + 86400);
    sample_live(late, T0 + 86400);
    assert_same(early, late);
    history_release(&history);
    prom_plan_release(&plan);
    vpa_cluster_free(early);
    vpa_cluster_free(late);
    vpa_aggregation_release(&aggregation);
}

/* ---- what is fetched ---- */

static void answer_backwards(void *ctx, const struct vpa_memory_request *q,
                             struct vpa_memory_reply *r)
{
    (void)ctx;
    (void)q;
    vpa_memory_reply_json(r, 200, MATRIX(SERIES("[2,\"2\"]") "," SERIES("[1,\"1\"]")));
}

TEST(what_was_fetched_is_in_order_of_time) {
    struct prom_plan plan;
    struct history history;
    struct vpa_error err;

    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    ck_assert_int_eq(fetch_usage(answer_backwards, &plan, &history, &err), 0);
    vpa_auto_free struct history_pod **pods = history_pods(&history);
    vpa_auto_free struct history_container **containers = history_containers(pods[0]);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(containers[0]->cpu.items[i].millis, 1000 * ((int64_t)i + 1));
        ck_assert_int_eq(containers[0]->memory.items[i].millis, 1000 * ((int64_t)i + 1));
    }
    history_release(&history);
    prom_plan_release(&plan);
}

/* Labels are asked for last. */
static void serve_bad_labels(void *ctx, const struct vpa_memory_request *q,
                             struct vpa_memory_reply *r)
{
    (void)ctx;
    vpa_memory_reply_json(r, 200,
                          strstr(q->target, "query_range")
                              ? MATRIX("")
                              : MATRIX("{\"metric\":{\"ns\":\"n\"},\"values\":[[1,\"1\"]]}"));
}

TEST(an_error_names_the_question) {
    struct vpa_clock *clock = vpa_clock_new_manual(vpa_time_from_unix(T0, 0));
    struct vpa_loop *loop = vpa_loop_new(clock);
    struct vpa_transport *transport = vpa_memory_transport_new(loop, serve_bad_labels, NULL);
    struct prom_plan plan;
    struct history history;
    struct vpa_error err;

    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    history_init(&history, &plan);
    ck_assert_int_eq(prom_fetch_history(loop, transport, &plan, NULL, &history, &err), -1);
    ck_assert_str_eq(
        err.text,
        "cannot read last labels: cannot get container ID from labels {ns=\"n\"}: no pod label");
    history_release(&history);
    prom_plan_release(&plan);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
}

/* ---- answers that do not come to their end ---- */

/* The CPU answer stops after a good series, or turns out to be an error behind it. */
static void serve_half(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    (void)q;
    vpa_memory_reply_json(r, 200, serve_body);
    vpa_memory_reply_fail(r, VPA_TRANSPORT_EOF);
}

TEST(an_answer_that_breaks_off_is_none) {
    struct prom_plan plan;
    struct history history;
    struct vpa_error err;

    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    serve_body = MATRIX(SERIES("[1,\"1\"]"));
    ck_assert_int_eq(fetch_usage(serve_half, &plan, &history, &err), -1);
    ck_assert_int_eq(err.code, VPA_RETRY);
    ck_assert_str_eq(err.text,
                     "cannot get usage history: cannot get timeseries for cpu: unexpected EOF");
    history_release(&history);
    prom_plan_release(&plan);
}

TEST(an_answer_may_be_an_error_behind_its_data) {
    struct prom_plan plan;
    struct history history;
    struct vpa_error err;

    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    serve_status = 200;
    serve_chunk = 1;
    serve_body = "{\"data\":{\"resultType\":\"matrix\",\"result\":[" SERIES(
        "[1,\"1\"]") ",7]},"
                     "\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"too slow\"}";
    ck_assert_int_eq(fetch_usage(serve_as_told, &plan, &history, &err), -1);
    ck_assert_str_eq(err.text,
                     "cannot get usage history: cannot get timeseries for cpu: timeout: too slow");
    history_release(&history);
    prom_plan_release(&plan);
}

/* ---- what it costs ---- */

#define SERIES_FED 2000
#define SAMPLES_FED 193 /* 8 days of hours */

/* As Prometheus writes them: 6.7 KB each. */
static void put_series(struct vpa_buf *out, int i)
{
    vpa_buf_clear(out);
    vpa_buf_puts(out, i ? ","
                        : "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\","
                          "\"result\":[");
    vpa_buf_printf(out,
                   "{\"metric\":{\"ns\":\"n\",\"pod\":\"app-%d\",\"ctr\":\"c\",\"image\":"
                   "\"registry.example.com/team/app@sha256:0123456789abcdef\"},\"values\":[",
                   i);
    for (int k = 0; k < SAMPLES_FED; k++)
        vpa_buf_printf(out, "%s[%lld,\"0.12345678901%d\"]", k ? "," : "", (long long)T0 + 3600 * k,
                       1000 + k);
    vpa_buf_puts(out, "]}");
}

/* The samples that are kept, and half a kilobyte for each pod with its container. */
TEST(an_answer_costs_what_is_kept_of_it) {
    vpa_auto_buf text = VPA_BUF(1 << 16);
    struct prom_plan plan;
    struct history history;
    struct vpa_error err = {0};

    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    history_init(&history, &plan);
    put_series(&text, 0);
    size_t before = allocated(), peak = 0, length = 0;
    struct prom_reader *reader = prom_reader_new(PROM_CPU, HISTORY_ANSWER_MAX, history_add,
                                                 &(struct history_adding){&history, PROM_CPU});
    for (int i = 0; i < SERIES_FED; i++) {
        put_series(&text, i);
        length += text.len;
        for (size_t at = 0; at < text.len; at += 2000) {
            size_t n = text.len - at < 2000 ? text.len - at : 2000;
            ck_assert_int_eq(prom_reader_feed(reader, text.data + at, n, &err), 0);
            size_t now = allocated() - before;
            peak = now > peak ? now : peak;
        }
    }
    ck_assert_int_eq(prom_reader_feed(reader, "]}}", 3, &err), 0);
    ck_assert_int_eq(prom_reader_finish(reader, 200, &err), 0);
    prom_reader_free(reader);
    size_t kept = (size_t)SERIES_FED * SAMPLES_FED * sizeof(struct history_sample);
    ck_assert_uint_gt(length, 2 * kept);
    ck_assert_uint_le(peak, kept + SERIES_FED * 512 + (128 << 10));
    history_release(&history);
    prom_plan_release(&plan);
}

/* ---- how long it takes ---- */

static vpa_duration post_takes, get_takes;

/* A server that refuses POST. */
static void refuse_post(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    bool is_post = strcmp(q->method, "POST") == 0;

    (void)ctx;
    vpa_memory_reply_json(r, is_post ? 405 : 200, MATRIX(""));
    vpa_memory_reply_delay(r, is_post ? post_takes : get_takes);
}

static double metric(bool sum, const char *name, const char *code, const char *method)
{
    size_t count;
    struct vpa_metric *const *table = recommender_metrics_table(&count);

    for (size_t i = 0; i < count; i++) {
        if (!strstr(table[i]->name, name))
            continue;
        return sum ? vpa_metric_sum_of(table[i], (const char *const[]){code, method})
                   : vpa_metric_value(table[i], code, method);
    }
    return -1;
}

/* The timeout of a question is that of both its requests together. */
static const struct {
    vpa_duration post, get;
    int requests; /* that were answered */
    const char *error;
    vpa_duration took;
} answers[] = {
    {2 * VPA_SECOND, 3 * VPA_SECOND, 4, NULL, 10 * VPA_SECOND},
    {4 * VPA_MINUTE, VPA_MINUTE - 1, 4, NULL, 10 * VPA_MINUTE - 2},
    {4 * VPA_MINUTE, VPA_MINUTE + 1, 1,
     "cannot get usage history: cannot get timeseries for cpu: timeout", 5 * VPA_MINUTE},
    {6 * VPA_MINUTE, 0, 0, "cannot get usage history: cannot get timeseries for cpu: timeout",
     5 * VPA_MINUTE},
};

TEST_EACH(the_time_of_requests_is_measured_and_bounded, answers) {
    struct vpa_clock *clock = vpa_clock_new_manual(vpa_time_from_unix(T0, 0));
    struct vpa_loop *loop = vpa_loop_new(clock);
    struct vpa_transport *transport = vpa_memory_transport_new(loop, refuse_post, NULL);
    struct prom_plan plan;
    struct history history;
    struct vpa_error err;

    post_takes = answers[_i].post;
    get_takes = answers[_i].get;
    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    history_init(&history, &plan);
    ck_assert_int_eq(prom_fetch_usage(loop, transport, &plan, &history, &err),
                     answers[_i].error ? -1 : 0);
    if (answers[_i].error)
        ck_assert_str_eq(err.text, answers[_i].error);
    ck_assert_int_eq(vpa_time_sub(vpa_loop_now(loop), vpa_time_from_unix(T0, 0)), answers[_i].took);
    double posts = metric(false, "api_requests_count", "405", "post");
    double gets = metric(false, "api_requests_count", "200", "get");
    ck_assert_double_eq(posts + gets, answers[_i].requests);
    ck_assert_double_eq_tol(metric(true, "api_requests_duration_seconds", "405", "post"),
                            posts * (double)post_takes / 1e9, 1e-6);
    ck_assert_double_eq_tol(metric(true, "api_requests_duration_seconds", "200", "get"),
                            gets * (double)get_takes / 1e9, 1e-6);
    history_release(&history);
    prom_plan_release(&plan);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
}

/* ---- servers that refuse POST ---- */

static int refusal, got;
static enum vpa_transport_failure refusal_failure;

static void refuse_post_with(void *ctx, const struct vpa_memory_request *q,
                             struct vpa_memory_reply *r)
{
    (void)ctx;
    got += strcmp(q->method, "GET") == 0;
    bool is_post = strcmp(q->method, "POST") == 0;
    vpa_memory_reply_json(r, is_post ? refusal : 200, MATRIX(""));
    if (is_post)
        vpa_memory_reply_fail(r, refusal_failure);
}

/* A redirect that the HTTP client does not follow is a failure with its status. */
static const struct {
    int status;
    bool goes_on;
    enum vpa_transport_failure failure;
} refusals[] = {
    {403, true, VPA_TRANSPORT_OK},     {405, true, VPA_TRANSPORT_OK},
    {501, true, VPA_TRANSPORT_OK},     {400, false, VPA_TRANSPORT_OK},
    {401, false, VPA_TRANSPORT_OK},    {404, false, VPA_TRANSPORT_OK},
    {406, false, VPA_TRANSPORT_OK},    {500, false, VPA_TRANSPORT_OK},
    {502, false, VPA_TRANSPORT_OK},    {503, false, VPA_TRANSPORT_OK},
    {302, false, VPA_TRANSPORT_OK},    {301, true, VPA_TRANSPORT_OTHER},
    {308, true, VPA_TRANSPORT_OTHER},  {400, false, VPA_TRANSPORT_OTHER},
    {405, false, VPA_TRANSPORT_OTHER}, {302, false, VPA_TRANSPORT_RESET},
    {0, false, VPA_TRANSPORT_REFUSED},
};

TEST_EACH(who_refuses_post_is_asked_by_get, refusals) {
    struct vpa_clock *clock = vpa_clock_new_manual(vpa_time_from_unix(T0, 0));
    struct vpa_loop *loop = vpa_loop_new(clock);
    struct vpa_transport *transport = vpa_memory_transport_new(loop, refuse_post_with, NULL);
    struct prom_plan plan;
    struct history history;
    struct vpa_error err;

    refusal = refusals[_i].status;
    refusal_failure = refusals[_i].failure;
    got = 0;
    ck_assert_int_eq(prom_plan_init(&plan, &options, &err), 0);
    history_init(&history, &plan);
    ck_assert_int_eq(prom_fetch_usage(loop, transport, &plan, &history, &err),
                     refusals[_i].goes_on ? 0 : -1);
    ck_assert_int_eq(got, refusals[_i].goes_on ? 2 : 0);
    vpa_auto_free char *code = vpa_xprintf("%d", refusal);
    bool counted = refusals[_i].goes_on || !refusal_failure;
    ck_assert_double_eq(metric(false, "api_requests_count", code, "post"),
                        counted ? got ? 2 : 1 : 0);
    history_release(&history);
    prom_plan_release(&plan);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
}

int main(void)
{
    return run_tests("recommender_history", setup, NULL);
}
