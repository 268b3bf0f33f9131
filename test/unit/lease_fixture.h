/*
 * One Lease, "l" in namespace "n", in the simulator: what candidates and writers share.
 */
#ifndef TEST_LEASE_FIXTURE_H
#define TEST_LEASE_FIXTURE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"
#include "vpa/base/str.h"

#define LEASES "coordination.k8s.io/v1"

extern size_t requests;
extern enum vpa_transport_failure cut; /* every request fails so */
extern bool silent;                    /* requests are not answered, and nothing comes of them */
extern bool broken;                    /* they are answered by 500 */
extern vpa_duration latency;           /* of answers */
extern const char *garbage;            /* answers to GET */

void setup(void);
void teardown(void);
/* Somebody's record. */
void put_lease(const char *holder, int seconds);
/* The text of the Lease, "null" without one. */
const char *lease(void);

#endif
