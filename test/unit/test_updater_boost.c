/*
 * The end of CPU startup boosts in passes of the updater.
 */
#include "updater_fixture.h"

/* ---- boosts ---- */

#define BOOST "\"startupBoost\":{\"cpu\":{\"durationSeconds\":60}},"
#define MARKER(cpu)                                                                                \
    "\"annotations\":{\"vpaCpuStartupBoost/c\":\"{\\\"requests\\\":{\\\"cpu\\\":\\\"" cpu          \
    "\\\"}}\"},"

TEST(a_boost_that_is_over_is_taken_back_in_mode_off) {
    server.mode = "Off";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
    ck_assert_uint_eq(server.annotated, 5);
}

TEST(a_failed_unboost_never_evicts) {
    server.mode = "InPlaceOrRecreate";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.refuse = 1;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 10); /* all are tried, the budget comes back */
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert(vpa_str_ends_with(server.calls[i], "/resize"));
    ck_assert_double_eq(metric("vpa_updater_failed_in_place_update_attempts_total",
                               (const char *const[]){"3", "UnboostError", "v00", "n", NULL}),
                        10);
}

#define CAPACITY                                                                                   \
    ",\"reason\":\"Forbidden\",\"details\":{\"causes\":[{\"reason\":\"NodeCapacity\"}]}"

/* Kubernetes 1.33 refuses a recommendation that lowers a memory limit: the boost ends without it,
 * and after an hour all of it is asked for again. Not so where somebody may not resize, or not
 * now. */
TEST_TIMES(a_refused_end_of_a_boost_asks_for_its_cpu_alone, 11) {
    static const struct {
        int code;
        const char *details;
        bool less;
    } answers[] = {
        {422, "", true},  {400, "", true},  {403, CAPACITY, true}, {403, "", false},
        {401, "", false}, {404, "", false}, {408, "", false},      {409, "", false},
        {429, "", false}, {500, "", false}, {503, "", false},
    };
    vpa_auto_free char *refusal =
        vpa_xprintf("{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":%d,\"message\":\"no\"%s}",
                    answers[_i].code, answers[_i].details);

    server.mode = "InPlaceOrRecreate";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.pods_per_vpa = 2;
    server.resize_refusal = refusal;
    server.refusal_code = answers[_i].code;
    start(0);
    updater_pass(server.updater);
    ck_assert_ptr_nonnull(strstr(server.last_body, "\"value\":\"2\""));
    vpa_loop_pump(server.loop, VPA_MINUTE);
    updater_pass(server.updater);
    ck_assert_ptr_nonnull(
        strstr(server.last_body, answers[_i].less ? "\"value\":\"500m\"" : "\"value\":\"2\""));
    if (!answers[_i].less)
        return;
    server.refusal_code = 503; /* says nothing of it */
    for (int minutes = 0; minutes < 58; minutes++)
        vpa_loop_pump(server.loop, VPA_MINUTE);
    updater_pass(server.updater);
    ck_assert_ptr_nonnull(strstr(server.last_body, "\"value\":\"500m\""));
    vpa_loop_pump(server.loop, 5 * VPA_MINUTE);
    updater_pass(server.updater);
    ck_assert_ptr_nonnull(strstr(server.last_body, "\"value\":\"2\""));
}

TEST(a_half_finished_unboost_is_finished) {
    server.mode = "Off";
    server.boost = BOOST;
    server.pod = MARKER("1"); /* what the pod has already: only the marker is left */
    start(0);
    updater_pass(server.updater);
    updater_flush(server.updater, VPA_MINUTE);
    ck_assert_uint_eq(server.call_count, 0);
    ck_assert_uint_eq(server.annotated, 10);
    ck_assert_uint_eq(server.events, 0);
    ck_assert_double_eq(metric("vpa_updater_in_place_updated_pods_total",
                               (const char *const[]){"3", "v00", "n", NULL}),
                        0);
}

/* What is evictable is known when the resizes that end boosts are answered: the refused one gives
 * its share of the budget back. */
TEST(ends_of_boosts_are_answered_before_pods_are_chosen) {
    vpa_auto_free char *calls = NULL;

    server.boost = BOOST;
    server.first_pod = MARKER("500m");
    server.pods_per_vpa = 2;
    server.refuse = 1;
    start(0);
    updater_pass(server.updater);
    calls = joined_calls();
    ck_assert_str_eq(calls, "p00-00/resize p00-01/eviction ");
}

