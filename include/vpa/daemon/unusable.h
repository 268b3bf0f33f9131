/*
 * Tells of objects that were skipped because they cannot be read or used, where their owners look:
 * a Warning event on the object. The log line and the counter are the reflector's.
 *
 *     struct vpa_unusable *u = vpa_unusable_new(&options);
 *     ... the clients' on_unusable is vpa_unusable_tell, with u as context ...
 *     vpa_unusable_lead(u);      // when this process leads
 *
 * Events are aggregated, counted and filtered as all others (kube/events.h); a client of their own
 * keeps them from slowing down anything else. Objects without a namespace get none. Before this
 * process leads, which may be a moment after the first lists, events wait, the last
 * VPA_UNUSABLE_PENDING for VPA_UNUSABLE_PATIENCE; what is older may have been mended since.
 */
#ifndef VPA_DAEMON_UNUSABLE_H
#define VPA_DAEMON_UNUSABLE_H

#include "vpa/kube/client.h"

#define VPA_UNUSABLE_REASON "UnusableObject"
#define VPA_UNUSABLE_PENDING 64
#define VPA_UNUSABLE_PATIENCE VPA_MINUTE

struct vpa_unusable_options {       /* texts are copied */
    struct vpa_kube_client *client; /* borrowed; of the events */
    const char *component;          /* "vpa-updater" */
    bool leading;                   /* already */
};
struct vpa_unusable;
struct vpa_unusable *vpa_unusable_new(const struct vpa_unusable_options *options);
void vpa_unusable_free(struct vpa_unusable *unusable); /* before the client; NULL is allowed */
/* ctx: the struct vpa_unusable. resource: "pods"; api_version: "v1". */
void vpa_unusable_tell(void *ctx, const char *api_version, const char *resource,
                       const struct vpa_unusable_object *what);
void vpa_unusable_lead(struct vpa_unusable *unusable);

#endif
