/*
 * Autopilot's two recommenders on one resource, unrounded: moving windows (model/window_signal.h)
 * with the paper's half-lives (12 h CPU, 48 h memory) and what it leaves open, a margin of 15 % and
 * a span of 7 days; and the arg-min over models (model/argmin.h).
 *
 * Memory has windows of its own: one without memory does not count. After a kill at a limit the
 * answer is not below a floor for a day.
 */
#include <math.h>
#include <stdlib.h>

#include "../model/autopilot.h"
#include "lab_policy_ops.h"
#include "vpa/base/mem.h"
#include "vpa/model/argmin.h"
#include "vpa/model/window_signal.h"

#define HOLD_SECONDS 3600

struct learner {
    struct vpa_buckets buckets;
    struct vpa_oom_floor floor;
    int64_t end;   /* of the newest window with a value */
    bool sparse;   /* windows without a value do not count */
    bool has_some; /* the open window does */
    const struct vpa_autopilot_signal *ops;
    union {
        struct vpa_window_signal windows;
        struct vpa_argmin ensemble;
    } signal;
    const bool *known; /* of the signal */
};

static struct learner *make(enum vpa_kind kind, const struct vpa_autopilot_signal *ops)
{
    struct learner *l = vpa_xcalloc(1, sizeof(*l));

    l->ops = ops;
    l->sparse = kind == VPA_KIND_MEMORY;
    if (kind == VPA_KIND_CPU)
        vpa_buckets_init(&l->buckets, 0.001, 1000.0);
    else
        vpa_buckets_init(&l->buckets, 1048576.0, 1e12);
    vpa_oom_floor_init(&l->floor);
    return l;
}

static void *make_windows(const void *config, enum vpa_kind kind)
{
    const struct lab_window_config *c = config;
    struct learner *l = make(kind, &vpa_autopilot_windows);
    bool cpu = kind == VPA_KIND_CPU;

    vpa_window_signal_init(&l->signal.windows, &(struct vpa_signal_rule){
                                                   .buckets = &l->buckets,
                                                   .average = cpu && c->average,
                                                   .percentile = c->percentile[kind],
                                                   .max_share = c->max_share[kind],
                                                   .half_life = (cpu ? 12 : 48) * VPA_HOUR,
                                                   .span_seconds = 7 * 86400,
                                                   .margin = 0.15,
                                                   .hold_seconds = HOLD_SECONDS,
                                               });
    l->known = &l->signal.windows.known;
    return l;
}

static void *make_ensemble(const void *config, enum vpa_kind kind)
{
    const struct lab_argmin_config *c = config;
    struct learner *l = make(kind, &vpa_autopilot_ensemble);
    struct vpa_argmin_rule rule;

    vpa_argmin_preset(&rule, &l->buckets, kind, c->distances);
    vpa_argmin_init(&l->signal.ensemble, &rule);
    l->known = &l->signal.ensemble.known;
    return l;
}

static void destroy(void *learner)
{
    struct learner *l = learner;

    l->ops->release(&l->signal);
    free(l);
}

static void add(void *learner, int64_t window, double value)
{
    struct learner *l = learner;

    l->end = window + VPA_WINDOW_SECONDS;
    l->has_some = true;
    l->ops->add(&l->signal, window, value);
}

static void add_kill(void *learner, int64_t window, double limit)
{
    struct learner *l = learner;

    vpa_oom_floor_hit(&l->floor, window + VPA_WINDOW_SECONDS, limit);
    add(l, window, l->ops->learns_floor ? l->floor.value : limit);
}

static void close_window(void *learner, int64_t window)
{
    struct learner *l = learner;

    if (l->has_some || !l->sparse)
        l->ops->close(&l->signal, window);
    l->has_some = false;
}

static double limit_of(void *learner, int64_t second)
{
    const struct learner *l = learner;

    (void)second;
    return *l->known ? fmax(l->ops->limit(&l->signal), vpa_oom_floor_at(&l->floor, l->end)) : NAN;
}

#define AROUND_A_SIGNAL                                                                            \
    .destroy = destroy, .add = add, .kill = add_kill, .close = close_window, .limit = limit_of
const struct lab_learner_ops lab_window_learner = {.create = make_windows, AROUND_A_SIGNAL};
const struct lab_learner_ops lab_argmin_learner = {.create = make_ensemble, AROUND_A_SIGNAL};
