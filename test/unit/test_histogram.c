/*
 * Histograms: worked examples of the specification, a naive reference with all buckets, stored
 * form.
 */
#include <check.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "histogram_text.h"
#include "suite.h"
#include "vpa/model/histogram.h"

static struct vpa_histogram_options cpu;
static struct vpa_histogram_options memory;
static struct vpa_histogram_options ten; /* linear(10, 1) */

static void setup(void)
{
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_histogram_options_init_exponential(&cpu, 1000.0, 0.01, 1.0 + 0.05, 0.0001, &err), 0);
    ck_assert_int_eq(
        vpa_histogram_options_init_exponential(&memory, 1e12, 1e7, 1.0 + 0.05, 0.0001, &err), 0);
    ck_assert_int_eq(vpa_histogram_options_init_linear(&ten, 10.0, 1.0, 0.0001, &err), 0);
}

static void teardown(void)
{
    vpa_histogram_options_release(&cpu);
    vpa_histogram_options_release(&memory);
    vpa_histogram_options_release(&ten);
}

/* ---- options ---- */

static const struct {
    const char *name;
    double max, first, ratio, epsilon;
} bad_exponential[] = {
    {"no maximum", 0, 1, 1.05, 0.1},      {"no first", 10, 0, 1.05, 0.1},
    {"ratio 1", 10, 1, 1.0, 0.1},         {"no epsilon", 10, 1, 1.05, 0},
    {"maximum is NaN", NAN, 1, 1.1, 0.1}, {"negative maximum", -1, 1, 1.1, 0.1},
};

