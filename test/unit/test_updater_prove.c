/*
 * What the updater learns from its evictions and resizes (U24): one useless action at most, told
 * with what was seen, and no further one until the reason is gone or a pause is over.
 */
#include "proof_fixture.h"

#include "../../updater/prove.h"
#include "captured_log.h"

/* ---- it works ---- */

TEST(the_first_is_waited_for_then_the_budget_decides) {
    server.reborn = "2";
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 6);
    pass_for(3);
    ck_assert_uint_eq(server.call_count, 10); /* each once */
    ck_assert_uint_eq(server.status_patches, 0);
    ck_assert_uint_eq(server.unscheduled_lists, 0);
}

TEST(each_group_proves_itself) {
    server.reborn = "2";
    server.vpas = 3;
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 3);
}

TEST(without_proofs_all_go_at_once) {
    server.config.prove_evictions = "off";
    start(0);
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 5);
}

/* ---- it does not ---- */

#define ENDED                                                                                      \
    ",\"containerStatuses\":[{\"name\":\"c\",\"lastState\":{\"terminated\":{\"reason\":\"Error\"," \
    "\"exitCode\":1}}}]"
#define UNSCHEDULED(cpu) UNSCHEDULED_BY(cpu, "0/3 nodes are available: 3 Insufficient cpu.")
#define UNSCHEDULED_BY(cpu, message)                                                               \
    "{\"metadata\":{\"name\":\"p-new\",\"namespace\":\"n\",\"uid\":\"new\","                       \
    "\"creationTimestamp\":\"2026-03-01T12:00:00Z\",\"ownerReferences\":[{\"apiVersion\":\"apps/"  \
    "v1\",\"kind\":\"ReplicaSet\",\"name\":\"rs00\",\"controller\":true}]},\"spec\":{"             \
    "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"" cpu "\"}}}]},"       \
    "\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"     \
    "\"False\",\"message\":\"" message "\"}]}}"

static const struct {
    const char *reborn, *status, *unscheduled;
    bool lost;
    const char *reason, *seen;
} failures[] = {
    {NULL, NULL, NULL, false, "NotPatched",
     "pod p00-00 has cpu request 1 in container c, wanted 2"},
    {"1600m", ENDED, NULL, false, "Crashing", "container c of pod p00-00 ended (Error)"},
    {NULL, NULL, NULL, true, "NoReplacement", "no replacement was created for pod p00-00, 9 of 10"},
    {NULL, NULL, UNSCHEDULED("2"), true, "Unschedulable", "3 Insufficient cpu."},
    {NULL, NULL, UNSCHEDULED("1"), true, "NotPatched", "pod p-new has cpu request 1"},
};

TEST_EACH(one_useless_eviction_and_no_more, failures) {
    const char *events;

    capture_log(0);
    server.reborn = failures[_i].reborn;
    server.reborn_status = failures[_i].status;
    server.unscheduled = failures[_i].unscheduled;
    server.lost = failures[_i].lost;
    learn();
    pass_for(9);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(failed_proofs(failures[_i].reason), 1);
    ck_assert_double_eq(paused("vpa"), 1);
    ck_assert_double_eq(paused("cluster"), 0);
    ck_assert_uint_le(server.unscheduled_lists, 1);
    /* said: once each */
    updater_flush(server.updater, VPA_MINUTE);
    events = vpa_buf_text(&server.event_bodies);
    ck_assert_ptr_nonnull(strstr(events, "\"reason\":\"EvictionsPaused\""));
    ck_assert_ptr_nonnull(strstr(events, failures[_i].seen));
    ck_assert_uint_eq(logged("An update did not help"), 1);
    /* a condition, with a test of the version that it rests on, written once */
    ck_assert_uint_eq(server.status_patches, 1);
    ck_assert_ptr_nonnull(strstr(server.last_annotation, "\"path\":\"/metadata/resourceVersion\""));
    ck_assert_ptr_nonnull(strstr(condition(), "\"type\":\"EvictionsPaused\",\"status\":\"True\""));
    ck_assert_ptr_nonnull(strstr(condition(), failures[_i].reason));
    ck_assert_ptr_nonnull(strstr(condition(), failures[_i].seen));
}

