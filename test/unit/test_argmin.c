/* Autopilot's arg-min recommender: both forms of its costs, changes and models, by hand. */
#include <check.h>

#include "suite.h"
#include "vpa/base/time.h"
#include "vpa/model/argmin.h"
#include "vpa/model/window_signal.h"

#define LOW 0.001      /* end of bucket 0 */
#define HIGH 0.0011025 /* end of bucket 2: 1.05^2 */

static struct vpa_buckets buckets;
static struct vpa_argmin a;
static int64_t clock_second;

static int64_t next_window(void)
{
    return clock_second += VPA_WINDOW_SECONDS;
}

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
    return vpa_argmin_close(&a, next_window());
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
    ck_assert(vpa_argmin_close(&a, next_window()) == 0.0);
    double limit = window(9, 1);
    ck_assert(vpa_argmin_close(&a, next_window()) == limit);
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

/* ---- the limit that holds ---- */

/*
 * Half of the samples high: 1.0005 x 0.5 over at the low limit against 0.5 under at the high one.
 * The next window is low: the past of 72 h has 0.5 x 2^(-1/864) = 0.4996 high, and 0.49985 is less
 * than 0.5004; the shorter ones have even less. So the limit falls at once and the first one holds
 * for an hour, that is eleven windows more.
 */
START_TEST(the_largest_limit_of_the_hold_is_in_force)
{
    struct vpa_argmin_rule r = rule(1.0005, false);

    r.hold_seconds = 3600;
    vpa_argmin_init(&a, &r);
    vpa_argmin_close(&a, next_window());
    ck_assert(vpa_argmin_limit(&a) == 0.0); /* nothing is known */
    ck_assert_double_eq_tol(window(5, 5), HIGH, 1e-12);
    for (int i = 0; i < 11; i++) {
        ck_assert_double_eq_tol(window(10, 0), LOW, 1e-12);
        ck_assert_double_eq_tol(vpa_argmin_limit(&a), HIGH, 1e-12);
    }
    vpa_argmin_close(&a, next_window()); /* without samples */
    ck_assert_double_eq_tol(vpa_argmin_limit(&a), LOW, 1e-12);
}
END_TEST

/* ---- merging ---- */

static struct vpa_argmin other;

static void fill(struct vpa_argmin *to, int windows, double value)
{
    for (int i = 0; i < windows; i++) {
        vpa_argmin_add(to, value);
        vpa_argmin_close(to, next_window());
    }
}

static double share(const struct vpa_argmin *of, size_t decay, uint32_t bucket)
{
    return of->past[decay * buckets.count + bucket];
}

/* Twelve windows low, then twelve high in another process: of the decay of an hour (12 windows) the
 * first fill 1/2, of which 1/2 is left after the second, which fill 1/2: 1/3 and 2/3. */
START_TEST(a_later_past_goes_on)
{
    struct vpa_argmin_rule r = rule(6, false);

    vpa_argmin_init(&a, &r);
    vpa_argmin_init(&other, &r);
    fill(&a, 12, LOW);
    fill(&other, 12, HIGH);
    vpa_argmin_merge(&a, &other);
    ck_assert_double_eq_tol(share(&a, 0, 0), 1.0 / 3, 1e-9);
    ck_assert_double_eq_tol(share(&a, 0, 2), 2.0 / 3, 1e-9);
    ck_assert_int_eq(a.closed, 24);
    ck_assert_uint_eq(a.limit, other.limit); /* the newer one's */
    vpa_argmin_release(&other);
}
END_TEST

/* Two replicas at the same time count alike, and the higher limit stands; open windows are one. */
START_TEST(pasts_of_one_time_are_averaged)
{
    struct vpa_argmin_rule r = rule(6, false);

    vpa_argmin_init(&a, &r);
    vpa_argmin_init(&other, &r);
    fill(&a, 12, LOW);
    clock_second -= 12 * VPA_WINDOW_SECONDS;
    fill(&other, 12, HIGH);
    vpa_argmin_add(&a, LOW);
    vpa_argmin_add(&other, HIGH);
    vpa_argmin_merge(&a, &other);
    for (size_t k = 0; k < VPA_ARGMIN_DECAYS; k++) {
        ck_assert_double_eq_tol(share(&a, k, 0), 0.5, 1e-9);
        ck_assert_double_eq_tol(share(&a, k, 2), 0.5, 1e-9);
    }
    ck_assert_int_eq(a.closed, 12);
    ck_assert_double_eq_tol(buckets.ends[a.limit], HIGH, 1e-12);
    ck_assert_uint_eq(a.open_count, 2);
    ck_assert(a.open[0] == 1.0 && a.open[2] == 1.0);
    vpa_argmin_release(&other);
}
END_TEST

START_TEST(merging_into_nothing_takes_all)
{
    struct vpa_argmin_rule r = rule(6, false);

    r.hold_seconds = 3600;
    vpa_argmin_init(&a, &r);
    vpa_argmin_init(&other, &r);
    fill(&other, 12, HIGH);
    vpa_argmin_merge(&a, &other);
    ck_assert(a.known);
    ck_assert_int_eq(a.closed, 12);
    ck_assert(vpa_argmin_limit(&a) == vpa_argmin_limit(&other));
    ck_assert_double_eq_tol(share(&a, 3, 2), 1.0, 1e-12);
    vpa_argmin_release(&other);
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
    tcase_add_test(c, the_largest_limit_of_the_hold_is_in_force);
    tcase_add_test(c, a_later_past_goes_on);
    tcase_add_test(c, pasts_of_one_time_are_averaged);
    tcase_add_test(c, merging_into_nothing_takes_all);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
