/* VPAs of the cluster: selectors and their changes, unresolved targets, settings, order. */
#include "../../src/model/cluster_private.h"
#include "cluster_fixture.h"
#include "objects.h"

static void use(const char *pod, vpa_time t)
{
    ck_assert_int_eq(sample(pod, VPA_KIND_CPU, t, 500), 0);
}

static int64_t samples(struct vpa_autoscaler *v)
{
    struct vpa_histories h;

    vpa_cluster_histories(c, v, now, &h);
    int64_t count = h.count ? h.items[0].aggregate->sample_count : -1;
    vpa_histories_release(&h);
    return count;
}

static void load(const char *name)
{
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(
            c, "ns", name, "app",
            checkpoint_of(&arena,
                          "{\"version\":\"v3\",\"cpuHistogram\":{\"bucketWeights\":{\"8\":10000},"
                          "\"totalWeight\":3},\"totalSamplesCount\":30}"),
            now, &err),
        0);
}

TEST(put_find_remove) {
    struct vpa_object *object = simple_vpa(&arena, "v");

    ck_assert_ptr_null(vpa_cluster_find_vpa(c, "ns", "v"));
    struct vpa_autoscaler *v =
        vpa_cluster_put_vpa(c, object, selector_of(&arena, "a=1"), "no good", now);
    ck_assert_ptr_eq(vpa_cluster_find_vpa(c, "ns", "v"), v);
    ck_assert_ptr_eq(vpa_autoscaler_object(v), object);
    ck_assert_str_eq(vpa_autoscaler_ns(v), "ns");
    ck_assert_str_eq(vpa_autoscaler_name(v), "v");
    ck_assert_str_eq(vpa_autoscaler_unsupported(v), "no good");
    ck_assert_uint_eq(vpa_autoscaler_selector(v)->count, 1);
    ck_assert(vpa_autoscaler_resolved(v));
    ck_assert_int_lt(vpa_autoscaler_checkpoint_turns(v)->last, 0);
    ck_assert_uint_eq(vpa_autoscaler_checkpoint_turns(v)->stored, 0);
    vpa_autoscaler_checkpoint_turns(v)->last = 3;
    ck_assert_int_eq(vpa_autoscaler_checkpoint_turns(v)->last, 3);
    ck_assert_ptr_eq(vpa_cluster_put_vpa(c, object, NULL, NULL, now), v);
    ck_assert_ptr_null(vpa_autoscaler_unsupported(v));
    ck_assert(!vpa_autoscaler_resolved(v));
    ck_assert_ptr_nonnull(vpa_autoscaler_selector(v)); /* the last one */
    ck_assert(vpa_cluster_remove_vpa(c, "ns", "v"));
    ck_assert(!vpa_cluster_remove_vpa(c, "ns", "v"));
    ck_assert_ptr_null(vpa_autoscaler_selector(put_vpa("w", NULL)));
}

TEST(listed_by_namespace_and_name) {
    static const char *const names[] = {"b/x", "a/z", "b/a", "a/a", "a-b/c"};
    size_t count;

    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        const char *slash = strchr(names[i], '/');
        vpa_cluster_put_vpa(
            c,
            vpa_of(&arena, vpa_arena_printf(
                               &arena, "{\"metadata\":{\"namespace\":\"%.*s\",\"name\":\"%s\"}}",
                               (int)(slash - names[i]), names[i], slash + 1)),
            NULL, NULL, now);
    }
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(c, &count);
    ck_assert_uint_eq(count, 5);
    ck_assert_str_eq(vpa_autoscaler_name(vpas[0]), "a");
    ck_assert_str_eq(vpa_autoscaler_name(vpas[1]), "z");
    ck_assert_str_eq(vpa_autoscaler_ns(vpas[2]), "a-b");
    ck_assert_str_eq(vpa_autoscaler_name(vpas[3]), "a");
    ck_assert_str_eq(vpa_autoscaler_name(vpas[4]), "x");
    ck_assert_ptr_eq(vpa_cluster_vpas(c, &count), vpas);
}