/* Also when nobody has said that it was evicted. */
TEST_TIMES(a_useless_eviction_without_an_answer_is_the_only_one, 2) {
    server.unanswered = true;
    server.unanswered_code = _i ? 504 : 0;
    server.unanswered_body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
                             "\"Timeout\",\"message\":\"no\",\"code\":504}";
    learn();
    pass_for(9);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(failed_proofs("NotPatched"), 1);
    ck_assert_double_eq(paused("vpa"), 1);
}

/* The API server cannot say whether a replacement is there: that is no verdict. */
TEST(a_list_that_fails_is_no_missing_replacement) {
    server.lost = true;
    server.unscheduled = UNSCHEDULED("2");
    server.unscheduled_code = 500;
    learn();
    pass_for(6);
    ck_assert_double_eq(paused("vpa"), 0);
    ck_assert_uint_eq(server.call_count, 1);
    server.unscheduled_code = 0;
    pass_for(2);
    ck_assert_double_eq(failed_proofs("NoReplacement"), 0);
    ck_assert_double_eq(failed_proofs("Unschedulable"), 1);
    ck_assert_uint_eq(server.call_count, 1);
}

/* 10, 20, 40 minutes: three more in the first hour and a bit. */
TEST(one_pod_after_each_pause_which_doubles) {
    learn();
    pass_for(9);
    ck_assert_uint_eq(server.call_count, 1);
    pass_for(4);
    ck_assert_uint_eq(server.call_count, 2);
    pass_for(17);
    ck_assert_uint_eq(server.call_count, 2);
    pass_for(5);
    ck_assert_uint_eq(server.call_count, 3);
}

TEST(a_trial_that_helps_closes_the_breaker) {
    learn();
    pass_for(9);
    server.reborn = "2";
    pass_for(4);
    ck_assert_uint_gt(server.call_count, 2);
    ck_assert_str_eq(condition(), "[]");
    ck_assert_double_eq(paused("vpa"), 0);
}

/* Somebody has deleted the bad pod, and the next one is as it should be. */
TEST(a_late_replacement_closes_the_breaker) {
    learn();
    pass_for(3);
    ck_assert_uint_eq(server.call_count, 1);
    server.reborn = "2";
    replace_pod("p00-00");
    pass_for(2);
    ck_assert_uint_gt(server.call_count, 1);
}

static void show_unready(int p)
{
    static const char ready[] = "\"type\":\"Ready\",\"status\":\"True\"";
    vpa_auto_free char *pod = pod_text(0, p);
    char *at = strstr(pod, ready);

    ck_assert_ptr_nonnull(at);
    memcpy(at + sizeof(ready) - sizeof("True\""), "None", strlen("None"));
    show_object("v1", "Pod", pod);
    settle();
}

/* It has the values, and ten minutes to become ready. */
TEST(a_replacement_that_never_becomes_ready_is_a_failure) {
    server.reborn = "2";
    learn();
    updater_pass(server.updater);
    show_unready(0);
    pass_for(11); /* seen in the first, ten minutes old in the eleventh */
    ck_assert_double_eq(failed_proofs("NotReady"), 0);
    pass_for(1);
    ck_assert_double_eq(failed_proofs("NotReady"), 1);
    ck_assert_ptr_nonnull(
        strstr(condition(), "pod p00-00 has the values and is not ready after 10 minutes"));
}

/* The pod that is not ready is another one by now: it has ten minutes of its own. */
TEST(a_replacement_that_was_replaced_has_its_time) {
    server.reborn = "2";
    learn();
    updater_pass(server.updater);
    show_unready(0);
    pass_for(9);
    ++*generation_of(0, 0);
    hide_object("v1", "Pod", "n", "p00-00");
    show_unready(0);
    pass_for(11);
    ck_assert_double_eq(failed_proofs("NotReady"), 0);
    pass_for(1);
    ck_assert_double_eq(failed_proofs("NotReady"), 1);
}

