/* Answers of Prometheus, series by series: where one ends in the text, also in damaged text. */
#include <check.h>
#include <string.h>

#include "suite.h"
#include "../../recommender/prometheus.h"

static int series_count;
static size_t sample_count;

static int on_series(void *ctx, const struct prom_series *series, struct vpa_error *err)
{
    (void)ctx, (void)err;
    series_count++;
    sample_count += series->count;
    return 0;
}

#define HEAD "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":"
#define ONE "{\"metric\":{\"a\":\"1\"},\"values\":[[1,\"2\"],[2,\"3\"]]}"

static const struct {
    const char *name, *body;
    int series;        /* given before the end, or before the fault */
    const char *error; /* NULL: none; the beginning of it otherwise */
} answers[] = {
    {"none", HEAD "[]}}", 0, NULL},
    {"one", HEAD "[" ONE "]}}", 1, NULL},
    {"two", HEAD "[" ONE "," ONE "]}}", 2, NULL},
    {"blanks", " " HEAD " [ " ONE " , " ONE " ] } } ", 2, NULL},
    {"other_members",
     "{\"x\":[1,{\"y\":\"]}\"}],\"warnings\":[\"[\"],\"data\":{\"resultType\":"
     "\"matrix\",\"other\":{\"result\":7},\"result\":[" ONE "]},\"z\":-1.5}",
     1, NULL},
    {"brackets_in_texts", HEAD "[{\"metric\":{\"a\":\"]}[{\\\"\\\\\"},\"values\":[]}]}}", 1, NULL},
    {"the_last_member_counts",
     "{\"data\":1,\"data\":{\"resultType\":\"matrix\",\"result\":[" ONE "]}}", 1, NULL},
    {"no_comma_between_series", HEAD "[" ONE ONE "]}}", 1, "does not end"},
    {"a_comma_too_many", HEAD "[" ONE ",]}}", 1, "bad_response"},
    {"a_closing_brace_instead", HEAD "[}]}}", 0, "bad_response"},
    {"a_list_without_end", HEAD "[" ONE, 0, "bad_response"},
};

START_TEST(series_end_where_they_end)
{
    struct vpa_error err = {0};
    const char *body = answers[_i].body;

    series_count = 0;
    sample_count = 0;
    int result = prom_parse_answer(PROM_CPU, 200, body, strlen(body), on_series, NULL, &err);
    ck_assert_msg(result == (answers[_i].error ? -1 : 0), "%s: %d %s", answers[_i].name, result,
                  err.text);
    ck_assert_msg(series_count == answers[_i].series, "%s: %d", answers[_i].name, series_count);
    if (answers[_i].error)
        ck_assert_msg(strstr(err.text, answers[_i].error) != NULL, "%s: %s", answers[_i].name,
                      err.text);
}
END_TEST

/* A text that is cut anywhere is an error, never a read beyond its end. */
START_TEST(cut_anywhere)
{
    static const char whole[] = HEAD "[" ONE "," ONE "]}}";

    for (size_t len = 0; len < sizeof(whole) - 1; len++) {
        char *copy = malloc(len + 1); /* the sanitizer knows where it ends */
        struct vpa_error err = {0};

        memcpy(copy, whole, len);
        ck_assert_int_eq(prom_parse_answer(PROM_CPU, 200, copy, len, on_series, NULL, &err), -1);
        free(copy);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommender_prom_answer");
    TCase *c = tcase_create("recommender_prom_answer");

    tcase_add_loop_test(c, series_end_where_they_end, 0, sizeof(answers) / sizeof(answers[0]));
    tcase_add_test(c, cut_anywhere);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