static const struct {
    const char *name, *before, *after;
    size_t pods;
} changes[] = {
    {"the same", "app=web", "app=web", 1},
    {"another value", "app=web", "app=db", 1},
    {"another operator", "app=web", "app!=web", 1},
    {"more values", "app in (web)", "app in (web,db)", 2},
    {"more requirements", "app", "app,tier", 0},
    {"another key", "app", "tier", 0},
    {"everything", "app=web", "", 2},
    {"from everything", "", "app=web", 1},
    {"another value in a list", "app in (x,web)", "app in (db,x)", 1},
};

TEST_EACH(selector_changes, changes) {
    put_pod("a", "{\"app\":\"web\"}");
    put_pod("b", "{\"app\":\"db\"}");
    put_vpa("v", changes[_i].before);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(put_vpa("v", changes[_i].after)), changes[_i].pods);
    put_pod("c", "{\"app\":\"more\"}");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(put_vpa("v", "")), 3);
}

/* Both have the empty text: the change between them goes unnoticed, as upstream. */
TEST(nothing_and_everything_look_the_same) {
    struct vpa_selector nothing = {.nothing = true};
    struct vpa_object *object = simple_vpa(&arena, "v");

    put_pod("a", "{\"app\":\"web\"}");
    struct vpa_autoscaler *v = vpa_cluster_put_vpa(c, object, &nothing, NULL, now);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 0);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(put_vpa("v", "")), 0);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(put_vpa("v", "app=web")), 1);
    vpa_cluster_put_vpa(c, object, &nothing, NULL, now);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 0);
}

/* The text by which a checkpoint knows that it is of the same pods: a VPA without a target is told
 * by its selector. */
TEST(targets_have_texts) {
    static const char *const specs[] = {
        "{'spec':{'targetRef':{'kind':'Deployment','name':'web'}}}",
        "{'spec':{'selector':{'matchLabels':{'app':'web'}}}}",
        "{'spec':{'selector':{'matchLabels':{'app':'db'}}}}",
    };
    char texts[3][64];

    for (size_t i = 0; i < 3; i++) {
        struct vpa_object *object = objects_vpa(&arena, specs[i]);
        vpa_auto_buf text = VPA_BUF(VPA_OBJECT_TARGET_MAX);

        vpa_object_target(object, &text);
        snprintf(texts[i], sizeof(texts[i]), "%s", vpa_buf_text(&text));
    }
    ck_assert_str_eq(texts[0], "Deployment/web");
    ck_assert(strncmp(texts[1], "selector/", 9) == 0 && strlen(texts[1]) == 17);
    ck_assert(strncmp(texts[2], "selector/", 9) == 0 && strcmp(texts[1], texts[2]) != 0);
}

/* Decision U2. */
TEST(history_survives_an_unresolved_target) {
    struct vpa_autoscaler *v = put_vpa("v", "app=web");

    load("v");
    put_pod("a", "{\"app\":\"web\"}");
    use("a", now);
    ck_assert_int_eq(samples(v), 31);
    put_vpa("v", NULL);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 0);
    size_t count;
    const char **pods = vpa_autoscaler_pods(v, &count);
    ck_assert_uint_eq(count, 0);
    free(pods);
    ck_assert_int_eq(samples(v), 31);
    put_pod("b", "{\"app\":\"web\",\"x\":\"1\"}"); /* found by the last selector */
    use("b", now);
    ck_assert_int_eq(samples(v), 32);
    put_vpa("v", "app=web");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 2);
    ck_assert_int_eq(samples(v), 32);
}

TEST(loaded_history_survives_a_new_selector_but_not_the_vpa) {
    struct vpa_autoscaler *v = put_vpa("v", "app=web");

    load("v");
    load("v"); /* replaces */
    put_pod("a", "{\"app\":\"web\"}");
    use("a", now);
    put_vpa("v", "app=db");
    ck_assert_int_eq(samples(v), 30);
    vpa_cluster_remove_vpa(c, "ns", "v");
    v = put_vpa("v", "app=web");
    ck_assert_int_eq(samples(v), 1); /* the aggregate lives on */
}

static vpa_duration interval_of(struct vpa_autoscaler *v)
{
    struct vpa_histories h;

    vpa_cluster_histories(c, v, now, &h);
    vpa_duration interval = h.items[0].aggregate->settings.memory_interval;
    vpa_histories_release(&h);
    return interval;
}

