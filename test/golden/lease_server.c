#include "lease_server.h"
#include "manual_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/json/json_writer.h"

struct lease_world lease_world;

/* The server */

static const char *now_seconds(void)
{
    char text[VPA_TIME_TEXT_MAX];

    vpa_time_format(vpa_loop_now(lease_world.loop), text);
    return vpa_arena_strdup(lease_world.c->arena, text);
}

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

static void put_metadata(struct vpa_json_writer *out, const struct vpa_json *metadata)
{
    vpa_json_open_object(out);
    vpa_json_foreach (member, metadata) {
        const char *name = vpa_json_name(member);
        if (strcmp(name, "resourceVersion") == 0 || strcmp(name, "uid") == 0)
            continue;
        vpa_json_key(out, name);
        vpa_json_put_node(out, member);
    }
    if (lease_world.uid)
        vpa_json_member_string(out, "uid", lease_world.uid);
    vpa_json_key(out, "resourceVersion");
    vpa_json_put_string(
        out, vpa_arena_printf(lease_world.c->arena, "%lld", (long long)lease_world.version));
    vpa_json_close_object(out);
}

static const char *lease_text(bool heartbeat)
{
    struct vpa_json_writer out;
    char renewed[VPA_TIME_TEXT_MAX];
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, 1 << 20);
    vpa_json_writer_init(&out, &buf);
    vpa_time_format_micro(vpa_loop_now(lease_world.loop), renewed);
    vpa_json_open_object(&out);
    vpa_json_member_string(&out, "kind", "Lease");
    vpa_json_member_string(&out, "apiVersion", "coordination.k8s.io/v1");
    vpa_json_key(&out, "metadata");
    put_metadata(&out, vpa_json_find(lease_world.lease, "metadata"));
    vpa_json_key(&out, "spec");
    vpa_json_open_object(&out);
    vpa_json_foreach (member, vpa_json_find(lease_world.lease, "spec")) {
        vpa_json_key(&out, vpa_json_name(member));
        if (heartbeat && strcmp(vpa_json_name(member), "renewTime") == 0)
            vpa_json_put_string(&out, renewed);
        else
            put_server_value(&out, member);
    }
    vpa_json_close_object(&out);
    vpa_json_close_object(&out);
    return vpa_arena_strdup(lease_world.c->arena, vpa_buf_text(&buf));
}

const struct vpa_json *lease_world_parse(const char *text)
{
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    if (vpa_json_parse(lease_world.c->arena, text, strlen(text), &root, &err) < 0)
        golden_difference(lease_world.c, "json", "readable", err.text);
    return root;
}

static void store(const char *text)
{
    lease_world.lease = lease_world_parse(text);
    lease_world.version = ++lease_world.versions;
    lease_world.exists = true;
}

static void answer(struct vpa_memory_reply *r, struct lease_request *q, int code,
                   const char *message)
{
    q->code = code;
    if (code < 300)
        vpa_memory_reply_json(r, code, message);
    else
        vpa_memory_reply_status(r, code, NULL, message);
}

static void create_lease(struct vpa_memory_reply *r, struct lease_request *q)
{
    const struct vpa_json *given = lease_world_parse(q->body);
    struct vpa_json_writer out;
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, 1 << 20);
    if (lease_world.exists) {
        q->code = 409;
        vpa_memory_reply_status(r, 409, "AlreadyExists",
                                "leases.coordination.k8s.io already exists");
        return;
    }
    vpa_json_writer_init(&out, &buf);
    vpa_json_open_object(&out);
    vpa_json_key(&out, "metadata");
    vpa_json_open_object(&out);
    vpa_json_foreach (member, vpa_json_find(given, "metadata")) {
        vpa_json_key(&out, vpa_json_name(member));
        vpa_json_put_node(&out, member);
    }
    vpa_json_member_string(&out, "creationTimestamp", now_seconds());
    vpa_json_close_object(&out);
    vpa_json_key(&out, "spec");
    vpa_json_put_node(&out, vpa_json_find(given, "spec"));
    vpa_json_close_object(&out);
    store(vpa_buf_text(&buf));
    lease_world.uid = lease_world.leader ? "lease-uid"
                                         : vpa_arena_printf(lease_world.c->arena, "uid-%lld",
                                                            (long long)lease_world.version);
    answer(r, q, 201, lease_text(false));
}

static void update_lease(struct vpa_memory_reply *r, struct lease_request *q)
{
    const char *version =
        vpa_json_string(vpa_json_at(lease_world_parse(q->body), "metadata.resourceVersion"));

    if (!lease_world.exists) {
        answer(r, q, 404, "not found");
    } else if (!version || strtoll(version, NULL, 10) != lease_world.version) {
        answer(r, q, 409, "the object has been modified");
    } else {
        store(q->body);
        answer(r, q, 200, lease_text(false));
    }
}

