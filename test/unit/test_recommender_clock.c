/*
 * The whole recommender where a clock is wrong: its own, the API server's, that of a node.
 */
#include "captured_log.h"
#include "recommender_fixture.h"

static int64_t samples_stored(void)
{
    const struct vpa_json *object = stored("VerticalPodAutoscalerCheckpoint", "web-app");
    int64_t count = 0;

    vpa_json_int64(vpa_json_at(object, "status.totalSamplesCount"), &count);
    return count;
}

#define YEAR (365 * 24 * VPA_HOUR)

/* A node whose clock is a year ahead for some minutes, or a year behind: what was learned is not
 * old. A clock that stays so is believed after a day. */
TEST_TIMES(nothing_is_forgotten_because_the_clock_is_wrong, 2) {
    start("--checkpoint-max-age=0");
    capture_log(0);
    for (int i = 0; i < 90; i++)
        pass(USAGE("250m", "300Mi"));
    ck_assert_int_eq(samples_stored(), 90);
    vpa_clock_set(virtual_clock, _i ? -YEAR : YEAR);
    for (int i = 0; i < 3; i++)
        pass("{\"usage\":[]}");
    vpa_clock_set(virtual_clock, _i ? YEAR : -YEAR);
    pass(USAGE("250m", "300Mi"));
    ck_assert_int_eq(samples_stored(), 91);
    ck_assert_uint_eq(logged("The clock was set"), 1);
    ck_assert_uint_eq(logged("The clock is as it was"), 1);
}

TEST(a_clock_that_stays_is_believed) {
    start("--checkpoint-max-age=0");
    pass(USAGE("250m", "300Mi"));
    change("{\"delete\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"shop\","
           "\"name\":\"web-1\"}}");
    vpa_clock_set(virtual_clock, YEAR);
    for (int hour = 0; hour < 24; hour++) {
        vpa_clock_advance(virtual_clock, VPA_HOUR - VPA_MINUTE);
        pass("{\"usage\":[]}");
        ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
    }
    for (int hour = 0; hour < 3; hour++) {
        vpa_clock_advance(virtual_clock, VPA_HOUR - VPA_MINUTE);
        pass("{\"usage\":[]}");
    }
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
}

/* The day of doubt was that time's; another time has one of its own. */
TEST(a_clock_that_was_believed_is_doubted_anew) {
    start("--checkpoint-max-age=0");
    pass(USAGE("250m", "300Mi"));
    vpa_clock_set(virtual_clock, 3 * VPA_HOUR);
    for (int hour = 0; hour < 27; hour++) {
        vpa_clock_advance(virtual_clock, VPA_HOUR - VPA_MINUTE);
        pass(USAGE("250m", "300Mi"));
    }
    change("{\"delete\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"shop\","
           "\"name\":\"web-1\"}}");
    capture_log(0);
    vpa_clock_set(virtual_clock, YEAR);
    for (int minute = 0; minute < 90; minute++)
        pass("{\"usage\":[]}");
    ck_assert_uint_eq(logged("The clock was set"), 1);
    ck_assert_uint_eq(logged("gone by"), 0);
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
}

static const struct {
    vpa_duration ahead; /* of the API server's clock */
    bool collected;
} starts[] = {{20 * 24 * VPA_HOUR, false}, {VPA_MINUTE, true}, {-VPA_HOUR, true}, {0, true}};

/* A process that starts on a node whose clock is weeks ahead: the API server knows better. */
TEST_EACH(a_clock_that_was_wrong_from_the_start_is_not_gone_by, starts) {
    start("--checkpoint-max-age=0");
    pass(USAGE("250m", "300Mi"));
    change("{\"delete\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"shop\","
           "\"name\":\"web-1\"}}");
    pass("{\"usage\":[]}");
    stop();
    vpa_clock_advance(virtual_clock, 20 * 24 * VPA_HOUR);
    capture_log(0);
    start("--checkpoint-max-age=0");
    for (int minute = 0; minute < 60; minute++) {
        vpa_memory_transport_set_ahead(transport, starts[_i].ahead);
        pass("{\"usage\":[]}");
    }
    ck_assert((stored("VerticalPodAutoscalerCheckpoint", "web-app") == NULL) ==
              starts[_i].collected);
    ck_assert_uint_eq(logged("ahead of the API server's"), !starts[_i].collected);
    vpa_memory_transport_set_ahead(transport, 0);
    for (int minute = 0; minute < 90; minute++)
        pass("{\"usage\":[]}");
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
}