TEST(settings_follow_the_object) {
    struct vpa_object *with = vpa_of(
        &arena,
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"v\"},\"spec\":{\"updatePolicy\":{"
        "\"updateMode\":\"Off\"},\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":"
        "\"*\",\"memoryAggregationIntervalSeconds\":60}]}}}");
    struct vpa_object *without = simple_vpa(&arena, "v");
    struct vpa_selector *selector = selector_of(&arena, "app=web");

    put_pod("a", "{\"app\":\"web\"}");
    struct vpa_autoscaler *v = vpa_cluster_put_vpa(c, with, selector, NULL, now);
    ck_assert_int_eq(interval_of(v), VPA_MINUTE);
    vpa_cluster_put_vpa(c, with, selector, NULL, now);
    vpa_cluster_put_vpa(c, without, selector, NULL, now); /* decision S7 */
    ck_assert_int_eq(interval_of(v), DAY);
    vpa_cluster_put_vpa(c, with, selector, NULL, now);
    put_pod("b", "{\"app\":\"web\",\"x\":\"1\"}"); /* a new aggregate has them at once */
    vpa_cluster_remove_pod(c, "ns", "a");
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now, NULL, NULL), 1);
    ck_assert_int_eq(interval_of(v), VPA_MINUTE);
}

TEST(many_vpas_share_a_pair) {
    char name[16];
    char selector[64];

    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "v%d", i);
        snprintf(selector, sizeof(selector), "managed-by=helm,app=s%d", i);
        put_vpa(name, selector);
    }
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        put_pod(name, vpa_arena_printf(&arena, "{\"app\":\"s%d\",\"managed-by\":\"helm\"}", i));
    }
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "v%d", i);
        ck_assert_uint_eq(vpa_autoscaler_pod_count(vpa_cluster_find_vpa(c, "ns", name)), 1);
    }
    for (int i = 0; i < 50; i += 2) {
        snprintf(name, sizeof(name), "v%d", i);
        ck_assert(vpa_cluster_remove_vpa(c, "ns", name));
    }
    put_pod("p", "{\"app\":\"s1\",\"managed-by\":\"helm\",\"x\":\"y\"}");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(vpa_cluster_find_vpa(c, "ns", "v1")), 2);
}

TEST(several_vpas_on_one_pod) {
    struct vpa_autoscaler *b = put_vpa("b", "app=web");
    struct vpa_autoscaler *a = put_vpa("a", "app");
    struct vpa_autoscaler *z = put_vpa("z", "app in (web,db)");

    put_pod("p", "{\"app\":\"web\"}");
    use("p", now);
    ck_assert_int_eq(samples(a), 1);
    ck_assert_int_eq(samples(b), 1);
    ck_assert_int_eq(samples(z), 1);
    vpa_cluster_remove_vpa(c, "ns", "b");
    ck_assert_int_eq(samples(a), 1);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(z), 1);
    vpa_cluster_remove_vpa(c, "ns", "a");
    vpa_cluster_remove_vpa(c, "ns", "z");
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 1);
}

/* Many pods first, many VPAs then: linked in one sweep, and again after a change before that. */
TEST(vpas_in_numbers_find_their_pods) {
    struct vpa_error err;
    char name[16];

    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        put_pod(name, vpa_arena_printf(&arena, "{\"app\":\"s%d\",\"i\":\"%d\"}", i % 50, i));
    }
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "v%d", i);
        put_vpa(name, "app=nobody");
        put_vpa(name, vpa_arena_printf(&arena, "app=s%d", i));
    }
    vpa_cluster_remove_vpa(c, "ns", "v7"); /* before it was linked */
    ck_assert_int_eq(add_sample(c, CONTAINER("ns", "p1", "app"), VPA_KIND_CPU, now, 1, now, &err),
                     0);
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "v%d", i);
        struct vpa_autoscaler *v = vpa_cluster_find_vpa(c, "ns", name);
        if (i == 7)
            ck_assert_ptr_null(v);
        else
            ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 4);
    }
    ck_assert_uint_eq(vpa_autoscaler_pod_count(put_vpa("late", "app in (s1,s2)")), 8);
}

