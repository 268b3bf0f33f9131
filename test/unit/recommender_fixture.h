/*
 * The whole recommender against the API server in memory of the golden sets: one VPA in namespace
 * "shop". start() gets through the lists, pass() makes a pass; a hook may answer instead.
 */
#ifndef TEST_RECOMMENDER_FIXTURE_H
#define TEST_RECOMMENDER_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "../../recommender/metrics.h"
#include "../../recommender/recommender.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "fake_cluster.h"
#include "manual_clock.h"

#define CHECKPOINTS "/apis/autoscaling.k8s.io/v1/namespaces/shop/verticalpodautoscalercheckpoints"

/* True: the hook has answered. */
typedef bool (*hook_fn)(const struct vpa_memory_request *q, struct vpa_memory_reply *r);

extern struct vpa_arena arena;
extern struct vpa_clock *virtual_clock;
extern struct vpa_loop *loop;
extern struct fake_cluster *server;
extern hook_fn hook;
extern unsigned hook_calls;
extern struct recommender_config config;
extern struct vpa_transport *transport;
extern struct vpa_kube_client *client;
extern struct recommender *recommender;
extern struct vpa_ledger *ledger; /* NULL: none */

const struct vpa_json *json(const char *text);
void change(const char *text);

#define APPLY(object) "{\"apply\":" object "}"
/* A checkpoint of shop/web, app, of a version that nobody knows. */
#define UNREADABLE_CHECKPOINT                                                                      \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"                                                  \
          "v1\",\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{"                       \
          "\"name\":\"web-app\",\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"web\","      \
          "\"containerName\":"                                                                     \
          "\"app\"},\"status\":{\"version\":\"v9\",\"precious\":true}}")
#define VPA(name, created)                                                                         \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"                                                  \
          "v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":"                        \
          "\"" name "\",\"namespace\":\"shop\",\"generation\":1,\"creationTimestamp\":\"" created  \
          "\"},\"spec\":{"                                                                         \
          "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}}}")
#define POD(name)                                                                                  \
    APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                 \
          "\",\"namespace\":\"shop\","                                                             \
          "\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"app\"}]},"          \
          "\"status\":{\"phase\":"                                                                 \
          "\"Running\"}}")
/* An eviction for memory, of a container that used that much. */
#define EVICTION(name, uid, when, usage)                                                           \
    "{\"apply\":{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"" name          \
    "\",\"namespace\":\"shop\"," uid "\"creationTimestamp\":\"2026-01-15T" when ":00Z\","          \
    "\"annotations\":{\"offending_containers\":\"app\",\"starved_resource\":\"memory\","           \
    "\"offending_containers_usage\":\"" usage "\"}},\"reason\":\"Evicted\",\"involvedObject\":{"   \
    "\"kind\":\"Pod\",\"namespace\":\"shop\",\"name\":"                                            \
    "\"web-1\"}}}"
#define USAGE(cpu, memory)                                                                         \
    "{\"usage\":[{\"namespace\":\"shop\",\"pod\":\"web-1\",\"containers\":[{\"name\":\"app\","     \
    "\"cpu\":[\"" cpu "\"],\"memory\":[\"" memory "\"]}]}]}"

void setup(void);
/* Ends the watches of these objects as expired. */
void end_watches(const char *plural);
void stop(void);
void teardown(void);
const char *no_env(void *ctx, const char *name);
/* The flag is parsed, and a client is there. */
void connect_cluster(const char *flag);
/* A recommender is, too. */
void construct(const char *flag);
void start(const char *flag);
/* A pass a minute later, with that usage. */
void pass(const char *step);
/* A checkpoint of shop/web, app, under that name: 62 samples, all in that bucket (49: two cores),
 * until `last`; annotations: a member of the metadata with its comma, or "". */
void put_checkpoint_named(const char *name, const char *annotations, const char *last, int bucket);
size_t count_writes(const char *method, const char *path_end);
const struct vpa_json *stored(const char *kind, const char *name);
/* The stored target of "cpu" or "memory". */
struct vpa_quantity target(const char *resource);
/* In millicores. */
int64_t target_cpu(void);

#endif
