/* Autopilot's two and plumb as algorithms: parameters choose, what is old is forgotten, replicas
 * are one history. */
#include <check.h>
#include <math.h>

#include "method_fixture.h"
#include "vpa/model/argmin.h"
#include "vpa/model/estimator.h"
#include "vpa/model/plumb.h"
#include "vpa/model/window_signal.h"

static const struct {
    const char *algorithm, *key, *value;
    vpa_amount least[VPA_KINDS], most[VPA_KINDS]; /* millicores, MiB */
} choices[] = {
    /* Spikes hold 46 % of the load: any high percentile is theirs; the mean is 179, and decays to
     * 122 by the end of the day. */
    {"autopilot", "class", "batch", {115, 690}, {200, 730}},
    {"autopilot", "class", "serving", {2300, 690}, {2420, 730}},
    {"autopilot", "class", "latency", {2300, 690}, {2420, 730}},
    {"autopilot", "class", "peak", {2300, 690}, {2420, 730}},
    {"autopilot", "oom-tolerance", "high", {2300, 690}, {2420, 730}},
    {"autopilot", "oom-tolerance", "middle", {2300, 588}, {2420, 620}},
    {"autopilot", "margin-fraction", "0", {2000, 600}, {2101, 631}},
    /* The hour's spike is over: the models that forget fast have cost least since, by their own
     * memory. */
    {"autopilot-ml", "cost", "counts", {100, 512}, {105, 940}},
    {"autopilot-ml", "cost", "distances", {100, 512}, {105, 940}},
    /* At the end of the day the spike is 3 % of the steady past and nothing of the recent one:
     * 1.8 % of the time, 25 % of the load. Its reserve stands idle to 93 %, which is more than
     * 3 x 25 % and less than 4.5 x 25 %. */
    {"plumb", "risk", "lean", {100, 600}, {105, 800}},
    {"plumb", "risk", "middle", {2000, 600}, {2101, 800}},
    {"plumb", "risk", "safe", {2000, 700}, {2101, 900}},
};
TEST_EACH(parameters_choose, choices) {
    begin(choices[_i].algorithm, choices[_i].key, choices[_i].value);
    vpa_time now = live(k);
    struct vpa_estimate e;

    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){now, 1}, &e));
    for (int kind = 0; kind < VPA_KINDS; kind++) {
        vpa_amount unit = kind == VPA_KIND_CPU ? 1 : MI;
        ck_assert_int_ge(e.bound[VPA_TARGET].value[kind], choices[_i].least[kind] * unit);
        ck_assert_int_le(e.bound[VPA_TARGET].value[kind], choices[_i].most[kind] * unit);
    }
}

TEST(unknown_choices_are_told) {
    struct vpa_parameters p;

    vpa_parameters_init(&p, vpa_algorithm_find("plumb"));
    ck_assert_int_eq(vpa_parameters_set(&p, "risk", "none", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "lean"));
    vpa_parameters_release(&p);
}

/*
 * Of 33 samples in each window one is 2000 millicores, the others 100: 3.03 % of every past. Over
 * at the low limit against under at the high one is w x 0.0303 against 0.9697 when counted, and
 * both times 1900 / 157.6 by distance: the high one is cheaper from w = 32 on, in both forms, and
 * the presets of CPU are 20 and 80. Nothing is above the high limit and more is below any higher
 * one, so no margin is added; of memory the smallest, two buckets.
 */
