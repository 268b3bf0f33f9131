/* VerticalPodAutoscaler objects and what follows from them alone. */
#include "borrowed.h"
#include "json_helper.h"

#include "vpa/api/vpa.h"

static const char full[] =
    "{\"metadata\":{\"name\":\"v\",\"namespace\":\"n\",\"generation\":2},\"spec\":{"
    "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"},"
    "\"updatePolicy\":{\"updateMode\":\"InPlace\",\"minReplicas\":3,\"evictAfterOOMSeconds\":60,"
    "\"evictionRequirements\":[{\"resources\":[\"cpu\"],\"changeRequirement\":"
    "\"TargetHigherThanRequests\"}]},"
    "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\",\"mode\":\"Off\"},"
    "{\"containerName\":\"app\",\"minAllowed\":{\"cpu\":\"100m\"},\"maxAllowed\":{},"
    "\"controlledResources\":[],\"controlledValues\":\"RequestsOnly\",\"oomBumpUpRatio\":\"1.5\","
    "\"oomMinBumpUp\":5,\"memoryAggregationIntervalSeconds\":60,\"memoryAggregationInterval\":"
    "\"1m\",\"memoryAggregationIntervalCount\":9000000000,\"startupBoost\":{\"cpu\":{\"type\":"
    "\"Quantity\",\"quantity\":\"1\",\"durationSeconds\":-5}}},{\"containerName\":\"*\"}]},"
    "\"recommenders\":[{\"name\":\"a\"},{},{\"name\":\"b\"}],"
    "\"startupBoost\":{\"cpu\":{\"type\":\"Factor\",\"factor\":2}}},"
    "\"status\":{\"observedGeneration\":1,\"recommendation\":{\"containerRecommendations\":[{"
    "\"containerName\":\"app\",\"target\":{\"memory\":\"1Gi\",\"cpu\":\"1\"},\"lowerBound\":{},"
    "\"upperBound\":{\"cpu\":\"2\"},\"uncappedTarget\":{\"cpu\":\"1\"}},{\"target\":{}}]},"
    "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\","
    "\"lastTransitionTime\":\"1970-01-01T00:00:01Z\",\"reason\":\"r\",\"message\":\"m\","
    "\"observedGeneration\":4},{\"type\":\"RecommendationProvided\"}]}}";

static struct vpa_object object_of(const char *text)
{
    struct vpa_object vpa;
    struct vpa_error err;

    if (vpa_object_decode(&arena, json_of(text), &vpa, &err) < 0)
        ck_abort_msg("%s", err.text);
    return vpa;
}

TEST(decodes_spec) {
    struct vpa_object vpa = object_of(full);
    const struct vpa_container_policy *p;

    ck_assert_str_eq(vpa.meta.name, "v");
    ck_assert(vpa.target_ref.present && !vpa.has_selector && vpa.selector.nothing);
    ck_assert_str_eq(vpa.target_ref.kind, "Deployment");
    ck_assert(vpa.has_update_policy && vpa.min_replicas.present && vpa.min_replicas.value == 3);
    ck_assert(vpa.evict_after_oom_seconds.present && vpa.evict_after_oom_seconds.value == 60);
    ck_assert(vpa.has_eviction_requirements && vpa.eviction_requirement_count == 1);
    ck_assert_str_eq(vpa.eviction_requirements[0].resources[0], "cpu");
    ck_assert_uint_eq(vpa.recommender_count, 3);
    ck_assert_str_eq(vpa.recommenders[1], "");
    ck_assert_str_eq(vpa.recommenders[2], "b");
    ck_assert(vpa.startup_boost && vpa.startup_boost->has_cpu &&
              vpa.startup_boost->factor.present && vpa.startup_boost->factor.value == 2 &&
              !vpa.startup_boost->quantity.present);
    p = &vpa.resource_policy.containers[1];
    ck_assert(vpa.resource_policy.present && vpa.resource_policy.container_count == 3);
    ck_assert(p->mode == NULL && p->has_controlled_resources && p->controlled_resource_count == 0);
    ck_assert(p->min_allowed.count == 1 && p->max_allowed.present && p->max_allowed.count == 0);
    ck_assert_str_eq(p->controlled_values, "RequestsOnly");
    ck_assert(p->oom_bump_up_ratio.present && p->oom_min_bump_up.present);
    ck_assert(p->memory_interval_seconds.value == 60 &&
              p->memory_interval_count.value == 9000000000);
    ck_assert_str_eq(p->memory_interval, "1m");
    ck_assert(p->startup_boost.quantity.present && p->startup_boost.duration_seconds.value == -5);
    ck_assert_ptr_null(vpa.resource_policy.containers[0].memory_interval);
    ck_assert(!vpa.resource_policy.containers[0].has_controlled_resources);
}

