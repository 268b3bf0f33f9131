/* RFC 3339 times: what parses is within the years of four digits and reads back from its text. */
#include "fuzz.h"
#include "vpa/base/time.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    const char *text = fuzz_text(&arena, data, size);
    char printed[VPA_TIME_TEXT_MAX];
    vpa_time t, again;
    struct vpa_error err;

    if (vpa_time_parse(text, &t, &err) == 0) {
        vpa_time_format(t, printed);
        FUZZ_CHECK(strlen(printed) < VPA_TIME_TEXT_MAX);
        /* An offset can push the first and last day out of the four-digit years. */
        if (vpa_time_parse(printed, &again, &err) == 0)
            FUZZ_CHECK(again <= t && t - again < VPA_SECOND);
        else
            FUZZ_CHECK(t < VPA_TIME_UNSET || t > vpa_time_from_unix(253402300799, 0));
    }
    if (vpa_time_parse_micro(text, &t, &err) == 0) {
        vpa_time_format_micro(t, printed);
        if (vpa_time_parse_micro(printed, &again, &err) == 0)
            FUZZ_CHECK(again == t);
        FUZZ_CHECK(vpa_time_round(t, VPA_SECOND) - t <= VPA_SECOND / 2);
    }
    vpa_arena_release(&arena);
    return 0;
}
