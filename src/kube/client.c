/*
 * A request goes through these states, each left by a callback on the loop:
 *
 *     waiting   for a token of the rate limiter, or for the pause that Retry-After asked for
 *               (timer)
 *     running   with the transport (exchange)
 *     ended     on_done, or a failure before the transport was reached (timer with delay 0)
 *
 * Repetition follows client-go: any 429 or 5xx that carries Retry-After, and for reads a lost
 * connection; at most ten times and with pauses of two minutes together. A call whose data was
 * already handed on is never repeated.
 *
 * The last word is may_send(): the transport asks it when the bytes could go out at once. Whatever
 * held the call up, a limiter, a pause, a connection that took its time, or a process that was
 * stopped, an old decision and a write of a daemon that no longer leads end there.
 */
#include "vpa/kube/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "reach.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/net/monotonic.h"
#include "vpa/net/rate.h"

#define CALL_TIMEOUT VPA_MINUTE
#define STREAM_IDLE_TIMEOUT VPA_MINUTE
#define STREAM_RATE_MIN ((size_t)16 << 10) /* a page of 500 pods, 4 MB, may take five minutes */
#define FIXED_HEADERS 4
#define WAIT_LOG_VERBOSE (50 * VPA_MILLISECOND)
#define WAIT_LOG VPA_SECOND
#define WAIT_MAX VPA_HOUR
#define RETRY_AFTER_MAX 60 /* seconds: a longer pause that somebody asks for is cut */

#define STATUS_CODE_MAX 16

struct vpa_kube_client {
    struct vpa_kube_client_options options;
    char *user_agent;
    char *host; /* of the API server, with its port */
    char *last_warning;
    struct vpa_rate rate;
    LIST_HEAD(, vpa_kube_request) requests;
    size_t in_flight;
};

struct vpa_kube_request {
    struct vpa_kube_client *client;
    LIST_ENTRY(vpa_kube_request) link;
    struct vpa_kube_call call; /* texts owned */
    vpa_kube_done_fn done;
    void *ctx;
    struct vpa_exchange *exchange; /* running */
    struct vpa_timer *timer;       /* waiting */
    int64_t started;
    uint64_t answers_before; /* of anybody, when this attempt began */
    int repeats;
    vpa_duration paused; /* on Retry-After, together */
    bool gave_data;
    bool opened;
    bool unanswered;        /* a try of a change went out, and may have been carried out */
    struct vpa_error early; /* failure before the transport */
    bool failed_early;
    bool pausing; /* before a repetition; the token is taken afterwards */
};

static const struct {
    const char *method, *content_type;
} verbs[VPA_KUBE_VERB_COUNT] = {
    [VPA_KUBE_GET] = {"GET", NULL},
    [VPA_KUBE_LIST] = {"GET", NULL},
    [VPA_KUBE_WATCH] = {"GET", NULL},
    [VPA_KUBE_CREATE] = {"POST", "application/json"},
    [VPA_KUBE_UPDATE] = {"PUT", "application/json"},
    [VPA_KUBE_PATCH_JSON] = {"PATCH", "application/json-patch+json"},
    [VPA_KUBE_PATCH_MERGE] = {"PATCH", "application/merge-patch+json"},
    [VPA_KUBE_PATCH_STRATEGIC] = {"PATCH", "application/strategic-merge-patch+json"},
    [VPA_KUBE_DELETE] = {"DELETE", "application/json"},
};

/* Client */

struct vpa_metric vpa_kube_requests = VPA_COUNTER(
    "rest_client_requests_total",
    "HTTP requests to the API server, by status code, method and host.", "code", "method", "host");

/* The name and the labels are those of client-go, which all of Kubernetes shares. */
static void count_request(const struct vpa_kube_request *r, int status)
{
    char code[STATUS_CODE_MAX];

    snprintf(code, sizeof(code), "%d", status);
    vpa_metric_inc(&vpa_kube_requests, status ? code : "<error>", verbs[r->call.verb].method,
                   r->client->host);
}

