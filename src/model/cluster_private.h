/*
 * Private to the model: the structures behind cluster.h.
 *
 *     namespace ── group (equal labels) ──┬── pods ── containers ──┐
 *                    │                    └── members (aggregates) ┘ by container name
 *                    └── VPAs whose selector matches, and back
 *
 * What 100,000 containers cost (64-bit; blocks of the C library have 8 bytes of overhead and are
 * rounded up to 16):
 *
 *     pod         40 + 96 per container + name (about 30)        176
 *     index       8 per slot, 3/8 to 3/4 used                     16
 *     -----------------------------------------------------------------
 *     pod with one container                                     192 bytes
 *
 *     group       72 + 16 per label (5 labels: 152)              160
 *     links       to the group, index                             32
 *     aggregate   296                                            304
 *     buckets     CPU about 25 to 45 doubles, memory 10 to 15    450
 *     -----------------------------------------------------------------
 *     label set with one container name                          946 bytes, shared by its replicas
 *
 *     VPA         192 + selector 90 + names, indexes 330         609 bytes
 *
 * so with ten replicas a pod costs about 192 + 95 + 61 = 348 bytes, 34 MiB for 100,000. The figures
 * measured come from test/bench/bench_model.
 */
#ifndef VPA_MODEL_CLUSTER_PRIVATE_H
#define VPA_MODEL_CLUSTER_PRIVATE_H

#include "vpa/base/pointer_set.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/model/cluster.h"

/* One aggregate: a container name in a group. */
struct vpa_member {
    struct vpa_aggregate state;
    struct vpa_group *group; /* NULL: in doubt, while garbage is collected */
    const char *name;        /* interned */
    struct vpa_member *next;
};

struct vpa_tracked_container {
    const char *name;          /* interned */
    struct vpa_member *member; /* NULL until needed, and after its aggregate was collected */
    struct vpa_container_state state;
    struct vpa_oom_memory oom;
};

/* A pod of the model (in its group's `pods`), or, with the memory saver, one that no VPA matches
 * (in `idle`). Behind the containers stand its init containers, if it has any (a pointer, to their
 * interned names: init_names.h), and its name. */
struct vpa_tracked_pod {
    struct vpa_hashed hashed;
    uint16_t container_count;
    uint8_t phase; /* enum vpa_phase */
    bool tracked : 1;
    bool deleted : 1; /* leaves at vpa_cluster_remove_deleted_pods */
    bool has_init_names : 1;
    struct vpa_group *group;
    struct vpa_tracked_pod *next; /* in the group's list */
    struct vpa_tracked_pod *prev;
    uint32_t uid_hash; /* vpa_hash_stable */
    uint32_t version;  /* hash of UID and resourceVersion; 0: not known */
    struct vpa_tracked_container containers[];
};
static inline char *vpa_tracked_pod_name(const struct vpa_tracked_pod *pod)
{
    return (char *)&pod->containers[pod->container_count] +
           (pod->has_init_names ? sizeof(const char *) : 0);
}
static inline const char *vpa_tracked_pod_init_names(const struct vpa_tracked_pod *pod)
{
    return pod->has_init_names ? *(const char *const *)&pod->containers[pod->container_count]
                               : NULL;
}

/* The pods of one namespace with equal labels. Lives while it has pods or aggregates. */
struct vpa_group {
    struct vpa_hashed hashed;
    uint32_t pod_count; /* tracked */
    const char *ns;     /* interned */
    struct vpa_tracked_pod *pods;
    struct vpa_tracked_pod *idle;
    struct vpa_member *members;
    struct vpa_table *places;     /* of many members: by name; NULL: they are few */
    struct vpa_autoscaler **vpas; /* matching, by name; the only one stands in `one` */
    struct vpa_autoscaler *one;
    uint32_t vpa_count;
    uint32_t label_count;
    struct vpa_label labels[]; /* interned, in the order of vpa_labels */
};

/* History loaded from a checkpoint. */
struct vpa_initial {
    const char *container; /* interned */
    struct vpa_aggregate *state;
};

