/* Autopilot's arg-min recommender: both forms of its costs, changes and models, by hand. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "suite.h"
#include "vpa/base/time.h"
#include "vpa/model/argmin.h"
#include "vpa/model/window_signal.h"

#define LOW 0.001      /* end of bucket 0 */
#define HIGH 0.0011025 /* end of bucket 2: 1.05^2 */

static struct vpa_buckets buckets;
static struct vpa_argmin a;
static int64_t clock_second;

static int64_t next_window(void)
{
    return clock_second += VPA_WINDOW_SECONDS;
}

static void setup(void)
{
    vpa_buckets_init(&buckets, 0.001, 1000.0);
}

static void teardown(void)
{
    vpa_argmin_release(&a);
}

static struct vpa_argmin_rule rule(double over, bool distances)
{
    return (struct vpa_argmin_rule){
        .buckets = &buckets,
        .w_over = over,
        .w_under = 1.0,
        .smooth = 24 * VPA_HOUR,
        .distances = distances,
        .margin_count = 1,
    };
}

static double window(int low, int high)
{
    for (int i = 0; i < low; i++)
        vpa_argmin_add(&a, LOW);
    for (int i = 0; i < high; i++)
        vpa_argmin_add(&a, HIGH);
    return vpa_argmin_close(&a, next_window());
}

/*
 * Nine samples in bucket 0 and one in bucket 2. Counting: at bucket 0 over is 0.1 and under 0; at 2
 * over is 0 and under 0.9: the higher one is cheaper from w_over = 9 on. Distances (mean 1.01025
 * m): at 0 over is 0.11025 - 0.1 = 0.01025 m; at 2 under is 1.1025 - 1.01025 = 0.09225 m: from 9
 * on, too, but here relative to the mean on both sides.
 */
static const struct {
    double over;
    bool distances;
    double limit;
} forms[] = {{8.9, false, LOW}, {9.1, false, HIGH}, {8.9, true, LOW}, {9.1, true, HIGH}};
TEST_EACH(cheapest_limit, forms) {
    struct vpa_argmin_rule r = rule(forms[_i].over, forms[_i].distances);

    vpa_argmin_init(&a, &r);
    ck_assert_double_eq_tol(window(9, 1), forms[_i].limit, 1e-12);
}

TEST(nothing_known_then_as_before) {
    struct vpa_argmin_rule r = rule(20, false);

    vpa_argmin_init(&a, &r);
    ck_assert(vpa_argmin_close(&a, next_window()) == 0.0);
    double limit = window(9, 1);
    ck_assert(vpa_argmin_close(&a, next_window()) == limit);
}

/*
 * w_over = 6: 0.6 against 0.9, so bucket 0. Then a window of ten in bucket 2. With the half-life of
 * an hour it counts 1 - 2^(-1/12) = 0.05613, the past is 0.84949 and 0.15051, and costs are 0.90308
 * and 0.84949: bucket 2, if the change costs no more than 0.0536. The longer half-lives stay. All
 * models have cost 0.6 so far; the new costs count 1 - 2^(-1/288) = 0.0024: the first model has
 * 0.60062 and the change, the others 0.6001 and less, and what another model costs.
 */
static const struct {
    double w_change, w_model, limit;
} changes[] = {
    {0.00, 1.0, HIGH}, /* stays with its model, which goes up */
    {0.01, 1.0, HIGH},
    {0.06, 1.0, LOW}, /* within the model the change is too dear */
    {0.00, 0.0, LOW}, /* another model is cheaper */
};
TEST_EACH(changes_and_models_cost, changes) {
    struct vpa_argmin_rule r = rule(6, false);

    r.w_change = changes[_i].w_change;
    r.w_model = changes[_i].w_model;
    vpa_argmin_init(&a, &r);
    ck_assert_double_eq_tol(window(9, 1), LOW, 1e-12);
    ck_assert_double_eq_tol(window(0, 10), changes[_i].limit, 1e-12);
}

