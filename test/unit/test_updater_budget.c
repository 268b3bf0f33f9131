/*
 * What budgets of a pass rest on: pods of the last event, scales read when a disruption hangs on
 * them, evicted pods until they are replaced.
 */
#include "updater_fixture.h"

#define RESTARTS                                                                                   \
    "\"resizePolicy\":[{\"resourceName\":\"cpu\",\"restartPolicy\":\"RestartContainer\"}],"

/* ---- evicted pods ---- */

/* The watch of pods is frozen: what was evicted looks alive for ever. */
START_TEST(evicted_pods_that_look_alive_are_gone)
{
    server.stuck = true;
    start(0);
    for (int pass = 0; pass < 5; pass++)
        updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}
END_TEST

START_TEST(replaced_pods_count_again)
{
    const struct vpa_update_memory *memory;

    start(0);
    memory = updater_env(server.updater)->memory;
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert(vpa_update_memory_is_evicted(memory, "0-0"));
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 10);
    ck_assert(!vpa_update_memory_is_evicted(memory, "0-0")); /* it is not remembered for ever */
}
END_TEST

/* Nobody has said that they stay: their budget is used up, and what may have been resized is not
 * evicted behind that. */
static const struct {
    int code;
    const char *body;
} lost_answers[] = {
    {0, NULL},
    {504,
     "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Timeout\",\"message\":\"request "
     "did not complete within the allotted timeout\",\"code\":504}"},
    /* What etcd has not confirmed: an error that the API server has no name for. */
    {500, "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"etcdserver: request timed "
          "out\",\"code\":500}"},
    /* A proxy whose API server went while it answered. */
    {502, "Bad Gateway"},
    {503, "upstream connect error or disconnect/reset before headers. reset reason: connection "
          "termination"},
    {524, "error code: 524"},
    /* Or the API server itself, in the middle of it. */
    {500, "This request caused apiserver to panic. Look in the logs for details.\n"},
};

START_TEST(what_was_not_answered_may_have_happened)
{
    static const char *const modes[] = {"Recreate", "InPlaceOrRecreate"};

    server.mode = modes[_i % 2];
    server.container = RESTARTS;
    server.unanswered = server.stuck = true;
    server.unanswered_code = lost_answers[_i / 2].code;
    server.unanswered_body = lost_answers[_i / 2].body;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert_int_eq(vpa_str_ends_with(server.calls[i], "/resize"), _i % 2);
}
END_TEST

/* What etcd did not confirm in time may have happened as well; what was refused has not. */
static const struct {
    const char *status;
    int code;
    size_t calls;
} answers[] = {
#define FAILURE(REASON, CODE)                                                                      \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" REASON                             \
    "\",\"message\":\"no\",\"code\":" CODE "}"
    {FAILURE("Timeout", "504"), 504, 5},
    {FAILURE("Forbidden", "403"), 403, 10},
};

START_TEST(what_was_not_confirmed_may_have_happened)
{
    server.eviction_refusal = answers[_i].status;
    server.refusal_code = answers[_i].code;
    start(0);
    updater_pass(server.updater);
    vpa_auto_free char *calls = joined_calls();
    ck_assert_msg(server.call_count == answers[_i].calls, "%s", calls);
}
END_TEST

/* The first try may have been what the second one finds: the pod is gone, or another one, its
 * budget is used up, or its values are new. */
static const struct {
    const char *mode;
    const char *refusal;
    int code;
} second_answers[] = {
    {"Recreate", FAILURE("NotFound", "404"), 404},
    {"Recreate",
     "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Conflict\",\"message\":"
     "\"no\",\"details\":{\"name\":\"p\"},\"code\":409}",
     409},
    {"Recreate", FAILURE("TooManyRequests", "429"), 429},
    {"InPlaceOrRecreate", FAILURE("NotFound", "404"), 404},
    {"InPlaceOrRecreate",
     "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"message\":\"no\","
     "\"details\":{},\"code\":422}",
     422},
};

