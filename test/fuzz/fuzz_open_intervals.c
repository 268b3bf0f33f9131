/* The annotation of open intervals: what is read is written as a text that reads to the same, and
 * what a history takes of it leaves its numbers finite. */
#include <math.h>

#include "fuzz.h"
#include "vpa/model/container.h"

static const vpa_time now = (vpa_time)1768478400 * VPA_SECOND; /* a day of January 2026 */

/* Leaves only what the history takes. */
static void resume(struct vpa_arena *arena, struct vpa_open_intervals *open)
{
    struct vpa_open_interval *taken = vpa_arena_alloc(arena, open->count * sizeof(*taken));
    struct vpa_aggregation global;
    struct vpa_aggregate a;
    struct vpa_error err;
    size_t count = 0;

    vpa_aggregation_init(&global);
    vpa_aggregate_init(&a, &global, now);
    for (size_t i = 0; i < open->count; i++) {
        struct vpa_container_state state;

        if (vpa_aggregate_check_interval(&global, &open->items[i], now, &err) < 0)
            continue;
        vpa_container_state_init(&state);
        FUZZ_CHECK(vpa_container_resume(&state, &a, &open->items[i], now));
        vpa_container_add_memory(&state, &a, now, 1 << 30, NULL);
        taken[count++] = open->items[i];
    }
    FUZZ_CHECK(isfinite(a.memory.h.total));
    FUZZ_CHECK(isfinite(vpa_histogram_percentile(&a.memory.h, 0.9)));
    vpa_aggregate_release(&a);
    vpa_aggregation_release(&global);
    *open = (struct vpa_open_intervals){.history = open->history, .items = taken, .count = count};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    const char *text = fuzz_text(&arena, data, size);
    struct vpa_open_intervals open, again;
    struct vpa_buf first, second;
    struct vpa_error err;

    vpa_buf_init(&first, 1 << 24);
    vpa_buf_init(&second, 1 << 24);
    if (vpa_open_intervals_decode(&arena, text, &open, &err) == 0) {
        resume(&arena, &open);
        open.count = vpa_open_intervals_encode(&first, &open);
        FUZZ_CHECK(first.len <= VPA_OPEN_INTERVALS_TEXT_MAX);
        FUZZ_CHECK(vpa_open_intervals_decode(&arena, vpa_buf_text(&first), &again, &err) == 0);
        FUZZ_CHECK(again.count == open.count);
        vpa_open_intervals_encode(&second, &again);
        FUZZ_CHECK(strcmp(vpa_buf_text(&first), vpa_buf_text(&second)) == 0);
    }
    vpa_buf_release(&first);
    vpa_buf_release(&second);
    vpa_arena_release(&arena);
    return 0;
}
