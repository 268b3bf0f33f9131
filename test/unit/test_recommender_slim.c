/* Slim copies of VPAs say the same as whole ones, where the recommender looks. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "borrowed.h"
#include "suite.h"
#include "../../recommender/slim.h"

#include "vpa/base/str.h"

static struct vpa_arena arena, scratch;
static struct slim_pool pool;

static void setup(void)
{
    vpa_arena_init(&arena, 0);
    vpa_arena_init(&scratch, 0);
    pool = (struct slim_pool){0};
}

static void teardown(void)
{
    slim_pool_release(&pool);
    vpa_arena_release(&scratch);
    vpa_arena_release(&arena);
}

static const struct vpa_json *json(const char *text)
{
    const struct vpa_json *root;
    struct vpa_error err;

    ck_assert_msg(vpa_json_parse(&arena, text, strlen(text), &root, &err) == 0, "%s", err.text);
    return root;
}

#define POLICY                                                                                     \
    "{\"containerPolicies\":[{\"containerName\":\"*\",\"mode\":\"Auto\",\"minAllowed\":{\"cpu\":"  \
    "\"0.5\"},\"maxAllowed\":{\"memory\":\"1024Mi\"},\"controlledResources\":[\"cpu\"]}]}"

static const struct vpa_json *whole(void)
{
    return json(
        "{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"uid\":\"u-1\",\"generation\":7,"
        "\"creationTimestamp\":\"2026-01-15T10:00:00Z\",\"labels\":{\"a\":\"b\"},\"annotations\":{"
        "\"kubectl.kubernetes.io/last-applied-configuration\":\"long\","
        "\"vpa-post-processor.kubernetes.io/app_integerCPU\":\"true\"}},\"spec\":{\"targetRef\":{"
        "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"other\"},\"updatePolicy\":{"
        "\"updateMode\":\"Initial\"},\"recommenders\":[{\"name\":\"default\"},{\"name\":\"mine\"}],"
        "\"resourcePolicy\":" POLICY
        "},\"status\":{\"observedGeneration\":6,\"conditions\":[{\"type\":\"Odd\",\"status\":"
        "\"True\",\"lastTransitionTime\":\"2026-01-15T11:00:00Z\",\"message\":\"kept\"}],"
        "\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{"
        "\"cpu\":\"25m\",\"memory\":\"250Mi\"}}]}}}");
}

START_TEST(keeps_what_is_read)
{
    struct slim_vpa v;
    struct vpa_error err;

    ck_assert_int_eq(slim_vpa_decode(&pool, &scratch, whole(), &v, &err), 0);
    vpa_arena_release(&scratch); /* nothing of it is borrowed */
    const struct vpa_object *o = &v.object;
    ck_assert_str_eq(o->meta.name, "web");
    ck_assert_str_eq(o->meta.ns, "shop");
    ck_assert_str_eq(o->meta.uid, "u-1");
    ck_assert_int_eq(o->meta.generation, 7);
    ck_assert_uint_eq(o->meta.annotations.count, 1);
    ck_assert_str_eq(o->meta.annotations.items[0].value, "true");
    ck_assert_str_eq(o->target_ref.kind, "Deployment");
    ck_assert_str_eq(o->target_ref.name, "other");
    ck_assert_str_eq(o->update_mode, "Initial");
    ck_assert_str_eq(o->recommenders[1], "mine");
    ck_assert_str_eq(o->conditions[0].type, "Odd");
    ck_assert_str_eq(o->conditions[0].message, "kept");
    ck_assert_int_eq(o->observed_generation.value, 6);
    ck_assert_str_eq(o->recommendation.containers[0].container_name, "app");
    ck_assert_str_eq(o->resource_policy.containers[0].container_name, "*");
    ck_assert_uint_eq(o->resource_policy.containers[0].controlled_resource_count, 1);
    slim_vpa_release(&pool, &v);
}
END_TEST

START_TEST(shares_equal_policies)
{
    struct slim_vpa a, b, c;
    struct vpa_error err;
    const struct vpa_json *other =
        json("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"resourcePolicy\":{}}}");

    ck_assert_int_eq(slim_vpa_decode(&pool, &scratch, whole(), &a, &err), 0);
    ck_assert_int_eq(slim_vpa_decode(&pool, &scratch, whole(), &b, &err), 0);
    ck_assert_int_eq(slim_vpa_decode(&pool, &scratch, other, &c, &err), 0);
    ck_assert_ptr_eq(a.policy, b.policy);
    ck_assert_uint_eq(pool.policies.count, 2);
    slim_vpa_release(&pool, &a);
    ck_assert_str_eq(b.object.resource_policy.containers[0].container_name, "*");
    slim_vpa_release(&pool, &b);
    ck_assert_uint_eq(pool.policies.count, 1);
    slim_vpa_release(&pool, &c);
    ck_assert_uint_eq(pool.policies.count, 0);
}
END_TEST

