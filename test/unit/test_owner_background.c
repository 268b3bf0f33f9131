/* What the background reads of scales, when, and what views know by it. */
#include "owner_fixture.h"

static int changes;

static void on_change(void *ctx)
{
    (void)ctx;
    changes++;
}

#define OWNED_SCALE(kind, name, version)                                                           \
    "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/"                                            \
    "v1\",\"metadata\":{\"name\":\"w\",\"namespace\":"                                             \
    "\"n\",\"ownerReferences\":[{\"apiVersion\":\"" version "\",\"kind\":\"" kind                  \
    "\",\"name\":\"" name "\",\"uid\":\"u\",\"controller\":true}]},\"spec\":{\"replicas\":1},"     \
    "\"status\":{\"replicas\":1,"                                                                  \
    "\"selector\":\"app=w\"}}"

/* What the server says of a followed scale at first and then; whether views differ. Of replicas no
 * view knows. */
static const struct {
    const char *first, *then;
    int code; /* then */
    bool change;
} answers[] = {
    {SCALE("app=w", "7"), SCALE("app=w", "7"), 0, false},
    {SCALE("app=w", "7"), SCALE("app=w", "9"), 0, false},
    {SCALE("app=w", "7"), SCALE("app=x", "7"), 0, true},
    {SCALE("app=w", "7"), SCALE("", "7"), 0, true},
    {SCALE("", "7"), SCALE("app=w", "7"), 0, true},
    {SCALE("app=w", "7"), NULL, 0, true},
    {NULL, SCALE("app=w", "7"), 0, true},
    {NULL, NULL, 0, false},
    {SCALE("app=w", "7"), NULL, 500, false}, /* for a while */
    {SCALE("app=w", "7"), NULL, 403, true},
    {NULL, NULL, 500, true},
    {SCALE("app=w", "7"), OWNED_SCALE("Group", "g", "example.com/v1"), 0, true},
    {OWNED_SCALE("Group", "g", "example.com/v1"), OWNED_SCALE("Group", "g", "example.com/v1"), 0,
     false},
    {OWNED_SCALE("Group", "g", "example.com/v1"), OWNED_SCALE("Gang", "g", "example.com/v1"), 0,
     true},
    {OWNED_SCALE("Group", "g", "example.com/v1"), OWNED_SCALE("Group", "h", "example.com/v1"), 0,
     true},
    {OWNED_SCALE("Group", "g", "example.com/v1"), OWNED_SCALE("Group", "g", "example.com/v2"), 0,
     true},
};

TEST_EACH(views_follow_scales, answers) {
    vpa_owners_on_change(owners, on_change, NULL);
    answer_scales(0, answers[_i].first);
    synced();
    vpa_owners_follow_target(owners, WIDGET("w"));
    vpa_loop_pump(loop, VPA_SECOND);
    /* What nobody knew is followed only once it is asked for again. */
    vpa_owners_follow_target(owners, WIDGET("w"));
    vpa_loop_pump(loop, VPA_SECOND);
    struct vpa_owner_view *before = vpa_owners_view(owners);
    int gets = scale_gets();
    changes = 0;
    answer_scales(answers[_i].code, answers[_i].then);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_gt(scale_gets(), gets);
    struct vpa_owner_view *after = vpa_owners_view(owners);
    ck_assert_int_eq(changes, answers[_i].change);
    ck_assert_int_eq(before != after, answers[_i].change);
    vpa_owner_view_unref(before);
    vpa_owner_view_unref(after);
}

/* Lets time pass until so many seconds after `begin`. */
static void pump_to(int64_t begin, int seconds)
{
    vpa_loop_pump(loop, begin + seconds * VPA_SECOND - vpa_loop_monotonic(loop));
}

static void keep_widget(void)
{
    vpa_owners_keep_target(owners, WIDGET("w"));
}

static void follow_widget(void)
{
    vpa_owners_follow_target(owners, WIDGET("w"));
}

/* Answers take five seconds and sweeps come each seven after the first answer, so that one comes
 * exactly half a minute after an answer: at 40 s, 75 s, ... 600 s. The one at 635 s is that at
 * which following ends. */
TEST(a_followed_scale_is_asked_for_each_half_minute) {
    int64_t begin;

    synced();
    begin = vpa_loop_monotonic(loop);
    delay_scales(5 * VPA_SECOND);
    keep_widget();
    pump_to(begin, 35);
    ck_assert_int_eq(scale_gets(), 1);
    follow_widget();
    for (int i = 0; i <= 16; i++) {
        pump_to(begin, 39 + 35 * i);
        ck_assert_int_eq(scale_gets(), 1 + i);
        pump_to(begin, 40 + 35 * i);
        ck_assert_int_eq(scale_gets(), 2 + i);
    }
    pump_to(begin, 1000);
    ck_assert_int_eq(scale_gets(), 18);
}

/* Answers take four seconds: exactly ten seconds after an answer comes a sweep. It is read at 14 s;
 * at 74 s that was a minute ago. */
TEST(a_missing_scale_is_asked_for_again_while_somebody_reads_it) {
    int64_t begin;

    drop_widget("w");
    synced();
    begin = vpa_loop_monotonic(loop);
    delay_scales(4 * VPA_SECOND);
    keep_widget();
    pump_to(begin, 14);
    ck_assert_int_eq(scale_gets(), 1);
    keep_widget();
    for (int i = 0; i < 4; i++) {
        pump_to(begin, 17 + 14 * i);
        ck_assert_int_eq(scale_gets(), 1 + i);
        pump_to(begin, 18 + 14 * i);
        ck_assert_int_eq(scale_gets(), 2 + i);
    }
    pump_to(begin, 600);
    ck_assert_int_eq(scale_gets(), 5);
}

