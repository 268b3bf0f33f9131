#include "fake_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define TEXT_MAX ((size_t)64 << 20)
#define LOG_MAX 20000 /* events a watch can go back */

struct resource {      /* what the server knows */
    const char *group; /* "" core */
    const char *version;
    const char *plural;
    const char *kind;
    bool namespaced;
    bool scale;
};
static const struct resource built_in[] = {
    {"", "v1", "pods", "Pod", true, false},
    {"", "v1", "namespaces", "Namespace", false, false},
    {"", "v1", "nodes", "Node", false, false},
    {"", "v1", "events", "Event", true, false},
    {"", "v1", "limitranges", "LimitRange", true, false},
    {"", "v1", "replicationcontrollers", "ReplicationController", true, true},
    {"apps", "v1", "daemonsets", "DaemonSet", true, false},
    {"apps", "v1", "deployments", "Deployment", true, true},
    {"apps", "v1", "replicasets", "ReplicaSet", true, true},
    {"apps", "v1", "statefulsets", "StatefulSet", true, true},
    {"batch", "v1", "jobs", "Job", true, false},
    {"batch", "v1", "cronjobs", "CronJob", true, false},
    {"autoscaling.k8s.io", "v1", "verticalpodautoscalers", "VerticalPodAutoscaler", true, false},
    {"autoscaling.k8s.io", "v1", "verticalpodautoscalercheckpoints",
     "VerticalPodAutoscalerCheckpoint", true, false},
};

struct object {
    char *key; /* resource index, namespace, name */
    const struct resource *resource;
    struct vpa_arena arena;
    const struct vpa_json *root;
    char *text;
    const char *ns;
    const char *name;
};
struct log_entry {
    uint64_t version;
    const struct resource *resource;
    char *ns;
    const char *type;
    char *text;
};
struct watch {
    struct fake_cluster *cluster;
    struct vpa_memory_stream *stream;
    const struct resource *resource;
    char *ns;
    struct watch *next;
};

struct slow_answer;
struct fake_cluster {
    struct vpa_loop *loop;
    struct vpa_arena arena; /* lives as long as the cluster */
    struct resource *resources;
    size_t resource_count;
    struct vpa_table objects;
    struct vpa_table scales; /* "group|plural|ns|name" -> JSON text */
    struct log_entry *log;
    size_t log_count, log_capacity;
    struct watch *watches;
    struct slow_answer *slow;
    uint64_t version;
    const struct vpa_json *step;
    size_t index;
    vpa_time pass_begin;
    unsigned fault_uses[32];
    struct vpa_arena record; /* of one pass */
    struct fake_write *writes;
    size_t write_count, write_capacity;
    struct fake_list reads;
};

/* ---- resources ---- */

static const char *text_at(const struct vpa_json *node, const char *path)
{
    return vpa_or_empty(vpa_json_string(vpa_json_at(node, path)));
}

static const struct resource *resource_of_kind(const struct fake_cluster *f,
                                               const char *api_version, const char *kind)
{
    const char *slash = strchr(api_version, '/');
    size_t group_len = slash ? (size_t)(slash - api_version) : 0;

    for (size_t i = 0; i < f->resource_count; i++) {
        const struct resource *r = &f->resources[i];

        if (strlen(r->group) == group_len && strncmp(r->group, api_version, group_len) == 0 &&
            strcmp(r->kind, kind) == 0)
            return r;
    }
    return NULL;
}

static const struct resource *resource_of_plural(const struct fake_cluster *f, const char *group,
                                                 const char *version, const char *plural)
{
    for (size_t i = 0; i < f->resource_count; i++) {
        const struct resource *r = &f->resources[i];

        if (strcmp(r->group, group) == 0 && strcmp(r->version, version) == 0 &&
            strcmp(r->plural, plural) == 0)
            return r;
    }
    return NULL;
}

static char *object_key(const struct resource *r, const char *ns, const char *name)
{
    return vpa_xprintf("%s/%s\x01%s\x01%s", r->group, r->plural, ns, name);
}

