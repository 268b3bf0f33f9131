/*
 * The index is one array of candidates sorted by (namespace, kind, name, strength); look-up is a
 * binary search for the run of one target, whose first member that fits is the winner. VPAs with a
 * selector of their own (S8) have no target; they sort under the empty kind and name of their
 * namespace, so that a pod asks for two runs.
 */
#include "vpa/policy/match.h"

#include <stdlib.h>
#include <string.h>

struct vpa_match_index {
    size_t count;
    struct vpa_candidate items[];
};

bool vpa_match_stronger(const struct vpa_object *a, const struct vpa_object *b)
{
    if (a->meta.creation != b->meta.creation)
        return a->meta.creation < b->meta.creation;
    return strcmp(a->meta.name, b->meta.name) < 0;
}

bool vpa_match_mode(const struct vpa_object *vpa, enum vpa_match_rule rule)
{
    if (rule == VPA_MATCH_UPDATER || strcmp(vpa_object_mode(vpa), "Off") != 0)
        return true;
    return vpa_object_has_startup_boost(vpa);
}

bool vpa_match_selects(const struct vpa_candidate *candidate, const char *pod_ns,
                       const struct vpa_labels *pod_labels)
{
    return candidate->selector && strcmp(candidate->vpa->meta.ns, pod_ns) == 0 &&
           vpa_selector_matches(candidate->selector, pod_labels);
}

static const char *target_kind(const struct vpa_object *vpa)
{
    return vpa->target_ref.present ? vpa->target_ref.kind : "";
}

static const char *target_name(const struct vpa_object *vpa)
{
    return vpa->target_ref.present ? vpa->target_ref.name : "";
}

/* Whether the VPA speaks of this controller, or of no controller at all but of labels. */
static bool targets(const struct vpa_object *vpa, const char *ns, const char *kind,
                    const char *name)
{
    if (strcmp(vpa->meta.ns, ns) != 0)
        return false;
    if (!vpa->target_ref.present)
        return vpa->has_selector;
    return kind[0] && strcmp(vpa->target_ref.kind, kind) == 0 &&
           strcmp(vpa->target_ref.name, name) == 0;
}

static bool controls(const struct vpa_candidate *c, enum vpa_match_rule rule, const char *ns,
                     const char *kind, const char *name, const struct vpa_labels *pod_labels)
{
    return targets(c->vpa, ns, kind, name) && vpa_match_mode(c->vpa, rule) &&
           vpa_match_selects(c, ns, pod_labels);
}

const struct vpa_candidate *vpa_match_strongest(const struct vpa_candidate *candidates,
                                                size_t count, enum vpa_match_rule rule,
                                                const char *ns, const char *kind, const char *name,
                                                const struct vpa_labels *pod_labels)
{
    const struct vpa_candidate *best = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct vpa_candidate *c = &candidates[i];
        if (best && !vpa_match_stronger(c->vpa, best->vpa))
            continue;
        if (controls(c, rule, ns, kind, name, pod_labels))
            best = c;
    }
    return best;
}

static int compare_target(const struct vpa_object *vpa, const char *ns, const char *kind,
                          const char *name)
{
    int order = strcmp(vpa->meta.ns, ns);

    if (order == 0)
        order = strcmp(target_kind(vpa), kind);
    if (order == 0)
        order = strcmp(target_name(vpa), name);
    return order;
}

static int compare_candidates(const void *pa, const void *pb)
{
    const struct vpa_object *a = ((const struct vpa_candidate *)pa)->vpa;
    const struct vpa_object *b = ((const struct vpa_candidate *)pb)->vpa;
    int order = compare_target(a, b->meta.ns, target_kind(b), target_name(b));

    if (order)
        return order;
    return vpa_match_stronger(a, b) ? -1 : vpa_match_stronger(b, a) ? 1 : 0;
}

struct vpa_match_index *vpa_match_index_new(const struct vpa_candidate *candidates, size_t count)
{
    struct vpa_match_index *index = vpa_xmalloc(sizeof(*index) + count * sizeof(*candidates));

    index->count = count;
    if (count) {
        memcpy(index->items, candidates, count * sizeof(*candidates));
        qsort(index->items, count, sizeof(*candidates), compare_candidates);
    }
    return index;
}

void vpa_match_index_free(struct vpa_match_index *index)
{
    free(index);
}

/* First candidate not before the target. */
static size_t lower_bound(const struct vpa_match_index *index, const char *ns, const char *kind,
                          const char *name)
{
    return VPA_LOWER_BOUND(i, index->count,
                           compare_target(index->items[i].vpa, ns, kind, name) < 0);
}

/* The first candidate of a run that controls the pod: the strongest. */
static const struct vpa_candidate *first_in_run(const struct vpa_match_index *index,
                                                enum vpa_match_rule rule, const char *ns,
                                                const char *kind, const char *name,
                                                const struct vpa_labels *pod_labels)
{
    for (size_t i = lower_bound(index, ns, kind, name); i < index->count; i++) {
        const struct vpa_candidate *c = &index->items[i];
        if (compare_target(c->vpa, ns, kind, name) != 0)
            return NULL;
        if (controls(c, rule, ns, kind, name, pod_labels))
            return c;
    }
    return NULL;
}

static const struct vpa_candidate *stronger_of(const struct vpa_candidate *a,
                                               const struct vpa_candidate *b)
{
    if (!a || !b)
        return a ? a : b;
    return vpa_match_stronger(b->vpa, a->vpa) ? b : a;
}

const struct vpa_candidate *vpa_match_find(const struct vpa_match_index *index,
                                           enum vpa_match_rule rule, const char *ns,
                                           const char *kind, const char *name,
                                           const struct vpa_labels *pod_labels)
{
    const struct vpa_candidate *by_target =
        kind[0] ? first_in_run(index, rule, ns, kind, name, pod_labels) : NULL;

    return stronger_of(by_target, first_in_run(index, rule, ns, "", "", pod_labels));
}

const struct vpa_candidate *vpa_match_find_unowned(const struct vpa_match_index *index,
                                                   enum vpa_match_rule rule, const char *ns,
                                                   const struct vpa_labels *pod_labels)
{
    const struct vpa_candidate *best = NULL;

    for (size_t i = lower_bound(index, ns, "", ""); i < index->count; i++) {
        const struct vpa_candidate *c = &index->items[i];

        if (strcmp(c->vpa->meta.ns, ns) != 0)
            break;
        if ((!best || vpa_match_stronger(c->vpa, best->vpa)) && vpa_match_mode(c->vpa, rule) &&
            vpa_match_selects(c, ns, pod_labels))
            best = c;
    }
    return best && !best->vpa->target_ref.present ? best : NULL;
}
