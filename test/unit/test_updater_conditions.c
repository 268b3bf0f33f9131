/*
 * Conditions of the updater on VPAs: how much of them a pass writes, and what those that cannot be
 * written are to the others.
 */
#include "proof_fixture.h"

#include "../../updater/condition.h"
#include "../../updater/note.h"
#include "captured_log.h"

#define PAUSED "[{\"type\":\"EvictionsPaused\",\"status\":\"True\",\"reason\":\"NotPatched\"}]"

/* Fifty in a pass. */
TEST(a_pass_writes_so_many_pauses) {
    server.vpas = 60;
    server.pods_per_vpa = 2;
    learn();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 60);
    ck_assert_uint_eq(server.status_patches, 0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.status_patches, 50);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.status_patches, 60);
    ck_assert_uint_eq(server.call_count, 60);
}

TEST(a_pass_takes_so_many_pauses_back) {
    server.vpas = 60;
    server.pods_per_vpa = 2;
    server.request = "2";
    server.conditions = vpa_xstrdup(PAUSED);
    server.config.prove_evictions = "off";
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.status_patches, 50);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.status_patches, 60);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.status_patches, 60);
}

/* Whoever judges patches is away: each one takes ten seconds and is refused. A VPA that is not
 * paused gets on all the same, and the pass ends in time. */
static const char *const proofs[] = {"replacement", "off"};

TEST_EACH(pauses_that_cannot_be_written_hold_nobody_up, proofs) {
    int64_t begun;

    server.vpas = 31;
    server.pods_per_vpa = 2;
    server.conditions = vpa_xstrdup(PAUSED);
    server.config.prove_evictions = proofs[_i];
    server.proving = true;
    server.status_code = 500;
    server.status_delay = 10 * VPA_SECOND;
    start(0);
    hide_vpa("v30");
    free(server.conditions);
    server.conditions = NULL;
    show_vpas();
    settle();
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_uint_ge(server.call_count, 1);
    ck_assert_str_eq(server.calls[server.call_count - 1], "p30-00/eviction");
    ck_assert_int_le(vpa_loop_monotonic(server.loop) - begun, VPA_MINUTE);
    ck_assert_uint_eq(server.status_tries, 1); /* one shows what would become of the others */
}

/* One namespace refuses them: the others are not kept from being written. */
TEST(a_pause_that_cannot_be_written_holds_no_other_up) {
    server.vpas = 8;
    server.pods_per_vpa = 2;
    server.status_code = 500;
    server.status_of = "/v02/";
    learn();
    pass_for(2);
    ck_assert_uint_eq(server.status_patches, 2);
    pass_for(1);
    ck_assert_uint_eq(server.status_patches, 7);
}

/* They take their time and are written: as many as go into a quarter of an interval before pods
 * are changed, and the rest in the next passes. */
TEST(pauses_that_are_slowly_written_have_their_share) {
    server.vpas = 10;
    server.pods_per_vpa = 2;
    server.status_delay = 4 * VPA_SECOND;
    learn();
    pass_for(2);
    ck_assert_uint_eq(server.status_patches, 4);
    pass_for(1);
    ck_assert_uint_eq(server.status_patches, 8);
}

/* A newer version is there, or none: that says nothing about the others. */
static const struct {
    int code;
    const char *body;
} of_one[] = {{409, CONFLICT}, {422, NOT_AS_TESTED}, {404, NULL}};

TEST_EACH(a_vpa_that_is_another_one_ends_no_writing, of_one) {
    server.vpas = 5;
    server.pods_per_vpa = 2;
    server.status_code = of_one[_i].code;
    server.status_body = of_one[_i].body;
    server.status_of = "/v02/";
    learn();
    pass_for(2);
    ck_assert_uint_eq(server.status_patches, 4);
}

/* A panic in the middle of them: no further one. */
TEST_TIMES(a_panic_ends_the_writing_of_pauses, 2) {
    server.vpas = 20;
    server.pods_per_vpa = 2;
    server.panic_at_status = 3;
    if (_i == 1) {
        server.conditions = vpa_xstrdup(PAUSED);
        server.config.prove_evictions = "off";
        start(0);
    } else {
        learn();
        updater_pass(server.updater);
    }
    ck_assert_uint_eq(server.status_patches, 0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.status_patches, 3);
}

/* Two updaters share the cluster by namespaces: the other one's pauses are nobody else's. */
TEST_TIMES(pauses_of_another_updater_stay, 2) {
    server.conditions = vpa_xstrdup(PAUSED);
    server.config.common.ignored_vpa_object_namespaces = "m,n";
    server.proving = _i;
    start(0);
    pass_for(3);
    ck_assert_uint_eq(server.status_patches, 0);
    ck_assert_double_eq(paused("vpa"), 0);
}

