#include "histogram_text.h"

#include <math.h>

bool histogram_equal(const struct vpa_histogram *a, const struct vpa_histogram *b)
{
    if (!vpa_histogram_options_equal(a->options, b->options) || a->min != b->min ||
        a->max != b->max)
        return false;
    for (uint32_t i = a->min; i <= a->max; i++) {
        if (fabs(vpa_histogram_weight(a, i) - vpa_histogram_weight(b, i)) > 1e-15)
            return false;
    }
    return true;
}

void histogram_format(const struct vpa_histogram *h, struct vpa_buf *out)
{
    vpa_buf_printf(out, "minBucket: %u, maxBucket: %u, totalWeight: %.3f\n%%-tile\tvalue", h->min,
                   h->max, h->total);
    for (int i = 0; i <= 100; i += 5)
        vpa_buf_printf(out, "\n%d\t%.3f", i, vpa_histogram_percentile(h, 0.01 * (double)i));
}

bool decay_equal(const struct vpa_decay *a, const struct vpa_decay *b)
{
    return a->half_life == b->half_life && a->ref == b->ref && histogram_equal(&a->h, &b->h);
}

void decay_format(const struct vpa_decay *d, struct vpa_buf *out)
{
    char ref[VPA_TIME_TEXT_MAX];
    char half_life[VPA_DURATION_TEXT_MAX];

    vpa_time_format(d->ref, ref);
    vpa_duration_format(d->half_life, half_life);
    vpa_buf_printf(out, "referenceTimestamp: %s, halfLife: %s\n", ref, half_life);
    histogram_format(&d->h, out);
}
