/*
 * A question belongs to the list of the adviser until it is over: QUEUED, on the loop as SENT,
 * DONE. The asking thread waits for DONE; a question that is given up is freed by the loop when
 * its exchange ends. All of it is guarded by one lock but the exchange, which is the loop's.
 */
#include "adviser.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "meters.h"

#include "vpa/base/log.h"
#include "vpa/daemon/clock.h"
#include "vpa/json/json_writer.h"
#include "vpa/net/monotonic.h"

#define API_VERSION "recommendation.autoscaling.k8s.io/v1alpha1"

struct question {
    struct adviser *adviser;
    struct question *next;
    struct vpa_exchange *exchange; /* of the loop */
    struct vpa_buf body;
    bool sent, done;
    bool awaited;  /* somebody waits, and frees it */
    bool given_up; /* nobody waits any more: an answer proves nothing */
    int status;    /* of the answer, 0: none */
    char *answer;
    size_t answer_len;
};

struct adviser {
    struct adviser_options options;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct question *questions; /* under way */
    size_t count;
    bool stopping;
    bool open;          /* the breaker */
    bool trying;        /* while open: a question is under way */
    int64_t next_try;   /* while open, monotonic */
    vpa_duration pause; /* the next one */
};

/* ---- under the lock ---- */

static void break_off(struct adviser *a, const char *why)
{
    if (!a->open)
        VPA_WARN("The recommender does not answer, stored recommendations are used",
                 VPA_KV("err", why));
    else if (!a->trying)
        return; /* somebody else's question, of before */
    a->open = true;
    a->trying = false;
    a->next_try = a->options.monotonic() + a->pause;
    a->pause = a->pause < ADVISER_PAUSE_MAX / 2 ? 2 * a->pause : ADVISER_PAUSE_MAX;
}

static void close_breaker(struct adviser *a)
{
    if (a->open)
        VPA_INFO("The recommender answers again");
    a->open = a->trying = false;
    a->pause = ADVISER_PAUSE;
}

/* Out of the list; what it holds is freed. */
static void drop(struct question *q)
{
    struct question **link = &q->adviser->questions;

    while (*link != q)
        link = &(*link)->next;
    *link = q->next;
    q->adviser->count--;
    vpa_buf_release(&q->body);
    free(q->answer);
    free(q);
}

/* ---- on the loop ---- */

static void on_done(void *ctx, const struct vpa_http_result *result)
{
    struct question *q = ctx;
    struct adviser *a = q->adviser;
    bool answered = result->failure == VPA_TRANSPORT_OK && result->status < 500;

    pthread_mutex_lock(&a->lock);
    q->exchange = NULL;
    q->done = true;
    if (answered) {
        q->status = result->status;
        q->answer = vpa_xstrndup(result->body, result->body_len);
        q->answer_len = result->body_len;
        if (!q->given_up)
            close_breaker(a);
    } else {
        break_off(a, result->failure == VPA_TRANSPORT_OK ? "an answer of 5xx" : result->error);
    }
    if (!q->awaited)
        drop(q);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static void start(struct question *q)
{
    static const struct vpa_header headers[] = {{"Content-Type", "application/json"}};
    const struct vpa_http_request request = {.method = "POST",
                                             .target = ADVISER_PATH,
                                             .headers = headers,
                                             .header_count = VPA_COUNT(headers),
                                             .body = q->body.data,
                                             .body_len = q->body.len,
                                             .response_max = ADVISER_BODY_MAX,
                                             .timeout = q->adviser->options.timeout,
                                             .repeatable = true};
    const struct vpa_http_handler handler = {.ctx = q, .on_done = on_done};

    q->exchange = vpa_transport_start(q->adviser->options.transport, &request, &handler);
}

/* Nothing is called back inside start, so the lock may be held. */
static void on_posted(void *ctx)
{
    struct adviser *a = ctx;

    pthread_mutex_lock(&a->lock);
    for (struct question *q = a->questions; q; q = q->next) {
        if (!q->sent)
            start(q);
        q->sent = true;
    }
    pthread_mutex_unlock(&a->lock);
}

/* ---- on the asking thread ---- */

/* What a question is: one to wait for, one to try with, or none. */
enum turn { TURN_WAIT, TURN_TRY, TURN_OPEN, TURN_BUSY };

static enum turn take_turn(struct adviser *a)
{
    if (a->count >= ADVISER_ASKED_MAX)
        return TURN_BUSY;
    if (!a->open && !a->stopping)
        return TURN_WAIT;
    if (a->stopping || a->trying || a->options.monotonic() < a->next_try)
        return TURN_OPEN;
    a->trying = true;
    return TURN_TRY;
}

static struct question *put_question(struct adviser *a, struct vpa_buf *body, bool awaited)
{
    struct question *q = vpa_xcalloc(1, sizeof(*q));

    q->adviser = a;
    q->body = *body;
    *body = (struct vpa_buf){0};
    q->awaited = awaited;
    q->next = a->questions;
    a->questions = q;
    a->count++;
    vpa_loop_post(a->options.loop, on_posted, a);
    return q;
}

/* The text of the answer in the arena, NULL when none came; *status is its code. */
static const char *await(struct question *q, struct vpa_arena *arena, int *status, size_t *len)
{
    struct adviser *a = q->adviser;
    const struct timespec deadline = vpa_monotonic_in(a->options.timeout);
    const char *text = NULL;
    int rc = 0;

    while (!q->done && !a->stopping && rc == 0)
        rc = pthread_cond_timedwait(&a->changed, &a->lock, &deadline);
    if (!q->done) {
        if (!a->stopping)
            break_off(a, "no answer in time");
        q->awaited = false; /* the loop frees it */
        q->given_up = true;
        if (!q->sent)
            drop(q);
        return NULL;
    }
    *status = q->status;
    *len = q->answer_len;
    if (q->answer)
        text = vpa_arena_strndup(arena, q->answer, q->answer_len);
    drop(q);
    return text;
}

static void write_question(struct vpa_buf *body, const char *ns, const struct vpa_json *pod)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, body);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "apiVersion", API_VERSION);
    vpa_json_member_string(&w, "kind", "RecommendationQuery");
    vpa_json_member_object(&w, "metadata");
    vpa_json_member_string(&w, "namespace", ns);
    vpa_json_close_object(&w);
    vpa_json_member_object(&w, "spec");
    vpa_json_member_node(&w, "pod", pod);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
}

