/*
 * Why pods are left alone, as the updater's ledger has it: once when the answer changes, never in
 * every pass, and so that the same answer comes out again.
 */
#include <stdio.h>

#include "updater_fixture.h"

#include "../../updater/told.h"
#include "vpa/daemon/ledger.h"
#include "vpa/json/json.h"

static struct vpa_ledger *ledger;

static void begin_with_ledger(size_t requests_max)
{
    ledger = vpa_ledger_new(&(struct vpa_ledger_flags){.memory = VPA_LEDGER_MEMORY});
    start(requests_max);
    updater_env(server.updater)->ledger = ledger;
}

static void check_inputs(void);

static void teardown_all(void)
{
    check_inputs();
    teardown();
    vpa_ledger_free(ledger);
    ledger = NULL;
}

/* A pass a minute. */
static void pass_for(int minutes)
{
    for (int i = 0; i < minutes; i++) {
        updater_pass(server.updater);
        vpa_loop_pump(server.loop, VPA_MINUTE);
    }
}

/* In whose middle something happens. */
static void pass_with(void (*event)(void *ctx), vpa_duration after)
{
    struct vpa_timer *timer = vpa_timer_new(server.loop, event, NULL);

    vpa_timer_start(timer, after);
    updater_pass(server.updater);
    vpa_timer_free(timer);
}

/* Nothing is to be done to that pod. */
static void show_as_wanted(int p)
{
    const char *request = server.request;

    server.request = "2";
    show_pod(0, p);
    server.request = request;
    settle();
}

static const struct vpa_json *entries(struct vpa_arena *arena)
{
    vpa_auto_buf out = VPA_BUF(2 * VPA_LEDGER_PAGE_MAX);
    const struct vpa_json *root;
    struct vpa_error err;

    ck_assert_int_eq(vpa_ledger_read(ledger, &(struct vpa_ledger_query){0}, &out, &err), 0);
    ck_assert_int_eq(vpa_json_parse(arena, out.data, out.len, &root, &err), 0);
    return vpa_json_find(root, "decisions");
}

/* "decision rule|decision rule|...", oldest first. */
static const char *told(void)
{
    static char text[1 << 16];
    vpa_auto_arena arena = {0};
    size_t len = 0;

    text[0] = '\0';
    vpa_json_foreach (entry, entries(&arena))
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %s", len ? "|" : "",
                                vpa_json_string(vpa_json_find(entry, "decision")),
                                vpa_json_string(vpa_json_find(entry, "rule")));
    return text;
}

/* The words of the last entry with that rule. */
static const char *why(const char *rule)
{
    static char text[2048];
    vpa_auto_arena arena = {0};

    text[0] = '\0';
    vpa_json_foreach (entry, entries(&arena)) {
        if (vpa_str_eq(vpa_json_string(vpa_json_find(entry, "rule")), rule))
            snprintf(text, sizeof(text), "%s: %s", vpa_json_string(vpa_json_find(entry, "pod")),
                     vpa_json_string(vpa_json_find(entry, "why")));
    }
    return text;
}

/* What each entry rests on gives its rule again. */
static void check_inputs(void)
{
    vpa_auto_arena arena = {0};

    vpa_json_foreach (entry, entries(&arena)) {
        const char *pod = vpa_json_string(vpa_json_find(entry, "pod"));
        const char *decision = vpa_json_string(vpa_json_find(entry, "decision"));

        if (*pod && vpa_str_eq(decision, UPDATER_LEAVES_ALONE))
            ck_assert_str_eq(vpa_json_string(vpa_json_at(entry, "inputs.rest")),
                             vpa_json_string(vpa_json_find(entry, "rule")));
    }
}

/* ---- each rule, once ---- */

