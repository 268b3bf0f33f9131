/* Crane as an algorithm: its ring of slots, its kills against a naive list, what parameters change,
 * the stored form to the byte, and what of it is refused. */
#include <check.h>
#include <math.h>

#include "model_fixture.h"
#include "vpa/base/time.h"
#include "vpa/model/algorithm.h"
#include "vpa/model/crane.h"

#define HOUR_NUMBER(H) (t0 + (H)*VPA_HOUR)
#define KILLS_MAX 32

static vpa_time t0;
static struct vpa_error err;
static struct vpa_arena arena;
static struct vpa_method *m;
static struct vpa_knowledge *k;

static void use(const char *key, const char *value)
{
    struct vpa_parameters p;

    vpa_knowledge_free(k);
    vpa_method_unref(m);
    vpa_parameters_init(&p, vpa_algorithm_find("crane"));
    if (key)
        ck_assert_msg(vpa_parameters_set(&p, key, value, &err) == 0, "%s", err.text);
    m = vpa_method_new(&p, &err);
    ck_assert_msg(m != NULL, "%s", err.text);
    vpa_parameters_release(&p);
    k = vpa_knowledge_new(m, t0);
}

static void setup(void)
{
    t0 = at("2026-03-01T00:00:00Z"); /* slot 20513 of a day */
    err = (struct vpa_error){0};
    vpa_arena_init(&arena, 0);
    m = NULL;
    k = NULL;
    use(NULL, NULL);
}

static void teardown(void)
{
    vpa_knowledge_free(k);
    vpa_method_unref(m);
    vpa_arena_release(&arena);
}

static bool add_to(struct vpa_knowledge *to, enum vpa_usage_type type, vpa_time t, vpa_amount n)
{
    return vpa_knowledge_add(to, &(struct vpa_usage){type, t, 1, n});
}

static bool add(enum vpa_usage_type type, vpa_time t, vpa_amount n)
{
    return add_to(k, type, t, n);
}

/* Of the stored form what is behind `member`, to its end. */
static const char *stored(const struct vpa_knowledge *of, const char *member)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(VPA_KNOWLEDGE_TEXT_MAX);

    vpa_json_writer_init(&w, &text);
    vpa_knowledge_save(of, t0, &w);
    ck_assert(vpa_json_writer_done(&w));
    const char *found = strstr(vpa_buf_text(&text), member);
    ck_assert_ptr_nonnull(found);
    return vpa_arena_strdup(&arena, found + strlen(member));
}

/* ---- kills ---- */

struct kill {
    vpa_time t;
    vpa_amount bytes;
};

/* As the stored form has them: those that no other one outdoes, oldest first. */
static const char *naive_kills(const struct kill *kills, size_t count)
{
    vpa_auto_buf text = VPA_BUF(1 << 16);

    for (int hour = 0; hour < 64; hour++) {
        for (size_t i = 0; i < count; i++) {
            bool outdone = kills[i].t != HOUR_NUMBER(hour);
            for (size_t j = 0; j < count && !outdone; j++)
                outdone = kills[j].t > kills[i].t && kills[j].bytes >= kills[i].bytes;
            if (!outdone)
                vpa_buf_printf(
                    &text, "%s{\"time\":\"2026-03-%02dT%02d:00:00.000000Z\",\"bytes\":%lld}",
                    text.len ? "," : "", 1 + hour / 24, hour % 24, (long long)kills[i].bytes);
        }
    }
    return vpa_arena_printf(&arena, "[%s]}}", vpa_buf_text(&text));
}

/* In any order; a second state takes the same ones from the first. */
TEST_TIMES(kills_that_matter_are_kept, 12) {
    struct kill kills[40];
    struct vpa_knowledge *other = vpa_knowledge_new(m, t0);
    unsigned seed = (unsigned)_i;

    for (size_t i = 0; i < VPA_COUNT(kills); i++) {
        seed = seed * 1664525u + 1013904223u;
        kills[i] = (struct kill){HOUR_NUMBER((i * 17 + (size_t)_i) % 40), 1 + (seed >> 16) % 20};
        ck_assert(add(VPA_USAGE_OOM, kills[i].t, kills[i].bytes));
        ck_assert_str_eq(stored(k, "\"oom\":"), naive_kills(kills, i + 1));
    }
    vpa_knowledge_take_kills(other, k);
    ck_assert_str_eq(stored(other, "\"oom\":"), naive_kills(kills, VPA_COUNT(kills)));
    ck_assert(!vpa_knowledge_is_empty(other));
    ck_assert_int_eq(vpa_knowledge_sample_count(other), 0);
    vpa_knowledge_free(other);
}

