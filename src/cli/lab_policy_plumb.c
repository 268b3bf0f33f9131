/*
 * Plumb's own policy (model/plumb_cpu.h, model/plumb_memory.h) on one container. As with the other
 * policies CPU comes in unrounded.
 */
#include <math.h>
#include <stdlib.h>

#include "lab_policy_ops.h"
#include "vpa/base/mem.h"
#include "vpa/model/plumb.h"
#include "vpa/model/window_signal.h"

/* Of one resource: the other part stays as it was made. */
struct plumb_learner {
    enum vpa_kind kind;
    struct vpa_plumb_options options;
    struct vpa_plumb_cpu cpu;
    struct vpa_plumb_memory memory;
};

static void *create(const void *config, enum vpa_kind kind)
{
    const struct lab_plumb_config *c = config;
    struct plumb_learner *l = vpa_xcalloc(1, sizeof(*l));

    l->kind = kind;
    vpa_plumb_options_init(&l->options, c->risk);
    vpa_plumb_cpu_init(&l->cpu, &l->options.cpu);
    vpa_plumb_memory_init(&l->memory, &l->options.memory);
    return l;
}

static void destroy(void *learner)
{
    struct plumb_learner *l = learner;

    vpa_plumb_cpu_release(&l->cpu);
    vpa_plumb_memory_release(&l->memory);
    free(l);
}

static void add(void *learner, int64_t window, double value)
{
    struct plumb_learner *l = learner;

    if (l->kind == VPA_KIND_CPU)
        vpa_plumb_cpu_add(&l->cpu, window, value);
    else
        vpa_plumb_memory_add(&l->memory, window, value);
}

static void kill_at(void *learner, int64_t window, double limit)
{
    struct plumb_learner *l = learner;

    vpa_plumb_memory_oom(&l->memory, window, limit);
}

static void close_window(void *learner, int64_t window)
{
    struct plumb_learner *l = learner;

    if (l->kind == VPA_KIND_CPU)
        vpa_plumb_cpu_advance(&l->cpu, window + VPA_WINDOW_SECONDS);
    else
        vpa_plumb_memory_advance(&l->memory, window + VPA_WINDOW_SECONDS);
}

static double limit_at(void *learner, int64_t second)
{
    struct plumb_learner *l = learner;
    double limit = l->kind == VPA_KIND_CPU ? vpa_plumb_cpu_target(&l->cpu)
                                           : vpa_plumb_memory_target(&l->memory, second);

    return limit > 0.0 ? limit : NAN;
}

const struct lab_learner_ops lab_plumb_learner = {
    .create = create,
    .destroy = destroy,
    .add = add,
    .kill = kill_at,
    .close = close_window,
    .limit = limit_at,
};
