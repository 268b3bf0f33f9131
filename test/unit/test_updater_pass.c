/*
 * Passes of the updater with several requests in flight, and what they must not change; resizes
 * with servers old and new; the ticker.
 */
#include "updater_fixture.h"
#include "captured_log.h"

/* ---- a clock that is ahead ---- */

/* Pods are of the age that the API server's clock tells, which dates them: by ours they were old in
 * the moment in which they start, again and again. */
TEST(a_clock_that_is_ahead_makes_no_pod_old) {
    server.request = "1700m"; /* within the bounds: for pods that are twelve hours old */
    start(0);
    vpa_clock_set(server.clock, 24 * VPA_HOUR);
    vpa_memory_transport_set_ahead(server.transport, 24 * VPA_HOUR);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
    vpa_loop_pump(server.loop, 13 * VPA_HOUR);
    vpa_memory_transport_set_ahead(server.transport, 24 * VPA_HOUR);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}

/* ---- several requests in flight ---- */

TEST(requests_overlap_within_the_budget) {
    int64_t begun;

    start(0);
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5); /* half of ten */
    ck_assert_uint_eq(server.most_open, 5);
    ck_assert_int_eq(vpa_loop_monotonic(server.loop) - begun, 10 * VPA_MILLISECOND);
    updater_flush(server.updater, VPA_MINUTE);
}

TEST(one_at_a_time_when_asked) {
    start(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_uint_eq(server.most_open, 1);
}

TEST(refusals_give_the_budget_back) {
    server.refuse = 2; /* the 2nd, 4th, ... */
    start(0);
    updater_pass(server.updater);
    /* Ten pods are tried one after the other until five are gone: the ninth attempt is the fifth
     * one. */
    ck_assert_uint_eq(server.call_count, 9);
    for (size_t i = 0; i < server.call_count; i++) {
        vpa_auto_free char *want = vpa_xprintf("p00-%02zu/eviction", i);

        ck_assert_str_eq(server.calls[i], want);
    }
}

/* The calls of one VPA, joined. */
static char *calls_of(int vpa)
{
    vpa_auto_free char *prefix = vpa_xprintf("p%02d-", vpa);
    struct vpa_buf buf;

    vpa_buf_init(&buf, TEXT_MAX);
    for (size_t i = 0; i < server.call_count; i++) {
        if (vpa_str_starts_with(server.calls[i], prefix))
            vpa_buf_printf(&buf, "%s ", server.calls[i]);
    }
    vpa_buf_puts(&buf, "");
    return vpa_buf_take(&buf);
}

static const struct {
    const char *mode;
    bool old;
} orders[] = {{"Recreate", false}, {"InPlaceOrRecreate", false}, {"InPlaceOrRecreate", true}};

/* With every request answered alike, how many are in flight changes nothing within a VPA. */
TEST_EACH(the_order_within_a_vpa_is_sequential, orders) {
    char *sequential[6];

    server.vpas = 6;
    server.mode = orders[_i].mode;
    server.old = orders[_i].old;
    start(1);
    updater_pass(server.updater);
    for (int v = 0; v < 6; v++)
        sequential[v] = calls_of(v);
    teardown();

    setup();
    server.vpas = 6;
    server.mode = orders[_i].mode;
    server.old = orders[_i].old;
    start(7);
    updater_pass(server.updater);
    ck_assert_uint_le(server.most_open, 7);
    ck_assert_uint_gt(server.most_open, 1);
    for (int v = 0; v < 6; v++) {
        char *got = calls_of(v);

        /* An old server is recognised by the first answer: those under way meanwhile are more. */
        if (!server.old)
            ck_assert_str_eq(got, sequential[v]);
        free(got);
        free(sequential[v]);
    }
}

/* ---- resizes ---- */

TEST(resizes_take_two_requests) {
    server.mode = "InPlaceOrRecreate";
    start(0);
    updater_pass(server.updater);
    updater_flush(server.updater, VPA_MINUTE);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_uint_eq(server.annotated, 5);
    ck_assert_uint_eq(server.events, 10); /* on the pod and on its VPA (U28) */
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
}

/* Its annotations tell how it came to its size; without them it was resized all the same. */
TEST(a_resize_without_its_annotations_has_succeeded) {
    capture_log(0);
    server.mode = "InPlaceOrRecreate";
    server.annotation_code = 500;
    start(0);
    updater_pass(server.updater);
    updater_flush(server.updater, VPA_MINUTE);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_uint_eq(server.events, 10);
    ck_assert_uint_ge(logged("Failed to patch the annotations of a resized pod"), 1);
    ck_assert_double_eq(metric("vpa_updater_in_place_updated_pods_total",
                               (const char *const[]){"3", "v00", "n", NULL}),
                        5);
    ck_assert_double_eq(metric("vpa_updater_failed_in_place_update_attempts_total",
                               (const char *const[]){"3", "InPlaceUpdateError", "v00", "n", NULL}),
                        0);
}

static void annotate(void *ctx)
{
    (void)ctx;
    server.first_pod = "\"annotations\":{\"net\":\"10.0.0.1\"},";
    show_pod(0, 0);
}

static const char *annotation_of(struct vpa_arena *arena, const char *pod, const char *key)
{
    const struct vpa_json *object = sim_cluster_find(server.sim, arena, "v1", "Pod", "n", pod);
    const struct vpa_json *all = object ? vpa_json_at(object, "metadata.annotations") : NULL;

    return all ? vpa_json_string(vpa_json_find(all, key)) : NULL;
}

/* A pod without annotations gets its first one from somebody else while it is resized, or before,
 * and the watch has not told of it. */
TEST_TIMES(annotations_that_came_meanwhile_stay, 2) {
    vpa_auto_arena arena = {0};
    struct vpa_timer *timer = vpa_timer_new(server.loop, annotate, NULL);

    server.mode = "InPlaceOrRecreate";
    server.frozen = _i ? "/pods" : NULL;
    start(0);
    if (_i)
        annotate(NULL);
    else
        vpa_timer_start(timer, server.delay / 2);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.annotated, 5);
    ck_assert_pstr_eq(annotation_of(&arena, "p00-00", "net"), "10.0.0.1");
    ck_assert_pstr_eq(annotation_of(&arena, "p00-00", "vpaInPlaceUpdated"), "true");
    ck_assert_pstr_eq(annotation_of(&arena, "p00-01", "vpaInPlaceUpdated"), "true");
    vpa_timer_free(timer);
}

