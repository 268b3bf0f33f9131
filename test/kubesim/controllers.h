/*
 * Mini controllers: one thread that looks at what changed, marks the objects concerned and
 * reconciles them one after the other through the ordinary request path (so admission, quotas and
 * webhooks see what controllers do).
 */
#ifndef KUBESIM_CONTROLLERS_H
#define KUBESIM_CONTROLLERS_H

#include "sim.h"
#include "vpa/base/table.h"

/* A work item: what to reconcile. */
enum work_kind {
    WORK_DEPLOYMENT,
    WORK_REPLICA_SET,
    WORK_STATEFUL_SET,
    WORK_DAEMON_SET,
    WORK_JOB,
    WORK_CRON_JOB,
    WORK_REPLICATION_CONTROLLER,
    WORK_BUDGET,
    WORK_POD, /* scheduling */
    WORK_NAMESPACE,
    WORK_NODE,
    WORK_KINDS,
};
struct work {
    enum work_kind kind;
    char *ns;
    char *name;
    int64_t not_before; /* real milliseconds */
    char key[];
};
struct node_use {
    int64_t cpu_millis, memory_bytes, pods;
    char name[];
};
struct placed {
    char *node;
    int64_t cpu_millis, memory_bytes;
    char key[];
};
struct controllers {
    struct sim *sim;
    pthread_t thread;
    bool running;
    struct vpa_table queue;  /* key -> struct work */
    struct vpa_table placed; /* pod -> struct placed */
    struct vpa_table nodes;  /* node -> struct node_use */
    struct {
        struct collection *c;
        uint64_t seen;
    } cursors[128];
    size_t cursor_count;
    struct vpa_arena a; /* of the item in hand */
    bool on[16];
    int64_t next_tick;
    unsigned jumps; /* of the clock, at the last tick */
    bool waiting;   /* for something to happen; by the lock of the store */
};

enum {
    ON_DEPLOYMENT,
    ON_REPLICA_SET,
    ON_STATEFUL_SET,
    ON_DAEMON_SET,
    ON_JOB,
    ON_CRON_JOB,
    ON_SCHEDULER,
    ON_DISRUPTION,
    ON_GARBAGE,
    ON_NAMESPACE,
    ON_SERVICE_ACCOUNT,
    ON_NODE,
    ON_COUNT
};

/* Whether there is nothing to do; the lock is held. */
bool controllers_are_quiet(const struct sim *sim);
void enqueue(struct controllers *k, enum work_kind kind, const char *ns, const char *name,
             int delay_ms);

/* ---- looking (they take the lock themselves; results live in k->a) ---- */
struct jv *load_object(struct controllers *k, const char *group, const char *plural, const char *ns,
                       const char *name);
/* Objects of a namespace whose controller has that uid (NULL: all of the namespace; ns ""
 * everywhere). */
struct jv *load_owned(struct controllers *k, const char *group, const char *plural, const char *ns,
                      const char *uid);

/* ---- acting ---- */
int call(struct controllers *k, const char *method, const char *path, const char *type,
         const struct jv *body, struct jv **out);
int create_pod(struct controllers *k, const char *api, const char *kind, const struct jv *owner,
               const struct jv *template, const char *name, const char *node,
               const struct jv *extra_labels);
void delete_pod(struct controllers *k, const struct jv *pod);
/* Merge-patches the status when it differs from what is there. */
void put_status(struct controllers *k, const char *path, const struct jv *old, struct jv *status);
struct jv *owner_reference(struct controllers *k, const char *api, const char *kind,
                           const struct jv *owner);
bool pod_ready(const struct jv *pod);
bool pod_active(const struct jv *pod);
struct jv *make_condition(struct controllers *k, const struct jv *old_list, const char *type,
                          bool yes, const char *reason, const char *message);
const char *template_hash(struct controllers *k, const struct jv *template);

void reconcile_deployment(struct controllers *k, const char *ns, const char *name);
void reconcile_replica_set(struct controllers *k, const char *ns, const char *name, bool rc);
void reconcile_stateful_set(struct controllers *k, const char *ns, const char *name);
void reconcile_daemon_set(struct controllers *k, const char *ns, const char *name);
void reconcile_job(struct controllers *k, const char *ns, const char *name);
void reconcile_cron_job(struct controllers *k, const char *ns, const char *name);
void reconcile_budget(struct controllers *k, const char *ns, const char *name);
void reconcile_namespace(struct controllers *k, const char *name);
void reconcile_node(struct controllers *k, const char *name);
void schedule_pod(struct controllers *k, const char *ns, const char *name);
bool note_pod_place(struct controllers *k, const struct version *v, bool deleted); /* lock held */
void collect_dependents(struct controllers *k, const char *uid, const char *ns);
void collect_foreground(struct controllers *k, struct collection *c, const struct version *v);

#endif
