#include "lab_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/math.h"
#include "vpa/base/mem.h"
#include "vpa/model/measure.h"

#define LEAST_DAY_SECONDS (6 * 3600)

/* Linear between the neighbours, as most tools have it. Sorts the values. */
static double percentile(double *values, size_t count, double p)
{
    qsort(values, count, sizeof(*values), vpa_double_compare);
    double place = p * (double)(count - 1);
    size_t below = (size_t)place;
    double next = below + 1 < count ? values[below + 1] : values[below];

    return values[below] + (place - (double)below) * (next - values[below]);
}

/* ---- one trace ---- */

/* What of a trace is scored: windows with a limit and a usage. */
struct scored {
    size_t count;
    int64_t *day; /* since the first scored window of the trace */
    double *limit;
    double *usage; /* CPU: the mean of the window */
};

static void scored_release(struct scored *s)
{
    free(s->day);
    free(s->limit);
    free(s->usage);
}

static void scored_init(struct scored *s, const struct lab_trace *t)
{
    *s = (struct scored){
        .day = vpa_xcalloc(t->windows + 1, sizeof(*s->day)),
        .limit = vpa_xcalloc(t->windows + 1, sizeof(*s->limit)),
        .usage = vpa_xcalloc(t->windows + 1, sizeof(*s->usage)),
    };
}

static void scored_add(struct scored *s, const struct lab_trace *t, size_t window, double limit,
                       double usage)
{
    size_t first = t->first < t->windows ? t->first : t->windows - 1;

    s->day[s->count] = (t->start[window] - t->start[first]) / LAB_DAY_SECONDS;
    s->limit[s->count] = limit;
    s->usage[s->count++] = usage;
}

/* Of the CPU samples of a window that has some. */
static double mean_usage(const struct lab_trace *t, size_t window)
{
    double sum = 0.0;

    for (size_t i = t->cpu_from[window]; i < t->cpu_from[window + 1]; i++)
        sum += t->cpu[i];
    return sum / (double)(t->cpu_from[window + 1] - t->cpu_from[window]);
}

static double scored_days(const struct scored *s)
{
    return (double)s->count * LAB_WINDOW_SECONDS / LAB_DAY_SECONDS;
}

static double changes_a_day(const struct scored *s)
{
    size_t changes = 0;

    for (size_t i = 1; i < s->count; i++)
        changes += vpa_measure_is_change(s->limit[i - 1], s->limit[i]) ? 1 : 0;
    return (double)changes / scored_days(s);
}

/* Slack of the windows first .. end - 1, which are one day; NaN when there are too few. The usage
 * is sorted in place. */
static double slack_of_day(const struct scored *s, size_t first, size_t end)
{
    double limit = 0.0;

    if ((end - first) * LAB_WINDOW_SECONDS < LEAST_DAY_SECONDS)
        return NAN;
    for (size_t i = first; i < end; i++)
        limit += s->limit[i];
    limit /= (double)(end - first);
    double usage = percentile(s->usage + first, end - first, 0.95);
    return limit > 0.0 ? (limit - usage) / limit : NAN;
}

static double day_slack(struct scored *s)
{
    double sum = 0.0;
    size_t days = 0;
    size_t end;

    for (size_t first = 0; first < s->count; first = end) {
        end = first;
        while (end < s->count && s->day[end] == s->day[first])
            end++;
        double slack = slack_of_day(s, first, end);
        sum += isnan(slack) ? 0.0 : slack;
        days += isnan(slack) ? 0 : 1;
    }
    return days ? sum / (double)days : NAN;
}

static void score_init(struct lab_score *out, const struct lab_trace *t)
{
    *out = (struct lab_score){.group = t->group};
    for (size_t f = 0; f < LAB_FIGURES; f++)
        out->figure[f] = NAN;
}

/* What both resources have. */
static void finish(struct lab_score *out, const struct vpa_measure *m, struct scored *s)
{
    out->days = scored_days(s);
    out->allocated = m->allocated;
    out->served = m->served;
    out->figure[LAB_SLACK] = vpa_measure_slack(m);
    out->figure[LAB_CHANGES] = changes_a_day(s);
    out->figure[LAB_DAY_SLACK] = day_slack(s); /* sorts: the last */
}

bool lab_score_cpu(const struct lab_trace *t, const double *limits, struct lab_score *out)
{
    __attribute__((cleanup(scored_release))) struct scored s;
    struct vpa_measure m = {0};

    score_init(out, t);
    scored_init(&s, t);
    for (size_t w = t->first; w < t->last; w++) {
        size_t count = t->cpu_from[w + 1] - t->cpu_from[w];
        if (!count || isnan(limits[w]))
            continue;
        vpa_measure_add(&m, limits[w], t->cpu + t->cpu_from[w], count);
        scored_add(&s, t, w, limits[w], mean_usage(t, w));
    }
    if (!s.count)
        return false;
    out->figure[LAB_UNSERVED] = vpa_measure_unserved(&m);
    out->figure[LAB_TIME_ABOVE] = vpa_measure_above(&m);
    finish(out, &m, &s);
    return true;
}

