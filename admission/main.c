/* vpa-admission-controller: its table and its wiring. What it does is in admission.c. */
#include <stdlib.h>

#include "admission.h"
#include "meters.h"

#include "vpa/base/str.h"
#include "vpa/daemon/daemon.h"

static struct admission_config config;

static int check(struct vpa_arena *arena, int *exit_status, struct vpa_error *err)
{
    (void)arena;
    if (config.shadow)
        config.register_webhook = false;
    return admission_config_check(&config, exit_status, err);
}

static int run(struct vpa_process *process)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.config = &config,
                                                  .loop = process->loop,
                                                  .client = process->clients[0],
                                                  .ns = vpa_or_empty(getenv("NAMESPACE")),
                                                  .host_name = process->host_name,
                                                  .ledger = process->ledger,
                                                  .observe = process->observe});
    int status = admission_run(admission);

    admission_free(admission);
    return status;
}

static const char *const caches[] = {"verticalpodautoscalers", "limitranges", "configmaps",
                                     "mutatingwebhookconfigurations", NULL};

int main(int argc, char **argv)
{
    const struct vpa_daemon daemon = {
        .program = "vpa-admission-controller",
        .title = "Starting Vertical Pod Autoscaler Admission Controller",
        .flags = {.rows = admission_flag_rows, .count = admission_flag_count, .values = &config},
        .common = &config.common,
        .ledger = &config.ledger,
        .shadow = &config.shadow,
        .metrics = admission_metrics,
        .metric_count = admission_metric_count,
        .start_metrics = meters_start,
        .caches = caches,
        .client_count = 1,
        .check = check,
        .run = run,
    };

    return vpa_daemon_main(&daemon, argc, argv);
}
