#include "verdict.h"

#include <string.h>

#include "text.h"
#include "vpa/base/str.h"
#include "vpa/policy/boost.h"
#include "vpa/policy/resize_patch.h"
#include "vpa/policy/resize_state.h"

const char *cli_action_name(enum cli_action action)
{
    static const char *const names[] = {"nothing", "evict", "resize in place", "end startup boost"};

    return names[action];
}

struct question {
    struct vpa_arena *arena;
    const struct work *w;
    const struct vpa_pod *pod;
    struct vpa_replica_group *group;
    size_t index;
    struct cli_verdict *out;
};

/* The rule stops the pod: true, so that rules can be tried one after the other. */
static bool stopped(struct question *q, const char *rule, const char *fmt, ...) VPA_PRINTF(3, 4);
static bool stopped(struct question *q, const char *rule, const char *fmt, ...)
{
    vpa_auto_buf text = {0};
    va_list args;

    vpa_buf_init(&text, VPA_ERROR_TEXT_MAX);
    va_start(args, fmt);
    vpa_buf_vprintf(&text, fmt, args);
    va_end(args);
    q->out->rule = rule;
    q->out->why = vpa_arena_strdup(q->arena, vpa_buf_text(&text));
    return true;
}

static const struct pass_env *env_of(const struct question *q)
{
    return q->w->pass->env;
}

/* ---- before the budget ---- */

static bool by_mode(struct question *q)
{
    enum vpa_update_mode mode = q->w->mode;

    if (updater_work_is_held(q->w, q->index))
        return stopped(q, "unknown-object",
                       "a VPA or LimitRange that may govern this pod cannot be read");
    if (mode == VPA_MODE_IN_PLACE && !env_of(q)->update.in_place_gate)
        return stopped(q, "gate", "mode InPlace needs the feature gate InPlace, which is off");
    if (vpa_update_mode_active(mode))
        return false;
    if (mode == VPA_MODE_INITIAL)
        return stopped(q, "mode", "mode Initial: only new pods get the recommendation");
    return stopped(q, "mode", "mode %.40s: running pods are left alone",
                   vpa_object_mode(q->w->vpa));
}

static bool by_boost(struct question *q)
{
    if (!updater_work_boosts(q->w) || !vpa_boost_marked(&q->pod->meta.annotations))
        return false;
    return stopped(q, "boosted", "the startup boost of the pod is not over yet");
}

static int64_t live_pods(const struct question *q, const struct vpa_owner_reference *owner)
{
    int64_t live = 0;

    for (size_t i = 0; i < q->w->pod_count; i++) {
        const struct vpa_owner_reference *other = vpa_meta_controller_first(&q->w->pods[i]->meta);

        live +=
            other && strcmp(other->kind, owner->kind) == 0 && strcmp(other->name, owner->name) == 0;
    }
    return live;
}

static bool by_replicas(struct question *q)
{
    const struct vpa_object *vpa = q->w->vpa;
    const struct vpa_owner_reference *owner = vpa_meta_controller_first(&q->pod->meta);
    bool own = vpa->min_replicas.present;
    int64_t wanted = own ? vpa->min_replicas.value : env_of(q)->disruption.min_replicas;

    if (!owner)
        return stopped(q, "no-controller", "no controller would make another pod in its place");
    if (q->group && !q->group->below_min)
        return false;
    if (q->group && vpa_update_mode_in_place(q->w->mode)) /* resizes need no replicas then */
        return false;
    if (live_pods(q, owner) < wanted)
        return stopped(q, "min-replicas", "%.40s %.100s has %lld live pods, %s asks for %lld",
                       owner->kind, owner->name, (long long)live_pods(q, owner),
                       own ? "minReplicas of the VPA" : "--min-replicas", (long long)wanted);
    return stopped(q, "replicas-unknown", "the number of replicas of %.40s %.100s is not known",
                   owner->kind, owner->name);
}

static bool by_resize(struct question *q)
{
    enum vpa_resize_status status = vpa_pod_resize_status(q->pod);

    if (vpa_unboost_unfinished(q->pod, env_of(q)->memory))
        return stopped(q, "boost-ending", "the end of its startup boost is being carried out");
    if (status == VPA_RESIZE_NONE && !vpa_pod_resizing(q->pod))
        return false;
    return stopped(q, "resizing", "a resize is under way (%s); the kubelet has %s to carry it out",
                   vpa_resize_status_name(status),
                   status == VPA_RESIZE_DEFERRED ? "5 minutes" : "an hour");
}

static bool by_budget(struct question *q)
{
    const struct vpa_replica_group *g = q->group;

    return stopped(q, "budget",
                   "%.40s %.100s: %lld of %lld replicas run, %lld may be missing, %lld are being "
                   "changed",
                   g->kind, g->name, (long long)g->running, (long long)g->configured,
                   (long long)g->tolerance, (long long)g->evicted + (long long)g->in_place_started);
}

/* The filter of the list (updater_work_filter) let it fall: why. */
static void by_filter(struct question *q)
{
    if (by_boost(q) || by_replicas(q))
        return;
    if (vpa_update_mode_in_place(q->w->mode) && vpa_pod_pending(q->pod)) {
        stopped(q, "pending", "the pod is not running yet");
        return;
    }
    if (!q->w->vpa->recommendation.present) {
        stopped(q, "no-recommendation", "the VPA has no recommendation");
        return;
    }
    if (by_resize(q))
        return;
    by_budget(q);
}

