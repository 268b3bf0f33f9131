#include "conflict.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/policy/match.h"

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

static char *key_of(const struct vpa_autoscaler *v)
{
    return vpa_xprintf("%s" SEPARATOR "%s", vpa_autoscaler_ns(v), vpa_autoscaler_name(v));
}

static void note(struct conflicts *conflicts, const struct vpa_autoscaler *loser,
                 struct vpa_autoscaler *winner)
{
    vpa_auto_free char *key = key_of(loser);
    struct vpa_autoscaler *known = vpa_table_find(&conflicts->winners, key);

    if (known && !vpa_match_stronger(vpa_autoscaler_object(winner), vpa_autoscaler_object(known)))
        return;
    vpa_table_put(&conflicts->winners, vpa_arena_strdup(&conflicts->arena, key), winner);
}

static void on_overlap(void *ctx, struct vpa_autoscaler *const *vpas, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++) {
            const struct vpa_object *a = vpa_autoscaler_object(vpas[i]);
            const struct vpa_object *b = vpa_autoscaler_object(vpas[k]);

            if (!are_rivals(a, b))
                continue;
            if (vpa_match_stronger(a, b))
                note(ctx, vpas[k], vpas[i]);
            else
                note(ctx, vpas[i], vpas[k]);
        }
}

void conflicts_find(struct conflicts *conflicts, struct vpa_cluster *cluster)
{
    *conflicts = (struct conflicts){0};
    vpa_cluster_visit_overlaps(cluster, on_overlap, conflicts);
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

    vpa_auto_free char *key = key_of(v);
    const struct vpa_autoscaler *winner = vpa_table_find(&conflicts->winners, key);
    return winner ? vpa_arena_printf(arena, "Pods of this VPA are controlled by the older VPA %s",
                                     vpa_autoscaler_name(winner))
                  : NULL;
}