/* ---- objects and watches ---- */

static bool selected(const struct object *o)
{
    if (!o)
        return false;
    if (strcmp(o->resource->plural, "pods") == 0)
        return strcmp(text_at(o->root, "status.phase"), "Pending") != 0;
    if (strcmp(o->resource->plural, "events") == 0)
        return strcmp(text_at(o->root, "reason"), "Evicted") == 0;
    return true;
}

static void publish(struct fake_cluster *f, const struct object *o, const char *type)
{
    if (f->log_count == LOG_MAX) {
        for (size_t i = 0; i < LOG_MAX / 2; i++) {
            free(f->log[i].ns);
            free(f->log[i].text);
        }
        memmove(f->log, f->log + LOG_MAX / 2, (LOG_MAX - LOG_MAX / 2) * sizeof *f->log);
        f->log_count -= LOG_MAX / 2;
    }
    VPA_GROW(f->log, f->log_count, f->log_capacity);
    f->log[f->log_count++] =
        (struct log_entry){f->version, o->resource, vpa_xstrdup(o->ns), type, vpa_xstrdup(o->text)};
    for (struct watch *w = f->watches; w; w = w->next)
        if (w->resource == o->resource && (!*w->ns || strcmp(w->ns, o->ns) == 0))
            vpa_memory_stream_event(w->stream, type, o->text);
}

static void object_free(struct object *o)
{
    if (!o)
        return;
    vpa_arena_release(&o->arena);
    free(o->text);
    free(o->key);
    free(o);
}

/* before may be NULL; after may be NULL. Frees before. */
static void replace(struct fake_cluster *f, struct object *before, struct object *after)
{
    bool old_selected = selected(before);
    bool new_selected = selected(after);

    if (after)
        vpa_table_put(&f->objects, after->key, after);
    else if (before)
        vpa_table_remove(&f->objects, before->key);
    if (new_selected)
        publish(f, after, old_selected ? "MODIFIED" : "ADDED");
    else if (old_selected)
        publish(f, after ? after : before, "DELETED");
    object_free(before);
}

/* Metadata as the server completes it. */
static void put_metadata(struct fake_cluster *f, struct vpa_json_writer *w,
                         const struct vpa_json *given, const struct vpa_json *stored,
                         const char *ns)
{
    const struct vpa_json *creation = vpa_json_find(stored, "creationTimestamp");
    char version[32];
    char uid[40];

    if (!creation)
        creation = vpa_json_find(given, "creationTimestamp");
    snprintf(version, sizeof version, "%llu", (unsigned long long)f->version);
    snprintf(uid, sizeof uid, "uid-%llu", (unsigned long long)f->version);
    vpa_json_open_object(w);
    vpa_json_foreach (m, given) {
        const char *name = vpa_json_name(m);

        if (strcmp(name, "creationTimestamp") == 0 || strcmp(name, "resourceVersion") == 0 ||
            strcmp(name, "uid") == 0)
            continue;
        vpa_json_key(w, name);
        vpa_json_put_node(w, m);
    }
    if (ns && !vpa_json_find(given, "namespace"))
        vpa_json_member_string(w, "namespace", ns);
    vpa_json_key(w, "creationTimestamp");
    if (creation)
        vpa_json_put_node(w, creation);
    else
        vpa_json_put_time(w, vpa_loop_now(f->loop));
    vpa_json_member_string(w, "resourceVersion", version);
    const char *stored_uid = vpa_json_string(vpa_json_find(stored, "uid"));
    vpa_json_member_string(w, "uid", stored_uid ? stored_uid : uid);
    vpa_json_close_object(w);
}