static const struct {
    const char *cost, *weight;
    double cores;
} ensembles[] = {
    {"counts", "0", 0.1},    {"counts", "31", 0.1},    {"counts", "33", 2.0},
    {"distances", "0", 2.0}, {"distances", "31", 0.1}, {"distances", "33", 2.0},
};
static double end_of_bucket(double low, double value, int margin)
{
    return low * pow(1.05, ceil(log(value / low) / log(1.05)) + margin);
}
TEST_EACH(weights_choose_the_limit, ensembles) {
    struct vpa_parameters p;
    struct vpa_estimate e;

    vpa_parameters_init(&p, vpa_algorithm_find("autopilot-ml"));
    ck_assert_int_eq(vpa_parameters_set(&p, "cost", ensembles[_i].cost, &err), 0);
    ck_assert_int_eq(vpa_parameters_set(&p, "cpu-overrun-weight", ensembles[_i].weight, &err), 0);
    m = vpa_method_new(&p, &err);
    k = vpa_knowledge_new(m, t0);
    for (int i = 0; i < 33 * 288; i++) {
        vpa_time t = t0 + i / 33 * 5 * VPA_MINUTE + i % 33 * VPA_SECOND;
        add(k, VPA_USAGE_CPU, t, i % 33 == 32 ? 2000 : 100);
        if (i % 33 == 32)
            add(k, VPA_USAGE_MEMORY, t, 512 * MI);
    }
    vpa_time now = t0 + DAY;
    vpa_knowledge_age(k, now);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){now, 1}, &e));
    ck_assert_int_eq(e.bound[VPA_TARGET].value[VPA_KIND_CPU],
                     (vpa_amount)ceil(1000 * end_of_bucket(0.001, ensembles[_i].cores, 0)));
    ck_assert_double_eq_tol((double)e.bound[VPA_TARGET].value[VPA_KIND_MEMORY],
                            end_of_bucket(1048576.0, 512.0 * 1048576, 2), 2);
    /* 0.9 and 1.25 times the target, widened by the factors of a day that was seen. */
    ck_assert_int_lt(e.bound[VPA_LOWER_BOUND].value[0], e.bound[VPA_TARGET].value[0]);
    ck_assert_int_gt(e.bound[VPA_UPPER_BOUND].value[0], 2 * e.bound[VPA_TARGET].value[0]);
    vpa_parameters_release(&p);
}

/* Nothing used is known as well as anything else, and is not nothing known. */
static const struct {
    const char *algorithm, *key, *value;
} idle[] = {
    {"autopilot", "class", "batch"},
    {"autopilot", "class", "serving"},
    {"autopilot", "class", "latency"},
    {"autopilot", "class", "peak"},
    {"autopilot", "oom-tolerance", "high"},
    {"autopilot", "oom-tolerance", "middle"},
    {"autopilot", "oom-tolerance", "low"},
    {"autopilot-ml", "cost", "counts"},
    {"autopilot-ml", "cost", "distances"},
    {"plumb", "risk", "lean"},
    {"plumb", "risk", "middle"},
    {"plumb", "risk", "safe"},
    {"crane", NULL, NULL},
    {"vpa", NULL, NULL},
};
TEST_EACH(who_uses_nothing_gets_the_least, idle) {
    begin(idle[_i].algorithm, idle[_i].key, idle[_i].value);
    vpa_time t = t0;
    struct vpa_estimate e;

    for (int i = 0; i < 1440; i++, t += VPA_MINUTE) {
        add(k, VPA_USAGE_CPU, t, 0);
        add(k, VPA_USAGE_MEMORY, t, 0);
    }
    vpa_knowledge_age(k, t);
    struct vpa_knowledge *again = vpa_knowledge_convert(k, m, t);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t, 1}, &e));
    ck_assert_int_ge(e.bound[VPA_TARGET].value[VPA_KIND_CPU], 1);
    ck_assert_int_ge(e.bound[VPA_TARGET].value[VPA_KIND_MEMORY], MI);
    ck_assert_int_le(e.bound[VPA_TARGET].value[VPA_KIND_CPU], _i < 12 ? 2 : 115);
    ck_assert(vpa_knowledge_estimate(again, &(struct vpa_question){t, 1}, &e));
    ck_assert_int_ge(e.bound[VPA_TARGET].value[VPA_KIND_CPU], 1);
    vpa_knowledge_free(again);
}

static const char *const names[] = {"autopilot", "autopilot-ml", "plumb"};

/* Ten replicas that are killed at one limit tell one thing, also when they had not all the same. */
TEST_TIMES(replicas_killed_together_are_one_kill, 2 * VPA_COUNT(names)) {
    begin(names[_i % 3], NULL, NULL);
    vpa_time now = live(k);
    struct vpa_estimate e;

    for (int replica = 0; replica < 10; replica++)
        add(k, VPA_USAGE_OOM, now + replica * VPA_SECOND, (1000 + (_i < 3 ? 0 : replica)) * MI);
    vpa_knowledge_age(k, now + 5 * VPA_MINUTE);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){now + 5 * VPA_MINUTE, 1}, &e));
    ck_assert_int_ge(e.bound[VPA_TARGET].value[VPA_KIND_MEMORY], 1200 * MI);
    ck_assert_int_le(e.bound[VPA_TARGET].value[VPA_KIND_MEMORY], 1400 * MI);
}

