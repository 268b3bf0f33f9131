/*
 * What the updater learns from its resizes (U24): those that are not carried out, or that a pod
 * does not bear, keep the others; and by which clocks both kinds of actions are waited for.
 */
#include "proof_fixture.h"

#include "../../updater/prove.h"
#include <stdlib.h>

#include "captured_log.h"

#define DEFERRED "{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Deferred\"}"
#define INFEASIBLE "{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Infeasible\"}"
#define IN_PROGRESS "{\"type\":\"PodResizeInProgress\",\"status\":\"True\"}"
#define FAILED                                                                                     \
    "{\"type\":\"PodResizeInProgress\",\"status\":\"True\",\"reason\":\"Error\",\"message\":"      \
    "\"m\"}"

static const struct {
    const char *condition;
    int minutes; /* until it is given up */
} stuck[] = {{INFEASIBLE, 1}, {FAILED, 1}, {IN_PROGRESS, 62}};

/* Pod p of the first VPA with the cpu that it was sent, of which the kubelet says `resize`. */
static void show_resizing(int p, const char *cpu, const char *resize)
{
    static const char conditions[] = "\"conditions\":[";
    const char *request = server.request;

    server.request = cpu;
    vpa_auto_free char *text = pod_text(0, p);
    server.request = request;
    const char *at = strstr(text, conditions);
    vpa_auto_free char *pod =
        vpa_xprintf("%.*s\"containerStatuses\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
                    "\"cpu\":\"%s\"}}}],"
                    "%s%s,%s",
                    (int)(at - text), text, request, conditions, resize, at + strlen(conditions));

    show_object("v1", "Pod", pod);
    settle();
}

static void show_first_pod(const char *resize)
{
    show_resizing(0, server.request, resize);
}

TEST_EACH(resizes_that_are_never_carried_out_are_no_storm, stuck) {
    server.mode = "InPlace";
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    show_first_pod(stuck[_i].condition);
    pass_for(stuck[_i].minutes - 1);
    ck_assert_double_eq(failed_proofs("NotResized"), 0);
    pass_for(1);
    ck_assert_double_eq(failed_proofs("NotResized"), 1);
    ck_assert_ptr_nonnull(strstr(condition(), "\"type\":\"ResizesPaused\",\"status\":\"True\""));
    for (size_t i = 0; i < server.call_count; i++)
        ck_assert_str_eq(server.calls[i], "p00-00/resize");
}

/* The kubelet has had a minute, whatever somebody makes of the time of day. */
TEST_TIMES(a_resize_is_not_given_up_when_the_clock_is_set, 2) {
    static const char *const modes[] = {"InPlace", "InPlaceOrRecreate"};

    server.mode = modes[_i];
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    show_first_pod(stuck[2].condition);
    pass_for(2);
    vpa_clock_set(server.clock, 24 * VPA_HOUR);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(failed_proofs("NotResized"), 0);
    vpa_clock_set(server.clock, -48 * VPA_HOUR); /* and in time when it is set back */
    pass_for(stuck[2].minutes);
    ck_assert_double_eq(failed_proofs("NotResized"), 1);
}

static double resized(void)
{
    return metric("vpa_updater_in_place_updated_pods_total",
                  (const char *const[]){"3", "v00", "n", NULL});
}

static bool was_called(const char *call)
{
    vpa_auto_free char *calls = joined_calls();

    return strstr(calls, call) != NULL;
}

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);

    ck_assert_ptr_nonnull(at);
    return vpa_xprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

#define RESTARTS                                                                                   \
    "\"resizePolicy\":[{\"resourceName\":\"cpu\",\"restartPolicy\":\"RestartContainer\"}],"

#define RESTARTED                                                                                  \
    "\"containerStatuses\":[{\"name\":\"c\",\"restartCount\":1,\"lastState\":{\"terminated\":{"    \
    "\"exitCode\":137,\"reason\":\"Error\"}}}],"
#define READY_AGAIN "2026-03-01T12:00:40Z"

/* What the kubelet says of pods before anything is sent, and what they ask for. */
static const struct {
    const char *condition, *cpu;
} waiting[] = {{DEFERRED, "1"}, {DEFERRED, "2"},   {FAILED, "1"},
               {FAILED, "2"},   {INFEASIBLE, "2"}, {IN_PROGRESS, "2"}};