/* Of one time the largest counts. */
TEST(kills_of_one_time) {
    const struct kill largest[] = {{HOUR_NUMBER(1), 9}, {HOUR_NUMBER(2), 7}};

    ck_assert(add(VPA_USAGE_OOM, largest[0].t, 8));
    ck_assert(add(VPA_USAGE_OOM, largest[1].t, 6));
    for (int i = 0; i < 2; i++) {
        ck_assert(add(VPA_USAGE_OOM, largest[0].t, largest[0].bytes));
        ck_assert(add(VPA_USAGE_OOM, largest[1].t, largest[1].bytes));
    }
    ck_assert_str_eq(stored(k, "\"oom\":"), naive_kills(largest, 2));
}

/* More than can be kept: the newest takes the place of the one before it; an older and larger one
 * pushes the newest out. */
TEST(kills_are_bounded) {
    struct kill kills[KILLS_MAX];

    for (int i = 0; i < 40; i++) {
        struct kill kill = {HOUR_NUMBER(i + 1), 1000 - i};
        kills[i < KILLS_MAX ? i : KILLS_MAX - 1] = kill;
        ck_assert(add(VPA_USAGE_OOM, kill.t, kill.bytes));
    }
    ck_assert_str_eq(stored(k, "\"oom\":"), naive_kills(kills, KILLS_MAX));
    memmove(kills + 1, kills, (KILLS_MAX - 1) * sizeof(kills[0]));
    kills[0] = (struct kill){HOUR_NUMBER(0), 2000};
    ck_assert(add(VPA_USAGE_OOM, kills[0].t, kills[0].bytes));
    ck_assert_str_eq(stored(k, "\"oom\":"), naive_kills(kills, KILLS_MAX));
}

TEST(old_kills_go) {
    const struct kill kills[] = {
        {HOUR_NUMBER(1), 9}, {HOUR_NUMBER(2), 7}, {HOUR_NUMBER(3), 5}, {HOUR_NUMBER(4), 3}};

    for (size_t i = 0; i < VPA_COUNT(kills); i++)
        ck_assert(add(VPA_USAGE_OOM, kills[i].t, kills[i].bytes));
    vpa_knowledge_age(k, kills[0].t + 7 * DAY);
    ck_assert_str_eq(stored(k, "\"oom\":"), naive_kills(kills, 4));
    vpa_knowledge_age(k, kills[0].t + 7 * DAY + 1);
    ck_assert_str_eq(stored(k, "\"oom\":"), naive_kills(kills + 1, 3));
    vpa_knowledge_age(k, kills[2].t + 7 * DAY + 1);
    ck_assert_str_eq(stored(k, "\"oom\":"), naive_kills(kills + 3, 1));
    ck_assert(!vpa_knowledge_is_empty(k));
    vpa_knowledge_age(k, kills[3].t + 7 * DAY + 1);
    ck_assert(vpa_knowledge_is_empty(k));
}

/* ---- estimates ---- */

static struct vpa_estimate ask(vpa_time now)
{
    struct vpa_estimate e;

    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){now, 1}, &e));
    return e;
}

static vpa_amount target(enum vpa_kind kind, vpa_time now)
{
    return ask(now).bound[VPA_TARGET].value[kind];
}

/* A day of 150 millicores (bucket 0.1 to 0.2) and 150 MiB (100 to 200), one time of a hundred 950
 * millicores and 950 MiB: the peak carries 6 % of the load, so it is the 99th percentile of the
 * load and beyond the 90th. */
static vpa_time live(void)
{
    vpa_time t = t0;

    for (int i = 0; i < 1440; i++, t += VPA_MINUTE) {
        ck_assert(add(VPA_USAGE_CPU, t, i % 100 == 50 ? 950 : 150));
        ck_assert(add(VPA_USAGE_MEMORY, t, (i % 100 == 50 ? 950 : 150) * MI));
    }
    return t - VPA_MINUTE;
}

