/* The cluster: pods, matching, samples; and that the order of events is irrelevant. */
#include "suite.h"
#include "cluster_fixture.h"
#include "histogram_text.h"
#include "../../src/model/cluster_private.h"

/* ---- matching ---- */

TEST(pods_are_counted_by_selector) {
    struct vpa_autoscaler *web = put_vpa("web", "app=web");
    struct vpa_autoscaler *all = put_vpa("all", "");
    struct vpa_autoscaler *none = put_vpa("none", NULL);
    struct vpa_autoscaler *set = put_vpa("set", "app in (web,db),tier!=x");

    put_pod("a", "{\"app\":\"web\"}");
    put_pod("b", "{\"app\":\"web\",\"tier\":\"x\"}");
    put_pod("c", "{\"app\":\"db\"}");
    put_pod("d", "{}");
    ck_assert_uint_eq(vpa_cluster_pod_count(c), 4);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 4);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(web), 2);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(all), 4);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(none), 0);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(set), 2);
    ck_assert_uint_eq(vpa_autoscaler_aggregate_count(all), 4);

    put_pod("b", "{\"app\":\"other\"}");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(web), 1);
    put_pod("b", "{\"app\":\"web\"}");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(web), 2);
    ck_assert(vpa_cluster_remove_pod(c, "ns", "a"));
    ck_assert(!vpa_cluster_remove_pod(c, "ns", "a"));
    ck_assert_uint_eq(vpa_autoscaler_pod_count(web), 1);
    ck_assert(!vpa_pods_find(c, "ns", "a"));
    ck_assert(vpa_pods_find(c, "ns", "b"));

    size_t count;
    const char **names = vpa_autoscaler_pods(all, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(names[0], "b");
    ck_assert_str_eq(names[2], "d");
    free(names);
}

static void expect_pods(const struct vpa_autoscaler *v, const char *const *want, size_t count)
{
    size_t found;
    const char **names = vpa_autoscaler_pods(v, &found);

    ck_assert_uint_eq(found, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(names[i], want[i]);
    free(names);
}

/* Wherever a pod stands in its group: it leaves no trace there, nor brings one along. */
TEST(pods_move_from_group_to_group) {
    static const char *const all[] = {"a", "b", "c"}, *const late[] = {"d"};
    struct vpa_autoscaler *web = put_vpa("web", "app=web"), *db = put_vpa("db", "app=db");

    for (size_t moves = 0; moves < 3; moves++) {
        for (size_t i = 0; i < 3; i++)
            put_pod(all[i], "{\"app\":\"web\"}");
        put_pod(all[moves], "{\"app\":\"db\"}");
        expect_pods(db, &all[moves], 1);
        put_pod(all[moves], "{\"app\":\"web\"}");
        put_pod("d", "{\"app\":\"db\"}");
        expect_pods(db, late, 1);
        expect_pods(web, all, 3);
        ck_assert(vpa_cluster_remove_pod(c, "ns", "d"));
        for (size_t i = 0; i < 3; i++)
            ck_assert(vpa_cluster_remove_pod(c, "ns", all[i]));
    }
}

TEST(vpas_added_later_find_the_pods) {
    put_pod("a", "{\"app\":\"web\"}");
    put_pod("b", "{\"app\":\"db\"}");
    ck_assert_uint_eq(vpa_autoscaler_pod_count(put_vpa("v", "app=web")), 1);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(put_vpa("w", "app=none")), 0);
}

TEST(namespaces_are_apart) {
    struct vpa_object *object =
        vpa_of(&arena, "{\"metadata\":{\"namespace\":\"other\",\"name\":\"v\"}}");

    put_pod("a", "{\"app\":\"web\"}");
    struct vpa_autoscaler *v =
        vpa_cluster_put_vpa(c, object, selector_of(&arena, "app=web"), NULL, now);
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 0);
}

