/*
 * Sums as the API server makes them: what is asked for by all containers, and by those init
 * containers that go on beside them. Other init containers are over before, and nobody changes
 * them.
 */
#include "vpa/policy/pod_level.h"

#include "vpa/base/str.h"

bool vpa_pod_level_has_bounds(const struct vpa_pod *pod)
{
    return pod->resources.requests.count > 0 || pod->resources.limits.count > 0;
}

static void add(struct vpa_arena *arena, struct vpa_quantity *sum,
                const struct vpa_resource_list *requests, const char *resource)
{
    const struct vpa_quantity *q = vpa_resource_find(requests, resource);

    if (q)
        vpa_quantity_add(arena, sum, q);
}

static struct vpa_quantity sum_of(struct vpa_arena *arena, const struct vpa_pod *pod,
                                  const struct vpa_resources *wanted, const char *resource)
{
    struct vpa_quantity sum = {0};

    for (size_t i = 0; i < pod->container_count; i++) {
        bool changes = vpa_resource_find(&wanted[i].requests, resource);

        add(arena, &sum, changes ? &wanted[i].requests : &pod->containers[i].resources.requests,
            resource);
    }
    for (size_t i = 0; i < pod->init_container_count; i++)
        if (vpa_str_eq(pod->init_containers[i].restart_policy, "Always"))
            add(arena, &sum, &pod->init_containers[i].resources.requests, resource);
    return sum;
}

static int refuse(struct vpa_arena *arena, const char *resource, const char *what,
                  const struct vpa_quantity *wanted, const struct vpa_quantity *bound,
                  struct vpa_error *err)
{
    return vpa_fail(err, VPA_INVALID, "%s %s would be %s, more than the %s of spec.resources",
                    resource, what, vpa_quantity_text(arena, wanted),
                    vpa_quantity_text(arena, bound));
}

static int check_requests(struct vpa_arena *arena, const struct vpa_pod *pod,
                          const struct vpa_resources *wanted, const char *resource,
                          struct vpa_error *err)
{
    const struct vpa_quantity *bound = vpa_resource_find(&pod->resources.requests, resource);

    if (!bound)
        return 0;
    struct vpa_quantity sum = sum_of(arena, pod, wanted, resource);
    return vpa_quantity_cmp(&sum, bound) > 0
               ? refuse(arena, resource, "requests of all containers", &sum, bound, err)
               : 0;
}

static int check_limits(struct vpa_arena *arena, const struct vpa_pod *pod,
                        const struct vpa_resources *wanted, const char *resource,
                        struct vpa_error *err)
{
    const struct vpa_quantity *bound = vpa_resource_find(&pod->resources.limits, resource);

    for (size_t i = 0; bound && i < pod->container_count; i++) {
        const struct vpa_quantity *limit = vpa_resource_find(&wanted[i].limits, resource);

        if (limit && vpa_quantity_cmp(limit, bound) > 0) {
            refuse(arena, resource, "limit", limit, bound, err);
            return vpa_wrap(err, "container %.63s", pod->containers[i].name);
        }
    }
    return 0;
}

int vpa_pod_level_check(struct vpa_arena *arena, const struct vpa_pod *pod,
                        const struct vpa_resources *wanted, struct vpa_error *err)
{
    static const char *const names[] = {VPA_CPU, VPA_MEMORY};

    for (size_t i = 0; i < VPA_COUNT(names); i++)
        if (check_requests(arena, pod, wanted, names[i], err) < 0 ||
            check_limits(arena, pod, wanted, names[i], err) < 0)
            return -1;
    return 0;
}
