/*
 * Quantities from text and to text. Parsing one of the usual kind walks its characters once and
 * allocates nothing but the text that is remembered; printing it allocates nothing at all.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "quantity_private.h"

#define NANO_SCALE 9      /* digits behind the point of a parsed big form */
#define FAST_DIGITS 18    /* that many decimal digits always fit an int64 */
#define EXPONENT_MAX 1000 /* of the exponent notation */

static const char WRONG_FORMAT[] = "quantities must match the regular expression "
                                   "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
static const char WRONG_SUFFIX[] = "unable to parse quantity's suffix";
static const char WRONG_NUMBER[] = "unable to parse numeric part of quantity";

/* ---- parsing ---- */

/* What the scanner found; digits are those of the number without leading zeros and without point.
 */
struct scanned {
    bool negative;
    const char *whole; /* digits before the point, leading zeros skipped */
    size_t whole_len;  /* 0 stands for the digit 0 */
    const char *part;  /* digits behind the point */
    size_t part_len;
    bool any_digit; /* also a skipped zero */
    const char *suffix;
    int base; /* 10 or 2 */
    int32_t exponent;
    enum vpa_quantity_format format;
};

static bool is_suffix_char(char c)
{
    return c && strchr("eEinumkKMGTP", c) != NULL;
}

/* Splits the text; false when characters are left over. */
static bool scan(const char *p, struct scanned *s)
{
    *s = (struct scanned){0};
    s->negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    const char *zeros = p;
    while (*p == '0')
        p++;
    s->any_digit = p > zeros;
    s->whole = p;
    while (isdigit((unsigned char)*p))
        p++;
    s->whole_len = (size_t)(p - s->whole);
    s->part = p;
    if (*p == '.') {
        s->part = ++p;
        while (isdigit((unsigned char)*p))
            p++;
        s->part_len = (size_t)(p - s->part);
    }
    s->any_digit = s->any_digit || s->whole_len || s->part_len;
    s->suffix = p;
    while (is_suffix_char(*p))
        p++;
    if (*p == '-' || *p == '+')
        p++;
    while (isdigit((unsigned char)*p))
        p++;
    return *p == '\0';
}

/* Text behind the e of an exponent: optional sign, digits. */
static bool read_exponent(const char *p, int32_t *out)
{
    int sign = *p == '-' ? -1 : 1;
    int32_t n = 0;

    if (*p == '-' || *p == '+')
        p++;
    if (!isdigit((unsigned char)*p))
        return false;
    for (; isdigit((unsigned char)*p); p++) {
        n = n * 10 + (*p - '0');
        if (n > EXPONENT_MAX)
            return false;
    }
    *out = sign * n;
    return *p == '\0';
}

static bool read_suffix(struct scanned *s)
{
    static const struct {
        char letter;
        int8_t exponent;
    } decimal[] = {{'n', -9}, {'u', -6}, {'m', -3}, {'k', 3}, {'M', 6},
                   {'G', 9},  {'T', 12}, {'P', 15}, {'E', 18}};
    static const char binary[] = "KMGTPE";
    const char *p = s->suffix;

    s->base = 10;
    s->format = VPA_DECIMAL_SI;
    if (p[0] == '\0')
        return true;
    if (p[1] == '\0') {
        for (size_t i = 0; i < VPA_COUNT(decimal); i++)
            if (decimal[i].letter == p[0]) {
                s->exponent = decimal[i].exponent;
                return true;
            }
        return false;
    }
    const char *unit = strchr(binary, p[0]);
    if (unit && p[1] == 'i' && p[2] == '\0') {
        s->base = 2;
        s->format = VPA_BINARY_SI;
        s->exponent = 10 * (int32_t)(unit - binary + 1);
        return true;
    }
    s->format = VPA_DECIMAL_EXPONENT;
    return (p[0] == 'e' || p[0] == 'E') && read_exponent(p + 1, &s->exponent);
}

static int64_t read_digits(int64_t n, const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        n = n * 10 + (p[i] - '0');
    return n;
}

/* The digits before and behind the point put together end in 000. */
static bool ends_in_000(const struct scanned *s)
{
    for (size_t i = 0; i < 3; i++) {
        char c = i < s->part_len                  ? s->part[s->part_len - 1 - i]
                 : i - s->part_len < s->whole_len ? s->whole[s->whole_len - 1 - (i - s->part_len)]
                                                  : '1';
        if (c != '0')
            return false;
    }
    return true;
}

