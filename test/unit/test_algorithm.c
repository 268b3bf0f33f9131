/* Algorithms: the registry, parameters as texts, knowledge of every algorithm alike, and VPA's own
 * through the interface against the model's parts that it is made of. */
#include <check.h>
#include <math.h>

#include "method_fixture.h"
#include "../../src/model/stored.h"

static const struct vpa_algorithm *algorithm_at(int i)
{
    size_t count;
    const struct vpa_algorithm *const *all = vpa_algorithms(&count);

    ck_assert_uint_lt((size_t)i, count);
    return all[i];
}

static int algorithm_count(void)
{
    size_t count;

    vpa_algorithms(&count);
    return (int)count;
}

static const char *name_at(int i)
{
    return vpa_algorithm_name(algorithm_at(i));
}

static bool tell(struct vpa_knowledge *to, enum vpa_usage_type type, vpa_time t, uint64_t replica,
                 vpa_amount amount)
{
    return vpa_knowledge_add(to, &(struct vpa_usage){type, t, replica, amount});
}

/* Three days of two replicas, every ten minutes, with a saw tooth of usage. */
static vpa_time three_days(struct vpa_knowledge *of, vpa_time from)
{
    vpa_time t = from;

    for (int i = 0; i < 432; i++, t += 10 * VPA_MINUTE) {
        for (uint64_t replica = 1; replica <= 2; replica++) {
            vpa_amount n = (i * 7 + (int)replica * 13) % 97;
            ck_assert(tell(of, VPA_USAGE_CPU, t, replica, 100 + 5 * n));
            ck_assert(tell(of, VPA_USAGE_MEMORY, t, replica, (300 + n) * MI));
        }
    }
    return t;
}

static struct vpa_knowledge *load(const char *text, vpa_time now)
{
    return vpa_knowledge_load(m, json(&arena, text), now, &err);
}

static void assert_near(const struct vpa_estimate *a, const struct vpa_estimate *b, double most)
{
    for (int bound = 0; bound < VPA_BOUNDS; bound++) {
        for (int kind = 0; kind < VPA_KINDS; kind++) {
            double x = (double)a->bound[bound].value[kind];
            double y = (double)b->bound[bound].value[kind];
            ck_assert_msg(fabs(x - y) <= most * y, "bound %d, %s: %g, %g", bound,
                          vpa_kind_name((enum vpa_kind)kind), x, y);
        }
    }
}

static struct vpa_estimate ask(const struct vpa_knowledge *of, vpa_time now)
{
    struct vpa_estimate e;

    ck_assert(vpa_knowledge_estimate(of, &(struct vpa_question){now, 1}, &e));
    return e;
}

/* ---- registry ---- */

TEST(names_find_algorithms) {
    ck_assert_ptr_eq(algorithm_at(0), vpa_algorithm_find(VPA_ALGORITHM_VPA));
    ck_assert_ptr_null(vpa_algorithm_find("none"));
    ck_assert_ptr_null(vpa_algorithm_find(""));
    for (int i = 0; i < algorithm_count(); i++)
        ck_assert_ptr_eq(vpa_algorithm_find(vpa_algorithm_name(algorithm_at(i))), algorithm_at(i));
}

/* Every preset is a value that could be set. */
TEST_TIMES(presets_are_valid, algorithm_count()) {
    const struct vpa_algorithm *a = algorithm_at(_i);
    struct vpa_parameters p;
    size_t count;
    const struct vpa_parameter *parameters = vpa_algorithm_parameters(a, &count);

    vpa_parameters_init(&p, a);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(vpa_parameters_set(&p, parameters[i].key, parameters[i].preset, &err) == 0,
                      "%s", err.text);
        ck_assert_str_eq(vpa_parameters_text(&p, parameters[i].key), parameters[i].preset);
        ck_assert_uint_gt(strlen(parameters[i].help), 0);
    }
    vpa_parameters_release(&p);
}

