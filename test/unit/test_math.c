/* Go-exact functions, conversions and the texts of doubles. */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "vpa/base/math.h"

static uint64_t bits(double x)
{
    uint64_t n;

    memcpy(&n, &x, sizeof(n));
    return n;
}

static bool same(double a, double b)
{
    return bits(a) == bits(b) || (isnan(a) && isnan(b));
}

/* Values that Go's math.Pow gives. */
static const struct {
    const char *name;
    double x;
    int64_t n;
    double want;
} powers[] = {
    {"anything to 0", NAN, 0, 1},
    {"1 to anything", 1, INT64_MIN, 1},
    {"to 1", 0.1, 1, 0.1},
    {"NaN", NAN, 2, NAN},
    {"0 to 3", 0.0, 3, 0.0},
    {"-0 to 3", -0.0, 3, -0.0},
    {"-0 to 2", -0.0, 2, 0.0},
    {"0 to -1", 0.0, -1, INFINITY},
    {"-0 to -1", -0.0, -1, -INFINITY},
    {"-0 to -2", -0.0, -2, INFINITY},
    {"infinity to 2", INFINITY, 2, INFINITY},
    {"infinity to -2", INFINITY, -2, 0},
    {"-infinity to 3", -INFINITY, 3, -INFINITY},
    {"-infinity to -3", -INFINITY, -3, -0.0},
    {"2 to 10", 2, 10, 1024},
    {"-2 to 3", -2, 3, -8},
    {"bucket ratio to 2", 1.05, 2, 0x1.1a3d70a3d70a4p+0},
    {"overflow", 10, 400, INFINITY},
    {"underflow", 10, -400, 0},
    {"tiny to a great power", 0x1p-1000, 1000, 0},
    {"greatest exponent", 1.0000001, INT64_MAX, INFINITY},
    {"least exponent", 1.0000001, INT64_MIN, 0},
};

TEST_EACH(raises_as_go, powers) {
    ck_assert_msg(same(vpa_pow(powers[_i].x, powers[_i].n), powers[_i].want), "%s: %a",
                  powers[_i].name, vpa_pow(powers[_i].x, powers[_i].n));
}

static const struct {
    const char *name;
    double x, exp2, log;
} functions[] = {
    {"0", 0, 1, -INFINITY},
    {"1", 1, 2, 0},
    {"-1", -1, 0.5, NAN},
    {"NaN", NAN, NAN, NAN},
    {"infinity", INFINITY, INFINITY, INFINITY},
    {"-infinity", -INFINITY, 0, NAN},
    {"beyond the largest", 1024, INFINITY, 0x1.bb9d3beb8c86bp+2},
    {"below the smallest", -1075, 0, NAN},
    {"smallest", -1074, 0x1p-1074, NAN},
    {"10", 10, 1024, 0x1.26bb1bbb55516p+1},
};

TEST_EACH(exp2_and_log_at_their_edges, functions) {
    ck_assert_msg(same(vpa_exp2(functions[_i].x), functions[_i].exp2), "exp2 of %s",
                  functions[_i].name);
    ck_assert_msg(same(vpa_log(functions[_i].x), functions[_i].log), "log of %s: %a",
                  functions[_i].name, vpa_log(functions[_i].x));
}

TEST(log_of_subnormal_numbers_is_sane) {
    ck_assert_double_eq_tol(vpa_log(0x1p-1074), log(0x1p-1074), 1e-12);
    ck_assert_double_eq_tol(vpa_log_base(2, 1024), 10, 1e-12);
}

TEST(ldexp_takes_any_exponent) {
    ck_assert(vpa_ldexp(1, INT64_MAX) == INFINITY);
    ck_assert(vpa_ldexp(1, INT64_MIN) == 0);
    ck_assert(vpa_ldexp(0.75, 2) == 3);
}

static const struct {
    double x;
    int64_t trunc, hround;
} conversions[] = {
    {0, 0, 0},
    {0.5, 0, 1},
    {-0.5, 0, 0},
    {-1.5, -1, -1},
    {2.5, 2, 3},
    {1e300, INT64_MIN, INT64_MIN},
    {-1e300, INT64_MIN, INT64_MIN},
    {NAN, INT64_MIN, INT64_MIN},
    {0x1p63, INT64_MIN, INT64_MIN},
    {-0x1p63, INT64_MIN, INT64_MIN},
    {0x1.fffffffffffffp62, 9223372036854774784, 9223372036854774784},
};

TEST_EACH(converts_as_go_on_amd64, conversions) {
    ck_assert_int_eq(vpa_trunc_int64(conversions[_i].x), conversions[_i].trunc);
    ck_assert_int_eq(vpa_hround(conversions[_i].x), conversions[_i].hround);
}