START_TEST(a_second_try_does_not_tell_what_became_of_the_first)
{
    server.mode = second_answers[_i].mode;
    server.container = RESTARTS;
    server.doubtful = server.stuck = true;
    server.eviction_refusal = server.resize_refusal = second_answers[_i].refusal;
    server.refusal_code = second_answers[_i].code;
    start(0);
    updater_pass(server.updater);
    vpa_auto_free char *calls = joined_calls();
    ck_assert_msg(server.call_count == 10, "%s", calls); /* five pods, two tries each */
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert_str_eq(strrchr(server.calls[i], '/'),
                         server.mode[0] == 'R' ? "/eviction" : "/resize");
}
END_TEST

/* Nor is anybody missing meanwhile where no container is restarted. */
START_TEST(a_resize_without_restarts_that_was_not_answered_takes_nothing)
{
    server.mode = "InPlaceOrRecreate";
    server.unanswered = server.stuck = true;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 10);
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert(vpa_str_ends_with(server.calls[i], "/resize"));
}
END_TEST

/* Neither resized instead, nor a reason to hold back others for ever. */
START_TEST(evicted_pods_are_not_resized)
{
    server.mode = "InPlaceOrRecreate";
    server.old = true; /* resizes fail, evictions follow */
    server.stuck = true;
    start(0);
    updater_pass(server.updater);
    server.old = false;
    vpa_loop_pump(server.loop, 11 * VPA_MINUTE);
    forget_calls();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
}
END_TEST

/* ---- restarted pods ---- */

static const char *const resizing_modes[] = {"InPlace", "InPlaceOrRecreate"};

/* One of four may be missing: the next one is restarted when the first is ready again, however many
 * passes that takes. */
START_TEST(restarted_pods_are_missing_until_they_are_ready_again)
{
    server.mode = resizing_modes[_i];
    server.pods_per_vpa = 4;
    server.container = RESTARTS;
    server.config.eviction_tolerance = 0.25;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    show_resized(0, "2026-03-01T11:00:00Z", ""); /* the kubelet has not begun */
    for (int minute = 0; minute < 9; minute++) {
        vpa_loop_pump(server.loop, VPA_MINUTE);
        if (minute == 1)
            show_resized(0, NULL, "");
        updater_pass(server.updater);
        ck_assert_uint_eq(server.call_count, 1);
    }
    show_resized(0, "2026-03-01T12:09:00Z", "");
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
}
END_TEST

/* So it is with pods that come in the place of others. */
START_TEST(replacements_are_missing_until_they_are_ready)
{
    server.pods_per_vpa = 4;
    server.config.eviction_tolerance = 0.25;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    show_resized(0, NULL, "");
    for (int minute = 0; minute < 9; minute++) {
        updater_pass(server.updater);
        ck_assert_uint_eq(server.call_count, 1);
        vpa_loop_pump(server.loop, VPA_MINUTE);
    }
    if (_i) /* some pods are never ready */
        show_resized(0, "2026-03-01T12:09:00Z", "");
    else
        vpa_loop_pump(server.loop, VPA_MINUTE);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
}
END_TEST

/* Nor is it forgotten that a pod may have been evicted, when it went: the server does what it is
 * asked for and does not confirm it. */
START_TEST(replacements_without_an_answer_are_missing_as_well)
{
    server.pods_per_vpa = 4;
    server.config.eviction_tolerance = 0.25;
    server.unanswered = true;
    server.unanswered_code = lost_answers[1 + _i].code;
    server.unanswered_body = lost_answers[1 + _i].body;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    show_resized(0, NULL, "");
    for (int minute = 0; minute < 9; minute++) {
        vpa_loop_pump(server.loop, VPA_MINUTE);
        updater_pass(server.updater);
        ck_assert_uint_eq(server.call_count, 1);
    }
    show_resized(0, "2026-03-01T12:09:00Z", "");
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
}
END_TEST

