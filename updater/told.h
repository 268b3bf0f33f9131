/*
 * What the ledger was told of pods, VPAs and passes in which nothing is done: so that it is told
 * again only when the answer changes.
 *
 *     updater_told_begin_pass(env, vpas, count);
 *     updater_tell_of_vpa(env, vpa, VPA_REST_MODE, "mode Off: ...");    // said once
 *     told = updater_told_of(env, vpa);
 *     if (updater_told_news(env, told, VPA_REST_YOUNG)) ... an entry ...
 *     updater_told_turn(told);                                          // its pass is over
 *
 * A VPA was told a rule when it had an entry for it, whichever of its pods that was. What it does
 * not hear for ten to twenty passes is told again, and everything when it was changed: answers that
 * go to and fro do not fill the ledger. Nor does a cluster that is new to the process: a pass makes
 * at most UPDATER_TOLD_MAX such entries, the rest follows in the next ones. About 100 bytes are
 * kept for each VPA, nothing for pods.
 */
#ifndef UPDATER_TOLD_H
#define UPDATER_TOLD_H

#include "env.h"
#include "vpa/policy/rest.h"

#define UPDATER_TOLD_MAX 500
#define UPDATER_LEAVES_ALONE "leave alone"

struct told;
/* A pass begins over these VPAs: what is known of others is forgotten. */
void updater_told_begin_pass(struct pass_env *env, const struct vpa_object *const *vpas,
                             size_t count);
/* Frees what the environment holds. */
void updater_told_forget(struct pass_env *env);

/* Of a VPA as it is now, borrowed until it is gone; NULL without a ledger. */
struct told *updater_told_of(struct pass_env *env, const struct vpa_object *vpa);
/* Whether the rule is to be entered, which is true once. told may be NULL. */
bool updater_told_news(struct pass_env *env, struct told *told, enum vpa_rest rest);
/* The VPA's pass is over. */
void updater_told_turn(struct told *told);

/* Of a VPA whose pods are not looked at. why: in words. */
void updater_tell_of_vpa(struct pass_env *env, const struct vpa_object *vpa, enum vpa_rest rest,
                         const char *why);
/* Of everything: the pass does nothing by that rule; NULL: it goes on. */
void updater_tell_of_pass(struct pass_env *env, const char *rule, const char *why);
/* "mode Off: running pods are left alone"; in the arena. */
const char *updater_words_of_mode(struct vpa_arena *arena, const struct vpa_object *vpa);

#endif
