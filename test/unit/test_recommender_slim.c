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

/* As the cache does it. */
static int slim(struct vpa_arena *into, const struct vpa_json *source, struct slim_vpa *out,
                struct vpa_error *err)
{
    const void *draft;

    *out = (struct slim_vpa){0};
    vpa_arena_clear(&scratch);
    if (slim_vpas.read(&pool, &scratch, source, &draft, err) < 0)
        return -1;
    return slim_vpas.make(&pool, into, draft, out, err);
}

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

    ck_assert_int_eq(slim(&arena, whole(), &v, &err), 0);
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
}
END_TEST

static struct vpa_cache *new_cache(void)
{
    return vpa_cache_new(
        &(struct vpa_cache_options){.kind = &slim_vpas, .ctx = &pool, .keeps_last = true});
}

static void put(struct vpa_cache *cache, const char *name, const char *spec)
{
    struct vpa_reflector_handler h = vpa_cache_handler(cache);
    const struct vpa_json *root = json(vpa_arena_printf(
        &arena, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\"},\"spec\":%s}", name, spec));
    struct vpa_error err;

    if (h.object(h.ctx, VPA_REFLECTOR_ADDED, root, &err) < 0)
        h.unusable(h.ctx, VPA_REFLECTOR_ADDED,
                   &(struct vpa_unusable_object){
                       .kind = "", .ns = "shop", .name = name, .reason = err.text, .object = root});
}

static const struct slim_vpa *found(const struct vpa_cache *cache, const char *name)
{
    return vpa_cache_find(cache, "shop", name);
}

static size_t sweep(const struct vpa_cache *cache)
{
    vpa_auto_cache_list struct vpa_cache_list list = {0};

    vpa_cache_list(cache, VPA_CACHE_ALL, &list);
    slim_pool_sweep(&pool, &list, 1);
    return pool.policies.count;
}

#define WITH(policy) "{\"resourcePolicy\":" policy "}"

START_TEST(shares_equal_policies)
{
    struct vpa_cache *cache = new_cache();

    put(cache, "a", WITH(POLICY));
    put(cache, "b", WITH(POLICY));
    put(cache, "c", WITH("{}"));
    ck_assert_ptr_eq(found(cache, "a")->policy, found(cache, "b")->policy);
    ck_assert_uint_eq(sweep(cache), 2);
    put(cache, "a", "{}");
    ck_assert_ptr_null(found(cache, "a")->policy);
    ck_assert_uint_eq(sweep(cache), 2);
    const struct vpa_object *b = &found(cache, "b")->object;
    ck_assert_str_eq(b->resource_policy.containers[0].container_name, "*");
    put(cache, "b", "{}");
    ck_assert_uint_eq(sweep(cache), 1);
    put(cache, "c", "7"); /* its last version still has it */
    ck_assert_uint_eq(sweep(cache), 1);
    put(cache, "c", "{}");
    ck_assert_uint_eq(sweep(cache), 0);
    vpa_cache_free(cache);
}
END_TEST

/* Too long to be looked up by its text: the object has one of its own. */
START_TEST(a_long_policy_is_not_shared)
{
    struct vpa_cache *cache = new_cache();
    char name[20001];

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    put(cache, "a",
        vpa_arena_printf(&arena, WITH("{\"containerPolicies\":[{\"containerName\":\"%s\"}]}"),
                         name));
    ck_assert_ptr_null(found(cache, "a")->policy);
    ck_assert_str_eq(found(cache, "a")->object.resource_policy.containers[0].container_name, name);
    ck_assert_uint_eq(sweep(cache), 0);
    vpa_cache_free(cache);
}
END_TEST

START_TEST(does_without_everything)
{
    struct slim_vpa v;
    struct vpa_error err;

    ck_assert_int_eq(slim(&arena, json("{}"), &v, &err), 0);
    ck_assert_ptr_null(v.policy);
    ck_assert(!v.object.target_ref.present);
    ck_assert_int_eq(slim(&arena, json("{\"spec\":7}"), &v, &err), -1);
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
    CLEAR_BETWEEN(&o->meta, resource_version, creation);
    CLEAR_PADDING(&o->meta, owner_count);
    CLEAR_PADDING(o, observed_generation);
    for (size_t i = 0; i < o->condition_count; i++)
        CLEAR_PADDING(&o->conditions[i], observed_generation);
}

START_TEST(borrows_nothing)
{
    struct lender whole_object, document, copy;
    const void *draft;
    const struct vpa_json *root;
    struct vpa_error err;
    struct slim_vpa v;

    lender_init(&whole_object);
    lender_init(&document);
    lender_init(&copy);
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

    ck_assert_int_eq(slim_vpas.read(&pool, &whole_object.arena, root, &draft, &err), 0);
    ck_assert_int_eq(slim_vpas.make(&pool, &copy.arena, draft, &v, &err), 0);
    clear_padding(&v.object);
    const struct lender *const sources_of[] = {&whole_object, &document};
    for (size_t i = 0; i < VPA_COUNT(sources_of); i++) {
        ck_assert_msg(!borrows(&v.object, sizeof(v.object), sources_of[i]), "%s: the object",
                      sources[_i].name);
        ck_assert_msg(!lender_borrows(&copy, sources_of[i]), "%s: below the object",
                      sources[_i].name);
    }
    vpa_arena_release(&copy.arena);
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
    tcase_add_test(tcase, a_long_policy_is_not_shared);
    tcase_add_test(tcase, does_without_everything);
    tcase_add_loop_test(tcase, borrows_nothing, 0, VPA_COUNT(sources));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
