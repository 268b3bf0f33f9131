/*
 * Asks Prometheus the three questions of a history, one after the other (recommender.md 16.2 of the
 * specification). Each query is a POST; a server that refuses the method (403, 405, 501) is asked
 * again with GET, once. Nothing else is repeated.
 */
#ifndef RECOMMENDER_PROM_CLIENT_H
#define RECOMMENDER_PROM_CLIENT_H

#include "history.h"

#include "vpa/net/loop.h"
#include "vpa/net/transport.h"

/* Fills history, pumping the loop. On -1 its content is of no use. */
int prom_fetch_history(struct vpa_loop *loop, struct vpa_transport *transport,
                       const struct prom_plan *plan, struct history *history,
                       struct vpa_error *err) VPA_MUST_CHECK;

#endif
