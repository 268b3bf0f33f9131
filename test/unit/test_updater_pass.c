/*
 * Passes of the updater against a server in memory that answers late: what several requests in
 * flight must not change, and what stops a pass.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../updater/updater.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/net/memory_transport.h"
#include "vpa/net/random.h"

#define TEXT_MAX ((size_t)4 << 20)
#define CALLS_MAX 512
#define START_SECONDS 1772366400 /* 2026-03-01T12:00:00Z */

struct server {
    /* objects */
    int vpas, pods_per_vpa;
    const char *mode;    /* of the VPAs */
    const char *pod;     /* more members of each pod's metadata */
    const char *boost;   /* more members of each VPA's spec */
    const char *request; /* cpu of each pod */
    bool panic;
    bool old;            /* no pods/resize */
    const char *renewed; /* of the status lease, NULL: there is none */
    /* answers */
    vpa_duration delay;
    int refuse; /* every n-th eviction or resize is refused, 0: none */
    int refuse_from;
    int stop_at;  /* the loop is stopped at that write, 0: never */
    int panic_at; /* the panic ConfigMap appears at that write */
    /* what happened */
    char *calls[CALLS_MAX];
    size_t call_count;
    size_t events, annotated, lease_reads, streams, most_open;
    struct vpa_memory_stream *config_maps, *vpa_objects;
    bool touch; /* the VPA is written anew at each read of the lease and each change */
    /* the updater */
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_transport *transport;
    struct vpa_random random;
    struct updater_config config;
    struct updater *updater;
};

static struct server server;

/* ---- objects ---- */

static void list_vpas(struct vpa_buf *buf)
{
    for (int v = 0; v < server.vpas; v++)
        vpa_buf_printf(
            buf,
            "%s{\"metadata\":{\"name\":\"v%02d\",\"namespace\":\"n\",\"uid\":\"v%d\","
            "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{%s\"targetRef\":{"
            "\"apiVersion\":"
            "\"apps/"
            "v1\",\"kind\":\"ReplicaSet\",\"name\":\"rs%02d\"},\"updatePolicy\":{\"updateMode\":"
            "\"%s\"}},\"status\":{\"recommendation\":{\"containerRecommendations\":[{"
            "\"containerName\":"
            "\"c\",\"target\":{\"cpu\":\"2\"},\"lowerBound\":{\"cpu\":\"1500m\"}}]}}}",
            v ? "," : "", v, v, server.boost, v, server.mode);
}

static void list_replica_sets(struct vpa_buf *buf)
{
    for (int v = 0; v < server.vpas; v++)
        vpa_buf_printf(buf,
                       "%s{\"metadata\":{\"name\":\"rs%02d\",\"namespace\":\"n\"},\"spec\":{"
                       "\"replicas\":%d,\"selector\":{\"matchLabels\":{\"app\":\"a%d\"}}}}",
                       v ? "," : "", v, server.pods_per_vpa, v);
}

static void list_pods(struct vpa_buf *buf)
{
    for (int v = 0; v < server.vpas; v++) {
        for (int p = 0; p < server.pods_per_vpa; p++)
            vpa_buf_printf(
                buf,
                "%s{\"metadata\":{\"name\":\"p%02d-%02d\",\"namespace\":\"n\",\"uid\":\"%d-%d\",%s"
                "\"labels\":{\"app\":\"a%d\"},\"ownerReferences\":[{\"apiVersion\":\"apps/"
                "v1\",\"kind\":"
                "\"ReplicaSet\",\"name\":\"rs%02d\",\"controller\":true}]},\"spec\":{"
                "\"containers\":[{"
                "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]},\"status\":{"
                "\"phase\":"
                "\"Running\",\"startTime\":\"2026-03-01T11:00:00Z\",\"conditions\":[{\"type\":"
                "\"Ready\","
                "\"status\":\"True\",\"lastTransitionTime\":\"2026-03-01T11:00:00Z\"}]}}",
                v || p ? "," : "", v, p, v, p, server.pod, v, v, server.request);
    }
}