/* Nothing above for three windows: no margin. Then half of the samples are above for hours, which
 * costs 1000 times 0.5 without a margin: every model that does not cover them falls behind. */
TEST(margins_are_models) {
    struct vpa_argmin_rule r = rule(1000, false);
    double limit = 0.0;

    r.margin_count = 2;
    r.margins[1] = 2;
    vpa_argmin_init(&a, &r);
    for (int i = 0; i < 3; i++)
        limit = window(10, 0);
    ck_assert_double_eq_tol(limit, LOW, 1e-12); /* nothing was ever above */
    for (int i = 0; i < 50; i++)
        limit = window(1, 1);
    ck_assert_double_ge(limit, HIGH - 1e-12);
}

/* A margin on top of the last bucket: there is no limit beyond it. */
TEST(the_last_bucket_is_the_highest_limit) {
    struct vpa_argmin_rule r = rule(6, false);

    r.margin_count = 2;
    r.margins[1] = 12;
    vpa_argmin_init(&a, &r);
    for (int i = 0; i < 10; i++)
        vpa_argmin_add(&a, 1e9);
    ck_assert(vpa_argmin_close(&a, next_window()) == buckets.ends[buckets.count - 1]);
    ck_assert_uint_eq(a.limit, buckets.count - 1);
}

/* ---- the limit that holds ---- */

/*
 * Half of the samples high: 1.0005 x 0.5 over at the low limit against 0.5 under at the high one.
 * The next window is low: the past of 72 h has 0.5 x 2^(-1/864) = 0.4996 high, and 0.49985 is less
 * than 0.5004; the shorter ones have even less. So the limit falls at once and the first one holds
 * for an hour, that is eleven windows more.
 */
TEST(the_largest_limit_of_the_hold_is_in_force) {
    struct vpa_argmin_rule r = rule(1.0005, false);

    r.hold_seconds = 3600;
    vpa_argmin_init(&a, &r);
    vpa_argmin_close(&a, next_window());
    ck_assert(vpa_argmin_limit(&a) == 0.0); /* nothing is known */
    ck_assert_double_eq_tol(window(5, 5), HIGH, 1e-12);
    for (int i = 0; i < 11; i++) {
        ck_assert_double_eq_tol(window(10, 0), LOW, 1e-12);
        ck_assert_double_eq_tol(vpa_argmin_limit(&a), HIGH, 1e-12);
    }
    vpa_argmin_close(&a, next_window()); /* without samples */
    ck_assert_double_eq_tol(vpa_argmin_limit(&a), LOW, 1e-12);
}

/* ---- merging ---- */

static struct vpa_argmin other;

static void fill(struct vpa_argmin *to, int windows, double value)
{
    for (int i = 0; i < windows; i++) {
        vpa_argmin_add(to, value);
        vpa_argmin_close(to, next_window());
    }
}

static const double *past_of(const struct vpa_argmin *of, size_t decay)
{
    static double pasts[2][VPA_BUCKETS_MAX]; /* of two that are compared */
    static int turn;

    turn = !turn;
    vpa_argmin_past(of, decay, pasts[turn]);
    return pasts[turn];
}

static double share(const struct vpa_argmin *of, size_t decay, uint32_t bucket)
{
    return past_of(of, decay)[bucket];
}

/* Twelve windows low, then twelve high in another process: of the decay of an hour (12 windows) the
 * first fill 1/2, of which 1/2 is left after the second, which fill 1/2: 1/3 and 2/3. */
TEST(a_later_past_goes_on) {
    struct vpa_argmin_rule r = rule(6, false);

    vpa_argmin_init(&a, &r);
    vpa_argmin_init(&other, &r);
    fill(&a, 12, LOW);
    fill(&other, 12, HIGH);
    vpa_argmin_merge(&a, &other);
    ck_assert_double_eq_tol(share(&a, 0, 0), 1.0 / 3, 1e-9);
    ck_assert_double_eq_tol(share(&a, 0, 2), 2.0 / 3, 1e-9);
    ck_assert_int_eq(a.closed, 24);
    ck_assert_uint_eq(a.limit, other.limit); /* the newer one's */
    vpa_argmin_release(&other);
}