/* One that stays was not evicted, and counts as before. */
START_TEST(pods_that_stay_without_an_answer_are_there)
{
    server.pods_per_vpa = 4;
    server.config.eviction_tolerance = 0.25;
    server.unanswered = server.stuck = true;
    server.unanswered_code = 504;
    server.unanswered_body = lost_answers[1].body;
    start(0);
    for (size_t pass = 1; pass < 5; pass++) {
        updater_pass(server.updater);
        ck_assert_uint_eq(server.call_count, pass);
        vpa_loop_pump(server.loop, VPA_MINUTE);
    }
}
END_TEST

/* Of which nothing was to be seen: the container was back within a moment. */
START_TEST(restarted_pods_that_stay_ready_count_when_the_cache_is_new)
{
    server.mode = resizing_modes[_i];
    server.pods_per_vpa = 4;
    server.container = RESTARTS;
    server.config.eviction_tolerance = 0.25;
    start(0);
    updater_pass(server.updater);
    show_resized(0, "2026-03-01T11:00:00Z", "");
    vpa_loop_pump(server.loop, 2 * VPA_MINUTE);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
}
END_TEST

/* It is missing already: that is no reason to keep it. */
START_TEST(a_restarted_pod_that_does_not_come_back_may_be_evicted)
{
    server.mode = "InPlaceOrRecreate";
    server.pods_per_vpa = 1;
    server.container = RESTARTS;
    server.policy = ",\"minReplicas\":1";
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    server.status = ",{\"type\":\"PodResizeInProgress\",\"status\":\"True\",\"reason\":\"Error\"}";
    show_resized(0, NULL,
                 "\"containerStatuses\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
                 "\"cpu\":\"1\"}}}],");
    vpa_loop_pump(server.loop, VPA_MINUTE);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_str_eq(server.calls[1], "p00-00/eviction");
}
END_TEST

/* ---- what happens during a pass ---- */

static void remove_pods(int from, int to)
{
    for (int p = from; p < to; p++) {
        vpa_auto_free char *name = vpa_xprintf("p00-%02d", p);

        hide_object("v1", "Pod", "n", name);
    }
}

static void lose_three(void *ctx)
{
    (void)ctx;
    remove_pods(7, 10);
}

/* Between the list of pods and the beginning of the second VPA's work, while the first is at it. */
static void lose_three_of_second(void *ctx, const struct vpa_object *vpa,
                                 const struct vpa_pod *const *pods, size_t count)
{
    (void)ctx;
    (void)pods;
    (void)count;
    if (!vpa_str_eq(vpa->meta.name, "v00"))
        return;
    hide_object("v1", "Pod", "n", "p01-07");
    hide_object("v1", "Pod", "n", "p01-08");
    hide_object("v1", "Pod", "n", "p01-09");
    settle();
}

START_TEST(pods_that_went_before_the_turn_of_their_vpa_are_missing)
{
    size_t calls = 0;

    server.vpas = 2;
    start(0);
    updater_env(server.updater)->on_controlled = lose_three_of_second;
    updater_pass(server.updater);
    for (size_t i = 0; i < server.call_count; i++)
        calls += vpa_str_starts_with(server.calls[i], "p01-");
    ck_assert_uint_eq(calls, 2);
}
END_TEST

static void replace_third(void *ctx)
{
    (void)ctx;
    replace_pod("p00-02/");
}

static void scale_up(void *ctx)
{
    (void)ctx;
    server.replicas = 10;
}

/* A pass of one eviction a second in the middle of whose first wait something happens. */
static void slow_pass(double rate, void (*event)(void *ctx), vpa_duration after)
{
    struct vpa_timer *timer = vpa_timer_new(server.loop, event, NULL);

    server.config.eviction_rate_limit = rate;
    start(1);
    vpa_timer_start(timer, after);
    updater_pass(server.updater);
    vpa_timer_free(timer);
}

START_TEST(pods_that_went_meanwhile_are_missing)
{
    /* Five of ten may go: two were evicted, three went by themselves. */
    slow_pass(1, lose_three, 1500 * VPA_MILLISECOND);
    ck_assert_uint_eq(server.call_count, 2);
}
END_TEST

