/*
 * Leader election by flags (recommender and updater): the rows, their checks, and the elector that
 * they describe.
 */
#ifndef VPA_DAEMON_LEADER_H
#define VPA_DAEMON_LEADER_H

#include "vpa/base/flags.h"
#include "vpa/kube/elector.h"

struct vpa_leader_flags {
    bool elect;
    bool standby; /* while another one leads: begin the work, change nothing */
    vpa_duration lease_duration;
    vpa_duration renew_deadline;
    vpa_duration retry_period;
    const char *resource_lock;
    const char *resource_name;
    const char *resource_namespace;
};

/* The checks of leader election, only when it is on; *exit_status is 1 or 2 on failure. */
int vpa_leader_flags_check(const struct vpa_leader_flags *leader, int *exit_status,
                           struct vpa_error *err) VPA_MUST_CHECK;
/* The elector with the lease and the times of the flags and an identity of this process; of the
 * options only client, ctx and callbacks count. NULL with err when the host has no name. */
struct vpa_elector *vpa_leader_elector_new(const struct vpa_leader_flags *leader,
                                           struct vpa_random *random,
                                           const struct vpa_elector_options *options,
                                           struct vpa_error *err);

#define VPA_LEADER_FLAGS(STRUCT, MEMBER, NAME)                                                     \
    VPA_FLAG_BOOL("leader-elect", STRUCT, MEMBER.elect, false,                                     \
                  "Take a Lease before starting the main loop", .posix = true),                    \
        VPA_FLAG_BOOL("standby", STRUCT, MEMBER.standby, true,                                     \
                      "With --leader-elect: while another replica leads, keep everything ready "   \
                      "and change nothing; false: do nothing until then (not known upstream)"),    \
        VPA_FLAG_DURATION(                                                                         \
            "leader-elect-lease-duration", STRUCT, MEMBER.lease_duration, 15 * VPA_SECOND,         \
            "How long others wait after the last renewal before they take over", .posix = true),   \
        VPA_FLAG_DURATION(                                                                         \
            "leader-elect-renew-deadline", STRUCT, MEMBER.renew_deadline, 10 * VPA_SECOND,         \
            "How long the leader retries a renewal before giving up", .posix = true),              \
        VPA_FLAG_DURATION("leader-elect-retry-period", STRUCT, MEMBER.retry_period,                \
                          2 * VPA_SECOND, "Pause between attempts", .posix = true),                \
        VPA_FLAG_STRING("leader-elect-resource-lock", STRUCT, MEMBER.resource_lock, "leases",      \
                        "Kind of the lock; only leases", .posix = true),                           \
        VPA_FLAG_STRING("leader-elect-resource-name", STRUCT, MEMBER.resource_name, NAME,          \
                        "Name of the Lease", .posix = true),                                       \
        VPA_FLAG_STRING("leader-elect-resource-namespace", STRUCT, MEMBER.resource_namespace,      \
                        "kube-system", "Namespace of the Lease", .posix = true)

#endif