/* Two replicas at the same time count alike, and the higher limit stands; open windows are one. */
TEST(pasts_of_one_time_are_averaged) {
    struct vpa_argmin_rule r = rule(6, false);

    vpa_argmin_init(&a, &r);
    vpa_argmin_init(&other, &r);
    fill(&a, 12, LOW);
    clock_second -= 12 * VPA_WINDOW_SECONDS;
    fill(&other, 12, HIGH);
    vpa_argmin_add(&a, LOW);
    vpa_argmin_add(&other, HIGH);
    vpa_argmin_add(&other, LOW);
    vpa_argmin_merge(&a, &other);
    for (size_t k = 0; k < VPA_ARGMIN_DECAYS; k++) {
        ck_assert_double_eq_tol(share(&a, k, 0), 0.5, 1e-9);
        ck_assert_double_eq_tol(share(&a, k, 2), 0.5, 1e-9);
    }
    ck_assert_int_eq(a.closed, 12);
    ck_assert_double_eq_tol(buckets.ends[a.limit], HIGH, 1e-12);
    ck_assert_uint_eq(a.open_count, 3);
    ck_assert(vpa_argmin_column(&a, 0)->open == 2.0 && vpa_argmin_column(&a, 2)->open == 1.0);
    ck_assert_uint_eq(a.column_count, 2);
    vpa_argmin_release(&other);
}

TEST(merging_into_nothing_takes_all) {
    struct vpa_argmin_rule r = rule(6, false);

    r.hold_seconds = 3600;
    vpa_argmin_init(&a, &r);
    vpa_argmin_init(&other, &r);
    fill(&other, 12, HIGH);
    vpa_argmin_merge(&a, &other);
    ck_assert(a.known);
    ck_assert_int_eq(a.closed, 12);
    ck_assert(vpa_argmin_limit(&a) == vpa_argmin_limit(&other));
    ck_assert_double_eq_tol(buckets.ends[a.limit], HIGH, 1e-12);
    ck_assert_double_eq_tol(share(&a, 3, 2), 1.0, 1e-12);
    vpa_argmin_release(&other);
}

/* ---- the paper's sums, term by term ---- */

/*
 * What the manual says, computed without any of the shortcuts of argmin.c: every cost is a sum over
 * all buckets. Where two choices cost the same but for rounding, that of the module is followed.
 */
#define PASTS VPA_ARGMIN_DECAYS
#define NEAR 1e-9
struct naive {
    double past[PASTS][VPA_BUCKETS_MAX], open[VPA_BUCKETS_MAX], samples;
    struct vpa_argmin_model models[PASTS][VPA_ARGMIN_MARGINS_MAX];
    uint32_t first, last, picks[PASTS], limit;
    size_t best;
    bool known;
};
static struct naive naive, naive_other;
static const double half_life_windows[PASTS] = {12, 72, 288, 864};

static void naive_init(struct naive *n)
{
    memset(n, 0, sizeof(*n));
    n->first = VPA_BUCKETS_MAX;
}

static double naive_cost(const struct naive *n, const struct vpa_argmin_rule *r, size_t k,
                         uint32_t limit)
{
    const double *past = n->past[k], *ends = buckets.ends;
    double mean = 0.0, over = 0.0, under = 0.0;

    for (uint32_t i = 0; i < buckets.count; i++)
        mean += past[i] * ends[i];
    for (uint32_t i = 0; i < buckets.count; i++) {
        double distance = r->distances ? (ends[i] - ends[limit]) / mean : i < limit ? -1 : 1;
        over += i > limit ? past[i] * distance : 0.0;
        under += i < limit ? past[i] * -distance : 0.0;
    }
    return r->w_over * over + r->w_under * under;
}

/* The cheapest of `count` choices, whose costs are given; the chosen one where it is as cheap. */
static size_t cheapest_of(const double *costs, size_t count, size_t chosen)
{
    size_t best = 0;

    for (size_t i = 1; i < count; i++)
        best = costs[i] < costs[best] ? i : best;
    return chosen < count && costs[chosen] - costs[best] < NEAR ? chosen : best;
}

