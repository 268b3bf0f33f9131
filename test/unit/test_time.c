/* Instants, RFC 3339 texts, Go and Prometheus durations. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/time.h"

/* 2026-08-20T10:05:00Z */
#define SOME_TIME ((vpa_time)1787220300 * VPA_SECOND)

static const struct {
    const char *text;
    int64_t seconds, nanoseconds; /* of the Unix epoch */
    const char *printed;
} times[] = {
    {"1970-01-01T00:00:00Z", 0, 0, "1970-01-01T00:00:00Z"},
    {"2026-08-20T10:05:00Z", 1787220300, 0, "2026-08-20T10:05:00Z"},
    {"2026-08-20T10:05:00.999999999Z", 1787220300, 999999999, "2026-08-20T10:05:00Z"},
    {"2026-08-20T10:05:00,5Z", 1787220300, 500000000, "2026-08-20T10:05:00Z"},
    {"2026-08-20T10:05:00.1234567899Z", 1787220300, 123456789, "2026-08-20T10:05:00Z"},
    {"2026-08-20T12:05:00+02:00", 1787220300, 0, "2026-08-20T10:05:00Z"},
    {"2026-08-20T05:35:00-04:30", 1787220300, 0, "2026-08-20T10:05:00Z"},
    {"2026-08-20T9:05:00Z", 1787216700, 0, "2026-08-20T09:05:00Z"},
    {"2024-02-29T00:00:00Z", 1709164800, 0, "2024-02-29T00:00:00Z"},
    {"2000-02-29T00:00:00Z", 951782400, 0, "2000-02-29T00:00:00Z"},
    {"1969-12-31T23:59:59.5Z", -1, 500000000, "1969-12-31T23:59:59Z"},
    {"0001-01-01T00:00:00Z", -62135596800, 0, "0001-01-01T00:00:00Z"},
    {"0000-01-01T00:00:00Z", -62167219200, 0, "0000-01-01T00:00:00Z"},
    {"9999-12-31T23:59:59Z", 253402300799, 0, "9999-12-31T23:59:59Z"},
};

TEST_EACH(parses_and_prints_times, times) {
    char text[VPA_TIME_TEXT_MAX];
    vpa_time t;

    ck_assert_int_eq(vpa_time_parse(times[_i].text, &t, NULL), 0);
    ck_assert(t == vpa_time_from_unix(times[_i].seconds, times[_i].nanoseconds));
    vpa_time_format(t, text);
    ck_assert_str_eq(text, times[_i].printed);
}

static const char *const bad_times[] = {
    "",
    "now",
    "2026-08-20",
    "2026-08-20 10:05:00Z",
    "2026-08-20T10:05Z",
    "2026-08-20T10:05:00",
    "2026-08-20T10:05:00z",
    "2026-08-20t10:05:00Z",
    "2026-08-20T24:00:00Z",
    "2026-08-20T10:60:00Z",
    "2026-08-20T10:05:60Z",
    "2026-13-20T10:05:00Z",
    "2026-00-20T10:05:00Z",
    "2026-02-29T10:05:00Z",
    "1900-02-29T10:05:00Z",
    "2026-08-00T10:05:00Z",
    "2026-08-20T10:05:00.Z",
    "2026-08-20T10:05:00+0200",
    "2026-08-20T10:05:00+25:00",
    "2026-08-20T10:05:00+02:61",
    "2026-08-20T10:05:00Z ",
    "26-08-20T10:05:00Z",
    "20260-08-20T10:05:00Z",
    "2026-8-20T10:05:00Z",
    "2026-08-20T:05:00Z",
};

