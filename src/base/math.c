/*
 * Go's mathematics in C.
 *
 * The decaying histogram turns pow(1.05, n) into bucket starts, exp2(age / half-life) into weights
 * and log(x) / log(1.05) into bucket indexes. A recommendation is a bucket start times a margin,
 * truncated to whole bytes, so a difference in the last bit of pow shows in the status of a VPA:
 * bucket 4 of the memory histogram starts at 43101249.999999963 for Go and at 43101250.000000007
 * for the C library.
 *
 * Go's portable algorithms (math/pow.go, exp2 in math/exp.go, math/log.go; the latter two from
 * FreeBSD's msun) are short, so they are written out here operation for operation. What makes them
 * exact is that nothing is reassociated or fused: the build sets -ffp-contract=off. frexp, ldexp,
 * floor and trunc are exact in any C library.
 */
#include "vpa/base/math.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vpa/base/mem.h"

__extension__ typedef unsigned __int128 uint128;

static const double LN2_HIGH = 6.93147180369123816490e-01;
static const double LN2_LOW = 1.90821492927058770002e-10;

/* 0 or infinity to a power that is not 0; n odd keeps the sign. */
static double pow_of_edge(double x, int64_t n)
{
    bool odd = n & 1;

    if (x == 0.0) {
        if (n < 0)
            return odd ? copysign(INFINITY, x) : INFINITY;
        return odd ? x : 0.0;
    }
    if (n < 0)
        return odd ? copysign(0.0, x) : 0.0;
    return odd ? x : INFINITY;
}

double vpa_pow(double x, int64_t n)
{
    if (n == 0 || x == 1.0)
        return 1.0;
    if (n == 1 || isnan(x))
        return x;
    if (x == 0.0 || isinf(x))
        return pow_of_edge(x, n);

    int exponent;
    double square = frexp(x, &exponent);
    int64_t e = exponent, sum = 0;
    double product = 1.0;

    for (uint64_t bits = n < 0 ? -(uint64_t)n : (uint64_t)n; bits; bits >>= 1) {
        if (e < -4096 || e > 4096) { /* the result is 0 or infinity */
            sum += e;
            break;
        }
        if (bits & 1) {
            product *= square;
            sum += e;
        }
        square *= square;
        e *= 2;
        if (square < 0.5) {
            square += square;
            e--;
        }
    }
    if (n < 0) {
        product = 1.0 / product;
        sum = -sum;
    }
    return vpa_ldexp(product, sum);
}

double vpa_exp2(double x)
{
    static const double P1 = 1.66666666666666657415e-01;
    static const double P2 = -2.77777777770155933842e-03;
    static const double P3 = 6.61375632143793436117e-05;
    static const double P4 = -1.65339022054652515390e-06;
    static const double P5 = 4.13813679705723846039e-08;

    if (isnan(x))
        return x;
    if (x > 1023.9999999999999)
        return INFINITY;
    if (x < -1074.0)
        return 0.0;

    double k = x > 0 ? trunc(x + 0.5) : x < 0 ? trunc(x - 0.5) : 0.0;
    double t = x - k;
    double high = t * LN2_HIGH;
    double low = -t * LN2_LOW;
    double r = high - low;
    double q = r * r;
    double c = r - q * (P1 + q * (P2 + q * (P3 + q * (P4 + q * P5))));
    double y = 1 - ((low - (r * c) / (2 - c)) - high);

    return ldexp(y, (int)k);
}

