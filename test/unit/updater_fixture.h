/*
 * The updater against an API server in memory that answers late: one ReplicaSet per VPA, all pods
 * alike. Set the fields of `server` after setup(), then start().
 */
#ifndef TEST_UPDATER_FIXTURE_H
#define TEST_UPDATER_FIXTURE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "../../updater/updater.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/net/memory_transport.h"
#include "vpa/base/random.h"

#define TEXT_MAX ((size_t)4 << 20)
#define CALLS_MAX 512
#define START_SECONDS 1772366400 /* 2026-03-01T12:00:00Z */

struct server {
    /* objects */
    int vpas, pods_per_vpa;
    const char *mode;      /* of the VPAs */
    const char *pod;       /* more members of each pod's metadata */
    const char *boost;     /* more members of each VPA's spec */
    const char *request;   /* cpu of each pod */
    const char *container; /* more members of each pod's container */
    const char *policy;    /* more members of each VPA's updatePolicy */
    const char *first_pod; /* more members of the first pod's metadata, NULL: as all */
    int replicas;          /* of each ReplicaSet; 0: as there are pods */
    const char *limits;    /* items of the list of LimitRanges */
    bool panic;
    bool old;            /* no pods/resize */
    const char *renewed; /* of the status lease, NULL: there is none */
    /* answers */
    vpa_duration delay;
    vpa_duration page_delay;  /* of the second page of pods; 0: all in one page */
    vpa_duration panic_delay; /* of the list of the panic ConfigMap */
    int refuse;               /* every n-th eviction or resize is refused, 0: none */
    int refuse_from;
    bool stale;   /* evictions and resizes find another pod than was decided on */
    int stop_at;  /* the loop is stopped at that write, 0: never */
    int panic_at; /* the panic ConfigMap appears at that write */
    /* what happened */
    char *calls[CALLS_MAX];
    char *last_body; /* of the last eviction or resize */
    size_t call_count;
    size_t events, annotated, lease_reads, streams, most_open;
    struct vpa_memory_stream *config_maps, *vpa_objects;
    bool touch; /* the VPA is written anew at each read of the lease and each change */
    /* the updater */
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_transport *transport;
    struct vpa_random random;
    struct vpa_kube_client *client;
    struct updater_config config;
    struct updater *updater;
};

static struct server server;

/* A real server's answer to a precondition that does not hold. */
#define CONFLICT                                                                                   \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Conflict\",\"message\":\"the UID "   \
    "in "                                                                                          \
    "the precondition does not "                                                                   \
    "match\",\"details\":{\"name\":\"p\",\"kind\":\"Pod\"},\"code\":409}"

/* ---- objects ---- */

static inline void list_vpas(struct vpa_buf *buf)
{
    for (int v = 0; v < server.vpas; v++)
        vpa_buf_printf(
            buf,
            "%s{\"metadata\":{\"name\":\"v%02d\",\"namespace\":\"n\",\"uid\":\"v%d\","
            "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{%s\"targetRef\":{"
            "\"apiVersion\":"
            "\"apps/"
            "v1\",\"kind\":\"ReplicaSet\",\"name\":\"rs%02d\"},\"updatePolicy\":{\"updateMode\":"
            "\"%s\"%s}},\"status\":{\"recommendation\":{\"containerRecommendations\":[{"
            "\"containerName\":"
            "\"c\",\"target\":{\"cpu\":\"2\"},\"lowerBound\":{\"cpu\":\"1500m\"}}]}}}",
            v ? "," : "", v, v, server.boost, v, server.mode, server.policy);
}

static inline void list_replica_sets(struct vpa_buf *buf)
{
    for (int v = 0; v < server.vpas; v++)
        vpa_buf_printf(buf,
                       "%s{\"metadata\":{\"name\":\"rs%02d\",\"namespace\":\"n\"},\"spec\":{"
                       "\"replicas\":%d,\"selector\":{\"matchLabels\":{\"app\":\"a%d\"}}}}",
                       v ? "," : "", v, server.replicas ? server.replicas : server.pods_per_vpa, v);
}

