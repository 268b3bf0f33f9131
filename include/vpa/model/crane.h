/*
 * The numbers of Crane's resource recommendation (specification crane.md 2 to 8), as its source has
 * them: what the algorithm `crane` (algorithm_crane.c) is built of, and the whole evaluation of a
 * workload as Crane runs it, from texts of configuration to texts of its result.
 *
 *     percentile * (1 + margin) / utilization, in doubles
 *     truncated to millicores and bytes
 *     memory at least what the last OOM kill asks for
 *     both raised to the smallest size of a list
 *
 * Histograms are linear, do not decay, and a sample weighs what it is worth: the percentile is one
 * of the load, not of the time.
 */
#ifndef VPA_MODEL_CRANE_H
#define VPA_MODEL_CRANE_H

#include "vpa/api/pod.h"
#include "vpa/base/random.h"
#include "vpa/model/aggregate.h"

/* ---- durations ---- */

/* Go's syntax, and whole days: "7d", "-1d", "01d". Days beyond 64 bits of nanoseconds wrap around,
 * as the source's do; VPA_INVALID with Go's text. */
int vpa_crane_parse_duration(const char *text, vpa_duration *out,
                             struct vpa_error *err) VPA_MUST_CHECK;

/* ---- the percentile predictor ---- */

/* Texts of the prediction API; NULL and "" are not given. */
struct vpa_crane_config {
    const char *percentile;     /* 0.99 */
    const char *margin;         /* 0 */
    const char *utilization;    /* 1 */
    const char *min_weight;     /* 0.00001 */
    const char *interval;       /* needed */
    const char *history_length; /* needed */
    const char *bucket_size;    /* with max_value: linear; without: linear, 0.1 up to 100 */
    const char *max_value;
    const char *first_size; /* with growth and max_value: exponential */
    const char *growth;
    const char *epsilon;   /* 1e-10 */
    const char *half_life; /* read, not used */
};
struct vpa_crane_predictor {
    struct vpa_histogram_options options; /* of histograms that it fills; released with it */
    double percentile;
    double margin;
    double utilization;
    double min_weight;
    vpa_duration interval;
    vpa_duration history_length;
};
/* VPA_INVALID with the source's text for a text that cannot be read. */
int vpa_crane_predictor_init(struct vpa_crane_predictor *p, const struct vpa_crane_config *config,
                             struct vpa_error *err) VPA_MUST_CHECK;
void vpa_crane_predictor_release(struct vpa_crane_predictor *p);
/* What it asks its history for: up to the last whole minute. */
struct vpa_crane_window {
    vpa_time start;
    vpa_time end;
    vpa_duration step;
};
struct vpa_crane_window vpa_crane_predictor_window(const struct vpa_crane_predictor *p,
                                                   vpa_time now);
/* A sample in cores or bytes; NaN counts as the smallest number. */
void vpa_crane_predictor_add(const struct vpa_crane_predictor *p, struct vpa_histogram *h,
                             double value);
/* The prediction; 0 of an empty histogram. */
double vpa_crane_predictor_value(const struct vpa_crane_predictor *p,
                                 const struct vpa_histogram *h);

/* ---- sizes (specifications) ---- */

#define VPA_CRANE_SIZES_PRESET                                                                     \
    "0.25c0.25g,0.25c0.5g,0.25c1g,0.5c0.5g,0.5c1g,1c1g,1c2g,1c4g,1c8g,2c2g,2c4g,2c8g,2c16g,4c4g,"  \
    "4c8g,4c16g,4c32g,8c8g,8c16g,8c32g,8c64g,16c32g,16c64g,16c128g,32c64g,32c128g,32c256g,"        \
    "64c128g,64c256g"
struct vpa_crane_size {
    double cores;
    double gib;
};
struct vpa_crane_sizes {
    struct vpa_crane_size *items; /* by cores, then memory; heap */
    size_t count;
};
/* VPA_INVALID with the source's text. Release what it gave. */
int vpa_crane_sizes_parse(const char *text, struct vpa_crane_sizes *out,
                          struct vpa_error *err) VPA_MUST_CHECK;