double vpa_log(double x)
{
    static const double L1 = 6.666666666666735130e-01;
    static const double L2 = 3.999999999940941908e-01;
    static const double L3 = 2.857142874366239149e-01;
    static const double L4 = 2.222219843214978396e-01;
    static const double L5 = 1.818357216161805012e-01;
    static const double L6 = 1.531383769920937332e-01;
    static const double L7 = 1.479819860511658591e-01;
    static const double HALF_SQRT2 = 7.07106781186547524401e-01;

    if (isnan(x) || (isinf(x) && x > 0))
        return x;
    if (x < 0)
        return NAN;
    if (x == 0)
        return -INFINITY;

    int exponent;
    double f1 = frexp(x, &exponent);
    if (f1 <= HALF_SQRT2) { /* <=, as the assembly of amd64 has it */
        f1 *= 2;
        exponent--;
    }
    double f = f1 - 1;
    double k = (double)exponent;
    double s = f / (2 + f);
    double s2 = s * s;
    double s4 = s2 * s2;
    double t1 = s2 * (L1 + s4 * (L3 + s4 * (L5 + s4 * L7)));
    double t2 = s4 * (L2 + s4 * (L4 + s4 * L6));
    double r = t1 + t2;
    double half_square = 0.5 * f * f;

    return k * LN2_HIGH - ((half_square - (s * (half_square + r) + k * LN2_LOW)) - f);
}

double vpa_log_base(double base, double x)
{
    return vpa_log(x) / vpa_log(base);
}

double vpa_ldexp(double x, int64_t e)
{
    if (e > 10000)
        e = 10000;
    if (e < -10000)
        e = -10000;
    return ldexp(x, (int)e);
}

int vpa_double_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int64_t vpa_trunc_int64(double x)
{
    if (!(x >= -0x1p63 && x < 0x1p63))
        return INT64_MIN;
    return (int64_t)x;
}

int64_t vpa_hround(double x)
{
    return vpa_trunc_int64(floor(x + 0.5));
}

/*
 * Shortest digits, the way Steele and White's (FP)3 finds them: produce decimal digits of the exact
 * value and stop as soon as what is left lies within half a unit of the last binary place, for then
 * any reader comes back to the same double. For numbers with a fraction between 2^-60 and 2^53 the
 * value is m / 2^n with n at most 112, the whole part is printed as an integer and the rest takes
 * one multiplication by ten and one shift per digit in 128 bits. Weights and amounts are all of
 * that kind.
 *
 * The others (huge, tiny) go through the C library: a decimal of up to 15 digits survives the way
 * through a normal double, so if 15 digits read back they are the shortest once trailing zeros are
 * gone; else 16 or 17 are needed. Below a power of two doubles lie closer together than above it,
 * so there the correctly rounded 16 digits can miss while the next decimal above still hits.
 * Subnormal numbers have fewer digits: try from one upward.
 */
struct decimal {
    char digits[40]; /* without point, no trailing zeros */
    int count;
    int point; /* 0.digits * 10^point */
};

static void print_digits(double x, int count, struct decimal *out)
{
    char text[40];

    snprintf(text, sizeof(text), "%.*e", count - 1, x);
    const char *e = strchr(text, 'e');
    out->count = 0;
    for (const char *p = text; p < e; p++)
        if (*p != '.')
            out->digits[out->count++] = *p;
    out->digits[out->count] = '\0';
    out->point = (int)strtol(e + 1, NULL, 10) + 1;
}

static bool reads_back(const struct decimal *d, double x)
{
    char text[64];

    snprintf(text, sizeof(text), "0.%se%d", d->digits, d->point);
    return strtod(text, NULL) == x;
}

/* The next decimal of as many digits. */
static void step_up(struct decimal *d)
{
    int i = d->count - 1;

    while (i >= 0 && d->digits[i] == '9')
        d->digits[i--] = '0';
    if (i >= 0) {
        d->digits[i]++;
        return;
    }
    d->digits[0] = '1'; /* 99..9 becomes 10..0 with one more place before the point */
    d->point++;
}

/* The digits of the whole part, if there is one. */
static void put_whole(uint64_t whole, struct decimal *out)
{
    out->count =
        whole ? snprintf(out->digits, sizeof(out->digits), "%llu", (unsigned long long)whole) : 0;
    out->point = out->count;
}

/* Leading zeros of a number below one move the point instead. */
static void put_digit(struct decimal *out, unsigned digit)
{
    if (out->count == 0 && digit == 0)
        out->point--;
    else
        out->digits[out->count++] = (char)('0' + digit);
}