TEST_EACH(refuses_times, bad_times) {
    vpa_time t = 7;
    struct vpa_error err;

    ck_assert_int_eq(vpa_time_parse(bad_times[_i], &t, &err), -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert(t == 7);
}

TEST(reads_micro_times_with_six_digits_only) {
    char text[VPA_TIME_TEXT_MAX];
    vpa_time t;

    ck_assert_int_eq(vpa_time_parse_micro("2026-08-20T10:05:00.123456Z", &t, NULL), 0);
    ck_assert(t == SOME_TIME + 123456 * VPA_MICROSECOND);
    vpa_time_format_micro(t + 999, text);
    ck_assert_str_eq(text, "2026-08-20T10:05:00.123456Z");
    ck_assert_int_eq(vpa_time_parse_micro("2026-08-20T10:05:00Z", &t, NULL), -1);
    ck_assert_int_eq(vpa_time_parse_micro("2026-08-20T10:05:00.12345Z", &t, NULL), -1);
    ck_assert_int_eq(vpa_time_parse_micro("2026-08-20T10:05:00.1234567Z", &t, NULL), -1);
}

TEST(prints_years_outside_four_digits) {
    char text[VPA_TIME_TEXT_MAX];

    vpa_time_format(vpa_time_from_unix(253402300800, 0), text);
    ck_assert_str_eq(text, "10000-01-01T00:00:00Z");
    vpa_time_format(vpa_time_from_unix(-62167219201, 0), text);
    ck_assert_str_eq(text, "-0001-12-31T23:59:59Z");
}

TEST(subtracts_and_saturates) {
    ck_assert_int_eq(vpa_time_sub(SOME_TIME, SOME_TIME - 5), 5);
    ck_assert_int_eq(vpa_time_sub(VPA_TIME_UNSET, SOME_TIME), INT64_MIN);
    ck_assert_int_eq(vpa_time_sub(SOME_TIME, VPA_TIME_UNSET), INT64_MAX);
    ck_assert_int_eq(vpa_time_unix_nanos(VPA_TIME_UNSET), INT64_MIN);
    ck_assert(vpa_time_add(SOME_TIME, 7) == SOME_TIME + 7);
    ck_assert(vpa_time_is_unset(VPA_TIME_UNSET));
}

TEST(rounds_on_the_grid_of_year_1) {
    const vpa_duration day = 24 * VPA_HOUR;

    ck_assert(vpa_time_round(day / 2, day) == day); /* halves up */
    ck_assert(vpa_time_round(day / 2 - 1, day) == 0);
    ck_assert(vpa_time_round(SOME_TIME, 0) == SOME_TIME);
    ck_assert(vpa_time_round(SOME_TIME, -5) == SOME_TIME);
    /* 719162 days lie between year 1 and 1970: 2 more than a multiple of 7 fewer 1. */
    ck_assert(vpa_time_round(0, 7 * day) == 719162 % 7 * -day + (719162 % 7 > 3 ? 7 * day : 0));
    ck_assert(vpa_time_round(VPA_TIME_UNSET - 1, day) == VPA_TIME_UNSET);
    ck_assert_int_eq(vpa_duration_truncate(25, 10), 20);
    ck_assert_int_eq(vpa_duration_truncate(-25, 10), -20);
    ck_assert_int_eq(vpa_duration_truncate(25, 0), 25);
}

static const struct {
    const char *text;
    vpa_duration value;
    const char *printed;
} durations[] = {
    {"0", 0, "0s"},
    {"-0", 0, "0s"},
    {"1h", VPA_HOUR, "1h0m0s"},
    {"90s", 90 * VPA_SECOND, "1m30s"},
    {"1.5h", 90 * VPA_MINUTE, "1h30m0s"},
    {".5s", 500 * VPA_MILLISECOND, "500ms"},
    {"5.s", 5 * VPA_SECOND, "5s"},
    {"1us", VPA_MICROSECOND, "1\xc2\xb5s"},
    {"1\xc2\xb5s", VPA_MICROSECOND, "1\xc2\xb5s"},
    {"1\xce\xbcs", VPA_MICROSECOND, "1\xc2\xb5s"},
    {"1500ns", 1500, "1.5\xc2\xb5s"},
    {"+1h1h", 2 * VPA_HOUR, "2h0m0s"},
    {"-5m", -5 * VPA_MINUTE, "-5m0s"},
    {"1m0.5s", 60500 * VPA_MILLISECOND, "1m0.5s"},
    {"0.3333333333333333333h", 20 * VPA_MINUTE, "20m0s"},
    {"0.9ns", 0, "0s"},
    {"9223372036854775807ns", INT64_MAX, "2562047h47m16.854775807s"},
    {"-9223372036854775808ns", INT64_MIN, "-2562047h47m16.854775808s"},
    {"1.00000000000000000000000000001s", VPA_SECOND, "1s"},
};

TEST_EACH(parses_and_prints_durations, durations) {
    char text[VPA_DURATION_TEXT_MAX];
    vpa_duration d;

    ck_assert_int_eq(vpa_duration_parse(durations[_i].text, &d, NULL), 0);
    ck_assert_int_eq(d, durations[_i].value);
    vpa_duration_format(d, text);
    ck_assert_str_eq(text, durations[_i].printed);
}

static const struct {
    const char *text, *error;
} bad_durations[] = {
    {"", "time: invalid duration \"\""},
    {"-", "time: invalid duration \"-\""},
    {"5", "time: missing unit in duration \"5\""},
    {"1d", "time: unknown unit \"d\" in duration \"1d\""},
    {"1h 5m", "time: unknown unit \"h \" in duration \"1h 5m\""},
    {"h", "time: invalid duration \"h\""},
    {".s", "time: invalid duration \".s\""},
    {"1h.", "time: invalid duration \"1h.\""},
    {"9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""},
    {"9223372036854775809ns", "time: invalid duration \"9223372036854775809ns\""},
    {"92233720368547758080ns", "time: invalid duration \"92233720368547758080ns\""},
    {"3000000h", "time: invalid duration \"3000000h\""},
    {"2562047h48m", "time: invalid duration \"2562047h48m\""},
    {"2562047.99h", "time: invalid duration \"2562047.99h\""},
    {"1\x7f", "time: unknown unit \"\x7f\" in duration \"1\x7f\""},
    {"1\"\\\n\xff",
     "time: unknown unit \"\\\"\\\\\\x0a\\xff\" in duration \"1\\\"\\\\\\x0a\\xff\""},
};

TEST_EACH(refuses_durations, bad_durations) {
    struct vpa_error err;
    vpa_duration d = 7;

    ck_assert_int_eq(vpa_duration_parse(bad_durations[_i].text, &d, &err), -1);
    ck_assert_str_eq(err.text, bad_durations[_i].error);
    ck_assert_int_eq(d, 7);
}

static const struct {
    const char *text;
    vpa_duration value;
} prometheus[] = {
    {"0", 0},
    {"8d", 192 * VPA_HOUR},
    {"1h30m", 90 * VPA_MINUTE},
    {"1y2w3d4h5m6s7ms",
     ((365 + 14 + 3) * 24 + 4) * VPA_HOUR + 5 * VPA_MINUTE + 6 * VPA_SECOND + 7 * VPA_MILLISECOND},
    {"0s", 0},
    {"292y", 292 * 365 * 24 * VPA_HOUR},
};

TEST_EACH(parses_prometheus_durations, prometheus) {
    vpa_duration d;

    ck_assert_int_eq(vpa_duration_parse_prometheus(prometheus[_i].text, &d, NULL), 0);
    ck_assert_int_eq(d, prometheus[_i].value);
}

static const struct {
    const char *text, *error;
} bad_prometheus[] = {
    {"", "empty duration string"},
    {"1", "not a valid duration string: \"1\""},
    {"d", "not a valid duration string: \"d\""},
    {"-1d", "not a valid duration string: \"-1d\""},
    {"1.5d", "unknown unit \".\" in duration \"1.5d\""},
    {"1d1w", "not a valid duration string: \"1d1w\""},
    {"1d1d", "not a valid duration string: \"1d1d\""},
    {"1x", "unknown unit \"x\" in duration \"1x\""},
    {"1\t", "unknown unit \"\\t\" in duration \"1\\t\""},
    {"1\xc3\xa9", "unknown unit \"\xc3\xa9\" in duration \"1\xc3\xa9\""},
    {"300y", "duration out of range"},
    {"99999999999999999999s", "not a valid duration string: \"99999999999999999999s\""},
};

TEST_EACH(refuses_prometheus_durations, bad_prometheus) {
    struct vpa_error err;
    vpa_duration d = 7;

    ck_assert_int_eq(vpa_duration_parse_prometheus(bad_prometheus[_i].text, &d, &err), -1);
    ck_assert_str_eq(err.text, bad_prometheus[_i].error);
    ck_assert_int_eq(d, 7);
}

/* ---- parse(format(x)) == x, a fixed seed ---- */

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

TEST(durations_read_back) {
    uint64_t seed = 2463534242u;
    char text[VPA_DURATION_TEXT_MAX];

    for (int i = 0; i < 20000; i++) {
        vpa_duration d = (vpa_duration)next_random(&seed) >> next_random(&seed) % 60, back;
        vpa_duration_format(d, text);
        ck_assert_int_eq(vpa_duration_parse(text, &back, NULL), 0);
        ck_assert_msg(back == d, "%s", text);
    }
}

TEST(times_read_back) {
    uint64_t seed = 2463534242u;
    char text[VPA_TIME_TEXT_MAX];

    for (int i = 0; i < 20000; i++) {
        int64_t seconds = (int64_t)(next_random(&seed) % 315569520000u) - 62167219200;
        vpa_time t = vpa_time_from_unix(seconds, 0), back;
        vpa_time_format(t, text);
        ck_assert_int_eq(vpa_time_parse(text, &back, NULL), 0);
        ck_assert_msg(back == t, "%s", text);
        t += (vpa_time)(next_random(&seed) % 1000000) * VPA_MICROSECOND;
        vpa_time_format_micro(t, text);
        ck_assert_int_eq(vpa_time_parse_micro(text, &back, NULL), 0);
        ck_assert_msg(back == t, "%s", text);
    }
}

int main(void)
{
    return run_tests("time", NULL, NULL);
}
