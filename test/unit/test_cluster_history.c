/* Histories of VPAs: merging in a fixed order, loaded checkpoints, their age. */
#include <check.h>
#include <math.h>

#include "history_fixture.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

TEST(names_in_order_and_single_sources_uncopied) {
    struct vpa_histories h;

    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 0);
    vpa_histories_release(&h);
    put("p", "{\"app\":\"web\"}", "z");
    put("p", "{\"app\":\"web\"}", "a");
    put("p", "{\"app\":\"web\"}", "m");
    put("q", "{\"app\":\"web\",\"x\":\"1\"}", "m");
    put("r", "{\"app\":\"db\"}", "m");
    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 3);
    ck_assert_uint_eq(h.merged_count, 1);
    ck_assert_str_eq(h.items[0].container, "a");
    ck_assert_str_eq(h.items[1].container, "m");
    ck_assert_str_eq(h.items[2].container, "z");
    ck_assert_ptr_eq(h.items[1].aggregate, h.merged);
    vpa_histories_release(&h);
}

/* '-' sorts before '=': the order is that of the texts "k=v", not that of the keys. */
TEST(groups_merge_by_the_text_of_their_labels) {
    static const char *const times[] = {"2026-01-15T13:00:00Z", "2026-01-15T13:01:00Z",
                                        "2026-01-15T13:02:00Z"};
    struct vpa_histories h;
    struct vpa_aggregate by_hand[3], sum;
    static const char *const labels[] = {"{\"app\":\"web\",\"a\":\"1\"}",
                                         "{\"app\":\"web\",\"a-b\":\"1\"}",
                                         "{\"app\":\"web\",\"a\":\"0\"}"};
    static const int order[] = {1, 2, 0}; /* a-b=1 < a=0 < a=1 */

    vpa_aggregate_init(&sum, &global, now);
    for (int i = 0; i < 3; i++) {
        const char *name = vpa_arena_printf(&arena, "p%d", i);
        put(name, labels[i], "app");
        use(name, "app", VPA_KIND_CPU, times[i], 500);
        vpa_aggregate_init(&by_hand[i], &global, now);
        vpa_aggregate_add_cpu(&by_hand[i], at(times[i]), 500);
    }
    for (int i = 0; i < 3; i++)
        vpa_aggregate_merge(&sum, &by_hand[order[i]]);
    vpa_cluster_histories(c, v, now, &h);
    ck_assert(h.items[0].aggregate->cpu.h.total == sum.cpu.h.total);
    ck_assert_int_eq(h.items[0].aggregate->sample_count, 3);
    vpa_histories_release(&h);
    vpa_aggregate_release(&sum);
    for (int i = 0; i < 3; i++)
        vpa_aggregate_release(&by_hand[i]);
}

#define STORED(cpu_reference, cpu_total, memory_total)                                             \
    "{\"version\":\"v3\",\"cpuHistogram\":{\"referenceTimestamp\":\"" cpu_reference                \
    "\",\"bucketWeights\":{\"8\":10000},\"totalWeight\":" cpu_total                                \
    "},\"memoryHistogram\":{\"referenceTimestamp\":\"2026-01-15T00:00:00Z\",\"bucketWeights\":{"   \
    "\"9\":10000},\"totalWeight\":" memory_total "},\"totalSamplesCount\":30}"

static const struct {
    const char *status;
    const char *error; /* end of the text, NULL: loaded */
} stored_cases[] = {
    {STORED("2026-01-15T00:00:00Z", "3", "3"), NULL},
    {STORED("2026-01-15T00:00:00Z", "1e100", "1e100"), NULL},
    {STORED("2026-04-20T00:00:00Z", "3", "3"), NULL}, /* a clock that went wrong, yet harmless */
    {STORED("0001-01-01T00:00:01Z", "3", "3"), NULL}, /* decays to nothing */
    {STORED("2026-01-15T00:00:00Z", "1e101", "3"),
     "cpu histogram has an impossible total weight 1e+101"},
    {STORED("2026-01-15T00:00:00Z", "3", "1e308"),
     "memory histogram has an impossible total weight 1e+308"},
    {STORED("2026-01-15T00:00:00Z", "-3", "3"), "cannot load checkpoint with negative weight -3"},
    {STORED("2027-01-15T00:00:00Z", "3", "3"),
     "cpu histogram has an impossible reference time 2027-01-15T00:00:00Z"},
    {STORED("9999-12-31T23:59:59Z", "3", "3"),
     "cpu histogram has an impossible reference time 9999-12-31T23:59:59Z"},
};

