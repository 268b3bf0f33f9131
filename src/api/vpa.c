/*
 * Tables of fields, from the leaves up: amounts, recommendation, policies, boost, selector, then
 * spec, status and object. Enumerations stay texts: what a word means is decided where it is used,
 * so that an unknown one harms only that use.
 */
#include "vpa/api/vpa.h"

#include <string.h>

#include "decoders.h"

#include "vpa/base/str.h"

/* ---- spec ---- */

static int decode_opt_quantity(struct vpa_arena *arena, const struct vpa_json *node, void *out,
                               struct vpa_error *err)
{
    struct vpa_opt_quantity *q = out;

    q->present = !vpa_json_is_null(node);
    return vpa_quantity_decode(arena, node, &q->value, err);
}

VPA_JSON_DECODER(decode_resource_policy, vpa_resource_policy_decode)
VPA_JSON_DECODER(decode_recommendation, vpa_recommendation_decode)

/* The members of startupBoost, whether of the pod or of a container. */
static const struct vpa_json_field boost_fields[] = {
    VPA_JSON_PRESENT(struct vpa_startup_boost, has_cpu, "cpu"),
    VPA_JSON_STRING(struct vpa_startup_boost, type, "cpu.type", 0),
    VPA_JSON_OPT_INT32(struct vpa_startup_boost, factor, "cpu.factor"),
    VPA_JSON_CUSTOM(struct vpa_startup_boost, quantity, "cpu.quantity", decode_opt_quantity),
    VPA_JSON_OPT_INT32(struct vpa_startup_boost, duration_seconds, "cpu.durationSeconds"),
};
static const struct vpa_json_shape boost_shape =
    VPA_JSON_SHAPE(struct vpa_startup_boost, boost_fields);

static int decode_boost(struct vpa_arena *arena, const struct vpa_json *node, void *out,
                        struct vpa_error *err)
{
    struct vpa_startup_boost *boost = out;
    const struct vpa_json *cpu = vpa_json_find(node, "cpu");

    if (!vpa_json_is_null(cpu) && !vpa_json_is_object(cpu)) {
        vpa_json_wrong_type(cpu, "object", err);
        return vpa_wrap(err, "cpu");
    }
    boost->present = !vpa_json_is_null(node);
    return vpa_json_decode(arena, node, &boost_shape, boost, err);
}

static int decode_pod_boost(struct vpa_arena *arena, const struct vpa_json *node, void *out,
                            struct vpa_error *err)
{
    const struct vpa_startup_boost **kept = out;
    struct vpa_startup_boost *boost;

    *kept = NULL;
    if (vpa_json_is_null(node))
        return 0;
    boost = vpa_arena_zalloc(arena, sizeof(*boost));
    if (decode_boost(arena, node, boost, err) < 0)
        return -1;
    *kept = boost;
    return 0;
}

static const struct vpa_json_field policy_fields[] = {
    VPA_JSON_STRING(struct vpa_container_policy, container_name, "containerName", 0),
    VPA_JSON_STRING(struct vpa_container_policy, mode, "mode", VPA_JSON_NULLABLE),
    VPA_JSON_RESOURCE_LIST(struct vpa_container_policy, min_allowed, "minAllowed"),
    VPA_JSON_RESOURCE_LIST(struct vpa_container_policy, max_allowed, "maxAllowed"),
    VPA_JSON_PRESENT(struct vpa_container_policy, has_controlled_resources, "controlledResources"),
    VPA_JSON_STRINGS(struct vpa_container_policy, controlled_resources, controlled_resource_count,
                     "controlledResources", 0),
    VPA_JSON_STRING(struct vpa_container_policy, controlled_values, "controlledValues",
                    VPA_JSON_NULLABLE),
    VPA_JSON_CUSTOM(struct vpa_container_policy, oom_bump_up_ratio, "oomBumpUpRatio",
                    decode_opt_quantity),
    VPA_JSON_CUSTOM(struct vpa_container_policy, oom_min_bump_up, "oomMinBumpUp",
                    decode_opt_quantity),
    VPA_JSON_OPT_INT32(struct vpa_container_policy, memory_interval_seconds,
                       "memoryAggregationIntervalSeconds"),
    VPA_JSON_STRING(struct vpa_container_policy, memory_interval, "memoryAggregationInterval",
                    VPA_JSON_NULLABLE),
    VPA_JSON_OPT_INT64(struct vpa_container_policy, memory_interval_count,
                       "memoryAggregationIntervalCount"),
    VPA_JSON_CUSTOM(struct vpa_container_policy, startup_boost, "startupBoost", decode_boost),
};
static const struct vpa_json_shape policy_shape =
    VPA_JSON_SHAPE(struct vpa_container_policy, policy_fields);