#define CPU VPA_KIND_CPU
#define MEM VPA_KIND_MEMORY
#define BUCKET_MEM 104857600.0
/* What each parameter changes: the target, or a bound; factor 1 + 1 / days (1 day less a minute of
 * 1440 samples) where it is the upper bound. */
static const struct {
    const char *key, *value;
    enum vpa_bound bound;
    enum vpa_kind kind;
    double amount; /* millicores or bytes */
} effects[] = {
    {NULL, NULL, VPA_TARGET, CPU, 1000 * 1.15},
    {NULL, NULL, VPA_TARGET, MEM, 10 * BUCKET_MEM * 1.15},
    {"cpu-request-percentile", "0.9", VPA_TARGET, CPU, 200 * 1.15},
    {"mem-request-percentile", "0.9", VPA_TARGET, MEM, 2 * BUCKET_MEM * 1.15},
    {"cpu-request-margin-fraction", "0.5", VPA_TARGET, CPU, 1000 * 1.5},
    {"mem-request-margin-fraction", "0.5", VPA_TARGET, MEM, 10 * BUCKET_MEM * 1.5},
    {"cpu-target-utilization", "0.5", VPA_TARGET, CPU, 1000 * 1.15 / 0.5},
    {"mem-target-utilization", "0.5", VPA_TARGET, MEM, 10 * BUCKET_MEM * 1.15 / 0.5},
    {"cpu-histogram-bucket-size", "0.5", VPA_TARGET, CPU, 1000 * 1.15},
    {"cpu-histogram-bucket-size", "0.6", VPA_TARGET, CPU, 1200 * 1.15},
    {"mem-histogram-bucket-size", "838860800", VPA_TARGET, MEM, 16 * BUCKET_MEM * 1.15},
    {"cpu-histogram-max-value", "0.5", VPA_TARGET, CPU, 500 * 1.15},
    {"mem-histogram-max-value", "419430400", VPA_TARGET, MEM, 4 * BUCKET_MEM * 1.15},
    {"cpu-lower-bound-percentile", "0.99", VPA_LOWER_BOUND, CPU, 1000 * 1.15},
    {"mem-lower-bound-percentile", "0.99", VPA_LOWER_BOUND, MEM, 10 * BUCKET_MEM * 1.15},
    {"specification", "true", VPA_TARGET, CPU, 2000},
    {"specification", "true", VPA_TARGET, MEM, 2147483648.0},
};

TEST_EACH(parameters_have_effects, effects) {
    use(effects[_i].key, effects[_i].value);
    vpa_time end = live();
    struct vpa_estimate e = ask(end);
    double got = (double)e.bound[effects[_i].bound].value[effects[_i].kind];
    /* The lower bound after a day: (1 + 0.001 / days)^-2. */
    double days = 1439.0 / 1440, factor = 1.0;

    if (effects[_i].bound == VPA_LOWER_BOUND)
        factor = pow(1.0 + 0.001 / days, -2.0);
    ck_assert_msg(fabs(got - effects[_i].amount * factor) <= 1.0 + 1e-9 * got, "%s: %g, not %g",
                  effects[_i].key ? effects[_i].key : "presets", got, effects[_i].amount * factor);
}

/* The upper bound's percentile counts when it is above the target's: of 0.9 and 0.95 the larger. */
TEST(upper_bounds) {
    vpa_time end = live();
    double days = 1439.0 / 1440;
    struct vpa_estimate e = ask(end);

    ck_assert_double_eq_tol((double)e.bound[VPA_UPPER_BOUND].value[CPU],
                            1000 * 1.15 * (1 + 1 / days), 2.0);
    use("cpu-request-percentile", "0.9"); /* below 0.95 */
    live();
    e = ask(end);
    ck_assert_double_eq_tol((double)e.bound[VPA_UPPER_BOUND].value[CPU],
                            1000 * 1.15 * (1 + 1 / days), 2.0);
    use("cpu-upper-bound-percentile", "0.5"); /* below 0.99 */
    live();
    e = ask(end);
    ck_assert_double_eq_tol((double)e.bound[VPA_UPPER_BOUND].value[CPU],
                            1000 * 1.15 * (1 + 1 / days), 2.0);
}

