/* The JSON reader: what is JSON, what is not, and what is found in it. */
#include "json_helper.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

static const struct {
    const char *name, *text, *same; /* same: as written again; NULL: as text */
} good[] = {
    {"null", "null", NULL},
    {"true", " true\n", "true"},
    {"false", "\tfalse\r", "false"},
    {"empty object", "{ }", "{}"},
    {"empty array", "[\n]", "[]"},
    {"empty string", "\"\"", NULL},
    {"number texts stay", "[0,-0,1.50,1e3,1E+3,-2.5e-7,12345678901234567890]", NULL},
    {"very long number",
     "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345", NULL},
    {"nested", "{\"a\":[1,{\"b\":[[]]},{}],\"c\":{\"d\":null}}", NULL},
    {"escapes", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
    {"unicode escape", "\"\\u00e9\\u20AC\"", "\"\xc3\xa9\xe2\x82\xac\""},
    {"surrogate pair", "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
    {"lone high surrogate", "\"\\ud83dx\"", "\"\xef\xbf\xbdx\""},
    {"lone low surrogate", "\"\\ude00\"", "\"\xef\xbf\xbd\""},
    {"two high surrogates", "\"\\ud83d\\ud83d\\ude00\"", "\"\xef\xbf\xbd\xf0\x9f\x98\x80\""},
    {"high surrogate and another escape", "\"\\ud83d\\u0041\"", "\"\xef\xbf\xbd\x41\""},
    {"high surrogate and a character above", "\"\\ud83d\\ue000\"", "\"\xef\xbf\xbd\xee\x80\x80\""},
    {"NUL is the replacement character", "\"a\\u0000b\"", "\"a\xef\xbf\xbd\x62\""},
    {"NUL in a name", "{\"a\\u0000\":1,\"a\":2}", "{\"a\xef\xbf\xbd\":1,\"a\":2}"},
    {"high surrogate and NUL", "\"\\ud83d\\u0000\"", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    {"high surrogate and no digits behind", "\"\\ud83d\\n\"", "\"\xef\xbf\xbd\\n\""},
    {"bad UTF-8 is left to the writer", "\"\xff\"", "\"\\ufffd\""},
    {"last of a repeated member", "{\"a\":1,\"b\":2,\"a\":3}", "{\"b\":2,\"a\":3}"},
    {"letter case differs", "{\"a\":1,\"A\":2}", NULL},
    {"repeated three times", "{\"a\":1,\"a\":2,\"a\":{\"a\":1,\"a\":2}}", "{\"a\":{\"a\":2}}"},
    {"many members, two repeated",
     "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,\"k\":11,"
     "\"l\":12,\"m\":13,\"a\":14,\"c\":\"\\n\"}",
     "{\"b\":2,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,\"k\":11,\"l\":12,"
     "\"m\":13,\"a\":14,\"c\":\"\\n\"}"},
};

TEST_EACH(reads, good) {
    const char *want = good[_i].same ? good[_i].same : good[_i].text;

    ck_assert_msg(strcmp(text_of(json_of(good[_i].text)), want) == 0, "%s: %s", good[_i].name,
                  text_of(json_of(good[_i].text)));
}

static const struct {
    const char *text, *error;
} bad[] = {
    {"", "line 1 column 1: unexpected end of text"},
    {"  ", "line 1 column 3: unexpected end of text"},
    {"\n\n x", "line 3 column 2: unexpected character"},
    {"[1,]", "line 1 column 4: unexpected character"},
    {"[,1]", "line 1 column 2: unexpected character"},
    {"[1 2]", "line 1 column 4: ',' or ']' expected"},
    {"[1}", "line 1 column 3: ',' or ']' expected"},
    {"[1", "line 1 column 3: unexpected end of text"},
    {"[", "line 1 column 2: unexpected end of text"},
    {"{", "line 1 column 2: unexpected end of text"},
    {"{\"a\"}", "line 1 column 5: ':' expected"},
    {"{\"a\"", "line 1 column 5: ':' expected"},
    {"{\"a\":}", "line 1 column 6: unexpected character"},
    {"{\"a\":1,}", "line 1 column 8: member name expected"},
    {"{\"a\":1,", "line 1 column 8: unexpected end of text"},
    {"{\"a\":1]", "line 1 column 7: ',' or '}' expected"},
    {"{a:1}", "line 1 column 2: member name expected"},
    {"{\"a:1}", "line 1 column 7: unexpected end of text in a string"},
    {"{1:1}", "line 1 column 2: member name expected"},
    {"nul", "line 1 column 1: unexpected character"},
    {"nulL", "line 1 column 1: unexpected character"},
    {"truE", "line 1 column 1: unexpected character"},
    {"falsy", "line 1 column 1: unexpected character"},
    {"True", "line 1 column 1: unexpected character"},
    {"01", "line 1 column 1: leading zero in a number"},
    {"-01", "line 1 column 2: leading zero in a number"},
    {"-", "line 1 column 2: digit expected"},
    {"+1", "line 1 column 1: unexpected character"},
    {".5", "line 1 column 1: unexpected character"},
    {"1.", "line 1 column 3: digit expected"},
    {"1.x", "line 1 column 3: digit expected"},
    {"1e", "line 1 column 3: digit expected"},
    {"1e+", "line 1 column 4: digit expected"},
    {"1e-x", "line 1 column 4: digit expected"},
    {"NaN", "line 1 column 1: unexpected character"},
    {"\"", "line 1 column 2: unexpected end of text in a string"},
    {"\"a\nb\"", "line 1 column 3: control character in a string"},
    {"\"\x01\"", "line 1 column 2: control character in a string"},
    {"\"\\", "line 1 column 3: unexpected end of text in a string"},
    {"\"\\x\"", "line 1 column 2: unknown escape in a string"},
    {"\"\\u12\"", "line 1 column 2: \\u needs four hex digits"},
    {"\"\\u12g4\"", "line 1 column 2: \\u needs four hex digits"},
    {"\"\\u000\"", "line 1 column 2: \\u needs four hex digits"},
    {"{} {}", "line 1 column 4: text behind the value"},
    {"1 2", "line 1 column 3: text behind the value"},
    {"\xef\xbb\xbf{}", "line 1 column 1: unexpected character"},
    {"/* c */ 1", "line 1 column 1: unexpected character"},
    {"\v1", "line 1 column 1: unexpected character"},
};

TEST_EACH(refuses, bad) {
    const struct vpa_json *root = (const void *)&arena;
    struct vpa_error err;

    ck_assert_int_lt(vpa_json_parse(&arena, bad[_i].text, strlen(bad[_i].text), &root, &err), 0);
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_str_eq(err.text, bad[_i].error);
    ck_assert_ptr_eq(root, (const void *)&arena);
    ck_assert_int_lt(vpa_json_parse(&arena, bad[_i].text, strlen(bad[_i].text), &root, NULL), 0);
}

TEST(refuses_nul_bytes) {
    const struct vpa_json *root;
    struct vpa_error err;

    ck_assert_int_lt(vpa_json_parse(&arena, "\"a\0b\"", 5, &root, &err), 0);
    ck_assert_int_lt(vpa_json_parse(&arena, "\"\\\0\"", 4, &root, &err), 0);
    ck_assert_int_lt(vpa_json_parse(&arena, "1\0", 2, &root, &err), 0);
    ck_assert_int_lt(vpa_json_parse(&arena, NULL, 0, &root, &err), 0);
}

TEST(bounds_depth) {
    char text[2 * VPA_JSON_DEPTH_MAX + 3];
    const struct vpa_json *root;
    struct vpa_error err;

    memset(text, '[', VPA_JSON_DEPTH_MAX);
    memset(text + VPA_JSON_DEPTH_MAX, ']', VPA_JSON_DEPTH_MAX);
    ck_assert_int_eq(vpa_json_parse(&arena, text, 2 * VPA_JSON_DEPTH_MAX, &root, &err), 0);
    memset(text, '[', VPA_JSON_DEPTH_MAX + 1);
    memset(text + VPA_JSON_DEPTH_MAX + 1, ']', VPA_JSON_DEPTH_MAX + 1);
    ck_assert_int_lt(vpa_json_parse(&arena, text, 2 * VPA_JSON_DEPTH_MAX + 2, &root, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "nested too deeply"));
}

TEST(the_text_need_not_live) {
    char text[] = "{\"name\":\"value\",\"n\":12.50}trailing";
    const struct vpa_json *root;
    struct vpa_error err;

    ck_assert_int_eq(vpa_json_parse(&arena, text, strlen(text) - 8, &root, &err), 0);
    memset(text, 'x', sizeof(text));
    ck_assert_str_eq(vpa_json_string(vpa_json_find(root, "name")), "value");
    ck_assert_str_eq(vpa_json_number_text(vpa_json_find(root, "n")), "12.50");
}

TEST(finds) {
    const struct vpa_json *root =
        json_of("{\"a\":{\"b\":{\"c\":\"x\"}},\"ab\":1,\"n\":null,\"l\":[{\"b\":1}],\"\":2}");
    const struct vpa_json *blocker;

    ck_assert_str_eq(vpa_json_string(vpa_json_at(root, "a.b.c")), "x");
    ck_assert_ptr_null(vpa_json_at(root, "a.b.d"));
    ck_assert_ptr_null(vpa_json_at(root, "a.x.c"));
    ck_assert_ptr_null(vpa_json_at(root, "a.b.c.d"));
    ck_assert_ptr_null(vpa_json_at(root, "l.b"));
    ck_assert_ptr_null(vpa_json_at(NULL, "a"));
    ck_assert_ptr_null(vpa_json_find(root, "b"));
    ck_assert_ptr_null(vpa_json_find(root, "A"));
    ck_assert_ptr_null(vpa_json_find(vpa_json_find(root, "l"), "b"));
    ck_assert_ptr_nonnull(vpa_json_find(root, ""));
    ck_assert_ptr_null(vpa_json_walk(root, "l.b", &blocker));
    ck_assert_ptr_eq(blocker, vpa_json_find(root, "l"));
    ck_assert_ptr_null(vpa_json_walk(root, "n.b", &blocker));
    ck_assert_ptr_null(blocker);
    ck_assert_ptr_null(vpa_json_walk(root, "missing.b", &blocker));
    ck_assert_ptr_null(blocker);
}

TEST(finds_by_any_letter_case) {
    const char *text = "{\"Spec\":{\"UPDATEmode\":1,\"updateMode\":2},\"spec\":{\"upDateMode\":3,"
                       "\"x\":[{\"Y\":4}]},\"spe\":5,\"\":6,\"@a\":7,\"[b\":8,\"\u00e4c\":9}";
    const struct vpa_json *root;
    struct vpa_error err;

    ck_assert_int_eq(vpa_json_parse_folded(&arena, text, strlen(text), &root, &err), 0);
    ck_assert_str_eq(vpa_json_number_text(vpa_json_at(root, "SPEC.updateMode")), "3");
    ck_assert_str_eq(vpa_json_number_text(vpa_json_find(root, "sPe")), "5");
    ck_assert_ptr_null(vpa_json_find(root, "sp"));
    ck_assert_str_eq(vpa_json_number_text(vpa_json_find(root, "")), "6");
    ck_assert_str_eq(vpa_json_number_text(vpa_json_at(root, "")), "6");
    ck_assert_ptr_null(vpa_json_find(root, "`a")); /* differs from @a like a from A */
    ck_assert_ptr_null(vpa_json_find(root, "{b"));
    ck_assert_str_eq(vpa_json_number_text(vpa_json_find(root, "@A")), "7");
    ck_assert_str_eq(vpa_json_number_text(vpa_json_find(root, "\u00e4C")), "9");
    ck_assert_ptr_null(vpa_json_find(root, "\u00c4c"));
    ck_assert_str_eq(
        vpa_json_number_text(vpa_json_find(vpa_json_first(vpa_json_at(root, "spec.x")), "y")), "4");
    ck_assert_ptr_null(vpa_json_find(json_of(text), "SPEC"));
    ck_assert_int_lt(vpa_json_parse_folded(&arena, "{", 1, &root, &err), 0);
}

#define TEN "\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"10\":1,"
#define TWELVE TEN "\"11\":1,\"12\":1,"

/* Repeated members of a folded document: objects become one, of everything else the last counts. */
static const struct {
    const char *text, *result;
} merges[] = {
    {"{\"a\":{\"x\":1,\"y\":1},\"a\":{\"y\":2,\"z\":3}}", "{\"a\":{\"x\":1,\"y\":2,\"z\":3}}"},
    {"{\"a\":{\"x\":1},\"a\":{}}", "{\"a\":{\"x\":1}}"},
    {"{\"a\":{},\"a\":{\"x\":1}}", "{\"a\":{\"x\":1}}"},
    {"{\"a\":{\"x\":1},\"a\":null}", "{\"a\":null}"},
    {"{\"a\":{\"x\":1},\"a\":5,\"a\":{\"y\":1}}", "{\"a\":{\"y\":1}}"},
    {"{\"a\":[1],\"a\":[2]}", "{\"a\":[2]}"},
    {"{\"a\":5,\"a\":{\"x\":1}}", "{\"a\":{\"x\":1}}"},
    {"{\"a\":{\"b\":{\"x\":1}},\"a\":{\"b\":{\"y\":2}}}", "{\"a\":{\"b\":{\"x\":1,\"y\":2}}}"},
    {"{" TWELVE "\"a\":{\"x\":1},\"a\":{\"y\":2},\"a\":{\"x\":3}}",
     "{" TWELVE "\"a\":{\"y\":2,\"x\":3}}"},
    {"{" TWELVE "\"a\":{\"x\":1},\"a\":5,\"a\":{\"y\":2},\"b\":1,\"b\":2}",
     "{" TWELVE "\"a\":{\"y\":2},\"b\":2}"},
    {"{" TWELVE "\"0\":{\"x\":1},\"0\":{\"x\":2}}", "{" TWELVE "\"0\":{\"x\":2}}"},
    {"{\"a\":[{\"b\":1,\"b\":2}],\"c\":{\"d\":{\"e\":1,\"e\":2}}}",
     "{\"a\":[{\"b\":2}],\"c\":{\"d\":{\"e\":2}}}"},
    {"{\"a\":{\"b\":{\"x\":1}},\"a\":{\"b\":null,\"b\":{\"y\":2}}}", "{\"a\":{\"b\":{\"y\":2}}}"},
};

TEST_EACH(merges_repeated_objects, merges) {
    const struct vpa_json *root;
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_json_parse_folded(&arena, merges[_i].text, strlen(merges[_i].text), &root, &err), 0);
    ck_assert_str_eq(text_of(root), merges[_i].result);
}

TEST(keeps_repetitions_on_demand) {
    const char *text = "{\"a\":1,\"a\":{\"b\":2,\"b\":3}}";
    const struct vpa_json *root;
    struct vpa_error err;

    ck_assert_int_eq(vpa_json_parse_repeated(&arena, text, strlen(text), &root, &err), 0);
    ck_assert_str_eq(text_of(root), text);
}

static const struct {
    const char *text, *result; /* NULL: refused */
} leavings[] = {
    {"{\"m\":[1,[2]],\"a\":3}", "{\"a\":3}"},
    {"{\"a\":{\"m\":[],\"b\":[{\"m\":[{}]}]}}", "{\"a\":{\"b\":[{}]}}"},
    {"{\"a\":1,\"m\":[\"]\",\"\\\"]\"] }", "{\"a\":1}"},
    {"{\"m\":[not JSON]}", "{}"},
    {"{\"mm\":[1],\"M\":[2]}", "{\"mm\":[1],\"M\":[2]}"},
    {"{\"l\":{\"m\":\"x\"}}", "{\"l\":{\"m\":\"x\"}}"}, /* a label, say */
    {"{\"m\":{\"m\":\"x\"},\"o\":{\"}\":\"{\"},\"a\":1}", "{\"a\":1}"},
    {"{\"mo\":[],\"o\":[[]],\"on\":{}}", "{\"mo\":[],\"on\":{}}"},
    {"{\"m\":{\"a\":1}", NULL},
    {"{\"m\":1,\"m\":[2]}", "{\"m\":1}"},
    {"[\"m\",[1]]", "[\"m\",[1]]"},
    {"[{\"m\":1},[2]]", "[{\"m\":1},[2]]"},
    {"[1]", "[1]"},
    {"{\"m\":[1}", NULL},
    {"{\"m\":[\"", NULL},
    {"{\"m\":[] 1}", NULL},
};

TEST_EACH(leaves_a_member_out, leavings) {
    static const char *const left_out[] = {"o", "m", NULL};
    const char *text = leavings[_i].text;
    const struct vpa_json *root;
    struct vpa_error err;
    int result = vpa_json_parse_without(&arena, text, strlen(text), left_out, &root, &err);

    ck_assert_int_eq(result, leavings[_i].result ? 0 : -1);
    if (leavings[_i].result)
        ck_assert_str_eq(text_of(root), leavings[_i].result);
    else
        ck_assert_int_eq(err.code, VPA_INVALID);
}

/* However many members there are, of three of a name the last one stays, and the order of the rest.
 * Names that share their first letter are compared, others are not. */
TEST_TIMES(the_last_of_many_stays, 7) {
    static const int counts[] = {3, 12, 13, 32, 33, 34, 80};
    vpa_auto_buf text = VPA_BUF(1 << 16), want = VPA_BUF(1 << 16);
    int count = counts[_i];

    for (int i = 0; i < count; i++) {
        int twice = i == 0 || i == count / 2 ? count - 1 : i; /* both repeat the last one's name */
        vpa_buf_printf(&text, "%s\"%c%d\":%d", i ? "," : "{", 'a' + twice % 5, twice, i);
        if (twice == i)
            vpa_buf_printf(&want, "%s\"%c%d\":%d", want.len ? "," : "{", 'a' + i % 5, i, i);
    }
    vpa_buf_putc(&text, '}');
    vpa_buf_putc(&want, '}');
    ck_assert_str_eq(text_of(json_of(vpa_buf_text(&text))), vpa_buf_text(&want));
}

/* Strings are scanned eight bytes at a time: what ends a run of plain bytes stands at each place of
 * a word, before and behind an escape. */
TEST(strings_end_anywhere) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    char text[64], want[64];
    struct vpa_error err;
    const struct vpa_json *root;

    for (int before = 0; before <= 17; before++) {
        for (int behind = 0; behind <= 17; behind++) {
            snprintf(text, sizeof(text), "\"%.*s\\n%.*s\"", before, letters, behind, letters);
            snprintf(want, sizeof(want), "%.*s\n%.*s", before, letters, behind, letters);
            ck_assert_str_eq(vpa_json_string(json_of(text)), want);
        }
        snprintf(text, sizeof(text), "\"%.*s\x80\xff\"", before, letters);
        snprintf(want, sizeof(want), "%.*s\x80\xff", before, letters);
        ck_assert_str_eq(vpa_json_string(json_of(text)), want);
        for (char control = 1; control < ' '; control++) {
            int len =
                snprintf(text, sizeof(text), "\"%.*s%c%s\"", before, letters, control, letters);
            ck_assert_int_lt(vpa_json_parse(&arena, text, (size_t)len, &root, &err), 0);
        }
        ck_assert_int_lt(vpa_json_parse(&arena, text, (size_t)before + 1, &root, &err), 0);
    }
}

/* Many repetitions must not take a time that grows with their square. */
TEST(many_repetitions_are_cheap) {
    const int count = 100000;
    const struct vpa_json *root;
    struct vpa_error err;
    struct vpa_buf buf;

    vpa_buf_init(&buf, 1 << 24);
    for (int i = 0; i < count; i++)
        vpa_buf_printf(&buf, "%s\"a\":{\"k%d\":1}", i ? "," : "{", i);
    vpa_buf_putc(&buf, '}');
    ck_assert_int_eq(vpa_json_parse_folded(&arena, vpa_buf_text(&buf), buf.len, &root, &err), 0);
    ck_assert_uint_eq(vpa_json_count(root), 1);
    ck_assert_uint_eq(vpa_json_count(vpa_json_first(root)), (size_t)count);
    vpa_buf_release(&buf);
}

/* Seconds of processor time to read a folded nest: at each level a repeated chain down to the
 * innermost object, whose members must not be gone through again for each of them. */
static double nest_seconds(const char *name, int depth, int width)
{
    const struct vpa_json *root;
    struct vpa_error err;
    struct vpa_buf buf;

    vpa_buf_init(&buf, 1 << 24);
    for (int i = 0; i < depth; i++)
        vpa_buf_puts(&buf, "{\"a\":");
    for (int i = 0; i < width; i++)
        vpa_buf_printf(&buf, "%s\"k%d\":1", i ? "," : "{", i);
    vpa_buf_putc(&buf, '}');
    for (int i = 0; i < depth; i++) {
        vpa_buf_printf(&buf, ",\"%s\":", name);
        for (int k = 0; k < i; k++)
            vpa_buf_puts(&buf, "{\"a\":");
        vpa_buf_printf(&buf, "{\"z\":%d}", i);
        for (int k = 0; k < i; k++)
            vpa_buf_putc(&buf, '}');
        vpa_buf_putc(&buf, '}');
    }
    clock_t start = clock();
    ck_assert_int_eq(vpa_json_parse_folded(&arena, vpa_buf_text(&buf), buf.len, &root, &err), 0);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    for (int i = 0; i < depth; i++)
        root = vpa_json_find(root, "a");
    ck_assert_uint_eq(vpa_json_count(root), (size_t)width + (strcmp(name, "a") == 0));
    vpa_buf_release(&buf);
    return seconds;
}

TEST(nested_repetitions_are_cheap) {
    double harmless = nest_seconds("b", 200, 50000), hostile = nest_seconds("a", 200, 50000);

    ck_assert_msg(hostile < 10 * harmless, "%.3f s, without repetitions %.3f s", hostile, harmless);
}

TEST(values_are_bounded) {
    const size_t most = VPA_JSON_FOLDED_VALUES_MAX;
    const struct vpa_json *root;
    struct vpa_error err;
    struct vpa_buf buf;

    vpa_buf_init(&buf, 1 << 24);
    vpa_buf_puts(&buf, "[1");
    while (buf.len < 2 * most - 2) /* the array is a value as well */
        vpa_buf_puts(&buf, ",1");
    vpa_buf_putc(&buf, ']');
    ck_assert_int_eq(vpa_json_parse_folded(&arena, vpa_buf_text(&buf), buf.len, &root, &err), 0);
    ck_assert_uint_eq(vpa_json_count(root), most - 1);
    buf.len--;
    vpa_buf_puts(&buf, ",1]");
    ck_assert_int_eq(vpa_json_parse_folded(&arena, vpa_buf_text(&buf), buf.len, &root, &err), -1);
    ck_assert_str_eq(err.text, "line 1 column 2000000: too many values");
    vpa_buf_release(&buf);
}

TEST(iterates) {
    const struct vpa_json *root = json_of("{\"x\":[10,20,30],\"y\":\"s\"}");
    vpa_auto_buf seen = VPA_BUF(32);

    vpa_json_foreach (child, vpa_json_find(root, "x")) {
        ck_assert_ptr_null(vpa_json_name(child));
        vpa_buf_puts(&seen, vpa_json_number_text(child));
    }
    vpa_json_foreach (child, root)
        vpa_buf_puts(&seen, vpa_json_name(child));
    ck_assert_str_eq(vpa_buf_text(&seen), "102030xy");
    ck_assert_uint_eq(vpa_json_count(root), 2);
    ck_assert_uint_eq(vpa_json_count(vpa_json_find(root, "y")), 0);
    ck_assert_uint_eq(vpa_json_count(NULL), 0);
    ck_assert_ptr_null(vpa_json_name(NULL));
    ck_assert_ptr_null(vpa_json_first(NULL));
}

static const struct {
    const char *text, *type;
    enum vpa_json_type value;
} types[] = {
    {NULL, "absent", VPA_JSON_ABSENT},  {"null", "null", VPA_JSON_NULL},
    {"true", "boolean", VPA_JSON_BOOL}, {"false", "boolean", VPA_JSON_BOOL},
    {"1", "number", VPA_JSON_NUMBER},   {"\"\"", "string", VPA_JSON_STRING},
    {"[]", "array", VPA_JSON_ARRAY},    {"{}", "object", VPA_JSON_OBJECT},
};

TEST_EACH(tells_types, types) {
    const struct vpa_json *node = types[_i].text ? json_of(types[_i].text) : NULL;
    bool b = false;

    ck_assert_int_eq(vpa_json_type(node), types[_i].value);
    ck_assert_str_eq(vpa_json_type_name(node), types[_i].type);
    ck_assert_int_eq(vpa_json_is_null(node), types[_i].value <= VPA_JSON_NULL);
    ck_assert_int_eq(vpa_json_is_object(node), types[_i].value == VPA_JSON_OBJECT);
    ck_assert_int_eq(vpa_json_is_array(node), types[_i].value == VPA_JSON_ARRAY);
    ck_assert_int_eq(vpa_json_string(node) != NULL, types[_i].value == VPA_JSON_STRING);
    ck_assert_int_eq(vpa_json_number_text(node) != NULL, types[_i].value == VPA_JSON_NUMBER);
    ck_assert_int_eq(vpa_json_bool(node, &b), types[_i].value == VPA_JSON_BOOL);
    ck_assert_int_eq(b, types[_i].text && strcmp(types[_i].text, "true") == 0);
}

TEST(tells_escapes) {
    const struct vpa_json *root =
        json_of("{\"\\u0061\":\"x\",\"b\":\"\\u0031\",\"c\":[\"1\",\"\\n\"],\"d\":\"\"}");

    ck_assert(!vpa_json_string_escaped(vpa_json_find(root, "a")));
    ck_assert(vpa_json_string_escaped(vpa_json_find(root, "b")));
    ck_assert(!vpa_json_string_escaped(vpa_json_first(vpa_json_find(root, "c"))));
    ck_assert(vpa_json_string_escaped(vpa_json_next(vpa_json_first(vpa_json_find(root, "c")))));
    ck_assert(!vpa_json_string_escaped(vpa_json_find(root, "d")));
    ck_assert(!vpa_json_string_escaped(NULL));
}

static const struct {
    const char *text;
    bool is64, is32, is_double;
    int64_t n;
} numbers[] = {
    {"0", true, true, true, 0},
    {"-0", true, true, true, 0},
    {"2147483647", true, true, true, 2147483647},
    {"2147483648", true, false, true, 2147483648},
    {"-2147483648", true, true, true, -2147483648},
    {"-2147483649", true, false, true, -2147483649},
    {"9223372036854775807", true, false, true, INT64_MAX},
    {"9223372036854775808", false, false, true, 0},
    {"-9223372036854775808", true, false, true, INT64_MIN},
    {"-9223372036854775809", false, false, true, 0},
    {"1.0", false, false, true, 0},
    {"1e2", false, false, true, 0},
    {"1E2", false, false, true, 0},
    {"1e308", false, false, true, 0},
    {"1e309", false, false, false, 0},
    {"-1e309", false, false, false, 0},
    {"1e-400", false, false, true, 0},
    {"\"1\"", false, false, false, 0},
};

TEST_EACH(reads_numbers, numbers) {
    const struct vpa_json *node = json_of(numbers[_i].text);
    int64_t wide = -7;
    int32_t narrow = -7;
    double x = -7;

    ck_assert_int_eq(vpa_json_int64(node, &wide), numbers[_i].is64);
    ck_assert_int_eq(wide, numbers[_i].is64 ? numbers[_i].n : -7);
    ck_assert_int_eq(vpa_json_int32(node, &narrow), numbers[_i].is32);
    ck_assert_int_eq(narrow, numbers[_i].is32 ? numbers[_i].n : -7);
    ck_assert_int_eq(vpa_json_double(node, &x), numbers[_i].is_double);
    if (numbers[_i].is_double)
        ck_assert(x == strtod(numbers[_i].text, NULL));
}

static const struct {
    const char *a, *b;
    bool equal;
} pairs[] = {
    {"null", "null", true},
    {"null", "false", false},
    {"true", "true", true},
    {"true", "false", false},
    {"false", "false", true},
    {"1", "1.0", true},
    {"1e2", "100", true},
    {"9007199254740993", "9007199254740992", false},
    {"9007199254740993", "9007199254740993", true},
    {"1e999", "1e998", false},
    {"1e999", "1e999", true},
    {"1", "1e999", false},
    {"1.5", "1.25", false},
    {"1", "2", false},
    {"-0", "0", true},
    {"\"a\"", "\"\\u0061\"", true},
    {"\"a\"", "\"b\"", false},
    {"[1,2]", "[1,2]", true},
    {"[1,2]", "[2,1]", false},
    {"[1,2]", "[1]", false},
    {"[1]", "[1,2]", false},
    {"{\"a\":1,\"b\":[{}]}", "{\"b\":[{}],\"a\":1}", true},
    {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
    {"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false},
    {"{\"a\":null}", "{}", false},
    {"{\"a\":1}", "{\"a\":2}", false},
    {"[]", "{}", false},
};

TEST_EACH(compares, pairs) {
    const struct vpa_json *a = json_of(pairs[_i].a), *b = json_of(pairs[_i].b);

    ck_assert_int_eq(vpa_json_equal(a, b), pairs[_i].equal);
    ck_assert_int_eq(vpa_json_equal(b, a), pairs[_i].equal);
    ck_assert(!vpa_json_equal(a, NULL));
    ck_assert(vpa_json_equal(NULL, NULL));
}

static const struct vpa_json *folded_of(const char *text)
{
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    ck_assert_int_eq(vpa_json_parse_folded(&arena, text, strlen(text), &root, &err), 0);
    return root;
}

TEST(compares_names_by_their_case) {
    const struct vpa_json *both = folded_of("{\"a\":1,\"A\":2}");

    ck_assert(vpa_json_equal(both, folded_of("{\"A\":2,\"a\":1}")));
    ck_assert(!vpa_json_equal(both, folded_of("{\"A\":1,\"a\":2}")));
    ck_assert(!vpa_json_equal(folded_of("{\"a\":1}"), folded_of("{\"A\":1}")));
}

int main(void)
{
    /* for sanitizers on a busy machine */
    return run_tests_within(60, "json", NULL, release_arena);
}
