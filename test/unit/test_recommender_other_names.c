/* Objects that tell of one container, and are not called as its checkpoint is. */
#include "captured_log.h"
#include "recommender_fixture.h"

#define TWO_CORES 49
#define TENTH 10
#define SURPLUS "Not loaded: checkpoints of containers that have many under other names"

/* As many, of a tenth of a core, each newer than the one before. */
static void put_others(int count)
{
    for (int i = 0; i < count; i++)
        put_checkpoint_named(vpa_arena_printf(&arena, "other-%02d", i), "",
                             vpa_arena_printf(&arena, "2026-01-15T11:%02d:00Z", i), TENTH);
}

/* Of those that are not loaded the newest would count. */
START_TEST(of_many_under_other_names_the_first_are_loaded)
{
    const int others = 16 + _i;

    put_others(others);
    put_checkpoint_named("other-99", "", "2026-01-15T11:59:00Z", TWO_CORES);
    capture_log(0);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_lt(target_cpu(), 1000);
    ck_assert_uint_eq(logged(SURPLUS), 1);
    ck_assert_uint_eq(
        logged(_i == 0 ? "count=1 first=\"shop/other-99\"" : "count=2 first=\"shop/other-16\""), 1);
}
END_TEST

/* It comes behind all of them. */
START_TEST(what_has_the_right_name_is_always_loaded)
{
    put_others(20);
    put_checkpoint_named("web-app", "", "2026-01-15T11:59:00Z", TWO_CORES);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
}
END_TEST

START_TEST(as_many_as_are_loaded_say_nothing)
{
    put_others(15);
    put_checkpoint_named("other-99", "", "2026-01-15T11:59:00Z", TWO_CORES);
    capture_log(0);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
    ck_assert_uint_eq(logged(SURPLUS), 0);
}
END_TEST

/* Somebody who has many keeps no other container waiting. */
START_TEST(each_container_has_its_own_count)
{
    put_others(20);
    change(APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
                 "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"zz\",\"namespace\":"
                 "\"shop\"},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":\"sidecar\"},"
                 "\"status\":{\"version\":\"v9\"}}"));
    capture_log(0);
    start(NULL);
    ck_assert_uint_eq(logged("it will be kept aside"), 1);
    ck_assert_uint_eq(logged("count=4 first=\"shop/other-16\""), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommender_other_names");
    TCase *tcase = tcase_create("load");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, of_many_under_other_names_the_first_are_loaded, 0, 2);
    tcase_add_test(tcase, what_has_the_right_name_is_always_loaded);
    tcase_add_test(tcase, as_many_as_are_loaded_say_nothing);
    tcase_add_test(tcase, each_container_has_its_own_count);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
