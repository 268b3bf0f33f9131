/*
 * A cluster with a VPA "v" that selects app=web, at 2026-01-15T14:00:00Z, and what is stored of it.
 */
#ifndef HISTORY_FIXTURE_H
#define HISTORY_FIXTURE_H

#include "cluster_fixture.h"

extern struct vpa_autoscaler *v;

#define LOADED                                                                                     \
    "{\"version\":\"v3\",\"cpuHistogram\":{\"referenceTimestamp\":\"2026-01-15T00:00:00Z\","       \
    "\"bucketWeights\":{\"8\":10000},\"totalWeight\":3},\"firstSampleStart\":\"2026-01-10T00:00:"  \
    "00Z\","                                                                                       \
    "\"lastSampleStart\":\"2026-01-14T00:00:00Z\",\"totalSamplesCount\":30}"

void setup_history(void);
/* A pod without more than a container, and its usage. */
void put(const char *name, const char *labels, const char *container);
void use(const char *pod, const char *container, enum vpa_kind kind, const char *when,
         vpa_amount amount);

/* The visitor of checkpoints that keeps them, in the arena. */
struct stored {
    int count;
    const char *name[8];
    const char *text[8];
    struct vpa_open_intervals open[8];
};
void keep(void *ctx, const char *container, const struct vpa_checkpoint_status *status,
          const struct vpa_open_intervals *open);

#endif