/* ---- parameters ---- */

static const struct {
    const char *key, *text, *error;
} wrong[] = {
    {"target-cpu-percentile", "1.5", "target-cpu-percentile: 1.5 is not within 0 to 1"},
    {"target-cpu-percentile", "", "target-cpu-percentile: \"\" is not a number"},
    {"target-cpu-percentile", "NaN", "target-cpu-percentile: \"NaN\" is not a number"},
    {"cpu-histogram-decay-half-life", "soon",
     "cpu-histogram-decay-half-life: \"soon\" is not a duration; write 1h30m, or whole days as 7d"},
    {"cpu-histogram-decay-half-life", "1ms",
     "cpu-histogram-decay-half-life: 1ms is not within 1 to 31536000 seconds"},
};

TEST_EACH(wrong_values_change_nothing, wrong) {
    struct vpa_parameters p, before;

    vpa_parameters_init(&p, algorithm_at(0));
    vpa_parameters_copy(&before, &p);
    ck_assert_int_eq(vpa_parameters_set(&p, wrong[_i].key, wrong[_i].text, &err), -1);
    ck_assert_str_eq(err.text, wrong[_i].error);
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert(vpa_parameters_equal(&p, &before));
    vpa_parameters_release(&before);
    vpa_parameters_release(&p);
}

TEST(unknown_keys_are_told_with_those_there_are) {
    struct vpa_parameters p;

    vpa_parameters_init(&p, algorithm_at(0));
    ck_assert_int_eq(vpa_parameters_set(&p, "percentile", "1", &err), -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "percentile: no such parameter of algorithm vpa, which "
                                           "has: target-cpu-percentile, "));
    ck_assert_ptr_null(vpa_parameters_text(&p, "percentile"));
    vpa_parameters_release(&p);
}

TEST(days_are_durations) {
    struct vpa_parameters p, q;

    vpa_parameters_init(&p, algorithm_at(0));
    vpa_parameters_copy(&q, &p);
    ck_assert_int_eq(vpa_parameters_set(&p, "memory-aggregation-interval", "2d", &err), 0);
    ck_assert(!vpa_parameters_equal(&p, &q));
    m = vpa_method_new(&p, &err);
    ck_assert(vpa_method_memory(m) == 16 * DAY);
    ck_assert(vpa_parameters_equal(vpa_method_parameters(m), &p));
    vpa_parameters_release(&q);
    vpa_parameters_release(&p);
}

/* ---- knowledge of any algorithm ---- */

TEST_TIMES(nothing_known_is_no_estimate, algorithm_count()) {
    begin(name_at(_i), NULL, NULL);
    struct vpa_estimate e = {.bound[0].value[0] = 7};

    ck_assert(vpa_knowledge_is_empty(k));
    ck_assert(!vpa_knowledge_estimate(k, &(struct vpa_question){t0, 1}, &e));
    ck_assert_int_eq(e.bound[0].value[0], 7);
    ck_assert(!tell(k, VPA_USAGE_CPU, t0, 1, -1));
    ck_assert(vpa_knowledge_is_empty(k));
    ck_assert(vpa_time_is_unset(vpa_knowledge_last_sample(k)));
}

