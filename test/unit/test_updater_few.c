/*
 * The condition TooFewReplicas: written once when it has been so for a while, gone when it is over,
 * and never in every pass.
 */
#include <stdio.h>

#include "proof_fixture.h"

#include "../../updater/few.h"
#include "../../updater/answer.h"
#include "../../updater/note.h"
#include "captured_log.h"

/* One pod that has what it should have, a pass a minute. */
static void begin_few(void)
{
    server.pods_per_vpa = 1;
    server.request = "2";
    server.proving = true;
    server.touch = true;
    start(0);
}

static void change_vpa(const char *mode, const char *policy)
{
    server.mode = mode;
    server.policy = policy;
    server.generation_of_vpas++;
    touch_vpa();
    vpa_loop_pump(server.loop, VPA_SECOND);
}

#define ENOUGH ",\"minReplicas\":1"

TEST(it_is_written_once) {
    begin_few();
    pass_for(UPDATER_FEW_PASSES - 1);
    ck_assert_uint_eq(server.status_patches, 0);
    pass_for(1);
    ck_assert_uint_eq(server.status_patches, 1);
    ck_assert_ptr_nonnull(strstr(server.last_annotation, "\"path\":\"/metadata/resourceVersion\""));
    ck_assert_ptr_nonnull(
        strstr(server.conditions, "\"type\":\"TooFewReplicas\",\"status\":\"True\""));
    ck_assert_ptr_nonnull(strstr(server.conditions,
                                 "\"reason\":\"MinReplicas\",\"message\":\"Running pods are left "
                                 "alone: ReplicaSet rs00 has 1 live pods, --min-replicas asks for "
                                 "2\""));
    pass_for(60);
    ck_assert_uint_eq(server.status_patches, 1);
}

/* Nobody has recommended anything yet. */
TEST(it_is_written_where_there_is_no_status) {
    vpa_auto_free char *text = NULL, *bare = NULL;

    server.pods_per_vpa = 1;
    server.proving = true;
    start(0);
    text = vpa_text(0);
    bare = vpa_xprintf("%.*s}", (int)(strstr(text, ",\"status\":") - text), text);
    hide_vpa("v00");
    show_object(VPA_API, VPA_KIND, bare);
    settle();
    pass_for(60);
    ck_assert_ptr_nonnull(server.conditions);
    ck_assert_ptr_nonnull(
        strstr(server.conditions, "\"type\":\"TooFewReplicas\",\"status\":\"True\""));
    ck_assert_uint_eq(server.status_patches, 1);
}

/* Of many VPAs fifty in a pass. */
TEST(a_pass_writes_so_many_at_most) {
    server.vpas = 60;
    server.pods_per_vpa = 1;
    server.request = "2";
    server.proving = true;
    start(0);
    pass_for(UPDATER_FEW_PASSES - 1);
    ck_assert_uint_eq(server.status_patches, 0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.status_patches, 50);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.status_patches, 60);
}

/* Each one takes ten seconds and is refused: the pass ends in time, and with one that could be
 * written the others are not lost. */
TEST(those_that_cannot_be_written_hold_nobody_up) {
    int64_t begun;

    server.vpas = 40;
    server.status_code = 500;
    server.status_delay = 10 * VPA_SECOND;
    begin_few();
    server.touch = false;
    pass_for(UPDATER_FEW_PASSES - 1);
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_int_le(vpa_loop_monotonic(server.loop) - begun, VPA_MINUTE);
    ck_assert_uint_eq(server.status_tries, 1);
    server.status_of = "/v01/";
    server.status_delay = 0;
    pass_for(2);
    ck_assert_uint_eq(server.status_patches, 39);
}

static void show_vpa(int v, const char *policy)
{
    const char *others = server.policy;

    server.policy = policy;
    vpa_auto_free char *text = vpa_text(v);
    server.policy = others;
    show_object(VPA_API, VPA_KIND, text);
    vpa_loop_pump(server.loop, VPA_SECOND);
}

/* Evictions take all of an interval, in every pass: what is to be written comes, if slowly, also
 * where that of another VPA never can be. */
static const struct {
    int code;
    const char *body;
} never[] = {{0, NULL},       {403, NULL}, {422, NULL}, {400, NULL}, {422, NOT_AS_TESTED},
             {409, CONFLICT}, {404, NULL}, {500, NULL}};

TEST_EACH(a_late_pass_writes_one, never) {
    size_t written = never[_i].code == 0;

    server.status_code = never[_i].code;
    server.status_body = never[_i].body;
    server.status_of = "/v00/";
    server.vpas = 6;
    server.pods_per_vpa = 1;
    server.policy = ENOUGH;
    server.delay = 25 * VPA_SECOND;
    start(1);
    show_vpa(0, "");
    show_vpa(1, "");
    pass_for(UPDATER_FEW_PASSES); /* in one of which they had no turn */
    ck_assert_uint_eq(server.status_patches, 0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.status_patches, written);
    ck_assert_uint_eq(server.status_tries, 1);
    settle();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.status_patches, written + 1);
}

