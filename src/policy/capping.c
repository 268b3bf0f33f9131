/*
 * Capping of a stored recommendation for one pod.
 *
 * A recommendation passes through stages, each of which may override the one before:
 *
 *     0  Pod LimitRange        all containers of the pod together, scaled so that their sum fits
 *     1  Container LimitRange  bounds for the request such that the proportional limit fits
 *     2  container policy      minAllowed, then maxAllowed
 *     3  container limit       only with controlledValues RequestsOnly
 *
 * target, lowerBound and upperBound go through independently; the webhook needs the target only, so
 * the fields are a parameter. Only resources that the recommendation has are touched: stage 0 never
 * creates one, as upstream does in places (updater.md 16.3).
 */
#include "vpa/policy/capping.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/api/limit_range.h"
#include "vpa/base/str.h"
#include "vpa/policy/pod_level.h"
#include "vpa/policy/scaling.h"

enum { TARGET, LOWER_BOUND, UPPER_BOUND, FIELD_COUNT };

/* What every stage needs to know. */
struct capping {
    struct vpa_arena *arena;
    const struct vpa_pod *pod;
    const struct vpa_resource_policy *policy;
    const struct vpa_namespace_limits *limits;
    bool only_target;
    bool floor_at_zero;                /* memory that stage 0 made negative becomes 0 */
    struct vpa_resources *effective;   /* per container of the pod */
    struct vpa_recommendation entries; /* being processed */
    struct vpa_notes *notes;
    struct vpa_notes **note_of; /* per container of the pod, by its name; NULL: none yet */
    size_t note_count;
};

static struct vpa_resource_list *field_of(struct vpa_container_recommendation *r, int field)
{
    switch (field) {
    case TARGET:
        return &r->target;
    case LOWER_BOUND:
        return &r->lower_bound;
    default:
        return &r->upper_bound;
    }
}

static struct vpa_quantity *find_mutable(struct vpa_resource_list *list, const char *name)
{
    return (struct vpa_quantity *)vpa_resource_find(list, name);
}

/* Items of our own, texts borrowed. */
static struct vpa_resource_list shallow_copy(struct vpa_arena *arena,
                                             const struct vpa_resource_list *list)
{
    struct vpa_resource_list copy = *list;

    if (list->count) {
        copy.items = vpa_arena_alloc(arena, list->count * sizeof(*copy.items));
        memcpy(copy.items, list->items, list->count * sizeof(*copy.items));
    }
    return copy;
}

/* ---- phrases ---- */

static void add_note(struct vpa_arena *arena, struct vpa_notes *notes, const char *text)
{
    VPA_ARENA_GROW(arena, notes->items, notes->count, notes->capacity);
    notes->items[notes->count++] = text;
}

static void note(struct vpa_arena *arena, struct vpa_notes *notes, const char *resource,
                 const char *phrase)
{
    if (notes)
        add_note(arena, notes, vpa_arena_printf(arena, "%s%s", resource, phrase));
}

/* Index of the first container of that name in the pod, or -1. */
static ptrdiff_t container_index(const struct vpa_pod *pod, const char *name)
{
    const struct vpa_container *container = vpa_pod_container(pod, name);

    return container ? container - pod->containers : -1;
}

/* The phrases kept under the name of a container, made when there are none yet. index: of the first
 * container of that name. */
static struct vpa_notes *notes_for(struct capping *c, ptrdiff_t index)
{
    if (!c->note_of[index]) {
        c->note_of[index] = &c->notes[c->note_count++];
        *c->note_of[index] = (struct vpa_notes){.container = c->pod->containers[index].name};
    }
    return c->note_of[index];
}

/* ---- min and max on one quantity ---- */

static bool usable(const struct vpa_quantity *bound)
{
    return bound && !vpa_quantity_is_zero(bound);
}

static bool raise_to(struct vpa_quantity *value, const struct vpa_quantity *min)
{
    if (!usable(min) || vpa_quantity_cmp(value, min) >= 0)
        return false;
    *value = *min;
    return true;
}

static bool lower_to(struct vpa_quantity *value, const struct vpa_quantity *max)
{
    if (!usable(max) || vpa_quantity_cmp(value, max) <= 0)
        return false;
    *value = *max;
    return true;
}

/* Greater in thousandths, rounded up; values that saturate are compared exactly. */
static bool exceeds(const struct vpa_quantity *value, const struct vpa_quantity *limit)
{
    int64_t a = vpa_quantity_milli_value(value);
    int64_t b = vpa_quantity_milli_value(limit);

    if (a == b && (a == INT64_MAX || a == INT64_MIN))
        return vpa_quantity_cmp(value, limit) > 0;
    return a > b;
}