START_TEST(does_without_everything)
{
    struct slim_vpa v;
    struct vpa_error err;

    ck_assert_int_eq(slim_vpa_decode(&pool, &scratch, json("{}"), &v, &err), 0);
    ck_assert_ptr_null(v.policy);
    ck_assert(!v.object.target_ref.present);
    slim_vpa_release(&pool, &v);
    ck_assert_int_eq(slim_vpa_decode(&pool, &scratch, json("{\"spec\":7}"), &v, &err), -1);
}
END_TEST

/* Of every text that an object can have: whatever a pass reads later must be the copy's own. */
static const struct {
    const char *name;
    const char *spec;
} sources[] = {
    {"target", "\"targetRef\":{\"apiVersion\":\"x/v9\",\"kind\":\"Odd\",\"name\":\"t\"}"},
    {"selector", "\"selector\":{\"matchLabels\":{\"a\":\"b\"},\"matchExpressions\":[{\"key\":\"k\","
                 "\"operator\":\"In\",\"values\":[\"v\",\"w\"]}]}"},
    {"selector that cannot be used", "\"selector\":{\"matchExpressions\":[{\"key\":\"k\","
                                     "\"operator\":\"Odd\"}]}"},
    {"policies",
     "\"updatePolicy\":{\"updateMode\":\"Odd\",\"evictionRequirements\":[{\"resources\":["
     "\"cpu\"],\"changeRequirement\":\"Odd\"}]},\"recommenders\":[{\"name\":\"odd\"}],"
     "\"startupBoost\":{\"cpu\":{\"type\":\"Odd\",\"quantity\":\"123456789012345678901\"}},"
     "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"c\",\"mode\":\"Odd\","
     "\"minAllowed\":{\"x/y\":\"123456789012345678901\"},\"controlledValues\":\"Odd\","
     "\"controlledResources\":[\"odd\"],\"memoryAggregationInterval\":\"1h\"}]}"},
};

static void clear_padding(struct vpa_object *o)
{
    CLEAR_PADDING(&o->meta, owner_count);
    for (size_t i = 0; i < o->condition_count; i++)
        CLEAR_PADDING(&o->conditions[i], observed_generation);
}

START_TEST(borrows_nothing)
{
    struct lender whole_object, document;
    const struct vpa_json *root;
    struct vpa_error err;
    struct slim_vpa v;

    lender_init(&whole_object);
    lender_init(&document);
    const char *text = vpa_arena_printf(
        &document.arena,
        "{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"uid\":\"u-1\",\"generateName\":"
        "\"g\","
        "\"resourceVersion\":\"7\",\"labels\":{\"a\":\"b\"},\"annotations\":{"
        "\"vpa-post-processor.kubernetes.io/app_integerCPU\":\"odd\"},\"ownerReferences\":[{"
        "\"apiVersion\":\"v\",\"kind\":\"k\",\"name\":\"n\",\"uid\":\"u\"}]},\"spec\":{%s},"
        "\"status\":{\"conditions\":[{\"type\":\"Odd\",\"status\":\"odd\",\"reason\":\"odd\","
        "\"message\":"
        "\"odd\"}],\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\","
        "\"target\":{\"cpu\":\"25m\",\"x/"
        "y\":\"123456789012345678901\"},\"upperBound\":{\"cpu\":\"1\"}"
        "}]}}}",
        sources[_i].spec);
    ck_assert_int_eq(vpa_json_parse(&document.arena, text, strlen(text), &root, &err), 0);

    ck_assert_int_eq(slim_vpa_decode(&pool, &whole_object.arena, root, &v, &err), 0);
    clear_padding(&v.object);
    const struct lender *const sources_of[] = {&whole_object, &document};
    for (size_t i = 0; i < VPA_COUNT(sources_of); i++) {
        ck_assert_msg(!borrows(&v.object, sizeof(v.object), sources_of[i]), "%s: the object",
                      sources[_i].name);
        ck_assert_msg(!borrows(v.key, v.arena.used, sources_of[i]), "%s: below the object",
                      sources[_i].name);
    }
    slim_vpa_release(&pool, &v);
    vpa_arena_release(&document.arena);
    vpa_arena_release(&whole_object.arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommender_slim");
    TCase *tcase = tcase_create("slim");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, keeps_what_is_read);
    tcase_add_test(tcase, shares_equal_policies);
    tcase_add_test(tcase, does_without_everything);
    tcase_add_loop_test(tcase, borrows_nothing, 0, VPA_COUNT(sources));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