static const struct vpa_json_field resource_policy_fields[] = {
    VPA_JSON_ARRAY_OF(struct vpa_resource_policy, containers, container_count, "containerPolicies",
                      &policy_shape, 0),
};
static const struct vpa_json_shape resource_policy_shape =
    VPA_JSON_SHAPE(struct vpa_resource_policy, resource_policy_fields);

int vpa_resource_policy_decode(struct vpa_arena *arena, const struct vpa_json *node,
                               struct vpa_resource_policy *out, struct vpa_error *err)
{
    struct vpa_resource_policy policy;

    if (vpa_json_decode(arena, node, &resource_policy_shape, &policy, err) < 0)
        return -1;
    policy.present = !vpa_json_is_null(node);
    policy.boosts = false;
    for (size_t i = 0; i < policy.container_count; i++)
        policy.boosts |= policy.containers[i].startup_boost.present;
    policy.by_name = vpa_names_index(arena, policy.containers, policy.container_count,
                                     sizeof(*policy.containers));
    *out = policy;
    return 0;
}

static const struct vpa_json_field target_fields[] = {
    VPA_JSON_STRING(struct vpa_target_ref, api_version, "apiVersion", 0),
    VPA_JSON_STRING(struct vpa_target_ref, kind, "kind", 0),
    VPA_JSON_STRING(struct vpa_target_ref, name, "name", 0),
};
static const struct vpa_json_shape target_shape =
    VPA_JSON_SHAPE(struct vpa_target_ref, target_fields);

static const struct vpa_json_field requirement_fields[] = {
    VPA_JSON_STRINGS(struct vpa_eviction_requirement, resources, resource_count, "resources", 0),
    VPA_JSON_STRING(struct vpa_eviction_requirement, change_requirement, "changeRequirement", 0),
};
static const struct vpa_json_shape requirement_shape =
    VPA_JSON_SHAPE(struct vpa_eviction_requirement, requirement_fields);

/* spec.recommenders has objects; only their names are kept. */
static const struct vpa_json_field recommender_fields[] = {
    VPA_JSON_STRING(struct vpa_label, key, "name", 0),
};
static const struct vpa_json_shape recommender_shape =
    VPA_JSON_SHAPE(struct vpa_label, recommender_fields);

static int decode_recommenders(struct vpa_arena *arena, const struct vpa_json *node,
                               struct vpa_object *out, struct vpa_error *err)
{
    const struct vpa_label *named;
    const char **names;
    const void *all;
    size_t count;

    if (vpa_json_decode_array(arena, node, &recommender_shape, &all, &count, err) < 0)
        return vpa_wrap(err, "spec.recommenders");
    named = all;
    names = count ? vpa_arena_alloc(arena, count * sizeof(*names)) : NULL;
    for (size_t i = 0; i < count; i++)
        names[i] = named[i].key;
    out->recommenders = names;
    out->recommender_count = count;
    return 0;
}

/* S8. A selector that does not convert leaves the object readable, so that somebody can be told. */
static int decode_selector(struct vpa_arena *arena, const struct vpa_json *node,
                           struct vpa_object *out, struct vpa_error *err)
{
    struct vpa_error why;

