/* Autopilot's moving windows: each formula against numbers computed by hand; maxima of a span. */
#include <check.h>

#include "suite.h"
#include "vpa/model/window_signal.h"

#define MIB 1048576.0
#define W(n) (1700006400 + 300 * (int64_t)(n))
#define TOL 1e-9

static struct vpa_buckets cpu;
static struct vpa_window_signal s;

static void setup(void)
{
    vpa_buckets_init(&cpu, 0.001, 1000.0);
}

static void teardown(void)
{
    vpa_window_signal_release(&s);
}

static struct vpa_signal_rule rule(void)
{
    return (struct vpa_signal_rule){
        .buckets = &cpu,
        .half_life = 5 * VPA_MINUTE, /* a window */
        .span_seconds = 1500,
        .margin = 0.15,
        .hold_seconds = 300,
    };
}

static void use(const struct vpa_signal_rule *r)
{
    vpa_window_signal_init(&s, r);
}

static void window(int n, double a, double b)
{
    vpa_window_signal_add(&s, W(n), a);
    vpa_window_signal_add(&s, W(n), b);
    vpa_window_signal_close(&s, W(n));
}

TEST(windows_begin_at_multiples) {
    ck_assert_int_eq(vpa_window_of(vpa_time_from_unix(1700006399, 999999999)), W(-1));
    ck_assert_int_eq(vpa_window_of(vpa_time_from_unix(1700006400, 0)), W(0));
    ck_assert_int_eq(vpa_window_of(vpa_time_from_unix(-1, 0)), -300);
}

TEST_CASE(signals, setup, teardown);

TEST(nothing_is_known_before_a_window_closed) {
    struct vpa_signal_rule r = rule();

    r.percentile = 0.9;
    use(&r);
    vpa_window_signal_close(&s, W(0));
    ck_assert(vpa_window_signal_limit(&s) == 0.0);
    vpa_window_signal_add(&s, W(1), 1.0);
    ck_assert(vpa_window_signal_limit(&s) == 0.0);
    vpa_window_signal_close(&s, W(1));
    ck_assert(vpa_window_signal_limit(&s) > 1.15);
}

/* Means 2 and 5 of two windows, the older weighing half: (0.5 * 2 + 5) / 1.5 = 4, and 15 %. */
TEST(average_of_windows) {
    struct vpa_signal_rule r = rule();

    r.average = true;
    use(&r);
    window(0, 1.0, 3.0);
    ck_assert_double_eq_tol(vpa_window_signal_limit(&s), 2.0 * 1.15, TOL);
    window(1, 5.0, 5.0);
    ck_assert_double_eq_tol(vpa_window_signal_limit(&s), 4.0 * 1.15, TOL);
}

/* A mean of 2 and, a window later elsewhere, one of 5: (0.5 * 2 + 5) / 1.5 = 4 of weight 1.5, as if
 * one had seen both. A window later that weighs half of it beside the mean of 8. */
TEST(merged_averages_weigh_as_one) {
    struct vpa_signal_rule r = rule();
    struct vpa_window_signal other;

    r.average = true;
    use(&r);
    vpa_window_signal_init(&other, &r);
    window(0, 2.0, 2.0);
    vpa_window_signal_add(&other, W(1), 5.0);
    vpa_window_signal_close(&other, W(1));
    vpa_window_signal_merge(&s, &other);
    window(2, 8.0, 8.0);
    ck_assert_double_eq_tol(vpa_window_signal_limit(&s), (0.75 * 4.0 + 8.0) / 1.75 * 1.15, TOL);
    vpa_window_signal_release(&other);
}

/* The peak of either counts, also when the limit that it gave is no longer held. Peaks are those of
 * their buckets, which are 5 % wide. */
TEST(merged_peaks_are_the_larger) {
    struct vpa_signal_rule r = rule();
    struct vpa_window_signal other;

    r.max_share = 1.0;
    use(&r);
    vpa_window_signal_init(&other, &r);
    window(0, 2.0, 2.0);
    vpa_window_signal_add(&other, W(0), 5.0);
    vpa_window_signal_close(&other, W(0));
    vpa_window_signal_merge(&s, &other);
    for (int n = 1; n <= 4; n++) {
        window(n, 2.0, 2.0);
        ck_assert_double_eq_tol(vpa_window_signal_limit(&s), 5.0 * 1.15, 0.05 * 5.0 * 1.15);
    }
    for (int n = 5; n <= 8; n++)
        window(n, 2.0, 2.0);
    ck_assert_double_eq_tol(vpa_window_signal_limit(&s), 2.0 * 1.15, 0.05 * 2.0 * 1.15);
    vpa_window_signal_release(&other);
}

/* A replica without a sample takes nothing from what is under way in the other, nor the reverse. */
TEST_TIMES(one_that_knows_nothing_merges_too, 2) {
    struct vpa_signal_rule r = rule();
    struct vpa_window_signal other;

    r.average = true;
    use(&r);
    vpa_window_signal_init(&other, &r);
    vpa_window_signal_add(_i ? &other : &s, W(0), 2.0);
    vpa_window_signal_merge(&s, &other);
    vpa_window_signal_close(&s, W(0));
    ck_assert_double_eq_tol(vpa_window_signal_limit(&s), 2.0 * 1.15, TOL);
    vpa_window_signal_release(&other);
}