/* What is only counted takes no room from what is to be written. */
TEST(only_what_is_written_counts) {
    server.vpas = 60;
    server.policy = ENOUGH;
    begin_few();
    show_vpa(59, "");
    pass_for(UPDATER_FEW_PASSES - 2);
    change_vpa("Recreate", "");
    pass_for(1);
    ck_assert_uint_eq(server.status_patches, 0);
    pass_for(1);
    ck_assert_uint_eq(server.status_patches, 1);
}

/* The numbers are those of now, when they have been so for a while. */
TEST(its_message_follows) {
    char since[64];

    begin_few();
    pass_for(10);
    snprintf(since, sizeof since, "%.50s", strstr(server.conditions, "\"lastTransitionTime\""));
    strrchr(since, 'Z')[1] = '\0';
    change_vpa("Recreate", ",\"minReplicas\":3");
    pass_for(UPDATER_FEW_PASSES - 1);
    change_vpa("Recreate", ",\"minReplicas\":4");
    pass_for(UPDATER_FEW_PASSES - 1);
    ck_assert_uint_eq(server.status_patches, 1);
    pass_for(1);
    ck_assert_uint_eq(server.status_patches, 2);
    ck_assert_ptr_nonnull(strstr(server.conditions, "minReplicas of the VPA asks for 4"));
    ck_assert_ptr_nonnull(strstr(server.conditions, since));
    pass_for(60);
    ck_assert_uint_eq(server.status_patches, 2);
}

/* VPAs of which passes in a row are counted. */
static size_t counted(void)
{
    size_t count = 0;
    void *note;

    for (size_t i = 0; vpa_table_next(&updater_env(server.updater)->notes, &i, NULL, &note);) {
        const struct few *f = &((const struct vpa_note *)note)->few;

        count += f->streak > 0 || f->message != NULL;
    }
    return count;
}

static const struct {
    const char *mode, *policy;
} ends[] = {{"Recreate", ENOUGH}, {"Off", ""}, {"Initial", ""}};

TEST_EACH(it_goes_when_it_is_over, ends) {
    begin_few();
    pass_for(10);
    change_vpa(ends[_i].mode, ends[_i].policy);
    pass_for(UPDATER_FEW_PASSES - 1);
    ck_assert_uint_eq(server.status_patches, 1);
    pass_for(1);
    ck_assert_uint_eq(server.status_patches, 2);
    ck_assert_str_eq(server.conditions, "[]");
    pass_for(60);
    ck_assert_uint_eq(server.status_patches, 2);
    ck_assert_uint_eq(counted(), 0);
}

/* A process that has just begun finds the condition of the one before. */
TEST(a_restart_takes_over) {
    server.conditions = vpa_xstrdup("[{\"type\":\"TooFewReplicas\",\"status\":\"True\"}]");
    server.policy = ENOUGH;
    begin_few();
    pass_for(60);
    ck_assert_uint_eq(server.status_patches, 1);
    ck_assert_str_eq(server.conditions, "[]");
}

#define PROVIDED "{\"type\":\"RecommendationProvided\",\"status\":\"True\"}"

/* Ours is the second of three: the others stay where they are. */
TEST(conditions_of_others_stay) {
    server.conditions =
        vpa_xstrdup("[" PROVIDED ",{\"type\":\"TooFewReplicas\",\"status\":\"True\","
                    "\"lastTransitionTime\":\"2026-02-01T00:00:00Z\",\"message\":"
                    "\"of before\"},{\"type\":\"Other\",\"status\":\"False\"}]");
    begin_few();
    pass_for(UPDATER_FEW_PASSES);
    ck_assert_uint_eq(server.status_patches, 1);
    ck_assert_ptr_nonnull(
        strstr(server.last_annotation, "{\"op\":\"replace\",\"path\":\"/status/conditions/1\","));
    ck_assert_ptr_nonnull(strstr(server.conditions, "\"2026-02-01T00:00:00Z\""));
    ck_assert_ptr_nonnull(strstr(server.conditions, "ReplicaSet rs00 has 1 live pods"));
    change_vpa("Recreate", ENOUGH);
    pass_for(UPDATER_FEW_PASSES);
    ck_assert_uint_eq(server.status_patches, 2);
    ck_assert_ptr_nonnull(
        strstr(server.last_annotation, "{\"op\":\"remove\",\"path\":\"/status/conditions/1\""));
    ck_assert_str_eq(server.conditions, "[" PROVIDED ",{\"type\":\"Other\",\"status\":\"False\"}]");
}

/* One that says so already is written once when it says it in other words, or does not say it. */
static const struct {
    const char *status, *message;
    size_t patches;
} said[] = {
    {"True",
     "Running pods are left alone: ReplicaSet rs00 has 1 live pods, --min-replicas asks for 2", 0},
    {"True", "so it is", 1},
    {"False",
     "Running pods are left alone: ReplicaSet rs00 has 1 live pods, --min-replicas asks for 2", 1},
};

