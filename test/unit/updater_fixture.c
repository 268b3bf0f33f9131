#include "updater_fixture.h"

struct server server;

/* ---- objects ---- */

/* Heap. */
static char *ns_of(int v)
{
    return server.spread ? vpa_xprintf("n%02d", v) : vpa_xstrdup("n");
}

static char *target_of(int v)
{
    if (server.selects)
        return vpa_xprintf("\"selector\":{\"matchLabels\":{\"app\":\"a%d\"}}", v);
    return vpa_xprintf("\"targetRef\":{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"rs%02d\"}",
                       server.owner_version, server.owner_kind, v);
}

void list_vpas(struct vpa_buf *buf)
{
    for (int v = 0; v < server.vpas; v++) {
        vpa_auto_free char *target = target_of(v), *ns = ns_of(v);

        vpa_buf_printf(
            buf,
            "%s{\"metadata\":{\"name\":\"v%02d\",\"namespace\":\"%s\",\"uid\":\"v%d\","
            "\"generation\":%d,"
            "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{%s%s,"
            "\"updatePolicy\":{\"updateMode\":"
            "\"%s\"%s}},\"status\":{\"recommendation\":{\"containerRecommendations\":[{"
            "\"containerName\":"
            "\"c\",\"target\":{\"cpu\":\"2\"},\"lowerBound\":{\"cpu\":\"1500m\"}}]}%s%s}}",
            v ? "," : "", v, ns, v, server.generation_of_vpas, server.boost, target, server.mode,
            server.policy, server.conditions ? ",\"conditions\":" : "",
            server.conditions ? server.conditions : "");
    }
}

static void list_replica_sets(struct vpa_buf *buf)
{
    for (int v = 0; v < server.vpas; v++) {
        vpa_auto_free char *ns = ns_of(v);

        vpa_buf_printf(buf,
                       "%s{\"metadata\":{\"name\":\"rs%02d\",\"namespace\":\"%s\"},\"spec\":{"
                       "\"replicas\":%d,\"selector\":{\"matchLabels\":{\"app\":\"a%d\"}}}}",
                       v ? "," : "", v, ns, server.replicas ? server.replicas : server.pods_per_vpa,
                       v);
    }
}

int *generation_of(int v, int p)
{
    ck_assert(v * server.pods_per_vpa + p < CALLS_MAX);
    return &server.generation[v * server.pods_per_vpa + p];
}

void put_pod(struct vpa_buf *buf, int v, int p)
{
    int generation = *generation_of(v, p);
    vpa_auto_free char *uid =
        generation ? vpa_xprintf("%d-%d-%d", v, p, generation) : vpa_xprintf("%d-%d", v, p);
    vpa_auto_free char *ns = ns_of(v);

    vpa_buf_printf(
        buf,
        "{\"metadata\":{\"name\":\"p%02d-%02d\",\"namespace\":\"%s\",\"uid\":\"%s\",%s"
        "\"creationTimestamp\":\"2026-03-01T11:%02d:00Z\",\"labels\":{\"app\":\"a%d\"%s},"
        "\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"rs%02d\","
        "\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"c\",%s\"resources\":{"
        "\"requests\":{\"cpu\":\"%s\"}}}]},\"status\":{\"phase\":\"Running\",\"startTime\":"
        "\"2026-03-01T11:00:00Z\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
        "\"lastTransitionTime\":\"2026-03-01T11:00:00Z\"}%s]%s}}",
        v, p, ns, uid, p == 0 && server.first_pod ? server.first_pod : server.pod, generation, v,
        server.labels, server.owner_version, server.owner_kind, v, server.container,
        generation && server.reborn ? server.reborn : server.request, server.status,
        generation && server.reborn_status ? server.reborn_status : "");
}

static void list_pods(struct vpa_buf *buf, int from, int to)
{
    for (int v = 0; v < server.vpas; v++) {
        for (int p = from; p < to; p++) {
            if (v || p > from)
                vpa_buf_putc(buf, ',');
            put_pod(buf, v, p);
        }
    }
}

/* Their kind has no scale. */
static void list_strangers(struct vpa_buf *buf)
{
    for (int i = 0; i < server.strangers; i++)
        vpa_buf_printf(
            buf,
            ",{\"metadata\":{\"name\":\"s%04d\",\"namespace\":\"%s\",\"uid\":\"s%d\","
            "\"creationTimestamp\":\"2026-03-01T11:00:00Z\",\"ownerReferences\":[{"
            "\"apiVersion\":\"x.io/v1\",\"kind\":\"Flow\",\"name\":\"f%d\",\"controller\":true}]},"
            "\"spec\":{\"containers\":[{\"name\":\"c\"}]},\"status\":{\"phase\":\"Running\"}}",
            i, server.stranger_ns, i, i);
}