/* ---- the effective LimitRange ---- */

static int by_name(const void *pa, const void *pb)
{
    const struct vpa_limit_range *a = *(const struct vpa_limit_range *const *)pa;
    const struct vpa_limit_range *b = *(const struct vpa_limit_range *const *)pb;

    return strcmp(a->meta.name, b->meta.name);
}

/* The first bound is taken whole; later ones tighten cpu and memory. direction: -1 for max, 1 for
 * min. */
static void tighten(struct vpa_arena *arena, struct vpa_resource_list *bound,
                    const struct vpa_resource_list *next, int direction)
{
    static const char *const names[] = {VPA_CPU, VPA_MEMORY};

    if (!next->present)
        return;
    if (!bound->present) {
        *bound = shallow_copy(arena, next);
        return;
    }
    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        const struct vpa_quantity *q = vpa_resource_find(next, names[i]);
        const struct vpa_quantity *old = vpa_resource_find(bound, names[i]);
        if (q && (!old || vpa_quantity_cmp(q, old) * direction >= 0)) /* the later text on a tie */
            vpa_resource_set(arena, bound, names[i], *q);
    }
}

static void fold_item(struct vpa_arena *arena, const struct vpa_limit_range_item *item,
                      struct vpa_limit_item *out)
{
    if (!item->max.present && !item->min.present && !item->default_limit.present)
        return;
    out->present = true;
    if (item->default_limit.present)
        out->defaults = item->default_limit;
    tighten(arena, &out->max, &item->max, -1);
    tighten(arena, &out->min, &item->min, 1);
}

void vpa_namespace_limits_fold(struct vpa_arena *arena, const struct vpa_limit_range *const *ranges,
                               size_t count, struct vpa_namespace_limits *out)
{
    const struct vpa_limit_range **sorted = vpa_arena_alloc(arena, (count + 1) * sizeof(*sorted));

    *out = (struct vpa_namespace_limits){0};
    if (count) {
        memcpy(sorted, ranges, count * sizeof(*sorted));
        qsort(sorted, count, sizeof(*sorted), by_name);
    }
    for (size_t i = 0; i < count; i++) {
        if (sorted[i]->error && !out->error)
            out->error = vpa_arena_printf(arena, "LimitRange %s/%s: %s", sorted[i]->meta.ns,
                                          sorted[i]->meta.name, sorted[i]->error);
        for (size_t j = 0; j < sorted[i]->item_count; j++) {
            const struct vpa_limit_range_item *item = &sorted[i]->items[j];
            if (strcmp(item->type, "Container") == 0) {
                fold_item(arena, item, &out->container);
                tighten(arena, &out->ratios.container, &item->max_ratio, -1);
            } else if (strcmp(item->type, "Pod") == 0) {
                fold_item(arena, item, &out->pod);
                tighten(arena, &out->ratios.pod, &item->max_ratio, -1);
            }
        }
    }
}

/* ---- stage 0 ---- */

static struct vpa_container_recommendation *find_entry(struct capping *c, const char *container)
{
    return vpa_recommendation_find(&c->entries, container);
}

/* Containers without a recommendation take part with their own requests, each name once. */
static void append_unrecommended(struct capping *c)
{
    struct vpa_recommendation more = c->entries;

    for (size_t i = 0; i < c->pod->container_count; i++) {
        const char *name = c->pod->containers[i].name;
        const struct vpa_resource_list *requests = &c->effective[i].requests;
        if (!requests->count || find_entry(c, name) ||
            container_index(c->pod, name) != (ptrdiff_t)i)
            continue;
        more.containers[more.container_count++] = (struct vpa_container_recommendation){
            .container_name = name, .target = shallow_copy(c->arena, requests)};
    }
    c->entries = more;
    vpa_recommendation_index(c->arena, &c->entries);
}

static struct vpa_quantity or_zero(const struct vpa_quantity *q)
{
    return q ? *q : (struct vpa_quantity){0};
}

