/* Why a pod is changed, in few words. */
#include "vpa/policy/reason.h"

#include <string.h>

#include "vpa/base/str.h"
#include "vpa/policy/boost_marker.h"

/* Longest name and quantity that are written; the rest of a longer one is cut. */
#define NAME_MAX_SHOWN 63
#define QUANTITY_MAX_SHOWN 24
/* Of most reasons, taken at once. */
#define USUAL_LEN 256

static void put_cut(struct vpa_buf *out, const char *text, size_t max)
{
    vpa_buf_append(out, text, strnlen(text, max));
}

static void put_quantity(struct vpa_buf *out, const struct vpa_quantity *q)
{
    size_t start = out->len;

    if (!q) {
        vpa_buf_puts(out, "none");
        return;
    }
    vpa_quantity_format_text(q, out);
    if (out->len > start + QUANTITY_MAX_SHOWN)
        vpa_buf_truncate(out, start + QUANTITY_MAX_SHOWN);
}

bool vpa_reason_begin(struct vpa_reason_phrases *p, const char *container, const char *resource,
                      const char *what, const struct vpa_quantity *from,
                      const struct vpa_quantity *to)
{
    if (p->written == VPA_REASON_PHRASES) {
        p->left_out++;
        return false;
    }
    if (p->written++ > 0)
        vpa_buf_puts(p->out, "; ");
    else
        vpa_buf_reserve(p->out, USUAL_LEN);
    if (p->pod->container_count > 1) {
        vpa_buf_puts(p->out, "container ");
        put_cut(p->out, container, NAME_MAX_SHOWN);
        vpa_buf_puts(p->out, ": ");
    }
    put_cut(p->out, resource, NAME_MAX_SHOWN);
    vpa_buf_putc(p->out, ' ');
    vpa_buf_puts(p->out, what);
    vpa_buf_putc(p->out, ' ');
    put_quantity(p->out, from);
    vpa_buf_puts(p->out, " -> ");
    put_quantity(p->out, to);
    return true;
}

/* "cpu request 500m -> 1238m: "; false when there are enough phrases. */
static bool begin_phrase(struct vpa_reason_phrases *p, const char *container, const char *resource,
                         const struct vpa_quantity *from, const struct vpa_quantity *to)
{
    if (!vpa_reason_begin(p, container, resource, "request", from, to))
        return false;
    vpa_buf_puts(p->out, ": ");
    return true;
}

void vpa_reason_end(const struct vpa_reason_phrases *p)
{
    if (p->left_out > 0)
        vpa_buf_printf(p->out, "; and %zu more", p->left_out);
}

/* ---- updates ---- */

static bool quick_oom_of(struct vpa_observed *observed, const struct vpa_object *vpa,
                         const char *container, const struct vpa_priority_options *options)
{
    const struct vpa_container_status *status = vpa_pod_status(observed->pod, container);

    return status && vpa_quick_oom_status(observed, vpa, status, options);
}

/* What about one container decided. */
struct cause {
    const struct vpa_container_recommendation *rec;
    bool quick_oom;
    double diff; /* of the whole pod */
};

static void put_cause(struct vpa_buf *out, const struct cause *cause, const char *resource,
                      const struct vpa_quantity *request)
{
    const struct vpa_quantity *lower = vpa_resource_find(&cause->rec->lower_bound, resource);
    const struct vpa_quantity *upper = vpa_resource_find(&cause->rec->upper_bound, resource);

    if (!request) {
        vpa_buf_puts(out, "it has no request");
    } else if (lower && vpa_quantity_cmp(request, lower) < 0) {
        vpa_buf_puts(out, "below the lower bound ");
        put_quantity(out, lower);
    } else if (upper && vpa_quantity_cmp(request, upper) > 0) {
        vpa_buf_puts(out, "above the upper bound ");
        put_quantity(out, upper);
    } else if (cause->quick_oom) {
        vpa_buf_puts(out, "out of memory soon after its start");
    } else {
        vpa_buf_printf(out, "inside the bounds, the pod is off by %.0f%%", cause->diff * 100);
    }
}

static void put_container(struct vpa_reason_phrases *p, const char *container,
                          const struct cause *cause)
{
    struct vpa_resources in_force = vpa_pod_effective_resources(p->pod, container);

    for (size_t i = 0; i < cause->rec->target.count; i++) {
        const struct vpa_resource *r = &cause->rec->target.items[i];
        const struct vpa_quantity *request = vpa_resource_find(&in_force.requests, r->name);

        if (request && vpa_quantity_cmp(request, &r->quantity) == 0)
            continue;
        if (begin_phrase(p, container, r->name, request, &r->quantity))
            put_cause(p->out, cause, r->name, request);
    }
}

void vpa_reason_of_update(const struct vpa_pod *pod, const struct vpa_object *vpa,
                          const struct vpa_recommendation *processed,
                          const struct vpa_priority_options *options, struct vpa_buf *out)
{
    struct vpa_reason_phrases p = {.out = out, .pod = pod};
    struct cause cause = {.diff = vpa_priority_of(pod, processed).diff};
    vpa_auto_observed struct vpa_observed observed = {.pod = pod};

    for (size_t i = 0; i < pod->container_count; i++) {
        const char *container = pod->containers[i].name;

        cause.rec = vpa_recommendation_find(processed, container);
        if (!cause.rec || !vpa_container_observed(&observed, container))
            continue;
        cause.quick_oom = quick_oom_of(&observed, vpa, container, options);
        put_container(&p, container, &cause);
    }
    vpa_reason_end(&p);
}

/* ---- ends of boosts ---- */

void vpa_reason_of_unboost(const struct vpa_pod *pod, const struct vpa_resource_list *requests,
                           struct vpa_buf *out)
{
    struct vpa_reason_phrases p = {.out = out, .pod = pod};

    for (size_t i = 0; i < pod->container_count; i++) {
        const char *container = pod->containers[i].name;
        struct vpa_resources in_force = vpa_pod_effective_resources(pod, container);

        for (size_t k = 0; k < requests[i].count; k++) {
            const struct vpa_resource *r = &requests[i].items[k];
            const struct vpa_quantity *from = vpa_resource_find(&in_force.requests, r->name);

            if ((from && vpa_quantity_cmp(from, &r->quantity) == 0) ||
                !begin_phrase(&p, container, r->name, from, &r->quantity))
                continue;
            vpa_buf_puts(out, vpa_boost_marker_find(&pod->meta.annotations, container)
                                  ? "its startup boost is over"
                                  : "resized with the others");
        }
    }
    vpa_reason_end(&p);
}
