/* Crane's numbers: the examples of the specification (crane.md 11), computed by hand. */
#include <check.h>
#include <math.h>

#include "model_fixture.h"
#include "crane_signal.h"
#include "crane_workload.h"

static struct vpa_crane_predictor predictor;
static struct vpa_histogram h;
static struct vpa_arena arena;
static struct vpa_error err;

static void make(struct vpa_crane_config config)
{
    config.interval = "1m";
    config.history_length = "7d";
    ck_assert_msg(vpa_crane_predictor_init(&predictor, &config, &err) == 0, "%s", err.text);
    vpa_histogram_init(&h, &predictor.options);
}

static void make_cpu(const char *percentile, const char *margin, const char *utilization)
{
    make((struct vpa_crane_config){
        .percentile = percentile, .margin = margin, .utilization = utilization});
}

static void make_memory(void)
{
    make((struct vpa_crane_config){
        .margin = "0.15", .bucket_size = "104857600", .max_value = "104857600000"});
}

static void setup(void)
{
    vpa_arena_init(&arena, 0);
    predictor = (struct vpa_crane_predictor){0};
    h = (struct vpa_histogram){0};
}

static void teardown(void)
{
    vpa_histogram_release(&h);
    vpa_crane_predictor_release(&predictor);
    vpa_arena_release(&arena);
}

static void add(double value, int times)
{
    for (int i = 0; i < times; i++)
        vpa_crane_predictor_add(&predictor, &h, value);
}

static int64_t cpu(void)
{
    return (int64_t)(vpa_crane_predictor_value(&predictor, &h) * 1000.0);
}

static int64_t bytes(void)
{
    return (int64_t)vpa_crane_predictor_value(&predictor, &h);
}

/* C1 */
static const struct {
    double value;
    uint32_t bucket;
} buckets[] = {
    {0, 0},   {0.05, 0}, {0.1, 1},   {0.15, 1}, {0.2, 2},     {0.3, 2},    {0.6, 5},
    {0.7, 6}, {1.0, 10}, {1.02, 10}, {2.3, 22}, {99.95, 999}, {100, 1000}, {150, 1000},
};

TEST_EACH(divisions_round, buckets) {
    make_cpu("0.99", "0.15", "1");
    ck_assert_uint_eq(predictor.options.buckets, 1001);
    ck_assert_uint_eq(vpa_histogram_find_bucket(&predictor.options, buckets[_i].value),
                      buckets[_i].bucket);
}

/* Buckets are of the given size up to the given end when both are given. */
static const struct {
    const char *size, *most;
    uint32_t count;
    double want_size, want_most;
} sizes_given[] = {
    {NULL, NULL, 1001, 0.1, 100.0}, {"0.5", NULL, 1001, 0.1, 100.0}, {NULL, "50", 1001, 0.1, 100.0},
    {"", "50", 1001, 0.1, 100.0},   {"0.5", "50", 101, 0.5, 50.0},
};

TEST_EACH(half_a_scale_is_none, sizes_given) {
    make((struct vpa_crane_config){.bucket_size = sizes_given[_i].size,
                                   .max_value = sizes_given[_i].most});
    ck_assert_uint_eq(predictor.options.buckets, sizes_given[_i].count);
    ck_assert_double_eq(predictor.options.first, sizes_given[_i].want_size);
    ck_assert_double_eq(predictor.options.max, sizes_given[_i].want_most);
}

/* Buckets that grow need all three numbers. */
static const struct {
    const char *first, *growth, *most;
    enum vpa_histogram_kind kind;
} growths[] = {
    {"0.01", "0.05", "1000", VPA_HISTOGRAM_EXPONENTIAL},
    {NULL, "0.05", "1000", VPA_HISTOGRAM_LINEAR},
    {"0.01", NULL, "1000", VPA_HISTOGRAM_LINEAR},
    {"0.01", "0.05", NULL, VPA_HISTOGRAM_LINEAR},
};

