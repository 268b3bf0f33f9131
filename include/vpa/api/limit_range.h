/*
 * LimitRange: the items of its spec.
 */
#ifndef VPA_API_LIMIT_RANGE_H
#define VPA_API_LIMIT_RANGE_H

#include "vpa/api/meta.h"
#include "vpa/api/resources.h"

struct vpa_limit_range_item {
    const char *type; /* "Container", "Pod", "PersistentVolumeClaim" */
    struct vpa_resource_list max;
    struct vpa_resource_list min;
    struct vpa_resource_list default_limit; /* "default" */
    struct vpa_resource_list default_request;
    struct vpa_resource_list max_ratio; /* of limit to request */
};
struct vpa_limit_range {
    struct vpa_meta meta;
    const struct vpa_limit_range_item *items;
    size_t item_count;
    /* NULL, or why the object cannot be decoded, set by those who must not take bounds that nobody
     * knows for none; it has no items then. */
    const char *error;
};

/* The object and all its texts live in the arena. */
int vpa_limit_range_decode(struct vpa_arena *arena, const struct vpa_json *object,
                           struct vpa_limit_range *out, struct vpa_error *err) VPA_MUST_CHECK;

#endif
