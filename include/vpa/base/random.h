/*
 * Random numbers for jitter and identities, as an injected source: tests seed it, daemons seed it
 * from the kernel once (daemon/seed.h). Not for secrets.
 */
#ifndef VPA_BASE_RANDOM_H
#define VPA_BASE_RANDOM_H

#include <stdint.h>

#include "vpa/base/time.h"

struct vpa_random { /* splitmix64; a zeroed struct is seed 0 */
    uint64_t state;
};

void vpa_random_init(struct vpa_random *random, uint64_t seed);
uint64_t vpa_random_next(struct vpa_random *random);
/* Uniform in [0, 1). */
double vpa_random_double(struct vpa_random *random);
/* d * (1 + uniform[0, factor)): client-go's wait.Jitter. */
vpa_duration vpa_random_jitter(struct vpa_random *random, vpa_duration d, double factor);

#define VPA_UUID_TEXT_MAX 37
void vpa_random_uuid(struct vpa_random *random, char out[VPA_UUID_TEXT_MAX]); /* version 4 */

#endif
