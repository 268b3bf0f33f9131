/*
 * The whole recommender: what the golden vectors do not cover, that is conflicts (U12), faults,
 * restarts, and stopping at bad moments.
 */
#include "captured_log.h"
#include "recommender_fixture.h"

/* ---- restart ---- */

/* A process that dies at any moment loses nothing but the samples of the last pass. */
TEST_TIMES(goes_on_after_a_kill, 5) {
    static const char *const usages[] = {USAGE("900m", "300Mi"), USAGE("250m", "310Mi"),
                                         USAGE("250m", "290Mi"), USAGE("240m", "305Mi")};

    start(NULL);
    for (int i = 0; i < 120; i++) {
        pass(usages[i % 4]);
        if (i == 37 + _i || i == 80) {
            stop(); /* nothing is written on the way out */
            start(NULL);
        }
    }
    int64_t restarted = target_cpu();
    teardown();
    setup();
    start(NULL);
    for (int i = 0; i < 120; i++)
        pass(usages[i % 4]);
    /* Within one bucket, that is 5 %. */
    ck_assert_int_le(llabs(restarted - target_cpu()) * 100, target_cpu() * 5);
}

/* ---- faults ---- */

static const struct {
    const char *name;
    int code; /* 0: the connection fails */
    const char *body;
} metrics_faults[] = {
    {"forbidden", 403, NULL},
    {"unavailable", 503, NULL},
    {"not_there", 404, NULL},
    {"truncated", 200,
     "{\"items\":[{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\"},\"timest"},
    {"no_json", 200, "<html>"},
    {"empty", 200, ""},
    {"reset", 0, NULL},
};
static size_t metrics_fault;

static bool break_metrics(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!strstr(q->path, "metrics.k8s.io"))
        return false;
    hook_calls++;
    if (metrics_faults[metrics_fault].code == 0)
        vpa_memory_reply_fail(r, VPA_TRANSPORT_RESET);
    else if (metrics_faults[metrics_fault].body)
        vpa_memory_reply_bytes(r, 200, "application/json", metrics_faults[metrics_fault].body,
                               strlen(metrics_faults[metrics_fault].body));
    else
        vpa_memory_reply_status(r, metrics_faults[metrics_fault].code, NULL, "broken");
    return true;
}