TEST_EACH(half_a_growth_is_none, growths) {
    make((struct vpa_crane_config){.first_size = growths[_i].first,
                                   .growth = growths[_i].growth,
                                   .max_value = growths[_i].most});
    ck_assert_int_eq(predictor.options.kind, growths[_i].kind);
    ck_assert_double_eq(predictor.options.max, _i ? 100.0 : 1000.0);
    if (_i == 0) {
        ck_assert_double_eq(predictor.options.first, 0.01);
        ck_assert_double_eq(predictor.options.ratio, 1.05);
    }
}

/* What is given must be what it says, each of them. */
static const struct {
    struct vpa_crane_config config;
    const char *error;
} wrong_configs[] = {
#define NUMBER(FIELD)                                                                              \
    {                                                                                              \
        {.FIELD = "few", .interval = "1m", .history_length = "7d"},                                \
            "strconv.ParseFloat: parsing \"few\": "                                                \
    }
    NUMBER(percentile),
    NUMBER(margin),
    NUMBER(utilization),
    NUMBER(min_weight),
    NUMBER(bucket_size),
    NUMBER(max_value),
    NUMBER(first_size),
    NUMBER(growth),
    NUMBER(epsilon),
#undef NUMBER
    {{.interval = "soon", .history_length = "7d"}, "soon"},
    {{.interval = "1m", .history_length = "long"}, "long"},
    {{.interval = "1m", .history_length = "7d", .half_life = "half"}, "half"},
};

TEST_EACH(wrong_configurations_are_refused, wrong_configs) {
    predictor.percentile = 7;
    ck_assert_int_eq(vpa_crane_predictor_init(&predictor, &wrong_configs[_i].config, &err), -1);
    ck_assert_msg(strstr(err.text, wrong_configs[_i].error) != NULL, "%s", err.text);
    ck_assert_double_eq(predictor.percentile, 7);
    predictor = (struct vpa_crane_predictor){0};
}

static const struct {
    const char *text;
    vpa_duration duration; /* 0: none */
} durations[] = {
    {"7d", 168 * VPA_HOUR},
    {"+7d", 168 * VPA_HOUR},
    {"-1d", -24 * VPA_HOUR},
    {"1h", VPA_HOUR},
    {"+-7d", 0},
    {"d", 0},
    {"xd", 0},
    {"", 0},
};

TEST_EACH(days_are_durations, durations) {
    vpa_duration d = 0;

    ck_assert_int_eq(vpa_crane_parse_duration(durations[_i].text, &d, &err),
                     durations[_i].duration ? 0 : -1);
    ck_assert_int_eq(d, durations[_i].duration);
}

/* C3, C7: the end of the bucket, the margin, the utilization; truncated, not rounded. */
TEST(constant_cpu) {
    make_cpu("0.99", "0.15", "1");
    add(0.15, 100);
    ck_assert_int_eq(cpu(), 229);
    predictor.utilization = 0.8;
    ck_assert_int_eq(cpu(), 287);
    predictor.margin = 0.0;
    ck_assert_int_eq(cpu(), 250);
}

/* C4 */
TEST(constant_memory) {
    make_memory();
    add(157286400.0, 100);
    ck_assert_int_eq(bytes(), 241172479);
}

/* C5, C6: two samples of a hundred carry a seventh of the load. */
TEST(samples_weigh_their_value) {
    make_cpu("0.99", "0.15", "1");
    add(0.25, 98);
    add(2.05, 2);
    ck_assert_int_eq(cpu(), 2415);
    predictor.percentile = 0.85;
    ck_assert_int_eq(cpu(), 345);
    predictor.percentile = 0.99;
    add(0.25, 901); /* 999 and 2: the peak is below 1 % of the load only with one of them */
    ck_assert_int_eq(cpu(), 2415);
}