START_TEST(pods_replaced_meanwhile_are_left_alone)
{
    slow_pass(1, replace_third, 1500 * VPA_MILLISECOND);
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert_str_ne(server.calls[i], "p00-02/eviction");
    ck_assert_uint_eq(server.call_count, 4); /* it is missing until it is looked at again */
}
END_TEST

/* One a second: nothing is spent on the third one. */
START_TEST(pods_replaced_meanwhile_take_no_token)
{
    static const char *const modes[] = {"Recreate", "InPlaceOrRecreate"};
    int64_t begun = vpa_loop_monotonic(server.loop);

    server.mode = modes[_i];
    server.pods_per_vpa = 4;
    server.config.eviction_tolerance = 1;
    slow_pass(1, replace_third, 500 * VPA_MILLISECOND);
    ck_assert_uint_eq(server.call_count, 3);
    ck_assert_int_lt(vpa_loop_monotonic(server.loop) - begun, 2500 * VPA_MILLISECOND);
}
END_TEST

/* A request that waits in the client's queue is sent to the pod that was decided on, or to none;
 * who went is missing, so that no other one goes in its place. */
static void delete_third(void *ctx)
{
    (void)ctx;
    remove_pods(2, 3);
}

START_TEST(what_waits_to_be_sent_is_for_the_same_pod)
{
    static void (*const events[])(void *ctx) = {replace_third, delete_third};
    struct vpa_timer *timer = vpa_timer_new(server.loop, events[_i], NULL);

    server.config.common.kube_api_qps = 1;
    server.config.common.kube_api_burst = 1;
    start(0);
    vpa_loop_pump(server.loop, 20 * VPA_SECOND);
    vpa_timer_start(timer, 500 * VPA_MILLISECOND);
    updater_pass(server.updater);
    vpa_timer_free(timer);
    ck_assert_uint_eq(server.call_count, 4);
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert_str_ne(server.calls[i], "p00-02/eviction");
    ck_assert_double_eq(
        metric("vpa_updater_failed_eviction_attempts_total",
               (const char *const[]){"3", "Recreate", "EvictionError", "v00", "n", NULL}),
        0);
}
END_TEST

static void lose_four(void *ctx)
{
    (void)ctx;
    remove_pods(6, 10);
}

/* Who waits for the limiter is resized when that is still right: where the budget of restarts and
 * of evictions is used up meanwhile, nobody is. */
static const struct {
    const char *mode, *container;
    size_t resizes;
} waits[] = {{"InPlaceOrRecreate", "", 1}, {"InPlace", RESTARTS, 1}, {"InPlace", "", 6}};

START_TEST(what_waits_for_the_limiter_is_resized_when_it_still_may)
{
    server.mode = waits[_i].mode;
    server.container = waits[_i].container;
    slow_pass(1, lose_four, 500 * VPA_MILLISECOND);
    ck_assert_uint_eq(server.call_count, waits[_i].resizes);
    ck_assert_double_eq(metric("vpa_updater_failed_in_place_update_attempts_total",
                               (const char *const[]){"3", "InPlaceUpdateError", "v00", "n", NULL}),
                        0);
}
END_TEST

/* Without any wait for a token: while the answer to the first request is under way. */
START_TEST(pods_that_went_while_an_answer_was_awaited_are_missing)
{
    static const char *const modes[] = {"Recreate", "InPlaceOrRecreate", "InPlace"};
    struct vpa_timer *timer = vpa_timer_new(server.loop, lose_three, NULL);

    server.mode = modes[_i];
    server.container = RESTARTS;
    start(1);
    vpa_timer_start(timer, server.delay / 2);
    updater_pass(server.updater);
    vpa_timer_free(timer);
    ck_assert_uint_eq(server.call_count, 2);
}
END_TEST

/* ---- a VPA that changes during a pass ---- */

static void turn_off(void *ctx)
{
    (void)ctx;
    server.mode = "Off";
    server.generation_of_vpas++;
    show_vpas();
}

static void ask_for_more_replicas(void *ctx)
{
    (void)ctx;
    server.policy = ",\"minReplicas\":20";
    server.generation_of_vpas++;
    show_vpas();
}