void vpa_crane_sizes_release(struct vpa_crane_sizes *sizes);
/* The smallest sufficient CPU that has a sufficient memory, rounded to hundredths. False when there
 * is none, or it rounds to nothing: both are 0 in the first case. */
bool vpa_crane_sizes_match(const struct vpa_crane_sizes *sizes, int64_t millis, int64_t bytes,
                           struct vpa_arena *arena, struct vpa_quantity *cpu,
                           struct vpa_quantity *memory);

/* ---- OOM kills ---- */

#define VPA_CRANE_OOM_MIN_BUMP INT64_C(104857600)
/* Bytes that a container needs which was killed with that request. The sum saturates. */
int64_t vpa_crane_oom_need(int64_t bytes, double ratio);

struct vpa_crane_oom {
    const char *ns;
    const char *pod;
    const char *container;
    struct vpa_quantity memory; /* requested */
    vpa_time t;
};
/* The records that one process keeps, and writes to its ConfigMap when a new key comes. */
struct vpa_crane_oom_records {
    struct vpa_arena arena; /* of texts and items */
    struct vpa_crane_oom *items;
    size_t count;
    size_t capacity;
    size_t writes;    /* since the beginning */
    const char *text; /* of the last write; NULL: none */
};
void vpa_crane_oom_records_init(struct vpa_crane_oom_records *r);
void vpa_crane_oom_records_release(struct vpa_crane_oom_records *r);
/* The kills that a pod shows, in the order of its container statuses; in the arena. */
struct vpa_crane_oom *vpa_crane_oom_of_pod(struct vpa_arena *arena, const struct vpa_pod *pod,
                                           size_t *count);
/* Takes in what a pod shows: one record per namespace, pod and container, replaced when the memory
 * is larger. */
void vpa_crane_oom_records_observe(struct vpa_crane_oom_records *r, const struct vpa_pod *pod);
/* Keeps the newest `most` records, by time when some have to go; returns how many are left. */
size_t vpa_crane_oom_trim(struct vpa_crane_oom *items, size_t count, size_t most);

/* ---- signals ---- */

/* Crane's prediction of periodic usage, which its resource recommendation does not use: 9 of the
 * specification. Samples in equal steps; a day of them is estimated from whole days at the end. */
struct vpa_crane_signal {
    const double *samples;
    size_t count; /* 2 .. VPA_CRANE_SIGNAL_MAX */
    vpa_duration step;
};
#define VPA_CRANE_SIGNAL_MAX 4096 /* the transforms take the square of it */
struct vpa_crane_fft {
    double margin;
    size_t min_items;     /* of the spectrum that stay */
    double low_amplitude; /* below it, and fast: noise */
};
/* The last whole multiple of length; count 0 when it is shorter. *multiples may be NULL. */
struct vpa_crane_signal vpa_crane_signal_tail(const struct vpa_crane_signal *s, vpa_duration length,
                                              size_t *multiples);
/* Per step of a period the largest sample of all periods. s: whole periods; out: one period. */
void vpa_crane_signal_largest(const struct vpa_crane_signal *s, size_t period, double margin,
                              double *out);
/* The last period, without what is fast and small. */
void vpa_crane_signal_smooth(const struct vpa_crane_signal *s, size_t period,
                             const struct vpa_crane_fft *options, double *out);
/* The fundamental period: one whose frequency has more power than any in 99 of 100 shuffles of the
 * samples, and that is a peak of the autocorrelation. 0: not periodic. */
vpa_duration vpa_crane_signal_period(const struct vpa_crane_signal *s, struct vpa_random *random);

/* ---- queries ---- */

/* The source's PromQL for a container of a workload. */
void vpa_crane_query(struct vpa_buf *out, enum vpa_kind kind, const char *workload_kind,
                     const char *name, const char *ns, const char *container);

#endif
