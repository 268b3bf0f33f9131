/*
 * The patch of a new pod.
 *
 * Operations come in a fixed order: an empty annotations object where there is none; per container
 * the boost marker and the resources; the annotation that tells what was done; the annotation that
 * tells which containers were seen. Every operation but one that takes a marker away is an "add",
 * which replaces what is there, and parents are created first, because an API server refuses a path
 * whose parent is missing. What is there is read from the very container that is patched: its
 * status says nothing, since no kubelet has seen the pod, and whoever creates it may have written
 * that status.
 *
 * The text is written straight into the answer; nothing but the annotation of words is collected
 * aside.
 */
#include "vpa/policy/pod_patch.h"

#include <string.h>

#include "vpa/json/json_patch.h"
#include "vpa/policy/boost_marker.h"
#include "vpa/policy/pod_level.h"

/* Bounds of the pieces collected aside; a pod has at most 1.5 MiB. */
#define PATH_MAX_LEN 4096
#define WORDS_MAX_LEN (1 << 20)
/* Of a marker: cpu and memory, twice. */
#define MARKER_MAX_LEN 4096

#define ANNOTATIONS "/metadata/annotations"
/* Of keys and values together: TotalAnnotationSizeLimitB of the API server. */
#define ANNOTATIONS_MAX ((size_t)256 << 10)

struct patch {
    struct vpa_arena *arena;
    const struct vpa_pod *pod;
    size_t *latest; /* of the containers of one name, by the first of them: the one seen last */
    bool plain;     /* without boosts */
    bool any_boost;
    const struct vpa_object *vpa;
    const struct vpa_pod_patch_options *options;
    struct vpa_json_patch ops;
    const struct vpa_buf *out; /* that ops go to */
    struct vpa_buf path;
    struct vpa_buf updates; /* value of vpaUpdates so far, "" while nothing was patched */
    /* Bytes of the pod's, with those that the patch adds so far. A key that is added twice is of
     * containers of one name: no API server takes that pod. */
    size_t annotations;
    bool cut; /* something collected aside did not fit: what is left of it says another thing */
};

/* What a container has of something that the patch sets. */
struct values {
    const char *group; /* member of the resources */
    const char *what;  /* one of them */
    const struct vpa_resource_list *now;
};

/* Opens an operation on the path. */
static struct vpa_json_writer *open_op(struct patch *p, enum vpa_patch_op op)
{
    p->cut |= vpa_buf_failed(&p->path);
    return vpa_json_patch_op(&p->ops, op, vpa_buf_text(&p->path));
}

static struct vpa_json_writer *add(struct patch *p)
{
    return open_op(p, VPA_PATCH_ADD);
}

static void add_empty_object(struct patch *p)
{
    struct vpa_json_writer *w = add(p);

    vpa_json_open_object(w);
    vpa_json_close_object(w);
    vpa_json_patch_end_op(&p->ops);
}

static void annotation_path(struct patch *p, const char *key)
{
    vpa_buf_clear(&p->path);
    vpa_buf_puts(&p->path, ANNOTATIONS);
    vpa_json_pointer_add(&p->path, key);
}

static void add_annotation(struct patch *p, const char *key, const struct vpa_buf *text)
{
    const char *value = vpa_buf_text(text);
    const char *replaced = vpa_labels_get(&p->pod->meta.annotations, key);

    p->annotations += strlen(value) + (replaced ? 0 : strlen(key));
    p->annotations -= replaced ? strlen(replaced) : 0;
    annotation_path(p, key);
    p->cut |= vpa_buf_failed(text);
    vpa_json_put_string(add(p), value);
    vpa_json_patch_end_op(&p->ops);
}

static void resources_path(struct patch *p, size_t container, const char *group)
{
    vpa_buf_clear(&p->path);
    vpa_buf_puts(&p->path, "/spec/containers/");
    vpa_buf_put_uint(&p->path, container);
    vpa_buf_puts(&p->path, "/resources");
    if (group) {
        vpa_buf_putc(&p->path, '/');
        vpa_buf_puts(&p->path, group);
    }
}

