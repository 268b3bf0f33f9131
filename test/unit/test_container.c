/* Container states: examples E12 and E24 of the specification, edges of the interval, OOM. */
#include <check.h>

#include "model_fixture.h"

static struct vpa_aggregation global;
static struct vpa_aggregate a;
static struct vpa_container_state c;
static vpa_time t;

static void setup(void)
{
    vpa_aggregation_init(&global);
    t = at("2017-04-18T17:35:05Z");
    vpa_aggregate_init(&a, &global, t);
    vpa_container_state_init(&c);
}

static void teardown(void)
{
    vpa_aggregate_release(&a);
    vpa_aggregation_release(&global);
}

static int oom(vpa_time when, vpa_amount bytes)
{
    struct vpa_error err;

    return vpa_container_record_oom(&c, &a, when, bytes, NULL, &err);
}

static bool use(vpa_time when, vpa_amount bytes)
{
    return vpa_container_add_memory(&c, &a, when, bytes, NULL);
}

static double weight(uint32_t bucket)
{
    return vpa_histogram_weight(&a.memory.h, bucket);
}

TEST(cpu_samples_come_in_order) {
    ck_assert(vpa_container_add_cpu(&c, &a, t, 100, NULL));
    ck_assert(!vpa_container_add_cpu(&c, &a, t, 100, NULL));
    ck_assert(!vpa_container_add_cpu(&c, &a, t - 1, 100, NULL));
    ck_assert(!vpa_container_add_cpu(&c, &a, t + 1, -1, NULL));
    ck_assert(vpa_container_add_cpu(&c, &a, t + 1, 0, NULL));
    ck_assert_int_eq(a.sample_count, 2);
    ck_assert(vpa_container_time(&c, VPA_LAST_CPU) == t + 1);
}

TEST(instants_keep_nanoseconds_and_early_years) {
    struct vpa_container_state fresh;

    vpa_container_state_init(&fresh);
    ck_assert(vpa_time_is_unset(vpa_container_time(&fresh, VPA_WINDOW_END)));
    ck_assert(vpa_container_add_cpu(&c, &a, at("1969-12-31T23:59:58.25Z"), 1, NULL));
    ck_assert(vpa_container_time(&c, VPA_LAST_CPU) == at("1969-12-31T23:59:58.25Z"));
    ck_assert(vpa_container_add_cpu(&c, &a, at("9999-12-31T23:59:59.000000001Z"), 1, NULL));
    ck_assert(vpa_container_time(&c, VPA_LAST_CPU) == at("9999-12-31T23:59:59.000000001Z"));
}

TEST(outdated_memory_samples) {
    ck_assert(use(t, 500 * MI));
    ck_assert(use(t + VPA_MINUTE, 400 * MI));
    ck_assert(!use(t - VPA_MINUTE, 700 * MI));
    ck_assert(!use(t + VPA_MINUTE, -1));
    ck_assert(use(t + VPA_MINUTE, 700 * MI)); /* equal time is taken */
    ck_assert(use(t + 25 * (vpa_time)VPA_HOUR, 650 * MI));
    ck_assert(weight(31) == 0.83087120203452902);
    ck_assert(weight(30) == 1.661742404069058);
    ck_assert(vpa_decay_percentile(&a.memory, 0.9) == 752988293.72072077);
}

TEST(repeated_ooms_do_not_run_away) {
    ck_assert_int_eq(oom(t, 1000 * MI), 0);
    ck_assert_int_eq(c.oom_peak, 1258291200);
    ck_assert(vpa_container_time(&c, VPA_WINDOW_END) == at("2017-04-19T17:35:05Z"));
    ck_assert(weight(40) == 0.83087120203452902);
    ck_assert_int_eq(oom(t, 999 * MI), 0);
    ck_assert_int_eq(c.oom_peak, 1258291200);
    ck_assert_int_eq(oom(t, 2000 * MI), 0);
    ck_assert_int_eq(c.oom_peak, 2516582400);
    ck_assert(weight(53) == 0.83087120203452902);
    ck_assert(weight(40) == 0.0);
}

TEST(small_ooms_get_the_minimum) {
    ck_assert_int_eq(oom(t, MI), 0);
    ck_assert_int_eq(c.oom_peak, 105906176);
}

TEST(oom_starts_from_the_usage_peak) {
    ck_assert(use(t, 3000 * MI));
    ck_assert_int_eq(oom(t, 1000 * MI), 0);
    ck_assert_int_eq(c.oom_peak, 3774873600);
    ck_assert(weight(61) == 0.83087120203452902);
}

