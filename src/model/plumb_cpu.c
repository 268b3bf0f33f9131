/*
 * Slack and unserved demand are what a CPU request is judged by, so the request is what makes their
 * weighted sum least on the past. The price of want is the one parameter. It does by itself what a
 * percentile has to be tuned for: a smooth service gets a limit little above its usage, because the
 * last per cent of it costs nothing to serve; a spiky one is given its spikes as long as the load
 * in them is worth the reserve that stands idle between them, and no longer.
 *
 * The past is two histograms, because a load that has just risen must be served now, and what comes
 * every day must not be forgotten overnight. Each counts as a whole: the short one sees the last
 * hours only, however long the container runs.
 *
 * cost(A) has several minima when the usage has several levels; between two nearly equal ones it
 * could jump to and fro. The maximum of the last hour and the threshold for lowering stop that:
 * raising is urgent, lowering is not.
 */
#include "vpa/model/plumb_cpu.h"

#include "vpa/model/window_signal.h"

#define RECENT_HALF_LIFE VPA_HOUR
#define STEADY_HALF_LIFE (24 * VPA_HOUR)
#define STEADY_SHARE 0.6
#define HOLD_SECONDS 3600
#define LOWER_BY 0.10 /* share of the target that a lower one must save */

void vpa_plumb_cpu_init(struct vpa_plumb_cpu *p, const struct vpa_plumb_cpu_rule *rule)
{
    *p = (struct vpa_plumb_cpu){.rule = *rule, .held = {.span = HOLD_SECONDS}};
    vpa_load_histogram_init(&p->recent, rule->buckets, RECENT_HALF_LIFE);
    vpa_load_histogram_init(&p->steady, rule->buckets, STEADY_HALF_LIFE);
}

void vpa_plumb_cpu_release(struct vpa_plumb_cpu *p)
{
    vpa_load_histogram_release(&p->recent);
    vpa_load_histogram_release(&p->steady);
    vpa_recent_max_release(&p->held);
}

/* What is remembered: the share of the time in each bucket. */
struct past {
    double weight[VPA_BUCKETS_MAX];
    uint32_t first, last; /* buckets that hold something */
    double mean;
};

static void mix(struct past *past, const struct vpa_load_histogram *h, double share)
{
    double total = 0.0;

    for (uint32_t i = 0; i < h->span; i++)
        total += h->weights[i];
    for (uint32_t i = 0; i < h->span; i++) {
        double weight = h->weights[i] * (share / total);
        uint32_t bucket = h->base + i;
        if (weight <= 0.0)
            continue;
        past->weight[bucket] += weight;
        past->mean += weight * h->buckets->ends[bucket];
        past->first = bucket < past->first ? bucket : past->first;
        past->last = bucket > past->last ? bucket : past->last;
    }
}

static double cheapest(const struct vpa_plumb_cpu *p)
{
    const double *ends = p->rule.buckets->ends;
    struct past past = {.first = VPA_BUCKETS_MAX};
    double time_below = 0.0;
    double load_below = 0.0;
    double least_cost = 0.0;
    uint32_t best = 0;

    mix(&past, &p->recent, 1.0 - STEADY_SHARE);
    mix(&past, &p->steady, STEADY_SHARE);
    for (uint32_t i = past.first; i <= past.last; i++) {
        time_below += past.weight[i];
        load_below += past.weight[i] * ends[i];
        double served = load_below + (1.0 - time_below) * ends[i];
        double unserved = served < past.mean ? 1.0 - served / past.mean : 0.0;
        double cost = 1.0 - served / ends[i] + p->rule.want_cost * unserved;
        if (i == past.first || cost < least_cost) {
            least_cost = cost;
            best = i;
        }
    }
    return ends[best];
}

static void close_window(struct vpa_plumb_cpu *p)
{
    vpa_recent_max_push(&p->held, p->window, cheapest(p));
    double wanted = vpa_recent_max(&p->held);
    if (wanted > p->target || wanted < p->target * (1.0 - LOWER_BY))
        p->target = wanted;
}

void vpa_plumb_cpu_advance(struct vpa_plumb_cpu *p, int64_t window)
{
    if (!p->known || window <= p->window)
        return;
    close_window(p);
    p->window = window;
}

void vpa_plumb_cpu_add(struct vpa_plumb_cpu *p, int64_t window, double cores)
{
    vpa_time t;

    vpa_plumb_cpu_advance(p, window);
    if (!p->known)
        p->window = window;
    p->known = true;
    t = vpa_time_from_unix(p->window, 0);
    vpa_load_histogram_add(&p->recent, cores, 1.0, t);
    vpa_load_histogram_add(&p->steady, cores, 1.0, t);
}

double vpa_plumb_cpu_target(const struct vpa_plumb_cpu *p)
{
    return p->target;
}

void vpa_plumb_cpu_merge(struct vpa_plumb_cpu *p, const struct vpa_plumb_cpu *other)
{
    vpa_load_histogram_merge(&p->recent, &other->recent);
    vpa_load_histogram_merge(&p->steady, &other->steady);
    vpa_recent_max_merge(&p->held, &other->held);
    if (other->known)
        p->window = p->known && p->window > other->window ? p->window : other->window;
    p->known = p->known || other->known;
    p->target = p->target > other->target ? p->target : other->target;
}