static const int waiting_pods[] = {1, 3, 9};

/* One that does not wait goes first, and shows it for all; what has been sent already is sent again
 * without a word. */
TEST_TIMES(pods_that_wait_for_their_kubelet_keep_nobody,
           VPA_COUNT(waiting) * VPA_COUNT(waiting_pods)) {
    size_t kind = (size_t)_i / VPA_COUNT(waiting_pods);
    int count = waiting_pods[(size_t)_i % VPA_COUNT(waiting_pods)];
    vpa_auto_free char *healthy = vpa_xprintf("p00-%02d/resize", count);

    server.mode = "InPlace";
    learn();
    for (int p = 0; p < count; p++)
        show_resizing(p, waiting[kind].cpu, waiting[kind].condition);
    pass_for(1);
    ck_assert_msg(was_called(healthy), "%s of %d", healthy, count);
    pass_for(1);
    ck_assert_double_eq(resized(), 1);
    updater_flush(server.updater, VPA_MINUTE);
    ck_assert_int_eq((int)server.events, 2);
    show_resized(count, "2026-03-01T11:00:00Z", "");
    pass_for(1);
    ck_assert_double_eq(failed_proofs("NotResized"), 0);
    ck_assert_double_eq(resized(), strcmp(waiting[kind].cpu, "1") == 0 ? 10 : 10 - count);
}

/* Each takes its size and crashes. */
static void crash_from(size_t call)
{
    for (size_t k = call; k < server.call_count; k++)
        show_resized(atoi(server.calls[k] + strlen("p00-")), NULL, RESTARTED);
}

/* All of them wait, and none bears the new size: one tries it, and one more after each pause. */
TEST_TIMES(pods_that_wait_do_not_all_get_what_they_do_not_bear, 2) {
    server.mode = "InPlace";
    learn();
    for (int p = 0; p < 10; p++)
        show_resizing(p, "1", _i ? FAILED : DEFERRED);
    for (int minute = 0; minute < 60; minute++) {
        size_t before = server.call_count;

        pass_for(1);
        ck_assert_uint_le(server.call_count, before + 1);
        crash_from(before);
        ck_assert_uint_le(server.call_count, minute < 10 ? 1 : minute < 30 ? 2 : 3);
    }
    ck_assert_uint_eq(server.call_count, 3);
    ck_assert_double_ge(failed_proofs("Crashing"), 2);
}

/* What waits for room gets its size when there is some: then it shows whether it bears it, and one
 * failure of many is enough for the first pause. */
TEST_TIMES(a_resize_that_had_waited_for_room_is_judged, 2) {
    server.mode = "InPlace";
    if (_i)
        server.config.pod_update_threshold = 0;
    learn();
    for (size_t minute = 0; minute < 5; minute++) {
        pass_for(1);
        ck_assert_uint_eq(server.call_count, minute + 1); /* one in a pass */
        show_resizing((int)minute, "2", DEFERRED);
    }
    crash_from(0);
    pass_for(10);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_double_eq(failed_proofs("Crashing"), 1);
    ck_assert_ptr_nonnull(strstr(condition(), "\"type\":\"ResizesPaused\",\"status\":\"True\""));
    pass_for(2);
    ck_assert_uint_eq(server.call_count, 6);
    show_resized(5, "2026-03-01T11:00:00Z", ""); /* it bears it: what has failed is known */
    pass_for(3);
    ck_assert_double_eq(failed_proofs("Crashing"), 1);
    ck_assert_ptr_null(strstr(condition(), "\"status\":\"True\""));
}

static void want(const char *target)
{
    vpa_auto_free char *vpa = vpa_text(0);
    vpa_auto_free char *wants =
        replaced(vpa, "\"target\":{\"cpu\":\"2\"},\"lowerBound\":{\"cpu\":\"1500m\"", target);

    show_object(VPA_API, VPA_KIND, wants);
    settle();
}

/* A pod that had waited for room gets its old size, bears it or not: that says nothing of what is
 * wanted by now, within the bounds or not. */
