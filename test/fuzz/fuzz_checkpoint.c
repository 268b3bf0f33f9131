/* Checkpoints: what is read is written as a text that reads to the same, and what is loaded stays a
 * history of finite numbers. */
#include <math.h>

#include "fuzz.h"
#include "vpa/api/checkpoint.h"
#include "vpa/model/aggregate.h"

static void encode(struct vpa_buf *buf, const struct vpa_checkpoint *checkpoint)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, buf);
    vpa_checkpoint_encode(&w, checkpoint);
    FUZZ_CHECK(vpa_json_writer_done(&w));
}

static void load(const struct vpa_checkpoint_status *status)
{
    const vpa_time now = vpa_time_from_unix(1768478400, 0);
    struct vpa_aggregation global;
    struct vpa_aggregate a;
    struct vpa_error err;

    vpa_aggregation_init(&global);
    vpa_aggregate_init(&a, &global, now);
    if (vpa_aggregate_load(&a, status, &err) == 0 &&
        vpa_aggregate_check_stored(&global, status, now, &err) == 0) {
        vpa_aggregate_add_cpu(&a, now, 500);
        vpa_aggregate_add_memory(&a, now, 1 << 30);
        FUZZ_CHECK(isfinite(a.cpu.h.total) && isfinite(a.memory.h.total));
        FUZZ_CHECK(isfinite(vpa_histogram_percentile(&a.cpu.h, 0.9)));
        FUZZ_CHECK(isfinite(vpa_histogram_percentile(&a.memory.h, 0.9)));
    }
    vpa_aggregate_release(&a);
    vpa_aggregation_release(&global);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_checkpoint checkpoint, again;
    struct vpa_buf first, second;
    struct vpa_error err;

    vpa_buf_init(&first, 1 << 24);
    vpa_buf_init(&second, 1 << 24);
    if (vpa_json_parse(&arena, (const char *)data, size, &root, &err) == 0 &&
        vpa_checkpoint_decode(&arena, root, &checkpoint, &err) == 0) {
        const struct vpa_histogram_checkpoint *h = &checkpoint.status.cpu;
        for (size_t i = 1; i < h->bucket_count; i++)
            FUZZ_CHECK(h->buckets[i - 1].bucket < h->buckets[i].bucket);
        load(&checkpoint.status);
        encode(&first, &checkpoint);
        FUZZ_CHECK(vpa_json_parse(&arena, first.data, first.len, &root, &err) == 0);
        FUZZ_CHECK(vpa_checkpoint_decode(&arena, root, &again, &err) == 0);
        encode(&second, &again);
        /* What is not UTF-8 is written as an escape and read as the character it stands for. */
        FUZZ_CHECK(strstr(vpa_buf_text(&first), "\\ufffd") ||
                   strcmp(vpa_buf_text(&first), vpa_buf_text(&second)) == 0);
    }
    vpa_buf_release(&first);
    vpa_buf_release(&second);
    vpa_arena_release(&arena);
    return 0;
}
