#include "vpa/model/argmin.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/math.h"
#include "vpa/base/mem.h"
#include "vpa/model/window_signal.h"

static const vpa_duration half_lives[VPA_ARGMIN_DECAYS] = {VPA_HOUR, 6 * VPA_HOUR, 24 * VPA_HOUR,
                                                           72 * VPA_HOUR};

#define HOLD_SECONDS 3600

void vpa_argmin_preset(struct vpa_argmin_rule *rule, const struct vpa_buckets *buckets,
                       enum vpa_kind kind, bool distances)
{
    static const struct vpa_argmin_rule presets[VPA_KINDS] = {
        [VPA_KIND_CPU] = {.w_over = 20.0,
                          .w_change = 0.1,
                          .margin_count = 7,
                          .margins = {0, 1, 2, 3, 5, 8, 12}},
        [VPA_KIND_MEMORY] = {.w_over = 300.0,
                             .w_change = 0.2,
                             .margin_count = 4,
                             .margins = {2, 3, 5, 8}},
    };

    *rule = presets[kind];
    rule->buckets = buckets;
    rule->distances = distances;
    rule->w_under = 1.0;
    rule->w_model = 0.1;
    rule->smooth = 24 * VPA_HOUR;
    rule->hold_seconds = HOLD_SECONDS;
    if (distances && kind == VPA_KIND_CPU) {
        rule->w_over = 80.0;
        rule->w_change = 0.5;
    }
}

void vpa_argmin_init(struct vpa_argmin *a, const struct vpa_argmin_rule *rule)
{
    *a = (struct vpa_argmin){.rule = *rule, .first = rule->buckets->count};
    a->held.span = rule->hold_seconds;
}

void vpa_argmin_release(struct vpa_argmin *a)
{
    free(a->columns);
    vpa_recent_max_release(&a->held);
    *a = (struct vpa_argmin){.rule = a->rule};
}

/* ---- columns ---- */

/* Where the bucket is, or would be. */
static uint32_t place_of(const struct vpa_argmin *a, uint32_t bucket)
{
    return (uint32_t)VPA_LOWER_BOUND(i, a->column_count, a->columns[i].bucket < bucket);
}

struct vpa_argmin_column *vpa_argmin_column(struct vpa_argmin *a, uint32_t bucket)
{
    uint32_t at = place_of(a, bucket);

    a->first = bucket < a->first ? bucket : a->first;
    a->last = bucket > a->last ? bucket : a->last;
    if (at < a->column_count && a->columns[at].bucket == bucket)
        return &a->columns[at];
    VPA_GROW(a->columns, a->column_count, a->column_capacity);
    memmove(&a->columns[at + 1], &a->columns[at], (a->column_count - at) * sizeof(*a->columns));
    a->columns[at] = (struct vpa_argmin_column){.bucket = bucket};
    a->column_count++;
    return &a->columns[at];
}

void vpa_argmin_past(const struct vpa_argmin *a, size_t decay, double *shares)
{
    memset(shares, 0, a->rule.buckets->count * sizeof(*shares));
    for (uint32_t i = 0; i < a->column_count; i++)
        shares[a->columns[i].bucket] = a->columns[i].past[decay];
}

/* ---- windows ---- */

void vpa_argmin_add(struct vpa_argmin *a, double value)
{
    vpa_argmin_column(a, vpa_buckets_find(a->rule.buckets, value))->open += 1.0;
    a->open_count++;
}

/* What a window counts against what came before. */
static double share_of_window(vpa_duration half_life)
{
    return 1.0 - vpa_exp2(-(double)(VPA_WINDOW_SECONDS * VPA_SECOND) / (double)half_life);
}

static void remember(struct vpa_argmin *a, size_t decay)
{
    double d = share_of_window(half_lives[decay]);

    for (uint32_t i = 0; i < a->column_count; i++) {
        double *past = &a->columns[i].past[decay];
        double share = a->columns[i].open / a->open_count;
        *past = a->known ? (1.0 - d) * *past + d * share : share;
    }
}

/* There is no limit beyond the last bucket. */
static uint32_t with_margin(const struct vpa_argmin *a, uint32_t bucket, uint32_t margin)
{
    uint32_t highest = a->rule.buckets->count - 1;

    return bucket + margin < highest ? bucket + margin : highest;
}