/* But not for ever: none of those that came has helped. */
TEST(replacements_that_never_become_ready_are_a_failure) {
    server.reborn = "2";
    learn();
    updater_pass(server.updater);
    for (int i = 0; i < 4; i++) {
        if (i > 0) {
            ++*generation_of(0, 0);
            hide_object("v1", "Pod", "n", "p00-00");
        }
        show_unready(0);
        pass_for(i < 3 ? 9 : 4); /* the first was seen thirty minutes before the last of them */
    }
    ck_assert_double_eq(failed_proofs("NotReady"), 0);
    pass_for(1);
    ck_assert_double_eq(failed_proofs("NotReady"), 1);
    ck_assert_ptr_nonnull(
        strstr(condition(), "pod p00-00 has the values and is not ready, and none of those that "
                            "came before it was within 30 minutes"));
}

/* Others come behind it, younger and slow as well: it has helped as soon as one of them is ready,
 * and has failed when the oldest was not ready for ten minutes. */
static void show_younger(int p)
{
    hide_object("v1", "Pod", "n", p == 5 ? "p00-05" : "p00-06");
    *generation_of(0, p) = p;
    show_unready(p);
}

TEST_TIMES(a_replacement_is_judged_by_its_own_time, 2) {
    server.reborn = "2";
    learn();
    updater_pass(server.updater);
    show_unready(0);
    pass_for(5);
    show_younger(5);
    pass_for(4);
    show_younger(6);
    if (_i) {
        show_pod(0, 0);
        settle();
        pass_for(1);
        ck_assert_uint_gt(server.call_count, 1);
        pass_for(6);
        ck_assert_double_eq(failed_proofs("NotReady"), 0);
        return;
    }
    pass_for(2);
    ck_assert_double_eq(failed_proofs("NotReady"), 0);
    pass_for(1);
    ck_assert_double_eq(failed_proofs("NotReady"), 1);
    ck_assert_ptr_nonnull(
        strstr(condition(), "pod p00-00 has the values and is not ready after 10 minutes"));
}

/* One pod came when the webhook was away for a moment. It is ready, and hides none of those that
 * have the values, listed before it or behind it, while the newest is not ready yet. */
TEST_TIMES(any_ready_pod_with_the_values_has_helped, 2) {
    server.reborn = "2";
    learn();
    updater_pass(server.updater);
    show_unready(0);
    for (int p = 5; p <= 6; p++) {
        server.reborn = (p == 5) == (_i == 0) ? "2" : NULL;
        *generation_of(0, p) = p;
        hide_object("v1", "Pod", "n", p == 5 ? "p00-05" : "p00-06");
        show_pod(0, p);
    }
    server.reborn = "2";
    *generation_of(0, 7) = 7;
    hide_object("v1", "Pod", "n", "p00-07");
    show_unready(7);
    pass_for(1);
    ck_assert_double_eq(failed_proofs("NotPatched"), 0);
    ck_assert_uint_gt(server.call_count, 1);
}

TEST(a_vpa_that_was_changed_is_tried_at_once) {
    learn();
    pass_for(4);
    server.generation_of_vpas++;
    show_vpas();
    settle();
    pass_for(2);
    ck_assert_uint_eq(server.call_count, 2);
}

/* Whichever of the pods shows it first. */
static const char *const changed_pods[] = {"p00-00", "p00-03", "p00-09"};
/* Deleted and created, as `kubectl replace --force` does. */
static void make_vpa_anew(void)
{
    hide_vpa("v00");
    free(server.conditions);
    server.conditions = NULL;
    server.uid_of_vpas = "w";
    show_vpas();
    settle();
}

TEST(a_vpa_that_was_made_anew_is_tried_at_once) {
    learn();
    pass_for(9);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(paused("vpa"), 1);
    make_vpa_anew();
    updater_pass(server.updater);
    ck_assert_double_eq(paused("vpa"), 0);
    ck_assert_uint_eq(server.call_count, 2);
    ck_assert_ptr_null(strstr(condition(), "\"status\":\"True\""));
}

/* What came back while it was away says nothing about the webhook. */
TEST(a_vpa_that_was_made_anew_has_not_failed) {
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    make_vpa_anew();
    updater_pass(server.updater);
    ck_assert_double_eq(failed_proofs("NotPatched"), 0);
    ck_assert_double_eq(paused("vpa"), 0);
    ck_assert_uint_eq(server.call_count, 2);
}

