/*
 * The updater's metrics (specification updater.md 19, metrics.md 4). Counters and latencies are
 * updated as things happen; the seven gauges describe one pass and are gathered first, published at
 * its end.
 */
#ifndef UPDATER_METERS_H
#define UPDATER_METERS_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/metrics.h"
#include "vpa/policy/update_mode.h"

extern struct vpa_metric *const updater_metrics[];
extern const size_t updater_metric_count;

#define METER_SIZES 21 /* of vpa_size_log2: "0" to "20" */
#define METER_MODES (VPA_MODE_OTHER + 1)
/* Why a pod is not to be touched. */
enum meter_hold { HOLD_NONE, HOLD_VPA, HOLD_LIMIT_RANGE, METER_HOLDS };

/* One sum per size, or per size and mode. */
struct meter_sums {
    double value[METER_MODES][METER_SIZES];
    bool touched[METER_MODES][METER_SIZES];
};
/* The gauges of a pass. Those without a mode use row 0. */
struct meter_pass {
    struct meter_sums controlled;
    struct meter_sums evictable;
    struct meter_sums vpas_with_evictable;
    struct meter_sums vpas_with_evicted;
    struct meter_sums updatable;
    struct meter_sums vpas_with_updatable;
    struct meter_sums vpas_with_updated;
    double held[METER_HOLDS]; /* pods, by enum meter_hold */
};
void updater_meter_sums_add(struct meter_sums *sums, enum vpa_update_mode mode, size_t pods,
                            double value);
/* The families that upstream does not have are there with 0 before anything has happened. Those
 * whose labels name a VPA begin with a series that names none. */
void updater_meters_start(void);
void updater_meter_pass_publish(const struct meter_pass *gauges);

/* Who a counter is about. */
struct meter_vpa {
    const char *size; /* vpa_metric_size_log2 */
    const char *mode;
    const char *name;
    const char *ns;
};
/* Makes the two counters that exist for every VPA with pods. */
void updater_meter_touch(const struct meter_vpa *vpa);
void updater_meter_evicted(const struct meter_vpa *vpa);
void updater_meter_eviction_failed(const struct meter_vpa *vpa, const char *reason);
void updater_meter_updated_in_place(const struct meter_vpa *vpa);
void updater_meter_in_place_failed(const struct meter_vpa *vpa, const char *reason);
void updater_meter_infeasible_skipped(const struct meter_vpa *vpa);
void updater_meter_failed_proof(const char *reason, const char *name, const char *ns);
/* Open breakers of VPAs, and whether the cluster's is. */
void updater_meter_breakers(size_t vpas, size_t namespaces, bool cluster);
/* Drops what was counted of VPAs that are gone, where that has become more than what is counted of
 * `vpas` that are there may be: one that comes back soon goes on counting, as upstream's do. */
#define METER_SERIES(vpas) (1000 + 4 * (vpas))
void updater_meters_sweep(bool (*is_live)(void *ctx, const char *ns, const char *name), void *ctx,
                          size_t vpas);
/* seconds: how long the step of the pass took. */
void updater_meter_step(const char *step, double seconds);

#endif