TEST(nothing_before_the_cooldown) {
    struct vpa_estimate e;

    ck_assert(add(VPA_USAGE_CPU, t0, 150));
    ck_assert(!vpa_knowledge_estimate(k, &(struct vpa_question){t0 + VPA_HOUR, 1}, &e));
    ck_assert(add(VPA_USAGE_MEMORY, t0, 150 * MI));
    ck_assert(!vpa_knowledge_estimate(k, &(struct vpa_question){t0 + 3 * VPA_MINUTE - 1, 1}, &e));
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t0 + 3 * VPA_MINUTE, 1}, &e));
    use("creation-cooldown", "0s");
    ck_assert(add(VPA_USAGE_MEMORY, t0, 150 * MI));
    ck_assert(!vpa_knowledge_estimate(k, &(struct vpa_question){t0 + VPA_HOUR, 1}, &e));
    ck_assert(add(VPA_USAGE_CPU, t0, 150));
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t0, 1}, &e));
    ck_assert_int_le(e.bound[VPA_LOWER_BOUND].value[CPU], e.bound[VPA_TARGET].value[CPU]);
}

/* A kill's need stands for as long as it counts, by its own ratio. */
TEST(a_kill_asks_for_more) {
    live();
    vpa_amount usual = target(MEM, t0 + DAY);

    ck_assert(add(VPA_USAGE_OOM, t0, 4000 * MI));
    ck_assert_int_eq(target(MEM, t0 + DAY), vpa_crane_oom_need(4000 * MI, 1.2));
    ck_assert_int_eq(target(MEM, t0 + 6 * DAY), vpa_crane_oom_need(4000 * MI, 1.2));
    use("oom-history-length", "24h");
    live();
    ck_assert(add(VPA_USAGE_OOM, t0, 4000 * MI));
    ck_assert(add(VPA_USAGE_OOM, t0 + VPA_HOUR, 3000 * MI));
    ck_assert_int_eq(target(MEM, t0 + DAY), vpa_crane_oom_need(4000 * MI, 1.2));
    ck_assert_int_eq(target(MEM, t0 + DAY + 1), vpa_crane_oom_need(3000 * MI, 1.2));
    ck_assert_int_eq(target(MEM, t0 + DAY + VPA_HOUR + 1), usual);
    use("oom-bump-ratio", "3");
    live();
    ck_assert(add(VPA_USAGE_OOM, t0, 4000 * MI));
    ck_assert_int_eq(target(MEM, t0 + DAY), 12000 * MI);
    use("oom-protection", "false");
    live();
    ck_assert(add(VPA_USAGE_OOM, t0, 4000 * MI));
    ck_assert_int_eq(target(MEM, t0 + DAY), usual);
}

/* ---- the ring ---- */

TEST(seven_days_are_kept) {
    struct vpa_estimate e;

    ck_assert(add(VPA_USAGE_CPU, t0, 950));
    ck_assert(add(VPA_USAGE_MEMORY, t0, 950 * MI));
    for (int day = 1; day < 7; day++) {
        ck_assert(add(VPA_USAGE_CPU, t0 + day * DAY, 150));
        ck_assert(add(VPA_USAGE_MEMORY, t0 + day * DAY, 150 * MI));
    }
    ck_assert_int_eq(target(CPU, t0 + 7 * DAY - 1), 1150); /* the seventh day ends */
    ck_assert_int_eq(target(CPU, t0 + 7 * DAY), 229);
    vpa_knowledge_age(k, t0 + 7 * DAY - 1);
    ck_assert_int_eq(target(CPU, t0 + 7 * DAY - 1), 1150);
    vpa_knowledge_age(k, t0 + 7 * DAY); /* gone for good */
    ck_assert_int_eq(target(CPU, t0 + 7 * DAY - 1), 229);
    ck_assert(add(VPA_USAGE_CPU, t0 + 7 * DAY, 150)); /* the first one's place */
    ck_assert(!add(VPA_USAGE_CPU, t0 + DAY - 1, 950));
    ck_assert(add(VPA_USAGE_CPU, t0 + DAY, 950));
    ck_assert_int_eq(target(CPU, t0 + 7 * DAY), 1150);
    vpa_knowledge_age(k, t0 + 14 * DAY);
    ck_assert(vpa_knowledge_is_empty(k));
    ck_assert(!vpa_knowledge_estimate(k, &(struct vpa_question){t0 + 14 * DAY, 1}, &e));
}