TEST_EACH(a_template_that_was_changed_is_tried_at_once, changed_pods) {
    server.labels = ",\"pod-template-hash\":\"1\"";
    learn();
    pass_for(4);
    server.labels = ",\"pod-template-hash\":\"2\"";
    replace_pod(changed_pods[_i]);
    pass_for(2);
    ck_assert_uint_eq(server.call_count, 2);
}

/* Of the new template, which no node takes. */
TEST(a_waiting_pod_of_another_template_proves_no_failure) {
    server.labels = ",\"controller-revision-hash\":\"1\"";
    server.lost = true;
    server.unscheduled = UNSCHEDULED("2");
    learn();
    pass_for(6);
    ck_assert_double_eq(failed_proofs("Unschedulable"), 0);
    ck_assert_double_eq(paused("vpa"), 0);
}

/* In the middle of a rollout: a StatefulSet keeps its name, and what comes is not what went. */
static const struct {
    const char *reborn, *status, *reason;
} rollouts[] = {
    {NULL, NULL, "NotPatched"},
    {"2", ENDED, "Crashing"},
};

TEST_EACH(a_pod_of_another_template_proves_no_failure, rollouts) {
    server.labels = ",\"controller-revision-hash\":\"1\"";
    server.reborn = rollouts[_i].reborn;
    server.reborn_status = rollouts[_i].status;
    learn();
    server.labels = ",\"controller-revision-hash\":\"2\"";
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    updater_pass(server.updater);
    ck_assert_double_eq(failed_proofs(rollouts[_i].reason), 0);
    ck_assert_double_eq(paused("vpa"), 0);
    ck_assert_uint_eq(server.call_count, 2); /* the next one is the first again */
}

/* A pass with a Lease that says so: the webhook renews it, or it is of an hour ago. */
static void pass_with_lease(const char *renewed)
{
    server.renewed = renewed;
    pass_for(1);
}

TEST(a_webhook_that_was_repaired_is_tried_at_once) {
    server.config.use_admission_status = true;
    learn();
    pass_with_lease("2026-03-01T13:00:00.000000Z");
    pass_with_lease("2026-03-01T13:01:00.000000Z");
    pass_with_lease("2026-03-01T13:02:00.000000Z");
    ck_assert_uint_eq(server.call_count, 1);
    pass_with_lease("2026-03-01T11:00:00.000000Z");
    ck_assert_uint_eq(server.call_count, 1);
    pass_with_lease("2026-03-01T13:04:00.000000Z");
    ck_assert_uint_eq(server.call_count, 2);
}

/* That is no repair: nobody knows that it was away. */
static const int unreadable[] = {403, 500, 503};
TEST_EACH(a_lease_that_cannot_be_read_repairs_nothing, unreadable) {
    server.config.use_admission_status = true;
    learn();
    pass_with_lease("2026-03-01T13:00:00.000000Z");
    pass_with_lease("2026-03-01T13:01:00.000000Z");
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(paused("vpa"), 1);
    server.lease_code = unreadable[_i];
    pass_with_lease("2026-03-01T13:02:00.000000Z");
    server.lease_code = 0;
    pass_with_lease("2026-03-01T13:03:00.000000Z");
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_double_eq(paused("vpa"), 1);
}

#define ACQUIRED(time) ",\"acquireTime\":\"2026-03-01T" time ".000000Z\""

/* Three VPAs' pods come back as they were, and the webhook's Lease tells of another start: no
 * breaker, one pod, and then all. */
TEST(a_webhook_that_was_away_is_no_failed_proof) {
    capture_log(0);
    server.config.use_admission_status = true;
    server.vpas = 3;
    server.status_denied = true;
    server.acquired = ACQUIRED("12:00:00");
    learn();
    pass_with_lease("2026-03-01T13:00:00.000000Z");
    ck_assert_uint_eq(server.call_count, 3);
    server.acquired = ACQUIRED("13:00:30");
    server.reborn = "2";
    pass_with_lease("2026-03-01T13:01:00.000000Z");
    ck_assert_uint_eq(server.call_count, 4);
    ck_assert_double_eq(paused("vpa"), 0);
    ck_assert_double_eq(failed_proofs("NotPatched"), 0);
    ck_assert_uint_eq(logged("The webhook was away"), 3);
    pass_with_lease("2026-03-01T13:02:00.000000Z");
    ck_assert_uint_gt(server.call_count, 4 + 2);
}