TEST(containers_of_one_pod) {
    struct vpa_error err;
    struct vpa_pod *pod = pod_of(
        &arena,
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":"
        "\"a\"},{\"name\":\"b\"}],\"initContainers\":[{\"name\":\"i\"},{\"name\":\"j\"}]}}");

    vpa_cluster_put_pod(c, pod, NULL, now);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 2);
    ck_assert(is_init(c, CONTAINER("ns", "p", "j"), now));
    ck_assert(!is_init(c, CONTAINER("ns", "p", "a"), now));
    ck_assert(!is_init(c, CONTAINER("ns", "q", "i"), now));
    ck_assert_int_eq(add_sample(c, CONTAINER("ns", "p", "b"), VPA_KIND_CPU, now, 1, now, &err), 0);
    /* a pod of the same name with other containers: the old ones stay */
    pod = pod_of(&arena,
                 "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\"},\"spec\":{\"containers\":"
                 "[{\"name\":\"c\"}]}}");
    vpa_cluster_put_pod(c, pod, NULL, now);
    ck_assert_uint_eq(vpa_cluster_aggregate_count(c), 3);
    ck_assert(!is_init(c, CONTAINER("ns", "p", "j"), now));
    ck_assert_int_eq(add_sample(c, CONTAINER("ns", "p", "b"), VPA_KIND_CPU, now, 1, now, &err), -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
}

TEST(pods_may_grow_anywhere_in_their_group) {
    struct vpa_autoscaler *v = put_vpa("v", "");
    struct vpa_error err;

    put_pod("a", "{}");
    put_pod("b", "{}");
    put_pod("c", "{}");
    for (char name[] = "a"; name[0] <= 'c'; name[0]++) {
        ck_assert_int_eq(vpa_cluster_put_container(c, "ns", name, "more", now, &err), 0);
        ck_assert_int_eq(
            add_sample(c, CONTAINER("ns", name, "more"), VPA_KIND_CPU, now, 1, now, &err), 0);
    }
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 3);
    ck_assert(vpa_cluster_remove_pod(c, "ns", "b"));
    ck_assert(vpa_cluster_remove_pod(c, "ns", "c"));
    ck_assert(vpa_cluster_remove_pod(c, "ns", "a"));
    ck_assert_uint_eq(vpa_autoscaler_pod_count(v), 0);
    now += 2 * (vpa_time)VPA_HOUR;
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now, NULL, NULL), 1); /* "app", never used */
    ck_assert_uint_eq(vpa_autoscaler_aggregate_count(v), 1);
}

TEST(absurd_pods_are_cut) {
    struct vpa_error err;
    char name[16];

    put_pod("p", "{}");
    for (int i = 1; i < VPA_POD_CONTAINERS_MAX; i++) {
        snprintf(name, sizeof(name), "c%d", i);
        ck_assert_int_eq(vpa_cluster_put_container(c, "ns", "p", name, now, &err), 0);
    }
    ck_assert_int_eq(vpa_cluster_put_container(c, "ns", "p", "over", now, &err), -1);
    ck_assert_int_eq(err.code, VPA_LIMIT);
    ck_assert_int_eq(vpa_cluster_put_container(c, "ns", "p", name, now, &err), 0);
}

TEST(bare_pods_of_a_history) {
    struct vpa_labels labels = {0};
    struct vpa_error err;

    ck_assert_int_eq(vpa_cluster_put_container(c, "ns", "p", "app", now, &err), -1);
    ck_assert_str_eq(err.text, "KeyError: {ns p}");
    vpa_cluster_put_bare_pod(c, "ns", "p", &labels, VPA_PHASE_UNKNOWN, now);
    ck_assert_int_eq(vpa_cluster_put_container(c, "ns", "p", "app", now, &err), 0);
    ck_assert_int_eq(vpa_cluster_put_container(c, "ns", "p", "app", now, &err), 0);
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now, 100), 0);
}

static const struct {
    const char *text;
    enum vpa_phase phase;
} phases[] = {{"Pending", VPA_PHASE_PENDING},
              {"Running", VPA_PHASE_RUNNING},
              {"Succeeded", VPA_PHASE_SUCCEEDED},
              {"Failed", VPA_PHASE_FAILED},
              {"", VPA_PHASE_UNKNOWN},
              {"Unknown", VPA_PHASE_UNKNOWN}};

TEST_EACH(phases_are_parsed, phases) {
    ck_assert_int_eq(vpa_phase_parse(phases[_i].text), phases[_i].phase);
}

/* ---- samples ---- */

