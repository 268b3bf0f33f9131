/*
 * Memory is not shared as CPU is: what does not fit is killed. So the target follows peaks, not
 * percentiles, and the question is by how much the next peak may pass those that were seen.
 *
 * - Small containers vary by megabytes, large ones by per cent: a connection more, a larger
 *   garbage. Their sum, over independent parts, varies with the root of the size; so does the
 *   second term of the margin, which is 30 % of 30 MiB and 3 % of 3 GiB.
 * - Growth goes on: a container that is larger than a day ago by some amount may well rise by half
 *   of that again before anybody acts.
 * - The young have shown little. VPA's minimum of 250 MiB protects them, and wastes it on the small
 *   ones for good. Here it ends with the second day, and is no more than three times what was used.
 *
 * All values are rounded up to buckets, the largest of the last six hours holds, and the target is
 * lowered only when that saves 10 %: memory changes about once a day.
 */
#include "vpa/model/plumb_memory.h"

#include <math.h>

#include "vpa/base/math.h"
#include "vpa/model/window_signal.h"

#define MIB 1048576.0
#define DAY 86400
#define HOUR 3600
#define HOLD_SECONDS (6 * HOUR)
#define LOWER_BY 0.10
#define RISE_SHARE 0.5
#define HEADROOM_SIZE (100 * MIB) /* at which the headroom is as the rule says */
#define YOUNG_BYTES (250 * MIB)   /* upstream's minimum */
#define YOUNG_TIMES 3.0
#define YOUNG_SECONDS (36.0 * HOUR)
#define YOUNG_HALF_LIFE (6.0 * HOUR)
#define BUMP_LEAST (10 * MIB)
/* One more step for who was killed with the bump: others, be it ten replicas at once, were killed
 * by what it is for. */
static const double bumps[VPA_PLUMB_KILLS_MAX] = {1.2, 1.5, 2.0};

void vpa_plumb_memory_init(struct vpa_plumb_memory *p, const struct vpa_plumb_memory_rule *rule)
{
    *p = (struct vpa_plumb_memory){
        .rule = *rule,
        .peaks = {.span = rule->span_seconds},
        .day = {.span = DAY},
        .held = {.span = HOLD_SECONDS},
    };
}

void vpa_plumb_memory_release(struct vpa_plumb_memory *p)
{
    vpa_recent_max_release(&p->peaks);
    vpa_recent_max_release(&p->day);
    vpa_recent_max_release(&p->held);
}

/* By how much the last day's peak is above that of the day before; remembers it for tomorrow. */
static double rise(struct vpa_plumb_memory *p)
{
    int64_t hour = p->window / HOUR;
    size_t place = (size_t)(hour % VPA_PLUMB_HOURS);
    size_t before = (size_t)((hour - 24) % VPA_PLUMB_HOURS);
    double peak = vpa_recent_max(&p->day);

    if (hour < 24)
        return 0.0;
    if (p->days[place].hour != hour) {
        p->days[place].hour = hour;
        p->days[place].peak = peak;
    }
    if (p->days[before].hour != hour - 24 || p->days[before].peak <= 0.0)
        return 0.0;
    return peak > p->days[before].peak ? peak - p->days[before].peak : 0.0;
}