/* Its evictions never happen: nothing is paused, or taken back. */
TEST(a_shadow_has_no_pauses) {
    server.conditions = vpa_xstrdup(PAUSED);
    server.config.shadow = true;
    learn();
    pass_for(3);
    ck_assert_uint_eq(server.status_patches, 0);
    ck_assert_double_eq(paused("vpa"), 0);
}

/* Each VPA has a pause that is to be taken back. Patches whose paths have that are refused. */
static void start_refused(int vpas, const char *path)
{
    server.vpas = vpas;
    server.pods_per_vpa = 2;
    server.request = "2";
    server.conditions = vpa_xstrdup(PAUSED);
    server.config.prove_evictions = "off";
    server.status_code = 403;
    server.status_of = path;
    start(0);
}

/* Whatever judges patches of one namespace is away, or too slow: the others go on, and it is asked
 * again in each pass, once. */
static const struct {
    int code;
    vpa_duration delay;
} outages[] = {{500, 0}, {503, 0}, {500, 10 * VPA_SECOND}};

/* More VPAs in the namespace of the first. */
static void show_neighbours(int count)
{
    for (int i = 0; i < count; i++) {
        vpa_auto_free char *text = vpa_text(0);
        char *name = strstr(text, "\"v00\"");

        name[1] = 'a';
        name[3] = (char)('1' + i);
        show_object(VPA_API, VPA_KIND, text);
    }
    settle();
}

TEST_EACH(a_namespace_that_fails_holds_no_other_up, outages) {
    server.spread = true;
    start_refused(6, "/n00/");
    server.status_code = outages[_i].code;
    server.status_delay = outages[_i].delay;
    show_neighbours(4);
    pass_for(2);
    ck_assert_uint_eq(server.status_patches, 5);
    ck_assert_uint_eq(server.status_tries, 5 + 2);
    server.status_code = 0;
    server.status_delay = 0;
    pass_for(1); /* no ten minutes */
    ck_assert_uint_eq(server.status_patches, 10);
}

/* However many namespaces: no more than a share of the pass, and five. */
TEST(namespaces_that_all_fail_have_their_share) {
    int64_t begun;

    server.spread = true;
    start_refused(20, "/n");
    server.status_code = 500;
    server.status_delay = 10 * VPA_SECOND;
    begun = vpa_loop_monotonic(server.loop);
    updater_pass(server.updater);
    ck_assert_int_le(vpa_loop_monotonic(server.loop) - begun, 20 * VPA_SECOND);
    ck_assert_uint_le(server.status_tries, 4);
    server.status_tries = 0;
    server.status_delay = 0;
    updater_pass(server.updater);
    ck_assert_uint_eq(server.status_tries, 5);
    server.status_code = 0;
    updater_pass(server.updater);
    ck_assert_uint_eq(server.status_patches, 20);
}

/* ---- refusals ---- */

#define REFUSED "refuses to have a condition written"

/* A policy of one namespace, or a Role that is missing there, is nothing to the others. It is said
 * once, and asked again after ten minutes. */
TEST(a_refusal_is_of_its_namespace) {
    capture_log(0);
    server.spread = true;
    start_refused(20, "/n02/");
    pass_for(1);
    ck_assert_uint_eq(server.status_patches, 19);
    pass_for(9);
    ck_assert_uint_eq(server.status_tries, 20);
    ck_assert_uint_eq(logged(REFUSED), 1);
    ck_assert_uint_eq(logged("namespace=\"n02\""), 1);
    server.status_code = 0;
    pass_for(1);
    ck_assert_uint_eq(server.status_patches, 20);
}

/* What was written since is refused anew. */
TEST(a_refusal_behind_an_acceptance_is_told) {
    capture_log(0);
    start_refused(1, "/v00/");
    pass_for(1);
    ck_assert_uint_eq(logged(REFUSED), 1);
    server.status_code = 0;
    pass_for(10);
    ck_assert_uint_eq(server.status_patches, 1);
    server.status_code = 403;
    free(server.conditions);
    server.conditions = vpa_xstrdup(PAUSED);
    hide_vpa("v00");
    show_vpas();
    settle();
    pass_for(1);
    ck_assert_uint_eq(server.status_tries, 3);
    ck_assert_uint_eq(logged(REFUSED), 2);
}

/* A webhook and a policy may refuse it with other codes, and a VPA may not fit its schema any more:
 * that is no newer version. */
