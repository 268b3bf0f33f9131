/*
 * Usage of containers into the model: metrics.k8s.io, or external.metrics.k8s.io with
 * --use-external-metrics (recommender.md 15.5 of the specification).
 */
#ifndef RECOMMENDER_USAGE_H
#define RECOMMENDER_USAGE_H

#include "config.h"
#include "failures.h"

#include "vpa/kube/client.h"
#include "vpa/model/cluster.h"

/* Longest wait for one answer of a metrics API. */
#define USAGE_TIMEOUT (5 * VPA_MINUTE)

struct usage_memory {        /* from pass to pass; zeroed at first */
    size_t unaskable;        /* pods whose names are no label values, in the last reading */
    struct failures unknown; /* containers, of the reading under way */
};
struct usage_options { /* all borrowed */
    struct vpa_kube_client *client;
    const struct recommender_config *config;
    struct vpa_cluster *cluster;
    struct usage_memory *memory;
};

/* Reads the usage once, pumping the loop, and adds the samples. A failure is logged and counted. */
void usage_collect(const struct usage_options *options, vpa_time now);

/* Both sources hand over one container at a time. */
struct usage_sample {
    const char *ns;
    const char *pod;
    const char *container;
    vpa_time time;
    vpa_amount cpu_millis;
    vpa_amount memory_bytes;
};
void usage_add(const struct usage_options *options, const struct usage_sample *sample,
               vpa_time now);

/* external.c: nothing is added when a query fails. */
int usage_collect_external(const struct usage_options *options, vpa_time now,
                           struct vpa_error *err) VPA_MUST_CHECK;

#endif
