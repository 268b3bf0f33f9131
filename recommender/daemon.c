#include "daemon.h"

#include <stdio.h>
#include <stdlib.h>

#include "metrics.h"
#include "query.h"
#include "recommender.h"

#include "vpa/base/log.h"

enum { OBJECTS, WRITER, USAGE, CLIENT_COUNT };

/* At SIGTERM: for checkpoints that wait for their turn. */
#define FLUSH_PATIENCE (2 * VPA_SECOND)
#define TABLE_MAX ((size_t)64 << 10)

static const char *read_env(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static int check(void *settings, struct vpa_arena *arena, int *exit_status, struct vpa_error *err)
{
    return recommender_config_check(settings, read_env, NULL, arena, exit_status, err);
}

static struct vpa_transport *
connect_prometheus(void *ctx, const struct vpa_http_client_options *options, struct vpa_error *err)
{
    return vpa_http_client_new(ctx, options, err);
}

/* Never false: a shadow stands by for good. */
static const bool standing_by = true;

static struct recommender *make(const struct recommender_config *config,
                                struct vpa_process *process, struct shadow *shadow)
{
    bool may_stand_by = process->elector && config->leader.standby;
    const struct standby_options lease = {
        .client = process->leases,
        .ns = config->leader.resource_namespace,
        .leader = config->leader.resource_name,
        .identity = may_stand_by ? vpa_elector_own_identity(process->elector) : "",
        .elector = process->elector,
    };

    return recommender_new(
        &(struct recommender_options){.loop = process->loop,
                                      .config = config,
                                      .client = process->clients[OBJECTS],
                                      .writer = process->clients[WRITER],
                                      .metrics = process->clients[USAGE],
                                      .observe = process->observe,
                                      .standby = shadow         ? &standing_by
                                                 : may_stand_by ? &process->standby
                                                                : NULL,
                                      .standby_lease = may_stand_by ? &lease : NULL,
                                      .ledger = process->ledger,
                                      .shadow = shadow,
                                      .connect_prometheus = connect_prometheus,
                                      .connect_ctx = process->loop});
}

static int work(struct vpa_process *process, struct recommender *recommender)
{
    struct vpa_error err;

    if (recommender_start(recommender, &err) == 0 &&
        recommender_load_history(recommender, &err) == 0) {
        recommender_run(recommender, NULL, NULL);
        if (vpa_process_leads(process))
            recommender_flush(recommender, FLUSH_PATIENCE);
    } else if (!vpa_loop_is_stopping(process->loop)) {
        VPA_ERROR("Recommender controller exited with error", VPA_KERR(&err));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

static void print_table(const struct shadow *shadow)
{
    vpa_auto_buf text = VPA_BUF(TABLE_MAX);

    shadow_write_table(shadow, &text);
    fputs(vpa_buf_text(&text), stdout);
}

static int run(const void *settings, struct vpa_process *process)
{
    const struct recommender_config *config = settings;
    struct shadow *shadow = config->shadow ? shadow_new() : NULL;
    struct recommender *recommender = make(config, process, shadow);

    vpa_observe_on_ready(process->observe, recommender_is_ready, recommender);
    int status = work(process, recommender);
    vpa_observe_on_ready(process->observe, NULL, NULL);
    if (shadow)
        print_table(shadow);
    recommender_free(recommender);
    shadow_free(shadow);
    return status;
}

static const char *const caches[] = {"verticalpodautoscalers", "pods", NULL};

struct vpa_daemon recommender_daemon(struct recommender_config *config)
{
    struct vpa_daemon daemon = {
        .program = "vpa-recommender",
        .title = "Vertical Pod Autoscaler Recommender",
        .instance = {"recommenderName", &config->name},
        .page = {QUERY_PATH, &config->recommendation_query},
        .flags = recommender_flags(config),
        .common = &config->common,
        .ledger = &config->ledger,
        .leader = &config->leader,
        .shadow = &config->shadow,
        .start_metrics = metrics_start,
        .caches = caches,
        .client_count = CLIENT_COUNT,
        .tells_of_unusable = true,
        .interval = &config->interval,
        .check = check,
        .run = run,
    };

    daemon.metrics = recommender_metrics_table(&daemon.metric_count);
    return daemon;
}
