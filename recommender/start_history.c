/*
 * Asking for the history. A pass may ask two questions and the next one the third: answers are kept
 * until all are there, or one fails.
 */
#include "start_history.h"

#include <stdlib.h>

#include "history.h"
#include "prom_client.h"

#include "vpa/base/log.h"

#define QUERY_MAX ((size_t)64 << 10)

struct start_history {
    struct start_history_options options;
    struct prom_plan plan; /* of the question under way */
    struct history history;
    struct prom_progress progress;
    struct vpa_error err; /* the last one */
    bool missing;         /* was asked for in vain */
    bool passed;          /* a pass was made since */
    bool held_too_long;
    size_t waiting; /* VPAs */
    int64_t begin;  /* monotonic, and so is what follows */
    int64_t failed;
    vpa_duration pause;
};

struct start_history *start_history_new(const struct start_history_options *options)
{
    struct start_history *h = vpa_xcalloc(1, sizeof(*h));

    h->options = *options;
    history_init(&h->history, &h->plan);
    return h;
}

void start_history_free(struct start_history *h)
{
    if (!h)
        return;
    history_release(&h->history);
    free(h);
}

/* ---- asking ---- */

static void drop(struct start_history *h)
{
    history_release(&h->history);
    history_init(&h->history, &h->plan);
    h->progress.next = PROM_CPU;
}

/* What recommendations were made of is somewhere: a disk that was lost, a job of another name and a
 * store that is away look alike. */
static int check_content(const struct start_history *h, struct vpa_error *err)
{
    struct history_size size = history_size(&h->history);
    vpa_auto_buf query = VPA_BUF(QUERY_MAX);

    if (h->progress.next != PROM_KINDS || size.cpu > 0 || size.memory > 0 ||
        (h->passed && h->waiting == 0))
        return 0;
    prom_query(&h->plan, PROM_CPU, &query);
    return vpa_fail(err, VPA_INVALID, "the answers have no sample of a container: %s",
                    vpa_buf_text(&query));
}

static int ask(struct start_history *h, struct vpa_error *err)
{
    const struct start_history_options *o = &h->options;
    struct vpa_http_client_options http = {.base_url = h->plan.origin,
                                           .insecure = o->config->prometheus.insecure};
    struct vpa_transport *transport = o->connect(o->connect_ctx, &http, err);

    if (!transport)
        return -1;
    int result = prom_fetch_history(o->loop, transport, &h->plan, &h->progress, &h->history, err);
    vpa_transport_free(transport);
    return result < 0 ? -1 : check_content(h, err);
}

/* ---- what came ---- */

static void report_nothing(const struct start_history *h, enum prom_kind kind)
{
    vpa_auto_buf query = VPA_BUF(QUERY_MAX);

    prom_query(&h->plan, kind, &query);
    VPA_WARN("Prometheus has no series of a resource: its history is empty",
             VPA_KV("resource", prom_kind_name(kind)), VPA_KV("query", vpa_buf_text(&query)));
}

static void report(const struct start_history *h)
{
    struct history_size size = history_size(&h->history);
    char oldest[VPA_TIME_TEXT_MAX] = "";

    if (!vpa_time_is_unset(size.oldest))
        vpa_time_format(size.oldest, oldest);
    VPA_INFO("Read the history from Prometheus", VPA_KV("pods", (int64_t)h->history.pods.count),
             VPA_KV("containers", (int64_t)size.containers),
             VPA_KV("samples", (int64_t)(size.cpu + size.memory)), VPA_KV("oldest", oldest));
    if (size.cpu == 0)
        report_nothing(h, PROM_CPU);
    if (size.memory == 0)
        report_nothing(h, PROM_MEMORY);
    if (h->history.warning)
        VPA_WARN("Prometheus warns that the history may not be whole",
                 VPA_KV("warning", h->history.warning));
}

