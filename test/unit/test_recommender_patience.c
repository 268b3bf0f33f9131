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
START_TEST(checkpoints_take_workers)
{
    start(workers[_i].flag);
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_int_eq(stored("VerticalPodAutoscalerCheckpoint", "web-app") != NULL,
                     workers[_i].writes);
}
END_TEST

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
START_TEST(garbage_is_taken_away_for_so_long)
{
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommender_patience");
    TCase *tcase = tcase_create("patience");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, checkpoints_take_workers, 0, (int)VPA_COUNT(workers));
    tcase_add_test(tcase, garbage_is_taken_away_for_so_long);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
