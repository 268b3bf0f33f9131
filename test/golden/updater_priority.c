/* Cases of the form of the set priority. */
#include "updater_priority.h"

#include <math.h>
#include <string.h>

#include "policy_cases.h"
#include "updater_case.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"
#include "vpa/policy/boost.h"
#include "vpa/policy/boost_marker.h"
#include "vpa/policy/priority.h"
#include "vpa/policy/update_memory.h"

/* What the case that ran last did against a decision; NULL: nothing. */
static const char *violation;

struct priority_case {
    struct golden_case *c;
    struct vpa_priority_options options;
    const struct vpa_object *vpa;
    struct vpa_namespace_limits limits;
    vpa_time now;
    struct vpa_update_candidate *accepted;
    bool *allowed; /* by index of the pod */
    size_t accepted_count;
};

static const char *recommendation_json(struct golden_case *c, const struct vpa_recommendation *rec)
{
    struct vpa_json_writer w;
    vpa_auto_buf buf = {0};

    if (!rec->present)
        return "null";
    vpa_buf_init(&buf, (size_t)1 << 20);
    vpa_json_writer_init(&w, &buf);
    vpa_recommendation_encode(&w, rec);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&buf));
}

/* "processed" is given only where it differs from the raw recommendation. */
static void compare_processed(struct priority_case *p, const char *name,
                              const struct vpa_json *want, const struct vpa_recommendation *got)
{
    struct golden_case *c = p->c;
    const struct vpa_json *processed = vpa_json_find(want, "processed");
    const char *label = golden_label(c, "pods[%s].processed", name);
    const char *text = recommendation_json(c, got);

    if (processed) {
        golden_json(c, label, processed, text);
        return;
    }

    const char *raw = recommendation_json(c, &p->vpa->recommendation);

    if (strcmp(raw, text) != 0)
        golden_difference(c, label, raw, text);
}

static void compare_diff(struct golden_case *c, const char *name, const struct vpa_json *want,
                         double got)
{
    const struct vpa_json *any = vpa_json_find(want, "hexAnyOf");
    double one;
    bool found = false;

    if (!any) {
        const struct vpa_json *diff = vpa_json_find(want, "resourceDiff");
        double other;

        if (!golden_read_double(diff, &one) ||
            !golden_read_double(vpa_json_find(want, "hex"), &other) || one != other)
            golden_unexpected(c, golden_label(c, "pods[%s] resourceDiff and hex", name),
                              "two numbers");
        golden_double(c, golden_label(c, "pods[%s].resourceDiff", name),
                      vpa_json_find(want, "resourceDiff"), got);
        golden_double(c, golden_label(c, "pods[%s].hex", name), vpa_json_find(want, "hex"), got);
        return;
    }
    vpa_json_foreach (node, any) {
        if (!golden_read_double(node, &one) || fabs(one - got) > 1e-9 * fabs(got))
            golden_unexpected(c, golden_label(c, "pods[%s].hexAnyOf", name), vpa_json_string(node));
        found = found || one == got;
    }
    golden_compared(c, any);
    if (!found)
        golden_difference(c, golden_label(c, "pods[%s].hexAnyOf", name), "ours among them",
                          "not there");
}

static void compare_lists(struct priority_case *p, const struct vpa_pod *pod,
                          const struct vpa_json *want, enum vpa_admission admission)
{
    struct golden_case *c = p->c;
    const char *name = pod->meta.name;
    struct text_list oom = {0}, expired = {0};
    vpa_auto_observed struct vpa_observed observed = {.pod = pod};

    for (size_t i = 0; i < pod->status_count; i++) {
        if (vpa_quick_oom_status(&observed, p->vpa, &pod->statuses[i], &p->options))
            text_list_add(c, &oom, pod->statuses[i].name);
    }
    /* The reference stops before it looks at OOMs when a record rules the pod out. */
    if (admission != VPA_ADMIT_INFEASIBLE_CACHED)
        golden_json(c, golden_label(c, "pods[%s].quickOOM", name), vpa_json_find(want, "quickOOM"),
                    oom.count > 0 ? text_list_json(c, &oom) : NULL);
    for (size_t i = 0; i < pod->meta.annotations.count; i++) {
        const char *key = pod->meta.annotations.items[i].key;
        const char *container = vpa_boost_marker_container(key);

        if (container && vpa_boost_expired(pod, p->vpa, container, p->now))
            text_list_add(c, &expired, key);
    }
    golden_json(c, golden_label(c, "pods[%s].expiredBoosts", name),
                vpa_json_find(want, "expiredBoosts"),
                expired.count > 0 ? text_list_json(c, &expired) : NULL);
    golden_json(c, golden_label(c, "pods[%s].boosted", name), vpa_json_find(want, "boosted"),
                vpa_boost_marked(&pod->meta.annotations) ? "true" : NULL);
}

