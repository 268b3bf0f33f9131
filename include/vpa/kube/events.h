/*
 * core/v1 Events with upstream's aggregation, counting and spam filter
 * (leader-election-and-clients.md 6 of the specification). Recording never blocks and never fails:
 * the queue holds 1000 entries, more are dropped. Writing is sequential and in the background.
 *
 *     vpa_events_record(events, &pod_ref, "EvictedByVPA", "Pod was evicted by VPA Updater ...");
 */
#ifndef VPA_KUBE_EVENTS_H
#define VPA_KUBE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/kube/client.h"

#define VPA_EVENTS_QUEUE 1000
#define VPA_EVENTS_MEMORY 4096 /* keys remembered by each stage, least recently used first out */
/* What did not happen for so long is forgotten: the server has dropped its event long ago (an hour
 * by default), and the filter would let as many through again. Upstream remembers it until there is
 * no room. */
#define VPA_EVENTS_IDLE (24 * VPA_HOUR)

struct vpa_object_ref { /* texts may be NULL for "" */
    const char *api_version;
    const char *kind;
    const char *ns;
    const char *name;
    const char *uid;
    const char *resource_version;
};

struct vpa_events_options {         /* texts are copied */
    struct vpa_kube_client *client; /* borrowed */
    const char *component;          /* "vpa-updater" */
};
struct vpa_events;
struct vpa_events *vpa_events_new(const struct vpa_events_options *options);
void vpa_events_free(
    struct vpa_events *events); /* drops what is not yet written; NULL is allowed */
/* type is Normal. */
void vpa_events_record(struct vpa_events *events, const struct vpa_object_ref *object,
                       const char *reason, const char *message);
void vpa_events_record_warning(struct vpa_events *events, const struct vpa_object_ref *object,
                               const char *reason, const char *message);
/* Pumps the loop until everything queued is written or given up, at most so long. */
void vpa_events_flush(struct vpa_events *events, vpa_duration timeout);
size_t vpa_events_pending(const struct vpa_events *events);

#endif
