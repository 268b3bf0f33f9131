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
/* A step of vpa_certificates_step_name() was taken by this replica. */
void api_meter_step(const char *step);
/* A look found that API servers cannot use the API: "secret" (no certificates can be kept),
 * "registration" (the APIService), "chain" (its caBundle does not take what is served), "listener"
 * (the pair cannot be served). */
void api_meter_failed(const char *step);
/* The caBundle was written again because somebody had changed it. */
void api_meter_repaired(void);
/* One of vpa_server_handshake_failure(). */
void api_meter_handshake_failed(const char *reason);

#endif
