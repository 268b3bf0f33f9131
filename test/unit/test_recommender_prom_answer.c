/* Answers of Prometheus, series by series: where one ends in the text, also in damaged text. */
#include <check.h>
#include <string.h>

#include "suite.h"
#include "../../recommender/prometheus.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

static struct vpa_buf seen; /* a line per series: its labels, and time=value of each sample */
static int series_count, refuse_at;

static int on_series(void *ctx, const struct prom_series *series, struct vpa_error *err)
{
    (void)ctx;
    series_count++;
    prom_format_metric(&series->labels, &seen);
    for (size_t i = 0; i < series->count; i++)
        vpa_buf_printf(&seen, " %lld=%g", (long long)series->samples[i].millis,
                       series->samples[i].value);
    vpa_buf_putc(&seen, '\n');
    return series_count == refuse_at ? vpa_fail(err, VPA_DENIED, "refused") : 0;
}

static void setup(void)
{
    vpa_buf_init(&seen, 1 << 16);
    series_count = refuse_at = 0;
}

static void teardown(void)
{
    vpa_buf_release(&seen);
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
    {"a_list_without_end", HEAD "[" ONE, 1, "bad_response"},
    {"an_element_without_end", HEAD "[" ONE ",{\"metric\":", 1, "bad_response"},
    {"two_lists", HEAD "[" ONE "],\"result\":[" ONE "]}}", 1, "occurs twice"},
    {"two_lists_in_two_members",
     "{\"data\":{\"result\":[" ONE "]},\"data\":{\"resultType\":\"matrix\",\"result\":[]}}", 1,
     "occurs twice"},
    {"a_list_elsewhere",
     "{\"result\":[1],\"x\":{\"data\":{\"result\":[2]}},\"y\":[\"data\",{\"result\":[3]}],"
     "\"data\":{\"x\":{\"result\":[4]},\"resultType\":\"matrix\",\"y\":[[5]],\"result\":[" ONE
     "],\"z\":[[6],{}]},\"result\":[[7]]}",
     1, NULL},
    {"an_error_behind_the_data",
     "{\"data\":{\"resultType\":\"matrix\",\"result\":[" ONE "]},\"status\":\"error\","
     "\"errorType\":\"e\",\"error\":\"f\"}",
     1, "cannot get timeseries for cpu: e: f"},
    {"a_type_behind_the_data", "{\"data\":{\"result\":[7],\"resultType\":\"vector\"}}", 0,
     "expected query to return a matrix"},
    {"two_lists_of_samples", HEAD "[{\"values\":[],\"values\":[[1,\"1\"]]}]}}", 0, "occurs twice"},
};

TEST_EACH(series_end_where_they_end, answers) {
    struct vpa_error err = {0};
    const char *body = answers[_i].body;

    int result = prom_parse_answer(PROM_CPU, 200, body, strlen(body), on_series, NULL, &err);
    ck_assert_msg(result == (answers[_i].error ? -1 : 0), "%s: %d %s", answers[_i].name, result,
                  err.text);
    ck_assert_msg(series_count == answers[_i].series, "%s: %d", answers[_i].name, series_count);
    if (answers[_i].error)
        ck_assert_msg(strstr(err.text, answers[_i].error) != NULL, "%s: %s", answers[_i].name,
                      err.text);
}

/* Cut into pieces of any length, and into two at any byte, an answer says the same. */
static int read_in_pieces(const char *body, size_t len, size_t first, size_t others,
                          struct vpa_error *err)
{
    struct prom_reader *reader = prom_reader_new(PROM_CPU, len, on_series, NULL);
    int result = 0;

    for (size_t at = 0, n = first; at < len && result == 0; at += n, n = others) {
        n = n < len - at ? n : len - at;
        char *piece = malloc(n + 1); /* the sanitizer knows where it ends */
        memcpy(piece, body + at, n);
        result = prom_reader_feed(reader, piece, n, err);
        free(piece);
    }
    if (result == 0)
        result = prom_reader_finish(reader, 200, err);
    prom_reader_free(reader);
    return result;
}

static void check_pieces(const char *name, const char *body)
{
    size_t len = strlen(body);
    struct vpa_error want = {0}, err;

    teardown();
    setup();
    int result = prom_parse_answer(PROM_CPU, 200, body, len, on_series, NULL, &want);
    vpa_auto_free char *whole = vpa_buf_take(&seen);

    for (size_t first = 0; first <= len; first++)
        for (int rest = 0; rest < 2; rest++) {
            teardown();
            setup();
            err = (struct vpa_error){0};
            int got = read_in_pieces(body, len, first, rest ? len : 1, &err);
            ck_assert_msg(got == result && strcmp(err.text, want.text) == 0, "%s at %zu: %d %s",
                          name, first, got, err.text);
            ck_assert_msg(vpa_str_eq(vpa_buf_text(&seen), vpa_or_empty(whole)), "%s at %zu: %s",
                          name, first, vpa_buf_text(&seen));
        }
}

