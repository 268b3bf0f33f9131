#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cluster_internal.h"
#include "vpa/json/json_patch.h"

/* ---- replies ---- */

int fake_reply_json(struct fake_exchange *x, int code, const char *json)
{
    vpa_memory_reply_json(x->r, code, json);
    return code;
}

static int reply_not_found(struct fake_exchange *x)
{
    vpa_auto_free char *status = vpa_xprintf(
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"%s%s%s \\\"%s\\\" not found\",\"reason\":\"NotFound\","
        "\"details\":{\"name\":\"%s\",\"group\":\"%s\",\"kind\":\"%s\"},\"code\":404}",
        x->plural, *x->group ? "." : "", x->group, x->name, x->name, x->group, x->plural);

    return fake_reply_json(x, 404, status);
}

static int serve_list(struct fake_exchange *x)
{
    struct fake_cluster *f = x->f;
    vpa_auto_free struct fake_object **sorted =
        (struct fake_object **)vpa_table_sorted(&f->objects);
    vpa_auto_buf text = {0};
    bool first = true;

    vpa_buf_init(&text, FAKE_TEXT_MAX);
    vpa_buf_printf(&text,
                   "{\"kind\":\"%sList\",\"metadata\":{\"resourceVersion\":\"%llu\"},\"items\":[",
                   x->resource->kind, (unsigned long long)f->version);
    for (size_t i = 0; i < f->objects.count; i++) {
        const struct fake_object *o = sorted[i];

        if (o->resource != x->resource || (*x->ns && strcmp(o->ns, x->ns) != 0) ||
            !fake_is_selected(o))
            continue;
        if (!first)
            vpa_buf_putc(&text, ',');
        first = false;
        vpa_buf_puts(&text, o->text);
    }
    vpa_buf_puts(&text, "]}");
    return fake_reply_json(x, 200, vpa_buf_text(&text));
}

static void on_watch_closed(void *ctx)
{
    struct fake_watch *w = ctx;

    for (struct fake_watch **link = &w->cluster->watches; *link; link = &(*link)->next)
        if (*link == w) {
            *link = w->next;
            break;
        }
    free(w->ns);
    free(w);
}

static int serve_watch(struct fake_exchange *x)
{
    struct fake_cluster *f = x->f;
    const char *from = vpa_memory_query(x->q, "resourceVersion");
    uint64_t version = from && *from ? strtoull(from, NULL, 10) : 0;
    struct fake_watch *w = vpa_xcalloc(1, sizeof *w);

    w->cluster = f;
    w->resource = x->resource;
    w->ns = vpa_xstrdup(x->ns);
    w->stream = vpa_memory_reply_stream(x->r, 200, on_watch_closed, w);
    w->next = f->watches;
    f->watches = w;
    if (!from || !*from) {
        vpa_auto_free struct fake_object **sorted =
            (struct fake_object **)vpa_table_sorted(&f->objects);

        for (size_t i = 0; i < f->objects.count; i++)
            if (sorted[i]->resource == x->resource && fake_is_selected(sorted[i]) &&
                (!*x->ns || strcmp(x->ns, sorted[i]->ns) == 0))
                vpa_memory_stream_event(w->stream, "ADDED", sorted[i]->text);
    } else {
        for (size_t i = 0; i < f->log_count; i++)
            if (f->log[i].version > version && f->log[i].resource == x->resource &&
                (!*x->ns || strcmp(x->ns, f->log[i].ns) == 0))
                vpa_memory_stream_event(w->stream, f->log[i].type, f->log[i].text);
    }
    return 200;
}

static int serve_patch(struct fake_exchange *x)
{
    struct fake_cluster *f = x->f;
    vpa_auto_arena arena = {0};
    const struct vpa_json *ops;
    struct fake_object *o = fake_find_object(f, x->resource, x->ns, x->name);

    if (!o)
        return reply_not_found(x);
    if (vpa_json_parse(&arena, x->q->body, x->q->body_len, &ops, NULL) < 0)
        return fake_reply_json(x, 400, "{}");
    const struct vpa_json *patched;
    vpa_auto_buf text = {0};
    vpa_buf_init(&text, FAKE_TEXT_MAX);
    if (vpa_json_patch_apply(o->root, ops, &text, NULL) < 0 ||
        vpa_json_parse(&arena, vpa_buf_text(&text), text.len, &patched, NULL) < 0) {
        vpa_memory_reply_status(x->r, 422, "Invalid",
                                "the server rejected our request due to an error "
                                "in our request");
        return 422;
    }
    struct fake_object *after = fake_make_object(f, x->resource, patched, o, NULL, NULL);
    int code = fake_reply_json(x, 200, after->text);
    fake_replace(f, o, after);
    return code;
}

