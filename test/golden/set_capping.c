/* Recommendations capped for a pod, and LimitRanges folded. */
#include <string.h>

#include "golden.h"
#include "policy_cases.h"

/* The text of an effective LimitRange item. */
static const char *item_text(struct golden_case *c, const char *type,
                             const struct vpa_limit_item *item)
{
    const struct vpa_resource_list *lists[] = {&item->max, &item->min, &item->defaults};
    static const char *const names[] = {"max", "min", "default"};
    struct vpa_json_writer w;
    vpa_auto_buf buf = VPA_BUF(1 << 20);

    if (!item->present)
        return "null";
    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "type", type);
    for (size_t i = 0; i < VPA_COUNT(lists); i++) {
        if (!lists[i]->count)
            continue;
        vpa_json_key(&w, names[i]);
        vpa_resource_list_encode(&w, lists[i]);
    }
    vpa_json_close_object(&w);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&buf));
}

static void run_limit_range(struct golden_case *c)
{
    struct vpa_namespace_limits limits;

    if (!policy_read_limits(c, GOLDEN_IN(c, "limit_ranges"), golden_in_text(c, "namespace"),
                            &limits))
        return;
    golden_text(c, "container", GOLDEN_OUT(c, "container"),
                item_text(c, "Container", &limits.container));
    golden_text(c, "pod", GOLDEN_OUT(c, "pod"), item_text(c, "Pod", &limits.pod));
}

/* "container/field/resource" of the list `invented`: upstream adds it although the entry did not
 * have it; it is taken out of what is expected, together with the phrases about it. */
static bool is_invented(struct golden_case *c, const char *container, const char *field,
                        const char *resource)
{
    const char *path = golden_label(c, "%s/%s/%s", container, field, resource);

    vpa_json_foreach (item, GOLDEN_OUT(c, "invented")) {
        if (strcmp(vpa_json_string(item), path) == 0)
            return true;
    }
    return false;
}

/* Takes what was invented out of the list; how much that was. */
static size_t remove_invented(struct golden_case *c, const char *container, const char *field,
                              struct vpa_resource_list *list)
{
    static const char *const resources[] = {VPA_CPU, VPA_MEMORY};
    size_t before = list->count;

    for (size_t i = 0; i < VPA_COUNT(resources); i++)
        if (is_invented(c, container, field, resources[i]))
            vpa_resource_remove(list, resources[i]);
    return before - list->count;
}

static const char *expected_recommendation(struct golden_case *c)
{
    static const char *const fields[] = {"target", "lowerBound", "upperBound"};
    const char *text = vpa_json_string(GOLDEN_OUT(c, "recommendation"));
    struct vpa_recommendation rec;
    const struct vpa_json *root;
    struct vpa_error err;
    size_t removed = 0;

    if (!text || !GOLDEN_OUT(c, "invented"))
        return text;
    if (vpa_json_parse(c->arena, text, strlen(text), &root, &err) < 0 ||
        vpa_recommendation_decode(c->arena, root, &rec, &err) < 0) {
        golden_difference(c, "input", "readable", err.text);
        return text;
    }
    for (size_t i = 0; i < rec.container_count; i++) {
        struct vpa_container_recommendation *r = &rec.containers[i];
        struct vpa_resource_list *lists[] = {&r->target, &r->lower_bound, &r->upper_bound};
        for (size_t f = 0; f < VPA_COUNT(fields); f++)
            removed += remove_invented(c, r->container_name, fields[f], lists[f]);
    }
    golden_count(c, "invented", GOLDEN_OUT(c, "invented"), removed);
    return policy_recommendation_text(c, &rec);
}

/* The phrases expected of one container, without those about invented targets. */
static void compare_notes(struct golden_case *c, const struct vpa_json *want,
                          const struct vpa_notes *got)
{
    const char *container = vpa_json_name(want);
    size_t i = 0;

    vpa_json_foreach (phrase, want) {
        const char *text = vpa_json_string(phrase);
        const char *resource = strncmp(text, "cpu ", 4) == 0 ? VPA_CPU : VPA_MEMORY;
        if (is_invented(c, container, "target", resource)) {
            golden_compared(c, phrase);
            golden_exempt(c, 1);
            continue;
        }
        golden_text(c, golden_label(c, "annotations.%s[%zu]", container, i), phrase,
                    got && i < got->count ? got->items[i] : NULL);
        i++;
    }
    for (; got && i < got->count; i++)
        golden_unexpected(c, golden_label(c, "annotations.%s[%zu]", container, i), got->items[i]);
}

