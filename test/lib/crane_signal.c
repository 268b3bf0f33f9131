/*
 * Periodic signals: the discrete Fourier transform of a few weeks of hourly usage.
 *
 * The transforms are the plain sums: a month has 720 samples, so a table of the roots of unity and
 * half a million products do.
 */
#include "crane_signal.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"

#define MAX_ITEMS 100       /* of the spectrum that stay at most */
#define FAST (1.0 / 3600.0) /* hertz: above it a component may be noise */
#define LEAST 0.01          /* what a prediction at or below 0 becomes */
#define SHUFFLES 100
#define SEARCH (4 * VPA_HOUR) /* around a candidate when peaks are looked for */

typedef double complex root;

/* exp(-2 pi i n / count) for every n. */
static root *roots_of_unity(size_t count)
{
    root *roots = vpa_xreallocarray(NULL, count, sizeof(*roots));

    for (size_t n = 0; n < count; n++) {
        double angle = -2.0 * M_PI * (double)n / (double)count;
        roots[n] = cos(angle) + sin(angle) * I;
    }
    return roots;
}

static root transform_one(const double *x, const root *roots, size_t count, size_t k)
{
    root sum = 0.0;
    size_t at = 0;

    for (size_t n = 0; n < count; n++) {
        sum += x[n] * roots[at];
        at += k;
        if (at >= count)
            at -= count;
    }
    return sum;
}

static root *transform(const double *x, const root *roots, size_t count)
{
    root *spectrum = vpa_xreallocarray(NULL, count, sizeof(*spectrum));

    for (size_t k = 0; k < count; k++)
        spectrum[k] = transform_one(x, roots, count, k);
    return spectrum;
}

/* The real part of sample n of the inverse transform. */
static double inverse_one(const root *spectrum, const root *roots, size_t count, size_t n)
{
    double sum = 0.0;
    size_t at = 0;

    for (size_t k = 0; k < count; k++) {
        sum += creal(spectrum[k] * conj(roots[at]));
        at += n;
        if (at >= count)
            at -= count;
    }
    return sum / (double)count;
}

struct vpa_crane_signal vpa_crane_signal_tail(const struct vpa_crane_signal *s, vpa_duration length,
                                              size_t *multiples)
{
    size_t period = (size_t)(length / s->step);
    size_t whole = s->count / period;

    if (multiples)
        *multiples = whole;
    return (struct vpa_crane_signal){s->samples + (s->count - whole * period), whole * period,
                                     s->step};
}

/* ---- estimates ---- */

void vpa_crane_signal_largest(const struct vpa_crane_signal *s, size_t period, double margin,
                              double *out)
{
    for (size_t i = 0; i < period; i++) {
        double most = s->samples[s->count - period + i];
        for (size_t n = s->count - period + i; n >= period;) {
            n -= period;
            most = s->samples[n] > most ? s->samples[n] : most;
        }
        out[i] = most * (1.0 + margin);
    }
}

static int compare_falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/* The amplitude below which a component may be noise. */
static double threshold_of(const root *spectrum, size_t count, const struct vpa_crane_fft *options)
{
    size_t half = count / 2 - 1; /* the other half mirrors it; without the mean */
    vpa_auto_free double *amplitudes = vpa_xcalloc(half + 1, sizeof(*amplitudes));

    for (size_t k = 0; k < half; k++)
        amplitudes[k] = cabs(spectrum[k + 1]) / (double)count;
    if (half == 0)
        return 0.0;
    qsort(amplitudes, half, sizeof(*amplitudes), compare_falling);
    double least = amplitudes[(half >= MAX_ITEMS ? MAX_ITEMS : half) - 1];
    least = least < options->low_amplitude ? options->low_amplitude : least;
    if (options->min_items > 0 && half >= options->min_items &&
        amplitudes[options->min_items - 1] < least)
        least = amplitudes[options->min_items - 1];
    return least;
}

