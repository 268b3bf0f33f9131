/*
 * The types of all members of a Pod (core/v1), for the one place that must refuse what Go's decoder
 * refuses: a pod with a number where a text belongs, or with a malformed quantity anywhere, is
 * unreadable for upstream's webhook even if the member is of no interest to it.
 */
#ifndef VPA_API_POD_TYPES_H
#define VPA_API_POD_TYPES_H

#include "vpa/json/json.h"

/* VPA_INVALID with the path of the first member of a wrong type. Unknown members and null are fine.
 * Names are compared in any letter case. Scratch memory comes from the arena. */
int vpa_pod_check_types(struct vpa_arena *arena, const struct vpa_json *pod,
                        struct vpa_error *err) VPA_MUST_CHECK;

#endif