/* C8 */
TEST(limits_of_the_range) {
    make_cpu("0.99", "0.15", "1");
    ck_assert_double_eq(vpa_crane_predictor_value(&predictor, &h), 0.0);
    add(0.0, 10);
    ck_assert_int_eq(cpu(), 114);
    add(150.0, 10);
    ck_assert_int_eq(cpu(), 114999);
}

/* C9 */
TEST(memory_mix) {
    make_memory();
    add(300000000.0, 9990);
    add(900000000.0, 10);
    ck_assert_int_eq(bytes(), 361758720);
    add(900000000.0, 990);
    ck_assert_int_eq(bytes(), 1085276160);
}

/* C10 */
TEST(need_after_a_kill) {
    ck_assert_int_eq(vpa_crane_oom_need(104857600, 1.2), 209715200);
    ck_assert_int_eq(vpa_crane_oom_need(524288000, 1.2), 629145600);
    ck_assert_int_eq(vpa_crane_oom_need(524288001, 1.2), 629145601);
    ck_assert_int_eq(vpa_crane_oom_need(1073741824, 1.2), 1288490188);
    ck_assert_int_eq(vpa_crane_oom_need(INT64_MAX, 1.2), INT64_MAX);
}

/* C11 */
static const struct {
    int64_t millis, bytes;
    const char *cpu, *memory; /* NULL: nothing holds it */
} sizes[] = {
    {229, 241172479, "250m", "256Mi"}, {100, 125 * MI, "250m", "256Mi"},
    {500, 1625 * MI, "1", "2Gi"},      {230, 3072 * MI, "1", "4Gi"},
    {300, 1024 * MI, "500m", "1Gi"},   {251, 256 * MI, "500m", "512Mi"},
    {1150, 500 * MI, "2", "2Gi"},      {4100, 40960 * MI, "8", "64Gi"},
    {65000, 1024 * MI, NULL, NULL},    {100, 307200 * MI, NULL, NULL},
};

TEST_EACH(sizes_hold_both, sizes) {
    struct vpa_crane_sizes list;
    struct vpa_quantity c, m;

    ck_assert_int_eq(vpa_crane_sizes_parse(VPA_CRANE_SIZES_PRESET, &list, &err), 0);
    bool found = vpa_crane_sizes_match(&list, sizes[_i].millis, sizes[_i].bytes, &arena, &c, &m);
    ck_assert_int_eq(found, sizes[_i].cpu != NULL);
    if (found) {
        ck_assert_str_eq(vpa_quantity_text(&arena, &c), sizes[_i].cpu);
        ck_assert_str_eq(vpa_quantity_text(&arena, &m), sizes[_i].memory);
    }
    vpa_crane_sizes_release(&list);
}

static const char *const wrong_sizes[] = {"", "24c", "2c4g5c", "1c1g,", "1c4..g", "1.2.3c4g"};

