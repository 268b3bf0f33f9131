/*
 * Metrics, and their exposition for Prometheus.
 *
 * A metric is a static struct in the file that updates it; main.c lists the addresses in a table.
 * Label values are given in the order in which the metric names its labels.
 *
 *     static struct vpa_metric evicted = VPA_COUNTER("vpa_updater_evicted_pods_total",
 *                                                    "Pods evicted", "vpa_size_log2",
 *                                                    "update_mode");
 *     vpa_metric_inc(&evicted, "3", "Recreate");
 *
 *     static const double seconds[] = {0.1, 1, 10};
 *     static struct vpa_metric latency = VPA_HISTOGRAM("x_seconds", "Time of x", seconds, "step");
 *     vpa_metric_observe(&latency, 0.25, "total");
 *
 * A metric without labels is shown from the start with 0, one with labels once a series was
 * touched. Updates and exposition may run in different threads (a short spin lock per metric);
 * nothing else in here is shared. Strings are UTF-8 and copied. Label values must not hold the byte
 * 0x1f.
 */
#ifndef VPA_BASE_METRICS_H
#define VPA_BASE_METRICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/buf.h"
#include "vpa/base/table.h"

/* Most series of one metric; an update that would make one more is dropped. */
#define VPA_METRIC_SERIES_MAX 200000
/* Most labels of a metric, and the longest sum of label values of a series in bytes; longer ones
 * are cut. */
#define VPA_METRIC_LABELS_MAX 6
#define VPA_METRIC_VALUES_MAX 1024

enum vpa_metric_kind { VPA_METRIC_COUNTER, VPA_METRIC_GAUGE, VPA_METRIC_HISTOGRAM };

struct vpa_metric {
    const char *name;
    const char *help;
    enum vpa_metric_kind kind;
    const double *bounds; /* upper bounds of a histogram, ascending, without +Inf */
    size_t bound_count;
    const char *labels[VPA_METRIC_LABELS_MAX];  /* NULL behind the last */
    struct vpa_table series;                    /* private from here on */
    unsigned char order[VPA_METRIC_LABELS_MAX]; /* of labels by name, from 1; 0: not known yet */
    atomic_flag lock;
};

#define VPA_COUNTER(NAME, HELP, ...)                                                               \
    {                                                                                              \
        .name = NAME, .help = HELP, .kind = VPA_METRIC_COUNTER, .labels = {__VA_ARGS__},           \
        .lock = ATOMIC_FLAG_INIT                                                                   \
    }
#define VPA_GAUGE(NAME, HELP, ...)                                                                 \
    {                                                                                              \
        .name = NAME, .help = HELP, .kind = VPA_METRIC_GAUGE, .labels = {__VA_ARGS__},             \
        .lock = ATOMIC_FLAG_INIT                                                                   \
    }
/* BOUNDS is an array of double. */
#define VPA_HISTOGRAM(NAME, HELP, BOUNDS, ...)                                                     \
    {                                                                                              \
        .name = NAME, .help = HELP, .kind = VPA_METRIC_HISTOGRAM, .bounds = BOUNDS,                \
        .bound_count = sizeof(BOUNDS) / sizeof((BOUNDS)[0]), .labels = {__VA_ARGS__},              \
        .lock = ATOMIC_FLAG_INIT                                                                   \
    }

#define VPA_LABELS_(...) ((const char *const[]){"", ##__VA_ARGS__, NULL} + 1)
/* One more; delta more (counters: never negative); the value of a gauge; one observation. */
#define vpa_metric_inc(metric, ...) vpa_metric_add_to(metric, 1, VPA_LABELS_(__VA_ARGS__))
#define vpa_metric_add(metric, delta, ...)                                                         \
    vpa_metric_add_to(metric, delta, VPA_LABELS_(__VA_ARGS__))
#define vpa_metric_set(metric, x, ...) vpa_metric_set_to(metric, x, VPA_LABELS_(__VA_ARGS__))
#define vpa_metric_observe(metric, x, ...)                                                         \
    vpa_metric_observe_in(metric, x, VPA_LABELS_(__VA_ARGS__))
/* The value of a counter or gauge, the number of observations of a histogram; 0 for an unknown
 * series. */
#define vpa_metric_value(metric, ...) vpa_metric_value_of(metric, VPA_LABELS_(__VA_ARGS__))

/* The same with the label values in a NULL-terminated array. */
void vpa_metric_add_to(struct vpa_metric *metric, double delta, const char *const *values);
void vpa_metric_set_to(struct vpa_metric *metric, double x, const char *const *values);
void vpa_metric_observe_in(struct vpa_metric *metric, double x, const char *const *values);
double vpa_metric_value_of(struct vpa_metric *metric, const char *const *values);
/* The sum of the observations of a histogram series; 0 for an unknown one. */
double vpa_metric_sum_of(struct vpa_metric *metric, const char *const *values);
/* Drops one series, for what is there no more; true when there was one. */
#define vpa_metric_remove(metric, ...) vpa_metric_remove_from(metric, VPA_LABELS_(__VA_ARGS__))
bool vpa_metric_remove_from(struct vpa_metric *metric, const char *const *values);
/* Series that are there with 0 before anything has happened, of a metric with one label. */
void vpa_metric_start(struct vpa_metric *metric, const char *const *values, size_t count);
size_t vpa_metric_series(struct vpa_metric *metric); /* how many there are */
/* Drops the series that are not to be kept, by their label values as they were given; keep must not
 * use the metric. */
void vpa_metric_sweep(struct vpa_metric *metric,
                      bool (*keep)(void *ctx, const char *const *values, size_t count), void *ctx);
/* Drops all series. Also what frees the memory of a metric at exit. */
void vpa_metric_reset(struct vpa_metric *metric);

/* What the kernel says about the process; the daemon fills it in (the core reads no files). */
struct vpa_process_stats {
    double cpu_seconds;
    double open_fds;
    double max_fds;
    double virtual_bytes;
    double virtual_max_bytes;
    double resident_bytes;
    double start_seconds;          /* Unix time */
    double network_receive_bytes;  /* negative: not known, not shown */
    double network_transmit_bytes; /* negative: not known, not shown */
};

/* What a daemon shows. */
struct vpa_metrics {
    struct vpa_metric *const *table;
    size_t count;
    /* Fills *stats for process_* series; NULL: no such series. */
    void (*process)(struct vpa_process_stats *stats);
    /* promhttp_metric_handler_requests_total by code 200, 500, 503: the server counts its answers
     * here. */
    atomic_uint_fast64_t requests_ok;
    atomic_uint_fast64_t requests_failed;
    atomic_uint_fast64_t requests_busy;
    atomic_int requests_in_flight;
};

enum vpa_exposition { VPA_EXPOSITION_TEXT, VPA_EXPOSITION_OPENMETRICS };
#define VPA_METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
#define VPA_OPENMETRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/*
 * Appends the exposition: families by name, series by label values (labels in alphabetical order),
 * `le` last. names: the families wanted (the name[] parameters of the request), NULL for all. The
 * formats: prometheus.io/docs/instrumenting/exposition_formats, OpenMetrics 1.0.0. A series has the
 * same name in both.
 */
void vpa_metrics_write(struct vpa_metrics *metrics, enum vpa_exposition format,
                       const char *const *names, size_t name_count, struct vpa_buf *out);
/* Resets every metric of the table. */
void vpa_metrics_release(struct vpa_metrics *metrics);

#endif
