/*
 * The webhook: CPU and time per review, memory.
 *
 *     bench_admission [--vpas N] [--requests N]
 *     bench_admission inside [VPAS]...    answers alone, in this process; then with a ledger
 *
 * The first starts the daemon against the stub API server and posts reviews over TLS: as fast as it
 * answers over one connection and over eight, a steady thousand a second over four, and a tenth as
 * many with a connection of their own each. 1,000 VPAs and 20,000 reviews unless said otherwise.
 * CPU time is the daemon's, as the scheduler counts it.
 *
 * Each VPA targets a Deployment with one ReplicaSet, and recommends for two containers; the review
 * is what an API server sends for a pod of two containers, 9.6 kB.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "admission.h"
#include "measured.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "stub_objects.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/net/http_client.h"
#include "vpa/net/tls.h"

#define REQUESTS 20000
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

static size_t vpa_count = 1000;

static void put_vpa(struct vpa_buf *b, size_t i)
{
    static const char status[] =
        "{\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
        "\"lastTransitionTime\":\"2026-05-01T10:05:00Z\"}],\"recommendation\":{"
        "\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{\"cpu\":\"250m\","
        "\"memory\":\"262144k\"},\"lowerBound\":{\"cpu\":\"100m\",\"memory\":\"200Mi\"},"
        "\"upperBound\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"uncappedTarget\":{\"cpu\":\"250m\","
        "\"memory\":\"262144k\"}},{\"containerName\":\"sidecar\",\"target\":{\"cpu\":\"25m\","
        "\"memory\":\"64Mi\"},\"lowerBound\":{\"cpu\":\"10m\",\"memory\":\"32Mi\"},"
        "\"upperBound\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"},\"uncappedTarget\":{"
        "\"cpu\":\"25m\",\"memory\":\"64Mi\"}}]}}";

    stub_put_vpa(b,
                 &(struct stub_vpa){
                     .number = i, .version = stub_version(), .mode = "Recreate", .status = status});
}

static void put_deployment(struct vpa_buf *b, size_t i)
{
    stub_put_deployment(b, i, 10);
}

static void put_replica_set(struct vpa_buf *b, size_t i)
{
    stub_put_replica_set(b, i, 10);
}

/* How to write what is listed there, NULL: there is none of it. */
static stub_put_fn put_of(const char *path)
{
    return strstr(path, "/verticalpodautoscalers") ? put_vpa
           : strstr(path, "/deployments")          ? put_deployment
           : strstr(path, "/replicasets")          ? put_replica_set
                                                   : NULL;
}

/* ---- the review ---- */

static void put_review(struct vpa_buf *out, size_t i)
{
    vpa_buf_printf(
        out,
        "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{"
        "\"uid\":\"705ab4f5-6393-11e8-b7cc-42010a800002\",\"kind\":{\"group\":\"\",\"version\":"
        "\"v1\",\"kind\":\"Pod\"},\"resource\":{\"group\":\"\",\"version\":\"v1\",\"resource\":"
        "\"pods\"},\"requestKind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},"
        "\"requestResource\":{\"group\":\"\",\"version\":\"v1\",\"resource\":\"pods\"},"
        "\"namespace\":\"team-%02zu\",\"operation\":\"CREATE\",\"userInfo\":{\"username\":"
        "\"system:serviceaccount:kube-system:replicaset-controller\",\"uid\":\"b1\",\"groups\":["
        "\"system:serviceaccounts\",\"system:authenticated\"]},\"object\":",
        i % STUB_NAMESPACES);
    stub_put_pod(out, &(struct stub_pod){
                          .vpa = i,
                          .fresh = true,
                          .annotations = "{\"prometheus.io/scrape\":\"true\"}",
                          .resources = "{\"limits\":{\"cpu\":\"500m\",\"memory\":\"512Mi\"},"
                                       "\"requests\":{\"cpu\":\"100m\",\"memory\":\"128Mi\"}}",
                          .sidecar = "{\"requests\":{\"cpu\":\"10m\",\"memory\":\"32Mi\"}}"});
    vpa_buf_puts(out,
                 ",\"oldObject\":null,\"dryRun\":false,\"options\":{\"kind\":\"CreateOptions\","
                 "\"apiVersion\":\"meta.k8s.io/v1\"}}}");
}

/* ---- in this process ---- */

static void serve_memory(void *ctx, const struct vpa_memory_request *request,
                         struct vpa_memory_reply *reply)
{
    const char *token = vpa_memory_query(request, "continue");
    size_t from = token ? (size_t)strtoull(token, NULL, 10) : 0;
    stub_put_fn put = put_of(request->path);
    vpa_auto_buf body = VPA_BUF(BODY_MAX);