TEST_EACH(lives_through_metrics_faults, metrics_faults) {
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    metrics_fault = (size_t)_i;
    hook = break_metrics;
    pass(USAGE("2", "100Mi"));
    ck_assert_uint_ge(hook_calls, 1);
    hook = NULL;
    pass(USAGE("2", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
}

TEST(skips_an_item_that_cannot_be_used) {
    start(NULL);
    pass("{\"metrics\":[{\"metadata\":7},{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\"},"
         "\"timestamp\":"
         "\"2026-01-15T12:00:30Z\",\"containers\":[{\"name\":\"app\",\"usage\":{\"cpu\":\"2\","
         "\"memory\":\"1Gi\"}}]}]}");
    ck_assert_int_gt(target_cpu(), 1000);
}

TEST(forgets_pods_that_a_new_list_lacks) {
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    /* The watch ends as expired while a pod goes: only a new list can tell. */
    end_watches("pods");
    change("{\"delete\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"shop\",\"name\":"
           "\"web-1\"}}");
    pass("{\"usage\":[]}"); /* until here the pod counts; it leaves after this pass at the latest */
    pass("{\"usage\":[]}");
    const struct vpa_json *conditions =
        vpa_json_at(stored("VerticalPodAutoscaler", "web"), "status.conditions");
    ck_assert_str_eq(fake_text_at(vpa_json_first(conditions), "type"), "NoPodsMatched");
}

TEST(tells_the_loser_of_a_conflict) {
    change(VPA("younger", "2026-01-15T11:00:00Z"));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    const struct vpa_json *last = NULL;
    vpa_json_foreach (condition,
                      vpa_json_at(stored("VerticalPodAutoscaler", "younger"), "status.conditions"))
        last = condition;
    ck_assert_str_eq(fake_text_at(last, "type"), "TargetConflict");
    ck_assert_str_eq(fake_text_at(last, "message"),
                     "Pods of this VPA are controlled by the older VPA web");
    ck_assert_uint_eq(
        vpa_json_count(vpa_json_at(stored("VerticalPodAutoscaler", "web"), "status.conditions")),
        1);

    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/"
           "v1\",\"kind\":\"VerticalPodAutoscaler\",\"namespace\":"
           "\"shop\",\"name\":\"web\"}}");
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(vpa_json_count(vpa_json_at(stored("VerticalPodAutoscaler", "younger"),
                                                 "status.conditions")),
                      1);
}

/* ---- VPAs that go ---- */

static const struct {
    const char *vpa, *gone;
} others[] = {
#define GONE(name)                                                                                 \
    {                                                                                              \
        VPA(name, "2026-01-15T11:00:00Z"),                                                         \
            "{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"                      \
            "\"VerticalPodAutoscaler\",\"namespace\":\"shop\",\"name\":\"" name "\"}}"             \
    }
    GONE("a"),
    GONE("zz"),
};

/* Before or behind it in the order of names: what was learned for the one that stays, stays. */
TEST_EACH(a_vpa_that_went_takes_no_other_with_it, others) {
    int64_t count;

    change(others[_i].vpa);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    change(others[_i].gone);
    for (int i = 0; i < 2; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert(vpa_json_int64(vpa_json_at(stored("VerticalPodAutoscalerCheckpoint", "web-app"),
                                         "status.totalSamplesCount"),
                             &count));
    ck_assert_int_eq(count, 3);
}

/* ---- one snapshot per pass ---- */

#define DELETE_POD(name)                                                                           \
    "{\"delete\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"shop\",\"name\":\"" name  \
    "\"}}"

static void expect_no_trace(void)
{
    const struct vpa_json *vpa = stored("VerticalPodAutoscaler", "web");

    ck_assert_ptr_null(vpa_json_first(vpa_json_at(vpa, "status.recommendation")));
    vpa_json_foreach (condition, vpa_json_at(vpa, "status.conditions"))
        if (strcmp(fake_text_at(condition, "type"), "RecommendationProvided") == 0)
            ck_assert_str_eq(fake_text_at(condition, "status"), "False");
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
}

TEST(a_pod_between_two_passes_was_never_there) {
    change(DELETE_POD("web-1"));
    start(NULL);
    pass("{\"usage\":[]}");
    change(POD("web-2"));
    change(DELETE_POD("web-2"));
    pass("{\"usage\":[]}");
    expect_no_trace();
}

/* The list was read when the process began, the first pass is a minute later. */
TEST(a_pod_that_no_pass_saw_was_never_there) {
    start(NULL);
    change(DELETE_POD("web-1"));
    pass("{\"usage\":[]}");
    pass("{\"usage\":[]}");
    expect_no_trace();
}

#define VPA_OF(target)                                                                             \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","          \
          "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"},\"spec\":{\"targetRef\":{"       \
          "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"" target "\"}}}")

static const struct {
    const char *name;
    const char *steps[2];
    bool written;
} turns[] = {
    {"made anew for another target",
     {"{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","
      "\"namespace\":\"shop\",\"name\":\"web\"}}",
      VPA_OF("db")},
     false},
    {"made anew",
     {"{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","
      "\"namespace\":\"shop\",\"name\":\"web\"}}",
      VPA_OF("web")},
     false},
    {"another target", {VPA_OF("db"), NULL}, false},
    {"another creation time", {VPA("web", "2026-03-01T12:00:01Z"), NULL}, true},
};
static size_t turn;

/* While the usage is read. */
static bool turn_vpa(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)r;
    if (!strstr(q->path, "/apis/metrics.k8s.io/") || hook_calls++ > 0)
        return false;
    for (size_t i = 0; i < VPA_COUNT(turns[turn].steps) && turns[turn].steps[i]; i++)
        change(turns[turn].steps[i]);
    return false;
}

/* What was learned for one workload says nothing to a VPA that names another one by now, and the
 * status of one VPA nothing to the next one of that name. */
TEST_EACH(a_vpa_that_became_another_one_gets_no_status_of_the_old_one, turns) {
    turn = (size_t)_i;
    start(NULL);
    hook = turn_vpa;
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_gt(hook_calls, 0);

    const struct vpa_json *status = vpa_json_find(stored("VerticalPodAutoscaler", "web"), "status");

    ck_assert_msg((status != NULL) == turns[_i].written, "%s", turns[_i].name);
}

/* ---- what others write into the status meanwhile ---- */