    out->selector = (struct vpa_selector){.nothing = true};
    out->selector_error = NULL;
    if (vpa_json_is_null(node))
        return 0;
    if (!vpa_json_is_object(node)) {
        vpa_json_wrong_type(node, "object", err);
        return vpa_wrap(err, "spec.selector");
    }
    if (vpa_selector_decode(arena, node, &out->selector, &why) < 0)
        out->selector_error = vpa_arena_strdup(arena, why.text);
    return 0;
}

/* ---- status ---- */

static const struct vpa_json_field container_fields[] = {
    VPA_JSON_STRING(struct vpa_container_recommendation, container_name, "containerName", 0),
    VPA_JSON_RESOURCE_LIST(struct vpa_container_recommendation, target, "target"),
    VPA_JSON_RESOURCE_LIST(struct vpa_container_recommendation, lower_bound, "lowerBound"),
    VPA_JSON_RESOURCE_LIST(struct vpa_container_recommendation, upper_bound, "upperBound"),
    VPA_JSON_RESOURCE_LIST(struct vpa_container_recommendation, uncapped_target, "uncappedTarget"),
};
static const struct vpa_json_shape container_shape =
    VPA_JSON_SHAPE(struct vpa_container_recommendation, container_fields);

static const struct vpa_json_field recommendation_fields[] = {
    VPA_JSON_ARRAY_OF(struct vpa_recommendation, containers, container_count,
                      "containerRecommendations", &container_shape, 0),
};
static const struct vpa_json_shape recommendation_shape =
    VPA_JSON_SHAPE(struct vpa_recommendation, recommendation_fields);

int vpa_recommendation_decode(struct vpa_arena *arena, const struct vpa_json *node,
                              struct vpa_recommendation *out, struct vpa_error *err)
{
    struct vpa_recommendation rec;

    /* The recommender that wrote that many writes again; until then none is the safe side. */
    if (vpa_json_count(vpa_json_find(node, "containerRecommendations")) > VPA_LIST_MAX)
        node = NULL;
    if (vpa_json_decode(arena, node, &recommendation_shape, &rec, err) < 0)
        return -1;
    rec.present = !vpa_json_is_null(node);
    vpa_recommendation_index(arena, &rec);
    *out = rec;
    return 0;
}

static void encode_bounds(struct vpa_json_writer *w, const char *name,
                          const struct vpa_resource_list *list)
{
    if (list->count == 0)
        return;
    vpa_json_key(w, name);
    vpa_resource_list_encode(w, list);
}

void vpa_recommendation_encode(struct vpa_json_writer *w, const struct vpa_recommendation *rec)
{
    vpa_json_open_object(w);
    if (rec->container_count) {
        vpa_json_member_array(w, "containerRecommendations");
        for (size_t i = 0; i < rec->container_count; i++) {
            const struct vpa_container_recommendation *c = &rec->containers[i];

            vpa_json_open_object(w);
            vpa_json_member_string_opt(w, "containerName", c->container_name);
            vpa_json_key(w, "target");
            vpa_resource_list_encode(w, &c->target);
            encode_bounds(w, "lowerBound", &c->lower_bound);
            encode_bounds(w, "upperBound", &c->upper_bound);
            encode_bounds(w, "uncappedTarget", &c->uncapped_target);
            vpa_json_close_object(w);
        }
        vpa_json_close_array(w);
    }
    vpa_json_close_object(w);
}

static bool same_quantity(const struct vpa_quantity *a, const struct vpa_quantity *b)
{
    return !a->big && !b->big && a->mantissa == b->mantissa && a->scale == b->scale &&
           a->format == b->format && vpa_str_eq(a->text, b->text);
}

/* To the last letter, not only by value. */
static bool same_list(const struct vpa_resource_list *a, const struct vpa_resource_list *b)
{
    if (a->count != b->count || a->present != b->present)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].name, b->items[i].name) != 0 ||
            !same_quantity(&a->items[i].quantity, &b->items[i].quantity))
            return false;
    return true;
}

