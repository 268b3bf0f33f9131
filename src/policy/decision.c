/* Whether a pod deserves a change, and what that rested on. */
#include "vpa/policy/decision.h"

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/table.h"
#include "facts.h"
#include "vpa/policy/update_mode.h"

#define LIMITS_TEXT_MAX ((size_t)64 << 10)

/* As the webhook does: what was scaled to fit a Pod LimitRange may have become -1. */
static void floor_memory(struct vpa_recommendation *recommendation)
{
    for (size_t i = 0; i < recommendation->container_count; i++) {
        struct vpa_container_recommendation *r = &recommendation->containers[i];
        struct vpa_resource_list *const lists[] = {&r->target, &r->lower_bound, &r->upper_bound};

        for (size_t k = 0; k < VPA_COUNT(lists); k++) {
            struct vpa_quantity *q = (struct vpa_quantity *)vpa_resource_find(lists[k], VPA_MEMORY);

            if (q && vpa_quantity_sign(q) < 0)
                *q = vpa_quantity_units(0, (enum vpa_quantity_format)q->format);
        }
    }
}

static bool stays(const struct vpa_decision_facts *facts, const char *container)
{
    const struct vpa_object *vpa = facts->vpa;

    return vpa_policy_is_off(&vpa->resource_policy, container) &&
           (facts->evicts || !vpa_update_mode_in_place(vpa_update_mode_of(vpa)) ||
            !vpa_recommendation_find(&vpa->recommendation, container));
}

static void clear_plans(const struct vpa_decision_facts *facts, struct vpa_container_plan *plans)
{
    for (size_t i = 0; i < facts->pod->container_count; i++)
        if (stays(facts, facts->pod->containers[i].name))
            plans[i] = (struct vpa_container_plan){0};
}

void vpa_decision_leave_off(const struct vpa_pod *pod, const struct vpa_object *vpa,
                            struct vpa_container_plan *plans)
{
    const struct vpa_decision_facts facts = {.pod = pod, .vpa = vpa};

    clear_plans(&facts, plans);
}

/* What the others get was scaled together with those that are left, and must fit beside them. */
static int leave_off(struct vpa_arena *arena, const struct vpa_decision_facts *facts,
                     struct vpa_recommendation *wanted, struct vpa_error *err)
{
    struct vpa_container_plan *plans;
    size_t kept = 0, count = wanted->container_count;

    for (size_t i = 0; i < count; i++)
        if (!stays(facts, wanted->containers[i].container_name))
            wanted->containers[kept++] = wanted->containers[i];
    if (kept == count)
        return 0;
    wanted->container_count = kept;
    vpa_recommendation_index(arena, wanted);
    if (!vpa_capping_is_bounded(facts->pod, facts->limits))
        return 0;
    if (vpa_capping_plan(arena, facts->vpa, facts->pod, facts->limits, &plans, err) < 0)
        return -1;
    clear_plans(facts, plans);
    return vpa_capping_fits(arena, facts->pod, facts->limits,
                            vpa_plans_resources(arena, plans, facts->pod->container_count), err);
}

int vpa_decision_wanted(struct vpa_arena *arena, const struct vpa_decision_facts *facts,
                        struct vpa_decision *out, struct vpa_error *err)
{
    struct vpa_capped capped;

    if (vpa_capping_process(arena, facts->vpa, facts->pod, facts->limits, &capped, err) < 0)
        return -1;
    floor_memory(&capped.recommendation);
    out->recommended = capped.recommendation.container_count > 0;
    if (facts->options->startup_boost && leave_off(arena, facts, &capped.recommendation, err) < 0)
        return -1;
    out->wanted = capped.recommendation;
    return 0;
}

int vpa_decision_make(struct vpa_arena *arena, const struct vpa_decision_facts *facts,
                      struct vpa_decision *out, struct vpa_error *err)
{
    if (vpa_decision_wanted(arena, facts, out, err) < 0)
        return -1;
    out->admission = vpa_priority_admit(facts->pod, facts->vpa, &out->wanted, facts->infeasible,
                                        facts->options, facts->now, &out->priority);
    out->allowed = vpa_eviction_requirements_hold(facts->pod, facts->vpa, &out->wanted);
    return 0;
}

/* ---- writing ---- */

uint32_t vpa_namespace_limits_hash(const struct vpa_namespace_limits *limits)
{
    const struct vpa_limit_item *const items[] = {&limits->container, &limits->pod};
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(LIMITS_TEXT_MAX);

    vpa_json_writer_init(&w, &text);
    vpa_json_open_array(&w);
    for (size_t i = 0; i < VPA_COUNT(items); i++) {
        vpa_resource_list_encode(&w, &items[i]->max);
        vpa_resource_list_encode(&w, &items[i]->min);
        vpa_resource_list_encode(&w, &items[i]->defaults);
    }
    vpa_json_close_array(&w);
    return vpa_hash_stable(vpa_buf_text(&text));
}

void vpa_decision_encode(struct vpa_json_writer *w, const struct vpa_decision_facts *facts,
                         const struct vpa_decision *decision)
{
    const struct vpa_priority_options *options = facts->options;

    vpa_json_open_object(w);
    vpa_facts_put_nanos(w, "now", vpa_time_unix_nanos(facts->now));
    vpa_facts_put_double(w, "updateThreshold", options->update_threshold);
    vpa_facts_put_nanos(w, "lifetimeThreshold", options->lifetime_threshold);
    vpa_facts_put_nanos(w, "oomThreshold", options->oom_threshold);
    vpa_json_member_bool(w, "perVPAConfig", options->per_vpa_config);
    vpa_json_member_bool(w, "startupBoost", options->startup_boost);
    vpa_json_member_bool(w, "evicts", facts->evicts);
    vpa_facts_put_object(w, "pod", &facts->pod->meta);
    vpa_facts_put_object(w, "vpa", &facts->vpa->meta);
    if (facts->limits)
        vpa_json_member_int(w, "limits", vpa_namespace_limits_hash(facts->limits));
    vpa_json_member_bool(w, "infeasible", facts->infeasible != NULL);
    vpa_json_member_string(w, "admission", vpa_admission_name(decision->admission));
    vpa_facts_put_double(w, "priority", decision->priority.diff);
    vpa_json_member_bool(w, "scaleUp", decision->priority.scale_up);
    vpa_json_member_bool(w, "outsideRange", decision->priority.outside_range);
    vpa_json_member_bool(w, "allowed", decision->allowed);
    vpa_json_close_object(w);
}
