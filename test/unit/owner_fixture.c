#include "owner_fixture.h"

struct vpa_owners *owners;
struct vpa_error err;

/* ---- the cluster ---- */

void put_widget(const char *name, const char *selector, int replicas)
{
    vpa_auto_free char *object =
        vpa_xprintf("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{"
                    "\"namespace\":\"n\",\"name\":\"%s\"},\"spec\":{\"replicas\":%d},"
                    "\"status\":{\"replicas\":1,\"selector\":\"%s\"}}",
                    name, replicas, selector);

    sim_cluster_put_text(sim, object);
}

void drop_widget(const char *name)
{
    ck_assert(sim_cluster_delete(sim, "example.com/v1", "Widget", "n", name));
}

void put_widgets(int count)
{
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "w%d", i);
        put_widget(name, "app=w", 7);
    }
}

void follow_many(int count)
{
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "w%d", i);
        vpa_owners_follow_target(owners, WIDGET(name));
    }
}

void delay_scales(vpa_duration delay)
{
    sim_cluster_unscript(sim);
    sim_cluster_answer(sim,
                       &(struct sim_answer){.method = "GET", .path = "/scale", .delay = delay});
}

void answer_scales(int code, const char *body)
{
    sim_cluster_unscript(sim);
    sim_cluster_answer(sim, &(struct sim_answer){.method = "GET",
                                                 .path = "/scale",
                                                 .code = code   ? code
                                                         : body ? 200
                                                                : 404,
                                                 .body = body,
                                                 .message = "boom"});
}

int scale_gets(void)
{
    return (int)sim_cluster_asked(sim, "GET", "/scale");
}

int discovery_gets(void)
{
    vpa_auto_arena arena = {0};
    size_t count;
    const struct sim_asked *reads = sim_cluster_reads(sim, &count);
    int documents = 0;

    for (size_t i = 0; i < count; i++)
        documents += !*sim_place_of(&arena, reads[i].path).resource;
    return documents;
}

bool knows_widget(const char *name)
{
    const struct vpa_selector *selector;
    struct vpa_owner_view *view = vpa_owners_view(owners);
    bool known =
        vpa_owner_view_selector(view, WIDGET(name), &selector, &err) == 0 || err.code != VPA_RETRY;

    vpa_owner_view_unref(view);
    return known;
}

/* ---- the fixture ---- */

void setup(void)
{
    start_client(NULL, 1772366400, 3);
    owners = vpa_owners_new(&(struct vpa_owners_options){.client = client});
    sim_cluster_serve_kind(sim, "example.com", "v1beta1", "widgets", "Widget", false, true);
    sim_cluster_serve_kind(sim, "example.com", "v1", "widgets", "Widget", false, true);
    put_widget("w", "app=w", 7);
    sim_cluster_put_text(sim, DEPLOYMENT("web", "", APP));
    sim_cluster_put_text(sim, DEPLOYMENT("managed", OWNER("example.com/v1", "Widget", "w"), APP));
    sim_cluster_put_text(sim, DEPLOYMENT("onnode", OWNER("v1", "Node", "node"), APP));
    sim_cluster_put_text(sim, DEPLOYMENT("odd", OWNER("a/b/c", "Thing", "t"), APP));
    sim_cluster_put_text(sim, REPLICA_SET("web-1", OWNER("apps/v1", "Deployment", "web")));
    sim_cluster_put_text(sim, REPLICA_SET("lost-1", OWNER("apps/v1", "Deployment", "lost")));
    sim_cluster_put_text(sim, REPLICA_SET("loop-1", OWNER("apps/v1", "ReplicaSet", "loop-2")));
    sim_cluster_put_text(sim, REPLICA_SET("loop-2", OWNER("apps/v1", "ReplicaSet", "loop-1")));
    sim_cluster_put_text(
        sim, OBJECT("batch/v1", "Job", "job", "",
                    "{\"parallelism\":4,\"selector\":{\"matchLabels\":{\"j\":\"1\"}}}"));
    sim_cluster_put_text(
        sim, OBJECT("apps/v1", "DaemonSet", "ds", "",
                    "{\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Has\"}]}},"
                    "\"status\":{\"desiredNumberScheduled\":6,\"numberReady\":5}"));
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
