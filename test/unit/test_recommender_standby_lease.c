/* The Lease by which leader and standby know of each other. */
#include "captured_log.h"
#include "standby_fixture.h"

#define ACQUIRED ",\"acquireTime\":\"2026-01-15T11:00:00.000000Z\""
#define RENEWED(MINUTE) ",\"renewTime\":\"2026-01-15T11:" MINUTE ":00.000000Z\""
#define LEASES_OF_NS "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define NOW "2026-01-15T12:00:00.000000Z"

static struct standby *standby;

static void setup_alone(void)
{
    setup_lease();
    construct(NULL);
    standby = standby_new(
        &(struct standby_options){
            .client = client, .ns = "kube-system", .leader = "l", .identity = "me"},
        VPA_MINUTE);
}

static void teardown_alone(void)
{
    standby_free(standby);
    teardown();
}

/* One write of it there was. */
static void expect_write(bool created)
{
    ck_assert_uint_eq(sim_cluster_asked(server->sim, "POST", LEASES_OF_NS), created);
    ck_assert_uint_eq(sim_cluster_asked(server->sim, "PUT", LEASES_OF_NS "/l-standby"), !created);
}

static const struct claim_row {
    const char *lease;
    bool other; /* another one may have been in step */
} claims[] = {
    {"", false},
    {LEASE_OF("other", ACQUIRED), false},
    {LEASE_OF("other", ACQUIRED RENEWED("30")), true},
};

TEST_EACH(a_claim_says_whether_another_one_was_there, claims) {
    const struct claim_row *row = &claims[_i];

    store(row->lease);
    ck_assert_int_eq(standby_claim(standby), row->other);
    expect_write(!*row->lease);
    ck_assert_str_eq(lease_member("holderIdentity"), "me");
    ck_assert_str_eq(lease_member("acquireTime"), NOW);
    ck_assert_str_eq(lease_member("renewTime"), "");
}

/* The leader was killed, and came back at once: the other one, in step, is to lead. */
TEST_EACH(who_claims_yields_to_a_standby_in_step, claims) {
    const struct claim_row *row = &claims[_i];
    struct vpa_elector *elector = vpa_elector_new(&(struct vpa_elector_options){
        .client = client, .ns = "kube-system", .name = "l", .identity = "me"});
    struct standby *s = standby_new(&(struct standby_options){.client = client,
                                                              .ns = "kube-system",
                                                              .leader = "l",
                                                              .identity = "me",
                                                              .elector = elector},
                                    VPA_MINUTE);

    ck_assert(vpa_elector_yields(elector)); /* as long as that is not known */
    store(row->lease);
    ck_assert_int_eq(standby_claim(s), row->other);
    ck_assert_int_eq(vpa_elector_yields(elector), row->other);
    standby_free(s);
    vpa_elector_free(elector);
}

TEST(a_claim_that_cannot_be_made_waits_for_nobody) {
    store(LEASE_OF("other", ACQUIRED RENEWED("30")));
    lease_broken = true;
    ck_assert(!standby_claim(standby));
    ck_assert_uint_eq(lease_writes, 0);
}

TEST_TIMES(a_renewal_keeps_the_time_of_the_claim, 2) {
    bool gone = _i == 1; /* somebody has deleted the Lease */

    store(LEASE_OF("me", ACQUIRED));
    if (gone)
        store("");
    standby_end_pass(standby);
    expect_write(gone);
    ck_assert_str_eq(lease_member("holderIdentity"), "me");
    ck_assert_str_eq(lease_member("acquireTime"), gone ? NOW : "2026-01-15T11:00:00.000000Z");
    ck_assert_str_eq(lease_member("renewTime"), NOW);
}

/* A newer standby has the Lease while it renews it, and while it may be loading. */
TEST(who_was_displaced_waits_for_the_newer_one) {
    for (unsigned i = 0; i < STANDBY_PATIENCE + 2; i++) {
        store(vpa_arena_printf(
            &arena, LEASE_OF("other", ",\"renewTime\":\"2026-01-15T11:%02u:00.000000Z\""), i));
        standby_end_pass(standby);
    }
    ck_assert_uint_eq(lease_requests, STANDBY_PATIENCE + 2);
    store(LEASE_OF("other", ACQUIRED)); /* a third one, which never gets further */
    for (unsigned i = 1; i < STANDBY_PATIENCE; i++)
        standby_end_pass(standby);
    ck_assert_uint_eq(lease_writes, 0);
    standby_end_pass(standby);
    ck_assert_str_eq(lease_member("holderIdentity"), "me");
    ck_assert_str_eq(lease_member("renewTime"), NOW);
}