/* What a slot held is gone when a sample comes seven days later. */
TEST(a_slot_begins_anew) {
    ck_assert(add(VPA_USAGE_CPU, t0, 950));
    ck_assert(add(VPA_USAGE_CPU, t0 + 7 * DAY, 150));
    ck_assert_str_eq(stored(k, "\"cpu\":"),
                     "{\"bucketSize\":0.1,\"slotSeconds\":86400,\"slots\":[{\"slot\":20520,"
                     "\"first\":1,\"weights\":[0.15]}]},"
                     "\"memory\":{\"bucketSize\":104857600,\"slotSeconds\":86400,\"slots\":[]},"
                     "\"oom\":[]}}");
}

/* A history of a minute has slots of nine seconds: whole ones, rounded up. */
TEST(slots_are_whole_seconds) {
    use("cpu-model-history-length", "1m");
    ck_assert(add(VPA_USAGE_CPU, t0 + 8 * VPA_SECOND, 150));
    ck_assert(add(VPA_USAGE_CPU, t0 + 9 * VPA_SECOND, 150));
    ck_assert_ptr_nonnull(strstr(stored(k, "\"cpu\":"), "\"slotSeconds\":9,"));
    ck_assert(vpa_method_memory(m) == 7 * DAY); /* that of memory */
    use("cpu-model-history-length", "200h");
    ck_assert(vpa_method_memory(m) == 200 * VPA_HOUR);
    use("mem-model-history-length", "200h");
    ck_assert(vpa_method_memory(m) == 200 * VPA_HOUR);
}

/* Before the epoch there is one slot only. */
TEST(times_before_the_epoch) {
    ck_assert(add(VPA_USAGE_CPU, vpa_time_from_unix(-1, 0), 150));
    ck_assert(add(VPA_USAGE_CPU, vpa_time_from_unix(-999999, 0), 150));
    ck_assert_ptr_nonnull(
        strstr(stored(k, "\"cpu\":"), "[{\"slot\":0,\"first\":1,\"weights\":[0.3]}]"));
}

/* ---- stored form ---- */

#define STATE(FIRST, LAST, SAMPLES, CPU_SLOTS, MEM_SLOTS, OOM)                                     \
    "{\"firstSample\":" FIRST ",\"lastSample\":" LAST ",\"samples\":" SAMPLES                      \
    ",\"cpu\":{\"bucketSize\":0.1,\"slotSeconds\":86400,\"slots\":[" CPU_SLOTS                     \
    "]},\"memory\":{\"bucketSize\":104857600,\"slotSeconds\":86400,\"slots\":[" MEM_SLOTS          \
    "]},\"oom\":[" OOM "]}}"
#define KILL1 "{\"time\":\"2026-03-01T00:00:01.000000Z\",\"bytes\":77}"
#define WHOLE                                                                                      \
    STATE("\"2026-03-01T00:00:00.000000Z\"", "\"2026-03-02T00:00:01.500000Z\"", "3",               \
          "{\"slot\":20513,\"first\":1,\"weights\":[0.15,0,0.35]},"                                \
          "{\"slot\":20514,\"first\":9,\"weights\":[0.95]}",                                       \
          "{\"slot\":20513,\"first\":1,\"weights\":[1.572864e+08]}", KILL1)

static struct vpa_knowledge *load(const char *state)
{
    const char *text = vpa_arena_printf(
        &arena, "{\"algorithm\":\"crane\",\"version\":1,\"samples\":3,\"state\":%s", state);

    return vpa_knowledge_load(m, json(&arena, text), t0 + 2 * DAY, &err);
}