TEST(samples_need_pod_and_container) {
    struct vpa_error err;

    put_pod("p", "{}");
    ck_assert_int_eq(add_sample(c, CONTAINER("ns", "q", "app"), VPA_KIND_CPU, now, 1, now, &err),
                     -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
    ck_assert_str_eq(err.text, "KeyError: {ns q}");
    ck_assert_int_eq(add_sample(c, CONTAINER("ns", "p", "x"), VPA_KIND_CPU, now, 1, now, &err), -1);
    ck_assert_str_eq(err.text, "KeyError: {{ns p} x}");
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now, 1), 0);
    ck_assert_int_eq(add_sample(c, CONTAINER("ns", "p", "app"), VPA_KIND_CPU, now, 1, now, &err),
                     -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_str_eq(err.text, "sample discarded (invalid or out of order)");
    ck_assert_int_eq(record_oom(c, CONTAINER("ns", "q", "app"), now, 1, now, &err), -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
    ck_assert_int_eq(sample("p", VPA_KIND_MEMORY, now, 1), 0);
    ck_assert_int_eq(record_oom(c, CONTAINER("ns", "p", "app"), now - 2 * DAY, 1, now, &err), -1);
    ck_assert_str_eq(err.text,
                     "error while recording OOM for {{ns p} app}, Reason: OOM event will be "
                     "discarded - it is too old (2026-01-13 13:00:00 +0000 UTC)");
    ck_assert_int_eq(record_oom(c, CONTAINER("ns", "p", "app"), now - 2 * DAY, 1, now, NULL), -1);
    ck_assert_int_eq(record_oom(c, CONTAINER("ns", "p", "app"), now, 1, now, &err), 0);
}

struct heard {
    int usages, changes, missing;
    const char *mode; /* of the last usage, in the arena */
    vpa_amount last;
    size_t pods;
    const char *vpa; /* of the last sample */
};

static void hear_usage(void *ctx, const char *mode, enum vpa_kind kind, bool is_oom,
                       vpa_amount usage, vpa_amount recommendation)
{
    struct heard *heard = ctx;

    (void)kind;
    (void)is_oom;
    (void)usage;
    heard->mode = vpa_arena_strdup(&arena, mode ? mode : "none");
    heard->usages++;
    heard->missing += recommendation == 0;
    heard->last = recommendation;
}

static void hear_sample(void *ctx, const struct vpa_autoscaler *v, enum vpa_kind kind, bool is_oom,
                        vpa_amount usage, vpa_amount recommendation)
{
    struct heard *heard = ctx;

    (void)kind;
    (void)is_oom;
    (void)usage;
    heard->vpa = vpa_autoscaler_name(v);
    ck_assert_int_eq(recommendation, heard->last);
}

static void hear_change(void *ctx, const char *mode, enum vpa_kind kind, vpa_amount before,
                        vpa_amount after, size_t pods)
{
    struct heard *heard = ctx;

    (void)mode;
    (void)kind;
    (void)before;
    heard->changes++;
    heard->last = after;
    heard->pods = pods;
}

static struct vpa_recommendation recommendation_of(const char *text)
{
    struct vpa_recommendation rec;
    struct vpa_error err;

    ck_assert_int_eq(vpa_recommendation_decode(&arena, json(&arena, text), &rec, &err), 0);
    return rec;
}

TEST(hooks_hear_of_usage_and_changes) {
    struct heard heard = {0};
    struct vpa_cluster_options options = {.aggregation = &global,
                                          .hooks = {&heard, hear_usage, hear_change, hear_sample}};
    struct vpa_error err;

    vpa_cluster_free(c);
    c = vpa_cluster_new(&options);
    struct vpa_autoscaler *v = put_vpa("v", "app=web");
    put_pod("p", "{\"app\":\"web\"}");
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now, 100), 0);
    ck_assert_int_eq(heard.usages, 1);
    ck_assert_int_eq(heard.missing, 1);
    ck_assert_str_eq(heard.vpa, "v");
    struct vpa_recommendation rec = recommendation_of(
        "{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{},"
        "\"uncappedTarget\":{"
        "\"cpu\":\"200m\",\"memory\":\"5\"}},{\"containerName\":\"x\",\"target\":{}}]}");
    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &rec, now, &err), 0);
    ck_assert_int_eq(heard.changes, 0);
    ck_assert_int_eq(sample("p", VPA_KIND_MEMORY, now, 100), 0);
    ck_assert_int_eq(heard.last, 5);
    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &rec, now, &err), 0);
    ck_assert_int_eq(heard.changes, 2);
    ck_assert_uint_eq(heard.pods, 1);
    /* without an uncapped target the next one starts anew */
    rec = recommendation_of(
        "{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{}}]}");
    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &rec, now, &err), 0);
    ck_assert_int_eq(heard.changes, 4);
    ck_assert_int_eq(heard.last, 0);
    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &rec, now, &err), 0);
    ck_assert_int_eq(heard.changes, 4);
    /* and so does one of another VPA */
    rec = recommendation_of("{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":"
                            "{},\"uncappedTarget\":{\"cpu\":\"200m\",\"memory\":\"5\"}}]}");
    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &rec, now, &err), 0);
    vpa_cluster_remove_vpa(c, "ns", "v");
    v = put_vpa("v", "app=web");
    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &rec, now, &err), 0);
    ck_assert_int_eq(heard.changes, 4);
    put_vpa("w", "app");
    put_vpa("u", "app");
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now + 1, 100), 0);
    ck_assert_str_eq(heard.vpa, "w"); /* of three that match the last by name */
}