static void remove_the_vpa(void *ctx)
{
    (void)ctx;
    hide_vpa("v00");
}

static void (*const changes_of_the_vpa[])(void *ctx) = {turn_off, ask_for_more_replicas,
                                                        remove_the_vpa};
static const char *const changing_modes[] = {"Recreate", "InPlaceOrRecreate", "InPlace"};

/* Who has said that pods are to be left alone is heard at once, not after all that waits for the
 * limiter. */
START_TEST(a_vpa_that_was_changed_meanwhile_waits_for_the_next_pass)
{
    server.mode = changing_modes[_i / (int)VPA_COUNT(changes_of_the_vpa)];
    slow_pass(1, changes_of_the_vpa[_i % (int)VPA_COUNT(changes_of_the_vpa)],
              1500 * VPA_MILLISECOND);
    ck_assert_uint_eq(server.call_count, 2);
}
END_TEST

/* In the client's queue, where it waits for its turn. */
START_TEST(what_waits_to_be_sent_for_a_vpa_that_was_changed_is_dropped)
{
    struct vpa_timer *timer = vpa_timer_new(
        server.loop, changes_of_the_vpa[_i % (int)VPA_COUNT(changes_of_the_vpa)], NULL);

    server.mode = changing_modes[_i / (int)VPA_COUNT(changes_of_the_vpa)];
    server.config.common.kube_api_qps = 1;
    server.config.common.kube_api_burst = 1;
    start(0);
    vpa_loop_pump(server.loop, 20 * VPA_SECOND);
    vpa_timer_start(timer, 1500 * VPA_MILLISECOND);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
    vpa_timer_free(timer);
}
END_TEST

/* The second half of what has been done comes behind it all the same. */
START_TEST(a_resized_pod_is_annotated_whatever_becomes_of_the_vpa)
{
    struct vpa_timer *timer = vpa_timer_new(server.loop, changes_of_the_vpa[_i], NULL);

    server.mode = "InPlaceOrRecreate";
    start(1);
    vpa_timer_start(timer, server.delay / 2);
    updater_pass(server.updater);
    vpa_timer_free(timer);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_uint_eq(server.annotated, 1);
}
END_TEST

static void write_the_status(void *ctx)
{
    (void)ctx;
    show_vpas();
}

START_TEST(a_status_that_is_written_meanwhile_stops_nothing)
{
    slow_pass(1, write_the_status, 1500 * VPA_MILLISECOND);
    ck_assert_uint_eq(server.call_count, 5);
}
END_TEST

static void write_another_spec(void *ctx)
{
    (void)ctx;
    server.generation_of_vpas++;
    show_vpas();
}

/* In mode InPlace what was sent in vain is known to be infeasible; what a change of the VPA has
 * kept from being sent is not, and is in the next pass. */
START_TEST(a_resize_that_was_dropped_is_not_known_to_be_infeasible)
{
    server.mode = "InPlace";
    server.pods_per_vpa = 2;
    server.status = ",{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":"
                    "\"Infeasible\"}";
    slow_pass(1, write_another_spec, 500 * VPA_MILLISECOND);
    ck_assert_uint_eq(server.call_count, 1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_str_eq(server.calls[1], "p00-01/resize");
}
END_TEST

/* ---- replicas of the controllers that the API server has itself ---- */

/* An owner whose number of replicas upstream would know, and that is not there, is left alone; of
 * others the living pods count. */
static const struct {
    const char *version, *kind;
    bool evicts;
} absent[] = {
    {"apps/v1", "StatefulSet", false}, {"v1", "ReplicationController", false},
    {"apps/v1", "DaemonSet", false},   {"batch/v1", "Job", true},
    {"apps/v1", "Deployment", true},   {"v1", "Node", false}, /* of static pods */
};

START_TEST(a_controller_that_is_not_there_is_left_alone)
{
    server.owner_version = absent[_i].version;
    server.owner_kind = absent[_i].kind;
    server.selects = true;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, absent[_i].evicts ? 5 : 0);
}
END_TEST