TEST_TIMES(bounds_are_in_order_and_above_nothing, algorithm_count()) {
    begin(name_at(_i), NULL, NULL);
    vpa_time now = three_days(k, t0);
    struct vpa_estimate e = ask(k, now);

    ck_assert(!vpa_knowledge_is_empty(k));
    ck_assert_int_eq(vpa_knowledge_sample_count(k), 864);
    ck_assert(vpa_knowledge_last_sample(k) == now - 10 * VPA_MINUTE);
    for (int kind = 0; kind < VPA_KINDS; kind++) {
        ck_assert_int_gt(e.bound[VPA_LOWER_BOUND].value[kind], 0);
        ck_assert_int_le(e.bound[VPA_LOWER_BOUND].value[kind], e.bound[VPA_TARGET].value[kind]);
        ck_assert_int_le(e.bound[VPA_TARGET].value[kind], e.bound[VPA_UPPER_BOUND].value[kind]);
    }
    /* Usage is 100 to 580 millicores and 300 to 396 MiB. */
    ck_assert_int_ge(e.bound[VPA_TARGET].value[VPA_KIND_CPU], 300);
    ck_assert_int_le(e.bound[VPA_TARGET].value[VPA_KIND_CPU], 1000);
    ck_assert_int_ge(e.bound[VPA_TARGET].value[VPA_KIND_MEMORY], 350 * MI);
    ck_assert_int_le(e.bound[VPA_TARGET].value[VPA_KIND_MEMORY], 800 * MI);
}

/* Saved and loaded, then both go on: the estimates stay together. */
TEST_TIMES(a_restart_loses_nothing, algorithm_count()) {
    begin(name_at(_i), NULL, NULL);
    vpa_time now = three_days(k, t0);
    struct vpa_knowledge *again = load(stored_text(k, now), now);

    ck_assert_msg(again != NULL, "%s", err.text);
    struct vpa_estimate a = ask(k, now), b = ask(again, now);
    assert_near(&b, &a, 0.001);
    ck_assert(vpa_knowledge_last_sample(again) == vpa_knowledge_last_sample(k));
    ck_assert_int_eq(vpa_knowledge_sample_count(again), vpa_knowledge_sample_count(k));
    now = three_days(k, now);
    three_days(again, now - 3 * DAY);
    a = ask(k, now);
    b = ask(again, now);
    assert_near(&b, &a, 0.001);
    vpa_knowledge_free(again);
}

TEST_TIMES(an_empty_knowledge_outlives_a_restart, algorithm_count()) {
    begin(name_at(_i), NULL, NULL);
    struct vpa_knowledge *again = load(stored_text(k, t0), t0);

    ck_assert_msg(again != NULL, "%s", err.text);
    ck_assert(vpa_knowledge_is_empty(again));
    three_days(again, t0);
    vpa_knowledge_free(again);
}

/* Two halves of the replicas, merged, know what one that saw all of them knows. */
TEST_TIMES(merging_replicas_is_seeing_both, algorithm_count()) {
    m = method(name_at(_i), NULL, NULL);
    struct vpa_knowledge *both = vpa_knowledge_new(m, t0), *half = vpa_knowledge_new(m, t0);
    struct vpa_knowledge *other = vpa_knowledge_new(m, t0);
    vpa_time t = t0;

    for (int i = 0; i < 600; i++, t += 5 * VPA_MINUTE) {
        vpa_amount n = (i * 11) % 50;
        tell(both, VPA_USAGE_CPU, t, 1, 200 + n);
        tell(both, VPA_USAGE_CPU, t, 2, 210 + n);
        tell(half, VPA_USAGE_CPU, t, 1, 200 + n);
        tell(other, VPA_USAGE_CPU, t, 2, 210 + n);
        tell(both, VPA_USAGE_MEMORY, t, 1, 300 * MI);
        tell(both, VPA_USAGE_MEMORY, t, 2, 610 * MI);
        tell(half, VPA_USAGE_MEMORY, t, 1, 300 * MI);
        tell(other, VPA_USAGE_MEMORY, t, 2, 610 * MI);
    }
    vpa_knowledge_merge(half, other);
    struct vpa_estimate a = ask(both, t), b = ask(half, t);
    assert_near(&b, &a, 0.06); /* a bucket */
    ck_assert_int_eq(vpa_knowledge_sample_count(half), vpa_knowledge_sample_count(both));
    vpa_knowledge_free(other);
    vpa_knowledge_free(half);
    vpa_knowledge_free(both);
}

