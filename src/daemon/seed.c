#include "vpa/daemon/seed.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint64_t vpa_seed_from_kernel(void)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
        struct timespec ts; /* only jitter and names depend on it */
        clock_gettime(CLOCK_REALTIME, &ts);
        seed = (uint64_t)ts.tv_nsec * 1000003u + (uint64_t)ts.tv_sec + (uint64_t)getpid();
    }
    return seed;
}