#define BY_POLICY                                                                                  \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"message\":\"no\","       \
    "\"details\":{\"name\":\"v02\",\"group\":\"autoscaling.k8s.io\",\"kind\":"                     \
    "\"verticalpodautoscalers\",\"causes\":[{\"message\":\"no\"}]},\"code\":422}"

static const struct {
    int code;
    const char *body;
} policies[] = {{422, BY_POLICY}, {422, NULL}, {400, NULL}, {409, NULL}, {413, NULL}};

TEST_EACH(a_policy_refuses_with_any_code, policies) {
    capture_log(0);
    start_refused(8, "/v02/");
    server.status_code = policies[_i].code;
    server.status_body = policies[_i].body;
    pass_for(9);
    ck_assert_uint_eq(server.status_patches, 7);
    ck_assert_uint_eq(server.status_tries, 8);
    ck_assert_uint_eq(logged(REFUSED), 1);
    ck_assert_uint_eq(logged("vpa=\"v02\""), 1);
    server.status_code = 0;
    pass_for(3);
    ck_assert_uint_eq(server.status_patches, 8);
}

/* What a policy says about some VPAs of a namespace keeps its other ones no longer than those take
 * to be asked about, one in a pass. */
TEST(a_refused_vpa_waits_alone) {
    start_refused(30, "/v0"); /* ten of them, the first */
    pass_for(1);
    ck_assert_uint_eq(server.status_tries, 1);
    pass_for(10);
    ck_assert_uint_eq(server.status_patches, 20);
    size_t tries = server.status_tries;
    ck_assert_uint_le(tries, 20 + 11);
    pass_for(30);
    ck_assert_uint_le(server.status_tries, tries + 30);
    server.status_code = 0;
    pass_for(11);
    ck_assert_uint_eq(server.status_patches, 30);
}

/* Half of the namespaces give no right, or all: five refusals in a pass, and the next one begins
 * behind them. */
TEST_TIMES(a_pass_is_refused_so_often, 2) {
    server.spread = true;
    start_refused(20, _i ? "/n" : "/n0");
    for (int i = 1; i <= 2; i++) {
        pass_for(1);
        ck_assert_uint_eq(server.status_tries, 5 * (size_t)i);
    }
    pass_for(1);
    ck_assert_uint_eq(server.status_patches, _i ? 0 : 10);
    pass_for(1);
    ck_assert_uint_eq(server.status_tries, 20);
    pass_for(6);
    ck_assert_uint_eq(server.status_tries, 20);
    server.status_code = 0;
    pass_for(4);
    ck_assert_uint_eq(server.status_patches, 20);
}

/* What was refused, or waits, is not written; what came to no answer may be. */
static const struct {
    int code;
    vpa_duration delay;
    bool may_be;
} results[] = {{403, 0, false}, {422, 0, false}, {500, 0, false}, {0, 10 * VPA_SECOND, true}};

TEST_EACH(it_is_said_whether_it_may_be_written, results) {
    const struct vpa_object vpa = {.meta = {.ns = "n", .name = "v00", .resource_version = "1"}};
    size_t from = 0;
    struct pass pass;
    struct condition_round round;

    start_refused(1, "/");
    server.status_code = results[_i].code;
    server.status_delay = results[_i].delay;
    updater_pass_init(&pass, updater_env(server.updater));
    round = updater_round(&pass, &from, 1);
    ck_assert(updater_condition_put(&round, &vpa, "EvictionsPaused", NULL) == results[_i].may_be);
    ck_assert(!updater_condition_put(&round, &vpa, "EvictionsPaused", NULL));
    ck_assert_uint_eq(server.status_tries, 1);
    updater_pass_release(&pass);
}

static size_t refused(void)
{
    size_t count = 0;
    void *note;

    for (size_t i = 0; vpa_table_next(&updater_env(server.updater)->notes, &i, NULL, &note);)
        count += ((const struct vpa_note *)note)->refused;
    return count;
}

/* However many VPAs that are refused come and go; who is still there is not asked again. */
TEST(refused_vpas_that_went_are_forgotten) {
    server.spread = true;
    start_refused(3, "/n");
    pass_for(1);
    ck_assert_uint_eq(refused(), 3);
    hide_object(VPA_API, VPA_KIND, "n00", "v00");
    hide_object(VPA_API, VPA_KIND, "n01", "v01");
    settle();
    pass_for(1);
    ck_assert_uint_eq(refused(), 1);
    ck_assert_uint_eq(updater_env(server.updater)->notes.count, 1);
    ck_assert_uint_eq(server.status_tries, 3);
}

int main(void)
{
    return run_tests("updater_conditions", setup, teardown);
}