static void fail(struct start_history *h, const struct vpa_error *err)
{
    h->err = *err;
    h->missing = true;
    h->failed = vpa_loop_monotonic(h->options.loop);
    h->pause = h->pause ? 2 * h->pause : START_HISTORY_RETRY;
    if (h->pause > START_HISTORY_RETRY_MAX)
        h->pause = START_HISTORY_RETRY_MAX;
    drop(h);
    if (!vpa_loop_is_stopping(h->options.loop))
        VPA_ERROR("Cannot get cluster history", VPA_KERR(err),
                  VPA_KV("waitingVPAs", (int64_t)h->waiting));
}

int start_history_load(struct start_history *h, struct vpa_error *err)
{
    struct vpa_loop *loop = h->options.loop;
    struct vpa_error failure;

    if (prom_plan_init(&h->plan, &h->options.config->prometheus, err) < 0)
        return -1;
    h->progress = (struct prom_progress){VPA_TIME_UNSET, INT64_MAX, PROM_CPU};
    if (ask(h, &failure) < 0) {
        fail(h, &failure);
        h->progress.until = vpa_loop_now(loop);
        h->begin = vpa_loop_monotonic(loop);
    } else {
        report(h);
        history_feed(&h->history, h->options.cluster, vpa_loop_now(loop));
        drop(h);
    }
    prom_plan_release(&h->plan);
    return vpa_loop_is_stopping(loop) ? vpa_fail(err, VPA_CANCELLED, "stopped") : 0;
}

/* ---- again ---- */

static bool is_due(const struct start_history *h)
{
    vpa_duration pause = h->waiting > 0 ? h->pause : START_HISTORY_RETRY_MAX;

    return h->progress.next != PROM_CPU || vpa_loop_monotonic(h->options.loop) - h->failed >= pause;
}

static void ask_again(struct start_history *h)
{
    struct vpa_error err;

    if (prom_plan_init(&h->plan, &h->options.config->prometheus, &err) < 0) {
        fail(h, &err);
        return;
    }
    if (h->plan.timeout > START_HISTORY_TIMEOUT)
        h->plan.timeout = START_HISTORY_TIMEOUT;
    h->progress.patience = START_HISTORY_PATIENCE;
    if (ask(h, &err) < 0) {
        fail(h, &err);
    } else if (h->progress.next == PROM_KINDS) {
        report(h);
        history_feed_late(&h->history, h->options.cluster, vpa_loop_now(h->options.loop));
        drop(h);
        h->missing = false;
    }
    prom_plan_release(&h->plan);
    if (h->options.observe) /* it is Prometheus that takes its time */
        vpa_observe_activity(h->options.observe);
}

/* Of those that wait; tells them that they do no longer. */
static size_t count_waiting(const struct start_history *h, bool is_over)
{
    size_t count, waiting = 0;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(h->options.cluster, &count);

    for (size_t i = 0; i < count; i++) {
        if (is_over)
            vpa_autoscaler_set_awaits_history(vpas[i], false);
        waiting += vpa_autoscaler_awaits_history(vpas[i]);
    }
    return waiting;
}

static bool is_over(struct start_history *h)
{
    if (!h->missing)
        return true;
    if (vpa_loop_monotonic(h->options.loop) - h->begin < START_HISTORY_HOLD)
        return false;
    if (!h->held_too_long && h->waiting > 0)
        VPA_WARN("No history from Prometheus for a day: recommendations rest on the usage since "
                 "the start",
                 VPA_KV("VPAs", (int64_t)h->waiting));
    h->held_too_long = true;
    return true;
}

void start_history_pass(struct start_history *h)
{
    h->waiting = count_waiting(h, false);
    if (h->missing && is_due(h))
        ask_again(h);
    h->waiting = count_waiting(h, is_over(h));
    h->passed = true;
}

bool start_history_is_awaited(const struct start_history *h, struct vpa_buf *why)
{
    if (!h->missing || (h->passed && h->waiting == 0) ||
        vpa_loop_monotonic(h->options.loop) - h->begin >= START_HISTORY_READY)
        return false;
    vpa_buf_printf(why, "the history is not loaded yet: %s", h->err.text);
    return true;
}
