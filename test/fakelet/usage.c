/* Recordings of usage; see the header. */
#include "usage.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/table.h"

#define IDLE_BYTES (1 << 20) /* a container that does nothing yet */

#define SAMPLES_MAX ((size_t)1000000)

struct sample {
    double seconds, cpu_millis, memory_bytes;
};
struct trace {
    char *name;
    struct sample *samples;
    size_t count, capacity;
    double length; /* one period: behind the last sample by the last step */
};
struct traces {
    char *folder;
    struct vpa_table byname;
};

struct traces *traces_new(const char *folder)
{
    struct traces *traces = vpa_xcalloc(1, sizeof(*traces));

    traces->folder = vpa_xstrdup(folder);
    return traces;
}

static void trace_free(struct trace *trace)
{
    free(trace->name);
    free(trace->samples);
    free(trace);
}

void traces_free(struct traces *traces)
{
    void *value;

    if (!traces)
        return;
    for (size_t i = 0; vpa_table_next(&traces->byname, &i, NULL, &value);)
        trace_free(value);
    vpa_table_release(&traces->byname);
    free(traces->folder);
    free(traces);
}

static int read_samples(struct trace *trace, FILE *file, const char *path, struct vpa_error *err)
{
    char line[256];

    for (size_t number = 1; fgets(line, sizeof(line), file); number++) {
        struct sample s;
        char tail;
        if (number == 1) {
            if (strcmp(line, "seconds,cpu_millis,memory_bytes\n") != 0)
                return vpa_fail(err, VPA_INVALID,
                                "%s:1: the header is not seconds,cpu_millis,memory_bytes", path);
            continue;
        }
        if (sscanf(line, "%lf,%lf,%lf%c", &s.seconds, &s.cpu_millis, &s.memory_bytes, &tail) != 4 ||
            tail != '\n' || !isfinite(s.seconds) || !(s.cpu_millis >= 0) || !(s.memory_bytes >= 0))
            return vpa_fail(err, VPA_INVALID, "%s:%zu: not three numbers", path, number);
        if (trace->count && s.seconds <= trace->samples[trace->count - 1].seconds)
            return vpa_fail(err, VPA_INVALID, "%s:%zu: seconds do not rise", path, number);
        if (trace->count == SAMPLES_MAX)
            return vpa_fail(err, VPA_LIMIT, "%s: more than %zu samples", path, SAMPLES_MAX);
        VPA_GROW(trace->samples, trace->count, trace->capacity);
        trace->samples[trace->count++] = s;
    }
    if (trace->count < 2)
        return vpa_fail(err, VPA_INVALID, "%s: fewer than two samples", path);
    const struct sample *last = &trace->samples[trace->count - 1];
    trace->length = last->seconds - trace->samples[0].seconds + last->seconds - last[-1].seconds;
    return 0;
}

int traces_get(struct traces *traces, const char *name, const struct trace **out,
               struct vpa_error *err)
{
    struct trace *trace = vpa_table_find(&traces->byname, name);

    if (!trace) {
        vpa_auto_free char *path = vpa_xprintf("%s/%s.csv", traces->folder, name);
        if (strchr(name, '/') || name[0] == '.')
            return vpa_fail(err, VPA_INVALID, "trace \"%s\": not a file name", name);
        FILE *file = fopen(path, "re");
        if (!file)
            return vpa_fail(err, VPA_NOT_FOUND, "%s: %s", path, strerror(errno));
        trace = vpa_xcalloc(1, sizeof(*trace));
        trace->name = vpa_xstrdup(name);
        int rc = read_samples(trace, file, path, err);
        fclose(file);
        if (rc < 0) {
            trace_free(trace);
            return -1;
        }
        vpa_table_put(&traces->byname, trace->name, trace);
    }
    *out = trace;
    return 0;
}

/* Last sample at or before `at` (seconds from the first sample). */
static const struct sample *find_sample(const struct trace *trace, double at)
{
    size_t low = 0, high = trace->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (trace->samples[middle].seconds - trace->samples[0].seconds <= at)
            low = middle;
        else
            high = middle;
    }
    return &trace->samples[low];
}

void usage_at(const struct usage *usage, vpa_time started, vpa_time now, double *cpu_millis,
              double *memory_bytes)
{
    if (!usage->trace) {
        bool idle = now - started < usage->after;
        *cpu_millis = idle ? 0 : usage->cpu_millis;
        *memory_bytes = idle ? fmin(IDLE_BYTES, usage->memory_bytes) : usage->memory_bytes;
        return;
    }
    double seconds = (double)(usage->from_start ? now - started : now) / 1e9 / usage->stretch;
    const struct sample *s =
        find_sample(usage->trace, fmod(fmax(seconds, 0), usage->trace->length));

    *cpu_millis = s->cpu_millis * usage->cpu_scale;
    *memory_bytes = s->memory_bytes * usage->memory_scale + usage->memory_base;
}