static const struct {
    const char *mode, *request, *policy;
    int pods, replicas;
    const char *told, *rule, *why;
} answers[] = {
    {"Off", "1", "", 2, 0, "leave alone mode", "mode", ": mode Off: running pods are left alone"},
    {"Initial", "1", "", 2, 0, "leave alone mode", "mode",
     ": mode Initial: only new pods get the recommendation"},
    {"Recreate", "1", "", 1, 0, "leave alone min-replicas", "min-replicas",
     "p00-00: ReplicaSet rs00 has 1 live pods, --min-replicas asks for 2"},
    {"Recreate", "1", ",\"minReplicas\":7", 4, 0, "leave alone min-replicas", "min-replicas",
     "p00-00: ReplicaSet rs00 has 4 live pods, minReplicas of the VPA asks for 7; so it is for 3 "
     "more of its VPA's 4 pods"},
    {"Recreate", "1900m", "", 3, 0, "leave alone young", "young",
     "p00-00: requests are within the bounds, and the pod is 1h0m0s old: it is looked at again "
     "after 12h0m0s; so it is for 2 more of its VPA's 3 pods"},
    {"Recreate", "1\",\"memory\":\"1Gi",
     ",\"evictionRequirements\":[{\"resources\":[\"cpu\"],\"changeRequirement\":"
     "\"TargetLowerThanRequests\"}]",
     3, 0, "leave alone eviction-requirements", "eviction-requirements",
     "p00-00: no container changes in the direction that evictionRequirements ask for; so it is "
     "for 2 more of its VPA's 3 pods"},
    {"InPlace", "1", "", 1, 0, "leave alone min-replicas", "min-replicas",
     "p00-00: ReplicaSet rs00 has 1 live pods, --min-replicas asks for 2"},
    {"Recreate", "1", "", 4, 9, "leave alone budget", "budget",
     "p00-00: ReplicaSet rs00: 4 of 9 replicas run, 4 may be missing, 0 are being changed; so it "
     "is for 3 more of its VPA's 4 pods"},
};

TEST_EACH(each_rule_is_told_once, answers) {
    server.mode = answers[_i].mode;
    server.request = answers[_i].request;
    server.policy = answers[_i].policy;
    server.pods_per_vpa = answers[_i].pods;
    server.replicas = answers[_i].replicas;
    begin_with_ledger(0);
    pass_for(30);
    ck_assert_str_eq(told(), answers[_i].told);
    ck_assert_str_eq(why(answers[_i].rule), answers[_i].why);
    ck_assert_uint_eq(server.call_count, 0);
}

/* What the kubelet and proofs say of resizes. */
#define CONDITION(reason)                                                                          \
    ",{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"" reason "\"}"
#define IN_FORCE(cpu)                                                                              \
    "],\"containerStatuses\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"" cpu "\"}}}"
static const struct {
    const char *mode, *request;
    bool proving, old;
    const char *status, *told;
} resizes[] = {
    {"InPlace", "2", false, false, "", "leave alone young"},
    {"InPlaceOrRecreate", "1", false, false, CONDITION("Deferred"), "leave alone resizing"},
    {"InPlace", "1", false, true, "", "resize refused by the API server|leave alone no-resizes"},
    {"InPlaceOrRecreate", "1", true, false, "", "resize accepted|leave alone proof"},
    /* it was asked for already, and the kubelet has not begun */
    {"InPlace", "2", false, false, IN_FORCE("1"), "leave alone nothing-to-change"},
};

TEST_EACH(resizes_that_do_not_come, resizes) {
    server.mode = resizes[_i].mode;
    server.request = resizes[_i].request;
    server.proving = resizes[_i].proving;
    server.old = resizes[_i].old;
    server.status = resizes[_i].status;
    server.pods_per_vpa = 4;
    begin_with_ledger(0);
    pass_for(3);
    ck_assert_msg(vpa_str_starts_with(told(), resizes[_i].told), "%s", told());
    ck_assert_msg(!strstr(strstr(told(), "leave") + 1, "leave"), "%s", told());
}

/* It was asked for already, and the node has no room: that is why, not that nothing changes. */
TEST(a_resize_that_the_node_refused) {
    server.mode = "InPlace";
    server.request = "2";
    server.status = CONDITION("Infeasible") IN_FORCE("1");
    server.pods_per_vpa = 4;
    begin_with_ledger(0);
    pass_for(3);
    ck_assert_str_eq(told(), "leave alone resizing|leave alone infeasible");
    ck_assert_uint_eq(server.call_count, 0);
}

TEST(without_its_gate_mode_in_place_does_nothing) {
    server.mode = "InPlace";
    server.config.common.gates.in_place = false;
    begin_with_ledger(0);
    pass_for(3);
    ck_assert_str_eq(told(), "leave alone gate");
    ck_assert_str_eq(why("gate"), ": mode InPlace needs the feature gate InPlace, which is off");
    ck_assert_uint_eq(server.call_count, 0);
}

/* The scale of a custom resource does not answer when its turn comes. */
static void scale_breaks(void *ctx)
{
    (void)ctx;
    server.scale_fails = true;
}

