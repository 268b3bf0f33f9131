/* Prometheus history: queries built and answers parsed, through the recommender's own client. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

#include "../../recommender/config.h"
#include "../../recommender/prom_client.h"
#include "memory_transport.h"
#include "manual_clock.h"

#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/json/json_writer.h"

#define NOW (vpa_time_from_unix(1768435200, 123456789))
#define FLAGS_MAX 64

struct server {
    struct golden_case *c;
    const struct prom_plan *plan;
    const struct vpa_json *next_reply;
    struct vpa_buf requests; /* JSON array, open */
    size_t count;
};

/* ---- requests as the vectors write them ---- */

struct arguments {
    const char *normalised; /* START, END, TIME for the moving values */
    const char *query;
    const char *step;
    double start, end;
    bool instant;
};

static void read_arguments(struct vpa_arena *arena, const char *text, struct arguments *out)
{
    struct vpa_slice piece;
    struct vpa_buf b;

    vpa_buf_init(&b, 1 << 20);
    while (vpa_str_split(&text, '&', &piece)) {
        const char *equals = memchr(piece.ptr, '=', piece.len);
        size_t name_len = equals ? (size_t)(equals - piece.ptr) : piece.len;
        struct vpa_slice name = {piece.ptr, name_len};
        const char *value =
            equals ? golden_form_decode(arena, equals + 1, piece.len - name_len - 1) : "";

        if (b.len > 0)
            vpa_buf_putc(&b, '&');
        if (vpa_slice_eq(name, "end")) {
            out->end = strtod(value, NULL);
            vpa_buf_puts(&b, "end=END");
        } else if (vpa_slice_eq(name, "start")) {
            out->start = strtod(value, NULL);
            vpa_buf_puts(&b, "start=START");
        } else if (vpa_slice_eq(name, "time")) {
            out->instant = true;
            vpa_buf_puts(&b, "time=TIME");
        } else {
            vpa_buf_append(&b, piece.ptr, piece.len);
        }
        if (vpa_slice_eq(name, "query"))
            out->query = value;
        if (vpa_slice_eq(name, "step"))
            out->step = value;
    }
    out->normalised = vpa_arena_strdup(arena, vpa_buf_text(&b));
    vpa_buf_release(&b);
}

static void record(struct server *s, const struct vpa_memory_request *q)
{
    struct arguments a = {.query = "", .step = NULL};
    struct vpa_json_writer w;
    const char *authorization = vpa_memory_header(q, "Authorization");
    const char *type = vpa_memory_header(q, "Content-Type");

    read_arguments(s->c->arena, strcmp(q->method, "POST") == 0 ? q->body : q->query, &a);
    if (s->count++ > 0)
        vpa_buf_putc(&s->requests, ',');
    vpa_json_writer_init(&w, &s->requests);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "method", q->method);
    vpa_json_member_string(&w, "path", q->path);
    vpa_json_member_string(&w, "query", a.query);
    vpa_json_member_string(&w, "arguments", a.normalised);
    if (type)
        vpa_json_member_string(&w, "content_type", type);
    if (authorization)
        vpa_json_member_string(&w, "authorization", authorization);
    if (a.instant) {
        vpa_json_member_bool(&w, "instant", true);
    } else {
        double span = a.end - a.start;

        vpa_json_member_string(&w, "step", a.step);
        vpa_json_key(&w, "span_seconds"); /* to 0.1 ms */
        vpa_json_put_double(&w, (double)(int64_t)(span * 10000 + 0.5) / 10000);
    }
    vpa_json_close_object(&w);
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    struct server *s = ctx;
    const struct vpa_json *reply = s->next_reply;
    int32_t status = 200;
    int64_t delay_ms = 0;

    record(s, q);
    if (!reply) {
        vpa_memory_reply_json(
            r, 200, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}");
        return;
    }
    s->next_reply = vpa_json_next(reply);
    vpa_json_int32(vpa_json_find(reply, "status"), &status);
    const char *body = vpa_or_empty(vpa_json_string(vpa_json_find(reply, "body")));
    vpa_memory_reply_bytes(r, status, "application/json", body, strlen(body));
    if (vpa_json_int64(vpa_json_find(reply, "delay_ms"), &delay_ms))
        vpa_memory_reply_delay(r, delay_ms * VPA_MILLISECOND);
}

/* ---- the history as the vectors write it ---- */

