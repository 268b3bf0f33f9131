/* Why a pod is left alone, in words. */
#include "words.h"

#include "vpa/base/str.h"
#include "vpa/policy/resize_state.h"

/* What needs no values. */
static const char *const plain[VPA_REST_COUNT] = {
    [VPA_REST_GATE] = "mode InPlace needs the feature gate InPlace, which is off",
    [VPA_REST_TARGET] = "its target cannot be resolved",
    [VPA_REST_UNKNOWN_OBJECT] = "a VPA or LimitRange that may govern this pod cannot be read",
    [VPA_REST_EVICTED] = "it was evicted already, and its end has not been seen yet",
    [VPA_REST_BOOSTED] = "the startup boost of the pod is not over yet",
    [VPA_REST_NO_CONTROLLER] = "no controller would make another pod in its place",
    [VPA_REST_PENDING] = "the pod is not running yet",
    [VPA_REST_NO_RECOMMENDATION] = "there is no recommendation for its containers",
    [VPA_REST_INFEASIBLE] = "its node could not hold the last resize, and nothing got lower",
    [VPA_REST_BOOST_ENDING] = "the end of its startup boost is being carried out",
    [VPA_REST_NOT_STARTED] = "the pod has no start time yet",
    [VPA_REST_OOM_NO_CHANGE] = "killed for memory soon after its start, but nothing would change",
    [VPA_REST_REQUIREMENTS] =
        "no container changes in the direction that evictionRequirements ask for",
    [VPA_REST_PROOF] = "another pod has to show first that a change helps",
    [VPA_REST_PAUSED] =
        "an earlier update of this VPA did not help: there is none until the pause is over",
    [VPA_REST_NAMESPACE_PAUSED] =
        "updates in its namespace did not help, several in a row: none until the pause is over",
    [VPA_REST_CLUSTER_PAUSED] =
        "updates in several namespaces in a row did not help: none until the pause is over",
    [VPA_REST_NOTHING_TO_CHANGE] = "its resources are those recommended",
    [VPA_REST_NO_RESIZES] = "the API server has no pods/resize (Kubernetes before 1.33)",
    [VPA_REST_RATE] = "the limit of updates a second is used up: its turn comes in a later pass",
    [VPA_REST_REFUSED_PDB] = "a PodDisruptionBudget lets no pod go now",
    [VPA_REST_REFUSED] = "the API server refused the change",
    [VPA_REST_NOT_NOW] = "the API server could not make the change: tried again in the next pass",
};

const char *updater_words_of_mode(struct vpa_arena *arena, const struct vpa_object *vpa)
{
    if (vpa_update_mode_of(vpa) == VPA_MODE_INITIAL)
        return "mode Initial: only new pods get the recommendation";
    return vpa_arena_printf(arena, "mode %.40s: running pods are left alone", vpa_object_mode(vpa));
}

/* The owner of a pod that has one, as words begin with it. */
static const char *owner_text(struct vpa_arena *arena, const struct vpa_pod *pod)
{
    const struct vpa_owner_reference *owner = vpa_meta_controller_first(&pod->meta);

    return vpa_arena_printf(arena, "%.40s %.100s", owner->kind, owner->name);
}

static const char *of_replicas(struct vpa_arena *arena, const struct work *w, size_t pod)
{
    return vpa_arena_printf(
        arena, "%s has %lld live pods, %s asks for %lld", owner_text(arena, w->pods[pod]),
        (long long)vpa_disruption_live(w->budget, pod),
        w->vpa->min_replicas.present ? "minReplicas of the VPA" : "--min-replicas",
        (long long)vpa_disruption_required(w->budget));
}

static const char *of_resize(struct vpa_arena *arena, const struct vpa_pod *pod)
{
    enum vpa_resize_status status = vpa_pod_resize_status(pod);

    return vpa_arena_printf(arena, "a resize is under way (%s); the kubelet has %s to carry it out",
                            vpa_resize_status_name(status),
                            status == VPA_RESIZE_DEFERRED ? "5 minutes" : "an hour");
}

static const char *of_budget(struct vpa_arena *arena, const struct work *w, size_t pod)
{
    const struct vpa_replica_group *g = vpa_disruption_group(w->budget, pod);

    return vpa_arena_printf(
        arena, "%s: %lld of %lld replicas run, %lld may be missing, %lld are being changed",
        owner_text(arena, w->pods[pod]), (long long)g->running, (long long)g->configured,
        (long long)g->tolerance, (long long)g->evicted + (long long)g->in_place_started);
}

static const char *duration_text(struct vpa_arena *arena, vpa_duration d)
{
    char text[VPA_DURATION_TEXT_MAX];

    vpa_duration_format(vpa_duration_truncate(d, VPA_SECOND), text);
    return vpa_arena_strdup(arena, text);
}

static const char *of_age(struct vpa_arena *arena, const struct work *w, const struct vpa_pod *pod)
{
    return vpa_arena_printf(
        arena,
        "requests are within the bounds, and the pod is %s old: it is looked at again after "
        "%s",
        duration_text(arena, vpa_time_sub(updater_env_now(w->pass->env), pod->start_time)),
        duration_text(arena, w->pass->env->priority.lifetime_threshold));
}

static const char *of_worth(struct vpa_arena *arena, const struct work *w,
                            const struct vpa_pod *pod, enum vpa_rest rest)
{
    const struct vpa_decision_facts facts = updater_work_facts(w, pod);
    struct vpa_decision decision;
    struct vpa_error err;

    if (vpa_decision_make(arena, &facts, &decision, &err) < 0)
        return vpa_arena_strdup(arena, err.text);
    if (rest == VPA_REST_LIMITS_UNKNOWN)
        return "what it should have cannot be calculated";
    return vpa_arena_printf(
        arena,
        "requests are within the bounds, requests and targets differ by %.0f%%, less than "
        "%.0f%%",
        decision.priority.diff * 100, w->pass->env->priority.update_threshold * 100);
}

const char *updater_words_of_rest(struct vpa_arena *arena, const struct work *w, size_t pod,
                                  enum vpa_rest rest)
{
    const struct vpa_pod *p = w->pods[pod];

    switch (rest) {
    case VPA_REST_MODE:
        return updater_words_of_mode(arena, w->vpa);
    case VPA_REST_MIN_REPLICAS:
        return of_replicas(arena, w, pod);
    case VPA_REST_REPLICAS_UNKNOWN:
        return vpa_arena_printf(arena, "the number of replicas of %s is not known",
                                owner_text(arena, p));
    case VPA_REST_RESIZING:
        return of_resize(arena, p);
    case VPA_REST_BUDGET:
        return of_budget(arena, w, pod);
    case VPA_REST_YOUNG:
        return of_age(arena, w, p);
    case VPA_REST_IN_BOUNDS:
    case VPA_REST_LIMITS_UNKNOWN:
        return of_worth(arena, w, p, rest);
    default:
        return vpa_or_empty(plain[rest]);
    }
}
