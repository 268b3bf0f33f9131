/*
 * The admission controller's metrics (specification metrics.md 5). Updated from the webhook's
 * thread.
 */
#ifndef ADMISSION_METERS_H
#define ADMISSION_METERS_H

#include <stddef.h>

#include "vpa/base/metrics.h"

extern struct vpa_metric *const admission_metrics[];
extern const size_t admission_metric_count;

/* The families that upstream does not have are there with 0 before anything has happened. */
void meters_start(void);

/* Pod reviews that were answered; "true": a patch was sent. */
extern struct vpa_metric meter_pods;
/* A patch could not be calculated (docs/compatibility.md, U9). */
extern struct vpa_metric meter_calculation_failures;
/* Pods for which the recommender was to be asked: Recommendation, or why there is none (docs/guide/
 * recommendation-query.md). */
extern struct vpa_metric meter_queries;
/* By status and resource: one call, from its headers to its answer. */
extern struct vpa_metric meter_admission_seconds;
/* By step: read_request, admit, build_response, write_response, total. */
extern struct vpa_metric meter_step_seconds;

/* What the webhook's proof of itself finds. Times are Unix seconds; step and what are words of
 * ours: self_test.h, keeper.h. */
extern struct vpa_metric meter_certificate;
extern struct vpa_metric meter_handshakes; /* by reason */
extern struct vpa_metric meter_self_tests; /* by step */
extern struct vpa_metric meter_repairs;    /* by what */
extern struct vpa_metric meter_registration;
extern struct vpa_metric meter_panic;

#endif
