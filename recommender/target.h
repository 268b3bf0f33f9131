/*
 * Which pods a VPA is about: the selector of its target, or why there is none
 * (recommender.md 15.2 of the specification).
 */
#ifndef RECOMMENDER_TARGET_H
#define RECOMMENDER_TARGET_H

#include "vpa/api/vpa.h"
#include "vpa/kube/owner.h"

struct target { /* texts live in the arena, or in the VPA */
    bool resolved;
    struct vpa_selector selector; /* when resolved */
    const char *unsupported;      /* message of ConfigUnsupported when not */
};

/* May ask the API server about targets of foreign kinds, pumping the loop. */
void target_resolve(struct vpa_owners *owners, const struct vpa_object *vpa,
                    struct vpa_arena *arena, struct target *out);
/* Whether a well-known or scalable controller stands at the top of the target. */
bool target_has_controller(struct vpa_owners *owners, const struct vpa_object *vpa);

#endif
