/*
 * ObjectMeta: what Plumb keeps of an object's metadata.
 */
#ifndef VPA_API_META_H
#define VPA_API_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/api/labels.h"
#include "vpa/base/time.h"

/* For vpa_json_parse_without. Who wrote which member: a third and more of most objects. */
extern const char *const vpa_meta_unread[];
/* That, and what a pod has for the kubelet and the scheduler alone, in templates too: half of the
 * rest. The daemons list and watch pods and their controllers without them. */
extern const char *const vpa_pod_unread[];

struct vpa_owner_reference {
    const char *api_version;
    const char *kind;
    const char *name;
    const char *uid;
    bool controller;
};

/* Texts are never NULL ("" when absent) and live in the arena of the object. */
struct vpa_meta {
    const char *ns;
    const char *name;
    const char *generate_name;
    const char *uid;
    const char *resource_version;
    vpa_time creation; /* unset when absent */
    vpa_time deletion; /* unset when absent */
    int64_t generation;
    struct vpa_labels labels;
    struct vpa_labels annotations;
    const struct vpa_owner_reference *owners; /* in source order */
    size_t owner_count;
};

/* Decodes object.metadata; absent metadata is an empty one. */
int vpa_meta_decode(struct vpa_arena *arena, const struct vpa_json *metadata, struct vpa_meta *out,
                    struct vpa_error *err) VPA_MUST_CHECK;
/* First / last owner reference with controller: true, or NULL. Upstream uses the last one for pods
 * looked up by the webhook and updater, the first one elsewhere (admission.md 9.2 of the
 * specification). */
const struct vpa_owner_reference *vpa_meta_controller_first(const struct vpa_meta *meta);
const struct vpa_owner_reference *vpa_meta_controller_last(const struct vpa_meta *meta);

#endif
