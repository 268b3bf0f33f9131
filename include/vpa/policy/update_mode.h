/*
 * The update modes of a VPA (updater.md 4 of the specification).
 */
#ifndef VPA_POLICY_UPDATE_MODE_H
#define VPA_POLICY_UPDATE_MODE_H

#include <stdbool.h>

#include "vpa/api/vpa.h"

enum vpa_update_mode {
    VPA_MODE_OFF,
    VPA_MODE_INITIAL,
    VPA_MODE_RECREATE,
    VPA_MODE_AUTO,
    VPA_MODE_IN_PLACE_OR_RECREATE,
    VPA_MODE_IN_PLACE,
    VPA_MODE_OTHER, /* any other text: nothing is done */
};
enum vpa_update_mode vpa_update_mode_of(const struct vpa_object *vpa);
/* As VPAs write it; "Unknown" for any other. */
const char *vpa_update_mode_name(enum vpa_update_mode mode);
/* Modes in which the updater changes running pods by recommendation. */
static inline bool vpa_update_mode_active(enum vpa_update_mode mode)
{
    return mode == VPA_MODE_RECREATE || mode == VPA_MODE_AUTO ||
           mode == VPA_MODE_IN_PLACE_OR_RECREATE || mode == VPA_MODE_IN_PLACE;
}
static inline bool vpa_update_mode_in_place(enum vpa_update_mode mode)
{
    return mode == VPA_MODE_IN_PLACE_OR_RECREATE || mode == VPA_MODE_IN_PLACE;
}

#endif