TEST_TIMES(an_oom_raises_memory, algorithm_count()) {
    begin(name_at(_i), NULL, NULL);
    vpa_time now = three_days(k, t0);
    vpa_amount before = ask(k, now).bound[VPA_TARGET].value[VPA_KIND_MEMORY];

    ck_assert(tell(k, VPA_USAGE_OOM, now, 1, 2000 * MI));
    ck_assert_int_gt(ask(k, now).bound[VPA_TARGET].value[VPA_KIND_MEMORY], before);
}

/* What a kill raised is raised as high and as long as without a restart, be it in the hour of the
 * kill or when its day is nearly over. */
TEST_TIMES(a_kill_outlives_a_restart, algorithm_count()) {
    begin(name_at(_i), NULL, NULL);
    vpa_time now = three_days(k, t0);

    ck_assert(tell(k, VPA_USAGE_OOM, now, 1, 2000 * MI));
    for (int hours = 0; hours < 30; hours++) {
        struct vpa_knowledge *again = load(stored_text(k, now), now);
        ck_assert_msg(again != NULL, "%s", err.text);
        for (int later = 0; later < 30; later += 6) {
            struct vpa_question question = {now + later * VPA_HOUR, 1};
            struct vpa_estimate a, b;
            ck_assert(vpa_knowledge_estimate(k, &question, &a));
            ck_assert(vpa_knowledge_estimate(again, &question, &b));
            assert_near(&b, &a, 0.001);
        }
        vpa_knowledge_free(again);
        now += VPA_HOUR;
        vpa_knowledge_age(k, now);
    }
}

/* A new process is told of the evictions of the last hour again: they are in what was stored. */
TEST_TIMES(a_kill_counts_once_over_restarts, algorithm_count()) {
    begin(name_at(_i), NULL, NULL);
    vpa_time now = three_days(k, t0), killed = now;

    ck_assert(tell(k, VPA_USAGE_OOM, killed, 1, 2000 * MI));
    now += 10 * VPA_MINUTE;
    ck_assert(tell(k, VPA_USAGE_CPU, now, 1, 200));
    ck_assert(tell(k, VPA_USAGE_MEMORY, now, 1, 300 * MI));
    struct vpa_estimate before = ask(k, now);
    for (int i = 0; i < 3; i++) {
        struct vpa_knowledge *again = load(stored_text(k, now), now);
        ck_assert_msg(again != NULL, "%s", err.text);
        vpa_knowledge_free(k);
        k = again;
        ck_assert(!tell(k, VPA_USAGE_OOM, killed, 1, 2000 * MI));
        struct vpa_estimate after = ask(k, now);
        assert_near(&after, &before, 0.001);
    }
    ck_assert(tell(k, VPA_USAGE_OOM, now + VPA_MINUTE, 1, 3000 * MI));
    ck_assert_int_gt(ask(k, now).bound[VPA_TARGET].value[VPA_KIND_MEMORY],
                     before.bound[VPA_TARGET].value[VPA_KIND_MEMORY]);
}

/* A metrics server may say anything; what is made of it must be readable again. */
TEST_TIMES(absurd_amounts_outlive_a_restart, algorithm_count()) {
    begin(name_at(_i), NULL, NULL);
    vpa_time now = three_days(k, t0);

    for (int i = 0; i < 3; i++, now += VPA_HOUR) {
        ck_assert(tell(k, VPA_USAGE_CPU, now, 1, INT64_MAX));
        ck_assert(tell(k, VPA_USAGE_MEMORY, now, 1, INT64_MAX));
        ck_assert(tell(k, VPA_USAGE_OOM, now, 2, INT64_MAX));
    }
    struct vpa_knowledge *again = load(stored_text(k, now), now);
    ck_assert_msg(again != NULL, "%s", err.text);
    vpa_knowledge_free(again);
}

