/*
 * fakelet: nodes, and the pods on them, as a cluster's API sees them. It speaks only the Kubernetes
 * API, so it serves a simulated and a real control plane alike. It registers nodes, runs the pods
 * that are bound to them (start, readiness, usage from traces, out-of-memory kills, restarts,
 * resizes in place, termination) and answers metrics.k8s.io.
 *
 * Reading order: usage.h (what a container uses), run.c (the life of a container), resize.c
 * (resizes in place), status.c (what is told to the API server), pods.c (which pods there are),
 * metrics.c, main.c.
 *
 * What a pod does is said by its annotations; a suffix ".CONTAINER" makes one count for that
 * container only:
 *     fakelet.plumb/trace            name of a recording (NAME.csv in --traces)
 *     fakelet.plumb/stretch          seconds of cluster time per second of the recording (1)
 *     fakelet.plumb/clock            "wall": the recording follows the clock, all replicas alike
 *                                    (default); "start": it begins with the container
 *     fakelet.plumb/cpu-scale, fakelet.plumb/memory-scale        factors (1)
 *     fakelet.plumb/memory-base      bytes added after scaling (0)
 *     fakelet.plumb/replica-scales   "1,1,0.5": factor of both for the replica with that ordinal
 *     fakelet.plumb/cpu, fakelet.plumb/memory    constant usage instead of a recording
 *     fakelet.plumb/after            how long a container with constant usage is idle at first (0)
 *     fakelet.plumb/startup-cpu      CPU seconds of work before the container is ready (0); the
 *                                    work goes at the speed of the cpu limit, on at most
 *                                    startup-cores
 *     fakelet.plumb/startup-cores    cores that the work can use at once (4)
 *     fakelet.plumb/run              how long the container runs before it ends with status 0
 *                                    (for ever)
 *     fakelet.plumb/oom-after        how long the container runs before it is killed for its memory
 *     fakelet.plumb/stop             how long it takes to end (1s)
 *     fakelet.plumb/resize           how long the node takes to act on a resize (1s); "never":
 *                                    not at all; "error": it fails; "infeasible": it is refused
 *     fakelet.plumb/fault            "never-ready", "crash" (ends with status 1 at once),
 *                                    "no-start" (the whole pod stays Pending)
 */
#ifndef FAKELET_H
#define FAKELET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "usage.h"
#include "vpa/api/pod.h"
#include "vpa/base/table.h"
#include "vpa/kube/client.h"
#include "vpa/kube/reflector.h"
#include "vpa/net/http_server.h"
#include "vpa/net/loop.h"

#define ANNOTATION "fakelet.plumb/"

enum run_state { RUN_WAITING, RUN_RUNNING, RUN_TERMINATED };

/* One container of a pod, as the node runs it. Texts and lists live in the arena of the pod. */
struct run {
    const char *name;
    struct usage usage;
    enum run_state state;
    bool has_probe; /* readinessProbe: ready when the start-up work is done, else at once */
    bool ready;
    int32_t restarts;
    vpa_time started;   /* of the running or last instance */
    vpa_time finished;  /* of the last instance */
    const char *reason; /* of its end: OOMKilled, Error, Completed */
    int32_t exit_code;
    bool had_instance; /* lastState is filled from the three above */
    vpa_time last_started, last_finished;
    const char *last_reason;
    int32_t last_exit_code;
    vpa_time not_before;                /* back-off of the next instance */
    double startup_done;                /* CPU seconds of start-up work done */
    vpa_time ready_at;                  /* once ready: since when, at the latest step */
    struct vpa_resource_list allocated; /* requests that the node has promised */
    struct vpa_resources actual;        /* what the container runs with */
};

enum resize_phase {
    RESIZE_NONE,
    RESIZE_DEFERRED,
    RESIZE_INFEASIBLE,
    RESIZE_IN_PROGRESS,
    RESIZE_ERROR
};

