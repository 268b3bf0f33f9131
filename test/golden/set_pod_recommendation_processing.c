/* What the updater gets to see of a recommendation for a pod, and what it would set. */
#include <string.h>

#include "golden.h"
#include "policy_cases.h"
#include "vpa/base/str.h"
#include "vpa/policy/priority.h"

static const char *resources_text(struct golden_case *c, const struct vpa_pod *pod,
                                  const struct vpa_container_plan *plans)
{
    struct vpa_json_writer w;
    vpa_auto_buf buf = VPA_BUF(1 << 20);

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

static void compare_priority(struct golden_case *c, const char *label, const struct vpa_pod *pod,
                             const struct vpa_recommendation *processed)
{
    const struct vpa_json *want = GOLDEN_OUT(c, "priority");
    const struct vpa_json *diff = vpa_json_find(want, "resourceDiff");
    const struct vpa_json *hex = vpa_json_find(want, "hex");
    struct vpa_priority got = vpa_priority_of(pod, processed);
    double a, b;

    golden_double(c, golden_label(c, "%s.resourceDiff", label), diff, got.diff);
    golden_double(c, golden_label(c, "%s.hex", label), hex, got.diff);
    golden_bool(c, golden_label(c, "%s.outsideRecommendedRange", label),
                vpa_json_find(want, "outsideRecommendedRange"), got.outside_range);
    golden_bool(c, golden_label(c, "%s.scaleUp", label), vpa_json_find(want, "scaleUp"),
                got.scale_up);
    if (!golden_read_double(diff, &a) || !golden_read_double(hex, &b) || a != b)
        golden_unexpected(c, "resourceDiff and hex", "two numbers");
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
    compare_priority(c, "priority", &s.pod, &capped.recommendation);
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

/* 16.3: what the reference requests are the targets that it has processed; the limits of what is
 * recommended are ours. */
static void check_resources(struct golden_case *c, const struct policy_subject *s,
                            const struct vpa_container_plan *plans,
                            const struct vpa_recommendation *reference)
{
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "resources"));

    for (size_t i = 0; i < s->pod.container_count; i++) {
        const char *name = s->pod.containers[i].name;
        const char *label = golden_label(c, "16.3 resources[%zu]", i);
        const struct vpa_container_recommendation *r = vpa_recommendation_find(reference, name);
        const struct vpa_container_recommendation *raw =
            vpa_recommendation_find(&s->vpa.recommendation, name);
        struct vpa_resource_list limits = {0};

        golden_text(c, golden_label(c, "%s.container", label), vpa_json_find(want, "container"),
                    name);
        if (r)
            golden_json(c, golden_label(c, "%s.requests", label), vpa_json_find(want, "requests"),
                        policy_list_text(c, &r->target));
        if (vpa_json_find(want, "limits") &&
            !policy_read_list(c, vpa_json_find(want, "limits"), &limits))
            return;
        for (size_t k = 0; raw && k < raw->target.count; k++) {
            const char *resource = raw->target.items[k].name;
            const struct vpa_quantity *a = vpa_resource_find(&limits, resource);
            const struct vpa_quantity *b = vpa_resource_find(&plans[i].limits, resource);

            if (!a != !b || (a && vpa_quantity_cmp(a, b) != 0))
                golden_difference(c, golden_label(c, "%s.limits.%s", label, resource), "as ours",
                                  "another");
        }
        want = want ? vpa_json_next(want) : NULL;
    }
}

static bool has_phrase(const struct vpa_notes *notes, size_t count, const char *container,
                       const char *phrase)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; vpa_str_eq(notes[i].container, container) && k < notes[i].count; k++)
            if (strcmp(notes[i].items[k], phrase) == 0)
                return true;
    return false;
}

/* 16.3: a phrase that is not ours is about a resource that nobody recommends for the container. */
static void check_phrases(struct golden_case *c, const struct policy_subject *s, const char *member,
                          const struct vpa_notes *notes, size_t count)
{
    vpa_json_foreach (phrases, GOLDEN_OUT(c, member)) {
        const char *container = vpa_json_name(phrases);
        const struct vpa_container_recommendation *raw =
            vpa_recommendation_find(&s->vpa.recommendation, container);

        vpa_json_foreach (node, phrases) {
            const char *phrase = vpa_json_string(node);

            if (phrase && has_phrase(notes, count, container, phrase))
                continue;
            if (!phrase || !raw ||
                vpa_resource_find(&raw->target,
                                  golden_label(c, "%.*s", (int)strcspn(phrase, " :"), phrase)))
                golden_unexpected(c, golden_label(c, "16.3 %s.%s", member, container),
                                  vpa_or_empty(phrase));
        }
    }
}

static void check_uninvented(struct golden_case *c, const struct policy_subject *s,
                             const struct vpa_capped *capped,
                             const struct vpa_container_plan *plans)
{
    struct vpa_recommendation reference = policy_read_recommendation(c, GOLDEN_OUT(c, "processed"));
    struct vpa_notes *notes =
        vpa_arena_alloc(c->arena, (s->pod.container_count + 1) * sizeof(*notes));

    for (size_t i = 0; i < s->pod.container_count; i++)
        notes[i] = plans[i].notes;
    policy_check_uninvented(c, &s->vpa, &s->pod, &reference, &capped->recommendation);
    compare_priority(c, "16.3 priority", &s->pod, &reference);
    check_resources(c, s, plans, &reference);
    check_phrases(c, s, "annotations", capped->notes, capped->note_count);
    check_phrases(c, s, "resourceAnnotations", notes, s->pod.container_count);
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
    if (golden_tagged(c, "updater.md 16.3"))
        check_uninvented(c, &s, &capped, plans);
    for (size_t i = 0; i < s.pod.container_count; i++) {
        const char *name = s.pod.containers[i].name;
        const struct vpa_container_recommendation *r =
            vpa_recommendation_find(&s.vpa.recommendation, name);
        struct vpa_resources now = vpa_pod_effective_resources(&s.pod, name);
        check_invented(c, name, &plans[i].requests, r ? &r->target : &now.requests);
    }
}

#define PROCESSED "processed.containerRecommendations[*]"

static const struct golden_licence licences[] = {
    {"updater.md 10.1", {"priority.resourceDiff", "priority.hex", "priority.scaleUp"}},
    {"updater.md 16.3",
     {PROCESSED ".target.cpu", PROCESSED ".target.memory", PROCESSED ".*Bound.cpu",
      PROCESSED ".*Bound.memory", "annotations", "annotations.*", "priority.resourceDiff",
      "priority.hex", "priority.outsideRecommendedRange", "priority.scaleUp", "resources[*].limits",
      "resources[*].limits.cpu", "resources[*].limits.memory", "resources[*].requests.cpu",
      "resources[*].requests.memory", "resourceAnnotations", "resourceAnnotations.*"}},
    {NULL, {NULL}},
};

const struct golden_set golden_set_pod_recommendation_processing = {
    .name = "pod_recommendation_processing",
    .run = run,
    .invariant = invariant,
    .licences = licences};