void replace_pod(const char *name)
{
    vpa_auto_buf text = {0};
    int v = atoi(name + 1), p = atoi(name + 4); /* pVV-PP */

    ++*generation_of(v, p);
    vpa_buf_init(&text, TEXT_MAX);
    put_pod(&text, v, p);
    vpa_memory_stream_event(server.pod_objects, server.lost ? "DELETED" : "MODIFIED",
                            vpa_buf_text(&text));
}

static void answer_list(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
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
    else if (pods) {
        list_pods(&buf, second ? half : 0, second ? server.pods_per_vpa : half);
        if (!second)
            list_strangers(&buf);
    } else if (vpa_str_ends_with(q->path, "/limitranges"))
        vpa_buf_puts(&buf, server.limits);
    else if (vpa_str_ends_with(q->path, "/configmaps") && server.panic)
        vpa_buf_puts(&buf, "{\"metadata\":{\"name\":\"vpa-panic\",\"namespace\":\"kube-system\"}}");
    vpa_buf_puts(&buf, "]}");
    vpa_memory_reply_json(reply, 200, vpa_buf_text(&buf));
    if (second)
        vpa_memory_reply_delay(reply, server.page_delay);
    if (vpa_str_ends_with(q->path, "/configmaps"))
        vpa_memory_reply_delay(reply, server.panic_delay);
    if (server.slow && vpa_str_ends_with(q->path, server.slow))
        vpa_memory_reply_delay(reply, VPA_HOUR);
}

void touch_vpa(void)
{
    vpa_auto_buf text = {0};

    if (!server.touch)
        return;
    vpa_buf_init(&text, TEXT_MAX);
    list_vpas(&text);
    vpa_memory_stream_event(server.vpa_objects, "MODIFIED", vpa_buf_text(&text));
}

/* The status of the only VPA: one condition is added, replaced or removed. */
static void answer_status(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    const char *value = strstr(q->body, "{\"type\"");
    const char *end = value ? strchr(value, '}') : NULL;
    vpa_auto_buf text = {0};

    if (server.status_denied) {
        vpa_memory_reply_status(reply, 403, "Forbidden", "no");
        return;
    }
    if (server.status_code) {
        vpa_memory_reply_status(reply, server.status_code, NULL, "not now");
        return;
    }
    server.status_patches++;
    free(server.conditions);
    server.conditions =
        value ? vpa_xprintf("[%.*s]", (int)(end + 1 - value), value) : vpa_xstrdup("[]");
    vpa_buf_init(&text, TEXT_MAX);
    list_vpas(&text);
    vpa_memory_stream_event(server.vpa_objects, "MODIFIED", vpa_buf_text(&text));
    vpa_memory_reply_json(reply, 200, "{}");
}

/* The first page, always of somebody else's pods: it is not the end of the list. */
static const char unscheduled_others[] =
    "{\"metadata\":{\"continue\":\"next\",\"resourceVersion\":\"1\"},\"items\":[{\"metadata\":{"
    "\"name\":\"batch\",\"namespace\":\"n\",\"uid\":\"batch\",\"creationTimestamp\":"
    "\"2026-03-01T12:00:00Z\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]},\"status\":{\"phase\":"
    "\"Pending\"}}]}";