static struct vpa_autoscaler *put_mode(const char *name, const char *mode)
{
    const char *text =
        vpa_arena_printf(&arena,
                         "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\"},\"spec\":{"
                         "\"updatePolicy\":{\"updateMode\":\"%s\"}}}",
                         name, mode);

    return vpa_cluster_put_vpa(c, vpa_of(&arena, text), selector_of(&arena, "app=web"), NULL, now);
}

/* Of containers that a VPA scales. When it goes so do its mode and its recommendation, and nothing
 * is told, even though another VPA is there, until that one's object changes. */
TEST(usage_is_told_with_the_mode_of_the_vpa) {
    struct heard heard = {0};
    struct vpa_cluster_options options = {.aggregation = &global,
                                          .hooks = {.ctx = &heard, .usage = hear_usage}};
    struct vpa_recommendation rec =
        recommendation_of("{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{},"
                          "\"uncappedTarget\":{\"cpu\":\"200m\"}}]}");
    struct vpa_error err;

    vpa_cluster_free(c);
    c = vpa_cluster_new(&options);
    put_pod("p", "{\"app\":\"web\"}");
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now, 100), 0);
    ck_assert_int_eq(heard.usages, 0);
    put_mode("b", "Initial");
    struct vpa_autoscaler *v = put_mode("v", "Recreate");
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now + 1, 100), 0);
    ck_assert_str_eq(heard.mode, "Recreate");
    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &rec, now, &err), 0);
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now + 2, 100), 0);
    ck_assert_int_eq(heard.last, 200);
    vpa_cluster_remove_vpa(c, "ns", "v");
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now + 3, 100), 0);
    ck_assert_int_eq(heard.usages, 2);
    put_mode("b", "Initial");
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now + 4, 100), 0);
    ck_assert_int_eq(heard.usages, 3);
    ck_assert_str_eq(heard.mode, "Initial");
    ck_assert_int_eq(heard.last, 0);
}

TEST(missing_recommendation_is_reported_every_half_hour) {
    struct vpa_autoscaler *v = put_vpa("v", "app=web");
    struct vpa_recommendation none = {.present = true};
    struct vpa_recommendation some = recommendation_of(
        "{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{}}]}");
    struct vpa_error err;

    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &none, now, &err), 0);
    now += 30 * VPA_MINUTE;
    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &none, now, &err), 0);
    now += 1;
    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &none, now, &err), -1);
    ck_assert_str_eq(err.text, "VPA ns/v is missing recommendation for more than 30m0s");
    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &none, now, &err), 0);
    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &some, now, &err), 0);
    now += 31 * VPA_MINUTE;
    ck_assert_int_eq(vpa_cluster_set_recommendation(c, v, &none, now, &err), 0);
}

/* ---- deletion ---- */

TEST(marked_pods_leave_at_the_end_of_the_pass) {
    put_pod("a", "{}");
    put_pod("b", "{}");
    put_pod("c", "{}");
    vpa_cluster_mark_pod_deleted(c, "ns", "a");
    vpa_cluster_mark_pod_deleted(c, "ns", "a");
    vpa_cluster_mark_pod_deleted(c, "ns", "b");
    vpa_cluster_mark_pod_deleted(c, "ns", "nobody");
    put_pod("b", "{}"); /* came back */
    ck_assert_int_eq(sample("a", VPA_KIND_CPU, now, 1), 0);
    ck_assert_uint_eq(vpa_cluster_remove_deleted_pods(c), 1);
    ck_assert_uint_eq(vpa_cluster_pod_count(c), 2);
    vpa_cluster_mark_all_pods_deleted(c);
    vpa_cluster_keep_pod(c, "ns", "c");
    vpa_cluster_keep_pod(c, "ns", "nobody");
    ck_assert_uint_eq(vpa_cluster_remove_deleted_pods(c), 1);
    ck_assert(vpa_pods_find(c, "ns", "c"));
    ck_assert_uint_eq(vpa_cluster_remove_deleted_pods(c), 0);
    vpa_cluster_mark_pod_deleted(c, "ns", "c");
    ck_assert(vpa_cluster_remove_pod(c, "ns", "c"));
    ck_assert_uint_eq(vpa_cluster_remove_deleted_pods(c), 0);
}

