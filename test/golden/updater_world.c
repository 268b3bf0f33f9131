/* The cluster in memory. */
#include "updater_world.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"
#include "vpa/json/json_writer.h"
#include "vpa/net/random.h"

#define TEXT_MAX ((size_t)64 << 20)

/* Collections that the updater lists and watches, and those whose objects it gets. */
static const struct {
    const char *api_version;
    const char *kind;
    const char *base;
    const char *plural;
} collections[] = {
    {"v1", "Pod", "/api/v1", "pods"},
    {"v1", "ReplicationController", "/api/v1", "replicationcontrollers"},
    {"v1", "LimitRange", "/api/v1", "limitranges"},
    {"v1", "ConfigMap", "/api/v1", "configmaps"},
    {"apps/v1", "Deployment", "/apis/apps/v1", "deployments"},
    {"apps/v1", "ReplicaSet", "/apis/apps/v1", "replicasets"},
    {"apps/v1", "StatefulSet", "/apis/apps/v1", "statefulsets"},
    {"apps/v1", "DaemonSet", "/apis/apps/v1", "daemonsets"},
    {"batch/v1", "Job", "/apis/batch/v1", "jobs"},
    {"batch/v1", "CronJob", "/apis/batch/v1", "cronjobs"},
    {"autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "/apis/autoscaling.k8s.io/v1",
     "verticalpodautoscalers"},
    {"coordination.k8s.io/v1", "Lease", "/apis/coordination.k8s.io/v1", "leases"},
};
#define COLLECTION_COUNT VPA_COUNT(collections)

/* What discovery offers besides: kinds of other groups. "+" marks a scale subresource. */
static const struct {
    const char *group_version;
    const char *resources; /* "plural Kind[+],..." */
} discovered[] = {
    {"v1", "pods Pod,nodes Node,replicationcontrollers ReplicationController+"},
    {"apps/v1", "deployments Deployment+,replicasets ReplicaSet+,statefulsets StatefulSet+,"
                "daemonsets DaemonSet"},
    {"batch/v1", "jobs Job,cronjobs CronJob"},
    {"apps.kruise.io/v1alpha1", "clonesets CloneSet+,statefulsets StatefulSet+"},
    {"argoproj.io/v1alpha1", "rollouts Rollout+"},
    {"example.com/v1", "widgets Widget,gadgets Gadget+"},
};

struct object {
    size_t collection;
    const char *ns;
    const char *name;
    const char *uid;
    const char *json;   /* as the caches have it */
    const char *server; /* as the API server has it: patched */
};

struct fault {
    const char *method;
    const char *path;
    int64_t status;
    const char *body;
    const char *retry_after;
    int64_t times; /* left; -1: always */
    const char *transport;
};

struct world {
    struct golden_case *c;
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_transport *transport;
    struct vpa_random random;
    struct updater_config config;
    struct updater *updater;
    struct vpa_table objects; /* "collection/ns/name" */
    struct vpa_memory_stream *streams[COLLECTION_COUNT];
    const struct vpa_json *scales;
    struct fault *faults;
    size_t fault_count;
    struct vpa_table recorded_events; /* path of an event -> its JSON */
    struct text_list calls;
    struct text_list events;
    struct text_list whole_events;
    struct text_list scale_reads;
    int64_t lease_reads;
    int64_t began;
    bool plain_events;
    size_t useless_resizes;
};

static const char *node_text(struct golden_case *c, const struct vpa_json *node)
{
    struct vpa_json_writer w;
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, TEXT_MAX);
    vpa_json_writer_init(&w, &buf);
    vpa_json_put_node(&w, node);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&buf));
}

static const struct vpa_json *parse(struct golden_case *c, const char *text)
{
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    if (vpa_json_parse(c->arena, text, strlen(text), &root, &err) < 0)
        golden_difference(c, "json", "JSON", err.text);
    return root;
}

/* ---- objects ---- */

