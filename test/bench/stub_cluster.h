/*
 * What a recommender sees of a cluster, served by stub_server.h in a process of its own: VPAs
 * "team-<n mod 20>/web-<n>" with a Deployment each, pods of one container, usage that changes with
 * each list. What is written is kept, and status patches come back through the watch, as with a
 * server.
 *
 *     struct stub stub;
 *     struct stub_cluster *c = stub_cluster_start(&settings, &stub);
 *     // a recommender with measured_kubeconfig_write(&file, &stub)
 *     stub_stop(&stub);
 */
#ifndef BENCH_STUB_CLUSTER_H
#define BENCH_STUB_CLUSTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stub_server.h"

struct stub_cluster_settings {
    size_t containers;
    size_t pods_per_vpa;
    size_t vpas;
    bool idle;         /* the usage does not change */
    bool checkpoints;  /* there are some from the start */
    bool replica_sets; /* between the Deployments and their pods */
    bool own_labels;   /* each pod has one that no other has */
};

/* Counters, in memory shared with the stub's process. */
struct stub_cluster {
    atomic_uint_fast64_t calls;
    atomic_uint_fast64_t metrics_lists;
    atomic_uint_fast64_t statuses;
    atomic_uint_fast64_t checkpoints;
    atomic_uint_fast64_t checkpoint_bytes; /* of the bodies */
    atomic_int_fast64_t first_status_ns;   /* CLOCK_MONOTONIC */
};

/* Once per process; does not come back when there is no memory or no socket. */
struct stub_cluster *stub_cluster_start(const struct stub_cluster_settings *settings,
                                        struct stub *stub);

#endif
