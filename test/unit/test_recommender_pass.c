/*
 * The whole recommender against an API server in memory: what the golden vectors do not cover, that
 * is our own decisions (U4, U5, U12, U16), faults, restarts, and stopping at bad moments.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../recommender/metrics.h"
#include "../../recommender/recommender.h"

#include "vpa/base/log.h"
#include "vpa/base/str.h"

/* The server of the golden sets. */
#include "../golden/fake_cluster.c"
#include "../golden/fake_store.c"
#include "../golden/fake_usage.c"

#define CHECKPOINTS "/apis/autoscaling.k8s.io/v1/namespaces/shop/verticalpodautoscalercheckpoints"

/* True: the hook has answered. */
typedef bool (*hook_fn)(const struct vpa_memory_request *q, struct vpa_memory_reply *r);

static struct vpa_arena arena;
static struct vpa_clock *virtual_clock;
static struct vpa_loop *loop;
static struct fake_cluster *server;
static hook_fn hook;
static unsigned hook_calls;

static struct recommender_config config;
static struct vpa_random randomness;
static struct vpa_transport *transport;
static struct vpa_kube_client *client;
static struct recommender *recommender;

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!hook || !hook(q, r))
        fake_cluster_serve(ctx, q, r);
}

static const struct vpa_json *json(const char *text)
{
    const struct vpa_json *root;
    struct vpa_error err;

    ck_assert_msg(vpa_json_parse(&arena, text, strlen(text), &root, &err) == 0, "%s", err.text);
    return root;
}

static void change(const char *text)
{
    fake_cluster_change(server, json(text));
    while (vpa_loop_poll(loop))
        ;
}

#define APPLY(object) "{\"apply\":" object "}"
#define VPA(name, created)                                                                         \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"                                                  \
          "v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":"                        \
          "\"" name "\",\"namespace\":\"shop\",\"generation\":1,\"creationTimestamp\":\"" created  \
          "\"},\"spec\":{"                                                                         \
          "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}}}")
#define POD(name)                                                                                  \
    APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                 \
          "\",\"namespace\":\"shop\","                                                             \
          "\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"app\"}]},"          \
          "\"status\":{\"phase\":"                                                                 \
          "\"Running\"}}")
#define USAGE(cpu, memory)                                                                         \
    "{\"usage\":[{\"namespace\":\"shop\",\"pod\":\"web-1\",\"containers\":[{\"name\":\"app\","     \
    "\"cpu\":[\"" cpu "\"],\"memory\":[\"" memory "\"]}]}]}"

static void setup(void)
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

static void stop(void)
{
    recommender_free(recommender);
    vpa_kube_client_free(client);
    vpa_transport_free(transport);
    recommender = NULL;
    client = NULL;
    transport = NULL;
}

static void teardown(void)
{
    stop();
    fake_cluster_free(server);
    vpa_loop_free(loop);
    vpa_clock_free(virtual_clock);
    recommender_metrics_reset();
    vpa_arena_release(&arena);
}

static const char *no_env(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return NULL;
}

static void construct(const char *flag)
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
    recommender = recommender_new(&(struct recommender_options){
        .loop = loop, .config = &config, .client = client, .writer = client, .metrics = client});
}

static void start(const char *flag)
{
    struct vpa_error err;

    construct(flag);
    ck_assert_int_eq(recommender_start(recommender, &err), 0);
    ck_assert_int_eq(recommender_load_history(recommender, &err), 0);
}

/* A pass a minute later, with that usage. */
static void pass(const char *step)
{
    vpa_loop_pump(loop, VPA_MINUTE);
    fake_cluster_set_step(server, json(step));
    fake_cluster_begin_record(server);
    recommender_pass(recommender);
}

static size_t count_writes(const char *method, const char *path_end)
{
    size_t count;
    size_t found = 0;
    const struct fake_write *writes = fake_cluster_writes(server, &count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(writes[i].method, method) == 0 && vpa_str_ends_with(writes[i].path, path_end))
            found++;
    return found;
}

static const struct vpa_json *stored(const char *plural, const char *name)
{
    const struct fake_resource *r =
        fake_resource_of_plural(server, "autoscaling.k8s.io", "v1", plural);
    struct fake_object *o = fake_find_object(server, r, "shop", name);

    return o ? o->root : NULL;
}

