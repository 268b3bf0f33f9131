/* A Kubernetes client without a rate limit over an API server in memory, on a clock that stands
 * still. */
#ifndef TEST_CLIENT_FIXTURE_H
#define TEST_CLIENT_FIXTURE_H

#include "vpa/daemon/clock.h"
#include "vpa/kube/client.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "sim_cluster.h"

extern struct vpa_clock *clk;
extern struct vpa_loop *loop;
extern struct vpa_random rnd;
extern struct vpa_transport *transport;
extern struct vpa_kube_client *client;
extern struct sim_cluster *sim; /* NULL with a server of its own */

/* serve NULL: the simulator; now: seconds since 1970. */
void start_client(vpa_memory_serve_fn serve, int64_t now, uint64_t seed);
void stop_client(void);

#endif
