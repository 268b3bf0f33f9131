#include "conflict.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"

#define SEPARATOR "\x01"

static bool selects_itself(const struct vpa_object *vpa)
{
    return !vpa->target_ref.present && vpa->has_selector;
}

static bool are_rivals(const struct vpa_object *a, const struct vpa_object *b)
{
    if (selects_itself(a) || selects_itself(b))
        return true;
    return strcmp(a->target_ref.kind, b->target_ref.kind) == 0 &&
           strcmp(a->target_ref.name, b->target_ref.name) == 0;
}

static char *key_of(const struct vpa_object *vpa)
{
    return vpa_xprintf("%s" SEPARATOR "%s", vpa->meta.ns, vpa->meta.name);
}

static void note(struct conflicts *conflicts, const struct vpa_object *loser,
                 const struct vpa_object *winner)
{
    vpa_auto_free char *key = key_of(loser);
    const struct vpa_object *known = vpa_table_find(&conflicts->winners, key);

    if (known && !vpa_match_stronger(winner, known))
        return;
    vpa_table_put(&conflicts->winners, vpa_arena_strdup(&conflicts->arena, key), (void *)winner);
}

/* ---- VPAs of this recommender ---- */

static void compare_own(struct conflicts *conflicts, struct vpa_autoscaler *const *vpas,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++) {
            const struct vpa_object *a = vpa_autoscaler_object(vpas[i]);
            const struct vpa_object *b = vpa_autoscaler_object(vpas[k]);

            if (!are_rivals(a, b))
                continue;
            if (vpa_match_stronger(a, b))
                note(conflicts, b, a);
            else
                note(conflicts, a, b);
        }
}

/* ---- VPAs of other recommenders ---- */

struct search {
    struct conflicts *conflicts;
    const struct vpa_candidate *foreign; /* ordered by namespace */
    size_t foreign_count;
    struct vpa_table targets; /* namespace, kind, name -> strongest foreign vpa_object */
};

static char *target_key(const struct vpa_object *vpa)
{
    return vpa_xprintf("%s" SEPARATOR "%s" SEPARATOR "%s", vpa->meta.ns, vpa->target_ref.kind,
                       vpa->target_ref.name);
}

/* Equal targets are found through a table: there may be as many foreign VPAs as own ones. */
static void index_targets(struct search *s)
{
    for (size_t i = 0; i < s->foreign_count; i++) {
        const struct vpa_object *vpa = s->foreign[i].vpa;

        if (!vpa->target_ref.present)
            continue;
        vpa_auto_free char *key = target_key(vpa);
        const struct vpa_object *known = vpa_table_find(&s->targets, key);

        if (!known || vpa_match_stronger(vpa, known))
            vpa_table_put(&s->targets, vpa_arena_strdup(&s->conflicts->arena, key), (void *)vpa);
    }
}

static void compare_target(struct search *s, const struct vpa_autoscaler *v)
{
    const struct vpa_object *vpa = vpa_autoscaler_object(v);

    if (!vpa->target_ref.present || vpa_autoscaler_pod_count(v) == 0)
        return;
    vpa_auto_free char *key = target_key(vpa);
    const struct vpa_object *rival = vpa_table_find(&s->targets, key);

    if (rival && vpa_match_stronger(rival, vpa))
        note(s->conflicts, vpa, rival);
}

/* A foreign VPA that matches the pods of a set of own ones. */
static void compare_set(struct search *s, const struct vpa_object *foreign,
                        struct vpa_autoscaler *const *vpas, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct vpa_object *own = vpa_autoscaler_object(vpas[i]);

        if ((selects_itself(own) || selects_itself(foreign)) && vpa_match_stronger(foreign, own))
            note(s->conflicts, own, foreign);
    }
}

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

static bool any_selects_itself(struct vpa_autoscaler *const *vpas, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (selects_itself(vpa_autoscaler_object(vpas[i])))
            return true;
    return false;
}

static void compare_selectors(struct search *s, const struct vpa_labels *labels,
                              struct vpa_autoscaler *const *vpas, size_t count)
{
    const char *ns = vpa_autoscaler_ns(vpas[0]);
    bool selecting = any_selects_itself(vpas, count);

    for (size_t i = first_of_namespace(s, ns); i < s->foreign_count; i++) {
        const struct vpa_candidate *f = &s->foreign[i];

        if (strcmp(f->vpa->meta.ns, ns) != 0)
            return;
        if ((selecting || selects_itself(f->vpa)) && f->selector &&
            vpa_selector_matches(f->selector, labels))
            compare_set(s, f->vpa, vpas, count);
    }
}

static void on_overlap(void *ctx, const struct vpa_labels *labels,
                       struct vpa_autoscaler *const *vpas, size_t count)
{
    struct search *s = ctx;

    compare_own(s->conflicts, vpas, count);
    if (s->foreign_count > 0)
        compare_selectors(s, labels, vpas, count);
}

void conflicts_find(struct conflicts *conflicts, struct vpa_cluster *cluster,
                    const struct vpa_candidate *foreign, size_t foreign_count)
{
    struct search s = {.conflicts = conflicts, .foreign = foreign, .foreign_count = foreign_count};
    size_t count;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(cluster, &count);

    *conflicts = (struct conflicts){0};
    vpa_cluster_visit_overlaps(cluster, foreign_count > 0 ? 1 : 2, on_overlap, &s);
    index_targets(&s);
    for (size_t i = 0; i < count && s.targets.count > 0; i++)
        compare_target(&s, vpas[i]);
    vpa_table_release(&s.targets);
}

void conflicts_release(struct conflicts *conflicts)
{
    vpa_table_release(&conflicts->winners);
    vpa_arena_release(&conflicts->arena);
}

const char *conflicts_message(const struct conflicts *conflicts, const struct vpa_autoscaler *v,
                              struct vpa_arena *arena)
{
    if (conflicts->winners.count == 0)
        return NULL;

    vpa_auto_free char *key = key_of(vpa_autoscaler_object(v));
    const struct vpa_object *winner = vpa_table_find(&conflicts->winners, key);
    return winner ? vpa_arena_printf(arena, "Pods of this VPA are controlled by the older VPA %s",
                                     winner->meta.name)
                  : NULL;
}
