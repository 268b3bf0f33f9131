#include "updater_fixture.h"

#include "vpa/json/json_writer.h"

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

void show_object(const char *api_version, const char *kind, const char *object)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_error err;
    const char *text = vpa_arena_printf(&arena, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",%s",
                                        api_version, kind, object + 1);

    ck_assert_msg(vpa_json_parse(&arena, text, strlen(text), &root, &err) == 0, "%s: %s", err.text,
                  text);
    ck_assert_msg(sim_cluster_apply(server.sim, root), "%s is not served", kind);
}

void hide_object(const char *api_version, const char *kind, const char *ns, const char *name)
{
    ck_assert_msg(sim_cluster_delete(server.sim, api_version, kind, ns, name), "no %s %s/%s", kind,
                  ns, name);
}

void settle(void)
{
    while (vpa_loop_poll(server.loop))
        ;
}

/* As they are stored, or as the test wants the VPA to begin; NULL: none. Heap. */
static char *conditions_of(int v)
{
    vpa_auto_arena arena = {0};
    vpa_auto_buf buf = VPA_BUF(TEXT_MAX);
    struct vpa_json_writer w;
    vpa_auto_free char *ns = ns_of(v), *name = vpa_xprintf("v%02d", v);
    const struct vpa_json *vpa = sim_cluster_find(server.sim, &arena, VPA_API, VPA_KIND, ns, name);
    const struct vpa_json *conditions = vpa ? vpa_json_at(vpa, "status.conditions") : NULL;

    if (!conditions)
        return server.conditions ? vpa_xstrdup(server.conditions) : NULL;
    vpa_json_writer_init(&w, &buf);
    vpa_json_put_node(&w, conditions);
    return vpa_xstrdup(vpa_buf_text(&buf));
}

char *vpa_text(int v)
{
    vpa_auto_free char *target = target_of(v), *ns = ns_of(v), *conditions = conditions_of(v);

    return vpa_xprintf(
        "{\"metadata\":{\"name\":\"v%02d\",\"namespace\":\"%s\",\"uid\":\"%s%d\","
        "\"generation\":%d,\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{%s%s,"
        "\"updatePolicy\":{\"updateMode\":\"%s\"%s}},\"status\":{\"recommendation\":{"
        "\"containerRecommendations\":[{\"containerName\":\"c\",\"target\":{\"cpu\":\"2\"},"
        "\"lowerBound\":{\"cpu\":\"1500m\"}}]}%s%s}}",
        v, ns, server.uid_of_vpas, v, server.generation_of_vpas, server.boost, target, server.mode,
        server.policy, conditions ? ",\"conditions\":" : "", vpa_or_empty(conditions));
}

void show_vpas(void)
{
    for (int v = 0; v < server.vpas; v++) {
        vpa_auto_free char *text = vpa_text(v);

        show_object(VPA_API, VPA_KIND, text);
    }
}

void hide_vpa(const char *name)
{
    hide_object(VPA_API, VPA_KIND, "n", name);
}

/* A controller or a custom resource, which has a scale. */
static void show_owner(int v, const char *api_version, const char *kind, int replicas)
{
    vpa_auto_free char *ns = ns_of(v);
    vpa_auto_free char *text = vpa_xprintf(
        "{\"metadata\":{\"name\":\"rs%02d\",\"namespace\":\"%s\"},\"spec\":{\"replicas\":%d,"
        "\"selector\":{\"matchLabels\":{\"app\":\"a%d\"}}},\"status\":{\"selector\":\"app=a0\"}}",
        v, ns, replicas, v);

    show_object(api_version, kind, text);
}

int *generation_of(int v, int p)
{
    ck_assert(v * server.pods_per_vpa + p < CALLS_MAX);
    return &server.generation[v * server.pods_per_vpa + p];
}

