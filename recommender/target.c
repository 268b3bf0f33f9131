#include "target.h"

#include <string.h>

static int check_topmost(struct vpa_owners *owners, const struct vpa_object *vpa,
                         struct vpa_arena *arena, const char **unsupported)
{
    const struct vpa_target_ref *ref = &vpa->target_ref;
    const struct vpa_controller_key key = vpa_controller_key_of_target(vpa);
    struct vpa_controller_key top = {0};
    bool found = false;
    struct vpa_error err;
    const char *target =
        vpa_arena_printf(arena, "%s.%s/%s", ref->api_version, ref->kind, ref->name);

    if (vpa_owners_topmost(owners, &key, arena, &found, &top, &err) < 0)
        *unsupported = vpa_arena_printf(arena,
                                        "Error checking if target %s is a topmost well-known or "
                                        "scalable controller: %s",
                                        target, err.text);
    else if (!found)
        *unsupported = vpa_arena_printf(arena,
                                        "Unknown error during checking if target %s is a topmost "
                                        "well-known or scalable controller",
                                        target);
    else if (!vpa_controller_key_equal(&key, &top))
        *unsupported = vpa_arena_printf(arena,
                                        "The target %s has a parent controller but it should point "
                                        "to a topmost well-known or scalable controller",
                                        target);
    else
        return 0;
    return -1;
}

void target_resolve(struct vpa_owners *owners, const struct vpa_object *vpa,
                    struct vpa_arena *arena, struct target *out)
{
    const struct vpa_target_ref *ref = &vpa->target_ref;
    const struct vpa_controller_key target = vpa_controller_key_of_target(vpa);
    struct vpa_error err;

    *out = (struct target){0};
    if (!ref->present && vpa->has_selector) { /* the VPA brings its own selector (S8) */
        out->selector = vpa->selector;
        out->resolved = vpa->selector_error == NULL;
        if (vpa->selector_error)
            out->unsupported =
                vpa_arena_printf(arena, "Cannot read selector. Reason: %s", vpa->selector_error);
        return;
    }
    if (!ref->present) {
        out->unsupported =
            "Cannot read targetRef. Reason: targetRef not defined. If this is a v1beta1 "
            "object, switch to v1";
        return;
    }
    if (vpa_owners_selector(owners, &target, arena, &out->selector, &err) < 0) {
        out->unsupported = vpa_arena_printf(arena, "Cannot read targetRef. Reason: %s", err.text);
        return;
    }
    out->resolved = check_topmost(owners, vpa, arena, &out->unsupported) == 0;
}

bool target_has_controller(struct vpa_owners *owners, const struct vpa_object *vpa)
{
    vpa_auto_arena arena = {0};
    const struct vpa_controller_key key = vpa_controller_key_of_target(vpa);
    struct vpa_controller_key top;
    bool found = false;
    struct vpa_error err;

    return vpa->target_ref.present &&
           vpa_owners_topmost(owners, &key, &arena, &found, &top, &err) == 0 && found;
}