/* Without policy bounds in the way the two targets are the same: an eighth of a VPA's memory. */
static struct vpa_resource_list copy_uncapped(struct vpa_arena *arena,
                                              const struct vpa_container_recommendation *from,
                                              const struct vpa_container_recommendation *copy)
{
    return same_list(&from->uncapped_target, &from->target)
               ? copy->target
               : vpa_resource_list_copy(arena, &from->uncapped_target);
}

struct vpa_recommendation vpa_recommendation_copy(struct vpa_arena *arena,
                                                  const struct vpa_recommendation *rec)
{
    struct vpa_recommendation copy = {.present = rec->present,
                                      .container_count = rec->container_count};

    if (rec->container_count == 0)
        return copy;
    copy.containers = vpa_arena_alloc(arena, rec->container_count * sizeof(*copy.containers));
    for (size_t i = 0; i < rec->container_count; i++) {
        const struct vpa_container_recommendation *from = &rec->containers[i];

        copy.containers[i] = (struct vpa_container_recommendation){
            .container_name = vpa_arena_strdup(arena, from->container_name),
            .target = vpa_resource_list_copy(arena, &from->target),
            .lower_bound = vpa_resource_list_copy(arena, &from->lower_bound),
            .upper_bound = vpa_resource_list_copy(arena, &from->upper_bound),
        };
        copy.containers[i].uncapped_target = copy_uncapped(arena, from, &copy.containers[i]);
    }
    vpa_recommendation_index(arena, &copy);
    return copy;
}

void vpa_recommendation_index(struct vpa_arena *arena, struct vpa_recommendation *rec)
{
    rec->by_name =
        vpa_names_index(arena, rec->containers, rec->container_count, sizeof(*rec->containers));
}

struct vpa_container_recommendation *vpa_recommendation_find(const struct vpa_recommendation *rec,
                                                             const char *container)
{
    size_t at = vpa_names_first(rec->by_name, rec->containers, rec->container_count,
                                sizeof(*rec->containers), container);

    return at < rec->container_count ? &rec->containers[at] : NULL;
}

static const struct vpa_json_field condition_fields[] = {
    VPA_JSON_STRING(struct vpa_condition, type, "type", 0),
    VPA_JSON_STRING(struct vpa_condition, status, "status", 0),
    VPA_JSON_STRING(struct vpa_condition, reason, "reason", 0),
    VPA_JSON_STRING(struct vpa_condition, message, "message", 0),
    VPA_JSON_TIME(struct vpa_condition, last_transition, "lastTransitionTime", 0),
    VPA_JSON_INT64(struct vpa_condition, observed_generation, "observedGeneration", 0),
};
static const struct vpa_json_shape condition_shape =
    VPA_JSON_SHAPE(struct vpa_condition, condition_fields);

/* Too many are read as no conditions, as for recommendations. */
static int decode_conditions(struct vpa_arena *arena, const struct vpa_json *node,
                             struct vpa_object *out, struct vpa_error *err)
{
    const void *conditions;

    if (vpa_json_count(node) > VPA_LIST_MAX)
        node = NULL;
    if (vpa_json_decode_array(arena, node, &condition_shape, &conditions, &out->condition_count,
                              err) < 0)
        return vpa_wrap(err, "status.conditions");
    out->conditions = conditions;
    return 0;
}

/* ---- object ---- */