static void replace_third(void *ctx)
{
    (void)ctx;
    replace_pod("p00-02/");
}

/* One resize a second; the third pod is another one before its turn comes, and takes no token. */
TEST(a_pod_that_went_is_not_unboosted) {
    struct vpa_timer *timer = vpa_timer_new(server.loop, replace_third, NULL);
    vpa_auto_free char *calls = NULL;
    int64_t begun;

    server.mode = "Off";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.pods_per_vpa = 4;
    server.config.eviction_tolerance = 1;
    server.config.eviction_rate_limit = 1;
    start(1);
    vpa_timer_start(timer, 500 * VPA_MILLISECOND);
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    vpa_timer_free(timer);
    calls = joined_calls();
    ck_assert_str_eq(calls, "p00-00/resize p00-01/resize p00-03/resize ");
    ck_assert_int_lt(vpa_loop_monotonic(server.loop) - begun, 2500 * VPA_MILLISECOND);
}

static void lose_from(int first)
{
    for (int p = first; p < 10; p++) {
        vpa_auto_free char *name = vpa_xprintf("p00-%02d", p);

        hide_object("v1", "Pod", "n", name);
    }
}

static void lose_three(void *ctx)
{
    (void)ctx;
    lose_from(7);
}

static void lose_five(void *ctx)
{
    (void)ctx;
    lose_from(5);
}

#define CPU_RESTARTS                                                                               \
    "\"resizePolicy\":[{\"resourceName\":\"cpu\",\"restartPolicy\":\"RestartContainer\"}],"

/* The containers restart at the end of their boosts or not. */
static const struct {
    const char *name, *container;
    size_t waited, answered;
} short_groups[] = {
    {"restarts", CPU_RESTARTS, 1, 2},
    {"runs on", "", 5, 7},
};

/* An end that restarts a container asks for the budget again when it has waited for the limiter. */
TEST_EACH(the_end_of_a_boost_that_waited_asks_for_the_budget_again, short_groups) {
    struct vpa_timer *timer = vpa_timer_new(server.loop, lose_five, NULL);

    server.mode = "Off";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.container = short_groups[_i].container;
    server.config.in_place_skip_budget = true;
    server.config.eviction_rate_limit = 1;
    start(1);
    vpa_timer_start(timer, 500 * VPA_MILLISECOND);
    updater_pass(server.updater);
    vpa_timer_free(timer);
    ck_assert_uint_eq(server.call_count, short_groups[_i].waited);
}

/* Five of ten may be missing: three went by themselves while the first answer was awaited. */
TEST_EACH(pods_that_went_leave_less_room_for_ends_that_restart, short_groups) {
    struct vpa_timer *timer = vpa_timer_new(server.loop, lose_three, NULL);

    server.mode = "Off";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.container = short_groups[_i].container;
    start(1);
    vpa_timer_start(timer, server.delay / 2);
    updater_pass(server.updater);
    vpa_timer_free(timer);
    ck_assert_uint_eq(server.call_count, short_groups[_i].answered);
}

/* The third replica may find no room because of the boosts: they end without it (U46). */
TEST_EACH(boosts_end_while_a_replica_is_missing, short_groups) {
    bool restarts = *short_groups[_i].container;

    server.mode = "Off";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.container = short_groups[_i].container;
    server.pods_per_vpa = 2;
    server.replicas = 3;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, restarts ? 0 : 2);
    ck_assert_double_eq(metric("vpa_updater_failed_in_place_update_attempts_total",
                               (const char *const[]){"1", "UnboostError", "v00", "n", NULL}),
                        0);
}

/* The first four of nine may restart, beside the one that is missing. They are refused, which makes
 * room for the others. */
TEST(ends_that_restart_wait_for_answers_under_way) {
    server.mode = "Off";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.container = CPU_RESTARTS;
    server.pods_per_vpa = 9;
    server.replicas = 10;
    server.refuse = 1;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 9);
}

static double unboost_errors(const char *size)
{
    return metric("vpa_updater_failed_in_place_update_attempts_total",
                  (const char *const[]){size, "UnboostError", "v00", "n", NULL});
}

#define REFUSAL "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":422,\"message\":\"no\"}"

/* U48: once all of it, then the cpu of its marker alone; the VPA is told of both. In other modes
 * each pass tries again, and nobody is told. */
