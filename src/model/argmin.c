#include "vpa/model/argmin.h"

#include <stdlib.h>

#include "vpa/base/math.h"
#include "vpa/base/mem.h"
#include "vpa/model/window_signal.h"

static const vpa_duration half_lives[VPA_ARGMIN_DECAYS] = {VPA_HOUR, 6 * VPA_HOUR, 24 * VPA_HOUR,
                                                           72 * VPA_HOUR};

void vpa_argmin_init(struct vpa_argmin *a, const struct vpa_argmin_rule *rule)
{
    *a = (struct vpa_argmin){.rule = *rule, .first = rule->buckets->count};
    a->past = vpa_xcalloc((size_t)VPA_ARGMIN_DECAYS * rule->buckets->count, sizeof(*a->past));
    a->open = vpa_xcalloc(rule->buckets->count, sizeof(*a->open));
}

void vpa_argmin_release(struct vpa_argmin *a)
{
    free(a->past);
    free(a->open);
    *a = (struct vpa_argmin){.rule = a->rule};
}

void vpa_argmin_add(struct vpa_argmin *a, double value)
{
    uint32_t bucket = vpa_buckets_find(a->rule.buckets, value);

    a->open[bucket] += 1.0;
    a->open_count++;
    a->first = bucket < a->first ? bucket : a->first;
    a->last = bucket > a->last ? bucket : a->last;
}

/* What a window counts against what came before. */
static double share_of_window(vpa_duration half_life)
{
    return 1.0 - vpa_exp2(-(double)(VPA_WINDOW_SECONDS * VPA_SECOND) / (double)half_life);
}

static void remember(struct vpa_argmin *a, double *past, vpa_duration half_life)
{
    double d = share_of_window(half_life);

    for (uint32_t i = a->first; i <= a->last; i++) {
        double share = a->open[i] / a->open_count;
        past[i] = a->known ? (1.0 - d) * past[i] + d * share : share;
    }
}

/* The last bucket that a limit can be in. */
static uint32_t last_limit(const struct vpa_argmin *a)
{
    uint32_t most = 0;

    for (size_t m = 0; m < a->rule.margin_count; m++)
        most = a->rule.margins[m] > most ? a->rule.margins[m] : most;
    return a->last + most < a->rule.buckets->count ? a->last + most : a->rule.buckets->count - 1;
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
        uint32_t limit = a->picks[decay] + a->rule.margins[m];
        if (limit >= a->rule.buckets->count)
            limit = a->rule.buckets->count - 1;
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

double vpa_argmin_close(struct vpa_argmin *a)
{
    double cost[VPA_BUCKETS_MAX];

    for (size_t k = 0; a->open_count && k < VPA_ARGMIN_DECAYS; k++) {
        double *past = a->past + k * a->rule.buckets->count;
        remember(a, past, half_lives[k]);
        weigh(a, past, cost);
        a->picks[k] = pick(a, cost, a->picks[k]);
        run_models(a, k, cost);
    }
    if (a->open_count) {
        choose_model(a);
        for (uint32_t i = a->first; i <= a->last; i++)
            a->open[i] = 0.0;
        a->known = true;
        a->open_count = 0;
    }
    return a->known ? a->rule.buckets->ends[a->limit] : 0.0;
}
