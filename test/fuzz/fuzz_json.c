/* The JSON reader and every decoder of API objects on top of it: whatever is read is written so
 * that it reads back the same. */
#include "fuzz.h"
#include "vpa/api/controller.h"
#include "vpa/api/event.h"
#include "vpa/api/lease.h"
#include "vpa/api/limit_range.h"
#include "vpa/api/metrics_api.h"
#include "vpa/api/pod.h"
#include "vpa/api/status.h"
#include "vpa/api/vpa.h"

static void write_node(struct vpa_buf *buf, const struct vpa_json *node)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, buf);
    vpa_json_put_node(&w, node);
    FUZZ_CHECK(vpa_json_writer_done(&w) && !vpa_buf_failed(buf));
}

static void check_round_trip(struct vpa_arena *arena, const struct vpa_json *root)
{
    const struct vpa_json *again;
    struct vpa_buf first, second;
    struct vpa_error err;

    vpa_buf_init(&first, 1 << 24);
    vpa_buf_init(&second, 1 << 24);
    write_node(&first, root);
    FUZZ_CHECK(vpa_json_parse(arena, first.data, first.len, &again, &err) == 0);
    write_node(&second, again);
    FUZZ_CHECK(vpa_json_equal(again, again));
    /* What is not UTF-8 is written as an escape and read as the character it stands for. */
    if (!strstr(vpa_buf_text(&first), "\\ufffd")) {
        FUZZ_CHECK(strcmp(vpa_buf_text(&first), vpa_buf_text(&second)) == 0);
        FUZZ_CHECK(vpa_json_equal(root, again));
    }
    vpa_buf_release(&first);
    vpa_buf_release(&second);
}

static void decode_all(struct vpa_arena *arena, const struct vpa_json *root)
{
    struct vpa_error err;
    union {
        struct vpa_pod pod;
        struct vpa_object vpa;
        struct vpa_limit_range range;
        struct vpa_controller controller;
        struct vpa_scale scale;
        struct vpa_lease lease;
        struct vpa_event event;
        struct vpa_status status;
        struct vpa_pod_metrics metrics;
    } out;
    const struct vpa_external_metric *items;
    size_t count;
    int decoded = 0;

    decoded += vpa_pod_decode(arena, root, &out.pod, &err) == 0;
    decoded += vpa_object_decode(arena, root, &out.vpa, &err) == 0;
    decoded += vpa_limit_range_decode(arena, root, &out.range, &err) == 0;
    for (int kind = 0; kind < VPA_KIND_COUNT; kind++)
        decoded += vpa_controller_decode(arena, root, (enum vpa_controller_kind)kind,
                                         &out.controller, &err) == 0;
    decoded += vpa_scale_decode(arena, root, &out.scale, &err) == 0;
    decoded += vpa_lease_decode(arena, root, &out.lease, &err) == 0;
    decoded += vpa_event_decode(arena, root, &out.event, &err) == 0;
    decoded += vpa_status_decode(arena, root, &out.status, &err) == 0;
    decoded += vpa_pod_metrics_decode(arena, root, &out.metrics, &err) == 0;
    decoded += vpa_external_metrics_decode(arena, root, &items, &count, &err) == 0;
    FUZZ_CHECK(decoded == 0 || vpa_json_is_object(root));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_error err;

    if (vpa_json_parse(&arena, (const char *)data, size, &root, &err) == 0) {
        check_round_trip(&arena, root);
        decode_all(&arena, root);
        FUZZ_CHECK(vpa_json_parse_folded(&arena, (const char *)data, size, &root, &err) == 0);
        decode_all(&arena, root);
    } else {
        FUZZ_CHECK(err.code == VPA_INVALID && strncmp(err.text, "line ", 5) == 0);
    }
    vpa_arena_release(&arena);
    return 0;
}
