/*
 * The cluster as the recommender sees it: pods, VPAs, and the aggregated histories that connect
 * them.
 *
 * Pods of one namespace with equal labels form a group; a group has one aggregate per container
 * name; a VPA is linked to the groups that its selector matches. Everything is matched and counted
 * by group, so ten replicas cost one match, and the pods of a VPA are the sum over its groups.
 *
 * A pass of the recommender:
 *
 *     vpa_cluster_put_vpa() for every VPA in force, vpa_cluster_remove_vpa() for those gone
 *     vpa_cluster_put_pod() for every pod event since the last pass, vpa_cluster_mark_pod_deleted()
 *     vpa_cluster_container(), then vpa_cluster_add_sample() for its usage and
 *     vpa_cluster_record_oom() for the queue
 *     vpa_cluster_remove_deleted_pods()
 *     for each of vpa_cluster_vpas(): vpa_estimate(), vpa_render() (recommend.h), post-processing,
 *         vpa_cluster_set_recommendation(), vpa_object_status_build() (object_status.h),
 *         patch if it differs
 *     vpa_cluster_checkpoints() for each VPA
 *     vpa_cluster_collect_garbage()
 *
 * Names are interned: equal texts are one pointer. Single-threaded. The clock is the argument
 * `now`.
 */
#ifndef VPA_MODEL_CLUSTER_H
#define VPA_MODEL_CLUSTER_H

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/model/container.h"
#include "vpa/model/oom.h"

struct vpa_autoscaler;

/* Quality metrics (metrics.md 3.1 of the specification); members may be NULL. */
struct vpa_model_hooks {
    void *ctx;
    /* A usage or OOM sample of a container under a VPA that scales it. recommendation: last
     * uncapped target, millicores or bytes; 0: missing. update_mode may be NULL. */
    void (*usage)(void *ctx, const char *update_mode, enum vpa_kind kind, bool is_oom,
                  vpa_amount usage, vpa_amount recommendation);
    /* A recommendation followed another (before > 0) for one linked aggregate. */
    void (*change)(void *ctx, const char *update_mode, enum vpa_kind kind, vpa_amount before,
                   vpa_amount after, size_t pod_count);
    /* The sample that usage hears of, after it, with the VPA whose recommendation it is: of several
     * on one pod the last by name. The observer is not called for a sample without a VPA. */
    void (*sample)(void *ctx, const struct vpa_autoscaler *v, enum vpa_kind kind, bool is_oom,
                   vpa_amount usage, vpa_amount recommendation);
};

struct vpa_cluster_options {
    const struct vpa_aggregation *aggregation; /* borrowed, outlives the cluster */
    bool memory_saver; /* pods that no VPA matches have no aggregates and take no samples */
    struct vpa_model_hooks hooks;
};
struct vpa_cluster;
struct vpa_cluster *vpa_cluster_new(const struct vpa_cluster_options *options);
void vpa_cluster_free(struct vpa_cluster *c); /* NULL is ignored */

size_t vpa_cluster_pod_count(const struct vpa_cluster *c);
size_t vpa_cluster_aggregate_count(
    const struct vpa_cluster *c); /* metric aggregate_container_states_count */

/* ---- VPAs ---- */

/* The model's view of one VPA; owned by the cluster, valid until the VPA is removed. */
struct vpa_autoscaler;

/*
 * Adds or updates a VPA. object is borrowed: it must stay valid until the next put of the same name
 * or its removal; to replace it, put the new one first and free the old one after that.
 *
 * selector: of the target, copied. NULL: the target cannot be resolved now; the VPA then counts no
 * pods but keeps the histories that its last selector found (decision U2). unsupported: message of
 * the condition ConfigUnsupported, copied; NULL when the configuration is fine.
 *
 * A history belongs to a VPA and its target: when the object names another target than the version
 * before, the loaded histories go and those of the old selector count no more (decision U25).
 */
struct vpa_autoscaler *vpa_cluster_put_vpa(struct vpa_cluster *c, const struct vpa_object *object,
                                           const struct vpa_selector *selector,
                                           const char *unsupported, vpa_time now);