/* 10.1: amounts beyond 64 bits saturate: a target above a request that is no such amount scales up,
 * and nothing scales up without a target above its request. */
static void check_direction(const struct vpa_pod *pod, const struct vpa_recommendation *processed,
                            const struct vpa_priority *got)
{
    const struct vpa_quantity most = vpa_quantity_milli(INT64_MAX);
    bool above = false, must = false;
    vpa_auto_observed struct vpa_observed observed = {.pod = pod};

    for (size_t i = 0; i < pod->container_count; i++) {
        const char *name = pod->containers[i].name;
        const struct vpa_container_recommendation *r = vpa_recommendation_find(processed, name);
        struct vpa_resources now = vpa_pod_effective_resources(pod, name);

        for (size_t k = 0; r && k < r->target.count; k++) {
            const struct vpa_quantity *target = &r->target.items[k].quantity;
            const struct vpa_quantity *request =
                vpa_resource_find(&now.requests, r->target.items[k].name);
            if (request && vpa_quantity_cmp(target, request) <= 0)
                continue;
            above = true;
            must |= vpa_container_observed(&observed, name) &&
                    (!request || vpa_quantity_cmp(request, &most) < 0);
        }
    }
    if (got->scale_up ? !above : must)
        violation = "the direction of the change is wrong";
    if (!isfinite(got->diff) || got->diff < 0)
        violation = "the difference is no amount";
}

static void run_pod(struct priority_case *p, size_t i, const struct vpa_pod *pod,
                    const struct vpa_json *want)
{
    struct golden_case *c = p->c;
    const struct vpa_json *priority = vpa_json_find(want, "priority");
    const struct vpa_json *record = vpa_json_find(GOLDEN_IN(c, "infeasible"), pod->meta.uid);
    struct vpa_recommendation infeasible =
        record ? updater_case_recommendation(c, record) : (struct vpa_recommendation){0};
    struct vpa_update_candidate candidate = {.pod = pod, .index = i};
    struct vpa_capped capped;
    struct vpa_error err;

    if (vpa_capping_process(c->arena, p->vpa, pod, &p->limits, &capped, &err) < 0) {
        golden_difference(c, golden_label(c, "pods[%s]", pod->meta.name), "processed", err.text);
        return;
    }
    if (updater_case_is_undone() && vpa_json_find(want, "processed")) {
        struct vpa_recommendation reference =
            updater_case_recommendation(c, vpa_json_find(want, "processed"));

        policy_check_uninvented(c, p->vpa, pod, &reference, &capped.recommendation);
        capped.recommendation = reference; /* 16.3: all else follows from what it has invented */
    }

    enum vpa_admission admission =
        vpa_priority_admit(pod, p->vpa, &capped.recommendation, record ? &infeasible : NULL,
                           &p->options, p->now, &candidate.priority);

    if (golden_tagged(c, "updater.md 10.1"))
        check_direction(pod, &capped.recommendation, &candidate.priority);
    if (admission == VPA_ADMIT_ACCEPTED && !capped.recommendation.present)
        violation = "accepted without a recommendation";
    if (want) {
        golden_text(c, golden_label(c, "pods[%s].name", pod->meta.name),
                    vpa_json_find(want, "name"), pod->meta.name);
        compare_processed(p, pod->meta.name, want, &capped.recommendation);
        golden_bool(c, golden_label(c, "pods[%s].outsideRecommendedRange", pod->meta.name),
                    vpa_json_find(priority, "outsideRecommendedRange"),
                    candidate.priority.outside_range);
        golden_bool(c, golden_label(c, "pods[%s].scaleUp", pod->meta.name),
                    vpa_json_find(priority, "scaleUp"), candidate.priority.scale_up);
        compare_diff(c, pod->meta.name, priority, candidate.priority.diff);
        compare_lists(p, pod, want, admission);
    }
    golden_text(c, golden_label(c, "pods[%s].decision", pod->meta.name),
                vpa_json_find(want, "decision"), vpa_admission_name(admission));
    if (admission == VPA_ADMIT_ACCEPTED) {
        p->allowed[i] = vpa_eviction_requirements_hold(pod, p->vpa, &capped.recommendation);
        p->accepted[p->accepted_count++] = candidate;
    }
}

