/*
 * As the API server's LimitRanger compares: in thousandths, the quotient in floating point. Of a
 * pod it takes the sums of its containers and sidecars, or what an init container has alone, where
 * that is more.
 */
#include "vpa/policy/limit_ratio.h"

#include <string.h>

#include "vpa/base/str.h"

static const char *const names[] = {VPA_CPU, VPA_MEMORY};

/* One resource of a container or a pod; NULL or zero: there is none. */
struct pair {
    struct vpa_quantity request;
    struct vpa_quantity limit;
};

bool vpa_limit_ratios_are_set(const struct vpa_limit_ratios *ratios)
{
    return ratios->container.count > 0 || ratios->pod.count > 0;
}

static bool is_within(const struct pair *p, const struct vpa_quantity *ratio)
{
    int64_t request = vpa_quantity_milli_value(&p->request);
    int64_t limit = vpa_quantity_milli_value(&p->limit);

    return request != 0 && limit != 0 &&
           (double)limit / (double)request * 1000 <= (double)vpa_quantity_milli_value(ratio);
}

/* What the list says in `wanted`, else in what there is. */
static struct vpa_quantity one_of(const struct vpa_resource_list *wanted,
                                  const struct vpa_resource_list *now, const char *resource)
{
    const struct vpa_quantity *q = wanted ? vpa_resource_find(wanted, resource) : NULL;

    if (!q)
        q = vpa_resource_find(now, resource);
    return q ? *q : (struct vpa_quantity){0};
}

static struct pair pair_of(const struct vpa_container *container,
                           const struct vpa_resources *wanted, const char *resource)
{
    const struct vpa_resources *now = &container->resources;

    return (struct pair){
        one_of(wanted ? &wanted->requests : NULL, &now->requests, resource),
        one_of(wanted ? &wanted->limits : NULL, &now->limits, resource),
    };
}

static void add(struct vpa_arena *arena, struct pair *sum, const struct pair *p)
{
    vpa_quantity_add(arena, &sum->request, &p->request);
    vpa_quantity_add(arena, &sum->limit, &p->limit);
}

static void raise_to(struct pair *p, const struct pair *least)
{
    if (vpa_quantity_cmp(&least->request, &p->request) > 0)
        p->request = least->request;
    if (vpa_quantity_cmp(&least->limit, &p->limit) > 0)
        p->limit = least->limit;
}

/* wanted may be NULL. */
static struct pair pair_of_pod(struct vpa_arena *arena, const struct vpa_pod *pod,
                               const struct vpa_resources *wanted, const char *resource)
{
    struct pair sum = {0}, sidecars = {0}, most = {0};

    for (size_t i = 0; i < pod->init_container_count; i++) {
        const struct vpa_container *container = &pod->init_containers[i];
        struct pair p = pair_of(container, NULL, resource);

        if (vpa_str_eq(container->restart_policy, "Always")) {
            add(arena, &sidecars, &p);
        } else {
            add(arena, &p, &sidecars);
            raise_to(&most, &p);
        }
    }
    sum = sidecars;
    for (size_t i = 0; i < pod->container_count; i++) {
        struct pair p = pair_of(&pod->containers[i], wanted ? &wanted[i] : NULL, resource);

        add(arena, &sum, &p);
    }
    raise_to(&sum, &most);
    return sum;
}

static int compare(struct vpa_arena *arena, const struct pair *now, const struct pair *then,
                   const char *resource, const struct vpa_quantity *ratio, struct vpa_error *err)
{
    if (!ratio || !is_within(now, ratio) || is_within(then, ratio))
        return 0;
    return vpa_fail(err, VPA_INVALID,
                    "%s limit %s would be more than %s times the request %s, which a LimitRange "
                    "forbids",
                    resource, vpa_quantity_text(arena, &then->limit),
                    vpa_quantity_text(arena, ratio), vpa_quantity_text(arena, &then->request));
}

static int check_resource(struct vpa_arena *arena, const struct vpa_pod *pod,
                          const struct vpa_limit_ratios *ratios, const struct vpa_resources *wanted,
                          const char *resource, struct vpa_error *err)
{
    const struct vpa_quantity *of_one = vpa_resource_find(&ratios->container, resource);
    const struct vpa_quantity *of_pod = vpa_resource_find(&ratios->pod, resource);

    for (size_t i = 0; of_one && i < pod->container_count; i++) {
        struct pair now = pair_of(&pod->containers[i], NULL, resource);
        struct pair then = pair_of(&pod->containers[i], &wanted[i], resource);

        if (compare(arena, &now, &then, resource, of_one, err) < 0)
            return vpa_wrap(err, "container %.63s", pod->containers[i].name);
    }
    if (!of_pod)
        return 0;
    struct pair now = pair_of_pod(arena, pod, NULL, resource);
    struct pair then = pair_of_pod(arena, pod, wanted, resource);

    return compare(arena, &now, &then, resource, of_pod, err) < 0 ? vpa_wrap(err, "all containers")
                                                                  : 0;
}

int vpa_limit_ratios_check(struct vpa_arena *arena, const struct vpa_pod *pod,
                           const struct vpa_limit_ratios *ratios,
                           const struct vpa_resources *wanted, struct vpa_error *err)
{
    for (size_t i = 0; i < VPA_COUNT(names); i++)
        if (check_resource(arena, pod, ratios, wanted, names[i], err) < 0)
            return -1;
    return 0;
}

/* ---- least and most of a pod ---- */

/* Where there is a maximum the API server wants a limit, where there is a minimum a request. */
static bool is_between(const struct pair *p, const struct vpa_quantity *min,
                       const struct vpa_quantity *max)
{
    bool limited = !vpa_quantity_is_zero(&p->limit);

    if (max && (!limited || vpa_quantity_cmp(&p->limit, max) > 0 ||
                vpa_quantity_cmp(&p->request, max) > 0))
        return false;
    return !min || (vpa_quantity_cmp(&p->request, min) >= 0 &&
                    (!limited || vpa_quantity_cmp(&p->limit, min) >= 0));
}

/* Sidecars are, always. */
static bool leaves_some_alone(const struct vpa_pod *pod, const struct vpa_resources *wanted)
{
    for (size_t i = 0; i < pod->init_container_count; i++)
        if (vpa_str_eq(pod->init_containers[i].restart_policy, "Always"))
            return true;
    for (size_t i = 0; i < pod->container_count; i++)
        if (pod->containers[i].resources.requests.count > 0 && !wanted[i].requests.present &&
            !wanted[i].limits.present)
            return true;
    return false;
}

int vpa_limit_sums_check(struct vpa_arena *arena, const struct vpa_pod *pod,
                         const struct vpa_resource_list *min, const struct vpa_resource_list *max,
                         const struct vpa_resources *wanted, struct vpa_error *err)
{
    if (!leaves_some_alone(pod, wanted))
        return 0;
    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        const struct vpa_quantity *least = vpa_resource_find(min, names[i]);
        const struct vpa_quantity *most = vpa_resource_find(max, names[i]);
        struct pair now = pair_of_pod(arena, pod, NULL, names[i]);
        struct pair then = pair_of_pod(arena, pod, wanted, names[i]);

        if (is_between(&now, least, most) && !is_between(&then, least, most))
            return vpa_fail(err, VPA_INVALID,
                            "all containers: %s request %s and limit %s together, which a "
                            "LimitRange forbids",
                            names[i], vpa_quantity_text(arena, &then.request),
                            vpa_quantity_text(arena, &then.limit));
    }
    return 0;
}
