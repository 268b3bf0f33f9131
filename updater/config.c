/* The updater's flags: names, defaults and meaning are upstream's. */
#include "config.h"

#include "vpa/base/str.h"
#include "vpa/daemon/daemon.h"

#define ROW(KIND, NAME, FIELD, PRESET, HELP)                                                       \
    VPA_FLAG_##KIND(NAME, struct updater_config, FIELD, PRESET, HELP)

const struct vpa_flag updater_flag_rows[] = {
    VPA_COMMON_FLAGS(struct updater_config, common, ":8943"),
    VPA_LEADER_FLAGS(struct updater_config, leader, "vpa-updater"),
    ROW(DURATION, "updater-interval", interval, VPA_MINUTE,
        "Time between passes, deadline of a pass, and a fifth of the health check's patience"),
    ROW(BOOL, "shadow", shadow, false,
        "Run beside another installation: decide and log as usual, while every eviction and resize "
        "is a dry run (not known upstream)"),
    ROW(INT, "min-replicas", min_replicas, 2,
        "Live pods that a controller needs before any of them may be evicted; with fewer, pods are "
        "resized only beside a boosted one"),
    ROW(FLOAT, "eviction-tolerance", eviction_tolerance, 0.5,
        "Share of a controller's replicas that may be disturbed at once"),
    ROW(FLOAT, "eviction-rate-limit", eviction_rate_limit, -1,
        "Evictions, and as many resizes, per second; zero or less: no limit"),
    ROW(INT, "eviction-rate-burst", eviction_rate_burst, 1,
        "Evictions, and as many resizes, that may go out at once while there is a limit"),
    ROW(BOOL, "use-admission-controller-status", use_admission_status, true,
        "Do nothing unless the admission controller's status Lease is fresh"),
    ROW(STRING, "admission-controller-status-lease-name", status_lease_name,
        "vpa-admission-controller", "Name of that Lease"),
    ROW(STRING, "admission-controller-status-lease-namespace", status_lease_namespace, "",
        "Namespace of that Lease; empty: NAMESPACE, else kube-system"),
    ROW(DURATION, "admission-controller-status-lease-timeout", status_lease_timeout, VPA_MINUTE,
        "Age at which that Lease is stale; positive"),
    ROW(BOOL, "in-place-skip-disruption-budget", in_place_skip_budget, false,
        "Resize pods whose containers need no restart without regard to the disruption budget"),
    ROW(FLOAT, "pod-update-threshold", pod_update_threshold, 0.1,
        "Smallest relative change for which a pod inside its recommended range is updated"),
    ROW(DURATION, "in-recommendation-bounds-eviction-lifetime-threshold", lifetime_threshold,
        12 * VPA_HOUR, "Smallest age for such an update"),
    ROW(DURATION, "evict-after-oom-threshold", oom_threshold, 10 * VPA_MINUTE,
        "A container that ran shorter than this before it ran out of memory is updated at once"),
    VPA_LEDGER_FLAGS(struct updater_config, ledger),
    ROW(STRING, "prove-evictions", prove_evictions, "replacement",
        "replacement: the first eviction of a group waits until its replacement carries the "
        "values, and failures pause the VPA; dry-run: it is tried with dryRun=All before, too; "
        "off: neither"),
    ROW(DURATION, "proof-patience", proof_patience, VPA_MINUTE,
        "How long a replacement may take to come and to find a node before its eviction has "
        "failed; more where nodes are made on demand"),
};
const size_t updater_flag_count = sizeof(updater_flag_rows) / sizeof(updater_flag_rows[0]);

int updater_config_check(const struct updater_config *config, int *exit_status,
                         struct vpa_error *err)
{
    if (vpa_daemon_check(&config->common, &config->leader, exit_status, err) < 0)
        return -1;
    *exit_status = 1;
    if (config->interval <= 0)
        return vpa_fail(err, VPA_INVALID, "--updater-interval must be positive.");
    if (config->status_lease_timeout <= 0)
        return vpa_fail(err, VPA_INVALID,
                        "--admission-controller-status-lease-timeout must be positive.");
    if (!vpa_str_eq(config->prove_evictions, "replacement") &&
        !vpa_str_eq(config->prove_evictions, "dry-run") &&
        !vpa_str_eq(config->prove_evictions, "off"))
        return vpa_fail(err, VPA_INVALID,
                        "--prove-evictions must be replacement, dry-run or off, not \"%s\".",
                        config->prove_evictions);
    if (config->proof_patience < 0)
        return vpa_fail(err, VPA_INVALID, "--proof-patience must not be negative.");
    return 0;
}
