/* Usage from external metrics: one query per pod and metric, put together by container. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "captured_log.h"
#include "client_fixture.h"
#include "model_fixture.h"
#include "../../recommender/external.h"
#include "../../recommender/usage.h"
#include "../../src/model/cluster_private.h"

#include "vpa/base/str.h"

#define NOW INT64_C(1768435200)
#define MANY 100000
#define LONG_NAME "a-name-of-sixty-four-characters-which-no-label-value-can-have-ok"

static struct vpa_aggregation aggregation;
static struct vpa_arena arena;
static struct vpa_cluster *cluster;
static struct recommender_config config;
static struct usage_memory memory;
static struct usage_options options;
static struct vpa_error err;

static struct {
    int queries;
    char selectors[8][128]; /* of the queries, in order */
    bool zoo;               /* that namespace has usage too */
    int fails_at;           /* the query that is refused; -1: none */
    bool frozen;            /* namespaces that begin with "slow" get no answer */
    char asked[16];         /* the last letter of each namespace that was asked */
    const char *many;       /* instead of the answer for either metric; NULL: none */
    vpa_duration delay;     /* of each answer */
    const char *lacking;    /* the metric that has no items; NULL: none */
} server;

static struct {
    int count;
    vpa_amount cpu, memory; /* last ones */
} heard;

static void hear(void *ctx, const char *mode, enum vpa_kind kind, bool is_oom, vpa_amount usage,
                 vpa_amount recommendation)
{
    (void)ctx, (void)mode, (void)is_oom, (void)recommendation;
    heard.count++;
    *(kind == VPA_KIND_CPU ? &heard.cpu : &heard.memory) = usage;
}

#define VALUE(container, value)                                                                    \
    "{\"metricName\":\"m\",\"metricLabels\":{\"ctr\":\"" container                                 \
    "\"},\"timestamp\":\"2026-01-15T00:00:00Z\",\"value\":\"" value "\"}"

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    const char *selector = vpa_or_empty(vpa_memory_query(q, "labelSelector"));

    (void)ctx;
    ck_assert_int_lt(server.queries, 8);
    const char *ns = strstr(q->path, "/namespaces/") + strlen("/namespaces/");
    server.asked[server.queries] = ns[strcspn(ns, "/") - 1];
    snprintf(server.selectors[server.queries], sizeof(server.selectors[0]), "%s", selector);
    if (server.delay)
        vpa_memory_reply_delay(r, server.delay);
    if (server.queries++ == server.fails_at)
        vpa_memory_reply_status(r, 403, NULL, "no");
    else if (server.frozen && strstr(q->path, "/namespaces/slow-"))
        vpa_memory_reply_delay(r, VPA_HOUR);
    else if (strstr(q->path, "/namespaces/odd/"))
        vpa_memory_reply_status(r, 400, NULL, "bad_data: unexpected character");
    else if (server.lacking && vpa_str_ends_with(q->path, server.lacking))
        vpa_memory_reply_json(r, 200, "{\"items\":[]}");
    else if (server.many)
        vpa_memory_reply_json(r, 200, server.many);
    else if (server.zoo && vpa_str_ends_with(q->path, "/namespaces/zoo/cpu"))
        vpa_memory_reply_json(r, 200, "{\"items\":[" VALUE("app", "700m") "]}");
    else if (server.zoo && vpa_str_ends_with(q->path, "/namespaces/zoo/memory"))
        vpa_memory_reply_json(r, 200, "{\"items\":[" VALUE("app", "1Mi") "]}");
    else if (strstr(q->path, "/namespaces/zoo/"))
        vpa_memory_reply_json(r, 200, "{\"items\":[]}");
    else if (strcmp(q->path, "/apis/external.metrics.k8s.io/v1beta1/namespaces/ns/cpu") == 0)
        vpa_memory_reply_json(r, 200, "{\"items\":[" VALUE("app", "1500m") "]}");
    else if (strcmp(q->path, "/apis/external.metrics.k8s.io/v1beta1/namespaces/ns/memory") == 0)
        vpa_memory_reply_json(r, 200, "{\"items\":[" VALUE("app", "3Mi") "]}");
}

