/* Usage from external.metrics.k8s.io, for usage_collect(). */
#ifndef RECOMMENDER_EXTERNAL_H
#define RECOMMENDER_EXTERNAL_H

#include "usage_sample.h"

/* One query per pod and metric. After one that fails nothing more is asked about its namespace;
 * when all fail the reading has failed, and nothing is added. 1: it took so long that the rest
 * was not asked about; the next call begins there. */
int usage_collect_external(const struct usage_options *options, vpa_time now,
                           struct vpa_error *err) VPA_MUST_CHECK;

#endif