TEST(replicas_that_nobody_tells) {
    server.owner_version = "x.io/v1";
    server.owner_kind = "Clone";
    server.replicas = 10;
    server.config.eviction_rate_limit = 0.09;
    begin_with_ledger(1);
    pass_with(scale_breaks, VPA_SECOND);
    ck_assert_str_eq(told(), "evict accepted|leave alone replicas-unknown");
    ck_assert_ptr_nonnull(
        strstr(why("replicas-unknown"), "the number of replicas of Clone rs00 is not known"));
}

#define STATUS(REASON, CODE, DETAILS)                                                              \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" REASON                             \
    "\",\"message\":\"no\"" DETAILS ",\"code\":" CODE "}"
#define DETAILS(MORE) ",\"details\":{" MORE "}"
#define CAUSES "\"causes\":[{\"reason\":\"FieldValueInvalid\",\"message\":\"no\"}]"

#define BUDGET "\"causes\":[{\"reason\":\"DisruptionBudget\",\"message\":\"no\"}]"

/* A precondition that does not hold is news in each pass, whatever else is refused only once. */
static const struct {
    const char *mode, *status;
    int code;
    const char *told;
} refusals[] = {
    {"Recreate", STATUS("Conflict", "409", DETAILS("\"name\":\"p\"")), 409,
     "evict dropped: it does not fit any more|leave alone young|evict dropped: it does not fit any "
     "more"},
    {"Recreate", STATUS("Conflict", "409", ""), 409,
     "evict refused by the API server|leave alone young"},
    {"Recreate", STATUS("AlreadyExists", "409", DETAILS("\"name\":\"p\"")), 409,
     "evict refused by the API server|leave alone young"},
    {"InPlace", STATUS("Invalid", "422", DETAILS("")), 422,
     "resize dropped: it does not fit any more|leave alone young|resize dropped: it does not fit "
     "any more"},
    {"InPlace", STATUS("Invalid", "422", ""), 422,
     "resize refused by the API server|leave alone young"},
    {"InPlace", STATUS("Invalid", "422", DETAILS(CAUSES)), 422,
     "resize refused by the API server|leave alone young"},
    {"InPlace", STATUS("Invalid", "422", DETAILS("\"name\":\"p\"")), 422,
     "resize refused by the API server|leave alone young"},
    {"Recreate", STATUS("Timeout", "504", ""), 504,
     "evict not answered: it may have been carried out|leave alone young|evict not answered: it "
     "may have been carried out"},
    {"InPlace", STATUS("Timeout", "504", ""), 504,
     "resize not answered: it may have been carried out|leave alone young|resize not answered: it "
     "may have been carried out"},
    {"InPlace", STATUS("Forbidden", "403", DETAILS("\"causes\":[{\"reason\":\"NodeCapacity\"}]")),
     403, "resize refused: the node cannot hold it|leave alone young|leave alone infeasible"},
    {"InPlaceOrRecreate", STATUS("TooManyRequests", "429", ""), 429,
     "resize not now: tried again in the next pass|leave alone young"},
    {"InPlaceOrRecreate", STATUS("Unauthorized", "401", ""), 401,
     "resize not now: tried again in the next pass|leave alone young"},
    {"Recreate", STATUS("TooManyRequests", "429", DETAILS(BUDGET)), 429,
     "evict refused by a PodDisruptionBudget|leave alone young"},
    {"Recreate", STATUS("TooManyRequests", "429", DETAILS("\"retryAfterSeconds\":1")), 429,
     "evict not now: tried again in the next pass|leave alone young"},
    {"InPlaceOrRecreate", STATUS("ServiceUnavailable", "503", ""), 503,
     "resize not now: tried again in the next pass|leave alone young"},
    {"Recreate", STATUS("ServiceUnavailable", "503", ""), 503,
     "evict not now: tried again in the next pass|leave alone young"},
};

TEST_EACH(what_a_server_refuses, refusals) {
    server.mode = refusals[_i].mode;
    server.resize_refusal = server.eviction_refusal = refusals[_i].status;
    server.refusal_code = refusals[_i].code;
    server.pods_per_vpa = 2;
    server.config.eviction_tolerance = 0.5;
    begin_with_ledger(1);
    show_as_wanted(1);
    pass_for(2);
    ck_assert_str_eq(told(), refusals[_i].told);
}

TEST(a_refusal_is_news_after_a_server_that_could_not) {
    server.mode = "InPlace";
    server.resize_refusal = STATUS("ServiceUnavailable", "503", "");
    server.refusal_code = 503;
    server.pods_per_vpa = 2;
    begin_with_ledger(1);
    show_as_wanted(1);
    pass_for(1);
    server.resize_refusal = STATUS("Forbidden", "403", "");
    server.refusal_code = 403;
    pass_for(1);
    ck_assert_str_eq(told(), "resize not now: tried again in the next pass|leave alone young|"
                             "resize refused by the API server");
}

