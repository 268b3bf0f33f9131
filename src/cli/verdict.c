#include "verdict.h"

#include "../../updater/words.h"
#include "vpa/policy/resize_patch.h"
#include "vpa/policy/resize_state.h"

const char *cli_action_name(enum cli_action action)
{
    static const char *const names[] = {"nothing", "evict", "resize in place", "end startup boost"};

    return names[action];
}

static const char *acceptance(struct vpa_arena *arena, const struct vpa_priority *priority)
{
    return vpa_arena_printf(arena, "%srequests and targets differ by %.0f%%, %s",
                            priority->outside_range ? "a request is outside of the bounds, " : "",
                            priority->diff * 100, priority->scale_up ? "up" : "down");
}

static bool has_nothing_to_change(struct vpa_arena *arena, const struct work *w, size_t i)
{
    const struct vpa_pod *pod = w->pods[i];
    const struct vpa_namespace_limits *limits = updater_pass_limits(w->pass, pod->meta.ns);
    struct vpa_container_plan *plans;
    struct vpa_resize_patch patch;
    struct vpa_error err;
    bool nothing = false;

    if (!vpa_update_mode_in_place(w->mode))
        return false;
    vpa_resize_patch_init(&patch);
    if (vpa_capping_plan(arena, w->vpa, pod, limits, &plans, &err) == 0) {
        if (w->pass->env->priority.startup_boost)
            vpa_decision_leave_off(pod, w->vpa, plans);
        int built = vpa_resize_patch_build(pod, w->vpa, limits, plans,
                                           updater_env_now(w->pass->env), arena, &patch, &err);

        nothing = !patch.takes_back &&
                  (built < 0 ? err.code == VPA_NOT_FOUND
                             : !patch.changes && vpa_pod_resize_status(pod) != VPA_RESIZE_ERROR);
    }
    vpa_resize_patch_release(&patch);
    return nothing;
}

/* Of a pod that nothing but its worth keeps from a change; fills diff, and why when it has one. */
static enum vpa_rest rest_of_worth(struct vpa_arena *arena, const struct work *w, size_t i,
                                   struct cli_verdict *out)
{
    const struct vpa_decision_facts facts = updater_work_facts(w, w->pods[i]);
    struct vpa_decision decision;
    struct vpa_error err;
    enum vpa_rest rest;

    if (vpa_decision_make(arena, &facts, &decision, &err) < 0)
        return VPA_REST_LIMITS_UNKNOWN;
    out->diff = decision.priority.diff;
    out->why = acceptance(arena, &decision.priority);
    rest = vpa_rest_of_decision(&decision);
    if (rest == VPA_REST_NONE && has_nothing_to_change(arena, w, i))
        return VPA_REST_NOTHING_TO_CHANGE;
    return rest;
}

void cli_verdict_of(struct vpa_arena *arena, const struct work *w, size_t pod,
                    struct cli_verdict *out)
{
    const struct vpa_rest_facts state = updater_work_state(w, pod);
    enum vpa_rest rest = updater_work_is_held(w, pod)
                             ? VPA_REST_UNKNOWN_OBJECT
                             : vpa_rest_of_vpa(w->vpa, &w->pass->env->update);

    if (rest == VPA_REST_NONE)
        rest = vpa_rest_of_state(&state);
    if (rest == VPA_REST_NONE)
        rest = rest_of_worth(arena, w, pod, out);
    out->rule = vpa_rest_name(rest);
    out->eligible = rest == VPA_REST_NONE;
    if (rest != VPA_REST_NONE)
        out->why = updater_words_of_rest(arena, w, pod, rest);
}