/* After eight days of silence nothing is known. */
TEST_EACH(the_silent_are_forgotten, names) {
    begin(names[_i], NULL, NULL);
    vpa_time now = live(k);
    struct vpa_estimate e;

    vpa_knowledge_age(k, now + 7 * DAY);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){now + 7 * DAY, 1}, &e));
    vpa_knowledge_age(k, now + 9 * DAY);
    ck_assert(!vpa_knowledge_estimate(k, &(struct vpa_question){now + 9 * DAY, 1}, &e));
}

/* A tenth below and a quarter above, wider while little is known: after so many windows. */
static void expect_band(const struct vpa_estimate *e, int windows)
{
    double days = windows * VPA_WINDOW_SECONDS / 86400.0;
    double lower = 0.9 * vpa_estimator_confidence_factor(VPA_LOWER_BOUND, days);
    double upper = 1.25 * vpa_estimator_confidence_factor(VPA_UPPER_BOUND, days);

    for (int kind = 0; kind < VPA_KINDS; kind++) {
        double target = (double)e->bound[VPA_TARGET].value[kind];

        ck_assert_double_eq_tol((double)e->bound[VPA_LOWER_BOUND].value[kind], target * lower, 1);
        ck_assert_double_eq_tol((double)e->bound[VPA_UPPER_BOUND].value[kind], target * upper, 1);
    }
}

/* The algorithm and its parts, which the laboratory runs, say the same. */
TEST(plumb_is_its_parts) {
    begin("plumb", NULL, NULL);
    struct vpa_plumb_options *o = vpa_xcalloc(1, sizeof(*o));
    struct vpa_plumb_cpu cpu;
    struct vpa_plumb_memory memory;
    struct vpa_estimate e;

    vpa_plumb_options_init(o, VPA_PLUMB_MIDDLE);
    vpa_plumb_cpu_init(&cpu, &o->cpu);
    vpa_plumb_memory_init(&memory, &o->memory);
    for (int i = 0; i < 1000; i++) {
        vpa_time t = t0 + i * 5 * VPA_MINUTE;
        vpa_amount millis = 10 + i * 37 % 190, bytes = (50 + i * 13 % 70) * MI;
        add(k, VPA_USAGE_CPU, t, millis);
        add(k, VPA_USAGE_MEMORY, t, bytes);
        vpa_knowledge_age(k, t + 5 * VPA_MINUTE);
        vpa_plumb_cpu_add(&cpu, vpa_window_of(t), (double)millis / 1000.0);
        vpa_plumb_memory_add(&memory, vpa_window_of(t), (double)bytes);
        vpa_plumb_cpu_advance(&cpu, vpa_window_of(t) + VPA_WINDOW_SECONDS);
        vpa_plumb_memory_advance(&memory, vpa_window_of(t) + VPA_WINDOW_SECONDS);
        ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t, 1}, &e));
        ck_assert_double_eq_tol((double)e.bound[VPA_TARGET].value[VPA_KIND_CPU],
                                ceil(1000.0 * vpa_plumb_cpu_target(&cpu)), 1e-9);
        ck_assert_double_eq_tol((double)e.bound[VPA_TARGET].value[VPA_KIND_MEMORY],
                                ceil(vpa_plumb_memory_target(&memory, 0)), 1e-3);
        expect_band(&e, i + 2); /* the one that is open counts */
    }
    vpa_plumb_cpu_release(&cpu);
    vpa_plumb_memory_release(&memory);
    free(o);
}

/* Since the earliest sample of a CPU, whichever came first, and of whichever replica. */
TEST_TIMES(what_plumb_knows_is_as_old_as_its_first_sample, 2) {
    begin("plumb", NULL, NULL);
    struct vpa_knowledge *other = vpa_knowledge_new(m, t0);
    struct vpa_estimate e;

    add(k, VPA_USAGE_MEMORY, t0 - 2 * DAY, 100 * MI); /* of memory: no matter */
    add(k, VPA_USAGE_CPU, t0 + DAY, 1000);
    add(k, VPA_USAGE_MEMORY, t0 + DAY, 100 * MI);
    vpa_knowledge_age(k, t0 + DAY + VPA_HOUR);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t0 + DAY + VPA_HOUR, 1}, &e));
    expect_band(&e, 12 + 1);
    add(k, VPA_USAGE_CPU, t0, 1000);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t0 + DAY + VPA_HOUR, 1}, &e));
    expect_band(&e, 288 + 12 + 1);
    add(other, VPA_USAGE_CPU, _i ? t0 - DAY : t0 + 2 * VPA_HOUR, 1000);
    vpa_knowledge_merge(k, other);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t0 + DAY + VPA_HOUR, 1}, &e));
    expect_band(&e, (_i ? 288 : 0) + 288 + 12 + 1);
    vpa_knowledge_free(other);
}

