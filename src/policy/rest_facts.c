/* Whether a pod is left alone, and what that rested on. */
#include "vpa/policy/rest_facts.h"

#include "facts.h"
#include "vpa/policy/boost_marker.h"

enum vpa_rest vpa_rest_of_vpa(const struct vpa_object *vpa,
                              const struct vpa_update_options *options)
{
    enum vpa_update_mode mode = vpa_update_mode_of(vpa);

    if (!vpa_update_mode_active(mode))
        return VPA_REST_MODE;
    return mode == VPA_MODE_IN_PLACE && !options->in_place_gate ? VPA_REST_GATE : VPA_REST_NONE;
}

enum vpa_rest vpa_rest_refine(const struct vpa_rest_facts *f, enum vpa_rest rest)
{
    if (rest != VPA_REST_MIN_REPLICAS || f->group)
        return rest;
    if (!f->controlled)
        return VPA_REST_NO_CONTROLLER;
    return f->live < f->required ? VPA_REST_MIN_REPLICAS : VPA_REST_REPLICAS_UNKNOWN;
}

static enum vpa_rest of_budget(const struct vpa_rest_facts *f)
{
    const struct vpa_decision_facts *of = &f->of;
    struct vpa_update_verdict verdict;

    if (of->evicts)
        return vpa_rest_refine(f, vpa_eviction_rest(of->pod, f->group, f->memory, f->steady));
    verdict = vpa_update_look(of->pod, of->vpa, f->group, f->memory, f->update, f->steady);
    return vpa_update_kept_by_filter(vpa_update_mode_of(of->vpa), verdict.decision)
               ? VPA_REST_NONE
               : vpa_rest_refine(f, verdict.rest);
}

enum vpa_rest vpa_rest_of_state(const struct vpa_rest_facts *f)
{
    const struct vpa_pod *pod = f->of.pod;

    if (f->held)
        return VPA_REST_UNKNOWN_OBJECT;
    if (vpa_update_memory_is_evicted(f->memory, pod->meta.uid))
        return VPA_REST_EVICTED;
    if (f->update->boost_gate && vpa_object_has_startup_boost(f->of.vpa) &&
        vpa_boost_marked(&pod->meta.annotations))
        return VPA_REST_BOOSTED;
    return of_budget(f);
}

enum vpa_rest vpa_rest_of_decision(const struct vpa_decision *decision)
{
    static const enum vpa_rest rests[VPA_ADMIT_ACCEPTED + 1] = {
        [VPA_ADMIT_NO_RECOMMENDATION] = VPA_REST_NO_RECOMMENDATION,
        [VPA_ADMIT_INFEASIBLE_CACHED] = VPA_REST_INFEASIBLE,
        [VPA_ADMIT_NO_START_TIME] = VPA_REST_NOT_STARTED,
        [VPA_ADMIT_YOUNG] = VPA_REST_YOUNG,
        [VPA_ADMIT_DIFF_TOO_LOW] = VPA_REST_IN_BOUNDS,
        [VPA_ADMIT_OOM_NO_CHANGE] = VPA_REST_OOM_NO_CHANGE,
        [VPA_ADMIT_ACCEPTED] = VPA_REST_NONE,
    };
    enum vpa_rest rest = rests[decision->admission];

    if (rest != VPA_REST_NONE && !decision->recommended)
        return VPA_REST_NO_RECOMMENDATION; /* which says more */
    return rest == VPA_REST_NONE && !decision->allowed ? VPA_REST_REQUIREMENTS : rest;
}

static enum vpa_rest of_worth(struct vpa_arena *arena, const struct vpa_rest_facts *f)
{
    struct vpa_decision decision;
    struct vpa_error err;

    if (vpa_decision_make(arena, &f->of, &decision, &err) < 0)
        return VPA_REST_LIMITS_UNKNOWN;
    return vpa_rest_of_decision(&decision);
}

enum vpa_rest vpa_rest_make(struct vpa_arena *arena, const struct vpa_rest_facts *f)
{
    enum vpa_rest rest = vpa_rest_of_vpa(f->of.vpa, f->update);

    if (rest == VPA_REST_NONE)
        rest = vpa_rest_of_state(f);
    if (rest == VPA_REST_NONE)
        rest = of_worth(arena, f);
    return rest == VPA_REST_NONE ? vpa_rest_refine(f, f->turn) : rest;
}

/* ---- writing ---- */

static void put_group(struct vpa_json_writer *w, const struct vpa_replica_group *g)
{
    vpa_json_member_object(w, "group");
    vpa_json_member_string(w, "kind", g->kind);
    vpa_json_member_string(w, "name", g->name);
    vpa_json_member_int(w, "configured", g->configured);
    vpa_json_member_int(w, "running", g->running);
    vpa_json_member_int(w, "pending", g->pending);
    vpa_json_member_int(w, "tolerance", g->tolerance);
    vpa_json_member_int(w, "evicted", g->evicted);
    vpa_json_member_int(w, "resized", g->in_place_started);
    vpa_json_member_bool(w, "closed", g->closed);
    vpa_json_member_bool(w, "belowMin", g->below_min);
    vpa_json_close_object(w);
}

static void put_memory(struct vpa_json_writer *w, const struct vpa_rest_facts *f)
{
    const struct vpa_recommendation *infeasible = f->of.infeasible;
    const char *uid = f->of.pod->meta.uid;
    vpa_time since;

    vpa_json_member_bool(w, "evicted", vpa_update_memory_is_evicted(f->memory, uid));
    vpa_json_member_bool(w, "starting", vpa_update_memory_is_starting(f->memory, uid));
    vpa_json_member_bool(w, "boostEnding", vpa_unboost_unfinished(f->of.pod, f->memory));
    if (vpa_update_memory_resize_since(f->memory, uid, &since))
        vpa_facts_put_nanos(
            w, "resizeSince",
            vpa_time_unix_nanos(vpa_time_add(f->of.now, -vpa_time_sub(f->steady, since))));
    if (infeasible) {
        vpa_json_key(w, "infeasible");
        vpa_recommendation_encode(w, infeasible);
    }
}

void vpa_rest_facts_encode(struct vpa_json_writer *w, struct vpa_arena *arena,
                           const struct vpa_rest_facts *f)
{
    struct vpa_decision decision;
    struct vpa_error err;

    vpa_json_open_object(w);
    vpa_json_key(w, "decision");
    if (vpa_decision_make(arena, &f->of, &decision, &err) < 0)
        decision = (struct vpa_decision){.admission = VPA_ADMIT_NO_RECOMMENDATION};
    vpa_decision_encode(w, &f->of, &decision);
    vpa_json_member_bool(w, "inPlace", f->update->in_place_gate);
    vpa_json_member_bool(w, "startupBoost", f->update->boost_gate);
    vpa_json_member_bool(w, "skipBudget", f->update->in_place_skip_budget);
    vpa_json_member_bool(w, "held", f->held);
    vpa_json_member_bool(w, "controlled", f->controlled);
    vpa_json_member_int(w, "live", f->live);
    vpa_json_member_int(w, "required", f->required);
    put_memory(w, f);
    if (f->group)
        put_group(w, f->group);
    vpa_json_member_string(w, "turn", vpa_rest_name(f->turn));
    vpa_json_member_string(w, "rest", vpa_rest_name(vpa_rest_make(arena, f)));
    vpa_json_close_object(w);
}