static size_t collection_of(const char *api_version, const char *kind)
{
    size_t i = 0;

    while (i < COLLECTION_COUNT &&
           (!vpa_str_eq(collections[i].kind, kind) ||
            (api_version && !vpa_str_eq(collections[i].api_version, api_version))))
        i++;
    return i;
}

static const char *object_key(struct world *world, size_t collection, const char *ns,
                              const char *name)
{
    return vpa_arena_printf(world->c->arena, "%s/%s/%s", collections[collection].plural, ns, name);
}

void world_put(struct world *world, const struct vpa_json *node)
{
    struct golden_case *c = world->c;
    const struct vpa_json *metadata = vpa_json_find(node, "metadata");
    size_t collection = collection_of(vpa_json_string(vpa_json_find(node, "apiVersion")),
                                      vpa_json_string(vpa_json_find(node, "kind")));
    struct object *o = vpa_arena_zalloc(c->arena, sizeof(*o));
    const char *key;
    bool known;

    if (collection == COLLECTION_COUNT)
        return;
    o->collection = collection;
    o->ns = vpa_or_empty(vpa_json_string(vpa_json_find(metadata, "namespace")));
    o->name = vpa_or_empty(vpa_json_string(vpa_json_find(metadata, "name")));
    o->uid = vpa_or_empty(vpa_json_string(vpa_json_find(metadata, "uid")));
    o->json = node_text(c, node);
    o->server = o->json;
    key = object_key(world, collection, o->ns, o->name);
    known = vpa_table_put(&world->objects, key, o) != NULL;
    if (world->streams[collection])
        vpa_memory_stream_event(world->streams[collection], known ? "MODIFIED" : "ADDED", o->json);
}

void world_put_all(struct world *world, const struct vpa_json *objects)
{
    vpa_json_foreach (object, objects)
        world_put(world, object);
}

void world_delete(struct world *world, const char *what)
{
    const char *blank = strchr(what, ' ');
    const char *kind = vpa_arena_strndup(world->c->arena, what, (size_t)(blank - what));
    size_t collection = collection_of(NULL, kind);
    const char *key =
        vpa_arena_printf(world->c->arena, "%s/%s", collections[collection].plural, blank + 1);
    struct object *o = vpa_table_remove(&world->objects, key);

    if (o && world->streams[collection])
        vpa_memory_stream_event(world->streams[collection], "DELETED", o->json);
}

void world_set_scales(struct world *world, const struct vpa_json *scales)
{
    world->scales = scales;
}

void world_set_faults(struct world *world, const struct vpa_json *faults)
{
    size_t n = 0;

    world->faults =
        vpa_arena_zalloc(world->c->arena, (vpa_json_count(faults) + 1) * sizeof(*world->faults));
    vpa_json_foreach (node, faults) {
        struct fault *f = &world->faults[n++];
        const struct vpa_json *body = vpa_json_find(node, "body");

        f->method = vpa_json_string(vpa_json_find(node, "method"));
        f->path = vpa_json_string(vpa_json_find(node, "path"));
        (void)vpa_json_int64(vpa_json_find(node, "status"), &f->status);
        f->body = !body                   ? ""
                  : vpa_json_string(body) ? vpa_json_string(body)
                                          : node_text(world->c, body);
        f->retry_after =
            vpa_json_string(vpa_json_find(vpa_json_find(node, "headers"), "Retry-After"));
        (void)vpa_json_int64(vpa_json_find(node, "times"), &f->times);
        if (f->times == 0)
            f->times = 1;
        f->transport = vpa_json_string(vpa_json_find(node, "transport"));
    }
    world->fault_count = n;
}

/* ---- the server ---- */

static struct fault *find_fault(struct world *world, const struct vpa_memory_request *q)
{
    for (size_t i = 0; i < world->fault_count; i++) {
        struct fault *f = &world->faults[i];

        if (f->times == 0 || !vpa_str_eq(f->method, q->method) || !vpa_str_eq(f->path, q->path))
            continue;
        if (f->times > 0)
            f->times--;
        return f;
    }
    return NULL;
}