static void tell_change(struct patch *p, size_t container, const struct values *old,
                        const struct vpa_resource *to)
{
    const struct vpa_quantity *from = vpa_resource_find(old->now, to->name);

    if (!from || vpa_quantity_cmp(from, &to->quantity) != 0)
        vpa_reason_begin(p->options->changes, p->pod->containers[container].name, to->name,
                         old->what, from, &to->quantity);
}

/* Requests or limits: the parent if it is missing, then each value. */
static void add_values(struct patch *p, size_t container, const struct values *old,
                       const struct vpa_resource_list *values)
{
    if (!values->count)
        return;
    resources_path(p, container, old->group);
    if (!old->now->present)
        add_empty_object(p);

    size_t parent = p->path.len;
    for (size_t i = 0; i < values->count; i++) {
        vpa_buf_truncate(&p->path, parent);
        vpa_json_pointer_add(&p->path, values->items[i].name);
        vpa_json_put_quantity(add(p), &values->items[i].quantity);
        vpa_json_patch_end_op(&p->ops);
        if (p->options->changes)
            tell_change(p, container, old, &values->items[i]);
    }
}

/* One word of a container's part of vpaUpdates. */
static void add_word(struct patch *p, bool *first, const char *word, const char *suffix)
{
    if (!*first)
        vpa_buf_puts(&p->updates, ", ");
    vpa_buf_puts(&p->updates, word);
    vpa_buf_puts(&p->updates, suffix);
    *first = false;
}

static void describe(struct patch *p, size_t container, const struct vpa_container_plan *plan)
{
    bool first = true;

    if (vpa_buf_failed(&p->updates))
        return; /* the phrases of containers of one name are those of all of them */
    if (p->updates.len) {
        vpa_buf_puts(&p->updates, "; ");
    } else {
        vpa_buf_puts(&p->updates, "Pod resources updated by ");
        vpa_buf_puts(&p->updates, p->vpa->meta.name);
        vpa_buf_puts(&p->updates, ": ");
    }
    vpa_buf_puts(&p->updates, "container ");
    vpa_buf_put_uint(&p->updates, container);
    vpa_buf_puts(&p->updates, ": ");
    for (size_t i = 0; i < plan->notes.count && !vpa_buf_failed(&p->updates); i++)
        add_word(p, &first, plan->notes.items[i], "");
    for (size_t i = 0; i < plan->requests.count; i++)
        add_word(p, &first, plan->requests.items[i].name, " request");
    for (size_t i = 0; i < plan->limits.count; i++)
        add_word(p, &first, plan->limits.items[i].name, " limit");
}

static void add_resources(struct patch *p, size_t container, const struct vpa_container_plan *plan)
{
    const struct vpa_resources *now = &p->pod->containers[container].resources;
    bool bare = !now->requests.present && !now->limits.present && !now->others;

    if (!bare && !plan->requests.count && !plan->limits.count)
        return;
    if (bare) { /* also when nothing is recommended, as upstream */
        resources_path(p, container, NULL);
        add_empty_object(p);
    }
    add_values(p, container, &(struct values){"requests", "request", &now->requests},
               &plan->requests);
    add_values(p, container, &(struct values){"limits", "limit", &now->limits}, &plan->limits);
    describe(p, container, plan);
}

static const char *marker_key(struct patch *p, const struct vpa_container *container)
{
    return vpa_arena_printf(p->arena, "%s%s", VPA_BOOST_ANNOTATION_PREFIX, container->name);
}

static void add_marker(struct patch *p, const struct vpa_container *container)
{
    vpa_auto_buf value = VPA_BUF(MARKER_MAX_LEN);

    vpa_boost_marker_format(container, &value);
    add_annotation(p, marker_key(p, container), &value);
}