static char *host_of(const struct vpa_kube_config *config)
{
    const char *server = config ? vpa_kube_config_server(config) : "";
    const char *scheme_end = strstr(server, "://");
    const char *host = scheme_end ? scheme_end + strlen("://") : server;

    return vpa_xstrndup(host, strcspn(host, "/"));
}

struct vpa_kube_client *vpa_kube_client_new(const struct vpa_kube_client_options *options,
                                            struct vpa_error *err)
{
    struct vpa_rate rate;

    if (vpa_rate_init_client(&rate, options->qps, options->burst, err) < 0)
        return NULL;
    struct vpa_kube_client *client = vpa_xcalloc(1, sizeof(*client));
    client->options = *options;
    client->rate = rate;
    client->user_agent =
        vpa_xstrdup(options->user_agent ? options->user_agent : "plumb/" PLUMB_VERSION " (linux)");
    client->host = host_of(options->config);
    return client;
}

static void request_free(struct vpa_kube_request *r)
{
    LIST_REMOVE(r, link);
    r->client->in_flight--;
    vpa_timer_free(r->timer);
    free((char *)(uintptr_t)r->call.path);
    free((char *)(uintptr_t)r->call.body);
    free((char *)(uintptr_t)r->call.accept);
    free(r);
}

void vpa_kube_cancel(struct vpa_kube_request *r)
{
    if (r->exchange)
        vpa_transport_cancel(r->client->options.transport, r->exchange);
    request_free(r);
}

void vpa_kube_client_free(struct vpa_kube_client *client)
{
    if (!client)
        return;
    while (!LIST_EMPTY(&client->requests))
        vpa_kube_cancel(LIST_FIRST(&client->requests));
    free(client->user_agent);
    free(client->host);
    free(client->last_warning);
    free(client);
}

struct vpa_loop *vpa_kube_client_loop(const struct vpa_kube_client *client)
{
    return client->options.loop;
}

/* "v1" of /api/v1/..., "apps/v1" of /apis/apps/v1/...; heap. */
static char *api_version_of(const char *path)
{
    bool core = vpa_str_starts_with(path, "/api/");
    const char *begin = path + (core ? strlen("/api/") : strlen("/apis/"));
    size_t len = strcspn(begin, "/");

    if (!core && begin[len] == '/')
        len += 1 + strcspn(begin + len + 1, "/");
    return vpa_xstrndup(begin, len);
}

void vpa_kube_client_tell_unusable(const struct vpa_kube_client *client, const char *path,
                                   const char *resource, const struct vpa_unusable_object *what)
{
    if (!client->options.on_unusable)
        return;
    vpa_auto_free char *api_version = api_version_of(path);

    client->options.on_unusable(client->options.unusable_ctx, api_version, resource, what);
}

struct vpa_random *vpa_kube_client_random(const struct vpa_kube_client *client)
{
    return client->options.random;
}

vpa_duration vpa_kube_client_ahead(const struct vpa_kube_client *client)
{
    const struct vpa_transport *t = client->options.transport;
    const struct vpa_loop *loop = client->options.loop;

    if (!t->dated)
        return 0;
    return vpa_time_sub(vpa_loop_now(loop),
                        vpa_time_from_unix(0, t->peer_offset + vpa_loop_monotonic(loop)));
}

size_t vpa_kube_client_in_flight(const struct vpa_kube_client *client)
{
    return client->in_flight;
}

/* One attempt */

static void schedule(struct vpa_kube_request *r);

/* What is left of the time in which the call may still be sent. */
static vpa_duration time_left(const struct vpa_kube_request *r)
{
    if (r->call.max_age <= 0)
        return INT64_MAX;
    return r->call.max_age - (vpa_loop_monotonic(r->client->options.loop) - r->started);
}

static bool is_write(enum vpa_kube_verb verb)
{
    return verb > VPA_KUBE_WATCH;
}

static bool changes(const struct vpa_kube_call *call)
{
    return is_write(call->verb) && !call->only_asks;
}

static bool streams(const struct vpa_kube_request *r)
{
    return r->call.on_data != NULL;
}

