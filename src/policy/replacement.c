/* Whether a replacement is what its predecessor was evicted for. */
#include "vpa/policy/replacement.h"

#include <math.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/boost_marker.h"
#include "vpa/policy/pod_patch.h"
#include "vpa/policy/resize_patch.h"
#include "vpa/policy/resize_state.h"

#define NAME_SHOWN 63

/* What the webhook and the updater write: the replacement gets its own. */
static bool is_ours(const char *annotation)
{
    return vpa_str_eq(annotation, VPA_UPDATES_ANNOTATION) ||
           vpa_str_eq(annotation, VPA_OBSERVED_ANNOTATION) ||
           vpa_str_eq(annotation, VPA_IN_PLACE_ANNOTATION) ||
           vpa_boost_marker_container(annotation);
}

void vpa_replacement_annotations(struct vpa_json_writer *w, const struct vpa_json *annotations)
{
    vpa_json_member_object(w, "annotations");
    vpa_json_foreach (a, annotations) {
        if (is_ours(vpa_json_name(a)))
            continue;
        vpa_json_member_node(w, vpa_json_name(a), a);
    }
    vpa_json_close_object(w);
}

/* A container that has ended; init containers do so by nature and have no status here. */
static const struct vpa_container_status *ended_container(const struct vpa_pod *pod)
{
    for (size_t i = 0; i < pod->status_count; i++) {
        if (pod->statuses[i].last_terminated.present)
            return &pod->statuses[i];
    }
    return NULL;
}

void vpa_expected_init(struct vpa_expected *expected, const struct vpa_pod *pod,
                       const struct vpa_recommendation *wanted)
{
    struct vpa_arena *arena = &expected->arena;

    *expected = (struct vpa_expected){.was_ready = vpa_pod_is_ready(pod),
                                      .had_ended = ended_container(pod) != NULL};
    expected->wanted = vpa_recommendation_copy(arena, wanted);
    expected->had =
        vpa_arena_zalloc(arena, (expected->wanted.container_count + 1) * sizeof(*expected->had));
    for (size_t i = 0; i < expected->wanted.container_count; i++) {
        const char *name = expected->wanted.containers[i].container_name;
        struct vpa_resources in_force = vpa_pod_effective_resources(pod, name);

        expected->had[i] = vpa_resource_list_copy(arena, &in_force.requests);
    }
}

void vpa_expected_release(struct vpa_expected *expected)
{
    vpa_arena_release(&expected->arena);
    *expected = (struct vpa_expected){.was_ready = false};
}

/* ---- values ---- */

struct comparison {
    bool wanted_change;               /* some request was to change */
    bool moved;                       /* some has come nearer */
    bool changed;                     /* some is another than before */
    bool outside;                     /* some is outside the bounds of then, or missing */
    bool owed;                        /* some that is as before or outside is wanted by now too */
    const char *container, *resource; /* the first that is as before or outside */
    const struct vpa_quantity *have, *target;
};

static double distance(const struct vpa_quantity *a, const struct vpa_quantity *b)
{
    return fabs((double)vpa_quantity_milli_value(a) - (double)vpa_quantity_milli_value(b));
}

static bool is_outside(const struct vpa_container_recommendation *rec, const char *resource,
                       const struct vpa_quantity *have)
{
    const struct vpa_quantity *lower = vpa_resource_find(&rec->lower_bound, resource);
    const struct vpa_quantity *upper = vpa_resource_find(&rec->upper_bound, resource);

    return !have || (lower && vpa_quantity_cmp(have, lower) < 0) ||
           (upper && vpa_quantity_cmp(have, upper) > 0);
}

/* The recommendation has come back to what the container has: nearer than to what it was. */
static bool has_come_back(const struct vpa_quantity *now, const struct vpa_quantity *then,
                          const struct vpa_quantity *have)
{
    return now && have && distance(have, now) < distance(then, now);
}

static void compare(struct comparison *c, const struct vpa_container_recommendation *rec,
                    const struct vpa_resource *target, const struct vpa_quantity *had,
                    const struct vpa_quantity *have, const struct vpa_quantity *now)
{
    bool change = !had || vpa_quantity_cmp(had, &target->quantity) != 0;
    bool moved =
        have && (!had || distance(have, &target->quantity) < distance(had, &target->quantity));
    bool outside = is_outside(rec, target->name, have);

    c->wanted_change = c->wanted_change || change;
    c->moved = c->moved || (change && moved);
    c->changed = c->changed || (have && (!had || vpa_quantity_cmp(had, have) != 0));
    c->outside = c->outside || outside;
    if (!(outside || (change && !moved)))
        return;
    c->owed = c->owed || !has_come_back(now, &target->quantity, have);
    if (c->container)
        return;
    c->container = rec->container_name;
    c->resource = target->name;
    c->have = have;
    c->target = &target->quantity;
}

