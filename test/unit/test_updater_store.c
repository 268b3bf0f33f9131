/* The updater's caches on the way from the server: what is unknown, what is gone, how old it is. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"
#include "../../updater/store.h"
#include "vpa/base/str.h"

#define OBJECT(version, kind, name)                                                                \
    "{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"metadata\":{\"name\":\"" name         \
    "\",\"namespace\":\"ns\""
#define VPA(name)                                                                                  \
    OBJECT("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", name) "},\"spec\":{" TARGET
#define POD(name) OBJECT("v1", "Pod", name)
#define OWNER                                                                                      \
    ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"rs\","   \
    "\"uid\":\"u\",\"controller\":true}]}"
#define RUNS "},\"spec\":{\"nodeName\":\"m\"}}"
#define BAD_QUANTITY                                                                               \
    "\"nodeName\":\"m\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":"     \
    "\"1e1.5\"}}}]"
#define TARGET "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}"

static struct store *store;

static void setup(void)
{
    start_client(NULL, 1767225600, 42);
    sim_cluster_put_text(sim, VPA("good") "}}");
    sim_cluster_put_text(
        sim, VPA("bad") ",\"resourcePolicy\":{\"containerPolicies\":[{\"minAllowed\":{\"cpu\":"
                        "\"1e1.5\"}}]}}}");
    sim_cluster_put_text(sim, POD("good") RUNS);
    sim_cluster_put_text(sim, POD("bad") OWNER ",\"spec\":{" BAD_QUANTITY "}}");
    sim_cluster_put_text(sim, OBJECT("v1", "LimitRange", "bad") "},\"spec\":{\"limits\":[{\"type\":"
                                                                "\"Pod\",\"max\":{\"cpu\":"
                                                                "\"1e1.5\"}}]}}");
    store = updater_store_new(client, "", "kube-system");
}

static void teardown(void)
{
    updater_store_free(store);
    stop_client();
}

TEST(bad_objects_are_unknown) {
    size_t count;
    struct vpa_error err;

    updater_store_start(store);
    ck_assert_int_eq(updater_store_wait(store, loop, VPA_MINUTE, &err), 0);
    vpa_loop_pump(loop, VPA_SECOND); /* the watches are open */
    sim_cluster_tell(sim, "pods", "MODIFIED",
                     POD("good") ",\"annotations\":{\"a\":\"\\u0000\"}" RUNS);
    vpa_loop_pump(loop, VPA_SECOND);
    updater_store_pin(store);
    vpa_auto_free const struct vpa_object **known = updater_store_vpas(store, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(known[0]->meta.name, "good");
    vpa_auto_free const struct vpa_object **unknown = updater_store_unknown_vpas(store, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(unknown[0]->meta.name, "bad");
    ck_assert_str_eq(unknown[0]->target_ref.name, "web");
    vpa_auto_free const struct vpa_pod **known_pods = updater_store_pods(store, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(known_pods[0]->meta.name, "good");
    vpa_auto_free const struct vpa_pod **unknown_pods = updater_store_unknown_pods(store, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(unknown_pods[0]->meta.ns, "ns");
    ck_assert_str_eq(unknown_pods[0]->meta.name, "bad");
    ck_assert_str_eq(unknown_pods[0]->meta.owners[0].name, "rs");
    vpa_auto_free const struct vpa_limit_range **limits = updater_store_limit_ranges(store, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_nonnull(limits[0]->error);
    updater_store_unpin(store);
}

/* A pass that holds the pods of before while a list brings others. */
TEST(a_list_drops_what_is_gone) {
    size_t count;

    updater_store_start(store);
    vpa_loop_pump(loop, VPA_SECOND);
    updater_store_pin(store);
    vpa_auto_free const struct vpa_pod **before = updater_store_pods(store, &count);
    sim_cluster_end_watches(sim, "pods", true);
    ck_assert(sim_cluster_delete(sim, "v1", "Pod", "ns", "good"));
    ck_assert(sim_cluster_delete(sim, "v1", "Pod", "ns", "bad"));
    sim_cluster_put_text(sim, POD("new") RUNS);
    vpa_loop_pump(loop, 5 * VPA_SECOND);
    ck_assert_str_eq(before[0]->meta.name, "good");
    updater_store_unpin(store);
    updater_store_pin(store);
    vpa_auto_free const struct vpa_pod **after = updater_store_pods(store, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(after[0]->meta.name, "new");
    free(updater_store_unknown_pods(store, &count));
    ck_assert_uint_eq(count, 0);
    updater_store_unpin(store);
}

TEST(the_oldest_cache_is_told) {
    const char *what = "";

    updater_store_start(store);
    ck_assert_int_eq(updater_store_age(store, vpa_loop_monotonic(loop), &what), INT64_MAX);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_le(updater_store_age(store, vpa_loop_monotonic(loop), &what), VPA_SECOND);
    /* the watch of pods hangs from its next opening on */
    sim_cluster_answer(sim,
                       &(struct sim_answer){.method = "GET", .path = "/pods", .delay = VPA_HOUR});
    vpa_loop_pump(loop, 3 * VPA_MINUTE);
    ck_assert_int_gt(updater_store_age(store, vpa_loop_monotonic(loop), &what), 2 * VPA_MINUTE);
    ck_assert_str_eq(what, "pods");
}

TEST(config_maps_that_we_may_not_read_have_no_age) {
    const char *what = "";

    sim_cluster_answer(
        sim,
        &(struct sim_answer){.method = "GET", .path = "/configmaps", .code = 403, .message = "no"});
    updater_store_start(store);
    vpa_loop_pump(loop, 3 * VPA_MINUTE);
    ck_assert_int_le(updater_store_age(store, vpa_loop_monotonic(loop), &what), 90 * VPA_SECOND);
    ck_assert(!updater_store_panic(store));
}

TEST(a_panic_is_seen) {
    sim_cluster_put_text(sim, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                              "\"name\":\"vpa-panic\",\"namespace\":\"kube-system\"}}");
    updater_store_start(store);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert(updater_store_panic(store));
}

int main(void)
{
    return run_tests("updater_store", setup, teardown);
}
