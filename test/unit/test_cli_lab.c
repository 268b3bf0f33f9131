/* The laboratory: reading traces, the measures by hand, the closed loop and its wrong lines. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lab.h"
#include "lab_folder.h"
#include "lab_measure.h"
#include "lab_prometheus.h"
#include "suite.h"
#include "temp_folder.h"

#define HEADER "timestamp_seconds,cpu_cores,memory_bytes\n"

static const char *path; /* of the file that was put last */
static struct vpa_error err;

static void setup(void)
{
    temp_folder_make();
    err = (struct vpa_error){0};
}

static const char *put(const char *name, const char *text)
{
    return path = temp_put(name, text);
}

static void teardown(void)
{
    temp_folder_remove();
}

/* ---- reading ---- */

TEST(samples_fold_into_windows) {
    struct lab_trace t;

    put("t.csv", HEADER "600,0.5,100\n660,,300\n899,1.5,200\n1500,,\n1800,2,\n");
    ck_assert_int_eq(lab_trace_read(path, &t, &err), 0);
    ck_assert_str_eq(t.id, "t");
    ck_assert_uint_eq(t.windows, 3);
    ck_assert_int_eq(t.start[0], 600);
    ck_assert_int_eq(t.start[1], 1500);
    ck_assert_int_eq(t.start[2], 1800);
    ck_assert_uint_eq(t.cpu_from[1], 2);
    ck_assert_uint_eq(t.cpu_from[2], 2);
    ck_assert_uint_eq(t.cpu_from[3], 3);
    ck_assert(t.memory[0] == 300.0 && isnan(t.memory[1]) && isnan(t.memory[2]));
    ck_assert(!t.is_long);
    ck_assert_uint_eq(t.first, 3); /* all is warm-up */
    lab_trace_release(&t);
}

TEST(compressed_is_the_same) {
    struct lab_trace t;

    path = temp_path("t.csv.gz");
    gzFile f = gzopen(path, "wb");
    gzputs(f, HEADER "0,0.5,\n");
    gzclose(f);
    ck_assert_int_eq(lab_trace_read(path, &t, &err), 0);
    ck_assert_str_eq(t.id, "t");
    ck_assert_uint_eq(t.cpu_count, 1);
    ck_assert_ptr_null(t.memory);
    lab_trace_release(&t);
}

static const struct {
    const char *text, *says;
} broken[] = {
    {"", "no samples"},
    {HEADER, "no samples"},
    {"time,cpu\n1,2\n", "line 1: expected the header"},
    {HEADER "1,2\n", "line 2: expected three columns"},
    {HEADER "1,2,3,4\n", "line 2: expected three columns"},
    {HEADER "x,2,3\n", "line 2: timestamp_seconds"},
    {HEADER "2,2,3\n2,2,3\n", "line 3: timestamp_seconds: 2 is not after the line before"},
    {HEADER "-5,2,3\n", "line 2: timestamp_seconds"},
    {HEADER "99999999999999,2,3\n", "line 2: timestamp_seconds"},
    {HEADER "1,-2,3\n", "line 2: cpu_cores: -2 is not a usage"},
    {HEADER "1,nan,3\n", "line 2: cpu_cores: nan is not a usage"},
    {HEADER "1,2,inf\n", "line 2: memory_bytes: inf is not a usage"},
    {HEADER "1,two,3\n", "line 2: cpu_cores"},
    {"\x1f\x8b\x08 no gzip after all", "cannot be decompressed"},
};
TEST_EACH(what_is_no_trace_is_told, broken) {
    struct lab_trace t;

    put("t.csv", broken[_i].text);
    ck_assert_int_eq(lab_trace_read(path, &t, &err), -1);
    ck_assert_msg(strstr(err.text, broken[_i].says) != NULL, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(err.text, "t.csv"));
}

TEST(folders_with_and_without_an_index) {
    struct lab_traces t;

    put("t.csv", HEADER "0,1,\n");
    put("u.csv", HEADER "0,1,5\n300,1,5\n");
    ck_assert_int_eq(lab_traces_read(temp_folder(), &t, &err), 0);
    ck_assert_uint_eq(t.count, 2);
    ck_assert_str_eq(t.items[1].id, "u");
    lab_traces_release(&t);
    put("index.jsonl", "{\"id\":\"a\",\"file\":\"u.csv\",\"group\":\"g\",\"cls\":\"long\","
                       "\"resources\":[\"cpu\"],\"interval_seconds\":60,\"score_until\":300}\n\n");
    ck_assert_int_eq(lab_traces_read(temp_folder(), &t, &err), 0);
    ck_assert_uint_eq(t.count, 1);
    ck_assert_str_eq(t.items[0].group, "g");
    ck_assert(t.items[0].is_long);
    ck_assert_int_eq(t.items[0].interval_seconds, 60);
    ck_assert_ptr_null(t.items[0].memory);
    ck_assert_uint_eq(t.items[0].last, 1);
    lab_traces_release(&t);
}

