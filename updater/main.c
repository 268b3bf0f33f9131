/*
 * vpa-updater: flags, wiring, one loop.
 *
 * Order of start: flags, the plain listener (probes pass while the rest waits), the lease when
 * electing, caches, then a pass per interval. SIGTERM and SIGINT end the request in hand, give the
 * lease back and exit 0 within five seconds.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "updater.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/daemon/clock.h"
#include "vpa/daemon/seed.h"
#include "vpa/kube/config.h"
#include "vpa/kube/elector.h"
#include "vpa/daemon/observe.h"
#include "vpa/base/random.h"

#define EXIT_USAGE 2
#define EXIT_FATAL 255 /* what upstream's fatal log lines end with */
#define HEALTH_PASSES 5
#define FLUSH_PATIENCE VPA_SECOND
#define RELEASE_PATIENCE VPA_SECOND

struct daemon {
    struct updater_config config;
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_random random;
    struct vpa_observe *observe;
    struct vpa_kube_config *kube_config;
    struct vpa_transport *transport;
    struct vpa_kube_client *lease_client;
    struct vpa_elector *elector;
    struct updater *updater;
    int exit_status;
};

static struct vpa_clock *log_clock_source;

static int64_t log_clock(void)
{
    return vpa_time_unix_nanos(vpa_clock_now(log_clock_source));
}

static void on_signal(void *ctx, int signal_number)
{
    struct daemon *d = ctx;

    VPA_INFO("Shutting down", VPA_KV("signal", signal_number));
    vpa_loop_stop(d->loop);
}

static void on_pass(void *ctx)
{
    struct daemon *d = ctx;

    vpa_observe_activity(d->observe);
}

static void on_lost(void *ctx)
{
    struct daemon *d = ctx;

    vpa_log_text(VPA_LOG_FATAL, __FILE__, __LINE__, "lost master");
    d->exit_status = EXIT_FATAL;
    vpa_loop_stop(d->loop);
}

/* While the lease is in doubt nothing is changed, although the end of leadership comes later. */
static bool may_act(void *ctx)
{
    const struct daemon *d = ctx;

    return !d->elector || vpa_elector_is_leader(d->elector);
}

/* Logs the reason and keeps the exit status; returns -1. */
static int give_up(struct daemon *d, int exit_status, const char *message,
                   const struct vpa_error *err)
{
    VPA_ERROR(message, VPA_KERR(err));
    d->exit_status = exit_status;
    return -1;
}

static int start_listener(struct daemon *d, struct vpa_error *err)
{
    vpa_duration patience = HEALTH_PASSES * d->config.interval;

    d->observe = vpa_observe_new(d->loop,
                                 &(struct vpa_observe_options){
                                     .address = d->config.common.address,
                                     .metrics = updater_metrics,
                                     .metric_count = updater_metric_count,
                                     .health_timeout = patience,
                                 },
                                 err);
    return d->observe ? 0 : give_up(d, 1, "Failed to start metrics", err);
}

static int connect_server(struct daemon *d, struct vpa_error *err)
{
    const char *path = d->config.common.kubeconfig;

    d->kube_config = vpa_kube_config_load(path, err);
    if (d->kube_config)
        d->transport = vpa_kube_connect(d->loop, d->kube_config, err);
    if (d->transport)
        return 0;
    vpa_auto_free char *text = vpa_xprintf(
        "%s: %s", *path ? "Failed to build kubeconfig from file" : "Failed to create config",
        err->text);

    vpa_log_text(VPA_LOG_FATAL, __FILE__, __LINE__, text);
    d->exit_status = EXIT_FATAL;
    return -1;
}

/* Waits for the lease. The lease has a client, and so a rate limit, of its own. */
static int campaign(struct daemon *d, struct vpa_error *err)
{
    const struct vpa_leader_flags *flags = &d->config.leader;

    d->lease_client = vpa_kube_client_new(
        &(struct vpa_kube_client_options){.loop = d->loop,
                                          .transport = d->transport,
                                          .config = d->kube_config,
                                          .random = &d->random,
                                          .user_agent = "vpa-updater/" PLUMB_VERSION
                                                        " (linux/amd64) leader-election",
                                          .qps = 0,
                                          .burst = 0},
        err);
    if (!d->lease_client)
        return give_up(d, 2, "Unable to create leader election client", err);
    d->elector = vpa_leader_elector_new(
        flags, &d->random,
        &(struct vpa_elector_options){.client = d->lease_client, .ctx = d, .on_lost = on_lost},
        err);
    if (!d->elector)
        return give_up(d, 1, "Unable to get hostname", err);
    return vpa_elector_campaign(d->elector);
}

