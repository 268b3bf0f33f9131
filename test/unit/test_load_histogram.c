/* Load histograms: buckets, percentiles by load and by time against numbers computed by hand. */
#include <check.h>
#include <math.h>

#include "suite.h"
#include "vpa/model/load_histogram.h"

static struct vpa_buckets cpu;

static void setup(void)
{
    vpa_buckets_init(&cpu, 0.001, 1000.0);
}

static vpa_time hours(int h)
{
    return vpa_time_from_unix(1700006400 + 3600 * (int64_t)h, 0);
}

static const struct {
    double value;
    uint32_t bucket;
} places[] = {
    {0.0, 0},          {0.001, 0},          {0.00100001, 1},
    {0.00105, 1}, /* its end: 0.001 * 1.05 */
    {0.0010500001, 2}, {0.0011025, 2},      {1000.0, 284},
    {1e9, 285},        {0.00162889462, 10}, /* 1.05^10 = 1.628894626777442 */
};

TEST_EACH(values_fall_into_geometric_buckets, places) {
    ck_assert_uint_eq(vpa_buckets_find(&cpu, places[_i].value), places[_i].bucket);
    ck_assert(places[_i].value > 1000.0 ||
              vpa_buckets_round_up(&cpu, places[_i].value) >= places[_i].value * (1 - 1e-8));
}

TEST(empty_knows_nothing) {
    struct vpa_load_histogram h;

    vpa_load_histogram_init(&h, &cpu, 12 * VPA_HOUR);
    ck_assert(vpa_load_histogram_is_empty(&h));
    ck_assert(vpa_load_histogram_percentile(&h, 0.9) == 0.0);
    vpa_load_histogram_release(&h);
}

/* End of the bucket in which the share p of the weights is reached. */
static double time_percentile(const struct vpa_load_histogram *h, double p)
{
    double total = 0.0, sum = 0.0, end = 0.0;

    for (uint32_t i = 0; i < h->span; i++)
        total += h->weights[i];
    for (uint32_t i = 0; i < h->span && (end == 0.0 || sum < p * total); i++) {
        sum += h->weights[i];
        if (h->weights[i] > 0.0)
            end = h->buckets->ends[h->base + i];
    }
    return end;
}

/* Nine samples at the end of bucket 0 (1 millicore) and one at that of bucket 100 (0.131501257846
 * cores): by time the 90th percentile is the small one, by load the large one holds 0.1315 / (0.009
 * + 0.1315) = 93.6 % of all, so that any percentile above 6.4 is the large one. */
TEST(load_is_not_time) {
    struct vpa_load_histogram h;

    vpa_load_histogram_init(&h, &cpu, 12 * VPA_HOUR);
    for (int i = 0; i < 9; i++)
        vpa_load_histogram_add(&h, 0.001, 1.0, hours(0));
    vpa_load_histogram_add(&h, 0.1315, 1.0, hours(0));
    ck_assert_double_eq_tol(time_percentile(&h, 0.9), 0.001, 1e-12);
    ck_assert_double_eq_tol(vpa_load_histogram_percentile(&h, 0.06), 0.001, 1e-12);
    ck_assert_double_eq_tol(vpa_load_histogram_percentile(&h, 0.07), 0.131501257846, 1e-9);
    ck_assert_double_eq_tol(time_percentile(&h, 0.91), 0.131501257846, 1e-9);
    vpa_load_histogram_release(&h);
}

/* Two samples, a half-life apart: the older weighs half, so a third of the time. */
TEST(the_old_weighs_less) {
    struct vpa_load_histogram h;

    vpa_load_histogram_init(&h, &cpu, 12 * VPA_HOUR);
    vpa_load_histogram_add(&h, 0.001, 1.0, hours(0));
    vpa_load_histogram_add(&h, 0.1315, 1.0, hours(12));
    ck_assert_double_eq_tol(time_percentile(&h, 0.333), 0.001, 1e-12);
    ck_assert_double_eq_tol(time_percentile(&h, 0.334), 0.1315, 1e-5);
    vpa_load_histogram_release(&h);
}

/* A year later the reference has moved, and the old sample is worth nothing. */
TEST(a_long_time_does_not_overflow) {
    struct vpa_load_histogram h;

    vpa_load_histogram_init(&h, &cpu, VPA_HOUR);
    vpa_load_histogram_add(&h, 1.0, 1.0, hours(0));
    for (int h_year = 100; h_year <= 24 * 365; h_year += 100)
        vpa_load_histogram_add(&h, 0.001, 1.0, hours(h_year));
    ck_assert(h.ref > hours(24 * 365 - 300));
    ck_assert_double_eq_tol(time_percentile(&h, 0.999999), 0.001, 1e-12);
    vpa_load_histogram_release(&h);
}

