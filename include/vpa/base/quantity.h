/*
 * Kubernetes resource quantities: exact decimal numbers with a format and, sometimes, a remembered
 * text.
 *
 * The reference keeps two internal forms (int64 mantissa times a power of ten, or an arbitrary
 * decimal) whose difference shows in the texts; both are kept here. A quantity is a value: copying
 * the struct copies it, remembered text included. Texts and big numbers live in the arena given to
 * the function that made them.
 */
#ifndef VPA_BASE_QUANTITY_H
#define VPA_BASE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "vpa/base/buf.h"
#include "vpa/base/error.h"
#include "vpa/base/mem.h"

enum vpa_quantity_format {
    VPA_DECIMAL_SI = 0,
    VPA_BINARY_SI,
    VPA_DECIMAL_EXPONENT,
};

struct vpa_quantity_big; /* private: arbitrary precision */

struct vpa_quantity {
    int64_t mantissa;                   /* fast form: mantissa * 10^scale */
    const struct vpa_quantity_big *big; /* big form when not NULL; lives in the arena */
    const char *text;                   /* remembered text or NULL; lives in the arena */
    int32_t scale;
    uint8_t format; /* enum vpa_quantity_format */
};

/* Longest text that is parsed; longer ones are VPA_INVALID. */
#define VPA_QUANTITY_INPUT_MAX 1100

/* Parses text exactly as resource.ParseQuantity does (grammar, rounding, what is remembered; error
 * texts are upstream's). Exponents outside -1000..1000 are refused. */
int vpa_quantity_parse(struct vpa_arena *arena, const char *text, struct vpa_quantity *out,
                       struct vpa_error *err) VPA_MUST_CHECK;

/* Constructors: n thousandths in decimal format (cpu), n whole units in the given format, n *
 * 10^scale. */
struct vpa_quantity vpa_quantity_milli(int64_t n);
struct vpa_quantity vpa_quantity_units(int64_t n, enum vpa_quantity_format format);
struct vpa_quantity vpa_quantity_scaled(int64_t n, int32_t scale, enum vpa_quantity_format format);

/* Rounded away from zero to whole units / thousandths; saturates at the int64 range. */
int64_t vpa_quantity_value(const struct vpa_quantity *q);
int64_t vpa_quantity_milli_value(const struct vpa_quantity *q);
/* True when the number is a whole number of units / thousandths. */
bool vpa_quantity_is_whole(const struct vpa_quantity *q);
bool vpa_quantity_is_whole_milli(const struct vpa_quantity *q);
bool vpa_quantity_is_zero(const struct vpa_quantity *q);
int vpa_quantity_sign(const struct vpa_quantity *q);
int vpa_quantity_cmp(const struct vpa_quantity *a, const struct vpa_quantity *b); /* -1, 0, 1 */
int vpa_quantity_cmp_int64(const struct vpa_quantity *a, int64_t b);

/* *a += b and so on; forget the remembered text; the format is a's, or b's when a is zero. */
void vpa_quantity_add(struct vpa_arena *arena, struct vpa_quantity *a,
                      const struct vpa_quantity *b);
void vpa_quantity_sub(struct vpa_arena *arena, struct vpa_quantity *a,
                      const struct vpa_quantity *b);
void vpa_quantity_neg(struct vpa_arena *arena, struct vpa_quantity *a);
/* True when the product was exact in the fast form, as upstream's Mul reports. */
bool vpa_quantity_mul(struct vpa_arena *arena, struct vpa_quantity *a, int64_t factor);
/* Rounds up (away from zero) to a multiple of 10^scale; true when nothing was lost. */
bool vpa_quantity_round_up(struct vpa_arena *arena, struct vpa_quantity *a, int32_t scale);

/* The remembered text if there is one, else the canonical text. */
void vpa_quantity_format_text(const struct vpa_quantity *q, struct vpa_buf *out);
/* The same in the arena. */
const char *vpa_quantity_text(struct vpa_arena *arena, const struct vpa_quantity *q);
/* Always the canonical text. */
void vpa_quantity_canonical(const struct vpa_quantity *q, struct vpa_buf *out);
/* A copy whose text and big number live in the given arena. */
struct vpa_quantity vpa_quantity_copy(struct vpa_arena *arena, const struct vpa_quantity *q);

#endif
