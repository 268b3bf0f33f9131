#include "set_clock.h"

#include "vpa/base/log.h"

static void doubt(struct set_clock *c, vpa_duration by, int64_t monotonic)
{
    c->doubted = true;
    c->since = monotonic;
    VPA_WARN("The clock was set: nothing that was learned is thrown away for its age until it is "
             "as it was, or for a day",
             VPA_KV("seconds", by / VPA_SECOND));
}

static void believe(struct set_clock *c, vpa_time offset)
{
    c->known = true;
    c->doubted = false;
    c->offset = offset;
}

/* By what happened to the clock in the life of this process. */
static vpa_time own_time(struct set_clock *c, const struct vpa_loop *loop)
{
    int64_t monotonic = vpa_loop_monotonic(loop);
    vpa_time now = vpa_loop_now(loop), offset = now - monotonic;
    vpa_duration by = c->known ? vpa_time_sub(offset, c->offset) : 0;

    if (by > -SET_CLOCK_BY && by < SET_CLOCK_BY) {
        if (c->doubted)
            VPA_INFO("The clock is as it was");
        believe(c, offset);
        return now;
    }
    if (!c->doubted)
        doubt(c, by, monotonic);
    if (monotonic - c->since < SET_CLOCK_DOUBT)
        return by < 0 ? now : c->offset + monotonic;
    VPA_INFO("The clock has been as it is for a day, and is gone by");
    believe(c, offset);
    return now;
}

static bool agrees(vpa_duration ahead)
{
    return ahead != 0 && ahead > -SET_CLOCK_BY && ahead < SET_CLOCK_BY;
}

static void tell_ahead(struct set_clock *c, bool ahead, vpa_duration by)
{
    if (ahead && !c->ahead)
        VPA_WARN("The clock is ahead of the API server's, by which the age of what was learned is "
                 "told meanwhile",
                 VPA_KV("seconds", by / VPA_SECOND));
    else if (agrees(by) && (c->ahead || c->doubted))
        VPA_INFO("The clock agrees with the API server's");
    c->ahead = ahead;
}

vpa_time set_clock_now(struct set_clock *c, const struct vpa_loop *loop, vpa_duration ahead)
{
    vpa_time now = vpa_loop_now(loop);

    tell_ahead(c, ahead >= SET_CLOCK_BY, ahead);
    if (agrees(ahead))
        believe(c, now - vpa_loop_monotonic(loop));

    vpa_time own = own_time(c, loop);

    return c->ahead && now - ahead < own ? now - ahead : own;
}

vpa_time set_clock_of_server(const struct vpa_loop *loop, vpa_duration ahead)
{
    vpa_time now = vpa_loop_now(loop);

    return ahead == 0 || agrees(ahead) ? now : now - ahead;
}
