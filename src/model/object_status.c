/*
 * Conditions and comparison.
 *
 * Upstream keeps conditions in memory and resets them from the object in every pass; here they are
 * computed from the object. A condition that the recommender sets keeps its transition time while
 * its status stays the same; conditions of other writers are carried over as they are.
 */
#include "vpa/model/object_status.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"

#define NO_PODS_REASON "NoPodsMatched"
#define NO_PODS_MESSAGE "No pods match this VPA object"
#define WAITING_REASON "NoSamples"
#define WAITING_MESSAGE                                                                            \
    "Pods match this VPA object, but too few usage samples of their containers came"

/* Conditions that a pass adds at most. */
#define ADDED_MAX 6

static struct vpa_condition *find_condition(const struct vpa_object_status *status,
                                            const char *type)
{
    for (size_t i = 0; i < status->condition_count; i++) {
        if (strcmp(status->conditions[i].type, type) == 0)
            return &status->conditions[i];
    }
    return NULL;
}

static void remove_condition(struct vpa_object_status *status, const char *type)
{
    struct vpa_condition *condition = find_condition(status, type);

    if (condition)
        *condition = status->conditions[--status->condition_count];
}

static void set_condition(struct vpa_object_status *status, const char *type, bool value,
                          const char *reason, const char *message, vpa_time now)
{
    struct vpa_condition *condition = find_condition(status, type);
    const char *text = value ? "True" : "False";
    bool kept = condition && strcmp(condition->status, text) == 0;
    vpa_time since = kept ? condition->last_transition : now;

    if (!condition)
        condition = &status->conditions[status->condition_count++];
    *condition = (struct vpa_condition){
        .type = type,
        .status = text,
        .reason = reason,
        .message = message,
        .last_transition = since,
    };
}

static int compare_conditions(const void *a, const void *b)
{
    return strcmp(((const struct vpa_condition *)a)->type, ((const struct vpa_condition *)b)->type);
}

/* Of several stored conditions of one type the last one counts. */
static void adopt_stored(struct vpa_arena *arena, struct vpa_object_status *status,
                         const struct vpa_object *object)
{
    const struct vpa_condition *stored = object->conditions;
    size_t count = object->condition_count;
    const uint32_t *by_type = vpa_names_index(arena, stored, count, sizeof(*stored));

    for (size_t i = 0; i < count; i++)
        if (vpa_names_last(by_type, stored, count, sizeof(*stored), stored[i].type) == i)
            status->conditions[status->condition_count++] = stored[i];
}

/* True: it works with the parameters that the VPA gives. */
static void set_algorithm(const struct vpa_object_status_facts *facts, struct vpa_arena *arena,
                          struct vpa_object_status *out)
{
    if (!facts->algorithm) {
        remove_condition(out, VPA_CONDITION_ALGORITHM);
        return;
    }
    const char *message =
        facts->algorithm_note
            ? vpa_arena_printf(arena, "%s; the setting of the recommender is used",
                               facts->algorithm_note)
            : vpa_arena_printf(arena, "Recommended by algorithm %s", facts->algorithm);
    set_condition(out, VPA_CONDITION_ALGORITHM, !facts->algorithm_note, facts->algorithm, message,
                  facts->now);
}

/* Said when nothing has been provided for a while, so that it is one write for a VPA whose samples
 * do not come, and none for the others. */
static void set_waiting(const struct vpa_object_status_facts *facts, struct vpa_object_status *out)
{
    const struct vpa_condition *provided = find_condition(out, VPA_CONDITION_PROVIDED);
    vpa_duration since = vpa_time_sub(facts->now, provided->last_transition);

    if (facts->no_samples && facts->pods_matched && !facts->unsupported &&
        strcmp(provided->status, "False") == 0 && since >= VPA_WAITING_PATIENCE)
        set_condition(out, VPA_CONDITION_WAITING, true, WAITING_REASON, WAITING_MESSAGE,
                      facts->now);
    else
        remove_condition(out, VPA_CONDITION_WAITING);
}

void vpa_object_status_build(const struct vpa_object_status_facts *facts, struct vpa_arena *arena,
                             struct vpa_object_status *out)
{
    const struct vpa_object *stored = facts->newest ? facts->newest : facts->object;
    bool provided = facts->recommendation->container_count > 0;

