#include "vpa/net/monotonic.h"

#include "vpa/base/time.h"

int64_t vpa_monotonic_read(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * VPA_SECOND + ts.tv_nsec;
}

void vpa_monotonic_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct timespec vpa_monotonic_in(int64_t nanoseconds)
{
    int64_t at = vpa_monotonic_read() + nanoseconds;

    return (struct timespec){.tv_sec = (time_t)(at / VPA_SECOND), .tv_nsec = at % VPA_SECOND};
}
