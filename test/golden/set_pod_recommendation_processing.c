/* What the updater gets to see of a recommendation for a pod, and what it would set. */
#include <string.h>

#include "golden.h"
#include "policy_cases.h"
#include "vpa/policy/priority.h"

static const char *resources_text(struct golden_case *c, const struct vpa_pod *pod,
                                  const struct vpa_container_plan *plans)
{
    struct vpa_json_writer w;
    vpa_auto_buf buf = {0};

    vpa_buf_init(&buf, 1 << 20);
    vpa_json_writer_init(&w, &buf);
    vpa_json_open_array(&w);
    for (size_t i = 0; i < pod->container_count; i++) {
        vpa_json_open_object(&w);
        vpa_json_member_string(&w, "container", pod->containers[i].name);
        if (plans[i].limits.present) {
            vpa_json_key(&w, "limits");
            vpa_resource_list_encode(&w, &plans[i].limits);
        }
        if (plans[i].requests.present) {
            vpa_json_key(&w, "requests");
            vpa_resource_list_encode(&w, &plans[i].requests);
        }
        vpa_json_close_object(&w);
    }
    vpa_json_close_array(&w);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&buf));
}

/* An absent object of phrases means that there are none. */
static void compare_notes(struct golden_case *c, const char *label, const char *got)
{
    const struct vpa_json *want = GOLDEN_OUT(c, label);

    golden_json(c, label, want, !want && strcmp(got, "{}") == 0 ? NULL : got);
}

static void compare_priority(struct golden_case *c, const struct vpa_pod *pod,
                             const struct vpa_recommendation *processed)
{
    const struct vpa_json *want = GOLDEN_OUT(c, "priority");
    struct vpa_priority got = vpa_priority_of(pod, processed);

    golden_double(c, "priority.resourceDiff", vpa_json_find(want, "resourceDiff"), got.diff);
    golden_double(c, "priority.hex", vpa_json_find(want, "hex"), got.diff);
    golden_bool(c, "priority.outsideRecommendedRange",
                vpa_json_find(want, "outsideRecommendedRange"), got.outside_range);
    golden_bool(c, "priority.scaleUp", vpa_json_find(want, "scaleUp"), got.scale_up);
}

static void run(struct golden_case *c)
{
    struct policy_subject s;
    struct vpa_capped capped;
    struct vpa_container_plan *plans;
    struct vpa_error err;

    if (!policy_read_subject(c, GOLDEN_IN(c, "limitRanges"), &s))
        return;
    if (vpa_capping_process(c->arena, &s.vpa, &s.pod, &s.limits, &capped, &err) < 0 ||
        vpa_capping_plan(c->arena, &s.vpa, &s.pod, &s.limits, &plans, &err) < 0) {
        golden_unexpected(c, "error", err.text);
        return;
    }
    golden_marker(c, "crash");
    if (GOLDEN_OUT(c, "crash"))
        return; /* upstream crashes: that we come here is what can be checked */

    golden_json(c, "processed", GOLDEN_OUT(c, "processed"),
                capped.recommendation.present
                    ? policy_recommendation_text(c, &capped.recommendation)
                    : "null");
    compare_notes(c, "annotations", policy_notes_text(c, capped.notes, capped.note_count));
    compare_priority(c, &s.pod, &capped.recommendation);
    golden_json(c, "resources", GOLDEN_OUT(c, "resources"), resources_text(c, &s.pod, plans));

    struct vpa_notes *notes =
        vpa_arena_alloc(c->arena, (s.pod.container_count + 1) * sizeof(*notes));
    for (size_t i = 0; i < s.pod.container_count; i++)
        notes[i] = plans[i].notes;
    compare_notes(c, "resourceAnnotations", policy_notes_text(c, notes, s.pod.container_count));
}

/* No resource appears that nobody recommended, and nothing is negative. */
static void check_invented(struct golden_case *c, const char *container,
                           const struct vpa_resource_list *got,
                           const struct vpa_resource_list *recommended)
{
    for (size_t i = 0; i < got->count; i++) {
        const char *name = got->items[i].name;
        if (!vpa_resource_find(recommended, name) || vpa_quantity_sign(&got->items[i].quantity) < 0)
            golden_unexpected(c, golden_label(c, "resources.%s.%s", container, name),
                              vpa_quantity_text(c->arena, &got->items[i].quantity));
    }
}

static void invariant(struct golden_case *c)
{
    struct policy_subject s;
    struct vpa_container_plan *plans;
    struct vpa_capped capped;
    struct vpa_error err;

    if (!policy_read_subject(c, GOLDEN_IN(c, "limitRanges"), &s))
        return;
    if (vpa_capping_process(c->arena, &s.vpa, &s.pod, &s.limits, &capped, &err) < 0 ||
        vpa_capping_plan(c->arena, &s.vpa, &s.pod, &s.limits, &plans, &err) < 0) {
        golden_unexpected(c, "error", err.text);
        return;
    }
    if (golden_tagged(c, "updater.md 16.3")) {
        struct vpa_recommendation reference =
            policy_read_recommendation(c, GOLDEN_OUT(c, "processed"));
        policy_check_uninvented(c, &s.vpa, &s.pod, &reference, &capped.recommendation);
    }
    for (size_t i = 0; i < s.pod.container_count; i++) {
        const char *name = s.pod.containers[i].name;
        const struct vpa_container_recommendation *r =
            vpa_recommendation_find(&s.vpa.recommendation, name);
        struct vpa_resources now = vpa_pod_effective_resources(&s.pod, name);
        check_invented(c, name, &plans[i].requests, r ? &r->target : &now.requests);
    }
}

static const struct golden_licence licences[] = {
    {"updater.md 10.1", {"priority.*"}},
    {"updater.md 16.3",
     {"processed", "annotations", "priority.*", "resources", "resourceAnnotations"}},
    {NULL, {NULL}},
};

const struct golden_set golden_set_pod_recommendation_processing = {
    .name = "pod_recommendation_processing",
    .run = run,
    .invariant = invariant,
    .licences = licences};