/* given without status keeps the stored one for VPAs; status overrides both when not NULL. */
static struct object *make(struct fake_cluster *f, const struct resource *r,
                           const struct vpa_json *given, const struct object *before,
                           const struct vpa_json *status, const char *ns)
{
    struct object *o = vpa_xcalloc(1, sizeof *o);
    struct vpa_json_writer w;
    struct vpa_buf text;

    f->version++;
    vpa_buf_init(&text, TEXT_MAX);
    vpa_json_writer_init(&w, &text);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", r->kind);
    vpa_json_member_string(&w, "apiVersion",
                           *r->group ? vpa_arena_printf(&o->arena, "%s/%s", r->group, r->version)
                                     : r->version);
    vpa_json_key(&w, "metadata");
    put_metadata(f, &w, vpa_json_find(given, "metadata"),
                 before ? vpa_json_find(before->root, "metadata") : NULL, ns);
    vpa_json_foreach (m, given) {
        const char *name = vpa_json_name(m);

        if (strcmp(name, "kind") == 0 || strcmp(name, "apiVersion") == 0 ||
            strcmp(name, "metadata") == 0 || (status && strcmp(name, "status") == 0))
            continue;
        vpa_json_key(&w, name);
        vpa_json_put_node(&w, m);
    }
    if (!status && before && strcmp(r->kind, "VerticalPodAutoscaler") == 0 &&
        !vpa_json_find(given, "status"))
        status = vpa_json_find(before->root, "status");
    if (status) {
        vpa_json_key(&w, "status");
        vpa_json_put_node(&w, status);
    }
    vpa_json_close_object(&w);
    o->resource = r;
    o->text = vpa_buf_take(&text);
    if (vpa_json_parse(&o->arena, o->text, strlen(o->text), &o->root, NULL) < 0)
        abort();
    o->ns = text_at(o->root, "metadata.namespace");
    o->name = text_at(o->root, "metadata.name");
    o->key = object_key(r, o->ns, o->name);
    return o;
}

static struct object *find_object(const struct fake_cluster *f, const struct resource *r,
                                  const char *ns, const char *name)
{
    vpa_auto_free char *key = object_key(r, ns, name);

    return vpa_table_find(&f->objects, key);
}

static void apply(struct fake_cluster *f, const struct vpa_json *given)
{
    const struct resource *r =
        resource_of_kind(f, text_at(given, "apiVersion"), text_at(given, "kind"));

    if (!r)
        return;
    struct object *before =
        find_object(f, r, text_at(given, "metadata.namespace"), text_at(given, "metadata.name"));
    replace(f, before, make(f, r, given, before, NULL, NULL));
}

static char *scale_key(const char *group, const char *plural, const char *ns, const char *name)
{
    return vpa_xprintf("%s|%s|%s|%s", group, plural, ns, name);
}

static void change_scale(struct fake_cluster *f, const struct vpa_json *scale, bool there)
{
    vpa_auto_free char *key = scale_key(text_at(scale, "group"), text_at(scale, "resource"),
                                        text_at(scale, "namespace"), text_at(scale, "name"));

    if (there) {
        struct vpa_json_writer w;
        struct vpa_buf text;

        vpa_buf_init(&text, TEXT_MAX);
        vpa_json_writer_init(&w, &text);
        vpa_json_put_node(&w, vpa_json_find(scale, "object"));
        vpa_table_put(&f->scales, vpa_arena_strdup(&f->arena, key),
                      vpa_arena_strdup(&f->arena, vpa_buf_text(&text)));
        vpa_buf_release(&text);
    } else {
        vpa_table_remove(&f->scales, key);
    }
}

static void close_watches(struct fake_cluster *f, const char *plural)
{
    for (struct watch **link = &f->watches; *link;) {
        struct watch *w = *link;

        if (strcmp(w->resource->plural, plural) != 0) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        vpa_memory_stream_end(w->stream, VPA_TRANSPORT_OK);
        free(w->ns);
        free(w);
    }
}