/* Millicores of the stored target. */
static int64_t target_cpu(void)
{
    const struct vpa_json *entry = vpa_json_first(vpa_json_at(
        stored("verticalpodautoscalers", "web"), "status.recommendation.containerRecommendations"));
    struct vpa_quantity q;

    ck_assert(vpa_quantity_parse(&arena, fake_text_at(entry, "target.cpu"), &q, NULL) == 0);
    return vpa_quantity_milli_value(&q);
}

/* ---- checkpoints ---- */

START_TEST(writes_unchanged_checkpoints_once_per_max_age)
{
    size_t writes = 0;

    start("--checkpoint-max-age=10m");
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("POST", "checkpoints"), 1);
    for (int i = 0; i < 60; i++) {
        pass("{\"usage\":[]}");
        writes += count_writes("PATCH", "/web-app");
    }
    ck_assert_uint_ge(writes, 6);
    ck_assert_uint_le(writes, 8);
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("PATCH", "/web-app"), 1);
}
END_TEST

START_TEST(writes_every_pass_without_max_age)
{
    start("--checkpoint-max-age=0");
    pass(USAGE("100m", "100Mi"));
    for (int i = 0; i < 3; i++) {
        pass("{\"usage\":[]}");
        ck_assert_uint_eq(count_writes("PATCH", "/web-app"), 1);
    }
}
END_TEST

START_TEST(gives_the_second_of_two_equal_names_a_suffix)
{
    size_t with_suffix = 0;

    change(VPA("a", "2026-01-15T10:00:00Z"));
    change(VPA("a-app", "2026-01-15T10:00:00Z"));
    change(APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-2\","
                 "\"namespace\":\"shop\","
                 "\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"x\"},{"
                 "\"name\":\"app-x\"}]},"
                 "\"status\":{\"phase\":\"Running\"}}"));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    /* "a" + "app-x" and "a-app" + "x" both ask for a-app-x. */
    const struct vpa_json *plain = stored("verticalpodautoscalercheckpoints", "a-app-x");
    ck_assert_ptr_nonnull(plain);
    ck_assert_str_eq(fake_text_at(plain, "spec.vpaObjectName"), "a");
    size_t count;
    const struct fake_write *writes = fake_cluster_writes(server, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(writes[i].method, "POST") == 0 && strstr(writes[i].body, "\"name\":\"a-app-x-"))
            with_suffix++;
    ck_assert_uint_eq(with_suffix, 1);
    /* Another process finds both by their specs. */
    stop();
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("POST", "checkpoints"), 0);
}
END_TEST

#define FOREIGN                                                                                    \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"                                                  \
          "v1\",\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{"                       \
          "\"name\":\"web-app\",\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"web\","      \
          "\"containerName\":"                                                                     \
          "\"app\"},\"status\":{\"version\":\"v9\",\"precious\":true}}")

START_TEST(keeps_what_it_cannot_read)
{
    change(FOREIGN);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    const struct vpa_json *kept = stored("verticalpodautoscalercheckpoints", "web-app-unreadable");
    ck_assert_ptr_nonnull(kept);
    ck_assert_str_eq(fake_text_at(kept, "status.version"), "v9");
    ck_assert_str_eq(fake_text_at(kept, "spec.containerName"), "app");
    ck_assert_str_eq(
        fake_text_at(stored("verticalpodautoscalercheckpoints", "web-app"), "status.version"),
        "v3");
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_uint_eq(count_writes("POST", "/events"), 1);

    /* The next process loads the new one, not the copy, and keeps nothing. */
    stop();
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("POST", "checkpoints"), 0);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_uint_eq(count_writes("POST", "/events"), 0);
}
END_TEST

START_TEST(replaces_an_older_copy)
{
    change(FOREIGN);
    change(APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"
                 "v1\",\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":"
                 "{\"name\":\"web-app-unreadable\",\"namespace\":\"shop\",\"annotations\":{"
                 "\"vpa.autoscaling.k8s.io/"
                 "unreadable-since\":\"2026-01-15T00:00:00Z\"}},\"spec\":{\"vpaObjectName\":"
                 "\"web\",\"containerName\":\"app\"},\"status\":{\"version\":\"v8\"}}"));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("DELETE", "/web-app-unreadable"), 1);
    ck_assert_str_eq(fake_text_at(stored("verticalpodautoscalercheckpoints", "web-app-unreadable"),
                                  "status.version"),
                     "v9");
}
END_TEST