/* With the cpu that is planned without its boost a container does not count as boosted, whatever it
 * came with. One whose cpu stays as it came keeps what its marker tells of that. */
static void remove_marker(struct patch *p, const struct vpa_container *container,
                          const struct vpa_container_plan *plan)
{
    const char *marker = vpa_boost_marker_find(&p->pod->meta.annotations, container->name);

    if (!marker || !vpa_resource_find(&plan->requests, VPA_CPU) ||
        vpa_pod_container(p->pod, container->name) != container)
        return;
    annotation_path(p, marker_key(p, container));
    vpa_json_put_null(open_op(p, VPA_PATCH_REMOVE));
    vpa_json_patch_end_op(&p->ops);
    p->annotations -= strlen(marker_key(p, container)) + strlen(marker);
}

/* By the mode of the VPA, or of a container's policy. */
static void clear_off(const struct patch *p, struct vpa_container_plan *plans)
{
    bool mode_off = strcmp(vpa_object_mode(p->vpa), "Off") == 0;

    for (size_t i = 0; i < p->pod->container_count; i++)
        if (mode_off || (p->options->startup_boost &&
                         vpa_policy_is_off(&p->vpa->resource_policy, p->pod->containers[i].name)))
            plans[i] = (struct vpa_container_plan){0};
}

/* Containers of one name (which API servers refuse later) share their requests, as upstream's maps
 * do: the second is boosted on top of the first. */
static void share_requests(struct patch *p, size_t index, struct vpa_container_plan *plans)
{
    const struct vpa_container *all = p->pod->containers;
    const struct vpa_container *first = vpa_pod_container(p->pod, all[index].name);
    size_t *latest = &p->latest[first - all];

    if (first != &all[index] && plans[*latest].requests.present && plans[index].requests.present)
        plans[index].requests = vpa_resource_list_copy(p->arena, &plans[*latest].requests);
    *latest = index;
}

/* The marker of a container that comes with one, or NULL. A longer one than is ever written is
 * nobody's, and of the containers of one name only the first has one: a review may have megabytes
 * of markers and thousands of containers. */
static const char *marker_of(const struct patch *p, const struct vpa_container *container)
{
    const char *marker = vpa_boost_marker_find(&p->pod->meta.annotations, container->name);

    if (!marker || strnlen(marker, MARKER_MAX_LEN + 1) > MARKER_MAX_LEN)
        return NULL;
    return vpa_pod_container(p->pod, container->name) == container ? marker : NULL;
}

/* The container as it was before its boost, for a pod that comes with one: an API server may ask
 * twice, of two registrations or behind another webhook, and a pod may be a copy. The marker is
 * believed when boosting what it says gives what the container has. */
static const struct vpa_container *before_boost(struct patch *p,
                                                const struct vpa_container *container,
                                                const struct vpa_startup_boost *boost,
                                                const struct vpa_container_plan *plan)
{
    const char *marker = marker_of(p, container);
    const struct vpa_quantity *has = vpa_resource_find(&container->resources.requests, VPA_CPU);
    struct vpa_resource_list requests, limits;
    struct vpa_container was = *container, *kept;
    vpa_auto_arena tried = {0}; /* most of it is of no use afterwards */
    const char *ignored;

    if (!marker || !has)
        return container;
    requests = vpa_resource_list_copy(&tried, &plan->requests);
    limits = vpa_resource_list_copy(&tried, &plan->limits);
    if (vpa_boost_marker_parse(&tried, marker, &was.resources, NULL) < 0 ||
        !vpa_boost_apply(&tried, boost, &was,
                         vpa_controlled_values(&p->vpa->resource_policy, container->name),
                         &p->options->max_cpu_boost, &requests, &limits, &ignored) ||
        vpa_quantity_cmp(vpa_resource_find(&requests, VPA_CPU), has) != 0)
        return container;
    kept = vpa_arena_alloc(p->arena, sizeof(*kept));
    *kept = was;
    kept->resources.requests = vpa_resource_list_copy(p->arena, &was.resources.requests);
    kept->resources.limits = vpa_resource_list_copy(p->arena, &was.resources.limits);
    return kept;
}

