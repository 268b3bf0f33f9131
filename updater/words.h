/*
 * Why the updater leaves a pod alone, in words with the values that were compared: for its ledger
 * and for `kubectl vpa why`. Texts live in the arena.
 */
#ifndef UPDATER_WORDS_H
#define UPDATER_WORDS_H

#include "work.h"

/* rest: a rule of vpa/policy/rest.h that says no to the pod. */
const char *updater_words_of_rest(struct vpa_arena *arena, const struct work *w, size_t pod,
                                  enum vpa_rest rest);
/* "mode Off: running pods are left alone" */
const char *updater_words_of_mode(struct vpa_arena *arena, const struct vpa_object *vpa);

#endif
