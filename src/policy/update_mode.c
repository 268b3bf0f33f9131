/* Update modes and their names. */
#include "vpa/policy/update_mode.h"

#include "vpa/base/mem.h"
#include "vpa/base/str.h"

static const char *const mode_names[] = {
    [VPA_MODE_OFF] = "Off",
    [VPA_MODE_INITIAL] = "Initial",
    [VPA_MODE_RECREATE] = "Recreate",
    [VPA_MODE_AUTO] = "Auto",
    [VPA_MODE_IN_PLACE_OR_RECREATE] = "InPlaceOrRecreate",
    [VPA_MODE_IN_PLACE] = "InPlace",
};

enum vpa_update_mode vpa_update_mode_of(const struct vpa_object *vpa)
{
    const char *mode = vpa_object_mode(vpa);

    for (size_t i = 0; i < VPA_COUNT(mode_names); i++) {
        if (vpa_str_eq(mode, mode_names[i]))
            return (enum vpa_update_mode)i;
    }
    return VPA_MODE_OTHER;
}

const char *vpa_update_mode_name(enum vpa_update_mode mode)
{
    return (size_t)mode < VPA_COUNT(mode_names) ? mode_names[mode] : "Unknown";
}