#define WITH_CONDITIONS(conditions)                                                                \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","          \
          "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"},\"status\":{\"conditions\":"     \
          "[" conditions "]}}")
#define ZEBRA                                                                                      \
    "{\"type\":\"Zebra\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-15T12:00:00Z\"}"

static const struct {
    const char *before, *meanwhile;
    bool there;
} strangers[] = {
    {WITH_CONDITIONS(""), WITH_CONDITIONS(ZEBRA), true},
    {WITH_CONDITIONS(ZEBRA), WITH_CONDITIONS(""), false},
    {WITH_CONDITIONS(ZEBRA), NULL, true},
};
static size_t stranger;

static bool write_condition(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)r;
    if (strstr(q->path, "/apis/metrics.k8s.io/") && hook_calls++ == 0 &&
        strangers[stranger].meanwhile)
        change(strangers[stranger].meanwhile);
    return false;
}

TEST_EACH(conditions_of_others_stay_as_they_are_by_now, strangers) {
    bool found = false;

    stranger = (size_t)_i;
    change(strangers[_i].before);
    start(NULL);
    hook = write_condition;
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_gt(count_writes("PATCH", "/web/status"), 0);
    vpa_json_foreach (condition,
                      vpa_json_at(stored("VerticalPodAutoscaler", "web"), "status.conditions"))
        found = found || strcmp(fake_text_at(condition, "type"), "Zebra") == 0;
    ck_assert_int_eq(found, strangers[_i].there);
}

#define POD_OF(name, labels, status)                                                               \
    APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                 \
          "\",\"namespace\":\"shop\",\"uid\":\"u\",\"labels\":{" labels                            \
          "}},\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{"           \
          "\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"Running\"," status "}}")
#define CONTAINER(restarts, states)                                                                \
    "\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":" restarts "," states "}]"
#define UP "\"state\":{\"running\":{}}"
#define END(reason)                                                                                \
    "{\"terminated\":{\"reason\":\"" reason "\",\"finishedAt\":\"2026-01-15T12:01:30Z\"}}"
#define WEB "\"app\":\"web\""

TEST(labels_of_a_moment_match_nothing) {
    change(POD("db"));
    change(POD_OF("web-1", "\"app\":\"db\"", CONTAINER("0", UP)));
    change(POD_OF("db", "\"app\":\"db\"", CONTAINER("0", UP)));
    start(NULL);
    pass("{\"usage\":[]}");
    change(POD_OF("db", WEB, CONTAINER("0", UP)));
    change(POD_OF("db", "\"app\":\"db\"", CONTAINER("0", UP)));
    pass("{\"usage\":[]}");
    expect_no_trace();
}

/* Its event came, that of its end did not: the list of after that says it. */
TEST(a_pod_that_the_next_list_lacks_was_never_there) {
    change(DELETE_POD("web-1"));
    start(NULL);
    pass("{\"usage\":[]}");
    change(POD("web-2"));
    end_watches("pods");
    change(DELETE_POD("web-2"));
    pass("{\"usage\":[]}");
    expect_no_trace();
}

TEST(a_pod_that_changed_between_two_watches_is_noticed) {
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    end_watches("pods");
    change(POD_OF("web-1", "\"app\":\"db\"", CONTAINER("0", UP)));
    pass(USAGE("100m", "100Mi"));
    pass(USAGE("100m", "100Mi"));
    ck_assert_str_eq(fake_text_at(vpa_json_first(vpa_json_at(stored("VerticalPodAutoscaler", "web"),
                                                             "status.conditions")),
                                  "type"),
                     "NoPodsMatched");
}

static int64_t memory_target(void)
{
    struct vpa_quantity q = target("memory");

    return vpa_quantity_value(&q);
}

