/*
 * The recommender as a whole process against a stub API server: resident memory, CPU and API calls
 * per pass, time from the start to the first status.
 *
 *     bench_recommender [--containers N] [--pods-per-vpa N] [--passes N] [--idle] [--start]
 *
 * One container per pod, ten pods per VPA unless said otherwise, usage that changes every pass
 * (--idle: that does not). The stub answers from prepared texts on a plain socket; it keeps what is
 * written and sends status patches back through the watch, as a server does. --start: checkpoints
 * exist before the recommender does, and the time to the first status is what is wanted.
 * BENCH_LOG=--v=3 in the environment shows the recommender's log.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"

#define NAMESPACES 20
#define PAGE 500
#define INTERVAL_S 10
#define TEXT_MAX ((size_t)1 << 30)

/* ---- shared with the stub's process ---- */

struct shared {
    atomic_int port;
    atomic_uint_fast64_t calls;
    atomic_uint_fast64_t metrics_lists;
    atomic_uint_fast64_t statuses;
    atomic_uint_fast64_t checkpoints;
    atomic_int_fast64_t first_status_ns; /* CLOCK_MONOTONIC */
};

struct settings {
    size_t containers;
    size_t pods_per_vpa;
    size_t vpas;
    int passes;
    bool idle;
    bool start;
};

static struct settings settings = {.containers = 10000, .pods_per_vpa = 10, .passes = 4};
static struct shared *shared;

static int64_t monotonic_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- texts ---- */