static int serve_create(struct fake_exchange *x)
{
    struct fake_cluster *f = x->f;
    vpa_auto_arena arena = {0};
    const struct vpa_json *given;

    if (vpa_json_parse(&arena, x->q->body, x->q->body_len, &given, NULL) < 0)
        return fake_reply_json(x, 400, "{}");
    x->name = fake_text_at(given, "metadata.name");
    if (fake_find_object(f, x->resource, x->ns, x->name)) {
        vpa_auto_free char *message = vpa_xprintf("%s%s%s \"%s\" already exists", x->plural,
                                                  *x->group ? "." : "", x->group, x->name);

        vpa_memory_reply_status(x->r, 409, "AlreadyExists", message);
        return 409;
    }
    struct fake_object *o = fake_make_object(f, x->resource, given, NULL, NULL, x->ns);
    int code = fake_reply_json(x, 201, o->text);
    fake_replace(f, NULL, o);
    return code;
}

static int serve_delete(struct fake_exchange *x)
{
    struct fake_object *o = fake_find_object(x->f, x->resource, x->ns, x->name);

    if (!o)
        return reply_not_found(x);
    x->f->version++;
    fake_replace(x->f, o, NULL);
    return fake_reply_json(x, 200,
                           "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}");
}

static int serve_scale(struct fake_exchange *x)
{
    vpa_auto_free char *key = fake_scale_key(x->group, x->plural, x->ns, x->name);
    const char *scale = vpa_table_find(&x->f->scales, key);

    if (scale)
        return fake_reply_json(x, 200, scale);
    if (x->resource && x->resource->scale)
        return reply_not_found(x);
    vpa_memory_reply_bytes(x->r, 404, "text/plain", "404 page not found\n", 19);
    return 404;
}

/* ---- discovery ---- */

static int serve_group(struct fake_exchange *x)
{
    vpa_auto_buf text = {0};
    bool first = true;

    vpa_buf_init(&text, FAKE_TEXT_MAX);
    vpa_buf_printf(
        &text,
        "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"%s%s%s\","
        "\"resources\":[",
        x->group, *x->group ? "/" : "", x->version);
    for (size_t i = 0; i < x->f->resource_count; i++) {
        const struct fake_resource *r = &x->f->resources[i];

        if (strcmp(r->group, x->group) != 0 || strcmp(r->version, x->version) != 0)
            continue;
        vpa_buf_printf(
            &text,
            "%s{\"name\":\"%s\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"%s\","
            "\"verbs\":[\"get\",\"list\"]}",
            first ? "" : ",", r->plural, r->kind);
        first = false;
        if (r->scale)
            vpa_buf_printf(&text,
                           ",{\"name\":\"%s/scale\",\"singularName\":\"\",\"namespaced\":true,"
                           "\"group\":\"autoscaling\",\"version\":\"v1\",\"kind\":\"Scale\","
                           "\"verbs\":[\"get\"]}",
                           r->plural);
    }
    vpa_buf_puts(&text, "]}");
    if (first) {
        vpa_memory_reply_bytes(x->r, 404, "text/plain", "404 page not found\n", 19);
        return 404;
    }
    return fake_reply_json(x, 200, vpa_buf_text(&text));
}

static int serve_one_group(struct fake_exchange *x)
{
    for (size_t i = 0; i < x->f->resource_count; i++) {
        const struct fake_resource *r = &x->f->resources[i];

        if (strcmp(r->group, x->group) != 0)
            continue;
        vpa_auto_free char *text = vpa_xprintf(
            "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"%s\",\"versions\":[{"
            "\"groupVersion\":"
            "\"%s/%s\",\"version\":\"%s\"}],\"preferredVersion\":{\"groupVersion\":\"%s/%s\","
            "\"version\":\"%s\"}}",
            r->group, r->group, r->version, r->version, r->group, r->version, r->version);
        return fake_reply_json(x, 200, text);
    }
    vpa_memory_reply_bytes(x->r, 404, "text/plain", "404 page not found\n", 19);
    return 404;
}

