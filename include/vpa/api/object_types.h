/*
 * The types of all members of a Pod (core/v1), of a VerticalPodAutoscaler and of the response of a
 * review, for the one place that must refuse what Go's decoder refuses: an object with a number
 * where a text belongs, or with a malformed quantity or time anywhere, is unreadable for upstream's
 * webhook even if the member is of no interest to it. Unknown members and null are fine. Names are
 * compared in any letter case. Scratch memory comes from the arena.
 */
#ifndef VPA_API_OBJECT_TYPES_H
#define VPA_API_OBJECT_TYPES_H

#include "vpa/json/json.h"

/* VPA_INVALID with the path of the first member of a wrong type. */
int vpa_pod_check_types(struct vpa_arena *arena, const struct vpa_json *pod,
                        struct vpa_error *err) VPA_MUST_CHECK;

/* As for a pod: the response of an AdmissionReview, but for its patch (base64). */
int vpa_response_check_types(struct vpa_arena *arena, const struct vpa_json *response,
                             struct vpa_error *err) VPA_MUST_CHECK;

/* In the order of the document, as Go's decoder goes: it remembers the first member of a wrong type
 * and reads on, but the first malformed quantity or time, or one that is no text, ends it, and is
 * what it tells. */
enum vpa_types {
    VPA_TYPES_RIGHT,
    VPA_TYPES_WRONG,     /* err: that member */
    VPA_TYPES_MALFORMED, /* err: that quantity or time, the members before it in front */
};
enum vpa_types vpa_object_check_types(struct vpa_arena *arena, const struct vpa_json *vpa,
                                      struct vpa_error *err) VPA_MUST_CHECK;

#endif