static const struct {
    const char *wants, *cpu; /* of the other pod, which crashes by it; NULL: nothing comes of it */
} later[] = {
    {"\"target\":{\"cpu\":\"5\"},\"upperBound\":{\"cpu\":\"9\"},\"lowerBound\":{\"cpu\":\"1500m\"",
     "5"},
    {"\"target\":{\"cpu\":\"1200m\"},\"upperBound\":{\"cpu\":\"3\"},\"lowerBound\":{\"cpu\":"
     "\"1100m\"",
     "1200m"},
    {"\"target\":{\"cpu\":\"5\"},\"lowerBound\":{\"cpu\":\"4\"", NULL},
};

TEST_EACH(a_resize_that_had_waited_for_room_proves_no_other_size, later) {
    const char *cpu = later[_i].cpu;

    server.mode = "InPlace";
    learn();
    pass_for(1);
    show_resizing(0, "2", DEFERRED);
    want(later[_i].wants);
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_str_eq(server.calls[1], "p00-01/resize");
    if (cpu) {
        show_resized_to(cpu, 1, NULL, RESTARTED);
        pass_for(2);
        ck_assert_double_eq(failed_proofs("Crashing"), 1);
    }
    show_resized(0, cpu ? "2026-03-01T11:00:00Z" : NULL, cpu ? "" : RESTARTED);
    pass_for(cpu ? 3 : 1);
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_double_eq(failed_proofs("Crashing"), cpu != NULL);
    ck_assert_int_eq(strstr(condition(), "\"status\":\"True\"") != NULL, cpu != NULL);
}

/* The size is known to crash: while others wait for room one is tried after each pause. */
TEST(a_pause_goes_on_while_pods_wait_for_room) {
    server.mode = "InPlace";
    learn();
    pass_for(1);
    crash_from(0);
    pass_for(2);
    ck_assert_double_eq(failed_proofs("Crashing"), 1);
    for (size_t minute = 0; minute < 45; minute++) {
        size_t before = server.call_count;

        pass_for(1);
        for (size_t k = before; k < server.call_count; k++)
            show_resizing(atoi(server.calls[k] + strlen("p00-")), "2", DEFERRED);
        ck_assert_uint_le(server.call_count, 2 + minute / 10);
    }
    ck_assert_uint_ge(server.call_count, 4);
}

/* One of those that waited crashes while a pause goes on because another one was not resized: that
 * is what is said then, and nobody forgives it when that one is gone. */
TEST(a_late_crash_is_worse_than_what_was_not_resized) {
    server.mode = "InPlace";
    server.pods_per_vpa = 2;
    learn();
    pass_for(1);
    show_resizing(0, "2", DEFERRED);
    pass_for(1);
    show_resizing(1, "2", FAILED);
    pass_for(2);
    ck_assert_double_eq(failed_proofs("NotResized"), 1);
    show_resized(0, NULL, RESTARTED);
    pass_for(1);
    ck_assert_double_eq(failed_proofs("Crashing"), 0); /* one pause is one failure */
    show_resized(0, "2026-03-01T11:00:00Z", RESTARTED);
    show_resized(1, "2026-03-01T11:00:00Z", "");
    want("\"target\":{\"cpu\":\"2\"},\"lowerBound\":{\"cpu\":\"1900m\"");
    restart();
    pass_for(2);
    ck_assert_ptr_nonnull(strstr(condition(), "\"type\":\"ResizesPaused\",\"status\":\"True\""));
    ck_assert_ptr_nonnull(strstr(condition(), "Crashing"));
}

/* Another size was accepted while it waited for room: that is what it is judged by, once. */
TEST(a_pod_that_waits_for_another_size_is_judged_by_that) {
    server.mode = "InPlace";
    server.pods_per_vpa = 2;
    learn();
    show_resized(1, "2026-03-01T11:00:00Z", "");
    pass_for(1);
    show_resizing(0, "2", DEFERRED);
    pass_for(1);
    want("\"target\":{\"cpu\":\"5\"},\"lowerBound\":{\"cpu\":\"4\"");
    show_resized_to("5", 1, "2026-03-01T11:00:00Z", "");
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 2);
    show_resizing(0, "5", DEFERRED);
    pass_for(2);
    show_resized_to("5", 0, NULL, RESTARTED);
    pass_for(3);
    ck_assert_double_eq(failed_proofs("Crashing"), 1);
}

