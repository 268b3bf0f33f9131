/*
 * The plain listener of a daemon: /metrics, /health-check and /readyz, and up to
 * VPA_OBSERVE_PAGES_MAX pages more; anything else is 404.
 *
 *     struct vpa_observe *o = vpa_observe_new(loop, &options, &err);   // before anything can block
 *     vpa_observe_on_ready(o, is_ready, daemon);
 *     vpa_observe_arm(o);        // from here on both checks want activity
 *     vpa_observe_activity(o);   // after each pass
 *
 * It is served by a thread of its own, so that a client that asks for metrics all day long takes
 * nothing from the loop. The two checks are answered by the loop, which proves that it turns:
 * without an answer after probe_wait they fail.
 *
 * /health-check is for liveness. Once armed it also fails when the last activity is more than
 * health_timeout of virtual time ago, and a daemon may add a check of its own. It must never fail
 * because the API server is away: a restart does not bring that back, and loses what the daemon has
 * learnt. So time in which the API server does not answer counts as activity
 * (vpa_observe_unreachable).
 *
 * /readyz says whether the daemon does its work now, and if not, why (503): the same, and what
 * vpa_observe_on_ready() was told. How old the caches are belongs there.
 */
#ifndef VPA_DAEMON_OBSERVE_H
#define VPA_DAEMON_OBSERVE_H

#include "vpa/base/buf.h"
#include "vpa/base/metrics.h"
#include "vpa/net/http_server.h"

#define VPA_OBSERVE_PAGES_MAX 4

struct vpa_observe_options {
    const char *address;               /* host:port */
    struct vpa_metric *const *metrics; /* borrowed */
    size_t metric_count;
    vpa_duration health_timeout;
    vpa_duration probe_wait; /* real time; 0: VPA_PROBE_WAIT */
    /* Paths of pages that will be served; borrowed, NULL between them allowed. One that is not
     * served, before or after, answers 503 and not 404, which would say that there is none. */
    const char *expected[VPA_OBSERVE_PAGES_MAX];
};
#define VPA_PROBE_WAIT (4 * VPA_SECOND) /* less than timeoutSeconds of the manifests' probes */

struct vpa_observe;
struct vpa_observe *vpa_observe_new(struct vpa_loop *loop,
                                    const struct vpa_observe_options *options,
                                    struct vpa_error *err);
void vpa_observe_free(struct vpa_observe *observe); /* NULL is allowed */
int vpa_observe_port(const struct vpa_observe *observe);

/* False when something does not hold; then why says what and for how long, as in "pods: no list
 * yet". Asked on the loop, once per request. */
typedef bool (*vpa_observe_fn)(void *ctx, struct vpa_buf *why);
/* One check each; fn NULL takes it back. */
void vpa_observe_on_alive(struct vpa_observe *observe, vpa_observe_fn fn, void *ctx);
void vpa_observe_on_ready(struct vpa_observe *observe, vpa_observe_fn fn, void *ctx);

/* For a check of readiness: whether the oldest cache, of which INT64_MAX says that it is not filled
 * yet, was in step within the last VPA_READY_CACHE_AGE_MAX. */
#define VPA_READY_CACHE_AGE_MAX (90 * VPA_SECOND)
bool vpa_observe_is_fresh(const char *which, vpa_duration age, struct vpa_buf *why);

/* One more page, up to VPA_OBSERVE_PAGES_MAX, answered on the server's thread, where it must not
 * take long. The path is borrowed; fn NULL takes its page back, and waits for an answer. */
void vpa_observe_serve(struct vpa_observe *observe, const char *path, vpa_server_fn fn, void *ctx);

void vpa_observe_arm(struct vpa_observe *observe);
void vpa_observe_activity(struct vpa_observe *observe);
/* Whether the API server was away when it was last asked. */
void vpa_observe_unreachable(struct vpa_observe *observe, bool unreachable);
/* What the listener answers, on the loop; exposed for tests. */
void vpa_observe_answer(struct vpa_observe *observe, const struct vpa_server_request *request,
                        struct vpa_server_response *response);

/* The process_* series, from /proc/self and getrlimit; what cannot be read is 0. */
void vpa_process_stats_read(struct vpa_process_stats *stats);

#endif
