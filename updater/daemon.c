#include "daemon.h"

#include <stdlib.h>

#include "updater.h"

#include "vpa/base/log.h"

/* Evictions and resizes; events, whose rate limit must not slow those down. */
enum { OBJECTS, EVENTS, CLIENT_COUNT };

/* At SIGTERM: for events still to be written. */
#define FLUSH_PATIENCE VPA_SECOND

static int check(void *settings, struct vpa_arena *arena, int *exit_status, struct vpa_error *err)
{
    (void)arena;
    return updater_config_check(settings, exit_status, err);
}

static void on_pass(void *ctx)
{
    vpa_observe_activity(((struct vpa_process *)ctx)->observe);
}

static bool is_leading(void *ctx)
{
    return !((const struct vpa_process *)ctx)->standby;
}

/* A standby keeps its caches filled. */
static int wait_for_lead(struct vpa_process *process)
{
    return vpa_loop_wait(process->loop, is_leading, process, INT64_MAX, NULL);
}

static void pass_until_stopped(struct updater *updater, struct vpa_process *process)
{
    vpa_observe_arm(process->observe);
    updater_run(updater);
    vpa_loop_run(process->loop);
    vpa_loop_resume(process->loop);
    if (vpa_process_leads(process))
        updater_flush(updater, FLUSH_PATIENCE);
}

static int run(const void *settings, struct vpa_process *process)
{
    struct updater *updater =
        updater_new(&(struct updater_options){.loop = process->loop,
                                              .client = process->clients[OBJECTS],
                                              .events_client = process->clients[EVENTS],
                                              .config = settings,
                                              .on_pass = on_pass,
                                              .ledger = process->ledger,
                                              .may_act = vpa_process_leads,
                                              .ctx = process});
    struct vpa_error err;
    int status = EXIT_SUCCESS;

    vpa_observe_on_ready(process->observe, updater_is_ready, updater);
    updater_start(updater);
    if (updater_wait(updater, 0, &err) == 0) {
        if (wait_for_lead(process) == 0)
            pass_until_stopped(updater, process);
    } else if (!vpa_loop_is_stopping(process->loop)) {
        VPA_ERROR("Could not sync caches", VPA_KERR(&err));
        status = EXIT_FAILURE;
    }
    vpa_observe_on_ready(process->observe, NULL, NULL);
    updater_free(updater);
    return status;
}

static const char *const caches[] = {"verticalpodautoscalers", "pods", "limitranges", "configmaps",
                                     NULL};

struct vpa_daemon updater_daemon(struct updater_config *config)
{
    return (struct vpa_daemon){
        .program = "vpa-updater",
        .title = "Vertical Pod Autoscaler Updater",
        .flags = {.rows = updater_flag_rows, .count = updater_flag_count, .values = config},
        .common = &config->common,
        .ledger = &config->ledger,
        .leader = &config->leader,
        .shadow = &config->shadow,
        .metrics = updater_metrics,
        .metric_count = updater_metric_count,
        .start_metrics = updater_meters_start,
        .caches = caches,
        .client_count = CLIENT_COUNT,
        .tells_of_unusable = true,
        .interval = &config->interval,
        .check = check,
        .run = run,
    };
}
