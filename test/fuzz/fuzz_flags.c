/* Command lines: one argument per line of the input, against a table with a row of every kind. */
#include "fuzz.h"
#include "vpa/daemon/common_flags.h"
#include "vpa/daemon/leader.h"

#define ARGS_MAX 64

struct config {
    struct vpa_common_flags common;
    struct vpa_leader_flags leader;
    vpa_duration interval;
    int64_t count;
    double share;
    struct vpa_quantity most;
};

#define ROW(KIND, NAME, FIELD, ...) VPA_FLAG_##KIND(NAME, struct config, FIELD, __VA_ARGS__)
static const struct vpa_flag rows[] = {
    VPA_COMMON_FLAGS(struct config, common, ":8943"),
    VPA_LEADER_FLAGS(struct config, leader, "vpa-updater"),
    ROW(DURATION, "updater-interval", interval, VPA_MINUTE, "Interval"),
    ROW(INT, "min-replicas", count, 2, "Replicas"),
    ROW(FLOAT, "eviction-tolerance", share, 0.5, "Share"),
    ROW(QUANTITY, "max-allowed-cpu-boost", most, "Most"),
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    struct config config;
    const struct vpa_flags flags = {rows, VPA_COUNT(rows), &config};
    char *text = vpa_arena_strdup(&arena, fuzz_text(&arena, data, size));
    char *argv[ARGS_MAX] = {text};
    int argc = 1;
    vpa_auto_buf page = VPA_BUF(1 << 20), value = VPA_BUF(1 << 20);

    for (char *next = text; next && argc < ARGS_MAX; argc++) {
        argv[argc] = next;
        next = strchr(next, '\n');
        if (next)
            *next++ = '\0';
    }
    int code = vpa_flags_start(&flags, &arena, argc, argv, &page);
    FUZZ_CHECK(code == -1 || code == 0 || code == 2);
    FUZZ_CHECK((code == -1) == (page.len == 0));
    if (code == -1)
        for (size_t i = 0; i < flags.count; i++)
            vpa_flag_format(&flags, &rows[i], false, &value);
    vpa_arena_release(&arena);
    return 0;
}
