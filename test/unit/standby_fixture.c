#include "standby_fixture.h"

unsigned lease_writes, lease_requests;
bool lease_denied, lease_broken;

bool watch_lease(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!strstr(q->path, "/leases"))
        return false;
    lease_requests++;
    if (lease_broken)
        vpa_memory_reply_status(r, 400, "BadRequest", "not now");
    else if (lease_denied)
        vpa_memory_reply_status(r, 403, "Forbidden", "leases is forbidden");
    else
        lease_writes += strcmp(q->method, "GET") != 0;
    return lease_broken || lease_denied;
}

void store(const char *lease)
{
    if (*lease)
        sim_cluster_put_text(server->sim, lease);
    else
        (void)sim_cluster_delete(server->sim, LEASES, "Lease", "kube-system", "l-standby");
}

const char *lease_member(const char *name)
{
    const struct vpa_json *lease =
        sim_cluster_find(server->sim, &arena, LEASES, "Lease", "kube-system", "l-standby");

    return vpa_or_empty(vpa_json_string(vpa_json_find(vpa_json_find(lease, "spec"), name)));
}

void setup_lease(void)
{
    setup();
    hook = watch_lease;
}
