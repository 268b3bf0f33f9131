/* Status of a VPA: conditions, comparison, patch text. */
#include <check.h>

#include "arena_fixture.h"
#include "model_fixture.h"
#include "vpa/model/object_status.h"

#define T0 "2026-01-15T14:00:00Z"
#define T1 "2026-01-15T15:00:00Z"

static struct vpa_recommendation recommendation(const char *cpu)
{
    struct vpa_recommendation rec = {.present = true};
    struct vpa_error err;
    const char *text = "{}";

    if (cpu)
        text =
            vpa_arena_printf(&arena,
                             "{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":"
                             "{\"cpu\":\"%s\"}}]}",
                             cpu);
    ck_assert_int_eq(vpa_recommendation_decode(&arena, json(&arena, text), &rec, &err), 0);
    return rec;
}

static struct vpa_object *object_with(const char *status)
{
    return vpa_of(&arena, vpa_arena_printf(&arena,
                                           "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"v\","
                                           "\"generation\":3},\"status\":%s}",
                                           status));
}

static const char *patch(const struct vpa_object_status *status)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(1 << 16);

    vpa_json_writer_init(&w, &text);
    vpa_object_status_encode_patch(&w, status);
    ck_assert(vpa_json_writer_done(&w));
    return vpa_arena_strdup(&arena, vpa_buf_text(&text));
}

#define PATCH(body)                                                                                \
    "[{\"op\":\"add\",\"path\":\"/status\",\"value\":{" body ",\"observedGeneration\":3}}]"
#define REC                                                                                        \
    "\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{"    \
    "\"cpu\":\"1\"}}]}"
#define NO_PODS(at)                                                                                \
    "{\"type\":\"NoPodsMatched\",\"status\":\"True\",\"lastTransitionTime\":\"" at                 \
    "\",\"reason\":\"NoPodsMatched\",\"message\":\"No pods match this VPA object\"}"
#define NOT_PROVIDED                                                                               \
    "{\"type\":\"RecommendationProvided\",\"status\":\"False\",\"lastTransitionTime\":\"" T1       \
    "\",\"reason\":\"NoPodsMatched\",\"message\":\"No pods match this VPA object\"}"
#define PROVIDED(at)                                                                               \
    "{\"type\":\"RecommendationProvided\",\"status\":\"True\",\"lastTransitionTime\":\"" at "\"}"
#define UNSUPPORTED(at)                                                                            \
    "{\"type\":\"ConfigUnsupported\",\"status\":\"True\",\"lastTransitionTime\":\"" at             \
    "\",\"message\":\"Cannot read targetRef\"}"

static const struct {
    const char *name, *stored, *unsupported;
    bool pods, recommendation;
    const char *patch;
} statuses[] = {
    {"fresh, no pods", "{}", NULL, false, false,
     PATCH("\"recommendation\":{},\"conditions\":[" NO_PODS(T1) "," NOT_PROVIDED "]")},
    {"pods and recommendation", "{}", NULL, true, true,
     PATCH(REC ",\"conditions\":[" PROVIDED(T1) "]")},
    {"pods, nothing yet", "{}", NULL, true, false,
     PATCH("\"recommendation\":{},\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":"
           "\"False\",\"lastTransitionTime\":\"" T1 "\"}]")},
    {"transition time is kept", "{\"conditions\":[" PROVIDED(T0) "]}", NULL, true, true,
     PATCH(REC ",\"conditions\":[" PROVIDED(T0) "]")},
    {"pods are gone, history is there", "{\"conditions\":[" PROVIDED(T0) "]}", NULL, false, true,
     PATCH(REC ",\"conditions\":[" NO_PODS(T1) "," PROVIDED(T0) "]")},
    {"pods are back", "{\"conditions\":[" NO_PODS(T0) "," PROVIDED(T0) "]}", NULL, true, true,
     PATCH(REC ",\"conditions\":[" PROVIDED(T0) "]")},
    {"unsupported", "{\"conditions\":[" UNSUPPORTED(T0) "]}", "Cannot read targetRef", false, true,
     PATCH(REC ",\"conditions\":[" UNSUPPORTED(T0) "," NO_PODS(T1) "," PROVIDED(T1) "]")},
    {"supported again", "{\"conditions\":[" UNSUPPORTED(T0) "," PROVIDED(T0) "]}", NULL, true, true,
     PATCH(REC ",\"conditions\":[" PROVIDED(T0) "]")},
    {"foreign conditions stay, deprecated goes, the last of a type counts",
     "{\"conditions\":[{\"type\":\"Zebra\",\"status\":\"Unknown\",\"lastTransitionTime\":\"" T0
     "\",\"observedGeneration\":2},{\"type\":\"ConfigDeprecated\",\"status\":\"True\","
     "\"lastTransitionTime\":\"" T0 "\"},{\"type\":\"LowConfidence\",\"status\":\"False\","
     "\"lastTransitionTime\":\"" T0 "\"},{\"type\":\"LowConfidence\",\"status\":\"True\","
     "\"lastTransitionTime\":\"" T1 "\"}]}",
     NULL, true, true,
     PATCH(
         REC
         ",\"conditions\":[{\"type\":\"LowConfidence\",\"status\":\"True\",\"lastTransitionTime\":"
         "\"" T1 "\"}," PROVIDED(T1) ",{\"type\":\"Zebra\",\"status\":\"Unknown\","
                                     "\"lastTransitionTime\":\"" T0
                                     "\",\"observedGeneration\":2}]")},
};

