/* One cluster with its clock, for the tests of the cluster. */
#ifndef TEST_CLUSTER_FIXTURE_H
#define TEST_CLUSTER_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "model_fixture.h"

extern struct vpa_aggregation global;
extern struct vpa_arena arena;
extern struct vpa_cluster *c;
extern vpa_time now;

void setup(void);
void setup_saver(void);
void teardown(void);
struct vpa_autoscaler *put_vpa(const char *name, const char *selector);
void put_pod(const char *name, const char *labels);
int sample(const char *pod, enum vpa_kind kind, vpa_time t, vpa_amount amount);
struct vpa_pod *pod_with_status(const char *uid, const char *status);

#define KILLED                                                                                     \
    "\"restartCount\":0,\"state\":{\"terminated\":{\"reason\":\"OOMKilled\",\"finishedAt\":"       \
    "\"2026-01-15T12:00:00Z\"}}"

#endif