TEST(decodes_status) {
    struct vpa_object vpa = object_of(full);
    struct vpa_recommendation copy;
    struct vpa_json_writer w;
    struct vpa_buf buf;

    ck_assert(vpa.has_status && vpa.observed_generation.present && vpa.condition_count == 2);
    ck_assert_int_eq(vpa.conditions[0].observed_generation, 4);
    ck_assert(vpa.conditions[0].last_transition == vpa_time_from_unix(1, 0));
    ck_assert(vpa_time_is_unset(vpa.conditions[1].last_transition));
    ck_assert_ptr_nonnull(vpa_recommendation_find(&vpa.recommendation, "app"));
    ck_assert_ptr_null(vpa_recommendation_find(&vpa.recommendation, "web"));
    copy = vpa_recommendation_copy(&arena, &vpa.recommendation);
    ck_assert_ptr_ne(copy.containers, vpa.recommendation.containers);
    vpa_buf_init(&buf, 4096);
    vpa_json_writer_init(&w, &buf);
    vpa_recommendation_encode(&w, &copy);
    ck_assert_str_eq(vpa_buf_text(&buf),
                     "{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{"
                     "\"cpu\":\"1\",\"memory\":\"1Gi\"},\"upperBound\":{\"cpu\":\"2\"},"
                     "\"uncappedTarget\":{\"cpu\":\"1\"}},{\"target\":{}}]}");
    vpa_buf_clear(&buf);
    copy = vpa_recommendation_copy(&arena, &(struct vpa_recommendation){.present = true});
    vpa_json_writer_init(&w, &buf);
    vpa_recommendation_encode(&w, &copy);
    ck_assert_str_eq(vpa_buf_text(&buf), "{}");
    vpa_buf_release(&buf);
}

TEST(defaults) {
    struct vpa_object vpa = object_of("{}");

    ck_assert(!vpa.target_ref.present && !vpa.has_update_policy && !vpa.has_status &&
              !vpa.resource_policy.present && !vpa.recommendation.present && !vpa.startup_boost &&
              vpa.update_mode == NULL);
    ck_assert_str_eq(vpa_object_mode(&vpa), "Recreate");
    vpa = object_of(
        "{\"spec\":{\"updatePolicy\":{\"updateMode\":\"\"},\"startupBoost\":{},"
        "\"selector\":{\"matchLabels\":{\"a\":\"b\"}}},\"status\":{\"recommendation\":{}}}");
    ck_assert_str_eq(vpa_object_mode(&vpa), "Recreate");
    ck_assert(vpa.startup_boost && !vpa.startup_boost->has_cpu);
    ck_assert(vpa.has_selector && vpa.selector.count == 1 && vpa.recommendation.present);
    ck_assert_ptr_null(vpa.selector_error);
    vpa = object_of("{\"spec\":{\"selector\":{\"matchLabels\":{\"-\":\"\"}}}}");
    ck_assert(vpa.has_selector && vpa.selector.nothing && vpa.selector_error != NULL);
    vpa = object_of(full);
    ck_assert_str_eq(vpa_object_mode(&vpa), "InPlace");
}

TEST(knows_startup_boosts) {
    struct vpa_object vpa = object_of("{\"spec\":{\"startupBoost\":{}}}");

    ck_assert(vpa_object_has_startup_boost(&vpa));
    vpa = object_of(
        "{\"spec\":{\"resourcePolicy\":{\"containerPolicies\":[{},{\"startupBoost\":{}}]}}}");
    ck_assert(vpa_object_has_startup_boost(&vpa));
    vpa = object_of("{\"spec\":{\"resourcePolicy\":{\"containerPolicies\":[{}]}}}");
    ck_assert(!vpa_object_has_startup_boost(&vpa));
}