/* Four samples: 0.001 (bucket 0), 0.00105 (1), 0.0011025 (2), twice in an older window of half the
 * weight and once more the largest. Loads: 0.5 * 0.001, 0.5 * 0.00105, 1 * 0.0011025 twice:
 * total 0.00323; the first two are 31.7 %, so p = 0.31 is bucket 1 and p = 0.32 bucket 2. */
static const struct {
    double p, end;
} load_percentiles[] = {{0.15, 0.001}, {0.31, 0.00105}, {0.32, 0.0011025}, {0.98, 0.0011025}};
TEST_TIMES(percentile_of_the_load, 4) {
    struct vpa_signal_rule r = rule();

    r.percentile = load_percentiles[_i].p;
    use(&r);
    window(0, 0.001, 0.00105);
    window(1, 0.0011025, 0.0011025);
    ck_assert_double_eq_tol(vpa_window_signal_limit(&s), load_percentiles[_i].end * 1.15, TOL);
}

/* The largest of 1500 seconds, rounded up to its bucket; it goes with the sixth window. */
TEST(maximum_of_the_span) {
    struct vpa_signal_rule r = rule();

    r.max_share = 1.0;
    use(&r);
    window(0, 0.0011, 0.00105);
    for (int n = 1; n < 5; n++) {
        window(n, 0.001, 0.001);
        ck_assert_double_eq_tol(vpa_window_signal_limit(&s), 0.0011025 * 1.15, TOL);
    }
    window(5, 0.001, 0.001);
    ck_assert_double_eq_tol(vpa_window_signal_limit(&s), 0.001 * 1.15, TOL);
}

/* max(S_p60, 0.5 S_max): one peak of 8 among ones. The larger of the percentile (bucket of 1) and
 * half the peak's bucket end. */
TEST(share_of_the_maximum) {
    struct vpa_signal_rule r = rule();

    r.percentile = 0.1;
    r.max_share = 0.5;
    use(&r);
    window(0, 8.0, 8.0);
    window(1, 1.0, 1.0);
    window(2, 1.0, 1.0);
    window(3, 1.0, 1.0);
    ck_assert_double_eq_tol(vpa_window_signal_limit(&s),
                            0.5 * vpa_buckets_round_up(&cpu, 8.0) * 1.15, TOL);
}

/* Neither an average nor a percentile nor a share of the maximum: nothing. */
TEST(no_statistic_is_no_limit) {
    struct vpa_signal_rule r = rule();

    r.percentile = 0.0;
    r.max_share = 0.0;
    use(&r);
    window(0, 8.0, 8.0);
    ck_assert_double_eq(vpa_window_signal_limit(&s), 0.0);
}

TEST(the_largest_of_the_last_hour_holds) {
    struct vpa_signal_rule r = rule();

    r.average = true;
    r.half_life = VPA_MINUTE / 4; /* the average is the last window */
    r.hold_seconds = 900;
    use(&r);
    window(0, 4.0, 4.0);
    window(1, 1.0, 1.0);
    window(2, 1.0, 1.0);
    ck_assert_double_eq_tol(vpa_window_signal_limit(&s), 4.0 * 1.15, 1e-3);
    window(3, 1.0, 1.0);
    ck_assert_double_lt(vpa_window_signal_limit(&s), 1.16);
}

TEST_CASE(parts, NULL, NULL);

/* A kill at 100 MiB: 120 MiB for a day; at 20 MiB: 30 MiB, because 10 MiB is the least. */
TEST(floor_after_a_kill) {
    struct vpa_oom_floor f;

    vpa_oom_floor_init(&f);
    ck_assert(vpa_oom_floor_at(&f, 0) == 0.0);
    vpa_oom_floor_hit(&f, 1000, 100 * MIB);
    ck_assert_double_eq_tol(vpa_oom_floor_at(&f, 87399), 120 * MIB, 1.0);
    ck_assert(vpa_oom_floor_at(&f, 87400) == 0.0);
    vpa_oom_floor_hit(&f, 2000, 20 * MIB); /* the higher one stays, for longer */
    ck_assert_double_eq_tol(vpa_oom_floor_at(&f, 88399), 120 * MIB, 1.0);
    vpa_oom_floor_hit(&f, 200000, 20 * MIB);
    ck_assert_double_eq_tol(vpa_oom_floor_at(&f, 200000), 30 * MIB, 1.0);
}

/* Against a list that is searched through. */
TEST(recent_max_equals_a_search) {
    struct vpa_recent_max m = {.span = 50};
    struct vpa_recent_max odd = {.span = 50};
    struct vpa_recent_max even = {.span = 50};
    double values[400];

    for (int i = 0; i < 400; i++) {
        double largest = 0.0;
        values[i] = (double)(i * 7919 % 101);
        vpa_recent_max_push(&m, 10 * i, values[i]);
        vpa_recent_max_push(i % 2 ? &odd : &even, 10 * i, values[i]);
        for (int k = i; k >= 0 && 10 * k > 10 * i - 50; k--)
            largest = values[k] > largest ? values[k] : largest;
        ck_assert(vpa_recent_max(&m) == largest);
        ck_assert_uint_le(m.count, 5);
    }
    vpa_recent_max_merge(&odd, &even);
    ck_assert(vpa_recent_max(&odd) == vpa_recent_max(&m));
    ck_assert_uint_eq(odd.count, m.count);
    vpa_recent_max_release(&m);
    vpa_recent_max_release(&odd);
    vpa_recent_max_release(&even);
    ck_assert(vpa_recent_max(&m) == 0.0);
}

int main(void)
{
    return run_tests("window_signal", NULL, NULL);
}
