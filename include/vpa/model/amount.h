/*
 * Amounts: resources as the model counts them, whole millicores of cpu and whole bytes of memory.
 *
 * Doubles become amounts by truncation, after clamping to 0 .. VPA_AMOUNT_MAX; every stage of the
 * estimation truncates, as upstream does (pkg/recommender/model/types.go).
 */
#ifndef VPA_MODEL_AMOUNT_H
#define VPA_MODEL_AMOUNT_H

#include <stdint.h>

typedef int64_t vpa_amount; /* millicores or bytes */

#define VPA_AMOUNT_MAX INT64_C(100000000000000) /* 1e14 */

/* Clamped and truncated; NaN gives INT64_MIN as on the reference's processor. */
vpa_amount vpa_amount_from_double(double x);
vpa_amount vpa_amount_from_cores(double cores);
double vpa_amount_to_cores(vpa_amount cpu);
vpa_amount vpa_amount_from_bytes(double bytes);
double vpa_amount_to_bytes(vpa_amount memory);
/* a * factor, clamped and truncated. */
vpa_amount vpa_amount_scale(vpa_amount a, double factor);
static inline vpa_amount vpa_amount_max(vpa_amount a, vpa_amount b)
{
    return a > b ? a : b;
}

#endif