static void answer_list(const char *path, struct vpa_memory_reply *reply)
{
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, TEXT_MAX);
    vpa_buf_puts(&buf, "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[");
    if (vpa_str_ends_with(path, "/verticalpodautoscalers"))
        list_vpas(&buf);
    else if (vpa_str_ends_with(path, "/replicasets"))
        list_replica_sets(&buf);
    else if (vpa_str_ends_with(path, "/pods"))
        list_pods(&buf);
    else if (vpa_str_ends_with(path, "/configmaps") && server.panic)
        vpa_buf_puts(&buf, "{\"metadata\":{\"name\":\"vpa-panic\",\"namespace\":\"kube-system\"}}");
    vpa_buf_puts(&buf, "]}");
    vpa_memory_reply_json(reply, 200, vpa_buf_text(&buf));
}

static void touch_vpa(void)
{
    vpa_auto_buf text = {0};

    if (!server.touch)
        return;
    vpa_buf_init(&text, TEXT_MAX);
    list_vpas(&text);
    vpa_memory_stream_event(server.vpa_objects, "MODIFIED", vpa_buf_text(&text));
}

static void answer_get(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    if (vpa_memory_query(q, "watch")) {
        struct vpa_memory_stream *stream = vpa_memory_reply_stream(reply, 200, NULL, NULL);

        server.streams++;
        if (vpa_str_ends_with(q->path, "/configmaps"))
            server.config_maps = stream;
        if (vpa_str_ends_with(q->path, "/verticalpodautoscalers"))
            server.vpa_objects = stream;
    } else if (strstr(q->path, "/leases/")) {
        server.lease_reads++;
        touch_vpa();
        if (server.renewed) {
            vpa_auto_free char *lease =
                vpa_xprintf("{\"metadata\":{\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},"
                            "\"spec\":{\"renewTime\":\"%s\"}}",
                            server.renewed);

            vpa_memory_reply_json(reply, 200, lease);
        }
    } else if (vpa_str_eq(q->path, "/api/v1")) {
        vpa_memory_reply_json(
            reply, 200,
            server.old
                ? "{\"resources\":[{\"name\":\"pods\",\"kind\":\"Pod\",\"namespaced\":true}]}"
                : "{\"resources\":[{\"name\":\"pods\",\"kind\":\"Pod\",\"namespaced\":true},"
                  "{\"name\":\"pods/resize\",\"kind\":\"Pod\",\"namespaced\":true}]}");
    } else {
        answer_list(q->path, reply);
    }
}

static void show_panic(void)
{
    vpa_memory_stream_event(
        server.config_maps, "ADDED",
        "{\"metadata\":{\"name\":\"vpa-panic\",\"namespace\":\"kube-system\",\"resourceVersion\":"
        "\"2\"}}");
}

static void answer_change(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    bool resize = vpa_str_ends_with(q->path, "/resize");
    size_t open = vpa_memory_transport_open(server.transport) - server.streams;
    int n;

    ck_assert(server.call_count < CALLS_MAX);
    server.calls[server.call_count++] = vpa_xstrdup(q->path + strlen("/api/v1/namespaces/n/pods/"));
    n = (int)server.call_count;
    if (open > server.most_open)
        server.most_open = open;
    touch_vpa();
    if (n == server.stop_at)
        vpa_loop_stop(server.loop);
    if (n == server.panic_at)
        show_panic();
    if (resize && server.old)
        vpa_memory_reply_status(reply, 404, NULL, "the server could not find the resource");
    else if (server.refuse && n >= server.refuse_from && n % server.refuse == 0)
        vpa_memory_reply_status(reply, 429, NULL, "disruption budget");
    else
        vpa_memory_reply_json(reply, 201, "{}");
    vpa_memory_reply_delay(reply, server.delay);
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    (void)ctx;
    if (vpa_str_eq(q->method, "GET")) {
        answer_get(q, reply);
        return;
    }
    if (vpa_str_ends_with(q->path, "/eviction") || vpa_str_ends_with(q->path, "/resize")) {
        answer_change(q, reply);
        return;
    }
    if (strstr(q->path, "/events"))
        server.events++;
    else
        server.annotated++;
    vpa_memory_reply_json(reply, 201, "{}");
}

/* ---- life ---- */

