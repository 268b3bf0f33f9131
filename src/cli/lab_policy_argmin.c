/*
 * Autopilot's recommender of recommenders (model/argmin.h), the largest value of the last hour
 * holding. The weights are not the paper's, which has none, but those of the judge that the
 * laboratory is compared with (test/lab/agree.py).
 */
#include <math.h>

#include "lab_policy_ops.h"
#include "vpa/base/mem.h"
#include "vpa/model/argmin.h"
#include "vpa/model/window_signal.h"

#define HOLD_SECONDS 3600

struct argmin_run {
    struct vpa_buckets cpu_buckets;
    struct vpa_buckets memory_buckets;
    struct vpa_argmin cpu;
    struct vpa_argmin memory;
    struct vpa_recent_max cpu_held;
    struct vpa_recent_max memory_held;
    struct vpa_oom_floor floor;
    int64_t memory_end;
};

static void *create(const void *config, int64_t interval_seconds)
{
    const struct lab_argmin_config *c = config;
    struct argmin_run *r = vpa_xcalloc(1, sizeof(*r));

    (void)interval_seconds;
    vpa_buckets_init(&r->cpu_buckets, 0.001, 1000.0);
    vpa_buckets_init(&r->memory_buckets, 1048576.0, 1e12);
    vpa_argmin_init(&r->cpu, &(struct vpa_argmin_rule){.buckets = &r->cpu_buckets,
                                                       .w_over = c->cpu_over,
                                                       .w_under = 1.0,
                                                       .w_change = c->cpu_change,
                                                       .w_model = 0.1,
                                                       .smooth = 24 * VPA_HOUR,
                                                       .distances = c->distances,
                                                       .margin_count = 7,
                                                       .margins = {0, 1, 2, 3, 5, 8, 12}});
    vpa_argmin_init(&r->memory, &(struct vpa_argmin_rule){.buckets = &r->memory_buckets,
                                                          .w_over = 300.0,
                                                          .w_under = 1.0,
                                                          .w_change = 0.2,
                                                          .w_model = 0.1,
                                                          .smooth = 24 * VPA_HOUR,
                                                          .distances = c->distances,
                                                          .margin_count = 4,
                                                          .margins = {2, 3, 5, 8}});
    r->cpu_held.span = HOLD_SECONDS;
    r->memory_held.span = HOLD_SECONDS;
    vpa_oom_floor_init(&r->floor);
    return r;
}

static void destroy(void *state)
{
    struct argmin_run *r = state;

    vpa_argmin_release(&r->cpu);
    vpa_argmin_release(&r->memory);
    vpa_recent_max_release(&r->cpu_held);
    vpa_recent_max_release(&r->memory_held);
    vpa_free_indirect(&r);
}

static void cpu(void *state, int64_t window, double cores)
{
    struct argmin_run *r = state;

    (void)window;
    vpa_argmin_add(&r->cpu, cores);
}

/* After a kill the demand was at least what is granted now. */
static void memory(void *state, int64_t window, double peak, bool oom)
{
    struct argmin_run *r = state;

    r->memory_end = window + VPA_WINDOW_SECONDS;
    if (oom)
        vpa_oom_floor_hit(&r->floor, r->memory_end, peak);
    vpa_argmin_add(&r->memory, oom ? r->floor.value : peak);
    vpa_recent_max_push(&r->memory_held, window, vpa_argmin_close(&r->memory));
}

static void close_window(void *state, int64_t window)
{
    struct argmin_run *r = state;
    double limit = vpa_argmin_close(&r->cpu);

    if (limit > 0.0)
        vpa_recent_max_push(&r->cpu_held, window, limit);
}

static void answer(void *state, int64_t second, struct lab_allocation *out)
{
    struct argmin_run *r = state;
    double floor = vpa_oom_floor_at(&r->floor, r->memory_end);
    double limit = vpa_recent_max(&r->memory_held);

    (void)second;
    if (r->cpu_held.count)
        out->cpu = vpa_recent_max(&r->cpu_held);
    if (r->memory_held.count)
        out->memory = limit > floor ? limit : floor;
}

const struct lab_policy_ops lab_argmin_ops = {
    .create = create,
    .destroy = destroy,
    .cpu = cpu,
    .memory = memory,
    .close = close_window,
    .answer = answer,
};