TEST(a_resize_is_accepted_whatever_becomes_of_its_annotations) {
    server.mode = "InPlace";
    server.annotation_code = 504;
    server.pods_per_vpa = 2;
    begin_with_ledger(0);
    pass_for(1);
    ck_assert_ptr_nonnull(strstr(told(), "resize accepted"));
    ck_assert_ptr_null(strstr(told(), "not answered"));
}

/* What it had before its boost is not known, and so not what it should have. */
TEST(a_marker_that_cannot_be_read) {
    server.mode = "InPlace";
    server.pod = "\"annotations\":{\"vpaCpuStartupBoost/c\":\"{\"},";
    server.pods_per_vpa = 2;
    begin_with_ledger(0);
    pass_for(2);
    ck_assert_str_eq(told(), "leave alone limits-unknown");
    ck_assert_ptr_nonnull(
        strstr(why("limits-unknown"), "what it should have cannot be calculated"));
    ck_assert_uint_eq(server.call_count, 0);
}

/* ---- when it changes ---- */

TEST(the_answer_changes_with_the_age_of_the_pods) {
    server.request = "1900m";
    server.pods_per_vpa = 3;
    begin_with_ledger(0);
    pass_for(12 * 60);
    ck_assert_str_eq(told(), "leave alone young|leave alone in-bounds");
}

/* A VPA that was changed is told everything anew. */
TEST(a_changed_vpa_is_told_again) {
    server.pods_per_vpa = 1;
    begin_with_ledger(0);
    pass_for(3);
    server.generation_of_vpas = 2;
    show_vpas();
    pass_for(3);
    ck_assert_str_eq(told(), "leave alone min-replicas|leave alone min-replicas");
}

/* Half of ten pods may go: the others wait for the next pass, and are told so once. */
TEST(pods_that_have_to_wait) {
    server.stuck = true;
    begin_with_ledger(0);
    pass_for(5);
    ck_assert_ptr_nonnull(strstr(told(), "leave alone budget"));
    ck_assert_ptr_null(strstr(strstr(told(), "leave alone budget") + 1, "leave alone budget"));
    ck_assert_ptr_nonnull(strstr(told(), "leave alone evicted"));
}

static void replace_third(void *ctx)
{
    (void)ctx;
    replace_pod("p00-02/");
}

/* One eviction a second. The third pod is another one when its turn comes: nobody left it alone,
 * and nothing is told of the others that had to wait. */
TEST_TIMES(a_pod_that_went_while_it_waited_is_not_told, 2) {
    static const double rates[] = {1, -1};

    server.config.eviction_rate_limit = rates[_i];
    server.config.eviction_tolerance = 1;
    server.pods_per_vpa = 4;
    begin_with_ledger(1);
    pass_with(replace_third, _i == 0 ? 1500 * VPA_MILLISECOND : server.delay / 2);
    ck_assert_uint_eq(server.call_count, 3);
    ck_assert_str_eq(told(), "evict accepted|evict accepted|evict accepted");
}

static void lose_three(void *ctx)
{
    (void)ctx;
    for (int p = 7; p < 10; p++) {
        vpa_auto_free char *name = vpa_xprintf("p00-%02d", p);

        hide_object("v1", "Pod", "n", name);
    }
}

/* While the third one waited for the limiter others went: it is the first that may not. */
TEST(a_pod_that_may_not_go_any_more_is_told) {
    server.config.eviction_rate_limit = 1;
    begin_with_ledger(1);
    pass_with(lose_three, 1500 * VPA_MILLISECOND);
    ck_assert_str_eq(told(), "evict accepted|evict accepted|leave alone budget");
    ck_assert_msg(vpa_str_starts_with(why("budget"), "p00-02: "), "%s", why("budget"));
}

TEST(a_refusal_in_every_pass_is_entered_once) {
    server.refuse = 1;
    server.pods_per_vpa = 4;
    begin_with_ledger(0);
    pass_for(8);
    ck_assert_uint_ge(server.call_count, 8);
    ck_assert_str_eq(told(), "evict refused by a PodDisruptionBudget");
}

TEST(a_group_waits_for_its_proof_and_for_the_pause) {
    server.proving = true;
    begin_with_ledger(0);
    pass_for(6);
    ck_assert_str_eq(told(), "evict accepted|leave alone proof|pause evictions NotPatched|"
                             "leave alone paused");
}

