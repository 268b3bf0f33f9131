/*
 * How well an allocation fits what is used, added up over windows of time. One definition for the
 * laboratory, which replays the past, and for the recommender, which measures the present.
 *
 * Let A be what is allocated in a window and u each of the samples in it:
 *
 *     slack      (sum A - sum min(u, A)) / sum A          what is reserved and not used
 *     unserved   (sum u - sum min(u, A)) / sum u          what is wanted and not reserved
 *     above      share of the samples with u > A
 *
 * A window weighs the same however many samples it has. Amounts are of any one unit.
 *
 *     struct vpa_measure m = {0};
 *     vpa_measure_add(&m, 500, (const double[]){300, 600}, 2);
 *     vpa_measure_slack(&m);          // (500 - (300 + 500) / 2) / 500 = 0.2
 */
#ifndef VPA_MODEL_MEASURE_H
#define VPA_MODEL_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

struct vpa_measure {
    double allocated;
    double used;
    double served; /* of what was used, what the allocation holds */
    double above;  /* windows, each by its share of samples above */
    double windows;
};

/* A window with count samples (1 or more). */
void vpa_measure_add(struct vpa_measure *m, double allocated, const double *used, size_t count);
/* 0 when nothing was allocated, used or measured. */
double vpa_measure_slack(const struct vpa_measure *m);
double vpa_measure_unserved(const struct vpa_measure *m);
double vpa_measure_above(const struct vpa_measure *m);
/* Whether an allocation is another one than the one before: they differ by more than a millionth of
 * the larger. */
bool vpa_measure_is_change(double before, double after);

#endif