static void setup(void)
{
    const struct vpa_flags flags = {
        .rows = updater_flag_rows, .count = updater_flag_count, .values = &server.config};

    server = (struct server){.vpas = 1,
                             .pods_per_vpa = 10,
                             .mode = "Recreate",
                             .pod = "",
                             .boost = "",
                             .request = "1",
                             .delay = 10 * VPA_MILLISECOND};
    vpa_flags_preset(&flags);
    server.config.use_admission_status = false;
    server.config.common.kube_api_qps = -1;
    server.clock = vpa_clock_new_manual(vpa_time_from_unix(START_SECONDS, 0));
    server.loop = vpa_loop_new(server.clock);
    server.transport = vpa_memory_transport_new(server.loop, serve, NULL);
}

static void start(size_t requests_max)
{
    struct vpa_error err;

    server.updater = updater_new(&(struct updater_options){.loop = server.loop,
                                                           .transport = server.transport,
                                                           .random = &server.random,
                                                           .config = &server.config,
                                                           .requests_max = requests_max},
                                 &err);
    ck_assert_ptr_nonnull(server.updater);
    updater_start(server.updater);
    ck_assert_int_eq(updater_wait(server.updater, VPA_MINUTE, &err), 0);
    while (vpa_loop_poll(server.loop))
        ;
}

static void forget_calls(void)
{
    for (size_t i = 0; i < server.call_count; i++)
        free(server.calls[i]);
    server.call_count = 0;
}

static void teardown(void)
{
    struct vpa_metrics metrics = {.table = updater_metrics, .count = updater_metric_count};

    updater_free(server.updater);
    vpa_transport_free(server.transport);
    vpa_loop_free(server.loop);
    vpa_clock_free(server.clock);
    vpa_metrics_release(&metrics);
    forget_calls();
}

static double metric(const char *name, const char *const *labels)
{
    for (size_t i = 0; i < updater_metric_count; i++) {
        if (vpa_str_eq(updater_metrics[i]->name, name))
            return vpa_metric_value_of(updater_metrics[i], labels);
    }
    ck_abort_msg("no metric %s", name);
}

/* ---- several requests in flight ---- */

START_TEST(requests_overlap_within_the_budget)
{
    int64_t begun;

    start(0);
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5); /* half of ten */
    ck_assert_uint_eq(server.most_open, 5);
    ck_assert_int_eq(vpa_loop_monotonic(server.loop) - begun, 10 * VPA_MILLISECOND);
    updater_flush(server.updater, VPA_MINUTE);
}
END_TEST

START_TEST(one_at_a_time_when_asked)
{
    start(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_uint_eq(server.most_open, 1);
}
END_TEST

START_TEST(refusals_give_the_budget_back)
{
    server.refuse = 2; /* the 2nd, 4th, ... */
    start(0);
    updater_pass(server.updater);
    /* Ten pods are tried one after the other until five are gone: the ninth attempt is the fifth
     * one. */
    ck_assert_uint_eq(server.call_count, 9);
    for (size_t i = 0; i < server.call_count; i++) {
        vpa_auto_free char *want = vpa_xprintf("p00-%02zu/eviction", i);

        ck_assert_str_eq(server.calls[i], want);
    }
}
END_TEST

/* The calls of one VPA, joined. */
static char *calls_of(int vpa)
{
    vpa_auto_free char *prefix = vpa_xprintf("p%02d-", vpa);
    struct vpa_buf buf;

    vpa_buf_init(&buf, TEXT_MAX);
    for (size_t i = 0; i < server.call_count; i++) {
        if (vpa_str_starts_with(server.calls[i], prefix))
            vpa_buf_printf(&buf, "%s ", server.calls[i]);
    }
    vpa_buf_puts(&buf, "");
    return vpa_buf_take(&buf);
}

static const struct {
    const char *mode;
    bool old;
} orders[] = {{"Recreate", false}, {"InPlaceOrRecreate", false}, {"InPlaceOrRecreate", true}};

/* With every request answered alike, how many are in flight changes nothing within a VPA. */
START_TEST(the_order_within_a_vpa_is_sequential)
{
    char *sequential[6];

    server.vpas = 6;
    server.mode = orders[_i].mode;
    server.old = orders[_i].old;
    start(1);
    updater_pass(server.updater);
    for (int v = 0; v < 6; v++)
        sequential[v] = calls_of(v);
    teardown();

    setup();
    server.vpas = 6;
    server.mode = orders[_i].mode;
    server.old = orders[_i].old;
    start(7);
    updater_pass(server.updater);
    ck_assert_uint_le(server.most_open, 7);
    ck_assert_uint_gt(server.most_open, 1);
    for (int v = 0; v < 6; v++) {
        char *got = calls_of(v);

        /* An old server is recognised by the first answer: those under way meanwhile are more. */
        if (!server.old)
            ck_assert_str_eq(got, sequential[v]);
        free(got);
        free(sequential[v]);
    }
}
END_TEST

/* ---- resizes ---- */

START_TEST(resizes_take_two_requests)
{
    server.mode = "InPlaceOrRecreate";
    start(0);
    updater_pass(server.updater);
    updater_flush(server.updater, VPA_MINUTE);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_uint_eq(server.annotated, 5);
    ck_assert_uint_eq(server.events, 5);
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
}
END_TEST

START_TEST(a_refused_resize_becomes_an_eviction)
{
    server.mode = "InPlaceOrRecreate";
    server.pods_per_vpa = 2;
    server.refuse = 1;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 4);
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
    ck_assert_str_eq(server.calls[1], "p00-01/resize");
    ck_assert_str_eq(server.calls[2], "p00-00/eviction");
    ck_assert_str_eq(server.calls[3], "p00-01/eviction");
}
END_TEST