/* Who was heard of last keeps alive what both know, whichever takes the other. */
TEST_TIMES(the_later_of_two_histories_keeps_both, 6) {
    const char *name = names[_i % 3];
    bool into_later = _i >= 3;
    m = method(name, NULL, NULL);
    struct vpa_knowledge *early = vpa_knowledge_new(m, t0), *late = vpa_knowledge_new(m, t0);
    struct vpa_knowledge *to = into_later ? late : early;
    struct vpa_estimate e;

    for (int i = 0; i < 300; i++) {
        add(early, VPA_USAGE_CPU, t0 + i * 5 * VPA_MINUTE, 100);
        add(early, VPA_USAGE_MEMORY, t0 + i * 5 * VPA_MINUTE, 512 * MI);
        add(late, VPA_USAGE_CPU, t0 + 6 * DAY + i * 5 * VPA_MINUTE, 100);
        add(late, VPA_USAGE_MEMORY, t0 + 6 * DAY + i * 5 * VPA_MINUTE, 512 * MI);
    }
    vpa_knowledge_merge(to, into_later ? early : late);
    for (vpa_time t = t0 + 8 * DAY; t < t0 + 12 * DAY; t += VPA_HOUR)
        vpa_knowledge_age(to, t);
    ck_assert(vpa_knowledge_estimate(to, &(struct vpa_question){t0 + 12 * DAY, 1}, &e));
    vpa_knowledge_free(early);
    vpa_knowledge_free(late);
}

/* Of memory only windows with a sample count: a container that is not asked for a week needs what
 * it needed. */
TEST_EACH(windows_without_a_sample_of_memory_say_nothing, names) {
    begin(names[_i], NULL, NULL);
    struct vpa_estimate before, after;
    vpa_time t = t0;

    for (int i = 0; i < 300; i++, t += 5 * VPA_MINUTE) {
        add(k, VPA_USAGE_CPU, t, 100);
        add(k, VPA_USAGE_MEMORY, t, 512 * MI);
    }
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t, 1}, &before));
    for (int i = 0; i < 3000; i++, t += 5 * VPA_MINUTE)
        add(k, VPA_USAGE_CPU, t, 100);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t, 1}, &after));
    ck_assert_int_eq(after.bound[VPA_TARGET].value[VPA_KIND_MEMORY],
                     before.bound[VPA_TARGET].value[VPA_KIND_MEMORY]);
}

/* The first window is over: it is a day's 288th part, and the open one another. */
TEST_EACH(the_first_window_is_known_within_wide_bounds, names) {
    begin(names[_i], NULL, NULL);
    struct vpa_estimate e;

    add(k, VPA_USAGE_CPU, t0, 1000);
    add(k, VPA_USAGE_MEMORY, t0, 512 * MI);
    if (vpa_knowledge_estimate(k, &(struct vpa_question){t0, 1}, &e))
        expect_band(&e, 1);
    vpa_knowledge_age(k, t0 + 5 * VPA_MINUTE);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t0 + 5 * VPA_MINUTE, 1}, &e));
    expect_band(&e, 2);
}

