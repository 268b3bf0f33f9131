/*
 * The losers of the pods that several VPAs match.
 *
 * A label set may be matched by thousands of VPAs, and thousands of label sets by the same VPAs, so
 * no pair is ever compared. Of the VPAs that match a set, only the strongest count as winners: the
 * strongest of all for a VPA that selects pods itself; for one with a target the strongest with the
 * same target, or of those that select pods themselves. Each set is gone over twice, once for these
 * and once for the losers.
 */
#include "conflict.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"

#define SEPARATOR "\x01"

/* What VPAs of one namespace, kind and name of a target have in common. */
struct target {
    size_t set; /* the one that `own` belongs to */
    const struct vpa_object *own;
    const struct vpa_object *foreign;
};

struct search {
    struct conflicts *conflicts;
    const struct vpa_candidate *foreign; /* ordered by namespace */
    size_t foreign_count;
    struct vpa_table targets;  /* namespace, kind, name -> struct target */
    struct target **target_of; /* by place; NULL: selects pods itself */
    size_t set;                /* counts label sets */
};

static bool selects_itself(const struct vpa_object *vpa)
{
    return !vpa->target_ref.present && vpa->has_selector;
}

static const struct vpa_object *stronger_of(const struct vpa_object *a, const struct vpa_object *b)
{
    if (!a || !b)
        return a ? a : b;
    return vpa_match_stronger(b, a) ? b : a;
}

/* The rival wins when it is the stronger one; NULL and the VPA itself are not. */
static void contest(struct conflicts *conflicts, const struct vpa_autoscaler *v,
                    const struct vpa_object *rival)
{
    const struct vpa_object **winner = &conflicts->winners[vpa_autoscaler_place(v)];

    if (rival && vpa_match_stronger(rival, vpa_autoscaler_object(v)))
        *winner = stronger_of(*winner, rival);
}

/* ---- VPAs of this recommender ---- */

static struct target *target_of(const struct search *s, const struct vpa_autoscaler *v)
{
    return s->target_of[vpa_autoscaler_place(v)];
}

static void compare_own(struct search *s, struct vpa_autoscaler *const *vpas, size_t count)
{
    const struct vpa_object *any = NULL, *selecting = NULL;

    s->set++;
    for (size_t i = 0; i < count; i++) {
        const struct vpa_object *vpa = vpa_autoscaler_object(vpas[i]);
        struct target *target = target_of(s, vpas[i]);

        any = stronger_of(any, vpa);
        if (!target) {
            selecting = stronger_of(selecting, vpa);
            continue;
        }
        target->own = target->set == s->set ? stronger_of(target->own, vpa) : vpa;
        target->set = s->set;
    }
    for (size_t i = 0; i < count; i++) {
        const struct target *target = target_of(s, vpas[i]);

        contest(s->conflicts, vpas[i], target ? stronger_of(selecting, target->own) : any);
    }
}

/* ---- VPAs of other recommenders ---- */

