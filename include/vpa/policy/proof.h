/*
 * Whether acting helps (U24): a state machine that learns from what actions did. The first
 * eviction of a group of pods waits for its proof, a replacement that carries what was wanted; only
 * then come the next. While no group of a VPA is proven its groups are tried one at a time, each
 * for a while. A failed proof opens the breaker of that VPA: nothing is evicted for it
 * until a pause is over that doubles with each failure, and then one pod. Failures of several VPAs
 * of a namespace in a row open the breaker of that namespace, and failures in several namespaces
 * that of the cluster: whoever fills one namespace with VPAs that cannot be helped stops himself.
 * Those that have failed let others be tried first. Resizes that the kubelet never carries out have
 * breakers of their own.
 *
 *     struct vpa_proof_id id = {"web/api", "web/ReplicaSet/api-5d4", VPA_PROOF_EVICTION};
 *     if (vpa_permit_given(vpa_proof_ask(proof, &id, now)))
 *         first = vpa_proof_sent(proof, &id, now);      // and the action goes out
 *     ...
 *     change = vpa_proof_judge(proof, &id, VPA_VERDICT_NOT_PATCHED, "what was seen", now);
 *
 *     group    unproven --first sent--> waiting --good--> proven --10 minutes--> unproven
 *                                          \--failed--> unproven, breaker opens
 *     breaker  closed --failed--> open --pause over--> one pod --good--> closed
 *                                                             \--failed--> open, twice as long
 *
 * A webhook that was away when the replacement was created is not one that does not patch. Its
 * Lease names a start, another one whenever it begins to work anew. So what came back without our
 * values opens the breaker of its VPA, and is a question until the Lease is renewed after it was
 * seen; nothing else is evicted meanwhile, or nothing of its namespace, when that is part of the
 * row already. A Lease that names no start (another program's) leaves nothing to ask.
 *
 *     question  --renewed, the same start--> failed proof, counts towards the breakers of the
 *                                            namespace and the cluster
 *               --another start-----------> excused: the breaker is as before, tried with one pod,
 *                                           and as long as that is not patched with one in the
 *                                           whole cluster
 *
 * Starts that excuse are few: VPA_PROOF_EXCUSES without a good proof between, and so many a day for
 * one VPA without a good proof of its own. A webhook that ends again and again ends in a pause.
 *
 * No clock, no API calls; ids are copied. Bounded by the VPAs with an open breaker, those excused
 * within a day, the groups that were changed within the last minutes, and the VPAs and namespaces
 * of a row.
 */
#ifndef VPA_POLICY_PROOF_H
#define VPA_POLICY_PROOF_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/policy/breaker.h"

/* A proof holds while the group goes on being changed, and so long beyond the last one. */
#define VPA_PROOF_AGE (10 * VPA_MINUTE)
#define VPA_PROOF_EXCUSES 3

enum vpa_proof_way { VPA_PROOF_EVICTION, VPA_PROOF_RESIZE };
struct vpa_proof_id {
    const char *vpa;   /* namespace/name */
    const char *group; /* namespace/kind/name of the owner */
    enum vpa_proof_way way;
    vpa_time start;   /* vpa_proof_start() when the action went out; for the judge alone */
    uint64_t opening; /* of the VPA's breaker when it had gone out, 0: it was closed; as start */
    bool dry_run;     /* no action went out: one pod more that is refused counts for its VPA alone,
                       * since an eviction might make room for it; for the judge too */
};
struct vpa_proof;
/* patience: how long a replacement may take to come. Other groups wait so long for the first one,
 * ten minutes at least, and five more. */
struct vpa_proof *vpa_proof_new(vpa_duration patience);
void vpa_proof_free(struct vpa_proof *proof); /* NULL is allowed */

enum vpa_proof_permit vpa_proof_ask(const struct vpa_proof *proof, const struct vpa_proof_id *id,
                                    vpa_time now);
