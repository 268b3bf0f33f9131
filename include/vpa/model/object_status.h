/*
 * The status of a VPA: conditions, comparison with the stored one, and the patch body.
 *
 * The conditions are a function of those stored in the object and of what the pass found; nothing
 * is remembered between passes (recommender.md 9.1 and 13 of the specification). A pass takes its
 * time, and others write conditions too: the patch replaces all of them, so it goes on with those
 * of the newest version.
 */
#ifndef VPA_MODEL_OBJECT_STATUS_H
#define VPA_MODEL_OBJECT_STATUS_H

#include "vpa/api/vpa.h"
#include "vpa/json/json_writer.h"

#define VPA_CONDITION_PROVIDED "RecommendationProvided"
#define VPA_CONDITION_NO_PODS "NoPodsMatched"
#define VPA_CONDITION_FETCHING_HISTORY "FetchingHistory"
#define VPA_CONDITION_DEPRECATED "ConfigDeprecated"
#define VPA_CONDITION_UNSUPPORTED "ConfigUnsupported"
#define VPA_CONDITION_CONFLICT "TargetConflict" /* ours: another VPA controls the pods (U12) */
/* ours: pods are there, and nothing is known of their usage for a while */
#define VPA_CONDITION_WAITING "WaitingForSamples"
/* How long there is no recommendation before that is said: samples of new pods come in a minute. */
#define VPA_WAITING_PATIENCE (10 * VPA_MINUTE)
#define VPA_CONDITION_ALGORITHM                                                                    \
    "Algorithm" /* ours: which one recommends, where it is not VPA's own */

struct vpa_object_status {
    struct vpa_recommendation recommendation; /* not written when not present */
    struct vpa_condition *conditions;         /* sorted by type, each once */
    size_t condition_count;
    struct vpa_opt_int64 observed_generation;
};

struct vpa_object_status_facts {
    const struct vpa_object *object; /* that was evaluated */
    const struct vpa_object *newest; /* whose conditions are there by now; NULL: the same */
    const char *unsupported;    /* message of ConfigUnsupported; NULL: the configuration is fine */
    const char *conflict;       /* message of TargetConflict; NULL: nobody else wins the pods */
    const char *algorithm;      /* name; NULL: VPA's own, of which the status says nothing */
    const char *algorithm_note; /* what is wrong with its parameters; NULL: nothing */
    bool pods_matched;
    bool no_samples; /* nothing is recommended, because nothing is known of the containers' usage */
    const struct vpa_recommendation *recommendation; /* of this pass */
    vpa_time now;
};
/* Conditions and lists live in the arena, texts also in the facts. */
void vpa_object_status_build(const struct vpa_object_status_facts *facts, struct vpa_arena *arena,
                             struct vpa_object_status *out);
/* Semantic equality with the stored status: quantities by value, times by instant, null equals
 * empty. */
bool vpa_object_status_equal_stored(const struct vpa_object_status *status,
                                    const struct vpa_object *object);
/* The body of the status patch: [{"op":"add","path":"/status","value":{..}}] */
void vpa_object_status_encode_patch(struct vpa_json_writer *w,
                                    const struct vpa_object_status *status);

/* Whether the last condition of that type is True. */
bool vpa_condition_true(const struct vpa_condition *conditions, size_t count, const char *type);
/* The stored recommendation counts only while RecommendationProvided is True and it is not empty.
 */
bool vpa_object_has_recommendation(const struct vpa_object *object);

#endif