static void naive_pick(struct naive *n, const struct vpa_argmin_rule *r, size_t k)
{
    double costs[VPA_BUCKETS_MAX];

    for (uint32_t i = n->first; i <= n->last; i++)
        costs[i - n->first] =
            naive_cost(n, r, k, i) + (n->known && i != n->picks[k] ? r->w_change : 0.0);
    n->picks[k] =
        n->first + (uint32_t)cheapest_of(costs, n->last - n->first + 1, a.picks[k] - n->first);
}

static void naive_models(struct naive *n, const struct vpa_argmin_rule *r, size_t k)
{
    double new_share = 1.0 - pow(2.0, -300.0 / ((double)r->smooth / VPA_SECOND));

    for (size_t m = 0; m < r->margin_count; m++) {
        struct vpa_argmin_model *model = &n->models[k][m];
        uint32_t limit = n->picks[k] + r->margins[m];
        limit = limit > buckets.count - 1 ? buckets.count - 1 : limit;
        double cost = naive_cost(n, r, k, limit);
        cost += n->known && limit != model->limit ? r->w_change : 0.0;
        model->cost = n->known ? model->cost + new_share * (cost - model->cost) : cost;
        model->limit = limit;
    }
}

static void naive_choose(struct naive *n, const struct vpa_argmin_rule *r)
{
    double costs[PASTS * VPA_ARGMIN_MARGINS_MAX];
    size_t count = PASTS * r->margin_count;

    for (size_t i = 0; i < count; i++) {
        const struct vpa_argmin_model *m = &n->models[i / r->margin_count][i % r->margin_count];
        costs[i] = m->cost + (n->known && i != n->best ? r->w_model : 0.0) +
                   (n->known && m->limit != n->limit ? r->w_change : 0.0);
    }
    n->best = cheapest_of(costs, count, a.best);
    n->limit = n->models[n->best / r->margin_count][n->best % r->margin_count].limit;
}

static void naive_close(struct naive *n, const struct vpa_argmin_rule *r)
{
    if (n->samples == 0.0)
        return;
    for (size_t k = 0; k < PASTS; k++) {
        double old = n->known ? pow(2.0, -1.0 / half_life_windows[k]) : 0.0;
        for (uint32_t i = 0; i < buckets.count; i++)
            n->past[k][i] = old * n->past[k][i] + (1.0 - old) * n->open[i] / n->samples;
        naive_pick(n, r, k);
        naive_models(n, r, k);
    }
    naive_choose(n, r);
    memset(n->open, 0, sizeof(n->open));
    n->samples = 0.0;
    n->known = true;
}

/* The largest difference of two lists of all buckets. */
static double apart(const double *x, const double *y)
{
    double most = 0.0;

    for (uint32_t i = 0; i < buckets.count; i++)
        most = fmax(most, fabs(x[i] - y[i]));
    return most;
}

static const double *open_of(const struct vpa_argmin *of)
{
    static double open[VPA_BUCKETS_MAX];

    memset(open, 0, sizeof(open));
    for (uint32_t i = 0; i < of->column_count; i++)
        open[of->columns[i].bucket] = of->columns[i].open;
    return open;
}

static void assert_as_naive(const struct naive *n, const struct vpa_argmin *of)
{
    ck_assert(of->known == n->known);
    ck_assert_uint_eq(of->first, n->first < buckets.count ? n->first : buckets.count);
    ck_assert_uint_eq(of->last, n->last);
    ck_assert_uint_eq(of->best, n->best);
    ck_assert_uint_eq(of->limit, n->limit);
    ck_assert_uint_eq(of->open_count, (uint32_t)n->samples);
    ck_assert_double_le(apart(open_of(of), n->open), NEAR);
    for (size_t k = 0; k < PASTS; k++) {
        ck_assert_uint_eq(of->picks[k], n->picks[k]);
        ck_assert_double_le(apart(past_of(of, k), n->past[k]), NEAR);
        for (size_t m = 0; m < of->rule.margin_count; m++) {
            ck_assert_uint_eq(of->models[k][m].limit, n->models[k][m].limit);
            ck_assert_double_eq_tol(of->models[k][m].cost, n->models[k][m].cost,
                                    NEAR * (1.0 + n->models[k][m].cost));
        }
    }
}

