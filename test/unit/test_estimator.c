/* Estimation: examples E13 to E19 of the specification and edge cases. */
#include <check.h>
#include <math.h>

#include "model_fixture.h"
#include "vpa/model/estimator.h"

static struct vpa_aggregation global;
static struct vpa_estimator e;
static struct vpa_aggregate a;
static struct vpa_container_state c;
static vpa_time t;

static void setup(void)
{
    vpa_aggregation_init(&global);
    vpa_estimator_init(&e);
    t = at("2026-01-15T13:00:00Z");
    vpa_aggregate_init(&a, &global, t);
    vpa_container_state_init(&c);
}

static void teardown(void)
{
    vpa_aggregate_release(&a);
    vpa_aggregation_release(&global);
}

static void minute(int i, vpa_amount cpu, vpa_amount memory)
{
    vpa_container_add_cpu(&c, &a, t + i * (vpa_time)VPA_MINUTE, cpu, NULL);
    vpa_container_add_memory(&c, &a, t + i * (vpa_time)VPA_MINUTE, memory, NULL);
}

static struct vpa_estimate estimate(size_t containers)
{
    struct vpa_history history = vpa_aggregate_history(&a);
    struct vpa_amounts minimum = vpa_estimator_minimum(&e, containers);
    struct vpa_estimate out;

    vpa_estimator_estimate(&e, &history, &minimum, &out);
    return out;
}

static void check(struct vpa_estimate got, const vpa_amount want[VPA_BOUNDS][VPA_KINDS])
{
    for (int b = 0; b < VPA_BOUNDS; b++) {
        for (int k = 0; k < VPA_KINDS; k++)
            ck_assert_int_eq(got.bound[b].value[k], want[b][k]);
    }
}

TEST(one_hour) {
    static const vpa_amount want[VPA_BOUNDS][VPA_KINDS] = {
        [VPA_TARGET] = {587, 323522422},
        [VPA_LOWER_BOUND] = {120, 308290042},
        [VPA_UPPER_BOUND] = {14913, 8219662891},
    };

    for (int i = 0; i < 60; i++)
        minute(i, i < 54 ? 100 : 500, 200000000 + i * 1000000);
    check(estimate(1), want);
    struct vpa_history history = vpa_aggregate_history(&a);
    ck_assert(vpa_estimator_confidence(&e, &history, VPA_KIND_CPU) == 0.040972222222222222);
}

TEST(eight_days) {
    static const vpa_amount want[VPA_BOUNDS][VPA_KINDS] = {
        [VPA_TARGET] = {296, 548861636},
        [VPA_LOWER_BOUND] = {295, 548724434},
        [VPA_UPPER_BOUND] = {1167, 617475296},
    };
    static const int peaks[] = {400, 420, 410, 800, 430, 440, 450, 460};

    for (int i = 0; i < 8 * 1440; i++) {
        int m = i % 1440;
        minute(i, m % 10 == 0 ? 900 : 250, (m == 700 ? peaks[i / 1440] : 300) * 1000000);
    }
    check(estimate(1), want);
}

TEST(no_samples_give_the_minimum) {
    static const vpa_amount want[VPA_BOUNDS][VPA_KINDS] = {
        {25, 262144000}, {25, 262144000}, {25, 262144000}};

    check(estimate(1), want);
}

TEST(one_sample_has_no_upper_bound) {
    static const vpa_amount want[VPA_BOUNDS][VPA_KINDS] = {
        [VPA_TARGET] = {587, 587804717},
        [VPA_LOWER_BOUND] = {25, 262144000},
        [VPA_UPPER_BOUND] = {VPA_AMOUNT_MAX, VPA_AMOUNT_MAX},
    };

    minute(0, 500, 500000000);
    check(estimate(1), want);
}

TEST(memory_only) {
    static const vpa_amount want[VPA_BOUNDS][VPA_KINDS] = {
        [VPA_TARGET] = {25, 716711186},
        [VPA_LOWER_BOUND] = {25, 262144000},
        [VPA_UPPER_BOUND] = {25, VPA_AMOUNT_MAX},
    };

    vpa_container_add_memory(&c, &a, t, 500000000, NULL);
    vpa_container_add_memory(&c, &a, t + VPA_MINUTE, 600000000, NULL);
    check(estimate(1), want);
}

static const struct {
    double millicores;
    size_t containers;
    vpa_amount cpu, memory;
} minima[] = {
    {25, 1, 25, 262144000}, {25, 2, 12, 131072000},     {25, 3, 8, 87381333},
    {25, 4, 6, 65536000},   {4007, 1, 4006, 262144000}, {49, 49, 0, 5349877},
};

TEST_EACH(minimum_is_split, minima) {
    e.min_cpu_millicores = minima[_i].millicores;
    struct vpa_amounts m = vpa_estimator_minimum(&e, minima[_i].containers);
    ck_assert_int_eq(m.value[VPA_KIND_CPU], minima[_i].cpu);
    ck_assert_int_eq(m.value[VPA_KIND_MEMORY], minima[_i].memory);
}

TEST(confidence_is_the_lesser_of_time_and_samples) {
    struct vpa_history history = {.first_sample = t, .last_sample = t + 8 * (vpa_time)DAY};

    history.sample_count = 192; /* hourly for eight days */
    ck_assert(vpa_estimator_confidence(&e, &history, VPA_KIND_CPU) == 0.13333333333333333);
    history.sample_count = 1000000;
    ck_assert(vpa_estimator_confidence(&e, &history, VPA_KIND_MEMORY) == 8.0);
    history = (struct vpa_history){
        .first_sample = t, .last_sample = t + 16 * (vpa_time)VPA_MINUTE, .sample_count = 9};
    ck_assert(vpa_estimator_confidence(&e, &history, VPA_KIND_CPU) == 0.0062500000000000003);
    e.confidence_interval[VPA_KIND_CPU] = 18 * VPA_MINUTE;
    ck_assert(vpa_estimator_confidence(&e, &history, VPA_KIND_CPU) == 0.5);
}

TEST(strange_times_are_hidden_by_the_minimum) {
    minute(0, 500, 500000000);
    a.first_sample = t + DAY; /* a loaded checkpoint may say so */
    struct vpa_estimate out = estimate(1);
    ck_assert_int_ge(out.bound[VPA_LOWER_BOUND].value[VPA_KIND_CPU], 25);
    ck_assert_int_ge(out.bound[VPA_UPPER_BOUND].value[VPA_KIND_CPU], 25);
}

int main(void)
{
    return run_tests("estimator", setup, teardown);
}