TEST_TIMES(autopilot_ml_is_its_parts, 2) {
    begin("autopilot-ml", "cost", _i ? "distances" : "counts");
    struct vpa_buckets *buckets = vpa_xcalloc(VPA_KINDS, sizeof(*buckets));
    struct vpa_argmin parts[VPA_KINDS];
    struct vpa_argmin_rule rule;
    struct vpa_estimate e;

    vpa_buckets_init(&buckets[0], 0.001, 1000.0);
    vpa_buckets_init(&buckets[1], 1048576.0, 1e12);
    for (int kind = 0; kind < VPA_KINDS; kind++) {
        vpa_argmin_preset(&rule, &buckets[kind], (enum vpa_kind)kind, _i == 1);
        vpa_argmin_init(&parts[kind], &rule);
    }
    for (int i = 0; i < 1000; i++) {
        vpa_time t = t0 + i * 5 * VPA_MINUTE;
        vpa_amount millis = 10 + i * 37 % 190, bytes = (50 + i * 13 % 70) * MI;
        bool killed = i == 500;
        add(k, VPA_USAGE_CPU, t, millis);
        add(k, killed ? VPA_USAGE_OOM : VPA_USAGE_MEMORY, t, killed ? 400 * MI : bytes);
        vpa_knowledge_age(k, t + 5 * VPA_MINUTE);
        vpa_argmin_add(&parts[0], (double)millis / 1000.0);
        vpa_argmin_add(&parts[1], (double)(killed ? 480 * MI : bytes)); /* 1.2 x 400 MiB */
        for (int kind = 0; kind < VPA_KINDS; kind++)
            vpa_argmin_close(&parts[kind], vpa_window_of(t));
        double limit = vpa_argmin_limit(&parts[1]);
        bool floored = i >= 500 && i < 500 + 289 && limit < (double)(480 * MI);
        ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t, 1}, &e));
        ck_assert_int_eq(e.bound[VPA_TARGET].value[VPA_KIND_CPU],
                         (vpa_amount)ceil(1000.0 * vpa_argmin_limit(&parts[0]) - 1e-6));
        ck_assert_int_eq(e.bound[VPA_TARGET].value[VPA_KIND_MEMORY],
                         floored ? 480 * MI : (vpa_amount)ceil(limit));
    }
    for (int kind = 0; kind < VPA_KINDS; kind++)
        vpa_argmin_release(&parts[kind]);
    free(buckets);
}

/* The stored form but for the shares, which have seven digits. */
static const char *without_pasts(const struct vpa_knowledge *of, vpa_time now)
{
    char *all = stored_text(of, now);

    for (char *pasts; (pasts = strstr(all, "\"pasts\"")) != NULL;) {
        char *end = strstr(pasts, "\"picks\"");
        ck_assert_ptr_nonnull(end);
        memmove(pasts, end, strlen(end) + 1);
    }
    return all;
}

static void use(struct vpa_knowledge *of, vpa_time t, int i)
{
    add(of, VPA_USAGE_CPU, t, 100 + i * 37 % 190);
    add(of, VPA_USAGE_MEMORY, t, (200 + i * 13 % 70) * MI);
}

/* Saved and loaded, in the middle of a window, the ensemble goes on where it was: the same model,
 * the same costs, and the same answers for days. */
TEST(an_ensemble_outlives_a_restart) {
    static const char *const members[] = {
        "\"closed\":",  "\"lastWindow\":17", "\"first\":", "\"picks\":[", "\"costs\":[",
        "\"limits\":[", "\"best\":",         "\"limit\":", "\"held\":",   "\"open\":["};
    begin("autopilot-ml", NULL, NULL);
    vpa_time t = live(k);
    struct vpa_estimate before, after;

    for (int i = 0; i < 2882; i++, t += VPA_MINUTE)
        use(k, t, i);
    struct vpa_knowledge *again = vpa_knowledge_convert(k, m, t);
    ck_assert_str_eq(without_pasts(again, t), without_pasts(k, t));
    for (size_t i = 0; i < VPA_COUNT(members); i++)
        ck_assert_msg(strstr(without_pasts(k, t), members[i]) != NULL, "%s", members[i]);
    const char *best = strstr(without_pasts(k, t), "\"best\":");
    ck_assert(strncmp(best, "\"best\":0,", 9) != 0 || !strstr(best + 1, "\"best\":0,"));
    for (int i = 0; i < 3 * 1440; i++, t += VPA_MINUTE) {
        use(k, t, i);
        use(again, t, i);
        ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t, 1}, &before));
        ck_assert(vpa_knowledge_estimate(again, &(struct vpa_question){t, 1}, &after));
        ck_assert_mem_eq(&before, &after, sizeof(before));
    }
    vpa_knowledge_free(again);
}

