#include "vpa/model/plumb.h"

#define MIB 1048576.0
#define DAY 86400

/* Chosen on the traces of the laboratory, and how that was checked: docs/algorithms.md. */
static const struct {
    const char *name;
    double want_cost;
    double margin;
    double headroom;
    int64_t span_seconds;
} risks[VPA_PLUMB_RISKS] = {
    [VPA_PLUMB_LEAN] = {"lean", 3.0, 0.06, 8 * MIB, 2 * DAY},
    [VPA_PLUMB_MIDDLE] = {"middle", 4.5, 0.08, 10 * MIB, 3 * DAY},
    [VPA_PLUMB_SAFE] = {"safe", 10.0, 0.18, 15 * MIB, 3 * DAY},
};

const char *vpa_plumb_risk_name(enum vpa_plumb_risk risk)
{
    return risks[risk].name;
}

void vpa_plumb_options_init(struct vpa_plumb_options *o, enum vpa_plumb_risk risk)
{
    vpa_buckets_init(&o->cpu_buckets, 0.001, 1000.0);
    vpa_buckets_init(&o->memory_buckets, MIB, 1e12);
    o->cpu = (struct vpa_plumb_cpu_rule){
        .buckets = &o->cpu_buckets,
        .want_cost = risks[risk].want_cost,
    };
    o->memory = (struct vpa_plumb_memory_rule){
        .buckets = &o->memory_buckets,
        .margin = risks[risk].margin,
        .headroom = risks[risk].headroom,
        .span_seconds = risks[risk].span_seconds,
    };
}
