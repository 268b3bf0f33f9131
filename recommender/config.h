/*
 * The command line of the recommender: every flag of upstream's, with its default, and ours.
 */
#ifndef RECOMMENDER_CONFIG_H
#define RECOMMENDER_CONFIG_H

#include "algorithms.h"
#include "prometheus.h"
#include "query_api.h"

#include "vpa/daemon/common_flags.h"
#include "vpa/daemon/leader.h"
#include "vpa/daemon/ledger.h"
#include "vpa/model/estimator.h"
#include "vpa/model/recommend.h"

struct recommender_config { /* texts are borrowed from argv or the arena of parsing */
    struct vpa_common_flags common;
    struct vpa_leader_flags leader;

    bool shadow; /* ours */
    const char *name;
    struct algorithm_flags algorithms; /* ours */
    vpa_duration interval;
    vpa_duration checkpoints_gc_interval;
    vpa_duration checkpoints_timeout;
    vpa_duration checkpoint_max_age;  /* ours */
    vpa_duration checkpoint_interval; /* ours */
    bool checkpoint_open_intervals;   /* ours */
    const char *storage;
    bool memory_saver;
    int64_t update_workers;
    int64_t min_checkpoints;

    struct vpa_estimator estimator;
    struct vpa_rendering rendering;
    bool cpu_integer;
    struct vpa_quantity max_allowed_cpu;
    struct vpa_quantity max_allowed_memory;

    vpa_duration memory_interval;
    int64_t memory_interval_count;
    vpa_duration memory_half_life;
    vpa_duration cpu_half_life;
    double oom_bump_up_ratio;
    double oom_min_bump_up_bytes;

    struct prom_options prometheus; /* env_* and ns are filled in by recommender_config_check */

    bool recommendation_query;                  /* ours */
    struct query_api_config recommendation_api; /* ours */
    const char *measure_vpas;                   /* ours */
    struct vpa_ledger_flags ledger;             /* ours */

    bool use_external_metrics;
    const char *external_cpu_metric;
    const char *external_memory_metric;
};

/* The rows over a configuration. */
struct vpa_flags recommender_flags(struct recommender_config *config);

/* Reads an environment variable; NULL when unset. getenv, or a test's. */
typedef const char *(*recommender_getenv_fn)(void *ctx, const char *name);

/*
 * The checks after parsing (flags.md 7.2), and what completes the configuration: the token file and
 * the environment. Texts that are read live in the arena. On failure *exit_status is the one of the
 * process and err the line to log.
 */
int recommender_config_check(struct recommender_config *config, recommender_getenv_fn read_env,
                             void *ctx, struct vpa_arena *arena, int *exit_status,
                             struct vpa_error *err) VPA_MUST_CHECK;
bool recommender_uses_prometheus(const struct recommender_config *config);

#endif
