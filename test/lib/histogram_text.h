/* What upstream's histograms can and the product has no use for: to be compared, and to print
 * themselves. Vectors hold both. */
#ifndef TEST_HISTOGRAM_TEXT_H
#define TEST_HISTOGRAM_TEXT_H

#include "vpa/base/buf.h"
#include "vpa/model/decay.h"

/* Equal options and range, weights within 1e-15. */
bool histogram_equal(const struct vpa_histogram *a, const struct vpa_histogram *b);
bool decay_equal(const struct vpa_decay *a, const struct vpa_decay *b);
/* Several lines: range, total, percentiles in steps of 5. */
void histogram_format(const struct vpa_histogram *h, struct vpa_buf *out);
void decay_format(const struct vpa_decay *d, struct vpa_buf *out);

#endif