TEST_EACH(pieces_make_no_difference, answers) {
    check_pieces(answers[_i].name, answers[_i].body);
}

/* One byte more than may come, and one less than a series has. */
TEST(what_is_too_long_is_not_read) {
    static const char body[] = HEAD "[" ONE "," ONE "]}}";
    struct prom_reader *reader = prom_reader_new(PROM_CPU, sizeof(body) - 2, on_series, NULL);
    struct vpa_error err;

    ck_assert_int_eq(prom_reader_feed(reader, body, sizeof(body) - 2, &err), 0);
    ck_assert_int_eq(prom_reader_feed(reader, body, 1, &err), -1);
    ck_assert_int_eq(err.code, VPA_LIMIT);
    ck_assert_str_eq(err.text, "cannot get timeseries for cpu: answer too long");
    prom_reader_free(reader);
}

/* Series of the longest text and one byte more. */
TEST_TIMES(a_series_has_a_limit, 2) {
    static const char begin[] = "{\"metric\":{\"a\":\"1\"},\"values\":[", end[] = "]}";
    size_t len = PROM_SERIES_MAX + (size_t)_i;
    vpa_auto_buf text = VPA_BUF(2 * PROM_SERIES_MAX);
    struct vpa_error err = {0};

    vpa_buf_puts(&text, HEAD "[");
    size_t at = text.len;
    vpa_buf_puts(&text, begin);
    while (text.len - at < len - sizeof(end) + 1)
        vpa_buf_putc(&text, ' ');
    vpa_buf_puts(&text, end);
    vpa_buf_puts(&text, "]}}");
    ck_assert_int_eq(read_in_pieces(vpa_buf_text(&text), text.len, 1000, 1 << 14, &err), -_i);
    ck_assert_int_eq(series_count, 1 - _i);
    if (_i > 0)
        ck_assert_str_eq(err.text,
                         "cannot get timeseries for cpu: bad_response: a series is too long");
}

/* A text that is cut anywhere is an error, never a read beyond its end. */
TEST(cut_anywhere) {
    static const char whole[] = HEAD "[" ONE "," ONE "]}}";

    for (size_t len = 0; len < sizeof(whole) - 1; len++) {
        char *copy = malloc(len + 1); /* the sanitizer knows where it ends */
        struct vpa_error err = {0};

        memcpy(copy, whole, len);
        ck_assert_int_eq(prom_parse_answer(PROM_CPU, 200, copy, len, on_series, NULL, &err), -1);
        free(copy);
    }
}

#define SERIES(metric, values) HEAD "[{\"metric\":" metric ",\"values\":" values "}]}}"
#define SAMPLE(time, value) SERIES("{}", "[[" time "," value "]]")
#define BAD "cannot get timeseries for cpu: "

