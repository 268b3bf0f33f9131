/*
 * Exact decimal numbers of any usual size, for the quantities that do not fit 64 bits.
 *
 * A decimal is sign, magnitude and scale: -12345 with scale 3 is -12.345. The scale is kept as it
 * comes about (1.50 has scale 2), because what the reference prints and reports depends on it.
 * Working numbers have room for VPA_DECIMAL_DIGITS digits on the stack; what is kept is a copy in
 * an arena.
 */
#ifndef VPA_BASE_DECIMAL_H
#define VPA_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/buf.h"

#define VPA_DECIMAL_LIMBS 300
#define VPA_DECIMAL_DIGITS (VPA_DECIMAL_LIMBS * 9)

/* The magnitude is in base 10^9, least significant limb first, no leading zero limbs; zero has
 * none. Results beyond the room saturate at all nines, which no quantity that can be written
 * reaches. */
struct vpa_decimal {
    int32_t scale; /* digits behind the point; negative: zeros before it */
    bool negative; /* false for zero */
    uint32_t count;
    uint32_t limbs[VPA_DECIMAL_LIMBS];
};

void vpa_decimal_from_int64(struct vpa_decimal *d, int64_t n, int32_t scale);
/* count decimal digits at text (no sign, no point); at most VPA_DECIMAL_DIGITS. */
void vpa_decimal_from_digits(struct vpa_decimal *d, const char *text, size_t count, int32_t scale);
bool vpa_decimal_is_zero(const struct vpa_decimal *d);
/* -1, 0, 1 by value. */
int vpa_decimal_cmp(const struct vpa_decimal *a, const struct vpa_decimal *b);
/* a += b; the scale becomes the greater of the two. */
void vpa_decimal_add(struct vpa_decimal *a, const struct vpa_decimal *b);
/* Multiplies the magnitude; the scale stays. */
void vpa_decimal_mul(struct vpa_decimal *d, uint64_t factor);
/* To exactly that scale, away from zero; true when nothing was lost. */
bool vpa_decimal_round_up(struct vpa_decimal *d, int32_t scale);
/* Divides the magnitude by base (2 to 10^9) as long as that is exact; how often it was. 0 for zero.
 */
int32_t vpa_decimal_strip(struct vpa_decimal *d, uint32_t base);
/* Whether the unscaled number fits; *out is set then. */
bool vpa_decimal_unscaled_int64(const struct vpa_decimal *d, int64_t *out);
/* Sign and digits of the unscaled number, without point. */
void vpa_decimal_print_unscaled(const struct vpa_decimal *d, struct vpa_buf *out);

#endif
