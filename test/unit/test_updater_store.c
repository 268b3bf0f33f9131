/* The updater's caches on the way from the server: what is unknown, what is gone, how old it is. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"
#include "../../updater/store.h"
#include "vpa/base/str.h"

#define META(name) "\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\""
#define LIST(items) "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" items "]}"
#define OWNER                                                                                      \
    ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"rs\","   \
    "\"uid\":\"u\",\"controller\":true}]}"
#define BAD_QUANTITY                                                                               \
    "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1e1.5\"}}}]"
#define TARGET "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}"

static const char vpas[] = LIST("{" META("good") "},\"spec\":{" TARGET "}},{" META(
    "bad") "},\"spec\":{" TARGET
           ",\"resourcePolicy\":{\"containerPolicies\":[{\"minAllowed\":{\"cpu\":\"1e1.5\"}}]}}}");
static const char pods[] = LIST("{" META("good") ",\"annotations\":{\"a\":\"\\u0000\"}}},{" META(
    "bad") OWNER ",\"spec\":{" BAD_QUANTITY "}}");
static const char ranges[] = LIST(
    "{" META("bad") "},\"spec\":{\"limits\":[{\"type\":\"Pod\",\"max\":{\"cpu\":\"1e1.5\"}}]}}");
static const char one_pod[] = LIST("{" META("new") "}}");
static const char panic[] =
    LIST("{\"metadata\":{\"name\":\"vpa-panic\",\"namespace\":\"kube-system\"}}");

static struct store *store;
static const char *pods_answer, *panic_answer;
static bool watches_answer;
static struct vpa_memory_stream *pod_watch;

static void forget_watch(void *ctx)
{
    *(struct vpa_memory_stream **)ctx = NULL;
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    bool is_pods = vpa_str_ends_with(q->path, "/pods");

    (void)ctx;
    if (q->watch && is_pods)
        pod_watch = vpa_memory_reply_stream(r, watches_answer ? 200 : 0, forget_watch, &pod_watch);
    else if (q->watch)
        vpa_memory_reply_stream(r, 200, NULL, NULL);
    else if (is_pods)
        vpa_memory_reply_json(r, 200, pods_answer);
    else if (vpa_str_ends_with(q->path, "/limitranges"))
        vpa_memory_reply_json(r, 200, ranges);
    else if (!vpa_str_ends_with(q->path, "/configmaps"))
        vpa_memory_reply_json(r, 200, vpas);
    else if (panic_answer)
        vpa_memory_reply_json(r, 200, panic_answer);
    else
        vpa_memory_reply_status(r, 403, "Forbidden", "no");
}

static void setup(void)
{
    start_client(serve, 1767225600, 42);
    pods_answer = pods;
    panic_answer = LIST("");
    watches_answer = true;
    store = updater_store_new(client, "", "kube-system");
}

static void teardown(void)
{
    updater_store_free(store);
    stop_client();
}

START_TEST(bad_objects_are_unknown)
{
    size_t count;
    struct vpa_error err;

    updater_store_start(store);
    ck_assert_int_eq(updater_store_wait(store, loop, VPA_MINUTE, &err), 0);
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
END_TEST

/* A pass that holds the pods of before while a list brings others. */
START_TEST(a_list_drops_what_is_gone)
{
    static const char expired[] =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
        "\"reason\":\"Expired\",\"message\":\"too old\"}}";
    size_t count;

    updater_store_start(store);
    vpa_loop_pump(loop, VPA_SECOND);
    updater_store_pin(store);
    vpa_auto_free const struct vpa_pod **before = updater_store_pods(store, &count);
    pods_answer = one_pod;
    vpa_memory_stream_push(pod_watch, expired, strlen(expired));
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
END_TEST

START_TEST(the_oldest_cache_is_told)
{
    const char *what = "";

    updater_store_start(store);
    ck_assert_int_eq(updater_store_age(store, &what), INT64_MAX);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_le(updater_store_age(store, &what), VPA_SECOND);
    watches_answer = false; /* that of pods hangs from its next opening on */
    vpa_loop_pump(loop, 3 * VPA_MINUTE);
    ck_assert_int_gt(updater_store_age(store, &what), 2 * VPA_MINUTE);
    ck_assert_str_eq(what, "pods");
}
END_TEST

START_TEST(config_maps_that_we_may_not_read_have_no_age)
{
    const char *what = "";

    panic_answer = NULL;
    updater_store_start(store);
    vpa_loop_pump(loop, 3 * VPA_MINUTE);
    ck_assert_int_le(updater_store_age(store, &what), 90 * VPA_SECOND);
    ck_assert(!updater_store_panic(store));
}
END_TEST

START_TEST(a_panic_is_seen)
{
    panic_answer = panic;
    updater_store_start(store);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert(updater_store_panic(store));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("updater_store");
    TCase *c = tcase_create("store");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, bad_objects_are_unknown);
    tcase_add_test(c, a_list_drops_what_is_gone);
    tcase_add_test(c, the_oldest_cache_is_told);
    tcase_add_test(c, config_maps_that_we_may_not_read_have_no_age);
    tcase_add_test(c, a_panic_is_seen);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
