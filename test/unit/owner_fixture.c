#include "owner_fixture.h"

struct vpa_owners *owners;
struct vpa_error err;
const char *deployments = "", *replica_sets = "", *jobs = "", *daemon_sets = "";
struct vpa_memory_stream *watch_of_deployments;
int scale_gets, discovery_gets;
const char *scale_body;
int scale_code;
vpa_duration scale_delay;
void (*on_scale_get)(void);
bool group_known, every_widget;
int widgets_version;
bool two_plurals;

void list(struct vpa_memory_reply *r, const char *items)
{
    vpa_auto_free char *text =
        vpa_xprintf("{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[%s]}", items);

    vpa_memory_reply_json(r, 200, text);
}

static void serve_discovery(const char *path, struct vpa_memory_reply *r)
{
    discovery_gets++;
    if (strcmp(path, "/api/v1") == 0)
        vpa_memory_reply_json(
            r, 200,
            "{\"resources\":[{\"name\":\"pods\",\"kind\":\"Pod\",\"namespaced\":true},"
            "{\"name\":\"pods/resize\",\"kind\":\"Pod\",\"namespaced\":true}]}");
    else if (strcmp(path, "/apis/example.com") == 0 && widgets_version == 5)
        vpa_memory_reply_json(r, 200, "{\"versions\":[");
    else if (strcmp(path, "/apis/example.com") == 0 && group_known)
        vpa_memory_reply_json(
            r, 200,
            widgets_version == 3
                ? "{\"preferredVersion\":{\"version\":\"../../v9?x=\"},\"versions\":[{\"version\":"
                  "\"v1/x\"},{\"version\":\"\"},{\"version\":\"v1\"}]}"
            : widgets_version == 1
                ? "{\"preferredVersion\":{\"version\":\"v1\"},\"versions\":[{\"version\":"
                  "\"v2\"},{\"version\":\"v1\"}]}"
                : "{\"preferredVersion\":{\"version\":\"v2\"},\"versions\":[{\"version\":"
                  "\"v2\"},{\"version\":\"v1\"}]}");
    else if (vpa_str_starts_with(path, "/apis/example.com/v") && group_known)
        vpa_memory_reply_json(
            r, 200,
            widgets_version == 4 && vpa_str_ends_with(path, "/v2") ? "{"
            : two_plurals && vpa_str_ends_with(path, "/v1")
                ? "{\"resources\":[{\"name\":\"gadgets\",\"kind\":\"Widget\",\"namespaced\":true}]}"
                : "{\"resources\":[{\"name\":\"widgets\",\"kind\":\"Widget\",\"namespaced\":true},"
                  "{\"name\":\"widgets/"
                  "scale\",\"kind\":\"Scale\",\"namespaced\":true},{\"name\":7}]}");
    else
        vpa_memory_reply_status(r, 404, NULL, "the server could not find the requested resource");
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    const char *path = q->path;

    (void)ctx;
    if (q->watch) {
        struct vpa_memory_stream *s = vpa_memory_reply_stream(r, 200, NULL, NULL);
        if (vpa_str_ends_with(path, "/deployments"))
            watch_of_deployments = s;
    } else if (vpa_str_ends_with(path, "/scale")) {
        scale_gets++;
        vpa_memory_reply_delay(r, scale_delay);
        if (on_scale_get)
            on_scale_get();
        if (scale_code)
            vpa_memory_reply_status(r, scale_code, NULL, "boom");
        else if (scale_body && (every_widget || strstr(path, "/widgets/w/")))
            vpa_memory_reply_json(r, 200, scale_body);
        else
            vpa_memory_reply_status(r, 404, NULL, "widgets.example.com \"w\" not found");
    } else if (vpa_str_ends_with(path, "/deployments")) {
        list(r, deployments);
    } else if (vpa_str_ends_with(path, "/replicasets")) {
        list(r, replica_sets);
    } else if (vpa_str_ends_with(path, "/jobs")) {
        list(r, jobs);
    } else if (vpa_str_ends_with(path, "/daemonsets")) {
        list(r, daemon_sets);
    } else if (vpa_str_ends_with(path, "s") && !vpa_str_ends_with(path, "/apis")) {
        list(r, "");
    } else {
        serve_discovery(path, r);
    }
}

void setup(void)
{
    start_client(serve, 1772366400, 3);
    owners = vpa_owners_new(&(struct vpa_owners_options){.client = client});
    deployments =
        FREE("web", APP) "," OWNED("managed", "Widget", "w", "example.com/v1", APP) "," OWNED(
            "onnode", "Node", "node", "v1", APP) "," OWNED("odd", "Thing", "t", "a/b/c", APP);
    replica_sets = OWNED("web-1", "Deployment", "web", "apps/v1", APP) "," OWNED(
        "lost-1", "Deployment", "lost", "apps/v1",
        APP) "," OWNED("loop-1", "ReplicaSet", "loop-2", "apps/v1",
                       APP) "," OWNED("loop-2", "ReplicaSet", "loop-1", "apps/v1", APP);
    jobs = FREE("job", "{\"parallelism\":4,\"selector\":{\"matchLabels\":{\"j\":\"1\"}}}");
    daemon_sets = "{\"metadata\":{\"namespace\":\"n\",\"name\":\"ds\"},\"spec\":{\"selector\":{"
                  "\"matchExpressions\":"
                  "[{\"key\":\"a\",\"operator\":\"Has\"}]}},\"status\":{\"desiredNumberScheduled\":"
                  "6,\"numberReady\":5}}";
    scale_gets = discovery_gets = scale_code = 0;
    scale_delay = 0;
    on_scale_get = NULL;
    scale_body = SCALE("app=w", "7");
    group_known = true;
    every_widget = two_plurals = false;
    widgets_version = 1;
}

void synced(void)
{
    vpa_owners_start(owners);
    ck_assert_msg(vpa_owners_wait(owners, VPA_MINUTE, &err) == 0, "%s", err.text);
    vpa_owners_begin_pass(owners);
}

void teardown(void)
{
    vpa_owners_free(owners);
    stop_client();
}

void follow_many(int count)
{
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "w%d", i);
        vpa_owners_follow_target(owners, "n", "example.com/v1", "Widget", name);
    }
}
