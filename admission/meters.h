/*
 * The admission controller's metrics (specification metrics.md 5). Updated from the webhook's
 * thread.
 */
#ifndef ADMISSION_METERS_H
#define ADMISSION_METERS_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/metrics.h"

extern struct vpa_metric *const admission_metrics[];
extern const size_t admission_metric_count;

/* One pod review answered; applied: a patch was sent. */
void meter_pod(bool applied);
/* A patch could not be calculated (docs/compatibility.md, U9). */
void meter_calculation_failed(void);
/* The families that upstream does not have are there with 0 before anything has happened. */
void meters_start(void);

/* One pod for which the recommender was to be asked: Recommendation, or why there is none (docs/
 * guide/recommendation-query.md). */
void meter_recommendation_query(const char *result);
/* One call: from its headers to its answer. */
void meter_admission(const char *status, const char *resource, double seconds);
/* step: read_request, admit, build_response, write_response, total. */
void meter_step(const char *step, double seconds);

/* What the webhook's proof of itself finds. Times are Unix seconds; step and what are words of
 * ours: self_test.h, keeper.h. */
void meter_certificate(double expires);
void meter_handshake_failed(const char *reason);
void meter_self_test_failed(const char *step);
void meter_repair(const char *what);
void meter_registration(bool right);
void meter_panic(bool on);

#endif
