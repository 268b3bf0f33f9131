/*
 * The JSON and API layers: parse and decode of one admission review, one item of usage, and a list.
 *
 *     bench_json [ITEMS]      items of the list, default 100000
 *
 * The review is a pod of two containers with what API servers and controllers add to it, about
 * 6 KiB. The list goes through the splitter in chunks of 16 KiB, as it comes from a socket.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vpa/api/metrics_api.h"
#include "vpa/api/pod.h"
#include "vpa/api/review.h"
#include "vpa/json/json_stream.h"

#define ROUNDS 20000
#define CHUNK 16384
#define LIST_MAX ((size_t)1 << 30)

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void fail(const struct vpa_error *err)
{
    fprintf(stderr, "bench_json: %s\n", err->text);
    exit(1);
}

/* ---- inputs ---- */

static void add_container(struct vpa_buf *out, const char *name)
{
    vpa_buf_printf(out,
                   "{\"name\":\"%s\",\"image\":\"img.example/ubuntu-slim:0.14\",\"command\":"
                   "[\"/bin/sh\"],\"args\":[\"-c\",\"while true; do timeout 0.5s yes; done\"],"
                   "\"env\":[",
                   name);
    for (int i = 0; i < 16; i++)
        vpa_buf_printf(out, "%s{\"name\":\"VARIABLE_%d\",\"value\":\"some value %d\"}",
                       i ? "," : "", i, i);
    vpa_buf_puts(out,
                 "],\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"500Mi\"},\"requests\":"
                 "{\"cpu\":\"100m\",\"memory\":\"50Mi\"}},\"volumeMounts\":[{\"name\":"
                 "\"kube-api-access-abcde\",\"readOnly\":true,\"mountPath\":"
                 "\"/var/run/secrets/kubernetes.io/serviceaccount\"}],\"livenessProbe\":{"
                 "\"httpGet\":{\"path\":\"/healthz\",\"port\":8080,\"scheme\":\"HTTP\"},"
                 "\"timeoutSeconds\":1,\"periodSeconds\":10,\"successThreshold\":1,"
                 "\"failureThreshold\":3},\"terminationMessagePath\":\"/dev/termination-log\","
                 "\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":\"IfNotPresent\"}");
}

static void add_review(struct vpa_buf *out)
{
    vpa_buf_puts(
        out,
        "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":"
        "\"705ab4f5-6393-11e8-b7cc-42010a800002\",\"kind\":{\"group\":\"\",\"version\":\"v1\","
        "\"kind\":\"Pod\"},\"resource\":{\"group\":\"\",\"version\":\"v1\",\"resource\":\"pods\"},"
        "\"requestKind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"namespace\":"
        "\"default\",\"operation\":\"CREATE\",\"userInfo\":{\"username\":"
        "\"system:serviceaccount:kube-system:replicaset-controller\",\"groups\":["
        "\"system:serviceaccounts\",\"system:authenticated\"]},\"object\":{\"kind\":\"Pod\","
        "\"apiVersion\":\"v1\",\"metadata\":{\"generateName\":\"web-6c7b9d8f5-\",\"namespace\":"
        "\"default\",\"creationTimestamp\":null,\"labels\":{\"app\":\"web\",\"pod-template-hash\":"
        "\"6c7b9d8f5\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
        "\"name\":\"web-6c7b9d8f5\",\"uid\":\"u\",\"controller\":true,\"blockOwnerDeletion\":true}"
        "],\"managedFields\":[{\"manager\":\"kube-controller-manager\",\"operation\":\"Update\","
        "\"apiVersion\":\"v1\",\"time\":\"2026-08-20T10:00:00Z\",\"fieldsType\":\"FieldsV1\","
        "\"fieldsV1\":{\"f:metadata\":{\"f:generateName\":{},\"f:labels\":{\".\":{},\"f:app\":{},"
        "\"f:pod-template-hash\":{}},\"f:ownerReferences\":{\".\":{},\"k:{\\\"uid\\\":\\\"u\\\"}\":"
        "{}}},\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"web\\\"}\":{\".\":{},"
        "\"f:command\":{},\"f:image\":{},\"f:name\":{},\"f:resources\":{\".\":{},\"f:requests\":{"
        "\".\":{},\"f:cpu\":{},\"f:memory\":{}}}}},\"f:dnsPolicy\":{},\"f:restartPolicy\":{},"
        "\"f:schedulerName\":{}}}}]},\"spec\":{\"volumes\":[{\"name\":\"kube-api-access-abcde\","
        "\"projected\":{\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":"
        "\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\","
        "\"path\":\"ca.crt\"}]}}],\"defaultMode\":420}}],\"containers\":[");
    add_container(out, "web");
    vpa_buf_putc(out, ',');
    add_container(out, "side");
    vpa_buf_puts(
        out, "],\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":"
             "\"ClusterFirst\",\"serviceAccountName\":\"default\",\"securityContext\":{},"
             "\"schedulerName\":\"default-scheduler\",\"tolerations\":[{\"key\":"
             "\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
             "\"tolerationSeconds\":300}],\"priority\":0,\"enableServiceLinks\":true},"
             "\"status\":{}},\"oldObject\":null,\"dryRun\":false}}");
}