TEST(old_ooms_are_refused) {
    struct vpa_error err;

    ck_assert(use(t, 1000 * MI));
    ck_assert_int_eq(vpa_container_record_oom(&c, &a, t - DAY - 1, 1000 * MI, NULL, &err), -1);
    ck_assert_str_eq(err.text, "OOM event will be discarded - it is too old "
                               "(2017-04-17 17:35:04.999999999 +0000 UTC)");
    ck_assert_int_eq(vpa_container_record_oom(&c, &a, t - DAY - VPA_SECOND / 2, 1, NULL, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "(2017-04-17 17:35:04.5 +0000 UTC)"));
    ck_assert_int_eq(vpa_container_record_oom(&c, &a, t - 30 * (vpa_time)VPA_HOUR, 1, NULL, &err),
                     -1);
    ck_assert_str_eq(err.text,
                     "OOM event will be discarded - it is too old (2017-04-17 11:35:05 +0000 UTC)");
    ck_assert_int_eq(oom(t - DAY, 1000 * MI), 0);
    ck_assert(vpa_container_time(&c, VPA_LAST_MEMORY) == t - DAY); /* moves backwards */
}

TEST(negative_requests_count_as_nothing_used) {
    ck_assert_int_eq(oom(t, -5 * MI), 0);
    ck_assert_int_eq(c.oom_peak, 104857600);
}

TEST(huge_requests_saturate) {
    ck_assert_int_eq(oom(t, INT64_MAX), 0);
    ck_assert_int_eq(c.oom_peak, INT64_MAX);
    ck_assert_uint_eq(a.memory.h.max, 175);
}

TEST(oom_two_days_later_opens_an_interval) {
    ck_assert(use(t, 2000 * MI));
    ck_assert_int_eq(oom(t + 2 * (vpa_time)DAY, 1000 * MI), 0);
    ck_assert_int_eq(c.oom_peak, 2516582400);
    ck_assert(vpa_container_time(&c, VPA_WINDOW_END) == at("2017-04-21T17:35:05Z"));
    ck_assert(weight(50) == 0.83087120203452902);
    ck_assert(weight(53) == 3.3234848081381161);
}

TEST(zero_peak_hides_the_rest_of_its_interval) {
    ck_assert(use(t, 0));
    ck_assert(use(t + VPA_MINUTE, 500 * MI));
    ck_assert(use(t + 2 * VPA_MINUTE, 600 * MI));
    ck_assert_int_eq(c.memory_peak, 0);
    ck_assert(weight(0) == 0.83087120203452902);
    ck_assert(a.memory.h.total == 0.83087120203452902);
}

TEST(intervals_without_samples_are_skipped) {
    ck_assert(use(t, 500 * MI));
    ck_assert(use(t + 123 * (vpa_time)VPA_HOUR, 600 * MI));
    ck_assert(vpa_container_time(&c, VPA_WINDOW_END) == at("2017-04-24T17:35:05Z"));
    ck_assert(weight(26) == 0.83087120203452902);
    ck_assert(weight(29) == 26.587878465104939);
}

TEST(open_peak_is_that_of_usage_or_oom) {
    vpa_time end;
    vpa_amount peak;

    ck_assert(!vpa_container_open_peak(&c, t, &end, &peak));
    ck_assert(use(t, 100 * MI));
    ck_assert(vpa_container_open_peak(&c, t, &end, &peak));
    ck_assert_int_eq(peak, 100 * MI);
    ck_assert_int_eq(oom(t, 100 * MI), 0);
    ck_assert(vpa_container_open_peak(&c, t + DAY - 1, &end, &peak));
    ck_assert_int_eq(peak, 200 * MI);
    ck_assert(end == t + DAY);
    ck_assert(!vpa_container_open_peak(&c, t + DAY, &end, &peak));
}

struct seen {
    int count;
    vpa_amount usage;
    bool oom;
    enum vpa_kind kind;
};

static void see(void *ctx, const struct vpa_aggregate *aggregate, enum vpa_kind kind,
                vpa_amount usage, bool is_oom)
{
    struct seen *seen = ctx;

    ck_assert_ptr_eq(aggregate, &a);
    *seen = (struct seen){seen->count + 1, usage, is_oom, kind};
}