static const struct {
    double x;
    const char *json, *go;
} texts[] = {
    {0, "0", "0"},
    {-0.0, "-0", "-0"},
    {1, "1", "1"},
    {-42, "-42", "-42"},
    {0.1, "0.1", "0.1"},
    {-0.15, "-0.15", "-0.15"},
    {655.36, "655.36", "655.36"},
    {123456, "123456", "123456"},
    {999999, "999999", "999999"},
    {1e6, "1000000", "1e+06"},
    {104857600, "104857600", "1.048576e+08"},
    {1234567.5, "1234567.5", "1.2345675e+06"},
    {16384000000.0, "16384000000", "1.6384e+10"},
    {1e15, "1000000000000000", "1e+15"},
    {1e20, "100000000000000000000", "1e+20"},
    {1e21, "1e+21", "1e+21"},
    {1.2676506002282294e30, "1.2676506002282294e+30", "1.2676506002282294e+30"},
    {1e-4, "0.0001", "0.0001"},
    {1e-5, "0.00001", "1e-05"},
    {1e-6, "0.000001", "1e-06"},
    {1e-7, "1e-7", "1e-07"},
    {1.5e-10, "1.5e-10", "1.5e-10"},
    {5e-324, "5e-324", "5e-324"},
    {0x1p-1022, "2.2250738585072014e-308", "2.2250738585072014e-308"},
    {0x1.fffffffffffffp1023, "1.7976931348623157e+308", "1.7976931348623157e+308"},
    {9007199254740993.0, "9007199254740992", "9.007199254740992e+15"},
    {0x1p-44, "5.684341886080802e-14", "5.684341886080802e-14"},
    {9.5367431640625e-7, "9.5367431640625e-7", "9.5367431640625e-07"},
    {0.30000000000000004, "0.30000000000000004", "0.30000000000000004"},
    {INFINITY, "+Inf", "+Inf"},
    {-INFINITY, "-Inf", "-Inf"},
    {NAN, "NaN", "NaN"},
};

TEST_EACH(prints_the_shortest_text, texts) {
    char text[VPA_DOUBLE_TEXT_MAX];

    vpa_double_format_json(texts[_i].x, text);
    ck_assert_str_eq(text, texts[_i].json);
    vpa_double_format_go(texts[_i].x, text);
    ck_assert_str_eq(text, texts[_i].go);
}

static const struct {
    const char *text;
    int code; /* 0: value, else enum vpa_code */
    double value;
} parses[] = {
    {"0", 0, 0},
    {"-0", 0, -0.0},
    {"+1.5", 0, 1.5},
    {".5", 0, 0.5},
    {"5.", 0, 5},
    {"1e3", 0, 1000},
    {"1E-3", 0, 0.001},
    {"1_000.5_0", 0, 1000.5},
    {"1e1_0", 0, 1e10},
    {"0x1p4", 0, 16},
    {"-0X1.8P+1", 0, -3},
    {"0x_1p0", 0, 1},
    {"inf", 0, INFINITY},
    {"+Infinity", 0, INFINITY},
    {"-INF", 0, -INFINITY},
    {"NaN", 0, NAN},
    {"1e-400", 0, 0},
    {"1e400", VPA_LIMIT, 0},
    {"-1e400", VPA_LIMIT, 0},
    {"", VPA_INVALID, 0},
    {"+", VPA_INVALID, 0},
    {".", VPA_INVALID, 0},
    {"1e", VPA_INVALID, 0},
    {"1e+", VPA_INVALID, 0},
    {"1x", VPA_INVALID, 0},
    {" 1", VPA_INVALID, 0},
    {"1 ", VPA_INVALID, 0},
    {"0x1", VPA_INVALID, 0},
    {"0xp1", VPA_INVALID, 0},
    {"0x1p", VPA_INVALID, 0},
    {"_1", VPA_INVALID, 0},
    {"1_", VPA_INVALID, 0},
    {"1__0", VPA_INVALID, 0},
    {"1_.5", VPA_INVALID, 0},
    {"-1_0", 0, -10},
    {"+0X_fp0", 0, 15},
    {"0x1_gp0", VPA_INVALID, 0},
    {"0_1", 0, 1},
    {"1_0x", VPA_INVALID, 0},
    {"+nan", VPA_INVALID, 0},
    {"infinit", VPA_INVALID, 0},
    {"1,5", VPA_INVALID, 0},
};

TEST_EACH(parses_as_go, parses) {
    struct vpa_error err = {0};
    double x = 77;
    int rc = vpa_double_parse(parses[_i].text, &x, &err);

    ck_assert_msg(rc == (parses[_i].code ? -1 : 0), "\"%s\"", parses[_i].text);
    ck_assert_int_eq((int)err.code, parses[_i].code);
    ck_assert_msg(same(x, rc < 0 ? 77 : parses[_i].value), "\"%s\": %a", parses[_i].text, x);
}

/* Random bit patterns, a fixed seed: every double reads back from both texts. */
TEST(texts_read_back) {
    uint64_t seed = 88172645463325252u;
    char text[VPA_DOUBLE_TEXT_MAX];

    for (int i = 0; i < 20000; i++) {
        double x, back = 0;
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        memcpy(&x, &seed, sizeof(x));
        if (!isfinite(x))
            continue;
        vpa_double_format_json(x, text);
        ck_assert_int_eq(vpa_double_parse(text, &back, NULL), 0);
        ck_assert_msg(same(x, back), "%a gave %s", x, text);
        vpa_double_format_go(x, text);
        ck_assert_int_eq(vpa_double_parse(text, &back, NULL), 0);
        ck_assert_msg(same(x, back), "%a gave %s", x, text);
    }
}

int main(void)
{
    return run_tests("math", NULL, NULL);
}
