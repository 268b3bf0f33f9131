/*
 * Kubernetes quantities.
 *
 * The reference (k8s.io/apimachinery/pkg/api/resource) has two forms of a number, and which one a
 * text gets decides what is printed later, so both are here. The fast form is an int64 mantissa and
 * a power of ten; nearly every quantity of a cluster has it and nothing is allocated for it. The
 * big form holds a decimal of any size in the arena; a parsed one counts whole 10^-9.
 *
 * A parsed text is remembered, and printed again as it was, only in the fast form and only when the
 * reference believes it canonical ("1.500", "+1" and "05Ki" pass that test, "1000m" does not).
 * Arithmetic forgets the text.
 *
 * Where the reference overflows, wraps or rounds negative numbers wrongly, the value here is exact
 * and saturates at the int64 range.
 */
#include "quantity_private.h"

#include <string.h>

__extension__ typedef __int128 int128;

/* ---- forms ---- */

static const struct vpa_quantity_big *keep(struct vpa_arena *arena, const struct vpa_decimal *d)
{
    struct vpa_quantity_big *big =
        vpa_arena_alloc(arena, sizeof(*big) + d->count * sizeof(d->limbs[0]));

    big->scale = d->scale;
    big->negative = d->negative;
    big->count = d->count;
    memcpy(big->limbs, d->limbs, d->count * sizeof(d->limbs[0]));
    return big;
}

void vpa_quantity_to_decimal(const struct vpa_quantity *q, struct vpa_decimal *d)
{
    if (!q->big) {
        vpa_decimal_from_int64(d, q->mantissa, -q->scale);
        return;
    }
    d->scale = q->big->scale;
    d->negative = q->big->negative;
    d->count = q->big->count;
    memcpy(d->limbs, q->big->limbs, d->count * sizeof(d->limbs[0]));
}

void vpa_quantity_set_big(struct vpa_arena *arena, struct vpa_quantity *q,
                          const struct vpa_decimal *d)
{
    q->big = keep(arena, d);
    q->mantissa = 0;
    q->scale = 0;
    q->text = NULL;
}

bool vpa_quantity_scale_up(int64_t n, int32_t power, int64_t *out)
{
    if (n == 0)
        power = 0;
    for (; power > 0; power--)
        if (__builtin_mul_overflow(n, 10, &n))
            return false;
    *out = n;
    return true;
}

bool vpa_quantity_scale_down(int64_t n, int32_t power, int64_t *out)
{
    bool fraction = false;
    int sign = n < 0 ? -1 : 1;

    for (; power > 0 && n != 0; power--) {
        fraction = fraction || n % 10 != 0;
        n /= 10;
    }
    *out = fraction ? n + sign : n;
    return !fraction;
}

/* ---- construction ---- */

struct vpa_quantity vpa_quantity_scaled(int64_t n, int32_t scale, enum vpa_quantity_format format)
{
    return (struct vpa_quantity){.mantissa = n, .scale = scale, .format = (uint8_t)format};
}

struct vpa_quantity vpa_quantity_milli(int64_t n)
{
    return vpa_quantity_scaled(n, -3, VPA_DECIMAL_SI);
}

struct vpa_quantity vpa_quantity_units(int64_t n, enum vpa_quantity_format format)
{
    return vpa_quantity_scaled(n, 0, format);
}

struct vpa_quantity vpa_quantity_copy(struct vpa_arena *arena, const struct vpa_quantity *q)
{
    struct vpa_quantity copy = *q;

    if (q->text)
        copy.text = vpa_arena_strdup(arena, q->text);
    if (q->big) {
        struct vpa_decimal d;
        vpa_quantity_to_decimal(q, &d);
        copy.big = keep(arena, &d);
    }
    return copy;
}

/* ---- values ---- */

/* Rounded away from zero to a multiple of 10^scale, counted in it; *exact when nothing was lost. */
static int64_t scaled_value(const struct vpa_quantity *q, int32_t scale, bool *exact)
{
    int64_t n;

    *exact = true;
    if (q->big) {
        struct vpa_decimal d;
        vpa_quantity_to_decimal(q, &d);
        *exact = vpa_decimal_round_up(&d, -scale);
        if (!vpa_decimal_unscaled_int64(&d, &n))
            n = d.negative ? INT64_MIN : INT64_MAX;
    } else if (q->scale < scale) {
        *exact = vpa_quantity_scale_down(q->mantissa, scale - q->scale, &n);
    } else if (!vpa_quantity_scale_up(q->mantissa, q->scale - scale, &n)) {
        n = q->mantissa < 0 ? INT64_MIN : INT64_MAX;
    }
    return n;
}

int64_t vpa_quantity_value(const struct vpa_quantity *q)
{
    bool exact;

    return scaled_value(q, 0, &exact);
}

int64_t vpa_quantity_milli_value(const struct vpa_quantity *q)
{
    bool exact;

    return scaled_value(q, -3, &exact);
}

bool vpa_quantity_is_whole(const struct vpa_quantity *q)
{
    bool exact;

    scaled_value(q, 0, &exact);
    return exact;
}

bool vpa_quantity_is_whole_milli(const struct vpa_quantity *q)
{
    bool exact;

    scaled_value(q, -3, &exact);
    return exact;
}

int vpa_quantity_sign(const struct vpa_quantity *q)
{
    if (q->big)
        return q->big->negative ? -1 : q->big->count ? 1 : 0;
    return (q->mantissa > 0) - (q->mantissa < 0);
}

bool vpa_quantity_is_zero(const struct vpa_quantity *q)
{
    return vpa_quantity_sign(q) == 0;
}

