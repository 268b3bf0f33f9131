/*
 * The condition TooFewReplicas: the updater leaves all pods of a VPA alone because their groups
 * have fewer live pods than --min-replicas or the VPA ask for.
 *
 *     updater_few_note(w);                              // the pods of a VPA have been looked at
 *     updater_few_publish(pass, vpas, count, unknown);  // at the end of a pass
 *
 * It is written when it has been so for UPDATER_FEW_PASSES passes in a row, and goes when it has
 * not been so for as many: a number that goes to and fro writes nothing. Its message is renewed
 * when owner and numbers are others and have been for as many passes; lastTransitionTime stays
 * then. While nothing changes nothing is sent.
 *
 * A pass that a rate limiter ended has not looked at all VPAs. Those it has not are neither counted
 * nor written: their streak goes on with the next pass that looks at them.
 */
#ifndef UPDATER_FEW_H
#define UPDATER_FEW_H

#include "work.h"

#define UPDATER_FEW "TooFewReplicas"
#define UPDATER_FEW_PASSES 5

void updater_few_note(struct work *w);
/* vpas: all that are known, by namespace, then name. unknown: beside vpas, those that the pass has
 * not looked at; NULL: it has looked at all. */
void updater_few_publish(struct pass *pass, const struct vpa_object *const *vpas, size_t count,
                         const bool *unknown);

#endif
