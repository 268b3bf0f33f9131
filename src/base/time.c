/*
 * Instants, durations and their texts, as Go's time package and Kubernetes' metav1 have them.
 *
 * An instant is a 128-bit count of nanoseconds, so that every year from 0 to 9999 fits with nothing
 * lost and no special case for the unset time. Calendar arithmetic is done on days since
 * 0000-03-01, where leap days come last in their year (H. Hinnant, "chrono-Compatible Low-Level
 * Date Algorithms").
 */
#include "vpa/base/time.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"

__extension__ typedef unsigned __int128 uint128;

/* ---- instants ---- */

static int64_t saturate(vpa_time n)
{
    if (n > INT64_MAX)
        return INT64_MAX;
    if (n < INT64_MIN)
        return INT64_MIN;
    return (int64_t)n;
}

vpa_duration vpa_time_sub(vpa_time t, vpa_time u)
{
    return saturate(t - u);
}

vpa_time vpa_time_from_unix(int64_t seconds, int64_t nanoseconds)
{
    return (vpa_time)seconds * VPA_SECOND + nanoseconds;
}

int64_t vpa_time_unix_nanos(vpa_time t)
{
    return saturate(t);
}

vpa_time vpa_time_round(vpa_time t, vpa_duration d)
{
    if (d <= 0)
        return t;
    vpa_time r = (t - VPA_TIME_UNSET) % d;
    if (r < 0)
        r += d;
    return r + r < d ? t - r : t + (d - r);
}

vpa_duration vpa_duration_truncate(vpa_duration x, vpa_duration d)
{
    return d <= 0 ? x : x - x % d;
}

/* ---- calendar ---- */

struct civil {
    int64_t year;
    int month, day, hour, minute, second;
    int nanosecond;
};

static int64_t days_from_civil(int64_t year, int month, int day)
{
    if (month <= 2)
        year--;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + day_of_era - 719468;
}

static void civil_from_days(int64_t days, struct civil *c)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * day_of_year + 2) / 153;

    c->day = (int)(day_of_year - (153 * shifted + 2) / 5 + 1);
    c->month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    c->year = year_of_era + era * 400 + (c->month <= 2);
}

static void civil_from_time(vpa_time t, struct civil *c)
{
    const vpa_time day = 24 * VPA_HOUR;
    vpa_time days = t / day;
    vpa_time rest = t % day;

    if (rest < 0) {
        rest += day;
        days--;
    }
    civil_from_days((int64_t)days, c);
    int64_t seconds = (int64_t)(rest / VPA_SECOND);
    c->nanosecond = (int)(rest % VPA_SECOND);
    c->hour = (int)(seconds / 3600);
    c->minute = (int)(seconds / 60 % 60);
    c->second = (int)(seconds % 60);
}

static int days_in_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    if (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
        return 29;
    return days[month - 1];
}

/* ---- RFC 3339 ---- */

static const char *digits(const char *p, int count, int *out)
{
    int n = 0;

    for (int i = 0; i < count; i++, p++) {
        if (!isdigit((unsigned char)*p))
            return NULL;
        n = n * 10 + (*p - '0');
    }
    *out = n;
    return p;
}

static const char *field(const char *p, char separator, int count, int *out)
{
    if (!p || *p != separator)
        return NULL;
    return digits(p + 1, count, out);
}

/* Any number of digits (those beyond the ninth are cut), or exactly `exactly` of them when not 0.
 */
static const char *fraction(const char *p, int exactly, int *nanoseconds)
{
    int count = 0, n = 0, scale = 1000000000;

    for (; isdigit((unsigned char)*p); p++, count++)
        if (scale > 1) {
            scale /= 10;
            n += (*p - '0') * scale;
        }
    if (count == 0 || (exactly && count != exactly))
        return NULL;
    *nanoseconds = n;
    return p;
}

static const char *date(const char *p, struct civil *c)
{
    int year;

    p = digits(p, 4, &year);
    p = field(p, '-', 2, &c->month);
    p = field(p, '-', 2, &c->day);
    if (!p || c->month < 1 || c->month > 12)
        return NULL;
    c->year = year;
    return c->day < 1 || c->day > days_in_month(year, c->month) ? NULL : p;
}