static void get_lease(struct vpa_memory_reply *r, struct lease_request *q)
{
    bool heartbeat = false;

    vpa_json_bool(vpa_json_at(lease_world.c->in, "server.heartbeat"), &heartbeat);
    if (!lease_world.exists) {
        const char *name = strrchr(q->path, '/') + 1;
        answer(r, q, 404,
               vpa_arena_printf(lease_world.c->arena, "leases.coordination.k8s.io \"%s\" not found",
                                name));
        return;
    }
    if (heartbeat)
        lease_world.version = ++lease_world.versions;
    answer(r, q, 200, lease_text(heartbeat));
}

static int method_index(const char *method)
{
    return strcmp(method, "GET") == 0 ? 0 : strcmp(method, "POST") == 0 ? 1 : 2;
}

/* Rules of the leader's server; true: answered. */
static bool leader_rules(struct vpa_memory_reply *r, struct lease_request *q)
{
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
            lease_world.exists = false;
        if (thief)
            store(vpa_arena_printf(
                lease_world.c->arena,
                "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"holderIdentity\":\"%s\","
                "\"leaseDurationSeconds\":15,\"renewTime\":\"now+1\"}}",
                thief));
        if (vpa_json_int64(vpa_json_find(rule, "code"), &code)) {
            answer(r, q, (int)code, "scripted");
            return true;
        }
    }
    return false;
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

static bool status_faults(struct vpa_memory_reply *r, struct lease_request *q)
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
                return true;
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
        if (code == 409 && strcmp(q->method, "POST") == 0) {
            q->code = 409;
            vpa_memory_reply_status(r, 409, "AlreadyExists", "already exists");
        } else {
            answer(r, q, (int)code, fault_message((int)code, q->path));
        }
        return true;
    }
    return false;
}

static void on_abandoned(void *ctx)
{
    ((struct lease_request *)ctx)->abandoned = true;
}

static void serve(void *ctx, const struct vpa_memory_request *seen, struct vpa_memory_reply *r)
{
    struct lease_request *q =
        &lease_world.requests[lease_world.count < REQUESTS_MAX - 1 ? lease_world.count++
                                                                   : lease_world.count];

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
    if (lease_world.leader ? leader_rules(r, q) : status_faults(r, q))
        return;
    if (strcmp(q->method, "GET") == 0)
        get_lease(r, q);
    else if (strcmp(q->method, "POST") == 0)
        create_lease(r, q);
    else
        update_lease(r, q);
}

/* Life */

void lease_world_open(struct golden_case *c, vpa_time start, bool leader,
                      const struct vpa_json *lease)
{
    struct vpa_kube_client_options options = {.qps = -1};
    bool has_uid;

    memset(&lease_world, 0, sizeof(lease_world));
    lease_world.c = c;
    lease_world.leader = leader;
    lease_world.start = start;
    lease_world.clock = vpa_clock_new_manual(start);
    lease_world.loop = vpa_loop_new(lease_world.clock);
    lease_world.transport = vpa_memory_transport_new(lease_world.loop, serve, NULL);
    vpa_random_init(&lease_world.random, 1);
    options.loop = lease_world.loop;
    options.transport = lease_world.transport;
    options.random = &lease_world.random;
    lease_world.client = vpa_kube_client_new(&options, NULL);
    lease_world.versions = 1000;
    if (vpa_json_is_null(lease))
        return;
    lease_world.exists = true;
    lease_world.lease = lease;
    lease_world.version = ++lease_world.versions;
    has_uid = vpa_json_find(vpa_json_find(lease, "metadata"), "uid") != NULL;
    lease_world.uid = leader ? (has_uid ? "lease-uid" : NULL) : "uid-1001";
    if (!leader && !vpa_json_at(lease, "metadata.creationTimestamp")) {
        struct vpa_json_writer out;
        vpa_auto_buf buf = {0};
        vpa_buf_init(&buf, 1 << 20);
        vpa_json_writer_init(&out, &buf);
        vpa_json_open_object(&out);
        vpa_json_key(&out, "metadata");
        vpa_json_open_object(&out);
        vpa_json_foreach (member, vpa_json_find(lease, "metadata")) {
            vpa_json_key(&out, vpa_json_name(member));
            vpa_json_put_node(&out, member);
        }
        vpa_json_member_string(&out, "creationTimestamp", now_seconds());
        vpa_json_close_object(&out);
        vpa_json_key(&out, "spec");
        vpa_json_put_node(&out, vpa_json_find(lease, "spec"));
        vpa_json_close_object(&out);
        lease_world.lease = lease_world_parse(vpa_buf_text(&buf));
    }
}

void lease_world_close(void)
{
    vpa_kube_client_free(lease_world.client);
    vpa_transport_free(lease_world.transport);
    vpa_loop_free(lease_world.loop);
    vpa_clock_free(lease_world.clock);
}

/* leader_election.jsonl */