static void put_time(struct vpa_buf *b, time_t t)
{
    struct tm tm;

    gmtime_r(&t, &tm);
    vpa_buf_printf(b, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                   tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void put_vpa_name(struct vpa_buf *b, size_t vpa)
{
    vpa_buf_printf(b, "web-%05zu", vpa);
}

/* A pod as a cluster has it, with the parts that the recommender does not read. */
static void put_pod(struct vpa_buf *b, size_t i)
{
    size_t vpa = i / settings.pods_per_vpa;

    vpa_buf_printf(
        b,
        "{\"metadata\":{\"name\":\"web-%05zu-7d4b9c6f5d-%05zu\",\"generateName\":\"web-%05zu-"
        "7d4b9c6f5d-\","
        "\"namespace\":\"team-%02zu\",\"uid\":\"8c1f5a3e-0000-4000-8000-%012zu\","
        "\"resourceVersion\":\"%zu\","
        "\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{\"app\":\"web-%05zu\","
        "\"app.kubernetes.io/managed-by\":\"Helm\",\"pod-template-hash\":\"7d4b9c6f5d\"},"
        "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":"
        "\"web-%05zu-7d4b9c6f5d\",\"uid\":\"1\",\"controller\":true,\"blockOwnerDeletion\":true}]},"
        "\"spec\":{\"volumes\":[{\"name\":\"kube-api-access-x\",\"projected\":{\"sources\":[{"
        "\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}}],\"defaultMode\":"
        "420}}],"
        "\"containers\":[{\"name\":\"app\",\"image\":\"registry.example.com/team/"
        "web:1.2.3\",\"ports\":[{"
        "\"containerPort\":8080,\"protocol\":\"TCP\"}],\"resources\":{\"requests\":{\"cpu\":"
        "\"100m\","
        "\"memory\":\"256Mi\"},\"limits\":{\"memory\":\"512Mi\"}},\"terminationMessagePath\":"
        "\"/dev/"
        "termination-log\",\"imagePullPolicy\":\"IfNotPresent\"}],\"restartPolicy\":\"Always\","
        "\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\",\"nodeName\":\"node-%"
        "04zu\","
        "\"tolerations\":[{\"key\":\"node.kubernetes.io/"
        "not-ready\",\"operator\":\"Exists\",\"effect\":"
        "\"NoExecute\",\"tolerationSeconds\":300}]},\"status\":{\"phase\":\"Running\","
        "\"conditions\":[{"
        "\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:05Z\"}],"
        "\"containerStatuses\":[{\"name\":\"app\",\"state\":{\"running\":{\"startedAt\":"
        "\"2026-01-01T00:00:04Z\"}},\"lastState\":{},\"ready\":true,\"restartCount\":0,\"image\":"
        "\"registry.example.com/team/web:1.2.3\",\"started\":true}],\"qosClass\":\"Burstable\"}}",
        vpa, i, vpa, vpa % NAMESPACES, i, i + 1, vpa, vpa, i / 50);
}

static char **statuses;       /* of the VPAs, NULL: none */
static unsigned char *stored; /* which checkpoints exist */
static size_t version = 1000000;

static void put_vpa(struct vpa_buf *b, size_t i)
{
    vpa_buf_puts(b, "{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","
                    "\"metadata\":{\"name\":\"");
    put_vpa_name(b, i);
    vpa_buf_printf(
        b,
        "\",\"namespace\":\"team-%02zu\",\"uid\":\"%zu\",\"resourceVersion\":\"%zu\","
        "\"generation\":1,"
        "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"targetRef\":{\"apiVersion\":"
        "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web-%05zu\"},\"updatePolicy\":{"
        "\"updateMode\":\"Auto\"},\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":"
        "\"*\",\"minAllowed\":{\"cpu\":\"10m\",\"memory\":\"32Mi\"},\"maxAllowed\":{\"cpu\":\"4\","
        "\"memory\":\"8Gi\"}}]}}",
        i % NAMESPACES, i, version, i);
    if (statuses[i])
        vpa_buf_printf(b, ",\"status\":%s", statuses[i]);
    vpa_buf_puts(b, "}");
}

static void put_deployment(struct vpa_buf *b, size_t i)
{
    vpa_buf_printf(
        b,
        "{\"metadata\":{\"name\":\"web-%05zu\",\"namespace\":\"team-%02zu\",\"uid\":\"%zu\","
        "\"resourceVersion\":\"%zu\"},\"spec\":{\"replicas\":10,\"selector\":{\"matchLabels\":{"
        "\"app\":\"web-%05zu\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"web-%05zu\"}},"
        "\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"x\"}]}}},\"status\":{\"replicas\":"
        "10}}",
        i, i % NAMESPACES, i, i + 1, i, i);
}

static void put_checkpoint(struct vpa_buf *b, size_t i)
{
    vpa_buf_printf(
        b,
        "{\"metadata\":{\"name\":\"web-%05zu-app\",\"namespace\":\"team-%02zu\",\"uid\":\"%zu\","
        "\"resourceVersion\":\"%zu\"},\"spec\":{\"vpaObjectName\":\"web-%05zu\",\"containerName\":"
        "\"app\"},\"status\":{\"lastUpdateTime\":\"2026-11-20T00:00:00Z\",\"version\":\"v3\","
        "\"cpuHistogram\":{\"referenceTimestamp\":\"2026-11-21T00:00:00Z\",\"bucketWeights\":{",
        i, i % NAMESPACES, i, i + 1, i);
    for (size_t k = 0; k < 25; k++)
        vpa_buf_printf(b, "%s\"%zu\":%zu", k > 0 ? "," : "", k + 3,
                       k == 12 ? (size_t)10000 : 100 + i % 900 + k);
    vpa_buf_puts(b, "},\"totalWeight\":812.25},\"memoryHistogram\":{\"referenceTimestamp\":"
                    "\"2026-11-21T00:00:00Z\",\"bucketWeights\":{");
    for (size_t k = 0; k < 7; k++)
        vpa_buf_printf(b, "%s\"%zu\":%zu", k > 0 ? "," : "", k + 20,
                       k == 3 ? (size_t)10000 : 200 + i % 900 + k);
    vpa_buf_puts(b, "},\"totalWeight\":61.5},\"firstSampleStart\":\"2026-11-12T00:00:00Z\","
                    "\"lastSampleStart\":\"2026-11-20T00:00:00Z\",\"totalSamplesCount\":115200}}");
}

static void put_metrics(struct vpa_buf *b, size_t i, size_t pass, time_t now)
{
    size_t vpa = i / settings.pods_per_vpa;
    size_t noise = settings.idle ? i * 7919 : i * 7919 + pass * 104729;

    vpa_buf_printf(
        b,
        "{\"metadata\":{\"name\":\"web-%05zu-7d4b9c6f5d-%05zu\",\"namespace\":\"team-%02zu\","
        "\"creationTimestamp\":\"",
        vpa, i, vpa % NAMESPACES);
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

struct connection {
    int fd;
    struct vpa_buf in;
    struct vpa_buf out;
    size_t sent;
    bool watches_vpas;
};

static struct connection *connections[1024];

static void answer(struct connection *c, int code, const char *body, size_t len)
{
    vpa_buf_printf(&c->out,
                   "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                   code, len);
    vpa_buf_append(&c->out, body, len);
}

static size_t parameter(const char *target, const char *name)
{
    const char *at = strstr(target, name);

    return at ? (size_t)strtoul(at + strlen(name), NULL, 10) : 0;
}

/* Pages of collections that do not change are made once, before the clock starts. */
struct page {
    const char *collection;
    size_t from;
    char *text;
    size_t len;
};
static struct page *pages;
static size_t page_count, page_capacity;

static bool answer_from_pages(struct connection *c, const char *target)
{
    size_t from = parameter(target, "continue=");

    for (size_t i = 0; i < page_count; i++)
        if (pages[i].from == from && strstr(target, pages[i].collection)) {
            answer(c, 200, pages[i].text, pages[i].len);
            return true;
        }
    return false;
}

static void put_page(struct vpa_buf *b, size_t from, size_t to, size_t count,
                     void (*put)(struct vpa_buf *, size_t))
{
    vpa_buf_printf(
        b, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%zu\"",
        version);
    if (to < count)
        vpa_buf_printf(b, ",\"continue\":\"%zu\"", to);
    vpa_buf_puts(b, "},\"items\":[");
    for (size_t i = from; i < to; i++) {
        if (i > from)
            vpa_buf_putc(b, ',');
        put(b, i);
    }
    vpa_buf_puts(b, "]}");
}

static void make_pages(const char *collection, size_t count, void (*put)(struct vpa_buf *, size_t))
{
    for (size_t from = 0; from < count; from += PAGE) {
        struct vpa_buf b;

        vpa_buf_init(&b, TEXT_MAX);
        put_page(&b, from, from + PAGE < count ? from + PAGE : count, count, put);
        VPA_GROW(pages, page_count, page_capacity);
        pages[page_count].len = b.len;
        pages[page_count].collection = collection;
        pages[page_count].from = from;
        pages[page_count++].text = vpa_buf_take(&b);
    }
}

static void answer_list(struct connection *c, const char *target, size_t count,
                        void (*put)(struct vpa_buf *, size_t))
{
    size_t limit = parameter(target, "limit=");
    size_t from = parameter(target, "continue=");
    size_t to = limit > 0 && from + limit < count ? from + limit : count;
    vpa_auto_buf b = {0};

    if (answer_from_pages(c, target))
        return;
    vpa_buf_init(&b, TEXT_MAX);
    put_page(&b, from, to, count, put);
    answer(c, 200, vpa_buf_text(&b), b.len);
}

static void answer_metrics(struct connection *c)
{
    size_t pass = atomic_fetch_add(&shared->metrics_lists, 1);
    time_t now = time(NULL);
    vpa_auto_buf b = {0};

    vpa_buf_init(&b, TEXT_MAX);
    vpa_buf_puts(&b, "{\"kind\":\"PodMetricsList\",\"metadata\":{},\"items\":[");
    for (size_t i = 0; i < settings.containers; i++) {
        if (i > 0)
            vpa_buf_putc(&b, ',');
        put_metrics(&b, i, pass, now);
    }
    vpa_buf_puts(&b, "]}");
    answer(c, 200, vpa_buf_text(&b), b.len);
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

static void start_watch(struct connection *c, bool vpas)
{
    vpa_buf_puts(
        &c->out,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    c->watches_vpas = vpas;
}

static void publish_vpa(size_t i)
{
    vpa_auto_buf event = {0};

    vpa_buf_init(&event, TEXT_MAX);
    version++;
    vpa_buf_puts(&event, "{\"type\":\"MODIFIED\",\"object\":");
    put_vpa(&event, i);
    vpa_buf_puts(&event, "}\n");
    for (size_t k = 0; k < 1024; k++)
        if (connections[k] && connections[k]->watches_vpas) {
            vpa_buf_printf(&connections[k]->out, "%zx\r\n", event.len);
            vpa_buf_append(&connections[k]->out, vpa_buf_text(&event), event.len);
            vpa_buf_puts(&connections[k]->out, "\r\n");
        }
}

static size_t vpa_of(const char *target)
{
    const char *name = strstr(target, "/web-");

    return name ? (size_t)strtoul(name + 5, NULL, 10) : 0;
}

static void answer_patch(struct connection *c, const char *target, const char *body)
{
    size_t i = vpa_of(target);

    if (strstr(target, "checkpoints/")) {
        atomic_fetch_add(&shared->checkpoints, 1);
        if (stored[i]) {
            answer(c, 200, "{}", 2);
            return;
        }
        vpa_auto_free char *status = vpa_xprintf("{\"kind\":\"Status\",\"status\":\"Failure\","
                                                 "\"reason\":\"NotFound\",\"code\":404,\"message\":"
                                                 "\"verticalpodautoscalercheckpoints.autoscaling."
                                                 "k8s.io \\\"web-%05zu-app\\\" not found\"}",
                                                 i);
        answer(c, 404, status, strlen(status));
        return;
    }
    int_fast64_t none = 0;
    atomic_compare_exchange_strong(&shared->first_status_ns, &none, monotonic_ns());
    atomic_fetch_add(&shared->statuses, 1);
    const char *value = strstr(body, "\"value\":");
    if (value && i < settings.vpas) {
        free(statuses[i]);
        statuses[i] = vpa_xstrndup(value + 8, strlen(value + 8) - 2); /* without }] */
        publish_vpa(i);
    }
    answer(c, 200, "{}", 2);
}

static void answer_create(struct connection *c, const char *body)
{
    const char *name = strstr(body, "\"name\":\"web-");

    atomic_fetch_add(&shared->checkpoints, 1);
    if (name)
        stored[(size_t)strtoul(name + 12, NULL, 10)] = 1;
    answer(c, 201, "{}", 2);
}

static void dispatch(struct connection *c, const char *method, const char *target, const char *body)
{
    bool watch = strstr(target, "watch=") != NULL;
    bool vpas = strstr(target, "/verticalpodautoscalers") != NULL;

    if (!watch)
        atomic_fetch_add(&shared->calls, 1);
    if (watch)
        start_watch(c, vpas);
    else if (strcmp(method, "PATCH") == 0)
        answer_patch(c, target, body);
    else if (strcmp(method, "POST") == 0)
        answer_create(c, body);
    else if (strstr(target, "/metrics.k8s.io/"))
        answer_metrics(c);
    else if (strstr(target, "/pods"))
        answer_list(c, target, settings.containers, put_pod);
    else if (strstr(target, "/deployments"))
        answer_list(c, target, settings.vpas, put_deployment);
    else if (strstr(target, "checkpoints"))
        answer_list(c, target, settings.start ? settings.vpas : 0, put_checkpoint);
    else if (vpas)
        answer_list(c, target, settings.vpas, put_vpa);
    else if (strstr(target, "/namespaces"))
        answer_list(c, target, NAMESPACES, put_namespace);
    else
        answer_list(c, target, 0, put_nothing);
}

/* Answers every complete request in the buffer. */
static void serve_requests(struct connection *c)
{
    for (;;) {
        char *text = c->in.data;
        char *end = text ? strstr(text, "\r\n\r\n") : NULL;
        size_t body_len = 0;
        char method[16];
        char target[4096];

        if (!end)
            return;
        char *length = strcasestr(text, "\r\ncontent-length:");
        if (length && length < end)
            body_len = strtoul(length + 17, NULL, 10);
        size_t head = (size_t)(end - text) + 4;
        if (c->in.len < head + body_len || sscanf(text, "%15s %4095s", method, target) != 2)
            return;
        vpa_auto_free char *body = vpa_xstrndup(text + head, body_len);
        dispatch(c, method, target, body);
        vpa_buf_consume(&c->in, head + body_len);
        if (c->in.data)
            c->in.data[c->in.len] = '\0';
    }
}

static void flush(struct connection *c)
{
    while (c->sent < c->out.len) {
        ssize_t n = write(c->fd, c->out.data + c->sent, c->out.len - c->sent);

        if (n <= 0)
            return;
        c->sent += (size_t)n;
    }
    vpa_buf_clear(&c->out);
    c->sent = 0;
}

static bool read_more(struct connection *c)
{
    for (;;) {
        char *room = vpa_buf_reserve(&c->in, 65536);
        ssize_t n = room ? read(c->fd, room, 65535) : 0;

        if (n < 0)
            return errno == EAGAIN;
        if (n == 0)
            return false;
        vpa_buf_advance(&c->in, (size_t)n);
        c->in.data[c->in.len] = '\0';
    }
}

static void accept_connection(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int on = 1;

    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (size_t i = 0; i < 1024; i++)
        if (!connections[i]) {
            connections[i] = vpa_xcalloc(1, sizeof(struct connection));
            connections[i]->fd = fd;
            vpa_buf_init(&connections[i]->in, TEXT_MAX);
            vpa_buf_init(&connections[i]->out, TEXT_MAX);
            return;
        }
    close(fd);
}

static void serve_forever(int listener)
{
    for (;;) {
        struct pollfd polls[1025] = {{.fd = listener, .events = POLLIN}};
        size_t at[1025];
        nfds_t count = 1;

        for (size_t i = 0; i < 1024; i++)
            if (connections[i]) {
                at[count] = i;
                polls[count++] = (struct pollfd){
                    .fd = connections[i]->fd,
                    .events = (short)(POLLIN | (connections[i]->out.len > 0 ? POLLOUT : 0))};
            }
        if (poll(polls, count, -1) < 0)
            continue;
        for (nfds_t k = 1; k < count; k++) {
            struct connection *c = connections[at[k]];

            if (polls[k].revents & (POLLIN | POLLHUP | POLLERR) && !read_more(c)) {
                close(c->fd);
                vpa_buf_release(&c->in);
                vpa_buf_release(&c->out);
                free(c);
                connections[at[k]] = NULL;
                continue;
            }
            serve_requests(c);
        }
        for (size_t i = 0; i < 1024; i++)
            if (connections[i])
                flush(connections[i]);
        if (polls[0].revents & POLLIN)
            accept_connection(listener);
    }
}

static void run_stub(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    signal(SIGPIPE, SIG_IGN);
    statuses = vpa_xcalloc(settings.vpas + 1, sizeof *statuses);
    stored = vpa_xcalloc(settings.vpas + 1, 1);
    if (settings.start)
        memset(stored, 1, settings.vpas + 1);
    make_pages("/pods", settings.containers, put_pod);
    make_pages("/deployments", settings.vpas, put_deployment);
    if (settings.start)
        make_pages("checkpoints", settings.vpas, put_checkpoint);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 64) < 0 || getsockname(listener, (struct sockaddr *)&address, &len) < 0)
        exit(1);
    atomic_store(&shared->port, ntohs(address.sin_port));
    serve_forever(listener);
}

/* ---- the measured process ---- */

struct usage {
    double cpu_s;
    double resident_mib;
    double peak_mib;
};

static struct usage usage_of(pid_t pid)
{
    struct usage u = {0};
    char path[64];
    char line[4096];
    unsigned long user = 0;
    unsigned long system = 0;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fgets(line, sizeof line, f) && strrchr(line, ')'))
        sscanf(strrchr(line, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
               &user, &system);
    if (f)
        fclose(f);
    u.cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        double kib;

        if (sscanf(line, "VmRSS: %lf", &kib) == 1)
            u.resident_mib = kib / 1024;
        if (sscanf(line, "VmHWM: %lf", &kib) == 1)
            u.peak_mib = kib / 1024;
    }
    if (f)
        fclose(f);
    return u;
}

static pid_t start_recommender(const char *self, const char *kubeconfig)
{
    vpa_auto_free char *folder = vpa_xstrndup(self, (size_t)(strrchr(self, '/') - self));
    vpa_auto_free char *program = vpa_xprintf("%s/vpa-recommender", folder);
    vpa_auto_free char *config = vpa_xprintf("--kubeconfig=%s", kubeconfig);
    vpa_auto_free char *interval =
        vpa_xprintf("--recommender-interval=%s", settings.start ? "100ms" : "10s");
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);

        if (!getenv("BENCH_LOG"))
            dup2(null, 2);
        execl(program, program, config, interval, "--kube-api-qps=100000",
              "--kube-api-burst=100000", "--address=127.0.0.1:0",
              getenv("BENCH_LOG") ? getenv("BENCH_LOG") : "--v=1", (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void sleep_until_pass(uint_fast64_t pass)
{
    while (atomic_load(&shared->metrics_lists) < pass)
        usleep(1000);
}

static void measure_passes(pid_t pid)
{
    sleep_until_pass(2); /* the first pass creates everything */
    usleep((useconds_t)(INTERVAL_S * 800000));
    for (int i = 0; i < settings.passes; i++) {
        struct usage before = usage_of(pid);
        uint_fast64_t calls = atomic_load(&shared->calls);
        uint_fast64_t statuses_before = atomic_load(&shared->statuses);
        uint_fast64_t checkpoints_before = atomic_load(&shared->checkpoints);

        sleep_until_pass(3 + (uint_fast64_t)i);
        usleep((useconds_t)(INTERVAL_S * 800000));
        struct usage after = usage_of(pid);
        printf("pass %d: %6.3f CPU s, %6.1f MiB resident (peak %.1f), %" PRIuFAST64
               " calls (%" PRIuFAST64 " statuses, %" PRIuFAST64 " checkpoints)\n",
               i + 1, after.cpu_s - before.cpu_s, after.resident_mib, after.peak_mib,
               atomic_load(&shared->calls) - calls,
               atomic_load(&shared->statuses) - statuses_before,
               atomic_load(&shared->checkpoints) - checkpoints_before);
        fflush(stdout);
    }
}

static void measure_start(pid_t pid, int64_t begin)
{
    while (atomic_load(&shared->first_status_ns) == 0)
        usleep(200);
    struct usage u = usage_of(pid);
    printf("first status after %.3f s (0.1 s of it the interval), %.3f CPU s, %.1f MiB resident "
           "(peak %.1f)\n",
           (double)(atomic_load(&shared->first_status_ns) - begin) / 1e9, u.cpu_s, u.resident_mib,
           u.peak_mib);
}

static void read_arguments(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--containers") == 0 && i + 1 < argc)
            settings.containers = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--pods-per-vpa") == 0 && i + 1 < argc)
            settings.pods_per_vpa = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--passes") == 0 && i + 1 < argc)
            settings.passes = atoi(argv[++i]);
        else if (strcmp(argv[i], "--idle") == 0)
            settings.idle = true;
        else if (strcmp(argv[i], "--start") == 0)
            settings.start = true;
    }
    settings.vpas = (settings.containers + settings.pods_per_vpa - 1) / settings.pods_per_vpa;
}

int main(int argc, char **argv)
{
    char kubeconfig[] = "/tmp/plumb-bench-XXXXXX";
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    int fd = mkstemp(kubeconfig);

    if (len < 0 || fd < 0)
        return 1;
    self[len] = '\0';
    read_arguments(argc, argv);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    pid_t stub = fork();
    if (stub == 0)
        run_stub();
    while (atomic_load(&shared->port) == 0)
        usleep(1000);
    dprintf(fd,
            "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    server: "
            "http://127.0.0.1:%d\n"
            "contexts:\n- name: c\n  context:\n    cluster: c\n    user: u\nusers:\n- name: u\n  "
            "user: {}\n"
            "current-context: c\n",
            atomic_load(&shared->port));
    close(fd);

    printf("recommender: %zu containers, %zu VPAs%s\n", settings.containers, settings.vpas,
           settings.idle ? ", nothing changes" : "");
    fflush(stdout);
    int64_t begin = monotonic_ns();
    pid_t pid = start_recommender(self, kubeconfig);
    if (settings.start)
        measure_start(pid, begin);
    else
        measure_passes(pid);
    int status = 0;
    int64_t stop = monotonic_ns();
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
    printf("stopped in %.3f s with status %d\n", (double)(monotonic_ns() - stop) / 1e9,
           WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    kill(stub, SIGKILL);
    waitpid(stub, NULL, 0);
    unlink(kubeconfig);
    return 0;
}
