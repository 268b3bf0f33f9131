#include "recommender_fixture.h"

struct vpa_arena arena;
struct vpa_clock *virtual_clock;
struct vpa_loop *loop;
struct fake_cluster *server;
hook_fn hook;
unsigned hook_calls;
struct recommender_config config;
static struct vpa_random randomness;
struct vpa_transport *transport;
struct vpa_kube_client *client;
struct recommender *recommender;
struct vpa_ledger *ledger;

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!hook || !hook(q, r))
        fake_cluster_serve(ctx, q, r);
}

const struct vpa_json *json(const char *text)
{
    const struct vpa_json *root;
    struct vpa_error err;

    ck_assert_msg(vpa_json_parse(&arena, text, strlen(text), &root, &err) == 0, "%s", err.text);
    return root;
}

void change(const char *text)
{
    fake_cluster_change(server, json(text));
    while (vpa_loop_poll(loop))
        ;
}

void setup(void)
{
    vpa_arena_init(&arena, 0);
    virtual_clock = vpa_clock_new_manual(vpa_time_from_unix(1768478400, 0));
    loop = vpa_loop_new(virtual_clock);
    server = fake_cluster_new(loop, NULL);
    hook = NULL;
    hook_calls = 0;
    recommender_metrics_reset();
    change(
        APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"shop\"}}"));
    change(APPLY("{\"apiVersion\":\"apps/"
                 "v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\",\"namespace\":"
                 "\"shop\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}}"));
    change(VPA("web", "2026-01-15T10:00:00Z"));
    change(POD("web-1"));
}

void end_watches(const char *plural)
{
    sim_cluster_end_watches(server->sim, plural, true);
}

void stop(void)
{
    recommender_free(recommender);
    vpa_kube_client_free(client);
    vpa_transport_free(transport);
    recommender = NULL;
    client = NULL;
    transport = NULL;
}

void teardown(void)
{
    stop();
    fake_cluster_free(server);
    vpa_loop_free(loop);
    vpa_clock_free(virtual_clock);
    recommender_metrics_reset();
    vpa_arena_release(&arena);
}

const char *no_env(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return NULL;
}

void connect_cluster(const char *flag)
{
    struct vpa_flags flags = recommender_flags(&config);
    char *argv[] = {(char *)"recommender", (char *)flag, NULL};
    struct vpa_error err;
    int status;

    ck_assert_int_eq(vpa_flags_parse(&flags, &arena, flag ? 2 : 1, argv, &err), VPA_FLAGS_RUN);
    ck_assert_int_eq(recommender_config_check(&config, no_env, NULL, &arena, &status, &err), 0);
    transport = vpa_memory_transport_new(loop, serve, server);
    vpa_random_init(&randomness, 1);
    client = vpa_kube_client_new(&(struct vpa_kube_client_options){.loop = loop,
                                                                   .transport = transport,
                                                                   .random = &randomness,
                                                                   .user_agent = "test",
                                                                   .qps = -1},
                                 &err);
}

void construct(const char *flag)
{
    connect_cluster(flag);
    recommender = recommender_new(&(struct recommender_options){.loop = loop,
                                                                .config = &config,
                                                                .client = client,
                                                                .writer = client,
                                                                .metrics = client,
                                                                .ledger = ledger});
}

void start(const char *flag)
{
    struct vpa_error err;

    construct(flag);
    ck_assert_int_eq(recommender_start(recommender, &err), 0);
    ck_assert_int_eq(recommender_load_history(recommender, &err), 0);
}

void pass(const char *step)
{
    vpa_loop_pump(loop, VPA_MINUTE);
    fake_cluster_set_step(server, json(step));
    fake_cluster_begin_record(server);
    recommender_pass(recommender);
}

size_t count_writes(const char *method, const char *path_end)
{
    return sim_cluster_asked(server->sim, method, path_end);
}

const struct vpa_json *stored(const char *kind, const char *name)
{
    return sim_cluster_find(server->sim, &arena, "autoscaling.k8s.io/v1", kind, "shop", name);
}

struct vpa_quantity target(const char *resource)
{
    const struct vpa_json *entry = vpa_json_first(vpa_json_at(
        stored("VerticalPodAutoscaler", "web"), "status.recommendation.containerRecommendations"));
    const char *text = vpa_json_string(vpa_json_find(vpa_json_find(entry, "target"), resource));
    struct vpa_quantity q;

    ck_assert_ptr_nonnull(text);
    ck_assert(vpa_quantity_parse(&arena, text, &q, NULL) == 0);
    return q;
}

int64_t target_cpu(void)
{
    struct vpa_quantity q = target("cpu");

    return vpa_quantity_milli_value(&q);
}

void put_checkpoint_named(const char *name, const char *annotations, const char *last, int bucket)
{
    change(vpa_arena_printf(
        &arena,
        APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
              "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"%s\",%s"
              "\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":"
              "\"app\"},\"status\":{\"lastUpdateTime\":\"%s\",\"version\":\"v3\","
              "\"cpuHistogram\":{\"referenceTimestamp\":\"2026-01-15T00:00:00Z\","
              "\"bucketWeights\":{\"%d\":10000},\"totalWeight\":8.6},\"memoryHistogram\":{"
              "\"referenceTimestamp\":\"2026-01-16T00:00:00Z\",\"bucketWeights\":{\"30\":10000},"
              "\"totalWeight\":1},\"firstSampleStart\":\"2026-01-10T11:00:00Z\","
              "\"lastSampleStart\":\"%s\",\"totalSamplesCount\":62}}"),
        name, annotations, last, bucket, last));
}
