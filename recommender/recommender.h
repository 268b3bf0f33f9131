/*
 * The recommender: everything but flags, sockets and signals, which main.c adds. Tests drive the
 * same constructor against an API server in memory and a manual clock.
 *
 *     struct recommender *r = recommender_new(&options);
 *     if (recommender_start(r, &err) < 0 || recommender_load_history(r, &err) < 0) ...
 *     recommender_run(r);      // or recommender_pass(r), one pass at a time
 *     recommender_free(r);
 *
 * A pass is straight-line code that pumps the loop where it waits. While it runs, callbacks of the
 * loop only enqueue.
 */
#ifndef RECOMMENDER_RECOMMENDER_H
#define RECOMMENDER_RECOMMENDER_H

#include "config.h"

#include "vpa/kube/client.h"
#include "vpa/net/http_client.h"
#include "vpa/daemon/observe.h"

/* Makes a transport to Prometheus; NULL with err when that is not possible. */
typedef struct vpa_transport *(*recommender_connect_fn)(
    void *ctx, const struct vpa_http_client_options *options, struct vpa_error *err);

struct recommender_options { /* all borrowed; must outlive the recommender */
    struct vpa_loop *loop;
    const struct recommender_config *config; /* checked */
    /* A rate limit each, as upstream's client sets have: caches, owners and events; status and
     * checkpoints; usage. They may be one and the same. */
    struct vpa_kube_client *client;
    struct vpa_kube_client *writer;
    struct vpa_kube_client *metrics;
    struct vpa_observe *observe; /* may be NULL */
    recommender_connect_fn connect_prometheus;
    void *connect_ctx;
};
struct recommender;
struct recommender *recommender_new(const struct recommender_options *options);
/* The clients must still be there. NULL is ignored. */
void recommender_free(struct recommender *r);

/* Starts the caches and waits until they are in step. -1 when the loop was stopped. */
int recommender_start(struct recommender *r, struct vpa_error *err) VPA_MUST_CHECK;
/* Checkpoints or Prometheus into the model. -1 when the loop was stopped (VPA_CANCELLED) or
 * Prometheus settings cannot be used (VPA_INVALID: the process ends). Checkpoints that cannot be
 * listed are tried again until they can. */
int recommender_load_history(struct recommender *r, struct vpa_error *err) VPA_MUST_CHECK;
/* One pass of the main loop. */
void recommender_pass(struct recommender *r);
/* Passes at start + n * interval, the first one interval from now, until the loop is stopped. A
 * tick that comes while a pass runs is remembered, further ones are not. on_pass (may be NULL) is
 * told when a pass begins. */
void recommender_run(struct recommender *r, void (*on_pass)(void *ctx), void *ctx);

#endif