static const struct {
    const char *text, *says;
} broken_indexes[] = {
    {"{\"id\":\"a\"}\n", "index.jsonl: line 1: expected an object with"},
    {"[\n", "index.jsonl: line 1"},
    {"{\"id\":\"a\",\"file\":\"no.csv\",\"group\":\"g\",\"cls\":\"long\"}", "no.csv: No such file"},
    {"{\"id\":\"a\",\"file\":\"t.csv\",\"group\":\"g\",\"cls\":\"long\",\"interval_seconds\":"
     "\"x\"}",
     "interval_seconds: expected a whole number"},
};
TEST_EACH(what_is_no_index_is_told, broken_indexes) {
    struct lab_traces t;

    put("t.csv", HEADER "0,1,\n");
    put("index.jsonl", broken_indexes[_i].text);
    ck_assert_int_eq(lab_traces_read(temp_folder(), &t, &err), -1);
    ck_assert_msg(strstr(err.text, broken_indexes[_i].says) != NULL, "%s", err.text);
}

TEST(an_empty_folder_is_told) {
    struct lab_traces t;

    ck_assert_int_eq(lab_traces_read(temp_folder(), &t, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "neither index.jsonl nor"));
    ck_assert_int_eq(lab_traces_read("/no/such/folder", &t, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "/no/such/folder"));
}

#define MATRIX(SERIES) "{\"data\":{\"resultType\":\"matrix\",\"result\":[" SERIES "]}}"
#define VALUES(PAIRS) "{\"metric\":{},\"values\":[" PAIRS "]}"