/* In one step, so that the weight of the new one would be infinite beside the old reference. */
TEST(a_long_pause_does_not_overflow) {
    struct vpa_load_histogram h;

    vpa_load_histogram_init(&h, &cpu, VPA_HOUR);
    vpa_load_histogram_add(&h, 0.1315, 1.0, hours(0));
    vpa_load_histogram_add(&h, 0.001, 1.0, hours(5000));
    vpa_load_histogram_add(&h, 0.1315, 1.0, hours(5000));
    ck_assert_double_eq_tol(time_percentile(&h, 0.4), 0.001, 1e-12);
    ck_assert_double_eq_tol(time_percentile(&h, 0.6), 0.1315, 1e-5);
    vpa_load_histogram_release(&h);
}

TEST(merging_is_adding) {
    struct vpa_load_histogram all, a, b;

    vpa_load_histogram_init(&all, &cpu, 12 * VPA_HOUR);
    vpa_load_histogram_init(&a, &cpu, 12 * VPA_HOUR);
    vpa_load_histogram_init(&b, &cpu, 12 * VPA_HOUR);
    for (int i = 0; i < 200; i++) {
        double value = 0.001 * (1 + i * 37 % 100);
        vpa_load_histogram_add(&all, value, 1.0, hours(i));
        vpa_load_histogram_add(i % 3 ? &a : &b, value, 1.0, hours(i));
    }
    vpa_load_histogram_merge(&a, &b);
    for (int p = 1; p < 100; p++)
        ck_assert(vpa_load_histogram_percentile(&a, p / 100.0) ==
                  vpa_load_histogram_percentile(&all, p / 100.0));
    vpa_load_histogram_release(&all);
    vpa_load_histogram_release(&a);
    vpa_load_histogram_release(&b);
}

/* Room is made in steps, which the last bucket ends wherever it is. */
TEST_TIMES(the_last_bucket_is_the_end, 8) {
    struct vpa_buckets buckets;
    struct vpa_load_histogram h;

    vpa_buckets_init(&buckets, 0.001, 0.001 * pow(1.05, 90 + _i));
    vpa_load_histogram_init(&h, &buckets, 12 * VPA_HOUR);
    vpa_load_histogram_add(&h, 1e9, 1.0, hours(0));
    ck_assert_uint_eq(h.base + h.span, buckets.count);
    ck_assert(vpa_load_histogram_percentile(&h, 1.0) == buckets.ends[buckets.count - 1]);
    vpa_load_histogram_release(&h);
}

static void add_to(struct vpa_load_histogram *h, double value, int times, int hour)
{
    for (int i = 0; i < times; i++)
        vpa_load_histogram_add(h, value, 1.0, hours(hour));
}

/* One of another age than the one it is added to: as if all had been added to one, whichever came
 * first and whichever is newer, also to one that has nothing yet. */
static const struct {
    int hour_a, hour_b; /* -1: nothing */
} ages[] = {{0, 0}, {0, 12}, {12, 0}, {0, 100}, {100, 0}, {-1, 5}, {5, -1}, {0, 3000}, {3000, 0}};

TEST_TIMES(merging_keeps_ages, 9) {
    static const double shares[] = {0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99};
    struct vpa_load_histogram a, b, all;

    vpa_load_histogram_init(&a, &cpu, 12 * VPA_HOUR);
    vpa_load_histogram_init(&b, &cpu, 12 * VPA_HOUR);
    vpa_load_histogram_init(&all, &cpu, 12 * VPA_HOUR);
    if (ages[_i].hour_a >= 0) {
        add_to(&a, 0.5, 3, ages[_i].hour_a);
        add_to(&all, 0.5, 3, ages[_i].hour_a);
    }
    if (ages[_i].hour_b >= 0) {
        add_to(&b, 0.5, 1, ages[_i].hour_b);
        add_to(&b, 2.0, 1, ages[_i].hour_b);
        add_to(&b, 0.01, 7, ages[_i].hour_b);
        add_to(&all, 0.5, 1, ages[_i].hour_b);
        add_to(&all, 2.0, 1, ages[_i].hour_b);
        add_to(&all, 0.01, 7, ages[_i].hour_b);
    }
    vpa_load_histogram_merge(&a, &b);
    ck_assert_int_eq(vpa_load_histogram_is_empty(&a), vpa_load_histogram_is_empty(&all));
    for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
        ck_assert_double_eq(vpa_load_histogram_percentile(&a, shares[i]),
                            vpa_load_histogram_percentile(&all, shares[i]));
        ck_assert_double_eq(time_percentile(&a, shares[i]), time_percentile(&all, shares[i]));
    }
    vpa_load_histogram_release(&a);
    vpa_load_histogram_release(&b);
    vpa_load_histogram_release(&all);
}

int main(void)
{
    return run_tests("load_histogram", setup, NULL);
}
