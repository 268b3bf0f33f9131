/* One cluster with its clock, for the tests of the cluster. */
#ifndef TEST_CLUSTER_FIXTURE_H
#define TEST_CLUSTER_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "model_fixture.h"

static struct vpa_aggregation global;
static struct vpa_arena arena;
static struct vpa_cluster *c;
static vpa_time now;

static inline void start(bool memory_saver)
{
    struct vpa_cluster_options options = {.aggregation = &global, .memory_saver = memory_saver};

    vpa_aggregation_init(&global);
    vpa_arena_init(&arena, 0);
    now = at("2026-01-15T13:00:00Z");
    c = vpa_cluster_new(&options);
}

static inline void setup(void)
{
    start(false);
}

static inline void setup_saver(void)
{
    start(true);
}

static inline void teardown(void)
{
    vpa_cluster_free(c);
    vpa_aggregation_release(&global);
    vpa_arena_release(&arena);
}

static inline struct vpa_autoscaler *put_vpa(const char *name, const char *selector)
{
    return vpa_cluster_put_vpa(c, simple_vpa(&arena, name),
                               selector ? selector_of(&arena, selector) : NULL, NULL, now);
}

static inline void put_pod(const char *name, const char *labels)
{
    vpa_cluster_put_pod(c, simple_pod(&arena, name, labels), NULL, now);
}

static inline int sample(const char *pod, enum vpa_kind kind, vpa_time t, vpa_amount amount)
{
    struct vpa_error err;

    return add_sample(c, CONTAINER("ns", pod, "app"), kind, t, amount, now, &err);
}

static inline struct vpa_pod *pod_with_status(const char *uid, const char *status)
{
    return pod_of(&arena, vpa_arena_printf(
                              &arena,
                              "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\",\"uid\":\"%s\"},"
                              "\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{"
                              "\"requests\":{\"memory\":\"100Mi\"}}}]},\"status\":{"
                              "\"containerStatuses\":[{\"name\":\"app\",%s}]}}",
                              uid, status));
}

#define KILLED                                                                                     \
    "\"restartCount\":0,\"state\":{\"terminated\":{\"reason\":\"OOMKilled\",\"finishedAt\":"       \
    "\"2026-01-15T12:00:00Z\"}}"

#endif