void fake_cluster_change(struct fake_cluster *f, const struct vpa_json *change)
{
    const struct vpa_json *what;

    if ((what = vpa_json_find(change, "apply"))) {
        apply(f, what);
    } else if ((what = vpa_json_find(change, "delete"))) {
        const struct resource *r =
            resource_of_kind(f, text_at(what, "apiVersion"), text_at(what, "kind"));
        struct object *o =
            r ? find_object(f, r, text_at(what, "namespace"), text_at(what, "name")) : NULL;

        if (o) {
            f->version++;
            replace(f, o, NULL);
        }
    } else if ((what = vpa_json_find(change, "scale"))) {
        change_scale(f, what, true);
    } else if ((what = vpa_json_find(change, "unscale"))) {
        change_scale(f, what, false);
    } else if ((what = vpa_json_find(change, "close_watch"))) {
        close_watches(f, vpa_or_empty(vpa_json_string(what)));
    }
}

/* ---- replies ---- */

struct exchange {
    struct fake_cluster *f;
    const struct vpa_memory_request *q;
    struct vpa_memory_reply *r;
    const char *group;
    const char *version;
    const char *ns;
    const char *plural;
    const char *name;
    const char *sub;
    const struct resource *resource;
    bool answered_later;
};

static int reply_json(struct exchange *x, int code, const char *json)
{
    vpa_memory_reply_json(x->r, code, json);
    return code;
}

static int reply_not_found(struct exchange *x)
{
    vpa_auto_free char *message =
        vpa_xprintf("%s%s%s \"%s\" not found", x->plural, *x->group ? "." : "", x->group, x->name);

    vpa_memory_reply_status(x->r, 404, NULL, message);
    return 404;
}

static int serve_list(struct exchange *x)
{
    struct fake_cluster *f = x->f;
    vpa_auto_free struct object **sorted = (struct object **)vpa_table_sorted(&f->objects);
    vpa_auto_buf text = {0};
    bool first = true;

    vpa_buf_init(&text, TEXT_MAX);
    vpa_buf_printf(&text,
                   "{\"kind\":\"%sList\",\"metadata\":{\"resourceVersion\":\"%llu\"},\"items\":[",
                   x->resource->kind, (unsigned long long)f->version);
    for (size_t i = 0; i < f->objects.count; i++) {
        const struct object *o = sorted[i];

        if (o->resource != x->resource || (*x->ns && strcmp(o->ns, x->ns) != 0) || !selected(o))
            continue;
        if (!first)
            vpa_buf_putc(&text, ',');
        first = false;
        vpa_buf_puts(&text, o->text);
    }
    vpa_buf_puts(&text, "]}");
    return reply_json(x, 200, vpa_buf_text(&text));
}

static void on_watch_closed(void *ctx)
{
    struct watch *w = ctx;

    for (struct watch **link = &w->cluster->watches; *link; link = &(*link)->next)
        if (*link == w) {
            *link = w->next;
            break;
        }
    free(w->ns);
    free(w);
}