static void answer_get(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    const char *fields = vpa_memory_query(q, "fieldSelector");

    if (fields && vpa_str_starts_with(fields, "spec.nodeName=,")) {
        vpa_auto_free char *list = vpa_xprintf("{\"metadata\":{},\"items\":[%s]}",
                                               server.unscheduled ? server.unscheduled : "");

        if (!vpa_memory_query(q, "continue") && !server.unscheduled_code) {
            vpa_memory_reply_json(reply, 200, unscheduled_others);
            return;
        }
        server.unscheduled_lists++;
        if (server.unscheduled_code)
            vpa_memory_reply_status(reply, server.unscheduled_code, NULL, "not now");
        else
            vpa_memory_reply_json(reply, 200, list);
        return;
    }
    if (vpa_memory_query(q, "watch")) {
        struct vpa_memory_stream *stream;

        if (server.frozen && vpa_str_ends_with(q->path, server.frozen)) {
            vpa_memory_reply_delay(reply, VPA_HOUR);
            return;
        }
        stream = vpa_memory_reply_stream(reply, 200, NULL, NULL);
        server.streams++;
        if (vpa_str_ends_with(q->path, "/configmaps"))
            server.config_maps = stream;
        if (vpa_str_ends_with(q->path, "/verticalpodautoscalers"))
            server.vpa_objects = stream;
        if (vpa_str_ends_with(q->path, "/pods"))
            server.pod_objects = stream;
    } else if (strstr(q->path, "/leases/")) {
        server.lease_reads++;
        touch_vpa();
        if (server.slow && vpa_str_ends_with(q->path, server.slow))
            vpa_memory_reply_delay(reply, VPA_HOUR);
        if (server.lease_code) {
            vpa_memory_reply_status(reply, server.lease_code, NULL, "not now");
        } else if (server.renewed) {
            vpa_auto_free char *lease =
                vpa_xprintf("{\"metadata\":{\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},"
                            "\"spec\":{\"renewTime\":\"%s\"%s}}",
                            server.renewed, vpa_or_empty(server.acquired));

            vpa_memory_reply_json(reply, 200, lease);
        }
    } else if (vpa_str_eq(q->path, "/api/v1")) {
        vpa_memory_reply_json(
            reply, 200,
            server.old
                ? "{\"resources\":[{\"name\":\"pods\",\"kind\":\"Pod\",\"namespaced\":true}]}"
                : "{\"resources\":[{\"name\":\"pods\",\"kind\":\"Pod\",\"namespaced\":true},"
                  "{\"name\":\"pods/resize\",\"kind\":\"Pod\",\"namespaced\":true}]}");
    } else if (strstr(q->path, "/flows/")) {
        server.flow_reads++;
        vpa_memory_reply_status(reply, 404, NULL, "flows.x.io not found");
        vpa_memory_reply_delay(reply, 20 * VPA_MILLISECOND);
    } else if (vpa_str_ends_with(q->path, "/scale")) {
        vpa_auto_free char *scale =
            vpa_xprintf("{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{},"
                        "\"spec\":{\"replicas\":%d},\"status\":{\"selector\":\"app=a0\"}}",
                        server.replicas);

        server.scale_reads++;
        vpa_memory_reply_json(reply, server.scale_fails ? 500 : 200, scale);
    } else if (vpa_str_eq(q->path, "/apis/x.io")) {
        server.discoveries++;
        vpa_memory_reply_json(reply, 200,
                              "{\"name\":\"x.io\",\"versions\":[{\"groupVersion\":\"x.io/v1\","
                              "\"version\":\"v1\"}],\"preferredVersion\":{\"groupVersion\":"
                              "\"x.io/v1\",\"version\":\"v1\"}}");
    } else if (vpa_str_eq(q->path, "/apis/x.io/v1")) {
        vpa_memory_reply_json(
            reply, 200,
            "{\"resources\":[{\"name\":\"flows\",\"kind\":\"Flow\",\"namespaced\":true},"
            "{\"name\":\"clones\",\"kind\":\"Clone\",\"namespaced\":true},"
            "{\"name\":\"clones/scale\",\"kind\":\"Scale\",\"namespaced\":true}]}");
    } else if (strstr(q->path, "/pods/")) {
        vpa_auto_buf text = {0};

        vpa_buf_init(&text, TEXT_MAX);
        put_pod(&text, 0, 0);
        vpa_memory_reply_json(reply, 200, vpa_buf_text(&text));
    } else {
        answer_list(q, reply);
    }
}

void show_panic(void)
{
    vpa_memory_stream_event(
        server.config_maps, "ADDED",
        "{\"metadata\":{\"name\":\"vpa-panic\",\"namespace\":\"kube-system\",\"resourceVersion\":"
        "\"2\"}}");
}

void refuse(struct vpa_memory_reply *reply)
{
    vpa_memory_reply_status(reply, 429, NULL, "disruption budget");
    if (server.retry_after)
        vpa_memory_reply_retry_after(reply, server.retry_after);
}

static void answer_change(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    bool resize = vpa_str_ends_with(q->path, "/resize");
    size_t open = vpa_memory_transport_open(server.transport) - server.streams;
    int n;

    ck_assert(server.call_count < CALLS_MAX);
    server.calls[server.call_count++] = vpa_xstrdup(strstr(q->path, "/pods/") + strlen("/pods/"));
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
    else if (server.resize_refusal && resize)
        vpa_memory_reply_json(reply, 403, server.resize_refusal);
    else if (server.stale && resize)
        vpa_memory_reply_json(reply, 422,
                              "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\","
                              "\"message\":\"the server rejected our request due to an error in "
                              "our request\",\"details\":{},\"code\":422}");
    else if (server.stale)
        vpa_memory_reply_json(reply, 409, CONFLICT);
    else if (server.refuse && n >= server.refuse_from && n % server.refuse == 0)
        refuse(reply);
    else {
        if (server.unanswered)
            vpa_memory_reply_fail(reply, VPA_TRANSPORT_RESET);
        else
            vpa_memory_reply_json(reply, 201, "{}");
        if (!resize && !server.stuck)
            replace_pod(server.calls[n - 1]);
    }
    vpa_memory_reply_delay(reply, server.delay);
}

