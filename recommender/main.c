/*
 * vpa-recommender: flags, log, listener, leader election, signals. What it does is in
 * recommender.c.
 *
 * Exit status: 0 after SIGTERM or SIGINT, 1 for settings and listener, 2 for wrong usage, 255 when
 * the API server's address or credentials cannot be found or leadership was lost.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "metrics.h"
#include "recommender.h"

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/daemon/seed.h"
#include "vpa/kube/elector.h"

#define EXIT_FATAL 255
#define EXIT_USAGE 2
/* SIGTERM: the Lease is given back within this time, so that the whole ends within 5 s. */
#define RELEASE_TIMEOUT (3 * VPA_SECOND)

struct daemon {
    struct recommender_config config;
    struct vpa_arena arena;
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_random random;
    struct vpa_observe *observe;
    struct vpa_kube_config *kube;
    struct vpa_transport *transport;
    struct vpa_kube_client *client;
    struct vpa_kube_client *writer;
    struct vpa_kube_client *metrics;
    struct vpa_kube_client *leases;
    struct vpa_elector *elector;
    struct recommender *recommender;
    int exit_status;
};

/* Virtual time shows in the log when the simulator gives it. */
static struct vpa_clock *log_clock;

static int64_t log_now(void)
{
    return log_clock ? vpa_time_unix_nanos(vpa_clock_now(log_clock)) : 0;
}