/* The kill shows between two versions, neither of which is there when the pass begins. */
TEST_TIMES(a_kill_between_two_passes_counts_once, 2) {
    static const char *const after_kill[] = {
        POD_OF("web-1", WEB, CONTAINER("1", UP ",\"lastState\":" END("OOMKilled"))),
        POD_OF("web-1", WEB, CONTAINER("1", "\"state\":{\"waiting\":{}}")),
    };

    change(POD_OF("web-1", WEB, CONTAINER("0", UP)));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    int64_t before = memory_target();
    change(POD_OF("web-1", WEB, CONTAINER("0", "\"state\":" END("OOMKilled"))));
    change(after_kill[_i]);
    change(POD_OF("web-1", WEB, CONTAINER("1", UP)));
    pass(USAGE("100m", "100Mi"));
    int64_t once = memory_target();
    ck_assert_int_gt(once, before);
    ck_assert_int_ge(once, (int64_t)1 << 30); /* of the request, and a fifth on top of it */
    ck_assert_int_lt(once, (int64_t)3 << 29);

    /* Watches repeat themselves, and usage that has grown since must not be bumped again. */
    pass(USAGE("100m", "3Gi"));
    once = memory_target();
    change(POD_OF("web-1", WEB, CONTAINER("0", UP)));
    change(POD_OF("web-1", WEB, CONTAINER("0", "\"state\":" END("OOMKilled"))));
    change(POD_OF("web-1", WEB, CONTAINER("1", UP)));
    pass(USAGE("100m", "3Gi"));
    ck_assert_int_eq(memory_target(), once);
}

/* ---- VPAs that cannot be read ---- */

#define UNREADABLE                                                                                 \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","          \
          "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"},\"spec\":{"                      \
          "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\","                   \
          "\"minAllowed\":{\"cpu\":\"1e1.5\"}}]},\"targetRef\":{\"apiVersion\":\"apps/v1\","       \
          "\"kind\":\"Deployment\",\"name\":\"web\"}}}")

static unsigned watched;

static bool note_events(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)r;
    if (vpa_str_ends_with(q->path, "/events") && strcmp(q->method, "GET") == 0) {
        hook_calls++;
        watched += vpa_memory_query(q, "watch") != NULL;
        ck_assert_str_eq(vpa_memory_query(q, "fieldSelector"), "reason=Evicted");
    }
    return false;
}

/* Events of a large cluster are many, and those of before say nothing new. */
TEST(evictions_are_watched_and_never_listed) {
    hook = note_events;
    watched = 0;
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(watched, 1);
    ck_assert_uint_eq(hook_calls, 1);
    end_watches("events");
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(watched, 2);
    ck_assert_uint_eq(hook_calls, 2);
}

/* What was used at an eviction counts like a kill; what becomes of the event later does not. */
TEST(an_eviction_for_memory_counts_once) {
    int64_t before, after;

    start(NULL);
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "300Mi"));
    before = memory_target();
    change(EVICTION("e", "\"uid\":\"1\",", "12:02", "1Gi"));
    pass(USAGE("100m", "300Mi"));
    after = memory_target();
    ck_assert_int_ge(after, 1100 << 20);
    ck_assert_int_lt(before, 800 << 20);
    change(EVICTION("e", "\"uid\":\"2\",", "12:02", "9Gi"));
    pass(USAGE("100m", "300Mi"));
    change("{\"delete\":{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"namespace\":\"shop\",\"name\":"
           "\"e\"}}");
    pass(USAGE("100m", "300Mi"));
    ck_assert_int_eq(memory_target(), after);
}

TEST(an_eviction_that_cannot_be_read_is_told) {
    start(NULL);
    capture_log(0);
    change(EVICTION("e", "\"uid\":\"1\",", "12:02", "much"));
    pass(USAGE("100m", "300Mi"));
    ck_assert_uint_eq(logged("Skipping an object that cannot be used"), 1);
    ck_assert_uint_eq(logged("usage of container app"), 1);
}

TEST(an_unknown_vpa_gets_no_status_and_goes_on_learning) {
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    change(UNREADABLE);
    for (int i = 0; i < 30; i++) {
        pass(USAGE("2", "100Mi"));
        ck_assert_uint_eq(count_writes("PATCH", "/web/status"), 0);
    }
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
    change(VPA("web", "2026-01-15T10:00:00Z"));
    pass(USAGE("2", "100Mi"));
    ck_assert_uint_eq(count_writes("PATCH", "/web/status"), 1);
    ck_assert_int_gt(target_cpu(), 1000);
}

