/* Whether the API server answers: one log line when it goes away, one when it is back. */
#ifndef VPA_KUBE_REACH_H
#define VPA_KUBE_REACH_H

#include "vpa/net/transport.h"

/* A status line came. */
void reach_answered(struct vpa_reach *reach, int64_t monotonic_now);
/* Whether a failure says something about the server, of a request that was not answered yet. (A
 * watch that was open and ends says nothing: it is opened anew, and that will tell.) repeatable: it
 * may be sent again, whatever became of it. */
bool reach_is_about_server(enum vpa_transport_failure failure, bool repeatable);
/* An attempt, begun when there had been so many answers, failed without one. A server that did not
 * answer anybody since is away. True when it is: the log has err then. */
bool reach_failed(struct vpa_reach *reach, uint64_t answers_before, int64_t monotonic_now,
                  struct vpa_error *err);

#endif