static const char *read_env(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static void fail(struct daemon *d, int status, const char *message, const struct vpa_error *err)
{
    if (status == EXIT_FATAL)
        VPA_LOG_(VPA_LOG_FATAL, message, VPA_KERR(err));
    else
        VPA_ERROR(message, VPA_KERR(err));
    d->exit_status = status;
}

static void on_signal(void *ctx, int signal_number)
{
    struct daemon *d = ctx;

    VPA_INFO("Stopping", VPA_KV("signal", signal_number == SIGTERM ? "SIGTERM" : "SIGINT"));
    vpa_loop_stop(d->loop);
}

static void on_lost(void *ctx)
{
    struct daemon *d = ctx;

    VPA_LOG_(VPA_LOG_FATAL, "lost master");
    d->exit_status = EXIT_FATAL;
    vpa_loop_stop(d->loop);
}

/* Settings; -1 to go on, else the exit status. */
static int read_flags(struct daemon *d, int argc, char **argv)
{
    struct vpa_flags flags = recommender_flags(&d->config);
    struct vpa_error err;
    vpa_auto_buf text = {0};
    int status;

    vpa_buf_init(&text, (size_t)1 << 20);
    status = vpa_flags_start(&flags, &d->arena, argc, argv, &text);
    if (status >= 0) {
        fputs(vpa_buf_text(&text), stderr);
        return status;
    }
    d->clock = vpa_clock_new_from_env(&err);
    if (!d->clock) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    log_clock = d->clock;
    if (vpa_common_flags_apply(&d->config.common, log_now, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return EXIT_USAGE;
    }
    vpa_flags_log(&flags);
    if (recommender_config_check(&d->config, read_env, NULL, &d->arena, &status, &err) < 0) {
        VPA_ERROR(err.text);
        return status;
    }
    return -1;
}

static int new_client(struct daemon *d, struct vpa_kube_client **out, struct vpa_error *err)
{
    *out = vpa_kube_client_new(
        &(struct vpa_kube_client_options){.loop = d->loop,
                                          .transport = d->transport,
                                          .config = d->kube,
                                          .random = &d->random,
                                          .user_agent =
                                              "vpa-recommender/" PLUMB_VERSION " (linux/amd64)",
                                          .qps = d->config.common.kube_api_qps,
                                          .burst = (int64_t)d->config.common.kube_api_burst},
        err);
    return *out ? 0 : -1;
}

static int connect_api_server(struct daemon *d)
{
    const char *path = d->config.common.kubeconfig;
    struct vpa_error err;

    d->kube = vpa_kube_config_load(path, &err);
    if (!d->kube) {
        fail(d, EXIT_FATAL,
             *path ? "Failed to build kubeconfig from file" : "Failed to create config", &err);
        return -1;
    }
    d->transport = vpa_kube_connect(d->loop, d->kube, &err);
    if (!d->transport || new_client(d, &d->client, &err) < 0 ||
        new_client(d, &d->writer, &err) < 0 || new_client(d, &d->metrics, &err) < 0 ||
        new_client(d, &d->leases, &err) < 0) {
        fail(d, EXIT_USAGE, "Cannot make a client of the API server", &err);
        return -1;
    }
    return 0;
}

/* Waits until this process leads. -1: stopped or impossible. */
static int become_leader(struct daemon *d)
{
    const struct vpa_leader_flags *flags = &d->config.leader;
    struct vpa_error err;

    if (!flags->elect)
        return 0;
    d->elector = vpa_leader_elector_new(
        flags, &d->random,
        &(struct vpa_elector_options){.client = d->leases, .ctx = d, .on_lost = on_lost}, &err);
    if (!d->elector) {
        fail(d, 1, "Unable to get hostname", &err);
        return -1;
    }
    return vpa_elector_campaign(d->elector);
}

static struct vpa_transport *
connect_prometheus(void *ctx, const struct vpa_http_client_options *options, struct vpa_error *err)
{
    struct daemon *d = ctx;

    return vpa_http_client_new(d->loop, options, err);
}

static void run(struct daemon *d)
{
    struct vpa_error err;

    if (connect_api_server(d) < 0 || become_leader(d) < 0)
        return;
    d->recommender =
        recommender_new(&(struct recommender_options){.loop = d->loop,
                                                      .config = &d->config,
                                                      .client = d->client,
                                                      .writer = d->writer,
                                                      .metrics = d->metrics,
                                                      .observe = d->observe,
                                                      .connect_prometheus = connect_prometheus,
                                                      .connect_ctx = d});
    if (recommender_start(d->recommender, &err) < 0 ||
        recommender_load_history(d->recommender, &err) < 0) {
        if (!vpa_loop_is_stopping(d->loop))
            fail(d, 1, "Recommender controller exited with error", &err);
        return;
    }
    recommender_run(d->recommender, NULL, NULL);
}

static int start_loop(struct daemon *d)
{
    static const int signals[] = {SIGTERM, SIGINT};
    struct vpa_error err;
    size_t metric_count;
    struct vpa_metric *const *metrics = recommender_metrics_table(&metric_count);

    d->loop = vpa_loop_new(d->clock);
    if (vpa_loop_on_signals(d->loop, signals, VPA_COUNT(signals), on_signal, d, &err) < 0) {
        fail(d, 1, "Cannot watch signals", &err);
        return -1;
    }
    d->observe =
        vpa_observe_new(d->loop,
                        &(struct vpa_observe_options){.address = d->config.common.address,
                                                      .metrics = metrics,
                                                      .metric_count = metric_count,
                                                      .health_timeout = 5 * d->config.interval},
                        &err);
    if (!d->observe) {
        fail(d, 1, "Failed to start metrics", &err);
        return -1;
    }
    return 0;
}

static void release(struct daemon *d)
{
    if (d->elector) {
        vpa_loop_resume(d->loop);
        vpa_elector_release(d->elector, RELEASE_TIMEOUT);
        vpa_elector_free(d->elector);
    }
    recommender_free(d->recommender);
    vpa_kube_client_free(d->client);
    vpa_kube_client_free(d->writer);
    vpa_kube_client_free(d->metrics);
    vpa_kube_client_free(d->leases);
    vpa_transport_free(d->transport);
    vpa_kube_config_free(d->kube);
    vpa_observe_free(d->observe);
    if (d->loop)
        vpa_loop_free(d->loop);
    log_clock = NULL;
    if (d->clock)
        vpa_clock_free(d->clock);
    recommender_metrics_reset();
    vpa_arena_release(&d->arena);
}

int main(int argc, char **argv)
{
    struct daemon d = {.exit_status = 0};
    int status = read_flags(&d, argc, argv);

    if (status >= 0) {
        release(&d);
        return status;
    }
    vpa_random_init(&d.random, vpa_seed_from_kernel());
    vpa_hash_seed(vpa_random_next(&d.random));
    VPA_V(1, "Vertical Pod Autoscaler Recommender", VPA_KV("version", PLUMB_VERSION),
          VPA_KV("recommenderName", d.config.name));
    if (start_loop(&d) == 0)
        run(&d);
    else if (d.exit_status == 0)
        d.exit_status = 1;
    release(&d);
    return d.exit_status;
}
