#include "fake_cluster.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define TEXT_MAX ((size_t)64 << 20)

const char *fake_text_at(const struct vpa_json *node, const char *path)
{
    return vpa_or_empty(vpa_json_string(vpa_json_at(node, path)));
}

/* ---- usage ---- */

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
    vpa_json_member_object(w, "metadata");
    vpa_json_member_string(w, "name", fake_text_at(entry, "pod"));
    vpa_json_member_string(w, "namespace", fake_text_at(entry, "namespace"));
    vpa_json_close_object(w);
    vpa_json_member_time(w, "timestamp", vpa_time_add(f->pass_begin, -lag * VPA_SECOND));
    vpa_json_member_string(w, "window", "60s");
    vpa_json_member_array(w, "containers");
    vpa_json_foreach (container, vpa_json_find(entry, "containers")) {
        const char *cpu = value_of(vpa_json_find(container, "cpu"), f->index);
        const char *memory = value_of(vpa_json_find(container, "memory"), f->index);

        vpa_json_open_object(w);
        vpa_json_member_string(w, "name", fake_text_at(container, "name"));
        vpa_json_member_object(w, "usage");
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
static void put_metrics(void *ctx, struct vpa_buf *text)
{
    struct fake_cluster *f = ctx;
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, text);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "PodMetricsList");
    vpa_json_member_object(&w, "metadata");
    vpa_json_close_object(&w);
    vpa_json_member_array(&w, "items");
    vpa_json_foreach (item, vpa_json_find(f->step, "metrics"))
        if (!*f->usage_ns || strcmp(fake_text_at(item, "metadata.namespace"), f->usage_ns) == 0)
            vpa_json_put_node(&w, item);
    vpa_json_foreach (entry, vpa_json_find(f->step, "usage"))
        if (!*f->usage_ns || strcmp(fake_text_at(entry, "namespace"), f->usage_ns) == 0)
            put_usage_item(f, &w, entry);
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
}

/* A slow answer tells what the usage is when it is given, not when it was asked for. */
static int serve_metrics(struct fake_cluster *f, const struct sim_place *at,
                         struct vpa_memory_reply *r)
{
    int32_t code = 0;

    if (vpa_json_int32(vpa_json_find(f->step, "metrics_code"), &code) && code != 200) {
        vpa_memory_reply_status(r, code, NULL, "simulated failure of the metrics API");
        return code;
    }
    f->usage_ns = vpa_arena_strdup(&f->arena, at->ns);
    vpa_memory_reply_json(r, 200, "");
    vpa_memory_reply_made(r, put_metrics, f);
    return 200;
}

static int serve_external(struct fake_cluster *f, const struct sim_place *at,
                          const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    const char *selector = vpa_or_empty(vpa_memory_query(q, "labelSelector"));
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);
    const struct vpa_json *items = NULL;

    vpa_json_foreach (entry, vpa_json_find(f->step, "external")) {
        int32_t code = 0;

        if (strcmp(fake_text_at(entry, "namespace"), at->ns) != 0 ||
            strcmp(fake_text_at(entry, "metric"), at->resource) != 0 ||
            strcmp(fake_text_at(entry, "selector"), selector) != 0)
            continue;
        if (vpa_json_int32(vpa_json_find(entry, "code"), &code) && code >= 300) {
            vpa_memory_reply_status(r, code, NULL, "simulated failure of the external metrics API");
            return code;
        }
        items = vpa_json_find(entry, "items");
    }
    vpa_json_writer_init(&w, &text);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "ExternalMetricValueList");
    vpa_json_member_array(&w, "items");
    vpa_json_foreach (item, items)
        vpa_json_put_node(&w, item);
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
    vpa_memory_reply_json(r, 200, vpa_buf_text(&text));
    return 200;
}

/* ---- scales ---- */

static char *scale_key(const char *group, const char *resource, const char *ns, const char *name)
{
    return vpa_xprintf("%s|%s|%s|%s", group, resource, ns, name);
}