/* ---- the answer ---- */

static int read_bound(struct vpa_arena *arena, const struct vpa_json *item, const char *path,
                      struct vpa_resource_list *out)
{
    return vpa_resource_list_decode(arena, vpa_json_at(item, path), out, NULL);
}

static int read_container(struct vpa_arena *arena, const struct vpa_json *item,
                          struct vpa_container_recommendation *out)
{
    const char *name = vpa_json_string(vpa_json_find(item, "name"));

    if (!name || read_bound(arena, item, "target.requests", &out->target) < 0 ||
        read_bound(arena, item, "minRecommended.requests", &out->lower_bound) < 0 ||
        read_bound(arena, item, "maxRecommended.requests", &out->upper_bound) < 0)
        return -1;
    out->container_name = name;
    out->uncapped_target = out->target;
    return 0;
}

/* The result for the metric: "Recommendation" when *out is one. */
static const char *read_answer(struct vpa_arena *arena, const char *text, size_t len,
                               struct vpa_recommendation *out)
{
    const struct vpa_json *root, *list;
    struct vpa_recommendation rec = {.present = true};
    struct vpa_error err;

    if (vpa_json_parse(arena, text, len, &root, &err) < 0)
        return "Garbled";
    if (vpa_json_string(vpa_json_at(root, "status.error")))
        return "NoRecommendation";
    list = vpa_json_at(root, "status.recommendation.containerRecommendations");
    size_t count = vpa_json_count(list);
    if (!vpa_json_is_array(list) || count == 0 || count > VPA_LIST_MAX)
        return "Garbled";
    rec.containers = vpa_arena_zalloc(arena, count * sizeof(*rec.containers));
    vpa_json_foreach (item, list)
        if (read_container(arena, item, &rec.containers[rec.container_count++]) < 0)
            return "Garbled";
    vpa_recommendation_index(arena, &rec);
    *out = rec;
    return "Recommendation";
}

static const char *ask(struct adviser *a, struct vpa_arena *arena, struct vpa_buf *body,
                       struct vpa_recommendation *out)
{
    const char *text = NULL;
    int status = 0;
    size_t len = 0;

    pthread_mutex_lock(&a->lock);
    enum turn turn = take_turn(a);
    if (turn == TURN_TRY || turn == TURN_WAIT) {
        struct question *q = put_question(a, body, turn == TURN_WAIT);

        text = turn == TURN_WAIT ? await(q, arena, &status, &len) : NULL;
    }
    pthread_mutex_unlock(&a->lock);
    if (turn == TURN_BUSY)
        return "Busy";
    if (turn != TURN_WAIT)
        return "NotAsked";
    if (!text)
        return "Failed";
    return status == 200 ? read_answer(arena, text, len, out) : "Refused";
}

bool adviser_ask(struct adviser *a, struct vpa_arena *arena, const char *ns,
                 const struct vpa_json *pod, struct vpa_recommendation *out)
{
    vpa_auto_buf body = VPA_BUF(ADVISER_BODY_MAX);
    const char *result = "TooLong";

    write_question(&body, ns, pod);
    *out = (struct vpa_recommendation){0};
    if (!vpa_buf_failed(&body))
        result = ask(a, arena, &body, out);
    vpa_metric_inc(&meter_queries, result);
    return out->present;
}

/* ---- life ---- */

struct adviser *adviser_new(const struct adviser_options *options)
{
    struct adviser *a = vpa_xcalloc(1, sizeof(*a));

    a->options = *options;
    if (!a->options.monotonic)
        a->options.monotonic = vpa_monotonic_read;
    a->pause = ADVISER_PAUSE;
    pthread_mutex_init(&a->lock, NULL);
    vpa_monotonic_cond_init(&a->changed);
    return a;
}

void adviser_stop(struct adviser *a)
{
    pthread_mutex_lock(&a->lock);
    a->stopping = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

void adviser_free(struct adviser *a)
{
    if (!a)
        return;
    vpa_loop_unpost(a->options.loop, on_posted, a);
    while (a->questions) {
        if (a->questions->exchange)
            vpa_transport_cancel(a->options.transport, a->questions->exchange);
        drop(a->questions);
    }
    vpa_transport_free(a->options.transport);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}
