/*
 * Decimal arithmetic on limbs of nine digits. Base 10^9 instead of 2^32 because everything
 * quantities ask for is decimal: shifting by powers of ten, stripping zeros, printing. All loops
 * run over a few limbs; only absurd exponents make them long, and those are bounded by the parser
 * of quantities.
 */
#include "vpa/base/decimal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define BASE UINT32_C(1000000000)
#define DIGITS 9

__extension__ typedef unsigned __int128 uint128;

static uint32_t power_of_ten(int n)
{
    uint32_t p = 1;

    while (n-- > 0)
        p *= 10;
    return p;
}

static void trim(struct vpa_decimal *d)
{
    while (d->count && d->limbs[d->count - 1] == 0)
        d->count--;
    if (d->count == 0)
        d->negative = false;
}

static void saturate(struct vpa_decimal *d)
{
    d->count = VPA_DECIMAL_LIMBS;
    for (uint32_t i = 0; i < d->count; i++)
        d->limbs[i] = BASE - 1;
}

static void append_limb(struct vpa_decimal *d, uint32_t limb)
{
    if (d->count == VPA_DECIMAL_LIMBS)
        saturate(d);
    else
        d->limbs[d->count++] = limb;
}

void vpa_decimal_from_int64(struct vpa_decimal *d, int64_t n, int32_t scale)
{
    uint64_t magnitude = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    d->scale = scale;
    d->negative = n < 0;
    d->count = 0;
    for (; magnitude; magnitude /= BASE)
        d->limbs[d->count++] = (uint32_t)(magnitude % BASE);
}

void vpa_decimal_from_digits(struct vpa_decimal *d, const char *text, size_t count, int32_t scale)
{
    assert(count <= VPA_DECIMAL_DIGITS);
    d->scale = scale;
    d->negative = false;
    d->count = 0;
    while (count) {
        size_t take = count < DIGITS ? count : DIGITS;
        uint32_t limb = 0;
        for (size_t i = count - take; i < count; i++)
            limb = limb * 10 + (uint32_t)(text[i] - '0');
        d->limbs[d->count++] = limb;
        count -= take;
    }
    trim(d);
}

bool vpa_decimal_is_zero(const struct vpa_decimal *d)
{
    return d->count == 0;
}

void vpa_decimal_mul(struct vpa_decimal *d, uint64_t factor)
{
    uint128 carry = 0;

    for (uint32_t i = 0; i < d->count; i++) {
        carry += (uint128)d->limbs[i] * factor;
        d->limbs[i] = (uint32_t)(carry % BASE);
        carry /= BASE;
    }
    for (; carry; carry /= BASE)
        append_limb(d, (uint32_t)(carry % BASE));
    trim(d);
}

