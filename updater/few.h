/*
 * The condition TooFewReplicas: the updater leaves all pods of a VPA alone because their groups
 * have fewer live pods than --min-replicas or the VPA ask for.
 *
 *     updater_few_note(w);                              // the pods of a VPA have been looked at
 *     updater_few_publish(pass, vpas, count);           // at the end of a pass
 *
 * It is written when it has been so for UPDATER_FEW_PASSES passes in a row, and goes when it has
 * not been so for as many: a number that goes to and fro writes nothing. Its message is renewed
 * when owner and numbers are others and have been for as many passes; lastTransitionTime stays
 * then. While nothing changes nothing is sent.
 */
#ifndef UPDATER_FEW_H
#define UPDATER_FEW_H

#include "work.h"

#define UPDATER_FEW "TooFewReplicas"
#define UPDATER_FEW_PASSES 5

void updater_few_note(struct work *w);
/* vpas: all that are known, by namespace, then name. */
void updater_few_publish(struct pass *pass, const struct vpa_object *const *vpas, size_t count);
/* Frees what the environment holds. */
void updater_few_forget(struct pass_env *env);

#endif