TEST(finds_policies) {
    struct vpa_object vpa = object_of(full);
    const struct vpa_resource_policy *policy = &vpa.resource_policy;

    ck_assert_ptr_eq(vpa_policy_find(policy, "app"), &policy->containers[1]);
    ck_assert_ptr_eq(vpa_policy_find(policy, "web"), &policy->containers[2]);
    ck_assert_ptr_eq(vpa_policy_find(policy, "*"), &policy->containers[0]);
    ck_assert_ptr_null(vpa_policy_find(&(struct vpa_resource_policy){0}, "app"));
}

static const struct {
    const char *text, *error;
} bad[] = {
    {"[]", "object expected, got array"},
    {"{\"spec\":{\"selector\":5}}", "spec.selector: object expected, got number"},
    {"{\"spec\":5}", "spec.targetRef: object expected, got number"},
    {"{\"spec\":{\"targetRef\":\"x\"}}", "spec.targetRef: object expected, got string"},
    {"{\"spec\":{\"recommenders\":{}}}", "spec.recommenders: array expected, got object"},
    {"{\"spec\":{\"recommenders\":[{\"name\":1}]}}",
     "spec.recommenders: [0].name: string expected, got number"},
    {"{\"spec\":{\"startupBoost\":{\"cpu\":5}}}",
     "spec.startupBoost: cpu: object expected, got number"},
    {"{\"spec\":{\"startupBoost\":[]}}", "spec.startupBoost: object expected, got array"},
    {"{\"spec\":{\"resourcePolicy\":{\"containerPolicies\":[{\"minAllowed\":[]}]}}}",
     "spec.resourcePolicy: containerPolicies[0].minAllowed: object expected, got array"},
    {"{\"spec\":{\"resourcePolicy\":{\"containerPolicies\":[{\"oomMinBumpUp\":\"1K\"}]}}}",
     "spec.resourcePolicy: containerPolicies[0].oomMinBumpUp: unable to parse quantity's suffix"},
    {"{\"status\":{\"recommendation\":{\"containerRecommendations\":5}}}",
     "status.recommendation: containerRecommendations: array expected, got number"},
};

TEST_EACH(refuses, bad) {
    struct vpa_object vpa;
    struct vpa_error err;

    ck_assert_int_lt(vpa_object_decode(&arena, json_of(bad[_i].text), &vpa, &err), 0);
    ck_assert_str_eq(err.text, bad[_i].error);
}

/* Every text is odd and every number too large for 64 bits, so that nothing has a constant for it.
 */