static void put_list(struct vpa_json_writer *w, const char *name, const struct history_list *list)
{
    char amount[32];

    vpa_json_member_array(w, name);
    for (size_t i = 0; i < list->count; i++) {
        vpa_json_open_array(w);
        vpa_json_put_int(w, list->items[i].millis);
        snprintf(amount, sizeof amount, "%lld", (long long)list->items[i].amount);
        vpa_json_put_string(w, amount);
        vpa_json_close_array(w);
    }
    vpa_json_close_array(w);
}

static void put_pod(struct vpa_json_writer *w, const struct history_pod *pod)
{
    vpa_auto_free struct history_container **containers = history_containers(pod);
    char nanos[48];

    vpa_json_open_object(w);
    vpa_json_member_object(w, "labels");
    for (size_t i = 0; i < pod->labels.count; i++)
        vpa_json_member_string(w, pod->labels.items[i].key, pod->labels.items[i].value);
    vpa_json_close_object(w);
    vpa_json_key(w, "last_seen");
    if (vpa_time_is_unset(pod->last_seen)) {
        vpa_json_put_null(w);
    } else {
        snprintf(nanos, sizeof nanos, "%lld", (long long)vpa_time_unix_nanos(pod->last_seen));
        vpa_json_put_string(w, nanos);
    }
    vpa_json_member_object(w, "containers");
    for (size_t i = 0; i < pod->containers.count; i++) {
        vpa_json_member_object(w, containers[i]->name);
        put_list(w, "cpu", &containers[i]->cpu);
        put_list(w, "memory", &containers[i]->memory);
        vpa_json_close_object(w);
    }
    vpa_json_close_object(w);
    vpa_json_close_object(w);
}

static void compare_pods(struct golden_case *c, const struct history *history)
{
    vpa_auto_free struct history_pod **pods = history_pods(history);
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(64 << 20);

    vpa_json_writer_init(&w, &text);
    vpa_json_open_object(&w);
    for (size_t i = 0; i < history->pods.count; i++) {
        vpa_json_key(&w, golden_label(c, "%s/%s", pods[i]->ns, pods[i]->name));
        put_pod(&w, pods[i]);
    }
    vpa_json_close_object(&w);
    golden_json(c, "pods", GOLDEN_OUT(c, "pods"), vpa_buf_text(&text));
}

/* ---- cases ---- */

static const char *read_env(void *ctx, const char *name)
{
    return vpa_json_string(
        vpa_json_find(GOLDEN_IN((struct golden_case *)ctx, "environment"), name));
}

static int read_config(struct golden_case *c, struct recommender_config *config,
                       struct vpa_error *err)
{
    char *argv[FLAGS_MAX + 2] = {(char *)"recommender"};
    int argc = 1;
    int status;
    struct vpa_flags flags = recommender_flags(config);

    argv[argc++] = vpa_arena_printf(c->arena, "--prometheus-address=http://prom.example:9090%s",
                                    vpa_or_empty(vpa_json_string(GOLDEN_IN(c, "address_path"))));
    vpa_json_foreach (flag, GOLDEN_IN(c, "flags"))
        if (argc < FLAGS_MAX)
            argv[argc++] = vpa_arena_printf(c->arena, "--%s=%s", vpa_json_name(flag),
                                            vpa_or_empty(vpa_json_string(flag)));
    if (vpa_flags_parse(&flags, c->arena, argc, argv, err) < 0)
        return -1;
    return recommender_config_check(config, read_env, c, c->arena, &status, err);
}

static void compare_error(struct golden_case *c, int result, const struct vpa_error *err)
{
    const struct vpa_json *want = GOLDEN_OUT(c, "error");
    const char *start = vpa_json_string(GOLDEN_OUT(c, "starts_with"));

    if (vpa_json_string(want)) {
        golden_text(c, "error", want, result < 0 ? err->text : NULL);
    } else if (want) {
        golden_marker(c, "error");
        golden_compared(c, GOLDEN_OUT(c, "starts_with"));
        if (result == 0)
            golden_difference(c, "error", "an error", "none");
        else if (start && !vpa_str_starts_with(err->text, start))
            golden_difference(c, "error", start, err->text);
    } else if (result < 0) {
        golden_unexpected(c, "error", err->text);
    }
}

