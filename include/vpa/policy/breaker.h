/*
 * A breaker: what was seen that did not help, and until when it is not tried again. VPAs,
 * namespaces and the cluster have one each; when they open and close is told in proof.h.
 */
#ifndef VPA_POLICY_BREAKER_H
#define VPA_POLICY_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "vpa/base/time.h"

#define VPA_PAUSE_FIRST (10 * VPA_MINUTE)
#define VPA_PAUSE_LONGEST (24 * VPA_HOUR)
/* Failed proofs of so many VPAs of a namespace, none good between them, open its breaker, those in
 * so many namespaces the cluster's. */
#define VPA_PROOF_ROW 3

enum vpa_proof_permit {
    VPA_PERMIT_FREE,  /* proven */
    VPA_PERMIT_FIRST, /* one, whose outcome is waited for */
    VPA_PERMIT_WAITING,
    VPA_PERMIT_PAUSED,           /* the VPA's breaker is open */
    VPA_PERMIT_NAMESPACE_PAUSED, /* its namespace's */
    VPA_PERMIT_CLUSTER_PAUSED,   /* the cluster's */
};
static inline bool vpa_permit_given(enum vpa_proof_permit permit)
{
    return permit <= VPA_PERMIT_FIRST;
}

/* What became of an action. */
enum vpa_verdict {
    VPA_VERDICT_WAIT, /* not known yet */
    VPA_VERDICT_GOOD,
    VPA_VERDICT_VOID,           /* never to be known: scaled down, deleted, changed */
    VPA_VERDICT_NOT_PATCHED,    /* from here on: failed proofs */
    VPA_VERDICT_PATCHED_BACK,   /* somebody changed what the webhook wrote */
    VPA_VERDICT_NO_REPLACEMENT, /* quota, admission or the controller refuse it */
    VPA_VERDICT_UNSCHEDULABLE,  /* no node can take it */
    VPA_VERDICT_CRASHING,       /* the pod before did not */
    VPA_VERDICT_NOT_READY,
    VPA_VERDICT_NOT_RESIZED, /* the kubelet cannot or does not */
    VPA_VERDICTS
};
const char *vpa_verdict_name(enum vpa_verdict verdict); /* "NotPatched": reasons, labels */
static inline bool vpa_verdict_failed(enum vpa_verdict verdict)
{
    return verdict >= VPA_VERDICT_NOT_PATCHED;
}

struct vpa_breaker {
    bool open;
    bool trial;               /* a pod was sent on trial, its outcome is awaited */
    enum vpa_verdict verdict; /* that opened it last */
    char *seen;               /* in words; owned by the breaker */
    vpa_time opened;
    vpa_time retry_at;
    vpa_duration pause;
    uint64_t opening; /* of a VPA's: another number whenever it opens, 0: it is closed */
};

#endif
