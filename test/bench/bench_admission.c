/*
 * The webhook: memory for its watch caches, time per answer.
 *
 *     bench_admission [VPAS]...       in this process, default 1000 10000; with a ledger, too
 *     bench_admission api PORT VPAS   serves that many VPAs and workloads to a daemon, plain HTTP
 *     bench_admission load PID PORT CONNECTIONS REQUESTS [handshakes | RATE]
 *
 * load posts reviews to a running daemon and reads its CPU time: as fast as it answers, or RATE per
 * second; with "handshakes" each request has a connection of its own.
 *
 * The last two together measure the daemon itself, for example:
 *
 *     deploy/gencerts --dir certs && bench_admission api 9000 1000 &
 *     vpa-admission-controller --kubeconfig=stub.yaml --register-webhook=false --port=9443 \
 *         --tls-cert-file=certs/serverCert.pem --tls-private-key=certs/serverKey.pem 2>daemon.log &
 *     bench_admission load $! 9443 1 50000
 *     bench_admission load $! 9443 1 5000 handshakes      # a connection per request
 *     bench_admission load $! 9443 4 20000 1000           # a steady thousand per second
 *
 * Each VPA targets a Deployment with one ReplicaSet, and recommends for two containers; the review
 * is what an API server sends for a pod of two containers.
 */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "admission.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/net/http_client.h"

#define REQUESTS 200000
#define PAGE 500
#define BODY_MAX ((size_t)64 << 20)

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double real_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the cluster ---- */

static const char vpa_text[] =
    "{\"apiVersion\":\"autoscaling.k8s.io/"
    "v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":"
    "\"vpa-%zu\",\"namespace\":\"ns-%zu\",\"uid\":\"6d0f4b4e-0000-4000-8000-%012zu\","
    "\"resourceVersion\":"
    "\"%zu\",\"generation\":1,\"creationTimestamp\":\"2026-05-01T10:00:00Z\"},\"spec\":{"
    "\"targetRef\":{"
    "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"app-%zu\"},\"updatePolicy\":{"
    "\"updateMode\":\"Recreate\"},\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*"
    "\","
    "\"minAllowed\":{\"cpu\":\"10m\",\"memory\":\"32Mi\"},\"maxAllowed\":{\"cpu\":\"4\",\"memory\":"
    "\"8Gi\"}}]}},"
    "\"status\":{\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
    "\"lastTransitionTime\":\"2026-05-01T10:05:00Z\"}],\"recommendation\":{"
    "\"containerRecommendations\":["
    "{\"containerName\":\"app\",\"target\":{\"cpu\":\"250m\",\"memory\":\"262144k\"},"
    "\"lowerBound\":{\"cpu\":"
    "\"100m\",\"memory\":\"200Mi\"},\"upperBound\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},"
    "\"uncappedTarget\":{"
    "\"cpu\":\"250m\",\"memory\":\"262144k\"}},{\"containerName\":\"sidecar\",\"target\":{\"cpu\":"
    "\"25m\","
    "\"memory\":\"64Mi\"},\"lowerBound\":{\"cpu\":\"10m\",\"memory\":\"32Mi\"},\"upperBound\":{"
    "\"cpu\":\"100m\","
    "\"memory\":\"256Mi\"},\"uncappedTarget\":{\"cpu\":\"25m\",\"memory\":\"64Mi\"}}]}}}";
static const char deployment_text[] = "{\"metadata\":{\"name\":\"app-%zu\",\"namespace\":\"ns-%"
                                      "zu\",\"uid\":\"7d0f4b4e-0000-4000-8000-%012zu\","
                                      "\"resourceVersion\":\"%zu\"},\"spec\":{\"replicas\":10,"
                                      "\"selector\":{\"matchLabels\":{\"app\":\"app-%zu\"}}}}";
static const char replica_set_text[] =
    "{\"metadata\":{\"name\":\"app-%zu-5d4f8c7b9d\",\"namespace\":\"ns-%zu\",\"uid\":"
    "\"8d0f4b4e-0000-4000-8000-%012zu\",\"resourceVersion\":\"%zu\",\"ownerReferences\":[{"
    "\"apiVersion\":"
    "\"apps/"
    "v1\",\"kind\":\"Deployment\",\"name\":\"app-%zu\",\"uid\":\"7d0f4b4e\",\"controller\":true}]},"
    "\"spec\":{\"replicas\":10,\"selector\":{\"matchLabels\":{\"app\":\"app-%zu\",\"pod-template-"
    "hash\":"
    "\"5d4f8c7b9d\"}}}}";

#define NAMESPACES 100

