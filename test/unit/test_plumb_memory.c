/* Plumb's memory target: margin, growth, youth, kills, by hand. */
#include <check.h>
#include <math.h>

#include "suite.h"
#include "vpa/model/plumb_memory.h"

#define MIB 1048576.0
#define W(n) (1700006400 + 300 * (int64_t)(n))
#define DAY 288 /* windows */

static struct vpa_buckets buckets;
static struct vpa_plumb_memory p;

static void setup(void)
{
    vpa_buckets_init(&buckets, MIB, 1e12);
    vpa_plumb_memory_init(&p, &(struct vpa_plumb_memory_rule){&buckets, 0.1, 10 * MIB, 3 * 86400});
}

static void teardown(void)
{
    vpa_plumb_memory_release(&p);
}

static void use(int from, int to, double bytes)
{
    for (int n = from; n < to; n++)
        vpa_plumb_memory_add(&p, W(n), bytes);
    vpa_plumb_memory_advance(&p, W(to));
}

static double target(int n)
{
    return vpa_plumb_memory_target(&p, W(n));
}

/* A bucket's end, so that rounding up changes nothing. */
static double end(uint32_t bucket)
{
    return buckets.ends[bucket];
}

START_TEST(nothing_known)
{
    vpa_plumb_memory_advance(&p, W(1));
    ck_assert(target(1) == 0.0);
}
END_TEST

/* A clock that begins in 1970 has no day before its first one. */
START_TEST(the_first_day_of_all)
{
    for (int n = 0; n < 2 * DAY; n++)
        vpa_plumb_memory_add(&p, 300 * (int64_t)n, end(n < DAY ? 100 : 110));
    vpa_plumb_memory_advance(&p, 300 * (int64_t)2 * DAY);
    ck_assert(vpa_plumb_memory_target(&p, 300 * (int64_t)2 * DAY) >= end(110));
}
END_TEST

/* A kill is remembered for a day: to the second. */
START_TEST(a_bump_lasts_for_a_day)
{
    int64_t until = W(10 * DAY) + 300 + 86400;

    use(0, 10 * DAY, end(142));
    vpa_plumb_memory_oom(&p, W(10 * DAY), 2 * end(142));
    ck_assert_double_gt(vpa_plumb_memory_target(&p, until - 1), p.target);
    ck_assert(vpa_plumb_memory_target(&p, until) == p.target);
    vpa_plumb_memory_oom(&p, _i ? until - 300 : until - 600, 3 * end(142));
    ck_assert_int_eq((int)p.kills, _i ? 1 : 2); /* the second one, or again a first */
}
END_TEST

/* Ten days old: 1 GiB asks for 10 % and 10 MiB * sqrt(1024 / 100), little ones for relatively more.
 */
static const struct {
    uint32_t bucket;
} sizes[] = {{40}, {94}, {142}, {190}};
START_TEST(margin_of_the_old)
{
    double peak = end(sizes[_i].bucket);
    double want = peak * 1.1 + 10 * MIB * sqrt(peak / (100 * MIB));

    use(0, 10 * DAY, peak);
    ck_assert_double_ge(target(10 * DAY), want);
    ck_assert_double_le(target(10 * DAY), want * 1.05 * 1.12); /* a bucket, and what is kept */
}
END_TEST

/* 20 MiB: three times as much while it is young, 250 MiB at most, gone after some days. */
START_TEST(the_young_have_headroom)
{
    double small = end(62); /* 20.6 MiB */

    use(0, DAY, small);
    ck_assert_double_ge(target(DAY), 3 * small);
    ck_assert_double_le(target(DAY), 3 * small * 1.05);
    use(DAY, 5 * DAY, small);
    ck_assert_double_lt(target(5 * DAY), 2 * small);
    ck_assert_double_gt(target(5 * DAY), 1.1 * small);
}
END_TEST

START_TEST(headroom_of_the_young_is_bounded)
{
    use(0, DAY, end(100)); /* 131.5 MiB: three times would be 394 */
    ck_assert_double_ge(target(DAY), 250 * MIB);
    ck_assert_double_le(target(DAY), 250 * MIB * 1.05);
}
END_TEST

/* 1 GiB, then 2 GiB after two days: 2 GiB and half of the rise is 2.5 GiB, above the margin's 2.25.
 */