TEST(the_stored_form) {
    ck_assert_str_eq(stored(k, "\"state\":"), STATE("null", "null", "0", "", "", ""));
    ck_assert(add(VPA_USAGE_CPU, t0 + VPA_SECOND, 150));
    ck_assert(add(VPA_USAGE_CPU, t0 + DAY + 3 * VPA_SECOND / 2, 950));
    ck_assert(add(VPA_USAGE_CPU, t0, 350)); /* late: the first sample all the same */
    ck_assert(add(VPA_USAGE_MEMORY, t0, 150 * MI));
    ck_assert(add(VPA_USAGE_OOM, t0 + VPA_SECOND, 77));
    ck_assert_str_eq(stored(k, "\"state\":"), WHOLE);

    struct vpa_knowledge *again = load(WHOLE);
    ck_assert_msg(again != NULL, "%s", err.text);
    ck_assert_str_eq(stored(again, "\"state\":"), WHOLE);
    vpa_knowledge_free(again);
    again = load("{}}");
    ck_assert_msg(again != NULL, "%s", err.text);
    ck_assert_str_eq(stored(again, "\"state\":"), STATE("null", "null", "0", "", "", ""));
    vpa_knowledge_free(again);
}

/* Empty buckets at the end are room for later ones. */
static const char *without_room(const char *text)
{
    vpa_auto_buf out = VPA_BUF(VPA_KNOWLEDGE_TEXT_MAX);

    for (const char *c = text; *c; c++) {
        size_t zeros = 0;
        while (strncmp(c + zeros, ",0", 2) == 0 && (c[zeros + 2] == ',' || c[zeros + 2] == ']'))
            zeros += 2;
        c += c[zeros] == ']' ? zeros : 0;
        vpa_buf_putc(&out, *c);
    }
    return vpa_arena_strdup(&arena, vpa_buf_text(&out));
}

/* Two states are one of all their samples, whichever is merged into the other. */
TEST_TIMES(merged_is_seen_together, 8) {
    struct vpa_knowledge *all = vpa_knowledge_new(m, t0), *other = vpa_knowledge_new(m, t0);
    unsigned seed = (unsigned)_i * 31;

    for (int i = 0; i < 60; i++) {
        seed = seed * 1664525u + 1013904223u;
        vpa_time t = t0 + (seed >> 8) % 120 * VPA_HOUR;
        enum vpa_usage_type type = i % 3 == 0   ? VPA_USAGE_CPU
                                   : i % 3 == 1 ? VPA_USAGE_MEMORY
                                                : VPA_USAGE_OOM;
        vpa_amount n = (50 + (seed >> 16) % 2000) * (type == VPA_USAGE_CPU ? 1 : MI);
        bool first = _i < 2 ? i == 0 : (seed >> 5) % 2; /* of two runs: as good as all in one */
        ck_assert(add_to(all, type, t, n));
        ck_assert(add_to(first ? k : other, type, t, n));
    }
    if (_i % 2 == 0)
        vpa_knowledge_merge(k, other);
    else
        vpa_knowledge_merge(other, k);
    const char *merged = stored(_i % 2 == 0 ? k : other, "\"state\":");
    ck_assert_str_eq(without_room(merged), without_room(stored(all, "\"state\":")));
    vpa_knowledge_free(all);
    vpa_knowledge_free(other);
}

/* An older slot than that in its place is left out, a newer one takes it. */
TEST(merging_times_apart) {
    struct vpa_knowledge *other = vpa_knowledge_new(m, t0);

    ck_assert(add(VPA_USAGE_CPU, t0 + 7 * DAY, 150));
    ck_assert(add(VPA_USAGE_CPU, t0 + DAY, 250));
    ck_assert(add_to(other, VPA_USAGE_CPU, t0, 950));
    ck_assert(add_to(other, VPA_USAGE_CPU, t0 + 8 * DAY, 850));
    vpa_knowledge_merge(k, other);
    ck_assert_ptr_nonnull(strstr(stored(k, "\"cpu\":"),
                                 "[{\"slot\":20520,\"first\":1,\"weights\":[0.15]},"
                                 "{\"slot\":20521,\"first\":8,\"weights\":[0.85]}]"));
    ck_assert_ptr_nonnull(strstr(stored(k, "\"state\":"),
                                 "{\"firstSample\":\"2026-03-01T00:00:00.000000Z\","
                                 "\"lastSample\":\"2026-03-09T00:00:00.000000Z\",\"samples\":4,"));
    vpa_knowledge_free(other);
}

