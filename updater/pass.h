/*
 * One pass: who controls which pods, and for each VPA what happens to its pods.
 *
 *     pass.c   the steps of a pass, and the scheduler that keeps several requests in flight
 *     select.c which VPAs take part, and which pods they control
 *     work.c   one VPA: the steps from "which pods" to "next request", resumable between answers
 *     act.c    one request: eviction, resize, end of a boost; what its answer changes
 *
 * A pass borrows everything of its environment and runs on the loop, pumping it while it waits.
 */
#ifndef UPDATER_PASS_H
#define UPDATER_PASS_H

#include "config.h"
#include "meters.h"
#include "store.h"
#include "vpa/kube/client.h"
#include "vpa/kube/events.h"
#include "vpa/kube/owner.h"
#include "vpa/net/rate.h"
#include "vpa/policy/capping.h"
#include "vpa/policy/disruption.h"
#include "vpa/policy/priority.h"
#include "vpa/policy/update.h"

/* Requests under way at once. */
#define PASS_REQUESTS_MAX 32

/* Whether the server has pods/resize (Kubernetes 1.33): asked after the first 404. */
struct resize_support {
    bool missing;
    bool said;          /* the log line was written */
    int64_t checked_at; /* monotonic */
};

struct pass_env {
    const struct updater_config *config;
    struct vpa_loop *loop;
    struct vpa_kube_client *client;
    struct vpa_events *events;
    struct vpa_owners *owners;
    struct store *store;
    struct vpa_update_memory *memory;
    bool has_passed; /* a whole pass was made: the memory has what is to be known of all pods */
    struct vpa_update_options update;
    struct vpa_priority_options priority;
    struct vpa_disruption_options disruption;
    struct vpa_rate eviction_rate;
    struct vpa_rate in_place_rate;
    struct resize_support resize;
    struct vpa_table
        told_of_auto;           /* "namespace/name" of VPAs of mode Auto that the log has named */
    size_t requests_max;        /* at least 1 */
    bool (*may_act)(void *ctx); /* false: no longer the leader; NULL: always */
    void *may_act_ctx;
    /* What happened in the pass, for logs and tests. */
    void (*on_controlled)(void *ctx, const struct vpa_object *vpa,
                          const struct vpa_pod *const *pods, size_t count); /* may be NULL */
    void *on_controlled_ctx;
};
/* Sets what follows from the flags alone: options, limiters. */
void updater_env_configure(struct pass_env *env, const struct updater_config *config);
/* Frees what passes remember in the environment itself. */
void updater_forget_told(struct pass_env *env);

/* How an attempt to change a pod went. */
enum act_result {
    ACT_OK,
    ACT_SENT,       /* under way */
    ACT_NOT_NEEDED, /* the pod has what it should have: nothing was sent */
    ACT_LIMITED,    /* the limiter gave up: the pass ends */
    ACT_NO_GROUP,
    ACT_BUDGET,
    ACT_NOTHING_TO_PATCH,
    ACT_COMPUTATION,    /* LimitRanges unknown, unusable boost marker */
    ACT_API,            /* the server refused, or could not be reached */
    ACT_API_INFEASIBLE, /* the server says that the node cannot hold it */
};

struct work;
struct action;

struct pass {
    struct pass_env *env;
    struct vpa_arena arena;   /* lives as long as the pass */
    struct vpa_arena scratch; /* cleared per pod */
    int64_t deadline;         /* monotonic */
    struct work **works;      /* ordered by namespace, then name of the VPA */
    size_t work_count;
    struct vpa_table limits;                     /* namespace -> struct vpa_namespace_limits */
    const struct vpa_limit_range **limit_ranges; /* ordered by namespace */
    size_t limit_range_count;
    size_t in_flight;
    struct action *under_way; /* sent, not answered */
    struct action *finished;  /* answered, not yet dealt with; oldest first */
    struct action **finished_tail;
    struct meter_pass gauges;
    bool aborted;
};

void updater_pass_init(struct pass *pass, struct pass_env *env);
void updater_pass_release(struct pass *pass);
/* A VPA with its live pods; both borrowed. Belongs to the pass. */
struct work *updater_pass_add(struct pass *pass, const struct vpa_object *vpa,
                              const struct vpa_pod *const *pods, size_t count);
