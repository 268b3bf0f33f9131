/* What ledgers say that decisions rested on, to the letter: replays of older ledgers read it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/policy/facts.h"
#include "objects.h"
#include "suite.h"
#include "vpa/policy/patch_facts.h"
#include "vpa/policy/recommendation_facts.h"
#include "vpa/policy/rest_facts.h"
#include "vpa/policy/update_memory.h"

static struct vpa_arena arena;
static struct vpa_buf text;
static struct vpa_json_writer w;

static void setup(void)
{
    vpa_arena_init(&arena, 0);
    vpa_buf_init(&text, 1 << 16);
    vpa_json_writer_init(&w, &text);
}

static void teardown(void)
{
    vpa_buf_release(&text);
    vpa_arena_release(&arena);
}

#define POD                                                                                        \
    "{'metadata':{'name':'p','namespace':'n','uid':'u','resourceVersion':'7',"                     \
    "'creationTimestamp':'2026-03-01T00:00:00Z'},'spec':{'containers':[{'name':'c','resources':{"  \
    "'requests':{'cpu':'1','memory':'1Gi'},'limits':{'cpu':'2'}}}]},'status':{'phase':'Running'}}"
#define VPA                                                                                        \
    "{'metadata':{'name':'v','namespace':'n','uid':'w','resourceVersion':'8'},'spec':{"            \
    "'updatePolicy':{'updateMode':'Recreate'}},'status':{'recommendation':{"                       \
    "'containerRecommendations':[{'containerName':'c','target':{'cpu':'2','memory':'1Gi'},"        \
    "'lowerBound':{'cpu':'1500m'},'upperBound':{'cpu':'4'}}]}}}"
#define NAMES_OF_POD                                                                               \
    "\"pod\":{\"namespace\":\"n\",\"name\":\"p\",\"uid\":\"u\",\"resourceVersion\":\"7\"}"
#define NAMES_OF_VPA                                                                               \
    "\"vpa\":{\"namespace\":\"n\",\"name\":\"v\",\"uid\":\"w\",\"resourceVersion\":\"8\"}"

TEST(numbers_lose_nothing) {
    vpa_json_open_object(&w);
    vpa_facts_put_double(&w, "double", 0.1);
    vpa_facts_put_nanos(&w, "nanos", INT64_MIN);
    vpa_json_close_object(&w);
    ck_assert_str_eq(vpa_buf_text(&text), "{\"double\":\"0x1.999999999999ap-4\","
                                          "\"nanos\":\"-9223372036854775808\"}");
}

#define DECISION                                                                                   \
    "{\"now\":\"1772413200000000000\",\"updateThreshold\":\"0x1.999999999999ap-4\","               \
    "\"lifetimeThreshold\":\"43200000000000\",\"oomThreshold\":\"600000000000\","                  \
    "\"perVPAConfig\":true,\"startupBoost\":false,\"evicts\":true," NAMES_OF_POD "," NAMES_OF_VPA  \
    ",\"infeasible\":false,"                                                                       \
    "\"admission\":\"accepted\",\"priority\":\"0x1p+0\","                                          \
    "\"scaleUp\":true,\"outsideRange\":true,\"allowed\":true}"

static const struct vpa_priority_options priority = {.update_threshold = 0.1,
                                                     .lifetime_threshold = 12 * VPA_HOUR,
                                                     .oom_threshold = 10 * VPA_MINUTE,
                                                     .per_vpa_config = true};

static struct vpa_decision_facts facts_of_decision(void)
{
    return (struct vpa_decision_facts){.pod = objects_pod(&arena, POD),
                                       .vpa = objects_vpa(&arena, VPA),
                                       .options = &priority,
                                       .now = vpa_time_from_unix(1772413200, 0),
                                       .evicts = true};
}

TEST(what_a_decision_rested_on) {
    const struct vpa_decision_facts facts = facts_of_decision();
    struct vpa_decision decision;
    struct vpa_error err;

    ck_assert_int_eq(vpa_decision_make(&arena, &facts, &decision, &err), 0);
    vpa_decision_encode(&w, &facts, &decision);
    ck_assert_str_eq(vpa_buf_text(&text), DECISION);
}

TEST(what_rest_rested_on) {
    struct vpa_update_memory *memory = vpa_update_memory_new();
    const struct vpa_replica_group group = {.ns = "n",
                                            .kind = "ReplicaSet",
                                            .name = "r",
                                            .configured = 3,
                                            .running = 4,
                                            .pending = 5,
                                            .tolerance = 6,
                                            .evicted = 7,
                                            .in_place_started = 8,
                                            .closed = true};
    const struct vpa_update_options update = {.in_place_gate = true, .in_place_skip_budget = true};
    const struct vpa_rest_facts facts = {.of = facts_of_decision(),
                                         .update = &update,
                                         .memory = memory,
                                         .group = &group,
                                         .controlled = true,
                                         .live = 9,
                                         .required = 10,
                                         .turn = VPA_REST_BUDGET};

    vpa_rest_facts_encode(&w, &arena, &facts);
    ck_assert_str_eq(
        vpa_buf_text(&text),
        "{\"decision\":" DECISION ",\"inPlace\":true,\"startupBoost\":false,\"skipBudget\":true,"
        "\"held\":false,\"controlled\":true,\"live\":9,\"required\":10,"
        "\"evicted\":false,\"starting\":false,\"boostEnding\":false,"
        "\"group\":{\"kind\":\"ReplicaSet\",\"name\":"
        "\"r\",\"configured\":3,\"running\":4,\"pending\":5,\"tolerance\":6,\"evicted\":7,"
        "\"resized\":8,\"closed\":true,\"belowMin\":false},\"turn\":\"budget\",\"rest\":\"replicas-"
        "unknown\"}");
    vpa_update_memory_free(memory);
}

/* A LimitRange that cannot be read: what the pod should have is not known, so that it is left. */
TEST(rest_without_limits) {
    struct vpa_update_memory *memory = vpa_update_memory_new();
    const struct vpa_replica_group group = {.configured = 3, .running = 3, .tolerance = 1};
    const struct vpa_update_options update = {.in_place_gate = true};
    const struct vpa_namespace_limits limits = {.error = "no quantity"};
    struct vpa_rest_facts facts = {.of = facts_of_decision(),
                                   .update = &update,
                                   .memory = memory,
                                   .group = &group,
                                   .controlled = true};

    ck_assert_int_eq(vpa_rest_make(&arena, &facts), VPA_REST_NONE);
    facts.of.limits = &limits;
    ck_assert_int_eq(vpa_rest_make(&arena, &facts), VPA_REST_LIMITS_UNKNOWN);
    vpa_rest_facts_encode(&w, &arena, &facts);
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&text), "\"rest\":\"limits-unknown\""));
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&text), "\"admission\":\"no-recommendation\""));
    vpa_update_memory_free(memory);
}