static inline void list_pods(struct vpa_buf *buf, int from, int to)
{
    for (int v = 0; v < server.vpas; v++) {
        for (int p = from; p < to; p++)
            vpa_buf_printf(
                buf,
                "%s{\"metadata\":{\"name\":\"p%02d-%02d\",\"namespace\":\"n\",\"uid\":\"%d-%d\",%s"
                "\"labels\":{\"app\":\"a%d\"},\"ownerReferences\":[{\"apiVersion\":\"apps/"
                "v1\",\"kind\":"
                "\"ReplicaSet\",\"name\":\"rs%02d\",\"controller\":true}]},\"spec\":{"
                "\"containers\":[{"
                "\"name\":\"c\",%s\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]},\"status\":{"
                "\"phase\":"
                "\"Running\",\"startTime\":\"2026-03-01T11:00:00Z\",\"conditions\":[{\"type\":"
                "\"Ready\","
                "\"status\":\"True\",\"lastTransitionTime\":\"2026-03-01T11:00:00Z\"}]}}",
                v || p > from ? "," : "", v, p, v, p,
                p == 0 && server.first_pod ? server.first_pod : server.pod, v, v, server.container,
                server.request);
    }
}

static inline void answer_list(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    bool pods = vpa_str_ends_with(q->path, "/pods");
    bool second = vpa_memory_query(q, "continue") != NULL;
    int half = pods && server.page_delay ? server.pods_per_vpa / 2 : server.pods_per_vpa;
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, TEXT_MAX);
    vpa_buf_printf(&buf, "{\"metadata\":{\"resourceVersion\":\"1\"%s},\"items\":[",
                   half < server.pods_per_vpa && !second ? ",\"continue\":\"2\"" : "");
    if (vpa_str_ends_with(q->path, "/verticalpodautoscalers"))
        list_vpas(&buf);
    else if (vpa_str_ends_with(q->path, "/replicasets"))
        list_replica_sets(&buf);
    else if (pods)
        list_pods(&buf, second ? half : 0, second ? server.pods_per_vpa : half);
    else if (vpa_str_ends_with(q->path, "/limitranges"))
        vpa_buf_puts(&buf, server.limits);
    else if (vpa_str_ends_with(q->path, "/configmaps") && server.panic)
        vpa_buf_puts(&buf, "{\"metadata\":{\"name\":\"vpa-panic\",\"namespace\":\"kube-system\"}}");
    vpa_buf_puts(&buf, "]}");
    vpa_memory_reply_json(reply, 200, vpa_buf_text(&buf));
    if (second)
        vpa_memory_reply_delay(reply, server.page_delay);
    if (vpa_str_ends_with(q->path, "/configmaps"))
        vpa_memory_reply_delay(reply, server.panic_delay);
}

static inline void touch_vpa(void)
{
    vpa_auto_buf text = {0};

    if (!server.touch)
        return;
    vpa_buf_init(&text, TEXT_MAX);
    list_vpas(&text);
    vpa_memory_stream_event(server.vpa_objects, "MODIFIED", vpa_buf_text(&text));
}

static inline void answer_get(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
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
        answer_list(q, reply);
    }
}

static inline void show_panic(void)
{
    vpa_memory_stream_event(
        server.config_maps, "ADDED",
        "{\"metadata\":{\"name\":\"vpa-panic\",\"namespace\":\"kube-system\",\"resourceVersion\":"
        "\"2\"}}");
}