/* What the container asks for, or will when its boost is over. */
static const struct vpa_quantity *request_of(const struct vpa_pod *pod, const char *container,
                                             const struct vpa_resource_list *requests,
                                             const struct vpa_resource *target)
{
    const struct vpa_quantity *have = vpa_resource_find(requests, target->name);

    if (have && strcmp(target->name, "cpu") == 0 && vpa_quantity_cmp(have, &target->quantity) > 0 &&
        vpa_boost_marker_find(&pod->meta.annotations, container))
        return &target->quantity;
    return have;
}

/* By now, or NULL. */
static const struct vpa_quantity *target_of(const struct vpa_recommendation *wanted,
                                            const char *container, const char *resource)
{
    const struct vpa_container_recommendation *rec =
        wanted && wanted->present ? vpa_recommendation_find(wanted, container) : NULL;

    return rec ? vpa_resource_find(&rec->target, resource) : NULL;
}

static struct comparison compare_all(const struct vpa_expected *expected,
                                     const struct vpa_pod *replacement,
                                     const struct vpa_recommendation *now_wanted)
{
    struct comparison c = {.moved = false};

    for (size_t i = 0; i < expected->wanted.container_count; i++) {
        const struct vpa_container_recommendation *rec = &expected->wanted.containers[i];
        struct vpa_resources have = vpa_pod_effective_resources(replacement, rec->container_name);

        for (size_t k = 0; k < rec->target.count; k++) {
            const struct vpa_resource *target = &rec->target.items[k];

            compare(&c, rec, target, vpa_resource_find(&expected->had[i], target->name),
                    request_of(replacement, rec->container_name, &have.requests, target),
                    target_of(now_wanted, rec->container_name, target->name));
        }
    }
    return c;
}

static void put_quantity(struct vpa_buf *out, const struct vpa_quantity *q)
{
    vpa_auto_buf text = VPA_BUF(VPA_QUANTITY_INPUT_MAX);

    if (q)
        vpa_quantity_format_text(q, &text);
    vpa_buf_printf(out, "%.24s", q ? vpa_buf_text(&text) : "none");
}

/* "pod api-0 has cpu request 500m in container app, wanted 1238m" */
static void put_values(struct vpa_buf *out, const struct comparison *c, const char *pod)
{
    vpa_buf_printf(out, "pod %.*s has %.*s request ", 4 * NAME_SHOWN, pod, NAME_SHOWN, c->resource);
    put_quantity(out, c->have);
    vpa_buf_printf(out, " in container %.*s, wanted ", NAME_SHOWN, c->container);
    put_quantity(out, c->target);
}

/* The webhook has written it. */
static bool was_patched(const struct vpa_pod *pod)
{
    for (size_t i = 0; i < pod->meta.annotations.count; i++) {
        if (vpa_str_eq(pod->meta.annotations.items[i].key, VPA_OBSERVED_ANNOTATION))
            return true;
    }
    return false;
}

static bool carries(const struct comparison *c, const struct vpa_pod *replacement,
                    const struct vpa_recommendation *now_wanted)
{
    if (!c->outside && (c->moved || !c->wanted_change))
        return true;
    return c->changed && now_wanted && now_wanted->present &&
           !vpa_priority_of(replacement, now_wanted).outside_range;
}

/* What it lacks is wanted no more, so that it says nothing about who wrote it. */
static bool is_moot(const struct comparison *c, const struct vpa_pod *replacement,
                    const struct vpa_recommendation *now_wanted)
{
    return !c->owed && now_wanted && now_wanted->present &&
           !vpa_priority_of(replacement, now_wanted).outside_range;
}

enum vpa_verdict vpa_expected_judge(const struct vpa_expected *expected,
                                    const struct vpa_pod *replacement,
                                    const struct vpa_recommendation *now_wanted,
                                    struct vpa_buf *seen)
{
    struct comparison c = compare_all(expected, replacement, now_wanted);
    const struct vpa_container_status *ended = ended_container(replacement);

    if (!carries(&c, replacement, now_wanted)) {
        if (is_moot(&c, replacement, now_wanted))
            return VPA_VERDICT_VOID;
        put_values(seen, &c, replacement->meta.name);
        return was_patched(replacement) ? VPA_VERDICT_PATCHED_BACK : VPA_VERDICT_NOT_PATCHED;
    }
    if (ended && !expected->had_ended) {
        vpa_buf_printf(seen, "container %.*s of pod %.*s ended (%.64s), which it did not before",
                       NAME_SHOWN, ended->name, 4 * NAME_SHOWN, replacement->meta.name,
                       vpa_or_empty(ended->last_terminated.reason));
        return VPA_VERDICT_CRASHING;
    }
    return vpa_pod_is_ready(replacement) || !expected->was_ready ? VPA_VERDICT_GOOD
                                                                 : VPA_VERDICT_WAIT;
}
