/*
 * Queries for recommendations (recommender/query.h) beside passes: the whole recommender against a
 * stub API server, asked over plain HTTP.
 *
 *     bench_query [--containers N] [--rate N] [--seconds N] [--connections N] [--interval TEXT]
 *                 [--first 1]
 *
 * Passes of that many containers follow each other at --interval of 100ms, that is without a pause
 * when one takes longer; two thousand queries a second come over four connections, for pods of all
 * VPAs in turn. --rate 0: each connection asks again as soon as it is answered. A query is due at a
 * fixed time, and its latency counts from there, so that one that waits for the answer to another
 * counts as waiting. The pod is a whole one of a Deployment, with its ReplicaSet as controller.
 *
 * --first 1 (for root): whoever asks and whoever answers comes before all else that runs on the
 * machine, the passes among it. What is left is what a pass holds up by locks, and no waiting for a
 * processor that others use.
 *
 * The CPU time of a query is that of all threads but the loop's, which makes the passes.
 */
#include <dirent.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measured.h"
#include "stub_cluster.h"
#include "stub_objects.h"
#include "vpa/base/mem.h"

#define TEXT_MAX ((size_t)1 << 20)
#define CONNECTIONS_MAX 64
#define PODS_PER_VPA 10
#define PLACES 1024 /* queries that are made before the clock starts */

static struct stub_cluster_settings cluster = {
    .containers = 10000, .pods_per_vpa = PODS_PER_VPA, .replica_sets = true};
static size_t rate = 2000, seconds = 10, connections = 4;
static bool first;
static const char *interval = "--recommender-interval=100ms";
static int port;

/* ---- queries ---- */

static char *requests[PLACES];

static char *make_request(size_t vpa)
{
    vpa_auto_buf pod = VPA_BUF(TEXT_MAX);
    const struct stub_pod facts = {.vpa = vpa,
                                   .number = vpa * PODS_PER_VPA,
                                   .place = vpa,
                                   .version = 1,
                                   .annotations = "{}",
                                   .resources =
                                       "{\"requests\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"}}"};

    stub_put_pod(&pod, &facts);
    vpa_auto_free char *body =
        vpa_xprintf("{\"apiVersion\":\"recommendation.autoscaling.k8s.io/v1alpha1\",\"kind\":"
                    "\"RecommendationQuery\",\"spec\":{\"pod\":%s}}",
                    vpa_buf_text(&pod));
    return vpa_xprintf("POST /recommendedPodResources HTTP/1.1\r\nHost: bench\r\n"
                       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                       strlen(body), body);
}

/* ---- threads of the recommender ---- */

/* Calls fn for each thread but the first, which is the loop. */
static void visit_threads(pid_t pid, void (*fn)(long thread, void *ctx), void *ctx)
{
    vpa_auto_free char *path = vpa_xprintf("/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);

    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        long thread = strtol(e->d_name, NULL, 10);
        if (thread > 0 && thread != pid)
            fn(thread, ctx);
    }
    if (tasks)
        closedir(tasks);
}

static void add_cpu(long thread, void *ctx)
{
    vpa_auto_free char *path = vpa_xprintf("/proc/%ld/schedstat", thread);
    char line[128];
    FILE *f = fopen(path, "r");

    if (f && fgets(line, sizeof line, f))
        *(double *)ctx += strtod(line, NULL) / 1e9; /* nanoseconds on a processor */
    if (f)
        fclose(f);
}

static double query_cpu_s(pid_t pid)
{
    double sum = 0;

    visit_threads(pid, add_cpu, &sum);
    return sum;
}

static void put_first(long thread, void *ctx)
{
    (void)ctx;
    if (sched_setscheduler((pid_t)thread, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}) <
        0)
        perror("--first");
}

/* ---- one connection ---- */

struct asker {
    pthread_t thread;
    size_t place;
    int fd;
    int64_t begin_ns;
    int64_t *latencies; /* of `capacity` */
    size_t capacity;
    size_t count;
    size_t failed;
};

static void connect_asker(struct asker *a)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int one = 1;

    a->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(a->fd, (struct sockaddr *)&address, sizeof address) < 0) {
        perror("connect");
        exit(1);
    }
    setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static size_t length_of_answer(const char *text, size_t have)
{
    const char *end = memmem(text, have, "\r\n\r\n", 4);
    const char *length = strcasestr(text, "\r\nContent-Length:");

    return !end || !length ? SIZE_MAX
                           : (size_t)(end + 4 - text) +
                                 strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
}

/* True when there is a recommendation in the answer. */
static bool ask(const struct asker *a, const char *request)
{
    char answer[32768];
    size_t have = 0, len = strlen(request);

    for (size_t sent = 0; sent < len;) {
        ssize_t n = write(a->fd, request + sent, len - sent);
        if (n <= 0)
            return false;
        sent += (size_t)n;
    }
    while (have < sizeof answer - 1) {
        ssize_t n = read(a->fd, answer + have, sizeof answer - 1 - have);
        if (n <= 0)
            return false;
        have += (size_t)n;
        answer[have] = '\0';
        if (have >= length_of_answer(answer, have))
            return strstr(answer, "\"containerRecommendations\":[{") != NULL;
    }
    return false;
}

static void sleep_until(int64_t ns)
{
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
        ;
}