static unsigned seed;

static unsigned below(unsigned end)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % end;
}

/* Some samples of a level that moves: the smallest bucket and the largest too. */
static void use_both(struct vpa_argmin *of, struct naive *n, unsigned level)
{
    for (unsigned i = below(6); i > 0; i--) {
        uint32_t bucket = level + below(9) * below(4);
        bucket = bucket < buckets.count ? bucket : buckets.count - 1;
        vpa_argmin_add(of, buckets.ends[bucket]);
        n->open[bucket] += 1.0;
        n->samples += 1.0;
        n->first = bucket < n->first ? bucket : n->first;
        n->last = bucket > n->last ? bucket : n->last;
    }
}

static struct vpa_argmin_rule random_rule(void)
{
    struct vpa_argmin_rule r = rule(0.5 + below(40), below(2) == 1);

    r.w_under = 0.5 + below(3);
    r.w_change = below(3) * 0.04;
    r.w_model = below(3) * 0.03;
    r.smooth = (vpa_duration)(1 + below(24)) * VPA_HOUR;
    r.margin_count = 1 + below(VPA_ARGMIN_MARGINS_MAX);
    for (size_t m = 0; m < r.margin_count; m++)
        r.margins[m] = below(13);
    return r;
}

TEST_TIMES(every_sum_is_the_papers, 16) {
    seed = (unsigned)_i;
    struct vpa_argmin_rule r = random_rule();
    unsigned levels[] = {0, 3, 60, 250, buckets.count - 14};
    unsigned level = 0;

    vpa_argmin_init(&a, &r);
    naive_init(&naive);
    for (int i = 0; i < 40; i++) {
        if (i % 8 == 0)
            level = levels[below(5)];
        use_both(&a, &naive, level);
        assert_as_naive(&naive, &a);
        double limit = vpa_argmin_close(&a, next_window());
        naive_close(&naive, &r);
        assert_as_naive(&naive, &a);
        ck_assert(limit == (naive.known ? buckets.ends[naive.limit] : 0.0));
    }
    ck_assert(naive.known);
}

/* Equal costs: the lower limit, and of the models the first. Halves are exact in binary. */
TEST(of_equal_costs_the_first) {
    struct vpa_argmin_rule r = rule(1, false);

    vpa_argmin_init(&a, &r);
    ck_assert_double_eq_tol(window(1, 1), LOW, 1e-12);
    ck_assert_uint_eq(a.best, 0);
    ck_assert_uint_eq(a.picks[3], 0);
}

TEST(windows_are_counted_without_end) {
    struct vpa_argmin_rule r = rule(1, false);

    vpa_argmin_init(&a, &r);
    ck_assert_int_eq(a.closed, 0);
    window(1, 0);
    ck_assert_int_eq(a.closed, 1);
    ck_assert_int_eq(a.last_window, clock_second);
    window(0, 0); /* nothing came: not counted */
    ck_assert_int_eq(a.closed, 1);
    ck_assert_int_eq(a.last_window, clock_second - VPA_WINDOW_SECONDS);
    a.closed = INT64_MAX - 1;
    window(1, 0);
    window(1, 0);
    ck_assert_int_eq(a.closed, INT64_MAX);
}

/* ---- two that are merged, term by term ---- */

/* How much of a memory is filled by `closed` windows that ended so many windows ago. */
static double full(int64_t closed, int64_t ago, double half_life)
{
    return (1.0 - pow(2.0, -(double)closed / half_life)) * pow(2.0, -(double)ago / half_life);
}

static double mixed(double mine, double theirs, int64_t a_ago, int64_t b_ago, double half_life,
                    const struct vpa_argmin *before)
{
    double x = full(before->closed, a_ago, half_life), y = full(other.closed, b_ago, half_life);

    return (mine * x + theirs * y) / (x + y);
}

