/*
 * Asks Prometheus the three questions of a history, one after the other (recommender.md 16.2 of the
 * specification). Each query is a POST; a server that refuses the method (403, 405, 501) or sends
 * it elsewhere is asked again with GET, once. Nothing else is repeated.
 */
#ifndef RECOMMENDER_PROM_CLIENT_H
#define RECOMMENDER_PROM_CLIENT_H

#include "history.h"

#include "vpa/net/loop.h"
#include "vpa/net/transport.h"

/* Who takes the series of an answer. */
struct prom_taker {
    prom_series_fn on_series;
    void *ctx;
};

/* How far a history has come that is asked for in several goes. */
struct prom_progress {
    vpa_time until;        /* what comes later is not asked for; unset: now */
    vpa_duration patience; /* after that no further question is begun in this go */
    enum prom_kind next;   /* question; PROM_KINDS: all are answered */
};
/* Fills history, pumping the loop, from answers of HISTORY_ANSWER_MAX each at most. On -1 its
 * content is of no use. progress NULL: all of it, until now. */
int prom_fetch_history(struct vpa_loop *loop, struct vpa_transport *transport,
                       const struct prom_plan *plan, struct prom_progress *progress,
                       struct history *history, struct vpa_error *err) VPA_MUST_CHECK;

/* The same without the labels of pods, for who knows by himself whose pods they are. */
int prom_fetch_usage(struct vpa_loop *loop, struct vpa_transport *transport,
                     const struct prom_plan *plan, struct history *history,
                     struct vpa_error *err) VPA_MUST_CHECK;

/* Asks one question about a range of time; kind is how errors name it. on_series is called for
 * every series of the answer as it comes, and what it was given is of no use when the result is -1:
 * VPA_RETRY when there was no answer or not all of it, VPA_INVALID or VPA_LIMIT when it cannot be
 * used, as one longer than PROM_RANGE_ANSWER_MAX. */
#define PROM_RANGE_ANSWER_MAX ((size_t)64 << 20)
int prom_fetch_range(struct vpa_loop *loop, struct vpa_transport *transport,
                     const struct prom_plan *plan, const struct prom_range *range,
                     enum prom_kind kind, const struct prom_taker *taker,
                     struct vpa_error *err) VPA_MUST_CHECK;

#endif
