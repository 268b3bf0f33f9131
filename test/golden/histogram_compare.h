/* What the sets about histograms have in common. */
#ifndef HISTOGRAM_COMPARE_H
#define HISTOGRAM_COMPARE_H

#include "golden.h"
#include "vpa/model/histogram.h"

/* want: [[index, weight], ...] of all buckets that are not 0. Labels "<label>[<index>]". */
void compare_weights(struct golden_case *c, const char *label, const struct vpa_json *want,
                     const struct vpa_histogram *got);

#endif
