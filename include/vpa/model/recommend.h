/*
 * From the histories of a VPA to its recommendation: estimation per container, rendering of amounts
 * as quantities, and the integer-CPU post-processor. Capping to the container policies comes after
 * this (policy/capping.h), then object_status.h.
 */
#ifndef VPA_MODEL_RECOMMEND_H
#define VPA_MODEL_RECOMMEND_H

#include "vpa/model/cluster.h"
#include "vpa/model/estimator.h"

/* Flags that shape the texts. */
struct vpa_rendering {
    bool humanize_memory;
    int64_t
        round_cpu_millicores; /* 1: no rounding; 0 and less: no rounding, upstream logs an error */
    int64_t round_memory_bytes;
};
void vpa_rendering_init(struct vpa_rendering *r); /* upstream's defaults */

/* One container's estimate, before rendering. */
struct vpa_container_estimate {
    const char *container; /* valid as long as the VPA */
    struct vpa_estimate estimate;
    bool controlled[VPA_KINDS];
};
struct vpa_estimates {
    struct vpa_container_estimate *items; /* by container name; in the arena */
    size_t count;
    size_t left_out; /* with a history, and not wanted: their policy is mode Off */
};
/* All containers of the VPA but those whose policy is mode Off, and those of which another
 * algorithm than VPA's own knows too little. e is of VPA's own. */
void vpa_estimate(struct vpa_cluster *c, struct vpa_autoscaler *v, const struct vpa_estimator *e,
                  vpa_time now, struct vpa_arena *arena, struct vpa_estimates *out);
/* The rendered list; present, with no containers when there are none. Lives in the arena. */
struct vpa_recommendation vpa_render(const struct vpa_estimates *estimates,
                                     const struct vpa_rendering *r, struct vpa_arena *arena);

/* One amount as a quantity. */
struct vpa_quantity vpa_render_amount(enum vpa_kind kind, vpa_amount amount,
                                      const struct vpa_rendering *r, struct vpa_arena *arena);
/* "800.61Mi": two decimals in the largest unit that fits; plain digits below 1Ki. */
void vpa_render_humanized(vpa_amount bytes, struct vpa_buf *out);

/* Post-processor: whole cores, rounded up, for the containers that the annotations name:
 * vpa-post-processor.kubernetes.io/<container>_integerCPU: "true". In place. */
void vpa_recommend_integer_cpu(struct vpa_recommendation *rec, const struct vpa_labels *annotations,
                               struct vpa_arena *arena);

#endif
