/*
 * VerticalPodAutoscaler v1: spec, status, and what follows from the spec alone (effective mode,
 * policy look-up). Field by field as in specification api.md 2; S6 and S8 add spec.selector and
 * memoryAggregationInterval.
 */
#ifndef VPA_API_VPA_H
#define VPA_API_VPA_H

#include "vpa/api/meta.h"
#include "vpa/api/names.h"
#include "vpa/api/resources.h"
#include "vpa/json/json_decode.h"

#define VPA_GROUP "autoscaling.k8s.io"
#define VPA_GROUP_VERSION "autoscaling.k8s.io/v1"
/* Most elements of any list in a VPA (docs/limits.md). An object with a longer list in its spec is
 * not decoded; a longer list in its status is read as none. */
#define VPA_LIST_MAX VPA_JSON_LIST_MAX

struct vpa_opt_int32 {
    bool present;
    int32_t value;
};
struct vpa_opt_int64 {
    bool present;
    int64_t value;
};
struct vpa_opt_quantity {
    bool present;
    struct vpa_quantity value;
};

struct vpa_target_ref {
    bool present;
    const char *api_version;
    const char *kind;
    const char *name;
};
struct vpa_eviction_requirement {
    const char *const *resources;
    size_t resource_count;
    const char *change_requirement;
};
struct vpa_startup_boost {
    bool present;     /* startupBoost is there, {} counts */
    bool has_cpu;     /* startupBoost.cpu is there */
    const char *type; /* "" when absent */
    struct vpa_opt_int32 factor;
    struct vpa_opt_quantity quantity;
    struct vpa_opt_int32 duration_seconds;
};
struct vpa_container_policy {
    const char *container_name;
    const char *mode; /* NULL when absent; "Auto", "Off" */
    struct vpa_resource_list min_allowed;
    struct vpa_resource_list max_allowed;
    bool has_controlled_resources; /* an empty list controls nothing */
    const char *const *controlled_resources;
    size_t controlled_resource_count;
    const char *controlled_values; /* NULL when absent */
    struct vpa_opt_quantity oom_bump_up_ratio;
    struct vpa_opt_quantity oom_min_bump_up;
    struct vpa_opt_int32 memory_interval_seconds;
    const char *memory_interval; /* S6: Go duration text, NULL when absent */
    struct vpa_opt_int64 memory_interval_count;
    struct vpa_startup_boost startup_boost;
};
struct vpa_resource_policy {
    bool present;
    bool boosts; /* some container has a startupBoost, whatever it holds */
    const struct vpa_container_policy *containers;
    size_t container_count;
    const uint32_t *by_name; /* vpa_names_index */
};
struct vpa_container_recommendation {
    const char *container_name;
    struct vpa_resource_list target;
    struct vpa_resource_list lower_bound;
    struct vpa_resource_list upper_bound;
    struct vpa_resource_list uncapped_target;
};
struct vpa_recommendation {
    bool present;
    struct vpa_container_recommendation *containers;
    size_t container_count;
    const uint32_t *by_name; /* vpa_names_index, or NULL */
};
struct vpa_condition {
    const char *type;
    const char *status; /* "True", "False", "Unknown" */
    const char *reason;
    const char *message;
    vpa_time last_transition; /* unset writes null */
    int64_t observed_generation;
};
struct vpa_object { /* one VerticalPodAutoscaler; ordered for size, ten thousand are kept */
    struct vpa_meta meta;
    struct vpa_target_ref target_ref;
    bool has_selector; /* S8: spec.selector */
    bool has_update_policy;
    bool has_eviction_requirements;
    bool has_status;
    struct vpa_opt_int32 min_replicas;
    struct vpa_opt_int32 evict_after_oom_seconds;
    struct vpa_selector selector;
    const char *selector_error; /* why the selector cannot be used; it is then "nothing"; or NULL */
    const char *update_mode;    /* as stored; NULL when absent */
    const struct vpa_eviction_requirement *eviction_requirements;
    size_t eviction_requirement_count;
    struct vpa_resource_policy resource_policy;
    const char *const *recommenders; /* names */
    size_t recommender_count;
    const struct vpa_startup_boost *startup_boost; /* NULL when absent */

    struct vpa_recommendation recommendation;
    const struct vpa_condition *conditions; /* as stored, duplicates included */
    size_t condition_count;
    struct vpa_opt_int64 observed_generation;
};

/* The object and all its texts live in the arena. */
int vpa_object_decode(struct vpa_arena *arena, const struct vpa_json *object,
                      struct vpa_object *out, struct vpa_error *err) VPA_MUST_CHECK;
int vpa_resource_policy_decode(struct vpa_arena *arena, const struct vpa_json *node,
                               struct vpa_resource_policy *out,
                               struct vpa_error *err) VPA_MUST_CHECK;
int vpa_recommendation_decode(struct vpa_arena *arena, const struct vpa_json *node,
                              struct vpa_recommendation *out, struct vpa_error *err) VPA_MUST_CHECK;
/* To be called when the containers are complete, so that they are found in a moment. */
void vpa_recommendation_index(struct vpa_arena *arena, struct vpa_recommendation *rec);
/* status.recommendation as upstream writes it: {} when empty; members in upstream's order. */
void vpa_recommendation_encode(struct vpa_json_writer *w, const struct vpa_recommendation *rec);
/* For reading only: equal lists of a container may be one. */
struct vpa_recommendation vpa_recommendation_copy(struct vpa_arena *arena,
                                                  const struct vpa_recommendation *rec);
/* Entry of that container, or NULL. */
struct vpa_container_recommendation *vpa_recommendation_find(const struct vpa_recommendation *rec,
                                                             const char *container);

/* "Recreate" when absent or empty, else the stored text. */
const char *vpa_object_mode(const struct vpa_object *vpa);
/* Any startupBoost anywhere, whatever it holds and whatever the gate. */
bool vpa_object_has_startup_boost(const struct vpa_object *vpa);
/* Path and length of the first list of the spec that is longer than VPA_LIST_MAX, or NULL. */
const char *vpa_object_too_long(const struct vpa_json *object, size_t *length);
/* First exact name, else the last "*", else NULL (no merging). */
const struct vpa_container_policy *vpa_policy_find(const struct vpa_resource_policy *policy,
                                                   const char *container);
/* Whether the policy of the container has mode Off. */
bool vpa_policy_is_off(const struct vpa_resource_policy *policy, const char *container);

#endif