static void answer_dry_run(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    vpa_auto_free char *pod = vpa_xprintf("{\"metadata\":{\"name\":\"dry\",\"namespace\":\"n\"},"
                                          "\"spec\":{\"containers\":[{\"name\":\"c\","
                                          "\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}",
                                          server.dry_cpu ? server.dry_cpu : server.request);

    server.dry_runs++;
    free(server.dry_body);
    server.dry_body = vpa_xstrdup(q->body);
    if (server.dry_refusal)
        vpa_memory_reply_status(reply, 403, "Forbidden", server.dry_refusal);
    else
        vpa_memory_reply_json(reply, 201, pod);
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
    if (vpa_memory_query(q, "dryRun")) {
        answer_dry_run(q, reply);
        return;
    }
    if (vpa_str_ends_with(q->path, "/selfsubjectaccessreviews")) {
        vpa_memory_reply_json(reply, 201,
                              server.no_right ? "{\"status\":{\"allowed\":false}}"
                                              : "{\"status\":{\"allowed\":true}}");
        return;
    }
    if (strstr(q->path, "/events")) {
        server.events++;
        vpa_buf_puts(&server.event_bodies, q->body);
    } else if (vpa_str_ends_with(q->path, "/status")) {
        free(server.last_annotation);
        server.last_annotation = vpa_xstrdup(q->body);
        answer_status(q, reply);
        return;
    } else {
        server.annotated++;
        free(server.last_annotation);
        server.last_annotation = vpa_xstrdup(q->body);
    }
    vpa_memory_reply_json(reply, 201, "{}");
}

/* ---- life ---- */

void setup(void)
{
    const struct vpa_flags flags = {
        .rows = updater_flag_rows, .count = updater_flag_count, .values = &server.config};

    server = (struct server){.vpas = 1,
                             .generation_of_vpas = 1,
                             .pods_per_vpa = 10,
                             .mode = "Recreate",
                             .status = "",
                             .pod = "",
                             .labels = "",
                             .boost = "",
                             .request = "1",
                             .container = "",
                             .policy = "",
                             .owner_version = "apps/v1",
                             .owner_kind = "ReplicaSet",
                             .limits = "",
                             .delay = 10 * VPA_MILLISECOND};
    vpa_flags_preset(&flags);
    vpa_buf_init(&server.event_bodies, TEXT_MAX);
    server.config.use_admission_status = false;
    server.config.common.kube_api_qps = -1;
    server.clock = vpa_clock_new_manual(vpa_time_from_unix(START_SECONDS, 0));
    server.loop = vpa_loop_new(server.clock);
    server.transport = vpa_memory_transport_new(server.loop, serve, NULL);
}

static void make_client(void)
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

void begin(size_t requests_max)
{
    make_client();
    if (!server.proving)
        server.config.prove_evictions = "off";
    server.updater = updater_new(&(struct updater_options){.loop = server.loop,
                                                           .client = server.client,
                                                           .config = &server.config,
                                                           .may_act = server.may_act,
                                                           .ctx = &server,
                                                           .requests_max = requests_max});
    updater_start(server.updater);
}

void start(size_t requests_max)
{
    struct vpa_error err;

    begin(requests_max);
    ck_assert_int_eq(updater_wait(server.updater, VPA_MINUTE, &err), 0);
    while (vpa_loop_poll(server.loop))
        ;
}

void forget_calls(void)
{
    for (size_t i = 0; i < server.call_count; i++)
        free(server.calls[i]);
    server.call_count = 0;
    free(server.last_body);
    server.last_body = NULL;
    free(server.last_annotation);
    server.last_annotation = NULL;
}

char *joined_calls(void)
{
    struct vpa_buf buf;

    vpa_buf_init(&buf, TEXT_MAX);
    for (size_t i = 0; i < server.call_count; i++)
        vpa_buf_printf(&buf, "%s ", server.calls[i]);
    vpa_buf_puts(&buf, "");
    return vpa_buf_take(&buf);
}

void teardown(void)
{
    struct vpa_metrics metrics = {.table = updater_metrics, .count = updater_metric_count};

    updater_free(server.updater);
    vpa_kube_client_free(server.client);
    vpa_transport_free(server.transport);
    vpa_loop_free(server.loop);
    vpa_clock_free(server.clock);
    vpa_metrics_release(&metrics);
    vpa_buf_release(&server.event_bodies);
    free(server.dry_body);
    free(server.conditions);
    forget_calls();
}

double metric(const char *name, const char *const *labels)
{
    for (size_t i = 0; i < updater_metric_count; i++) {
        if (vpa_str_eq(updater_metrics[i]->name, name))
            return vpa_metric_value_of(updater_metrics[i], labels);
    }
    ck_abort_msg("no metric %s", name);
}
