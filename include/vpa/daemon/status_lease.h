/*
 * The admission controller's status Lease: written by the webhook, read by the updater before it
 * acts (leader-election-and-clients.md 2 of the specification). A wall-clock liveness mark, no
 * leadership.
 *
 * The two clocks are those of two machines, of which one may be set wrong. So a reader remembers
 * what it saw: a Lease whose renewTime grows is renewed, whatever the time in it, and once it has
 * not grown for the timeout it is not, both by the reader's monotonic clock alone. What was not
 * seen to grow is judged by the time in it, as upstream has it, on the API server's clock where
 * that differs from ours; ahead of that clock by more than the timeout it says nothing.
 *
 * acquireTime and leaseTransitions, which upstream neither writes nor reads, tell a reader that the
 * webhook was away: a writer takes the Lease anew with its first renewal, and with the first one
 * after several that it could not make (frozen, cut off, unhealthy).
 */
#ifndef VPA_DAEMON_STATUS_LEASE_H
#define VPA_DAEMON_STATUS_LEASE_H

#include <stdbool.h>

#include "vpa/kube/client.h"

#define VPA_STATUS_LEASE_TRIES 3
#define VPA_STATUS_LEASE_NAME "vpa-admission-controller"

/* The flag, else $NAMESPACE, else kube-system. */
const char *vpa_status_lease_namespace(const char *flag);

struct vpa_status_writer_options {  /* texts are copied */
    struct vpa_kube_client *client; /* borrowed */
    const char *ns;
    const char *name;
    const char *holder;    /* host name */
    vpa_duration interval; /* period, limit of one write, and leaseDurationSeconds */
    /* Asked before each write; false skips it: the webhook failed its self-test. The first time
     * after a renewal this is taken back. NULL: always true. */
    bool (*healthy)(void *ctx);
    void *ctx;
};
struct vpa_status_writer;
struct vpa_status_writer *vpa_status_writer_new(const struct vpa_status_writer_options *options);
/* The first write comes one interval later. */
void vpa_status_writer_start(struct vpa_status_writer *writer);
/* The webhook stops: no renewal comes any more, and the last one is taken back unless somebody else
 * has made one since. The loop is to turn until then. */
void vpa_status_writer_farewell(struct vpa_status_writer *writer);
void vpa_status_writer_free(struct vpa_status_writer *writer); /* NULL is allowed */

/* A Lease as one reader sees it; all zero but for the first three to begin with. */
struct vpa_status_view {
    const char *ns; /* borrowed */
    const char *name;
    vpa_duration timeout;
    bool known; /* it was read before: */
    bool moved; /* renewTime was seen to grow, and not to have stopped since */
    vpa_time renewed;
    int64_t since;  /* monotonic: when this renewTime was first seen */
    vpa_time start; /* another one when a webhook began to work anew; unset: nobody tells */
};

/* Reads the lease, pumping the loop, with three tries. 0: *valid says whether it is renewed: seen
 * to be, or creation or renewal lie less than timeout back, and in any case first seen as it is
 * less than timeout ago. -1: it cannot be read, NOT_FOUND
 * included; text as upstream's. */
int vpa_status_lease_check(struct vpa_kube_client *client, struct vpa_status_view *view,
                           bool *valid, struct vpa_error *err) VPA_MUST_CHECK;

#endif