/* ---- whether it is worth it ---- */

static const char *resource_summary(struct question *q)
{
    return vpa_arena_printf(q->arena, "requests and targets differ by %.0f%%, ",
                            q->out->diff * 100);
}

static const char *duration_text(struct question *q, vpa_duration d)
{
    char text[VPA_DURATION_TEXT_MAX];

    vpa_duration_format(vpa_duration_truncate(d, VPA_SECOND), text);
    return vpa_arena_strdup(q->arena, text);
}

static void by_admission(struct question *q, enum vpa_admission admission)
{
    const struct vpa_priority_options *options = &env_of(q)->priority;
    vpa_duration age = vpa_time_sub(updater_work_now(q->w), q->pod->start_time);

    switch (admission) {
    case VPA_ADMIT_NO_RECOMMENDATION:
        stopped(q, "no-recommendation", "there is no recommendation for its containers");
        break;
    case VPA_ADMIT_INFEASIBLE_CACHED:
        stopped(q, "infeasible", "its node could not hold the last resize, and nothing got lower");
        break;
    case VPA_ADMIT_NO_START_TIME:
        stopped(q, "not-started", "the pod has no start time yet");
        break;
    case VPA_ADMIT_YOUNG:
        stopped(q, "young",
                "requests are within the bounds, and the pod is %s old: it is looked "
                "at again after %s",
                duration_text(q, age), duration_text(q, options->lifetime_threshold));
        break;
    case VPA_ADMIT_DIFF_TOO_LOW:
        stopped(q, "in-bounds", "requests are within the bounds, %sless than %.0f%%",
                resource_summary(q), options->update_threshold * 100);
        break;
    case VPA_ADMIT_OOM_NO_CHANGE:
        stopped(q, "oom-no-change",
                "killed for memory soon after its start, but nothing would "
                "change");
        break;
    case VPA_ADMIT_ACCEPTED:
        break;
    }
}

static const char *acceptance(struct question *q, const struct vpa_priority *priority)
{
    if (priority->outside_range)
        return vpa_arena_printf(q->arena, "a request is outside of the bounds, %s%s",
                                resource_summary(q), priority->scale_up ? "up" : "down");
    return vpa_arena_printf(q->arena, "%s%s", resource_summary(q),
                            priority->scale_up ? "up" : "down");
}

static bool has_nothing_to_change(struct question *q)
{
    struct vpa_container_plan *plans;
    struct vpa_resize_patch patch;
    struct vpa_error err;
    bool nothing = false;

    if (!vpa_update_mode_in_place(q->w->mode))
        return false;
    vpa_resize_patch_init(&patch);
    if (vpa_capping_plan(q->arena, q->w->vpa, q->pod,
                         updater_pass_limits(q->w->pass, q->pod->meta.ns), &plans, &err) == 0) {
        int built = vpa_resize_patch_build(q->pod, q->w->vpa, plans, updater_work_now(q->w),
                                           q->arena, &patch, &err);

        nothing = built < 0 ? err.code == VPA_NOT_FOUND
                            : !patch.changes && !patch.takes_back &&
                                  vpa_pod_resize_status(q->pod) != VPA_RESIZE_ERROR;
    }
    vpa_resize_patch_release(&patch);
    return nothing && stopped(q, "nothing-to-change", "its resources are those recommended");
}

static void by_worth(struct question *q)
{
    const struct pass_env *env = env_of(q);
    struct vpa_capped capped;
    struct vpa_priority priority = {0};
    struct vpa_error err;

    if (vpa_capping_process(q->arena, q->w->vpa, q->pod,
                            updater_pass_limits(q->w->pass, q->pod->meta.ns), &capped, &err) < 0) {
        stopped(q, "limits-unknown", "%s", err.text);
        return;
    }
    enum vpa_admission admission =
        vpa_priority_admit(q->pod, q->w->vpa, &capped.recommendation,
                           vpa_update_memory_infeasible(env->memory, q->pod->meta.uid),
                           &env->priority, updater_work_now(q->w), &priority);

    q->out->diff = priority.diff;
    if (admission != VPA_ADMIT_ACCEPTED)
        by_admission(q, admission);
    else if (!vpa_eviction_requirements_hold(q->pod, q->w->vpa, &capped.recommendation))
        stopped(q, "eviction-requirements",
                "no container changes in the direction that "
                "evictionRequirements ask for");
    else if (!has_nothing_to_change(q)) {
        q->out->eligible = true;
        q->out->why = acceptance(q, &priority);
    }
}

void cli_verdict_of(struct vpa_arena *arena, const struct work *w, size_t pod,
                    struct cli_verdict *out)
{
    struct question q = {.arena = arena,
                         .w = w,
                         .pod = w->pods[pod],
                         .group = vpa_disruption_group(w->budget, pod),
                         .index = pod,
                         .out = out};

    out->rule = "";
    out->why = "";
    if (by_mode(&q))
        return;
    if (updater_work_filter(w, pod).kept)
        by_worth(&q);
    else
        by_filter(&q);
}
