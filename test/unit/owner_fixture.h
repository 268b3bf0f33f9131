/*
 * Owners against an API server in memory: some controllers in namespace "n", and the custom
 * resource Widget of example.com with its scale. Change what the server says after setup(), then
 * synced().
 */
#ifndef TEST_OWNER_FIXTURE_H
#define TEST_OWNER_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"
#include "vpa/base/str.h"
#include "vpa/kube/owner.h"

extern struct vpa_owners *owners;
extern struct vpa_error err;
/* The server */
extern const char *deployments, *replica_sets, *jobs, *daemon_sets;
extern struct vpa_memory_stream *watch_of_deployments;
extern int scale_gets, discovery_gets;
extern const char *scale_body; /* of widgets/w; NULL: 404 */
extern int scale_code;
extern vpa_duration scale_delay;
extern void (*on_scale_get)(void); /* NULL: nothing */
extern bool group_known, every_widget;
extern int widgets_version; /* preferred: 1 or 2; 3: odd texts; 4: v2 is broken; 5: the group is */
extern bool two_plurals;    /* in v1 a Widget is called gadgets */

void list(struct vpa_memory_reply *r, const char *items);

#define OWNED(name, kind, owner, version, spec)                                                    \
    "{\"metadata\":{\"namespace\":\"n\",\"name\":\"" name                                          \
    "\",\"ownerReferences\":[{\"apiVersion\":\"" version "\",\"kind\":\"" kind                     \
    "\",\"name\":\"" owner "\",\"uid\":\"u\",\"controller\":true}]},\"spec\":" spec "}"
#define FREE(name, spec)                                                                           \
    "{\"metadata\":{\"namespace\":\"n\",\"name\":\"" name "\"},\"spec\":" spec "}"
#define APP "{\"replicas\":3,\"selector\":{\"matchLabels\":{\"app\":\"x\"}}}"
#define SCALE(selector, replicas)                                                                  \
    "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/"                                            \
    "v1\",\"metadata\":{\"name\":\"w\",\"namespace\":\"n\"},\"spec\":{\"replicas\":" replicas      \
    "},\"status\":{\"replicas\":1,\"selector\":\"" selector "\"}}"

void setup(void);
void synced(void);
void teardown(void);
void follow_many(int count);

#endif
