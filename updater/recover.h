/*
 * What an earlier process may have left under way (S5): boosts whose end it has sent and the
 * kubelet not carried out. Such pods must not be evicted, and only that process knew what it had
 * sent.
 */
#ifndef UPDATER_RECOVER_H
#define UPDATER_RECOVER_H

#include "select.h"

/* Once for each VPA, in the first pass that it takes part in: before this process has sent anything
 * for it itself, which may look the same. In doubt the pod stays. vpas: all that are known. */
void updater_recover(struct pass_env *env, const struct selection *selection,
                     const struct vpa_object *const *vpas, size_t count);
/* Frees what is remembered in the environment itself. */
void updater_recover_forget(struct pass_env *env);

#endif