static const struct {
    const char *text, *error;
} bad_states[] = {
    {"{}", "state of algorithm \"\", not of "},
    {"[]", "state of algorithm \"\", not of "},
    {"{\"algorithm\":\"other\"}", "state of algorithm \"other\", not of "},
    {"{\"algorithm\":\"%s\"}", "version 0 of the state is not known"},
    {"{\"algorithm\":\"%s\",\"version\":99}", "version 99 of the state is not known"},
    {"{\"algorithm\":\"%s\",\"version\":1,\"samples\":-1}", "samples is not a count"},
    {"{\"algorithm\":\"%s\",\"version\":1,\"lastSample\":\"noon\"}", "lastSample is not a time"},
    {"{\"algorithm\":\"%s\",\"version\":1,\"lastSample\":\"2027-01-01T00:00:00Z\"}",
     "lastSample is later than now"},
};

TEST_TIMES(foreign_states_are_refused, algorithm_count()) {
    const struct vpa_algorithm *a = algorithm_at(_i);
    m = method(vpa_algorithm_name(a), NULL, NULL);
    const char *name = vpa_algorithm_name(a);

    for (size_t i = 0; i < VPA_COUNT(bad_states); i++) {
        const char *mark = strstr(bad_states[i].text, "%s");
        const char *text =
            mark ? vpa_arena_printf(&arena, "%.*s%s%s", (int)(mark - bad_states[i].text),
                                    bad_states[i].text, name, mark + 2)
                 : bad_states[i].text;
        ck_assert_ptr_null(load(text, t0));
        ck_assert_msg(strstr(err.text, bad_states[i].error), "%s", err.text);
        ck_assert_int_eq(err.code, VPA_INVALID);
    }
}

/* Clocks are a day apart at most: to the nanosecond. */
TEST_TIMES(a_last_sample_lies_a_day_ahead_at_most, algorithm_count()) {
    const struct vpa_algorithm *a = algorithm_at(_i);
    m = method(vpa_algorithm_name(a), NULL, NULL);

    for (int beyond = 0; beyond <= 1; beyond++) {
        char last[VPA_TIME_TEXT_MAX];

        vpa_time_format(t0 + 24 * VPA_HOUR, last);
        const char *text = vpa_arena_printf(
            &arena, "{\"algorithm\":\"%s\",\"version\":1,\"lastSample\":\"%.19s.00000000%dZ\"}",
            vpa_algorithm_name(a), last, beyond);
        struct vpa_knowledge *loaded = load(text, t0);
        bool too_late = !loaded && strstr(err.text, "lastSample is later than now");
        ck_assert_int_eq(too_late, beyond == 1);
        if (loaded)
            vpa_knowledge_free(loaded);
    }
}

/* Whole ones, an hour ahead at most. */
TEST(seconds_are_of_the_past) {
    static const struct {
        double ahead;
        bool taken;
    } seconds[] = {{-1e9, true}, {0, true},     {0.5, false},
                   {3600, true}, {3601, false}, {1e17, false}};
    int64_t second = vpa_time_unix_nanos(t0) / VPA_SECOND;

    for (size_t i = 0; i < VPA_COUNT(seconds); i++) {
        const struct vpa_json *object;
        const char *text =
            vpa_arena_printf(&arena, "{\"x\":%.1f}", (double)second + seconds[i].ahead);
        int64_t out = 0;

        ck_assert_int_eq(vpa_json_parse(&arena, text, strlen(text), &object, &err), 0);
        ck_assert_msg(vpa_stored_second(object, "x", t0, &out, &err) == (seconds[i].taken ? 0 : -1),
                      "%s", text);
        ck_assert_int_eq(out, seconds[i].taken ? second + (int64_t)seconds[i].ahead : 0);
    }
}