char *pod_text(int v, int p)
{
    int generation = *generation_of(v, p);
    vpa_auto_free char *uid =
        generation ? vpa_xprintf("%d-%d-%d", v, p, generation) : vpa_xprintf("%d-%d", v, p);
    vpa_auto_free char *ns = ns_of(v);

    return vpa_xprintf(
        "{\"metadata\":{\"name\":\"p%02d-%02d\",\"namespace\":\"%s\",\"uid\":\"%s\",%s"
        "\"creationTimestamp\":\"2026-03-01T11:%02d:00Z\",\"labels\":{\"app\":\"a%d\"%s},"
        "\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"rs%02d\","
        "\"uid\":\"rs%02d\",\"controller\":true}]},\"spec\":{\"nodeName\":\"node\",%s"
        "\"restartPolicy\":\"Always\","
        "\"containers\":[{\"name\":\"c\",\"image\":\"app\",%s\"resources\":{\"requests\":{\"cpu\":"
        "\"%s\"}}}]},\"status\":{\"phase\":\"Running\","
        "\"startTime\":\"2026-03-01T11:00:00Z\",\"conditions\":[{\"type\":\"Ready\",\"status\":"
        "\"True\",\"lastTransitionTime\":\"2026-03-01T11:00:00Z\"}%s]%s}}",
        v, p, ns, uid, p == 0 && server.first_pod ? server.first_pod : server.pod, generation, v,
        server.labels, server.owner_version, server.owner_kind, v, v, server.spec, server.container,
        generation && server.reborn ? server.reborn : server.request, server.status,
        generation && server.reborn_status ? server.reborn_status : "");
}

void show_pod(int v, int p)
{
    vpa_auto_free char *text = pod_text(v, p);

    show_object("v1", "Pod", text);
}

void show_resized(int p, const char *ready_since, const char *more)
{
    show_resized_to("2", p, ready_since, more);
}

void show_resized_to(const char *cpu, int p, const char *ready_since, const char *more)
{
    static const char start[] = "\"startTime\"", ready[] = "\"conditions\":[{\"type\":\"Ready\"";
    const char *request = server.request;

    server.request = cpu;
    vpa_auto_free char *text = pod_text(0, p);
    server.request = request;
    const char *at = strstr(text, start), *from = strstr(at, ready), *to = strchr(from, '}');
    vpa_auto_free char *pod = vpa_xprintf(
        "%.*s%s%.*s%s,\"status\":\"%s\",\"lastTransitionTime\":\"%s\"%s", (int)(at - text), text,
        more, (int)(from - at), at, ready, ready_since ? "True" : "False",
        ready_since ? ready_since : "2026-03-01T12:00:30Z", to);

    show_object("v1", "Pod", pod);
    settle();
}

/* Their kind has no scale. */
static void show_strangers(void)
{
    for (int i = 0; i < server.strangers; i++) {
        vpa_auto_free char *group =
            server.own_groups ? vpa_xprintf("g%d.io", i) : vpa_xstrdup("x.io");
        vpa_auto_free char *text = vpa_xprintf(
            "{\"metadata\":{\"name\":\"s%04d\",\"namespace\":\"%s\",\"uid\":\"s%d\","
            "\"creationTimestamp\":\"2026-03-01T11:00:00Z\",\"ownerReferences\":[{"
            "\"apiVersion\":\"%s/v1\",\"kind\":\"Flow\",\"name\":\"f%d\",\"controller\":true}]},"
            "\"spec\":{\"nodeName\":\"node\",\"containers\":[{\"name\":\"c\"}]},"
            "\"status\":{\"phase\":\"Running\"}}",
            i, server.stranger_ns, i, group, i);

        show_object("v1", "Pod", text);
    }
}

void replace_pod(const char *name)
{
    int v = atoi(name + 1), p = atoi(name + 4); /* pVV-PP */
    vpa_auto_free char *ns = ns_of(v), *pod = vpa_xstrndup(name, strcspn(name, "/"));

    (void)sim_cluster_delete(server.sim, "v1", "Pod", ns, pod); /* as a kubelet does in the end */
    ++*generation_of(v, p);
    if (!server.lost)
        show_pod(v, p);
}

void touch_vpa(void)
{
    if (server.touch)
        show_vpas();
}

#define PANIC_MAP "{\"metadata\":{\"name\":\"vpa-panic\",\"namespace\":\"kube-system\"}}"

void show_panic(void)
{
    show_object("v1", "ConfigMap", PANIC_MAP);
}

void hide_panic(void)
{
    hide_object("v1", "ConfigMap", "kube-system", "vpa-panic");
    settle();
}

/* LimitRanges are given as the items of a list. */
static void show_limits(void)
{
    vpa_auto_arena arena = {0};
    const char *text = vpa_arena_printf(&arena, "[%s]", server.limits);
    const struct vpa_json *items;

    ck_assert_int_eq(vpa_json_parse(&arena, text, strlen(text), &items, NULL), 0);
    vpa_json_foreach (item, items) {
        vpa_auto_buf buf = VPA_BUF(TEXT_MAX);
        struct vpa_json_writer w;

        vpa_json_writer_init(&w, &buf);
        vpa_json_put_node(&w, item);
        show_object("v1", "LimitRange", vpa_buf_text(&buf));
    }
}