static size_t first_of_namespace(const struct search *s, const char *ns)
{
    size_t low = 0, high = s->foreign_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(s->foreign[middle].vpa->meta.ns, ns) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool takes(const struct vpa_candidate *f, const struct vpa_labels *labels)
{
    return f->selector && vpa_selector_matches(f->selector, labels);
}

/* The strongest foreign VPAs that match the labels: *selecting of those that select pods
 * themselves; *any of all, asked for where an own one does. */
static void find_foreign(const struct search *s, const char *ns, const struct vpa_labels *labels,
                         const struct vpa_object **selecting, const struct vpa_object **any)
{
    for (size_t i = first_of_namespace(s, ns); i < s->foreign_count; i++) {
        const struct vpa_candidate *f = &s->foreign[i];
        bool selects = selects_itself(f->vpa);

        if (strcmp(f->vpa->meta.ns, ns) != 0)
            return;
        if (any && stronger_of(*any, f->vpa) != *any && takes(f, labels))
            *any = f->vpa;
        if (selects && stronger_of(*selecting, f->vpa) != *selecting && takes(f, labels))
            *selecting = f->vpa;
    }
}

static void compare_foreign(struct search *s, const struct vpa_labels *labels,
                            struct vpa_autoscaler *const *vpas, size_t count)
{
    const struct vpa_object *selecting = NULL, *any = NULL;
    bool own_selects = false;

    for (size_t i = 0; i < count && !own_selects; i++)
        own_selects = target_of(s, vpas[i]) == NULL;
    find_foreign(s, vpa_autoscaler_ns(vpas[0]), labels, &selecting, own_selects ? &any : NULL);
    for (size_t i = 0; i < count; i++)
        contest(s->conflicts, vpas[i], target_of(s, vpas[i]) ? selecting : any);
}

static void on_set(void *ctx, const struct vpa_labels *labels, struct vpa_autoscaler *const *vpas,
                   size_t count)
{
    struct search *s = ctx;

    compare_own(s, vpas, count);
    if (s->foreign_count > 0)
        compare_foreign(s, labels, vpas, count);
}

/* ---- targets ---- */

static char *target_key(const struct vpa_object *vpa)
{
    return vpa_xprintf("%s" SEPARATOR "%s" SEPARATOR "%s", vpa->meta.ns, vpa->target_ref.kind,
                       vpa->target_ref.name);
}

static struct target *find_target(struct search *s, const struct vpa_object *vpa, bool make)
{
    vpa_auto_free char *key = target_key(vpa);
    struct vpa_arena *arena = &s->conflicts->arena;
    struct target *target = vpa_table_find(&s->targets, key);

    if (!target && make) {
        target = vpa_arena_zalloc(arena, sizeof(*target));
        vpa_table_put(&s->targets, vpa_arena_strdup(arena, key), target);
    }
    return target;
}

static void index_targets(struct search *s, struct vpa_autoscaler *const *vpas, size_t count)
{
    s->target_of = vpa_arena_zalloc(&s->conflicts->arena, (count + 1) * sizeof(*s->target_of));
    for (size_t i = 0; i < count; i++) {
        const struct vpa_object *vpa = vpa_autoscaler_object(vpas[i]);

        if (!selects_itself(vpa))
            s->target_of[i] = find_target(s, vpa, true);
    }
    for (size_t i = 0; i < s->foreign_count; i++) {
        const struct vpa_object *vpa = s->foreign[i].vpa;
        struct target *target = vpa->target_ref.present ? find_target(s, vpa, false) : NULL;

        if (target)
            target->foreign = stronger_of(target->foreign, vpa);
    }
}

/* Equal targets are rivals wherever there are pods, whether or not the foreign selector is known.
 */
static void compare_target(struct search *s, const struct vpa_autoscaler *v)
{
    const struct target *target = target_of(s, v);

    if (target && target->foreign && vpa_autoscaler_pod_count(v) > 0)
        contest(s->conflicts, v, target->foreign);
}

void conflicts_find(struct conflicts *conflicts, struct vpa_cluster *cluster,
                    const struct vpa_candidate *foreign, size_t foreign_count)
{
    struct search s = {.conflicts = conflicts, .foreign = foreign, .foreign_count = foreign_count};
    size_t count;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(cluster, &count);

    *conflicts = (struct conflicts){.count = count};
    conflicts->winners =
        vpa_arena_zalloc(&conflicts->arena, (count + 1) * sizeof(*conflicts->winners));
    index_targets(&s, vpas, count);
    vpa_cluster_visit_overlaps(cluster, foreign_count > 0 ? 1 : 2, on_set, &s);
    for (size_t i = 0; i < count; i++)
        compare_target(&s, vpas[i]);
    vpa_table_release(&s.targets);
}

void conflicts_release(struct conflicts *conflicts)
{
    vpa_arena_release(&conflicts->arena);
}

const char *conflicts_message(const struct conflicts *conflicts, const struct vpa_autoscaler *v,
                              struct vpa_arena *arena)
{
    size_t place = vpa_autoscaler_place(v);
    const struct vpa_object *winner = place < conflicts->count ? conflicts->winners[place] : NULL;

    return winner ? vpa_arena_printf(arena, "Pods of this VPA are controlled by the older VPA %s",
                                     winner->meta.name)
                  : NULL;
}
