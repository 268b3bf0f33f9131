/*
 * How much CPU to reserve, by what it costs to be wrong (docs/algorithms.md, "plumb").
 *
 * Of all limits A the one is chosen at which the waste and the want of the remembered usage cost
 * least:
 *
 *     cost(A) = slack(A) + want_cost * unserved(A)
 *     slack(A)    = 1 - served(A) / A              of what is reserved, the share that is not used
 *     unserved(A) = 1 - served(A) / mean           of what is wanted, the share that is not there
 *     served(A)   = mean of min(usage, A)
 *
 * What is remembered is half the last hour or two and half the last days: two load histograms of
 * different half-lives, each counting in full. The largest value of the last hour holds; upwards
 * the target follows at once, downwards when it is worth 10 %.
 *
 *     struct vpa_plumb_cpu p;
 *     vpa_plumb_cpu_init(&p, &rule);
 *     vpa_plumb_cpu_add(&p, window, 0.25);
 *     vpa_plumb_cpu_advance(&p, now_window);      closes the windows before
 *     double cores = vpa_plumb_cpu_target(&p);    0 while nothing is known
 *     vpa_plumb_cpu_release(&p);
 *
 * Memory: two histograms and at most 13 values of the last hour: at most 2 * 8 * VPA_BUCKETS_MAX +
 * 16 * 16 bytes.
 */
#ifndef VPA_MODEL_PLUMB_CPU_H
#define VPA_MODEL_PLUMB_CPU_H

#include "vpa/model/load_histogram.h"
#include "vpa/model/recent_max.h"

struct vpa_plumb_cpu_rule {
    const struct vpa_buckets *buckets;
    double want_cost; /* what unserved usage costs, slack costing 1 */
};

struct vpa_plumb_cpu {
    struct vpa_plumb_cpu_rule rule;
    struct vpa_load_histogram recent;
    struct vpa_load_histogram steady;
    struct vpa_recent_max held;
    double target;
    int64_t window; /* the open one, when known */
    bool known;
};
void vpa_plumb_cpu_init(struct vpa_plumb_cpu *p, const struct vpa_plumb_cpu_rule *rule);
void vpa_plumb_cpu_release(struct vpa_plumb_cpu *p);
/* A sample of a window (window_signal.h); late ones count with the open window. */
void vpa_plumb_cpu_add(struct vpa_plumb_cpu *p, int64_t window, double cores);
void vpa_plumb_cpu_advance(struct vpa_plumb_cpu *p, int64_t window);
double vpa_plumb_cpu_target(const struct vpa_plumb_cpu *p);
/* What other learned of other replicas or times; the larger target holds. */
void vpa_plumb_cpu_merge(struct vpa_plumb_cpu *p, const struct vpa_plumb_cpu *other);

#endif