static void add_usage(struct vpa_buf *out, int i)
{
    vpa_buf_printf(out,
                   "{\"metadata\":{\"name\":\"web-6c7b9d8f5-%05d\",\"namespace\":\"default\","
                   "\"creationTimestamp\":\"2026-08-20T10:05:00Z\",\"labels\":{\"app\":\"web\","
                   "\"pod-template-hash\":\"6c7b9d8f5\",\"tier\":\"frontend\"}},\"timestamp\":"
                   "\"2026-08-20T10:05:00Z\",\"window\":\"15.123s\",\"containers\":[{\"name\":"
                   "\"web\",\"usage\":{\"cpu\":\"123456%03dn\",\"memory\":\"262%03dKi\"}}]}",
                   i, i % 1000, i % 1000);
}

/* ---- measurements ---- */

static void bench_review(const struct vpa_buf *review)
{
    struct vpa_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_review_request request;
    struct vpa_error err;
    struct vpa_pod pod;
    double start = now_us(), parse, all;

    for (int i = 0; i < ROUNDS; i++) {
        vpa_arena_clear(&arena);
        if (vpa_json_parse_folded(&arena, review->data, review->len, &root, &err) < 0)
            fail(&err);
    }
    parse = (now_us() - start) / ROUNDS;
    start = now_us();
    for (int i = 0; i < ROUNDS; i++) {
        vpa_arena_clear(&arena);
        if (vpa_json_parse_folded(&arena, review->data, review->len, &root, &err) < 0 ||
            vpa_review_decode(root, &request, &err) < 0 ||
            vpa_pod_decode(&arena, request.object, &pod, &err) < 0)
            fail(&err);
    }
    all = (now_us() - start) / ROUNDS;
    printf("review of %zu bytes: parse %.1f us (%.0f MB/s), with decoding of request and pod "
           "%.1f us, arena %zu bytes\n",
           review->len, parse, (double)review->len / parse, all, arena.used);
    vpa_arena_release(&arena);
}

struct sink {
    struct vpa_arena arena;
    size_t containers;
};

static int skip_item(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    (void)json;
    (void)err;
    ((struct sink *)ctx)->containers += len > 0;
    return 0;
}

static int read_item(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct sink *sink = ctx;
    const struct vpa_json *root;
    struct vpa_pod_metrics metrics;

    vpa_arena_clear(&sink->arena);
    if (vpa_json_parse(&sink->arena, json, len, &root, err) < 0 ||
        vpa_pod_metrics_decode(&sink->arena, root, &metrics, err) < 0)
        return -1;
    sink->containers += metrics.container_count;
    return 0;
}

static void bench_list(const struct vpa_buf *list, const char *what, vpa_stream_object_fn on_item)
{
    struct sink sink = {0};
    struct vpa_json_stream *s =
        vpa_json_stream_new(VPA_STREAM_LIST, 1 << 20,
                            &(struct vpa_json_stream_handler){.ctx = &sink, .on_object = on_item});
    struct vpa_error err;
    double start = now_us(), us;

    for (size_t at = 0; at < list->len; at += CHUNK) {
        size_t len = list->len - at < CHUNK ? list->len - at : CHUNK;
        if (vpa_json_stream_feed(s, list->data + at, len, &err) < 0)
            fail(&err);
    }
    if (vpa_json_stream_finish(s, &err) < 0)
        fail(&err);
    us = now_us() - start;
    printf("usage list, %s: %zu items of %zu bytes, %.0f ms, %.2f us per item, %.0f MB/s\n", what,
           sink.containers, list->len / sink.containers, us / 1e3, us / (double)sink.containers,
           (double)list->len / us);
    vpa_json_stream_free(s);
    vpa_arena_release(&sink.arena);
}

int main(int argc, char **argv)
{
    int items = argc > 1 ? atoi(argv[1]) : 100000;
    struct vpa_buf review, list;

    vpa_buf_init(&review, LIST_MAX);
    vpa_buf_init(&list, LIST_MAX);
    add_review(&review);
    vpa_buf_puts(&list, "{\"kind\":\"PodMetricsList\",\"metadata\":{},\"items\":[");
    for (int i = 0; i < items; i++) {
        if (i)
            vpa_buf_putc(&list, ',');
        add_usage(&list, i);
    }
    vpa_buf_puts(&list, "]}");
    bench_review(&review);
    bench_list(&list, "split", skip_item);
    bench_list(&list, "split and decoded", read_item);
    vpa_buf_release(&review);
    vpa_buf_release(&list);
    return 0;
}
