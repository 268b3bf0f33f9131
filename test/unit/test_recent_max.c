/* The largest value of the last seconds, against all values kept in a plain list. */
#include <check.h>
#include <stdlib.h>

#include "suite.h"
#include "vpa/base/random.h"
#include "vpa/model/recent_max.h"

#define SPAN 10
#define VALUES 400

static struct vpa_recent_max recent, other;

static void setup(void)
{
    recent = (struct vpa_recent_max){.span = SPAN};
    other = (struct vpa_recent_max){.span = SPAN};
}

static void teardown(void)
{
    vpa_recent_max_release(&recent);
    vpa_recent_max_release(&other);
}

TEST(a_value_counts_for_its_span) {
    ck_assert_double_eq(vpa_recent_max(&recent), 0);
    vpa_recent_max_push(&recent, 100, 7);
    vpa_recent_max_push(&recent, 101, 3);
    vpa_recent_max_age(&recent, 100 + SPAN - 1);
    ck_assert_double_eq(vpa_recent_max(&recent), 7);
    vpa_recent_max_age(&recent, 100 + SPAN);
    ck_assert_double_eq(vpa_recent_max(&recent), 3);
    vpa_recent_max_push(&recent, 101 + SPAN, 1);
    ck_assert_double_eq(vpa_recent_max(&recent), 1);
}

/* It was measured late, not in the past: nothing that came before it has to be looked at again. */
TEST(a_value_out_of_order_is_the_newest) {
    vpa_recent_max_push(&recent, 100, 9);
    vpa_recent_max_push(&recent, 105, 5);
    vpa_recent_max_push(&recent, 101, 4);
    ck_assert_uint_eq(recent.count, 3);
    ck_assert_int_eq(recent.items[2].second, 105);
    vpa_recent_max_push(&recent, 101, 6);
    ck_assert_uint_eq(recent.count, 2);
    ck_assert_int_eq(recent.items[1].second, 105);
}

static void push(struct vpa_recent_max *m, double values[], int64_t second, double value)
{
    values[second] = value;
    vpa_recent_max_push(m, second, value);
}

static double largest(const double values[], int64_t second)
{
    double most = 0;

    for (int64_t i = second - SPAN + 1; i <= second; i++)
        most = i >= 0 && values[i] > most ? values[i] : most;
    return most;
}

/* Each of two hears a part; together they know what one knows that hears all. */
TEST(is_the_largest_at_any_time) {
    double values[VALUES] = {0}, own[VALUES] = {0};
    struct vpa_recent_max both;
    struct vpa_random random;

    vpa_random_init(&random, 5);
    for (int64_t i = 0; i < VALUES; i++) {
        double value = (double)(int)(vpa_random_double(&random) * 20);

        values[i] = value;
        if (vpa_random_double(&random) < 0.5)
            push(&recent, own, i, value);
        else
            vpa_recent_max_push(&other, i, value);
        vpa_recent_max_age(&recent, i);
        ck_assert_double_eq(vpa_recent_max(&recent), largest(own, i));
        both = (struct vpa_recent_max){.span = SPAN};
        vpa_recent_max_merge(&both, &recent);
        vpa_recent_max_merge(&both, &other);
        vpa_recent_max_age(&both, i);
        ck_assert_double_eq(vpa_recent_max(&both), largest(values, i));
        vpa_recent_max_release(&both);
    }
}

int main(void)
{
    return run_tests("recent_max", setup, teardown);
}
