/*
 * The history that --storage=prometheus begins with: asked for at the start, and again between the
 * samples while it is missing (U49).
 *
 *     struct start_history *h = start_history_new(&options);
 *     if (start_history_load(h, &err) < 0) ...     // before the pods
 *     start_history_pass(h);                       // in each pass, after VPAs and pods
 *
 * Until it is read, VPAs that carry a recommendation as they become ours await it
 * (vpa_autoscaler_awaits_history): their status was made of more than the minutes since the start.
 * Those without one go on with what there is. Whatever Prometheus answers, a refusal too, is taken
 * for a failure that may pass: only who runs the cluster knows whether it does. After
 * START_HISTORY_HOLD nobody waits any longer.
 *
 * Samples are counted from the first failure on, and what is asked for again is the history until
 * then. So one that comes late lies before them: none is lost, and none counts twice.
 */
#ifndef RECOMMENDER_START_HISTORY_H
#define RECOMMENDER_START_HISTORY_H

#include "config.h"

#include "vpa/daemon/observe.h"
#include "vpa/model/cluster.h"
#include "vpa/net/http_client.h"
#include "vpa/net/loop.h"

/* Between questions that failed, doubled each time; the last one, too, when no VPA waits. */
#define START_HISTORY_RETRY (30 * VPA_SECOND)
#define START_HISTORY_RETRY_MAX (10 * VPA_MINUTE)
/* How long one question may take in a pass, and how long a pass begins new ones. */
#define START_HISTORY_TIMEOUT (2 * VPA_MINUTE)
#define START_HISTORY_PATIENCE VPA_MINUTE
/* How long a recommender that waits for it is not ready: whoever rolls it out looks meanwhile, and
 * what is never there must not stop every rollout. */
#define START_HISTORY_READY (4 * VPA_MINUTE)
/* What was learned since counts half by then, by the half-lives that are the default. */
#define START_HISTORY_HOLD (24 * VPA_HOUR)

struct start_history_options { /* all borrowed */
    struct vpa_loop *loop;
    const struct recommender_config *config;
    struct vpa_cluster *cluster;
    struct vpa_observe *observe; /* may be NULL */
    /* As that of the recommender. */
    struct vpa_transport *(*connect)(void *ctx, const struct vpa_http_client_options *options,
                                     struct vpa_error *err);
    void *connect_ctx;
};
struct start_history;
struct start_history *start_history_new(const struct start_history_options *options);
void start_history_free(struct start_history *h); /* NULL is ignored */
/* Asks once. -1: the settings cannot be used (VPA_INVALID), or the loop was stopped. What fails
 * otherwise is logged. Pumps the loop, as does the next. */
int start_history_load(struct start_history *h, struct vpa_error *err) VPA_MUST_CHECK;
/* Asks again when it is time to; tells the VPAs whether they wait. */
void start_history_pass(struct start_history *h);
/* Whether VPAs wait for it, or may do, since not long ago; then why says for what. */
bool start_history_is_awaited(const struct start_history *h, struct vpa_buf *why);

#endif
