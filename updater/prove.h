/*
 * What evictions and resizes did (U24): trials under way, looked at in every pass by what the
 * caches have, and the breakers of vpa/policy/proof.h that follow.
 *
 *     updater_prove_observe(pass, vpas, count, selection, pods, pod_count); // first of all
 *     if (updater_prove_rest(w, i, VPA_PROOF_EVICTION, &dry_run)) ...    // not now
 *     updater_prove_sent(w, i, VPA_PROOF_EVICTION, false, &wanted);      // the request goes out
 *     updater_prove_refused(w, i, VPA_PROOF_EVICTION);                   // it was refused
 *
 * A trial belongs to the group of the pod (its owner). The first of a group is waited for; while a
 * group is proven one of its pods after the other is looked at all the same. One whose pod waits
 * for its kubelet is looked at on, and nobody waits for it. No API call is made, but one list of a
 * namespace's unscheduled pods in a pass when replacements do not come.
 */
#ifndef UPDATER_PROVE_H
#define UPDATER_PROVE_H

#include "select.h"
#include "work.h"
#include "vpa/policy/proof.h"

struct prove;
struct prove *updater_prove_new(const struct updater_config *config);
void updater_prove_free(struct prove *prove); /* NULL is allowed */

/* vpas: all that are known, ordered; pods: all live ones. */
void updater_prove_observe(struct pass *pass, const struct vpa_object *const *vpas,
                           size_t vpa_count, const struct selection *selection,
                           const struct vpa_pod *const *pods, size_t pod_count);
/* No pod of the VPA is to be resized: when all are well it is paused no more for one that its
 * kubelet had not resized. */
void updater_prove_settled(struct work *w);
/* The webhook's Lease, as env->webhook has it, says that it works, or not. */
void updater_prove_webhook(struct pass_env *env, bool works);

/* NONE: it may be done. *dry_run is set when its replacement is to be tried before, as of the first
 * eviction of a group with --prove-evictions=dry-run; NULL for resizes. */
enum vpa_rest updater_prove_rest(const struct work *w, size_t pod, enum vpa_proof_way way,
                                 bool *dry_run);
/* Tries the replacement: false when it would not help, which opens the breaker. Pumps the loop. */
bool updater_prove_dry_run(struct work *w, size_t pod);
/* restarts: containers of the pod end by it. wanted: what it, or its replacement, is to have. */
void updater_prove_sent(struct work *w, size_t pod, enum vpa_proof_way way, bool restarts,
                        const struct vpa_recommendation *wanted);
void updater_prove_refused(struct work *w, size_t pod, enum vpa_proof_way way);

#endif
