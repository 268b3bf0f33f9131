/* The JSON writer: structure, escapes, numbers. */
#include "json_helper.h"

#include <float.h>
#include <math.h>

static const struct {
    const char *text, *escaped;
} strings[] = {
    {"", "\"\""},
    {"plain", "\"plain\""},
    {"a\"b\\c/d", "\"a\\\"b\\\\c/d\""},
    {"\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
    {"\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\""},
    {"<a&b>", "\"\\u003ca\\u0026b\\u003e\""},
    {"\xc3\xa9", "\"\xc3\xa9\""},
    {"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", "\"\\u2028\\u2029\xe2\x80\xaa\""},
    {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
    {"\xff", "\"\\ufffd\""},
    {"\x80", "\"\\ufffd\""},
    {"\xc3", "\"\\ufffd\""},
    {"\xc0\x80", "\"\\ufffd\\ufffd\""},
    {"\xe0\x9f\xbf", "\"\\ufffd\\ufffd\\ufffd\""},
    {"\xe0\xa0\x80", "\"\xe0\xa0\x80\""},
    {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
    {"\xed\x9f\xbf", "\"\xed\x9f\xbf\""},
    {"\xf0\x8f\xbf\xbf", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
    {"\xf0\x90\x80\x80", "\"\xf0\x90\x80\x80\""},
    {"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""},
    {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
    {"\xf5\x80", "\"\\ufffd\\ufffd\""},
    {"\xe2\x82", "\"\\ufffd\\ufffd\""},
    {"\xe2\x82\x7f", "\"\\ufffd\\ufffd\x7f\""},
    {"\xe2\x82\xc0", "\"\\ufffd\\ufffd\\ufffd\""},
    {"\xe2\x82z", "\"\\ufffd\\ufffdz\""},
    {"\xc3z", "\"\\ufffdz\""},
};

TEST_EACH(escapes, strings) {
    struct vpa_buf buf;

    vpa_buf_init(&buf, 1000);
    vpa_json_escape(&buf, strings[_i].text);
    ck_assert_str_eq(vpa_buf_text(&buf), strings[_i].escaped);
    vpa_buf_release(&buf);
}

static const struct {
    double x;
    const char *text;
} doubles[] = {
    {0, "0"},
    {-0.0, "-0"},
    {1, "1"},
    {-1, "-1"},
    {0.1, "0.1"},
    {-0.25, "-0.25"},
    {100, "100"},
    {4.00012, "4.00012"},
    {123.456, "123.456"},
    {0.000001, "0.000001"},
    {0.00001234, "0.00001234"},
    {9.999999e-7, "9.999999e-7"},
    {1e-7, "1e-7"},
    {1.5e-10, "1.5e-10"},
    {1e20, "100000000000000000000"},
    {123456789012345680000.0, "123456789012345680000"},
    {1e21, "1e+21"},
    {1.2676506002282294e+30, "1.2676506002282294e+30"},
    {9007199254740991, "9007199254740991"},
    {9007199254740992, "9007199254740992"},
    {9007199254740994, "9007199254740994"},
    {0.30000000000000004, "0.30000000000000004"},
    {1.0 / 3, "0.3333333333333333"},
    {5e-324, "5e-324"},
    {2.2250738585072014e-308, "2.2250738585072014e-308"},
    {DBL_MAX, "1.7976931348623157e+308"},
    {0x1p-44, "5.684341886080802e-14"},
    {0x1p-1022, "2.2250738585072014e-308"},
    {0x1p80, "1.2089258196146292e+24"},
    {99999999999999990.0, "99999999999999980"},
    {1.5e300, "1.5e+300"},
};

TEST_EACH(formats_doubles, doubles) {
    struct vpa_buf buf;

    vpa_buf_init(&buf, 1000);
    vpa_json_format_double(&buf, doubles[_i].x);
    ck_assert_str_eq(vpa_buf_text(&buf), doubles[_i].text);
    vpa_buf_release(&buf);
}

/* Whatever the double, the text reads back to it and no shorter text does. */
TEST_TIMES(doubles_round_trip, 3) {
    uint64_t state = 88172645463325252u + (uint64_t)_i;
    struct vpa_buf buf;

    vpa_buf_init(&buf, 1000);
    for (int i = 0; i < 20000; i++) {
        union {
            uint64_t bits;
            double x;
        } u;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u.bits = i % 3 ? state : state & ~(((uint64_t)1 << 52) - 1); /* also powers of two */
        if (!isfinite(u.x))
            continue;
        vpa_buf_clear(&buf);
        vpa_json_format_double(&buf, u.x);
        ck_assert_msg(strtod(vpa_buf_text(&buf), NULL) == u.x, "%a", u.x);
    }
    vpa_buf_release(&buf);
}

TEST(writes_structure) {
    struct vpa_json_writer w;
    struct vpa_buf buf;
    struct vpa_quantity q = vpa_quantity_milli(1500);

    vpa_buf_init(&buf, 4096);
    vpa_json_writer_init(&w, &buf);
    ck_assert(!vpa_json_writer_done(&w));
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "a", "x");
    vpa_json_member_string(&w, "null", NULL);
    vpa_json_member_string_opt(&w, "no", NULL);
    vpa_json_member_string_opt(&w, "no", "");
    vpa_json_member_string_opt(&w, "opt", "y");
    vpa_json_member_int(&w, "n", INT64_MIN);
    vpa_json_member_int_opt(&w, "no", 0);
    vpa_json_member_int_opt(&w, "m", 7);
    vpa_json_member_bool(&w, "t", true);
    vpa_json_member_bool(&w, "f", false);
    vpa_json_member_array(&w, "list");
    vpa_json_put_uint(&w, UINT64_MAX);
    vpa_json_put_int(&w, 0);
    vpa_json_put_double(&w, 0.5);
    vpa_json_put_null(&w);
    vpa_json_open_object(&w);
    vpa_json_close_object(&w);
    vpa_json_open_array(&w);
    vpa_json_close_array(&w);
    vpa_json_put_raw(&w, "{\"r\":1}", 7);
    vpa_json_close_array(&w);
    vpa_json_member_quantity(&w, "q", &q);
    vpa_json_member_time(&w, "t0", VPA_TIME_UNSET);
    vpa_json_member_time(&w, "t1", vpa_time_from_unix(0, 0));
    vpa_json_member_micro_time(&w, "m0", VPA_TIME_UNSET);
    vpa_json_member_micro_time(&w, "m1", vpa_time_from_unix(0, 1000));
    ck_assert(!vpa_json_writer_done(&w));
    vpa_json_close_object(&w);
    ck_assert(vpa_json_writer_done(&w));
    ck_assert_str_eq(vpa_buf_text(&buf),
                     "{\"a\":\"x\",\"null\":null,\"opt\":\"y\",\"n\":-9223372036854775808,\"m\":7,"
                     "\"t\":true,\"f\":false,\"list\":[18446744073709551615,0,0.5,null,{},[],"
                     "{\"r\":1}],\"q\":\"1500m\",\"t0\":null,\"t1\":\"1970-01-01T00:00:00Z\","
                     "\"m0\":null,\"m1\":\"1970-01-01T00:00:00.000001Z\"}");
    vpa_buf_release(&buf);
}

TEST(writes_absent_nodes_as_null) {
    ck_assert_str_eq(text_of(NULL), "null");
    ck_assert_str_eq(text_of(json_of("[true,false,null]")), "[true,false,null]");
}

/* What Plumb would do wrong by itself stops the program; input cannot get here. */
TEST_ABORTS(misuse_aborts, 3) {
    struct vpa_json_writer w;
    struct vpa_buf buf;

    vpa_buf_init(&buf, 100);
    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    if (_i == 0)
        vpa_json_put_null(&w); /* no key */
    else if (_i == 1)
        vpa_json_close_array(&w);
    else
        vpa_json_open_array(&w);
}

int main(void)
{
    return run_tests("json_writer", NULL, release_arena);
}