/* Boosts the plan of one container; false when the container is to be left alone altogether: its
 * policy says Off and it has no boost of its own. */
static bool boost_container(struct patch *p, size_t index, struct vpa_container_plan *plan)
{
    const struct vpa_container *container = &p->pod->containers[index];
    const struct vpa_resource_policy *policies = &p->vpa->resource_policy;
    const struct vpa_startup_boost *boost = vpa_boost_find(p->vpa, container->name);
    bool off = vpa_policy_is_off(policies, container->name);
    const char *reason;

    if (!boost)
        return !off;
    if (!p->plain) {
        const struct vpa_container *was = before_boost(p, container, boost, plan);

        if (vpa_boost_apply(p->arena, boost, was, vpa_controlled_values(policies, container->name),
                            &p->options->max_cpu_boost, &plan->requests, &plan->limits, &reason)) {
            add_marker(p, was);
            p->any_boost = true;
            return true;
        }
        if (p->options->on_unusable_boost)
            p->options->on_unusable_boost(p->options->ctx, container->name, reason);
    }
    remove_marker(p, container, plan);
    return !off;
}

static void add_observed_containers(struct patch *p)
{
    vpa_auto_buf names = VPA_BUF(WORDS_MAX_LEN);

    for (size_t i = 0; i < p->pod->container_count; i++) {
        if (i)
            vpa_buf_puts(&names, ", ");
        vpa_buf_puts(&names, p->pod->containers[i].name);
    }
    add_annotation(p, VPA_OBSERVED_ANNOTATION, &names);
}

static void patch_containers(struct patch *p, struct vpa_container_plan *plans)
{
    for (size_t i = 0; i < p->pod->container_count && !vpa_buf_failed(p->out); i++) {
        if (p->options->startup_boost) {
            share_requests(p, i, plans);
            if (!boost_container(p, i, &plans[i]))
                continue;
        }
        add_resources(p, i, &plans[i]);
    }
}

static size_t bytes_of(const struct vpa_labels *annotations)
{
    size_t sum = 0;

    for (size_t i = 0; i < annotations->count; i++)
        sum += strlen(annotations->items[i].key) + strlen(annotations->items[i].value);
    return sum;
}

static void write_patch(struct patch *p, struct vpa_container_plan *plans, struct vpa_buf *out)
{
    vpa_buf_init(&p->path, PATH_MAX_LEN);
    vpa_buf_init(&p->updates, WORDS_MAX_LEN);
    p->out = out;
    p->annotations = bytes_of(&p->pod->meta.annotations);
    vpa_json_patch_begin(&p->ops, out);
    if (!p->pod->meta.annotations.present) {
        vpa_buf_puts(&p->path, ANNOTATIONS);
        add_empty_object(p);
    }
    patch_containers(p, plans);
    if (p->updates.len)
        add_annotation(p, VPA_UPDATES_ANNOTATION, &p->updates);
    add_observed_containers(p);
    vpa_json_patch_end(&p->ops);
    if (p->options->changes)
        vpa_reason_end(p->options->changes);
    vpa_buf_release(&p->path);
    vpa_buf_release(&p->updates);
}

/* Asked about a second time (U34). */
static bool comes_boosted(const struct patch *p)
{
    for (size_t i = 0; p->options->startup_boost && i < p->pod->container_count; i++) {
        const struct vpa_container *c = &p->pod->containers[i];

        if (marker_of(p, c) && vpa_boost_find(p->vpa, c->name))
            return true;
    }
    return false;
}

/* A boost may go beyond the least and the most that a LimitRange wants of a pod, as upstream's
 * does: what is judged is what the pod shall have without it (U41, U45), when it comes without. */
