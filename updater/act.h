/*
 * One request about one pod: eviction, resize, end of a boost.
 */
#ifndef UPDATER_ACT_H
#define UPDATER_ACT_H

#include "work.h"

/* pod: index into w->pods. The answer is dealt with by updater_pass_settle: budget, metrics,
 * events, and for a refused resize the flag w->evict. */

/* Sends the eviction of a pod that may be evicted (vpa_eviction_rest), which the caller has just
 * asked. */
void updater_act_evict(struct work *w, size_t pod);
/* Returns ACT_SENT, or why nothing was sent. Takes a token of the in-place limiter first, unless
 * the pod has what it should have. candidate: position in w->list, or SIZE_MAX for an unboost. */
enum act_result updater_act_resize(struct work *w, size_t pod, size_t candidate);

#endif
