/* The cluster in memory: its objects, and the updater in it. */
#include "updater_world_parts.h"
#include "manual_clock.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/json/json_writer.h"
#include "vpa/policy/resize_state.h"

const char *world_node_text(struct golden_case *c, const struct vpa_json *node)
{
    struct vpa_json_writer w;
    vpa_auto_buf buf = VPA_BUF(WORLD_TEXT_MAX);

    vpa_json_writer_init(&w, &buf);
    vpa_json_put_node(&w, node);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&buf));
}

const struct vpa_json *world_parse(struct golden_case *c, const char *text)
{
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    if (vpa_json_parse(c->arena, text, strlen(text), &root, &err) < 0)
        golden_difference(c, "json", "JSON", err.text);
    return root;
}

/* ---- objects ---- */

void world_put(struct world *world, const struct vpa_json *node)
{
    struct golden_case *c = world->c;
    const struct vpa_json *metadata = vpa_json_find(node, "metadata");

    if (vpa_str_eq(vpa_json_string(vpa_json_find(node, "kind")), "Pod")) {
        struct object *o = vpa_arena_zalloc(c->arena, sizeof(*o));

        o->ns = vpa_or_empty(vpa_json_string(vpa_json_find(metadata, "namespace")));
        o->name = vpa_or_empty(vpa_json_string(vpa_json_find(metadata, "name")));
        o->uid = vpa_or_empty(vpa_json_string(vpa_json_find(metadata, "uid")));
        o->server = o->json = world_node_text(c, node);
        vpa_table_put(&world->pods, vpa_arena_printf(c->arena, "%s/%s", o->ns, o->name), o);
    }
    (void)sim_cluster_put(world->sim, node);
}

void world_put_all(struct world *world, const struct vpa_json *objects)
{
    vpa_json_foreach (object, objects)
        world_put(world, object);
}

/* Of the kinds that go in a case. */
static const char *const api_versions[] = {"v1", "apps/v1", "batch/v1", "autoscaling.k8s.io/v1",
                                           "coordination.k8s.io/v1"};

void world_delete(struct world *world, const char *what)
{
    const char *parts[3] = {"", "", ""}; /* kind, namespace, name */

    for (size_t i = 0; i < VPA_COUNT(parts); i++) {
        size_t len = strcspn(what, " /");

        parts[i] = vpa_arena_strndup(world->c->arena, what, len);
        what += len + (what[len] != '\0');
    }
    if (vpa_str_eq(parts[0], "Pod"))
        vpa_table_remove(&world->pods,
                         vpa_arena_printf(world->c->arena, "%s/%s", parts[1], parts[2]));
    for (size_t i = 0; i < VPA_COUNT(api_versions); i++)
        (void)sim_cluster_delete(world->sim, api_versions[i], parts[0], parts[1], parts[2]);
}

void world_set_scales(struct world *world, const struct vpa_json *scales)
{
    world->scales = scales;
}

/* ---- life ---- */

struct world *world_new(struct golden_case *c, vpa_time start)
{
    struct world *world = vpa_xcalloc(1, sizeof(*world));

    world->c = c;
    world->clock = vpa_clock_new_manual(start);
    world->loop = vpa_loop_new(world->clock);
    world->sim = sim_cluster_new(world->loop);
    sim_cluster_hook(world->sim, world_serve_first, world);
    world_serve_kinds(world);
    world->transport = vpa_memory_transport_new(world->loop, world_serve, world);
    world->config = updater_case_config(c);
    /* The vectors were recorded without a limit on the client's requests. */
    world->client =
        vpa_kube_client_new(&(struct vpa_kube_client_options){.loop = world->loop,
                                                              .transport = world->transport,
                                                              .random = &world->random,
                                                              .user_agent = "golden",
                                                              .qps = -1},
                            NULL);
    world->updater = updater_new(&(struct updater_options){
        .loop = world->loop,
        .client = world->client,
        .config = &world->config,
        .requests_max = 1,
    });
    updater_env(world->updater)->all_proven = true;
    return world;
}

