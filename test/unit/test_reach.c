/* An API server that goes away: what the log says while a daemon's many callers fail, in virtual
 * time. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client_fixture.h"
#include "suite.h"
#include "vpa/base/log.h"
#include "vpa/kube/reflector.h"

#define REFLECTORS 10

static struct {
    bool away;
    enum vpa_transport_failure failure; /* of new requests while it is away */
    struct vpa_memory_stream *watches[64];
    size_t count;
} server;
static char log_path[64];

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    if (server.away) {
        if (server.failure == VPA_TRANSPORT_TIMEOUT)
            vpa_memory_reply_delay(r, VPA_HOUR);
        else
            vpa_memory_reply_fail(r, server.failure);
        return;
    }
    if (strcmp(q->method, "GET") != 0) {
        vpa_memory_reply_json(r, 200, q->body);
        return;
    }
    const char *watch = vpa_memory_query(q, "watch");
    if (watch && strcmp(watch, "true") == 0)
        server.watches[server.count++ % 64] = vpa_memory_reply_stream(r, 200, NULL, NULL);
    else if (strstr(q->path, "leases"))
        vpa_memory_reply_status(r, 404, NULL, "no lease");
    else
        vpa_memory_reply_json(r, 200, "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
}

static void setup(void)
{
    struct vpa_log_options options = {.skip_headers = true};

    snprintf(log_path, sizeof(log_path), "/tmp/plumb-reach-XXXXXX");
    options.fd = mkstemp(log_path);
    ck_assert_int_ge(options.fd, 0);
    ck_assert_int_eq(vpa_log_configure(&options, NULL), 0);
    memset(&server, 0, sizeof(server));
    start_client(serve, 1767225600, 3);
}

static void teardown(void)
{
    stop_client();
    unlink(log_path);
}

/* The lines since the last call. */
static char lines[65536];
static long read_from;

static int count_lines(void)
{
    FILE *f = fopen(log_path, "r");
    int count = 0;

    fseek(f, read_from, SEEK_SET);
    size_t len = fread(lines, 1, sizeof(lines) - 1, f);
    lines[len] = '\0';
    read_from = ftell(f);
    fclose(f);
    for (const char *p = lines; *p; p++)
        count += *p == '\n';
    return count;
}

static int no_object(void *ctx, enum vpa_reflector_event event, const struct vpa_json *object,
                     struct vpa_error *err)
{
    (void)ctx;
    (void)event;
    (void)object;
    (void)err;
    return 0;
}

static void go_away(enum vpa_transport_failure failure)
{
    server.away = true;
    server.failure = failure;
    for (size_t i = 0; i < server.count && failure != VPA_TRANSPORT_TIMEOUT; i++)
        vpa_memory_stream_end(server.watches[i], VPA_TRANSPORT_RESET);
    server.count = 0;
}

static const enum vpa_transport_failure failures[] = {VPA_TRANSPORT_REFUSED, VPA_TRANSPORT_RESET,
                                                      VPA_TRANSPORT_TLS, VPA_TRANSPORT_OTHER};

TEST_EACH(one_line_when_it_goes_and_one_when_it_is_back, failures) {
    struct vpa_reflector *reflectors[REFLECTORS];

    for (int i = 0; i < REFLECTORS; i++) {
        reflectors[i] =
            vpa_reflector_new(&(struct vpa_reflector_options){.client = client,
                                                              .name = "things",
                                                              .path = "/apis/x/v1/things",
                                                              .handler = {.object = no_object}});
        vpa_reflector_start(reflectors[i]);
    }
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(count_lines(), 0);
    go_away(failures[_i]);
    vpa_loop_pump(loop, 25 * VPA_SECOND);
    ck_assert_msg(count_lines() == 1, "%s", lines);
    ck_assert_msg(strstr(lines, "The API server does not answer") != NULL, "%s", lines);
    ck_assert_ptr_nonnull(strstr(lines, vpa_transport_failure_name(failures[_i])));
    server.away = false;
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_msg(count_lines() == 1, "%s", lines);
    ck_assert_msg(strstr(lines, "The API server answers again") != NULL, "%s", lines);
    for (int i = 0; i < REFLECTORS; i++) {
        ck_assert(vpa_reflector_is_watching(reflectors[i]));
        vpa_reflector_free(reflectors[i]);
    }
}

static void keep_told(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    (void)result;
    *(int *)ctx += err && err->told;
}

/* One request that fails among others that are answered is its caller's to report. */
TEST_TIMES(one_failure_among_answers_is_not_the_server, 2) {
    const struct vpa_kube_call slow = {
        .verb = VPA_KUBE_GET, .path = "/slow", .timeout = 10 * VPA_SECOND};
    const struct vpa_kube_call quick = {.verb = VPA_KUBE_GET, .path = "/quick"};
    int told = 0;

    server.away = true;
    server.failure = VPA_TRANSPORT_TIMEOUT;
    vpa_kube_start(client, &slow, keep_told, &told);
    server.away = false;
    if (_i)
        ck_assert_int_eq(vpa_kube_do(client, &quick, NULL, NULL, NULL), 0);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(told, !_i);
    ck_assert_msg(count_lines() == !_i, "%s", lines);
}

TEST(answers_that_are_refusals_are_answers) {
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .path = "/leases/x"};
    struct vpa_error err;

    go_away(VPA_TRANSPORT_REFUSED);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), -1);
        ck_assert(err.told);
    }
    server.away = false;
    ck_assert_int_eq(vpa_kube_do(client, &call, NULL, NULL, &err), -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
    ck_assert(!err.told);
    ck_assert_int_eq(count_lines(), 2);
    ck_assert_ptr_nonnull(strstr(lines, "failures=3"));
}

static void ignore(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    (void)ctx;
    (void)result;
    (void)err;
}

/* An answer that is too long is one of a server that is there. */
TEST(answers_beyond_a_limit_are_answers) {
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .path = "/long"};

    server.away = true;
    server.failure = VPA_TRANSPORT_LIMIT;
    vpa_kube_start(client, &call, ignore, NULL);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_msg(count_lines() == 0, "%s", lines);
}

int main(void)
{
    return run_tests("reach", setup, teardown);
}
