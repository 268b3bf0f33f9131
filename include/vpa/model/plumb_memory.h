/*
 * How much memory to reserve (docs/algorithms.md, "plumb"): the peak of the last days and a margin
 * that is relatively larger for small containers, or where memory still grows, the last day's peak
 * and a share of its rise over the day before; and for young containers, of which little is known,
 * a headroom.
 *
 *     want(t) = max(peak * (1 + margin) + headroom * sqrt(peak / 100 MiB),
 *                   day_peak + rise / 2,
 *                   young(t))
 *     young(t) = min(250 MiB, 3 * peak) * 2^-(max(0, age - 36 h) / 6 h)
 *
 * A kill at limit L says that more than L was wanted, how much more nobody knows: for a day the
 * target is at least L times 1.2. Who is killed with that within a day gets its limit times 1.5,
 * the next times 2 (and 10 MiB above L at least); a kill at less, as of other replicas, is no step.
 * It rests on the limit that was hit, never on what was wished for, so under maxAllowed it does not
 * run away; and what the bump did not need is forgotten with it.
 *
 *     struct vpa_plumb_memory p;
 *     vpa_plumb_memory_init(&p, &rule);
 *     vpa_plumb_memory_add(&p, window, bytes);
 *     vpa_plumb_memory_oom(&p, window, limit);
 *     vpa_plumb_memory_advance(&p, now_window);
 *     double target = vpa_plumb_memory_target(&p, now_second);
 *     vpa_plumb_memory_release(&p);
 *
 * Memory: three maxima of buckets, 24 hourly values: at most 3 * 16 * VPA_BUCKETS_MAX + 600 bytes,
 * seldom above one kibibyte.
 */
#ifndef VPA_MODEL_PLUMB_MEMORY_H
#define VPA_MODEL_PLUMB_MEMORY_H

#include "vpa/model/load_histogram.h"
#include "vpa/model/recent_max.h"

struct vpa_plumb_memory_rule {
    const struct vpa_buckets *buckets;
    double margin;
    double headroom;      /* bytes added to a peak of 100 MiB; grows with the root of the peak */
    int64_t span_seconds; /* of the peak */
};

#define VPA_PLUMB_KILLS_MAX 3 /* steps of the bump */
#define VPA_PLUMB_HOURS 25 /* the hours whose peak of a day is remembered: now and a day before */
struct vpa_plumb_memory {
    struct vpa_plumb_memory_rule rule;
    struct vpa_recent_max peaks;
    struct vpa_recent_max day; /* peaks of the last day */
    struct vpa_recent_max held;
    struct {
        int64_t hour; /* since 1970 */
        double peak;  /* of the day that ended then; 0: none */
    } days[VPA_PLUMB_HOURS];
    double target; /* without the bump */
    double open_peak;
    bool has_peak;
    int64_t window; /* the open one, when known */
    int64_t born;   /* the first one */
    bool known;
    double bump;
    int64_t bump_until; /* second */
    unsigned kills;     /* each at what the one before gave */
};
void vpa_plumb_memory_init(struct vpa_plumb_memory *p, const struct vpa_plumb_memory_rule *rule);
void vpa_plumb_memory_release(struct vpa_plumb_memory *p);
void vpa_plumb_memory_add(struct vpa_plumb_memory *p, int64_t window, double bytes);
void vpa_plumb_memory_oom(struct vpa_plumb_memory *p, int64_t window, double limit);
/* Closes the windows before. */
void vpa_plumb_memory_advance(struct vpa_plumb_memory *p, int64_t window);
/* 0 while nothing is known. */
double vpa_plumb_memory_target(const struct vpa_plumb_memory *p, int64_t second);
void vpa_plumb_memory_merge(struct vpa_plumb_memory *p, const struct vpa_plumb_memory *other);

#endif