TEST(what_a_patch_rested_on) {
    const struct vpa_namespace_limits limits = {0};
    const struct vpa_pod_patch_options options = {.startup_boost = true,
                                                  .max_cpu_boost = vpa_quantity_milli(1500)};
    const struct vpa_patch_facts facts = {.review = "r",
                                          .pod = objects_pod(&arena, POD),
                                          .vpa = objects_vpa(&arena, VPA),
                                          .advised = true,
                                          .limits = &limits,
                                          .before = true,
                                          .options = &options};

    vpa_patch_facts_encode(&w, &facts, "[1]", 3);
    ck_assert_str_eq(
        vpa_buf_text(&text),
        "{\"review\":\"r\",\"startupBoost\":true,\"maxCPUBoost\":\"1500m\"," NAMES_OF_VPA
        ",\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"c\",\"target\":{"
        "\"cpu\":\"2\",\"memory\":\"1Gi\"},\"lowerBound\":{\"cpu\":\"1500m\"},\"upperBound\":{"
        "\"cpu\":\"4\"}}]},\"limits\":1357280397,\"before\":[{\"name\":\"c\",\"requests\":{"
        "\"cpu\":\"1\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"2\"}}],\"patch\":[1]}");
}

/* What is not there is not written. */
TEST(what_a_patch_did_not_rest_on) {
    const struct vpa_pod_patch_options options = {.startup_boost = false};
    const struct vpa_patch_facts facts = {.review = "r",
                                          .pod = objects_pod(&arena, POD),
                                          .vpa = objects_vpa(&arena, VPA),
                                          .options = &options};

    vpa_patch_facts_encode(&w, &facts, NULL, 0);
    ck_assert_str_eq(vpa_buf_text(&text),
                     "{\"review\":\"r\",\"startupBoost\":false,\"maxCPUBoost\":\"0\"," NAMES_OF_VPA
                     "}");
}

/* Without containers: what an estimate is, the recommender's tests say. */
TEST(what_a_recommendation_rested_on) {
    const struct vpa_estimates estimates = {.count = 0};
    const struct vpa_rendering rendering = {
        .humanize_memory = true, .round_cpu_millicores = 7, .round_memory_bytes = 8};
    struct vpa_resource cpu = {"cpu", vpa_quantity_milli(1500)};
    const struct vpa_resource_list most = {&cpu, 1, true};
    const struct vpa_recommendation_facts facts = {.vpa = objects_vpa(&arena, VPA),
                                                   .estimates = &estimates,
                                                   .rendering = &rendering,
                                                   .integer_cpu = true,
                                                   .global_max = &most};

    vpa_recommendation_facts_encode(&w, &facts, &facts.vpa->recommendation);
    ck_assert_str_eq(
        vpa_buf_text(&text),
        "{" NAMES_OF_VPA ",\"humanizeMemory\":true,\"roundCPUMillicores\":7,\"roundMemoryBytes\":8,"
        "\"integerCPU\":true,\"maxAllowed\":{\"cpu\":\"1500m\"},\"estimates\":[],"
        "\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"c\",\"target\":{"
        "\"cpu\":\"2\",\"memory\":\"1Gi\"},\"lowerBound\":{\"cpu\":\"1500m\"},\"upperBound\":{"
        "\"cpu\":\"4\"}}]}}");
}

int main(void)
{
    return run_tests("facts", setup, teardown);
}
