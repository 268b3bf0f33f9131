/*
 * Events that were counted, by UID. Whoever may write events makes as many as he likes in his
 * namespace; a full memory forgets the oldest of the namespace that has most, so that a flood
 * displaces itself.
 *
 *     struct vpa_seen_events seen = {0};
 *     if (vpa_seen_events_add(&seen, "shop", event->meta.uid)) ...   it is new
 *     vpa_seen_events_release(&seen);
 */
#ifndef VPA_MODEL_SEEN_EVENTS_H
#define VPA_MODEL_SEEN_EVENTS_H

#include "vpa/base/table.h"

#define VPA_SEEN_EVENTS_MAX 10000

struct vpa_seen_events { /* zeroed: empty; private */
    struct vpa_table uids;
    struct vpa_table shares; /* of namespaces */
    size_t most;
};
void vpa_seen_events_release(struct vpa_seen_events *s);
/* False: it is known. */
bool vpa_seen_events_add(struct vpa_seen_events *s, const char *ns, const char *uid);

#endif