/* The first window counts although the process that saw it ended before it was over. */
TEST_EACH(an_open_window_outlives_a_restart, names) {
    begin(names[_i], NULL, NULL);
    struct vpa_estimate before, after;

    add(k, VPA_USAGE_CPU, t0, 2000);
    add(k, VPA_USAGE_MEMORY, t0, 512 * MI);
    struct vpa_knowledge *again = vpa_knowledge_convert(k, m, t0 + VPA_MINUTE);
    vpa_knowledge_age(k, t0 + 5 * VPA_MINUTE);
    vpa_knowledge_age(again, t0 + 5 * VPA_MINUTE);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){t0 + 5 * VPA_MINUTE, 1}, &before));
    ck_assert(
        vpa_knowledge_estimate(again, &(struct vpa_question){t0 + 5 * VPA_MINUTE, 1}, &after));
    ck_assert_mem_eq(&before, &after, sizeof(before));
    vpa_knowledge_free(again);
}

/* Behind the signals: floor, peak and times. */
static const char *rest_of(const struct vpa_knowledge *of, vpa_time now)
{
    const char *rest = strstr(without_pasts(of, now), "\"floor\"");

    ck_assert_ptr_nonnull(rest);
    return rest;
}

/* What two replicas have seen of one window is what one would have seen of both. */
static const struct {
    vpa_amount memory[2]; /* MiB, 0: no sample */
    vpa_amount killed[2]; /* at the end of it */
    int born[2];          /* windows */
} halves[] = {
    {{300, 500}, {0, 0}, {0, 1}},   {{500, 300}, {0, 0}, {1, 0}},
    {{300, 0}, {0, 0}, {0, 0}},     {{0, 300}, {0, 0}, {1, 1}},
    {{0, 0}, {0, 0}, {0, 2}},       {{300, 300}, {700, 0}, {0, 1}},
    {{300, 300}, {0, 700}, {1, 0}}, {{300, 300}, {700, 900}, {2, 0}},
};

TEST_TIMES(halves_of_a_window_are_one, 2 * VPA_COUNT(halves)) {
    size_t row = (size_t)_i / 2;
    m = method(names[_i % 2], NULL, NULL); /* plumb has other states */
    struct vpa_knowledge *half[2] = {vpa_knowledge_new(m, t0), vpa_knowledge_new(m, t0)};
    struct vpa_knowledge *both = vpa_knowledge_new(m, t0);
    vpa_time now = t0 + 2 * 5 * VPA_MINUTE;

    for (int window = 0; window < 3; window++)
        for (int i = 0; i < 2; i++) {
            vpa_time t = t0 + window * 5 * VPA_MINUTE;
            struct vpa_knowledge *const takers[] = {half[i], both};
            for (int j = 0; j < 2; j++) {
                if (window >= halves[row].born[i])
                    add(takers[j], VPA_USAGE_CPU, t, 100);
                if (window == 2 && halves[row].memory[i])
                    add(takers[j], VPA_USAGE_MEMORY, t, halves[row].memory[i] * MI);
                if (window == 2 && halves[row].killed[i])
                    add(takers[j], VPA_USAGE_OOM, t, halves[row].killed[i] * MI);
            }
        }
    vpa_knowledge_merge(half[0], half[1]);
    ck_assert_str_eq(rest_of(half[0], now), rest_of(both, now));
    vpa_knowledge_free(half[0]);
    vpa_knowledge_free(half[1]);
    vpa_knowledge_free(both);
}

/* Nor does a floor that was over come back with another one. */
TEST_TIMES(a_floor_that_is_over_does_not_come_back, 2 * 2) {
    m = method(names[_i / 2], NULL, NULL);
    struct vpa_knowledge *old = vpa_knowledge_new(m, t0), *new = vpa_knowledge_new(m, t0);
    struct vpa_knowledge *to = _i % 2 ? old : new, *from = _i % 2 ? new : old;

    add(old, VPA_USAGE_OOM, t0, 4000 * MI);
    add(new, VPA_USAGE_OOM, t0 + 3 * DAY, 300 * MI);
    vpa_knowledge_merge(to, from);
    ck_assert_ptr_nonnull(strstr(rest_of(to, t0 + 3 * DAY), "\"floor\":377487360,"));
    vpa_knowledge_free(old);
    vpa_knowledge_free(new);
}