/* The second one begins before, with or after the first and ends so too. */
static const struct {
    int mine, theirs, back; /* windows of each; how many the clock goes back between */
} meetings[] = {{5, 9, 0}, {9, 5, 9}, {9, 9, 9}, {40, 3, 43}, {3, 40, 20}, {1, 1, 1}};
TEST_TIMES(every_part_of_a_merge, 4 * (sizeof(meetings) / sizeof(meetings[0]))) {
    const int64_t back = meetings[_i / 4].back;
    struct vpa_argmin_rule r;

    seed = (unsigned)_i * 77;
    r = random_rule();
    r.smooth = 7 * VPA_HOUR;
    vpa_argmin_init(&a, &r);
    vpa_argmin_init(&other, &r);
    naive_init(&naive);
    naive_init(&naive_other);
    for (int i = 0; i < meetings[_i / 4].mine; i++) {
        vpa_argmin_add(&a, LOW * (1 + below(40)));
        vpa_argmin_close(&a, next_window());
    }
    clock_second -= back * VPA_WINDOW_SECONDS;
    for (int i = 0; i < meetings[_i / 4].theirs; i++) {
        vpa_argmin_add(&other, LOW * (1 + below(40)));
        vpa_argmin_close(&other, next_window());
    }
    struct vpa_argmin before = a;
    double past[PASTS * VPA_BUCKETS_MAX];
    for (size_t k = 0; k < PASTS; k++)
        vpa_argmin_past(&a, k, past + k * buckets.count);
    int64_t until = a.last_window > other.last_window ? a.last_window : other.last_window;
    int64_t a_ago = (until - a.last_window) / 300, b_ago = (until - other.last_window) / 300;
    bool mine = b_ago > 0 || (a_ago == 0 && a.limit >= other.limit);
    const struct vpa_argmin *ahead = mine ? &before : &other;

    vpa_argmin_merge(&a, &other);
    for (size_t k = 0; k < PASTS; k++) {
        ck_assert_uint_eq(a.picks[k], ahead->picks[k]);
        const double *theirs = past_of(&other, k);
        double want[VPA_BUCKETS_MAX];
        for (size_t i = 0; i < buckets.count; i++)
            want[i] = mixed(past[k * buckets.count + i], theirs[i], a_ago, b_ago,
                            half_life_windows[k], &before);
        ck_assert_double_le(apart(past_of(&a, k), want), NEAR);
        for (size_t m = 0; m < r.margin_count; m++) {
            double cost =
                mixed(before.models[k][m].cost, other.models[k][m].cost, a_ago, b_ago, 84, &before);
            ck_assert_uint_eq(a.models[k][m].limit, ahead->models[k][m].limit);
            ck_assert_double_eq_tol(a.models[k][m].cost, cost, NEAR * (1.0 + cost));
        }
    }
    ck_assert_uint_eq(a.best, ahead->best);
    ck_assert_uint_eq(a.limit, ahead->limit);
    ck_assert_int_eq(a.last_window, until);
    ck_assert_int_eq(a.closed, a_ago == b_ago && before.closed > other.closed ? before.closed
                               : a_ago == b_ago                               ? other.closed
                                                : before.closed + other.closed);
    ck_assert_uint_eq(a.first, before.first < other.first ? before.first : other.first);
    ck_assert_uint_eq(a.last, before.last > other.last ? before.last : other.last);
    vpa_argmin_release(&other);
}

/* Of the same time and with the same limit: one's own picks stay. The windows of both are counted,
 * as far as numbers go. */
TEST(a_merge_at_the_bounds) {
    struct vpa_argmin_rule r = rule(6, false);

    vpa_argmin_init(&a, &r);
    vpa_argmin_init(&other, &r);
    fill(&a, 2, LOW);
    clock_second -= 2 * VPA_WINDOW_SECONDS;
    fill(&other, 2, LOW);
    other.picks[2] = 7;
    vpa_argmin_merge(&a, &other);
    ck_assert_uint_eq(a.picks[2], 0);
    fill(&other, 1, LOW);
    a.closed = INT64_MAX;
    vpa_argmin_merge(&a, &other);
    ck_assert_int_eq(a.closed, INT64_MAX);
    vpa_argmin_release(&other);
}

