#include "memory_cluster.h"
#include "manual_clock.h"

#include <fcntl.h>
#include <string.h>

#include "vpa/base/log.h"

#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/json/json_writer.h"

#define TEXT_MAX ((size_t)16 << 20)

static const char *text_of(struct memory_cluster *cluster, const struct vpa_json *node)
{
    struct vpa_json_writer w;
    vpa_auto_buf buf = VPA_BUF(TEXT_MAX);

    vpa_json_writer_init(&w, &buf);
    vpa_json_put_node(&w, node);
    return vpa_arena_strdup(&cluster->arena, vpa_buf_text(&buf));
}

/* body NULL: a Status of that code. */
static void script(struct memory_cluster *cluster, const char *path, int code, const char *body)
{
    sim_cluster_answer(cluster->sim, &(struct sim_answer){.method = "GET",
                                                          .path = path,
                                                          .how = SIM_PATH_IS,
                                                          .code = code,
                                                          .body = body,
                                                          .message = "scripted answer"});
}

/* ---- discovery ---- */

/* /apis/GROUP, of the group of that version: all its versions, the preferred one. */
static void script_group(struct memory_cluster *cluster, const char *group_version)
{
    struct vpa_arena *arena = &cluster->arena;
    const char *slash = strchr(group_version, '/');
    const char *group = vpa_arena_strndup(arena, group_version, (size_t)(slash - group_version));
    const char *preferred =
        vpa_json_string(vpa_json_find(vpa_json_find(cluster->discovery, "preferred"), group));
    const char *versions = "";

    vpa_json_foreach (v, vpa_json_find(cluster->discovery, "groupVersions")) {
        const char *gv = vpa_json_string(vpa_json_find(v, "groupVersion"));

        if (strncmp(gv, group, strlen(group)) != 0 || gv[strlen(group)] != '/')
            continue;
        const char *version = gv + strlen(group) + 1;
        versions = vpa_arena_printf(arena, "%s%s{\"groupVersion\":\"%s\",\"version\":\"%s\"}",
                                    versions, *versions ? "," : "", gv, version);
        preferred = preferred ? preferred : version;
    }
    script(cluster, vpa_arena_printf(arena, "/apis/%s", group), 200,
           vpa_arena_printf(
               arena,
               "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"%s\",\"versions\":"
               "[%s],\"preferredVersion\":{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}}",
               group, versions, group, preferred, preferred));
}

static void script_discovery(struct memory_cluster *cluster)
{
    struct vpa_arena *arena = &cluster->arena;

    vpa_json_foreach (version, vpa_json_find(cluster->discovery, "groupVersions")) {
        const char *gv = vpa_json_string(vpa_json_find(version, "groupVersion"));
        bool core = !strchr(gv, '/');
        const char *path = vpa_arena_printf(arena, "%s%s", core ? "/api/" : "/apis/", gv);
        int32_t code;

        if (vpa_json_int32(vpa_json_find(version, "code"), &code))
            script(cluster, path, code, NULL);
        else
            script(cluster, path, 200,
                   vpa_arena_printf(
                       arena,
                       "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":"
                       "\"%s\",\"resources\":%s}",
                       gv, text_of(cluster, vpa_json_find(version, "resources"))));
        if (!core)
            script_group(cluster, gv);
    }
}

/* ---- scales ---- */

static const char *member(const struct vpa_json *node, const char *name)
{
    return vpa_or_empty(vpa_json_string(vpa_json_find(node, name)));
}

static void script_scale(struct memory_cluster *cluster, const struct vpa_json *scale)
{
    const char *group = member(scale, "group");
    const struct vpa_json *body = vpa_json_find(scale, "body");
    int32_t code = 200;

    (void)vpa_json_int32(vpa_json_find(scale, "code"), &code);
    script(cluster,
           vpa_arena_printf(&cluster->arena, "/%s%s%s/%s/namespaces/%s/%s/%s/scale",
                            group[0] ? "apis" : "api", group[0] ? "/" : "", group,
                            member(scale, "version"), member(scale, "namespace"),
                            member(scale, "resource"), member(scale, "name")),
           code, body ? text_of(cluster, body) : NULL);
}

void memory_cluster_start(struct memory_cluster *cluster, vpa_time now)
{
    struct vpa_error err;

    cluster->clock = vpa_clock_new_manual(now);
    cluster->loop = vpa_loop_new(cluster->clock);
    cluster->sim = sim_cluster_new(cluster->loop);
    sim_cluster_hook(cluster->sim, cluster->serve, cluster->ctx);
    vpa_json_foreach (object, cluster->objects)
        (void)sim_cluster_put(cluster->sim, object);
    script_discovery(cluster);
    vpa_json_foreach (scale, cluster->scales)
        script_scale(cluster, scale);
    /* Only what is listed has one. */
    sim_cluster_answer(cluster->sim,
                       &(struct sim_answer){.method = "GET", .path = "/scale", .code = 404});
    cluster->transport = vpa_memory_transport_new(cluster->loop, sim_cluster_serve, cluster->sim);
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
    sim_cluster_free(cluster->sim);
    vpa_arena_release(&cluster->arena);
    vpa_loop_free(cluster->loop);
    vpa_clock_free(cluster->clock);
}

void memory_cluster_quiet(void)
{
    struct vpa_error err;
    const struct vpa_log_options options = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};

    (void)vpa_log_configure(&options, &err);
}
