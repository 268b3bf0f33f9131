/*
 * Mode "history" of an algorithm: once per period what a VPA knows of its containers is filled anew
 * from Prometheus, with the queries that Crane makes (specification crane.md 2). In between, live
 * samples are added; OOM kills stay. A VPA has the mode by its parameters "mode" and
 * "history-period" (docs/algorithms.md).
 */
#ifndef RECOMMENDER_REFILL_H
#define RECOMMENDER_REFILL_H

#include "config.h"

#include "vpa/model/cluster.h"
#include "vpa/net/http_client.h"
#include "vpa/net/loop.h"

/* VPAs that one pass fills; the others wait for the next one. */
#define REFILL_VPAS_MAX 20
/* How long a pass waits for Prometheus in all. */
#define REFILL_PATIENCE (30 * VPA_SECOND)
/* Until a VPA whose queries failed is tried again, doubled with each failure in a row up to
 * 2^REFILL_DOUBLINGS times; and until any VPA is when they were not answered. So the next turn is
 * that of the others. */
#define REFILL_RETRY (10 * VPA_MINUTE)
#define REFILL_DOUBLINGS 6

struct refill_options { /* all borrowed */
    struct vpa_loop *loop;
    const struct recommender_config *config;
    struct vpa_cluster *cluster;
    /* As that of the recommender; NULL: there is no way to Prometheus. */
    struct vpa_transport *(*connect)(void *ctx, const struct vpa_http_client_options *options,
                                     struct vpa_error *err);
    void *connect_ctx;
};
struct refill;
struct refill *refill_new(const struct refill_options *options);
void refill_free(struct refill *r); /* NULL is ignored */
/* One step of a pass, after the usage; pumps the loop. What fails is logged. */
void refill_pass(struct refill *r);

#endif