/* It comes back only after its pods were looked at: their breakers close again. */
TEST(a_webhook_that_is_late_back_is_no_failed_proof) {
    server.config.use_admission_status = true;
    server.vpas = 3;
    server.status_denied = true;
    server.acquired = ACQUIRED("12:00:00");
    learn();
    pass_with_lease("2026-03-01T13:00:00.000000Z");
    pass_with_lease("2026-03-01T13:00:05.000000Z"); /* its last one */
    ck_assert_double_eq(paused("vpa"), 3);
    ck_assert_double_eq(paused("cluster"), 0);
    server.acquired = ACQUIRED("13:01:50");
    server.reborn = "2";
    pass_with_lease("2026-03-01T13:02:00.000000Z");
    ck_assert_uint_eq(server.call_count, 4);
    ck_assert_double_eq(paused("vpa"), 0);
}

/* Its Lease goes on as before: it does not patch, and three VPAs stop their namespace. */
TEST(a_webhook_that_was_there_is_a_failed_proof) {
    server.config.use_admission_status = true;
    server.vpas = 3;
    server.status_denied = true;
    server.acquired = ACQUIRED("12:00:00");
    learn();
    pass_with_lease("2026-03-01T13:00:00.000000Z");
    pass_with_lease("2026-03-01T13:01:00.000000Z");
    pass_with_lease("2026-03-01T13:02:00.000000Z");
    ck_assert_uint_eq(server.call_count, 3);
    ck_assert_double_eq(paused("vpa"), 3);
    ck_assert_double_eq(paused("namespace"), 1);
}

/* A webhook that starts anew every minute and never patches. */
TEST(a_webhook_that_is_always_away_ends_in_a_pause) {
    server.config.use_admission_status = true;
    server.vpas = 3;
    server.status_denied = true;
    learn();
    for (int minute = 10; minute < 40; minute++) {
        vpa_auto_free char *renewed = vpa_xprintf("2026-03-01T13:%d:00.000000Z", minute);
        vpa_auto_free char *acquired =
            vpa_xprintf(",\"acquireTime\":\"2026-03-01T13:%d:00.000000Z\"", minute);

        server.acquired = acquired;
        pass_with_lease(renewed);
    }
    ck_assert_uint_le(server.call_count, 3 + 3 + 3);
    ck_assert_double_gt(paused("vpa"), 0);
}

/* Nothing is evicted: there is nothing to learn from, and nothing is paused. */
TEST(a_budget_that_always_refuses_is_no_failed_proof) {
    server.refuse = 1;
    learn();
    pass_for(5);
    ck_assert_double_eq(paused("vpa"), 0);
    ck_assert_uint_eq(server.status_patches, 0);
    for (int p = 0; p < server.pods_per_vpa; p++)
        ck_assert_int_eq(*generation_of(0, p), 0);
}

/* The pause ends when the condition says; nothing is written that is there already. */
TEST(a_restart_does_not_forget) {
    learn();
    pass_for(3);
    restart();
    pass_for(8);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_uint_eq(server.status_patches, 1);
    ck_assert_ptr_nonnull(strstr(condition(), "\"reason\":\"NotPatched\""));
    pass_for(1);
    ck_assert_uint_eq(server.call_count, 2);
}

/* The text is cut in the middle of a letter; what the server stores is a whole one. */
TEST(a_text_that_is_cut_is_written_once) {
    char text[401];

    memset(text, 'x', 399);
    text[399] = '\0';
    vpa_auto_free char *pod = vpa_xprintf(UNSCHEDULED_BY("2", "%s\xc3\xa9 no"), text);

    server.unscheduled = pod;
    server.lost = true;
    learn();
    pass_for(9);
    ck_assert_ptr_nonnull(strstr(condition(), "xxx; tried again"));
    ck_assert_uint_eq(server.status_patches, 1);
}

/* What was seen may be a text like ours. */
TEST(a_restart_reads_its_own_text_only) {
    server.unscheduled = UNSCHEDULED_BY("2", "no; tried again with one pod at noon");
    server.lost = true;
    learn();
    pass_for(4);
    ck_assert_uint_eq(server.status_patches, 1);
    restart();
    pass_for(3);
    ck_assert_uint_eq(server.status_patches, 1);
}

