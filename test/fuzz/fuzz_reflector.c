/*
 * A whole reflector: the input up to its first NUL answers the LIST, what follows is sent on the
 * WATCH. Begin comes before objects, an end only after a list that was whole; nothing else is
 * promised to hostile servers.
 */
#include <unistd.h>
#include <fcntl.h>

#include "fuzz.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/api/pod.h"
#include "vpa/base/log.h"
#include "vpa/daemon/clock.h"
#include "vpa/kube/reflector.h"

static const uint8_t *input;
static size_t input_size;
static bool in_list, ended;

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    const uint8_t *nul = input_size ? memchr(input, 0, input_size) : NULL;
    size_t first = nul ? (size_t)(nul - input) : input_size;

    (void)ctx;
    vpa_memory_reply_chunk(r, 1 + input_size % 13);
    if (!q->watch)
        vpa_memory_reply_bytes(r, 200, "application/json", input, first);
    else if (nul)
        vpa_memory_reply_bytes(r, 200, "application/json", nul + 1, input_size - first - 1);
    else
        vpa_memory_reply_status(r, 500, NULL, "no watch");
}

static void begin(void *ctx)
{
    (void)ctx;
    in_list = true;
    ended = false;
}

static int object(void *ctx, enum vpa_reflector_event event, const struct vpa_json *json,
                  struct vpa_error *err)
{
    struct vpa_arena arena = {0};
    struct vpa_pod pod;

    (void)ctx;
    FUZZ_CHECK(event == VPA_REFLECTOR_LISTED ? in_list && !ended : ended);
    FUZZ_CHECK(vpa_json_is_object(json));
    int rc = vpa_pod_decode(&arena, json, &pod, err);
    vpa_arena_release(&arena);
    return rc;
}

static void end(void *ctx)
{
    (void)ctx;
    FUZZ_CHECK(in_list && !ended);
    ended = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct vpa_loop *loop;
    static struct vpa_random random;
    static struct vpa_kube_client *client;

    if (!loop) {
        struct vpa_kube_client_options options = {.qps = -1, .random = &random};
        const struct vpa_log_options quiet = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
        FUZZ_CHECK(vpa_log_configure(&quiet, NULL) == 0);
        loop = vpa_loop_new(vpa_clock_new_manual(0));
        options.loop = loop;
        options.transport = vpa_memory_transport_new(loop, serve, NULL);
        client = vpa_kube_client_new(&options, NULL);
    }
    const struct vpa_reflector_options options = {
        .client = client,
        .name = "pods",
        .path = "/api/v1/pods",
        .object_max = 4096,
        .handler = {.begin = begin, .object = object, .end = end},
    };
    input = data;
    input_size = size;
    in_list = ended = false;
    struct vpa_reflector *r = vpa_reflector_new(&options);
    vpa_reflector_start(r);
    vpa_loop_pump(loop, 5 * VPA_SECOND);
    vpa_reflector_free(r);
    return 0;
}
