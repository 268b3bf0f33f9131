/*
 * Token bucket. Tokens and waits are doubles, as upstream computes them (updater.md 3.3 and
 * leader-election-and-clients.md 4.1 of the specification): tokens = min(burst, tokens + elapsed
 * seconds * rate); wait = deficit / rate seconds, cut to nanoseconds. Time is an argument
 * (monotonic nanoseconds). Not thread-safe.
 *
 *     struct vpa_rate r;
 *     vpa_rate_init(&r, 0.5, 1);
 *     if (vpa_rate_reserve(&r, now, VPA_MINUTE, &wait)) ... start after `wait`
 */
#ifndef VPA_NET_RATE_H
#define VPA_NET_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "vpa/base/error.h"
#include "vpa/base/time.h"

struct vpa_rate {
    double rate;   /* tokens per second; <= 0: no limit */
    double burst;  /* capacity; below 1 with a rate > 0: nothing ever passes */
    double tokens; /* below 0 while reservations wait */
    int64_t last;  /* monotonic time when the last token was taken */
    bool used;     /* one was taken; the bucket is full until then */
};

/* rate <= 0 means no limit; burst is then ignored. */
void vpa_rate_init(struct vpa_rate *r, double rate, int64_t burst);
/* The client limiter of --kube-api-qps and --kube-api-burst: qps < 0 no limit; 0 is 5 (and burst 10
 * when that is 0 too); a limit with burst <= 0 is VPA_INVALID with upstream's text. */
int vpa_rate_init_client(struct vpa_rate *r, double qps, int64_t burst,
                         struct vpa_error *err) VPA_MUST_CHECK;
/* Takes one token. True with *wait (0: at once) when the wait is at most max_wait; otherwise false
 * and the bucket is as if nobody had asked. A negative max_wait is always false, even without a
 * limit. */
bool vpa_rate_reserve(struct vpa_rate *r, int64_t monotonic_now, vpa_duration max_wait,
                      vpa_duration *wait);
/* Takes one token only if there is one now. */
bool vpa_rate_allow(struct vpa_rate *r, int64_t monotonic_now);

#endif
