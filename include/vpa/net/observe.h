/*
 * The plain listener of a daemon: /metrics and /health-check (metrics.md 1, 2 and 7 of the
 * specification), served on the loop; anything else is 404.
 *
 *     struct vpa_observe *o = vpa_observe_new(loop, &options, &err);   // before anything can block
 *     vpa_observe_arm(o);        // from here on the health check wants activity
 *     vpa_observe_activity(o);   // after each pass
 *
 * Healthy until armed; after that as long as the last activity is at most health_timeout of virtual
 * time ago.
 */
#ifndef VPA_NET_OBSERVE_H
#define VPA_NET_OBSERVE_H

#include "vpa/base/metrics.h"
#include "vpa/net/http_server.h"

struct vpa_observe_options {
    const char *address;               /* host:port */
    struct vpa_metric *const *metrics; /* borrowed */
    size_t metric_count;
    vpa_duration health_timeout;
};
struct vpa_observe;
struct vpa_observe *vpa_observe_new(struct vpa_loop *loop,
                                    const struct vpa_observe_options *options,
                                    struct vpa_error *err);
void vpa_observe_free(struct vpa_observe *observe); /* NULL is allowed */
int vpa_observe_port(const struct vpa_observe *observe);
void vpa_observe_arm(struct vpa_observe *observe);
void vpa_observe_activity(struct vpa_observe *observe);
/* What the listener answers; exposed for tests. */
void vpa_observe_answer(struct vpa_observe *observe, const struct vpa_server_request *request,
                        struct vpa_server_response *response);

/* The process_* series, from /proc/self and getrlimit; what cannot be read is 0. */
void vpa_process_stats_read(struct vpa_process_stats *stats);

#endif
