/*
 * The real monotonic clock, for what is real whatever clock the loop runs on: sockets, child
 * processes, credentials, threads that wait.
 */
#ifndef VPA_NET_MONOTONIC_H
#define VPA_NET_MONOTONIC_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

int64_t vpa_monotonic_read(void); /* nanoseconds; from any thread */
/* For pthread_cond_timedwait: the condition, and the time in so many nanoseconds. */
void vpa_monotonic_cond_init(pthread_cond_t *condition);
struct timespec vpa_monotonic_in(int64_t nanoseconds);

#endif
