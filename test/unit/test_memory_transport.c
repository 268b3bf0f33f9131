/* The server in memory does to its callers what http_client.c does: readers that turn the loop,
 * callbacks that free the transport. */
#include "client_fixture.h"
#include "suite.h"

static struct vpa_memory_stream *stream;
static size_t taken;
static bool inside, over;
static enum vpa_transport_failure ended_with;
static int where; /* the transport is freed: 0 in on_head, 1 in on_data, 2 in on_done */

static void answer(void *ctx, const struct vpa_memory_request *request,
                   struct vpa_memory_reply *reply)
{
    (void)ctx;
    if (strcmp(request->path, "/stream") == 0)
        stream = vpa_memory_reply_stream(reply, 200, NULL, NULL);
    else
        vpa_memory_reply_json(reply, 200, "0123456789");
}

static void setup(void)
{
    start_client(answer, 1800000000, 1);
}

static void on_done(void *ctx, const struct vpa_http_result *result)
{
    (void)ctx;
    ck_assert_msg(!inside, "ended while a part was read");
    ended_with = result->failure;
    over = true;
}

/* More comes while it reads the first part, and the second one takes longer than the server may. */
static int turn_the_loop(void *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    (void)bytes;
    ck_assert_msg(!inside, "the next part came while this one was read");
    inside = true;
    if (taken == 0)
        vpa_memory_stream_push(stream, "more", 4);
    vpa_loop_pump(loop, taken == 0 ? VPA_SECOND : VPA_MINUTE);
    inside = false;
    taken += len;
    return 0;
}

TEST(readers_may_turn_the_loop) {
    static const struct vpa_http_request request = {
        .method = "GET", .target = "/stream", .idle_timeout = 10 * VPA_SECOND};
    const struct vpa_http_handler handler = {.on_data = turn_the_loop, .on_done = on_done};

    vpa_transport_start(transport, &request, &handler);
    vpa_memory_stream_push(stream, "first", 5);
    vpa_loop_pump(loop, 5 * VPA_MINUTE);
    ck_assert(over);
    ck_assert_uint_eq(taken, 9);
    ck_assert_int_eq(ended_with, VPA_TRANSPORT_TIMEOUT);
    stop_client();
}

static void free_here(int here)
{
    ck_assert_msg(!over, "called after the transport was freed");
    if (here != where)
        return;
    vpa_transport_free(transport);
    over = true;
}

static void free_in_head(void *ctx, int status)
{
    (void)ctx;
    (void)status;
    free_here(0);
}

static int free_in_data(void *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    (void)bytes;
    (void)len;
    free_here(1);
    return 0;
}

static void free_in_done(void *ctx, const struct vpa_http_result *result)
{
    (void)ctx;
    (void)result;
    free_here(2);
}

TEST_TIMES(callbacks_may_free_the_transport, 3) {
    static const struct vpa_http_request request = {.method = "GET", .target = "/"};
    const struct vpa_http_handler handler = {
        .on_head = free_in_head, .on_data = free_in_data, .on_done = free_in_done};

    where = _i;
    for (int i = 0; i < 3; i++) /* nothing more is heard of the others */
        vpa_transport_start(transport, &request, &handler);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert(over);
    transport = NULL;
    stop_client();
}

int main(void)
{
    return run_tests("memory_transport", setup, NULL);
}