/* Divides the magnitude by a number up to BASE; the remainder. */
static uint32_t divide(struct vpa_decimal *d, uint32_t divisor)
{
    uint64_t rest = 0;

    for (uint32_t i = d->count; i-- > 0;) {
        rest = rest * BASE + d->limbs[i];
        d->limbs[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    while (d->count && d->limbs[d->count - 1] == 0)
        d->count--;
    return (uint32_t)rest;
}

/* Times 10^places; the scale grows with it, the value stays. */
static void widen(struct vpa_decimal *d, int32_t places)
{
    uint32_t shift = (uint32_t)places / DIGITS;

    d->scale += places;
    if (d->count == 0)
        return;
    vpa_decimal_mul(d, power_of_ten(places % DIGITS));
    if (d->count + shift > VPA_DECIMAL_LIMBS) {
        saturate(d);
        return;
    }
    memmove(d->limbs + shift, d->limbs, d->count * sizeof(d->limbs[0]));
    memset(d->limbs, 0, shift * sizeof(d->limbs[0]));
    d->count += shift;
}

/* Cuts the last places digits; true when they were zeros. */
static bool narrow(struct vpa_decimal *d, int32_t places)
{
    uint32_t shift = (uint32_t)places / DIGITS;
    bool exact = true;

    d->scale -= places;
    if (shift > d->count)
        shift = d->count;
    for (uint32_t i = 0; i < shift; i++)
        exact = exact && d->limbs[i] == 0;
    d->count -= shift;
    memmove(d->limbs, d->limbs + shift, d->count * sizeof(d->limbs[0]));
    if (places % DIGITS)
        exact = divide(d, power_of_ten(places % DIGITS)) == 0 && exact;
    return exact;
}

bool vpa_decimal_round_up(struct vpa_decimal *d, int32_t scale)
{
    bool negative = d->negative;

    if (d->scale <= scale) {
        widen(d, scale - d->scale);
        return true;
    }
    if (narrow(d, d->scale - scale)) {
        trim(d);
        return true;
    }
    uint32_t i = 0;
    while (i < d->count && d->limbs[i] == BASE - 1)
        d->limbs[i++] = 0;
    if (i < d->count)
        d->limbs[i]++;
    else
        append_limb(d, 1);
    d->negative = negative;
    return false;
}

static int compare_magnitudes(const struct vpa_decimal *a, const struct vpa_decimal *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (uint32_t i = a->count; i-- > 0;)
        if (a->limbs[i] != b->limbs[i])
            return a->limbs[i] < b->limbs[i] ? -1 : 1;
    return 0;
}

int vpa_decimal_cmp(const struct vpa_decimal *a, const struct vpa_decimal *b)
{
    struct vpa_decimal wide;
    int order;

    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    if (a->scale < b->scale) {
        wide = *a;
        widen(&wide, b->scale - a->scale);
        order = compare_magnitudes(&wide, b);
    } else {
        wide = *b;
        widen(&wide, a->scale - b->scale);
        order = compare_magnitudes(a, &wide);
    }
    return a->negative ? -order : order;
}

/* a = |a| + |b|, sign kept. */
static void add_magnitude(struct vpa_decimal *a, const struct vpa_decimal *b)
{
    uint32_t carry = 0;

    while (a->count < b->count)
        a->limbs[a->count++] = 0;
    for (uint32_t i = 0; i < a->count && (carry || i < b->count); i++) {
        uint32_t sum = a->limbs[i] + carry + (i < b->count ? b->limbs[i] : 0);
        carry = sum >= BASE;
        a->limbs[i] = carry ? sum - BASE : sum;
    }
    if (carry)
        append_limb(a, 1);
}

/* big = |big| - |small|, sign kept. */
static void subtract_magnitude(struct vpa_decimal *big, const struct vpa_decimal *small)
{
    uint32_t borrow = 0;

    for (uint32_t i = 0; i < big->count && (borrow || i < small->count); i++) {
        uint32_t take = borrow + (i < small->count ? small->limbs[i] : 0);
        borrow = big->limbs[i] < take;
        big->limbs[i] += borrow ? BASE - take : 0 - take;
    }
    trim(big);
}

void vpa_decimal_add(struct vpa_decimal *a, const struct vpa_decimal *b)
{
    struct vpa_decimal other = *b;

    if (a->scale < other.scale)
        widen(a, other.scale - a->scale);
    else
        widen(&other, a->scale - other.scale);
    if (a->count == 0)
        a->negative = other.negative;
    if (a->negative == other.negative) {
        add_magnitude(a, &other);
    } else if (compare_magnitudes(a, &other) >= 0) {
        subtract_magnitude(a, &other);
    } else {
        subtract_magnitude(&other, a);
        *a = other;
    }
    trim(a);
}

int32_t vpa_decimal_strip(struct vpa_decimal *d, uint32_t base)
{
    int32_t times = 0;

    while (d->count) {
        struct vpa_decimal quotient = *d;
        if (divide(&quotient, base) != 0)
            break;
        *d = quotient;
        times++;
    }
    return times;
}

bool vpa_decimal_unscaled_int64(const struct vpa_decimal *d, int64_t *out)
{
    uint128 n = 0;

    if (d->count > 3)
        return false;
    for (uint32_t i = d->count; i-- > 0;)
        n = n * BASE + d->limbs[i];
    if (n > (uint128)INT64_MAX + (d->negative ? 1 : 0))
        return false;
    *out = d->negative ? (int64_t)(0 - (uint64_t)n) : (int64_t)n;
    return true;
}

void vpa_decimal_print_unscaled(const struct vpa_decimal *d, struct vpa_buf *out)
{
    if (d->count == 0) {
        vpa_buf_putc(out, '0');
        return;
    }
    if (d->negative)
        vpa_buf_putc(out, '-');
    vpa_buf_printf(out, "%u", d->limbs[d->count - 1]);
    for (uint32_t i = d->count - 1; i-- > 0;)
        vpa_buf_printf(out, "%09u", d->limbs[i]);
}
