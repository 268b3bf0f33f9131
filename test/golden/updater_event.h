/*
 * What our events say beyond upstream's (U28): values and reason behind a colon, and an event on
 * the VPA for a resize. It is checked and left out before events are compared.
 */
#ifndef GOLDEN_UPDATER_EVENT_H
#define GOLDEN_UPDATER_EVENT_H

#include "golden.h"

/* Upstream's part of a message; the rest must read "... request OLD -> NEW: reason", with an old
 * value that pod, the object's JSON text, has (NULL: it is another object or gone). Other forms are
 * a difference. */
const char *updater_event_message(struct golden_case *c, const char *pod, const char *message);
/* Whether the event is one that upstream has not, and which is right; count is 1 or more. */
bool updater_event_is_ours(const char *kind, const char *reason, const char *message);

#endif
