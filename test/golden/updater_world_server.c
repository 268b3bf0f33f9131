/* The API server of the cluster in memory. */
#include <stdlib.h>
#include <string.h>

#include "updater_world_parts.h"
#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"
#include "vpa/json/json_writer.h"

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
                                          : world_node_text(world->c, body);
        f->retry_after =
            vpa_json_string(vpa_json_find(vpa_json_find(node, "headers"), "Retry-After"));
        (void)vpa_json_int64(vpa_json_find(node, "times"), &f->times);
        if (f->times == 0)
            f->times = 1;
        f->transport = vpa_json_string(vpa_json_find(node, "transport"));
        if (f->retry_after && vpa_str_eq(f->method, "POST") &&
            (f->times < 0 || f->times * strtol(f->retry_after, NULL, 10) >= 30))
            updater_case_met("U23"); /* pauses beyond the age of a decision */
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

    vpa_buf_init(&buf, WORLD_TEXT_MAX);
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

/* Which collection a path lists, WORLD_COLLECTIONS for none. */
static size_t collection_listed(const char *path)
{
    size_t i = 0;

    for (; i < WORLD_COLLECTIONS; i++) {
        size_t len = strlen(world_collections[i].base);
        const char *rest = path + len;

        if (strncmp(path, world_collections[i].base, len) != 0 || *rest != '/')
            continue;
        if (vpa_str_starts_with(rest, "/namespaces/")) {
            rest = strchr(rest + strlen("/namespaces/"), '/');
            if (!rest)
                continue;
        }
        if (vpa_str_eq(rest + 1, world_collections[i].plural))
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

    vpa_buf_init(&buf, WORLD_TEXT_MAX);
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

    if (collection < WORLD_COLLECTIONS) {
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

    vpa_buf_init(&out, WORLD_TEXT_MAX);
    if (vpa_json_patch_apply(world_parse(world->c, o->server), world_parse(world->c, body), &out,
                             &err) < 0)
        return false;
    if (vpa_str_ends_with(path, "/resize") && !strstr(o->server, "\"Error\"") &&
        vpa_json_equal(world_parse(world->c, o->server), world_parse(world->c, vpa_buf_text(&out))))
        world->useless_resizes++;
    o->server = vpa_arena_strdup(world->c->arena, vpa_buf_text(&out));
    return true;
}

/* The request as the reference writes it; what ties ours to the pod is checked on the way. */
static struct vpa_memory_request unguarded(struct world *world, const struct vpa_memory_request *q)
{
    const struct object *pod = object_at(world, q->path, "pods");
    struct vpa_memory_request out = *q;

    if (!pod || !q->body_len)
        return out;
    out.body = updater_case_unguarded(world->c, world_parse(world->c, pod->json), q->body);
    out.body_len = strlen(out.body);
    return out;
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

void world_serve(void *ctx, const struct vpa_memory_request *sent, struct vpa_memory_reply *reply)
{
    struct world *world = ctx;
    const struct fault *fault = find_fault(world, sent);
    bool get = vpa_str_eq(sent->method, "GET");
    struct vpa_memory_request plain = get ? *sent : unguarded(world, sent);
    const struct vpa_memory_request *q = &plain;
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
            vpa_memory_reply_json(reply, 200, world_node_text(world->c, answer));
        else
            vpa_memory_reply_status(reply, 404, "NotFound", "not found");
    } else if (get) {
        serve_get(world, q, reply);
    } else {
        status = serve_write(world, q, reply);
    }
    if (scale)
        world_record_scale(world, q->path, status);
    else if (!get && strstr(q->path, "/events"))
        world_record_event(world, q, status);
    else if (!get)
        world_record(world, &world->calls, q, status, fault ? fault->transport : NULL);
}