/* The hour may have one digit, a habit of Go's parser. */
static const char *clock_time(const char *p, struct civil *c)
{
    if (*p != 'T')
        return NULL;
    p++;
    p = digits(p, isdigit((unsigned char)p[0]) && isdigit((unsigned char)p[1]) ? 2 : 1, &c->hour);
    p = field(p, ':', 2, &c->minute);
    p = field(p, ':', 2, &c->second);
    if (!p || c->hour > 23 || c->minute > 59 || c->second > 59)
        return NULL;
    return p;
}

/* Z or +hh:mm; Go lets the hour reach 24 and the minute 60. */
static const char *offset(const char *p, int *seconds)
{
    int hour, minute, sign = *p == '-' ? -1 : 1;

    *seconds = 0;
    if (*p == 'Z')
        return p + 1;
    if (*p != '+' && *p != '-')
        return NULL;
    p = digits(p + 1, 2, &hour);
    p = field(p, ':', 2, &minute);
    if (!p || hour > 24 || minute > 60)
        return NULL;
    *seconds = sign * (hour * 3600 + minute * 60);
    return p;
}

static int parse_time(const char *text, bool micro, vpa_time *out, struct vpa_error *err)
{
    struct civil c = {0};
    int shift = 0;
    const char *p = date(text, &c);

    if (p)
        p = clock_time(p, &c);
    if (p && micro)
        p = *p == '.' || *p == ',' ? fraction(p + 1, 6, &c.nanosecond) : NULL;
    else if (p && (*p == '.' || *p == ','))
        p = fraction(p + 1, 0, &c.nanosecond);
    if (p)
        p = offset(p, &shift);
    if (!p || *p)
        return vpa_fail(err, VPA_INVALID, "parsing time \"%s\": not an RFC 3339 time%s", text,
                        micro ? " with six fraction digits" : "");

    int64_t seconds = days_from_civil(c.year, c.month, c.day) * 86400 +
                      (c.hour * 3600 + c.minute * 60 + c.second - shift);
    *out = vpa_time_from_unix(seconds, c.nanosecond);
    return 0;
}

int vpa_time_parse(const char *text, vpa_time *out, struct vpa_error *err)
{
    return parse_time(text, false, out, err);
}

int vpa_time_parse_micro(const char *text, vpa_time *out, struct vpa_error *err)
{
    return parse_time(text, true, out, err);
}

static char *put_number(char *p, int n, int width)
{
    for (int i = width - 1; i >= 0; i--, n /= 10)
        p[i] = (char)('0' + n % 10);
    return p + width;
}

/* Years outside 0..9999 do not occur in what Kubernetes stores; they print as Go prints them. */
static char *put_civil(vpa_time t, char *p, int *nanosecond)
{
    struct civil c;

    civil_from_time(t, &c);
    *nanosecond = c.nanosecond;
    if (c.year >= 0 && c.year <= 9999)
        p = put_number(p, (int)c.year, 4);
    else
        p += snprintf(p, 16, "%05lld", (long long)(c.year % 1000000000));
    *p++ = '-';
    p = put_number(p, c.month, 2);
    *p++ = '-';
    p = put_number(p, c.day, 2);
    *p++ = 'T';
    p = put_number(p, c.hour, 2);
    *p++ = ':';
    p = put_number(p, c.minute, 2);
    *p++ = ':';
    return put_number(p, c.second, 2);
}

void vpa_time_format(vpa_time t, char out[VPA_TIME_TEXT_MAX])
{
    int nanosecond;
    char *p = put_civil(t, out, &nanosecond);

    *p++ = 'Z';
    *p = '\0';
}

void vpa_time_format_micro(vpa_time t, char out[VPA_TIME_TEXT_MAX])
{
    int nanosecond;
    char *p = put_civil(t, out, &nanosecond);

    *p++ = '.';
    p = put_number(p, nanosecond / 1000, 6);
    *p++ = 'Z';
    *p = '\0';
}

/* ---- Go durations ---- */

/* text as Go quotes it in these errors: backslash before quotes and backslashes, \xNN for control
 * characters and bytes above 127. */
static void quote(struct vpa_buf *out, const char *text, size_t len)
{
    vpa_buf_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            vpa_buf_printf(out, "\\%c", c);
        else if (c < ' ' || c >= 0x80)
            vpa_buf_printf(out, "\\x%02x", c);
        else
            vpa_buf_putc(out, (char)c);
    }
    vpa_buf_putc(out, '"');
}

