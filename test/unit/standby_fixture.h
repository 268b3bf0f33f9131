/* The fixture of the recommender, and the Lease of a standby beside it. */
#ifndef TEST_STANDBY_FIXTURE_H
#define TEST_STANDBY_FIXTURE_H

#include "recommender_fixture.h"

extern unsigned lease_writes, lease_requests;
extern bool lease_denied, lease_broken; /* so are requests of Leases answered */

#define LEASES "coordination.k8s.io/v1"
#define LEASE_OF(HOLDER, TIMES)                                                                    \
    "{\"apiVersion\":\"" LEASES                                                                    \
    "\",\"kind\":\"Lease\",\"metadata\":{\"namespace\":\"kube-system\","                           \
    "\"name\":\"l-standby\"},\"spec\":{\"holderIdentity\":\"" HOLDER "\"" TIMES "}}"

/* The hook that answers requests of Leases as told, and counts them. */
bool watch_lease(const struct vpa_memory_request *q, struct vpa_memory_reply *r);
void setup_lease(void);
/* The Lease of the standby; "": none. */
void store(const char *lease);
/* Of the Lease as it is stored; "" for what is not there. */
const char *lease_member(const char *name);

#endif
