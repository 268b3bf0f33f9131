/*
 * The losers of the pods that several VPAs match.
 *
 * A label set may be matched by thousands of VPAs, and thousands of label sets by the same VPAs, so
 * no pair is ever compared: VPAs of other recommenders are filed under a "key = value" that their
 * selectors demand, as the model does with its own, and a label set asks those under its own pairs.
 *
 * Of the VPAs that match a set, only the strongest count as winners: the strongest of all for a VPA
 * that selects pods itself; for one with a target the strongest with the same target, or of those
 * that select pods themselves. Each set is gone over twice, once for these and once for the losers.
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
    const struct vpa_candidate *foreign;
    size_t foreign_count;
    struct vpa_table selecting, targeting; /* foreign ones: namespace and pair -> struct bucket */
    struct vpa_table targets;              /* namespace, kind, name -> struct target */
    struct target **target_of;             /* by place; NULL: selects pods itself */
    size_t set;                            /* counts label sets */
    size_t tries_left;                     /* for the set in hand */
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

/* Those of one namespace whose selectors demand the same pair, or none, strongest first. */
struct bucket {
    size_t count;
    struct filed *first, *last;
    char key[];
};
struct filed {
    const struct vpa_candidate *candidate;
    struct filed *next;
};

/* Longer pairs are cut: the bucket then holds selectors of others, too. */
#define BUCKET_KEY_MAX 1024
/* Selectors that are tried on a label set beside the first one of each bucket. More than these are
 * needed only to keep the recommender busy. */
#define TRIES_MAX 100

/* value NULL: of those without a pair. */
static void bucket_key(struct vpa_buf *out, const char *ns, const char *key, const char *value)
{
    vpa_buf_clear(out);
    vpa_buf_puts(out, ns);
    if (value)
        vpa_buf_printf(out, "/%s=%s", key, value);
}

/* The pair that the fewest others demand. */
static void choose_bucket(const struct vpa_table *buckets, const struct vpa_candidate *f,
                          struct vpa_buf *best)
{
    vpa_auto_buf key = VPA_BUF(BUCKET_KEY_MAX);
    size_t best_size = SIZE_MAX;

    bucket_key(best, f->vpa->meta.ns, NULL, NULL);
    for (size_t i = 0; i < f->selector->count; i++) {
        const struct vpa_requirement *r = &f->selector->items[i];
        const char *value = vpa_requirement_value(r);

        if (!value)
            continue;
        bucket_key(&key, f->vpa->meta.ns, r->key, value);
        const struct bucket *bucket = vpa_table_find(buckets, vpa_buf_text(&key));
        size_t size = bucket ? bucket->count : 0;
        if (size >= best_size)
            continue;
        best_size = size;
        bucket_key(best, f->vpa->meta.ns, r->key, value);
    }
}

static void file_foreign(struct search *s, const struct vpa_candidate *f)
{
    vpa_auto_buf key = VPA_BUF(BUCKET_KEY_MAX);
    struct vpa_table *buckets = selects_itself(f->vpa) ? &s->selecting : &s->targeting;

    choose_bucket(buckets, f, &key);
    struct bucket *bucket = VPA_TABLE_MAKE(buckets, vpa_buf_text(&key), struct bucket, key);
    struct filed *filed = vpa_arena_zalloc(&s->conflicts->arena, sizeof(*filed));
    filed->candidate = f;
    if (bucket->last)
        bucket->last->next = filed;
    else
        bucket->first = filed;
    bucket->last = filed;
    bucket->count++;
}

static int strength_cmp(const void *a, const void *b)
{
    const struct vpa_candidate *x = *(const struct vpa_candidate *const *)a;
    const struct vpa_candidate *y = *(const struct vpa_candidate *const *)b;

    if (vpa_match_stronger(x->vpa, y->vpa))
        return -1;
    return vpa_match_stronger(y->vpa, x->vpa) ? 1 : 0;
}

static void index_foreign(struct search *s)
{
    vpa_auto_free const struct vpa_candidate **ordered =
        vpa_xcalloc(s->foreign_count + 1, sizeof(*ordered));

    for (size_t i = 0; i < s->foreign_count; i++)
        ordered[i] = &s->foreign[i];
    qsort(ordered, s->foreign_count, sizeof(*ordered), strength_cmp);
    for (size_t i = 0; i < s->foreign_count; i++)
        if (ordered[i]->selector)
            file_foreign(s, ordered[i]);
}

static bool may_try(struct search *s, const struct bucket *bucket, const struct filed *filed)
{
    if (filed != bucket->first && s->tries_left == 0)
        return false;
    s->tries_left -= filed != bucket->first;
    s->conflicts->comparisons++;
    return true;
}

/* The strongest one that matches the labels. */
static const struct vpa_object *first_in(struct search *s, const struct bucket *bucket,
                                         const struct vpa_labels *labels)
{
    const struct filed *filed = bucket ? bucket->first : NULL;

    for (; filed && may_try(s, bucket, filed); filed = filed->next)
        if (vpa_selector_matches(filed->candidate->selector, labels))
            return filed->candidate->vpa;
    return NULL;
}

static const struct vpa_object *find_foreign(struct search *s, const struct vpa_table *buckets,
                                             const char *ns, const struct vpa_labels *labels)
{
    vpa_auto_buf key = VPA_BUF(BUCKET_KEY_MAX);

    bucket_key(&key, ns, NULL, NULL);
    const struct vpa_object *best =
        first_in(s, vpa_table_find(buckets, vpa_buf_text(&key)), labels);
    for (size_t i = 0; i < labels->count; i++) {
        bucket_key(&key, ns, labels->items[i].key, labels->items[i].value);
        best = stronger_of(best, first_in(s, vpa_table_find(buckets, vpa_buf_text(&key)), labels));
    }
    return best;
}

static void compare_foreign(struct search *s, const struct vpa_labels *labels,
                            struct vpa_autoscaler *const *vpas, size_t count)
{
    const char *ns = vpa_autoscaler_ns(vpas[0]);
    const struct vpa_object *selecting, *any = NULL;
    bool own_selects = false;

    s->tries_left = TRIES_MAX;
    selecting = find_foreign(s, &s->selecting, ns, labels);
    for (size_t i = 0; i < count && !own_selects; i++)
        own_selects = target_of(s, vpas[i]) == NULL;
    if (own_selects)
        any = stronger_of(selecting, find_foreign(s, &s->targeting, ns, labels));
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
    index_foreign(&s);
    vpa_cluster_visit_overlaps(cluster, foreign_count > 0 ? 1 : 2, on_set, &s);
    for (size_t i = 0; i < count; i++)
        compare_target(&s, vpas[i]);
    vpa_table_release(&s.targets);
    VPA_TABLE_RELEASE(&s.selecting, free);
    VPA_TABLE_RELEASE(&s.targeting, free);
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
