/*
 * Compact pods.
 *
 * A large cluster has 100,000 pods and the updater keeps all of them, so their size is the size of
 * the process. A decoded pod lives in an arena with room to spare and holds much that is never
 * asked for. Here what matters is copied into the arena of the item in the cache.
 *
 * What is dropped: init containers but for their resources, which count where the pod as a whole
 * has bounds, statuses but for resources that differ from the spec and terminations, conditions but
 * for Ready and the two of resizes, annotations but for the two kinds the updater reads (that there
 * were annotations at all is kept, the resize patch depends on it).
 *
 * Numbers: a pod with one container, requests and limits and two labels takes about 900 bytes.
 */
#include "compact.h"

#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/boost_marker.h"
#include "vpa/policy/pod_level.h"
#include "vpa/policy/priority.h"

static const char *pack_text(struct vpa_arena *arena, const char *text)
{
    /* Texts that repeat in every pod and have a constant to stand for them. */
    static const char *const constants[] = {
        "",      VPA_CPU,      VPA_MEMORY,    "Running", "True", "False",
        "Ready", "ReplicaSet", "StatefulSet", "apps/v1", "app"};

    if (!text)
        return NULL;
    for (size_t i = 0; i < VPA_COUNT(constants); i++)
        if (*text == *constants[i] && strcmp(text, constants[i]) == 0)
            return constants[i];

    return vpa_arena_strdup(arena, text);
}

static struct vpa_resource_list pack_list(struct vpa_arena *arena,
                                          const struct vpa_resource_list *list)
{
    struct vpa_resource_list copy = {.count = list->count, .present = list->present};

    if (list->count == 0)
        return copy;
    copy.items = vpa_arena_alloc(arena, list->count * sizeof(*copy.items));
    for (size_t i = 0; i < list->count; i++) {
        const struct vpa_resource *from = &list->items[i];
        const char *name = pack_text(arena, from->name);

        copy.items[i] = (struct vpa_resource){name, from->quantity};
        if (from->quantity.big)
            copy.items[i].quantity = vpa_quantity_copy(arena, &from->quantity);
        else
            copy.items[i].quantity.text = pack_text(arena, from->quantity.text);
    }
    return copy;
}

static struct vpa_resources pack_resources(struct vpa_arena *arena,
                                           const struct vpa_resources *from)
{
    struct vpa_resources copy = {.present = from->present, .others = from->others};

    copy.requests = pack_list(arena, &from->requests);
    copy.limits = pack_list(arena, &from->limits);
    return copy;
}

static bool annotation_matters(const char *key)
{
    return vpa_str_eq(key, VPA_OBSERVED_ANNOTATION) || vpa_boost_marker_container(key);
}

static struct vpa_labels pack_labels(struct vpa_arena *arena, const struct vpa_labels *from,
                                     bool (*matters)(const char *key))
{
    struct vpa_labels copy = {.present = from->present};

    for (size_t i = 0; i < from->count; i++)
        copy.count += !matters || matters(from->items[i].key);
    if (copy.count == 0)
        return copy;

    struct vpa_label *items = vpa_arena_alloc(arena, copy.count * sizeof(*items));
    size_t n = 0;

    for (size_t i = 0; i < from->count; i++) {
        if (matters && !matters(from->items[i].key))
            continue;

        struct vpa_label label = {pack_text(arena, from->items[i].key),
                                  pack_text(arena, from->items[i].value)};

        items[n++] = label;
    }
    copy.items = items;
    return copy;
}

static void pack_owners(struct vpa_arena *arena, const struct vpa_meta *from, struct vpa_meta *copy)
{
    if (from->owner_count == 0)
        return;

    struct vpa_owner_reference *owners =
        vpa_arena_alloc(arena, from->owner_count * sizeof(*owners));

    for (size_t i = 0; i < from->owner_count; i++) {
        struct vpa_owner_reference owner = {
            .api_version = pack_text(arena, from->owners[i].api_version),
            .kind = pack_text(arena, from->owners[i].kind),
            .name = pack_text(arena, from->owners[i].name),
            .uid = "",
            .controller = from->owners[i].controller,
        };

        owners[i] = owner;
    }
    copy->owners = owners;
    copy->owner_count = from->owner_count;
}