/* Scales the resource in the given field of every entry of the pod by result / base. */
static void scale_entries(struct capping *c, int field, const char *resource,
                          const struct vpa_quantity *base, const struct vpa_quantity *result,
                          enum vpa_scale_rounding rounding)
{
    for (size_t i = 0; i < c->pod->container_count; i++) {
        struct vpa_container_recommendation *r = find_entry(c, c->pod->containers[i].name);
        struct vpa_quantity *x = r ? find_mutable(field_of(r, field), resource) : NULL;
        if (!x)
            continue; /* nothing is created that was not recommended */
        (void)vpa_scale_quantity(resource, x, base, result, rounding, x);
        if (c->floor_at_zero && rounding == VPA_SCALE_DOWN && vpa_quantity_sign(x) < 0)
            *x = vpa_quantity_units(0, (enum vpa_quantity_format)x->format);
    }
}

/* What the sidecars leave of the most that a pod may have; they count, and nobody changes them.
 * Where they leave nothing no pod fits. */
static void take_sidecars(struct capping *c, const char *resource, struct vpa_quantity *max)
{
    struct vpa_quantity left = *max;

    for (size_t i = 0; i < c->pod->init_container_count; i++) {
        const struct vpa_container *one = &c->pod->init_containers[i];
        const struct vpa_quantity *limit = vpa_resource_find(&one->resources.limits, resource);

        if (limit && vpa_str_eq(one->restart_policy, "Always"))
            vpa_quantity_sub(c->arena, &left, limit);
    }
    if (vpa_quantity_sign(&left) > 0)
        *max = left;
}

/* Makes the sums over the pod of one resource fit the Pod LimitRange. */
static void scale_pod(struct capping *c, int field, const char *resource)
{
    const struct vpa_limit_item *item = &c->limits->pod;
    struct vpa_quantity min = or_zero(vpa_resource_find(&item->min, resource));
    struct vpa_quantity max = or_zero(vpa_resource_find(&item->max, resource));
    const struct vpa_quantity *fallback = vpa_resource_find(&item->defaults, resource);
    struct vpa_quantity sum_limit = {0};
    struct vpa_quantity sum_request = {0};

    take_sidecars(c, resource, &max);
    for (size_t i = 0; i < c->pod->container_count; i++) {
        const struct vpa_resources *now = &c->effective[i];
        struct vpa_container_recommendation *r = find_entry(c, c->pod->containers[i].name);
        const struct vpa_quantity *request = vpa_resource_find(&now->requests, resource);
        const struct vpa_quantity *x =
            r ? vpa_resource_find(field_of(r, field), resource) : request;
        struct vpa_scaled_limit limit = vpa_scale_limit(
            resource, vpa_resource_find(&now->limits, resource), request, x, fallback);
        if (limit.present)
            vpa_quantity_add(c->arena, &sum_limit, &limit.limit);
        if (x)
            vpa_quantity_add(c->arena, &sum_request, x);
    }

    bool limit_reaches_min = vpa_quantity_cmp(&min, &sum_limit) <= 0;
    bool request_reaches_min = vpa_quantity_cmp(&min, &sum_request) <= 0;
    bool limit_below_max = vpa_quantity_is_zero(&max) || vpa_quantity_cmp(&max, &sum_limit) >= 0;

    if (limit_reaches_min && request_reaches_min && limit_below_max)
        return;
    if (vpa_quantity_is_zero(&sum_limit))
        return;
    if (!request_reaches_min)
        scale_entries(c, field, resource, &sum_request, &min, VPA_SCALE_UP);
    else
        scale_entries(c, field, resource, &sum_limit, limit_below_max ? &min : &max,
                      VPA_SCALE_DOWN);
}

static void apply_pod_limit_range(struct capping *c)
{
    static const int order[] = {UPPER_BOUND, TARGET, LOWER_BOUND};

    append_unrecommended(c);
    for (size_t i = 0; i < VPA_COUNT(order); i++) {
        if (c->only_target && order[i] != TARGET)
            continue;
        scale_pod(c, order[i], VPA_CPU);
        scale_pod(c, order[i], VPA_MEMORY);
    }
}

/* ---- stages 1 to 3, on one list ---- */

static void apply_container_limit_range(struct capping *c, const struct vpa_resources *now,
                                        struct vpa_resource_list *list, struct vpa_notes *notes)
{
    const struct vpa_limit_item *item = &c->limits->container;

    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->items[i].name;
        struct vpa_quantity *value = &list->items[i].quantity;
        if (strcmp(name, VPA_CPU) != 0 && strcmp(name, VPA_MEMORY) != 0)
            continue;

