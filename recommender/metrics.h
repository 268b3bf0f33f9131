/*
 * The recommender's metrics: names, labels and buckets are upstream's (metrics.md 3 of the
 * specification), so that dashboards keep working. One process, one set;
 * recommender_metrics_reset() is for tests that run several recommenders one after the other.
 */
#ifndef RECOMMENDER_METRICS_H
#define RECOMMENDER_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/metrics.h"
#include "vpa/base/time.h"
#include "vpa/model/cluster.h"

/* All of them, for the exposition. */
struct vpa_metric *const *recommender_metrics_table(size_t *count);
void recommender_metrics_reset(void);

/* Quality metrics, fed by the model. */
struct vpa_model_hooks recommender_quality_hooks(void);

/* Parts of a pass: "LoadVPAs" ... "total". */
void metrics_step(const char *step, vpa_duration took);
/* Seconds from the creation of a VPA to its first recommendation. */
void metrics_first_recommendation(vpa_duration after);
void metrics_aggregates(size_t count);
/* One reading of the usage. */
void metrics_usage_response(bool is_error);
void metrics_prometheus_response(int code, const char *method, vpa_duration took);
/* A checkpoint that could not be read was kept aside (no upstream counterpart; hidden until it
 * happens). */
void metrics_unreadable_checkpoint(void);
/* Container requests read: from the status of the pod, else from its spec. */
void metrics_resource_lookups(const struct vpa_lookups *lookups);

/* Object counts: begin sets every known combination to 0, end publishes. */
struct metrics_objects;
struct metrics_objects *metrics_objects_begin(void);
void metrics_objects_add(struct metrics_objects *objects, const char *mode, bool has_recommendation,
                         bool matches_pods, bool unsupported);
void metrics_objects_end(struct metrics_objects *objects); /* frees */

#endif
