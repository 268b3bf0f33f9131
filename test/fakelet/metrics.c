/*
 * metrics.k8s.io/v1beta1 for pods and nodes, as metrics-server answers: usage at the last full
 * interval of
 * --metric-resolution, pods that were running then. With --record each served container sample is
 * also written to a file, for tests that compute recommendations a second time.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fakelet.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define PREFIX "/apis/metrics.k8s.io/v1beta1"
#define ANSWER_MAX ((size_t)256 << 20)

static const char resources[] =
    "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"metrics.k8s.io/"
    "v1beta1\","
    "\"resources\":[{\"name\":\"nodes\",\"singularName\":\"\",\"namespaced\":false,\"kind\":"
    "\"NodeMetrics\","
    "\"verbs\":[\"get\",\"list\"]},{\"name\":\"pods\",\"singularName\":\"\",\"namespaced\":true,"
    "\"kind\":\"PodMetrics\",\"verbs\":[\"get\",\"list\"]}]}";
static const char group[] =
    "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"metrics.k8s.io\",\"versions\":[{"
    "\"groupVersion\":"
    "\"metrics.k8s.io/v1beta1\",\"version\":\"v1beta1\"}],\"preferredVersion\":{\"groupVersion\":"
    "\"metrics.k8s.io/v1beta1\",\"version\":\"v1beta1\"}}";

static void put_usage(struct vpa_json_writer *w, double cpu_millis, double memory_bytes)
{
    char text[64];

    vpa_json_member_object(w, "usage");
    snprintf(text, sizeof(text), "%.0fn", cpu_millis * 1e6);
    vpa_json_member_string(w, "cpu", text);
    snprintf(text, sizeof(text), "%.0fKi", memory_bytes / 1024);
    vpa_json_member_string(w, "memory", text);
    vpa_json_close_object(w);
}

static void put_head(struct vpa_json_writer *w, const char *kind, const char *ns, const char *name,
                     const struct vpa_labels *labels, vpa_time t, vpa_duration window)
{
    char text[VPA_DURATION_TEXT_MAX];

    vpa_json_member_string(w, "kind", kind);
    vpa_json_member_string(w, "apiVersion", "metrics.k8s.io/v1beta1");
    vpa_json_member_object(w, "metadata");
    vpa_json_member_string(w, "name", name);
    vpa_json_member_string_opt(w, "namespace", ns);
    vpa_json_member_time(w, "creationTimestamp", t);
    if (labels && labels->count) {
        vpa_json_member_object(w, "labels");
        for (size_t i = 0; i < labels->count; i++)
            vpa_json_member_string(w, labels->items[i].key, labels->items[i].value);
        vpa_json_close_object(w);
    }
    vpa_json_close_object(w);
    vpa_json_member_time(w, "timestamp", t);
    vpa_duration_format(window, text);
    vpa_json_member_string(w, "window", text);
}

/* metrics-server tells nothing of a pod while one of its containers has no sample. */
static bool has_sample(const struct pod *pod, vpa_time t)
{
    if (!pod->run_count || !vpa_time_is_unset(pod->deleting_since))
        return false;
    for (size_t i = 0; i < pod->run_count; i++)
        if (pod->runs[i].state != RUN_RUNNING || pod->runs[i].started > t)
            return false;
    return true;
}

static void record(struct fakelet *f, const struct pod *pod, const struct run *run, vpa_time t,
                   double cpu, double memory)
{
    vpa_auto_buf line = VPA_BUF(4096);

    vpa_buf_printf(&line, "%s %s %s %lld %.0f %.0f\n", pod->object.meta.ns, pod->object.meta.name,
                   run->name, (long long)(vpa_time_unix_nanos(t) / VPA_SECOND), cpu * 1e6,
                   memory / 1024);
    if (write(f->record_fd, vpa_buf_text(&line), line.len) < 0)
        VPA_ERROR("Cannot write the record of served samples");
}

