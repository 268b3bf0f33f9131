/*
 * What the recommendation API counts about its certificate and what is in the way of its callers,
 * as the webhook does of itself (admission/meters.h). Any thread.
 */
#ifndef RECOMMENDER_API_METERS_H
#define RECOMMENDER_API_METERS_H

#include "vpa/base/metrics.h"

#define API_METERS 5
extern struct vpa_metric *const api_meters[API_METERS];
/* The families are there with 0 before anything has happened. */
void api_meters_start(void);

/* The chain (PEM) that is served from now on. */
void api_meter_serves(const char *chain_pem);
/* Steps that this replica took, by vpa_certificates_step_name(). */
extern struct vpa_metric api_meter_steps;
/* Looks that found that API servers cannot use the API: "secret" (no certificates can be kept),
 * "registration" (the APIService), "chain" (its caBundle does not take what is served), "listener"
 * (the pair cannot be served). */
extern struct vpa_metric api_meter_failures;
/* "caBundle": written again because somebody had changed it. */
extern struct vpa_metric api_meter_repairs;
/* By vpa_server_handshake_failure(). */
extern struct vpa_metric api_meter_handshakes;

#endif
