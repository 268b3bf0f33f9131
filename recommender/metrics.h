/*
 * The recommender's metrics: names, labels and buckets are upstream's (metrics.md 3 of the
 * specification), so that dashboards keep working. One process, one set;
 * recommender_metrics_reset() is for tests that run several recommenders one after the other.
 */
#ifndef RECOMMENDER_METRICS_H
#define RECOMMENDER_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "api_meters.h"
#include "measures.h"

#include "vpa/base/metrics.h"
#include "vpa/base/time.h"
#include "vpa/model/cluster.h"

/* All of them, for the exposition. */
struct vpa_metric *const *recommender_metrics_table(size_t *count);
void recommender_metrics_reset(void);

/* Quality metrics, fed by the model. Borrowed by the hooks; so is what it names. */
struct recommender_quality {
    const bool *standby;       /* while it is true the leader counts; NULL: none */
    struct measures *measures; /* NULL: none */
};
struct vpa_model_hooks recommender_quality_hooks(const struct recommender_quality *quality);

/* Parts of a pass: "LoadVPAs" ... "total". */
extern struct vpa_metric metrics_steps;
/* Seconds from the creation of a VPA to its first recommendation. */
extern struct vpa_metric metrics_first_recommendations;
extern struct vpa_metric metrics_aggregates;
/* One reading of the usage. */
extern struct vpa_metric metrics_usage_responses;
void metrics_prometheus_response(int code, const char *method, vpa_duration took);
/* The families that upstream does not have are there with 0 before anything has happened, those
 * whose labels name a VPA with a series that names none; upstream's appear as upstream's do. */
void metrics_start(void);
/* By the line of the log that tells of them: constant text. */
extern struct vpa_metric metrics_failures;
/* Checkpoints that could not be read: "kept" aside (no upstream counterpart). */
extern struct vpa_metric metrics_unreadable_checkpoints;
/* (ours - theirs) / theirs, of a shadow (no upstream counterpart), by bound (one of metrics_bounds)
 * and resource. */
#define METRICS_BOUNDS 3
extern const char *const metrics_bounds[METRICS_BOUNDS];
extern struct vpa_metric metrics_shadow_differences;
/* Queries that were answered: Recommendation, NoVPA, NoRecommendation, UnknownController, or the
 * reason of the Status (no upstream counterpart). Any thread. */
extern struct vpa_metric metrics_queries;
/* Container requests read: from the status of the pod, else from its spec. */
void metrics_resource_lookups(const struct vpa_lookups *lookups);

/* Object counts: begin sets every known combination to 0, end publishes, drop does not. */
struct metrics_objects;
struct metrics_objects *metrics_objects_begin(void);
void metrics_objects_add(struct metrics_objects *objects, const char *mode, bool has_recommendation,
                         bool matches_pods, bool unsupported);
void metrics_objects_end(struct metrics_objects *objects); /* frees */
void metrics_objects_drop(struct metrics_objects *objects);

#endif