/* ---- gauges ---- */

static const struct {
    const char *mode;
    bool one, refused; /* one pod is to be changed, or none; it is refused */
    double evictable, with_evictable, with_evicted, updatable, with_updatable, with_updated;
} gauges[] = {
    {"Recreate", true, false, 1, 1, 1, 0, 0, 0},  {"Recreate", true, true, 1, 1, 0, 0, 0, 0},
    {"Recreate", false, false, 0, 0, 0, 0, 0, 0}, {"InPlace", true, false, 0, 0, 0, 1, 1, 1},
    {"InPlace", true, true, 0, 0, 0, 1, 1, 0},    {"InPlace", false, false, 0, 0, 0, 0, 0, 0},
};

/* Of four pods. */
TEST_EACH(gauges_tell_of_the_pass, gauges) {
    const char *const labels[] = {"2", gauges[_i].mode};

    server.mode = gauges[_i].mode;
    server.pods_per_vpa = 4;
    server.request = "2";
    server.refuse = gauges[_i].refused;
    start(0);
    if (gauges[_i].one) {
        server.request = "1";
        show_pod(0, 2);
        settle();
    }
    updater_pass(server.updater);
#define CHECK(NAME, FIELD)                                                                         \
    ck_assert_double_eq(metric("vpa_updater_" NAME, labels), gauges[_i].FIELD)
    CHECK("evictable_pods_total", evictable);
    CHECK("vpas_with_evictable_pods_total", with_evictable);
    CHECK("vpas_with_evicted_pods_total", with_evicted);
    CHECK("in_place_updatable_pods_total", updatable);
    CHECK("vpas_with_in_place_updatable_pods_total", with_updatable);
    CHECK("vpas_with_in_place_updated_pods_total", with_updated);
#undef CHECK
    ck_assert_double_eq(metric("vpa_updater_controlled_pods_total", labels), 4);
}

/* ---- what is told ---- */

#define WHY "cpu request 1 -> 2: below the lower bound 1500m"
#define WHY_IN_JSON "cpu request 1 -\\u003e 2: below the lower bound 1500m"

