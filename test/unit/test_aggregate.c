/* Aggregates: samples, merging, emptiness and expiry, settings of policies, stored form. */
#include <check.h>

#include "model_fixture.h"

static struct vpa_aggregation global;
static struct vpa_arena arena;

static void setup(void)
{
    vpa_aggregation_init(&global);
    vpa_arena_init(&arena, 0);
}

static void teardown(void)
{
    vpa_aggregation_release(&global);
    vpa_arena_release(&arena);
}

START_TEST(defaults_are_upstreams)
{
    ck_assert_uint_eq(global.cpu_options.buckets, 176);
    ck_assert_int_eq(global.memory_interval, DAY);
    ck_assert_int_eq(global.memory_interval_count, 8);
    ck_assert_double_eq(global.oom_bump_up_ratio, 1.2);
    ck_assert_double_eq(global.oom_min_bump_up, 104857600.0);
    ck_assert(global.per_vpa_config);
    ck_assert_str_eq(vpa_kind_name(VPA_KIND_CPU), "cpu");
    ck_assert_str_eq(vpa_kind_name(VPA_KIND_MEMORY), "memory");
}
END_TEST

/* ---- settings ---- */

static const struct {
    const char *name, *policy;
    bool gate, needs, cpu, memory;
    double ratio, min;
    vpa_duration interval;
    int64_t count;
} policies[] = {
    {"none", "", true, true, true, true, 1.2, 104857600, DAY, 8},
    {"off", "{\"mode\":\"Off\"}", true, false, true, true, 1.2, 104857600, DAY, 8},
    {"ratio rounds up to thousandths", "{\"oomBumpUpRatio\":\"1.0005\"}", true, true, true, true,
     1.001, 104857600, DAY, 8},
    {"ratio too large for thousandths", "{\"oomBumpUpRatio\":\"9223372036854776\"}", true, true,
     true, true, 9223372036854775.807, 104857600, DAY, 8},
    {"ratio out of all bounds", "{\"oomBumpUpRatio\":\"1e30\"}", true, true, true, true,
     9223372036854775.807, 104857600, DAY, 8},
    {"minimum", "{\"oomMinBumpUp\":\"50Mi\"}", true, true, true, true, 1.2, 52428800, DAY, 8},
    {"minimum too large for thousandths", "{\"oomMinBumpUp\":\"9E\"}", true, true, true, true, 1.2,
     0, DAY, 8},
    {"negative minimum too large", "{\"oomMinBumpUp\":\"-9E\"}", true, true, true, true, 1.2, 0,
     DAY, 8},
    {"interval in seconds",
     "{\"memoryAggregationIntervalSeconds\":3600,\"memoryAggregationIntervalCount\":2}", true, true,
     true, true, 1.2, 104857600, VPA_HOUR, 2},
    {"interval as duration", "{\"memoryAggregationInterval\":\"90m\"}", true, true, true, true, 1.2,
     104857600, 90 * VPA_MINUTE, 8},
    {"seconds win",
     "{\"memoryAggregationInterval\":\"90m\",\"memoryAggregationIntervalSeconds\":60}", true, true,
     true, true, 1.2, 104857600, VPA_MINUTE, 8},
    {"unreadable duration", "{\"memoryAggregationInterval\":\"soon\"}", true, true, true, true, 1.2,
     104857600, DAY, 8},
    {"duration below a second", "{\"memoryAggregationInterval\":\"-12h\"}", true, true, true, true,
     1.2, 104857600, DAY, 8},
    {"gate off", "{\"oomBumpUpRatio\":\"2\",\"memoryAggregationIntervalSeconds\":60}", false, true,
     true, true, 1.2, 104857600, DAY, 8},
    {"only memory", "{\"controlledResources\":[\"memory\"]}", true, true, false, true, 1.2,
     104857600, DAY, 8},
    {"nothing controlled", "{\"controlledResources\":[]}", true, true, false, false, 1.2, 104857600,
     DAY, 8},
    {"unknown resources are dropped",
     "{\"controlledResources\":[\"gpu\",\"cpu\",\"cpu\",\"cpu\",\"cpu\",\"cpu\",\"memory\"]}", true,
     true, true, false, 1.2, 104857600, DAY, 8},
};

static bool controls(const struct vpa_settings *s, enum vpa_kind kind)
{
    return !s->scaling_mode || memchr(s->controlled, (int)kind, s->controlled_count);
}

