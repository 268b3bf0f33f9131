/* Plumb's CPU target: the cheapest limit by hand, holding, lowering, merging. */
#include <check.h>

#include "suite.h"
#include "vpa/model/plumb_cpu.h"

#define W(n) (1700006400 + 300 * (int64_t)(n))

static struct vpa_buckets buckets;
static struct vpa_plumb_cpu p;

static void setup(void)
{
    vpa_buckets_init(&buckets, 0.001, 1000.0);
}

static void teardown(void)
{
    vpa_plumb_cpu_release(&p);
}

static void use(double want_cost)
{
    vpa_plumb_cpu_init(&p, &(struct vpa_plumb_cpu_rule){&buckets, want_cost});
}

/* One window of `low` samples of a millicore and one of 100 buckets above (0.1315 cores). */
static void window(int n, int low, bool spike)
{
    for (int i = 0; i < low; i++)
        vpa_plumb_cpu_add(&p, W(n), 0.001);
    if (spike)
        vpa_plumb_cpu_add(&p, W(n), 0.1315);
    vpa_plumb_cpu_advance(&p, W(n + 1));
}

TEST(nothing_known) {
    use(4.5);
    vpa_plumb_cpu_advance(&p, W(3));
    ck_assert(vpa_plumb_cpu_target(&p) == 0.0);
    vpa_plumb_cpu_add(&p, W(3), 0.2);
    ck_assert(vpa_plumb_cpu_target(&p) == 0.0);
    vpa_plumb_cpu_advance(&p, W(4));
    ck_assert_double_eq_tol(vpa_plumb_cpu_target(&p), vpa_buckets_round_up(&buckets, 0.2), 1e-12);
}

/* Within a window nothing changes, however many samples come. */
TEST(a_window_is_judged_when_it_is_over) {
    use(4.5);
    window(0, 10, false);
    for (int i = 0; i < 10; i++) {
        vpa_plumb_cpu_add(&p, W(1), 0.1315);
        ck_assert_double_eq_tol(vpa_plumb_cpu_target(&p), 0.001, 1e-12);
    }
    vpa_plumb_cpu_advance(&p, W(2));
    ck_assert_double_eq_tol(vpa_plumb_cpu_target(&p), 0.131501257846, 1e-9);
}

/*
 * 99 samples of 0.001 and one of 0.131501: mean 0.00230501. At the small limit slack is 0 and
 * unserved 1 - 0.001 / 0.00230501 = 0.56616; at the large one slack is 1 - 0.00230501 / 0.131501 =
 * 0.98247 and unserved 0. The large one is cheaper from a cost of want of 0.98247 / 0.56616 =
 * 1.7353 on.
 */
static const struct {
    double want_cost, target;
} prices[] = {{1.73, 0.001}, {1.74, 0.131501257846}, {4.5, 0.131501257846}};
TEST_TIMES(the_cheapest_limit, 3) {
    use(prices[_i].want_cost);
    window(0, 99, true);
    ck_assert_double_eq_tol(vpa_plumb_cpu_target(&p), prices[_i].target, 1e-9);
}

/* A rise shows in the next window; after it has gone it holds for an hour at least, and goes when
 * it has become too rare to be worth its reserve. */
TEST(up_at_once_down_late) {
    use(4.5);
    for (int n = 0; n < 12; n++)
        window(n, 10, false);
    ck_assert_double_eq_tol(vpa_plumb_cpu_target(&p), 0.001, 1e-12);
    window(12, 0, true);
    ck_assert_double_gt(vpa_plumb_cpu_target(&p), 0.13);
    for (int n = 13; n < 24; n++) {
        window(n, 10, false);
        ck_assert_double_gt(vpa_plumb_cpu_target(&p), 0.13);
    }
    for (int n = 24; n < 24 + 20 * 288; n++)
        window(n, 1, false);
    ck_assert_double_eq_tol(vpa_plumb_cpu_target(&p), 0.001, 1e-12);
}

/* 1.05 and 1.05^2 times a millicore differ by 5 %: not worth a change downwards. */
TEST(small_savings_change_nothing) {
    use(4.5);
    for (int n = 0; n < 12; n++) {
        vpa_plumb_cpu_add(&p, W(n), 0.0011025);
        vpa_plumb_cpu_advance(&p, W(n + 1));
    }
    for (int n = 12; n < 20 * 288; n++) {
        vpa_plumb_cpu_add(&p, W(n), 0.00105);
        vpa_plumb_cpu_advance(&p, W(n + 1));
        ck_assert_double_eq_tol(vpa_plumb_cpu_target(&p), 0.0011025, 1e-9);
    }
}

TEST(merged_replicas_are_one_past) {
    struct vpa_plumb_cpu other;
    double target;

    use(4.5);
    for (int n = 0; n < 100; n++) {
        vpa_plumb_cpu_add(&p, W(n), 0.1);
        vpa_plumb_cpu_add(&p, W(n), n % 10 ? 0.1 : 0.5);
    }
    vpa_plumb_cpu_advance(&p, W(100));
    target = vpa_plumb_cpu_target(&p);
    vpa_plumb_cpu_release(&p);
    use(4.5);
    vpa_plumb_cpu_init(&other, &p.rule);
    for (int n = 0; n < 100; n++) {
        vpa_plumb_cpu_add(&p, W(n), 0.1);
        vpa_plumb_cpu_add(&other, W(n), n % 10 ? 0.1 : 0.5);
    }
    vpa_plumb_cpu_merge(&p, &other);
    vpa_plumb_cpu_advance(&p, W(100));
    ck_assert_double_eq_tol(vpa_plumb_cpu_target(&p), target, 1e-12);
    vpa_plumb_cpu_release(&other);
}

int main(void)
{
    return run_tests("plumb_cpu", setup, teardown);
}
