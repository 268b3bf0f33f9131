/* Periods in a signal, and what is expected of the next one. */
#ifndef TEST_CRANE_SIGNAL_H
#define TEST_CRANE_SIGNAL_H

#include "vpa/base/random.h"
#include "vpa/model/crane.h"

/* Crane's prediction of periodic usage, which its resource recommendation does not use: 9 of the
 * specification. Samples in equal steps; a day of them is estimated from whole days at the end. */
struct vpa_crane_signal {
    const double *samples;
    size_t count; /* 2 .. VPA_CRANE_SIGNAL_MAX */
    vpa_duration step;
};
#define VPA_CRANE_SIGNAL_MAX 4096 /* the transforms take the square of it */
struct vpa_crane_fft {
    double margin;
    size_t min_items;     /* of the spectrum that stay */
    double low_amplitude; /* below it, and fast: noise */
};
/* The last whole multiple of length; count 0 when it is shorter. *multiples may be NULL. */
struct vpa_crane_signal vpa_crane_signal_tail(const struct vpa_crane_signal *s, vpa_duration length,
                                              size_t *multiples);
/* Per step of a period the largest sample of all periods. s: whole periods; out: one period. */
void vpa_crane_signal_largest(const struct vpa_crane_signal *s, size_t period, double margin,
                              double *out);
/* The last period, without what is fast and small. */
void vpa_crane_signal_smooth(const struct vpa_crane_signal *s, size_t period,
                             const struct vpa_crane_fft *options, double *out);
/* The fundamental period: one whose frequency has more power than any in 99 of 100 shuffles of the
 * samples, and that is a peak of the autocorrelation. 0: not periodic. */
vpa_duration vpa_crane_signal_period(const struct vpa_crane_signal *s, struct vpa_random *random);

#endif
