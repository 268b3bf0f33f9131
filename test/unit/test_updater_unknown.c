/*
 * What unknown objects (U21) keep the updater from doing: VPAs, LimitRanges and pods that cannot be
 * decoded, beside healthy ones that ask for changes.
 */
#include "updater_fixture.h"
#include "captured_log.h"

#define HELD "vpa_updater_held_pods"
#define BAD_POLICY                                                                                 \
    "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"c\",\"minAllowed\":{\"cpu\":" \
    "\"1e1.5\"}}]}"
#define BAD_VPA(ns, target)                                                                        \
    "{\"metadata\":{\"name\":\"bad\",\"namespace\":\"" ns "\"},\"spec\":{" target BAD_POLICY "}}"
#define TARGET(kind, name)                                                                         \
    "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"" kind "\",\"name\":\"" name "\"},"

static void show_vpa(const char *object)
{
    show_object(VPA_API, VPA_KIND, object);
    settle();
}

static double held(const char *reason)
{
    return metric(HELD, (const char *const[]){reason});
}

/* ---- VPAs ---- */

static const struct {
    const char *vpa;
    size_t calls; /* of two VPAs with four pods each */
} unknown_vpas[] = {
    {BAD_VPA("n", TARGET("ReplicaSet", "rs00")), 2},
    {BAD_VPA("n", TARGET("ReplicaSet", "other")), 4},
    {BAD_VPA("n", TARGET("Deployment", "rs00")), 4},
    {BAD_VPA("n", ""), 0}, /* whose target cannot be told */
    {BAD_VPA("m", ""), 4},
};

TEST_EACH(what_an_unknown_vpa_may_govern_is_left_alone, unknown_vpas) {
    server.vpas = 2;
    server.pods_per_vpa = 4;
    start(0);
    show_vpa(unknown_vpas[_i].vpa);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, unknown_vpas[_i].calls);
    for (size_t i = 0; unknown_vpas[_i].calls == 2 && i < 2; i++)
        ck_assert_msg(!strncmp(server.calls[i], "p01", 3), "%s", server.calls[i]);
    ck_assert_double_eq(held("UnknownVPA"), (double)(4 - unknown_vpas[_i].calls) * 2);
}

/* Where nobody says whose pods these are, any unknown VPA of the namespace may govern them. */
static const struct {
    const char *ns_vpa; /* NULL: none is unknown */
    bool scale_fails;
    size_t calls;
} doubts[] = {{NULL, true, 2},
              {BAD_VPA("m", TARGET("ReplicaSet", "other")), true, 2},
              {BAD_VPA("n", TARGET("ReplicaSet", "other")), false, 2},
              {BAD_VPA("n", TARGET("ReplicaSet", "other")), true, 0}};

TEST_EACH(pods_of_whom_the_owner_is_not_known, doubts) {
    server.owner_version = "x.io/v1";
    server.owner_kind = "Clone";
    server.selects = true;
    server.pods_per_vpa = server.replicas = 4;
    server.scale_fails = doubts[_i].scale_fails;
    start(0);
    if (doubts[_i].ns_vpa)
        show_vpa(doubts[_i].ns_vpa);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, doubts[_i].calls);
    ck_assert_double_eq(held("UnknownVPA"), doubts[_i].calls ? 0 : 4);
}

#define DEPLOYMENT_OF(app)                                                                         \
    "{\"metadata\":{\"name\":\"d\",\"namespace\":\"n\"},\"spec\":{\"replicas\":1,"                 \
    "\"selector\":{\"matchLabels\":{\"app\":\"" app "\"}}}}"
#define STRONGER                                                                                   \
    "{\"metadata\":{\"name\":\"strong\",\"namespace\":\"n\",\"creationTimestamp\":\"2025-01-"      \
    "01T00:"                                                                                       \
    "00:00Z\"},\"spec\":{\"targetRef\":{\"apiVersion\":\"x.io/v1\",\"kind\":\"Clone\",\"name\":"   \
    "\"rs00\"},\"updatePolicy\":{\"updateMode\":\"Recreate\"}},\"status\":{\"recommendation\":{"   \
    "\"containerRecommendations\":[{\"containerName\":\"c\",\"target\":{\"cpu\":\"1\"}}]}}}"

/* The owner of the pods cannot be told, and the stronger one names another object: by their labels
 * they may be its all the same. */
TEST_TIMES(a_weaker_vpa_does_not_take_pods_of_an_unknown_owner, 2) {
    server.owner_version = "x.io/v1";
    server.owner_kind = "Clone";
    server.selects = true;
    server.pods_per_vpa = server.replicas = 4;
    server.scale_fails = true;
    start(0);
    show_object("apps/v1", "Deployment", _i ? DEPLOYMENT_OF("a1") : DEPLOYMENT_OF("a0"));
    show_vpa("{\"metadata\":{\"name\":\"strong\",\"namespace\":\"n\",\"creationTimestamp\":"
             "\"2025-01-01T00:00:00Z\"},\"spec\":{" TARGET(
                 "Deployment", "d") "\"updatePolicy\":{\"updateMode\":\"Recreate\"}}}");
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, _i ? 2 : 0);
}

/* Which pods the first one governs cannot be told for a moment, since the scale of its target does
 * not answer: a weaker one that selects them does not get them meanwhile. */