static enum vpa_transport_failure failure_named(const char *name)
{
    if (vpa_str_eq(name, "refused"))
        return VPA_TRANSPORT_REFUSED;
    if (vpa_str_eq(name, "reset"))
        return VPA_TRANSPORT_RESET;
    if (vpa_str_eq(name, "eof"))
        return VPA_TRANSPORT_EOF;
    return VPA_TRANSPORT_TIMEOUT;
}

static void answer_fault(const struct fault *f, struct vpa_memory_reply *reply)
{
    if (f->transport) {
        vpa_memory_reply_fail(reply, failure_named(f->transport));
        return;
    }
    vpa_memory_reply_json(reply, (int)f->status, f->body);
    if (f->retry_after) {
        char *end;
        long seconds = strtol(f->retry_after, &end, 10);

        if (*end == '\0' && end != f->retry_after)
            vpa_memory_reply_retry_after(reply, (int)seconds);
    }
}

static void answer_list(struct world *world, size_t collection, struct vpa_memory_reply *reply)
{
    vpa_auto_free void **sorted = vpa_table_sorted(&world->objects);
    bool comma = false;
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, TEXT_MAX);
    vpa_buf_puts(&buf, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{"
                       "\"resourceVersion\":\"1\"},\"items\":[");
    for (size_t i = 0; i < world->objects.count; i++) {
        const struct object *o = sorted[i];

        if (o->collection != collection)
            continue;
        if (comma)
            vpa_buf_putc(&buf, ',');
        vpa_buf_puts(&buf, o->json);
        comma = true;
    }
    vpa_buf_puts(&buf, "]}");
    vpa_memory_reply_json(reply, 200, vpa_buf_text(&buf));
}

/* Which collection a path lists, COLLECTION_COUNT for none. */
static size_t collection_listed(const char *path)
{
    size_t i = 0;

    for (; i < COLLECTION_COUNT; i++) {
        size_t len = strlen(collections[i].base);
        const char *rest = path + len;

        if (strncmp(path, collections[i].base, len) != 0 || *rest != '/')
            continue;
        if (vpa_str_starts_with(rest, "/namespaces/")) {
            rest = strchr(rest + strlen("/namespaces/"), '/');
            if (!rest)
                continue;
        }
        if (vpa_str_eq(rest + 1, collections[i].plural))
            return i;
    }
    return i;
}

static void put_resource(struct vpa_json_writer *w, const char *name, const char *kind,
                         bool namespaced)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "name", name);
    vpa_json_member_string(w, "singularName", "");
    vpa_json_member_bool(w, "namespaced", namespaced);
    vpa_json_member_string(w, "kind", kind);
    vpa_json_key(w, "verbs");
    vpa_json_open_array(w);
    vpa_json_put_string(w, "get");
    vpa_json_close_array(w);
    vpa_json_close_object(w);
}

static void put_resources(struct world *world, struct vpa_json_writer *w, const char *text)
{
    struct golden_case *c = world->c;
    struct vpa_slice piece;

    while (vpa_str_split(&text, ',', &piece)) {
        char *plural = vpa_arena_strndup(c->arena, piece.ptr, piece.len);
        char *kind = strchr(plural, ' ');
        size_t len;

        *kind++ = '\0';
        len = strlen(kind);
        bool scales = kind[len - 1] == '+';
        if (scales)
            kind[len - 1] = '\0';
        put_resource(w, plural, kind, !vpa_str_eq(kind, "Node"));
        if (scales)
            put_resource(w, vpa_arena_printf(c->arena, "%s/scale", plural), "Scale", true);
        if (vpa_str_eq(kind, "Pod"))
            put_resource(w, "pods/resize", "Pod", true);
    }
}