/* It keeps what it was waiting for, and crashes by that. */
TEST(a_refused_resize_does_not_end_what_a_pod_waits_for) {
    server.mode = "InPlace";
    server.pods_per_vpa = 2;
    learn();
    show_resized(1, "2026-03-01T11:00:00Z", "");
    pass_for(1);
    show_resizing(0, "2", DEFERRED);
    pass_for(1);
    server.resize_refusal = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
                            "\"Forbidden\",\"message\":\"no\",\"code\":403}";
    server.refusal_code = 403;
    want("\"target\":{\"cpu\":\"5\"},\"lowerBound\":{\"cpu\":\"3\"");
    pass_for(1);
    ck_assert_uint_ge(server.call_count, 2);
    want("\"target\":{\"cpu\":\"2\"},\"lowerBound\":{\"cpu\":\"1500m\"");
    show_resized(0, NULL, RESTARTED);
    pass_for(10);
    ck_assert_double_eq(failed_proofs("Crashing"), 1);
}

/* Ready between two crashes, and for a moment near enough to what is wanted: no reason to let the
 * others have what crashed, also when nobody remembers the pod. */
TEST_TIMES(a_crash_is_not_forgiven_because_nothing_is_to_be_resized, 2) {
    server.mode = "InPlace";
    learn();
    pass_for(1);
    crash_from(0);
    pass_for(2);
    ck_assert_ptr_nonnull(strstr(condition(), "\"type\":\"ResizesPaused\",\"status\":\"True\""));
    if (_i)
        restart();
    show_resized(0, "2026-03-01T11:00:00Z", RESTARTED);
    want("\"target\":{\"cpu\":\"1050m\"},\"lowerBound\":{\"cpu\":\"900m\"");

    size_t calls = server.call_count;

    pass_for(1);
    want("\"target\":{\"cpu\":\"2\"},\"lowerBound\":{\"cpu\":\"1500m\"");
    pass_for(3);
    ck_assert_uint_eq(server.call_count, calls);
    ck_assert_ptr_nonnull(strstr(condition(), "\"type\":\"ResizesPaused\",\"status\":\"True\""));
}

/* The group is proven, and its kubelets fail: they are asked once more, and again when they have
 * failed anew. */
TEST(a_size_is_sent_again_once_for_each_failure) {
    server.mode = "InPlace";
    learn();
    pass_for(1);
    show_resized(0, "2026-03-01T11:00:00Z", "");
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 10);
    for (int p = 0; p < 10; p++)
        show_resizing(p, "2", FAILED);
    pass_for(60);
    ck_assert_uint_eq(server.call_count, 20);
    show_resizing(0, "2", IN_PROGRESS);
    pass_for(1);
    show_resizing(0, "2", FAILED);
    pass_for(60);
    ck_assert_uint_eq(server.call_count, 21);
}

/* All pods have what they are to have, so that nothing is paused: also when nobody remembers which
 * of them had failed. */
TEST_TIMES(resizes_are_paused_no_more_when_all_is_well, 2) {
    server.mode = "InPlace";
    server.pods_per_vpa = 2;
    learn();
    pass_for(1);
    show_resizing(0, "2", FAILED);
    pass_for(2);
    ck_assert_ptr_nonnull(strstr(condition(), "\"type\":\"ResizesPaused\",\"status\":\"True\""));
    if (_i)
        restart();
    pass_for(15);
    show_resizing(1, "2", DEFERRED);
    pass_for(5);
    ck_assert_ptr_nonnull(strstr(condition(), "\"type\":\"ResizesPaused\",\"status\":\"True\""));
    show_resized(0, "2026-03-01T11:00:00Z", "");
    show_resized(1, "2026-03-01T11:00:00Z", "");
    pass_for(2);
    ck_assert_ptr_null(strstr(condition(), "\"status\":\"True\""));
}

/* The node of one pod has no room, which says nothing of what the others are to have. */
TEST_TIMES(a_resize_that_waits_for_room_keeps_nobody, 2) {
    server.mode = _i ? "InPlaceOrRecreate" : "InPlace";
    learn();
    pass_for(1);
    show_resizing(0, "2", DEFERRED);
    pass_for(1);
    ck_assert(was_called("p00-01/resize"));
    show_resized(1, "2026-03-01T11:00:00Z", "");
    pass_for(20);
    ck_assert(was_called("p00-02/resize"));
    ck_assert_double_eq(failed_proofs("NotResized"), 0);
}

