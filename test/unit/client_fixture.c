#include "client_fixture.h"

struct vpa_clock *clk;
struct vpa_loop *loop;
struct vpa_random rnd;
struct vpa_transport *transport;
struct vpa_kube_client *client;
struct sim_cluster *sim;

void start_client(vpa_memory_serve_fn serve, int64_t now, uint64_t seed)
{
    struct vpa_kube_client_options options = {.qps = -1, .random = &rnd};

    clk = vpa_clock_new_manual(vpa_time_from_unix(now, 0));
    loop = vpa_loop_new(clk);
    sim = serve ? NULL : sim_cluster_new(loop);
    transport = vpa_memory_transport_new(loop, serve ? serve : sim_cluster_serve, sim);
    vpa_random_init(&rnd, seed);
    options.loop = loop;
    options.transport = transport;
    client = vpa_kube_client_new(&options, NULL);
}

void stop_client(void)
{
    vpa_kube_client_free(client);
    vpa_transport_free(transport);
    if (sim)
        sim_cluster_free(sim);
    vpa_loop_free(loop);
    vpa_clock_free(clk);
}