/* /apis/GROUP: its one version. */
static bool answer_group(struct world *world, const char *path, struct vpa_memory_reply *reply)
{
    for (size_t i = 1; i < VPA_COUNT(discovered); i++) {
        const char *gv = discovered[i].group_version;
        const char *slash = strchr(gv, '/');
        const char *group = golden_label(world->c, "%.*s", (int)(slash - gv), gv);

        if (!vpa_str_eq(path, golden_label(world->c, "/apis/%s", group)))
            continue;

        const char *version =
            golden_label(world->c, "{\"groupVersion\":\"%s\",\"version\":\"%s\"}", gv, slash + 1);

        vpa_memory_reply_json(
            reply, 200,
            golden_label(world->c,
                         "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"%s\","
                         "\"versions\":[%s],\"preferredVersion\":%s}",
                         group, version, version));
        return true;
    }
    return false;
}

static bool answer_discovery(struct world *world, const char *path, struct vpa_memory_reply *reply)
{
    struct vpa_json_writer w;
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, TEXT_MAX);
    vpa_json_writer_init(&w, &buf);
    if (vpa_str_eq(path, "/api")) {
        vpa_memory_reply_json(reply, 200, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}");
        return true;
    }
    if (answer_group(world, path, reply))
        return true;
    for (size_t i = 0; i < VPA_COUNT(discovered); i++) {
        const char *gv = discovered[i].group_version;
        const char *prefix = strchr(gv, '/') ? "/apis/" : "/api/";

        if (!vpa_str_starts_with(path, prefix) || !vpa_str_eq(path + strlen(prefix), gv))
            continue;
        vpa_json_open_object(&w);
        vpa_json_member_string(&w, "kind", "APIResourceList");
        vpa_json_member_string(&w, "apiVersion", "v1");
        vpa_json_member_string(&w, "groupVersion", gv);
        vpa_json_key(&w, "resources");
        vpa_json_open_array(&w);
        put_resources(world, &w, discovered[i].resources);
        vpa_json_close_array(&w);
        vpa_json_close_object(&w);
        vpa_memory_reply_json(reply, 200, vpa_buf_text(&buf));
        return true;
    }
    return false;
}

/* namespace and name of ".../namespaces/NS/PLURAL/NAME..." */
static struct object *object_at(struct world *world, const char *path, const char *plural)
{
    struct golden_case *c = world->c;
    const char *ns = strstr(path, "/namespaces/");
    const char *end, *name;
    vpa_auto_free char *marker = vpa_xprintf("/%s/", plural);

    if (!ns)
        return NULL;
    ns += strlen("/namespaces/");
    end = strstr(ns, marker);
    if (!end)
        return NULL;
    name = end + strlen(marker);
    return vpa_table_find(&world->objects,
                          vpa_arena_printf(c->arena, "%s/%.*s/%.*s", plural, (int)(end - ns), ns,
                                           (int)strcspn(name, "/"), name));
}

static void stream_closed(void *ctx)
{
    struct vpa_memory_stream **slot = ctx;

    *slot = NULL;
}

static void serve_get(struct world *world, const struct vpa_memory_request *q,
                      struct vpa_memory_reply *reply)
{
    size_t collection = collection_listed(q->path);
    struct object *lease;

    if (collection < COLLECTION_COUNT) {
        if (vpa_memory_query(q, "watch"))
            world->streams[collection] =
                vpa_memory_reply_stream(reply, 200, stream_closed, &world->streams[collection]);
        else
            answer_list(world, collection, reply);
        return;
    }
    lease = object_at(world, q->path, "leases");
    if (lease) {
        vpa_memory_reply_json(reply, 200, lease->json);
        return;
    }
    if (!answer_discovery(world, q->path, reply))
        vpa_memory_reply_status(reply, 404, "NotFound", "not found");
}