/* Scales are what the case says, whatever objects there are; where there can be none, the answer
 * is the bare one of a path that is not served. */
static int serve_scale(struct fake_cluster *f, const struct sim_place *at, const char *path,
                       struct vpa_memory_reply *r)
{
    vpa_auto_free char *key = scale_key(at->group, at->resource, at->ns, at->name);
    const char *scale = vpa_table_find(&f->scales, key);

    if (scale) {
        vpa_memory_reply_json(r, 200, scale);
        return 200;
    }
    if (!sim_cluster_has_scale(f->sim, at->group, at->resource)) {
        vpa_memory_reply_bytes(r, 404, "text/plain", "404 page not found\n", 19);
        return 404;
    }
    return sim_not_found(path, r);
}

static void change_scale(struct fake_cluster *f, const struct vpa_json *scale, bool there)
{
    vpa_auto_free char *key =
        scale_key(fake_text_at(scale, "group"), fake_text_at(scale, "resource"),
                  fake_text_at(scale, "namespace"), fake_text_at(scale, "name"));
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);
    struct vpa_json_writer w;

    if (!there) {
        vpa_table_remove(&f->scales, key);
        return;
    }
    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, vpa_json_find(scale, "object"));
    vpa_table_put(&f->scales, vpa_arena_strdup(&f->arena, key),
                  vpa_arena_strdup(&f->arena, vpa_buf_text(&text)));
}

/* ---- requests ---- */

static int serve_first(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    struct fake_cluster *f = ctx;
    vpa_auto_arena arena = {0};
    const struct sim_place at = sim_place_of(&arena, q->path);

    if (strcmp(at.group, "metrics.k8s.io") == 0 && *at.resource)
        return serve_metrics(f, &at, r);
    if (strcmp(at.group, "external.metrics.k8s.io") == 0 && *at.resource)
        return serve_external(f, &at, q, r);
    return vpa_str_ends_with(q->path, "/scale") ? serve_scale(f, &at, q->path, r) : 0;
}

void fake_cluster_serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    sim_cluster_serve(((struct fake_cluster *)ctx)->sim, q, r);
}

/* ---- changes and steps ---- */

void fake_cluster_change(struct fake_cluster *f, const struct vpa_json *change)
{
    const struct vpa_json *what;

    if ((what = vpa_json_find(change, "apply")))
        (void)sim_cluster_apply(f->sim, what);
    else if ((what = vpa_json_find(change, "delete")))
        (void)sim_cluster_delete(f->sim, fake_text_at(what, "apiVersion"),
                                 fake_text_at(what, "kind"), fake_text_at(what, "namespace"),
                                 fake_text_at(what, "name"));
    else if ((what = vpa_json_find(change, "scale")))
        change_scale(f, what, true);
    else if ((what = vpa_json_find(change, "unscale")))
        change_scale(f, what, false);
    else if ((what = vpa_json_find(change, "close_watch")))
        sim_cluster_end_watches(f->sim, vpa_or_empty(vpa_json_string(what)), false);
}

static void add_fault(struct fake_cluster *f, const struct vpa_json *fault)
{
    struct sim_answer a = {.method = fake_text_at(fault, "method"),
                           .path = fake_text_at(fault, "path")};
    int64_t times = 0;
    int32_t code = 0;

    vpa_json_int64(vpa_json_find(fault, "times"), &times);
    vpa_json_int32(vpa_json_find(fault, "code"), &code);
    a.times = (unsigned)times;
    a.code = code;
    a.message = code == 403   ? "denied by test"
                : code == 404 ? NULL
                : code == 409 ? "object was modified"
                : code == 503 ? "simulated outage"
                              : "Internal error occurred: simulated failure";
    sim_cluster_answer(f->sim, &a);
}

