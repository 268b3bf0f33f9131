/*
 * From HTTP to admit() and back.
 *
 * A request needs three pieces of memory: an arena for everything parsed, the text of the answer,
 * which goes to the HTTP library, and a patch in between. The arena is kept from request to
 * request: each thread takes one from a small pool and gives it back.
 */
#include "server.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "meters.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/net/monotonic.h"
#include "vpa/net/rate.h"

#define CONTENT_TYPE "application/json"
#define ARENA_FIRST_CHUNK ((size_t)64 * 1024)

struct scratch {
    struct scratch *next;
    struct vpa_arena arena;
};

/*
 * A pod can arrive before its ReplicaSet has come over our watch; then the request waits a little
 * for the next snapshot. So that nobody can keep the threads waiting, at most a fifth of the time
 * goes there.
 */
#define OWNER_WAIT (30 * VPA_MILLISECOND)
#define OWNER_WAIT_SHARE 5

/* Two threads share the handshakes and the ordinary requests, two more take those with large
 * bodies, so that a hostile one keeps no other waiting. More would only share the half processor
 * that the manifest grants. */
#define THREADS 2
#define WORKERS 2

/* Lines about requests that anybody can send. */
#define COMPLAINTS_PER_SECOND 10
#define COMPLAINTS_AT_ONCE 100
#define SHOWN_MAX 256 /* of a text that the peer has chosen */

#define REFUSALS_MAX 16 /* kinds of failed handshakes that are told apart */

struct server {
    int64_t next_wait;            /* guarded by lock: no waiting before (monotonic) */
    struct vpa_http_server *http; /* NULL when unbound */
    struct snapshot_cell *cell;
    struct admit_options admit;
    struct vpa_ledger *ledger; /* NULL: none */
    const struct vpa_loop *loop;
    pthread_mutex_t lock;
    struct vpa_rate complaints; /* guarded by lock */
    int64_t complaints_dropped; /* guarded by lock; since the last one that was logged */
    struct scratch *pool;       /* guarded by lock; as many as there were requests at once */
    const char *refusals[REFUSALS_MAX]; /* guarded by lock; kinds of handshakes that failed */
};

static struct scratch *take_scratch(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    struct scratch *scratch = server->pool;
    if (scratch)
        server->pool = scratch->next;
    pthread_mutex_unlock(&server->lock);

    if (!scratch) {
        scratch = vpa_xcalloc(1, sizeof(*scratch));
        vpa_arena_init(&scratch->arena, ARENA_FIRST_CHUNK);
    }
    return scratch;
}

static void give_scratch(struct server *server, struct scratch *scratch)
{
    vpa_arena_clear(&scratch->arena);
    pthread_mutex_lock(&server->lock);
    scratch->next = server->pool;
    server->pool = scratch;
    pthread_mutex_unlock(&server->lock);
}

static double seconds_between(int64_t from, int64_t to)
{
    return (double)(to - from) / (double)VPA_SECOND;
}

/* The very text, without blanks around it, as Go's server gives headers. */
static bool is_json(const char *content_type)
{
    const struct vpa_slice text = {content_type, strlen(content_type)};

    return vpa_slice_eq(vpa_slice_trim(text), CONTENT_TYPE);
}

/* False when there were too many lines already: whoever can reach the port must not fill the disk.
 * *dropped: how many were not written since the last one. */
static bool may_log(struct server *server, int64_t *dropped)
{
    pthread_mutex_lock(&server->lock);
    bool allowed = vpa_rate_allow(&server->complaints, vpa_monotonic_read());
    *dropped = server->complaints_dropped;
    server->complaints_dropped = allowed ? 0 : *dropped + 1;
    pthread_mutex_unlock(&server->lock);
    return allowed;
}

static void complain(struct server *server, const char *message, const char *why)
{
    vpa_auto_free char *shown = vpa_xstrndup(why, strnlen(why, SHOWN_MAX));
    int64_t dropped;

    if (may_log(server, &dropped))
        VPA_ERROR(message, VPA_KV("err", shown), VPA_KV("notLogged", dropped));
}

/* Requests that are refused before anything is read of them; true when answered. */
static bool refuse(struct server *server, const struct vpa_server_request *request,
                   const char *content_type, struct vpa_server_response *response)
{
    if (request->body_too_large) {
        complain(server, "Request payload too large",
                 "longer than 5 MiB, or too many large ones at once");
        vpa_server_reply_text(response, 413, "request payload too large\n");
        response->nosniff = true;
        return true;
    }
    if (!content_type || !is_json(content_type)) {
        complain(server, "Unexpected content type, expected " CONTENT_TYPE,
                 content_type ? content_type : "");
        *response = (struct vpa_server_response){.status = 200};
        return true;
    }
    return false;
}