TEST_EACH(wrong_lists_are_refused, wrong_sizes) {
    struct vpa_crane_sizes list;

    ck_assert_int_eq(vpa_crane_sizes_parse(wrong_sizes[_i], &list, &err), -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
}

#define LONG_LETTERS "-a-machine-type-whose-name-of-nearly-a-hundred-characters-has-no-number-in-it"
#define LONG_ITEM "9" LONG_LETTERS

static const struct {
    const char *list, *text;
} size_errors[] = {
    {"2c4g," LONG_ITEM ",4c8g", "specification " LONG_ITEM " format error"},
    {"1.2.3c4g" LONG_ITEM ",4c8g", "specification 1.2.3c4g" LONG_ITEM " format error"},
    {"1..c4g" LONG_LETTERS, "specification 1..c4g" LONG_LETTERS " cpu format error"},
    {"1c4..g" LONG_LETTERS, "specification 1c4..g" LONG_LETTERS " memory format error"},
};

TEST_EACH(a_wrong_size_is_told_as_a_whole, size_errors) {
    struct vpa_crane_sizes list;

    ck_assert_int_eq(vpa_crane_sizes_parse(size_errors[_i].list, &list, &err), -1);
    ck_assert_str_eq(err.text, size_errors[_i].text);
}

/* A wave of a day is found in two weeks of it with a little noise; none in a line. */
TEST(a_daily_wave_has_a_period) {
    double samples[336], day[24];
    struct vpa_crane_signal s = {samples, 336, VPA_HOUR};
    struct vpa_random random;

    vpa_random_init(&random, 7);
    for (int i = 0; i < 336; i++)
        samples[i] = 2.0 + (i % 24 < 12 ? 1.0 : 0.0) + 0.01 * vpa_random_double(&random);
    ck_assert(vpa_crane_signal_period(&s, &random) == 24 * VPA_HOUR);
    vpa_crane_signal_largest(&s, 24, 0.5, day);
    ck_assert(day[0] >= 4.5 && day[0] < 4.52 && day[23] >= 3.0 && day[23] < 3.02);
    vpa_crane_signal_smooth(&s, 24, &(struct vpa_crane_fft){.min_items = 3, .low_amplitude = 1},
                            day);
    ck_assert(day[6] > 2.5 && day[18] < 2.5);
}

/* A wave of a day, and a small one of half an hour: noise when it is below the amplitude that
 * counts, unless it is one of the components that stay in any case. */
static const struct {
    size_t min_items;
    double low_amplitude;
    bool stays;
} small_waves[] = {{1, 0.2, false}, {1, 0.04, true}, {2, 0.2, true}};

TEST_EACH(fast_and_small_waves_are_noise, small_waves) {
    double samples[288], day[144];
    struct vpa_crane_signal s = {samples, 288, 10 * VPA_MINUTE};
    const struct vpa_crane_fft options = {.margin = 0.5,
                                          .min_items = small_waves[_i].min_items,
                                          .low_amplitude = small_waves[_i].low_amplitude};

    for (int i = 0; i < 288; i++)
        samples[i] = 2.0 + cos(2 * M_PI * i / 144) + 0.1 * cos(2 * M_PI * i / 3);
    vpa_crane_signal_smooth(&s, 144, &options, day);
    for (int i = 0; i < 144; i++)
        ck_assert_double_eq_tol(day[i],
                                1.5 * (2.0 + cos(2 * M_PI * i / 144) +
                                       (small_waves[_i].stays ? 0.1 * cos(2 * M_PI * i / 3) : 0)),
                                1e-9);
}

/* Amplitudes of a half, a quarter, an eighth and a tenth of that; all but the first are fast. So
 * many of the largest stay as are asked for, and what is not below the low amplitude. */
static const struct {
    size_t min_items;
    double low_amplitude;
    int stay; /* of the three fast ones */
} kept_waves[] = {{0, 0.4, 0}, {1, 0.4, 0}, {2, 1, 1},   {3, 1, 2},     {4, 1, 3},
                  {1, 0.2, 1}, {1, 0.1, 2}, {3, 0.2, 2}, {200, 0.2, 1}, {143, 1, 3}};

TEST_EACH(the_largest_waves_stay, kept_waves) {
    static const double amplitudes[] = {0.5, 0.25, 0.1};
    static const int periods[] = {3, 4, 9}, per[] = {1, 1, 4};
    double samples[288], day[144];
    struct vpa_crane_signal s = {samples, 288, 10 * VPA_MINUTE};
    const struct vpa_crane_fft options = {.min_items = kept_waves[_i].min_items,
                                          .low_amplitude = kept_waves[_i].low_amplitude};

    for (int i = 0; i < 288; i++) {
        samples[i] = 3.0 + cos(2 * M_PI * i / 144);
        for (int w = 0; w < 3; w++)
            samples[i] += amplitudes[w] * cos(2 * M_PI * i * per[w] / periods[w]);
    }
    vpa_crane_signal_smooth(&s, 144, &options, day);
    for (int i = 0; i < 144; i++) {
        double want = 3.0 + cos(2 * M_PI * i / 144);
        for (int w = 0; w < kept_waves[_i].stay; w++)
            want += amplitudes[w] * cos(2 * M_PI * i * per[w] / periods[w]);
        ck_assert_double_eq_tol(day[i], want, 1e-9);
    }
}

TEST(tails_are_whole) {
    double samples[30] = {0};
    struct vpa_crane_signal s = {samples, 30, VPA_HOUR};
    size_t days;
    struct vpa_crane_signal tail = vpa_crane_signal_tail(&s, 24 * VPA_HOUR, &days);

    ck_assert_uint_eq(days, 1);
    ck_assert_ptr_eq(tail.samples, samples + 6);
    ck_assert_uint_eq(tail.count, 24);
    ck_assert_uint_eq(vpa_crane_signal_tail(&s, 168 * VPA_HOUR, NULL).count, 0);
}

static void expect_query(enum vpa_kind kind, const char *name, const char *container,
                         const char *expected)
{
    vpa_auto_buf query = VPA_BUF(1 << 16);

    vpa_crane_query(&query, kind, "Deployment", name, "shop", container);
    ck_assert_str_eq(vpa_buf_text(&query), expected);
}

/* The pods of a workload, as its kind names them. */
static const struct {
    const char *kind, *pods;
} kinds[] = {
    {"DaemonSet", "pod=~\"^web-[a-z0-9]{5}$\""},
    {"ReplicaSet", "pod=~\"^web-[a-z0-9]+$\""},
    {"Deployment", "pod=~\"^web-[a-z0-9]+-[a-z0-9]{5}$\""},
    {"StatefulSet", "pod=~\"^web-[0-9]+$\""},
    {"CronJob", "pod=~\"^web-.*\""},
};

TEST_EACH(pods_are_asked_for_by_kind, kinds) {
    vpa_auto_buf query = VPA_BUF(4096);

    vpa_crane_query(&query, VPA_KIND_CPU, kinds[_i].kind, "web", "shop", "app");
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&query), kinds[_i].pods));
}

