#include "vpa/net/rate.h"

void vpa_rate_init(struct vpa_rate *r, double rate, int64_t burst)
{
    *r = (struct vpa_rate){.rate = rate, .burst = (double)burst};
}

int vpa_rate_init_client(struct vpa_rate *r, double qps, int64_t burst, struct vpa_error *err)
{
    if (qps == 0) {
        qps = 5; /* client-go rest.DefaultQPS and DefaultBurst */
        if (burst == 0)
            burst = 10;
    }
    if (qps > 0 && burst <= 0)
        return vpa_fail(err, VPA_INVALID,
                        "burst is required to be greater than 0 when RateLimiter is not set and "
                        "QPS is set to greater than 0");
    vpa_rate_init(r, qps, burst);
    return 0;
}

static double tokens_at(const struct vpa_rate *r, int64_t now)
{
    if (!r->used)
        return r->burst;
    if (now <= r->last)
        return r->tokens;
    double tokens = r->tokens + (double)(now - r->last) / (double)VPA_SECOND * r->rate;
    return tokens < r->burst ? tokens : r->burst;
}

static void take(struct vpa_rate *r, double tokens, int64_t now)
{
    r->tokens = tokens - 1;
    if (!r->used || now > r->last)
        r->last = now;
    r->used = true;
}

bool vpa_rate_reserve(struct vpa_rate *r, int64_t monotonic_now, vpa_duration max_wait,
                      vpa_duration *wait)
{
    if (max_wait < 0)
        return false;
    if (!(r->rate > 0)) {
        *wait = 0;
        return true;
    }
    if (r->burst < 1)
        return false;
    double tokens = tokens_at(r, monotonic_now);
    double deficit = 1 - tokens;
    double seconds = deficit > 0 ? deficit / r->rate : 0;
    vpa_duration needed = seconds < 9e9 ? (vpa_duration)(seconds * 1e9) : INT64_MAX;
    if (needed > max_wait)
        return false;
    take(r, tokens, monotonic_now);
    *wait = needed;
    return true;
}

bool vpa_rate_allow(struct vpa_rate *r, int64_t monotonic_now)
{
    vpa_duration wait;

    return vpa_rate_reserve(r, monotonic_now, 0, &wait);
}
