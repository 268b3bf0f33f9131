#include "vpa/model/amount.h"

#include "vpa/base/math.h"

vpa_amount vpa_amount_from_double(double x)
{
    if (x > (double)VPA_AMOUNT_MAX)
        return VPA_AMOUNT_MAX;
    if (x < 0)
        return 0;
    return vpa_trunc_int64(
        x); /* NaN fails both tests and becomes INT64_MIN, as upstream on amd64 */
}

vpa_amount vpa_amount_from_cores(double cores)
{
    return vpa_amount_from_double(cores * 1000.0);
}

double vpa_amount_to_cores(vpa_amount cpu)
{
    return (double)cpu / 1000.0;
}

vpa_amount vpa_amount_from_bytes(double bytes)
{
    return vpa_amount_from_double(bytes);
}

double vpa_amount_to_bytes(vpa_amount memory)
{
    return (double)memory;
}

vpa_amount vpa_amount_scale(vpa_amount a, double factor)
{
    return vpa_amount_from_double((double)a * factor);
}