/* Of two that start at once the one that leads may have claimed last. */
TEST(who_leads_gives_the_lease_to_the_standby) {
    struct standby *leader = standby_new(
        &(struct standby_options){
            .client = client, .ns = "kube-system", .leader = "l", .identity = "leader"},
        VPA_MINUTE);

    ck_assert(!standby_claim(standby));
    ck_assert(!standby_claim(leader));
    standby_end_pass(standby);
    ck_assert_str_eq(lease_member("holderIdentity"), "leader");
    ck_assert(!standby_is_in_step(leader));
    ck_assert_str_eq(lease_member("holderIdentity"), "");
    standby_end_pass(standby);
    ck_assert_str_eq(lease_member("holderIdentity"), "me");
    ck_assert(!standby_is_in_step(leader));
    ck_assert_uint_eq(lease_writes, 4); /* two claims, given up, taken */
    standby_free(leader);
}

/* What went wrong once is tried again in the next pass, what is not allowed in the tenth: an API
 * server that has just started allows nothing yet. */
TEST_TIMES(a_refusal_lasts_longer_than_an_error, 2) {
    bool denied = _i == 1;

    store(LEASE_OF("me", ACQUIRED));
    lease_denied = denied;
    lease_broken = !denied;
    standby_end_pass(standby);
    lease_denied = lease_broken = false;
    for (unsigned i = 0; denied && i < STANDBY_PATIENCE; i++)
        standby_end_pass(standby);
    ck_assert_uint_eq(lease_requests, 1);
    ck_assert_uint_eq(lease_writes, 0);
    standby_end_pass(standby);
    ck_assert_uint_eq(lease_writes, 1);
    ck_assert_str_eq(lease_member("renewTime"), NOW);
}

TEST(a_leader_that_was_refused_asks_again) {
    store(LEASE_OF("other", RENEWED("01")));
    lease_denied = true;
    ck_assert(!standby_is_in_step(standby));
    lease_denied = false;
    for (unsigned i = 0; i < STANDBY_PATIENCE; i++)
        ck_assert(!standby_is_in_step(standby));
    ck_assert_uint_eq(lease_requests, 1);
    ck_assert(!standby_is_in_step(standby)); /* perhaps long ago */
    store(LEASE_OF("other", RENEWED("02")));
    ck_assert(standby_is_in_step(standby));
}

/* Clocks are never compared: only a renewal that was seen to happen counts, and for two passes. */
TEST(in_step_is_who_was_seen_to_renew) {
    static const struct {
        const char *lease;
        bool in_step;
    } passes[] = {
        {"", false},
        {LEASE_OF("other", RENEWED("01")), false}, /* perhaps long ago */
        {LEASE_OF("other", RENEWED("01")), false},
        {LEASE_OF("other", RENEWED("02")), true},
        {LEASE_OF("other", RENEWED("02")), true},
        {LEASE_OF("other", RENEWED("02")), false}, /* silent for two passes */
        {LEASE_OF("other", RENEWED("02")), false},
        {LEASE_OF("other", RENEWED("01")), true}, /* its clock was set back */
        {LEASE_OF("other", ACQUIRED), false},     /* the next one has just begun */
        {LEASE_OF("other", RENEWED("03")), false},
        {LEASE_OF("other", RENEWED("04")), true},
        {LEASE_OF("me", RENEWED("05")), false}, /* our own, from before we led */
        {LEASE_OF("other", RENEWED("06")), false},
        {LEASE_OF("other", RENEWED("07")), true},
        {"", false},
    };

    for (size_t i = 0; i < VPA_COUNT(passes); i++) {
        store(passes[i].lease);
        ck_assert_msg(standby_is_in_step(standby) == passes[i].in_step, "pass %zu", i);
    }
    ck_assert_uint_eq(lease_writes, 1); /* our own is given up */
}

TEST(a_lease_that_cannot_be_read_is_nobodys) {
    for (unsigned i = 1; i < 3; i++) {
        store(vpa_arena_printf(
            &arena, LEASE_OF("other", ",\"renewTime\":\"2026-01-15T11:0%u:00.000000Z\""), i));
        ck_assert_int_eq(standby_is_in_step(standby), i == 2);
    }
    lease_broken = true;
    ck_assert(!standby_is_in_step(standby));
}

/* Most clusters have none: that is no trouble. */
TEST(that_there_is_no_lease_is_not_told) {
    capture_log(0);
    store("");
    ck_assert(!standby_is_in_step(standby));
    ck_assert_uint_eq(logged("Cannot use the Lease"), 0);
}

int main(void)
{
    return run_tests("recommender_standby_lease", setup_alone, teardown_alone);
}
