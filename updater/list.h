/*
 * The pods of a VPA that deserve a change, most urgent first.
 */
#ifndef UPDATER_LIST_H
#define UPDATER_LIST_H

#include "work.h"

/* Fills w->list; why each other pod is left alone is noted (rest.h). Nothing may be in flight. */
void updater_list_make(struct work *w);
/* Whether the change is worth it, and in a direction that the VPA wants: NONE fills the candidate,
 * else the rule that says no. */
enum vpa_rest updater_list_look(struct work *w, size_t i, struct vpa_update_candidate *out);

#endif
