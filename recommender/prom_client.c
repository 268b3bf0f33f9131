/*
 * A question waits for its answer by pumping the loop. The answer is read as it comes, and a series
 * is handed on when it is complete. The time that a refused POST took is taken off the GET that
 * follows.
 */
#include "prom_client.h"

#include <string.h>

#include "metrics.h"

#define FORM_TYPE "application/x-www-form-urlencoded"
#define URL_MAX ((size_t)1 << 20)

struct attempt {
    struct vpa_loop *loop;
    enum prom_kind kind;
    const struct prom_range *range; /* NULL: the kind's own question */
    vpa_time until;                 /* of that question; unset: now */
    const struct prom_taker *taker;
    struct history *history;    /* takes the first warning; may be NULL */
    struct prom_reader *reader; /* of what comes with a success */
    const char *method;
    vpa_time started;
    bool done;
    bool refused; /* the method was */
    int result;
    struct vpa_error err;
};

/* Also a redirect that leads somewhere, which the transport follows with a GET alone. */
static bool is_refusal(int status, bool turned_away)
{
    return turned_away || status == 403 || status == 405 || status == 501;
}

static int on_data(void *ctx, const char *bytes, size_t len)
{
    struct attempt *a = ctx;

    a->result = prom_reader_feed(a->reader, bytes, len, &a->err);
    return a->result;
}

/* What an answer that came to its end says. */
static int judge(struct attempt *a, const struct vpa_http_result *answer)
{
    if (answer->status / 100 == 2) {
        if (prom_reader_finish(a->reader, answer->status, &a->err) < 0)
            return -1;
        if (a->history && !a->history->warning)
            a->history->warning = prom_reader_warning(a->reader, &a->history->arena);
        return 0;
    }
    return prom_parse_answer(a->kind, answer->status, answer->body, answer->body_len,
                             a->taker->on_series, a->taker->ctx, &a->err);
}

static void on_done(void *ctx, const struct vpa_http_result *answer)
{
    struct attempt *a = ctx;
    bool is_post = strcmp(a->method, "POST") == 0;
    bool whole = answer->failure == VPA_TRANSPORT_OK;
    bool turned_away = answer->failure == VPA_TRANSPORT_OTHER && answer->status / 100 == 3;

    a->done = true;
    a->refused = is_refusal(whole ? answer->status : 0, turned_away);
    if (whole || turned_away)
        metrics_prometheus_response(answer->status, a->method,
                                    vpa_time_sub(vpa_loop_now(a->loop), a->started));
    if (is_post && a->refused)
        return;
    if (whole) {
        a->result = judge(a, answer);
    } else if (answer->failure != VPA_TRANSPORT_STOPPED) { /* otherwise on_data has said why */
        bool too_long = answer->failure == VPA_TRANSPORT_LIMIT;

        a->result =
            vpa_fail(&a->err, too_long ? VPA_INVALID : VPA_RETRY,
                     "cannot get timeseries for %s: %s", prom_kind_name(a->kind), answer->error);
    }
    if (a->result < 0 && !a->range)
        vpa_wrap(&a->err,
                 a->kind == PROM_LABELS ? "cannot read last labels" : "cannot get usage history");
}

static bool is_done(void *ctx)
{
    return ((struct attempt *)ctx)->done;
}

/* The transport speaks to the origin already: what it wants is path and query. */
static const char *target_of(const struct prom_plan *plan, const struct vpa_buf *url)
{
    return vpa_buf_text(url) + strlen(plan->origin);
}

static void put_arguments(const struct prom_plan *plan, const struct attempt *a, vpa_time now,
                          struct vpa_buf *out)
{
    if (a->range)
        prom_range_arguments(plan, a->range, out);
    else
        prom_arguments(plan, a->kind, now, out);
}

/* Sends the request and waits for the end of its answer. */
static int exchange(struct vpa_transport *transport, const struct vpa_http_request *request,
                    struct attempt *a, struct vpa_error *err)
{
    const struct vpa_http_handler handler = {.ctx = a, .on_data = on_data, .on_done = on_done};

    a->reader = prom_reader_new(a->kind, a->range ? PROM_RANGE_ANSWER_MAX : HISTORY_ANSWER_MAX,
                                a->taker->on_series, a->taker->ctx);
    a->done = false;
    a->started = vpa_loop_now(a->loop);
    struct vpa_exchange *exchange = vpa_transport_start(transport, request, &handler);
    int result = vpa_loop_wait(a->loop, is_done, a, request->timeout, err);
    if (result < 0) {
        vpa_transport_cancel(transport, exchange);
        if (!vpa_loop_is_stopping(a->loop))
            vpa_fail(err, VPA_RETRY, "cannot get timeseries for %s: context deadline exceeded",
                     prom_kind_name(a->kind));
    }
    prom_reader_free(a->reader);
    return result;
}

