/*
 * Decay by inflation.
 *
 * To halve the weight of every stored sample each half-life one would have to touch all buckets of
 * all histograms all the time. It is the same to leave old weights alone and to give new samples a
 * weight that doubles every half-life: only the proportions count. A sample at time t weighs 2^((t
 * - ref) / half_life), where ref is a fixed reference, the multiple of the half-life (counted from
 * year 1) nearest to the first sample.
 *
 * Doubles overflow at 2^1024, so when a sample is more than 100 half-lives ahead of the reference,
 * the reference moves there and all weights are scaled down once, exactly, by a power of two.
 *
 * Two histograms can be added when their references are equal; the older one is shifted to the
 * newer reference first. If a reference is not on the grid (the half-life was changed after a
 * checkpoint was written), shifting rounds it and both still differ a little; the reference
 * implementation adds them nevertheless, and so does this one.
 */
#include "vpa/model/decay.h"

#include <assert.h>

#include "vpa/base/math.h"

void vpa_decay_init(struct vpa_decay *d, const struct vpa_histogram_options *options,
                    vpa_duration half_life)
{
    assert(half_life > 0 && half_life <= VPA_HALF_LIFE_MAX);
    vpa_histogram_init(&d->h, options);
    d->half_life = half_life;
    d->ref = VPA_TIME_UNSET;
}

void vpa_decay_release(struct vpa_decay *d)
{
    vpa_histogram_release(&d->h);
}

static void shift(struct vpa_decay *d, vpa_time new_ref)
{
    new_ref = vpa_time_round(new_ref, d->half_life);
    int64_t exponent = vpa_hround((double)vpa_time_sub(d->ref, new_ref) / (double)d->half_life);
    vpa_histogram_scale(&d->h, vpa_ldexp(1.0, exponent));
    d->ref = new_ref;
}

/* The weight at time t of what weighs 1 at the reference. */
static double factor(struct vpa_decay *d, vpa_time t)
{
    if (t > vpa_time_add(d->ref, d->half_life * VPA_DECAY_MAX_EXPONENT))
        shift(d, t);
    return vpa_exp2((double)vpa_time_sub(t, d->ref) / (double)d->half_life);
}

void vpa_decay_add(struct vpa_decay *d, double value, double weight, vpa_time t)
{
    double f = factor(d, t);

    vpa_histogram_add(&d->h, value, weight * f);
}

void vpa_decay_subtract(struct vpa_decay *d, double value, double weight, vpa_time t)
{
    double f = factor(d, t);

    vpa_histogram_subtract(&d->h, value, weight * f);
}

/* The later reference becomes that of both. */
static void align(struct vpa_decay *d, struct vpa_decay *other)
{
    assert(d->half_life == other->half_life);
    if (d->ref < other->ref)
        shift(d, other->ref);
    else if (other->ref < d->ref)
        shift(other, d->ref);
}

void vpa_decay_take_out(struct vpa_decay *d, struct vpa_decay *other)
{
    align(d, other);
    vpa_histogram_take_out(&d->h, &other->h);
}

void vpa_decay_merge(struct vpa_decay *d, struct vpa_decay *other)
{
    align(d, other);
    vpa_histogram_merge(&d->h, &other->h);
}

double vpa_decay_percentile(const struct vpa_decay *d, double p)
{
    return vpa_histogram_percentile(&d->h, p);
}

bool vpa_decay_is_empty(const struct vpa_decay *d)
{
    return vpa_histogram_is_empty(&d->h);
}

void vpa_decay_save(const struct vpa_decay *d, struct vpa_arena *arena,
                    struct vpa_histogram_checkpoint *out)
{
    size_t most = vpa_histogram_save_max(&d->h);
    struct vpa_bucket_weight *buckets = vpa_arena_alloc(arena, (most + 1) * sizeof(*buckets));

    *out = (struct vpa_histogram_checkpoint){
        .present = true,
        .reference = d->ref,
        .buckets = buckets,
        .bucket_count = vpa_histogram_save(&d->h, buckets),
        .total_weight = d->h.total,
    };
}

int vpa_decay_load(struct vpa_decay *d, const struct vpa_histogram_checkpoint *checkpoint,
                   struct vpa_error *err)
{
    if (vpa_histogram_load(&d->h, checkpoint->buckets, checkpoint->bucket_count,
                           checkpoint->total_weight, err) < 0)
        return -1;
    d->ref = checkpoint->reference;
    return 0;
}