/* The last bucket that a limit can be in. */
static uint32_t last_limit(const struct vpa_argmin *a)
{
    uint32_t most = 0;

    for (size_t m = 0; m < a->rule.margin_count; m++)
        most = a->rule.margins[m] > most ? a->rule.margins[m] : most;
    return with_margin(a, a->last, most);
}

/* Cost of each limit on one past, changes aside. */
static void weigh(const struct vpa_argmin *a, const double *past, double *cost)
{
    const double *ends = a->rule.buckets->ends;
    double total = 0.0, mean = 0.0, below = 0.0, load = 0.0;

    for (uint32_t i = a->first; i <= a->last; i++) {
        total += past[i];
        mean += past[i] * ends[i];
    }
    for (uint32_t i = a->first; i <= last_limit(a); i++) {
        double here = i <= a->last ? past[i] : 0.0;
        below += here;
        load += here * ends[i];
        double over = total - below;
        double under = below - here;
        if (a->rule.distances) {
            over = ((mean - load) - ends[i] * (total - below)) / mean;
            under = (ends[i] * below - load) / mean;
        }
        cost[i] = a->rule.w_over * over + a->rule.w_under * under;
    }
}

static uint32_t pick(const struct vpa_argmin *a, const double *cost, uint32_t before)
{
    uint32_t best = a->first;
    double least = 0.0;

    for (uint32_t i = a->first; i <= a->last; i++) {
        double c = cost[i] + (a->known && i != before ? a->rule.w_change : 0.0);
        if (i == a->first || c < least) {
            least = c;
            best = i;
        }
    }
    return best;
}

/* The models of one decay: their limits for the next window, and what their limits cost. */
static void run_models(struct vpa_argmin *a, size_t decay, const double *cost)
{
    double smooth = share_of_window(a->rule.smooth);

    for (size_t m = 0; m < a->rule.margin_count; m++) {
        struct vpa_argmin_model *model = &a->models[decay][m];
        uint32_t limit = with_margin(a, a->picks[decay], a->rule.margins[m]);
        double now = cost[limit] + (a->known && limit != model->limit ? a->rule.w_change : 0.0);
        model->cost = a->known ? smooth * now + (1.0 - smooth) * model->cost : now;
        model->limit = limit;
    }
}

static void choose_model(struct vpa_argmin *a)
{
    size_t best = 0;
    double least = 0.0;

    for (size_t i = 0; i < VPA_ARGMIN_DECAYS * a->rule.margin_count; i++) {
        const struct vpa_argmin_model *model =
            &a->models[i / a->rule.margin_count][i % a->rule.margin_count];
        double total = model->cost;
        if (a->known) {
            total += i != a->best ? a->rule.w_model : 0.0;
            total += model->limit != a->limit ? a->rule.w_change : 0.0;
        }
        if (i == 0 || total < least) {
            least = total;
            best = i;
        }
    }
    a->best = best;
    a->limit = a->models[best / a->rule.margin_count][best % a->rule.margin_count].limit;
}

double vpa_argmin_close(struct vpa_argmin *a, int64_t window)
{
    double past[VPA_BUCKETS_MAX], cost[VPA_BUCKETS_MAX];

    for (size_t k = 0; a->open_count && k < VPA_ARGMIN_DECAYS; k++) {
        remember(a, k);
        vpa_argmin_past(a, k, past);
        weigh(a, past, cost);
        a->picks[k] = pick(a, cost, a->picks[k]);
        run_models(a, k, cost);
    }
    if (a->open_count) {
        choose_model(a);
        for (uint32_t i = 0; i < a->column_count; i++)
            a->columns[i].open = 0.0;
        a->known = true;
        a->open_count = 0;
        a->closed += a->closed < INT64_MAX ? 1 : 0;
        a->last_window = window;
    }
    if (!a->known)
        return 0.0;
    vpa_recent_max_push(&a->held, window, a->rule.buckets->ends[a->limit]);
    return a->rule.buckets->ends[a->limit];
}

double vpa_argmin_limit(const struct vpa_argmin *a)
{
    return vpa_recent_max(&a->held);
}

/* ---- merging ---- */