static void finish(struct vpa_kube_request *r, const struct vpa_kube_result *result,
                   const struct vpa_error *err)
{
    vpa_kube_done_fn done = r->done;
    void *ctx = r->ctx;

    request_free(r);
    done(ctx, result, err);
}

/* Whether the answer asks for another attempt, and after how many seconds (4.3). */
static bool invites_repeat(const struct vpa_kube_request *r, const struct vpa_http_result *http,
                           int *seconds)
{
    if (http->failure == VPA_TRANSPORT_OK) {
        if ((http->status != 429 && http->status < 500) || http->retry_after < 0)
            return false;
        *seconds = http->retry_after < RETRY_AFTER_MAX ? http->retry_after : RETRY_AFTER_MAX;
        return true;
    }
    if (changes(&r->call))
        return false; /* it may have happened */
    *seconds = 1;
    if (http->failure == VPA_TRANSPORT_RESET || http->failure == VPA_TRANSPORT_EOF)
        return true;
    return r->call.verb == VPA_KUBE_WATCH && http->failure == VPA_TRANSPORT_TIMEOUT;
}

/* Whether to send it again, and after which pause. */
static bool wants_repeat(const struct vpa_kube_request *r, const struct vpa_http_result *http,
                         vpa_duration *pause)
{
    int seconds;

    if (r->call.no_retry || r->repeats >= VPA_KUBE_RETRIES_MAX || r->gave_data || r->opened ||
        !invites_repeat(r, http, &seconds))
        return false;
    *pause = seconds * VPA_SECOND;
    return *pause <= VPA_KUBE_PAUSES_MAX - r->paused && *pause < time_left(r);
}

static void log_warning(struct vpa_kube_client *client, const char *warning)
{
    if (!*warning || (client->last_warning && strcmp(client->last_warning, warning) == 0))
        return;
    free(client->last_warning);
    client->last_warning = vpa_xstrdup(warning);
    VPA_WARN("Warning from the API server", VPA_KV("warning", warning));
}

static void fail_transport(const struct vpa_kube_request *r, const struct vpa_http_result *http,
                           struct vpa_error *err)
{
    int path_len = (int)strcspn(r->call.path, "?");

    if (http->failure == VPA_TRANSPORT_UNSENT) {
        *err = r->early; /* may_send() said why */
        vpa_wrap(err, "%s %.*s", verbs[r->call.verb].method, path_len, r->call.path);
        return;
    }
    enum vpa_code code = http->failure == VPA_TRANSPORT_LIMIT     ? VPA_LIMIT
                         : http->failure == VPA_TRANSPORT_STOPPED ? VPA_CANCELLED
                                                                  : VPA_RETRY;

    vpa_fail(err, code, "%s %.*s: %s: %s", verbs[r->call.verb].method, path_len, r->call.path,
             vpa_transport_failure_name(http->failure), http->error);
}

static void note_failure(struct vpa_kube_request *r, const struct vpa_http_result *http,
                         struct vpa_error *err)
{
    struct vpa_reach *reach = &r->client->options.transport->reach;

    if (!r->opened &&
        reach_is_about_server(http->failure, !changes(&r->call) || r->call.repeatable))
        reach_failed(reach, r->answers_before, vpa_loop_monotonic(r->client->options.loop), err);
    else
        err->told = reach->away || (r->opened && r->call.verb == VPA_KUBE_WATCH &&
                                    http->failure != VPA_TRANSPORT_STOPPED);
}

static bool is_success(const struct vpa_http_result *http)
{
    return http->failure == VPA_TRANSPORT_OK && http->status >= 200 && http->status <= 206;
}

