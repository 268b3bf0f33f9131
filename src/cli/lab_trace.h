/*
 * Usage traces of the laboratory: one container each, folded into windows of 300 seconds.
 *
 * A trace is a CSV file, plain or gzip, with the header `timestamp_seconds,cpu_cores,memory_bytes`:
 * Unix seconds strictly rising, either value may be empty. The index of a folder of traces,
 * `index.jsonl`, has one object per trace (id, file, group, cls, resources, interval_seconds,
 * score_until). A trace without one is of the group "traces", and long from 2.5 covered days on.
 *
 * Of CPU every sample of a window counts, of memory only the peak. Windows without any sample are
 * absent.
 */
#ifndef CLI_LAB_TRACE_H
#define CLI_LAB_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/error.h"

#define LAB_WINDOW_SECONDS 300
#define LAB_DAY_SECONDS 86400
/* Bounds of what is read: lines of a trace, traces of a folder, bytes of an index. */
#define LAB_SAMPLES_MAX ((size_t)8 << 20)
#define LAB_TRACES_MAX 20000
#define LAB_INDEX_MAX ((size_t)64 << 20)

struct lab_trace {
    char *id;
    char *group;
    bool is_long;
    int64_t interval_seconds;
    size_t windows;
    int64_t *start;   /* second at which each window begins */
    double *cpu;      /* samples in cores, by window */
    size_t *cpu_from; /* windows + 1: where the samples of a window begin */
    size_t cpu_count;
    double *memory; /* peak of each window in bytes, NaN: unknown; NULL: a trace without memory */
    size_t first;   /* first scored window; what is before it is warm-up */
    size_t last;    /* one past the last scored window */
};
void lab_trace_release(struct lab_trace *t);

struct lab_traces {
    struct lab_trace *items;
    size_t count;
    size_t capacity;
};
void lab_traces_release(struct lab_traces *t);
/* The traces of an index (path) in a folder. The error names file and line, and what was expected
 * there. */
int lab_traces_read_index(const char *folder, const char *path, struct lab_traces *out,
                          struct vpa_error *err) VPA_MUST_CHECK;
/* Cores or bytes; NaN where the text is the one for an unknown value. what: for the error. */
int lab_usage_parse(const char *text, const char *unknown, const char *what, double *out,
                    struct vpa_error *err) VPA_MUST_CHECK;
/* Samples by time, before they are folded. */
struct lab_samples {
    int64_t *second;
    double *cpu;    /* NaN: unknown */
    double *memory; /* the same */
    size_t count;
    size_t capacity;
};
void lab_samples_release(struct lab_samples *s);
void lab_samples_add(struct lab_samples *s, int64_t second, double cpu, double memory);
/* At least one sample; a trace of the group "traces". */
void lab_trace_fold(const struct lab_samples *s, const char *id, struct lab_trace *out);

/* One file, as a trace of its own: id is its name without the extension. */
int lab_trace_read(const char *path, struct lab_trace *out, struct vpa_error *err) VPA_MUST_CHECK;

#endif