static int bad_duration(const char *text, const char *what, const char *unit, size_t unit_len,
                        struct vpa_error *err)
{
    vpa_auto_buf message = VPA_BUF(VPA_ERROR_TEXT_MAX * 2);

    vpa_buf_printf(&message, "time: %s ", what);
    if (unit) {
        quote(&message, unit, unit_len);
        vpa_buf_puts(&message, " in duration ");
    } else if (strcmp(what, "invalid duration") != 0) {
        vpa_buf_puts(&message, "in duration ");
    }
    quote(&message, text, strlen(text));
    return vpa_fail(err, VPA_INVALID, "%s", vpa_buf_text(&message));
}

static uint64_t unit_nanos(const char *unit, size_t len)
{
    static const struct {
        const char *name;
        int64_t nanos;
    } units[] = {
        {"ns", VPA_NANOSECOND},
        {"us", VPA_MICROSECOND},
        {"\xc2\xb5s", VPA_MICROSECOND},
        {"\xce\xbcs", VPA_MICROSECOND},
        {"ms", VPA_MILLISECOND},
        {"s", VPA_SECOND},
        {"m", VPA_MINUTE},
        {"h", VPA_HOUR},
    };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strlen(units[i].name) == len && memcmp(units[i].name, unit, len) == 0)
            return (uint64_t)units[i].nanos;
    return 0;
}

/* The digits of one term. */
struct term {
    uint64_t whole;
    uint64_t part;
    double scale; /* of the fraction */
};

static const char *term_digits(const char *p, struct term *t)
{
    const char *start = p;
    bool cut = false;

    *t = (struct term){.scale = 1};
    for (; isdigit((unsigned char)*p); p++) {
        if (t->whole > (UINT64_C(1) << 63) / 10)
            return NULL;
        t->whole = t->whole * 10 + (uint64_t)(*p - '0');
        if (t->whole > UINT64_C(1) << 63)
            return NULL;
    }
    bool any = p > start;
    if (*p == '.') {
        start = ++p;
        for (; isdigit((unsigned char)*p); p++) {
            if (cut)
                continue;
            uint64_t next = t->part * 10 + (uint64_t)(*p - '0');
            if (t->part > ((UINT64_C(1) << 63) - 1) / 10 || next > UINT64_C(1) << 63) {
                cut = true; /* further digits cannot matter */
                continue;
            }
            t->part = next;
            t->scale *= 10;
        }
        any = any || p > start;
    }
    return any ? p : NULL;
}

int vpa_duration_parse(const char *text, vpa_duration *out, struct vpa_error *err)
{
    const uint64_t limit = UINT64_C(1) << 63;
    const char *p = text;
    bool negative = *p == '-';
    uint64_t sum = 0;

    if (*p == '-' || *p == '+')
        p++;
    if (strcmp(p, "0") == 0) {
        *out = 0;
        return 0;
    }
    if (*p == '\0')
        return bad_duration(text, "invalid duration", NULL, 0, err);
    while (*p) {
        struct term t;
        p = term_digits(p, &t);
        if (!p)
            return bad_duration(text, "invalid duration", NULL, 0, err);
        const char *unit_text = p;
        while (*p && *p != '.' && !isdigit((unsigned char)*p))
            p++;
        size_t len = (size_t)(p - unit_text);
        if (len == 0)
            return bad_duration(text, "missing unit", NULL, 0, err);
        uint64_t unit = unit_nanos(unit_text, len);
        if (unit == 0)
            return bad_duration(text, "unknown unit", unit_text, len, err);
        if (t.whole > limit / unit)
            return bad_duration(text, "invalid duration", NULL, 0, err);
        uint64_t nanos = t.whole * unit;
        if (t.part > 0) /* in double arithmetic, as Go has it */
            nanos += (uint64_t)((double)t.part * ((double)unit / t.scale));
        if (nanos > limit || sum + nanos > limit)
            return bad_duration(text, "invalid duration", NULL, 0, err);
        sum += nanos;
    }
    if (!negative && sum > limit - 1)
        return bad_duration(text, "invalid duration", NULL, 0, err);
    *out = negative ? (vpa_duration)(0 - sum) : (vpa_duration)sum;
    return 0;
}