/* False when unknown. The histories that were loaded for it go with it. */
bool vpa_cluster_remove_vpa(struct vpa_cluster *c, const char *ns, const char *name);
struct vpa_autoscaler *vpa_cluster_find_vpa(const struct vpa_cluster *c, const char *ns,
                                            const char *name);
/* All, by namespace and name; borrowed until the next put of a new one or removal. */
struct vpa_autoscaler *const *vpa_cluster_vpas(struct vpa_cluster *c, size_t *count);
/* The place of the VPA in that array, until VPAs come or go. */
size_t vpa_autoscaler_place(const struct vpa_autoscaler *v);

const struct vpa_object *vpa_autoscaler_object(const struct vpa_autoscaler *v);
const char *vpa_autoscaler_ns(const struct vpa_autoscaler *v);
const char *vpa_autoscaler_name(const struct vpa_autoscaler *v);
/* NULL while the target never was resolved; else the last one, see vpa_autoscaler_resolved. */
const struct vpa_selector *vpa_autoscaler_selector(const struct vpa_autoscaler *v);
bool vpa_autoscaler_resolved(const struct vpa_autoscaler *v);
const char *vpa_autoscaler_unsupported(const struct vpa_autoscaler *v); /* message or NULL */
size_t vpa_autoscaler_pod_count(const struct vpa_autoscaler *v);        /* 0 while unresolved */
size_t vpa_autoscaler_aggregate_count(const struct vpa_autoscaler *v);
/* Pods counted by vpa_autoscaler_pod_count, by name; heap array that the caller frees. For reading
 * the external metrics and for logs. */
const char **vpa_autoscaler_pods(const struct vpa_autoscaler *v, size_t *count);
/* What the VPA names, "Deployment/web" or "selector/1a2b3c4d": equal texts, equal target. */
#define VPA_OBJECT_TARGET_MAX 1024
void vpa_object_target(const struct vpa_object *object, struct vpa_buf *out);
/* Whether any pod that it has found has such a container. */
bool vpa_autoscaler_has_pod_with(const struct vpa_autoscaler *v, const char *container);
/* Whether a stored history whose last sample is that old is of no use any more: the VPA knows no
 * such container, and the history is as old as the VPA's settings let one become. */
bool vpa_autoscaler_has_outlived(const struct vpa_autoscaler *v, const char *container,
                                 vpa_time last_sample, vpa_time now);
/* Of that container: the newest CPU sample that this process has counted for the VPA itself, not
 * what was loaded; when the loaded history was stored, and its first sample. Unset: there is none.
 * The samples of both. */
struct vpa_history_age {
    vpa_time counted_until, loaded_from, loaded_first;
    int64_t samples;
};
struct vpa_history_age vpa_autoscaler_history_age(const struct vpa_autoscaler *v,
                                                  const char *container);
/* How long a memory interval of the container is, by its policy or the flag. */
vpa_duration vpa_autoscaler_memory_interval(const struct vpa_autoscaler *v, const char *container);
/* Whether its stored history still has to be read; not so when new. Until then it must be neither
 * recommended for nor stored: both would be made of too little. */
bool vpa_autoscaler_awaits_history(const struct vpa_autoscaler *v);
void vpa_autoscaler_set_awaits_history(struct vpa_autoscaler *v, bool awaits);
/* About its checkpoints; the writer keeps it. */
struct vpa_checkpoint_turns {
    int64_t last;    /* when it had its turn last, by the monotonic clock; below 0: never */
    uint32_t stored; /* the round of writing until which everything is stored; 0: none */
};
struct vpa_checkpoint_turns *vpa_autoscaler_checkpoint_turns(struct vpa_autoscaler *v);

/* Calls visit for every set of at least `least` (1 or more) VPAs (targets resolved) that match the
 * same pods, by name, with the labels of these pods; a pair may come several times, in no fixed
 * order. */
typedef void (*vpa_overlap_fn)(void *ctx, const struct vpa_labels *labels,
                               struct vpa_autoscaler *const *vpas, size_t count);
void vpa_cluster_visit_overlaps(struct vpa_cluster *c, size_t least, vpa_overlap_fn visit,
                                void *ctx);

/* Stores the post-processed list: last recommendations of the linked aggregates (for the quality
 * metrics). VPA_NOT_FOUND with upstream's text when the VPA has had none for more than 30 minutes;
 * reported once per 30 minutes. */
