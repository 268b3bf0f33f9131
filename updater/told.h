/*
 * What the ledger is told of pods that are left alone, of VPAs and of passes in which nothing is
 * done: not in every pass, but when the answer changes.
 *
 *     updater_tell_of_vpa(env, vpa, VPA_REST_MODE, "mode Off: ...");    // said once
 *     w->told = updater_told_of(env, vpa);                              // a work begins
 *     updater_rest_note(w, i, VPA_REST_YOUNG);    // each time a rule says no, as it says it
 *     updater_rest_publish(w);                                          // a work ends
 *
 * The pods of a VPA are a group: an entry is made when a rule says no to one of them that its VPA
 * was not told. It has that pod, the rule, its values in words, what it rested on
 * (vpa/policy/rest_facts.h), and of how many pods of the VPA the same is true in that pass. While
 * nothing changes a pod costs a counter and a bit that is looked at, a VPA one look-up.
 *
 * A VPA was told a rule when it had an entry for it, whichever of its pods that was. What it does
 * not hear for ten to twenty passes is told again, and everything when it was changed: answers that
 * go to and fro do not fill the ledger. Nor does a cluster that is new to the process: a pass makes
 * at most UPDATER_TOLD_MAX such entries, the rest follows in the next ones. About 100 bytes are
 * kept for each VPA, nothing for pods.
 */
#ifndef UPDATER_TOLD_H
#define UPDATER_TOLD_H

#include "note.h"
#include "work.h"
#include "vpa/daemon/ledger.h"

/* Entries of pods and VPAs left alone that a pass may make: env->rest_room when it begins. */
#define UPDATER_TOLD_MAX 500
#define UPDATER_LEAVES_ALONE "leave alone"

/* Of a VPA as it is now, borrowed until it is gone; NULL without a ledger. */
struct told *updater_told_of(struct pass_env *env, const struct vpa_object *vpa);
/* Whether the rule is to be entered, which is true once. told may be NULL. */
bool updater_told_news(struct pass_env *env, struct told *told, enum vpa_rest rest);
/* The VPA's pass is over. */
void updater_told_turn(struct told *told);

/* By its state or worth; when its turn has come, by what proofs, limiter or server say. */
void updater_rest_note(struct work *w, size_t pod, enum vpa_rest rest);
void updater_rest_note_turn(struct work *w, size_t pod, enum vpa_rest rest);
/* Enters what was noted. */
void updater_rest_publish(struct work *w);
/* Into the ledger, if there is one. inputs may be NULL. */
void updater_write_down(const struct pass_env *env, const struct vpa_object *vpa, const char *pod,
                        const struct vpa_ledger_entry *entry);

/* Of a VPA whose pods are not looked at. why: in words. */
void updater_tell_of_vpa(struct pass_env *env, const struct vpa_object *vpa, enum vpa_rest rest,
                         const char *why);
/* Of everything: the pass does nothing by that rule; NULL: it goes on. */
void updater_tell_of_pass(struct pass_env *env, const char *rule, const char *why);

#endif