static bool refuse_create(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "POST") != 0 || !vpa_str_ends_with(q->path, "checkpoints"))
        return false;
    vpa_memory_reply_status(r, 403, NULL, "no");
    return true;
}

START_TEST(does_not_overwrite_what_it_could_not_keep)
{
    change(FOREIGN);
    start(NULL);
    hook = refuse_create;
    pass(USAGE("100m", "100Mi"));
    ck_assert_str_eq(
        fake_text_at(stored("verticalpodautoscalercheckpoints", "web-app"), "status.version"),
        "v9");
    hook = NULL;
    pass(USAGE("110m", "100Mi"));
    ck_assert_str_eq(
        fake_text_at(stored("verticalpodautoscalercheckpoints", "web-app"), "status.version"),
        "v3");
    ck_assert_ptr_nonnull(stored("verticalpodautoscalercheckpoints", "web-app-unreadable"));
}
END_TEST

static bool list_for_ever(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "GET") != 0 || !vpa_str_ends_with(q->path, "checkpoints") ||
        vpa_loop_now(loop) >= vpa_time_from_unix(1768478405, 0))
        return false;
    hook_calls++;
    vpa_memory_reply_json(r, 200, "{\"metadata\":{\"continue\":\"same\"},\"items\":[]}");
    return true;
}

START_TEST(gives_up_a_list_of_checkpoints_without_end)
{
    hook = list_for_ever;
    start(NULL);
    ck_assert_uint_ge(hook_calls, 2);
    ck_assert_uint_le(hook_calls, 12); /* two pages, pauses of 0.8 s and more, for 5 s */
}
END_TEST

/* ---- the log ---- */

static int log_file;

static void capture_log(void)
{
    struct vpa_error err;

    log_file = memfd_create("log", 0);
    ck_assert_int_eq(vpa_log_configure(&(struct vpa_log_options){.fd = log_file}, &err), 0);
}

/* Lines with that text since the last look. */
static size_t count_lines(const char *text)
{
    static char all[1 << 16];
    ssize_t len = pread(log_file, all, sizeof all - 1, 0);
    size_t count = 0;

    ck_assert_int_ge(len, 0);
    all[len] = '\0';
    for (const char *at = all; (at = strstr(at, text)); at++)
        count++;
    return count;
}

static void forget_log(void)
{
    ck_assert_int_eq(ftruncate(log_file, 0), 0);
    lseek(log_file, 0, SEEK_SET);
}

static bool refuse_writes(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "GET") == 0)
        return false;
    vpa_memory_reply_status(r, 403, NULL, "forbidden: no right");
    return true;
}

START_TEST(says_once_per_pass_that_writes_are_refused)
{
    change(VPA("web-b", "2026-01-15T10:00:00Z"));
    change(VPA("web-c", "2026-01-15T10:00:00Z"));
    start(NULL);
    capture_log();
    hook = refuse_writes;
    for (int i = 0; i < 2; i++) {
        forget_log();
        pass(USAGE("100m", "100Mi"));
        ck_assert_uint_eq(count_lines("Cannot update VPA"), 1);
        ck_assert_uint_eq(count_lines("Cannot save checkpoint for VPA"), 1);
        ck_assert_uint_eq(count_lines("failures=3"), 2);
        ck_assert_uint_eq(count_lines("first=\"shop/web\""), 1);
        ck_assert_uint_eq(count_lines("no right"), 2);
    }
    hook = NULL;
    forget_log();
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_lines("Cannot"), 0);
}
END_TEST

#define LONG_NAME /* 250 characters */                                                             \
    "v123456789v123456789v123456789v123456789v123456789v123456789v123456789v123456789v123456789"   \
    "v123456789v123456789v123456789v123456789v123456789v123456789v123456789v123456789v123456789"   \
    "v123456789v123456789v123456789v123456789v123456789v123456789v123456789"

