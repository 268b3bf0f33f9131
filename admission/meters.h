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
/* One call: from its headers to its answer. */
void meter_admission(const char *status, const char *resource, double seconds);
/* step: read_request, admit, build_response, write_response, total. */
void meter_step(const char *step, double seconds);

#endif