/* Applies a JSON patch to the server's copy; false when it does not fit. */
static bool patch_object(struct world *world, struct object *o, const char *path, const char *body)
{
    struct vpa_error err;
    vpa_auto_buf out = {0};

    vpa_buf_init(&out, TEXT_MAX);
    if (vpa_json_patch_apply(parse(world->c, o->server), parse(world->c, body), &out, &err) < 0)
        return false;
    if (vpa_str_ends_with(path, "/resize") && !strstr(o->server, "\"Error\"") &&
        vpa_json_equal(parse(world->c, o->server), parse(world->c, vpa_buf_text(&out))))
        world->useless_resizes++;
    o->server = vpa_arena_strdup(world->c->arena, vpa_buf_text(&out));
    return true;
}

size_t world_useless_resizes(const struct world *world)
{
    return world->useless_resizes;
}

static int serve_write(struct world *world, const struct vpa_memory_request *q,
                       struct vpa_memory_reply *reply)
{
    if (vpa_str_eq(q->method, "POST")) {
        vpa_memory_reply_json(reply, 201, q->body_len ? q->body : "{}");
        return 201;
    }

    struct object *pod = object_at(world, q->path, "pods");

    if (pod && !patch_object(world, pod, q->path, q->body)) {
        vpa_memory_reply_status(reply, 422, "Invalid", "the patch does not fit");
        return 422;
    }
    vpa_memory_reply_json(reply, 200, "{}");
    return 200;
}

/* ---- records ---- */

static void record(struct world *world, struct text_list *list, const struct vpa_memory_request *q,
                   int status, const char *transport)
{
    int64_t after = vpa_loop_monotonic(world->loop) - world->began;
    struct vpa_json_writer w;
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, TEXT_MAX);
    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "method", q->method);
    vpa_json_member_string(&w, "path", q->path);
    if (q->body_len > 0) {
        vpa_json_member_string(&w, "type", vpa_memory_header(q, "Content-Type"));
        vpa_json_member_string(&w, "body", q->body);
    }
    if (transport)
        vpa_json_member_string(&w, "transport", transport);
    else
        vpa_json_member_int(&w, "status", status);
    if (after != 0) {
        char text[VPA_DURATION_TEXT_MAX];

        vpa_duration_format(after, text);
        vpa_json_member_string(&w, "after", text);
    }
    vpa_json_close_object(&w);
    text_list_add(world->c, list, vpa_arena_strdup(world->c->arena, vpa_buf_text(&buf)));
}

static void record_scale(struct world *world, const char *path, int status)
{
    text_list_add(
        world->c, &world->scale_reads,
        vpa_arena_printf(world->c->arena, "{\"path\":\"%s\",\"status\":%d}", path, status));
}

