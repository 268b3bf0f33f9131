/*
 * Objects as API servers give them, with the parts that no daemon of ours reads: managed fields,
 * probes, environment, volumes, affinity. A pod of one container has 8.9 kB, a Deployment and a
 * ReplicaSet 6.5 kB, a VPA 1.2 kB without its status.
 */
#ifndef BENCH_STUB_OBJECTS_H
#define BENCH_STUB_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/buf.h"

#define STUB_NAMESPACES 20
#define STUB_POD_NAME "web-%05zu-7d4b9c6f5d-%05zu" /* VPA, number */
#define STUB_VPA_UID "6d0f4b4e-0000-4000-8000-%012zu"
#define STUB_DEPLOYMENT_UID "7d0f4b4e-0000-4000-8000-%012zu"
#define STUB_REPLICA_SET_UID "8d0f4b4e-0000-4000-8000-%012zu"
#define STUB_POD_UID "8c1f5a3e-0000-4000-8000-%012zu" /* number */

/* Pod number `number` of the workload "web-<vpa>", on a node shared by fifty. */
struct stub_pod {
    size_t vpa;
    size_t number;
    size_t place; /* number of the pod that this one stands for: decides about the node */
    size_t version;
    bool own_labels;              /* one that no other pod has */
    bool fresh;                   /* about to be created: no name, no node, no status */
    const char *annotations;      /* JSON object */
    const char *resources;        /* JSON object */
    const char *sidecar;          /* resources of a second container, NULL: none */
    const char *status_resources; /* JSON object, NULL: the kubelet is too old to tell */
};
void stub_put_pod(struct vpa_buf *b, const struct stub_pod *pod);

/* The workload "web-<vpa>" and its ReplicaSet. */
void stub_put_deployment(struct vpa_buf *b, size_t vpa, size_t replicas);
void stub_put_replica_set(struct vpa_buf *b, size_t vpa, size_t replicas);

/* The VPA "web-<number>" of the workload of that name. */
struct stub_vpa {
    size_t number;
    size_t version;
    const char *mode;
    const char *status; /* JSON object, NULL: none yet */
};
void stub_put_vpa(struct vpa_buf *b, const struct stub_vpa *vpa);

#endif