static const struct {
    const char *mode;
    const char *pod_event, *vpa_event, *line;
} told[] = {
    {"Recreate",
     "\"message\":\"Pod was evicted by VPA Updater to apply resource recommendation.: " WHY_IN_JSON
     "\"",
     "\"message\":\"VPA Updater evicted Pod p00-00 to apply resource recommendation.: " WHY_IN_JSON
     "\"",
     "\"Evicted pod\" namespace=\"n\" pod=\"p00-00\" vpa=\"v00\" change=\"" WHY "\""},
    {"InPlaceOrRecreate",
     "\"message\":\"Pod was resized in place by VPA Updater.: " WHY_IN_JSON "\"",
     "\"message\":\"VPA Updater resized Pod p00-00 in place: " WHY_IN_JSON "\"",
     "\"Resized pod in place\" namespace=\"n\" pod=\"p00-00\" vpa=\"v00\" change=\"" WHY "\""},
};

/* U28: old and new values and the reason, in both events and in the log. */
TEST_EACH(a_change_is_told_with_its_values_and_its_reason, told) {
    const char *events;

    capture_log(0);
    server.mode = told[_i].mode;
    start(0);
    updater_pass(server.updater);
    updater_flush(server.updater, VPA_MINUTE);
    events = vpa_buf_text(&server.event_bodies);
    ck_assert_ptr_nonnull(strstr(events, told[_i].pod_event));
    ck_assert_ptr_nonnull(strstr(events, told[_i].vpa_event));
    ck_assert_uint_eq(logged(told[_i].line), 1);
}

TEST(a_refused_resize_becomes_an_eviction) {
    server.mode = "InPlaceOrRecreate";
    server.pods_per_vpa = 2;
    server.refuse = 1;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 4);
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
    ck_assert_str_eq(server.calls[1], "p00-01/resize");
    ck_assert_str_eq(server.calls[2], "p00-00/eviction");
    ck_assert_str_eq(server.calls[3], "p00-01/eviction");
}

TEST(an_old_server_is_asked_only_once) {
    server.mode = "InPlaceOrRecreate";
    server.old = true;
    start(1);
    updater_pass(server.updater);
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
    for (size_t i = 1; i < server.call_count; i++)
        ck_assert(vpa_str_ends_with(server.calls[i], "/eviction"));
    forget_calls();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert(vpa_str_ends_with(server.calls[i], "/eviction"));
}

/* Attempts that are known to fail take their token too, as upstream's do. */
TEST(an_old_server_takes_tokens) {
    int64_t begun;

    server.mode = "InPlace";
    server.old = true;
    server.pods_per_vpa = 4;
    server.config.eviction_rate_limit = 1;
    start(1);
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_int_eq((vpa_loop_monotonic(server.loop) - begun) / VPA_SECOND, 3);
}

TEST(an_old_server_leaves_mode_in_place_alone) {
    server.mode = "InPlace";
    server.old = true;
    start(1);
    updater_pass(server.updater);
    forget_calls();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
}

TEST(an_old_server_is_asked_again_after_a_while) {
    server.mode = "InPlaceOrRecreate";
    server.old = true;
    start(1);
    updater_pass(server.updater);
    forget_calls();
    vpa_loop_pump(server.loop, 11 * VPA_MINUTE);
    server.old = false; /* upgraded */
    updater_pass(server.updater);
    ck_assert_str_eq(server.calls[0], "p00-00/resize");
    ck_assert_uint_eq(server.call_count, 5);
}

