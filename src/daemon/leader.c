#include "vpa/daemon/leader.h"

int vpa_leader_flags_check(const struct vpa_leader_flags *leader, int *exit_status,
                           struct vpa_error *err)
{
    const struct vpa_elector_options times = {
        .lease_duration = leader->lease_duration,
        .renew_deadline = leader->renew_deadline,
        .retry_period = leader->retry_period,
    };

    if (!leader->elect)
        return 0;
    *exit_status = 1;
    if (vpa_elector_check_lock_type(leader->resource_lock, err) < 0)
        return vpa_wrap(err, "Unable to create leader election lock");
    *exit_status = 2;
    return vpa_elector_check(&times, err);
}

struct vpa_elector *vpa_leader_elector_new(const struct vpa_leader_flags *leader,
                                           struct vpa_random *random,
                                           const struct vpa_elector_options *options,
                                           struct vpa_error *err)
{
    vpa_auto_free char *identity = vpa_elector_identity(random, err);
    struct vpa_elector_options all = *options;

    if (!identity)
        return NULL;
    all.ns = leader->resource_namespace;
    all.name = leader->resource_name;
    all.identity = identity;
    all.lease_duration = leader->lease_duration;
    all.renew_deadline = leader->renew_deadline;
    all.retry_period = leader->retry_period;
    return vpa_elector_new(&all);
}