struct vpa_autoscaler {
    struct vpa_cluster *cluster;
    char *key; /* "namespace/name", owned */
    const char *ns;
    const char *name;
    const struct vpa_object *object; /* borrowed */
    char *unsupported;
    struct vpa_arena arena; /* of the selector */
    struct vpa_selector selector;
    struct vpa_selector_bucket *bucket; /* where cluster->selectors has it; NULL: nowhere */
    struct vpa_group **groups;
    struct vpa_initial *initial;      /* by container */
    struct vpa_table *initial_places; /* of many: container -> place + 1; NULL: they are few */
    uint32_t group_count;
    uint32_t group_capacity;
    uint32_t initial_count;
    uint32_t place; /* in cluster->sorted, while that is valid */
    void *note;     /* vpa_autoscaler_note, owned */
    struct vpa_checkpoint_turns checkpoint_turns;
    vpa_time missing_since; /* unset: has a recommendation */
    uint64_t target;        /* hash of vpa_object_target */
    bool has_selector;
    bool awaits_history;
    bool resolved;
    bool groups_sorted;
    bool learns;   /* is in cluster->sides */
    bool unlinked; /* the selector is new, its groups are not looked for yet */
};

/* VPAs of one namespace that share an indexed requirement. */
struct vpa_selector_bucket {
    struct vpa_autoscaler **items;
    size_t count;
    size_t capacity;
    char key[];
};

struct vpa_cluster {
    const struct vpa_aggregation *aggregation;
    struct vpa_model_hooks hooks;
    struct vpa_usage_observer observer;
    bool memory_saver;
    struct vpa_intern_pool *names;
    struct vpa_pointer_set pods; /* tracked */
    struct vpa_pointer_set idle; /* not tracked, memory saver only */
    struct vpa_pointer_set groups;
    struct vpa_table vpas;          /* "namespace/name" to struct vpa_autoscaler */
    struct vpa_table selectors;     /* index key to struct vpa_selector_bucket */
    struct vpa_autoscaler **sorted; /* by namespace and name; valid while sorted_valid */
    bool sorted_valid;
    size_t member_count;
    size_t deleted_count;  /* pods marked deleted */
    size_t unlinked_count; /* VPAs that vpa_cluster_settle has to link */
    vpa_time unlinked_since;
    struct vpa_table sides;   /* "namespace/name" to what other algorithms know */
    struct vpa_table formers; /* namespace to the learners that its VPAs have left */
    size_t former_count;      /* in all */
    struct vpa_lookups oom_lookups;
    vpa_time last_collection;
    struct vpa_table name_indexes;     /* key of a VPA with many containers to its vpa_name_index */
    size_t named_count;                /* containers and aggregates in these */
    struct vpa_name_index *last_names; /* of the VPA that was asked last; NULL: none is valid */
};

/* ---- cluster_groups.c ---- */

/* Finds or makes the group, matching it with the VPAs of its namespace. */
struct vpa_group *vpa_group_get(struct vpa_cluster *c, const char *ns,
                                const struct vpa_labels *labels);
/* Frees the group when it has neither pods nor aggregates. */
void vpa_group_drop_if_unused(struct vpa_cluster *c, struct vpa_group *group);
/* Finds or makes; a new one takes the settings of the VPAs that match. */
struct vpa_member *vpa_group_get_member(struct vpa_cluster *c, struct vpa_group *group,
                                        const char *name, vpa_time now);
/* Garbage goes in three steps, each of which looks at everything once: aggregates without samples
 * are doubted (how many); those that a pod feeds no longer (how many of them); of the rest is
 * collected what is garbage (how many), and of all others too if that is wanted. Containers that
 * used it find a new one when needed. */
