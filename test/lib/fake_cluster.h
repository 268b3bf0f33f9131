/*
 * What the vectors of the recommender say of their cluster, on the simulator (sim_cluster.h):
 * changes, scales as they are written, usage, faults. The README of the set recommender_scenario
 * tells the words.
 */
#ifndef FAKE_CLUSTER_H
#define FAKE_CLUSTER_H

#include "vpa/base/table.h"

#include "sim_cluster.h"

struct fake_cluster {
    struct sim_cluster *sim;
    struct vpa_loop *loop;
    struct vpa_arena arena;  /* lives as long as the cluster */
    struct vpa_table scales; /* see scale_key() -> JSON text */
    const struct vpa_json *step;
    size_t index; /* of the pass in it */
    vpa_time pass_begin;
    const char *usage_ns; /* whose usage was asked for, "" all */
};
struct fake_list {
    const char **items;
    size_t count;
};

struct fake_cluster *fake_cluster_new(struct vpa_loop *loop, const struct vpa_json *crds);
void fake_cluster_free(struct fake_cluster *f);
/* Pass it to vpa_memory_transport_new. */
void fake_cluster_serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r);

/* One change, as the vectors write it. */
void fake_cluster_change(struct fake_cluster *f, const struct vpa_json *change);
/* What a step sets: metrics or usage, metrics_code, external, faults, latency. index: of the pass
 * in it. */
void fake_cluster_set_step(struct fake_cluster *f, const struct vpa_json *step);
void fake_cluster_set_usage(struct fake_cluster *f, const struct vpa_json *step, size_t index);

/* Starts a new record: at_ms counts from now. */
void fake_cluster_begin_record(struct fake_cluster *f);
const struct sim_asked *fake_cluster_writes(const struct fake_cluster *f, size_t *count);
/* "<status> <path>[?<query>]" of usage, scale and namespace reads, sorted, in the arena. */
struct fake_list fake_cluster_reads(const struct fake_cluster *f, struct vpa_arena *arena);
/* Stored status of a checkpoint without lastUpdateTime, NULL when there is no such object. */
char *fake_cluster_checkpoint_content(const struct fake_cluster *f, const char *path);

const char *fake_text_at(const struct vpa_json *node, const char *path); /* "" when absent */
/* {"lastUpdateTime":..,REST} -> REST */
const char *fake_content_of(const char *status);

#endif
