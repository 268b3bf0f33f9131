/*
 * The updater as a whole process against a stub API server: CPU and wall time per eviction and per
 * resize, resident memory, and how long a thousand evictions take at a given request rate.
 *
 *     bench_updater [--vpas N] [--pods-per-vpa N] [evict] [resize] [rate]
 *
 *     evict    mode Recreate, no rate limit, no proofs, all pods may go at once
 *     resize   mode InPlaceOrRecreate, no rate limit, all pods may be resized at once
 *     rate     one eviction per VPA at --kube-api-qps=100 --kube-api-burst=200
 *
 * 1,000 VPAs with ten pods unless said otherwise. The stub (stub_server.h) is a process of its own
 * and does what a server does: an evicted pod goes from the watch and another comes, a resized one
 * comes through the watch as it is now, after the resize and again after its annotations; events
 * are taken. A pass begins with the reading of the webhook's status Lease, which starts the clock;
 * it stops with the answer to the last eviction or resize, and for the CPU time when the last event
 * has come as well.
 *
 * BENCH_LOG=--v=3 in the environment shows the updater's log.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measured.h"
#include "stub_objects.h"
#include "stub_server.h"
#include "vpa/base/mem.h"

#define PATIENCE_NS (60 * (int64_t)1000000000)

/* ---- what is measured ---- */

enum kind { EVICT, RESIZE, RATE, KINDS };

static const struct {
    const char *name;
    const char *mode;
    const char *interval; /* longer than the pass takes */
    const char *tolerance;
    const char *const limits[3];
} kinds[KINDS] = {
    {"evict",
     "Recreate",
     "--updater-interval=4s",
     "--eviction-tolerance=1",
     {"--kube-api-qps=-1", "--prove-evictions=off"}},
    {"resize",
     "InPlaceOrRecreate",
     "--updater-interval=4s",
     "--eviction-tolerance=1",
     {"--kube-api-qps=-1", "--prove-evictions=off"}},
    {"rate",
     "Recreate",
     "--updater-interval=15s",
     "--eviction-tolerance=0.1",
     {"--kube-api-qps=100", "--kube-api-burst=200"}},
};

struct settings {
    size_t vpas;
    size_t pods_per_vpa;
    enum kind kind;
};

struct shared { /* with the stub's process */
    atomic_uint_fast64_t evictions, resizes, annotations, events;
    atomic_int_fast64_t begun_ns; /* the Lease was read */
    atomic_int_fast64_t last_ns;  /* the last eviction or resize of the first pass */
};

static struct settings settings = {.vpas = 1000, .pods_per_vpa = 10};
static struct shared *shared;

static size_t pod_count(void)
{
    return settings.vpas * settings.pods_per_vpa;
}

/* ---- texts ---- */

/* Of the pods and, behind them, of those that replace them. */
struct pod_state {
    bool right_size;
    bool annotated;
};
static struct pod_state *states;

static void put_pod(struct vpa_buf *b, size_t i)
{
    static const char small[] = "{\"requests\":{\"cpu\":\"500m\",\"memory\":\"256Mi\"},"
                                "\"limits\":{\"cpu\":\"1\",\"memory\":\"512Mi\"}}";
    static const char right[] = "{\"requests\":{\"cpu\":\"2\",\"memory\":\"256Mi\"},"
                                "\"limits\":{\"cpu\":\"4\",\"memory\":\"512Mi\"}}";
    const char *resources = states[i].right_size ? right : small;
    size_t first = i % pod_count();

    stub_put_pod(b,
                 &(struct stub_pod){
                     .vpa = first / settings.pods_per_vpa,
                     .number = i,
                     .place = first,
                     .version = stub_version(),
                     .annotations = states[i].annotated ? "{\"vpaInPlaceUpdated\":\"true\"}" : "{}",
                     .resources = resources,
                     .status_resources = resources,
                 });
}

static void put_vpa(struct vpa_buf *b, size_t i)
{
    static const char status[] =
        "{\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
        "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}],\"recommendation\":{"
        "\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{\"cpu\":\"2\","
        "\"memory\":\"256Mi\"},\"lowerBound\":{\"cpu\":\"1\",\"memory\":\"128Mi\"},"
        "\"upperBound\":{\"cpu\":\"8\",\"memory\":\"1Gi\"},\"uncappedTarget\":{\"cpu\":\"2\","
        "\"memory\":\"256Mi\"}}]}}";

    stub_put_vpa(b, &(struct stub_vpa){.number = i,
                                       .version = stub_version(),
                                       .mode = kinds[settings.kind].mode,
                                       .status = status});
}