START_TEST(says_once_that_a_checkpoint_name_is_too_long)
{
    ck_assert_uint_eq(strlen(LONG_NAME), 250);
    change(VPA(LONG_NAME, "2026-01-15T10:00:00Z"));
    start(NULL);
    capture_log();
    for (int i = 0; i < 3; i++) {
        pass(USAGE("100m", "100Mi"));
        ck_assert_uint_eq(count_lines("is longer than 253 characters"), 1);
        ck_assert_uint_eq(count_writes("PATCH", LONG_NAME "-app"), 0);
        ck_assert_uint_eq(count_lines("Cannot save checkpoint for VPA"), 0);
    }
    ck_assert_ptr_nonnull(stored("verticalpodautoscalercheckpoints", "web-app"));
    ck_assert_ptr_nonnull(
        vpa_json_first(vpa_json_at(stored("verticalpodautoscalers", LONG_NAME),
                                   "status.recommendation.containerRecommendations")));
}
END_TEST

static bool answer_external(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!vpa_str_starts_with(q->path, "/apis/external.metrics.k8s.io/"))
        return false;
    hook_calls++;
    vpa_memory_reply_json(r, 200, "{\"items\":[]}");
    return true;
}

START_TEST(says_once_that_pods_cannot_be_asked_for)
{
    change(POD("web-"
               "1234567890123456789012345678901234567890123456789012345678901234567890"));
    start(NULL);
    config.use_external_metrics = true;
    config.external_cpu_metric = "cpu";
    config.external_memory_metric = "";
    capture_log();
    hook = answer_external;
    for (int i = 0; i < 3; i++)
        pass("{\"usage\":[]}");
    ck_assert_uint_eq(hook_calls, 3); /* web-1 only */
    ck_assert_uint_eq(count_lines("Cannot ask for external metrics"), 1);
}
END_TEST

START_TEST(collects_old_copies)
{
    change(APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"
                 "v1\",\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":"
                 "{\"name\":\"web-app-unreadable\",\"namespace\":\"shop\",\"annotations\":{"
                 "\"vpa.autoscaling.k8s.io/"
                 "unreadable-since\":\"2026-01-07T11:00:00Z\"}},\"spec\":{\"vpaObjectName\":"
                 "\"web\",\"containerName\":\"app\"},\"status\":{\"version\":\"v8\"}}"));
    start("--checkpoints-gc-interval=90s");
    pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_nonnull(stored("verticalpodautoscalercheckpoints", "web-app-unreadable"));
    pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_null(stored("verticalpodautoscalercheckpoints", "web-app-unreadable"));
    ck_assert_ptr_nonnull(stored("verticalpodautoscalercheckpoints", "web-app"));
}
END_TEST

/* The VPA with a spec that nobody can read. */
#define UNREADABLE_VPA                                                                             \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"                                                  \
          "v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":\"web\",\"namespace\":"  \
          "\"shop\",\"creationTimestamp\":\"2026-01-15T10:00:00Z\"},\"spec\":{\"targetRef\":"      \
          "\"web\"}}")

START_TEST(keeps_checkpoints_of_a_vpa_that_cannot_be_read)
{
    bool restarted = _i == 1;

    start("--checkpoints-gc-interval=90s");
    pass(USAGE("100m", "100Mi"));
    change(UNREADABLE_VPA);
    if (restarted) {
        stop();
        start("--checkpoints-gc-interval=90s");
    }
    for (int i = 0; i < 5; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_nonnull(stored("verticalpodautoscalercheckpoints", "web-app"));
    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
           "\"VerticalPodAutoscaler\",\"namespace\":\"shop\",\"name\":\"web\"}}");
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_null(stored("verticalpodautoscalercheckpoints", "web-app"));
}
END_TEST

static bool fail_lists(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!vpa_str_ends_with(q->path, "checkpoints") || strcmp(q->method, "GET") != 0 ||
        hook_calls >= 3)
        return false;
    if (hook_calls++ == 1) {
        vpa_memory_reply_bytes(r, 200, "application/json", "{\"items\":[{\"metad", 17);
        return true;
    }
    vpa_memory_reply_status(r, 503, NULL, "down");
    return true;
}

START_TEST(waits_until_checkpoints_can_be_read)
{
    start(NULL);
    for (int i = 0; i < 30; i++)
        pass(USAGE("1", "1Gi"));
    int64_t before = target_cpu();
    stop();
    hook = fail_lists;
    start(NULL);
    ck_assert_uint_eq(hook_calls, 3);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_ge(target_cpu(), before * 95 / 100);
}
END_TEST