/* Refused or not: what is measured afterwards counts, and nothing becomes infinite. */
TEST_EACH(hostile_checkpoints_spoil_nothing, stored_cases) {
    const struct vpa_checkpoint_status *status = checkpoint_of(&arena, stored_cases[_i].status);
    struct vpa_histories h;
    struct vpa_error err;

    put("p", "{\"app\":\"web\"}", "app");
    int rc = vpa_cluster_load_checkpoint(c, "ns", "v", "app", status, now, &err);
    ck_assert_int_eq(rc, stored_cases[_i].error ? -1 : 0);
    if (rc < 0)
        ck_assert_msg(vpa_str_ends_with(err.text, stored_cases[_i].error), "%s", err.text);
    use("p", "app", VPA_KIND_CPU, "2026-01-15T13:00:00Z", 500);
    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 1);
    const struct vpa_histogram *cpu = &h.items[0].aggregate->cpu.h;
    ck_assert(cpu->total > 0 && cpu->total < 1e200);
    ck_assert(vpa_histogram_percentile(cpu, 0.9) > 0 && vpa_histogram_percentile(cpu, 0.9) < 10);
    vpa_histories_release(&h);
}

/* Peaks are stamped with the end of their interval: one of a year is no damage, where the policy
 * says so. */
TEST(what_a_long_interval_stores_is_loaded) {
    const struct vpa_checkpoint_status *status = checkpoint_of(
        &arena, "{\"version\":\"v3\",\"cpuHistogram\":{\"referenceTimestamp\":"
                "\"2026-01-15T00:00:00Z\",\"bucketWeights\":{\"1\":10000},\"totalWeight\":1},"
                "\"memoryHistogram\":{\"referenceTimestamp\":\"2027-01-14T00:00:00Z\","
                "\"bucketWeights\":{\"1\":10000},\"totalWeight\":1}}");
    struct vpa_error err;

    global.per_vpa_config = true;
    ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v", "app", status, now, &err), -1);
    vpa_cluster_put_vpa(
        c,
        vpa_of(&arena, "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"v\"},\"spec\":{"
                       "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"app\","
                       "\"memoryAggregationInterval\":\"8760h\"}]}}}"),
        selector_of(&arena, "app=web"), NULL, now);
    ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v", "app", status, now, &err), 0);
    ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v", "other", status, now, &err), -1);
}

TEST(counts_of_stored_samples_do_not_overflow) {
    struct vpa_checkpoint_status status =
        *checkpoint_of(&arena, STORED("2026-01-15T00:00:00Z", "3", "3"));
    struct vpa_aggregate a;
    struct vpa_error err;

    status.total_samples_count = INT64_MAX;
    vpa_aggregate_init(&a, &global, now);
    ck_assert_int_eq(vpa_aggregate_load(&a, &status, &err), 0);
    vpa_aggregate_add_cpu(&a, now, 500);
    ck_assert_int_eq(a.sample_count, INT64_MAX);
    vpa_aggregate_release(&a);
}

TEST(weights_that_are_no_numbers_are_refused) {
    static const double weights[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.5};
    struct vpa_checkpoint_status status =
        *checkpoint_of(&arena, STORED("2026-01-15T00:00:00Z", "3", "3"));
    struct vpa_error err;

    for (size_t i = 0; i < VPA_COUNT(weights); i++) {
        status.cpu.total_weight = weights[i];
        ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v", "app", &status, now, &err), -1);
        ck_assert_int_eq(err.code, VPA_INVALID);
    }
}

TEST(loaded_histories_are_merged_in) {
    struct vpa_histories h;
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "v", "app", checkpoint_of(&arena, LOADED), now, &err),
        0);
    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "v", "gone", checkpoint_of(&arena, LOADED), now, &err),
        0);
    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 2); /* also without pods */
    vpa_histories_release(&h);
    put("p", "{\"app\":\"web\"}", "app");
    use("p", "app", VPA_KIND_CPU, "2026-01-15T13:00:00Z", 500);
    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 2);
    ck_assert_int_eq(h.items[0].aggregate->sample_count, 31);
    ck_assert(h.items[0].aggregate->first_sample == at("2026-01-10T00:00:00Z"));
    ck_assert(h.items[0].aggregate->last_sample == at("2026-01-15T13:00:00Z"));
    ck_assert_int_eq(h.items[1].aggregate->sample_count, 30);
    vpa_histories_release(&h);
}

/* Another recommender had the VPA and read usage more seldom: what it knows of the days before ours
 * is loaded, though we have counted more samples. */