/* The answer is believed for ten minutes, to the nanosecond. */
TEST(an_old_server_is_believed_for_ten_minutes) {
    server.mode = "InPlace";
    server.old = true;
    server.delay = 0;
    start(1);
    vpa_loop_pump(server.loop, VPA_HOUR);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    vpa_loop_pump(server.loop, 10 * VPA_MINUTE - 1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    vpa_loop_pump(server.loop, 1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
}

/* A server that has resizes says 404 of pods that went. */
TEST(a_pod_that_is_not_found_is_no_old_server) {
    server.mode = "InPlace";
    server.pods_per_vpa = 4;
    server.resize_refusal = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"NotFound\","
                            "\"message\":\"no\",\"code\":404}";
    server.refusal_code = 404;
    start(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 4);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 8);
}

/* ---- the limit ---- */

static size_t calls_of_vpa(int vpa)
{
    vpa_auto_free char *prefix = vpa_xprintf("p%02d-", vpa);
    size_t count = 0;

    for (size_t i = 0; i < server.call_count; i++)
        count += vpa_str_starts_with(server.calls[i], prefix);
    return count;
}

/* Passes a minute apart; a pass may wait for tokens as long. */
static void limited_passes(int count)
{
    for (int pass = 0; pass < count; pass++) {
        int64_t begun = vpa_loop_monotonic(server.loop);

        updater_pass(server.updater);
        int64_t rest = begun + VPA_MINUTE - vpa_loop_monotonic(server.loop);
        if (rest > 0)
            vpa_loop_pump(server.loop, rest);
    }
}

/* Tokens a second: six in a pass, one in every second pass. */
static const double limits[] = {0.1, 1.0 / 119};

#define TOO_MANY                                                                                   \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"TooManyRequests\",\"message\":"      \
    "\"no\",\"code\":429}"

/* The first VPA's evictions are refused in every pass, and take all tokens of it. */
TEST_EACH(a_vpa_that_the_limit_cut_off_lets_the_next_one_begin, limits) {
    server.vpas = 4;
    server.config.eviction_rate_limit = limits[_i];
    server.config.eviction_rate_burst = 1;
    server.refusal_code = 429;
    server.eviction_refusal = TOO_MANY;
    start(0);
    limited_passes(1);
    ck_assert(vpa_str_starts_with(server.calls[0], "p00-"));
    limited_passes(19);
    for (int vpa = 0; vpa < server.vpas; vpa++)
        ck_assert_uint_ge(calls_of_vpa(vpa), 2);
}

static void show_in_place(int v)
{
    const char *mode = server.mode;

    server.mode = "InPlace";
    vpa_auto_free char *text = vpa_text(v);
    server.mode = mode;
    show_object(VPA_API, VPA_KIND, text);
    settle();
}

/* Evictions and resizes have limiters of their own, with a token in every second pass each: those
 * of resizes are not lost while the VPA in turn waits for one to evict. */
TEST_TIMES(a_vpa_that_waits_for_a_token_lets_others_have_theirs, 4) {
    server.vpas = 4;
    server.config.eviction_rate_limit = limits[1];
    server.config.eviction_rate_burst = 1;
    server.refusal_code = 429;
    server.resize_refusal = server.eviction_refusal = TOO_MANY;
    start(0);
    show_in_place(_i);
    limited_passes(40);
    ck_assert_uint_ge(calls_of_vpa(_i), 18);
    for (int v = 0; v < server.vpas; v++)
        ck_assert_uint_ge(calls_of_vpa(v), 5);
}

/* Of the first VPA no pod may be resized: its group is too small. */
TEST(what_is_not_sent_for_want_of_replicas_takes_no_token) {
    server.vpas = 2;
    server.mode = "InPlace";
    server.config.eviction_rate_limit = limits[0];
    server.config.eviction_rate_burst = 1;
    server.policy = ",\"minReplicas\":99";
    start(0);
    server.policy = "";
    vpa_auto_free char *second = vpa_text(1);
    show_object(VPA_API, VPA_KIND, second);
    settle();
    limited_passes(1);
    ck_assert_uint_eq(calls_of_vpa(0), 0);
    ck_assert_uint_ge(calls_of_vpa(1), 6);
}

/* ---- preconditions (U23) ---- */

TEST(evictions_name_the_pod_that_was_decided_on) {
    start(1);
    updater_pass(server.updater);
    ck_assert_str_eq(server.last_body,
                     "{\"kind\":\"Eviction\",\"apiVersion\":\"policy/v1\",\"metadata\":{\"name\":"
                     "\"p00-04\",\"namespace\":\"n\"},\"deleteOptions\":{\"preconditions\":{"
                     "\"uid\":\"0-4\"}}}");
}

TEST(resizes_test_what_was_decided_on) {
    server.mode = "InPlaceOrRecreate";
    start(1);
    updater_pass(server.updater);
    ck_assert_str_eq(
        server.last_body,
        "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"0-4\"},{\"op\":\"test\","
        "\"path\":\"/spec/containers/0/resources/requests/cpu\",\"value\":\"1\"},{\"op\":\"add\","
        "\"path\":\"/spec/containers/0/resources/requests/cpu\",\"value\":\"2\"}]");
}

static const char *const stale_modes[] = {"Recreate", "InPlaceOrRecreate", "InPlace"};

/* A decision about a pod that has changed is dropped: no eviction instead, no event, no failure. */
TEST_EACH(what_does_not_fit_any_more_is_dropped, stale_modes) {
    server.mode = stale_modes[_i];
    server.pods_per_vpa = 4;
    server.stale = true;
    start(1);
    updater_pass(server.updater);
    updater_flush(server.updater, VPA_MINUTE);
    ck_assert_uint_eq(server.call_count, 4); /* the budget comes back */
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert(vpa_str_ends_with(server.calls[i], _i == 0 ? "/eviction" : "/resize"));
    ck_assert_uint_eq(server.events, 0);
    ck_assert_double_eq(
        metric("vpa_updater_failed_eviction_attempts_total",
               (const char *const[]){"2", stale_modes[_i], "EvictionError", "v00", "n", NULL}),
        0);
    ck_assert_double_eq(metric("vpa_updater_failed_in_place_update_attempts_total",
                               (const char *const[]){"2", "InPlaceUpdateError", "v00", "n", NULL}),
                        0);
}

/* ---- refused resizes ---- */

#define FORBIDDEN(MORE)                                                                            \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"message\":\"no\"" MORE \
    ",\"code\":403}"
#define NO_NODE                                                                                    \
    FORBIDDEN(",\"details\":{\"causes\":[{\"reason\":\"NodeCapacity\",\"message\":\"no\"}]}")
#define FAILURE(REASON, CODE)                                                                      \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" REASON                             \
    "\",\"message\":\"no\",\"code\":" #CODE "}",                                                   \
        CODE

/* A node that cannot hold it: not tried again with the same values, or evicted instead. "Not now"
 * is no refusal: it is tried again. */
static const struct {
    const char *mode, *refusal;
    int code;
    const char *reason;      /* of the failures that are counted */
    size_t resizes, evicted; /* of the first pass, of four pods */
    size_t again;            /* resizes of the second one */
    double skipped;          /* in it */
} refusals[] = {
    {"InPlace", NO_NODE, 403, "InPlaceUpdateInfeasible", 4, 0, 0, 4},
    {"InPlace", FORBIDDEN(""), 403, "InPlaceUpdateError", 4, 0, 4, 0},
    {"InPlaceOrRecreate", NO_NODE, 403, "InPlaceUpdateError", 4, 4, 0, 0},
    {"InPlaceOrRecreate", FORBIDDEN(""), 403, "InPlaceUpdateError", 4, 4, 0, 0},
    {"InPlaceOrRecreate", FAILURE("Invalid", 422), "InPlaceUpdateError", 4, 4, 0, 0},
    {"InPlaceOrRecreate", FAILURE("InternalError", 500), "InPlaceUpdateError", 4, 4, 0, 0},
    {"InPlaceOrRecreate", FAILURE("TooManyRequests", 429), "InPlaceUpdateError", 4, 0, 4, 0},
    {"InPlaceOrRecreate", FAILURE("Timeout", 408), "InPlaceUpdateError", 4, 0, 4, 0},
    {"InPlaceOrRecreate", FAILURE("Unauthorized", 401), "InPlaceUpdateError", 4, 0, 4, 0},
    {"InPlaceOrRecreate", FAILURE("ServiceUnavailable", 503), "InPlaceUpdateError", 4, 0, 4, 0},
};

static size_t calls_to(const char *end)
{
    size_t count = 0;

    for (size_t i = 0; i < server.call_count; i++)
        count += vpa_str_ends_with(server.calls[i], end);
    return count;
}

TEST_EACH(a_refused_resize_is_followed_by, refusals) {
    static const char *const reasons[] = {"InPlaceUpdateInfeasible", "InPlaceUpdateError"};

    server.mode = refusals[_i].mode;
    server.pods_per_vpa = 4;
    server.resize_refusal = refusals[_i].refusal;
    server.refusal_code = refusals[_i].code;
    server.config.eviction_tolerance = 1;
    server.stuck = true;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(calls_to("/resize"), refusals[_i].resizes);
    ck_assert_uint_eq(calls_to("/eviction"), refusals[_i].evicted);
    for (size_t i = 0; i < VPA_COUNT(reasons); i++)
        ck_assert_double_eq(metric("vpa_updater_failed_in_place_update_attempts_total",
                                   (const char *const[]){"2", reasons[i], "v00", "n", NULL}),
                            vpa_str_eq(reasons[i], refusals[_i].reason) ? 4 : 0);
    forget_calls();
    vpa_loop_pump(server.loop, VPA_MINUTE);
    updater_pass(server.updater);
    ck_assert_uint_eq(calls_to("/resize"), refusals[_i].again);
    ck_assert_double_eq(metric("vpa_updater_in_place_infeasible_skip_pods_total",
                               (const char *const[]){"2", "v00", "n", NULL}),
                        refusals[_i].skipped);
}

/* ---- budgets of every kind of disruption (U20, U26) ---- */

#define RESTARTS(resource)                                                                         \
    "\"resizePolicy\":[{\"resourceName\":\"" resource "\",\"restartPolicy\":\"RestartContainer\"}" \
    "],"

static const struct {
    const char *container;
    size_t resizes;
} restarts[] = {
    {RESTARTS("cpu"), 1},    /* a fifth of six pods is one */
    {RESTARTS("memory"), 6}, /* memory stays as it is */
    {"", 6},
};

TEST_EACH(restarts_in_mode_in_place_keep_the_budget, restarts) {
    server.mode = "InPlace";
    server.pods_per_vpa = 6;
    server.container = restarts[_i].container;
    server.config.eviction_tolerance = 0.2;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, restarts[_i].resizes);
    ck_assert_double_eq(metric("vpa_updater_failed_in_place_update_attempts_total",
                               (const char *const[]){"2", "InPlaceUpdateError", "v00", "n", NULL}),
                        0);
}

