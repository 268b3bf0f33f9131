/*
 * The patches of an in-place update.
 *
 * Resources and annotations go to two subresources, so they are two patches. Nothing is ever
 * removed from a container's resources; parents are created where the spec lacks them, in an order
 * that a JSON Patch reader accepts. An operation without effect is written like any other (the
 * texts are upstream's), but the builder notes whether any operation has one: a patch without
 * effect is not worth a request.
 *
 * A container with an expired boost marker gets its recommendation like the others, or its original
 * resources when there is no recommendation to give: mode Off, container mode Off, nothing
 * recommended. When only memory is recommended, the boosted cpu still has to go, so cpu comes from
 * the marker. So it does when the pod cannot take what is recommended (U31, U33, U41), or the API
 * server has refused it (U47): then the end of the boost is all that is done, or the pod would stay
 * boosted for good. A container that had no cpu request has none to go back to, and no resize takes
 * a request away: it goes down to what is recommended for its cpu, in every mode. Where nothing is,
 * it keeps the cpu of its boost, and whoever asked for the patch is told (U52).
 */
#include "vpa/policy/resize_patch.h"

#include <string.h>

#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"
#include "vpa/policy/boost.h"
#include "vpa/policy/boost_marker.h"
#include "vpa/policy/update_mode.h"

#define KEEPING_MAX ((size_t)300) /* bytes of names */

/* What a container shall have; nothing is done to one without `chosen`. */
struct wanted {
    bool chosen;
    struct vpa_resource_list requests;
    struct vpa_resource_list limits;
};

struct builder {
    const struct vpa_pod *pod;
    const struct vpa_object *vpa;
    const struct vpa_namespace_limits *limits;
    vpa_time now;
    struct vpa_arena *arena;
    struct wanted *wanted; /* per container */
    struct vpa_resize_patch *out;
    struct vpa_json_patch resize;
    struct vpa_json_patch annotations;
};

void vpa_resize_patch_init(struct vpa_resize_patch *patch)
{
    *patch = (struct vpa_resize_patch){0};
    vpa_buf_init(&patch->resize, VPA_RESIZE_PATCH_MAX);
    vpa_buf_init(&patch->annotations, VPA_RESIZE_PATCH_MAX);
}

void vpa_resize_patch_release(struct vpa_resize_patch *patch)
{
    vpa_buf_release(&patch->resize);
    vpa_buf_release(&patch->annotations);
}

/* Opens an operation on base/name; the name is escaped. */
static struct vpa_json_writer *open_op(struct vpa_json_patch *patch, enum vpa_patch_op op,
                                       const char *base, const char *name)
{
    vpa_auto_buf path = VPA_BUF(VPA_RESIZE_PATCH_MAX);

    vpa_buf_puts(&path, base);
    if (name)
        vpa_json_pointer_add(&path, name);
    if (vpa_buf_failed(&path))
        patch->writer.buf->failed = true; /* what is left of it is another path */
    return vpa_json_patch_op(patch, op, vpa_buf_text(&path));
}

static void add_empty_object(struct vpa_json_patch *patch, const char *path)
{
    struct vpa_json_writer *w = open_op(patch, VPA_PATCH_ADD, path, NULL);

    vpa_json_open_object(w);
    vpa_json_close_object(w);
    vpa_json_patch_end_op(patch);
}

static const char *list_path(struct builder *b, size_t index, const char *member)
{
    return vpa_arena_printf(b->arena, "/spec/containers/%zu/resources/%s", index, member);
}

/* The pod that the patch was made for. */
static void test_uid(const struct vpa_pod *pod, struct vpa_json_patch *patch)
{
    if (!*vpa_or_empty(pod->meta.uid))
        return;
    vpa_json_put_string(vpa_json_patch_op(patch, VPA_PATCH_TEST, "/metadata/uid"), pod->meta.uid);
    vpa_json_patch_end_op(patch);
}