START_TEST(growth_is_foreseen)
{
    double peak = end(142); /* 1.02 GiB */

    use(0, 2 * DAY, peak);
    double before = target(2 * DAY);
    use(2 * DAY, 2 * DAY + 1, 2 * peak);
    ck_assert_double_lt(before, 1.3 * peak);
    ck_assert_double_ge(target(2 * DAY + 1), 2.5 * peak);
    ck_assert_double_le(target(2 * DAY + 1), 2.5 * peak * 1.05 * 1.05 * 1.05);
}
END_TEST

static void use_other(struct vpa_plumb_memory *other, int from, int to, double bytes)
{
    for (int n = from; n < to; n++)
        vpa_plumb_memory_add(other, W(n), bytes);
}

/* Of replicas: what is later or larger counts, and the earlier beginning; whichever takes the
 * other, and nothing of one that knows nothing. */
START_TEST(two_histories_are_one)
{
    struct vpa_plumb_memory other, nothing, *to = _i ? &other : &p, *from = _i ? &p : &other;

    vpa_plumb_memory_init(&other, &p.rule);
    vpa_plumb_memory_init(&nothing, &p.rule);
    use(0, 2 * DAY, end(120));
    vpa_plumb_memory_oom(&p, W(2 * DAY), end(121));
    vpa_plumb_memory_oom(&p, W(2 * DAY + 1), end(125)); /* 1.22 times that */
    use_other(&other, DAY, 3 * DAY, end(110));
    vpa_plumb_memory_oom(&other, W(3 * DAY), end(111));
    const struct vpa_plumb_memory a = p, b = other;

    vpa_plumb_memory_merge(to, from);
    vpa_plumb_memory_merge(to, &nothing);
    ck_assert_int_eq(to->born, a.born);
    ck_assert_int_eq(to->window, b.window);
    ck_assert_int_eq(to->bump_until, b.bump_until);
    ck_assert_int_eq((int)to->kills, 2);
    ck_assert(to->known && to->has_peak);
    ck_assert(to->target == a.target && a.target > b.target);
    ck_assert(to->bump == a.bump && a.bump > b.bump);
    ck_assert(to->open_peak == a.open_peak && a.open_peak > b.open_peak);
    for (size_t i = 0; i < VPA_PLUMB_HOURS; i++) {
        bool same = a.days[i].hour == b.days[i].hour;
        bool later = a.days[i].hour > b.days[i].hour;

        ck_assert_int_eq(to->days[i].hour, later ? a.days[i].hour : b.days[i].hour);
        ck_assert(
            to->days[i].peak ==
            (same || later ? fmax(a.days[i].peak, same ? b.days[i].peak : 0) : b.days[i].peak));
    }
    vpa_plumb_memory_merge(&nothing, to);
    ck_assert_int_eq(nothing.born, to->born);
    ck_assert_int_eq(nothing.window, to->window);
    ck_assert(nothing.target == to->target && nothing.known);
    vpa_plumb_memory_release(&other);
    vpa_plumb_memory_release(&nothing);
}
END_TEST

/* A bump that was over when the other one came is over, whichever takes the other. */
START_TEST(what_is_over_does_not_come_back)
{
    struct vpa_plumb_memory other, *to = _i ? &other : &p, *from = _i ? &p : &other;

    vpa_plumb_memory_init(&other, &p.rule);
    vpa_plumb_memory_oom(&p, W(0), end(200));
    vpa_plumb_memory_oom(&p, W(1), 2 * end(200));
    vpa_plumb_memory_oom(&other, W(DAY + 1), end(100));
    vpa_plumb_memory_merge(to, from);
    ck_assert_double_eq_tol(to->bump, 1.2 * end(100), 1);
    ck_assert_int_eq((int)to->kills, 1);
    ck_assert_int_eq(to->bump_until, W(2 * DAY + 2));
    vpa_plumb_memory_release(&other);
}
END_TEST

/* A rise needs a day before. Without one, because it is the first or because the container was
 * away for so long that the remembered hours are of other days, 1 GiB gets its margin alone. */
START_TEST(without_a_day_before_nothing_rises)
{
    double peak = end(142);
    double most = (peak * 1.1 + 10 * MIB * sqrt(peak / (100 * MIB))) * 1.05 * 1.05;

    for (int n = 0; n < DAY; n++) {
        use(n, n + 1, peak);
        ck_assert_double_le(target(n + 1), most);
    }
    for (int n = 6 * DAY; n < 7 * DAY; n++) {
        use(n, n + 1, 2 * peak);
        ck_assert_double_le(target(n + 1), 2 * most);
    }
}
END_TEST

