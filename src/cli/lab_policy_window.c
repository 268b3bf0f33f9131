/*
 * Autopilot's moving windows (model/window_signal.h), with the paper's half-lives (12 h CPU, 48 h
 * memory) and what it leaves open: a margin of 15 %, a span of 7 days.
 */
#include <math.h>

#include "lab_policy_ops.h"
#include "vpa/base/mem.h"
#include "vpa/model/window_signal.h"

struct window_run {
    struct vpa_buckets cpu_buckets;
    struct vpa_buckets memory_buckets;
    struct vpa_window_signal cpu;
    struct vpa_window_signal memory;
    struct vpa_oom_floor floor;
    int64_t memory_end; /* of the newest window with memory */
};

static void *create(const void *config, int64_t interval_seconds)
{
    const struct lab_window_config *c = config;
    struct window_run *r = vpa_xcalloc(1, sizeof(*r));
    struct vpa_signal_rule rule = {
        .buckets = &r->cpu_buckets,
        .average = c->average,
        .percentile = c->cpu_percentile,
        .max_share = c->cpu_max_share,
        .half_life = 12 * VPA_HOUR,
        .span_seconds = 7 * 86400,
        .margin = 0.15,
        .hold_seconds = 3600,
    };

    (void)interval_seconds;
    vpa_buckets_init(&r->cpu_buckets, 0.001, 1000.0);
    vpa_buckets_init(&r->memory_buckets, 1048576.0, 1e12);
    vpa_window_signal_init(&r->cpu, &rule);
    rule.buckets = &r->memory_buckets;
    rule.average = false;
    rule.percentile = c->memory_percentile;
    rule.max_share = c->memory_max_share;
    rule.half_life = 48 * VPA_HOUR;
    vpa_window_signal_init(&r->memory, &rule);
    vpa_oom_floor_init(&r->floor);
    return r;
}

static void destroy(void *state)
{
    struct window_run *r = state;

    vpa_window_signal_release(&r->cpu);
    vpa_window_signal_release(&r->memory);
    vpa_free_indirect(&r);
}

static void cpu(void *state, int64_t window, double cores)
{
    struct window_run *r = state;

    vpa_window_signal_add(&r->cpu, window, cores);
}

/* Memory has windows of its own: one without memory does not count. */
static void memory(void *state, int64_t window, double peak, bool oom)
{
    struct window_run *r = state;

    if (oom)
        vpa_oom_floor_hit(&r->floor, window + VPA_WINDOW_SECONDS, peak);
    r->memory_end = window + VPA_WINDOW_SECONDS;
    vpa_window_signal_add(&r->memory, window, peak);
    vpa_window_signal_close(&r->memory, window);
}

static void close_window(void *state, int64_t window)
{
    struct window_run *r = state;

    vpa_window_signal_close(&r->cpu, window);
}

static void answer(void *state, int64_t second, struct lab_allocation *out)
{
    struct window_run *r = state;
    double floor = vpa_oom_floor_at(&r->floor, r->memory_end);
    double limit = vpa_window_signal_limit(&r->memory);

    (void)second;
    if (r->cpu.known)
        out->cpu = vpa_window_signal_limit(&r->cpu);
    if (r->memory.known)
        out->memory = limit > floor ? limit : floor;
}

const struct lab_policy_ops lab_window_ops = {
    .create = create,
    .destroy = destroy,
    .cpu = cpu,
    .memory = memory,
    .close = close_window,
    .answer = answer,
};
