/* How long a pass works on checkpoints, and with how many calls at once. */
#include "recommender_fixture.h"

#define NO_USAGE "{\"usage\":[]}"

static const struct {
    const char *flag;
    bool writes;
} workers[] = {
    {"--update-worker-count=-1", false},
    {"--update-worker-count=0", false},
    {"--update-worker-count=1", true},
    {"--update-worker-count=9", true},
};

/* Nobody writes any without a worker. */
TEST_EACH(checkpoints_take_workers, workers) {
    start(workers[_i].flag);
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_int_eq(stored("VerticalPodAutoscalerCheckpoint", "web-app") != NULL,
                     workers[_i].writes);
}

static bool delete_slowly(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "DELETE") != 0)
        return false;
    hook_calls++;
    vpa_memory_reply_delay(r, 25 * VPA_SECOND);
    return false;
}

static void put_orphan(int number)
{
    vpa_auto_free char *text = vpa_xprintf(
        APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
              "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"gone%d-app\","
              "\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"gone%d\","
              "\"containerName\":\"app\"},\"status\":{\"version\":\"v3\"}}"),
        number, number);

    change(text);
}

/* At 0, 25, 50 and 75 seconds in a minute and a quarter; behind that the next collection goes on.
 */
TEST(garbage_is_taken_away_for_so_long) {
    change(
        APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"shop\"}}"));
    for (int i = 0; i < 6; i++)
        put_orphan(i);
    start("--checkpoints-gc-interval=90s");
    config.checkpoints_timeout = 75 * VPA_SECOND;
    hook = delete_slowly;
    for (int i = 0; i < 5 && hook_calls == 0; i++)
        pass(NO_USAGE);
    ck_assert_uint_eq(hook_calls, 4);
    for (int i = 0; i < 3; i++)
        pass(NO_USAGE);
    ck_assert_uint_eq(hook_calls, 6);
    for (int i = 0; i < 6; i++) {
        vpa_auto_free char *name = vpa_xprintf("gone%d-app", i);

        ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", name));
    }
}

static bool freeze_usage(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!strstr(q->path, "/apis/metrics.k8s.io/"))
        return false;
    hook_calls++;
    vpa_memory_reply_delay(r, 1000 * VPA_HOUR);
    return false;
}

/* A metrics API that accepts and does not answer: what else a pass has to do is done, when the next
 * one is due or soon after, and before the kubelet gives the process up, which is when health has
 * failed for half a minute (five intervals, at least two minutes). */
static const struct {
    vpa_duration interval, wait;
} frozen[] = {
    {10 * VPA_SECOND, 2 * VPA_MINUTE},
    {VPA_MINUTE, 2 * VPA_MINUTE},
    {3 * VPA_MINUTE, 3 * VPA_MINUTE},
    {VPA_HOUR, 5 * VPA_MINUTE},
};

TEST_EACH(usage_is_waited_for_an_interval, frozen) {
    start(NULL);
    config.interval = frozen[_i].interval;
    pass(USAGE("100m", "100Mi"));
    hook = freeze_usage;
    int64_t begin = vpa_loop_monotonic(loop) + VPA_MINUTE;
    pass(NO_USAGE);
    ck_assert_uint_eq(hook_calls, 1);
    ck_assert_int_eq((vpa_loop_monotonic(loop) - begin) / VPA_SECOND, frozen[_i].wait / VPA_SECOND);
}

int main(void)
{
    return run_tests_within(60, "recommender_patience", setup, teardown);
}