START_TEST(policy_gives_settings)
{
    struct vpa_settings s;
    const struct vpa_container_policy *policy =
        policies[_i].policy[0] ? policy_of(&arena, policies[_i].policy) : NULL;

    vpa_settings_init(&s, &global);
    ck_assert(!vpa_settings_needs_recommendation(&s));
    ck_assert(controls(&s, VPA_KIND_CPU));
    s.under_vpa = true;
    ck_assert(!vpa_settings_needs_recommendation(&s));
    vpa_settings_apply_policy(&s, policy, policies[_i].gate);
    ck_assert_int_eq(vpa_settings_needs_recommendation(&s), policies[_i].needs);
    ck_assert_int_eq(controls(&s, VPA_KIND_CPU), policies[_i].cpu);
    ck_assert_int_eq(controls(&s, VPA_KIND_MEMORY), policies[_i].memory);
    ck_assert_double_eq(s.oom_bump_up_ratio, policies[_i].ratio);
    ck_assert_double_eq(s.oom_min_bump_up, policies[_i].min);
    ck_assert_int_eq(s.memory_interval, policies[_i].interval);
    ck_assert_int_eq(s.memory_interval_count, policies[_i].count);
    vpa_settings_mark_not_autoscaled(&s);
    ck_assert(!vpa_settings_needs_recommendation(&s));
    ck_assert_ptr_null(s.scaling_mode);
    ck_assert_double_eq(s.oom_bump_up_ratio, policies[_i].ratio);
    vpa_settings_use_global(&s, &global);
    ck_assert_double_eq(s.oom_bump_up_ratio, 1.2);
    ck_assert_int_eq(s.memory_interval, DAY);
}
END_TEST

START_TEST(window_wraps_like_upstream)
{
    struct vpa_settings s;

    vpa_settings_init(&s, &global);
    ck_assert_int_eq(vpa_settings_window(&s), 8 * DAY);
    s.memory_interval = 2147483647 * VPA_SECOND;
    s.memory_interval_count = INT64_MAX;
    ck_assert_int_eq(vpa_settings_window(&s), -2147483647 * VPA_SECOND);
}
END_TEST

/* ---- samples ---- */

START_TEST(times_and_count_are_of_cpu_samples)
{
    struct vpa_aggregate a;
    vpa_time t = at("2026-01-15T13:00:00Z");

    vpa_aggregate_init(&a, &global, t);
    vpa_aggregate_add_memory(&a, t, 100 * MI);
    ck_assert(vpa_aggregate_is_empty(&a));
    ck_assert(vpa_time_is_unset(a.first_sample));
    vpa_aggregate_add_cpu(&a, t, 100);
    vpa_aggregate_add_cpu(&a, t + 60, 100);
    vpa_aggregate_add_cpu(&a, t - 60, 100);
    ck_assert(a.first_sample == t - 60);
    ck_assert(a.last_sample == t + 60);
    ck_assert_int_eq(a.sample_count, 3);
    vpa_aggregate_subtract_memory(&a, t, 100 * MI);
    ck_assert(vpa_decay_is_empty(&a.memory));
    vpa_aggregate_release(&a);
}
END_TEST

/* Only what is more than the other one can hold it: of as many samples neither does. */
/* A histogram of so far ahead that a sample of now would weigh nothing: to the nanosecond. */
START_TEST(a_stored_reference_lies_so_far_ahead_at_most)
{
    vpa_time t = at("2026-01-15T13:00:00Z");
    vpa_time last = t + (vpa_time)global.cpu_half_life * VPA_DECAY_MAX_EXPONENT;
    struct vpa_checkpoint_status status = {.cpu = {.reference = t}, .memory = {.reference = t}};
    struct vpa_error err = {0};

    ck_assert_int_eq(global.cpu_half_life, global.memory_half_life);
    ck_assert_int_eq(vpa_aggregate_check_stored(&global, &status, t, &err), 0);
    status.cpu.reference = status.memory.reference = last;
    ck_assert_int_eq(vpa_aggregate_check_stored(&global, &status, t, &err), 0);
    status.cpu.reference = last + 1;
    ck_assert_int_eq(vpa_aggregate_check_stored(&global, &status, t, &err), -1);
    ck_assert_msg(strstr(err.text, "cpu histogram has an impossible reference time") == err.text,
                  "%s", err.text);
    status.cpu.reference = t;
    status.memory.reference = last + 1;
    ck_assert_int_eq(vpa_aggregate_check_stored(&global, &status, t, &err), -1);
    ck_assert_int_eq(vpa_aggregate_check_stored(&global, &status, VPA_TIME_UNSET, &err), 0);
}
END_TEST