/* Up to its crash the reference asked what we ask. */
static void compare_first_requests(struct golden_case *c, const char *got)
{
    const struct vpa_json *root, *ours = NULL;
    struct vpa_error err;
    size_t i = 0;

    if (vpa_json_parse(c->arena, got, strlen(got), &root, &err) == 0)
        ours = vpa_json_first(root);
    golden_compared(c, GOLDEN_OUT(c, "requests"));
    vpa_json_foreach (request, GOLDEN_OUT(c, "requests")) {
        if (!ours || !vpa_json_equal(request, ours))
            golden_difference(c, golden_label(c, "requests[%zu]", i), "ours", "another");
        ours = ours ? vpa_json_next(ours) : NULL;
        i++;
    }
}

static void run_fetch(struct golden_case *c)
{
    struct recommender_config config;
    struct prom_plan plan;
    struct vpa_error err = {0};

    if (read_config(c, &config, &err) < 0 || prom_plan_init(&plan, &config.prometheus, &err) < 0) {
        golden_text(c, "config_error", GOLDEN_OUT(c, "config_error"), err.text);
        return;
    }
    struct vpa_clock *clock = vpa_clock_new_manual(NOW);
    struct vpa_loop *loop = vpa_loop_new(clock);
    struct server server = {
        .c = c, .plan = &plan, .next_reply = vpa_json_first(GOLDEN_IN(c, "replies"))};
    struct vpa_transport *transport = vpa_memory_transport_new(loop, serve, &server);
    struct history history;

    golden_text(c, "config_error", GOLDEN_OUT(c, "config_error"), NULL);
    vpa_buf_init(&server.requests, 16 << 20);
    vpa_buf_putc(&server.requests, '[');
    history_init(&history, &plan);
    int result = prom_fetch_history(loop, transport, &plan, NULL, &history, &err);
    vpa_buf_putc(&server.requests, ']');
    golden_marker(c, "panic");
    if (GOLDEN_OUT(c, "panic")) { /* the reference crashes: not crashing is the point */
        compare_first_requests(c, vpa_buf_text(&server.requests));
    } else {
        golden_json(c, "requests", GOLDEN_OUT(c, "requests"), vpa_buf_text(&server.requests));
        compare_error(c, result, &err);
        if (result == 0)
            compare_pods(c, &history);
    }
    history_release(&history);
    vpa_buf_release(&server.requests);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
    prom_plan_release(&plan);
}

/* The step argument that a resolution makes. */
static const char *step_of(struct golden_case *c, const char *resolution)
{
    struct prom_options options = {.address = "http://p",
                                   .cadvisor_job = "",
                                   .history_length = "8d",
                                   .history_resolution = resolution,
                                   .query_timeout = "5m",
                                   .cpu_metric = "c",
                                   .memory_metric = "m",
                                   .pod_labels_metric = "l",
                                   .pod_label_prefix = "",
                                   .pod_namespace_label = "n",
                                   .pod_name_label = "p",
                                   .container_namespace_label = "n",
                                   .container_pod_name_label = "p",
                                   .container_name_label = "c",
                                   .ns = "",
                                   .username = "",
                                   .password = "",
                                   .bearer_token = "",
                                   .bearer_token_file = "",
                                   .env_username = "",
                                   .env_password = ""};
    struct prom_plan plan;
    struct vpa_error err;
    struct arguments a = {0};
    vpa_auto_buf text = VPA_BUF(1 << 20);

    if (prom_plan_init(&plan, &options, &err) < 0)
        return NULL;
    prom_arguments(&plan, PROM_CPU, NOW, &text);
    read_arguments(c->arena, vpa_buf_text(&text), &a);
    prom_plan_release(&plan);
    return a.step;
}

static void run_duration(struct golden_case *c)
{
    const char *text = golden_in_text(c, "text");
    vpa_duration d = 0;
    struct vpa_error err;

    if (vpa_duration_parse_prometheus(text, &d, &err) < 0) {
        golden_text(c, "error", GOLDEN_OUT(c, "error"), err.text);
        return;
    }
    golden_text(c, "error", GOLDEN_OUT(c, "error"), NULL);
    golden_int(c, "ns", GOLDEN_OUT(c, "ns"), d);
    golden_text(c, "step", GOLDEN_OUT(c, "step"), step_of(c, text));
}

static void run(struct golden_case *c)
{
    if (strcmp(c->file, "prom_duration") == 0)
        run_duration(c);
    else
        run_fetch(c);
}

extern const struct golden_set golden_set_promql;
const struct golden_set golden_set_promql = {.name = "promql", .run = run};