static void put_item(struct vpa_buf *out, const char *path, size_t i)
{
    size_t ns = i % NAMESPACES;

    if (vpa_str_ends_with(path, "verticalpodautoscalers"))
        vpa_buf_printf(out, vpa_text, i, ns, i, i + 1, i);
    else if (vpa_str_ends_with(path, "deployments"))
        vpa_buf_printf(out, deployment_text, i, ns, i, i + 1, i);
    else
        vpa_buf_printf(out, replica_set_text, i, ns, i, i + 1, i, i);
}

/* One page of a list; start: the continue token. */
static void put_list(struct vpa_buf *out, const char *path, size_t count, size_t start)
{
    bool known = vpa_str_ends_with(path, "verticalpodautoscalers") ||
                 vpa_str_ends_with(path, "deployments") || vpa_str_ends_with(path, "replicasets");
    size_t end = !known ? 0 : start + PAGE < count ? start + PAGE : count;

    vpa_buf_puts(out, "{\"metadata\":{\"resourceVersion\":\"100000\"");
    if (known && end < count)
        vpa_buf_printf(out, ",\"continue\":\"%zu\"", end);
    vpa_buf_puts(out, "},\"items\":[");
    for (size_t i = start; i < end; i++) {
        if (i > start)
            vpa_buf_putc(out, ',');
        put_item(out, path, i);
    }
    vpa_buf_puts(out, "]}");
}

/* ---- the review ---- */

static const char review_text[] =
    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":"
    "\"705ab4f5-6393-11e8-b7cc-42010a800002\",\"kind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":"
    "\"Pod\"},"
    "\"resource\":{\"group\":\"\",\"version\":\"v1\",\"resource\":\"pods\"},\"requestKind\":{"
    "\"group\":\"\","
    "\"version\":\"v1\",\"kind\":\"Pod\"},\"requestResource\":{\"group\":\"\",\"version\":\"v1\","
    "\"resource\":"
    "\"pods\"},\"namespace\":\"ns-%zu\",\"operation\":\"CREATE\",\"userInfo\":{\"username\":"
    "\"system:serviceaccount:kube-system:replicaset-controller\",\"uid\":\"b1\",\"groups\":["
    "\"system:serviceaccounts\",\"system:authenticated\"]},\"object\":{\"kind\":\"Pod\","
    "\"apiVersion\":\"v1\","
    "\"metadata\":{\"generateName\":\"app-%zu-5d4f8c7b9d-\",\"namespace\":\"ns-%zu\","
    "\"creationTimestamp\":null,"
    "\"labels\":{\"app\":\"app-%zu\",\"pod-template-hash\":\"5d4f8c7b9d\",\"team\":\"payments\"},"
    "\"annotations\":"
    "{\"prometheus.io/scrape\":\"true\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
    "\"ReplicaSet\",\"name\":\"app-%zu-5d4f8c7b9d\",\"uid\":\"8d0f4b4e-0000-4000-8000-"
    "000000000000\","
    "\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{\"volumes\":[{\"name\":"
    "\"kube-api-access-x\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{"
    "\"expirationSeconds\":3607,"
    "\"path\":\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca."
    "crt\",\"path\":"
    "\"ca.crt\"}]}}],\"defaultMode\":420}}],\"containers\":[{\"name\":\"app\",\"image\":"
    "\"registry.example.com/payments/"
    "app:1.2.3\",\"ports\":[{\"name\":\"http\",\"containerPort\":8080,"
    "\"protocol\":\"TCP\"}],\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"POD_NAME\","
    "\"valueFrom\":{"
    "\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.name\"}}}],\"resources\":{"
    "\"limits\":{\"cpu\":"
    "\"500m\",\"memory\":\"512Mi\"},\"requests\":{\"cpu\":\"100m\",\"memory\":\"128Mi\"}},"
    "\"volumeMounts\":[{"
    "\"name\":\"kube-api-access-x\",\"readOnly\":true,\"mountPath\":"
    "\"/var/run/secrets/kubernetes.io/"
    "serviceaccount\"}],\"livenessProbe\":{\"httpGet\":{\"path\":\"/healthz\","
    "\"port\":8080,\"scheme\":\"HTTP\"},\"timeoutSeconds\":1,\"periodSeconds\":10,"
    "\"successThreshold\":1,"
    "\"failureThreshold\":3},\"terminationMessagePath\":\"/dev/"
    "termination-log\",\"terminationMessagePolicy\":"
    "\"File\",\"imagePullPolicy\":\"IfNotPresent\"},{\"name\":\"sidecar\",\"image\":"
    "\"registry.example.com/mesh/"
    "proxy:4.5\",\"resources\":{\"requests\":{\"cpu\":\"10m\",\"memory\":\"32Mi\"}},"
    "\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\","
    "\"imagePullPolicy\":\"IfNotPresent\"}],\"restartPolicy\":\"Always\","
    "\"terminationGracePeriodSeconds\":30,"
    "\"dnsPolicy\":\"ClusterFirst\",\"serviceAccountName\":\"default\",\"serviceAccount\":"
    "\"default\","
    "\"securityContext\":{},\"schedulerName\":\"default-scheduler\",\"tolerations\":[{\"key\":"
    "\"node.kubernetes.io/"
    "not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}"
    ",{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
    "\"tolerationSeconds\":300}],\"priority\":0,\"enableServiceLinks\":true,\"preemptionPolicy\":"
    "\"PreemptLowerPriority\"},\"status\":{}},\"oldObject\":null,\"dryRun\":false,\"options\":{"
    "\"kind\":"
    "\"CreateOptions\",\"apiVersion\":\"meta.k8s.io/v1\"}}}";

