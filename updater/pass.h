/*
 * What the works of one pass share: its memory, its deadline, LimitRanges, gauges, and the requests
 * in flight. A pass borrows everything of its environment and runs on the loop, pumping it while it
 * waits. Read in this order, each file uses only those before it:
 *
 *     env.h     what passes work with
 *     note.h    what is remembered of a VPA between passes
 *     unknown.h what is not to be touched, because an object is unknown
 *     pass.h    what a pass holds
 *     work.h    one VPA in the pass: its pods, groups, budgets and list
 *     words.h   why a pod is left alone, in words
 *     told.h    the same for the ledger, when the answer changes
 *     select.h  which VPAs take part, which pods they control, and what an earlier process may have
 *               left under way
 *     condition.h  a condition of ours
 *     few.h     the condition of VPAs whose pods are too few to be changed
 *     trial.h   what became of one request
 *     prove.h   whether acting helps: trials, breakers, conditions (paused.h)
 *     answer.h  requests under way: waiting for the limiter and for answers, and what these change
 *     act.h     one request: eviction, resize, end of a boost
 *     steps.h   one VPA, from "which pods" to "next request", resumable between answers
 *     run.h     the pass from beginning to end
 */
#ifndef UPDATER_PASS_H
#define UPDATER_PASS_H

#include "env.h"
#include "meters.h"
#include "vpa/policy/capping.h"

struct action;
struct unknown;
struct work;

struct pass {
    struct pass_env *env;
    struct vpa_arena arena;                      /* lives as long as the pass */
    struct vpa_arena scratch;                    /* cleared per pod */
    int64_t deadline;                            /* monotonic */
    struct vpa_table limits;                     /* namespace -> struct vpa_namespace_limits */
    const struct vpa_limit_range **limit_ranges; /* ordered by namespace */
    size_t limit_range_count;
    uint64_t pod_changes; /* of pods, when its list of them was made */
    size_t in_flight;
    struct action *under_way; /* sent, not answered */
    struct action *finished;  /* answered, not yet dealt with; oldest first */
    struct action **finished_tail;
    struct unknown *unknown; /* what is not to be touched */
    struct meter_pass gauges;
    const struct vpa_rate *spent; /* the limiter that has given up: it gives nothing any more */
    bool all_spent;               /* so has the other one, or the deadline is over */
    const char *doing;            /* for the log line of a pass that takes too long */
};

void updater_pass_init(struct pass *pass, struct pass_env *env);
/* Nothing may be in flight. */
void updater_pass_release(struct pass *pass);
/* LimitRanges of a namespace, folded once per pass. */
const struct vpa_namespace_limits *updater_pass_limits(struct pass *pass, const char *ns);
/* The recommendation as it is for this pod, or, when it is evicted, for its replacement; absent
 * when there is none, or it cannot be told. In the scratch memory, which is cleared first. */
struct vpa_recommendation updater_pass_wanted(struct pass *pass, const struct vpa_object *vpa,
                                              const struct vpa_pod *pod, bool evicts);
/* Room for one more request. */
bool updater_pass_has_room(const struct pass *pass);
/* It has taken an interval: what was found out at its beginning is too old to go on with. */
bool updater_pass_is_late(const struct pass *pass);

#endif