/* The action goes out; the permit was given. true: it is one whose outcome is waited for, to be
 * judged, or taken back when it was refused. */
bool vpa_proof_sent(struct vpa_proof *proof, const struct vpa_proof_id *id, vpa_time now);
void vpa_proof_refused(struct vpa_proof *proof, const struct vpa_proof_id *id);
/* Nothing is known of its outcome for a while, and nobody is to wait for it: as refused; but where
 * a breaker is open the next pod is tried after another pause. */
void vpa_proof_deferred(struct vpa_proof *proof, const struct vpa_proof_id *id, vpa_time now);

enum vpa_breaker_change {
    VPA_BREAKER_SAME,
    VPA_BREAKER_OPENED,
    VPA_BREAKER_CLOSED,
    VPA_BREAKER_EXCUSED, /* the verdict is a failure, and the webhook was away: the SAME */
    VPA_BREAKER_NOTED,   /* one more failure of what went out before it opened: it says so, and the
                          * pause stays */
};
/* verdict: not WAIT. Also for actions nobody waited for. The change is that of the VPA's breaker;
 * one that was open and failed again has OPENED. */
enum vpa_breaker_change vpa_proof_judge(struct vpa_proof *proof, const struct vpa_proof_id *id,
                                        enum vpa_verdict verdict, const char *seen, vpa_time now);
/* The webhook's Lease as a pass begins. start: another one when the webhook began to work anew;
 * heard: another one with each renewal. Answers the questions: the number of VPAs excused. Until it
 * is called nothing is a question, and failures count at once. */
size_t vpa_proof_webhook(struct vpa_proof *proof, vpa_time start, int64_t heard, vpa_time now);
vpa_time vpa_proof_start(const struct vpa_proof *proof);
/* A replacement has our values, whatever else becomes of it: the webhook works. */
void vpa_proof_patched(struct vpa_proof *proof);
/* A breaker that an earlier process had opened, and which was to be tried again at `retry`. A time
 * that is over, or more than the longest pause away, is not gone by: the first pause begins. */
struct vpa_pause {
    enum vpa_verdict verdict;
    const char *seen;
    vpa_time opened;
    vpa_time retry; /* or unset */
};
void vpa_proof_restore(struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way,
                       const struct vpa_pause *pause, vpa_time now);
/* The reason of the failures is gone: closed, nothing proven. True when a breaker was open. */
bool vpa_proof_reset(struct vpa_proof *proof, const char *vpa);
/* Another way has helped: this one may be tried again, one pod at a time. */
void vpa_proof_forgive(struct vpa_proof *proof, const char *vpa, enum vpa_proof_way way);
/* The webhook was repaired: breakers that it had opened last are closed, be they of VPAs, of
 * namespaces or the cluster's, no VPA that failed by it is part of a row any more, and one pod is
 * to show that it patches. The number of breakers. It counts as an excuse: 0 when there were too
 * many. */
size_t vpa_proof_repaired(struct vpa_proof *proof);

/* NULL while it is closed; borrowed until the next change. */
const struct vpa_breaker *vpa_proof_breaker(const struct vpa_proof *proof, const char *vpa,
                                            enum vpa_proof_way way);
const struct vpa_breaker *vpa_proof_cluster(const struct vpa_proof *proof);
/* How many namespaces are paused; the breaker that was opened last, or NULL. `seen` of both names
 * the VPA that failed last. */
size_t vpa_proof_namespaces(const struct vpa_proof *proof, const struct vpa_breaker **newest);
/* Drops what belongs to no VPA any more, and proofs that have lost their force. A VPA that was
 * reset, or is gone, stays part of a row only if it failed by itself, not by the webhook; it counts
 * once until it is gone. The pause of a namespace ends with what is kept of its last VPA. */
void vpa_proof_sweep(struct vpa_proof *proof, bool (*live)(void *ctx, const char *vpa), void *ctx,
                     vpa_time now);
size_t vpa_proof_open_count(const struct vpa_proof *proof);

#endif
