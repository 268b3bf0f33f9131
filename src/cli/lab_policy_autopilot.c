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

#include "lab_policy_ops.h"
#include "vpa/base/mem.h"
#include "vpa/model/argmin.h"
#include "vpa/model/window_signal.h"

#define HOLD_SECONDS 3600

struct common {
    struct vpa_buckets buckets;
    struct vpa_oom_floor floor;
    int64_t end;   /* of the newest window with a value */
    bool sparse;   /* windows without a value do not count */
    bool has_some; /* the open window does */
};

static void init_common(struct common *c, enum vpa_kind kind)
{
    c->sparse = kind == VPA_KIND_MEMORY;
    if (kind == VPA_KIND_CPU)
        vpa_buckets_init(&c->buckets, 0.001, 1000.0);
    else
        vpa_buckets_init(&c->buckets, 1048576.0, 1e12);
    vpa_oom_floor_init(&c->floor);
}

static void note_value(struct common *c, int64_t window)
{
    c->end = window + VPA_WINDOW_SECONDS;
    c->has_some = true;
}

/* False: the window is as if it had not been. */
static bool counts(struct common *c)
{
    bool some = c->has_some;

    c->has_some = false;
    return some || !c->sparse;
}

static double above_floor(const struct common *c, double limit)
{
    double floor = vpa_oom_floor_at(&c->floor, c->end);

    return limit > floor ? limit : floor;
}

/* ---- moving windows ---- */

struct window_learner {
    struct common common;
    struct vpa_window_signal signal;
};

static void *window_create(const void *config, enum vpa_kind kind)
{
    const struct lab_window_config *c = config;
    struct window_learner *l = vpa_xcalloc(1, sizeof(*l));
    bool cpu = kind == VPA_KIND_CPU;

    init_common(&l->common, kind);
    vpa_window_signal_init(&l->signal, &(struct vpa_signal_rule){
                                           .buckets = &l->common.buckets,
                                           .average = cpu && c->average,
                                           .percentile = c->percentile[kind],
                                           .max_share = c->max_share[kind],
                                           .half_life = (cpu ? 12 : 48) * VPA_HOUR,
                                           .span_seconds = 7 * 86400,
                                           .margin = 0.15,
                                           .hold_seconds = HOLD_SECONDS,
                                       });
    return l;
}

static void window_destroy(void *learner)
{
    struct window_learner *l = learner;

    vpa_window_signal_release(&l->signal);
    free(l);
}

static void window_add(void *learner, int64_t window, double value)
{
    struct window_learner *l = learner;

    note_value(&l->common, window);
    vpa_window_signal_add(&l->signal, window, value);
}

static void window_kill(void *learner, int64_t window, double limit)
{
    struct window_learner *l = learner;

    vpa_oom_floor_hit(&l->common.floor, window + VPA_WINDOW_SECONDS, limit);
    window_add(l, window, limit);
}

static void window_close(void *learner, int64_t window)
{
    struct window_learner *l = learner;

    if (counts(&l->common))
        vpa_window_signal_close(&l->signal, window);
}

static double window_limit(void *learner, int64_t second)
{
    struct window_learner *l = learner;

    (void)second;
    return l->signal.known ? above_floor(&l->common, vpa_window_signal_limit(&l->signal)) : NAN;
}

const struct lab_learner_ops lab_window_learner = {
    .create = window_create,
    .destroy = window_destroy,
    .add = window_add,
    .kill = window_kill,
    .close = window_close,
    .limit = window_limit,
};

/* ---- the arg-min over models ---- */

struct argmin_learner {
    struct common common;
    struct vpa_argmin argmin;
};

static void *argmin_create(const void *config, enum vpa_kind kind)
{
    const struct lab_argmin_config *c = config;
    struct argmin_learner *l = vpa_xcalloc(1, sizeof(*l));
    struct vpa_argmin_rule rule;

    init_common(&l->common, kind);
    vpa_argmin_preset(&rule, &l->common.buckets, kind, c->distances);
    vpa_argmin_init(&l->argmin, &rule);
    return l;
}

static void argmin_destroy(void *learner)
{
    struct argmin_learner *l = learner;

    vpa_argmin_release(&l->argmin);
    free(l);
}

static void argmin_add(void *learner, int64_t window, double value)
{
    struct argmin_learner *l = learner;

    note_value(&l->common, window);
    vpa_argmin_add(&l->argmin, value);
}

/* The demand was at least what is granted now. */
static void argmin_kill(void *learner, int64_t window, double limit)
{
    struct argmin_learner *l = learner;

    vpa_oom_floor_hit(&l->common.floor, window + VPA_WINDOW_SECONDS, limit);
    argmin_add(l, window, l->common.floor.value);
}

static void argmin_close(void *learner, int64_t window)
{
    struct argmin_learner *l = learner;

    if (counts(&l->common))
        vpa_argmin_close(&l->argmin, window);
}

static double argmin_limit(void *learner, int64_t second)
{
    struct argmin_learner *l = learner;

    (void)second;
    return l->argmin.known ? above_floor(&l->common, vpa_argmin_limit(&l->argmin)) : NAN;
}

const struct lab_learner_ops lab_argmin_learner = {
    .create = argmin_create,
    .destroy = argmin_destroy,
    .add = argmin_add,
    .kill = argmin_kill,
    .close = argmin_close,
    .limit = argmin_limit,
};