/* ---- OOM through pods ---- */

/* Wherever it stands in the index of pods. */
TEST(looks_up_the_memory_of_each_pod) {
    for (unsigned i = 1; i <= 96; i++) {
        put_pod(vpa_arena_printf(&arena, "p%u", i), "{}");
        ck_assert_uint_eq(vpa_cluster_take_lookups(c).from_spec, i);
    }
}

TEST(oom_kills_are_queued) {
    struct vpa_oom_queue q;
    struct vpa_error err;

    vpa_oom_queue_init(&q);
    vpa_cluster_put_pod(c, pod_with_status("u", "\"state\":{\"running\":{}}"), &q, now);
    ck_assert_uint_eq(vpa_cluster_take_lookups(c).from_spec, 1);
    vpa_cluster_put_pod(c, pod_with_status("u", KILLED), &q, now);
    ck_assert_uint_eq(q.count, 1);
    ck_assert_int_eq(q.items[0].memory, 100 * MI);
    ck_assert_int_eq(record_oom(c, CONTAINER(q.items[0].ns, q.items[0].pod, q.items[0].container),
                                q.items[0].time, q.items[0].memory, now, &err),
                     0);
    ck_assert_uint_eq(vpa_cluster_take_lookups(c).from_spec, 2);
    ck_assert_uint_eq(vpa_cluster_take_lookups(c).from_spec, 1);
    vpa_cluster_put_pod(c, pod_with_status("u", KILLED), &q, now);
    vpa_cluster_put_pod(c, pod_with_status("u", "\"state\":{\"running\":{}}"), &q, now);
    vpa_cluster_put_pod(c, pod_with_status("u", KILLED), &q, now);
    ck_assert_uint_eq(q.count, 1);
    vpa_cluster_put_pod(
        c, pod_with_status("v", "\"state\":{\"running\":{}},\"resources\":{\"requests\":{}}"), &q,
        now);
    ck_assert_uint_eq(vpa_cluster_take_lookups(c).from_status, 1);
    vpa_cluster_put_pod(c, pod_with_status("v", KILLED ",\"resources\":{}"), NULL, now);
    ck_assert_uint_eq(vpa_cluster_take_lookups(c).from_status, 2);
    ck_assert_uint_eq(q.count, 1);
    vpa_oom_queue_release(&q);
}

/* What is known of a container stays when the pod gets one more: by a sample of one that no object
 * has told of. */
TEST_TIMES(a_pod_that_grows_remembers_its_status, 2) {
    struct vpa_oom_queue q;
    struct vpa_error err;

    vpa_oom_queue_init(&q);
    vpa_cluster_put_pod(c, pod_with_status("u", _i ? KILLED : "\"state\":{\"running\":{}}"), &q,
                        now);
    ck_assert_int_eq(vpa_cluster_put_container(c, "ns", "p", "sidecar", now, &err), 0);
    vpa_cluster_put_pod(c, pod_with_status("u", KILLED), &q, now);
    ck_assert_uint_eq(q.count, _i ? 0 : 1);
    vpa_cluster_put_pod(c, pod_with_status("u", KILLED), &q, now);
    ck_assert_uint_eq(q.count, _i ? 0 : 1);
    vpa_oom_queue_release(&q);
}

/* In a pod with few containers and with many. */
TEST_TIMES(containers_are_found_by_name, 4) {
    static const int counts[] = {1, 8, 9, 20};
    struct vpa_error err;

    vpa_cluster_put_pod(c, simple_pod(&arena, "p", "{}"), NULL, now);
    put_pod("q", "{}");
    ck_assert_int_eq(vpa_cluster_put_container(c, "ns", "q", "elsewhere", now, &err), 0);
    for (int i = 0; i < counts[_i]; i++)
        ck_assert_int_eq(
            vpa_cluster_put_container(c, "ns", "p", vpa_arena_printf(&arena, "c%d", i), now, &err),
            0);
    struct vpa_tracked_pod *pod = vpa_pods_find(c, "ns", "p");
    for (int i = 0; i < counts[_i]; i++) {
        const char *name = vpa_arena_printf(&arena, "c%d", i);
        const struct vpa_tracked_container *found = vpa_pod_find_container(c, pod, name);

        ck_assert_ptr_nonnull(found);
        ck_assert_str_eq(found->name, name);
    }
    ck_assert_ptr_null(vpa_pod_find_container(c, pod, "elsewhere"));
    ck_assert_ptr_null(vpa_pod_find_container(c, pod, "nowhere"));
}