static void count(const struct admit_result *result, int64_t received, int64_t read,
                  int64_t admitted, int64_t built)
{
    double total = seconds_between(received, built);

    if (result->resource == ADMIT_POD)
        vpa_metric_inc(&meter_pods, result->status == ADMIT_APPLIED ? "true" : "false");
    if (result->calculation_error)
        vpa_metric_inc(&meter_calculation_failures);
    vpa_metric_observe(&meter_step_seconds, seconds_between(received, read), "read_request");
    vpa_metric_observe(&meter_step_seconds, seconds_between(read, admitted), "admit");
    vpa_metric_observe(&meter_step_seconds, seconds_between(admitted, built), "build_response");
    /* The HTTP library writes it after this call. */
    vpa_metric_observe(&meter_step_seconds, 0, "write_response");
    vpa_metric_observe(&meter_step_seconds, total, "total");
    vpa_metric_observe(&meter_admission_seconds, total, admit_status_name(result->status),
                       admit_resource_name(result->resource));
}

/* How long this request may wait for its owners, 0 for not at all. */
static vpa_duration waiting_time(struct server *server, int64_t now)
{
    vpa_duration wait = 0;

    pthread_mutex_lock(&server->lock);
    if (server->http && now >= server->next_wait) {
        wait = OWNER_WAIT;
        server->next_wait = now + OWNER_WAIT_SHARE * OWNER_WAIT;
    }
    pthread_mutex_unlock(&server->lock);
    return wait;
}

static bool is_self_test(const struct vpa_server_request *request)
{
    return strcmp(request->path, SERVER_SELF_TEST_PATH) == 0;
}

static void write_down(struct server *server, const struct vpa_server_request *request,
                       struct admit_result *result)
{
    if (!result->entry.decision || is_self_test(request))
        return;
    result->entry.time = vpa_loop_now(server->loop);
    vpa_ledger_record(server->ledger, &result->entry);
}

/* What was wrong with a pod that was admitted nevertheless. */
static void tell_of_pod(struct server *server, const struct admit_result *result)
{
    int64_t dropped;

    if (result->owner_error && may_log(server, &dropped))
        VPA_ERROR("Failed to get parent controller for pod", VPA_KV("err", result->owner_error),
                  VPA_KV("namespace", result->pod_ns), VPA_KV("pod", result->pod_name),
                  VPA_KV("notLogged", dropped));
    if (!result->unusable_boosts || !may_log(server, &dropped))
        return;
    if (result->unboosted_container)
        VPA_WARN("Startup boost cannot be used, container is not boosted",
                 VPA_KV("namespace", result->pod_ns), VPA_KV("pod", result->pod_name),
                 VPA_KV("container", result->unboosted_container),
                 VPA_KV("containers", (int64_t)result->unusable_boosts),
                 VPA_KV("reason", result->unboosted_why), VPA_KV("notLogged", dropped));
    else
        VPA_WARN("Startup boosts do not fit, no container of the pod is boosted",
                 VPA_KV("namespace", result->pod_ns), VPA_KV("pod", result->pod_name),
                 VPA_KV("reason", result->unboosted_why), VPA_KV("notLogged", dropped));
}

/* What was made does not reach the API server. */
static void refuse_late(struct server *server, struct admit_result *result)
{
    result->status = ADMIT_ERROR;
    result->entry.decision = NULL;
    complain(server, "There is no room for an answer, the request is refused",
             "too many answers wait to be read");
}

/* Answers from the newest snapshot, and from newer ones while an owner of the pod is not known and
 * there is time. False: there is no room for the answer. */
static bool answer(struct server *server, struct vpa_arena *arena,
                   const struct vpa_server_request *request, struct vpa_buf *out,
                   struct admit_result *result)
{
    struct snapshot *snapshot = snapshot_acquire(server->cell);
    int64_t until = 0;

    for (;;) {
        admit(snapshot, &server->admit, arena, request->body, request->body_len, out, result);
        if (!result->owner_unknown)
            break;
        int64_t now = vpa_monotonic_read();
        if (!until)
            until = now + waiting_time(server, now);
        if (now >= until)
            break;
        snapshot = snapshot_wait(server->cell, snapshot, until - now);
        vpa_buf_clear(out);
        vpa_arena_clear(arena);
    }
    if (result->complaint)
        complain(server, result->complaint, result->complaint_why);
    bool room = vpa_server_take_room(request, out->len);
    if (room)
        tell_of_pod(server, result);
    else
        refuse_late(server, result);
    write_down(server, request, result);
    snapshot_unref(snapshot);
    return room;
}

