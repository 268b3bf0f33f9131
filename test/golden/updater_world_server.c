/* The API server of the cluster in memory. */
#include <stdlib.h>
#include <string.h>

#include "updater_world_parts.h"
#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"

/* What the vectors' cluster serves besides; true: with a scale subresource. */
static const struct {
    const char *group, *version, *plural, *kind;
    bool scale;
} custom[] = {
    {"apps.kruise.io", "v1alpha1", "clonesets", "CloneSet", true},
    {"apps.kruise.io", "v1alpha1", "statefulsets", "StatefulSet", true},
    {"argoproj.io", "v1alpha1", "rollouts", "Rollout", true},
    {"example.com", "v1", "widgets", "Widget", false},
    {"example.com", "v1", "gadgets", "Gadget", true},
};

void world_serve_kinds(struct world *world)
{
    for (size_t i = 0; i < VPA_COUNT(custom); i++)
        sim_cluster_serve_kind(world->sim, custom[i].group, custom[i].version, custom[i].plural,
                               custom[i].kind, false, custom[i].scale);
}

static const struct {
    const char *name;
    enum vpa_transport_failure failure;
} failures[] = {{"refused", VPA_TRANSPORT_REFUSED},
                {"reset", VPA_TRANSPORT_RESET},
                {"eof", VPA_TRANSPORT_EOF},
                {"timeout", VPA_TRANSPORT_TIMEOUT}};

static const char *failure_name(enum vpa_transport_failure failure)
{
    for (size_t i = 0; i < VPA_COUNT(failures); i++)
        if (failures[i].failure == failure)
            return failures[i].name;
    return NULL;
}

static enum vpa_transport_failure failure_named(const char *name)
{
    for (size_t i = 0; i < VPA_COUNT(failures); i++)
        if (vpa_str_eq(failures[i].name, name))
            return failures[i].failure;
    return VPA_TRANSPORT_TIMEOUT;
}

static void add_fault(struct world *world, const struct vpa_json *node)
{
    const struct vpa_json *body = vpa_json_find(node, "body");
    const char *transport = vpa_json_string(vpa_json_find(node, "transport"));
    const char *retry =
        vpa_json_string(vpa_json_find(vpa_json_find(node, "headers"), "Retry-After"));
    int64_t status = 0, times = 0, seconds = 0;

    (void)vpa_json_int64(vpa_json_find(node, "status"), &status);
    (void)vpa_json_int64(vpa_json_find(node, "times"), &times);
    bool in_seconds =
        retry && vpa_parse_int64(retry, &seconds, NULL) == 0; /* or a date, nonsense */
    if (times == 0)
        times = 1;
    sim_cluster_answer(
        world->sim,
        &(struct sim_answer){.method = vpa_json_string(vpa_json_find(node, "method")),
                             .path = vpa_json_string(vpa_json_find(node, "path")),
                             .how = SIM_PATH_IS,
                             .times = times < 0 ? 0 : (unsigned)times,
                             .code = (int)status,
                             .body = !body                   ? ""
                                     : vpa_json_string(body) ? vpa_json_string(body)
                                                             : world_node_text(world->c, body),
                             .failure = transport ? failure_named(transport) : VPA_TRANSPORT_OK,
                             .retry = in_seconds,
                             .retry_after = (int)seconds});
    if (retry && vpa_str_eq(vpa_json_string(vpa_json_find(node, "method")), "POST") &&
        (times < 0 || times * seconds >= 30))
        updater_case_met("U23"); /* pauses beyond the age of a decision */
}

void world_set_faults(struct world *world, const struct vpa_json *faults)
{
    sim_cluster_unscript(world->sim);
    vpa_json_foreach (node, faults)
        add_fault(world, node);
}

/* ---- what answers before the simulator ---- */

/* The pod of ".../namespaces/NS/pods/NAME..." */
static struct object *pod_at(struct world *world, const char *path)
{
    const char *ns = strstr(path, "/namespaces/");
    const char *end = ns ? strstr(ns, "/pods/") : NULL;

    if (!end)
        return NULL;
    ns += strlen("/namespaces/");
    const char *name = end + strlen("/pods/");
    return vpa_table_find(&world->pods,
                          vpa_arena_printf(world->c->arena, "%.*s/%.*s", (int)(end - ns), ns,
                                           (int)strcspn(name, "/"), name));
}

/* Applies a JSON patch to the server's copy; false when it does not fit. */
static bool patch_object(struct world *world, struct object *o, const char *path, const char *body)
{
    struct vpa_error err;
    vpa_auto_buf out = VPA_BUF(WORLD_TEXT_MAX);

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
    const struct object *pod = pod_at(world, q->path);
    struct vpa_memory_request out = *q;

    if (!pod || !q->body_len)
        return out;
    out.body = updater_case_unguarded(world->c, world_parse(world->c, pod->json), q->body);
    out.body_len = strlen(out.body);
    return out;
}

static int serve_scale(struct world *world, const char *path, struct vpa_memory_reply *reply)
{
    const struct vpa_json *scale = vpa_json_find(world->scales, path);

    if (scale)
        vpa_memory_reply_json(reply, 200, world_node_text(world->c, scale));
    else
        vpa_memory_reply_status(reply, 404, "NotFound", "not found");
    return scale ? 200 : 404;
}

/* Scales are what the case says. Writes are taken and come to nothing that a watch would see. */
int world_serve_first(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    struct world *world = ctx;

    if (vpa_str_eq(q->method, "GET"))
        return vpa_str_ends_with(q->path, "/scale") ? serve_scale(world, q->path, reply) : 0;
    if (vpa_str_eq(q->method, "POST")) {
        vpa_memory_reply_json(reply, 201, q->body_len ? q->body : "{}");
        return 201;
    }

    struct object *pod = pod_at(world, q->path);

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
    bool get = vpa_str_eq(sent->method, "GET");
    struct vpa_memory_request q = get ? *sent : unguarded(world, sent);
    size_t count;

    if (world->all_pods && vpa_memory_query(sent, "fieldSelector"))
        q.query = vpa_memory_query(sent, "watch")
                      ? golden_label(world->c, "watch=1&resourceVersion=%s",
                                     vpa_or_empty(vpa_memory_query(sent, "resourceVersion")))
                      : "";
    sim_cluster_serve(world->sim, &q, reply);
    const struct sim_asked *asked =
        get ? sim_cluster_reads(world->sim, &count) : sim_cluster_writes(world->sim, &count);
    asked += count - 1;
    if (get && strstr(q.path, "/leases/"))
        world->lease_reads++;
    if (get && vpa_str_ends_with(q.path, "/scale"))
        world_record_scale(world, q.path, asked->code);
    else if (!get && strstr(q.path, "/events"))
        world_record_event(world, &q, asked->code);
    else if (!get)
        world_record(world, &world->calls, &q, asked->code, failure_name(asked->failure));
}

void world_list_all_pods(struct world *world)
{
    world->all_pods = true;
}
