/*
 * Collections are made from the number of an element; what the recommender writes is kept by the
 * number in its name. The counters lie in memory that both processes map.
 */
#include "stub_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "measured.h"
#include "stub_objects.h"
#include "vpa/api/checkpoint.h"
#include "vpa/base/mem.h"
#include "vpa/base/table.h"

static struct stub_cluster_settings settings;
static struct stub_cluster *shared;

/* ---- texts ---- */

static void put_time(struct vpa_buf *b, time_t t)
{
    struct tm tm;

    gmtime_r(&t, &tm);
    vpa_buf_printf(b, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                   tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void put_pod(struct vpa_buf *b, size_t i)
{
    stub_put_pod(b, &(struct stub_pod){
                        .vpa = i / settings.pods_per_vpa,
                        .number = i,
                        .place = i,
                        .version = i + 1,
                        .own_labels = settings.own_labels,
                        .annotations = "{}",
                        .resources = "{\"requests\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"},"
                                     "\"limits\":{\"memory\":\"512Mi\"}}",
                    });
}

static char **statuses;       /* of the VPAs, NULL: none */
static unsigned char *stored; /* which checkpoints exist */

static void put_vpa(struct vpa_buf *b, size_t i)
{
    stub_put_vpa(
        b, &(struct stub_vpa){
               .number = i, .version = stub_version(), .mode = "Auto", .status = statuses[i]});
}

static void put_deployment(struct vpa_buf *b, size_t i)
{
    stub_put_deployment(b, i, settings.pods_per_vpa);
}

static void put_replica_set(struct vpa_buf *b, size_t i)
{
    stub_put_replica_set(b, i, settings.pods_per_vpa);
}

static const char managed_fields[] =
    "\"managedFields\":[{\"manager\":\"recommender\",\"operation\":\"Update\",\"apiVersion\":"
    "\"autoscaling.k8s.io/v1\",\"time\":\"2026-01-01T00:05:00Z\",\"fieldsType\":\"FieldsV1\","
    "\"fieldsV1\":{\"f:metadata\":{},\"f:spec\":{\".\":{},\"f:containerName\":{},\"f:vpaObjec"
    "tName\":{}},\"f:status\":{\".\":{},\"f:cpuHistogram\":{\".\":{},\"f:bucketWeights\":{\"."
    "\":{},\"f:3\":{},\"f:4\":{},\"f:5\":{},\"f:6\":{},\"f:7\":{},\"f:8\":{},\"f:9\":{},\"f:1"
    "0\":{},\"f:11\":{},\"f:12\":{},\"f:13\":{},\"f:14\":{},\"f:15\":{},\"f:16\":{},\"f:17\":"
    "{},\"f:18\":{},\"f:19\":{},\"f:20\":{},\"f:21\":{},\"f:22\":{},\"f:23\":{},\"f:24\":{},"
    "\"f:25\":{},\"f:26\":{},\"f:27\":{}},\"f:referenceTimestamp\":{},\"f:totalWeight\":{}},"
    "\"f:firstSampleStart\":{},\"f:lastSampleStart\":{},\"f:lastUpdateTime\":{},\"f:memoryHis"
    "togram\":{\".\":{},\"f:bucketWeights\":{\".\":{},\"f:20\":{},\"f:21\":{},\"f:22\":{},\"f"
    ":23\":{},\"f:24\":{},\"f:25\":{},\"f:26\":{}},\"f:referenceTimestamp\":{},\"f:totalWeigh"
    "t\":{}},\"f:totalSamplesCount\":{},\"f:version\":{}}}}]";

/* The text of the annotation, for all pods of the VPA. */
static void put_open_intervals(struct vpa_buf *b, size_t vpa, uint32_t history)
{
    vpa_auto_arena arena = {0};
    vpa_auto_buf text = VPA_BUF(VPA_OPEN_INTERVALS_TEXT_MAX);
    vpa_time now = vpa_time_from_unix(time(NULL), 0);
    struct vpa_open_interval *items =
        vpa_arena_alloc(&arena, settings.pods_per_vpa * sizeof(*items));
    struct vpa_open_intervals open = {
        .history = history, .items = items, .count = settings.pods_per_vpa};

    for (size_t k = 0; k < open.count; k++) {
        size_t pod = vpa * settings.pods_per_vpa + k;

        items[k] = (struct vpa_open_interval){
            .pod_uid = vpa_hash_stable(vpa_arena_printf(&arena, STUB_POD_UID, pod)),
            .end = now + 12 * (vpa_time)VPA_HOUR,
            .usage = (int64_t)(200 + pod % 200) << 20};
    }
    vpa_open_intervals_encode(&text, &open);
    vpa_json_escape(b, vpa_buf_text(&text));
}

static void put_memory_histogram(struct vpa_buf *b, size_t i)
{
    vpa_buf_puts(b, "{\"referenceTimestamp\":\"2026-11-21T00:00:00Z\",\"bucketWeights\":{");
    for (size_t k = 0; k < 7; k++)
        vpa_buf_printf(b, "%s\"%zu\":%zu", k > 0 ? "," : "", k + 20,
                       k == 3 ? (size_t)10000 : 200 + i % 900 + k);
    vpa_buf_puts(b, "},\"totalWeight\":61.5}");
}

/* As the recommender computes it when it reads the checkpoint. */
static uint32_t hash_of(const struct vpa_buf *histogram)
{
    struct vpa_histogram_checkpoint read = {0};
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;

    if (vpa_json_parse(&arena, vpa_buf_text(histogram), histogram->len, &root, NULL) < 0 ||
        vpa_histogram_checkpoint_decode(&arena, root, &read, NULL) < 0)
        abort();
    return vpa_histogram_checkpoint_hash(&read);
}

static void put_checkpoint(struct vpa_buf *b, size_t i)
{
    vpa_auto_buf memory = VPA_BUF(4096);

    put_memory_histogram(&memory, i);
    vpa_buf_printf(
        b,
        "{\"metadata\":{\"name\":\"web-%05zu-app\",\"namespace\":\"team-%02zu\",\"uid\":\"%zu\","
        "\"resourceVersion\":\"%zu\",\"generation\":1,\"creationTimestamp\":"
        "\"2026-01-01T00:00:00Z\",%s,\"annotations\":{\"" VPA_OPEN_INTERVALS_ANNOTATION "\":",
        i, i % STUB_NAMESPACES, i, i + 1, managed_fields);
    put_open_intervals(b, i, hash_of(&memory));
    vpa_buf_printf(
        b,
        "}},\"spec\":{\"vpaObjectName\":\"web-%05zu\",\"containerName\":"
        "\"app\"},\"status\":{\"lastUpdateTime\":\"2026-11-20T00:00:00Z\",\"version\":\"v3\","
        "\"cpuHistogram\":{\"referenceTimestamp\":\"2026-11-21T00:00:00Z\",\"bucketWeights\":{",
        i);
    for (size_t k = 0; k < 25; k++)
        vpa_buf_printf(b, "%s\"%zu\":%zu", k > 0 ? "," : "", k + 3,
                       k == 12 ? (size_t)10000 : 100 + i % 900 + k);
    vpa_buf_printf(b,
                   "},\"totalWeight\":812.25},\"memoryHistogram\":%s,\"firstSampleStart\":"
                   "\"2026-11-12T00:00:00Z\",\"lastSampleStart\":\"2026-11-20T00:00:00Z\","
                   "\"totalSamplesCount\":115200}}",
                   vpa_buf_text(&memory));
}

static void put_metrics(struct vpa_buf *b, size_t i, size_t pass, time_t now)
{
    size_t vpa = i / settings.pods_per_vpa;
    size_t noise = settings.idle ? i * 7919 : i * 7919 + pass * 104729;

    vpa_buf_printf(b,
                   "{\"metadata\":{\"name\":\"" STUB_POD_NAME "\",\"namespace\":\"team-%02zu\","
                   "\"creationTimestamp\":\"",
                   vpa, i, vpa % STUB_NAMESPACES);
    put_time(b, settings.idle ? 1794000000 : now);
    vpa_buf_printf(b,
                   "\",\"labels\":{\"app\":\"web-%05zu\",\"pod-template-hash\":\"7d4b9c6f5d\"}},"
                   "\"timestamp\":\"",
                   vpa);
    put_time(b, settings.idle ? 1794000000 : now);
    vpa_buf_printf(
        b,
        "\",\"window\":\"15.1s\",\"containers\":[{\"name\":\"app\",\"usage\":{\"cpu\":\"%zun\","
        "\"memory\":\"%zuKi\"}}]}",
        (noise % 400 + 20) * 1000000, (noise % 300 + 100) * 1024);
}

/* ---- the stub ---- */

static void answer_metrics(struct stub_call *c)
{
    size_t pass = atomic_fetch_add(&shared->metrics_lists, 1);
    time_t now = time(NULL);
    vpa_auto_buf b = VPA_BUF(STUB_TEXT_MAX);

    vpa_buf_puts(&b, "{\"kind\":\"PodMetricsList\",\"metadata\":{},\"items\":[");
    for (size_t i = 0; i < settings.containers; i++) {
        if (i > 0)
            vpa_buf_putc(&b, ',');
        put_metrics(&b, i, pass, now);
    }
    vpa_buf_puts(&b, "]}");
    stub_answer(c, 200, vpa_buf_text(&b), b.len);
}

static void put_nothing(struct vpa_buf *b, size_t i)
{
    (void)b;
    (void)i;
}

static void put_namespace(struct vpa_buf *b, size_t i)
{
    vpa_buf_printf(b, "{\"metadata\":{\"name\":\"team-%02zu\"}}", i);
}

static void publish_vpa(size_t i)
{
    vpa_auto_buf object = VPA_BUF(STUB_TEXT_MAX);

    stub_next_version();
    put_vpa(&object, i);
    stub_send_event("/verticalpodautoscalers", "MODIFIED", vpa_buf_text(&object));
}

static size_t vpa_of(const char *target)
{
    const char *name = strstr(target, "/web-");

    return name ? (size_t)strtoul(name + 5, NULL, 10) : 0;
}

static void count_checkpoint(const char *body)
{
    atomic_fetch_add(&shared->checkpoints, 1);
    atomic_fetch_add(&shared->checkpoint_bytes, strlen(body));
}

static void answer_patch(struct stub_call *c, const char *target, const char *body)
{
    size_t i = vpa_of(target);

    if (strstr(target, "checkpoints/")) {
        count_checkpoint(body);
        if (stored[i]) {
            stub_answer(c, 200, "{}", 2);
            return;
        }
        vpa_auto_free char *status = vpa_xprintf("{\"kind\":\"Status\",\"status\":\"Failure\","
                                                 "\"reason\":\"NotFound\",\"code\":404,\"message\":"
                                                 "\"verticalpodautoscalercheckpoints.autoscaling."
                                                 "k8s.io \\\"web-%05zu-app\\\" not found\","
                                                 "\"details\":{\"name\":\"web-%05zu-app\"}}",
                                                 i, i);
        stub_answer(c, 404, status, strlen(status));
        return;
    }
    int_fast64_t none = 0;
    atomic_compare_exchange_strong(&shared->first_status_ns, &none, measured_now_ns());
    atomic_fetch_add(&shared->statuses, 1);
    const char *value = strstr(body, "\"value\":");
    if (value && i < settings.vpas) {
        free(statuses[i]);
        statuses[i] = vpa_xstrndup(value + 8, strlen(value + 8) - 2); /* without }] */
        publish_vpa(i);
    }
    stub_answer(c, 200, "{}", 2);
}

static void answer_create(struct stub_call *c, const char *body)
{
    const char *name = strstr(body, "\"name\":\"web-");

    count_checkpoint(body);
    if (name)
        stored[(size_t)strtoul(name + 12, NULL, 10)] = 1;
    stub_answer(c, 201, "{}", 2);
}

/* The leader's Lease is what it wrote; that of the standby is renewed whenever it is asked for. */
static void answer_lease(struct stub_call *c, const struct stub_request *request)
{
    static char *lease;
    static unsigned renewals;

    if (strcmp(request->method, "GET") != 0) {
        free(lease);
        lease = vpa_xstrdup(request->body);
        stub_answer(c, 200, lease, strlen(lease));
        return;
    }
    if (strstr(request->target, "-standby")) {
        atomic_fetch_add(&shared->calls, 1);
        vpa_auto_free char *text =
            vpa_xprintf("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"holderIdentity\":\"other\","
                        "\"renewTime\":\"2026-03-01T12:00:00.%06uZ\"}}",
                        ++renewals % 1000000);
        stub_answer(c, 200, text, strlen(text));
    } else if (lease) {
        stub_answer(c, 200, lease, strlen(lease));
    } else {
        static const char missing[] = "{\"kind\":\"Status\",\"status\":\"Failure\","
                                      "\"reason\":\"NotFound\",\"code\":404}";

        stub_answer(c, 404, missing, sizeof missing - 1);
    }
}

static void dispatch(struct stub_call *c, const struct stub_request *request)
{
    const char *method = request->method, *target = request->target;
    bool watch = strstr(target, "watch=") != NULL;
    bool vpas = strstr(target, "/verticalpodautoscalers") != NULL;

    if (strstr(target, "/leases")) {
        answer_lease(c, request);
        return;
    }
    if (!watch)
        atomic_fetch_add(&shared->calls, 1);
    if (watch)
        stub_start_watch(c, vpas ? "/verticalpodautoscalers" : "/others");
    else if (strcmp(method, "PATCH") == 0)
        answer_patch(c, target, request->body);
    else if (strcmp(method, "POST") == 0)
        answer_create(c, request->body);
    else if (strstr(target, "/metrics.k8s.io/"))
        answer_metrics(c);
    else if (strstr(target, "/pods"))
        stub_answer_list(c, target, settings.containers, put_pod);
    else if (strstr(target, "/deployments"))
        stub_answer_list(c, target, settings.vpas, put_deployment);
    else if (strstr(target, "/replicasets"))
        stub_answer_list(c, target, settings.replica_sets ? settings.vpas : 0, put_replica_set);
    else if (strstr(target, "checkpoints"))
        stub_answer_list(c, target, settings.checkpoints ? settings.vpas : 0, put_checkpoint);
    else if (vpas)
        stub_answer_list(c, target, settings.vpas, put_vpa);
    else if (strstr(target, "/namespaces"))
        stub_answer_list(c, target, STUB_NAMESPACES, put_namespace);
    else
        stub_answer_list(c, target, 0, put_nothing);
}

static void prepare(void)
{
    statuses = vpa_xcalloc(settings.vpas + 1, sizeof *statuses);
    stored = vpa_xcalloc(settings.vpas + 1, 1);
    if (settings.checkpoints)
        memset(stored, 1, settings.vpas + 1);
    stub_make_pages("/pods", settings.containers, put_pod);
    stub_make_pages("/deployments", settings.vpas, put_deployment);
    if (settings.replica_sets)
        stub_make_pages("/replicasets", settings.vpas, put_replica_set);
    if (settings.checkpoints)
        stub_make_pages("checkpoints", settings.vpas, put_checkpoint);
}

struct stub_cluster *stub_cluster_start(const struct stub_cluster_settings *s, struct stub *stub)
{
    settings = *s;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        exit(1);
    stub_start(stub, prepare, dispatch);
    return shared;
}