TEST(an_older_history_of_fewer_samples_is_loaded) {
    struct vpa_histories h;
    struct vpa_error err;

    put("p", "{\"app\":\"web\"}", "app");
    for (int i = 0; i < 40; i++)
        use("p", "app", VPA_KIND_CPU, vpa_arena_printf(&arena, "2026-01-13T13:%02d:00Z", i), 500);
    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "v", "app", checkpoint_of(&arena, LOADED), now, &err),
        0);
    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 1);
    ck_assert_int_eq(h.items[0].aggregate->sample_count, 41);
    ck_assert(h.items[0].aggregate->first_sample == at("2026-01-10T00:00:00Z"));
    ck_assert_double_lt(vpa_decay_percentile(&h.items[0].aggregate->cpu, 0), 0.2); /* its bucket */
    vpa_histories_release(&h);
}

/* Our own, stored before the VPA was made anew: we know it all. */
TEST(what_is_known_is_not_loaded) {
    struct stored stored = {0};
    struct vpa_histories h;
    struct vpa_error err;

    put("p", "{\"app\":\"web\"}", "app");
    use("p", "app", VPA_KIND_CPU, "2026-01-13T13:00:00Z", 500);
    vpa_cluster_checkpoints(c, v, now, keep, &stored);
    for (int i = 0; i < 2; i++) { /* later there is more */
        ck_assert_int_eq(vpa_cluster_load_checkpoint(
                             c, "ns", "v", "app", checkpoint_of(&arena, stored.text[0]), now, &err),
                         0);
        vpa_cluster_histories(c, v, now, &h);
        ck_assert_int_eq(h.items[0].aggregate->sample_count, 1 + i);
        vpa_histories_release(&h);
        if (i == 0)
            use("p", "app", VPA_KIND_CPU, "2026-01-13T13:01:00Z", 500);
    }
}

TEST(many_containers_can_be_loaded) {
    struct vpa_histories h;
    struct vpa_error err;

    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v",
                                                     vpa_arena_printf(&arena, "c%d", i),
                                                     checkpoint_of(&arena, LOADED), now, &err),
                         0);
    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 9);
    ck_assert_str_eq(h.items[8].container, "c8");
    vpa_histories_release(&h);
}

#define MANY 100

static void load_many(const char *status)
{
    struct vpa_error err;

    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v",
                                                     vpa_arena_printf(&arena, "c%d", i),
                                                     checkpoint_of(&arena, status), now, &err),
                         0);
}

static size_t count_histories(void)
{
    struct vpa_histories h;

    vpa_cluster_histories(c, v, now, &h);
    size_t count = h.count;
    vpa_histories_release(&h);
    return count;
}

/* Found by their names, loaded again in their places, and gone when they are old. */
TEST(a_hundred_containers_are_each_there_once) {
    load_many(LOADED);
    load_many(LOADED);
    ck_assert_uint_eq(count_histories(), MANY);
    for (int i = 0; i < MANY; i++)
        ck_assert(!vpa_time_is_unset(
            vpa_autoscaler_history_age(v, vpa_arena_printf(&arena, "c%d", i)).loaded_from));
    ck_assert(vpa_time_is_unset(vpa_autoscaler_history_age(v, "c100").loaded_from));
    put("p", "{\"app\":\"web\"}", "c7");
    vpa_cluster_collect_garbage(c, vpa_time_add(now, 30 * 24 * VPA_HOUR), NULL, NULL);
    ck_assert_uint_eq(count_histories(), 1);
    ck_assert(!vpa_time_is_unset(vpa_autoscaler_history_age(v, "c7").loaded_from));
    ck_assert(vpa_time_is_unset(vpa_autoscaler_history_age(v, "c8").loaded_from));
    load_many(LOADED);
    ck_assert_uint_eq(count_histories(), MANY);
}

TEST(unreadable_checkpoints_are_reported) {
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "w", "app", checkpoint_of(&arena, LOADED), now, &err),
        -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
    ck_assert_str_eq(err.text, "cannot load checkpoint to missing VPA object ns/w");
    ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v", "app",
                                                 checkpoint_of(&arena, "{\"version\":\"v1\"}"), now,
                                                 &err),
                     -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_str_eq(
        err.text, "cannot load checkpoint for VPA ns/v. Reason: unsupported checkpoint version v1");
}

/* ---- age ---- */

static size_t known_containers(void)
{
    struct vpa_histories h;

    vpa_cluster_histories(c, v, now, &h);
    size_t count = h.count;
    vpa_histories_release(&h);
    return count;
}

/* Who keeps a loaded history that is older than the eight days: a pod with the container, or live
 * samples of one that has gone. */