static inline void answer_change(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    bool resize = vpa_str_ends_with(q->path, "/resize");
    size_t open = vpa_memory_transport_open(server.transport) - server.streams;
    int n;

    ck_assert(server.call_count < CALLS_MAX);
    server.calls[server.call_count++] = vpa_xstrdup(q->path + strlen("/api/v1/namespaces/n/pods/"));
    n = (int)server.call_count;
    free(server.last_body);
    server.last_body = vpa_xstrdup(q->body);
    if (open > server.most_open)
        server.most_open = open;
    touch_vpa();
    if (n == server.stop_at)
        vpa_loop_stop(server.loop);
    if (n == server.panic_at)
        show_panic();
    if (resize && server.old)
        vpa_memory_reply_status(reply, 404, NULL, "the server could not find the resource");
    else if (server.stale && resize)
        vpa_memory_reply_json(reply, 422,
                              "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\","
                              "\"message\":\"the server rejected our request due to an error in "
                              "our request\",\"details\":{},\"code\":422}");
    else if (server.stale)
        vpa_memory_reply_json(reply, 409, CONFLICT);
    else if (server.refuse && n >= server.refuse_from && n % server.refuse == 0)
        vpa_memory_reply_status(reply, 429, NULL, "disruption budget");
    else
        vpa_memory_reply_json(reply, 201, "{}");
    vpa_memory_reply_delay(reply, server.delay);
}

static inline void serve(void *ctx, const struct vpa_memory_request *q,
                         struct vpa_memory_reply *reply)
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

static inline void setup(void)
{
    const struct vpa_flags flags = {
        .rows = updater_flag_rows, .count = updater_flag_count, .values = &server.config};

    server = (struct server){.vpas = 1,
                             .pods_per_vpa = 10,
                             .mode = "Recreate",
                             .pod = "",
                             .boost = "",
                             .request = "1",
                             .container = "",
                             .policy = "",
                             .limits = "",
                             .delay = 10 * VPA_MILLISECOND};
    vpa_flags_preset(&flags);
    server.config.use_admission_status = false;
    server.config.common.kube_api_qps = -1;
    server.clock = vpa_clock_new_manual(vpa_time_from_unix(START_SECONDS, 0));
    server.loop = vpa_loop_new(server.clock);
    server.transport = vpa_memory_transport_new(server.loop, serve, NULL);
}

static inline void make_client(void)
{
    struct vpa_kube_client_options options = {.loop = server.loop,
                                              .transport = server.transport,
                                              .random = &server.random,
                                              .user_agent = "test"};
    struct vpa_error err;
    int burst;

    ck_assert_int_eq(vpa_common_flags_rate(&server.config.common, &options.qps, &burst, &err), 0);
    options.burst = burst;
    server.client = vpa_kube_client_new(&options, &err);
    ck_assert_ptr_nonnull(server.client);
}

/* Caches begin to fill. */
static inline void begin(size_t requests_max)
{
    make_client();
    server.updater = updater_new(&(struct updater_options){.loop = server.loop,
                                                           .client = server.client,
                                                           .config = &server.config,
                                                           .requests_max = requests_max});
    updater_start(server.updater);
}

static inline void start(size_t requests_max)
{
    struct vpa_error err;

    begin(requests_max);
    ck_assert_int_eq(updater_wait(server.updater, VPA_MINUTE, &err), 0);
    while (vpa_loop_poll(server.loop))
        ;
}

static inline void forget_calls(void)
{
    for (size_t i = 0; i < server.call_count; i++)
        free(server.calls[i]);
    server.call_count = 0;
    free(server.last_body);
    server.last_body = NULL;
}

/* All calls of the test so far, on the heap. */
static inline char *joined_calls(void)
{
    struct vpa_buf buf;

    vpa_buf_init(&buf, TEXT_MAX);
    for (size_t i = 0; i < server.call_count; i++)
        vpa_buf_printf(&buf, "%s ", server.calls[i]);
    vpa_buf_puts(&buf, "");
    return vpa_buf_take(&buf);
}

static inline void teardown(void)
{
    struct vpa_metrics metrics = {.table = updater_metrics, .count = updater_metric_count};

    updater_free(server.updater);
    vpa_kube_client_free(server.client);
    vpa_transport_free(server.transport);
    vpa_loop_free(server.loop);
    vpa_clock_free(server.clock);
    vpa_metrics_release(&metrics);
    forget_calls();
}

static inline double metric(const char *name, const char *const *labels)
{
    for (size_t i = 0; i < updater_metric_count; i++) {
        if (vpa_str_eq(updater_metrics[i]->name, name))
            return vpa_metric_value_of(updater_metrics[i], labels);
    }
    ck_abort_msg("no metric %s", name);
}

#endif
