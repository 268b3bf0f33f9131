/*
 * core/v1 Event as the recommender reads it: evictions tell of memory peaks.
 */
#ifndef VPA_API_EVENT_H
#define VPA_API_EVENT_H

#include "vpa/api/meta.h"

struct vpa_event {
    struct vpa_meta meta; /* uid, creation, annotations */
    const char *reason;
    const char *type;
    const char *message;
    const char *involved_kind;
    const char *involved_ns;
    const char *involved_name;
    const char *involved_uid;
};

/* The object and all its texts live in the arena. */
int vpa_event_decode(struct vpa_arena *arena, const struct vpa_json *object, struct vpa_event *out,
                     struct vpa_error *err) VPA_MUST_CHECK;

#endif