/* Days with an OOM and days there are; s is by time. */
static void count_days(const struct scored *s, struct lab_score *out)
{
    int64_t bad = -1;

    for (size_t i = 0; i < s->count; i++) {
        out->total_days += i == 0 || s->day[i] != s->day[i - 1] ? 1 : 0;
        if (!(s->usage[i] > s->limit[i]))
            continue;
        out->ooms++;
        out->bad_days += s->day[i] != bad ? 1 : 0;
        bad = s->day[i];
    }
}

bool lab_score_memory(const struct lab_trace *t, const double *limits, struct lab_score *out)
{
    __attribute__((cleanup(scored_release))) struct scored s;
    struct vpa_measure m = {0};

    score_init(out, t);
    scored_init(&s, t);
    for (size_t w = t->first; t->memory && w < t->last; w++) {
        if (isnan(t->memory[w]) || isnan(limits[w]))
            continue;
        vpa_measure_add(&m, limits[w], &t->memory[w], 1);
        scored_add(&s, t, w, limits[w], t->memory[w]);
    }
    if (!s.count)
        return false;
    count_days(&s, out);
    out->figure[LAB_OOMS_PER_DAY] = (double)out->ooms / scored_days(&s);
    out->figure[LAB_OOM_FREE] = 1.0 - (double)out->bad_days / (double)out->total_days;
    finish(out, &m, &s);
    return true;
}

/* ---- many ---- */

/* Scores by group, and where each group begins. */
struct groups {
    struct lab_score *scores;
    size_t *from; /* count + 1 */
    size_t count;
};

static int compare_groups(const void *a, const void *b)
{
    return strcmp(((const struct lab_score *)a)->group, ((const struct lab_score *)b)->group);
}

static void groups_init(struct groups *g, const struct lab_score *scores, size_t count)
{
    *g = (struct groups){
        .scores = vpa_xcalloc(count + 1, sizeof(*scores)),
        .from = vpa_xcalloc(count + 1, sizeof(*g->from)),
    };
    if (count)
        memcpy(g->scores, scores, count * sizeof(*scores));
    qsort(g->scores, count, sizeof(*scores), compare_groups);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(g->scores[i].group, g->scores[i - 1].group) != 0)
            g->from[g->count++] = i;
    g->from[g->count] = count;
}

static void groups_release(struct groups *g)
{
    free(g->scores);
    free(g->from);
}

struct mean {
    double sum;
    size_t count;
};

static void mean_add(struct mean *m, double value)
{
    if (isnan(value))
        return;
    m->sum += value;
    m->count++;
}

static double mean_of(const struct mean *m)
{
    return m->count ? m->sum / (double)m->count : NAN;
}

/* Mean of groups of each figure; random: every group draws its traces anew. */
static void means(const struct groups *g, struct vpa_random *random, double out[LAB_FIGURES])
{
    struct mean all[LAB_FIGURES] = {{0}};

    for (size_t i = 0; i < g->count; i++) {
        size_t size = g->from[i + 1] - g->from[i];
        struct mean group[LAB_FIGURES] = {{0}};
        for (size_t k = 0; k < size; k++) {
            size_t pick = random ? (size_t)(vpa_random_double(random) * (double)size) : k;
            for (size_t f = 0; f < LAB_FIGURES; f++)
                mean_add(&group[f], g->scores[g->from[i] + pick].figure[f]);
        }
        for (size_t f = 0; f < LAB_FIGURES; f++)
            mean_add(&all[f], mean_of(&group[f]));
    }
    for (size_t f = 0; f < LAB_FIGURES; f++)
        out[f] = mean_of(&all[f]);
}

static void intervals(const struct groups *g, size_t rounds, struct vpa_random *random,
                      struct lab_summary *out)
{
    vpa_auto_free double *drawn = vpa_xcalloc(rounds * LAB_FIGURES, sizeof(*drawn));

    for (size_t r = 0; r < rounds; r++) {
        double figure[LAB_FIGURES];
        means(g, random, figure);
        for (size_t f = 0; f < LAB_FIGURES; f++)
            drawn[f * rounds + r] = figure[f];
    }
    for (size_t f = 0; f < LAB_FIGURES; f++) {
        bool known = !isnan(out->figure[f]);
        out->low[f] = known ? percentile(drawn + f * rounds, rounds, 0.05) : NAN;
        out->high[f] = known ? percentile(drawn + f * rounds, rounds, 0.95) : NAN;
    }
}

void lab_summarise(const struct lab_score *scores, size_t count, size_t rounds,
                   struct vpa_random *random, struct lab_summary *out)
{
    __attribute__((cleanup(groups_release))) struct groups g;
    double allocated = 0.0;
    double served = 0.0;

    groups_init(&g, scores, count);
    *out = (struct lab_summary){.traces = count, .groups = g.count};
    for (size_t i = 0; i < count; i++) {
        allocated += scores[i].allocated;
        served += scores[i].served;
        out->days += scores[i].days;
        out->ooms += scores[i].ooms;
        out->bad_days += scores[i].bad_days;
        out->total_days += scores[i].total_days;
    }
    out->pooled_slack = allocated > 0.0 ? (allocated - served) / allocated : NAN;
    means(&g, NULL, out->figure);
    if (rounds && count)
        intervals(&g, rounds, random, out);
}
