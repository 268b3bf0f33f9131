#include "lease_server.h"
#include "manual_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/json/json_writer.h"

#define LEASES "coordination.k8s.io/v1"

struct lease_world lease_world;

/* The server */

/* "now-100": seconds relative to the start. */
static void put_server_value(struct vpa_json_writer *out, const struct vpa_json *node)
{
    const char *text = vpa_json_string(node);
    char time[VPA_TIME_TEXT_MAX];

    if (text && vpa_str_starts_with(text, "now")) {
        vpa_time_format_micro(
            vpa_time_add(lease_world.start, strtoll(text + 3, NULL, 10) * VPA_SECOND), time);
        vpa_json_put_string(out, time);
    } else {
        vpa_json_put_node(out, node);
    }
}

const struct vpa_json *lease_world_parse(const char *text)
{
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    if (vpa_json_parse(lease_world.c->arena, text, strlen(text), &root, &err) < 0)
        golden_difference(lease_world.c, "json", "readable", err.text);
    return root;
}

/* The lease as the server has it; renewed: just now. */
static const struct vpa_json *rendered(const struct vpa_json *lease, bool renewed)
{
    struct vpa_json_writer out;
    char now[VPA_TIME_TEXT_MAX];
    vpa_auto_buf buf = VPA_BUF(1 << 20);

    vpa_json_writer_init(&out, &buf);
    vpa_time_format_micro(vpa_loop_now(lease_world.loop), now);
    vpa_json_open_object(&out);
    vpa_json_member_string(&out, "kind", "Lease");
    vpa_json_member_string(&out, "apiVersion", LEASES);
    vpa_json_member_node(&out, "metadata", vpa_json_find(lease, "metadata"));
    vpa_json_member_object(&out, "spec");
    vpa_json_foreach (member, vpa_json_find(lease, "spec")) {
        vpa_json_key(&out, vpa_json_name(member));
        if (renewed && strcmp(vpa_json_name(member), "renewTime") == 0)
            vpa_json_put_string(&out, now);
        else
            put_server_value(&out, member);
    }
    vpa_json_close_object(&out);
    vpa_json_close_object(&out);
    return lease_world_parse(vpa_buf_text(&buf));
}

/* Its holder is alive: it renews the lease before each look at it. */
static void beat(const struct sim_place *at)
{
    const struct vpa_json *lease =
        sim_cluster_find(lease_world.sim, lease_world.c->arena, LEASES, "Lease", at->ns, at->name);
    bool heartbeat = false;

    vpa_json_bool(vpa_json_at(lease_world.c->in, "server.heartbeat"), &heartbeat);
    if (heartbeat && lease)
        (void)sim_cluster_put(lease_world.sim, rendered(lease, true));
}

/* Somebody else takes the lease. */
static void steal(const struct sim_place *at, const char *thief)
{
    const struct vpa_json *stolen = lease_world_parse(
        vpa_arena_printf(lease_world.c->arena,
                         "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"},\"spec\":{"
                         "\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15,"
                         "\"renewTime\":\"now+1\"}}",
                         at->name, at->ns, thief));

    (void)sim_cluster_apply(lease_world.sim, rendered(stolen, false));
}

static int method_index(const char *method)
{
    return strcmp(method, "GET") == 0 ? 0 : strcmp(method, "POST") == 0 ? 1 : 2;
}

/* Rules of the leader's server; the status answered with. */
static int leader_rules(struct vpa_memory_reply *r, const struct vpa_memory_request *q)
{
    const struct sim_place at = sim_place_of(lease_world.c->arena, q->path);
    int number = lease_world.method_counts[method_index(q->method)];

    vpa_json_foreach (rule, vpa_json_at(lease_world.c->in, "server.rules")) {
        int64_t from = 1, to = INT64_MAX, code = 0;
        bool drop = false;
        const char *thief = vpa_json_string(vpa_json_find(rule, "steal"));

        vpa_json_int64(vpa_json_find(rule, "from"), &from);
        vpa_json_int64(vpa_json_find(rule, "to"), &to);
        if (!vpa_str_eq(vpa_json_string(vpa_json_find(rule, "method")), q->method) ||
            number < from || number > to)
            continue;
        vpa_json_bool(vpa_json_find(rule, "delete"), &drop);
        if (drop)
            (void)sim_cluster_delete(lease_world.sim, LEASES, "Lease", at.ns, at.name);
        if (thief)
            steal(&at, thief);
        if (vpa_json_int64(vpa_json_find(rule, "code"), &code)) {
            vpa_memory_reply_status(r, (int)code, NULL, "scripted");
            return (int)code;
        }
    }
    if (strcmp(q->method, "GET") == 0)
        beat(&at);
    return 0;
}

/* The rules in force of the status lease's server: the last whose time has come. */
static const struct vpa_json *status_rules(void)
{
    const struct vpa_json *current = NULL;
    int64_t from;

    vpa_json_foreach (rule, GOLDEN_IN(lease_world.c, "rules"))
        if (vpa_json_int64(vpa_json_find(rule, "from_ms"), &from) &&
            from * VPA_MILLISECOND <= vpa_loop_monotonic(lease_world.loop))
            current = rule;
    return current;
}

