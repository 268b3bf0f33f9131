/*
 * Decaying histogram: samples lose half of their weight every half-life.
 *
 * Old weights are never touched; instead newer samples are added with a weight that doubles every
 * half-life after the reference time `ref`, and only when a sample is 100 half-lives ahead
 * everything is scaled down and the reference moves (recommender.md 3 of the specification).
 */
#ifndef VPA_MODEL_DECAY_H
#define VPA_MODEL_DECAY_H

#include "vpa/base/time.h"
#include "vpa/model/histogram.h"

/* Half-lives that are refused: the distance of 100 half-lives must fit in 64 bits of nanoseconds.
 */
#define VPA_HALF_LIFE_MAX (INT64_MAX / 100)

/* How far the reference may lie behind a sample, in half-lives. */
#define VPA_DECAY_MAX_EXPONENT 100

struct vpa_decay {
    struct vpa_histogram h;
    vpa_duration half_life; /* 1 .. VPA_HALF_LIFE_MAX */
    vpa_time ref;           /* unset until the first sample */
};

void vpa_decay_init(struct vpa_decay *d, const struct vpa_histogram_options *options,
                    vpa_duration half_life);
void vpa_decay_release(struct vpa_decay *d);
void vpa_decay_add(struct vpa_decay *d, double value, double weight, vpa_time t);
void vpa_decay_subtract(struct vpa_decay *d, double value, double weight, vpa_time t);
/* Equal options and half-lives required. The one with the older reference is shifted first, which
 * may be `other`: its percentiles stay the same. */
void vpa_decay_merge(struct vpa_decay *d, struct vpa_decay *other);
/* The opposite (vpa_histogram_take_out); other may be shifted, too. */
void vpa_decay_take_out(struct vpa_decay *d, struct vpa_decay *other);
double vpa_decay_percentile(const struct vpa_decay *d, double p);
bool vpa_decay_is_empty(const struct vpa_decay *d);
/* The stored form; its buckets live in the arena. */
void vpa_decay_save(const struct vpa_decay *d, struct vpa_arena *arena,
                    struct vpa_histogram_checkpoint *out);
/* As vpa_histogram_load; on success the reference becomes the stored one without rescaling. */
int vpa_decay_load(struct vpa_decay *d, const struct vpa_histogram_checkpoint *checkpoint,
                   struct vpa_error *err) VPA_MUST_CHECK;

#endif