static int serve_groups(struct fake_exchange *x)
{
    vpa_auto_buf text = {0};
    const char *last = "";
    bool first = true;

    vpa_buf_init(&text, FAKE_TEXT_MAX);
    vpa_buf_puts(&text, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    for (size_t i = 0; i < x->f->resource_count; i++) {
        const struct fake_resource *r = &x->f->resources[i];

        if (!*r->group || strcmp(r->group, last) == 0)
            continue;
        last = r->group;
        vpa_buf_printf(
            &text,
            "%s{\"name\":\"%s\",\"versions\":[{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}],"
            "\"preferredVersion\":{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}}",
            first ? "" : ",", r->group, r->group, r->version, r->version, r->group, r->version,
            r->version);
        first = false;
    }
    vpa_buf_puts(&text, "]}");
    return fake_reply_json(x, 200, vpa_buf_text(&text));
}

/* ---- requests ---- */

/* /api/v1/... and /apis/G/V/... into parts; missing ones are "". */
static void split_path(struct fake_exchange *x, struct vpa_arena *arena)
{
    const char *rest = vpa_arena_strdup(arena, x->q->path + 1);
    const char *parts[8] = {"", "", "", "", "", "", "", ""};
    struct vpa_slice piece;
    size_t n = 0;
    size_t i;

    while (n < 8 && vpa_str_split(&rest, '/', &piece))
        parts[n++] = vpa_arena_strndup(arena, piece.ptr, piece.len);
    bool core = strcmp(parts[0], "api") == 0;
    x->group = core ? "" : parts[1];
    x->version = core ? parts[1] : parts[2];
    i = core ? 2 : 3;
    x->ns = "";
    if (strcmp(parts[i], "namespaces") == 0 && i + 2 < 8 && *parts[i + 2]) {
        x->ns = parts[i + 1];
        i += 2;
    }
    x->plural = parts[i];
    x->name = i + 1 < 8 ? parts[i + 1] : "";
    x->sub = i + 2 < 8 ? parts[i + 2] : "";
    x->resource = fake_resource_of_plural(x->f, x->group, x->version, x->plural);
}

static int dispatch(struct fake_exchange *x)
{
    const char *method = x->q->method;

    if (strcmp(x->q->path, "/apis") == 0)
        return serve_groups(x);
    if (strcmp(x->q->path, "/api") == 0)
        return fake_reply_json(x, 200, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}");
    if (!*x->plural)
        return *x->version ? serve_group(x) : serve_one_group(x);
    if (strcmp(x->group, "metrics.k8s.io") == 0)
        return fake_serve_metrics(x);
    if (strcmp(x->group, "external.metrics.k8s.io") == 0)
        return fake_serve_external(x);
    if (strcmp(x->sub, "scale") == 0)
        return serve_scale(x);
    if (!x->resource) {
        vpa_memory_reply_bytes(x->r, 404, "text/plain", "404 page not found\n", 19);
        return 404;
    }
    if (strcmp(method, "PATCH") == 0)
        return serve_patch(x);
    if (strcmp(method, "POST") == 0)
        return serve_create(x);
    if (strcmp(method, "DELETE") == 0)
        return serve_delete(x);
    if (vpa_memory_query(x->q, "watch"))
        return serve_watch(x);
    return *x->name ? reply_not_found(x) : serve_list(x);
}

/* A fault of the step, or 0. */
static int fault_of(struct fake_exchange *x)
{
    size_t i = 0;

    vpa_json_foreach (fault, vpa_json_find(x->f->step, "faults")) {
        int64_t times = 0;
        int32_t code = 0;
        size_t at = i++;

        if (strcmp(fake_text_at(fault, "method"), x->q->method) != 0 ||
            !vpa_str_ends_with(x->q->path, fake_text_at(fault, "path")))
            continue;
        vpa_json_int64(vpa_json_find(fault, "times"), &times);
        vpa_json_int32(vpa_json_find(fault, "code"), &code);
        if (times > 0 && at < VPA_COUNT(x->f->fault_uses) &&
            x->f->fault_uses[at]++ >= (unsigned)times)
            continue;
        return code;
    }
    return 0;
}

static int serve_fault(struct fake_exchange *x, int code)
{
    const char *message = code == 403   ? "denied by test"
                          : code == 409 ? "object was modified"
                          : code == 503 ? "simulated outage"
                                        : "Internal error occurred: simulated failure";

    if (code == 404)
        return reply_not_found(x);
    vpa_memory_reply_status(x->r, code, NULL, message);
    return code;
}

int64_t fake_latency_of(struct fake_exchange *x)
{
    vpa_json_foreach (entry, vpa_json_find(x->f->step, "latency")) {
        int64_t ms = 0;

        if (strcmp(fake_text_at(entry, "method"), x->q->method) != 0 ||
            !strstr(x->q->path, fake_text_at(entry, "path")))
            continue;
        vpa_json_int64(vpa_json_find(entry, "ms"), &ms);
        return ms;
    }
    return 0;
}

static void record(struct fake_exchange *x, int code)
{
    struct fake_cluster *f = x->f;
    bool is_usage = strstr(x->group, "metrics.k8s.io") != NULL;
    bool is_namespaces = strcmp(x->q->path, "/api/v1/namespaces") == 0;

    if (strcmp(x->q->method, "GET") == 0) {
        if (!is_usage && !is_namespaces && strcmp(x->sub, "scale") != 0)
            return;
        VPA_GROW(f->reads.items, f->reads.count, f->reads.capacity);
        f->reads.items[f->reads.count++] =
            vpa_arena_printf(&f->record, "%d %s", code, x->q->target);
        return;
    }
    VPA_GROW(f->writes, f->write_count, f->write_capacity);
    vpa_time now = vpa_loop_now(f->loop);
    f->writes[f->write_count++] = (struct fake_write){
        .method = vpa_arena_strdup(&f->record, x->q->method),
        .path = vpa_arena_strdup(&f->record, x->q->target),
        .type = vpa_arena_strdup(&f->record, vpa_or_empty(vpa_memory_header(x->q, "Content-Type"))),
        .body = vpa_arena_strndup(&f->record, x->q->body, x->q->body_len),
        .code = code,
        .at_ms = vpa_time_sub(now, f->pass_begin) / VPA_MILLISECOND,
        .time = now};
}

void fake_cluster_serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    vpa_auto_arena arena = {0};
    struct fake_exchange x = {.f = ctx, .q = q, .r = r};

    split_path(&x, &arena);
    int code = fault_of(&x);
    code = code ? serve_fault(&x, code) : dispatch(&x);
    if (!x.answered_later && fake_latency_of(&x) > 0)
        vpa_memory_reply_delay(r, fake_latency_of(&x) * VPA_MILLISECOND);
    record(&x, code);
}

