/*
 * Out-of-memory kills, from the status of pods and from eviction events of the kubelet. Every container
 * termination and every event counts once, however often a watch repeats it (decision U17).
 *
 * Nothing here touches the model: observations are queued and recorded by the recommender's pass after
 * the usage samples (vpa_cluster_record_oom).
 */
#ifndef VPA_MODEL_OOM_H
#define VPA_MODEL_OOM_H

#include "vpa/api/pod.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/model/amount.h"

/* Entries that wait for the next pass; what comes on top is counted and dropped. */
#define VPA_OOM_QUEUE_MAX 5000
/* Eviction events remembered by UID; the oldest are forgotten first. */
#define VPA_OOM_EVENTS_MAX 10000

struct vpa_oom {
    vpa_time time;
    vpa_amount memory; /* bytes requested by the container, or used according to the event */
    const char *ns;    /* the three texts belong to the queue */
    const char *pod;
    const char *container;
};

struct vpa_oom_queue {
    struct vpa_oom *items; /* in order of arrival */
    size_t count;
    size_t capacity;
    size_t dropped; /* since the last clear */
    struct vpa_arena texts;
    struct vpa_oom_seen *seen; /* events counted already; private */
};
void vpa_oom_queue_init(struct vpa_oom_queue *q);
void vpa_oom_queue_release(struct vpa_oom_queue *q);
/* Forgets the entries, not the events seen. */
void vpa_oom_queue_clear(struct vpa_oom_queue *q);
void vpa_oom_queue_push(struct vpa_oom_queue *q, vpa_time t, vpa_amount memory, const char *ns,
                        const char *pod, const char *container);

/*
 * What is kept of a container's status between two versions of its pod: 32 bytes instead of the pod.
 * vpa_cluster_put_pod keeps one per container and calls vpa_oom_observe_container by itself.
 */
struct vpa_oom_memory {
    vpa_amount request;       /* memory request in force, bytes */
    int64_t counted_finish;   /* Unix nanoseconds of the newest termination counted; INT64_MIN: none */
    int32_t counted_instance; /* number of restarts before the instance that was counted */
    int32_t restart_count;
    bool known;               /* a status of the container was seen */
    bool running;
    bool terminated;
};
void vpa_oom_memory_init(struct vpa_oom_memory *m);
/*
 * Compares the remembered status with that of the new pod and remembers the new one. True when that
 * shows a new OOM kill: *t is its time, *memory the request in force. The first status of a container
 * never counts. new_uid: the pod was replaced by another of the same name.
 */
bool vpa_oom_observe_container(struct vpa_oom_memory *m, const struct vpa_pod *pod,
                               const char *container, bool new_uid, vpa_time *t,
                               vpa_amount *memory);

/* The parts of a core/v1 Event that matter; texts may be NULL. */
struct vpa_oom_event {
    const char *uid;
    const char *reason;
    const char *kind; /* involvedObject */
    const char *ns;
    const char *name;
    vpa_time creation;
    const char *offending_containers; /* annotations */
    const char *offending_containers_usage;
    const char *starved_resource;
};
/* Reads those parts of an Event object; texts are borrowed from the JSON. */
void vpa_oom_event_decode(const struct vpa_json *object, struct vpa_oom_event *out);
/* Queues what the event tells; the number of entries queued. An event seen before gives 0. A usage that
 * is no quantity is skipped and reported in err (the other containers still count). */
size_t vpa_oom_observe_event(struct vpa_oom_queue *q, const struct vpa_oom_event *event,
                             struct vpa_error *err);

#endif
