/* Decaying histograms: worked examples E5 to E11 and E25, order of merges, stored form. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "histogram_text.h"
#include "suite.h"
#include "vpa/model/decay.h"

#define DAY (24 * VPA_HOUR)

static struct vpa_histogram_options cpu;
static struct vpa_histogram_options memory;

static void setup(void)
{
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_histogram_options_init_exponential(&cpu, 1000.0, 0.01, 1.0 + 0.05, 0.0001, &err), 0);
    ck_assert_int_eq(
        vpa_histogram_options_init_exponential(&memory, 1e12, 1e7, 1.0 + 0.05, 0.0001, &err), 0);
}

static void teardown(void)
{
    vpa_histogram_options_release(&cpu);
    vpa_histogram_options_release(&memory);
}

static vpa_time at(const char *text)
{
    struct vpa_error err;
    vpa_time t = 0;

    ck_assert_int_eq(vpa_time_parse(text, &t, &err), 0);
    return t;
}

static const struct {
    int hours;
    const char *sample, *ref;
    double total;
} first_samples[] = {
    {24, "2026-01-15T11:59:59Z", "2026-01-15T00:00:00Z", 0.14142022168382409},
    {24, "2026-01-15T12:00:00Z", "2026-01-16T00:00:00Z", 0.070710678118654752},
    {24, "2026-01-15T13:00:00Z", "2026-01-16T00:00:00Z", 0.072782659142109379},
    {36, "2026-01-15T13:00:00Z", "2026-01-15T12:00:00Z", 0.10194406437021448},
    {168, "2026-01-15T13:00:00Z", "2026-01-19T00:00:00Z", 0.071003024291060091},
};

TEST_TIMES(first_sample_sets_the_reference, 5) {
    struct vpa_decay d;

    vpa_decay_init(&d, &cpu, first_samples[_i].hours * VPA_HOUR);
    ck_assert(vpa_decay_is_empty(&d));
    vpa_decay_add(&d, 0.5, 0.1, at(first_samples[_i].sample));
    ck_assert(d.ref == at(first_samples[_i].ref));
    ck_assert(d.h.total == first_samples[_i].total);
    ck_assert(vpa_histogram_weight(&d.h, 25) == first_samples[_i].total);
    vpa_decay_release(&d);
}

TEST(reference_moves_after_a_hundred_half_lives) {
    struct vpa_decay d;
    vpa_time t = at("2026-01-15T00:00:00Z");

    vpa_decay_init(&d, &cpu, DAY);
    vpa_decay_add(&d, 0.5, 0.1, t);
    vpa_decay_add(&d, 0.5, 0.1, t + 100 * (vpa_time)DAY);
    ck_assert(d.ref == t);
    ck_assert(d.h.total == 1.2676506002282295e+29);
    vpa_decay_add(&d, 0.5, 0.1, t + 100 * (vpa_time)DAY + 1);
    ck_assert(d.ref == at("2026-04-25T00:00:00Z"));
    ck_assert(d.h.total == 0.20000000000000082);
    vpa_decay_release(&d);
}

TEST(old_samples_are_too_light_to_be_seen) {
    struct vpa_decay d;
    vpa_time t = at("2026-01-15T00:00:00Z");

    vpa_decay_init(&d, &cpu, DAY);
    vpa_decay_add(&d, 0.5, 0.1, t);
    vpa_decay_add(&d, 2.0, 0.1, t - 10 * (vpa_time)DAY);
    vpa_decay_add(&d, 0.02, 0.1, t - 10 * (vpa_time)DAY);
    ck_assert_uint_eq(d.h.min, 25);
    ck_assert_uint_eq(d.h.max, 25);
    ck_assert(d.h.total == 0.10019531249999999);
    ck_assert(vpa_histogram_weight(&d.h, 49) == 9.7656250000000005e-05);
    ck_assert(vpa_decay_percentile(&d, 1) == 0.5111345375888706);
    vpa_decay_release(&d);
}

static void add_replica(struct vpa_decay *d, double cores, const char *from)
{
    vpa_decay_init(d, &cpu, DAY);
    for (int i = 0; i < 10; i++)
        vpa_decay_add(d, cores, 0.1, at(from) + i * (vpa_time)VPA_MINUTE);
}

TEST(merge_aligns_references_either_way) {
    struct vpa_decay a;
    struct vpa_decay b;
    struct vpa_decay ab;
    struct vpa_decay ba;

    add_replica(&a, 0.2, "2026-01-15T11:00:00Z");
    add_replica(&b, 0.8, "2026-01-15T13:00:00Z");
    vpa_decay_init(&ab, &cpu, DAY);
    vpa_decay_init(&ba, &cpu, DAY);
    vpa_decay_merge(&ab, &a);
    vpa_decay_merge(&ab, &b);
    ck_assert(ab.ref == at("2026-01-16T00:00:00Z"));
    ck_assert(vpa_histogram_weight(&ab.h, 14) == 0.68846714467680692);
    ck_assert(vpa_histogram_weight(&ab.h, 32) == 0.72940553146399845);
    ck_assert(ab.h.total == 1.4178726761408054);
    ck_assert(vpa_decay_percentile(&ab, 0.5) == 0.8006377084067567);
    vpa_decay_merge(&ba, &b);
    vpa_decay_merge(&ba, &a); /* shifts a itself */
    ck_assert(a.ref == b.ref);
    ck_assert(decay_equal(&ab, &ba));
    ck_assert(!decay_equal(&ab, &b));
    vpa_decay_release(&a);
    vpa_decay_release(&b);
    vpa_decay_release(&ab);
    vpa_decay_release(&ba);
}