static void setup(void)
{
    struct vpa_cluster_options model = {.aggregation = &aggregation, .hooks = {.usage = hear}};

    memset(&server, 0, sizeof(server));
    memset(&heard, 0, sizeof(heard));
    server.fails_at = -1;
    memory = (struct usage_memory){0};
    vpa_aggregation_init(&aggregation);
    vpa_arena_init(&arena, 0);
    cluster = vpa_cluster_new(&model);
    start_client(serve, NOW, 5);
    config = (struct recommender_config){.use_external_metrics = true,
                                         .external_cpu_metric = "cpu",
                                         .external_memory_metric = "memory"};
    config.prometheus.container_name_label = "ctr";
    options = (struct usage_options){client, &config, cluster, &memory};
    vpa_cluster_put_vpa(cluster, simple_vpa(&arena, "v"), selector_of(&arena, "app=web,tier=x"),
                        NULL, vpa_loop_now(loop));
}

static void teardown(void)
{
    stop_client();
    usage_memory_release(&memory);
    vpa_cluster_free(cluster);
    vpa_aggregation_release(&aggregation);
    vpa_arena_release(&arena);
}

static void put_pod(const char *name)
{
    vpa_cluster_put_pod(cluster, simple_pod(&arena, name, "{\"app\":\"web\",\"tier\":\"x\"}"), NULL,
                        vpa_loop_now(loop));
}

static int collect(void)
{
    return usage_collect_external(&options, vpa_loop_now(loop), &err);
}

/* The VPA's selector and the name of the pod, sorted by key; both metrics reach the container. */
TEST(asks_by_selector_and_pod) {
    put_pod("p1");
    ck_assert_int_eq(collect(), 0);
    ck_assert_int_eq(server.queries, 2);
    ck_assert_str_eq(server.selectors[0], "app=web,pod=p1,tier=x");
    ck_assert_str_eq(server.selectors[1], "app=web,pod=p1,tier=x");
    ck_assert_int_eq(heard.count, 2);
    ck_assert_int_eq(heard.cpu, 1500);
    ck_assert_int_eq(heard.memory, 3 * MI);
}

#define EARLIER                                                                                    \
    "{\"items\":[{\"metricName\":\"m\",\"metricLabels\":{\"ctr\":\"app\"},"                        \
    "\"timestamp\":\"2026-01-14T23:59:00Z\",\"value\":\"1\"}]}"

/* The next answer is about a minute before: the log says of which resource. */
TEST(tells_of_samples_that_are_not_new) {
    put_pod("p1");
    ck_assert_int_eq(collect(), 0);
    capture_log(3);
    server.many = EARLIER;
    ck_assert_int_eq(collect(), 0);
    ck_assert_uint_eq(logged("Error adding metric sample"), 2);
    ck_assert_uint_eq(logged("resource=\"cpu\""), 1);
    ck_assert_uint_eq(logged("resource=\"memory\""), 1);
    ck_assert_uint_eq(logged("sample discarded"), 2);
}

/* A metric that is not configured is not asked for, and counts as nothing used. */
TEST(a_metric_without_a_name_is_nothing) {
    config.external_cpu_metric = "";
    put_pod("p1");
    ck_assert_int_eq(collect(), 0);
    ck_assert_int_eq(server.queries, 1);
    ck_assert_int_eq(heard.cpu, 0);
    ck_assert_int_eq(heard.memory, 3 * MI);
}

/* A pod whose memory is not measured yet has no memory sample: one of 0 would begin the interval,
 * and after a peak of 0 none counts until it ends. CPU counts as 0 then, as upstream has it. */
TEST(what_is_not_measured_yet_is_no_sample) {
    put_pod("p1");
    server.lacking = "memory";
    ck_assert_int_eq(collect(), 0);
    ck_assert_int_eq(heard.count, 1);
    ck_assert_int_eq(heard.cpu, 1500);
    server.queries = 0;
    server.lacking = NULL;
    ck_assert_int_eq(collect(), 0);
    ck_assert_int_eq(heard.count, 2); /* the CPU is of the same time */
    const struct vpa_aggregate *a =
        &vpa_pods_find(cluster, "ns", "p1")->containers[0].member->state;
    ck_assert_double_gt(vpa_decay_percentile(&a->memory, 0.9), 0);

    put_pod("p2");
    server.queries = heard.count = 0;
    server.lacking = "cpu";
    ck_assert_int_eq(collect(), 0);
    ck_assert_int_eq(heard.count, 3); /* all but the CPU of p1, which is not new */
    ck_assert_int_eq(heard.cpu, 0);
}

/* What was read before a failure is kept, the rest of the namespace is asked for in the next pass.
 * When nothing was read the reading has failed. */
