/*
 * Measures of an allocation against a trace, and their means. Let A be what is in force in a window
 * and u what was used (CPU: every sample, a window weighing the same however many it has; memory:
 * the peak), sums over the scored windows:
 *
 *     slack          (sum A - sum min(u, A)) / sum A
 *     pooled slack   the same with the sums over all traces
 *     day slack      Autopilot's: per day of six hours and more (L - U) / L with L the mean
 *                    allocation and U the 95th percentile of the windows' means; mean over days
 *     unserved       CPU: sum max(0, u - A) / sum u
 *     time above     CPU: share of the samples above A
 *     OOMs           memory: windows with a peak above A
 *     bad days       days (from the first scored window) with an OOM, of the days there are
 *     changes        windows whose A differs from the window before, per scored day
 *
 * Means are taken over the traces of a group, then over groups, so that no source counts more
 * because it has more traces.
 */
#ifndef CLI_LAB_MEASURE_H
#define CLI_LAB_MEASURE_H

#include "lab_trace.h"
#include "vpa/base/random.h"

enum lab_figure {
    LAB_SLACK,
    LAB_DAY_SLACK,
    LAB_UNSERVED, /* CPU only, as the next */
    LAB_TIME_ABOVE,
    LAB_OOMS_PER_DAY, /* memory only, as the next */
    LAB_OOM_FREE,     /* 1 - bad days / days */
    LAB_CHANGES,
    LAB_FIGURES,
};

struct lab_score {
    const char *group;
    double figure[LAB_FIGURES]; /* NaN: cannot be told */
    double allocated;
    double served;
    double days;
    size_t ooms;
    size_t bad_days;
    size_t total_days;
};
/* limits: in force during each window, NaN unknown. False: nothing can be scored. */
bool lab_score_cpu(const struct lab_trace *t, const double *limits, struct lab_score *out);
bool lab_score_memory(const struct lab_trace *t, const double *limits, struct lab_score *out);

struct lab_summary {
    double figure[LAB_FIGURES];
    double low[LAB_FIGURES]; /* 90 % interval: traces drawn anew within their groups */
    double high[LAB_FIGURES];
    double pooled_slack;
    double days;
    size_t traces;
    size_t groups;
    size_t ooms;
    size_t bad_days;
    size_t total_days;
};
/* rounds of drawing, 0: no intervals. The random numbers are the caller's: equal seeds give equal
 * intervals. */
void lab_summarise(const struct lab_score *scores, size_t count, size_t rounds,
                   struct vpa_random *random, struct lab_summary *out);

#endif