static double young(const struct vpa_plumb_memory *p, double peak)
{
    double age = (double)(p->window + VPA_WINDOW_SECONDS - p->born) - YOUNG_SECONDS;
    double headroom = peak * YOUNG_TIMES < YOUNG_BYTES ? peak * YOUNG_TIMES : YOUNG_BYTES;

    return age > 0.0 ? headroom * vpa_exp2(-age / YOUNG_HALF_LIFE) : headroom;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double wanted(struct vpa_plumb_memory *p)
{
    double peak = vpa_recent_max(&p->peaks);
    double with_margin =
        peak * (1.0 + p->rule.margin) + p->rule.headroom * sqrt(peak / HEADROOM_SIZE);
    double grown = vpa_recent_max(&p->day) + RISE_SHARE * rise(p);

    return vpa_buckets_round_up(p->rule.buckets,
                                larger(larger(with_margin, grown), young(p, peak)));
}

static void close_window(struct vpa_plumb_memory *p)
{
    double peak = vpa_buckets_round_up(p->rule.buckets, p->open_peak);

    vpa_recent_max_push(&p->peaks, p->window, peak);
    vpa_recent_max_push(&p->day, p->window, peak);
    vpa_recent_max_push(&p->held, p->window, wanted(p));
    double held = vpa_recent_max(&p->held);
    if (held > p->target || held < p->target * (1.0 - LOWER_BY))
        p->target = held;
    p->has_peak = false;
    p->open_peak = 0.0;
}

void vpa_plumb_memory_advance(struct vpa_plumb_memory *p, int64_t window)
{
    if (!p->known || window <= p->window)
        return;
    if (p->has_peak)
        close_window(p);
    p->window = window;
}

void vpa_plumb_memory_add(struct vpa_plumb_memory *p, int64_t window, double bytes)
{
    vpa_plumb_memory_advance(p, window);
    if (!p->known) {
        p->window = window;
        p->born = window;
    }
    p->known = true;
    p->has_peak = true;
    p->open_peak = larger(p->open_peak, bytes);
}

void vpa_plumb_memory_oom(struct vpa_plumb_memory *p, int64_t window, double limit)
{
    vpa_plumb_memory_add(p, window, limit); /* as much was in use */
    int64_t now = p->window + VPA_WINDOW_SECONDS;
    bool again = now < p->bump_until;
    /* A bucket less is the same: requests are rounded, and not only upwards. */
    bool had_bump = again && limit * VPA_BUCKETS_RATIO >= p->bump;

    if (!again)
        p->kills = 1;
    else if (had_bump && p->kills < VPA_PLUMB_KILLS_MAX)
        p->kills++;
    double bump = larger(limit * bumps[p->kills - 1], limit + BUMP_LEAST);
    p->bump = again ? larger(bump, p->bump) : bump;
    p->bump_until = now + DAY;
}

double vpa_plumb_memory_target(const struct vpa_plumb_memory *p, int64_t second)
{
    return second < p->bump_until ? larger(p->target, p->bump) : p->target;
}

/* Of two bumps; one that was over when the other came is forgotten. */
static void merge_bump(struct vpa_plumb_memory *p, const struct vpa_plumb_memory *other)
{
    int64_t until = p->bump_until > other->bump_until ? p->bump_until : other->bump_until;
    unsigned mine = p->bump_until > until - DAY ? p->kills : 0;
    unsigned theirs = other->bump_until > until - DAY ? other->kills : 0;

    p->bump = larger(mine ? p->bump : 0.0, theirs ? other->bump : 0.0);
    p->kills = mine > theirs ? mine : theirs;
    p->bump_until = until;
}

void vpa_plumb_memory_merge(struct vpa_plumb_memory *p, const struct vpa_plumb_memory *other)
{
    if (!other->known)
        return;
    vpa_recent_max_merge(&p->peaks, &other->peaks);
    vpa_recent_max_merge(&p->day, &other->day);
    vpa_recent_max_merge(&p->held, &other->held);
    for (size_t i = 0; i < VPA_PLUMB_HOURS; i++) {
        if (other->days[i].hour > p->days[i].hour)
            p->days[i] = other->days[i];
        else if (other->days[i].hour == p->days[i].hour)
            p->days[i].peak = larger(p->days[i].peak, other->days[i].peak);
    }
    p->born = p->known && p->born < other->born ? p->born : other->born;
    p->window = p->known && p->window > other->window ? p->window : other->window;
    p->open_peak = larger(p->open_peak, other->open_peak);
    p->has_peak = p->has_peak || other->has_peak;
    p->known = true;
    p->target = larger(p->target, other->target);
    merge_bump(p, other);
}