/* The kubelet makes the mirror of a static pod again as the node's file says, whoever evicts it. */
START_TEST(mirrors_of_static_pods_are_left_alone)
{
    server.owner_version = "v1";
    server.owner_kind = "Node";
    server.selects = true;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
}
END_TEST

/* ---- replicas of custom resources ---- */

static void own_by_clone(int replicas)
{
    server.owner_version = "x.io/v1";
    server.owner_kind = "Clone";
    server.replicas = replicas;
}

/* Nobody is disrupted of whom nobody says how many there are to be. */
static const struct {
    int replicas, pods;
    size_t calls;
    bool fails;
} clones[] = {{0, 3, 0, true}, {0, 3, 0}, {1, 1, 1}, {1, 3, 2}, {2, 3, 2}, {3, 3, 1}, {-3, 4, 0}};

START_TEST(the_scale_says_how_many_there_are_to_be)
{
    own_by_clone(clones[_i].replicas);
    server.scale_fails = clones[_i].fails;
    server.pods_per_vpa = clones[_i].pods;
    server.config.min_replicas = 1;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, clones[_i].calls);
}
END_TEST

/* Nothing goes in the first pass; ten replicas are wanted in the next, where three were. */
static void expect_five_of_ten(void)
{
    server.refuse = 1;
    start(0);
    updater_pass(server.updater);
    forget_calls();
    vpa_loop_pump(server.loop, 30 * VPA_SECOND);
    server.refuse = 0;
    server.replicas = 10;
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
}

/* Scaled from three to ten half a minute ago: five may go, not eight. */
START_TEST(a_scale_is_read_anew_in_every_pass)
{
    static const char *const modes[] = {"Recreate", "InPlaceOrRecreate"};

    server.mode = modes[_i];
    own_by_clone(3);
    expect_five_of_ten();
}
END_TEST

/* So it is for the end of a boost. */
START_TEST(a_scale_is_read_anew_before_a_boost_ends)
{
    own_by_clone(3);
    server.mode = "Off";
    server.boost = "\"startupBoost\":{\"cpu\":{\"durationSeconds\":60}},";
    server.pod = "\"annotations\":{\"vpaCpuStartupBoost/c\":\"{\\\"requests\\\":{\\\"cpu"
                 "\\\":\\\"500m\\\"}}\"},";
    expect_five_of_ten();
}
END_TEST

/* Once for the selector of the target, once for the budget; at first one answer serves both. */
START_TEST(a_scale_is_asked_for_once_in_a_pass)
{
    own_by_clone(10);
    start(0);
    for (size_t pass = 1; pass < 4; pass++) {
        updater_pass(server.updater);
        ck_assert_uint_eq(server.call_count, 5 * pass);
        ck_assert_uint_eq(server.scale_reads, 2 * pass - 1);
        vpa_loop_pump(server.loop, VPA_MINUTE);
    }
}
END_TEST

START_TEST(a_scale_is_read_anew_in_a_long_pass)
{
    own_by_clone(3);
    slow_pass(0.09, scale_up, VPA_SECOND); /* every eleven seconds */
    ck_assert_uint_eq(server.call_count, 5);
}
END_TEST

static void scale_breaks(void *ctx)
{
    (void)ctx;
    server.scale_fails = true;
}

/* Where no scale ever said how many there are to be, those that live count, and nobody is asked
 * again. */
START_TEST(without_any_scale_the_living_count)
{
    own_by_clone(10);
    server.selects = true;
    server.scale_fails = true;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, (size_t)server.pods_per_vpa / 2);
}
END_TEST

/* Ten there are to be, six live: where nobody says so any more, they are not ten all at once. */
START_TEST(a_scale_that_breaks_is_not_forgotten)
{
    own_by_clone(10);
    server.selects = true;
    server.pods_per_vpa = 6;
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    server.scale_fails = true;
    for (int pass = 0; pass < 3; pass++) {
        vpa_loop_pump(server.loop, VPA_MINUTE);
        updater_pass(server.updater);
    }
    ck_assert_uint_eq(server.call_count, 1);
    server.scale_fails = false;
    vpa_loop_pump(server.loop, VPA_MINUTE);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 2);
}
END_TEST

