/* vpa-admission-controller: flags, surroundings, and the daemon of admission.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "admission.h"
#include "meters.h"
#include "vpa/base/log.h"
#include "vpa/base/table.h"
#include "vpa/daemon/clock.h"
#include "vpa/daemon/observe.h"
#include "vpa/daemon/seed.h"

#define EXIT_USAGE 2
#define EXIT_FATAL 255
#define HOST_NAME_MAX_LEN 256

static struct vpa_clock *log_clock;

static int64_t log_time(void)
{
    return vpa_time_unix_nanos(vpa_clock_now(log_clock));
}

static void on_signal(void *ctx, int number)
{
    VPA_INFO("Stopping", VPA_KV("signal", number));
    vpa_loop_stop(ctx);
}

static int fail(int status, const char *message, const struct vpa_error *err)
{
    VPA_ERROR(message, VPA_KERR(err));
    return status;
}

/* With a client that works: the daemon itself. */
static int run_with_client(const struct admission_config *config, struct vpa_loop *loop,
                           struct vpa_observe *observe, struct vpa_kube_client *client)
{
    const char *ns = getenv("NAMESPACE");
    char host_name[HOST_NAME_MAX_LEN] = "";

    if (gethostname(host_name, sizeof(host_name) - 1) < 0) {
        VPA_ERROR("Unable to get hostname");
        return 1;
    }
    struct admission *admission = admission_new(&(struct admission_options){
        .config = config,
        .loop = loop,
        .client = client,
        .ns = ns ? ns : "",
        .host_name = host_name,
        .observe = observe,
    });
    int status = admission_run(admission);
    admission_free(admission);
    return status;
}

static int run_connected(const struct admission_config *config, struct vpa_loop *loop,
                         struct vpa_observe *observe, struct vpa_kube_config *kube_config,
                         struct vpa_error *err)
{
    struct vpa_transport *transport = vpa_kube_connect(loop, kube_config, err);
    struct vpa_random random;

    if (!transport)
        return fail(EXIT_FATAL, "Failed to create the API client", err);
    vpa_random_init(&random, vpa_seed_from_kernel());
    vpa_hash_seed(vpa_random_next(&random));
    struct vpa_kube_client *client = vpa_kube_client_new(
        &(struct vpa_kube_client_options){
            .loop = loop,
            .transport = transport,
            .config = kube_config,
            .random = &random,
            .user_agent = "vpa-admission-controller/" PLUMB_VERSION " (linux)",
            .qps = config->common.kube_api_qps,
            .burst = (int64_t)config->common.kube_api_burst,
        },
        err);
    int status = client ? run_with_client(config, loop, observe, client)
                        : fail(EXIT_FATAL, "Failed to create the API client", err);
    vpa_kube_client_free(client);
    vpa_transport_free(transport);
    return status;
}

/* From the metrics listener on. */
static int run(const struct admission_config *config, struct vpa_loop *loop)
{
    static const int signals[] = {SIGTERM, SIGINT};
    struct vpa_error err;

    if (vpa_loop_on_signals(loop, signals, VPA_COUNT(signals), on_signal, loop, &err) < 0)
        return fail(1, "Cannot handle signals", &err);
    struct vpa_observe *observe = vpa_observe_new(loop,
                                                  &(struct vpa_observe_options){
                                                      .address = config->common.address,
                                                      .metrics = admission_metrics,
                                                      .metric_count = admission_metric_count,
                                                      .health_timeout = VPA_MINUTE,
                                                  },
                                                  &err);
    if (!observe)
        return fail(1, "Failed to start metrics", &err);

    struct vpa_kube_config *kube_config = vpa_kube_config_load(config->common.kubeconfig, &err);
    int status = kube_config
                     ? run_connected(config, loop, observe, kube_config, &err)
                     : fail(EXIT_FATAL,
                            config->common.kubeconfig[0] ? "Failed to build kubeconfig from file"
                                                         : "Failed to create config",
                            &err);
    vpa_kube_config_free(kube_config);
    vpa_observe_free(observe);
    return status;
}

int main(int argc, char **argv)
{
    struct admission_config config;
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &config};
    vpa_auto_arena arena = {0};
    vpa_auto_buf text = {0};
    struct vpa_error err;
    int status;

    vpa_buf_init(&text, 1 << 20);
    status = vpa_flags_start(&flags, &arena, argc, argv, &text);
    if (status >= 0) {
        fputs(vpa_buf_text(&text), stderr);
        return status;
    }

    log_clock = vpa_clock_new_from_env(&err);
    if (!log_clock) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    if (vpa_common_flags_apply(&config.common, log_time, &err) < 0) {
        status = fail(EXIT_USAGE, "Cannot set up the log", &err);
    } else if (admission_config_check(&config, &status, &err) < 0) {
        VPA_ERROR(err.text);
    } else {
        vpa_flags_log(&flags);
        VPA_V(1, "Starting Vertical Pod Autoscaler Admission Controller",
              VPA_KV("version", PLUMB_VERSION));
        struct vpa_loop *loop = vpa_loop_new(log_clock);
        status = run(&config, loop);
        vpa_loop_free(loop);
    }
    vpa_clock_free(log_clock);
    return status;
}
