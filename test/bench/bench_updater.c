/*
 * The updater at 1,000 VPAs with ten pods each, against a server in memory: bytes per pod, the pass
 * that finds nothing to do, and passes that evict or resize. No network and no TLS, so the figures
 * are the updater's own work and its client's; docs/bench.md has those of the whole process.
 *
 * The caches are filled once; each measured pass sees the same pods, since the server in memory
 * accepts everything and changes nothing.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../updater/updater.h"
#include "memory_transport.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/daemon/clock.h"
#include "vpa/base/random.h"

#define VPAS 1000
#define PODS_PER_VPA 10
#define TEXT_MAX ((size_t)256 << 20)

struct bench {
    const char *mode;   /* of all VPAs */
    const char *target; /* cpu */
    const char *lower;  /* lower bound of cpu; requests are 500m */
    struct vpa_buf vpas, pods, deployments, replica_sets;
    unsigned long evictions, resizes, events, others;
};

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double wall_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void open_list(struct vpa_buf *buf)
{
    vpa_buf_init(buf, TEXT_MAX);
    vpa_buf_puts(buf, "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[");
}

static void add_pod(struct vpa_buf *buf, int v, int p)
{
    vpa_buf_printf(
        buf,
        "%s{\"metadata\":{\"name\":\"app-%04d-6d4cf56db6-%05d\",\"namespace\":\"ns-%02d\","
        "\"uid\":\"7f4a1c1e-0f6e-4a51-9c43-%06d%06d\",\"resourceVersion\":\"%d\","
        "\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{\"app\":\"app-%04d\","
        "\"pod-template-hash\":\"6d4cf56db6\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\","
        "\"kind\":\"ReplicaSet\",\"name\":\"app-%04d-6d4cf56db6\",\"uid\":\"r\",\"controller\":"
        "true}]},"
        "\"spec\":{\"nodeName\":\"node-%d\",\"containers\":[{\"name\":\"app\",\"image\":\"x\","
        "\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"256Mi\"},\"limits\":{\"cpu\":"
        "\"1\",\"memory\":\"512Mi\"}}}]},\"status\":{\"phase\":\"Running\",\"startTime\":"
        "\"2026-01-01T00:00:00Z\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
        "\"lastTransitionTime\":\"2026-01-01T00:01:00Z\"}],\"containerStatuses\":[{\"name\":"
        "\"app\","
        "\"restartCount\":0,\"ready\":true,\"state\":{\"running\":{}},\"resources\":{\"requests\":{"
        "\"cpu\":\"500m\",\"memory\":\"256Mi\"},\"limits\":{\"cpu\":\"1\",\"memory\":\"512Mi\"}}}]}"
        "}",
        p + v > 0 ? "," : "", v, p, v % 20, v, p, v * PODS_PER_VPA + p, v, v, p);
}

static void add_vpa(struct vpa_buf *buf, const struct bench *b, int v)
{
    vpa_buf_printf(
        buf,
        "%s{\"metadata\":{\"name\":\"app-%04d\",\"namespace\":\"ns-%02d\",\"uid\":\"v%d\","
        "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"targetRef\":{\"apiVersion\":"
        "\"apps/"
        "v1\",\"kind\":\"Deployment\",\"name\":\"app-%04d\"},\"updatePolicy\":{\"updateMode\":"
        "\"%s\"}},\"status\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
        "\"app\",\"target\":{\"cpu\":\"%s\",\"memory\":\"256Mi\"},\"lowerBound\":{\"cpu\":\"%s\","
        "\"memory\":\"128Mi\"},\"upperBound\":{\"cpu\":\"8\",\"memory\":\"1Gi\"},"
        "\"uncappedTarget\":{"
        "\"cpu\":\"%s\",\"memory\":\"256Mi\"}}]},\"conditions\":[{\"type\":"
        "\"RecommendationProvided\","
        "\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}",
        v > 0 ? "," : "", v, v % 20, v, v, b->mode, b->target, b->lower, b->target);
}

static void add_controllers(struct bench *b, int v)
{
    vpa_buf_printf(&b->deployments,
                   "%s{\"metadata\":{\"name\":\"app-%04d\",\"namespace\":\"ns-%02d\"},\"spec\":{"
                   "\"replicas\":%d,\"selector\":{\"matchLabels\":{\"app\":\"app-%04d\"}}}}",
                   v > 0 ? "," : "", v, v % 20, PODS_PER_VPA, v);
    vpa_buf_printf(
        &b->replica_sets,
        "%s{\"metadata\":{\"name\":\"app-%04d-6d4cf56db6\",\"namespace\":\"ns-%02d\","
        "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
        "\"app-%04d\",\"uid\":\"d\",\"controller\":true}]},\"spec\":{\"replicas\":%d,"
        "\"selector\":{\"matchLabels\":{\"app\":\"app-%04d\"}}}}",
        v > 0 ? "," : "", v, v % 20, v, PODS_PER_VPA, v);
}