/* A target that cannot be asked for when the process begins. */
TEST(a_restart_does_not_forget_those_that_come_later) {
    server.owner_version = "x.io/v1";
    server.owner_kind = "Clone";
    server.replicas = 10;
    learn();
    pass_for(3);
    ck_assert_uint_eq(server.call_count, 1);
    server.scale_fails = true;
    restart();
    pass_for(1);
    server.scale_fails = false;
    pass_for(3);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_ptr_nonnull(strstr(condition(), "\"reason\":\"NotPatched\""));
}

/* The mode leaves pods alone: nothing is paused, before a restart or behind it. */
TEST_TIMES(a_vpa_that_is_switched_off_is_not_paused, 2) {
    learn();
    pass_for(3);
    ck_assert_str_ne(condition(), "[]");
    server.mode = "Off";
    if (_i == 0) {
        server.generation_of_vpas++;
        show_vpas();
        settle();
    } else {
        restart();
    }
    pass_for(2);
    ck_assert_str_eq(condition(), "[]");
    ck_assert_double_eq(paused("vpa"), 0);
}

TEST(without_proofs_nothing_is_paused) {
    learn();
    pass_for(3);
    server.config.prove_evictions = "off";
    restart();
    pass_for(1);
    ck_assert_str_eq(condition(), "[]");
    ck_assert_uint_gt(server.call_count, 1);
}

/* It closes while the condition cannot be taken back; that comes later, however long it takes. */
TEST(a_condition_that_cannot_be_taken_back_is_tried_again) {
    learn();
    pass_for(3);
    server.status_denied = true;
    server.generation_of_vpas++;
    show_vpas();
    settle();
    server.reborn = "2";
    pass_for(5);
    ck_assert_str_ne(condition(), "[]");
    ck_assert_uint_gt(server.call_count, 1);
    server.status_denied = false;
    pass_for(10);
    ck_assert_str_eq(condition(), "[]");
}

TEST(without_the_right_the_condition_is_missed_once) {
    capture_log(0);
    server.status_denied = true;
    learn();
    pass_for(9);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_uint_eq(logged("refuses to have a condition written"), 1);
    ck_assert_ptr_nonnull(server.last_annotation);
}

TEST(a_refused_condition_is_tried_again_after_ten_minutes) {
    server.status_denied = true;
    learn();
    pass_for(4);
    ck_assert_str_eq(condition(), "");
    server.status_denied = false;
    pass_for(7);
    ck_assert_str_eq(condition(), "");
    pass_for(1); /* ten minutes to the nanosecond */
    ck_assert_str_ne(condition(), "");
}

/* Beside the conditions that others wrote: one that is added is an object, not a list. */
TEST(a_condition_is_added_to_those_there_are) {
    server.conditions = vpa_xstrdup("[{\"type\":\"RecommendationProvided\",\"status\":\"True\"}]");
    learn();
    pass_for(3);
    ck_assert_ptr_nonnull(strstr(condition(), "\"type\":\"EvictionsPaused\""));
    ck_assert_ptr_nonnull(
        strstr(server.last_annotation,
               "\"path\":\"/status/conditions/-\",\"value\":{\"type\":\"EvictionsPaused\""));
}

/* The third VPA opens the breaker of its namespace, the third namespace the cluster's; told once.
 */
TEST_TIMES(several_vpas_stop_what_they_are_in, 2) {
    capture_log(0);
    server.vpas = 3;
    server.spread = _i;
    server.status_denied = true;
    learn();
    pass_for(9);
    ck_assert_uint_eq(server.call_count, 3);
    ck_assert_double_eq(paused("cluster"), _i);
    ck_assert_double_eq(paused("namespace"), !_i);
    ck_assert_uint_eq(logged("nothing is evicted in the whole cluster"), (size_t)_i);
    ck_assert_uint_eq(logged("nothing is evicted there"), (size_t)!_i);
    pass_for(4); /* nobody else is there to be tried first */
    ck_assert_uint_eq(server.call_count, 3);
    pass_for(10); /* one pod for all */
    ck_assert_uint_eq(server.call_count, 4);
}

