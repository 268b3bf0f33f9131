/*
 * The recommender: everything but flags, sockets and signals, which the frame of daemons adds.
 * Tests drive the same constructor against an API server in memory and a manual clock.
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
#include "shadow.h"
#include "standby.h"

#include "vpa/daemon/ledger.h"
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
    /* With --leader-elect and --standby, else NULL: whether another one leads. While it is true
     * passes read and compute everything and write nothing, so that this process can go on where
     * the leader ends. */
    const bool *standby;
    const struct standby_options *standby_lease; /* NULL: none; not with Prometheus; copied */
    struct vpa_ledger *ledger; /* what recommendations change; NULL: nothing is written down */
    struct shadow *shadow; /* beside another installation, with *standby true for good; or NULL */
    recommender_connect_fn connect_prometheus;
    void *connect_ctx;
};
struct recommender;
/* What the flags make of the histograms' settings; vpa_aggregation_release releases it. */
void recommender_aggregation(const struct recommender_config *c, struct vpa_aggregation *a);
struct recommender *recommender_new(const struct recommender_options *options);
/* The clients must still be there. NULL is ignored. */
void recommender_free(struct recommender *r);

/* Starts the caches and waits until they are in step. -1 when the loop was stopped, or the listener
 * of the recommendation API cannot be started. */
int recommender_start(struct recommender *r, struct vpa_error *err) VPA_MUST_CHECK;
/* Checkpoints or Prometheus into the model. -1 when the loop was stopped (VPA_CANCELLED) or
 * Prometheus settings cannot be used (VPA_INVALID: the process ends). Checkpoints that cannot be
 * listed are tried again until they can, a history that Prometheus does not give in the passes that
 * follow (start_history.h). */
int recommender_load_history(struct recommender *r, struct vpa_error *err) VPA_MUST_CHECK;
/* One pass of the main loop. */
void recommender_pass(struct recommender *r);
/* Writes the checkpoints that wait for their turn, before the Lease is given back; at most so long,
 * whatever the API server does: it is that Lease that others wait for. Resumes the loop. Nothing
 * while a standby. */
void recommender_flush(struct recommender *r, vpa_duration timeout);
/* Whether it does its work, or could take it over at once. ctx is the recommender. */
bool recommender_is_ready(void *ctx, struct vpa_buf *why);
/* Passes at start + n * interval, the first one interval from now, until the loop is stopped. With
 * a standby they come at multiples of the interval on the clock instead, so that replicas read the
 * same samples. A tick that comes while a pass runs is remembered, further ones are not. on_pass
 * (may be NULL) is told when a pass begins. */
void recommender_run(struct recommender *r, void (*on_pass)(void *ctx), void *ctx);

#endif