/* The values that the operations of put_list replace. */
static void test_list(struct builder *b, size_t index, const char *member,
                      const struct vpa_resource_list *spec, const struct vpa_resource_list *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const char *name = wanted->items[i].name;
        const struct vpa_quantity *there = vpa_resource_find(spec, name);

        if (!there)
            continue;
        vpa_json_put_quantity(
            open_op(&b->resize, VPA_PATCH_TEST, list_path(b, index, member), name), there);
        vpa_json_patch_end_op(&b->resize);
    }
}

/* Whether a change of the resource restarts the container. */
static bool restarts_container(const struct vpa_container *container, const char *resource)
{
    for (size_t k = 0; k < container->resize_policy_count; k++) {
        const struct vpa_resize_policy *policy = &container->resize_policy[k];

        if (vpa_str_eq(policy->resource_name, resource))
            return vpa_str_eq(policy->restart_policy, "RestartContainer");
    }
    return false;
}

/* Whether the kubelet says that the container has something else. */
static bool has_other(const struct vpa_pod *pod, const char *container, const char *member,
                      const struct vpa_resource *wanted)
{
    const struct vpa_container_status *status = vpa_pod_status(pod, container);
    const struct vpa_quantity *actual;

    if (!status || !status->resources.present)
        return false;
    actual = vpa_resource_find(vpa_str_eq(member, "limits") ? &status->resources.limits
                                                            : &status->resources.requests,
                               wanted->name);
    return actual && vpa_quantity_cmp(actual, &wanted->quantity) != 0;
}

/* Operations for one of requests and limits of container `index`. */
static void put_list(struct builder *b, size_t index, const char *member,
                     const struct vpa_resource_list *spec, const struct vpa_resource_list *wanted)
{
    const struct vpa_container *container = &b->pod->containers[index];
    const char *path = list_path(b, index, member);

    if (wanted->count == 0)
        return;
    if (!spec->present)
        add_empty_object(&b->resize, path);
    for (size_t i = 0; i < wanted->count; i++) {
        const struct vpa_resource *r = &wanted->items[i];
        const struct vpa_quantity *there = vpa_resource_find(spec, r->name);

        vpa_json_put_quantity(open_op(&b->resize, VPA_PATCH_ADD, path, r->name), &r->quantity);
        vpa_json_patch_end_op(&b->resize);

        bool changes = !there || vpa_quantity_cmp(there, &r->quantity) != 0;

        b->out->changes |= changes;
        if ((changes || has_other(b->pod, container->name, member, r)) &&
            restarts_container(container, r->name))
            b->out->restarts = true;
    }
}

static void put_container(struct builder *b, size_t index)
{
    const struct vpa_resources *spec = &b->pod->containers[index].resources;
    const struct wanted *wanted = &b->wanted[index];

    if (!spec->requests.present && !spec->limits.present && !spec->others)
        add_empty_object(&b->resize,
                         vpa_arena_printf(b->arena, "/spec/containers/%zu/resources", index));
    put_list(b, index, "requests", &spec->requests, &wanted->requests);
    put_list(b, index, "limits", &spec->limits, &wanted->limits);
}

static void test_container(struct builder *b, size_t index)
{
    const struct vpa_resources *spec = &b->pod->containers[index].resources;
    const struct wanted *wanted = &b->wanted[index];

    test_list(b, index, "requests", &spec->requests, &wanted->requests);
    test_list(b, index, "limits", &spec->limits, &wanted->limits);
}

/* False when nothing is to be done about resources at all. */
static bool put_resources(struct builder *b)
{
    size_t before;

    test_uid(b->pod, &b->resize);
    for (size_t i = 0; i < b->pod->container_count; i++) {
        if (b->wanted[i].chosen)
            test_container(b, i);
    }
    before = b->resize.count;
    for (size_t i = 0; i < b->pod->container_count; i++) {
        if (b->wanted[i].chosen)
            put_container(b, i);
    }
    return b->resize.count > before;
}