START_TEST(an_old_server_is_asked_only_once)
{
    server.mode = "InPlaceOrRecreate";
    server.old = true;
    start(1);
    updater_pass(server.updater);
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
    for (size_t i = 1; i < server.call_count; i++)
        ck_assert(vpa_str_ends_with(server.calls[i], "/eviction"));
    forget_calls();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert(vpa_str_ends_with(server.calls[i], "/eviction"));
}
END_TEST

START_TEST(an_old_server_leaves_mode_in_place_alone)
{
    server.mode = "InPlace";
    server.old = true;
    start(1);
    updater_pass(server.updater);
    forget_calls();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
}
END_TEST

START_TEST(an_old_server_is_asked_again_after_a_while)
{
    server.mode = "InPlaceOrRecreate";
    server.old = true;
    start(1);
    updater_pass(server.updater);
    forget_calls();
    vpa_loop_pump(server.loop, 11 * VPA_MINUTE);
    server.old = false; /* upgraded */
    updater_pass(server.updater);
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
    ck_assert_uint_eq(server.call_count, 5);
}
END_TEST

/* ---- boosts ---- */

#define BOOST "\"startupBoost\":{\"cpu\":{\"durationSeconds\":60}},"
#define MARKER(cpu)                                                                                \
    "\"annotations\":{\"vpaCpuStartupBoost/c\":\"{\\\"requests\\\":{\\\"cpu\\\":\\\"" cpu          \
    "\\\"}}\"},"

START_TEST(a_boost_that_is_over_is_taken_back_in_mode_off)
{
    server.mode = "Off";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
    ck_assert_uint_eq(server.annotated, 5);
}
END_TEST

START_TEST(a_failed_unboost_never_evicts)
{
    server.mode = "InPlaceOrRecreate";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.refuse = 1;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 10); /* all are tried, the budget comes back */
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert(vpa_str_ends_with(server.calls[i], "/resize"));
    ck_assert_double_eq(metric("vpa_updater_failed_in_place_update_attempts_total",
                               (const char *const[]){"3", "UnboostError", "v00", "n", NULL}),
                        10);
}
END_TEST

START_TEST(a_half_finished_unboost_is_finished)
{
    server.mode = "Off";
    server.boost = BOOST;
    server.pod = MARKER("1"); /* what the pod has already: only the marker is left */
    start(0);
    updater_pass(server.updater);
    updater_flush(server.updater, VPA_MINUTE);
    ck_assert_uint_eq(server.call_count, 0);
    ck_assert_uint_eq(server.annotated, 10);
    ck_assert_uint_eq(server.events, 0);
    ck_assert_double_eq(metric("vpa_updater_in_place_updated_pods_total",
                               (const char *const[]){"3", "v00", "n", NULL}),
                        0);
}
END_TEST

/* ---- what stops a pass ---- */

START_TEST(panic_stops_everything_until_it_goes)
{
    server.panic = true;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
    vpa_memory_stream_event(
        server.config_maps, "DELETED",
        "{\"metadata\":{\"name\":\"vpa-panic\",\"namespace\":\"kube-system\"}}");
    while (vpa_loop_poll(server.loop))
        ;
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}
END_TEST

