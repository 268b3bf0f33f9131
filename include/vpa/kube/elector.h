/*
 * Leader election with a Lease, wire-compatible with client-go (leader-election-and-clients.md 1 of
 * the specification), plus the orderly release of DECISIONS U11 (docs/compatibility.md).
 *
 *     if (vpa_elector_check(&options, &err) < 0) ... exit 2, err.text is upstream's
 *     struct vpa_elector *e = vpa_elector_new(&options);
 *     vpa_elector_start(e);          // on_started when leading, on_lost when the lease was lost
 *     ...
 *     vpa_elector_release(e, 3 * VPA_SECOND);   // at SIGTERM: pumps the loop
 *
 * The renewTime of others is never compared with the local clock: a lease is expired when nothing
 * changed for its own duration since it was first seen, measured on the monotonic clock.
 */
#ifndef VPA_KUBE_ELECTOR_H
#define VPA_KUBE_ELECTOR_H

#include <stdbool.h>

#include "vpa/api/lease.h"
#include "vpa/kube/client.h"

struct vpa_elector_options {        /* texts are copied */
    struct vpa_kube_client *client; /* borrowed; its own rate limit, not the daemon's */
    const char *ns;
    const char *name;
    const char *identity;        /* vpa_elector_identity() */
    vpa_duration lease_duration; /* 15 s */
    vpa_duration renew_deadline; /* 10 s */
    vpa_duration retry_period;   /* 2 s */
    void *ctx;
    void (*on_started)(void *ctx); /* leading now; once */
    void (*on_lost)(void *ctx);    /* lost for good: the daemon exits ("lost master", 255) */
};

/* The start-up rules of 1.1; the text is the message of upstream's panic. */
int vpa_elector_check(const struct vpa_elector_options *options,
                      struct vpa_error *err) VPA_MUST_CHECK;
/* --leader-elect-resource-lock: only "leases" is accepted; the text is upstream's. */
int vpa_elector_check_lock_type(const char *lock_type, struct vpa_error *err) VPA_MUST_CHECK;
/* <hostname>_<uuid> as a heap string; NULL with err when the host has no name. */
char *vpa_elector_identity(struct vpa_random *random, struct vpa_error *err);

struct vpa_elector;
struct vpa_elector *vpa_elector_new(const struct vpa_elector_options *options);
void vpa_elector_start(struct vpa_elector *elector);
/* True: others are better prepared to lead. A record that was there when this one began, and has
 * not changed since, counts for twice its duration: whoever waits for it to expire is first. */
void vpa_elector_yield(struct vpa_elector *elector, bool yield);
bool vpa_elector_yields(const struct vpa_elector *elector);
/* Starts, and pumps the loop until this process leads: 0; -1 when the loop was stopped first. */
int vpa_elector_campaign(struct vpa_elector *elector) VPA_MUST_CHECK;
/* Whether the lease is ours at this moment, to be asked before each write: its duration has not
 * passed since its last successful renewal was sent. Needs no answer of the server, so a process
 * that was stopped for a while learns at once that another one may lead. Leadership as a state
 * ends with on_lost alone. */
bool vpa_elector_is_leader(const struct vpa_elector *elector);
/* Its own, not the holder's; borrowed. */
const char *vpa_elector_own_identity(const struct vpa_elector *elector);
/* Stops renewing and, when leading or asking for the lease at this moment, gives it back; pumps the
 * loop at most so long. No callback comes afterwards. */
void vpa_elector_release(struct vpa_elector *elector, vpa_duration timeout);
void vpa_elector_free(struct vpa_elector *elector); /* releases nothing; NULL is allowed */

/* For whoever keeps a Lease of another kind: a call with verb GET, CREATE or UPDATE. lease: what is
 * written, NULL for GET. The texts live in the arena. */
struct vpa_kube_call vpa_lease_call(struct vpa_arena *arena, enum vpa_kube_verb verb,
                                    const char *ns, const char *name, const struct vpa_lease *lease,
                                    vpa_duration timeout);
/* The answer to one; the texts of out live in the arena. */
int vpa_lease_read(struct vpa_arena *arena, const struct vpa_kube_result *result,
                   struct vpa_lease *out, struct vpa_error *err) VPA_MUST_CHECK;

#endif
