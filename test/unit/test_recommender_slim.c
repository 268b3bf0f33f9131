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

TEST(keeps_what_is_read) {
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

/* ---- to the last field ---- */

static struct vpa_buf seen;

static void put_list(const char *what, const struct vpa_resource_list *list)
{
    vpa_buf_printf(&seen, " %s%s", what, list->present ? "" : " absent");
    for (size_t i = 0; i < list->count; i++)
        vpa_buf_printf(&seen, " %s=%s", list->items[i].name,
                       vpa_quantity_text(&arena, &list->items[i].quantity));
}

static void put_meta(const struct vpa_meta *m)
{
    vpa_buf_printf(&seen, "%s/%s uid=%s version=%s generation=%lld prefix=%s made=%lld labels=%zu",
                   m->ns, m->name, m->uid, m->resource_version, (long long)m->generation,
                   m->generate_name,
                   vpa_time_is_unset(m->creation) ? -1 : (long long)(m->creation / VPA_SECOND),
                   m->labels.count);
    ck_assert_ptr_null(m->owners);
    ck_assert_uint_eq(m->owner_count, 0);
    vpa_buf_printf(&seen, "\nannotations%s", m->annotations.present ? "" : " absent");
    ck_assert_int_eq(m->annotations.items == NULL, m->annotations.count == 0);
    for (size_t i = 0; i < m->annotations.count; i++)
        vpa_buf_printf(&seen, " %s=%s", m->annotations.items[i].key, m->annotations.items[i].value);
    vpa_buf_putc(&seen, '\n');
}

static void put_spec(const struct vpa_object *o)
{
    const struct vpa_target_ref *t = &o->target_ref;

    if (t->present)
        vpa_buf_printf(&seen, "target %s %s %s\n", t->api_version, t->kind, t->name);
    if (o->has_selector) {
        vpa_buf_puts(&seen, "selector ");
        vpa_selector_format(&o->selector, &seen);
        vpa_buf_printf(&seen, "%s\n", vpa_or_empty(o->selector_error));
    }
    vpa_buf_printf(&seen, "mode=%s policy=%d requirements=%zu boost=%d",
                   vpa_or_empty(o->update_mode), o->has_update_policy,
                   o->eviction_requirement_count, o->startup_boost != NULL);
    ck_assert_ptr_null(o->eviction_requirements);
    for (size_t i = 0; i < o->recommender_count; i++)
        vpa_buf_printf(&seen, " by %s", o->recommenders[i]);
    vpa_buf_putc(&seen, '\n');
    for (size_t i = 0; i < o->resource_policy.container_count; i++) {
        vpa_buf_printf(&seen, "container %s %s", o->resource_policy.containers[i].container_name,
                       vpa_or_empty(o->resource_policy.containers[i].mode));
        put_list("min", &o->resource_policy.containers[i].min_allowed);
        put_list("max", &o->resource_policy.containers[i].max_allowed);
        vpa_buf_putc(&seen, '\n');
    }
}

static const char *text_of_object(const struct vpa_object *o)
{
    vpa_buf_clear(&seen);
    put_meta(&o->meta);
    put_spec(o);
    vpa_buf_printf(&seen, "status=%d seen=%lld\n", o->has_status,
                   o->observed_generation.present ? (long long)o->observed_generation.value : -1);
    for (size_t i = 0; i < o->condition_count; i++) {
        const struct vpa_condition *c = &o->conditions[i];

        vpa_buf_printf(&seen, "condition %s=%s reason=%s message=%s generation=%lld at=%lld\n",
                       c->type, c->status, c->reason, c->message, (long long)c->observed_generation,
                       vpa_time_is_unset(c->last_transition)
                           ? -1
                           : (long long)(c->last_transition / VPA_SECOND));
    }
    for (size_t i = 0; i < o->recommendation.container_count; i++) {
        vpa_buf_printf(&seen, "recommends %s", o->recommendation.containers[i].container_name);
        put_list("target", &o->recommendation.containers[i].target);
        put_list("lower", &o->recommendation.containers[i].lower_bound);
        vpa_buf_putc(&seen, '\n');
    }
    return vpa_buf_text(&seen);
}

#define BARE "annotations absent\n"
#define PLAIN "mode= policy=0 requirements=0 boost=0"
#define NO_STATUS "status=0 seen=-1\n"
#define NAMED "{\"metadata\":{\"name\":\"v\",\"namespace\":\"n\"}"
#define NAMED_TEXT "n/v uid= version= generation=0 prefix= made=-1 labels=0\n" BARE

static const struct {
    const char *name, *from, *to;
} wholes[] = {
    {"metadata",
     "{\"metadata\":{\"name\":\"v\",\"namespace\":\"default\",\"uid\":\"u\",\"resourceVersion\":"
     "\"7\","
     "\"generateName\":\"g\",\"generation\":9,\"creationTimestamp\":\"1970-01-01T00:01:00Z\","
     "\"labels\":{\"a\":\"b\"},\"annotations\":{\"a\":\"b\","
     "\"vpa-post-processor.kubernetes.io/x_integerCPU\":\"true\",\"m\":\"n\","
     "\"vpa-post-processor.kubernetes.io/"
     "y_integerCPU\":\"false\",\"z\":\"\"},\"ownerReferences\":[{"
     "\"apiVersion\":\"v\",\"kind\":\"k\",\"name\":\"n\",\"uid\":\"u\"}]}}",
     "default/v uid=u version= generation=9 prefix= made=60 labels=0\nannotations "
     "vpa-post-processor.kubernetes.io/x_integerCPU=true "
     "vpa-post-processor.kubernetes.io/y_integerCPU=false\n" PLAIN "\n" NO_STATUS},
    {"annotations that are not needed",
     "{\"metadata\":{\"name\":\"v\",\"namespace\":\"n\",\"annotations\":{\"a\":\"b\"}}}",
     "n/v uid= version= generation=0 prefix= made=-1 labels=0\nannotations\n" PLAIN "\n" NO_STATUS},
    {"a target of the same name",
     NAMED ",\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"DaemonSet\",\"name\":"
           "\"v\"}}}",
     NAMED_TEXT "target apps/v1 DaemonSet v\n" PLAIN "\n" NO_STATUS},
    {"another target",
     NAMED ",\"spec\":{\"targetRef\":{\"apiVersion\":\"x/v9\",\"kind\":\"Odd\",\"name\":\"w\"}}}",
     NAMED_TEXT "target x/v9 Odd w\n" PLAIN "\n" NO_STATUS},
    {"a selector", NAMED ",\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}",
     NAMED_TEXT "selector a=b\n" PLAIN "\n" NO_STATUS},
    {"spec",
     NAMED
     ",\"spec\":{\"updatePolicy\":{\"updateMode\":\"Odd\",\"evictionRequirements\":[{\"resources\":"
     "["
     "\"cpu\"],\"changeRequirement\":\"TargetHigherThanRequests\"}]},\"recommenders\":[{\"name\":"
     "\"default\"},{\"name\":\"mine\"}],\"startupBoost\":{\"cpu\":{\"type\":\"Factor\",\"factor\":"
     "2}},"
     "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"a\",\"mode\":\"Off\"},{"
     "\"containerName\":\"*\",\"minAllowed\":{\"cpu\":\"0.5\"},\"maxAllowed\":{\"memory\":\"1Gi\"}}"
     "]}"
     "}}",
     NAMED_TEXT "mode=Odd policy=1 requirements=0 boost=0 by default by mine\n"
                "container a Off min absent max absent\n"
                "container *  min cpu=500m max memory=1Gi\n" NO_STATUS},
    {"status",
     NAMED
     ",\"status\":{\"observedGeneration\":6,\"conditions\":[{\"type\":\"NoPodsMatched\","
     "\"status\":\"True\",\"reason\":\"odd\",\"message\":\"more\",\"lastTransitionTime\":"
     "\"1970-01-01T00:02:00Z\",\"observedGeneration\":5},{\"type\":\"Odd\",\"status\":\"Unknown\"}"
     "],\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"a\",\"target\":{"
     "\"cpu\":\"25m\"},\"lowerBound\":{\"cpu\":\"20m\"}},{\"containerName\":\"b\",\"target\":{"
     "\"memory\":\"1Gi\"}}]}}}",
     NAMED_TEXT PLAIN "\nstatus=1 seen=6\n"
                      "condition NoPodsMatched=True reason=odd message=more generation=5 at=120\n"
                      "condition Odd=Unknown reason= message= generation=0 at=-1\n"
                      "recommends a target cpu=25m lower cpu=20m\n"
                      "recommends b target memory=1Gi lower absent\n"},
};

TEST_EACH(is_so_to_the_last_field, wholes) {
    struct slim_vpa v;
    struct vpa_error err;

    vpa_buf_init(&seen, 1 << 16);
    ck_assert_int_eq(slim(&arena, json(wholes[_i].from), &v, &err), 0);
    const char *text = text_of_object(&v.object);
    ck_assert_msg(strcmp(text, wholes[_i].to) == 0, "%s:\n%s", wholes[_i].name, text);
    vpa_buf_release(&seen);
}

/* Of words that nearly all VPAs have there is one copy; so of a target with the VPA's name. */
TEST(common_words_are_not_copied) {
    static const char text[] =
        "{\"metadata\":{\"name\":\"v\",\"namespace\":\"default\"},\"spec\":{\"targetRef\":{"
        "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"v\"},\"updatePolicy\":{"
        "\"updateMode\":\"Off\"},\"recommenders\":[{\"name\":\"default\"}]},\"status\":{"
        "\"conditions\":[{\"type\":\"RecommendationProvided\",\"status\":\"True\"}]}}";
    struct slim_vpa a, b;
    struct vpa_error err;

    ck_assert_int_eq(slim(&arena, json(text), &a, &err), 0);
    ck_assert_int_eq(slim(&arena, json(text), &b, &err), 0);
    const struct vpa_object *x = &a.object, *y = &b.object;
    ck_assert_ptr_eq(x->meta.ns, y->meta.ns);
    ck_assert_ptr_ne(x->meta.name, y->meta.name);
    ck_assert_ptr_eq(x->target_ref.name, x->meta.name);
    ck_assert_ptr_eq(x->target_ref.api_version, y->target_ref.api_version);
    ck_assert_ptr_eq(x->target_ref.kind, y->target_ref.kind);
    ck_assert_ptr_eq(x->update_mode, y->update_mode);
    ck_assert_ptr_eq(x->recommenders[0], x->meta.ns);
    ck_assert_ptr_eq(x->conditions[0].type, y->conditions[0].type);
    ck_assert_ptr_eq(x->conditions[0].status, y->conditions[0].status);
    ck_assert_ptr_eq(x->conditions[0].reason, x->conditions[0].message);
}

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

TEST(shares_equal_policies) {
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

/* Too long to be looked up by its text: the object has one of its own. */
TEST(a_long_policy_is_not_shared) {
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

TEST(does_without_everything) {
    struct slim_vpa v;
    struct vpa_error err;

    ck_assert_int_eq(slim(&arena, json("{}"), &v, &err), 0);
    ck_assert_ptr_null(v.policy);
    ck_assert(!v.object.target_ref.present);
    ck_assert_int_eq(slim(&arena, json("{\"spec\":7}"), &v, &err), -1);
}

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

TEST_EACH(borrows_nothing, sources) {
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

int main(void)
{
    return run_tests("recommender_slim", setup, teardown);
}