TEST_EACH(status_is_built, statuses) {
    struct vpa_recommendation rec = recommendation(statuses[_i].recommendation ? "1" : NULL);
    struct vpa_object_status_facts facts = {
        .object = object_with(statuses[_i].stored),
        .unsupported = statuses[_i].unsupported,
        .pods_matched = statuses[_i].pods,
        .recommendation = &rec,
        .now = at(T1),
    };
    struct vpa_object_status status;

    vpa_object_status_build(&facts, &arena, &status);
    ck_assert_str_eq(patch(&status), statuses[_i].patch);
    ck_assert(!vpa_object_status_equal_stored(&status, facts.object));
}

/* What others have written since the object was evaluated; what it was evaluated for is its own. */
TEST(conditions_are_those_of_the_newest_version) {
    struct vpa_recommendation rec = recommendation("1");
    struct vpa_object newest = *object_with(
        "{\"conditions\":[{\"type\":\"Zebra\",\"status\":\"True\",\"lastTransitionTime\":\"" T0
        "\"}," PROVIDED(T0) "]}");
    struct vpa_object_status_facts facts = {
        .object = object_with("{}"),
        .newest = &newest,
        .pods_matched = true,
        .recommendation = &rec,
        .now = at(T1),
    };
    struct vpa_object_status status;

    newest.meta.generation = facts.object->meta.generation + 1;
    vpa_object_status_build(&facts, &arena, &status);
    ck_assert_uint_eq(status.condition_count, 2);
    ck_assert_str_eq(status.conditions[0].type, "RecommendationProvided");
    ck_assert(status.conditions[0].last_transition == at(T0));
    ck_assert_str_eq(status.conditions[1].type, "Zebra");
    ck_assert_int_eq(status.observed_generation.value, facts.object->meta.generation);
}

/* Pods, and nothing recommended since: no samples, too many of them unsupported, a policy Off. */
#define NONE_SINCE(at)                                                                             \
    "{\"type\":\"RecommendationProvided\",\"status\":\"False\",\"lastTransitionTime\":\"" at "\"}"
#define WAITS "WaitingForSamples"

static const struct {
    const char *since;
    bool pods, no_samples, unsupported, recommendation, said;
} waits[] = {
    {"2026-01-15T13:50:00Z", true, true, false, false, true},
    {"2026-01-15T13:50:01Z", true, true, false, false, false},  /* not yet */
    {"2026-01-15T12:00:00Z", true, false, false, false, false}, /* its containers are not wanted */
    {"2026-01-15T12:00:00Z", false, true, false, false, false}, /* NoPodsMatched says it */
    {"2026-01-15T12:00:00Z", true, true, true, false, false},   /* ConfigUnsupported says it */
    {"2026-01-15T12:00:00Z", true, true, false, true, false},
};

