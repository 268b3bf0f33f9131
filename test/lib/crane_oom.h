/* The records of OOM kills that Crane keeps of pods. The algorithm `crane` has its own, with the
 * times of the samples. */
#ifndef TEST_CRANE_OOM_H
#define TEST_CRANE_OOM_H

#include "vpa/model/crane.h"

struct vpa_crane_oom {
    const char *ns;
    const char *pod;
    const char *container;
    struct vpa_quantity memory; /* requested */
    vpa_time t;
};
/* The records that one process keeps, and writes to its ConfigMap when a new key comes. */
struct vpa_crane_oom_records {
    struct vpa_arena arena; /* of texts and items */
    struct vpa_crane_oom *items;
    size_t count;
    size_t capacity;
    size_t writes;    /* since the beginning */
    const char *text; /* of the last write; NULL: none */
};
void vpa_crane_oom_records_init(struct vpa_crane_oom_records *r);
void vpa_crane_oom_records_release(struct vpa_crane_oom_records *r);
/* The kills that a pod shows, in the order of its container statuses; in the arena. */
struct vpa_crane_oom *vpa_crane_oom_of_pod(struct vpa_arena *arena, const struct vpa_pod *pod,
                                           size_t *count);
/* Takes in what a pod shows: one record per namespace, pod and container, replaced when the memory
 * is larger. */
void vpa_crane_oom_records_observe(struct vpa_crane_oom_records *r, const struct vpa_pod *pod);
/* Keeps the newest `most` records, by time when some have to go; returns how many are left. */
size_t vpa_crane_oom_trim(struct vpa_crane_oom *items, size_t count, size_t most);

#endif
