/* A trace of the laboratory, plain or gzip: what is read is in order, and can be scored. */
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "lab_measure.h"

/* The folded windows are what lab_trace.h says. */
static void check_trace(const struct lab_trace *t)
{
    FUZZ_CHECK(t->windows > 0 && t->cpu_from[0] == 0);
    FUZZ_CHECK(t->cpu_from[t->windows] == t->cpu_count);
    for (size_t w = 0; w < t->windows; w++) {
        FUZZ_CHECK(t->cpu_from[w] <= t->cpu_from[w + 1]);
        FUZZ_CHECK(t->start[w] % LAB_WINDOW_SECONDS == 0);
        FUZZ_CHECK(w == 0 || t->start[w] > t->start[w - 1]);
        FUZZ_CHECK(!t->memory || !(t->memory[w] < 0));
    }
    for (size_t i = 0; i < t->cpu_count; i++)
        FUZZ_CHECK(isfinite(t->cpu[i]) && t->cpu[i] >= 0);
}

static void score(const struct lab_trace *t)
{
    double *limits = vpa_xcalloc(t->windows + 1, sizeof(*limits));
    struct lab_score s;

    for (size_t w = 0; w < t->windows; w++)
        limits[w] = w % 3 ? (double)w : NAN;
    if (lab_score_cpu(t, limits, &s))
        FUZZ_CHECK(s.days > 0 && !(s.figure[LAB_SLACK] < 0));
    if (lab_score_memory(t, limits, &s))
        FUZZ_CHECK(s.bad_days <= s.total_days && s.bad_days <= s.ooms);
    free(limits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct lab_trace t;
    struct vpa_error err;
    int fd = memfd_create("trace", 0);

    FUZZ_CHECK(fd >= 0);
    FUZZ_CHECK(size == 0 || write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (lab_trace_read(path, &t, &err) == 0) {
        check_trace(&t);
        score(&t);
        lab_trace_release(&t);
    }
    close(fd);
    return 0;
}