TEST_TIMES(a_refused_end_of_a_boost_rests_in_mode_in_place, 2) {
    server.mode = _i == 0 ? "InPlace" : "Off";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.pods_per_vpa = 2;
    server.resize_refusal = REFUSAL;
    server.refusal_code = 422;
    start(0);
    for (int i = 0; i < 10; i++) {
        updater_pass(server.updater);
        vpa_loop_pump(server.loop, VPA_MINUTE);
    }
    updater_flush(server.updater, VPA_MINUTE);
    ck_assert_uint_eq(server.call_count, _i == 0 ? 4 : 20);
    ck_assert_uint_eq(server.events, _i == 0 ? 4 : 0);
}

/* It has no resizes, which is found out with the first one. */
TEST(an_old_server_leaves_boosted_pods_as_they_are) {
    server.mode = "InPlaceOrRecreate";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.old = true;
    start(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(unboost_errors("3"), 10);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(unboost_errors("3"), 20);
}

/* Nobody knows what the pod had before: it keeps what it has, and is not evicted for that. */
TEST(a_marker_that_cannot_be_read_ends_no_boost) {
    server.mode = "InPlaceOrRecreate";
    server.boost = BOOST;
    server.pod = "\"annotations\":{\"vpaCpuStartupBoost/c\":\"{\"},";
    server.pods_per_vpa = 2;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count + server.annotated, 0);
    ck_assert_double_eq(unboost_errors("1"), 2);
}

/* The pod cannot take the 2 CPUs that are recommended: of all its containers, or beside its limit.
 */
static const struct {
    const char *of_pod, *limits, *policy, *request, *marker;
} misfits[] = {
    {"\"resources\":{\"requests\":{\"cpu\":\"1\"}},", "", "", "1", MARKER("500m")},
    {"",
     "{\"metadata\":{\"name\":\"l\",\"namespace\":\"n\"},\"spec\":{\"limits\":[{"
     "\"type\":\"Container\",\"maxLimitRequestRatio\":{\"cpu\":\"3\"}}]}}",
     "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\","
     "\"controlledValues\":\"RequestsOnly\"}]},",
     "6\"},\"limits\":{\"cpu\":\"8", MARKER("3")},
};

TEST_EACH(a_boost_is_taken_back_where_the_recommendation_does_not_fit, misfits) {
    vpa_auto_free char *boost = vpa_xprintf("%s%s", BOOST, misfits[_i].policy);

    server.boost = boost;
    server.spec = misfits[_i].of_pod;
    server.limits = misfits[_i].limits;
    server.request = misfits[_i].request;
    server.pod = misfits[_i].marker;
    server.pods_per_vpa = 2;
    server.config.eviction_tolerance = 1;
    start(0);
    updater_pass(server.updater);
    ck_assert_double_eq(unboost_errors("1"), 0);
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
    ck_assert_ptr_nonnull(strstr(server.last_body, _i == 0 ? "\"500m\"" : "\"3\""));
    ck_assert_uint_eq(server.annotated, 2);
}

static void show_recommended(const char *containers)
{
    vpa_auto_free char *text = vpa_text(0);
    char *from = strstr(text, "[{\"containerName\""), *to = strchr(from, ']');
    vpa_auto_free char *vpa = vpa_xprintf("%.*s[%s%s", (int)(from - text), text, containers, to);

    show_object(VPA_API, VPA_KIND, vpa);
    settle();
}

static size_t times_told(const char *what)
{
    size_t count = 0;

    updater_flush(server.updater, VPA_MINUTE);
    for (const char *at = vpa_buf_text(&server.event_bodies); (at = strstr(at, what)); at++)
        count++;
    return count;
}

#define OF_C(target) "{\"containerName\":\"c\",\"target\":{" target "}}"
#define NO_CPU                                                                                     \
    "\"annotations\":{\"vpaCpuStartupBoost/c\":\"{\\\"requests\\\":{%s},\\\"limits\\\":{}}\"},"

#define ITS_MEMORY "\\\"memory\\\":\\\"64Mi\\\""

