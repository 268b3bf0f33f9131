/* vpa-recommender: its table and its wiring. What it does is in recommender.c. */
#include <stdlib.h>

#include "metrics.h"
#include "recommender.h"

#include "vpa/base/log.h"
#include "vpa/daemon/daemon.h"

enum { OBJECTS, WRITER, USAGE, CLIENT_COUNT };

static struct recommender_config config;

static const char *read_env(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static int check(struct vpa_arena *arena, int *exit_status, struct vpa_error *err)
{
    return recommender_config_check(&config, read_env, NULL, arena, exit_status, err);
}

static struct vpa_transport *
connect_prometheus(void *ctx, const struct vpa_http_client_options *options, struct vpa_error *err)
{
    return vpa_http_client_new(ctx, options, err);
}

static int run(struct vpa_process *process)
{
    struct recommender *recommender =
        recommender_new(&(struct recommender_options){.loop = process->loop,
                                                      .config = &config,
                                                      .client = process->clients[OBJECTS],
                                                      .writer = process->clients[WRITER],
                                                      .metrics = process->clients[USAGE],
                                                      .observe = process->observe,
                                                      .connect_prometheus = connect_prometheus,
                                                      .connect_ctx = process->loop});
    struct vpa_error err;
    int status = EXIT_SUCCESS;

    if (recommender_start(recommender, &err) == 0 &&
        recommender_load_history(recommender, &err) == 0) {
        recommender_run(recommender, NULL, NULL);
    } else if (!vpa_loop_is_stopping(process->loop)) {
        VPA_ERROR("Recommender controller exited with error", VPA_KERR(&err));
        status = EXIT_FAILURE;
    }
    recommender_free(recommender);
    return status;
}

int main(int argc, char **argv)
{
    struct vpa_daemon daemon = {
        .program = "vpa-recommender",
        .title = "Vertical Pod Autoscaler Recommender",
        .instance = {"recommenderName", &config.name},
        .flags = recommender_flags(&config),
        .common = &config.common,
        .leader = &config.leader,
        .client_count = CLIENT_COUNT,
        .interval = &config.interval,
        .check = check,
        .run = run,
    };

    daemon.metrics = recommender_metrics_table(&daemon.metric_count);
    return vpa_daemon_main(&daemon, argc, argv);
}