/* A sweep comes each seven seconds: one exactly an hour after the reading at five. */
TEST_TIMES(what_nobody_reads_goes_after_an_hour, 2) {
    bool over = _i == 1;
    int64_t begin;

    synced();
    begin = vpa_loop_monotonic(loop);
    keep_widget();
    pump_to(begin, 5);
    keep_widget();
    pump_to(begin, over ? 3605 : 3604);
    ck_assert_int_eq(knows_widget("w"), !over);
}

/* And what is followed stays although nobody reads it; 7798 s is a multiple of seven. */
TEST_TIMES(what_is_followed_stays, 2) {
    bool over = _i == 1;
    int64_t begin;

    synced();
    begin = vpa_loop_monotonic(loop);
    keep_widget();
    for (int at = 298; at <= 7198; at += 300) {
        pump_to(begin, at);
        follow_widget();
    }
    pump_to(begin, over ? 7798 : 7797);
    ck_assert_int_eq(knows_widget("w"), !over);
}

/* What a view says of the selector of "w": VPA_OK, or why it has none. */
static enum vpa_code code_of_widget(void)
{
    const struct vpa_selector *selector;
    struct vpa_owner_view *view = vpa_owners_view(owners);
    int rc = vpa_owner_view_selector(view, WIDGET("w"), &selector, &err);

    vpa_owner_view_unref(view);
    return rc == 0 ? VPA_OK : err.code;
}

static void let_scales_fail(void)
{
    sim_cluster_unscript(sim);
    sim_cluster_answer(
        sim, &(struct sim_answer){.method = "GET", .path = "/scale", .code = 503, .message = "no"});
}

/* Known, and asked for again in vain for the first time; nobody reads it meanwhile. quiet: none of
 * its VPA's was changed lately either, so that it is asked for after 10 to 20 minutes. */
static void fail_first_refresh(bool quiet)
{
    synced();
    keep_widget();
    vpa_loop_pump(loop, VPA_SECOND);
    if (!quiet)
        follow_widget();
    let_scales_fail();
    int before = scale_gets();
    while (scale_gets() == before)
        vpa_loop_pump(loop, VPA_SECOND);
}

/* One answer that could not be had says nothing of the scale. */
TEST_TIMES(a_failed_reading_forgets_nothing, 2) {
    fail_first_refresh(_i == 0);
    ck_assert_int_eq(code_of_widget(), VPA_OK);
    delay_scales(0);
    int before = scale_gets();
    vpa_loop_pump(loop, 20 * VPA_SECOND); /* soon asked again */
    ck_assert_int_gt(scale_gets(), before);
    vpa_loop_pump(loop, 5 * VPA_MINUTE);
    ck_assert_int_eq(code_of_widget(), VPA_OK);
}

/* But no longer than a pass would take it for. The time counts from the first failure, and a good
 * answer between two failures ends it. */
TEST_TIMES(what_cannot_be_read_stands_in_for_a_while, 2) {
    fail_first_refresh(_i == 0);
    vpa_loop_pump(loop, 70 * VPA_SECOND);
    ck_assert_int_eq(code_of_widget(), VPA_OK);
    delay_scales(0);
    vpa_loop_pump(loop, 15 * VPA_SECOND);
    let_scales_fail();
    int before = scale_gets();
    while (scale_gets() == before)
        vpa_loop_pump(loop, VPA_SECOND);
    vpa_loop_pump(loop, 70 * VPA_SECOND);
    ck_assert_int_eq(code_of_widget(), VPA_OK);
    vpa_loop_pump(loop, 40 * VPA_SECOND);
    ck_assert_int_eq(code_of_widget(), VPA_RETRY);
}

/* And after a longer failure it is known again without anybody who reads it. */
TEST_TIMES(what_was_known_is_known_soon_after_an_outage, 2) {
    fail_first_refresh(_i == 0);
    vpa_loop_pump(loop, 20 * VPA_MINUTE);
    delay_scales(0);
    vpa_loop_pump(loop, 20 * VPA_SECOND);
    ck_assert_int_eq(code_of_widget(), VPA_OK);
}

/* The server of a kind hangs, and there are more of it than places. */
TEST(what_hangs_leaves_places_for_others) {
    put_widgets(20);
    put_widget("other", "app=w", 7);
    synced();
    follow_many(20);
    vpa_loop_pump(loop, VPA_SECOND);
    follow_many(20);
    sim_cluster_answer(
        sim, &(struct sim_answer){
                 .method = "GET", .path = "/widgets/w", .how = SIM_PATH_HOLDS, .delay = VPA_HOUR});
    vpa_loop_pump(loop, 9 * VPA_MINUTE);
    ck_assert(!knows_widget("other"));
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert(knows_widget("other"));
}

/* What the server says of the scale itself counts at once. */
TEST(a_scale_that_is_gone_is_gone) {
    synced();
    keep_widget();
    vpa_loop_pump(loop, VPA_SECOND);
    follow_widget();
    drop_widget("w");
    vpa_loop_pump(loop, 40 * VPA_SECOND);
    ck_assert_int_eq(code_of_widget(), VPA_INVALID);
}

int main(void)
{
    return run_tests_within(60, "owner_background", setup, teardown);
}