/* ---- restart ---- */

/* A process that dies at any moment loses nothing but the samples of the last pass. */
START_TEST(goes_on_after_a_kill)
{
    static const char *const usages[] = {USAGE("900m", "300Mi"), USAGE("250m", "310Mi"),
                                         USAGE("250m", "290Mi"), USAGE("240m", "305Mi")};

    start(NULL);
    for (int i = 0; i < 120; i++) {
        pass(usages[i % 4]);
        if (i == 37 + _i || i == 80) {
            stop(); /* nothing is written on the way out */
            start(NULL);
        }
    }
    int64_t restarted = target_cpu();
    teardown();
    setup();
    start(NULL);
    for (int i = 0; i < 120; i++)
        pass(usages[i % 4]);
    /* Within one bucket, that is 5 %. */
    ck_assert_int_le(llabs(restarted - target_cpu()) * 100, target_cpu() * 5);
}
END_TEST

/* ---- faults ---- */

static const struct {
    const char *name;
    int code; /* 0: the connection fails */
    const char *body;
} metrics_faults[] = {
    {"forbidden", 403, NULL},
    {"unavailable", 503, NULL},
    {"not_there", 404, NULL},
    {"truncated", 200,
     "{\"items\":[{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\"},\"timest"},
    {"no_json", 200, "<html>"},
    {"empty", 200, ""},
    {"reset", 0, NULL},
};
static size_t metrics_fault;

static bool break_metrics(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!strstr(q->path, "metrics.k8s.io"))
        return false;
    hook_calls++;
    if (metrics_faults[metrics_fault].code == 0)
        vpa_memory_reply_fail(r, VPA_TRANSPORT_RESET);
    else if (metrics_faults[metrics_fault].body)
        vpa_memory_reply_bytes(r, 200, "application/json", metrics_faults[metrics_fault].body,
                               strlen(metrics_faults[metrics_fault].body));
    else
        vpa_memory_reply_status(r, metrics_faults[metrics_fault].code, NULL, "broken");
    return true;
}

START_TEST(lives_through_metrics_faults)
{
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    metrics_fault = (size_t)_i;
    hook = break_metrics;
    pass(USAGE("2", "100Mi"));
    ck_assert_uint_ge(hook_calls, 1);
    hook = NULL;
    pass(USAGE("2", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
}
END_TEST

START_TEST(skips_an_item_that_cannot_be_used)
{
    start(NULL);
    pass("{\"metrics\":[{\"metadata\":7},{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\"},"
         "\"timestamp\":"
         "\"2026-01-15T12:00:30Z\",\"containers\":[{\"name\":\"app\",\"usage\":{\"cpu\":\"2\","
         "\"memory\":\"1Gi\"}}]}]}");
    ck_assert_int_gt(target_cpu(), 1000);
}
END_TEST

START_TEST(forgets_pods_that_a_new_list_lacks)
{
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    /* The watch ends as expired while a pod goes: only a new list can tell. */
    for (struct fake_watch **link = &server->watches; *link;) {
        struct fake_watch *w = *link;

        if (strcmp(w->resource->plural, "pods") != 0) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        vpa_memory_stream_event(
            w->stream, "ERROR",
            "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410}");
        vpa_memory_stream_end(w->stream, VPA_TRANSPORT_OK);
        free(w->ns);
        free(w);
    }
    change("{\"delete\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"shop\",\"name\":"
           "\"web-1\"}}");
    pass("{\"usage\":[]}"); /* until here the pod counts; it leaves after this pass at the latest */
    pass("{\"usage\":[]}");
    const struct vpa_json *conditions =
        vpa_json_at(stored("verticalpodautoscalers", "web"), "status.conditions");
    ck_assert_str_eq(fake_text_at(vpa_json_first(conditions), "type"), "NoPodsMatched");
}
END_TEST

START_TEST(tells_the_loser_of_a_conflict)
{
    change(VPA("younger", "2026-01-15T11:00:00Z"));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    const struct vpa_json *last = NULL;
    vpa_json_foreach (condition,
                      vpa_json_at(stored("verticalpodautoscalers", "younger"), "status.conditions"))
        last = condition;
    ck_assert_str_eq(fake_text_at(last, "type"), "TargetConflict");
    ck_assert_str_eq(fake_text_at(last, "message"),
                     "Pods of this VPA are controlled by the older VPA web");
    ck_assert_uint_eq(
        vpa_json_count(vpa_json_at(stored("verticalpodautoscalers", "web"), "status.conditions")),
        1);

    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/"
           "v1\",\"kind\":\"VerticalPodAutoscaler\",\"namespace\":"
           "\"shop\",\"name\":\"web\"}}");
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(vpa_json_count(vpa_json_at(stored("verticalpodautoscalers", "younger"),
                                                 "status.conditions")),
                      1);
}
END_TEST

#define OTHERS(name, created, spec)                                                                \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"                                                  \
          "v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":"                        \
          "\"" name "\",\"namespace\":\"shop\",\"creationTimestamp\":\"" created                   \
          "\"},\"spec\":{\"recommenders\":[{\"name\":\"other\"}]," spec "}}")