START_TEST(takes_out_what_it_has)
{
    struct vpa_aggregate a, b;
    vpa_time t = at("2026-01-15T13:00:00Z");

    vpa_aggregate_init(&a, &global, t);
    vpa_aggregate_init(&b, &global, t);
    ck_assert(vpa_aggregate_take_out(&a, &b)); /* of nothing, nothing */
    vpa_aggregate_add_cpu(&a, t, 100);
    vpa_aggregate_add_cpu(&b, t, 100);
    ck_assert(!vpa_aggregate_take_out(&a, &b));
    ck_assert_int_eq(a.sample_count, 1);
    vpa_aggregate_add_cpu(&a, t + 60, 300);
    ck_assert(vpa_aggregate_take_out(&a, &b));
    ck_assert_int_eq(a.sample_count, 1);
    vpa_aggregate_add_cpu(&a, t + 120, 300);
    b.first_sample = t + 121; /* began after the last of a: it cannot be in there */
    ck_assert(vpa_aggregate_take_out(&a, &b));
    ck_assert_int_eq(a.sample_count, 2);
    b.first_sample = t + 120;
    ck_assert(vpa_aggregate_take_out(&a, &b));
    ck_assert_int_eq(a.sample_count, 1);
    vpa_aggregate_release(&a);
    vpa_aggregate_release(&b);
}
END_TEST

/* Of both kinds, each sample by itself. */
START_TEST(what_is_left_is_as_if_the_other_had_never_been)
{
    struct vpa_aggregate a, b, left;
    vpa_time t = at("2026-01-15T13:00:00Z");

    vpa_aggregate_init(&a, &global, t);
    vpa_aggregate_init(&b, &global, t);
    vpa_aggregate_init(&left, &global, t);
    for (int i = 0; i < 10; i++) {
        vpa_aggregate_add_cpu(&a, t + i, 100);
        vpa_aggregate_add_cpu(&b, t + i, 100);
        vpa_aggregate_add_memory(&a, t + i, 100 * MI);
        vpa_aggregate_add_memory(&b, t + i, 100 * MI);
        vpa_aggregate_add_cpu(&a, t + i, 3000);
        vpa_aggregate_add_cpu(&left, t + i, 3000);
        vpa_aggregate_add_memory(&a, t + i, 3000 * MI);
        vpa_aggregate_add_memory(&left, t + i, 3000 * MI);
    }
    ck_assert(vpa_aggregate_take_out(&a, &b));
    for (int p = 0; p <= 10; p++) {
        ck_assert_double_eq(vpa_decay_percentile(&a.cpu, p / 10.0),
                            vpa_decay_percentile(&left.cpu, p / 10.0));
        ck_assert_double_eq(vpa_decay_percentile(&a.memory, p / 10.0),
                            vpa_decay_percentile(&left.memory, p / 10.0));
    }
    ck_assert_int_eq(a.sample_count, left.sample_count);
    vpa_aggregate_release(&a);
    vpa_aggregate_release(&b);
    vpa_aggregate_release(&left);
}
END_TEST

/* Of one that saw fewer samples of the same time, and was there before. */
START_TEST(what_is_older_stays_whatever_was_counted_since)
{
    struct vpa_aggregate a, b;
    vpa_time t = at("2026-01-15T13:00:00Z"), later = t + 24 * VPA_HOUR;

    vpa_aggregate_init(&a, &global, t);
    vpa_aggregate_init(&b, &global, t);
    vpa_aggregate_add_cpu(&a, t, 3000);
    vpa_aggregate_add_memory(&a, t, 3000 * MI);
    vpa_aggregate_add_cpu(&a, later, 100);
    vpa_aggregate_add_memory(&a, later, 100 * MI);
    vpa_aggregate_add_memory(&b, later, 100 * MI);
    for (int i = 0; i < 5; i++)
        vpa_aggregate_add_cpu(&b, later + i * VPA_MINUTE, 100);
    ck_assert(vpa_aggregate_take_out(&a, &b));
    ck_assert_int_eq(a.sample_count, 1);
    ck_assert(a.first_sample == t);
    ck_assert_double_gt(vpa_decay_percentile(&a.cpu, 0), 2.9);
    ck_assert_double_gt(vpa_decay_percentile(&a.memory, 0), 2900.0 * MI);
    vpa_aggregate_release(&a);
    vpa_aggregate_release(&b);
}
END_TEST

