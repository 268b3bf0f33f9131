/*
 * An API server that is away makes every caller fail: a dozen watches, leases, statuses, each with
 * a line of its own, each again and again. What the reader needs is one line. So the clients of one
 * transport keep together whether the server answers. The first failure says so; all errors from
 * then on are marked as told, and their callers' lines go to --v=5. The first answer ends it.
 *
 * One request that fails proves nothing while others are answered: it is the caller's to report.
 */
#include "reach.h"

#include "vpa/base/log.h"
#include "vpa/base/time.h"

void reach_answered(struct vpa_reach *reach, int64_t now)
{
    reach->answers++;
    if (!reach->away)
        return;
    reach->away = false;
    VPA_INFO("The API server answers again", VPA_KV("seconds", (now - reach->since) / VPA_SECOND),
             VPA_KV("failures", (int64_t)reach->failures));
}

bool reach_is_about_server(enum vpa_transport_failure failure, bool repeatable)
{
    switch (failure) {
    case VPA_TRANSPORT_REFUSED:
    case VPA_TRANSPORT_TIMEOUT:
    case VPA_TRANSPORT_TLS:
    case VPA_TRANSPORT_OTHER:
        return true;
    case VPA_TRANSPORT_RESET:
    case VPA_TRANSPORT_EOF:
        return repeatable;
    case VPA_TRANSPORT_OK:
    case VPA_TRANSPORT_LIMIT:
    case VPA_TRANSPORT_STOPPED:
    case VPA_TRANSPORT_UNSENT:
        break;
    }
    return false;
}

bool reach_failed(struct vpa_reach *reach, uint64_t answers_before, int64_t now,
                  struct vpa_error *err)
{
    if (!reach->away && reach->answers == answers_before) {
        VPA_WARN("The API server does not answer", VPA_KERR(err));
        reach->away = true;
        reach->failures = 0;
        reach->since = now;
    }
    reach->failures += reach->away;
    err->told = reach->away;
    return reach->away;
}