void vpa_crane_signal_smooth(const struct vpa_crane_signal *s, size_t period,
                             const struct vpa_crane_fft *options, double *out)
{
    size_t count = s->count;
    double rate = (double)VPA_SECOND / (double)s->step;
    vpa_auto_free root *roots = roots_of_unity(count);
    vpa_auto_free root *spectrum = transform(s->samples, roots, count);
    double least = threshold_of(spectrum, count, options);

    for (size_t k = 0; k < count; k++) {
        if (cabs(spectrum[k]) / (double)count < least && (double)k * rate / (double)count > FAST)
            spectrum[k] = 0.0;
    }
    for (size_t i = 0; i < period; i++) {
        double x = inverse_one(spectrum, roots, count, count - period + i);
        out[i] = (x > 0.0 ? x : LEAST) * (1.0 + options->margin);
    }
}

/* ---- period ---- */

static double strongest(const double *x, const root *roots, size_t count)
{
    double most = 0.0;

    for (size_t k = 1; k < count / 2; k++) {
        double power = cabs(transform_one(x, roots, count, k));
        most = power > most ? power : most;
    }
    return most;
}

static void shuffle(double *x, size_t count, struct vpa_random *random)
{
    for (size_t i = count - 1; i > 0; i--) {
        size_t k = (size_t)(vpa_random_double(random) * (double)(i + 1));
        double kept = x[i];
        x[i] = x[k];
        x[k] = kept;
    }
}

/* What chance reaches in 99 of 100 cases. */
static double chance(const struct vpa_crane_signal *s, const root *roots, struct vpa_random *random)
{
    vpa_auto_free double *x = vpa_xreallocarray(NULL, s->count, sizeof(*x));
    double powers[SHUFFLES];

    memcpy(x, s->samples, s->count * sizeof(*x));
    for (size_t i = 0; i < SHUFFLES; i++) {
        shuffle(x, s->count, random);
        powers[i] = strongest(x, roots, s->count);
    }
    qsort(powers, SHUFFLES, sizeof(powers[0]), compare_falling);
    return powers[1];
}

/* How alike the signal is to itself so many steps later, around the end; 1: the same. */
static double *correlate(const struct vpa_crane_signal *s)
{
    double *out = vpa_xcalloc(s->count, sizeof(*out));
    double mean = 0.0, variance = 0.0;

    for (size_t i = 0; i < s->count; i++)
        mean += s->samples[i] / (double)s->count;
    for (size_t i = 0; i < s->count; i++)
        variance += (s->samples[i] - mean) * (s->samples[i] - mean) / (double)s->count;
    for (size_t lag = 0; lag < s->count; lag++) {
        for (size_t i = 0; i < s->count; i++)
            out[lag] += (s->samples[i] - mean) * (s->samples[(i + lag) % s->count] - mean);
        out[lag] /= variance * (double)s->count;
    }
    return out;
}

/* Of the line through the points from .. to (least squares). */
static double slope(const double *y, size_t from, size_t to)
{
    double n = (double)(to - from + 1), sx = 0.0, sy = 0.0, sxy = 0.0, sxx = 0.0;

    for (size_t i = from; i <= to; i++) {
        sx += (double)i;
        sy += y[i];
        sxy += (double)i * y[i];
        sxx += (double)i * (double)i;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static bool is_peak(const double *y, size_t count, size_t at, size_t radius)
{
    size_t from = at > radius ? at - radius : 0;
    size_t to = at + radius < count ? at + radius : count - 1;

    if (at < 1 || at >= count || radius == 0)
        return false;
    return slope(y, from, at) > 0.0 && slope(y, at, to) < 0.0;
}

vpa_duration vpa_crane_signal_period(const struct vpa_crane_signal *s, struct vpa_random *random)
{
    vpa_auto_free root *roots = roots_of_unity(s->count);
    vpa_auto_free double *likeness = correlate(s);
    double least = chance(s, roots, random), best = 0.0;
    size_t period = 0, last = SIZE_MAX, search = (size_t)(SEARCH / s->step);

    for (size_t k = 2; k < s->count / 2; k++) {
        size_t candidate = s->count / k;
        if (cabs(transform_one(s->samples, roots, s->count, k)) <= least || candidate >= last)
            continue;
        last = candidate;
        size_t radius = candidate / 2 < search ? candidate / 2 : search;
        if (is_peak(likeness, s->count, candidate, radius) && likeness[candidate] > best) {
            best = likeness[candidate];
            period = candidate;
        }
    }
    return (vpa_duration)period * s->step;
}
