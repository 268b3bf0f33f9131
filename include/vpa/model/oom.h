/*
 * Out-of-memory kills, from the status of pods and from eviction events of the kubelet. Every
 * container termination and every event counts once, however often a watch repeats it (decision
 * U17).
 *
 * Nothing here touches the model: observations are queued and recorded by the recommender's pass
 * after the usage samples (vpa_cluster_record_oom).
 */
#ifndef VPA_MODEL_OOM_H
#define VPA_MODEL_OOM_H

#include "vpa/api/event.h"
#include "vpa/api/pod.h"
#include "vpa/base/table.h"
#include "vpa/model/amount.h"
#include "vpa/model/seen_events.h"

/* Entries that wait for the next pass; of what comes on top the newest of the namespace that has
 * most is counted and dropped. */
#define VPA_OOM_QUEUE_MAX 5000

struct vpa_oom {
    vpa_time time;
    vpa_amount memory; /* bytes requested by the container, or used according to the event */
    const char *ns;    /* the three texts belong to the queue */
    const char *pod;
    const char *container;
    bool is_eviction; /* of which the API server tells each new process for an hour */
};

struct vpa_oom_queue {
    struct vpa_oom *items; /* in order of arrival */
    size_t count;
    size_t capacity;
    size_t dropped; /* since the last clear */
    struct vpa_arena texts;
    struct vpa_table shares; /* of namespaces, private as those below */
    size_t most;
    struct vpa_seen_events seen; /* the events counted */
};
void vpa_oom_queue_init(struct vpa_oom_queue *q);
void vpa_oom_queue_release(struct vpa_oom_queue *q);
/* Forgets the entries, not the events seen. */
void vpa_oom_queue_clear(struct vpa_oom_queue *q);
/* The new entry; NULL: there was no room for it. */
struct vpa_oom *vpa_oom_queue_push(struct vpa_oom_queue *q, vpa_time t, vpa_amount memory,
                                   const char *ns, const char *pod, const char *container);

/*
 * What is kept of a container's status between two versions of its pod: 24 bytes instead of the
 * pod. vpa_cluster_put_pod keeps one per container and calls vpa_oom_observe_container by itself.
 */
struct vpa_oom_memory {
    vpa_amount request; /* memory request in force, bytes */
    int64_t
        counted_finish; /* Unix nanoseconds of the newest termination counted; INT64_MIN: none */
    int32_t counted_instance;    /* number of restarts before the instance that was counted */
    uint32_t restart_count : 28; /* saturated */
    bool from_status : 1;        /* the request was found in the status, not in the spec */
    bool known : 1;              /* a status of the container was seen */
    bool running : 1;
    bool terminated : 1;
};
void vpa_oom_memory_init(struct vpa_oom_memory *m);
/* Memory request of a container of the pod: from the resources of its status when these are there,
 * else from the spec; 0 when absent. *from_status tells which. */
vpa_amount vpa_oom_memory_request(const struct vpa_pod *pod, const char *container,
                                  bool *from_status);
/*
 * Compares the remembered status with that of the new pod and remembers the new one. True when that
 * shows a new OOM kill: *t is its time, *memory the request in force. The first status of a
 * container never counts. new_uid: the pod was replaced by another of the same name.
 */
bool vpa_oom_observe_container(struct vpa_oom_memory *m, const struct vpa_pod *pod,
                               const char *container, bool new_uid, vpa_time *t,
                               vpa_amount *memory);

/* Whether a kill could show between the two versions of a pod, or between the later one and the
 * next: false when the statuses of their containers say the same about terminations. */
bool vpa_oom_may_differ(const struct vpa_pod *before, const struct vpa_pod *after);

/* Queues what an event tells; the number of entries queued. Anything but the eviction of a pod, and
 * an event seen before (by UID), gives 0. A usage that is no quantity is skipped and reported in
 * err (the other containers still count), which is otherwise untouched. */
size_t vpa_oom_observe_event(struct vpa_oom_queue *q, const struct vpa_event *event,
                             struct vpa_error *err);

#endif