/* What the answer says of the failure, or that there was none. */
static void read_failure(struct vpa_kube_request *r, const struct vpa_http_result *http,
                         struct vpa_arena *arena, struct vpa_kube_result *result,
                         struct vpa_error *err)
{
    if (http->failure != VPA_TRANSPORT_OK) {
        fail_transport(r, http, err);
        note_failure(r, http, err);
    } else {
        vpa_kube_status_decode(arena, r->call.verb, r->call.path, http->status, http->body,
                               http->body_len, &result->status);
        vpa_fail(err, vpa_kube_error_code(result->status.code, result->status.reason), "%s",
                 result->status.message);
    }
    if (changes(&r->call) && vpa_kube_leaves_open(result))
        r->unanswered = true;
    result->unanswered = r->unanswered;
}

static void note_attempt(struct vpa_kube_request *r, const struct vpa_http_result *http)
{
    struct vpa_kube_client *client = r->client;

    count_request(r, http->status);
    if (client->options.on_attempt)
        client->options.on_attempt(client->options.attempt_ctx, http->status != 0);
    log_warning(client, http->warning);
    if (http->status == 401 && client->options.config)
        vpa_kube_config_unauthorized(client->options.config);
}

static void on_exchange_done(void *ctx, const struct vpa_http_result *http)
{
    struct vpa_kube_request *r = ctx;
    struct vpa_kube_result result = {
        .status_code = http->status,
        .failure = http->failure,
        .retry_after = http->retry_after,
        .body = "",
        .status = {.reason = "", .message = "", .name = "", .group = "", .kind = "", .uid = ""}};
    vpa_auto_arena arena = {0};
    struct vpa_error err;
    vpa_duration pause;

    r->exchange = NULL;
    note_attempt(r, http);
    if (is_success(http)) {
        result.body = http->body;
        result.body_len = http->body_len;
        finish(r, &result, NULL);
        return;
    }
    read_failure(r, http, &arena, &result, &err);
    if (!wants_repeat(r, http, &pause)) {
        finish(r, &result, &err);
        return;
    }
    r->repeats++;
    r->paused += pause;
    r->pausing = true;
    vpa_timer_start(r->timer, pause);
}

static int on_exchange_data(void *ctx, const char *bytes, size_t len)
{
    struct vpa_kube_request *r = ctx;

    r->gave_data = true;
    return r->call.on_data(r->ctx, bytes, len);
}

static void on_exchange_head(void *ctx, int status)
{
    struct vpa_kube_request *r = ctx;

    reach_answered(&r->client->options.transport->reach,
                   vpa_loop_monotonic(r->client->options.loop));
    if (status < 200 || status > 206)
        return;
    r->opened = streams(r);
    if (r->call.on_open)
        r->call.on_open(r->ctx);
}

static int check_age(struct vpa_kube_request *r)
{
    char age[VPA_DURATION_TEXT_MAX];

    if (time_left(r) > 0)
        return 0;
    vpa_duration_format(r->call.max_age, age);
    return vpa_fail(&r->early, VPA_CANCELLED, "not sent: what it rests on is older than %s", age);
}

static int check_fence(struct vpa_kube_request *r)
{
    const struct vpa_kube_client_options *options = &r->client->options;

    /* A DELETE with a body takes its options from there alone. */
    if (options->dry_run && r->call.verb == VPA_KUBE_DELETE)
        return vpa_fail(&r->early, VPA_CANCELLED, "not sent: nothing is deleted in a dry run");
    if (!changes(&r->call) || !options->may_write || options->may_write(options->may_write_ctx))
        return 0;
    return vpa_fail(&r->early, VPA_CANCELLED, "not sent: no longer the leader");
}

static bool may_send(void *ctx)
{
    struct vpa_kube_request *r = ctx;

    if (check_age(r) < 0 || check_fence(r) < 0)
        return false;
    if (!r->call.wanted || r->call.wanted(r->ctx))
        return true;
    vpa_fail(&r->early, VPA_CANCELLED, "not sent: no longer wanted");
    return false;
}

/* Of one attempt; an old call that goes on is stopped by may_send(), not by the clock of the
 * transport. */
static vpa_duration attempt_timeout(const struct vpa_kube_request *r)
{
    vpa_duration timeout = r->call.timeout ? r->call.timeout : streams(r) ? 0 : CALL_TIMEOUT;
    vpa_duration left = time_left(r);

    return left > 0 && left < INT64_MAX && (timeout == 0 || left < timeout) ? left : timeout;
}