/* An event as the vectors tell it: who, what, how often. */
static void record_event(struct world *world, const struct vpa_memory_request *q, int status)
{
    struct golden_case *c = world->c;
    const struct vpa_json *body = parse(c, q->body);
    const struct vpa_json *event = body;
    const char *message = vpa_or_empty(vpa_json_string(vpa_json_find(body, "message")));
    int64_t count = 1;
    struct vpa_json_writer w;
    vpa_auto_buf buf = {0};

    if (vpa_str_eq(q->method, "POST")) {
        const char *name = vpa_json_string(vpa_json_at(body, "metadata.name"));
        char *path = vpa_arena_printf(c->arena, "%s/%s", q->path, vpa_or_empty(name));
        char *text = vpa_arena_strdup(c->arena, q->body);

        /* Events of one object and moment share a name: the message tells them apart. */
        vpa_table_put(&world->recorded_events, path, text);
        vpa_table_put(&world->recorded_events, vpa_arena_printf(c->arena, "%s %s", path, message),
                      text);
    } else {
        const char *first = vpa_table_find(&world->recorded_events,
                                           vpa_arena_printf(c->arena, "%s %s", q->path, message));

        if (!first)
            first = vpa_table_find(&world->recorded_events, q->path);
        event = first ? parse(c, first) : body;
    }
    (void)vpa_json_int64(vpa_json_find(body, "count"), &count);

    const struct vpa_json *object = vpa_json_find(event, "involvedObject");

    vpa_buf_init(&buf, TEXT_MAX);
    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    vpa_json_member_string(
        &w, "object",
        vpa_arena_printf(c->arena, "%s %s/%s",
                         vpa_or_empty(vpa_json_string(vpa_json_find(object, "kind"))),
                         vpa_or_empty(vpa_json_string(vpa_json_find(object, "namespace"))),
                         vpa_or_empty(vpa_json_string(vpa_json_find(object, "name")))));
    vpa_json_member_string(&w, "type", vpa_json_string(vpa_json_find(event, "type")));
    vpa_json_member_string(&w, "reason", vpa_json_string(vpa_json_find(event, "reason")));
    vpa_json_member_string(&w, "message", message);
    if (count > 1 && !world->plain_events)
        vpa_json_member_int(&w, "count", count);
    if (status >= 300)
        vpa_json_member_int(&w, "status", status);
    vpa_json_close_object(&w);
    text_list_add(c, &world->events, vpa_arena_strdup(c->arena, vpa_buf_text(&buf)));
    record(world, &world->whole_events, q, status, NULL);
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    struct world *world = ctx;
    const struct fault *fault = find_fault(world, q);
    bool get = vpa_str_eq(q->method, "GET");
    bool scale = get && vpa_str_ends_with(q->path, "/scale");
    int status = fault ? (int)fault->status : 0;

    if (get && strstr(q->path, "/leases/"))
        world->lease_reads++;
    if (fault) {
        answer_fault(fault, reply);
    } else if (scale) {
        const struct vpa_json *answer = vpa_json_find(world->scales, q->path);

        status = answer ? 200 : 404;
        if (answer)
            vpa_memory_reply_json(reply, 200, node_text(world->c, answer));
        else
            vpa_memory_reply_status(reply, 404, "NotFound", "not found");
    } else if (get) {
        serve_get(world, q, reply);
    } else {
        status = serve_write(world, q, reply);
    }
    if (scale)
        record_scale(world, q->path, status);
    else if (!get && strstr(q->path, "/events"))
        record_event(world, q, status);
    else if (!get)
        record(world, &world->calls, q, status, fault ? fault->transport : NULL);
}

/* ---- life ---- */

struct world *world_new(struct golden_case *c, vpa_time start)
{
    struct world *world = vpa_xcalloc(1, sizeof(*world));
    struct vpa_error err;

    world->c = c;
    world->clock = vpa_clock_new_manual(start);
    world->loop = vpa_loop_new(world->clock);
    world->transport = vpa_memory_transport_new(world->loop, serve, world);
    world->config = updater_case_config(c);
    /* The vectors were recorded without a limit on the client's requests. */
    world->config.common.kube_api_qps = -1;
    world->updater = updater_new(
        &(struct updater_options){
            .loop = world->loop,
            .transport = world->transport,
            .random = &world->random,
            .config = &world->config,
            .requests_max = 1,
        },
        &err);
    if (!world->updater)
        golden_difference(c, "updater", "started", err.text);
    return world;
}

void world_free(struct world *world)
{
    struct vpa_metrics metrics = {.table = updater_metrics, .count = updater_metric_count};

    updater_free(world->updater);
    vpa_transport_free(world->transport);
    vpa_loop_free(world->loop);
    vpa_clock_free(world->clock);
    vpa_table_release(&world->objects);
    vpa_table_release(&world->recorded_events);
    vpa_metrics_release(&metrics);
    free(world);
}

void world_settle(struct world *world)
{
    while (vpa_loop_poll(world->loop))
        ;
}

void world_sync(struct world *world)
{
    struct vpa_error err;

    updater_start(world->updater);
    if (updater_wait(world->updater, VPA_MINUTE, &err) < 0)
        golden_difference(world->c, "caches", "in step", err.text);
    world_settle(world);
}

void world_wait_until(struct world *world, vpa_time t)
{
    vpa_time now = vpa_loop_now(world->loop);

    if (now < t)
        vpa_loop_pump(world->loop, vpa_time_sub(t, now));
}

struct updater *world_updater(struct world *world)
{
    return world->updater;
}

