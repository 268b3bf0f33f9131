#include "daemon.h"

#include <stdlib.h>

#include "admission.h"
#include "meters.h"

#include "vpa/base/str.h"

static const char *own_namespace(void)
{
    return vpa_or_empty(getenv("NAMESPACE"));
}

static int check(void *settings, struct vpa_arena *arena, int *exit_status, struct vpa_error *err)
{
    struct admission_config *config = settings;

    (void)arena;
    if (config->shadow)
        config->register_webhook = false;
    if (admission_config_check(config, exit_status, err) < 0)
        return -1;
    if (!config->manage_certificates || *own_namespace())
        return 0;
    *exit_status = 1;
    return vpa_fail(err, VPA_INVALID,
                    "--manage-certificates needs NAMESPACE: set that environment variable to the "
                    "namespace of the pod, where its Secret is kept.");
}

static int run(const void *settings, struct vpa_process *process)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.config = settings,
                                                  .loop = process->loop,
                                                  .client = process->clients[0],
                                                  .ns = own_namespace(),
                                                  .host_name = process->host_name,
                                                  .ledger = process->ledger,
                                                  .observe = process->observe});
    int status = admission_run(admission);

    admission_free(admission);
    return status;
}

static const char *const caches[] = {"verticalpodautoscalers", "limitranges", "configmaps",
                                     "mutatingwebhookconfigurations", NULL};

struct vpa_daemon admission_daemon(struct admission_config *config)
{
    return (struct vpa_daemon){
        .program = "vpa-admission-controller",
        .title = "Starting Vertical Pod Autoscaler Admission Controller",
        .flags = {.rows = admission_flag_rows, .count = admission_flag_count, .values = config},
        .common = &config->common,
        .ledger = &config->ledger,
        .shadow = &config->shadow,
        .metrics = admission_metrics,
        .metric_count = admission_metric_count,
        .start_metrics = meters_start,
        .caches = caches,
        .client_count = 1,
        .check = check,
        .run = run,
    };
}