static struct vpa_meta pack_meta(struct vpa_arena *arena, const struct vpa_meta *from)
{
    struct vpa_meta copy = {
        .ns = pack_text(arena, from->ns),
        .name = pack_text(arena, from->name),
        .generate_name = "",
        .uid = pack_text(arena, from->uid),
        .resource_version = pack_text(arena, from->resource_version),
        .creation = from->creation,
        .deletion = from->deletion,
        .generation = from->generation,
        .labels = pack_labels(arena, &from->labels, NULL),
        .annotations = pack_labels(arena, &from->annotations, annotation_matters),
    };

    pack_owners(arena, from, &copy);
    return copy;
}

static void pack_resize_policy(struct vpa_arena *arena, const struct vpa_container *from,
                               struct vpa_container *copy)
{
    if (from->resize_policy_count == 0)
        return;

    struct vpa_resize_policy *items =
        vpa_arena_alloc(arena, from->resize_policy_count * sizeof(*items));

    for (size_t i = 0; i < from->resize_policy_count; i++) {
        struct vpa_resize_policy item = {pack_text(arena, from->resize_policy[i].resource_name),
                                         pack_text(arena, from->resize_policy[i].restart_policy)};

        items[i] = item;
    }
    copy->resize_policy = items;
    copy->resize_policy_count = from->resize_policy_count;
}

/* The copy has the same elements in the same order. */
static const uint32_t *pack_index(struct vpa_arena *arena, const uint32_t *index, size_t count)
{
    if (!index)
        return NULL;

    uint32_t *copy = vpa_arena_alloc(arena, count * sizeof(*copy));

    memcpy(copy, index, count * sizeof(*copy));
    return copy;
}

static void pack_containers(struct vpa_arena *arena, const struct vpa_pod *from,
                            struct vpa_pod *copy)
{
    if (from->container_count == 0)
        return;

    struct vpa_container *items = vpa_arena_alloc(arena, from->container_count * sizeof(*items));

    for (size_t i = 0; i < from->container_count; i++) {
        const struct vpa_container *c = &from->containers[i];
        struct vpa_container item = {
            .name = pack_text(arena, c->name),
            .resources = pack_resources(arena, &c->resources),
            .restart_policy = "",
        };

        pack_resize_policy(arena, c, &item);
        items[i] = item;
    }
    copy->containers = items;
    copy->container_count = from->container_count;
    copy->containers_by_name = pack_index(arena, from->containers_by_name, from->container_count);
}

static bool counts_in_pod(const struct vpa_container *c)
{
    return c->resources.requests.count > 0 || c->resources.limits.count > 0;
}

/* What counts beside its containers where the pod as a whole has bounds, its own or a
 * LimitRange's. */
static void pack_pod_level(struct vpa_arena *arena, const struct vpa_pod *from,
                           struct vpa_pod *copy)
{
    size_t count = 0;

    if (vpa_pod_level_has_bounds(from))
        copy->resources = pack_resources(arena, &from->resources);
    for (size_t i = 0; i < from->init_container_count; i++)
        count += counts_in_pod(&from->init_containers[i]);
    if (count == 0)
        return;

    struct vpa_container *items = vpa_arena_alloc(arena, count * sizeof(*items));

    copy->init_containers = items;
    for (size_t i = 0; i < from->init_container_count; i++) {
        const struct vpa_container *c = &from->init_containers[i];

        if (counts_in_pod(c))
            items[copy->init_container_count++] = (struct vpa_container){
                .name = "",
                .resources = pack_resources(arena, &c->resources),
                .restart_policy = vpa_str_eq(c->restart_policy, "Always") ? "Always" : "",
            };
    }
}