static void show_all(void)
{
    bool custom = vpa_str_eq(server.owner_version, "x.io/v1");

    show_object("v1", "Node",
                "{\"metadata\":{\"name\":\"node\"},\"status\":{\"capacity\":{\"cpu\":\"4000\"},"
                "\"allocatable\":{\"cpu\":\"4000\"}}}");
    show_vpas();
    for (int v = 0; v < server.vpas; v++) {
        show_owner(v, "apps/v1", "ReplicaSet",
                   server.replicas ? server.replicas : server.pods_per_vpa);
        if (custom)
            show_owner(v, server.owner_version, server.owner_kind, server.replicas);
        for (int p = 0; p < server.pods_per_vpa; p++)
            show_pod(v, p);
    }
    show_strangers();
    show_limits();
    if (server.panic)
        show_panic();
}

/* ---- what answers before the simulator ---- */

static int json_answer(struct vpa_memory_reply *reply, int code, const char *json)
{
    vpa_memory_reply_json(reply, code, json);
    return code;
}

static int status_answer(struct vpa_memory_reply *reply, int code, const char *reason,
                         const char *message)
{
    vpa_memory_reply_status(reply, code, reason, message);
    return code;
}

static bool of_unscheduled(const struct vpa_memory_request *q)
{
    const char *fields = vpa_memory_query(q, "fieldSelector");

    return fields && vpa_str_starts_with(fields, "spec.nodeName=,");
}

/* Somebody else's pod waits too, and is what the first page has. */
static int answer_unscheduled(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    if (vpa_memory_query(q, "continue"))
        return 0;
    server.unscheduled_lists++;
    show_object("v1", "Pod",
                "{\"metadata\":{\"name\":\"batch\",\"namespace\":\"n\",\"uid\":\"batch\"},\"spec\":"
                "{\"containers\":[{\"name\":\"c\"}]},\"status\":{\"phase\":\"Pending\"}}");
    if (server.unscheduled)
        show_object("v1", "Pod", server.unscheduled);
    return server.unscheduled_code ? status_answer(reply, server.unscheduled_code, NULL, "not now")
                                   : 0;
}

static int answer_lease(struct vpa_memory_reply *reply)
{
    vpa_auto_free char *lease = vpa_xprintf(
        "{\"metadata\":{\"name\":\"vpa-admission-controller\",\"namespace\":\"kube-system\","
        "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"renewTime\":\"%s\"%s}}",
        vpa_or_empty(server.renewed), vpa_or_empty(server.acquired));

    server.lease_reads++;
    touch_vpa();
    if (server.lease_code)
        return status_answer(reply, server.lease_code, NULL, "not now");
    if (server.renewed)
        show_object("coordination.k8s.io/v1", "Lease", lease);
    return 0;
}

static int answer_scale(struct vpa_memory_reply *reply)
{
    server.scale_reads++;
    if (server.scale_fails)
        return status_answer(reply, 500, NULL, "not now");
    for (int v = 0; v < server.vpas; v++) /* the number may have changed */
        show_owner(v, server.owner_version, server.owner_kind, server.replicas);
    return 0;
}

static int answer_get(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    if (of_unscheduled(q))
        return answer_unscheduled(q, reply);
    if (server.frozen && vpa_memory_query(q, "watch") &&
        vpa_str_ends_with(q->path, server.frozen)) {
        vpa_memory_reply_delay(reply, VPA_HOUR);
        return 404;
    }
    server.streams += vpa_memory_query(q, "watch") != NULL;
    if (server.slow && vpa_str_ends_with(q->path, server.slow))
        vpa_memory_reply_delay(reply, VPA_HOUR);
    if (vpa_str_ends_with(q->path, "/configmaps") && !vpa_memory_query(q, "watch"))
        vpa_memory_reply_delay(reply, server.panic_delay);
    if (vpa_memory_query(q, "continue"))
        vpa_memory_reply_delay(reply, server.page_delay);
    if (strstr(q->path, "/leases/"))
        return answer_lease(reply);
    server.discoveries += vpa_str_eq(q->path, "/apis") || vpa_str_eq(q->path, "/apis/x.io") ||
                          vpa_str_starts_with(q->path, "/apis/g");
    if (server.pod_code && strstr(q->path, "/pods/"))
        return status_answer(reply, server.pod_code, NULL, "not now");
    if (strstr(q->path, "/flows/")) {
        server.flow_reads++;
        vpa_memory_reply_delay(reply, 20 * VPA_MILLISECOND);
        return 0;
    }
    return vpa_str_ends_with(q->path, "/scale") ? answer_scale(reply) : 0;
}

