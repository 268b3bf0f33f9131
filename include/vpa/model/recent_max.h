/*
 * The largest value of the last hours: a queue in which every value is smaller than the one before
 * it, because a value is of no use once a larger one came after it.
 *
 *     struct vpa_recent_max m = {.span = 7 * 24 * 3600};
 *     vpa_recent_max_push(&m, second, value);
 *     double peak = vpa_recent_max(&m);
 *     vpa_recent_max_release(&m);
 *
 * Values that come from VPA_BUCKETS_MAX buckets give as many entries at most; others one per push
 * within the span.
 */
#ifndef VPA_MODEL_RECENT_MAX_H
#define VPA_MODEL_RECENT_MAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vpa_recent_value {
    int64_t second;
    double value;
};
/* Zero but for the span is empty. */
struct vpa_recent_max {
    int64_t span;                   /* seconds: a value counts for pushes before second + span */
    struct vpa_recent_value *items; /* oldest and largest first; owned */
    size_t count;
    size_t capacity;
};
void vpa_recent_max_release(struct vpa_recent_max *m); /* empty, span kept */
/* Seconds do not fall; one that does counts as the newest. */
void vpa_recent_max_push(struct vpa_recent_max *m, int64_t second, double value);
/* Drops what is not within the span before the second. */
void vpa_recent_max_age(struct vpa_recent_max *m, int64_t second);
/* 0 when empty. */
double vpa_recent_max(const struct vpa_recent_max *m);
/* The larger of both at any time; spans equal. */
void vpa_recent_max_merge(struct vpa_recent_max *m, const struct vpa_recent_max *other);

#endif