static bool parse_fast_decimal(const struct scanned *s, struct vpa_quantity *q, bool *remember)
{
    size_t digits = (s->whole_len ? s->whole_len : 1) + s->part_len;
    int32_t scale = s->exponent - (int32_t)s->part_len;

    if (digits > FAST_DIGITS || scale < -NANO_SCALE)
        return false;
    q->mantissa = read_digits(read_digits(0, s->whole, s->whole_len), s->part, s->part_len);
    q->scale = scale;
    *remember = scale % 3 == 0 && s->whole_len > 0 && !ends_in_000(s);
    return true;
}

static bool parse_fast_binary(const struct scanned *s, struct vpa_quantity *q, bool *remember)
{
    /* Digits that fit with Ki, Mi, Gi, Ti; Pi and Ei always take the big form. */
    static const size_t most_digits[] = {11, 8, 5, 2};
    size_t unit = (size_t)s->exponent / 10 - 1;
    size_t digits = s->whole_len ? s->whole_len : 1;

    if (s->part_len || unit >= VPA_COUNT(most_digits) || digits > most_digits[unit])
        return false;
    int64_t n = read_digits(0, s->whole, s->whole_len);
    if (__builtin_mul_overflow(n, INT64_C(1) << s->exponent, &q->mantissa))
        return false;
    q->scale = 0;
    *remember = n % 8 != 0;
    return true;
}

/* More digits than the fast form takes, fractions of binary units, or finer than 10^-9. */
static void parse_big(struct vpa_arena *arena, const struct scanned *s, struct vpa_quantity *q)
{
    struct vpa_decimal d, bound;
    char digits[VPA_QUANTITY_INPUT_MAX];

    memcpy(digits, s->whole, s->whole_len);
    memcpy(digits + s->whole_len, s->part, s->part_len);
    vpa_decimal_from_digits(&d, digits, s->whole_len + s->part_len, (int32_t)s->part_len);
    if (s->base == 10)
        d.scale -= s->exponent;
    else
        vpa_decimal_mul(&d, UINT64_C(1) << s->exponent);
    if (!vpa_decimal_is_zero(&d))
        vpa_decimal_round_up(&d, NANO_SCALE);
    if (s->format == VPA_BINARY_SI) {
        vpa_decimal_from_int64(&bound, INT64_MAX, 0);
        if (vpa_decimal_cmp(&d, &bound) > 0)
            d = bound;
        vpa_decimal_from_int64(&bound, 1, 0);
        if (!vpa_decimal_is_zero(&d) && vpa_decimal_cmp(&d, &bound) < 0)
            q->format = VPA_DECIMAL_SI;
    }
    d.negative = s->negative && !vpa_decimal_is_zero(&d);
    vpa_quantity_set_big(arena, q, &d);
}

int vpa_quantity_parse(struct vpa_arena *arena, const char *text, struct vpa_quantity *out,
                       struct vpa_error *err)
{
    struct vpa_quantity q = {0};
    struct scanned s;
    bool remember = false;
    size_t len = strlen(text);

    if (len == 0 || len >= VPA_QUANTITY_INPUT_MAX || !scan(text, &s))
        return vpa_fail(err, VPA_INVALID, "%s", WRONG_FORMAT);
    if (!read_suffix(&s))
        return vpa_fail(err, VPA_INVALID, "%s", WRONG_SUFFIX);

    q.format = (uint8_t)s.format;
    bool fast =
        s.base == 10 ? parse_fast_decimal(&s, &q, &remember) : parse_fast_binary(&s, &q, &remember);
    if (fast) {
        if (s.negative)
            q.mantissa = -q.mantissa;
        if (remember)
            q.text = vpa_arena_keep(arena, text);
    } else {
        if (!s.any_digit)
            return vpa_fail(err, VPA_INVALID, "%s", WRONG_NUMBER);
        parse_big(arena, &s, &q);
    }
    *out = q;
    return 0;
}

/* ---- text ---- */

#define FAST_TEXT_MAX 48 /* sign, 20 digits, an exponent of up to 11 characters */

static char *put_int64(char *out, int64_t n)
{
    char digits[24];
    char *p = digits + sizeof(digits);
    uint64_t magnitude = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    do
        *--p = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    if (n < 0)
        *--p = '-';
    size_t len = (size_t)(digits + sizeof(digits) - p);
    memcpy(out, p, len);
    return out + len;
}