TEST(a_weaker_vpa_does_not_take_over_while_a_target_does_not_answer) {
    server.owner_version = "x.io/v1";
    server.owner_kind = "Clone";
    server.selects = true;
    server.pods_per_vpa = server.replicas = 4;
    start(0);
    show_vpa(STRONGER);
    for (int pass = 0; pass < 4; pass++) {
        server.scale_fails = pass % 2;
        updater_pass(server.updater);
        ck_assert_uint_eq(server.call_count, 0);
        ck_assert_double_eq(held("UnknownVPA"), server.scale_fails ? 4 : 0);
    }
}

/* It was known, and becomes so again: nothing happens between. */
TEST(a_vpa_that_becomes_unknown_stops_and_one_that_becomes_known_goes_on) {
    capture_log(0);
    start(0);
    show_vpa("{\"metadata\":{\"name\":\"v00\",\"namespace\":\"n\"},\"spec\":{" BAD_POLICY "}}");
    for (int pass = 0; pass < 3; pass++)
        updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
    ck_assert_uint_eq(logged("A VPA cannot be read"), 1);
    show_vpas();
    settle();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 5);
    ck_assert_double_eq(held("UnknownVPA"), 0);
}

static const char *const modes[] = {"Recreate", "InPlaceOrRecreate", "InPlace"};

TEST_EACH(neither_resized_nor_evicted, modes) {
    server.mode = modes[_i];
    start(0);
    show_vpa(BAD_VPA("n", TARGET("ReplicaSet", "rs00")));
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
}

/* A boost is not taken back either: what the pod should have then is not known. */
TEST(boosts_stay) {
    server.mode = "Off";
    server.boost = "\"startupBoost\":{\"cpu\":{\"type\":\"Factor\",\"factor\":2}},";
    server.pod = "\"annotations\":{\"vpaCpuStartupBoost/c\":\"{\\\"requests\\\":{\\\"cpu\\\":"
                 "\\\"500m\\\"}}\"},";
    start(0);
    show_vpa(BAD_VPA("n", TARGET("ReplicaSet", "rs00")));
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
    hide_vpa("bad");
    settle();
    updater_pass(server.updater);
    ck_assert_uint_gt(server.call_count, 0);
}

/* ---- LimitRanges ---- */

TEST(pods_held_by_an_unknown_limit_range_are_counted) {
    server.limits = "{\"metadata\":{\"name\":\"l\",\"namespace\":\"n\"},\"spec\":{\"limits\":[{"
                    "\"type\":\"Container\",\"min\":{\"cpu\":\"1Zz\"}}]}}";
    start(0);
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, 0);
    ck_assert_double_eq(held("UnknownLimitRange"), 10);
}

/* ---- pods ---- */

#define BAD_POD(name, owners)                                                                      \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"" name "\"" owners "},"    \
    "\"spec\":{\"nodeName\":\"node\",\"containers\":[{\"name\":\"c\","                             \
    "\"resources\":{\"requests\":{\"cpu\":\"1Zz\"}}}]}}"
#define OWNED(name)                                                                                \
    ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"" name         \
    "\",\"controller\":true}]"

#define GUESTS(name)                                                                               \
    ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"" name "\"}]"
#define ENDS ",\"deletionTimestamp\":\"2026-03-01T12:00:00Z\""

static const struct {
    const char *pods[3];
    size_t calls; /* of four pods known, a tolerance of half */
} unknown_pods[] = {
    {{NULL}, 2},
    {{BAD_POD("a", OWNED("rs00"))}, 1}, /* 5, of them 4 there: 3 stay */
    {{BAD_POD("a", OWNED("rs00")), BAD_POD("b", OWNED("rs00"))}, 1}, /* 6, 4: 3 stay */
    {{BAD_POD("a", OWNED("rs00")), BAD_POD("b", OWNED("rs00")), BAD_POD("c", OWNED("rs00"))}, 0},
    {{BAD_POD("a", OWNED("other")), BAD_POD("b", OWNED("other"))}, 2}, /* not theirs */
    /* on their way out; of an owner who is no controller */
    {{BAD_POD("a", OWNED("rs00") ENDS), BAD_POD("b", OWNED("rs00") ENDS),
      BAD_POD("c", OWNED("rs00") ENDS)},
     2},
    {{BAD_POD("a", GUESTS("rs00")), BAD_POD("b", GUESTS("rs00")), BAD_POD("c", GUESTS("rs00"))}, 2},
    {{BAD_POD("a", ""), BAD_POD("b", ""), BAD_POD("c", OWNED("rs00"))}, 0}, /* of any group */
};

/* A group whose size is the count of its pods, here a Job. */
TEST_EACH(unknown_pods_are_not_available, unknown_pods) {
    server.owner_version = "batch/v1";
    server.owner_kind = "Job";
    server.pods_per_vpa = 4;
    server.selects = true;
    start(0);
    for (size_t i = 0; i < 3 && unknown_pods[_i].pods[i]; i++)
        show_object("v1", "Pod", unknown_pods[_i].pods[i]);
    settle();
    updater_pass(server.updater);
    ck_assert_uint_eq(server.call_count, unknown_pods[_i].calls);
}

int main(void)
{
    return run_tests("updater_unknown", setup, teardown);
}