/* As many maxima as there can be are read, and not one more. */
TEST_TIMES(maxima_are_bounded, 2) {
    int count = 2 * VPA_BUCKETS_MAX + _i;
    struct vpa_recent_max max = {.span = INT32_MAX};
    const struct vpa_json *object;
    vpa_auto_buf text = VPA_BUF(1 << 20);

    vpa_buf_puts(&text, "{\"x\":[");
    for (int i = 0; i < count; i++)
        vpa_buf_printf(&text, "%s[%d,%d]", i > 0 ? "," : "", i, count - i);
    vpa_buf_puts(&text, "]}");
    ck_assert_int_eq(vpa_json_parse(&arena, text.data, text.len, &object, &err), 0);
    ck_assert_int_eq(vpa_stored_max(object, "x", t0, &max, &err), _i == 0 ? 0 : -1);
    ck_assert(vpa_recent_max(&max) > 0 || _i > 0);
    vpa_recent_max_release(&max);
}

/* Where the state has a number, something else is refused: no text, nothing below 0 or beyond all
 * bounds (VPA's own form is upstream's, which knows negative counts). Up to so many places of a
 * state are tried, its ends whole. */
#define PLACES_MAX 100
static const char *const no_numbers[] = {"\"x\"", "-1", "1e300", "{}"};
/* Whether that place is in a list of costs, of which only the size is bounded. */
static bool is_cost(const char *text, size_t place)
{
    while (text[place] != '"')
        place--;
    return strncmp(text + place - strlen("\"costs"), "\"costs", strlen("\"costs")) == 0;
}

TEST_TIMES(what_is_no_number_is_refused, algorithm_count()) {
    begin(name_at(_i), NULL, NULL);
    vpa_time now = three_days(k, t0);

    ck_assert(tell(k, VPA_USAGE_OOM, now, 1, 1000 * MI));
    const char *text = stored_text(k, now);
    size_t count = 0, first = (size_t)(strstr(text, "\"state\"") - text);
    size_t places[20000];
    bool quoted = false;
    for (size_t i = first; text[i]; i++) {
        quoted ^= text[i] == '"';
        bool begins = strchr(":[,", text[i - 1]) && text[i] >= '0' && text[i] <= '9';
        if (begins && !quoted && count < VPA_COUNT(places))
            places[count++] = i;
    }
    ck_assert_uint_gt(count, 10);
    size_t step = count / PLACES_MAX + 1;
    for (size_t n = 0; n < count; n += n < 20 || n + 30 > count ? 1 : step) {
        size_t len = strspn(text + places[n], "0123456789.e+-");
        for (size_t w = 0; w < VPA_COUNT(no_numbers); w++) {
            struct vpa_arena scratch;
            if (w == 1 && (_i == 0 || is_cost(text, places[n])))
                continue;
            vpa_arena_init(&scratch, 0);
            const char *other = vpa_arena_printf(&scratch, "%.*s%s%s", (int)places[n], text,
                                                 no_numbers[w], text + places[n] + len);
            struct vpa_knowledge *got = vpa_knowledge_load(m, json(&scratch, other), now, &err);
            ck_assert_msg(got == NULL, "%s: taken as %s: ...%.60s", name_at(_i), no_numbers[w],
                          other + (places[n] > 30 ? places[n] - 30 : 0));
            ck_assert_int_eq(err.code, VPA_INVALID);
            vpa_arena_release(&scratch);
        }
    }
}

/* Many replicas come and go; the state stays bounded, and what they told stays. */
TEST_TIMES(replicas_without_end_are_bounded, algorithm_count()) {
    begin(name_at(_i), NULL, NULL);
    vpa_time t = t0;

    for (uint64_t replica = 0; replica < 3 * VPA_REPLICAS_MAX; replica++, t += VPA_MINUTE) {
        ck_assert(tell(k, VPA_USAGE_CPU, t, replica * 7919, 100));
        ck_assert(tell(k, VPA_USAGE_MEMORY, t, replica * 7919, 300 * MI));
    }
    ck_assert_int_gt(ask(k, t).bound[VPA_TARGET].value[VPA_KIND_CPU], 99);
    ck_assert_uint_lt(strlen(stored_text(k, t)), VPA_KNOWLEDGE_TEXT_MAX);
}

