/*
 * Update priority.
 *
 * The distance between a pod and its recommendation is one number: for each resource, the totals
 * over all containers of request and target are compared, |request - target| / request, and the
 * ratios of the resources are added up. Totals are taken in thousandths (memory too, as upstream
 * does) and a missing request counts as one thousandth, so that a pod without requests comes first.
 *
 * The sum is of doubles, so its last bits depend on the order of the resources: cpu, memory, then
 * the others by name. So the targets of all containers are collected first and sorted by that
 * order; a pod has two or three names, but a hostile one has thousands.
 */
#include "vpa/policy/priority.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/update_memory.h"
#include "vpa/policy/update_mode.h"

#define OBSERVED_SEPARATOR ", "
#define OOM_KILLED "OOMKilled"
#define DNS_LABEL_MAX 63

/* One element of the observed list; false behind the last one. */
static bool next_observed(const char **rest, char name[DNS_LABEL_MAX + 1], bool *valid)
{
    if (!*rest)
        return false;

    const char *end = strstr(*rest, OBSERVED_SEPARATOR);
    size_t len = end ? (size_t)(end - *rest) : strlen(*rest);

    *valid = len > 0 && len <= DNS_LABEL_MAX;
    if (*valid) {
        memcpy(name, *rest, len);
        name[len] = '\0';
        *valid = vpa_is_dns1123_label(name);
    }
    *rest = end ? end + strlen(OBSERVED_SEPARATOR) : NULL;
    return true;
}

void vpa_observed_release(struct vpa_observed *observed)
{
    vpa_arena_release(&observed->arena);
}

static size_t count_separators(const char *text)
{
    size_t count = 0;

    while ((text = strstr(text, OBSERVED_SEPARATOR))) {
        text += strlen(OBSERVED_SEPARATOR);
        count++;
    }
    return count;
}

static void read_observed(struct vpa_observed *o)
{
    const char *rest = vpa_labels_get(&o->pod->meta.annotations, VPA_OBSERVED_ANNOTATION);
    char name[DNS_LABEL_MAX + 1];
    bool valid;

    o->read = true;
    o->all = rest == NULL;
    if (o->all || !*rest)
        return; /* "" is a valid list of nothing */
    o->names = vpa_arena_alloc(&o->arena, (count_separators(rest) + 1) * sizeof(*o->names));
    while (next_observed(&rest, name, &valid)) {
        if (!valid) {
            o->all = true;
            return;
        }
        o->names[o->count++] = vpa_arena_strdup(&o->arena, name);
    }
    qsort(o->names, o->count, sizeof(*o->names), vpa_str_compare);
}

bool vpa_container_observed(struct vpa_observed *o, const char *container)
{
    if (!o->read)
        read_observed(o);
    return o->all || (o->count > 0 && bsearch(&container, o->names, o->count, sizeof(*o->names),
                                              vpa_str_compare) != NULL);
}

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

/* One recommended resource of one container. */
struct wish {
    const char *resource;
    size_t place; /* in the order of the pod */
    const struct vpa_container_recommendation *rec;
    const struct vpa_quantity *target;
    const struct vpa_quantity *request; /* NULL: none */
};
struct wishes {
    struct wish *items;
    size_t count;
    size_t capacity;
};