static const struct vpa_json_field object_fields[] = {
    VPA_JSON_META(struct vpa_object, meta),
    VPA_JSON_NESTED(struct vpa_object, target_ref, "spec.targetRef", &target_shape, 0),
    VPA_JSON_PRESENT(struct vpa_object, target_ref.present, "spec.targetRef"),
    VPA_JSON_PRESENT(struct vpa_object, has_selector, "spec.selector"),
    VPA_JSON_PRESENT(struct vpa_object, has_update_policy, "spec.updatePolicy"),
    VPA_JSON_STRING(struct vpa_object, update_mode, "spec.updatePolicy.updateMode",
                    VPA_JSON_NULLABLE),
    VPA_JSON_OPT_INT32(struct vpa_object, min_replicas, "spec.updatePolicy.minReplicas"),
    VPA_JSON_PRESENT(struct vpa_object, has_eviction_requirements,
                     "spec.updatePolicy.evictionRequirements"),
    VPA_JSON_ARRAY_OF(struct vpa_object, eviction_requirements, eviction_requirement_count,
                      "spec.updatePolicy.evictionRequirements", &requirement_shape, 0),
    VPA_JSON_OPT_INT32(struct vpa_object, evict_after_oom_seconds,
                       "spec.updatePolicy.evictAfterOOMSeconds"),
    VPA_JSON_CUSTOM(struct vpa_object, resource_policy, "spec.resourcePolicy",
                    decode_resource_policy),
    VPA_JSON_CUSTOM(struct vpa_object, startup_boost, "spec.startupBoost", decode_pod_boost),
    VPA_JSON_PRESENT(struct vpa_object, has_status, "status"),
    VPA_JSON_CUSTOM(struct vpa_object, recommendation, "status.recommendation",
                    decode_recommendation),
    VPA_JSON_OPT_INT64(struct vpa_object, observed_generation, "status.observedGeneration"),
};
static const struct vpa_json_shape object_shape = VPA_JSON_SHAPE(struct vpa_object, object_fields);

const char *vpa_object_too_long(const struct vpa_json *object, size_t *length)
{
    static const char *const lists[] = {"spec.resourcePolicy.containerPolicies",
                                        "spec.updatePolicy.evictionRequirements",
                                        "spec.recommenders"};

    for (size_t i = 0; i < VPA_COUNT(lists); i++) {
        *length = vpa_json_count(vpa_json_at(object, lists[i]));
        if (*length > VPA_LIST_MAX)
            return lists[i];
    }
    return NULL;
}

int vpa_object_decode(struct vpa_arena *arena, const struct vpa_json *object,
                      struct vpa_object *out, struct vpa_error *err)
{
    struct vpa_object vpa;
    size_t length;

    if (!vpa_json_is_object(object))
        return vpa_json_wrong_type(object, "object", err);
    const char *list = vpa_object_too_long(object, &length);
    if (list)
        return vpa_fail(err, VPA_INVALID, "%s: %zu elements, at most %d are read", list, length,
                        VPA_LIST_MAX);
    if (vpa_json_decode(arena, object, &object_shape, &vpa, err) < 0)
        return -1;
    if (decode_recommenders(arena, vpa_json_at(object, "spec.recommenders"), &vpa, err) < 0 ||
        decode_selector(arena, vpa_json_at(object, "spec.selector"), &vpa, err) < 0 ||
        decode_conditions(arena, vpa_json_at(object, "status.conditions"), &vpa, err) < 0)
        return -1;
    *out = vpa;
    return 0;
}

const char *vpa_object_mode(const struct vpa_object *vpa)
{
    return vpa->update_mode && *vpa->update_mode ? vpa->update_mode : "Recreate";
}

bool vpa_object_has_startup_boost(const struct vpa_object *vpa)
{
    return vpa->startup_boost || vpa->resource_policy.boosts;
}

const struct vpa_container_policy *vpa_policy_find(const struct vpa_resource_policy *policy,
                                                   const char *container)
{
    size_t count = policy->container_count, size = sizeof(*policy->containers);
    size_t at = vpa_names_first(policy->by_name, policy->containers, count, size, container);

    if (at == count)
        at = vpa_names_last(policy->by_name, policy->containers, count, size, "*");
    return at < count ? &policy->containers[at] : NULL;
}

bool vpa_policy_is_off(const struct vpa_resource_policy *policy, const char *container)
{
    const struct vpa_container_policy *p = vpa_policy_find(policy, container);

    return p && p->mode && strcmp(p->mode, "Off") == 0;
}