void server_answer(struct server *server, const struct vpa_server_request *request,
                   const char *content_type, struct vpa_server_response *response)
{
    int64_t start = vpa_monotonic_read();
    int64_t received = request->received_ns ? request->received_ns : start;
    struct admit_result result;
    struct vpa_buf out;

    if (refuse(server, request, content_type, response)) {
        double total = seconds_between(received, vpa_monotonic_read());
        vpa_metric_observe(&meter_step_seconds, total, "total");
        vpa_metric_observe(&meter_admission_seconds, total, "error", "unknown");
        return;
    }

    struct scratch *scratch = take_scratch(server);
    vpa_buf_init(&out, ADMIT_ANSWER_MAX);
    bool room = answer(server, &scratch->arena, request, &out, &result);
    give_scratch(server, scratch);
    int64_t admitted = vpa_monotonic_read();

    *response = (struct vpa_server_response){
        .status = vpa_buf_failed(&out) ? 500 : 200,
        .content_type = CONTENT_TYPE,
        .body_len = out.len,
    };
    if (room)
        response->body = vpa_buf_take(&out);
    else
        vpa_server_reply_no_room(response);
    vpa_buf_release(&out);
    if (!is_self_test(request))
        count(&result, received, start, admitted, vpa_monotonic_read());
}

static void on_request(void *ctx, const struct vpa_server_request *request,
                       struct vpa_server_response *response)
{
    server_answer(ctx, request, vpa_server_header(request, "Content-Type"), response);
}

/* Each kind is said once: a stranger that knocks without end must not fill the disk. */
static bool is_new_refusal(struct server *server, const char *reason)
{
    bool is_new = false;

    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < REFUSALS_MAX; i++) {
        if (!server->refusals[i]) {
            server->refusals[i] = reason;
            is_new = true;
        }
        if (strcmp(server->refusals[i], reason) == 0)
            break;
    }
    pthread_mutex_unlock(&server->lock);
    return is_new;
}

void server_handshake_failed(void *ctx, const char *reason)
{
    vpa_metric_inc(&meter_handshakes, reason);
    if (is_new_refusal(ctx, reason))
        VPA_WARN("A TLS handshake with the webhook failed; further ones of the kind are counted",
                 VPA_KV("reason", reason));
}

struct server *server_new_unbound(const struct server_options *options)
{
    struct server *server = vpa_xcalloc(1, sizeof(*server));

    server->cell = options->cell;
    server->admit = options->admit;
    server->admit.explain = options->ledger != NULL;
    server->ledger = options->ledger;
    server->loop = options->loop;
    vpa_rate_init(&server->complaints, COMPLAINTS_PER_SECOND, COMPLAINTS_AT_ONCE);
    pthread_mutex_init(&server->lock, NULL);
    return server;
}

struct server *server_new(const struct server_options *options, struct vpa_error *err)
{
    struct server *server = server_new_unbound(options);
    vpa_auto_free char *address = vpa_xprintf(":%d", options->port);
    const struct vpa_http_server_options http = {
        .address = address,
        .handler = on_request,
        .ctx = server,
        .threads = THREADS,
        .workers = WORKERS,
        .tls = options->tls,
        .on_failed_handshake = server_handshake_failed,
        .body_max = VPA_SERVER_BODY_MAX,
    };

    server->http = vpa_http_server_new(options->loop, &http, err);
    if (server->http)
        return server;
    server_free(server);
    return NULL;
}

void server_farewell(struct server *server)
{
    vpa_http_server_farewell(server->http);
}

void server_free(struct server *server)
{
    if (!server)
        return;
    vpa_http_server_free(server->http);
    while (server->pool) {
        struct scratch *scratch = server->pool;
        server->pool = scratch->next;
        vpa_arena_release(&scratch->arena);
        free(scratch);
    }
    pthread_mutex_destroy(&server->lock);
    free(server);
}

int server_port(const struct server *server)
{
    return vpa_http_server_port(server->http);
}

int server_reload(struct server *server, const char *cert_pem, const char *key_pem,
                  struct vpa_error *err)
{
    return vpa_http_server_reload(server->http, cert_pem, key_pem, err);
}