static int serve_watch(struct exchange *x)
{
    struct fake_cluster *f = x->f;
    const char *from = vpa_memory_query(x->q, "resourceVersion");
    uint64_t version = from && *from ? strtoull(from, NULL, 10) : 0;
    struct watch *w = vpa_xcalloc(1, sizeof *w);

    w->cluster = f;
    w->resource = x->resource;
    w->ns = vpa_xstrdup(x->ns);
    w->stream = vpa_memory_reply_stream(x->r, 200, on_watch_closed, w);
    w->next = f->watches;
    f->watches = w;
    if (!from || !*from) {
        vpa_auto_free struct object **sorted = (struct object **)vpa_table_sorted(&f->objects);

        for (size_t i = 0; i < f->objects.count; i++)
            if (sorted[i]->resource == x->resource && selected(sorted[i]) &&
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

static int serve_patch(struct exchange *x)
{
    struct fake_cluster *f = x->f;
    vpa_auto_arena arena = {0};
    const struct vpa_json *ops;
    struct object *o = find_object(f, x->resource, x->ns, x->name);

    if (!o)
        return reply_not_found(x);
    if (vpa_json_parse(&arena, x->q->body, x->q->body_len, &ops, NULL) < 0)
        return reply_json(x, 400, "{}");
    const struct vpa_json *op = vpa_json_first(ops);
    if (strcmp(text_at(op, "op"), "replace") == 0 && !vpa_json_find(o->root, "status")) {
        vpa_memory_reply_status(x->r, 422, "Invalid",
                                "the server rejected our request due to an error "
                                "in our request");
        return 422;
    }
    struct object *after = make(f, x->resource, o->root, o, vpa_json_find(op, "value"), NULL);
    int code = reply_json(x, 200, after->text);
    replace(f, o, after);
    return code;
}

static int serve_create(struct exchange *x)
{
    struct fake_cluster *f = x->f;
    vpa_auto_arena arena = {0};
    const struct vpa_json *given;

    if (vpa_json_parse(&arena, x->q->body, x->q->body_len, &given, NULL) < 0)
        return reply_json(x, 400, "{}");
    x->name = text_at(given, "metadata.name");
    if (find_object(f, x->resource, x->ns, x->name)) {
        vpa_auto_free char *message = vpa_xprintf("%s%s%s \"%s\" already exists", x->plural,
                                                  *x->group ? "." : "", x->group, x->name);

        vpa_memory_reply_status(x->r, 409, "AlreadyExists", message);
        return 409;
    }
    struct object *o = make(f, x->resource, given, NULL, NULL, x->ns);
    int code = reply_json(x, 201, o->text);
    replace(f, NULL, o);
    return code;
}

static int serve_delete(struct exchange *x)
{
    struct object *o = find_object(x->f, x->resource, x->ns, x->name);

    if (!o)
        return reply_not_found(x);
    x->f->version++;
    replace(x->f, o, NULL);
    return reply_json(x, 200, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}");
}

static int serve_scale(struct exchange *x)
{
    vpa_auto_free char *key = scale_key(x->group, x->plural, x->ns, x->name);
    const char *scale = vpa_table_find(&x->f->scales, key);

    if (scale)
        return reply_json(x, 200, scale);
    if (x->resource && x->resource->scale)
        return reply_not_found(x);
    vpa_memory_reply_bytes(x->r, 404, "text/plain", "404 page not found\n", 19);
    return 404;
}

/* ---- discovery ---- */

static int serve_group(struct exchange *x)
{
    vpa_auto_buf text = {0};
    bool first = true;

    vpa_buf_init(&text, TEXT_MAX);
    vpa_buf_printf(
        &text,
        "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"%s%s%s\","
        "\"resources\":[",
        x->group, *x->group ? "/" : "", x->version);
    for (size_t i = 0; i < x->f->resource_count; i++) {
        const struct resource *r = &x->f->resources[i];

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
    return reply_json(x, 200, vpa_buf_text(&text));
}

static int serve_one_group(struct exchange *x)
{
    for (size_t i = 0; i < x->f->resource_count; i++) {
        const struct resource *r = &x->f->resources[i];

        if (strcmp(r->group, x->group) != 0)
            continue;
        vpa_auto_free char *text = vpa_xprintf(
            "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"%s\",\"versions\":[{"
            "\"groupVersion\":"
            "\"%s/%s\",\"version\":\"%s\"}],\"preferredVersion\":{\"groupVersion\":\"%s/%s\","
            "\"version\":\"%s\"}}",
            r->group, r->group, r->version, r->version, r->group, r->version, r->version);
        return reply_json(x, 200, text);
    }
    vpa_memory_reply_bytes(x->r, 404, "text/plain", "404 page not found\n", 19);
    return 404;
}

static int serve_groups(struct exchange *x)
{
    vpa_auto_buf text = {0};
    const char *last = "";
    bool first = true;

    vpa_buf_init(&text, TEXT_MAX);
    vpa_buf_puts(&text, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    for (size_t i = 0; i < x->f->resource_count; i++) {
        const struct resource *r = &x->f->resources[i];

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
    return reply_json(x, 200, vpa_buf_text(&text));
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
    vpa_json_key(w, "metadata");
    vpa_json_open_object(w);
    vpa_json_member_string(w, "name", text_at(entry, "pod"));
    vpa_json_member_string(w, "namespace", text_at(entry, "namespace"));
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
        vpa_json_member_string(w, "name", text_at(container, "name"));
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
        if (!*ns || strcmp(text_at(item, "metadata.namespace"), ns) == 0)
            vpa_json_put_node(&w, item);
    vpa_json_foreach (entry, vpa_json_find(f->step, "usage"))
        if (!*ns || strcmp(text_at(entry, "namespace"), ns) == 0)
            put_usage_item(f, &w, entry);
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
}

/* A slow answer tells what the usage is when it is given, not when it was asked for. */
struct slow_answer {
    struct fake_cluster *cluster;
    struct vpa_memory_stream *stream;
    struct vpa_timer *timer;
    char *ns;
    struct slow_answer *next;
};

static void slow_answer_free(struct slow_answer *a)
{
    for (struct slow_answer **link = &a->cluster->slow; *link; link = &(*link)->next)
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
    struct slow_answer *a = ctx;
    vpa_auto_buf text = {0};

    vpa_buf_init(&text, TEXT_MAX);
    put_metrics(a->cluster, a->ns, &text);
    vpa_memory_stream_push(a->stream, vpa_buf_text(&text), text.len);
    vpa_memory_stream_end(a->stream, VPA_TRANSPORT_OK);
    slow_answer_free(a);
}

static int64_t latency_of(struct exchange *x);

static int serve_metrics(struct exchange *x)
{
    struct fake_cluster *f = x->f;
    int64_t latency = latency_of(x);
    vpa_auto_buf text = {0};
    int32_t code = 0;

    if (vpa_json_int32(vpa_json_find(f->step, "metrics_code"), &code) && code != 200) {
        vpa_memory_reply_status(x->r, code, NULL, "simulated failure of the metrics API");
        return code;
    }
    if (latency > 0) {
        struct slow_answer *a = vpa_xcalloc(1, sizeof *a);

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
    vpa_buf_init(&text, TEXT_MAX);
    put_metrics(f, x->ns, &text);
    return reply_json(x, 200, vpa_buf_text(&text));
}

static int serve_external(struct exchange *x)
{
    const char *selector = vpa_or_empty(vpa_memory_query(x->q, "labelSelector"));
    struct vpa_json_writer w;
    vpa_auto_buf text = {0};
    const struct vpa_json *items = NULL;

    vpa_json_foreach (entry, vpa_json_find(x->f->step, "external")) {
        int32_t code = 0;

        if (strcmp(text_at(entry, "namespace"), x->ns) != 0 ||
            strcmp(text_at(entry, "metric"), x->plural) != 0 ||
            strcmp(text_at(entry, "selector"), selector) != 0)
            continue;
        if (vpa_json_int32(vpa_json_find(entry, "code"), &code) && code >= 300) {
            vpa_memory_reply_status(x->r, code, NULL,
                                    "simulated failure of the external metrics API");
            return code;
        }
        items = vpa_json_find(entry, "items");
    }
    vpa_buf_init(&text, TEXT_MAX);
    vpa_json_writer_init(&w, &text);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "ExternalMetricValueList");
    vpa_json_key(&w, "items");
    vpa_json_open_array(&w);
    vpa_json_foreach (item, items)
        vpa_json_put_node(&w, item);
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
    return reply_json(x, 200, vpa_buf_text(&text));
}

/* ---- requests ---- */

/* /api/v1/... and /apis/G/V/... into parts; missing ones are "". */
static void split_path(struct exchange *x, struct vpa_arena *arena)
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
    x->resource = resource_of_plural(x->f, x->group, x->version, x->plural);
}

static int dispatch(struct exchange *x)
{
    const char *method = x->q->method;

    if (strcmp(x->q->path, "/apis") == 0)
        return serve_groups(x);
    if (strcmp(x->q->path, "/api") == 0)
        return reply_json(x, 200, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}");
    if (!*x->plural)
        return *x->version ? serve_group(x) : serve_one_group(x);
    if (strcmp(x->group, "metrics.k8s.io") == 0)
        return serve_metrics(x);
    if (strcmp(x->group, "external.metrics.k8s.io") == 0)
        return serve_external(x);
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
static int fault_of(struct exchange *x)
{
    size_t i = 0;

    vpa_json_foreach (fault, vpa_json_find(x->f->step, "faults")) {
        int64_t times = 0;
        int32_t code = 0;
        size_t at = i++;

        if (strcmp(text_at(fault, "method"), x->q->method) != 0 ||
            !vpa_str_ends_with(x->q->path, text_at(fault, "path")))
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

static int serve_fault(struct exchange *x, int code)
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

static int64_t latency_of(struct exchange *x)
{
    vpa_json_foreach (entry, vpa_json_find(x->f->step, "latency")) {
        int64_t ms = 0;

        if (strcmp(text_at(entry, "method"), x->q->method) != 0 ||
            !strstr(x->q->path, text_at(entry, "path")))
            continue;
        vpa_json_int64(vpa_json_find(entry, "ms"), &ms);
        return ms;
    }
    return 0;
}

static void record(struct exchange *x, int code)
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
    struct exchange x = {.f = ctx, .q = q, .r = r};

    split_path(&x, &arena);
    int code = fault_of(&x);
    code = code ? serve_fault(&x, code) : dispatch(&x);
    if (!x.answered_later && latency_of(&x) > 0)
        vpa_memory_reply_delay(r, latency_of(&x) * VPA_MILLISECOND);
    record(&x, code);
}

/* ---- the rest ---- */

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
    struct exchange x = {.f = (struct fake_cluster *)f, .q = &q};
    char *content = NULL;

    split_path(&x, &arena);
    struct object *o = x.resource ? find_object(f, x.resource, x.ns, x.name) : NULL;
    if (o && vpa_json_find(o->root, "status")) {
        struct vpa_json_writer w;
        vpa_auto_buf text = {0};

        vpa_buf_init(&text, TEXT_MAX);
        vpa_json_writer_init(&w, &text);
        vpa_json_put_node(&w, vpa_json_find(o->root, "status"));
        content = vpa_xstrdup(fake_content_of(vpa_buf_text(&text)));
    }
    vpa_arena_release(&arena);
    return content;
}

struct fake_cluster *fake_cluster_new(struct vpa_loop *loop, const struct vpa_json *crds)
{
    struct fake_cluster *f = vpa_xcalloc(1, sizeof *f);
    size_t count = VPA_COUNT(built_in);

    f->loop = loop;
    f->resources = vpa_xcalloc(count + vpa_json_count(crds), sizeof *f->resources);
    memcpy(f->resources, built_in, sizeof built_in);
    vpa_json_foreach (crd, crds) {
        struct resource *r = &f->resources[count++];

        *r = (struct resource){.group = text_at(crd, "group"),
                               .version = text_at(crd, "version"),
                               .plural = text_at(crd, "resource"),
                               .kind = text_at(crd, "kind"),
                               .namespaced = true};
        vpa_json_bool(vpa_json_find(crd, "scale"), &r->scale);
    }
    f->resource_count = count;
    f->version = 1000;
    return f;
}

void fake_cluster_free(struct fake_cluster *f)
{
    size_t i = 0;
    const char *key;
    void *value;

    while (f->watches) {
        struct watch *w = f->watches;

        f->watches = w->next;
        free(w->ns);
        free(w);
    }
    while (f->slow)
        slow_answer_free(f->slow);
    while (vpa_table_next(&f->objects, &i, &key, &value))
        object_free(value);
    vpa_table_release(&f->objects);
    vpa_table_release(&f->scales);
    for (size_t k = 0; k < f->log_count; k++) {
        free(f->log[k].ns);
        free(f->log[k].text);
    }
    free(f->log);
    free(f->resources);
    free(f->writes);
    free(f->reads.items);
    vpa_arena_release(&f->record);
    vpa_arena_release(&f->arena);
    free(f);
}
