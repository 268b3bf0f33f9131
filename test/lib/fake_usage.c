#include <stdlib.h>
#include <string.h>

#include "fake_cluster_internal.h"

/* cpu[index mod len] of a list, NULL when the list is missing. */
static const char *value_of(const struct vpa_json *list, size_t index)
{
    size_t count = vpa_json_count(list);
    size_t i = 0;

    if (count == 0)
        return NULL;
    vpa_json_foreach (value, list)
        if (i++ == index % count)
            return vpa_json_string(value);
    return NULL;
}

static void put_usage_item(const struct fake_cluster *f, struct vpa_json_writer *w,
                           const struct vpa_json *entry)
{
    int64_t lag = 0;

    vpa_json_int64(vpa_json_find(entry, "lag_s"), &lag);
    vpa_json_open_object(w);
    vpa_json_key(w, "metadata");
    vpa_json_open_object(w);
    vpa_json_member_string(w, "name", fake_text_at(entry, "pod"));
    vpa_json_member_string(w, "namespace", fake_text_at(entry, "namespace"));
    vpa_json_close_object(w);
    vpa_json_key(w, "timestamp");
    vpa_json_put_time(w, vpa_time_add(f->pass_begin, -lag * VPA_SECOND));
    vpa_json_member_string(w, "window", "60s");
    vpa_json_key(w, "containers");
    vpa_json_open_array(w);
    vpa_json_foreach (container, vpa_json_find(entry, "containers")) {
        const char *cpu = value_of(vpa_json_find(container, "cpu"), f->index);
        const char *memory = value_of(vpa_json_find(container, "memory"), f->index);

        vpa_json_open_object(w);
        vpa_json_member_string(w, "name", fake_text_at(container, "name"));
        vpa_json_key(w, "usage");
        vpa_json_open_object(w);
        if (cpu)
            vpa_json_member_string(w, "cpu", cpu);
        if (memory)
            vpa_json_member_string(w, "memory", memory);
        vpa_json_close_object(w);
        vpa_json_close_object(w);
    }
    vpa_json_close_array(w);
    vpa_json_close_object(w);
}

/* The usage as it is now, of one namespace or ("") all. */
static void put_metrics(const struct fake_cluster *f, const char *ns, struct vpa_buf *text)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, text);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "PodMetricsList");
    vpa_json_key(&w, "metadata");
    vpa_json_open_object(&w);
    vpa_json_close_object(&w);
    vpa_json_key(&w, "items");
    vpa_json_open_array(&w);
    vpa_json_foreach (item, vpa_json_find(f->step, "metrics"))
        if (!*ns || strcmp(fake_text_at(item, "metadata.namespace"), ns) == 0)
            vpa_json_put_node(&w, item);
    vpa_json_foreach (entry, vpa_json_find(f->step, "usage"))
        if (!*ns || strcmp(fake_text_at(entry, "namespace"), ns) == 0)
            put_usage_item(f, &w, entry);
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
}

/* A slow answer tells what the usage is when it is given, not when it was asked for. */
struct fake_slow_answer {
    struct fake_cluster *cluster;
    struct vpa_memory_stream *stream;
    struct vpa_timer *timer;
    char *ns;
    struct fake_slow_answer *next;
};

static void slow_answer_free(struct fake_slow_answer *a)
{
    for (struct fake_slow_answer **link = &a->cluster->slow; *link; link = &(*link)->next)
        if (*link == a) {
            *link = a->next;
            break;
        }
    vpa_timer_free(a->timer);
    free(a->ns);
    free(a);
}

static void on_slow_closed(void *ctx)
{
    slow_answer_free(ctx);
}

static void on_slow_answer(void *ctx)
{
    struct fake_slow_answer *a = ctx;
    vpa_auto_buf text = {0};

    vpa_buf_init(&text, FAKE_TEXT_MAX);
    put_metrics(a->cluster, a->ns, &text);
    vpa_memory_stream_push(a->stream, vpa_buf_text(&text), text.len);
    vpa_memory_stream_end(a->stream, VPA_TRANSPORT_OK);
    slow_answer_free(a);
}

int fake_serve_metrics(struct fake_exchange *x)
{
    struct fake_cluster *f = x->f;
    int64_t latency = fake_latency_of(x);
    vpa_auto_buf text = {0};
    int32_t code = 0;

    if (vpa_json_int32(vpa_json_find(f->step, "metrics_code"), &code) && code != 200) {
        vpa_memory_reply_status(x->r, code, NULL, "simulated failure of the metrics API");
        return code;
    }
    if (latency > 0) {
        struct fake_slow_answer *a = vpa_xcalloc(1, sizeof *a);

        a->cluster = f;
        a->ns = vpa_xstrdup(x->ns);
        a->stream = vpa_memory_reply_stream(x->r, 200, on_slow_closed, a);
        a->timer = vpa_timer_new(f->loop, on_slow_answer, a);
        a->next = f->slow;
        f->slow = a;
        vpa_timer_start(a->timer, latency * VPA_MILLISECOND);
        x->answered_later = true;
        return 200;
    }
    vpa_buf_init(&text, FAKE_TEXT_MAX);
    put_metrics(f, x->ns, &text);
    return fake_reply_json(x, 200, vpa_buf_text(&text));
}

int fake_serve_external(struct fake_exchange *x)
{
    const char *selector = vpa_or_empty(vpa_memory_query(x->q, "labelSelector"));
    struct vpa_json_writer w;
    vpa_auto_buf text = {0};
    const struct vpa_json *items = NULL;

    vpa_json_foreach (entry, vpa_json_find(x->f->step, "external")) {
        int32_t code = 0;

        if (strcmp(fake_text_at(entry, "namespace"), x->ns) != 0 ||
            strcmp(fake_text_at(entry, "metric"), x->plural) != 0 ||
            strcmp(fake_text_at(entry, "selector"), selector) != 0)
            continue;
        if (vpa_json_int32(vpa_json_find(entry, "code"), &code) && code >= 300) {
            vpa_memory_reply_status(x->r, code, NULL,
                                    "simulated failure of the external metrics API");
            return code;
        }
        items = vpa_json_find(entry, "items");
    }
    vpa_buf_init(&text, FAKE_TEXT_MAX);
    vpa_json_writer_init(&w, &text);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "ExternalMetricValueList");
    vpa_json_key(&w, "items");
    vpa_json_open_array(&w);
    vpa_json_foreach (item, items)
        vpa_json_put_node(&w, item);
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
    return fake_reply_json(x, 200, vpa_buf_text(&text));
}

void fake_usage_release(struct fake_cluster *f)
{
    while (f->slow)
        slow_answer_free(f->slow);
}