static int start_exchange(struct vpa_kube_request *r)
{
    struct vpa_kube_client *client = r->client;
    const struct vpa_kube_call *call = &r->call;
    struct vpa_header headers[FIXED_HEADERS + VPA_KUBE_AUTH_HEADERS_MAX];
    size_t count = 0, auth_count = 0;
    const struct vpa_header *auth = NULL;

    headers[count++] = (struct vpa_header){"User-Agent", client->user_agent};
    headers[count++] =
        (struct vpa_header){"Accept", call->accept ? call->accept : "application/json"};
    if (call->body)
        headers[count++] = (struct vpa_header){"Content-Type", verbs[call->verb].content_type};
    if (client->options.config &&
        vpa_kube_config_headers(client->options.config, vpa_monotonic_read(), &auth, &auth_count,
                                &r->early) < 0)
        return -1;
    for (size_t i = 0; i < auth_count && i < VPA_KUBE_AUTH_HEADERS_MAX; i++)
        headers[count++] = auth[i];

    const struct vpa_http_request request = {
        .method = verbs[call->verb].method,
        .target = call->path,
        .headers = headers,
        .header_count = count,
        .body = call->body,
        .body_len = call->body_len,
        .response_max = call->response_max,
        .timeout = attempt_timeout(r),
        .idle_timeout = streams(r) && !call->timeout ? STREAM_IDLE_TIMEOUT : 0,
        .rate_min = streams(r) && !call->timeout ? STREAM_RATE_MIN : 0,
        .watch = call->verb == VPA_KUBE_WATCH,
        .repeatable = call->repeatable,
    };
    const struct vpa_http_handler handler = {
        .ctx = r,
        .may_send = may_send,
        .on_head = on_exchange_head,
        .on_data = streams(r) ? on_exchange_data : NULL,
        .on_done = on_exchange_done,
    };
    r->answers_before = client->options.transport->reach.answers;
    r->exchange = vpa_transport_start(client->options.transport, &request, &handler);
    return 0;
}

static void on_turn(void *ctx)
{
    struct vpa_kube_request *r = ctx;
    const struct vpa_kube_result nothing = {
        .failure = VPA_TRANSPORT_OTHER,
        .body = "",
        .retry_after = -1,
        .unanswered = r->unanswered,
        .status = {.reason = "", .message = "", .name = "", .group = "", .kind = "", .uid = ""}};

    if (r->pausing) {
        r->pausing = false;
        schedule(r);
        return;
    }
    if (!r->failed_early && start_exchange(r) == 0)
        return;
    struct vpa_error early = r->early;
    finish(r, &nothing, &early);
}

static bool is_limited(const struct vpa_kube_request *r)
{
    /* Opening a watch is free, opening it again within one call is not (4.1). */
    return !r->call.unlimited && (r->call.verb != VPA_KUBE_WATCH || r->repeats > 0);
}

/* A token that would come too late is not taken: others can use it. */
static int take_token(struct vpa_kube_request *r, vpa_duration *wait)
{
    int64_t now = vpa_loop_monotonic(r->client->options.loop);
    vpa_duration left = time_left(r);

    if (vpa_rate_reserve(&r->client->rate, now, left < WAIT_MAX ? left - 1 : WAIT_MAX, wait))
        return 0;
    if (left < WAIT_MAX)
        return vpa_fail(&r->early, VPA_CANCELLED, "%s %.*s: not sent: %s",
                        verbs[r->call.verb].method, (int)strcspn(r->call.path, "?"), r->call.path,
                        "the rate limit would hold it longer than it may wait");
    return vpa_fail(&r->early, VPA_RETRY, "client rate limit: more than an hour behind");
}