TEST_EACH(waiting_for_samples_is_said_after_a_while, waits) {
    vpa_auto_free char *first =
        vpa_xprintf("{\"conditions\":[" NONE_SINCE("%s") "]}", waits[_i].since);
    vpa_auto_free char *after = vpa_xprintf(
        "{\"conditions\":[" NONE_SINCE(
            "%s") ",{\"type\":\"" WAITS
                  "\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-15T13:55:00Z\"}]}",
        waits[_i].since);
    struct vpa_recommendation rec = recommendation(waits[_i].recommendation ? "1" : NULL);
    const char *const stored[] = {first, after};

    for (size_t i = 0; i < VPA_COUNT(stored); i++) {
        struct vpa_object_status status;

        vpa_object_status_build(
            &(struct vpa_object_status_facts){
                .object = object_with(stored[i]),
                .unsupported = waits[_i].unsupported ? "Cannot read targetRef" : NULL,
                .pods_matched = waits[_i].pods,
                .no_samples = waits[_i].no_samples,
                .recommendation = &rec,
                .now = at("2026-01-15T14:00:00Z")},
            &arena, &status);
        ck_assert_int_eq(vpa_condition_true(status.conditions, status.condition_count, WAITS),
                         waits[_i].said);
    }
}

#define STORED                                                                                     \
    "{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{"   \
    "\"cpu\":\"1000m\"}}]},\"conditions\":[" PROVIDED(T0) "],\"observedGeneration\":3}"

TEST(equal_by_value) {
    struct vpa_object_status status;
    struct vpa_recommendation rec = recommendation("1");
    struct vpa_object_status_facts facts = {
        .object = object_with(STORED), .pods_matched = true, .recommendation = &rec, .now = at(T1)};

    vpa_object_status_build(&facts, &arena, &status);
    ck_assert(vpa_object_status_equal_stored(&status, facts.object));
}

static const struct {
    const char *name, *stored;
} unequal[] = {
    {"nothing stored", "{}"},
    {"another generation", "{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
                           "\"app\",\"target\":{\"cpu\":"
                           "\"1\"}}]},\"conditions\":[" PROVIDED(T0) "],\"observedGeneration\":2}"},
    {"no generation", "{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
                      "\"app\",\"target\":{\"cpu\":"
                      "\"1\"}}]},\"conditions\":[" PROVIDED(T0) "]}"},
    {"another target", "{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
                       "\"app\",\"target\":{\"cpu\":"
                       "\"2\"}}]},\"conditions\":[" PROVIDED(T0) "],\"observedGeneration\":3}"},
    {"another container", "{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
                          "\"b\",\"target\":{\"cpu\":"
                          "\"1\"}}]},\"conditions\":[" PROVIDED(T0) "],\"observedGeneration\":3}"},
    {"a bound more", "{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":"
                     "\"app\",\"target\":{\"cpu\":"
                     "\"1\"},\"lowerBound\":{\"cpu\":\"1\"}}]},\"conditions\":[" PROVIDED(
                         T0) "],\"observedGeneration\":3}"},
    {"empty recommendation",
     "{\"recommendation\":{},\"conditions\":[" PROVIDED(T0) "],\"observedGeneration\":3}"},
    {"no recommendation", "{\"conditions\":[" PROVIDED(T0) "],\"observedGeneration\":3}"},
    {"a foreign condition behind it is sorted away",
     "{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{"
     "\"cpu\":"
     "\"1\"}}]},\"conditions\":[" PROVIDED(T0) ",{\"type\":\"A\",\"status\":\"True\"}],"
                                               "\"observedGeneration\":3}"},
    {"a reason that will go", "{\"recommendation\":{\"containerRecommendations\":[{"
                              "\"containerName\":\"app\",\"target\":{\"cpu\":"
                              "\"1\"}}]},\"conditions\":[{\"type\":\"RecommendationProvided\","
                              "\"status\":\"True\",\"reason\":\"x\","
                              "\"lastTransitionTime\":\"" T0 "\"}],\"observedGeneration\":3}"},
    {"a message that will go",
     "{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{"
     "\"cpu\":"
     "\"1\"}}]},\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
     "\"message\":"
     "\"x\",\"lastTransitionTime\":\"" T0 "\"}],\"observedGeneration\":3}"},
    {"a generation that will go",
     "{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{"
     "\"cpu\":"
     "\"1\"}}]},\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
     "\"observedGeneration\":1,\"lastTransitionTime\":\"" T0 "\"}],\"observedGeneration\":3}"},
    {"not provided before",
     "{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{"
     "\"cpu\":"
     "\"1\"}}]},\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"False\","
     "\"lastTransitionTime\":\"" T0 "\"}],\"observedGeneration\":3}"},
};