/* An answer whole: what is given of it, or why not. */
static const struct {
    const char *name, *body;
    const char *seen;
    const char *error; /* NULL: none */
    int status;        /* 0: 200 */
} wholes[] = {
    {"nothing", SERIES("{}", "[]"), "{}\n", NULL, 0},
    {"no members", HEAD "[{}]}}", "{}\n", NULL, 0},
    {"null values", SERIES("{}", "null"), "{}\n", NULL, 0},
    {"a name alone", SERIES("{\"__name__\":\"up\"}", "[]"), "up\n", NULL, 0},
    {"a name and labels", SERIES("{\"z\":\"1\",\"__name__\":\"up\",\"b\":\"q\\\"\"}", "[]"),
     "up{b=\"q\\\"\", z=\"1\"}\n", NULL, 0},
    {"labels alone", SERIES("{\"b\":\"2\"}", "[]"), "{b=\"2\"}\n", NULL, 0},
    {"samples in order", SERIES("{}", "[[3,\"1.5\"],[1,\"-2\"],[2,\"1e3\"]]"),
     "{} 3000=1.5 1000=-2 2000=1000\n", NULL, 0},
    {"no figures", SERIES("{}", "[[1,\"NaN\"],[2,\"+Inf\"],[3,\"-Inf\"]]"),
     "{} 1000=nan 2000=inf 3000=-inf\n", NULL, 0},
    {"another status that is fine", SAMPLE("1", "\"2\""), "{} 1000=2\n", NULL, 201},
    {"the last status that is fine", SAMPLE("1", "\"2\""), "{} 1000=2\n", NULL, 299},
    /* times */
    {"decimals", SAMPLE("1.5", "\"0\""), "{} 1500=0\n", NULL, 0},
    {"two decimals", SAMPLE("1.05", "\"0\""), "{} 1050=0\n", NULL, 0},
    {"decimals are cut", SAMPLE("12.0349", "\"0\""), "{} 12034=0\n", NULL, 0},
    {"below zero", SAMPLE("-12.0349", "\"0\""), "{} -12034=0\n", NULL, 0},
    {"zero", SAMPLE("0", "\"0\""), "{} 0=0\n", NULL, 0},
    {"the last time", SAMPLE("9223372036854775.807", "\"0\""), "{} 9223372036854775807=0\n", NULL,
     0},
    {"beyond the last", SAMPLE("9223372036854775.808", "\"0\""), "", BAD "invalid sample time", 0},
    {"seconds beyond it", SAMPLE("9223372036854776", "\"0\""), "", BAD "invalid sample time", 0},
    {"round the range", SAMPLE("18446744073709551617", "\"0\""), "", BAD "invalid sample time", 0},
    {"an exponent", SAMPLE("1e3", "\"0\""), "", BAD "invalid sample time", 0},
    {"a text for a time", SAMPLE("\"1\"", "\"0\""), "", BAD "invalid sample time", 0},
    /* samples */
    {"one of a pair", SERIES("{}", "[[1]]"), "", BAD "sample is not a pair of time and value", 0},
    {"three of a pair", SERIES("{}", "[[1,\"2\",3]]"), "",
     BAD "sample is not a pair of time and value", 0},
    {"no pair", SERIES("{}", "[{\"a\":1,\"b\":\"2\"}]"), "",
     BAD "sample is not a pair of time and value", 0},
    {"a number for a value", SAMPLE("1", "2"), "", BAD "sample value is number, not a string", 0},
    {"no figure", SAMPLE("1", "\"x\""), "", BAD "sample value: ", 0},
    {"the second is bad", SERIES("{}", "[[1,\"2\"],7]"), "",
     BAD "sample is not a pair of time and value", 0},
    /* series */
    {"a number for a series", HEAD "[7]}}", "", BAD "series is number, not an object", 0},
    {"a number for labels", SERIES("7", "[]"), "", BAD "metric: ", 0},
    {"an object of values", SERIES("{}", "{}"), "", BAD "values is object, not an array", 0},
    {"a text of values", SERIES("{}", "\"\""), "", BAD "values is string, not an array", 0},
    {"a bad series", HEAD "[{]}]}}", "", BAD "bad_response: ", 0},
    /* what is around them */
    {"no content", "", "", BAD "no content", 204},
    {"no answer", "", "", BAD "client_error: client error: 404", 404},
    {"first of the strangers", "", "", BAD "bad_response: bad response code 300", 300},
    {"last of the strangers", "", "", BAD "bad_response: bad response code 399", 399},
    {"a redirect to nowhere", "", "", BAD "bad_response: bad response code 308", 308},
    {"before all", "", "", BAD "bad_response: bad response code 199", 199},
    {"behind all", "", "", BAD "bad_response: bad response code 600", 600},
    {"a client's fault", "", "", BAD "client_error: client error: 401", 401},
    {"its last", "", "", BAD "client_error: client error: 499", 499},
    {"the server's fault", "", "", BAD "server_error: server error: 500", 500},
    {"its last one", "", "", BAD "server_error: server error: 599", 599},
    {"no text", "", "", BAD "bad_response: ", 0},
    {"a number", "7", "", BAD "bad_response: body is number, not an object", 0},
    {"an error",
     "{\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"too long\",\"data\":{}}", "",
     BAD "timeout: too long", 0},
    {"an error without words", "{\"status\":\"error\"}", "", BAD ": ", 400},
    {"a refusal", "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"what\"}", "",
     BAD "bad_data: what", 400},
    {"another refusal", "{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"what\"}", "",
     BAD "execution: what", 422},
    {"success that is none", SAMPLE("1", "\"2\""), "",
     BAD "bad_response: inconsistent body for response code", 400},
    {"nor is this", SAMPLE("1", "\"2\""), "",
     BAD "bad_response: inconsistent body for response code", 422},
    {"no data", "{\"status\":\"success\"}", "", BAD "data is absent, not an object", 0},
    {"a list of data", "{\"data\":[]}", "", BAD "data is array, not an object", 0},
    {"a vector", "{\"data\":{\"resultType\":\"vector\",\"result\":[]}}", "",
     "expected query to return a matrix; got result type model.Vector", 0},
    {"a scalar", "{\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"2\"]}}", "",
     "expected query to return a matrix; got result type *model.Scalar", 0},
    {"a text", "{\"data\":{\"resultType\":\"string\",\"result\":[1,\"2\"]}}", "",
     BAD "unexpected value type \"string\"", 0},
    {"no type", "{\"data\":{\"result\":[]}}", "", BAD "unexpected value type \"\"", 0},
    {"no result", "{\"data\":{\"resultType\":\"matrix\"}}", "",
     BAD "result is absent, not an array", 0},
    {"an object for a result", "{\"data\":{\"resultType\":\"matrix\",\"result\":{\"a\":[1]}}}", "",
     BAD "result is object, not an array", 0},
    {"names alike",
     "{\"dat\":1,\"dota\":{},\"datas\":2,\"data\":{\"resultType\":\"matrix\",\"results\":7,"
     "\"rosult\":8,\"resul\":9,\"result\":[{}]},\"data2\":3}",
     "{}\n", NULL, 0},
    {"blanks everywhere",
     "\t{\n\"data\" :\r{ \"resultType\"\t:\"matrix\"\n,\"n\" : 1 , \"result\" : [\t{\"metric\" : { "
     "} }\r,"
     "\n{\"values\":[ ] } ]\t}\n}\r\n",
     "{}\n{}\n", NULL, 0},
};