static void put_deployment(struct vpa_buf *b, size_t i)
{
    stub_put_deployment(b, i, settings.pods_per_vpa);
}

static void put_replica_set(struct vpa_buf *b, size_t i)
{
    stub_put_replica_set(b, i, settings.pods_per_vpa);
}

static void put_nothing(struct vpa_buf *b, size_t i)
{
    (void)b;
    (void)i;
}

/* ---- the stub ---- */

static void send_pod(const char *type, size_t i)
{
    vpa_auto_buf object = VPA_BUF(STUB_TEXT_MAX);

    stub_next_version();
    put_pod(&object, i);
    stub_send_event("/pods", type, vpa_buf_text(&object));
}

static size_t pod_of(const char *target)
{
    const char *name = strstr(target, "-7d4b9c6f5d-");
    size_t i = name ? (size_t)strtoul(name + strlen("-7d4b9c6f5d-"), NULL, 10) : 0;

    return i < 2 * pod_count() ? i : 0;
}

/* At a rate the daemon evicts only one pod of each VPA in a pass. */
static size_t actions_wanted(void)
{
    return settings.kind == RATE ? settings.vpas : pod_count();
}

/* Those of a later pass do not count. */
static void note_action(atomic_uint_fast64_t *counter)
{
    if (atomic_fetch_add(counter, 1) < actions_wanted())
        atomic_store(&shared->last_ns, measured_now_ns());
}

static void answer_eviction(struct stub_call *c, size_t i)
{
    static const char done[] =
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\","
        "\"code\":201}";

    note_action(&shared->evictions);
    stub_answer(c, 201, done, strlen(done));
    send_pod("DELETED", i);
    if (i < pod_count())
        send_pod("ADDED", i + pod_count());
}

static void answer_patched(struct stub_call *c, size_t i)
{
    vpa_auto_buf pod = VPA_BUF(STUB_TEXT_MAX);

    send_pod("MODIFIED", i);
    put_pod(&pod, i);
    stub_answer(c, 200, vpa_buf_text(&pod), pod.len);
}