static void make_objects(struct bench *b)
{
    open_list(&b->vpas);
    open_list(&b->pods);
    open_list(&b->deployments);
    open_list(&b->replica_sets);
    for (int v = 0; v < VPAS; v++) {
        add_vpa(&b->vpas, b, v);
        add_controllers(b, v);
        for (int p = 0; p < PODS_PER_VPA; p++)
            add_pod(&b->pods, v, p);
    }
    vpa_buf_puts(&b->vpas, "]}");
    vpa_buf_puts(&b->pods, "]}");
    vpa_buf_puts(&b->deployments, "]}");
    vpa_buf_puts(&b->replica_sets, "]}");
}

static void free_objects(struct bench *b)
{
    vpa_buf_release(&b->vpas);
    vpa_buf_release(&b->pods);
    vpa_buf_release(&b->deployments);
    vpa_buf_release(&b->replica_sets);
}

static const char *list_of(const struct bench *b, const char *path)
{
    if (strstr(path, "/verticalpodautoscalers"))
        return vpa_buf_text(&b->vpas);
    if (strstr(path, "/pods"))
        return vpa_buf_text(&b->pods);
    if (strstr(path, "/deployments"))
        return vpa_buf_text(&b->deployments);
    if (strstr(path, "/replicasets"))
        return vpa_buf_text(&b->replica_sets);
    return "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}";
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    struct bench *b = ctx;

    if (strcmp(q->method, "GET") == 0) {
        if (vpa_memory_query(q, "watch"))
            vpa_memory_reply_stream(reply, 200, NULL, NULL);
        else
            vpa_memory_reply_json(reply, 200, list_of(b, q->path));
        return;
    }
    if (strstr(q->path, "/eviction"))
        b->evictions++;
    else if (strstr(q->path, "/resize"))
        b->resizes++;
    else if (strstr(q->path, "/events"))
        b->events++;
    else
        b->others++;
    vpa_memory_reply_json(reply, 201, "{}");
}

static size_t heap_in_use(void)
{
    return mallinfo2().uordblks;
}

static void run(const char *what, const char *mode, const char *target, const char *lower)
{
    struct bench b = {.mode = mode, .target = target, .lower = lower};
    struct vpa_clock *clock = vpa_clock_new_real();
    struct vpa_loop *loop = vpa_loop_new(clock);
    struct vpa_transport *transport = vpa_memory_transport_new(loop, serve, &b);
    struct vpa_random random = {1};
    struct updater_config config;
    const struct vpa_flags flags = {
        .rows = updater_flag_rows, .count = updater_flag_count, .values = &config};
    struct vpa_error err;

    make_objects(&b);
    vpa_flags_preset(&flags);
    config.use_admission_status = false;
    config.prove_evictions = "off"; /* the first of a group would wait: here all go at once */
    size_t before = heap_in_use();
    struct vpa_kube_client *client =
        vpa_kube_client_new(&(struct vpa_kube_client_options){.loop = loop,
                                                              .transport = transport,
                                                              .random = &random,
                                                              .user_agent = "bench",
                                                              .qps = -1},
                            NULL);
    struct updater *u =
        updater_new(&(struct updater_options){.loop = loop, .client = client, .config = &config});
    double start = cpu_seconds();

    updater_start(u);
    if (updater_wait(u, VPA_MINUTE, &err) < 0) {
        fprintf(stderr, "bench_updater: %s\n", err.text);
        exit(1);
    }
    double filled = cpu_seconds() - start;
    size_t bytes = heap_in_use() - before;
    double cpu = cpu_seconds(), wall = wall_seconds();

    updater_pass(u);
    cpu = cpu_seconds() - cpu;
    wall = wall_seconds() - wall;
    updater_flush(u, VPA_MINUTE);

    size_t after = heap_in_use() - before;
    unsigned long changed = b.evictions + b.resizes;

    printf("updater %-22s %5.1f MiB of objects (%.1f after the pass), filled in %.0f ms; pass "
           "%6.1f ms CPU, %6.1f ms, %lu "
           "evictions, %lu resizes",
           what, (double)bytes / (1 << 20), (double)after / (1 << 20), filled * 1e3, cpu * 1e3,
           wall * 1e3, b.evictions, b.resizes);
    if (changed > 0)
        printf("; each %.1f us CPU, %.1f us", cpu * 1e6 / (double)changed,
               wall * 1e6 / (double)changed);
    putchar('\n');
    updater_free(u);
    vpa_kube_client_free(client);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
    free_objects(&b);
}

int main(void)
{
    struct vpa_error err;

    if (vpa_log_configure(&(struct vpa_log_options){.level = 0, .fd = 2, .skip_headers = true},
                          &err) < 0 ||
        !freopen("/dev/null", "w", stderr))
        return 1;
    run("nothing to do", "Recreate", "500m", "100m");
    run("evicting", "Recreate", "5", "1");
    run("resizing", "InPlaceOrRecreate", "5", "1");
    return 0;
}
