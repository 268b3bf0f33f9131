/* fakelet: flags and wiring. What it does is told in fakelet.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fakelet.h"
#include "vpa/base/flags.h"
#include "vpa/base/log.h"
#include "vpa/daemon/clock.h"
#include "vpa/daemon/seed.h"
#include "vpa/kube/config.h"

#define ROW(KIND, NAME, FIELD, ...)                                                                \
    VPA_FLAG_##KIND(NAME, struct fakelet_options, FIELD, __VA_ARGS__)
static const struct vpa_flag rows[] = {
    ROW(STRING, "kubeconfig", kubeconfig, "", "How to reach the API server."),
    ROW(STRING, "traces", traces, "test/traces/data", "Folder of the recordings (NAME.csv)."),
    ROW(INT, "nodes", node_count, 3, "Number of nodes."),
    ROW(STRING, "node-prefix", node_prefix, "node-", "Names of the nodes: this and a number."),
    ROW(QUANTITY, "node-cpu", node_cpu, "Allocatable cpu of each node (16 when not given)."),
    ROW(QUANTITY, "node-memory", node_memory,
        "Allocatable memory of each node (64Gi when not given)."),
    ROW(INT, "node-pods", node_pods, 1000, "Allocatable pods of each node."),
    ROW(DURATION, "tick", tick, VPA_SECOND,
        "Shortest step of the pods, in cluster time; with fast time steps are at least 20 ms "
        "long."),
    ROW(DURATION, "metric-resolution", resolution, 15 * VPA_SECOND,
        "Interval of the served usage."),
    ROW(STRING, "metrics-address", metrics_address, "127.0.0.1:0",
        "Where metrics.k8s.io is served."),
    ROW(STRING, "tls-cert-file", tls_cert, "", "Certificate for it; plain HTTP when empty."),
    ROW(STRING, "tls-private-key-file", tls_key, "", "Its key."),
    ROW(STRING, "record", record, "",
        "File for the served samples: namespace pod container seconds cpu-nanocores memory-KiB."),
};

#define SHORTEST_REAL_STEP (20 * VPA_MILLISECOND)

/* Late ticks do not shift those that follow. */
static void on_tick(void *ctx)
{
    struct fakelet *f = ctx;
    vpa_duration step = f->options.tick;
    int64_t now;

    pods_step(f, vpa_loop_now(f->loop));
    while (f->clock->real_wait(f->clock, step) < SHORTEST_REAL_STEP && step < VPA_MINUTE)
        step *= 2;
    now = vpa_loop_monotonic(f->loop);
    f->next_tick += ((now - f->next_tick) / step + 1) * step;
    vpa_timer_start(f->timer, f->next_tick - now);
}

static void on_signal(void *ctx, int signal_number)
{
    (void)signal_number;
    vpa_loop_stop(((struct fakelet *)ctx)->loop);
}

static int run(struct fakelet *f, struct vpa_error *err)
{
    static const int signals[] = {SIGTERM, SIGINT};

    if (vpa_loop_on_signals(f->loop, signals, VPA_COUNT(signals), on_signal, f, err) < 0 ||
        nodes_register(f, err) < 0 || metrics_start(f, err) < 0 || pods_start(f, err) < 0)
        return -1;
    f->timer = vpa_timer_new(f->loop, on_tick, f);
    f->next_tick = vpa_loop_monotonic(f->loop);
    vpa_timer_start(f->timer, 0);
    vpa_loop_run(f->loop);
    return 0;
}

static void release(struct fakelet *f)
{
    vpa_timer_free(f->timer);
    atomic_store(&f->stopping, true);
    vpa_http_server_free(f->metrics);
    pods_release(f);
    for (size_t i = 0; i < f->node_count; i++)
        free(f->nodes[i].name);
    free(f->nodes);
    traces_free(f->traces);
    if (f->record_fd >= 0)
        close(f->record_fd);
}

static int connect_and_run(struct fakelet *f, struct vpa_clock *clock, struct vpa_error *err)
{
    struct vpa_random random;
    struct vpa_kube_config *config = vpa_kube_config_load(f->options.kubeconfig, err);
    int rc = -1;

    if (!config)
        return vpa_wrap(err, "kubeconfig");
    vpa_random_init(&random, vpa_seed_from_kernel());
    f->clock = clock;
    f->loop = vpa_loop_new(clock);
    struct vpa_transport *transport = vpa_kube_connect(f->loop, config, err);
    if (transport) {
        const struct vpa_kube_client_options options = {.loop = f->loop,
                                                        .transport = transport,
                                                        .config = config,
                                                        .random = &random,
                                                        .user_agent = "fakelet/" PLUMB_VERSION,
                                                        .qps = -1};
        f->client = vpa_kube_client_new(&options, err);
        if (f->client)
            rc = run(f, err);
        release(f);
        vpa_kube_client_free(f->client);
    }
    vpa_transport_free(transport);
    vpa_loop_free(f->loop);
    vpa_kube_config_free(config);
    return rc;
}

int main(int argc, char **argv)
{
    struct fakelet f = {.record_fd = -1};
    const struct vpa_flags flags = {.rows = rows, .count = VPA_COUNT(rows), .values = &f.options};
    vpa_auto_arena arena = {0};
    vpa_auto_buf text = VPA_BUF(1 << 20);
    struct vpa_error err;

    int status = vpa_flags_start(&flags, &arena, argc, argv, &text);
    if (status >= 0) {
        fputs(vpa_buf_text(&text), stderr);
        return status;
    }
    if (vpa_quantity_is_zero(&f.options.node_cpu))
        f.options.node_cpu = vpa_quantity_milli(16000);
    if (vpa_quantity_is_zero(&f.options.node_memory))
        f.options.node_memory = vpa_quantity_units((int64_t)64 << 30, VPA_BINARY_SI);
    if (f.options.tick <= 0 || f.options.resolution <= 0 || f.options.node_count < 0 ||
        f.options.node_count > 10000) {
        fputs("fakelet: --tick and --metric-resolution must be positive, --nodes 0 to 10000\n",
              stderr);
        return 2;
    }
    struct vpa_clock *clock = vpa_clock_new_from_env(&err);
    if (!clock) {
        fprintf(stderr, "fakelet: %s\n", err.text);
        return 1;
    }
    f.traces = traces_new(f.options.traces);
    int rc = connect_and_run(&f, clock, &err);
    if (rc < 0) {
        if (err.code == VPA_CANCELLED) {
            rc = 0;
        } else {
            fprintf(stderr, "fakelet: %s\n", err.text);
        }
    }
    vpa_clock_free(clock);
    return rc < 0;
}
