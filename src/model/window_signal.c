#include "vpa/model/window_signal.h"

#include "vpa/base/math.h"

#define MIB 1048576.0
#define NEXT_TO_NOTHING 1e-9 /* a mean of 0: a limit of 0 says that nothing is known */

int64_t vpa_window_of(vpa_time t)
{
    int64_t second = (int64_t)(t / VPA_SECOND) - (t % VPA_SECOND < 0);
    int64_t rest = second % VPA_WINDOW_SECONDS;

    return second - rest - (rest < 0 ? VPA_WINDOW_SECONDS : 0);
}

void vpa_window_signal_init(struct vpa_window_signal *s, const struct vpa_signal_rule *rule)
{
    *s = (struct vpa_window_signal){
        .rule = *rule,
        .top = {.span = rule->span_seconds},
        .held = {.span = rule->hold_seconds},
    };
    vpa_load_histogram_init(&s->histogram, rule->buckets, rule->half_life);
}

void vpa_window_signal_release(struct vpa_window_signal *s)
{
    vpa_load_histogram_release(&s->histogram);
    vpa_recent_max_release(&s->top);
    vpa_recent_max_release(&s->held);
}

void vpa_window_signal_add(struct vpa_window_signal *s, int64_t window, double value)
{
    vpa_load_histogram_add(&s->histogram, value, 1.0, vpa_time_from_unix(window, 0));
    s->open_sum += value;
    s->open_peak = s->open_count && s->open_peak > value ? s->open_peak : value;
    s->open_count++;
    s->known = true;
}

/* The mean of the window enters the average; what was before weighs less by now. */
static void average(struct vpa_window_signal *s, int64_t window)
{
    double half_life = (double)s->rule.half_life / (double)VPA_SECOND;
    /* A stored state may say that its average is of later: nothing grows by ageing. */
    int64_t behind = s->last_window < window ? s->last_window - window : 0;
    double aged =
        s->total_weight > 0.0 ? s->total_weight * vpa_exp2((double)behind / half_life) : 0.0;

    s->total_weight = aged + 1.0;
    s->average += (s->open_sum / s->open_count - s->average) / s->total_weight;
}

static double statistic(const struct vpa_window_signal *s)
{
    double value = 0.0;

    if (s->rule.average && s->total_weight > 0.0)
        value = s->average > NEXT_TO_NOTHING ? s->average : NEXT_TO_NOTHING;
    else if (s->rule.percentile > 0.0)
        value = vpa_load_histogram_percentile(&s->histogram, s->rule.percentile);
    double least = s->rule.max_share * vpa_recent_max(&s->top);
    return value > least ? value : least;
}

void vpa_window_signal_close(struct vpa_window_signal *s, int64_t window)
{
    if (!s->known)
        return;
    if (s->open_count) {
        average(s, window);
        s->last_window = window;
        vpa_recent_max_push(&s->top, window, vpa_buckets_round_up(s->rule.buckets, s->open_peak));
    }
    vpa_recent_max_age(&s->top, window);
    s->open_sum = 0.0;
    s->open_peak = 0.0;
    s->open_count = 0;
    vpa_recent_max_push(&s->held, window, statistic(s) * (1.0 + s->rule.margin));
}

/* Averages weigh by what is behind them, the older aged to the time of the newer. */
static void merge_average(struct vpa_window_signal *s, const struct vpa_window_signal *other)
{
    double half_life = (double)s->rule.half_life / (double)VPA_SECOND;
    int64_t newest = s->last_window > other->last_window ? s->last_window : other->last_window;
    double mine = s->total_weight * vpa_exp2((double)(s->last_window - newest) / half_life);
    double theirs =
        other->total_weight * vpa_exp2((double)(other->last_window - newest) / half_life);

    if (mine + theirs > 0.0)
        s->average = (s->average * mine + other->average * theirs) / (mine + theirs);
    s->total_weight = mine + theirs;
    s->last_window = newest;
}

void vpa_window_signal_merge(struct vpa_window_signal *s, const struct vpa_window_signal *other)
{
    vpa_load_histogram_merge(&s->histogram, &other->histogram);
    vpa_recent_max_merge(&s->top, &other->top);
    vpa_recent_max_merge(&s->held, &other->held);
    merge_average(s, other);
    s->open_peak = s->open_peak > other->open_peak ? s->open_peak : other->open_peak;
    s->open_sum += other->open_sum;
    s->open_count += other->open_count;
    s->known = s->known || other->known;
}

double vpa_window_signal_limit(const struct vpa_window_signal *s)
{
    return vpa_recent_max(&s->held);
}

void vpa_oom_floor_init(struct vpa_oom_floor *f)
{
    *f = (struct vpa_oom_floor){.ratio = 1.2, .minimum = 10 * MIB, .keep_seconds = 86400};
}

void vpa_oom_floor_hit(struct vpa_oom_floor *f, int64_t second, double limit)
{
    double before = vpa_oom_floor_at(f, second);
    double by_ratio = limit * f->ratio;
    double value = by_ratio > limit + f->minimum ? by_ratio : limit + f->minimum;

    f->value = value > before ? value : before;
    f->until = second + f->keep_seconds;
}

double vpa_oom_floor_at(const struct vpa_oom_floor *f, int64_t second)
{
    return second < f->until ? f->value : 0.0;
}

void vpa_oom_floor_merge(struct vpa_oom_floor *f, const struct vpa_oom_floor *other)
{
    int64_t until = f->until > other->until ? f->until : other->until;
    double mine = vpa_oom_floor_at(f, until - f->keep_seconds);
    double theirs = vpa_oom_floor_at(other, until - f->keep_seconds);

    f->value = mine > theirs ? mine : theirs;
    f->until = until;
}