struct node;
struct pod {
    char *key;              /* namespace/name */
    struct vpa_arena arena; /* of the object below and all runs */
    struct vpa_pod object;  /* as last seen */
    const char *restart_policy;
    struct node *node;
    struct run *runs; /* in the order of spec.containers */
    size_t run_count;
    bool started; /* phase has left Pending */
    const char *phase;
    vpa_time started_at;  /* status.startTime */
    vpa_time ready_since; /* lastTransitionTime of Ready */
    bool ready;
    vpa_time deleting_since; /* unset while it lives */
    enum resize_phase resize;
    vpa_time resize_since;   /* lastTransitionTime of its condition */
    vpa_time resize_done_at; /* when the node will have acted */
    char resize_message[256];
    int64_t observed_generation;
    bool dirty;   /* the status is to be written */
    bool writing; /* a request is under way */
    bool gone;    /* deleted by us */
    bool seen;    /* during a list */
    int ip;       /* last number of the address */
    struct fakelet *fakelet;
    struct vpa_kube_request *request;
};

struct node {
    char *name;
    int64_t cpu_millis; /* allocatable */
    int64_t memory_bytes;
    int64_t pods;
    bool registered;
};

struct fakelet_options {
    const char *kubeconfig;
    const char *traces;
    const char *node_prefix;
    int64_t node_count;
    struct vpa_quantity node_cpu;
    struct vpa_quantity node_memory;
    int64_t node_pods;
    vpa_duration tick;
    vpa_duration resolution; /* of the metrics */
    const char *metrics_address;
    const char *tls_cert;
    const char *tls_key;
    const char *record; /* file of served samples */
    bool all_nodes;
};

struct fakelet {
    struct fakelet_options options;
    struct vpa_clock *clock; /* borrowed */
    struct vpa_loop *loop;
    struct vpa_kube_client *client;
    struct traces *traces;
    struct node *nodes;
    size_t node_count;
    struct vpa_table pods; /* key to struct pod */
    struct vpa_reflector *reflector;
    struct vpa_http_server *metrics;
    struct vpa_timer *timer;
    int64_t next_tick;    /* monotonic */
    atomic_bool stopping; /* the loop turns no more: nobody waits for it */
    int record_fd;
    int next_ip;
    bool failed;
};

/* nodes.c: registers the nodes (creates or updates them, with Ready status and without taints). */
int nodes_register(struct fakelet *f, struct vpa_error *err);
struct node *node_find(struct fakelet *f, const char *name);
/* Sum of the promised requests of the live pods of a node, without one of them. */
void node_promised(struct fakelet *f, const struct node *node, const struct pod *without,
                   int64_t *cpu_millis, int64_t *memory_bytes);

/* pods.c */
int pods_start(struct fakelet *f, struct vpa_error *err);
void pods_release(struct fakelet *f);
/* One step of all pods at `now`: starts, work, ends, resizes, and the writes that follow. */
void pods_step(struct fakelet *f, vpa_time now);
const char *pod_annotation(const struct pod *pod, const char *name, const char *container);
vpa_duration pod_duration(const struct pod *pod, const char *name, const char *container,
                          vpa_duration preset);

/* run.c */
void run_init(struct pod *pod, struct run *run, const struct vpa_container *container);
/* Moves one container to `now`; true when something that the API server knows changed. */
bool run_step(struct pod *pod, struct run *run, vpa_time now, vpa_duration step);
/* Millicores and bytes at `now`, zeros unless running: what the container would use with any amount
 * of memory, and what it uses. */
void run_demand(const struct run *run, vpa_time now, double *cpu_millis, double *memory_bytes);
void run_usage(const struct run *run, vpa_time now, double *cpu_millis, double *memory_bytes);
void run_restart(struct run *run, vpa_time now);

/* resize.c: desired against promised against actual; true when the status changed. */
bool resize_step(struct pod *pod, vpa_time now);

/* status.c: the body of the patch of status, as the node sees the pod. */
void status_encode(const struct pod *pod, struct vpa_buf *out);

/* metrics.c */
int metrics_start(struct fakelet *f, struct vpa_error *err);

#endif
