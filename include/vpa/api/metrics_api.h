/*
 * Usage: items of metrics.k8s.io/v1beta1 PodMetricsList and of external.metrics.k8s.io/v1beta1
 * ExternalMetricValueList.
 *
 * 100,000 items arrive per minute, so nothing is copied: texts borrow from the document. Amounts
 * are rounded up as upstream does (milli cores, bytes); a missing resource counts as 0.
 */
#ifndef VPA_API_METRICS_API_H
#define VPA_API_METRICS_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/quantity.h"
#include "vpa/base/time.h"
#include "vpa/json/json.h"

struct vpa_container_metrics {
    const char *name;
    int64_t cpu_millis;
    int64_t memory_bytes;
};
struct vpa_pod_metrics {
    const char *ns;
    const char *name;
    vpa_time timestamp;                             /* unset when absent */
    vpa_duration window;                            /* 0 when absent */
    const struct vpa_container_metrics *containers; /* in the arena */
    size_t container_count;
};
/* One item; texts borrow from the document, the array comes from the arena. */
int vpa_pod_metrics_decode(struct vpa_arena *arena, const struct vpa_json *item,
                           struct vpa_pod_metrics *out, struct vpa_error *err) VPA_MUST_CHECK;

struct vpa_external_metric {
    const char *metric_name;
    const struct vpa_json *labels; /* metricLabels: vpa_json_string(vpa_json_find(labels, name)) */
    vpa_time timestamp;
    bool has_window;
    vpa_duration window; /* windowSeconds */
    struct vpa_quantity value;
};
/* The items of a whole ExternalMetricValueList; texts borrow from the document. */
int vpa_external_metrics_decode(struct vpa_arena *arena, const struct vpa_json *list,
                                const struct vpa_external_metric **items, size_t *count,
                                struct vpa_error *err) VPA_MUST_CHECK;

#endif