/* ---- VPA's own ---- */

TEST(vpa_is_the_aggregate_and_the_estimator) {
    begin("vpa", NULL, NULL);
    struct vpa_aggregation global;
    struct vpa_aggregate a;
    struct vpa_container_state c;
    struct vpa_estimator e;
    struct vpa_estimate want, got;
    vpa_time t = t0;

    vpa_aggregation_init(&global);
    vpa_aggregate_init(&a, &global, t0);
    vpa_container_state_init(&c);
    vpa_estimator_init(&e);
    for (int i = 0; i < 1000; i++, t += VPA_MINUTE * 7) {
        vpa_amount n = (i * 37) % 89;
        ck_assert(tell(k, VPA_USAGE_CPU, t, 5, n * 10));
        ck_assert(vpa_container_add_cpu(&c, &a, t, n * 10, NULL));
        ck_assert(tell(k, VPA_USAGE_MEMORY, t, 5, n * 10 * MI));
        ck_assert(vpa_container_add_memory(&c, &a, t, n * 10 * MI, NULL));
        if (i % 300 == 299) {
            ck_assert(tell(k, VPA_USAGE_OOM, t, 5, 1000 * MI));
            ck_assert_int_eq(vpa_container_record_oom(&c, &a, t, 1000 * MI, NULL, &err), 0);
        }
    }
    ck_assert(!tell(k, VPA_USAGE_CPU, t0, 5, 1)); /* out of order */
    struct vpa_history history = vpa_aggregate_history(&a);
    struct vpa_amounts minimum = vpa_estimator_minimum(&e, 3);
    vpa_estimator_estimate(&e, &history, &minimum, &want);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t, 3}, &got));
    ck_assert_mem_eq(&got, &want, sizeof(got));
    vpa_aggregate_release(&a);
    vpa_aggregation_release(&global);
}

TEST(impossible_stored_histories_are_refused) {
    m = method("vpa", NULL, NULL);

    ck_assert_ptr_null(load(
        "{\"algorithm\":\"vpa\",\"version\":1,\"state\":{\"status\":{\"version\":\"v2\"}}}", t0));
    ck_assert_str_eq(err.text, "unsupported checkpoint version v2");
    ck_assert_ptr_null(load("{\"algorithm\":\"vpa\",\"version\":1,\"state\":{\"status\":{"
                            "\"version\":\"v3\"},\"open\":[{\"replica\":1}]}}",
                            t0));
    ck_assert_str_eq(err.text, "open: replica, usage and oom are to be whole numbers");
}

static const struct {
    const char *state, *error;
} bad_crane[] = {
    {"[]", "state is not an object"},
    {"{\"samples\":-1}", "state: samples is not a count"},
    {"{\"cpu\":{\"bucketSize\":0,\"slotSeconds\":1}}", "cpu: impossible bucketSize or slotSeconds"},
    {"{\"cpu\":{\"bucketSize\":1,\"slotSeconds\":1e9}}",
     "cpu: impossible bucketSize or slotSeconds"},
    {"{\"memory\":{\"bucketSize\":1,\"slotSeconds\":86400,\"slots\":[{\"slot\":-1}]}}",
     "memory: slots: impossible slot or first bucket"},
    {"{\"memory\":{\"bucketSize\":1,\"slotSeconds\":86400,\"slots\":[{\"slot\":1,\"first\":"
     "9223372036854775807}]}}",
     "memory: slots: impossible slot or first bucket"},
    {"{\"cpu\":{\"bucketSize\":1,\"slotSeconds\":86400,\"slots\":[{\"slot\":99999,\"first\":1}]}}",
     "cpu: slot 99999 begins later than now"},
    {"{\"cpu\":{\"bucketSize\":1,\"slotSeconds\":86400,\"slots\":[{\"slot\":1,\"first\":1,"
     "\"weights\":[1,-1]}]}}",
     "cpu: bucket 2 has an impossible weight"},
    {"{\"cpu\":{\"bucketSize\":1,\"slotSeconds\":86400,\"slots\":[{\"slot\":1,\"first\":1,"
     "\"weights\":[1e101]}]}}",
     "cpu: bucket 1 has an impossible weight"},
    {"{\"cpu\":{\"bucketSize\":1,\"slotSeconds\":432000,\"slots\":[{\"slot\":4103,\"first\":1}]}}",
     "cpu: slot 4103 begins later than now"},
    {"{\"firstSample\":\"2026-02-01T00:00:00Z\",\"lastSample\":\"2026-03-03T00:00:00Z\"}",
     "state: lastSample is later than now"},
    {"{\"oom\":[{\"time\":\"2026-02-01T00:00:00Z\",\"bytes\":-1}]}",
     "oom: bytes is not a number of bytes"},
    {"{\"oom\":[{\"time\":\"2026-04-01T00:00:00Z\",\"bytes\":1}]}", "oom: time is later than now"},
    {"{\"oom\":[{\"time\":1,\"bytes\":1}]}", "oom: time is not a time"},
};