size_t vpa_group_doubt_empty(struct vpa_group *group);
void vpa_group_doubt_pod(const struct vpa_tracked_pod *pod);
size_t vpa_group_feed(struct vpa_group *group, const struct vpa_tracked_pod *pod);
size_t vpa_group_collect(struct vpa_cluster *c, struct vpa_group *group, bool all, vpa_time now);
/* All, when there are no pods any more. */
void vpa_group_free_members(struct vpa_cluster *c, struct vpa_group *group);
/* Whether the group's labels satisfy the VPA's selector. */
bool vpa_group_matches(const struct vpa_group *group, const struct vpa_autoscaler *v);
/* Both directions; the settings of the aggregates, and the order of the group's VPAs, are left to
 * the caller. */
void vpa_group_link(struct vpa_group *group, struct vpa_autoscaler *v);
void vpa_group_unlink(struct vpa_group *group, struct vpa_autoscaler *v);
void vpa_group_sort_vpas(struct vpa_group *group); /* by name, after links */

/* ---- cluster_vpas.c ---- */

/* Links VPAs with new selectors to their groups; first thing of whatever depends on links. */
void vpa_cluster_settle(struct vpa_cluster *c);

/* All of them. */
void vpa_autoscaler_free_initial(struct vpa_cluster *c, struct vpa_autoscaler *v);
void vpa_autoscaler_free(struct vpa_cluster *c, struct vpa_autoscaler *v);
/* Mode and policy of the VPA become those of the aggregate. */
void vpa_autoscaler_apply(const struct vpa_autoscaler *v, struct vpa_member *member);
/* Calls fn for the VPAs of the namespace that may match labels: a superset. */
void vpa_selectors_candidates(const struct vpa_cluster *c, struct vpa_group *group,
                              void (*fn)(struct vpa_group *group, struct vpa_autoscaler *v));
/* Loaded histories that have outlived their use. */
void vpa_autoscaler_collect_initial(struct vpa_cluster *c, struct vpa_autoscaler *v, vpa_time now);
/* The groups in the order of vpa_labels_compare. */
void vpa_autoscaler_sort_groups(struct vpa_autoscaler *v);

/* ---- cluster_names.c ---- */

struct vpa_named_container {
    struct vpa_tracked_pod *pod;
    struct vpa_tracked_container *container;
};

/* Of one container name in a VPA's groups: the aggregates and the containers of tracked pods, in
 * the order of the groups. */
struct vpa_named {
    struct vpa_member **members;
    struct vpa_named_container *containers;
    size_t member_count, member_capacity;
    size_t container_count, container_capacity;
};

/* Never NULL. Valid until pods, aggregates or links change, or another VPA is asked about. All
 * names of the VPA are listed at the first question, which takes as long as a walk through its
 * pods; then each takes a look-up, also when VPAs are asked in turns. */
const struct vpa_named *vpa_autoscaler_named(const struct vpa_autoscaler *v, const char *container);
/* First thing of whatever changes the containers of a group's pods, its aggregates or its links. */
void vpa_cluster_forget_names(struct vpa_cluster *c);

/* ---- cluster_learners.c ---- */

struct vpa_usage; /* algorithm.h */

/* A sample of a container of the group was accepted: the VPAs with another algorithm learn it. */
void vpa_group_learn(struct vpa_cluster *c, const struct vpa_group *group, const char *container,
                     const struct vpa_usage *usage, vpa_time now);
/* Forgets all that other algorithms have learned for the VPA, and the choice. */
void vpa_side_free(struct vpa_autoscaler *v);
/* Ages what is learned; drops containers that are gone, and what was left long ago. */
void vpa_sides_collect(struct vpa_cluster *c, vpa_time now);

/* ---- cluster_pods.c ---- */

/* Tracked pods only. */
struct vpa_tracked_pod *vpa_pods_find(const struct vpa_cluster *c, const char *ns,
                                      const char *name);
struct vpa_tracked_container *vpa_pod_find_container(const struct vpa_cluster *c,
                                                     struct vpa_tracked_pod *pod, const char *name);

/* Memory saver: the idle pods of a group that is matched now become tracked. */
void vpa_pods_promote(struct vpa_cluster *c, struct vpa_group *group, vpa_time now);
void vpa_pods_free_all(struct vpa_cluster *c);

#endif