#define TO_WEB "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}"
#define TO_OTHER                                                                                   \
    "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"db\"}"
#define SELECTS(app) "\"selector\":{\"matchLabels\":{\"app\":\"" app "\"}}"

/* VPAs of another recommender beside "web", which was created at 10:00. */
static const struct {
    const char *vpa;
    const char *winner; /* over web, NULL: web has its pods */
} foreigners[] = {
    {OTHERS("older", "2026-01-15T09:00:00Z", TO_WEB), "older"},
    {OTHERS("younger", "2026-01-15T11:00:00Z", TO_WEB), NULL},
    {OTHERS("elsewhere", "2026-01-15T09:00:00Z", TO_OTHER), NULL},
    {OTHERS("older", "2026-01-15T09:00:00Z", SELECTS("web")), "older"},
    {OTHERS("younger", "2026-01-15T11:00:00Z", SELECTS("web")), NULL},
    {OTHERS("elsewhere", "2026-01-15T09:00:00Z", SELECTS("db")), NULL},
};

static const char *conflict_of(const char *name)
{
    vpa_json_foreach (condition,
                      vpa_json_at(stored("verticalpodautoscalers", name), "status.conditions"))
        if (strcmp(fake_text_at(condition, "type"), "TargetConflict") == 0)
            return fake_text_at(condition, "message");
    return "";
}

START_TEST(tells_the_loser_of_a_conflict_with_another_recommender)
{
    const char *winner = foreigners[_i].winner;

    change(foreigners[_i].vpa);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    if (!winner) {
        ck_assert_str_eq(conflict_of("web"), "");
        return;
    }
    ck_assert_str_eq(conflict_of("web"), "Pods of this VPA are controlled by the older VPA older");
    /* Its own recommender writes the other one's status. */
    ck_assert_ptr_null(vpa_json_at(stored("verticalpodautoscalers", winner), "status"));
    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/"
           "v1\",\"kind\":\"VerticalPodAutoscaler\",\"namespace\":"
           "\"shop\",\"name\":\"older\"}}");
    pass(USAGE("100m", "100Mi"));
    ck_assert_str_eq(conflict_of("web"), "");
}
END_TEST

START_TEST(a_selector_of_ours_may_lose_to_a_target_of_others)
{
    change(OTHERS("older", "2026-01-15T09:00:00Z", TO_WEB));
    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/"
           "v1\",\"kind\":\"VerticalPodAutoscaler\",\"namespace\":"
           "\"shop\",\"name\":\"web\"}}");
    change(APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"
                 "v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":"
                 "\"web\",\"namespace\":\"shop\",\"creationTimestamp\":\"2026-01-"
                 "15T10:00:00Z\"},"
                 "\"spec\":{" SELECTS("web") "}}"));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_str_eq(conflict_of("web"), "Pods of this VPA are controlled by the older VPA older");
}
END_TEST

