/*
 * What the registry of metrics (metrics.c) and their exposition (exposition.c) share.
 *
 * A metric owns a hash table from joined label values ("3\x1fRecreate") to series. Values are
 * joined in the alphabetical order of the label names: sorting the keys then gives the order in
 * which the reference client prints, and the braces can be printed straight from the key.
 *
 * The webhook's threads count while the listener's thread serves /metrics, so each metric has a
 * spin lock. It is held for one look-up and addition, or while one family is printed.
 */
#ifndef VPA_BASE_METRICS_PRIVATE_H
#define VPA_BASE_METRICS_PRIVATE_H

#include "vpa/base/metrics.h"

#define METRIC_SEPARATOR '\x1f'

struct metric_series {
    double value; /* counter, gauge; sum of a histogram */
    uint64_t count;
    uint64_t *buckets; /* bound_count of them, not cumulated */
    char key[];
};

void metric_lock(struct vpa_metric *m);
void metric_unlock(struct vpa_metric *m);
size_t metric_label_count(const struct vpa_metric *m);
/* order[i] is the index of the i-th label by name; returns how many there are. */
size_t metric_label_order(const struct vpa_metric *m, size_t order[VPA_METRIC_LABELS_MAX]);
/* Under the lock: the series, made when it is new; NULL when there are too many already. */
struct metric_series *metric_series_get(struct vpa_metric *m, const char *const *values);

#endif