/* The containers had no cpu request before. wanted: in the resize, NULL: there is none. */
static const struct {
    const char *name, *mode, *recommended, *memory, *wanted;
    bool stays;
} without_request[] = {
    {"nothing recommended", "Recreate", "", ITS_MEMORY, NULL, true},
    {"nothing to resize", "Off", "", "", NULL, true},
    {"nothing at all to go by", "Initial", "", "", NULL, true},
    {"memory alone", "InPlaceOrRecreate", OF_C("\"memory\":\"128Mi\""), ITS_MEMORY, "\"128Mi\"",
     true},
    {"less in mode Off", "Off", OF_C("\"cpu\":\"300m\""), "", "\"300m\"", false},
    {"less in mode Initial", "Initial", OF_C("\"cpu\":\"300m\""), "", "\"300m\"", false},
    {"less in mode Recreate", "Recreate", OF_C("\"cpu\":\"300m\""), "", "\"300m\"", false},
    {"more in mode Off", "Off", OF_C("\"cpu\":\"3\""), "", NULL, false},
};

/* No resize takes a request away (U52). */
TEST_EACH(a_boost_without_a_request_before_it_goes_down_or_is_told_of, without_request) {
    vpa_auto_free char *marker = vpa_xprintf(NO_CPU, without_request[_i].memory);
    const char *wanted = without_request[_i].wanted;

    server.mode = without_request[_i].mode;
    server.boost = BOOST;
    server.request = *without_request[_i].memory ? "2\",\"memory\":\"64Mi" : "2";
    server.pod = marker;
    server.pods_per_vpa = 2;
    server.config.eviction_tolerance = 1;
    start(0);
    show_object("v1", "Node",
                "{\"metadata\":{\"name\":\"node\"},\"status\":{\"allocatable\":{\"cpu\":\"400\","
                "\"memory\":\"400Gi\"}}}");
    show_recommended(without_request[_i].recommended);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, wanted ? 2 : 0);
    ck_assert(!wanted || strstr(server.last_body, wanted));
    ck_assert_uint_eq(server.annotated, 2);
    ck_assert_ptr_nonnull(strstr(server.last_annotation, "vpaCpuStartupBoost~1c"));
    ck_assert_double_eq(unboost_errors("1"), 0);
    ck_assert_uint_eq(times_told("StartupBoostStays"), without_request[_i].stays ? 2 : 0);
}

/* Refused, the marker is still there, and says it again. */
TEST(a_boost_that_stays_is_told_of_when_its_marker_is_gone) {
    vpa_auto_free char *marker = vpa_xprintf(NO_CPU, "");

    server.mode = "Off";
    server.boost = BOOST;
    server.pod = marker;
    server.pods_per_vpa = 2;
    server.annotation_code = 500;
    start(0);
    show_recommended("");
    updater_pass(server.updater);
    ck_assert_uint_eq(times_told("StartupBoostStays"), 0);
    server.annotation_code = 0;
    updater_pass(server.updater);
    ck_assert_uint_eq(times_told("StartupBoostStays"), 2);
    server.pod = "";
    show_pod(0, 0);
    show_pod(0, 1);
    settle();
    updater_pass(server.updater);
    ck_assert_uint_eq(times_told("StartupBoostStays"), 2);
    ck_assert_double_eq(unboost_errors("1"), 0);
}

/* The limiter counts resizes. */
TEST(a_marker_that_is_taken_away_waits_for_no_token) {
    server.mode = "Off";
    server.boost = BOOST;
    server.pod = MARKER("1");
    server.config.eviction_rate_limit = 0.001;
    start(0);
    int64_t begin = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_int_lt(vpa_loop_monotonic(server.loop) - begin, VPA_MINUTE);
    ck_assert_uint_eq(server.annotated, 10);
}

#define TWO_MARKERS                                                                                \
    "\"annotations\":{\"vpaCpuStartupBoost/c\":\"{\\\"requests\\\":{\\\"cpu\\\":\\\"500m\\\"}}\"," \
    "\"vpaCpuStartupBoost/x\":\"{}\"},"

/* Who waits for the limiter sends what is right by then: the second pod's other boost has ended. */
TEST(a_patch_is_made_anew_after_waiting) {
    server.mode = "Off";
    server.boost = BOOST "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"x\","
                         "\"startupBoost\":{\"cpu\":{\"durationSeconds\":3605}}}]},";
    server.pod = TWO_MARKERS;
    server.pods_per_vpa = 2;
    server.config.eviction_rate_limit = 0.1;
    server.config.eviction_tolerance = 1;
    start(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.annotated, 2);
    ck_assert_ptr_nonnull(strstr(server.last_annotation, "vpaCpuStartupBoost~1c"));
    ck_assert_ptr_nonnull(strstr(server.last_annotation, "vpaCpuStartupBoost~1x"));
}

