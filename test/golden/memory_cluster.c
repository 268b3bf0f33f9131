#include "memory_cluster.h"
#include "manual_clock.h"

#include <fcntl.h>
#include <string.h>

#include "vpa/base/log.h"

#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/json/json_writer.h"

#define TEXT_MAX ((size_t)16 << 20)

struct collection {
    const char *kind;
    const char *group_version;
    const char *resource;
};
static const struct collection collections[] = {
    {"VerticalPodAutoscaler", "autoscaling.k8s.io/v1", "verticalpodautoscalers"},
    {"LimitRange", "v1", "limitranges"},
    {"ReplicationController", "v1", "replicationcontrollers"},
    {"ConfigMap", "v1", "configmaps"},
    {"DaemonSet", "apps/v1", "daemonsets"},
    {"Deployment", "apps/v1", "deployments"},
    {"ReplicaSet", "apps/v1", "replicasets"},
    {"StatefulSet", "apps/v1", "statefulsets"},
    {"Job", "batch/v1", "jobs"},
    {"CronJob", "batch/v1", "cronjobs"},
};

/* Whether the path is that of the collection; *ns is "" for all namespaces. */
static bool is_collection(const char *path, const struct collection *c, struct vpa_arena *arena,
                          const char **ns)
{
    const char *root = strchr(c->group_version, '/') ? "/apis/" : "/api/";
    const char *prefix = vpa_arena_printf(arena, "%s%s/", root, c->group_version);

    if (!vpa_str_starts_with(path, prefix))
        return false;
    path += strlen(prefix);
    *ns = "";
    if (vpa_str_starts_with(path, "namespaces/")) {
        path += strlen("namespaces/");
        const char *slash = strchr(path, '/');
        if (!slash)
            return false;
        *ns = vpa_arena_strndup(arena, path, (size_t)(slash - path));
        path = slash + 1;
    }
    return strcmp(path, c->resource) == 0;
}

static void reply_list(const struct memory_cluster *cluster, const struct collection *c,
                       const char *ns, struct vpa_memory_reply *reply)
{
    struct vpa_json_writer w;
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, TEXT_MAX);
    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    vpa_json_key(&w, "metadata");
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "resourceVersion", "1");
    vpa_json_close_object(&w);
    vpa_json_key(&w, "items");
    vpa_json_open_array(&w);
    vpa_json_foreach (object, cluster->objects) {
        const char *kind = vpa_json_string(vpa_json_find(object, "kind"));
        const char *object_ns = vpa_json_string(vpa_json_at(object, "metadata.namespace"));
        if (strcmp(kind, c->kind) == 0 && (!ns[0] || vpa_str_eq(object_ns, ns)))
            vpa_json_put_node(&w, object);
    }
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
    vpa_memory_reply_json(reply, 200, vpa_buf_text(&buf));
}

static bool serve_collection(const struct memory_cluster *cluster, struct vpa_arena *arena,
                             const struct vpa_memory_request *request,
                             struct vpa_memory_reply *reply)
{
    const char *ns;

    for (size_t i = 0; i < VPA_COUNT(collections); i++) {
        if (!is_collection(request->path, &collections[i], arena, &ns))
            continue;
        if (vpa_memory_query(request, "watch"))
            vpa_memory_reply_stream(reply, 200, NULL, NULL);
        else
            reply_list(cluster, &collections[i], ns, reply);
        return true;
    }
    return false;
}

/* ---- discovery ---- */

/* GET /apis/GROUP: false when there is no such group. */
static bool reply_group(const struct memory_cluster *cluster, struct vpa_arena *arena,
                        const char *group, struct vpa_memory_reply *reply)
{
    const char *prefix = vpa_arena_printf(arena, "%s/", group);
    const char *preferred =
        vpa_json_string(vpa_json_find(vpa_json_find(cluster->discovery, "preferred"), group));
    size_t count = 0;
    struct vpa_json_writer w;
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, TEXT_MAX);
    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "APIGroup");
    vpa_json_member_string(&w, "apiVersion", "v1");
    vpa_json_member_string(&w, "name", group);
    vpa_json_key(&w, "versions");
    vpa_json_open_array(&w);
    vpa_json_foreach (v, vpa_json_find(cluster->discovery, "groupVersions")) {
        const char *gv = vpa_json_string(vpa_json_find(v, "groupVersion"));
        if (!vpa_str_starts_with(gv, prefix))
            continue;
        vpa_json_open_object(&w);
        vpa_json_member_string(&w, "groupVersion", gv);
        vpa_json_member_string(&w, "version", gv + strlen(prefix));
        vpa_json_close_object(&w);
        if (count++ == 0 && !preferred)
            preferred = gv + strlen(prefix);
    }
    vpa_json_close_array(&w);
    vpa_json_key(&w, "preferredVersion");
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "groupVersion",
                           vpa_arena_printf(arena, "%s%s", prefix, vpa_or_empty(preferred)));
    vpa_json_member_string(&w, "version", preferred);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    if (count)
        vpa_memory_reply_json(reply, 200, vpa_buf_text(&buf));
    return count > 0;
}

