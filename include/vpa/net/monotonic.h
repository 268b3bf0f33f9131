/*
 * The real monotonic clock, for what is real whatever clock the loop runs on: sockets, child
 * processes, credentials, threads that wait.
 */
#ifndef VPA_NET_MONOTONIC_H
#define VPA_NET_MONOTONIC_H

#include <stdint.h>

int64_t vpa_monotonic_read(void); /* nanoseconds; from any thread */

#endif