static void put_pod(struct fakelet *f, struct vpa_json_writer *w, const struct pod *pod, vpa_time t)
{
    vpa_json_open_object(w);
    put_head(w, "PodMetrics", pod->object.meta.ns, pod->object.meta.name, &pod->object.meta.labels,
             t, f->options.resolution);
    vpa_json_member_array(w, "containers");
    for (size_t i = 0; i < pod->run_count; i++) {
        double cpu, memory;
        run_usage(&pod->runs[i], t, &cpu, &memory);
        vpa_json_open_object(w);
        vpa_json_member_string(w, "name", pod->runs[i].name);
        put_usage(w, cpu, memory);
        vpa_json_close_object(w);
        if (f->record_fd >= 0)
            record(f, pod, &pod->runs[i], t, cpu, memory);
    }
    vpa_json_close_array(w);
    vpa_json_close_object(w);
}

static void put_node(struct fakelet *f, struct vpa_json_writer *w, const struct node *node,
                     vpa_time t)
{
    double cpu = 0, memory = 0;
    void *value;

    for (size_t i = 0; vpa_table_next(&f->pods, &i, NULL, &value);) {
        const struct pod *pod = value;
        for (size_t k = 0; pod->node == node && k < pod->run_count; k++) {
            double c, m;
            run_usage(&pod->runs[k], t, &c, &m);
            cpu += c;
            memory += m;
        }
    }
    vpa_json_open_object(w);
    put_head(w, "NodeMetrics", NULL, node->name, NULL, t, f->options.resolution);
    put_usage(w, cpu, memory);
    vpa_json_close_object(w);
}

static void open_list(struct vpa_json_writer *w, const char *kind)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "kind", kind);
    vpa_json_member_string(w, "apiVersion", "metrics.k8s.io/v1beta1");
    vpa_json_member_object(w, "metadata");
    vpa_json_close_object(w);
    vpa_json_member_array(w, "items");
}

static void list_pods(struct fakelet *f, struct vpa_json_writer *w, const char *ns,
                      const struct vpa_selector *selector, vpa_time t)
{
    vpa_auto_free void **sorted = vpa_table_sorted(&f->pods);

    open_list(w, "PodMetricsList");
    for (size_t i = 0; i < f->pods.count; i++) {
        const struct pod *pod = sorted[i];
        if ((!ns || strcmp(ns, pod->object.meta.ns) == 0) && has_sample(pod, t) &&
            (!selector || vpa_selector_matches(selector, &pod->object.meta.labels)))
            put_pod(f, w, pod, t);
    }
    vpa_json_close_array(w);
    vpa_json_close_object(w);
}

static void list_nodes(struct fakelet *f, struct vpa_json_writer *w, vpa_time t)
{
    open_list(w, "NodeMetricsList");
    for (size_t i = 0; i < f->node_count; i++)
        put_node(f, w, &f->nodes[i], t);
    vpa_json_close_array(w);
    vpa_json_close_object(w);
}

static void not_found(struct vpa_server_response *response, const char *kind, const char *name)
{
    vpa_auto_buf text = VPA_BUF(4096);
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, &text);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "Status");
    vpa_json_member_string(&w, "apiVersion", "v1");
    vpa_json_member_string(&w, "status", "Failure");
    vpa_auto_free char *message = vpa_xprintf("%s.metrics.k8s.io \"%s\" not found", kind, name);
    vpa_json_member_string(&w, "message", message);
    vpa_json_member_string(&w, "reason", "NotFound");
    vpa_json_member_int(&w, "code", 404);
    vpa_json_close_object(&w);
    response->status = 404;
    response->content_type = "application/json";
    response->body_len = text.len;
    response->body = vpa_buf_take(&text);
}