static void put_review(struct vpa_buf *out, size_t i)
{
    vpa_buf_printf(out, review_text, i % NAMESPACES, i, i % NAMESPACES, i, i);
}

/* ---- in this process ---- */

static void serve_memory(void *ctx, const struct vpa_memory_request *request,
                         struct vpa_memory_reply *reply)
{
    const char *token = vpa_memory_query(request, "continue");
    vpa_auto_buf body = {0};

    if (vpa_memory_query(request, "watch")) {
        vpa_memory_reply_stream(reply, 200, NULL, NULL);
        return;
    }
    vpa_buf_init(&body, BODY_MAX);
    put_list(&body, request->path, *(size_t *)ctx, token ? (size_t)strtoull(token, NULL, 10) : 0);
    vpa_memory_reply_json(reply, 200, vpa_buf_text(&body));
}

static size_t used_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* CPU time of making so many reviews. */
static double make_reviews(struct vpa_buf *body, size_t vpas)
{
    double start = cpu_seconds();

    for (size_t i = 0; i < REQUESTS; i++) {
        vpa_buf_clear(body);
        put_review(body, i * 7919 % vpas);
    }
    return cpu_seconds() - start;
}

static void answer_requests(struct server *server, size_t vpas)
{
    size_t answer_bytes = 0, body_bytes = 0;
    vpa_auto_buf body = {0};

    vpa_buf_init(&body, BODY_MAX);
    double making = make_reviews(&body, vpas);
    double start = cpu_seconds();
    for (size_t i = 0; i < REQUESTS; i++) {
        struct vpa_server_response response = {0};

        vpa_buf_clear(&body);
        put_review(&body, i * 7919 % vpas);
        const struct vpa_server_request request = {
            .method = "POST", .path = "/", .query = "", .body = body.data, .body_len = body.len};
        server_answer(server, &request, "application/json", &response);
        answer_bytes += response.body_len;
        body_bytes += body.len;
        free(response.body);
    }
    double spent = cpu_seconds() - start - making;
    printf("  %.2f us per answer (review %zu bytes, answer %zu bytes)\n", spent / REQUESTS * 1e6,
           body_bytes / REQUESTS, answer_bytes / REQUESTS);
}