    (void)ctx;
    if (vpa_memory_query(request, "watch")) {
        vpa_memory_reply_stream(reply, 200, NULL, NULL);
        return;
    }
    stub_put_page(&body, from, from + PAGE, put ? vpa_count : 0, put);
    vpa_memory_reply_json(reply, 200, vpa_buf_text(&body));
}

static size_t used_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* CPU time of making so many reviews. */
static double make_reviews(struct vpa_buf *body)
{
    double start = cpu_seconds();

    for (size_t i = 0; i < REQUESTS; i++) {
        vpa_buf_clear(body);
        put_review(body, i * 7919 % vpa_count);
    }
    return cpu_seconds() - start;
}

static void answer_requests(struct server *server)
{
    size_t answer_bytes = 0, body_bytes = 0;
    vpa_auto_buf body = VPA_BUF(BODY_MAX);

    double making = make_reviews(&body);
    double start = cpu_seconds();
    for (size_t i = 0; i < REQUESTS; i++) {
        struct vpa_server_response response = {0};

        vpa_buf_clear(&body);
        put_review(&body, i * 7919 % vpa_count);
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

static void run_here(bool with_ledger)
{
    struct admission_config config;
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &config};
    struct vpa_clock *clock = vpa_clock_new_manual(vpa_time_from_unix(1780000000, 0));
    struct vpa_loop *loop = vpa_loop_new(clock);
    struct vpa_transport *transport = vpa_memory_transport_new(loop, serve_memory, NULL);
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
           vpa_count, ledger ? "with the" : "without a",
           (double)(used_bytes() - before) / (1 << 20), cpu_seconds() - start);
    answer_requests(admission_server(admission));
    admission_free(admission);
    vpa_ledger_free(ledger);
    vpa_kube_client_free(client);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
}

/* ---- the daemon ---- */

static void prepare(void)
{
    stub_make_pages("/verticalpodautoscalers", vpa_count, put_vpa);
    stub_make_pages("/deployments", vpa_count, put_deployment);
    stub_make_pages("/replicasets", vpa_count, put_replica_set);
}

static void dispatch(struct stub_call *call, const struct stub_request *request)
{
    static const char lease[] = "{\"metadata\":{\"name\":\"l\"},\"spec\":{}}";
    stub_put_fn put = put_of(request->target);

    if (strstr(request->target, "watch="))
        stub_start_watch(call, "/all");
    else if (strcmp(request->method, "GET") != 0 || strstr(request->target, "/leases"))
        stub_answer(call, 200, lease, strlen(lease));
    else
        stub_answer_list(call, request->target, put ? vpa_count : 0, put);
}

#define SAMPLES_MAX 1000000

struct load {
    struct vpa_loop *loop;
    struct vpa_transport *transport;
    size_t started, finished, wanted, failed;
    bool handshakes;
    pid_t pid;
    double period; /* seconds between the requests of one worker; 0: as fast as possible */
    double *latencies;
};

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
    vpa_auto_buf body = VPA_BUF(BODY_MAX);

    put_review(&body, load->started++ * 7919 % vpa_count);
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

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

struct load_kind {
    const char *name;
    size_t connections;
    size_t divisor; /* of the requests that are wanted in all */
    bool handshakes;
    double rate; /* per second; 0: as fast as possible */
};

static void report(const struct load *load, const struct load_kind *kind, double cpu, double real)
{
    size_t n = load->finished < SAMPLES_MAX ? load->finished : SAMPLES_MAX;

    qsort(load->latencies, n, sizeof(*load->latencies), by_value);
    printf("  %-25s %6.0f requests/s, %5.1f us CPU each, p50 %.0f us, p99 %.0f us, %zu failed\n",
           kind->name, (double)load->finished / real, cpu / (double)load->finished * 1e6,
           load->latencies[n / 2] * 1e6, load->latencies[n * 99 / 100] * 1e6, load->failed);
    fflush(stdout);
}

/* How many were not answered with a patch. */
static size_t run_load(pid_t pid, int port, size_t requests, const struct load_kind *kind)
{
    struct vpa_clock *clock = vpa_clock_new_real();
    struct vpa_loop *loop = vpa_loop_new(clock);
    vpa_auto_free char *url = vpa_xprintf("https://127.0.0.1:%d", port);
    struct vpa_error err;
    struct load load = {
        .loop = loop, .pid = pid, .wanted = requests, .handshakes = kind->handshakes};
    struct worker *workers = vpa_xcalloc(kind->connections, sizeof(*workers));

    if (kind->rate > 0)
        load.period = (double)kind->connections / kind->rate;
    load.latencies = vpa_xcalloc(SAMPLES_MAX, sizeof(*load.latencies));
    load.transport = vpa_http_client_new(loop,
                                         &(struct vpa_http_client_options){.base_url = url,
                                                                           .proxy = "",
                                                                           .insecure = true,
                                                                           .no_http2 = true,
                                                                           .no_compression = true},
                                         &err);
    double cpu = measured_usage_of(pid).cpu_s, real = real_seconds();
    for (size_t i = 0; i < kind->connections; i++) {
        workers[i].load = &load;
        workers[i].timer = vpa_timer_new(loop, on_due, &workers[i]);
        workers[i].due = real + load.period * (double)i / (double)kind->connections;
        next_request(&workers[i]);
    }
    vpa_loop_run(loop);
    report(&load, kind, measured_usage_of(pid).cpu_s - cpu, real_seconds() - real);
    vpa_transport_free(load.transport);
    for (size_t i = 0; i < kind->connections; i++)
        vpa_timer_free(workers[i].timer);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
    free(workers);
    free(load.latencies);
    return load.failed;
}