/* What is left of a past after so many windows. */
static double left_after(int64_t windows, vpa_duration half_life)
{
    return vpa_exp2(-(double)windows * (double)(VPA_WINDOW_SECONDS * VPA_SECOND) /
                    (double)half_life);
}

/* How much of a memory of this half-life the windows of a fill, as of a later window: a new one
 * after an old one goes on where that one was, and two of the same time count alike. */
static double filled(const struct vpa_argmin *a, int64_t until, vpa_duration half_life)
{
    int64_t since = (until - a->last_window) / VPA_WINDOW_SECONDS;

    return (1.0 - left_after(a->closed, half_life)) * left_after(since, half_life);
}

/* The share of the other one in a mean of both. */
static double share_of_other(const struct vpa_argmin *a, const struct vpa_argmin *other,
                             vpa_duration half_life)
{
    int64_t until = a->last_window > other->last_window ? a->last_window : other->last_window;
    double mine = filled(a, until, half_life);
    double theirs = filled(other, until, half_life);

    return theirs / (mine + theirs); /* the newer one's is above nothing */
}

/* a has a column for each of other's. */
static void mix_pasts(struct vpa_argmin *a, const struct vpa_argmin *other)
{
    double theirs[VPA_BUCKETS_MAX];

    for (size_t k = 0; k < VPA_ARGMIN_DECAYS; k++) {
        double share = share_of_other(a, other, half_lives[k]);
        vpa_argmin_past(other, k, theirs);
        for (uint32_t i = 0; i < a->column_count; i++) {
            struct vpa_argmin_column *column = &a->columns[i];
            column->past[k] = (1.0 - share) * column->past[k] + share * theirs[column->bucket];
        }
    }
}

static void mix_costs(struct vpa_argmin *a, const struct vpa_argmin *other)
{
    double share = share_of_other(a, other, a->rule.smooth);

    for (size_t k = 0; k < VPA_ARGMIN_DECAYS; k++)
        for (size_t m = 0; m < a->rule.margin_count; m++)
            a->models[k][m].cost =
                (1.0 - share) * a->models[k][m].cost + share * other->models[k][m].cost;
}

static void take_limits(struct vpa_argmin *a, const struct vpa_argmin *other)
{
    for (size_t k = 0; k < VPA_ARGMIN_DECAYS; k++) {
        a->picks[k] = other->picks[k];
        for (size_t m = 0; m < a->rule.margin_count; m++)
            a->models[k][m].limit = other->models[k][m].limit;
    }
    a->best = other->best;
    a->limit = other->limit;
}

static bool is_ahead(const struct vpa_argmin *a, const struct vpa_argmin *other)
{
    if (a->last_window != other->last_window)
        return a->last_window > other->last_window;
    return a->limit >= other->limit;
}

static void merge_known(struct vpa_argmin *a, const struct vpa_argmin *other)
{
    bool together = a->last_window == other->last_window;
    int64_t most = a->closed > other->closed ? a->closed : other->closed;
    int64_t sum;

    if (__builtin_add_overflow(a->closed, other->closed, &sum))
        sum = INT64_MAX;
    mix_pasts(a, other);
    mix_costs(a, other);
    if (!is_ahead(a, other))
        take_limits(a, other);
    a->closed = together ? most : sum;
    if (other->last_window > a->last_window)
        a->last_window = other->last_window;
}

static void take_known(struct vpa_argmin *a, const struct vpa_argmin *other)
{
    for (uint32_t i = 0; i < other->column_count; i++)
        memcpy(vpa_argmin_column(a, other->columns[i].bucket)->past, other->columns[i].past,
               sizeof(other->columns[i].past));
    memcpy(a->models, other->models, sizeof(a->models));
    take_limits(a, other);
    a->known = true;
    a->closed = other->closed;
    a->last_window = other->last_window;
}

void vpa_argmin_merge(struct vpa_argmin *a, const struct vpa_argmin *other)
{
    for (uint32_t i = 0; i < other->column_count; i++)
        vpa_argmin_column(a, other->columns[i].bucket)->open += other->columns[i].open;
    a->open_count += other->open_count;
    a->first = other->first < a->first ? other->first : a->first;
    a->last = other->last > a->last ? other->last : a->last;
    vpa_recent_max_merge(&a->held, &other->held);
    if (other->known && a->known)
        merge_known(a, other);
    else if (other->known)
        take_known(a, other);
}