static void run_here(size_t vpas, bool with_ledger)
{
    struct admission_config config;
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &config};
    struct vpa_clock *clock = vpa_clock_new_manual(vpa_time_from_unix(1780000000, 0));
    struct vpa_loop *loop = vpa_loop_new(clock);
    struct vpa_transport *transport = vpa_memory_transport_new(loop, serve_memory, &vpas);
    struct vpa_random random = {0};
    struct vpa_error err;
    size_t before = used_bytes();
    double start = cpu_seconds();

    vpa_flags_preset(&flags);
    struct vpa_ledger *ledger = with_ledger ? vpa_ledger_new(&config.ledger) : NULL;
    struct vpa_kube_client *client =
        vpa_kube_client_new(&(struct vpa_kube_client_options){.loop = loop,
                                                              .transport = transport,
                                                              .random = &random,
                                                              .user_agent = "bench",
                                                              .qps = -1},
                            &err);
    struct admission *admission = admission_new(&(struct admission_options){.config = &config,
                                                                            .loop = loop,
                                                                            .client = client,
                                                                            .ns = "",
                                                                            .host_name = "b",
                                                                            .ledger = ledger,
                                                                            .unbound = true});
    if (admission_sync(admission, &err) < 0 || admission_listen(admission, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    malloc_trim(0);
    printf("%zu VPAs, as many Deployments and ReplicaSets, %s ledger: %.2f MiB, read in %.3f s\n",
           vpas, ledger ? "with the" : "without a", (double)(used_bytes() - before) / (1 << 20),
           cpu_seconds() - start);
    answer_requests(admission_server(admission), vpas);
    admission_free(admission);
    vpa_ledger_free(ledger);
    vpa_kube_client_free(client);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
}

/* ---- a server for the daemon's watches ---- */

static void serve_http(void *ctx, const struct vpa_server_request *request,
                       struct vpa_server_response *response)
{
    const char *token = strstr(request->query, "continue=");
    vpa_auto_buf body = {0};

    vpa_buf_init(&body, BODY_MAX);
    if (strstr(request->query, "watch=")) {
        /* No stream here: the watch ends at once and comes again after its pause. */
        *response = (struct vpa_server_response){.status = 200, .content_type = "application/json"};
        return;
    }
    if (strcmp(request->method, "GET") == 0 && !strstr(request->path, "/leases"))
        put_list(&body, request->path, *(size_t *)ctx,
                 token ? (size_t)strtoull(token + strlen("continue="), NULL, 10) : 0);
    else
        vpa_buf_puts(&body, "{\"metadata\":{\"name\":\"l\"},\"spec\":{}}");
    *response = (struct vpa_server_response){
        .status = 200, .content_type = "application/json", .body_len = body.len};
    response->body = vpa_buf_take(&body);
}

static int run_api(const char *port, size_t vpas)
{
    struct vpa_clock *clock = vpa_clock_new_real();
    struct vpa_loop *loop = vpa_loop_new(clock);
    vpa_auto_free char *address = vpa_xprintf("127.0.0.1:%s", port);
    struct vpa_error err;
    struct vpa_http_server *server = vpa_http_server_new(
        loop,
        &(struct vpa_http_server_options){.address = address, .handler = serve_http, .ctx = &vpas},
        &err);

    if (!server) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    vpa_loop_run(loop);
    return 0;
}

/* ---- load on a running daemon ---- */

#define SAMPLES_MAX 1000000

struct load {
    struct vpa_loop *loop;
    struct vpa_transport *transport;
    size_t vpas, started, finished, wanted, failed;
    bool handshakes;
    const char *pid;
    double cpu_before;
    double *cpu_each; /* with one connection: CPU time around each request */
    double period;    /* seconds between the requests of one worker; 0: as fast as possible */
    double *latencies;
};
/* CPU time of all threads of the process so far. */
static double process_seconds(const char *pid);

struct worker {
    struct load *load;
    struct vpa_timer *timer;
    double began;
    double due;
};

static void next_request(struct worker *worker);

static void on_answer(void *ctx, const struct vpa_http_result *result)
{
    struct worker *worker = ctx;
    struct load *load = worker->load;

    if (load->finished < SAMPLES_MAX)
        load->latencies[load->finished] = real_seconds() - worker->began;
    if (load->handshakes && load->finished < SAMPLES_MAX) {
        double cpu = process_seconds(load->pid);
        load->cpu_each[load->finished] = cpu - load->cpu_before;
        load->cpu_before = cpu;
    }
    load->finished++;
    if (result->status != 200 || !strstr(result->body, "\"patch\""))
        load->failed++;
    if (load->started < load->wanted)
        next_request(worker);
    else if (load->finished == load->wanted)
        vpa_loop_stop(load->loop);
}

static void begin_request(struct worker *worker)
{
    static const struct vpa_header headers[] = {{"Content-Type", "application/json"},
                                                {"Connection", "close"}};
    struct load *load = worker->load;
    const struct vpa_http_handler handler = {.ctx = worker, .on_done = on_answer};
    vpa_auto_buf body = {0};

    vpa_buf_init(&body, BODY_MAX);
    put_review(&body, load->started++ * 7919 % load->vpas);
    worker->began = real_seconds();
    vpa_transport_start(load->transport,
                        &(struct vpa_http_request){.method = "POST",
                                                   .target = "/?timeout=30s",
                                                   .headers = headers,
                                                   .header_count = load->handshakes ? 2 : 1,
                                                   .body = body.data,
                                                   .body_len = body.len},
                        &handler);
}

static void on_due(void *ctx)
{
    begin_request(ctx);
}

/* At a rate the next request waits for its time; a timer is a millisecond late at most. */
static void next_request(struct worker *worker)
{
    double wait;

    if (worker->load->period <= 0) {
        begin_request(worker);
        return;
    }
    worker->due += worker->load->period;
    wait = worker->due - real_seconds();
    if (wait > 0)
        vpa_timer_start(worker->timer, (vpa_duration)(wait * 1e9));
    else
        begin_request(worker);
}

/* As the scheduler counts it. */
static double process_seconds(const char *pid)
{
    vpa_auto_free char *path = vpa_xprintf("/proc/%s/task", pid);
    DIR *tasks = opendir(path);
    double sum = 0;

    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        vpa_auto_free char *stat = vpa_xprintf("/proc/%s/task/%s/schedstat", pid, e->d_name);
        unsigned long long nanoseconds;
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(stat, "r");
        if (f && fscanf(f, "%llu", &nanoseconds) == 1)
            sum += (double)nanoseconds / 1e9;
        if (f)
            fclose(f);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

static void print_resident(const char *pid)
{
    vpa_auto_free char *path = vpa_xprintf("/proc/%s/status", pid);
    char line[256];
    FILE *f = fopen(path, "r");

    while (f && fgets(line, sizeof(line), f))
        if (vpa_str_starts_with(line, "VmRSS") || vpa_str_starts_with(line, "RssAnon"))
            printf("  %s", line);
    if (f)
        fclose(f);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static int run_load(char **argv, int argc)
{
    const char *pid = argv[2];
    size_t connections = (size_t)strtoull(argv[4], NULL, 10);
    struct vpa_clock *clock = vpa_clock_new_real();
    struct vpa_loop *loop = vpa_loop_new(clock);
    vpa_auto_free char *url = vpa_xprintf("https://127.0.0.1:%s", argv[3]);
    struct vpa_error err;
    struct load load = {.loop = loop, .vpas = 1000};
    struct worker *workers = vpa_xcalloc(connections, sizeof(*workers));

    load.wanted = (size_t)strtoull(argv[5], NULL, 10);
    load.handshakes = argc > 6 && strcmp(argv[6], "handshakes") == 0;
    if (argc > 6 && !load.handshakes)
        load.period = (double)connections / strtod(argv[6], NULL);
    load.latencies = vpa_xcalloc(SAMPLES_MAX, sizeof(*load.latencies));
    load.cpu_each = vpa_xcalloc(SAMPLES_MAX, sizeof(*load.cpu_each));
    load.pid = pid;
    load.transport = vpa_http_client_new(loop,
                                         &(struct vpa_http_client_options){.base_url = url,
                                                                           .proxy = "",
                                                                           .insecure = true,
                                                                           .no_http2 = true,
                                                                           .no_compression = true},
                                         &err);
    double cpu = process_seconds(pid), real = real_seconds();
    load.cpu_before = cpu;
    for (size_t i = 0; i < connections; i++) {
        workers[i].load = &load;
        workers[i].timer = vpa_timer_new(loop, on_due, &workers[i]);
        workers[i].due = real + load.period * (double)i / (double)connections;
        next_request(&workers[i]);
    }
    vpa_loop_run(loop);
    cpu = process_seconds(pid) - cpu;
    real = real_seconds() - real;

    size_t n = load.finished < SAMPLES_MAX ? load.finished : SAMPLES_MAX;
    qsort(load.latencies, n, sizeof(*load.latencies), by_value);
    printf("%zu connections%s: %.0f requests/s, %.1f us CPU each, p50 %.0f us, p99 %.0f us, %zu "
           "failed\n",
           connections, load.handshakes ? ", one request each" : "", (double)load.finished / real,
           cpu / (double)load.finished * 1e6, load.latencies[n / 2] * 1e6,
           load.latencies[n * 99 / 100] * 1e6, load.failed);
    if (load.handshakes) {
        qsort(load.cpu_each, n, sizeof(*load.cpu_each), by_value);
        printf("  CPU per request: p10 %.0f us, p50 %.0f us\n", load.cpu_each[n / 10] * 1e6,
               load.cpu_each[n / 2] * 1e6);
    }
    print_resident(pid);
    return load.failed != 0;
}

static void quiet(void)
{
    struct vpa_error err;
    const struct vpa_log_options options = {.level = 0, .fd = STDERR_FILENO};

    (void)vpa_log_configure(&options, &err);
}

int main(int argc, char **argv)
{
    quiet();
    if (argc == 4 && strcmp(argv[1], "api") == 0)
        return run_api(argv[2], (size_t)strtoull(argv[3], NULL, 10));
    if (argc >= 6 && strcmp(argv[1], "load") == 0)
        return run_load(argv, argc);
    if (argc == 1) {
        run_here(1000, false);
        run_here(10000, false);
        run_here(10000, true);
    }
    for (int i = 1; i < argc; i++) {
        run_here((size_t)strtoull(argv[i], NULL, 10), false);
        run_here((size_t)strtoull(argv[i], NULL, 10), true);
    }
    return 0;
}