TEST(an_unknown_pod_keeps_its_history) {
    start(NULL);
    pass(USAGE("2", "100Mi"));
    change(POD_OF("web-1", WEB, "\"containerStatuses\":7"));
    for (int i = 0; i < 3; i++)
        pass(USAGE("2", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
    const struct vpa_json *condition =
        vpa_json_first(vpa_json_at(stored("VerticalPodAutoscaler", "web"), "status.conditions"));
    ck_assert_str_eq(fake_text_at(condition, "type"), "RecommendationProvided");
}

static void change_foreign_condition(const char *message)
{
    vpa_auto_free char *text = vpa_xprintf(
        APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","
              "\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"},\"spec\":{\"targetRef\":{"
              "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}},"
              "\"status\":{\"conditions\":[{\"type\":\"Other\",\"status\":\"True\","
              "\"message\":\"%s\"}]}}"),
        message);

    change(text);
}

/* Conditions of other writers are carried over, of whatever length. */
TEST(a_status_too_long_to_be_written_is_told) {
    size_t length = (size_t)4 << 20;
    vpa_auto_free char *message = vpa_xmalloc(length + 1);

    memset(message, 'x', length);
    message[length] = '\0';
    change_foreign_condition(message);
    start(NULL);
    capture_log(0);
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("PATCH", "/web/status"), 0);
    ck_assert_uint_eq(logged("Cannot update VPA"), 1);
    ck_assert_uint_eq(logged("the status is too long"), 1);
    change_foreign_condition("short");
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("PATCH", "/web/status"), 1);
    ck_assert_uint_eq(logged("Cannot update VPA"), 1);
}

/* Told each time that it has been so for more than half an hour. */
TEST(a_vpa_without_a_recommendation_is_told) {
    change(DELETE_POD("web-1"));
    start(NULL);
    capture_log(0);
    for (int i = 1; i <= 70; i++) {
        pass("{\"usage\":[]}");
        ck_assert_msg(logged("VPA without recommendation") == (size_t)((i > 31) + (i > 62)),
                      "pass %d: %zu", i, logged("VPA without recommendation"));
    }
    ck_assert_uint_eq(logged("first=\"shop/web\""), 2);
    ck_assert_uint_eq(logged("is missing recommendation for more than 30m0s"), 2);
}

/* A list lacks it, and then it is there again in a form that nobody can read: it is the same. */
TEST(an_unknown_pod_that_came_back_is_there) {
    start(NULL);
    pass(USAGE("2", "100Mi"));
    change(DELETE_POD("web-1"));
    end_watches("pods");
    vpa_loop_pump(loop, 20 * VPA_SECOND);
    change(POD_OF("web-1", WEB, "\"containerStatuses\":7"));
    pass(USAGE("2", "100Mi"));
    const struct vpa_json *condition =
        vpa_json_first(vpa_json_at(stored("VerticalPodAutoscaler", "web"), "status.conditions"));
    ck_assert_str_eq(fake_text_at(condition, "type"), "RecommendationProvided");
}

/* ---- conflicts with others ---- */

#define OTHERS(name, created, spec) OTHERS_OF("shop", name, created, spec)
#define OTHERS_OF(ns, name, created, spec)                                                         \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"                                                  \
          "v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":"                        \
          "\"" name "\",\"namespace\":\"" ns "\",\"creationTimestamp\":\"" created                 \
          "\"},\"spec\":{\"recommenders\":[{\"name\":\"other\"}]," spec "}}")
#define TO_WEB "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}"
#define TO_OTHER                                                                                   \
    "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"db\"}"
#define SELECTS(app) "\"selector\":{\"matchLabels\":{\"app\":\"" app "\"}}"

/* VPAs of another recommender beside "web", which was created at 10:00. */
static const struct {
    const char *vpa;
    const char *winner; /* over web, NULL: web has its pods */
} foreigners[] = {
    {OTHERS("older", "2026-01-15T09:00:00Z", TO_WEB), "older"},
    {OTHERS("younger", "2026-01-15T11:00:00Z", TO_WEB), NULL},
    {OTHERS("elsewhere", "2026-01-15T09:00:00Z", TO_OTHER), NULL},
    {OTHERS("older", "2026-01-15T09:00:00Z", SELECTS("web")), "older"},
    {OTHERS("younger", "2026-01-15T11:00:00Z", SELECTS("web")), NULL},
    {OTHERS("elsewhere", "2026-01-15T09:00:00Z", SELECTS("db")), NULL},
    {OTHERS_OF("mall", "older", "2026-01-15T09:00:00Z", SELECTS("web")), NULL},
    {OTHERS_OF("zoo", "older", "2026-01-15T09:00:00Z", SELECTS("web")), NULL},
};