static double random_double(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / 16777216.0;
}

/* Replicas with samples of different weeks: the order moves last digits only. */
TEST_TIMES(order_of_merges_is_irrelevant, 10) {
    enum { REPLICAS = 6 };
    unsigned seed = (unsigned)_i * 31u + 5;
    struct vpa_decay replica[REPLICAS];
    struct vpa_decay forward;
    struct vpa_decay shuffled;
    int order[REPLICAS];

    vpa_decay_init(&forward, &cpu, DAY);
    vpa_decay_init(&shuffled, &cpu, DAY);
    for (int r = 0; r < REPLICAS; r++) {
        vpa_decay_init(&replica[r], &cpu, DAY);
        vpa_time from = at("2026-01-15T11:00:00Z") + r * 3 * (vpa_time)DAY;
        for (int i = 0; i < 50; i++)
            vpa_decay_add(&replica[r], 0.05 + random_double(&seed), 0.1,
                          from + i * (vpa_time)VPA_HOUR);
        order[r] = r;
    }
    for (int i = REPLICAS - 1; i > 0; i--) {
        int k = (int)(random_double(&seed) * (i + 1));
        int swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (int r = 0; r < REPLICAS; r++)
        vpa_decay_merge(&forward, &replica[r]);
    for (int r = 0; r < REPLICAS; r++)
        vpa_decay_merge(&shuffled, &replica[order[r]]);
    ck_assert(forward.ref == shuffled.ref);
    ck_assert_double_eq_tol(forward.h.total / shuffled.h.total, 1.0, 1e-12);
    for (double p = 0.0; p <= 1.0; p += 0.05)
        ck_assert_double_eq_tol(vpa_decay_percentile(&forward, p) /
                                    vpa_decay_percentile(&shuffled, p),
                                1.0, 0.051); /* a tie may fall one bucket apart */
    for (int r = 0; r < REPLICAS; r++)
        vpa_decay_release(&replica[r]);
    vpa_decay_release(&forward);
    vpa_decay_release(&shuffled);
}

TEST(subtraction_leaves_the_residue_of_rounding) {
    struct vpa_decay d;
    vpa_time t = at("2026-01-15T00:00:00Z");
    vpa_time late = t + 80 * (vpa_time)DAY + 7 * (vpa_time)VPA_HOUR;
    vpa_time later = t + 80 * (vpa_time)DAY + 16 * (vpa_time)VPA_HOUR + 30 * (vpa_time)VPA_MINUTE;

    vpa_decay_init(&d, &memory, DAY);
    vpa_decay_add(&d, 300e6, 1, t);
    vpa_decay_add(&d, 2000e6, 1, late);
    vpa_decay_add(&d, 2000e6, 1, later);
    vpa_decay_subtract(&d, 2000e6, 1, late);
    vpa_decay_subtract(&d, 2000e6, 1, later);
    ck_assert(vpa_histogram_weight(&d.h, 49) == 268435456.0);
    ck_assert_uint_eq(d.h.max, 49);
    vpa_decay_release(&d);
}

TEST(equal_compares_half_life_and_reference) {
    struct vpa_decay a;
    struct vpa_decay b;

    vpa_decay_init(&a, &cpu, DAY);
    vpa_decay_init(&b, &cpu, 2 * DAY);
    ck_assert(!decay_equal(&a, &b));
    b.half_life = DAY;
    ck_assert(decay_equal(&a, &b));
    b.ref = 0;
    ck_assert(!decay_equal(&a, &b));
    vpa_decay_release(&a);
    vpa_decay_release(&b);
}

TEST(stored_form_keeps_the_reference) {
    struct vpa_decay d;
    struct vpa_decay again;
    struct vpa_histogram_checkpoint checkpoint;
    struct vpa_error err;
    vpa_auto_arena arena = {0};

    add_replica(&d, 0.2, "2026-01-15T11:00:00Z");
    vpa_decay_save(&d, &arena, &checkpoint);
    ck_assert(checkpoint.present);
    ck_assert_uint_eq(checkpoint.bucket_count, 1);
    ck_assert_int_eq(checkpoint.buckets[0].bucket, 14);
    vpa_decay_init(&again, &cpu, DAY);
    ck_assert_int_eq(vpa_decay_load(&again, &checkpoint, &err), 0);
    ck_assert(decay_equal(&d, &again));
    checkpoint.total_weight = -1;
    checkpoint.reference = 0;
    ck_assert_int_eq(vpa_decay_load(&again, &checkpoint, &err), -1);
    ck_assert(again.ref == d.ref);
    vpa_decay_release(&d);
    vpa_decay_release(&again);
}

TEST(text_starts_with_reference_and_half_life) {
    struct vpa_decay d;
    vpa_auto_buf text = VPA_BUF(4096);

    add_replica(&d, 0.2, "2026-01-15T11:00:00Z");
    decay_format(&d, &text);
    const char *start =
        "referenceTimestamp: 2026-01-15T00:00:00Z, halfLife: 24h0m0s\nminBucket: 14";
    ck_assert_int_eq(strncmp(vpa_buf_text(&text), start, strlen(start)), 0);
    vpa_decay_release(&d);
}

int main(void)
{
    return run_tests("decay", setup, teardown);
}