    *out = (struct vpa_object_status){
        .recommendation = *facts->recommendation,
        .conditions = vpa_arena_alloc(arena, (stored->condition_count + ADDED_MAX) *
                                                 sizeof(*out->conditions)),
        .observed_generation = {true, facts->object->meta.generation},
    };
    adopt_stored(arena, out, stored);
    remove_condition(out, VPA_CONDITION_DEPRECATED);
    if (facts->unsupported)
        set_condition(out, VPA_CONDITION_UNSUPPORTED, true, "", facts->unsupported, facts->now);
    else
        remove_condition(out, VPA_CONDITION_UNSUPPORTED);
    if (facts->conflict)
        set_condition(out, VPA_CONDITION_CONFLICT, true, "", facts->conflict, facts->now);
    else
        remove_condition(out, VPA_CONDITION_CONFLICT);
    set_algorithm(facts, arena, out);
    if (facts->pods_matched)
        remove_condition(out, VPA_CONDITION_NO_PODS);
    else
        set_condition(out, VPA_CONDITION_NO_PODS, true, NO_PODS_REASON, NO_PODS_MESSAGE,
                      facts->now);
    bool explain = !provided && !facts->pods_matched;
    set_condition(out, VPA_CONDITION_PROVIDED, provided, explain ? NO_PODS_REASON : "",
                  explain ? NO_PODS_MESSAGE : "", facts->now);
    set_waiting(facts, out);
    qsort(out->conditions, out->condition_count, sizeof(*out->conditions), compare_conditions);
}

/* ---- comparison ---- */

static bool conditions_equal(const struct vpa_condition *a, const struct vpa_condition *b)
{
    return strcmp(a->type, b->type) == 0 && strcmp(a->status, b->status) == 0 &&
           strcmp(a->reason, b->reason) == 0 && strcmp(a->message, b->message) == 0 &&
           a->last_transition == b->last_transition &&
           a->observed_generation == b->observed_generation;
}

static bool containers_equal(const struct vpa_container_recommendation *a,
                             const struct vpa_container_recommendation *b)
{
    return strcmp(a->container_name, b->container_name) == 0 &&
           vpa_resource_list_equal(&a->target, &b->target) &&
           vpa_resource_list_equal(&a->lower_bound, &b->lower_bound) &&
           vpa_resource_list_equal(&a->upper_bound, &b->upper_bound) &&
           vpa_resource_list_equal(&a->uncapped_target, &b->uncapped_target);
}

static bool recommendations_equal(const struct vpa_recommendation *a,
                                  const struct vpa_recommendation *b)
{
    if (a->present != b->present || a->container_count != b->container_count)
        return false;
    for (size_t i = 0; i < a->container_count; i++) {
        if (!containers_equal(&a->containers[i], &b->containers[i]))
            return false;
    }
    return true;
}

bool vpa_object_status_equal_stored(const struct vpa_object_status *status,
                                    const struct vpa_object *object)
{
    if (status->observed_generation.present != object->observed_generation.present ||
        status->observed_generation.value != object->observed_generation.value ||
        status->condition_count != object->condition_count ||
        !recommendations_equal(&status->recommendation, &object->recommendation))
        return false;
    for (size_t i = 0; i < status->condition_count; i++) {
        if (!conditions_equal(&status->conditions[i], &object->conditions[i]))
            return false;
    }
    return true;
}

/* ---- text ---- */

static void encode_condition(struct vpa_json_writer *w, const struct vpa_condition *condition)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "type", condition->type);
    vpa_json_member_string(w, "status", condition->status);
    vpa_json_member_time(w, "lastTransitionTime", condition->last_transition);
    vpa_json_member_string_opt(w, "reason", condition->reason);
    vpa_json_member_string_opt(w, "message", condition->message);
    vpa_json_member_int_opt(w, "observedGeneration", condition->observed_generation);
    vpa_json_close_object(w);
}

static void encode_status(struct vpa_json_writer *w, const struct vpa_object_status *status)
{
    vpa_json_open_object(w);
    if (status->recommendation.present) {
        vpa_json_key(w, "recommendation");
        vpa_recommendation_encode(w, &status->recommendation);
    }
    if (status->condition_count) {
        vpa_json_member_array(w, "conditions");
        for (size_t i = 0; i < status->condition_count; i++)
            encode_condition(w, &status->conditions[i]);
        vpa_json_close_array(w);
    }
    if (status->observed_generation.present) {
        vpa_json_member_int(w, "observedGeneration", status->observed_generation.value);
    }
    vpa_json_close_object(w);
}

void vpa_object_status_encode_patch(struct vpa_json_writer *w,
                                    const struct vpa_object_status *status)
{
    vpa_json_open_array(w);
    vpa_json_open_object(w);
    vpa_json_member_string(w, "op", "add");
    vpa_json_member_string(w, "path", "/status");
    vpa_json_key(w, "value");
    encode_status(w, status);
    vpa_json_close_object(w);
    vpa_json_close_array(w);
}

/* ---- questions ---- */

bool vpa_condition_true(const struct vpa_condition *conditions, size_t count, const char *type)
{
    for (size_t i = count; i > 0; i--) {
        if (strcmp(conditions[i - 1].type, type) == 0)
            return strcmp(conditions[i - 1].status, "True") == 0;
    }
    return false;
}

bool vpa_object_has_recommendation(const struct vpa_object *object)
{
    return object->recommendation.container_count > 0 &&
           vpa_condition_true(object->conditions, object->condition_count, VPA_CONDITION_PROVIDED);
}