TEST(a_failure_ends_the_reading_of_a_namespace) {
    put_pod("p1");
    put_pod("p2");
    put_pod("p3");
    server.fails_at = 0;
    ck_assert_int_eq(collect(), -1);
    ck_assert_str_eq(err.text, "external metric cpu of pod ns/p1: no");
    ck_assert_int_eq(server.queries, 1);
    ck_assert_int_eq(heard.count, 0);
    server.fails_at = 4;
    ck_assert_int_eq(collect(), 0);
    ck_assert_int_eq(server.queries, 5);
    ck_assert_int_eq(heard.count, 2);
    server.queries = 0;
    server.fails_at = -1;
    ck_assert_int_eq(collect(), 0);
    ck_assert_int_eq(server.queries, 6);
    ck_assert_int_ge(heard.count, 6); /* some of what p1 has said before is not new */
}

static void put_elsewhere(const char *ns, const char *pod)
{
    struct vpa_object *vpa = simple_vpa(&arena, "v");
    struct vpa_pod *other = simple_pod(&arena, pod, "{\"app\":\"web\",\"tier\":\"x\"}");

    vpa->meta.ns = ns;
    other->meta.ns = ns;
    vpa_cluster_put_vpa(cluster, vpa, selector_of(&arena, "app=web,tier=x"), NULL,
                        vpa_loop_now(loop));
    vpa_cluster_put_pod(cluster, other, NULL, vpa_loop_now(loop));
}

/* Selectors are written by tenants: one that the server refuses is that of its namespace, whether
 * that comes before or after the others. */
TEST_TIMES(a_refused_selector_is_one_namespace, 2) {
    put_elsewhere("odd", "p1");
    put_elsewhere("odd", "p2");
    put_elsewhere("zoo", "p1");
    put_pod("p1");
    server.zoo = _i == 1;
    ck_assert_int_eq(collect(), 0);
    ck_assert_int_eq(server.queries, 5); /* one of them of odd */
    ck_assert_int_eq(heard.count, _i == 1 ? 4 : 2);
}

static const char *asked(void)
{
    server.queries = 0;
    memset(server.asked, 0, sizeof(server.asked));
    (void)collect();
    return server.asked;
}

/* Whoever freezes the adapter with namespaces of its own, the first by name, keeps the others
 * waiting once: then those are asked first. And of the frozen ones each has its turn. */
TEST(frozen_namespaces_are_asked_last) {
    static const char *const slow[] = {"slow-1", "slow-2", "slow-3", "slow-4"};

    for (size_t i = 0; i < VPA_COUNT(slow); i++)
        put_elsewhere(slow[i], "p1");
    put_elsewhere("zoo", "p1");
    server.zoo = true;
    server.frozen = true;
    ck_assert_str_eq(asked(), "123"); /* a minute each */
    ck_assert_int_eq(heard.count, 0);
    ck_assert_str_eq(asked(), "4oo12");
    ck_assert_int_eq(heard.count, 2);
    ck_assert_str_eq(asked(), "oo341");
    vpa_loop_pump(loop, 61 * VPA_MINUTE);
    ck_assert_str_eq(asked(), "123");
    server.frozen = false;
}

/* What was read of a pod before its other metric was refused is half of it, and is not taken. */
TEST(half_a_pod_is_none) {
    put_pod("p1");
    put_elsewhere("zoo", "p1");
    server.zoo = true;
    server.fails_at = 1;
    ck_assert_int_eq(collect(), 0);
    ck_assert_int_eq(server.queries, 4);
    ck_assert_int_eq(heard.count, 2);
}

/* The reading was given up: whoever was not asked may have usage. One namespace that fails is no
 * reason to say so. */
TEST_TIMES(a_reading_that_was_given_up_is_none, 2) {
    static const char *const slow[] = {"slow-1", "slow-2", "slow-3", "slow-4"};
    bool given_up = _i == 1;

    for (size_t i = 0; i < (given_up ? VPA_COUNT(slow) : 1); i++)
        put_elsewhere(slow[i], "p1");
    put_elsewhere("zoo", "p1");
    server.zoo = true;
    server.frozen = true;
    if (given_up)
        ck_assert_str_eq(asked(), "123"); /* from now on zoo comes first */
    server.queries = 0;
    ck_assert_int_eq(usage_collect(&options, vpa_loop_now(loop)), !given_up);
    ck_assert_int_eq(heard.count, 2); /* what was read counts all the same */
    server.frozen = false;
}