/* Connections take turns: number k of one is due at k periods after its place. */
static void *run_asker(void *ctx)
{
    struct asker *a = ctx;
    int64_t end = a->begin_ns + (int64_t)seconds * 1000000000;

    if (first)
        put_first(0, NULL);
    for (size_t k = 0; a->count < a->capacity; k++) {
        size_t number = k * connections + a->place;
        int64_t due =
            rate > 0 ? a->begin_ns + (int64_t)(number * 1000000000 / rate) : measured_now_ns();
        if (due >= end)
            break;
        if (rate > 0)
            sleep_until(due);
        a->failed += ask(a, requests[number % PLACES]) ? 0 : 1;
        a->latencies[a->count++] = measured_now_ns() - due;
    }
    close(a->fd);
    return NULL;
}

/* ---- the run ---- */

static pid_t start_recommender(const struct measured_kubeconfig *kubeconfig)
{
    vpa_auto_free char *address = vpa_xprintf("--address=127.0.0.1:%d", port);

    return measured_start("vpa-recommender", kubeconfig,
                          (const char *const[]){interval, "--kube-api-qps=100000",
                                                "--kube-api-burst=100000", "--leader-elect=false",
                                                "--checkpoint-interval=100s", "--v=1",
                                                "--recommendation-query=true", address, NULL});
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static size_t gather(struct asker *askers, int64_t *all)
{
    size_t count = 0;

    for (size_t i = 0; i < connections; i++) {
        pthread_join(askers[i].thread, NULL);
        memcpy(all + count, askers[i].latencies, askers[i].count * sizeof *all);
        count += askers[i].count;
        free(askers[i].latencies);
    }
    qsort(all, count, sizeof *all, by_value);
    return count;
}

static double at_share_ms(const int64_t *all, size_t count, double share)
{
    return (double)all[(size_t)(share * (double)(count - 1))] / 1e6;
}

static void report(const int64_t *all, size_t count, double took_s, double cpu_s, size_t passes)
{
    printf("%zu queries over %zu connections in %.1f s beside %zu passes: %.0f a second, %.1f us "
           "CPU each\n",
           count, connections, took_s, passes, (double)count / took_s, cpu_s / (double)count * 1e6);
    printf("latency p50 %.3f ms, p90 %.3f ms, p99 %.3f ms, p99.9 %.3f ms, most %.3f ms\n",
           at_share_ms(all, count, 0.5), at_share_ms(all, count, 0.9),
           at_share_ms(all, count, 0.99), at_share_ms(all, count, 0.999),
           at_share_ms(all, count, 1));
}

/* How many had no recommendation. */
static size_t measure(pid_t pid, const struct stub_cluster *c)
{
    struct asker askers[CONNECTIONS_MAX] = {{0}};
    size_t capacity = (rate > 0 ? rate : 100000) * seconds / connections + 1, failed = 0;
    vpa_auto_free int64_t *all = vpa_xcalloc(capacity * connections, sizeof *all);
    uint_fast64_t passes = atomic_load(&c->metrics_lists);
    double cpu = query_cpu_s(pid);

    if (first)
        visit_threads(pid, put_first, NULL);
    int64_t begin = measured_now_ns();

    for (size_t i = 0; i < connections; i++) {
        askers[i] = (struct asker){.place = i, .begin_ns = begin, .capacity = capacity};
        askers[i].latencies = vpa_xcalloc(capacity, sizeof *all);
        connect_asker(&askers[i]);
        pthread_create(&askers[i].thread, NULL, run_asker, &askers[i]);
    }
    size_t count = gather(askers, all);
    for (size_t i = 0; i < connections; i++)
        failed += askers[i].failed;
    report(all, count, (double)(measured_now_ns() - begin) / 1e9, query_cpu_s(pid) - cpu,
           atomic_load(&c->metrics_lists) - passes);
    return failed;
}

static size_t number_of(const char *text)
{
    return strtoul(text, NULL, 10);
}

static void read_arguments(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--containers") == 0)
            cluster.containers = number_of(argv[i + 1]);
        else if (strcmp(argv[i], "--rate") == 0)
            rate = number_of(argv[i + 1]);
        else if (strcmp(argv[i], "--seconds") == 0)
            seconds = number_of(argv[i + 1]);
        else if (strcmp(argv[i], "--connections") == 0)
            connections = number_of(argv[i + 1]);
        else if (strcmp(argv[i], "--first") == 0)
            first = number_of(argv[i + 1]) > 0;
        else if (strcmp(argv[i], "--interval") == 0)
            interval = vpa_xprintf("--recommender-interval=%s", argv[i + 1]);
    }
    connections = connections < 1                 ? 1
                  : connections > CONNECTIONS_MAX ? CONNECTIONS_MAX
                                                  : connections;
    cluster.vpas = (cluster.containers + PODS_PER_VPA - 1) / PODS_PER_VPA;
}

int main(int argc, char **argv)
{
    struct measured_kubeconfig kubeconfig;
    double stop_s;
    struct stub stub;

    read_arguments(argc, argv);
    for (size_t i = 0; i < PLACES; i++)
        requests[i] = make_request(cluster.vpas > 0 ? i * 7919 % cluster.vpas : 0);
    struct stub_cluster *c = stub_cluster_start(&cluster, &stub);
    port = measured_free_port();
    if (!measured_kubeconfig_write(&kubeconfig, &stub))
        return 1;
    pid_t pid = start_recommender(&kubeconfig);
    while (atomic_load(&c->metrics_lists) < 4) /* all VPAs have a status */
        usleep(1000);
    printf("recommender: %zu containers, %zu VPAs; a query of %zu bytes\n", cluster.containers,
           cluster.vpas, strlen(requests[0]));
    size_t failed = measure(pid, c);
    if (failed > 0)
        printf("%zu without a recommendation\n", failed);
    int status = measured_stop(pid, &stop_s);
    stub_stop(&stub);
    unlink(kubeconfig.path);
    return failed > 0 || status != 0;
}