        const struct vpa_quantity *request = vpa_resource_find(&now->requests, name);
        const struct vpa_quantity *limit = vpa_resource_find(&now->limits, name);
        const struct vpa_quantity *fallback = vpa_resource_find(&item->defaults, name);
        if (item->min.present) {
            const struct vpa_quantity edge = or_zero(vpa_resource_find(&item->min, name));
            struct vpa_quantity min = vpa_scale_boundary(name, request, limit, &edge, fallback);
            if (vpa_quantity_cmp(&edge, &min) > 0)
                min = edge;
            if (raise_to(value, &min))
                note(c->arena, notes, name, " capped to fit Min in container LimitRange");
        }
        if (item->max.present) {
            const struct vpa_quantity *edge = vpa_resource_find(&item->max, name);
            struct vpa_quantity max = vpa_scale_boundary(name, request, limit, edge, fallback);
            if (lower_to(value, &max))
                note(c->arena, notes, name, " capped to fit Max in container LimitRange");
        }
    }
}

static void apply_policy(struct vpa_arena *arena, struct vpa_resource_list *list,
                         const struct vpa_resource_list *min_allowed,
                         const struct vpa_resource_list *max_allowed, struct vpa_notes *notes)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->items[i].name;
        struct vpa_quantity *value = &list->items[i].quantity;
        if (raise_to(value, vpa_resource_find(min_allowed, name)))
            note(arena, notes, name, " capped to minAllowed");
        if (lower_to(value, vpa_resource_find(max_allowed, name)))
            note(arena, notes, name, " capped to maxAllowed");
    }
}

static void apply_container_limits(struct vpa_arena *arena, struct vpa_resource_list *list,
                                   const struct vpa_resource_list *limits, struct vpa_notes *notes)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->items[i].name;
        struct vpa_quantity *value = &list->items[i].quantity;
        const struct vpa_quantity *limit = vpa_resource_find(limits, name);
        if (!limit || !exceeds(value, limit))
            continue;
        *value = *limit;
        note(arena, notes, name, " capped to container limit");
    }
}

/* ---- the pipeline ---- */

static void cap_entry(struct capping *c, struct vpa_container_recommendation *r, ptrdiff_t index)
{
    const struct vpa_container_policy *policy = vpa_policy_find(c->policy, r->container_name);
    bool requests_only =
        strcmp(vpa_controlled_values(c->policy, r->container_name), "RequestsOnly") == 0;
    const struct vpa_resources *now = &c->effective[index];
    struct vpa_notes notes = {.container = c->pod->containers[index].name};

    for (int field = TARGET; field < FIELD_COUNT; field++) {
        struct vpa_resource_list *list = field_of(r, field);
        struct vpa_notes *say = field == TARGET ? &notes : NULL;
        if (c->only_target && field != TARGET)
            break;
        if (c->limits->container.present)
            apply_container_limit_range(c, now, list, say);
        if (policy)
            apply_policy(c->arena, list, &policy->min_allowed, &policy->max_allowed, say);
        if (requests_only)
            apply_container_limits(c->arena, list, &now->limits, say);
    }
    if (notes.count)
        *notes_for(c, index) = notes; /* of repeated entries the last counts */
}

static const struct vpa_namespace_limits no_limits;

static void capping_init(struct capping *c, struct vpa_arena *arena, const struct vpa_object *vpa,
                         const struct vpa_pod *pod, const struct vpa_namespace_limits *limits)
{
    *c = (struct capping){
        .arena = arena,
        .pod = pod,
        .policy = &vpa->resource_policy,
        .limits = limits ? limits : &no_limits,
    };
    c->effective = vpa_arena_alloc(arena, (pod->container_count + 1) * sizeof(*c->effective));
    c->note_of = vpa_arena_zalloc(arena, (pod->container_count + 1) * sizeof(*c->note_of));
    for (size_t i = 0; i < pod->container_count; i++)
        c->effective[i] = vpa_pod_effective_resources(pod, pod->containers[i].name);
}

static void copy_entries(struct capping *c, const struct vpa_recommendation *recommendation)
{
    /* Every container of the pod may get an entry, and phrases. */
    size_t containers = c->pod->container_count + 1;
    size_t room = recommendation->container_count + containers;

    c->entries = *recommendation; /* the same names at the same places: the index holds */
    c->entries.containers = vpa_arena_alloc(c->arena, room * sizeof(*c->entries.containers));
    c->notes = vpa_arena_alloc(c->arena, containers * sizeof(*c->notes));
    for (size_t i = 0; i < recommendation->container_count; i++) {
        struct vpa_container_recommendation *r = &c->entries.containers[i];
        *r = recommendation->containers[i];
        for (int field = TARGET; field < FIELD_COUNT; field++) {
            if (c->only_target && field != TARGET)
                break;
            *field_of(r, field) = shallow_copy(c->arena, field_of(r, field));
        }
    }
}