/* The value of a query member, %XX and + decoded, in the arena; NULL when absent. */
static const char *query_value(struct vpa_arena *arena, const char *query, const char *name)
{
    const char *rest = query;
    struct vpa_slice part;
    size_t len = strlen(name);

    while (vpa_str_split(&rest, '&', &part)) {
        if (part.len <= len || strncmp(part.ptr, name, len) != 0 || part.ptr[len] != '=')
            continue;
        char *out = vpa_arena_alloc(arena, part.len + 1), *end = out;
        for (size_t i = len + 1; i < part.len; i++) {
            char hex[3] = {0};
            if (part.ptr[i] == '%' && i + 2 < part.len) {
                memcpy(hex, part.ptr + i + 1, 2);
                *end++ = (char)strtoul(hex, NULL, 16);
                i += 2;
            } else {
                *end++ = part.ptr[i] == '+' ? ' ' : part.ptr[i];
            }
        }
        *end = '\0';
        return out;
    }
    return NULL;
}

/* parts: what stands behind the prefix, split at '/'. */
static void answer_usage(struct fakelet *f, struct vpa_arena *arena, const char **parts,
                         size_t count, const char *query, vpa_time t,
                         struct vpa_server_response *response)
{
    const char *ns = count >= 2 && strcmp(parts[0], "namespaces") == 0 ? parts[1] : NULL;
    const char *kind = ns ? (count > 2 ? parts[2] : "") : parts[0];
    const char *name = ns ? (count > 3 ? parts[3] : NULL) : (count > 1 ? parts[1] : NULL);
    const char *text = query_value(arena, query, "labelSelector");
    struct vpa_selector selector;
    vpa_auto_buf body = VPA_BUF(ANSWER_MAX);
    struct vpa_json_writer w;
    struct vpa_error err;

    vpa_json_writer_init(&w, &body);
    if (text && *text && vpa_selector_parse(arena, text, &selector, &err) < 0) {
        vpa_server_reply_text(response, 400, err.text);
        return;
    }
    if (strcmp(kind, "pods") == 0 && name) {
        const struct pod *pod =
            vpa_table_find(&f->pods, vpa_arena_printf(arena, "%s/%s", vpa_or_empty(ns), name));
        if (!pod || !has_sample(pod, t)) {
            not_found(response, "podmetrics", name);
            return;
        }
        put_pod(f, &w, pod, t);
    } else if (strcmp(kind, "pods") == 0) {
        list_pods(f, &w, ns, text && *text ? &selector : NULL, t);
    } else if (strcmp(kind, "nodes") == 0 && name) {
        const struct node *node = node_find(f, name);
        if (!node) {
            not_found(response, "nodemetrics", name);
            return;
        }
        put_node(f, &w, node, t);
    } else if (strcmp(kind, "nodes") == 0) {
        list_nodes(f, &w, t);
    } else {
        vpa_server_reply_text(response, 404, "404 page not found\n");
        return;
    }
    response->status = 200;
    response->content_type = "application/json";
    response->body_len = body.len;
    response->body = vpa_buf_take(&body);
}

static void reply_json(struct vpa_server_response *response, const char *text)
{
    vpa_server_reply_text(response, 200, text);
    response->content_type = "application/json";
}

static void on_request(void *ctx, const struct vpa_server_request *request,
                       struct vpa_server_response *response)
{
    struct fakelet *f = ctx;
    vpa_time now = vpa_loop_now(f->loop);
    vpa_auto_arena arena = {0};
    const char *parts[8];
    size_t count = 0;

    if (strcmp(request->path, PREFIX) == 0) {
        reply_json(response, resources);
        return;
    }
    if (strcmp(request->path, "/apis/metrics.k8s.io") == 0) {
        reply_json(response, group);
        return;
    }
    if (!vpa_str_starts_with(request->path, PREFIX "/")) {
        vpa_server_reply_text(response, 404, "404 page not found\n");
        return;
    }
    const char *rest = request->path + strlen(PREFIX) + 1;
    struct vpa_slice part;
    while (count < VPA_COUNT(parts) && vpa_str_split(&rest, '/', &part))
        parts[count++] = vpa_arena_strndup(&arena, part.ptr, part.len);
    vpa_time t = now - now % f->options.resolution;
    answer_usage(f, &arena, parts, count, request->query, t, response);
}

