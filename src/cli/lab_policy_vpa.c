/*
 * VPA's own algorithm on one container: the aggregate, the container's memory peaks and the
 * estimator are the recommender's. CPU goes into the histogram unrounded, because traces hold less
 * than a millicore and the Metrics API does not; samples that stand for more than a minute count as
 * one per minute in the confidence, as a recommender would have seen them.
 */
#include <math.h>

#include "lab_policy_ops.h"
#include "vpa/base/mem.h"
#include "vpa/model/container.h"
#include "vpa/model/estimator.h"
#include "vpa/model/window_signal.h"

#define SAMPLE_WEIGHT 0.1 /* of a CPU sample; upstream's constant */

struct vpa_run {
    struct vpa_aggregation aggregation;
    struct vpa_estimator estimator;
    struct vpa_aggregate aggregate;
    struct vpa_container_state container;
    struct vpa_amounts minimum;
};

void lab_vpa_estimator(const struct lab_vpa_config *c, struct vpa_estimator *out)
{
    vpa_estimator_init(out);
    out->percentile[VPA_TARGET][VPA_KIND_CPU] = c->percentile;
    out->percentile[VPA_TARGET][VPA_KIND_MEMORY] = c->percentile;
    if (c->no_minimum) {
        out->min_cpu_millicores = 0.0;
        out->min_memory_mb = 0.0;
    }
}

static void *create(const struct lab_policy *policy)
{
    const struct lab_vpa_config *c = policy->config;
    struct vpa_run *r = vpa_xcalloc(1, sizeof(*r));

    vpa_aggregation_init(&r->aggregation);
    lab_vpa_estimator(c, &r->estimator);
    r->minimum = vpa_estimator_minimum(&r->estimator, 1);
    vpa_aggregate_init(&r->aggregate, &r->aggregation, VPA_TIME_UNSET);
    vpa_container_state_init(&r->container);
    return r;
}

static void destroy(void *state)
{
    struct vpa_run *r = state;

    vpa_aggregate_release(&r->aggregate);
    vpa_aggregation_release(&r->aggregation);
    vpa_free_indirect(&r);
}

static void cpu(void *state, int64_t window, double cores)
{
    struct vpa_run *r = state;

    vpa_decay_add(&r->aggregate.cpu, cores, SAMPLE_WEIGHT, vpa_time_from_unix(window, 0));
}

static void memory(void *state, int64_t window, double peak, bool oom)
{
    struct vpa_run *r = state;
    vpa_amount bytes = vpa_amount_from_bytes(peak);

    vpa_container_add_memory(&r->container, &r->aggregate, vpa_time_from_unix(window, 0), bytes,
                             NULL);
    if (oom && vpa_container_record_oom(&r->container, &r->aggregate,
                                        vpa_time_from_unix(window + VPA_WINDOW_SECONDS - 1, 0),
                                        bytes, NULL, NULL) < 0)
        return; /* older than a day: it is not, it is of this window */
}

static void close_window(void *state, int64_t window)
{
    (void)state;
    (void)window;
}

static void answer(void *state, int64_t second, struct lab_allocation *out)
{
    struct vpa_run *r = state;
    struct vpa_history history = vpa_aggregate_history(&r->aggregate);
    struct vpa_estimate estimate;

    (void)second;
    vpa_estimator_estimate(&r->estimator, &history, &r->minimum, &estimate);
    const struct vpa_amounts *target = &estimate.bound[VPA_TARGET];
    if (!vpa_decay_is_empty(&r->aggregate.cpu))
        out->cpu = vpa_amount_to_cores(target->value[VPA_KIND_CPU]);
    if (!vpa_decay_is_empty(&r->aggregate.memory))
        out->memory = vpa_amount_to_bytes(target->value[VPA_KIND_MEMORY]);
}

const struct lab_policy_ops lab_vpa_ops = {
    .create = create,
    .destroy = destroy,
    .cpu = cpu,
    .memory = memory,
    .close = close_window,
    .answer = answer,
};