static int fits_sums(const struct patch *p, const struct vpa_container_plan *plans,
                     const struct vpa_namespace_limits *limits, struct vpa_error *err)
{
    if (!limits || !limits->pod.present || comes_boosted(p))
        return 0;
    return vpa_limit_sums_check(p->arena, p->pod, &limits->pod.min, &limits->pod.max,
                                vpa_plans_resources(p->arena, plans, p->pod->container_count), err);
}

/* What else an API server would refuse (U31, U33, U36) is not asked for, boosts included. */
static int fits_pod(struct patch *p, const struct vpa_container_plan *plans,
                    const struct vpa_namespace_limits *limits, struct vpa_error *err)
{
    const struct vpa_resources *wanted;

    if (p->annotations > ANNOTATIONS_MAX)
        return vpa_fail(err, VPA_LIMIT, "its annotations would have %zu bytes, more than %zu",
                        p->annotations, ANNOTATIONS_MAX);
    if (p->cut)
        return vpa_fail(err, VPA_LIMIT, "a name is too long for a patch");
    if (!vpa_capping_is_bounded(p->pod, limits))
        return 0;
    wanted = vpa_plans_resources(p->arena, plans, p->pod->container_count);
    if (vpa_pod_level_check(p->arena, p->pod, wanted, err) < 0)
        return -1;
    return limits ? vpa_limit_ratios_check(p->arena, p->pod, &limits->ratios, wanted, err) : 0;
}

static int try_patch(struct patch *p, const struct vpa_namespace_limits *limits,
                     struct vpa_buf *out, struct vpa_error *err)
{
    struct vpa_container_plan *plans;

    if (vpa_capping_plan(p->arena, p->vpa, p->pod, limits, &plans, err) < 0)
        return -1;
    clear_off(p, plans);
    if (fits_sums(p, plans, limits, err) < 0)
        return -1;
    write_patch(p, plans, out); /* boosts are part of the plans now */
    return fits_pod(p, plans, limits, err);
}

/* Where a boost asks for too much the pod gets what is recommended, and none of its boosts. */
static int patch_with_or_without(struct patch *p, const struct vpa_namespace_limits *limits,
                                 struct vpa_buf *out, struct vpa_error *err)
{
    struct vpa_reason_phrases *changes = p->options->changes;
    const struct vpa_reason_phrases told = changes ? *changes : (struct vpa_reason_phrases){0};
    const size_t before = out->len, words = changes ? changes->out->len : 0;
    struct vpa_error refused;

    if (try_patch(p, limits, out, &refused) == 0)
        return 0;
    if (!p->any_boost) {
        *err = refused;
        return -1;
    }
    vpa_buf_truncate(out, before);
    if (changes) {
        vpa_buf_truncate(changes->out, words);
        *changes = told;
    }
    p->plain = true;
    p->cut = false;
    if (try_patch(p, limits, out, err) < 0)
        return -1;
    if (p->options->on_unusable_boost)
        p->options->on_unusable_boost(p->options->ctx, NULL, refused.text);
    return 0;
}

int vpa_pod_patch(struct vpa_arena *arena, const struct vpa_pod *pod, const struct vpa_object *vpa,
                  const struct vpa_namespace_limits *limits,
                  const struct vpa_pod_patch_options *options, struct vpa_buf *out,
                  struct vpa_error *err)
{
    struct vpa_pod unseen = *pod; /* by any kubelet */
    struct patch p = {.arena = arena, .pod = &unseen, .vpa = vpa, .options = options};
    size_t before = out->len, count = pod->container_count + 1;

    unseen.status_count = 0;
    p.latest = vpa_arena_alloc(arena, count * sizeof(*p.latest));
    if (patch_with_or_without(&p, limits, out, err) == 0)
        return 0;
    vpa_buf_truncate(out, before);
    return vpa_wrap(err, "failed to calculate resource patch for pod %s/%s", pod->meta.ns,
                    pod->meta.name);
}
