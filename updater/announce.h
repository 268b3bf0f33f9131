/*
 * What the cluster hears of a changed pod: one log line, an event on the pod, one on its VPA,
 * each with old and new values and the reason (vpa/policy/reason.h). An event begins with
 * upstream's text, ours follows after a colon (U28).
 * The ledger gets each with what the decision rested on (vpa/policy/decision.h), and each refusal.
 */
#ifndef UPDATER_ANNOUNCE_H
#define UPDATER_ANNOUNCE_H

#include "work.h"
#include "vpa/daemon/ledger.h"

void updater_announce_eviction(const struct work *w, const struct vpa_pod *pod, const char *why);
void updater_announce_resize(const struct work *w, const struct vpa_pod *pod, const char *why);

/* Into the ledger, if there is one. inputs may be NULL. */
void updater_write_down(const struct pass_env *env, const struct vpa_object *vpa, const char *pod,
                        const struct vpa_ledger_entry *entry);

/* The VPA as events name it; borrows from it. */
struct vpa_object_ref updater_vpa_ref(const struct vpa_object *vpa);

#endif