void world_free(struct world *world)
{
    struct vpa_metrics metrics = {.table = updater_metrics, .count = updater_metric_count};

    updater_free(world->updater);
    vpa_kube_client_free(world->client);
    vpa_transport_free(world->transport);
    sim_cluster_free(world->sim);
    vpa_loop_free(world->loop);
    vpa_clock_free(world->clock);
    vpa_table_release(&world->pods);
    vpa_table_release(&world->recorded_events);
    vpa_table_release(&world->event_counts);
    vpa_metrics_release(&metrics);
    free(world->looks);
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

/* ---- memory of the updater ---- */

/* Whether a timer of the pod can have started then: it is one of the case's own, or the updater
 * looked at that instant. */
static bool is_timer(struct world *world, const char *ns, const char *name, vpa_time since)
{
    struct golden_case *c = world->c;
    const struct vpa_json *given =
        vpa_json_find(GOLDEN_IN(c, "firstSeen"), golden_label(c, "%s/%s", ns, name));
    bool looked = false;

    for (size_t i = 0; i < world->look_count; i++)
        looked = looked || (world->looks[i].from <= since && since <= world->looks[i].till);
    return looked || (given && updater_case_time(c, given, "firstSeen") == since);
}

/* The reference keeps the timer of a pod that is gone; it must have been there. */
static void check_dead_timer(struct world *world, const char *label, const struct vpa_json *timer)
{
    struct golden_case *c = world->c;
    const char *slash = strchr(vpa_json_name(timer), '/');
    const char *name = slash ? slash + 1 : "";
    const char *ns =
        golden_label(c, "%.*s", (int)strcspn(vpa_json_name(timer), "/"), vpa_json_name(timer));

    if (!strstr(world_node_text(c, c->in), golden_label(c, "\"name\":\"%s\"", name)) ||
        !is_timer(world, ns, name, updater_case_time(c, timer, label)))
        golden_unexpected(c, golden_label(c, "%s.%s", label, vpa_json_name(timer)),
                          "no such timer");
}

/* A timer runs while the kubelet reports a resize (U22), for every pod of the pass: the reference
 * keeps it for ever, and starts it only for pods that it thinks of evicting. */
static void compare_timer(struct world *world, const char *label, const struct object *o,
                          vpa_time wanted)
{
    struct golden_case *c = world->c;
    const struct vpa_pod *pod = updater_case_pod(c, world_parse(c, o->json));
    vpa_time got = VPA_TIME_UNSET;

    if (!vpa_update_memory_resize_since(world_env(world)->memory, o->uid, &got))
        got = VPA_TIME_UNSET;
    if (!vpa_time_is_unset(wanted) && !is_timer(world, o->ns, o->name, wanted))
        golden_unexpected(c, golden_label(c, "%s[%s/%s]", label, o->ns, o->name), "never started");
    if (!vpa_pod_resizing(pod))
        wanted = VPA_TIME_UNSET;
    else if (vpa_time_is_unset(wanted))
        return;
    if (!vpa_time_is_unset(wanted) && got > wanted)
        updater_case_met("U22");
    if (wanted != got)
        golden_difference(c, golden_label(c, "%s[%s/%s]", label, o->ns, o->name),
                          golden_label(c, "%lld", (long long)vpa_time_unix_nanos(wanted)),
                          golden_label(c, "%lld", (long long)vpa_time_unix_nanos(got)));
}

void world_compare_first_seen(struct world *world, const char *label, const struct vpa_json *want)
{
    struct golden_case *c = world->c;
    vpa_auto_free void **sorted = vpa_table_sorted(&world->pods);

    vpa_json_foreach (timer, want) {
        if (vpa_table_find(&world->pods, vpa_json_name(timer)))
            continue;
        check_dead_timer(world, label, timer); /* U6: dropped with the pod, here */
        golden_compared(c, timer);
        golden_exempt(c, 1);
    }
    for (size_t i = 0; i < world->pods.count; i++) {
        const struct object *o = sorted[i];
        const struct vpa_json *timer =
            vpa_json_find(want, golden_label(c, "%s/%s", o->ns, o->name));

        golden_compared(c, timer);
        compare_timer(world, label, o, timer ? updater_case_time(c, timer, label) : VPA_TIME_UNSET);
    }
}

void world_set_memory(struct world *world, const struct vpa_json *first_seen,
                      const struct vpa_json *infeasible)
{
    struct vpa_update_memory *memory = world_env(world)->memory;

    vpa_json_foreach (timer, first_seen) {
        const struct object *o = vpa_table_find(&world->pods, vpa_json_name(timer));

        if (o)
            vpa_update_memory_observe(memory,
                                      updater_case_pod(world->c, world_parse(world->c, o->json)),
                                      updater_case_time(world->c, timer, "firstSeen"));
    }
    vpa_json_foreach (node, infeasible) {
        struct vpa_recommendation rec = updater_case_recommendation(world->c, node);

        vpa_update_memory_record_infeasible(memory, vpa_json_name(node), &rec);
    }
}