START_TEST(without_its_scale_a_group_is_left_alone)
{
    own_by_clone(10);
    slow_pass(0.09, scale_breaks, VPA_SECOND);
    ck_assert_uint_eq(server.call_count, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("updater_budget");
    TCase *tc = tcase_create("pass");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, evicted_pods_that_look_alive_are_gone);
    tcase_add_test(tc, replaced_pods_count_again);
    tcase_add_loop_test(tc, what_was_not_answered_may_have_happened, 0,
                        2 * (int)VPA_COUNT(lost_answers));
    tcase_add_loop_test(tc, a_second_try_does_not_tell_what_became_of_the_first, 0,
                        VPA_COUNT(second_answers));
    tcase_add_loop_test(tc, what_was_not_confirmed_may_have_happened, 0, VPA_COUNT(answers));
    tcase_add_test(tc, a_resize_without_restarts_that_was_not_answered_takes_nothing);
    tcase_add_test(tc, evicted_pods_are_not_resized);
    tcase_add_loop_test(tc, restarted_pods_are_missing_until_they_are_ready_again, 0, 2);
    tcase_add_loop_test(tc, replacements_are_missing_until_they_are_ready, 0, 2);
    tcase_add_loop_test(tc, replacements_without_an_answer_are_missing_as_well, 0,
                        VPA_COUNT(lost_answers) - 1);
    tcase_add_test(tc, pods_that_stay_without_an_answer_are_there);
    tcase_add_loop_test(tc, restarted_pods_that_stay_ready_count_when_the_cache_is_new, 0, 2);
    tcase_add_test(tc, a_restarted_pod_that_does_not_come_back_may_be_evicted);
    tcase_add_test(tc, pods_that_went_meanwhile_are_missing);
    tcase_add_test(tc, pods_that_went_before_the_turn_of_their_vpa_are_missing);
    tcase_add_test(tc, pods_replaced_meanwhile_are_left_alone);
    tcase_add_loop_test(tc, pods_replaced_meanwhile_take_no_token, 0, 2);
    tcase_add_loop_test(tc, what_waits_to_be_sent_is_for_the_same_pod, 0, 2);
    tcase_add_loop_test(tc, what_waits_for_the_limiter_is_resized_when_it_still_may, 0,
                        VPA_COUNT(waits));
    tcase_add_loop_test(tc, pods_that_went_while_an_answer_was_awaited_are_missing, 0, 3);
    tcase_add_loop_test(tc, a_vpa_that_was_changed_meanwhile_waits_for_the_next_pass, 0, 9);
    tcase_add_loop_test(tc, what_waits_to_be_sent_for_a_vpa_that_was_changed_is_dropped, 0, 9);
    tcase_add_loop_test(tc, a_resized_pod_is_annotated_whatever_becomes_of_the_vpa, 0, 3);
    tcase_add_test(tc, a_status_that_is_written_meanwhile_stops_nothing);
    tcase_add_test(tc, a_resize_that_was_dropped_is_not_known_to_be_infeasible);
    tcase_add_loop_test(tc, a_controller_that_is_not_there_is_left_alone, 0, VPA_COUNT(absent));
    tcase_add_test(tc, mirrors_of_static_pods_are_left_alone);
    tcase_add_loop_test(tc, the_scale_says_how_many_there_are_to_be, 0, (int)VPA_COUNT(clones));
    tcase_add_loop_test(tc, a_scale_is_read_anew_in_every_pass, 0, 2);
    tcase_add_test(tc, a_scale_is_read_anew_before_a_boost_ends);
    tcase_add_test(tc, a_scale_is_asked_for_once_in_a_pass);
    tcase_add_test(tc, a_scale_is_read_anew_in_a_long_pass);
    tcase_add_test(tc, without_its_scale_a_group_is_left_alone);
    tcase_add_test(tc, without_any_scale_the_living_count);
    tcase_add_test(tc, a_scale_that_breaks_is_not_forgotten);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
