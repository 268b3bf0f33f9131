/*
 * Why pods are left alone, for the ledger: not in every pass, but when the answer changes.
 *
 *     updater_rest_note(w, i, VPA_REST_YOUNG);     // each time a rule says no, as it says it
 *     updater_rest_publish(w);                     // a work ends
 *
 * The pods of a VPA are a group: an entry is made when a rule says no to one of them that its VPA
 * was not told (told.h). It has that pod, the rule, its values in words, what it rested on
 * (vpa/policy/rest_facts.h), and of how many pods of the VPA the same is true in that pass. While
 * nothing changes a pod costs a counter and a bit that is looked at, a VPA one look-up.
 */
#ifndef UPDATER_REST_H
#define UPDATER_REST_H

#include "work.h"

/* By its state or worth; when its turn has come, by what proofs, limiter or server say. */
void updater_rest_note(struct work *w, size_t pod, enum vpa_rest rest);
void updater_rest_note_turn(struct work *w, size_t pod, enum vpa_rest rest);
/* Enters what was noted. */
void updater_rest_publish(struct work *w);

#endif
