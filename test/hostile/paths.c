#include "paths.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../admission/admission.h"
#include "../../admission/admit.h"
#include "../../recommender/recommender.h"
#include "../../updater/updater.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"

#define START_SECONDS 1772366400 /* 2026-03-01T12:00:00Z */
#define LIST_MAX ((size_t)65 << 20)

/* ---- the API server ---- */

struct bed {
    const struct world *world;
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_transport *transport;
    struct vpa_random random;
    struct vpa_kube_client *client;
    struct vpa_memory_stream *vpas; /* their watch */
    bool without_vpas;
};

#define VPAS "/verticalpodautoscalers"

static const struct vpa_buf *items_of(const struct world *w, const char *path)
{
    const struct {
        const char *end;
        const struct vpa_buf *items;
    } lists[] = {{VPAS, &w->vpas},
                 {"metrics.k8s.io/v1beta1/pods", &w->usage},
                 {"/pods", &w->pods},
                 {"/replicasets", &w->replica_sets},
                 {"/limitranges", &w->limit_ranges},
                 {"/verticalpodautoscalercheckpoints", &w->checkpoints}};

    for (size_t i = 0; i < VPA_COUNT(lists); i++)
        if (vpa_str_ends_with(path, lists[i].end))
            return lists[i].items;
    return NULL;
}

static bool is_of_vpas(const char *path)
{
    return vpa_str_ends_with(path, VPAS);
}

static void serve_list(const struct bed *bed, const char *path, struct vpa_memory_reply *reply)
{
    bool none = bed->without_vpas && is_of_vpas(path);
    const struct vpa_buf *items = none ? NULL : items_of(bed->world, path);
    vpa_auto_buf text = VPA_BUF(LIST_MAX);

    vpa_buf_printf(&text, "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[%s]}",
                   items ? vpa_buf_text(items) : "");
    vpa_memory_reply_json(reply, 200, vpa_buf_text(&text));
}

static void on_closed(void *ctx)
{
    *(struct vpa_memory_stream **)ctx = NULL;
}

static void serve_watch(struct bed *bed, const char *path, struct vpa_memory_reply *reply)
{
    if (is_of_vpas(path))
        bed->vpas = vpa_memory_reply_stream(reply, 200, on_closed, &bed->vpas);
    else
        vpa_memory_reply_stream(reply, 200, NULL, NULL);
}

/* All go at once, as with their namespace, or come at once, to pods that are there. */
static void list_vpas(struct bed *bed, bool none)
{
    static const char expired[] = "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n";

    bed->without_vpas = none;
    vpa_memory_stream_push(bed->vpas, expired, strlen(expired));
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *reply)
{
    struct bed *bed = ctx;

    if (strcmp(q->method, "GET") != 0)
        vpa_memory_reply_json(reply, 200, "{\"metadata\":{\"name\":\"x\",\"namespace\":\"n\"}}");
    else if (vpa_memory_query(q, "watch"))
        serve_watch(bed, q->path, reply);
    else if (strcmp(q->path, "/api/v1") == 0)
        vpa_memory_reply_json(reply, 200,
                              "{\"resources\":[{\"name\":\"pods\",\"kind\":\"Pod\"},"
                              "{\"name\":\"pods/resize\",\"kind\":\"Pod\"}]}");
    else
        serve_list(bed, q->path, reply);
}

static void bed_start(struct bed *bed, const struct world *world)
{
    struct vpa_error err;

    *bed = (struct bed){.world = world};
    bed->clock = vpa_clock_new_manual(vpa_time_from_unix(START_SECONDS, 0));
    bed->loop = vpa_loop_new(bed->clock);
    bed->transport = vpa_memory_transport_new(bed->loop, serve, bed);
    vpa_random_init(&bed->random, 1);
    bed->client = vpa_kube_client_new(&(struct vpa_kube_client_options){.loop = bed->loop,
                                                                        .transport = bed->transport,
                                                                        .random = &bed->random,
                                                                        .user_agent = "hostile",
                                                                        .qps = -1},
                                      &err);
}

static void bed_stop(struct bed *bed)
{
    vpa_kube_client_free(bed->client);
    vpa_transport_free(bed->transport);
    vpa_loop_free(bed->loop);
    vpa_clock_free(bed->clock);
}

static void fail(const char *what, const struct vpa_error *err)
{
    fprintf(stderr, "hostile: %s: %s\n", what, err->text);
    exit(2);
}

/* ---- admission ---- */

static const struct admit_options all_gates = {
    .startup_boost = true,
    .validate = {.in_place = true, .cpu_startup_boost = true, .per_vpa_config = true},
};

static void ask(struct snapshot_cell *cell, const struct vpa_buf *body, struct count *count)
{
    struct admit_result result = {0};
    vpa_auto_arena arena = {0};
    vpa_auto_buf answer = VPA_BUF(ADMIT_ANSWER_MAX);

    count_start(count);
    struct snapshot *snapshot = snapshot_acquire(cell);
    admit(snapshot, &all_gates, &arena, vpa_buf_text(body), body->len, &answer, &result);
    snapshot_unref(snapshot);
    count_stop(count);
}

static struct admission *admission_of(struct bed *bed, struct admission_config *config)
{
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = config};

    vpa_flags_preset(&flags);
    config->register_webhook = false;
    return admission_new(&(struct admission_options){.config = config,
                                                     .loop = bed->loop,
                                                     .client = bed->client,
                                                     .ns = "kube-system",
                                                     .host_name = "test",
                                                     .unbound = true});
}

