/*
 * One VPA in a pass: its pods, their groups and budgets, and the list of pods to change.
 */
#ifndef UPDATER_WORK_H
#define UPDATER_WORK_H

#include "pass.h"
#include "vpa/policy/rest_facts.h"

/* How an attempt to change a pod went. */
enum act_result {
    ACT_OK,
    ACT_SENT,       /* under way */
    ACT_NOT_NEEDED, /* the pod has what it should have: nothing was sent */
    ACT_LIMITED,    /* the limiter gave up: the work ends */
    ACT_NO_GROUP,
    ACT_BUDGET, /* not now: the group cannot spare the pod */
    ACT_NOTHING_TO_PATCH,
    ACT_REFUSED,        /* not sent: the server refused the very same of late */
    ACT_COMPUTATION,    /* LimitRanges unknown, unusable boost marker */
    ACT_STALE,          /* the pod is another one, or has other resources: decided anew next time */
    ACT_API,            /* the server refused, or could not be reached */
    ACT_API_INFEASIBLE, /* the server says that the node cannot hold it */
};

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
    const bool *held; /* beside pods: not to be touched; NULL: all may be */
    size_t pod_count;
    struct vpa_disruption *budget;
    enum work_phase phase;
    size_t next;                       /* position within the phase */
    struct vpa_update_candidate *list; /* prioritised; index is that of the pod */
    bool *gone;                        /* beside pods: seen to have gone since the pass began */
    bool *left;                        /* beside pods: an eviction of it was sent */
    uint64_t looked;                   /* changes of pods that `gone` knows of */
    int64_t looked_at;                 /* monotonic */
    bool *evict;                       /* beside list: to be evicted in the last phase */
    size_t list_count;
    size_t in_flight;
    bool served;                                 /* a limiter has given it a token in this pass */
    bool evictable, evicted, updatable, updated; /* what happened, for the gauges */
    enum act_result last;                        /* of the action that was dealt with last */
    size_t rests[VPA_REST_COUNT]; /* pods that are left alone in this pass, by rule */
    struct told *told;            /* what the ledger has of the VPA; NULL without a ledger */
    struct rest_note *notes;      /* what it is to be told */
};
struct rest_note { /* told.h */
    struct rest_note *next;
    enum vpa_rest rest;
    size_t pod;
    char *why, *inputs; /* heap */
};

void updater_work_init(struct work *w, struct pass *pass, const struct vpa_object *vpa,
                       const struct vpa_pod *const *pods, const bool *held, size_t count);
/* Frees what the work holds; may be called twice. */
void updater_work_clear(struct work *w);
/* Groups, budgets, the counters that always exist. */
void updater_work_begin(struct work *w);
/* Looks at the resizes of the pods, once per pass: their timers start and end here. */
void updater_work_observe(struct work *w);
/* Looks at the cache: pods that went, are going or are others since the pass began no longer count
 * as running, and are left alone. */
void updater_work_look(struct work *w);
/* The pod was not evicted after all. */
void updater_work_take_back(struct work *w, size_t pod);
bool updater_work_is_held(const struct work *w, size_t pod);
/* Whether the VPA asks for what it asked for when the pass began: it is there, known, and its spec
 * is the same. */
bool updater_work_is_current(const struct work *w);
/* Whether the VPA is current, and the pod still the one that the pass began with. */
bool updater_work_is_there(const struct work *w, size_t pod);
/* Before anything is done to a pod of the group: a number of replicas that was read from a scale is
 * read anew, pumping the loop. */
void updater_work_confirm(struct work *w, struct vpa_replica_group *group);
void updater_work_drop_notes(struct work *w);
/* What a decision about the pod rests on now. */
struct vpa_decision_facts updater_work_facts(const struct work *w, const struct vpa_pod *pod);
/* The same with the state of pod i and its group. */
struct vpa_rest_facts updater_work_state(const struct work *w, size_t i);

/* Counts and announces an infeasible resize that is passed over. */
void updater_work_skip_infeasible(struct work *w, size_t pod);

/* The pod and the VPA as events name them; they borrow from both. */
struct vpa_object_ref updater_pod_ref(const struct vpa_pod *pod);
struct vpa_object_ref updater_vpa_ref(const struct vpa_object *vpa);

#endif
