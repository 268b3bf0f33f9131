/*
 * A pod as API servers give it, 8.8 kB with one container: probes, environment, volumes, affinity,
 * managed fields, and whatever else no daemon of ours reads.
 */
#ifndef BENCH_STUB_POD_H
#define BENCH_STUB_POD_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/buf.h"

#define STUB_NAMESPACES 20
#define STUB_POD_NAME "web-%05zu-7d4b9c6f5d-%05zu"    /* VPA, number */
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

#endif
