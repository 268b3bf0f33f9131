/*
 * Breakers, and the rows of failures that open those of a namespace and of the cluster. A row is
 * made of members, VPAs in a namespace, namespaces in the cluster; each counts once, however often
 * it fails, so that a namespace alone stops nobody but itself.
 */
#ifndef POLICY_BREAKER_H
#define POLICY_BREAKER_H

#include "vpa/policy/breaker.h"

/* Whether now is in the span that began then. A clock that was put back ends it. */
bool breaker_within(vpa_time now, vpa_time since, vpa_duration span);

/* Opens it, or again, for twice as long. */
void breaker_open(struct vpa_breaker *b, enum vpa_verdict verdict, const char *seen, vpa_time now);
void breaker_close(struct vpa_breaker *b);
/* paused: what is said while the pause lasts. */
enum vpa_proof_permit breaker_permit(const struct vpa_breaker *b, enum vpa_proof_permit paused,
                                     vpa_time now);
/* The shortest of the pauses that is no shorter than what is left of one. */
vpa_duration breaker_pause_of(vpa_duration left);

struct scope { /* the cluster, or a namespace */
    struct vpa_breaker breaker;
    vpa_time tried; /* the trial under way was sent */
    unsigned row;   /* grows with each good proof; members keep that of which they are part */
    size_t row_count;
};
void scope_init(struct scope *scope);
void scope_release(struct scope *scope);
/* member: the row that the asking one is part of. Those that failed let the others go first after a
 * pause: one that fails for ever would keep everybody waiting. */
enum vpa_proof_permit scope_permit(const struct scope *scope, unsigned member,
                                   enum vpa_proof_permit paused, vpa_time now);
void scope_try(struct scope *scope, vpa_time now);
/* trial: it was that of the scope. */
void scope_failed(struct scope *scope, unsigned *member, bool trial, enum vpa_verdict verdict,
                  const char *seen, vpa_time now);
void scope_helped(struct scope *scope);

#endif
