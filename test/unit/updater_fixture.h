/*
 * The updater against the simulator (sim_cluster.h), which answers late: one ReplicaSet per VPA,
 * all pods alike. Set the fields of `server` after setup(), then start(). What changes later is
 * shown (show_vpas(), show_pod(), ...) once the fields say so.
 */
#ifndef TEST_UPDATER_FIXTURE_H
#define TEST_UPDATER_FIXTURE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "suite.h"
#include "../../updater/updater.h"
#include "sim_cluster.h"
#include "manual_clock.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/base/random.h"

#define TEXT_MAX ((size_t)4 << 20)
#define CALLS_MAX 512
#define START_SECONDS 1772366400 /* 2026-03-01T12:00:00Z */

/* A real server's answer to a precondition that does not hold. */
#define CONFLICT                                                                                   \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Conflict\",\"message\":\"the UID "   \
    "in the precondition does not "                                                                \
    "match\",\"details\":{\"name\":\"p\",\"kind\":\"Pod\"},\"code\":409}"

/* And to a patch whose tests do not. */
#define NOT_AS_TESTED                                                                              \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"message\":\"the "        \
    "server rejected our request due to an error in our "                                          \
    "request\",\"details\":{},\"code\":422}"

struct server {
    /* objects */
    int vpas, pods_per_vpa;
    int strangers;           /* pods, each of a custom resource of its own */
    const char *stranger_ns; /* their namespace */
    bool own_groups;         /* of an API group of its own, which is not there */
    bool spread;        /* each VPA has a namespace of its own, n00, n01, ...; else all are in n */
    const char *mode;   /* of the VPAs */
    const char *status; /* more conditions of each pod's status */
    const char *pod;    /* more members of each pod's metadata */
    const char *labels; /* more members of each pod's labels */
    const char *boost;  /* more members of each VPA's spec */
    bool proving;       /* outcomes of actions are looked at */
    const char *reborn; /* cpu of replaced pods; NULL: as of all */
    const char *reborn_status; /* more members of their status */
    bool lost;                 /* evicted pods are not replaced */
    const char *unscheduled;   /* a pod that no node takes; NULL: none */
    int unscheduled_code;      /* of the answers to it; 0: it is there */
    char *conditions;          /* of the first VPA, as its status was patched; heap */
    int generation_of_vpas;
    const char *uid_of_vpas; /* their numbers stand behind it */
    bool status_denied;
    int status_code;           /* of the answers to other patches of a status; 0: it is patched */
    const char *status_body;   /* of them; NULL: a Status without details */
    const char *status_of;     /* the VPA whose patches it answers; NULL: all of them */
    vpa_duration status_delay; /* of the same answers, be they patched */
    size_t status_tries;       /* patches of a status, whatever the answer */
    const char *dry_cpu;       /* of pods that are tried; NULL: as it was sent */
    bool no_right;             /* to create pods */
    const char *dry_refusal;   /* text of a 403 */
    const char *dry_answer;    /* instead of the pod that was tried; NULL: that */
    int pod_code;              /* of the answers to reads of one pod; 0: it is there */
    int review_code;           /* of those to what we may; 0: as no_right says */
    char *dry_body;            /* of the last one; heap */
    size_t dry_runs;
    size_t status_patches, unscheduled_lists;
    bool selects;          /* VPAs have a selector instead of a target */
    const char *request;   /* cpu of each pod */
    const char *spec;      /* more members of each pod's spec */
    const char *container; /* more members of each pod's container */
    const char *policy;    /* more members of each VPA's updatePolicy */
    const char *first_pod; /* more members of the first pod's metadata, NULL: as all */
    const char *owner_version, *owner_kind; /* of the pods */
    int replicas;                           /* of each ReplicaSet; 0: as there are pods */
    const char *limits;                     /* items of the list of LimitRanges */
    bool panic;
    const char *frozen;   /* watches of this collection are not answered any more; NULL: all are */
    bool old;             /* no pods/resize */
    const char *renewed;  /* of the status lease, NULL: there is none */
    const char *acquired; /* more members of it */
    int lease_code;       /* of the answers to reads of it; 0: it is there as told */
    /* answers */
    vpa_duration delay;
    vpa_duration page_delay;       /* of the second page of pods; 0: all in one page */
    const char *slow;              /* the list of this collection never comes; NULL: all do */
    vpa_duration panic_delay;      /* of the list of the panic ConfigMap */
    const char *resize_refusal;    /* the Status that answers every resize; NULL: none */
    const char *eviction_refusal;  /* and every eviction */
    int refusal_code;              /* of both; 0: 403 */
    vpa_duration annotation_delay; /* of the answers to patches of a pod's annotations */
    int annotation_code; /* of the answers to patches of a pod's annotations; 0: it is patched */
    int refuse;          /* every n-th eviction or resize is refused, 0: none */
    int refuse_from;
    const char *refused; /* changes of pods whose names begin so are refused as well; NULL: none */
    bool unanswered;     /* changes are carried out, but the answers are lost */
    int unanswered_code; /* what comes in their place; 0: nothing */
    const char *unanswered_body;
    int retry_after; /* of refusals, in seconds; 0: none */
    bool doubtful;   /* the first try of each change is answered by 504, asking for a second one */
    bool scale_fails;
    bool stuck;                 /* evicted pods stay as they are in what the updater sees */
    bool stale;                 /* evictions and resizes find another pod than was decided on */
    int stop_at;                /* the loop is stopped at that write, 0: never */
    int panic_at;               /* the panic ConfigMap appears at that write */
    size_t panic_at_status;     /* or at that patch of a status; 0: never */
    bool (*may_act)(void *ctx); /* of the updater's options, with &server */
    /* what happened */
    char *calls[CALLS_MAX];
    char *last_body;       /* of the last eviction or resize */
    char *last_annotation; /* patch of a resized pod */
    size_t call_count;
    size_t scale_reads, flow_reads, discoveries;
    struct vpa_buf event_bodies;
    size_t events, annotated, lease_reads, streams, most_open;
    int generation[CALLS_MAX]; /* of each pod of the first VPAs: how often it was replaced */
    bool touch; /* the VPA is written anew at each read of the lease and each change */
    /* the updater */
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    struct sim_cluster *sim;
    struct vpa_transport *transport;
    struct vpa_random random;
    struct vpa_kube_client *client;
    struct updater_config config;
    struct updater *updater;
};