/* Of the window under way only buckets with samples are stored. */
TEST(empty_buckets_take_no_room) {
    begin("autopilot-ml", NULL, NULL);

    add(k, VPA_USAGE_CPU, t0, 1);
    add(k, VPA_USAGE_CPU, t0 + VPA_MINUTE, 100000);
    const char *open = strstr(without_pasts(k, t0 + VPA_MINUTE), "\"open\":[[");
    ck_assert_ptr_nonnull(open);
    ck_assert_ptr_nonnull(strstr(open, ",1],["));
    ck_assert_ptr_null(strstr(open, ",0]"));
}

static vpa_amount after_windows(struct vpa_knowledge *of, vpa_time *t, int windows,
                                vpa_amount millis)
{
    struct vpa_estimate e;

    for (int i = 0; i < windows; i++, *t += 5 * VPA_MINUTE) {
        add(of, VPA_USAGE_CPU, *t, millis);
        add(of, VPA_USAGE_MEMORY, *t, 512 * MI);
        vpa_knowledge_age(of, *t + 5 * VPA_MINUTE);
    }
    ck_assert(vpa_knowledge_estimate(of, &(struct vpa_question){*t, 1}, &e));
    return e.bound[VPA_TARGET].value[VPA_KIND_CPU];
}

/* Ten days of the same, then another half-life: what was learned weighs no less and no more than it
 * did, beside what comes. */
static const struct {
    const char *half_life;
    vpa_amount before, later;
    int windows;
    vpa_amount least, most;
} other_lives[] = {
    {"6h", 2000, 100, 14, 2300, 2450}, /* 104 windows are remembered */
    {"30d", 100, 2000, 576, 2300, 2450},
    {"12h", 2000, 100, 14, 2300, 2450},
};
TEST_EACH(another_half_life_keeps_the_proportions, other_lives) {
    m = method("autopilot", NULL, NULL); /* 12h */
    struct vpa_method *other = method("autopilot", "cpu-half-life", other_lives[_i].half_life);
    k = vpa_knowledge_new(m, t0);
    vpa_time t = t0;

    after_windows(k, &t, 10 * 288, other_lives[_i].before);
    struct vpa_knowledge *converted = vpa_knowledge_convert(k, other, t);
    vpa_amount target =
        after_windows(converted, &t, other_lives[_i].windows, other_lives[_i].later);
    ck_assert_int_ge(target, other_lives[_i].least);
    ck_assert_int_le(target, other_lives[_i].most);
    vpa_knowledge_free(converted);
    vpa_method_unref(other);
}

/* Pairs of choices: all of a parameter, from each to each. */
static const struct {
    const char *key, *values[4];
    int count;
    const char *former[4]; /* of the kind's parts in a state of before, the one that was empty */
} pairs[] = {
    {"class", {"batch", "serving", "latency", "peak"}, 4, {"both", "top", "top", "histogram"}},
    {"oom-tolerance", {"high", "middle", "low"}, 3, {"top", "none", "histogram"}},
};
#define CHOICE_PAIRS (4 * 4 + 3 * 3)

struct pair {
    struct vpa_method *from, *to;
    enum vpa_kind kind;
    const char *former;
};
static struct pair pair_of(int i)
{
    size_t row = i >= 16;
    int n = pairs[row].count, at = row ? i - 16 : i;

    return (struct pair){method("autopilot", pairs[row].key, pairs[row].values[at / n]),
                         method("autopilot", pairs[row].key, pairs[row].values[at % n]),
                         row ? VPA_KIND_MEMORY : VPA_KIND_CPU, pairs[row].former[at / n]};
}

static struct vpa_estimate hours_later(struct vpa_knowledge *of, vpa_time t)
{
    struct vpa_estimate e;

    after_windows(of, &t, 24, 100);
    ck_assert(vpa_knowledge_estimate(of, &(struct vpa_question){t, 1}, &e));
    return e;
}

/* Whoever changes the choice finds the statistic of all that was learned, not of what came since;
 * and is known for as long. */
TEST_TIMES(another_choice_finds_what_was_learned, CHOICE_PAIRS) {
    struct pair pair = pair_of(_i);
    k = vpa_knowledge_new(pair.from, t0);
    struct vpa_knowledge *always = vpa_knowledge_new(pair.to, t0);
    vpa_time t = live(k);

    live(always);
    struct vpa_knowledge *changed = vpa_knowledge_convert(k, pair.to, t);
    struct vpa_estimate e = hours_later(changed, t), expected = hours_later(always, t);
    ck_assert_mem_eq(&e, &expected, sizeof(e));
    vpa_knowledge_free(changed);
    vpa_knowledge_free(always);
    vpa_method_unref(pair.from);
    vpa_method_unref(pair.to);
}