void fake_cluster_set_step(struct fake_cluster *f, const struct vpa_json *step)
{
    fake_cluster_set_usage(f, step, 0);
    sim_cluster_unscript(f->sim);
    vpa_json_foreach (fault, vpa_json_find(step, "faults"))
        add_fault(f, fault);
    vpa_json_foreach (entry, vpa_json_find(step, "latency")) {
        int64_t ms = 0;

        vpa_json_int64(vpa_json_find(entry, "ms"), &ms);
        sim_cluster_answer(f->sim, &(struct sim_answer){.method = fake_text_at(entry, "method"),
                                                        .path = fake_text_at(entry, "path"),
                                                        .how = SIM_PATH_HOLDS,
                                                        .delay = ms * VPA_MILLISECOND});
    }
}

void fake_cluster_set_usage(struct fake_cluster *f, const struct vpa_json *step, size_t index)
{
    f->step = step;
    f->index = index;
}

/* ---- records ---- */

void fake_cluster_begin_record(struct fake_cluster *f)
{
    sim_cluster_begin_record(f->sim);
    f->pass_begin = vpa_loop_now(f->loop);
}

const struct sim_asked *fake_cluster_writes(const struct fake_cluster *f, size_t *count)
{
    return sim_cluster_writes(f->sim, count);
}

static int text_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Of usage, scales and the list of namespaces. */
static bool is_told(const char *target)
{
    return strstr(target, "metrics.k8s.io") || strstr(target, "/scale") ||
           strcmp(target, "/api/v1/namespaces") == 0 ||
           vpa_str_starts_with(target, "/api/v1/namespaces?");
}

struct fake_list fake_cluster_reads(const struct fake_cluster *f, struct vpa_arena *arena)
{
    size_t count;
    const struct sim_asked *reads = sim_cluster_reads(f->sim, &count);
    struct fake_list out = {.items = vpa_arena_alloc(arena, (count + 1) * sizeof *out.items)};

    for (size_t i = 0; i < count; i++)
        if (is_told(reads[i].path))
            out.items[out.count++] = vpa_arena_printf(arena, "%d %s", reads[i].code, reads[i].path);
    qsort(out.items, out.count, sizeof *out.items, text_cmp);
    return out;
}

const char *fake_content_of(const char *status)
{
    const char *comma = strchr(status, ',');

    return comma ? comma + 1 : status;
}

char *fake_cluster_checkpoint_content(const struct fake_cluster *f, const char *path)
{
    vpa_auto_arena arena = {0};
    const struct sim_place at = sim_place_of(&arena, path);
    const struct vpa_json *status =
        vpa_json_find(sim_cluster_find(f->sim, &arena, "autoscaling.k8s.io/v1",
                                       "VerticalPodAutoscalerCheckpoint", at.ns, at.name),
                      "status");
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);
    struct vpa_json_writer w;

    if (!status)
        return NULL;
    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, status);
    return vpa_xstrdup(fake_content_of(vpa_buf_text(&text)));
}

/* ---- life ---- */

struct fake_cluster *fake_cluster_new(struct vpa_loop *loop, const struct vpa_json *crds)
{
    struct fake_cluster *f = vpa_xcalloc(1, sizeof *f);

    f->loop = loop;
    f->sim = sim_cluster_new(loop);
    sim_cluster_hook(f->sim, serve_first, f);
    vpa_json_foreach (crd, crds) {
        bool scale = false;

        vpa_json_bool(vpa_json_find(crd, "scale"), &scale);
        sim_cluster_serve_kind(f->sim, fake_text_at(crd, "group"), fake_text_at(crd, "version"),
                               fake_text_at(crd, "resource"), fake_text_at(crd, "kind"), false,
                               scale);
    }
    return f;
}

void fake_cluster_free(struct fake_cluster *f)
{
    sim_cluster_free(f->sim);
    vpa_table_release(&f->scales);
    vpa_arena_release(&f->arena);
    free(f);
}