/* ---- dry runs ---- */

static const struct {
    const char *cpu, *refusal;
    bool no_right;
    size_t calls; /* of the first pass */
    const char *reason, *seen;
} dry_runs[] = {
    {"2", NULL, false, 1, NULL, NULL},
    {NULL, NULL, false, 0, "NotPatched", "pod dry has cpu request 1 in container c, wanted 2"},
    {NULL, "exceeded quota: app", false, 0, "NoReplacement", "would be refused: "},
    {NULL, "pods is forbidden", true, 1, NULL, NULL},
};

/* No eviction at all where the replacement can be seen to be no good. */
TEST_EACH(a_replacement_is_tried_before_the_first_eviction, dry_runs) {
    server.config.prove_evictions = "dry-run";
    server.dry_cpu = dry_runs[_i].cpu;
    server.dry_refusal = dry_runs[_i].refusal;
    server.no_right = dry_runs[_i].no_right;
    server.reborn = "2";
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, dry_runs[_i].calls);
    ck_assert_uint_eq(server.dry_runs, 1);
    ck_assert_ptr_nonnull(strstr(server.dry_body, "\"generateName\":\"p00-00-\""));
    ck_assert(vpa_str_starts_with(server.dry_body, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\","));
    ck_assert_ptr_nonnull(strstr(server.dry_body, "\"ownerReferences\":[{"));
    ck_assert_ptr_null(strstr(server.dry_body, "\"uid\":\"0-0\""));
    ck_assert_ptr_null(strstr(server.dry_body, "\"status\""));
    pass_for(3);
    if (!dry_runs[_i].reason) {
        ck_assert_uint_eq(server.call_count, 10); /* the others without a dry run */
        ck_assert_uint_eq(server.dry_runs, 1);
        return;
    }
    ck_assert_uint_eq(server.call_count, 0);
    ck_assert_uint_eq(server.dry_runs, 1); /* until the pause is over */
    ck_assert_ptr_nonnull(strstr(condition(), dry_runs[_i].reason));
    ck_assert_ptr_nonnull(strstr(condition(), dry_runs[_i].seen));
}

/* A quota that just fits what runs refuses one pod more, and would take the one that is evicted
 * for. */
TEST_TIMES(refused_dry_runs_pause_neither_namespaces_nor_the_cluster, 2) {
    server.config.prove_evictions = "dry-run";
    server.vpas = 4;
    server.spread = _i == 0;
    server.dry_refusal = "exceeded quota";
    learn();
    pass_for(2);
    ck_assert_uint_eq(server.call_count, 0);
    ck_assert_uint_eq(server.dry_runs, 4);
    ck_assert_double_eq(paused("vpa"), 4);
    ck_assert_double_eq(paused("namespace"), 0);
    ck_assert_double_eq(paused("cluster"), 0);
}

/* A webhook that is not called, and whose Lease does not say that it was away, is that of all: also
 * of groups that were proven. */
TEST(dry_runs_without_values_pause_the_cluster) {
    server.config.prove_evictions = "dry-run";
    server.config.use_admission_status = true;
    server.acquired = ACQUIRED("11:00:00");
    server.vpas = 4;
    server.spread = true;
    learn();
    for (int minute = 0; minute < 6; minute++) {
        vpa_auto_free char *renewed = vpa_xprintf("2026-03-01T12:%02d:00.000000Z", minute);

        pass_with_lease(renewed);
    }
    ck_assert_uint_eq(server.call_count, 0);
    ck_assert_uint_eq(server.dry_runs, 3);
    ck_assert_double_eq(paused("cluster"), 1);
}

/* There is a token for the first VPA. The second one is refused, the third is not even tried. */
TEST(what_is_to_get_no_token_is_not_tried) {
    server.config.prove_evictions = "dry-run";
    server.config.eviction_rate_limit = 0.001;
    server.config.eviction_rate_burst = 1;
    server.vpas = 3;
    server.dry_cpu = server.reborn = "2";
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 1);
    ck_assert_uint_eq(server.dry_runs, 2);
}

int main(void)
{
    return run_tests("updater_prove", setup, teardown);
}
