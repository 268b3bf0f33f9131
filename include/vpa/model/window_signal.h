/*
 * Moving-window recommenders of Autopilot (Rzadca et al., EuroSys 2020, section 3.2.1) for one
 * resource: usage is folded into windows of five minutes, a statistic S is taken over windows that
 * matter less the older they are, a margin is added, and the largest value of the last hour holds.
 *
 *     S_avg   sum(w * mean of the window) / sum(w)
 *     S_p     load-adjusted percentile (load_histogram.h)
 *     S_max   largest value within the span
 *     max(S_p, share * S_max)
 *
 * where w halves every half-life. A window counts when it is closed. Of CPU every sample counts, of
 * memory the window's peak (the caller adds just that). What all of them need is kept, so that what
 * was learned is still there when the rule chooses another one.
 *
 *     struct vpa_window_signal s;
 *     vpa_window_signal_init(&s, &rule);
 *     vpa_window_signal_add(&s, window, cores);      any number of times
 *     vpa_window_signal_close(&s, window);           once per window
 *     double limit = vpa_window_signal_limit(&s);
 *     vpa_window_signal_release(&s);
 *
 * Memory: the histogram and the maxima of buckets, together at most 24 * VPA_BUCKETS_MAX bytes.
 */
#ifndef VPA_MODEL_WINDOW_SIGNAL_H
#define VPA_MODEL_WINDOW_SIGNAL_H

#include "vpa/model/load_histogram.h"
#include "vpa/model/recent_max.h"

/* Windows begin at multiples of this since 1970. A window is named by the second it begins. */
#define VPA_WINDOW_SECONDS 300
int64_t vpa_window_of(vpa_time t);

struct vpa_signal_rule {
    const struct vpa_buckets *buckets;
    bool average;      /* S_avg instead of S_p */
    double percentile; /* of S_p; 0: none */
    double max_share;  /* share of S_max that is the least; 0: none */
    vpa_duration half_life;
    int64_t span_seconds; /* of S_max */
    double margin;        /* fraction added */
    int64_t hold_seconds;
};

struct vpa_window_signal {
    struct vpa_signal_rule rule;
    struct vpa_load_histogram histogram;
    struct vpa_recent_max top;
    struct vpa_recent_max held;
    double open_sum; /* of the window that is open */
    double open_peak;
    uint32_t open_count;
    bool known;          /* a sample has come */
    double average;      /* S_avg */
    double total_weight; /* of S_avg, as of last_window */
    int64_t last_window; /* the last one with samples */
};
void vpa_window_signal_init(struct vpa_window_signal *s, const struct vpa_signal_rule *rule);
void vpa_window_signal_release(struct vpa_window_signal *s);
/* A sample of a window, which is not closed yet; not negative, not NaN. */
void vpa_window_signal_add(struct vpa_window_signal *s, int64_t window, double value);
/* Windows close in order; one without samples, too, as long as something ran. */
void vpa_window_signal_close(struct vpa_window_signal *s, int64_t window);
/* What other knows of other replicas or times; of equal rules. */
void vpa_window_signal_merge(struct vpa_window_signal *s, const struct vpa_window_signal *other);
/* In force after the last closed window; 0 while nothing is known. */
double vpa_window_signal_limit(const struct vpa_window_signal *s);

/* After a kill at limit L the limit is at least max(ratio * L, L + minimum) for a while. */
struct vpa_oom_floor {
    double ratio;
    double minimum;
    int64_t keep_seconds;
    double value;
    int64_t until; /* second from which it holds no more */
};
void vpa_oom_floor_init(struct vpa_oom_floor *f); /* 1.2, 10 MiB, a day */
void vpa_oom_floor_hit(struct vpa_oom_floor *f, int64_t second, double limit);
double vpa_oom_floor_at(const struct vpa_oom_floor *f, int64_t second); /* 0: none */
/* One that was over when the other came is forgotten. */
void vpa_oom_floor_merge(struct vpa_oom_floor *f, const struct vpa_oom_floor *other);

#endif