/* Names come from objects too that nobody has checked. */
TEST(no_name_leaves_its_quotes) {
    expect_query(VPA_KIND_CPU, "web", "app",
                 "irate(container_cpu_usage_seconds_total{container!=\"POD\",namespace=\"shop\","
                 "pod=~\"^web-[a-z0-9]+-[a-z0-9]{5}$\",container=\"app\"}[3m])");
    expect_query(VPA_KIND_MEMORY, "w\"b\\", "a\"} or secret{x=\"\n",
                 "container_memory_working_set_bytes{container!=\"POD\",namespace=\"shop\","
                 "pod=~\"^w\\\"b\\\\-[a-z0-9]+-[a-z0-9]{5}$\","
                 "container=\"a\\\"} or secret{x=\\\"\\n\"}");
}

/* It ends with the last whole minute, before 1970 too. */
static const struct {
    vpa_duration now, end;
} windows[] = {{0, 0},
               {VPA_MINUTE - 1, 0},
               {VPA_MINUTE, VPA_MINUTE},
               {-1, -VPA_MINUTE},
               {-VPA_MINUTE, -VPA_MINUTE},
               {-VPA_MINUTE - 1, -2 * VPA_MINUTE}};

TEST_EACH(a_window_ends_with_a_minute, windows) {
    const struct vpa_crane_predictor hourly = {.interval = VPA_MINUTE, .history_length = VPA_HOUR};
    struct vpa_crane_window w = vpa_crane_predictor_window(&hourly, windows[_i].now);

    ck_assert(w.end == windows[_i].end);
    ck_assert(w.start == windows[_i].end - VPA_HOUR);
    ck_assert(w.step == VPA_MINUTE);
}

int main(void)
{
    return run_tests("crane", setup, teardown);
}
