/*
 * Recommendations of all VPAs and their status patches (recommender.md 10 to 13 of the
 * specification).
 */
#ifndef RECOMMENDER_PUBLISH_H
#define RECOMMENDER_PUBLISH_H

#include "config.h"
#include "feeder.h"
#include "query.h"
#include "shadow.h"

#include "vpa/daemon/ledger.h"
#include "vpa/kube/client.h"
#include "vpa/model/cluster.h"
#include "vpa/policy/match.h"

#define PUBLISH_TIMEOUT VPA_MINUTE /* of one patch, waiting for the rate limit included */

struct publisher_options { /* all borrowed */
    struct vpa_loop *loop;
    struct vpa_kube_client *client;
    const struct recommender_config *config;
    struct vpa_cluster *cluster;
    const struct feeder *feeder;
    struct measures *measures; /* hears of each target; NULL: not measured */
    const bool *standby;       /* while true all is computed and nothing is patched; NULL: never */
    struct shadow *shadow;     /* told what is stored and what was computed; NULL: nobody */
    struct vpa_ledger *ledger; /* told what changes; NULL: nobody */
    struct query *query;       /* answers with what was computed; NULL: none */
};
struct publisher;
struct publisher *publisher_new(const struct publisher_options *options);
void publisher_free(struct publisher *p); /* NULL is ignored */

/*
 * Evaluates every VPA of the model, in order, and patches the statuses that changed, but for VPAs
 * that are unknown (feeder_knows_vpa) or await their history; at most
 * --update-worker-count patches are under way, and the next VPA is evaluated when one of them is
 * done, as upstream's workers do. Returns when all are answered, or the loop is stopped. foreign:
 * the VPAs of other recommenders, which may win pods (conflict.h); borrowed during the call. ahead:
 * how far the clock is thought to be ahead (set_clock.h); what was learned is not older for that.
 */
void publish_all(struct publisher *p, const struct vpa_candidate *foreign, size_t foreign_count,
                 vpa_duration ahead);

#endif
