/*
 * One recommender process against the API server in memory and a script of Prometheus answers, in
 * virtual time: the daemon's own constructor and passes, for the sets recommender_scenario,
 * recommender_metrics and history.
 */
#ifndef RECOMMENDER_PROCESS_H
#define RECOMMENDER_PROCESS_H

#include "fake_cluster.h"
#include "golden.h"
#include "recommender_exempt.h"

#include "../../recommender/recommender.h"

#include "vpa/kube/client.h"
#include "vpa/daemon/clock.h"

struct prometheus_request {
    const char *which; /* cpu, memory, labels */
    const char *method;
    const char *path;
    const char *url_query; /* NULL: none */
    const char *content_type;
    const char *authorization;
    const char *body;
    const char *dial;
    int status;
};

struct world { /* what outlives a process */
    struct golden_case *c;
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct fake_cluster *cluster;
    struct exemptions exemptions;
    vpa_time t0;
    vpa_time began;              /* the pass that is compared */
    const struct vpa_json *step; /* of it */
    size_t prometheus_uses[3];
    struct prometheus_request *requests; /* in the case's arena */
    size_t request_count, request_capacity;
};

struct process {
    struct world *world;
    struct vpa_arena arena;
    struct recommender_config config;
    struct vpa_random random;
    struct vpa_transport *transport;
    struct vpa_kube_client *client;
    struct vpa_observe *observe;
    struct recommender *recommender;
    const char *dial; /* of Prometheus */
    bool prometheus_insecure;
};

/* The clock stands 1 s before T0, the case's objects exist. invariant: see recommender_exempt.h. */
void world_init(struct world *w, struct golden_case *c, bool invariant);
void world_release(struct world *w);
/* Lets virtual time pass until T0 + at. */
void world_advance(struct world *w, vpa_duration at);

/*
 * Constructs at 0.7 s before T0 + at, fills the caches, and loads the history at T0 + at. -1 with
 * err when the process would end.
 */
int process_start(struct process *p, struct world *w, vpa_duration at, bool observed,
                  struct vpa_error *err);
void process_stop(struct process *p);

/* Steps of a case: changes, usage, passes; compares every recorded pass. */
void world_run_steps(struct world *w, struct process *p);
void world_compare_requests(struct world *w);
/* A whole case: one process from its start through all steps. */
void world_run_case(struct golden_case *c, bool invariant);

#endif