/* A server that is good and slow: a reading ends in time, and two of them ask for all pods. */
TEST(a_slow_reading_goes_on_in_the_next_pass) {
    put_pod("p1");
    put_pod("p2");
    put_pod("p3");
    put_elsewhere("zoo", "p1");
    server.zoo = true;
    server.delay = 35 * VPA_SECOND;
    vpa_time begin = vpa_loop_now(loop);
    capture_log(0);
    ck_assert_int_eq(collect(), 1);
    ck_assert_int_le(vpa_time_sub(vpa_loop_now(loop), begin), 4 * VPA_MINUTE);
    ck_assert_int_eq(server.queries, 4);
    ck_assert_int_eq(heard.count, 4);
    ck_assert_uint_eq(logged("Reading external metrics takes too long"), 1);
    server.queries = 0;
    ck_assert_int_eq(collect(), 0);
    ck_assert_int_eq(server.queries, 4);
    ck_assert_str_eq(server.selectors[0], "app=web,pod=p3,tier=x");
    ck_assert_int_eq(heard.count, 8);
    server.queries = 0; /* from the beginning */
    server.delay = 0;
    ck_assert_int_eq(collect(), 0);
    ck_assert_int_eq(server.queries, 8);
    ck_assert_str_eq(server.selectors[0], "app=web,pod=p1,tier=x");
}

/* A pod that no selector can name goes without usage, the others have theirs. */
TEST(an_unusable_name_is_one_pod) {
    ck_assert_uint_eq(strlen(LONG_NAME), 64);
    put_pod(LONG_NAME);
    put_pod("p1");
    ck_assert_int_eq(collect(), 0);
    ck_assert_int_eq(server.queries, 2);
    ck_assert_uint_eq(memory.unaskable, 1);
    ck_assert_int_eq(heard.count, 2);
}

/* What does not fit in a request is not asked for cut off: that would be usage of other pods. */
TEST(a_selector_that_is_too_long_is_one_vpa) {
    vpa_auto_buf text = VPA_BUF(1 << 16);

    for (int i = 1; i <= 2; i++) { /* once the URL is too long, once the selector itself */
        vpa_buf_puts(&text, "app in (long");
        for (int k = 0; k < i * 400; k++)
            vpa_buf_printf(&text, ",a-value-of-a-selector-%d", k);
        vpa_buf_puts(&text, ")");
        vpa_cluster_put_vpa(cluster, simple_vpa(&arena, "long"),
                            selector_of(&arena, vpa_buf_text(&text)), NULL, vpa_loop_now(loop));
        vpa_cluster_put_pod(cluster, simple_pod(&arena, "p0", "{\"app\":\"long\"}"), NULL,
                            vpa_loop_now(loop));
        put_pod("p1");
        server.queries = heard.count = 0;
        ck_assert_int_eq(collect(), 0);
        ck_assert_int_eq(server.queries, 2);
        ck_assert_uint_eq(memory.unaskable, 1);
        ck_assert_str_eq(server.selectors[0], "app=web,pod=p1,tier=x");
        vpa_buf_release(&text);
        vpa_loop_pump(loop, VPA_MINUTE);
    }
}

/* Series are named by whoever is measured: many names are no more than many. */
TEST(many_containers_are_found_at_once) {
    vpa_auto_buf text = {0};
    struct timespec begin, end;

    vpa_buf_init(&text, (size_t)64 << 20);
    vpa_buf_puts(&text, "{\"items\":[");
    for (int i = 0; i < MANY; i++)
        vpa_buf_printf(&text,
                       "{\"metricLabels\":{\"ctr\":\"%d\"},\"timestamp\":"
                       "\"2026-01-15T00:00:00Z\",\"value\":\"1\"},",
                       i);
    vpa_buf_puts(&text, VALUE("app", "2") "]}");
    server.many = vpa_buf_text(&text);
    put_pod("p1");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    ck_assert_int_eq(collect(), 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    ck_assert_int_eq(heard.cpu, 2000);
    ck_assert_int_eq(heard.memory, 2);
    ck_assert_int_lt(end.tv_sec - begin.tv_sec, 10);
}

/* The pods of a VPA are asked for by name, whatever the order in which they came. */
TEST(asks_in_order_of_names) {
    put_pod("b");
    put_pod("c");
    put_pod("a");
    config.external_memory_metric = "";
    ck_assert_int_eq(collect(), 0);
    ck_assert_str_eq(server.selectors[0], "app=web,pod=a,tier=x");
    ck_assert_str_eq(server.selectors[1], "app=web,pod=b,tier=x");
    ck_assert_str_eq(server.selectors[2], "app=web,pod=c,tier=x");
}

int main(void)
{
    return run_tests("recommender_external", setup, teardown);
}