TEST(a_proof_that_helped_is_told) {
    server.proving = true;
    server.reborn = "2";
    server.pods_per_vpa = 2;
    begin_with_ledger(0);
    pass_for(2);
    ck_assert_str_eq(
        told(), "evict accepted|leave alone budget|go on Good|evict accepted|leave alone young");
}

/* ---- what is remembered ---- */

/* A VPA that is gone takes along what it was told, and nothing of the others. */
TEST(what_is_known_goes_with_its_vpa) {
    struct pass_env *env;

    server.vpas = 3;
    server.pods_per_vpa = 1;
    begin_with_ledger(0);
    env = updater_env(server.updater);
    pass_for(1);
    ck_assert_uint_eq(env->notes.count, 3);
    hide_vpa("v00");
    vpa_loop_pump(server.loop, VPA_SECOND);
    pass_for(1);
    ck_assert_uint_eq(env->notes.count, 2);
    for (size_t i = 0; i < 3; i++) {
        vpa_auto_free char *name = vpa_xprintf("v%02zu", i);
        const struct vpa_object vpa = {.meta = {.ns = "n", .name = name}};
        const struct vpa_note *note = updater_note_find(env, &vpa);

        ck_assert_int_eq(note && note->told.recent, i > 0);
    }
}

/* What a VPA does not hear for ten to twenty passes is told again, what it hears is not. */
TEST(silence_of_twenty_passes_forgets) {
    static const struct vpa_object vpa = {.meta = {.ns = "n", .name = "a"}};
    struct pass_env *env;
    struct told *told;

    begin_with_ledger(0);
    env = updater_env(server.updater);
    env->rest_room = UPDATER_TOLD_MAX;
    told = updater_told_of(env, &vpa);
    ck_assert(updater_told_news(env, told, VPA_REST_YOUNG));
    for (int i = 0; i < 19; i++)
        updater_told_turn(told);
    ck_assert(!updater_told_news(env, told, VPA_REST_YOUNG));
    for (int i = 0; i < 19; i++)
        updater_told_turn(told);
    for (int rest = VPA_REST_NONE; rest < VPA_REST_COUNT; rest++)
        ck_assert(updater_told_news(env, told, (enum vpa_rest)rest));
}

/* ---- passes ---- */

TEST(a_pass_that_does_nothing_says_why) {
    server.panic = true;
    server.pods_per_vpa = 1;
    begin_with_ledger(0);
    pass_for(3);
    ck_assert_str_eq(told(), "do nothing panic");
    hide_panic();
    pass_for(3);
    ck_assert_str_eq(told(), "do nothing panic|go on panic|leave alone min-replicas");
}

/* Whatever keeps passes from doing anything is told once, and that it is over. */
TEST(a_webhook_that_is_away_is_told) {
    server.config.use_admission_status = true;
    server.pods_per_vpa = 1;
    begin_with_ledger(0);
    pass_for(3);
    ck_assert_str_eq(told(), "do nothing webhook");
    server.renewed = "2026-03-01T13:00:00.000000Z";
    pass_for(1);
    ck_assert_str_eq(told(), "do nothing webhook|go on webhook|leave alone min-replicas");
}

/* ---- bounds ---- */

/* More VPAs than a pass may tell of: nothing is lost, and no pass tells more. */
TEST(a_large_cluster_is_told_bit_by_bit) {
    size_t before = 0, now = 0;

    server.vpas = CALLS_MAX;
    server.pods_per_vpa = 1;
    begin_with_ledger(0);
    for (int i = 0; i < 3; i++, before = now) {
        updater_pass(server.updater);
        now = vpa_ledger_size(ledger);
        if (i == 0)
            ck_assert_uint_gt(now, 0);
        if (i == 1)
            ck_assert_uint_gt(now, before);
        if (i == 2)
            ck_assert_uint_eq(now, before);
    }
    ck_assert_uint_eq(updater_env(server.updater)->rest_room, UPDATER_TOLD_MAX);
    ck_assert_uint_eq(updater_env(server.updater)->notes.count, CALLS_MAX);
}

