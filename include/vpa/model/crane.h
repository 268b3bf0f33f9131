/*
 * The numbers of Crane's resource recommendation (specification crane.md 2 to 8), as its source has
 * them: what the algorithm `crane` (algorithm_crane.c) is built of.
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

/* ---- queries ---- */

/* The source's PromQL for a container of a workload. */
void vpa_crane_query(struct vpa_buf *out, enum vpa_kind kind, const char *workload_kind,
                     const char *name, const char *ns, const char *container);

#endif