static const struct vpa_notes *notes_of(const struct vpa_capped *capped, const char *container)
{
    for (size_t i = 0; i < capped->note_count; i++)
        if (strcmp(capped->notes[i].container, container) == 0)
            return &capped->notes[i];
    return NULL;
}

static void run_process(struct golden_case *c)
{
    const char *list_error = vpa_json_string(GOLDEN_IN(c, "limit_range_list_error"));
    struct policy_subject s;
    struct vpa_capped got;
    struct vpa_error err;

    if (!policy_read_subject(c, GOLDEN_IN(c, "limit_ranges"), &s))
        return;
    if (list_error)
        s.limits.error = golden_label(c, "error loading limit ranges: %s", list_error);
    if (vpa_capping_process(c->arena, &s.vpa, &s.pod, &s.limits, &got, &err) < 0) {
        golden_text(c, "error", GOLDEN_OUT(c, "error"), err.text);
        return;
    }
    golden_marker(c, "panic");
    if (GOLDEN_OUT(c, "panic"))
        return; /* upstream crashes: that we come here is what can be checked */

    golden_text(c, "error", GOLDEN_OUT(c, "error"), NULL);
    const char *want = expected_recommendation(c);
    const char *text = policy_recommendation_text(c, &got.recommendation);
    golden_compared(c, GOLDEN_OUT(c, "recommendation"));
    golden_compared(c, GOLDEN_OUT(c, "invented"));
    golden_exempt(c, vpa_json_count(GOLDEN_OUT(c, "invented")));
    if (!want || strcmp(want, text) != 0)
        golden_difference(c, "recommendation", want, text);
    if (!GOLDEN_OUT(c, "annotations"))
        golden_difference(c, "annotations", "an object", "absent");
    if (vpa_json_count(GOLDEN_OUT(c, "annotations")) == 0)
        golden_count(c, "annotations", GOLDEN_OUT(c, "annotations"), got.note_count);
    vpa_json_foreach (notes, GOLDEN_OUT(c, "annotations")) {
        compare_notes(c, notes, notes_of(&got, vpa_json_name(notes)));
    }
    for (size_t i = 0; i < got.note_count; i++)
        if (!vpa_json_find(GOLDEN_OUT(c, "annotations"), got.notes[i].container))
            golden_unexpected(c, golden_label(c, "annotations.%s", got.notes[i].container),
                              got.notes[i].items[0]);
}

static void run(struct golden_case *c)
{
    if (strcmp(c->file, "limit_range") == 0)
        run_limit_range(c);
    else
        run_process(c);
}

/* Not marked in the vectors: a key that nobody recommended or requested, of a container whose
 * status says less than its spec. */
static const char *touches(struct golden_case *c)
{
    struct vpa_object vpa;
    struct vpa_pod pod;

    if (strcmp(c->file, "process") != 0 || !policy_read_vpa(c, GOLDEN_IN(c, "vpa"), &vpa) ||
        !policy_read_pod(c, GOLDEN_IN(c, "pod"), &pod))
        return NULL;
    struct vpa_recommendation reference =
        policy_read_recommendation(c, GOLDEN_OUT(c, "recommendation"));
    return policy_reference_invents(&vpa, &pod, &reference) ? "updater.md 16.3" : NULL;
}

static void invariant(struct golden_case *c)
{
    struct policy_subject s;
    struct vpa_capped got;
    struct vpa_error err;

    if (!policy_read_subject(c, GOLDEN_IN(c, "limit_ranges"), &s))
        return;
    struct vpa_recommendation reference =
        policy_read_recommendation(c, GOLDEN_OUT(c, "recommendation"));
    if (vpa_capping_process(c->arena, &s.vpa, &s.pod, &s.limits, &got, &err) < 0)
        golden_unexpected(c, "error", err.text);
    else
        policy_check_uninvented(c, &s.vpa, &s.pod, &reference, &got.recommendation);
}

#define ENTRY "recommendation.containerRecommendations[*]"

static const struct golden_licence licences[] = {
    {"updater.md 16.3",
     {ENTRY ".target.cpu", ENTRY ".target.memory", ENTRY ".*Bound.cpu", ENTRY ".*Bound.memory",
      "annotations.*[*"}},
    {NULL, {NULL}},
};

const struct golden_set golden_set_capping = {.name = "capping",
                                              .run = run,
                                              .invariant = invariant,
                                              .licences = licences,
                                              .touches = touches};
