/*
 * CPU startup boost.
 *
 * Many programs need far more CPU while they start than later. At admission the webhook raises the
 * CPU request of such a container (and its limit, in proportion), and leaves a marker on the pod
 * with the original resources; once the pod has been Ready for long enough the updater takes the
 * boost back.
 *
 * Values are computed in thousandths of a core. The base is what the container would get anyway:
 * the recommendation, else the request of its spec. Then: times factor or plus quantity, capped by
 * the flag, kept just below the limit where only requests may change; and whatever that gives,
 * never less than the value without a boost. A boost that makes no sense is no boost.
 */
#include "vpa/policy/boost.h"

#include <string.h>
#include <strings.h>

#include "vpa/json/json.h"
#include "vpa/json/json_writer.h"
#include "vpa/policy/scaling.h"

#define BOOST_FACTOR "Factor"
#define BOOST_QUANTITY "Quantity"

__extension__ typedef __int128 wide;

const struct vpa_startup_boost *vpa_boost_find(const struct vpa_object *vpa, const char *container)
{
    const struct vpa_container_policy *p = vpa_policy_find(&vpa->resource_policy, container);

    if (p && p->startup_boost.present)
        return &p->startup_boost;
    if (p && p->mode && strcmp(p->mode, "Off") == 0)
        return NULL;
    return vpa->startup_boost;
}

/* Why the boost is none, or NULL. */
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

/* ---- the marker ---- */

static void put_cpu_and_memory(struct vpa_json_writer *w, const char *name,
                               const struct vpa_resource_list *list)
{
    static const char *const kept[] = {VPA_CPU, VPA_MEMORY};

    vpa_json_key(w, name);
    vpa_json_open_object(w);
    for (size_t i = 0; i < VPA_COUNT(kept); i++) {
        const struct vpa_quantity *q = vpa_resource_find(list, kept[i]);
        if (!q)
            continue;
        vpa_json_key(w, kept[i]);
        vpa_json_put_quantity(w, q);
    }
    vpa_json_close_object(w);
}

void vpa_boost_marker_format(const struct vpa_container *container, struct vpa_buf *out)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    put_cpu_and_memory(&w, "requests", &container->resources.requests);
    put_cpu_and_memory(&w, "limits", &container->resources.limits);
    vpa_json_close_object(&w);
}

/* Adds the members of one object of quantities to the list, key by key. */
static int add_quantities(struct vpa_arena *arena, const struct vpa_json *node,
                          struct vpa_resource_list *list, struct vpa_error *err)
{
    if (vpa_json_is_null(node))
        return 0;
    if (!vpa_json_is_object(node))
        return vpa_fail(err, VPA_INVALID, "expected an object, found %s", vpa_json_type_name(node));
    vpa_json_foreach (member, node) {
        struct vpa_quantity q;
        if (vpa_quantity_decode(arena, member, &q, err) < 0)
            return vpa_wrap(err, "%s", vpa_json_name(member));
        vpa_resource_set(arena, list, vpa_arena_strdup(arena, vpa_json_name(member)), q);
    }
    return 0;
}

int vpa_boost_marker_parse(struct vpa_arena *arena, const char *text, struct vpa_resources *out,
                           struct vpa_error *err)
{
    const struct vpa_json *root;
    struct vpa_resources found = {
        .requests.present = true, .limits.present = true, .present = true};

    /* Go's decoder fills a map from each member of that name, repeated ones included. */
    if (vpa_json_parse_repeated(arena, text, strlen(text), &root, err) < 0)
        return vpa_wrap(err, "boost marker");
    if (!vpa_json_is_null(root) && !vpa_json_is_object(root))
        return vpa_fail(err, VPA_INVALID, "boost marker: expected an object, found %s",
                        vpa_json_type_name(root));
    vpa_json_foreach (member, root) {
        bool requests = strcasecmp(vpa_json_name(member), "requests") == 0;
        bool limits = strcasecmp(vpa_json_name(member), "limits") == 0;
        if ((requests || limits) &&
            add_quantities(arena, member, requests ? &found.requests : &found.limits, err) < 0)
            return vpa_wrap(err, "boost marker: %s", requests ? "requests" : "limits");
    }
    *out = found;
    return 0;
}

const char *vpa_boost_marker_container(const char *key)
{
    const size_t len = sizeof(VPA_BOOST_ANNOTATION_PREFIX) - 1;

    return strncmp(key, VPA_BOOST_ANNOTATION_PREFIX, len) == 0 ? key + len : NULL;
}

bool vpa_boost_marked(const struct vpa_labels *annotations)
{
    for (size_t i = 0; i < annotations->count; i++)
        if (vpa_boost_marker_container(annotations->items[i].key))
            return true;
    return false;
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
    const struct vpa_pod_condition *ready = vpa_pod_condition(pod, "Ready");
    int32_t seconds = vpa_boost_duration_seconds(vpa, container);

    if (!ready || strcmp(ready->status, "True") != 0)
        return false;
    return seconds == 0 || now - ready->last_transition > (vpa_time)seconds * VPA_SECOND;
}