/* The clock was behind until now; what the API server says needs no day to be believed. */
TEST(a_clock_that_agrees_with_the_api_server_is_believed) {
    start("--checkpoint-max-age=0");
    pass(USAGE("250m", "300Mi"));
    change("{\"delete\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"shop\","
           "\"name\":\"web-1\"}}");
    pass("{\"usage\":[]}");
    capture_log(0);
    vpa_clock_set(virtual_clock, 20 * 24 * VPA_HOUR);
    vpa_memory_transport_set_ahead(transport, VPA_SECOND);
    for (int minute = 0; minute < 90; minute++)
        pass("{\"usage\":[]}");
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
    ck_assert_uint_eq(logged("The clock was set"), 0);
}

static const char *sample_time; /* of the pod on that node */

static bool tell_usage(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    char now[VPA_TIME_TEXT_MAX];

    if (!strstr(q->path, "metrics.k8s.io"))
        return false;
    vpa_time_format(vpa_loop_now(loop), now);
    vpa_auto_free char *body = vpa_xprintf(
        "{\"items\":[{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\"},\"timestamp\":\"%"
        "s\","
        "\"window\":\"1m\",\"containers\":[{\"name\":\"app\",\"usage\":{\"cpu\":\"100m\","
        "\"memory\":"
        "\"300Mi\"}}]},{\"metadata\":{\"name\":\"web-2\",\"namespace\":\"shop\"},\"timestamp\":\"%"
        "s\","
        "\"window\":\"1m\",\"containers\":[{\"name\":\"app\",\"usage\":{\"cpu\":\"4\",\"memory\":"
        "\"4Gi\"}}]}]}",
        now, sample_time ? sample_time : now);
    vpa_memory_reply_json(r, 200, body);
    return true;
}

/* One sample among many, of a node whose clock is wrong: it neither outweighs the others for as
 * long as it is ahead nor makes a checkpoint that is refused. */
TEST_TIMES(one_sample_of_a_node_whose_clock_is_ahead_is_one_sample, 3) {
    static const char *const times[] = {"2026-02-20T00:00:00Z", "2027-03-01T00:00:00Z",
                                        "9999-01-01T00:00:00Z"};

    change(POD("web-2"));
    start("--checkpoint-max-age=0");
    for (int i = 0; i < 60; i++)
        pass(USAGE("100m", "300Mi"));
    hook = tell_usage;
    sample_time = times[_i];
    pass("{\"usage\":[]}");
    hook = NULL;
    for (int i = 0; i < 60; i++)
        pass(USAGE("100m", "300Mi"));
    ck_assert_int_le(target_cpu(), 200);
    stop();
    start(NULL);
    pass(USAGE("100m", "300Mi"));
    ck_assert_int_le(target_cpu(), 200);
    ck_assert_int_ge(samples_stored(), 120);
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-app-unreadable"));
}

/* Its other samples count as well, and those that come when it was put right. */
TEST(a_node_whose_clock_was_put_right_is_heard_at_once) {
    change(POD("web-2"));
    start("--checkpoint-max-age=0");
    hook = tell_usage;
    sample_time = "2026-02-20T00:00:00Z";
    for (int i = 0; i < 5; i++)
        pass("{\"usage\":[]}");
    ck_assert_int_eq(samples_stored(), 10);
    sample_time = NULL;
    for (int i = 0; i < 5; i++)
        pass("{\"usage\":[]}");
    ck_assert_int_eq(samples_stored(), 20);
}

#define RESTARTED(count, last)                                                                     \
    APPLY(                                                                                         \
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-1\",\"namespace\":"  \
        "\"shop\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"app\"}]},"   \
        "\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"app\","              \
        "\"restartCount\":" count ",\"state\":{\"running\":{}},\"lastState\":{" last "}}]}}")

/* What the container uses afterwards counts, too. */
TEST(an_oom_kill_of_a_node_whose_clock_is_ahead_closes_nothing) {
    change(RESTARTED("0", ""));
    start(NULL);
    pass(USAGE("100m", "300Mi"));
    change(RESTARTED("1", "\"terminated\":{\"reason\":\"OOMKilled\",\"finishedAt\":"
                          "\"2027-03-01T00:00:00Z\"}"));
    pass(USAGE("100m", "300Mi"));
    pass(USAGE("100m", "8Gi"));
    struct vpa_quantity memory = target("memory");
    ck_assert_int_ge(vpa_quantity_value(&memory), INT64_C(8) << 30);
}

int main(void)
{
    return run_tests_within(60, "recommender_clock", setup, teardown);
}