int vpa_cluster_set_recommendation(struct vpa_cluster *c, struct vpa_autoscaler *v,
                                   const struct vpa_recommendation *recommendation, vpa_time now,
                                   struct vpa_error *err) VPA_MUST_CHECK;

/* ---- Pods ---- */

enum vpa_phase {
    VPA_PHASE_UNKNOWN,
    VPA_PHASE_PENDING,
    VPA_PHASE_RUNNING,
    VPA_PHASE_SUCCEEDED,
    VPA_PHASE_FAILED
};
/* Containers of one pod that are kept; further ones have no history. */
#define VPA_POD_CONTAINERS_MAX 1024
enum vpa_phase vpa_phase_parse(const char *text); /* anything else is VPA_PHASE_UNKNOWN */

/* Adds or updates a pod with its containers and init container names; compares its container
 * statuses with those of the version before and queues new OOM kills (ooms may be NULL). Nothing is
 * borrowed. */
void vpa_cluster_put_pod(struct vpa_cluster *c, const struct vpa_pod *source,
                         struct vpa_oom_queue *ooms, vpa_time now);
/* The same in two steps, when several versions have come since the last pass: the newest one is
 * what the pod is now, and each of them, oldest first, may show OOM kills. A pod that the model
 * does not have is not observed. */
void vpa_cluster_place_pod(struct vpa_cluster *c, const struct vpa_pod *source, vpa_time now);
void vpa_cluster_observe_pod(struct vpa_cluster *c, const struct vpa_pod *version,
                             struct vpa_oom_queue *ooms);
/* Whether the pod in the model is of that very UID and resourceVersion. */
bool vpa_cluster_has_version(const struct vpa_cluster *c, const struct vpa_meta *meta);
/* In parts, for histories read from Prometheus: such pods are tracked also by the memory
 * saver. */
void vpa_cluster_put_bare_pod(struct vpa_cluster *c, const char *ns, const char *name,
                              const struct vpa_labels *labels, enum vpa_phase phase, vpa_time now);
int vpa_cluster_put_container(struct vpa_cluster *c, const char *ns, const char *pod,
                              const char *container, vpa_time now,
                              struct vpa_error *err) VPA_MUST_CHECK;
bool vpa_cluster_remove_pod(struct vpa_cluster *c, const char *ns, const char *name);
/* Deleted pods leave the model after the samples and OOMs of the pass. A pod that is put again
 * before that stays. mark_all: before a fresh LIST. */
void vpa_cluster_mark_pod_deleted(struct vpa_cluster *c, const char *ns, const char *name);
void vpa_cluster_mark_all_pods_deleted(struct vpa_cluster *c);
/* Takes such a mark back: the pod was in the list. */
void vpa_cluster_keep_pod(struct vpa_cluster *c, const char *ns, const char *name);
size_t vpa_cluster_remove_deleted_pods(struct vpa_cluster *c); /* how many */
/* The same for pods that no pass has seen: it is as if they had never been there, that is
 * aggregates without a sample that nothing else feeds go with them. */
void vpa_cluster_forget_deleted_pods(struct vpa_cluster *c, vpa_time now);

/* Where the requests of containers were found, for the metric vpa_resources_get_resources_count:
 * one per container of the tracked pods (upstream looks at each once per pass), plus one per OOM
 * kill observed since the last call. */
struct vpa_lookups {
    size_t from_status; /* Pod.Status.ContainerStatuses */
    size_t from_spec;   /* Pod.Spec.Containers */
};
struct vpa_lookups vpa_cluster_take_lookups(struct vpa_cluster *c);

/* ---- Samples ---- */

/* A container of a pod by its names. */
struct vpa_container_name {
    const char *ns;
    const char *pod;
    const char *container;
};
/* Where the samples of one container go: found once, used for all of them. A value that points into
 * the cluster; valid until a pod or VPA is put or removed, or garbage is collected. */
struct vpa_sample_target {
    struct vpa_cluster *cluster;
    struct vpa_tracked_pod *pod;
    struct vpa_tracked_container *container;
    bool init;        /* an init container of the pod has that name now: its usage does not count */
    bool is_eviction; /* set by the caller, for vpa_cluster_record_oom */
};
/* VPA_NOT_FOUND ("KeyError: ...") for an unknown pod or container; VPA_NOT_OURS when only an
 * init container has that name. */