/* One that has seen nothing yet has no first sample. */
TEST(merging_nothing_changes_nothing) {
    struct vpa_knowledge *other = vpa_knowledge_new(m, t0);

    ck_assert(add(VPA_USAGE_CPU, t0, 150));
    vpa_knowledge_merge(k, other);
    ck_assert_ptr_nonnull(
        strstr(stored(k, "\"state\":"), "{\"firstSample\":\"2026-03-01T00:00:00.000000Z\","));
    vpa_knowledge_free(other);
}

#define MANY "9223372036854775806"
TEST(samples_are_counted_without_end) {
    struct vpa_knowledge *a = load(STATE("null", "null", MANY, "", "", ""));
    struct vpa_knowledge *b = load(STATE("null", "null", MANY, "", "", ""));

    ck_assert(a && b);
    ck_assert(add_to(a, VPA_USAGE_CPU, t0, 150));
    ck_assert_ptr_nonnull(strstr(stored(a, "\"state\":"), "\"samples\":9223372036854775807,"));
    ck_assert(add_to(a, VPA_USAGE_CPU, t0, 150));
    ck_assert_ptr_nonnull(strstr(stored(a, "\"state\":"), "\"samples\":9223372036854775807,"));
    vpa_knowledge_merge(b, a);
    ck_assert_ptr_nonnull(strstr(stored(b, "\"state\":"), "\"samples\":9223372036854775807,"));
    vpa_knowledge_free(a);
    vpa_knowledge_free(b);
}

#define OF(KIND, SIZE, SECONDS, SLOT)                                                              \
    "{\"" KIND "\":{\"bucketSize\":" SIZE ",\"slotSeconds\":" SECONDS ",\"slots\":[" SLOT "]}}}"
#define SLOT(NUMBER, FIRST, WEIGHTS)                                                               \
    "{\"slot\":" NUMBER ",\"first\":" FIRST ",\"weights\":[" WEIGHTS "]}"
#define IMPOSSIBLE "cpu: impossible bucketSize or slotSeconds"
#define NO_SLOT "cpu: slots: impossible slot or first bucket"
static const struct {
    const char *state, *says; /* NULL: accepted */
} states[] = {
    {"[]}", "state is not an object"},
    {"{\"samples\":-1}}", "state: samples is not a count"},
    {"{\"samples\":\"1\"}}", "state: samples is not a count"},
    {"{\"samples\":null}}", NULL},
    {"{\"firstSample\":1}}", "firstSample is not a time"},
    {"{\"lastSample\":\"noon\"}}", "lastSample is not a time"},
    {OF("cpu", "\"x\"", "1", ""), "cpu: bucketSize is not a number"},
    {OF("memory", "1", "\"x\"", ""), "memory: slotSeconds is not a number"},
    {OF("cpu", "0", "1", ""), IMPOSSIBLE},
    {OF("cpu", "-1", "1", ""), IMPOSSIBLE},
    {OF("cpu", "1e15", "1", ""), NULL},
    {OF("cpu", "1.1e15", "1", ""), IMPOSSIBLE},
    {OF("cpu", "1e-9", "1", ""), NULL},
    {OF("cpu", "1", "0.9", ""), IMPOSSIBLE},
    {OF("cpu", "1", "5184000", ""), NULL},
    {OF("cpu", "1", "5184001", ""), IMPOSSIBLE},
    {OF("cpu", "1", "86400", SLOT("-1", "0", "")), NO_SLOT},
    {OF("cpu", "1", "86400", SLOT("0", "0", "")), NULL},
    {OF("cpu", "1", "86400", SLOT("\"0\"", "0", "")), NO_SLOT},
    {OF("cpu", "1", "86400", SLOT("1", "-1", "")), NO_SLOT},
    {OF("cpu", "1", "86400", SLOT("1", "1.5", "")), NO_SLOT},
    {OF("cpu", "1", "86400", SLOT("1", "1000", "1,1")), NULL},
    {OF("cpu", "1", "86400", SLOT("1", "1000", "1,1,1")), NO_SLOT},
    {OF("cpu", "1", "86400", SLOT("1", "1001", "1")), NO_SLOT},
    /* Now is 20515 days: a clock may be a slot ahead. */
    {OF("cpu", "1", "86400", SLOT("20516", "0", "1")), NULL},
    {OF("cpu", "1", "86400", SLOT("20517", "0", "1")), "cpu: slot 20517 begins later than now"},
    {OF("cpu", "1", "86400", SLOT("1", "3", "1,-1")), "cpu: bucket 4 has an impossible weight"},
    {OF("cpu", "1", "86400", SLOT("1", "3", "\"x\"")), "cpu: bucket 3 has an impossible weight"},
    {OF("cpu", "1", "86400", SLOT("1", "3", "1e300")), "cpu: bucket 3 has an impossible weight"},
    {OF("memory", "1", "86400", SLOT("1", "3", "1,2,-3")),
     "memory: bucket 5 has an impossible weight"},
    {"{\"oom\":[{\"time\":\"x\",\"bytes\":1}]}}", "oom: time is not a time"},
    {"{\"oom\":[{\"time\":\"2026-03-04T00:00:00Z\",\"bytes\":1}]}}", NULL},
    {"{\"oom\":[{\"time\":\"2026-03-04T00:00:01Z\",\"bytes\":1}]}}", "oom: time is later than now"},
    {"{\"oom\":[{\"time\":\"2026-03-01T00:00:00Z\",\"bytes\":-1}]}}",
     "oom: bytes is not a number of bytes"},
    {"{\"oom\":[{\"time\":\"2026-03-01T00:00:00Z\",\"bytes\":0}]}}", NULL},
    {"{\"oom\":[{\"time\":\"2026-03-01T00:00:00Z\"}]}}", "oom: bytes is not a number of bytes"},
    {"{\"oom\":[{\"time\":\"2026-03-01T00:00:00Z\",\"bytes\":9223372036854775807}]}}",
     "oom: bytes is not a number of bytes"},
};

