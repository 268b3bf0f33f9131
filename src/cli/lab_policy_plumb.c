/*
 * Plumb's own policy (model/plumb_cpu.h, model/plumb_memory.h) on one container. As with the other
 * policies CPU comes in unrounded.
 */
#include <math.h>

#include "lab_policy_ops.h"
#include "vpa/base/mem.h"
#include "vpa/model/plumb.h"
#include "vpa/model/window_signal.h"

struct plumb_run {
    struct vpa_plumb_options options;
    struct vpa_plumb_cpu cpu;
    struct vpa_plumb_memory memory;
};

static void *create(const void *config, int64_t interval_seconds)
{
    const struct lab_plumb_config *c = config;
    struct plumb_run *r = vpa_xcalloc(1, sizeof(*r));

    (void)interval_seconds;
    vpa_plumb_options_init(&r->options, c->risk);
    vpa_plumb_cpu_init(&r->cpu, &r->options.cpu);
    vpa_plumb_memory_init(&r->memory, &r->options.memory);
    return r;
}

static void destroy(void *state)
{
    struct plumb_run *r = state;

    vpa_plumb_cpu_release(&r->cpu);
    vpa_plumb_memory_release(&r->memory);
    vpa_free_indirect(&r);
}

static void cpu(void *state, int64_t window, double cores)
{
    struct plumb_run *r = state;

    vpa_plumb_cpu_add(&r->cpu, window, cores);
}

static void memory(void *state, int64_t window, double peak, bool oom)
{
    struct plumb_run *r = state;

    if (oom)
        vpa_plumb_memory_oom(&r->memory, window, peak);
    else
        vpa_plumb_memory_add(&r->memory, window, peak);
}

static void close_window(void *state, int64_t window)
{
    struct plumb_run *r = state;

    vpa_plumb_cpu_advance(&r->cpu, window + VPA_WINDOW_SECONDS);
    vpa_plumb_memory_advance(&r->memory, window + VPA_WINDOW_SECONDS);
}

static void answer(void *state, int64_t second, struct lab_allocation *out)
{
    struct plumb_run *r = state;
    double cores = vpa_plumb_cpu_target(&r->cpu);
    double bytes = vpa_plumb_memory_target(&r->memory, second);

    if (cores > 0.0)
        out->cpu = cores;
    if (bytes > 0.0)
        out->memory = bytes;
}

const struct lab_policy_ops lab_plumb_ops = {
    .create = create,
    .destroy = destroy,
    .cpu = cpu,
    .memory = memory,
    .close = close_window,
    .answer = answer,
};
