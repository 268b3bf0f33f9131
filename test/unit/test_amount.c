/* Amounts: clamping and truncation. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/model/amount.h"

static const struct {
    const char *name;
    double x;
    vpa_amount want;
} amounts[] = {
    {"zero", 0, 0},
    {"negative", -5, 0},
    {"minus infinity", -INFINITY, 0},
    {"truncated", 2.999, 2},
    {"largest", 1e14, VPA_AMOUNT_MAX},
    {"beyond", 1.1e14, VPA_AMOUNT_MAX},
    {"infinity", INFINITY, VPA_AMOUNT_MAX},
    {"not a number", NAN, INT64_MIN},
};

TEST_EACH(clamps_and_truncates, amounts) {
    ck_assert_int_eq(vpa_amount_from_double(amounts[_i].x), amounts[_i].want);
    ck_assert_int_eq(vpa_amount_from_bytes(amounts[_i].x), amounts[_i].want);
}

TEST(converts_cores_and_bytes) {
    ck_assert_int_eq(vpa_amount_from_cores(0.0259), 25);
    ck_assert(vpa_amount_to_cores(1500) == 1.5);
    ck_assert(vpa_amount_to_bytes(262144000) == 262144000.0);
}

/* 4007 thousandths and back lose one: the reference's order of the products is kept. */
TEST(keeps_the_order_of_products) {
    ck_assert_int_eq(vpa_amount_from_cores(4007 * 0.001), 4006);
}

TEST(scales) {
    ck_assert_int_eq(vpa_amount_scale(10, 0.15), 1);
    ck_assert_int_eq(vpa_amount_scale(10, -1), 0);
    ck_assert_int_eq(vpa_amount_scale(VPA_AMOUNT_MAX, 2), VPA_AMOUNT_MAX);
    ck_assert_int_eq(vpa_amount_scale(0, INFINITY), INT64_MIN);
    ck_assert_int_eq(vpa_amount_max(3, 4), 4);
    ck_assert_int_eq(vpa_amount_max(4, 3), 4);
}

int main(void)
{
    return run_tests("amount", NULL, NULL);
}