struct pass_env *world_env(struct world *world)
{
    return updater_env(world->updater);
}

struct vpa_loop *world_loop(struct world *world)
{
    return world->loop;
}

struct vpa_clock *world_clock(struct world *world)
{
    return world->clock;
}

void world_begin_step(struct world *world)
{
    world->calls = (struct text_list){0};
    world->events = (struct text_list){0};
    world->whole_events = (struct text_list){0};
    world->scale_reads = (struct text_list){0};
    world->lease_reads = 0;
    world->began = vpa_loop_monotonic(world->loop);
}

void world_begin(struct world *world)
{
    const char *key;
    void *value;

    world_begin_step(world);
    for (size_t i = 0; vpa_table_next(&world->objects, &i, &key, &value);)
        ((struct object *)value)->server = ((struct object *)value)->json;
}

void world_plain_events(struct world *world)
{
    world->plain_events = true;
}

static const char *array_of(struct world *world, const struct text_list *list, bool or_null)
{
    vpa_auto_buf buf = {0};

    if (or_null && list->count == 0)
        return NULL;
    vpa_buf_init(&buf, TEXT_MAX);
    vpa_buf_putc(&buf, '[');
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            vpa_buf_putc(&buf, ',');
        vpa_buf_puts(&buf, list->items[i]);
    }
    vpa_buf_putc(&buf, ']');
    return vpa_arena_strdup(world->c->arena, vpa_buf_text(&buf));
}

const char *world_calls(struct world *world, bool or_null)
{
    return array_of(world, &world->calls, or_null);
}

const char *world_events(struct world *world, bool whole, bool or_null)
{
    return array_of(world, whole ? &world->whole_events : &world->events, or_null);
}

const char *world_scale_reads(struct world *world)
{
    return array_of(world, &world->scale_reads, true);
}

int64_t world_lease_reads(const struct world *world)
{
    return world->lease_reads;
}

vpa_duration world_took(const struct world *world)
{
    return vpa_loop_monotonic(world->loop) - world->began;
}

void world_compare_first_seen(struct world *world, const char *label, const struct vpa_json *want)
{
    struct golden_case *c = world->c;
    vpa_auto_free void **sorted = vpa_table_sorted(&world->objects);

    for (size_t i = 0; i < world->objects.count; i++) {
        const struct object *o = sorted[i];
        const char *name = golden_label(c, "%s/%s", o->ns, o->name);
        const struct vpa_json *timer = vpa_json_find(want, name);
        vpa_time got = VPA_TIME_UNSET;

        if (!vpa_str_eq(collections[o->collection].kind, "Pod"))
            continue;
        if (!vpa_update_memory_find_first_seen(world_env(world)->memory, o->uid, &got))
            got = VPA_TIME_UNSET;
        vpa_time wanted = timer ? updater_case_time(c, timer, label) : VPA_TIME_UNSET;

        if (wanted != got)
            golden_difference(c, golden_label(c, "%s[%s]", label, name),
                              golden_label(c, "%lld", (long long)vpa_time_unix_nanos(wanted)),
                              golden_label(c, "%lld", (long long)vpa_time_unix_nanos(got)));
    }
}

void world_set_memory(struct world *world, const struct vpa_json *first_seen,
                      const struct vpa_json *infeasible)
{
    struct vpa_update_memory *memory = world_env(world)->memory;

    vpa_json_foreach (timer, first_seen) {
        const struct object *o = vpa_table_find(
            &world->objects, vpa_arena_printf(world->c->arena, "pods/%s", vpa_json_name(timer)));

        if (o)
            vpa_update_memory_set_first_seen(memory, o->uid,
                                             updater_case_time(world->c, timer, "firstSeen"));
    }
    vpa_json_foreach (node, infeasible) {
        struct vpa_recommendation rec = updater_case_recommendation(world->c, node);

        vpa_update_memory_record_infeasible(memory, vpa_json_name(node), &rec);
    }
}
