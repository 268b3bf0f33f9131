/*
 * Instants and durations as Go and Kubernetes have them.
 *
 * vpa_time counts nanoseconds from 1970-01-01T00:00:00Z in 128 bits: years 0 to 9999 with full
 * resolution, compared with < and >. The unset time of Kubernetes objects is 0001-01-01T00:00:00Z,
 * a real instant older than everything. Nothing here reads a clock: "now" is always an argument.
 */
#ifndef VPA_BASE_TIME_H
#define VPA_BASE_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "vpa/base/buf.h"
#include "vpa/base/error.h"

__extension__ typedef __int128 vpa_time;
typedef int64_t vpa_duration; /* nanoseconds */

#define VPA_NANOSECOND ((vpa_duration)1)
#define VPA_MICROSECOND ((vpa_duration)1000)
#define VPA_MILLISECOND (1000 * VPA_MICROSECOND)
#define VPA_SECOND (1000 * VPA_MILLISECOND)
#define VPA_MINUTE (60 * VPA_SECOND)
#define VPA_HOUR (60 * VPA_MINUTE)

#define VPA_TIME_UNSET ((vpa_time)-62135596800 * VPA_SECOND)

static inline bool vpa_time_is_unset(vpa_time t)
{
    return t == VPA_TIME_UNSET;
}

/* t - u, saturated to the int64 range (Go: Time.Sub). */
vpa_duration vpa_time_sub(vpa_time t, vpa_time u);
/* t + d. */
static inline vpa_time vpa_time_add(vpa_time t, vpa_duration d)
{
    return t + d;
}
vpa_time vpa_time_from_unix(int64_t seconds, int64_t nanoseconds);
/* Unix nanoseconds saturated to int64; for compact storage and metrics. */
int64_t vpa_time_unix_nanos(vpa_time t);
/* Nearest multiple of d counted from year 1, halves up; t itself when d <= 0 (Go: Time.Round). */
vpa_time vpa_time_round(vpa_time t, vpa_duration d);
/* x rounded toward zero to a multiple of d; x itself when d <= 0 (Go: Duration.Truncate). */
vpa_duration vpa_duration_truncate(vpa_duration x, vpa_duration d);

/* RFC 3339 as metav1.Time and metav1.MicroTime read and write it (api.md 11.1 of the specification:
 * fraction kept when read, cut when written; MicroTime has exactly six digits). */
#define VPA_TIME_TEXT_MAX 40
int vpa_time_parse(const char *text, vpa_time *out, struct vpa_error *err) VPA_MUST_CHECK;
int vpa_time_parse_micro(const char *text, vpa_time *out, struct vpa_error *err) VPA_MUST_CHECK;
void vpa_time_format(vpa_time t, char out[VPA_TIME_TEXT_MAX]); /* 2026-08-20T10:05:00Z */
void vpa_time_format_micro(vpa_time t,
                           char out[VPA_TIME_TEXT_MAX]); /* 2026-08-20T10:05:00.000000Z */

/* Go durations: "1h30m", "1.5s"; error texts are Go's. */
#define VPA_DURATION_TEXT_MAX 40
int vpa_duration_parse(const char *text, vpa_duration *out, struct vpa_error *err) VPA_MUST_CHECK;
void vpa_duration_format(vpa_duration d, char out[VPA_DURATION_TEXT_MAX]); /* 1m30s */
/* Prometheus durations: "8d", "1h30m", "0"; error texts are Prometheus'. */
int vpa_duration_parse_prometheus(const char *text, vpa_duration *out,
                                  struct vpa_error *err) VPA_MUST_CHECK;

#endif
