/*
 * Compact pods.
 *
 * A large cluster has 100,000 pods and the updater keeps all of them, so their size is the size of
 * the process. A decoded pod lives in an arena with room to spare and holds much that is never
 * asked for. Here it is copied into one block of exactly the size it needs: the copy runs twice,
 * first only counting bytes, then writing them.
 *
 * What is dropped: init containers, statuses but for resources that differ from the spec and
 * terminations, conditions but for Ready and the two of resizes, annotations but for the two kinds
 * the updater reads (that there were annotations at all is kept, the resize patch depends on it).
 *
 * Numbers: a pod with one container, requests and limits and two labels takes about 900 bytes.
 */
#include "compact.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/boost.h"
#include "vpa/policy/priority.h"

struct compact_pod {
    struct vpa_pod pod;
    struct vpa_arena rare; /* quantities beyond 64 bits */
};

struct packer {
    char *base; /* NULL while counting */
    size_t used;
    struct vpa_arena *rare;
};

static void *pack(struct packer *p, size_t size, size_t align)
{
    p->used = (p->used + align - 1) / align * align;

    void *place = p->base ? p->base + p->used : NULL;

    p->used += size;
    return place;
}

static const char *pack_text(struct packer *p, const char *text)
{
    /* Texts that repeat in every pod and have a constant to stand for them. */
    static const char *const constants[] = {
        "",      VPA_CPU,      VPA_MEMORY,    "Running", "True", "False",
        "Ready", "ReplicaSet", "StatefulSet", "apps/v1", "app"};

    if (!text)
        return NULL;
    for (size_t i = 0; i < VPA_COUNT(constants); i++) {
        if (strcmp(text, constants[i]) == 0)
            return constants[i];
    }

    size_t size = strlen(text) + 1;
    char *copy = pack(p, size, 1);

    if (copy)
        memcpy(copy, text, size);
    return copy;
}

static struct vpa_resource_list pack_list(struct packer *p, const struct vpa_resource_list *list)
{
    struct vpa_resource_list copy = {.count = list->count, .present = list->present};

    if (list->count == 0)
        return copy;
    copy.items = pack(p, list->count * sizeof(*copy.items), _Alignof(struct vpa_resource));
    for (size_t i = 0; i < list->count; i++) {
        const struct vpa_resource *from = &list->items[i];
        const char *name = pack_text(p, from->name);
        const char *text = from->quantity.big ? NULL : pack_text(p, from->quantity.text);

        if (!p->base)
            continue;
        copy.items[i] = (struct vpa_resource){name, from->quantity};
        if (from->quantity.big)
            copy.items[i].quantity = vpa_quantity_copy(p->rare, &from->quantity);
        else
            copy.items[i].quantity.text = text;
    }
    return copy;
}

static struct vpa_resources pack_resources(struct packer *p, const struct vpa_resources *from)
{
    struct vpa_resources copy = {.present = from->present};

    copy.requests = pack_list(p, &from->requests);
    copy.limits = pack_list(p, &from->limits);
    return copy;
}

static bool annotation_matters(const char *key)
{
    return vpa_str_eq(key, VPA_OBSERVED_CONTAINERS_ANNOTATION) || vpa_boost_marker_container(key);
}

static struct vpa_labels pack_labels(struct packer *p, const struct vpa_labels *from,
                                     bool (*matters)(const char *key))
{
    struct vpa_labels copy = {.present = from->present};

    for (size_t i = 0; i < from->count; i++)
        copy.count += !matters || matters(from->items[i].key);
    if (copy.count == 0)
        return copy;

    struct vpa_label *items = pack(p, copy.count * sizeof(*items), _Alignof(struct vpa_label));
    size_t n = 0;

    for (size_t i = 0; i < from->count; i++) {
        if (matters && !matters(from->items[i].key))
            continue;

        struct vpa_label label = {pack_text(p, from->items[i].key),
                                  pack_text(p, from->items[i].value)};

        if (items)
            items[n++] = label;
    }
    copy.items = items;
    return copy;
}

static void pack_owners(struct packer *p, const struct vpa_meta *from, struct vpa_meta *copy)
{
    if (from->owner_count == 0)
        return;

    struct vpa_owner_reference *owners =
        pack(p, from->owner_count * sizeof(*owners), _Alignof(struct vpa_owner_reference));

    for (size_t i = 0; i < from->owner_count; i++) {
        struct vpa_owner_reference owner = {
            .api_version = pack_text(p, from->owners[i].api_version),
            .kind = pack_text(p, from->owners[i].kind),
            .name = pack_text(p, from->owners[i].name),
            .uid = "",
            .controller = from->owners[i].controller,
        };

        if (owners)
            owners[i] = owner;
    }
    copy->owners = owners;
    copy->owner_count = from->owner_count;
}

static struct vpa_meta pack_meta(struct packer *p, const struct vpa_meta *from)
{
    struct vpa_meta copy = {
        .ns = pack_text(p, from->ns),
        .name = pack_text(p, from->name),
        .generate_name = "",
        .uid = pack_text(p, from->uid),
        .resource_version = pack_text(p, from->resource_version),
        .creation = from->creation,
        .deletion = from->deletion,
        .generation = from->generation,
        .labels = pack_labels(p, &from->labels, NULL),
        .annotations = pack_labels(p, &from->annotations, annotation_matters),
    };

