/*
 * The simulator with the objects of a case, as they are, and what the case scripts: discovery,
 * scales, webhook registrations.
 */
#ifndef GOLDEN_MEMORY_CLUSTER_H
#define GOLDEN_MEMORY_CLUSTER_H

#include "golden.h"
#include "sim_cluster.h"
#include "vpa/kube/client.h"

struct memory_cluster {
    const struct vpa_json *objects;   /* array, or NULL */
    const struct vpa_json *scales;    /* array as in the set vpa_matching, or NULL */
    const struct vpa_json *discovery; /* {"preferred","groupVersions"}, or NULL */
    sim_hook_fn serve;                /* asked first; may be NULL */
    void *ctx;

    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_arena arena; /* what is scripted */
    struct sim_cluster *sim;
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
