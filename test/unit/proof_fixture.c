#include "proof_fixture.h"

void learn(void)
{
    server.proving = true;
    start(0);
}

void restart(void)
{
    updater_free(server.updater);
    vpa_kube_client_free(server.client);
    start(0);
}

void pass_for(int minutes)
{
    for (int i = 0; i < minutes; i++) {
        updater_pass(server.updater);
        vpa_loop_pump(server.loop, VPA_MINUTE);
    }
}

const char *condition(void)
{
    return server.conditions ? server.conditions : "";
}

double failed_proofs(const char *reason)
{
    return metric("vpa_updater_failed_proofs_total", (const char *const[]){reason, "v00", "n"});
}

double paused(const char *scope)
{
    return metric("vpa_updater_paused", (const char *const[]){scope});
}