/* False when x is not one of those that fit; x is not a whole number. */
static bool shortest_fraction(double x, struct decimal *out)
{
    int exponent;
    double m = frexp(x, &exponent);
    int n = 53 - exponent; /* x = mantissa / 2^n */
    if (n < 1 || n > 112)
        return false;

    uint64_t mantissa = (uint64_t)ldexp(m, 53);
    bool even = (mantissa & 1) == 0;
    /* All in quarters of a unit of the last place: above a power of two the lower half is a
     * quarter. */
    uint128 one = (uint128)1 << (n + 2);
    uint128 scaled = (uint128)mantissa << 2;
    uint128 rest = scaled & (one - 1);
    uint128 high = 2, low = m == 0.5 ? 1 : 2;

    put_whole((uint64_t)(scaled >> (n + 2)), out);
    for (;;) {
        rest *= 10;
        high *= 10;
        low *= 10;
        unsigned digit = (unsigned)(rest >> (n + 2));
        rest &= one - 1;
        bool may_cut = even ? rest <= low : rest < low;
        bool may_raise = even ? rest + high >= one : rest + high > one;
        if (!may_cut && !may_raise) {
            put_digit(out, digit);
            continue;
        }
        bool raise = may_raise;
        if (may_cut && may_raise)
            raise = rest * 2 > one || (rest * 2 == one && (digit & 1));
        if (raise && digit == 9)
            return false; /* a carry cannot happen; if it did, the long way knows it too */
        put_digit(out, digit + raise);
        out->digits[out->count] = '\0';
        return true;
    }
}

static void shortest(double x, struct decimal *out)
{
    int exponent;
    bool power_of_two = frexp(x, &exponent) == 0.5;

    if (x != trunc(x) && shortest_fraction(x, out))
        return;

    for (int count = x < 0x1p-1022 ? 1 : 15; count <= 17; count++) {
        print_digits(x, count, out);
        if (reads_back(out, x))
            break;
        if (power_of_two && count < 17) {
            step_up(out);
            if (reads_back(out, x))
                break;
        }
    }
    while (out->count > 1 && out->digits[out->count - 1] == '0')
        out->digits[--out->count] = '\0';
}

/* True when x is NaN, infinite or zero, and its text is written. */
static bool format_special(double x, char out[VPA_DOUBLE_TEXT_MAX])
{
    const char *text = NULL;

    if (isnan(x))
        text = "NaN";
    else if (isinf(x))
        text = x > 0 ? "+Inf" : "-Inf";
    else if (x == 0)
        text = signbit(x) ? "-0" : "0";
    if (text)
        memcpy(out, text, strlen(text) + 1);
    return text != NULL;
}

/* Small whole numbers, most of what is ever printed. */
static bool format_whole(double x, double below, char out[VPA_DOUBLE_TEXT_MAX])
{
    if (!(x > -below && x < below) || x != trunc(x))
        return false;
    snprintf(out, VPA_DOUBLE_TEXT_MAX, "%lld", (long long)x);
    return true;
}

static char *put_plain(const struct decimal *d, char *p)
{
    int i = 0;

    if (d->point <= 0) {
        *p++ = '0';
        *p++ = '.';
        for (int zeros = -d->point; zeros > 0; zeros--)
            *p++ = '0';
    }
    for (; i < d->count; i++) {
        if (i == d->point && i > 0)
            *p++ = '.';
        *p++ = d->digits[i];
    }
    for (; i < d->point; i++)
        *p++ = '0';
    return p;
}

static char *put_exponent(const struct decimal *d, int least_digits, char *p)
{
    int e = d->point - 1;
    int magnitude = e < 0 ? -e : e;

    *p++ = d->digits[0];
    if (d->count > 1) {
        *p++ = '.';
        memcpy(p, d->digits + 1, (size_t)d->count - 1);
        p += d->count - 1;
    }
    *p++ = 'e';
    *p++ = e < 0 ? '-' : '+';
    return p + snprintf(p, 8, "%0*d", least_digits, magnitude);
}

