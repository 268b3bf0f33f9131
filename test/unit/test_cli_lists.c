/* Lists of commands, from a server that is slow without end. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cli_fixture.h"
#include "lists.h"
#include "suite.h"
#include "vpa/base/str.h"

#define OBJECT_BYTES ((size_t)512 << 10)

static struct vpa_memory_stream *stream;
static struct vpa_timer *timer;
static char *object;
static int objects, lists, silent;

static void on_closed(void *ctx)
{
    (void)ctx;
    stream = NULL;
}

/* An object every second. */
static void drip(void *ctx)
{
    (void)ctx;
    if (stream)
        vpa_memory_stream_push(stream, object, strlen(object));
    vpa_timer_start(timer, VPA_SECOND);
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    static const char head[] = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[{}";
    static const char begun[] = "{\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":";

    (void)ctx;
    if (strcmp(q->path, "/api/v1/pods") == 0 && lists++ == 0) {
        stream = vpa_memory_reply_stream(r, 200, on_closed, NULL);
        vpa_memory_stream_push(stream, head, strlen(head));
    } else if (strcmp(q->path, "/api/v1/services") == 0) {
        struct vpa_memory_stream *one = vpa_memory_reply_stream(r, 200, NULL, NULL);
        vpa_memory_stream_push(one, begun, strlen(begun));
    } else if (strcmp(q->path, "/api/v1/nodes") == 0) {
        silent++;
        vpa_memory_reply_delay(r, VPA_HOUR);
        vpa_memory_reply_json(r, 200, "{}");
    } else {
        vpa_memory_reply_json(r, 200, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[]}");
    }
}

static void setup(void)
{
    start_cli(serve, NULL);
    objects = lists = silent = 0;
    vpa_auto_free char *name = vpa_xcalloc(1, OBJECT_BYTES + 1);
    memset(name, 'x', OBJECT_BYTES);
    object = vpa_xprintf(",{\"metadata\":{\"name\":\"%s\"}}", name);
    timer = vpa_timer_new(loop, drip, NULL);
    drip(NULL);
}

static void teardown(void)
{
    vpa_timer_free(timer);
    free(object);
    stop_cli();
}

static int on_object(void *ctx, const struct vpa_json *json, struct vpa_error *err)
{
    (void)ctx;
    (void)json;
    (void)err;
    objects++;
    return 0;
}

/* Nobody is there any more who could take what comes. */
TEST(what_is_waited_for_too_long_comes_to_an_end) {
    static const struct cli_kind pods = {
        .group_version = "v1", .resource = "pods", .what_lacks = "pods"};
    struct vpa_error err;

    ck_assert_int_eq(cli_list(&cli, &pods, "", on_object, NULL, &err), -1);
    ck_assert_ptr_null(stream);
    objects = 0;
    ck_assert_int_eq(cli_list(&cli, &pods, "", on_object, NULL, &err), 0);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(objects, 0);
}

/* Each list that a command needs would wait for as long. A page that is made again asks again. */
TEST(a_silent_server_is_given_up) {
    static const struct cli_kind nodes = {
        .group_version = "v1", .resource = "nodes", .what_lacks = "nodes"};
    const int64_t begin = vpa_loop_monotonic(loop);
    struct vpa_error err;

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(cli_list(&cli, &nodes, "", on_object, NULL, &err), -1);
    ck_assert_int_eq(err.code, VPA_CANCELLED);
    ck_assert_int_eq(silent, 2);
    ck_assert_int_le(vpa_loop_monotonic(loop) - begin, 2 * VPA_MINUTE + VPA_SECOND);

    cli_notes_clear(&cli);
    ck_assert_int_eq(cli_list(&cli, &nodes, "", on_object, NULL, &err), -1);
    ck_assert_int_eq(silent, 3);
}

/* Who had something to give is slow, not silent. */
TEST(a_server_that_gives_something_is_asked_on) {
    static const struct cli_kind services = {
        .group_version = "v1", .resource = "services", .what_lacks = "services"};
    struct vpa_error err;

    for (int i = 1; i <= 4; i++) {
        ck_assert_int_eq(cli_list(&cli, &services, "", on_object, NULL, &err), -1);
        ck_assert_int_eq(err.code, VPA_RETRY);
        ck_assert_int_eq(objects, i);
    }
}

int main(void)
{
    return run_tests_within(60, "cli lists", setup, teardown);
}