TEST_EACH(refuses_exponential_options, bad_exponential) {
    struct vpa_histogram_options o;
    struct vpa_error err;

    ck_assert_int_eq(vpa_histogram_options_init_exponential(
                         &o, bad_exponential[_i].max, bad_exponential[_i].first,
                         bad_exponential[_i].ratio, bad_exponential[_i].epsilon, &err),
                     -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_str_eq(err.text,
                     "maxValue, firstBucketSize and epsilon must be > 0.0, ratio must be > 1.0");
}

TEST(refuses_linear_options_and_too_many_buckets) {
    struct vpa_histogram_options o;
    struct vpa_error err;

    ck_assert_int_eq(vpa_histogram_options_init_linear(&o, 0, 1, 1, &err), -1);
    ck_assert_int_eq(vpa_histogram_options_init_linear(&o, 1, -1, 1, &err), -1);
    ck_assert_int_eq(vpa_histogram_options_init_linear(&o, 1, 1, 0, &err), -1);
    ck_assert_str_eq(err.text, "maxValue and bucketSize must both be positive");
    ck_assert_int_eq(vpa_histogram_options_init_linear(&o, 1e12, 1, 1, &err), -1);
    ck_assert_int_eq(err.code, VPA_LIMIT);
    ck_assert_int_eq(vpa_histogram_options_init_exponential(&o, 1e300, 1e-9, 1.0000001, 1, &err),
                     -1);
    ck_assert_int_eq(err.code, VPA_LIMIT);
}

static const struct {
    double value;
    uint32_t cpu;
} cpu_buckets[] = {
    {0.009, 0},    {0.01, 1},   {0.02, 1},  {0.021, 2},      {0.032, 3},   {0.1, 8},
    {0.5, 25},     {1, 36},     {100, 127}, {972.4, 173},    {972.5, 174}, {1021.1, 174},
    {1021.2, 175}, {5000, 175}, {-1, 0},    {INFINITY, 175}, {NAN, 0},
};

TEST_EACH(finds_buckets, cpu_buckets) {
    ck_assert_uint_eq(vpa_histogram_find_bucket(&cpu, cpu_buckets[_i].value), cpu_buckets[_i].cpu);
}

TEST(borders_are_those_of_the_reference) {
    ck_assert_uint_eq(cpu.buckets, 176);
    ck_assert_uint_eq(memory.buckets, 176);
    ck_assert_double_eq(vpa_histogram_bucket_start(&memory, 4), 43101249.999999963);
    ck_assert_double_eq(vpa_histogram_bucket_start(&cpu, 175), 1021.1094089048601);
    ck_assert_double_eq(vpa_histogram_bucket_start(&ten, 7), 7.0);
    ck_assert_uint_eq(vpa_histogram_find_bucket(&ten, 3.9), 3);
    ck_assert_uint_eq(vpa_histogram_find_bucket(&ten, 1e9), 10);
    ck_assert_uint_eq(vpa_histogram_find_bucket(&ten, -1e9), 0);
    ck_assert_uint_eq(vpa_histogram_find_bucket(&cpu, nextafter(0.01, 0)), 0);
    ck_assert_uint_eq(vpa_histogram_find_bucket(&memory, nextafter(1e7, 0)), 0);
    /* The rounding quirk: a start belongs to the bucket below. */
    for (uint32_t i = 2; i < 176; i++)
        ck_assert_uint_eq(vpa_histogram_find_bucket(&cpu, vpa_histogram_bucket_start(&cpu, i)),
                          i - 1);
}

TEST(options_are_compared_by_all_parameters) {
    struct vpa_histogram_options other = cpu;

    ck_assert(vpa_histogram_options_equal(&cpu, &cpu));
    ck_assert(vpa_histogram_options_equal(&cpu, &other));
    other.epsilon = 1;
    ck_assert(!vpa_histogram_options_equal(&cpu, &other));
    other = cpu;
    other.first = 1;
    ck_assert(!vpa_histogram_options_equal(&cpu, &other));
    other = cpu;
    other.ratio = 2;
    ck_assert(!vpa_histogram_options_equal(&cpu, &other));
    other = cpu;
    other.max = 2;
    ck_assert(!vpa_histogram_options_equal(&cpu, &other));
    ck_assert(!vpa_histogram_options_equal(&cpu, &ten));
    other = cpu;
    other.buckets = 1;
    ck_assert(!vpa_histogram_options_equal(&cpu, &other));
}

/* ---- examples ---- */

static const struct {
    double p, value;
} plain_percentiles[] = {{0.0, 2}, {0.1, 2}, {0.2, 3}, {0.3, 3},  {0.4, 4},
                         {0.6, 4}, {0.7, 5}, {1.0, 5}, {-1.0, 2}, {2.0, 5}};

TEST_EACH(percentiles_are_ends_of_buckets, plain_percentiles) {
    struct vpa_histogram h;

    vpa_histogram_init(&h, &ten);
    ck_assert_double_eq(vpa_histogram_percentile(&h, plain_percentiles[_i].p), 0.0);
    for (int i = 1; i <= 4; i++)
        vpa_histogram_add(&h, i, i);
    ck_assert_double_eq(vpa_histogram_percentile(&h, plain_percentiles[_i].p),
                        plain_percentiles[_i].value);
    vpa_histogram_release(&h);
}

TEST(last_bucket_has_no_end) {
    struct vpa_histogram h;

    vpa_histogram_init(&h, &ten);
    vpa_histogram_add(&h, 100, 1);
    ck_assert_double_eq(vpa_histogram_percentile(&h, 0.5), 10.0);
    vpa_histogram_release(&h);
}

TEST(light_edges_leave_the_range_but_keep_their_weight) {
    struct vpa_histogram h;
    struct vpa_histogram sum;

    vpa_histogram_init(&h, &ten);
    vpa_histogram_init(&sum, &ten);
    vpa_histogram_add(&h, 2, 0.00011);
    vpa_histogram_add(&h, 5, 1.0);
    vpa_histogram_add(&h, 8, 0.00011);
    ck_assert_uint_eq(h.min, 2);
    ck_assert_uint_eq(h.max, 8);
    vpa_histogram_scale(&h, 0.5);
    ck_assert_uint_eq(h.min, 5);
    ck_assert_uint_eq(h.max, 5);
    ck_assert_double_eq(vpa_histogram_weight(&h, 2), 0.000055);
    vpa_histogram_scale(&h, 0.5); /* only the visible range */
    ck_assert_double_eq(vpa_histogram_weight(&h, 2), 0.000055);
    ck_assert_double_eq(vpa_histogram_weight(&h, 5), 0.25);
    vpa_histogram_merge(&sum, &h);
    ck_assert_double_eq(vpa_histogram_weight(&sum, 2), 0.0);
    ck_assert_double_eq(sum.total, h.total);
    vpa_histogram_add(&h, 1, 1.0); /* comes back into view */
    ck_assert_uint_eq(h.min, 1);
    ck_assert_double_eq(vpa_histogram_weight(&h, 2), 0.000055);
    vpa_histogram_release(&h);
    vpa_histogram_release(&sum);
}

TEST(light_samples_do_not_widen_the_range) {
    struct vpa_histogram h;

    vpa_histogram_init(&h, &ten);
    vpa_histogram_add(&h, 3, 0.00001);
    ck_assert(vpa_histogram_is_empty(&h));
    ck_assert_uint_eq(h.min, 10);
    ck_assert_uint_eq(h.max, 0);
    ck_assert_uint_eq(vpa_histogram_save_max(&h), 0);
    ck_assert_uint_eq(vpa_histogram_save(&h, NULL), 0);
    vpa_histogram_subtract(&h, 7, 1); /* nothing there, not even storage */
    ck_assert_double_eq(h.total, 0.0);
    vpa_histogram_clear(&h);
    ck_assert_ptr_null(h.weights.many);
    vpa_histogram_release(&h);
}

/* Percentiles are shares of what is left. */
TEST(what_was_taken_out_counts_no_more) {
    struct vpa_histogram h, other;

    vpa_histogram_init(&h, &ten);
    vpa_histogram_init(&other, &ten);
    vpa_histogram_add(&h, 1, 2.0);
    vpa_histogram_add(&h, 5, 1.0);
    vpa_histogram_add(&h, 9, 7.0);
    vpa_histogram_add(&other, 3, 4.0); /* of which h has nothing */
    vpa_histogram_add(&other, 9, 8.0); /* more than h has */
    vpa_histogram_take_out(&h, &other);
    ck_assert_double_eq(h.total, 3.0);
    ck_assert_double_eq(vpa_histogram_percentile(&h, 0.66), 2.0);
    ck_assert_double_eq(vpa_histogram_percentile(&h, 0.67), 6.0);
    vpa_histogram_release(&h);
    vpa_histogram_release(&other);
}

TEST(equal_compares_range_and_weights) {
    struct vpa_histogram a;
    struct vpa_histogram b;

    vpa_histogram_init(&a, &ten);
    vpa_histogram_init(&b, &ten);
    ck_assert(histogram_equal(&a, &b));
    vpa_histogram_add(&a, 3, 1);
    ck_assert(!histogram_equal(&a, &b));
    vpa_histogram_add(&b, 3, 1);
    ck_assert(histogram_equal(&a, &b));
    vpa_histogram_add(&b, 3, 1e-14);
    ck_assert(!histogram_equal(&a, &b));
    vpa_histogram_add(&b, 4, 1);
    ck_assert(!histogram_equal(&a, &b));
    vpa_histogram_release(&b);
    vpa_histogram_init(&b, &cpu);
    ck_assert(!histogram_equal(&a, &b));
    vpa_histogram_release(&a);
    vpa_histogram_release(&b);
}

/* Where weights are alike as far as one of them goes. */
TEST(equal_compares_what_only_one_has) {
    struct vpa_histogram a, b, others;

    vpa_histogram_init(&a, &ten);
    vpa_histogram_init(&b, &ten);
    vpa_histogram_init(&others, &cpu);
    vpa_histogram_add(&a, 3, 1);
    vpa_histogram_add(&b, 3, 1);
    vpa_histogram_add(&b, 5, 1);
    ck_assert(!histogram_equal(&a, &b));
    vpa_histogram_release(&b);
    vpa_histogram_init(&b, &ten);
    vpa_histogram_add(&b, 0, 1);
    vpa_histogram_add(&others, 0, 1);
    ck_assert(!histogram_equal(&b, &others)); /* of other buckets */
    vpa_histogram_release(&a);
    vpa_histogram_release(&b);
    vpa_histogram_release(&others);
}

/* A sum that was rounded otherwise is the same sum. */
TEST(equal_allows_for_rounding) {
    struct vpa_histogram a, b;

    vpa_histogram_init(&a, &ten);
    vpa_histogram_init(&b, &ten);
    vpa_histogram_add(&a, 3, 1.0);
    for (int i = 0; i < 10; i++)
        vpa_histogram_add(&b, 3, 0.1);
    ck_assert_double_ne(a.total, b.total);
    ck_assert(histogram_equal(&a, &b));
    vpa_histogram_release(&a);
    vpa_histogram_release(&b);
}

TEST(text_shows_range_and_percentiles) {
    struct vpa_histogram h;
    vpa_auto_buf text = VPA_BUF(4096);

    vpa_histogram_init(&h, &ten);
    vpa_histogram_add(&h, 3, 1);
    histogram_format(&h, &text);
    const char *start = "minBucket: 3, maxBucket: 3, totalWeight: 1.000\n%-tile\tvalue\n0\t4";
    ck_assert_int_eq(strncmp(vpa_buf_text(&text), start, strlen(start)), 0);
    vpa_histogram_release(&h);
}

/* ---- stored form ---- */

TEST(saves_relative_to_the_heaviest) {
    struct vpa_histogram h;
    struct vpa_bucket_weight w[11];

    vpa_histogram_init(&h, &ten);
    vpa_histogram_add(&h, 1, 1);
    vpa_histogram_add(&h, 2, 20000);
    ck_assert_uint_eq(vpa_histogram_save(&h, w), 2); /* 1/20000 rounds up and stays */
    ck_assert_uint_eq(w[0].weight, 1);
    ck_assert_uint_eq(w[1].weight, 10000);
    vpa_histogram_add(&h, 2, 1);
    ck_assert_uint_eq(vpa_histogram_save(&h, w), 1);
    ck_assert_int_eq(w[0].bucket, 2);
    vpa_histogram_release(&h);
}

static const struct {
    const char *name;
    struct vpa_bucket_weight entries[2];
    size_t count;
    double total;
    const char *text;
} bad_checkpoints[] = {
    {"negative total", {{1, 1}}, 1, -1.5, "cannot load checkpoint with negative weight -1.5"},
    {"bucket too large",
     {{0, 1}, {11, 1}},
     2,
     1,
     "checkpoint has bucket 11 that is exceeding histogram buckets 11"},
    {"negative bucket", {{-3, 1}}, 1, 1, "checkpoint has a negative bucket -3"},
};

TEST_EACH(refuses_checkpoints_untouched, bad_checkpoints) {
    struct vpa_histogram h;
    struct vpa_error err;

    vpa_histogram_init(&h, &ten);
    vpa_histogram_add(&h, 4, 2);
    ck_assert_int_eq(vpa_histogram_load(&h, bad_checkpoints[_i].entries, bad_checkpoints[_i].count,
                                        bad_checkpoints[_i].total, &err),
                     -1);
    ck_assert_str_eq(err.text, bad_checkpoints[_i].text);
    ck_assert_double_eq(h.total, 2);
    vpa_histogram_release(&h);
}

TEST(loads_in_proportion_and_adds) {
    const struct vpa_bucket_weight w[] = {{0, 1}, {1, 2}};
    const struct vpa_bucket_weight nothing[] = {{3, 0}};
    struct vpa_histogram h;
    struct vpa_error err;

    vpa_histogram_init(&h, &ten);
    ck_assert_int_eq(vpa_histogram_load(&h, nothing, 1, 5, &err), 0);
    ck_assert_double_eq(h.total, 0);
    ck_assert_int_eq(vpa_histogram_load(&h, w, 2, 6, &err), 0);
    ck_assert_double_eq(vpa_histogram_weight(&h, 0), 2);
    ck_assert_double_eq(vpa_histogram_weight(&h, 1), 4);
    ck_assert_double_eq(h.total, 6);
    ck_assert_int_eq(vpa_histogram_load(&h, w, 2, 3, &err), 0);
    ck_assert_double_eq(h.total, 9);
    vpa_histogram_release(&h);
}

TEST(rounding_at_the_edge_does_not_empty_a_histogram) {
    struct vpa_histogram_options o;
    struct vpa_histogram h;
    struct vpa_histogram again;
    struct vpa_bucket_weight w[11];
    struct vpa_error err;

    ck_assert_int_eq(vpa_histogram_options_init_linear(&o, 10, 1, 1e-15, &err), 0);
    vpa_histogram_init(&h, &o);
    vpa_histogram_init(&again, &o);
    vpa_histogram_add(&h, 1, 1e-15);
    vpa_histogram_add(&h, 2, 9999e-15);
    size_t count = vpa_histogram_save(&h, w);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(vpa_histogram_load(&again, w, count, h.total, &err), 0);
    ck_assert_uint_eq(again.min, 2);
    ck_assert(!vpa_histogram_is_empty(&again));
    vpa_histogram_release(&h);
    vpa_histogram_release(&again);
    vpa_histogram_options_release(&o);
}

/* ---- the naive reference ---- */

struct naive {
    const struct vpa_histogram_options *o;
    double w[176], total;
    uint32_t min, max;
};

static void naive_init(struct naive *n, const struct vpa_histogram_options *o)
{
    *n = (struct naive){.o = o, .min = o->buckets - 1};
}

static void naive_trim(struct naive *n)
{
    while (n->w[n->min] < n->o->epsilon && n->min < n->o->buckets - 1)
        n->min++;
    while (n->w[n->max] < n->o->epsilon && n->max > 0)
        n->max--;
}

static void naive_add(struct naive *n, double v, double weight)
{
    uint32_t b = vpa_histogram_find_bucket(n->o, v);

    n->w[b] += weight;
    n->total += weight;
    if (b < n->min && n->w[b] >= n->o->epsilon)
        n->min = b;
    if (b > n->max && n->w[b] >= n->o->epsilon)
        n->max = b;
}

static double naive_minus(const struct naive *n, double a, double b)
{
    return a - b < n->o->epsilon ? 0.0 : a - b;
}

static void naive_subtract(struct naive *n, double v, double weight)
{
    uint32_t b = vpa_histogram_find_bucket(n->o, v);

    n->total = naive_minus(n, n->total, weight);
    n->w[b] = naive_minus(n, n->w[b], weight);
    naive_trim(n);
}

static void naive_scale(struct naive *n, double f)
{
    for (uint32_t b = n->min; b <= n->max; b++)
        n->w[b] *= f;
    n->total *= f;
    naive_trim(n);
}

static void naive_merge(struct naive *n, const struct naive *other)
{
    for (uint32_t b = other->min; b <= other->max; b++)
        n->w[b] += other->w[b];
    n->total += other->total;
    n->min = other->min < n->min ? other->min : n->min;
    n->max = other->max > n->max ? other->max : n->max;
}

static void naive_take_out(struct naive *n, const struct naive *other)
{
    for (uint32_t b = n->min; b <= n->max; b++) {
        double left = naive_minus(n, n->w[b], other->w[b]);
        n->total -= n->w[b] - left;
        n->w[b] = left;
    }
    naive_trim(n);
}

static double naive_percentile(const struct naive *n, double p)
{
    double sum = 0;
    uint32_t b = n->min;

    if (n->w[n->min] < n->o->epsilon)
        return 0;
    while (b < n->max) {
        sum += n->w[b];
        if (sum >= p * n->total)
            break;
        b++;
    }
    return vpa_histogram_bucket_start(n->o, b < n->o->buckets - 1 ? b + 1 : b);
}

static void compare(const struct naive *n, const struct vpa_histogram *h)
{
    ck_assert_uint_eq(n->min, h->min);
    ck_assert_uint_eq(n->max, h->max);
    ck_assert(n->total == h->total);
    /* An assertion each would be a write to the runner each. */
    for (uint32_t b = 0; b < n->o->buckets; b++)
        if (n->w[b] != vpa_histogram_weight(h, b))
            ck_abort_msg("bucket %u: %g, %g", b, n->w[b], vpa_histogram_weight(h, b));
    for (int p = -10; p <= 110; p += 3)
        if (naive_percentile(n, p / 100.0) != vpa_histogram_percentile(h, p / 100.0))
            ck_abort_msg("percentile %d", p);
}

static double random_double(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / 16777216.0;
}

TEST_TIMES(equals_a_naive_reference, 20) {
    unsigned seed = (unsigned)_i * 7919u + 1;
    const struct vpa_histogram_options *o = _i % 2 ? &cpu : &ten;
    double range = _i % 2 ? 2000.0 : 12.0;
    struct vpa_histogram h[3];
    struct naive n[3];

    for (int i = 0; i < 3; i++) {
        vpa_histogram_init(&h[i], o);
        naive_init(&n[i], o);
    }
    for (int step = 0; step < 400; step++) {
        int k = (int)(random_double(&seed) * 3);
        double v = pow(random_double(&seed), 3) * range - 0.5;
        double weight = random_double(&seed) < 0.3 ? 0.00005 : random_double(&seed) * 3;
        double what = random_double(&seed);

        if (what < 0.6) {
            vpa_histogram_add(&h[k], v, weight);
            naive_add(&n[k], v, weight);
        } else if (what < 0.85) {
            vpa_histogram_subtract(&h[k], v, weight);
            naive_subtract(&n[k], v, weight);
        } else if (what < 0.9) {
            double f = random_double(&seed) * 1.5;
            vpa_histogram_scale(&h[k], f);
            naive_scale(&n[k], f);
        } else if (k != 0 && what < 0.92) {
            vpa_histogram_take_out(&h[0], &h[k]);
            naive_take_out(&n[0], &n[k]);
            compare(&n[0], &h[0]);
        } else if (k != 0) {
            vpa_histogram_merge(&h[0], &h[k]);
            naive_merge(&n[0], &n[k]);
        }
        compare(&n[k], &h[k]);
    }
    compare(&n[0], &h[0]);
    for (int i = 0; i < 3; i++)
        vpa_histogram_release(&h[i]);
}

/* There are as many histograms as containers: 64 buckets have one word of bits. */
TEST(bits_take_no_more_words_than_needed) {
    struct vpa_histogram h;

    vpa_histogram_init(&h, &cpu);
    vpa_histogram_add(&h, vpa_histogram_bucket_start(&cpu, 3) * 1.01, 1.0);
    vpa_histogram_add(&h, vpa_histogram_bucket_start(&cpu, 3 + 63) * 1.01, 1.0);
    ck_assert(h.gaps);
    ck_assert_uint_eq(h.span, 64);
    ck_assert_uint_le(malloc_usable_size(h.weights.some), 3 * sizeof(double));
    vpa_histogram_release(&h);
}

/* A job that did nothing and then much: two weights, not all buckets between them. */
TEST(what_lies_far_apart_is_stored_with_gaps) {
    struct vpa_histogram h;
    uint32_t first = vpa_histogram_find_bucket(&cpu, 0.0);
    uint32_t last = vpa_histogram_find_bucket(&cpu, 800.0);

    vpa_histogram_init(&h, &cpu);
    vpa_histogram_add(&h, 0.0, 1.0);
    vpa_histogram_add(&h, 800.0, 2.0);
    ck_assert(h.gaps);
    ck_assert_uint_eq(h.span, last - first + 1);
    ck_assert_uint_ge(h.span, 2 * 64); /* bits of several words */
    ck_assert_uint_le(malloc_usable_size(h.weights.some), 5 * sizeof(double));
    ck_assert_double_eq(vpa_histogram_weight(&h, first), 1.0);
    ck_assert_double_eq(vpa_histogram_weight(&h, last), 2.0);
    ck_assert_double_eq(vpa_histogram_weight(&h, last - 1), 0.0);
    for (uint32_t bucket = first; bucket < last; bucket++) { /* until no gap is worth its bits */
        vpa_histogram_add(&h, vpa_histogram_bucket_start(&cpu, bucket) * 1.01 + 1e-6, 0.5);
        ck_assert_double_eq(vpa_histogram_weight(&h, last), 2.0);
    }
    ck_assert(!h.gaps);
    ck_assert_double_eq(vpa_histogram_weight(&h, first), 1.5);
    vpa_histogram_release(&h);
}

/* A bucket comes back within half a unit of 1/10000 of the heaviest one, relative to the sum. */
TEST_TIMES(round_trip_keeps_percentiles, 5) {
    unsigned seed = (unsigned)_i + 77;
    struct vpa_histogram h;
    struct vpa_histogram again;
    struct vpa_bucket_weight w[176];
    struct vpa_error err;
    double heaviest = 0;

    vpa_histogram_init(&h, &cpu);
    vpa_histogram_init(&again, &cpu);
    for (int i = 0; i < 500; i++)
        vpa_histogram_add(&h, random_double(&seed) * 5, 0.1 + random_double(&seed));
    size_t count = vpa_histogram_save(&h, w);
    ck_assert_uint_le(count, vpa_histogram_save_max(&h));
    ck_assert_int_eq(vpa_histogram_load(&again, w, count, h.total, &err), 0);
    ck_assert(again.total == h.total);
    for (uint32_t b = 0; b < 176; b++)
        heaviest = fmax(heaviest, vpa_histogram_weight(&h, b));
    for (uint32_t b = 0; b < 176; b++)
        ck_assert_double_le(fabs(vpa_histogram_weight(&h, b) - vpa_histogram_weight(&again, b)),
                            heaviest * 0.5e-4 * 176);
    for (double p = 0.05; p < 1; p += 0.05) {
        int64_t a = vpa_histogram_find_bucket(&cpu, vpa_histogram_percentile(&h, p) * 1.01);
        int64_t b = vpa_histogram_find_bucket(&cpu, vpa_histogram_percentile(&again, p) * 1.01);
        ck_assert_int_le(llabs(a - b), 1);
    }
    vpa_histogram_release(&h);
    vpa_histogram_release(&again);
}

int main(void)
{
    return run_tests("histogram", setup, teardown);
}