static const char *conflict_of(const char *name)
{
    vpa_json_foreach (condition,
                      vpa_json_at(stored("VerticalPodAutoscaler", name), "status.conditions"))
        if (strcmp(fake_text_at(condition, "type"), "TargetConflict") == 0)
            return fake_text_at(condition, "message");
    return "";
}

TEST_EACH(tells_the_loser_of_a_conflict_with_another_recommender, foreigners) {
    const char *winner = foreigners[_i].winner;

    change(foreigners[_i].vpa);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    if (!winner) {
        ck_assert_str_eq(conflict_of("web"), "");
        return;
    }
    ck_assert_str_eq(conflict_of("web"), "Pods of this VPA are controlled by the older VPA older");
    /* Its own recommender writes the other one's status. */
    ck_assert_ptr_null(vpa_json_at(stored("VerticalPodAutoscaler", winner), "status"));
    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/"
           "v1\",\"kind\":\"VerticalPodAutoscaler\",\"namespace\":"
           "\"shop\",\"name\":\"older\"}}");
    pass(USAGE("100m", "100Mi"));
    ck_assert_str_eq(conflict_of("web"), "");
}

TEST(a_selector_of_ours_may_lose_to_a_target_of_others) {
    change(OTHERS("older", "2026-01-15T09:00:00Z", TO_WEB));
    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/"
           "v1\",\"kind\":\"VerticalPodAutoscaler\",\"namespace\":"
           "\"shop\",\"name\":\"web\"}}");
    change(APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"
                 "v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":"
                 "\"web\",\"namespace\":\"shop\",\"creationTimestamp\":\"2026-01-"
                 "15T10:00:00Z\"},"
                 "\"spec\":{" SELECTS("web") "}}"));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_str_eq(conflict_of("web"), "Pods of this VPA are controlled by the older VPA older");
}

TEST(serves_a_vpa_with_its_own_selector) {
    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/"
           "v1\",\"kind\":\"VerticalPodAutoscaler\",\"namespace\":"
           "\"shop\",\"name\":\"web\"}}");
    change(APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"
                 "v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":"
                 "\"web\",\"namespace\":\"shop\",\"generation\":1,\"creationTimestamp\":\"2026-01-"
                 "15T10:00:00Z\"},"
                 "\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}}"));
    start(NULL);
    pass(USAGE("2", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
}

/* ---- stopping ---- */

static const char *const slow_paths[] = {"metrics.k8s.io", "/status", "checkpoints", "/namespaces"};

static void on_stop(void *ctx)
{
    (void)ctx;
    vpa_loop_stop(loop);
}

/* SIGTERM in the middle of each wait of a pass: it ends soon, and nothing leaks or is called late.
 */
TEST_EACH(stops_in_the_middle_of_a_pass, slow_paths) {
    struct vpa_timer *timer = vpa_timer_new(loop, on_stop, NULL);

    start("--checkpoints-gc-interval=1s");
    vpa_loop_pump(loop, VPA_MINUTE);
    fake_cluster_set_step(
        server,
        json(vpa_arena_printf(
            &arena,
            "{\"latency\":[{\"method\":\"GET\",\"path\":\"%s\",\"ms\":20000},{\"method\":\"PATCH\","
            "\"path\":\"%s\",\"ms\":20000}]}",
            slow_paths[_i], slow_paths[_i])));
    vpa_timer_start(timer, VPA_SECOND);
    vpa_time begin = vpa_loop_now(loop);
    recommender_pass(recommender);
    ck_assert(vpa_time_sub(vpa_loop_now(loop), begin) <= 5 * VPA_SECOND);
    vpa_timer_free(timer);
    stop();
    vpa_loop_resume(loop);
    vpa_loop_pump(loop, VPA_MINUTE);
}

TEST(stops_while_it_starts) {
    struct vpa_timer *timer = vpa_timer_new(loop, on_stop, NULL);
    struct vpa_error err;

    fake_cluster_set_step(server,
                          json("{\"latency\":[{\"method\":\"GET\",\"path\":\"/\",\"ms\":20000}]}"));
    construct(NULL);
    vpa_timer_start(timer, VPA_SECOND);
    ck_assert_int_eq(recommender_start(recommender, &err), -1);
    vpa_timer_free(timer);
    stop();
    vpa_loop_resume(loop);
}

int main(void)
{
    return run_tests_within(60, "recommender_pass", setup, teardown);
}