/* Beyond its table of suffixes the reference prints the bare number. */
static char *put_decimal_suffix(char *out, int32_t exponent, uint8_t format)
{
    static const char suffixes[] = "num\0kMGTPE"; /* -9 to 18 */

    if (format == VPA_DECIMAL_EXPONENT) {
        if (exponent) {
            *out++ = 'e';
            out = put_int64(out, exponent);
        }
    } else if (exponent >= -9 && exponent <= 18 && exponent != 0) {
        *out++ = suffixes[exponent / 3 + 3];
    }
    return out;
}

static char *put_binary_suffix(char *out, int32_t divisions)
{
    static const char letters[] = "KMGTPE";

    if (divisions >= 1 && divisions <= 6) {
        *out++ = letters[divisions - 1];
        *out++ = 'i';
    }
    return out;
}

/* How much the exponent has to go down to be a multiple of three. */
static int32_t above_multiple_of_3(int32_t exponent)
{
    return ((exponent % 3) + 3) % 3;
}

/* Below 1024, or with a fraction, a binary quantity prints as a decimal one. */
static bool prints_binary(const struct vpa_quantity *q)
{
    return q->format == VPA_BINARY_SI &&
           (vpa_quantity_cmp_int64(q, 1024) >= 0 || vpa_quantity_cmp_int64(q, -1024) <= 0) &&
           vpa_quantity_is_whole(q);
}

static uint8_t decimal_format(const struct vpa_quantity *q)
{
    return q->format == VPA_BINARY_SI ? VPA_DECIMAL_SI : q->format;
}

/* The fast form without an allocation; NULL when the printed number would leave int64. */
static char *print_fast(const struct vpa_quantity *q, char *out)
{
    int64_t n = q->mantissa;
    int32_t exponent = q->scale, divisions = 0;

    if (n == 0) {
        *out++ = '0';
        return out;
    }
    if (prints_binary(q)) {
        if (!(exponent < 0 ? vpa_quantity_scale_down(n, -exponent, &n)
                           : vpa_quantity_scale_up(n, exponent, &n)))
            return NULL;
        for (; n != INT64_MIN && n % 1024 == 0;
             n /= 1024) /* the reference leaves -2^63 undivided */
            divisions++;
        return put_binary_suffix(put_int64(out, n), divisions);
    }
    for (; n % 10 == 0; n /= 10)
        exponent++;
    int32_t lower = above_multiple_of_3(exponent);
    if (!vpa_quantity_scale_up(n, lower, &n))
        return NULL;
    return put_decimal_suffix(put_int64(out, n), exponent - lower, decimal_format(q));
}

static void print_big(const struct vpa_quantity *q, struct vpa_buf *out)
{
    struct vpa_decimal d;
    char suffix[FAST_TEXT_MAX], *end;

    vpa_quantity_to_decimal(q, &d);
    if (prints_binary(q)) {
        vpa_decimal_round_up(&d, 0);
        end = put_binary_suffix(suffix, vpa_decimal_strip(&d, 1024));
    } else {
        int32_t exponent = -d.scale + vpa_decimal_strip(&d, 10);
        int32_t lower = above_multiple_of_3(exponent);
        for (int32_t i = 0; i < lower; i++)
            vpa_decimal_mul(&d, 10);
        end = put_decimal_suffix(suffix, exponent - lower, decimal_format(q));
    }
    vpa_decimal_print_unscaled(&d, out);
    vpa_buf_append(out, suffix, (size_t)(end - suffix));
}

void vpa_quantity_canonical(const struct vpa_quantity *q, struct vpa_buf *out)
{
    char text[FAST_TEXT_MAX];
    char *end = q->big ? NULL : print_fast(q, text);

    if (end)
        vpa_buf_append(out, text, (size_t)(end - text));
    else if (vpa_quantity_is_zero(q))
        vpa_buf_putc(out, '0');
    else
        print_big(q, out);
}

void vpa_quantity_format_text(const struct vpa_quantity *q, struct vpa_buf *out)
{
    if (q->text)
        vpa_buf_puts(out, q->text);
    else
        vpa_quantity_canonical(q, out);
}

const char *vpa_quantity_text(struct vpa_arena *arena, const struct vpa_quantity *q)
{
    char text[FAST_TEXT_MAX];
    char *end = q->big || q->text ? NULL : print_fast(q, text);

    if (end)
        return vpa_arena_strndup(arena, text, (size_t)(end - text));
    vpa_auto_buf buf = VPA_BUF(VPA_DECIMAL_DIGITS + FAST_TEXT_MAX);
    vpa_quantity_format_text(q, &buf);
    return vpa_arena_strndup(arena, vpa_buf_text(&buf), buf.len);
}
