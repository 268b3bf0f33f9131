/* What the sets about histograms have in common. */
#ifndef HISTOGRAM_COMPARE_H
#define HISTOGRAM_COMPARE_H

#include "golden.h"
#include "vpa/model/decay.h"

/* want: {total, min, max, empty, ref}; the reference time only of a decaying one. */
void compare_state(struct golden_case *c, const char *label, const struct vpa_json *want,
                   const struct vpa_decay *got, bool decaying);
/* want: a percentile for each of p. Labels "<label>[<index>]". */
void compare_percentiles(struct golden_case *c, const char *label, const struct vpa_json *want,
                         const double *p, size_t count, const struct vpa_histogram *got);
/* want: [[index, weight], ...] of all buckets that are not 0. Labels "<label>[<index>]". */
void compare_weights(struct golden_case *c, const char *label, const struct vpa_json *want,
                     const struct vpa_histogram *got);

#endif
