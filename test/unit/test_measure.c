/* Slack, unserved, time above and changes, by numbers computed by hand. */
#include <check.h>

#include "suite.h"
#include "vpa/model/measure.h"

static void add(struct vpa_measure *m, double allocated, double used)
{
    vpa_measure_add(m, allocated, &used, 1);
}

TEST(a_window_weighs_the_same_however_many_samples_it_has) {
    struct vpa_measure m = {0};

    vpa_measure_add(&m, 500, (const double[]){300, 600}, 2);
    ck_assert_double_eq(vpa_measure_slack(&m), 0.2);           /* 400 of 500 */
    ck_assert_double_eq(vpa_measure_unserved(&m), 50.0 / 450); /* 400 of 450 */
    ck_assert_double_eq(vpa_measure_above(&m), 0.5);
    add(&m, 500, 500);
    ck_assert_double_eq(vpa_measure_slack(&m), 0.1);           /* 900 of 1000 */
    ck_assert_double_eq(vpa_measure_unserved(&m), 50.0 / 950); /* 900 of 950 */
    ck_assert_double_eq(vpa_measure_above(&m), 0.25);
}

TEST(nothing_measured_is_zero) {
    struct vpa_measure m = {0};

    ck_assert_double_eq(vpa_measure_slack(&m), 0);
    ck_assert_double_eq(vpa_measure_unserved(&m), 0);
    ck_assert_double_eq(vpa_measure_above(&m), 0);
    add(&m, 0, 0);
    ck_assert_double_eq(vpa_measure_slack(&m), 0);
    ck_assert_double_eq(vpa_measure_unserved(&m), 0);
    ck_assert_double_eq(vpa_measure_above(&m), 0);
    add(&m, 0, 3); /* no allocation: all of it is unserved */
    ck_assert_double_eq(vpa_measure_slack(&m), 0);
    ck_assert_double_eq(vpa_measure_unserved(&m), 1);
}

TEST(changes_are_more_than_a_millionth) {
    ck_assert(!vpa_measure_is_change(1e6, 1e6));
    ck_assert(!vpa_measure_is_change(1e6, 1e6 + 0.5));
    ck_assert(!vpa_measure_is_change(1e6 + 0.5, 1e6));
    ck_assert(vpa_measure_is_change(1e6, 1e6 + 2));
    ck_assert(vpa_measure_is_change(1e6 + 2, 1e6));
    ck_assert(vpa_measure_is_change(0, 1));
    ck_assert(!vpa_measure_is_change(0, 0));
}

int main(void)
{
    return run_tests("measure", NULL, NULL);
}