START_TEST(serves_a_vpa_with_its_own_selector)
{
    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/"
           "v1\",\"kind\":\"VerticalPodAutoscaler\",\"namespace\":"
           "\"shop\",\"name\":\"web\"}}");
    change(APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"
                 "v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":"
                 "\"web\",\"namespace\":\"shop\",\"generation\":1,\"creationTimestamp\":\"2026-01-"
                 "15T10:00:00Z\"},"
                 "\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}}"));
    start(NULL);
    pass(USAGE("2", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
}
END_TEST

/* ---- stopping ---- */

static const char *const slow_paths[] = {"metrics.k8s.io", "/status", "checkpoints", "/namespaces"};

static void on_stop(void *ctx)
{
    (void)ctx;
    vpa_loop_stop(loop);
}

/* SIGTERM in the middle of each wait of a pass: it ends soon, and nothing leaks or is called late.
 */
START_TEST(stops_in_the_middle_of_a_pass)
{
    struct vpa_timer *timer = vpa_timer_new(loop, on_stop, NULL);

    start("--checkpoints-gc-interval=1s");
    vpa_loop_pump(loop, VPA_MINUTE);
    fake_cluster_set_step(
        server,
        json(vpa_arena_printf(
            &arena,
            "{\"latency\":[{\"method\":\"GET\",\"path\":\"%s\",\"ms\":20000},{\"method\":\"PATCH\","
            "\"path\":\"%s\",\"ms\":20000}]}",
            slow_paths[_i], slow_paths[_i])));
    vpa_timer_start(timer, VPA_SECOND);
    vpa_time begin = vpa_loop_now(loop);
    recommender_pass(recommender);
    ck_assert(vpa_time_sub(vpa_loop_now(loop), begin) <= 5 * VPA_SECOND);
    vpa_timer_free(timer);
    stop();
    vpa_loop_resume(loop);
    vpa_loop_pump(loop, VPA_MINUTE);
}
END_TEST

START_TEST(stops_while_it_starts)
{
    struct vpa_timer *timer = vpa_timer_new(loop, on_stop, NULL);
    struct vpa_error err;

    fake_cluster_set_step(server,
                          json("{\"latency\":[{\"method\":\"GET\",\"path\":\"/\",\"ms\":20000}]}"));
    construct(NULL);
    vpa_timer_start(timer, VPA_SECOND);
    ck_assert_int_eq(recommender_start(recommender, &err), -1);
    vpa_timer_free(timer);
    stop();
    vpa_loop_resume(loop);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommender_pass");
    TCase *tcase = tcase_create("pass");
    SRunner *runner = srunner_create(suite);

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, writes_unchanged_checkpoints_once_per_max_age);
    tcase_add_test(tcase, writes_every_pass_without_max_age);
    tcase_add_test(tcase, gives_the_second_of_two_equal_names_a_suffix);
    tcase_add_test(tcase, keeps_what_it_cannot_read);
    tcase_add_test(tcase, replaces_an_older_copy);
    tcase_add_test(tcase, does_not_overwrite_what_it_could_not_keep);
    tcase_add_test(tcase, collects_old_copies);
    tcase_add_test(tcase, gives_up_a_list_of_checkpoints_without_end);
    tcase_add_test(tcase, says_once_per_pass_that_writes_are_refused);
    tcase_add_test(tcase, says_once_that_a_checkpoint_name_is_too_long);
    tcase_add_test(tcase, says_once_that_pods_cannot_be_asked_for);
    tcase_add_loop_test(tcase, keeps_checkpoints_of_a_vpa_that_cannot_be_read, 0, 2);
    tcase_add_test(tcase, waits_until_checkpoints_can_be_read);
    tcase_add_loop_test(tcase, goes_on_after_a_kill, 0, 5);
    tcase_add_loop_test(tcase, lives_through_metrics_faults, 0, (int)VPA_COUNT(metrics_faults));
    tcase_add_test(tcase, skips_an_item_that_cannot_be_used);
    tcase_add_test(tcase, forgets_pods_that_a_new_list_lacks);
    tcase_add_test(tcase, tells_the_loser_of_a_conflict);
    tcase_add_loop_test(tcase, tells_the_loser_of_a_conflict_with_another_recommender, 0,
                        VPA_COUNT(foreigners));
    tcase_add_test(tcase, a_selector_of_ours_may_lose_to_a_target_of_others);
    tcase_add_test(tcase, serves_a_vpa_with_its_own_selector);
    tcase_add_loop_test(tcase, stops_in_the_middle_of_a_pass, 0, (int)VPA_COUNT(slow_paths));
    tcase_add_test(tcase, stops_while_it_starts);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