/* The values may be good for others: when the pause is over another pod shows it. */
TEST(a_resize_that_fails_is_tried_again_with_another_pod) {
    server.mode = "InPlace";
    learn();
    pass_for(1);
    show_resizing(0, "2", FAILED);
    pass_for(2);
    ck_assert_double_eq(failed_proofs("NotResized"), 1);
    ck_assert(!was_called("p00-01/resize"));
    pass_for(10);
    ck_assert(was_called("p00-01/resize"));
    show_resized(1, "2026-03-01T11:00:00Z", "");
    pass_for(1);
    ck_assert(was_called("p00-09/resize"));
    ck_assert_double_eq(failed_proofs("NotResized"), 1);
}

/* It has waited for hours, and is sent another size: it has five minutes for that, too. */
TEST(a_pod_that_is_sent_another_size_has_its_time) {
    server.mode = "InPlace";
    server.pods_per_vpa = 2;
    start(0);
    show_resized(1, "2026-03-01T11:00:00Z", "");
    show_resizing(0, "2", DEFERRED);
    pass_for(60);
    show_resizing(0, "3", DEFERRED);
    pass_for(1);
    ck_assert(was_called("p00-00/resize"));
    show_resizing(0, "2", DEFERRED);
    server.mode = "InPlaceOrRecreate";
    show_vpas();
    settle();
    pass_for(4);
    ck_assert(!was_called("p00-00/eviction"));
    pass_for(3);
    ck_assert(was_called("p00-00/eviction"));
}

#define NO_LOWER_LIMIT                                                                             \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"message\":\"no\","       \
    "\"details\":{\"name\":\"p\",\"causes\":[{\"reason\":\"FieldValueForbidden\"}]},\"code\":422}"

/* The cpu of a pod does not wait for a memory limit that its server does not lower (Kubernetes
 * 1.33). */
TEST(a_memory_limit_that_is_not_lowered_keeps_no_cpu) {
    server.mode = "InPlace";
    server.pods_per_vpa = 2;
    server.resize_refusal = NO_LOWER_LIMIT;
    server.refusal_code = 422;
    learn();

    vpa_auto_free char *vpa = vpa_text(0), *text = pod_text(0, 0);
    vpa_auto_free char *wants =
        replaced(vpa, "\"target\":{\"cpu\":\"2\"", "\"target\":{\"cpu\":\"2\",\"memory\":\"1Gi\"");
    vpa_auto_free char *pod = replaced(
        text, "{\"requests\":{\"cpu\":\"1\"}}",
        "{\"requests\":{\"cpu\":\"1\",\"memory\":\"2Gi\"},\"limits\":{\"memory\":\"2Gi\"}}");

    show_object(VPA_API, VPA_KIND, wants);
    show_object("v1", "Pod", pod);
    show_resized(1, "2026-03-01T11:00:00Z", "");
    pass_for(1);
    ck_assert_ptr_nonnull(
        strstr(server.last_body,
               "\"path\":\"/spec/containers/0/resources/limits/memory\",\"value\":\"1Gi\""));
    pass_for(1);
    ck_assert_ptr_nonnull(strstr(server.last_body, "\"value\":\"2\""));
    ck_assert_ptr_null(strstr(server.last_body, "memory"));
}

/* With 2Gi of memory, which was not lowered. */
static void show_limited(int p, const char *cpu, const char *more)
{
    static const char conditions[] = "\"conditions\"";
    vpa_auto_free char *text = pod_text(0, p);
    vpa_auto_free char *requests = vpa_xprintf("{\"requests\":{\"cpu\":\"%s\",\"memory\":\"2Gi\"},"
                                               "\"limits\":{\"memory\":\"2Gi\"}}",
                                               cpu);
    vpa_auto_free char *limited = replaced(text, "{\"requests\":{\"cpu\":\"1\"}}", requests);
    vpa_auto_free char *status = vpa_xprintf("%s%s", more, conditions);
    vpa_auto_free char *pod = replaced(limited, conditions, status);

    show_object("v1", "Pod", pod);
    settle();
}

