/*
 * What unknown objects (U21) keep a pass from doing. A pod that an unknown VPA may govern is held:
 * nothing is done to it, as with one whose LimitRanges are unknown (select.c). An unknown pod
 * counts as one that its group has and that is not available.
 *
 *     struct unknown *u = updater_unknown_new(store);
 *     if (updater_unknown_governs(u, ns, &top, false)) ...
 *     updater_unknown_free(u);
 *
 * In doubt an object counts for all that it may concern: a VPA whose target cannot be told governs
 * its whole namespace, a pod whose owner cannot be told belongs to every group of it. Linear in
 * the unknown objects, mostly there is none.
 */
#ifndef UPDATER_UNKNOWN_H
#define UPDATER_UNKNOWN_H

#include "store.h"
#include "vpa/kube/owner.h"

struct unknown;
/* Only while the store is pinned. */
struct unknown *updater_unknown_new(struct store *store);
void updater_unknown_free(struct unknown *u); /* NULL is allowed */
/* One of which it is not known which pods it governs: its target does not answer. */
void updater_unknown_add(struct unknown *u, const struct vpa_object *vpa);
/* Whether an unknown VPA governs a pod of the namespace, or may. top: the pod's topmost controller,
 * NULL when it has none; doubtful: that could not be found out. */
bool updater_unknown_governs(const struct unknown *u, const char *ns,
                             const struct vpa_controller_key *top, bool doubtful);
/* Unknown pods that the owner has or may have. */
int64_t updater_unknown_pods(const struct unknown *u, const char *ns, const char *kind,
                             const char *name);

#endif