/* The same names, amounts and formats: the spec can stand for the status. */
static bool same_list(const struct vpa_resource_list *a, const struct vpa_resource_list *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct vpa_quantity *x = &a->items[i].quantity, *y = &b->items[i].quantity;

        if (!vpa_str_eq(a->items[i].name, b->items[i].name) || x->format != y->format ||
            !vpa_str_eq(x->text, y->text) || vpa_quantity_cmp(x, y) != 0)
            return false;
    }
    return true;
}

/* A status that says nothing but what the spec says is not needed: once a pod runs, nearly all are.
 */
static bool status_matters(const struct vpa_pod *pod, const struct vpa_container_status *s)
{
    const struct vpa_container *c = vpa_pod_container(pod, s->name);

    if (s->last_terminated.present)
        return true;
    if (!s->resources.present)
        return false;
    return !c || !same_list(&s->resources.requests, &c->resources.requests) ||
           !same_list(&s->resources.limits, &c->resources.limits);
}

static void pack_statuses(struct vpa_arena *arena, const struct vpa_pod *from, struct vpa_pod *copy)
{
    bool any = false;

    for (size_t i = 0; i < from->status_count; i++)
        any = any || status_matters(from, &from->statuses[i]);
    if (!any)
        return; /* all or none: of several with one name the first counts */
    copy->status_count = from->status_count;

    struct vpa_container_status *items =
        vpa_arena_alloc(arena, copy->status_count * sizeof(*items));

    for (size_t i = 0; i < from->status_count; i++) {
        const struct vpa_container_status *s = &from->statuses[i];
        struct vpa_container_status item = {
            .name = pack_text(arena, s->name),
            .last_terminated = s->last_terminated,
            .resources = pack_resources(arena, &s->resources),
        };

        item.last_terminated.reason = pack_text(arena, s->last_terminated.reason);
        item.terminated.reason = "";
        items[i] = item;
    }
    copy->statuses = items;
    copy->statuses_by_name = pack_index(arena, from->statuses_by_name, from->status_count);
}

static bool condition_matters(const struct vpa_pod_condition *c)
{
    return vpa_str_eq(c->type, "Ready") || vpa_str_eq(c->type, "PodResizePending") ||
           vpa_str_eq(c->type, "PodResizeInProgress");
}

static void pack_conditions(struct vpa_arena *arena, const struct vpa_pod *from,
                            struct vpa_pod *copy)
{
    size_t n = 0;

    for (size_t i = 0; i < from->condition_count; i++)
        copy->condition_count += condition_matters(&from->conditions[i]);
    if (copy->condition_count == 0)
        return;

    struct vpa_pod_condition *items =
        vpa_arena_alloc(arena, copy->condition_count * sizeof(*items));

    for (size_t i = 0; i < from->condition_count; i++) {
        const struct vpa_pod_condition *c = &from->conditions[i];

        if (!condition_matters(c))
            continue;

        struct vpa_pod_condition item = {
            .type = pack_text(arena, c->type),
            .status = pack_text(arena, c->status),
            .reason = pack_text(arena, c->reason),
            /* Only whether there is a message counts. */
            .message = c->message && *c->message ? "-" : "",
            .last_transition = c->last_transition,
            .observed_generation = c->observed_generation,
        };

        items[n++] = item;
    }
    copy->conditions = items;
}

void updater_pod_pack(struct vpa_arena *arena, const struct vpa_pod *from, struct vpa_pod *out)
{
    *out = (struct vpa_pod){
        .meta = pack_meta(arena, &from->meta),
        .node_name = "",
        .phase = pack_text(arena, from->phase),
        .qos_class = "",
        .start_time = from->start_time,
        .resize_status = "",
    };

    pack_containers(arena, from, out);
    pack_pod_level(arena, from, out);
    pack_statuses(arena, from, out);
    pack_conditions(arena, from, out);
}