static int run_stages(struct capping *c, const struct vpa_recommendation *recommendation,
                      struct vpa_error *err)
{
    if (c->limits->error)
        return vpa_fail(err, VPA_INVALID, "error obtaining limit range: %s", c->limits->error);

    copy_entries(c, recommendation);
    if (c->limits->pod.present)
        apply_pod_limit_range(c);

    struct vpa_container_recommendation *list = c->entries.containers;
    size_t kept = 0;
    for (size_t i = 0; i < c->entries.container_count; i++) {
        ptrdiff_t index = container_index(c->pod, list[i].container_name);
        if (index < 0)
            continue;
        list[kept] = list[i];
        cap_entry(c, &list[kept++], index);
    }
    c->entries.container_count = kept;
    vpa_recommendation_index(c->arena, &c->entries);
    return 0;
}

const char *vpa_controlled_values(const struct vpa_resource_policy *policy, const char *container)
{
    const struct vpa_container_policy *p = policy ? vpa_policy_find(policy, container) : NULL;

    return p && p->controlled_values ? p->controlled_values : "RequestsAndLimits";
}

static void drop_nameless(struct vpa_resource_list *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].name[0])
            list->items[kept++] = list->items[i];
    list->count = kept;
}

/* Requests and limits of one container from its processed entry. Containers of one name share the
 * list of requests: each with its own, a pod of many and a long recommendation would be a product.
 */
static void plan_container(struct capping *c, const struct vpa_resource_policy *policy,
                           size_t index, const struct vpa_container_recommendation *r,
                           struct vpa_container_plan *plans)
{
    const char *name = c->pod->containers[index].name;
    size_t first = (size_t)container_index(c->pod, name);
    struct vpa_container_plan *plan = &plans[index];

    plan->requests = first == index ? shallow_copy(c->arena, &r->target) : plans[first].requests;
    if (strcmp(vpa_controlled_values(policy, name), "RequestsAndLimits") == 0) {
        struct vpa_scaled_limits scaled =
            vpa_scale_limits(c->arena, &c->effective[index].limits, &c->effective[index].requests,
                             &plan->requests, &c->limits->container.defaults);
        plan->limits = scaled.limits;
        for (size_t i = 0; i < scaled.note_count; i++)
            add_note(c->arena, notes_for(c, (ptrdiff_t)first), scaled.notes[i]);
    }
    if (first == index)
        drop_nameless(&plan->requests);
}

/* Of each container of the pod that is recommended something. */
static struct vpa_container_plan *make_plans(struct capping *c,
                                             const struct vpa_resource_policy *policy)
{
    const struct vpa_pod *pod = c->pod;
    struct vpa_container_plan *plans =
        vpa_arena_zalloc(c->arena, (pod->container_count + 1) * sizeof(*plans));

    for (size_t i = 0; i < pod->container_count; i++) {
        const struct vpa_container_recommendation *r = find_entry(c, pod->containers[i].name);
        if (r)
            plan_container(c, policy, i, r, plans);
    }
    return plans;
}

struct vpa_resources *vpa_plans_resources(struct vpa_arena *arena,
                                          const struct vpa_container_plan *plans, size_t count)
{
    struct vpa_resources *all = vpa_arena_zalloc(arena, (count + 1) * sizeof(*all));

    for (size_t i = 0; i < count; i++) {
        all[i].requests = plans[i].requests;
        all[i].limits = plans[i].limits;
    }
    return all;
}

bool vpa_capping_is_bounded(const struct vpa_pod *pod, const struct vpa_namespace_limits *limits)
{
    return vpa_pod_level_has_bounds(pod) ||
           (limits && (limits->pod.present || vpa_limit_ratios_are_set(&limits->ratios)));
}

int vpa_capping_fits(struct vpa_arena *arena, const struct vpa_pod *pod,
                     const struct vpa_namespace_limits *limits, const struct vpa_resources *wanted,
                     struct vpa_error *err)
{
    if (vpa_pod_level_check(arena, pod, wanted, err) < 0)
        return -1;
    if (!limits)
        return 0;
    if (vpa_limit_sums_check(arena, pod, &limits->pod.min, &limits->pod.max, wanted, err) < 0)
        return -1;
    return vpa_limit_ratios_check(arena, pod, &limits->ratios, wanted, err);
}