static int compare_wishes(const void *a, const void *b)
{
    const struct wish *x = a, *y = b;
    int order = vpa_resource_name_cmp(x->resource, y->resource);

    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static void collect_container(struct wishes *wishes, const struct vpa_pod *pod,
                              const struct vpa_container_recommendation *rec, const char *container)
{
    struct vpa_resources in_force = vpa_pod_effective_resources(pod, container);

    for (size_t i = 0; i < rec->target.count; i++) {
        const struct vpa_resource *r = &rec->target.items[i];

        VPA_GROW(wishes->items, wishes->count, wishes->capacity);
        wishes->items[wishes->count] =
            (struct wish){r->name, wishes->count, rec, &r->quantity,
                          vpa_resource_find(&in_force.requests, r->name)};
        wishes->count++;
    }
}

/* Of the containers that count: observed, and with an entry of their own. Sorted. */
static void collect(struct wishes *wishes, const struct vpa_pod *pod,
                    const struct vpa_recommendation *processed)
{
    vpa_auto_observed struct vpa_observed observed = {.pod = pod};

    for (size_t i = 0; i < pod->container_count; i++) {
        const char *container = pod->containers[i].name;
        const struct vpa_container_recommendation *rec =
            vpa_container_observed(&observed, container)
                ? vpa_recommendation_find(processed, container)
                : NULL;

        if (rec)
            collect_container(wishes, pod, rec, container);
    }
    if (wishes->count > 1)
        qsort(wishes->items, wishes->count, sizeof(*wishes->items), compare_wishes);
}

struct totals {
    int64_t request_millis;
    int64_t target_millis;
};

static void compare(const struct wish *wish, struct totals *totals, struct vpa_priority *priority)
{
    const struct vpa_quantity *request = wish->request;
    const struct vpa_quantity *lower = vpa_resource_find(&wish->rec->lower_bound, wish->resource);
    const struct vpa_quantity *upper = vpa_resource_find(&wish->rec->upper_bound, wish->resource);
    int64_t target_millis = vpa_quantity_milli_value(wish->target);

    totals->target_millis = add_saturated(totals->target_millis, target_millis);
    if (!request) {
        priority->scale_up = true;
        priority->outside_range = true;
        return;
    }

    int64_t request_millis = vpa_quantity_milli_value(request);

    totals->request_millis = add_saturated(totals->request_millis, request_millis);
    if (target_millis > request_millis)
        priority->scale_up = true;
    if (lower && vpa_quantity_cmp(request, lower) < 0)
        priority->outside_range = true;
    if (upper && vpa_quantity_cmp(request, upper) > 0)
        priority->outside_range = true;
}

struct vpa_priority vpa_priority_of(const struct vpa_pod *pod,
                                    const struct vpa_recommendation *processed)
{
    struct vpa_priority priority = {0};
    struct wishes wishes = {0};

    if (processed)
        collect(&wishes, pod, processed);
    for (size_t i = 0; i < wishes.count;) {
        const char *resource = wishes.items[i].resource;
        struct totals totals = {0};

        for (; i < wishes.count && vpa_str_eq(wishes.items[i].resource, resource); i++)
            compare(&wishes.items[i], &totals, &priority);

        double request = fmax((double)totals.request_millis, 1.0);

        priority.diff += fabs(request - (double)totals.target_millis) / request;
    }
    free(wishes.items);
    return priority;
}

vpa_duration vpa_quick_oom_threshold(const struct vpa_object *vpa,
                                     const struct vpa_priority_options *options)
{
    if (options->per_vpa_config && vpa->evict_after_oom_seconds.present)
        return (vpa_duration)vpa->evict_after_oom_seconds.value * VPA_SECOND;
    return options->oom_threshold;
}

bool vpa_quick_oom_status(struct vpa_observed *observed, const struct vpa_object *vpa,
                          const struct vpa_container_status *status,
                          const struct vpa_priority_options *options)
{
    const struct vpa_container_termination *last = &status->last_terminated;

    if (!last->present || !vpa_str_eq(last->reason, OOM_KILLED))
        return false;
    if (!vpa_container_observed(observed, status->name))
        return false;

    if (vpa_policy_is_off(&vpa->resource_policy, status->name))
        return false;
    return vpa_time_sub(last->finished_at, last->started_at) <
           vpa_quick_oom_threshold(vpa, options);
}

static bool has_quick_oom(const struct vpa_pod *pod, const struct vpa_object *vpa,
                          const struct vpa_priority_options *options)
{
    vpa_auto_observed struct vpa_observed observed = {.pod = pod};

    for (size_t i = 0; i < pod->status_count; i++) {
        if (vpa_quick_oom_status(&observed, vpa, &pod->statuses[i], options))
            return true;
    }
    return false;
}

enum vpa_admission vpa_priority_admit(const struct vpa_pod *pod, const struct vpa_object *vpa,
                                      const struct vpa_recommendation *processed,
                                      const struct vpa_recommendation *infeasible,
                                      const struct vpa_priority_options *options, vpa_time now,
                                      struct vpa_priority *priority)
{
    bool absent = !processed || !processed->present;

    *priority = vpa_priority_of(pod, processed);
    if (infeasible && vpa_update_mode_of(vpa) == VPA_MODE_IN_PLACE &&
        !vpa_recommendation_lower(processed, infeasible, true))
        return VPA_ADMIT_INFEASIBLE_CACHED;

    bool quick_oom = has_quick_oom(pod, vpa, options);

    if (!priority->outside_range && !quick_oom) {
        if (vpa_time_is_unset(pod->start_time))
            return VPA_ADMIT_NO_START_TIME;
        if (now < vpa_time_add(pod->start_time, options->lifetime_threshold))
            return VPA_ADMIT_YOUNG;
        if (priority->diff < options->update_threshold)
            return VPA_ADMIT_DIFF_TOO_LOW;
    }
    if (quick_oom && priority->diff == 0)
        return VPA_ADMIT_OOM_NO_CHANGE;
    /* Reached with a threshold of zero or less; upstream crashes here. */
    return absent ? VPA_ADMIT_NO_RECOMMENDATION : VPA_ADMIT_ACCEPTED;
}

const char *vpa_admission_name(enum vpa_admission admission)
{
    switch (admission) {
    case VPA_ADMIT_NO_RECOMMENDATION:
        return "no-recommendation";
    case VPA_ADMIT_INFEASIBLE_CACHED:
        return "infeasible-cached";
    case VPA_ADMIT_NO_START_TIME:
        return "no-start-time";
    case VPA_ADMIT_YOUNG:
        return "young";
    case VPA_ADMIT_DIFF_TOO_LOW:
        return "diff-too-low";
    case VPA_ADMIT_OOM_NO_CHANGE:
        return "oom-no-change";
    case VPA_ADMIT_ACCEPTED:
        break;
    }
    return "accepted";
}

static int candidate_cmp(const void *left, const void *right)
{
    const struct vpa_update_candidate *a = left, *b = right;

    if (a->priority.scale_up != b->priority.scale_up)
        return a->priority.scale_up ? -1 : 1;
    if (a->priority.diff != b->priority.diff)
        return a->priority.diff > b->priority.diff ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

void vpa_priority_sort(struct vpa_update_candidate *items, size_t count)
{
    if (count > 1)
        qsort(items, count, sizeof(*items), candidate_cmp);
}