/* Runs all works to their end, or until a limiter gives up. */
void updater_pass_run_works(struct pass *pass);
/* LimitRanges of a namespace, folded once per pass. */
const struct vpa_namespace_limits *updater_pass_limits(struct pass *pass, const char *ns);
/* Room for one more request. */
bool updater_pass_has_room(const struct pass *pass);
/* Takes a token, waiting for it when the deadline allows that. */
enum pass_token {
    PASS_TOKEN_REFUSED,
    PASS_TOKEN_TAKEN,
    PASS_TOKEN_TAKEN_LATE, /* after a wait: the loop was pumped, answers were dealt with */
};
enum pass_token updater_pass_take_token(struct pass *pass, struct vpa_rate *rate);
/* Deals with the answers that came in. */
void updater_pass_settle(struct pass *pass);
/* Waits until nothing is under way; when the pass is stopped, not for long. */
void updater_pass_drain(struct pass *pass);
/* Nothing may be changed any more: panic, shutdown, leadership in doubt. */
bool updater_pass_is_stopped(const struct pass *pass);

/* The whole pass: status lease, selection, works, metrics. */
void updater_pass_run(struct pass_env *env);

/* ---- who controls which pods ---- */

struct selection;
/* The VPAs that take part, with the selectors of their targets. */
struct selection *updater_select_vpas(struct pass *pass, const struct vpa_object *const *vpas,
                                      size_t count);
void updater_select_release(struct selection *selection);
bool updater_select_any(const struct selection *selection);
/* Hands out the pods, which are in the order of namespace and name. */
void updater_select_pods(struct pass *pass, struct selection *selection,
                         const struct vpa_pod *const *pods, size_t count);
/* A work for each VPA that controls some, in the order of namespace and name. */
void updater_select_works(struct pass *pass, struct selection *selection);

/* ---- one VPA ---- */

enum work_phase {
    WORK_BEGIN,    /* groups and budgets are built */
    WORK_UNBOOST,  /* boosts that are over are taken back */
    WORK_FILTER,   /* the list of pods to change is made */
    WORK_IN_PLACE, /* resizes */
    WORK_EVICT,    /* evictions, also of pods that could not be resized */
    WORK_DRAIN,    /* the last answers */
    WORK_DONE,
};

struct work {
    struct pass *pass;
    const struct vpa_object *vpa;
    enum vpa_update_mode mode;
    struct meter_vpa labels;
    const struct vpa_pod *const *pods;
    size_t pod_count;
    struct vpa_disruption *budget;
    enum work_phase phase;
    size_t next;                       /* position within the phase */
    struct vpa_update_candidate *list; /* prioritised; index is that of the pod */
    bool *evict;                       /* beside list: to be evicted in the last phase */
    size_t list_count;
    size_t in_flight;
    bool evictable, evicted, updatable, updated; /* what happened, for the gauges */
    enum act_result last;                        /* of the action that was dealt with last */
};

enum work_step {
    WORK_STEP_BLOCKED, /* goes on when an answer has come in */
    WORK_STEP_FINISHED,
    WORK_STEP_ABORT, /* a limiter gave up: the pass ends */
};
void updater_work_init(struct work *w, struct pass *pass, const struct vpa_object *vpa,
                       const struct vpa_pod *const *pods, size_t count);
void updater_work_release(struct work *w);
/* What the first step does before anything else: groups, budgets, the counters that always exist.
 */
void updater_work_begin(struct work *w);
/* Whether the state of a pod and its group lets it into the list of pods to change; an infeasible
 * resize that is passed over is counted and announced. */
bool updater_work_keeps(struct work *w, size_t pod);
enum work_step updater_work_step(struct work *w);

/* The pod as events name it; borrows from the pod. */
struct vpa_object_ref updater_pod_ref(const struct vpa_pod *pod);

/* ---- one request ---- */

/* Each returns ACT_SENT, or why nothing was sent. pod: index into w->pods. The answer is dealt with
 * by updater_pass_settle: budget, metrics, events, and for a refused resize the flag w->evict. */
enum act_result updater_act_evict(struct work *w, size_t pod);
/* Takes a token of the in-place limiter first, unless the pod has what it should have. candidate:
 * position in w->list, or SIZE_MAX for an unboost. */
enum act_result updater_act_resize(struct work *w, size_t pod, size_t candidate);
/* Deals with an answered action and frees it. */
void updater_act_finish(struct action *action);
/* Gives up what is under way, without looking at answers. */
void updater_act_cancel_all(struct pass *pass);
struct action *updater_act_next(const struct action *action);

#endif
