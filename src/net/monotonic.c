#include "vpa/net/monotonic.h"

#include <time.h>

#include "vpa/base/time.h"

int64_t vpa_monotonic_read(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * VPA_SECOND + ts.tv_nsec;
}