/* An eviction for now, a resize for good. */
static int refuse_change(struct vpa_memory_reply *reply, bool resize)
{
    if (server.retry_after)
        vpa_memory_reply_retry_after(reply, server.retry_after);
    if (resize)
        return status_answer(reply, 403, NULL, "disruption budget");
    return json_answer(reply, 429,
                       "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":429,\"message\":"
                       "\"disruption budget\","
                       "\"details\":{\"causes\":[{\"reason\":\"DisruptionBudget\"}]}}");
}

/* The last call is the first one of its kind. */
static bool is_first_try(void)
{
    for (size_t i = 0; i + 1 < server.call_count; i++)
        if (strcmp(server.calls[i], server.calls[server.call_count - 1]) == 0)
            return false;
    return true;
}

static int answer_change(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
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
    vpa_memory_reply_delay(reply, server.delay);
    const char *refusal = resize ? server.resize_refusal : server.eviction_refusal;

    if (server.doubtful && is_first_try()) {
        vpa_memory_reply_retry_after(reply, 1);
        return status_answer(reply, 504, "Timeout", "not in time");
    }
    if (refusal)
        return json_answer(reply, server.refusal_code ? server.refusal_code : 403, refusal);
    if (server.stale)
        return json_answer(reply, resize ? 422 : 409, resize ? NOT_AS_TESTED : CONFLICT);
    if (server.refuse && n >= server.refuse_from && n % server.refuse == 0)
        return refuse_change(reply, resize);
    if (server.refused && vpa_str_starts_with(server.calls[n - 1], server.refused))
        return refuse_change(reply, resize);
    return 0;
}

static int answer_dry_run(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    vpa_auto_free char *pod = vpa_xprintf("{\"metadata\":{\"name\":\"dry\",\"namespace\":\"n\"},"
                                          "\"spec\":{\"containers\":[{\"name\":\"c\","
                                          "\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}",
                                          server.dry_cpu ? server.dry_cpu : server.request);

    server.dry_runs++;
    free(server.dry_body);
    server.dry_body = vpa_xstrdup(q->body);
    if (server.dry_refusal)
        return status_answer(reply, 403, "Forbidden", server.dry_refusal);
    return json_answer(reply, 201, server.dry_answer ? server.dry_answer : pod);
}

static int answer_status_patch(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    bool meant = !server.status_of || strstr(q->path, server.status_of);

    server.status_tries++;
    vpa_memory_reply_delay(reply, meant ? server.status_delay : 0);
    if (server.status_denied)
        return status_answer(reply, 403, "Forbidden", "no");
    if (server.status_code && meant)
        return server.status_body ? json_answer(reply, server.status_code, server.status_body)
                                  : status_answer(reply, server.status_code, NULL, "not now");
    if (server.status_patches + 1 == server.panic_at_status)
        show_panic();
    return 0;
}

static int answer_patch(const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    free(server.last_annotation);
    server.last_annotation = vpa_xstrdup(q->body);
    if (vpa_str_ends_with(q->path, "/status"))
        return answer_status_patch(q, reply);
    server.annotated++;
    vpa_memory_reply_delay(reply, server.annotation_delay);
    return server.annotation_code ? status_answer(reply, server.annotation_code, NULL, "not now")
                                  : 0;
}

static bool is_change(const struct vpa_memory_request *q)
{
    return vpa_str_ends_with(q->path, "/eviction") || vpa_str_ends_with(q->path, "/resize");
}

/* The status it has answered with; 0: the simulator answers. */
static int answer_first(void *ctx, const struct vpa_memory_request *q,
                        struct vpa_memory_reply *reply)
{
    (void)ctx;
    if (vpa_str_eq(q->method, "GET"))
        return answer_get(q, reply);
    if (is_change(q))
        return answer_change(q, reply);
    if (vpa_memory_query(q, "dryRun"))
        return answer_dry_run(q, reply);
    if (vpa_str_ends_with(q->path, "/selfsubjectaccessreviews") && server.review_code)
        return status_answer(reply, server.review_code, NULL, "not now");
    if (vpa_str_ends_with(q->path, "/selfsubjectaccessreviews"))
        return json_answer(reply, 201,
                           server.no_right ? "{\"status\":{\"allowed\":false}}"
                                           : "{\"status\":{\"allowed\":true}}");
    if (strstr(q->path, "/events")) {
        server.events++;
        vpa_buf_puts(&server.event_bodies, q->body);
        return 0;
    }
    return answer_patch(q, reply);
}