/* A refused restart gives its share to the next pod. */
TEST(refused_restarts_give_the_budget_back) {
    server.mode = "InPlace";
    server.pods_per_vpa = 6;
    server.container = RESTARTS("cpu");
    server.config.eviction_tolerance = 0.2;
    server.refuse = 1;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 6);
    ck_assert_uint_eq(server.most_open, 1);
}

#define BOOSTED                                                                                    \
    "\"annotations\":{\"vpaCpuStartupBoost/c\":\"{\\\"requests\\\":{\\\"cpu\\\":\\\"1\\\"}}\"},"

static const char *const evicting_modes[] = {"Recreate", "InPlaceOrRecreate", "Off", "Initial"};

/* minReplicas 3, two replicas, one of them boosted: four evictions in three passes once. */
TEST_EACH(the_minimum_holds_beside_a_boosted_pod, evicting_modes) {
    server.mode = evicting_modes[_i];
    server.pods_per_vpa = 2;
    server.replicas = 3;
    server.policy = ",\"minReplicas\":3";
    server.first_pod = BOOSTED;
    server.boost = "\"startupBoost\":{\"cpu\":{\"durationSeconds\":36000}},";
    server.refuse = 1; /* resizes: what else would be done? */
    server.config.eviction_tolerance = 1;
    start(0);
    for (int pass = 0; pass < 3; pass++)
        updater_pass(server.updater);
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert(!vpa_str_ends_with(server.calls[i], "/eviction"));
}