TEST_EACH(states_are_read_or_refused, states) {
    struct vpa_knowledge *got = load(states[_i].state);

    if (states[_i].says) {
        ck_assert_ptr_null(got);
        ck_assert_int_eq(err.code, VPA_INVALID);
        ck_assert_str_eq(err.text, states[_i].says);
    } else {
        ck_assert_msg(got != NULL, "%s: %s", states[_i].state, err.text);
    }
    vpa_knowledge_free(got);
}

/* Weights of other buckets and slots go to the middles of theirs: half a day's slot that begins at
 * noon is of that day, and bucket 3 of a quarter core (0.875) is our bucket 8. */
TEST(other_buckets_are_converted) {
    struct vpa_knowledge *got =
        load(OF("cpu", "0.25", "43200", SLOT("41027", "3", "2") "," SLOT("41028", "1", "0,3")));

    ck_assert_msg(got != NULL, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(stored(got, "\"cpu\":"),
                                 "[{\"slot\":20513,\"first\":8,\"weights\":[2]},"
                                 "{\"slot\":20514,\"first\":6,\"weights\":[3]}]"));
    vpa_knowledge_free(got);
    /* Of two of one place the newer one counts, in either order. */
    got = load(OF("cpu", "0.1", "86400", SLOT("20513", "1", "2") "," SLOT("20506", "1", "5")));
    ck_assert_msg(got != NULL, "%s", err.text);
    ck_assert_ptr_nonnull(
        strstr(stored(got, "\"cpu\":"), "[{\"slot\":20513,\"first\":1,\"weights\":[2]}]"));
    vpa_knowledge_free(got);
}

/* ---- the method ---- */

TEST_TIMES(too_many_buckets_are_refused, 2) {
    static const char *const keys[][4] = {
        {"cpu-histogram-bucket-size", "0.1", "cpu-histogram-max-value", "100.1"},
        {"mem-histogram-bucket-size", "1024", "mem-histogram-max-value", "1024001"},
    };
    static const char *const says[] = {
        "algorithm crane: cpu-histogram-max-value is more than 1000 times the bucket size",
        "algorithm crane: mem-histogram-max-value is more than 1000 times the bucket size",
    };
    struct vpa_parameters p;

    vpa_parameters_init(&p, vpa_algorithm_find("crane"));
    for (int i = 0; i < 4; i += 2)
        ck_assert_int_eq(vpa_parameters_set(&p, keys[_i][i], keys[_i][i + 1], &err), 0);
    ck_assert_ptr_null(vpa_method_new(&p, &err));
    ck_assert_str_eq(err.text, says[_i]);
    vpa_parameters_release(&p);
}

int main(void)
{
    return run_tests("algorithm_crane", setup, teardown);
}