void vpa_double_format_json(double x, char out[VPA_DOUBLE_TEXT_MAX])
{
    if (format_special(x, out) || format_whole(x, 1e15, out))
        return;

    struct decimal d;
    char *p = out;
    double magnitude = fabs(x);
    shortest(magnitude, &d);
    if (x < 0)
        *p++ = '-';
    /* Go cleans e-09 to e-9 and leaves e+21 alone, which has two digits anyway. */
    p = magnitude >= 1e-6 && magnitude < 1e21 ? put_plain(&d, p) : put_exponent(&d, 1, p);
    *p = '\0';
}

void vpa_double_format_go(double x, char out[VPA_DOUBLE_TEXT_MAX])
{
    if (format_special(x, out) || format_whole(x, 1e6, out))
        return;

    struct decimal d;
    char *p = out;
    shortest(fabs(x), &d);
    if (x < 0)
        *p++ = '-';
    bool plain = d.point - 1 >= -4 && d.point - 1 < 6;
    p = plain ? put_plain(&d, p) : put_exponent(&d, 2, p);
    *p = '\0';
}

/* Go's rule for "_" in numbers: only between digits, or between a base prefix and a digit. */
static bool underscores_ok(const char *s)
{
    char saw = '^'; /* '0' a digit or prefix, '_', '!' anything else */
    bool hex = false;

    if (*s == '+' || *s == '-')
        s++;
    if (s[0] == '0' && s[1] && strchr("bBoOxX", s[1])) {
        hex = s[1] == 'x' || s[1] == 'X';
        saw = '0';
        s += 2;
    }
    for (; *s; s++) {
        if (isdigit((unsigned char)*s) || (hex && isxdigit((unsigned char)*s))) {
            saw = '0';
        } else if (*s == '_') {
            if (saw != '0')
                return false;
            saw = '_';
        } else {
            if (saw == '_')
                return false;
            saw = '!';
        }
    }
    return saw != '_';
}

static bool is_special_word(const char *s)
{
    if (strcasecmp(s, "nan") == 0)
        return true;
    if (*s == '+' || *s == '-')
        s++;
    return strcasecmp(s, "inf") == 0 || strcasecmp(s, "infinity") == 0;
}

static const char *skip_digits(const char *s, bool hex, bool *any)
{
    for (;; s++) {
        if (hex ? isxdigit((unsigned char)*s) : isdigit((unsigned char)*s))
            *any = true;
        else if (*s != '_')
            return s;
    }
}

/* The shape of a number without regard to the places of underscores. */
static bool has_number_shape(const char *s)
{
    bool any = false, exponent = false;

    if (*s == '+' || *s == '-')
        s++;
    bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    if (hex)
        s += 2;
    s = skip_digits(s, hex, &any);
    if (*s == '.')
        s = skip_digits(s + 1, hex, &any);
    if (!any)
        return false;
    if (hex ? *s == 'p' || *s == 'P' : *s == 'e' || *s == 'E') {
        s++;
        if (*s == '+' || *s == '-')
            s++;
        if (!isdigit((unsigned char)*s))
            return false;
        s = skip_digits(s, false, &exponent);
    }
    return *s == '\0' && (!hex || exponent);
}

int vpa_double_parse(const char *text, double *out, struct vpa_error *err)
{
    vpa_auto_free char *clean = NULL;

    if (!is_special_word(text)) {
        if (!has_number_shape(text))
            return vpa_fail(err, VPA_INVALID, "invalid syntax");
        if (strchr(text, '_')) {
            if (!underscores_ok(text))
                return vpa_fail(err, VPA_INVALID, "invalid syntax");
            clean = vpa_xstrdup(text);
            char *to = clean;
            for (const char *from = text; *from; from++)
                if (*from != '_')
                    *to++ = *from;
            *to = '\0';
        }
    }
    double x = strtod(clean ? clean : text, NULL);
    if (isinf(x) && !is_special_word(text))
        return vpa_fail(err, VPA_LIMIT, "value out of range");
    *out = x;
    return 0;
}
