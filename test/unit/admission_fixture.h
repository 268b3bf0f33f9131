/*
 * The admission controller against an API server in memory, for its tests: objects are given as
 * JSON with ' for ", writes are kept as text.
 */
#ifndef TEST_ADMISSION_FIXTURE_H
#define TEST_ADMISSION_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "admission.h"
#include "policy_fixtures.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"

struct fixture {
    struct vpa_arena arena;
    const char *vpas; /* items of the list, "" for none */
    const char *limit_ranges;
    const char *config_maps;
    vpa_duration config_maps_delay;
    const char *stateful_sets;
    int lease_writes;
    int webhook_reads;        /* of the registration */
    const char *registration; /* the object; NULL: we may not read it, "": there is none */
    struct vpa_memory_stream *stateful_set_watch;
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
/* What that API server answers; ctx: the fixture. */
void fixture_serve(void *ctx, const struct vpa_memory_request *request,
                   struct vpa_memory_reply *reply);
/* real: the real clock, for tests with sockets. f->vpas and so on are set before; the flags after
 * it. */
void fixture_start(struct fixture *f, bool real);
void fixture_daemon(struct fixture *f, bool unbound);
void fixture_stop(struct fixture *f);

#endif
