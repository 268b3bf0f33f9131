/*
 * The recommender as a whole process against a stub API server: resident memory, CPU and API calls
 * per pass, time from the start to the first status.
 *
 *     bench_recommender [--containers N] [--pods-per-vpa N] [--passes N] [--idle] [--start]
 *                       [--standby] [--own-labels]
 *
 * One container per pod, ten pods per VPA unless said otherwise, usage that changes every pass
 * (--idle: that does not). The stub is stub_cluster.h. --start: checkpoints
 * exist before the recommender does, and the time to the first status is what is wanted.
 * --standby: it leads, and a standby is in step; renewals of its own Lease are not counted.
 * --own-labels: each pod has a label that no other has, as those of StatefulSets do.
 * Calls and their bytes, TLS included, are as the stub counts them.
 * BENCH_LOG=--v=3 in the environment shows the recommender's log.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measured.h"
#include "stub_cluster.h"
#include "vpa/base/mem.h"

#define INTERVAL_S 10

struct settings {
    struct stub_cluster_settings cluster;
    int passes;
    bool standby;
};

static struct settings settings = {.cluster = {.containers = 10000, .pods_per_vpa = 10},
                                   .passes = 4};
static struct stub_cluster *shared;
static struct stub stub;

/* ---- the measured process ---- */

static pid_t start_recommender(const struct measured_kubeconfig *kubeconfig)
{
    return measured_start(
        "vpa-recommender", kubeconfig,
        (const char *const[]){settings.cluster.checkpoints ? "--recommender-interval=100ms"
                                                           : "--recommender-interval=10s",
                              "--kube-api-qps=100000", "--kube-api-burst=100000",
                              settings.standby ? "--leader-elect=true" : "--leader-elect=false",
                              "--checkpoint-interval=100s", /* ten passes */
                              "--address=127.0.0.1:0", "--v=1", NULL});
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
        struct measured_usage before = measured_usage_of(pid);
        uint_fast64_t calls = atomic_load(&shared->calls);
        uint_fast64_t statuses_before = atomic_load(&shared->statuses);
        uint_fast64_t checkpoints_before = atomic_load(&shared->checkpoints);
        uint_fast64_t bytes_before = atomic_load(&shared->checkpoint_bytes);
        uint_fast64_t received_before = atomic_load(stub.received);

        sleep_until_pass(3 + (uint_fast64_t)i);
        usleep((useconds_t)(INTERVAL_S * 800000));
        struct measured_usage after = measured_usage_of(pid);
        uint_fast64_t checkpoints = atomic_load(&shared->checkpoints) - checkpoints_before;
        printf("pass %d: %6.3f CPU s, %6.1f MiB resident (peak %.1f), %" PRIuFAST64
               " calls of %.2f MB (%" PRIuFAST64 " statuses, %" PRIuFAST64
               " checkpoints of %" PRIuFAST64 " bytes)\n",
               i + 1, after.cpu_s - before.cpu_s, after.resident_mib, after.peak_mib,
               atomic_load(&shared->calls) - calls,
               (double)(atomic_load(stub.received) - received_before) / 1e6,
               atomic_load(&shared->statuses) - statuses_before, checkpoints,
               checkpoints ? (atomic_load(&shared->checkpoint_bytes) - bytes_before) / checkpoints
                           : 0);
        fflush(stdout);
    }
}

static void measure_start(pid_t pid, int64_t begin)
{
    while (atomic_load(&shared->first_status_ns) == 0)
        usleep(200);
    struct measured_usage u = measured_usage_of(pid);
    printf("first status after %.3f s (0.1 s of it the interval), %.3f CPU s, %.1f MiB resident "
           "(peak %.1f)\n",
           (double)(atomic_load(&shared->first_status_ns) - begin) / 1e9, u.cpu_s, u.resident_mib,
           u.peak_mib);
}

static void read_arguments(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--containers") == 0 && i + 1 < argc)
            settings.cluster.containers = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--pods-per-vpa") == 0 && i + 1 < argc)
            settings.cluster.pods_per_vpa = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--passes") == 0 && i + 1 < argc)
            settings.passes = atoi(argv[++i]);
        else if (strcmp(argv[i], "--idle") == 0)
            settings.cluster.idle = true;
        else if (strcmp(argv[i], "--start") == 0)
            settings.cluster.checkpoints = true;
        else if (strcmp(argv[i], "--own-labels") == 0)
            settings.cluster.own_labels = true;
        else if (strcmp(argv[i], "--standby") == 0)
            settings.standby = true;
    }
    settings.cluster.vpas = (settings.cluster.containers + settings.cluster.pods_per_vpa - 1) /
                            settings.cluster.pods_per_vpa;
}

int main(int argc, char **argv)
{
    struct measured_kubeconfig kubeconfig;
    double seconds;
    read_arguments(argc, argv);
    shared = stub_cluster_start(&settings.cluster, &stub);
    if (!measured_kubeconfig_write(&kubeconfig, &stub))
        return 1;

    printf("recommender: %zu containers, %zu VPAs%s\n", settings.cluster.containers,
           settings.cluster.vpas, settings.cluster.idle ? ", nothing changes" : "");
    fflush(stdout);
    int64_t begin = measured_now_ns();
    pid_t pid = start_recommender(&kubeconfig);
    if (settings.cluster.checkpoints)
        measure_start(pid, begin);
    else
        measure_passes(pid);
    int status = measured_stop(pid, &seconds);
    printf("stopped in %.3f s with status %d\n", seconds, status);
    stub_stop(&stub);
    unlink(kubeconfig.path);
    return 0;
}
