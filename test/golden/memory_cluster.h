/*
 * An API server in memory that serves the objects of a case: LIST and WATCH of the collections that
 * the daemons watch, discovery, scale subresources; and what a case scripts for webhook
 * registrations.
 */
#ifndef GOLDEN_MEMORY_CLUSTER_H
#define GOLDEN_MEMORY_CLUSTER_H

#include "golden.h"
#include "memory_transport.h"
#include "vpa/kube/client.h"

struct memory_cluster {
    const struct vpa_json *objects;   /* array, or NULL */
    const struct vpa_json *scales;    /* array as in the set vpa_matching, or NULL */
    const struct vpa_json *discovery; /* {"preferred","groupVersions"}, or NULL */
    /* Asked first; true when it has answered. May be NULL. */
    bool (*serve)(void *ctx, const struct vpa_memory_request *request,
                  struct vpa_memory_reply *reply);
    void *ctx;

    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_transport *transport;
    struct vpa_kube_client *client;
    struct vpa_random random;
};

/* The clock is a manual one, standing at now. */
void memory_cluster_start(struct memory_cluster *cluster, vpa_time now);
void memory_cluster_stop(struct memory_cluster *cluster);
/* Log lines of the product go nowhere from here on. */
void memory_cluster_quiet(void);

#endif