static void schedule(struct vpa_kube_request *r)
{
    vpa_duration wait = 0;

    r->failed_early = is_limited(r) && take_token(r, &wait) < 0;
    if (wait > WAIT_LOG)
        VPA_INFO("Waited before sending request", VPA_KV("delay_ms", wait / VPA_MILLISECOND),
                 VPA_KV("reason", "client-side throttling"));
    else if (wait > WAIT_LOG_VERBOSE)
        VPA_V(3, "Waited before sending request", VPA_KV("delay_ms", wait / VPA_MILLISECOND),
              VPA_KV("reason", "client-side throttling"));
    if (wait == 0 && !r->failed_early && start_exchange(r) == 0)
        return;
    /* A failure before the transport is reported from the loop as every other result is. */
    r->failed_early = r->failed_early || wait == 0;
    vpa_timer_start(r->timer, r->failed_early ? 0 : wait);
}

static char *copy_bytes(const char *bytes, size_t len)
{
    return memcpy(vpa_xmalloc(len + 1), bytes, len);
}

/* Heap. */
static char *path_of(const struct vpa_kube_client *client, const struct vpa_kube_call *call)
{
    vpa_auto_buf path = {0};

    if (!client->options.dry_run || !changes(call))
        return vpa_xstrdup(call->path);
    vpa_buf_init(&path, strlen(call->path) + 64);
    vpa_buf_puts(&path, call->path);
    vpa_kube_query(&path, "dryRun", "All");
    return vpa_xstrdup(vpa_buf_text(&path));
}

struct vpa_kube_request *vpa_kube_start(struct vpa_kube_client *client,
                                        const struct vpa_kube_call *call, vpa_kube_done_fn done,
                                        void *ctx)
{
    struct vpa_kube_request *r = vpa_xcalloc(1, sizeof(*r));

    r->client = client;
    r->call = *call;
    r->call.path = path_of(client, call);
    r->call.body = call->body ? copy_bytes(call->body, call->body_len) : NULL;
    r->call.accept = call->accept ? vpa_xstrdup(call->accept) : NULL;
    r->done = done;
    r->ctx = ctx;
    r->started = vpa_loop_monotonic(client->options.loop);
    r->timer = vpa_timer_new(client->options.loop, on_turn, r);
    LIST_INSERT_HEAD(&client->requests, r, link);
    client->in_flight++;
    schedule(r);
    return r;
}

/* Waiting for one call */

struct waiter {
    struct vpa_arena *arena;
    struct vpa_kube_result *result;
    struct vpa_error *err;
    bool done;
    int rc;
};

static void on_waited(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct waiter *w = ctx;

    if (w->result)
        vpa_kube_result_keep(w->arena, result, w->result);
    if (err && w->err)
        *w->err = *err;
    w->rc = err ? -1 : 0;
    w->done = true;
}

static bool is_waited(void *ctx)
{
    return ((struct waiter *)ctx)->done;
}

int vpa_kube_do(struct vpa_kube_client *client, const struct vpa_kube_call *call,
                struct vpa_arena *arena, struct vpa_kube_result *result, struct vpa_error *err)
{
    struct waiter w = {.arena = arena, .result = result, .err = err};
    struct vpa_kube_call plain = *call;

    plain.on_data = NULL; /* there is no context of the caller to give it */
    plain.on_open = NULL;
    struct vpa_kube_request *r = vpa_kube_start(client, &plain, on_waited, &w);
    if (vpa_loop_wait(client->options.loop, is_waited, &w, INT64_MAX, err) < 0) {
        vpa_kube_cancel(r);
        return vpa_wrap(err, "%s %.*s", verbs[call->verb].method, (int)strcspn(call->path, "?"),
                        call->path);
    }
    return w.rc;
}

int vpa_kube_get_json(struct vpa_kube_client *client, const char *path, struct vpa_arena *arena,
                      const struct vpa_json **root, struct vpa_error *err)
{
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .path = path};
    vpa_auto_arena text = {0};
    struct vpa_kube_result result;

    if (vpa_kube_do(client, &call, &text, &result, err) < 0)
        return -1;
    if (vpa_json_parse(arena, result.body, result.body_len, root, err) < 0)
        return vpa_wrap(err, "GET %.*s", (int)strcspn(path, "?"), path);
    return 0;
}