#define GIVEN(cpu)                                                                                 \
    "],\"containerStatuses\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"" cpu "\"}}}"

#define KEPT_WAITING(reason)                                                                       \
    ",{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"" reason "\"}"

/* By what its end leaves: with the resize, or with the marker alone, whose answer may be lost. */
static const struct {
    const char *request, *marker;
    bool unanswered;
    size_t resizes;
} ends[] = {
    {"1", MARKER("500m"), false, 2},
    {"2", MARKER("2"), false, 0},
    {"2", MARKER("2"), true, 0},
};

/* The kubelet has not carried it out yet: the pod is not evicted, as far as it is from what it
 * should have (S5). Afterwards it is. */
TEST_EACH(an_end_that_was_sent_is_waited_for, ends) {
    server.boost = BOOST;
    server.request = ends[_i].request;
    server.pod = ends[_i].marker;
    server.unanswered = ends[_i].unanswered;
    server.pods_per_vpa = 2;
    server.config.eviction_tolerance = 1;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, ends[_i].resizes);
    ck_assert_uint_eq(server.annotated, 2);
    server.unanswered = false;
    server.pod = "";
    server.request = "500m";
    server.status = GIVEN("1");
    show_pod(0, 0);
    show_pod(0, 1);
    settle();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, ends[_i].resizes);
    server.status = GIVEN("500m");
    show_pod(0, 0);
    show_pod(0, 1);
    settle();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, ends[_i].resizes + 2);
}

static void show_both(const char *request, const char *status)
{
    server.pod = "";
    server.request = request;
    server.status = status;
    show_pod(0, 0);
    show_pod(0, 1);
    settle();
}

static void show_pod_with(int v, int p, const char *request, const char *more)
{
    const char *usual = server.request, *status = server.status;

    server.request = request;
    server.status = more;
    show_pod(v, p);
    server.request = usual;
    server.status = status;
    settle();
}

static void on_panic_timer(void *ctx)
{
    (void)ctx;
    show_panic();
}

/* So it is when a panic comes, and nobody waits for the answer to the marker any more. */
TEST_TIMES(an_end_whose_answer_was_not_waited_for_is_not_forgotten, 2) {
    struct vpa_timer *timer = vpa_timer_new(server.loop, on_panic_timer, NULL);

    server.boost = BOOST;
    server.request = ends[_i].request;
    server.pod = ends[_i].marker;
    server.pods_per_vpa = 2;
    server.annotation_delay = 10 * VPA_SECOND;
    server.config.eviction_tolerance = 1;
    start(0);
    vpa_timer_start(timer, VPA_SECOND);
    updater_pass(server.updater);
    vpa_timer_free(timer);
    ck_assert_uint_eq(server.annotated, 2);
    hide_panic();
    show_both("500m", GIVEN("1"));
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, ends[_i].resizes);
    show_both("500m", GIVEN("500m"));
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, ends[_i].resizes + 2);
}

/* The last resize counts: a pod that was resized since its boost ended is evicted when its node
 * cannot hold it. */
TEST(a_resize_behind_the_end_of_a_boost_is_an_ordinary_one) {
    vpa_auto_free char *calls = NULL;

    server.mode = "InPlaceOrRecreate";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.pods_per_vpa = 2;
    server.config.eviction_tolerance = 1;
    start(1);
    updater_pass(server.updater);
    show_both("1", GIVEN("1"));
    updater_pass(server.updater);
    show_both("2", KEPT_WAITING("Infeasible") GIVEN("1"));
    server.config.lifetime_threshold = 0;
    updater_pass(server.updater);
    calls = joined_calls();
    ck_assert_str_eq(calls, "p00-00/resize p00-01/resize p00-00/resize p00-01/resize "
                            "p00-00/eviction p00-01/eviction ");
}

/* A resize in front of the end does not make it: a node that holds neither keeps its pod (S5). Once
 * it has been carried out, what is sent next is an ordinary one. */