/* ---- any order of events gives the same state ---- */

enum { EVENTS = 12 };

static void play(struct vpa_cluster *cluster, int event)
{
    static const char *const labels[] = {"{\"app\":\"web\",\"h\":\"1\"}",
                                         "{\"app\":\"web\",\"h\":\"2\"}", "{\"app\":\"db\"}"};
    char name[16];

    snprintf(name, sizeof(name), "p%d", event);
    if (event < 8)
        vpa_cluster_put_pod(cluster, simple_pod(&arena, name, labels[event % 3]), NULL, now);
    else if (event == 8)
        vpa_cluster_put_vpa(cluster, simple_vpa(&arena, "web"), selector_of(&arena, "app=web"),
                            NULL, now);
    else if (event == 9)
        vpa_cluster_put_vpa(cluster, simple_vpa(&arena, "all"), selector_of(&arena, ""), NULL, now);
    else if (event == 10)
        vpa_cluster_put_vpa(cluster, simple_vpa(&arena, "h"), selector_of(&arena, "h in (1,2)"),
                            NULL, now);
    else
        vpa_cluster_put_vpa(cluster, simple_vpa(&arena, "e"), selector_of(&arena, "h,app!=x"), NULL,
                            now);
}

TEST_TIMES(order_of_events_is_irrelevant, 20) {
    struct vpa_cluster_options options = {.aggregation = &global};
    unsigned seed = (unsigned)_i + 1;
    int order[EVENTS];

    for (int i = 0; i < EVENTS; i++)
        order[i] = i;
    for (int i = EVENTS - 1; i > 0; i--) {
        seed = seed * 1664525u + 1013904223u;
        int k = (int)(seed >> 8) % (i + 1);
        int swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    struct vpa_cluster *shuffled = vpa_cluster_new(&options);
    for (int i = 0; i < EVENTS; i++) {
        play(c, i);
        play(shuffled, order[i]);
    }
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < 8; i++) {
            char name[16];
            struct vpa_error err;
            snprintf(name, sizeof(name), "p%d", i);
            vpa_time t = now + pass * VPA_MINUTE + i;
            for (int k = 0; k < 2; k++)
                ck_assert_int_eq(add_sample(k ? shuffled : c, CONTAINER("ns", name, "app"),
                                            VPA_KIND_CPU, t, 100 + 37 * i, now, &err),
                                 0);
        }
    }
    size_t count;
    size_t same;
    struct vpa_autoscaler *const *a = vpa_cluster_vpas(c, &count);
    struct vpa_autoscaler *const *b = vpa_cluster_vpas(shuffled, &same);
    ck_assert_uint_eq(count, same);
    for (size_t i = 0; i < count; i++) {
        struct vpa_histories x;
        struct vpa_histories y;
        ck_assert_str_eq(vpa_autoscaler_name(a[i]), vpa_autoscaler_name(b[i]));
        ck_assert_uint_eq(vpa_autoscaler_pod_count(a[i]), vpa_autoscaler_pod_count(b[i]));
        vpa_cluster_histories(c, a[i], now, &x);
        vpa_cluster_histories(shuffled, b[i], now, &y);
        ck_assert_uint_eq(x.count, y.count);
        for (size_t k = 0; k < x.count; k++) {
            ck_assert_str_eq(x.items[k].container, y.items[k].container);
            ck_assert(x.items[k].aggregate->cpu.h.total == y.items[k].aggregate->cpu.h.total);
            ck_assert(decay_equal(&x.items[k].aggregate->cpu, &y.items[k].aggregate->cpu));
        }
        vpa_histories_release(&x);
        vpa_histories_release(&y);
    }
    vpa_cluster_free(shuffled);
}

TEST(nothing_to_free) {
    vpa_cluster_free(NULL);
    ck_assert_uint_eq(vpa_cluster_pod_count(c), 0);
}

int main(void)
{
    return run_tests("cluster", setup, teardown);
}