/* Under any decision: who is in the order of the reference is who it has accepted. */
static void check_accepted(struct golden_case *c)
{
    size_t accepted = 0;

    vpa_json_foreach (pod, GOLDEN_OUT(c, "pods")) {
        bool ordered = false;

        if (!vpa_str_eq(vpa_json_string(vpa_json_find(pod, "decision")), "accepted"))
            continue;
        accepted++;
        vpa_json_foreach (name, GOLDEN_OUT(c, "order"))
            ordered = ordered || vpa_str_eq(vpa_json_string(name),
                                            vpa_json_string(vpa_json_find(pod, "name")));
        if (!ordered)
            golden_unexpected(c, "order (of the accepted)", "one is not there");
    }
    if (vpa_json_count(GOLDEN_OUT(c, "order")) != accepted ||
        vpa_json_count(GOLDEN_OUT(c, "admitted")) > accepted)
        golden_unexpected(c, "order (of the accepted)", "others are there");
    vpa_json_foreach (name, GOLDEN_OUT(c, "admitted")) {
        bool ordered = false;

        vpa_json_foreach (other, GOLDEN_OUT(c, "order"))
            ordered = ordered || vpa_json_equal(name, other);
        if (!ordered)
            golden_unexpected(c, "admitted (of the ordered)", "another");
    }
}

static void compare_order(struct priority_case *p)
{
    struct golden_case *c = p->c;
    struct text_list order = {0}, admitted = {0};

    vpa_priority_sort(p->accepted, p->accepted_count);
    for (size_t i = 0; i < p->accepted_count; i++) {
        const char *name = p->accepted[i].pod->meta.name;

        text_list_add(c, &order, name);
        if (p->allowed[p->accepted[i].index])
            text_list_add(c, &admitted, name);
    }
    golden_json(c, "order", GOLDEN_OUT(c, "order"), text_list_json(c, &order));
    golden_json(c, "admitted", GOLDEN_OUT(c, "admitted"), text_list_json(c, &admitted));
    golden_json(c, "hasStartupBoost", GOLDEN_OUT(c, "hasStartupBoost"),
                vpa_object_has_startup_boost(p->vpa) ? "true" : NULL);
}

void updater_priority_case(struct golden_case *c)
{
    struct updater_config config = updater_case_config(c);
    size_t count = vpa_json_count(GOLDEN_IN(c, "pods")), i = 0;
    struct priority_case p = {
        .c = c,
        .options = {.update_threshold = config.pod_update_threshold,
                    .lifetime_threshold = config.lifetime_threshold,
                    .oom_threshold = config.oom_threshold,
                    .per_vpa_config = config.common.gates.per_vpa_config},
        .vpa = updater_case_vpa(c, GOLDEN_IN(c, "vpa")),
        .limits = updater_case_limits(c, GOLDEN_IN(c, "limitRanges")),
        .now = updater_case_time(c, GOLDEN_IN(c, "now"), "now"),
        .accepted = vpa_arena_zalloc(c->arena, (count + 1) * sizeof(*p.accepted)),
        .allowed = vpa_arena_zalloc(c->arena, count + 1),
    };
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "pods"));

    if (!updater_case_is_undone())
        violation = NULL;
    golden_marker(c, "crash");
    golden_count(c, "pods", GOLDEN_OUT(c, "pods"), GOLDEN_OUT(c, "crash") ? 0 : count);
    vpa_json_foreach (node, GOLDEN_IN(c, "pods")) {
        run_pod(&p, i++, updater_case_pod(c, node), want);
        want = want ? vpa_json_next(want) : NULL;
    }
    compare_order(&p);
    check_accepted(c);
}

void updater_priority_invariant(struct golden_case *c)
{
    if (violation)
        golden_difference(c, "decision", "kept", violation);
}
