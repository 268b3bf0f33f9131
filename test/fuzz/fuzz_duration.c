/* Durations of both grammars: what parses prints and reads back. */
#include "fuzz.h"
#include "vpa/base/time.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    const char *text = fuzz_text(&arena, data, size);
    char printed[VPA_DURATION_TEXT_MAX];
    vpa_duration d, again;
    struct vpa_error err;

    if (vpa_duration_parse(text, &d, &err) == 0) {
        vpa_duration_format(d, printed);
        FUZZ_CHECK(strlen(printed) < VPA_DURATION_TEXT_MAX);
        FUZZ_CHECK(vpa_duration_parse(printed, &again, &err) == 0 && again == d);
    } else {
        FUZZ_CHECK(strncmp(err.text, "time: ", 6) == 0);
    }
    if (vpa_duration_parse_prometheus(text, &d, &err) == 0)
        FUZZ_CHECK(d >= 0);
    vpa_arena_release(&arena);
    return 0;
}