static int send_request(struct vpa_transport *transport, const struct prom_plan *plan, vpa_time now,
                        vpa_duration timeout, struct attempt *a, struct vpa_error *err)
{
    bool is_post = strcmp(a->method, "POST") == 0;
    struct vpa_header headers[2];
    size_t header_count = 0;
    vpa_auto_buf url = VPA_BUF(URL_MAX);
    vpa_auto_buf body = VPA_BUF(URL_MAX);

    if (is_post) {
        prom_post_url(plan, a->kind, &url);
        put_arguments(plan, a, now, &body);
        headers[header_count++] = (struct vpa_header){"Content-Type", FORM_TYPE};
    } else {
        if (a->range)
            prom_range_url(plan, a->range, &url);
        else
            prom_get_url(plan, a->kind, now, &url);
    }
    if (plan->authorization)
        headers[header_count++] = (struct vpa_header){"Authorization", plan->authorization};
    return exchange(transport,
                    &(struct vpa_http_request){.method = a->method,
                                               .target = target_of(plan, &url),
                                               .headers = headers,
                                               .header_count = header_count,
                                               .body = is_post ? vpa_buf_text(&body) : NULL,
                                               .body_len = body.len,
                                               .timeout = timeout},
                    a, err);
}

static int ask(struct vpa_transport *transport, const struct prom_plan *plan, struct attempt *a,
               struct vpa_error *err)
{
    vpa_time begin = vpa_loop_now(a->loop);
    vpa_time until = vpa_time_is_unset(a->until) ? begin : a->until;

    a->method = "POST";
    if (send_request(transport, plan, until, plan->timeout, a, err) < 0)
        return -1;
    if (a->refused) {
        vpa_duration left = plan->timeout - vpa_time_sub(vpa_loop_now(a->loop), begin);

        a->method = "GET";
        if (send_request(transport, plan, until, left > 0 ? left : 1, a, err) < 0)
            return -1;
    }
    if (a->result < 0)
        *err = a->err;
    return a->result;
}

static int fetch(struct vpa_loop *loop, struct vpa_transport *transport,
                 const struct prom_plan *plan, enum prom_kind kind, vpa_time until,
                 struct history *history, struct vpa_error *err)
{
    struct history_adding adding = {history, kind};
    const struct prom_taker taker = {history_add, &adding};
    struct attempt a = {
        .loop = loop, .kind = kind, .until = until, .taker = &taker, .history = history};

    return ask(transport, plan, &a, err);
}

int prom_fetch_history(struct vpa_loop *loop, struct vpa_transport *transport,
                       const struct prom_plan *plan, struct prom_progress *progress,
                       struct history *history, struct vpa_error *err)
{
    struct prom_progress whole = {VPA_TIME_UNSET, INT64_MAX, PROM_CPU};
    struct prom_progress *p = progress ? progress : &whole;
    int64_t begin = vpa_loop_monotonic(loop);

    for (; p->next < PROM_KINDS && vpa_loop_monotonic(loop) - begin < p->patience; p->next++)
        if (fetch(loop, transport, plan, p->next, p->until, history, err) < 0)
            return -1;
    if (p->next == PROM_KINDS)
        history_finish(history);
    return 0;
}

int prom_fetch_usage(struct vpa_loop *loop, struct vpa_transport *transport,
                     const struct prom_plan *plan, struct history *history, struct vpa_error *err)
{
    for (enum prom_kind kind = PROM_CPU; kind < PROM_LABELS; kind++)
        if (fetch(loop, transport, plan, kind, VPA_TIME_UNSET, history, err) < 0)
            return -1;
    history_finish(history);
    return 0;
}

int prom_fetch_range(struct vpa_loop *loop, struct vpa_transport *transport,
                     const struct prom_plan *plan, const struct prom_range *range,
                     enum prom_kind kind, const struct prom_taker *taker, struct vpa_error *err)
{
    struct attempt a = {
        .loop = loop, .kind = kind, .range = range, .until = VPA_TIME_UNSET, .taker = taker};

    return ask(transport, plan, &a, err);
}
