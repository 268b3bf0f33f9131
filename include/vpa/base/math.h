/*
 * Floating point arithmetic that equals the reference's to the last bit, and the texts of doubles.
 *
 * Recommendations are compared with upstream's digit by digit, and upstream uses Go's mathematics,
 * whose last digits differ from the C library's (pow(1.05, n) in almost every bucket start). The
 * functions here are Go's algorithms as its amd64 build runs them, without fused multiply-add.
 * Source of the formulas: Go's math package; chapter "Numeric base" of docs/architecture.md.
 */
#ifndef VPA_BASE_MATH_H
#define VPA_BASE_MATH_H

#include <stdint.h>

#include "vpa/base/error.h"

/* x to the integral power n. */
double vpa_pow(double x, int64_t n);
/* 2 to the power x. */
double vpa_exp2(double x);
/* Natural logarithm; NaN for negative x, minus infinity for 0. Subnormal x are handled as
 * mathematics has them (the reference is wrong there). */
double vpa_log(double x);
/* vpa_log(x) / vpa_log(base), one division: the bucket index before it is rounded. */
double vpa_log_base(double base, double x);
/* x * 2^e, rounded once. */
double vpa_ldexp(double x, int64_t e);

/* For qsort; of numbers, not NaN. */
int vpa_double_compare(const void *a, const void *b);

/* Toward zero, as Go converts on amd64: NaN and everything outside the int64 range give INT64_MIN.
 */
int64_t vpa_trunc_int64(double x);
/* floor(x + 0.5) converted as above: halves go up, also below zero. */
int64_t vpa_hround(double x);

/*
 * Shortest text that reads back to the same double; NaN, +Inf and -Inf are written as those words.
 *   json  Go's encoding/json (checkpoints, patches): plain for 1e-6 <= |x| < 1e21, else 1e-7, 1e+21
 *   go    Go's %v (flags, metrics): plain for 1e-4 <= |x| < 1e6, else 1e-05, 1e+06, 1.048576e+08
 */
#define VPA_DOUBLE_TEXT_MAX 32
void vpa_double_format_json(double x, char out[VPA_DOUBLE_TEXT_MAX]);
void vpa_double_format_go(double x, char out[VPA_DOUBLE_TEXT_MAX]);

/*
 * Reads the whole text as Go's strconv.ParseFloat(text, 64): decimal and hexadecimal forms, "_"
 * between digits, inf, infinity and nan in any case. VPA_INVALID "invalid syntax", or VPA_LIMIT
 * "value out of range" for a number beyond the largest double.
 */
int vpa_double_parse(const char *text, double *out, struct vpa_error *err) VPA_MUST_CHECK;

#endif