START_TEST(panic_stops_a_pass_under_way)
{
    server.panic_at = 2;
    start(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
}
END_TEST

static void on_panic_timer(void *ctx)
{
    (void)ctx;
    show_panic();
}

/* Rates that leave a pass waiting: for the limiter, and with its requests in the client's queue. */
static const struct {
    double evictions;
    double qps;
    size_t calls_max; /* before the panic, and within the time it has to take effect */
} slow_rates[] = {{0.1, -1, 1}, {-1, 1, 4}};

START_TEST(panic_stops_what_waits)
{
    struct vpa_timer *timer = vpa_timer_new(server.loop, on_panic_timer, NULL);
    int64_t begun;

    server.vpas = 2;
    server.config.eviction_rate_limit = slow_rates[_i].evictions;
    server.config.common.kube_api_qps = slow_rates[_i].qps;
    server.config.common.kube_api_burst = 1;
    start(0);
    vpa_loop_pump(server.loop, 20 * VPA_SECOND);
    begun = vpa_loop_monotonic(server.loop);
    vpa_timer_start(timer, 1500 * VPA_MILLISECOND);
    updater_pass(server.updater);
    ck_assert_int_le(vpa_loop_monotonic(server.loop) - begun, 5 * VPA_SECOND);
    vpa_loop_pump(server.loop, VPA_MINUTE);
    ck_assert_uint_ge(server.call_count, 1);
    ck_assert_uint_le(server.call_count, slow_rates[_i].calls_max);
    vpa_timer_free(timer);
}
END_TEST

static bool leads(void *ctx)
{
    (void)ctx;
    return server.call_count < 3;
}

START_TEST(lost_leadership_stops_a_pass)
{
    start(1);
    updater_env(server.updater)->may_act = leads;
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 3);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 3);
}
END_TEST

START_TEST(shutdown_waits_for_what_is_under_way)
{
    server.stop_at = 2;
    start(2);
    updater_pass(server.updater);
    ck_assert(vpa_loop_is_stopping(server.loop));
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_double_eq(metric("vpa_updater_evicted_pods_total",
                               (const char *const[]){"3", "Recreate", "v00", "n", NULL}),
                        2);
}
END_TEST

START_TEST(shutdown_does_not_wait_for_ever)
{
    int64_t begun;

    server.stop_at = 2;
    server.delay = VPA_MINUTE;
    start(2);
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_int_le(vpa_loop_monotonic(server.loop) - begun, 5 * VPA_SECOND);
}
END_TEST

static const struct {
    const char *renewed;
    size_t evictions;
} leases[] = {
    {"2026-03-01T11:59:30.000000Z", 5},
    {"2026-03-01T11:58:59.000000Z", 0},
    {NULL, 0},
};

START_TEST(the_webhook_must_be_alive)
{
    server.config.use_admission_status = true;
    server.renewed = leases[_i].renewed;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, leases[_i].evictions);
    ck_assert_uint_ge(server.lease_reads, 1);
}
END_TEST

/* The object that the pass works with came while it waited for the lease, and is replaced while it waits for answers. */
START_TEST(a_vpa_may_change_at_any_time)
{
    server.config.use_admission_status = true;
    server.renewed = "2026-03-01T12:00:00.000000Z";
    server.touch = true;
    start(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}
END_TEST

START_TEST(a_pass_that_finds_nothing_reads_only_the_lease)
{
    server.config.use_admission_status = true;
    server.renewed = "2026-03-01T12:00:00.000000Z";
    server.request = "2";
    start(0);
    size_t streams = server.streams;

    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count + server.events + server.annotated, 0);
    ck_assert_uint_eq(server.lease_reads, 1);
    ck_assert_uint_eq(server.streams, streams);
}
END_TEST

START_TEST(the_limiter_ends_the_pass)
{
    server.vpas = 2;
    server.config.eviction_rate_limit = 0.01;
    start(0);
    updater_env_configure(updater_env(server.updater), &server.config);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(
        metric("vpa_updater_failed_eviction_attempts_total",
               (const char *const[]){"3", "Recreate", "EvictionRateLimiterWaitFailed", "v00", "n",
                                     NULL}),
        1);
}
END_TEST

