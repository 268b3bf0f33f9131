/*
 * One container of one pod: which of its samples enter the aggregate, and the memory peak of the
 * running interval (recommender.md 7 of the specification).
 *
 * CPU samples go straight in. Of memory only the peak of each interval does: a higher value
 * replaces the peak recorded before. Peaks carry the end of the interval as their time. An OOM
 * counts as usage of a bit more than what was there.
 */
#ifndef VPA_MODEL_CONTAINER_H
#define VPA_MODEL_CONTAINER_H

#include "vpa/model/aggregate.h"

/* Instants at 12 bytes each: 100,000 of these exist. */
struct vpa_container_state {
    int64_t seconds[3]; /* indexed by enum vpa_container_time */
    uint32_t nanos[3];
    uint32_t resumed_from; /* Unix seconds, the owner's: of the last CPU sample of the history that
                            * its interval was resumed beside; 0: none */
    vpa_amount memory_peak;
    vpa_amount oom_peak;
};
enum vpa_container_time { VPA_LAST_CPU, VPA_LAST_MEMORY, VPA_WINDOW_END };

void vpa_container_state_init(struct vpa_container_state *c);
vpa_time vpa_container_time(const struct vpa_container_state *c, enum vpa_container_time which);

/* Told of every accepted sample whose container should have a recommendation; for quality metrics.
 */
struct vpa_usage_observer {
    void *ctx;
    void (*observe)(void *ctx, const struct vpa_aggregate *a, enum vpa_kind kind, vpa_amount usage,
                    bool is_oom);
};

/* False when refused: negative, or not after the last one (memory: before the last one). */
bool vpa_container_add_cpu(struct vpa_container_state *c, struct vpa_aggregate *a, vpa_time t,
                           vpa_amount millis, const struct vpa_usage_observer *observer);
bool vpa_container_add_memory(struct vpa_container_state *c, struct vpa_aggregate *a, vpa_time t,
                              vpa_amount bytes, const struct vpa_usage_observer *observer);
/* An OOM kill at t with that memory request. VPA_INVALID when it is older than the last memory
 * sample by more than an interval. */
int vpa_container_record_oom(struct vpa_container_state *c, struct vpa_aggregate *a, vpa_time t,
                             vpa_amount requested, const struct vpa_usage_observer *observer,
                             struct vpa_error *err) VPA_MUST_CHECK;
/* The peak of the interval that is still open at `now`, which checkpoints leave out; false when
 * closed. */
bool vpa_container_open_peak(const struct vpa_container_state *c, vpa_time now, vpa_time *end,
                             vpa_amount *peak);
/* Continues an interval that began in an earlier process; its peak enters the aggregate. Of the
 * interval that the container has already, the larger peak stays. A later one takes the place of
 * one that came from an earlier process too, and follows one of its own that is over by now. False,
 * and nothing changes, when it is in another one of its own, or knows as large a peak. */
bool vpa_container_resume(struct vpa_container_state *c, struct vpa_aggregate *a,
                          const struct vpa_open_interval *interval, vpa_time now);
/* past: of the same container and aggregate, whose samples came late and are older than those of c.
 * c goes on with the interval of the past that all of its own samples are in, as if they had come
 * in order. */
void vpa_container_join(struct vpa_container_state *c, struct vpa_aggregate *a,
                        const struct vpa_container_state *past);

#endif