TEST(answers_of_prometheus_are_traces) {
    struct lab_trace t;
    char cpu[64];

    snprintf(cpu, sizeof(cpu), "%s",
             put("u.csv", MATRIX(VALUES("[600,\"0.5\"],[660.5,\"NaN\"],[900,\"0.25\"]"))));
    put("t.csv", MATRIX(VALUES("[600,\"100\"],[700,\"300\"],[1200,\"1e2\"]")));
    ck_assert_msg(lab_prometheus_read(cpu, path, &t, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(t.windows, 3);
    ck_assert_uint_eq(t.cpu_count, 2);
    ck_assert(t.memory[0] == 300.0 && isnan(t.memory[1]) && t.memory[2] == 100.0);
    lab_trace_release(&t);
    ck_assert_int_eq(lab_prometheus_read(cpu, NULL, &t, &err), 0);
    ck_assert_ptr_null(t.memory);
    lab_trace_release(&t);
}

static const struct {
    const char *text, *says;
} broken_answers[] = {
    {"", "u.csv"},
    {"{\"data\":{\"resultType\":\"vector\",\"result\":[]}}", "expected the answer of a range"},
    {MATRIX(""), "expected one series, there are 0"},
    {MATRIX(VALUES("") "," VALUES("")), "expected one series, there are 2"},
    {MATRIX(VALUES("")), "no samples"},
    {MATRIX(VALUES("[1]")), "expected pairs"},
    {MATRIX(VALUES("[1,2]")), "expected pairs"},
    {MATRIX(VALUES("[1,\"x\"]")), "expected pairs"},
    {MATRIX(VALUES("[1,\"-1\"]")), "-1 is not a usage"},
    {MATRIX(VALUES("[1,\"+Inf\"]")), "+Inf is not a usage"},
    {MATRIX(VALUES("[-1,\"1\"]")), "not a time"},
    {MATRIX(VALUES("[5,\"1\"],[5,\"1\"]")), "times are to rise"},
};
TEST_EACH(what_is_no_answer_is_told, broken_answers) {
    struct lab_trace t;

    put("u.csv", broken_answers[_i].text);
    ck_assert_int_eq(lab_prometheus_read(path, NULL, &t, &err), -1);
    ck_assert_msg(strstr(err.text, broken_answers[_i].says) != NULL, "%s", err.text);
}

/* ---- measures ---- */

#define WARM 72 /* windows of six hours */

/* A short trace of WARM windows of warm-up and four more. */
static void make(struct lab_trace *t, const double usage[4], bool memory)
{
    *t = (struct lab_trace){.windows = WARM + 4, .first = WARM, .last = WARM + 4};
    t->group = vpa_xstrdup("g");
    t->start = vpa_xcalloc(t->windows, sizeof(*t->start));
    t->cpu_from = vpa_xcalloc(t->windows + 1, sizeof(*t->cpu_from));
    t->cpu = vpa_xcalloc(t->windows, sizeof(*t->cpu));
    t->memory = memory ? vpa_xcalloc(t->windows, sizeof(*t->memory)) : NULL;
    for (size_t i = 0; i < t->windows; i++) {
        t->start[i] = 300 * (int64_t)i;
        t->cpu_from[i + 1] = i + 1;
        t->cpu[i] = i < WARM ? 1.0 : usage[i - WARM];
        if (memory)
            t->memory[i] = t->cpu[i];
    }
}

TEST_CASE(measures, NULL, NULL);

/* Reserved 2 + 2 + 2 + 8, used 1 + 2 + 3 + 4 of which 1 is not served, above in one of four. */
TEST(cpu_by_hand) {
    double limits[WARM + 4] = {0};
    struct lab_trace t;
    struct lab_score s;

    make(&t, (const double[]){1, 2, 3, 4}, false);
    for (int i = 0; i < 4; i++)
        limits[WARM + i] = i < 3 ? 2.0 : 8.0;
    ck_assert(lab_score_cpu(&t, limits, &s));
    ck_assert_double_eq_tol(s.figure[LAB_SLACK], (14.0 - 9.0) / 14.0, 1e-12);
    ck_assert_double_eq_tol(s.figure[LAB_UNSERVED], 0.1, 1e-12);
    ck_assert_double_eq_tol(s.figure[LAB_TIME_ABOVE], 0.25, 1e-12);
    ck_assert_double_eq_tol(s.figure[LAB_CHANGES], 1.0 / (4.0 * 300 / 86400), 1e-9);
    ck_assert(isnan(s.figure[LAB_DAY_SLACK])); /* less than six hours */
    ck_assert(!lab_score_memory(&t, limits, &s));
    lab_trace_release(&t);
}

TEST(memory_by_hand) {
    static const double limits_scored[] = {20, 20, 25, 40};
    double limits[WARM + 4] = {0};
    struct lab_trace t;
    struct lab_score s;

    make(&t, (const double[]){10, 30, 30, 10}, true);
    memcpy(limits + WARM, limits_scored, sizeof(limits_scored));
    ck_assert(lab_score_memory(&t, limits, &s));
    ck_assert_uint_eq(s.ooms, 2);
    ck_assert_uint_eq(s.bad_days, 1);
    ck_assert_uint_eq(s.total_days, 1);
    ck_assert(s.figure[LAB_OOM_FREE] == 0.0);
    ck_assert_double_eq_tol(s.figure[LAB_SLACK], (105.0 - (10 + 20 + 25 + 10)) / 105.0, 1e-12);
    for (size_t i = 0; i < t.windows; i++)
        limits[i] = NAN;
    ck_assert(!lab_score_memory(&t, limits, &s));
    lab_trace_release(&t);
}

/* Two traces of one group and one of another: the mean of groups is (mean(0.2, 0.4) + 0.6) / 2. */
TEST(means_are_of_groups) {
    struct lab_score s[3] = {{.group = "a"}, {.group = "b"}, {.group = "a"}};
    struct vpa_random random;
    struct lab_summary sum, again;

    s[0].figure[LAB_SLACK] = 0.2;
    s[1].figure[LAB_SLACK] = 0.6;
    s[2].figure[LAB_SLACK] = 0.4;
    s[0].allocated = 10;
    s[0].served = 5;
    s[1].allocated = s[2].allocated = 0;
    vpa_random_init(&random, 7);
    lab_summarise(s, 3, 200, &random, &sum);
    ck_assert_double_eq_tol(sum.figure[LAB_SLACK], 0.45, 1e-12);
    ck_assert_double_eq_tol(sum.pooled_slack, 0.5, 1e-12);
    ck_assert_uint_eq(sum.groups, 2);
    ck_assert_double_eq_tol(sum.low[LAB_SLACK], 0.4, 1e-9);  /* group a drawn as 0.2, 0.2 */
    ck_assert_double_eq_tol(sum.high[LAB_SLACK], 0.5, 1e-9); /* as 0.4, 0.4 */
    vpa_random_init(&random, 7);
    lab_summarise(s, 3, 200, &random, &again);
    ck_assert(memcmp(&sum, &again, sizeof(sum)) == 0);
    lab_summarise(s, 0, 200, &random, &sum);
    ck_assert_uint_eq(sum.traces, 0);
}

/* ---- replay and closed loop ---- */

TEST_CASE(loop, NULL, NULL);

/* What lies above the limit is hidden, and warm-up kills nobody: VPA learns of 300 MiB as the limit
 * that was hit, and bumps. */
TEST(policies_do_not_see_the_future) {
    double cpu[2][WARM + 4], memory[2][WARM + 4];
    struct lab_trace t;

    for (size_t p = 0; lab_policy_at(p); p++) {
        for (int change = 0; change < 2; change++) {
            make(&t, (const double[]){3e8, 3e8, change ? 9e9 : 3e8, change ? 9e8 : 3e8}, true);
            for (size_t i = 0; i < WARM; i++)
                t.memory[i] = 3e8;
            lab_run_trace(lab_policy_at(p), &t, cpu[change], memory[change]);
            lab_trace_release(&t);
        }
        ck_assert(memcmp(memory[0] + 1, memory[1] + 1, (WARM + 2) * sizeof(double)) == 0);
        ck_assert(memcmp(cpu[0] + 1, cpu[1] + 1, (WARM + 2) * sizeof(double)) == 0);
        ck_assert(isnan(memory[0][0]));
        ck_assert(memory[1][WARM + 3] > memory[0][WARM + 3]);
        ck_assert(memory[1][WARM + 3] < 9e9); /* it was hidden */
    }
}

static int drive(const char *text, char *answer, size_t size)
{
    const struct lab_policy *policy = lab_policy_find("vpa");
    FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    FILE *out = fmemopen(answer, size, "w");
    int result = lab_drive(policy, in, out, &err);

    fclose(in);
    fclose(out);
    return result;
}

TEST(the_loop_answers) {
    char answer[256] = "";

    ck_assert_int_eq(drive("trace a 60\nrecommend 600\nsample 610 1 3e8\nsample 670 - -\n"
                           "recommend 900\noom 950 5e8\nrecommend 1200\n",
                           answer, sizeof(answer)),
                     0);
    double cores = 0, bytes = 0, cores_after = 0, bytes_after = 0;
    ck_assert_int_eq(
        sscanf(answer, "- -\n%lf %lf\n%lf %lf\n", &cores, &bytes, &cores_after, &bytes_after), 4);
    ck_assert_double_gt(cores, 1.15);
    ck_assert_double_eq_tol(cores, cores_after, 1e-12);
    ck_assert_double_gt(bytes, 3e8 * 1.15);
    ck_assert_double_gt(bytes_after, 6e8 * 1.15);
}

static const struct {
    const char *text, *says;
} wrong[] = {
    {"recommend 5\n", "line 1: recommend before"},
    {"trace a 60\ntrace b 60\n", "line 2: a second trace"},
    {"trace a 0\n", "line 1: sample interval"},
    {"trace a x\n", "line 1: sample interval"},
    {"trace a\n", "line 1: expected \"trace ID INTERVAL\""},
    {"trace a 60\nrecommend\n", "line 2: expected \"recommend TIME\""},
    {"trace a 60\nrecommend 600\nrecommend 300\n", "line 3: time: 300 is before the line before"},
    {"trace a 60\nrecommend 99999999999999999999\n", "line 2: time"},
    {"trace a 60\nrecommend -1\n", "line 2: time"},
    {"trace a 60\nsample 1 2\n", "line 2: expected \"sample TIME CPU MEMORY\""},
    {"trace a 60\nsample 1 2 3 4 5 6 7\n", "line 2: expected"},
    {"trace a 60\nsample 1 nan 3\n", "line 2: cpu: nan is not a usage"},
    {"trace a 60\nsample 1 1 -3\n", "line 2: memory: -3 is not a usage"},
    {"trace a 60\noom 1 -\n", "line 2: limit"},
    {"hello\n", "line 1: \"hello\" is not one of"},
    {"\n", "line 1: \"\" is not one of"},
    {"trace a 60", NULL}, /* the last line needs no end */
};
TEST_EACH(wrong_lines_are_told, wrong) {
    char answer[256] = "";

    ck_assert_int_eq(drive(wrong[_i].text, answer, sizeof(answer)), wrong[_i].says ? -1 : 0);
    if (wrong[_i].says)
        ck_assert_msg(strstr(err.text, wrong[_i].says) != NULL, "%s", err.text);
}

TEST(a_long_line_is_told) {
    static char text[5000];
    char answer[16] = "";

    memset(text, 'a', sizeof(text) - 1);
    ck_assert_int_eq(drive(text, answer, sizeof(answer)), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "line 1: longer than"));
}

TEST(policies_have_names) {
    const struct lab_policy *policy;

    for (size_t i = 0; lab_policy_at(i); i++) {
        ck_assert(lab_policy_find(lab_policy_name(lab_policy_at(i))) == lab_policy_at(i));
    }
    ck_assert_int_eq(lab_policy_get("best", &policy, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "there are vpa, plumb"));
}

int main(void)
{
    return run_tests("cli_lab", setup, teardown);
}