START_TEST(the_limiter_spaces_requests)
{
    int64_t begun;

    server.config.eviction_rate_limit = 10;
    server.delay = 0;
    start(0);
    updater_env_configure(updater_env(server.updater), &server.config);
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_int_eq(vpa_loop_monotonic(server.loop) - begun, 400 * VPA_MILLISECOND);
}
END_TEST

/* ---- the ticker ---- */

START_TEST(passes_come_at_the_interval)
{
    start(0);
    updater_run(server.updater);
    vpa_loop_pump(server.loop, 59 * VPA_SECOND);
    ck_assert_uint_eq(server.call_count, 0);
    vpa_loop_pump(server.loop, 2 * VPA_SECOND);
    ck_assert_uint_eq(server.call_count, 5);
    vpa_loop_pump(server.loop, 2 * VPA_MINUTE);
    ck_assert_uint_eq(server.call_count, 15);
}
END_TEST

START_TEST(ticks_are_not_queued)
{
    server.delay = 150 * VPA_SECOND; /* a pass takes two and a half intervals */
    start(0);
    updater_run(server.updater);
    /* Passes at 60 s (to 210 s), at once (to 360 s), at once (to 510 s). */
    vpa_loop_pump(server.loop, 509 * VPA_SECOND);
    ck_assert_uint_eq(server.call_count, 15);
}
END_TEST

START_TEST(without_an_interval_there_is_no_pass)
{
    server.config.interval = 0;
    start(0);
    updater_run(server.updater);
    vpa_loop_pump(server.loop, VPA_HOUR);
    ck_assert_uint_eq(server.call_count, 0);
}
END_TEST

START_TEST(an_unusable_rate_is_refused)
{
    struct vpa_error err;

    server.config.common.kube_api_qps = 5;
    server.config.common.kube_api_burst = 0;
    ck_assert_ptr_null(updater_new(&(struct updater_options){.loop = server.loop,
                                                             .transport = server.transport,
                                                             .random = &server.random,
                                                             .config = &server.config},
                                   &err));
    ck_assert_int_eq(err.code, VPA_INVALID);
    server.updater = NULL;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("updater_pass");
    TCase *tc = tcase_create("pass");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, requests_overlap_within_the_budget);
    tcase_add_test(tc, one_at_a_time_when_asked);
    tcase_add_test(tc, refusals_give_the_budget_back);
    tcase_add_loop_test(tc, the_order_within_a_vpa_is_sequential, 0, VPA_COUNT(orders));
    tcase_add_test(tc, resizes_take_two_requests);
    tcase_add_test(tc, a_refused_resize_becomes_an_eviction);
    tcase_add_test(tc, an_old_server_is_asked_only_once);
    tcase_add_test(tc, an_old_server_leaves_mode_in_place_alone);
    tcase_add_test(tc, an_old_server_is_asked_again_after_a_while);
    tcase_add_test(tc, a_boost_that_is_over_is_taken_back_in_mode_off);
    tcase_add_test(tc, a_failed_unboost_never_evicts);
    tcase_add_test(tc, a_half_finished_unboost_is_finished);
    tcase_add_test(tc, panic_stops_everything_until_it_goes);
    tcase_add_test(tc, panic_stops_a_pass_under_way);
    tcase_add_loop_test(tc, panic_stops_what_waits, 0, VPA_COUNT(slow_rates));
    tcase_add_test(tc, a_vpa_may_change_at_any_time);
    tcase_add_test(tc, lost_leadership_stops_a_pass);
    tcase_add_test(tc, shutdown_waits_for_what_is_under_way);
    tcase_add_test(tc, shutdown_does_not_wait_for_ever);
    tcase_add_loop_test(tc, the_webhook_must_be_alive, 0, VPA_COUNT(leases));
    tcase_add_test(tc, a_pass_that_finds_nothing_reads_only_the_lease);
    tcase_add_test(tc, the_limiter_ends_the_pass);
    tcase_add_test(tc, the_limiter_spaces_requests);
    tcase_add_test(tc, passes_come_at_the_interval);
    tcase_add_test(tc, ticks_are_not_queued);
    tcase_add_test(tc, without_an_interval_there_is_no_pass);
    tcase_add_test(tc, an_unusable_rate_is_refused);
    suite_add_tcase(suite, tc);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
