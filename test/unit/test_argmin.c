/* Autopilot's arg-min recommender: both forms of its costs, changes and models, by hand. */
#include <check.h>

#include "suite.h"
#include "vpa/base/time.h"
#include "vpa/model/argmin.h"

#define LOW 0.001      /* end of bucket 0 */
#define HIGH 0.0011025 /* end of bucket 2: 1.05^2 */

static struct vpa_buckets buckets;
static struct vpa_argmin a;

static void setup(void)
{
    vpa_buckets_init(&buckets, 0.001, 1000.0);
}

static void teardown(void)
{
    vpa_argmin_release(&a);
}

static struct vpa_argmin_rule rule(double over, bool distances)
{
    return (struct vpa_argmin_rule){
        .buckets = &buckets,
        .w_over = over,
        .w_under = 1.0,
        .smooth = 24 * VPA_HOUR,
        .distances = distances,
        .margin_count = 1,
    };
}

static double window(int low, int high)
{
    for (int i = 0; i < low; i++)
        vpa_argmin_add(&a, LOW);
    for (int i = 0; i < high; i++)
        vpa_argmin_add(&a, HIGH);
    return vpa_argmin_close(&a);
}

/*
 * Nine samples in bucket 0 and one in bucket 2. Counting: at bucket 0 over is 0.1 and under 0; at 2
 * over is 0 and under 0.9: the higher one is cheaper from w_over = 9 on. Distances (mean 1.01025
 * m): at 0 over is 0.11025 - 0.1 = 0.01025 m; at 2 under is 1.1025 - 1.01025 = 0.09225 m: from 9
 * on, too, but here relative to the mean on both sides.
 */
static const struct {
    double over;
    bool distances;
    double limit;
} forms[] = {{8.9, false, LOW}, {9.1, false, HIGH}, {8.9, true, LOW}, {9.1, true, HIGH}};
START_TEST(cheapest_limit)
{
    struct vpa_argmin_rule r = rule(forms[_i].over, forms[_i].distances);

    vpa_argmin_init(&a, &r);
    ck_assert_double_eq_tol(window(9, 1), forms[_i].limit, 1e-12);
}
END_TEST

START_TEST(nothing_known_then_as_before)
{
    struct vpa_argmin_rule r = rule(20, false);

    vpa_argmin_init(&a, &r);
    ck_assert(vpa_argmin_close(&a) == 0.0);
    double limit = window(9, 1);
    ck_assert(vpa_argmin_close(&a) == limit);
}
END_TEST

/*
 * w_over = 6: 0.6 against 0.9, so bucket 0. Then a window of ten in bucket 2. With the half-life of
 * an hour it counts 1 - 2^(-1/12) = 0.05613, the past is 0.84949 and 0.15051, and costs are 0.90308
 * and 0.84949: bucket 2, if the change costs no more than 0.0536. The longer half-lives stay. All
 * models have cost 0.6 so far; the new costs count 1 - 2^(-1/288) = 0.0024: the first model has
 * 0.60062 and the change, the others 0.6001 and less, and what another model costs.
 */
static const struct {
    double w_change, w_model, limit;
} changes[] = {
    {0.00, 1.0, HIGH}, /* stays with its model, which goes up */
    {0.01, 1.0, HIGH},
    {0.06, 1.0, LOW}, /* within the model the change is too dear */
    {0.00, 0.0, LOW}, /* another model is cheaper */
};
START_TEST(changes_and_models_cost)
{
    struct vpa_argmin_rule r = rule(6, false);

    r.w_change = changes[_i].w_change;
    r.w_model = changes[_i].w_model;
    vpa_argmin_init(&a, &r);
    ck_assert_double_eq_tol(window(9, 1), LOW, 1e-12);
    ck_assert_double_eq_tol(window(0, 10), changes[_i].limit, 1e-12);
}
END_TEST

/* Nothing above for three windows: no margin. Then half of the samples are above for hours, which
 * costs 1000 times 0.5 without a margin: every model that does not cover them falls behind. */
START_TEST(margins_are_models)
{
    struct vpa_argmin_rule r = rule(1000, false);
    double limit = 0.0;

    r.margin_count = 2;
    r.margins[1] = 2;
    vpa_argmin_init(&a, &r);
    for (int i = 0; i < 3; i++)
        limit = window(10, 0);
    ck_assert_double_eq_tol(limit, LOW, 1e-12); /* nothing was ever above */
    for (int i = 0; i < 50; i++)
        limit = window(1, 1);
    ck_assert_double_ge(limit, HIGH - 1e-12);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("argmin");
    TCase *c = tcase_create("argmin");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, cheapest_limit, 0, (int)(sizeof(forms) / sizeof(forms[0])));
    tcase_add_test(c, nothing_known_then_as_before);
    tcase_add_loop_test(c, changes_and_models_cost, 0, (int)(sizeof(changes) / sizeof(changes[0])));
    tcase_add_test(c, margins_are_models);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