int vpa_cluster_container(struct vpa_cluster *c, const struct vpa_container_name *name,
                          vpa_time now, struct vpa_sample_target *out,
                          struct vpa_error *err) VPA_MUST_CHECK;
/* usage in millicores or bytes. VPA_INVALID ("sample discarded ...") when refused. */
int vpa_cluster_add_sample(const struct vpa_sample_target *to, enum vpa_kind kind, vpa_time t,
                           vpa_amount usage, vpa_time now, struct vpa_error *err) VPA_MUST_CHECK;
/* memory: request of the container when it was killed, bytes. VPA_INVALID when it is too old. An
 * eviction that the interval held when it was resumed is not counted in it again. */
int vpa_cluster_record_oom(const struct vpa_sample_target *to, vpa_time t, vpa_amount memory,
                           vpa_time now, struct vpa_error *err) VPA_MUST_CHECK;

/* ---- Histories of a VPA ---- */

struct vpa_history_entry {
    const char *container;
    struct vpa_aggregate *aggregate; /* merged; settings are not */
};
/* One entry per container name, sorted: all linked aggregates and the loaded checkpoints, merged.
 * Read only; valid until vpa_histories_release or any change of the cluster. */
struct vpa_histories {
    struct vpa_history_entry *items;
    size_t count;
    struct vpa_aggregate *merged; /* private: those that needed a merge */
    size_t merged_count;
};
void vpa_cluster_histories(struct vpa_cluster *c, struct vpa_autoscaler *v, vpa_time now,
                           struct vpa_histories *out);
void vpa_histories_release(struct vpa_histories *h);

/* ---- Checkpoints ---- */

/* Loads one stored checkpoint as initial history of (VPA, container), replacing an earlier one.
 * What the live aggregates of that container hold already is left out, so the time does not matter.
 * VPA_NOT_FOUND when the VPA is not in the model; VPA_INVALID when it cannot be read: nothing is
 * stored, the caller keeps the object aside (decision U16). Texts are upstream's. */
int vpa_cluster_load_checkpoint(struct vpa_cluster *c, const char *ns, const char *vpa_name,
                                const char *container, const struct vpa_checkpoint_status *status,
                                vpa_time now, struct vpa_error *err) VPA_MUST_CHECK;
/* After the checkpoint of that container: the memory peaks of intervals that were open when it was
 * written. Each container goes on with its interval, and needs to be in the model; a peak of one
 * that is gone, or that the VPA no longer matches, becomes part of the loaded history. Of pods
 * whose UIDs have the same hash the first by name has the first peak. VPA_INVALID: an end is
 * impossible; nothing is done. */
int vpa_cluster_resume_intervals(struct vpa_cluster *c, const char *ns, const char *vpa_name,
                                 const char *container, const struct vpa_open_intervals *open,
                                 vpa_time now, struct vpa_error *err) VPA_MUST_CHECK;
/* Calls write for every container of the VPA, by name, with what is to be stored: merged histories
 * without the memory peaks of intervals that are still open, and these, by pod. Valid during the
 * call. */
typedef void (*vpa_checkpoint_fn)(void *ctx, const char *container,
                                  const struct vpa_checkpoint_status *status,
                                  const struct vpa_open_intervals *open);
void vpa_cluster_checkpoints(struct vpa_cluster *c, struct vpa_autoscaler *v, vpa_time now,
                             vpa_checkpoint_fn write, void *ctx);

/* ---- Garbage ---- */

/* Whether the controller of the VPA's target exists: topmost well-known or scalable owner found,
 * errors count as no. Asked at most once per VPA and collection, only for finished pods. */
typedef bool (*vpa_controller_exists_fn)(void *ctx, const struct vpa_autoscaler *v);
/* Removes expired aggregates, and empty ones that no living pod feeds; loaded histories of
 * containers that no pod and no aggregate has, when they are as old. Does nothing when the last
 * collection was less than an hour ago. Returns the number of aggregates removed. */
size_t vpa_cluster_collect_garbage(struct vpa_cluster *c, vpa_time now,
                                   vpa_controller_exists_fn controller_exists, void *ctx);

#endif