/* Takes cpu from the original lists where `requests` and `limits` say nothing about it. */
static void restore_cpu(struct builder *b, const struct vpa_resources *original,
                        struct vpa_resource_list *requests, struct vpa_resource_list *limits)
{
    const struct vpa_quantity *request = vpa_resource_find(&original->requests, VPA_CPU);
    const struct vpa_quantity *limit = vpa_resource_find(&original->limits, VPA_CPU);

    if (vpa_resource_find(requests, VPA_CPU))
        return;
    *requests = vpa_resource_list_copy(b->arena, requests);
    *limits = vpa_resource_list_copy(b->arena, limits);
    if (request)
        vpa_resource_set(b->arena, requests, VPA_CPU, *request);
    if (limit && !vpa_resource_find(limits, VPA_CPU))
        vpa_resource_set(b->arena, limits, VPA_CPU, *limit);
}

/* Whether the plan of the container is meant for it as it runs. */
static bool has_plan(const struct builder *b, const char *container,
                     const struct vpa_container_plan *plan)
{
    return vpa_update_mode_of(b->vpa) != VPA_MODE_OFF &&
           !vpa_policy_is_off(&b->vpa->resource_policy, container) &&
           (plan->requests.count > 0 || plan->limits.count > 0);
}

/* The cpu of `from`, where it is less than what is there. */
static void lower_cpu(struct builder *b, const struct vpa_resource_list *there,
                      const struct vpa_resource_list *from, struct vpa_resource_list *to)
{
    const struct vpa_quantity *boosted = vpa_resource_find(there, VPA_CPU);
    const struct vpa_quantity *wanted = vpa_resource_find(from, VPA_CPU);

    if (!boosted || !wanted)
        return;
    vpa_resource_set(b->arena, to, VPA_CPU,
                     vpa_quantity_cmp(wanted, boosted) < 0 ? *wanted : *boosted);
}

/* A container without a cpu request of its own goes down to its plan. False: it cannot. */
static bool lower_to_plan(struct builder *b, size_t index, const struct vpa_resources *original,
                          const struct vpa_container_plan *plan, struct wanted *wanted)
{
    const struct vpa_container *container = &b->pod->containers[index];

    if (vpa_resource_find(&original->requests, VPA_CPU) ||
        vpa_policy_is_off(&b->vpa->resource_policy, container->name) ||
        !vpa_resource_find(&plan->requests, VPA_CPU))
        return false;
    wanted->requests = vpa_resource_list_copy(b->arena, &wanted->requests);
    wanted->limits = vpa_resource_list_copy(b->arena, &wanted->limits);
    lower_cpu(b, &container->resources.requests, &plan->requests, &wanted->requests);
    lower_cpu(b, &container->resources.limits, &plan->limits, &wanted->limits);
    return true;
}

static int choose_unboosted(struct builder *b, size_t index, const char *marker,
                            const struct vpa_container_plan *plan, struct vpa_error *err)
{
    const char *name = b->pod->containers[index].name;
    struct vpa_resources original;
    struct wanted *wanted = &b->wanted[index];

    if (vpa_boost_marker_parse(b->arena, marker, &original, err) < 0)
        return vpa_wrap(err, "startup boost marker of container %s", name);
    if (has_plan(b, name, plan)) {
        *wanted = (struct wanted){true, plan->requests, plan->limits};
        restore_cpu(b, &original, &wanted->requests, &wanted->limits);
    } else {
        *wanted = (struct wanted){true, original.requests, original.limits};
        lower_to_plan(b, index, &original, plan, wanted);
    }
    return 0;
}

static bool is_over(const struct builder *b, size_t index)
{
    return vpa_boost_expired(b->pod, b->vpa, b->pod->containers[index].name, b->now);
}

