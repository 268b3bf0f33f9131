/* A recording of kubectl top: what is read is in order and folds into a trace. */
#include <math.h>

#include "fuzz.h"
#include "lab_top.h"

static void check_series(const struct lab_top_series *s)
{
    struct lab_trace t;

    FUZZ_CHECK(s->samples.count > 0 && *s->pod && *s->container);
    for (size_t i = 0; i < s->samples.count; i++) {
        FUZZ_CHECK(s->samples.second[i] >= 0);
        FUZZ_CHECK(i == 0 || s->samples.second[i] > s->samples.second[i - 1]);
        FUZZ_CHECK(isfinite(s->samples.cpu[i]) && s->samples.cpu[i] >= 0);
        FUZZ_CHECK(isfinite(s->samples.memory[i]) && s->samples.memory[i] >= 0);
    }
    lab_trace_fold(&s->samples, s->pod, &t);
    FUZZ_CHECK(t.windows > 0 && t.windows <= s->samples.count && t.memory);
    FUZZ_CHECK(t.cpu_count == s->samples.count && t.interval_seconds > 0);
    lab_trace_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lab_top t;
    struct vpa_error err;

    if (lab_top_parse((const char *)data, size, &t, &err) < 0)
        return 0;
    FUZZ_CHECK(t.count > 0);
    for (size_t i = 0; i < t.count; i++)
        check_series(t.items[i]);
    lab_top_release(&t);
    return 0;
}