/* What was left out is no part of the proof: the others follow, unless the first crashes. */
TEST_TIMES(a_resize_without_its_memory_is_proven_by_its_cpu, 2) {
    server.mode = "InPlace";
    server.resize_refusal = NO_LOWER_LIMIT;
    server.refusal_code = 422;
    learn();

    vpa_auto_free char *vpa = vpa_text(0);
    vpa_auto_free char *wants =
        replaced(vpa, "\"target\":{\"cpu\":\"2\"",
                 "\"upperBound\":{\"cpu\":\"3\",\"memory\":\"1500Mi\"},\"target\":{\"cpu\":\"2\","
                 "\"memory\":\"1Gi\"");
    show_object(VPA_API, VPA_KIND, wants);
    show_object("v1", "Node",
                "{\"metadata\":{\"name\":\"node\"},\"status\":{\"allocatable\":{\"cpu\":\"400\","
                "\"memory\":\"400Gi\"}}}");
    for (int p = 0; p < 10; p++)
        show_limited(p, "1", "");
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 10); /* each was refused */
    server.resize_refusal = NULL;
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 11);
    show_limited(0, "2", _i ? RESTARTED : "");
    pass_for(1);
    ck_assert_uint_eq(server.call_count, _i ? 11 : 20);
    ck_assert_double_eq(failed_proofs("Crashing"), _i);
}

/* The pod that was evicted has just gone; for another one it is not too late. */
TEST(a_replacement_is_waited_for_by_a_clock_that_nobody_sets) {
    server.lost = true;
    learn();
    pass_for(1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    vpa_clock_set(server.clock, 24 * VPA_HOUR);
    updater_pass(server.updater);
    ck_assert_ptr_null(strstr(condition(), "\"status\":\"True\""));
    ck_assert_uint_eq(server.call_count, 1);
}

/* The first pod runs with its new size: the others follow in the next pass, as many as may go at
 * once. */
TEST(a_resize_that_was_carried_out_lets_the_others_follow) {
    server.mode = "InPlace";
    learn();
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 1);
    show_resized(0, "2026-03-01T11:00:00Z", "");
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 10);
}

/* A resize that was accepted, and of which nothing is seen for two minutes, is no proof of
 * anything: other pods are not kept waiting. */
TEST(a_resize_of_which_nothing_is_seen_is_dropped) {
    server.mode = "InPlace";
    learn();
    pass_for(2);
    ck_assert_uint_eq(server.call_count, 1);
    pass_for(3);
    ck_assert_uint_ge(server.call_count, 2);
    ck_assert_double_eq(failed_proofs("NotResized"), 0);
}

/* It was restarted because it was resized, which is no crash: when it is ready again the others
 * follow. */
TEST(a_container_that_was_restarted_for_its_resize_has_not_crashed) {
    server.mode = "InPlace";
    server.container = RESTARTS;
    learn();
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 1);
    show_resized(0, READY_AGAIN, RESTARTED);
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 6);
    ck_assert_double_eq(failed_proofs("Crashing"), 0);
}

/* It does not come back: no other pod is restarted. */
TEST_TIMES(a_resized_pod_that_is_not_ready_again_keeps_the_others, 2) {
    server.mode = "InPlace";
    server.container = _i ? RESTARTS : "";
    learn();
    pass_for(1);
    show_resized(0, NULL, _i ? RESTARTED : "");
    pass_for(10);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(failed_proofs("NotReady"), 0);
    pass_for(2);
    ck_assert_double_eq(failed_proofs("NotReady"), 1);
    ck_assert_uint_eq(server.call_count, 1);
}

/* Smaller, and killed for it: one pod is enough to see that. */
TEST_TIMES(a_resize_that_makes_a_container_crash_is_no_storm, 2) {
    server.mode = "InPlace";
    learn();
    pass_for(1);
    show_resized(0, _i ? READY_AGAIN : NULL, RESTARTED);
    pass_for(8);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(failed_proofs("Crashing"), 1);
    ck_assert_ptr_nonnull(strstr(condition(), "\"type\":\"ResizesPaused\",\"status\":\"True\""));
}

int main(void)
{
    return run_tests("updater_prove_resize", setup, teardown);
}