TEST_EACH(impossible_states_of_crane_are_refused, bad_crane) {
    m = method("crane", NULL, NULL);

    ck_assert_ptr_null(
        load(vpa_arena_printf(&arena, "{\"algorithm\":\"crane\",\"version\":1,\"state\":%s}",
                              bad_crane[_i].state),
             t0));
    ck_assert_str_eq(err.text, bad_crane[_i].error);
}

TEST_TIMES(other_parameters_keep_what_was_learned, algorithm_count()) {
    begin(name_at(_i), NULL, NULL);
    vpa_time now = three_days(k, t0);
    struct vpa_knowledge *converted = vpa_knowledge_convert(k, m, now);
    struct vpa_estimate a = ask(k, now), b = ask(converted, now);

    assert_near(&b, &a, 0.001);
    vpa_knowledge_free(converted);
}

/* The memory peak of a day that is not over is stored beside the histogram, one per replica; that
 * of a day that is over stands in the histogram, and none in both. The day of the first replica
 * ends after 24 hours, that of the second after 36. */
static const struct {
    vpa_duration after;
    size_t open, closed;
} peak_times[] = {
    {13 * VPA_HOUR, 2, 0},     {24 * VPA_HOUR - 1, 2, 0}, {24 * VPA_HOUR, 1, 1},
    {36 * VPA_HOUR - 1, 1, 1}, {36 * VPA_HOUR, 0, 2},
};

TEST_EACH(vpa_stores_open_peaks_apart, peak_times) {
    begin(VPA_ALGORITHM_VPA, NULL, NULL);

    ck_assert(tell(k, VPA_USAGE_MEMORY, t0, 1, 300 * MI));
    ck_assert(tell(k, VPA_USAGE_MEMORY, t0 + 12 * VPA_HOUR, 2, 200 * MI));
    const struct vpa_json *state =
        vpa_json_find(json(&arena, stored_text(k, t0 + peak_times[_i].after)), "state");
    const struct vpa_json *open = vpa_json_find(state, "open");
    int64_t usage;
    ck_assert(vpa_json_is_array(open));
    ck_assert_uint_eq(vpa_json_count(open), peak_times[_i].open);
    for (const struct vpa_json *it = vpa_json_first(open); it; it = vpa_json_next(it)) {
        ck_assert(vpa_json_int64(vpa_json_find(it, "usage"), &usage));
        ck_assert_int_eq(usage, peak_times[_i].open == 2 && it == vpa_json_first(open) ? 300 * MI
                                                                                       : 200 * MI);
    }
    ck_assert_uint_eq(vpa_json_count(vpa_json_at(state, "status.memoryHistogram.bucketWeights")),
                      peak_times[_i].closed);
}

int main(void)
{
    return run_tests("algorithm", setup, teardown);
}