/*
 * A server that speaks TLS has a thread of its own, but pods and nodes belong to the loop: the
 * thread hands its request over and waits. Whoever of the two lets go last frees the errand.
 */
#define ERRAND_WAIT_S 5

struct errand {
    struct fakelet *f;
    const struct vpa_server_request *request; /* NULL: nobody waits any more */
    struct vpa_server_response response;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
};

static void errand_free(struct errand *e)
{
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static void run_errand(void *ctx)
{
    struct errand *e = ctx;

    pthread_mutex_lock(&e->lock);
    bool waited_for = e->request != NULL;
    if (waited_for)
        on_request(e->f, e->request, &e->response);
    e->done = true;
    pthread_cond_signal(&e->changed);
    pthread_mutex_unlock(&e->lock);
    if (!waited_for)
        errand_free(e);
}

static void on_thread_request(void *ctx, const struct vpa_server_request *request,
                              struct vpa_server_response *response)
{
    struct errand *e = vpa_xcalloc(1, sizeof(*e));
    struct timespec until;
    int left = ERRAND_WAIT_S;

    e->f = ctx;
    e->request = request;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
    clock_gettime(CLOCK_REALTIME, &until);
    vpa_loop_post(e->f->loop, run_errand, e);

    pthread_mutex_lock(&e->lock);
    while (!e->done && left-- > 0 && !atomic_load(&e->f->stopping)) {
        until.tv_sec++;
        while (!e->done && pthread_cond_timedwait(&e->changed, &e->lock, &until) != ETIMEDOUT)
            ;
    }
    bool done = e->done;
    e->request = NULL;
    pthread_mutex_unlock(&e->lock);
    if (!done) {
        vpa_server_reply_text(response, 503, "the loop is busy\n");
        return;
    }
    *response = e->response;
    errand_free(e);
}

static int read_pem(const char *path, char **out, struct vpa_error *err)
{
    vpa_auto_buf text = VPA_BUF(1 << 20);
    char piece[4096];
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return vpa_fail(err, VPA_INVALID, "%s: cannot be opened", path);
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        vpa_buf_append(&text, piece, (size_t)n);
    close(fd);
    if (n < 0 || vpa_buf_failed(&text))
        return vpa_fail(err, VPA_INVALID, "%s: cannot be read", path);
    *out = vpa_buf_take(&text);
    return 0;
}

int metrics_start(struct fakelet *f, struct vpa_error *err)
{
    vpa_auto_free char *cert = NULL;
    vpa_auto_free char *key = NULL;
    struct vpa_server_tls tls = {0};
    struct vpa_http_server_options options = {
        .address = f->options.metrics_address, .handler = on_request, .ctx = f};

    if (f->options.tls_cert[0]) {
        if (read_pem(f->options.tls_cert, &cert, err) < 0 ||
            read_pem(f->options.tls_key, &key, err) < 0)
            return -1;
        tls.cert_pem = cert;
        tls.key_pem = key;
        options.tls = &tls;
        options.threads = 1;
        options.handler = on_thread_request;
    }
    f->record_fd = -1;
    if (f->options.record[0]) {
        f->record_fd = open(f->options.record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (f->record_fd < 0)
            return vpa_fail(err, VPA_INVALID, "%s: cannot be written", f->options.record);
    }
    f->metrics = vpa_http_server_new(f->loop, &options, err);
    if (!f->metrics)
        return -1;
    VPA_INFO("Serving metrics.k8s.io", VPA_KV("port", vpa_http_server_port(f->metrics)));
    return 0;
}
