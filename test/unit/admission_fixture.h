/*
 * The admission controller against the simulator, for its tests: objects are given as JSON with '
 * for ".
 */
#ifndef TEST_ADMISSION_FIXTURE_H
#define TEST_ADMISSION_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "admission.h"
#include "policy_fixtures.h"
#include "manual_clock.h"
#include "sim_cluster.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"

struct fixture {
    struct vpa_arena arena;
    const char *vpas; /* that there are at the start, as fixture_put takes them */
    const char *limit_ranges;
    const char *config_maps;
    const char *stateful_sets;
    struct sim_cluster *sim;
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct vpa_transport *transport;
    struct vpa_random random;
    struct vpa_kube_client *client;
    struct admission_config config;
    struct vpa_observe *observe; /* NULL: nobody asks for health */
    struct vpa_ledger *ledger;
    struct admission *admission;
};

void fixture_quiet(void);
/* real: the real clock, for tests with sockets. f->vpas and so on are set before; the flags after
 * it. The registration may not be read. */
void fixture_start(struct fixture *f, bool real);
/* Objects of one kind with commas between them, without apiVersion and kind; NULL and "": none. */
void fixture_put(struct fixture *f, const char *api_version, const char *kind, const char *items);
/* A registration with that CA; it may be read, as all that a script has forbidden. */
void fixture_register(struct fixture *f, const char *ca);
size_t fixture_lease_writes(const struct fixture *f);
void fixture_daemon(struct fixture *f, bool unbound);
void fixture_stop(struct fixture *f);

#endif