static char *write_file(const char *folder, const char *name, const char *text)
{
    char *path = vpa_xjoin(folder, '/', name);
    FILE *f = fopen(path, "w");

    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        exit(1);
    return path;
}

static void make_certificate(const char *folder, char **cert, char **key)
{
    static const char *const names[] = {"127.0.0.1"};
    vpa_time now = vpa_time_from_unix(time(NULL), 0);
    struct vpa_tls_pair ca = {0}, pair = {0};

    if (vpa_tls_create_ca("bench", now, 24 * VPA_HOUR, &ca, NULL) < 0 ||
        vpa_tls_create_certificate(&ca, names, 1, false, now, 24 * VPA_HOUR, &pair, NULL) < 0)
        exit(1);
    *cert = write_file(folder, "tls.crt", pair.cert_pem);
    *key = write_file(folder, "tls.key", pair.key_pem);
    vpa_tls_pair_release(&ca);
    vpa_tls_pair_release(&pair);
}

static size_t measure(pid_t pid, int port, size_t requests)
{
    static const struct load_kind kinds[] = {
        {"1 connection", 1, 1, false, 0},
        {"8 connections", 8, 1, false, 0},
        {"4 connections, 1,000/s", 4, 4, false, 1000},
        {"a connection per request", 1, 10, true, 0},
    };
    size_t failed = 0;

    measured_wait_for_port(port);
    struct measured_usage u = measured_usage_of(pid);
    printf("webhook: %zu VPAs; %.1f MiB resident before\n", vpa_count, u.resident_mib);
    for (size_t i = 0; i < VPA_COUNT(kinds); i++)
        failed += run_load(pid, port, requests / kinds[i].divisor, &kinds[i]);
    u = measured_usage_of(pid);
    printf("  %.1f MiB resident after, %.1f at most\n", u.resident_mib, u.peak_mib);
    return failed;
}

static bool run_daemon(size_t requests)
{
    char folder[] = "/tmp/plumb-bench-XXXXXX";
    int port = measured_free_port();
    vpa_auto_free char *cert = NULL, *key = NULL;
    struct measured_kubeconfig kubeconfig;
    struct stub stub;
    double seconds;

    stub_start(&stub, prepare, dispatch);
    if (!mkdtemp(folder) || !measured_kubeconfig_write(&kubeconfig, &stub))
        return false;
    make_certificate(folder, &cert, &key);
    vpa_auto_free char *cert_flag = vpa_xprintf("--tls-cert-file=%s", cert);
    vpa_auto_free char *key_flag = vpa_xprintf("--tls-private-key=%s", key);
    vpa_auto_free char *port_flag = vpa_xprintf("--port=%d", port);
    pid_t pid =
        measured_start("vpa-admission-controller", &kubeconfig,
                       (const char *const[]){"--register-webhook=false", "--address=127.0.0.1:0",
                                             port_flag, cert_flag, key_flag, NULL});
    bool ok = measure(pid, port, requests) == 0;
    ok = measured_stop(pid, &seconds) == 0 && ok;
    stub_stop(&stub);
    unlink(kubeconfig.path);
    unlink(cert);
    unlink(key);
    rmdir(folder);
    return ok;
}

static void quiet(void)
{
    struct vpa_error err;
    const struct vpa_log_options options = {.level = 0, .fd = STDERR_FILENO};

    (void)vpa_log_configure(&options, &err);
}

static void run_inside(void)
{
    run_here(false);
    run_here(true);
}

int main(int argc, char **argv)
{
    size_t requests = 20000;

    quiet();
    if (argc == 2 && strcmp(argv[1], "inside") == 0)
        run_inside();
    for (int i = 2; i < argc && strcmp(argv[1], "inside") == 0; i++) {
        vpa_count = (size_t)strtoull(argv[i], NULL, 10);
        run_inside();
    }
    if (argc > 1 && strcmp(argv[1], "inside") == 0)
        return 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        size_t number = (size_t)strtoull(argv[i + 1], NULL, 10);

        if (strcmp(argv[i], "--vpas") == 0)
            vpa_count = number;
        else if (strcmp(argv[i], "--requests") == 0)
            requests = number;
    }
    return run_daemon(requests) ? 0 : 1;
}