/* The peak of three days counts, then it is forgotten. */
START_TEST(peaks_age)
{
    double peak = end(142);

    use(0, 5 * DAY, peak);
    use(5 * DAY, 5 * DAY + 1, 1.5 * peak);
    use(5 * DAY + 1, 7 * DAY + 200, peak);
    ck_assert_double_gt(target(7 * DAY + 200), 1.5 * peak);
    use(7 * DAY + 200, 9 * DAY, peak);
    ck_assert_double_lt(target(9 * DAY), 1.3 * peak);
}
END_TEST

/* 100 MiB, and 120 after a kill, however many others are killed there or a little above: nobody had
 * 120 yet. Who has it and is killed again gets 1.5 times as much, the next 2 times, and that is the
 * most. A day after the last one all is forgotten but the usage that was seen. */
static const struct {
    double hit; /* in limits */
    int kills;
    double bump;
} ladder[] = {
    {1.0, 1, 1.2},   {1.0, 1, 1.2},   {0.5, 1, 1.2}, {1.05, 1, 1.26}, {1.15, 1, 1.38},
    {1.38, 2, 2.07}, {1.38, 2, 2.07}, {2.0, 3, 4.0}, {4.0, 3, 8.0},
};
START_TEST(a_kill_at_what_the_last_one_gave_goes_further)
{
    double limit = end(94); /* 98.1 MiB */
    int n = 10 * DAY;

    use(0, n, 0.5 * limit);
    for (size_t i = 0; i < sizeof(ladder) / sizeof(ladder[0]); i++) {
        vpa_plumb_memory_oom(&p, W(n), ladder[i].hit * limit);
        ck_assert_int_eq((int)p.kills, ladder[i].kills);
        ck_assert_double_eq_tol(p.bump, ladder[i].bump * limit, 1);
        ck_assert_double_ge(target(n), ladder[i].bump * limit);
    }
    use(n + 1, n + 5 * DAY, 0.5 * limit);
    ck_assert_double_lt(target(n + 5 * DAY), limit);
}
END_TEST

/* Hidden demand of three times the limit is reached by the second bump at the latest. */
START_TEST(two_kills_are_enough)
{
    double usage = end(94);
    double demand = 1.7 * usage;
    int kills = 0;

    use(0, 10 * DAY, usage);
    for (int n = 10 * DAY; n < 11 * DAY; n++) {
        double limit = target(n);
        if (demand > limit) {
            vpa_plumb_memory_oom(&p, W(n), limit);
            kills++;
        } else {
            vpa_plumb_memory_add(&p, W(n), demand);
        }
        vpa_plumb_memory_advance(&p, W(n + 1));
    }
    ck_assert_int_ge(kills, 1);
    ck_assert_int_le(kills, 2);
}
END_TEST

START_TEST(memory_of_a_container_is_bounded)
{
    for (int n = 0; n < 30 * DAY; n++)
        vpa_plumb_memory_add(&p, W(n), 1e12 * (1.0 - (double)n / (30.0 * DAY + 1)));
    ck_assert_uint_le(p.peaks.count + p.day.count + p.held.count, 3 * VPA_BUCKETS_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plumb_memory");
    TCase *c = tcase_create("plumb_memory");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, nothing_known);
    tcase_add_test(c, the_first_day_of_all);
    tcase_add_loop_test(c, a_bump_lasts_for_a_day, 0, 2);
    tcase_add_loop_test(c, margin_of_the_old, 0, (int)(sizeof(sizes) / sizeof(sizes[0])));
    tcase_add_test(c, the_young_have_headroom);
    tcase_add_test(c, headroom_of_the_young_is_bounded);
    tcase_add_test(c, growth_is_foreseen);
    tcase_add_loop_test(c, two_histories_are_one, 0, 2);
    tcase_add_loop_test(c, what_is_over_does_not_come_back, 0, 2);
    tcase_add_test(c, without_a_day_before_nothing_rises);
    tcase_add_test(c, peaks_age);
    tcase_add_test(c, a_kill_at_what_the_last_one_gave_goes_further);
    tcase_add_test(c, two_kills_are_enough);
    tcase_add_test(c, memory_of_a_container_is_bounded);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