static int choose_resources(struct builder *b, const struct vpa_container_plan *plans,
                            struct vpa_error *err)
{
    b->wanted = vpa_arena_zalloc(b->arena, (b->pod->container_count + 1) * sizeof(*b->wanted));
    for (size_t i = 0; i < b->pod->container_count; i++) {
        const char *name = b->pod->containers[i].name;
        const char *marker = vpa_boost_marker_find(&b->pod->meta.annotations, name);

        if (marker) {
            if (is_over(b, i) && choose_unboosted(b, i, marker, &plans[i], err) < 0)
                return -1;
            continue;
        }
        if (vpa_update_mode_of(b->vpa) == VPA_MODE_OFF)
            continue;
        b->wanted[i] = (struct wanted){true, plans[i].requests, plans[i].limits};
    }
    return 0;
}

static void choose_original(struct builder *b, size_t index, const struct vpa_resources *original,
                            const struct vpa_container_plan *plan, struct wanted *wanted)
{
    wanted->chosen = true;
    if (!lower_to_plan(b, index, original, plan, wanted))
        restore_cpu(b, original, &wanted->requests, &wanted->limits);
}

/* What the boosts changed goes back to the originals, and nothing else is touched: memory that was
 * recommended since may be in use. Where no boost is over, what was chosen stays. */
static void choose_originals(struct builder *b, const struct vpa_container_plan *plans)
{
    const struct vpa_pod *pod = b->pod;
    struct wanted *wanted =
        vpa_arena_zalloc(b->arena, (pod->container_count + 1) * sizeof(*wanted));
    bool any = false;

    for (size_t i = 0; i < pod->container_count; i++) {
        const char *marker = vpa_boost_marker_find(&pod->meta.annotations, pod->containers[i].name);
        struct vpa_resources original;

        if (!marker || !is_over(b, i) ||
            vpa_boost_marker_parse(b->arena, marker, &original, NULL) < 0)
            continue;
        choose_original(b, i, &original, &plans[i], &wanted[i]);
        any = true;
    }
    if (any)
        b->wanted = wanted;
}

static int fits_pod(const struct builder *b, struct vpa_error *err)
{
    struct vpa_resources *wanted =
        vpa_arena_zalloc(b->arena, (b->pod->container_count + 1) * sizeof(*wanted));

    for (size_t i = 0; i < b->pod->container_count; i++) {
        wanted[i].requests = b->wanted[i].requests;
        wanted[i].limits = b->wanted[i].limits;
    }
    return vpa_capping_fits(b->arena, b->pod, b->limits, wanted, err);
}

static void leave_out_memory(struct builder *b, struct vpa_resource_list *list)
{
    *list = vpa_resource_list_copy(b->arena, list);
    vpa_resource_remove(list, VPA_MEMORY);
}

/* Limit and request: a pod keeps its QoS class. A container that restarts for it gets it. */
static void keep_memory(struct builder *b)
{
    for (size_t i = 0; i < b->pod->container_count; i++) {
        const struct vpa_container *c = &b->pod->containers[i];
        const struct vpa_quantity *there = vpa_resource_find(&c->resources.limits, VPA_MEMORY);
        const struct vpa_quantity *wanted = vpa_resource_find(&b->wanted[i].limits, VPA_MEMORY);

        if (!there || !wanted || vpa_quantity_cmp(wanted, there) >= 0 ||
            restarts_container(c, VPA_MEMORY))
            continue;
        leave_out_memory(b, &b->wanted[i].requests);
        leave_out_memory(b, &b->wanted[i].limits);
    }
}

static int choose_what_fits(struct builder *b, const struct vpa_container_plan *plans,
                            struct vpa_error *err)
{
    if (choose_resources(b, plans, err) < 0)
        return -1;
    if (b->out->cautious) {
        choose_originals(b, plans);
        keep_memory(b);
    }
    if (!vpa_capping_is_bounded(b->pod, b->limits) || fits_pod(b, NULL) == 0)
        return 0;
    choose_originals(b, plans);
    return fits_pod(b, err);
}

static const struct vpa_resource_list *wanted_requests(const struct builder *b)
{
    struct vpa_resource_list *requests =
        vpa_arena_zalloc(b->arena, (b->pod->container_count + 1) * sizeof(*requests));

    for (size_t i = 0; i < b->pod->container_count; i++)
        requests[i] = b->wanted[i].requests;
    return requests;
}