/* ---- records ---- */

void fake_cluster_set_step(struct fake_cluster *f, const struct vpa_json *step)
{
    f->step = step;
    f->index = 0;
    memset(f->fault_uses, 0, sizeof f->fault_uses);
}

void fake_cluster_set_usage(struct fake_cluster *f, const struct vpa_json *step, size_t index)
{
    f->step = step;
    f->index = index;
}

void fake_cluster_begin_record(struct fake_cluster *f)
{
    vpa_arena_clear(&f->record);
    f->write_count = 0;
    f->reads.count = 0;
    f->pass_begin = vpa_loop_now(f->loop);
}

const struct fake_write *fake_cluster_writes(const struct fake_cluster *f, size_t *count)
{
    *count = f->write_count;
    return f->writes;
}

static int text_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

const struct fake_list *fake_cluster_reads(struct fake_cluster *f)
{
    if (f->reads.count > 0)
        qsort(f->reads.items, f->reads.count, sizeof f->reads.items[0], text_cmp);
    return &f->reads;
}

const char *fake_content_of(const char *status)
{
    const char *comma = strchr(status, ',');

    return comma ? comma + 1 : status;
}

char *fake_cluster_checkpoint_content(const struct fake_cluster *f, const char *path)
{
    struct vpa_arena arena = {0};
    struct vpa_memory_request q = {.path = path};
    struct fake_exchange x = {.f = (struct fake_cluster *)f, .q = &q};
    char *content = NULL;

    split_path(&x, &arena);
    struct fake_object *o = x.resource ? fake_find_object(f, x.resource, x.ns, x.name) : NULL;
    if (o && vpa_json_find(o->root, "status")) {
        struct vpa_json_writer w;
        vpa_auto_buf text = {0};

        vpa_buf_init(&text, FAKE_TEXT_MAX);
        vpa_json_writer_init(&w, &text);
        vpa_json_put_node(&w, vpa_json_find(o->root, "status"));
        content = vpa_xstrdup(fake_content_of(vpa_buf_text(&text)));
    }
    vpa_arena_release(&arena);
    return content;
}

/* ---- life ---- */

struct fake_cluster *fake_cluster_new(struct vpa_loop *loop, const struct vpa_json *crds)
{
    struct fake_cluster *f = vpa_xcalloc(1, sizeof *f);

    f->loop = loop;
    fake_store_init(f, crds);
    return f;
}

void fake_cluster_free(struct fake_cluster *f)
{
    fake_usage_release(f);
    fake_store_release(f);
    free(f->writes);
    free(f->reads.items);
    vpa_arena_release(&f->record);
    vpa_arena_release(&f->arena);
    free(f);
}