/* Whichever requirement a VPA is filed under, it is found by all of them. */
TEST(selectors_of_several_requirements) {
    put_vpa("common", "app=web");
    struct vpa_autoscaler *a = put_vpa("a", "app=web,tier=front");
    struct vpa_autoscaler *b = put_vpa("b", "tier==front,app in (web)");
    put_pod("p", "{\"app\":\"web\",\"tier\":\"front\"}");
    put_pod("q", "{\"app\":\"web\",\"tier\":\"back\"}");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(a), 1);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(b), 1);
}

/* A group is compared with those VPAs alone that demand one of its labels, and with those that
 * demand no single value: a namespace may have thousands. */
static size_t candidates;

static void count_candidate(struct vpa_group *group, struct vpa_autoscaler *v)
{
    (void)group;
    (void)v;
    candidates++;
}

static const struct {
    const char *selector;
    size_t as_web, as_db;
} filed[] = {
    {"app=web", 1, 0},  {"app==web", 1, 0},        {"app in (web)", 1, 0},
    {"app!=web", 1, 1}, {"app in (web,db)", 1, 1}, {"app notin (web)", 1, 1},
    {"app", 1, 1},      {"tier,app=web", 1, 0},    {"", 1, 1},
};

TEST_EACH(selectors_are_looked_up_by_their_values, filed) {
    const char *const labels[] = {"{\"app\":\"web\"}", "{\"app\":\"db\"}"};

    put_vpa("v", filed[_i].selector);
    for (int i = 0; i < 2; i++) {
        put_pod(i ? "db" : "web", labels[i]);
        struct vpa_pod *pod = simple_pod(&arena, "again", labels[i]);
        candidates = 0;
        vpa_selectors_candidates(c, vpa_group_get(c, "ns", &pod->meta.labels), count_candidate);
        ck_assert_uint_eq(candidates, i ? filed[_i].as_db : filed[_i].as_web);
    }
}

struct overlap {
    int calls;
    size_t count;
    const char *first;
};

static void see_overlap(void *ctx, const struct vpa_labels *labels,
                        struct vpa_autoscaler *const *vpas, size_t count)
{
    struct overlap *overlap = ctx;

    (void)labels;
    *overlap = (struct overlap){overlap->calls + 1, count, vpa_autoscaler_name(vpas[0])};
}

TEST(overlaps_are_shown) {
    struct overlap overlap = {0};

    put_vpa("b", "app=web");
    put_vpa("a", "app");
    put_pod("p", "{\"app\":\"db\"}");
    vpa_cluster_visit_overlaps(c, 2, see_overlap, &overlap);
    ck_assert_int_eq(overlap.calls, 0);
    put_pod("q", "{\"app\":\"web\"}");
    vpa_cluster_visit_overlaps(c, 2, see_overlap, &overlap);
    ck_assert_int_eq(overlap.calls, 1);
    ck_assert_uint_eq(overlap.count, 2);
    ck_assert_str_eq(overlap.first, "a");
    put_vpa("a", NULL); /* unresolved: takes no part */
    vpa_cluster_visit_overlaps(c, 2, see_overlap, &overlap);
    ck_assert_int_eq(overlap.calls, 1);
    put_vpa("a", "app");
    vpa_cluster_remove_pod(c, "ns", "q");
    vpa_cluster_visit_overlaps(c, 2, see_overlap, &overlap);
    ck_assert_int_eq(overlap.calls, 1);
}

TEST(groups_come_and_go) {
    struct vpa_autoscaler *v = put_vpa("v", "app=web");

    for (int i = 0; i < 20; i++)
        put_pod(vpa_arena_printf(&arena, "p%d", i),
                vpa_arena_printf(&arena, "{\"app\":\"web\",\"i\":\"%d\"}", i));
    ck_assert_uint_eq(vpa_autoscaler_aggregate_count(v), 20);
    ck_assert_int_eq(samples(v), 0);
    for (int i = 0; i < 20; i += 3)
        vpa_cluster_remove_pod(c, "ns", vpa_arena_printf(&arena, "p%d", i));
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now, NULL, NULL), 7);
    ck_assert_uint_eq(vpa_autoscaler_aggregate_count(v), 13);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 13);
    ck_assert_int_eq(samples(v), 0);
}

int main(void)
{
    return run_tests("cluster_vpas", setup, teardown);
}