/* Phrases of limits that are only tried are nobody's. */
static int fits_pod(const struct capping *c, struct vpa_error *err)
{
    const struct vpa_container_plan *plans;
    struct capping trial = *c;

    if (!vpa_capping_is_bounded(c->pod, c->limits))
        return 0;
    trial.notes = vpa_arena_alloc(c->arena, (c->pod->container_count + 1) * sizeof(*trial.notes));
    trial.note_of =
        vpa_arena_zalloc(c->arena, (c->pod->container_count + 1) * sizeof(*trial.note_of));
    trial.note_count = 0;
    plans = make_plans(&trial, c->policy);
    const struct vpa_resources *wanted =
        vpa_plans_resources(c->arena, plans, c->pod->container_count);
    return vpa_capping_fits(c->arena, c->pod, c->limits, wanted, err);
}

int vpa_capping_process(struct vpa_arena *arena, const struct vpa_object *vpa,
                        const struct vpa_pod *pod, const struct vpa_namespace_limits *limits,
                        struct vpa_capped *out, struct vpa_error *err)
{
    struct capping c;

    if (!vpa->recommendation.present && !vpa->resource_policy.present) {
        *out = (struct vpa_capped){0};
        return 0;
    }
    capping_init(&c, arena, vpa, pod, limits);
    if (run_stages(&c, &vpa->recommendation, err) < 0)
        return -1;
    if (fits_pod(&c, err) < 0)
        return -1;
    c.entries.present = true;

    *out = (struct vpa_capped){
        .recommendation = c.entries,
        .notes = c.notes,
        .note_count = c.note_count,
    };
    return 0;
}

int vpa_capping_plan(struct vpa_arena *arena, const struct vpa_object *vpa,
                     const struct vpa_pod *pod, const struct vpa_namespace_limits *limits,
                     struct vpa_container_plan **plans, struct vpa_error *err)
{
    bool off = strcmp(vpa_object_mode(vpa), "Off") == 0;
    struct capping c;

    capping_init(&c, arena, vpa, pod, limits);
    c.only_target = true;
    c.floor_at_zero = true;
    if (vpa->recommendation.present && run_stages(&c, &vpa->recommendation, err) < 0)
        return -1;
    if (c.limits->error)
        return vpa_fail(err, VPA_INVALID, "error getting containerLimitRange: %s", c.limits->error);

    *plans = make_plans(&c, off ? NULL : c.policy);
    /* Phrases go by name: containers of one name share them. */
    for (size_t i = 0; i < pod->container_count; i++) {
        const struct vpa_notes *notes = c.note_of[container_index(pod, pod->containers[i].name)];
        if (notes)
            (*plans)[i].notes = *notes;
    }
    return 0;
}

/* ---- the recommender's part ---- */

/* The policy's maxAllowed with the resources it lacks taken from the global maximum. */
static struct vpa_resource_list merged_max(struct vpa_arena *arena,
                                           const struct vpa_resource_list *max_allowed,
                                           const struct vpa_resource_list *global_max)
{
    if (!global_max || !global_max->count)
        return *max_allowed;

    struct vpa_resource_list merged = shallow_copy(arena, max_allowed);
    for (size_t i = 0; i < global_max->count; i++)
        if (!vpa_resource_find(&merged, global_max->items[i].name))
            vpa_resource_set(arena, &merged, global_max->items[i].name,
                             global_max->items[i].quantity);
    merged.present = true;
    return merged;
}

struct vpa_recommendation vpa_capping_policy(struct vpa_arena *arena,
                                             const struct vpa_recommendation *recommendation,
                                             const struct vpa_resource_policy *policy,
                                             const struct vpa_resource_list *global_max)
{
    static const struct vpa_resource_list nothing;
    struct vpa_recommendation out = *recommendation;

    out.containers = vpa_arena_alloc(arena, (out.container_count + 1) * sizeof(*out.containers));
    for (size_t i = 0; i < out.container_count; i++) {
        struct vpa_container_recommendation *r = &out.containers[i];
        *r = recommendation->containers[i];
        const struct vpa_container_policy *p =
            policy ? vpa_policy_find(policy, r->container_name) : NULL;
        struct vpa_resource_list max =
            merged_max(arena, p ? &p->max_allowed : &nothing, global_max);
        for (int field = TARGET; field < FIELD_COUNT; field++) {
            struct vpa_resource_list *list = field_of(r, field);
            *list = shallow_copy(arena, list);
            apply_policy(arena, list, p ? &p->min_allowed : &nothing, &max, NULL);
        }
    }
    return out;
}
