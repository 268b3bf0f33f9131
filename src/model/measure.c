#include "vpa/model/measure.h"

#include <math.h>

/* Two allocations are the same when they differ by less than this share. */
#define SAME 1e-6

void vpa_measure_add(struct vpa_measure *m, double allocated, const double *used, size_t count)
{
    double sum = 0.0;
    double served = 0.0;
    size_t over = 0;

    for (size_t i = 0; i < count; i++) {
        sum += used[i];
        served += used[i] < allocated ? used[i] : allocated;
        over += used[i] > allocated ? 1 : 0;
    }
    m->allocated += allocated;
    m->used += sum / (double)count;
    m->served += served / (double)count;
    m->above += (double)over / (double)count;
    m->windows += 1;
}

static double missing_share(double whole, double part)
{
    return whole > 0.0 ? (whole - part) / whole : 0.0;
}

double vpa_measure_slack(const struct vpa_measure *m)
{
    return missing_share(m->allocated, m->served);
}

double vpa_measure_unserved(const struct vpa_measure *m)
{
    return missing_share(m->used, m->served);
}

double vpa_measure_above(const struct vpa_measure *m)
{
    return m->windows > 0.0 ? m->above / m->windows : 0.0;
}

bool vpa_measure_is_change(double before, double after)
{
    return fabs(after - before) > SAME * (after > before ? after : before);
}