static void answer_lease(struct stub_call *c)
{
    vpa_auto_buf lease = VPA_BUF(STUB_TEXT_MAX);
    struct timespec now;
    struct tm tm;
    int_fast64_t none = 0;

    atomic_compare_exchange_strong(&shared->begun_ns, &none, measured_now_ns());
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    vpa_buf_printf(&lease,
                   "{\"metadata\":{\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{"
                   "\"renewTime\":\"%04d-%02d-%02dT%02d:%02d:%02d.000000Z\"}}",
                   tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    stub_answer(c, 200, vpa_buf_text(&lease), lease.len);
}

static void answer_write(struct stub_call *c, const char *target)
{
    size_t i = pod_of(target);

    if (strstr(target, "/events")) {
        atomic_fetch_add(&shared->events, 1);
        stub_answer(c, 201, "{}", 2);
    } else if (strstr(target, "/eviction")) {
        answer_eviction(c, i);
    } else if (strstr(target, "/resize")) {
        note_action(&shared->resizes);
        states[i].right_size = true;
        answer_patched(c, i);
    } else {
        atomic_fetch_add(&shared->annotations, 1);
        states[i].annotated = true;
        answer_patched(c, i);
    }
}

static void dispatch(struct stub_call *c, const struct stub_request *request)
{
    const char *target = request->target;

    if (strcmp(request->method, "GET") != 0)
        answer_write(c, target);
    else if (strstr(target, "watch="))
        stub_start_watch(c, strstr(target, "/pods") ? "/pods" : "/others");
    else if (strstr(target, "/leases/"))
        answer_lease(c);
    else if (strstr(target, "/pods"))
        stub_answer_list(c, target, pod_count(), put_pod);
    else if (strstr(target, "/deployments"))
        stub_answer_list(c, target, settings.vpas, put_deployment);
    else if (strstr(target, "/replicasets"))
        stub_answer_list(c, target, settings.vpas, put_replica_set);
    else if (strstr(target, "/verticalpodautoscalers"))
        stub_answer_list(c, target, settings.vpas, put_vpa);
    else
        stub_answer_list(c, target, 0, put_nothing);
}

static void prepare(void)
{
    states = vpa_xcalloc(2 * pod_count(), sizeof(*states));
    for (size_t i = pod_count(); i < 2 * pod_count(); i++)
        states[i].right_size = true;
}

/* ---- measuring ---- */

static uint_fast64_t actions_done(void)
{
    return atomic_load(settings.kind == RESIZE ? &shared->resizes : &shared->evictions);
}

/* Until `count` stands at `want`; false when that takes too long. */
static bool wait_for(uint_fast64_t (*count)(void), uint_fast64_t want)
{
    int64_t until = measured_now_ns() + PATIENCE_NS;

    while (count() < want) {
        if (measured_now_ns() > until) {
            fprintf(stderr, "bench_updater: %" PRIuFAST64 " of %" PRIuFAST64 " came\n", count(),
                    want);
            return false;
        }
        usleep(1000);
    }
    return true;
}

static uint_fast64_t pass_begun(void)
{
    return atomic_load(&shared->begun_ns) != 0;
}

/* How many events come is not known before: the recorder drops those that come too fast. */
static void wait_for_quiet(void)
{
    uint_fast64_t before;

    do {
        before = atomic_load(&shared->events) + atomic_load(&shared->annotations);
        usleep(300000);
    } while (before != atomic_load(&shared->events) + atomic_load(&shared->annotations));
}

static bool measure(pid_t pid)
{
    size_t want = actions_wanted();
    struct measured_usage before, after;

    usleep(2500000); /* the caches are full, the first pass is still to come */
    before = measured_usage_of(pid);
    if (!wait_for(pass_begun, 1) || !wait_for(actions_done, want))
        return false;
    if (settings.kind != RATE) /* there events wait for their turn into the next pass */
        wait_for_quiet();
    after = measured_usage_of(pid);

    double wall = (double)(atomic_load(&shared->last_ns) - atomic_load(&shared->begun_ns)) / 1e9;
    double cpu = after.cpu_s - before.cpu_s;

    printf("%-6s %6zu of %zu pods, %zu VPAs: each %6.3f ms CPU, %6.3f ms; pass %6.2f s; %5.1f MiB "
           "resident before, %5.1f after, %5.1f at most; %" PRIuFAST64 " annotation patches, "
           "%" PRIuFAST64 " events\n",
           kinds[settings.kind].name, want, pod_count(), settings.vpas, 1e3 * cpu / (double)want,
           1e3 * wall / (double)want, wall, before.resident_mib, after.resident_mib, after.peak_mib,
           atomic_load(&shared->annotations), atomic_load(&shared->events));
    fflush(stdout);
    return true;
}

static bool run(enum kind kind)
{
    struct measured_kubeconfig kubeconfig;
    struct stub stub;
    double seconds;
    bool ok;

    settings.kind = kind;
    memset(shared, 0, sizeof(*shared));

    stub_start(&stub, prepare, dispatch);
    ok = measured_kubeconfig_write(&kubeconfig, &stub);
    if (ok) {
        pid_t pid =
            measured_start("vpa-updater", &kubeconfig,
                           (const char *const[]){
                               kinds[kind].interval, kinds[kind].tolerance, "--address=127.0.0.1:0",
                               "--v=0", kinds[kind].limits[0], kinds[kind].limits[1], NULL});

        ok = measure(pid);
        if (measured_stop(pid, &seconds) != 0)
            ok = false;
        unlink(kubeconfig.path);
    }
    stub_stop(&stub);
    return ok;
}

int main(int argc, char **argv)
{
    bool wanted[KINDS] = {false};
    bool any = false, ok = true;
    double load = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--vpas") == 0 && i + 1 < argc)
            settings.vpas = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--pods-per-vpa") == 0 && i + 1 < argc)
            settings.pods_per_vpa = strtoul(argv[++i], NULL, 10);
        for (size_t k = 0; k < KINDS; k++) {
            if (strcmp(argv[i], kinds[k].name) == 0)
                any = wanted[k] = true;
        }
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || settings.vpas == 0 || settings.pods_per_vpa == 0)
        return 1;
    (void)getloadavg(&load, 1);
    printf("updater: %zu VPAs with %zu pods each, load %.1f\n", settings.vpas,
           settings.pods_per_vpa, load);
    fflush(stdout);
    for (size_t k = 0; k < KINDS; k++) {
        if ((wanted[k] || !any) && !run((enum kind)k))
            ok = false;
    }
    return ok ? 0 : 1;
}