#define ODD_LIST "{\"x/y\":\"123456789012345678901234567890\",\"cpu\":\"1500e-3\"}"
#define ODD_VPA                                                                                    \
    "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"selector\":{\"matchLabels\":{\"k\":"     \
    "\"v\"},"                                                                                      \
    "\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":[\"v\",\"w\"]}]}},"       \
    "\"status\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"odd\","    \
    "\"target\":" ODD_LIST ",\"lowerBound\":" ODD_LIST ",\"upperBound\":" ODD_LIST                 \
    ",\"uncappedTarget\":" ODD_LIST "}]}}}"

TEST(copies_borrow_nothing) {
    struct lender from, copy;
    struct vpa_object vpa;
    struct vpa_error err;
    const struct vpa_json *root;

    lender_init(&from);
    lender_init(&copy);
    ck_assert_int_eq(vpa_json_parse(&from.arena, ODD_VPA, strlen(ODD_VPA), &root, &err), 0);
    ck_assert_int_eq(vpa_object_decode(&from.arena, root, &vpa, &err), 0);

    struct vpa_recommendation rec = vpa_recommendation_copy(&copy.arena, &vpa.recommendation);
    struct vpa_selector selector = vpa_selector_copy(&copy.arena, &vpa.selector);
    ck_assert(!borrows(&rec, sizeof(rec), &from) && !borrows(&selector, sizeof(selector), &from));
    ck_assert(!lender_borrows(&copy, &from));

    rec.containers[0].container_name = vpa.recommendation.containers[0].container_name;
    ck_assert(lender_borrows(&copy, &from)); /* it would be seen */
    vpa_arena_release(&copy.arena);
    vpa_arena_release(&from.arena);
}

/* "{},{},..." */
static const char *empties(size_t count)
{
    char *text = vpa_arena_alloc(&arena, 3 * count + 1);

    for (size_t i = 0; i < count; i++)
        memcpy(text + 3 * i, "{},", 3);
    text[3 * count - 1] = '\0';
    return text;
}

static const struct {
    const char *path;
    const char *before; /* the list */
    const char *after;
} spec_lists[] = {
    {"spec.resourcePolicy.containerPolicies",
     "{\"spec\":{\"resourcePolicy\":{\"containerPolicies\":[", "]}}}"},
    {"spec.updatePolicy.evictionRequirements",
     "{\"spec\":{\"updatePolicy\":{\"evictionRequirements\":[", "]}}}"},
    {"spec.recommenders", "{\"spec\":{\"recommenders\":[", "]}}"},
};

TEST_EACH(bounds_the_lists_of_the_spec, spec_lists) {
    struct vpa_object vpa;
    struct vpa_error err;

    for (size_t n = VPA_LIST_MAX; n <= VPA_LIST_MAX + 1; n++) {
        const char *text = vpa_arena_printf(&arena, "%s%s%s", spec_lists[_i].before, empties(n),
                                            spec_lists[_i].after);
        int result = vpa_object_decode(&arena, json_of(text), &vpa, &err);
        ck_assert_int_eq(result, n > VPA_LIST_MAX ? -1 : 0);
    }
    ck_assert_str_eq(err.text, vpa_arena_printf(&arena, "%s: 4097 elements, at most 4096 are read",
                                                spec_lists[_i].path));
}

TEST(a_status_beyond_the_bound_is_none) {
    struct vpa_object vpa;
    struct vpa_error err;

    for (size_t n = VPA_LIST_MAX; n <= VPA_LIST_MAX + 1; n++) {
        const char *text =
            vpa_arena_printf(&arena,
                             "{\"status\":{\"recommendation\":{\"containerRecommendations\":[%s]},"
                             "\"conditions\":[%s]}}",
                             empties(n), empties(n));
        ck_assert_int_eq(vpa_object_decode(&arena, json_of(text), &vpa, &err), 0);
        ck_assert(vpa.recommendation.present == (n == VPA_LIST_MAX));
        ck_assert_uint_eq(vpa.recommendation.container_count, n == VPA_LIST_MAX ? n : 0);
        ck_assert_uint_eq(vpa.condition_count, n == VPA_LIST_MAX ? n : 0);
    }
}

static const struct {
    const char *uncapped;
    bool one; /* with the target */
} uncapped[] = {
    {"{\"cpu\":\"1\",\"memory\":\"1Gi\"}", true},
    {"{\"cpu\":\"1000m\",\"memory\":\"1Gi\"}", false}, /* as much, but another text */
    {"{\"cpu\":\"1\",\"memory\":\"2Gi\"}", false},
    {"{\"cpu\":\"1\"}", false},
    {"{\"cpu\":\"1\",\"x\":\"1Gi\"}", false},
    {"{}", false},
    {"null", false},
    {"{\"cpu\":\"1\",\"memory\":\"1Gi\",\"x\":\"1\"}", false},
};

TEST_EACH(copies_have_equal_targets_once, uncapped) {
    struct vpa_object vpa = object_of(vpa_arena_printf(
        &arena,
        "{\"status\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\","
        "\"target\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"uncappedTarget\":%s}]}}}",
        uncapped[_i].uncapped));
    struct vpa_recommendation copy = vpa_recommendation_copy(&arena, &vpa.recommendation);
    vpa_auto_buf before = VPA_BUF(4096), after = VPA_BUF(4096);
    struct vpa_json_writer w;

    ck_assert((copy.containers[0].uncapped_target.items == copy.containers[0].target.items) ==
              uncapped[_i].one);
    vpa_json_writer_init(&w, &before);
    vpa_recommendation_encode(&w, &vpa.recommendation);
    vpa_json_writer_init(&w, &after);
    vpa_recommendation_encode(&w, &copy);
    ck_assert_str_eq(vpa_buf_text(&after), vpa_buf_text(&before));
}

int main(void)
{
    return run_tests("vpa", NULL, release_arena);
}