static const char *fault_message(int code, const char *path)
{
    const char *name = strrchr(path, '/') + 1;

    switch (code) {
    case 403:
        return vpa_arena_printf(lease_world.c->arena,
                                "leases.coordination.k8s.io \"%s\" is forbidden: denied by test",
                                name);
    case 404:
        return vpa_arena_printf(lease_world.c->arena, "leases.coordination.k8s.io \"%s\" not found",
                                name);
    case 409:
        return "object was modified";
    case 503:
        return "simulated outage";
    default:
        return "Internal error occurred: simulated failure";
    }
}

static int status_faults(struct vpa_memory_reply *r, const struct vpa_memory_request *q)
{
    size_t i = 0;

    vpa_json_foreach (latency, vpa_json_find(status_rules(), "latency")) {
        int64_t ms = 0;
        if (vpa_str_eq(vpa_json_string(vpa_json_find(latency, "method")), q->method) &&
            strstr(q->path, vpa_json_string(vpa_json_find(latency, "path"))) &&
            vpa_json_int64(vpa_json_find(latency, "ms"), &ms)) {
            vpa_memory_reply_delay(r, ms * VPA_MILLISECOND);
            if (ms > 10000) { /* the client will be gone before the server has done it */
                vpa_memory_reply_json(r, 200, "{}");
                return 200;
            }
            break;
        }
    }
    vpa_json_foreach (fault, vpa_json_find(status_rules(), "faults")) {
        int64_t code = 0, times = 0;
        int *used = &lease_world.fault_counts[i++ % VPA_COUNT(lease_world.fault_counts)];

        vpa_json_int64(vpa_json_find(fault, "code"), &code);
        vpa_json_int64(vpa_json_find(fault, "times"), &times);
        if (!vpa_str_eq(vpa_json_string(vpa_json_find(fault, "method")), q->method) ||
            !vpa_str_ends_with(q->path, vpa_json_string(vpa_json_find(fault, "path"))) ||
            (times > 0 && *used >= times))
            continue;
        ++*used;
        bool made = code == 409 && strcmp(q->method, "POST") == 0;
        vpa_memory_reply_status(r, (int)code, made ? "AlreadyExists" : NULL,
                                fault_message((int)code, q->path));
        return (int)code;
    }
    return 0;
}

static void on_abandoned(void *ctx)
{
    ((struct lease_request *)ctx)->abandoned = true;
}

static int serve_first(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    int code = lease_world.leader ? leader_rules(r, q) : status_faults(r, q);
    const struct sim_place at = sim_place_of(lease_world.c->arena, q->path);

    (void)ctx;
    if (!code && strcmp(q->method, "PUT") == 0 &&
        !sim_cluster_find(lease_world.sim, lease_world.c->arena, LEASES, "Lease", at.ns, at.name))
        code = sim_not_found(q->path, r); /* a real server makes a Lease that is put */
    return code;
}

static void serve(void *ctx, const struct vpa_memory_request *seen, struct vpa_memory_reply *r)
{
    struct lease_request *q =
        &lease_world.requests[lease_world.count < REQUESTS_MAX - 1 ? lease_world.count++
                                                                   : lease_world.count];
    size_t count;

    (void)ctx;
    *q = (struct lease_request){
        .at_ms = vpa_loop_monotonic(lease_world.loop) / VPA_MILLISECOND,
        .method = vpa_arena_strdup(lease_world.c->arena, seen->method),
        .path = vpa_arena_strdup(lease_world.c->arena, seen->path),
        .body = seen->body_len ? vpa_arena_strdup(lease_world.c->arena, seen->body) : NULL,
    };
    lease_world.method_counts[method_index(q->method)]++;
    vpa_memory_reply_on_abandoned(r, on_abandoned, q);
    if (lease_world.leader) /* answers take time, so that acquiring and renewing happen at different
                             * instants
                             */
        vpa_memory_reply_delay(r, VPA_MILLISECOND);
    sim_cluster_serve(lease_world.sim, seen, r);
    const struct sim_asked *asked = strcmp(q->method, "GET") == 0
                                        ? sim_cluster_reads(lease_world.sim, &count)
                                        : sim_cluster_writes(lease_world.sim, &count);
    q->code = asked[count - 1].code;
}

/* The life of it */

void lease_world_open(struct golden_case *c, vpa_time start, bool leader,
                      const struct vpa_json *lease)
{
    struct vpa_kube_client_options options = {.qps = -1};

    memset(&lease_world, 0, sizeof(lease_world));
    lease_world.c = c;
    lease_world.leader = leader;
    lease_world.start = start;
    lease_world.clock = vpa_clock_new_manual(start);
    lease_world.loop = vpa_loop_new(lease_world.clock);
    lease_world.sim = sim_cluster_new(lease_world.loop);
    sim_cluster_hook(lease_world.sim, serve_first, NULL);
    lease_world.transport = vpa_memory_transport_new(lease_world.loop, serve, NULL);
    vpa_random_init(&lease_world.random, 1);
    options.loop = lease_world.loop;
    options.transport = lease_world.transport;
    options.random = &lease_world.random;
    lease_world.client = vpa_kube_client_new(&options, NULL);
    if (!vpa_json_is_null(lease))
        (void)(leader ? sim_cluster_put : sim_cluster_apply)(lease_world.sim,
                                                             rendered(lease, false));
}

void lease_world_close(void)
{
    vpa_kube_client_free(lease_world.client);
    vpa_transport_free(lease_world.transport);
    sim_cluster_free(lease_world.sim);
    vpa_loop_free(lease_world.loop);
    vpa_clock_free(lease_world.clock);
}

/* leader_election.jsonl */
