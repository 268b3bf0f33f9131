/*
 * The updater's settings: one field per flag, one table of flags.
 */
#ifndef UPDATER_CONFIG_H
#define UPDATER_CONFIG_H

#include "vpa/daemon/common_flags.h"
#include "vpa/daemon/leader.h"
#include "vpa/daemon/ledger.h"

struct updater_config {
    struct vpa_common_flags common;
    struct vpa_leader_flags leader;
    bool shadow;           /* ours: beside another installation */
    vpa_duration interval; /* of passes, and the deadline of one */
    int64_t min_replicas;
    double eviction_tolerance;
    double eviction_rate_limit; /* per second; <= 0: none */
    int64_t eviction_rate_burst;
    bool use_admission_status;
    bool in_place_skip_budget;
    const char *status_lease_name;
    const char *status_lease_namespace;
    vpa_duration status_lease_timeout;
    double pod_update_threshold;
    vpa_duration lifetime_threshold;
    vpa_duration oom_threshold;
    struct vpa_ledger_flags ledger;
    const char *prove_evictions; /* "replacement", "dry-run", "off" */
    vpa_duration proof_patience;
};

extern const struct vpa_flag updater_flag_rows[];
extern const size_t updater_flag_count;

/* The checks after parsing (specification flags.md 7.2): -1 with the line to log; *exit_status is
 * set. */
int updater_config_check(const struct updater_config *config, int *exit_status,
                         struct vpa_error *err) VPA_MUST_CHECK;

#endif