TEST(an_end_is_waited_for_behind_other_resizes) {
    vpa_auto_free char *calls = NULL;

    server.mode = "InPlaceOrRecreate";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.pods_per_vpa = 2;
    server.config.eviction_tolerance = 1;
    server.config.lifetime_threshold = 0;
    start(1);
    updater_pass(server.updater);
    show_both("1", KEPT_WAITING("Deferred") GIVEN("3"));
    updater_pass(server.updater);
    show_both("2", KEPT_WAITING("Infeasible") GIVEN("3"));
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 4);
    show_both("1", GIVEN("1"));
    updater_pass(server.updater);
    show_both("2", KEPT_WAITING("Infeasible") GIVEN("1"));
    updater_pass(server.updater);
    calls = joined_calls();
    ck_assert_str_eq(calls, "p00-00/resize p00-01/resize p00-00/resize p00-01/resize "
                            "p00-00/resize p00-01/resize p00-00/eviction p00-01/eviction ");
}

static void carry_out(void *ctx)
{
    (void)ctx;
    show_pod_with(0, 1, "1", GIVEN("1"));
}

/* It may be carried out while a pass waits to send the next resize, which then is an ordinary one.
 * The end of the other pod is still waited for. */
TEST(an_end_that_is_carried_out_during_a_pass_is_over) {
    struct vpa_timer *timer = vpa_timer_new(server.loop, carry_out, NULL);
    vpa_auto_free char *calls = NULL;

    server.mode = "InPlaceOrRecreate";
    server.boost = BOOST;
    server.pod = MARKER("500m");
    server.pods_per_vpa = 2;
    server.config.eviction_tolerance = 1;
    server.config.lifetime_threshold = 0;
    server.config.eviction_rate_limit = 1;
    start(1);
    updater_pass(server.updater);
    show_both("1", KEPT_WAITING("Deferred") GIVEN("3"));
    vpa_loop_pump(server.loop, VPA_SECOND);
    vpa_timer_start(timer, 500 * VPA_MILLISECOND);
    updater_pass(server.updater);
    vpa_timer_free(timer);
    ck_assert_uint_eq(server.call_count, 4);
    show_pod_with(0, 0, "2", KEPT_WAITING("Infeasible") GIVEN("3"));
    show_pod_with(0, 1, "2", KEPT_WAITING("Infeasible") GIVEN("1"));
    updater_pass(server.updater);
    calls = joined_calls();
    ck_assert_str_eq(calls, "p00-00/resize p00-01/resize p00-00/resize p00-01/resize "
                            "p00-01/eviction ");
}

/* What is waited for is that a boost is given back: a resize that leaves no container with more cpu
 * than it asks for is an ordinary one, also where the end is only presumed, after a restart. */
static const struct {
    const char *name, *marker, *status, *calls;
} upsizes[] = {
    {"above what a boosted pod has", MARKER("500m"), "",
     "p00-00/resize p00-01/resize p00-00/resize p00-01/resize p00-00/eviction p00-01/eviction "},
    {"after a restart", "", KEPT_WAITING("Infeasible") GIVEN("1500m"),
     "p00-00/resize p00-01/resize p00-00/eviction p00-01/eviction "},
};

TEST_EACH(a_resize_that_leaves_no_boost_is_an_ordinary_one, upsizes) {
    vpa_auto_free char *calls = NULL;

    server.mode = "InPlaceOrRecreate";
    server.boost = BOOST;
    server.pod = upsizes[_i].marker;
    server.status = upsizes[_i].status;
    server.pods_per_vpa = 2;
    server.config.eviction_tolerance = 1;
    server.config.lifetime_threshold = 0;
    start(1);
    updater_pass(server.updater);
    if (*server.pod) {
        show_both("1", KEPT_WAITING("Deferred") GIVEN("1500m"));
        updater_pass(server.updater);
    }
    show_both("2", KEPT_WAITING("Infeasible") GIVEN("1500m"));
    updater_pass(server.updater);
    calls = joined_calls();
    ck_assert_msg(strcmp(calls, upsizes[_i].calls) == 0, "%s: %s", upsizes[_i].name, calls);
}

/* ---- boosts whose VPA boosts no more ---- */

static void change_vpa(void)
{
    show_vpas();
    settle();
}

/* As updater.md 15.5 has it; docs/guide/startup-boost.md tells how to end them. */
TEST_TIMES(a_boost_taken_out_of_an_idle_vpa_stays, 2) {
    static const char *const idle[] = {"Off", "Initial"};

    server.mode = idle[_i];
    server.boost = "\"startupBoost\":{\"cpu\":{\"durationSeconds\":36000}},";
    server.pod = MARKER("500m");
    start(0);
    server.boost = "";
    change_vpa();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count + server.annotated, 0);
}