TEST_TIMES(a_loaded_history_goes_by_age_when_nothing_has_its_container, 3) {
    static const vpa_duration week = 7 * 24 * VPA_HOUR;
    struct vpa_error err;

    if (_i > 0)
        put("p", "{\"app\":\"web\"}", "app");
    if (_i == 2) {
        use("p", "app", VPA_KIND_CPU, "2026-01-15T14:00:00Z", 100);
        vpa_cluster_remove_pod(c, "ns", "p");
    }
    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "v", "app", checkpoint_of(&arena, LOADED), now, &err),
        0);
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    now = vpa_time_add(now, week);
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    ck_assert_uint_eq(known_containers(), _i == 0 ? 0 : 1);
    ck_assert_int_eq(vpa_autoscaler_has_outlived(v, "app", vpa_time_add(now, -2 * week), now),
                     _i == 0);
    ck_assert(!vpa_autoscaler_has_outlived(v, "app", vpa_time_add(now, -week), now));
    now = vpa_time_add(now, 2 * week);
    vpa_cluster_collect_garbage(c, now, NULL, NULL); /* also aggregates that nobody fed so long */
    ck_assert_uint_eq(known_containers(), _i == 1 ? 1 : 0);
}

/* An age that no history can have, because it is negative or beyond all numbers, is none. */
static const struct {
    const char *interval; /* eight of them */
    bool goes;
} ages[] = {
    {"\"memoryAggregationIntervalSeconds\":3600", true},
    {"\"memoryAggregationIntervalSeconds\":-3600", false},
    {"\"memoryAggregationInterval\":\"2305843009500ms\"", false}, /* 2^64 ns and 2.3 s */
    {"\"memoryAggregationInterval\":\"2562047h\"", false},        /* 2^66 ns less 6 h: negative */
};

TEST_EACH(a_history_of_an_impossible_age_stays, ages) {
    const char *object = vpa_arena_printf(
        &arena,
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"v\"},\"spec\":{\"resourcePolicy\":{"
        "\"containerPolicies\":[{\"containerName\":\"*\",%s}]}}}",
        ages[_i].interval);
    struct vpa_error err;

    vpa_cluster_put_vpa(c, vpa_of(&arena, object), selector_of(&arena, "app=web"), NULL, now);
    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "v", "app", checkpoint_of(&arena, LOADED), now, &err),
        0);
    now += 30 * (vpa_time)DAY;
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    ck_assert_uint_eq(known_containers(), ages[_i].goes ? 0 : 1);
}

#define AHEAD(update, first, last, count)                                                          \
    "{\"version\":\"v3\",\"lastUpdateTime\":" update ",\"cpuHistogram\":{"                         \
    "\"referenceTimestamp\":\"2026-01-15T00:00:00Z\",\"bucketWeights\":{\"8\":10000},"             \
    "\"totalWeight\":3},\"firstSampleStart\":" first ",\"lastSampleStart\":" last                  \
    ",\"totalSamplesCount\":" count "}"

/* It is 14:00 of January 15. */
static const struct {
    const char *status;
    vpa_duration goes; /* from now on */
} dated[] = {
    {AHEAD("\"2026-01-14T14:00:00Z\"", "\"2026-01-10T00:00:00Z\"", "\"2126-01-10T00:00:00Z\"",
           "30"),
     7 * DAY},
    {AHEAD("\"2026-01-14T14:00:00Z\"", "\"2126-01-10T00:00:00Z\"", "\"2126-01-11T00:00:00Z\"",
           "30"),
     7 * DAY},
    {AHEAD("\"2126-01-14T14:00:00Z\"", "\"2026-01-10T00:00:00Z\"", "\"2126-01-10T00:00:00Z\"",
           "30"),
     8 * DAY},
    {AHEAD("null", "null", "\"2026-01-15T15:00:01Z\"", "30"), 8 * DAY},
    {AHEAD("null", "null", "\"2026-01-15T15:00:00Z\"", "30"), 8 * DAY + VPA_HOUR},
    {AHEAD("\"2026-01-14T14:00:00Z\"", "null", "null", "30"), 7 * DAY},
    {AHEAD("\"2026-01-14T14:00:00Z\"", "null", "null", "0"), 7 * DAY},
};

/* A last sample that is ahead of the clock, or absent, is of when it was stored. */
TEST_EACH(every_loaded_history_ages, dated) {
    struct vpa_error err;
    vpa_time loaded = now;

    ck_assert_int_eq(vpa_cluster_load_checkpoint(
                         c, "ns", "v", "app", checkpoint_of(&arena, dated[_i].status), now, &err),
                     0);
    now = vpa_time_add(loaded, dated[_i].goes - VPA_SECOND);
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    ck_assert_uint_eq(known_containers(), 1);
    now = vpa_time_add(now, VPA_HOUR);
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    ck_assert_uint_eq(known_containers(), 0);
}

int main(void)
{
    return run_tests("cluster_history", setup_history, teardown);
}
