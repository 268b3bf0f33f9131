/* A Kubernetes client without a rate limit over an API server in memory, on a clock that stands
 * still. */
#ifndef TEST_CLIENT_FIXTURE_H
#define TEST_CLIENT_FIXTURE_H

#include "vpa/daemon/clock.h"
#include "vpa/kube/client.h"

#include "memory_transport.h"
#include "manual_clock.h"

static struct vpa_clock *clk;
static struct vpa_loop *loop;
static struct vpa_random rnd;
static struct vpa_transport *transport;
static struct vpa_kube_client *client;

/* now: seconds since 1970. */
static inline void start_client(vpa_memory_serve_fn serve, int64_t now, uint64_t seed)
{
    struct vpa_kube_client_options options = {.qps = -1, .random = &rnd};

    clk = vpa_clock_new_manual(vpa_time_from_unix(now, 0));
    loop = vpa_loop_new(clk);
    transport = vpa_memory_transport_new(loop, serve, NULL);
    vpa_random_init(&rnd, seed);
    options.loop = loop;
    options.transport = transport;
    client = vpa_kube_client_new(&options, NULL);
}

static inline void stop_client(void)
{
    vpa_kube_client_free(client);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clk);
}

#endif
