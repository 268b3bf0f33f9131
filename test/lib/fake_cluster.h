/*
 * An API server in memory for the sets that drive the whole recommender: objects with list and
 * watch, JSON patches of /status, create, delete, scale, discovery, usage. It does what the README
 * of the set recommender_scenario says and nothing more.
 */
#ifndef FAKE_CLUSTER_H
#define FAKE_CLUSTER_H

#include "vpa/base/table.h"
#include "vpa/json/json.h"

#include "memory_transport.h"

struct fake_write {
    const char *method;
    const char *path;
    const char *type; /* Content-Type */
    const char *body;
    int code;
    int64_t at_ms; /* after fake->pass_begin */
    vpa_time time;
};

struct fake_list {
    char **items;
    size_t count;
    size_t capacity;
};

struct fake_cluster;

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
const struct fake_write *fake_cluster_writes(const struct fake_cluster *f, size_t *count);
/* "<status> <path>[?<query>]" of usage, scale and namespace reads, sorted. */
const struct fake_list *fake_cluster_reads(struct fake_cluster *f);
/* Stored status of a checkpoint without lastUpdateTime, NULL when there is no such object. */
char *fake_cluster_checkpoint_content(const struct fake_cluster *f, const char *path);

/* {"lastUpdateTime":..,REST} -> REST */
const char *fake_content_of(const char *status);

#endif