/* Of the containers whose boosts end without an end of their cpu as many names as a message has
 * room for, or NULL. */
static const char *keeping_boosts(const struct builder *b)
{
    vpa_auto_buf names = VPA_BUF(KEEPING_MAX);
    const struct vpa_pod *pod = b->pod;

    for (size_t i = 0; i < pod->container_count; i++) {
        const struct vpa_container *c = &pod->containers[i];
        const struct vpa_quantity *there = vpa_resource_find(&c->resources.requests, VPA_CPU);

        if (!there || vpa_quantity_is_zero(there) ||
            vpa_resource_find(&b->wanted[i].requests, VPA_CPU) || !is_over(b, i) ||
            !vpa_boost_marker_find(&pod->meta.annotations, c->name))
            continue;
        if (names.len + strlen(c->name) + 2 >= KEEPING_MAX)
            break;
        vpa_buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", c->name);
    }
    return names.len > 0 ? vpa_arena_strdup(b->arena, vpa_buf_text(&names)) : NULL;
}

static void mark(struct vpa_json_patch *patch)
{
    vpa_json_put_string(
        open_op(patch, VPA_PATCH_ADD, "/metadata/annotations", VPA_IN_PLACE_ANNOTATION), "true");
    vpa_json_patch_end_op(patch);
}

void vpa_resize_patch_mark(const struct vpa_pod *pod, struct vpa_buf *out)
{
    struct vpa_json_patch patch;

    vpa_json_patch_begin(&patch, out);
    test_uid(pod, &patch);
    mark(&patch);
    vpa_json_patch_end(&patch);
}

static void put_annotations(struct builder *b)
{
    const struct vpa_labels *annotations = &b->pod->meta.annotations;
    struct vpa_json_patch *patch = &b->annotations;

    test_uid(b->pod, patch);
    if (!annotations->present)
        add_empty_object(patch, "/metadata/annotations");
    mark(patch);
    for (size_t i = 0; i < annotations->count; i++) {
        const char *key = annotations->items[i].key;
        const char *container = vpa_boost_marker_container(key);

        if (!container || !vpa_boost_expired(b->pod, b->vpa, container, b->now))
            continue;
        vpa_json_put_null(open_op(patch, VPA_PATCH_REMOVE, "/metadata/annotations", key));
        vpa_json_patch_end_op(patch);
        b->out->takes_back = true;
    }
}

int vpa_resize_patch_build(const struct vpa_pod *pod, const struct vpa_object *vpa,
                           const struct vpa_namespace_limits *limits,
                           const struct vpa_container_plan *plans, vpa_time now,
                           struct vpa_arena *arena, struct vpa_resize_patch *out,
                           struct vpa_error *err)
{
    struct builder b = {
        .pod = pod, .vpa = vpa, .limits = limits, .now = now, .arena = arena, .out = out};
    bool any;

    vpa_buf_clear(&out->resize);
    vpa_buf_clear(&out->annotations);
    out->changes = false;
    out->restarts = false;
    out->takes_back = false;
    out->keeping = NULL;
    out->requests = NULL;

    if (choose_what_fits(&b, plans, err) < 0)
        return -1;
    out->requests = wanted_requests(&b);
    out->keeping = keeping_boosts(&b);
    vpa_json_patch_begin(&b.resize, &out->resize);
    any = put_resources(&b);
    vpa_json_patch_end(&b.resize);
    vpa_json_patch_begin(&b.annotations, &out->annotations);
    put_annotations(&b);
    vpa_json_patch_end(&b.annotations);

    if (vpa_buf_failed(&out->resize) || vpa_buf_failed(&out->annotations))
        return vpa_fail(err, VPA_LIMIT, "patch is longer than %d bytes", VPA_RESIZE_PATCH_MAX);
    if (!any)
        return vpa_fail(err, VPA_NOT_FOUND, "no resource of the pod is to be patched");
    return 0;
}
