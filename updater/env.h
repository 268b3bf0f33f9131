/*
 * What passes work with and what outlives them: settings, caches, the way to the API server,
 * limiters, memory. A pass borrows all of it.
 */
#ifndef UPDATER_ENV_H
#define UPDATER_ENV_H

#include "config.h"
#include "store.h"
#include "vpa/base/table.h"
#include "vpa/daemon/status_lease.h"
#include "vpa/kube/client.h"
#include "vpa/kube/events.h"
#include "vpa/kube/owner.h"
#include "vpa/net/rate.h"
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

struct work;  /* work.h */
struct prove; /* prove.h */

struct pass_env {
    const struct updater_config *config;
    struct vpa_loop *loop;
    struct vpa_kube_client *client;
    struct vpa_events *events;
    struct vpa_owners *owners;
    struct store *store;
    struct vpa_update_memory *memory;
    struct vpa_ledger *ledger;      /* NULL: nothing is written down */
    struct vpa_status_view webhook; /* its Lease */
    struct vpa_table notes;         /* by VPA (note.h) */
    size_t rest_room;               /* entries of pods left alone that the pass may still make */
    const char *halted;             /* the rule by which passes do nothing; NULL: they go on */
    struct prove *prove;            /* what actions did; NULL: nobody looks */
    size_t few_from, paused_from;   /* VPAs with which their conditions begin (condition.h) */
    size_t works_from;              /* the work with which the next pass begins (run.c) */
    bool told_of_dry_run;           /* the log says that it cannot be done */
    struct vpa_update_options update;
    struct vpa_priority_options priority;
    struct vpa_disruption_options disruption;
    struct vpa_rate eviction_rate;
    struct vpa_rate in_place_rate;
    struct resize_support resize;
    uint64_t vpas_gone;  /* when what was counted of them was dropped last */
    bool told_of_stale;  /* the log says that nothing is done, and why */
    size_t requests_max; /* at least 1 */
    bool all_proven;     /* evicted pods are not waited for: the vectors' clusters never change */
    bool (*may_act)(void *ctx); /* false: no longer the leader; NULL: always */
    void *may_act_ctx;
    /* What happened in the pass, for logs and tests. */
    void (*on_controlled)(void *ctx, const struct vpa_object *vpa,
                          const struct vpa_pod *const *pods, size_t count); /* may be NULL */
    void *on_controlled_ctx;
    /* Right before the list of a VPA is made: budgets and memory are as it will find them. It only
     * looks. NULL: nobody. */
    void (*on_work)(void *ctx, const struct work *work);
    void *on_work_ctx;
    vpa_duration wall_ahead; /* of the monotonic clock, when this process began */
};
/* Sets what follows from the flags: options, limiters. The memory is there already. */
void updater_env_configure(struct pass_env *env, const struct updater_config *config);
/* The time of day, by which objects are old. The API server and nodes have dated them: while our
 * clock is ahead of the server's by more than a minute, it is the server's. */
vpa_time updater_env_now(const struct pass_env *env);
/* The time of day that would be, had nobody set the clock since this process began: what waits and
 * is waited for is judged by it. */
vpa_time updater_env_steady(const struct pass_env *env);
/* No action rests on a cache that may lack what happened longer ago than this (U23). */
#define UPDATER_CACHE_AGE_MAX (90 * VPA_SECOND)
/* The cache that is older than that, and its age; NULL when all are fresh. */
const char *updater_env_stale_cache(const struct pass_env *env, vpa_duration *age);
/* Whether boosts of the VPA are looked after: gate on, and it has some. */
bool updater_env_boosts(const struct pass_env *env, const struct vpa_object *vpa);
/* Nothing may be changed any more: panic, shutdown, leadership in doubt, a cache that is behind. */
bool updater_env_is_stopped(const struct pass_env *env);

#endif
