/*
 * U7, undone: what the reference sends although it changes nothing. A resize of which every value
 * is the pod's own is left out of its calls, together with the mark that follows it and with its
 * event; what is left must be among ours, in the same order. Ours may have more: what the reference
 * spends of a budget on such a resize is there for another pod.
 */
#ifndef UPDATER_USELESS_H
#define UPDATER_USELESS_H

#include "updater_world.h"

/* The calls and events of a pass or step: NULL for none, got as JSON text. Both are compared under
 * "<label>.calls" and "<label>.events". */
void updater_useless_compare(struct world *world, const char *label, const struct vpa_json *calls,
                             const char *got_calls, const struct vpa_json *events,
                             const char *got_events);

#endif