/* ---- the ticker ---- */

TEST(passes_come_at_the_interval) {
    start(0);
    updater_run(server.updater);
    vpa_loop_pump(server.loop, 59 * VPA_SECOND);
    ck_assert_uint_eq(server.call_count, 0);
    vpa_loop_pump(server.loop, 2 * VPA_SECOND);
    ck_assert_uint_eq(server.call_count, 5);
    vpa_loop_pump(server.loop, 2 * VPA_MINUTE);
    ck_assert_uint_eq(server.call_count, 15);
}

TEST(ticks_are_not_queued) {
    server.config.interval = 10 * VPA_SECOND;
    server.delay = 25 * VPA_SECOND; /* a pass takes two and a half intervals */
    start(0);
    updater_run(server.updater);
    /* Passes at 10 s (to 35 s), at once (to 60 s), at once (to 85 s). */
    vpa_loop_pump(server.loop, 84 * VPA_SECOND);
    ck_assert_uint_eq(server.call_count, 15);
}

static void pump_until(int64_t monotonic)
{
    vpa_loop_pump(server.loop, monotonic - vpa_loop_monotonic(server.loop));
}

/* One slow pass: a single start is remembered, then the multiples of the interval go on. */
TEST(ticks_that_were_missed_are_dropped) {
    int64_t begun;

    server.config.interval = 10 * VPA_SECOND;
    server.delay = 25 * VPA_SECOND; /* from 10 s to 35 s */
    start(0);
    begun = vpa_loop_monotonic(server.loop);
    updater_run(server.updater);
    vpa_loop_pump(server.loop, 11 * VPA_SECOND);
    server.delay = 0;
    pump_until(begun + 39 * VPA_SECOND);
    ck_assert_uint_eq(server.call_count, 10);
    pump_until(begun + 41 * VPA_SECOND);
    ck_assert_uint_eq(server.call_count, 15);
    pump_until(begun + 49 * VPA_SECOND);
    ck_assert_uint_eq(server.call_count, 15);
}

int main(void)
{
    return run_tests("updater_pass", setup, teardown);
}
