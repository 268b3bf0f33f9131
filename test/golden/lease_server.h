/*
 * The simulator with a Lease and a script, in virtual time: what goes beyond a server of Leases is
 * what the README of the set leader_election says. There is one at a time.
 */
#ifndef LEASE_SERVER_H
#define LEASE_SERVER_H

#include "golden.h"
#include "sim_cluster.h"
#include "vpa/kube/client.h"

#define IDENTITY "host_0b5cc4b8-8bd0-4a62-a0f4-4fd52a3e1d45"
#define REQUESTS_MAX 400

struct lease_request {
    int64_t at_ms;
    const char *method, *path, *body; /* body NULL: none */
    int code;
    bool abandoned;
};

struct lease_world {
    struct golden_case *c;
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_transport *transport;
    struct vpa_kube_client *client;
    struct vpa_random random;
    vpa_time start;
    struct sim_cluster *sim;
    struct lease_request requests[REQUESTS_MAX];
    size_t count;
    int method_counts[3]; /* GET, POST, PUT */
    int fault_counts[8];
    bool leader; /* which file */
    bool started, lost;
};
extern struct lease_world lease_world;

void lease_world_open(struct golden_case *c, vpa_time start, bool leader,
                      const struct vpa_json *lease);
void lease_world_close(void);
/* In the arena of the case; NULL and a difference when it cannot be read. */
const struct vpa_json *lease_world_parse(const char *text);

#endif
