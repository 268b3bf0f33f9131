/* How many calls for checkpoints are under way at once, and that nobody writes any without. */
#include "recommender_fixture.h"

static const struct {
    const char *flag;
    size_t writes;
} workers[] = {
    {"--update-worker-count=-1", 0},
    {"--update-worker-count=0", 0},
    {"--update-worker-count=1", 1},
    {"--update-worker-count=9", 1},
};

START_TEST(checkpoints_take_workers)
{
    start(workers[_i].flag);
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_int_eq(stored("VerticalPodAutoscalerCheckpoint", "web-app") != NULL,
                     workers[_i].writes > 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommender_workers");
    TCase *tcase = tcase_create("workers");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, checkpoints_take_workers, 0, (int)VPA_COUNT(workers));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
