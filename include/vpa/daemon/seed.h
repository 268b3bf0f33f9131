/* The seed of a process's random numbers: jitter, identities, hash tables. */
#ifndef VPA_DAEMON_SEED_H
#define VPA_DAEMON_SEED_H

#include <stdint.h>

uint64_t vpa_seed_from_kernel(void);

#endif