TEST_EACH(what_is_said_already_is_not_written, said) {
    server.conditions = vpa_xprintf("[{\"type\":\"TooFewReplicas\",\"status\":\"%s\",\"message\":"
                                    "\"%s\"}]",
                                    said[_i].status, said[_i].message);
    begin_few();
    pass_for(3 * UPDATER_FEW_PASSES);
    ck_assert_uint_eq(server.status_patches, said[_i].patches);
    ck_assert_ptr_nonnull(strstr(server.conditions, "\"status\":\"True\""));
    ck_assert_ptr_nonnull(strstr(server.conditions, said[0].message));
}

TEST(what_goes_to_and_fro_writes_nothing) {
    begin_few();
    for (int i = 0; i < 40; i++) {
        change_vpa("Recreate", i % 4 < 2 ? ENOUGH : "");
        pass_for(1);
    }
    ck_assert_uint_eq(server.status_patches, 0);
}

/* Some of its pods could be changed: nothing to say. */
TEST(enough_pods_say_nothing) {
    begin_few();
    change_vpa("Recreate", ENOUGH);
    pass_for(30);
    ck_assert_uint_eq(server.status_patches, 0);
    ck_assert_uint_eq(counted(), 0);
}

TEST(without_the_right_it_is_said_once) {
    capture_log(0);
    server.status_denied = true;
    begin_few();
    pass_for(50);
    ck_assert_uint_eq(logged("refuses to have a condition written"), 1);
    ck_assert_uint_eq(server.status_patches, 0);
}

/* An answer that says that a newer version is there is no news: the next pass sees that one. */
static const struct {
    int code;
    const char *body;
    bool is_told;
} refusals[] = {
    {409, CONFLICT, false}, {422, NOT_AS_TESTED, false}, {404, NULL, true}, {500, NULL, true}};

TEST_EACH(what_was_refused_is_written_in_the_next_pass, refusals) {
    capture_log(0);
    server.status_code = refusals[_i].code;
    server.status_body = refusals[_i].body;
    begin_few();
    pass_for(10);
    ck_assert_uint_eq(server.status_patches, 0);
    ck_assert_int_eq(logged("Cannot write a condition") > 0, refusals[_i].is_told);
    server.status_code = 0;
    pass_for(1);
    ck_assert_uint_eq(server.status_patches, 1);
}

/* Two updaters share the cluster by namespaces: what the other one says is not taken back. */
TEST(vpas_that_are_passed_over_are_another_updaters) {
    server.conditions = vpa_xstrdup("[{\"type\":\"TooFewReplicas\",\"status\":\"True\"}]");
    server.config.common.ignored_vpa_object_namespaces = "m,n";
    begin_few();
    pass_for(3 * UPDATER_FEW_PASSES);
    ck_assert_uint_eq(server.status_patches, 0);
}

TEST(vpas_that_went_are_forgotten) {
    server.vpas = 13;
    begin_few();
    server.touch = false;
    show_vpa(12, ENOUGH);
    pass_for(2);
    ck_assert_uint_eq(counted(), 12);
    for (int v = 1; v < 12; v++) {
        vpa_auto_free char *name = vpa_xprintf("v%02d", v);

        hide_vpa(name);
    }
    vpa_loop_pump(server.loop, VPA_SECOND);
    pass_for(1);
    ck_assert_uint_eq(counted(), 1);
}

/* Three VPAs whose pods ask for too little, and no token to evict one. */
static void begin_limited(void)
{
    struct pass pass;

    server.vpas = 3;
    server.pods_per_vpa = 1;
    server.proving = true;
    server.policy = ENOUGH;
    server.config.eviction_rate_limit = 1e-6;
    start(0);
    updater_pass_init(&pass, updater_env(server.updater));
    ck_assert_int_eq(updater_pass_take_token(&pass, &pass.env->eviction_rate), PASS_TOKEN_TAKEN);
    updater_pass_release(&pass);
}

TEST(it_is_written_while_a_limiter_ends_each_pass) {
    begin_limited();
    show_vpa(0, "");
    pass_for(UPDATER_FEW_PASSES - 1);
    ck_assert_uint_eq(server.status_patches, 0);
    pass_for(1);
    ck_assert_uint_eq(server.status_patches, 1);
    ck_assert_uint_eq(server.call_count, 0);
    ck_assert_ptr_nonnull(strstr(server.conditions, "ReplicaSet rs00 has 1 live pods"));
}

/* What a pass did not come to is neither taken back nor counted. */
TEST(what_a_pass_has_not_looked_at_stays_as_it_is) {
    server.conditions = vpa_xstrdup("[{\"type\":\"TooFewReplicas\",\"status\":\"True\"}]");
    begin_limited();
    pass_for(3 * UPDATER_FEW_PASSES);
    ck_assert_uint_eq(server.status_patches, 0);
    server.mode = "Off";
    show_vpa(0, "");
    pass_for(UPDATER_FEW_PASSES);
    ck_assert_uint_eq(server.status_patches, 1);
    ck_assert_uint_eq(server.call_count, 0);
}

TEST(a_shadow_writes_nothing) {
    server.config.shadow = true;
    begin_few();
    pass_for(30);
    ck_assert_uint_eq(server.status_patches, 0);
}

int main(void)
{
    return run_tests("updater_few", setup, teardown);
}