/* ---- the simulator ---- */

static void note_status_patch(void)
{
    char *conditions = conditions_of(0);

    free(server.conditions);
    server.conditions = conditions;
    server.status_patches++;
}

/* The query of a list with so many a page; not out of the server's cache, which knows no pages. */
static char *paged(const char *query, int limit)
{
    const char *at = strstr(query, "&limit="), *next = strstr(query, "&continue=");

    return vpa_xprintf("%.*s&limit=%d%s", (int)(at ? at - query : 0), query, limit,
                       vpa_or_empty(next));
}

static void lose_answer(struct vpa_memory_reply *reply)
{
    if (server.unanswered_code)
        vpa_memory_reply_json(reply, server.unanswered_code, server.unanswered_body);
    else
        vpa_memory_reply_fail(reply, VPA_TRANSPORT_RESET);
}

/* Evictions are carried out, and the pods replaced; resizes are judged only: what a kubelet makes
 * of them is shown by the test. */
static void serve(void *ctx, const struct vpa_memory_request *sent, struct vpa_memory_reply *reply)
{
    struct vpa_memory_request q = *sent;
    int page = of_unscheduled(&q)                                        ? 1
               : server.page_delay && vpa_str_ends_with(q.path, "/pods") ? server.pods_per_vpa / 2
                                                                         : 0;
    vpa_auto_free char *pages = paged(q.query, page);
    bool get = vpa_str_eq(q.method, "GET"), change = !get && is_change(&q);
    size_t count;

    (void)ctx;
    if (change && (server.stuck || vpa_str_ends_with(q.path, "/resize")))
        q.query = "dryRun=All";
    if (get && !q.watch && page)
        q.query = pages;
    sim_cluster_serve_resizes(server.sim, !server.old);
    sim_cluster_serve(server.sim, &q, reply);
    const struct sim_asked *asked =
        get ? sim_cluster_reads(server.sim, &count) : sim_cluster_writes(server.sim, &count);
    bool done = !q.watch && asked[count - 1].code < 300;
    if (change && done && vpa_str_ends_with(q.path, "/eviction") && !server.stuck)
        replace_pod(server.calls[server.call_count - 1]);
    if ((change || vpa_str_eq(q.method, "PATCH")) && done && server.unanswered)
        lose_answer(reply);
    if (done && !get && vpa_str_ends_with(q.path, "/status"))
        note_status_patch();
    sim_cluster_begin_record(server.sim);
}

/* ---- life ---- */

void setup(void)
{
    const struct vpa_flags flags = {
        .rows = updater_flag_rows, .count = updater_flag_count, .values = &server.config};

    server = (struct server){.vpas = 1,
                             .generation_of_vpas = 1,
                             .uid_of_vpas = "v",
                             .pods_per_vpa = 10,
                             .mode = "Recreate",
                             .status = "",
                             .pod = "",
                             .labels = "",
                             .boost = "",
                             .request = "1",
                             .spec = "",
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
    server.sim = sim_cluster_new(server.loop);
    sim_cluster_hook(server.sim, answer_first, NULL);
    sim_cluster_serve_kind(server.sim, "x.io", "v1", "flows", "Flow", false, false);
    sim_cluster_serve_kind(server.sim, "x.io", "v1", "clones", "Clone", false, true);
    server.transport = vpa_memory_transport_new(server.loop, serve, NULL);
}

void connect_cluster(void)
{
    struct vpa_kube_client_options options = {.loop = server.loop,
                                              .transport = server.transport,
                                              .random = &server.random,
                                              .user_agent = "test"};
    struct vpa_error err;
    int burst;

    show_all();
    ck_assert_int_eq(vpa_common_flags_rate(&server.config.common, &options.qps, &burst, &err), 0);
    options.burst = burst;
    server.client = vpa_kube_client_new(&options, &err);
    ck_assert_ptr_nonnull(server.client);
}

void begin(size_t requests_max)
{
    connect_cluster();
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
    settle();
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
    sim_cluster_free(server.sim);
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