/* One that has only an open window adds that and nothing else; into nothing, every part is taken.
 */
TEST(merging_one_that_knows_nothing) {
    struct vpa_argmin_rule r = rule(6, false);

    r.margin_count = 2;
    r.margins[1] = 3;
    vpa_argmin_init(&a, &r);
    vpa_argmin_init(&other, &r);
    fill(&a, 3, HIGH);
    vpa_argmin_add(&other, LOW);
    struct vpa_argmin before = a;
    vpa_argmin_merge(&a, &other);
    ck_assert_int_eq(a.closed, 3);
    ck_assert_int_eq(a.last_window, before.last_window);
    ck_assert_mem_eq(a.models, before.models, sizeof(a.models));
    ck_assert_mem_eq(a.picks, before.picks, sizeof(a.picks));
    ck_assert_double_eq_tol(share(&a, 1, 2), 1.0, 1e-12);
    ck_assert_uint_eq(a.first, 0);
    ck_assert_uint_eq(a.last, 2);
    before = a;
    vpa_argmin_merge(&other, &a);
    ck_assert_uint_eq(a.best, before.best); /* the source stays as it was */
    ck_assert_uint_eq(a.limit, before.limit);
    ck_assert_mem_eq(a.picks, before.picks, sizeof(a.picks));
    ck_assert_mem_eq(a.models, before.models, sizeof(a.models));
    ck_assert(other.known);
    ck_assert_int_eq(other.closed, 3);
    ck_assert_int_eq(other.last_window, a.last_window);
    ck_assert_mem_eq(other.models, a.models, sizeof(a.models));
    ck_assert_mem_eq(other.picks, a.picks, sizeof(a.picks));
    for (size_t k = 0; k < PASTS; k++)
        ck_assert_mem_eq(past_of(&other, k), past_of(&a, k), buckets.count * sizeof(double));
    ck_assert_uint_eq(other.best, a.best);
    ck_assert_uint_eq(other.limit, a.limit);
    ck_assert_uint_eq(other.open_count, 2);
    vpa_argmin_release(&other);
}

/* ---- the weights of docs/algorithms.md ---- */

static const struct {
    enum vpa_kind kind;
    bool distances;
    double over, change;
    size_t margin_count;
    uint32_t margins[VPA_ARGMIN_MARGINS_MAX];
} presets[] = {
    {VPA_KIND_CPU, false, 20.0, 0.1, 7, {0, 1, 2, 3, 5, 8, 12}},
    {VPA_KIND_CPU, true, 80.0, 0.5, 7, {0, 1, 2, 3, 5, 8, 12}},
    {VPA_KIND_MEMORY, false, 300.0, 0.2, 4, {2, 3, 5, 8}},
    {VPA_KIND_MEMORY, true, 300.0, 0.2, 4, {2, 3, 5, 8}},
};
TEST_EACH(preset_rules, presets) {
    struct vpa_argmin_rule r;

    vpa_argmin_preset(&r, &buckets, presets[_i].kind, presets[_i].distances);
    ck_assert_ptr_eq(r.buckets, &buckets);
    ck_assert(r.distances == presets[_i].distances);
    ck_assert(r.w_over == presets[_i].over && r.w_under == 1.0);
    ck_assert(r.w_change == presets[_i].change && r.w_model == 0.1);
    ck_assert(r.smooth == 24 * VPA_HOUR);
    ck_assert_int_eq(r.hold_seconds, 3600);
    ck_assert_uint_eq(r.margin_count, presets[_i].margin_count);
    ck_assert_mem_eq(r.margins, presets[_i].margins, sizeof(r.margins));
}

int main(void)
{
    return run_tests("argmin", setup, teardown);
}
