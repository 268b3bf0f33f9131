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
TEST_TIMES(of_many_under_other_names_the_first_are_loaded, 2) {
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

/* It comes behind all of them. */
TEST(what_has_the_right_name_is_always_loaded) {
    put_others(20);
    put_checkpoint_named("web-app", "", "2026-01-15T11:59:00Z", TWO_CORES);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
}

TEST(as_many_as_are_loaded_say_nothing) {
    put_others(15);
    put_checkpoint_named("other-99", "", "2026-01-15T11:59:00Z", TWO_CORES);
    capture_log(0);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
    ck_assert_uint_eq(logged(SURPLUS), 0);
}

/* Somebody who has many keeps no other container waiting. */
TEST(each_container_has_its_own_count) {
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

int main(void)
{
    return run_tests_within(60, "recommender_other_names", setup, teardown);
}