static int start_updater(struct daemon *d, struct vpa_error *err)
{
    struct updater_options options = {
        .loop = d->loop,
        .transport = d->transport,
        .kube_config = d->kube_config,
        .random = &d->random,
        .config = &d->config,
        .on_pass = on_pass,
        .may_act = may_act,
        .ctx = d,
    };

    d->updater = updater_new(&options, err);
    if (!d->updater)
        return give_up(d, 2, "Unable to create the API client", err);
    updater_start(d->updater);
    if (updater_wait(d->updater, 0, err) < 0) {
        if (vpa_loop_is_stopping(d->loop))
            return -1; /* told to stop while waiting */
        return give_up(d, 1, "Could not sync caches", err);
    }
    vpa_observe_arm(d->observe);
    updater_run(d->updater);
    return 0;
}

static int start(struct daemon *d, struct vpa_error *err)
{
    static const int signals[] = {SIGTERM, SIGINT};

    if (vpa_loop_on_signals(d->loop, signals, VPA_COUNT(signals), on_signal, d, err) < 0)
        return give_up(d, 1, "Unable to handle signals", err);
    if (start_listener(d, err) < 0 || connect_server(d, err) < 0)
        return -1;
    if (d->config.leader.elect && campaign(d, err) < 0)
        return -1;
    return start_updater(d, err);
}

static void shut_down(struct daemon *d)
{
    vpa_loop_resume(d->loop);
    if (d->updater && d->exit_status == 0)
        updater_flush(d->updater, FLUSH_PATIENCE);
    updater_free(d->updater);
    if (d->elector && d->exit_status == 0)
        vpa_elector_release(d->elector, RELEASE_PATIENCE);
    vpa_elector_free(d->elector);
    vpa_kube_client_free(d->lease_client);
    vpa_transport_free(d->transport);
    vpa_kube_config_free(d->kube_config);
    vpa_observe_free(d->observe);
}

static int run(struct daemon *d, const struct vpa_flags *flags)
{
    struct vpa_error err;

    d->clock = vpa_clock_new_from_env(&err);
    if (!d->clock) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    log_clock_source = d->clock;
    if (vpa_common_flags_apply(&d->config.common, log_clock, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return EXIT_USAGE;
    }
    vpa_flags_log(flags);
    VPA_V(1, "Vertical Pod Autoscaler Updater", VPA_KV("version", PLUMB_VERSION));
    d->loop = vpa_loop_new(d->clock);
    vpa_random_init(&d->random, vpa_seed_from_kernel());
    vpa_hash_seed(vpa_random_next(&d->random));
    if (start(d, &err) == 0)
        vpa_loop_run(d->loop);
    shut_down(d);
    vpa_loop_free(d->loop);
    return d->exit_status;
}

int main(int argc, char **argv)
{
    static struct daemon daemon;
    const struct vpa_flags flags = {
        .rows = updater_flag_rows, .count = updater_flag_count, .values = &daemon.config};
    struct vpa_metrics metrics = {.table = updater_metrics, .count = updater_metric_count};
    vpa_auto_arena arena = {0};
    vpa_auto_buf text = {0};
    struct vpa_error err;
    int status;

    vpa_buf_init(&text, (size_t)1 << 20);
    status = vpa_flags_start(&flags, &arena, argc, argv, &text);
    if (status >= 0) {
        fputs(vpa_buf_text(&text), stderr);
        return status;
    }
    if (updater_config_check(&daemon.config, &status, &err) < 0) {
        vpa_log_write(VPA_LOG_ERROR, __FILE__, __LINE__, err.text, NULL, 0);
        return status;
    }
    status = run(&daemon, &flags);
    vpa_metrics_release(&metrics);
    vpa_clock_free(daemon.clock);
    return status;
}