/* The other one has dropped the label set that its first sample was of, say. */
START_TEST(nothing_is_left_where_no_weight_is)
{
    struct vpa_aggregate a, b;
    vpa_time t = at("2026-01-15T13:00:00Z");

    vpa_aggregate_init(&a, &global, t);
    vpa_aggregate_init(&b, &global, t);
    vpa_aggregate_add_cpu(&a, t, 100);
    vpa_aggregate_add_cpu(&b, t, 100);
    a.first_sample = t - 24 * VPA_HOUR;
    ck_assert(!vpa_aggregate_take_out(&a, &b));
    vpa_aggregate_add_cpu(&a, t, 3000);
    a.sample_count = INT64_MIN; /* as a stored one may say */
    ck_assert(vpa_aggregate_take_out(&a, &b));
    ck_assert_int_eq(a.sample_count, 1);
    vpa_aggregate_release(&a);
    vpa_aggregate_release(&b);
}
END_TEST

START_TEST(merge_takes_the_widest_times)
{
    struct vpa_aggregate a, b, empty;
    vpa_time t = at("2026-01-15T13:00:00Z");

    vpa_aggregate_init(&a, &global, t);
    vpa_aggregate_init(&b, &global, t);
    vpa_aggregate_init(&empty, &global, t);
    vpa_aggregate_add_cpu(&b, t, 100);
    vpa_aggregate_merge(&a, &b);
    ck_assert(a.first_sample == t && a.last_sample == t);
    vpa_aggregate_add_cpu(&b, t - 10, 100);
    vpa_aggregate_merge(&a, &b);
    ck_assert(a.first_sample == t - 10 && a.last_sample == t);
    vpa_aggregate_merge(&a, &empty);
    ck_assert(a.first_sample == t - 10);
    ck_assert_int_eq(a.sample_count, 3);
    b.sample_count = INT64_MAX;
    vpa_aggregate_merge(&a, &b);
    ck_assert_int_eq(a.sample_count, INT64_MAX);
    a.sample_count = -2;
    b.sample_count = INT64_MIN;
    vpa_aggregate_merge(&a, &b);
    ck_assert_int_eq(a.sample_count, INT64_MIN);
    vpa_aggregate_release(&a);
    vpa_aggregate_release(&b);
    vpa_aggregate_release(&empty);
}
END_TEST

static const struct {
    const char *name;
    int cpu_day, memory_day, now_day; /* days after creation; -1: no sample */
    bool expired, garbage_fed, garbage_unfed;
} expiries[] = {
    {"fresh", -1, -1, 0, false, false, true},
    {"never a sample, old", -1, -1, 8, true, true, true},
    {"cpu sample of yesterday", 7, -1, 8, false, false, false},
    {"cpu sample a window ago", 0, -1, 8, true, true, true},
    {"memory only, young", -1, 0, 1, false, false, false},
    {"memory only, created long ago, fresh peak", -1, 7, 8, true, false, false},
    {"memory only, a window ago", -1, 0, 8, true, true, true},
};

START_TEST(expiry_and_garbage)
{
    struct vpa_aggregate a;
    vpa_time t = at("2026-01-15T00:00:00Z");

    vpa_aggregate_init(&a, &global, t);
    if (expiries[_i].cpu_day >= 0)
        vpa_aggregate_add_cpu(&a, t + expiries[_i].cpu_day * (vpa_time)DAY, 100);
    if (expiries[_i].memory_day >= 0)
        vpa_aggregate_add_memory(&a, t + expiries[_i].memory_day * (vpa_time)DAY, 100 * MI);
    vpa_time now = t + expiries[_i].now_day * (vpa_time)DAY;
    ck_assert_int_eq(vpa_aggregate_is_expired(&a, now), expiries[_i].expired);
    ck_assert_int_eq(vpa_aggregate_is_garbage(&a, true, now), expiries[_i].garbage_fed);
    ck_assert_int_eq(vpa_aggregate_is_garbage(&a, false, now), expiries[_i].garbage_unfed);
    vpa_aggregate_release(&a);
}
END_TEST