/* Read twice, as a standby does when the leader goes on meanwhile; or of another interval. */
TEST(a_resumed_interval_has_the_larger_peak) {
    const vpa_time end = vpa_time_add(t, VPA_HOUR);
    const struct {
        struct vpa_open_interval interval;
        bool changes;
        vpa_amount usage, oom;
    } steps[] = {
        {{.end = end, .usage = 100 << 20}, true, 100 << 20, 0},
        {{.end = end, .usage = 100 << 20}, false, 100 << 20, 0},
        {{.end = end, .usage = 50 << 20}, false, 100 << 20, 0},
        {{.end = end - 1, .usage = 900 << 20}, false, 100 << 20, 0},
        {{.end = end, .usage = 100 << 20, .oom = 300 << 20}, true, 100 << 20, 300 << 20},
        {{.end = end, .usage = 300 << 20}, false, 100 << 20, 300 << 20},
        {{.end = end, .usage = 700 << 20}, true, 700 << 20, 0},
        {{.end = end + VPA_HOUR, .usage = 200 << 20}, true, 200 << 20, 0},
        {{.end = end, .usage = 700 << 20}, false, 200 << 20, 0},
    };
    vpa_time open_until = end;

    for (size_t i = 0; i < VPA_COUNT(steps); i++) {
        vpa_amount peak = vpa_amount_max(steps[i].usage, steps[i].oom);
        struct vpa_aggregate once;

        ck_assert_int_eq(vpa_container_resume(&c, &a, &steps[i].interval, t), steps[i].changes);
        open_until = steps[i].changes ? steps[i].interval.end : open_until;
        ck_assert(vpa_container_time(&c, VPA_WINDOW_END) == open_until);
        ck_assert_int_eq(c.memory_peak, steps[i].usage);
        ck_assert_int_eq(c.oom_peak, steps[i].oom);
        vpa_aggregate_init(&once, &global, t);
        vpa_aggregate_add_memory(&once, open_until, peak);
        for (uint32_t b = 0; b < 200; b++)
            ck_assert_double_eq(weight(b), vpa_histogram_weight(&once.memory.h, b));
        vpa_aggregate_release(&once);
    }
}

/* What it has measured itself no text of another process replaces. */
TEST(an_interval_of_its_own_stays) {
    const struct vpa_open_interval later = {.end = t + 3 * VPA_HOUR * 24, .usage = 900 << 20};

    ck_assert(use(t, 100 << 20));
    vpa_time end = vpa_container_time(&c, VPA_WINDOW_END);
    ck_assert(end < later.end);
    ck_assert(!vpa_container_resume(&c, &a, &later, t));
    ck_assert(vpa_container_time(&c, VPA_WINDOW_END) == end);
    ck_assert_int_eq(c.memory_peak, 100 << 20);
}

/* It had no samples while another process began the next interval: both peaks count. */
TEST(an_interval_that_is_over_is_followed_by_a_later_one) {
    struct vpa_aggregate both;

    ck_assert(use(t, 100 << 20));
    vpa_time end = vpa_container_time(&c, VPA_WINDOW_END);
    const struct vpa_open_interval later = {.end = end + VPA_HOUR * 24, .usage = 900 << 20};

    ck_assert(!vpa_container_resume(&c, &a, &later, end - 1));
    ck_assert(vpa_container_resume(&c, &a, &later, end));
    ck_assert(vpa_container_time(&c, VPA_WINDOW_END) == later.end);
    ck_assert_int_eq(c.memory_peak, 900 << 20);
    vpa_aggregate_init(&both, &global, t);
    vpa_aggregate_add_memory(&both, end, 100 << 20);
    vpa_aggregate_add_memory(&both, later.end, 900 << 20);
    for (uint32_t b = 0; b < 200; b++)
        ck_assert_double_eq(weight(b), vpa_histogram_weight(&both.memory.h, b));
    vpa_aggregate_release(&both);
}

TEST(observer_hears_of_scaled_containers) {
    struct seen seen = {0};
    struct vpa_usage_observer observer = {&seen, see};
    struct vpa_error err;

    ck_assert(vpa_container_add_cpu(&c, &a, t, 100, &observer));
    ck_assert_int_eq(seen.count, 0);
    a.settings.under_vpa = true;
    vpa_settings_apply_policy(&a.settings, NULL, true);
    ck_assert(vpa_container_add_cpu(&c, &a, t + 1, 100, &observer));
    ck_assert_int_eq(seen.count, 1);
    ck_assert_int_eq(seen.kind, VPA_KIND_CPU);
    ck_assert(!vpa_container_add_cpu(&c, &a, t, 100, &observer));
    ck_assert_int_eq(seen.count, 1);
    ck_assert_int_eq(vpa_container_record_oom(&c, &a, t, 100 * MI, &observer, &err), 0);
    ck_assert_int_eq(seen.usage, 200 * MI);
    ck_assert(seen.oom);
}

int main(void)
{
    return run_tests("container", setup, teardown);
}