/* Fast forms: 2^63 * 10^19 fits 128 bits, and more than 19 places apart the scale alone decides. */
static int compare_fast(const struct vpa_quantity *a, const struct vpa_quantity *b)
{
    int sign_a = vpa_quantity_sign(a), sign_b = vpa_quantity_sign(b);
    int64_t apart = (int64_t)a->scale - b->scale;

    if (sign_a != sign_b || sign_a == 0)
        return (sign_a > sign_b) - (sign_a < sign_b);
    if (apart > 19)
        return sign_a;
    if (apart < -19)
        return -sign_a;
    int128 x = a->mantissa, y = b->mantissa;
    for (; apart > 0; apart--)
        x *= 10;
    for (; apart < 0; apart++)
        y *= 10;
    return (x > y) - (x < y);
}

int vpa_quantity_cmp(const struct vpa_quantity *a, const struct vpa_quantity *b)
{
    struct vpa_decimal x, y;

    if (!a->big && !b->big)
        return compare_fast(a, b);
    vpa_quantity_to_decimal(a, &x);
    vpa_quantity_to_decimal(b, &y);
    return vpa_decimal_cmp(&x, &y);
}

int vpa_quantity_cmp_int64(const struct vpa_quantity *a, int64_t b)
{
    struct vpa_quantity q = vpa_quantity_units(b, VPA_DECIMAL_SI);

    return vpa_quantity_cmp(a, &q);
}

/* ---- arithmetic ---- */

/* a += mantissa * 10^scale in the fast form; false when that leaves int64. */
static bool add_fast(struct vpa_quantity *a, int64_t mantissa, int32_t scale)
{
    int64_t x = a->mantissa, y = mantissa;

    if (mantissa == 0)
        return true;
    if (a->mantissa == 0) {
        a->mantissa = mantissa;
        a->scale = scale;
        return true;
    }
    int32_t least = a->scale < scale ? a->scale : scale;
    if (!vpa_quantity_scale_up(x, a->scale - least, &x) ||
        !vpa_quantity_scale_up(y, scale - least, &y) || __builtin_add_overflow(x, y, &x))
        return false;
    a->mantissa = x;
    a->scale = least;
    return true;
}

static void add(struct vpa_arena *arena, struct vpa_quantity *a, const struct vpa_quantity *b,
                bool negate)
{
    struct vpa_decimal x, y;
    int64_t mantissa = b->mantissa;

    a->text = NULL;
    if (vpa_quantity_is_zero(a))
        a->format = b->format;
    bool fits = !negate || !__builtin_sub_overflow(0, b->mantissa, &mantissa);
    if (fits && !a->big && !b->big && add_fast(a, mantissa, b->scale))
        return;
    vpa_quantity_to_decimal(a, &x);
    vpa_quantity_to_decimal(b, &y);
    if (negate && y.count)
        y.negative = !y.negative;
    vpa_decimal_add(&x, &y);
    vpa_quantity_set_big(arena, a, &x);
}

void vpa_quantity_add(struct vpa_arena *arena, struct vpa_quantity *a, const struct vpa_quantity *b)
{
    add(arena, a, b, false);
}

void vpa_quantity_sub(struct vpa_arena *arena, struct vpa_quantity *a, const struct vpa_quantity *b)
{
    add(arena, a, b, true);
}

void vpa_quantity_neg(struct vpa_arena *arena, struct vpa_quantity *a)
{
    struct vpa_decimal d;

    a->text = NULL;
    if (!a->big && a->mantissa != INT64_MIN) {
        a->mantissa = -a->mantissa;
        return;
    }
    vpa_quantity_to_decimal(a, &d);
    d.negative = !d.negative && d.count;
    vpa_quantity_set_big(arena, a, &d);
}

/* The reference takes the fast form only when the product is also a whole number of units in int64.
 */
static bool mul_fast(struct vpa_quantity *a, int64_t factor)
{
    int64_t product, units;

    if (a->mantissa == 0)
        return true;
    if (factor == 0) {
        a->mantissa = 0;
        a->scale = 0;
        return true;
    }
    if (__builtin_mul_overflow(a->mantissa, factor, &product))
        return false;
    if (a->scale >= 0 ? !vpa_quantity_scale_up(product, a->scale, &units)
                      : !vpa_quantity_scale_down(product, -a->scale, &units))
        return false;
    a->mantissa = product;
    return true;
}

bool vpa_quantity_mul(struct vpa_arena *arena, struct vpa_quantity *a, int64_t factor)
{
    struct vpa_decimal d;
    int64_t unscaled;

    a->text = NULL;
    if (!a->big && mul_fast(a, factor))
        return true;
    vpa_quantity_to_decimal(a, &d);
    bool negative = d.negative != (factor < 0);
    vpa_decimal_mul(&d, factor < 0 ? 0 - (uint64_t)factor : (uint64_t)factor);
    d.negative = negative && d.count;
    bool fits = vpa_decimal_unscaled_int64(&d, &unscaled);
    vpa_quantity_set_big(arena, a, &d);
    return fits;
}

bool vpa_quantity_round_up(struct vpa_arena *arena, struct vpa_quantity *a, int32_t scale)
{
    struct vpa_decimal d;

    if (!a->big) {
        if (a->scale >= scale)
            return true;
        a->text = NULL;
        bool exact = vpa_quantity_scale_down(a->mantissa, scale - a->scale, &a->mantissa);
        a->scale = scale;
        return exact;
    }
    vpa_quantity_to_decimal(a, &d);
    bool exact = vpa_decimal_round_up(&d, -scale);
    vpa_quantity_set_big(arena, a, &d);
    return exact;
}