TEST(a_boost_whose_duration_is_set_to_nothing_is_taken_back) {
    server.mode = "Off";
    server.boost = "\"startupBoost\":{\"cpu\":{\"durationSeconds\":36000}},";
    server.pod = MARKER("500m");
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
    server.boost = "\"startupBoost\":{\"cpu\":{\"durationSeconds\":0}},";
    change_vpa();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}

/* ---- after a restart ---- */

/* The kubelet still gives more than is asked for, and no marker is there: an earlier process has
 * ended the boost. In doubt none of the pods is evicted (S5). */
static const struct {
    const char *boost, *status, *pod;
    size_t evictions;
} restarts[] = {
    {BOOST, GIVEN("1200m"), "", 0},
    {BOOST, GIVEN("1"), "", 5},
    {"", GIVEN("1200m"), "", 5},
};

TEST_EACH(an_end_that_is_not_carried_out_yet_is_known_after_a_restart, restarts) {
    server.boost = restarts[_i].boost;
    server.status = restarts[_i].status;
    server.pod = restarts[_i].pod;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, restarts[_i].evictions);
}

/* Also of a VPA whose target was not there in the first pass, or that is another one since, whether
 * or not a pass has seen it gone. */
TEST_TIMES(an_end_is_known_when_its_vpa_is_first_seen, 3) {
    server.boost = BOOST;
    server.vpas = 2;
    server.pods_per_vpa = 4;
    start(0);
    if (_i == 0)
        hide_object("apps/v1", "ReplicaSet", "n", "rs01");
    else if (_i == 1)
        hide_vpa("v01");
    for (int p = 0; _i == 2 && p < server.pods_per_vpa; p++)
        show_pod_with(1, p, "2", ""); /* as the VPA wants it */
    settle();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
    server.status = GIVEN("1200m");
    for (int p = 0; p < server.pods_per_vpa; p++)
        show_pod(1, p);
    show_object("apps/v1", "ReplicaSet",
                "{\"metadata\":{\"name\":\"rs01\",\"namespace\":\"n\"},\"spec\":{\"replicas\":4,"
                "\"selector\":{\"matchLabels\":{\"app\":\"a1\"}}}}");
    if (_i > 0)
        server.uid_of_vpas = "w";
    if (_i == 2)
        hide_vpa("v01");
    show_vpas();
    settle();
    for (int pass = 0; pass < 2; pass++)
        updater_pass(server.updater);
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert_ptr_null(strstr(server.calls[i], "p01-"));
}

/* The limiter ends the first pass, and all that follow. What this process resized itself in the
 * first is an ordinary pod, which is evicted when its node cannot hold it. */
TEST(a_pass_that_was_cut_short_is_no_restart) {
    server.mode = "InPlaceOrRecreate";
    server.boost = BOOST;
    server.vpas = 2;
    server.pods_per_vpa = 2;
    server.request = "5";
    server.config.lifetime_threshold = 0;
    server.config.eviction_rate_limit = 0.001;
    start(1);
    show_pod_with(0, 1, "2", "");
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
    show_pod_with(0, 0, "2", KEPT_WAITING("Infeasible") GIVEN("5"));
    vpa_loop_pump(server.loop, 1000 * VPA_SECOND);
    updater_pass(server.updater); /* the one that was cut off begins */
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 3);
    ck_assert_str_eq(server.calls[1], "p01-00/resize");
    ck_assert_str_eq(server.calls[2], "p00-00/eviction");
}

/* Gates on by default change nothing for VPAs that do not use them (D1). */
TEST(gates_change_nothing_for_vpas_without_boost) {
    char *with, *without;

    ck_assert(server.config.common.gates.cpu_startup_boost && server.config.common.gates.in_place &&
              server.config.common.gates.per_vpa_config);
    start(1);
    updater_pass(server.updater);
    with = joined_calls();
    teardown();

    setup();
    server.config.common.gates = (struct vpa_gates){0};
    start(1);
    updater_pass(server.updater);
    without = joined_calls();
    ck_assert_str_ne(with, "");
    ck_assert_str_eq(with, without);
    free(with);
    free(without);
}

int main(void)
{
    return run_tests("updater_boost", setup, teardown);
}
