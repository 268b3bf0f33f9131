/*
 * CPU startup boost.
 *
 * Many programs need far more CPU while they start than later. At admission the webhook raises the
 * CPU request of such a container (and its limit, in proportion), and leaves a marker on the pod
 * with the original resources; once the pod has been Ready for long enough the updater takes the
 * boost back (boost_marker.h).
 *
 * Values are computed in thousandths of a core. The base is what the container would get anyway:
 * the recommendation, else the request of its spec. Then: times factor or plus quantity, capped by
 * the flag, kept just below the limit where only requests may change; and whatever that gives,
 * never less than the value without a boost. A boost that makes no sense is no boost.
 */
#include "vpa/policy/boost.h"

#include <string.h>
#include <strings.h>

#include "vpa/policy/resize_state.h"
#include "vpa/policy/scaling.h"

#define BOOST_FACTOR "Factor"
#define BOOST_QUANTITY "Quantity"

__extension__ typedef __int128 wide;

const struct vpa_startup_boost *vpa_boost_find(const struct vpa_object *vpa, const char *container)
{
    const struct vpa_container_policy *p = vpa_policy_find(&vpa->resource_policy, container);

    if (p && p->startup_boost.present)
        return &p->startup_boost;
    return vpa_policy_is_off(&vpa->resource_policy, container) ? NULL : vpa->startup_boost;
}

/* Why the boost is unusable, or NULL. */
static const char *why_unusable(const struct vpa_startup_boost *boost)
{
    if (!boost->has_cpu)
        return "startupBoost has no cpu";
    if (strcmp(boost->type, BOOST_FACTOR) == 0) {
        if (!boost->factor.present)
            return "factor is missing";
        return boost->factor.value < 1 ? "factor must be >= 1" : NULL;
    }
    if (strcmp(boost->type, BOOST_QUANTITY) == 0)
        return boost->quantity.present ? NULL : "quantity is missing";
    return boost->type[0] ? "type is neither Factor nor Quantity" : "type is missing";
}

static int64_t boosted_milli(const struct vpa_startup_boost *boost, int64_t base)
{
    if (strcmp(boost->type, BOOST_FACTOR) == 0) {
        double x = (double)base * (double)boost->factor.value;
        if (x >= 0x1p63)
            return INT64_MAX;
        return x < -0x1p63 ? INT64_MIN : (int64_t)x;
    }

    wide sum = (wide)base + vpa_quantity_milli_value(&boost->quantity.value);
    if (sum > INT64_MAX)
        return INT64_MAX;
    return sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
}

/* RequestsOnly: the limit stays, so the request must stay below it. */
static void keep_below(struct vpa_arena *arena, struct vpa_quantity *request,
                       const struct vpa_quantity *limit)
{
    const struct vpa_quantity one_milli = vpa_quantity_milli(1);

    if (vpa_quantity_milli_value(request) <= vpa_quantity_milli_value(limit))
        return;
    *request = *limit;
    if (vpa_quantity_cmp(limit, &one_milli) > 0)
        vpa_quantity_sub(arena, request, &one_milli);
}

bool vpa_boost_apply(struct vpa_arena *arena, const struct vpa_startup_boost *boost,
                     const struct vpa_container *container, const char *controlled,
                     const struct vpa_quantity *cap, struct vpa_resource_list *requests,
                     struct vpa_resource_list *limits, const char **reason)
{
    const struct vpa_quantity *spec_request =
        vpa_resource_find(&container->resources.requests, VPA_CPU);
    const struct vpa_quantity *spec_limit =
        vpa_resource_find(&container->resources.limits, VPA_CPU);
    const struct vpa_quantity *recommended = vpa_resource_find(requests, VPA_CPU);
    const struct vpa_quantity *unboosted = recommended ? recommended : spec_request;
    const struct vpa_quantity *base =
        recommended && !vpa_quantity_is_zero(recommended) ? recommended : spec_request;

    *reason = why_unusable(boost);
    if (*reason)
        return false;

    struct vpa_quantity request =
        vpa_quantity_milli(boosted_milli(boost, base ? vpa_quantity_milli_value(base) : 0));
    if (cap && !vpa_quantity_is_zero(cap) && vpa_quantity_cmp(&request, cap) > 0)
        request = *cap;
    if (spec_limit && strcmp(controlled, "RequestsOnly") == 0)
        keep_below(arena, &request, spec_limit);
    if (unboosted && vpa_quantity_cmp(&request, unboosted) < 0)
        request = *unboosted;
    if (!unboosted && vpa_quantity_sign(&request) < 0) {
        *reason = "quantity is negative, and there is nothing to take it from";
        return false; /* no API server would take the pod */
    }

    if (strcmp(controlled, "RequestsAndLimits") == 0) {
        struct vpa_scaled_limit limit =
            vpa_scale_limit(VPA_CPU, spec_limit, spec_request, &request, NULL);
        if (limit.present) {
            vpa_resource_set(arena, limits, VPA_CPU, limit.limit);
            limits->present = true;
        }
    }
    vpa_resource_set(arena, requests, VPA_CPU, request);
    requests->present = true;
    return true;
}

/* ---- its end ---- */

int32_t vpa_boost_duration_seconds(const struct vpa_object *vpa, const char *container)
{
    const struct vpa_container_policy *p = vpa_policy_find(&vpa->resource_policy, container);
    const struct vpa_startup_boost *of_pod = vpa->startup_boost;

    if (p && p->startup_boost.has_cpu && p->startup_boost.duration_seconds.present)
        return p->startup_boost.duration_seconds.value;
    if (of_pod && of_pod->has_cpu && of_pod->duration_seconds.present)
        return of_pod->duration_seconds.value;
    return 0;
}

bool vpa_boost_expired(const struct vpa_pod *pod, const struct vpa_object *vpa,
                       const char *container, vpa_time now)
{
    int32_t seconds = vpa_boost_duration_seconds(vpa, container);

    if (!vpa_pod_is_ready(pod))
        return false;
    return seconds == 0 || now - vpa_pod_ready_transition(pod) > (vpa_time)seconds * VPA_SECOND;
}