/* n / 10^places without trailing zeros. */
static char *put_decimal(char *p, uint64_t n, int places)
{
    uint64_t scale = 1;

    for (int i = 0; i < places; i++)
        scale *= 10;
    p += snprintf(p, 24, "%llu", (unsigned long long)(n / scale));
    uint64_t rest = n % scale;
    if (rest == 0)
        return p;
    *p++ = '.';
    while (rest) {
        scale /= 10;
        *p++ = (char)('0' + rest / scale);
        rest %= scale;
    }
    return p;
}

void vpa_duration_format(vpa_duration d, char out[VPA_DURATION_TEXT_MAX])
{
    uint64_t n = d < 0 ? 0 - (uint64_t)d : (uint64_t)d;
    char *p = out;

    if (d < 0)
        *p++ = '-';
    if (n == 0) {
        memcpy(p, "0s", 3);
        return;
    }
    if (n < (uint64_t)VPA_SECOND) {
        static const char *const units[] = {"ns", "\xc2\xb5s", "ms"};
        int power = n < 1000 ? 0 : n < 1000000 ? 1 : 2;
        p = put_decimal(p, n, power * 3);
        memcpy(p, units[power], strlen(units[power]) + 1);
        return;
    }
    uint64_t hours = n / (uint64_t)VPA_HOUR;
    uint64_t minutes = n / (uint64_t)VPA_MINUTE % 60;
    if (hours)
        p += snprintf(p, 16, "%lluh", (unsigned long long)hours);
    if (hours || minutes)
        p += snprintf(p, 8, "%um", (unsigned)minutes);
    p = put_decimal(p, n % (uint64_t)VPA_MINUTE, 9);
    *p++ = 's';
    *p = '\0';
}

/* ---- Prometheus durations ---- */

/* piece: the part of the text that is at fault, or NULL. */
static int bad_prometheus(const char *before, const char *piece, size_t piece_len, const char *text,
                          struct vpa_error *err)
{
    vpa_auto_buf message = VPA_BUF(VPA_ERROR_TEXT_MAX * 8);

    vpa_buf_puts(&message, before);
    if (piece) {
        vpa_auto_free char *copy = vpa_xstrndup(piece, piece_len);
        vpa_quote_go(&message, copy);
        vpa_buf_puts(&message, " in duration ");
    }
    vpa_quote_go(&message, text);
    return vpa_fail(err, VPA_INVALID, "%s", vpa_buf_text(&message));
}

int vpa_duration_parse_prometheus(const char *text, vpa_duration *out, struct vpa_error *err)
{
    static const struct {
        const char *name;
        int64_t millis;
    } units[] = {
        {"ms", 1},
        {"s", 1000},
        {"m", 60000},
        {"h", 3600000},
        {"d", 86400000},
        {"w", 604800000},
        {"y", INT64_C(31536000000)},
    };
    const size_t unit_count = sizeof(units) / sizeof(units[0]);
    size_t last = unit_count; /* every unit must be smaller than the one before */
    uint64_t sum = 0;         /* nanoseconds */

    if (strcmp(text, "0") == 0) {
        *out = 0;
        return 0;
    }
    if (*text == '\0')
        return vpa_fail(err, VPA_INVALID, "empty duration string");
    for (const char *p = text; *p;) {
        if (!isdigit((unsigned char)*p))
            return bad_prometheus("not a valid duration string: ", NULL, 0, text, err);
        uint64_t n = 0;
        bool overflow = false;
        for (; isdigit((unsigned char)*p); p++)
            overflow |= __builtin_mul_overflow(n, 10u, &n) ||
                        __builtin_add_overflow(n, (unsigned)(*p - '0'), &n);
        const char *unit_text = p;
        while (*p && !isdigit((unsigned char)*p))
            p++;
        size_t len = (size_t)(p - unit_text), i = 0;
        while (i < unit_count &&
               !(strlen(units[i].name) == len && memcmp(units[i].name, unit_text, len) == 0))
            i++;
        if (overflow || len == 0 || (i < unit_count && i >= last))
            return bad_prometheus("not a valid duration string: ", NULL, 0, text, err);
        if (i == unit_count)
            return bad_prometheus("unknown unit ", unit_text, len, text, err);
        last = i;
        uint128 nanos = (uint128)n * (uint64_t)units[i].millis * 1000000u + sum;
        if (nanos > INT64_MAX)
            return vpa_fail(err, VPA_INVALID, "duration out of range");
        sum = (uint64_t)nanos;
    }
    *out = (vpa_duration)sum;
    return 0;
}
