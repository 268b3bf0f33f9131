/* A clock that stands still, behind the functions of struct vpa_clock, with which it begins. */
#include "manual_clock.h"

#include "vpa/base/mem.h"

struct manual_clock {
    struct vpa_clock base;
    vpa_time start;
    int64_t elapsed; /* atomic: other threads may ask while it is advanced */
};

static vpa_time manual_now(const struct vpa_clock *clock)
{
    const struct manual_clock *manual = (const struct manual_clock *)clock;

    return vpa_time_add(manual->start, __atomic_load_n(&manual->elapsed, __ATOMIC_RELAXED));
}

static int64_t manual_monotonic(const struct vpa_clock *clock)
{
    return __atomic_load_n(&((const struct manual_clock *)clock)->elapsed, __ATOMIC_RELAXED);
}

static int64_t manual_wait(const struct vpa_clock *clock, vpa_duration duration)
{
    (void)clock;
    (void)duration;
    return 0;
}

static void manual_advance(struct vpa_clock *clock, vpa_duration d)
{
    struct manual_clock *manual = (struct manual_clock *)clock;
    int64_t elapsed = manual_monotonic(clock);

    if (d <= 0)
        return;
    if (__builtin_add_overflow(elapsed, d, &elapsed))
        elapsed = INT64_MAX;
    __atomic_store_n(&manual->elapsed, elapsed, __ATOMIC_RELAXED);
}

struct vpa_clock *vpa_clock_new_manual(vpa_time start)
{
    struct manual_clock *manual = vpa_xcalloc(1, sizeof(*manual));

    manual->base = (struct vpa_clock){.now = manual_now,
                                      .monotonic = manual_monotonic,
                                      .real_wait = manual_wait,
                                      .advance = manual_advance};
    manual->start = start;
    return &manual->base;
}

void vpa_clock_advance(struct vpa_clock *clock, vpa_duration d)
{
    clock->advance(clock, d);
}

void vpa_clock_set(struct vpa_clock *clock, vpa_duration forward)
{
    ((struct manual_clock *)clock)->start += forward;
}
