/*
 * Breakers, and the rows of failures that open those of a namespace and of the cluster. A row is
 * made of members, VPAs in a namespace, namespaces in the cluster; each counts once, however often
 * it fails, so that a namespace alone stops nobody but itself.
 */
#ifndef POLICY_BREAKER_H
#define POLICY_BREAKER_H

#include "vpa/policy/breaker.h"

/* Of a replacement: that it has not what the webhook gives, that it has it. */
bool verdict_lacks_values(enum vpa_verdict verdict);
bool verdict_shows_values(enum vpa_verdict verdict);

/* Whether now is in the span that began then. A clock that was put back ends it. */
bool breaker_within(vpa_time now, vpa_time since, vpa_duration span);

/* Opens it, or again, for twice as long. */
void breaker_open(struct vpa_breaker *b, enum vpa_verdict verdict, const char *seen, vpa_time now);
/* What is said of an open one: a pod that did not bear its values stays, also when the next one was
 * not resized at all. */
void breaker_note(struct vpa_breaker *b, enum vpa_verdict verdict, const char *seen);
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
/* later: for how long after a pause the asking one lets others go first; it is zero for those who
 * are most likely to help, since one that fails for ever would keep everybody waiting. */
enum vpa_proof_permit scope_permit(const struct scope *scope, vpa_duration later,
                                   enum vpa_proof_permit paused, vpa_time now);
/* It is paused, and the next action decides whether it is any longer. */
bool scope_is_due(const struct scope *scope, vpa_time now);
void scope_try(struct scope *scope, vpa_time now);
/* trial: it was that of the scope. */
void scope_failed(struct scope *scope, unsigned *member, bool trial, enum vpa_verdict verdict,
                  const char *seen, vpa_time now);
/* It has not failed: it is no part of the row any more. */
void scope_forgive(struct scope *scope, unsigned *member);
void scope_helped(struct scope *scope);

/* ---- who goes first in the cluster ---- */

/* Those namespaces in which an eviction has helped within a day, while there are any that are not
 * part of the row; then those of which nothing is known; those that failed at last. Else somebody
 * who may make namespaces fails one trial after the other, with one that is new each time. */
struct helpers {
    size_t count;
    size_t failing; /* of these, those that are part of the row */
};
struct helper { /* a namespace; zeroed: none yet */
    bool helped;
    vpa_time at; /* the last time */
};
/* How long it lets others go first. helper: NULL when nothing is known of it. */
vpa_duration helpers_first(const struct helpers *helpers, const struct helper *helper, bool fails);
/* It becomes part of the row. */
void helpers_failed(struct helpers *helpers, const struct helper *helper);
void helpers_helped(struct helpers *helpers, struct helper *helper, vpa_time now);
/* What was too long ago. */
void helpers_forget(struct helpers *helpers, struct helper *helper, bool fails, vpa_time now);

#endif
