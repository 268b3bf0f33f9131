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
#include <time.h>

#include "meters.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"

#define CONTENT_TYPE "application/json"
#define ARENA_FIRST_CHUNK ((size_t)64 * 1024)

struct scratch {
    struct scratch *next;
    struct vpa_arena arena;
};

struct server {
    struct vpa_http_server *http; /* NULL when unbound */
    struct snapshot_cell *cell;
    struct admit_options admit;
    pthread_mutex_t lock;
    struct scratch *pool; /* guarded by lock; as many as there were requests at once */
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

static int64_t monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * VPA_SECOND + now.tv_nsec;
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

/* Requests that are refused before anything is read of them; true when answered. */
static bool refuse(const struct vpa_server_request *request, const char *content_type,
                   struct vpa_server_response *response)
{
    if (request->body_too_large) {
        VPA_ERROR("Request payload too large", VPA_KV("limit", (int64_t)VPA_SERVER_BODY_MAX));
        vpa_server_reply_text(response, 413, "request payload too large\n");
        response->nosniff = true;
        return true;
    }
    if (!content_type || !is_json(content_type)) {
        VPA_ERROR("Unexpected content type", VPA_KV("got", content_type ? content_type : ""),
                  VPA_KV("expect", CONTENT_TYPE));
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
        meter_pod(result->status == ADMIT_APPLIED);
    if (result->calculation_failed)
        meter_calculation_failed();
    meter_step("read_request", seconds_between(received, read));
    meter_step("admit", seconds_between(read, admitted));
    meter_step("build_response", seconds_between(admitted, built));
    meter_step("write_response", 0); /* the HTTP library writes it after this call */
    meter_step("total", total);
    meter_admission(admit_status_name(result->status), admit_resource_name(result->resource),
                    total);
}

void server_answer(struct server *server, const struct vpa_server_request *request,
                   const char *content_type, struct vpa_server_response *response)
{
    int64_t start = monotonic();
    int64_t received = request->received_ns ? request->received_ns : start;
    struct admit_result result;
    struct vpa_buf out;

    if (refuse(request, content_type, response)) {
        double total = seconds_between(received, monotonic());
        meter_step("total", total);
        meter_admission("error", "unknown", total);
        return;
    }

    struct scratch *scratch = take_scratch(server);
    struct snapshot *snapshot = snapshot_acquire(server->cell);
    vpa_buf_init(&out, ADMIT_ANSWER_MAX);
    admit(snapshot, &server->admit, &scratch->arena, request->body, request->body_len, &out,
          &result);
    snapshot_unref(snapshot);
    give_scratch(server, scratch);
    int64_t admitted = monotonic();

    *response = (struct vpa_server_response){
        .status = vpa_buf_failed(&out) ? 500 : 200,
        .content_type = CONTENT_TYPE,
        .body_len = out.len,
    };
    response->body = vpa_buf_take(&out);
    vpa_buf_release(&out);
    if (strcmp(request->path, SERVER_SELF_TEST_PATH) != 0)
        count(&result, received, start, admitted, monotonic());
}

static void on_request(void *ctx, const struct vpa_server_request *request,
                       struct vpa_server_response *response)
{
    server_answer(ctx, request, vpa_server_header(request, "Content-Type"), response);
}

struct server *server_new_unbound(const struct server_options *options)
{
    struct server *server = vpa_xcalloc(1, sizeof(*server));

    server->cell = options->cell;
    server->admit = options->admit;
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
        .threads = 1,
        .tls = options->tls,
        .body_max = VPA_SERVER_BODY_MAX,
    };

    server->http = vpa_http_server_new(options->loop, &http, err);
    if (server->http)
        return server;
    server_free(server);
    return NULL;
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