/* ---- stored form ---- */

START_TEST(stored_form_of_example_e13)
{
    struct vpa_aggregate a, again;
    struct vpa_checkpoint_status status;
    struct vpa_error err;
    vpa_time t = at("2026-01-15T13:00:00Z");

    vpa_aggregate_init(&a, &global, t);
    for (int i = 0; i < 60; i++)
        vpa_aggregate_add_cpu(&a, t + i * (vpa_time)VPA_MINUTE, i < 54 ? 100 : 500);
    vpa_aggregate_add_memory(&a, t + DAY, 259000000);
    vpa_aggregate_subtract_memory(&a, t + DAY, 259000000);
    vpa_aggregate_save(&a, at("2026-01-15T14:00:00Z"), &arena, &status);
    ck_assert_str_eq(
        checkpoint_text(&arena, &status),
        "{\"lastUpdateTime\":\"2026-01-15T14:00:00Z\",\"version\":\"v3\",\"cpuHistogram\":{"
        "\"referenceTimestamp\":\"2026-01-16T00:00:00Z\",\"bucketWeights\":{\"25\":1127,\"8\":"
        "10000},"
        "\"totalWeight\":4.429566158865345},\"memoryHistogram\":{\"referenceTimestamp\":"
        "\"2026-01-17T00:00:00Z\"},\"firstSampleStart\":\"2026-01-15T13:00:00Z\","
        "\"lastSampleStart\":\"2026-01-15T13:59:00Z\",\"totalSamplesCount\":60}");
    vpa_aggregate_init(&again, &global, t);
    ck_assert_int_eq(vpa_aggregate_load(&again, &status, &err), 0);
    ck_assert(vpa_histogram_weight(&again.cpu.h, 8) == 3.9809168319091808);
    ck_assert(vpa_histogram_weight(&again.cpu.h, 25) == 0.44864932695616466);
    ck_assert(vpa_decay_percentile(&again.cpu, 0.9) == 0.5111345375888706);
    ck_assert_int_eq(again.sample_count, 60);
    vpa_aggregate_release(&a);
    vpa_aggregate_release(&again);
}
END_TEST

static const struct {
    const char *name, *status, *text;
} bad_statuses[] = {
    {"foreign version", "{\"version\":\"v2\"}", "unsupported checkpoint version v2"},
    {"no version", "{}", "unsupported checkpoint version "},
    {"bad memory bucket",
     "{\"version\":\"v3\",\"memoryHistogram\":{\"bucketWeights\":{\"200\":1},\"totalWeight\":1}}",
     "checkpoint has bucket 200 that is exceeding histogram buckets 176"},
    {"bad cpu total", "{\"version\":\"v3\",\"cpuHistogram\":{\"totalWeight\":-1}}",
     "cannot load checkpoint with negative weight -1"},
};

START_TEST(refuses_checkpoints)
{
    struct vpa_aggregate a;
    struct vpa_error err;

    vpa_aggregate_init(&a, &global, 0);
    ck_assert_int_eq(vpa_aggregate_load(&a, checkpoint_of(&arena, bad_statuses[_i].status), &err),
                     -1);
    ck_assert_str_eq(err.text, bad_statuses[_i].text);
    vpa_aggregate_release(&a);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("aggregate");
    TCase *tc = tcase_create("aggregate");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, defaults_are_upstreams);
    tcase_add_loop_test(tc, policy_gives_settings, 0, VPA_COUNT(policies));
    tcase_add_test(tc, window_wraps_like_upstream);
    tcase_add_test(tc, times_and_count_are_of_cpu_samples);
    tcase_add_test(tc, a_stored_reference_lies_so_far_ahead_at_most);
    tcase_add_test(tc, takes_out_what_it_has);
    tcase_add_test(tc, what_is_left_is_as_if_the_other_had_never_been);
    tcase_add_test(tc, what_is_older_stays_whatever_was_counted_since);
    tcase_add_test(tc, nothing_is_left_where_no_weight_is);
    tcase_add_test(tc, merge_takes_the_widest_times);
    tcase_add_loop_test(tc, expiry_and_garbage, 0, VPA_COUNT(expiries));
    tcase_add_test(tc, stored_form_of_example_e13);
    tcase_add_loop_test(tc, refuses_checkpoints, 0, VPA_COUNT(bad_statuses));
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