TEST_EACH(an_answer_is_read_whole, wholes) {
    const char *want = wholes[_i].error, *name = wholes[_i].name;
    int status = wholes[_i].status ? wholes[_i].status : 200;
    struct vpa_error err = {0};
    int result = prom_parse_answer(PROM_CPU, status, wholes[_i].body, strlen(wholes[_i].body),
                                   on_series, NULL, &err);

    ck_assert_msg(result == (want ? -1 : 0), "%s: %d %s", name, result, err.text);
    ck_assert_msg(strcmp(vpa_buf_text(&seen), wholes[_i].seen) == 0, "%s: %s", name,
                  vpa_buf_text(&seen));
    if (status == 200)
        check_pieces(name, wholes[_i].body);
    if (!want)
        return;
    ck_assert_msg(err.code == VPA_INVALID, "%s: %d", name, err.code);
    /* What the parser below says of it is its own affair. */
    if (strlen(want) > 2 && strcmp(want + strlen(want) - 2, ": ") == 0 && status == 200)
        ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0 && err.text[strlen(want)],
                      "%s: %s", name, err.text);
    else
        ck_assert_msg(strcmp(err.text, want) == 0, "%s: %s", name, err.text);
}

TEST(who_reads_may_end_it) {
    static const char body[] = HEAD "[" ONE "," ONE "," ONE "]}}";
    struct vpa_error err;

    refuse_at = 2;
    ck_assert_int_eq(
        prom_parse_answer(PROM_LABELS, 200, body, sizeof(body) - 1, on_series, NULL, &err), -1);
    ck_assert_int_eq(err.code, VPA_DENIED);
    ck_assert_str_eq(err.text, "refused");
    ck_assert_str_eq(vpa_buf_text(&seen), "{a=\"1\"} 1000=2 2000=3\n{a=\"1\"} 1000=2 2000=3\n");
}

/* The list may be long, what is around it may not. */
TEST_TIMES(what_is_around_the_list_has_a_limit, 4) {
    static const size_t limit = 1 << 20;
    static const struct {
        size_t more;
        bool list;
        int result;
    } cases[] = {{0, false, -1}, {1, false, -1}, {0, true, 0}, {1, true, -1}};
    static const char head[] = "{\"data\":{\"resultType\":\"matrix\"", end[] = "},\"x\":\"";
    struct vpa_error err = {0};
    vpa_auto_buf text = {0};
    size_t own; /* what is not filled */

    vpa_buf_init(&text, 3 * limit);
    vpa_buf_puts(&text, head);
    if (cases[_i].list)
        vpa_buf_puts(&text, ",\"result\":[");
    own = text.len + (cases[_i].list ? 1 : 0) + strlen(end) + 2;
    for (int n = 0; cases[_i].list && n < 200000; n++)
        vpa_buf_puts(&text, n ? ",{}" : "{}");
    if (cases[_i].list)
        vpa_buf_putc(&text, ']');
    vpa_buf_puts(&text, end);
    for (size_t n = own; n < limit + cases[_i].more; n++)
        vpa_buf_putc(&text, 'x');
    vpa_buf_puts(&text, "\"}");
    vpa_buf_release(&seen);
    vpa_buf_init(&seen, 1 << 21);
    ck_assert_int_eq(
        prom_parse_answer(PROM_MEMORY, 200, vpa_buf_text(&text), text.len, on_series, NULL, &err),
        cases[_i].result);
    ck_assert_int_eq(series_count, cases[_i].list ? 200000 : 0);
    if (cases[_i].more) {
        ck_assert_int_eq(err.code, VPA_LIMIT);
        ck_assert_str_eq(err.text, "cannot get timeseries for memory: bad_response: answer without "
                                   "a list of series is too long");
    } else if (cases[_i].result < 0) {
        ck_assert_str_eq(err.text,
                         "cannot get timeseries for memory: result is absent, not an array");
    }
}

int main(void)
{
    return run_tests_within(60, "recommender_prom_answer", setup, teardown);
}
