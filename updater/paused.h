/*
 * Conditions that say why nothing happens: EvictionsPaused and ResizesPaused of a VPA whose breaker
 * is open (vpa/policy/proof.h). They are put right in every pass, so that a writer who has
 * overwritten one does not matter; nothing is sent while they are right.
 */
#ifndef UPDATER_PAUSED_H
#define UPDATER_PAUSED_H

#include "condition.h"
#include "vpa/policy/proof.h"

#define PAUSED_EVICTIONS "EvictionsPaused"
#define PAUSED_RESIZES "ResizesPaused"

/* What was seen, and when it is tried again; heap. */
char *updater_paused_message(const struct vpa_breaker *breaker);
/* Whether the VPA has one of the conditions. */
bool updater_paused_is_told(const struct vpa_object *vpa);
/* Puts one of the conditions right; true when it is written, or may be. proof: NULL: nothing is
 * paused. */
bool updater_paused_put_right(struct condition_round *round, const struct vpa_proof *proof,
                              const struct vpa_object *vpa, const char *key);
/* Opens the breakers that the conditions tell of. */
void updater_paused_restore(struct vpa_proof *proof, const struct vpa_object *vpa, const char *key,
                            vpa_time now);

#endif
