/*
 * The fixture of the recommender, the Lease of a standby beside it, and two replicas: the first one
 * leads, the second one stands by.
 */
#ifndef TEST_STANDBY_FIXTURE_H
#define TEST_STANDBY_FIXTURE_H

#include "recommender_fixture.h"

extern unsigned lease_writes, lease_requests;
extern bool lease_denied, lease_broken; /* so are requests of Leases answered */

#define LEASES "coordination.k8s.io/v1"
#define LEASE_OF(HOLDER, TIMES)                                                                    \
    "{\"apiVersion\":\"" LEASES                                                                    \
    "\",\"kind\":\"Lease\",\"metadata\":{\"namespace\":\"kube-system\","                           \
    "\"name\":\"l-standby\"},\"spec\":{\"holderIdentity\":\"" HOLDER "\"" TIMES "}}"

/* The hook that answers requests of Leases as told, and counts them. */
bool watch_lease(const struct vpa_memory_request *q, struct vpa_memory_reply *r);
void setup_lease(void);
/* The Lease of the standby; "": none. */
void store(const char *lease);
/* Of the Lease as it is stored; "" for what is not there. */
const char *lease_member(const char *name);

/* ---- two replicas ---- */

extern bool first_stands_by, second_stands_by;
extern struct recommender *second;

/* Between two passes, where a standby loads at once. */
void setup_both(void);
void teardown_both(void);
struct recommender *replica(const char *identity, const bool *standby);
void load(struct recommender *r);
/* The first one leads; flag as of start(). */
void start_leader(const char *flag);
void start_second(void);
/* Usage that is never the same. */
const char *usage_of(int minute);
/* The first one, if it is there, makes its pass, then the second one. */
void make_passes(int minute);
/* One minute later. */
void both_pass(int minute);

/* ---- what is stored and asked ---- */

#define STORED(VPA)                                                                                \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"                                    \
          "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"" VPA                      \
          "-app\",\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"" VPA                      \
          "\",\"containerName\":\"app\"},\"status\":{"                                             \
          "\"lastUpdateTime\":\"%s\",\"version\":\"v3\",\"cpuHistogram\":{"                        \
          "\"referenceTimestamp\":\"2026-01-15T00:00:00Z\",\"bucketWeights\":{\"9\":10000},"       \
          "\"totalWeight\":8.6},\"memoryHistogram\":{\"referenceTimestamp\":null},"                \
          "\"firstSampleStart\":\"2026-01-10T11:00:00Z\",\"lastSampleStart\":\"%s\","              \
          "\"totalSamplesCount\":62}}")

int64_t samples_of(const char *checkpoint);
/* Hooks that answer so. */
bool refuse_usage(const struct vpa_memory_request *q, struct vpa_memory_reply *r);
extern int lists_of_checkpoints; /* for a hook to count */
extern vpa_duration slowness;    /* of answers, for hooks */
bool is_list_of_checkpoints(const struct vpa_memory_request *q);

/* ---- a leader that passes by a timer ---- */

extern struct vpa_timer *leader_tick;
extern bool leader_passes; /* now */
/* Timers: one pass, one each interval. */
void lead(void *ctx);
void lead_each_interval(void *ctx);
/* The passes of the standby come a second after those of the leader. */
void start_ticking_leader(const char *flag);
/* As soon as an interval has begun since its last one. */
void let_both_pass(int standby_passes);

#endif