/* When there is no room left in a pass a rule is news in one of the next. */
TEST(a_rule_that_found_no_room_is_news_later) {
    const struct vpa_object vpa = {.meta = {.ns = "n", .name = "v", .uid = "u"}};

    begin_with_ledger(0);
    struct pass_env *env = updater_env(server.updater);
    struct told *told = updater_told_of(env, &vpa);

    env->rest_room = 0;
    ck_assert(!updater_told_news(env, told, VPA_REST_REQUIREMENTS));
    ck_assert_uint_eq(env->rest_room, 0);
    env->rest_room = 2;
    ck_assert(updater_told_news(env, told, VPA_REST_REQUIREMENTS));
    ck_assert(!updater_told_news(env, told, VPA_REST_REQUIREMENTS));
    ck_assert_uint_eq(env->rest_room, 1);
    ck_assert(updater_told_news(env, told, VPA_REST_IN_BOUNDS));
    ck_assert(!updater_told_news(env, told, VPA_REST_BUDGET));
    ck_assert(!updater_told_news(env, told, VPA_REST_IN_BOUNDS));
    ck_assert_uint_eq(env->rest_room, 0);
    env->rest_room = 1;
    ck_assert(!updater_told_news(env, NULL, VPA_REST_BUDGET)); /* nobody writes it down */
    ck_assert_uint_eq(env->rest_room, 1);
}

#define NO_OTHER_QOS                                                                               \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"code\":422,\"message\":" \
    "\"Pod QOS Class may not change\",\"details\":{\"causes\":[{\"field\":\"spec\"}]}}"

static size_t pass_for_ten_minutes(void)
{
    forget_calls();
    for (int i = 0; i < 10; i++) {
        updater_pass(server.updater);
        vpa_loop_pump(server.loop, VPA_MINUTE);
    }
    updater_flush(server.updater, VPA_MINUTE);
    return server.call_count;
}

/* U48: mode InPlace has no other way. */
TEST(a_resize_that_is_refused_is_not_sent_again_as_it_was) {
    server.mode = "InPlace";
    server.pods_per_vpa = 2;
    server.resize_refusal = NO_OTHER_QOS;
    server.refusal_code = 422;
    server.config.eviction_rate_limit = 1e-6;
    server.config.eviction_rate_burst = 100;
    begin_with_ledger(0);
    ck_assert_uint_eq(pass_for_ten_minutes(), 2);
    ck_assert_uint_eq(server.events, 2);
    ck_assert_ptr_nonnull(strstr(server.event_bodies.data, "\"type\":\"Warning\""));
    ck_assert_ptr_nonnull(strstr(server.event_bodies.data, "\"reason\":\"InPlaceResizeRefused\""));
    ck_assert_ptr_nonnull(strstr(server.event_bodies.data, "QOS Class may not change"));
    ck_assert_double_eq(metric("vpa_updater_failed_in_place_update_attempts_total",
                               (const char *const[]){"1", "InPlaceUpdateError", "v00", "n", NULL}),
                        2);
    server.generation_of_vpas = 2;
    show_vpas();
    pass_for(2);
    ck_assert_str_eq(told(), "resize refused by the API server|leave alone refused");
    ck_assert_double_eq_tol(updater_env(server.updater)->in_place_rate.tokens, 98, 0.01);

    vpa_auto_free char *vpa = vpa_text(0);
    char *target = strstr(vpa, "\"target\":{\"cpu\":\"2\"");

    target[strlen("\"target\":{\"cpu\":\"")] = '3';
    show_object(VPA_API, VPA_KIND, vpa);
    ck_assert_uint_eq(pass_for_ten_minutes(), 2);
    ck_assert_uint_eq(server.events, 4);
    for (int minutes = 0; minutes < 41; minutes++)
        vpa_loop_pump(server.loop, VPA_MINUTE);
    ck_assert_uint_eq(pass_for_ten_minutes(), 2); /* an hour is over */
    ck_assert_uint_eq(server.events, 4);          /* which is no news */
}

/* Mode InPlaceOrRecreate has: each pass comes to the eviction, which is refused as well. */
TEST(a_resize_that_is_refused_is_followed_by_an_eviction_in_each_pass) {
    size_t evictions = 0;

    server.mode = "InPlaceOrRecreate";
    server.pods_per_vpa = 2;
    server.resize_refusal = server.eviction_refusal = NO_OTHER_QOS;
    server.refusal_code = 422;
    begin_with_ledger(0);
    pass_for_ten_minutes();
    for (size_t i = 0; i < server.call_count; i++)
        evictions += vpa_str_ends_with(server.calls[i], "/eviction");
    ck_assert_uint_eq(evictions, 20);
    ck_assert_uint_eq(server.events, 0);
}

int main(void)
{
    return run_tests("updater_rest", setup, teardown_all);
}