extern struct server server;

/* ---- objects ---- */

#define VPA_API "autoscaling.k8s.io/v1"
#define VPA_KIND "VerticalPodAutoscaler"

/* Objects that come, change and go; the text has neither apiVersion nor kind. */
void show_object(const char *api_version, const char *kind, const char *object);
void hide_object(const char *api_version, const char *kind, const char *ns, const char *name);
/* The updater takes what has happened, and time stands still. */
void settle(void);
/* As the fields of `server` say now; texts are on the heap. */
char *vpa_text(int v);
char *pod_text(int v, int p);
void show_vpas(void);
void show_pod(int v, int p);
/* Pod p of the first VPA as the kubelet leaves it: with the cpu that is wanted, and ready since
 * then, or not (NULL). more: members of its status. */
void show_resized(int p, const char *ready_since, const char *more);
void show_resized_to(const char *cpu, int p, const char *ready_since, const char *more);
void hide_vpa(const char *name);
int *generation_of(int v, int p);
/* A replaced pod has another UID and is younger; what is wanted of pods is the same. */
void replace_pod(const char *name);
void touch_vpa(void);
void show_panic(void);
void hide_panic(void);

/* ---- life ---- */

void setup(void);
/* What the fields say is there, and who asks for it. */
void connect_cluster(void);
/* Caches begin to fill. */
void begin(size_t requests_max);
void start(size_t requests_max);
void forget_calls(void);
/* All calls of the test so far, on the heap. */
char *joined_calls(void);
void teardown(void);
double metric(const char *name, const char *const *labels);

#endif