/* The caches are filled, then the body is answered. */
static void run_webhook(const struct world *world, const struct vpa_buf *body, bool caches,
                        struct count *count)
{
    static const struct world empty;
    struct admission_config config;
    struct vpa_error err;
    struct bed bed;

    bed_start(&bed, caches ? world : &empty);
    struct admission *admission = admission_of(&bed, &config);
    if (caches)
        count_start(count);
    if (admission_sync(admission, &err) < 0)
        fail("admission", &err);
    if (caches)
        count_stop(count);
    ask(admission_cell(admission), body, count);
    admission_free(admission);
    bed_stop(&bed);
}

static void run_admit(const struct world *world, struct count *count)
{
    vpa_auto_buf body = VPA_BUF(LIST_MAX);

    vpa_buf_printf(&body,
                   "{\"request\":{\"uid\":\"u\",\"namespace\":\"n\",\"resource\":{\"group\":\"\","
                   "\"version\":\"v1\",\"resource\":\"pods\"},\"requestKind\":{\"kind\":\"Pod\"},"
                   "\"operation\":\"CREATE\",\"object\":%s}}",
                   vpa_buf_text(&world->pod));
    run_webhook(world, &body, true, count);
}

/* A VPA of one's own, as its owner sends it: no right is needed to have it looked at. */
static void run_review(const struct world *world, const char *operation, const char *old,
                       struct count *count)
{
    vpa_auto_buf body = VPA_BUF(LIST_MAX);

    vpa_buf_printf(&body,
                   "{\"request\":{\"uid\":\"u\",\"name\":\"v\",\"resource\":{\"group\":"
                   "\"autoscaling.k8s.io\",\"version\":\"v1\",\"resource\":"
                   "\"verticalpodautoscalers\"},\"requestKind\":{\"kind\":"
                   "\"VerticalPodAutoscaler\"},\"operation\":\"%s\",\"object\":%s,"
                   "\"oldObject\":%s}}",
                   operation, vpa_buf_text(&world->vpa), old);
    run_webhook(world, &body, false, count);
}

static void run_create(const struct world *world, struct count *count)
{
    run_review(world, "CREATE", "null", count);
}

static void run_change(const struct world *world, struct count *count)
{
    run_review(world, "UPDATE", vpa_buf_text(&world->vpa), count);
}

/* ---- recommender ---- */

static const char *no_env(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return NULL;
}

/* The last pass is the one before. */
static void count_removal_and_return(struct bed *bed, struct recommender *r, struct count *count)
{
    uint64_t last = count->last;

    for (int i = 0; i < 2; i++) {
        list_vpas(bed, i == 0);
        count_start(count);
        vpa_loop_pump(bed->loop, VPA_MINUTE);
        recommender_pass(r);
        count_stop(count);
    }
    count->last = last;
}

static void run_recommender(const struct world *world, struct count *count)
{
    struct recommender_config config;
    const struct vpa_flags flags = recommender_flags(&config);
    vpa_auto_arena arena = {0};
    struct vpa_error err;
    struct bed bed;
    int status;

    bed_start(&bed, world);
    vpa_flags_preset(&flags);
    config.memory_saver = world->memory_saver;
    if (recommender_config_check(&config, no_env, NULL, &arena, &status, &err) < 0)
        fail("recommender", &err);
    struct recommender *r = recommender_new(&(struct recommender_options){.loop = bed.loop,
                                                                          .config = &config,
                                                                          .client = bed.client,
                                                                          .writer = bed.client,
                                                                          .metrics = bed.client});
    count_start(count);
    if (recommender_start(r, &err) < 0 || recommender_load_history(r, &err) < 0)
        fail("recommender", &err);
    count_stop(count);
    for (int i = 0; i < 3; i++) { /* in the second all that is done once an hour */
        count_start(count);
        vpa_loop_pump(bed.loop, i == 1 ? VPA_HOUR : VPA_MINUTE);
        recommender_pass(r);
        count_stop(count);
    }
    count_removal_and_return(&bed, r, count);
    recommender_free(r);
    bed_stop(&bed);
}

/* ---- updater ---- */

static void run_updater(const struct world *world, struct count *count)
{
    struct updater_config config;
    const struct vpa_flags flags = {
        .rows = updater_flag_rows, .count = updater_flag_count, .values = &config};
    struct vpa_error err;
    struct bed bed;

    bed_start(&bed, world);
    vpa_flags_preset(&flags);
    config.use_admission_status = false;
    struct updater *u = updater_new(
        &(struct updater_options){.loop = bed.loop, .client = bed.client, .config = &config});
    count_start(count);
    updater_start(u);
    if (updater_wait(u, VPA_MINUTE, &err) < 0)
        fail("updater", &err);
    while (vpa_loop_poll(bed.loop))
        ;
    count_stop(count);
    count_start(count);
    updater_pass(u);
    count_stop(count);
    updater_free(u);
    bed_stop(&bed);
}

/* ---- names ---- */

static const struct path paths[] = {
    {"create", run_create},           {"change", run_change},   {"admit", run_admit},
    {"recommender", run_recommender}, {"updater", run_updater},
};

const struct path *path_find(const char *name)
{
    for (size_t i = 0; i < VPA_COUNT(paths); i++)
        if (strcmp(paths[i].name, name) == 0)
            return &paths[i];
    return NULL;
}