/* Without the part that a program of before did not keep. */
static void empty_part(char *text, enum vpa_kind kind, const char *part)
{
    char *begin = strstr(strstr(text, kind == VPA_KIND_CPU ? "\"cpu\"" : "\"memory\""), part);
    char *end = begin ? strstr(begin, *part == '"' && part[1] == 't' ? "]]" : "]}") : NULL;

    ck_assert_ptr_nonnull(end);
    memmove(begin, end + 3, strlen(end + 3) + 1); /* with the comma */
}

TEST_TIMES(states_of_before_do_not_fall_to_what_came_since, CHOICE_PAIRS) {
    struct pair pair = pair_of(_i);
    k = vpa_knowledge_new(pair.from, t0);
    struct vpa_knowledge *always = vpa_knowledge_new(pair.to, t0);
    vpa_time t = live(k);
    const struct vpa_json *root;
    char *text = stored_text(k, t);

    live(always);
    if (strcmp(pair.former, "histogram") == 0 || strcmp(pair.former, "both") == 0)
        empty_part(text, pair.kind, "\"histogram\":");
    if (strcmp(pair.former, "top") == 0 || strcmp(pair.former, "both") == 0)
        empty_part(text, pair.kind, "\"top\":");
    ck_assert_int_eq(vpa_json_parse(&arena, text, strlen(text), &root, &err), 0);
    struct vpa_knowledge *changed = vpa_knowledge_load(pair.to, root, t, &err);
    ck_assert_msg(changed != NULL, "%s", err.text);
    vpa_amount target = hours_later(changed, t).bound[VPA_TARGET].value[pair.kind];
    vpa_amount expected = hours_later(always, t).bound[VPA_TARGET].value[pair.kind];
    bool by_mean = strcmp(pair.former, "both") == 0; /* 122 millicores */
    ck_assert_int_ge(target, by_mean ? 120 : expected);
    ck_assert_int_le(target, pair.kind == VPA_KIND_CPU ? 2420 : 730 * MI);
    vpa_knowledge_free(changed);
    vpa_knowledge_free(always);
    vpa_method_unref(pair.from);
    vpa_method_unref(pair.to);
}

/* A core once, and 300 millicores since: of a state with the maxima alone what came since weighs no
 * more than so much time can. */
static const struct {
    int half_lives;
    bool within; /* the core still has 5 % of the load */
} since[] = {{5, true}, {7, false}};

TEST_EACH(maxima_of_before_weigh_no_more_than_their_time, since) {
    struct vpa_method *peak = method("autopilot", "class", "peak");
    struct vpa_method *latency = method("autopilot", "class", "latency");
    struct vpa_knowledge *always = vpa_knowledge_new(latency, t0);
    int windows = since[_i].half_lives * 144;
    vpa_time begin = t0, t = t0;
    const struct vpa_json *root;

    k = vpa_knowledge_new(peak, t0);
    after_windows(k, &t, 1440, 1000);
    after_windows(k, &t, windows - 24, 300);
    char *text = stored_text(k, t);
    empty_part(text, VPA_KIND_CPU, "\"histogram\":");
    ck_assert_int_eq(vpa_json_parse(&arena, text, strlen(text), &root, &err), 0);
    struct vpa_knowledge *changed = vpa_knowledge_load(latency, root, t, &err);
    ck_assert_msg(changed != NULL, "%s", err.text);
    after_windows(always, &begin, 1440, 1000);

    vpa_amount expected = after_windows(always, &begin, windows, 300);
    ck_assert_int_eq(expected > 1000, since[_i].within);
    ck_assert_int_eq(after_windows(changed, &t, 24, 300), expected);
    expected = after_windows(always, &begin, 8, 1000);
    ck_assert_int_gt(expected, 1000);
    ck_assert_int_eq(after_windows(changed, &t, 8, 1000), expected);
    vpa_knowledge_free(changed);
    vpa_knowledge_free(always);
    vpa_method_unref(latency);
    vpa_method_unref(peak);
}

int main(void)
{
    return run_tests("algorithm_windows", setup, teardown);
}