    pack_owners(p, from, &copy);
    return copy;
}

static void pack_resize_policy(struct packer *p, const struct vpa_container *from,
                               struct vpa_container *copy)
{
    if (from->resize_policy_count == 0)
        return;

    struct vpa_resize_policy *items =
        pack(p, from->resize_policy_count * sizeof(*items), _Alignof(struct vpa_resize_policy));

    for (size_t i = 0; i < from->resize_policy_count; i++) {
        struct vpa_resize_policy item = {pack_text(p, from->resize_policy[i].resource_name),
                                         pack_text(p, from->resize_policy[i].restart_policy)};

        if (items)
            items[i] = item;
    }
    copy->resize_policy = items;
    copy->resize_policy_count = from->resize_policy_count;
}

static void pack_containers(struct packer *p, const struct vpa_pod *from, struct vpa_pod *copy)
{
    if (from->container_count == 0)
        return;

    struct vpa_container *items =
        pack(p, from->container_count * sizeof(*items), _Alignof(struct vpa_container));

    for (size_t i = 0; i < from->container_count; i++) {
        const struct vpa_container *c = &from->containers[i];
        struct vpa_container item = {
            .name = pack_text(p, c->name),
            .resources = pack_resources(p, &c->resources),
            .restart_policy = "",
        };

        pack_resize_policy(p, c, &item);
        if (items)
            items[i] = item;
    }
    copy->containers = items;
    copy->container_count = from->container_count;
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

static void pack_statuses(struct packer *p, const struct vpa_pod *from, struct vpa_pod *copy)
{
    bool any = false;

    for (size_t i = 0; i < from->status_count; i++)
        any = any || status_matters(from, &from->statuses[i]);
    if (!any)
        return; /* all or none: of several with one name the first counts */
    copy->status_count = from->status_count;

    struct vpa_container_status *items =
        pack(p, copy->status_count * sizeof(*items), _Alignof(struct vpa_container_status));

    for (size_t i = 0; i < from->status_count; i++) {
        const struct vpa_container_status *s = &from->statuses[i];
        struct vpa_container_status item = {
            .name = pack_text(p, s->name),
            .last_terminated = s->last_terminated,
            .resources = pack_resources(p, &s->resources),
        };

        item.last_terminated.reason = pack_text(p, s->last_terminated.reason);
        item.terminated.reason = "";
        if (items)
            items[i] = item;
    }
    copy->statuses = items;
}

static bool condition_matters(const struct vpa_pod_condition *c)
{
    return vpa_str_eq(c->type, "Ready") || vpa_str_eq(c->type, "PodResizePending") ||
           vpa_str_eq(c->type, "PodResizeInProgress");
}

static void pack_conditions(struct packer *p, const struct vpa_pod *from, struct vpa_pod *copy)
{
    size_t n = 0;

    for (size_t i = 0; i < from->condition_count; i++)
        copy->condition_count += condition_matters(&from->conditions[i]);
    if (copy->condition_count == 0)
        return;

    struct vpa_pod_condition *items =
        pack(p, copy->condition_count * sizeof(*items), _Alignof(struct vpa_pod_condition));

    for (size_t i = 0; i < from->condition_count; i++) {
        const struct vpa_pod_condition *c = &from->conditions[i];

        if (!condition_matters(c))
            continue;

        struct vpa_pod_condition item = {
            .type = pack_text(p, c->type),
            .status = pack_text(p, c->status),
            .reason = pack_text(p, c->reason),
            /* Only whether there is a message counts. */
            .message = c->message && *c->message ? "-" : "",
            .last_transition = c->last_transition,
            .observed_generation = c->observed_generation,
        };

        if (items)
            items[n++] = item;
    }
    copy->conditions = items;
}

static struct vpa_pod pack_pod(struct packer *p, const struct vpa_pod *from)
{
    struct vpa_pod copy = {
        .meta = pack_meta(p, &from->meta),
        .node_name = "",
        .phase = pack_text(p, from->phase),
        .qos_class = "",
        .start_time = from->start_time,
        .resize_status = "",
    };

    pack_containers(p, from, &copy);
    pack_statuses(p, from, &copy);
    pack_conditions(p, from, &copy);
    return copy;
}

struct compact_pod *updater_pod_new(const struct vpa_pod *pod)
{
    struct packer p = {0};

    (void)pack(&p, sizeof(struct compact_pod), _Alignof(struct compact_pod));
    (void)pack_pod(&p, pod);

    char *block = vpa_xcalloc(1, p.used);
    struct compact_pod *compact = (void *)block;

    p = (struct packer){.base = block, .rare = &compact->rare};
    (void)pack(&p, sizeof(struct compact_pod), _Alignof(struct compact_pod));
    compact->pod = pack_pod(&p, pod);
    return compact;
}

void updater_pod_free(struct compact_pod *compact)
{
    if (!compact)
        return;
    vpa_arena_release(&compact->rare);
    free(compact);
}

const struct vpa_pod *updater_pod_get(const struct compact_pod *compact)
{
    return &compact->pod;
}
