/*
 * Usage of containers into the model: metrics.k8s.io, or external.metrics.k8s.io with
 * --use-external-metrics (recommender.md 15.5 of the specification).
 */
#ifndef RECOMMENDER_USAGE_H
#define RECOMMENDER_USAGE_H

#include "usage_sample.h"

/* Reads the usage once, pumping the loop, and adds the samples. False: it could not be read, which
 * is logged and counted, or the reading was given up, so that somebody's is missing. */
bool usage_collect(const struct usage_options *options, vpa_time now);

#endif