TEST_EACH(unequal_by_value, unequal) {
    struct vpa_object_status status;
    struct vpa_recommendation rec = recommendation("1");
    struct vpa_object_status_facts facts = {.object = object_with(unequal[_i].stored),
                                            .pods_matched = true,
                                            .recommendation = &rec,
                                            .now = at(T1)};

    vpa_object_status_build(&facts, &arena, &status);
    ck_assert(!vpa_object_status_equal_stored(&status, facts.object));
}

static const struct {
    const char *a, *b; /* lists of bounds */
    bool equal;
} bounds[] = {
    {"", "", true},
    {",\"upperBound\":{\"cpu\":\"1\"}", "", false},
    {",\"uncappedTarget\":{\"cpu\":\"1\"}", "", false},
    {",\"upperBound\":{}", "", true},
};

static const char *with_bound(const char *bound)
{
    return vpa_arena_printf(
        &arena, "{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{}%s}]}",
        bound);
}

TEST_EACH(every_bound_is_compared, bounds) {
    struct vpa_object_status status = {.observed_generation = {true, 3}};
    struct vpa_error err;

    ck_assert_int_eq(vpa_recommendation_decode(&arena, json(&arena, with_bound(bounds[_i].a)),
                                               &status.recommendation, &err),
                     0);
    struct vpa_object *object = object_with(vpa_arena_printf(
        &arena, "{\"recommendation\":%s,\"observedGeneration\":3}", with_bound(bounds[_i].b)));
    ck_assert_int_eq(vpa_object_status_equal_stored(&status, object), bounds[_i].equal);
    ck_assert_str_eq(strstr(patch(&status), "conditions") ? "conditions" : "none", "none");
}

TEST(all_conditions_at_once) {
    struct vpa_object_status status;
    struct vpa_recommendation rec = recommendation(NULL);
    struct vpa_object_status_facts facts = {.object = object_with("{}"),
                                            .unsupported = "bad target",
                                            .conflict = "somebody else",
                                            .recommendation = &rec,
                                            .now = at(T1)};

    vpa_object_status_build(&facts, &arena, &status);
    ck_assert_uint_eq(status.condition_count, 4);
    ck_assert_str_eq(status.conditions[3].type, VPA_CONDITION_CONFLICT);
    ck_assert_str_eq(status.conditions[3].message, "somebody else");
    ck_assert(vpa_condition_true(status.conditions, 4, VPA_CONDITION_UNSUPPORTED));
}

TEST(absent_members_are_left_out) {
    struct vpa_object_status status = {0};

    ck_assert_str_eq(patch(&status), "[{\"op\":\"add\",\"path\":\"/status\",\"value\":{}}]");
}

static const struct {
    const char *status;
    bool has;
} provided[] = {
    {STORED, true},
    {"{}", false},
    {"{\"conditions\":[" PROVIDED(T0) "]}", false},
    {"{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{}}]"
     "}}",
     false},
};

TEST_EACH(stored_recommendation_needs_its_condition, provided) {
    ck_assert_int_eq(vpa_object_has_recommendation(object_with(provided[_i].status)),
                     provided[_i].has);
}

int main(void)
{
    return run_tests("object_status", setup, teardown);
}
