/*
 * Events that were counted, by UID: VPA_OOM_EVENTS_MAX of them. Whoever may write events makes as
 * many as he likes in his namespace; a full memory forgets the oldest of the namespace that has
 * most, so that a flood displaces itself.
 */
#ifndef VPA_MODEL_SEEN_EVENTS_H
#define VPA_MODEL_SEEN_EVENTS_H

#include "vpa/model/oom.h"

void vpa_seen_events_release(struct vpa_seen_events *s);
/* False: it is known. */
bool vpa_seen_events_add(struct vpa_seen_events *s, const char *ns, const char *uid);

#endif