static void reply_resources(const struct vpa_json *version, struct vpa_memory_reply *reply)
{
    struct vpa_json_writer w;
    int64_t code;
    vpa_auto_buf buf = {0};

    if (vpa_json_int64(vpa_json_find(version, "code"), &code)) {
        vpa_memory_reply_status(reply, (int)code, NULL, "scripted answer");
        return;
    }
    vpa_buf_init(&buf, TEXT_MAX);
    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "APIResourceList");
    vpa_json_member_string(&w, "apiVersion", "v1");
    vpa_json_member_string(&w, "groupVersion",
                           vpa_json_string(vpa_json_find(version, "groupVersion")));
    vpa_json_key(&w, "resources");
    vpa_json_put_node(&w, vpa_json_find(version, "resources"));
    vpa_json_close_object(&w);
    vpa_memory_reply_json(reply, 200, vpa_buf_text(&buf));
}

static bool serve_discovery(const struct memory_cluster *cluster, struct vpa_arena *arena,
                            const struct vpa_memory_request *request,
                            struct vpa_memory_reply *reply)
{
    if (vpa_str_starts_with(request->path, "/apis/") &&
        !strchr(request->path + strlen("/apis/"), '/'))
        return reply_group(cluster, arena, request->path + strlen("/apis/"), reply);
    vpa_json_foreach (version, vpa_json_find(cluster->discovery, "groupVersions")) {
        const char *gv = vpa_json_string(vpa_json_find(version, "groupVersion"));
        const char *path =
            vpa_arena_printf(arena, "%s%s", strchr(gv, '/') ? "/apis/" : "/api/", gv);
        if (strcmp(request->path, path) != 0)
            continue;
        reply_resources(version, reply);
        return true;
    }
    return false;
}

/* ---- scales ---- */

static const char *member(const struct vpa_json *node, const char *name)
{
    const char *text = vpa_json_string(vpa_json_find(node, name));

    return text ? text : "";
}

static const char *scale_path(struct vpa_arena *arena, const struct vpa_json *scale)
{
    const char *group = member(scale, "group");

    return vpa_arena_printf(arena, "/%s%s%s/%s/namespaces/%s/%s/%s/scale",
                            group[0] ? "apis" : "api", group[0] ? "/" : "", group,
                            member(scale, "version"), member(scale, "namespace"),
                            member(scale, "resource"), member(scale, "name"));
}

static void reply_scale(const struct vpa_json *scale, struct vpa_memory_reply *reply)
{
    const struct vpa_json *body = vpa_json_find(scale, "body");
    struct vpa_json_writer w;
    int64_t code = 200;
    vpa_auto_buf buf = {0};

    (void)vpa_json_int64(vpa_json_find(scale, "code"), &code);
    vpa_buf_init(&buf, TEXT_MAX);
    vpa_json_writer_init(&w, &buf);
    if (body)
        vpa_json_put_node(&w, body);
    if (body)
        vpa_memory_reply_json(reply, (int)code, vpa_buf_text(&buf));
    else
        vpa_memory_reply_status(reply, (int)code, NULL, "scripted answer");
}

/* .../<resource>/<name>/scale of nothing listed. */
static void reply_no_scale(struct vpa_arena *arena, const char *path,
                           struct vpa_memory_reply *reply)
{
    const char *parts[10] = {0};
    size_t count = 0;
    const char *rest = path + 1;
    struct vpa_slice piece;

    while (count < VPA_COUNT(parts) && vpa_str_split(&rest, '/', &piece))
        parts[count++] = vpa_arena_strndup(arena, piece.ptr, piece.len);
    if (count < 4) {
        vpa_memory_reply_status(reply, 404, NULL, "not found");
        return;
    }
    const char *name = parts[count - 2];
    const char *resource = parts[count - 3];
    bool core = strcmp(parts[0], "api") == 0;
    vpa_memory_reply_status(
        reply, 404, "NotFound",
        core ? vpa_arena_printf(arena, "%s \"%s\" not found", resource, name)
             : vpa_arena_printf(arena, "%s.%s \"%s\" not found", resource, parts[1], name));
}

static void serve(void *ctx, const struct vpa_memory_request *request,
                  struct vpa_memory_reply *reply)
{
    const struct memory_cluster *cluster = ctx;
    vpa_auto_arena arena = {0};

    if (cluster->serve && cluster->serve(cluster->ctx, request, reply))
        return;
    if (serve_collection(cluster, &arena, request, reply) ||
        serve_discovery(cluster, &arena, request, reply))
        return;
    vpa_json_foreach (scale, cluster->scales) {
        if (strcmp(request->path, scale_path(&arena, scale)) == 0) {
            reply_scale(scale, reply);
            return;
        }
    }
    reply_no_scale(&arena, request->path, reply);
}

void memory_cluster_start(struct memory_cluster *cluster, vpa_time now)
{
    struct vpa_error err;

    cluster->clock = vpa_clock_new_manual(now);
    cluster->loop = vpa_loop_new(cluster->clock);
    cluster->transport = vpa_memory_transport_new(cluster->loop, serve, cluster);
    vpa_random_init(&cluster->random, 1);
    cluster->client = vpa_kube_client_new(
        &(struct vpa_kube_client_options){
            .loop = cluster->loop,
            .transport = cluster->transport,
            .random = &cluster->random,
            .user_agent = "golden",
            .qps = -1,
        },
        &err);
}

void memory_cluster_stop(struct memory_cluster *cluster)
{
    vpa_kube_client_free(cluster->client);
    vpa_transport_free(cluster->transport);
    vpa_loop_free(cluster->loop);
    vpa_clock_free(cluster->clock);
}

void memory_cluster_quiet(void)
{
    struct vpa_error err;
    const struct vpa_log_options options = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};

    (void)vpa_log_configure(&options, &err);
}
