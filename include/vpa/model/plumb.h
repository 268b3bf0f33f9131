/*
 * Plumb's own policy: how much risk is taken, and what follows from it for CPU (plumb_cpu.h) and
 * memory (plumb_memory.h). Where the numbers come from: docs/algorithms.md, "plumb".
 */
#ifndef VPA_MODEL_PLUMB_H
#define VPA_MODEL_PLUMB_H

#include "vpa/model/plumb_cpu.h"
#include "vpa/model/plumb_memory.h"

enum vpa_plumb_risk { VPA_PLUMB_LEAN, VPA_PLUMB_MIDDLE, VPA_PLUMB_SAFE, VPA_PLUMB_RISKS };
const char *vpa_plumb_risk_name(enum vpa_plumb_risk risk); /* "lean", "middle", "safe" */

struct vpa_plumb_options {
    struct vpa_buckets cpu_buckets;    /* 1 millicore to 1000 cores */
    struct vpa_buckets memory_buckets; /* 1 MiB to 1 TB */
    struct vpa_plumb_cpu_rule cpu;
    struct vpa_plumb_memory_rule memory;
};
/* The rules point into the options: not to be moved. */
void vpa_plumb_options_init(struct vpa_plumb_options *o, enum vpa_plumb_risk risk);

#endif
